"""Columns of any frame, by name: numbers, or codes into levels; what is neither is refused with the way out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from numbers import Integral, Real
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT
from separatrix.reporting.hints import did_you_mean, install
from separatrix.reporting.plain import plain

SHOWN = 8  # names in a message
LONG = 60  # letters of one
DATES = ("date", "datetime", "timestamp", "period")  # how the names of such types begin


class DatesError(ValueError):
    """A column of dates, which are levels at best."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of any frame: numbers (levels None), or codes into levels; anything where missing."""

    name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    levels: tuple[Any, ...] | None = None
    declared: bool = False  # whether the levels are those of a pandas categorical or an Enum
    ordered: bool = False  # and whether they were said to be in order

    def labels(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values at these rows, none of which is missing."""
        values = self.values[rows]
        if self.levels is None:
            return values
        plain = len(set(map(type, self.levels))) == 1 and isinstance(self.levels[0], str | bool | int | float)
        labels: NDArray[Any] = (np.array(self.levels) if plain else np.fromiter(self.levels, object))[values]
        return labels


def is_frame(X: Any) -> bool:
    """Whether X is a data frame (a LazyFrame too, which is refused politely) or a dict of columns."""
    if isinstance(X, Mapping):
        return True
    if isinstance(X, np.ndarray | list | tuple):
        return False
    try:
        nw = _narwhals()
    except ImportError:
        return False
    return bool(nw.dependencies.is_into_dataframe(X) or _is_lazy(X, nw))


def raw_columns(frame: Any) -> dict[str, Any]:
    """The columns of a frame by name, not looked at yet."""
    pairs = [(str(key), values) for key, values in frame.items()] if isinstance(frame, Mapping) else _of_frame(frame)
    if not pairs:
        raise ValueError("the frame has no columns; it needs the labels and at least one more.")
    _check_unique([name for name, _ in pairs])
    return dict(pairs)


def index_of(frame: Any) -> NDArray[Any] | None:
    """The labels of a frame's rows, None where they only count them from 0."""
    if isinstance(frame, Mapping) or not _narwhals().dependencies.is_pandas_like_dataframe(frame):
        return None
    return index_labels(frame.index)


def index_labels(index: Any) -> NDArray[Any] | None:
    """The labels of a pandas index, None where they only count rows from 0."""
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return np.asarray(index.to_numpy())


def check_lengths(columns: Sequence[Column]) -> int:
    """The one length that all columns have."""
    first, n = columns[0].name, len(columns[0].missing)
    for name, m in ((column.name, len(column.missing)) for column in columns):
        if m != n:
            raise ValueError(f"columns must be equally long, got {n} values in {first!r} and {m} in {name!r}.")
    if n == 0:
        raise ValueError("the frame has no rows; it needs at least one.")
    return n


def complete_rows(columns: Sequence[Column], n: int, missing: str) -> NDArray[np.int64]:
    """Positions of the rows that miss nothing; refuses the others unless they may be dropped."""
    if missing not in ("error", "drop"):
        raise ValueError(f'missing must be "error" or "drop", got {missing!r}.')
    bad = np.zeros(n, dtype=bool)
    counts = []
    for column in columns:
        if column.missing.any():
            bad |= column.missing
            counts.append(f"{column.name} {np.count_nonzero(column.missing)}")
    hit = np.count_nonzero(bad)
    seen = f"{listed(counts)} (of {n} rows)"
    if hit and missing == "error":
        which = "the row that has one" if hit == 1 else f"the {hit} rows that have one"
        raise ValueError(f"missing values: {seen}; fill them, or pass missing='drop' to leave out {which}.")
    if hit == n:
        raise ValueError(f"missing values in every row: {seen}; fill them, or drop the columns that have most.")
    return np.flatnonzero(~bad).astype(np.int64)


def with_weight(rows: NDArray[np.int64], weight: Column | None) -> tuple[NDArray[np.int64], list[str]]:
    """The rows whose weight is not 0, and a note on the others: neither their levels nor their outcomes count."""
    if weight is None or weight.levels is not None:
        return rows, []
    kept = rows[weight.values[rows] != 0]
    if len(kept) in (0, len(rows)):  # if none is left, whoever asked for weights says so
        return rows, []
    return kept, [f"{len(rows) - len(kept)} rows of weight 0 left out."]


def check_finite(name: str, values: NDArray[Any], rows: NDArray[np.int64]) -> None:
    """One sentence about the first value that is no finite number."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        seen = f"{float(values[bad[0]])} at row {rows[bad[0]]} (counted from 0)"
        raise ValueError(f"column {name!r} has {seen}; replace it, or drop the row.")


def check_name(wanted: Any, names: Sequence[str]) -> str:
    """The name as text, if there is such a column."""
    if str(wanted) not in names:
        hint = did_you_mean(wanted, names)
        if "~" in str(wanted):
            hint = ", and a formula stands before its data, as in ('died ~ age', df)"
        raise ValueError(f"there is no column {str(wanted)!r}{hint}; columns: {listed(names)}.")
    return str(wanted)


def _of_frame(frame: Any) -> list[tuple[str, Any]]:
    nw = _narwhals()
    if _is_lazy(frame, nw):
        raise ValueError("a LazyFrame has not read its rows yet; collect() it first.")
    if not nw.dependencies.is_into_dataframe(frame):
        raise ValueError(f"a data frame or a dict of columns is needed, got {type(frame).__name__}.")
    if nw.dependencies.is_pandas_like_dataframe(frame):  # narwhals would complain in its own words
        _check_unique([str(name) for name in frame.columns])
    return [(str(series.name), series) for series in nw.from_native(frame, eager_only=True).iter_columns()]


def _check_unique(names: list[str]) -> None:
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"columns must have different names, got more than one {listed(twice)}; rename them.")


def column(name: str, values: Any) -> Column:
    """Numbers or levels, from a sequence, an array or a Series."""
    if isinstance(values, list | tuple):
        return _from_objects(name, np.fromiter(values, dtype=object, count=len(values)))
    series = as_series(values)
    return _from_array(name, np.asanyarray(values)) if series is None else _from_series(name, series)


def _from_series(name: str, series: Any) -> Column:
    nw = _narwhals()
    dtype, native = series.dtype, series.to_native()
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if dtype.is_integer():
        if not missing.all():
            _check_whole(name, series.min(), series.max())
        return Column(name, series.fill_null(0).cast(nw.Int64).to_numpy(), missing)
    if dtype.is_numeric():
        return _from_array(name, np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    if dtype == nw.Boolean:
        return Column(name, series.fill_null(False).to_numpy().astype(np.int64), missing, (False, True))
    if series.implementation.is_pandas_like() and str(native.dtype) == "category":
        codes, ordered = native.cat.codes.to_numpy().astype(np.int64), bool(native.cat.ordered)
        return Column(name, codes, missing, tuple(native.cat.categories), True, ordered)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        order = tuple(dtype.categories) if dtype == nw.Enum else None
        return _factor(name, _blanked(series.to_numpy(), missing), missing, order)
    if dtype in (nw.Object, nw.Unknown):
        values = series.to_numpy()
        return _from_array(name, _blanked(values, missing) if values.dtype == object else values)
    raise _unusable(name, str(dtype))


def _from_array(name: str, values: NDArray[Any]) -> Column:
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must have one dimension, got shape {values.shape}.")
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        return _from_array(name, _blanked(values.data, hidden) if hidden.any() else values.data)
    kind = values.dtype.kind
    nothing = np.zeros(len(values), dtype=bool)
    if kind == "b":
        return Column(name, values.astype(np.int64), nothing, (False, True))
    if kind in "iu":
        if len(values):
            _check_whole(name, values.min(), values.max())
        return Column(name, values, nothing)
    if kind == "f":
        return Column(name, values, np.isnan(values))
    if kind in "OUT":
        return _from_objects(name, values.astype(object))
    raise _unusable(name, str(values.dtype))


def _from_objects(name: str, values: NDArray[Any]) -> Column:
    types = list(map(type, values))
    kinds = {t: _kind(t) for t in set(types)}
    for kind in kinds.values():
        if kind not in ("missing", "booleans", "numbers", "text"):
            raise _unusable(name, kind)
    missing = _among(types, {t for t in kinds if kinds[t] == "missing"})
    values = _blanked(values, missing)
    missing |= values != values  # NaN
    seen = sorted({kinds[t] for t in set(compress(types, ~missing))})
    if len(seen) > 1:
        i, j = (next(i for i in np.flatnonzero(~missing) if kinds[types[i]] == kind) for kind in seen[:2])
        found = f"{values[i]!r} at row {i}, {values[j]!r} at row {j}"
        raise ValueError(f"column {name!r} mixes {seen[0]} and {seen[1]} ({found}); make it one kind.")
    if seen == ["text"]:
        return _factor(name, _blanked(values, missing), missing, None)
    values[missing] = 0
    if seen == ["booleans"]:
        return Column(name, values.astype(np.int64), missing, (False, True))
    whole = _among(types, {t for t in kinds if issubclass(t, Integral)}) & ~missing
    if whole.any():
        _check_whole(name, values[whole].min(), values[whole].max())
    return Column(name, values.astype(np.int64 if (whole | missing).all() else np.float64), missing)


def _among(types: list[type], some: set[type]) -> NDArray[np.bool_]:
    return np.fromiter(map(some.__contains__, types), bool, len(types))


def _kind(t: type) -> str:
    if t.__name__ in ("NoneType", "NAType", "NaTType"):  # the last two are of pandas, which need not be installed
        return "missing"
    if issubclass(t, bool | np.bool_):
        return "booleans"
    if issubclass(t, str):
        return "text"
    if issubclass(t, Real | Decimal) and not issubclass(t, np.timedelta64):  # NumPy counts durations as integers
        return "numbers"
    return t.__name__


def _blanked(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Objects, None where missing."""
    objects = values.astype(object)
    objects[missing] = None
    return objects


def _factor(name: str, values: NDArray[Any], missing: NDArray[np.bool_], order: tuple[str, ...] | None) -> Column:
    """Text, None where missing, to codes."""
    cells = values.tolist()
    levels = tuple(sorted(set(cells) - {None})) if order is None else order
    index = {level: k for k, level in enumerate(levels)} | {None: -1}
    codes = np.fromiter(map(index.__getitem__, cells), np.int64, len(cells))
    return Column(name, codes, missing, levels, order is not None)


def as_factor(name: str, values: Any) -> Column:
    """A column whose values are levels whatever they are: numbers and dates, too."""
    try:
        found = column(name, values)
    except DatesError:
        series = as_series(values)
        cells = list(values) if series is None else series.to_list()
        blank = np.array([cell is None or cell != cell for cell in cells], dtype=bool)  # NaT is not equal to itself
        texts = [None if gone else str(cell) for cell, gone in zip(cells, blank, strict=True)]
        return _factor(name, np.array(texts, dtype=object), blank, None)
    if found.levels is not None:
        return found
    levels, codes = np.unique(np.where(found.missing, 0, found.values), return_inverse=True)
    whole = [int(level) if float(level).is_integer() else float(level) for level in levels.tolist()]
    return Column(name, codes.astype(np.int64), found.missing, tuple(whole))


def _check_whole(name: str, low: Any, high: Any) -> None:
    worst = max(int(low), int(high), key=abs)
    if abs(worst) > EXACT:
        seen = f"column {name!r} has the whole number {worst}, beyond 2**53"
        raise ValueError(f"{seen}, which float64 cannot hold; subtract an offset, or drop the column.")


def _unusable(name: str, kind: str) -> ValueError:
    if kind.lower().startswith(DATES):
        return dates(name, f"has the type {kind}")
    return ValueError(f"column {name!r} has the type {kind}; turn it into numbers, or drop it.")


def dates(name: str, seen: str) -> DatesError:
    """The one sentence about dates, whether they come as such or as text."""
    way = "turn the dates into numbers, such as days since the first, or drop it"
    return DatesError(f"column {name!r} {seen}; {way}.")


def as_series(values: Any) -> Any:
    """A narwhals Series, or None where this is no Series."""
    if isinstance(values, np.ndarray | list | tuple | Mapping):
        return None
    try:
        nw: Any = _narwhals()
    except ImportError:
        return None
    series = nw.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _is_lazy(frame: Any, nw: Any) -> bool:
    return isinstance(frame, nw.LazyFrame) or nw.dependencies.is_polars_lazyframe(frame)


def _narwhals() -> ModuleType:
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError(f"data frames are read through narwhals: {install('frames')}.") from None
    return nw


def listed(names: Sequence[str]) -> str:
    """The first few of many names, and the first letters of long ones."""
    more = len(names) - SHOWN
    names = [plain(name, LONG) for name in names[:SHOWN]]
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
