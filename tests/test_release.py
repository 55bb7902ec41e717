"""What a release is made of agrees with pyproject.toml, and its libraries are for the platforms they name."""

from __future__ import annotations

import re
import struct
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

import separatrix
from separatrix.core.library import path

yaml = pytest.importorskip("yaml", reason="recipe and workflows are YAML; Dask brings PyYAML")

TOP = Path(__file__).parent.parent
WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))


def read(file):
    return yaml.load(file.read_text("utf-8"), Loader=yaml.BaseLoader)  # all words: `on` is no truth, 3.10 no number


def split(requirement):
    """The name of a package, and which versions will do."""
    return re.fullmatch(r"([\w-]+) *(.*)", requirement).groups()


def test_the_recipe_needs_what_the_project_needs():
    recipe = read(TOP / "recipe" / "recipe.yaml")
    needs = {kind: dict(map(split, names)) for kind, names in recipe["requirements"].items() if kind != "build"}
    project = PROJECT["project"]
    assert needs["run"] == dict(map(split, project["dependencies"])) | {"python": project["requires-python"]}
    assert needs["host"] == dict(map(split, PROJECT["build-system"]["requires"])) | {"python": "", "pip": ""}
    assert recipe["context"]["version"] == separatrix.__version__
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["build"]["python"]["entry_points"] == [f"separatrix = {project['scripts']['separatrix']}"]
    source = (TOP / "hatch_build.py").read_text("utf-8")
    assert all(f'"{need.replace(" ", "")}"' in source for need in recipe["requirements"]["build"] if need[0] != "$")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_has_jobs_with_steps_and_pins_its_actions(file):
    jobs = read(file)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(job["runs-on"] for job in jobs.values())
    assert all(("run" in step) != ("uses" in step) for step in steps)
    assert [step["uses"] for step in steps if not re.search(r"@(release/)?v\d+$", step.get("uses", "@v1"))] == []
    needed = {name for job in jobs.values() for name in [job.get("needs")] if name}
    assert needed <= set(jobs)
    named = re.findall(r"(?<![\w/])(?:scripts|tests)/[\w./-]+", file.read_text("utf-8"))
    assert [name for name in named if not (TOP / name).exists()] == []


def test_every_python_of_the_classifiers_is_tested():
    if not WORKFLOWS:
        pytest.skip("needs the workflows of the repository")
    matrix = read(TOP / ".github" / "workflows" / "tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert {(one["os"].split("-")[0], one["python"]) for one in matrix["include"]} == {
        (system, python) for system in ("macos", "windows") for python in (PYTHONS[0], PYTHONS[-1])
    }


def test_a_wheel_whose_library_is_for_another_machine_is_refused(tmp_path):
    script = TOP / "scripts" / "build-wheels"
    if not script.exists():
        pytest.skip("needs the scripts of the repository")
    loader = SourceFileLoader("build_wheels", str(script))
    wheels = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(wheels)
    dll = b"MZ".ljust(60, b"\0") + struct.pack("<I", 128) + bytes(64) + b"PE\0\0" + struct.pack("<H", 0x8664)
    found = {
        b"!<arch>\n" + bytes(200): "",  # what a linker makes that was asked for a static library
        dll: "amd64",
        b"\x7fELF".ljust(18, b"\2") + struct.pack("<H", 183): "aarch64",
        b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C): "arm64",
        b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x01000007): "x86_64",
    }
    assert {library: wheels.machine(library) for library in found} == found

    def wheel(library):
        made = tmp_path / "made.whl"
        with wheels.zipfile.ZipFile(made, "w") as file:
            file.writestr("separatrix/core/libseparatrix.so", library)
        return made

    assert "libseparatrix" in wheels.check(wheel(dll), "win_amd64")
    with pytest.raises(AssertionError, match="not a library for macosx_11_0_arm64"):
        wheels.check(wheel(dll), "macosx_11_0_arm64")
    new = b"\x7fELF".ljust(18, b"\2") + struct.pack("<H", 62) + b"GLIBC_2.4\0GLIBC_2.34\0"
    with pytest.raises(AssertionError, match=r"needs glibc \(2, 34\)"):
        wheels.check(wheel(new), "manylinux_2_17_x86_64")
    if sys.platform == "linux" and path().exists():
        assert wheels.machine(path().read_bytes()) in ("x86_64", "aarch64")
