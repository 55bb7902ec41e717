"""Bit for bit: whatever holds the rows, and whatever multiplies them, walks the path of the NumPy definition."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from conftest import BATCH, INSTRUCTION_SETS, PROBLEMS, noise, planted, serving
from far import save, scattered
from separatrix.data.memory import hold
from separatrix.data.problem import as_problem
from separatrix.walking.definition import Definition
from separatrix.walking.engines import make_engine, rule_of
from separatrix.walking.engines.gram import fill_columns
from separatrix.walking.methods import parse_method

pytestmark = pytest.mark.skipif(not INSTRUCTION_SETS, reason="needs the compiled core: build it with make core")

LIMIT = "8GB"  # this process holds a good deal already when its turn comes
Data = tuple[Any, np.ndarray]


# Problems ----------------------------------------------------------------------------------------------------------


def of_float32(data: Data) -> Data:
    """The nearest rows that float32 holds, in float64."""
    return data[0].astype(np.float32).astype(np.float64), data[1]


def whole(n: int, d: int, seed: int) -> Data:
    """Whole numbers, a third of them 0: the batch perceptron walks without rounding, and ties happen."""
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, (n, d)) * 1.0, rng.permuted(np.resize([-1.0, 1.0], n))


def of_all_lengths(n: int, d: int, seed: int) -> Data:
    """Rows from 1e-8 to 1e8 long."""
    X, y = noise(n, d, seed)
    return X * 10.0 ** np.random.default_rng(seed).integers(-8, 9, (n, 1)), y


@cache
def images(name: str, n: int) -> Data:
    folder = os.environ.get("SEPARATRIX_DATA")
    if not folder:
        pytest.skip("needs the real data sets: set SEPARATRIX_DATA to the folder that holds them")
    X, y = sx.datasets.load(name, n=n, data_dir=folder)
    return X, np.where(y > 0, 1.0, -1.0)


FAMILIES = PROBLEMS | {
    "whole numbers": lambda: whole(90, 13, 7),
    "all lengths": lambda: of_all_lengths(120, 10, 8),
    "tiny numbers": lambda: (planted(80, 17, 0.05, 9)[0] * 1e-200, planted(80, 17, 0.05, 9)[1]),
    "past a block": lambda: of_float32(noise(1300, 60, 10)),
    "past a group": lambda: of_float32(noise(33_500, 3, 11)),
    "two rows": lambda: (np.array([[1.0, 2.0, -0.3], [0.1, 2.0, 0.7]]), np.array([-1.0, 1.0])),
    "one row": lambda: (np.array([[0.3, -1.7]]), np.array([-1.0])),
    "fashion-mnist": lambda: of_float32(images("fashion-mnist", 100)),
    "eurosat": lambda: images("eurosat", 24),
}
SHORT = ("whole numbers", "past a block", "past a group", "fashion-mnist")  # float32 holds their rows
LARGE = ("past a group", "fashion-mnist", "eurosat")  # the definition takes milliseconds for a step
SHARED = ("past a block", "past a group")  # enough entries in enough blocks for several threads

# Methods -----------------------------------------------------------------------------------------------------------

WALKS = [(m, g) for m in BATCH[:2] for g in (1e-3, 1.0, 100.0, 1e6, inf)]
WALKS += [(m, None) for m in (*BATCH[2:], "perceptron")]
EXTRAS = ("", "weights", "intercept", "weights, intercept")
POINTS, FEWER, UPDATES = (1, 10, 100, 1000), (1, 10, 60), (1, 10, 100, 1000, 4000)  # where a walk is looked at


def grid() -> list[Any]:
    """Every problem with every method, each with one of the extras; in `make test` a third of the methods at most."""
    cases = []
    for (k, name), (j, walk), (i, extra) in product(enumerate(FAMILIES), enumerate(WALKS), enumerate(EXTRAS)):
        if (walk[0] == "perceptron" and i != 2 * (k % 2)) or (walk[0] != "perceptron" and (i - j // 3 - k) % 4):
            continue
        if name == "eurosat" and walk[0] != "perceptron" and (j + k) % 4:  # 5 s each
            continue
        sample = (j + k) % (12 if name in LARGE else 3) == 0 or walk[0] == "perceptron"
        marks = () if sample and not (walk[0] == "perceptron" and name in LARGE[1:]) else pytest.mark.long
        cases.append(pytest.param((name, *walk, extra), id=f"{name}-{walk[0]}-{walk[1]}-{extra}", marks=marks))
    return cases


def some(cases: list[Any], names: tuple[str, ...]) -> list[Any]:
    """Those on problems of these names."""
    return [c for c in cases if c.values[0][0] in names]


def lighter(cases: list[Any]) -> list[Any]:
    """The same, where one more pass over the large problems is no part of `make test`."""
    large = [c.values[0][0] in (*LARGE, "past a block") and not c.marks for c in cases]
    more = (pytest.mark.long,)
    return [pytest.param(*c.values, id=c.id, marks=more) if big else c for c, big in zip(cases, large, strict=True)]


GRID = grid()
TWO_ROWS_UP = some(GRID, tuple(n for n in FAMILIES if n != "one row"))  # labels of two values, as a file needs


@cache
def data(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, written out; labels; sample weights, some of them 0."""
    X, y = FAMILIES[name]()
    X = X.toarray() if sparse.issparse(X) else X
    s = np.random.default_rng(0).choice([0.0, 0.25, 1.0, 3.0, 1 / 3], len(y))
    s[0] = 1.0
    return X, y, s


