"""The oracle gives known answers, agrees with a floating-point solver, and its proofs bite; the zoo has every kind."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import nasty
import oracle
import zoo
from zoo import FAMILIES, small_problem

SEEDS = range(12 * len(FAMILIES))
SUM = 0.1 + 0.2  # one ulp above 0.3


def well_scaled(seeds: range) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Problems in small whole numbers, where floating point can be trusted."""
    problems = [small_problem(seed)[1:] for seed in seeds]
    return [(X, y, b) for X, y, b in problems if X.dtype.kind == "i" and np.abs(X).max() <= 100]


def float_rows(X: np.ndarray, y: np.ndarray, fit_intercept: bool) -> np.ndarray:
    A = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    return y[:, None] * A.astype(float)


@pytest.mark.parametrize(
    ("x", "y", "fit_intercept", "kind"),
    [
        ([-1, 0, 0, 1], [0, 0, 1, 1], True, "quasi-complete"),
        ([-1, 0, 0, 1], [0, 0, 1, 1], False, "quasi-complete"),
        ([-1, 0, 1, 2], [0, 0, 1, 1], True, "complete"),
        ([1, 2, 3, 4], [0, 0, 1, 1], False, "overlap"),
        ([1, 2, 3, 4], [0, 0, 1, 1], True, "complete"),
        ([1, 2, 3], [0, 1, 0], True, "overlap"),
        ([5, 5], [0, 1], True, "overlap"),
        ([0, 0], [0, 1], False, "overlap"),
        ([0, 3], [0, 1], False, "quasi-complete"),
        ([-1, 1], [7, 9], False, "complete"),
        ([1, -1], [7, 9], False, "complete"),
        ([0.0, 0.3, 0.3, 1.0], [0, 0, 1, 1], True, "quasi-complete"),
        ([0.0, 0.3, SUM, 1.0], [0, 0, 1, 1], True, "complete"),
        ([0.0, SUM, 0.3, 1.0], [0, 0, 1, 1], True, "overlap"),
        ([-1e-300, 1e300], [0, 1], False, "complete"),
        ([1e300, 5e-324, 0.0, -1e300], [1, 1, 0, 0], True, "complete"),
    ],
)
def test_points_on_a_line_have_the_kind_seen_at_a_glance(x, y, fit_intercept, kind):
    X = np.array(x)[:, None]
    assert oracle.kind(X, y, fit_intercept) == kind
    assert oracle.separable(X, y, fit_intercept) == (kind == "complete")


def test_exclusive_or_overlaps_until_its_product_is_added():
    X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    y = [1, 0, 0, 1]
    assert oracle.kind(X, y, fit_intercept=True) == "overlap"
    assert oracle.kind(np.column_stack([X, X.prod(axis=1)]), y) == "complete"


def test_the_face_of_touching_classes_is_where_they_touch():
    kind, separated, theta, lam = oracle.face([[1, -1], [0, -1], [0, 1], [1, 1]])
    assert kind == "quasi-complete" and separated == [True, False, False, True]
    assert theta[0] > 0 and theta[1] == 0 and lam[1] == lam[2] > 0


def test_face_takes_fractions_floats_whole_numbers_and_numpy_scalars_alike():
    Z = np.array([[1, -2], [0, 3], [-1, 0]])
    answer = oracle.face(Z.tolist())
    assert oracle.face(Z) == oracle.face(Z.astype(float)) == oracle.face([[Fraction(v) for v in z] for z in Z.tolist()])
    assert oracle.face(Z) == answer


def test_no_columns_left_is_overlap():
    assert oracle.face([[], []])[0] == "overlap"


def test_one_label_is_refused():
    with pytest.raises(ValueError, match="two values"):
        oracle.kind([[1.0], [2.0]], [1, 1])


