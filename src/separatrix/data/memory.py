"""(X, y) → Problem: rows checked once at the door, then trusted everywhere.

Rows are z_i = y_i a_i, never stored: the sign goes beside the row. C-ordered float32 and float64 arrays (memory maps
among them) and CSR matrices are used where they are, without a copy. Other dense input is copied once: to float32 where
that loses nothing (booleans, integers up to 16 bits), to float64 otherwise.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from math import frexp, inf, ldexp, log2
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

INTERCEPT_SCALE = 1.0  # the value of the constant column that fit_intercept appends
EXACT = 2.0**53  # whole numbers up to here are float64 numbers


@dataclass(frozen=True, eq=False)
class Problem:
    """Validated rows and labels.

    Attributes
    ----------
    rows : `(X,)` for dense rows, `(data, indices, indptr)` for CSR
    sign : y_i / scale, so that z_i / scale = sign_i (a_i, bias)
    weight : sample weights s_i, zero for rows left out
    r : ‖z_i‖ / scale
    scale : a power of two, 1 unless the data are so large or small that squares would leave float64
    bias : value of the appended constant column, 0 without an intercept
    classes : the two labels; the second, larger one is +1
    short : dense rows that the user gave as float32: float32 arithmetic may serve where nothing depends on more
    """

    rows: tuple[Any, ...]
    sign: Vector
    weight: Vector
    r: Vector
    scale: float
    bias: float
    classes: NDArray[Any]
    d: int
    short: bool = False

    @property
    def n(self) -> int:
        """Number of rows, those of weight zero included."""
        return len(self.sign)

    @property
    def size(self) -> float:
        """Σ s_i, which is n without sample weights."""
        return float(self.weight.sum())

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
        return len(self.rows) == 3

    @property
    def nbytes(self) -> int:
        """Bytes the rows take."""
        return sum(int(a.nbytes) for a in self.rows)

    def unpad(self, vector: Vector) -> Vector:
        """From d + 1 entries to those the user has: the last is the intercept, or nothing."""
        return vector.copy() if self.bias else vector[:-1].copy()


def make_problem(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    fit_intercept: bool = False,
    intercept_scaling: float | str = INTERCEPT_SCALE,
    signed: bool = False,
) -> Problem:
    """Check (X, y) and wrap them; every complaint about data is raised here. `signed`: y is ±1, and one may be missing.

    `intercept_scaling="auto"` is the power of two nearest to a fifth of the rows' root mean square length.
    """
    rows, n, d, names = rows_of(X)
    sign, classes = (np.array(y, dtype=np.float64), np.array([-1, 1])) if signed else _labels(y, n)
    weight = check_weights(sample_weight, n)
    r = _lengths(rows, n)
    if not np.isfinite(r).all():
        complain_about_row(rows, int(np.flatnonzero(~np.isfinite(r))[0]), names)
    bias = 0.0
    if fit_intercept:
        top = float(r[weight > 0].max())
        mean = float(np.sqrt(weight @ (r / top) ** 2 / weight.sum())) if top > 0 else 0.0
        bias = constant(intercept_scaling, top, mean)
    r = np.hypot(r, bias)
    top = float(r[weight > 0].max())
    scale = 1.0 if top == 0 or 1e-60 < top < 1e60 else power_of_two(top)
    kind = getattr(X, "dtype", np.dtype(np.float64))
    short = len(rows) == 1 and kind in (np.float32, np.float16) and 1e-15 < top < 1e15
    return Problem(rows, sign / scale, weight, r / scale, scale, bias, classes, d, short)


def row_lengths(X: Any) -> Vector:
    """‖a_i‖ of every row, without overflow or underflow on the way."""
    rows, n, _, _ = rows_of(X)
    return _lengths(rows, n)


def _lengths(rows: tuple[Any, ...], n: int) -> Vector:
    from separatrix.core.rows import row_norms

    r = np.empty(n)
    row_norms(rows, r)
    return r


def relabel(problem: Problem, sign: Vector) -> Problem:
    """The same rows with other labels ±1."""
    return replace(problem, sign=sign / problem.scale, classes=np.array([-1, 1]))


def power_of_two(top: float) -> float:
    """One near `top`, that float64 can divide by."""
    return ldexp(1.0, min(max(frexp(top)[1], -1021), 1023))


def constant(scale: Any, top: float, mean: float) -> float:
    """The value of the constant column; "auto" is a power of two, so that it adds no rounding.

    `mean` is the rows' root mean square length in units of the longest, `top`.
    """
    if isinstance(scale, str) and scale == "auto":
        if top == 0:
            return 1.0
        return ldexp(1.0, min(max(round(log2(top) + log2(mean / 5.0)), -1000), 1000))
    if isinstance(scale, bool) or not isinstance(scale, Real) or not 0 < float(scale) < inf:
        raise ValueError(f'intercept_scaling must be positive and finite, or "auto", got {scale!r}.')
    return float(scale)


def _frozen(a: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for one kind of array, whatever the user's flags."""
    view = a.view()
    view.flags.writeable = False
    return view


