"""
A file larger than the memory limit
===================================

Rows may stay in their file. They are read when they are due, and the process stays below a
limit.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx

# %%
# A file of 480 MB, written piece by piece: 1,200,000 rows of 100 float32 columns. A known
# vector gives their labels; another one, added to every row, makes the problem harder.

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
n, d, piece = 1_200_000, 100, 50_000
rng = np.random.default_rng(0)
u, offset = np.linalg.qr(rng.normal(size=(d, 2)))[0].T.astype(np.float32)
block = rng.normal(size=(piece, d)).astype(np.float32)
labels = np.empty(n, dtype=np.int8)
rows = np.lib.format.open_memmap(folder / "rows.npy", mode="w+", dtype=np.float32, shape=(n, d))
for start in range(0, n, piece):
    A = np.roll(block, start // piece, axis=1)  # cheap to draw, and no piece is like another
    side = np.where(A @ u > 0, 1, -1).astype(np.int8)
    rows[start : start + piece] = A + 0.5 * side[:, None] * u + 5.0 * offset
    labels[start : start + piece] = side
rows.flush()
del rows
np.save(folder / "labels.npy", labels)
print(f"{(folder / 'rows.npy').stat().st_size / 1e6:.0f} MB")

# %%
# The limit is on the whole process, so a new one is started: 450 MB for the interpreter, the
# compiled code and the rows that are being read.

options = "solve rows.npy --labels labels.npy --method perceptron --memory-limit 450MB"
print("separatrix", options)
words = [sys.executable, "-m", "separatrix", *options.split()]
print(subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout)

# %%
# From Python it is the same call with paths in the place of arrays. This process holds more
# than that already, so it gets more room. The steps do not depend on the limit.

paths = folder / "rows.npy", folder / "labels.npy"
run = sx.solve(*paths, "perceptron", memory_limit="4GB", record=10)
print(f"{run.engine}: {run.status} after {run.n_iter} updates")

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
run.plot("errors", ax=ax)

temporary.cleanup()