def test_a_factor_level_with_one_outcome_sends_its_coefficient_to_infinity():
    level = np.repeat([0, 1, 2], 4)
    y = np.array([0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1])  # level 2 is always 1
    X = (level[:, None] == [1, 2]).astype(int)
    assert oracle.kind(X, y, fit_intercept=True) == "quasi-complete"
    assert oracle.directions(X, y, fit_intercept=True) == ["0", "+", "0"]
    assert oracle.highs_directions(X, y, fit_intercept=True) == [0.0, inf, 0.0]
    assert oracle.directions(X, 1 - y, fit_intercept=True) == ["0", "-", "0"]
    X = (level[:, None] == [0, 1]).astype(int)  # level 2 is now the reference
    assert oracle.directions(X, y, fit_intercept=True) == ["-", "-", "+"]
    assert oracle.highs_directions(X, y, fit_intercept=True) == [-inf, -inf, inf]


def test_the_last_of_a_full_set_of_dummies_is_aliased_beside_an_intercept():
    level = np.repeat([0, 1, 2], 4)
    y = np.array([0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1])
    X = (level[:, None] == [0, 1, 2]).astype(int)
    assert oracle.directions(X, y, fit_intercept=True) == ["-", "-", "aliased", "+"]
    assert isnan(oracle.highs_directions(X, y, fit_intercept=True)[2])
    assert oracle.directions(X, y, fit_intercept=False) == ["0", "0", "+"]


def test_zero_repeated_proportional_and_constant_columns_are_aliased_after_the_first():
    x = np.array([1.0, 2.0, -1.0, 3.0])
    X = np.column_stack([0 * x, x, x, -0.5 * x, 0 * x + 7, x**2, 3 * x - 7])
    t, f = True, False
    assert oracle.aliased(X, fit_intercept=False) == [t, f, t, t, f, f, t]
    assert oracle.aliased(X, fit_intercept=True) == [t, f, t, t, t, f, t, f]


def test_one_ulp_makes_a_column_independent():
    x = np.array([0.1, 0.2, 0.3])
    assert oracle.aliased(np.column_stack([x, 2 * x])) == [False, True]
    assert oracle.aliased(np.column_stack([x, [0.2, 0.4, np.nextafter(0.6, 1)]])) == [False, False]


def test_a_coefficient_free_to_take_both_signs_is_either():
    assert oracle.directions([[1, 1], [-1, 1]], [1, 0]) == ["+", "either"]  # θ_0 ≥ |θ_1|


@pytest.mark.parametrize("seed", range(0, 100, 7))
def test_a_proof_with_one_number_changed_is_refused(seed):
    _, X, y, fit_intercept = small_problem(seed)
    Z = oracle.oriented(X, y, fit_intercept)
    _, separated, theta, lam = oracle.face(Z)
    oracle.prove_face(Z, separated, theta, lam)
    for i in range(len(Z)):
        other = [s != (k == i) for k, s in enumerate(separated)]
        with pytest.raises(AssertionError):
            oracle.prove_face(Z, other, theta, lam)
        if any(Z[i]):
            with pytest.raises(AssertionError):
                oracle.prove_face(Z, separated, theta, [v + (k == i) for k, v in enumerate(lam)])


def test_proofs_of_signs_refuse_the_other_sign():
    Z = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(-1)]]
    one = Fraction(1)
    oracle.prove_sign(Z, 0, 1, [one, 0 * one])
    oracle.prove_never_sign(Z, 0, -1, [one, one])
    for claim in (
        lambda: oracle.prove_sign(Z, 0, -1, [-one, 0 * one]),  # outside the cone
        lambda: oracle.prove_sign(Z, 0, -1, [one, 0 * one]),
        lambda: oracle.prove_never_sign(Z, 0, 1, [one, one]),
        lambda: oracle.prove_never_sign(Z, 0, -1, [one, 0 * one]),  # Zᵀλ is not along e_0
        lambda: oracle.prove_never_sign(Z, 1, 1, [-one, one]),  # λ < 0
    ):
        with pytest.raises(AssertionError):
            claim()


def test_a_wrong_simplex_is_caught(monkeypatch):
    monkeypatch.setattr(oracle, "_optimum", lambda Z, costed: ([1] * len(Z[0]), [0] * len(Z)))
    with pytest.raises(AssertionError):
        oracle.face([[1, 0], [-1, 0]])


