"""ShardedRows: rows that a team of shards holds, with the protocol of `data.rows`.

A team is asked one question at a time and gives the shards' answers in their order. `local.Local` has its shards in
this process; `cluster.Remote` has them on the workers of a Dask cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from math import frexp, fsum
from typing import Any, Protocol

import numpy as np

from separatrix.core.definition import BLOCK, hypot
from separatrix.core.rows import Tree
from separatrix.core.shard import products
from separatrix.data.arrays import constant, power_near
from separatrix.data.labels import join_labels, pick_classes
from separatrix.data.memory import HeldRows, hold
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
from separatrix.shards.messages import Plan, Query, Survey
from separatrix.shards.shard import PIECE


class Team(Protocol):
    """Shards, wherever they are."""

    name: str
    bounds: list[int]  # first rows of the shards, and n
    begun_by: Any  # whose plan the shards know: rows with another constant column begin anew

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The answers of all shards to `shard.method(*args)`."""

    def ask_one(self, k: int, method: str, *args: Any) -> Any:
        """The answer of shard k."""

    def rebuilt(self, restore: Callable[[int], None] | None) -> None:
        """Call this with the number of a shard that had to be built again, before it is asked anything."""

    def close(self) -> None:
        """Let go of the shards."""


class ShardedRows:
    """Rows that a team holds; what `HeldRows` says of all its rows, this says without them.

    Attributes
    ----------
    scale : a power of two near the longest row, so that bounds fit in float32; powers of two change no bit of θ
    least : the smallest weight that is not zero
    """

    sparse = False
    whole = None

    def __init__(self, team: Team, surveys: list[Survey], d: int, intercept_scaling: Any) -> None:
        self.team, self.surveys, self.d = team, surveys, d
        self.classes = pick_classes(join_labels([s.labels for s in surveys]))
        self.n, self.size = team.bounds[-1], fsum(part for s in surveys for part in s.sizes)
        self.least = min(s.least for s in surveys)
        top = max(s.top for s in surveys)
        # Rounded otherwise for other shards; it is used only through the power of two that is nearest.
        squares = sum(s.squares * (s.top / top) ** 2 for s in surveys) if top > 0 else 0.0
        has_bias = intercept_scaling is not None
        self.bias = constant(intercept_scaling, top, np.sqrt(squares / self.size)) if has_bias else 0.0
        self.R = float(hypot(np.array([top]), self.bias)[0])
        self.scale = 1.0 if self.R == 0 else power_near(self.R)
        self.begun: Plan | None = None
        self.known: tuple[Vector, float] | None = None

    @classmethod
    def of(cls, team: Team, d: int, *, fit_intercept: bool, intercept_scaling: Any) -> ShardedRows:
        """The rows of a team, each looked at once: labels, lengths, and complaints about either."""
        return cls(team, team.ask("survey"), d, intercept_scaling if fit_intercept else None)

    def rescaled(self, intercept_scaling: Any) -> ShardedRows:
        """The same rows with another value of the constant column; themselves where there is no intercept."""
        if self.bias == 0:
            return self
        other = ShardedRows(self.team, self.surveys, self.d, intercept_scaling)
        return self if other.bias == self.bias else other

    @property
    def nbytes(self) -> int:
        """What the rows take, were they float64."""
        return self.n * self.d * 8

    @property
    def pieces(self) -> int:
        """About how many pieces `map` hands out."""
        return -(-self.nbytes // PIECE)

    def unpad(self, vector: Vector) -> Vector:
        """From d + 1 entries to those the user has: the last is the intercept, or nothing."""
        return vector.copy() if self.bias else vector[:-1].copy()

    def restore(self, k: int) -> None:
        """Tell a shard that was built again the plan."""
        if self.begun is not None:
            self.team.ask_one(k, "begin", self.begun)

    def begin(self, *, lazy: bool, rowwise: bool) -> None:
        """Get all shards ready for a run."""
        self.begun = Plan(self.classes[1], self.scale, self.bias, lazy, rowwise)
        self.team.rebuilt(self.restore)
        self.team.ask("begin", self.begun)
        self.team.begun_by = self

    def _ready(self) -> None:
        """Signs are enough where no run of these rows has been begun."""
        if self.begun is None or self.team.begun_by is not self:
            self.begin(lazy=False, rowwise=True)

    def lowest(self, phi: Vector) -> float:
        """The smallest margin among rows with a weight, from all raw rows; 2ᵏφ has 2ᵏ times that of φ, bit for bit."""
        if self.known is not None:
            k = frexp(float(abs(phi).max()))[1] - frexp(float(abs(self.known[0]).max()))[1]
            there, back = np.ldexp(self.known[0], k), np.ldexp(phi, -k)
            if np.array_equal(there, phi) and np.array_equal(back, self.known[0]):  # nothing was rounded either way
                return float(np.ldexp(self.known[1], k))
        self._ready()
        query = Query(phi, np.inf, -np.inf, fresh=True, sums=False, mark=False)
        low = float(min(answer.low for answer in self.team.ask("advance", query)))
        self.remember(phi, low)
        return low

    def remember(self, phi: Vector, low: float) -> None:
        """The smallest margin at φ, from a pass over all raw rows."""
        self.known = phi.copy(), low

    def map(self, question: Callable[..., Any], *args: Any) -> list[Any]:
        """question(first row, piece, *args) for every piece of the rows, in order."""
        self._ready()
        return [answer for answers in self.team.ask("map", question, *args) for answer in answers]

    def margins(self, phi: Vector) -> Vector:
        """Zφ, gathered from all shards."""
        return np.concatenate(self.map(margins_in, phi))

    def pull(self, w: Vector) -> Vector:
        """Σ w_i z_i: blocks summed where they are, added here in the canonical order."""
        tree = Tree(self.d + 2)
        for sums in self.map(block_sums, w):
            for number, v in sums:
                tree.put(0, number, v)
        return tree.finish()[:-1]

    def fetch(self, idx: Index) -> tuple[HeldRows, Index]:
        """These rows from their shards, as rows of their own, and their numbers among these."""
        X, sign = (np.concatenate(parts) for parts in zip(*self.map(pick, np.sort(idx)), strict=True))
        return hold(X, sign, signed=True, fit_intercept=self.bias > 0), np.argsort(np.argsort(idx))

    def close(self) -> None:
        """Let go of the shards."""
        self.team.close()

    def fingerprint(self) -> str:
        """A digest of rows, labels, weights and intercept, whatever the shards."""
        probe = np.random.default_rng(0).standard_normal(self.d + 1)
        total = sum(self.map(digest, probe)) + int(np.float64(self.bias).view(np.uint64))
        return f"{total % (1 << 128):032x}"


def margins_in(first: int, piece: HeldRows, phi: Vector) -> Vector:
    """Zφ of one piece."""
    return piece.margins(phi)


def block_sums(first: int, piece: HeldRows, w: Vector) -> list[tuple[int, Vector]]:
    """Σ w_i z_i of each block of a piece, by its number."""
    sheet, own = Sheet(piece), w[first : first + piece.n]
    found = []
    for lo in range(0, piece.n, BLOCK):
        idx = lo + np.flatnonzero(own[lo : lo + BLOCK])
        if len(idx):
            found.append(((first + lo) // BLOCK, sheet.sum(idx, own).copy()))
    return found


def pick(first: int, piece: HeldRows, idx: Index) -> tuple[Any, Vector]:
    """Those of the rows that this piece has, and their labels ±1."""
    mine = idx[(idx >= first) & (idx < first + piece.n)] - first
    return piece.raw(mine), np.sign(piece.sign[mine])


def digest(first: int, piece: HeldRows, probe: Vector) -> int:
    """Blocks enter one by one, by their numbers, so that the sum does not depend on who holds them."""
    total = 0
    m = products(piece.arrays, piece.d, np.sign(piece.sign).astype(np.int8), 1.0, piece.bias, probe)
    for lo in range(0, piece.n, BLOCK):
        part = slice(lo, lo + BLOCK)
        of = blake2b(digest_size=16)
        for values in (np.array([first + lo]), m[part], piece.sign[part] * piece.scale, piece.weight[part]):
            of.update(values.tobytes())
        total += int.from_bytes(of.digest(), "little")
    return total