def options(name: str, extra: str) -> dict[str, Any]:
    return {
        "sample_weight": data(name)[2] if "weights" in extra else None,
        "fit_intercept": "intercept" in extra,
    }


def held(name: str, extra: str, change: Any = lambda X: X) -> Any:
    """The rows in memory, stored as they are or in another way."""
    X, y, _ = data(name)
    return hold(change(X), y, signed=True, **options(name, extra))


def walked(engine: Any, rows: Any, method: str, gamma: float | None, threads: int = 1, **more: Any) -> list[Any]:
    """Updates made, the bytes of φ and the number of wrong rows, at several points of the walk.

    The perceptron's is the number that `measure` finds; it walks until it is right.
    """
    how = parse_method(method, gamma)
    runner = make_engine(engine, rows, how, **more)
    runner.use_threads(threads)
    points = UPDATES if method == "perceptron" else FEWER if rows.n > 10_000 else POINTS
    seen = []
    for t in points:
        runner.advance(t - runner.t, method == "perceptron")
        errors = runner.measure().errors if method == "perceptron" else runner.errors
        seen.append((runner.t, runner.phi().tobytes(), errors))
        if runner.t < t:
            break
    return seen


@cache
def defined(name: str, method: str, gamma: float | None, extra: str, arithmetic: str = "float64") -> list[Any]:
    """What the definition does; it is asked once."""
    return walked("numpy", held(name, extra), method, gamma, arithmetic=arithmetic)


# Claims ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", GRID)
@pytest.mark.parametrize("engine", ["dense", "lazy"])
def test_every_instruction_set_and_number_of_threads_walks_the_path_of_the_definition(case, engine):
    name, method, gamma, extra = case
    for simd, threads in product(INSTRUCTION_SETS, (1, 2, 4) if name in SHARED else (1,)):
        with serving(simd):
            assert walked(engine, held(name, extra), method, gamma, threads) == defined(*case), (simd, threads)


@pytest.mark.parametrize("case", TWO_ROWS_UP)
@pytest.mark.parametrize("engine", ["dense", "lazy"])
def test_a_file_walks_the_path_of_the_definition(case, engine, tmp_path):
    name, method, gamma, extra = case
    X, y, _ = data(name)
    (path,), labels = save(tmp_path, X, y)
    with as_problem(path, labels, memory_limit=LIMIT, **options(name, extra)) as problem:
        assert problem.rows.whole is None
        assert walked(engine, problem.rows, method, gamma) == defined(*case)


