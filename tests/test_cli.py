"""The command line says what it did, and exits with 0, 1 or 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial

import pytest
from typer.testing import CliRunner

import separatrix
from separatrix.bench import classifiers, deciding, growth, speed
from separatrix.cli import app
from separatrix.datasets import VARIABLE
from separatrix.lab import reproduce as lab


@pytest.fixture
def invoke(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)

    def run(*words):
        return CliRunner().invoke(app, list(words))

    return run


def one_sentence(text):
    return text.count("\n") == 1 and text.startswith("separatrix: ") and "Traceback" not in text


def test_version_is_the_packages(invoke):
    done = invoke("--version")
    assert done.exit_code == 0
    assert re.fullmatch(rf"separatrix {separatrix.__version__} \(core: \w+\)\n", done.stdout)


def test_without_a_command_help_is_shown(invoke):
    done = invoke()
    assert "reproduce" in done.output
    assert "bench" in done.output


def test_an_unknown_command_exits_with_2(invoke):
    assert invoke("reproduec").exit_code == 2


def test_reproduce_prints_the_papers_counts_names_the_report_and_exits_with_0(invoke, tmp_path):
    done = invoke("reproduce", "table-1-a", "finding-3", "--out", str(tmp_path / "r"))
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for row in (
        "Normalized LR+GD 10 2 2",
        "Normalized LR+GD 1 16 16",
        "Normalized LR+GD 0.1 157 157",
        "LR+GD 100 308 308",
    ):
        assert row in lines, row
    assert any(line.startswith("Batch Perceptron ∞ 31 301 3,001 30,001 ") for line in lines)
    assert f"report: {tmp_path / 'r' / 'index.html'} " in done.stdout
    assert lines[-1] == "each of the 5 numbers that must come out exactly did."


WRONG = """
[off]
kind = "counts"
title = "a wrong expectation"
data = ["worst-case"]
exact = true
counts = [{ method = "lr-gd", step_size = 100.0, printed = 309 }]
"""


def test_reproduce_exits_with_1_when_a_count_that_must_come_out_does_not(invoke, tmp_path):
    (tmp_path / "off.toml").write_text(WRONG)
    done = invoke("reproduce", str(tmp_path / "off.toml"), "--out", str(tmp_path / "r"))
    assert done.exit_code == 1
    assert one_sentence(done.stderr)
    assert "309 iterations expected, ours 308" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["figure-22"], "no experiment 'figure-22' (did you mean"),
        (["nowhere.toml"], "nowhere.toml"),
        (["off.toml", "figure-1"], "give one TOML file alone"),
        (["table-1-a", "--data-dir", "nowhere"], "nowhere"),
        (["table-1-a", "--step-size", "3"], "such as figure-3, got table-1-a"),
        (["figure-3", "--step-size", "0"], "--step-size must be a positive number, or inf, got 0"),
    ],
)
def test_what_reproduce_cannot_do_is_one_sentence_and_status_2(invoke, tmp_path, words, said):
    done = invoke("reproduce", *words, "--out", str(tmp_path / "r"))
    assert done.exit_code == 2
    assert one_sentence(done.stderr)
    assert said in done.stderr


def test_a_data_set_with_a_torn_file_is_one_sentence_and_status_2(invoke, monkeypatch, tmp_path):
    folder = tmp_path / "fashion-mnist"
    folder.mkdir()
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        (folder / name).write_bytes(b"torn")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    done = invoke("reproduce", "known-counts", "--jobs", "1", "--out", str(tmp_path / "r"))
    assert done.exit_code == 2
    assert one_sentence(done.stderr)
    assert "train-labels-idx1-ubyte" in done.stderr or "train-images-idx3-ubyte" in done.stderr


def test_unexpected_errors_keep_their_traceback(invoke, monkeypatch, tmp_path):
    def broken(*words):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(lab, "piece_of", broken)
    done = invoke("reproduce", "table-1-a", "--out", str(tmp_path))
    assert done.exit_code == 70
    assert "Traceback" in done.stderr and "RuntimeError: a mistake of ours" in done.stderr


@pytest.mark.long
def test_bench_prints_its_numbers_as_one_json_object(invoke, monkeypatch):
    monkeypatch.setattr(speed, "PAUSE", 0.0)
    monkeypatch.setattr(speed, "PROBE", 0.001)
    X, y, _ = separatrix.planted(100, 5, margin=0.1, offset=5.0, random_state=0)
    monkeypatch.setattr(speed, "suite", lambda: iter([("small", X, y, (speed.Case("lr-gd", 10.0),))]))
    monkeypatch.setattr(growth, "grid", lambda: iter([("lazy", 200, 5)]))
    monkeypatch.setattr(deciding, "problems", lambda: [("small", X, y, True)])
    monkeypatch.setattr(deciding, "large_sparse", partial(deciding.large_sparse, 400, 10))
    few = classifiers.Data("small", X, y, X, y)
    monkeypatch.setattr(classifiers, "PAUSE", 0.0)
    monkeypatch.setattr(classifiers, "data", lambda: few)
    monkeypatch.setattr(classifiers, "models", lambda: [("ours", separatrix.Perceptron(max_iter=5))])
    monkeypatch.setattr(classifiers, "intercept_problems", lambda: [("small", X, y)])
    done = invoke("bench", "--alternations", "2", "--json")
    assert done.exit_code == 0, done.output
    written = json.loads(done.stdout)
    assert set(written) == {"machine", "speed", "growth", "decide", "estimators"}
    assert {name: len(rows) for name, rows in written["estimators"].items()} == {"sweeps": 2, "fits": 1, "intercept": 8}
    result = written["speed"]["results"][0]
    assert result["run_ratio"]["least"] <= result["run_ratio"]["median"] <= result["run_ratio"]["most"]
    assert result["iterations"] == separatrix.solve(X, y, "lr-gd", step_size=10.0).n_iter
    assert not written["speed"]["start_up"]["import_loads_numpy"]


def test_the_command_starts_without_numpy_scikit_learn_or_torch():
    code = "import sys, separatrix.cli; print([m for m in ('numpy', 'sklearn', 'scipy', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
