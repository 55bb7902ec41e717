"""After a diagnosis: what is left to fit, bounds, Firth's estimates, in the user's own names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import separatrix as sx

PEERS = Path(__file__).resolve().parents[2] / "shared" / "peers"
WARD = pd.DataFrame(
    {
        "ward": ["icu", "icu", "icu", "a", "a", "a", "b", "b", "b", "a", "b", "a"],
        "age": [50, 61, 72, 33, 45, 70, 38, 52, 66, 41, 29, 77],
        "died": [1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1],
    },
    index=[f"p{i}" for i in range(12)],
)


def test_what_is_left_of_a_ward_in_which_all_died_is_the_other_wards():
    found = sx.diagnose(WARD, "died")
    left = found.reduced()
    assert left.rows.tolist() == list(range(3, 12)) and found.rows.tolist() == [0, 1, 2]
    fit = left.fit()
    rest = sx.diagnose(WARD[WARD.ward != "icu"], "died").reduced().fit()
    assert fit.estimates == pytest.approx(rest.estimates, abs=1e-8)
    assert fit.log_likelihood == pytest.approx(rest.log_likelihood)
    (icu,) = found.infinite
    assert found.bound(icu) < found.bound(icu, level=0.9)  # more confidence, less said
    bounds = found.fitted()
    assert bounds.rows.tolist() == [0, 1, 2] and (bounds.low > 0).all() and (bounds.high == 1).all()


def test_overlap_leaves_the_model_as_it_is_and_has_no_bounds():
    found = sx.diagnose(WARD[["age", "died"]], "died")
    assert found.kind == "overlap"
    fit = found.reduced().fit()
    assert fit.n == 12 and fit.converged
    with pytest.raises(ValueError, match="does not run off"):
        found.bound("age")
    with pytest.raises(ValueError, match=r"no coefficient 'dose'; infinite ones: none"):
        found.bound("dose")


def test_an_undecided_kind_leaves_nothing_to_reduce():
    X = np.random.default_rng(6).normal(size=(2000, 100))
    found = sx.diagnose(X, X[:, 0] > 0, time_limit=1e-9)
    assert found.kind == "undecided"
    with pytest.raises(ValueError, match="give more time"):
        found.reduced()


def test_firths_lines_run_as_printed(tmp_path):
    pytest.importorskip("firthmodels", reason="firthmodels is not installed")
    WARD.to_csv(tmp_path / "ward.csv", index=False)
    lines = sx.diagnose(WARD, "died").firth()
    script = f"import pandas as pd\ndf = pd.read_csv({str(tmp_path / 'ward.csv')!r})\n{lines}"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "ward[icu] (vs a)" in ran.stdout and "(intercept)" in ran.stdout


@pytest.mark.skipif(not PEERS.is_dir(), reason="the data of other packages are not beside the checkout")
def test_example_1_of_ppmlhdfe_keeps_the_constant_of_its_guide():
    frame = pd.read_csv(PEERS / "ppmlhdfe/guides/example1.csv")
    fit = sx.diagnose(frame, "y", model="ppml").reduced().fit()
    assert dict(zip(fit.names, fit.estimates.round(5), strict=True))["(intercept)"] == 0.59095


def test_the_reduced_frame_has_the_users_names():
    frame = sx.diagnose(WARD, "died").reduced().frame()
    assert list(frame) == ["ward[b] (vs a)", "age", "died"] and frame.index.tolist() == list(range(3, 12))


def test_firths_lines_leave_no_strata_out():
    times = pd.DataFrame(
        {"arm": [1, 1, 1, 0, 0, 0], "site": ["a", "b"] * 3, "days": [1, 2, 3, 4, 5, 6], "died": [1, 1, 1, 1, 1, 0]}
    )
    plain = sx.diagnose(times[["arm", "days", "died"]], "days", model="cox", event="died")
    assert "FirthCoxPH" in plain.firth()
    with pytest.raises(ValueError, match="firthmodels has no strata"):
        sx.diagnose(times, "days", model="cox", event="died", groups="site").firth()


def test_firths_lines_leave_out_the_rows_that_the_diagnosis_did_and_no_others():
    holes = WARD.assign(half=[1.0, None] * 6, weight=[None] + [2.0] * 11, months=WARD.age / 10, early=WARD.age * 2)
    holes.loc["p1", "ward"], holes.loc["p5", "months"], holes.loc["p8", "early"] = None, None, None
    asked = [
        ("died ~ age + ward", {}, 11),
        ("died ~ log(age) * C(ward) + months", {"sample_weight": "weight"}, 9),
        ("died ~ .", {"sample_weight": "half"}, 4),
        ("died", {"sample_weight": "weight"}, 4),
    ]
    for y, beside, n in asked:
        given = (y, holes) if "~" in y else (holes, y)
        found = sx.diagnose(*given, **beside, missing="drop")
        assert found.n == n
        (line,) = (line for line in found.firth().splitlines() if line.startswith("df = "))
        names = {"df": holes}
        exec(line, names)
        assert names["df"].index.tolist() == holes.index[found.basis.places].tolist()


@pytest.mark.parametrize(
    ("given", "options", "why"),
    [
        (("died ~ age | ward", WARD), {}, "no lines for fixed effects"),
        (("I(died > 0) ~ age", WARD), {}, r"computes 'I\(died > 0\)'; make it a column"),
        (("died ~ log(age) + .", WARD), {}, "what the formula's dot stands for; write its columns"),
        ((WARD, "died"), {"sample_weight": [1.0] * 12}, "give weight as a name"),
        ((WARD, "died"), {"model": "probit"}, "has no model 'probit'"),
        ((WARD, "died"), {"model": "poisson"}, "has no model 'poisson'"),
        ((WARD[["age"]].to_numpy(), WARD.died.to_numpy()), {}, "this diagnosis is of values without such names"),
    ],
)
def test_where_there_are_no_lines_for_firths_estimates_a_sentence_says_why(given, options, why):
    with pytest.raises(ValueError, match=why):
        sx.diagnose(*given, **options).firth()


def test_a_model_of_statsmodels_is_told_that_firths_lines_need_its_frame():
    smf = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")
    with pytest.raises(ValueError, match="of a statsmodels model; diagnose a frame with .*, or a formula with"):
        sx.diagnose(smf.logit("died ~ age + ward", WARD)).firth()
