"""Two theorems in numbers: loss and gradient mislead, and LR+GD tends to the batch perceptron.

A number that a closed form gives and that does not come out is a sentence in the table's `failures`.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.reporting.table import Row, Table
from separatrix.theory import planted, two_samples
from separatrix.walking.run import Iterate
from separatrix.walking.solve import solve


def theorem_tables() -> list[Table]:
    """Both of them."""
    return [unreliable_metrics(), reduction()]


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
        exact=2,
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
        exact=1,
    )


def _path(X: NDArray[Any], y: NDArray[Any], method: str, gamma: float, iterations: int) -> NDArray[Any]:
    """φ_0, φ_1, …, φ_iterations, one per row."""
    path: list[NDArray[Any]] = []

    def keep(iterate: Iterate) -> None:
        path.append(iterate.phi)

    solve(X, y, method, step_size=gamma, max_iter=iterations, stop=None, record="all", callback=keep)
    return np.array(path)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
