"""Rows elsewhere take the steps of the definition, to the last bit, whoever holds them and in however many parts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import fsum, inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from far import save, scattered, uneven
from separatrix.core.definition import dots, exp, sum_rows
from separatrix.data.arrays import exact_parts
from separatrix.data.labels import HeldLabels
from separatrix.data.open import open_files
from separatrix.data.sources import Held, Joined
from separatrix.shards import Local, Shard, ShardedRows
from separatrix.walking.engines.base import rule_of, unit_of
from separatrix.walking.engines.sharded import ShardedEngine
from separatrix.walking.methods import Plan

GAMMAS = [1e-3, 1.0, 100.0, 1e6, inf]
STEPS = 30


def walk(rows: ShardedRows, method: Plan, X: np.ndarray, y: np.ndarray, s: np.ndarray, bias: float) -> np.ndarray:
    """φ after STEPS updates, in plain NumPy: Φ = unit·φ, m = ZΦ, Φ⁺ = Φ + (unit/N) Σ w_i z_i."""
    rule, unit = rule_of(rows, method), unit_of(rows, method)
    sign, ones = y / rows.scale, np.ones((len(X), 1))
    Phi = np.zeros(X.shape[1] + 1)
    base = step = last = None
    k, half, shift = 0, np.isinf(rule.gamma), 0.0
    for _ in range(STEPS):
        m = sign * (dots(X, Phi[:-1]) + bias * Phi[-1])
        if np.isinf(rule.gamma):
            w = s * (0.5 if half else 1.0) * (m <= 0)
        else:
            low = m[s > 0].min()
            x = rule.gamma * low
            shift = x if rule.power < 1 and x > 600 else 0.0
            w = s * (exp(shift - rule.gamma * m) if shift else 1 / (1 + exp(rule.gamma * m)))
            w = w * (m <= rule.cut / rule.gamma + max(0.0, low))
        wrong = None if half or not np.isinf(rule.gamma) else np.flatnonzero(w)
        if wrong is None or last is None or not np.array_equal(wrong, last):
            c = w * sign
            total = np.append(sum_rows(X, c), sum_rows(bias * ones, c))
            N = sum_rows(ones, w)[0]
            by = N ** (1 - rule.power) if rule.power in (0.0, 0.5) and N > 0 else 1.0
            base, step, k = Phi, total / (by * exp(np.array([rule.power * shift]))[0] if shift else by), 0
        last, half, k = wrong, False, k + 1
        Phi = base + float(k) * step
    return np.asarray(Phi / unit * rows.scale)


def steps_of(rows: ShardedRows, method: Plan, *, lazy: bool) -> np.ndarray:
    """φ after STEPS updates of the engine, in calls of uneven length."""
    engine = ShardedEngine(rows, method, None, lazy=lazy)
    for some in (1, 2, 13, STEPS - 16):
        engine.advance(some, False)
    assert engine.t == STEPS
    return engine.phi()


def agree(rows: ShardedRows, X: np.ndarray, y: np.ndarray, s: np.ndarray | None = None, bias: float = 0.0) -> None:
    for gamma in GAMMAS:
        for power in (1.0, 0.5, 0.0):
            method = Plan("of the table", gamma, power)
            wanted = walk(rows, method, X, y, np.ones(len(X)) if s is None else s, bias)
            for lazy in (True, False):
                assert np.array_equal(steps_of(rows, method, lazy=lazy), wanted), (gamma, power, lazy)


@pytest.mark.parametrize("shards", [1, 2, 7, 50])
def test_any_number_of_shards_takes_the_steps_of_the_definition(shards):
    X, y = uneven(3_300, 9, 2)
    rows = scattered(X, y, shards)
    assert len(rows.team.bounds) - 1 == min(shards, 7)  # blocks of 512
    agree(rows, X, y)


def test_fifty_shards_take_the_steps_of_the_definition():
    X, y = uneven(26_001, 4, 2, np.float32)
    rows = scattered(X, y, 50)
    assert len(rows.team.bounds) - 1 == 50
    agree(rows, X, y)


@pytest.mark.parametrize("shards", [1, 3])
def test_weights_and_an_intercept_are_those_of_the_definition(shards):
    X, y = uneven(2_000, 9, 3)
    X = X[:, :-1]
    s = np.random.default_rng(0).random(2_000) * (np.arange(2_000) % 5 > 0)
    rows = scattered(X, y, shards, weight=s, intercept=True)
    assert rows.size == fsum(s) and rows.bias == 1.0
    agree(rows, X, y, s, 1.0)


def test_past_separation_the_steps_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2_000, 6)) + 0.5
    y = np.where(X @ np.ones(6) > 0, 1, -1)
    X += 0.5 * y[:, None]
    rows = scattered(X, y, 3)
    agree(rows, X, y)
    engine = ShardedEngine(rows, Plan("of the table", 1e6, 0.0), None, lazy=True)
    engine.advance(STEPS, False)
    assert engine.errors == 0 and engine.c.low * engine.rule.gamma > 600  # where all weights would underflow


KINDS: dict[str, Any] = {"float64": np.float64, "float32": np.float32, "int16": np.int16, "int64": np.int64}


def table(folder: Path, X: np.ndarray, y: np.ndarray) -> tuple[str, str]:
    path = folder / "rows.parquet"
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(columns | {"label": y}), path, row_group_size=700)
    return str(path), "label"


def three(folder: Path, X: np.ndarray, y: np.ndarray) -> tuple[list[str], str]:
    return save(folder, X, y, pieces=3)


@pytest.mark.parametrize("write", [save, three, table])
@pytest.mark.parametrize("kind", KINDS)
def test_files_take_the_steps_of_the_definition(kind, write: Callable[..., Any], tmp_path):
    X, y = uneven(2_000, 6, 5)
    X = np.round(X * 100).astype(kind) if "int" in kind else X.astype(kind)
    paths, labels = write(tmp_path, X, y)
    source, names = open_files(paths, labels)
    team = Local([Shard(source, names, None, 0, source.n, threads=2)])
    agree(ShardedRows.of(team, source.d, fit_intercept=False, intercept_scaling=1.0), X, y)


def test_a_list_of_arrays_takes_the_steps_of_the_definition():
    X, y = uneven(2_000, 6, 5)
    parts = [Held((np.ascontiguousarray(X[lo:hi]),), hi - lo, 6) for lo, hi in ((0, 300), (300, 301), (301, 2_000))]
    team = Local([Shard(Joined(parts), HeldLabels(y), None, 0, 2_000)])
    agree(ShardedRows.of(team, 6, fit_intercept=False, intercept_scaling=1.0), X, y)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e100), min_size=1, max_size=40), st.integers(1, 39))
def test_the_sum_of_weights_does_not_depend_on_the_shards(values, cut):
    v = np.array(values)
    parts = [*exact_parts(v[:cut]), *exact_parts(v[cut:])]
    assert sum(map(Fraction, parts)) == sum(map(Fraction, values)) and fsum(parts) == fsum(values)


CODE = """
import sys
import numpy as np
from far import scattered, uneven
from separatrix.walking.engines.sharded import ShardedEngine
from separatrix.walking.methods import Plan
X, y = uneven(3_300, 21, 2, np.float32)
for gamma, power in ((100.0, 0.0), (1e6, 1.0), (float("inf"), 0.0), (10.0, 0.75)):
    engine = ShardedEngine(scattered(X, y, 3), Plan("", gamma, power), None, lazy=True)
    engine.advance(60, False)
    print(engine.phi().tobytes().hex())
"""


def test_every_instruction_set_takes_the_same_steps():
    said = set()
    for name in ("baseline", "avx2", "avx512"):
        environment = os.environ | {"SEPARATRIX_SIMD": name, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, timeout=120
        )
        if done.returncode == 0 or "this processor has no" not in done.stderr:
            assert done.returncode == 0, done.stderr
            said.add(done.stdout)
    assert len(said) == 1


def test_without_the_compiled_core_rows_elsewhere_are_refused_in_one_sentence():
    code = "from far import scattered, uneven\nscattered(*uneven(600, 4, 1), 2)"
    environment = os.environ | {"SEPARATRIX_SIMD": "numpy", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1].startswith("ValueError: the compiled core is not here: build it")
