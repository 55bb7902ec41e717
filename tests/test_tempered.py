"""The family N = n^p W^(1-p): its ends, its bits, its starts, ties, and what it refuses."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from conftest import ENGINES, INSTRUCTION_SETS, noise, planted, serving, signed
from far import scattered
from separatrix.core.definition import power as to_the
from separatrix.data.memory import hold
from separatrix.walking.engines import make_engine
from separatrix.walking.methods import POWER, TABLE, parse_method

POWERS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
EVERY = ("numpy", *ENGINES)
THREE = np.array([[2.0, 1.0], [-1.0, 2.0], [-1.0, 1.0]]), np.array([1, 1, -1])  # a margin is 0 after the first step


def plain(Z, gamma, p, steps, theta0=None, first=None, s=None):
    """φ_0, φ_1, … in NumPy's own arithmetic, from the formulas: `first` are the weights of the first step, from 0."""
    n = len(Z) if s is None else s.sum()
    s = np.ones(len(Z)) if s is None else s
    phi = np.zeros(Z.shape[1]) if theta0 is None else np.array(theta0, dtype=float)
    for t in range(steps):
        yield phi
        m = Z @ phi
        if t == 0 and first is not None:
            w = s * first
        else:
            with np.errstate(over="ignore"):
                w = s * ((m <= 0) if np.isinf(gamma) else 1 / (1 + np.exp(gamma * m)))
        phi = phi + w @ Z / (n**p * w.sum() ** (1 - p)) if w.sum() > 0 else phi
    yield phi


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 30.0, None])
def test_the_ends_of_the_family_are_the_papers_four_to_the_last_bit(engine, gamma):
    for data in (planted(120, 20, 0.01, 0), noise(90, 7, 1)):
        kind = "batch-perceptron" if gamma is None else "lr-gd"
        for p, name in ((1, kind), (0, f"normalized-{kind}")):
            a = sx.solve(*data, f"tempered-{kind}", step_size=gamma, power=p, engine=engine, max_iter=200, stop=None)
            b = sx.solve(*data, name, step_size=gamma, engine=engine, max_iter=200, stop=None)
            assert a.phi.tobytes() == b.phi.tobytes() and a.power == b.power == p


@pytest.mark.skipif(not INSTRUCTION_SETS, reason="needs the compiled core: build it with make core")
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 100.0, 1e6, inf])
@pytest.mark.parametrize("p", POWERS[1:-1])
def test_every_engine_instruction_set_and_place_has_the_bits_of_the_definition(p, gamma):
    rng = np.random.default_rng(int(8 * p))
    for (X, y), weighted, intercept in product((planted(1100, 9, 0.02, 3), noise(60, 13, 4)), (0, 1), (0, 1)):
        s = rng.choice([0.0, 0.5, 1.0, 3.0], len(y)) + (np.arange(len(y)) == 0) if weighted else None
        how = parse_method("tempered-lr-gd", gamma, power=p)
        rows = [hold(A, y, sample_weight=s, fit_intercept=bool(intercept)) for A in (X, sparse.csr_array(X))]
        wanted = walked("numpy", rows[0], how)
        for engine, held in product(("dense", "lazy"), rows):
            for simd in INSTRUCTION_SETS:
                with serving(simd):
                    assert walked(engine, held, how) == wanted, (engine, simd)
        shards = scattered(X, y, 3, weight=s, intercept=bool(intercept))
        assert walked("lazy", shards, how) == wanted
        short = walked("numpy", rows[0], how, arithmetic="float32")
        assert walked("dense", rows[0], how, arithmetic="float32") == short != wanted


