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
from separatrix.certify.reader import Reader, as_floats, as_integers, gamma
from separatrix.core.constants import SMALLEST
from separatrix.core.definition import rounded
from separatrix.data.memory import hold_signed
from separatrix.data.rows import Index, Vector
from separatrix.deciding.newton import NewtonPath
from separatrix.deciding.relations import independent_columns
from separatrix.deciding.search import Case, from_pair, pair_of

CHANGE = 1e-12
TRIES = 60  # Newton steps towards a sturdier separator


def is_fragile(case: Case, proof: Proof, *, kind: bool = False) -> bool:
    """Whether the verdict (with `kind` also the kind) could turn under such a change."""
    if proof.claim is Claim.SEPARABLE:
        return not _sturdy_separator(case, proof)
    if proof.rows is None or proof.weights is None or len(proof.rows) * case.reader.D > case.budget.entries:
        return True  # nothing was shown
    if not _sturdy_weights(case, proof):
        return True
    if kind and proof.claim is Claim.QUASI_COMPLETE and proof.theta is not None:
        return not _sturdy_direction(case, proof)
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


def _sturdy(reader: Reader, theta: Vector, rows: Index) -> bool:
    """Whether z_iᵀθ > 0 in these rows, as they are and whatever the change."""
    return survives(reader, theta, rows) and bool((reader.signs(theta, rows) > 0).all())


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite, and is checked
def _sturdy_separator(case: Case, proof: Proof) -> bool:
    """Whether some separator survives: the proof's, that of the pair, or one on the way to the widest margin."""
    reader, every = case.reader, np.arange(case.reader.n)
    theta = proof.theta or ()
    plain = all(isinstance(t, float) for t in theta)  # then it is proven as it is, and only has to survive
    if survives(reader, np.array(theta), every) if plain else _sturdy(reader, as_floats(as_integers(theta)), every):
        return True
    pair = None if case.budget.late else pair_of(case)
    if pair is not None and not pair.face.any() and _sturdy(reader, pair.theta * case.scaled.kappa[: reader.D], every):
        return True
    with np.errstate(all="ignore"):
        for step in NewtonPath(case.scaled).steps_on():
            if step.lowest > 0 and _sturdy(reader, (step.theta * case.scaled.kappa)[: reader.D], every):
                return True
            if step.steps >= TRIES or case.budget.late or not np.isfinite(step.theta).all():
                break
    return False


def _sturdy_direction(case: Case, proof: Proof) -> bool:
    """Whether some θ is positive off the face and zero on it whatever the change.

    The proof's, or one on the columns that nothing moves on the face: a 0/1 column that separates, beside ages.
    """
    reader = case.reader
    face = reader.signs(proof.theta or ()) == 0
    off, on = np.flatnonzero(~face), np.flatnonzero(face)
    theta = as_floats(as_integers(proof.theta or ()))
    if _sturdy(reader, theta, off) and not _touched(reader, theta, on):
        return True
    moved = np.zeros(reader.D, dtype=bool)
    for lo in range(0, len(on), reader.step):
        moved |= rounded(reader.dense(on[lo : lo + reader.step], np.arange(reader.D))).any(axis=0)
    still = np.flatnonzero(~moved)
    if not 0 < len(still) < reader.D or case.budget.late:
        return False
    part = Case(hold_signed(reader.dense(np.arange(reader.n), still), case.rows.classes), case.budget)
    pair = pair_of(part)
    if pair is None or not np.array_equal(pair.face, face):
        return False
    found = from_pair(part, pair)
    return (
        found is not None
        and found.claim is Claim.QUASI_COMPLETE
        and _sturdy(part.reader, as_floats(as_integers(found.theta or ())), off)
    )


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite, and is checked
def _sturdy_weights(case: Case, proof: Proof) -> bool:
    """Whether Gordan weights exist on the proof's rows, or on those of the pair, whatever the change."""
    reader, rows, lam = case.reader, np.array(proof.rows, dtype=np.int64), proof.float_weights
    every = np.arange(reader.D)
    if not rounded(reader.dense(rows, every)).any():
        return True
    if proof.columns is not None and _slack_left(reader, rows, lam, np.array(proof.columns), proof.relations):
        return True
    candidates = [(rows, lam)]
    if not case.budget.late and (pair := pair_of(case)) is not None and pair.lam.any():
        B = np.flatnonzero(pair.lam)
        candidates.append((B, pair.lam[B] * case.scaled.rho[B]))
    for B, weights in candidates:
        if case.budget.late:
            return False
        if np.isfinite(weights).all() and (weights > 0).all():
            K, relations = independent_columns(reader, B, budget=case.budget)
            if _slack_left(reader, B, weights, K, relations):
                return True
    return False


def _slack_left(reader: Reader, rows: Index, lam: Vector, K: Index, relations: Mapping[int, Mapping[int, Any]]) -> bool:
    """Whether the Cholesky argument holds whatever the change; relations may lean on no entry that moves."""
    tied = sorted(set(relations).union(*relations.values()))
    if rounded(reader.dense(rows, np.array(tied, dtype=np.int64))).any():
        return False
    with np.errstate(all="ignore"):
        return slack(reader, rows, lam, K, perturbation=CHANGE) > 0
