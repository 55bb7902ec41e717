"""Mistakes that people make are answered by one sentence: what was wrong, the value seen, the way out."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli import app

LISTED = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))
MISTAKES = [pytest.param(m, id=m.get("python") or m["shell"]) for mistakes in LISTED.values() for m in mistakes]

DATA = "age,dose,died\n61,1.5,0\n47,2.5,0\n70,4.0,1\n66,5.0,1\n58,2.0,0\n44,4.5,1\n"
X = np.array([[2.0, 1.0], [3.0, 3.0], [5.0, 2.0], [1.0, 3.0], [2.0, 4.0], [4.0, 6.0]])
y = np.array([0, 0, 0, 1, 1, 1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files to make mistakes with."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "data.csv").write_text(DATA)
    (folder / "other.csv").write_text(DATA.replace("44,4.5,1", "44,4.5,0"))
    (folder / "holes.csv").write_text("age,dose,died\n61,,0\n47,2.5,0\n70,4.0,1\n66,5.0,1\n")
    (folder / "folder").mkdir()
    np.save(folder / "rows.npy", X)
    sx.save_proof(sx.separate(folder / "data.csv", "died", fit_intercept=True).proof, folder / "good.proof")
    (folder / "torn.proof").write_text((folder / "good.proof").read_text()[:80])
    return folder


@pytest.fixture(scope="module")
def names():
    """What the expressions speak of."""
    wards = pd.DataFrame({"age": [61, 47, 70, 66], "ward": ["north", "south", "north", "icu"], "died": [0, 0, 1, 1]})
    patients = pd.DataFrame(
        {"age": [61, 47, 70, 66, 58, 44], "dose": [1.5, 2.5, 4, 5, 2, 4.5], "died": [0, 0, 1, 1, 0, 1]}
    )
    return {"sx": sx, "np": np, "X": X, "y": y, "wards": wards, "patients": patients}


def test_everybody_makes_mistakes():
    assert set(LISTED) == {"statistician", "scikit-learn", "researcher", "teacher", "shell"}
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_by_one_sentence_with_the_value_and_the_way_out(mistake, folder, names, monkeypatch):
    monkeypatch.chdir(folder)
    there = sorted(os.listdir())
    answer = told(mistake["shell"], mistake.get("status", 2)) if "shell" in mistake else raised(mistake, names)
    assert mistake["sees"] in answer
    assert mistake["out"] in answer
    if "words" not in mistake:
        assert "\n" not in answer and len(answer) < 400, answer
        assert not re.search(r"[.!?] [A-Z]|[.!?];", answer), "one sentence"
        assert not re.search(r"\bnp\.|<class|\bobject at 0x|\[Errno", answer), "no word of Python's machinery"
    assert sorted(os.listdir()) == there, "what is refused leaves nothing behind"


def told(words, status):
    """What a command says, which has to be in its place."""
    done = CliRunner().invoke(app, shlex.split(words))
    assert done.exit_code == status, done.output
    if status != 2:
        assert done.stderr == ""
        return done.stdout.rstrip("\n")
    assert done.stdout == ""
    assert done.stderr.startswith("separatrix: ") and done.stderr.endswith(".\n")
    return done.stderr.rstrip("\n")


def raised(mistake, names):
    """What the error says, which is one of those that mean a wrong argument."""
    with pytest.raises((ValueError, TypeError, OSError, AttributeError, KeyError)) as error:
        eval(mistake["python"], dict(names))
    return str(error.value)
