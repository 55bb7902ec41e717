"""The bounds are the theorems' formulas and hold; the data sets are those of the proofs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import inf, isfinite, isinf, log, sqrt
from operator import mul
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from scipy.special import expit

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
from separatrix.walking.methods import POWER, TABLE, parse_method
from separatrix.walking.solve import solve

STEP_SIZES = [1e-300, 1e-3, 1.0, 100.0, 1e300, inf]


def test_the_bounds_are_the_theorems_formulas():
    K, x, m = 16, 2 * log(99) / (7.0 * 4), 0.01  # R²/μ², 2 log(2n-1)/(γR²), 1/(2n)
    assert bounds(50, 2.0, 0.5, step_size=7.0, power=0.5) == pytest.approx(
        {
            "lr-gd": K * (1 + m + x) ** 2 / (4 * m),
            "normalized-lr-gd": K * (1 + x),
            "batch-perceptron": 51**2 / 200 * K,
            "normalized-batch-perceptron": K,
            "perceptron": K,
            "tempered-lr-gd": K * (1 + 0.1 + x) ** 2 / 0.4,
            "tempered-batch-perceptron": K * (1 + 50**-0.5) ** 2 / 4 * 50**0.5,
        },
        rel=1e-14,
    )
    small = bounds(50, 2.0, 0.5, step_size=0.1)  # m + x > 1
    assert small["lr-gd"] == pytest.approx(K * (1 + 100 * 70 * x), rel=1e-14)


def test_the_papers_bounds_stand_beside_ours():
    ours = bounds(50, 2.0, 0.5, step_size=7.0)
    assert ours.paper == pytest.approx(
        {
            "normalized-lr-gd": 16 + 2 * log(99) / (7.0 * 0.25),
            "batch-perceptron": 50 * 16,
            "normalized-batch-perceptron": 16,
            "perceptron": 16,
        },
        rel=1e-14,
    )
    limit = bounds(50, 2.0, 0.5, step_size=inf)
    assert limit.paper["lr-gd"] == 50 * 16  # the paper has none at a finite step size


@pytest.mark.parametrize("gamma", STEP_SIZES)
def test_ours_are_the_papers_for_the_normalized_methods_and_never_larger(gamma):
    for n in (1, 2, 3, 10, 10**6):
        ours = bounds(n, 1.5, 0.3, step_size=gamma)
        for name in ("normalized-lr-gd", "normalized-batch-perceptron"):
            assert ours[name] == pytest.approx(ours.paper[name], rel=1e-13)
        assert all(ours[name] <= most * (1 + 1e-13) for name, most in ours.paper.items())
    assert ours["batch-perceptron"] == pytest.approx(ours.paper["batch-perceptron"] / 4, rel=1e-5)


def test_power_zero_and_one_are_the_papers_columns():
    for gamma in STEP_SIZES:
        for power, column in ((0, "normalized-"), (1, "")):
            most = bounds(30, 2.0, 0.1, step_size=gamma, power=power)
            for name in ("lr-gd", "batch-perceptron"):
                assert most[f"tempered-{name}"] == most[column + name]
    assert bounds(30, 2.0, 0.1) == bounds(30, 2.0, 0.1, power=POWER)


def test_every_method_has_a_bound():
    assert set(bounds(10, 1.0, 0.1)) == {*TABLE, "tempered-lr-gd", "tempered-batch-perceptron"}


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


@pytest.mark.parametrize("power", [-0.1, 1.5, float("nan"), True, "1"])
def test_bad_powers_of_bounds_get_one_clear_sentence(power):
    with pytest.raises(ValueError, match="power must be a number from 0 to 1, got"):
        bounds(10, 1.0, 0.1, power=power)


POWERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
GAMMAS = (0.1, 1.0, 100.0, inf)
PERCEPTRONS = ("batch-perceptron", "normalized-batch-perceptron")


def first_separating(Z, p, gamma, most):
    """The first t at which each problem Z[b] is separated, by the definition in plain NumPy; ∞ if not within `most`."""
    n, left, phi, first = Z.shape[1], np.arange(len(Z)), np.zeros((len(Z), Z.shape[2])), np.full(len(Z), inf)
    for t in range(int(most) + 2):
        m = (Z @ phi[:, :, None])[:, :, 0]
        wrong = m <= 0
        goes_on = wrong.any(axis=1)
        first[left[~goes_on]] = t
        left, Z, p, phi, m, wrong = (array[goes_on] for array in (left, Z, p, phi, m, wrong))
        if not len(left):
            break
        w = expit(-gamma * m) if gamma < inf else wrong * (0.5 if t == 0 else 1.0)
        W = w.sum(axis=1)
        phi = phi + (w[:, None, :] @ Z)[:, 0] / (n**p * W ** (1 - p))[:, None]
    return first


def widest(Z):
    """μ from below, and to rounding: the point of the rows' hull that is nearest to 0 gives the best direction."""
    length = np.linalg.norm(Z, axis=1).max()
    lam, _ = nnls(np.vstack([Z.T / length, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0))
    u = lam @ Z
    return (Z @ u).min() / np.linalg.norm(u)


def draw(rng, n, d, kind):
    """A separable problem with R/μ < 20: spread about two opposite points, whole numbers, or three rows repeated."""
    while True:
        u, v = rng.standard_normal((2, d))
        if kind == "spread":
            Z = rng.standard_normal((n, d)) + 10 ** rng.uniform(-1, 0.5) * rng.choice([-1, 1], (n, 1)) * v
        elif kind == "whole":  # margins of exactly 0 on the way
            Z = rng.integers(-3, 4, (n, d)).astype(float)
        else:
            few = rng.integers(-9, 10, (min(n, 3), d)).astype(float)
            copies = 1 + rng.multinomial(n - len(few), rng.dirichlet(np.full(len(few), 0.3)))
            Z = np.repeat(few, copies, axis=0)
        Z *= np.where(Z @ u < 0, -1, 1)[:, None]
        if (Z @ u).min() > 1e-9:
            R, mu = np.linalg.norm(Z, axis=1).max(), widest(Z)
            if R < 20 * mu:
                return Z, R, mu


@pytest.mark.parametrize("block", [*range(4), *(pytest.param(k, marks=pytest.mark.long) for k in range(4, 40))])
def test_no_walk_is_longer_than_the_theorem_allows(block):
    rng = np.random.default_rng(block)
    n, d = int(rng.integers(1, 51 if block % 4 else 6)), int(rng.integers(1, 5))
    problems = [draw(rng, n, d, ("spread", "whole", "repeated")[block % 3]) for _ in range(100)]
    Z, p = np.repeat([Z for Z, _, _ in problems], len(POWERS), axis=0), np.tile(POWERS, len(problems))
    for gamma in GAMMAS:
        most = [bounds(n, R, mu, step_size=gamma, power=power) for _, R, mu in problems for power in POWERS]
        most = np.array([limit["tempered-lr-gd"] for limit in most])
        assert (first_separating(Z, p, gamma, most.max()) <= most * (1 + 1e-9)).all()


def test_every_batch_method_takes_as_many_steps_as_the_plain_walk():
    rng = np.random.default_rng(9)
    for name, gamma in [(name, gamma) for name in TABLE if name != "perceptron" for gamma in (1.0, inf)]:
        if gamma < inf and "perceptron" in name:
            continue
        for power in POWERS if name.startswith("tempered") else [0.0 if name.startswith("normalized") else 1.0]:
            for _ in range(5):
                Z, R, mu = draw(rng, 20, 3, "spread")
                most = bounds(20, R, mu, step_size=gamma, power=power)[name]
                chosen = {"power": power} if name.startswith("tempered") else {}
                y = np.resize([1, -1], 20)
                run = solve(Z * y[:, None], y, name, step_size=gamma, max_iter=int(most) + 1, **chosen)
                assert run.n_iter == first_separating(Z[None], np.array([power]), gamma, most)[0] <= most


@pytest.mark.parametrize("gamma", GAMMAS)
def test_every_line_of_the_proof_holds_at_every_step(gamma):
    rng = np.random.default_rng(8)
    for kind, n in itertools.product(("spread", "whole", "repeated"), (2, 3, 40)):
        Z, R, mu = draw(rng, n, 3, kind)
        K, x, slack = R**2 / mu**2, 2 * log(2 * n - 1) / (gamma * R**2), 1e-9 * R**2
        for p in POWERS:
            m = float(n if isinf(gamma) else 2 * n) ** -p
            phi, S, T = np.zeros(3), 0.0, 0
            while (margins := Z @ phi).min() <= 0:
                w = expit(-gamma * margins) if gamma < inf else (margins <= 0) * (1.0 if T else 0.5)
                c, v = (w.sum() / n) ** p, w @ Z / w.sum()
                assert m * (1 - 1e-12) <= c <= 1 and c * c <= (1 + m) * c - m + 1e-12
                assert v @ v <= R**2 + slack and phi @ v <= x * R**2 / 2 + slack
                phi, S, T = phi + c * v, S + c, T + 1
                assert mu * S <= np.linalg.norm(phi) * (1 + 1e-9)
                assert S * S / K <= (1 + m + x) * S - m * T + 1e-9 * S
                assert m * T <= S * (1 + 1e-9)


def test_at_a_finite_step_size_a_later_iterate_may_be_wrong_again():
    X, y = np.array([[4.0, 3.0]] + [[1.0, 0.0]] * 7), np.array([1] + [-1] * 7)
    run = solve(X, y, "lr-gd", step_size=3.0, max_iter=200, stop=None, record="all")
    assert np.flatnonzero(run.trace["errors"] == 0).tolist() == [2, *range(4, 201)]


def test_the_bound_is_the_largest_t_that_the_last_line_leaves():
    for n, gamma, p in itertools.product((1, 2, 7, 1000), (0.01, 1.0, 7.0, inf), POWERS):
        K, m = 9.0, float(n if isinf(gamma) else 2 * n) ** -p
        x = 2 * log(2 * n - 1) / (gamma * 2.25)
        S = np.linspace(0, K * (1 + m + x), 100_001)
        largest = np.minimum(S, (1 + m + x) * S - S * S / K).max() / m
        assert bounds(n, 1.5, 0.5, step_size=gamma, power=p)["tempered-lr-gd"] == pytest.approx(largest, rel=1e-4)


# Distinct rows, their multiplicities, R²/μ², and the iterations of the batch perceptron and of the normalized one.
NEAR = [
    ([(4, 7), (4, -7)], [999, 1], Fraction(65, 16), 255, 2),
    ([(11, -12, 23), (13, 25, -5), (0, -13, -16)], [31, 18, 1], Fraction(1014274989, 66102002), 53, 5),
    ([(25, -32, -4), (-7, 7, 39), (9, 19, -14)], [612, 387, 1], Fraction(3651345, 201601), 1195, 5),
    ([(1, 10, 0), (1, -8, -6), (1, -1, 3)], [520, 479, 1], Fraction(101), 5706, 6),
    ([(1, 10, 0), (1, -8, -6), (1, -1, 3)], [5204, 4795, 1], Fraction(101), 57_101, 6),
    ([(1, -50, 4), (1, 49, 7), (1, 8, -6)], [560, 439, 1], Fraction(2517), 142_929, 464),
]


@pytest.mark.parametrize(("rows", "copies", "K", "count", "normalized"), NEAR)
def test_the_data_of_the_page_come_as_near_the_bound_as_it_says(rows, copies, K, count, normalized):
    gram = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in rows] for r in rows]
    margins, T = [sum(map(mul, copies, g)) for g in gram], 1  # of 2n φ_1, in whole numbers
    while min(margins) <= 0:
        pull = [2 * k * (m <= 0) for k, m in zip(copies, margins, strict=True)]
        margins = [m + sum(map(mul, pull, g)) for m, g in zip(margins, gram, strict=True)]
        T += 1
    assert count == T
    Z, y = np.repeat(np.array(rows, dtype=float), copies, axis=0), np.resize([1, -1], sum(copies))
    R, n, X = np.linalg.norm(Z, axis=1).max(), sum(copies), Z * y[:, None]
    assert (R / widest(Z)) ** 2 == pytest.approx(float(K), rel=1e-9)
    assert [solve(X, y, name, max_iter=10**6).n_iter for name in PERCEPTRONS] == [count, normalized]
    share = count / bounds(n, R, widest(Z))["batch-perceptron"]
    line = f"| {n:,} | {round(float(K), 4):,g} | {count:,} | {count / n / float(K):.4f} | {share:.2f} |"
    assert line in (Path(__file__).parent.parent / "docs" / "theory.md").read_text(encoding="utf-8")


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


def test_planted_data_have_the_same_bits_on_every_machine():
    X, _, u = planted(300, 21, margin=0.2, offset=3.0, random_state=5)
    assert sha256(X.tobytes() + u.tobytes()).hexdigest()[:16] == "a95b9e16cb5c4538"


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
