"""Ordered outcomes 1 … C with thresholds a_1 … a_{C-1} and one slope b; the design has no constant column.

    cumulative    P(y ≤ j) = F(a_j - xᵀb)                  a_j - xᵀb ≥ 0 unless j = C,  xᵀb - a_{j-1} ≥ 0 unless j = 1
    adjacent      log P(y = j)/P(y = j+1) = a_j - xᵀb      Σ_{j≤k<c} (a_k - xᵀb) ≥ 0,   Σ_{c≤k<j} (xᵀb - a_k) ≥ 0, all c
    sequential    P(y = j | y ≥ j) = F(a_j - xᵀb)          a_j - xᵀb ≥ 0 unless j = C,  xᵀb - a_k ≥ 0 for every k < j

j is the observed category. In the first, F(a_j - xᵀb) - F(a_{j-1} - xᵀb) never falls where its upper end never falls
and its lower end never rises; that keeps thresholds in order, too.
"""

from __future__ import annotations

import numpy as np

from separatrix.data.rows import Index
from separatrix.models.conditions import Conditions, beside, of_sums, signed
from separatrix.models.model import Family, Model


def thresholds(model: Model) -> tuple[str, ...]:
    """Their names."""
    return tuple(f"threshold {a}|{b}" for a, b in zip(model.classes, model.classes[1:], strict=False))


def coefficients(model: Model) -> tuple[str, ...]:
    """The thresholds, then the slopes."""
    return (*thresholds(model), *model.terms)


def _steps(model: Model, rows: Index, which: Index, sign: Index) -> Conditions:
    """Rows ±(a_k - xᵀb)."""
    order = np.argsort(rows, kind="stable")
    rows, which, sign = rows[order], which[order], sign[order]
    a = np.zeros((len(rows), len(model.classes) - 1))
    a[np.arange(len(rows)), which] = sign
    return Conditions(beside(a, signed(model.X, rows, -1.0 * sign)), rows, coefficients(model))


def cumulative(model: Model) -> Conditions:
    """The threshold above and the one below."""
    j, last = model.codes, len(model.classes) - 1
    below_top, above_first = np.flatnonzero(j < last), np.flatnonzero(j > 0)
    rows = np.concatenate([below_top, above_first])
    which = np.concatenate([j[below_top], j[above_first] - 1])
    return _steps(model, rows, which, np.repeat([1, -1], [len(below_top), len(above_first)]))


def sequential(model: Model) -> Conditions:
    """The step at which it stopped, and those it passed."""
    j, last = model.codes, len(model.classes) - 1
    stopped, passed = np.flatnonzero(j < last), np.repeat(np.arange(model.n), j)
    at = np.arange(len(passed)) - np.repeat(np.cumsum(j) - j, j)  # 0 … j-1 for each
    rows, which = np.concatenate([stopped, passed]), np.concatenate([j[stopped], at])
    return _steps(model, rows, which, np.repeat([1, -1], [len(stopped), len(passed)]))


def adjacent(model: Model) -> Conditions:
    """The observed category against every other."""
    classes = len(model.classes)
    rows = np.repeat(np.arange(model.n), classes - 1)
    own, other = model.codes[rows], np.tile(np.arange(classes - 1), model.n)
    other += other >= own
    k = np.arange(classes - 1)
    low, high = np.minimum(own, other), np.maximum(own, other)
    sign = np.where(other > own, 1, -1)
    a = ((k >= low[:, None]) & (k < high[:, None])) * sign[:, None]
    A = model.X if isinstance(model.X, np.ndarray) else model.X.toarray()
    factor = -sign * (high - low)
    return of_sums(A, model.terms, (rows, factor), None, a.astype(np.float64), thresholds(model), rows)


CUMULATIVE = Family("observed in j: a_j - xᵀb ≥ 0 ≥ a_{j-1} - xᵀb", cumulative, coefficients, constant=False)
ADJACENT = Family(
    "observed in j, for every other c: the sum of a_k - xᵀb from j up to c is ≥ 0, from c up to j ≤ 0",
    adjacent,
    coefficients,
    constant=False,
)
SEQUENTIAL = Family("stopped at j: a_j - xᵀb ≥ 0; passed k: a_k - xᵀb ≤ 0", sequential, coefficients, constant=False)
