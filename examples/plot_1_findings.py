"""
Tutorial: the paper's three findings
====================================

A. Tyurin, *From Logistic Regression to the Perceptron Algorithm* (AAAI-25), says three things
of logistic regression by gradient descent (LR+GD) on rows that a hyperplane separates. We look
at each on small data: the digits 1 and 8 that come with scikit-learn, and the two data sets of
the paper's proofs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx

X, y = load_digits(return_X_y=True)
two = (y == 1) | (y == 8)
X, y = X[two] / 8 - 1, y[two]  # pixels in [-1, 1]; the paper does not say

print(f"{len(X)} rows, {X.shape[1]} columns: {sx.separate(X, y).status}")

# %%
# The rows are separable, so every method below ends when all of them are on their right side.
#
# Finding 1: with growing step size LR+GD becomes a batch perceptron
# -------------------------------------------------------------------
#
# A step of LR+GD adds to θ each row z_i = y_i a_i, multiplied by γ/n and by a weight between 0
# and 1, σ(-z_iᵀθ). With φ = θ/γ the weight is σ(-γ z_iᵀφ). As γ grows it tends to 1 for rows on
# the wrong side and to 0 for the others: that is the batch perceptron, which adds the wrong
# rows and nothing else.

perceptron = sx.solve(X, y, "batch-perceptron", record="all")
steps = (0.1, 1.0, 10.0, 100.0)
runs = [sx.solve(X, y, "lr-gd", step_size=step, record="all") for step in steps]

for run in [*runs, perceptron]:
    print(f"{run.method:>16}, step size {run.step_size:>5g}: {run.n_iter:>5} iterations")

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
sx.plot.compare([*runs, perceptron], "errors", ax=ax)

# %%
# Here, the larger the step, the fewer iterations, until the count is about that of the batch
# perceptron. A dot marks where a run has separated the rows.
#
# Counts that are alike do not make two paths one. So we let both walk side by side and ask for
# how long the same number of rows is wrong, and how far apart the two φ are when the batch
# perceptron has arrived.

for step in (1e2, 1e4, 1e6, 1e8):
    run = sx.solve(
        X, y, "lr-gd", step_size=step, record="all", stop=None, max_iter=perceptron.n_iter
    )
    other = np.flatnonzero(run.trace["errors"] != perceptron.trace["errors"])
    apart = np.linalg.norm(run.phi - perceptron.phi) / np.linalg.norm(perceptron.phi)
    parted = f"from t = {other[0]}" if other.size else "never"
    print(f"step size {step:g}: other errors {parted}, apart {apart:.1e}")

# %%
# Finding 2: loss and gradient are unreliable signs of progress
# --------------------------------------------------------------
#
# The same runs, now by their loss.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
sx.plot.compare(runs, "loss", ax=axes[0])
sx.plot.compare(runs, "grad_norm", ax=axes[1])

for t in (1, 5, 20):
    losses = ", ".join(f"{run.trace['loss'][t]:.3g}" for run in runs)
    print(f"loss after {t:>2} iterations: {losses}")

# %%
# The run with the smallest step has a loss that only falls, 0.527 after 5 iterations, and needs
# 5676 of them. The run with the largest step is at 382 by then, and has separated the rows
# after 159. Whoever compares these step sizes by their loss after a few iterations chooses the
# slowest. The gradient's norm is no better a guide.
#
# The paper makes the point with two rows. The second step separates them, and until then the
# loss is as high as you like:

X2, y2 = sx.two_samples()
for step in (1.0, 10.0, 100.0, 1000.0):
    run = sx.solve(X2, y2, "lr-gd", step_size=step, record="all")
    loss = ", ".join(f"{value:.3g}" for value in run.trace["loss"])
    print(f"step size {step:g}: {run.n_iter} iterations, loss {loss}")

# %%
# Finding 3: LR+GD can need iterations in proportion to n, the normalized method cannot
# --------------------------------------------------------------------------------------
#
# LR+GD divides its step by the number of rows n, even when a single row is wrong. Normalized
# LR+GD divides by the sum of the weights. The lower bound's data have one row of one class and
# n - 1 equal rows of the other.

for n in (100, 1_000, 10_000):
    rows, labels = sx.worst_case(n)
    limits = sx.bounds(n, 1.25**0.5, 0.5, step_size=100.0)
    for method in ("lr-gd", "normalized-lr-gd"):
        run = sx.solve(rows, labels, method, step_size=100.0)
        print(f"n = {n}: {method} {run.n_iter} iterations, at most {limits[method]:.0f}")

# %%
# LR+GD needs ten times the iterations for ten times the rows, and the normalized method 2 at
# each of these n. 308 and 2 at n = 1000 are the paper's own numbers. The bounds are those of
# :func:`separatrix.bounds`.
#
# The digits are not the worst case. With large steps both need about the same; with small ones
# the normalized method is ahead, since its steps do not shrink when few rows are wrong.

for slow in runs:
    quick = sx.solve(X, y, "normalized-lr-gd", step_size=slow.step_size)
    print(f"step size {slow.step_size:>5g}: {slow.n_iter:>4}, normalized {quick.n_iter:>4}")

# %%
# :doc:`/reproduction` has all of this at the paper's sizes, on the paper's data, with what
# agrees and what does not.
