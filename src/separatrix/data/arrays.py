"""X as the core takes it: arrays, frames and sparse matrices, checked; every complaint about X is raised here.

C-ordered float32 and float64 arrays (memory maps among them) and CSR matrices are used where they are, without a copy.
Other dense input is copied once: to float32 where that loses nothing (booleans, integers up to 16 bits), to float64
otherwise.
"""

from __future__ import annotations

import os
import sys
from math import frexp, fsum, inf, ldexp
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT
from separatrix.data.rows import Vector

REBUILD = "build it again from its entries"
PER_COLUMN = 160  # bytes: the core keeps about twenty vectors of float64


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
    try:
        A = np.asarray(X)
    except ValueError:  # NumPy's "inhomogeneous shape"
        raise ValueError(f"X must have rows of one length, got {_lengths(X)}; fill or cut the others.") from None
    if A.ndim != 2:
        hint = "; of one column give X.reshape(-1, 1), of one row X.reshape(1, -1)" if A.ndim == 1 else ""
        seen = f"shape {A.shape}" if A.ndim else repr(X)
        raise ValueError(f"X must have two dimensions (rows, columns), got {seen}{hint}.")
    n, d = A.shape
    if n == 0 or d == 0:
        raise ValueError(f"X is empty: shape {A.shape}; it needs at least one row and one column.")
    if A.dtype == object:
        A = _from_objects(A, names, first)
    return (_frozen(_laid_out(A, float_type(A.dtype, A))),), n, d, names


def _lengths(X: Any) -> str:
    """Where the first row is that is not as long as those before it."""
    lengths = [np.size(row) for row in X]
    i = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
    return f"{lengths[0]} in row 0 and {lengths[i]} in row {i}"


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
    """CSR rows, each column once and in rising order; what has to be sorted or added up is so in a copy."""
    check_sparse(X)
    n, d = X.shape
    if n == 0 or d == 0:
        raise ValueError(f"X is empty: shape {X.shape}; it needs at least one row and one column.")
    if d * PER_COLUMN > machine_memory():
        raise ValueError(f"X has {d:,} columns, and vectors of so many do not fit into memory; drop those that are 0.")
    float_type(X.dtype, X.data if X.format in ("csr", "csc", "coo") else None)
    if X.format == "coo":  # it adds up repeated entries on the way
        finite = X.dtype.kind != "f" or bool(np.isfinite(X.data).all())
        C = X.astype(_sum_type(X.dtype)).tocsr()
        _check_sums(C, X.dtype, finite)
    else:
        C = X.tocsr()
        check_sparse(C)
    data, indices, indptr = C.data[: C.indptr[-1]], C.indices[: C.indptr[-1]], C.indptr
    if not _rises(indices, indptr):
        finite = X.dtype.kind != "f" or bool(np.isfinite(data).all())
        # A copy, since sum_duplicates works in place.
        C = type(C)((data.astype(_sum_type(X.dtype)), indices.copy(), indptr.copy()), shape=(n, d))
        C.sum_duplicates()
        _check_sums(C, X.dtype, finite)
        data, indices, indptr = C.data, C.indices, C.indptr
    kind = float_type(X.dtype, None if X.dtype.kind in "iu" and data.dtype.kind == "f" else data)
    if kind == np.float32 and data.dtype == np.float64 and (data != data.astype(np.float32)).any():
        kind = np.float64  # whole numbers that float32 held have a sum that it does not
    whole = np.int32 if indices.dtype == indptr.dtype == np.int32 else np.int64
    arrays = _laid_out(data, kind), _laid_out(indices, whole), _laid_out(indptr, whole)
    return tuple(_frozen(array) for array in arrays), n, d, None


