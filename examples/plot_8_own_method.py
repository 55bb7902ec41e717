"""
A method of your own
====================

Does LR+GD need the logistic weight? What it does to a row far on the wrong side, a weight of
1, and on the right side, one that falls like exp(-x), can be changed in a line. Here a weight
with a slow tail and one with none at all run beside it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import separatrix as sx

X, y = load_digits(return_X_y=True)
two = (y == 1) | (y == 8)
X, y = X[two] / 8 - 1, y[two]


class SlowTail(sx.Method):
    """w = 1/(2 + x) on the right side: rows that are right keep pulling."""

    def weights(self, x):
        return 1 / (2 + x.clip(0)) + 0.5 * (x <= 0)


class Hinge(sx.Method):
    """w = 1 up to a margin of 1, and nothing beyond."""

    def weights(self, x):
        return x <= 1


class Momentum(sx.Method):
    """LR+GD with Polyak's momentum: v⁺ = 0.9 v - γ∇f(θ), θ⁺ = θ + v⁺."""

    def memory(self, n, d):
        return {"v": [0.0] * d}

    def step(self, at):
        at.memory["v"] = 0.9 * at.memory["v"] + at.step_size * at.pull(at.w) / at.n
        return at.memory["v"]


methods = ["lr-gd", SlowTail(), Hinge(), Momentum()]
runs = [sx.solve(X, y, method, step_size=1.0, record="all") for method in methods]
for run in runs:
    print(f"{run.method:>9}: {run.status} after {run.n_iter} iterations, {run.engine} engine")

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
sx.plot.compare(runs, "errors", ax=ax)

# %%
# A dot marks where a run has separated the rows. On these rows, at this step size, the slow
# tail costs ten times the iterations of LR+GD: rows that are right outweigh the few that are
# not. Without a tail it takes a third, and momentum a sixth. Other rows may say otherwise.
#
# Step sizes that vary
# --------------------
#
# For these no class is needed. A schedule is a function of t, and the built-in methods take it
# at their own speed, in the compiled core. The step sizes of all three below begin at 1.

schedules = {
    "γ = 1": lambda t: 1.0,
    "growing, √(1 + t)": lambda t: (1 + t) ** 0.5,
    "falling, 1/√(1 + t)": lambda t: (1 + t) ** -0.5,
}
runs = [sx.solve(X, y, step_size=schedule) for schedule in schedules.values()]
for name, run in zip(schedules, runs, strict=True):
    print(f"{name}: {run.n_iter} iterations, {run.engine} engine")

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
sx.plot.compare(runs, "errors", labels=list(schedules), ax=ax)

# %%
# The falling one, for which theory has the most to say, needs a hundred times the iterations:
# large steps do no harm here, and in the end they pay.
# :doc:`/howto/add-a-method` has what else a method may say for itself.
