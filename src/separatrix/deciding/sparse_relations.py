"""Columns of sparse rows that are exact combinations of others: guessed modulo a prime, lifted, and verified.

Elimination modulo a prime (`certify.modular`) says which columns have a part outside the others, and what the others
are there. Coefficients of fixed effects are nearly always small fractions, which one prime shows; longer ones are
lifted digit by digit (Dixon 1982): with Z_K c = z_j modulo p, the rest (z_j - Z_K c)/p is the next right side. Nothing
counts before it was found to hold in every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.modular import (
    MORE,
    PRIME,
    STRIP,
    Disjoint,
    Matrix,
    Pivots,
    added_up,
    disjoint,
    never_meeting,
    product,
    reduce_modulo_prime,
    sparse_residues,
)
from separatrix.certify.reader import Reader, Signs, as_integers, exact_signs
from separatrix.data.rows import Index
from separatrix.deciding.budget import UNLIMITED, Budget

Relations = dict[int, dict[int, Fraction]]

SMALL = isqrt(PRIME // 2)  # numerators and denominators that one prime tells apart
SEEDS = (0, 1, 2)  # of the random sums of rows: another where rank was lost
WIDTH = 5_000  # columns that are left to dense elimination
FACTORED = 10**12  # products of it
TRIES = (3, 6, 12, 24, 48)  # digits after which fractions are read off
SURE = 20  # bits that a fraction must be shorter than the modulus to be believed


@dataclass(frozen=True, eq=False)
class Elimination:
    """What elimination modulo a prime says of the columns of Z.

    Z : CSR
    split : the columns that never meet
    sums : how the rows were added up
    matrix : what they were added up to, before elimination
    pivots : of it
    reduced : it, after elimination
    """

    Z: Any
    split: Disjoint
    sums: Any
    matrix: Matrix
    pivots: Pivots
    reduced: Matrix

    @classmethod
    def of(cls, Z: Any, seed: int, budget: Budget) -> Elimination | None:
        """None where it is too much, or too late."""
        split = disjoint(sparse_residues(Z), plain_first(Z))
        width = len(split.others)
        rows = min(Z.shape[0], width + MORE)
        if rows * width > WIDTH**2 or 2 * rows * width * min(rows, width) > budget.affordable(FACTORED):
            return None
        matrix, sums = added_up(split.rest, seed)
        reduced = matrix.copy()
        pivots = reduce_modulo_prime(reduced, lambda: budget.late)
        return None if pivots is None else cls(Z, split, sums, matrix, pivots, reduced)

    @cached_property
    def kept(self) -> Index:
        """The columns that are independent: those that never meet, then those of pivots."""
        return np.concatenate([self.split.columns, self.split.others[self.pivots.columns]])

    @cached_property
    def left(self) -> Index:
        """The others."""
        return np.delete(self.split.others, self.pivots.columns)

    @property
    def coefficients(self) -> Matrix:
        """Of the columns left over those kept, modulo the prime: kept x left."""
        at = np.delete(np.arange(len(self.split.others)), self.pivots.columns)
        x = self.reduced[np.ix_(self.pivots.rows, at)]
        right = self.split.beside[:, at].toarray()
        return np.vstack([self.split.back(right, self._all(x)), x])

    def _all(self, x: Matrix) -> Matrix:
        """Coefficients of the pivots' columns as those of all that are not disjoint."""
        full = np.zeros((len(self.split.others), x.shape[1]))
        full[self.pivots.columns] = x
        return full

    @cached_property
    def _inverse(self) -> Matrix:
        """Of the square part of the matrix with the pivots."""
        r = len(self.pivots.rows)
        M = np.hstack([self.matrix[np.ix_(self.pivots.rows, self.pivots.columns)], np.eye(r)])
        found = reduce_modulo_prime(M, width=r)
        assert found is not None and len(found.rows) == r, "pivots of an elimination have an inverse"
        return M[found.rows][:, r:]

    def solve(self, b: Matrix) -> Matrix:
        """c over the kept columns with Z c = b modulo the prime, if there is one."""
        s = product(self.sums, self.split.left(b))[self.pivots.rows]
        x = np.zeros((len(s), b.shape[1]))
        for lo in range(0, len(s), STRIP):  # sums of STRIP products stay below 2**53
            x = (x + self._inverse[:, lo : lo + STRIP] @ s[lo : lo + STRIP]) % PRIME
        return np.vstack([self.split.back(b[self.split.rows], self._all(x)), x])


