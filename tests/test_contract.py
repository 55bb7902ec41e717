"""One contract for tables: separate, max_margin, solve, verify and Problem take what diagnose takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import separatrix as sx
from separatrix.data import problem as module
from separatrix.data import table

WARDS = pd.DataFrame(
    {
        "age": [61.5, 40.0, 33.0, 58.0, 70.0, 25.0, 66.0, 48.0],
        "ward": ["north", "icu", "north", "icu", "south", "south", "icu", "north"],
        "smoker": [True, False, False, True, True, False, False, True],
        "died": ["no", "yes", "no", "yes", "yes", "no", "yes", "yes"],
    }
)
FORMULA = "died ~ age + ward + smoker"


def parts(proof: sx.Proof) -> tuple[object, ...]:
    return proof.claim, proof.n, proof.d, proof.intercept, proof.theta, proof.rows, proof.weights


@pytest.fixture
def ways(tmp_path):
    """The same table, said in every way."""
    WARDS.to_csv(tmp_path / "wards.csv", index=False)
    WARDS.to_parquet(tmp_path / "wards.parquet")
    return {
        "pandas": (WARDS, "died"),
        "polars": (pl.DataFrame(WARDS), "died"),
        "dict": (WARDS.to_dict("list"), "died"),
        "labels apart": (WARDS.drop(columns="died"), WARDS["died"]),
        "csv": (tmp_path / "wards.csv", "died"),
        "parquet": (str(tmp_path / "wards.parquet"), "died"),
        "formula": (FORMULA, WARDS),
        "formula of a file": (FORMULA, tmp_path / "wards.csv"),
    }


def test_separate_max_margin_solve_verify_and_problem_take_every_way_to_say_a_table(ways):
    with sx.Problem(WARDS, "died", fit_intercept=True) as problem:
        walk = sx.solve(problem, method="perceptron", max_iter=20)
        verdict, margin, names = sx.separate(problem), sx.max_margin(problem), problem.names
    assert verdict.proof is not None
    for X, y in ways.values():
        assert np.array_equal(sx.solve(X, y, "perceptron", max_iter=20, fit_intercept=True).theta, walk.theta)
        found = sx.separate(X, y, fit_intercept=True)
        assert found.status == verdict.status and parts(found.proof) == parts(verdict.proof)
        assert found.verify(X, y) and sx.verify(verdict.proof, X, y)
        assert sx.max_margin(X, y, fit_intercept=True).upper == margin.upper
        with sx.Problem(X, y, fit_intercept=True) as opened:
            assert opened.names == names


def test_the_intercept_of_a_formula_counts_and_one_that_contradicts_it_is_told():
    assert sx.solve(FORMULA, WARDS, max_iter=1).theta.shape == (5,)
    assert sx.solve(f"{FORMULA} - 1", WARDS, max_iter=1).theta.shape == (5,)  # all three wards
    with sx.Problem(f"{FORMULA} - 1", WARDS) as problem:
        assert not problem.fit_intercept and "ward[south]" in problem.names
    for text, given in ((FORMULA, False), (f"{FORMULA} - 1", True)):
        for call in (sx.separate, sx.max_margin, sx.solve, sx.Problem):
            with pytest.raises(ValueError, match=f"fit_intercept={given} contradicts the formula"):
                call(text, WARDS, fit_intercept=given)


def test_a_statsmodels_model_is_taken_with_its_constant():
    sm = pytest.importorskip("statsmodels.api")
    X = sm.add_constant(WARDS[["age"]])
    model = sm.Logit((WARDS["died"] == "yes").astype(int), X)
    with sx.Problem(model) as problem:
        assert problem.fit_intercept and problem.names == ("age",)
    found = sx.separate(model)
    assert parts(found.proof) == parts(sx.separate("died ~ age", WARDS).proof) and found.verify(model)


def test_rows_with_missing_values_are_left_out_where_that_is_asked_for():
    gaps = WARDS.assign(age=[None, *WARDS["age"][1:]])
    for call in (sx.separate, sx.max_margin, sx.solve):
        with pytest.raises(ValueError, match="missing values: age 1 .* pass missing='drop'"):
            call(gaps, "died")
    dropped = sx.separate(gaps, "died", fit_intercept=True, missing="drop")
    assert parts(dropped.proof) == parts(sx.separate(WARDS[1:], "died", fit_intercept=True).proof)
    assert sx.solve(gaps, "died", max_iter=1, missing="drop").n_iter == 1
    assert sx.max_margin(gaps, "died", missing="drop").upper >= 0
    with sx.Problem(WARDS, "died") as problem, pytest.raises(ValueError, match="missing belongs to the Problem"):
        sx.separate(problem, missing="drop")


def test_what_was_noticed_of_a_table_is_told_with_the_verdict():
    frame = pd.concat([WARDS, WARDS]).assign(id=[f"p{k}" for k in range(16)], age=np.arange(16) ** 2)
    found = sx.separate(frame, "died", fit_intercept=True)
    assert "'id' differs in every row, like an identifier, and is left out" in found.notes[0]
    assert str(found).endswith(f"note: {found.notes[0]}")
    with sx.Problem(frame, "died", keep=["id"], reference={"ward": "icu"}) as problem:
        assert problem.d == 19 and problem.notes == () and "ward[north] (vs icu)" in problem.names
    with pytest.raises(ValueError, match="reference and keep name columns of a table"):
        sx.Problem(np.eye(2), [0, 1], keep=["id"])


def test_weights_of_a_table_may_be_one_of_its_columns():
    frame = WARDS.assign(often=[1, 2, 3, 1, 1, 2, 2, 1])
    by_name = sx.solve(frame, "died", sample_weight="often", max_iter=5, fit_intercept=True)
    by_value = sx.solve(WARDS, "died", sample_weight=frame["often"].to_numpy(), max_iter=5, fit_intercept=True)
    assert np.array_equal(by_name.theta, by_value.theta)
    assert not np.array_equal(by_name.theta, sx.solve(WARDS, "died", max_iter=5, fit_intercept=True).theta)
    with pytest.raises(ValueError, match="sample_weight is the column name 'often', but X is no table"):
        sx.solve(np.eye(2), [0, 1], sample_weight="often")
    with pytest.raises(ValueError, match="sample_weight must have one value per row, got 3 values for 8 rows"):
        sx.solve(WARDS, "died", sample_weight=[1, 2, 3])


def test_labels_computed_from_a_column_are_no_leak_but_the_column_itself_is():
    with pytest.raises(ValueError, match="the labels are named 'age' and so is a column"):
        sx.separate(WARDS[["age"]], WARDS["age"])
    assert sx.separate(WARDS[["age"]], WARDS["age"] > 50, fit_intercept=True).status == "separable"


def test_parquet_files_of_numbers_stay_where_they_are_and_those_with_text_are_read(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(module, "read_table", lambda *a, **k: read.append(a[0]) or table.read_table(*a, **k))
    numbers, text = tmp_path / "numbers.parquet", tmp_path / "text.parquet"
    WARDS[["age", "died"]].to_parquet(numbers)
    WARDS.to_parquet(text)
    assert sx.separate(numbers, "died", fit_intercept=True).status == "inseparable" and read == []
    sx.separate(text, "died", fit_intercept=True)
    assert read == [text]
    with pytest.raises(ValueError, match=r"column 'ward' is .*; encode or drop it"):
        sx.separate(text, "died", memory_limit="1GB")
    with pytest.raises(ValueError, match=r"rows are read in place from .npy and .parquet files"):
        sx.separate(tmp_path / "wards.csv", "died", memory_limit="1GB")


def test_what_is_missing_to_say_a_table_is_told(tmp_path):
    WARDS.to_csv(tmp_path / "wards.csv", index=False)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone.csv; check the path"):
        sx.separate(tmp_path / "gone.csv", "died")
    with pytest.raises(ValueError, match="y is missing: name the column of .*wards.csv"):
        sx.separate(tmp_path / "wards.csv")
    with pytest.raises(ValueError, match="a formula needs the data frame"):
        sx.separate("died ~ age")
    with pytest.raises(ValueError, match=r"collect\(\) it first"):
        sx.separate(pl.LazyFrame(WARDS.to_dict("list")), "died")
    for call in (sx.separate, sx.max_margin, sx.solve, sx.Problem):
        with pytest.raises(TypeError, match="y is missing: give the labels"):
            call(np.eye(2))
