"""Complete, quasi-complete or overlap, with proof: facial reduction from one set of Gordan weights."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.reader import Reader, nearest
from separatrix.data.memory import HeldRows, hold_signed
from separatrix.data.rows import Index, Vector
from separatrix.deciding.boundary import Evidence, evidence_of, untouched
from separatrix.deciding.budget import Budget
from separatrix.deciding.claims import claim_quasi_complete, claim_weights
from separatrix.deciding.pair import EVEN, Pair
from separatrix.deciding.panels import cholesky
from separatrix.deciding.relations import Relations, holds_on, independent_columns
from separatrix.deciding.scaling import Matrix, equilibrated
from separatrix.deciding.search import LARGE, Case, by_core, by_exact, by_kernel, by_pair, pair_of, settle
from separatrix.deciding.tied import reduce_tied
from separatrix.deciding.vertex import by_vertex


def prove_kind(case: Case) -> Proof | None:
    """A proof of the kind: separable (complete), quasi-complete or overlap; else what was proven, or nothing."""
    if case.work <= case.budget.tiny:
        return by_exact(case)
    return reduce_tied(case, _any_kind) or _any_kind(case)


def _any_kind(case: Case) -> Proof | None:
    """The same by the tools for rows of any kind."""
    if case.work <= case.budget.tiny:
        return by_exact(case)
    proof, _ = settle(case)
    return proof if proof is None else whole_kind(case, proof)


def whole_kind(case: Case, proof: Proof) -> Proof:
    """From a proof that no θ separates to one of the kind, where it can be had; other proofs as they are."""
    if proof.claim is not Claim.INSEPARABLE:
        return proof
    pair = None if case.work > LARGE else pair_of(case)  # where rows are many the proof at hand is the cheaper start
    better = reduce_face(case.rows, proof, case.budget) if pair is None else None
    for tool in (by_pair, by_kernel, by_exact):
        if better is not None and better.claim is not Claim.INSEPARABLE:
            return better
        better = tool(case)
    return better or proof


def last_resort(case: Case) -> Proof | None:
    """Rational arithmetic where neither floats nor linear algebra settled it: as long as it takes."""
    if case.budget.late or case.budget.last == 0:
        return None
    proof = vertex_of(case)
    if not isinstance(proof, Proof):
        proof = by_vertex(case, every=True)
    if isinstance(proof, Proof) and proof.claim is Claim.INSEPARABLE:
        proof = reduce_face(case.rows, proof, case.budget)
    if isinstance(proof, Proof):
        return proof
    case.budget = replace(case.budget, exact=case.budget.last)
    return by_exact(case)


def evidence_in(case: Case, proof: Proof | None) -> Evidence | None:
    """Where the kind is not proven and need not be: what is true to the precision of the numbers."""
    if case.budget.insist or (proof is not None and proof.claim is not Claim.INSEPARABLE) or case.budget.late:
        return None
    found = _evidence(case)
    if found is None and isinstance(pair := vertex_of(case), Pair):
        case.pair = pair
        found = _evidence(case)
    return found


def vertex_of(case: Case) -> Proof | Pair | None:
    """A vertex and what it shows, once."""
    if not case.climbed:
        case.climbed, case.vertex = True, by_vertex(case)
    return case.vertex


def proof_beside(case: Case, evidence: Evidence) -> Proof | None:
    """A proof that no θ separates from rows that no last digit moves, if there is one: it comes before evidence."""
    still = untouched(case.rows, evidence)
    return by_core(case, still) if len(still) > 1 else None


def evidence_beside(case: Case, proof: Proof) -> Evidence | None:
    """Where last digits decided: what is true to the precision of the numbers, if that is something else."""
    found = None if case.budget.late else _evidence(case)
    return None if found is None or found.claim is proof.claim else found


def _evidence(case: Case) -> Evidence | None:
    pair = pair_of(case)
    return None if pair is None else evidence_of(case.rows, pair, case.scaled)


def reduce_face(rows: HeldRows, proof: Proof, budget: Budget) -> Proof | None:
    """From a proof that no θ separates to one of quasi-completeness or of overlap."""
    return Face(rows, proof, budget).reduce()


class Face:
    """Facial reduction: from rows B that some λ ties to zero to all such rows, then a θ that is positive on the rest.

    Every θ with Zθ ≥ 0 is zero on B. With K the columns that span Z_B and Z_BN = Z_BK M, such θ have θ_K = -Mθ_N; the
    rows where z_iN = z_iK M are zero as well, the others are z_iN - z_iK M in the unknowns θ_N alone. If those can be
    separated the data are quasi-complete; if not, B grows.
    """

    def __init__(self, rows: HeldRows, proof: Proof, budget: Budget) -> None:
        self.rows, self.reader, self.first, self.budget = rows, Reader(rows), proof, budget
        self.B = np.array(proof.rows, dtype=np.int64)
        self.lam = proof.float_weights

    def reduce(self) -> Proof | None:
        """A proof of quasi-completeness or of overlap."""
        reader, budget = self.reader, self.budget
        shown = spanning(self.first)
        for _ in range(reader.D):
            if budget.late:
                return None
            K, relations = shown or independent_columns(reader, self.B, budget=budget)
            shown = None
            rest = np.flatnonzero(~holds_on(reader, K, relations))
            if len(rest) == 0:
                return claim_weights(reader, self.rows, self.B, self.lam, K, relations)
            N = np.setdiff1d(np.arange(reader.D), K)
            if len(rest) * reader.D > budget.entries:
                return None
            M = np.zeros((len(K), len(N)))
            for j, terms in relations.items():
                for k, c in terms.items():
                    M[np.searchsorted(K, k), np.searchsorted(N, j)] = nearest(c)
            Z = reader.dense(rest, N) - (reader.dense(rest, K) @ M if M.any() else 0.0)
            proof, _ = settle(Case(hold_signed(Z, self.rows.classes), budget))
            if proof is None:
                return None
            if proof.claim is Claim.SEPARABLE:
                theta = np.zeros(reader.D)
                theta[N] = [float(t) for t in proof.theta or ()]
                return claim_quasi_complete(reader, self.rows, self.tied(K, relations), theta, K, relations)
            if not self.grow(rest[list(proof.rows or ())], proof.float_weights, K):
                return None
        return None

    def tied(self, K: Index, relations: Relations) -> Proof:
        """The weights of all rows tied so far as a proof, which shows the whole face; else that of the first ones."""
        if len(self.B) == len(self.first.rows or ()):
            return self.first
        return claim_weights(self.reader, self.rows, self.B, self.lam, K, relations) or self.first

    def grow(self, E: Index, lam: Vector, K: Index) -> bool:
        """Join rows E to B: their λ solve the columns outside K, and λ_B gives way so that K is solved too."""
        rows = equilibrated(self.rows)
        A, pull = rows.block(self.B)[:, K], rows.block(E)[:, K].T @ (lam / rows.rho[E])
        held = self.lam / rows.rho[self.B]
        change = A @ _solved(A.T @ A, np.column_stack([A.T @ held, pull]))
        held = held - change[:, 0]
        with np.errstate(divide="ignore"):
            share = 0.5 * float(np.min(np.where(change[:, 1] > 0, held / change[:, 1], np.inf)))
        share = min(share, float(held.max()) / float((lam / rows.rho[E]).max()))
        found = np.concatenate([held - share * change[:, 1], share * lam / rows.rho[E]])
        both = np.concatenate([self.B, E])
        order = np.argsort(both)
        self.B, self.lam = both[order], (found * rows.rho[both])[order]
        return bool((found > 0).all())


def spanning(proof: Proof) -> tuple[Index, Relations] | None:
    """Columns that the proof has shown to span all columns on its rows, and the others as combinations of them."""
    if proof.columns is None:
        return None
    relations = {j: {k: Fraction(c) for k, c in terms.items()} for j, terms in proof.relations.items()}
    return np.array(proof.columns, dtype=np.int64), relations


def _solved(H: Matrix, b: Matrix) -> Matrix:
    """Hx = b, H symmetric: by Cholesky where pivots are even, a tenth of what least squares take."""
    from scipy.linalg import cho_solve, lstsq

    try:
        factor = cholesky(H.copy())
        pivots = factor[0].diagonal()
        if pivots.min() > EVEN * pivots.max():
            return np.asarray(cho_solve(factor, b, check_finite=False))
    except np.linalg.LinAlgError:
        pass
    return np.asarray(lstsq(H, b)[0])
