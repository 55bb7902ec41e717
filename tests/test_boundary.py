"""What is said within rounding is so, and only there; everyday tables are answered, each with its certainty."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import everyday
import oracle
import separatrix as sx
from conftest import planted
from separatrix.cli import app
from separatrix.data.memory import hold
from separatrix.deciding.budget import Budget
from separatrix.deciding.exact import Effort, OutOfTimeError, face
from separatrix.deciding.search import Case, settle

EPSILON = Fraction(1, 10**12)


def evidence_holds(X, y, evidence, intercept):
    """The two residuals once more, in rational numbers."""
    Z = oracle.oriented(X, y, intercept)
    lam = [Fraction(float(w)) for w in evidence.weights]
    theta = [Fraction(float(t)) for t in evidence.theta]
    assert all(w > 0 for w in lam) and len(lam) == len(evidence.rows)
    for j in range(len(Z[0])):
        terms = [w * Z[i][j] for w, i in zip(lam, evidence.rows, strict=True)]
        assert abs(sum(terms)) <= EPSILON * sum(map(abs, terms)), j
    off = set(evidence.separated.tolist())
    for i, z in enumerate(Z):
        terms = [a * t for a, t in zip(z, theta, strict=True)]
        size = EPSILON * sum(map(abs, terms))
        assert sum(terms) > size if i in off else abs(sum(terms)) <= size, i


def test_z_scores_of_quasi_complete_numbers_are_so_within_rounding_and_say_which_columns():
    X, y = everyday.z_scores(0)
    found = sx.diagnose(X, y)
    assert (found.kind, found.certainty, found.proof) == ("quasi-complete", "within rounding", None)
    assert {name for name, sign in found.columns.items() if sign != "0"} == {"x0", "x1", "(intercept)"}
    assert found.columns["x0"] == found.columns["x1"] == "+" and found.mle_exists is False
    assert len(found.rows) == len(found.evidence.separated) and found.fragile
    assert "to the precision of these numbers the data are quasi-complete" in str(found)
    assert found.to_dict()["certainty"] == "within rounding"


def test_a_verdict_within_rounding_has_its_residuals_and_no_proof():
    X, y = everyday.low_rank(0)
    verdict = sx.separate(X, y)
    assert (verdict.status, verdict.certainty, verdict.tool) == ("inseparable", "within rounding", "pair")
    assert not verdict.verify(X, y) and "within rounding" in str(verdict)
    assert max(verdict.evidence.weights_residual, verdict.evidence.theta_residual) <= 1e-12 < verdict.evidence.clear


@pytest.mark.parametrize(
    ("X", "y"),
    [
        everyday.z_scores(1, 400, 12),
        everyday.percentages(1, 400, 12),
        everyday.low_rank(1, 300, 30, 10),
        everyday.sums(1, 400),
        everyday.trigonometric(1, 400, 4),
        everyday.sums_and_a_level(1),
    ],
    ids=["z-scores", "percentages", "low-rank", "sums", "trigonometric", "sums and a level"],
)
def test_evidence_holds_in_rational_numbers(X, y):
    found = sx.separate(X, y, fit_intercept=True)
    assert found.certainty == "within rounding"
    evidence_holds(X, y, found.evidence, True)
    again = sx.diagnose(X, y)
    assert again.certainty == "within rounding" and again.kind == found.evidence.claim
    evidence_holds(X, y, again.evidence, True)


def test_rows_that_cannot_be_separated_whatever_their_last_digits_are_proven_beside_others_tied_to_rounding():
    X, y = everyday.two_blocks(0)
    found = sx.separate(X, y)
    assert (found.status, found.certainty) == ("inseparable", "proven") and found.verify(X, y)
    assert max(found.proof.rows) < 300
    tied = sx.separate(X[300:], y[300:])
    assert (tied.status, tied.certainty) == ("inseparable", "within rounding")


def test_columns_that_only_rounding_tells_from_a_combination_are_named_with_it():
    X, y = everyday.percentages(0)
    found = sx.diagnose(X, y)
    assert found.kind == "overlap" and found.certainty == "within rounding"
    assert list(found.aliased) == ["x9"] and found.columns["x9"] == "aliased"
    assert found.aliased["x9"].startswith("(intercept) - x0 - x1") and found.aliased["x9"].endswith("to rounding")


@pytest.mark.parametrize(
    ("build", "arguments", "status"),
    [
        (everyday.narrow, (2_000, 20, 1e-9), "separable"),
        (everyday.narrow, (600, 60, 1e-12), "separable"),
        (everyday.narrow, (2_000, 20, 1e-9, 1.0), "separable"),
        (everyday.singular, (60, 60), "separable"),
        (everyday.percentages_with_a_threshold, (), "separable"),
        (everyday.polynomial, (), "separable"),
        (everyday.time_stamps, (), "separable"),
        (everyday.dummies, (800, 12), "inseparable"),
        (everyday.one_hot_with_interactions, (), "inseparable"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_tables_that_are_decided_by_more_than_last_digits_are_proven(build, arguments, status, seed):
    X, y = build(seed, *arguments)
    found = sx.separate(X, y, fit_intercept=build is not everyday.narrow)
    assert (found.status, found.certainty) == (status, "proven") and found.verify(X, y)


def test_a_level_of_an_interaction_with_one_outcome_is_found_among_aliased_columns():
    X, y = everyday.one_hot_with_interactions(0)
    found = sx.diagnose(X, y)
    assert found.kind == "quasi-complete" and found.certainty == "proven" and not found.fragile
    assert len(found.rows) == int((X[:, -1] == 1).sum()) and sx.verify(found.proof, X, y)


def test_weights_that_grow_without_bounds_are_one_exact_system():
    X, y = everyday.ladder()
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.tool == "kernel" and found.verify(X, y)


@pytest.mark.parametrize("build", [everyday.levels_as_z_scores, everyday.means_of_means, everyday.lags])
@pytest.mark.parametrize("seed", [0, 1])
def test_signs_among_columns_dependent_to_rounding_are_told_or_left_and_not_sought_for_ever(build, seed):
    X, y = build(seed)
    found = sx.diagnose(X, y)
    assert found.certainty == "proven" and found.verify(X, y)
    assert not set(found.columns.values()) & {"?"} or build is everyday.levels_as_z_scores
    assert sx.separate(X, y).status != "undecided"


def test_rows_of_short_numbers_are_decided_exactly_where_floats_tell_nothing():
    X, y = everyday.ladder_with_one_more(0)
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.tool == "exact" and found.verify(X, y)
    none = Budget(short=0, last=0)
    assert settle(Case(hold(X, y), none))[0] is None  # nobody else can


def test_rational_arithmetic_ends_where_its_effort_is_spent():
    Z = np.random.default_rng(0).integers(-9, 10, (40, 6)).tolist()
    effort = Effort(10**9)
    assert face(Z, None, effort) == face(Z)
    with pytest.raises(OutOfTimeError):
        face(Z, None, Effort(10**9 - effort.left - 1))
    assert Budget().for_signs() is not None
    assert Budget.within(9.0).for_signs() is None and Budget(insist=True).for_signs() is None


@pytest.mark.parametrize("seed", [0, 2])
def test_rows_that_others_span_are_shown_to_lie_on_the_face(seed):
    X, y = everyday.splines(seed)
    found = sx.diagnose(X, y)
    assert found.kind == "quasi-complete" and found.certainty == "proven" and found.verify(X, y)
    more = replace(found, rows=found.rows[1:])
    assert not more.verify(X, y)


EVERYDAY = [
    (everyday.z_scores, ()),
    (everyday.z_scores, (3000, 60)),
    (everyday.percentages, (5000, 30)),
    (everyday.percentages_with_a_threshold, (5000, 30)),
    (everyday.low_rank, (800, 300)),
    (everyday.singular, (700, 300)),
    (everyday.narrow, ()),
    (everyday.narrow, (2000, 500, 1e-12)),
    (everyday.dummies, ()),
    (everyday.one_hot_with_interactions, ()),
    (everyday.sums, ()),
    (everyday.sums_and_a_level, ()),
    (everyday.polynomial, ()),
    (everyday.trigonometric, ()),
    (everyday.time_stamps, ()),
    (everyday.hilbert, ()),
    (everyday.complete, ()),
    (everyday.complete, (50_000, 30)),
]


@pytest.mark.long
@pytest.mark.parametrize(("build", "arguments"), EVERYDAY)
@pytest.mark.parametrize("seed", range(5))
def test_no_everyday_table_is_left_undecided(build, arguments, seed):
    X, y = build(seed, *arguments)
    found = sx.separate(X, y, fit_intercept=True)
    assert found.status != "undecided"
    assert found.verify(X, y) == (found.certainty == "proven")
    found = sx.diagnose(X, y)
    assert found.kind != "undecided" and "?" not in found.columns.values()


def robust(seed):
    """Rows that are separable or overlap whatever one part in 1e12 does, and which."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 400)), int(rng.integers(2, 13))
    if seed % 2:
        X, y = planted(n, d, 10.0 ** -rng.integers(1, 7), seed)
        return X, y, "separable"
    X = rng.normal(size=(n + 20 * d, d)) * 10.0 ** rng.integers(-3, 4, d)
    return X, rng.integers(0, 2, len(X)), "inseparable"


