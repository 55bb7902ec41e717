"""
A proof to send to a colleague
==============================

A verdict comes with a proof, the proof is a small text file, and whoever has the rows can check
it.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

import separatrix as sx

X, y = load_iris(return_X_y=True)
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)

# %%
# Setosa against the rest can be separated, versicolor against virginica cannot.

setosa = y == 0
yes = sx.separate(X, setosa, fit_intercept=True)
others = y > 0
no = sx.separate(X[others], y[others], fit_intercept=True)

for name, found in (("setosa", yes), ("others", no)):
    path = folder / f"{name}.proof"
    sx.save_proof(found.proof, path)
    print(f"{found.status}, {path.stat().st_size} bytes: {found.proof}")

# %%
# Elsewhere, later: the file and the rows are all that is needed. Nothing of how the proof was
# found is trusted.

print(sx.verify(sx.load_proof(folder / "setosa.proof"), X, setosa))
print(sx.verify(sx.load_proof(folder / "others.proof"), X[others], y[others]))

# %%
# The proof is about these rows in this order. Change one label, and it does not hold any more.

changed = setosa.copy()
changed[0] = False
print(sx.verify(sx.load_proof(folder / "setosa.proof"), X, changed))

# %%
# In two of the four columns the first verdict can be seen.

widest = sx.max_margin(X[:, 2:], setosa, fit_intercept=True)
ax = sx.plot.plane(X[:, 2:], setosa, widest.theta)
ax.set_xlabel("petal length")
ax.set_ylabel("petal width")

temporary.cleanup()
