"""Every Python block of the README and the docs runs, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import tomllib
from pathlib import Path

import pytest

import separatrix
from separatrix.methods import TABLE

TOP = Path(__file__).parent.parent
PAGES = sorted([TOP / "README.md", *(TOP / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (page.name, *match.groups()) for page in PAGES for match in BLOCK.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.filterwarnings("ignore::UserWarning:distributed", "ignore::ResourceWarning")  # Dask's own
@pytest.mark.parametrize(("page", "code", "expected"), EXAMPLES)
def test_examples_print_what_their_page_says(page, code, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page, "exec"), {"__name__": "__example__"})
    assert out.getvalue() == (expected or "")


@pytest.mark.parametrize(
    "name", [name for name in separatrix.__all__ if ">>>" in (getattr(separatrix, name).__doc__ or "")]
)
def test_examples_of_docstrings_print_what_they_say(name):
    for example in doctest.DocTestFinder(recurse=False).find(getattr(separatrix, name), name):
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(example)
        assert runner.summarize(verbose=False).failed == 0


def test_every_python_block_is_found():
    fences = sum(page.read_text(encoding="utf-8").count("```python") for page in PAGES)
    assert len(EXAMPLES) == fences >= 2


def test_the_readme_lists_every_method():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in TABLE)


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