@pytest.mark.parametrize("case", some(GRID, SHARED))
@pytest.mark.parametrize("shards", [1, 2, 7, 50])
def test_a_team_of_shards_walks_the_path_of_the_definition(case, shards):
    name, method, gamma, extra = case
    X, y, s = data(name)
    rows = scattered(X, y, shards, weight=s if "weights" in extra else None, intercept="intercept" in extra)
    assert len(rows.team.bounds) - 1 == min(shards, -(-len(X) // 512))
    assert walked("lazy", rows, method, gamma) == defined(*case)


@pytest.mark.parametrize(
    ("engine", "case"),
    [
        pytest.param(engine, *c.values, id=f"{engine}-{c.id}", marks=c.marks)
        for engine, names in (("dense", SHORT), ("lazy", SHORT), ("numpy", ("whole numbers",)))
        for c in some(GRID, names)
    ],
)
def test_float32_rows_walk_the_path_of_their_float64_copy(case, engine):
    name, method, gamma, extra = case
    rows = held(name, extra, lambda X: X.astype(np.float32))
    assert rows.arrays[0].dtype == np.float32
    for simd in INSTRUCTION_SETS if engine != "numpy" else INSTRUCTION_SETS[:1]:
        with serving(simd):
            assert walked(engine, rows, method, gamma) == defined(*case), simd


@pytest.mark.parametrize("case", lighter(GRID))
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_walk_the_path_of_their_dense_copy(case, index):
    def thin(X: np.ndarray) -> Any:
        found = sparse.csr_array(X if case[0] not in SHORT else X.astype(np.float32))
        found.indices, found.indptr = found.indices.astype(index), found.indptr.astype(index)
        return found

    name, method, gamma, extra = case
    rows = held(name, extra, thin)
    assert rows.sparse and rows.arrays[1].dtype == index
    for engine, simd in product(("dense", "lazy"), INSTRUCTION_SETS):
        with serving(simd):
            assert walked(engine, rows, method, gamma) == defined(*case), (engine, simd)


# The rows of "tiny numbers" are shorter than float32 can square.
@pytest.mark.parametrize(
    "case", [c for c in lighter(GRID) if c.values[0][1] != "perceptron" and c.values[0][0] != "tiny numbers"]
)
def test_float32_arithmetic_walks_the_path_of_its_own_definition(case):
    name, method, gamma, extra = case
    for simd, threads in product(INSTRUCTION_SETS, (1, 2, 4) if name in SHARED else (1,)):
        with serving(simd):
            found = walked("dense", held(name, extra), method, gamma, threads, arithmetic="float32")
        assert found == defined(*case, arithmetic="float32"), (simd, threads)


KILLED = """
import os, sys
sys.path[:0] = {path!r}
import test_bits
import separatrix as sx
name, method, gamma, extra = {case!r}
X, y, _ = test_bits.data(name)
def die(iterate):
    if iterate.t >= 500:
        os._exit(9)  # at once: nothing is flushed or closed
sx.solve(X, y, method, step_size=gamma, engine={engine!r}, max_iter=1000, stop=None, record=50, callback=die,
         checkpoint=sx.Checkpoint({file!r}, every=0.0), **test_bits.options(name, extra))
"""


@pytest.mark.parametrize(
    ("engine", "case"),
    [
        ("dense", ("noise", "lr-gd", 100.0, "weights, intercept")),
        ("lazy", ("noise", "batch-perceptron", None, "intercept")),
        pytest.param("lazy", ("noise", "normalized-lr-gd", 1e6, ""), marks=pytest.mark.long),
        pytest.param("dense", ("noise", "normalized-batch-perceptron", None, "weights"), marks=pytest.mark.long),
        pytest.param("numpy", ("noise", "normalized-lr-gd", 100.0, "weights"), marks=pytest.mark.long),
        pytest.param("dense", ("noise", "perceptron", None, ""), marks=pytest.mark.long),
        ("lazy", ("noise", "perceptron", None, "intercept")),
    ],
)
def test_a_killed_run_continues_from_its_checkpoint_on_the_path_of_the_definition(engine, case, tmp_path):
    name, method, gamma, extra = case
    X, y, _ = data(name)
    file = str(tmp_path / "run.npz")
    code = KILLED.format(path=[str(Path(__file__).parent)], case=case, engine=engine, file=file)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 9, ended.stderr
    with np.load(file) as saved:
        assert 0 < int(saved["t"]) <= 500
    more = options(name, extra) | {"step_size": gamma, "engine": engine, "stop": None, "record": 50}
    run = sx.solve(X, y, method, max_iter=1000, checkpoint=file, **more)
    t, phi, errors = next(seen for seen in defined(*case) if seen[0] == 1000)
    assert run.n_iter == t and run.trace["errors"][-1] == errors
    assert run.phi.tobytes() == (phi if run.bias else phi[:-8])


# gram has a contract of its own ------------------------------------------------------------------------------------

LONG_ROWS = ("wide", "sparse wide", "tight", "fashion-mnist")


# Not whole numbers over Σw: there ties happen, and rounding decides them.
@pytest.mark.parametrize(
    ("name", "method"),
    [
        case
        for case in product(FAMILIES, BATCH[2:])
        if case[0] not in ("past a group", "eurosat") and case != ("whole numbers", "normalized-batch-perceptron")
    ],
)
def test_gram_meets_the_wrong_sets_of_the_definition_at_infinite_steps(name, method):
    rows, how = held(name, ""), parse_method(method, inf)
    by_rule, by_columns = make_engine("numpy", rows, how), make_engine("gram", rows, how)
    for t in range(150):
        for runner in (by_rule, by_columns):
            runner.advance(min(t, 1), False)
        wrong = np.unpackbits(by_columns.state.bits.view(np.uint8), bitorder="little")[: rows.n]
        assert np.array_equal(by_rule.run.m <= 0, wrong == 1), t


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("method", BATCH[:2])
@pytest.mark.parametrize("name", LONG_ROWS)
def test_a_step_of_gram_is_that_of_the_definition_to_1e_minus_12(name, method, gamma):
    rows, how = held(name, "weights, intercept"), parse_method(method, gamma)
    fill_columns(rows)
    along = make_engine("dense", rows, how)
    for hop in (0, 1, 1, 3, 10, 30):
        along.advance(hop, False)
        runner = make_engine("gram", rows, how, rows.unpad(along.phi()) * gamma)
        phi = runner.phi0.copy()
        run = Definition(how, rule_of(rows, how), rows.X, rows.sign, rows.weight, rows.bias, phi)
        run.advance()
        runner.advance(1, False)
        step = runner.sheet.sum(np.arange(rows.n), runner.state.coef)[:-1]
        assert np.linalg.norm(step - run.step) <= 1e-12 * np.linalg.norm(run.step)


@pytest.mark.parametrize(
    ("name", "walk"),
    [
        pytest.param(n, w, marks=() if (i + k) % 3 == 0 and n not in LARGE else pytest.mark.long)
        for k, n in enumerate(LONG_ROWS)
        for i, w in enumerate(WALKS)
    ],
)
def test_gram_has_the_same_bits_with_every_instruction_set_and_number_of_threads(name, walk, simd):
    first = from_the_first_set(name, *walk)
    for threads in (1, 2, 4):
        assert walked("gram", held(name, "intercept"), *walk, threads) == first, threads


@cache
def from_the_first_set(name: str, method: str, gamma: float | None) -> list[Any]:
    return walked("gram", held(name, "intercept"), method, gamma)
