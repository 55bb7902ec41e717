"""Rows in memory: (X, y) checked once at the door, then trusted everywhere.

Rows z_i = y_i a_i are never stored: the sign goes beside the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import hypot
from separatrix.data.arrays import check_weights, complain_about_row, constant, lengths_of, power_near, rows_of
from separatrix.data.labels import signs_of
from separatrix.data.rows import INTERCEPT_SCALE, Index, Vector

if TYPE_CHECKING:
    from separatrix.data.sheet import Sheet


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Validated rows and labels, all of them in memory: `rows.Rows` by direct products.

    Attributes
    ----------
    arrays : `(X,)` for dense rows, `(data, indices, indptr)` for CSR
    sign : y_i / scale, so that z_i / scale = sign_i (a_i, bias)
    weight : sample weights s_i, zero for rows left out
    r : ‖z_i‖ / scale
    scale : a power of two, 1 unless the data are so large or small that squares would leave float64
    bias : value of the appended constant column, 0 without an intercept
    classes : the two labels; the second, larger one is +1
    lengths : ‖a_i‖ where there is an intercept, None otherwise
    """

    arrays: tuple[Any, ...]
    sign: Vector
    weight: Vector
    r: Vector
    scale: float
    bias: float
    classes: NDArray[Any]
    d: int
    lengths: Vector | None = None

    @property
    def n(self) -> int:
        """Number of rows, those of weight zero included."""
        return len(self.sign)

    @cached_property
    def size(self) -> float:
        """Σ s_i, which is n without sample weights; rounded once, so that it is the same wherever the rows are."""
        return fsum(self.weight)

    @property
    def least(self) -> float:
        """The smallest weight that is not zero."""
        return float(self.weight[self.weight > 0].min())

    @property
    def R(self) -> float:
        """The longest row, max ‖z_i‖ over rows with a weight."""
        return float(self.r[self.weight > 0].max()) * self.scale

    @property
    def sparse(self) -> bool:
        """Whether the rows are CSR."""
        return len(self.arrays) == 3

    @property
    def nbytes(self) -> int:
        """Bytes the rows take."""
        return sum(int(a.nbytes) for a in self.arrays)

    @property
    def pieces(self) -> int:
        """One."""
        return 1

    @property
    def whole(self) -> HeldRows:
        """These rows themselves."""
        return self

    @property
    def X(self) -> Any:
        """The rows a_i as one array, or as a CSR matrix."""
        if not self.sparse:
            return self.arrays[0]
        from scipy.sparse import csr_array

        return csr_array(self.arrays, shape=(self.n, self.d))

    def unpad(self, vector: Vector) -> Vector:
        """From d + 1 entries to those the user has: the last is the intercept, or nothing."""
        return vector.copy() if self.bias else vector[:-1].copy()

    def sheet(self) -> Sheet:
        """The rows with the scratch memory that direct evaluation needs."""
        from separatrix.data.sheet import Sheet

        return Sheet(self)

    def margins(self, phi: Vector) -> Vector:
        """Zφ by direct products."""
        return self.sheet().margins(phi)

    def pull(self, w: Vector) -> Vector:
        """Σ w_i z_i over the rows whose w_i is not zero."""
        return self.sheet().sum(np.flatnonzero(w), w)[:-1].copy()

    def lowest(self, phi: Vector) -> float:
        """The smallest margin among rows with a weight, by direct products."""
        return self.sheet().lowest(phi)

    def map(self, question: Callable[..., Any], *args: Any) -> list[Any]:
        """The one answer to question(0, these rows, *args)."""
        return [question(0, self, *args)]

    def fetch(self, idx: Index) -> tuple[HeldRows, Index]:
        """These rows themselves, and the numbers as they are: nothing is copied."""
        return self, idx

    def raw(self, idx: Index) -> NDArray[Any]:
        """The rows a_i of these numbers, dense and as stored."""
        found = self.X[idx]
        return np.asarray(found.toarray() if self.sparse else found)

    def fingerprint(self) -> str:
        """A digest of rows, labels, weights and intercept: each row enters by its norm and one random projection."""
        probe = np.random.default_rng(0).standard_normal(self.d + 1)
        digest = blake2b(digest_size=16)
        for part in (self.r, self.sign, self.weight, self.margins(probe), np.array([self.bias])):
            digest.update(part.tobytes())
        return digest.hexdigest()

    def rescaled(self, intercept_scaling: Any) -> HeldRows:
        """The same rows with another value of the constant column; themselves where there is no intercept."""
        if self.lengths is None:
            return self
        bias = bias_of(self.lengths, self.weight, intercept_scaling)
        if bias == self.bias:
            return self
        sign = np.sign(self.sign)
        return _assembled(self.arrays, sign, self.weight, self.lengths, bias, self.classes, self.d)

    def with_intercept(self) -> HeldRows:
        """The same rows with a constant column of value 1; themselves where there is one."""
        if self.bias:
            return self
        return _assembled(self.arrays, np.sign(self.sign), self.weight, self.r * self.scale, 1.0, self.classes, self.d)

    def close(self) -> None:
        """Nothing to let go of."""

    def part(self, J: Index) -> HeldRows:
        """The rows J, as they are stored."""
        if self.sparse:
            rows = self.X[J]
            arrays: tuple[Any, ...] = (rows.data, rows.indices, rows.indptr)
        else:
            arrays = (self.arrays[0][J],)
        for array in arrays:
            array.flags.writeable = False
        return replace(self, arrays=arrays, sign=self.sign[J], weight=self.weight[J], r=self.r[J], lengths=None)

    def relabelled(self, sign: Vector) -> HeldRows:
        """The same rows with other labels ±1."""
        return replace(self, sign=sign / self.scale, classes=np.array([-1, 1]))


