"""The report: one HTML page with every picture inside it, that asks the network for nothing; and the same in Markdown.

All text is escaped. Pictures are SVG as data of an image, so no script or name inside them can act on the page.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from typing import Any

from separatrix.lab.pieces import Piece, joined, notes_on
from separatrix.reporting.table import Table, as_html, as_markdown

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; margin: .6rem 0; } h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.8rem 0 .2rem; font-size: 1.05rem; } h3 small { opacity: .6; font-weight: 400; }
nav { display: flex; flex-wrap: wrap; gap: .2rem .8rem; font-size: .9rem; }
.claim { margin: .2rem 0; opacity: .8; } .note { font-size: .85rem; opacity: .75; margin: .2rem 0 1rem; }
.said { border-left: 3px solid #0072B2; padding-left: .8rem; }
.warn { background: #E69F0033; padding: .3rem .7rem; border-radius: .3rem; }
.fail { background: #D55E0033; padding: .3rem .7rem; border-radius: .3rem; }
img { max-width: 100%; height: auto; background: white; border-radius: .3rem; display: block; margin: .5rem 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid var(--soft); text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
details summary { cursor: pointer; font-size: .9rem; }
"""
SECTIONS = (
    ("finding", "The three findings"),
    ("table", "Table 1"),
    ("figure", "Figures"),
    ("powers", "Between the two normalisations"),
    ("theory", "Theory beside measurement"),
    ("separability", "Separability"),
    ("scoreboard", "Methods on one scoreboard"),
    ("bias", "Implicit bias"),
    ("bifurcation", "Cycles"),
    ("chaos", "Chaos"),
    ("limit", "The limit of large steps"),
    ("networks", "Nonlinear models"),
)


Drawn = Mapping[str, Sequence[bytes]]  # an experiment's id → its pictures as SVG


def page(
    pieces: Sequence[Piece],
    drawn: Drawn,
    theorems: Sequence[Table],
    facts: Mapping[str, Any],
    failures: Sequence[str],
    title: str,
) -> str:
    """The whole page."""
    sections = [(words, [p for p in pieces if section_of(p) == words]) for words in (*(s for _, s in SECTIONS), OTHER)]
    body = [f"<h1>{text(title)}</h1>", opening(pieces, failures)]
    links = [f'<a href="#{anchor(words)}">{text(words)}</a>' for words, inside in sections if inside]
    links.append('<a href="#machine">Machine, versions, seeds</a>')
    body.append(f"<nav>{' '.join(links)}</nav>")
    for words, inside in sections:
        if inside:
            body.append(f'<h2 id="{anchor(words)}">{text(words)}</h2>')
            body += [part(piece, inside, drawn) for piece in unique(inside)]
    if theorems:
        body.append('<h2 id="theorems">Theorems in numbers</h2>')
        body += [as_html(table) for table in theorems]
    body.append('<h2 id="machine">Machine, versions, seeds</h2>')
    body.append(as_html(Table("", ("what", "value"), [(key, str(value)) for key, value in facts.items()])))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


OTHER = "Other experiments"


def section_of(piece: Piece) -> str:
    """The section by the first word of the id."""
    return next((words for start, words in SECTIONS if piece.experiment.id.split("-")[0] == start), OTHER)


def opening(pieces: Sequence[Piece], failures: Sequence[str]) -> str:
    """What stands in for what, what did not come out, and what each finding's evidence says."""
    parts = [f'<p class="warn">{text(note)}</p>' for note in notes_on(pieces)]
    parts += [f'<p class="fail">{text(failure)}</p>' for failure in failures]
    if not failures:
        parts.append("<p>Every number that must come out exactly did.</p>")
    return "\n".join(parts)


def unique(pieces: Sequence[Piece]) -> list[Piece]:
    """Each picture once: where one data set stands in for several, their figures are the same."""
    return list({piece.signature: piece for piece in reversed(pieces)}.values())[::-1]


def part(piece: Piece, beside: Sequence[Piece], drawn: Drawn) -> str:
    """One experiment on the page."""
    same = [p.experiment for p in beside if p.signature == piece.signature]
    e = piece.experiment
    heads = "".join(f'<h3 id="{anchor(one.id)}">{text(one.title)} <small>{text(one.id)}</small></h3>' for one in same)
    parts = [heads, f'<p class="claim">Claim: {text(e.claim)}</p>' if e.claim else ""]
    others = dict.fromkeys(f"{m.title} in place of {m.instead_of}" for m in piece.data if m.instead_of)
    if others:
        parts.append(f'<p class="note">Here: {text("; ".join(others))}.</p>')
    if len(same) > 1:
        parts.append('<p class="note">One data set stands in for several, so these figures are one and the same.</p>')
    parts += [f'<p class="said">{text(sentence)}</p>' for sentence in piece.sentences]
    for svg in drawn[e.id]:
        picture = base64.b64encode(svg).decode("ascii")
        parts.append(f'<img alt="{text(e.title)}" src="data:image/svg+xml;base64,{picture}">')
    parts.append(f'<p class="note">{text(piece.caption)}</p>' if piece.caption else "")
    tables = "\n".join(as_html(table) for table in piece.shown_tables)
    folded = f"<details><summary>The runs</summary>{tables}</details>" if piece.kind.long_tables else tables
    files = f'<p class="note">{text(every_run(piece))}</p>' if piece.listings else ""
    return "\n".join([*(p for p in parts if p), folded, files])


def every_run(piece: Piece) -> str:
    """Where the counts of all its runs are."""
    return f"One line per run: {', '.join(f'tables/{name}' for name in piece.listings)}."


def text(value: object) -> str:
    """Escaped, for any place in the page."""
    return html.escape(str(value), quote=True)


def anchor(words: str) -> str:
    """A name for a link within the page."""
    return "".join(c if c.isalnum() else "-" for c in words.lower())


def markdown(pieces: Sequence[Piece], theorems: Sequence[Table], facts: Mapping[str, Any], title: str) -> str:
    """The report for a repository's pages; pictures are the PNG files beside it."""
    parts = [f"# {plain(title)}", *(plain(note) for note in notes_on(pieces))]
    for words in (*(s for _, s in SECTIONS), OTHER):
        inside = [piece for piece in pieces if section_of(piece) == words]
        parts += [f"## {words}"] if inside else []
        for piece in unique(inside):
            e = piece.experiment
            same = [p.experiment for p in inside if p.signature == piece.signature]
            parts += [f"### {plain(one.title)} ({one.id})" for one in same]
            parts += [f"Claim: {plain(e.claim)}"] if e.claim else []
            parts += [plain(sentence) for sentence in piece.sentences]
            parts += [f"![{plain(e.title)}](figures/{joined(e.id, key)}.png)" for key in piece.pictures]
            parts += [plain(piece.caption)] if piece.caption else []
            parts += [as_markdown(table).strip() for table in piece.shown_tables]
            parts += [plain(every_run(piece))] if piece.listings else []
    parts += ["## Theorems in numbers", *(as_markdown(table).strip() for table in theorems)] if theorems else []
    known = Table("Machine, versions, seeds", ("what", "value"), [(key, str(value)) for key, value in facts.items()])
    return "\n\n".join([*parts, as_markdown(known).strip()]) + "\n"


def plain(words: str) -> str:
    """Text in which Markdown sees no marks of its own, nor HTML."""
    return html.escape(words, quote=False).replace("_", "\\_").replace("*", "\\*").replace("[", "\\[")
