"""Each module is one room with one duty; imports point only upward in one list of rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import separatrix

PACKAGE = Path(separatrix.__file__).parent
ROOMS = [
    "kernels",  # compiled loops over raw arrays
    "words",
    "problem",
    "methods",
    "trace",
    "plot",
    "shards",  # rows that are not all in memory
    "engines",
    "checkpoint",
    "run",
    "loop",
    "each",
    "theory",
    "newton",  # one path to the margin's two ends
    "margin",
    "certify",  # knows words, problem and shards alone
    "exact",
    "relations",
    "case",
    "faces",
    "fragile",
    "workset",  # the same where rows are elsewhere
    "decide",
    "cone",
    "frames",
    "report",
    "diagnosis",
    "estimators",
    "text",
    "files",
    "datasets",
    "lab",
    "bench",
    "console",  # what the commands share
    "cli_datasets",
    "cli_bench",
    "cli_solve",
    "cli",
    "__main__",
]
FILES = sorted(PACKAGE.rglob("*.py"))
NAMED = {str(path.relative_to(PACKAGE)): path for path in FILES}
INSIDE = [name for name in NAMED if name != "__init__.py"]  # the front door may import any room


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(source: str, package: tuple[str, ...]) -> set[str]:
    """Rooms of ours that this source imports, at any depth of the syntax tree; `package` is where it lives."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*parent, *([node.module] if node.module else [])))
            modules = [f"{base}.{alias.name}" for alias in node.names] if base == "separatrix" else [base]
        for parts in (module.split(".") for module in modules):
            if parts[0] == "separatrix":
                found.add(parts[1] if len(parts) > 1 else "separatrix")
    return found


def package_of(path: Path) -> tuple[str, ...]:
    return ("separatrix", *path.relative_to(PACKAGE).parts[:-1])


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import separatrix.walking.loop", {"loop"}),
        ("import separatrix as sx", {"separatrix"}),
        ("from separatrix import theory, loop", {"theory", "loop"}),
        ("from separatrix.walking.engines.base import Sheet", {"engines"}),
        ("def f():\n    from separatrix.lab import table", {"lab"}),
        ("from . import table", {"lab"}),
        ("from .. import theory", {"theory"}),
        ("from ..bench import speed", {"bench"}),
        ("import numpy\nfrom separatrices import x", set()),
    ],
)
def test_the_walker_sees_every_form_of_import(source, rooms):
    assert imported_rooms(source, ("separatrix", "lab")) == rooms


@pytest.mark.parametrize("name", INSIDE)
def test_imports_point_only_upward(name):
    path = NAMED[name]
    room = room_of(path)
    assert room in ROOMS, f"{name} is in no room of the list"
    for other in imported_rooms(path.read_text(encoding="utf-8"), package_of(path)) - {room}:
        if other == "separatrix":
            assert room == "cli", f"{name} imports the front door; name the room"
            continue
        assert ROOMS.index(other) < ROOMS.index(room), f"{name} imports {other}, which comes later"


def test_kernels_know_no_class_of_ours():
    for path in (PACKAGE / "kernels").rglob("*.py"):
        assert imported_rooms(path.read_text(encoding="utf-8"), package_of(path)) <= {"kernels"}


@pytest.mark.parametrize("name", NAMED)
def test_every_module_says_its_duty_in_one_line(name):
    text = ast.get_docstring(ast.parse(NAMED[name].read_text(encoding="utf-8")))
    assert text
    first = text.splitlines()[0]
    assert first.endswith((".", ":")), first
    assert len(first) <= 117


@pytest.mark.parametrize("name", NAMED)
def test_no_room_outgrows_four_hundred_lines(name):
    assert len(NAMED[name].read_text(encoding="utf-8").splitlines()) <= 420
