"""Whatever a model's data come as, they become the same design; what cannot be read gets one sentence."""

from __future__ import annotations

import datetime
import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from separatrix.data.frames import design
from separatrix.data.table import is_table, read_table

RNG = np.random.default_rng(3)
N = 40
FIRMS = pd.DataFrame(
    {
        "trade": RNG.poisson(1.5, N),
        "distance": RNG.normal(0, 1, N),
        "firm": RNG.permutation(np.arange(N) % 9),
        "year": RNG.permutation(2000 + np.arange(N) % 3),
        "weight": RNG.random(N),
        "won": RNG.integers(0, 5, N),
        "lost": RNG.integers(0, 5, N),
        "ward": RNG.choice(["north", "icu", "south"], N),
    }
)
SMALL = {"age": [61.5, 40.0, 33.0, 58.0], "ward": ["a", "b", "a", "b"], "died": [1, 1, 0, 0]}


def names(made):
    return [term.name for term in made.terms]


def same(one, other):
    assert one.terms == other.terms and one.target == other.target and one.notes == other.notes
    assert np.array_equal(one.X, other.X) and one.y.tolist() == other.y.tolist()


# The same data, said otherwise.


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(SMALL), pl.DataFrame(SMALL), pa.table(SMALL), SMALL],
    ids=["pandas", "polars", "pyarrow", "dict"],
)
def test_a_frame_with_the_name_of_its_outcome_is_a_design(frame):
    same(read_table(frame, "died"), design(SMALL, "died"))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_a_file_is_the_frame_it_holds(tmp_path, kind):
    path = tmp_path / f"table.{kind}"
    frame = pd.DataFrame(SMALL)
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    for name in (path, str(path)):
        same(read_table(name, "died"), design(SMALL, "died"))


def test_a_file_without_a_header_takes_the_number_of_its_column(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1,5,0\n2,4,1\n3,3,1\n")
    made = read_table(path, "-1")
    assert names(made) == ["c0", "c1"] and made.y.tolist() == [0, 1, 1]


def test_arrays_in_files_are_read(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    np.savez(tmp_path / "both.npz", X=X, y=y)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for made in (
        read_table(tmp_path / "both.npz"),
        read_table(tmp_path / "X.npy", tmp_path / "y.npy"),
        read_table(str(tmp_path / "X.npy"), str(tmp_path / "y.npy")),
        read_table(tmp_path / "X.npy", y),
    ):
        assert np.array_equal(made.X, X) and made.y.tolist() == [0, 1, 1] and names(made) == ["x0", "x1"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
def test_arrays_become_float64(dtype):
    X = np.array([[0, 1], [1, 1], [0, 0]]).astype(dtype)
    made = read_table(X, ["no", "yes", "yes"])
    assert made.X.dtype == np.float64 and np.array_equal(made.X, X)
    assert made.target == "y" and made.index is None and made.fit_intercept is None


def test_sparse_rows_stay_sparse():
    X = sparse.random_array((20, 5), density=0.3, rng=np.random.default_rng(0), dtype=np.float32)
    made = read_table(X, np.arange(20) % 2)
    assert sparse.issparse(made.X) and made.X.format == "csr" and made.X.dtype == np.float64
    assert np.array_equal(made.X.toarray(), X.toarray())


def test_rows_of_arrays_with_nan_may_be_dropped():
    X = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 1.0], [4.0, 1.0]])
    made = read_table(X, [0.0, 1.0, np.nan, 1.0], missing="drop")
    assert made.rows.tolist() == [0, 3] and made.dropped == 2 and made.X.tolist() == [[1, 2], [4, 1]]


# The outcome.


def test_two_names_are_successes_and_failures():
    made = read_table(FIRMS[["won", "lost", "distance"]], ("won", "lost"))
    assert np.array_equal(made.y, FIRMS[["won", "lost"]]) and made.target == "won + lost"
    assert names(made) == ["distance"]
    assert np.array_equal(read_table(FIRMS[["distance"]], FIRMS[["won", "lost"]].to_numpy()).y, made.y)
    assert np.array_equal(read_table(np.ones((2, 1)), [[1, 0], [2, 3]]).y, [[1, 0], [2, 3]])


