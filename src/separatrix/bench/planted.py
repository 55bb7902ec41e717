"""Large data on disk that a known hyperplane separates, written block by block, and its wrong rows by any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
KINDS = ("plain", "skew", "offset")
MARGIN = 0.02  # of the longest row
OFFSET = 3.0  # times the length of a row before it is brought back to 1
AT_ONCE = 100_000  # rows made and counted at once


@dataclass(frozen=True)
class Files:
    """Where the rows of one kind are: X.npy (float32) and y.npy (-1 and 1)."""

    folder: Path
    kind: str

    @property
    def X(self) -> Path:
        """The rows."""
        return self.folder / "X.npy"

    @property
    def y(self) -> Path:
        """The labels."""
        return self.folder / "y.npy"

    def rows(self) -> NDArray[Any]:
        """The rows, mapped."""
        return np.asarray(np.load(self.X, mmap_mode="r", allow_pickle=False))

    def labels(self) -> NDArray[Any]:
        """The labels, mapped."""
        return np.asarray(np.load(self.y, mmap_mode="r", allow_pickle=False))

    def load(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows and labels in memory."""
        return np.array(self.rows()), np.array(self.labels())


def make_files(folder: Path, kind: str, n: int, d: int, seed: int = 7) -> Files:
    """Write n unit rows with y_i a_iᵀu ≥ MARGIN for a hidden unit u.

    Rows are random directions ("plain"), those of columns scaled by 1, 1/2, 1/3, … ("skew"), or such directions plus
    one common vector orthogonal to u ("offset"), all brought to length 1.
    """
    files = Files(folder, kind)
    rng = np.random.default_rng(seed)
    u = _unit(rng.standard_normal(d))
    v = rng.standard_normal(d)
    common = OFFSET * _unit(v - (v @ u) * u) if kind == "offset" else np.zeros(d)
    scale = 1.0 / np.arange(1, d + 1) if kind == "skew" else np.ones(d)
    X = np.lib.format.open_memmap(files.X, "w+", np.float32, (n, d))
    y = np.empty(n, np.int8)
    for i in range(0, n, AT_ONCE):
        part = slice(i, min(i + AT_ONCE, n))
        A = _unit(_unit(rng.standard_normal((part.stop - i, d)) * scale) + common)
        s = A @ u
        sign = np.where(s >= 0, 1.0, -1.0)
        t = np.maximum(abs(s), MARGIN + 1e-6)  # float32 takes a little of it
        A = _unit(A - np.outer(s, u)) * np.sqrt(1 - t**2)[:, None] + np.outer(sign * t, u)
        X[part], y[part] = A, sign
    X.flush()
    np.save(files.y, y)
    return files


def _unit(rows: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def count_errors(files: Files, w: Vector) -> int:
    """Rows without y_i a_iᵀw > 0, in float64 from the raw rows; not a number counts as wrong."""
    X, y = files.rows(), files.labels()
    right = 0
    for i in range(0, len(y), AT_ONCE):
        right += int(np.count_nonzero((X[i : i + AT_ONCE].astype(np.float64) @ w) * y[i : i + AT_ONCE] > 0))
    return len(y) - right
