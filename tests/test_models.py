"""Every model's separation: a model is a recipe from a table to rows, and the rest is one question about rows."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.models.conditions import STRUCTURE, in_parts
from separatrix.models.model import MODELS
from separatrix.models.recipe import Recipe

PEERS = Path(__file__).resolve().parents[2] / "shared" / "peers"
beside = pytest.mark.skipif(not PEERS.is_dir(), reason="the data of other packages are not beside the checkout")
EXPECTED = json.loads((PEERS / "expected.json").read_text(encoding="utf-8")) if PEERS.is_dir() else {}
COUNTED = sorted(name for name in EXPECTED if name.startswith("ppmlhdfe"))


def peer(name):
    return pd.read_csv(PEERS / name)


@beside
@pytest.mark.parametrize("name", COUNTED)
def test_the_separated_rows_of_ppmlhdfe_are_proven(name):
    told = EXPECTED[name]
    frame = peer(name)[[told["y"], *told["x"], *told["fixed_effects"]]]
    found = sx.diagnose(frame, told["y"], model="ppml", fixed_effects=told["fixed_effects"])
    assert (found.rows + 1).tolist() == told["rows_1based"]
    assert found.certainty == "proven"
    assert found.verify(frame)
    if len(found.rows):  # the kind alone is not what is shown
        assert sx.verify(found.proof, frame) and not replace(found, rows=found.rows[1:]).verify(frame)


@beside
@pytest.mark.parametrize(("name", "kind"), [("csep", "complete"), ("qcsep", "quasi-complete"), ("ovl", "overlap")])
@pytest.mark.parametrize("model", ["multinomial", "cumulative", "adjacent", "sequential"])
def test_outcomes_of_three_classes_are_of_the_kind_that_divorce_says(name, kind, model):
    frame = peer(f"divoRce/{name}dat{'m' if model == 'multinomial' else 'o'}.csv")
    found = sx.diagnose(frame, "y", model=model)
    assert (found.kind, found.certainty) == (kind, "proven")
    assert sx.verify(found.proof, frame)


@beside
def test_lizards_overlap_as_successes_and_failures_and_as_trials():
    frame = peer("R/lizards.csv")
    pair = sx.diagnose(frame, ["grahami", "opalinus"])
    failures = sx.diagnose(frame, "grahami", failures="opalinus")
    total = frame.assign(all=frame.grahami + frame.opalinus).drop(columns="opalinus")
    trials = sx.diagnose(total, "grahami", trials="all", model="probit")
    assert {found.kind for found in (pair, failures, trials)} == {"overlap"}
    assert sx.verify(pair.proof, frame) and sx.verify(trials.proof, total)


@beside
def test_endometrial_has_one_infinite_coefficient_whatever_the_link():
    frame = peer("R/endometrial.csv")
    for model in ("logit", "probit", "cauchit", "cloglog"):
        found = sx.diagnose(frame, "HG", model=model)
        assert found.kind == "quasi-complete"
        assert dict(found.columns) == {"NV": "+", "PI": "0", "EH": "0", "(intercept)": "0"}


def test_a_cox_table_whose_arms_die_one_after_the_other_is_unbounded():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"arm": [1] * 6 + [0] * 6, "age": rng.normal(size=12).round(1), "t": np.arange(1.0, 13.0), "died": 1}
    )
    found = sx.diagnose(frame, time="t", event="died")
    assert found.model == "cox" and found.kind == "quasi-complete" and found.columns["arm"] == "+"
    assert found.rows.tolist() == list(range(6))
    assert sx.verify(found.proof, frame)
    mixed = frame.assign(t=rng.permutation(frame.t))
    assert sx.diagnose(mixed, "t", event="died", model="cox").kind == "overlap"
    assert not sx.verify(found.proof, mixed)


def test_a_conditional_logit_whose_cases_exceed_their_controls_is_complete():
    frame = pd.DataFrame({"dose": [0.3, 0.2, 0.1, 0.5, 0.4, 0.1], "case": [1, 0, 0] * 2, "set": [1] * 3 + [2] * 3})
    found = sx.diagnose(frame, "case", groups="set")
    assert (found.model, found.kind, dict(found.columns)) == ("conditional", "complete", {"dose": "+"})
    assert found.rows.tolist() == [0, 3]
    assert sx.verify(found.proof, frame)
    assert not sx.verify(found.proof, frame.assign(dose=-frame.dose))


def test_a_column_that_is_constant_within_sets_is_aliased_also_where_it_has_to_be_split():
    frame = pd.DataFrame({"dose": [0.3, 0.2, 0.1, 0.7], "age": [0.1, 0.1, 1e9 / 3, 1e9 / 3], "case": [1, 0, 0, 1]})
    found = sx.diagnose(frame, "case", groups=[1, 1, 2, 2])
    assert dict(found.columns) == {"dose": "+", "age": "aliased"}


def test_parts_of_a_column_add_up_to_it_and_their_sums_are_exact():
    rng = np.random.default_rng(1)
    for largest in (1, 3, 7):
        A = np.column_stack([rng.normal(size=9), rng.integers(-5, 5, 9) * 0.1, 10.0 ** rng.integers(-12, 12, 9) / 3])
        parts = in_parts(A, largest)
        for j in range(3):
            mine = [part for column, part in parts if column == j]
            assert [sum(map(Fraction, entries)) for entries in zip(*mine, strict=True)] == list(map(Fraction, A[:, j]))
            for part in mine:
                for a, b in zip(part, rng.permutation(part), strict=True):
                    assert Fraction(float(largest * a - largest * b)) == largest * (Fraction(a) - Fraction(b))


def test_rows_of_weight_zero_are_left_out_and_offsets_change_nothing():
    frame = {"x": [1, 2, 3, 4, 2.5], "died": [0, 0, 1, 1, 0], "w": [1, 1, 1, 1, 1]}
    assert sx.diagnose(frame, "died", sample_weight="w").kind == "complete"
    spoiled = {**frame, "died": [0, 0, 1, 1, 1], "x": [1, 2, 3, 4, 0.5]}
    assert sx.diagnose(spoiled, "died", sample_weight="w").kind == "overlap"
    weighted = {**spoiled, "w": [1, 1, 1, 1, 0]}
    found = sx.diagnose(weighted, "died", sample_weight="w")
    assert found.kind == "complete" and found.n == 4 and found.rows.tolist() == [0, 1, 2, 3]
    assert sx.verify(found.proof, weighted)
    assert not sx.verify(found.proof, spoiled)
    shifted = sx.diagnose(spoiled, "died", sample_weight="w", offset=[0.0, 9.0, -3.0, 1.0, 5.0])
    assert shifted.kind == "overlap"


def test_the_model_is_guessed_only_where_one_guess_is_sensible():
    x = [0.1, 0.4, 0.2, 0.9, 0.5, 0.3]
    ordered = pd.Categorical(list("lmhlmh"), ["l", "m", "h"], ordered=True)
    assert sx.diagnose(pd.DataFrame({"x": x, "y": ordered}), "y").model == "cumulative"
    several = sx.diagnose({"x": x, "y": list("abcabc")}, "y")
    assert several.model == "multinomial" and "text" in several.assumed and "because y is text" in str(several)
    assert sx.diagnose({"x": x, "y": [True, False] * 3}, "y").model == "logit"
    with pytest.raises(ValueError, match="3 different numbers, and more than one model would fit; say which: model="):
        sx.diagnose({"x": x, "y": [0, 1, 2, 0, 1, 2]}, "y")


def test_a_proof_of_a_model_survives_its_file_and_names_the_model(tmp_path):
    frame = {"smoker": [1, 1, 0, 0, 0], "age": [30, 40, 50, 45, 20], "visits": [0, 0, 2, 1, 3]}
    found = sx.diagnose(frame, "visits", model="poisson")
    sx.save_proof(found.proof, tmp_path / "visits.proof")
    again = sx.load_proof(tmp_path / "visits.proof")
    assert again.model["model"] == "poisson" and "in the model poisson" in str(again)
    assert sx.verify(again, frame)
    assert not sx.verify(again, {**frame, "visits": [1, 0, 2, 1, 3]})
    document = json.loads((tmp_path / "visits.proof").read_text())
    for change in ({"model": "probit"}, {"beside": {"weight": 3}}, {"outcome": 7}, {"formula": "y"}, {"more": 1}):
        document["model"] = {**again.model, **change}
        (tmp_path / "changed.proof").write_text(json.dumps(document))
        if change == {"model": "probit"}:
            with pytest.raises(ValueError, match="3 different values|4 different values"):
                sx.verify(sx.load_proof(tmp_path / "changed.proof"), frame)
            continue
        with pytest.raises(sx.ProofError, match="damaged"):
            sx.load_proof(tmp_path / "changed.proof")


def test_values_that_a_proof_cannot_name_are_asked_for_again():
    frame = {"x": [3.0, 1.0, 2.0, 5.0], "t": [1.0, 2.0, 3.0, 4.0]}
    event = [1, 1, 1, 0]
    found = sx.diagnose(frame, time="t", event=event)
    with pytest.raises(ValueError, match="made with values for event; give them again"):
        sx.verify(found.proof, frame)
    assert sx.verify(found.proof, frame, beside={"event": event})


def test_every_recipe_reads_back_as_it_was():
    recipe = Recipe("ppml", None, "flow", True, {"weight": "w", "offset": ""}, ("a", "b"), {"a": "1"}, ("id",), "drop")
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_rows_are_told_by_the_labels_of_the_frames_index():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [0, 0, 1, 1]}, index=["ann", "bob", "eve", "joe"])
    frame.loc["kim"] = [2, 1]
    found = sx.diagnose(frame, "y")
    assert found.index.tolist() == ["ann", "eve", "joe"]
    assert "(ann, eve, joe)" in str(found)
    assert found.to_pandas()["estimate"].to_dict() == {"x": "+inf", "(intercept)": "-inf"}


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_has_a_condition_and_as_many_names_as_columns(model):
    rng = np.random.default_rng(2)
    X = rng.integers(-2, 3, (12, 2)).astype(float)
    family = MODELS[model][0]
    y = {"multinomial": np.arange(12) % 3, "cox": rng.permutation(12) + 1.0, "grouped": np.linspace(0, 1, 12)}.get(
        family, np.arange(12) % (3 if family in ("cumulative", "adjacent", "sequential") else 2)
    )
    options = {"cox": {"event": [1, 1, 0] * 4}, "matched": {"groups": np.arange(12) // 4}}.get(family, {})
    recipe, X, y, given = Recipe.of(
        X,
        y,
        model=model,
        fit_intercept=True,
        beside=options,
        fixed_effects=(),
        reference=None,
        keep=(),
        missing="error",
    )
    read = recipe.read(X, y, given).model
    conditions = read.conditions()
    named = len(conditions.names)
    assert conditions.names == read.coefficients
    assert conditions.Z.shape == (len(conditions.observation), named + (conditions.observation == STRUCTURE).sum() // 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "poisso"}, "did you mean 'poisson'"),
        ({"y": "amount", "model": "poisson"}, "whole counts, and amount has 0.3; model='ppml'"),
        ({"y": "low", "model": "ppml"}, "low has -1"),
        ({"y": "won", "trials": "one"}, "won is 2 of 1 trials at row 1"),
        ({"y": "died", "groups": "id"}, "has no case"),
        ({"y": "won", "model": "cox"}, "who had the event"),
        ({"y": "won", "event": "won"}, "1 for an event and 0 for censored"),
        ({"y": "died", "sample_weight": [1, 2]}, "one value per row"),
        ({"y": "died", "sample_weight": "low"}, "not be negative"),
        ({"y": "died", "groups": "one", "strata": "one"}, "two words for one thing"),
        ({"y": "name", "model": "cumulative"}, "without an order"),
        ({"y": "died", "time": "won", "event": "died"}, "not both"),
        ({"y": "name", "model": "logit"}, "4 different values, and logit is for two"),
        ({"y": "died", "trials": "one", "model": "poisson"}, "trials and failures belong to"),
    ],
)
def test_what_does_not_fit_a_model_gets_one_sentence(options, words):
    frame = pd.DataFrame(
        {
            "x": [0.5, 0.1, 0.7, 0.2],
            "amount": [0.3, 0.0, 1.0, 2.0],
            "low": [1, -1, 0, 3],
            "won": [1, 2, 0, 1],
            "one": [1, 1, 1, 1],
            "died": [0, 1, 0, 1],
            "id": [1, 2, 3, 4],
            "name": ["a", "b", "c", "d"],
        }
    )
    options = {"y": "died", **options}
    with pytest.raises(ValueError, match=words) as raised:
        sx.diagnose(frame, options.pop("y"), **options)
    assert "\n" not in str(raised.value)


def test_a_statsmodels_model_says_itself_which_model_it_is():
    sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=60).round(1), "rare": (np.arange(60) < 6).astype(int)})
    counts = np.where(X.rare == 1, 0, rng.poisson(2, 60))
    model = sm.Poisson(counts, sm.add_constant(X))
    found = sx.diagnose(model)
    assert found.model == "poisson" and dict(found.columns) == {"age": "0", "rare": "-", "(intercept)": "0"}
    assert sx.verify(found.proof, model)
    assert sx.diagnose(sm.GLM(counts * 0.5, sm.add_constant(X), family=sm.families.Poisson())).model == "ppml"
    died = rng.integers(0, 2, 60)
    hazards = sm.PHReg(rng.exponential(size=60), X, status=died, strata=np.arange(60) % 2)
    assert sx.diagnose(hazards).model == "cox"
    late = sm.PHReg(rng.exponential(size=60) + 1, X, status=died, entry=np.full(60, 0.5))
    with pytest.raises(ValueError, match="late entry is not supported"):
        sx.diagnose(late)


def test_the_checker_for_sceptics_leaves_models_to_the_package(tmp_path):
    from attacks import checked

    frame = {"x": [1.0, 1.0, 0.0, 0.0, 0.0], "y": [0, 0, 2, 1, 3]}
    sx.save_proof(sx.diagnose(frame, "y", model="poisson").proof, tmp_path / "y.proof")
    (tmp_path / "y.csv").write_text("x,y\n" + "\n".join(f"{a},{b}" for a, b in zip(*frame.values(), strict=True)))
    said = "not checked here: proofs of models are for `separatrix verify` alone.\n"
    assert checked(tmp_path / "y.proof", tmp_path / "y.csv") == (3, said)


def test_rows_of_weight_zero_lend_neither_levels_nor_outcomes():
    children = {"cls": ["1st", "2nd", "3rd"], "survived": [6, 24, 27], "died": [0, 0, 52]}
    grouped = sx.diagnose(children, ("survived", "died"))
    assert grouped.columns == {"cls[1st] (vs 3rd)": "+", "cls[2nd] (vs 3rd)": "+", "(intercept)": "0"}
    fates = pd.DataFrame(children).melt("cls", var_name="fate", value_name="n")
    fates.loc[len(fates)] = ["crew", "died", 0]
    for single in (
        sx.diagnose(fates, "fate", sample_weight="n"),
        sx.diagnose("fate ~ cls", fates, sample_weight="n"),
    ):
        assert single.columns == grouped.columns
        assert single.notes == ("3 rows of weight 0 left out.",) and single.dropped == 0 and single.n == 4


def test_columns_of_zeros_and_ones_are_told_by_the_rows_that_they_mark():
    cured = ["yes", "yes", "no", "yes", "yes", "no"]
    frame = {"treated": [1, 1, 0, 0, 0, 0], "age": [3, 5, 2, 6, 1, 4], "cured": cured}
    assert sx.diagnose(frame, "cured").facts == ("treated is 1: all 2 rows have cured = yes",)
    other = {**frame, "treated": [0, 0, 1, 1, 1, 1]}
    assert sx.diagnose(other, "cured").facts == ("treated is 0: all 2 rows have cured = yes",)


def test_many_pairs_of_classes_that_are_alike_are_told_in_one_line():
    x = np.tile(np.arange(4.0), 6)
    report = str(sx.diagnose({"x": x, "y": np.repeat(list("abcdef"), 4)}, "y"))
    assert "any two of the classes by themselves: overlap" in report and "against" not in report


def test_an_option_does_not_overrule_the_formula_and_verify_takes_the_formula_too():
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 2.5], "y": [0, 0, 1, 1, 1]})
    found = sx.diagnose("y ~ x - 1", frame)
    assert list(found.columns) == ["x"]
    assert sx.verify(found.proof, frame) and sx.verify(found.proof, "y ~ x - 1", frame)
    with pytest.raises(ValueError, match="fit_intercept=False contradicts the formula"):
        sx.diagnose("y ~ x", frame, fit_intercept=False)
    assert list(sx.diagnose(frame, "y").columns) == ["x", "(intercept)"]
    assert list(sx.diagnose(frame, "y", fit_intercept=False).columns) == ["x"]
