"""A diagnosis names the kind, the columns and the rows, and says what to do; the exact oracle agrees."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

import everyday
import oracle
import separatrix as sx
from separatrix.certify import modular
from separatrix.certify.reader import Reader
from separatrix.data.memory import hold, hold_signed
from separatrix.deciding import relations
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.exact import face
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.relations import spanning_columns
from separatrix.deciding.search import Case
from separatrix.diagnosing import directions
from separatrix.diagnosing.diagnose import diagnosis_of, of_rows
from separatrix.diagnosing.directions import Cone

IRIS = load_iris()


def wards(seed: int = 0, n: int = 200) -> pl.DataFrame:
    """Patients whose outcome is chance, but for one ward where it never varies."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["north", "south", "icu", "west"], n, p=[0.4, 0.3, 0.1, 0.2])
    outcome = np.where(ward == "icu", "dead", rng.choice(["alive", "dead"], n))
    age = np.round(rng.normal(60, 10, n), 1)
    return pl.DataFrame({"ward": ward, "age": age, "smoker": rng.random(n) < 0.5, "outcome": outcome})


# The classics.


def test_touching_classes_are_quasi_complete():
    found = sx.diagnose([[-1.0], [0.0], [0.0], [1.0]], [0, 0, 1, 1])
    assert found.kind == "quasi-complete"
    assert found.columns == {"x0": "+", "(intercept)": "0"}
    assert found.rows.tolist() == [0, 3]
    assert found.mle_exists is False
    assert "but for ties at 0" in str(found)


def test_iris_setosa_against_the_rest_is_complete():
    found = sx.diagnose(IRIS.data, IRIS.target == 0)
    assert found.kind == "complete"
    assert sx.verify(found.proof, IRIS.data, IRIS.target == 0)


def test_iris_versicolor_against_virginica_overlaps():
    rows = IRIS.target > 0
    found = sx.diagnose(IRIS.data[rows], IRIS.target[rows])
    assert found.kind == "overlap"
    assert found.mle_exists is True
    assert set(found.columns.values()) == {"0"}
    assert sx.verify(found.proof, IRIS.data[rows], IRIS.target[rows])


def test_a_level_whose_outcome_never_varies_is_named_and_nothing_else():
    frame = wards()
    found = sx.diagnose(frame, "outcome")
    assert found.kind == "quasi-complete"
    assert found.infinite == ("ward[icu] (vs north)",)
    assert found.columns["ward[icu] (vs north)"] == "+"
    assert sorted(found.rows) == np.flatnonzero(frame["ward"].to_numpy() == "icu").tolist()
    assert any(fact.startswith("ward = icu: all ") and fact.endswith("outcome = dead") for fact in found.facts)
    assert "merge ward = icu" in found.advice


def test_a_level_is_found_whatever_it_sorts_as():
    frame = wards().with_columns(pl.col("ward").replace({"icu": "a-first", "north": "zz"}))
    found = sx.diagnose(frame, "outcome")
    assert found.infinite == ("ward[a-first] (vs zz)",)


def test_a_full_set_of_dummies_is_aliased_not_separated():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 3, 90)
    X = np.column_stack([group == 0, group == 1, group == 2, rng.normal(size=90)]).astype(float)
    y = rng.integers(0, 2, 90)
    found = sx.diagnose(X, y)
    assert found.kind == "overlap"
    assert found.columns["x2"] == "aliased"
    assert found.aliased == {"x2": "(intercept) - x0 - x1"}
    assert "drop the aliased column" in found.advice
    assert sx.verify(found.proof, X, y)


def test_breast_cancer_is_completely_separated():
    X, y = load_breast_cancer(return_X_y=True)
    found = sx.diagnose(X, y)
    assert found.kind == "complete"
    assert not found.fragile
    assert sx.verify(found.proof, X, y)
    assert "to classify, nothing is wrong" in found.advice


def test_a_sum_that_misses_its_decimal_is_fragile():
    found = sx.diagnose([[0.1 + 0.2], [0.3]], [1, 0])
    assert found.kind == "complete"
    assert found.fragile
    assert "rounding" in found.advice
    assert not sx.diagnose([[3.0], [2.0]], [1, 0]).fragile
    assert not sx.diagnose([[0.25], [0.5]], [1, 0]).fragile


