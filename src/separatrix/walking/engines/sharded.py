"""The engines for rows that others hold: the coordinator's part of an iteration, a few vectors of d numbers.

Each shard keeps the margins of its own rows up to date and gives back the sum of the rows that pull, by groups of
blocks; the groups are added here in the canonical order. So an iterate has the bits it has on one machine, whatever
the shards. One message goes to every shard and back per iteration; where the wrong set stays the same, none is needed.
"""

from __future__ import annotations

import ctypes
from math import inf, isfinite, isinf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import ENDLESS
from separatrix.core.library import Stepper, core
from separatrix.core.rows import Tree, norm
from separatrix.core.rule import underflow_shift
from separatrix.core.shard import DONE, EVALUATE, PULL, vector
from separatrix.data.rows import Vector
from separatrix.shards import Answer, Nodes, Query, ShardedRows, Swept
from separatrix.walking.definition import begins_half
from separatrix.walking.engines.base import (
    Opening,
    at_start,
    opening_of,
    opens,
    over_at_once,
    rule_of,
    start,
    unit_of,
    unit_step,
    unshift,
)
from separatrix.walking.engines.schedule import walk_on
from separatrix.walking.methods import Plan
from separatrix.walking.trace import Measure

VECTORS = ("phi", "base", "step")
SCALARS = ("t", "k", "half", "stepped", "tie_t", "tie_row")


class _Sharded:
    """What both engines share: the team, and the numbers of an iterate."""

    def __init__(self, rows: ShardedRows, method: Plan, theta0: Vector | None, lazy: bool) -> None:
        self.name = rows.team.name
        self.rows, self.method = rows, method
        core()  # without it there is nothing to do here
        self.rule = rule_of(rows, method)
        self.Phi = start(rows, method, theta0)
        self.rows_read = 0
        self.slowest = 0.0  # Σ over iterations of the slowest shard's own seconds
        rows.begin(lazy=lazy, rowwise=method.order is not None)

    seen_wrong = False

    def use_threads(self, count: int) -> None:
        """Shards have threads of their own."""

    def average(self) -> Vector | None:
        """None: it is not kept here."""
        return None

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.Phi / unit_of(self.rows, self.method) * self.rows.scale)

    def ask(self, query: Query) -> list[Answer]:
        """The shards' answers to one iterate."""
        answers: list[Answer] = self.rows.team.ask("advance", query)
        self.rows_read += sum(a.read for a in answers)
        self.slowest += max(a.seconds for a in answers)
        return answers

    def total(self, nodes: list[Nodes]) -> Vector:
        """Σ w_i z_i and behind it Σ w_i, from the shards' groups of blocks in the canonical order."""
        tree = Tree(self.rows.d + 2)
        for levels, numbers, sums in nodes:
            for level, number, v in zip(levels.tolist(), numbers.tolist(), sums, strict=True):
                tree.put(level, number, v)
        return tree.finish()

    def measured(self, answers: list[Answer], total: Vector, low: float) -> Measure:
        """The trace's numbers, as `engines.base.measure` gives them."""
        p, unit = self.rows, unit_of(self.rows, self.method)
        length = float(norm(self.Phi))
        loss = sum(a.loss for a in answers) / p.size
        if isinf(self.rule.gamma):
            loss *= p.scale * p.scale / unit
        gamma = 1.0 if isinf(self.rule.gamma) else self.method.gamma
        return Measure(
            errors=sum(a.errors for a in answers),
            accuracy=max(0.0, 1.0 - sum(a.lost for a in answers) / p.size),
            loss=loss,
            grad_norm=float(norm(total[:-1])) * unshift(self.rule, low) / p.size * p.scale,
            theta_norm=gamma * (length / unit * p.scale),
            min_margin=low / length * p.scale if length > 0 else nan,
        )

    def stats(self) -> dict[str, int]:
        """Rows read so far."""
        return {"rows_read": self.rows_read, "shards": len(self.rows.team.bounds) - 1}


