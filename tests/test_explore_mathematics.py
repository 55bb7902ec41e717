"""The page in the browser walks the same bits as Python, and decides two columns exactly; node runs its code here."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from conftest import noise, planted
from oracle import judge
from separatrix.core.definition import BLOCK, GROUP, exp, norm, sum_rows
from separatrix.data.csv import read_text
from separatrix.exploring.points import principal

PAGE = Path(sx.__file__).parent / "exploring" / "page"
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
STEPS, PROBLEMS, SAMPLE = 500, 300, 10


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


def test_exp_norms_and_long_sums_have_the_bits_of_the_definition() -> None:
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.uniform(-760, 720, 5000), rng.standard_normal(5000), np.arange(-745, 710) / 2, [0.0, -0.0]])
    X = rng.standard_normal((300, 11)) * 10.0 ** rng.uniform(-320, 307, (300, 1))
    X[:5] = np.array([[0.0], [5e-324], [1e-160], [1e160], [-1e-310]])
    terms = rng.standard_normal(BLOCK * GROUP * 2 + 777)
    calls = [("exponentials", {"x": x}), ("norms", {"X": X, "d": 11}), ("sum", {"x": terms})]
    powers, lengths, total = asked(calls)
    assert powers.tobytes() == exp(x).tobytes()
    assert lengths.tobytes() == np.array([norm(row) for row in X]).tobytes()
    assert total.tobytes() == sum_rows(np.ones((len(terms), 1)), terms).tobytes()


def test_the_page_walks_the_same_bits() -> None:
    assert compare_walks(range(SAMPLE)) == SAMPLE * sum(len(gammas) for _, gammas, _ in RUNS)


def test_weights_are_cut_where_python_cuts_them() -> None:
    X = np.array([[1.0, 11.3], [-1.0, 11.5], [0.0, -1.0]])  # at t = 1 the first row's weight is e^-40.86 of the last's
    given = {"X": X, "y": np.array([1.0, 1.0, -1.0]), "intercept": False, "stop": False}
    _, path = python_walk(given, "lr-gd", 1.0, "cyclic")
    there = asked([page_call(given, "lr-gd", 1.0, "cyclic", True)])[0]["path"]
    assert np.array(there).tobytes() == np.array(path).tobytes()
    assert path[1][0] == 0 < path[2][0]


@pytest.mark.long
def test_the_page_walks_the_same_bits_on_every_problem() -> None:
    for seed in range(SAMPLE, PROBLEMS, 20):
        compare_walks(range(seed, seed + 20))


# Two columns, decided exactly

Exact = tuple[Fraction, Fraction]
SETS, FEW = 2000, 400


def grid(n: int, rng: np.random.Generator) -> np.ndarray:
    """Few whole numbers."""
    return rng.integers(-3, 4, (n, 2)).astype(float)


def in_line(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points of one line, or of two that cross, with rounded coordinates."""
    steps = rng.integers(-4, 5, n)[:, None] * rng.integers(-2, 3, (2, 2))[rng.integers(0, 2, n)]
    return steps * 0.1 + rng.integers(0, 2, 2)


