"""Shards that work together, and the problem they make up.

A team is asked one question at a time and gives the shards' answers in their order. `Local` has its shards in this
process; `cluster.Remote` has them on the workers of a Dask cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from math import frexp
from typing import Any, Protocol

import numpy as np

from separatrix.core.rows import BLOCK
from separatrix.core.shard import products
from separatrix.data.labels import join_labels
from separatrix.data.memory import Problem, Vector, constant, pick_classes, power_of_two
from separatrix.shards.messages import Plan, Query, Survey
from separatrix.shards.shard import Shard


class Team(Protocol):
    """Shards, wherever they are."""

    name: str
    bounds: list[int]  # first rows of the shards, and n

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The answers of all shards to `shard.method(*args)`."""

    def ask_one(self, k: int, method: str, *args: Any) -> Any:
        """The answer of shard k."""

    def rebuilt(self, restore: Callable[[int], None] | None) -> None:
        """Call this with the number of a shard that had to be built again, before it is asked anything."""

    def close(self) -> None:
        """Let go of the shards."""


class Local:
    """Shards in this process."""

    name = "files"

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)
        self.bounds = [s.first for s in self.shards] + [self.shards[-1].total]

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The answers of all shards, one after the other: each has threads of its own."""
        return [getattr(shard, method)(*args) for shard in self.shards]

    def ask_one(self, k: int, method: str, *args: Any) -> Any:
        """The answer of shard k."""
        return getattr(self.shards[k], method)(*args)

    def rebuilt(self, restore: Callable[[int], None] | None) -> None:
        """Nothing is lost here that this process would outlive."""

    def close(self) -> None:
        """End their threads."""
        for shard in self.shards:
            shard.close()


class Sharded:
    """A problem whose rows are held by a team; what `Problem` says of all its rows, this says without them.

    Attributes
    ----------
    scale : a power of two near the longest row, so that bounds fit in float32; powers of two change no bit of θ
    least : the smallest weight that is not zero
    """

    sparse = False

    def __init__(self, team: Team, d: int, short: bool, *, fit_intercept: bool, intercept_scaling: Any) -> None:
        self.team, self.d = team, d
        surveys: list[Survey] = team.ask("survey")
        self.classes = pick_classes(join_labels([s.labels for s in surveys]))
        self.n, self.size = team.bounds[-1], float(sum(s.size for s in surveys))
        self.least = min(s.least for s in surveys)
        top = max(s.top for s in surveys)
        squares = sum(s.squares * (s.top / top) ** 2 for s in surveys) if top > 0 else 0.0
        self.bias = constant(intercept_scaling, top, np.sqrt(squares / self.size)) if fit_intercept else 0.0
        self.R = float(np.hypot(top, self.bias))
        self.scale = 1.0 if self.R == 0 else power_of_two(self.R)
        self.short = short and 1e-15 < self.R < 1e15
        self.begun: Plan | None = None
        self.known: tuple[Vector, float] | None = None
        team.rebuilt(self.restore)

    @property
    def nbytes(self) -> int:
        """What the rows take, were they float64."""
        return self.n * self.d * 8

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
        self.team.ask("begin", self.begun)

    def _ready(self) -> None:
        """Signs are enough where no run has been begun."""
        if self.begun is None:
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

    def fingerprint(self) -> str:
        """A digest of rows, labels, weights and intercept, whatever the shards."""
        probe = np.random.default_rng(0).standard_normal(self.d + 1)
        total = sum(self.map(digest, probe)) + int(np.float64(self.bias).view(np.uint64))
        return f"{total % (1 << 128):032x}"


def digest(first: int, piece: Problem, probe: Vector) -> int:
    """Blocks enter one by one, by their numbers, so that the sum does not depend on who holds them."""
    total = 0
    m = np.empty(piece.n)
    products(piece.rows, np.sign(piece.sign).astype(np.int8), 1.0, piece.bias, probe, m)
    for lo in range(0, piece.n, BLOCK):
        part = slice(lo, lo + BLOCK)
        of = blake2b(digest_size=16)
        for values in (np.array([first + lo]), m[part], piece.sign[part] * piece.scale, piece.weight[part]):
            of.update(values.tobytes())
        total += int.from_bytes(of.digest(), "little")
    return total
