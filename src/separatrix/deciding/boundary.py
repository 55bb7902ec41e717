"""On the boundary, within rounding: what is true of the rows to the precision of their numbers, with its evidence.

A verdict is robust when it holds for every table within one part in 1e12 of this one. It is not where there are both

    λ ≥ 0, λ ≠ 0  with  |Σ_i λ_i z_ij| ≤ ε Σ_i λ_i |z_ij|  in every column j ,
    θ             with  |z_iᵀθ| ≤ ε |z_i|ᵀ|θ|  on the boundary rows,  z_iᵀθ > ε |z_i|ᵀ|θ|  on all others ,

ε = 1e-12: entries that change by ε of their size make λ exact, and no θ separates; others make θ a separator of all
that it touches. So the last digits decide, and to the precision of the data the rows are as the two say with ε = 0.
Rows of the boundary that θ meets in zeros alone stay there: where these by themselves cannot be separated, that is
proven.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certify import Claim
from separatrix.certify.check import column_sums
from separatrix.certify.reader import Reader, gamma
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.deciding.pair import Pair
from separatrix.deciding.scaling import ScaledRows
from separatrix.reporting.status import Word

ROUNDING = 1e-12  # ε
NOTHING = 0.0, 1e-14, 1e-11, 1e-8  # of the largest entry of θ, what others may be taken for zero, in turn
TRIED = 4  # columns dependent to rounding of which one has to show it


class Certainty(Word):
    """How sure a verdict is."""

    PROVEN = "proven", "it holds for the numbers as they are stored, to the last bit"
    WITHIN_ROUNDING = (
        "within rounding",
        "it holds to the precision of these numbers; in the bits as stored the last digits decide",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """Two vectors that show the rows to lie on the boundary, within rounding.

    Attributes
    ----------
    claim : Claim
        What is true to the precision of the numbers: "quasi-complete" or "overlap".
    theta : ndarray
        One number per column, the intercept last: zero on the boundary to rounding, positive off it.
    rows : ndarray of int
        The rows that carry weights.
    weights : ndarray
        One positive number per row of these: together they pull nowhere, to rounding.
    separated : ndarray of int
        The rows off the boundary.
    weights_residual : float
        How far the weights are from cancelling, of the sizes added, in the worst column: at most 1e-12.
    theta_residual : float
        How far θ is from zero, of the sizes added, in the worst row of the boundary: at most 1e-12.
    clear : float
        The least margin off the boundary, of the sizes added; infinite where no row is off it.
    """

    claim: Claim
    theta: Vector
    rows: Index
    weights: Vector
    separated: Index
    weights_residual: float
    theta_residual: float
    clear: float

    def to_dict(self) -> dict[str, Any]:
        """The residuals, in types that JSON knows.

        Returns
        -------
        dict
            What is true within rounding, the two residuals, and how clear the rows off the boundary are.
        """
        return {
            "claim": str(self.claim),
            "weights_residual": self.weights_residual,
            "theta_residual": self.theta_residual,
            "clear": None if self.clear == np.inf else self.clear,
        }

    def __str__(self) -> str:
        return (
            f"weights on {len(self.rows):,} rows cancel to {self.weights_residual:.1g}, and a direction leaves the "
            f"boundary at {self.theta_residual:.1g}, of the sizes of the numbers added"
        )

    __repr__ = __str__


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite, and is checked
def evidence_of(rows: HeldRows, pair: Pair, scaled: ScaledRows) -> Evidence | None:
    """The pair of scaled rows as evidence, its residuals taken from the rows themselves; None where it is none."""
    reader = Reader(rows)
    B = np.flatnonzero(pair.lam)
    if len(B) == 0:
        return None
    weights = pair.lam[B] * scaled.rho[B]
    weights /= weights.max()
    found = _boundary(reader, pair, scaled, rows.bias)
    if found is None:
        return None
    theta, off, least = found
    tied = 0.0
    for lo in range(0, reader.D, 64):
        A = reader.dense(B, np.arange(lo, min(lo + 64, reader.D)))
        size = abs(A).T @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(size > 0, abs(column_sums(A, weights, exact=True)[0]) / size, 0.0)
        tied = max(tied, float(share.max()) * (1 + gamma(len(B) + 8)))
    if not tied <= ROUNDING:
        return None
    claim = Claim.OVERLAP if pair.face.all() else Claim.QUASI_COMPLETE
    return Evidence(claim, theta, B, weights, np.flatnonzero(~pair.face), tied, off, least)


def _boundary(reader: Reader, pair: Pair, scaled: ScaledRows, bias: float) -> tuple[Vector, float, float] | None:
    """θ that is zero on the face to rounding and clearly positive off it, with what it leaves on and off; or None.

    What floats left of entries that are none is taken out: in rows where all others meet zeros, as those without the
    level of a 0/1 column that separates, it is all there is.
    """
    best, fewest = None, reader.n + 1
    for v in _directions(pair):
        for nothing in NOTHING:
            theta = np.where(abs(v) > nothing * abs(v).max(), v, 0.0) * scaled.kappa[: reader.D]
            if bias:
                theta[-1] *= bias  # the constant column is 1 to the reader
            theta /= abs(theta).max()
            off, least, still = _residuals(reader, pair, theta)
            if off <= ROUNDING < least:
                if still < fewest:
                    best, fewest = (theta, off, least), still
                break
        if fewest == 0:
            break
    return best


def _directions(pair: Pair) -> Iterator[Vector]:
    """θ off the face, or else directions that no row tells from zero, to rounding; then with all of these."""
    left = np.zeros((len(pair.left), len(pair.theta)))
    left[np.arange(len(left)), pair.left] = -1.0
    left[:, pair.kept] = pair.combinations.T
    if not pair.face.all():
        yield pair.theta
    yield from left[:TRIED] if pair.face.all() else ()
    if len(left):
        left /= abs(left).max(axis=1, keepdims=True)
        together = np.random.default_rng(0).uniform(0.5, 1.5, len(left)) @ np.where(abs(left) > NOTHING[-1], left, 0.0)
        yield together / abs(together).max() + pair.theta / max(float(abs(pair.theta).max()), 1e-300)


def _residuals(reader: Reader, pair: Pair, theta: Vector) -> tuple[float, float, int]:
    """The largest |z_iᵀθ| on the face and the least z_iᵀθ off it, of the sizes added, rounded to the wrong side.

    And how many rows of the face θ does not touch.
    """
    off, least, still, error = 0.0, np.inf, 0, gamma(reader.D + 4)
    for lo in range(0, reader.n, reader.step):
        part = np.arange(lo, min(lo + reader.step, reader.n))
        A, on = reader.dense(part, np.arange(reader.D)), pair.face[part]
        share = shares(A, theta)
        off = max(off, float(abs(share[on]).max(initial=0.0)) + error)
        least = min(least, float(share[~on].min(initial=np.inf)) - error)
        still += int((~A[on][:, theta != 0].any(axis=1)).sum())
    return off, least, still


def untouched(rows: HeldRows, evidence: Evidence) -> Index:
    """The rows of the boundary that θ meets in zeros alone: no change of last digits moves them off it."""
    reader, support = Reader(rows), np.flatnonzero(evidence.theta)
    on = np.setdiff1d(np.arange(rows.n), evidence.separated)
    return on[reader.zero(support, on)]


def shares(A: Vector, theta: Vector) -> Vector:
    """z_iᵀθ over |z_i|ᵀ|θ|, 0 where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        m, t = A @ theta, abs(A) @ abs(theta)
        return np.where(t > 0, m / t, 0.0)
