"""Rational arithmetic on the rows as stored: the face of the cone by an exact simplex, column relations, systems.

The linear program (after Freund, Roundy and Todd, 1985)

    max Σ min(λ_i, c_i)   s.t.   Zᵀλ = 0 ,  λ ≥ 0 ,      c_i near 1/‖z_i‖

has a dual θ with Zθ ≥ 0 and z_iᵀθ ≥ 1 wherever λ_i < c_i: one solve gives the face F = {λ > 0} of rows that every θ of
the cone {Zθ ≥ 0} leaves at zero, and a θ that is positive on all others. Whole numbers throughout: the tableau is kept
over one common denominator (Edmonds 1967), so that every division is exact.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

Row = list[int]


PLAIN, DIGIT = 50, 30  # what an entry costs beside the square of its length, and the bits that count as one there


class OutOfTimeError(Exception):
    """The deadline passed, or the effort was spent, before the arithmetic was done."""


class Effort:
    """Arithmetic that may still be done; an entry costs `PLAIN` and the square of its length, 4e8 are a second."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, entries: int, bits: int) -> None:
        """So many entries of so many bits are made, or it ends here."""
        self.left -= entries * (PLAIN + (bits // DIGIT) ** 2)
        if self.left < 0:
            raise OutOfTimeError


def lowest_terms(row: Row) -> Row:
    """The row without its common factor."""
    g = gcd(*row)
    return row if g <= 1 else [v // g for v in row]


class Simplex:
    """max Σ min(λ_i, c_i) over Zᵀλ = 0, λ ≥ 0, by Bland's rule in the order of the rows given.

    λ_i = p_i + q_i with 0 ≤ p_i ≤ c_i of value 1 and q_i ≥ 0 of value 0; both have the column z_i. T holds B⁻¹[Zᵀ | I]
    times det, the determinant of the basis.
    """

    def __init__(self, Z: Sequence[Row], deadline: float | None, effort: Effort | None = None) -> None:
        self.n, self.D = len(Z), len(Z[0])
        self.deadline, self.effort = deadline, effort
        self.cap = [Fraction(1, 1 << max(abs(v) for v in z).bit_length()) for z in Z]
        self.T = [[z[j] for z in Z] + [int(j == k) for k in range(self.D)] for j in range(self.D)]
        self.det = 1
        self.basis: list[int] = []  # per kept equation: i for p_i, n + i for q_i
        self.full = [False] * self.n  # p_i non-basic at its upper end c_i
        self.place = 0  # where the search for the next variable goes on
        self._first_basis()
        self.value = [Fraction(0)] * len(self.basis)

    def _pivot(self, row: int, column: int) -> None:
        """Make `column` the unit vector of `row`; exact by Sylvester's identity."""
        T, p, old = self.T, self.T[row][column], self.det
        if self.effort is not None:
            self.effort.take(len(T) * len(T[0]), old.bit_length())
        base = T[row]
        for k, line in enumerate(T):
            f = line[column]
            if k == row:
                continue
            if f:
                T[k] = [(p * a - f * b) // old for a, b in zip(line, base, strict=True)]
            elif p != old:
                T[k] = [p * a // old for a in line]
        self.det = p
        if p < 0:
            self.det = -p
            self.T = [[-a for a in line] for line in self.T]

    def _watch(self) -> None:
        if self.deadline is not None and time.perf_counter() > self.deadline:
            raise OutOfTimeError

    def _first_basis(self) -> None:
        """Gaussian elimination: a basis of independent rows z_i at λ = 0; equations that depend on others go."""
        done = 0
        for i in range(self.n):
            if done == self.D:
                break
            self._watch()
            row = next((k for k in range(done, self.D) if self.T[k][i]), None)
            if row is None:
                continue
            self.T[done], self.T[row] = self.T[row], self.T[done]
            self._pivot(done, i)
            self.basis.append(i)
            done += 1
        del self.T[done:]

    def _costs(self) -> list[int]:
        """det · z_iᵀθ for every row i, θ = c_B B⁻¹."""
        paid = [line for line, v in zip(self.T, self.basis, strict=True) if v < self.n]
        return [sum(c) for c in zip(*paid, strict=True)] if paid else [0] * (self.n + self.D)

    def _entering(self, cost: list[int]) -> tuple[int, int] | None:
        """The first variable worth moving and its direction, or None at the optimum.

        A move from bound to bound leaves the costs as they are, so the search goes on from there.
        """
        inside = set(self.basis)
        for i in range(self.place, self.n):
            self.place = i
            gain = self.det - cost[i]
            if i not in inside and ((gain > 0 and not self.full[i]) or (gain < 0 and self.full[i])):
                return i, (1 if gain > 0 else -1)
            if -cost[i] > 0 and self.n + i not in inside:
                return self.n + i, 1
        return None

    def solve(self) -> tuple[list[Fraction], list[Fraction]]:
        """θ (D entries) and λ (n entries), strictly complementary."""
        cost = self._costs()
        while (move := self._entering(cost)) is not None:
            self._watch()
            if self._move(*move):
                cost, self.place = self._costs(), 0
        theta = [Fraction(c, self.det) for c in cost[self.n :]]
        lam = [cap if full else Fraction(0) for full, cap in zip(self.full, self.cap, strict=True)]
        for v, value in zip(self.basis, self.value, strict=True):
            lam[v % self.n] += value
        return theta, lam

    def _rank(self, v: int) -> tuple[int, int]:
        return v % self.n, v

    def _move(self, v: int, direction: int) -> bool:
        """Let variable v rise or fall until a bound is met: its own, or that of a basic variable, which then leaves.

        Whether the basis changed.
        """
        column = v % self.n
        best = self.cap[v] if v < self.n else None
        leave = -1
        for k, b in enumerate(self.basis):
            rate = self.T[k][column] * direction  # basic value falls by rate/det per unit
            if rate == 0 or (rate < 0 and b >= self.n):
                continue
            room = self.value[k] if rate > 0 else self.cap[b] - self.value[k]
            t = room * self.det / abs(rate)
            # Ties go to the first in the one order that _entering has, p_0 q_0 p_1 q_1 …: Bland's rule needs the same.
            if best is None or t < best or (t == best and leave >= 0 and self._rank(b) < self._rank(self.basis[leave])):
                best, leave = t, k
        assert best is not None, "the objective is bounded by the sum of the caps"
        for k in range(len(self.basis)):
            rate = self.T[k][column]
            if rate and best:
                self.value[k] -= direction * best * Fraction(rate, self.det)
        if leave < 0:  # v runs from one bound to the other
            self.full[v] = direction > 0
            return False
        out = self.basis[leave]
        if out < self.n:
            self.full[out] = self.value[leave] == self.cap[out]
        start = self.cap[v] if v < self.n and self.full[v] else Fraction(0)
        if v < self.n:
            self.full[v] = False
        self.basis[leave], self.value[leave] = v, start + direction * best
        self._pivot(leave, column)
        return True


def face(
    Z: Sequence[Row], deadline: float | None = None, effort: Effort | None = None
) -> tuple[list[Fraction], list[Fraction]]:
    """θ and λ with Zθ ≥ 0, λ ≥ 0, Zᵀλ = 0 and exactly one of z_iᵀθ, λ_i positive in every row."""
    twins: dict[tuple[int, ...], list[int]] = {}
    for i, z in enumerate(Z):
        twins.setdefault(tuple(lowest_terms(list(z))), []).append(i)
    rows, width = [list(z) for z in twins], len(Z[0])
    used = list(range(width)) if width <= len(rows) else echelon(rows)[0]  # the others are combinations of these
    found, weights = [Fraction(0)] * 0, [Fraction(1)] * len(rows)
    if used:
        found, weights = Simplex([[z[j] for j in used] for z in rows], deadline, effort).solve()
    theta = [Fraction(0)] * width
    for j, t in zip(used, found, strict=True):
        theta[j] = t
    lam = [Fraction(0)] * len(Z)
    for short, weight, equal in zip(twins, weights, twins.values(), strict=True):
        for i in equal if weight else ():  # equal rows share their weight
            factor = next((Fraction(a, b) for a, b in zip(short, Z[i], strict=True) if b), Fraction(1))
            lam[i] = weight * factor / len(equal)
    return theta, lam


def echelon(A: Sequence[Row]) -> tuple[list[int], dict[int, dict[int, Fraction]]]:
    """The first independent columns of A, and each other column that is not zero as a combination of those."""
    rows = [list(a) for a in {tuple(lowest_terms(list(a))) for a in A}]
    det = 1
    pivots: list[int] = []
    width = len(A[0]) if A else 0
    for j in range(width):
        k = len(pivots)
        at = next((i for i in range(k, len(rows)) if rows[i][j]), None)
        if at is None:
            continue
        rows[k], rows[at] = rows[at], rows[k]
        base, p = rows[k], rows[k][j]
        for i, line in enumerate(rows):
            if i != k:
                f = line[j]
                rows[i] = [(p * a - f * b) // det for a, b in zip(line, base, strict=True)]
        det = p
        pivots.append(j)
    relations = {}
    for j in sorted(set(range(width)) - set(pivots)):
        terms = {p: Fraction(rows[k][j], det) for k, p in enumerate(pivots) if rows[k][j]}
        if terms:
            relations[j] = terms
    return pivots, relations


def solve_system(A: Sequence[Row], B: Sequence[Row]) -> list[list[Fraction]] | None:
    """X with AX = B, A square, by p-adic lifting; None where A is singular."""
    X = solve_in_flint(A, B)
    return None if X is None else [[as_fraction(v) for v in line] for line in X]


def solve_in_flint(A: Sequence[Row], B: Sequence[Row]) -> list[list[Any]] | None:
    """The same in FLINT's fractions, where more is to be worked out with them."""
    from flint import fmpz_mat

    try:
        found: list[list[Any]] = fmpz_mat([list(a) for a in A]).solve(fmpz_mat([list(b) for b in B])).tolist()
    except ZeroDivisionError:
        return None
    return found


def as_fraction(v: Any) -> Fraction:
    """A fraction of FLINT's as one of Python's."""
    return Fraction(int(v.p), int(v.q))


def kernel_pair(Z: Sequence[Row], floats: Any) -> tuple[list[Fraction], list[Fraction]] | None:
    """The pair of `face` where Zᵀλ = 0 has one solution at most but for a factor, D ≥ n - 1 columns; else None.

    Without a solution of one sign any margins m > 0 orthogonal to λ can be had, Zθ = m.
    """
    from scipy.linalg import qr

    n, width = len(Z), len(Z[0])
    r = min(n, width)
    columns = sorted(qr(floats, mode="economic", pivoting=True)[2][:r].tolist())
    order = qr(floats[:, columns].T, mode="economic", pivoting=True)[2].tolist()  # a last row that the others span
    square = [[Z[i][j] for j in columns] for i in order[:r]]
    lam = [Fraction(0)] * n
    if n > width:
        last = solve_system(list(map(list, zip(*square, strict=True))), [[-Z[order[-1]][j]] for j in columns])
        if last is None:
            return None
        for i, line in zip(order, [*last, [Fraction(1)]], strict=True):
            lam[i] = line[0]
    if all(w <= 0 for w in lam):
        lam = [-w for w in lam]
    m = [Fraction(1)] * n
    if all(w >= 0 for w in lam):
        m = [Fraction(int(w == 0)) for w in lam]
    else:  # positive and orthogonal to λ
        up = sum((w for w in lam if w > 0), Fraction(0))
        down = sum((-w for w in lam if w < 0), Fraction(0))
        m = [down if w > 0 else up if w < 0 else Fraction(1) for w in lam]
        lam = [Fraction(0)] * n
    scale = lcm(*(v.denominator for v in m))
    theta = [Fraction(0)] * width
    if any(m):
        solution = solve_system(square, [[int(m[i] * scale)] for i in order[:r]])
        if solution is None:
            return None
        for j, line in zip(columns, solution, strict=True):
            theta[j] = line[0]
    return theta, lam