def test_face_agrees_with_highs_on_well_scaled_problems():
    problems = well_scaled(SEEDS)
    assert len(problems) > 80
    for X, y, fit_intercept in problems:
        Z = float_rows(X, y, fit_intercept)
        n, d = Z.shape
        cost = np.concatenate([np.zeros(d), -np.ones(n)])  # max Σ t_i, Zθ ≥ t, 0 ≤ t ≤ 1
        bounds = [(None, None)] * d + [(0, 1)] * n
        result = linprog(cost, A_ub=np.hstack([-Z, np.eye(n)]), b_ub=np.zeros(n), bounds=bounds, method="highs")
        assert oracle.face(Z)[1] == (result.x[d:] > 0.5).tolist()


def test_directions_agree_with_the_range_of_each_coefficient_in_highs():
    words = {(0, 0): "0", (0, 1): "+", (-1, 0): "-", (-1, 1): "either"}
    for X, y, fit_intercept in well_scaled(range(6 * len(FAMILIES))):
        answer = oracle.directions(X, y, fit_intercept)
        kept = [j for j, word in enumerate(answer) if word != "aliased"]
        Z = float_rows(X, y, fit_intercept)[:, kept]
        for k, j in enumerate(kept):
            ends = []
            for sign in (1, -1):
                cost = sign * (np.arange(len(kept)) == k)
                result = linprog(cost, A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=(-1, 1), method="highs")
                ends.append(int(np.sign(np.round(result.x[k], 6))))
            assert answer[j] == words[tuple(ends)]


def test_detectseparations_rule_finds_only_signs_that_occur_and_finds_one_unless_classes_overlap():
    allowed = {"0": {0.0}, "+": {0.0, inf}, "-": {0.0, -inf}, "either": {0.0, inf, -inf}}
    for X, y, fit_intercept in well_scaled(SEEDS):
        answer = oracle.highs_directions(X, y, fit_intercept)
        for word, limit in zip(oracle.directions(X, y, fit_intercept), answer, strict=True):
            assert isnan(limit) if word == "aliased" else limit in allowed[word]
        assert any(abs(limit) == inf for limit in answer) == (oracle.kind(X, y, fit_intercept) != "overlap")


def test_directions_fit_the_kind():
    for seed in range(3 * len(FAMILIES)):
        _, X, y, fit_intercept = small_problem(seed)
        words = {word for word in oracle.directions(X, y, fit_intercept) if word != "aliased"}
        kind = oracle.kind(X, y, fit_intercept)
        assert (words <= {"0"}) == (kind == "overlap")
        assert "0" not in words or kind != "complete"  # an open cone lies in no hyperplane


def test_powers_of_two_change_nothing_and_a_turned_column_turns_its_sign():
    rng = np.random.default_rng(0)
    turned = {"+": "-", "-": "+"}
    for seed in range(2 * len(FAMILIES)):
        family, X, y, fit_intercept = small_problem(seed)
        if "scaled" in family:
            continue
        scale = 2.0 ** rng.integers(-300, 300, X.shape[1])
        words = oracle.directions(X, y, fit_intercept)
        assert oracle.directions(X * scale, y, fit_intercept) == words
        X = X * np.where(np.arange(X.shape[1]) == 0, -1, 1)
        assert oracle.directions(X, y, fit_intercept) == [turned.get(words[0], words[0]), *words[1:]]


def test_repeated_rows_and_positive_multiples_change_no_answer_and_are_told_for_every_row():
    rng = np.random.default_rng(1)
    for seed in range(2 * len(FAMILIES)):
        _, X, y, fit_intercept = small_problem(seed)
        answer = oracle.judge(X, y, fit_intercept)
        again = rng.integers(len(y), size=3 * len(y))
        more = oracle.judge(np.vstack([X, X[again]]), np.append(y, y[again]), fit_intercept)
        assert (more.kind, more.directions) == (answer.kind, answer.directions)
        assert more.separated == [*answer.separated, *(answer.separated[i] for i in again)]
        Z = oracle.oriented(X, y, fit_intercept)
        kind, separated, _, _ = oracle.face([*Z, *([7 * v for v in z] for z in Z)])
        assert (kind, separated) == (answer.kind, 2 * answer.separated)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, ">f8", ">i2"])
