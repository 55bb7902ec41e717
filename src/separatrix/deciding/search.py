"""One problem on its way to a verdict: tools tried cheapest first, until one yields a proof that checks.

Zero rows and contradictory duplicates; a perceptron with a budget; a sample of the rows where they far outnumber the
columns; the Newton path of `newton`, whose θ are checked as separators and whose slacks as Gordan weights after each
stage; exact arithmetic where the data are small enough, first of all where they are tiny. Whatever is claimed was
checked by `certify` from the raw rows.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certify import Claim, Proof, check
from separatrix.certify.reader import Index, Reader
from separatrix.core.rows import row_norms
from separatrix.data.memory import Problem, Vector
from separatrix.deciding.exact import OutOfTimeError, face
from separatrix.deciding.margin import Bracket
from separatrix.deciding.newton import WIDE, Path, Rows, onto_gordan
from separatrix.deciding.relations import Relations, holds_on, independent_columns
from separatrix.walking.engines.base import Sheet
from separatrix.walking.engines.rowwise import SweepEngine
from separatrix.walking.methods import parse_method

FIRST_SWEEPS = 5  # of the perceptron over all rows
SWEEPS = 20, 200  # over those that matter, at least and at most; D/4 in between, where a Newton step costs D sweeps
TINY = 20_000  # n D min(n, D) up to which exact arithmetic comes first
EXACT, PART = 20_000_000, 50_000  # and up to which it is tried at all: on all rows, on some of them
SAMPLE, ROUNDS = 20, 10  # rows per column in a first sample, and how often it is added to
SNAPSHOTS = 60  # of the perceptron's wrong rows
CORE = 3_000  # rows that still pull of which a problem of their own is made
DENSE = 100_000_000  # entries of which a dense block is made
EARLY, LATE = 1e3, 1e9  # C R² from which slacks are candidates, and from which they are in any shape


class Case:
    """One problem on its way to a verdict."""

    def __init__(self, problem: Problem, deadline: float | None = None, *, part: bool = False) -> None:
        self.problem, self.deadline = problem, deadline
        self.part = part  # of a larger problem: not worth long arithmetic
        self.reader = Reader(problem)
        self.bracket = Bracket(problem)
        self.tool = "none"
        self.steps = 0
        self.last_core = np.empty(0, dtype=np.int64)
        self.lam = np.zeros(problem.n)  # the best weights so far, a guide for exact arithmetic

    @property
    def late(self) -> bool:
        """Whether the time limit has passed."""
        return self.deadline is not None and time.perf_counter() > self.deadline

    @property
    def work(self) -> int:
        """n D min(n, D), what one pass of exact elimination costs."""
        n, D = self.problem.n, self.reader.D
        return n * D * min(n, D)

    def settle(self) -> Proof | None:
        """A proof that the data are separable or that they are not."""
        self.bracket.try_weights(np.ones(self.problem.n))
        tools = [
            ("rows", self.by_rows),
            ("perceptron", self.by_perceptron),
            ("sample", self.by_sample),
            ("newton", self.by_newton),
        ]
        tools.insert(1 if self.work <= TINY else 4, ("exact", self.by_exact))
        for name, tool in tools:
            self.tool = name
            proof = tool()
            if proof is not None:
                return proof
            if self.late:
                break
        self.tool = "none"
        return None

    def claim(self, what: Claim, **parts: Any) -> Proof | None:
        """A proof of these parts if it checks, None otherwise."""
        p = self.problem
        proof = Proof(what, p.n, p.d, p.bias > 0, **parts)
        return proof if check(proof, p) else None

    def by_rows(self) -> Proof | None:
        """Zero rows, and equal rows with opposite labels."""
        p = self.problem
        zero = np.flatnonzero(p.r == 0)
        if len(zero):
            return self.claim(Claim.INSEPARABLE, rows=(int(zero[0]),), weights=(1.0,))
        v = np.random.default_rng(0).standard_normal(p.d + 1)
        h = self.bracket.sheet.margins(v / np.linalg.norm(v)) * np.sign(p.sign)  # one code for every row: equal bits
        order = np.lexsort((p.sign, h))
        same = np.flatnonzero((h[order][1:] == h[order][:-1]) & (p.sign[order][1:] != p.sign[order][:-1]))
        for at in same[:1000]:
            i, j = int(order[at]), int(order[at + 1])
            pair = self.reader.dense(np.array([i, j]), np.arange(self.reader.D))
            if (pair[0] == -pair[1]).all():
                return self.claim(Claim.INSEPARABLE, rows=(min(i, j), max(i, j)), weights=(1.0, 1.0))
        return None

    def separator(self, theta: Vector) -> Proof | None:
        """θ (d + 1 entries) as a proof of separability; its margin goes into the bracket."""
        top = float(abs(theta).max())
        if not 0 < top < np.inf:
            return None
        theta = theta / top
        with np.errstate(over="ignore", invalid="ignore"):
            self.bracket.try_theta(theta)
        return self.claim(Claim.SEPARABLE, theta=tuple(self.problem.unpad(theta).tolist()))

    def by_perceptron(self) -> Proof | None:
        """The row-at-a-time perceptron: some sweeps over all rows, then over those that are wrong or nearly so."""
        p = self.problem
        if p.r.max() > 16 * p.r.min():  # long rows would drown short ones; positive factors change no verdict
            rho = power_of_two(p.r)
            p = replace(p, sign=p.sign * rho, r=p.r * rho)
        sweeps = min(max(self.reader.D // 4, SWEEPS[0]), SWEEPS[1])
        sheet, J = Sheet(p), np.empty(0, dtype=np.int64)
        engine = self.sweep(p, None, FIRST_SWEEPS)
        for _ in range(ROUNDS):
            phi = engine.phi()
            m = sheet.margins(phi / p.scale)
            wrong = np.flatnonzero(m <= 0)
            if len(wrong) == 0:
                return self.separator(phi)
            if self.late or (engine.errors and len(J)):
                break
            near = np.argsort(m / np.maximum(p.r, 1e-300), kind="stable")[: max(p.n // 8, 64)]
            J = np.union1d(J, np.union1d(wrong, near))
            engine = self.sweep(subset(p, J), phi, sweeps)
        proof = self.by_mistakes(engine, J) if engine.errors else None
        if proof is None and not self.late:
            proof = self.by_mistakes(self.sweep(p, engine.phi(), FIRST_SWEEPS), np.arange(p.n))
        return proof

    def sweep(self, p: Problem, phi: Vector | None, sweeps: int) -> SweepEngine:
        """The perceptron on these rows from φ, until they are right or the sweeps are spent."""
        engine = SweepEngine(p, parse_method("perceptron"), phi, lazy=True, seed=0)
        engine.use_threads(1)
        while engine.errors and engine.epoch < sweeps and not self.late:
            engine.advance(1024, True)
        return engine

    def by_mistakes(self, engine: SweepEngine, J: Index) -> Proof | None:
        """Where few rows are still wrong in turn, those rows as a core: a contradiction keeps the perceptron busy."""
        few = min(CORE, self.problem.n // 10)
        culprits = np.empty(0, dtype=np.int64)
        for k in range(SNAPSHOTS):
            wrong = np.flatnonzero(engine.sheet.margins(engine.state.phi) <= 0)
            culprits = np.union1d(culprits, wrong)
            if len(wrong) == 0 and len(J) == self.problem.n:
                return self.separator(engine.phi())
            if len(culprits) > few or engine.errors == 0 or self.late:
                return None
            engine.advance(1 + k // 4, True)  # strides of many lengths: a contradiction walks in a cycle
        return self.by_core(J[culprits])

    def by_newton(self) -> Proof | None:
        """The Newton path on equilibrated rows: its θ as separators, its slacks as Gordan weights."""
        rows = equilibrated(self.problem)
        path = Path(rows)
        with np.errstate(all="ignore"):
            for step in path.walk():
                self.steps = step.steps
                if step.lowest > 0:
                    proof = self.separator(step.theta * rows.kappa)
                    if proof is not None:
                        return proof
                if not np.isfinite(step.theta).all():
                    return None
                if step.end_of_stage:
                    self.lam = step.u * rows.rho
                    self.bracket.try_weights(self.lam)
                    if step.lowest <= 0 and step.reach > EARLY:
                        proof = self.by_weights(rows, step)
                        if proof is not None:
                            return proof
                if self.late:
                    return None
        return None

    def by_weights(self, rows: Rows, step: Path) -> Proof | None:
        """Gordan weights from the slacks, where the rows that pull outnumber the columns; late on, in any case."""
        J = step.active
        core = J[step.u[J] > 0.1 * step.u.max()]  # what pulls hardest: a contradiction among few rows shows here
        if len(core) <= min(CORE, self.problem.n // 10) and not np.array_equal(core, self.last_core):
            self.last_core = core
            proof = self.by_core(core)
            if proof is not None:
                return proof
        if not (len(J) > rows.D or step.reach > LATE) or len(J) * rows.D > DENSE:
            return None
        if rows.D > WIDE:  # the columns that these rows touch may still be few
            return self.by_core(J) if len(J) <= CORE else None
        B, lam = onto_gordan(rows, J, step.u[J], step.normal)
        if len(B) == 0 or not (lam > 0).all():
            return None
        return self.weights_proof(B, lam * rows.rho[B], *independent_columns(self.reader, B))

    def weights_proof(self, B: Index, lam: Vector, K: Index, relations: Relations) -> Proof | None:
        """Weights λ_B with their columns as a proof, of overlap where the relations hold in every row."""
        lam = lam / lam.max()
        everywhere = bool(holds_on(self.reader, K, relations).all())
        parts: dict[str, Any] = {
            "rows": tuple(B.tolist()),
            "weights": tuple(lam.tolist()),
            "columns": tuple(K.tolist()),
            "relations": relations,
        }
        return self.claim(Claim.OVERLAP if everywhere else Claim.INSEPARABLE, **parts)

    def by_sample(self) -> Proof | None:
        """Where rows far outnumber columns, some of them: no θ separates them, or one does and shows which to add."""
        p, D = self.problem, self.reader.D
        if p.n < 2 * SAMPLE * D or p.sparse:
            return None
        J = np.arange(0, p.n, p.n // (SAMPLE * D))
        for _ in range(ROUNDS):
            core, columns = part_of(p, J)
            proof = None if core is None else Case(core, self.deadline, part=True).settle()
            if proof is None or self.late:
                return None
            if proof.claim is not Claim.SEPARABLE or proof.theta is None:
                return self.whole_of(proof, J, columns)
            theta = np.zeros(p.d + 1)
            theta[:D] = [float(t) for t in proof.theta]
            m = self.bracket.sheet.margins(theta)
            wrong = np.flatnonzero(m <= 0)
            if len(wrong) == 0:
                return self.separator(theta)
            worst = wrong[np.argsort(m[wrong] / np.maximum(p.r[wrong], 1e-300), kind="stable")[: SAMPLE * D // 2]]
            J = np.union1d(J, worst)
            if len(J) > p.n // 2:
                break
        return None

    def by_core(self, J: Index) -> Proof | None:
        """The rows that still pull as a problem of their own: if no θ separates them, none separates all."""
        core, columns = part_of(self.problem, J)
        if core is None or core.n * core.d > DENSE:
            return None
        proof = Case(core, self.deadline, part=True).settle()
        return None if proof is None else self.whole_of(proof, J, columns)

    def whole_of(self, proof: Proof, J: Index, columns: Index) -> Proof | None:
        """A proof that the rows J on these columns are inseparable as one about all rows and columns."""
        if proof.claim is Claim.SEPARABLE or proof.rows is None:
            return None
        parts: dict[str, Any] = {"rows": tuple(int(J[i]) for i in proof.rows), "weights": proof.weights}
        if proof.columns is not None:
            at = {j: int(c) for j, c in enumerate(columns)}
            relations = {at[j]: {at[k]: c for k, c in terms.items()} for j, terms in proof.relations.items()}
            parts |= {"columns": tuple(at[j] for j in proof.columns), "relations": relations}
            if proof.claim is Claim.OVERLAP and not self.problem.sparse:
                overlap = self.claim(Claim.OVERLAP, **parts)
                if overlap is not None:
                    return overlap
        return self.claim(Claim.INSEPARABLE, **parts)

    def by_exact(self) -> Proof | None:
        """Rational simplex on all rows: settles everything, at a price."""
        if self.work > (min(EXACT, PART) if self.part else EXACT):
            return None
        order = np.argsort(-self.lam, kind="stable")  # rows with weight first: the simplex enters in this order
        Z = [self.reader.integers(int(i), np.arange(self.reader.D)) for i in order]
        try:
            theta, lam = face(Z, self.deadline)
        except OutOfTimeError:
            return None
        return self.from_face(theta, weights_of(self.reader, order, Z, lam))

    def from_face(self, theta: list[Fraction], lam: list[Fraction]) -> Proof | None:
        """The strictly complementary pair as a proof of its kind."""
        rows = tuple(i for i, w in enumerate(lam) if w)
        weights = tuple(lam[i] for i in rows)
        with np.errstate(over="ignore", invalid="ignore"):
            self.bracket.try_weights(np.array([float(min(w, Fraction(10) ** 300)) for w in lam]))
        if not rows:
            big = max(abs(t) for t in theta)
            scaled = [t / big for t in theta]
            vector = np.zeros(self.problem.d + 1)
            vector[: len(scaled)] = [float(t) for t in scaled]
            # Floats make the smaller proof. This vertex of the cone may not survive rounding where a point inside does.
            return self.separator(vector) or self.by_newton() or self.claim(Claim.SEPARABLE, theta=tuple(scaled))
        if len(rows) == self.problem.n:
            return self.claim(Claim.OVERLAP, rows=rows, weights=weights)
        return self.claim(Claim.QUASI_COMPLETE, theta=tuple(theta), rows=rows, weights=weights)


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


def power_of_two(sizes: Vector) -> Vector:
    """Powers of two that bring these sizes to between ½ and 1; 1 for zero."""
    power = np.clip(np.frexp(np.where(sizes > 0, sizes, 1.0))[1], -1000, 1000)
    return np.where(sizes > 0, np.ldexp(1.0, -power), 1.0)


def equilibrated(problem: Problem) -> Rows:
    """Rows of length about 1 and columns of size about 1, by powers of two; as they are where they are even."""
    rho = power_of_two(problem.r)
    size = np.zeros(problem.d + 1)
    for lo in range(0, problem.n, 2048):
        part = slice(lo, min(lo + 2048, problem.n))
        scale = abs(problem.sign[part]) * rho[part]
        if problem.sparse:
            from scipy.sparse import csr_array, diags_array

            A = diags_array(scale) @ csr_array(problem.rows, shape=(problem.n, problem.d))[part].astype(np.float64)
            top = abs(A).max(axis=0).toarray().ravel()
        else:
            with np.errstate(over="ignore"):
                top = (abs(problem.rows[0][part]) * scale[:, None]).max(axis=0)
        size[:-1] = np.maximum(size[:-1], top)
        size[-1] = max(size[-1], float(scale.max()) * problem.bias)
    used = size[size > 0]
    if len(used) and used.min() * 1024 > used.max() and problem.r.min() * 1024 > problem.r.max():
        return Rows(problem)
    return Rows(problem, rho, power_of_two(size))


def part_of(problem: Problem, J: Index) -> tuple[Problem | None, Index]:
    """The rows J as a dense problem on the columns they touch; with the number of each such column."""
    reader = Reader(problem)
    if problem.sparse:
        used = np.unique(reader.X[J].indices).astype(np.int64)
        columns = np.concatenate([used, np.arange(problem.d, reader.D)])
    else:
        columns = np.arange(reader.D)
    if len(J) * len(columns) > DENSE or len(columns) == 0:
        return None, columns
    Z = reader.dense(J, columns)
    return rows_problem(Z, problem.classes), columns


def subset(problem: Problem, J: Index) -> Problem:
    """The rows J of a problem, as they are stored."""
    if problem.sparse:
        from scipy.sparse import csr_array

        part = csr_array(problem.rows, shape=(problem.n, problem.d))[J]
        rows: tuple[Any, ...] = (part.data, part.indices, part.indptr)
    else:
        rows = (problem.rows[0][J],)
    for array in rows:
        array.flags.writeable = False
    return replace(problem, rows=rows, sign=problem.sign[J], weight=problem.weight[J], r=problem.r[J])


def rows_problem(Z: Vector, classes: Any) -> Problem:
    """Rows z_i given as they are, all of sign +1 and without an intercept of their own."""
    Z = np.ascontiguousarray(Z)
    Z.flags.writeable = False
    r, ones = np.empty(len(Z)), np.ones(len(Z))
    row_norms((Z,), r)
    return Problem((Z,), ones, ones, r, 1.0, 0.0, classes, Z.shape[1])
