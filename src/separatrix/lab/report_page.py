"""The report: one HTML page with every picture inside it, that asks the network for nothing; and the same in Markdown.

All text is escaped. Pictures are SVG elements, so that a pointer can ask what they draw. The page's policy lets one
script run, by its digest: the one below, which marks where one is in the contents. Without it all else works.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from separatrix.lab.pieces import Piece, joined
from separatrix.reporting.table import Table, as_html, as_markdown, prose

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --here: #0072B2; scroll-padding-top: 3rem; }
:root { background: Canvas; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 92rem; margin: 0 auto; padding: 0 1.2rem 4rem; }
main { min-width: 0; } h1 { font-size: 1.7rem; margin: 1rem 0; }
h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.8rem 0 .2rem; font-size: 1.05rem; } h3 small { opacity: .6; font-weight: 400; }
nav { position: sticky; top: 0; z-index: 1; background: Canvas; border-bottom: 1px solid var(--line); }
nav { font-size: .85rem; }
nav ol { list-style: none; margin: 0; padding: 0; } nav > ol { display: flex; gap: .2rem 1rem; overflow-x: auto; }
nav li { white-space: nowrap; padding: .45rem 0; } nav ol ol { display: none; }
nav a { color: inherit; text-decoration: none; } nav a:hover { text-decoration: underline; }
nav .here > a { font-weight: 600; color: var(--here); }
@media (min-width: 64rem) {
  :root { scroll-padding-top: 1rem; }
  body { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2.5rem; }
  nav { align-self: start; max-height: 100vh; overflow-y: auto; border: 0; padding: 1rem 0; }
  nav > ol { display: block; } nav li { white-space: normal; padding: .12rem 0; }
  nav .here > ol { display: block; border-left: 2px solid var(--line); margin: .2rem 0 .4rem; padding-left: .7rem; }
}
@media (prefers-color-scheme: dark) { :root { --here: #56B4E9; } }
.claim { margin: .2rem 0; opacity: .8; } .note { font-size: .85rem; opacity: .75; margin: .2rem 0 1rem; }
.said-of { border-left: 3px solid #0072B2; padding-left: .8rem; }
.warn { background: #E69F0033; padding: .3rem .7rem; border-radius: .3rem; }
.fail { background: #D55E0033; padding: .3rem .7rem; border-radius: .3rem; }
figure { margin: .5rem 0; } figure label { font-size: .8rem; opacity: .75; cursor: pointer; }
.picture { background: white; border-radius: .3rem; width: fit-content; max-width: 100%; overflow: auto; }
.picture svg { display: block; max-width: 100%; height: auto; stroke-linejoin: round; }
input:checked ~ .picture { width: 100%; }
input:checked ~ .picture svg { width: max(100%, 1.25 * var(--wide)); max-width: none; }
svg:has(.said:hover) .said:not(:hover) { opacity: .2; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid var(--soft); text-align: left; vertical-align: top; }
td:first-child { min-width: 7rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
details summary { cursor: pointer; font-size: .9rem; }
"""
# The contents follow: of all sections that cross a line near the top the innermost is marked, and those around it.
SCRIPT = """
const parts = [...document.querySelectorAll("main section[id]")], crossing = new Set();
const watch = new IntersectionObserver(found => {
  for (const one of found) crossing[one.isIntersecting ? "add" : "delete"](one.target);
  const here = parts.filter(part => crossing.has(part)).pop();
  for (const old of document.querySelectorAll("nav .here")) old.classList.remove("here");
  const link = here && document.querySelector(`nav a[href="#${CSS.escape(here.id)}"]`);
  for (let item = link && link.parentElement; item; item = item.parentElement.closest("li")) item.classList.add("here");
  const bar = document.querySelector("nav"), top = link && link.closest("nav > ol > li");
  if (link && bar.scrollHeight > bar.clientHeight) bar.scrollTop = link.offsetTop - bar.clientHeight / 2;
  if (top) top.parentElement.scrollLeft = top.offsetLeft - 20;
}, { rootMargin: "-15% 0px -84% 0px" });
parts.forEach(part => watch.observe(part));
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


Drawn = Mapping[str, Sequence[str]]  # an experiment's id → its pictures as SVG elements


def page(
    opening: Sequence[tuple[str, str]],
    pieces: Sequence[Piece],
    drawn: Drawn,
    theorems: Sequence[Table],
    facts: Mapping[str, Any],
    title: str,
) -> str:
    """The whole page; `opening` is what stands above all, each with its class."""
    body = [f"<h1>{text(title)}</h1>"]
    body += [f'<p class="{kind}">{text(upper(said))}</p>' for said, kind in opening]
    links = []
    for words, inside in sections(pieces):
        shown = unique(inside)
        parts = "\n".join(part(piece, alike(piece, inside), drawn) for piece in shown)
        body.append(f'<section id="{anchor(words)}">\n<h2>{text(words)}</h2>\n{parts}\n</section>')
        links.append(link(anchor(words), words, [link(anchor(p.experiment.id), p.experiment.title) for p in shown]))
    if theorems:
        tables = "\n".join(as_html(table) for table in theorems)
        body.append(f'<section id="theorems">\n<h2>Theorems in numbers</h2>\n{tables}\n</section>')
        links.append(link("theorems", "Theorems in numbers"))
    known = as_html(Table("", ("what", "value"), [(key, str(value)) for key, value in facts.items()]))
    body.append(f'<section id="machine">\n<h2>Machine, versions, seeds</h2>\n{known}\n</section>')
    links.append(link("machine", "Machine, versions, seeds"))
    digest = base64.b64encode(sha256(SCRIPT.encode()).digest()).decode("ascii")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'\">\n"
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<nav aria-label="Contents"><ol>\n{"".join(links)}</ol></nav>\n<main>\n'
        + "\n".join(body)
        + f"\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def link(name: str, words: str, below: Sequence[str] = ()) -> str:
    """One line of the contents, and those below it."""
    inner = f"<ol>{''.join(below)}</ol>" if below else ""
    return f'<li><a href="#{name}">{text(words)}</a>{inner}</li>\n'


OTHER = "Other experiments"


def section_of(piece: Piece) -> str:
    """The section by the first word of the id."""
    return next((words for start, words in SECTIONS if piece.experiment.id.split("-")[0] == start), OTHER)


def sections(pieces: Sequence[Piece]) -> list[tuple[str, list[Piece]]]:
    """The headings that have pieces, with them."""
    found = [(words, [p for p in pieces if section_of(p) == words]) for words in (*(s for _, s in SECTIONS), OTHER)]
    return [(words, inside) for words, inside in found if inside]


def unique(pieces: Sequence[Piece]) -> list[Piece]:
    """Each picture once: where one data set stands in for several, their figures are the same."""
    return list({piece.signature: piece for piece in reversed(pieces)}.values())[::-1]


def alike(piece: Piece, beside: Sequence[Piece]) -> list[Piece]:
    """It and those whose figures are the same."""
    return [other for other in beside if other.signature == piece.signature]


def here(same: Sequence[Piece]) -> str:
    """What stands in for what in these experiments, and in which."""
    where: dict[str, list[str]] = {}
    for piece in same:
        for entry in piece.data:
            if entry.instead_of:
                where.setdefault(f"{entry.title} in place of {entry.instead_of}", []).append(piece.experiment.id)
    names = [f"{words} ({', '.join(dict.fromkeys(ids))})" if len(same) > 1 else words for words, ids in where.items()]
    once = " One data set stands in for several, so these figures are one and the same." if len(same) > 1 else ""
    return f"Here: {'; '.join(names)}.{once}" if names else once.strip()


def part(piece: Piece, same: Sequence[Piece], drawn: Drawn) -> str:
    """One experiment on the page, and those whose figures are the same."""
    e = piece.experiment
    others = "".join(f'<span id="{anchor(one.experiment.id)}"></span>' for one in same if one is not piece)
    ids = ", ".join(one.experiment.id for one in same)
    parts = [f'<section id="{anchor(e.id)}">{others}<h3>{text(e.title)} <small>{text(ids)}</small></h3>']
    parts += [f'<p class="claim">Claim: {prose(e.claim)}</p>'] if e.claim else []
    parts += [f'<p class="note">{text(here(same))}</p>'] if here(same) else []
    parts += [f'<p class="said-of">{prose(sentence)}</p>' for sentence in piece.sentences]
    for k, picture in enumerate(drawn[e.id]):
        name = f"larger-{anchor(e.id)}-{k}"
        box = f'<input type="checkbox" id="{name}"> <label for="{name}">larger</label>'
        parts.append(f'<figure>{box}<div class="picture">{picture}</div></figure>')
    parts += [f'<p class="note">{prose(piece.caption)}</p>'] if piece.caption else []
    tables = "\n".join(as_html(table) for table in piece.shown_tables)
    folded = f"<details><summary>The runs</summary>{tables}</details>" if piece.kind.long_tables else tables
    files = [f'<p class="note">{text(every_run(piece))}</p>'] if piece.listings else []
    return "\n".join([*parts, folded, *files, "</section>"])


def every_run(piece: Piece) -> str:
    """Where the counts of all its runs are."""
    return f"One line per run: {', '.join(f'tables/{name}' for name in piece.listings)}."


def text(value: object) -> str:
    """Escaped, for any place in the page."""
    return html.escape(str(value), quote=True)


def anchor(words: str) -> str:
    """A name for a link within the page."""
    return "".join(c if c.isalnum() else "-" for c in words.lower())


def upper(words: str) -> str:
    """With a capital letter, as a sentence of its own; a formula at its begin stays: Θ is not θ."""
    return words[:1].upper() + words[1:] if words[:1].isascii() and words[1:2].islower() else words


def markdown(
    notes: Sequence[str], pieces: Sequence[Piece], theorems: Sequence[Table], facts: Mapping[str, Any], title: str
) -> str:
    """The report for a repository's pages; pictures are the PNG files beside it."""
    parts = [f"# {plain(title)}", *map(plain, notes)]
    for words, inside in sections(pieces):
        parts.append(f"## {words}")
        for piece in unique(inside):
            e, same = piece.experiment, alike(piece, inside)
            parts.append(f"### {plain(e.title)} ({', '.join(one.experiment.id for one in same)})")
            parts += [f"Claim: {plain(e.claim)}"] if e.claim else []
            parts += [plain(here(same))] if here(same) else []
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
