"""A directive that lists the rooms of the package in their order, each with the first line of its docstring."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import separatrix

TOP = Path(__file__).parent.parent.parent
PACKAGE = Path(separatrix.__file__).parent


def rooms() -> list[str]:
    """The list ROOMS of tests/test_rooms.py, which keeps the order of imports."""
    tree = ast.parse((TOP / "tests" / "test_rooms.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ROOMS":
            return [room for room in ast.literal_eval(node.value) if path_of(room).exists()]
    raise LookupError("tests/test_rooms.py has no list ROOMS.")


def path_of(room: str) -> Path:
    """The file whose docstring states the room's duty."""
    folder = PACKAGE / room
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def duty(room: str) -> str:
    """The first line of the room's docstring."""
    text = ast.get_docstring(ast.parse(path_of(room).read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(":.")


class Rooms(SphinxDirective):
    """`{rooms}`: a table, top to bottom in the order of imports."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        self.env.note_reread()  # the source of this is no page
        lines = ["| room | duty |", "|---|---|"]
        for room in rooms():
            name = f"{room}/" if (PACKAGE / room).is_dir() else f"{room}.py"
            lines.append(f"| `{name}` | {duty(room)} |")
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, source="rooms"), self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("rooms", Rooms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