def test_counts_decide_the_reference_as_their_single_trials_would():
    # Level a has the most rows but wins always, b is the commonest that wins and loses.
    frame = {"f": list("aaaabbbcc"), "won": [2, 1, 1, 3, 1, 0, 2, 1, 1], "lost": [0, 0, 0, 0, 0, 2, 0, 1, 0]}
    assert names(read_table(frame, ["won", "lost"])) == ["f[a] (vs b)", "f[c] (vs b)"]


@pytest.mark.parametrize(
    ("outcome", "levels", "ordered"),
    [
        (pd.Categorical(["lo", "hi", "lo", "mid"], categories=["lo", "mid", "hi"], ordered=True), True, True),
        (pd.Categorical(["lo", "hi", "lo", "mid"], categories=["lo", "mid", "hi"]), True, False),
        (pl.Series(["lo", "hi", "lo", "mid"], dtype=pl.Enum(["lo", "mid", "hi"])), True, False),
        (["lo", "hi", "lo", "mid"], False, False),
        ([0, 2, 0, 1], False, False),
    ],
)
def test_declared_levels_of_the_outcome_are_told(outcome, levels, ordered):
    frame = {"x": [1.0, 2, 3, 5], "y": pd.Series(outcome) if isinstance(outcome, pd.Categorical) else outcome}
    made = read_table(frame, "y")
    assert made.levels == (("lo", "mid", "hi") if levels else None) and made.ordered is ordered
    if not isinstance(outcome, pd.Categorical):
        return
    made = read_table(np.array([[1.0], [2], [3], [5]]), pd.Series(outcome, name="grade"))
    assert made.levels == ("lo", "mid", "hi") and made.ordered is ordered and made.target == "grade"


def test_an_event_or_a_time_is_an_outcome_where_no_other_is_named():
    frame = {"x": [1.0, 2.0, 3.0], "days": [5.0, 2.0, 9.0], "died": [True, False, True]}
    made = read_table(frame, beside={"time": "days", "event": "died"})
    assert names(made) == ["x"] and made.target == "died" and made.y.tolist() == [True, False, True]
    assert made.beside["time"].tolist() == [5, 2, 9]
    alone = read_table(np.array([[1.0], [2.0]]), beside={"time": [3.0, 4.0]})
    assert alone.y.tolist() == [3, 4]


# What stands beside.


def test_a_column_beside_is_no_regressor():
    made = read_table(FIRMS[["trade", "distance", "weight"]], "trade", beside={"weight": "weight", "offset": None})
    assert names(made) == ["distance"]
    assert np.array_equal(made.beside["weight"], FIRMS["weight"]) and list(made.beside) == ["weight"]


def test_values_beside_are_cut_to_the_kept_rows():
    frame = {"x": [1.0, None, 3.0, 4.0], "y": [0, 1, 1, 0]}
    made = read_table(frame, "y", beside={"weight": [1, 2, None, 4], "groups": np.array(list("abcd"))}, missing="drop")
    assert made.rows.tolist() == [0, 3]
    assert made.beside["weight"].tolist() == [1, 4] and made.beside["groups"].tolist() == ["a", "d"]
    with pytest.raises(ValueError, match=r"missing values: x 1, weight 1 \(of 4 rows\)"):
        read_table(frame, "y", beside={"weight": [1, 2, None, 4]})


def test_a_series_that_is_also_a_regressor_is_noted():
    frame = FIRMS[["trade", "distance", "weight"]]
    made = read_table(frame, "trade", beside={"weight": frame["weight"]})
    assert names(made) == ["distance", "weight"]
    assert "'weight' is a regressor and the weight too" in made.notes[0]


# Fixed effects.


