"""What `separatrix reproduce` computes: the paper's printed numbers and theorems, ours beside them.

Every function returns a `Table` of plain rows; nothing here prints. A number that has to come out exactly, because the
paper prints it or a closed form gives it, and does not, is a sentence in the table's `failures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.datasets import available, load
from separatrix.lab.table import Row, Table
from separatrix.loop import solve
from separatrix.methods import TABLE
from separatrix.problem import make_problem
from separatrix.run import Iterate, Run
from separatrix.theory import WORST_CASE_MU, bounds, planted, two_samples, worst_case, worst_case_count

PERCEPTRONS = [(name, inf) for name, (logistic, _, _) in TABLE.items() if not logistic]

# Table 1, worst-case data, n = 1000.
PRINTED_WORST_CASE = {
    ("normalized-lr-gd", 100.0): 2,
    ("normalized-lr-gd", 10.0): 2,
    ("normalized-lr-gd", 1.0): 16,
    ("normalized-lr-gd", 0.1): 157,
    ("lr-gd", 100.0): 308,
}
# FashionMNIST classes 0/4, the first 5,000 rows, [-1, 1]: counts that do not depend on the order of the rows.
KNOWN_FASHION = {
    ("batch-perceptron", inf): 3301,
    ("normalized-batch-perceptron", inf): 3234,
    ("lr-gd", 10.0): 2559,
}
PRINTED_FASHION = {("lr-gd", 10.0): 2778, ("lr-gd", 100.0): 2928, ("normalized-lr-gd", 100.0): 3160}
FASHION_MU = 0.18165615


def tables() -> Iterator[Table]:
    """All of them, one after the other; the image data only where they are at hand."""
    yield worst_case_counts()
    yield lower_bound()
    yield unreliable_metrics()
    yield reduction()
    yield digits()
    if "fashion-mnist" in available():
        yield fashion_mnist()


def worst_case_counts(n: int = 1000) -> Table:
    """Table 1, worst-case data; only the printed counts at n = 1000 are claims."""
    X, y = worst_case(n)
    steps = [("normalized-lr-gd", gamma) for gamma in (100.0, 10.0, 1.0, 0.1)]
    steps += [("lr-gd", gamma) for gamma in (100.0, 10.0, 1.0, 0.1)]
    rows, failures = [], []
    for method, gamma in steps + PERCEPTRONS:
        limit = bounds(n, sqrt(1.25), WORST_CASE_MU, step_size=gamma)[method]
        ours = _iterations(solve(X, y, method, step_size=gamma, max_iter=ceil(limit)))
        printed = PRINTED_WORST_CASE.get((method, gamma)) if n == 1000 else None
        rows.append((method, gamma, ours, printed, limit))
        failures += _compare(f"{method}, step size {gamma:g}, worst-case data", ours, printed)
    return Table(
        f"Table 1: iterations on the worst-case data, n = {n:,}",
        ("method", "step size", "ours", "printed", "bound"),
        rows,
        failures=tuple(failures),
    )


def lower_bound(sizes: tuple[int, ...] = (10**2, 10**3, 10**4, 10**5, 10**6)) -> Table:
    """The lower bound: on the worst-case data the batch perceptron's count grows with n."""
    rows: list[Row] = []
    failures = []
    for n in sizes:
        X, y = worst_case(n)
        limit = bounds(n, sqrt(1.25), WORST_CASE_MU)["batch-perceptron"]
        run = solve(X, y, "batch-perceptron", max_iter=ceil(limit))
        rows.append((n, _iterations(run), worst_case_count(n), limit, run.n_iter / limit, run.seconds))
        failures += _compare(f"batch perceptron, worst-case data, n = {n:,}", _iterations(run), worst_case_count(n))
    return Table(
        "Lower bound: the batch perceptron on the worst-case data",
        ("n", "ours", "closed form", "bound n R²/μ²", "ours/bound", "seconds"),
        rows,
        note="closed form: the least k > 0.3 n + 0.2",
        failures=tuple(failures),
    )


def unreliable_metrics(step_sizes: tuple[float, ...] = (1.0, 10.0, 100.0, 1e4, 1e9)) -> Table:
    """The two-sample theorem: the loss explodes one step before the data are separated."""
    X, y = two_samples()
    rows: list[Row] = []
    for gamma in step_sizes:
        first, second = (solve(X, y, "lr-gd", step_size=gamma, max_iter=t, stop=None, record="all") for t in (1, 2))
        loss, grad_norm = second.trace["loss"], second.trace["grad_norm"]
        at = [(tuple(first.phi.tolist()), loss[1], grad_norm[1]), (tuple(second.phi.tolist()), loss[2], grad_norm[2])]
        rows.append((gamma, *at[0], *at[1], second.trace["errors"][2] == 0))
    theorem: Row = (inf, (0.5, 0.75), inf, sqrt(0.5), (1.0, 0.25), 0.0, 0.0, True)
    rows = [tuple(_plain(value) for value in row) for row in rows]
    failures = []
    if any(not np.allclose(row[1], theorem[1], rtol=1e-15) for row in rows):
        failures.append("θ_1/γ of the two samples is not (1/2, 3/4).")
    last = rows[-1]
    close = np.allclose([*last[4], last[3], last[5], last[6]], [1.0, 0.25, sqrt(0.5), 0.0, 0.0], rtol=1e-12, atol=1e-12)
    if not close or not last[7] or last[2] < 1e3:
        failures.append(f"at step size {last[0]:g} the two samples are not at the theorem's limits.")
    return Table(
        "Loss and gradient mislead: LR+GD on the two samples",
        ("step size", "θ_1/γ", "f(θ_1)", "‖∇f(θ_1)‖", "θ_2/γ", "f(θ_2)", "‖∇f(θ_2)‖", "separated"),
        [*rows, theorem],
        note="last row: the theorem's limits",
        failures=tuple(failures),
    )