class ShardedEngine(_Sharded):
    """The batch methods: the stepper is the core's (core/stepper.hpp), and the shards answer its questions."""

    def __init__(self, rows: ShardedRows, method: Plan, theta0: Vector | None, *, lazy: bool) -> None:
        self.opening: Opening | None = None
        if opens(method, theta0):
            self.opening = opening_of(ShardedEngine(rows, unit_step(method), theta0, lazy=False))
        super().__init__(rows, method, theta0, lazy)
        D, gamma = rows.d + 1, self.rule.gamma
        self.vectors = {"phi": self.Phi, "base": np.zeros(D), "step": np.zeros(D)}
        self.sum = np.zeros(D + 1)
        half = begins_half(method, self.Phi)
        self.c = Stepper(D=D, gamma=gamma, power=self.rule.power, length=norm(self.Phi), half=half)
        self.c.point(**self.vectors, total=self.sum)
        self.tau = 0.0 if isinf(gamma) else self.rule.cut / gamma  # margins beyond it have no weight
        self.current = -1  # the iterate that the answers belong to,
        self.direct = -1  # and the last that all raw rows were asked about
        self.none = Nodes(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, rows.d + 2)))
        self.nodes: list[Nodes] = []
        self.answers: list[Answer] = []
        rows.team.rebuilt(self._restore)

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c.t)

    @property
    def epoch(self) -> int:
        """Every update reads all rows that matter."""
        return self.t

    @property
    def errors(self) -> int:
        """Wrong rows at this iterate."""
        return int(self.c.errors)

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, `epoch` in all; with `stop`, none once no row is wrong."""
        end = self.t + int(min(steps, max(epoch - self.t, 0)))
        if over_at_once(self, end, stop):
            return
        walk_on(self.c, self.method, lambda upto: self._walk(upto, stop), end, stop)

    def _walk(self, end: int, stop: bool) -> None:
        """The stepper, up to update `end`; its questions go to the shards."""
        c = self.c
        c.answered = 0
        while (question := core().walk(ctypes.byref(c), None, end, stop, 0)) != DONE:
            if question == EVALUATE:
                self._evaluate()
            elif question == PULL:
                self.sum[:] = self.total(self.nodes)
            else:
                self._foresee()
            c.answered = 1

    @property
    def last_step(self) -> Vector:
        """The step that led to Φ, a copy."""
        return self.vectors["step"].copy()

    def begin_at(self, Phi: Vector) -> None:
        """Φ_1, where the first step does not begin at Φ_0."""
        self.Phi[:] = Phi
        self.c.t, self.c.length = 1, max(self.c.length, norm(self.Phi))
        self.c.evaluated = self.c.ready = self.c.stepped = self.c.safe = 0

    def _evaluate(self, **more: Any) -> None:
        """Ask the shards about Φ. Past separation the cut is measured from the smallest margin."""
        self._take(self.ask(self._query(self.tau, **more)))
        if not isinf(self.rule.gamma) and self.c.low > 0.0:
            self._take(self.ask(self._past(self.rows.lowest(self.Phi))))

    def _query(self, tau: float, **more: Any) -> Query:
        loss = {"loss": True} if isinf(self.rule.gamma) else {}  # it costs nothing there
        return Query(self.Phi.copy(), self.rule.gamma, tau, half=bool(self.c.half), **(loss | more))

    def _past(self, low: float, **more: Any) -> Query:
        """Past separation rows up to tau above the smallest margin pull."""
        return self._query(self.tau + low, shift=underflow_shift(self.rule, low), **more)

    def _take(self, answers: list[Answer]) -> None:
        """Keep the answers; a shard whose wrong set has not changed leaves its sum out."""
        kept: list[Nodes | None] = [*self.nodes] or [None] * len(answers)
        found = [old if a.nodes is None else a.nodes for a, old in zip(answers, kept, strict=True)]
        self.nodes = [self.none if nodes is None else nodes for nodes in found]
        self.answers, self.current, c = answers, self.t, self.c
        c.errors, c.low = sum(a.errors for a in answers), min(a.low for a in answers)
        ties = [first + a.tie for first, a in zip(self.rows.team.bounds, answers, strict=False) if isfinite(a.tie)]
        if ties and not c.tie_t and self.t > 0 and isinf(self.rule.gamma):
            c.tie_t, c.tie_row = self.t, int(min(ties))
        c.changed = c.changed or any(a.changed for a in answers)  # a second look at the same iterate forgets nothing
        if all(a.whole for a in answers):
            self.direct = self.t
            self.rows.remember(self.Phi, c.low)

    def _foresee(self) -> None:
        """How often the step at hand can be taken before the wrong set of any shard changes."""
        c, step = self.c, self.vectors["step"]
        c.horizon = min(self.rows.team.ask("horizon", self.Phi.copy(), step.copy(), c.length, c.stride))
        self.rows_read += 2 * self.rows.n

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        if self.direct != self.t:
            self.c.safe = self.c.ready = 0
            self._evaluate(fresh=True)
        return self.errors == 0

    def measure(self) -> Measure:
        """The numbers of this iterate."""
        finite = not isinf(self.rule.gamma)
        known = not finite and self.current == self.t
        answers = self.answers if known else self.ask(self._query(self.tau, loss=True))
        low = min(a.low for a in answers)
        if low > 0.0:  # rows right by the bound alone have not been looked at
            low = self.rows.lowest(self.Phi)
        if low > 0.0 and finite:
            answers = self.ask(self._past(low, loss=True))
        self._take(answers)
        found = self.measured(answers, self.total(self.nodes), low)
        return at_start(self, found)

    @property
    def tie(self) -> tuple[int, int] | None:
        """The first t and row with a margin of 0."""
        return (self.c.tie_t, self.c.tie_row) if self.c.tie_t else None

    def _restore(self, k: int) -> None:
        """A shard that was built again has to know who was wrong when the present stretch began."""
        self.rows.restore(k)
        if self.c.stepped:
            base = self.vectors["base"].copy()
            self.rows.team.ask_one(k, "advance", Query(base, self.rule.gamma, 0.0, sums=False))

    def save(self) -> dict[str, NDArray[Any]]:
        """Φ and the stretch it is on; margins are computed anew."""
        return {name: vector.copy() for name, vector in self.vectors.items()} | {
            name: np.array(getattr(self.c, name)) for name in SCALARS
        }

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        for name in VECTORS:
            self.vectors[name][:] = state[name]
        for name in SCALARS:
            setattr(self.c, name, int(state[name]))
        self.c.stride, self.c.length = norm(self.vectors["step"]), norm(self.Phi)
        self.c.evaluated = self.c.ready = self.c.safe = self.c.changed = 0
        self.current = self.direct = -1
        for k in range(len(self.rows.team.bounds) - 1):
            self._restore(k)


class ShardedSweepEngine(_Sharded):
    """The row-at-a-time perceptron: φ goes from shard to shard, in the order of the rows."""

    @property
    def tie(self) -> None:
        """None: that is for the batch methods."""
        return

    def __init__(self, rows: ShardedRows, method: Plan, theta0: Vector | None, *, lazy: bool) -> None:
        if method.order != "cyclic":
            raise ValueError(
                f"order={method.order!r} needs all rows in memory; rows in files and on clusters are swept in order: "
                "use order='cyclic'."
            )
        super().__init__(rows, method, theta0, lazy)
        self.t = self.epoch = self.position = self.clean = 0
        self.doubted_at = -1

    @property
    def errors(self) -> int | None:
        """0 once every row was right in turn; before that only a full pass could tell."""
        return 0 if self.clean >= self.rows.n else None

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, or until every row is right or `epoch` sweeps are finished."""
        end, team, n = self.t + steps, self.rows.team, self.rows.n
        while self.errors != 0 and self.t < end and self.epoch < epoch:
            k = int(np.searchsorted(team.bounds, self.position, side="right")) - 1
            first = team.bounds[k]
            at = self.position - first
            swept: Swept = team.ask_one(k, "sweep", self.Phi, at, self.clean, int(min(end - self.t, ENDLESS)))
            self.Phi, self.clean = vector(swept.phi, self.rows.d + 1), swept.clean
            self.t += swept.updates
            self.rows_read += swept.read
            self.position = first + swept.position
            if self.position == n:
                self.position, self.epoch = 0, self.epoch + 1
        if not stop and self.errors == 0:
            self.t = end  # a perceptron that is right stays where it is

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows; see `SweepEngine.check`."""
        if self.doubted_at == self.t or self.rows.lowest(self.Phi) > 0:
            return True
        self.doubted_at, self.clean = self.t, 0
        return False

    def measure(self) -> Measure:
        """The numbers of this iterate, from the rows that may be wrong."""
        answers = self.ask(Query(self.Phi, inf, 0.0, loss=True))
        low = min(a.low for a in answers)
        if low > 0.0:
            low = self.rows.lowest(self.Phi)
        return self.measured(answers, self.total([a.nodes for a in answers if a.nodes is not None]), low)

    def save(self) -> dict[str, NDArray[Any]]:
        """φ and the place in the sweep."""
        return {"phi": self.Phi.copy()} | {
            name: np.array(getattr(self, name)) for name in ("t", "epoch", "position", "clean")
        }

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        self.Phi, self.doubted_at = state["phi"].copy(), -1
        for name in ("t", "epoch", "position", "clean"):
            setattr(self, name, int(state[name]))

    def stats(self) -> dict[str, int]:
        """Rows read so far, and sweeps begun."""
        return super().stats() | {"epochs": self.epoch + bool(self.position > 0)}
