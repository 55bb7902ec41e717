"""separate, margin, diagnose and verify on files: words, JSON, and an exit status that says the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli import app

SEPARABLE = "a,b,y\n1,2,0\n2,1,0\n4,5,1\n5,5,1\n"
TOUCHING = "x,y\n-1,no\n0,no\n0,yes\n1,yes\n"


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


@pytest.fixture
def table(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_separable_exits_with_0_and_inseparable_with_1(invoke, table):
    done = invoke("separate", table(SEPARABLE), "--target", "y", "--intercept")
    assert done.exit_code == 0
    assert done.stdout.startswith("separable: ")
    done = invoke("separate", table(TOUCHING), "--target", "y", "--intercept")
    assert done.exit_code == 1
    assert done.stdout.startswith("inseparable: ")


def test_undecided_exits_with_3(invoke, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "hard.npz", X=rng.normal(size=(3000, 300)), y=rng.integers(0, 2, 3000))
    done = invoke("separate", "hard.npz", "--time-limit", "1e-6")
    assert done.exit_code == 3
    assert done.stdout.startswith("undecided: ")


def test_json_holds_the_answer_by_name(invoke, table):
    done = invoke("separate", table(SEPARABLE), "--target", "y", "--intercept", "--json")
    answer = json.loads(done.stdout)
    assert answer["status"] == "separable"
    assert list(answer["theta"]) == ["a", "b", "(intercept)"]
    assert 0 < answer["lower"] <= answer["upper"]


def test_margin_prints_the_bracket(invoke, table):
    done = invoke("margin", table(SEPARABLE), "--target", "y", "--intercept", "--json", "--rtol", "1e-9")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    X = np.array([[1, 2], [2, 1], [4, 5], [5, 5.0]])
    want = sx.max_margin(X, [0, 0, 1, 1], rtol=1e-9, fit_intercept=True)
    assert answer["lower"] == pytest.approx(want.lower, rel=1e-8)
    assert answer["upper"] - answer["lower"] <= 1e-9 * answer["upper"]
    done = invoke("margin", table(TOUCHING), "--target", "y", "--intercept")
    assert done.exit_code == 1
    assert done.stdout.startswith("margin in [0, 0]")


def test_diagnose_names_the_level(invoke, table):
    lines = ["ward,age,died"] + [f"{w},{a},{d}" for w, a, d in zip("aabbabcc", range(30, 38), "01010111", strict=True)]
    done = invoke("diagnose", table("\n".join(lines)), "--target", "died", "--json")
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert answer["kind"] == "quasi-complete"
    assert any(name.startswith("ward[c]") for name in answer["infinite"])
    text = invoke("diagnose", table("\n".join(lines)), "--target", "died").stdout
    assert "advice: " in text


@pytest.mark.parametrize("command", ["separate", "diagnose"])
def test_a_written_proof_verifies_and_fails_on_other_data(invoke, table, tmp_path, command):
    data = table(SEPARABLE)
    invoke(command, data, "--target", "y", "--intercept", "--proof", "y.proof")
    done = invoke("verify", "y.proof", data, "--target", "y")
    assert done.exit_code == 0
    assert done.stdout.startswith("the proof holds: ")
    other = table(SEPARABLE.replace("2,1,0", "2,1,1").replace("5,5,1", "5,5,0"), "other.csv")
    done = invoke("verify", "y.proof", other, "--target", "y", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["holds"] is False
    short = table("\n".join(SEPARABLE.splitlines()[:-1]), "short.csv")
    assert "4 rows and 2 columns, the data have 3 rows" in invoke("verify", "y.proof", short, "--target", "y").stdout


def test_a_console_without_unicode_is_borne(table, tmp_path):
    lines = ["ward,age,died"] + [f"{w},{a},{d}" for w, a, d in zip("aabbabcc", range(30, 38), "01010111", strict=True)]
    command = [sys.executable, "-m", "separatrix", "diagnose", str(table("\n".join(lines))), "--target", "died"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 1
    assert "+inf" in done.stdout
    assert done.stderr == ""


def test_every_kind_of_file_gets_the_same_answer(invoke, table, tmp_path):
    X, y = np.array([[1, 2], [2, 1], [4, 5], [5, 5.0]]), np.array([0, 0, 1, 1])
    table(SEPARABLE, "d.csv")
    table(SEPARABLE.replace(",", "\t"), "d.tsv")
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).write_parquet(tmp_path / "d.parquet")
    np.savez(tmp_path / "d.npz", X=X, y=y)
    dump_svmlight_file(sparse.csr_matrix(X), y, str(tmp_path / "d.svm"))
    for name in ("d.csv", "d.tsv", "d.parquet"):
        assert invoke("separate", name, "--target", "y", "--intercept").exit_code == 0, name
    for name in ("d.npz", "d.svm"):
        assert invoke("separate", name, "--intercept").exit_code == 0, name
        assert invoke("diagnose", name).exit_code == 0, name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["separate", "nothing.csv", "--target", "y"], "no file"),
        (["separate", "data.csv"], "needs --target"),
        (["separate", "data.csv", "--target", "z"], "z"),
        (["separate", "data.csv", "--target", "y", "--time-limit", "-1"], "--time-limit"),
        (["separate", "data.csv", "--target", "y", "--proof", "gone/p"], "not there"),
        (["separate", "data.csv", "--target", "y", "--missing", "maybe"], "missing must be"),
        (["margin", "data.csv", "--target", "y", "--rtol", "2"], "rtol"),
        (["diagnose", "data.csv", "--target", "z"], "z"),
        (["verify", "data.csv", "data.csv", "--target", "y"], "no proof file"),
        (["verify", "nothing.proof", "data.csv", "--target", "y"], "nothing.proof"),
    ],
)
def test_wrong_usage_exits_with_2_and_one_sentence(invoke, table, words, said):
    table(SEPARABLE)
    done = invoke(*words)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_rows_in_npy_and_parquet_files_stay_there(invoke, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 4))
    X = X[np.abs(X @ [1.0, 2.0, -1.0, 0.5]) > 0.5]
    y = np.where(X @ [1.0, 2.0, -1.0, 0.5] > 0, 1, -1)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "y.npy", y)
    here = ("rows.npy", "--labels", "y.npy", "--memory-limit", "8GB")
    found = invoke("separate", *here, "--proof", "p.json", "--json")
    assert found.exit_code == 0 and json.loads(found.stdout)["tool"] == "shards"
    assert invoke("verify", "p.json", *here).exit_code == 0
    np.save(tmp_path / "other.npy", -y)
    assert invoke("verify", "p.json", "rows.npy", "--labels", "other.npy").exit_code == 1
    assert json.loads(invoke("margin", *here, "--json").stdout)["status"] == "separable"
    run = json.loads(invoke("solve", *here, "--method", "perceptron", "--json").stdout)
    assert run["separated"] and run["engine"] == "files"
    assert run["iterations"] == sx.solve(X, y, "perceptron").n_iter
    pl.DataFrame({f"c{j}": X[:, j] for j in range(4)} | {"y": y}).write_parquet(tmp_path / "t.parquet")
    run = invoke("solve", "t.parquet", "--target", "y", "--memory-limit", "8GB", "--json")
    assert set(json.loads(run.stdout)["theta"]) == {"c0", "c1", "c2", "c3"}


def test_solve_says_in_its_exit_status_whether_it_separated(invoke, table):
    path = table(SEPARABLE)
    assert invoke("solve", path, "--target", "y", "--intercept").exit_code == 0
    assert invoke("solve", path, "--target", "y", "--intercept", "--max-iter", 0).exit_code == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("rows.npy",), "there is no file rows.npy; check the path"),
        (("data.csv", "--labels", "y.npy", "--target", "y"), "goes with rows in an .npy file"),
        (("data.csv", "--target", "y", "--memory-limit", "1GB"), "only rows of .npy and .parquet files"),
        (("data.csv", "--target", "y", "--scheduler", "tcp://127.0.0.1:9"), "only rows of .npy and .parquet files"),
        (("data.csv", "--target", "y", "--method", "sgd"), "unknown method 'sgd'"),
    ],
)
def test_solve_says_in_one_sentence_what_is_wrong(words, sentence, invoke, table):
    table(SEPARABLE)
    result = invoke("solve", *words)
    assert result.exit_code == 2 and sentence in result.stderr and result.stderr.count("\n") == 1


# Tables, as in Python.

WARDS = """id,ward,age,died
p1,north,61,no
p2,icu,55,yes
p3,south,47,yes
p4,north,70,yes
p5,icu,66,yes
p6,south,58,no
p7,north,44,no
p8,south,63,no
p9,icu,71,yes
p10,north,52,yes
"""


def test_solve_tells_a_cycle_and_its_period(invoke, tmp_path):
    path = str(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("x,y\n1,1\n1,1\n1,0\n")
    words = "solve", path, "--target", "y", "--method", "batch-perceptron"
    told = json.loads(invoke(*words, "--json").stdout)
    assert told["status"] == "cycle" and told["cycle"] == {"iteration": 2, "period": 3}
    said = invoke(*words)
    assert said.exit_code == 1
    assert "cycle of period 3" in said.stdout and "repeats itself for ever" in " ".join(said.stdout.split())


@pytest.mark.parametrize("command", ["separate", "margin", "solve"])
def test_a_formula_says_the_columns_and_the_intercept(command, invoke, table):
    path = table(WARDS)
    answer = json.loads(invoke(command, path, "--formula", "died ~ ward + age", "--json").stdout)
    named = json.loads(invoke(command, path, "--target", "died", "--intercept", "--json").stdout)
    assert {k: v for k, v in answer.items() if k not in ("notes", "seconds")} == {
        k: v for k, v in named.items() if k not in ("notes", "seconds")
    }
    assert answer["notes"] == [] and "'id' differs in every row" in named["notes"][0]
    if command == "solve":
        assert list(answer["theta"]) == ["ward[icu] (vs north)", "ward[south] (vs north)", "age", "(intercept)"]
    wrong = invoke(command, path, "--formula", "died ~ age", "--no-intercept")
    assert wrong.exit_code == 2 and "--no-intercept contradicts the formula or the model" in wrong.stderr


def test_a_column_that_is_left_out_is_told_and_kept_on_request(invoke, table):
    path = table(WARDS)
    told = invoke("separate", path, "--target", "died", "--intercept")
    assert told.exit_code == 1 and "note: 'id' differs in every row" in told.stdout
    assert "name it in --keep to use it" in told.stdout
    kept = invoke("separate", path, "--target", "died", "--intercept", "--keep", "id")
    assert kept.exit_code == 0 and "note" not in kept.stdout


def test_diagnose_takes_the_levels_to_compare_with(invoke, table):
    path = table(WARDS)
    done = invoke("diagnose", path, "--target", "died", "--reference", "ward=icu", "--proof", "p.json")
    assert "ward[north] (vs icu)" in done.stdout and invoke("verify", "p.json", path).exit_code == 0
    wrong = invoke("diagnose", path, "--target", "died", "--reference", "icu")
    assert wrong.exit_code == 2
    assert "--reference is a column and a level, as in ward=north, got 'icu'." in wrong.stderr


def test_diagnose_prints_on_request_what_python_says_of_the_estimates(invoke, table):
    path = table(WARDS)
    asked = ("diagnose", path, "--target", "died")
    plain = invoke(*asked).stdout
    assert "--estimates prints the estimates that stay finite, and how far off an infinite one is at least." in plain
    told, found = invoke(*asked, "--estimates").stdout, sx.diagnose(path, "died")
    fit, bound = found.reduced().fit(), found.bound("ward[icu] (vs north)")
    last = f"ward[icu] (vs north) is at least {bound:.6g}, one-sided at 95 %"
    assert told == f"{plain}\n{found.reduced()}\n{fit}\n{last}\n"
    answer = json.loads(invoke(*asked, "--estimates", "--json").stdout)["estimates"]
    assert answer["fit"] == fit.to_dict() and answer["bounds"] == {"ward[icu] (vs north)": bound}
    hard = invoke(*asked, "--time-limit", "1e-9", "--estimates")
    assert hard.exit_code == 3 and "no estimates: the kind is undecided" in hard.stdout
    complete = invoke("diagnose", table(SEPARABLE), "--target", "y", "--estimates").stdout
    assert "nothing is left to estimate" in complete


def test_a_proof_about_a_formula_is_verified_with_the_formula(invoke, table):
    path = table(WARDS)
    invoke("separate", path, "--formula", "died ~ ward + age", "--proof", "p.json")
    assert invoke("verify", "p.json", path, "--formula", "died ~ ward + age").exit_code == 0
    other = invoke("verify", "p.json", path, "--formula", "died ~ age")
    assert other.exit_code == 1 and "10 rows and 3 columns, the data have 10 rows and 1 column\n" in other.stdout


@pytest.mark.parametrize("command", ["separate", "margin", "solve", "diagnose"])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--formula", "died ~ aeg"), "the formula names 'aeg', which is no column (did you mean 'age'?"),
        (("--formula", "~ age"), "the formula '~ age' has no outcome"),
        (("--target", "dead"), "there is no column 'dead' (did you mean 'died'?"),
        (("--target", "died", "--keep", "i"), "there is no column 'i'"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_sentence(command, words, sentence, invoke, table):
    result = invoke(command, table(WARDS), *words)
    assert result.exit_code == 2 and sentence in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["separate", "margin", "solve", "diagnose"])
def test_dates_are_refused_as_in_python(command, invoke, table):
    lines = WARDS.splitlines()
    dated = [f"{line},{'day' if k == 0 else f'2024-01-{k:02}'}" for k, line in enumerate(lines)]
    result = invoke(command, table("\n".join(dated)), "--target", "died")
    assert result.exit_code == 2
    assert "column 'day' holds dates as text, such as '2024-01-01'; turn the dates into numbers" in result.stderr


@pytest.mark.parametrize("command", ["separate", "margin", "solve"])
def test_rows_left_out_for_missing_values_are_told(command, tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("age,dose,died\n61,,0\n47,2.5,0\n70,4.0,1\n66,5.0,1\n", encoding="utf-8")
    done = CliRunner().invoke(app, [command, str(path), "--target", "died", "--missing", "drop"])
    assert "note: 1 row with missing values left out" in done.stdout
    told = CliRunner().invoke(app, ["diagnose", str(path), "--target", "died", "--missing", "drop"]).stdout
    assert "; 1 row with missing values left out" in told


def test_places_of_separated_rows_count_those_left_out(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("a,died\n,0\n1,0\n1,1\n2,1\n2,1\n", encoding="utf-8")
    found = sx.diagnose(path, "died", missing="drop")
    assert found.rows.tolist() == [3, 4] and "2 of 4 (3, 4; counted from 0 among all 5 rows)" in str(found)


def test_advice_speaks_of_commands_in_json_too(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n-1,no\n0,no\n0,yes\n1,yes\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["diagnose", str(path), "--target", "y", "--json"])
    advice = json.loads(done.stdout)["advice"]
    assert "--estimates" in advice and "reduced()" not in advice
