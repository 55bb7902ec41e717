"""Equal rows as one, and rows of extreme sizes balanced: a smaller, better problem with the same answers.

Repeating a row changes no cone {θ: Zθ ≥ 0}, and so no verdict, no kind and no direction. Nor do positive factors of
rows and columns; powers of two cost no digit. A proof about the smaller problem is carried to all rows, and checked
there like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof, Stage, check
from separatrix.certify.reader import Reader
from separatrix.data.memory import HeldRows, hold_signed
from separatrix.data.rows import Index, Rows
from separatrix.data.sheet import Sheet
from separatrix.deciding.boundary import Evidence
from separatrix.deciding.budget import Budget
from separatrix.deciding.lifting import near_weights
from separatrix.deciding.margin import Bracket
from separatrix.deciding.relations import independent_columns

SAMPLED = 20_000  # rows that are looked at first: where nearly all of them differ, all are taken to
SHARE = 0.9  # of rows that may differ for merging to be worth it
EXTREME = 1e100  # how many times longer one row may be than another before rows and columns are balanced
LOOKED_AT, UNEVEN = 100_000, 64  # entries up to which all are looked at: powers of two between the largest and least
CENTRES = 4  # rounds of balancing
SPREAD = 50_000  # rows up to which weights are spread over equal ones; beyond that columns make the argument


@dataclass(frozen=True, eq=False)
class Distinct:
    """The rows that differ, and how they lie in all of them.

    rows : each row once; z'_ij = 2^row_power_i 2^column_power_j z_ij
    at : where each of them stands first
    which : for each of all rows, its place among these
    row_power, column_power : whole numbers
    """

    rows: HeldRows
    at: Index
    which: Index
    row_power: NDArray[np.int64]
    column_power: NDArray[np.int64]

    def carried(self, proof: Proof | None, rows: Rows, budget: Budget) -> Proof | None:
        """The proof about these rows as one about all, if it checks."""
        if proof is None or self.rows is rows.whole:
            return proof
        parts: dict[str, Any] = {"n": rows.n, "d": rows.d, "intercept": rows.bias > 0}
        if proof.theta is not None:
            parts["theta"] = tuple(_times(t, int(k)) for t, k in zip(proof.theta, self.column_power, strict=True))
        if proof.rows is not None and proof.weights is not None:
            powers = self.row_power[list(proof.rows)]
            weights = tuple(_times(w, int(k)) for w, k in zip(proof.weights, powers, strict=True))
            everywhere = proof.claim is Claim.OVERLAP and proof.columns is None
            if everywhere and rows.n <= SPREAD:
                weights, numbers = self._spread(weights)
            else:
                numbers = self.at[list(proof.rows)]
            order = np.argsort(numbers)
            parts["rows"] = tuple(int(numbers[k]) for k in order)
            parts["weights"] = tuple(weights[int(k)] for k in order)
            relations = proof.relations
            if everywhere and rows.n > SPREAD:
                K, relations = independent_columns(Reader(self.rows), np.arange(self.rows.n), budget=budget)
                parts["columns"] = tuple(K.tolist())
            parts["relations"] = self._relations(relations)
            parts["earlier"] = tuple(self._stage(stage) for stage in proof.earlier)
        whole = replace(proof, **parts)
        if check(whole, rows):
            return whole
        exact = self._without_rounding(proof)  # what floats show of balanced rows they need not show of others
        return None if exact is None else self.carried(exact, rows, budget)

    def _stage(self, stage: Stage) -> Stage:
        """A stage about these rows as one about all."""
        numbers, powers = self.at[list(stage.rows)].tolist(), self.row_power[list(stage.rows)].tolist()
        weights = [_times(w, k) for w, k in zip(stage.weights, powers, strict=True)]
        return Stage(tuple(numbers), tuple(weights), stage.columns, self._relations(stage.relations))

    def _relations(self, relations: Mapping[int, Mapping[int, Any]]) -> dict[int, dict[int, Any]]:
        """Relations of these columns as those of the columns as they were."""
        power = self.column_power
        return {
            j: {k: _times(Fraction(c), int(power[k] - power[j])) for k, c in terms.items()}
            for j, terms in relations.items()
        }

    def hand_over(self, known: Bracket, bracket: Bracket) -> None:
        """What is known of these rows' margin, held against all rows."""
        with np.errstate(all="ignore"):
            theta = np.zeros(bracket.rows.d + 1)
            theta[: len(self.column_power)] = _scaled(known.theta[: len(self.column_power)], self.column_power)
            bracket.try_theta(theta)
            weights = np.zeros(bracket.rows.n)
            weights[self.at] = _scaled(known.weights, self.row_power)
            bracket.try_weights(np.ones(bracket.rows.n))
            bracket.try_weights(weights)

    def evidence(self, found: Evidence) -> Evidence:
        """The evidence in the numbers of all rows."""
        with np.errstate(all="ignore"):
            theta = _scaled(found.theta, self.column_power)
            weights = _scaled(found.weights, self.row_power[found.rows])
        inside = np.zeros(len(self.at), dtype=bool)
        inside[found.separated] = True
        separated = np.flatnonzero(inside[self.which])
        return replace(found, theta=theta, rows=self.at[found.rows], weights=weights, separated=separated)

    def _without_rounding(self, proof: Proof) -> Proof | None:
        """The same proof with rational weights near its own; None where it has them already, or there are none."""
        if proof.columns is None or proof.rows is None or any(isinstance(w, Fraction) for w in proof.weights or ()):
            return None
        B = np.array(proof.rows, dtype=np.int64)
        weights = near_weights(Reader(self.rows), B, proof.float_weights, len(proof.columns))
        return None if weights is None or min(weights) <= 0 else replace(proof, weights=tuple(weights))

    def _spread(self, weights: tuple[Any, ...]) -> tuple[tuple[Any, ...], Index]:
        """The weight of each distinct row in equal parts on all rows that equal it."""
        count = np.bincount(self.which, minlength=len(self.at)).tolist()
        shares = [Fraction(w) / c for w, c in zip(weights, count, strict=True)]
        return tuple(shares[k] for k in self.which.tolist()), np.arange(len(self.which))


