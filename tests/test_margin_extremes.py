"""The bracket at the ends of float64's range: it holds down to the last denormal, and is as narrow as digits allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from far import save
from nearest import exact_ends, squared_margin
from separatrix.data.memory import hold
from separatrix.deciding.margin import Bracket
from zoo import signs, with_margin

F = Fraction
SMALLEST = F(5e-324)
FAMILY = (
    *("data", "data", "rows", "columns", "entries"),
    *("some entries", "some rows", "some columns", "1e±300", "float32"),
)


@np.errstate(all="ignore")
def extreme(seed):
    """A problem for brute force of which all data, or some rows, columns or entries, are below the normal range."""
    rng = np.random.default_rng(seed)
    n, d, intercept = int(rng.integers(2, 9)), int(rng.integers(1, 5)), bool(seed % 2)
    X, y = with_margin(rng, n, d, 10.0 ** -rng.integers(0, 6), intercept)
    if rng.random() < 0.2:
        X, y = rng.standard_normal((n, d)), signs(rng, n)
    elif rng.random() < 0.2:
        X, y = rng.integers(-3, 4, (n, d)) * 1.0, signs(rng, n)

    def tiny(*shape):
        return 10.0 ** -rng.uniform(305, 322, shape)

    def some(*shape):
        return np.where(rng.random(shape) < 0.5, tiny(*shape), 1.0)

    def wild():
        return 10.0 ** rng.choice([-300.0, 0.0, 300.0], [(1, 1), (n, 1), (1, d), (n, d)][rng.integers(4)])

    match FAMILY[seed // 2 % len(FAMILY)]:
        case "data":
            X = X * tiny(1)
        case "rows":
            X = X * tiny(n, 1)
        case "columns":
            X = X * tiny(d)
        case "entries":
            X = X * tiny(n, d)
        case "some entries":
            X = X * some(n, d)
        case "some rows":
            X = X * some(n, 1)
        case "some columns":
            X = X * some(d) * 10.0 ** rng.integers(-10, 300)
        case "1e±300":
            X = X * wild()
        case "float32":
            X = (X * 10.0 ** -rng.uniform(36, 45)).astype(np.float32)
    return X, y, intercept


def held(X, y, m, intercept, true):
    """Whether μ is in the bracket, and what comes with it proves both ends."""
    lowest, length, pull = exact_ends(X, y, m, intercept) if m.weights.any() else (F(0), F(1), F(0))
    return (
        0 <= m.lower <= m.upper
        and F(m.lower) ** 2 <= true
        and (np.isinf(m.upper) or true <= F(m.upper) ** 2)
        and np.isfinite(m.theta).all()
        and np.isfinite(m.weights).all()
        and (m.lower == 0 or (lowest > 0 and F(m.lower) ** 2 * length <= lowest**2))
        and (m.upper in (0.0, np.inf) or pull <= F(m.upper) ** 2)  # 0 is proven by the verdict
    )


def useful(X, m, true):
    """Whether it is closed, but for the last digits that float64 has, where rows are even and μ is 1e-4 of them."""
    squares = [sum(F(float(v)) ** 2 for v in a) for a in X]
    even = max(squares) <= 10**4 * min(squares) and true * 10**8 >= max(squares) > 0
    return not even or F(m.upper) - F(m.lower) <= F(2e-6) * F(m.upper) + 3 * SMALLEST


@pytest.mark.parametrize(
    "seeds",
    [range(40 * k, 40 * k + 40) for k in range(4)]
    + [pytest.param(range(160 + 300 * k, 460 + 300 * k), marks=pytest.mark.long) for k in range(8)],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop}",
)
def test_the_true_margin_of_extreme_data_lies_in_both_brackets_and_that_of_even_rows_is_closed(seeds):
    for seed in seeds:
        X, y, intercept = extreme(seed)
        true = squared_margin(X, y, intercept)
        m = sx.max_margin(X, y, fit_intercept=intercept)
        assert held(X, y, m, intercept, true) and useful(X, m, true), seed
        assert held(X, y, sx.separate(X, y, fit_intercept=intercept).margin, intercept, true), seed


def test_the_true_margin_of_extreme_sparse_data_lies_in_the_bracket():
    for seed in range(20):
        X, y, intercept = extreme(seed)
        true = squared_margin(X, y, intercept)
        m = sx.max_margin(sparse.csr_array(X), y, fit_intercept=intercept)
        assert held(X, y, m, intercept, true) and useful(X, m, true), seed


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_the_true_margin_of_extreme_data_in_files_lies_in_both_brackets(seed, tmp_path):
    X, y, _ = extreme(seed)
    files = save(tmp_path, X, y)
    for intercept in (False, True):
        true = squared_margin(X, y, intercept)
        m = sx.max_margin(*files, fit_intercept=intercept, memory_limit="16GB")
        assert held(X, y, m, intercept, true)
        assert held(X, y, sx.separate(*files, fit_intercept=intercept, memory_limit="16GB").margin, intercept, true)


@pytest.mark.parametrize("k", [-1000, -900, 900])
def test_powers_of_two_move_the_bracket_and_nothing_else(k):
    for intercept in (False, True):
        X, y = with_margin(np.random.default_rng(0), 30, 4, 0.3, intercept)
        X = np.round(X * 1024) / 1024
        a, b = (sx.max_margin(A, y, fit_intercept=intercept) for A in (X, np.ldexp(X, k)))
        assert b.status == "converged" and b.relative_gap <= 1e-6
        assert np.ldexp(b.upper, -k) == pytest.approx(a.upper, rel=2e-6)


def test_weights_near_the_largest_float_bound_the_margin_all_the_same():
    for intercept in (False, True):
        bracket = Bracket(hold([[1.0], [-1.0]], [1, -1], fit_intercept=intercept))
        bracket.try_weights(np.array([1.7e308, 1.7e308]))
        bracket.try_weights(np.array([1.7e308, 1e308]))
        assert bracket.upper >= 1.0
