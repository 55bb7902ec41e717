"""A hint at the name that was probably meant."""

from __future__ import annotations

import difflib
from typing import Any


def did_you_mean(name: Any, names: Any) -> str:
    """The nearest of these names as part of a sentence, or nothing."""
    found = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
    return f", did you mean {found[0]!r}?" if found else ""
