"""
Engines take the same steps
===========================

A method says which rows pull; an engine says how the margins are kept up to date. All engines
take the same steps, at different cost.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx

X, y, _ = sx.planted(4_000, 400, margin=0.3, offset=30.0, random_state=1)

engines = ("dense", "lazy", "gram")
for engine in engines:  # once to compile
    sx.solve(X, y, "batch-perceptron", engine=engine, max_iter=5)

runs = [sx.solve(X, y, "batch-perceptron", engine=engine, record="all") for engine in engines]
for run in runs:
    print(f"{run.engine:>5}: {run.n_iter} iterations, {run.seconds:.2f} s, {run.stats}")

same = all(np.array_equal(run.trace["errors"], runs[0].trace["errors"]) for run in runs)
print("the same number of wrong rows at every iteration:", same)
print("dense and lazy have the same bits:", np.array_equal(runs[0].theta, runs[1].theta))

# %%
# Three engines, one curve. What differs is what is read: every row at every iteration, only the
# rows that can have changed sides, or columns of the matrix of inner products.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
sx.plot.compare(runs, "errors", labels=list(engines), ax=axes[0])
axes[1].barh(engines, [run.seconds for run in runs], color="#56B4E9")
axes[1].set_xlabel("seconds, set-up included")
axes[1].spines[["top", "right"]].set_visible(False)

# %%
# Times are those of the machine that built this page. :doc:`/benchmarks` has measured ones.
