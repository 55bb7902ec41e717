"""Where only the missing intercept makes rows inseparable, the answer says so, and has proven it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.certify import proof as proofs
from separatrix.cli import app
from separatrix.deciding import intercept
from separatrix.deciding.search import TOOLS
from separatrix.deciding.separate import BESIDE, FOUND_BY, KNOWN

X, APART, MIXED = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], [0, 1, 0, 1]
HELPS = "an intercept makes the rows separable (proven): pass fit_intercept=True"


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_a_verdict_says_that_an_intercept_would_separate(scale):
    found = sx.separate(np.multiply(X, scale), APART)
    assert found.status == "inseparable" and HELPS in found.notes[0] and HELPS in repr(found)


def test_a_verdict_says_that_an_intercept_does_not_help():
    found = sx.separate(X, MIXED)
    assert "an intercept does not help (proven)" in found.notes[0] and found.notes[0] in str(found)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_said_is_what_deciding_with_an_intercept_finds(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(12, 2)).astype(float) + rng.integers(0, 4)
    y = rows @ rng.normal(size=2) > rng.normal()
    y[0], y[1] = True, False
    found = sx.separate(rows, y)
    if found.status == "inseparable":
        helps = sx.separate(rows, y, fit_intercept=True).status == "separable"
        assert (HELPS in found.notes[0]) == helps


def test_nothing_is_said_where_there_is_an_intercept_or_a_separator():
    assert sx.separate(X, MIXED, fit_intercept=True).notes == ()
    assert sx.separate(X, [1, 1, 1, 0], fit_intercept=True).notes == ()
    assert sx.separate([[-1.0], [1.0]], [0, 1]).notes == ()


def test_rows_beyond_the_limit_are_not_decided_twice(monkeypatch):
    monkeypatch.setattr(intercept, "TRIED", 3)
    assert "which was not tried here" in sx.separate(X, APART).notes[0]


def test_rows_in_files_are_not_decided_twice(tmp_path):
    np.save(tmp_path / "X.npy", X)
    found = sx.separate(tmp_path / "X.npy", APART, memory_limit="8GB")
    assert found.status == "inseparable" and "which was not tried here" in found.notes[0]


def test_a_formula_without_an_intercept_is_told_to_have_one():
    table = {"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "a", "b", "b"]}
    note = sx.separate("y ~ x - 1", table).notes[-1]
    assert note.endswith("(proven): let the formula or model have one.")


def test_a_later_call_on_the_problem_says_the_same():
    with sx.Problem(X, APART) as problem:
        assert sx.separate(problem).notes == sx.separate(problem).notes != ()


@pytest.mark.parametrize("command", ["separate", "margin"])
def test_the_command_line_says_it_by_its_own_option(command, tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,0\n2,0\n3,1\n4,1\n", encoding="utf-8")
    words = [command, str(tmp_path / "data.csv"), "--target", "y"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1 and "separable (proven): pass --intercept." in done.stdout
    assert HELPS in json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["notes"][0]
    assert CliRunner().invoke(app, [*words, "--intercept"]).exit_code == 0


def test_every_tool_has_words():
    assert {tool.name for tool in (*TOOLS, BESIDE, KNOWN)} | {"shards"} == set(FOUND_BY)


@pytest.mark.parametrize(
    ("X", "y", "argument", "words"),
    [
        ([[-1.0], [1.0]], [0, 1], "separator", "a θ that puts every row on its right side"),
        ([[0.0], [1.0]], [0, 1], "zero-row", "a row of zeros"),
        ([[1.0], [1.0]], [0, 1], "contradiction", "two rows of which no θ gets both right"),
        ([[1.0], [2.0], [3.0]], [0, 1, 0], "gordan", "3 rows that cancel under positive weights (Gordan)"),
    ],
)
def test_arguments_are_printed_in_words(X, y, argument, words):
    found = sx.separate(X, y)
    assert found.proof.argument == argument and found.proof.reason == words
    assert f" by {words}: " in str(found.proof) and argument not in str(found).split()


def test_the_cholesky_argument_is_printed_in_words():
    rng = np.random.default_rng(0)
    found = sx.diagnose(rng.normal(size=(500, 30)), rng.integers(0, 2, 500))
    assert found.proof.argument == "cholesky"
    assert "under positive weights near those given (Cholesky)" in str(found)
    assert "proof: cholesky" not in str(found) and found.to_dict()["proof"] == "cholesky"
    assert proofs.Proof.reason.__doc__ == "The argument in a clause."
