"""How much memory a run adds to its data."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys, threading, time
import numpy as np
import psutil
import separatrix as sx
engine, dtype, gamma = sys.argv[1], sys.argv[2], float(sys.argv[3])
method = "lr-gd"
rng = np.random.default_rng(0)
n, d = (100_000, 500) if dtype == "float64" else (200_000, 500)
small, y = rng.standard_normal((2000, d)).astype(dtype), rng.permuted(np.resize([0, 1], n))
sx.solve(small, y[:2000], method, step_size=gamma, engine=engine, max_iter=30)  # what is loaded once
X = np.empty((n, d), dtype=dtype)
for lo in range(0, n, 5000):
    X[lo : lo + 5000] = rng.standard_normal((5000, d), dtype=dtype)
assert X.nbytes == 400_000_000
me, peak, done = psutil.Process(), [0], []
before = me.memory_info().rss
def watch():
    while not done:
        peak[0] = max(peak[0], me.memory_info().rss)
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
run = sx.solve(X, y, method, step_size=gamma, engine=engine, max_iter=12)
done.append(1)
thread.join()
print((peak[0] - before) / X.nbytes, 200 * (n + d) / X.nbytes)
"""


CASES = [(e, t, g) for e in ("dense", "lazy") for t in ("float32", "float64") for g in ("inf", "0.01")]
SAMPLE = [("dense", "float32", "0.01")]  # which has most to copy: all rows, to float64


@pytest.mark.parametrize(
    ("engine", "dtype", "gamma"),
    [c if c in SAMPLE else pytest.param(*c, marks=pytest.mark.long) for c in CASES],
)
def test_dense_and_lazy_add_at_most_15_percent_to_400_megabytes(engine, dtype, gamma):
    command = [sys.executable, "-c", CODE, engine, dtype, gamma]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    added, linear = map(float, done.stdout.split())
    assert added <= 0.15 + linear, done.stdout