def test_fixed_effects_are_sparse_columns_of_every_level_but_one():
    made = read_table(FIRMS[["trade", "distance", "firm", "year"]], "trade", fixed_effects=["firm", "year"])
    assert sparse.issparse(made.X) and made.X.format == "csr" and made.X.shape == (N, 1 + 8 + 2)
    assert made.fit_intercept is True
    dense = made.X.toarray()
    assert np.array_equal(dense[:, 0], FIRMS["distance"])
    for j, term in enumerate(made.terms[1:], 1):
        assert term.name == f"{term.column}[{term.level}] (vs {term.reference})"
        assert np.array_equal(dense[:, j], FIRMS[term.column] == int(term.level))
    assert {int(t.level) for t in made.terms if t.column == "year"} < {2000, 2001, 2002}


def test_fixed_effects_may_be_all_there_is_and_of_any_type():
    days = [datetime.date(2024, 1, d) for d in (1, 1, 2, 2)]
    for column in (
        ["a", "a", "b", "b"],
        [1.5, 1.5, 2.0, 2.0],
        days,
        pd.Series(pd.to_datetime(days)),
        [True, True, False, False],
    ):
        made = read_table({"f": column, "y": [0, 1, 0, 1]}, "y", fixed_effects="f")
        assert made.X.shape == (4, 1) and made.X.toarray().ravel().tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_thousands_of_levels_take_no_dense_copy():
    n = 30_000
    frame = {"y": np.arange(n) % 2, "x": np.arange(n) * 0.5, "firm": np.arange(n) % 10_000}
    made = read_table(frame, "y", fixed_effects=["firm"])
    assert made.X.shape == (n, 10_000) and made.X.nnz <= 2 * n


def test_a_level_to_compare_with_may_be_named_for_fixed_effects_and_factors():
    made = read_table(
        FIRMS[["trade", "ward", "year"]], "trade", fixed_effects=["year"], reference={"year": 2001, "ward": "south"}
    )
    assert names(made) == [
        "ward[icu] (vs south)",
        "ward[north] (vs south)",
        "year[2000] (vs 2001)",
        "year[2002] (vs 2001)",
    ]


# Rows by their labels.


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (None, None),
        (pd.RangeIndex(4), None),
        (pd.RangeIndex(10, 14), [10, 12]),
        (["p", "q", "r", "s"], ["p", "r"]),
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 2)]), [("a", 1), ("b", 1)]),
    ],
)
def test_kept_rows_have_the_labels_of_the_frame(index, expected):
    frame = pd.DataFrame({"x": [1.0, None, 3.0, None], "y": [0, 1, 1, 0]}, index=index)
    made = read_table(frame, "y", missing="drop")
    assert (None if made.index is None else made.index.tolist()) == expected
    if importlib.util.find_spec("formulaic"):
        by_formula = read_table("y ~ x", frame, missing="drop").index
        assert (None if by_formula is None else by_formula.tolist()) == expected


def test_a_filtered_frame_keeps_the_labels_it_had():
    frame = FIRMS[FIRMS["year"] > 2000]
    assert np.array_equal(read_table(frame, "trade").index, frame.index)
    assert read_table(pl.DataFrame(FIRMS), "trade").index is None


