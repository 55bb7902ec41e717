"""Problems whose rows are elsewhere: five that take the methods some steps, and ways to hand them out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.data.labels import HeldLabels
from separatrix.shards import Local, Shard, ShardedRows
from separatrix.shards.actor import chunk
from separatrix.shards.layout import align

Data = tuple[np.ndarray, np.ndarray]


def uneven(n: int, d: int, seed: int, dtype: Any = np.float64) -> Data:
    """Separable with an intercept in the last column; columns of very different length, so that no first step does."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n, d - 1)) * np.logspace(0, -1.5, d - 1) + 0.7 * rng.standard_normal(d - 1)
    u = rng.standard_normal(d - 1)
    score = X @ u / np.linalg.norm(u)
    score -= np.quantile(score, 0.4)
    keep = np.flatnonzero(abs(score) > 0.02)[:n]
    # The intercept's column stands for the shift by the quantile.
    return np.hstack([X[keep], np.ones((n, 1))]).astype(dtype), np.where(score[keep] > 0, 1, -1)


def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    pair = np.isin(y, (7, 8))
    return np.repeat(X[pair] / 16.0, 6, axis=0), np.repeat(y[pair], 6)


def names(seed: int) -> Data:
    X, y = uneven(3_000, 5, seed, np.float32)
    return X, np.where(y > 0, "yes", "no")


FIVE: dict[str, Callable[[], Data]] = {
    "worst case": lambda: sx.worst_case(4_000),
    "digits": digits,
    "text labels": lambda: names(4),
    "fifty shards": lambda: uneven(26_001, 9, 2),
    "past one group": lambda: uneven(70_001, 6, 3, np.float32),
}


def scattered(
    X: Any, y: np.ndarray, shards: int, *, weight: np.ndarray | None = None, intercept: bool = False, **options: Any
) -> ShardedRows:
    """The same rows in so many shards (fewer where blocks are) of this process."""
    n = X.shape[0]
    bounds = align([n * k // shards for k in range(shards)], n)
    team = Local(
        [
            Shard(
                chunk(X[lo:hi]),
                HeldLabels(y[lo:hi]),
                None if weight is None else weight[lo:hi],
                lo,
                n,
                **options,
            )
            for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
        ]
    )
    return ShardedRows.of(team, X.shape[1], fit_intercept=intercept, intercept_scaling=1.0)


def save(folder: Path, X: np.ndarray, y: np.ndarray, pieces: int = 1) -> tuple[list[str], str]:
    """Files of rows, and one of labels."""
    paths = []
    for k in range(pieces):
        paths.append(str(folder / f"rows{k}.npy"))
        np.save(paths[-1], X[len(X) * k // pieces : len(X) * (k + 1) // pieces])
    np.save(folder / "labels.npy", y)
    return paths, str(folder / "labels.npy")


def same_path(a: sx.Run, b: sx.Run) -> bool:
    """Whether two runs took the same steps, bit for bit, and tell the same of them."""
    told = all(
        np.allclose(a.trace[name], b.trace[name], rtol=1e-7, atol=1e-300, equal_nan=True)
        for name in a.trace
        if name != "seconds"
    )
    return a.n_iter == b.n_iter and a.status == b.status and np.array_equal(a.phi, b.phi) and told


def methods() -> list[tuple[str, float | None]]:
    return [
        ("lr-gd", 1.0),
        ("lr-gd", 1e3),
        ("normalized-lr-gd", 0.5),
        ("normalized-lr-gd", 1e4),
        ("batch-perceptron", None),
        ("normalized-batch-perceptron", None),
        ("perceptron", None),
    ]
