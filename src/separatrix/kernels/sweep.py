"""The row-at-a-time perceptron: φ⁺ = φ + z_j for one wrong row j, in one of three orders.

A row seen at margin m_i stays right while φ is within m_i/r_i of where it was seen, so the lazy engine passes it by
unread. Distances are measured from an anchor: to where the row was seen, and from there to where φ is now.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from separatrix.kernels.batch import EPS, distance
from separatrix.kernels.rows import accumulate, evaluate_rows, norm, row_dot


class Sweep(NamedTuple):
    """What the perceptron carries from one row to the next."""

    phi: Any
    m: Any
    anchor: Any
    reach: Any  # a lower bound on the margin of row i is reach_i - r_i·away
    order: Any  # this sweep's order of rows
    ones: Any
    phi_and_count: Any  # φ is a view of its first d + 1 entries
    c: Any


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
def sweep(data, st, steps, lazy):
    """Go on through this sweep until it ends, `steps` updates are made, or every row was right in turn."""
    c = st.c[0]
    n = st.m.shape[0]
    end = c.t + steps
    while c.position < n and c.t < end and c.clean < n:
        i = st.order[c.position]
        c.position += 1
        if not (lazy and st.reach[i] - data.r[i] * reached(st) > 0.0):
            st.m[i] = data.sign[i] * row_dot(data.rows, i, st.phi, data.bias)
            c.rows_read += 1
            if st.m[i] <= 0.0:
                add_row(data, st, i)
                st.reach[i] = -np.inf
                c.clean = 0
                continue
            st.reach[i] = st.m[i] - data.r[i] * c.away
        c.clean += 1
    if c.position == n:
        c.position = 0
        c.epoch += 1
        if lazy:
            renew_anchor(data, st)


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
        reach = reached(st)
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
        add_row(data, st, best)
        if lazy:
            renew_anchor(data, st)


@njit(cache=True, nogil=True)
def reached(st):
    """How far φ is from the anchor, and slack for the rounding of dot products and distances."""
    c = st.c[0]
    return c.away + 8.0 * EPS * (st.phi.shape[0] + 8) * (c.length + c.away)


@njit(cache=True, nogil=True)
def add_row(data, st, i):
    c = st.c[0]
    d = st.phi.shape[0] - 1
    accumulate(data.rows, data.every, i, i + 1, st.ones, data.bias, data.sign, d, st.phi_and_count)
    c.t += 1
    c.away = distance(st.phi, st.anchor)


@njit(cache=True, nogil=True)
def renew_anchor(data, st):
    """Set the anchor here if the last round read no fewer rows than the average since it was set."""
    c = st.c[0]
    c.since += 1
    if c.since > 1 and (c.rows_read - c.read_before) * c.since >= c.rows_read - c.read_at:
        reach = reached(st)
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


@njit(cache=True, nogil=True)
def check(data, st):
    """The smallest margin, by the dot product that the sweep decides with."""
    low = np.inf
    for i in range(st.m.shape[0]):
        st.m[i] = data.sign[i] * row_dot(data.rows, i, st.phi, data.bias)
        low = min(low, st.m[i])
    return low