def beside(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points that differ from others by one unit in the last place."""
    X = rng.integers(-2, 3, (n, 2)) / 3
    return np.where(rng.random((n, 2)) < 0.3, np.nextafter(X, rng.choice([-inf, inf], (n, 2))), X)


def bent(n: int, rng: np.random.Generator) -> np.ndarray:
    """A line but for rounding, which decides on which side of the others a point lies."""
    return rng.standard_normal(2) + rng.integers(-9, 10, n)[:, None] / 7 * rng.standard_normal(2)


def apart(n: int, rng: np.random.Generator) -> np.ndarray:
    """Half of them on either side."""
    X = np.round(rng.standard_normal((n, 2)), 1)
    X[: n // 2, 0] += rng.choice([1.0, 2.0, 4.0])
    return X


def vast(n: int, rng: np.random.Generator) -> np.ndarray:
    """Near the ends of float64, and where products leave it."""
    if rng.random() < 0.5:
        return bent(n, rng) * 10.0 ** rng.choice([-161, -160, -300, 153, 300])
    return rng.integers(-3, 4, (n, 2)) * 10.0 ** rng.choice([-320, -300, -160, 100, 160, 300], (n, 2))


CLOUDS = (grid, in_line, beside, apart, bent, apart, lambda n, rng: rng.standard_normal((n, 2)))


def cloud(seed: int) -> dict[str, Any]:
    """Points of both classes; now and then one point alone against the rest."""
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(2, 16))
    X = CLOUDS[seed % len(CLOUDS)](n, rng)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0) if seed % 2 else labels(n, rng)
    if rng.random() < 0.2:
        y = np.where(np.arange(n) == 0, 1.0, -1.0)
    return {"X": X, "y": y, "intercept": bool(seed // 7 % 2)}


def decided(clouds: Sequence[dict[str, Any]]) -> list[Any]:
    return asked([("decide", given | {"y": given["y"].tolist()}) for given in clouds])


def exact_rows(given: dict[str, Any]) -> list[tuple[Fraction, ...]]:
    """z_i = y_i (a_i, 1), or y_i a_i."""
    ones = (1.0,) if given["intercept"] else ()
    pairs = zip(given["X"].tolist(), given["y"].tolist(), strict=True)
    return [tuple(Fraction(v) * int(b) for v in (*a, *ones)) for a, b in pairs]


def solved(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """The one solution of Ax = b, or None."""
    M, width = [[*row, v] for row, v in zip(A, b, strict=True)], len(A[0])
    for k in range(width):
        pivot = next((i for i in range(k, len(M)) if M[i][k]), None)
        if pivot is None:
            return None
        M[k], M[pivot] = M[pivot], M[k]
        M[k] = [v / M[k][k] for v in M[k]]
        M = [row if i == k else [u - row[k] * v for u, v in zip(row, M[k], strict=True)] for i, row in enumerate(M)]
    return None if any(row[-1] for row in M[width:]) else [row[-1] for row in M[:width]]


def zero_mean(Z: Sequence[tuple[Fraction, ...]]) -> list[Fraction] | None:
    """λ > 0 with Σ λ_i z_i = 0, Σ λ_i = 1, where there is exactly one such λ."""
    A = [list(column) for column in zip(*Z, strict=True)] + [[Fraction(1)] * len(Z)]
    lam = solved(A, [Fraction(0)] * (len(A) - 1) + [Fraction(1)])
    return lam if lam and min(lam) > 0 else None


def check_proof(given: dict[str, Any], proof: dict[str, Any], smallest: bool) -> None:
    """A proof of overlap in rational numbers: λ > 0 with Σ λ_i z_i = 0; and whether fewer rows have one."""
    Z = exact_rows(given)
    lam = zero_mean([Z[i] for i in proof["indices"]])
    assert lam is not None, (given, proof)
    sides = 2 if given["intercept"] else 1  # weights sum to 1 on either side
    assert np.allclose([float(sides * v) for v in lam], proof["weights"], rtol=1e-12, atol=0), (given, proof)
    points, most = len(lam), {"same point": 2, "point on segment": 3, "opposite directions": 2, "zero row": 1}
    assert points == most.get(proof["kind"], 4 if given["intercept"] else 3)
    if smallest:
        distinct = sorted(set(Z))
        assert not any(zero_mean(some) for k in range(1, points) for some in combinations(distinct, k)), (given, proof)


def nearest_exactly(given: dict[str, Any]) -> tuple[Fraction, list[int]]:
    """μ² and the rows whose margin it is, from all pairs of a point and a segment."""
    Z, y = exact_rows(given), given["y"]
    if given["intercept"]:
        plus, minus = ([(z[0] * int(s), z[1] * int(s)) for z, b in zip(Z, y, strict=True) if b == s] for s in (1, -1))
    else:
        plus, minus = [(z[0], z[1]) for z in Z], [(Fraction(0), Fraction(0))]
    gaps = [toward(p, a, b) for p in plus for a, b in pairs_of(minus)]
    gaps += [(-u, -v) for q in minus for u, v in (toward(q, a, b) for a, b in pairs_of(plus))]
    u, v = min(gaps, key=lambda gap: gap[0] ** 2 + gap[1] ** 2)
    scores = [u * z[0] + v * z[1] for z in Z]
    if not given["intercept"]:
        return u * u + v * v, [i for i, s in enumerate(scores) if s == min(scores)]
    ends = {s: min(score for score, b in zip(scores, y, strict=True) if b == s) for s in (1, -1)}
    return (u * u + v * v) / 4, [i for i, s in enumerate(scores) if s == ends[int(y[i])]]


def pairs_of(points: list[Exact]) -> list[tuple[Exact, Exact]]:
    distinct = sorted(set(points))
    return [(p, q) for i, p in enumerate(distinct) for q in distinct[i:]]


def toward(p: Exact, a: Exact, b: Exact) -> Exact:
    """From the nearest point of the segment ab to p."""
    (ux, uy), (vx, vy) = (b[0] - a[0], b[1] - a[1]), (p[0] - a[0], p[1] - a[1])
    square = ux * ux + uy * uy
    share = min(max((ux * vx + uy * vy) / square, Fraction(0)), Fraction(1)) if square else Fraction(0)
    return vx - share * ux, vy - share * uy


def close_root(square: Fraction, value: float) -> bool:
    """Whether the value is √square to a few units in the last place."""
    off = Fraction(value) ** 2 / square - 1
    return abs(off) < 8 * Fraction(2) ** -52 or value < 1e-300


def check_decisions(seeds: Sequence[int]) -> None:
    clouds = [cloud(seed) for seed in seeds]
    for seed, given, answer in zip(seeds, clouds, decided(clouds), strict=True):
        X, y, intercept = given["X"], given["y"], given["intercept"]
        verdict = sx.separate(X, y, fit_intercept=intercept)
        assert verdict.status in ("separable", "inseparable"), seed
        assert answer["separable"] == (verdict.status == "separable"), seed
        if not answer["separable"]:
            check_proof(given, answer["proof"], smallest=seed % 5 == 0)
            continue
        mu = sx.max_margin(X, y, fit_intercept=intercept)
        assert mu.lower * (1 - 1e-12) <= answer["mu"] <= mu.upper * (1 + 1e-12), seed
        square, support = nearest_exactly(given)
        assert close_root(square, answer["mu"]), seed
        assert answer["support"] == support, seed
        margins = y * (X @ answer["theta"][:2] + (answer["theta"][2] if intercept else 0.0))
        assert abs(margins.min() - answer["mu"]) <= 1e-15 * (1 + abs(X).max() + answer["mu"]) * 10, seed


def test_verdicts_on_two_columns_are_those_of_separate() -> None:
    check_decisions(range(FEW))


@pytest.mark.long
def test_every_verdict_on_two_columns_is_that_of_separate() -> None:
    check_decisions(range(FEW, SETS))


def test_points_near_the_ends_of_float64_are_decided_exactly() -> None:
    clouds = []
    for seed in range(150):
        rng = np.random.default_rng([2, seed])
        n = int(rng.integers(2, 12))
        clouds.append({"X": vast(n, rng), "y": labels(n, rng), "intercept": bool(seed % 2)})
    for given, answer in zip(clouds, decided(clouds), strict=True):
        assert answer["separable"] == (judge(given["X"], given["y"], given["intercept"]).kind == "complete")
        if answer["separable"]:
            square, support = nearest_exactly(given)
            assert answer["support"] == support
            assert close_root(square, answer["mu"])
        else:
            check_proof(given, answer["proof"], smallest=True)


def test_points_of_one_class_are_separable_with_an_intercept_and_a_question_without() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    both = [{"X": X[:k], "y": np.ones(k), "intercept": intercept} for k in (0, 2, 3) for intercept in (True, False)]
    answers = decided(both)
    assert [answer["separable"] for answer in answers] == [True, True, True, True, True, False]
    assert [answer.get("mu") for answer in answers] == [inf, inf, inf, 0.5**0.5, inf, None]
    assert answers[5]["proof"]["kind"] == "triangle around 0"


# Films, bounds, margins


def filmed(given: dict[str, Any], method: str, gamma: float, order: str = "cyclic", **more: Any) -> tuple[str, Any]:
    name, call = page_call(given, method, gamma, order, False)
    return "film", {k: v for k, v in call.items() if k not in ("stop", "steps", "whole")} | {"maxIter": STEPS} | more


def test_a_film_has_the_numbers_of_the_trace() -> None:
    cases = [(seed, m, g, order) for seed in range(20, 28) for m, gammas, order in RUNS for g in gammas[::2]]
    given = {seed: problem(seed) | {"stop": True} for seed in range(20, 28)}
    films = asked([filmed(given[seed], m, g, order) for seed, m, g, order in cases])
    for (seed, m, g, order), film in zip(cases, films, strict=True):
        run, path = python_walk(given[seed], m, g, order)
        where = (seed, m, g, order, str(run))
        assert film["status"] == run.status, where
        assert film["period"] == (run.cycle.period if run.status == "cycle" else 0), where
        assert film["separatedAt"] == (run.n_iter if run.separated else -1), where
        assert film["lossName"] == run.trace.loss_name
        assert np.array_equal(film["t"], run.trace["iteration"]), where
        assert np.array_equal(film["errors"], run.trace["errors"]), where
        scale = g if g < inf else 1.0
        assert (np.array(film["phi"]).T * scale).tobytes() == np.array(path).tobytes(), where
        for name, column in {"loss": "loss", "gradNorm": "grad_norm", "minMargin": "min_margin"}.items():
            np.testing.assert_allclose(film[name], run.trace[column], rtol=1e-12, atol=1e-300, err_msg=str(where))
        np.testing.assert_allclose(film["accuracy"], run.trace["accuracy"], rtol=1e-12)


def test_a_film_goes_on_past_separation_and_thins_out() -> None:
    X, y = planted(30, 2, 0.1, 0)
    star = sx.max_margin(X, y, rtol=1e-10).theta
    given = {"X": X, "y": y, "intercept": False, "stop": False}
    film = asked([filmed(given, "lr-gd", 10.0, past=3000, thetaStar=star.tolist())])[0]
    t = film["t"].astype(int)
    first = film["separatedAt"]
    assert film["status"] == "separated"
    assert t[-1] == first + 3000
    assert t[:501].tolist() == list(range(501))
    assert (np.diff(t[500:-1]) == np.floor(t[500:-2] * 1.02) - t[500:-2]).all()
    run = sx.solve(X, y, "lr-gd", step_size=10.0, max_iter=int(t[-1]), stop=None, record="all")
    np.testing.assert_allclose(film["loss"], run.trace["loss"][t], rtol=1e-12)
    assert (film["errors"] == run.trace["errors"][t]).all()
    assert film["errors"][first] == 0
    assert (film["errors"][:first] > 0).all()
    phi = np.array(film["phi"]).T
    cosine = phi[1:] @ star / np.linalg.norm(phi[1:], axis=1) / np.linalg.norm(star)
    np.testing.assert_allclose(film["angle"][1:], np.arccos(cosine), atol=1e-7)
    assert np.isnan(film["angle"][0])


def test_the_first_separator_is_always_in_the_film() -> None:
    X, y = sx.worst_case(3000)
    given = {"X": X, "y": y.astype(float), "intercept": False, "stop": True}
    film = asked([filmed(given, "batch-perceptron", inf, maxIter=10000)])[0]
    assert film["separatedAt"] == film["t"][-1] == sx.solve(X, y, "batch-perceptron").n_iter == 901


def test_bounds_are_those_of_python() -> None:
    rng = np.random.default_rng(4)
    calls, expected = [], []
    for _ in range(200):
        n, R, mu = int(rng.integers(1, 10**6)), float(10 ** rng.uniform(-3, 6)), float(10 ** rng.uniform(-9, -3))
        gamma = float(rng.choice([1e-3, 0.5, 1e3, 1e9, inf]))
        for name, most in sx.bounds(n, R, mu, step_size=gamma).items():
            if not name.startswith("tempered"):
                calls.append(("bounds", {"n": n, "R": R, "mu": mu, "gamma": said(gamma), "method": name}))
                expected.append(most)
    np.testing.assert_allclose(np.array(asked(calls), dtype=float), expected, rtol=1e-12)
    assert asked([("bounds", {"n": 5, "R": 1.0, "mu": 0.0, "gamma": 1.0, "method": "lr-gd"})]) == [inf]


def test_the_margin_of_the_rows_a_run_sees_is_never_too_large() -> None:
    clouds = []
    for seed in range(300):
        rng = np.random.default_rng([3, seed])
        n = int(rng.integers(2, 60))
        X = CLOUDS[seed % len(CLOUDS)](n, rng)
        X[: n // 2, 0] += rng.choice([0.0, 5.0, 100.0])
        X = X * 10.0 ** rng.integers(-150, 150) if seed % 10 == 0 else X
        clouds.append({"X": X, "y": np.where(np.arange(n) < n // 2, 1.0, -1.0), "intercept": bool(seed % 3)})
    answers = asked([("margin", given | {"y": given["y"].tolist()}) for given in clouds])
    separable = 0
    for given, answer in zip(clouds, answers, strict=True):
        rows = np.c_[given["X"], np.ones(len(given["y"]))] if given["intercept"] else given["X"]
        mu = sx.max_margin(rows, given["y"], rtol=1e-9)
        assert answer["mu"] <= mu.upper
        assert answer["mu"] >= mu.lower * (1 - 1e-6) or mu.lower < 1e-8 * answer["R"]  # where rounding has the word
        np.testing.assert_allclose(answer["R"], np.linalg.norm(rows / abs(rows).max(), axis=1).max() * abs(rows).max())
        separable += mu.lower > 0
    assert separable > 50


# Tables and data sets

HOSTILE = "<img src=x onerror=alert(1)>"


def read(text: str, **choice: Any) -> Any:
    return asked([("csv", {"text": text, "choice": choice or None})])[0]


def drawn_tables(count: int) -> Iterator[str]:
    """Tables as people have them: any delimiter and line end, quotes, gaps, decimal commas, with or without header."""
    kinds = [
        ["1", "2.5", "-3", "1e5", ".5", "5."], ["1,5", "2,25", "-0,5", "3", "NA"], ["1", "", "NA", "?", ".", "2"],
        ["yes", "no"], ["true", "FALSE", ""], ["1,234", "é", 'x"y', "inf", "1_000", "+7", "0x1f", "b c", HOSTILE],
    ]  # fmt: skip
    rng = np.random.default_rng(5)
    for _ in range(count):
        delimiter, end = str(rng.choice(list("\t;|,"))), str(rng.choice(["\n", "\r\n", "\r"]))
        columns = [kinds[k] for k in rng.integers(0, len(kinds), rng.integers(1, 6))]
        rows = [[str(rng.choice(kind)) for kind in columns] for _ in range(rng.integers(1, 9))]
        if rng.random() < 0.1:
            rows[0][0] = "two\nlines"
        if rng.random() < 0.7:
            rows.insert(0, [f"n{j}" for j in range(len(columns))])
        quoted = [[quote(cell, delimiter, bool(rng.random() < 0.1)) for cell in row] for row in rows]
        between = delimiter + " " * int(rng.random() < 0.1)
        text = end.join(between.join(row) for row in quoted) + end * int(rng.integers(0, 3))
        yield "\ufeff" * int(rng.random() < 0.2) + text


def quote(cell: str, delimiter: str, always: bool) -> str:
    return '"' + cell.replace('"', '""') + '"' if always or set(cell) & {delimiter, '"', "\n"} else cell


def equal_column(found: dict[str, Any], values: np.ndarray) -> bool:
    """The page keeps true and false as text, in the letters they have."""
    if values.dtype.kind == "f":
        return found["kind"] == "number" and np.array_equal(np.array(found["values"], float), values, equal_nan=True)
    texts, there = (
        [None if v is None else str(v).lower() for v in some] for some in (values.tolist(), found["values"])
    )
    return found["kind"] == "text" and texts == there


def test_tables_are_read_as_python_reads_them() -> None:
    texts = list(drawn_tables(1000))
    answers = asked([("csv", {"text": text, "choice": None}) for text in texts])
    compared = 0
    for text, answer in zip(texts, answers, strict=True):
        try:
            columns, _ = read_text("table.csv", text.encode())
        except ValueError:
            continue  # the page leaves lines out and says so, where Python asks for a mended file
        there = answer["table"]["columns"]
        assert [column["name"] for column in there] == list(columns), text
        assert all(equal_column(column, columns[column["name"]]) for column in there), text
        compared += 1
    assert compared > 800


def test_points_are_chosen_from_a_table() -> None:
    rows = [("1,5", "2", "zebra"), ("", "3", "ant"), ("2,5", "x;y", "ant"), ("4", "5", "ant"), ("-1", "?", "zebra")]
    text = "\ufeffa;b;kind\r\n" + "\r\n".join(f'{a};"{b}";{c}' for a, b, c in rows)
    assert read(text, x="a", y="b")["error"] == "b is text; the plane needs numbers."
    assert read(text, x="a")["chosen"]["notes"][-1] == "There is one column of numbers, a; all points have 0 beside it."
    found = read(text.replace("x;y", "inf"), label="kind")["chosen"]
    assert found["points"] == [{"x": 1.5, "y": 2, "label": 1}, {"x": 4, "y": 5, "label": -1}]
    assert found["names"] == {"x": "a", "y": "b", "plus": "zebra", "minus": "ant"}
    assert found["notes"] == [
        "2 rows were left out: a value is missing in a, b.",
        "1 row was left out: a number is infinite.",
    ]


def test_a_column_with_a_few_cells_that_are_no_numbers_is_left_out_and_the_cell_is_named() -> None:
    text = "weight,sweetness,fruit\n150,6.1,apple\n\n170,abc,apple\n140,8.1,pear\n"
    assert read(text, label="fruit")["chosen"]["notes"] == [
        "sweetness is left out: “abc” in line 4 is no number.",
        "There is one column of numbers, weight; all points have 0 beside it.",
    ]
    assert read(text.replace("sweetness", HOSTILE).replace("abc", HOSTILE), label="fruit")["chosen"]["notes"][0] == (
        f"{HOSTILE} is left out: “{HOSTILE}” in line 4 is no number."
    )
    blanks = "a b kind\n1 2 x\n2 3 x\n?? 4 y\n"
    assert read(blanks, label="kind")["chosen"]["notes"][0] == "a is left out: “??” in line 4 is no number."
    commas = 'a;b;kind\n"1\n2";2,5;x\n2,5;3,5;x\n3,5;3.5;y\n'
    said = "a is left out: “1\n2” in line 2 is no number. b is left out: “3.5” in line 5 is no number."
    assert f"the plane needs two. {said}" in read(commas, label="kind")["error"]


def test_of_missing_values_only_their_columns_are_named() -> None:
    text = "age,bmi,relapse\n61,,1\n55,22,0\n47,31,1\n"
    assert read(text, label="relapse")["chosen"]["notes"] == ["1 row was left out: a value is missing in bmi."]


def test_a_column_of_a_single_class_is_named_and_so_is_the_one_that_is_taken_instead() -> None:
    text = "age,bmi,relapse,kind\n61,25,1,HOT\n55,22,0,HOT\n47,31,1,HOT\n".replace("HOT", HOSTILE)
    note = f"kind has a single class, {HOSTILE}; labels are taken from relapse."
    assert read(text, x="age")["chosen"]["notes"] == [note]
    said = read(text.replace("\n55,22,0", "\n55,22,2").replace("\n47,31,1", "\n47,31,3"), x="age")["error"]
    assert said == f"kind has a single class, {HOSTILE}; add rows of a second one, or choose another column of labels."
    assert read(text.replace("relapse,kind", "y,ward"), x="age")["chosen"]["notes"] == []
    note = f"y has a single class, {HOSTILE}; labels are taken from site."
    assert read(text.replace("relapse,kind", "site,y"), x="age")["chosen"]["notes"] == [note]


def test_labels_have_the_order_that_python_gives_them() -> None:
    pairs = [("9", "10"), ("b", "B"), ("-1", "1"), ("\uffff", "\U00010000"), ("é", "z"), ("1e3", "999"), ("a", "ab")]
    for one, other in pairs:
        table = "x,y,label\n" + "\n".join(f"{i},{i * i},{label}" for i, label in enumerate((one, other, one)))
        answer = read(table, label="label")["chosen"]
        sign = sx.Problem(np.eye(3), read_text("t.csv", table.encode())[0]["label"]).rows.sign
        assert [point["label"] for point in answer["points"]] == sign.tolist(), (one, other)


def test_a_table_says_what_is_wrong_with_it() -> None:
    assert "blank" in read("\n \n")["error"]
    assert "line 2 is never closed" in read('a,b\n"1,2\n3,4')["error"]
    assert "header but no row" in read("a,b")["error"]
    assert "label has 3 values (a, b, c)" in read("x,y,label\n1,2,a\n1,2,b\n1,3,c", label="label")["error"]
    assert "no column w" in read("x,y,label\n1,2,a\n1,2,b", label="w")["error"]
    assert read("x,y,label\n1,2,a\n1,2,b\n1,3,c", label="label", plus="b")["chosen"]["names"]["minus"] == "not b"
    ragged = read("x,y,label\n1,2,a\n1,b\n2,1,b", label="label")["chosen"]
    assert len(ragged["points"]) == 2
    assert ragged["notes"] == ["1 row was left out: it has not 3 cells."]


def test_a_large_table_and_a_hostile_cell_are_text_and_numbers() -> None:
    rng = np.random.default_rng(6)
    values = rng.standard_normal((5000, 49))
    lines = [",".join(map(repr, row)) + "," + ("no" if i % 2 else HOSTILE) for i, row in enumerate(values.tolist())]
    found = read(",".join([f"c{j}" for j in range(49)] + ["label"]) + "\n" + "\n".join(lines), label="label")
    assert found["chosen"]["names"]["minus"] == HOSTILE
    assert [[p["x"], p["y"]] for p in found["chosen"]["points"]] == values[:, :2].tolist()


def test_principal_directions_are_those_of_python() -> None:
    rng = np.random.default_rng(7)
    for d in (2, 3, 8, 40):
        X = rng.standard_normal((200, d)) @ rng.standard_normal((d, d)) * 10.0 ** rng.integers(-3, 4, d)
        X[:, -1] = 3.0 if d == 8 else X[:, -1]
        names = [f"c{j}" for j in range(d)]
        found = asked([("principal", {"X": X, "d": d, "names": names})])[0]
        scores, sentence = principal(X, names)
        there = np.c_[found["first"], found["second"]]
        for k in (0, 1):  # two loadings of one size leave the sign open
            assert min(abs(there[:, k] - s * scores[:, k]).max() for s in (1, -1)) < 2e-4
        assert found["sentence"].lower() == sentence.lower()


def arrays(found: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    points = found["points"]
    return np.array([[p["x"], p["y"]] for p in points]), np.array([p["label"] for p in points])


def test_the_data_sets_of_the_page_are_those_of_python() -> None:
    for n in (2, 3, 17, 1000):
        sets = {found["id"]: found for found in asked([("datasets", {"n": n})])[0]}
        for here, there in zip(sx.worst_case(n), arrays(sets["worst-case"]), strict=True):
            assert (here == there).all()
    for here, there in zip(sx.two_samples(), arrays(sets["two-samples"]), strict=True):
        assert (here == there).all()
    X, y = arrays(sets["imbalanced"])
    once = np.sort(np.unique(np.c_[X, y], axis=0, return_index=True)[1])
    for here, there in zip(sx.imbalanced(X[once], y[once], fraction=1.0, repeat=10), (X, y), strict=True):
        assert (here == there).all()


def test_the_irises_are_those_of_scikit_learn() -> None:
    load_iris = pytest.importorskip("sklearn.datasets").load_iris
    data, kinds = load_iris(return_X_y=True)
    sets = {found["id"]: found for found in asked([("datasets", {})])[0]}
    for name, rows, plus in (("iris-setosa", kinds >= 0, 0), ("iris-virginica", kinds > 0, 2)):
        X, y = arrays(sets[name])
        assert (X == data[rows][:, 2:]).all()
        assert (y == np.where(kinds[rows] == plus, 1, -1)).all()


IMBALANCED = {"batch-perceptron": None, "normalized-batch-perceptron": None, "normalized-lr-gd": 100.0}


def test_each_data_set_is_what_its_sentence_says() -> None:
    sets = asked([("datasets", {})])[0]
    assert len({found["id"] for found in sets}) == len(sets) == 8
    for found in sets:
        X, y = arrays(found)
        separable = sx.separate(X, y, fit_intercept=found["intercept"]).status == "separable"
        assert separable == (found["id"] not in ("circles", "iris-virginica")), found["id"]
        assert found["names"]["minus"] < found["names"]["plus"] or found["names"]["minus"] == "-1"
    rows = {found["id"]: arrays(found) for found in sets}
    assert [sx.solve(*rows["planted"], step_size=gamma).n_iter for gamma in (1.0, 100.0)] == [1074, 3]
    counts = {name: sx.solve(*rows["imbalanced"], name, step_size=g).n_iter for name, g in IMBALANCED.items()}
    assert list(counts.values()) == [31, 2, 2]


# The worker


def test_the_worker_makes_films_in_turn_and_hears_of_cancelled_ones() -> None:
    X, y = noise(60, 2, 0)
    make = {"X": X.tolist(), "y": y.tolist(), "method": "batch-perceptron", "intercept": True, "maxIter": 300_000}
    short = make | {"maxIter": 3}
    messages = [{"id": 1, "make": make}, {"id": 2, "make": short}, {"id": 3, "make": make}, {"cancel": 3}]
    heard = asked([("worker", {"messages": [*messages, {"id": 4, "make": make | {"method": "none"}}]})])[0]
    ends = [message for message in heard if "progress" not in message]
    assert [message["id"] for message in ends] == [2, 4, 1]
    assert ends[1]["error"] == "unknown method none"
    assert ends[2]["film"]["t"][-1] == 300_000
    assert {message["id"] for message in heard if "progress" in message} == {1}
