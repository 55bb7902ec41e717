"""One Newton path for both ends of the margin: a separator where there is one, Gordan weights where there is none.

The hard-margin problem  min ½‖θ‖²  s.t.  Zθ ≥ 1  by augmented Lagrangians with C growing,

    min_θ  ½‖θ‖² + C/2 Σ max(0, u_i)² ,   u_i = 1 + α_i/C - z_iᵀθ ,

each by Newton steps with an exact line search. With J = {i: u_i > 0} a step solves, whichever is smaller,

    (I/C + Z_JᵀZ_J) θ = Z_Jᵀ(1 + α_J/C)          d x d, or
    (I/C + Z_JZ_Jᵀ) β = 1 + α_J/C ,  θ = Z_Jᵀβ   |J| x |J| ,

by Cholesky, by QR of the rows where the problem is small, by conjugate gradients where it is large and sparse.
Multipliers α ← Cu are taken over once some θ is near feasible; before that α = 0, and where no separator exists the
slacks u, normalised, tend to a λ ≥ 0 with Zᵀλ = 0. An intercept is the last entry of θ and not part of ‖θ‖.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix.data.rows import Index, Vector
from separatrix.deciding.panels import cholesky
from separatrix.deciding.scaling import Matrix, ScaledRows

SMALL, LARGER = 2_000_000, 300_000_000  # (n + D) D² up to which QR is affordable throughout, and for large C
WIDE = 12_000  # columns up to which a D x D matrix is made
DIRECT = 6_000  # unknowns up to which sparse rows are solved by Cholesky
ITERATIVE = 60  # Newton steps by conjugate gradients after which no new stage is begun
ROUNDED_OFF = 1e-14  # of the largest weight: what rounding leaves of 0
SQUARED = 1e10  # C R² from which the square of a condition number is too much for normal equations
FIRST, GROWTH, LAST = 1e2, 30.0, 1e13  # C R²: where the path starts, grows by, and leaves float64 behind (1e26 by QR)


class Normal:
    """Z_JᵀZ_J for the J of the moment: rows that enter or leave are added or subtracted while they are few."""

    def __init__(self, rows: ScaledRows) -> None:
        self.rows = rows
        self.inside = np.zeros(rows.n, dtype=bool)
        self.H: Matrix | None = None
        self.changes = 0

    def matrix(self, J: Index) -> Matrix:
        """Z_JᵀZ_J."""
        inside = np.zeros(self.rows.n, dtype=bool)
        inside[J] = True
        come, go = np.flatnonzero(inside & ~self.inside), np.flatnonzero(self.inside & ~inside)
        self.changes += len(come) + len(go)
        if self.H is None or self.changes > len(J) // 2:  # also bounds what rounding can pile up
            self.H, self.changes = self.rows.normal(J), 0
        else:
            if len(come):
                self.H += self.rows.normal(come)
            if len(go):
                self.H -= self.rows.normal(go)
        self.inside = inside
        return self.H

    def step(self, J: Index, C: float, target: Vector) -> Vector | None:
        """θ of the normal equations; None where Cholesky fails."""
        from scipy.linalg import cho_solve

        H = self.matrix(J).copy()
        H[np.diag_indices(self.rows.d)] += 1.0 / C
        try:
            factor = cholesky(H)
        except np.linalg.LinAlgError:
            return None
        theta = np.zeros(self.rows.d + 1)
        theta[: self.rows.D] = cho_solve(factor, self.rows.sum(J, target)[: self.rows.D], check_finite=False)
        return theta


class Inner:
    """Z_JZ_Jᵀ for a J that changes little: products once computed are kept for the rows seen since C was small."""

    def __init__(self, rows: ScaledRows) -> None:
        self.rows = rows
        self.seen = np.empty(0, dtype=np.int64)
        self.G = np.empty((0, 0))

    def matrix(self, J: Index) -> Matrix:
        """Z_JZ_Jᵀ."""
        new = np.setdiff1d(J, self.seen)
        if len(self.seen) + len(new) > 2 * len(J) or len(new) > len(J) // 2:
            self.seen, self.G = J, self.rows.inner(J, J)
        elif len(new):
            k, seen = len(self.seen), np.concatenate([self.seen, new])
            G = np.empty((len(seen), len(seen)))
            G[:k, :k] = self.G
            G[k:, :k] = self.rows.inner(new, self.seen)
            G[:k, k:] = G[k:, :k].T
            G[k:, k:] = self.rows.inner(new, new)
            self.seen, self.G = seen, G
        place = np.empty(self.rows.n, dtype=np.int64)
        place[self.seen] = np.arange(len(self.seen))
        at = place[J]
        return np.asarray(self.G[np.ix_(at, at)])

    def solve(self, J: Index, C: float, target: Vector) -> tuple[Vector, Vector] | None:
        """θ = Z_Jᵀβ and β, with Σ y_iβ_i = 0 where there is an intercept; None where Cholesky fails."""
        from scipy.linalg import cho_solve

        rows = self.rows
        A = self.matrix(J)
        A[np.diag_indices(len(J))] += 1.0 / C
        try:
            factor = cholesky(A)
        except np.linalg.LinAlgError:
            return None
        beta = cho_solve(factor, target, check_finite=False)
        intercept = 0.0
        if rows.D > rows.d:
            c = rows.sign[J] * (rows.rows.bias * rows.kappa[rows.d])
            q = cho_solve(factor, c, check_finite=False)
            intercept = float(c @ beta) / float(c @ q)
            beta -= intercept * q
        theta = rows.sum(J, beta)
        theta[rows.d] = intercept
        return theta, beta


def qr_step(rows: ScaledRows, J: Index, C: float, target: Vector) -> Vector | None:
    """θ as the least squares solution of Z_Jθ = target, θ/√C = 0: the condition number is not squared."""
    from scipy.linalg import lstsq, solve_triangular

    A = np.vstack([rows.block(J), np.eye(rows.d, rows.D) / np.sqrt(C)])
    b = np.concatenate([target, np.zeros(rows.d)])
    theta = np.zeros(rows.d + 1)
    try:
        if A.size > 100 * A.shape[1] ** 2:  # tall: columns need no pivots, which would take most of the time
            R = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
            theta[: rows.D] = solve_triangular(R[:-1, :-1], R[:-1, -1], check_finite=False)
        else:
            theta[: rows.D] = lstsq(A, b, cond=1e-300, lapack_driver="gelsy", check_finite=False)[0]
    except np.linalg.LinAlgError:
        return None
    return theta if np.isfinite(theta).all() else None


def cg_step(rows: ScaledRows, J: Index, C: float, target: Vector, theta: Vector, tolerance: float) -> Vector:
    """θ of the normal equations of CSR rows by conjugate gradients from the present θ, diagonal preconditioner."""
    ridge = np.full(rows.d + 1, 1.0 / C)
    ridge[rows.d] = 0.0
    diagonal = np.ones(rows.d + 1)
    squares = rows.csr[J].astype(np.float64).power(2).T @ rows.sign[J] ** 2
    diagonal[: rows.d] = squares * rows.kappa[: rows.d] ** 2 + 1.0 / C
    diagonal[rows.d] = max(float(np.sum((rows.sign[J] * rows.rows.bias * rows.kappa[rows.d]) ** 2)), 1e-300)
    goal = rows.sum(J, target)
    x = theta.copy()
    res = goal - ridge * x - rows.sum(J, rows.margins(x, J))
    p = res / diagonal
    rz = float(res @ p)
    enough = min(tolerance * float(np.linalg.norm(goal)), 0.1 * float(np.linalg.norm(res)))
    for _ in range(200):
        if np.linalg.norm(res) <= enough or rz <= 0:
            break
        q = ridge * p + rows.sum(J, rows.margins(p, J))
        a = rz / float(p @ q)
        x += a * p
        res -= a * q
        z = res / diagonal
        rz, old = float(res @ z), rz
        p = z + (rz / old) * p
    return x


def onto_gordan(rows: ScaledRows, B: Index, lam: Vector, normal: Normal | None = None) -> tuple[Index, Vector]:
    """λ_B - Z_B(Z_BᵀZ_B)⁻¹Z_Bᵀλ_B, which solves Z_Bᵀλ = 0; rows that turn negative or 0 leave B, a few rounds of it."""
    from scipy.linalg import cho_solve

    normal = Normal(rows) if normal is None else normal
    for _ in range(8):
        if len(B) <= 1:
            break
        lam = lam / lam.sum()
        H = normal.matrix(B).copy()
        H[np.diag_indices(len(H))] += 1e-15 * max(float(np.trace(H)), 1e-300)
        try:
            factor = cholesky(H)
        except np.linalg.LinAlgError:
            break
        for _ in range(3):  # the second and third take out what rounding and the ridge left
            theta = np.zeros(rows.d + 1)
            theta[: rows.D] = cho_solve(factor, rows.sum(B, lam)[: rows.D], check_finite=False)
            lam = lam - rows.margins(theta)[B]
        nothing = ROUNDED_OFF * float(lam.max())  # as in a level of a factor with one outcome
        if (lam > nothing).all() or (lam < -nothing).mean() > 0.1:
            break
        B, lam = B[lam > nothing], lam[lam > nothing]
    return B, lam


def exact_search(a: Vector, dm: Vector, C: float, slope: float, curve: float) -> float:
    """The s ≥ 0 that minimises  slope·s + curve·s²/2 + C/2 Σ max(0, a_i - s dm_i)²: its derivative rises in s."""
    lo, hi, s = 0.0, np.inf, 1.0
    for _ in range(80):
        v = a - s * dm
        J = v > 0
        g = slope + s * curve - C * float(v[J] @ dm[J])
        h = curve + C * float(dm[J] @ dm[J])
        lo, hi = (lo, s) if g > 0 else (s, hi)
        new = s - g / h if h > 0 else 0.0
        if not lo < new < hi:
            new = 0.5 * (lo + hi) if hi < np.inf else 2.0 * s
        if abs(new - s) <= 1e-14 * s:
            break
        s = new
    return s


class NewtonPath:
    """Newton steps as a generator: after each, θ and λ with what they prove of these scaled rows."""

    def __init__(self, rows: ScaledRows) -> None:
        self.rows = rows
        n, d = rows.n, rows.d
        live = rows.rows.weight > 0
        self.R2 = max(float((rows.sheet.rows.r[live] ** 2).max()), 1e-300)
        self.live = live
        self.theta = np.zeros(d + 1)
        self.m = np.zeros(n)
        self.alpha = np.zeros(n)
        self.C = FIRST / self.R2
        self.steps = 0
        self.end_of_stage = False
        self.iterative = False
        self.small = (n + rows.D) * rows.D**2 <= SMALL
        self.normal, self.inner = Normal(rows), Inner(rows)
        self.u = np.ones(n)  # slacks; λ = u/Σu

    @property
    def reach(self) -> float:
        """C R², which says how far along the path we are."""
        return self.C * self.R2

    @property
    def lowest(self) -> float:
        """The smallest margin."""
        return float(self.m[self.live].min())

    @property
    def active(self) -> Index:
        """J, the rows with a slack."""
        return np.flatnonzero(self.u > 0)

    def _solve(self, J: Index, target: Vector) -> Vector | None:
        rows = self.rows
        if self.small or (self.reach > SQUARED and self._fits(J)):
            return qr_step(rows, J, self.C, target)
        if rows.csr is not None and min(len(J), rows.D) > DIRECT:
            self.iterative = True
            return cg_step(rows, J, self.C, target, self.theta, 1e-3)
        if len(J) < rows.D:
            found = self.inner.solve(J, self.C, target)
            return None if found is None else found[0]
        return self.normal.step(J, self.C, target)

    def _fits(self, J: Index) -> bool:
        """Whether QR of these rows is affordable."""
        return self.rows.csr is None and (len(J) + self.rows.D) * self.rows.D**2 <= LARGER

    @property
    def _last(self) -> float:
        """Where C R² leaves float64 behind: QR does not square the condition number."""
        return LAST**2 if self.small or self._fits(self.active) else LAST

    def steps_on(self) -> Iterator[NewtonPath]:
        """One Newton step after the other until C leaves float64 behind; the consumer stops when it has enough."""
        while self.reach <= self._last and not (self.iterative and self.steps > ITERATIVE):
            target = 1.0 + self.alpha / self.C
            self.end_of_stage = False
            for inner in range(40):
                u = np.where(self.live, np.maximum(target - self.m, 0.0), 0.0)
                J = np.flatnonzero(u)
                theta = self._solve(J, target[J]) if len(J) else None
                if theta is None:
                    break
                p = theta - self.theta
                dm = self.rows.margins(p)
                p[self.rows.d] = 0.0  # the intercept is not part of the norm
                here = self.theta[: self.rows.d]
                s = exact_search(
                    (target - self.m)[self.live],
                    dm[self.live],
                    self.C,
                    float(here @ p[:-1]),
                    float(p @ p),
                )
                self.theta = self.theta + s * (theta - self.theta)
                self.m = self.rows.margins(self.theta)
                self.u = np.where(self.live, np.maximum(target - self.m, 0.0), 0.0)
                self.steps += 1
                # J unchanged by a full step: θ minimises. Rounding can keep J in motion at large C; the residual tells.
                still = np.array_equal(np.flatnonzero(self.u), J) and abs(s - 1.0) < 1e-6
                stuck = s * float(np.linalg.norm(p)) <= 1e-10 * float(np.linalg.norm(self.theta))
                self.end_of_stage = still or stuck or inner == 39 or self._stationary()
                yield self
                if self.end_of_stage:
                    break
            if not len(self.active):
                return
            if self.lowest > 0:
                self.alpha = self.C * self.u
            self.C *= GROWTH

    def polish(self) -> tuple[Vector, Vector] | None:
        """θ of least norm with Z_Jθ = 1 and λ ∝ β, θ = Z_Jᵀβ: the hard margin itself once J is its support."""
        J = self.active
        if self.small or not 0 < len(J) <= self.rows.D or len(J) > DIRECT:
            return None
        found = self.inner.solve(J, 1e15 / self.R2, np.ones(len(J)))
        if found is None:
            return None
        lam = np.zeros(self.rows.n)
        lam[J] = np.maximum(found[1], 0.0)
        return found[0], lam

    def _stationary(self) -> bool:
        """Whether θ = C Zᵀu to a thousandth."""
        J = self.active
        g = self.rows.sum(J, self.u[J])[: self.rows.d]
        here = self.theta[: self.rows.d]
        return bool(np.linalg.norm(here - self.C * g) <= 1e-3 * np.linalg.norm(here))
