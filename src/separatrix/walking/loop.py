"""The loop that makes runs: method x engine, stopping, recording, checkpoint → Run.

A run stops on margins, never on the loss, unless `settled` is given: with large step sizes the loss can rise while the
iterates get closer to a separator, which is the paper's second finding.

Stepping, stopping, recording and saving of a run happen here and nowhere else. Two places step an engine by hand and
make no run of it: the perceptron among the tools of `deciding.search`, which looks at the wrong rows between its steps,
and `one_vs_rest`, where several perceptrons share a sweep before each run is brought to its end here.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from math import frexp, inf, isfinite, isinf
from typing import Any

import numpy as np

from separatrix.core.threads import threads
from separatrix.data.rows import ClusterError, Rows, Vector
from separatrix.walking.angle import Angle
from separatrix.walking.checkpoint import Checkpoint, Saved, describe, fresh_seed, load, restore, write
from separatrix.walking.engines import Engine, Gram, make_engine, rule_of
from separatrix.walking.engines.base import sharpness as sharpness_at
from separatrix.walking.engines.base import unit_of
from separatrix.walking.methods import Plan
from separatrix.walking.run import Cycle, Iterate, Run, Status, Stop, Tie, times
from separatrix.walking.settled import Settled
from separatrix.walking.trace import Recorder

SLICE = 0.1  # seconds of compiled work between two looks at the keyboard and the clock


class Pace:
    """How many steps the next slice of work takes, and on how many threads; the results depend on neither.

    On a busy machine threads that wait for each other can be far slower than one alone, so both ways are timed now and
    then, and the faster one is used.
    """

    def __init__(self, most: int) -> None:
        self.ways = (most, 1) if most > 1 else (1,)
        self.cost = dict.fromkeys(self.ways, 0.0)  # seconds per step, 0 until tried
        self.turn = 0
        self.full = 64  # steps that take about SLICE seconds

    @property
    def threads(self) -> int:
        """The faster way, except that every 32nd slice tries the other."""
        best = min(self.ways, key=lambda k: self.cost[k])
        return best if self.turn % 32 else next((k for k in self.ways if k != best), best)

    @property
    def steps(self) -> int:
        """Steps for the next slice; a trial is kept short."""
        return self.full if self.turn % 32 else max(1, self.full // 64)

    def note(self, took: float, done: int, wanted: int) -> None:
        """Learn from a slice: `done` of `wanted` steps in `took` seconds."""
        cost, way = took / max(done, 1), self.threads
        self.cost[way] = cost if self.cost[way] == 0.0 else 0.5 * (self.cost[way] + cost)
        if took > SLICE:
            self.full = max(1, self.full // 2)
        elif took < SLICE / 2 and wanted == self.full:
            self.full = min(2 * self.full, 1 << 40)
        self.turn += 1


class Walk:
    """One run under way: `iterates()` yields each recorded iterate, `run()` the result so far."""

    def __init__(
        self,
        rows: Rows,
        method: Plan,
        *,
        engine: str | Gram = "auto",
        theta0: Vector | None = None,
        max_iter: int = 100_000,
        max_epochs: float = inf,
        stop: Stop = "separated",
        recorder: Recorder | None = None,
        angle: Angle | None = None,
        callback: Callable[[Iterate], Any] | None = None,
        checkpoint: Checkpoint | None = None,
        seed: int | None = None,
        average: bool = False,
        arithmetic: str = "float64",
        progress: Callable[[Engine, bool], Any] | None = None,
        settled: Settled | None = None,
    ) -> None:
        self.rows, self.method, self.progress, self.told_at = rows, method, progress, 0.0
        self.max_iter, self.max_epochs, self.stop, self.callback = max_iter, max_epochs, stop, callback
        self.recorder = Recorder("log", False, angle is not None) if recorder is None else recorder
        self.checkpoint, self.angle, self.settled = checkpoint, angle, settled
        self.may_overflow = (
            method.schedule is not None
        )  # else steps are rows' means, or a method's own, which complains
        self.status: Status | None = None
        self.seconds = 0.0
        self.shown: weakref.WeakSet[Iterate] = weakref.WeakSet()  # of this iterate, those that someone still has
        self.saved: Saved | None = None
        if checkpoint is not None:
            header = describe(rows, method, engine, theta0, self.recorder, arithmetic)
            self.saved = restore(checkpoint, header, seed)
            seed = self.saved.seed
        seed = fresh_seed() if seed is None else seed
        self.engine: Engine = make_engine(
            engine, rows, method, theta0, seed=seed, average=average, arithmetic=arithmetic
        )
        if checkpoint is not None and self.saved is not None and self.saved.found:
            self.seconds = load(checkpoint, self.engine, self.recorder, rows)

    def iterates(self) -> Iterator[Iterate]:
        """Advance from one recorded iterate to the next until the run ends; Ctrl-C ends it too."""
        try:
            yield from self._iterates()
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        except ClusterError:
            self._save()  # the iterate itself is here: nothing is lost
            raise
        except Exception:
            self._keep_shown()  # a callback's error: what it kept outlives the run
            raise
        recorded = len(self.recorder.rows)
        iterate = self._record()
        self._save()
        self.tell(over=True)
        if len(self.recorder.rows) > recorded:
            if self.callback is not None:
                self.callback(iterate)
            yield iterate

    def _iterates(self) -> Iterator[Iterate]:
        engine, at_separation = self.engine, self.stop == "separated"
        pace, last_save = Pace(threads()), time.monotonic()
        self._timed(0)
        by_epoch = self.recorder.record == "epoch"
        fresh = self.recorder.record is not None and not self.recorder.rows
        due: int | None = int(by_epoch) if fresh else self._next()  # sweeps are recorded at their ends
        while True:
            if callable(self.stop) and self.stop(self._iterate()):
                self.status = Status.STOPPED
                return
            if at_separation and engine.errors == 0:
                if not engine.check():
                    continue
                # The engine holds n φ or the like; what is claimed is claimed of the φ that is returned.
                if self._lowest(engine.phi()) > 0:
                    self.status = Status.SEPARATED
                else:
                    self.status = Status.ROUNDED if self._measurable() else Status.DIVERGED
                return
            if at_separation and engine.cycle is not None:
                self.status = Status.CYCLE
                return
            iterate = None
            if self.settled is not None and engine.t >= self.settled.due:
                iterate = self._iterate()
                if self.settled.look(engine.t, iterate.measure):
                    self.status = Status.SETTLED
                    return
            if due is not None and (engine.epoch if by_epoch else engine.t) >= due:
                iterate = self._record(iterate)
                due = self._next()
                enough = self.callback is not None and self.callback(iterate)
                yield iterate
                if enough:
                    self.status = Status.STOPPED
                    return
            iterate = None  # whoever still has it has kept it
            if engine.t >= self.max_iter or engine.epoch >= self.max_epochs:
                self.status = Status.MAX_ITER
                return
            goal = self.max_iter if due is None or by_epoch else min(due, self.max_iter)
            goal = goal if self.settled is None else min(goal, self.settled.due)
            epoch = self.max_epochs if due is None or not by_epoch else min(due, self.max_epochs)
            engine.use_threads(pace.threads)
            wanted, before = 1 if callable(self.stop) else min(pace.steps, goal - engine.t), engine.t
            state = engine.save() if self.may_overflow else {}
            try:
                pace.note(self._timed(wanted, epoch), engine.t - before, wanted)
            except ValueError:  # of a step size that came too late, or of weights of margins that are no numbers
                if not self.may_overflow or self._measurable():
                    raise
                overflown = True
            else:
                overflown = self.may_overflow and not self._finite()
            if overflown:
                self._back(state, engine.t - before)
                self.status = Status.DIVERGED
                return
            self.tell()
            if self.checkpoint is not None and time.monotonic() - last_save > self.checkpoint.every:
                self._save()
                last_save = time.monotonic()

    def _finite(self) -> bool:
        return bool(np.isfinite(self.engine.phi()).all())

    def _measurable(self) -> bool:
        """Whether the margins of the present iterate are finite in the engine's units."""
        Phi = self.engine.phi() * (unit_of(self.rows, self.method) / self.rows.scale)
        return isfinite(self.rows.lowest(Phi))

    def _back(self, state: dict[str, Any], steps: int) -> None:
        """To the last finite iterate, by halves: slices end where the clock says, and nothing else may."""
        good, bad = 0, steps
        while bad - good > 1:
            middle = (good + bad) // 2
            self.engine.load(state)
            self.engine.advance(middle, False)
            good, bad = (middle, bad) if self._finite() else (good, middle)
        self.engine.load(state)
        self.engine.advance(good, False)

    def _timed(self, steps: int, epoch: float = inf) -> float:
        self._keep_shown()
        began = time.perf_counter()
        self.engine.advance(steps, self.stop == "separated", epoch)
        took = time.perf_counter() - began
        self.seconds += took
        return took

    def _lowest(self, phi: Vector) -> float:
        """The smallest z_iᵀφ, for its sign; where products overflow or vanish, that of a φ of length about 1."""
        low, top = self.rows.lowest(phi), float(abs(phi).max())
        if (isfinite(low) and low != 0) or not 0 < top < inf:
            return low
        return self.rows.lowest(np.ldexp(phi, -frexp(top)[1]))

    def _keep_shown(self) -> None:
        """Let the iterates that someone still has take over what is theirs, before the engine goes on or away."""
        for kept in self.shown:
            kept.keep()
        self.shown.clear()

    def tell(self, over: bool = False) -> None:
        """How far the run has come, for those who wait."""
        if self.progress is not None and (over or time.monotonic() - self.told_at > SLICE):
            self.progress(self.engine, over)
            self.told_at = time.monotonic()

    def _next(self) -> int | None:
        last = int(self.recorder.rows[-1][0]) if self.recorder.rows else 0
        return self.recorder.next_after(self.engine.epoch if self.recorder.record == "epoch" else last)

    def _iterate(self) -> Iterate:
        iterate = Iterate(self.engine, self.method, self.rows, self.seconds)
        self.shown.add(iterate)
        return iterate

    def _record(self, iterate: Iterate | None = None) -> Iterate:
        """Write the present iterate into the trace; not timed."""
        iterate = self._iterate() if iterate is None else iterate
        asked: list[float] = []
        if "sharpness" in self.recorder.names and self.rows.whole is not None:
            Phi = self.engine.phi() * (unit_of(self.rows, self.method) / self.rows.scale)
            iterate.sharpness = sharpness_at(self.rows.whole.sheet(), rule_of(self.rows, self.method), Phi)
            asked.append(iterate.sharpness)
        if self.angle is not None:
            iterate.angle_low, iterate.angle_high = self.angle.interval(self.engine.phi())
            asked += iterate.angle_low, iterate.angle_high
        phi = None if self.recorder.iterates is None else iterate.phi
        self.recorder.add(iterate.t, iterate.measure, self.seconds, *asked, phi=phi)
        return iterate

    def _save(self) -> None:
        if self.checkpoint is not None and self.saved is not None:
            write(self.checkpoint, self.saved, self.engine, self.recorder, self.rows, self.seconds)

    def finish(self) -> Run:
        """Walk to the end; the result."""
        deque(self.iterates(), maxlen=0)
        return self.run()

    def run(self) -> Run:
        """The result; `separated` is re-checked on the raw data whatever the status."""
        self._keep_shown()
        status = Status.STOPPED if self.status is None else self.status
        engine, phi = self.engine, self.engine.phi()
        separated = status is Status.SEPARATED or (not engine.seen_wrong and self._lowest(phi) > 0)
        if separated and status in (Status.MAX_ITER, Status.CYCLE, Status.SETTLED):
            status = Status.SEPARATED
        short = self.rows.unpad(phi)
        mean = engine.average()
        return Run(
            method=self.method.name,
            step_size=self.method.gamma,
            power=self.method.power,
            status=status,
            separated=separated,
            n_iter=engine.t,
            theta=times(self.method.gamma, short),
            phi=short,
            bias=self.rows.bias,
            average=None if mean is None else self.rows.unpad(mean),
            engine=engine.name,
            seconds=self.seconds,
            trace=self.recorder.trace("perceptron loss" if isinf(self.method.gamma) else "logistic loss"),
            stats=engine.stats(),
            ties=None if engine.tie is None else Tie(*engine.tie),
            scheduled=self.method.schedule is not None,
            cycle=None if engine.cycle is None else Cycle(*engine.cycle),
            iterates=self.recorder.kept(len(short)),
        )
