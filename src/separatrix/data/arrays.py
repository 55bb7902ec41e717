"""X as the core takes it: arrays, frames and sparse matrices, checked; every complaint about X is raised here.

C-ordered float32 and float64 arrays (memory maps among them) and CSR matrices are used where they are, without a copy.
Other dense input is copied once: to float32 where that loses nothing (booleans, integers up to 16 bits), to float64
otherwise.
"""

from __future__ import annotations

import sys
from math import frexp, fsum, inf, ldexp
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT
from separatrix.data.rows import Vector


def row_lengths(X: Any) -> Vector:
    """‖a_i‖ of every row, without overflow or underflow on the way."""
    rows, _, d, _ = rows_of(X)
    return lengths_of(rows, d)


def lengths_of(rows: tuple[Any, ...], d: int) -> Vector:
    """The same of rows that are checked."""
    from separatrix.core.rows import Stored

    return Stored(rows, d).norms()


def power_near(top: float) -> float:
    """A power of two near `top`, that float64 can divide by."""
    return ldexp(1.0, min(max(frexp(top)[1], -1021), 1023))


def constant(scale: Any, top: float, mean: float) -> float:
    """The value of the constant column; "auto" is a power of two, so that it adds no rounding.

    `mean` is the rows' root mean square length in units of the longest, `top`.
    """
    if isinstance(scale, str) and scale == "auto":
        if top == 0:
            return 1.0
        (a, i), (b, j) = frexp(top), frexp(mean / 5.0)
        c, k = frexp(a * b)  # top·mean/5 = c 2^(i+j+k), ½ ≤ c < 1; the nearer power in logarithms turns at √½
        return ldexp(1.0, min(max(i + j + k - (c * c < 0.5), -1000), 1000))
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
    return (_frozen(_laid_out(A, float_type(A.dtype, A))),), n, d, names


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
    if X.format in ("csr", "csc", "bsr"):
        X.check_format(full_check=True)  # before anything follows its pointers
    C = X.tocsr()
    if not C.has_canonical_format:
        C = C.copy() if C is X else C
        C.sum_duplicates()
    data = _laid_out(C.data, float_type(C.dtype, C.data))
    return (_frozen(data), _frozen(_laid_out(C.indices)), _frozen(_laid_out(C.indptr))), n, d, None


def _laid_out(a: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """In C order and aligned, as the core takes it; what came over a wire or from a map need not be."""
    return np.require(a, dtype, ["C", "A"])


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


def exact_parts(values: Vector) -> list[float]:
    """Numbers whose exact sum is that of the values: Σ rounded, what that rounding left out, and so on to 0."""
    if values.size == 0 or ((values == np.rint(values)).all() and abs(values).sum() < EXACT):
        return [float(values.sum())]
    left = values.tolist()
    parts = [fsum(left)]
    while parts[-1] != 0.0:
        left.append(-parts[-1])
        parts.append(fsum(left))
    return parts
