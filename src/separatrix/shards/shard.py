"""Shard: consecutive rows in place, with lazy state of their own; it answers what an iterate means for them.

`advance` brings the margins that matter up to date and gives the weighted sum of the rows that pull; `sweep` walks the
perceptron through the rows; `map` hands the rows piece by piece to any other question. Nothing but φ and small sums
goes in or out. A shard that is lost can be built again from its source at any time: its lazy state decides what is
read, never what comes out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import shard as kernel
from separatrix.core.constants import UNIT
from separatrix.core.definition import BLOCK, hypot
from separatrix.core.library import Ask, Bounds, Sweep, core
from separatrix.core.rows import Stored, Tree, distance, norm
from separatrix.data.arrays import complain_about_row, exact_parts
from separatrix.data.labels import Labels, join_labels, read_labels
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Vector
from separatrix.data.sources import Source
from separatrix.shards.layout import largest, leaves
from separatrix.shards.messages import Answer, Nodes, Plan, Query, Survey, Swept
from separatrix.shards.places import Places, Task

PIECE = 8 << 20  # bytes of rows read at a time where they are not read one by one
NONE = np.empty(0)


class Shard:
    """Rows `first` … of `total`; `first` is a multiple of BLOCK, so blocks are those of the whole."""

    def __init__(
        self,
        rows: Source,
        labels: Labels,
        weight: Vector | None,
        first: int,
        total: int,
        *,
        lazy: bool = True,
        threads: int = 1,
    ) -> None:
        core()  # without it there is nothing to do here
        self.source, self.labels, self.first, self.total = rows, labels, first, total
        self.n, self.d, self.keeps = rows.n, rows.d, lazy
        self.weight = NONE if weight is None else np.require(weight, np.float64, ["C", "A"])
        self.live = self.n if weight is None else int((weight > 0).sum())
        self.piece = max(BLOCK, PIECE // (rows.d * rows.dtype.itemsize) // BLOCK * BLOCK)
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.edges, self.levels, self.numbers = leaves(first, self.n, total, rows.breaks)
        self.sums = np.zeros((len(self.levels), self.d + 2))
        self.found = np.zeros((len(self.levels), kernel.COUNTS))
        places = Places(rows, self.edges, threads, self.piece)
        self.tasks, self.single = places.tasks(), places.single()
        buffers = threads if any(t.file is not None for t in self.tasks) else 0
        self.buffers = [np.empty((BLOCK, self.d), dtype=rows.dtype) for _ in range(buffers)]
        self.r = np.zeros(0, dtype=np.float32)

    def close(self) -> None:
        """End its threads."""
        if self.pool is not None:
            self.pool.shutdown()

    # Before a run ----------------------------------------------------------------------------------------------------

    def survey(self) -> Survey:
        """Labels and row lengths; every complaint about the rows is raised here."""
        found: list[NDArray[Any]] = []
        self.r = np.zeros(self.n if self.keeps else 0, dtype=np.float32)
        for lo in range(0, self.n, 1 << 18):
            _, classes = read_labels(self.labels.read(lo, min(lo + (1 << 18), self.n)), self.first + lo)
            found.append(classes)
        spans = [(lo, min(lo + self.piece, self.n)) for lo in range(0, self.n, self.piece)]
        threaded = self.pool is not None and not any(t.reads for t in self.tasks)
        parts = list(self.pool.map(self._lengths, spans)) if threaded and self.pool else list(map(self._lengths, spans))
        top = max(longest for longest, _ in parts)
        squares = sum(total * (longest / top) ** 2 for longest, total in parts) if top > 0 else 0.0
        live = self.weight[self.weight > 0]
        sizes, least = (exact_parts(live), float(live.min(initial=inf))) if len(self.weight) else ([float(self.n)], 1.0)
        return Survey(join_labels(found), top, squares, sizes, least)

    def _lengths(self, span: tuple[int, int]) -> tuple[float, float]:
        """The longest of these rows, and Σ s_i (‖a_i‖/longest)²; all are kept."""
        lo, hi = span
        rows = self.source.read(lo, hi)
        r = Stored(rows, self.d).norms()
        if not np.isfinite(r).all():
            complain_about_row(rows, int(np.flatnonzero(~np.isfinite(r))[0]), None, self.first + lo)
        if self.keeps:
            self.r[lo:hi] = np.clip(r, 1e-37, 3e38)  # a row that is too short for float32 counts as longer
        s = self.weight[lo:hi] if len(self.weight) else 1.0
        top = float((r * (s > 0)).max() if len(self.weight) else r.max())
        r /= top or 1.0
        return top, float((s * r) @ r)

    def begin(self, plan: Plan) -> None:
        """Signs, scale and intercept; no row has been looked at yet."""
        n = self.n
        self.plan, self.unit = plan, 1.0 / plan.scale
        sign = np.empty(n, dtype=np.int8)
        for lo in range(0, n, 1 << 18):
            label = self.labels.read(lo, min(lo + (1 << 18), n))
            sign[lo : lo + len(label)] = np.ravel(label) == plan.positive
        sign += sign
        sign -= 1  # 1 and 0 become 1 and -1
        lazy = plan.lazy and self.keeps and 1e-30 < plan.scale < 1e30
        r = reach = far = wrong = None
        if lazy:
            r = np.empty(n, dtype=np.float32)
            for lo in range(0, n, 1 << 18):
                part = slice(lo, lo + (1 << 18))
                norms = self.r[part].astype(np.float64)
                r[part] = hypot(norms, plan.bias) * (self.unit * (1 + 4e-7)) + 3e-45  # float32 rounds twice
            reach = np.full(n, -np.inf, dtype=np.float32)
            far = reach if plan.rowwise else np.full(n, -np.inf, dtype=np.float32)
        if not plan.rowwise:
            wrong = np.zeros(n, dtype=np.uint8)
        self.sign, self.reach = sign, reach
        s = self.weight if len(self.weight) else None
        self.facts = kernel.keep(n, sign=sign, s=s, r=r, reach=reach, far=far, wrong=wrong)
        self.lazy, self.marks, self.sent, self.half = lazy, wrong is not None, False, False
        self.bounds = Bounds(D=self.d + 1, n=n)
        self.bounds.point(anchor=np.zeros(self.d + 1), last=np.zeros(self.d + 1))
        held = [t.held[0] for t in (*self.tasks, *self.single) if t.held is not None]
        self.stored = {id(rows): Stored(rows, self.d, plan.bias) for rows in held}
        self.blocks = [Stored((buffer,), self.d, plan.bias) for buffer in self.buffers]
        self.at = Sweep()
        self.anchors = np.full((len(self.levels) if plan.rowwise and lazy else 0, self.d + 1), np.nan)
        self.visits = np.zeros((len(self.levels), 2), dtype=np.int64)  # since a leaf's anchor was set, rows due in them

    # The batch methods -----------------------------------------------------------------------------------------------

    def advance(self, query: Query) -> Answer:
        """The numbers of this iterate: margins where they matter, and Σ w_i z_i."""
        began = time.perf_counter()
        phi = kernel.vector(query.phi, self.d + 1)
        ask = self._ask(query, phi)
        self._pass(ask, phi)
        f = self.found.sum(axis=0)
        read, changed = int(f[kernel.READ]), bool(f[kernel.CHANGED])
        self._note(phi, read)
        answer = Answer(
            errors=int(f[kernel.ERRORS]),
            active=int(f[kernel.ACTIVE]),
            low=float(self.found[:, kernel.LOW].min()),
            tie=float(self.found[:, kernel.TIE].min()),
            loss=float(f[kernel.LOSS]),
            lost=float(f[kernel.LOST]),
            changed=changed,
            read=read,
            whole=read == self.live,
            nodes=None,
            seconds=0.0,
        )
        # At γ = ∞ the sum is that of the wrong set: while it stays the same there is nothing to send.
        if query.sums and (changed or not self.sent or self.half != query.half or not ask.mark):
            answer.nodes = self._nodes()
            self.sent, self.half = True, query.half
        answer.seconds = time.perf_counter() - began
        return answer

    def _ask(self, q: Query, phi: Vector) -> Ask:
        kernel.begin_look(self.bounds, phi, norm(phi), fresh=q.fresh, lazy=self.lazy)
        ask = Ask(
            gamma=q.gamma,
            tau=q.tau,
            shift=q.shift,
            unit=self.unit,
            gone=self.bounds.path,
            path=self.bounds.reach,
            line=self.bounds.line,
            every=self.bounds.every,
            lazy=self.lazy,
            half=q.half,
            loss=q.loss,
            mark=q.mark and isinf(q.gamma) and self.marks,
        )
        ask.point(phi=phi)
        return ask

    def _note(self, phi: Vector, read: int) -> None:
        """Where distances are now measured from, and whether the next pass should take every row."""
        kernel.end_look(self.bounds, phi, read, lazy=self.lazy)
        if self.lazy and self.plan.rowwise:  # every leaf has an anchor of its own
            if self.bounds.every:
                self.anchors[:] = phi
                self.visits[:, 0], self.visits[:, 1] = 0, np.diff(self.edges)
            else:
                self.bounds.anchored = 2 * read < self.n

    def _pass(self, ask: Ask, phi: Vector) -> None:
        """One pass over the leaves, on all threads where there are several; what must be read comes last, on one."""
        ready = [t for t in self.tasks if not t.reads]
        lanes: list[Future[None]] = []
        try:
            if self.pool is None or len(ready) < 2:
                self._lane(ready, ask, phi, 0)
            else:
                parts = [ready[k :: self.threads] for k in range(self.threads)]
                lanes = [self.pool.submit(self._lane, part, ask, phi, k) for k, part in enumerate(parts)]
                for lane in lanes:
                    lane.result()
            self._lane([t for t in self.tasks if t.reads], ask, phi, 0)
        except BaseException:  # half a pass, by Ctrl-C say: no bound is trusted after it, no sum counts as sent
            self.bounds.anchored, self.sent = 0, False
            self.anchors[:] = np.nan
            raise
        finally:
            wait(lanes)

    def _lane(self, tasks: Sequence[Task], ask: Ask, phi: Vector, k: int) -> None:
        for task in tasks:
            if not self.plan.rowwise or ask.every:
                self._leaves(task, ask, k)
                continue
            at = Sweep()
            for leaf in range(task.lo, task.hi):  # each has an anchor of its own
                self._from_anchor(leaf, phi, at)
                reach = kernel.reached(at, self.d + 1)
                own = kernel.copied(ask, gone=-at.away, path=reach, line=reach)
                self._leaves(task._replace(lo=leaf, hi=leaf + 1), own, k)

    def _leaves(self, task: Task, ask: Ask, k: int) -> None:
        edges, sums, found = (
            self.edges[task.lo : task.hi + 1],
            self.sums[task.lo : task.hi],
            self.found[task.lo : task.hi],
        )
        first, last = int(edges[0]), int(edges[-1])
        if task.held is not None:
            rows = self.stored[id(task.held[0])]
            kernel.pass_held(rows, task.held[1], self.facts, ask, edges, sums, found, True)
        elif task.file is not None:
            if not kernel.pass_file(self.blocks[k], *task.file, self.facts, ask, edges, sums, found):
                raise OSError(f"rows {self.first + first} to {self.first + last - 1} could not be read any more.")
        elif ask.every or kernel.any_due(self.facts, ask, first, last):
            for leaf in range(len(edges) - 1):
                for lo in range(int(edges[leaf]), int(edges[leaf + 1]), self.piece):
                    span = np.array([lo, min(lo + self.piece, int(edges[leaf + 1]))])
                    rows, here = self._read(*span.tolist()), slice(leaf, leaf + 1)
                    kernel.pass_held(rows, lo, self.facts, ask, span, sums[here], found[here], lo == edges[leaf])
        else:
            kernel.nothing(sums, found)

    def _read(self, lo: int, hi: int) -> Stored:
        """Rows lo … hi-1 from their source."""
        return Stored(self.source.read(lo, hi), self.d, self.plan.bias)

    def _nodes(self) -> Nodes:
        """Sums of the largest groups of blocks that lie wholly in this shard, where a row of them pulls."""
        levels, numbers, sums = [], [], []
        tree = Tree(self.d + 2)
        end = -(-self.total // BLOCK)
        b0, b1 = self.first // BLOCK, -(-(self.first + self.n) // BLOCK)
        group: tuple[int, int] | None = None

        def close() -> None:
            if group is not None and group[0] > 0:
                sums.append(tree.finish(group[0]))

        for leaf in np.flatnonzero(self.found[:, kernel.ACTIVE]):
            level, number = int(self.levels[leaf]), int(self.numbers[leaf])
            node = largest(level, number, b0, b1, end)
            if node != group:
                close()
                group = node
                levels.append(node[0])
                numbers.append(node[1])
            if node[0] > level:
                tree.put(level, number, self.sums[leaf])
            elif level > 0:
                tree.sums[level] = self.sums[leaf]  # it is the node itself
            else:
                sums.append(self.sums[leaf].copy())
        close()
        shape = (len(sums), self.d + 2)
        return Nodes(np.array(levels, dtype=np.int64), np.array(numbers, dtype=np.int64), np.array(sums).reshape(shape))

    def horizon(self, phi: Vector, step: Vector, length: float, stride: float) -> float:
        """How often the step can be taken before a row of this shard changes sides."""
        rounding, steps = 4.0 * UNIT * (self.d + 9), inf
        for lo, hi, rows in self.pieces():
            m, q = (kernel.products(rows, self.d, self.sign[lo:hi], self.unit, self.plan.bias, v) for v in (phi, step))
            r = hypot(Stored(rows, self.d).norms(), self.plan.bias) * self.unit
            live = self.weight[lo:hi] > 0 if len(self.weight) else slice(None)
            steps = min(steps, kernel.horizon(m[live], q[live], r[live], rounding * length, rounding * stride))
        return steps

    # The perceptron --------------------------------------------------------------------------------------------------

    def sweep(self, phi: Vector, position: int, clean: int, steps: int) -> Swept:
        """Go on through the rows from `position`, `clean` rows right in turn before it, for at most `steps` updates."""
        phi, c = kernel.vector(phi, self.d + 1).copy(), self.at
        c.t, c.clean, c.rows_read = 0, clean, 0
        while position < self.n and c.t < steps and c.clean < self.total:
            leaf = int(np.searchsorted(self.edges, position, side="right")) - 1
            if self.lazy:
                self._enter(leaf, phi, position)
            position = self._sweep_leaf(leaf, phi, position, steps - c.t)
        return Swept(phi, c.t, c.clean, position, c.rows_read)

    def _enter(self, leaf: int, phi: Vector, position: int) -> None:
        """Measure distances from this leaf's anchor, or from here: where many rows are due they are all seen anew."""
        lo, hi = int(self.edges[leaf]), int(self.edges[leaf + 1])
        fresh = bool(np.isnan(self.anchors[leaf, 0]))
        if position == lo and not fresh:
            self._from_anchor(leaf, phi, self.at)
            due = kernel.count_wrong(self.facts, lo, hi, kernel.reached(self.at, self.d + 1))
            visits, spent = self.visits[leaf] + (1, due)
            self.visits[leaf] = visits, spent
            fresh = 2 * due > hi - lo or (due > 64 and due * visits > spent)
        if fresh:
            self.anchors[leaf] = phi
            if self.reach is not None:
                self.reach[lo:hi] = -np.inf
            self.visits[leaf] = 0, hi - lo
        self._from_anchor(leaf, phi, self.at)

    def _from_anchor(self, leaf: int, phi: Vector, at: Sweep) -> None:
        at.away, at.length = distance(phi, self.anchors[leaf]), norm(self.anchors[leaf])

    def _sweep_leaf(self, leaf: int, phi: Vector, position: int, steps: int) -> int:
        """The perceptron on through one leaf; returns the next row."""
        c, end = self.at, int(self.edges[leaf + 1])
        anchor = self.anchors[leaf] if self.lazy else phi
        walk = kernel.Walk(self.facts, phi, anchor, self.unit, c, self.total, steps, self.lazy)
        task = self.single[leaf]
        if task.held is not None:
            return kernel.sweep_held(self.stored[id(task.held[0])], task.held[1], walk, position, end)
        if task.file is not None:
            at = kernel.sweep_file(self.blocks[0], *task.file, walk, position, end)
            if at < 0:
                raise OSError(f"rows {self.first + position} to {self.first + end - 1} could not be read any more.")
            return at
        reach = kernel.reached(c, self.d + 1)
        if self.lazy and not kernel.count_wrong(self.facts, position, end, reach):  # φ does not move among these rows
            passed = min(end - position, self.total - c.clean)
            c.clean += passed
            return int(position + passed)
        end = min(position + self.piece, end)
        return kernel.sweep_held(self._read(position, end), position, walk, position, end)

    # Anything else ---------------------------------------------------------------------------------------------------

    def pieces(self) -> Iterator[tuple[int, int, Any]]:
        """All rows in order, some at a time."""
        for lo in range(0, self.n, self.piece):
            hi = min(lo + self.piece, self.n)
            yield lo, hi, self.source.read(lo, hi)

    def held_pieces(self) -> Iterator[tuple[int, HeldRows]]:
        """The pieces as rows in memory, each with the number of its first row."""
        plan = self.plan
        for lo, hi, rows in self.pieces():
            r = Stored(rows, self.d).norms()
            yield (
                self.first + lo,
                HeldRows(
                    rows,
                    self.sign[lo:hi].astype(np.float64) * self.unit,
                    self.weight[lo:hi] if len(self.weight) else np.ones(hi - lo),
                    hypot(r, plan.bias) * self.unit,
                    plan.scale,
                    plan.bias,
                    np.array([-1, 1]),
                    self.d,
                ),
            )

    def map(self, question: Callable[..., Any], *args: Any) -> list[Any]:
        """question(first row, piece, *args) for every piece of the rows."""
        return [question(first, piece, *args) for first, piece in self.held_pieces()]