@pytest.mark.parametrize("block", [*range(2), *(pytest.param(k, marks=pytest.mark.long) for k in range(2, 50))])
def test_what_is_robust_is_proven_and_never_said_within_rounding(block):
    for seed in range(20 * block, 20 * block + 20):
        X, y, status = robust(seed)
        found = sx.separate(X, y)
        assert (found.status, found.certainty, found.fragile) == (status, "proven", False), seed
        again = sx.diagnose(X, y, fit_intercept=False)
        assert again.kind == ("complete" if status == "separable" else "overlap"), seed
        assert again.certainty == "proven" and "?" not in again.columns.values() and not again.notes, seed


def test_exact_insists_on_the_bits_where_rounding_decides():
    X, y = everyday.percentages(0, 260, 11)
    rounding, bits = sx.separate(X, y, fit_intercept=True), sx.separate(X, y, fit_intercept=True, exact=True)
    assert rounding.certainty == "within rounding" and bits.certainty == "proven" and bits.verify(X, y)
    assert bits.status == "inseparable" and bits.proof.claim == "overlap"  # the rounding has either sign, in many rows


def test_a_small_table_of_z_scores_is_proven_as_stored_and_told_what_it_is_to_its_precision():
    X, y = everyday.z_scores(0, 200, 5)
    found = sx.diagnose(X, y)
    assert found.certainty == "proven" and found.kind == oracle.kind(X, y, True) and found.fragile
    if found.kind != "quasi-complete":
        assert found.evidence.claim == "quasi-complete"
        assert "to the precision of these numbers the data are quasi-complete" in str(found)


