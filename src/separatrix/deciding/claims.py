"""Proofs put together, checked against the raw rows, and carried from part of a problem to all of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certify import Claim, Proof, Stage, check
from separatrix.certify.reader import Reader
from separatrix.data.memory import HeldRows, hold_signed
from separatrix.data.rows import Index, Rows, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.relations import Relations, holds_on


def claim(rows: Rows, what: Claim, /, **parts: Any) -> Proof | None:
    """A proof of these parts if it checks, None otherwise."""
    proof = Proof(what, rows.n, rows.d, rows.bias > 0, **parts)
    return proof if check(proof, rows) else None


def claim_separator(rows: HeldRows, theta: Vector) -> Proof | None:
    """θ (d + 1 entries) as a proof of separability; the constant column is 1, as it is to the checker."""
    return claim(rows, Claim.SEPARABLE, theta=tuple(rows.unpad(theta).tolist()))


def claim_weights(
    reader: Reader, rows: HeldRows, B: Index, lam: Vector, K: Index, relations: Relations
) -> Proof | None:
    """Weights λ_B with their columns as a proof, of overlap where the relations hold in every row."""
    lam = lam / lam.max()
    everywhere = bool(holds_on(reader, K, relations).all())
    parts: dict[str, Any] = {
        "rows": tuple(B.tolist()),
        "weights": tuple(lam.tolist()),
        "columns": tuple(K.tolist()),
        "relations": relations,
    }
    return claim(rows, Claim.OVERLAP if everywhere else Claim.INSEPARABLE, **parts)


def claim_quasi_complete(
    reader: Reader, rows: HeldRows, weights: Proof, theta: Vector, K: Index, relations: Relations
) -> Proof | None:
    """A proof of inseparability with a θ ≥ 0: θ_K = -Mθ_N in rational numbers is zero on the face exactly.

    The rows of the face are those that the relations make zero; θ has to be positive on all others.
    """
    exact = [Fraction(0)] * len(theta)
    for j in np.setdiff1d(np.arange(len(theta)), K).tolist():
        exact[j] = Fraction(float(theta[j]))
    for j, terms in relations.items():
        for k, c in terms.items():
            exact[k] -= c * exact[j]
    if not (reader.signs(exact, np.flatnonzero(~holds_on(reader, K, relations))) > 0).all():
        return None
    return claim(
        rows,
        Claim.QUASI_COMPLETE,
        theta=tuple(exact),
        rows=weights.rows,
        weights=weights.weights,
        columns=weights.columns,
        relations=weights.relations,
    )


def claim_of_all(rows: HeldRows, proof: Proof, J: Index, columns: Index) -> Proof | None:
    """A proof that the rows J on these columns are inseparable as one about all rows and columns."""
    if proof.claim is Claim.SEPARABLE or proof.rows is None:
        return None
    parts: dict[str, Any] = {"rows": tuple(int(J[i]) for i in proof.rows), "weights": proof.weights}
    if proof.columns is not None:
        at = {j: int(c) for j, c in enumerate(columns)}
        relations = {at[j]: {at[k]: c for k, c in terms.items()} for j, terms in proof.relations.items()}
        parts |= {"columns": tuple(at[j] for j in proof.columns), "relations": relations}
        if proof.claim is Claim.OVERLAP and not rows.sparse:
            overlap = claim(rows, Claim.OVERLAP, **parts)
            if overlap is not None:
                return overlap
    return claim(rows, Claim.INSEPARABLE, **parts)


def on_all_columns(proof: Proof, rows: HeldRows, kept: Index, aliased: Relations) -> Proof | None:
    """A proof about the kept columns, in this order, as one about all, if it checks.

    Aliased columns get coefficient 0, and lean on what they equal.
    """
    name = kept.tolist()
    parts: dict[str, Any] = {"d": rows.d, "intercept": rows.bias > 0}
    if proof.theta is not None:
        coefficients = dict(zip(name, proof.theta, strict=True))
        parts["theta"] = tuple(coefficients.get(j, 0.0) for j in range(rows.d + (rows.bias > 0)))
    if proof.columns is not None:
        parts["columns"], parts["relations"] = _leaning(proof, name, aliased)
    leaning = [_leaning(stage, name, aliased) for stage in proof.earlier]
    parts["earlier"] = tuple(
        replace(stage, columns=K, relations=relations)
        for stage, (K, relations) in zip(proof.earlier, leaning, strict=True)
    )
    whole = replace(proof, **parts)
    return whole if check(whole, rows) else None


def _leaning(stage: Stage | Proof, name: list[int], aliased: Relations) -> tuple[tuple[int, ...], Relations]:
    """Columns and relations of a stage about the kept columns as those about all."""
    columns = tuple(name[j] for j in stage.columns or ())
    own = {name[j]: {name[k]: Fraction(c) for k, c in terms.items()} for j, terms in stage.relations.items()}
    relations = {j: terms for j, terms in own.items() if terms}
    own |= {j: {} for j in set(name) - set(columns) - set(own)}
    for j, terms in aliased.items():
        total: dict[int, Fraction] = {}
        for base, factor in terms.items():
            for k, c in own.get(base, {base: Fraction(1)}).items():
                total[k] = total.get(k, Fraction(0)) + factor * c
        relations[j] = {k: c for k, c in total.items() if c}
    return columns, relations


def part_of(rows: HeldRows, J: Index, budget: Budget) -> tuple[HeldRows | None, Index]:
    """The rows J as dense ones on the columns they touch, with the number of each such column; None if too many."""
    reader = Reader(rows)
    if rows.sparse:
        used = np.unique(reader.X[J].indices).astype(np.int64)
        columns = np.concatenate([used, np.arange(rows.d, reader.D)])
    else:
        columns = np.arange(reader.D)
    if len(J) * len(columns) > budget.entries or len(columns) == 0:
        return None, columns
    return hold_signed(reader.dense(J, columns), rows.classes), columns


def weights_of(reader: Reader, order: Index, Z: list[list[int]], lam: list[Fraction]) -> list[Fraction]:
    """λ for the rows as stored, from λ for the whole-number rows Z_k = c_k z_order[k]."""
    out = [Fraction(0)] * reader.n
    columns = np.arange(reader.D)
    for i, z, weight in zip(order.tolist(), Z, lam, strict=True):
        if weight:
            raw = reader.dense(np.array([i]), columns)[0]
            at = next((j for j, v in enumerate(z) if v), None)
            out[i] = weight if at is None else weight * Fraction(z[at]) / Fraction(float(raw[at]))
    return out
