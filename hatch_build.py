"""Build the compiled core: for pip as a hook of the build, for `make core` as a script.

Whatever the machine lacks comes from PyPI: CMake, Ninja, and where there is no C++ compiler that of Zig.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

TOP = Path(__file__).resolve().parent
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])  # .venv/bin at the end


def version_of(tool: str) -> tuple[int, ...]:
    """What this program says of itself; (0,) where it is missing or does not run."""
    path = shutil.which(tool, path=PATH)
    try:
        told = subprocess.run([path or tool, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", told)[:2])


def compiler() -> str | None:
    """$CXX, else the compiler in PATH, else None."""
    return os.environ.get("CXX") or next(filter(shutil.which, ["c++", "g++", "clang++"]), None)


def zig() -> str:
    """Zig's compiler as a value of CXX, for any processor of this kind; by itself it would compile for this one."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        sys.exit("no C++ compiler: install one, set CXX, or `pip install ziglang`")
    program = Path(spec.origin).with_name("zig.exe" if sys.platform == "win32" else "zig")
    words = [f'"{program}"', "c++", "-mcpu=baseline", "-fno-sanitize=undefined"]
    if sys.platform == "linux":
        libc = "gnu" if platform.libc_ver()[0] == "glibc" else "musl"
        words.append(f"--target={platform.machine()}-linux-{libc}")
    return " ".join(words)


def needs() -> list[str]:
    """The packages of PyPI that stand in for what the machine lacks."""
    wanted = {
        "cmake>=3.18": version_of("cmake") < (3, 18),
        "ninja>=1.10": version_of("ninja") < (1, 10),
        "ziglang>=0.13": compiler() is None,
    }
    return [package for package, missing in wanted.items() if missing]


def build(folder: Path, *options: str) -> Path:
    """The library, built in this folder; what was compiled there before is used again."""
    environment = {**os.environ, "PATH": PATH, "CXX": compiler() or zig()}
    cmake, ninja = (shutil.which(tool, path=PATH) for tool in ("cmake", "ninja"))
    if cmake is None or ninja is None:
        sys.exit(f"to build the core, first `pip install {' '.join(needs())}`")
    configure = [cmake, "-S", str(TOP), "-B", str(folder), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", *options]
    for command in (configure, [cmake, "--build", str(folder)]):
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        if done.returncode or "warning:" in done.stdout:
            print(done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"building the core failed with status {done.returncode}")
    return folder / f"libseparatrix{SUFFIX}"


class CoreHook(BuildHookInterface):  # type: ignore[type-arg]  # of a configuration that is not used
    """The library in the wheel, which any Python 3 of the platform can load; beside the sources if editable."""

    def dependencies(self) -> list[str]:
        """What pip has to install for the build."""
        return needs()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the files of the wheel are collected."""
        if version == "editable":
            build(TOP / "build" / "core")
            return
        self.folder = mkdtemp(prefix="separatrix-core-")
        strip = ["-DCMAKE_SHARED_LINKER_FLAGS=-s"] if sys.platform == "linux" else []
        library = build(Path(self.folder), "-DSEPARATRIX_PLACE=", *strip)
        build_data["force_include"][str(library)] = f"separatrix/core/{library.name}"
        build_data["pure_python"] = False
        tags = (tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
        build_data["tag"] = f"py3-none-{next(tags)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built for the wheel."""
        if version != "editable":
            shutil.rmtree(self.folder)


if __name__ == "__main__":
    if sys.argv[1:] == ["needs"]:
        print(*needs())
    else:
        build(Path(sys.argv[1]), *sys.argv[2:])
