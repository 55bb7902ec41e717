"""Nasty problems against the exact oracle, every other hundred of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trial import not_right

SHORT, LONG = range(0, 20, 2), range(20, 220, 2)  # blocks of 100 problems; `scripts/attack` takes any number of them


@pytest.mark.parametrize("block", [*SHORT, *(pytest.param(k, marks=pytest.mark.long) for k in LONG)])
def test_every_verdict_kind_row_column_and_direction_is_that_of_the_exact_oracle(block):
    assert not_right(range(100 * block, 100 * block + 100)) == []


@pytest.mark.parametrize("seed", [10287, 14013])
def test_what_floats_show_of_balanced_rows_alone_is_shown_by_rational_weights(seed):
    assert not_right([seed]) == []


@pytest.mark.parametrize("seed", [7070, 8042, 16768, 97070])
def test_what_leaves_float64_on_the_way_is_decided(seed):
    assert not_right([seed]) == []


def attack(*options):
    script = Path(__file__).resolve().parent.parent / "scripts" / "attack"
    return subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=False)


def test_the_script_sums_up_what_it_found(tmp_path):
    done = attack("--from", "14", "--to", "18", "--jobs", "2", "--log", str(tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    told = "4 problems: 0 wrong, 0 undecided, 0 within rounding, 0 raised, 0 hung; "
    assert done.stdout.splitlines()[-1].startswith(told)
    assert (tmp_path / "log").read_text(encoding="utf-8") == done.stdout


def test_the_script_ends_a_problem_that_takes_too_long_and_goes_on():
    done = attack("--from", "14", "--to", "16", "--limit", "0")
    assert done.returncode == 1
    assert "hung: seed 14, signs and zeros" in done.stdout and "hung: seed 15, small integers" in done.stdout
    assert "2 hung" in done.stdout.splitlines()[-1]
