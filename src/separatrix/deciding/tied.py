"""Facial reduction from rows that occur with both signs, exact from the first step to the last.

Models with equalities (counts, for instance) have rows z and -z, which weights 1 and 1 tie to zero, free of charge. All
such rows are the first stage B. What is left is linear algebra (`sparse_relations`) and the rows in the unknowns θ_N
(`reduced`): unknowns of one sign are peeled off, the others fall into blocks, most of them tiny, that the tools of
`search` settle. A block that no θ separates gives weights for the next stage, and B grows; once all are separated, so
are all rows off the face.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof, Stage
from separatrix.certify.reader import Reader, as_integers
from separatrix.data.memory import hold_signed
from separatrix.data.rows import Index, Vector
from separatrix.deciding.claims import claim
from separatrix.deciding.exact import OutOfTimeError, echelon, face
from separatrix.deciding.lifting import near_weights
from separatrix.deciding.reduced import Block, Reduced
from separatrix.deciding.relations import independent_columns
from separatrix.deciding.search import Case
from separatrix.deciding.sparse_relations import sparse_columns

DENSE = 20_000_000  # entries of dense rows that are looked at as sparse ones
FEW = 1_000_000  # entries that are left, up to which it does not matter how much was tied
LINES = 2_000_000  # rows times unknowns squared of a block whose relations are eliminated exactly

Prove = Callable[[Case], Proof | None]
Answer = tuple[list[Fraction], Index, list[Fraction]]  # a point; or lines and their weights


def is_tied(proof: Proof) -> bool:
    """Whether the proof has exact weights and the columns and relations of the face."""
    return proof.columns is not None and proof.argument == "gordan"


def opposites(case: Case) -> tuple[Index, Index]:
    """Rows that occur with both signs: some of one sign, and as many of the other; zero rows are in both."""
    rows, reader = case.rows, case.reader
    v = np.random.default_rng(0).standard_normal(rows.d + 1)
    code = case.bracket.sheet.margins(v / np.linalg.norm(v))  # equal bits for equal rows, and -z has those of z
    zero = np.flatnonzero(rows.r == 0)
    full = np.flatnonzero((rows.r > 0) & (code != 0))
    order = full[np.lexsort((full, code[full], abs(code[full])))]
    _, group = np.unique(abs(code[order]), return_inverse=True)
    up, down = (np.bincount(group, code[order] * s > 0, minlength=1) for s in (1, -1))
    both = ((up > 0) & (down > 0))[group]
    order, group = order[both], group[both]
    if len(order) == 0:
        return zero, zero
    sign = np.sign(code[order])
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    leader = np.repeat(first, np.diff(np.append(first, len(order))))
    same = equal_rows(reader, order, sign, order[leader], sign[leader])  # equal codes are no proof of equal rows
    order, group, sign = order[same], group[same], sign[same]
    found, each = [], [np.bincount(group[sign == s], minlength=int(group.max(initial=0)) + 1) for s in (1, -1)]
    for s in (1, -1):
        mine, own = order[sign == s], group[sign == s]
        found.append(np.concatenate([mine[_nth(own) < np.minimum(*each)[own]], zero]))
    return found[0], found[1]


def _nth(group: Index) -> Index:
    """The number of each entry among those of its group; groups come one after the other."""
    first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])) if len(group) else group
    return np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))


def equal_rows(reader: Reader, left: Index, sign: Vector, right: Index, other: Vector) -> NDArray[np.bool_]:
    """Whether s z_i = t z_j for rows i, j and signs s, t given in order."""
    out = np.empty(len(left), dtype=bool)
    for lo in range(0, len(left), reader.step):
        part = slice(lo, lo + reader.step)
        A, B = reader.csr(left[part]), reader.csr(right[part])
        A.data *= np.repeat(sign[part], np.diff(A.indptr))
        B.data *= np.repeat(other[part], np.diff(B.indptr))
        off = (A - B).tocsr()
        off.eliminate_zeros()
        out[part] = np.diff(off.indptr) == 0
    return out


def reduce_tied(case: Case, prove: Prove) -> Proof | None:
    """A proof of the kind from the rows that occur with both signs; None where there are none, or it is too much."""
    if not case.rows.sparse and case.rows.n * case.reader.D > DENSE:
        return None
    some, other = opposites(case)
    if len(some) == 0:
        return None
    return Reduction(case, some, np.union1d(some, other), prove).proof()


class Reduction:
    """Stages of rows tied to zero, the columns K and relations of all of them, and what is left of the other rows."""

    def __init__(self, case: Case, some: Index, B: Index, prove: Prove) -> None:
        self.case, self.reader, self.prove = case, case.reader, prove
        self.stages: list[Stage] = []
        found = sparse_columns(self.reader, some, budget=case.budget)
        if found is not None:
            self.K, self.relations = found
            self.tie(B, [1.0] * len(B))
        self.rest = np.setdiff1d(np.arange(case.rows.n), B)

    def tie(self, rows: Index, weights: list[Any]) -> None:
        """One more stage; K and relations are those of all rows so far."""
        order = np.argsort(rows)
        self.stages.append(
            Stage(
                tuple(rows[order].tolist()),
                tuple(weights[i] for i in order),
                tuple(self.K.tolist()),
                self.relations,
            )
        )

    def proof(self) -> Proof | None:
        """Grow the face until all rows off it are separated."""
        while self.stages and not self.case.budget.late:
            left = Reduced.of(self.reader, self.rest, self.K, self.relations)
            if left is None:
                return None
            self.rest = left.rows
            if len(left.rows) == 0:
                return self.claimed(Claim.OVERLAP, None)
            layers, core = left.peel()
            psi = np.zeros(len(left.N), dtype=object)
            psi[:] = Fraction(0)
            grown = False
            if len(core) * len(left.N) > FEW and 2 * len(self.K) < self.reader.D:
                return None  # rows with both signs say little here, and the tools for all rows more
            for block in left.blocks(core):
                answer = None if block is None else self.settled(block)
                if block is None or answer is None:
                    return None
                point, E, weights = answer
                if len(E) == 0:
                    psi[block.columns] = point
                elif self.grow(left, block, E, weights):
                    grown = True
                else:
                    return None
            if grown:
                continue
            if len(core) and not (left.margins(psi, core) > 0).all():
                return None  # rounded rows were separated, these are not
            left.climb(layers, psi)
            return self.claimed(Claim.QUASI_COMPLETE, left.lifted(psi, self.reader.D, self.relations))
        return None

    def settled(self, block: Block) -> Answer | None:
        """A point that separates the lines of a block, or weights that tie some of them to zero, exact."""
        n, D = len(block.lines), len(block.columns)
        budget = self.case.budget
        if n * D * min(n, D) <= (budget.tiny if block.exact else budget.exact):
            try:
                theta, lam = face([list(line) for line in block.lines], budget.deadline)
            except OutOfTimeError:
                return None
            E = np.array([i for i, w in enumerate(lam) if w], dtype=np.int64)
            return theta, E, [lam[i] for i in E]
        if n * D > budget.entries:
            return None
        proof = self.prove(Case(hold_signed(block.floats, self.case.rows.classes), budget))
        if proof is None:
            return None
        if proof.claim is Claim.SEPARABLE:
            theta = [Fraction(t) for t in proof.theta or ()]
            theta = [t / Fraction(2) ** p for t, p in zip(theta, block.column_power, strict=True)]
            return theta, np.empty(0, dtype=np.int64), []
        return self.tying(block, proof)

    def tying(self, block: Block, proof: Proof) -> Answer | None:
        """The weights of a proof about rounded lines, as they are or lifted, where they tie the lines themselves."""
        E = np.array(proof.rows, dtype=np.int64)
        lines = [block.lines[i] for i in E.tolist()]
        powers = [Fraction(2) ** block.row_power[i] for i in E.tolist()]
        weights = [Fraction(w) / p for w, p in zip(proof.weights or (), powers, strict=True)]
        if not cancel(weights, lines):
            rows = Reader(hold_signed(block.floats, self.case.rows.classes))
            near = near_weights(rows, E, proof.float_weights, len(proof.columns or ()))
            weights = [w / p for w, p in zip(near or (), powers, strict=False)]
            if not weights or min(weights) <= 0 or not cancel(weights, lines):
                return None
        return [], E, weights

    def grow(self, left: Reduced, block: Block, E: Index, weights: list[Fraction]) -> bool:
        """The lines E of a block, tied to zero by these weights, as a stage; whether their relations were found."""
        more = self.spanned(block, E)
        if more is None:
            return False
        self.join(left, block, *more)
        self.tie(left.rows[block.rows[E]], [w / block.divisor[i] for w, i in zip(weights, E.tolist(), strict=True)])
        return True

    def spanned(self, block: Block, E: Index) -> tuple[list[int], dict[int, dict[int, Fraction]]] | None:
        """Unknowns of a block that span all of them on its lines E, and the others as exact combinations of these."""
        if len(E) * len(block.columns) ** 2 <= LINES:
            return echelon([list(block.lines[i]) for i in E.tolist()])
        if not block.exact:
            return None
        rows = Reader(hold_signed(block.floats, self.case.rows.classes))
        K, found = independent_columns(rows, E, budget=self.case.budget)
        p = block.column_power
        relations = {
            j: {k: c * Fraction(2) ** (p[j] - p[k]) for k, c in terms.items()} for j, terms in found.items()
        }
        return K.tolist(), relations

    def join(self, left: Reduced, block: Block, kept: list[int], found: dict[int, dict[int, Fraction]]) -> None:
        """K and relations with those of the unknowns of a block, w_j = Σ c w_k.

        z_j = w_j + z_K M_j with w_j = Σ c_k (z_k - z_K M_k) is Σ c_k z_k + z_K (M_j - Σ c_k M_k).
        """
        name = [int(left.N[at]) for at in block.columns]
        factor = [left.factor[at] for at in block.columns]
        self.relations = dict(self.relations)  # the last stage keeps its own
        fresh = {name[k]: self.relations.pop(name[k], {}) for k in kept}
        for j, terms in found.items():
            new = dict(self.relations.get(name[j], {}))
            for k, c in terms.items():
                share = c * Fraction(factor[k], factor[j])
                new[name[k]] = share
                for base, value in fresh[name[k]].items():
                    new[base] = new.get(base, Fraction(0)) - share * value
            self.relations[name[j]] = {k: c for k, c in new.items() if c}
        self.K = np.sort(np.concatenate([self.K, np.array(list(fresh), dtype=np.int64)]))

    def claimed(self, what: Claim, theta: list[Fraction] | None) -> Proof | None:
        """The proof, if it checks."""
        last = self.stages[-1]
        return claim(
            self.case.rows,
            what,
            theta=None if theta is None else tuple(shortened(t) for t in theta),
            rows=last.rows,
            weights=last.weights,
            columns=last.columns,
            relations=last.relations,
            earlier=tuple(self.stages[:-1]),
        )


def cancel(weights: list[Fraction], lines: list[tuple[int, ...]]) -> bool:
    """Whether the weighted lines add up to 0."""
    whole = as_integers(weights)
    return not any(sum(w * v for w, v in zip(whole, column, strict=True)) for column in zip(*lines, strict=True))


def shortened(t: Fraction) -> float | Fraction:
    """A float where that is the same number."""
    if t.denominator & (t.denominator - 1) or abs(t) > 2**1000:
        return t
    rounded = float(t)
    return rounded if Fraction(rounded) == t else t
