"""Engines differ in how, never in what."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import subprocess
import sys
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import separatrix as sx
from conftest import BATCH, ENGINES, PROBLEMS, noise, planted, signed
from separatrix.data.memory import hold
from separatrix.data.sheet import Sheet
from separatrix.walking.definition import walk
from separatrix.walking.engines import gram as gram_engine
from separatrix.walking.engines import make_engine
from separatrix.walking.engines.gram import Cache
from separatrix.walking.loop import Walk
from separatrix.walking.methods import TABLE, Method, parse_method


def reference(X, y, name, gamma, steps):
    """φ_0 … φ_steps and the wrong sets, from the NumPy definition."""
    Z = signed(X, y)
    phis = list(itertools.islice(walk(parse_method(name, gamma), Z), steps + 1))
    return Z, phis


def walked(X, y, name, gamma, engine, steps):
    """φ and the wrong set at every iteration, from an engine."""
    problem, method = hold(X, y), parse_method(name, gamma)
    runner = make_engine(engine, problem, method)
    for t in range(steps + 1):
        runner.advance(0 if t == 0 else 1, False)
        yield problem.unpad(runner.phi()), runner.errors


@pytest.mark.parametrize("steps", [200, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("name", "gamma"), [(m, g) for m in BATCH[:2] for g in (1e-3, 1.0)] + [(m, None) for m in BATCH[2:]]
)
def test_every_engine_walks_the_path_of_the_numpy_definition(problem, engine, name, gamma, steps):
    X, y = problem
    X = X / hold(X, y).R  # rows of length 1 at most: with γR² ≤ 1 no method amplifies rounding
    Z, phis = reference(X, y, name, gamma, steps)
    for t, (phi, errors) in enumerate(walked(X, y, name, gamma, engine, steps)):
        scale = np.linalg.norm(phis[t])
        assert np.linalg.norm(phi - phis[t]) <= 1e-9 * scale, t
        m = Z @ phis[t]
        doubtful = np.sum(np.abs(m) <= 1e-9 * scale) if t else len(y)  # a tie is decided by rounding
        assert abs(errors - np.sum(m <= 0)) <= doubtful, t
        if t and np.all(m > 0) and gamma is None:
            break  # past separation a perceptron stands still


@pytest.mark.parametrize("steps", [200, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("gamma", [100.0, 1e6])
@pytest.mark.parametrize("name", BATCH[:2])
def test_every_single_step_agrees_where_rounding_is_amplified(problem, engine, name, gamma, steps):
    X, y = problem
    _, phis = reference(X, y, name, gamma, steps)
    p, method = hold(X, y), parse_method(name, gamma)
    for phi, after in itertools.pairwise(phis):
        runner = make_engine(engine, p, method, gamma * phi)
        runner.advance(1, False)
        assert np.linalg.norm(p.unpad(runner.phi()) - after) <= 1e-12 * np.linalg.norm(after)


def test_at_least_half_of_the_problems_do_not_separate_within_1000_iterations():
    outcomes = [sx.solve(*make(), "batch-perceptron", max_iter=1000).separated for make in PROBLEMS.values()]
    assert sum(outcomes) <= len(outcomes) / 2


@pytest.mark.parametrize("name", BATCH)
@pytest.mark.parametrize("gamma", [0.05, 3.0, 1e5])
def test_lazy_and_dense_agree_to_the_last_bit(problem, name, gamma):
    X, y = problem
    gamma = gamma if name in BATCH[:2] else None
    runs = [sx.solve(X, y, name, step_size=gamma, engine=e, max_iter=700, stop=None) for e in ("dense", "lazy")]
    assert np.array_equal(runs[0].phi, runs[1].phi)
    for column in set(runs[0].trace) - {"seconds"}:
        assert np.array_equal(runs[0].trace[column], runs[1].trace[column], equal_nan=True), column


@pytest.mark.parametrize("name", BATCH[:2])
def test_lazy_and_dense_agree_to_the_last_bit_on_the_way_past_separation(name):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = planted(int(rng.integers(5, 60)), int(rng.integers(1, 9)), float(rng.uniform(0.01, 1)), seed)
        options = {"step_size": float(10 ** rng.uniform(0, 8)), "fit_intercept": bool(seed % 2), "max_iter": 300}
        runs = [sx.solve(X, y, name, engine=e, stop=None, record="all", **options) for e in ("dense", "lazy")]
        assert runs[0].separated
        for column in set(runs[0].trace) - {"seconds"}:
            assert np.array_equal(runs[0].trace[column], runs[1].trace[column], equal_nan=True), (seed, column)


def test_the_lazy_engine_leaves_most_rows_unread():
    digits, labels = load_digits(return_X_y=True)
    run = sx.solve(digits, labels == 8, "batch-perceptron", engine="lazy", max_iter=2000)
    assert run.n_iter == 2000
    assert run.stats["rows_read"] < 0.25 * run.n_iter * len(labels)


def test_the_gram_engine_remembers_products_instead_of_rereading_the_data():
    X, y = planted(300, 400, 0.01, 0)
    run = sx.solve(X, y, "batch-perceptron", engine="gram", stop=None, max_iter=3000)
    assert run.stats["rows_read"] < 0.2 * run.n_iter * len(y)


def test_gram_stays_right_when_only_a_few_columns_fit_in_memory():
    X, y = planted(200, 80, 0.005, 1)
    whole = sx.solve(X, y, "batch-perceptron", engine="dense")
    for columns in (1, 3, 40):
        tight = sx.solve(X, y, "batch-perceptron", engine=sx.Gram(memory=columns * 200 * 8))
        assert tight.n_iter == whole.n_iter
        assert tight.stats["columns"] <= columns
        assert np.allclose(tight.phi, whole.phi, rtol=1e-10, atol=0)


def test_a_column_of_g_has_the_same_bits_whatever_it_is_computed_with():
    for X, y in (planted(700, 90, 0.1, 6), planted(300, 1200, 0.1, 7)):
        problem = hold(X, y, fit_intercept=True)
        sheet = Sheet(problem)
        caches = [Cache(problem.n, problem.d, 300, "float64") for _ in range(3)]
        rows = np.arange(7, 207)
        caches[0].compute(sheet, rows, 1)
        for row in rows:
            caches[1].compute(sheet, np.array([row]), 1)
        caches[2].compute(sheet, np.random.default_rng(0).permutation(rows), 1)
        tables = [cache.table[cache.slot[rows]] for cache in caches]
        assert np.array_equal(tables[0], tables[1]) and np.array_equal(tables[0], tables[2])
        Z = y[:, None] * np.column_stack([X, np.ones(len(y))])
        assert np.allclose(tables[0], (Z @ Z.T)[rows], rtol=1e-12, atol=1e-10)


def test_columns_are_shared_by_runs_on_one_problem_and_go_with_it():
    problem = hold(*planted(150, 200, 0.01, 8))
    for gamma, fresh in ((1e4, True), (2e4, False)):
        before = len(gram_engine._caches)
        walk = Walk(problem, parse_method("lr-gd", gamma), engine="gram", max_iter=300, stop=None)
        held = walk.engine.stats()["columns"]
        assert (held == 0) == fresh and len(gram_engine._caches) == before + fresh
        for _ in walk.iterates():
            pass
    gone = weakref.ref(problem)
    del problem, walk, _
    gc.collect()
    assert gone() is None


# Normalized steps of 0.3 go on far past separation, where weights are small and rounding is large beside them.
@pytest.mark.parametrize(
    ("method", "gamma", "limit"),
    [(m, g, 1e-10 if (m, g) == ("normalized-lr-gd", 0.3) else 1e-12) for m in BATCH[:2] for g in (0.3, 10.0, 100.0)],
)
def test_gram_at_finite_steps_holds_the_margins_of_its_own_iterates(method, gamma, limit):
    X, y, _ = sx.planted(300, 80, margin=0.02, offset=25.0, random_state=1)
    problem = hold(X, y)
    engine = make_engine("gram", problem, parse_method(method, gamma))
    assert len(engine.state.short) == 300
    small = 0
    for t in range(1480):
        before = int(engine.c.columns_read)
        engine.advance(1, False)
        small += engine.c.columns_read > before and engine.c.n_need > engine.c.n_large
        Phi = engine.vector()
        apart = np.abs(engine.state.m - engine.sheet.margins(Phi)) / (problem.r * np.linalg.norm(Phi))
        assert apart.max() < limit, t
    assert small > 10  # steps whose small changes of weight took the short columns


def test_short_columns_are_left_out_where_memory_is_tight():
    X, y, _ = sx.planted(100, 200, margin=0.1, random_state=0)
    problem, how = hold(X, y), parse_method("lr-gd", 10.0)
    tight, roomy = (make_engine(sx.Gram(memory=100 * 100 * size), problem, how) for size in (8, 12))
    assert len(tight.state.short) == 0 and len(roomy.state.short) == 100
    for engine in (tight, roomy):
        engine.advance(50, False)
        assert engine.stats()["columns_read"] > 1000
    assert np.allclose(tight.phi(), roomy.phi(), rtol=1e-9, atol=1e-12)


def test_gram_with_float32_columns_finds_a_separator_with_margins_off_by_less_than_1e_minus_6():
    X, y = planted(300, 400, 0.05, 2)
    exact = sx.solve(X, y, "lr-gd", step_size=1.0, engine="dense", max_iter=200, stop=None)
    short = sx.solve(X, y, "lr-gd", step_size=1.0, engine=sx.Gram(dtype="float32"), max_iter=200, stop=None)
    assert short.stats["columns_read"] > 10_000
    assert 1e-11 * np.linalg.norm(exact.phi) < np.linalg.norm(short.phi - exact.phi) < 1e-6 * np.linalg.norm(exact.phi)
    run = sx.solve(X, y, "batch-perceptron", engine=sx.Gram(dtype="float32"))
    assert run.separated and np.min(signed(X, y) @ run.theta) > 0


@pytest.mark.parametrize(("name", "gamma"), [(BATCH[0], 1e3), (BATCH[1], 1e3), (BATCH[2], None), (BATCH[3], None)])
def test_float32_data_walk_exactly_as_their_float64_copy_where_few_rows_have_a_weight(name, gamma, engine):
    digits, labels = load_digits(return_X_y=True)
    short, y = digits.astype(np.float32), labels == 8
    a = sx.solve(short, y, name, step_size=gamma, engine=engine, max_iter=300, stop=None)
    b = sx.solve(short.astype(np.float64), y, name, step_size=gamma, engine=engine, max_iter=300, stop=None)
    assert np.array_equal(a.phi, b.phi)


@pytest.mark.parametrize("name", BATCH[:2])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [257, 1800])
def test_float32_rows_walk_as_their_float64_copy_where_every_row_has_a_weight(name, intercept, n):
    X, y = noise(n, 900, 3)
    short = X.astype(np.float32)
    exact = sx.solve(short.astype(np.float64), y, name, step_size=1e-3, fit_intercept=intercept, max_iter=40, stop=None)
    for engine in ("dense", "lazy"):
        run = sx.solve(short, y, name, step_size=1e-3, fit_intercept=intercept, engine=engine, max_iter=40, stop=None)
        assert np.array_equal(run.phi, exact.phi)


def test_float32_data_of_extreme_size_walk_as_their_float64_copy():
    X, y = planted(200, 10, 0.1, 3)
    for scale in (1e-30, 1e-10, 1e10, 1e30):
        short = (X * scale).astype(np.float32)
        run = sx.solve(short, y, "lr-gd", step_size=1e-2 / scale**2, max_iter=300)
        same = sx.solve(short.astype(np.float64), y, "lr-gd", step_size=1e-2 / scale**2, max_iter=300)
        assert np.array_equal(run.phi, same.phi)


def test_whole_numbers_walk_without_rounding(engine):
    rng = np.random.default_rng(4)
    X = rng.integers(-50, 50, (90, 5))
    y = np.resize([-1, 1], 90)
    run = sx.solve(X, y, "batch-perceptron", engine=engine, max_iter=777, stop=None)
    twice_n_phi = np.zeros(5, dtype=object)  # 2nφ_t, in exact integers
    Z = (y[:, None] * X).astype(object)
    for t in range(777):
        wrong = Z @ twice_n_phi <= 0
        twice_n_phi = twice_n_phi + (Z.sum(axis=0) if t == 0 else 2 * Z[wrong].sum(axis=0))
    assert np.array_equal(run.phi, (twice_n_phi / 2).astype(float) / 90)


def test_worst_case_data_are_walked_in_one_jump_with_the_same_count_and_theta(engine):
    X, y = sx.worst_case(20_000) if engine != "gram" else sx.worst_case(3_000)
    n = len(y)
    jumped = sx.solve(X, y, "batch-perceptron", engine=engine, record=None)
    stepped = sx.solve(X, y, "batch-perceptron", engine=engine, record=1 if engine == "gram" else 7)
    assert jumped.n_iter == stepped.n_iter == int(0.3 * n + 0.2) + 1
    assert np.array_equal(jumped.phi, stepped.phi)
    assert jumped.stats["rows_read"] < 100 * n


@pytest.mark.parametrize("order", ["cyclic", "random", "most-wrong"])
def test_the_perceptron_makes_the_same_updates_on_every_engine(problem, order):
    X, y = problem
    runs = [sx.solve(X, y, "perceptron", order=order, engine=e, max_iter=400, random_state=1) for e in ENGINES]
    assert len({(r.n_iter, r.status, r.stats["epochs"]) for r in runs}) == 1
    for run in runs[1:]:
        assert np.allclose(run.phi, runs[0].phi, rtol=1e-9, atol=1e-12)


def test_the_cyclic_perceptron_is_the_textbook_loop(problem):
    X, y = problem
    Z = np.asarray(signed(X, y).todense()) if sparse.issparse(X) else signed(X, y)
    phi, updates, clean = np.zeros(Z.shape[1]), 0, 0
    for i in itertools.cycle(range(len(y))):
        if Z[i] @ phi <= 0:
            phi, updates, clean = phi + Z[i], updates + 1, 0
        else:
            clean += 1
        if clean == len(y) or updates == 400:
            break
    run = sx.solve(X, y, "perceptron", max_iter=400)
    assert run.n_iter == updates
    assert np.allclose(run.theta, phi, rtol=1e-9, atol=1e-12)


def test_the_most_wrong_perceptron_takes_the_smallest_margin_each_time():
    X, y = planted(60, 8, 0.02, 5)
    Z, phi, count = signed(X, y), np.zeros(8), 0
    while (Z @ phi).min() <= 0:
        phi, count = phi + Z[np.argmin(Z @ phi)], count + 1
    run = sx.solve(X, y, "perceptron", order="most-wrong")
    assert run.n_iter == count
    assert np.allclose(run.theta, phi)


@pytest.mark.parametrize("order", ["cyclic", "random", "most-wrong"])
def test_a_sweep_that_disagrees_with_the_direct_product_ends_rounded(engine, order, monkeypatch):
    X, y = planted(60, 8, 0.02, 5)
    usual = sx.solve(X, y, "perceptron", order=order, engine=engine, random_state=1)
    monkeypatch.setattr(Sheet, "lowest", lambda sheet, phi: 0.0)
    run = sx.solve(X, y, "perceptron", order=order, engine=engine, random_state=1)
    assert run.status == "rounded" and not run.separated
    assert usual.separated and run.n_iter == usual.n_iter


@pytest.mark.parametrize("name", TABLE)
def test_asking_for_the_result_on_the_way_costs_the_engine_nothing(engine, name):
    X, y = planted(60, 8, 0.02, 5)
    walk = Walk(hold(X, y), parse_method(name), engine=engine, max_iter=100)
    for _ in walk.iterates():
        before = walk.engine.save() | walk.engine.stats()
        assert walk.run().n_iter == walk.engine.t
        after = walk.engine.save() | walk.engine.stats()
        assert all(np.array_equal(before[key], after[key]) for key in before)


THREADS = """
import sys, numpy as np
sys.path[:0] = {path!r}
from conftest import planted, noise
import separatrix as sx
from hashlib import blake2b
out = blake2b()
for X, y in (planted(3000, 60, 0.02, 0), noise(2500, 40, 1)):
    for name, gamma in (("lr-gd", 0.02), ("lr-gd", 50.0), ("normalized-lr-gd", 50.0), ("batch-perceptron", None)):
        for engine in ("dense", "lazy", "gram"):
            out.update(sx.solve(X, y, name, step_size=gamma, engine=engine, max_iter=300, stop=None).phi.tobytes())
