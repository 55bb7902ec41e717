"""A formula makes the columns that formulaic makes of it, in our words; what it gets wrong is one sentence."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from separatrix.data.frames import Term, design
from separatrix.data.table import is_formula, read_table
from separatrix.reporting.hints import install

pytest.importorskip("formulaic")
RNG = np.random.default_rng(7)
N = 60
PATIENTS = pd.DataFrame(
    {
        "died": RNG.integers(0, 2, N),
        "age": RNG.normal(60, 5, N).round(1),
        "stage": RNG.choice(["I", "II", "III"], N, p=[0.2, 0.5, 0.3]),
        "dose": RNG.random(N),
        "smoker": RNG.random(N) > 0.6,
        "visits": RNG.integers(1, 5, N),
        "blood type": RNG.choice(["A", "B"], N),
        "firm": RNG.integers(0, 9, N),
        "won": RNG.integers(0, 5, N),
        "lost": RNG.integers(0, 5, N),
    }
)


def names(made):
    return [term.name for term in made.terms]


def test_a_formula_of_columns_is_the_frame_of_these_columns():
    for columns in (["age", "dose"], ["age", "stage", "smoker"], ["smoker", "visits", "stage"]):
        by_formula = read_table(f"died ~ {' + '.join(columns)}", PATIENTS)
        by_frame = design(PATIENTS[[*columns, "died"]], "died")
        assert by_formula.terms == by_frame.terms
        assert np.array_equal(by_formula.X, by_frame.X)
        assert by_formula.y.tolist() == PATIENTS["died"].tolist()
        assert by_formula.target == "died"


def test_the_dot_is_every_other_column_but_identifiers():
    frame = PATIENTS[["died", "age", "stage"]].assign(id=[f"p{k}" for k in range(N)])
    by_dot, by_frame = read_table("died ~ .", frame), design(frame, "died")
    assert by_dot.terms == by_frame.terms and np.array_equal(by_dot.X, by_frame.X)
    assert by_dot.notes == by_frame.notes and "'id' differs in every row" in by_dot.notes[0]
    assert names(read_table("died ~ . - age", frame)) == ["stage[I] (vs II)", "stage[III] (vs II)"]


def test_interactions_and_factors_are_named_in_our_words():
    made = read_table("died ~ age * C(stage)", PATIENTS)
    assert names(made) == [
        "age",
        "stage[I] (vs II)",
        "stage[III] (vs II)",
        "age:stage[I] (vs II)",
        "age:stage[III] (vs II)",
    ]
    assert made.terms[1] == Term("stage[I] (vs II)", "stage", "I", "II")
    assert made.terms[3].level is None
    third = (PATIENTS["stage"] == "III") * PATIENTS["age"]
    assert np.array_equal(made.X[:, 4], third)


def test_splines_and_functions_are_computed_from_the_kept_rows():
    frame = PATIENTS.assign(dose=PATIENTS["dose"].where(PATIENTS.index != 3))
    made = read_table("died ~ bs(dose, df=4) + np.log(age) + I(age**2)", frame, missing="drop")
    assert names(made) == [*(f"bs(dose, df=4)[{k}]" for k in range(1, 5)), "np.log(age)", "I(age ** 2)"]
    assert made.dropped == 1 and 3 not in made.rows
    assert (made.X[:, :4].sum(axis=1) <= 1 + 1e-12).all()  # a basis without its constant
    assert np.allclose(made.X[:, 4], np.log(PATIENTS["age"].to_numpy()[made.rows]))


def test_numbers_as_factors_have_levels_without_a_point():
    made = read_table("died ~ C(visits)", PATIENTS.astype({"visits": float}), reference={"visits": 3})
    assert names(made) == ["visits[1] (vs 3)", "visits[2] (vs 3)", "visits[4] (vs 3)"]


def test_a_formula_that_names_the_base_has_its_way():
    made = read_table("died ~ C(stage, contr.treatment(base='III'))", PATIENTS)
    assert names(made) == ["stage[II] (vs III)", "stage[I] (vs III)"]
    assert np.array_equal(made.X[:, 1], PATIENTS["stage"] == "I")
    other = read_table("died ~ C(stage, contr.sum)", PATIENTS)
    assert names(other) == ["C(stage, contr.sum)[S.II]", "C(stage, contr.sum)[S.I]"]


def test_the_reference_is_the_level_asked_for():
    assert names(read_table("died ~ stage", PATIENTS, reference={"stage": "I"})) == [
        "stage[II] (vs I)",
        "stage[III] (vs I)",
    ]


@pytest.mark.parametrize(
    ("text", "stated", "width"),
    [
        ("died ~ age", True, 1),
        ("died ~ age - 1", False, 1),
        ("died ~ 0 + stage", False, 3),
        ("died ~ 1 + age", True, 1),
    ],
)
def test_the_intercept_is_said_and_no_column(text, stated, width):
    made = read_table(text, PATIENTS)
    assert made.fit_intercept is stated
    assert made.X.shape == (N, width)
    if width == 3:
        assert names(made) == ["stage[II]", "stage[I]", "stage[III]"]
        assert made.terms[0] == Term("stage[II]", "stage", "II", None)


def test_names_with_blanks_are_quoted():
    made = read_table("died ~ `blood type` + age", PATIENTS)
    assert names(made)[0].startswith("blood type[")
    assert names(read_table("died ~ C(`blood type`) + age", PATIENTS)) == names(made)


def test_the_outcome_may_be_two_columns_or_computed_or_text():
    pair = read_table("won + lost ~ age", PATIENTS)
    assert np.array_equal(pair.y, PATIENTS[["won", "lost"]]) and pair.target == "won + lost"
    over = read_table("I(dose > 0.5) ~ age", PATIENTS)
    assert np.array_equal(over.y, PATIENTS["dose"] > 0.5) and over.target == "I(dose > 0.5)"
    stage = pd.Categorical(PATIENTS["stage"], categories=["I", "II", "III"], ordered=True)
    text = read_table("stage ~ age", PATIENTS.assign(stage=stage))
    assert text.y.tolist() == PATIENTS["stage"].tolist()
    assert text.levels == ("I", "II", "III") and text.ordered


def test_behind_the_bar_stand_fixed_effects():
    made = read_table("won ~ age | firm + stage", PATIENTS)
    same = read_table("won ~ age", PATIENTS, fixed_effects=["firm", "stage"])
    assert made.terms == same.terms and (made.X != same.X).nnz == 0
    assert made.X.shape == (N, 1 + 8 + 2) and made.fit_intercept is True
    assert all(np.isin(made.X[:, [j]].toarray(), (0, 1)).all() for j in range(1, 11))


def test_every_kind_of_frame_and_files_will_do(tmp_path):
    path = tmp_path / "patients.csv"
    PATIENTS.to_csv(path, index=False)
    text = "died ~ age * stage + smoker"
    expected = read_table(text, PATIENTS)
    for frame in (pl.DataFrame(PATIENTS), PATIENTS.to_dict("list"), str(path), path):
        made = read_table(text, frame)
        assert made.terms == expected.terms and np.array_equal(made.X, expected.X)


def test_what_is_beside_a_formula_comes_by_name():
    made = read_table("died ~ age", PATIENTS, beside={"weight": "dose", "groups": PATIENTS["firm"].to_numpy()})
    assert names(made) == ["age"]
    assert np.array_equal(made.beside["weight"], PATIENTS["dose"])
    assert np.array_equal(made.beside["groups"], PATIENTS["firm"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("died ~ agee", r"the formula names 'agee', which is no column \(did you mean 'age'"),
        ("died ~ bs(dos)", r"the formula names 'dos', which is no column \(did you mean 'dose'"),
        ("dyed ~ age", r"the formula names 'dyed', which is no column \(did you mean 'died'"),
        ("I(dyed > 1) ~ age", r"the formula names 'dyed', which is no column \(did you mean 'died'"),
        ("died ~ spline(age)", "the formula calls 'spline', which is no function here"),
        ("died ~ age +", "the formula 'died ~ age .' cannot be read"),
        ("died ~ (age", r"the formula 'died ~ \(age' cannot be read"),
        ("died ~ age ~ dose", "cannot be read"),
        ("died ~ C(stage, 3)", r"the formula 'died ~ C\(stage, 3\)' cannot be computed"),
        ("died ~ np.log(age - age)", r"column 'np.log\(age - age\)' has -inf at row 0"),
        ("~ age", "the formula '~ age' has no outcome; write it in front"),
        ("died ~ 1", "the formula 'died ~ 1' has no column besides the intercept"),
        ("died + age + dose ~ stage", "must be one outcome, or two columns of successes and failures"),
        ("died + stage ~ age", "successes and failures are numbers, but 'stage' holds 'I'"),
        ("died ~ age | firm:stage", "behind the bar .* stand fixed effects, columns joined by"),
        ("died ~ age | firn", r"there is no column 'firn' \(did you mean 'firm'"),
    ],
)
def test_a_formula_that_cannot_be_used_gets_one_sentence(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_table(text, PATIENTS)
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "died ~ I(__import__('os').mkdir('reached'))",
        "died ~ {(__import__('os').mkdir('reached') or log)(age)}",
        "{(__import__('os').mkdir('reached') or log)(age)} ~ .",
        "I(__import__('os').mkdir('reached')) ~ age",
        "died ~ age + I(open('reached', 'w').write('x'))",
        "died ~ I(age.to_csv('reached'))",
        "died ~ I([c for c in ().__class__.__base__.__subclasses__()])",
        "died ~ I((lambda: eval('1'))())",
        "died ~ np.save('reached', age)",
        "died ~ np.load('reached')",
        "died ~ I(np.lib.npyio.save('reached', age))",
        "died ~ C(stage, contr.mro()[0])",
        "died ~ C(stage, levels=['`', open('reached', 'w'), '`'])",
        "I(C(stage, levels=['`', open('reached', 'w'), '`'])) ~ age",
        "died ~ hashed(stage, 5, hash_func=eval)",
        "died ~ I(f'{age}')",
        "died ~ I(9**9**9**9 * age)",
        "died ~ I(round(9)**round(9)**round(9)**9 + age)",
        "died ~ I(len('a' * 10**12))",
        "died ~ age | I(__import__('os').mkdir('reached'))",
    ],
)
def test_a_formula_from_elsewhere_computes_columns_and_nothing_else(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="formula|fixed effects") as caught:
        read_table(text, PATIENTS)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("np.log1p(age)", np.log1p(PATIENTS["age"])),
        ("np.where(age > 60, 1, 0)", PATIENTS["age"] > 60),
        ("I((age - 60) / 5)", (PATIENTS["age"] - 60) / 5),
        ("I(abs(age - 60)**0.5)", abs(PATIENTS["age"] - 60) ** 0.5),
        ("I((stage == 'II') & ~smoker)", (PATIENTS["stage"] == "II") & ~PATIENTS["smoker"]),
        ("np.clip(age, 55, 65)", PATIENTS["age"].clip(55, 65)),
        ("Q('age')", PATIENTS["age"]),
        ("exp(dose * np.pi)", np.exp(PATIENTS["dose"] * np.pi)),
    ],
)
def test_what_statisticians_compute_is_computed(text, values):
    assert np.allclose(read_table(f"died ~ {text}", PATIENTS).X[:, 0], values)


def test_a_formula_needs_a_frame():
    for y in (None, 3, np.eye(2)):
        with pytest.raises(ValueError, match="a formula needs the data frame that it speaks of"):
            read_table("died ~ age", y)
    with pytest.raises(ValueError, match="a LazyFrame has not read its rows yet"):
        read_table("died ~ age", pl.LazyFrame({"died": [0, 1], "age": [1, 2]}))


def test_a_factor_that_tells_rows_apart_is_refused_unless_it_is_kept():
    frame = PATIENTS.assign(id=[f"p{k}" for k in range(N)])
    with pytest.raises(ValueError, match="the formula has 'id', with 60 different values in 60 rows; leave it out"):
        read_table("died ~ age + id", frame)
    assert len(names(read_table("died ~ age + id", frame, keep=["id"]))) == N


def test_dates_are_refused_in_a_formula_too():
    frame = PATIENTS.assign(day=pd.Timestamp("2024-01-01"), text="2024-01-01")
    for name in ("day", "text"):
        frame.loc[0, name] = pd.Timestamp("2024-01-02") if name == "day" else "2024-01-02"
        with pytest.raises(ValueError, match=f"column '{name}' .* turn the dates into numbers"):
            read_table(f"died ~ age + {name}", frame)


def test_products_of_factors_that_memory_cannot_hold_are_refused_before_they_are_made():
    n = 30_000
    frame = {"y": np.arange(n) % 2, "f": [f"a{k % 150}" for k in range(n)], "g": [f"b{k % 149}" for k in range(n)]}
    with pytest.raises(ValueError, match="the formula's f:g has 22350 levels in 30000 rows, too many"):
        read_table("y ~ f:g", frame)


def test_missing_values_are_counted_only_in_columns_that_the_formula_names():
    frame = PATIENTS.assign(dose=np.nan)
    assert read_table("died ~ age", frame).dropped == 0
    with pytest.raises(ValueError, match="missing values: dose 60"):
        read_table("died ~ dose", frame)


@pytest.mark.parametrize(
    ("text", "y", "answer"),
    [
        ("died ~ age", None, True),
        ("died~age", None, True),
        ("~ age", {"a": [1]}, True),
        ("~/rows.npy", "y", False),
        ("C:\\PROGRA~1\\rows.npy", "labels.npy", False),
        ("rows.csv", "died", False),
        (3, None, False),
    ],
)
def test_formulas_are_told_from_paths(text, y, answer):
    assert is_formula(text, y) is answer


def test_without_formulaic_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match=re.escape(install("formula"))):
        read_table("died ~ age", PATIENTS)


def test_formulaic_is_loaded_by_formulas_alone():
    code = (
        "import sys; from separatrix.data.table import read_table; read_table({'x': [1, 2], 'y': [0, 1]}, 'y'); "
        "print([m for m in ('pandas', 'formulaic', 'statsmodels') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
