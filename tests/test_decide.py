"""separate and prove_kind against the exact judge, on thousands of small problems."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
import separatrix as sx
from conftest import noise, planted
from separatrix.case import Case
from separatrix.faces import prove_kind
from separatrix.problem import make_problem
from zoo import small_problem, unimodular

KINDS = {"separable": "complete", "quasi-complete": "quasi-complete", "overlap": "overlap"}
few = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)

# A problem on which Bland's rule runs in a circle if entering and leaving rows go by different orders.
CIRCLE = np.array([
    [0, 1, 1, 0, 1, -1, 0], [1, -1, -1, 0, 1, -1, 0], [-1, 0, -1, 0, -1, -1, 0], [1, 1, 0, -1, 1, 0, -1],
    [-1, 1, 1, -1, 0, 0, 1], [-1, 1, 1, 0, 0, -1, 1], [0, 1, 1, -1, 1, 1, 1], [0, -1, -1, -1, -1, -1, -1],
    [1, -1, -1, 0, -1, 1, 0], [-1, -1, 1, -1, 0, 0, 0], [-1, 1, 1, -1, 1, 1, 0], [1, -1, 1, -1, 1, 1, 0],
    [1, -1, 0, 1, -1, 1, 0], [1, 1, 0, 0, 0, -1, 0], [0, -1, -1, 1, 1, -1, 0], [0, -1, -1, -1, -1, 1, 1],
])  # fmt: skip


def kind_of(X, y, intercept=False):
    proof = prove_kind(Case(make_problem(X, y, fit_intercept=intercept)))
    return None if proof is None else KINDS[proof.claim]


def both(X, y, intercept=False):
    return str(sx.separate(X, y, fit_intercept=intercept).status), kind_of(X, y, intercept)


def separates(X, y, theta, intercept=False):
    theta = [Fraction(float(t)) for t in theta]
    return all(sum(a * t for a, t in zip(z, theta, strict=True)) > 0 for z in oracle.oriented(X, y, intercept))


@pytest.mark.parametrize("block", range(30))
def test_verdict_and_kind_are_those_of_the_exact_judge(block):
    for seed in range(100 * block, 100 * block + 100):
        _, X, y, intercept = small_problem(seed)
        kind = oracle.kind(X, y, intercept)
        found = sx.separate(X, y, fit_intercept=intercept)
        assert found.status == ("separable" if kind == "complete" else "inseparable"), seed
        assert found.verify(X, y), seed
        assert found.margin.lower <= found.margin.upper, seed
        assert kind_of(X, y, intercept) == kind, seed


@pytest.mark.parametrize("block", range(4))
def test_float_tools_alone_are_never_wrong_and_decide_most(block, monkeypatch):
    for name in ("case.TINY", "case.EXACT", "faces.TINY"):
        monkeypatch.setattr(f"separatrix.{name}", 0)
    decided = 0
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        _, X, y, intercept = small_problem(seed)
        kind = oracle.kind(X, y, intercept)
        found = sx.separate(X, y, fit_intercept=intercept)
        assert found.tool != "exact"
        if found.status != "undecided":
            decided += 1
            assert found.status == ("separable" if kind == "complete" else "inseparable"), seed
            assert found.verify(X, y), seed
        assert kind_of(X, y, intercept) in (kind, None), seed
    assert decided > 75


def test_the_theta_given_separates_unless_no_rounding_of_the_exact_one_does():
    rounded = 0
    for seed in range(300):
        family, X, y, intercept = small_problem(seed)
        found = sx.separate(X, y, fit_intercept=intercept)
        if found.theta is not None and not separates(X, y, found.theta, intercept):
            assert any(isinstance(t, Fraction) for t in found.proof.theta), (seed, family)
            assert found.fragile or "scaled" in family or "nearly" in family, (seed, family)
            rounded += 1
    assert rounded < 10


@few
@given(seeds)
def test_row_order_changes_nothing(seed):
    _, X, y, intercept = small_problem(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    assert both(X[order], y[order], intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_scaling_rows_by_powers_of_two_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(3, 25)), int(rng.integers(1, 7))))
    y = rng.permuted(np.resize([-1, 1], len(X)))
    assert both(X * 2.0 ** rng.integers(-60, 60, (len(X), 1)), y) == both(X, y)


@few
@given(seeds)
def test_unimodular_columns_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(3, 25)), int(rng.integers(1, 7))))
    y = rng.permuted(np.resize([-1, 1], len(X)))
    intercept = bool(rng.integers(2))
    assert both(X @ unimodular(rng, X.shape[1]), y, intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_swapping_the_labels_changes_nothing(seed):
    _, X, y, intercept = small_problem(seed)
    assert both(X, -y, intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_dense_and_sparse_rows_get_one_verdict(seed):
    _, X, y, intercept = small_problem(seed)
    assert both(sparse.csr_array(X), y, intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_float32_rows_are_judged_as_the_numbers_they_hold(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(3, 25)), int(rng.integers(1, 7)))).astype(np.float32)
    y = rng.permuted(np.resize([-1, 1], len(X)))
    assert both(X, y) == both(X.astype(np.float64), y)
    assert (sx.separate(X, y).status == "separable") == oracle.separable(X, y)


def test_two_classes_that_touch_are_quasi_complete():
    X, y = np.array([[-1.0], [0], [0], [1]]), [0, 0, 1, 1]
    assert both(X, y, True) == ("inseparable", "quasi-complete")


def test_a_zero_row_cannot_be_separated():
    found = sx.separate([[1.0, 2], [0, 0], [-1, 1]], [1, 1, 0])
    assert found.status == "inseparable" and found.tool == "rows" and found.proof.argument == "zero-row"
    assert sx.separate([[1.0], [0]], [1, 0], fit_intercept=True).status == "separable"


def test_contradictory_duplicates_cannot_be_separated():
    X, y = planted(500, 20, 0.1, 0)
    X, y = np.vstack([X, X[7:8]]), np.append(y, -y[7])
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.proof.argument == "contradiction" and found.verify(X, y)


def test_a_verdict_that_hangs_on_rounding_is_fragile():
    found = sx.separate([[0.1 + 0.2], [0.3]], [1, 0], fit_intercept=True)
    assert found.status == "separable" and found.fragile
    assert not sx.separate([[3], [2]], [1, 0], fit_intercept=True).fragile
    for gap, fragile in ((1e-13, True), (1e-10, False)):
        near = sx.separate([[0.3], [0.3 * (1 + gap)]], [0, 1], fit_intercept=True)
        assert near.status == "separable" and near.fragile == fragile
    whole = sx.separate([[-1], [0], [0], [1]], [0, 0, 1, 1], fit_intercept=True)
    assert whole.status == "inseparable" and not whole.fragile
    tie = sx.separate([[0.1, 0.3], [0.1, 0.3], [1.0, 0.0]], [1, 0, 1])
    assert tie.status == "inseparable" and tie.fragile
    assert not sx.separate(*noise(150, 6, 0)).fragile and not sx.separate(*planted(50, 6, 0.1, 0)).fragile


@pytest.mark.parametrize("bad", [0, -1, float("nan"), -float("inf")])
def test_a_time_limit_that_is_no_time_is_refused(bad):
    with pytest.raises(ValueError, match=r"^time_limit must be positive seconds or None, got .*\.$"):
        sx.separate([[1.0], [2.0]], [0, 1], time_limit=bad)


def test_a_short_time_limit_gives_undecided_with_a_bracket_that_holds():
    X, y = noise(3000, 120, 0)
    sx.separate(*noise(60, 12, 0))  # kernels compiled
    began = time.perf_counter()
    found = sx.separate(X, y, time_limit=1e-6)
    assert time.perf_counter() - began < 5
    assert found.status == "undecided" and found.proof is None and found.theta is None and not found.verify(X, y)
    assert 0 == found.margin.lower <= found.margin.upper < np.inf
    assert str(found).startswith("undecided")


@pytest.mark.parametrize(("n", "d"), [(120, 20), (1000, 60), (60, 100), (2000, 10)])
def test_hard_planted_margins_come_to_an_end(n, d):
    X, y = planted(n, d, 1e-12, 0)
    found = sx.separate(X, y, time_limit=20)
    assert found.status == "separable" and found.verify(X, y) and found.seconds < 20


def test_exact_arithmetic_does_not_run_in_circles():
    y = np.resize([1, -1], len(CIRCLE))
    X = CIRCLE * y[:, None]
    assert oracle.kind(X, y) == "overlap"
    found = sx.separate(X, y, time_limit=3)  # without a limit a circle never ends
    assert found.status == "inseparable" and found.verify(X, y)


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e200])
def test_rows_of_any_length_raise_no_warning(factor):
    for X, y in (planted(300, 12, 0.1, 0), noise(300, 12, 0)):
        X[0] *= factor
        found = sx.separate(X, y, time_limit=10)
        assert found.status != "undecided" and found.verify(X, y)


@pytest.mark.parametrize("X", [[[5e-324], [1e-323]], [[1e308, 1e307], [1.1e308, 1e307]]])
def test_numbers_at_the_ends_of_float64_are_judged(X):
    assert sx.separate(np.array(X), [1, -1]).status == ("separable" if oracle.separable(X, [1, -1]) else "inseparable")


def test_larger_problems_of_every_kind_are_named():
    rng = np.random.default_rng(0)
    X, y = planted(800, 15, 0.05, 1)
    assert both(X, y) == ("separable", "complete")
    X, y = noise(800, 15, 1)
    assert both(X, y) == ("inseparable", "overlap")
    Z = rng.integers(-5, 6, (400, 12)).astype(float)
    Z[:200, 0] = 0  # a face: the first 200 rows overlap in the other columns
    Z[200:, 0] = rng.integers(1, 5, 200)
    y = rng.permuted(np.resize([-1, 1], 400))
    X = y[:, None] * (Z @ unimodular(rng, 12))
    assert both(X, y) == ("inseparable", "quasi-complete")
    assert both(sparse.csr_array(X), y) == ("inseparable", "quasi-complete")
