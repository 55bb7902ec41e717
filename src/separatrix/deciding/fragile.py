"""Whether a verdict hangs on rounding: whether it could turn if rounded entries moved by one part in 1e12.

Decimals such as 0.1 are rounded on their way into float64; whole numbers and short binary fractions are not. An entry
counts as rounded if its significand needs more than 32 bits. Rounded entries may move by 1e-12 of their size, each on
its own, and the proof (or another one, if that is found) has to survive it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof
from separatrix.certify.check import slack
from separatrix.certify.reader import Reader, gamma
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.newton import NewtonPath
from separatrix.deciding.relations import independent_columns
from separatrix.deciding.scaling import equilibrated

CHANGE = 1e-12
TRIES = 60  # Newton steps towards a sturdier separator


def rounded(A: Vector) -> NDArray[np.bool_]:
    """Entries whose significand has more than 32 bits."""
    significand = np.frexp(A)[0] * 2.0**32
    return np.asarray(significand != np.rint(significand))


def is_fragile(rows: HeldRows, proof: Proof, budget: Budget = UNLIMITED, *, kind: bool = False) -> bool:
    """Whether the verdict (with `kind` also the kind) could turn under such a change."""
    reader = Reader(rows)
    if proof.claim is Claim.SEPARABLE:
        return not _sturdy_separator(rows, reader, proof, budget)
    if proof.rows is None or proof.weights is None or len(proof.rows) * reader.D > budget.entries:
        return True  # nothing was shown
    if not _sturdy_weights(reader, proof, np.array(proof.rows, dtype=np.int64), budget):
        return True
    if kind and proof.claim is Claim.QUASI_COMPLETE and proof.theta is not None:
        theta = np.array([float(t) for t in proof.theta])
        face = reader.signs(proof.theta) == 0
        return not survives(reader, theta, np.flatnonzero(~face)) or _touched(reader, theta, np.flatnonzero(face))
    return False


def survives(reader: Reader, theta: Vector, rows: Index) -> bool:
    """Whether z_iᵀθ > 0 in these rows whatever the change."""
    columns = np.arange(reader.D)
    with np.errstate(all="ignore"):
        for lo in range(0, len(rows), reader.step):
            part = rows[lo : lo + reader.step]
            if reader.sparse:
                A = reader.X[part].astype(np.float64)
                full = np.zeros(reader.d + 1)
                full[: len(theta)] = theta
                s = reader.y[part] * (A @ full[:-1] + reader.bias * full[-1])
                t = abs(A) @ abs(full[:-1]) + reader.bias * abs(full[-1])
                A.data = np.where(rounded(A.data), A.data, 0.0)
                moved = abs(A) @ abs(full[:-1])
            else:
                A = reader.dense(part, columns)
                s, t = A @ theta, abs(A) @ abs(theta)
                moved = np.where(rounded(A), abs(A), 0.0) @ abs(theta)
            if not ((s > 2 * CHANGE * moved + gamma(reader.D + 4) * t) | (moved == 0)).all():
                return False
    return True


def _touched(reader: Reader, theta: Vector, rows: Index) -> bool:
    """Whether a rounded entry takes part in z_iᵀθ = 0 in one of these rows."""
    support = np.flatnonzero(theta)
    return any(
        bool(rounded(reader.dense(rows[lo : lo + reader.step], support)).any())
        for lo in range(0, len(rows), reader.step)
    )


def _sturdy_separator(rows: HeldRows, reader: Reader, proof: Proof, budget: Budget) -> bool:
    every = np.arange(reader.n)
    if survives(reader, np.array([float(t) for t in proof.theta or ()]), every):
        return True
    scaled = equilibrated(rows)
    with np.errstate(all="ignore"):
        for step in NewtonPath(scaled).steps_on():
            if step.lowest > 0 and survives(reader, (step.theta * scaled.kappa)[: reader.D], every):
                return True
            if step.steps >= TRIES or budget.late or not np.isfinite(step.theta).all():
                break
    return False


def _sturdy_weights(reader: Reader, proof: Proof, rows: Index, budget: Budget) -> bool:
    """Whether Gordan weights exist on these rows whatever the change."""
    lam = proof.float_weights
    if not np.isfinite(lam).all() or not (lam > 0).all():
        return not rounded(reader.dense(rows, np.arange(reader.D))).any()
    relations: Mapping[int, Mapping[int, Any]]
    if proof.columns is None:
        if not rounded(reader.dense(rows, np.arange(reader.D))).any():
            return True
        K, relations = independent_columns(reader, rows, budget=budget)
    else:
        K, relations = np.array(proof.columns, dtype=np.int64), proof.relations
    tied = sorted(set(relations).union(*relations.values()))
    if rounded(reader.dense(rows, np.array(tied, dtype=np.int64))).any():
        return False
    with np.errstate(all="ignore"):
        return slack(reader, rows, lam, K, perturbation=CHANGE) > 0