def walked(engine, rows, how, **more):
    run = make_engine(engine, rows, how, **more)
    seen = []
    for t in (1, 2, 30, 120):
        run.advance(t - run.t, False)
        seen.append((run.t, run.phi().tobytes(), run.errors, run.tie))
    return seen


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("gamma", [0.3, 3.0, inf])
@pytest.mark.parametrize("p", POWERS)
def test_a_walk_is_the_formula(engine, gamma, p):
    X, y = planted(80, 6, 0.1, 5)
    s = np.where(np.arange(80) % 3, 2.0, 0.5)
    first = 0.5 if np.isinf(gamma) else None
    name = "tempered-batch-perceptron" if np.isinf(gamma) else "tempered-lr-gd"
    *_, expected = plain(signed(X, y), gamma, p, 25, first=first, s=s)
    run = sx.solve(X, y, name, step_size=gamma, power=p, engine=engine, max_iter=25, stop=None, sample_weight=s)
    assert run.phi == pytest.approx(expected, rel=1e-9)


def test_a_power_by_square_roots_is_the_power():
    rng = np.random.default_rng(0)
    for x, q in zip(np.exp(rng.uniform(-600, 600, 500)), rng.uniform(0, 1, 500), strict=True):
        assert to_the(np.float64(x), q) == pytest.approx(x**q, rel=1e-14)
    assert [to_the(np.float64(7.3), q) for q in (1.0, 0.5, 0.0)] == [7.3, np.sqrt(7.3), 1.0]
    assert to_the(np.float32(2.0), 0.75).dtype == np.float32


