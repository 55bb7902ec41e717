"""The search for a verdict: a table of tools, tried in order under one budget until one yields a proof that checks.

Zero rows and contradictory duplicates; a perceptron with few sweeps; a sample of the rows where they far outnumber the
columns; a strictly complementary pair in floats (`pair`), of which linear algebra makes a proof; where rows are too
many or too sparse for that the Newton path of `newton`, whose θ are checked as separators and whose slacks as Gordan
weights after each stage; exact arithmetic where the data are small enough, first of all where they are tiny. Each tool
is a function of the case, to a proof or to nothing; one that fails may leave a better bracket, better weights and the
pair for those after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.reader import Reader
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
from separatrix.deciding.budget import UNLIMITED, Budget, Tell, untold
from separatrix.deciding.claims import (
    claim,
    claim_of_all,
    claim_quasi_complete,
    claim_separator,
    claim_weights,
    part_of,
    weights_of,
)
from separatrix.deciding.exact import Effort, OutOfTimeError, face, kernel_pair
from separatrix.deciding.lifting import near_theta, near_weights
from separatrix.deciding.margin import Bracket
from separatrix.deciding.newton import WIDE, NewtonPath, onto_gordan
from separatrix.deciding.pair import Pair, complementary_pair
from separatrix.deciding.relations import independent_columns
from separatrix.deciding.scaling import ScaledRows, equilibrated, unit_powers
from separatrix.walking.engines.perceptron import SweepEngine
from separatrix.walking.methods import parse_method

FIRST_SWEEPS = 5  # of the perceptron over all rows
SWEEPS = 20, 200  # over those that matter, at least and at most; D/4 in between, where a Newton step costs D sweeps
SAMPLE, ROUNDS = 20, 10  # rows per column in a first sample, and how often it is added to
SNAPSHOTS = 60  # of the perceptron's wrong rows
SHORT, LOOKED_AT = 2**32, 20  # whole numbers below are short, and rows that tell
KERNEL = 300  # rows up to which a square system is solved exactly
CORE = 3_000  # rows that still pull of which a problem of their own is made
WHITENED, WHITENING = 30_000_000, 30_000_000_000  # entries up to which all rows are whitened, and products
LARGE = 1_000_000_000  # n D min(n, D) from which the Newton path comes before
EARLY, LATE = 1e3, 1e9  # C R² from which slacks are candidates, and from which they are in any shape


class Case:
    """Rows under decision: what is known of them so far, and what it may cost to know more."""

    def __init__(self, rows: HeldRows, budget: Budget = UNLIMITED, tell: Tell = untold) -> None:
        self.rows, self.budget, self.tell = rows, budget, tell
        self.reader = Reader(rows)
        self.bracket = Bracket(rows)
        self.lam = np.zeros(rows.n)  # the best weights so far, a guide for exact arithmetic
        self.steps = 0  # of Newton's path
        self.pair: Pair | None = None
        self.walked = False  # the Newton path, to its end
        self.climbed = False  # to a vertex, and what it shows
        self.vertex: Proof | Pair | None = None

    @cached_property
    def scaled(self) -> ScaledRows:
        """The rows equilibrated."""
        return equilibrated(self.rows)

    @property
    def work(self) -> int:
        """n D min(n, D), what one pass of exact elimination costs."""
        n, D = self.rows.n, self.reader.D
        return n * D * min(n, D)


@dataclass(frozen=True)
class Tool:
    """A way to a proof; `whole` tools look at all rows together, and facial reduction after them costs little more."""

    name: str
    find: Callable[[Case], Proof | None]
    whole: bool = False


def settle(case: Case) -> tuple[Proof | None, Tool]:
    """A proof that the rows are separable or that they are not, and the tool that found it."""
    case.bracket.try_weights(np.ones(case.rows.n))
    for tool in TOOLS:
        case.tell(tool.name)
        if (proof := tool.find(case)) is not None:
            return proof, tool
        if case.budget.late:
            break
    return None, UNSETTLED


def by_rows(case: Case) -> Proof | None:
    """Zero rows, and equal rows with opposite labels."""
    p = case.rows
    zero = np.flatnonzero(p.r == 0)
    if len(zero):
        return claim(p, Claim.INSEPARABLE, rows=(int(zero[0]),), weights=(1.0,))
    v = np.random.default_rng(0).standard_normal(p.d + 1)
    h = case.bracket.sheet.margins(v / np.linalg.norm(v)) * np.sign(p.sign)  # one code for every row: equal bits
    order = np.lexsort((p.sign, h))
    same = np.flatnonzero((h[order][1:] == h[order][:-1]) & (p.sign[order][1:] != p.sign[order][:-1]))
    for at in same[:1000]:
        i, j = int(order[at]), int(order[at + 1])
        pair = case.reader.dense(np.array([i, j]), np.arange(case.reader.D))
        if (pair[0] == -pair[1]).all():
            return claim(p, Claim.INSEPARABLE, rows=(min(i, j), max(i, j)), weights=(1.0, 1.0))
    return None


def separator(case: Case, theta: Vector) -> Proof | None:
    """θ (d + 1 entries) as a proof of separability; its margin goes into the bracket."""
    top = float(abs(theta).max())
    if not 0 < top < np.inf:
        return None
    theta = theta / top
    with np.errstate(over="ignore", invalid="ignore"):
        case.bracket.try_theta(theta)
    return claim_separator(case.rows, theta)


@np.errstate(over="ignore", invalid="ignore")  # rows near the ends of float64: φ that left it is no start
def by_perceptron(case: Case) -> Proof | None:
    """The row-at-a-time perceptron: some sweeps over all rows, then over those that are wrong or nearly so."""
    p, budget = case.rows, case.budget
    if p.r.max() > 16 * p.r.min():  # long rows would drown short ones; positive factors change no verdict
        rho = unit_powers(p.r)
        p = replace(p, sign=p.sign * rho, r=p.r * rho)
    sweeps = min(max(case.reader.D // 4, SWEEPS[0]), SWEEPS[1])
    sheet, J = Sheet(p), np.empty(0, dtype=np.int64)
    engine = swept(p, None, FIRST_SWEEPS, budget)
    for _ in range(ROUNDS):
        phi = engine.phi()
        if not np.isfinite(phi).all():
            return None
        m = sheet.margins(phi / p.scale)
        wrong = np.flatnonzero(m <= 0)
        if len(wrong) == 0:
            return separator(case, phi)
        if budget.late or (engine.errors != 0 and len(J)):
            break
        near = np.argsort(m / np.maximum(p.r, 1e-300), kind="stable")[: max(p.n // 8, 64)]
        J = np.union1d(J, np.union1d(wrong, near))
        engine = swept(p.part(J), phi, sweeps, budget)
    proof = by_mistakes(case, engine, J) if engine.errors != 0 else None
    if proof is None and not budget.late and np.isfinite(phi := engine.phi()).all():
        proof = by_mistakes(case, swept(p, phi, FIRST_SWEEPS, budget), np.arange(p.n))
    return proof


def swept(rows: HeldRows, phi: Vector | None, sweeps: int, budget: Budget) -> SweepEngine:
    """The perceptron on these rows from φ, until they are right or the sweeps are spent."""
    engine = SweepEngine(rows, parse_method("perceptron"), phi, lazy=True, seed=0, watching=False)
    engine.use_threads(1)
    while engine.errors != 0 and engine.epoch < sweeps and not budget.late:
        engine.advance(1024, True)
    return engine


def by_mistakes(case: Case, engine: SweepEngine, J: Index) -> Proof | None:
    """Where few rows are still wrong in turn, those rows as a core: a contradiction keeps the perceptron busy."""
    few = min(CORE, case.rows.n // 10)
    culprits = np.empty(0, dtype=np.int64)
    for k in range(SNAPSHOTS):
        wrong = np.flatnonzero(engine.sheet.margins(engine.state.phi) <= 0)
        culprits = np.union1d(culprits, wrong)
        if len(wrong) == 0 and len(J) == case.rows.n:
            return separator(case, engine.phi())
        if len(culprits) > few or engine.errors == 0 or case.budget.late:
            return None
        engine.advance(1 + k // 4, True)  # strides of many lengths: a contradiction walks in a cycle
    return by_core(case, J[culprits])


def by_core(case: Case, J: Index) -> Proof | None:
    """The rows that still pull as a problem of their own: if no θ separates them, none separates all."""
    core, columns = part_of(case.rows, J, case.budget) if len(J) < case.rows.n else (None, J)
    if core is None:
        return None
    proof, _ = settle(Case(core, case.budget.for_part()))
    return None if proof is None else claim_of_all(case.rows, proof, J, columns)


def by_sample(case: Case) -> Proof | None:
    """Where rows far outnumber columns, some of them: no θ separates them, or one does and shows which to add."""
    p, D = case.rows, case.reader.D
    if p.n < 2 * SAMPLE * D or p.sparse:
        return None
    J = np.arange(0, p.n, p.n // (SAMPLE * D))
    for _ in range(ROUNDS):
        core, columns = part_of(p, J, case.budget)
        proof = None if core is None else settle(Case(core, case.budget.for_part()))[0]
        if proof is None or case.budget.late:
            return None
        if proof.claim is not Claim.SEPARABLE or proof.theta is None:
            return claim_of_all(p, proof, J, columns)
        theta = np.zeros(p.d + 1)
        theta[:D] = [float(t) for t in proof.theta]
        m = case.bracket.sheet.margins(theta)
        wrong = np.flatnonzero(m <= 0)
        if len(wrong) == 0:
            return separator(case, theta)
        worst = wrong[np.argsort(m[wrong] / np.maximum(p.r[wrong], 1e-300), kind="stable")[: SAMPLE * D // 2]]
        J = np.union1d(J, worst)
        if len(J) > p.n // 2:
            break
    return None


def by_pair(case: Case) -> Proof | None:
    """A strictly complementary pair of all rows, and what can be proven of it."""
    pair = pair_of(case)
    return None if pair is None else from_pair(case, pair)


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite, and is checked
def pair_of(case: Case) -> Pair | None:
    """The pair in floats, once; None where whitening all rows costs too much, or floats do not settle it."""
    n, D = case.rows.n, case.reader.D
    if case.pair is None and n * D <= WHITENED and n * D * min(n, D) <= case.budget.affordable(WHITENING):
        case.pair = complementary_pair(case.scaled.block(np.arange(n)), case.budget)
    return case.pair


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite, and is checked
def from_pair(case: Case, pair: Pair) -> Proof | None:
    """A proof with the pair's two sets: what is left is linear algebra, exact where columns depend on each other."""
    rows, reader, scaled = case.rows, case.reader, case.scaled
    theta = np.zeros(rows.d + 1)
    theta[: reader.D] = pair.theta * scaled.kappa[: reader.D]
    if not pair.face.any():
        return separator(case, theta)
    B = np.flatnonzero(pair.lam)
    lam = pair.lam[B] * scaled.rho[B]
    case.lam = np.zeros(rows.n)
    case.lam[B] = lam
    case.bracket.try_weights(case.lam)
    if reader.D > len(B) > 1:  # more columns than rows would be more relations than are worth it
        return lifted(case, pair, B, lam, theta[: reader.D])
    K, relations = independent_columns(reader, B, budget=case.budget)
    if case.budget.late or len(B) * len(K) ** 2 > case.budget.affordable(WHITENING):
        return None
    proof = claim_weights(reader, rows, B, lam, K, relations)
    if proof is None and len(pair.kept) - pair.cone.shape[1] == len(K):  # too ill-conditioned for floats
        return lifted(case, pair, B, lam, theta[: reader.D])
    if proof is None or proof.claim is Claim.OVERLAP or pair.face.all():
        return proof
    return claim_quasi_complete(reader, rows, proof, theta[: reader.D], K, relations) or proof


