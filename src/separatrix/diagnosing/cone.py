"""Witnesses in floats for where linear functionals can go over an open cone {ψ: Aψ > 0}: points of it, or weights.

One point well inside tells a sign of every functional. Dikin's ellipsoid around it, Σ (a_iᵀδ/m_i)² ≤ 1, lies in the
cone: functionals whose zero it crosses go either way. For each of the others non-negative least squares on the rows
that matter (Lawson and Hanson 1974, chapter 23),

    min ‖r‖² ,   r = s g - Σ λ_i a_i ,   λ ≥ 0 ,

ends at r = 0, and λ bounds the functional, s gᵀψ = Σ λ_i a_iᵀψ ≥ 0; or else Ar ≤ 0 and s gᵀr = ‖r‖², so that -r is a
point of the cone on the other side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.scaling import Matrix

NOTHING = 1e-9  # of its size, what rounding leaves of a functional, a margin or a multiplier
FIRST = 5  # rows per unknown that least squares begin with, at least 200
SOME = 64  # points around the one inside, in random directions
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Witness:
    """What floats say of one functional: its direction, points of the cone that show it, rows that bound it."""

    word: str
    rays: tuple[Vector, ...] = ()
    bound: Index | None = None


def witnesses(A: Matrix, G: Matrix, inside: Vector, budget: Budget) -> Iterator[Witness]:
    """A witness for each functional, a row of G, over the cone of unit rows A around a point inside it."""
    size = np.sqrt(np.einsum("ij,ij->i", G, G))
    H = G / np.where(size > 0, size, 1.0)[:, None]
    none = size <= NOTHING * max(float(size.max(initial=0.0)), 1e-300)
    inside = inside / float(np.linalg.norm(inside))
    m = A @ inside
    points = np.vstack([inside, across(A, H[~none], inside, m)])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    used: dict[int, None] = {}  # points that have served, in order: few of them serve many
    left = budget.signs if budget.deadline is None else inf  # of what least squares may take
    rows = np.argsort(m, kind="stable")[: max(200, FIRST * A.shape[1])]
    for g, zero in zip(H, none, strict=True):
        if zero:
            yield Witness("0")
            continue
        here = float(g @ inside)
        s = 1.0 if here > 0 else -1.0
        values = s * (points @ g)
        other = next((k for k in used if values[k] < -NOTHING), int(np.argmin(values)))
        if values[other] < -NOTHING and abs(here) > NOTHING:
            used[other] = None
            yield Witness("either", (inside, points[other]))
            continue
        rays, word = [inside], "?"
        for side in (s,) if abs(here) > NOTHING else (s, -s):
            if left <= 0:
                break
            far, bound, rows, work = other_side(A, side * g, inside, rows, budget)
            left -= work
            if far is not None:
                rays.append(far / np.linalg.norm(far))
                points = np.vstack([points, rays[-1]])
                continue
            if bound is not None:
                word = "+" if side > 0 else "-"
            break
        else:
            word = "either"
        yield Witness(word, tuple(rays), bound)


def across(A: Matrix, G: Matrix, inside: Vector, m: Vector) -> Matrix:
    """For each functional the point across its zero, where Dikin's ellipsoid or what lies beyond it still has it."""
    B = A / m[:, None]
    H = B.T @ B
    H[np.diag_indices(len(H))] += 1e-14 * max(float(np.trace(H)), 1e-300)
    try:
        L = np.linalg.cholesky(H)
        far = np.linalg.solve(H, G.T)
        some = np.linalg.solve(L.T, np.random.default_rng(0).standard_normal((len(inside), SOME)))
    except np.linalg.LinAlgError:
        return np.empty((0, len(inside)))
    some /= np.linalg.norm(L.T @ some, axis=0)  # on the ellipsoid: each is across the zero of many
    here, reach = G @ inside, np.einsum("ij,ji->i", G, far)
    with np.errstate(all="ignore"):
        single = inside - np.where(reach > 0, 1.01 * here / reach, np.inf)[:, None] * far.T
        points = np.vstack([inside + 0.99 * some.T, single])
        length = np.linalg.norm(points, axis=1)
        within = np.isfinite(length) & ((A @ points.T) > NOTHING * length).all(axis=0)
    return np.asarray(points[within])


def other_side(
    A: Matrix, g: Vector, inside: Vector, rows: Index, budget: Budget
) -> tuple[Vector | None, Index | None, Index, int]:
    """A point of the cone with gᵀψ < 0, or few rows of which some weights forbid it; the rows that mattered; the work.

    Least squares take a step for each weight that they make positive, the dearer the more there are.
    """
    from scipy.optimize import nnls

    rise, work = float(g @ inside), 0
    for _ in range(ROUNDS):
        if budget.late:
            break
        try:
            lam = nnls(A[rows].T, g)[0]
        except RuntimeError:  # too many iterations
            break
        work += len(rows) * (1 + int(np.count_nonzero(lam))) ** 2
        ray = A[rows].T @ lam - g
        length = float(np.linalg.norm(ray))
        if length <= NOTHING:
            return None, rows[lam > NOTHING * lam.max(initial=0.0)], rows, work
        # The ray lies on the edge of the cone; a point on the way from it to the one inside is within.
        point = ray / length + inside * (0.5 * length / rise if rise > 0 else 1.0)
        low = A @ point
        wrong = np.flatnonzero(low <= 0)
        if len(wrong) == 0:
            return point, None, rows, work
        worst = wrong[np.argsort(low[wrong], kind="stable")[: 10 * len(g) + 50]]
        fresh = np.setdiff1d(worst, rows)
        if len(fresh) == 0:
            break
        rows = np.concatenate([rows, fresh])
    return None, None, rows, work
