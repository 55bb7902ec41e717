"""The batch methods in margin space: m ← m + Gw/N with G = ZZᵀ, for the gram engine.

Φ itself is not kept, only the coefficients of Φ = Φ_0 + Zᵀcoef. The product q = Gw is not computed from scratch: large
steps swing between a few wrong sets, so the last products are remembered, and only the columns of G are added in which
the new weights differ from the nearest remembered ones (on CIFAR-10 about 100 columns instead of 1,500).

Margins kept this way drift by rounding, so a bound on the drift is carried along: |m_i - exact| ≤ r_i·drift. At γ = ∞
a row whose sign the bound leaves open asks for a refresh (Φ from its coefficients, all margins anew), so the wrong sets
are those of direct evaluation. At finite γ no sign is at stake, and the bound, which knows only the worst case, would
ask at every step: there the refresh comes after FRESH steps. Changes of weight below NEGLIGIBLE of the mean are left
for later: all of them together move a margin by about a rounding. For the same reason changes below HALF of the mean
take their columns rounded to float32, which are half as long. By the refresh, margins are off by some 1e-12 of r_i‖Φ‖.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from separatrix.core.batch import underflow_shift
from separatrix.core.constants import UNIT
from separatrix.core.fused import weight
from separatrix.core.rows import accumulate, evaluate_rows, norm, sum_rows

DONE, COLUMNS, REFRESH = 0, 1, 2  # what a call of `advance` ends with: finished, or a request
LANE = 2560  # margins updated together while columns stream by
FRESH = 200
WORTH_IT = 2
NEGLIGIBLE = 1e-14
HALF = 1e-7  # NEGLIGIBLE over the rounding of float32


class Gram(NamedTuple):
    """What the gram engine carries from one iteration to the next; H remembered products, `slots` cached columns."""

    m: Any  # margins ZΦ
    start: Any  # margins ZΦ_0
    coef: Any  # Φ = Φ_0 + Zᵀcoef
    w: Any  # weights s_i w_i of this iterate, 0 elsewhere
    active: Any
    bits: Any  # the wrong set, one bit a row
    old_w: Any  # (H, n) remembered weights,
    old_q: Any  # (H, n) their products Gw,
    old_bits: Any  # (H, n/64) their wrong sets,
    old_drift: Any  # (H,) and the drift in each product, in units of r_i
    cache: Any  # (slots, n) columns of G,
    short: Any  # and the same in float32 for small changes; no columns where none are taken
    slot: Any  # row → slot of its column, -1 if not cached
    used: Any  # slot → iteration of last use
    misses: Any  # row → how often its column was wanted
    enough: Any  # misses from which a row's column is worth computing: WORTH_IT, or more than earlier runs did without
    need: Any  # rows whose columns a change of weights takes; after COLUMNS, those to compute
    delta: Any  # their changes of weight
    c: Any  # one record of scalars


CONTROL = np.dtype(
    [
        ("t", "i8"),
        ("errors", "i8"),
        ("argmin", "i8"),
        ("low", "f8"),
        ("n_active", "i8"),
        ("n_need", "i8"),
        ("n_large", "i8"),  # the first so many of them are no small changes
        ("held", "i8"),  # products remembered
        ("next", "i8"),  # where the next one goes
        ("near", "i8"),  # the product of this iterate, once known
        ("drift", "f8"),
        ("length2", "f8"),  # ‖Φ‖²
        ("grad2", "f8"),  # ‖Σ w_i z_i‖² = Σ w_i q_i
        ("total", "f8"),  # Σ w_i
        ("longest", "f8"),  # max r_i
        ("column_error", "f8"),  # |G_ij - exact| ≤ column_error r_i r_j
        ("patience", "i8"),  # direct products taken for want of columns
        ("product_error", "f8"),  # the same for a direct product, in units of r_i max r_j Σw
        ("since", "i8"),  # iterations since the last refresh
        ("evaluated", "b1"),
        ("half", "b1"),
        ("tiny", "f8"),  # changes of weight below this part of the mean wait
        ("asked", "b1"),  # columns were asked for at this iterate already
        ("rows_read", "i8"),
        ("columns_read", "i8"),
    ]
)


@njit(cache=True, nogil=True)
def advance(data, rule, g, steps, stop, starts, parts, total):
    """Up to `steps` updates; returns DONE, or COLUMNS or REFRESH when the caller has to help first."""
    c = g.c[0]
    end = c.t + steps
    while True:
        if not evaluate(data, rule, g):
            return REFRESH
        if c.t >= end or (stop and c.errors == 0):
            return DONE
        if not product(data, g, starts, parts, total):
            return COLUMNS
        hop = 1
        if np.isinf(rule.gamma) and c.n_need == 0 and not c.half and end - c.t > 1:
            hop = min(end - c.t, same_for(data, g))
        update(rule, g, hop)


@njit(cache=True, nogil=True)
def evaluate(data, rule, g):
    """Errors, active rows and weights at these margins; False when drift leaves one of them open."""
    c = g.c[0]
    if c.evaluated:
        return True
    finite = np.isfinite(rule.gamma)
    if finite and c.since >= FRESH:
        return False
    c.errors = 0
    c.low = np.inf
    g.bits[:] = 0
    for i in range(g.m.shape[0]):
        if data.s[i] > 0.0:
            if not finite and abs(g.m[i]) <= data.r[i] * c.drift and c.drift > 0.0 and data.r[i] > 0.0:
                return False
            if g.m[i] < c.low:
                c.low = g.m[i]
                c.argmin = i
            if g.m[i] <= 0.0:
                c.errors += 1
                g.bits[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    shift = underflow_shift(rule, c.low)
    tau = rule.cut / rule.gamma + max(0.0, c.low) if finite else 0.0
    c.n_active = 0
    c.total = 0.0
    for i in range(g.m.shape[0]):
        g.w[i] = 0.0
        if data.s[i] > 0.0 and g.m[i] <= tau:
            w = 0.5 if c.half else weight(rule.gamma, g.m[i], shift)
            g.w[i] = data.s[i] * w
            g.active[c.n_active] = i
            c.n_active += 1
            c.total += g.w[i]
    c.evaluated = True
    c.asked = False
    c.near = -1
    return True


@njit(cache=True, nogil=True)
def product(data, g, starts, parts, total):
    """q = Gw into the memory, from the nearest remembered product or directly; False to ask for columns first."""
    c = g.c[0]
    if c.near >= 0:
        return True
    n = g.m.shape[0]
    best = nearest_product(g)
    if best >= 0 and g.old_drift[best] > 1e-9 * c.longest * c.total:
        best = -1  # too much rounding has gathered in it for weights as small as these
    differences(g, best)
    missing = 0
    for j in range(c.n_need):
        missing += g.slot[g.need[j]] < 0
    direct = c.n_need * n > (n + c.n_active) * data.width or c.half
    if missing > 0 and not direct:
        if not c.asked and ask(g):
            return False
        direct = missing > 0
    here = best if c.held == g.old_q.shape[0] and best == c.next else c.next
    q = g.old_q[here]
    if direct:
        sum_rows(data, g.active, c.n_active, g.w, starts, parts, total)
        evaluate_rows(data, data.every, n, total[: total.shape[0] - 1], q)
        c.rows_read += n + c.n_active
        g.old_drift[here] = c.product_error * c.longest * c.total
        g.old_w[here] = g.w
        c.n_need = max(c.n_need, 1)
    else:
        drift = 0.0
        if best < 0:
            q[:] = 0.0
            g.old_w[here] = 0.0
        else:
            drift = g.old_drift[best]
            if best != here:
                q[:] = g.old_q[best]
                g.old_w[here] = g.old_w[best]
        change = 0.0
        for j in range(c.n_need):
            change += abs(g.delta[j])
            g.old_w[here, g.need[j]] = g.w[g.need[j]]
            g.used[g.slot[g.need[j]]] = c.t
            g.need[j] = g.slot[g.need[j]]
        if data.threads > 1 and c.n_need * n > 100_000:
            _add_columns_parallel(g.cache, g.short, g.need, g.delta, c.n_large, c.n_need, q)
        else:
            for lo in range(0, n, LANE):
                hi = min(lo + LANE, n)
                _add_columns(g.cache, g.need, g.delta, 0, c.n_large, lo, hi, q)
                _add_columns(g.short, g.need, g.delta, c.n_large, c.n_need, lo, hi, q)
        c.columns_read += c.n_need
        rounding = UNIT * (c.n_need + 1) * c.longest * (c.total + change)
        g.old_drift[here] = drift + change * c.longest * c.column_error + rounding
    g.old_bits[here] = g.bits
    if here == c.next:
        c.next = (c.next + 1) % g.old_q.shape[0]
        c.held = min(c.held + 1, g.old_q.shape[0])
    c.near = here
    c.grad2 = 0.0
    for j in range(c.n_active):
        c.grad2 += g.w[g.active[j]] * q[g.active[j]]
    return True


@njit(cache=True, nogil=True)
def nearest_product(g):
    """The remembered product whose wrong set differs least from this one, or -1 if starting from 0 is no farther."""
    c = g.c[0]
    best, fewest = -1, c.n_active
    for h in range(c.held):
        different = 0
        for k in range(g.bits.shape[0]):
            different += popcount(g.bits[k] ^ g.old_bits[h, k])
        if different < fewest:
            best, fewest = h, different
    return best


@njit(cache=True, nogil=True)
def popcount(x):
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def differences(g, best):
    """The rows whose weight is not the remembered one, and by how much; large changes first."""
    c = g.c[0]
    count = 0
    mean = c.total / max(c.n_active, 1)
    half = HALF * mean if g.short.shape[0] > 0 else 0.0
    if best < 0:
        for j in range(c.n_active):
            g.need[j] = g.active[j]
            g.delta[j] = g.w[g.active[j]]
        count = c.n_large = c.n_active
    else:
        old = g.old_w[best]
        tiny = c.tiny * mean
        for i in range(g.w.shape[0]):
            if abs(g.w[i] - old[i]) > max(tiny, half):
                g.need[count] = i
                g.delta[count] = g.w[i] - old[i]
                count += 1
        c.n_large = count
        if half > 0.0:
            for i in range(g.w.shape[0]):
                if tiny < abs(g.w[i] - old[i]) <= half:
                    g.need[count] = i
                    g.delta[count] = g.w[i] - old[i]
                    count += 1
    c.n_need = count


@njit(cache=True, nogil=True)
def ask(g):
    """Columns to compute now: those missing here and all missed often enough; False to do without this time.

    A direct product costs a few columns' worth of work. Going without four times before computing makes sure that
    neither choice is ever much dearer than the better one, whatever comes.
    """
    c = g.c[0]
    c.asked = True
    c.patience += 1
    for j in range(c.n_need):
        if g.slot[g.need[j]] < 0:
            g.misses[g.need[j]] += 2 if c.patience >= 4 else 1
    if c.patience < 4:
        return False
    c.patience = 0
    c.n_need = 0
    for i in range(g.m.shape[0]):
        if g.slot[i] < 0 and g.misses[i] >= g.enough[i]:
            g.need[c.n_need] = i
            c.n_need += 1
    return True


@njit(cache=True, nogil=True)
def _add_columns(cache, slots, delta, first, count, lo, hi, q):
    """q[lo:hi] += Σ delta_j G[lo:hi, j] over j = first … count-1, in this order, eight columns at a time."""
    j = first
    while j + 8 <= count:
        a, b, c, e = cache[slots[j]], cache[slots[j + 1]], cache[slots[j + 2]], cache[slots[j + 3]]
        f, g, h, k = cache[slots[j + 4]], cache[slots[j + 5]], cache[slots[j + 6]], cache[slots[j + 7]]
        da, db, dc, de = delta[j], delta[j + 1], delta[j + 2], delta[j + 3]
        df, dg, dh, dk = delta[j + 4], delta[j + 5], delta[j + 6], delta[j + 7]
        for i in range(lo, hi):
            x = (((q[i] + da * a[i]) + db * b[i]) + dc * c[i]) + de * e[i]
            q[i] = (((x + df * f[i]) + dg * g[i]) + dh * h[i]) + dk * k[i]
        j += 8
    while j + 4 <= count:
        a, b, c, e = cache[slots[j]], cache[slots[j + 1]], cache[slots[j + 2]], cache[slots[j + 3]]
        da, db, dc, de = delta[j], delta[j + 1], delta[j + 2], delta[j + 3]
        for i in range(lo, hi):
            q[i] = (((q[i] + da * a[i]) + db * b[i]) + dc * c[i]) + de * e[i]
        j += 4
    while j < count:
        a = cache[slots[j]]
        for i in range(lo, hi):
            q[i] += delta[j] * a[i]
        j += 1


@njit(cache=True, nogil=True, parallel=True)
def _add_columns_parallel(cache, short, slots, delta, large, count, q):
    for k in prange((q.shape[0] + LANE - 1) // LANE):
        hi = min((k + 1) * LANE, q.shape[0])
        _add_columns(cache, slots, delta, 0, large, k * LANE, hi, q)
        _add_columns(short, slots, delta, large, count, k * LANE, hi, q)


@njit(cache=True, nogil=True)
def same_for(data, g):
    """How often the step at hand can be taken before the wrong set may change: margins are linear on the way."""
    c = g.c[0]
    q = g.old_q[c.near]
    per_step = g.old_drift[c.near] + 4.0 * UNIT * np.sqrt(max(c.grad2, 0.0))
    slack = c.drift + 8.0 * UNIT * np.sqrt(max(c.length2, 0.0))
    steps = np.inf
    for i in range(g.m.shape[0]):
        toward = (q[i] if g.m[i] <= 0.0 else -q[i]) + data.r[i] * per_step
        if toward > 0.0 and data.s[i] > 0.0:
            steps = min(steps, (abs(g.m[i]) - data.r[i] * slack) / toward)
    return np.int64(max(1.0, min(steps - 2.0, 1e18)))


@njit(cache=True, nogil=True)
def update(rule, g, hop):
    """m += hop q/N, coef += hop w/N (N = 1 in units of n), and what follows for ‖Φ‖ and the drift."""
    c = g.c[0]
    q = g.old_q[c.near]
    rate = hop / c.total if rule.normalized and c.total > 0.0 else np.float64(hop)
    cross = 0.0
    for j in range(c.n_active):
        i = g.active[j]
        cross += g.w[i] * g.m[i]
        g.coef[i] += rate * g.w[i]
    for i in range(g.m.shape[0]):
        g.m[i] += rate * q[i]
    c.length2 += 2.0 * rate * cross + rate * rate * c.grad2
    c.drift += rate * g.old_drift[c.near] + 4.0 * UNIT * np.sqrt(max(c.length2, 0.0))
    c.t += hop
    c.since += hop
    c.half = False
    c.evaluated = False


@njit(cache=True, nogil=True)
def refresh(data, g, phi0, phi, starts, parts, total):
    """Φ from its coefficients, every margin anew, the remembered products forgotten: the drift is back at 0."""
    c = g.c[0]
    n = g.m.shape[0]
    count = 0
    for i in range(n):
        if g.coef[i] != 0.0:
            g.need[count] = i
            count += 1
    sum_rows(data, g.need, count, g.coef, starts, parts, total)
    for k in range(phi.shape[0]):
        phi[k] = phi0[k] + total[k]
    evaluate_rows(data, data.every, n, phi, g.m)
    c.rows_read += n + count
    c.length2 = norm(phi) ** 2
    c.drift = 0.0
    c.since = 0
    c.held = 0
    c.next = 0
    c.near = -1
    c.evaluated = False


@njit(cache=True, nogil=True)
def dense_rows(rows, idx, count, bias, sign, ones, Z):
    """Z[k] = z_i for i = idx[k], written out."""
    for k in range(count):
        Z[k, :] = 0.0
        accumulate(rows, idx, k, k + 1, ones, bias, sign, Z.shape[1] - 2, Z[k])
