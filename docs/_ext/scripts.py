"""Letters below and above the line: the text has θ_{t+1} and n^p, the site sets them as a book does.

Pages and docstrings are also read as plain text, so their formulas are text. This lowers what follows _ and raises what
follows ^, in running text and in indented formulas; names in code keep their underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

# One letter, or its accent, or a word of mathematics; then two signs at most, a known word, or whatever is in brackets.
GREEK = "Α-Ωα-ω"
BELOW = re.compile(
    rf"(?P<base>(?<![a-z0-9_])[^\W\d_][\u0300-\u036f]?|(?<=[A-Z])[a-z]|[{GREEK}][\u0300-\u036f]?|\b(?:min|max)|[∇)‖])"
    rf"_(?:\{{(?P<all>[^{{}}]+)\}}|(?P<some>min|max|cases?|control|events|[A-Za-z0-9{GREEK}∞]{{1,2}}(?![A-Za-z0-9_])|\*))"
)
ABOVE = re.compile(r"(?P<base>[\w)‖|])\^(?:\((?P<all>[^()]+)\)|(?P<some>-?\d+(?:\.\d+)?|-?[^\W\d_](?:_[a-z])?))")
FORMULA = re.compile(r"[θφΣγμλ≤≥∈‖²ᵀ]")
AS_THEY_ARE = (
    nodes.FixedTextElement,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.title,
    nodes.term,
    nodes.strong,
    nodes.comment,
    nodes.subscript,
    nodes.superscript,
    addnodes.desc_signature,
)


def scripts(text: str) -> Iterator[nodes.Node]:
    """The text in pieces, some of them below or above the line."""
    found = min(filter(None, (BELOW.search(text), ABOVE.search(text))), key=lambda one: one.start(), default=None)
    if found is None:
        if text:
            yield nodes.Text(text)
        return
    yield nodes.Text(text[: found.end("base")])
    kind = nodes.subscript if found.re is BELOW else nodes.superscript
    yield kind("", "", *scripts(found["all"] or found["some"]))
    yield from scripts(text[found.end() :])


class Scripts(SphinxTransform):
    """Once all text is there, quotes included, and before titles are collected for other pages."""

    default_priority = 900

    def apply(self, **kwargs: Any) -> None:
        """Rewrite the text of the page."""
        for quote in self.document.findall(nodes.block_quote):  # a formula that a docstring indents
            if FORMULA.search(quote.astext()):
                quote["classes"].append("formula")
        for block in list(self.document.findall(nodes.literal_block)):
            text = block.astext()
            if block.get("language", "none") == "none" and FORMULA.search(text) and ">>>" not in text:
                made = list(scripts(text))
                block["classes"].append("formula")
                block.rawsource = ""  # not the text: Sphinx colours no code then
                block.clear()
                block.extend(made)
        for leaf in list(self.document.findall(nodes.Text)):
            if not any(isinstance(above, AS_THEY_ARE) for above in ancestors(leaf.parent)):
                made = list(scripts(str(leaf)))
                if len(made) > 1:
                    leaf.parent.replace(leaf, made)


def ancestors(node: nodes.Node | None) -> Iterator[nodes.Node]:
    """It and all that it is in."""
    while node is not None:
        yield node
        node = node.parent


def setup(app: Any) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(Scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