# Directions over the recession cone.


def test_directions_by_the_float_tools_are_the_oracles():
    rng = np.random.default_rng(5)
    for seed in range(12):
        X = np.round(rng.normal(size=(60, 5)), 2)
        y = (X[:, 0] + 0.5 * X[:, 1] > 0.1).astype(int) if seed % 2 else (X[:, 0] > 0).astype(int)
        rows = hold(X, y, fit_intercept=True)
        found = diagnosis_of(of_rows(rows), None, Budget(tiny=0), rows)
        assert list(found.columns.values()) == oracle.directions(X, y, True), seed


def off_a_face(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of chance but for two levels: one always has one outcome, in the other two columns of its own decide."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 4, 90)
    x, w, v = np.round(rng.normal(size=(3, 90)), 1)
    X = np.column_stack([level == 1, level == 2, level == 3, x, x + (level == 3) * w, (level == 3) * v])
    decided = w + 0.5 * v > 0.2
    return X, np.select([level == 2, level == 3], [seed % 2, decided], rng.integers(0, 2, 90)).astype(int)


@pytest.mark.parametrize("seed", range(4))
def test_directions_in_the_unknowns_that_a_face_leaves_are_the_oracles(seed, monkeypatch):
    X, y = off_a_face(seed)
    widths, pair_of = [], directions.pair_of
    monkeypatch.setattr(directions, "LARGE", 0)
    monkeypatch.setattr(directions, "pair_of", lambda case: widths.append(case.reader.D) or pair_of(case))
    rows, budget = hold(X, y, fit_intercept=True), Budget(tiny=0)
    proof = prove_kind(Case(rows, budget))
    assert proof.claim == "quasi-complete"
    signs, proven = directions.directions(Case(rows, budget), proof)
    assert widths == [4]
    assert signs == oracle.directions(X, y, True)
    assert all(proven)


def test_one_unknown_is_told_by_the_proof_alone(monkeypatch):
    monkeypatch.setattr(directions, "pair_of", lambda case: pytest.fail("a pair for one unknown"))
    table = wards(n=3000)
    found = sx.diagnose(table, "outcome")
    assert found.kind == "quasi-complete"
    assert [sign for name, sign in found.columns.items() if "icu" in name] == ["+"]
    assert len(found.infinite) == 1
    assert found.verify(table, "outcome")
    turned = sx.diagnose(table.with_columns(pl.col("outcome").replace({"alive": "x"})), "outcome")
    assert [sign for name, sign in turned.columns.items() if "icu" in name] == ["-"]


def test_relations_that_were_not_found_leave_directions_open_not_finite(monkeypatch):
    monkeypatch.setattr(directions, "independent_columns", lambda reader, *_, **__: (np.arange(reader.D), {}))
    found = sx.diagnose(wards(), "outcome")
    assert found.kind == "quasi-complete"
    assert set(found.columns.values()) == {"?"}


@pytest.mark.parametrize("digits", range(17))
def test_a_gram_matrix_keeps_the_columns_that_qr_keeps(digits, monkeypatch):
    rng = np.random.default_rng(digits)
    A = rng.normal(size=(400, 7))
    A[:, 4] = A[:, :4].sum(axis=1) + 10.0**-digits * A[:, 4]
    quick = relations._rank(A, UNLIMITED, ordered=True)
    monkeypatch.setattr(relations, "PLAIN", np.inf)
    for some, all_ in zip(quick, relations._rank(A, UNLIMITED, ordered=True), strict=True):
        assert np.array_equal(some, all_)


def factor(levels: str, outcomes: str, **numbers: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Dummies of the later levels beside numbers, and outcomes 0/1."""
    names = sorted(set(levels))
    dummies = [[float(level == name) for level in levels] for name in names[1:]]
    return np.array([*dummies, *numbers.values()]).T, np.array([int(o) for o in outcomes])


BUILT = {
    "one level always 1": factor("aaaabbbbccc", "01010101111", x=[1, 2, 3, 4, 4, 3, 2, 1, 5, 2, 3]),
    "one level always 0": factor("aaaabbbbccc", "01010101000", x=[1, 2, 3, 4, 4, 3, 2, 1, 5, 2, 3]),
    "reference level always 1": factor("aaabbbbcccc", "11101010110", x=[5, 2, 3, 1, 2, 3, 4, 4, 3, 2, 1]),
    "a threshold with ties": (
        np.array([[1, 4], [2, 1], [3, 3], [3, 2], [4, 5], [5, 1.0]]),
        np.array([0, 0, 0, 1, 1, 1]),
    ),
    "a threshold without": (np.array([[1.0], [2], [3], [5], [6]]), np.array([0, 0, 0, 1, 1])),
    "overlap": (
        np.array([[1, 1], [2, 3], [3, 2], [4, 4], [2, 2], [3, 3], [1, 4], [4, 1.0]]),
        np.array([1, 0, 0, 1, 1, 0, 1, 0]),
    ),
    "two levels, opposite outcomes": factor("aaaabbbccc", "0101111000"),
}


@pytest.mark.parametrize("name", BUILT)
def test_detectseparations_rule_is_matched_where_it_is_determined(name):
    X, y = BUILT[name]
    found = list(sx.diagnose(X, y).columns.values())
    rule = oracle.highs_directions(X, y, True)
    assert found == oracle.directions(X, y, True)
    for ours, theirs in zip(found, rule, strict=True):
        if ours in ("0", "+", "-"):
            assert theirs == {"0": 0.0, "+": np.inf, "-": -np.inf}[ours]
    assert name != "overlap" or set(found) == {"0"}


# Frames.


@pytest.mark.parametrize("kind", ["polars", "pandas", "dict"])
def test_every_kind_of_frame_gets_the_same_diagnosis(kind):
    frame = wards()
    made = {
        "polars": frame,
        "pandas": pd.DataFrame(frame.to_dict(as_series=False)),
        "dict": frame.to_dict(as_series=False),
    }[kind]
    found = sx.diagnose(made, "outcome")
    assert found.columns == sx.diagnose(frame, "outcome").columns
    assert found.target == "outcome"
    assert found.counts == {
        "alive": int((frame["outcome"] == "alive").sum()),
        "dead": int((frame["outcome"] == "dead").sum()),
    }


def test_missing_values_are_counted_by_column_or_dropped():
    frame = pd.DataFrame(wards().to_dict(as_series=False))
    frame.loc[[3, 5], "age"] = np.nan
    frame.loc[7, "ward"] = None
    with pytest.raises(ValueError, match=r"age 2.*missing='drop'"):
        sx.diagnose(frame, "outcome")
    found = sx.diagnose(frame, "outcome", missing="drop")
    assert found.dropped == 3
    assert set(found.rows) <= set(range(200)) - {3, 5, 7}
    assert (frame["ward"][found.rows] == "icu").all()  # positions in the frame given


def test_rows_are_positions_not_labels_of_the_index():
    frame = pd.DataFrame(wards().to_dict(as_series=False)).set_index(np.arange(200) + 1000)
    assert sx.diagnose(frame, "outcome").rows.max() < 200


def test_a_proof_of_a_frame_verifies_against_its_design_matrix():
    from separatrix.data.frames import design

    frame = wards().with_columns((pl.col("age") * 2).alias("twice"))
    found = sx.diagnose(frame, "outcome")
    assert found.aliased == {"twice": "2·age"}
    made = design(frame, "outcome")
    assert sx.verify(found.proof, made.X, made.y)


def test_a_column_of_labels_and_names_with_for_in_them_are_read():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0], [0], [1], [1]])
    assert sx.diagnose(X, y).kind == "complete"
    found = sx.diagnose({"time for lunch": X[:, 0], "y": y[:, 0]}, "y")
    assert any(fact.startswith("time for lunch alone separates") for fact in found.facts)


# More than two classes.


def test_iris_with_three_classes_is_quasi_complete_with_a_table_of_pairs():
    names = IRIS.target_names[IRIS.target]
    found = sx.diagnose(IRIS.data, names)
    assert found.kind == "quasi-complete"
    assert {(p.first, p.second): str(p.kind) for p in found.pairs} == {
        ("setosa", "versicolor"): "complete",
        ("setosa", "virginica"): "complete",
        ("versicolor", "virginica"): "overlap",
    }
    assert not found.fragile
    assert len(found.columns) == 10


def test_the_multinomial_kind_is_the_oracles_on_the_stacked_system():
    rng = np.random.default_rng(3)
    for seed in range(12):
        n = int(rng.integers(6, 30))
        X = rng.integers(-3, 4, (n, 2)).astype(float)
        y = rng.permuted(np.resize([0, 1, 2], n)) if seed % 3 else np.digitize(X[:, 0], [-1, 1])
        if len(np.unique(y)) < 3:
            continue
        stack = []
        for a, own in zip(np.column_stack([X, np.ones(n)]), y, strict=True):
            for k in {0, 1, 2} - {int(own)}:
                line = np.zeros((3, 3))
                line[own] += a
                line[k] -= a
                stack.append(line[1:].ravel().tolist())
        assert sx.diagnose(X, y, model="multinomial").kind == oracle.face(stack)[0], seed


# What is shown.


def test_the_report_reads_and_the_dictionary_is_json():
    found = sx.diagnose(wards(), "outcome")
    text = str(found)
    assert text.startswith("quasi-complete: ")
    assert re.search(r"ward\[icu\] \(vs north\) +\+∞", text)
    assert text.rstrip().endswith("an infinite one is at least.")
    html = found._repr_html_()
    assert "<td>ward[icu] (vs north)</td><td>+∞</td>" in html
    data = json.loads(json.dumps(found.to_dict()))
    assert data["kind"] == "quasi-complete"
    assert data["infinite"] == ["ward[icu] (vs north)"]


def test_names_are_escaped_in_html():
    frame = {"<b>x</b>": [0.0, 1.0, 2.0, 3.0], "y": [0, 0, 1, 1]}
    assert "<b>x" not in sx.diagnose(frame, "y")._repr_html_()


def test_many_columns_are_not_all_listed():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 60))
    text = str(sx.diagnose(X, rng.integers(0, 2, 400)))
    assert "61 others" in text
    assert text.count("\n") < 20


def test_csr_and_float32_rows_get_the_diagnosis_of_dense_ones():
    X, y = BUILT["one level always 1"]
    want = sx.diagnose(X, y).columns
    assert sx.diagnose(sparse.csr_array(X), y).columns == want
    assert sx.diagnose(X.astype(np.float32), y).columns == want


# Wrong input.


@pytest.mark.parametrize(
    ("X", "y", "options", "words"),
    [
        (np.eye(3), "label", {}, "no data frame"),
        (np.eye(3), [1, 1, 1], {}, "one class only"),
        (np.eye(3), [0, np.nan, 1], {}, "y is missing at row 1"),
        (np.eye(3), [[0, 1, 1], [1, 0, 1], [1, 1, 0]], {}, "one dimension, got shape"),
        (np.eye(3), [0, 1], {}, "rows but y has"),
        (np.ones((60, 1)), np.arange(60), {}, "60 different numbers"),
        (np.ones((60, 1)), np.arange(60), {"model": "multinomial"}, "60 different values"),
        (np.eye(3), [0, 1, 1], {"time_limit": 0}, "time_limit"),
        (pd.DataFrame({"a": [1, 2], "b": [0, 1]}), "c", {}, "c"),
    ],
)
def test_wrong_input_gets_one_sentence(X, y, options, words):
    with pytest.raises(ValueError, match=words) as raised:
        sx.diagnose(X, y, **options)
    assert "\n" not in str(raised.value)


def test_a_time_limit_leaves_the_question_open_rather_than_guess():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 100))
    found = sx.diagnose(X, rng.integers(0, 2, 2000), time_limit=1e-9)
    assert found.kind == "undecided"
    assert found.mle_exists is None
    assert set(found.columns.values()) == {"?"}


# Many columns, many levels.


@pytest.mark.parametrize(("n", "d"), [(40, 62), (40, 10_000), (300, 400)])
def test_more_columns_than_rows_are_diagnosed_without_expressing_one_by_others(n, d, monkeypatch):
    # Ten thousand columns would take minutes.
    monkeypatch.setattr(relations, "_combinations", lambda *given: pytest.fail("columns are expressed by others"))
    X = np.random.default_rng(n + d).standard_normal((n, d))
    y = np.arange(n) % 2
    found = sx.diagnose(X, y)
    assert found.kind == "complete"
    assert sx.verify(found.proof, X, y)
    assert list(found.columns.values()).count("aliased") == d + 1 - n
    assert found.columns["(intercept)"] != "aliased"  # the first columns are kept


@pytest.mark.parametrize("seed", range(12))
def test_more_columns_than_rows_get_the_answers_of_the_exact_judge(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    X = rng.integers(-2, 3, (n, n + 25)).astype(float)
    if seed % 3 == 0:
        X[-1] = X[0]  # the rows no longer span
    y = np.arange(n) % 2
    found = sx.diagnose(X, y, fit_intercept=bool(seed % 2))
    assert found.kind == oracle.kind(X, y, bool(seed % 2))
    assert sx.verify(found.proof, X, y)
    signs = list(found.columns.values())
    kept = [j for j, sign in enumerate(signs) if sign != "aliased"]
    A = np.c_[X, np.ones(n)] if seed % 2 else X
    assert [signs[j] for j in kept] == oracle.directions(A[:, kept], y)
    assert len(kept) == exact_rank([[Fraction(v) for v in row] for row in A.tolist()])


@pytest.mark.parametrize("d", [10, 24])
def test_coefficients_tied_by_fractions_beyond_float64_are_told(d):
    rng = np.random.default_rng(d)
    tied, free = rng.standard_normal((d - 1, d)), rng.standard_normal((3, d))
    theta = np.linalg.svd(tied)[2][-1]  # the one direction that the tied rows leave
    free *= np.sign(free @ theta)[:, None]
    X, y = np.vstack([tied, tied, free]), np.r_[np.zeros(d - 1), np.ones(d - 1), 1, 1, 1]
    found = sx.diagnose(X, y, fit_intercept=False)
    assert found.kind == "quasi-complete"
    assert list(found.columns.values()) == ["+" if t > 0 else "-" for t in theta]


def test_columns_that_span_are_proven_to_span():
    X = np.random.default_rng(0).integers(-3, 4, (30, 200)).astype(float)
    X[:, 5], X[:, 9] = X[:, 3] + X[:, 4], 0.0
    problem = hold(X, np.arange(30) % 2, fit_intercept=True)
    kept = spanning_columns(Reader(problem), np.r_[200, 0:200])
    assert len(kept) == 30
    assert not {5, 9} & set(kept.tolist())
    assert exact_rank([[int(v) for v in row] for row in np.c_[X, np.ones(30)][:, kept]]) == 30
    X[7] = X[8]  # two equal rows: nothing spans
    assert spanning_columns(Reader(hold(X, np.arange(30) % 2)), np.arange(200)) is None


@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 65, pytest.param(130, marks=pytest.mark.long)])
def test_elimination_modulo_a_prime_agrees_with_fractions(n):
    rng = np.random.default_rng(n)
    for k in range(3):
        A = rng.integers(-2, 3, (n, n)).astype(float) * 2.0 ** rng.integers(-60, 60, (n, 1))
        if k == 1 and n > 1:
            A[-1] = A[0] - 0.375 * A[n // 2]  # singular
        whole = [[Fraction(v) for v in row] for row in A.tolist()]
        assert modular.independent_modulo_prime(modular.residues(A)) == (exact_rank(whole) == n)


def test_residues_are_those_of_fractions():
    A = np.random.default_rng(0).standard_normal((5, 5)) * 10.0 ** np.arange(-150, 100, 50)
    A[0, 0] = 0.0
    p = modular.PRIME
    wanted = [[f.numerator * pow(f.denominator, -1, p) % p for f in map(Fraction, row)] for row in A.tolist()]
    np.testing.assert_array_equal(modular.residues(A), wanted)


def exact_rank(rows):
    """The rank of whole numbers, by elimination in fractions."""
    rows, rank = [[Fraction(v) for v in row] for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def test_a_factor_of_many_levels_is_decided_level_by_level():
    rng = np.random.default_rng(0)
    n, levels = 1500, 500
    zips, x, y = rng.integers(0, levels, n), np.round(rng.standard_normal(n), 3), rng.integers(0, 2, n)
    found = sx.diagnose({"zip": [f"z{k}" for k in zips], "x": x, "y": y}, "y")
    assert found.kind == "quasi-complete"
    outcomes = {k: set(y[zips == k].tolist()) for k in set(zips.tolist())}
    pure = {f"z{k}" for k, seen in outcomes.items() if len(seen) == 1}
    named = {name.split("[")[1].split("]")[0]: sign for name, sign in found.columns.items() if name.startswith("zip")}
    assert len(named) == len(outcomes) - 1 and pure <= set(named)  # the reference has both outcomes
    assert {k for k, sign in named.items() if sign in ("+", "-")} == pure
    assert found.columns["x"] == "0"
    assert set(found.rows.tolist()) == {i for i in range(n) if len(outcomes[zips[i]]) == 1}


def test_many_aliased_columns_are_folded_and_names_stay_on_their_line():
    X = np.random.default_rng(0).standard_normal((10, 80))
    text = str(sx.diagnose(X, np.arange(10) % 2))
    assert text.count(" is aliased") == 10
    assert "… 61 more aliased columns" in text
    assert "71 others" in text
    text = str(sx.diagnose({"note": ["a\nb", "c", "a\nb", "c"], "y": [0, 1, 1, 0]}, "y"))
    assert "note[c] (vs a\\nb)" in text


def test_a_file_that_is_not_there_is_named_and_a_name_is_no_column():
    with pytest.raises(FileNotFoundError, match=r"no file patients\.csv"):
        sx.diagnose("patients.csv", "died")
    with pytest.raises(ValueError, match="got the name 'died'; pass the column itself"):
        sx.solve(np.eye(2), "died")
    with pytest.raises(ValueError, match=r"3 classes \(0, 1, 2\); .* diagnose\(\) takes more"):
        sx.separate(np.eye(3), [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("data", "seed"),
    [(everyday.polynomial_with_two_turned, 1), *((everyday.hilbert_with_two_turned, k) for k in range(4))],
)
def test_cones_too_narrow_for_floats_leave_no_sign_open(data, seed):
    X, y = data(seed)
    found = sx.diagnose(X, y)
    assert found.kind == "complete" and found.certainty == "proven"
    assert "?" not in found.columns.values()
    assert not any("to rounding only" in note for note in found.notes)


def test_signs_seen_from_a_point_of_the_cone_are_those_of_the_exact_simplex():
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 12)), int(rng.integers(2, 5))
        Z = rng.integers(-3, 4, (n, d)).astype(float)
        Z[:, 0] = abs(Z[:, 0]) * rng.choice([1.0, 2.0**-40]) + 2.0**-45
        case = Case(hold_signed(Z, np.array([0, 1])))
        cone = Cone(case, np.empty(0, dtype=np.int64))
        inside = face([case.reader.integers(i, np.arange(d)) for i in range(n)])
        if any(inside[1]):
            continue
        cone.points.append(inside[0])
        cone.small = False
        for j in range(d):
            for s in (1, -1):
                answer = cone.by_centre(cone.g[j], s)
                if answer is not None:
                    seen += 1
                    assert answer == cone.by_simplex(cone.g[j], s)
    assert seen > 60


def test_signs_that_would_take_minutes_are_left_open_where_no_time_is_given(monkeypatch):
    rows = hold(*everyday.narrow(0, 400, 20, 1e-9))
    whole = diagnosis_of(of_rows(rows), None).columns
    few = Budget(signs=500_000, splitting=0)  # two of the 20 searches that these rows take
    assert diagnosis_of(of_rows(rows), None, replace(few, deadline=1e9)).columns == whole
    monkeypatch.setattr(directions, "SEARCHES", 0)
    monkeypatch.setattr(directions, "centre_of", lambda *_: None)
    found = diagnosis_of(of_rows(rows), None, few)
    left = [name for name, sign in found.columns.items() if sign == "?"]
    assert (found.kind, found.certainty) == ("complete", "proven") and 0 < len(left) < len(whole)
    assert "?" not in whole.values() and all(found.columns[name] in ("?", whole[name]) for name in whole)


def test_a_sparse_matrix_of_zeros_is_diagnosed_as_its_dense_copy_is():
    X, y = np.zeros((7, 2)), [1, 1, -1, 1, -1, -1, -1]
    for intercept in (False, True):
        dense, thin = (sx.diagnose(A, y, fit_intercept=intercept) for A in (X, sparse.csr_array(X)))
        assert thin.kind == dense.kind == "overlap" and thin.columns == dense.columns
        assert set(thin.aliased) == {"x0", "x1"} and thin.verify(sparse.csr_array(X), y)
