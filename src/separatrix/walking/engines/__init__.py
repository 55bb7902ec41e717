"""Engines: the same iterates, kept in different ways; `auto` says which one suits the data."""

from __future__ import annotations

from math import isinf
from typing import Any

from separatrix.data.rows import Rows, Vector
from separatrix.reporting.hints import did_you_mean
from separatrix.walking.engines.base import Engine, rule_of
from separatrix.walking.engines.dense_lazy import DirectEngine
from separatrix.walking.engines.gram import Gram, GramEngine
from separatrix.walking.engines.perceptron import GramSweepEngine, SweepEngine
from separatrix.walking.methods import Method

ENGINES = ("auto", "dense", "lazy", "gram")

__all__ = ["ENGINES", "Engine", "Gram", "choose", "make_engine", "rule_of"]


def make_engine(
    engine: str | Gram,
    rows: Rows,
    method: Method,
    theta0: Vector | None = None,
    *,
    seed: int = 0,
    average: bool = False,
) -> Engine:
    """The engine of this name for one run, "auto" having been resolved by `choose`."""
    name = choose(engine, rows, method)
    whole = rows.whole
    if whole is None:
        return engine_elsewhere(rows, method, theta0, lazy=name == "lazy")
    options = engine if isinstance(engine, Gram) else Gram()
    if method.order is not None:
        if name == "gram":
            return GramSweepEngine(whole, method, theta0, options, seed, average)
        return SweepEngine(whole, method, theta0, lazy=name == "lazy", seed=seed, average=average)
    if name == "gram":
        return GramEngine(whole, method, theta0, options)
    return DirectEngine(whole, method, theta0, lazy=name == "lazy")


def engine_elsewhere(rows: Any, method: Method, theta0: Vector | None, *, lazy: bool) -> Engine:
    """The engine for rows that others hold; its code is loaded when such rows come."""
    from separatrix.walking.engines.sharded import ShardedEngine, ShardedSweepEngine

    kind = ShardedEngine if method.order is None else ShardedSweepEngine
    return kind(rows, method, theta0, lazy=lazy)


def choose(engine: str | Gram, rows: Rows, method: Method) -> str:
    """The name of the engine to use; "auto" decides from n, d, γ, sparsity and memory.

    Columns of G pay where rows are long (4d ≥ n), all of G fits in the default budget, and weights are mostly 0 or 1,
    so that few of them change from step to step. Otherwise rows are read when due; `dense` where every row always is.
    """
    if rows.whole is None and (isinstance(engine, Gram) or engine == "gram"):
        raise ValueError('engine="gram" needs the rows in memory; those of files and clusters take "lazy" or "dense".')
    if isinstance(engine, Gram):
        return "gram"
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ValueError(
            f"unknown engine {engine!r}{did_you_mean(engine, ENGINES)}; engines: {', '.join(ENGINES)}, or Gram(…)."
        )
    if engine != "auto":
        return engine
    if method.order in ("cyclic", "random"):
        return "lazy"
    R = rows.R
    band = 0.0 if isinf(method.gamma) else rule_of(rows, method).cut / method.gamma  # m̂ beyond it has weight 0
    in_memory = rows.whole is not None
    long_rows = not rows.sparse and 4 * rows.d >= rows.n >= 64
    if (
        in_memory
        and (long_rows or method.order == "most-wrong")
        and band <= 2e-3 * R * R  # the square of a very long row is inf, which will do
        and Gram().slots(rows.n) == rows.n
    ):
        return "gram"
    return "dense" if band > 100 * R * R else "lazy"
