"""Rows with a title: plain data, and how they look in a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """One table; `failures` are sentences about numbers that should have come out and did not."""

    title: str
    columns: tuple[str, ...]
    rows: list[Row]
    note: str = ""
    failures: tuple[str, ...] = ()


def render(table: Table) -> RichTable:
    """The table for a rich console: numbers to the right, None left empty."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    drawn = RichTable(
        title=table.title, caption=table.note or None, title_justify="left", caption_justify="left", box=SIMPLE_HEAD
    )
    for k, name in enumerate(table.columns):
        text = all(row[k] is None or isinstance(row[k], str) for row in table.rows)
        drawn.add_column(name, justify="left" if text else "right", overflow="fold")  # narrow screens lose no digit
    for row in table.rows:
        drawn.add_row(*(cell(value) for value in row))
    return drawn


def cell(value: Any) -> str:
    """A value as people read it: 300,001, 0.707, ∞."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}".replace("inf", "∞")
    if isinstance(value, tuple):
        return "(" + ", ".join(cell(v) for v in value) + ")"
    return str(value)
