"""The bounds are the theorems' formulas and hold; the data sets are those of the proofs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite, log, sqrt

import numpy as np
import pytest
from scipy import sparse

from separatrix.data.memory import hold
from separatrix.theory import (
    WORST_CASE_MU,
    bounds,
    imbalanced,
    planted,
    two_samples,
    worst_case,
    worst_case_count,
)
from separatrix.walking.definition import walk
from separatrix.walking.methods import TABLE, parse_method
from separatrix.walking.solve import solve

STEP_SIZES = [1e-300, 1e-3, 1.0, 100.0, 1e300, inf]


def test_the_bounds_are_the_papers_formulas():
    extra = 2 * log(2 * 50 - 1) / (7.0 * 0.25)
    assert bounds(50, 2.0, 0.5, step_size=7.0) == pytest.approx(
        {
            "lr-gd": 100 * (16 + extra),
            "normalized-lr-gd": 16 + extra,
            "batch-perceptron": 50 * 16,
            "normalized-batch-perceptron": 16,
            "perceptron": 16,
        },
        rel=1e-14,
    )


def test_every_method_has_a_bound():
    assert set(bounds(10, 1.0, 0.1)) == set(TABLE)


def test_at_an_infinite_step_size_the_logistic_bounds_are_the_batch_perceptrons():
    limit = bounds(10, 1.0, 0.1, step_size=inf)
    assert limit["lr-gd"] == limit["batch-perceptron"]
    assert limit["normalized-lr-gd"] == limit["normalized-batch-perceptron"]


@dataclass(frozen=True)
class Between:
    lower: float
    upper: float


def test_of_a_bracket_the_lower_end_counts():
    assert bounds(10, 1.0, Between(0.1, 0.9)) == bounds(10, 1.0, 0.1)


@pytest.mark.parametrize("step_size", STEP_SIZES)
def test_no_step_size_makes_a_bound_overflow_or_warn(step_size):
    for mu in (1e-200, 0.5):
        values = bounds(10, 1.0, mu, step_size=step_size).values()
        assert all(value >= 1.0 for value in values)  # ∞ where float64 ends, never NaN
    assert all(isfinite(value) for value in bounds(10, 1.0, 0.5, step_size=max(step_size, 1e-3)).values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1.0, 0.1), "n must be a whole number of at least 1, got 0"),
        ((2.5, 1.0, 0.1), "n must be a whole number"),
        ((True, 1.0, 0.1), "n must be a whole number"),
        ((10, 0.0, 0.1), "R must be positive and finite, got 0.0"),
        ((10, inf, 0.1), "R must be positive and finite, got inf"),
        ((10, 1.0, 0.0), "mu must be positive, got 0.0: the bounds exist for separable data only"),
        ((10, 1.0, float("nan")), "mu must be a number"),
        ((10, 1.0, "0.1"), "mu must be a number"),
        ((10, 1.0, Between(-1.0, 1.0)), "mu must be positive, got -1.0"),
        ((10, 1.0, 2.0), "mu cannot exceed R, got mu=2.0 and R=1.0"),
    ],
)
def test_bad_arguments_of_bounds_get_one_clear_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        bounds(*arguments)


@pytest.mark.parametrize("step_size", [0.0, -1.0, float("nan"), "1"])
def test_bad_step_sizes_of_bounds_get_one_clear_sentence(step_size):
    with pytest.raises(ValueError, match="step_size must be"):
        bounds(10, 1.0, 0.1, step_size=step_size)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 100.0])
def test_every_step_of_lr_gd_comes_closer_by_what_our_proof_says(gamma):
    n, margin = 40, 0.2
    X, y, u = planted(n, 6, margin=margin, random_state=3)
    Z = y[:, None] * X
    mu, R = (Z @ u).min(), np.linalg.norm(Z, axis=1).max()
    alpha = (R**2 + 2 * log(2 * n - 1) / gamma) / mu
    steps = 0
    for phi, after in pairwise(walk(parse_method("lr-gd", gamma), Z)):
        if (Z @ phi).min() > 0:
            break
        fall = np.sum((phi - alpha * u) ** 2) - np.sum((after - alpha * u) ** 2)
        assert fall >= alpha * mu / (2 * n)  # line 5 of the proof
        steps += 1
    assert 1 < steps <= bounds(n, R, mu, step_size=gamma)["lr-gd"]


def test_worst_case_data_are_one_row_against_all_others():
    X, y = worst_case(7)
    assert X.tolist() == [[0.5, -1.0]] + [[-0.5, -1.0]] * 6
    assert y.tolist() == [1] + [-1] * 6


def test_worst_case_data_have_margin_one_half():
    X, y = worst_case(7)
    Z = y[:, None] * X
    assert (Z @ [1.0, 0.0]).min() == WORST_CASE_MU  # from below
    assert np.linalg.norm((Z[0] + Z[1]) / 2) == WORST_CASE_MU  # from above: no θ has more on a mean of rows
    assert hold(X, y).R == pytest.approx(sqrt(1.25), rel=1e-15)


def test_the_worst_case_count_is_exact():
    for n in range(2, 200):
        phi = [n, 2 * (n - 2)]  # 4n φ_1, in whole numbers
        k = 1
        while (wrong := [phi[0] - 2 * phi[1] <= 0, phi[0] + 2 * phi[1] <= 0]) != [False, False]:
            phi[0] += 2 * wrong[0] + 2 * (n - 1) * wrong[1]
            phi[1] += -4 * wrong[0] + 4 * (n - 1) * wrong[1]
            k += 1
        assert worst_case_count(n) == k
    assert worst_case_count(10**6) == 300_001


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
def test_the_batch_perceptron_needs_the_worst_case_count(n):
    run = solve(*worst_case(n), "batch-perceptron", max_iter=n)
    assert run.separated
    assert run.n_iter == worst_case_count(n)


def test_two_samples_walk_as_the_theorem_says():
    X, y = two_samples()
    steps = walk(parse_method("lr-gd", 1e9), y[:, None] * X)
    _, first, second = (next(steps) for _ in range(3))
    assert first.tolist() == [0.5, 0.75]
    assert second.tolist() == [1.0, 0.25]


@pytest.mark.parametrize("seed", range(5))
def test_planted_data_have_at_least_the_planted_margin(seed):
    X, y, u = planted(200, 5, margin=0.3, random_state=seed)
    assert np.linalg.norm(u) == pytest.approx(1.0, rel=1e-14)
    assert 0.3 * (1 - 1e-12) <= (y * (X @ u)).min() < 0.4
    assert set(y) == {-1, 1}


def test_an_offset_makes_rows_long_and_leaves_the_planted_margin():
    (near, _, u), (far, y, same) = (planted(50, 4, margin=0.3, offset=offset, random_state=1) for offset in (0.0, 20.0))
    assert np.array_equal(u, same)
    shift = far - near
    assert np.allclose(shift, shift[0])  # one vector for all rows
    assert np.linalg.norm(shift[0]) == pytest.approx(20.0)
    assert (y * (far @ u)).min() >= 0.3 * (1 - 1e-12)


def test_planted_data_follow_from_their_seed():
    first, again, other = (planted(20, 3, random_state=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_imbalanced_data_are_a_subsample_with_one_class_repeated():
    X, y = np.arange(400.0).reshape(200, 2), np.tile([3, 8], 100)
    rows, labels = imbalanced(X, y, fraction=0.1, repeat=10, label=3, random_state=0)
    kept, copies = np.unique(rows[:, 0], return_counts=True)
    assert len(kept) == 20
    assert np.array_equal(copies, np.where(y[(kept / 2).astype(int)] == 3, 10, 1))
    assert np.array_equal(labels, y[(rows[:, 0] / 2).astype(int)])
    assert np.all(np.diff(rows[:, 0]) >= 0)  # in the old order


def test_imbalanced_repeats_the_larger_label_when_none_is_named():
    X, y = np.arange(40.0).reshape(40, 1), np.tile([3, 8], 20)
    rows, labels = imbalanced(X, y, fraction=1.0, repeat=2)
    assert np.array_equal(np.unique(labels, return_counts=True), ([3, 8], [20, 40]))


def test_imbalanced_sparse_rows_equal_the_dense_ones():
    X, y = np.arange(80.0).reshape(40, 2), np.tile([0, 1], 20)
    dense, labels = imbalanced(X, y, fraction=0.5, random_state=4)
    rows, same = imbalanced(sparse.csr_array(X), y, fraction=0.5, random_state=4)
    assert np.array_equal(rows.toarray(), dense)
    assert np.array_equal(same, labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fraction": 0.0}, r"fraction must be in \(0, 1\], got 0.0"),
        ({"fraction": 1.5}, r"fraction must be in \(0, 1\], got 1.5"),
        ({"fraction": 0.01}, "hold one class; raise fraction"),
        ({"repeat": 0}, "repeat must be a whole number of at least 1, got 0"),
        ({"label": 5}, "label 5 is not among the labels"),
        ({"y": [0, 1]}, "one row per label"),
    ],
)
def test_bad_arguments_of_imbalanced_get_one_clear_sentence(change, message):
    arguments = {"X": np.ones((40, 2)), "y": np.tile([0, 1], 20)} | change
    with pytest.raises(ValueError, match=message):
        imbalanced(arguments.pop("X"), arguments.pop("y"), **arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: worst_case(1), "n must be a whole number of at least 2, got 1"),
        (lambda: worst_case_count(1), "n must be a whole number of at least 2, got 1"),
        (lambda: planted(1, 3), "n must be a whole number of at least 2, got 1"),
        (lambda: planted(5, 0), "d must be a whole number of at least 1, got 0"),
        (lambda: planted(5, 3, margin=0.0), "margin must be positive and finite, got 0.0"),
        (lambda: planted(5, 3, offset=-1.0), "offset must be finite and not negative, got -1.0"),
        (lambda: planted(5, 1, offset=1.0), "offset needs d of at least 2"),
    ],
)
def test_data_sets_refuse_sizes_that_make_no_sense(call, message):
    with pytest.raises(ValueError, match=message):
        call()