def plain_first(Z: Any) -> Index:
    """The columns in order, those whose entries are of one size before the others: simple columns, simple relations."""
    size, where = abs(Z.data), Z.indices
    top, low = np.zeros(Z.shape[1]), np.full(Z.shape[1], np.inf)
    np.maximum.at(top, where, size)
    np.minimum.at(low, where, size)
    return np.argsort(top > low, kind="stable")


def worthwhile(reader: Reader, rows: Index, entries: int) -> bool:
    """Whether elimination modulo a prime is less work than writing the rows out, or that is too much.

    It takes about four times as long for a product as a factorisation in floats.
    """
    n, D = len(rows), reader.D
    if n * D > entries:
        return True
    width = D - len(never_meeting(reader.csr(rows).tocsc()))
    return 8 * min(n, width + MORE) * width * min(n, width) <= n * D * min(n, D)


def sparse_columns(
    reader: Reader, rows: Index, *, order: Index | None = None, budget: Budget = UNLIMITED
) -> tuple[Index, Relations] | None:
    """Columns K that span all columns on these rows, and each other non-zero column as an exact combination of K.

    K is independent, and every relation holds. With `order` the first columns in that order are kept. None where it was
    too much, or too late.
    """
    Z = reader.csr(rows)
    for seed in SEEDS:
        found = Elimination.of(Z, seed, budget)
        if found is None:
            return None
        relations = combinations(found, budget)
        if relations is not None:
            K = np.sort(found.kept)
            if order is None:
                return K, relations
            relations = in_order(relations, order)
            filled = np.diff(Z.tocsc().indptr) > 0
            gone = [j for j in range(reader.D) if j in relations or not filled[j]]
            return np.setdiff1d(np.arange(reader.D), gone), relations
        if budget.late:
            return None
    return None


def combinations(found: Elimination, budget: Budget) -> Relations | None:
    """Each column that is left and not zero over the kept ones; None unless all hold."""
    Z, kept, left = found.Z, found.kept, found.left
    filled = np.diff(Z.tocsc().indptr) > 0
    if not filled[left].any():
        return {}
    if len(kept) * len(left) > budget.entries:
        return None
    C = found.coefficients
    relations: Relations = {}
    hard = []
    for at, j in enumerate(left.tolist()):
        if not filled[j]:
            continue
        terms = short(kept, C[:, at])
        if terms is None:
            hard.append(j)
        else:
            relations[j] = terms
    wrong = set(failing(Z, relations))
    hard += [j for j in relations if j in wrong]
    relations = {j: terms for j, terms in relations.items() if j not in wrong}
    if not hard:
        return relations
    more = lifted(found, np.array(sorted(hard), dtype=np.int64), budget)
    return None if more is None else relations | more


def short(kept: Index, c: Matrix) -> dict[int, Fraction] | None:
    """Residues as fractions of small parts; None where one is none."""
    at = np.flatnonzero(c)
    values = {}
    for v in np.unique(c[at]).tolist():
        value = fraction(int(v), PRIME, SMALL)
        if value is None:
            return None
        values[v] = value
    return {int(kept[i]): values[float(c[i])] for i in at.tolist()}


def fraction(x: int, modulus: int, most: int) -> Fraction | None:
    """p/q with p = qx modulo `modulus`, both at most `most`, by Euclid's algorithm half-way; None if there is none."""
    a, b, s, t = modulus, x % modulus, 0, 1
    while b > most:
        a, b, s, t = b, a % b, t, s - a // b * t
    if t == 0 or abs(t) > most:
        return None
    return Fraction(b, t)


