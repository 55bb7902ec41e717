"""Tables as people have them: columns that were computed, nearly dependent, or separated by next to nothing."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline

Data = tuple[np.ndarray, np.ndarray]


def z_scores(seed: int, n: int = 1000, d: int = 20) -> Data:
    """Whole numbers, quasi-complete by the sum of two of them, then centred and scaled."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (n, d)).astype(float)
    total = X[:, 0] + X[:, 1]
    y = np.where(total > 9, 1, np.where(total < 9, 0, rng.integers(0, 2, n)))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def percentages(seed: int, n: int = 1000, d: int = 10) -> Data:
    """Rows that sum to 1 up to rounding, random labels."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(100, np.ones(d) / d, size=n) / 100, rng.integers(0, 2, n)


def percentages_with_a_threshold(seed: int, n: int = 1000, d: int = 10) -> Data:
    """The same, labelled by which of two is larger."""
    X, _ = percentages(seed, n, d)
    return X, (X[:, 0] > X[:, 1]).astype(int)


def low_rank(seed: int, n: int = 400, d: int = 150, rank: int = 60) -> Data:
    """A product of random float matrices."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)), rng.integers(0, 2, n)


def singular(seed: int, n: int = 300, d: int = 300) -> Data:
    """Singular values from 1 down to 2⁻⁶⁰."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(n, d)))[0]
    V = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (U * 2.0 ** np.linspace(0, -60, d)) @ V.T, rng.integers(0, 2, n)


def narrow(seed: int, n: int = 20_000, d: int = 50, margin: float = 1e-9, share: float = 0.5) -> Data:
    """Normal rows, of which this share meets the planted margin."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    Z = rng.normal(size=(n, d))
    m = Z @ u
    Z += np.outer(np.where(rng.random(n) < share, margin, abs(m) + margin) - m, u)
    y = rng.permuted(np.resize([-1, 1], n))
    return y[:, None] * Z, y


def dummies(seed: int, n: int = 2000, levels: int = 50) -> Data:
    """Three factors as 0/1 columns."""
    rng = np.random.default_rng(seed)
    return np.hstack([np.eye(levels)[rng.integers(0, levels, n)] for _ in range(3)]), rng.integers(0, 2, n)


def one_hot_with_interactions(seed: int, n: int = 1500) -> Data:
    """Two factors and their products, a level of which has one outcome."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, n), rng.integers(0, 4, n)
    A, B = np.eye(6)[a], np.eye(4)[b]
    y = np.where((a == 5) & (b == 3), 1, rng.integers(0, 2, n))
    return np.hstack([A, B, (A[:, :, None] * B[:, None, :]).reshape(n, -1)]), y


def sums(seed: int, n: int = 1000, d: int = 8) -> Data:
    """Decimals, and float sums of them beside them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 2)
    return np.column_stack([X, X[:, :3].sum(axis=1), X.sum(axis=1), X.mean(axis=1)]), rng.integers(0, 2, n)


def sums_and_a_level(seed: int, n: int = 1000, d: int = 10) -> Data:
    """Decimals, float sums of them, and a 0/1 column all of whose ones have one outcome."""
    rng = np.random.default_rng(seed)
    X, level = np.round(10 * rng.normal(size=(n, d)), 2), rng.random(n) < 0.05
    chosen = (rng.random((d, d)) < 0.5).astype(float)
    chosen[0] = 1.0
    return np.column_stack([X, X @ chosen, level]), np.where(level, 1, rng.integers(0, 2, n))


def two_blocks(seed: int, n: int = 300) -> Data:
    """Rows that overlap whatever their last digits, and rows of other columns that are tied to rounding only."""
    rng = np.random.default_rng(seed)
    X = np.zeros((2 * n, 12))
    X[:n, :3] = rng.normal(size=(n, 3))
    X[n:, 3:11], X[n:, 11] = percentages(seed, n, 8)[0], -1.0
    return X, rng.integers(0, 2, 2 * n)


def polynomial(seed: int, n: int = 1000, degree: int = 12) -> Data:
    """Powers of a number between 0 and 1, and a threshold."""
    x = np.random.default_rng(seed).random(n)
    return x[:, None] ** np.arange(1, degree + 1), (x > 0.4).astype(int)


