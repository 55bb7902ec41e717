"""Rows of any data → points in a plane, and the sentences that say which ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.columns import check_name, listed
from separatrix.data.labels import label
from separatrix.data.problem import Problem
from separatrix.data.rows import Index, Vector
from separatrix.reporting.plain import LONG, plain

MOST = 5_000  # points that a browser draws and walks through without a wait
ENTRIES = 1 << 26  # of the rows that principal directions are found in
DENSE = 1_000  # columns, up to which these are found by a whole decomposition
FLAT = 1e-12  # a standard deviation, over the largest entry, below which a column does not vary
DIRECTIONS = ("first principal direction", "second principal direction")
SEEN = "rows that overlap in this plane may be separable in all columns"


@dataclass(frozen=True, eq=False)
class Points:
    """What the page shows of the data."""

    places: Vector  # (n, 2)
    sign: Vector  # ±1
    columns: tuple[str, str]
    classes: tuple[str, str]  # the second, larger one is +1
    notes: tuple[str, ...]
    of: int | None  # columns of the rows, where the page shows fewer


def points_of(problem: Problem, columns: Sequence[str | int] | None, names: Sequence[str] | None = None) -> Points:
    """Two columns of the rows as they are; of more the two that are named, or the first two principal directions.

    `names` are those of the columns where the problem has none.
    """
    if problem.weighted:
        raise ValueError("the explorer gives every row the same weight; leave sample_weight out.")
    rows = problem.rows.whole
    if rows is None:
        raise ValueError("the explorer shows rows in memory; take some of those in files or on clusters.")
    known = list(problem.names if names is None else names)
    chosen = _chosen(columns, known, [term.column for term in problem.table.terms] if problem.table else known)
    notes, sign = list(problem.notes), np.sign(rows.sign)
    kept = _sample(sign)
    if len(kept) < rows.n:
        notes.append(
            f"{len(kept):,} of {rows.n:,} rows are shown, drawn at random from both classes; if these overlap, all do."
        )
    if chosen is None:
        if len(kept) * rows.d > ENTRIES:
            raise ValueError(f"X has {rows.d:,} columns, too many to find directions in; name two in columns=.")
        places, note = principal(_values(rows.X[kept]), known)
        first, second = DIRECTIONS
        notes.append(note)
    else:
        places = _values(rows.X[kept][:, chosen])
        first, second = (*(plain(known[j], LONG) for j in chosen), "0")[:2]
        if len(chosen) < rows.d:
            notes.append(f"{len(chosen)} of {rows.d:,} columns {'is' if len(chosen) == 1 else 'are'} shown; {SEEN}.")
        if len(chosen) == 1:
            places = np.column_stack([places[:, 0], np.zeros(len(places))])
            notes.append(f"there is one column, {first}; the second coordinate of every point is 0.")
    low, high = (plain(label(one), LONG) for one in problem.classes)
    of = rows.d if chosen is None or len(chosen) < rows.d else None
    return Points(places, sign[kept], (first, second), (low, high), tuple(notes), of)


def _chosen(columns: Sequence[str | int] | None, names: list[str], sources: list[str]) -> list[int] | None:
    """Positions of the columns to show; None for directions through all. `sources` are the table's own columns."""
    if columns is None:
        return list(range(len(names))) if len(names) <= 2 else None
    if isinstance(columns, str) or not 1 <= len(columns) <= 2:
        raise ValueError(f"columns must name one or two columns, got {columns!r}; columns: {listed(names)}.")
    found = []
    for one in columns:
        if isinstance(one, int | np.integer) and not isinstance(one, bool):
            if not 0 <= one < len(names):
                raise ValueError(f"columns are counted from 0 to {len(names) - 1}, got {one}.")
            found.append(int(one))
        else:
            found.append(_position(str(one), names, sources))
    if len(set(found)) < len(found):
        raise ValueError(f"columns must differ, got {names[found[0]]!r} twice.")
    return found


def _position(name: str, names: list[str], sources: list[str]) -> int:
    """Of a column, or of a column of text by its own name, where one column was made of it."""
    made = [k for k, source in enumerate(sources) if source == name]
    if name not in names and len(made) == 1:
        return made[0]
    if name not in names and made:
        which = listed([names[k] for k in made])
        raise ValueError(f"{len(made)} columns were made of {name!r}; name one or two of them: {which}.")
    return names.index(check_name(name, names))


def _sample(sign: Vector) -> Index:
    """All rows, or of too many a part of each class, in order; the same ones each time."""
    if len(sign) <= MOST:
        return np.arange(len(sign))
    rng, parts = np.random.default_rng(0), []
    for side in (1.0, -1.0):
        rows = np.flatnonzero(sign == side)
        size = min(len(rows), max(1, round(MOST * len(rows) / len(sign))))
        parts.append(rng.choice(rows, size, replace=False))
    return np.sort(np.concatenate(parts))


def _values(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)


def principal(A: NDArray[np.float64], names: Sequence[str]) -> tuple[Vector, str]:
    """Coordinates along the first two principal directions, to four decimals, and a sentence about them.

    Each column is centred and divided by its standard deviation: with columns of different units the longest unit would
    decide otherwise. One that does not vary is left out. The largest loading is positive. The page does the same.
    """
    top = np.abs(A).max(axis=0)
    B = A / np.where(top > 0, top, 1.0)
    B -= B.mean(axis=0)
    spread = np.sqrt(np.mean(B * B, axis=0))
    B = B[:, spread > FLAT] / spread[spread > FLAT]
    scores, part = np.zeros((len(A), 2)), 0.0
    if k := min(2, B.shape[1]):
        if min(B.shape) <= DENSE:
            V = np.linalg.svd(B, full_matrices=False)[2][:k]
        else:
            from scipy.sparse.linalg import svds

            V = svds(B, k=2, v0=np.ones(min(B.shape)), return_singular_vectors="vh")[2][::-1]
        V = V * np.sign(V[np.arange(len(V)), np.abs(V).argmax(axis=1)])[:, None]
        scores[:, : len(V)] = B @ V.T
        part = float((scores**2).sum() / (B * B).sum())
    d, left = A.shape[1], A.shape[1] - B.shape[1]
    which = f" ({listed(names)})" if d <= 6 else ""
    less = f"{left:,} that {'does' if left == 1 else 'do'} not vary left out, " if left else ""
    return np.round(scores, 4) + 0.0, (
        f"the plane shows the first two principal directions of {d:,} columns{which}, {less}each centred and divided "
        f"by its standard deviation: {100 * part:.0f} % of the variance; {SEEN}."
    )
