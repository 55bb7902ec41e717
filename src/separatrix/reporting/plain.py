"""Text to read: names from data, of which nothing is left that a terminal or a page would obey, and counts."""

from __future__ import annotations

import unicodedata

LONG = 100  # letters of a name that are shown
LINE = 2_000  # and of a line that has several in it


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


def counted(number: int, noun: str) -> str:
    """1 row, 2,000 rows, 3 classes."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"
