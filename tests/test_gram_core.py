"""The gram engine's own contract: the wrong sets of direct evaluation, and the same bits everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from separatrix.core import definition, gram
from separatrix.core.library import SETS, library, serving
from separatrix.core.rows import Stored
from separatrix.data.memory import HeldRows, hold
from separatrix.walking.definition import Definition
from separatrix.walking.engines.base import rule_of, start
from separatrix.walking.engines.gram import Gram, GramEngine
from separatrix.walking.engines.gram_sweep import GramSweepEngine
from separatrix.walking.methods import parse_method

pytestmark = pytest.mark.skipif(library() is None, reason="the gram engine is compiled code")

METHODS = [
    ("batch-perceptron", None),
    ("normalized-batch-perceptron", None),
    ("lr-gd", 1.0),
    ("lr-gd", 300.0),
    ("normalized-lr-gd", 100.0),
]


@pytest.fixture
def serve() -> Iterator[Callable[[str], bool]]:
    """Let another instruction set serve, until the test ends."""
    before = serving()
    yield lambda name: bool(library().serve(name.encode()))
    library().serve(before.encode())


def data(n: int = 700, d: int = 83, mu: float = 0.01, noise: int = 0, seed: int = 0) -> tuple[Any, Any]:
    """Rows with a separator u of margin mu, and their labels, the first few of them false."""
    rng = np.random.default_rng(seed)
    Z, u = rng.standard_normal((n, d)), rng.standard_normal(d)
    u /= np.linalg.norm(u)
    Z *= np.where(Z @ u < 0, -1.0, 1.0)[:, None]
    y = np.where(rng.random(n) < 0.4, -1, 1)
    X = (Z + mu * u) * y[:, None]
    y[:noise] *= -1
    return X, y


def rows_of(X: Any, y: Any, **options: Any) -> HeldRows:
    return hold(X, y, fit_intercept=True, **options)


def engine_on(rows: HeldRows, name: str, gamma: float | None = None, **options: Any) -> GramEngine:
    return GramEngine(rows, parse_method(name, gamma), None, Gram(**options))


def state(engine: GramEngine) -> list[Any]:
    """All that the next step depends on, but the columns."""
    saved = engine.save()
    return [(name, saved[name].tobytes()) for name in sorted(saved)]


def columns_of(rows: HeldRows, idx: Any, threads: int = 1, dtype: Any = np.float64) -> Any:
    """The columns of G of the rows idx, and in float32."""
    table, short = np.zeros((len(idx), rows.n), dtype=dtype), np.zeros((len(idx), rows.n), dtype=np.float32)
    stored, slots = Stored(rows.arrays, rows.d, rows.bias), np.arange(len(idx))[::-1].copy()
    gram.Columns(rows.d).compute(stored, rows.sign, np.asarray(idx), slots, table, short, threads)
    return table[::-1], short[::-1]


@pytest.mark.parametrize("d", [1, 7, 8, 64, 83, 256, 600])
@pytest.mark.parametrize("simd", SETS)
def test_a_column_is_the_definitions_whatever_it_is_computed_with(serve, simd, d):
    if not serve(simd):
        pytest.skip(f"this processor has no {simd}")
    rows = rows_of(*data(150, d))
    z = rows.sign[:, None] * np.column_stack([rows.arrays[0], np.full(rows.n, rows.bias)])
    G = np.stack([definition.margins(rows.arrays[0], rows.sign, rows.bias, v) for v in z])
    everything, short = columns_of(rows, np.arange(rows.n), threads=2)
    np.testing.assert_array_equal(everything, G)
    np.testing.assert_array_equal(short, G.astype(np.float32))
    for idx in ([17], [17, 3], [5, 17, 140, 2, 3], list(range(130))):
        for threads in (1, 2):
            np.testing.assert_array_equal(columns_of(rows, idx, threads)[0], G[idx])
    np.testing.assert_array_equal(columns_of(rows, [4, 5, 6, 7, 8], dtype=np.float32)[0], G[4:9].astype(np.float32))


def test_columns_of_float32_rows_and_of_csr_rows_are_those_of_their_float64_copy():
    X, y = data(300, 83)
    X = X.astype(np.float32)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    idx = np.arange(0, 300, 7)  # 43 of them: whole groups, and a part of one
    G = columns_of(rows_of(X.astype(np.float64), y), idx)[0]
    assert rows_of(X, y).arrays[0].dtype == np.float32
    np.testing.assert_array_equal(columns_of(rows_of(X, y), idx)[0], G)
    for kind in (np.float32, np.float64):
        rows = rows_of(sparse.csr_array(X.astype(kind)), y)
        for some in (1, 5, len(idx)):
            np.testing.assert_array_equal(columns_of(rows, idx[:some], threads=2)[0], G[:some])


def wrong(m: Any, s: Any) -> list[int]:
    return [int(i) for i in np.flatnonzero((m <= 0) & (s > 0))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["batch-perceptron", "normalized-batch-perceptron"])
def test_at_an_infinite_step_the_wrong_sets_are_those_of_the_definition(name, weighted):
    X, y = data(noise=30)
    s = np.random.default_rng(2).integers(0, 5, len(y)) / 8 if weighted else None
    rows, method = rows_of(X, y, sample_weight=s), parse_method(name)
    engine = engine_on(rows, name)
    direct = Definition(method, rule_of(rows, method), X, rows.sign, rows.weight, rows.bias, start(rows, method, None))
    for t in range(600):
        engine.advance(0, False)
        assert wrong(engine.state.m, rows.weight) == wrong(direct.m, rows.weight), t
        engine.advance(1, False)
        direct.advance()
    assert engine.stats()["columns_computed"] > 20
    assert abs(engine.vector() - direct.Phi).max() <= 1e-12 * abs(direct.Phi).max()


@pytest.mark.parametrize("name", ["batch-perceptron", "normalized-batch-perceptron"])
def test_long_stretches_are_jumped_over_and_end_where_single_steps_do(name):
    X = np.array([[0.5, -1.0]] + [[-0.5, -1.0]] * 799)
    rows = rows_of(X, np.array([1] + [-1] * 799))
    jumps, steps = engine_on(rows, name), engine_on(rows, name)
    jumps.advance(10_000, True)
    while steps.errors or steps.t == 0:
        steps.advance(1, True)
        if steps.t >= jumps.t:
            break
    assert (jumps.t, jumps.errors) == (steps.t, steps.errors) and jumps.errors == 0
    assert jumps.vector().tobytes() == steps.vector().tobytes()
    assert jumps.state.m.tobytes() == steps.state.m.tobytes()


@pytest.mark.parametrize(("name", "gamma"), METHODS[2:])
def test_at_a_finite_step_every_step_is_the_definitions_to_1e_minus_12(name, gamma):
    X, y = data()
    rows, method = rows_of(X, y), parse_method(name, gamma)
    engine, rule = engine_on(rows, name, gamma), rule_of(rows, parse_method(name, gamma))
    for t in range(450):  # past two refreshes
        Phi = engine.vector()
        one = Definition(method, rule, X, rows.sign, rows.weight, rows.bias, Phi)
        one.advance()
        engine.advance(1, False)
        scale = max(np.linalg.norm(one.Phi), np.linalg.norm(Phi))
        assert np.linalg.norm(engine.vector() - one.Phi) <= 1e-12 * scale, t
        assert (abs(engine.state.m - one.m) <= 1e-12 * rows.r * scale).all(), t


@pytest.mark.parametrize(("name", "gamma"), METHODS)
def test_the_path_has_the_same_bits_on_every_instruction_set_and_number_of_threads(serve, name, gamma):
    X, y = data(n=1500, d=101, noise=40)
    found = []
    for simd in SETS:
        for threads in (1, 2):
            if serve(simd):
                engine = engine_on(rows_of(X, y), name, gamma)
                engine.use_threads(threads)
                engine.advance(250, False)
                found.append(state(engine))
    assert len(found) >= 2 and all(one == found[0] for one in found)


@pytest.mark.parametrize("noise", [0, 20])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "gamma"), METHODS)
def test_a_path_has_the_same_bits_however_it_is_cut_measured_and_resumed(name, gamma, dtype, noise):
    X, y = data(n=400, d=50, noise=noise)
    whole = engine_on(rows_of(X, y), name, gamma, dtype=dtype)
    whole.advance(330, False)
    cut = engine_on(rows_of(X, y), name, gamma, dtype=dtype)
    for steps in (1, 2, 50, 100, 100, 3, 4):
        cut.advance(steps, False)
        cut.measure()
        saved = cut.save()
        cut = engine_on(rows_of(X, y), name, gamma, dtype=dtype)
        cut.load(saved)
    cut.advance(70, False)
    assert cut.measure() == whole.measure()
    assert cut.vector().tobytes() == whole.vector().tobytes()
    assert state(cut) == state(whole)


def test_few_slots_evict_columns_and_leave_the_wrong_sets_alone():
    X, y = data(n=300, d=100, noise=60)
    memory = 40 * 300 * 8
    some = engine_on(rows_of(X, y), "batch-perceptron", memory=memory)
    every = engine_on(rows_of(X, y), "batch-perceptron")
    for engine in (some, every):
        engine.advance(2000, True)
    assert some.stats()["columns"] == 40 and (some.t, some.errors) == (every.t, every.errors)
    assert some.vector().tobytes() == every.vector().tobytes()


@pytest.mark.parametrize("order", ["cyclic", "random", "most-wrong"])
def test_the_perceptron_on_columns_takes_the_updates_of_direct_products(serve, order):
    X, y = data(n=200, d=40, mu=0.05)
    X = np.rint(8 * X)  # whole numbers: no rounding on either side
    method, found = parse_method("perceptron", order=order), []
    for simd in SETS:
        if serve(simd):
            rows = hold(X, y)
            engine = GramSweepEngine(rows, method, None, Gram(), seed=3, average=order != "most-wrong")
            engine.advance(40, False)
            saved = engine.save()
            engine = GramSweepEngine(hold(X, y), method, None, Gram(), seed=3, average=order != "most-wrong")
            engine.load(saved)
            engine.advance(10_000, True)
            found.append((engine.t, engine.epoch, engine.vector().tobytes(), engine.late.tobytes()))
            assert engine.errors == 0 and engine.check()
    assert all(one == found[0] for one in found)
    phi, t, Z = np.zeros(X.shape[1]), 0, X * y[:, None]
    for epoch in range(1000):
        if order == "most-wrong":
            visit = [int(np.argmin(Z @ phi))]
        else:
            visit = list(np.random.default_rng([3, epoch]).permutation(200) if order == "random" else range(200))
        for i in visit:
            if Z[i] @ phi <= 0:
                phi, t = phi + Z[i], t + 1
        if (Z @ phi > 0).all():
            break
    assert t == found[0][0] and phi.tobytes() == np.frombuffer(found[0][2])[:-1].tobytes()


def test_the_face_refuses_what_the_core_could_not_read():
    rows = rows_of(*data(20, 5))
    stored, table = Stored(rows.arrays, rows.d, rows.bias), np.zeros((4, 20))
    short = np.zeros((0, 20), dtype=np.float32)
    columns = gram.Columns(rows.d)
    for idx, slots, into in (
        (np.array([20]), np.array([0]), table),
        (np.array([1]), np.array([4]), table),
        (np.array([1]), np.array([0, 1]), table),
        (np.array([1], dtype=np.int32), np.array([0]), table),
        (np.array([1]), np.array([0]), table[:, ::2]),
        (np.array([1]), np.array([0]), table.astype(np.int64)),
    ):
        with pytest.raises(ValueError, match=r"must|columns|as many"):
            columns.compute(stored, rows.sign, idx, slots, into, short, 1)
