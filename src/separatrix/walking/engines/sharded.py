"""The engines for rows that others hold: the coordinator's part of an iteration, a few vectors of d numbers.

Each shard keeps the margins of its own rows up to date and gives back the sum of the rows that pull, by groups of
blocks; the groups are added here in the canonical order. So an iterate has the bits it has on one machine, whatever
the shards. One message goes to every shard and back per iteration; where the wrong set stays the same, none is needed.
"""

from __future__ import annotations

from math import inf, isinf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.batch import underflow_shift
from separatrix.core.constants import ENDLESS, FIRST_LOOK, SHORT_LEAST, SHORT_MOST, WORTH_A_LOOK
from separatrix.core.rows import LEVELS, finish, norm, put
from separatrix.data.rows import Vector
from separatrix.shards import Answer, Nodes, Query, ShardedRows, Swept
from separatrix.walking.engines.base import rule_of, start, unit_of, unshift
from separatrix.walking.methods import Method
from separatrix.walking.trace import Measure

STATE = ("phi", "base", "step")
SCALARS = ("t", "k", "half", "stepped", "fused")


class _Sharded:
    """What both engines share: the team, and the numbers of an iterate."""

    def __init__(self, rows: ShardedRows, method: Method, theta0: Vector | None, lazy: bool) -> None:
        self.name = rows.team.name
        self.rows, self.method = rows, method
        self.rule = rule_of(rows, method)
        self.Phi = start(rows, method, theta0)
        self.t = self.rows_read = 0
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
        out = np.zeros(self.rows.d + 2)
        tree, at = np.zeros((LEVELS + 1, len(out))), np.full(LEVELS + 1, -1)
        for levels, numbers, sums in nodes:
            for level, number, v in zip(levels, numbers, sums, strict=True):
                put(tree, at, level, number, v)
        finish(tree, at, LEVELS, out)
        return out

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
    """The batch methods: `core.batch.advance` with its passes over the rows done by the shards."""

    def __init__(self, rows: ShardedRows, method: Method, theta0: Vector | None, *, lazy: bool) -> None:
        super().__init__(rows, method, theta0, lazy)
        D = rows.d + 1
        self.base, self.step = np.zeros(D), np.zeros(D)
        self.k = self.safe = self.patience = 0
        self.half = isinf(method.gamma) and not self.Phi.any()
        self.stepped = False  # the shards know the wrong set of the last step
        self.many = self.fused = self.evaluated = False
        self.current = False  # the answers belong to Φ
        self.direct = False  # and come from a pass over all raw rows
        self.changed = True
        self.length = float(norm(self.Phi))
        self.none = Nodes(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, rows.d + 2)))
        self.nodes: list[Nodes] = []
        self.answers: list[Answer] = []
        rows.team.rebuilt(self._restore)

    @property
    def epoch(self) -> int:
        """Every update reads all rows that matter."""
        return self.t

    @property
    def errors(self) -> int:
        """Wrong rows at this iterate."""
        return sum(a.errors for a in self.answers)

    @property
    def low(self) -> float:
        """The smallest margin among the rows that were read."""
        return min(a.low for a in self.answers)

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, `epoch` in all; with `stop`, none once no row is wrong."""
        end = self.t + int(min(steps, max(epoch - self.t, 0)))
        self._evaluate()
        while self.t < end and not (stop and self.errors == 0):
            if isinf(self.rule.gamma) and not self.half and self.stepped and not self.changed:
                if self.k >= self.safe and self.k >= self.patience and end - self.t > WORTH_A_LOOK:
                    self._foresee()
                self._move(max(1, min(end - self.t, self.safe - self.k)))
            else:
                self._new_step()
                self._move(1)
            self._evaluate()

    def _evaluate(self) -> None:
        """Ask the shards about Φ, unless the wrong set is foreseen."""
        if self.evaluated:
            return
        self.evaluated = True
        if 1 < self.k <= self.safe:
            return
        gamma = self.rule.gamma
        tau = 0.0 if isinf(gamma) else self.rule.cut / gamma
        self.fused = self.many
        self._take(self.ask(self._query(tau, fused=self.fused)))
        active = sum(a.active for a in self.answers)
        if not isinf(gamma) and self.low > 0.0:  # separated: the cut is now measured from the smallest margin
            self._past(tau)
            self.many = False
        else:
            self.many = not isinf(gamma) and 3 * active > self.rows.n

    def _query(self, tau: float, **more: Any) -> Query:
        short = self.rows.short and SHORT_LEAST < self.length * self.rows.scale < SHORT_MOST
        loss = {"loss": True} if isinf(self.rule.gamma) else {}  # it costs nothing there
        return Query(self.Phi, self.rule.gamma, tau, half=self.half, short=short and self.fused, **(loss | more))

    def _past(self, tau: float) -> None:
        """Past separation rows up to tau above the smallest margin pull."""
        low = self.rows.lowest(self.Phi)
        self._take(self.ask(self._query(tau + low, shift=float(underflow_shift(self.rule, low)))))

    def _take(self, answers: list[Answer]) -> None:
        """Keep the answers; a shard whose wrong set has not changed leaves its sum out."""
        kept: list[Nodes | None] = [*self.nodes] or [None] * len(answers)
        found = [old if a.nodes is None else a.nodes for a, old in zip(answers, kept, strict=True)]
        self.nodes = [self.none if nodes is None else nodes for nodes in found]
        self.changed = self.changed or any(a.changed for a in answers)
        self.answers, self.current = answers, True
        if all(a.whole for a in answers):
            self.direct = True
            self.rows.remember(self.Phi, self.low)

    def _new_step(self) -> None:
        """step = unit/N Σ w_i z_i: the plain sum where N = n (Φ counts in n-ths), divided by Σw where N = Σw."""
        out = self.total(self.nodes)
        self.step = out[:-1] / out[-1] if self.rule.normalized and out[-1] > 0.0 else out[:-1].copy()
        self.base = self.Phi.copy()
        self.k, self.safe, self.patience = 0, 0, FIRST_LOOK
        self.stepped = not self.half

    def _move(self, hop: int) -> None:
        """Φ = base + k·step, in one expression, so that the bits do not depend on where a stretch was interrupted."""
        self.k += hop
        self.t += hop
        self.Phi = self.base + self.k * self.step
        self.length = max(self.length, float(norm(self.Phi)))
        self.half = self.evaluated = self.changed = self.current = self.direct = False

    def _foresee(self) -> None:
        """How many more times the same step can be taken before the wrong set of any shard changes."""
        stride = float(norm(self.step))
        steps = min(self.rows.team.ask("horizon", self.Phi, self.step, self.length, stride))
        self.rows_read += 2 * self.rows.n
        self.safe = self.k + int(max(0.0, min(steps - 2.0, 1e18)))
        self.patience = 2 * self.k

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        if self.direct:
            return self.errors == 0
        self.safe, self.many, self.fused = 0, False, False
        tau = 0.0 if isinf(self.rule.gamma) else self.rule.cut / self.rule.gamma
        self._take(self.ask(self._query(tau, fresh=True)))
        return self.errors == 0

    def measure(self) -> Measure:
        """The numbers of this iterate."""
        gamma = self.rule.gamma
        tau = 0.0 if isinf(gamma) else self.rule.cut / gamma
        known = isinf(gamma) and self.current
        answers = self.answers if known else self.ask(self._query(tau, loss=True, fused=self.fused))
        low = min(a.low for a in answers)
        if low > 0.0:  # rows right by the bound alone have not been looked at
            low = self.rows.lowest(self.Phi)
        if low > 0.0 and not isinf(gamma):
            answers = self.ask(self._query(tau + low, shift=float(underflow_shift(self.rule, low)), loss=True))
        self._take(answers)
        return self.measured(answers, self.total(self.nodes), low)

    def _restore(self, k: int) -> None:
        """A shard that was built again has to know who was wrong when the present stretch began."""
        self.rows.restore(k)
        if self.stepped:
            self.rows.team.ask_one(k, "advance", Query(self.base, self.rule.gamma, 0.0, sums=False))

    def save(self) -> dict[str, NDArray[Any]]:
        """Φ and the stretch it is on; margins are computed anew."""
        return {name: getattr(self, "Phi" if name == "phi" else name).copy() for name in STATE} | {
            name: np.array(getattr(self, name)) for name in SCALARS
        }

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        self.Phi, self.base, self.step = (state[name].copy() for name in STATE)
        for name in SCALARS:
            setattr(self, name, state[name][()].item())
        self.length = float(norm(self.Phi))
        self.evaluated, self.safe, self.many, self.changed = False, 0, self.fused, False
        for k in range(len(self.rows.team.bounds) - 1):
            self._restore(k)


class ShardedSweepEngine(_Sharded):
    """The row-at-a-time perceptron: φ goes from shard to shard, in the order of the rows."""

    def __init__(self, rows: ShardedRows, method: Method, theta0: Vector | None, *, lazy: bool) -> None:
        if method.order != "cyclic":
            raise ValueError(
                f"order={method.order!r} needs all rows in memory; rows in files and on clusters are swept in order: "
                "use order='cyclic'."
            )
        super().__init__(rows, method, theta0, lazy)
        self.epoch = self.position = self.clean = 0
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
            self.Phi, self.clean = swept.phi, swept.clean
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