print(out.hexdigest())
"""


def test_the_number_of_threads_changes_no_bit():
    code = THREADS.format(path=[p for p in sys.path if p.endswith("tests")])
    seen = set()
    for count in ("1", "2", "4"):
        env = {**__import__("os").environ, "SEPARATRIX_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1


def test_auto_says_what_it_chose():
    assert sx.solve(*planted(80, 300, 0.1, 0), "batch-perceptron").engine == "gram"
    assert sx.solve(*planted(3000, 10, 0.1, 0), "batch-perceptron").engine == "lazy"
    assert sx.solve(*noise(300, 10, 0), "lr-gd", step_size=1e-4, max_iter=5).engine == "dense"


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("shape", [(9, 2), (70, 300)])  # short rows, and such as `auto` takes columns of G for
def test_rows_of_nothing_but_zeros_use_up_the_budget(name, shape):
    run = sx.solve(np.zeros(shape), np.resize([-1, 1], shape[0]), name, max_iter=20, stop=None)
    assert run.status == "max-iter" and not run.separated
    assert run.n_iter == 20 and not run.theta.any()


def test_a_method_of_ones_own_runs_on_the_definition_and_nowhere_else():
    @dataclasses.dataclass(frozen=True)
    class Hinge(Method):
        """w_i = 1[m_i ≤ 1]: rows that are right by little pull, too."""

        def weights(self, m, s, rule):
            return np.where(m <= 1.0, s, 0.0)

    X, y = planted(80, 5, 0.05, 2)
    run = sx.solve(X, y, Hinge("hinge", power=0.0), max_iter=3000)
    assert run.engine == "numpy" and run.method == "hinge" and run.separated
    plain = sx.solve(X, y, Method("mine", power=0.0), max_iter=3000)  # weights of the table
    assert np.array_equal(plain.phi, sx.solve(X, y, "normalized-batch-perceptron", max_iter=3000).phi)
    with pytest.raises(ValueError, match='takes the methods of the table; rows in memory take engine="numpy"'):
        sx.solve(X, y, Hinge("hinge"), engine="lazy")