def rows_of(X: Any, first: int = 0) -> tuple[tuple[Any, ...], int, int, list[str] | None]:
    """The rows as the kernels take them, their number and length, and the columns' names; counted from `first`."""
    names = _column_names(X)
    sparse = sys.modules.get("scipy.sparse")  # an object cannot be sparse unless its module is loaded
    if sparse is not None and sparse.issparse(X):
        return _csr_rows(X)
    if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        i, j = np.argwhere(np.ma.getmaskarray(X))[0]
        raise ValueError(f"X has a masked entry at row {first + i}, column {j}; fill it or drop the row.")
    A = np.asarray(X)
    if A.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {A.shape}.")
    n, d = A.shape
    if n == 0 or d == 0:
        raise ValueError(f"X is empty: shape {A.shape}; it needs at least one row and one column.")
    if A.dtype == object:
        A = _from_objects(A, names, first)
    return (_frozen(np.ascontiguousarray(A, dtype=float_type(A.dtype, A))),), n, d, names


def float_type(dtype: Any, values: Any = None) -> Any:
    """float32 where it holds every value exactly or already is the user's choice, float64 otherwise."""
    if dtype.kind not in "fiub":
        raise ValueError(f"X must be numeric, got dtype {dtype}; encode text and dates as numbers first.")
    wide = dtype.kind in "iu" and dtype.itemsize == 8 and values is not None and values.size
    if wide and max(abs(int(values.min())), abs(int(values.max()))) > EXACT:
        raise ValueError(
            "X has whole numbers beyond 2**53, which float64 cannot hold; subtract an offset or scale them."
        )
    small = dtype.kind == "b" or (dtype.kind in "iu" and dtype.itemsize <= 2)
    return np.float32 if small or (dtype.kind == "f" and dtype.itemsize <= 4) else np.float64


def _csr_rows(X: Any) -> tuple[tuple[Any, ...], int, int, None]:
    n, d = X.shape
    if n == 0 or d == 0:
        raise ValueError(f"X is empty: shape {X.shape}; it needs at least one row and one column.")
    C = X.tocsr()
    if not C.has_canonical_format:
        C = C.copy() if C is X else C
        C.sum_duplicates()
    C.check_format(full_check=True)
    data = np.ascontiguousarray(C.data, dtype=float_type(C.dtype, C.data))
    return (_frozen(data), _frozen(C.indices), _frozen(C.indptr)), n, d, None