def test_numbers_of_every_type_and_sparse_rows_are_judged_as_they_are_stored(dtype):
    rng = np.random.default_rng(2)
    X = (rng.standard_normal((12, 3)) if np.dtype(dtype).kind == "f" else rng.integers(0, 3, (12, 3))).astype(dtype)
    y = rng.permuted(np.resize([0, 1], 12))
    answer = oracle.judge(X.astype(float), y, True)
    assert oracle.judge(X, y, True) == answer
    if dtype not in (np.float16, ">f8", ">i2"):
        assert oracle.judge(sparse.csr_array(X), y, True) == answer


def test_the_zoo_has_every_kind_in_good_numbers():
    kinds, by_family = Counter(), {family: set() for family in FAMILIES}
    for seed in SEEDS:
        family, X, y, fit_intercept = small_problem(seed)
        kind = oracle.kind(X, y, fit_intercept)
        kinds[kind] += 1
        by_family[family].add(kind)
    assert min(kinds.values()) >= len(SEEDS) / 5 and len(kinds) == 3
    assert by_family["planted margin"] == by_family["low rank separable"] == by_family["wide"] == {"complete"}
    assert by_family["quasi-complete"] == by_family["zero row"] == {"quasi-complete"}
    assert sum(len(found) == 3 for found in by_family.values()) >= 8


def test_the_zoo_keeps_its_promises_of_size_and_labels():
    with_intercept = 0
    for seed in range(40 * len(FAMILIES)):
        family, X, y, fit_intercept = small_problem(seed)
        n, d = X.shape
        assert family == FAMILIES[seed % len(FAMILIES)]
        assert y.shape == (n,) and set(y.tolist()) == {-1, 1}
        assert 2 <= n <= 40 and 1 <= d <= (20 if n <= 12 else 8)
        assert X.dtype in (np.float64, np.int64) and np.all(np.isfinite(X))
        assert np.all((X == 0) | (np.abs(X) > 1e-300))
        with_intercept += fit_intercept
    assert 0.4 < with_intercept / seed < 0.6


def test_nasty_problems_keep_their_promises_of_size_labels_and_kinds():
    kinds, forms, large = Counter(), Counter(), 0
    for seed in range(6 * len(nasty.FAMILIES)):
        family, X, y, fit_intercept = nasty.nasty_problem(seed)
        assert family == nasty.FAMILIES[seed % len(nasty.FAMILIES)]
        A = np.array(X.toarray() if sparse.issparse(X) else X, dtype=float)
        n, d = A.shape
        distinct = len(np.unique(np.column_stack([A, y]), axis=0))
        assert y.shape == (n,) and set(y.tolist()) == {-1, 1} and np.all(np.isfinite(A))
        assert 2 <= n <= nasty.MOST and d <= (20 if n > 15 else 45)
        assert distinct <= (400 if family == "repeated levels" else 60)
        if "repeated" in family:
            large += n * d * min(n, d) > nasty.TINY
        if family not in zoo.BUILDERS:
            forms[X.format if sparse.issparse(X) else X.dtype.str] += 1
            kinds[family, oracle.kind(X, y, fit_intercept)] += 1
    assert large > 15
    assert {"csr", "csc", "<i8"} < set(forms) and len(forms) > 6
    assert min(Counter(kind for _, kind in kinds.elements()).values()) > 25 and len(kinds) > 50


def test_a_seed_gives_one_nasty_problem():
    for seed in range(2 * len(nasty.FAMILIES)):
        family, X, y, fit_intercept = nasty.nasty_problem(seed)
        again = nasty.nasty_problem(seed)
        assert (family, fit_intercept) == (again[0], again[3]) and np.array_equal(y, again[2])
        assert oracle._listed(X) == oracle._listed(again[1])


def test_a_seed_gives_one_problem():
    for seed in range(2 * len(FAMILIES)):
        family, X, y, fit_intercept = small_problem(seed)
        again = small_problem(seed)
        assert (family, fit_intercept) == (again[0], again[3])
        assert np.array_equal(X, again[1]) and np.array_equal(y, again[2]) and X.dtype == again[1].dtype
        other = small_problem(seed + 2 * len(FAMILIES))
        assert X.shape != other[1].shape or not np.array_equal(X, other[1]) or not np.array_equal(y, other[2])
