"""What the classifiers' docstrings have in common, said once."""

from __future__ import annotations

import inspect
import re
from typing import Any

PARAMETERS = """\
max_iter : int, default=10_000
    Iterations to make at most for each problem.
fit_intercept : bool, default=True
    Append a constant column; its entry of θ gives ``intercept_``.
intercept_scaling : float or "auto", default="auto"
    The value b of that column. "auto" is the power of two nearest to a fifth of the rows' root mean square
    length.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes, multiplied into those of the rows.
certify : bool, default=False
    Where `max_iter` runs out, decide by `separate` whether the rows are separable at all, and keep the proof.
warm_start : bool, default=False
    Go on from where the last fit ended.
engine : {"auto", "dense", "lazy", "gram"} or Gram, default="auto"
    How the margins are kept up to date; the steps are the same.
record : {"log", "all"}, int or None, default="log"
    How often an iterate enters ``trace_``; the last one always does.
n_jobs : int or None, default=None
    Threads for the one-vs-rest problems of three classes or more.
verbose : bool or int, default=False
    Show from the second second on how far the fit has come, in one line with a bar: on a terminal, below a notebook's
    cell, or in a file every few seconds."""

ATTRIBUTES = """\
coef_ : ndarray of shape (1, d) or (classes, d)
    The entries of θ for the columns: of the θ that separates; or, where `max_iter` runs out, of the last θ if the
    logistic loss was never lower, and of the recorded one of the best accuracy otherwise.
intercept_ : ndarray of shape (1,) or (classes,)
    The intercept of the same θ.
classes_ : ndarray of shape (classes,)
    The labels, sorted.
n_features_in_ : int
    Columns of X, as in scikit-learn.
feature_names_in_ : ndarray of shape (d,)
    Their names, where X was a data frame with names that are text.
n_iter_ : int
    Iterations made, the most of all problems.
separated_ : bool
    Whether every training row is on its right side, in every problem.
status_ : str
    How the fit ended: "separated", "max-iter", "cycle" (an iterate came back: more iterations cannot help), "settled"
    (by `tol`, where there is one), "inseparable" (proven), "stopped" (by a callback) or "rounded" (a margin is 0 to
    rounding); ``status_.message`` is a sentence.
trace_ : Trace or list of Trace
    What `solve` recorded; a list with one entry per class for three or more.
engine_ : str or list of str
    The engine that was used; a list with one entry per class for three or more.
margin_ : float or list of float
    The distance of the nearest row to the hyperplane, min_i z_iᵀθ/‖w‖, negative if one is on the wrong side; a list
    for three classes or more.
runs_ : list of Run
    The runs of `solve`, one per problem, with the last θ.
proof_ : Proof, None or list
    With certify=True, the proof for each problem that was not separated."""

ENTRIES = {entry.split(" : ")[0]: entry for entry in re.split(r"\n(?! )", f"{PARAMETERS}\n{ATTRIBUTES}")}
# What the four batch methods share with each other.
ENTRIES["max_iter … verbose"] = PARAMETERS
ENTRIES["fit_intercept … verbose"] = PARAMETERS[PARAMETERS.index("fit_intercept") :]
ENTRIES["tol"] = """\
tol : float or None, default=None
    The escape for rows that cannot be separated: with a number such as 1e-3 the walk also ends where descent has
    settled, that is, where since half as many iterations, and after 100 at least, the loss has not fallen by more
    than `tol` of itself, the accuracy not risen, and ‖θ‖ not grown by more than √tol of itself. That is no reason
    to warn, and proves nothing: with large steps it may come too early. At
    infinite step size, where there is no loss that could settle, it has no effect."""
ENTRIES["coef_ … proof_"] = ATTRIBUTES
ENTRIES["on intercept_scaling"] = """\
The scale b of the constant column changes the path, not what can be separated. The bound on the iterations goes with
(R² + b²)/μ_b², μ_b being the margin with that column: small b makes the intercept slow to learn, large b lengthens
every row. docs/estimators.md has the measurements behind the default."""


def described(cls: Any) -> Any:
    """Fill in a class's docstring: a name alone on its line stands for the entry of that name here."""
    lines = inspect.cleandoc(cls.__doc__ or "").splitlines()
    cls.__doc__ = "\n".join([*(ENTRIES.get(line, line) for line in lines), ""])
    return cls
