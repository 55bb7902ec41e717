"""Deciding on rows that are elsewhere, by a set of them in memory that grows.

Of any rows W, a margin of W bounds that of all rows from above, and weights that prove W inseparable prove it of all.
The widest separator of W is held against all rows, shard by shard: its smallest margin is a bound from below. Rows it
gets most wrong join W, until the two bounds meet or W cannot be separated. Only margins are asked of the shards; no
matrix of theirs is ever formed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf, nextafter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof, check
from separatrix.certify.reader import Reader
from separatrix.core.constants import SPACING
from separatrix.data.memory import HeldRows, hold
from separatrix.data.rows import Index, Rows, Vector
from separatrix.deciding.boundary import ROUNDING, Evidence, shares
from separatrix.deciding.budget import Budget
from separatrix.deciding.claims import claim
from separatrix.deciding.fragile import is_fragile, survives
from separatrix.deciding.kind import evidence_in, proof_beside
from separatrix.deciding.margin import Gauge, Margin, MarginStatus, Progress, find_margin, in_units, unit_vector
from separatrix.deciding.search import Case, settle

FIRST = 20  # rows per column in the first set, at least 2,000 in all
JOIN = 2_000  # rows that join in a round
FEW = 1  # rows of each class from every piece
ROUNDS = 200


class Found(NamedTuple):
    """What a piece of the rows says of θ."""

    wrong: int
    low: float  # the smallest margin, rounded down, 0 where it is not positive
    number: Index  # of the rows with the smallest margins, from 0 over all rows
    m: Vector
    raw: NDArray[Any]
    sign: NDArray[np.int8]


def sample(first: int, piece: HeldRows, share: float) -> Found:
    """An even share of the rows, a fixed one, and some of each class in any case."""
    drawn = np.random.default_rng(first).random(piece.n) < share
    few = [np.flatnonzero(piece.sign * side > 0)[:FEW] for side in (1, -1)]
    pick = np.union1d(np.flatnonzero(drawn), np.concatenate(few))
    return _found(first, piece, pick, np.zeros(len(pick)), 0, 0.0)


def worst(first: int, piece: HeldRows, theta: Vector, count: int, below: float) -> Found:
    """The rows with the smallest margins, of those below `below`."""
    gauge = Gauge(piece)
    with np.errstate(over="ignore", invalid="ignore"):
        m = gauge.margins(theta)
        low = gauge.lowest(theta, m, slice(None))
    low = gauge.below(low) if low > 0 else 0.0
    pick = np.argpartition(m, count)[:count] if piece.n > count else np.arange(piece.n)
    pick = np.sort(pick[m[pick] * gauge.unit < below])
    return _found(first, piece, pick, m[pick] * gauge.unit, int((m <= 0).sum()), low)


def _found(first: int, piece: HeldRows, pick: Index, m: Vector, wrong: int, low: float) -> Found:
    sign = np.sign(piece.sign[pick]).astype(np.int8)
    return Found(wrong, low, first + pick, m, piece.raw(pick), sign)


def least_sturdy(first: int, piece: HeldRows, theta: Vector) -> bool:
    """Whether θ keeps every row on its right side whatever happens to rounded entries."""
    return survives(Reader(piece), theta, np.arange(piece.n))


class WorkingSet:
    """W, and what is known of all rows."""

    def __init__(self, rows: Rows, budget: Budget) -> None:
        self.rows, self.budget = rows, budget
        self.numbers = np.empty(0, dtype=np.int64)
        self.raw: NDArray[Any] = np.empty((0, rows.d), dtype=np.float32)
        self.sign = np.empty(0, dtype=np.int8)
        self.lower, self.theta, self.fewest = 0.0, np.zeros(rows.d + bool(rows.bias)), rows.n + 1
        longest = nextafter(rows.R * (1.0 + (rows.d + 8) * SPACING), inf)
        self.upper, self.weights, self.at = longest, np.empty(0), np.empty(0, dtype=np.int64)
        self.rounds = 0
        self.join(rows.map(sample, min(1.0, max(2_000, FIRST * (rows.d + 1)) / rows.n)))

    def join(self, found: list[Found]) -> bool:
        """Add rows to W, those that are farthest off and not in it yet; whether there were any."""
        number = np.concatenate([f.number for f in found])
        raw, sign = np.concatenate([f.raw for f in found]), np.concatenate([f.sign for f in found])
        new = np.flatnonzero(~np.isin(number, self.numbers))
        if self.rounds:
            new = new[np.argsort(np.concatenate([f.m for f in found])[new], kind="stable")[:JOIN]]
        self.numbers = np.concatenate([self.numbers, number[new]])
        self.raw = np.concatenate([self.raw, raw[new]]) if len(self.raw) else raw[new]
        self.sign = np.concatenate([self.sign, sign[new]])
        return len(new) > 0

    def part(self) -> HeldRows:
        """W in memory, with a constant column that suits the search for its margin."""
        return self.plain_part().rescaled("auto")

    def plain_part(self) -> HeldRows:
        """W in memory."""
        return hold(self.raw, self.sign.astype(np.float64), fit_intercept=self.rows.bias > 0, signed=True)

    def bound_above(self, margin: Margin) -> None:
        """The margin of W bounds that of all rows."""
        if margin.upper < self.upper:
            self.upper, self.weights, self.at = margin.upper, margin.weights, self.numbers.copy()

    def hold_against_all(self, theta: Vector, enough: float) -> bool:
        """Ask all rows about θ (the intercept itself last); rows below `enough` may join W; whether any did."""
        p = self.rows
        full = unit_vector(np.append(theta, 0.0) if p.bias == 0 else np.append(theta[:-1], theta[-1] / p.bias))
        if full is None:
            return False
        most = max(16, 4 * JOIN // p.pieces)  # each may send its share, and somewhat more
        found = p.map(worst, full, most, enough)
        self.rounds += 1
        theta, low = in_units(p, full, min(f.low for f in found))
        wrong = sum(f.wrong for f in found)
        if self.lower == 0 and wrong < self.fewest:
            self.fewest, self.theta = wrong, theta
        if low > self.lower:
            self.lower, self.theta = low, theta
        return self.join(found)

    def margin(self, status: MarginStatus, seconds: float) -> Margin:
        """The bracket in the user's units; weights are 0 outside W."""
        full = np.zeros(self.rows.n)
        full[self.at] = self.weights
        return Margin(self.lower, self.upper, self.theta.copy(), full, status, self.rounds, seconds)


