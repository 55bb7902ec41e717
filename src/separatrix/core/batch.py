"""The four batch methods on direct margins: k iterations per call, for the dense and the lazy engine.

The iterate is kept as Φ = unit·φ, with unit = n where the methods divide by n and 1 where they divide by Σw: then the
batch perceptron only ever adds whole rows, and integer data walk without rounding. Margins are m = ZΦ, and `gamma` is
γ/unit, so that gamma·m = γ·m̂.

Weights below exp(-cut) of the largest possible are taken as zero, in every engine: with cut = 40 + ln n their sum is
under 4e-18 of Σw, far below one rounding. Past separation the cut is measured from the smallest margin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from separatrix.core.constants import FIRST_LOOK, UNDERFLOW, UNIT, WORTH_A_LOOK
from separatrix.core.fused import fused_pass, weight
from separatrix.core.rows import REASSOCIATE, add_blocks, evaluate_rows, norm, sum_rows


class Data(NamedTuple):
    """The rows z_i = sign_i (a_i, bias), their norms r, weights s (0: row ignored), and how to walk over them."""

    rows: Any
    sign: Any
    s: Any
    r: Any
    every: Any  # 0 … n-1
    bias: float
    block: int  # rows per block of the canonical sum
    width: int  # entries read per row
    short: bool  # rows are float32, of a size that float32 arithmetic can bear
    threads: int


class Rule(NamedTuple):
    """One batch method: w_i = σ(-gamma m_i), or 1[m_i ≤ 0] at gamma = ∞; normalized: divided by Σw."""

    gamma: float
    cut: float
    normalized: bool


class State(NamedTuple):
    """Everything an engine of direct margins carries from one iteration to the next."""

    phi: Any  # Φ_t
    base: Any  # while the wrong set stays the same Φ = base + k·step
    step: Any
    anchor: Any  # Φ at which every margin in `far` was taken
    m: Any  # margins, each as of its row's last evaluation
    reach: Any  # m_i + r_i·path at that evaluation
    far: Any  # margins at the anchor
    w: Any  # weights s_i w_i
    active: Any  # rows with a weight, ascending
    last: Any  # the wrong set of the previous step (γ = ∞)
    due: Any  # rows evaluated at this iterate
    starts: Any
    parts: Any  # one partial sum per block
    found: Any  # and what the fused pass counts in each block
    total: Any  # Σ w_i z_i, and behind it Σ w_i
    c: Any  # one record of scalars, see CONTROL


CONTROL = np.dtype(
    [
        ("t", "i8"),  # updates made
        ("k", "i8"),  # steps taken from base
        ("safe", "i8"),  # the wrong set is known not to change before k reaches this
        ("patience", "i8"),  # k at which to look for the next jump
        ("n_active", "i8"),
        ("n_last", "i8"),
        ("n_due", "i8"),
        ("errors", "i8"),
        ("argmin", "i8"),
        ("low", "f8"),  # the smallest margin
        ("ceiling", "f8"),  # rows not read are above this
        ("stride", "f8"),  # ‖step‖
        ("path", "f8"),  # Σ‖Φ⁺-Φ‖ since the anchor
        ("length", "f8"),  # the largest ‖Φ‖ so far
        ("spent", "f8"),  # rows evaluated since the anchor, its own n included
        ("since", "i8"),  # iterations since the anchor
        ("evaluated", "b1"),  # margins belong to Φ_t
        ("anchored", "b1"),
        ("many", "b1"),  # many rows have a weight: the next pass is a fused one
        ("fused", "b1"),  # the last pass was
        ("summed", "b1"),  # parts already hold this iterate's sum
        ("ready", "b1"),  # total holds it
        ("half", "b1"),  # the next step is the first from 0 at γ = ∞
        ("rows_read", "i8"),
    ]
)


@njit(cache=True, nogil=True)
def advance(data, rule, st, steps, stop, lazy):
    """Up to `steps` updates, fewer when `stop` and no row is wrong; the margins then belong to the last iterate."""
    c = st.c[0]
    end = c.t + steps
    evaluate(data, rule, st, lazy)
    while c.t < end and not (stop and c.errors == 0):
        if np.isinf(rule.gamma) and not c.half and same_set(st):  # the weights are the last step's: go on along it
            if c.k >= c.safe and c.k >= c.patience and end - c.t > WORTH_A_LOOK:
                foresee(data, st)
            move(st, max(1, min(end - c.t, c.safe - c.k)))
        else:
            new_step(data, rule, st)
            move(st, 1)
        evaluate(data, rule, st, lazy)


@njit(cache=True, nogil=True)
def evaluate(data, rule, st, lazy):
    """Bring the margins that matter up to date with Φ, then list the rows that have a weight, and their weights."""
    c = st.c[0]
    if c.evaluated:
        return
    c.evaluated = True
    if c.k > 1 and c.k <= c.safe:  # inside a foreseen stretch the wrong set is known
        evaluate_rows(data, st.active, c.n_active, st.phi, st.m)
        c.rows_read += c.n_active
        lowest(data, st, st.active, c.n_active)
        return
    c.ready = False
    n = st.m.shape[0]
    finite = np.isfinite(rule.gamma)
    tau = rule.cut / rule.gamma if finite else 0.0
    c.fused = c.summed = c.many
    if c.fused:
        fused_pass(data, rule, st, tau)
        c.n_due = n
        c.anchored = False
        c.many = c.low <= 0.0 and 3 * c.n_active > n
        if c.low <= 0.0:
            c.rows_read += n
            return  # the list of active rows is made when asked for
    elif lazy and c.anchored and due_rows(data, st, tau, finite):
        evaluate_rows(data, st.due, c.n_due, st.phi, st.m)
        for j in range(c.n_due):
            i = st.due[j]
            st.reach[i] = st.m[i] + data.r[i] * c.path
    else:
        evaluate_rows(data, data.every, n, st.phi, st.m)
        c.n_due = n
        if lazy:
            drop_anchor(data, st)
    c.rows_read += c.n_due
    rows = data.every if c.n_due == n else st.due
    lowest(data, st, rows, c.n_due)
    if finite and c.n_due < n and c.low > 0.0 and c.ceiling < tau + c.low:
        # Just separated: rows that were above the old cut may have the smallest margin, or be below the new cut.
        evaluate_rows(data, data.every, n, st.phi, st.m)
        drop_anchor(data, st)
        c.rows_read += n
        c.n_due = n
        rows = data.every
        lowest(data, st, rows, n)
    if c.low > 0.0:  # separated: the cut is now measured from the smallest margin
        c.summed = False
        tau += c.low if finite else 0.0
    list_active(data, rule, st, rows, tau)
    c.many = finite and c.low <= 0.0 and 3 * c.n_active > n


@njit(cache=True, nogil=True)
def due_rows(data, st, tau, finite):
    """List the rows whose margin may have come down to tau; False when they are so many that an anchor is cheaper.

    A row at margin m_i stays above tau while Φ is within (m_i - tau)/r_i of where m_i was taken. Two distances are at
    hand, the path length since the row's own evaluation and the straight line from the anchor: either excuses the row.
    The slack covers the rounding of dot products, (d + 8)ε r_i ‖Φ‖ each, and of the distances themselves.
    """
    c = st.c[0]
    if finite and c.low > 0.0:  # tau moves with the smallest margin; the row that had it last bounds it from above
        st.due[0] = c.argmin
        evaluate_rows(data, st.due, 1, st.phi, st.m)
        tau += max(0.0, st.m[c.argmin])
    c.ceiling = tau
    slack = 4.0 * UNIT * (st.phi.shape[0] + 8 + c.since) * (c.length + c.path)
    path = c.path + slack
    line = distance(st.phi, st.anchor) + slack
    count = 0
    for i in range(st.m.shape[0]):
        if not (st.reach[i] - data.r[i] * path > tau or st.far[i] - data.r[i] * line > tau):
            st.due[count] = i
            count += 1
    c.n_due = count
    c.since += 1
    c.spent += count
    if count > 64 and count * c.since > c.spent:  # one more iteration costs more than the average since the anchor
        c.anchored = False
    return 2 * count < st.m.shape[0]


@njit(cache=True, nogil=True)
def drop_anchor(data, st):
    """Every margin was just taken at Φ: measure distances from here."""
    c = st.c[0]
    c.anchored = True
    c.path = 0.0
    c.since = 0
    c.spent = st.m.shape[0]
    st.anchor[:] = st.phi
    for i in range(st.m.shape[0]):
        st.far[i] = st.reach[i] = st.m[i] if data.s[i] > 0.0 else np.inf


@njit(cache=True, nogil=True)
def lowest(data, st, rows, count):
    """How many of these rows are wrong, and which margin is the smallest."""
    c = st.c[0]
    c.errors = 0
    c.low = np.inf
    for j in range(count):
        i = rows[j]
        if data.s[i] > 0.0:
            c.errors += st.m[i] <= 0.0
            if st.m[i] < c.low:
                c.low = st.m[i]
                c.argmin = i


@njit(cache=True, nogil=True)
def list_fused(data, rule, st):
    """The list of active rows that a fused pass leaves out."""
    if st.c[0].summed:
        list_active(data, rule, st, data.every, rule.cut / rule.gamma)


@njit(cache=True, nogil=True)
def list_active(data, rule, st, rows, tau):
    c = st.c[0]
    shift = underflow_shift(rule, c.low)
    count = 0
    for j in range(c.n_due):
        i = rows[j]
        if st.m[i] <= tau and data.s[i] > 0.0:
            st.active[count] = i
            count += 1
            st.w[i] = data.s[i] * (0.5 if c.half else weight(rule.gamma, st.m[i], shift))
    c.n_active = count


@njit(cache=True, nogil=True)
def underflow_shift(rule, low):
    """Far past separation every σ(-γm) underflows; the normalized method then needs their ratios, so scale them all."""
    x = rule.gamma * low
    return x if rule.normalized and np.isfinite(rule.gamma) and x > UNDERFLOW else 0.0


@njit(cache=True, nogil=True)
def same_set(st):
    c = st.c[0]
    if c.n_active != c.n_last:
        return False
    for j in range(c.n_active):
        if st.active[j] != st.last[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def gradient(data, st):
    """total = Σ w_i z_i at this iterate, and Σ w_i behind it."""
    c = st.c[0]
    if not c.ready:
        if c.summed:
            add_blocks(st.parts, data.every, st.parts.shape[0], st.total)
        else:
            sum_rows(data, st.active, c.n_active, st.w, st.starts, st.parts, st.total)
        c.ready = True


@njit(cache=True, nogil=True)
def new_step(data, rule, st):
    """step = unit/N Σ w_i z_i: the plain sum where N = n (Φ counts in n-ths), divided by Σw where N = Σw."""
    c = st.c[0]
    gradient(data, st)
    total = st.total[st.step.shape[0]]
    for k in range(st.step.shape[0]):
        st.step[k] = st.total[k] / total if rule.normalized and total > 0.0 else st.total[k]
    st.base[:] = st.phi
    c.k = 0
    c.safe = 0
    c.patience = FIRST_LOOK
    c.stride = norm(st.step)
    if np.isinf(rule.gamma):
        st.last[: c.n_active] = st.active[: c.n_active]
        c.n_last = -1 if c.half else c.n_active


@njit(cache=True, nogil=True)
def move(st, hop):
    """Φ = base + k·step, in one expression, so that the bits do not depend on where a stretch was interrupted."""
    c = st.c[0]
    c.k += hop
    c.t += hop
    c.path += hop * c.stride
    for k in range(st.phi.shape[0]):
        st.phi[k] = st.base[k] + c.k * st.step[k]
    c.length = max(c.length, norm(st.phi))
    c.half = False
    c.evaluated = False


@njit(cache=True, nogil=True)
def foresee(data, st):
    """How many more times the same step can be taken before the wrong set changes: margins are linear on the way.

    Row i changes sides after |m_i|/|z_iᵀstep| steps. Rounding is given the same slack as in `due_rows`, so the stretch
    ends early rather than late; the iterations at its end are taken one by one.
    """
    c = st.c[0]
    n = st.m.shape[0]
    evaluate_rows(data, data.every, n, st.phi, st.m)
    q = st.far  # scratch: the anchor is dropped below
    evaluate_rows(data, data.every, n, st.step, q)
    c.rows_read += 2 * n
    c.anchored = False
    rounding = 4.0 * UNIT * (st.phi.shape[0] + 8)
    steps = np.inf
    for i in range(n):
        toward = q[i] if st.m[i] <= 0.0 else -q[i]
        toward += rounding * data.r[i] * c.stride
        if toward > 0.0 and data.s[i] > 0.0:
            steps = min(steps, (abs(st.m[i]) - rounding * data.r[i] * c.length) / toward)
    c.safe = c.k + np.int64(max(0.0, min(steps - 2.0, 1e18)))
    c.patience = 2 * c.k


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def distance(a, b):
    s = 0.0
    for k in range(a.shape[0]):
        s += (a[k] - b[k]) ** 2
    return np.sqrt(s)
