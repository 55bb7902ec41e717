"""What cannot be a model's table is refused in one sentence: what was wrong, the value seen, the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix as sx

NAN, INF = float("nan"), float("inf")
X = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
DIED, SET, COUNT = [0, 1, 0, 1, 1, 0], [1, 1, 1, 2, 2, 2], [0, 0, 1, 2, 3, 0]
ONES = [1] * 6
CLASSES = ("multinomial", "cumulative", "adjacent", "sequential")
BINARY = ("logit", "probit", "cauchit", "cloglog")
COUNTS = ("poisson", "negative-binomial", "ppml")


def frame(**columns):
    return pd.DataFrame({"x": X, "z": [0, 1, 0, 1, 1, 0], **columns})


def refused(said, *data, **options):
    """The sentence, which has to hold these words; nothing else may come out, not even a warning."""
    with pytest.raises((ValueError, TypeError)) as caught:
        sx.diagnose(*data, **options)
    sentence = str(caught.value)
    assert said in sentence
    assert "\n" not in sentence and len(sentence) < 400 and sentence.endswith("."), sentence
    assert "np." not in sentence


@pytest.mark.parametrize(
    ("won", "trials", "said"),
    [
        (COUNT, ONES, "2 of 1 trials at row 3"),
        ([-1, 0, 1, 1, 0, 1], ONES, "must not be negative, got -1"),
        (DIED, [1, 1, 1, 1, -1, 1], "1 of -1 trials at row 4"),
        (DIED, [1, 1, 1, 1, 1, NAN], "missing values: beside 1"),
        (DIED, [1, 1, 1, 1, 1, INF], "trials must be finite, got inf"),
        (DIED, list("abcdef"), "trials must be numbers, got 'a'"),
        (list("abcdef"), ONES, "must be numbers here, got 'a'"),
        ([NAN, *DIED[1:]], ONES, "missing values: y 1"),
        ([0] * 6, [0] * 6, "no row has any trials"),
    ],
)
def test_successes_that_do_not_fit_their_trials(won, trials, said):
    refused(said, frame(y=won, beside=trials), "y", trials="beside")


def test_trials_that_are_no_column_or_none_for_each_row_or_said_twice():
    table = frame(y=DIED, lost=ONES, all=ONES)
    refused("there is no column 'nope'", table, "y", trials="nope")
    refused("failures must not be negative, got -1", table.assign(lost=[-1] * 6), "y", failures="lost")
    refused("one of them follows from the other", table, "y", trials="all", failures="lost")
    refused("one of them follows from the other", table, ("y", "lost"), trials="all")
    refused("2 values for 6 rows", table[["x"]].to_numpy(), DIED, trials=[1, 2])
    refused("one value per row, got shape ()", table[["x"]].to_numpy(), DIED, trials=5)
    for model in (*COUNTS, *CLASSES, "cox", "conditional"):
        refused("belong to counts of successes", table, "y", trials="all", model=model)


@pytest.mark.parametrize(
    ("y", "said"),
    [([0.5, 1.2, 0, 1, 1, 0], "1.2 of 1 at row 1"), ([0.5, -0.2, 0, 1, 1, 0], "must not be negative, got -0.2")],
)
def test_shares_beyond_0_and_1(y, said):
    refused(said, frame(y=y), "y", model="fractional")


@pytest.mark.parametrize("model", COUNTS)
@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([-1, 0, 1, 2, 0, 0], "y has -1"),
        ([INF, 0, 1, 2, 0, 0], "must be finite, got inf"),
        ([NAN, 0, 1, 2, 0, 0], "missing values: y 1"),
        (list("012010"), "must be numbers here, got '0'"),
        (pd.date_range("2020-01-01", periods=6), "turn the dates into numbers"),
    ],
)
def test_what_is_no_count(model, y, said):
    refused(said, frame(y=y), "y", model=model)


def test_half_a_count_is_an_amount():
    refused("model='ppml' takes amounts", frame(y=[0.5, 0, 1, 2, 0, 0]), "y", model="poisson")
    assert sx.diagnose(frame(y=[0.5, 0, 1, 2, 0, 0]), "y", model="ppml").mle_exists


def test_matched_sets_without_a_case_a_control_or_a_name():
    refused("set 1 has no case", frame(y=[0, 0, 0, 0, 1, 0], g=SET), "y", groups="g")
    refused("set 2 has no case", frame(y=[1, 0] * 3, g=range(1, 7)), "y", groups="g")
    refused("one class only (1)", frame(y=ONES, g=SET), "y", groups="g")
    refused("groups='…'", frame(y=DIED), "y", model="conditional")
    refused("missing values: g 1", frame(y=DIED, g=[*"aaabb", None]), "y", groups="g")
    refused("3 different values", frame(y=[0, 1, 2] * 2, g=SET), "y", groups="g")
    refused("give one of them", frame(y=DIED, g=SET), "y", groups="g", strata="g")
    for model in (*BINARY, *COUNTS, *CLASSES):
        refused("groups does not belong", frame(y=DIED, g=SET), "y", groups="g", model=model)


def test_a_set_that_loses_its_case_to_a_weight_of_zero_has_none():
    table = frame(y=DIED, g=SET, w=[1, 0, 1, 1, 1, 1])
    refused("set 1 has no case", table, "y", groups="g", sample_weight="w")


@pytest.mark.parametrize(
    ("time", "event", "said"),
    [
        ([-1, *X[1:]], DIED, "times must not be negative, got -1"),
        ([NAN, *X[1:]], DIED, "missing values: t 1"),
        ([INF, *X[1:]], DIED, "must be finite, got inf"),
        (list("abcdef"), DIED, "must be numbers here, got 'a'"),
        (pd.date_range("2020-01-01", periods=6), DIED, "turn the dates into numbers"),
        (X, [0, 1, 2, 1, 1, 0], "0 for censored, got 2"),
        (X, [0, -1, 0, 1, 1, 0], "0 for censored, got -1"),
        (X, list("nynyyn"), "0 for censored, got n"),
        (X, [0, 1, NAN, 1, 1, 0], "missing values: e 1"),
        (X, [0] * 6, "no row has an event"),
        (X, [0, 0, 0, 0, 0, 1], "no observation is compared with another"),
    ],
)
def test_times_and_events_that_are_none(time, event, said):
    refused(said, frame(t=time, e=event), time="t", event="e")


@pytest.mark.parametrize("model", [None, "cox"])
def test_events_without_time_and_times_without_event(model):
    refused("but not when: give the times", frame(e=DIED), event="e", model=model)
    refused("but not when: give the times", frame()[["x"]].to_numpy(), event=DIED, model=model)
    refused("not who had the event", frame(t=X), time="t", model=model)
    refused("not both", frame(t=X, e=DIED, y=X), "y", time="t", event="e", model=model)


def test_an_event_belongs_to_cox_alone():
    for model in (*BINARY, *COUNTS, *CLASSES, "conditional"):
        groups = "g" if model == "conditional" else None
        refused("event does not belong", frame(y=DIED, e=DIED, g=SET), "y", event="e", model=model, groups=groups)


@pytest.mark.parametrize("model", ["logit", "poisson", *CLASSES])
@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ([1, 2], "2 values for 6 rows"),
        ([1, 1, 1, 1, 1, -1], "must not be negative, got -1"),
        ([1, 1, 1, 1, 1, NAN], "missing values: weight 1"),
        ([1, 1, 1, 1, 1, INF], "must be finite, got inf"),
        (list("abcdef"), "must be numbers, got 'a'"),
        ([0] * 6, "every weight is 0"),
        (2.0, "one value per row, got shape ()"),
    ],
)
def test_weights_that_are_none(model, weight, said):
    refused(said, np.column_stack([X, SET]), DIED, model=model, sample_weight=weight)


@pytest.mark.parametrize("model", [None, *CLASSES])
@pytest.mark.parametrize("levels", [["a"], ["a", "b", "c"]])
def test_an_ordered_category_with_one_level(model, levels):
    y = pd.Categorical(["a"] * 6, levels, ordered=True)
    refused("one class only (a)", frame(y=y), "y", model=model)


@pytest.mark.parametrize("model", ["cumulative", "adjacent", "sequential"])
def test_text_has_no_order(model):
    refused("text without an order", frame(y=list("abcabc")), "y", model=model)


NEEDS = {"cox": {"event": DIED}, "conditional": {"groups": SET}}


@pytest.mark.parametrize("model", ["logit", *COUNTS, *CLASSES, *NEEDS])
def test_regressors_that_are_none(model):
    options = {"model": model, **NEEDS.get(model, {})}
    none = {key: value if key == "model" else [] for key, value in options.items()}
    A, y = np.column_stack([X, DIED]), X if model == "cox" else DIED
    for bad in (NAN, INF):
        spoiled = A.copy()
        spoiled[2, 1] = bad
        refused("row 2, column 1", spoiled, y, **options)
    refused("X is empty", A[:0], [], **none)
    refused("X is empty", A[:, :0], y, **options)
    refused("two dimensions", A[:, 0], y, **options)
    refused("X must be numeric", np.array([["a", "b"]] * 6), y, **options)
    refused("X has 6 rows but y has 2", A, y[:2], **options)
    refused("no column besides the target", pd.DataFrame({"y": y}), "y", **options)
    refused("no rows", pd.DataFrame({"x": [], "y": []}), "y", **none)


@pytest.mark.parametrize("model", ["adjacent", *NEEDS])
def test_entries_whose_differences_are_no_floats(model):
    A = np.array([[1e308], [-1e308], [1.0], [2.0], [5e307], [0.0]])
    refused("too large to compare", A, X if model == "cox" else [0, 1, 0, 1, 1, 0], model=model, **NEEDS.get(model, {}))


def test_one_observation_has_one_outcome():
    for model in ("logit", *CLASSES):
        refused("one class only", [[1.0]], [0], model=model)
    assert sx.diagnose([[1.0]], [0], model="poisson").kind == "complete"
    assert sx.diagnose([[1.0]], [3], model="poisson").kind == "overlap"


def test_names_that_are_none():
    refused("there is no model 'logistic' (did you mean 'logit'", frame(y=DIED), "y", model="logistic")
    refused("reference maps columns to levels", frame(y=DIED), "y", reference=["x"])
    refused("fixed_effects must be the name of a column or a list", frame(y=COUNT), "y", model="ppml", fixed_effects=3)
    refused("keep must be the name of a column or a list", frame(y=DIED), "y", keep=[3])
    refused("say which: model='poisson'", frame(y=COUNT), "y")
