"""The bits of digests.json, on whatever processor this is."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import digests
from conftest import INSTRUCTION_SETS


@pytest.mark.skipif(not INSTRUCTION_SETS, reason="needs the compiled core: build it with make core")
@pytest.mark.parametrize("run", digests.recorded(), ids=digests.named)
def test_a_run_has_the_bits_on_record(run, simd):
    expected = {key: run[key] for key in ("n_iter", "errors", "sha256")}
    assert digests.result(run, run["engine"]) == expected


def test_the_definition_alone_has_the_bits_on_record():
    command = [sys.executable, digests.__file__]
    environment = os.environ | {"SEPARATRIX_SIMD": "numpy"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_record_has_the_runs_and_the_data_that_the_code_names():
    on_record = json.loads(digests.FILE.read_text())
    assert on_record["data"] == digests.DATA
    results = ("n_iter", "errors", "sha256")
    assert [{k: v for k, v in run.items() if k not in results} for run in on_record["runs"]] == digests.runs()
    assert len({digests.named(run) for run in digests.runs()}) == len(digests.runs()) >= 40
    assert len({run["sha256"] for run in on_record["runs"]}) > 40


def test_the_numbers_drawn_are_those_of_the_sequence():
    assert digests.drawn(1, 5).tolist() == [-1080, -536, 17, 839, -1841]
