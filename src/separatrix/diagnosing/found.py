"""What is found of one system of rows: independent columns, the kind and its proof, separated rows, directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.reader import Reader, nearest
from separatrix.data.memory import HeldRows, hold_signed
from separatrix.data.rows import Index
from separatrix.deciding.boundary import Certainty, Evidence
from separatrix.deciding.budget import Budget
from separatrix.deciding.claims import on_all_columns
from separatrix.deciding.distinct import Distinct, distinct
from separatrix.deciding.fragile import is_fragile
from separatrix.deciding.kind import evidence_beside, evidence_in, last_resort, prove_kind
from separatrix.deciding.relations import FACTORED, Relations, independent_columns, spanning_columns
from separatrix.deciding.search import Case
from separatrix.deciding.sturdy import is_sturdy
from separatrix.deciding.tied import is_tied
from separatrix.diagnosing.blocks import directions_by_block
from separatrix.diagnosing.directions import Directions, directions, directions_within_rounding
from separatrix.diagnosing.kinds import Kind
from separatrix.models.model import INTERCEPT

FEW = 20  # aliased columns whose coefficients are worked out, where there are more columns than rows
KINDS = {
    Claim.SEPARABLE: Kind.COMPLETE,
    Claim.QUASI_COMPLETE: Kind.QUASI_COMPLETE,
    Claim.OVERLAP: Kind.OVERLAP,
}


@dataclass(frozen=True)
class Found:
    """What was found of one system of rows.

    certainty : that of the kind; None where undecided
    separated : the rows off the face
    signs : a direction per column
    open : the columns whose direction is not proven
    near : columns that are combinations of others to rounding
    """

    kind: Kind
    proof: Proof | None
    separated: Index
    fragile: bool = False
    certainty: Certainty | None = None
    evidence: Evidence | None = None
    signs: tuple[str, ...] = ()
    open: tuple[int, ...] = ()
    near: Mapping[int, Mapping[int, float]] = field(default_factory=dict)


def independent(rows: HeldRows, budget: Budget, first: Index) -> tuple[Index, Relations] | None:
    """Columns kept, and the others as exact combinations of earlier ones, `first` ones first; None if too much.

    Where there are columns enough to span everything, which ones is all that is asked: coefficients would be many.
    """
    reader = Reader(rows)
    work = rows.n * reader.D * min(rows.n, reader.D)
    if not rows.sparse and (rows.n * reader.D > budget.entries or work > budget.affordable(FACTORED)):
        return None
    order = np.concatenate([first, np.setdiff1d(np.arange(reader.D), first)])
    many = reader.D > rows.n and (reader.D > rows.n + FEW or rows.n > 3 * FEW)
    spanning = spanning_columns(reader, order, budget) if many else None
    if spanning is not None:
        return spanning, {}
    found = independent_columns(reader, np.arange(rows.n), order=order, budget=budget)
    return None if budget.late else found


def in_words(rows: HeldRows, kept: Index, relations: Relations, names: list[str]) -> dict[str, str]:
    """Each aliased column by name, and what it equals; columns behind those with a name are parts of one."""
    aliased = {}
    reader = Reader(rows)
    for j in sorted(set(range(len(names))) - set(kept.tolist())):
        text = sum_of(relations.get(j, {}), names)
        if not text:
            text = "0" if reader.zero(np.array([j])).all() else "a combination of the columns that are not aliased"
        aliased[names[j]] = text
    return aliased


def sum_of(terms: Mapping[int, Any], names: list[str]) -> str:
    """A combination of columns in words, the intercept first."""
    known = [term for term in terms.items() if term[0] < len(names)]
    order = sorted(known, key=lambda term: (not names[term[0]].startswith(INTERCEPT), term[0]))
    return " + ".join(_term(c, names[k]) for k, c in order).replace("+ -", "- ")


def _term(c: Any, name: str) -> str:
    return {1: name, -1: f"-{name}"}.get(c, f"{nearest(c):.6g}·{name}")


def find(rows: HeldRows, budget: Budget, *, signs: bool = True) -> Found:
    """The kind of these rows with its proof or its evidence, and the direction of every column."""
    small = distinct(rows, budget)
    case = Case(small.rows, budget)
    proof = prove_kind(case)
    evidence = evidence_in(case, proof)
    if evidence is None and (proof is None or proof.claim is Claim.INSEPARABLE):
        proof = last_resort(case) or proof
    if evidence is not None and case.pair is not None:
        kind = Kind.OVERLAP if evidence.claim is Claim.OVERLAP else Kind.QUASI_COMPLETE
        where = directions_within_rounding(case.pair, budget) if signs else Directions([], [])
        near = {} if evidence is None else _near(case)
        whole = small.evidence(evidence)
        certainty = Certainty.WITHIN_ROUNDING
        return Found(kind, None, whole.separated, True, certainty, whole, tuple(where.signs), near=near)
    if proof is None or proof.claim is Claim.INSEPARABLE:
        none = np.empty(0, dtype=np.int64)
        return Found(Kind.UNDECIDED, proof, none, signs=("?",) * case.reader.D)
    fragile = not is_sturdy(case, proof) if is_tied(proof) else is_fragile(case, proof, kind=True)
    off = np.zeros(small.rows.n, dtype=bool)
    if proof.claim is not Claim.OVERLAP:
        off = case.reader.signs(proof.theta or ()) > 0
    where = Directions([], [])
    if signs:
        where = (directions_by_block(case, proof) if is_tied(proof) else None) or directions(case, proof)
    beside = evidence_beside(case, proof) if fragile else None
    return Found(
        kind=KINDS[proof.claim],
        proof=small.carried(proof, rows, budget),
        separated=np.flatnonzero(off[small.which]),
        fragile=fragile,
        certainty=Certainty.PROVEN,
        evidence=None if beside is None else small.evidence(beside),
        signs=tuple(where.signs),
        open=tuple(j for j, sure in enumerate(where.proven) if not sure),
    )


def _near(case: Case) -> dict[int, dict[int, float]]:
    """Columns that are combinations of others to rounding, and which."""
    pair, kappa = case.pair, case.scaled.kappa
    if pair is None:
        return {}
    scaled = pair.combinations * kappa[pair.kept, None] / kappa[None, pair.left]
    return {
        int(j): {int(k): float(f"{c:.9g}") for k, c in zip(pair.kept, line, strict=True) if abs(c) > 1e-9}
        for j, line in zip(pair.left, scaled.T, strict=True)
    }


def find_extended(
    rows: HeldRows, once: Distinct, kept: Index, aliased: Relations, budget: Budget, first: Index
) -> Found:
    """The kind on the kept columns, `first` ones first, the proof extended to all columns and rows."""
    small = once.rows
    reader, only, order = Reader(small), small, np.arange(len(kept))
    if len(kept) < reader.D or (len(first) and small.n * reader.D <= budget.entries):
        order = np.argsort(~np.isin(kept, first), kind="stable")  # of columns dependent to rounding the later ones go
        as_stored = reader.csr if small.sparse and len(kept) else reader.dense
        only = hold_signed(as_stored(np.arange(small.n), kept[order]), small.classes)
    found = find(only, budget)
    back = np.argsort(order)
    proof, evidence = found.proof, found.evidence
    if proof is not None and only is not small:
        proof = on_all_columns(proof, small, kept[order], aliased)
    if evidence is not None:
        theta = np.zeros(reader.D)
        theta[kept[order]] = evidence.theta
        evidence = once.evidence(replace(evidence, theta=theta))
    inside = np.zeros(small.n, dtype=bool)
    inside[found.separated] = True
    name = kept[order]
    return replace(
        found,
        proof=once.carried(proof, rows, budget),
        evidence=evidence,
        separated=np.flatnonzero(inside[once.which]),
        signs=tuple(found.signs[at] for at in back),
        open=tuple(sorted(int(order[at]) for at in found.open)),
        near={int(name[j]): {int(name[k]): c for k, c in terms.items()} for j, terms in found.near.items()},
    )
