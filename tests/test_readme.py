"""Every block of Python and every command of the README and the docs runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import shutil
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

import separatrix
from separatrix.cli import app
from separatrix.cli.console import spelled
from separatrix.walking.methods import TABLE

TOP = Path(__file__).parent.parent
PAGES = sorted([TOP / "README.md", *(TOP / "docs").rglob("*.md")])
BLOCK = r"^```{}\n(.*?)^```\n(?:\n^```text\n(.*?)^```$)?"


def blocks(language):
    """Page, contents and shown output of every block in this language."""
    pattern = re.compile(BLOCK.format(language), re.MULTILINE | re.DOTALL)
    return [(page.name, *found.groups()) for page in PAGES for found in pattern.finditer(page.read_text("utf-8"))]


EXAMPLES = blocks("python")
COMMANDS = blocks("sh")
OTHERS = ("make", "pip", "python")  # set-up, which `.ci/run` and `make package` do; a web server


# By what shows that a block needs it.
OPTIONAL = {"statsmodels": "import statsmodels", "formulaic": 'sx.diagnose("', "torch": "import torch"}


@pytest.mark.filterwarnings("ignore::UserWarning:distributed", "ignore::ResourceWarning")  # Dask's own
@pytest.mark.parametrize(("page", "code", "expected"), EXAMPLES)
def test_examples_print_what_their_page_says(page, code, expected, tmp_path, monkeypatch):
    for package, sign in OPTIONAL.items():
        if sign in code:
            pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page, "exec"), {"__name__": "__example__"})
    assert out.getvalue() == (expected or "")


@pytest.mark.parametrize(("page", "lines", "expected"), COMMANDS)
def test_commands_print_what_their_page_says(page, lines, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shutil.copytree(TOP / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.py"))
    X, y, _ = separatrix.planted(200, 3, margin=0.2)
    np.save("rows.npy", X)
    np.save("labels.npy", y)
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": y}).write_parquet("table.parquet")
    out = ""
    for line in lines.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] not in OTHERS:
            assert words[0] == "separatrix", f"{page} has a command that no test knows: {line}"
            out += ran(words[1:])
    assert expected is None or out == expected


def ran(words):
    """What the command prints; of those that take minutes or the network only the words are checked."""
    piped = Path(words[words.index("<") + 1]).read_bytes() if "<" in words else None
    words = words[: words.index("<")] if "<" in words else words
    command = typer.main.get_command(app)
    for name in words[:2] if words[0] == "datasets" else words[:1]:
        command = command.commands[name]
    if words[0] in ("reproduce", "bench", "datasets"):
        command.make_context(" ".join(words), words[2 if words[0] == "datasets" else 1 :])
        return ""
    done = CliRunner().invoke(app, words, input=piped)
    assert done.exit_code in (0, 1), done.output
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    "name", [name for name in separatrix.__all__ if ">>>" in (getattr(separatrix, name).__doc__ or "")]
)
def test_examples_of_docstrings_print_what_they_say(name):
    for example in doctest.DocTestFinder(recurse=False).find(getattr(separatrix, name), name):
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(example)
        assert runner.summarize(verbose=False).failed == 0


def test_every_block_is_found():
    for language, found in (("python", EXAMPLES), ("sh", COMMANDS)):
        fences = sum(page.read_text(encoding="utf-8").count(f"```{language}\n") for page in PAGES)
        assert len(found) == fences >= 2


def test_the_readme_is_short():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(text.splitlines()) <= 180
    assert [code for language, code in fences if language != "text" and code.count("\n") > 10] == []
    prose = re.sub(r"^```.*?^```$|^[|!].*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > 120] == []


def test_the_readmes_diagnosis_is_the_same_in_a_shell(monkeypatch):
    monkeypatch.chdir(TOP)
    text = (TOP / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`separatrix (diagnose [^`]+)` says the same in a shell", text)
    (shown,) = (shown for page, code, shown in EXAMPLES if page == "README.md" and "sx.diagnose" in code)
    assert ran(shlex.split(command)) == spelled(shown) != shown  # the advice names an option, not methods


def test_the_page_of_the_methods_has_every_method_and_its_bound():
    text = (TOP / "docs" / "theory.md").read_text(encoding="utf-8")
    assert all(re.search(rf"^\| `{name}`.* \| .*μ²", text, re.MULTILINE) for name in TABLE)


def test_the_readmes_make_targets_exist():
    rules = (TOP / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", (TOP / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", rules, re.MULTILINE)


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert TOP / project["tool"]["hatch"]["version"]["path"] == Path(separatrix.__file__)
    assert f"\nversion: {separatrix.__version__}\n" in (TOP / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{separatrix.__version__}]" in (TOP / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readmes_measured_numbers_are_those_of_the_pages():
    table = (
        (TOP / "README.md").read_text(encoding="utf-8").split("<!-- measured -->")[1].split("<!-- end measured -->")[0]
    )
    told = re.findall(r"([\d.]+) times \(([\d.]+–[\d.]+)\)", table)
    pages = " ".join((TOP / "docs" / f"{name}.md").read_text("utf-8") for name in ("deciding", "engines", "large"))
    pages += (TOP / "docs" / "estimators.md").read_text("utf-8")
    assert len(told) == sum(" times (" in line for line in table.splitlines())
    for middle, ends in told:
        assert re.search(rf"(?<![\d.]){re.escape(middle)} (times )?\({ends}\)", pages), (middle, ends)
