"""The arithmetic, as NumPy defines it: five rules that fix every bit of an iterate, on every machine.

1. Rows are float32 or float64, arithmetic is float64: every product and every sum is rounded on its own.
2. A dot product has eight lanes; lane l adds x_k v_k over k ≡ l (mod 8), k rising, below D = 8⌊d/8⌋. The lanes fold as
   ((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7)); entries from D on are added one by one, then the intercept's share.
3. A sum of rows Σ c_i a_i runs row by row inside blocks of 512, over 64 blocks at a time, over 64 such groups, …
4. exp is our own, at most one unit in the last place off.
5. Norms are square roots of dot products, and powers are products of square roots.

Rows that weigh nothing may be left out, and entries that are 0 need not be stored: adding 0 changes no bit. Float32
arithmetic is the same with sixteen lanes. The compiled core is the twin of this file, held equal to it by tests.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[Any]

BLOCK, GROUP = 512, 64  # rows in a block, blocks in a group, groups in a group of the next level


def dots(X: Any, v: Vector) -> Vector:
    """Rule 2: Σ_k x_k v_k for every row x of X, in the type of v."""
    d, lanes = X.shape[1], 64 // v.itemsize
    D = d // lanes * lanes
    s = np.zeros((len(X), lanes), dtype=v.dtype)
    for k in range(0, D, lanes):
        s += X[:, k : k + lanes].astype(v.dtype, copy=False) * v[k : k + lanes]
    while lanes > 1:  # s_l + s_{l+4}, then s_l + s_{l+2}, then s_0 + s_1
        lanes //= 2
        s = s[:, :lanes] + s[:, lanes:]
    total = s[:, 0].copy()
    for k in range(D, d):
        total += X[:, k].astype(v.dtype, copy=False) * v[k]
    return total


def in_order(terms: Vector) -> Vector:
    """((t_0 + t_1) + t_2) + … over the first axis."""
    return np.asarray(np.add.accumulate(terms, axis=0)[-1])


def sum_rows(X: Any, c: Vector) -> Vector:
    """Rule 3: Σ c_i x_i over the rows of X, in the type of c."""
    sums = np.zeros((-(-len(X) // BLOCK), X.shape[1]), dtype=c.dtype)
    for b in range(len(sums)):
        rows = b * BLOCK + np.flatnonzero(c[b * BLOCK : (b + 1) * BLOCK])
        if len(rows):
            sums[b] = in_order(c[rows, None] * X[rows].astype(c.dtype, copy=False))
    while len(sums) > 1:
        sums = np.stack([in_order(sums[g : g + GROUP]) for g in range(0, len(sums), GROUP)])
    return np.asarray(sums[0] + 0.0)  # no -0


# Rule 4. ln 2 in two parts, the first so short that k times it is exact; then 1/2!, 1/3!, …
bits = float.fromhex
LN2 = {  # both parts, the last factorial, and where results end
    np.dtype(np.float64): (bits("0x1.62e42fefa38p-1"), bits("0x1.ef35793c7673p-45"), 13, (-746.0, 710.0)),
    np.dtype(np.float32): (bits("0x1.62e4p-1"), bits("0x1.7f7d1cp-20"), 8, (-104.0, 89.0)),
}
PER_LN2 = bits("0x1.71547652b82fep+0")  # 1/ln 2


def exp(x: Vector) -> Vector:
    """exp(x) = 2^k (1 + r + r² q(r)), where x = k ln 2 + r and q(r) = 1/2! + r/3! + r²/4! + …."""
    kind = x.dtype.type
    high, low, terms, ends = LN2[x.dtype]
    x = np.clip(x, kind(ends[0]), kind(ends[1]))
    k = np.rint(x * kind(PER_LN2))
    hi, lo = x - k * kind(high), k * kind(low)  # hi is exact
    r = hi - lo
    q = np.full_like(r, 1 / factorial(terms))
    for i in range(terms - 1, 1, -1):
        q = q * r + kind(1 / factorial(i))
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp((hi - (lo - r * r * q)) + kind(1), k.astype(np.int64)))


def norm_of(square: Callable[[Vector], float], values: Vector) -> float:
    """√Σ v_k², in units of a power of two where squares would leave float64; NaN or infinity where v has one.

    `square` gives the sum of squares of values such as these by rule 2.
    """
    with np.errstate(over="ignore", under="ignore"):
        s = float(square(values))
        if 1e-290 < s < 1e290:
            return float(np.sqrt(s))
        big = float(abs(values).max(initial=0.0))
        if not 0.0 < big < np.inf:
            return s if s != s else big
        e = int(np.frexp(big)[1])
        return float(np.ldexp(np.sqrt(square(np.ldexp(values, -e))), e))


def norm(v: Vector) -> float:
    """Rule 5: ‖v‖."""
    return norm_of(lambda u: dots(u[None], u)[0], np.asarray(v, dtype=np.float64))


def power(x: Any, q: float) -> Any:
    """Rule 5: x^q for 0 ≤ q ≤ 1, the product of x^(2^-k) over the bits b_k of q = b_0.b_1 b_2 …, in the type of x."""
    if q >= 1.0:
        return x
    product = type(x)(1.0)
    while q > 0.0:
        x, q = np.sqrt(x), 2.0 * q
        if q >= 1.0:
            product, q = product * x, q - 1.0
    return product


def distance(a: Vector, b: Vector) -> float:
    """Rule 5: ‖a - b‖."""
    gap = a - b
    return float(np.sqrt(dots(gap[None], gap)[0]))


def hypot(lengths: Vector, bias: float) -> Vector:
    """‖(a_i, bias)‖ of rows of these lengths, without overflow or underflow on the way."""
    top = np.maximum(lengths, bias)
    e = np.frexp(np.where(top > 0, top, 1.0))[1]
    a, b = np.ldexp(lengths, -e), np.ldexp(bias, -e)
    return np.asarray(np.ldexp(np.sqrt(a * a + b * b), e)) if bias else np.array(lengths)


def margins(X: Any, sign: Vector, bias: float, phi: Vector) -> Vector:
    """m_i = z_iᵀφ = sign_i (a_iᵀφ + bias φ_d), the constant column's share last."""
    return np.asarray(sign * (dots(X, phi[:-1]) + phi.dtype.type(bias) * phi[-1]))


def spans(X: Any, bias: float, phi: Vector) -> Vector:
    """a_iᵀφ + bias φ_d, Σ_k |a_ik φ_k| + |bias φ_d|, and Σ_k |a_ik φ_k| over the entries that were rounded."""
    tail = bias * phi[-1]
    s, t = dots(X, phi[:-1]) + tail, dots(abs(X), abs(phi[:-1])) + abs(tail)
    return np.stack([s, t, dots(np.where(rounded(X), abs(X), 0.0), abs(phi[:-1]))])


def rounded(A: Vector) -> NDArray[np.bool_]:
    """Entries whose significand has more than 32 bits: decimals such as 0.1 were rounded, short numbers were not."""
    significand = np.frexp(A)[0] * 2.0**32
    return np.asarray(significand != np.rint(significand))


def pull(X: Any, sign: Vector, bias: float, w: Vector) -> Vector:
    """Σ w_i z_i, its share of the constant column, and Σ w_i, in one vector of d + 2 numbers."""
    c, n = w * sign, len(w)
    constant, ones = np.full((n, 1), bias, dtype=w.dtype), np.ones((n, 1), dtype=w.dtype)
    return np.concatenate([sum_rows(X, c), sum_rows(constant, c), sum_rows(ones, w)])
