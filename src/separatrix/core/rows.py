"""Rows in, dot products and sums out: the only loops that touch the data.

Rows come as a tuple, `(X,)` for a C-ordered dense array or `(data, indices, indptr)` for CSR, and `bias` is the value
of an appended constant column (0: none), so a vector `phi` always has d + 1 entries. Data may be float32 or float64;
products and sums are float64 either way (`dot4_short` and `add8_short` are for the fused pass of `batch` alone).

One canonical order of sums, whatever the engine and the threads: a margin is one call of the same dot product wherever
it is needed; a weighted sum of rows runs in index order inside blocks of consecutive rows, then over 64 blocks at a
time, over 64 such groups, and so on (`put`). Any machine may sum a group on its own: the total has the same bits. Rows
of weight zero may be left out: adding 0 changes no bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numba.extending import overload

REASSOCIATE = {
    "reassoc",
    "contract",
    "nsz",
}  # lets the compiler keep several partial sums; infinities and NaN stay legal
FUSE = {"contract", "nsz"}  # a*b + c in one rounding, the order of sums as written
CHUNK = 64  # rows per unit of parallel work
WORTH = 60_000  # entries read below which a second thread costs more than it saves
BLOCK = 512  # rows per block of the canonical sum (more for sparse rows in many columns)
GROUP = 64  # blocks in a group of the canonical sum, groups in a group of the next level
LEVELS = 7  # of groups: more blocks than any disk holds


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _dot4(a, b, c, e, phi):
    """Four rows against one vector: phi is loaded once for the four."""
    sa = sb = sc = se = 0.0
    for k in range(a.shape[0]):
        p = phi[k]
        sa += np.float64(a[k]) * p
        sb += np.float64(b[k]) * p
        sc += np.float64(c[k]) * p
        se += np.float64(e[k]) * p
    return sa, sb, sc, se


@njit(cache=True, nogil=True, fastmath=FUSE)
def _add4(ca, a, cb, b, cc, c, ce, e, out):
    """out += ca a + cb b + cc c + ce e, the four added in this order."""
    for k in range(a.shape[0]):
        s = out[k] + ca * np.float64(a[k])
        s += cb * np.float64(b[k])
        s += cc * np.float64(c[k])
        out[k] = s + ce * np.float64(e[k])


@njit(cache=True, nogil=True, fastmath=FUSE)
def _add8(X, idx, j, w, sign, out):
    """out += Σ w_i sign_i a_i over eight rows, in order: half the traffic to `out` of two times four."""
    a, b, c, e = X[idx[j]], X[idx[j + 1]], X[idx[j + 2]], X[idx[j + 3]]
    f, g, h, i = X[idx[j + 4]], X[idx[j + 5]], X[idx[j + 6]], X[idx[j + 7]]
    ca, cb = w[idx[j]] * sign[idx[j]], w[idx[j + 1]] * sign[idx[j + 1]]
    cc, ce = w[idx[j + 2]] * sign[idx[j + 2]], w[idx[j + 3]] * sign[idx[j + 3]]
    cf, cg = w[idx[j + 4]] * sign[idx[j + 4]], w[idx[j + 5]] * sign[idx[j + 5]]
    ch, ci = w[idx[j + 6]] * sign[idx[j + 6]], w[idx[j + 7]] * sign[idx[j + 7]]
    for k in range(a.shape[0]):
        s = out[k] + ca * np.float64(a[k])
        s += cb * np.float64(b[k])
        s += cc * np.float64(c[k])
        s += ce * np.float64(e[k])
        s += cf * np.float64(f[k])
        s += cg * np.float64(g[k])
        s += ch * np.float64(h[k])
        out[k] = s + ci * np.float64(i[k])


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def dot4_short(a, b, c, e, phi):
    """Four float32 rows in float32 arithmetic, in runs of 512 columns that are added in float64."""
    ta = tb = tc = te = 0.0
    for lo in range(0, a.shape[0], 512):
        sa = sb = sc = se = np.float32(0.0)
        for k in range(lo, min(lo + 512, a.shape[0])):
            p = phi[k]
            sa += a[k] * p
            sb += b[k] * p
            sc += c[k] * p
            se += e[k] * p
        ta += np.float64(sa)
        tb += np.float64(sb)
        tc += np.float64(sc)
        te += np.float64(se)
    return ta, tb, tc, te


@njit(cache=True, nogil=True, fastmath=FUSE)
def add8_short(X, i, last, w, out):
    """out += Σ w_j a_{i+j} over eight float32 rows in float32 arithmetic; rows past `last` come with weight 0."""
    a, b, c, e = X[i], X[min(i + 1, last)], X[min(i + 2, last)], X[min(i + 3, last)]
    f, g, h, r = X[min(i + 4, last)], X[min(i + 5, last)], X[min(i + 6, last)], X[min(i + 7, last)]
    wa, wb, wc, we, wf, wg, wh, wr = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    for k in range(out.shape[0]):
        s = out[k] + wa * a[k]
        s += wb * b[k]
        s += wc * c[k]
        s += we * e[k]
        s += wf * f[k]
        s += wg * g[k]
        s += wh * h[k]
        out[k] = s + wr * r[k]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _dot_csr(data, indices, start, end, phi):
    s = 0.0
    for k in range(start, end):
        s += np.float64(data[k]) * phi[indices[k]]
    return s


def margins(rows: Any, idx: Any, lo: int, hi: int, phi: Any, bias: float, sign: Any, m: Any) -> None:
    """m[i] = sign_i (a_iᵀφ + bias φ_d) for i in idx[lo:hi]."""


def accumulate(rows: Any, idx: Any, lo: int, hi: int, w: Any, bias: float, sign: Any, d: int, out: Any) -> None:
    """out[:d+1] += Σ w_i sign_i (a_i, bias) over i in idx[lo:hi], in that order; out[d+1] += Σ w_i."""


def dots(rows: Any, idx: Any, count: int, phi: Any, bias: float, out: Any) -> None:
    """out[k] = a_iᵀφ + bias φ_d for i = idx[k], k < count ≤ 4: the same sums as in `margins`."""


def add_one(rows: Any, i: int, c: float, bias: float, out: Any) -> None:
    """out[:d+1] += c (a_i, bias): one row alone, for the row-at-a-time perceptron."""


@overload(margins)
def _margins(rows, idx, lo, hi, phi, bias, sign, m):
    if len(rows) == 3:

        def csr(rows, idx, lo, hi, phi, bias, sign, m):
            data, indices, indptr = rows
            tail = bias * phi[phi.shape[0] - 1]
            for j in range(lo, hi):
                i = idx[j]
                m[i] = sign[i] * (_dot_csr(data, indices, indptr[i], indptr[i + 1], phi) + tail)

        return csr

    def dense(rows, idx, lo, hi, phi, bias, sign, m):
        X = rows[0]
        tail = bias * phi[phi.shape[0] - 1]
        for j in range(lo, hi, 4):  # a short last group repeats its last row: every row meets the same code
            a, b, c, e = idx[j], idx[min(j + 1, hi - 1)], idx[min(j + 2, hi - 1)], idx[min(j + 3, hi - 1)]
            sa, sb, sc, se = _dot4(X[a], X[b], X[c], X[e], phi)
            m[a] = sign[a] * (sa + tail)
            m[b] = sign[b] * (sb + tail)
            m[c] = sign[c] * (sc + tail)
            m[e] = sign[e] * (se + tail)

    return dense


@overload(dots)
def _dots(rows, idx, count, phi, bias, out):
    if len(rows) == 3:

        def csr(rows, idx, count, phi, bias, out):
            data, indices, indptr = rows
            tail = bias * phi[phi.shape[0] - 1]
            for k in range(count):
                out[k] = _dot_csr(data, indices, indptr[idx[k]], indptr[idx[k] + 1], phi) + tail

        return csr

    def dense(rows, idx, count, phi, bias, out):
        X = rows[0]
        tail = bias * phi[phi.shape[0] - 1]
        if count > 0:
            b, c, e = idx[min(1, count - 1)], idx[min(2, count - 1)], idx[min(3, count - 1)]
            sa, sb, sc, se = _dot4(X[idx[0]], X[b], X[c], X[e], phi)
            out[0], out[1], out[2], out[3] = sa + tail, sb + tail, sc + tail, se + tail

    return dense


@overload(accumulate)
def _accumulate(rows, idx, lo, hi, w, bias, sign, d, out):
    if len(rows) == 3:

        def csr(rows, idx, lo, hi, w, bias, sign, d, out):
            data, indices, indptr = rows
            for j in range(lo, hi):
                i = idx[j]
                c = w[i] * sign[i]
                for k in range(indptr[i], indptr[i + 1]):
                    out[indices[k]] += c * np.float64(data[k])
                out[d] += c * bias
                out[d + 1] += w[i]

        return csr

    def dense(rows, idx, lo, hi, w, bias, sign, d, out):
        X = rows[0]
        eights = lo + (hi - lo) // 8 * 8
        for j in range(lo, eights, 8):
            _add8(X, idx, j, w, sign, out)
        for j in range(eights, hi, 4):  # a short last group is filled with weight 0
            a, b, c, e = idx[j], idx[min(j + 1, hi - 1)], idx[min(j + 2, hi - 1)], idx[min(j + 3, hi - 1)]
            wb, wc, we = (w[b] if j + 1 < hi else 0.0), (w[c] if j + 2 < hi else 0.0), (w[e] if j + 3 < hi else 0.0)
            _add4(w[a] * sign[a], X[a], wb * sign[b], X[b], wc * sign[c], X[c], we * sign[e], X[e], out)
        for j in range(lo, hi):
            out[d] += w[idx[j]] * sign[idx[j]] * bias
            out[d + 1] += w[idx[j]]

    return dense


@njit(cache=True, nogil=True, fastmath=FUSE)
def _add1(c, a, out):
    for k in range(a.shape[0]):
        out[k] += c * np.float64(a[k])


@overload(add_one)
def _add_one(rows, i, c, bias, out):
    if len(rows) == 3:

        def csr(rows, i, c, bias, out):
            data, indices, indptr = rows
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += c * np.float64(data[k])
            out[out.shape[0] - 1] += c * bias

        return csr

    def dense(rows, i, c, bias, out):
        _add1(c, rows[0][i], out)
        out[out.shape[0] - 1] += c * bias

    return dense


@njit(cache=True, nogil=True, parallel=True)
def _margins_parallel(rows, idx, count, phi, bias, sign, m):
    for c in prange((count + CHUNK - 1) // CHUNK):
        margins(rows, idx, c * CHUNK, min((c + 1) * CHUNK, count), phi, bias, sign, m)


@njit(cache=True, nogil=True)
def evaluate_rows(data, idx, count, phi, m):
    """Margins of the rows idx[:count], on all threads where there is work for them."""
    if data.threads > 1 and count * data.width > WORTH:
        _margins_parallel(data.rows, idx, count, phi, data.bias, data.sign, m)
    else:
        margins(data.rows, idx, 0, count, phi, data.bias, data.sign, m)


@njit(cache=True, nogil=True, parallel=True)
def _sum_blocks_parallel(rows, idx, starts, used, w, bias, sign, parts):  # parallel loops take no nested tuples
    for b in prange(used):
        parts[b, :] = 0.0
        accumulate(rows, idx, starts[b], starts[b + 1], w, bias, sign, parts.shape[1] - 2, parts[b])


@njit(cache=True, nogil=True)
def sum_rows(data, idx, count, w, starts, parts, out):
    """out = Σ w_i z_i over the rows idx[:count] (ascending), out[d+1] = Σ w_i: blocks of rows, then blocks in order."""
    used = 0
    block = -1
    for j in range(count):
        b = idx[j] // data.block
        if b != block:
            starts[used] = j
            used += 1
            block = b
    starts[used] = count
    if data.threads > 1 and used > 1 and count * data.width > WORTH:
        _sum_blocks_parallel(data.rows, idx, starts, used, w, data.bias, data.sign, parts)
    else:
        for b in range(used):
            parts[b, :] = 0.0
            accumulate(data.rows, idx, starts[b], starts[b + 1], w, data.bias, data.sign, parts.shape[1] - 2, parts[b])
    for b in range(used):
        starts[b] = idx[starts[b]] // data.block
    add_blocks(parts, starts, used, out)


@njit(cache=True, nogil=True)
def add_blocks(parts, number, used, out):
    """out = Σ parts[:used] in the canonical order; part b is the sum of block number[b]."""
    tree = np.zeros((LEVELS + 1, out.shape[0]))
    at = np.full(LEVELS + 1, -1)
    for b in range(used):
        put(tree, at, 0, number[b], parts[b])
    finish(tree, at, LEVELS, out)


@njit(cache=True, nogil=True)
def put(tree, at, level, number, v):
    """Add group `number` of this level (0: a block) to the group that holds it; nodes come in ascending order.

    tree[g] is the sum so far of group at[g], the one of level g that is open. Groups that v is not part of are closed.
    """
    holder = number
    for g in range(1, LEVELS):
        if g > level:
            holder //= GROUP
        if at[g] >= 0 and (g <= level or at[g] != holder):
            close(tree, at, g)
    at[level + 1] = number // GROUP
    for k in range(v.shape[0]):
        tree[level + 1, k] += v[k]


@njit(cache=True, nogil=True)
def close(tree, at, g):
    """Add the open group of level g to the one that holds it."""
    at[g + 1] = at[g] // GROUP
    at[g] = -1
    for k in range(tree.shape[1]):
        tree[g + 1, k] += tree[g, k]
        tree[g, k] = 0.0


@njit(cache=True, nogil=True)
def finish(tree, at, level, out):
    """out = the sum of the one group of this level that all nodes were part of; the tree is then empty."""
    for g in range(1, level):
        if at[g] >= 0:
            close(tree, at, g)
    out[:] = tree[level]
    tree[level, :] = 0.0
    at[level] = -1


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def norm(v):
    """‖v‖ without overflow or underflow on the way; NaN or infinity where v has one."""
    s = 0.0
    for k in range(v.shape[0]):
        s += np.float64(v[k]) * np.float64(v[k])
    if 1e-290 < s < 1e290:
        return np.sqrt(s)
    big = 0.0
    for k in range(v.shape[0]):
        if not abs(v[k]) <= big:
            big = abs(np.float64(v[k]))
    if big == 0.0 or not np.isfinite(big):
        return big
    s = 0.0
    for k in range(v.shape[0]):
        s += (np.float64(v[k]) / big) ** 2
    return big * np.sqrt(s)


def row_norm(rows: Any, i: int) -> float:
    """‖a_i‖."""
    return 0.0


@overload(row_norm)
def _row_norm(rows, i):
    if len(rows) == 3:

        def csr(rows, i):
            return norm(rows[0][rows[2][i] : rows[2][i + 1]])

        return csr

    def dense(rows, i):
        return norm(rows[0][i])

    return dense


@njit(cache=True, nogil=True)
def row_norms(rows, r):
    """r[i] = ‖a_i‖; a NaN or an infinity in row i shows in r[i]."""
    for i in range(r.shape[0]):
        r[i] = row_norm(rows, i)
