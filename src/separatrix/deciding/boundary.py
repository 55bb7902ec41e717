"""On the boundary, within rounding: what is true of the rows to the precision of their numbers, with its evidence.

A verdict is robust when it holds for every table within one part in 1e12 of this one. It is not where there are both

    λ ≥ 0, λ ≠ 0  with  |Σ_i λ_i z_ij| ≤ ε Σ_i λ_i |z_ij|  in every column j ,
    θ             with  |z_iᵀθ| ≤ ε |z_i|ᵀ|θ|  on the boundary rows,  z_iᵀθ > ε |z_i|ᵀ|θ|  on all others ,

ε = 1e-12: entries that change by ε of their size make λ exact, and no θ separates; others make θ a separator of all. So
the last digits decide, and to the precision of the data the rows are as the two say with ε = 0.
"""

from __future__ import annotations

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


class Certainty(Word):
    """How sure a verdict is."""

    PROVEN = "proven", "it holds for the numbers as they are stored, to the last bit"
    WITHIN_ROUNDING = (
        "within rounding",
        "it holds to the precision of these numbers; in the bits as stored the last digits decide",
    )


@dataclass(frozen=True, eq=False)
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


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite, and is checked
def evidence_of(rows: HeldRows, pair: Pair, scaled: ScaledRows) -> Evidence | None:
    """The pair of scaled rows as evidence, its residuals taken from the rows themselves; None where it is none."""
    reader = Reader(rows)
    B = np.flatnonzero(pair.lam)
    if len(B) == 0:
        return None
    weights = pair.lam[B] * scaled.rho[B]
    weights /= weights.max()
    D = reader.D
    theta = pair.theta * scaled.kappa[:D]
    if pair.face.all():  # the directions that no row tells from zero
        if len(pair.left) == 0:
            return None
        theta = np.zeros(D)
        theta[pair.left[0]] = -1.0
        theta[pair.kept] = pair.combinations[:, 0]
        theta *= scaled.kappa[:D]
    if rows.bias:
        theta[-1] *= rows.bias  # the constant column is 1 to the reader
    theta /= abs(theta).max()
    off, least, columns = 0.0, np.inf, np.arange(D)
    for lo in range(0, reader.n, reader.step):
        part = np.arange(lo, min(lo + reader.step, reader.n))
        share = shares(reader.dense(part, columns), theta)
        on = pair.face[part]
        off = max(off, float(abs(share[on]).max(initial=0.0)) + gamma(D + 4))
        least = min(least, float(share[~on].min(initial=np.inf)) - gamma(D + 4))
    tied = 0.0
    for lo in range(0, D, 64):
        A = reader.dense(B, columns[lo : lo + 64])
        size = abs(A).T @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(size > 0, abs(column_sums(A, weights, exact=True)[0]) / size, 0.0)
        tied = max(tied, float(share.max()) * (1 + gamma(len(B) + 8)))
    if not (tied <= ROUNDING and off <= ROUNDING and least > ROUNDING):
        return None
    claim = Claim.OVERLAP if pair.face.all() else Claim.QUASI_COMPLETE
    return Evidence(claim, theta, B, weights, np.flatnonzero(~pair.face), tied, off, least)


def shares(A: Vector, theta: Vector) -> Vector:
    """z_iᵀθ over |z_i|ᵀ|θ|, 0 where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        m, t = A @ theta, abs(A) @ abs(theta)
        return np.where(t > 0, m / t, 0.0)