class Settled(NamedTuple):
    """A proof that the rows are separable or not, or evidence; whether the verdict is fragile."""

    proof: Proof | None
    evidence: Evidence | None = None
    fragile: bool = False


def settle_elsewhere(rows: Rows, budget: Budget) -> tuple[Settled, WorkingSet]:
    """What was settled, and the bracket on the way."""
    work = WorkingSet(rows, budget)
    while work.rounds < ROUNDS and not budget.late:
        margin = find_margin(work.part(), 0.05, budget.left, None)
        work.bound_above(margin)
        theta = margin.theta
        if not margin.lower > 0:
            part = work.plain_part()
            case = Case(part, budget)
            proof, _ = settle(case)
            if proof is None:
                evidence = evidence_in(case, None)
                if evidence is None:
                    break
                if (proof := proof_beside(case, evidence)) is not None:
                    return Settled(_of_all(work, proof), None, is_fragile(case, proof)), work
                found = rows.map(held_against, evidence.theta)
                if all(f.wrong == 0 for f in found):
                    return Settled(None, _evidence_of_all(work, evidence, found), True), work
                work.rounds += 1
                if not work.join(found):
                    break
                continue
            if proof.claim is not Claim.SEPARABLE:
                return Settled(_of_all(work, proof), None, is_fragile(case, proof)), work
            theta = np.array([float(t) for t in proof.theta or ()])
        grew = work.hold_against_all(theta, 0.5 * max(work.upper, 0.0))
        if work.lower > 0:
            proof = claim(rows, Claim.SEPARABLE, theta=tuple(work.theta.tolist()))
            if proof is not None:
                return Settled(proof, None, not all(rows.map(least_sturdy, work.theta))), work
        if not grew:
            break
    return Settled(None), work


def held_against(first: int, piece: HeldRows, theta: Vector) -> Found:
    """The rows that are on the wrong side of θ beyond rounding, or else those of which it is the boundary."""
    reader = Reader(piece)
    blocks = [np.arange(lo, min(lo + reader.step, piece.n)) for lo in range(0, piece.n, reader.step)]
    share = np.concatenate([shares(reader.dense(block, np.arange(reader.D)), theta) for block in blocks])
    pick = np.flatnonzero(share <= ROUNDING)
    wrong = int((share < -ROUNDING).sum())
    if wrong:
        pick = np.sort(pick[np.argsort(share[pick], kind="stable")[:JOIN]])
    return _found(first, piece, pick, share[pick], wrong, float(share.min()))


def _evidence_of_all(work: WorkingSet, evidence: Evidence, found: list[Found]) -> Evidence:
    """The evidence of W as that of all rows: on none of them is θ on the wrong side."""
    off = np.ones(work.rows.n, dtype=bool)
    off[np.concatenate([f.number for f in found])] = False
    residual = max([evidence.theta_residual, *(float(abs(f.m).max(initial=0.0)) for f in found)])
    return replace(
        evidence,
        claim=Claim.QUASI_COMPLETE if off.any() else evidence.claim,
        rows=work.numbers[evidence.rows],
        separated=np.flatnonzero(off),
        theta_residual=residual,
    )


def _of_all(work: WorkingSet, proof: Proof) -> Proof | None:
    """The proof for some rows as one for all: what it says beyond inseparability may hold of those rows only."""
    numbers = work.numbers[list(proof.rows or ())]
    order = np.argsort(numbers)
    parts: dict[str, Any] = {
        "n": work.rows.n,
        "rows": tuple(int(i) for i in numbers[order]),
        "weights": tuple((proof.weights or ())[int(k)] for k in order),
    }
    for whole in (replace(proof, **parts), replace(proof, claim=Claim.INSEPARABLE, theta=None, **parts)):
        if check(whole, work.rows):
            work.lower = work.upper = 0.0
            return whole
    return None


def margin_elsewhere(
    rows: Rows, rtol: float, budget: Budget, callback: Callable[[Progress], Any] | None
) -> Margin:
    """`max_margin` on rows that are elsewhere."""
    began = time.perf_counter()
    work = WorkingSet(rows, budget)
    status = MarginStatus.ROUNDING
    while work.rounds < ROUNDS:
        margin = find_margin(work.part(), rtol / 4, budget.left, None)
        work.bound_above(margin)
        if margin.status is MarginStatus.NO_MARGIN:
            status, work.theta = MarginStatus.NO_MARGIN, margin.theta
            break
        grew = work.hold_against_all(margin.theta, work.upper * (1.0 - rtol / 2))
        seconds = time.perf_counter() - began
        if work.lower > 0 and work.upper - work.lower <= rtol * work.upper:
            status = MarginStatus.CONVERGED
            break
        if callback is not None and callback(Progress(work.rounds, work.lower, work.upper, seconds)):
            status = MarginStatus.STOPPED
            break
        if budget.late:
            status = MarginStatus.TIME_LIMIT
            break
        if not grew:
            break
    return work.margin(status, time.perf_counter() - began)