def sound(X: Any) -> Any:
    """X for who checks the rest: of a sparse matrix the parts belong together, and no entry comes twice."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is None or not sparse.issparse(X):
        return X
    check_sparse(X)
    if 0 in X.shape or X.dtype.kind not in "fiub":
        return X
    plain = X.format == "csr" and X.indices.dtype.kind == "i" and len(X.data) == X.indptr[-1]
    if plain and _rises(X.indices, X.indptr):
        return X
    arrays, n, d, _ = _csr_rows(X)
    kind = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
    return kind(arrays, shape=(n, d))


def check_sparse(X: Any) -> None:
    """One sentence about a sparse matrix whose parts do not belong together; compiled code would follow them anywhere.

    X is only looked at: SciPy's own check cuts and converts what it checks.
    """
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {X.shape}.")
    match X.format:
        case "csr":
            _check_compressed(X, X.shape[0], X.shape[1], "row", "column")
        case "csc":
            _check_compressed(X, X.shape[1], X.shape[0], "column", "row")
        case "bsr":
            data = _part(X, "data", 3)
            both = list(zip(X.shape, data.shape[1:], strict=True))
            if any(block == 0 or size % block for size, block in both):
                raise ValueError(f"X is no whole BSR matrix: blocks of {data.shape[1:]} in {X.shape}; {REBUILD}.")
            n, d = (size // block for size, block in both)
            _check_compressed(X, n, d, "row", "column", 3)
        case "coo":
            data = _part(X, "data", 1)
            for name, size in (("row", X.shape[0]), ("col", X.shape[1])):
                _check_index(X, name, len(data), size, {"row": "row", "col": "column"}[name])
        case "dia":
            if len(_part(X, "offsets", 1)) != len(_part(X, "data", 2)) or X.offsets.dtype.kind not in "iu":
                raise ValueError(f"X is no whole DIA matrix: {len(X.offsets)} offsets, {len(X.data)} rows; {REBUILD}.")
        case "lil":
            lengths = [[len(row) for row in part] for part in (X.rows, X.data)]
            if lengths[0] != lengths[1] or len(lengths[0]) != X.shape[0]:
                raise ValueError(f"X is no whole LIL matrix: rows and data differ in their lengths; {REBUILD}.")


def _part(X: Any, name: str, dimensions: int) -> NDArray[Any]:
    part = getattr(X, name)
    if not isinstance(part, np.ndarray) or part.ndim != dimensions:
        seen = f"shape {part.shape}" if isinstance(part, np.ndarray) else type(part).__name__
        where = f"{dimensions} dimension" + "s" * (dimensions > 1)
        raise ValueError(f"X is no whole {X.format.upper()} matrix: {name} must have {where}, got {seen}; {REBUILD}.")
    return part


def _check_compressed(X: Any, n: int, d: int, one: str, other: str, dimensions: int = 1) -> None:
    """n pointers that rise from 0 to the last entry, and for every entry an index below d."""
    data, indptr = _part(X, "data", dimensions), _part(X, "indptr", 1)
    broken = f"X is no whole {X.format.upper()} matrix"
    if indptr.dtype.kind not in "iu" or len(indptr) != n + 1:
        seen = f"{len(indptr)} of {indptr.dtype}"
        raise ValueError(f"{broken}: indptr must be {n + 1} whole numbers, got {seen}; {REBUILD}.")
    if indptr[0] != 0:
        raise ValueError(f"{broken}: indptr must start at 0, got {indptr[0]}; {REBUILD}.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        i = int(falls[0])
        seen = f"{indptr[i]} to {indptr[i + 1]} at {one} {i}"
        raise ValueError(f"{broken}: indptr must not fall, got {seen}; {REBUILD}.")
    if indptr[-1] > len(data):
        raise ValueError(f"{broken}: indptr ends at {indptr[-1]}, but there are {len(data)} entries; {REBUILD}.")
    _check_index(X, "indices", len(data), d, other, int(indptr[-1]))


def _check_index(X: Any, name: str, count: int, size: int, what: str, used: int | None = None) -> None:
    index, broken = _part(X, name, 1), f"X is no whole {X.format.upper()} matrix"
    if index.dtype.kind not in "iu" or len(index) != count:
        seen = f"{len(index)} of {index.dtype}"
        raise ValueError(f"{broken}: {name} must be {count} whole numbers, one per entry, got {seen}; {REBUILD}.")
    index = index[:used]
    if len(index) and not (0 <= index.min() and index.max() < size):
        worst = index.min() if index.min() < 0 else index.max()
        raise ValueError(f"{broken}: {name} must lie in 0 … {size - 1}, got {what} {worst}; {REBUILD}.")


def _rises(indices: NDArray[Any], indptr: NDArray[Any]) -> bool:
    """Whether the columns of every row rise, by a look: the matrix's own word may be out of date."""
    rising = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rising[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    return bool(rising.all())


def _sum_type(dtype: Any) -> Any:
    """In which repeated entries are added up: whole numbers in float64, where 100 + 100 is not -56."""
    return np.float64 if dtype.kind in "iu" else dtype if dtype.kind == "b" else float_type(dtype)


def _check_sums(C: Any, dtype: Any, finite: bool) -> None:
    """Repeated entries were added up; their sums have to be numbers, too. `finite`: the entries are."""
    bad = ~np.isfinite(C.data) if dtype.kind == "f" else np.abs(C.data) > EXACT if dtype.kind in "iu" else None
    if finite and bad is not None and bad.any():
        k = int(np.flatnonzero(bad)[0])
        i = int(np.searchsorted(C.indptr, k, side="right")) - 1
        where = f"row {i}, column {C.indices[k]}"
        raise ValueError(f"repeated entries of X at {where} add up to {C.data[k]:g}; scale X down, or keep one.")


def machine_memory() -> int:
    """Bytes of memory this machine has; a guess where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


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
