"""Engines: the same iterates, kept in different ways; `auto` says which one suits the data."""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from separatrix.core.constants import SHORT_LEAST, SHORT_MOST
from separatrix.core.library import library
from separatrix.data.rows import Rows, Vector
from separatrix.reporting.hints import did_you_mean
from separatrix.walking.engines.base import Engine, rule_of
from separatrix.walking.engines.dense_lazy import DirectEngine
from separatrix.walking.engines.gram import Gram, GramEngine
from separatrix.walking.engines.gram_sweep import GramSweepEngine
from separatrix.walking.engines.numpy_batch import NumpyEngine
from separatrix.walking.engines.numpy_perceptron import NumpySweepEngine
from separatrix.walking.engines.perceptron import SweepEngine
from separatrix.walking.methods import Plan

ENGINES = ("auto", "dense", "lazy", "gram", "numpy")
ARITHMETIC = {"float64": np.float64, "float32": np.float32}

__all__ = ["ARITHMETIC", "ENGINES", "Engine", "Gram", "choose", "make_engine", "rule_of"]


def make_engine(
    engine: str | Gram,
    rows: Rows,
    method: Plan,
    theta0: Vector | None = None,
    *,
    seed: int = 0,
    average: bool = False,
    arithmetic: str = "float64",
) -> Engine:
    """The engine of this name for one run, "auto" having been resolved by `choose`."""
    name = choose(engine, rows, method, arithmetic)
    whole = rows.whole
    kind: Any = ARITHMETIC[arithmetic]
    if whole is None:
        return engine_elsewhere(rows, method, theta0, lazy=name == "lazy")
    options = engine if isinstance(engine, Gram) else Gram()
    if name == "numpy":
        if method.order is not None:
            return NumpySweepEngine(whole, method, theta0, seed=seed, average=average)
        return NumpyEngine(whole, method, theta0, kind=kind)
    if method.order is not None:
        if name == "gram":
            return GramSweepEngine(whole, method, theta0, options, seed, average)
        return SweepEngine(whole, method, theta0, lazy=name == "lazy", seed=seed, average=average)
    if name == "gram":
        return GramEngine(whole, method, theta0, options)
    return DirectEngine(whole, method, theta0, lazy=name == "lazy", kind=kind)


def engine_elsewhere(rows: Any, method: Plan, theta0: Vector | None, *, lazy: bool) -> Engine:
    """The engine for rows that others hold; its code is loaded when such rows come."""
    from separatrix.walking.engines.sharded import ShardedEngine, ShardedSweepEngine

    kind = ShardedEngine if method.order is None else ShardedSweepEngine
    return kind(rows, method, theta0, lazy=lazy)


def choose(engine: str | Gram, rows: Rows, method: Plan, arithmetic: str = "float64") -> str:
    """The name of the engine to use; "auto" decides from n, d, γ, sparsity and memory.

    Columns of G pay where rows are long (4d ≥ n), all of G fits in the default budget, and weights are mostly 0 or 1,
    so that few of them change from step to step. Otherwise rows are read when due; `dense` where every row always is.
    A method of the user's own, and a machine without the compiled core, take `numpy`.
    """
    named = "gram" if isinstance(engine, Gram) else engine
    if not isinstance(named, str) or named not in ENGINES:
        raise ValueError(
            f"unknown engine {engine!r}{did_you_mean(engine, ENGINES)}; engines: {', '.join(ENGINES)}, or Gram(…)."
        )
    if rows.whole is None and named in ("gram", "numpy"):
        raise ValueError(
            f'engine="{named}" needs the rows in memory; those of files and clusters take "lazy" or "dense".'
        )
    own, compiled = method.own is not None, library() is not None
    if named != "numpy" and (named != "auto" or rows.whole is None) and (own or not compiled):
        why = "takes the methods of the table" if own else "needs the compiled core, which is not here"
        raise ValueError(f'engine="{named}" {why}; rows in memory take engine="numpy".')
    if method.schedule is not None and named == "gram":
        raise ValueError('engine="gram" takes one step size for all t; schedules take "dense", "lazy" or "numpy".')
    if arithmetic not in ARITHMETIC:
        raise ValueError(f"arithmetic must be {' or '.join(ARITHMETIC)}, got {arithmetic!r}.")
    if arithmetic == "float32":
        _bears_float32(named, rows, method)
        named = ("numpy" if own or not compiled else "dense") if named == "auto" else named
    if named != "auto":
        return named
    if own or not compiled:
        return "numpy"
    if method.order in ("cyclic", "random"):
        return "lazy"
    R = rows.R
    band = 0.0 if isinf(method.gamma) else rule_of(rows, method).cut / method.gamma  # m̂ beyond it has weight 0
    long_rows = not rows.sparse and 4 * rows.d >= rows.n >= 64
    if (
        rows.whole is not None
        and method.schedule is None
        and (long_rows or method.order == "most-wrong")
        and band <= 2e-3 * R * R  # the square of a very long row is inf, which will do
        and Gram().slots(rows.n) == rows.n
    ):
        return "gram"
    return "dense" if band > 100 * R * R else "lazy"


def _bears_float32(engine: str, rows: Rows, method: Plan) -> None:
    """Complain where float32 arithmetic was asked for and cannot serve."""
    if engine not in ("auto", "dense", "numpy"):
        raise ValueError(f'arithmetic="float32" takes engine="dense" or "numpy", got {engine!r}.')
    if method.order is not None or rows.whole is None or rows.sparse:
        raise ValueError('arithmetic="float32" is for the batch methods on dense rows in memory; use "float64".')
    if not SHORT_LEAST < rows.R < SHORT_MOST:
        raise ValueError(f'rows as long as {rows.R:.3g} leave float32; scale X, or use arithmetic="float64".')
