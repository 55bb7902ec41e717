"""Directives that draw and list the rooms of the package from the graph that tests/test_rooms.py keeps."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import separatrix

TOP = Path(__file__).parent.parent.parent
PACKAGE = Path(separatrix.__file__).parent
WIDTH, HEIGHT, ACROSS, DOWN = 122, 38, 168, 74  # of a box, and from box to box
SWEEPS = 12  # over the columns, each box moving to the middle of those it is joined to


def graph(name: str = "GRAPH") -> dict[str, list[str]]:
    """The graph of tests/test_rooms.py: a room and those it may import."""
    tree = ast.parse((TOP / "tests" / "test_rooms.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            found: dict[str, list[str]] = ast.literal_eval(node.value)
            return found
    raise LookupError(f"tests/test_rooms.py has no graph {name}.")


def path_of(room: str) -> Path:
    """The file whose docstring states the room's duty."""
    folder = PACKAGE / room
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def duty(room: str) -> str:
    """The first line of the room's docstring."""
    text = ast.get_docstring(ast.parse(path_of(room).read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(":.")


def reduced(rooms: dict[str, list[str]]) -> dict[str, list[str]]:
    """The arrows that do not follow from others."""
    reach: dict[str, set[str]] = {}
    for room in TopologicalSorter(rooms).static_order():
        reach[room] = set(rooms[room]).union(*(reach[other] for other in rooms[room]))
    return {
        room: [other for other in rooms[room] if not any(other in reach[between] for between in rooms[room])]
        for room in rooms
    }


def columns_of(rooms: dict[str, list[str]]) -> dict[str, int]:
    """How far to the right each room stands: just to the right of all it imports."""
    column: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        column[room] = max((column[other] + 1 for other in rooms[room]), default=0)
    return column


def drawing(rooms: dict[str, list[str]], later: dict[str, list[str]]) -> str:
    """Boxes in columns and arrows between them, as SVG; long arrows get a place of their own in every column."""
    column, arrows = columns_of(rooms), reduced(rooms)
    layers: list[list[str]] = [[] for _ in range(max(column.values()) + 1)]
    for room, at in column.items():
        layers[at].append(room)
    ways: list[list[str]] = []
    for room, others in arrows.items():
        for other in others:
            way = [other]
            for at in range(column[other] + 1, column[room]):
                way.append(f"{other} {room} {at}")  # a place on the way, not a room
                layers[at].append(way[-1])
            ways.append([*way, room])
    joined: dict[str, list[str]] = {}
    for way in ways:
        for a, b in zip(way, way[1:], strict=False):
            joined.setdefault(a, []).append(b)
            joined.setdefault(b, []).append(a)
    y = {name: DOWN * (k - len(layer) / 2) for layer in layers for k, name in enumerate(layer)}
    for _ in range(SWEEPS):
        for layer in layers:
            wish = {name: sum(y[o] for o in joined.get(name, [name])) / len(joined.get(name, [name])) for name in layer}
            layer.sort(key=lambda name: (wish[name], name))
            middle = sum(wish.values()) / len(layer)
            y |= {name: middle + DOWN * (k - (len(layer) - 1) / 2) for k, name in enumerate(layer)}
    low = min(y.values())
    y = {name: round(value - low + HEIGHT) for name, value in y.items()}
    x = {name: 10 + ACROSS * at for at, layer in enumerate(layers) for name in layer}
    lines = []
    for way in ways:
        lines.append(f'<path d="{curve(way[::-1], x, y)}" marker-end="url(#rooms-head)"/>')
    for room, others in later.items():
        for other in others:
            dashed = f'stroke-dasharray="5 4" d="M{x[room] + WIDTH} {y[room] + 12} L{x[other] - 2} {y[other] + 12}"'
            lines.append(f'<path {dashed} marker-end="url(#rooms-head)"/>')
    boxes = [
        f'<rect x="{x[room]}" y="{y[room] - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>' for room in rooms
    ]
    words = [
        f'<text x="{x[room] + WIDTH // 2}" y="{y[room] + 6}" text-anchor="middle">{escape(name_of(room))}</text>'
        for room in rooms
    ]
    size = f"0 0 {20 + ACROSS * (len(layers) - 1) + WIDTH} {max(y.values()) + HEIGHT}"
    title = "; ".join(f"{room} imports {', '.join(others)}" for room, others in rooms.items() if others)
    size_of_head = 'refX="9" refY="5" markerWidth="8" markerHeight="8"'
    head = f'<marker id="rooms-head" viewBox="0 0 10 10" {size_of_head} orient="auto">'
    return (
        f'<div class="rooms-drawing" tabindex="0"><svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img" '
        f'aria-labelledby="rooms-title" font-size="17" fill="currentColor">'
        f'<title id="rooms-title">{escape(title)}.</title>'
        f'<defs>{head}<path d="M0 0 10 5 0 10z" fill="currentColor"/></marker></defs>'
        f'<g fill="none" stroke="currentColor" stroke-width="1.3">{"".join(boxes)}{"".join(lines)}</g>'
        f"<g>{''.join(words)}</g></svg></div>"
    )


def curve(way: list[str], x: dict[str, int], y: dict[str, int]) -> str:
    """From the left side of the first box to the right side of the last, level through the places on the way."""
    at = [(x[way[0]], y[way[0]])]
    for name in way[1:-1]:
        at += [(x[name] + WIDTH, y[name]), (x[name], y[name])]
    at.append((x[way[-1]] + WIDTH, y[way[-1]]))
    path = f"M{at[0][0]} {at[0][1]}"
    for k in range(1, len(at)):
        (x0, y0), (x1, y1) = at[k - 1], at[k]
        middle = (x0 + x1) // 2
        path += f" C{middle} {y0} {middle} {y1} {x1} {y1}" if y0 != y1 else f" L{x1} {y1}"
    return path


def name_of(room: str) -> str:
    """As `ls` shows it."""
    return f"{room}/" if (PACKAGE / room).is_dir() else f"{room}.py"


class Drawing(SphinxDirective):
    """`{rooms-drawing}`: the graph as a picture."""

    def run(self) -> list[nodes.Node]:
        """The picture."""
        self.env.note_reread()  # the source of this is no page
        return [nodes.raw("", drawing(graph(), graph("LATER")), format="html")]


class Rooms(SphinxDirective):
    """`{rooms}`: a table of the rooms, their duties and what they may import."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        self.env.note_reread()
        lines = ["| room | duty | may import |", "|---|---|---|"]
        for room, others in graph().items():
            lines.append(f"| `{name_of(room)}` | {duty(room)} | {', '.join(others)} |")
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, source="rooms"), self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("rooms", Rooms)
    app.add_directive("rooms-drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
