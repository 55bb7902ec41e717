"""
The plane and the widest margin
===============================

In two dimensions everything can be seen: the rows, the line a method found, and the line that
keeps the widest distance from both classes.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx

rng = np.random.default_rng(3)
y = np.repeat([0, 1], 25)
X = rng.normal(size=(50, 2)) + np.where(y[:, None] == 1, 2.0, -1.6)

run = sx.solve(X, y, "perceptron", fit_intercept=True)
widest = sx.max_margin(X, y, fit_intercept=True)
print(f"perceptron: {run.status} after {run.n_iter} updates")
print(f"margin in [{widest.lower:.6f}, {widest.upper:.6f}], held by rows {widest.support}")

fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
sx.plot.plane(X, y, run.theta, bias=run.bias, ax=axes[0])
axes[0].set_title("the perceptron stops at the first line that does")
sx.plot.plane(X, y, widest.theta, ax=axes[1])
axes[1].set_title("the widest margin")

# %%
# The dashed lines go through the rows that are nearest. On the right they are as far apart as
# they can be: the bracket is proven from both sides, the lower end by the line, the upper end
# by weights on the rows that hold it.
#
# Move one row across, and no line will do. :func:`separatrix.separate` proves that, and the
# best line met on the way still shows which rows stand in the way.

X[0] = X[y == 1].mean(axis=0)
found = sx.separate(X, y, fit_intercept=True)
print(found.proof)

best = sx.max_margin(X, y, fit_intercept=True)
fig, ax = plt.subplots(figsize=(5.4, 4.8), layout="constrained")
sx.plot.plane(X, y, best.theta, ax=ax).set_title("no line separates these")