# The door.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": SMALL, "y": "dead"}, "there is no column 'dead'.*; columns: age, ward, died"),
        ({"data": SMALL, "y": ("died", "lost")}, "there is no column 'lost'"),
        ({"data": SMALL, "y": ("died", "ward")}, "successes and failures are numbers, but 'ward' holds 'a'"),
        ({"data": SMALL, "y": "died", "beside": {"weight": "w"}}, "there is no column 'w'; columns"),
        (
            {"data": SMALL, "y": "died", "beside": {"weight": [1, 2]}},
            "weight must have one value per row, got 2 values for 4",
        ),
        (
            {"data": SMALL, "y": "died", "beside": {"weight": np.eye(4)}},
            r"weight must have one value per row, got shape \(4, 4\)",
        ),
        ({"data": SMALL, "y": "died", "fixed_effects": ["firm"]}, "there is no column 'firm'"),
        ({"data": SMALL, "y": "died", "fixed_effects": 3}, "fixed_effects must be a list of columns, got 3"),
        ({"data": SMALL, "y": "died", "keep": ["id"]}, "there is no column 'id'"),
        ({"data": SMALL, "y": "died", "reference": {"ward": "c"}}, "'ward' has no level 'c'.*; levels: a, b"),
        ({"data": SMALL, "y": "died", "reference": {"wrd": "a"}}, r"there is no column 'wrd' \(did you mean 'ward'"),
        ({"data": SMALL, "y": "died", "reference": {"age": 40}}, "reference names 'age', which holds numbers"),
        (
            {"data": SMALL, "y": "died", "reference": "a"},
            "reference must be a dict of columns and their levels, got 'a'",
        ),
        ({"data": np.eye(2), "y": [0, 1], "fixed_effects": ["f"]}, "fixed_effects names columns of a data frame"),
        ({"data": np.eye(2), "y": [0, 1], "reference": {"f": 1}}, "reference names columns of a data frame"),
        (
            {"data": np.eye(2), "y": [0, 1], "beside": {"weight": "w"}},
            "weight is the column name 'w', but there is no data",
        ),
        ({"data": np.eye(2), "y": [0, 1, 1]}, "X has 2 rows but y has 3 labels"),
        ({"data": np.eye(2), "y": "died"}, "y is the column name 'died', but X is no data frame"),
        ({"data": np.array([[1.0], [np.nan]]), "y": [0, 1]}, "X contains NaN at row 1, column 0"),
        ({"data": np.array([[1.0], [np.inf]]), "y": [0, 1], "missing": "drop"}, "X contains inf at row 1, column 0"),
        ({"data": np.eye(2), "y": [0, None]}, "y is missing at row 1"),
        ({"data": ["a.csv", "b.csv"], "y": "died"}, "a table is read from one file, got 2"),
        ({"data": pl.LazyFrame(SMALL), "y": "died"}, r"collect\(\) it first"),
    ],
)
def test_what_cannot_be_read_gets_one_sentence(given, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_table(**given)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there_or_lack_their_outcome_are_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file .*nothing.csv; check the path"):
        read_table(tmp_path / "nothing.csv", "died")
    path = tmp_path / "table.csv"
    pd.DataFrame(SMALL).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"y is missing: name the column of .*table.csv that is the outcome"):
        read_table(path)
    with pytest.raises(ValueError, match="there is no column 'dead'"):
        read_table(path, "dead")


def test_arrays_need_labels():
    with pytest.raises(TypeError, match="y is missing: give the labels"):
        read_table(np.eye(2))


def test_four_hundred_rows_with_an_identifier_make_two_columns():
    frame = {"id": [f"p{k:03}" for k in range(400)], "x": RNG.normal(size=400), "y": np.arange(400) % 2}
    assert names(read_table(frame, "y")) == ["x"]


@pytest.mark.parametrize(
    ("data", "y", "answer"),
    [
        (SMALL, "died", True),
        (pd.DataFrame(SMALL), "died", True),
        ("died ~ age", SMALL, True),
        (np.eye(2), [0, 1], False),
        ("rows.npy", "labels.npy", False),
        ("~/rows.npy", "labels.npy", False),
    ],
)
def test_tables_are_told_from_rows(data, y, answer):
    assert is_table(data, y) is answer


# statsmodels.


@pytest.fixture(scope="module")
def sm():
    return pytest.importorskip("statsmodels.api")


def test_the_constant_of_a_statsmodels_model_is_its_intercept(sm):
    frame = FIRMS.set_index(np.array([f"f{k}" for k in range(N)]))
    X = sm.add_constant(frame[["distance", "weight"]])
    y = (frame["trade"] > 1).astype(int)
    model = sm.Logit(y, X)
    for said in (model, model.fit(disp=0)):
        made = read_table(said)
        assert names(made) == ["distance", "weight"] and np.array_equal(made.X, frame[["distance", "weight"]])
        assert made.fit_intercept is True and made.target == "trade" and made.model == "logit"
        assert made.y.tolist() == y.tolist() and made.index.tolist() == frame.index.tolist()
    assert read_table(sm.Logit(y, X[["distance", "weight"]])).fit_intercept is False


