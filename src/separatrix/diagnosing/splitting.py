"""Where all coefficients can go at once: each step is one product with C for all of them.

In the coordinates of a `view`, Cψ > 0, a functional g that is above 0 at ψ₀ is bounded by weights λ ≥ 0 with Cᵀλ = g,
or below 0 somewhere. Both sets of λ are easy to project on, as CᵀC = I. First by Douglas-Rachford splitting,

    p = max(λ, 0) ,   a = 2p - λ + C(g - Cᵀ(2p - λ)) ,   λ⁺ = λ + κ(a - p) ,

which ends at an a > 0 that gives g exactly where the sets meet inside (Lions and Mercier 1979). For functionals that
are left accelerated gradients go on from there (Nesterov 1983, O'Donoghue and Candès 2015), with q a little inside,

    min ½‖r‖² ,   r = Cᵀp - (g - Cᵀq) ,   p ≥ 0 .

At the end r = 0, and p + q bounds g; or Cr ≥ 0 and gᵀr < 0: a ray on the edge of the cone, where g is below 0, and
r + tψ₀ is inside. A point that shows where one functional goes often shows it of others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.scaling import Matrix
from separatrix.diagnosing.view import View, towards_centre

EVERY = 5  # steps between two looks at what they have come to
SPLIT, STEPS = 60, 1_500  # steps of splitting, and of all
RELAXED = 1.5  # κ
MARGIN = 0.003  # of the weights at the centre, q
WITHIN = 0.9  # of the ball around ψ₀ that lies in the cone, how far into it a point is taken
KEPT = 3  # of what all may take, a third for functionals by themselves
PER_COLUMN = 2  # of these for each column, after which a functional by itself takes less
PRESSED, CENTRING, PRESS = 40, 3, 0.3  # Newton steps for that, of which so many bring t so much nearer to 1
FEW = 16  # functionals that a product with C costs at least


@np.errstate(all="ignore")  # what overflows on the way ends as inf or NaN, and proves nothing
def signs_seen(view: View, budget: Budget) -> list[str]:
    """What is proven of each coefficient: "+", "-" or "either"; "?" where it is open."""
    psi = view.C.T @ np.ones(len(view.C))
    psi /= float((view.C @ psi).mean())  # C has orthonormal columns but for rounding
    up = view.P @ psi >= 0
    G = np.where(up, 1.0, -1.0)[:, None] * np.ldexp(view.P, -np.frexp(abs(view.P).max(axis=1))[1][:, None])
    return [
        "either" if way < 0 else "?" if way == 0 else "+" if above else "-"
        for way, above in zip(ways(view, G, psi, budget).tolist(), up.tolist(), strict=True)
    ]


def ways(view: View, G: Matrix, psi: Vector, budget: Budget) -> Vector:
    """1 for functionals that are positive throughout, -1 for those that go either way, 0 where it is open."""
    found = np.zeros(len(G))
    here, size = G @ psi, np.sqrt(np.einsum("ij,ij->i", G, G))
    turned = np.flatnonzero(here < WITHIN * size)
    across = psi - ((here + size) / 2 / size**2)[turned, None] * G[turned]  # as far past zero as from the ball's edge
    show(view, G, psi, across, found)
    open_ = np.flatnonzero(found == 0)
    search: Splitting | Descent = Splitting(view.C, G[open_], here[open_])
    left = budget.splitting
    for step in range(min(STEPS, SPLIT + PER_COLUMN * len(psi))):
        if len(open_) == 0 or budget.late or left <= budget.splitting // KEPT:
            break
        if step == SPLIT:
            search = Descent(view.C, search.g, here[open_], search.p)
        search.step()
        left -= (2 if step % EVERY else 4) * view.C.size * max(len(open_), FEW)
        if step % EVERY:
            continue
        g, r = search.g, search.p @ view.C - search.g
        pull = r @ view.C.T
        a = search.solution(pull)
        good = np.flatnonzero((a > 0).all(axis=1))
        found[open_[good[view.bound(a[good], g[good])]]] = 1.0
        far, near = -np.einsum("ij,ij->i", g, r) / here[open_], np.maximum(-pull.min(axis=1), 0.0)  # of ψ₀
        rays = np.flatnonzero(near < far)
        show(view, G, psi, r[rays] + ((near + far) / 2)[rays, None] * psi, found)
        still = found[open_] == 0
        open_ = open_[still]
        search.keep(still)
    for at in open_:
        if left <= 0 or found[at]:
            continue
        left -= pressed(view, G, int(at), psi, found, budget)
    return found


def pressed(view: View, G: Matrix, at: int, psi: Vector, found: Vector, budget: Budget) -> int:
    """One functional by itself, along centres for it; the products that took.

    With g = n at ψ₀, on cᵀψ = n with c = (1 - t)Cᵀ1 + tg, the centre for t → 1 has (1/Cψ - (1 - t))/t > 0 as weights
    that give g, or runs off to where g is below 0.
    """
    C, g = view.C, G[at]
    n, D = C.shape
    share = float(g @ psi) / n
    w, here, away, work = share * C.sum(axis=0), psi, 1.0, 0
    for step in range(PRESSED):
        if step % CENTRING == 0:
            away *= PRESS
        c = away * w + (1.0 - away) * g
        here, square = towards_centre(C, c, here * (n * share / float(c @ here)))
        work += n * D * D
        lam = share * (1.0 / (C @ here) - away)[None] / (1.0 - away)
        lam += (g - lam @ C) @ C.T
        if (lam > 0).all() and view.bound(lam, g[None]).all():
            found[at] = 1.0
        elif float(g @ here) < 0:
            show(view, G, psi, here[None], found)
        if found[at] or budget.late or not np.isfinite(square) or not float(c @ here) > 0:
            break
    return work


class Splitting:
    """λ for functionals g that are `here` at the centre."""

    def __init__(self, C: Matrix, g: Matrix, here: Vector) -> None:
        self.C, self.g = C, g
        share = here[:, None] / len(C)
        self.lam: Matrix = share + (g - share * C.sum(axis=0)) @ C.T  # 1 at the centre, and the least that is missing
        self.p: Matrix = self.lam
        self.a: Matrix = self.lam

    def step(self) -> None:
        """p, a and λ⁺."""
        self.p = np.maximum(self.lam, 0.0)
        twice = 2.0 * self.p - self.lam
        self.a = twice + (self.g - twice @ self.C) @ self.C.T
        self.lam = self.lam + RELAXED * (self.a - self.p)

    def solution(self, pull: Matrix) -> Matrix:
        """Weights that give g."""
        return self.a

    def keep(self, still: NDArray[np.bool_]) -> None:
        """Go on with these functionals."""
        self.g, self.lam, self.p, self.a = (part[still] for part in (self.g, self.lam, self.p, self.a))


class Descent:
    """p ≥ 0 for functionals g that are `here` at the centre."""

    def __init__(self, C: Matrix, g: Matrix, here: Vector, p: Matrix) -> None:
        self.C, self.g, self.p, self.y = C, g, p, p
        self.q = MARGIN * here[:, None] / len(C)
        self.sum = C.sum(axis=0)
        self.k = np.zeros((len(g), 1))  # steps since the last that turned back

    def step(self) -> None:
        """p⁺ = max(y - C(Cᵀy + Cᵀq - g), 0), and y⁺ further on in its direction unless that turned back."""
        r = self.y @ self.C + self.q * self.sum - self.g
        p = np.maximum(self.y - r @ self.C.T, 0.0)
        back = ((self.y - p) * (p - self.p)).sum(axis=1, keepdims=True) > 0
        self.k = np.where(back, 0.0, self.k + 1.0)
        self.y = p + self.k / (self.k + 3.0) * (p - self.p)
        self.p = p

    def solution(self, pull: Matrix) -> Matrix:
        """Weights that give g, near p and q: p - C(Cᵀp - g)."""
        return self.p - pull

    def keep(self, still: NDArray[np.bool_]) -> None:
        """Go on with these functionals."""
        self.g, self.p, self.y, self.q, self.k = (part[still] for part in (self.g, self.p, self.y, self.q, self.k))


def show(view: View, G: Matrix, psi: Vector, points: Matrix, found: Vector) -> None:
    """Mark functionals that are below zero at one of these points and above at ψ₀, all of it proven."""
    points = points[np.isfinite(points).all(axis=1) & points.any(axis=1)] if len(points) else points
    if len(points) == 0:
        return
    points = np.vstack([psi, points])
    points = np.ldexp(points, -np.frexp(abs(points).max(axis=1))[1][:, None])  # far from where squares vanish
    points = points[view.inside(points)]
    open_: Index = np.flatnonzero(found == 0)
    signs = view.signs(points, G[open_])
    found[open_[(signs < 0).any(axis=0) & (signs > 0).any(axis=0)]] = -1.0