def test_a_column_of_zeros_and_ones_that_separates_is_sturdy_beside_rounded_ages():
    for n in (40, 400):
        rng = np.random.default_rng(n)
        age, icu = np.round(rng.normal(50, 10, n), 1), rng.random(n) < 0.3
        died = icu | (rng.random(n) < 0.5)
        found = sx.diagnose({"age": age, "icu": icu.astype(int), "died": died}, "died")
        assert found.kind == "quasi-complete" and found.infinite == ("icu",) and not found.fragile


def test_directions_are_those_of_the_distinct_rows_however_often_each_is_repeated():
    rows = np.array([[3, 7, 5, 4], [3, 7, 5, 4], [1, -3, -2, -5], [2, 11, 7, 9], [-3, -3, -2, 2]], float)
    y = np.array([0, 1, 1, 1, 1])
    times = np.array([1, 1, 7666, 7666, 7666])
    once = sx.diagnose(rows, y, fit_intercept=False)
    often = sx.diagnose(np.repeat(rows, times, 0), np.repeat(y, times), fit_intercept=False)
    assert once.columns == often.columns == {"x0": "+", "x1": "+", "x2": "-", "x3": "+"}
    assert len(often.rows) == 7666 * len(once.rows)


@pytest.mark.parametrize("times", [300, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("intercept", [False, True])
def test_repeated_rows_have_the_answers_and_the_proofs_of_one_each(times, intercept):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows, y = rng.integers(-3, 4, (100, 3 + seed)).astype(float), rng.integers(0, 2, 100)
        if seed % 2:
            y = np.where(rows[:, 0] > 0, 1, np.where(rows[:, 0] < 0, 0, y))
        order = rng.permutation(100 * times)
        X, labels = np.repeat(rows, times, 0)[order], np.repeat(y, times)[order]
        once, often = sx.diagnose(rows, y, fit_intercept=intercept), sx.diagnose(X, labels, fit_intercept=intercept)
        assert (once.kind, once.columns) == (often.kind, often.columns)
        assert len(often.rows) == times * len(once.rows) and often.certainty == "proven"
        assert sx.verify(often.proof, X, labels)
        found = sx.separate(X, labels, fit_intercept=intercept)
        assert found.status == ("separable" if once.kind == "complete" else "inseparable") and found.verify(X, labels)


def test_rows_and_columns_of_extreme_sizes_are_diagnosed():
    found = sx.diagnose([[1e-200, 1e200], [2e-200, 2e200], [3e-200, 3e200]], [0, 1, 0], fit_intercept=False)
    assert found.kind == "overlap" and list(found.aliased) == ["x1"]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(34, 12)) * 1e160, rng.integers(0, 2, 34)
    X[2:18] *= 1e-160
    X[:2] = 0
    X[:2, 0] = 1e-160
    y[:2] = 0, 1
    assert sx.diagnose(X, y).kind == oracle.kind(X, y, True)
    X = np.repeat([[1e-160], [1e-160], [1e160]], [1, 1, 21_000], axis=0)
    found = sx.diagnose(X, np.repeat([0, 1, 1], [1, 1, 21_000]))
    assert found.kind == "quasi-complete" and found.columns == {"x0": "+", "(intercept)": "-"}


def test_a_contradiction_among_many_columns_is_proven():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (60, 13_000)).astype(float), rng.integers(0, 2, 60)
    X[1], y[:2] = X[0] * 2, (0, 1)
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.verify(X, y)


