"""The paper's theorems, in numbers."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import separatrix as sx
from conftest import BATCH, planted, signed
from separatrix.walking.definition import walk
from separatrix.walking.methods import parse_method


@pytest.mark.parametrize(
    ("method", "gamma", "count"),
    [
        ("normalized-lr-gd", 100, 2),
        ("normalized-lr-gd", 10, 2),
        ("normalized-lr-gd", 1, 16),
        ("normalized-lr-gd", 0.1, 157),
    ]
    + [("lr-gd", 100, 308)],
)
def test_table_1_worst_case_counts_come_out_exactly(engine, method, gamma, count):
    X, y = sx.worst_case(1000)
    assert sx.solve(X, y, method, step_size=gamma, engine=engine).n_iter == count


def test_the_lower_bound_data_take_300_001_iterations_at_a_million_rows_and_few_passes_over_them():
    X, y = sx.worst_case(10**6)
    run = sx.solve(X, y, "batch-perceptron", max_iter=10**6)
    assert run.n_iter == 300_001
    assert run.stats["rows_read"] < 200 * len(y)


def test_two_samples_make_loss_and_gradient_unreliable():
    X, y = sx.two_samples()
    run = sx.solve(X, y, "lr-gd", step_size=1e4, record="all")
    assert run.n_iter == 2
    assert run.trace["loss"][1] > 1000 and run.trace["loss"][2] < 1e-100
    assert run.trace["grad_norm"][1] == pytest.approx(np.sqrt(2) / 2)
    assert run.phi == pytest.approx([1.0, 0.25])
    first = sx.solve(X, y, "lr-gd", step_size=1e4, max_iter=1)
    assert first.phi == pytest.approx([2 / 4, 3 / 4])


def test_lr_gd_walks_like_the_batch_perceptron_when_the_step_is_huge(engine):
    for seed in range(5):
        X, y = planted(80, 15, 0.01, seed)
        paths = []
        for name, gamma in (("lr-gd", 1e9), ("batch-perceptron", None)):
            path = []
            sx.solve(
                X, y, name, step_size=gamma, engine=engine, record="all", max_iter=200, stop=None,
                callback=lambda it, path=path: path.append(it.phi),
            )  # fmt: skip
            paths.append(np.array(path))
        gap = np.linalg.norm(paths[0] - paths[1], axis=1)
        assert len(gap) == 201
        assert np.all(gap <= 1e-6 * np.maximum(np.linalg.norm(paths[1], axis=1), 1e-300))


def test_every_count_stays_under_its_bound():
    slowest = dict.fromkeys((*BATCH, "perceptron"), 0.0)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, d, margin = int(rng.integers(4, 80)), int(rng.integers(2, 20)), float(10 ** rng.uniform(-1.2, 0.3))
        X, y = planted(n, d, margin, seed)
        R = np.linalg.norm(X, axis=1).max()
        gamma = float(10 ** rng.uniform(-1, 3))
        for name in slowest:
            step = gamma if "lr" in name else None
            limit = sx.bounds(n, R, margin, step_size=gamma)[name]
            run = sx.solve(X, y, name, step_size=step, max_iter=int(limit) + 1, record=None)
            assert run.separated and run.n_iter <= limit, (seed, name)
            slowest[name] = max(slowest[name], run.n_iter / limit)
    assert all(0.001 < share <= 1 for share in slowest.values()), slowest  # bounds are met, and not by miles everywhere


@pytest.mark.parametrize("exponent", [-300, -200, -30, -3, 0, 3, 30, 200, 300])
@pytest.mark.parametrize("name", BATCH[:2])
def test_no_step_size_overflows_or_warns(engine, name, exponent):
    X, y = planted(50, 6, 0.05, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = sx.solve(X, y, name, step_size=10.0**exponent, engine=engine, max_iter=300)
        on = sx.solve(X, y, name, step_size=10.0**exponent, engine=engine, max_iter=300, stop=None)
    assert np.isfinite(run.phi).all() and np.isfinite(on.phi).all()
    assert np.isfinite(run.trace["loss"]).all()
    assert run.separated or exponent < 3


def test_data_of_any_scale_walk_the_same_way(engine):
    X, y = planted(60, 5, 0.05, 1)
    for name in BATCH[2:]:
        counts = {sx.solve(X * 2.0**k, y, name, engine=engine).n_iter for k in (-500, -300, -40, 0, 40, 300, 500)}
        assert len(counts) == 1
    for k in (-400, 400):  # θ scales with 1/X, so the step size has to with 1/X²
        same = sx.solve(X, y, "lr-gd", step_size=2.0, engine=engine)
        scaled = sx.solve(X * 2.0**k, y, "lr-gd", step_size=2.0 * 2.0 ** (-2 * k), engine=engine)
        assert scaled.n_iter == same.n_iter
        assert scaled.trace["loss"] == pytest.approx(same.trace["loss"])


@pytest.mark.parametrize(
    ("name", "gamma"), [("lr-gd", 1.0), ("normalized-lr-gd", 0.3), *((m, None) for m in BATCH[2:])]
)
def test_rotating_the_rows_rotates_theta(engine, name, gamma):
    X, y = planted(60, 6, 0.02, 2)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    a = sx.solve(X, y, name, step_size=gamma, engine=engine, max_iter=300)
    b = sx.solve(X @ Q, y, name, step_size=gamma, engine=engine, max_iter=300)
    assert a.n_iter == b.n_iter
    assert b.phi == pytest.approx(a.phi @ Q, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize(
    ("name", "gamma"), [("lr-gd", 5.0), ("normalized-lr-gd", 5.0), *((m, None) for m in BATCH[2:])]
)
def test_whole_weights_equal_repeated_rows_and_zero_removes_a_row(engine, name, gamma):
    X, y = planted(40, 5, 0.02, 3)
    s = np.random.default_rng(1).integers(0, 4, 40)
    weighted = sx.solve(X, y, name, step_size=gamma, engine=engine, sample_weight=s, max_iter=200)
    repeated = sx.solve(np.repeat(X, s, axis=0), np.repeat(y, s), name, step_size=gamma, engine=engine, max_iter=200)
    assert weighted.n_iter == repeated.n_iter
    assert weighted.phi == pytest.approx(repeated.phi, rel=1e-9)
    for column in ("accuracy", "loss", "grad_norm", "min_margin"):
        assert weighted.trace[column] == pytest.approx(repeated.trace[column], rel=1e-9, nan_ok=True)


def test_a_row_of_weight_zero_is_left_out_of_stopping_too():
    X = np.array([[1.0, 0.0], [0.9, 0.1], [-1.0, 0.0]])
    y = np.array([1, 1, 1])
    y[2] = 0
    X[1] = [-1.0, 0.0]  # contradicts row 2
    assert not sx.solve(X, y, "batch-perceptron", max_iter=100).separated
    assert sx.solve(X, y, "batch-perceptron", max_iter=100, sample_weight=[1, 0, 1]).separated


def test_an_intercept_is_one_more_column_of_ones(engine):
    X, y = planted(70, 4, 0.05, 4)
    for name, gamma in (("lr-gd", 3.0), ("batch-perceptron", None), ("perceptron", None)):
        a = sx.solve(X + 1, y, name, step_size=gamma, fit_intercept=True, engine=engine, max_iter=500)
        b = sx.solve(np.column_stack([X + 1, np.ones(70)]), y, name, step_size=gamma, engine=engine, max_iter=500)
        assert a.n_iter == b.n_iter
        assert a.theta == pytest.approx(b.theta, rel=1e-9, abs=1e-12)


def test_theta0_is_divided_by_the_step_size(engine):
    X, y = planted(50, 4, 0.02, 5)
    theta0 = np.array([3.0, -1.0, 0.5, 2.0])
    Z = signed(X, y)
    for name, gamma, phi0 in (
        ("lr-gd", 4.0, theta0 / 4),
        ("tempered-lr-gd", 4.0, theta0 / 4),
        ("batch-perceptron", None, theta0),
        ("normalized-batch-perceptron", None, theta0),
        ("lr-gd", np.inf, theta0),
    ):
        method = parse_method(name, gamma)
        *_, expected = itertools.islice(walk(method, Z, phi0), 21)
        run = sx.solve(X, y, name, step_size=gamma, theta0=theta0, engine=engine, max_iter=20, stop=None)
        if np.all(Z @ expected > 0) and np.isinf(method.gamma):
            continue
        assert run.phi == pytest.approx(expected, rel=1e-10)


def test_a_separating_theta0_needs_no_iteration(engine):
    X, y = planted(50, 4, 0.5, 6)
    theta = sx.solve(X, y, "perceptron").theta
    for name in (*BATCH, "perceptron"):
        assert sx.solve(X, y, name, theta0=theta, engine=engine).n_iter == 0


def test_past_separation_lr_gd_turns_to_the_widest_margin(engine):
    X, y = planted(40, 2, 0.3, 7)
    Z = signed(X, y)
    angles = np.linspace(0, 2 * np.pi, 100_001)
    widest = (Z @ np.array([np.cos(angles), np.sin(angles)])).min(axis=0).max()
    slow = sx.solve(X, y, "lr-gd", step_size=1.0, stop=None, max_iter=20_000, engine=engine)
    fast = sx.solve(X, y, "normalized-lr-gd", step_size=1.0, stop=None, max_iter=20_000, engine=engine)
    first = sx.solve(X, y, "lr-gd", step_size=1.0, engine=engine)
    assert first.trace["min_margin"][-1] < slow.trace["min_margin"][-1] <= widest
    assert fast.trace["min_margin"][-1] == pytest.approx(widest, rel=1e-3)  # with weights far below underflow
    assert fast.trace["loss"][-1] == 0.0


def test_sharpness_is_the_largest_eigenvalue_of_the_hessian():
    X, y = planted(60, 7, 0.05, 8)
    run = sx.solve(X, y, "lr-gd", step_size=2.0, max_iter=5, stop=None, record="all", sharpness=True)
    phis = list(itertools.islice(walk(parse_method("lr-gd", 2.0), signed(X, y)), 6))
    for t, phi in enumerate(phis):
        p = 1 / (1 + np.exp(-2.0 * signed(X, y) @ phi))
        H = (X * (p * (1 - p))[:, None]).T @ X / 60
        assert run.trace["sharpness"][t] == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=1e-6)


def test_trace_columns_are_what_their_names_say(engine):
    X, y = planted(60, 7, 0.02, 9)
    Z = signed(X, y)
    run = sx.solve(X, y, "lr-gd", step_size=3.0, max_iter=30, stop=None, record="all", engine=engine)
    for t, phi in enumerate(itertools.islice(walk(parse_method("lr-gd", 3.0), Z), 31)):
        theta = 3.0 * phi
        m = Z @ theta
        w = 1 / (1 + np.exp(m))
        row = {name: run.trace[name][t] for name in run.trace}
        assert row["errors"] == np.sum(m <= 0) and row["accuracy"] == pytest.approx(np.mean(m > 0))
        assert row["loss"] == pytest.approx(np.mean(np.log1p(np.exp(-m))))
        assert row["grad_norm"] == pytest.approx(np.linalg.norm(w @ Z / 60))
        assert row["theta_norm"] == pytest.approx(np.linalg.norm(theta))
        if t:
            assert row["min_margin"] == pytest.approx(m.min() / np.linalg.norm(theta), abs=1e-12)


def test_a_step_of_lr_gd_is_a_unit_step_on_the_loss_scaled_by_the_step_size():
    X, y = planted(30, 4, 0.05, 11)
    Z, gamma, h = signed(X, y), 3.0, 1e-6
    path = list(itertools.islice(walk(parse_method("lr-gd", gamma), Z), 6))

    def scaled(phi):  # f_γ(φ) = f(γφ)/γ
        return np.logaddexp(0, -gamma * (Z @ phi)).mean() / gamma

    for phi, after in itertools.pairwise(path):
        slope = [(scaled(phi + h * e) - scaled(phi - h * e)) / (2 * h) for e in np.eye(4)]
        assert phi - slope == pytest.approx(after, abs=1e-8)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 1e3])
def test_the_scaled_loss_is_the_perceptron_loss_to_log_2_over_the_step_size(gamma):
    m = np.random.default_rng(12).standard_normal((200, 40)) / gamma
    apart = np.logaddexp(0, -gamma * m).mean(axis=1) / gamma - np.maximum(0, -m).mean(axis=1)
    assert (apart > 0).all() and (apart <= np.log(2) / gamma).all()


def test_the_first_step_from_zero_is_the_same_at_every_step_size():
    X, y = planted(30, 4, 0.05, 13)
    mean = signed(X, y).mean(axis=0)
    for name, share in (("lr-gd", 1 / 2), ("normalized-lr-gd", 1.0)):
        for gamma in (1e-3, 1.0, 1e3, np.inf):
            assert sx.solve(X, y, name, step_size=gamma, max_iter=1).phi == pytest.approx(share * mean, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "gamma"), [("lr-gd", 5.0), ("normalized-lr-gd", 5.0), *((m, None) for m in BATCH[2:])]
)
def test_repeating_every_row_changes_no_step(name, gamma):
    X, y = planted(40, 5, 0.02, 14)
    once = sx.solve(X, y, name, step_size=gamma, max_iter=200)
    thrice = sx.solve(np.repeat(X, 3, axis=0), np.repeat(y, 3), name, step_size=gamma, max_iter=200)
    assert once.n_iter == thrice.n_iter
    assert once.phi == pytest.approx(thrice.phi, rel=1e-9)


def test_the_lower_bounds_data_are_degenerate_where_n_ends_in_six():
    X, y = sx.worst_case(16)
    limit, run = sx.solve(X, y, "batch-perceptron"), sx.solve(X, y, "lr-gd", step_size=1e9)
    before = sx.solve(X, y, "batch-perceptron", max_iter=limit.n_iter - 1)
    assert limit.n_iter == run.n_iter == 6
    assert (signed(X, y) @ before.phi).min() == 0  # exactly: weight 1 for one, ½ for the other
    assert run.phi == pytest.approx((before.phi + limit.phi) / 2, rel=1e-12)


def test_the_normalized_methods_take_two_iterations_on_the_lower_bounds_data_from_five_rows_on():
    counts = [sx.solve(*sx.worst_case(n), "normalized-batch-perceptron").n_iter for n in (2, 3, 4, 5, 6, 10, 100, 1000)]
    assert counts == [1, 3, 3, 2, 2, 2, 2, 2]
    assert [sx.solve(*sx.worst_case(n), "normalized-lr-gd").n_iter for n in (100, 1000, 10_000)] == [
        11,
        16,
        21,
    ]  # γ = 1