def test_arrays_in_a_statsmodels_model_have_its_names(sm):
    made = read_table(
        sm.Logit((FIRMS["trade"] > 1).to_numpy(), sm.add_constant(FIRMS[["distance", "weight"]].to_numpy()))
    )
    assert names(made) == ["x1", "x2"] and made.index is None and made.fit_intercept is True


def test_a_statsmodels_formula_keeps_its_own_coding(sm):
    import statsmodels.formula.api as smf

    made = read_table(smf.poisson("trade ~ distance + C(ward)", FIRMS))
    assert names(made) == ["C(ward)[T.north]", "C(ward)[T.south]", "distance"]
    assert made.model == "poisson" and made.y.tolist() == FIRMS["trade"].tolist()
    holed = FIRMS.assign(distance=FIRMS["distance"].where(FIRMS.index > 1))
    made = read_table(smf.poisson("trade ~ distance", holed))
    assert made.index.tolist() == list(range(2, N))


def test_weights_offsets_and_counts_of_a_statsmodels_model_come_along(sm):
    X = sm.add_constant(FIRMS[["distance"]])
    weight = np.arange(N) % 3
    glm = sm.GLM(FIRMS[["won", "lost"]] + 1, X, family=sm.families.Binomial(), freq_weights=weight)
    made = read_table(glm)
    assert np.array_equal(made.y, FIRMS[["won", "lost"]] + 1) and np.array_equal(made.beside["weight"], weight)
    assert made.model == "logit"
    link = sm.families.Binomial(link=sm.families.links.CLogLog())
    assert read_table(sm.GLM(FIRMS["trade"] > 1, X, family=link)).model == "cloglog"
    poisson = sm.GLM(
        FIRMS["trade"], X, family=sm.families.Poisson(), offset=FIRMS["weight"], exposure=np.exp(FIRMS["distance"])
    )
    made = read_table(poisson)
    assert np.allclose(made.beside["offset"], FIRMS["weight"] + FIRMS["distance"])
    assert list(made.beside) == ["offset"] and made.model == "poisson"


def test_other_statsmodels_models_say_what_they_are(sm):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X = FIRMS[["distance", "weight"]]
    grade = pd.Series(pd.Categorical(FIRMS["ward"], categories=["icu", "south", "north"], ordered=True), name="ward")
    assert read_table(OrderedModel(grade, X)).model == "cumulative-probit"
    made = read_table(OrderedModel(grade, X, distr="logit"))
    assert made.model == "cumulative" and made.levels == ("icu", "south", "north") and made.ordered
    assert made.y.tolist() == FIRMS["ward"].tolist() and names(made) == ["distance", "weight"]
    made = read_table(sm.MNLogit(FIRMS["ward"], sm.add_constant(X)))
    assert made.model == "multinomial" and made.y.tolist() == FIRMS["ward"].tolist()
    made = read_table(sm.PHReg(FIRMS["weight"], X[["distance"]], status=FIRMS["trade"] > 1))
    assert made.model == "cox" and made.beside["event"].sum() == (FIRMS["trade"] > 1).sum()
    assert np.array_equal(made.beside["time"], FIRMS["weight"]) and made.fit_intercept is None


def test_a_statsmodels_model_has_its_outcome_and_columns(sm):
    model = sm.Logit(FIRMS["trade"] > 1, sm.add_constant(FIRMS[["distance"]]))
    with pytest.raises(ValueError, match="a statsmodels model has its outcome: leave y out"):
        read_table(model, [0, 1])
    with pytest.raises(ValueError, match="reference names columns of a data frame"):
        read_table(model, reference={"a": "b"})
    with pytest.raises(ValueError, match="no column besides its constant"):
        read_table(sm.Logit(FIRMS["trade"] > 1, np.ones(N)))
    with pytest.raises(ValueError, match="weight must have one value per row, got 3 values for 40 rows"):
        read_table(model, beside={"weight": [1, 2, 3]})