def test_rows_in_files_have_the_same_certainty(tmp_path):
    X, y = everyday.low_rank(0, 3000, 30, 10)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    found = sx.separate(tmp_path / "X.npy", tmp_path / "y.npy", memory_limit="16GB")
    assert (found.status, found.certainty, found.tool) == ("inseparable", "within rounding", "shards")
    evidence_holds(X, y, found.evidence, False)


def test_the_command_line_says_how_sure_it_is_and_insists_where_asked(tmp_path):
    X, y = everyday.percentages(0, 260, 11)
    table = np.column_stack([X, y])
    data, proof = tmp_path / "data.csv", tmp_path / "y.proof"
    np.savetxt(data, table, delimiter=",", header="a,b,c,d,e,f,g,h,i,j,k,y", comments="", fmt="%.17g")
    run = CliRunner().invoke
    found = run(app, ["separate", str(data), "--target", "y", "--intercept", "--json", "--proof", str(proof)])
    answer = json.loads(found.stdout)
    assert found.exit_code == 1 and answer["certainty"] == "within rounding" and not proof.exists()
    assert answer["evidence"]["weights_residual"] <= 1e-12 >= answer["evidence"]["theta_residual"]
    assert "--exact insists on the bits" in found.stderr
    options = ["--target", "y", "--exact", "--json", "--proof", str(proof)]
    found = run(app, ["diagnose", str(data), *options])
    assert json.loads(found.stdout)["certainty"] == "proven" and proof.exists()
    assert run(app, ["verify", str(proof), str(data), "--target", "y"]).exit_code == 0
