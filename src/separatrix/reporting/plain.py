"""Text to read anywhere: what a terminal or a page would obey is spelled out, what its encoding lacks, and counts."""

from __future__ import annotations

import codecs
import unicodedata

LONG = 100  # letters of a name that are shown
LINE = 2_000  # and of a line that has several in it
LEGIBLE = "separatrix.legible"  # the name by which codecs know `in_ascii`
IN_ASCII = {  # as people write them by hand; θ and its like have names
    "∞": "inf",
    "ᵀ": "'",
    "‖": "||",
    "′": "'",
    "″": "''",
    "\u0302": "^",  # the hat of θ̂
    "²": "^2",
    "³": "^3",
    "⁺": "+",
    "⁻": "-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "±": "+-",
    "×": "x",
    "·": "*",
    "√": "sqrt ",
    "Σ": "sum",
    "∇": "grad ",
    "∠": "angle ",
    "½": "1/2",
    "¼": "1/4",
    "¾": "3/4",
    "→": "->",
    "←": "<-",
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
}


def plain(text: str, most: int | None = None) -> str:
    r"""The text with control characters, terminal escapes and marks that turn the direction of writing as \x1b.

    Of a text longer than `most` letters the first of them, and dots.
    """
    if most is not None and len(text) > most:
        text = f"{text[: most - 1]}…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Zs" else spelled_out(c) for c in text)


def spelled_out(character: str) -> str:
    """One character by its number, as Python writes it."""
    return character.encode("unicode_escape").decode("ascii")


def legible(text: str, encoding: str) -> str:
    """The text in letters that this encoding has."""
    return text.encode(encoding, LEGIBLE).decode(encoding)


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks, for `errors=` of anything that encodes: θ as theta, ≤ as <=, others by their numbers."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_letter, error.object[error.start : error.end])), error.end


def _letter(c: str) -> str:
    name = unicodedata.name(c, "")
    word = name.rpartition(" ")[2]
    if c in IN_ASCII:
        return IN_ASCII[c]
    if name.startswith("GREEK SMALL LETTER ") and name.count(" ") == 3:
        return "lambda" if word == "LAMDA" else word.lower()
    if name.startswith("GREEK CAPITAL LETTER ") and name.count(" ") == 3:
        return "Lambda" if word == "LAMDA" else word.capitalize()
    if name.startswith("SUBSCRIPT ") and c.isnumeric():
        return f"_{unicodedata.digit(c)}"
    return spelled_out(c)


codecs.register_error(LEGIBLE, in_ascii)


def counted(number: int, noun: str) -> str:
    """1 row, 2,000 rows, 3 classes."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"
