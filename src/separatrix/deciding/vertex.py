"""A vertex that floats name and whole numbers prove, where cones are too narrow for floats to tell more.

With columns whitened, rows y_i = Pᵀz_i/‖Pᵀz_i‖, the widest margin in a box and its dual are

    max t ,  y_iᵀψ ≥ t ,  |ψ_j| ≤ 1              min Σ_j |Σ_i λ_i y_ij| ,  λ ≥ 0 ,  Σλ = 1 .

HiGHS solves it in floats on rows that grow. Its basis is right, or nearly so, where its numbers are not: the simplex
method goes on from there in whole numbers, one square system each way by p-adic lifting, rows priced in floats and
those near zero exactly. It ends at θ = Pψ with all margins positive, or at weights λ that tie rows to zero. P is any
matrix of full rank: nothing hangs on its rounding.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.reader import as_floats, as_integers
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.claims import claim, weights_of
from separatrix.deciding.exact import Row, solve_system
from separatrix.deciding.pair import REFINED, accurate, whitened
from separatrix.deciding.scaling import Matrix
from separatrix.deciding.search import Case, separator

COLUMNS = 120  # up to which it is tried
FIRST, MORE, ROUNDS = 20, 5, 25  # rows per column that HiGHS begins with and gets more of, and how often
FEASIBLE = 1e-9  # what HiGHS may leave of a margin
FAINT = 1e-9, 1e-6, 1e-3, 1.0  # of the largest weight, less than which is no part of the first basis, in turn
SURE = 1e-11  # from where floats tell the sign of a unit row's margin
PIVOTS, PATIENT = 400, 100  # at most, and how many before the first that serves is taken: then none comes twice


def by_vertex(case: Case) -> Proof | None:
    """Whatever the rows are, where columns are few and none is a combination of others to rounding."""
    n, D = case.rows.n, case.reader.D
    if D > COLUMNS or n * D * D > REFINED or case.rows.sparse or case.budget.late:
        return None
    Z = case.scaled.block(np.arange(n))
    found = whitened(Z, case.budget)
    if found is None or len(found[2]) < D:
        return None
    A = accurate(Z, found[1])  # as P makes it, not as it was meant
    length = np.sqrt(np.einsum("ij,ij->i", A, A))
    P = found[1] * case.scaled.kappa[:D, None]
    if case.rows.bias:
        P[-1] *= case.rows.bias  # the constant column is 1 to the reader
    if not (length > 0).all() or not np.isfinite(P).all():
        return None
    A /= length[:, None]
    guess = guessed(A, case.budget)
    return None if guess is None else Vertex(case, A, P).climb(*guess)


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

    def __init__(self, case: Case, A: Matrix, P: Matrix) -> None:
        self.case, self.A = case, A
        self.n, self.r = A.shape
        whole = as_integers(P.ravel())
        self.P = [whole[k * self.r : (k + 1) * self.r] for k in range(self.r)]
        self.known: dict[int, Row] = {}

    def column(self, v: int) -> Row:
        """That of a variable: y_i and 1 times a positive number, or ∓e_j and 0."""
        if v not in self.known:
            y = [0] * (self.r + 1)
            if v >= self.n:
                y[(v - self.n) % self.r] = -1 if v < self.n + self.r else 1
            else:
                z = self.case.reader.integers(v, np.arange(self.r))
                y = [sum(a * p[j] for a, p in zip(z, self.P, strict=True) if a) for j in range(self.r)]
                y.append(isqrt(sum(v * v for v in y)) or 1)
            self.known[v] = y
        return self.known[v]

    def climb(self, psi: Vector, lam: Vector) -> Proof | None:
        """From ψ and λ in floats to a proof; None where time or pivots run out."""
        some = (self.first(psi, lam, faint) for faint in FAINT)
        basis, x = next(((b, x) for b in some if (x := self.level(b))), ([], []))
        for pivot in range(PIVOTS if basis else 0):
            if self.case.budget.late:
                return None
            if not any(value for v, value in zip(basis, x, strict=True) if v >= self.n):
                return self.tied(basis, x)
            prices = self.price(basis)
            entering = None if prices is None else self.entering(prices, pivot > PATIENT)
            if prices is None or entering is None:
                return None if prices is None else self.separated(prices)
            step = solve_system(self.matrix(basis), [[t] for t in self.column(entering)])
            if step is None:
                return None
            room = [(x[k] / d[0], basis[k], k) for k, d in enumerate(step) if d[0] > 0]
            if not room:
                return None
            best, _, out = min(room)
            x = [a - best * d[0] for a, d in zip(x, step, strict=True)]
            basis[out], x[out] = entering, best
        return None

    def first(self, psi: Vector, lam: Vector, faint: float) -> list[int]:
        """Rows of clear weight, at last a single one, and columns that make a basis of them: those where ψ is large."""
        J = np.argsort(-lam, kind="stable")[: self.r + 1 if faint < 1 else 1]
        Q = np.empty((self.r + 1, 0))
        basis: list[int] = []
        for v in [*J[lam[J] >= faint * lam.max()].tolist(), *(self.n + np.argsort(-abs(psi), kind="stable")).tolist()]:
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

    def level(self, basis: list[int]) -> list[Fraction] | None:
        """The values of the basic variables, columns turned so that theirs are none below 0; None if a row's is."""
        if len(basis) <= self.r:
            return None
        solution = solve_system(self.matrix(basis), [*[[0]] * self.r, [1]])
        if solution is None:
            return None
        for k, (v, line) in enumerate(zip(basis, solution, strict=True)):
            if line[0] < 0:
                if v < self.n:
                    return None
                basis[k], line[0] = v + self.r, -line[0]
        return [line[0] for line in solution]

    def price(self, basis: list[int]) -> list[Fraction] | None:
        """ψ and t: Bᵀ(-ψ, t) = costs."""
        lines = [self.column(v) for v in basis]
        solution = solve_system(lines, [[int(v >= self.n)] for v in basis])
        return None if solution is None else [*(-line[0] for line in solution[:-1]), solution[-1][0]]

    def entering(self, prices: list[Fraction], patient: bool) -> int | None:
        """A variable that lowers the cost, the best or (patient) the first; None at the optimum."""
        *psi, t = prices
        for j, value in enumerate(psi):
            if abs(value) > 1:  # what is left in column j would cost less than it saves
                return self.n + j + (0 if value > 0 else self.r)
        floats = np.array([float(v) for v in psi])
        m = self.A @ floats - float(t)
        clear = np.flatnonzero(m < -SURE * self.r)
        if len(clear):
            return int(clear[0]) if patient else int(clear[np.argmin(m[clear])])
        return next((int(i) for i in np.flatnonzero(m < SURE * self.r) if self.off(int(i), psi, t) < 0), None)

    def off(self, i: int, psi: list[Fraction], t: Fraction) -> Fraction:
        """y_iᵀψ - t but for a positive factor."""
        *y, one = self.column(i)
        return sum((a * v for a, v in zip(y, psi, strict=True)), Fraction(0)) - one * t

    def separated(self, psi: list[Fraction]) -> Proof | None:
        """θ = Pψ as a proof, in floats where these do."""
        case = self.case
        whole = as_integers(psi[:-1])
        theta = [sum(p * v for p, v in zip(line, whole, strict=True)) for line in self.P]
        floats = np.zeros(case.rows.d + 1)
        floats[: self.r] = as_floats(theta)
        if case.rows.bias:
            floats[self.r - 1] /= case.rows.bias
        big = max(map(abs, theta)) or 1
        exact = tuple(Fraction(v, big) for v in theta)
        return separator(case, floats) or claim(case.rows, Claim.SEPARABLE, theta=exact)

    def tied(self, basis: list[int], x: list[Fraction]) -> Proof | None:
        """λ as a proof: that rows overlap where they span all columns."""
        case, every = self.case, np.arange(self.r)
        value = {v: t for v, t in zip(basis, x, strict=True) if t}
        J: Index = np.array(sorted(value), dtype=np.int64)
        Z = [case.reader.integers(int(i), every) for i in J]
        lam = weights_of(case.reader, J, Z, [value[int(i)] for i in J])
        parts = {"rows": tuple(J.tolist()), "weights": tuple(lam[int(i)] for i in J)}
        if len(J) == self.r + 1:
            return claim(case.rows, Claim.OVERLAP, columns=tuple(range(self.r)), **parts)
        return claim(case.rows, Claim.INSEPARABLE, **parts)
