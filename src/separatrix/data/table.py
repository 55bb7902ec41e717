"""Every way to say a model's data → one Design: frames, arrays, files, formulas, statsmodels models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.arrays import complain_about_row, lengths_of, rows_of
from separatrix.data.coding import Term
from separatrix.data.columns import Column, as_series, column, complete_rows, is_frame
from separatrix.data.files import SUFFIXES, Arrays, read, target_of
from separatrix.data.frames import NOTHING, Design, design, made
from separatrix.data.labels import numbers_alone, read_labels
from separatrix.data.open import is_path, open_files
from separatrix.data.outcome import Outcome, check_beside, outcome_of, read_beside
from separatrix.data.statsmodels_model import is_model, read_model

NEEDS_FRAME = "a formula needs the data frame that it speaks of: pass it behind the formula, as in ('died ~ age', df)"


def read_table(
    data: Any,
    y: Any = None,
    *,
    beside: Mapping[str, Any] = NOTHING,
    fixed_effects: Sequence[str] = (),
    reference: Mapping[str, Any] | None = None,
    keep: Sequence[str] = (),
    missing: str = "error",
) -> Design:
    """The design matrix, the outcome and what stands beside them, whatever the data came as.

    Parameters
    ----------
    data : a data frame or dict of columns, an array, a sparse matrix, the path of a file, a formula, or a statsmodels
        model, fitted or not
    y : the outcome: a column's name, or two of successes and failures, or one label per row; of a formula the frame,
        or the path of a table; of a statsmodels model nothing. Left out where `beside` has an event or a time
    beside : what a model asks for beside the regressors ("weight", "groups", …), as names of columns, which then are no
        regressors, or as one value per row; None is passed over
    fixed_effects : columns whose levels get sparse 0/1 columns
    reference : the level to compare with, by column
    keep : factors to keep though they tell rows apart
    missing : "error" or "drop", see `frames.design`
    """
    beside = {key: value for key, value in beside.items() if value is not None}
    if is_formula(data, y):
        from separatrix.data.formula import read_formula

        return read_formula(
            data,
            _frame_for(y),
            beside=beside,
            fixed_effects=fixed_effects,
            reference=reference,
            keep=keep,
            missing=missing,
        )
    if isinstance(data, str) and y is not None and is_frame(y) and not Path(data).exists():
        raise ValueError(f"the formula {data!r} has no ~: write the outcome before it, as in 'died ~ age'.")
    if is_path(data):
        data, y = _from_file(data, y, bool({"event", "time"} & set(beside)))
    if is_frame(data):
        return design(
            data,
            y,
            missing=missing,
            beside=beside,
            fixed_effects=fixed_effects,
            reference=reference,
            keep=keep,
        )
    for option, given in (("fixed_effects", fixed_effects), ("reference", reference), ("keep", keep)):
        if given:
            raise ValueError(f"{option} names columns of a data frame or a formula; got {given!r} beside other data.")
    if is_model(data):
        if y is not None:
            raise ValueError("a statsmodels model has its outcome: leave y out.")
        return read_model(data, beside, missing)
    return _of_arrays(data, y, beside, missing)


def is_formula(data: Any, y: Any = None) -> bool:
    """Whether this is a formula, "died ~ age", rather than a path."""
    if not isinstance(data, str) or "~" not in data:
        return False
    if y is not None and is_frame(y):
        return True
    named = data.strip().startswith(("~/", "~\\")) or Path(data).suffix.lower() in SUFFIXES
    return not named and not Path(data).exists()


def is_table(data: Any, y: Any = None, *, in_place: bool = False) -> bool:
    """Whether these data have names and text to encode, so that `read_table` has to read them.

    Rows of .npy files are taken where they are, and of Parquet files that hold numbers alone; `in_place` asks for that
    whatever the file.
    """
    if isinstance(data, np.ndarray):
        return False
    if is_formula(data, y) or is_model(data) or is_frame(data):
        return True
    if in_place or not is_path(data) or isinstance(data, list | tuple):
        return False
    suffix = Path(data).suffix.lower()
    return not numbers_alone(data, y) if suffix in (".parquet", ".pq") else suffix != ".npy"


def stated_intercept(table: Design, fit_intercept: bool | None) -> bool:
    """Whether there is an intercept: what the table says, if it does, and else the option."""
    if table.fit_intercept is None:
        return bool(fit_intercept)
    if fit_intercept is not None and bool(fit_intercept) != table.fit_intercept:
        has = "has an intercept" if table.fit_intercept else "has no intercept"
        raise ValueError(
            f"fit_intercept={fit_intercept} contradicts the formula or the model, which {has}; leave it out."
        )
    return table.fit_intercept


def _frame_for(y: Any) -> Any:
    """The frame that a formula speaks of, from a file if need be."""
    if is_path(y) and not isinstance(y, list | tuple):
        held = read(y)
        if isinstance(held, Arrays):
            raise ValueError(f"{y} has no named columns for a formula to speak of; pass a table.")
        return held.columns
    if y is None:
        raise ValueError(f"{NEEDS_FRAME}.")
    if not is_frame(y):
        raise ValueError(f"{NEEDS_FRAME}; got {type(y).__name__}.")
    return y


def _from_file(path: Any, y: Any, timed: bool) -> tuple[Any, Any]:
    """A frame and its target, or arrays."""
    if not isinstance(path, list | tuple) and not Path(path).exists() and isinstance(y, str) and Path(y).is_file():
        raise FileNotFoundError(f"there is no file {path}, but one called {y}: name the data first, then the outcome.")
    if isinstance(path, list | tuple):
        raise ValueError(f"a table is read from one file, got {len(path)}; read them into one data frame first.")
    if Path(path).suffix.lower() == ".npy" and y is not None and not isinstance(y, str | int):
        rows, labels = open_files(path, y)
        return rows.read(0, rows.n)[0], labels.read(0, labels.n)
    in_file = Path(path).suffix.lower() == ".npy" and is_path(y) and str(y).endswith(".npy")
    held = read(path, labels=y) if in_file else read(path, target=str(y) if isinstance(y, str | int) else None)
    if isinstance(held, Arrays):
        return held.X, held.y if y is None or isinstance(y, str | int) or in_file else y
    if y is None and not timed:
        raise ValueError(f"y is missing: name the column of {path} that is the outcome.")
    return held.columns, target_of(held, str(y)) if isinstance(y, str | int) else y


def _of_arrays(X: Any, y: Any, beside: Mapping[str, Any], missing: str) -> Design:
    """Rows and labels by position; columns are named x0, x1 and so on."""
    if isinstance(y, str):
        raise ValueError(f"y is the column name {y!r}, but X is no data frame; pass one label per row.")
    aside, notes = read_beside(beside, {})
    known = [aside[key] for key in ("event", "time") if key in aside]
    if y is None and not known:
        raise TypeError("y is missing: give the labels, or a Problem in place of X and y.")
    arrays, n, d, names = rows_of(X)
    outcome = Outcome((known[0],), known[0].name) if y is None else _labels(y, missing)
    if len(outcome.columns[0].missing) != n:
        raise ValueError(f"X has {n} rows but y has {len(outcome.columns[0].missing)} labels; give one label per row.")
    for key, one in aside.items():
        check_beside(key, len(one.missing), n)
    sparse = len(arrays) == 3
    gaps = np.zeros(n, dtype=bool) if sparse else np.isnan(arrays[0]).any(axis=1)
    endless = ~np.isfinite(lengths_of(arrays, d))  # of rows with NaN or infinity, or far too long
    wrong = np.flatnonzero(endless & ~gaps if missing == "drop" else endless)
    if len(wrong):
        complain_about_row(arrays, int(wrong[0]), names)
    rows = complete_rows([*outcome.columns, *aside.values(), Column("X", gaps, gaps)], n, missing)
    if sparse:
        from scipy.sparse import csr_array

        whole: Any = csr_array(arrays, shape=(n, d)).astype(np.float64)
    else:
        whole = np.ascontiguousarray(arrays[0], dtype=np.float64)
    cut = whole if len(rows) == n else whole[rows]
    terms = [Term(f"x{j}", f"x{j}", None, None) for j in range(d)]
    return made(cut, terms, outcome, rows, n, notes, aside, None, None)


def _labels(y: Any, missing: str) -> Outcome:
    """One label per row of any type that can be ordered, or two columns of successes and failures."""
    series = as_series(y)
    name = "y" if series is None or not series.name else str(series.name)
    if series is not None:
        declared = str(series.dtype).startswith(("Categorical", "Enum"))
        if missing == "drop" or (declared and not series.is_null().any()):
            return Outcome((column(name, series),), name)
    elif missing == "drop" or np.ndim(y) == 2:
        return outcome_of(y)
    labels, _ = read_labels(y)
    return Outcome((Column(name, labels, np.zeros(len(labels), dtype=bool)),), name)