def failing(Z: Any, relations: Relations) -> Iterator[int]:
    """The columns whose relation fails in some row."""
    simple, off = together(Z, relations)
    yield from (simple[k] for k in np.flatnonzero(np.diff(off.tocsc().indptr)))
    yield from (j for j, signs in one_by_one(Z, relations, simple) if signs.any())


def rows_off(Z: Any, N: Index, relations: Relations) -> NDArray[np.bool_]:
    """The rows in which a relation fails, or a column of N that has none is not zero."""
    alone = np.zeros(Z.shape[1], dtype=bool)
    alone[N] = True
    alone[list(relations)] = False
    hit = np.concatenate([[0], np.cumsum(alone[Z.indices])])
    bad = hit[Z.indptr[1:]] > hit[Z.indptr[:-1]]
    simple, off = together(Z, relations)
    bad |= np.diff(off.indptr) > 0
    for _, signs in one_by_one(Z, relations, simple):
        bad |= signs != 0
    return np.asarray(bad)


def together(Z: Any, relations: Relations) -> tuple[list[int], Any]:
    """Relations of short whole numbers, and Σ c z_ik - z_ij of them in every row, CSR, without rounding."""
    from scipy.sparse import csc_array

    at: list[int] = []
    rows: list[int] = []
    values: list[float] = []
    simple: list[int] = []
    wide = int(np.diff(Z.indptr).max(initial=0))
    odd = np.zeros(Z.shape[1], dtype=bool)
    odd[Z.indices[(Z.data != np.rint(Z.data)) | (abs(Z.data) >= 2**20)]] = True
    for j, terms in relations.items():
        support, c = [j, *terms], as_integers([Fraction(-1), *terms.values()])
        if not odd[support].any() and max(map(abs, c)) * wide < 2**32:
            at += [len(simple)] * len(support)
            rows += support
            values += [float(v) for v in c]
            simple.append(j)
    off = (Z @ csc_array((values, (rows, at)), shape=(Z.shape[1], len(simple)))).tocsr()
    off.eliminate_zeros()
    return simple, off


def one_by_one(Z: Any, relations: Relations, done: list[int]) -> Iterator[tuple[int, Signs]]:
    """The signs of Σ c z_ik - z_ij of the other relations."""
    by_column, known = Z.tocsc(), set(done)
    for j, terms in relations.items():
        if j not in known:
            yield j, exact_signs(by_column[:, [j, *terms]].tocsr(), as_integers([Fraction(-1), *terms.values()]))


def lifted(found: Elimination, hard: Index, budget: Budget) -> Relations | None:
    """Combinations with long coefficients, by p-adic digits; None unless all of them hold."""
    A, power = whole_columns(found.Z)
    kept = found.kept
    right = A[:, hard]
    r = np.zeros(right.shape, dtype=object)
    rows = np.repeat(np.arange(right.shape[0]), np.diff(right.indptr))
    r[rows, right.indices] = right.data
    A = A[:, kept]
    filled = np.flatnonzero(np.diff(A.indptr))
    twos = np.array([pow(2, int(k), PRIME) for k in power[kept]], dtype=np.float64)[:, None]
    x, modulus = np.zeros((len(kept), len(hard)), dtype=object), 1
    for digits in range(1, TRIES[-1] + 1):
        if budget.late:
            return None
        digit = (found.solve((r % PRIME).astype(np.float64)) * twos % PRIME).astype(np.int64).astype(object)
        r[filled] -= np.add.reduceat(A.data[:, None] * digit[A.indices], A.indptr[filled], axis=0)
        if (r % PRIME).any():
            return None  # no combination after all: rank was lost on the way
        r //= PRIME
        x += digit * modulus
        modulus *= PRIME
        if digits in TRIES:
            read = [read_off(x[:, at], modulus) for at in range(len(hard))]
            if any(terms is None for terms in read):
                continue
            relations = {
                int(j): {
                    int(kept[i]): c * Fraction(2) ** int(power[j] - power[kept[i]]) for i, c in (terms or {}).items()
                }
                for j, terms in zip(hard, read, strict=True)
            }
            if not list(failing(found.Z, relations)):
                return relations
    return None