def merged(rows: HeldRows) -> Distinct:
    """Each row once; the rows themselves where nearly all differ."""
    at, which = _merged(rows)
    small = rows if len(at) == rows.n else rows.part(at)
    powers = np.zeros(len(at), dtype=np.int64), np.zeros(rows.d + (rows.bias > 0), dtype=np.int64)
    return Distinct(small, at, which, *powers)


def distinct(rows: HeldRows, budget: Budget) -> Distinct:
    """Each row once, balanced where sizes are extreme; the rows themselves where nothing is to be gained."""
    once = merged(rows)
    small, D = once.rows, rows.d + (rows.bias > 0)
    long = small.r[small.r > 0]
    extreme = rows.scale != 1.0 or (len(long) > 0 and long.max() / EXTREME > long.min())
    if (extreme or small.n * D <= LOOKED_AT) and small.n * D <= budget.entries:
        Z = Reader(small).dense(np.arange(small.n), np.arange(D))
        size = np.frexp(Z[Z != 0])[1]
        uneven = len(size) > 0 and int(size.max()) - int(size.min()) > UNEVEN
        balanced = _balanced(Z) if extreme or uneven else None
        if balanced is not None:
            return Distinct(hold_signed(balanced[0], rows.classes), once.at, once.which, *balanced[1:])
    return once


def _merged(rows: HeldRows) -> tuple[Index, Index]:
    """Where each distinct row (with its label) stands first, and which of these each row equals."""
    n = rows.n
    every = np.arange(n)
    if n > 2 * SAMPLED:
        few = row_codes(rows.part(np.linspace(0, n - 1, SAMPLED).astype(np.int64)))
        if len(np.unique(few)) > SHARE * SAMPLED:
            return every, every
    code = row_codes(rows)
    order = np.lexsort((every, rows.sign, code))
    new = np.ones(n, dtype=bool)
    new[1:] = (code[order][1:] != code[order][:-1]) | (rows.sign[order][1:] != rows.sign[order][:-1])
    if new.sum() > SHARE * n:
        return every, every
    # Equal codes are no proof of equal rows: each is held against the one before it.
    again = np.flatnonzero(~new)
    step = max(1, 4_000_000 // max(1, rows.d))
    for lo in range(0, len(again), step):
        part = again[lo : lo + step]
        here, before = rows.X[order[part]], rows.X[order[part - 1]]
        differ = (here != before).sum(axis=1) > 0 if rows.sparse else (here != before).any(axis=1)
        new[part] = np.asarray(differ).ravel()
    group = np.cumsum(new) - 1
    at = order[new]  # the first of each group: order is stable
    rank = np.argsort(np.argsort(at))
    which = np.empty(n, dtype=np.int64)
    which[order] = rank[group]
    return np.sort(at), which


def row_codes(rows: HeldRows) -> NDArray[np.float64]:
    """One number for every row a_i, the same for equal rows: its product with one random vector."""
    v = np.random.default_rng(0).standard_normal(rows.d + 1)
    sheet = Sheet(rows)
    if not rows.sparse:
        sheet.use_threads(1)
    return sheet.margins(v / np.linalg.norm(v)) * np.sign(rows.sign)


def _balanced(Z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows and columns times powers of two, each with its sizes centred at 1; None where that would cost a digit."""
    filled = Z != 0
    exponent = np.where(filled, np.frexp(Z)[1], 0).astype(np.int64)
    power = [np.zeros(len(Z), dtype=np.int64), np.zeros(Z.shape[1], dtype=np.int64)]
    for _ in range(CENTRES):
        for axis in (0, 1):
            now = exponent + power[0][:, None] + power[1][None, :]
            top = np.where(filled, now, -(2**40)).max(axis=1 - axis)
            low = np.where(filled, now, 2**40).min(axis=1 - axis)
            power[axis] -= np.where(top >= low, (top + low) // 2, 0)
    shift = power[0][:, None] + power[1][None, :]
    if np.where(filled, abs(exponent + shift), 0).max() > 900:
        return None
    half = shift // 2  # ldexp takes what fits into an int, and a step must not leave float64
    return np.ldexp(np.ldexp(Z, half), shift - half), power[0], power[1]


def _scaled(v: NDArray[np.float64], power: NDArray[np.int64]) -> NDArray[np.float64]:
    """v times powers of two, but for one common factor: the largest power is 0."""
    shifted = np.ldexp(v, np.maximum(power - power.max(initial=-(2**40)), -2000))
    return np.asarray(shifted, dtype=np.float64)


def _times(number: Any, power: int) -> Any:
    """A number times a power of two, as a float where that is exact."""
    if power == 0:
        return number
    exact = Fraction(number) * Fraction(2) ** power
    try:
        rounded = float(exact)
    except OverflowError:
        return exact
    return rounded if Fraction(rounded) == exact and abs(rounded) < 2.0**1000 else exact