def hold(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    fit_intercept: bool = False,
    intercept_scaling: float | str = INTERCEPT_SCALE,
    signed: bool = False,
) -> HeldRows:
    """Check (X, y) and wrap them; every complaint about data is raised here. `signed`: y is ±1, and one may be missing.

    `intercept_scaling="auto"` is the power of two nearest to a fifth of the rows' root mean square length.
    """
    arrays, n, d, names = rows_of(X)
    sign, classes = (np.array(y, dtype=np.float64), np.array([-1, 1])) if signed else signs_of(y, n)
    weight = check_weights(sample_weight, n)
    lengths = lengths_of(arrays, d)
    if not np.isfinite(lengths).all():
        complain_about_row(arrays, int(np.flatnonzero(~np.isfinite(lengths))[0]), names)
    bias = bias_of(lengths, weight, intercept_scaling) if fit_intercept else 0.0
    return _assembled(arrays, sign, weight, lengths, bias, classes, d)


def bias_of(lengths: Vector, weight: Vector, intercept_scaling: float | str) -> float:
    """The value of the constant column of rows of these lengths."""
    top = float(lengths[weight > 0].max())
    mean = float(np.sqrt(np.sum(weight * (lengths / top) ** 2) / weight.sum())) if top > 0 else 0.0
    return constant(intercept_scaling, top, mean)


def _assembled(
    arrays: tuple[Any, ...],
    sign: Vector,
    weight: Vector,
    lengths: Vector,
    bias: float,
    classes: NDArray[Any],
    d: int,
) -> HeldRows:
    """Rows with this constant column, in a scale whose squares float64 can hold."""
    r = hypot(lengths, bias)
    top = float(r[weight > 0].max())
    scale = 1.0 if top == 0 or 1e-60 < top < 1e60 else power_near(top)
    return HeldRows(arrays, sign / scale, weight, r / scale, scale, bias, classes, d, lengths if bias else None)


def hold_signed(Z: Any, classes: NDArray[Any]) -> HeldRows:
    """Rows z_i given as they are, dense or CSR, all of sign +1 and without an intercept of their own."""
    n, d = Z.shape
    if isinstance(Z, np.ndarray):
        Z = np.ascontiguousarray(Z)
        Z.flags.writeable = False
        arrays: tuple[Any, ...] = (Z,)
    else:
        arrays = rows_of(Z)[0]
    ones = np.ones(n)
    return HeldRows(arrays, ones, ones, lengths_of(arrays, d), 1.0, 0.0, classes, d)