def polynomial_with_two_turned(seed: int, n: int = 600, degree: int = 18) -> Data:
    """Powers of a number between -1 and 1, labels by a polynomial of them, and two of these turned."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    X = x[:, None] ** np.arange(1, degree + 1)
    m = (X / X.std(axis=0)) @ rng.normal(size=degree)
    y = (m > np.median(m)).astype(int)
    y[rng.integers(n, size=2)] ^= 1
    return X, y


def polynomial_and_a_level(seed: int, n: int = 600, degree: int = 18) -> Data:
    """The same powers, and a 0/1 column all of whose ones have one outcome."""
    rng = np.random.default_rng(seed)
    x, level = rng.uniform(-1, 1, n), rng.random(n) < 0.05
    X = np.column_stack([x[:, None] ** np.arange(1, degree + 1), level])
    return X, np.where(level, 1, rng.integers(0, 2, n))


def trigonometric(seed: int, n: int = 1000, waves: int = 8) -> Data:
    """Sines, cosines, and their squares, which sum to 1 up to rounding."""
    rng = np.random.default_rng(seed)
    t = rng.random(n)[:, None] * 2 * np.pi * np.arange(1, waves + 1)
    return np.hstack([np.sin(t), np.cos(t), np.sin(t) ** 2, np.cos(t) ** 2]), rng.integers(0, 2, n)


def time_stamps(seed: int, n: int = 1000) -> Data:
    """Seconds since 1970, days and hours computed from them, and an outcome that begins at some time."""
    rng = np.random.default_rng(seed)
    seconds = 1.7e9 + rng.integers(0, 10**7, n)
    X = np.column_stack([seconds, seconds / 86_400, seconds / 3_600 - 472_222.0, rng.normal(size=n)])
    return X, (seconds > np.median(seconds)).astype(int)


def hilbert(seed: int, n: int = 300, d: int = 14) -> Data:
    """1/(i + j), random labels."""
    i, j = np.arange(1, n + 1)[:, None], np.arange(d)[None, :]
    return 1.0 / (i + j), np.random.default_rng(seed).integers(0, 2, n)


def hilbert_with_two_turned(seed: int, n: int = 300, d: int = 14) -> Data:
    """The same numbers, labels by a combination of their first principal components, and two of these turned."""
    rng = np.random.default_rng(seed)
    X = 1.0 / (np.arange(n)[:, None] + np.arange(d)[None, :] + 1)
    U = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, :6]
    m = (U * np.sign(U[0])) @ rng.normal(size=6)  # LAPACK's signs are those of the machine
    y = (m > np.median(m)).astype(int)
    y[rng.choice(n, 2, replace=False)] ^= 1
    return X, y


def complete(seed: int, n: int = 2000, d: int = 50) -> Data:
    """Ordinary complete separation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + 0.3 > 0).astype(int)


def ladder(d: int = 250) -> Data:
    """z_i = e_i - 3 e_{i+1}, and -1 throughout: weights grow like 3ⁱ."""
    Z = np.vstack([np.eye(d) - 3 * np.eye(d, k=1), -np.ones(d)])
    y = np.resize([-1, 1], d + 1)
    return y[:, None] * Z, y


def levels_as_z_scores(seed: int, n: int = 1000) -> Data:
    """Four factors as 0/1 columns, centred and scaled; labels by a threshold but for two."""
    rng = np.random.default_rng(seed)
    X = np.hstack([np.eye(k)[rng.integers(0, k, n)] for k in (3, 5, 8, 12)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(1000 + seed)
    score = X / X.std(axis=0) @ rng.normal(size=X.shape[1])
    y = (score > np.median(score)).astype(int)
    y[rng.choice(n, 2, replace=False)] ^= 1
    return X, y


def means_of_means(seed: int, n: int = 1000) -> Data:
    """Decimals, means of three, their mean, that of all, and how far each is from it; labels by one of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(50, 10, (n, 9)), 1)
    means = X.reshape(n, 3, 3).mean(axis=2)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    return np.column_stack([X, means, means.mean(axis=1), X.mean(axis=1), X - X.mean(axis=1)[:, None]]), y


def lags(seed: int, n: int = 1000) -> Data:
    """A series, its last ten values, sums to date, differences and means of those; labels by a threshold."""
    x = np.round(np.random.default_rng(seed).normal(size=n + 10), 2)
    L, c = np.column_stack([x[10 - k : n + 10 - k] for k in range(10)]), np.cumsum(x)
    parts = [L, c[10:], c[9:-1], np.diff(c)[9:], L[:, :7].mean(axis=1), c[10:] - c[3:-7]]
    return np.column_stack(parts), (L[:, 0] > np.median(L[:, 0])).astype(int)


def ladder_with_one_more(seed: int, d: int = 100) -> Data:
    """z_i = e_i - 2 e_{i+1}, -1 throughout, and a row of small whole numbers."""
    rng = np.random.default_rng(seed)
    Z = np.vstack([np.eye(d) - 2 * np.eye(d, k=1), -np.ones(d), rng.integers(-2, 3, d)])
    y = np.resize([-1, 1], d + 2)
    return y[:, None] * Z, y


def splines(seed: int, n: int = 1000, pieces: int = 17) -> Data:
    """Cubic B-splines of a number, quasi-complete by the sum of the first two."""
    rng = np.random.default_rng(seed)
    knots = np.r_[[0.0] * 3, np.linspace(0, 1, pieces + 1), [1.0] * 3]
    X = BSpline.design_matrix(np.clip(rng.random(n), 0, 1 - 1e-12), knots, 3).toarray()
    total = X[:, 0] + X[:, 1]
    middle = np.median(total)
    return X, np.where(total > middle, 1, np.where(total < middle, 0, rng.integers(0, 2, n)))
