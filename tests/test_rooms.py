"""Each folder is one room with one duty; which room may import which is a graph without cycles."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import separatrix
from separatrix.data.open import ELSEWHERE

PACKAGE = Path(separatrix.__file__).parent
GRAPH = {  # a room: those it may import; docs/_ext/rooms.py draws it
    "core": [],
    "reporting": ["core"],
    "data": ["core", "reporting"],
    "shards": ["core", "data", "reporting"],
    "certify": ["core", "data", "models", "reporting"],  # nothing that finds proofs
    "models": ["data", "reporting"],
    "plot": ["data", "reporting"],
    "walking": ["core", "data", "plot", "reporting", "shards"],
    "nonlinear": ["data", "plot", "reporting", "walking"],
    "theory": ["core", "reporting", "walking"],
    "deciding": ["certify", "core", "data", "reporting", "walking"],
    "diagnosing": ["certify", "data", "deciding", "models", "plot", "reporting"],
    "exploring": ["data", "reporting"],
    "estimators": ["certify", "core", "data", "deciding", "reporting", "walking"],
    "datasets": ["reporting"],
    "lab": ["core", "data", "datasets", "deciding", "nonlinear", "plot", "reporting", "theory", "walking"],
    "bench": ["core", "data", "datasets", "deciding", "estimators", "lab", "plot", "reporting", "theory", "walking"],
    "cli": [
        "bench",
        "certify",
        "core",
        "data",
        "datasets",
        "deciding",
        "diagnosing",
        "exploring",
        "lab",
        "reporting",
        "walking",
    ],
    "__main__": ["cli"],
}
LATER = {"data": ["shards"]}  # found by name when such data come, see data/open.py
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
        ("import separatrix.walking.loop", {"walking"}),
        ("import separatrix as sx", {"separatrix"}),
        ("from separatrix import theory, loop", {"theory", "loop"}),
        ("from separatrix.walking.engines.base import Engine", {"walking"}),
        ("def f():\n    from separatrix.lab import table", {"lab"}),
        ("from . import table", {"lab"}),
        ("from .. import theory", {"theory"}),
        ("from ..bench import speed", {"bench"}),
        ("import numpy\nfrom separatrices import x", set()),
    ],
)
def test_the_walker_sees_every_form_of_import(source, rooms):
    assert imported_rooms(source, ("separatrix", "lab")) == rooms


def found_graph() -> dict[str, set[str]]:
    """What each room really imports."""
    graph: dict[str, set[str]] = {room: set() for room in GRAPH}
    for name in INSIDE:
        path = NAMED[name]
        room = room_of(path)
        found = imported_rooms(path.read_text(encoding="utf-8"), package_of(path))
        graph.setdefault(room, set()).update(found - {room})
    return graph


@pytest.mark.parametrize("name", INSIDE)
def test_imports_follow_the_graph(name):
    path = NAMED[name]
    room = room_of(path)
    assert room in GRAPH, f"{name} is in no room of the graph"
    for other in imported_rooms(path.read_text(encoding="utf-8"), package_of(path)) - {room}:
        if other == "separatrix":
            assert room == "cli", f"{name} imports the front door; name the room"
            continue
        assert other in GRAPH[room], f"{name} imports {other}, which {room} may not"


def test_the_graph_has_no_cycle_and_no_arrow_that_nobody_uses():
    TopologicalSorter(GRAPH).prepare()
    found = found_graph()
    assert {room: sorted(found[room] - {"separatrix"}) for room in GRAPH} == GRAPH


def test_only_data_open_finds_code_by_name_and_what_it_names_is_there():
    for text in ELSEWHERE.values():
        module, function = text.split(":")
        assert module.split(".")[1] in LATER["data"]
        assert callable(getattr(import_module(module), function))
    by_name = [n for n, p in NAMED.items() if '"separatrix.shards.' in p.read_text(encoding="utf-8")]
    assert by_name == ["data/open.py"]


def test_the_front_door_has_no_more_than_twenty_rooms():
    others = ("__pycache__", "__init__.py", "py.typed")
    assert len([path for path in PACKAGE.iterdir() if path.name not in others]) <= 20


def test_nobody_asks_where_rows_are_outside_data_and_shards():
    for name, path in NAMED.items():
        if room_of(path) in ("data", "shards"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = ast.unparse(node.args[1])
                assert "HeldRows" not in asked and "ShardedRows" not in asked, f"{name} asks {asked}"


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
