"""The row-at-a-time perceptron on cached columns of G: m ← m + G[:, j] for one wrong row j."""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.core.constants import UNIT
from separatrix.core.gram import COLUMNS, DONE, REFRESH


@njit(cache=True, nogil=True)
def sweep(data, g, order, p, steps, late):
    """The row-at-a-time perceptron on cached columns: m += G[:, j] for one wrong row j, in the given order.

    `p` is the sweep's own record (see `core.sweep`); an empty order means the most wrong row each time. late_j,
    where it has entries, sums up how many rows had been visited before each update with row j.
    """
    c = g.c[0]
    n = g.m.shape[0]
    end = p.t + steps
    while p.t < end and p.clean < n and p.position < n:
        if order.shape[0] > 0:
            i = order[p.position]
        else:
            i = 0
            for k in range(n):
                if g.m[k] < g.m[i]:
                    i = k
            for k in range(n):  # another row may be as wrong within the drift: only a refresh can tell
                if k != i and c.drift > 0.0 and g.m[k] - data.r[k] * c.drift <= g.m[i] + data.r[i] * c.drift:
                    return REFRESH
        if c.drift > 0.0 and abs(g.m[i]) <= data.r[i] * c.drift and data.r[i] > 0.0:
            return REFRESH
        if g.m[i] > 0.0:
            p.clean = n if order.shape[0] == 0 else p.clean + 1
            p.position += order.shape[0] > 0
            continue
        if g.slot[i] < 0:
            g.need[0] = i
            c.n_need = 1
            return COLUMNS
        p.clean = 0
        if late.shape[0] > 0:
            late[i] += np.float64(p.epoch) * n + p.position
        p.position += order.shape[0] > 0
        p.t += 1
        g.coef[i] += 1.0
        c.length2 += 2.0 * g.m[i] + data.r[i] ** 2
        column = g.cache[g.slot[i]]
        g.used[g.slot[i]] = p.t
        for k in range(n):
            g.m[k] += column[k]
        c.columns_read += 1
        c.drift += c.longest * c.column_error + 4.0 * UNIT * (np.sqrt(max(c.length2, 0.0)) + c.longest)
    if p.position == n and order.shape[0] > 0:
        p.position = 0
        p.epoch += 1
    return DONE
