"""The one protocol for rows: what every method, proof and verdict may ask of them, wherever they are.

Rows are z_i = y_i a_i, with labels y_i = ±1 and an appended constant column where there is an intercept; Z is the
matrix of them. `memory.HeldRows` has them in this process's memory, `shards.ShardedRows` in files that are read piece
by piece or on the workers of a cluster. Nobody asks which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from separatrix.data.memory import HeldRows

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

INTERCEPT_SCALE = 1.0  # the value of the constant column that fit_intercept appends


class ClusterError(RuntimeError):
    """The cluster cannot go on: the scheduler or all workers are gone."""


class Rows(Protocol):
    """Labelled rows, wherever they are. Vectors φ have d + 1 entries, the last for the constant column."""

    @property
    def n(self) -> int:
        """Number of rows, those of weight zero included."""

    @property
    def d(self) -> int:
        """Columns of X."""

    @property
    def R(self) -> float:
        """The longest row, max ‖z_i‖ over rows with a weight."""

    @property
    def size(self) -> float:
        """Σ s_i, which is n without sample weights."""

    @property
    def least(self) -> float:
        """The smallest weight that is not zero."""

    @property
    def scale(self) -> float:
        """A power of two: margins and sums are those of z_i / scale."""

    @property
    def bias(self) -> float:
        """The value of the appended constant column, 0 without an intercept."""

    @property
    def classes(self) -> NDArray[Any]:
        """The two labels; the second, larger one is +1."""

    @property
    def sparse(self) -> bool:
        """Whether the rows are CSR."""

    @property
    def nbytes(self) -> int:
        """Bytes the rows take."""

    @property
    def pieces(self) -> int:
        """About how many pieces `map` hands out."""

    @property
    def whole(self) -> HeldRows | None:
        """All of them as one matrix in memory; None where they are elsewhere."""

    def unpad(self, vector: Vector) -> Vector:
        """From d + 1 entries to those the user has: the last is the intercept, or nothing."""

    def margins(self, phi: Vector) -> Vector:
        """Zφ."""

    def pull(self, w: Vector) -> Vector:
        """Σ w_i z_i, in the canonical order of sums: the same bits wherever the rows are."""

    def lowest(self, phi: Vector) -> float:
        """The smallest margin among rows with a weight, by direct products with the raw rows."""

    def map(self, question: Callable[..., Any], *args: Any) -> list[Any]:
        """question(first row, piece, *args) for every piece of the rows, in order; a piece is a `HeldRows`."""

    def fetch(self, idx: Index) -> tuple[HeldRows, Index]:
        """Rows that have those of `idx` among them, in memory, and where."""

    def fingerprint(self) -> str:
        """A digest of rows, labels, weights and intercept."""

    def rescaled(self, intercept_scaling: Any) -> Rows:
        """The same rows with another value of the constant column; themselves where there is no intercept."""

    def close(self) -> None:
        """Let go of files, threads and workers; of memory nothing needs letting go."""
