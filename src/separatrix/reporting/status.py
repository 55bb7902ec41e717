"""Words with a sentence: what a status, a verdict or a claim means, said once."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """A word that compares equal to its text; `message` is one sentence on what it means."""

    message: str

    def __new__(cls, word: str, message: str = "") -> Self:
        """The word with its sentence; a word alone, as in `Status("separated")`, finds its member."""
        self = str.__new__(cls, word)
        self._value_ = word
        self.message = message
        return self

    def __init_subclass__(cls) -> None:
        """Add the members, each with its text and its sentence, to the docstring."""
        members = [f'{m.name} : "{m}"\n    {m.message[0].upper()}{m.message[1:]}.' for m in cls]
        told = [*members, "message : str", "    One sentence on what the member means."]
        cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Attributes", "----------", *told, ""])
