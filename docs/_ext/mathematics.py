"""Formulas as MathML, made by the build: browsers draw it themselves, without a script.

Pages have $…$ and $$…$$ in LaTeX with letters as they are, φ and not its name, so that they can be read as text too. An
inline formula may break before a relation and after a comma, as text would: browsers do not break MathML.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert

SIGNS = {
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "‖": r"\|",
    "·": r"\cdot ",
    "∈": r"\in ",
    "∝": r"\propto ",
    "→": r"\to ",
    "←": r"\leftarrow ",
    "…": r"\dots ",
    "½": r"\tfrac{1}{2}",
    "¼": r"\tfrac{1}{4}",
    "⊤": r"\top ",
    "∞": r"\infty ",
    "∠": r"\angle ",
    "∫": r"\int ",
    "∇": r"\nabla ",
    "√": r"\sqrt ",
}
FUNCTIONS = ("log", "ln", "exp", "tan", "cosh", "cos", "arccos", "sign")
RELATIONS = set("=≤≥<>≠→←∝≈∈")
OPENING, CLOSING = set("([{⟨"), set(")]}⟩")
SPACE = "http://www.w3.org/1998/Math/MathML"
TAG = f"{{{SPACE}}}"

ElementTree.register_namespace("", SPACE)


def element(latex: str, display: str) -> ElementTree.Element:
    """A formula as an element <math> with one <mrow>."""
    for sign, command in SIGNS.items():
        latex = latex.replace(sign, command)
    made = ElementTree.fromstring(convert(latex, display=display))
    for row in made.iter():
        for k in range(len(row) - 2, -1, -1):
            if row[k].text in FUNCTIONS and text_of(row[k + 1])[:1] not in OPENING:
                row.insert(k + 1, ElementTree.Element(f"{TAG}mspace", width="0.167em"))  # log n, not logn
    return made


def text_of(part: ElementTree.Element) -> str:
    """All that an element shows."""
    return "".join(part.itertext()).strip()


def pieces(row: list[ElementTree.Element]) -> list[list[ElementTree.Element]]:
    """Parts of a formula between which a line may end: outside of brackets, before a relation or after a comma."""
    made: list[list[ElementTree.Element]] = [[]]
    depth = norms = 0
    for part in row:
        sign = text_of(part) if part.tag == f"{TAG}mo" else ""
        outer = text_of(part)[:1] if part.tag in (f"{TAG}msup", f"{TAG}msub", f"{TAG}msubsup") else sign
        free = depth == 0 and norms % 2 == 0
        if sign in RELATIONS and free and made[-1]:
            part.set("form", "infix")  # it is the first of its piece now, which would be a prefix
            made.append([])
        made[-1].append(part)
        depth += (outer in OPENING) - (outer in CLOSING)
        norms += outer == "‖"
        if sign == "," and free:
            made.append([])
    return [piece for piece in made if piece]


def inline(latex: str) -> str:
    """A formula in a line of text: one <math> for each piece, with a place to break between them."""
    row = element(latex, "inline")[0]
    shown = []
    for piece in pieces(list(row)):
        one = ElementTree.Element(f"{TAG}math")
        ElementTree.SubElement(one, f"{TAG}mrow").extend(piece)
        gap = " " if text_of(piece[-1]) == "," else "<wbr>"
        shown.append(ElementTree.tostring(one, encoding="unicode") + gap)
    return "".join(shown).removesuffix("<wbr>").rstrip()


def display(latex: str) -> str:
    """A formula on a line of its own."""
    return ElementTree.tostring(element(latex, "block"), encoding="unicode")


def visit_math(self: Any, node: nodes.math) -> None:
    """Write an inline formula."""
    self.body.append(f'<span class="math">{inline(node.astext())}</span>')
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed one, in a box that scrolls by itself."""
    self.body.append(f'<div class="math">{display(node.astext())}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
