"""Figures: empty ones to draw on, and finished ones as bytes.

Only matplotlib's objects are used, no global state. Names, colours and dashes are those of `separatrix.plot`.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
ENTRY, LETTER = 0.5, 0.062  # inches: a legend's entry without its words, a letter of them
TEX = re.compile(r"[${}]|\\\w+ ?")
NOT_DRAWN = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
LINE = re.compile(r'(?<=</title>)\s*(?P<path><path d="[^"]{1,30000}"(?: clip-path="[^"]*")? )style="fill: none[^"]*"/>')
NUMBERED = re.compile(r'<g id="(said-\d+)">')


def new_figure(panels: int, across: int = 3, width: float = 3.3, height: float = 2.7) -> tuple[Figure, list[Axes]]:
    """An empty figure with so many panels, `across` of them side by side at most."""
    from matplotlib.figure import Figure

    across = min(across, panels)
    down = -(-panels // across)
    figure = Figure(figsize=(0.4 + width * across, height * down), layout="constrained")
    axes = list(np.ravel(figure.subplots(down, across)))
    for ax in axes[panels:]:
        ax.set_axis_off()
    return figure, axes[:panels]


def few_ticks(axis: Axis, at: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Powers of ten times these on a logarithmic axis, written out; matplotlib's own overlap on a short one."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=at))
    axis.set_major_formatter(lambda value, place: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def legend_below(figure: Figure, axes: Sequence[Axes], more: Sequence[Artist] = (), columns: int = 3) -> None:
    """One legend for all panels, below them: every label once, then `more`."""
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    handles = [*named.values(), *more]
    names = [*named, *(str(one.get_label()) for one in more)]
    longest = max((len(TEX.sub("", name)) for name in names), default=0)
    columns = max(1, min(columns, int(figure.get_figwidth() / (ENTRY + LETTER * longest))))  # all of it is in sight
    figure.legend(handles, names, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def saved(figure: Figure, form: str) -> bytes:
    """The figure as bytes of one format; the same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[form]
    with rc_context({"svg.hashsalt": "separatrix", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, dpi=150, metadata=about)
    figure.set_layout_engine("none")  # laid out once, for all formats
    return buffer.getvalue()


def inline(figure: Figure, name: str, title: str) -> str:
    """The figure as an element of a page: what it draws says what it is, and its ids begin with a name of its own.

    Everything with a label, and every single mark, has it as a title, which browsers show under the pointer; thin lines
    are felt four points around them.
    """
    said = {}
    for k, (artist, words) in enumerate(labelled(figure)):
        artist.set_gid(f"said-{k}")
        said[f"said-{k}"] = words
    drawn = saved(figure, "svg").decode()
    drawn = NOT_DRAWN.sub("", drawn[drawn.index("<svg") :])

    def titled(found: re.Match[str]) -> str:
        return f'{found[0][:-1]} class="said"><title>{html.escape(said[found[1]])}</title>'

    around = 'style="fill: none; stroke: transparent; stroke-width: 8"/>'
    drawn = LINE.sub(rf"\g<0>\g<path>{around}", NUMBERED.sub(titled, drawn))
    drawn = re.sub(r'(\bid="|href="#|url\(#)', lambda found: f"{found[0]}{name}-", drawn)
    wide = f"--wide: {figure.get_figwidth():g}in"  # its own width, for the page's style
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title)}" style="{wide}" ', 1)


def labelled(figure: Figure) -> list[tuple[Artist, str]]:
    """What is drawn in the panels with its words: its label, or that of its colour, and where a single mark is."""
    found: list[tuple[Artist, str]] = []
    for ax in figure.axes:
        colours = {line.get_color(): str(line.get_label()) for line in ax.lines if named(line)}
        for bars in ax.containers:
            found += [(one, str(bars.get_label())) for one in bars.get_children() if named(bars)]
        for line in ax.lines:
            words = str(line.get_label()) if named(line) else colours.get(line.get_color(), "")
            x, y = (np.asarray(values, dtype=float) for values in line.get_data())
            if len(x) == 1:
                ends = ((ax.get_xlabel(), x[0]), (ax.get_ylabel(), y[0]))
                place = ", ".join(f"{axis} {value:,.6g}" for axis, value in ends if axis)
                words = f"{words}: {place}" if words and place else words or place
            if words:
                found.append((line, words))
        found += [(one, str(one.get_label())) for one in ax.collections if named(one)]
    return [(artist, in_words(words)) for artist, words in found]


def named(artist: Any) -> bool:
    """Whether it has a label of its own."""
    label = artist.get_label()
    return bool(label) and not str(label).startswith("_")


def in_words(text: str) -> str:
    """A label without TeX's marks: 10$^{4}$ as 10^4."""
    for mark, letter in {r"\Vert": "‖", r"\gamma": "γ", r"\hat\theta": "θ̂", r"\theta": "θ", r"\;": " "}.items():
        text = text.replace(mark, letter)
    return re.sub(r"\\\w+|[\\${}]", "", text)
