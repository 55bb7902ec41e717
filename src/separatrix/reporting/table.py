"""Rows with a title: plain data, and how they look in a terminal, in Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from separatrix.reporting.plain import legible, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

Row = tuple[Any, ...]
WIDTH = 120  # of a table in a text file
INDEX = re.compile(r"((?<![a-z\d_])[^\W\d_]\u0302?)_(\w)(?!\w)")  # of one letter, with or without a hat
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "θ̂": r"$\hat\theta$",
    "θ": r"$\theta$",
    "φ": r"$\varphi$",
    "γ": r"$\gamma$",
    "μ": r"$\mu$",
    "∇": r"$\nabla$",
    "∞": r"$\infty$",
    "‖": r"$\|$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "²": r"$^2$",
    "…": r"\dots{}",
    "–": "--",
    "×": r"$\times$",
}


@dataclass(frozen=True)
class Table:
    """One table; `failures` are sentences about numbers that should have come out and did not.

    `listing`: one line per run, for a file; shown nowhere. `exact`: how many of its numbers must come out exactly.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[Row]
    note: str = ""
    failures: tuple[str, ...] = ()
    listing: bool = False
    exact: int = 0

    def is_text(self, k: int) -> bool:
        """Whether column k holds words, which stand to the left."""
        return all(row[k] is None or isinstance(row[k], str) for row in self.rows)


def render(table: Table, console: Console) -> RichTable:
    """The table for a rich console: numbers to the right, None left empty, lines broken between words.

    Where words alone are wider than the console, the gaps go first, and then words are broken: no digit is lost.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    def words(value: Any) -> str:
        return legible(cell(value), console.encoding)

    head, body = [words(name) for name in table.columns], [[words(value) for value in row] for row in table.rows]
    columns = [list(column) for column in zip(head, *body, strict=True)]
    for gap in (1, 0):
        widths = column_widths(columns, console.width - (2 * gap + 1) * len(columns) - 1)
        if widths is not None:
            break
    drawn = RichTable(
        title=Text(words(table.title)),
        caption=Text(words(table.note)) if table.note else None,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, gap),
    )
    for k, name in enumerate(head):
        width = None if widths is None else widths[k]
        drawn.add_column(Text(name), justify="left" if table.is_text(k) else "right", overflow="fold", width=width)
    for row in body:
        drawn.add_row(*map(Text, row))
    return drawn


def column_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """How wide columns of these cells are, in this room: the widest gives way, never below its longest word.

    None where the longest words alone need more.
    """
    from rich.cells import cell_len

    widths = [max(cell_len(line) for text in column for line in text.split("\n")) for column in columns]
    least = [max(cell_len(word) for text in column for word in text.split() or [""]) for column in columns]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widths[max((k for k in range(len(widths)) if widths[k] > least[k]), key=widths.__getitem__)] -= 1
    return widths


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
    return "\n".join(plain(line) for line in str(value).split("\n"))


def as_text(table: Table) -> str:
    """For a text file or a terminal without colours."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(render(table, console))
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip() + "\n"


def as_markdown(table: Table) -> str:
    """For a page in Markdown."""

    def line(cells: list[str]) -> str:
        return (
            "| " + " | ".join(html.escape(" ".join(c.split()), quote=False).replace("|", "\\|") for c in cells) + " |"
        )

    rule = ["---" if table.is_text(k) else "---:" for k in range(len(table.columns))]
    lines = [line(list(table.columns)), line(rule), *(line([cell(v) for v in row]) for row in table.rows)]
    note = f"\n{html.escape(table.note, quote=False)}\n" if table.note else ""
    return f"**{html.escape(table.title, quote=False)}**\n\n" + "\n".join(lines) + "\n" + note


def as_latex(table: Table) -> str:
    """A tabular, ready to be put into a table environment; needs no package."""
    shape = "".join("l" if table.is_text(k) else "r" for k in range(len(table.columns)))
    head = " & ".join(tex(name) for name in table.columns)
    body = [" & ".join(tex(cell(v)) for v in row) + r" \\" for row in table.rows]
    about = "\n".join(f"% {' '.join(words.split())}" for words in (table.title, table.note) if words)
    return "\n".join(
        [about, rf"\begin{{tabular}}{{{shape}}}", r"\hline", rf"{head} \\", r"\hline", *body, r"\hline"]
        + [r"\end{tabular}", ""]
    )


def tex(text: str) -> str:
    """Text as LaTeX prints it; what stands for a symbol becomes one."""
    found = text.replace("θ̂", "\0")
    return "".join(LATEX["θ̂"] if c == "\0" else LATEX.get(c, c) for c in found)


def as_csv(table: Table) -> str:
    """Comma-separated, every digit kept."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([["" if v is None else v for v in row] for row in table.rows])
    return out.getvalue()


def prose(words: str) -> str:
    """Escaped running text for HTML, in which an index such as that of θ_t stands below the line."""
    return INDEX.sub(r"\1<sub>\2</sub>", html.escape(words))


def as_html(table: Table) -> str:
    """A table element; all text is escaped."""
    sides = ["" if table.is_text(k) else ' class="number"' for k in range(len(table.columns))]
    head = "".join(f"<th{side}>{html.escape(cell(name))}</th>" for side, name in zip(sides, table.columns, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{s}>{html.escape(cell(v))}</td>" for s, v in zip(sides, row, strict=True)) + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{prose(cell(table.note))}</p>' if table.note else ""
    top = f"<caption>{html.escape(cell(table.title))}</caption><thead><tr>{head}</tr></thead>"
    return f'<div class="scroll" tabindex="0"><table>{top}\n<tbody>\n{body}\n</tbody></table></div>{note}'


FORMS = {"txt": as_text, "md": as_markdown, "tex": as_latex, "csv": as_csv}
