"""Rows that every θ of the cone {Zθ ≥ 0} leaves at zero, shown in whole numbers, one stage after the other.

Weights λ > 0 on rows B with Z_Bᵀλ = 0 tie them to zero: λᵀZ_Bθ = 0 is a sum of terms that are not negative. If columns
K have full rank on B and all others are combinations of them there, column j = Σ c_jk column k, then every θ that is
zero on B has θ_k = -Σ c_jk θ_j, and zᵀθ = 0 for every z with these relations. So weights on further rows E need not
cancel:

    v = Σ_E λ_i z_i  with the relations of B in it  ties E to zero as well,

and B with E, new columns and new relations is the next stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import fsum
from typing import Any, Protocol

import numpy as np

from separatrix.certify.modular import independent_modulo_prime, independent_sparse, residues
from separatrix.certify.reader import Reader, as_integers, whole_entries
from separatrix.data.rows import Index

AT_ONCE = 1_000_000  # entries made whole numbers together
SOME = 4  # rows for each column that are looked at first


class Tied(Protocol):
    """Columns K and relations of the others, of a proof or of one of its stages."""

    @property
    def columns(self) -> tuple[int, ...] | None:
        """K."""

    @property
    def relations(self) -> Mapping[int, Mapping[int, float | Fraction]]:
        """For columns j outside K, numbers c_jk; all other columns are zero."""


def weighted_sum(reader: Reader, rows: Index, weights: Sequence[float | Fraction]) -> list[Fraction]:
    """Σ λ_i z_i without rounding, but for one positive factor."""
    lam = np.empty(len(weights), dtype=object)
    lam[:] = as_integers(weights)
    if reader.sparse:
        Z = reader.csr(rows).tocsc()
        whole, power = whole_entries(Z.data)
        filled = np.flatnonzero(np.diff(Z.indptr))
        total = [Fraction(0)] * reader.D
        if len(filled):
            sums = np.add.reduceat(whole * lam[Z.indices], Z.indptr[filled])
            for j, v in zip(filled.tolist(), sums.tolist(), strict=True):
                total[j] = v * Fraction(2) ** power
        return total
    total = []
    step = max(1, AT_ONCE // max(1, len(rows)))
    for lo in range(0, reader.D, step):
        A = reader.dense(rows, np.arange(lo, min(lo + step, reader.D)))
        for column in A.T:
            inside = np.flatnonzero(column)
            whole, power = whole_entries(column[inside])
            total.append(sum(whole * lam[inside], start=0) * Fraction(2) ** power)
    return total


def exact_gordan(reader: Reader, rows: Index, weights: Sequence[float | Fraction]) -> bool:
    """Whether Σ λ_i z_i = 0 in whole numbers."""
    if len(set(weights)) == 1:
        with suppress(OverflowError):  # of entries near the largest there are
            return _sum_is_zero(reader, rows)
    return not any(weighted_sum(reader, rows, weights))


def _sum_is_zero(reader: Reader, rows: Index) -> bool:
    """Whether these rows add up to 0."""
    if reader.sparse:
        Z = reader.csr(rows).tocsc()
        return not any(fsum(Z.data[lo:hi]) for lo, hi in zip(Z.indptr[:-1], Z.indptr[1:], strict=True))
    step = max(1, AT_ONCE // max(1, len(rows)))
    return not any(
        fsum(column)  # the exact sum, rounded once
        for lo in range(0, reader.D, step)
        for column in reader.dense(rows, np.arange(lo, min(lo + step, reader.D))).T
    )


def independent(reader: Reader, rows: Index, columns: Index) -> bool:
    """Whether these columns have full rank on these rows, as far as a prime shows: True is proven."""
    if len(columns) == 0:
        return True
    if reader.sparse:
        Z = reader.csr(rows, columns)
        return any(independent_sparse(Z, seed=seed) for seed in range(2))
    some = rows[:: max(1, len(rows) // (SOME * len(columns)))]
    return any(independent_modulo_prime(residues(reader.dense(few, columns))) for few in (some, rows))


def relations_hold(reader: Reader, tied: Tied, rows: Index | None) -> bool:
    """Whether each column outside K is, on these rows, zero or the combination of columns of K that the proof says."""
    if not _sound(tied):
        return False
    zero = _zero(reader.D, tied)
    if len(zero) and not reader.zero(zero, rows).all():
        return False
    return not any(_off(reader, j, terms, rows).any() for j, terms in tied.relations.items())


def relations_at(reader: Reader, tied: Tied, rows: Index) -> Index:
    """Those of these rows in which all relations hold; none where they name what they may not."""
    if not _sound(tied):
        return rows[:0]
    rows = rows[reader.zero(_zero(reader.D, tied), rows)]
    for j, terms in tied.relations.items():
        rows = rows[_off(reader, j, terms, rows) == 0]
    return rows


def _sound(tied: Tied) -> bool:
    """Whether relations are of columns outside K, over columns of K."""
    kept = set(tied.columns or ())
    return not kept.intersection(tied.relations) and all(kept.issuperset(terms) for terms in tied.relations.values())


def _zero(D: int, tied: Tied) -> Index:
    """The columns that have to be zero."""
    return np.array(sorted(set(range(D)) - set(tied.columns or ()) - set(tied.relations)), dtype=np.int64)


def _off(reader: Reader, j: int, terms: Mapping[int, Any], rows: Index | None) -> Any:
    """The sign of Σ c z_ik - z_ij in each row."""
    return reader.signs_at([j, *terms], [Fraction(-1), *(Fraction(c) for c in terms.values())], rows)


def relations_in(v: Sequence[Fraction], tied: Tied) -> bool:
    """Whether the relations hold in this row."""
    return not any(v[j] for j in _zero(len(v), tied).tolist()) and all(
        v[j] == sum((Fraction(c) * v[k] for k, c in terms.items()), start=Fraction(0))
        for j, terms in tied.relations.items()
    )


def stages_hold(reader: Reader, stages: Sequence[Any], at: Sequence[Index]) -> bool:
    """Whether the weights of every stage tie its rows to zero, and its columns and relations are right on all so far.

    `at` has the rows of each stage as the reader numbers them.
    """
    so_far = np.empty(0, dtype=np.int64)
    for number, (stage, rows) in enumerate(zip(stages, at, strict=True)):
        if stage.columns is None or len(rows) == 0 or not all(w > 0 for w in stage.weights):
            return False
        if number == 0:
            tied = exact_gordan(reader, rows, stage.weights)
        else:
            tied = relations_in(weighted_sum(reader, rows, stage.weights), stages[number - 1])
        so_far = np.concatenate([so_far, rows])
        columns = np.array(stage.columns, dtype=np.int64)
        if not (tied and relations_hold(reader, stage, so_far) and independent(reader, so_far, columns)):
            return False
    return True
