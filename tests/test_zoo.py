"""The zoo: every bound holds, and what docs/zoo.md proves comes out."""

from __future__ import annotations

import doctest
from dataclasses import dataclass
from functools import cache
from math import exp, expm1, inf, log

import numpy as np
import pytest
from scipy.optimize import linprog

import separatrix as sx
from separatrix import zoo
from separatrix.walking.methods import TABLE
from separatrix.walking.zoo import one_minus_mean

NAMES = [method.name for method in zoo.each(10, 1.0, 0.1, R_sum=1.0)]


@dataclass(frozen=True)
class Planted:
    """Rows z_i that a known unit vector separates, with the brackets that the bounds need."""

    Z: np.ndarray
    y: np.ndarray
    R: float
    mu: float
    R_sum: float
    mu_max: float  # the margin in the norm max |θ_k|

    @property
    def n(self):
        return len(self.y)

    def method(self, name):
        (found,) = (m for m in zoo.each(self.n, self.R, self.mu, R_sum=self.R_sum) if m.name == name)
        return found

    def bound(self, method):
        R, mu = (self.R_sum, self.mu_max) if method.name == "sign-gd" else (self.R, self.mu)
        return method.bound(self.n, R, mu)

    def solve(self, method, **options):
        return sx.solve(self.Z * self.y[:, None], self.y, method, **{"record": None} | options)


def widest(Z):
    """max_{‖θ‖∞ ≤ 1} min_i z_iᵀθ, a linear program."""
    n, d = Z.shape
    entries = [(-1, 1)] * d
    found = linprog([*np.zeros(d), -1], A_ub=np.c_[-Z, np.ones(n)], b_ub=np.zeros(n), bounds=[*entries, (0, None)])
    return -found.fun * (1 - 1e-9)


@cache
def problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 61)), int(rng.integers(1, 9))
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    Z = rng.standard_normal((n, d))
    Z *= np.where(Z @ u < 0, -1.0, 1.0)[:, None]
    Z += exp(rng.uniform(log(0.01), log(0.3))) * np.linalg.norm(Z, axis=1).max() * u
    y = rng.choice([-1, 1], size=n)
    y[:2] = 1, -1
    mu = sx.max_margin(Z * y[:, None], y, rtol=1e-6).lower
    return Planted(Z, y, np.linalg.norm(Z, axis=1).max(), mu, abs(Z).sum(axis=1).max(), widest(Z))


PROBLEMS = range(200)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "growing-steps-gd"])
def test_every_method_separates_200_planted_problems_within_its_bound(name):
    for seed in PROBLEMS:
        one = problem(seed)
        method = one.method(name)
        most = one.bound(method)
        run = one.solve(method, max_iter=int(most))
        assert run.separated, (seed, most, run)


def test_growing_steps_separate_200_planted_problems_within_their_bound():
    for seed in PROBLEMS:
        one = problem(seed)
        method = one.method("growing-steps-gd")
        run = one.solve("lr-gd", step_size=method.step_size, max_iter=int(one.bound(method)))
        assert run.separated, (seed, run)
    for seed in range(5):
        one = problem(seed)
        method = one.method("growing-steps-gd")
        here, core = one.solve(method), one.solve("lr-gd", step_size=method.step_size)
        assert np.array_equal(here.theta, core.theta) and here.n_iter == core.n_iter


@pytest.mark.parametrize("scaled", [1.0, 100.0])
@pytest.mark.parametrize("name", TABLE)
def test_the_tables_methods_separate_the_same_problems_within_theirs(name, scaled):
    for seed in PROBLEMS:
        one = problem(seed)
        step = {"step_size": scaled / one.R**2} if TABLE[name][0] else {}
        most = sx.bounds(one.n, one.R, one.mu, **step)[name]
        run = one.solve(name, max_iter=int(most), **step)
        assert run.separated, (seed, most, run)