def lifted(case: Case, pair: Pair, B: Index, lam: Vector, theta: Vector) -> Proof | None:
    """The pair as a proof by rational solutions near it."""
    rows = case.rows
    rank = len(pair.kept) - pair.cone.shape[1]
    weights = near_weights(case.reader, B, lam, rank)
    if weights is None or not all(w > 0 for w in weights):
        return None
    parts: dict[str, Any] = {"rows": tuple(B.tolist()), "weights": tuple(weights)}
    if rank == case.reader.D:  # on all columns, which are independent: no θ but 0 is 0 on these rows
        return claim(rows, Claim.OVERLAP, columns=tuple(range(rank)), **parts)
    proof = claim(rows, Claim.OVERLAP if len(B) == rows.n else Claim.INSEPARABLE, **parts)
    if proof is None or not np.array_equal(B, np.flatnonzero(pair.face)) or len(B) == rows.n:
        return proof
    exact = near_theta(case.reader, B, theta, rank)
    if exact is None or not (case.reader.signs(exact, np.flatnonzero(~pair.face)) > 0).all():
        return proof
    return claim(rows, Claim.QUASI_COMPLETE, theta=tuple(exact), **parts) or proof


def by_newton(case: Case) -> Proof | None:
    """The Newton path on equilibrated rows: its θ as separators, its slacks as Gordan weights."""
    if case.pair is not None or case.walked:
        return None  # whitened rows say more, and the path is the same
    rows, case.walked = case.scaled, True
    tried = np.empty(0, dtype=np.int64)  # the last core
    with np.errstate(all="ignore"):
        for step in NewtonPath(rows).steps_on():
            case.steps = step.steps
            if step.lowest > 0:
                proof = separator(case, step.theta * rows.kappa)
                if proof is not None:
                    return proof
            if not np.isfinite(step.theta).all():
                return None
            if step.end_of_stage:
                case.lam = step.u * rows.rho
                case.bracket.try_weights(case.lam)
                if step.lowest <= 0 and step.reach > EARLY:
                    core = hardest(step)
                    proof = None
                    if len(core) <= min(CORE, case.rows.n // 10) and not np.array_equal(core, tried):
                        tried = core
                        proof = by_core(case, core)
                    proof = proof or by_weights(case, rows, step)
                    if proof is not None:
                        return proof
            if case.budget.late:
                return None
    return None


def newton_if_large(case: Case) -> Proof | None:
    """The path first where whitening all rows would cost as much as all of it."""
    return by_newton(case) if case.work > LARGE else None


def hardest(step: NewtonPath) -> Index:
    """What pulls hardest: a contradiction among few rows shows here."""
    J = step.active
    hard: Index = J[step.u[J] > 0.1 * step.u.max()]
    return hard


def by_weights(case: Case, rows: ScaledRows, step: NewtonPath) -> Proof | None:
    """Gordan weights from the slacks, where the rows that pull outnumber the columns; late on, in any case."""
    J = step.active
    if not (len(J) > rows.D or step.reach > LATE) or len(J) * rows.D > case.budget.entries:
        return None
    if rows.D > WIDE:  # the columns that these rows touch may still be few
        return by_core(case, J) if len(J) <= CORE else None
    B, lam = onto_gordan(rows, J, step.u[J], step.normal)
    if len(B) == 0 or not (lam > 0).all():
        return None
    K, relations = independent_columns(case.reader, B, budget=case.budget)
    return claim_weights(case.reader, case.rows, B, lam * rows.rho[B], K, relations)


def by_exact(case: Case) -> Proof | None:
    """Rational simplex on all rows: settles everything, at a price; on more rows of short numbers, with some effort."""
    effort = None if case.work <= case.budget.exact else Effort(case.budget.short)
    if effort is not None and (case.budget.short == 0 or case.work > case.budget.last or not are_short(case)):
        return None
    order = np.argsort(-case.lam, kind="stable")  # rows with weight first: the simplex enters in this order
    Z = [case.reader.integers(int(i), np.arange(case.reader.D)) for i in order]
    try:
        theta, lam = face(Z, case.budget.deadline, effort)
    except OutOfTimeError:
        return None
    return from_face(case, theta, weights_of(case.reader, order, Z, lam))


def are_short(case: Case) -> bool:
    """Whether rows are of short numbers, as far as a few of them tell."""
    every = np.arange(case.reader.D)
    return all(
        abs(v) < SHORT for i in range(min(case.rows.n, LOOKED_AT)) for v in case.reader.integers(i, every)
    )


def from_face(case: Case, theta: list[Fraction], lam: list[Fraction]) -> Proof | None:
    """The strictly complementary pair as a proof of its kind."""
    p = case.rows
    rows = tuple(i for i, w in enumerate(lam) if w)
    weights = tuple(lam[i] for i in rows)
    with np.errstate(over="ignore", invalid="ignore"):
        case.bracket.try_weights(np.array([float(min(w, Fraction(10) ** 300)) for w in lam]))
    if not rows:
        big = max(abs(t) for t in theta)
        scaled = [t / big for t in theta]
        vector = np.zeros(p.d + 1)
        vector[: len(scaled)] = [float(t) for t in scaled]
        # Floats make the smaller proof. This vertex of the cone may not survive rounding where a point inside does.
        return separator(case, vector) or by_pair(case) or claim(p, Claim.SEPARABLE, theta=tuple(scaled))
    if len(rows) == p.n:
        return claim(p, Claim.OVERLAP, rows=rows, weights=weights)
    return claim(p, Claim.QUASI_COMPLETE, theta=tuple(theta), rows=rows, weights=weights)


def exact_if_tiny(case: Case) -> Proof | None:
    """Exact arithmetic where it costs next to nothing."""
    return by_exact(case) if case.work <= case.budget.tiny else None


def exact_if_larger(case: Case) -> Proof | None:
    """Exact arithmetic where nothing else has settled it."""
    return by_exact(case) if case.work > case.budget.tiny else None


def by_kernel(case: Case) -> Proof | None:
    """At most one row more than unknowns: the only weights there can be, or none, by one exact system."""
    n, D = case.rows.n, case.reader.D
    if not n <= D + 1 or n > KERNEL or case.rows.sparse:
        return None
    every = np.arange(n)
    Z = [case.reader.integers(i, np.arange(D)) for i in range(n)]
    found = kernel_pair(Z, case.reader.dense(every, np.arange(D)))
    return None if found is None else from_face(case, found[0], weights_of(case.reader, every, Z, found[1]))


UNSETTLED = Tool("none", lambda case: None)
TOOLS = (
    Tool("rows", by_rows),
    Tool("exact", exact_if_tiny),
    Tool("perceptron", by_perceptron),
    Tool("sample", by_sample, whole=True),
    Tool("newton", newton_if_large, whole=True),
    Tool("pair", by_pair, whole=True),
    Tool("newton", by_newton, whole=True),
    Tool("kernel", by_kernel),
    Tool("exact", exact_if_larger),
)
