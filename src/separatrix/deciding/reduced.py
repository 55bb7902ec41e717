"""Rows in the unknowns that rows tied to zero leave: exact, sparse, and in blocks that have no unknown in common.

Where θ is zero on B, θ_K = -Mθ_N (`kind`), and a row z is w = z_N - z_K M in the unknowns θ_N. Column j of w times a
whole number that makes its relation whole, and all of them times one power of two, are whole numbers. A row without
entries is zero for every θ that is zero on B.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.reader import Reader, whole_entries
from separatrix.data.rows import Index
from separatrix.deciding.scaling import Matrix
from separatrix.deciding.sparse_relations import Entries, Relations, rows_off

MOST = 20_000_000  # products of entries and relations that are taken
LINES = 10_000_000  # entries of a block that is written out


@dataclass(frozen=True, eq=False)
class Layer:
    """Unknowns that are of one sign in all rows that have them, among the rows left by earlier layers.

    columns, signs : the unknowns, +1 or -1 for each
    rows : places of the rows that have one of them
    """

    columns: Index
    signs: Index
    rows: Index


@dataclass(frozen=True, eq=False)
class Reduced:
    """Rows in the unknowns θ_N.

    rows : the numbers of the rows that are not zero, as the reader has them
    N : the unknowns
    entries : these rows, places in N as columns: w_ij factor_j times one power of two
    factor : one whole number per unknown
    """

    rows: Index
    N: Index
    entries: Entries
    factor: list[int]

    @classmethod
    def of(cls, reader: Reader, rows: Index, K: Index, relations: Relations) -> Reduced | None:
        """Those of these rows that are not zero, reduced; None where it would be too much."""
        N = np.setdiff1d(np.arange(reader.D), K)
        Z = reader.csr(rows)
        off = rows_off(Z, N, relations)
        rows, Z = rows[off], Z[off]
        factor = [lcm(*(c.denominator for c in relations.get(j, {}).values())) for j in N.tolist()]
        place = np.full(reader.D, -1)
        place[N] = np.arange(len(N))
        lean: list[list[tuple[int, int]]] = [[] for _ in range(reader.D)]  # per column of K: place and factor · c
        for j, terms in relations.items():
            at = int(place[j])
            for k, c in terms.items():
                lean[k].append((at, -int(c * factor[at])))
        for at, j in enumerate(N.tolist()):
            lean[j].append((at, factor[at]))
        count = np.array([len(terms) for terms in lean])[Z.indices]
        if count.sum() > MOST:
            return None
        start = np.cumsum([0, *(len(terms) for terms in lean)])
        to = np.array([at for terms in lean for at, _ in terms], dtype=np.int64)
        by = np.empty(len(to), dtype=object)
        by[:] = [c for terms in lean for _, c in terms]
        which = np.repeat(start[Z.indices] - np.cumsum(count) + count, count) + np.arange(count.sum())
        line = np.repeat(np.repeat(np.arange(len(rows)), np.diff(Z.indptr)), count)
        values = np.repeat(whole_entries(Z.data)[0], count) * by[which]
        return cls(rows, N, _summed(line, to[which], values, (len(rows), len(N))), factor)

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """Of the entries."""
        positive = (self.entries.data > 0).astype(np.int8)
        return positive - (self.entries.data < 0).astype(np.int8)

    @cached_property
    def line(self) -> Index:
        """The place of each entry's row."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.entries.indptr))

    def peel(self) -> tuple[list[Layer], Index]:
        """Layers of rows that one unknown alone can make positive, and the places of the rows that are left."""
        alive = np.ones(len(self.rows), dtype=bool)
        layers: list[Layer] = []
        where, sign = self.entries.indices, self.signs
        while True:
            inside = alive[self.line]
            up = np.bincount(where[inside & (sign > 0)], minlength=len(self.N)) > 0
            down = np.bincount(where[inside & (sign < 0)], minlength=len(self.N)) > 0
            single = up ^ down
            if not single.any():
                return layers, np.flatnonzero(alive)
            gone = np.zeros(len(self.rows), dtype=bool)
            gone[self.line[inside & single[where]]] = True
            columns = np.flatnonzero(single)
            layers.append(Layer(columns, np.where(up[columns], 1, -1), np.flatnonzero(gone)))
            alive &= ~gone

    def margins(self, psi: NDArray[Any], at: Index) -> NDArray[Any]:
        """Σ_j entry_ij ψ_j of the rows at these places, ψ_j = θ_j / factor_j."""
        part = self.part(at)
        return np.asarray(np.add.reduceat(part.data * psi[part.indices], part.indptr[:-1])) if len(at) else np.empty(0)

    def part(self, at: Index) -> Entries:
        """The rows at these places."""
        inside = np.zeros(len(self.rows), dtype=bool)
        inside[at] = True
        keep, ends = inside[self.line], np.concatenate([[0], np.cumsum(np.diff(self.entries.indptr)[at])])
        return Entries(self.entries.data[keep], self.entries.indices[keep], ends, (len(at), len(self.N)))

    def climb(self, layers: list[Layer], psi: NDArray[Any]) -> None:
        """Make ψ, positive on the rows that are left, positive on those of all layers: the last layer first."""
        for layer in reversed(layers):
            part = self.part(layer.rows)
            way = np.zeros(len(self.N), dtype=object)
            way[layer.columns] = layer.signs
            gain = np.add.reduceat(part.data * way[part.indices], part.indptr[:-1])
            now = np.add.reduceat(part.data * psi[part.indices], part.indptr[:-1])
            far = max((-value / Fraction(rise) for value, rise in zip(now, gain, strict=True)), default=Fraction(0))
            step = 1
            while step <= far:
                step *= 2
            for j, s in zip(layer.columns.tolist(), layer.signs.tolist(), strict=True):
                psi[j] += step * s

    def lifted(self, psi: NDArray[Any], D: int, relations: Relations) -> list[Fraction]:
        """θ of all columns: θ_j = factor_j ψ_j, θ_k = -Σ c_jk θ_j."""
        theta = [Fraction(0)] * D
        for j, f, value in zip(self.N.tolist(), self.factor, psi, strict=True):
            theta[j] = f * Fraction(value)
        for j, terms in relations.items():
            if theta[j]:
                for k, c in terms.items():
                    theta[k] -= c * theta[j]
        return theta

    def blocks(self, at: Index) -> Iterator[Block | None]:
        """The rows at these places by unknowns that they have in common, each row once up to its factor.

        None for a block that is too large to write out.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        part = self.part(at)
        line = np.repeat(np.arange(len(at)), np.diff(part.indptr))
        first = part.indices[part.indptr[:-1]][line]
        graph = coo_array((np.ones(len(first)), (first, part.indices)), shape=(len(self.N), len(self.N)))
        label = connected_components(graph, directed=False)[1]
        own = label[part.indices[part.indptr[:-1]]] if len(at) else np.empty(0, dtype=np.int64)
        order = np.argsort(own, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(own[order])) + 1) if len(at) else ():
            used = np.unique(np.concatenate([part.indices[part.indptr[i] : part.indptr[i + 1]] for i in members]))
            yield Block.of(part, members, used, at) if len(members) * len(used) <= LINES else None


@dataclass(frozen=True, eq=False)
class Block:
    """Rows and unknowns that no other rows have, as dense whole numbers in lowest terms, each row once.

    columns : places of the unknowns
    rows : the place of one row for each line
    divisor : what that row was divided by
    lines : whole numbers
    """

    columns: Index
    rows: Index
    divisor: list[int]
    lines: list[tuple[int, ...]]

    @classmethod
    def of(cls, part: Entries, members: Index, columns: Index, at: Index) -> Block:
        """From rows of part."""
        place = {int(j): k for k, j in enumerate(columns)}
        first: dict[tuple[int, ...], tuple[int, int]] = {}
        for i in members.tolist():
            line = [0] * len(columns)
            for j, v in zip(
                part.indices[part.indptr[i] : part.indptr[i + 1]].tolist(),
                part.data[part.indptr[i] : part.indptr[i + 1]].tolist(),
                strict=True,
            ):
                line[place[j]] = v
            g = gcd(*line)
            first.setdefault(tuple(v // g for v in line), (int(at[i]), g))
        rows = np.array([i for i, _ in first.values()], dtype=np.int64)
        return cls(columns, rows, [g for _, g in first.values()], list(first))

    @cached_property
    def column_power(self) -> list[int]:
        """Of two, near the largest entry of each unknown."""
        return [max(abs(v) for v in column).bit_length() for column in zip(*self.lines, strict=True)]

    @cached_property
    def row_power(self) -> list[int]:
        """Of two, near the largest entry of each row once columns are scaled."""
        return [
            max(v.bit_length() - p for v, p in zip(line, self.column_power, strict=True) if v) for line in self.lines
        ]

    @cached_property
    def floats(self) -> Matrix:
        """The lines over powers of two, rounded."""
        A = np.empty((len(self.lines), len(self.columns)))
        for i, (line, p) in enumerate(zip(self.lines, self.row_power, strict=True)):
            A[i] = [over(v, p + q) for v, q in zip(line, self.column_power, strict=True)]
        return A

    @cached_property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return all(v == 0 or (v // (v & -v)).bit_length() <= 53 for line in self.lines for v in line)


def over(v: int, power: int) -> float:
    """v / 2^power, rounded once."""
    return v / (1 << power) if power >= 0 else float(v << -power)


def _summed(line: Index, column: Index, values: NDArray[Any], shape: tuple[int, int]) -> Entries:
    """Entries from parts that add up; zeros left out."""
    order = np.lexsort((column, line))
    line, column, values = line[order], column[order], values[order]
    new = np.ones(len(line), dtype=bool)
    new[1:] = (line[1:] != line[:-1]) | (column[1:] != column[:-1])
    first = np.flatnonzero(new)
    data = np.add.reduceat(values, first) if len(first) else values
    line, column = line[first], column[first]
    full = np.flatnonzero(data != 0)
    ends = np.concatenate([[0], np.cumsum(np.bincount(line[full], minlength=shape[0]))])
    return Entries(data[full], column[full], ends, shape)
