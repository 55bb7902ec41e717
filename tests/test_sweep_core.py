"""The compiled sweeps are the definition in NumPy, bit for bit, however a run is cut and wherever it runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from separatrix.core.library import SETS, library, serving
from separatrix.data.memory import hold
from separatrix.walking.engines import make_engine
from separatrix.walking.engines.numpy_perceptron import NumpySweepEngine
from separatrix.walking.engines.perceptron import SweepEngine, sweep_together
from separatrix.walking.methods import ORDERS, parse_method

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core is not here")
CUTS = (1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 400, 0, 1000)  # updates of each call


@pytest.fixture(params=SETS)
def simd(request):
    """Each instruction set that this processor has."""
    before = serving()
    if not library().serve(request.param.encode()):
        pytest.skip(f"no {request.param} here")
    yield request.param
    library().serve(before.encode())


def dense_rows(n=230, d=43, seed=0):
    """Rows of which a few contradict the rest: the perceptron never ends."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    y = np.where(X @ rng.standard_normal(d) > 0.3, 1, -1)
    y[:3] *= -1
    return X, y


def parallel_rows(n=300, seed=7):
    """One column far from 0: all rows nearly parallel, and each update moves their margins as far as it can."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    return 5.0 + (y * rng.uniform(0.05, 1.0, n))[:, None], y


def sparse_rows(n=200, d=61, seed=1):
    """Rows with a tenth of their entries, some with none."""
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((n, d), density=0.1, rng=rng, format="csr"))
    y = np.where(X @ rng.standard_normal(d) > 0, 1, -1)
    return X, y


def engines(X, y, order="cyclic", intercept=True, theta0=None, average=True, threads=1):
    """The definition, then `dense` and `lazy`."""
    method, rows = parse_method("perceptron", order=order), hold(X, y, fit_intercept=intercept)
    found = [SweepEngine(rows, method, theta0, lazy=lazy, seed=5, average=average) for lazy in (False, True)]
    for engine in found:
        engine.use_threads(threads)
    return [NumpySweepEngine(rows, method, theta0, seed=5, average=average), *found]


def state(engine):
    """Every bit of φ and of its late sums, and the place in the sweep."""
    saved = engine.save()
    return {name: (value.tobytes() if value.ndim else int(value)) for name, value in saved.items()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [dense_rows, parallel_rows])
def test_sweeps_are_the_definition_after_every_call(rows, order, intercept, simd):
    definition, *compiled = engines(*rows(), order, intercept)
    for steps in CUTS:
        definition.advance(steps, True)
        for engine in compiled:
            engine.advance(steps, True)
            assert state(engine) == state(definition)
    assert definition.t > 1000 or definition.errors == 0
    assert definition.measure() == compiled[0].measure() == compiled[1].measure()


@pytest.mark.parametrize("order", ORDERS)
def test_a_run_in_one_call_is_the_run_in_many(order, simd):
    X, y = dense_rows()
    cut, whole = engines(X, y, order), engines(X, y, order)
    for a, b in zip(cut, whole, strict=True):
        for steps in CUTS:
            a.advance(steps, True)
        b.advance(sum(CUTS), True)
        assert state(a) == state(b)


@pytest.mark.parametrize("order", ORDERS)
def test_float32_rows_walk_as_their_float64_copy(order, simd):
    X, y = dense_rows()
    for a, b in zip(engines(X, y, order), engines(X.astype(np.float64), y, order), strict=True):
        a.advance(700, True)
        b.advance(700, True)
        assert state(a) == state(b)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_rows_walk_as_their_dense_copy(order, index, kind, simd):
    X, y = sparse_rows()
    X = csr_array((X.data.astype(kind), X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
    found = engines(X, y, order) + engines(X.toarray(), y, order)
    for steps in (3, 40, 500):
        for engine in found:
            engine.advance(steps, True)
        assert len({str(state(engine)) for engine in found}) == 1


@pytest.mark.parametrize("order", ORDERS)
def test_two_threads_walk_as_one(order):
    X, y = dense_rows(n=1700)  # enough entries for a second thread
    for one, two in zip(engines(X, y, order)[1:], engines(X, y, order, threads=2)[1:], strict=True):
        one.advance(300, True)
        two.advance(300, True)
        assert state(one) == state(two)


def test_rows_that_only_fit_another_scale_walk_the_definition(simd):
    X, y = dense_rows()
    for factor in (2.0**-250, 2.0**250):
        definition, *compiled = engines(X.astype(np.float64) * factor, y)
        definition.advance(300, True)
        for engine in compiled:
            engine.advance(300, True)
            assert state(engine) == state(definition)


def test_a_start_of_minus_zeros_is_a_start_from_zero():
    X, y = sparse_rows()
    for a, b in zip(engines(X, y, theta0=np.full(62, -0.0)), engines(X.toarray(), y), strict=True):
        a.advance(50, True)
        b.advance(50, True)
        assert state(a) == state(b)


@pytest.mark.parametrize("order", ["cyclic", "random"])
def test_epochs_end_where_they_are_told_to(order):
    for engine in (found := engines(*dense_rows(), order)):
        engine.advance(10**6, True, epoch=4)
        assert (engine.epoch, engine.save()["position"]) == (4, 0)
        assert engine.stats()["epochs"] == 4
    assert len({str(state(engine)) for engine in found}) == 1
    means = [engine.average().tobytes() for engine in found]
    assert means[0] == means[1] == means[2]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("at", [7, 120, 333])
def test_a_run_goes_on_from_a_saved_place_as_if_it_had_not_stopped(order, at):
    X, y = dense_rows()
    through = engines(X, y, order)
    saved = []
    for engine in through:
        engine.advance(at, True)
        saved.append(engine.save())
        engine.advance(200, True)
    for k, engine in enumerate(engines(X, y, order)):
        engine.advance(50, True)
        engine.load(saved[(k + 1) % 3])  # one engine's place is every engine's
        engine.advance(200, True)
        assert state(engine) == state(through[0])


@pytest.mark.parametrize("order", ["cyclic", "random"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_perceptrons_together_take_the_steps_they_take_alone(order, lazy, threads, sparse, simd):
    X, _ = sparse_rows() if sparse else dense_rows()
    rng, method = np.random.default_rng(2), parse_method("perceptron", order=order)
    base = hold(X, np.resize([-1.0, 1.0], X.shape[0]), signed=True, fit_intercept=True)
    labels = [np.where(X @ rng.standard_normal(X.shape[1]) > 0, 1.0, -1.0) for _ in range(5)]
    options = {"lazy": lazy, "seed": 3, "average": True}
    together = [SweepEngine(base.relabelled(y), method, None, **options) for y in labels]
    together[0].use_threads(threads)
    for _ in range(4):
        sweep_together(together)
    for engine, y in zip(together, labels, strict=True):
        alone = SweepEngine(base.relabelled(y), method, None, **options)
        alone.advance(10**6, True, epoch=4)
        assert state(engine) == state(alone)


def test_lazy_reads_fewer_rows_once_most_are_far_from_the_boundary():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2000, 20))
    y = np.where(X[:, 0] > 0, 1, -1)
    X[:, 0] += 0.01 * y
    _, dense, lazy = engines(X, y)
    dense.advance(10**6, True)
    lazy.advance(10**6, True)
    assert dense.errors == 0 and state(dense) == state(lazy)
    assert lazy.stats()["rows_read"] < 0.7 * dense.stats()["rows_read"]


def test_a_random_order_stands_still_only_where_every_row_is_right():
    """n rows right in a row may be parts of two orders, and then not all rows."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 3))
        y = np.where(X @ rng.standard_normal(3) > 0, 1, -1)
        if abs(y.sum()) < len(y):
            columns = make_engine("gram", hold(X, y), parse_method("perceptron", order="random"), seed=seed)
            for engine in (*engines(X, y, "random", intercept=False), columns):
                engine.advance(10**6, False)
                assert engine.t == 10**6 and engine.sheet.lowest(engine.phi()) > 0


def test_what_the_core_cannot_take_is_refused():
    X, y = dense_rows()
    _, _, engine = engines(X, y)
    with pytest.raises(ValueError, match="an order of 230 rows"):
        engine.state.sweep(np.arange(229), 1)
    with pytest.raises(ValueError, match="an order of 230 rows"):
        engine.state.sweep(np.arange(230.0), 1)
    other = engines(X + 1, y)[2]
    with pytest.raises(ValueError, match="the same rows"):
        sweep_together([engine, other])