@pytest.mark.parametrize("engine", EVERY)
def test_far_past_separation_steps_shrink_as_the_power_says(engine):
    X, y = planted(30, 4, 1.0, 6)
    Z, theta = signed(X, y), 3000 * sx.max_margin(*planted(30, 4, 1.0, 6)).theta
    for p in (0.001, 0.01):
        run = sx.solve(X, y, "tempered-lr-gd", power=p, theta0=theta, engine=engine, max_iter=1, stop=None)
        m = Z @ theta
        low = m.min()
        assert low > 700  # every weight underflows
        v = np.exp(low - m)
        step = np.exp(-p * low) * (v @ Z) / (30**p * v.sum() ** (1 - p))
        assert run.theta - theta == pytest.approx(step, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("p", [1.0, 0.5, 0.0])
def test_from_another_start_the_limit_of_lr_gd_is_its_infinite_step_size(engine, p):
    """Plain NumPy at γ = 10⁹ from θ_0 ≠ 0, beside γ = ∞: the first weights are σ(-z_iᵀθ_0), and φ_0 is 0."""
    for seed in range(6):
        X, y = planted(60, 5, 0.05, seed)
        Z, theta0 = signed(X, y), np.random.default_rng(seed).standard_normal(5) / 2
        first = 1 / (1 + np.exp(Z @ theta0))
        for t in (1, 2, 5, 12):
            *_, near = plain(Z, 1e9, p, t, theta0=theta0 / 1e9)
            *_, before, limit = plain(Z, inf, p, t, first=first)
            if (Z @ before > 0).all():  # past separation the normalized method goes on at any finite step size
                continue
            run = sx.solve(
                X, y, "tempered-lr-gd", step_size=inf, power=p, theta0=theta0, engine=engine, max_iter=t, stop=None
            )
            assert run.phi == pytest.approx(limit, rel=1e-10)
            assert run.phi == pytest.approx(near, rel=1e-6, abs=1e-8)
            finite = sx.solve(
                X, y, "tempered-lr-gd", step_size=1e9, power=p, theta0=theta0, engine=engine, max_iter=t, stop=None
            )
            assert finite.phi == pytest.approx(limit, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("engine", EVERY)
def test_the_batch_perceptron_begins_with_half_a_step_over_all_rows_from_anywhere(engine):
    X, y = noise(70, 4, 2)
    Z, theta0 = signed(X, y), np.array([0.7, -0.3, 0.2, 1.0])
    for name, p, half in (
        ("batch-perceptron", 1.0, 0.5),
        ("tempered-batch-perceptron", 0.5, 0.5),
        ("normalized-batch-perceptron", 0.0, None),
    ):
        options = {"power": p} if name.startswith("tempered") else {}
        for t in (1, 2, 9):
            *_, expected = plain(Z, inf, p, t, theta0=theta0, first=half)
            run = sx.solve(X, y, name, theta0=theta0, engine=engine, max_iter=t, stop=None, **options)
            assert run.phi == pytest.approx(expected, rel=1e-10), (name, t)


@pytest.mark.parametrize("engine", EVERY)
def test_at_theta0_the_trace_is_that_of_theta0(engine):
    X, y = planted(60, 5, 0.05, 3)
    Z, theta0 = signed(X, y), np.linspace(-1, 1, 5)
    run = sx.solve(X, y, "lr-gd", step_size=inf, theta0=theta0, engine=engine, max_iter=0, stop=None)
    first = 1 / (1 + np.exp(Z @ theta0))
    assert run.theta.tolist() == theta0.tolist()
    assert run.trace["errors"][0] == (Z @ theta0 <= 0).sum()
    assert run.trace["grad_norm"][0] == pytest.approx(np.linalg.norm(first @ Z) / 60)


def test_rows_in_files_open_as_rows_in_memory_do(tmp_path):
    X, y = planted(1500, 5, 0.01, 4)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    options = {"step_size": inf, "theta0": np.linspace(-1, 1, 5), "max_iter": 40, "stop": None}
    for name in ("lr-gd", "normalized-lr-gd", "tempered-lr-gd"):
        far = sx.solve(tmp_path / "X.npy", tmp_path / "y.npy", name, memory_limit="8GB", **options)
        near = sx.solve(X, y, name, engine="numpy", **options)
        assert far.phi.tobytes() == near.phi.tobytes()
        assert far.trace["grad_norm"][0] == pytest.approx(near.trace["grad_norm"][0])


@pytest.mark.parametrize("engine", EVERY)
def test_a_run_at_infinity_says_where_the_first_tie_was(engine):
    run = sx.solve(*THREE, "batch-perceptron", engine=engine, stop=None, max_iter=20)
    assert run.ties == sx.Tie(1, 2)  # (2, 1), (-1, 2), (1, -1): their sum is (2, 2), a multiple of which ties the third
    for name in ("lr-gd", "tempered-lr-gd", "normalized-lr-gd"):
        if name == "lr-gd" or engine != "gram":  # which rounds in its own way where a step is divided by a root
            assert sx.solve(*THREE, name, step_size=inf, engine=engine).ties == sx.Tie(1, 2)
        assert sx.solve(*THREE, name, step_size=1e9, engine=engine).ties is None
    assert sx.solve(*THREE, "perceptron", engine=engine).ties is None
    X, y = planted(60, 5, 0.05, 3)
    assert sx.solve(X, y, "batch-perceptron", engine=engine).ties is None


@pytest.mark.parametrize("engine", EVERY)
def test_ties_are_those_of_whole_number_arithmetic(engine):
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Z = rng.integers(-2, 3, (12, 3))
        found, k = None, np.zeros(12, dtype=int)  # φ counts in halves of n-ths
        for t in range(31):
            m = Z @ (Z.T @ k)
            if t >= 1 and found is None and (m == 0).any():
                found = sx.Tie(t, int(np.flatnonzero(m == 0)[0]))
            if (m > 0).all():
                break
            k = k + (1 if t == 0 else 2 * (m <= 0))
        rows = hold(Z * 1.0, np.ones(12), signed=True)
        run = make_engine(engine, rows, parse_method("batch-perceptron"))
        run.advance(30, True)
        assert run.tie == found
        seen += found is not None
    assert seen > 20


def test_ties_are_told_by_row_number_in_files_and_shards_and_after_a_break(tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.integers(-3, 4, (1600, 3)) * 1.0, rng.permuted(np.resize([-1.0, 1.0], 1600))
    whole = sx.solve(X, y, "batch-perceptron", max_iter=60, engine="numpy")
    assert whole.ties is not None
    for shards in (1, 3):
        team = make_engine("lazy", scattered(X, y, shards), parse_method("batch-perceptron"))
        team.advance(60, True)
        assert team.tie == whole.ties
    for engine in EVERY:
        file = tmp_path / f"{engine}.npz"
        sx.solve(X, y, "batch-perceptron", max_iter=40, engine=engine, checkpoint=file)
        assert sx.solve(X, y, "batch-perceptron", max_iter=60, engine=engine, checkpoint=file).ties == whole.ties


@pytest.mark.parametrize("engine", EVERY)
def test_a_run_of_any_power_goes_on_after_a_break(engine, tmp_path):
    X, y = planted(120, 8, 0.01, 2)
    for k, (name, options) in enumerate(
        product(("tempered-lr-gd", "tempered-batch-perceptron"), ({"power": 0.3}, {"power": 0.75}))
    ):
        step = {"step_size": inf, "theta0": np.linspace(1, 2, 8)} if name == "tempered-lr-gd" else {}
        file = tmp_path / f"{k}.npz"
        for budget in (0, 1, 17, 60):
            run = sx.solve(X, y, name, engine=engine, max_iter=budget, stop=None, checkpoint=file, **options, **step)
        whole = sx.solve(X, y, name, engine=engine, max_iter=60, stop=None, **options, **step)
        assert run.phi.tobytes() == whole.phi.tobytes()
        with pytest.raises(sx.CheckpointError, match="power"):
            sx.solve(X, y, name, engine=engine, power=0.5, checkpoint=file, **step)


def test_a_warm_start_goes_on_without_a_first_step():
    X, y = noise(90, 5, 4)
    for power in (0.0, 0.5, 1.0):
        whole = sx.TemperedBatchPerceptron(power, max_iter=20, record="all")
        parts = sx.TemperedBatchPerceptron(power, max_iter=10, record="all", warm_start=True)
        for clf in (whole, parts, parts):
            with pytest.warns(ConvergenceWarning, match="rows"):
                clf.fit(X, y)
        assert parts.runs_[0].phi == pytest.approx(whole.runs_[0].phi, rel=1e-10)


@pytest.mark.parametrize(
    ("method", "power", "sentence"),
    [
        ("lr-gd", 0.5, "power is for the tempered methods, got power=0.5 for lr-gd: use tempered-lr-gd."),
        ("normalized-batch-perceptron", 0, "use tempered-batch-perceptron."),
        ("perceptron", 1.0, "for perceptron: leave it out."),
        ("tempered-lr-gd", 1.5, "power must be a number from 0 to 1, got 1.5."),
        ("tempered-lr-gd", -0.1, "got -0.1"),
        ("tempered-lr-gd", np.nan, "got nan"),
        ("tempered-batch-perceptron", "half", "got 'half'"),
        ("tempered-batch-perceptron", True, "got True"),
    ],
)
def test_a_power_that_is_none_gets_one_sentence(method, power, sentence):
    with pytest.raises(ValueError, match=sentence.replace(".", r"\.")):
        sx.solve(*THREE, method, power=power)


def test_the_table_has_a_default_power_and_the_classifiers_take_it():
    assert TABLE["tempered-lr-gd"][1] == POWER == sx.TemperedLogisticGD().power == sx.TemperedBatchPerceptron().power
    X, y = planted(80, 5, 0.05, 1)
    ours = sx.TemperedLogisticGD(10.0, 0.25, fit_intercept=False).fit(X, y)
    run = sx.solve(X, y, "tempered-lr-gd", step_size=10.0, power=0.25)
    assert ours.coef_[0] == pytest.approx(run.theta) and ours.n_iter_ == run.n_iter
    with pytest.raises(ValueError, match="power must be a number from 0 to 1, got None"):
        sx.TemperedLogisticGD(power=None).fit(X, y)
