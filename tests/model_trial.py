"""One problem of a family of models put to the package, to the exact oracle and to the likelihood itself."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd

import oracle
import separatrix as sx
from likelihoods import Table, conditions, log_likelihood
from model_zoo import Asked, problem
from trial import RAISED, RIGHT, ROUNDING, UNDECIDED, WRONG, _words

STEPS = 12  # doublings of a step along a direction: from 1 to where probabilities are 0 or 1 and stay so


@dataclass(frozen=True)
class Judged:
    """What the oracle says of a table: the kind, the separated observations, the directions, and one that shows it."""

    kind: str
    rows: list[int]
    directions: list[str]
    theta: list[Fraction]


@dataclass(frozen=True)
class ModelTrial:
    """How it ended, and what is not as it should be."""

    family: str
    seed: int
    outcome: str
    kind: str = ""
    tame: bool = False
    detail: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.outcome}: {self.family}, seed {self.seed}, {self.seconds:.2f} s: {self.detail}"


def judged(table: Table) -> Judged:
    """Every condition of every observation, judged in rational numbers."""
    found = conditions(table)
    Z = [condition.z for condition in found]
    order = [*table.constants, *(j for j in range(table.size) if j not in table.constants)]
    is_aliased = dict(zip(order, oracle.aliased([[z[j] for j in order] for z in Z]), strict=True))
    answer, theta = oracle.judge_rows(Z, [is_aliased[j] for j in range(table.size)])
    strict = zip(found, answer.separated, strict=True)
    rows = sorted({condition.observation for condition, is_strict in strict if is_strict})
    return Judged(answer.kind, rows, answer.directions, theta)


def not_right(family: str, seeds: Iterable[int], sample: int = 1) -> list[str]:
    """The trials of these seeds that are neither right nor within rounding, in words."""
    done = (model_trial(family, seed, maximise=seed % sample == 0) for seed in seeds)
    return [f"{trial}\n    {problem(family, trial.seed)}" for trial in done if trial.outcome not in (RIGHT, ROUNDING)]


def model_trial(family: str, seed: int, maximise: bool = True) -> ModelTrial:
    """Kind, observations, directions, proof and likelihood of one problem."""
    asked = problem(family, seed)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            told = sx.diagnose(asked.data, asked.y, **asked.options)
            holds = told.proof is not None and verified(told.proof, asked)
    except Exception as error:
        seconds = time.perf_counter() - began
        return ModelTrial(family, seed, RAISED, detail=_words(error), seconds=seconds)
    seconds = time.perf_counter() - began
    answer = judged(asked.table)
    wrong = climbs(asked.table, answer)
    if maximise and answer.kind == "overlap" and asked.tame:
        wrong += peaks(asked.table, answer)
    if told.certainty != "proven":
        outcome = UNDECIDED if told.kind == "undecided" else ROUNDING
        outcome, detail = (WRONG, "; ".join(wrong)) if wrong else (outcome, f"{told.kind}, it is {answer.kind}")
        return ModelTrial(family, seed, outcome, answer.kind, asked.tame, detail, seconds)
    if told.kind != answer.kind:
        wrong.append(f"the kind is {told.kind}, it is {answer.kind}")
    if told.rows.tolist() != answer.rows:
        wrong.append(f"rows {told.rows.tolist()}, they are {answer.rows}")
    if list(told.columns.values()) != answer.directions:
        wrong.append(f"directions {dict(told.columns)}, they are {answer.directions}")
    if set(told.aliased) != {name for name, word in told.columns.items() if word == "aliased"}:
        wrong.append(f"aliased {told.aliased}, and directions {dict(told.columns)}")
    if not holds:
        wrong.append("the proof does not hold" if told.proof else "there is no proof")
    elif told.proof:
        wrong += accepts_too_much(told.proof, asked, seed)
    outcome, detail = WRONG if wrong else RIGHT, "; ".join(wrong)
    return ModelTrial(family, seed, outcome, answer.kind, asked.tame, detail, seconds)


def verified(proof: sx.Proof, asked: Asked) -> bool:
    """Whether the proof holds for the data as they were given."""
    if proof.model is None:  # rows of two classes and no more
        return sx.verify(proof, np.array(asked.table.X), np.array(asked.table.y))
    if isinstance(asked.data, np.ndarray):
        return sx.verify(proof, asked.data, asked.y, beside=asked.beside)
    return sx.verify(proof, asked.data)


# A proof must not hold for another table of which it is not true.


def accepts_too_much(proof: sx.Proof, asked: Asked, seed: int) -> list[str]:
    """Whether a table with one thing changed passes though the estimate exists there and not here, or the reverse."""
    rng = np.random.default_rng([seed, 7])
    other = changed(rng, asked)
    try:
        holds = verified(proof, other)
    except ValueError:  # the other table is none that the model can have
        return []
    if not holds:
        return []
    kind = judged(other.table).kind
    if kind in allowed(proof, other.table):
        return []
    return [f"the proof of {proof.claim} holds for a changed table that is {kind}: {other}"]


def allowed(proof: sx.Proof, table: Table) -> set[str]:
    """The kinds of a table of which the proof's claim is true.

    Where a column is split into parts that are held together by equalities, complete is quasi-complete.
    """
    split = {"complete"} if proof.d + proof.intercept > table.size else set()
    return {
        "separable": {"complete"},
        "inseparable": {"quasi-complete", "overlap", *split},
        "quasi-complete": {"quasi-complete", *split},
        "overlap": {"overlap"},
    }[str(proof.claim)]


def changed(rng: np.random.Generator, asked: Asked) -> Asked:
    """The same question of another table: a column negated or moved, an outcome or a weight exchanged for another."""
    table, way = asked.table, rng.integers(4)
    n, d = len(table.X), len(table.X[0])
    X, y, j = np.array(table.X), list(table.y), int(rng.integers(d))
    a, b = (int(i) for i in rng.integers(n, size=2))
    if way == 0:
        X[:, j] = -X[:, j]
    elif way == 1:
        X[[a, b], j] = X[[b, a], j]
    elif way == 2:
        X[a, j] = np.nextafter(X[a, j], rng.choice([-np.inf, np.inf]))
    else:
        y[a], y[b] = y[b], y[a]
    table = replace(table, X=X.tolist(), y=y)
    if "failures" in asked.options:  # these stay, so that trials follow
        failures = np.array(asked.table.trials) - asked.table.y
        table = replace(table, trials=(failures + y).tolist())
    data, outcome = asked.data, asked.y
    if isinstance(data, np.ndarray):
        outcome = np.array(outcome)
        outcome[[a, b]] = outcome[[b, a]] if way == 3 else outcome[[a, b]]
        return replace(asked, table=table, data=X, y=outcome)
    data = data.copy()
    for k in range(d):
        data[f"x{k}"] = X[:, k].tolist()
    if way == 3:
        swapped = np.arange(n)
        swapped[[a, b]] = b, a
        is_frame = isinstance(data, pd.DataFrame)
        values = data["outcome"]
        data["outcome"] = values.take(swapped).array if is_frame else [values[k] for k in swapped]
    return replace(asked, table=table, data=data)


# The likelihood.


def climbs(table: Table, answer: Judged) -> list[str]:
    """What is wrong with the claim that the likelihood rises along θ for ever; nothing on overlap."""
    if answer.kind == "overlap":
        return []
    largest = max(abs(sum(a * b for a, b in zip(c.z, answer.theta, strict=True))) for c in conditions(table))
    here = [Fraction(0)] * table.size
    if table.family == "cumulative":
        here[: len(table.classes) - 1] = [Fraction(k) for k in range(len(table.classes) - 1)]  # thresholds rise
    values = [log_likelihood(table, here).real]
    with np.errstate(over="ignore", invalid="ignore"):  # where it falls, it may fall below all floats
        for k in range(STEPS):
            step = Fraction(2) ** k / largest
            there = [a + step * b for a, b in zip(here, answer.theta, strict=True)]
            values.append(log_likelihood(table, there).real)
        rises = np.diff(values)
    if not rises[0] > 0:
        return [f"the likelihood does not rise along {answer.theta}: {values[:2]}"]
    if not (rises >= -1e-12 * (1 + abs(values[0]))).all():
        return [f"the likelihood falls along {answer.theta}: {values}"]
    return []


def peaks(table: Table, answer: Judged) -> list[str]:
    """What is wrong with the claim that the likelihood has a maximum."""
    free = [j for j, word in enumerate(answer.directions) if word != "aliased"]
    if not free:
        return []
    theta, step, slope = newton(table, free)
    if step > 1e-6 or slope > 1e-6:
        return [f"Newton finds no maximum: step {step:.1e}, gradient {slope:.1e} at {theta.tolist()}"]
    return []


def newton(table: Table, free: list[int], steps: int = 60) -> tuple[np.ndarray, float, float]:
    """Damped Newton in the free coefficients: where it ends, the last full step and the gradient there.

    On the way to infinity the gradient gets small, too, but Newton's step does not: of e^-s it is 1. Where curvature
    gets lost in rounding there is no step to speak of: ∞.
    """
    theta = np.zeros(table.size)
    if table.family == "cumulative":
        theta[: len(table.classes) - 1] = np.arange(len(table.classes) - 1)
    scale = np.ones(table.size)  # of columns; those of a column in several classes are alike, thresholds are 1
    sizes = np.maximum(np.abs(np.array(table.X)).max(axis=0), 1e-300)
    block = [*sizes, 1.0] if table.constant else sizes
    times = (table.size // len(block)) if table.family == "multinomial" else 1
    scale[table.size - times * len(block) :] = np.tile(block, times)

    def gradient(at: np.ndarray) -> np.ndarray:
        found = np.empty(len(free))
        for k, j in enumerate(free):
            there = at.astype(complex)
            there[j] += 1e-30j / scale[j]  # f'(x) = Im f(x + ih) / h, without cancellation
            found[k] = log_likelihood(table, there.tolist()).imag / 1e-30
        return found

    def value(at: np.ndarray) -> float:
        return log_likelihood(table, at.tolist()).real

    for _ in range(steps):
        g, H = gradient(theta), np.empty((len(free), len(free)))
        for k, j in enumerate(free):
            up, down = theta.copy(), theta.copy()
            up[j] += 1e-6 / scale[j]
            down[j] -= 1e-6 / scale[j]
            H[k] = (gradient(up) - gradient(down)) / 2e-6
        H = (H + H.T) / 2
        curve, V = np.linalg.eigh(-H)
        if np.abs(curve).min() < 1e-13 * max(1.0, np.abs(curve).max()):
            return theta, np.inf, float(np.abs(g).max())
        move = V @ ((V.T @ g) / np.abs(curve))  # uphill also where it is not concave
        longest, slope = float(np.abs(move).max()), float(np.abs(g).max())
        if longest < 1e-8:
            break
        damped, before = np.zeros(table.size), value(theta)
        damped[free] = move / scale[free]
        while not value(theta + damped) >= before and np.abs(damped).max() > 1e-300:
            damped /= 2
        if np.abs(damped * scale).max() < 1e-12:
            break
        theta = theta + damped
    return theta, longest, slope