def read_off(x: NDArray[Any], modulus: int) -> dict[int, Fraction] | None:
    """Fractions well below the modulus that these residues stand for, zeros left out; None where one is not."""
    most, terms, common = isqrt(modulus) >> SURE // 2, {}, 1
    for i, v in enumerate(x):
        if v == 0:
            continue
        whole = v * common % modulus  # denominators met before serve again
        whole = whole - modulus if whole > modulus // 2 else whole
        if abs(whole) <= most and common <= most:
            terms[i] = Fraction(whole, common)
            continue
        value = fraction(int(v), modulus, most)
        if value is None:
            return None
        terms[i] = value
        common = value.denominator
    return terms


def whole_columns(Z: Any) -> tuple[Any, Index]:
    """A with whole entries, CSR with Python's numbers, and powers with Z = A diag(2^power)."""
    m, e = np.frexp(Z.data)
    whole, exponent = np.ldexp(m, 53).astype(np.int64), e.astype(np.int64) - 53
    trailing = np.frexp((whole & -whole).astype(np.float64))[1].astype(np.int64) - 1
    whole, exponent = whole >> trailing, exponent + trailing
    power = np.full(Z.shape[1], 2**40)
    np.minimum.at(power, Z.indices, exponent)
    shift = exponent - power[Z.indices]
    entries = whole.astype(object)
    far = np.flatnonzero(shift)
    entries[far] = entries[far] << shift[far].astype(object)
    power[power == 2**40] = 0
    return Entries(entries, Z.indices, Z.indptr, Z.shape), power


@dataclass(frozen=True, eq=False)
class Entries:
    """CSR of Python's whole numbers, which SciPy's matrices cannot hold."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    def __getitem__(self, key: tuple[slice, Index]) -> Entries:
        """Some of the columns."""
        place = np.full(self.shape[1], -1)
        place[key[1]] = np.arange(len(key[1]))
        inside = place[self.indices] >= 0
        count = np.concatenate([[0], np.cumsum(inside)])
        return Entries(
            self.data[inside], place[self.indices[inside]], count[self.indptr], (self.shape[0], len(key[1]))
        )


def in_order(relations: Relations, order: Index) -> Relations:
    """The same relations, each for the column that comes last of those it names, over columns that have none.

    Σ c_k z_k - z_j = 0 is a vector v with Zv = 0. Each is brought to a last place of its own, in the order given.
    """
    place = {int(j): at for at, j in enumerate(order)}
    by_last: dict[int, dict[int, Fraction]] = {}
    for j, terms in relations.items():
        v = {j: Fraction(-1), **terms}
        while v:
            last = max(v, key=place.__getitem__)
            if last not in by_last:
                by_last[last] = _over(v, last)
                break
            v = _minus(v, last, by_last[last])
    for last in sorted(by_last, key=place.__getitem__):  # earlier ones first: they are then over columns that stay
        v = by_last[last]
        for k in [k for k in v if k != last and k in by_last]:
            v = _minus(v, k, by_last[k])
        by_last[last] = v
    return {j: {k: c for k, c in v.items() if k != j} for j, v in by_last.items()}


def _over(v: dict[int, Fraction], last: int) -> dict[int, Fraction]:
    """v times the number that makes its entry at `last` -1."""
    factor = -1 / v[last]
    return {k: c * factor for k, c in v.items()}


def _minus(v: dict[int, Fraction], k: int, base: dict[int, Fraction]) -> dict[int, Fraction]:
    """v plus the multiple of `base`, which is -1 at k, that makes it 0 there."""
    factor, out = v[k], dict(v)
    for i, c in base.items():
        value = out.get(i, Fraction(0)) + factor * c
        if value:
            out[i] = value
        else:
            out.pop(i, None)
    return out
