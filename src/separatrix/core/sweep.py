"""The row-at-a-time perceptron: φ⁺ = φ + z_j for one wrong row j, in one of three orders.

A row seen at margin m_i stays right while φ is within m_i/r_i of where it was seen, so the lazy engine passes it by
unread. Distances are measured from an anchor: to where the row was seen, and from there to where φ is now.

Few rows are wrong, so dense rows are read four at a time ahead of the decision: while all four are right nothing
changes between them, and after a wrong one the rest of the four are read again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from separatrix.core.batch import distance
from separatrix.core.constants import ENDLESS, UNIT
from separatrix.core.rows import add_one, dots, evaluate_rows, norm


class Sweep(NamedTuple):
    """What the perceptron carries from one row to the next."""

    phi: Any
    m: Any
    anchor: Any
    reach: Any  # a lower bound on the margin of row i is reach_i - r_i·away
    late: Any  # Σ v_j z_j over the updates, v_j the rows visited before each; empty where no average is wanted
    order: Any  # this sweep's order of rows
    ahead: Any
    c: Any


class Ahead(NamedTuple):
    """The next rows to decide on, at most four: their places in the order and their dot products."""

    row: Any
    place: Any
    dot: Any


TOGETHER = 64  # rows that several perceptrons read one after the other
CONTROL = np.dtype(
    [
        ("t", "i8"),  # updates made
        ("epoch", "i8"),  # sweeps finished
        ("position", "i8"),  # rows of this sweep already seen
        ("clean", "i8"),  # rows in a row that were right
        ("away", "f8"),  # ‖φ - anchor‖
        ("length", "f8"),  # ‖anchor‖
        ("since", "i8"),  # sweeps, or updates of `most_wrong`, since the anchor was set,
        ("read_at", "i8"),  # the count of rows read then,
        ("read_before", "i8"),  # and before the last of them
        ("rows_read", "i8"),
    ]
)


@njit(cache=True, nogil=True)
def down(x):
    """A float32 below x: the nearest one to x less a rounding step; never infinite upward."""
    low = x - abs(x) * 1.2e-7 - 3e-45
    if low > 3e38:
        low = 3e38
    return np.float32(low)


def below(bound: Any, x: float) -> float:
    """x as `bound` can hold it, or just below."""
    return x


@overload(below)
def _below(bound, x):
    return (lambda bound, x: down(x)) if bound.dtype.bitwidth == 32 else (lambda bound, x: x)


@njit(cache=True, nogil=True)
def sweep(data, st, steps, lazy):
    """Go on through this sweep until it ends, `steps` updates are made, or every row was right in turn."""
    c, n = st.c[0], st.order.shape[0]
    walk = st.phi, st.anchor, st.reach, st.late
    go(data.rows, data.r, data.sign, data.bias, walk, st.order, st.ahead, c, steps, lazy, n, n, np.inf)
    if c.position == n:
        c.position = 0
        c.epoch += 1
        if lazy:
            renew_anchor(data, st)


@njit(cache=True, nogil=True)
def go(rows, r, sign, bias, walk, order, ahead, c, steps, lazy, until, n, limit):
    """The rows from the present place to place `until`, one after the other; or `steps` updates, or n rows right.

    Rows that may be wrong once φ is farther than `limit` from the anchor need not be there: it goes no farther.
    """
    phi, anchor, bound, late = walk
    D = phi.shape[0]
    end = c.t + steps
    width = 4 if len(rows) == 1 else 1  # sparse rows gain nothing from company
    reach = reached(c, D)
    while c.position < until and c.t < end and c.clean < n and reach <= limit:
        last = min(until, c.position + n - c.clean)
        found = 0
        p = c.position
        while p < last and found < width:
            i = order[p]
            if not (lazy and bound[i] - r[i] * reach > 0.0):
                ahead.row[found] = i
                ahead.place[found] = p
                found += 1
            p += 1
        dots(rows, ahead.row, found, phi, bias, ahead.dot)
        c.rows_read += found
        for k in range(found):
            i = ahead.row[k]
            margin = sign[i] * ahead.dot[k]
            if margin <= 0.0:
                add_one(rows, i, sign[i], bias, phi)
                if late.shape[0] > 0:
                    add_one(rows, i, sign[i] * (np.float64(c.epoch) * n + ahead.place[k]), bias, late)
                if lazy:
                    bound[i] = -np.inf
                    c.away = distance(phi, anchor)
                    reach = reached(c, D)
                c.t += 1
                c.clean = 0
                c.position = p = ahead.place[k] + 1
                break
            if lazy:
                bound[i] = below(bound, margin - np.float64(r[i]) * c.away)
        c.clean += p - c.position
        c.position = p


@njit(cache=True, nogil=True)
def sweep_all(data, sign, phi, anchor, bound, late, order, ahead, c, lazy, lo, hi):
    """Places lo to hi of one sweep for several perceptrons on the same rows; a few rows at a time stay in the cache."""
    for p in range(lo, hi, TOGETHER):
        for k in range(c.shape[0]):
            walk = phi[k], anchor[k], bound[k], late[k]
            end = min(p + TOGETHER, hi)
            go(data.rows, data.r, sign[k], data.bias, walk, order, ahead, c[k], ENDLESS, lazy, end, len(order), np.inf)


@njit(cache=True, nogil=True)
def most_wrong(data, st, steps, lazy):
    """Up to `steps` updates, each with the row of smallest margin (the lowest index on ties), while that is ≤ 0."""
    c = st.c[0]
    n = st.m.shape[0]
    end = c.t + steps
    while True:
        if not lazy:
            evaluate_rows(data, data.every, n, st.phi, st.m)
            c.rows_read += n
        reach = reached(c, st.phi.shape[0])
        best = -1
        for i in range(n):
            if lazy:
                if best >= 0 and st.reach[i] - data.r[i] * reach > st.m[best]:
                    continue
                evaluate_rows(data, data.every[i : i + 1], 1, st.phi, st.m)
                st.reach[i] = st.m[i] - data.r[i] * c.away
                c.rows_read += 1
            if best < 0 or st.m[i] < st.m[best]:
                best = i
        c.clean = n if st.m[best] > 0.0 else 0
        if c.clean == n or c.t >= end:
            return
        add_one(data.rows, best, data.sign[best], data.bias, st.phi)
        c.t += 1
        if lazy:
            c.away = distance(st.phi, st.anchor)
            renew_anchor(data, st)


@njit(cache=True, nogil=True)
def reached(c, d):
    """How far φ is from the anchor, and slack for the rounding of dot products and distances."""
    return c.away + 8.0 * UNIT * (d + 8) * (c.length + c.away)


@njit(cache=True, nogil=True)
def renew_anchor(data, st):
    """Set the anchor here if the last round read no fewer rows than the average since it was set."""
    c = st.c[0]
    c.since += 1
    if c.since > 1 and (c.rows_read - c.read_before) * c.since >= c.rows_read - c.read_at:
        reach = reached(st.c[0], st.phi.shape[0])
        for i in range(st.m.shape[0]):
            st.reach[i] -= data.r[i] * reach
        set_anchor(st)
    c.read_before = c.rows_read


@njit(cache=True, nogil=True)
def set_anchor(st):
    """Measure distances from here."""
    c = st.c[0]
    st.anchor[:] = st.phi
    c.length = norm(st.phi)
    c.away = 0.0
    c.since = 0
    c.read_at = c.read_before = c.rows_read
