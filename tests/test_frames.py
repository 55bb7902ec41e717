"""Any frame becomes the same design matrix; what cannot be a number is refused by name."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import separatrix as sx
from separatrix.data.frames import Design, Term, design, is_frame
from separatrix.reporting.hints import install

WARDS = {
    "age": [61.5, 40.0, 33.0, 58.0, 70.0, 25.0],
    "ward": ["north", "icu", "north", "icu", "south", "south"],
    "smoker": [True, False, False, True, True, False],
    "died": [1, 1, 0, 1, 0, 1],
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "dict": dict,
    "arrays": lambda columns: {name: np.array(values) for name, values in columns.items()},
}


@pytest.fixture(params=FRAMES)
def make(request):
    return FRAMES[request.param]


def names(made):
    return [term.name for term in made.terms]


def column(made, name):
    return made.X[:, names(made).index(name)].tolist()


def test_every_kind_of_frame_gives_the_same_design(make):
    made = design(make(WARDS), "died")
    assert names(made) == ["age", "ward[icu] (vs north)", "ward[south] (vs north)", "smoker[True] (vs False)"]
    assert np.array_equal(
        made.X, [[61.5, 0, 0, 1], [40, 1, 0, 0], [33, 0, 0, 0], [58, 1, 0, 1], [70, 0, 1, 1], [25, 0, 1, 0]]
    )
    assert made.X.flags.c_contiguous and made.X.dtype == np.float64
    assert made.y.tolist() == WARDS["died"]
    assert made.y.dtype.kind == "i"
    assert made.target == "died"
    assert made.rows.tolist() == list(range(6)) and made.rows.dtype == np.int64
    assert made.dropped == 0
    assert made.notes == ()


def test_a_term_says_where_its_column_comes_from():
    made = design(WARDS, "died")
    assert made.terms[0] == Term("age", "age", None, None)
    assert made.terms[1] == Term("ward[icu] (vs north)", "ward", "icu", "north")


def test_a_text_target_stays_text(make):
    made = design(make({"x": [1, 2, 3], "y": ["no", "yes", "no"]}), "y")
    assert made.y.tolist() == ["no", "yes", "no"]
    assert all(isinstance(label, str) for label in made.y)


def test_a_boolean_target_stays_boolean(make):
    assert design(make({"x": [1, 2, 3], "y": [True, False, True]}), "y").y.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ([0, 1, 0], "y"),
        (("a", "b", "a"), "y"),
        (np.array([0, 1, 0]), "y"),
        (np.array([[0], [1], [0]]), "y"),
        (pd.Series([0, 1, 0], name="died"), "died"),
        (pd.Series([0, 1, 0]), "y"),
        (pl.Series("died", [0, 1, 0]), "died"),
        (pl.Series([0, 1, 0]), "y"),
        (pd.Categorical(["a", "b", "a"]), "y"),
        (range(3), "y"),
    ],
)
def test_labels_may_come_beside_the_frame(labels, name):
    made = design({"x": [1.0, 2.0, 3.0]}, labels)
    assert made.target == name
    assert made.y.tolist() == np.asarray(labels).ravel().tolist()


def test_labels_that_are_also_a_column_are_refused():
    frame = pd.DataFrame(WARDS)
    with pytest.raises(ValueError, match="labels are named 'died' and so is a column"):
        design(frame, frame["died"])


# Reference levels.


def test_the_reference_is_the_commonest_level_with_two_outcomes():
    f = ["a"] * 5 + ["b"] * 3 + ["c"] * 2
    y = [1] * 5 + [0, 1, 1] + [0, 1]
    assert names(design({"f": f, "x": range(10)}, y))[:2] == ["f[a] (vs b)", "f[c] (vs b)"]


def test_the_reference_is_the_commonest_level_where_no_level_has_two_outcomes():
    assert names(design({"f": ["a", "b", "b", "c"]}, [0, 1, 1, 0])) == ["f[a] (vs b)", "f[c] (vs b)"]


def test_ties_for_the_reference_go_to_the_first_level_in_order():
    assert names(design({"f": ["b", "b", "a", "a"]}, [0, 1, 0, 1])) == ["f[b] (vs a)"]
    declared = pd.Categorical(["b", "b", "a", "a"], categories=["b", "a"])
    assert names(design(pd.DataFrame({"f": declared}), [0, 1, 0, 1])) == ["f[a] (vs b)"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["mid", "low", "low", "high"], categories=["low", "mid", "huge", "high"])),
        pd.Series(
            pd.Categorical(["mid", "low", "low", "high"], categories=["low", "mid", "huge", "high"], ordered=True)
        ),
        pl.Series(["mid", "low", "low", "high"], dtype=pl.Enum(["low", "mid", "huge", "high"])),
    ],
    ids=["pandas", "pandas ordered", "polars enum"],
)
def test_declared_levels_keep_their_order_and_unused_ones_make_no_column(column):
    assert names(design({"f": column}, [0, 0, 1, 1])) == ["f[mid] (vs low)", "f[high] (vs low)"]


def test_a_polars_categorical_is_sorted():
    frame = pl.DataFrame({"f": pl.Series(["b", "c", "a", "b"], dtype=pl.Categorical)})
    assert names(design(frame, [0, 0, 1, 1])) == ["f[a] (vs b)", "f[c] (vs b)"]


def test_categories_may_be_numbers_or_intervals():
    frame = pd.DataFrame({"k": pd.Categorical([3, 1, 3, 1]), "i": pd.cut([1.0, 9.0, 2.0, 8.0], [0, 5, 10])})
    made = design(frame, [0, 0, 1, 1])
    assert names(made) == ["k[3] (vs 1)", "i[(5, 10]] (vs (0, 5])"]
    assert design(frame, "k").y.tolist() == [3, 1, 3, 1]


def test_many_outcomes_are_counted_too():
    y = np.arange(9.0)
    assert names(design({"f": ["a", "a", "a", "a", "b", "b", "b", "c", "c"]}, y)) == ["f[b] (vs a)", "f[c] (vs a)"]


# Columns.


@pytest.mark.parametrize(
    "numbers",
    [
        [1, 2, 3],
        [1.0, 2.0, 3.0],
        (1, 2.0, Decimal(3)),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=np.float16),
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="Float32"),
        pd.Series([Decimal(1), Decimal(2), Decimal(3)]),
        pd.Series(pd.arrays.SparseArray([1.0, 2.0, 3.0])),
        pl.Series([Decimal("1.0"), Decimal("2.0"), Decimal("3.0")]),
        pl.Series([1, 2, 3], dtype=pl.Int128),
        pl.Series([1, 2, 3], dtype=pl.Float32),
        np.ma.array([1, 2, 3]),
    ],
    ids=lambda numbers: f"{type(numbers).__module__.split('.')[0]}-{getattr(numbers, 'dtype', 'plain')}",
)
def test_numbers_of_any_type_are_used_as_they_are(numbers):
    made = design({"x": numbers, "y": [0, 1, 0]}, "y")
    assert made.X[:, 0].tolist() == [1, 2, 3]
    assert made.terms == (Term("x", "x", None, None),)


@pytest.mark.parametrize("booleans", [[True, None, False], [np.True_, np.nan, np.False_]])
@pytest.mark.parametrize("wrap", [pd.Series, list, lambda v: pd.Series(v, dtype=object)])
def test_booleans_held_as_objects_are_a_factor(booleans, wrap):
    made = design({"b": wrap(booleans), "y": [0, 1, 1]}, "y", missing="drop")
    assert names(made) == ["b[True] (vs False)"]
    assert made.X[:, 0].tolist() == [1, 0]


def test_a_factor_of_one_level_makes_no_column_but_a_note(make):
    made = design(make({"ward": ["icu"] * 3, "x": [1, 5, 2], "y": [0, 1, 0]}), "y")
    assert names(made) == ["x"]
    assert made.notes == ("'ward' has the same value in every row and is left out.",)


def test_when_no_column_varies_there_is_nothing_to_design():
    with pytest.raises(ValueError, match="every column besides 'y' has the same value"):
        design({"ward": ["icu"] * 3, "y": [0, 1, 0]}, "y")


IDS = [f"p{k}" for k in range(20)]


def test_text_that_differs_in_every_row_is_left_out_with_a_note(make):
    made = design(make({"id": IDS, "x": [3, 1] * 10, "y": [0, 1, 1, 1] * 5}), "y")
    assert names(made) == ["x"]
    note = "'id' differs in every row, like an identifier, and is left out; name it in keep= to use it."
    assert made.notes == (note,)


def test_text_that_differs_in_nearly_every_row_is_left_out_too(make):
    frame = {"id": [*IDS[:19], "p0"], "x": [3, 1] * 10, "y": [0, 1, 1, 1] * 5}
    made = design(make(frame), "y")
    assert names(made) == ["x"]
    assert made.notes[0].startswith("'id' has 19 different values in 20 rows, like an identifier, and is left out")
    frame["id"] = [*IDS[:18], "p0", "p1"]
    assert len(names(design(make(frame), "y"))) == 18


def test_keep_keeps_what_looks_like_an_identifier(make):
    made = design(make({"id": IDS, "x": [3, 1] * 10, "y": [0, 1, 1, 1] * 5}), "y", keep=["id"])
    assert len(names(made)) == 20
    assert made.notes == ()


def test_in_few_rows_every_text_may_differ(make):
    assert len(names(design(make({"id": IDS[:9], "y": [0, 1, 0] * 3}), "y"))) == 8


def test_numbers_as_text_that_differ_in_every_row_are_left_out_with_the_way_out(make):
    made = design(make({"dose": [f"{k}.5" for k in range(20)], "x": [3, 1] * 10, "y": [0, 1, 1, 1] * 5}), "y")
    assert names(made) == ["x"]
    assert "'dose' holds numbers as text, differs in every row and is left out; convert it" in made.notes[0]
    cells = [*(f"{k}.5" for k in range(19)), "<1"]
    made = design(make({"dose": cells, "x": [3, 1] * 10, "y": [0, 1, 1, 1] * 5}), "y")
    assert "'dose' was read as text because of '<1', differs in every row and is left out" in made.notes[0]


def test_when_only_an_identifier_is_there_nothing_is_left():
    with pytest.raises(ValueError, match="no column is left besides 'y': 'id' differs in every row.*name it in keep="):
        design({"id": IDS, "y": [0, 1] * 10}, "y")


def test_a_number_that_never_changes_stays_and_is_noted(make):
    made = design(make({"one": [1.0] * 3, "x": [1, 5, 2], "y": [0, 1, 0]}), "y")
    assert names(made) == ["one", "x"]
    assert made.notes == ("'one' has the same value in every row.",)


def test_the_same_column_twice_is_noted(make):
    frame = {"a": [1, 2, 2, 5], "f": list("uvvw"), "b": [1.0, 2.0, 2.0, 5.0], "g": list("zxxy"), "y": [0, 1, 0, 1]}
    made = design(make(frame), "y")
    assert made.notes == ("'b' is the same as 'a' in every row.", "'g' groups the rows as 'f' does.")


def test_an_outcome_that_is_a_function_of_a_column_is_noted(make):
    y, x = [0, 1, 1, 0] * 5, [5.5, 1, 2, 4, 3] * 4
    for other in (["no", "yes", "sure", "no"] * 5, [7, 3, 3, 7] * 5):
        made = design(make({"told": other, "x": x, "y": y}), "y")
        assert made.notes == ("'y' is a function of 'told': rows with the same 'told' have the same 'y'.",)
    assert design(make({"told": ["no", "yes", "sure", "sure"] * 5, "x": x, "y": y}), "y").notes == ()


def test_text_that_reads_as_numbers_is_noted(make):
    made = design(make({"code": ["10", "2", "10"], "y": [0, 1, 1]}), "y")
    assert names(made) == ["code[2] (vs 10)"]
    assert made.notes == ("'code' holds numbers as text and was treated as text levels; convert it if it is a number.",)


def test_a_column_that_numbers_the_rows_is_noted(make):
    made = design(make({"row": list(range(1, 13)), "x": [5, 4] * 6, "y": [0, 1, 1] * 4}), "y")
    assert made.notes == ("'row' goes up by one from row to row; if it only numbers the rows, drop it.",)


def test_a_factor_with_too_many_levels_is_refused_before_memory_is_taken():
    n = 20_000
    with pytest.raises(ValueError, match="'id' has 20000 levels in 20000 rows, too many"):
        design({"id": [f"p{k}" for k in range(n)], "y": np.arange(n) % 2}, "y", keep="id")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pl.Series([datetime.timedelta(1)] * 2), "Duration"),
        (pl.Series([datetime.time(1)] * 2), "Time"),
        (pl.Series([[1], [2]]), "List"),
        (pl.Series([{"a": 1}] * 2), "Struct"),
        (pl.Series([b"a", b"b"]), "Binary"),
        (pd.Series(pd.to_timedelta([1, 2], unit="s")), "Duration"),
        (pd.Series([1j, 2j]), "complex128"),
        (pd.Series([b"a", b"b"]), "bytes"),
        (pd.Series([[1], [2]]), "list"),
        ([[1], [2]], "list"),
        ([np.timedelta64(1, "s"), np.timedelta64(2, "s")], "timedelta64"),
        (np.array([b"a", b"b"]), r"\|S1"),
    ],
)
def test_a_column_that_is_no_number_nor_level_is_refused_with_its_type(values, kind):
    with pytest.raises(ValueError, match=f"column 'when' has the type {kind}.*; turn it into numbers, or drop it"):
        design({"when": values, "y": [0, 1]}, "y")


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        (pl.Series([datetime.date(2024, 1, 1)] * 2), "has the type Date"),
        (pl.Series([datetime.datetime(2024, 1, 1)] * 2), "has the type Datetime"),
        (pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])), "has the type Datetime"),
        (pd.Series(pd.period_range("2024", periods=2, freq="M")), "has the type Period"),
        ([datetime.date(2024, 1, 1)] * 2, "has the type date"),
        ([pd.Timestamp("2024-01-01")] * 2, "has the type Timestamp"),
        (np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"), "has the type datetime64"),
        (["2024-01-31", "2024-02-01"], "holds dates as text, such as '2024-01-31'"),
        (["31.1.2024", "1.2.2024"], "holds dates as text"),
        (["1/31/2024", "2/1/2024"], "holds dates as text"),
        (["2024-01-31 10:30", "2024-02-01T11:00:05Z"], "holds dates as text"),
    ],
)
def test_dates_are_refused_with_the_way_out(values, seen):
    with pytest.raises(ValueError, match=f"column 'when' {seen}.*; turn the dates into numbers, such as days since"):
        design({"when": values, "y": [0, 1]}, "y")


def test_dates_as_text_are_levels_where_they_are_kept_or_declared():
    days = ["2024-01-31", "2024-02-01", "2024-01-31"]
    expected = ["when[2024-02-01] (vs 2024-01-31)"]
    assert names(design({"when": days}, [0, 1, 1], keep=["when"])) == expected
    assert names(design({"when": pd.Series(days, dtype="category")}, [0, 1, 1])) == expected


@pytest.mark.parametrize("values", [["1.2.3", "1.2.4"], ["12-13", "12-14"], ["2024", "2025"], ["2024-01-31", "no"]])
def test_what_only_resembles_dates_is_text(values):
    assert len(names(design({"when": values, "y": [0, 1]}, "y"))) == 1


@pytest.mark.parametrize("wrap", [list, lambda v: pd.Series(v, dtype=object), lambda v: np.array(v, dtype=object)])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, None, "a"], r"column 'm' mixes numbers and text \(1 at row 0, 'a' at row 2\); make it one kind"),
        ([True, 1.5, None], r"column 'm' mixes booleans and numbers \(True at row 0, 1.5 at row 1\)"),
    ],
)
def test_a_column_of_mixed_kinds_is_refused(wrap, values, message):
    with pytest.raises(ValueError, match=message):
        design({"m": wrap(values), "y": [0, 1, 1]}, "y")


def test_infinity_is_refused_with_its_column_and_row(make):
    frame = make({"x": [1.0, 2.0, -np.inf], "y": [0, 1, 1]})
    with pytest.raises(ValueError, match="column 'x' has -inf at row 2"):
        design(frame, "y")


def test_the_row_of_an_infinity_is_that_in_the_frame():
    with pytest.raises(ValueError, match="column 'x' has inf at row 2"):
        design({"x": [None, 2.0, np.inf], "y": [0, 1, 1]}, "y", missing="drop")


@pytest.mark.parametrize(
    "values",
    [
        [1, -(2**53) - 1, 3],
        [1.5, 2**53 + 1, 3],
        np.array([1, 2**53 + 1, 3]),
        np.array([1, 2**64 - 1, 3], dtype=np.uint64),
        pd.Series([1, 2**53 + 1, None], dtype="Int64"),
        pl.Series([1, 2**53 + 1, None]),
        pl.Series([1, 2**80, None], dtype=pl.Int128),
        [10**400, 1, 2],
    ],
)
def test_whole_numbers_that_float64_cannot_hold_are_refused(values):
    with pytest.raises(ValueError, match=r"column 'x' has the whole number .* beyond 2\*\*53"):
        design({"x": values, "y": [0, 1, 1]}, "y", missing="drop")


def test_whole_numbers_that_float64_holds_are_taken(make):
    assert design(make({"x": [2**53, -(2**53), 1], "y": [0, 1, 1]}), "y").X[0, 0] == 2.0**53


# Missing values.

HOLES = {
    "age": [1.0, None, 3.0, 4.0, None, 6.0, 7.0],
    "ward": ["a", "b", None, "a", "b", "c", "a"],
    "well": [True, None, True, False, False, True, False],
    "count": [1, 2, 3, None, 5, 6, 9],
    "died": ["no", "yes", "no", "no", "yes", None, "yes"],
}
HOLED = {
    "pandas": lambda: pd.DataFrame(HOLES),
    "pandas nullable": lambda: pd.DataFrame(HOLES).convert_dtypes(),
    "pandas objects": lambda: pd.DataFrame(HOLES, dtype=object),
    "pandas categories": lambda: pd.DataFrame(HOLES).astype({"ward": "category", "died": "category"}),
    "polars": lambda: pl.DataFrame(HOLES),
    "polars with NaN": lambda: pl.DataFrame(HOLES).with_columns(pl.col("age").fill_null(float("nan"))),
    "polars enum": lambda: pl.DataFrame(HOLES).cast({"ward": pl.Enum(["a", "b", "c"]), "died": pl.Categorical}),
    "dict": lambda: HOLES,
    "dict with NaN": lambda: {k: [float("nan") if v is None else v for v in vs] for k, vs in HOLES.items()},
    "dict with NA": lambda: {k: [pd.NA if v is None else v for v in vs] for k, vs in HOLES.items()},
    "dict with NaT": lambda: {k: [pd.NaT if v is None else v for v in vs] for k, vs in HOLES.items()},
}


@pytest.fixture(params=HOLED)
def holed(request):
    return HOLED[request.param]()


def test_missing_values_are_counted_by_column(holed):
    with pytest.raises(ValueError, match="missing values") as caught:
        design(holed, "died")
    assert str(caught.value) == (
        "missing values: age 2, ward 1, well 1, count 1, died 1 (of 7 rows); fill them, "
        "or pass missing='drop' to leave out the 5 rows that have one."
    )


def test_rows_with_missing_values_can_be_dropped_and_levels_vanish_with_them(holed):
    made = design(holed, "died", missing="drop")
    assert made.rows.tolist() == [0, 6]
    assert made.dropped == 5
    assert names(made) == ["age", "well[True] (vs False)", "count"]
    assert made.X.tolist() == [[1, 1, 1], [7, 0, 9]]
    assert made.y.tolist() == ["no", "yes"]
    assert made.notes == ("'ward' has the same value in every row and is left out.",)


def test_one_row_with_a_missing_value_is_the_row():
    with pytest.raises(ValueError, match=r"age 1 \(of 2 rows\).*to leave out the row that has one\.$"):
        design({"age": [None, 2], "y": [0, 1]}, "y")


def test_only_the_first_columns_are_counted_by_name():
    frame = {f"x{j}": [None, 2] for j in range(11)} | {"y": [0, 1]}
    with pytest.raises(ValueError, match=r"x6 1, x7 1 and 3 more \(of 2 rows\)"):
        design(frame, "y")


def test_numeric_labels_stay_whole_when_others_are_missing():
    for frame in (pl.DataFrame({"x": [1, 2, 3], "y": [0, None, 1]}), {"x": [1, 2, 3], "y": [0, None, 1]}):
        y = design(frame, "y", missing="drop").y
        assert y.tolist() == [0, 1] and y.dtype.kind == "i"


def test_masked_entries_are_missing():
    made = design({"x": np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "y": [0, 1, 1]}, "y", missing="drop")
    assert made.rows.tolist() == [0, 2]


@pytest.mark.parametrize(
    "empty", [[None, None], pl.Series([None, None]), np.array([np.nan, np.nan]), pd.Series([None] * 2)]
)
def test_when_every_row_misses_something_nothing_is_left(empty):
    with pytest.raises(ValueError, match=r"missing values in every row: gone 2 \(of 2 rows\)"):
        design({"gone": empty, "y": [0, 1]}, "y", missing="drop")


def test_missing_has_two_choices():
    with pytest.raises(ValueError, match='missing must be "error" or "drop", got \'mean\''):
        design(WARDS, "died", missing="mean")


# The door.


def test_an_unknown_target_is_answered_with_the_names_and_a_guess(make):
    with pytest.raises(
        ValueError, match=r"there is no column 'smokr' .did you mean 'smoker'\?\); columns: age, ward, smoker, died"
    ):
        design(make(WARDS), "smokr")


def test_only_eight_names_are_listed():
    with pytest.raises(ValueError, match=r"no column 'zzz'; columns: c0, .*, c7 and 12 more\.$"):
        design({f"c{j}": [1, 2] for j in range(20)}, "zzz")


@pytest.mark.parametrize(
    ("frame", "target", "message"),
    [
        (pd.DataFrame([[1, 2, 0]], columns=["a", "a", "y"]), "y", "different names, got more than one a; rename"),
        (pd.DataFrame([[1, 2, 0]], columns=[0, "0", "y"]), "y", "different names, got more than one 0"),
        ({1: [1], "1": [2], "y": [0]}, "y", "different names, got more than one 1"),
        ({"y": [0, 1]}, "y", "no column besides the target 'y'"),
        (pd.DataFrame({"x": [], "y": []}), "y", "the frame has no rows"),
        (pl.DataFrame({"x": [], "y": []}), "y", "the frame has no rows"),
        ({"x": [], "y": []}, "y", "the frame has no rows"),
        (pd.DataFrame(), "y", "the frame has no columns"),
        (pl.DataFrame(), "y", "the frame has no columns"),
        ({}, "y", "the frame has no columns"),
        ({"x": [1, 2], "y": [0]}, "y", "equally long, got 2 values in 'x' and 1 in 'y'"),
        ({"x": [1, 2]}, [0, 1, 1], "the frame has 2 rows but target has 3 labels"),
        ({"x": np.eye(2)}, [0, 1], r"column 'x' must have one dimension, got shape \(2, 2\)"),
        ({"x": 3}, [0, 1], r"column 'x' must have one dimension, got shape \(\)"),
        ({"x": [1, 2]}, None, "y is missing: name the column that is the outcome; columns: x"),
        (pl.LazyFrame({"x": [1], "y": [0]}), "y", r"collect\(\) it first"),
        (np.eye(2), "y", "a data frame or a dict of columns is needed, got ndarray"),
        (pd.Series([1, 2]), "y", "a data frame or a dict of columns is needed, got Series"),
    ],
)
def test_a_frame_that_cannot_be_read_gets_one_clear_sentence(frame, target, message):
    with pytest.raises(ValueError, match=message):
        design(frame, target)


def test_names_need_not_be_text():
    made = design(pd.DataFrame([[1, 0], [2, 1]]), 1)
    assert names(made) == ["0"]
    assert made.target == "1"
    assert design({7: [1, 2], "y": [0, 1]}, "y").terms[0].column == "7"


@pytest.mark.parametrize(
    ("X", "answer"),
    [
        (pd.DataFrame({"a": [1]}), True),
        (pl.DataFrame({"a": [1]}), True),
        (pl.LazyFrame({"a": [1]}), True),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), True),
        ({"a": [1]}, True),
        (pd.Series([1]), False),
        (np.eye(2), False),
        ([[1, 2]], False),
        (None, False),
        (3, False),
    ],
)
def test_frames_are_told_from_arrays(X, answer):
    assert is_frame(X) is answer


def test_asking_whether_something_is_a_frame_loads_no_frame_library():
    code = (
        "import sys; from separatrix.data.frames import design, is_frame; is_frame(3); "
        "design({'x': [1, 2]}, ['a', 'b']); "
    )
    code += "print([m for m in ('pandas', 'polars', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_dicts_need_no_narwhals_and_frames_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    assert names(design({"x": [1, 2], "f": ["a", "b"]}, [0, 1])) == ["x", "f[b] (vs a)"]
    assert not is_frame(pd.DataFrame({"a": [1]}))
    with pytest.raises(ImportError, match=re.escape(install("frames"))):
        design(pd.DataFrame({"a": [1], "y": [0]}), "y")


def test_the_frame_is_left_as_it_was(make):
    frame = make({"x": [1.0, None, 3.0], "f": ["a", None, "b"], "y": [0, 1, 1]})
    before = str(frame)
    made = design(frame, "y", missing="drop")
    made.X[:] = 9
    assert str(frame) == before


def test_the_rule_for_the_reference_agrees_with_counting_by_hand():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 30))
        f = rng.choice(list("abcd"), n).tolist()
        y = rng.integers(0, 3, n).tolist()
        levels = sorted(set(f))
        mixed = [k for k in levels if len({v for g, v in zip(f, y, strict=True) if g == k}) > 1] or levels
        reference = max(mixed, key=f.count)
        made: Design = design({"f": f, "x": [0.5] * n}, y)
        expected = [f"f[{k}] (vs {reference})" for k in levels if k != reference]
        assert names(made) == [*expected, "x"]
        for k in levels:
            if k != reference:
                assert column(made, f"f[{k}] (vs {reference})") == [float(g == k) for g in f]


def test_one_cell_that_is_no_number_is_named_in_small_tables_too():
    frame = {"age": ["61", "47", "12kg", "66", "58"], "died": ["no", "yes", "yes", "no", "yes"]}
    (note,) = sx.diagnose(frame, "died").notes
    assert note.startswith("'age' was read as text because of '12kg'; its other values are all numbers: put that right")


def test_labels_that_differ_in_capitals_or_spaces_are_told():
    for odd in ("Yes", " yes", "YES "):
        frame = {"age": [61, 47, 70, 66, 58], "died": ["no", "yes", odd, "no", "yes"]}
        notes = sx.diagnose(frame, "died", model="multinomial").notes
        assert any("'died' has " in note and "which may be one label: then spell them alike." in note for note in notes)
    assert not any("one label" in note for note in sx.diagnose({"a": [1, 2, 3], "y": ["a", "b", "a"]}, "y").notes)


@pytest.mark.parametrize("reference", ["north", "icu"])
def test_a_level_with_one_outcome_is_a_fact_whichever_is_the_reference(reference):
    frame = {
        "ward": ["north", "north", "south", "south", "icu", "icu"],
        "died": ["no", "yes", "no", "yes", "yes", "yes"],
    }
    found = sx.diagnose(frame, "died", reference={"ward": reference})
    assert found.facts == ("ward = icu: all 2 rows have died = yes",)