def reduction(step_sizes: tuple[float, ...] = (1.0, 1e3, 1e6, 1e9), iterations: int = 200) -> Table:
    """The reduction theorem: θ_t/γ tends to the batch perceptron's iterate."""
    X, y, _ = planted(200, 20, margin=0.01, offset=30.0, random_state=0)  # some 2,000 iterations from separated
    limit = _path(X, y, "batch-perceptron", inf, iterations)
    rows: list[Row] = []
    for gamma in step_sizes:
        path = _path(X, y, "lr-gd", gamma, iterations)
        apart = np.linalg.norm(path - limit, axis=1)[1:] / np.linalg.norm(limit, axis=1)[1:]
        rows.append((gamma, float(apart.max()), int(np.argmax(apart)) + 1))
    failures = () if rows[-1][1] < 1e-6 else (f"LR+GD at step size {rows[-1][0]:g} is not the batch perceptron.",)
    return Table(
        f"Reduction: LR+GD and the batch perceptron over {iterations} iterations, planted data 200 x 20",
        ("step size", "largest ‖θ_t/γ - φ_t‖/‖φ_t‖", "at t"),
        rows,
        failures=failures,
    )


def digits() -> Table:
    """All five methods on scikit-learn's digits 7 and 8, a small stand-in for the images."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    rows = np.isin(labels, (7, 8))
    X, y = pixels[rows] / 8 - 1, labels[rows]  # pixels 0 … 16 to [-1, 1]
    steps = [(name, gamma) for name in ("lr-gd", "normalized-lr-gd") for gamma in (100.0, 10.0, 1.0, 0.1)]
    # Past separation gradient descent widens the margin: a long run gives a good lower bound on μ.
    far = solve(X, y, "normalized-lr-gd", step_size=10.0, max_iter=20_000, stop=None)
    mu = float(np.nanmax(far.trace["min_margin"]))
    return _image_table("scikit-learn digits 7/8", X, y, steps + PERCEPTRONS, mu, {})


def fashion_mnist() -> Table:
    """The counts on FashionMNIST that are known exactly, and the paper's on a subsample of its own."""
    X, y = load("fashion-mnist", n=5000)
    steps = [("lr-gd", 10.0), ("lr-gd", 100.0), ("normalized-lr-gd", 100.0)]
    return _image_table("FashionMNIST 0/4, first 5,000 rows", X, y, steps + PERCEPTRONS, FASHION_MU, KNOWN_FASHION)


def _image_table(
    name: str,
    X: NDArray[Any],
    y: NDArray[Any],
    steps: list[tuple[str, float]],
    mu: float,
    known: dict[tuple[str, float], int],
) -> Table:
    n, R = len(y), make_problem(X, y).R
    rows, failures = [], []
    for method, gamma in steps:
        limit = bounds(n, R, mu, step_size=gamma)[method]
        run = solve(X, y, method, step_size=gamma, max_iter=ceil(min(limit, 10**7)))
        expected = known.get((method, gamma))
        beside = (expected, PRINTED_FASHION.get((method, gamma))) if known else ()
        rows.append((method, gamma, _iterations(run), *beside, limit, run.engine, run.seconds))
        failures += _compare(f"{method}, step size {gamma:g}, {name}", _iterations(run), expected)
    columns = ("known", "paper") if known else ()
    return Table(
        f"{name}: n = {n:,}, R = {R:.4f}, μ ≥ {mu:.6g}",
        ("method", "step size", "ours", *columns, "bound", "engine", "seconds"),
        rows,
        note="paper: printed for a random subsample of its own, so only the size compares" if known else "",
        failures=tuple(failures),
    )


def _path(X: NDArray[Any], y: NDArray[Any], method: str, gamma: float, iterations: int) -> NDArray[Any]:
    """φ_0, φ_1, …, φ_iterations, one per row."""
    path: list[NDArray[Any]] = []

    def keep(iterate: Iterate) -> None:
        path.append(iterate.phi)

    solve(X, y, method, step_size=gamma, max_iter=iterations, stop=None, record="all", callback=keep)
    return np.array(path)


def _iterations(run: Run) -> int | None:
    return run.n_iter if run.separated else None


def _compare(what: str, ours: int | None, expected: int | None) -> list[str]:
    return [] if expected is None or ours == expected else [f"{what}: {expected:,} iterations expected, ours {ours}."]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
