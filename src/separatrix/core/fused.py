"""Margins, weights and weighted sum in one pass over the data, for iterates at which many rows have a weight.

Rows are taken eight at a time, while they are in cache. Float64 rows give the bits of two passes one after the other.
Float32 rows are multiplied in float32, in sums of at most 512 columns and 64 rows that are then added in float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numba.extending import overload

from separatrix.core.constants import SHORT_LEAST, SHORT_MOST
from separatrix.core.rows import WORTH, accumulate, add8_short, dot4_short, margins


@njit(cache=True, nogil=True)
def weight(gamma, m, shift):
    """w = σ(-γm) = 1/(1 + exp(γm)), times exp(shift); 1 at γ = ∞, where only wrong rows are asked."""
    if np.isinf(gamma):
        return 1.0
    if shift > 0.0:
        return np.exp(shift - gamma * m)
    return 1.0 / (1.0 + np.exp(gamma * m))


@njit(cache=True, nogil=True)
def weigh(lo, hi, s, gamma, tau, m, w, found):
    """Weights of the rows lo … hi-1; `found` counts errors and active rows, and keeps the lowest margin and its row."""
    for j in range(lo, hi):
        w[j] = 0.0
        if s[j] > 0.0:
            if m[j] <= tau:
                w[j] = s[j] * weight(gamma, m[j], 0.0)
                found[1] += 1.0
            found[0] += m[j] <= 0.0
            if m[j] < found[2]:
                found[2] = m[j]
                found[3] = j


def fused_short(rows, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, part, found):
    """One block of float32 rows in float32 arithmetic: sums over 64 rows at a time are then added in float64."""


@overload(fused_short)
def _fused_short(rows, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, part, found):
    if len(rows) == 3 or rows[0].dtype.bitwidth != 32:
        return lambda rows, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, part, found: None

    def block(rows, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, part, found):
        X = rows[0]
        d = X.shape[1]
        tail = bias * phi[d]
        out = np.zeros(d, dtype=np.float32)
        eight = np.zeros(8, dtype=np.float32)
        for i in range(lo, hi, 8):
            end = min(i + 8, hi)
            for j in range(i, end, 4):
                b, c, e = min(j + 1, end - 1), min(j + 2, end - 1), min(j + 3, end - 1)
                ta, tb, tc, te = dot4_short(X[j], X[b], X[c], X[e], short)
                m[j] = sign[j] * (ta + tail)
                m[b] = sign[b] * (tb + tail)
                m[c] = sign[c] * (tc + tail)
                m[e] = sign[e] * (te + tail)
            weigh(i, end, s, gamma, tau, m, w, found)
            for j in range(8):
                eight[j] = np.float32(w[i + j] * sign[i + j]) if i + j < end else np.float32(0.0)
            add8_short(X, i, end - 1, eight, out)
            for j in range(i, end):
                part[d] += w[j] * sign[j] * bias
                part[d + 1] += w[j]
            if (i - lo) % 64 == 56 or end == hi:
                for k in range(d):
                    part[k] += np.float64(out[k])
                    out[k] = np.float32(0.0)

    return block


@njit(cache=True, nogil=True)
def _fused_block(rows, every, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, part, found):
    """One block, eight rows at a time while they are in cache; `short` is Φ in float32, or empty to work in float64."""
    part[:] = 0.0
    found[0] = found[1] = 0.0
    found[2] = np.inf
    if short.shape[0] > 0:
        fused_short(rows, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, part, found)
        return
    for i in range(lo, hi, 8):
        end = min(i + 8, hi)
        margins(rows, every, i, end, phi, bias, sign, m)
        weigh(i, end, s, gamma, tau, m, w, found)
        accumulate(rows, every, i, end, w, bias, sign, part.shape[0] - 2, part)


@njit(cache=True, nogil=True, parallel=True)
def _fused_parallel(rows, every, block, phi, short, bias, sign, s, gamma, tau, m, w, parts, found):
    for b in prange(parts.shape[0]):
        lo, hi = b * block, min((b + 1) * block, m.shape[0])
        _fused_block(rows, every, lo, hi, phi, short, bias, sign, s, gamma, tau, m, w, parts[b], found[b])


@njit(cache=True, nogil=True)
def fused_pass(data, rule, st, tau):
    """Margins, weights and weighted sum in one pass over the data instead of two."""
    c = st.c[0]
    n, blocks = st.m.shape[0], st.parts.shape[0]
    rows, every, bias, sign, s, gamma = data.rows, data.every, data.bias, data.sign, data.s, rule.gamma
    fits = data.short and SHORT_LEAST < c.length < SHORT_MOST  # products of float32 stay clear of its ends
    short = st.phi.astype(np.float32) if fits else np.zeros(0, dtype=np.float32)
    if data.threads > 1 and n * data.width > WORTH:
        _fused_parallel(
            rows, every, data.block, st.phi, short, bias, sign, s, gamma, tau, st.m, st.w, st.parts, st.found
        )
    else:
        for b in range(blocks):
            lo, hi = b * data.block, min((b + 1) * data.block, n)
            part, found = st.parts[b], st.found[b]
            _fused_block(rows, every, lo, hi, st.phi, short, bias, sign, s, gamma, tau, st.m, st.w, part, found)
    c.errors = c.n_active = 0
    c.low = np.inf
    for b in range(blocks):
        c.errors += np.int64(st.found[b, 0])
        c.n_active += np.int64(st.found[b, 1])
        if st.found[b, 2] < c.low:
            c.low = st.found[b, 2]
            c.argmin = np.int64(st.found[b, 3])
