"""One iterate of the batch methods over rows that are held elsewhere: in an array, or in a file, a block at a time.

What is kept per row is small: its sign, its norm rounded up and lower bounds on its margin rounded down in float32, and
whether it was wrong. Blocks are those of the canonical sum, so the sums have the bits of `rows.sum_rows`, whoever holds
the rows. A block is looked at as 512 rows in place: a view of an array, or a buffer in which the rows that are due have
been read to where they belong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core.types import ExternalFunction
from numba.extending import overload

from separatrix.core.fused import _fused_block, weight
from separatrix.core.rows import BLOCK, accumulate, margins
from separatrix.core.sweep import Ahead, down, go, reached

ROOM = 2.0  # times the longest row
NEAR = 4096  # bytes between two rows that are read over rather than asked for separately
ERRORS, ACTIVE, LOW, LOSS, LOST, CHANGED, READ = range(7)  # what is counted in a leaf
COUNTS = 7

pread = ExternalFunction("pread", types.intp(types.int32, types.voidptr, types.uintp, types.int64))


class Facts(NamedTuple):
    """What is kept of every row; empty arrays where a thing is not wanted."""

    sign: Any  # int8
    s: Any  # sample weights, empty: all 1
    r: Any  # float32, rounded up
    reach: Any  # float32, rounded down: margin + r·path when last seen
    far: Any  # float32, rounded down: margin at the anchor
    wrong: Any  # uint8, at the last step's iterate


class Ask(NamedTuple):
    """One iterate, and what is wanted of it."""

    phi: Any
    short: Any  # the same in float32 for a fused pass, or empty
    gamma: float
    tau: float  # margins beyond it have no weight
    shift: float  # ln of a factor on all weights
    bias: float
    unit: float  # 1/scale
    gone: float  # distance gone since the anchor (minus the distance from it, where bounds are the perceptron's)
    path: float  # the same with slack for rounding
    line: float  # the straight distance, with slack
    every: bool  # read all rows, and set the anchor here
    lazy: bool  # keep bounds at all
    half: bool  # the first step from 0: all weights ½
    fused: bool
    loss: bool  # also the loss
    mark: bool  # remember who is wrong


def window(rows: Any, lo: int, hi: int) -> Any:
    """The rows lo … hi-1 as rows of their own, without a copy."""


@overload(window)
def _window(rows, lo, hi):
    if len(rows) == 3:
        return lambda rows, lo, hi: (rows[0], rows[1], rows[2][lo : hi + 1])
    return lambda rows, lo, hi: (rows[0][lo:hi],)


@njit(cache=True, nogil=True)
def due_in(facts, lo, hi, ask, due):
    """List the rows of lo … hi-1, counted from lo, whose margin may be at tau or below (see `batch.due_rows`).

    For the perceptron's bounds `far` is `reach`, and both distances are that from the anchor.
    """
    count = 0
    weighted = facts.s.shape[0] > 0
    for i in range(lo, hi):
        if weighted and facts.s[i] == 0.0:
            continue
        # A row that was wrong is looked at even if a bound says that it no longer is: the change must be seen.
        if (
            ask.every
            or (ask.mark and facts.wrong[i])
            or not (
                facts.reach[i] - np.float64(facts.r[i]) * ask.path > ask.tau
                or facts.far[i] - np.float64(facts.r[i]) * ask.line > ask.tau
            )
        ):
            due[count] = i - lo
            count += 1
    return count


@njit(cache=True, nogil=True)
def read_due(fd, start, step, due, count, buffer):
    """Read the due rows of one block to their places; rows in between that are near are read along. False: not there.

    Row k of the block begins at byte start + k·step of the file.
    """
    j = 0
    while j < count:
        first = last = due[j]
        while j + 1 < count and (due[j + 1] - last - 1) * step <= NEAR:
            j += 1
            last = due[j]
        at, end = first * step, (last + 1) * step
        while at < end:
            got = pread(fd, buffer[at:].ctypes, end - at, start + at)
            if got <= 0:
                return False
            at += got
        j += 1
    return True


@njit(cache=True, nogil=True)
def look(rows, facts, lo, hi, ask, due, count, desk, part, found):
    """Margins and weights of the due rows of one block, and their weighted sum in `part`; `rows` is the block."""
    sign, s, m, w, active, every = desk
    weighted = facts.s.shape[0] > 0
    for k in range(hi - lo):
        sign[k] = facts.sign[lo + k] * ask.unit
        s[k] = facts.s[lo + k] if weighted else 1.0
    part[:] = 0.0
    if ask.fused:
        tally = np.zeros(4)
        _fused_block(
            rows, every, 0, hi - lo, ask.phi, ask.short, ask.bias, sign, s, ask.gamma, ask.tau, m, w, part, tally
        )
        n_active = np.int64(tally[1])
    else:
        margins(rows, due, 0, count, ask.phi, ask.bias, sign, m)
        n_active = 0
        for j in range(count):
            k = due[j]
            if m[k] <= ask.tau:
                active[n_active] = k
                n_active += 1
                w[k] = s[k] * (0.5 if ask.half else weight(ask.gamma, m[k], ask.shift))
        if n_active:
            accumulate(rows, active, 0, n_active, w, ask.bias, sign, part.shape[0] - 2, part)
    found[ACTIVE] += n_active
    found[READ] += count
    for j in range(count):
        k = due[j]
        i = lo + k
        bad = m[k] <= 0.0
        if bad:
            found[ERRORS] += 1.0
            found[LOST] += s[k]
        margin = m[k] if m[k] == m[k] else -np.inf  # a margin that is no number is not right
        found[LOW] = min(found[LOW], margin)
        if ask.loss and m[k] <= ask.tau:
            x = -m[k] if np.isinf(ask.gamma) else -ask.gamma * m[k]
            if np.isfinite(ask.gamma):
                x = np.log1p(np.exp(x)) if x < 30.0 else x + np.exp(-x)
            found[LOSS] += s[k] * x
        if ask.mark and (facts.wrong[i] > 0) != bad:
            facts.wrong[i] = bad
            found[CHANGED] += 1.0
        if ask.lazy:
            facts.reach[i] = down(m[k] + np.float64(facts.r[i]) * (0.0 if ask.every else ask.gone))
            if ask.every:
                facts.far[i] = facts.reach[i]


@njit(cache=True, nogil=True)
def clear(found):
    found[:] = 0.0
    found[LOW] = np.inf


@njit(cache=True, nogil=True)
def make_desk():
    """Scratch for one block: signs, sample weights, margins, weights, active rows, all rows."""
    every = np.arange(BLOCK)
    return (np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK, np.int64), every)


@njit(cache=True, nogil=True)
def pass_held(rows, first, facts, ask, edges, sums, found, begin):
    """The leaves between these edges over rows in an array, whose first is row `first` of the shard.

    A leaf is a run of whole blocks, rows edges[leaf] … edges[leaf+1]-1; its sum goes to sums[leaf], what is counted
    to found[leaf]. A leaf may come in pieces, and only the first of them begins it.
    """
    desk, due = make_desk(), np.zeros(BLOCK, np.int64)
    part = np.zeros(sums.shape[1])
    for leaf in range(edges.shape[0] - 1):
        if begin:
            sums[leaf] = 0.0
            clear(found[leaf])
        for lo in range(edges[leaf], edges[leaf + 1], BLOCK):
            hi = min(lo + BLOCK, edges[leaf + 1])
            count = due_in(facts, lo, hi, ask, due)
            if count or ask.fused:
                block = window(rows, lo - first, hi - first)
                look(block, facts, lo, hi, ask, due, count, desk, part, found[leaf])
                sums[leaf] += part


@njit(cache=True, nogil=True)
def pass_file(fd, start, buffer, facts, ask, edges, sums, found):
    """The same over a file of rows in the machine's own floats, row 0 of the shard at byte `start`.

    Only the rows that are due are read. True if they were all there.
    """
    desk, due = make_desk(), np.zeros(BLOCK, np.int64)
    part = np.zeros(sums.shape[1])
    step = buffer.shape[1] * buffer.itemsize
    raw = buffer.reshape(buffer.size).view(np.uint8)
    for leaf in range(edges.shape[0] - 1):
        sums[leaf] = 0.0
        clear(found[leaf])
        for lo in range(edges[leaf], edges[leaf + 1], BLOCK):
            hi = min(lo + BLOCK, edges[leaf + 1])
            count = due_in(facts, lo, hi, ask, due)
            if count == 0 and not ask.fused:
                continue
            wanted, rows = (desk[5], hi - lo) if ask.fused else (due, count)
            if not read_due(fd, start + lo * step, step, wanted, rows, raw):
                return False
            look((buffer,), facts, lo, hi, ask, due, count, desk, part, found[leaf])
            sums[leaf] += part
    return True


@njit(cache=True, nogil=True)
def nothing(sums, found):
    """What a pass finds where no row is due."""
    for leaf in range(found.shape[0]):
        sums[leaf] = 0.0
        clear(found[leaf])


@njit(cache=True, nogil=True)
def count_wrong(facts, lo, hi, reach):
    """How many rows of lo … hi-1 the perceptron may find wrong."""
    count = 0
    for i in range(lo, hi):
        if not facts.reach[i] - np.float64(facts.r[i]) * reach > 0.0:
            count += 1
    return count


@njit(cache=True, nogil=True)
def any_due(facts, lo, hi, ask):
    """Whether a row of lo … hi-1 is due: a group of rows that must be read whole may be left alone if none is."""
    due = np.zeros(BLOCK, np.int64)
    for at in range(lo, hi, BLOCK):
        if due_in(facts, at, min(at + BLOCK, hi), ask, due):
            return True
    return False


@njit(cache=True, nogil=True)
def sweep_held(rows, first, facts, phi, anchor, unit, bias, c, n, steps, lazy, lo, hi):
    """The perceptron on through rows lo … hi-1 of the shard, held in an array whose first is row `first`."""
    sign, ahead, order = np.zeros(BLOCK), make_ahead(), np.arange(BLOCK)
    end = c.t + steps
    while lo < hi and c.t < end and c.clean < n:
        top = min(lo // BLOCK * BLOCK + BLOCK, hi)
        block = window(rows, lo - first, top - first)
        for k in range(top - lo):
            sign[k] = facts.sign[lo + k] * unit
        walk = phi, anchor, facts.reach[lo:top], np.zeros(0)
        c.position = 0
        go(block, facts.r[lo:top], sign, bias, walk, order[: top - lo], ahead, c, end - c.t, lazy, top - lo, n, np.inf)
        lo += c.position
    return lo


@njit(cache=True, nogil=True)
def sweep_file(fd, start, buffer, facts, phi, anchor, unit, bias, c, n, steps, lazy, lo, hi):
    """The same over a file; returns the next row, or -1 if a row was not there.

    Rows that may turn wrong while φ moves by ROOM are read before the block is gone through. Once φ has moved farther
    the rest of the block is looked over again.
    """
    sign, ahead, order, due = np.zeros(BLOCK), make_ahead(), np.arange(BLOCK), np.zeros(BLOCK, np.int64)
    step = buffer.shape[1] * buffer.itemsize
    raw = buffer.reshape(buffer.size).view(np.uint8)
    end = c.t + steps
    while lo < hi and c.t < end and c.clean < n:
        top = min(lo // BLOCK * BLOCK + BLOCK, hi)
        limit = reached(c, phi.shape[0]) + ROOM if lazy else np.inf
        count = 0
        for k in range(top - lo):
            sign[k] = facts.sign[lo + k] * unit
            if not (lazy and facts.reach[lo + k] - np.float64(facts.r[lo + k]) * limit > 0.0):
                due[count] = k
                count += 1
        if count == top - lo:
            limit = np.inf
        if not read_due(fd, start + lo * step, step, due, count, raw):
            return -1
        walk = phi, anchor, facts.reach[lo:top], np.zeros(0)
        c.position = 0
        r, places = facts.r[lo:top], order[: top - lo]
        go((buffer,), r, sign, bias, walk, places, ahead, c, end - c.t, lazy, top - lo, n, limit)
        lo += c.position
    return lo


@njit(cache=True, nogil=True)
def make_ahead():
    return Ahead(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(4))


@njit(cache=True, nogil=True)
def products(rows, sign, unit, bias, phi, out):
    """m_i = sign_i (a_iᵀφ + bias φ_d) of rows in an array, all of them."""
    n = out.shape[0]
    signs = np.empty(n)
    for i in range(n):
        signs[i] = sign[i] * unit
    margins(rows, np.arange(n), 0, n, phi, bias, signs, out)


@njit(cache=True, nogil=True)
def horizon(m, q, r, rounding, length, stride):
    """How often the same step can be taken before a row changes sides (see `batch.foresee`)."""
    steps = np.inf
    for i in range(m.shape[0]):
        toward = q[i] if m[i] <= 0.0 else -q[i]
        toward += rounding * r[i] * stride
        if toward > 0.0:
            steps = min(steps, (abs(m[i]) - rounding * r[i] * length) / toward)
    return steps