def _column_names(X: Any) -> list[str] | None:
    """Names of a data frame's columns, for messages."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(c) for c in columns]


def _from_objects(A: NDArray[Any], names: list[str] | None, first: int) -> Vector:
    """Objects (frames of mixed columns, nested lists) to floats, naming the first entry that is no number."""
    try:
        return A.astype(np.float64)
    except (TypeError, ValueError):
        for i, j in np.ndindex(*A.shape):
            try:
                float(A[i, j])
            except (TypeError, ValueError):
                where = f"row {first + i}, column {_column(j, names)}"
                raise ValueError(
                    f"X must be numeric, got {A[i, j]!r} at {where}; encode or drop that column."
                ) from None
        raise


def _column(j: int, names: list[str] | None) -> str:
    return f"{j}" if names is None else f"{j} ({names[j]!r})"


def complain_about_row(rows: tuple[Any, ...], i: int, names: list[str] | None, first: int = 0) -> None:
    """Name the first NaN or infinity of row i of these, which begin with row `first`."""
    if len(rows) == 3:
        lo, hi = rows[2][i], rows[2][i + 1]
        values, columns = rows[0][lo:hi], rows[1][lo:hi]
    else:
        values, columns = rows[0][i], np.arange(rows[0].shape[1])
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad) == 0:
        raise ValueError(f"row {first + i} of X is longer than float64 can hold; scale X down.")
    value = "NaN" if np.isnan(values[bad[0]]) else str(float(values[bad[0]]))
    where = f"row {first + i}, column {_column(int(columns[bad[0]]), names)}"
    raise ValueError(f"X contains {value} at {where}; fill or drop it.")


def read_labels(y: Any, first: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """One label per row and the classes in order; shape, missing labels and mixed types are complained about here.

    Rows are counted from `first`.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 0 and labels.dtype.kind == "U":
        raise ValueError(
            f"y must be one label per row, got the name {str(labels)!r}; pass the column itself, as df[name]."
        )
    if labels.ndim != 1:
        raise ValueError(f"y must be one label per row, got shape {labels.shape}.")
    if labels.dtype.kind == "f" and (gaps := np.flatnonzero(np.isnan(labels))).size:
        raise ValueError(f"y is missing at row {first + int(gaps[0])}; drop the row or give it a label.")
    for i, v in enumerate(labels if labels.dtype.kind == "O" else ()):
        try:
            missing = v is None or bool(v != v)
        except TypeError:  # pandas' NA is neither equal nor unequal
            missing = True
        if missing:
            raise ValueError(f"y is missing at row {first + i}; drop the row or give it a label.")
    if labels.dtype.kind in "iufb" and len(labels):
        ends = labels.min(), labels.max()
        if ((labels == ends[0]) | (labels == ends[1])).all():  # two labels need no sorting
            return labels, np.unique(np.array(ends))
    try:
        return labels, np.unique(labels)
    except TypeError:
        raise ValueError("y mixes labels that cannot be ordered (numbers and text, say); use one type.") from None


def _labels(y: Any, n: int) -> tuple[Vector, NDArray[Any]]:
    labels, classes = read_labels(y)
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels.")
    classes = pick_classes(classes)
    return np.where(labels == classes[1], 1.0, -1.0), classes


def label(value: Any) -> str:
    """A class as people write it: 1, not 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def pick_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """The two classes, or one sentence on how many there are."""
    if len(classes) != 2:
        shown = ", ".join(label(c) for c in classes[:5]) + (", …" if len(classes) > 5 else "")
        plural = "class" if len(classes) == 1 else "classes"
        more = "; diagnose() takes more" if len(classes) > 2 else ""
        raise ValueError(f"y has {len(classes)} {plural} ({shown}); separation is between exactly two{more}.")
    return classes


def check_weights(sample_weight: Any, n: int) -> Vector:
    """s_i ≥ 0, one per row and not all 0; 1 where none are given."""
    if sample_weight is None:
        return np.ones(n)
    s = np.array(sample_weight, dtype=np.float64)
    if s.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {s.shape}.")
    bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight must be finite and not negative, got {s[bad[0]]} at row {bad[0]}.")
    if not s.any():
        raise ValueError("sample_weight is zero for every row; give at least one row a weight.")
    if not 1e-100 < s.max() < 1e100:  # only ratios count, and sums must not overflow
        s = np.ldexp(s, -frexp(float(s.max()))[1])
    return s
