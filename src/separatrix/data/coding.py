"""Factors as 0/1 columns: which level is compared with, what each column is called, sparse ones for fixed effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.columns import Column, check_name, listed
from separatrix.data.outcome import Outcome
from separatrix.reporting.hints import did_you_mean


@dataclass(frozen=True)
class Term:
    """Where one column of the design matrix comes from."""

    name: str  # as shown: "age" or "ward[icu] (vs north)"
    column: str  # of the frame: "ward"
    level: str | None  # "icu" for a contrast, None for a number
    reference: str | None  # "north" for a contrast, None for a number


class Coding:
    """Which level of each factor is the one to compare with."""

    def __init__(
        self,
        outcome: Outcome,
        rows: NDArray[np.int64],
        reference: Mapping[str, Any] | None,
        names: Sequence[str],
    ) -> None:
        if reference is not None and not isinstance(reference, Mapping):
            raise ValueError(f"reference must be a dict of columns and their levels, got {reference!r}.")
        self.given = {check_name(name, names): level for name, level in (reference or {}).items()}
        self.which, self.outcome = outcome.codes(rows)

    def check_number(self, name: str) -> None:
        """Numbers have no level to compare with."""
        if name in self.given:
            raise ValueError(f"reference names {name!r}, which holds numbers; make it text to compare its values.")

    def reference(self, factor: Column, used: Sequence[int]) -> int:
        """The code of the level that was asked for; else of the commonest in which two outcomes occur."""
        levels = factor.levels or ()
        if factor.name in self.given:
            wanted = self.given[factor.name]
            for k in used:
                if levels[k] == wanted or shown(levels[k]) == str(wanted):
                    return k
            texts = [shown(levels[k]) for k in used]
            hint = did_you_mean(wanted, texts)
            raise ValueError(f"{factor.name!r} has no level {str(wanted)!r}{hint}; levels: {listed(texts)}.")
        counts = np.bincount(factor.values, minlength=len(levels))
        codes = factor.values[self.which]
        one = np.zeros(len(levels), dtype=self.outcome.dtype)
        one[codes] = self.outcome  # one outcome of each level; another beside it makes the level mixed
        mixed = np.zeros(len(levels), dtype=bool)
        mixed[codes[self.outcome != one[codes]]] = True
        return int(np.argmax(np.where(mixed, counts, 0) if mixed.any() else counts))


def contrast_terms(factor: Column, used: Sequence[int], base: int) -> list[Term]:
    """One for each level that occurs but the reference."""
    levels = factor.levels or ()
    texts = {k: shown(levels[k]) for k in used}
    against = texts[base]
    return [
        Term(f"{factor.name}[{texts[k]}] (vs {against})", factor.name, texts[k], against) for k in used if k != base
    ]


def with_effects(X: Any, effects: Sequence[Column], coding: Coding) -> tuple[Any, list[Term]]:
    """X and, behind its columns, a sparse 0/1 column for each level of the effects but one."""
    from scipy.sparse import csr_array, hstack

    terms: list[Term] = []
    parts = [csr_array(X)] if X.shape[1] else []
    for effect in effects:
        used = np.flatnonzero(np.bincount(effect.values, minlength=len(effect.levels or ()))).tolist()
        base = coding.reference(effect, used)
        terms += contrast_terms(effect, used, base)
        place = np.full(len(effect.levels or ()), -1)
        others = [k for k in used if k != base]
        place[others] = np.arange(len(others))
        at = place[effect.values]
        inside = np.flatnonzero(at >= 0)
        entries = (np.ones(len(inside)), (inside, at[inside]))
        parts.append(csr_array(entries, shape=(len(at), len(others))))
    return csr_array(hstack(parts, format="csr")), terms


def shown(level: Any) -> str:
    """A level as people write it: 7, not 7.0."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
