"""Conditions: the rows z of a model; along b its likelihood never falls exactly where zᵀb ≥ 0 in every row.

An equality is two rows, z and -z. Entries are those of the table, their negatives, and sums of two of them, each exact:
where a sum would round, the column is split into parts whose sums do not, x = x₀ + x₁ + …, and the parts' coefficients
are held equal, b₀ - b₁ = 0, which is the same condition on one coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index

Matrix = NDArray[np.float64]
DIGITS = 53  # bits of a float64
LARGE = 2.0**1022  # sums of two such entries are still finite
STRUCTURE = -1  # the observation of a row that holds parts of a column together


@dataclass(frozen=True, eq=False)
class Conditions:
    """The rows of a model, where each comes from, and the names of its coefficients.

    Z : dense or CSR, (N, D)
    observation : (N,) the observation that a row speaks of; STRUCTURE where it is about no observation
    names : one per coefficient; a column that is split has further ones behind all others, without a name
    chain : (N,) for models whose later rows imply more for earlier observations: the number of the chain, else None
    """

    Z: Any
    observation: Index
    names: tuple[str, ...]
    chain: Index | None = None

    def separated(self, strict: Index) -> Index:
        """The observations with a strict inequality among these rows, or among rows further down their chain."""
        if self.chain is None:
            found = self.observation[strict]
        else:  # rows of a chain go down in order: what is strict further down is strict for all above it
            last = np.full(int(self.chain.max(initial=-1)) + 1, -1, dtype=np.int64)
            own = strict[self.chain[strict] >= 0]
            np.maximum.at(last, self.chain[own], own)
            above = (self.chain >= 0) & (np.arange(len(self.chain)) <= last[np.maximum(self.chain, 0)])
            found = np.concatenate([self.observation[above], self.observation[strict]])
        return np.unique(found[found != STRUCTURE])


def signed(A: Any, rows: Index, sign: NDArray[Any]) -> Any:
    """The rows of A at these places, each times its sign; dense or CSR as A is."""
    return times(A[rows], sign)


def times(A: Any, factor: NDArray[Any]) -> Any:
    """Every row of A times its factor."""
    if isinstance(A, np.ndarray):
        return A * factor[:, None] + 0.0  # no -0
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(np.asarray(factor, dtype=np.float64)) @ A)


def beside(*blocks: Any) -> Any:
    """Blocks side by side; CSR if one of them is."""
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.hstack(blocks)
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack(blocks, format="csr"))


def below(*blocks: Any) -> Any:
    """Blocks one below the other; CSR if one of them is."""
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.vstack(blocks)
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack(blocks, format="csr"))


def in_parts(A: Matrix, largest: int) -> list[tuple[int, Matrix]]:
    """Columns of A as sums of parts, (column, part): sums of two entries times at most `largest` are exact in each."""
    parts: list[tuple[int, Matrix]] = []
    for j, x in enumerate(A.T):
        rest = np.array(x)
        while True:
            fine, coarse = _places(rest)
            room = DIGITS - 1 - int(largest).bit_length()
            if coarse - fine <= room:
                parts.append((j, rest))
                break
            unit = coarse - room
            top = np.ldexp(np.rint(np.ldexp(rest, -unit)), unit)
            parts.append((j, top))
            rest = rest - top
    return parts


def _places(x: Matrix) -> tuple[int, int]:
    """The last binary place in use and the one beyond the first: 2^fine ≤ |x| < 2^coarse."""
    x = x[x != 0]
    if len(x) == 0:
        return 0, 0
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(abs(mantissa), DIGITS).astype(np.int64)
    low = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # trailing zeros
    return int((exponent - DIGITS + low).min()), int(exponent.max())


def of_sums(
    A: Matrix,
    names: tuple[str, ...],
    first: tuple[Index, NDArray[np.int64]],
    second: tuple[Index, NDArray[np.int64]] | None,
    extra: Matrix | None,
    extra_names: tuple[str, ...],
    observation: Index,
    chain: Index | None = None,
) -> Conditions:
    """Rows k a_i (+ l a_j), exact, with more columns before them, and the rows that hold parts of a column together.

    first, second : places in A and their whole factors
    extra : columns of whole numbers, one line per row
    """
    largest = max(int(abs(factor).max(initial=1)) for _, factor in (first, second or first))
    for j in np.flatnonzero(abs(A).max(axis=0, initial=0) >= LARGE / largest):
        seen = f"{names[j]!r} has entries as large as {abs(A[:, j]).max():.2g}"
        raise ValueError(f"{seen}, too large to compare; scale the column down.")
    parts = in_parts(A, largest)
    order = sorted(range(len(parts)), key=lambda at: (at > 0 and parts[at][0] == parts[at - 1][0], at))
    columns = [parts[at][0] for at in order]
    B = np.column_stack([parts[at][1] for at in order]) if parts else np.empty((len(A), 0))
    Z = B[first[0]] * first[1][:, None]
    if second is not None:
        Z = Z + B[second[0]] * second[1][:, None]
    q = 0 if extra is None else extra.shape[1]
    Z = np.hstack([Z, np.empty((len(Z), 0))] if extra is None else [extra, Z]) + 0.0
    D, ties = Z.shape[1], []
    for at in range(A.shape[1], len(columns)):
        line = np.zeros(D)
        line[q + columns[at]], line[q + at] = 1.0, -1.0
        ties += [line, -line]
    if ties:
        Z = np.vstack([Z, np.array(ties)])
        none = np.full(len(ties), STRUCTURE, dtype=np.int64)
        observation = np.concatenate([observation, none])
        chain = None if chain is None else np.concatenate([chain, none])
    return Conditions(Z, observation, (*extra_names, *names), chain)