@pytest.mark.parametrize("scaled", [0.1, 1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("kind", [zoo.NormalizedExpGD, zoo.RiskAdaptiveGD])
def test_the_bounds_at_any_step_size_hold_at_small_and_large_ones(kind, scaled):
    for seed in range(20, 40):
        one = problem(seed)
        method = kind(scaled / one.R**2)
        run = one.solve(method, max_iter=int(one.bound(method)))
        assert run.separated, (seed, run)


def test_bounds_shrink_with_the_margin_and_are_infinite_where_the_proof_needs_smaller_steps():
    for near, far in zip(*(zoo.each(100, 2.0, mu, R_sum=3.0) for mu in (0.1, 0.2)), strict=True):
        R = 3.0 if near.name == "sign-gd" else 2.0
        assert 1 <= far.bound(100, R, 0.2) < near.bound(100, R, 0.1) < inf
    assert zoo.DualMomentumGD(1.1).bound(100, 1.0, 0.1) == inf
    assert zoo.SmoothPerceptron(0.6).bound(100, 1.0, 0.1) == inf
    assert zoo.SignGD(2.1).bound(100, 1.0, 0.1) == inf
    assert zoo.GrowingStepsGD(1.0, 0.1).bound(100, 1.0, 0.05) == inf
    assert zoo.GrowingStepsGD(1.0, 0.1).bound(100, 1.1, 0.1) == inf


# The steps, by other ways of writing them


def softmin(x):
    e = np.exp(x.min() - x)
    return e / e.sum()


def nesterov_on_the_dual(Z, gamma):
    """Points of the simplex, not momentum: π the mean so far, ν between it and q."""
    theta, pi = np.zeros(Z.shape[1]), np.zeros(len(Z))
    for t in range(1000):
        q, tau = softmin(Z @ theta), 2 / (t + 2)
        theta = theta + gamma / tau * Z.T @ ((1 - tau) * pi + tau * q)
        yield theta
        pi = (1 - tau) * pi + tau * softmin(Z @ theta)


def excessive_gap(Z, gamma):
    """Soheili and Peña's loop, with λ in the simplex and the smoothing c beside it."""
    c, theta = 1 / gamma, Z.mean(axis=0)
    lam = softmin(Z @ theta / c)
    for k in range(1000):
        yield theta
        tau = 2 / (k + 3)
        theta = (1 - tau) * (theta + tau * Z.T @ lam) + tau**2 * Z.T @ softmin(Z @ theta / c)
        c = (1 - tau) * c
        lam = (1 - tau) * lam + tau * softmin(Z @ theta / c)


def plain(Z, step):
    theta = np.zeros(Z.shape[1])
    for t in range(1000):
        theta = theta + step(t, theta)
        yield theta


def written_otherwise(one, method):
    """The method's path from its formula, or from the scheme that it is a case of."""
    Z, n, gamma = one.Z, one.n, getattr(method, "gamma", None)

    def risk(t, theta):
        x, h = Z @ theta, 1e-6
        psi = [np.log(np.expm1(np.logaddexp(0, -(x + h * z)).mean())) for z in (*(Z @ np.eye(Z.shape[1])).T, 0 * x)]
        return -gamma * (np.array(psi[:-1]) - psi[-1]) / h  # -γ∇ψ, by differences

    def sign(t, theta):
        v = softmin(Z @ theta) @ Z
        return gamma * abs(v).sum() * np.sign(v)

    return {
        "normalized-exp-gd": lambda: plain(Z, lambda t, theta: gamma * softmin(Z @ theta) @ Z),
        "risk-adaptive-gd": lambda: plain(Z, risk),
        "dual-momentum-gd": lambda: nesterov_on_the_dual(Z, gamma),
        "smooth-perceptron": lambda: excessive_gap(Z, gamma),
        "sign-gd": lambda: plain(Z, sign),
        "growing-steps-gd": lambda: plain(Z, lambda t, o: method.step_size(t) / n / (1 + np.exp(Z @ o)) @ Z),
    }[method.name]()


@pytest.mark.parametrize("name", NAMES)
def test_each_takes_the_steps_that_its_formula_says(name):
    for seed in (1, 2, 4, 9):
        one = problem(seed)
        seen = []
        one.solve(
            one.method(name), record="all", stop=None, max_iter=12, callback=lambda at, seen=seen: seen.append(at.theta)
        )
        rel = 1e-4 if name == "risk-adaptive-gd" else 1e-9
        for mine, other in zip(seen[1:], written_otherwise(one, one.method(name)), strict=False):
            assert mine == pytest.approx(other, rel=rel, abs=rel * np.linalg.norm(other))


# Margins that are proven along the way


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_margin_of_dual_momentum_is_within_1_over_t_squared_of_the_widest(seed):
    one = problem(seed)
    run = one.solve(one.method("dual-momentum-gd"), record="all", stop=None, max_iter=300)
    t, margin = run.trace["iteration"][1:], run.trace["min_margin"][1:]
    assert (margin >= one.mu - 4 * one.R**2 * log(one.n) / (one.mu * t * (t + 3)) - 1e-12 * one.R).all()


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_margin_of_the_smooth_perceptron_is_too(seed):
    one = problem(seed)
    run = one.solve(one.method("smooth-perceptron"), record="all", stop=None, max_iter=300)
    t, margin, norm = (run.trace[name][1:] for name in ("iteration", "min_margin", "theta_norm"))
    c = 4 * one.R**2 / (t * (t + 1))
    assert (margin >= (one.mu**2 + norm**2) / (2 * norm) - c * log(one.n) / norm - 1e-12 * one.R).all()


@pytest.mark.parametrize("scaled", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_sign_steps_widen_the_margin_of_the_largest_entry(seed, scaled):
    one = problem(seed)
    seen = []

    def look(iterate):
        if iterate.t:
            theta = iterate.theta
            longest = abs(theta).max()
            seen.append(((one.Z @ theta).min() / longest, longest))

    one.solve(zoo.SignGD(scaled / one.R_sum**2), record=10, stop=None, max_iter=1000, callback=look)
    margin, longest = np.array(seen).T
    assert (margin >= (1 - scaled / 2) * one.mu_max - log(one.n) / longest - 1e-9).all()


@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_growing_steps_never_raise_the_loss_and_keep_it_below_its_bound(seed):
    one = problem(seed)
    method = one.method("growing-steps-gd")
    run = one.solve("lr-gd", step_size=method.step_size, record="all", stop=None, max_iter=2000)
    loss = run.trace["loss"]
    y = np.array([method.y(t) for t in range(1, len(loss))])
    gamma = np.array([method.step_size(t) for t in range(len(loss))])
    assert (np.diff(loss) <= 0).all()
    assert (loss[1:] <= (y**2 - 2 * np.expm1(-y)) / np.expm1(y)).all()
    assert (gamma * loss * one.R**2 <= 1).all() and (np.diff(gamma) > 0).all()


# The risk-adaptive step


def test_one_minus_the_geometric_mean_is_exact_from_deep_wrong_to_far_right():
    rng = np.random.default_rng(0)
    for low, high in ((-3, 3), (-500, 500), (-5, 40), (0, 1), (20, 40), (-1e-9, 1e-9)):
        x = rng.uniform(low, high, 200)
        q = rng.uniform(0.5, 1.5, 200) / 200
        wanted = -expm1(-float(q @ np.logaddexp(0, -x)))
        assert one_minus_mean(x, q) == pytest.approx(wanted, rel=1e-13)
    assert one_minus_mean(np.array([-2000.0, 50.0]), np.array([1e-3, 1e-3])) == pytest.approx(-expm1(-2), rel=1e-13)
    assert one_minus_mean(np.array([1.0]), np.ones(1)) == pytest.approx(1 / (1 + exp(1)), rel=1e-15)


def test_its_divisor_is_between_that_of_normalized_lr_gd_and_n_times_that():
    rng = np.random.default_rng(1)
    for scale in (0.1, 1, 10, 100):
        x = rng.standard_normal(50) * scale
        W, N = (1 / (1 + np.exp(x))).sum(), 50 * one_minus_mean(x, np.full(50, 1 / 50))
        assert N / 50 <= W <= N * (1 + 1e-14)


@pytest.mark.parametrize("scaled", [1.0, 30.0, 1e3, 1e6])
def test_each_line_of_its_proof_holds_at_every_step(scaled):
    for seed in range(40, 60):
        one = problem(seed)
        n, many, steps = one.n, 1 + log(2 * one.n), []

        def look(at, one=one, n=n, many=many, steps=steps):
            x = one.Z @ at.theta
            if (x > 0).all():
                return True
            w, N = 1 / (1 + np.exp(np.clip(x, -700, 700))), n * one_minus_mean(x, np.full(n, 1 / n))
            c = w.sum() / N
            assert 1 / n - 1e-12 <= c <= 1 + 1e-12
            assert w @ x / N <= many * c - 1 + 1e-9 * abs(x).max()
            steps.append(c)
            return False

        method = zoo.RiskAdaptiveGD(scaled / one.R**2)
        run = one.solve(method, record="all", callback=look)
        assert run.trace["theta_norm"][-1] >= method.gamma * one.mu * sum(steps) * (1 - 1e-9)
        assert len(steps) == run.n_iter


def test_the_risk_transformed_is_not_convex():
    """ψ = ln(e^f - 1) of the margins (s, -s) is ln(2 cosh(s/2) - 1): its slope falls from 0.56 to ½."""
    s = np.array([3.0, 4.0, 5.0])
    psi = np.log(np.expm1((np.logaddexp(0, -s) + np.logaddexp(0, s)) / 2))
    assert psi == pytest.approx(np.log(2 * np.cosh(s / 2) - 1))
    assert psi[0] - 2 * psi[1] + psi[2] < -0.01


def test_large_risk_adaptive_steps_need_more_the_more_rows_there_are_as_the_batch_perceptron_does():
    counts = []
    for n in (100, 1000):
        X, y = sx.worst_case(n)
        method = zoo.RiskAdaptiveGD(1e6)
        counts.append(sx.solve(X, y, method, record=None).n_iter)
        convex = 5 - 2 * log(2 ** (1 / n) - 1) / (1e6 * 0.25)  # a bound, were ψ convex
        assert convex < 6 < counts[-1] <= method.bound(n, 1.25**0.5, 0.5)
    assert counts == [60, 600]
    assert sx.solve(X, y, "normalized-lr-gd", step_size=1e6).n_iter == 2


# Runs


@pytest.mark.parametrize("name", NAMES)
def test_far_past_separation_every_number_is_finite(name):
    one = problem(7)
    run = one.solve(one.method(name), stop=None, max_iter=2000, record=500)
    assert run.separated and np.isfinite(run.theta).all() and np.isfinite(run.trace["min_margin"][1:]).all()


@pytest.mark.parametrize("kind", [zoo.NormalizedExpGD, zoo.RiskAdaptiveGD])
def test_so_it_is_where_all_weights_underflow(kind):
    one = problem(7)
    run = one.solve(kind(1e3 / one.R**2), stop=None, max_iter=3000, record=500)
    assert (one.Z @ run.theta).min() > 800
    assert run.separated and run.trace["min_margin"][-1] > 0.99 * one.mu


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_weight_is_that_many_equal_rows(name):
    one = problem(3)
    often = np.random.default_rng(0).integers(1, 4, one.n)
    method = one.method(name)
    X, options = one.Z * one.y[:, None], {"stop": None, "max_iter": 30, "record": None}
    weighed = sx.solve(X, one.y, method, sample_weight=often, **options)
    repeated = sx.solve(np.repeat(X, often, axis=0), np.repeat(one.y, often), method, **options)
    assert weighed.theta == pytest.approx(repeated.theta, rel=1e-9)


@pytest.mark.parametrize("name", ["dual-momentum-gd", "smooth-perceptron"])
def test_a_run_goes_on_from_its_checkpoint_with_what_it_remembers(name, tmp_path):
    one = problem(5)
    options = {"stop": None, "checkpoint": tmp_path / "run"}
    one.solve(one.method(name), max_iter=20, **options)
    resumed = one.solve(one.method(name), max_iter=50, **options)
    whole = one.solve(one.method(name), max_iter=50, stop=None)
    assert np.array_equal(resumed.theta, whole.theta)


def test_the_example_of_the_zoo_prints_what_it_says():
    for example in doctest.DocTestFinder(recurse=False).find(zoo.each, "each"):
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(example)
        assert runner.summarize(verbose=False) == (0, 4)


def test_a_bound_takes_a_margin_by_its_lower_end():
    X, y = sx.worst_case(20)
    found = sx.max_margin(X, y)
    for method in sx.zoo.each(20, 1.25**0.5, 0.4, R_sum=1.5):
        assert method.bound(20, 1.2, found) == method.bound(20, 1.2, found.lower) > 0


@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e12])
def test_growing_steps_have_their_size_however_thin_the_margin(ratio):
    """γ_0 = (e^y(1) - 1)/μ² with y(1) = 1/(4 (R²/μ² + ½)) up to its square, so γ_0 R² is a quarter."""
    method = zoo.GrowingStepsGD(1.0, 1 / ratio)
    assert method.step_size(0) == pytest.approx(0.25, rel=2 / ratio**2 + 1e-14)
    assert method.step_size(1000) >= method.step_size(0)


@pytest.mark.parametrize("scale", [2.0**-300, 1.0, 2.0**300])
def test_the_smooth_perceptron_separates_at_every_scale_of_the_rows(scale):
    Z = np.array([[1.0, 2.0], [-1.0, 3.0]]) * scale
    run = sx.solve(Z, [1, -1], zoo.SmoothPerceptron(1 / (20 * scale**2)), max_iter=20)
    assert run.separated and run.n_iter == 2
