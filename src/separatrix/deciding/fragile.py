"""Whether a verdict hangs on rounding: whether it could turn if rounded entries moved by one part in 1e12.

Decimals such as 0.1 are rounded on their way into float64; whole numbers and short binary fractions are not. An entry
counts as rounded if its significand needs more than 32 bits. Rounded entries may move by 1e-12 of their size, each on
its own, and the proof (or another one, if that is found) has to survive it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.check import slack
from separatrix.certify.reader import Reader, gamma
from separatrix.core.constants import SMALLEST
from separatrix.core.definition import rounded
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.newton import NewtonPath
from separatrix.deciding.relations import independent_columns
from separatrix.deciding.scaling import equilibrated

CHANGE = 1e-12
TRIES = 60  # Newton steps towards a sturdier separator


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
    if not np.isfinite(theta).all():
        return False
    if not reader.long:
        return True  # entries of 24 bits were not rounded, and nothing moves
    full = np.zeros(reader.d + 1)
    full[: len(theta)] = theta
    with np.errstate(all="ignore"):
        for lo in range(0, len(rows), reader.step):
            part = rows[lo : lo + reader.step]
            s, t, moved = reader.spans(full, part, moved=True)
            error = gamma(reader.D + 4) * t + (reader.D + 4) * SMALLEST
            if not ((s > 2 * CHANGE * moved + error) | (moved == 0)).all():
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
