"""The page in the browser walks the same bits as Python, and decides two columns exactly; node runs its code here."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from conftest import noise, planted

PAGE = Path(sx.__file__).parent / "explore" / "page"
DRIVER = Path(__file__).with_name("explore.mjs")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node to run the page's code")

GAMMAS = (0.01, 1.0, 100.0, 1e6, inf)
RUNS = [  # method, step sizes, order
    ("lr-gd", GAMMAS, "cyclic"),
    ("normalized-lr-gd", GAMMAS, "cyclic"),
    ("batch-perceptron", (inf,), "cyclic"),
    ("normalized-batch-perceptron", (inf,), "cyclic"),
    ("perceptron", (inf,), "cyclic"),
    ("perceptron", (inf,), "most-wrong"),
]
STEPS, PROBLEMS, SAMPLE = 500, 300, 40


def asked(calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """What the page's code answers to these calls, in one process of node."""
    text = json.dumps([{"name": name, "given": given} for name, given in calls], default=sent)
    assert NODE is not None
    done = subprocess.run([NODE, DRIVER, PAGE], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout, object_hook=received))


def sent(array: np.ndarray) -> dict[str, str]:
    """The very bits."""
    return {"f64": base64.b64encode(np.ascontiguousarray(array, dtype=np.float64).tobytes()).decode()}


def received(value: dict[str, Any]) -> Any:
    if set(value) == {"f64"}:
        return np.frombuffer(base64.b64decode(value["f64"]))
    return float(value["number"]) if set(value) == {"number"} else value


def said(number: float) -> Any:
    """A number, also one that JSON has no word for."""
    return number if np.isfinite(number) else {"number": "Infinity"}


# One list of problems


def whole(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Few whole numbers: ties, duplicates and zero rows."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    return rng.integers(-2, 3, (n, d)).astype(float), labels(n, rng)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 21))
    return noise(n, d, int(rng.integers(1 << 30)))


def narrow(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, d = int(rng.integers(2, 80)), int(rng.integers(1, 21))
    return planted(n, d, float(10 ** rng.uniform(-4, -0.5)), int(rng.integers(1 << 30)))


def repeated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X, y = narrow(rng)
    rows = np.sort(rng.integers(0, len(y), 3 * len(y)))
    rows[:2] = int(np.argmax(y > 0)), int(np.argmax(y < 0))
    return X[rows], y[rows]


def tall(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """More than one block of 512 rows."""
    n, d = int(rng.integers(500, 1500)), int(rng.integers(1, 12))
    return planted(n, d, 0.01, int(rng.integers(1 << 30))) if rng.random() < 0.5 else noise(n, d, 1)


def extreme(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose squares leave float64, or columns of very different units."""
    X, y = narrow(rng)
    if rng.random() < 0.5:
        return X * 10.0 ** rng.uniform(-200, 200), y
    return X * 10.0 ** rng.uniform(-30, 30, X.shape[1]), y


def labels(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permuted(np.resize([1.0, -1.0], n))


KINDS: tuple[Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]], ...] = (
    whole, drawn, narrow, repeated, whole, drawn, narrow, extreme, tall, whole,
)  # fmt: skip


def problem(seed: int) -> dict[str, Any]:
    """One problem; one in three has an intercept, one in three goes on past separation."""
    rng = np.random.default_rng(seed)
    X, y = KINDS[seed % len(KINDS)](rng)
    return {"X": X, "y": y, "intercept": bool(rng.random() < 1 / 3), "stop": bool(rng.random() < 2 / 3)}


def options(given: dict[str, Any], method: str, gamma: float, order: str) -> dict[str, Any]:
    """The same for `solve`."""
    step = {"step_size": gamma} if method.endswith("lr-gd") else {}
    order_ = {"order": order} if method == "perceptron" else {}
    stop = "separated" if given["stop"] else None
    return {"method": method, "fit_intercept": given["intercept"], "stop": stop, **step, **order_}


def python_walk(given: dict[str, Any], method: str, gamma: float, order: str) -> tuple[sx.Run, list[np.ndarray]]:
    """The run, and θ_0, θ_1, … of it."""
    path: list[np.ndarray] = []
    how = options(given, method, gamma, order)
    run = sx.solve(
        given["X"], given["y"], **how, max_iter=STEPS, engine="dense", record="all",
        callback=lambda at: path.append(at.theta),
    )  # fmt: skip
    assert run.trace["iteration"].tolist() == list(range(run.n_iter + 1))
    return run, path


def page_call(given: dict[str, Any], method: str, gamma: float, order: str, whole: bool) -> tuple[str, dict[str, Any]]:
    X = given["X"]
    about = {"X": X, "d": X.shape[1], "y": given["y"].tolist(), "intercept": given["intercept"], "stop": given["stop"]}
    run = {"method": method, "gamma": said(gamma), "order": order}
    return "walk", about | run | {"steps": STEPS, "whole": whole}


def compare_walks(seeds: Sequence[int]) -> int:
    """How many runs took the same steps to the last bit; complains about the first that did not."""
    cases = [(seed, m, g, order) for seed in seeds for m, gammas, order in RUNS for g in gammas]
    given = {seed: problem(seed) for seed in seeds}
    answers = asked([page_call(given[seed], m, g, order, False) for seed, m, g, order in cases])
    for (seed, m, g, order), answer in zip(cases, answers, strict=True):
        run, path = python_walk(given[seed], m, g, order)
        if answer["digest"] != sha256(b"".join(theta.tobytes() for theta in path)).hexdigest():
            there = asked([page_call(given[seed], m, g, order, True)])[0]["path"]
            same = [a.tobytes() == b.tobytes() for a, b in zip(path, there, strict=False)]
            raise AssertionError(f"problem {seed}, {m}, γ = {g}, {order}: t = {[*same, False].index(False)} differs")
        where = (seed, m, g, order, str(run))
        assert answer["t"] == run.n_iter, where
        assert answer["cycle"] == (run.cycle.period if run.cycle else 0), where
        if m != "perceptron":  # which knows of separation after a full pass only
            assert answer["separated"] == run.separated, where
        assert answer["tie"] == (run.ties.iteration if run.ties else -1), where
    return len(cases)


def test_the_page_walks_the_same_bits() -> None:
    assert compare_walks(range(SAMPLE)) == SAMPLE * sum(len(gammas) for _, gammas, _ in RUNS)


@pytest.mark.long
def test_the_page_walks_the_same_bits_on_every_problem() -> None:
    for seed in range(SAMPLE, PROBLEMS, 20):
        compare_walks(range(seed, seed + 20))
