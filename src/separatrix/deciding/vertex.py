"""A vertex that floats name and whole numbers prove, where cones are too narrow for floats to tell more.

With columns whitened, rows y_i = Pᵀz_i/‖Pᵀz_i‖, the widest margin in a box and its dual are

    max t ,  y_iᵀψ ≥ t ,  |ψ_j| ≤ 1              min Σ_j |Σ_i λ_i y_ij| ,  λ ≥ 0 ,  Σλ = 1 .

HiGHS solves it in floats on rows that grow. Its basis is right, or nearly so, where its numbers are not: the simplex
method goes on from there in whole numbers, one square system each way by p-adic lifting, rows priced in floats and
those near zero exactly. It ends at θ = Pψ with all margins positive, or at weights λ that tie rows to zero. P is any
matrix of full rank: nothing hangs on its rounding.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.reader import as_integers
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.claims import claim
from separatrix.deciding.exact import Effort, OutOfTimeError, Row, as_fraction, solve_in_flint
from separatrix.deciding.pair import REFINED, Pair, accurate, whitened
from separatrix.deciding.scaling import Matrix
from separatrix.deciding.search import Case, separator
from separatrix.deciding.whitening import power_of_two, whiten_exactly

COLUMNS = 120  # up to which it is tried
FIRST, MORE, ROUNDS = 20, 5, 25  # rows per column that HiGHS begins with and gets more of, and how often
FEASIBLE = 1e-9  # what HiGHS may leave of a margin
FAINT = 1e-9  # of the largest weight, less than which is no part of the first basis
SURE = 1e-11  # from where floats tell the sign of a unit row's margin
PER_ENTRY = 100  # of a basis, what a pivot costs of an `Effort`
PIVOTS, PATIENT = 2_000, 50  # at most, and how many in vain before the first that serves is taken: none comes twice


def by_vertex(case: Case, *, every: bool = False, effort: Effort | None = None) -> Proof | Pair | None:
    """A proof, whatever the rows are, where columns are few; of columns dependent to rounding perhaps a pair only.

    Without the columns that are combinations of others to rounding a separator is one of all; weights are tied to
    rounding in those. `every` column is looked at to the last bit.
    """
    n, D = case.rows.n, case.reader.D
    if D > COLUMNS or n * D * D > REFINED or case.rows.sparse or case.budget.late:
        return None
    Z = case.scaled.block(np.arange(n))
    found = _every_column(Z) if every else _some_columns(Z, case.budget)
    if found is None or len(found.kept) == 0:
        return None
    A, kept = found.A, found.kept
    length = np.sqrt(np.einsum("ij,ij->i", A, A))
    if not (length > 0).all():
        return None
    kappa = [Fraction(float(v)) for v in case.scaled.kappa[kept]]
    if case.rows.bias and kept[-1] == D - 1:
        kappa[-1] *= Fraction(case.rows.bias)  # the constant column is 1 to the reader
    P = as_integers([k * v for k, line in zip(kappa, found.P, strict=True) for v in line])
    A = A / length[:, None]
    guess = guessed(A, case.budget)
    try:
        end = None if guess is None else Vertex(case, A, P, kept).climb(*guess, effort)
    except OutOfTimeError:
        return None
    return end if end is None or isinstance(end, Proof) else _pair(case, end, kept, found.combinations)


class WhiteColumns(NamedTuple):
    """A = ZP with columns orthonormal or nearly so, from the columns kept; the others are combinations of these."""

    A: Matrix
    P: list[list[Fraction]]
    kept: Index
    combinations: Matrix


def _some_columns(Z: Matrix, budget: Budget) -> WhiteColumns | None:
    """Without columns that depend on others to rounding."""
    found = whitened(Z, budget)
    if found is None or not np.isfinite(found[1]).all():
        return None
    _, P, kept, combinations = found
    A = accurate(Z[:, kept], P)  # as P makes it, not as it was meant
    return WhiteColumns(A, [[Fraction(v) for v in line] for line in P.tolist()], kept, combinations)


def _every_column(Z: Matrix) -> WhiteColumns | None:
    """All columns, however nearly dependent."""
    found, D = whiten_exactly(Z), Z.shape[1]
    if found is None:
        return None
    scale = power_of_two(found.power)
    P = [[v * scale for v in line] for line in found.whole]
    return WhiteColumns(found.C, P, np.arange(D), np.zeros((D, 0)))


def _pair(case: Case, lam: dict[int, Fraction], kept: Index, combinations: Matrix) -> Pair | None:
    """Weights on the columns kept as a pair: of all rows, or with the face of the pair at hand."""
    J = np.array(sorted(lam), dtype=np.int64)
    top = max(lam.values())
    weights = np.zeros(case.rows.n)
    weights[J] = np.array([float(lam[int(i)] / top) for i in J]) / case.scaled.rho[J]
    if len(J) <= len(kept):
        at_hand = case.pair is not None and bool(case.pair.face[J].all())
        return replace(case.pair, lam=weights) if case.pair is not None and at_hand else None
    D, none = case.reader.D, np.zeros((0, 0))
    left, every = np.setdiff1d(np.arange(D), kept), np.ones(case.rows.n, dtype=bool)
    return Pair(np.zeros(D), weights, every, kept, left, combinations, np.zeros((D, 0)), np.zeros(0), none)


def guessed(A: Matrix, budget: Budget) -> tuple[Vector, Vector] | None:
    """ψ and λ of the program in floats; None where HiGHS has none in time."""
    from scipy.optimize import linprog

    n, r = A.shape
    S = np.unique(np.linspace(0, n - 1, min(n, FIRST * r)).astype(np.int64))
    psi, lam = np.zeros(r), np.ones(n)
    for _ in range(ROUNDS):
        if budget.late:
            return None
        answer = linprog(
            np.append(np.zeros(r), -1.0),
            A_ub=np.column_stack([-A[S], np.ones(len(S))]),
            b_ub=np.zeros(len(S)),
            bounds=[*[(-1, 1)] * r, (None, None)],
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.x is None:
            return None
        psi, lam = answer.x[:r], np.zeros(n)
        lam[S] = np.maximum(-answer.ineqlin.marginals, 0.0)
        m = A @ psi - answer.x[r]
        wrong = np.setdiff1d(np.flatnonzero(m < -FEASIBLE), S)
        if len(wrong) == 0:
            break
        S = np.union1d(S, wrong[np.argsort(m[wrong], kind="stable")[: MORE * r]])
    return psi, lam


class Vertex:
    """The simplex method on the dual program in whole numbers.

    A variable is the number of a row, its weight λ_i, or n + j, or n + r + j: what is left in column j, Σλ_i y_ij,
    above and below zero. Those have cost 1. A basis has r + 1 of them, B x = (0, …, 0, 1).
    """

    def __init__(self, case: Case, A: Matrix, P: list[int], kept: Index) -> None:
        self.case, self.A, self.kept = case, A, kept
        self.n, self.r = map(int, A.shape)
        self.P = [P[k * self.r : (k + 1) * self.r] for k in range(self.r)]
        self.known: dict[int, Row] = {}

    def column(self, v: int) -> Row:
        """That of a variable: y_i and 1 times a positive number, or ∓e_j and 0."""
        if v not in self.known:
            y = [0] * (self.r + 1)
            if v >= self.n:
                y[(v - self.n) % self.r] = -1 if v < self.n + self.r else 1
            else:
                z = self.case.reader.integers(v, self.kept)
                y = [sum(a * p[j] for a, p in zip(z, self.P, strict=True) if a) for j in range(self.r)]
                y.append(isqrt(sum(v * v for v in y)) or 1)
            self.known[v] = y
        return self.known[v]

    def climb(self, psi: Vector, lam: Vector, effort: Effort | None = None) -> Proof | dict[int, Fraction] | None:
        """From ψ and λ in floats to a proof, or to weights tied in the columns kept; None out of time or pivots."""
        basis, x = self.start(psi, lam)
        in_vain = 0
        for _ in range(PIVOTS if basis else 0):
            if self.case.budget.late:
                return None
            if effort is not None:
                effort.take(PER_ENTRY * len(basis) ** 2, 0)
            if not any(value for v, value in zip(basis, x, strict=True) if v >= self.n):
                return self.tied(basis, x)
            prices = self.price(basis)
            entering = None if prices is None else self.entering(prices, in_vain > PATIENT)
            if prices is None or entering is None:
                return None if prices is None else self.separated(prices)
            step = solve_in_flint(self.matrix(basis), [[t] for t in self.column(entering)])
            if step is None:
                return None
            room = [(x[k] / d[0], basis[k], k) for k, d in enumerate(step) if d[0] > 0]
            if not room:
                return None
            best, _, out = min(room)
            in_vain = 0 if best else in_vain + 1
            x = [a - best * d[0] for a, d in zip(x, step, strict=True)]
            basis[out], x[out] = entering, best
        return None

    def start(self, psi: Vector, lam: Vector) -> tuple[list[int], list[Any]]:
        """A basis and the values of its variables, none below 0: rows whose weights are leave until there is none."""
        lam = lam.copy()
        while True:
            basis = self.first(psi, lam)
            solution = solve_in_flint(self.matrix(basis), [*[[0]] * self.r, [1]]) if len(basis) > self.r else None
            if solution is None or self.case.budget.late:
                return [], []
            x = [line[0] for line in solution]
            below = [v for v, value in zip(basis, x, strict=True) if v < self.n and value < 0]
            if not below:  # what is left in a column is turned so that it is not
                return [v + self.r * (value < 0) for v, value in zip(basis, x, strict=True)], list(map(abs, x))
            lam[below] = 0.0

    def first(self, psi: Vector, lam: Vector) -> list[int]:
        """Rows of clear weight and columns that make a basis of them: those where ψ is large."""
        J = np.argsort(-lam, kind="stable")[: self.r + 1]
        Q = np.empty((self.r + 1, 0))
        basis: list[int] = []
        for v in [*J[lam[J] > FAINT * lam.max()].tolist(), *(self.n + np.argsort(-abs(psi), kind="stable")).tolist()]:
            c = np.append(self.A[v], 1.0) if v < self.n else np.eye(self.r + 1)[v - self.n]
            for _ in range(2):
                c = c - Q @ (Q.T @ c)
            if np.linalg.norm(c) > 1e-7 and len(basis) <= self.r:
                Q = np.column_stack([Q, c / np.linalg.norm(c)])
                basis.append(v)
        return basis

    def matrix(self, basis: list[int]) -> list[Row]:
        """B."""
        return [list(line) for line in zip(*map(self.column, basis), strict=True)]

    def price(self, basis: list[int]) -> list[Any] | None:
        """ψ and t: Bᵀ(-ψ, t) = costs."""
        lines = [self.column(v) for v in basis]
        solution = solve_in_flint(lines, [[int(v >= self.n)] for v in basis])
        return None if solution is None else [*(-line[0] for line in solution[:-1]), solution[-1][0]]

    def entering(self, prices: list[Any], patient: bool) -> int | None:
        """A variable that lowers the cost, the best or (patient) the first; None at the optimum."""
        *psi, t = prices
        for j, value in enumerate(psi):
            if abs(value) > 1:  # what is left in column j would cost less than it saves
                return self.n + j + (0 if value > 0 else self.r)
        floats = np.array([int(v.p) / int(v.q) for v in psi])
        m = self.A @ floats - int(t.p) / int(t.q)
        clear: Index = np.flatnonzero(m < -SURE * self.r)
        if len(clear):
            best = 0 if patient else int(np.argmin(m[clear]))
            return int(clear[best])
        near: list[int] = np.flatnonzero(m < SURE * self.r).tolist()
        whole = as_integers(list(map(as_fraction, prices)))
        return next((i for i in near if self.off(i, whole) < 0), None)

    def off(self, i: int, prices: Row) -> int:
        """y_iᵀψ - t but for a positive factor."""
        *y, one = self.column(i)
        return sum(a * v for a, v in zip(y, prices[:-1], strict=True)) - one * prices[-1]

    def separated(self, prices: list[Any]) -> Proof | None:
        """θ = Pψ as a proof, in floats where these do."""
        rows, psi = self.case.rows, as_integers(list(map(as_fraction, prices[:-1])))
        some = [sum(p * v for p, v in zip(line, psi, strict=True)) for line in self.P]
        big = max(map(abs, some)) or 1
        theta = [Fraction(0)] * self.case.reader.D
        for j, v in zip(self.kept.tolist(), some, strict=True):
            theta[j] = Fraction(v, big)
        floats = np.zeros(rows.d + 1)
        floats[: len(theta)] = [float(v) for v in theta]
        if rows.bias:
            floats[rows.d] /= rows.bias
        return separator(self.case, floats) or claim(rows, Claim.SEPARABLE, theta=tuple(theta))

    def tied(self, basis: list[int], x: list[Any]) -> Proof | dict[int, Fraction] | None:
        """λ as a proof, that rows overlap where they span all columns; as it is where columns are left."""
        case, value = self.case, {v: as_fraction(t) for v, t in zip(basis, x, strict=True) if t}
        J = np.array(sorted(value), dtype=np.int64)
        Z = [case.reader.integers(int(i), self.kept) for i in J]
        lam = [value[int(i)] * Fraction(self.factor(int(i), z)) for i, z in zip(J, Z, strict=True)]
        if self.r < case.reader.D:
            return dict(zip(J.tolist(), lam, strict=True))
        parts: dict[str, Any] = {"rows": tuple(J.tolist()), "weights": tuple(lam)}
        if len(J) == self.r + 1:
            return claim(case.rows, Claim.OVERLAP, columns=tuple(range(self.r)), **parts)
        return claim(case.rows, Claim.INSEPARABLE, **parts)

    def factor(self, i: int, z: Row) -> Fraction:
        """What row i was multiplied by to be whole."""
        raw = self.case.reader.dense(np.array([i]), self.kept)[0]
        return next(Fraction(v) / Fraction(float(t)) for v, t in zip(z, raw, strict=True) if v)
