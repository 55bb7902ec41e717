"""The bits on record come out of a core that was built for another processor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "check-elsewhere"
SKIPPED = 77


@pytest.mark.long
def test_aarch64_has_the_bits_on_record():
    if not SCRIPT.exists():
        pytest.skip("needs the scripts of the repository")
    command = [sys.executable, str(SCRIPT), "--every", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip().removeprefix("check-elsewhere: skipped, "))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs have the bits on record" in done.stdout
