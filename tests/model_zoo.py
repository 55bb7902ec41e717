"""Small random problems of every family of models, with the call that asks about each.

Columns tie, repeat, are constant or follow from each other, to the last bit or nearly so; outcomes follow a rule of the
columns, so that some direction climbs for ever, or chance, or a rule with an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from likelihoods import FAMILIES, ORDERED, Table, conditions

Generator = np.random.Generator
MODELS = {
    "binary": ("logit", "probit", "cauchit", "cloglog"),
    "grouped": ("logit", "probit", "cauchit", "cloglog", "fractional"),
    "counts": ("poisson", "negative-binomial", "ppml"),
    "multinomial": ("multinomial",),
    "cumulative": ("cumulative", "cumulative-probit"),
    "adjacent": ("adjacent",),
    "sequential": ("sequential",),
    "matched": ("conditional",),
    "cox": ("cox",),
}
LINKS = {"fractional": "logit", "cumulative-probit": "probit"}  # others have their own name
MANY = 0.02  # the share of problems whose rows are too many for the package to begin with rational arithmetic
TEXTS = ["ash", "birch", "cedar", "elm", "fir", "oak", "yew"]


@dataclass(frozen=True)
class Asked:
    """A table, and the same as a user would have it: `diagnose(data, y, **options)`."""

    table: Table
    model: str
    styles: tuple[str, ...]
    data: Any
    y: Any
    options: dict[str, Any]
    beside: dict[str, Any]  # what `verify` has to be given again, because no column of the data has it

    @property
    def tame(self) -> bool:
        """Whether the numbers are small and whole: then no maximum is so far away that floats do not find it."""
        return all(float(value).is_integer() for row in self.table.X for value in row) and "wild" not in self.styles

    def __str__(self) -> str:
        given = self.data.to_dict("list") if isinstance(self.data, pd.DataFrame) else self.data
        return f"{self.model}, {', '.join(self.styles)}: diagnose({given}, {self.y!r}, {self.options})"


def problem(family: str, seed: int) -> Asked:
    """The problem of this seed."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    while True:
        model = str(rng.choice(MODELS[family]))
        X, score, styles = _columns(rng)
        table = OUTCOME[family](rng, X, score, model)
        if rng.random() < 0.3:
            weight = rng.choice([0.0, 1.0, 2.0, 0.5] if family != "matched" else [0.0, 1.0, 1.0], len(X))
            table = replace(table, weight=weight.tolist())
        if rng.random() < 0.2:
            table = replace(table, intercept=False)
        if _makes_sense(table):
            return _asked(rng, table, model, styles)


# Columns.


def _columns(rng: Generator) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """X, a score that some outcomes follow, and how each column was made."""
    n, d = int(rng.integers(2, 15)), int(rng.integers(1, 5))
    if rng.random() < MANY:
        n, d = int(rng.integers(30, 60)), int(rng.integers(4, 7))
    columns, whole, styles = [], [], []
    for _ in range(d):
        style = str(rng.choice(STYLES, p=CHANCES))
        if style in ("double", "sum", "nearly") and not columns:
            style = "steps"
        k = rng.integers(-3, 4, n)
        if style == "signs":
            k = rng.integers(0, 2, n)
        elif style == "constant":
            k = np.full(n, rng.integers(0, 3))
        elif style in ("double", "sum", "nearly"):
            k = whole[0] if style == "double" else whole[0] + whole[-1]
        entries = k * 1.0
        if style == "steps":
            entries = k * 0.1  # 3 * 0.1 is not 0.3, as in tables that were computed
        elif style == "decimals":
            entries = np.round(k * 0.1, 1)
        elif style == "floats":
            entries = k + rng.normal(size=n) * rng.choice([0.0, 1e-3, 1.0])
        elif style == "wild":
            entries = k * 10.0 ** rng.integers(-9, 10, n) / 3
        elif style == "constant":
            entries = k * rng.choice([0.1, 1.0])
        elif style == "double":
            entries = columns[0] * rng.choice([1.0, 2.0, -1.0])
        elif style == "sum":
            entries = columns[0] + columns[-1]  # rounds, but of whole numbers not
        elif style == "nearly":
            entries = np.nextafter(columns[0] + columns[-1], rng.choice([-np.inf, np.inf], n))
        columns.append(entries)
        whole.append(k)
        styles.append(style)
    score = np.column_stack(whole) @ rng.integers(-1, 2, d)
    X = np.column_stack(columns)
    if rng.random() < 0.3:
        again = rng.integers(0, max(1, n // 2), n)
        X, score = X[again], score[again]
    return X, score, tuple(styles)


STYLES = ["whole", "signs", "steps", "decimals", "floats", "wild", "constant", "double", "sum", "nearly"]
CHANCES = np.array([5, 3, 3, 3, 3, 1.5, 1, 0.7, 1, 0.5]) / 21.7


# Outcomes.


def _binary(rng: Generator, X: np.ndarray, score: np.ndarray, model: str) -> Table:
    way = rng.integers(4)
    cut = rng.choice(score)
    y = np.where(score == cut, rng.integers(0, 2, len(X)) if way else 1, score > cut).astype(int)
    if way == 1:
        y = rng.integers(0, 2, len(X))
    elif way == 2:
        y[rng.integers(len(X))] ^= 1
    return Table("binary", X.tolist(), y.tolist(), link=model)


def _grouped(rng: Generator, X: np.ndarray, score: np.ndarray, model: str) -> Table:
    n, cut, way = len(X), rng.choice(score), rng.integers(3)
    trials = np.ones(n) if model == "fractional" else rng.choice([0, 1, 2, 3, 5], n, p=[0.05, 0.2, 0.25, 0.25, 0.25])
    between = np.minimum(trials, np.round(rng.random(n) * trials, 1 if model == "fractional" else 0))
    y = np.where(score > cut, trials, np.where(score < cut, 0, between))
    if way == 1:
        y = rng.choice([0, 1], n) * trials
    elif way == 2:
        y[rng.integers(n)] = between[0] if trials[0] <= trials.min() else 0
    link = LINKS.get(model, model)
    given = None if model == "fractional" else trials.astype(int).tolist()
    return Table("grouped", X.tolist(), (y if given is None else y.astype(int)).tolist(), link=link, trials=given)


def _counts(rng: Generator, X: np.ndarray, score: np.ndarray, model: str) -> Table:
    """Few are above 0, and they lie in a plane or anywhere."""
    n, way = len(X), rng.integers(3)
    y = rng.choice([1, 2, 7], n) * (rng.random(n) < rng.choice([0.2, 0.5, 0.8]))
    if way:
        cut = rng.choice(score)
        y = np.where(score == cut, np.maximum(y, rng.integers(0, 2, n)), 0 if way == 1 else np.where(score < cut, 0, y))
    y = y * rng.choice([1.0, 0.3]) if model == "ppml" else y
    return Table("counts", X.tolist(), y.tolist(), link=model)


def _classes(family: str) -> Callable[[Generator, np.ndarray, np.ndarray, str], Table]:
    def made(rng: Generator, X: np.ndarray, score: np.ndarray, model: str) -> Table:
        n, J, way = len(X), int(rng.integers(2, 5)), rng.integers(4)
        cuts = np.sort(rng.choice(score, J - 1))
        y = np.searchsorted(cuts, score, side="left") if way != 1 else rng.integers(0, J, n)
        if way == 2:  # a row on a cut is of either class
            y = np.where(rng.random(n) < 0.5, y, np.searchsorted(cuts, score, side="right"))
        elif way == 3:
            y[rng.integers(n)] = rng.integers(0, J)
        return Table(family, X.tolist(), y.tolist(), link=LINKS.get(model, "logit"))

    return made


def _matched(rng: Generator, X: np.ndarray, score: np.ndarray, model: str) -> Table:
    n, way = len(X), rng.integers(3)
    groups = rng.permutation(n) % max(rng.integers(1, 4), -(-n // 8))  # at most 8 to a set: all choices are tried
    y = rng.integers(0, 2, n) if way == 1 else np.zeros(n, int)
    for name in np.unique(groups):
        members = np.flatnonzero(groups == name)
        cases = rng.integers(1, max(2, len(members) // 2 + 1))
        if way != 1:
            order = np.lexsort([rng.random(len(members)), -score[members]])
            y[members[order[:cases]]] = 1
        elif not y[members].any():
            y[rng.choice(members)] = 1
    if way == 2:
        y[rng.integers(n)] = 1
    return Table("matched", X.tolist(), y.tolist(), groups=groups.tolist())


def _cox(rng: Generator, X: np.ndarray, score: np.ndarray, model: str) -> Table:
    """Times tie; the censored leave at times of events, too."""
    n, way = len(X), rng.integers(3)
    time = (score.max() - score + 1) if way != 1 else rng.integers(1, 6, n)
    if way == 2:
        time[rng.integers(n)] = rng.integers(1, 6)
    event = (rng.random(n) < rng.choice([0.3, 0.7, 1.0])).astype(int)
    groups = rng.integers(0, 2, n).tolist() if rng.random() < 0.3 else None
    time = time * rng.choice([1.0, 0.1])
    return Table("cox", X.tolist(), time.tolist(), event=event.tolist(), groups=groups)


OUTCOME: dict[str, Callable[[Generator, np.ndarray, np.ndarray, str], Table]] = {
    "binary": _binary,
    "grouped": _grouped,
    "counts": _counts,
    **{family: _classes(family) for family in ("multinomial", *ORDERED)},
    "matched": _matched,
    "cox": _cox,
}


def _makes_sense(table: Table) -> bool:
    """Whether there is anything to estimate; the doors that say otherwise have tests of their own."""
    if table.family in ("binary", "matched", "multinomial", *ORDERED) and len(table.classes) < 2:
        return False
    if table.family == "matched":
        cases = {table.groups[i] for i in table.used if table.y[i] == 1}
        if cases != {table.groups[i] for i in table.used}:
            return False
    return bool(table.used) and bool(conditions(table))


# What a user has.


def _asked(rng: Generator, table: Table, model: str, styles: tuple[str, ...]) -> Asked:
    """As a pandas frame, a mapping of columns or arrays, with outcomes as numbers, text or ordered categories."""
    form, d = rng.integers(3), len(table.X[0])
    columns: dict[str, Any] = {f"x{j}": [row[j] for row in table.X] for j in range(d)}
    if rng.random() < 0.3:  # as whole numbers where they are
        columns = {name: list(map(int, v)) if all(map(float.is_integer, v)) else v for name, v in columns.items()}
    outcome: Any = table.y
    if table.family in ("binary", "multinomial") and rng.random() < 0.5:
        outcome = [TEXTS[int(k)] for k in table.y]
    elif table.family in ORDERED and form == 0 and rng.random() < 0.5:
        outcome = pd.Categorical.from_codes(np.array(table.y) + rng.integers(0, 2), list("zyxwvut"), ordered=True)
    said: dict[str, Any] = {"sample_weight": table.weight, "event": table.event, "groups": table.groups}
    if table.trials is not None and rng.random() < 0.5:
        said["failures"] = [m - k for m, k in zip(table.trials, table.y, strict=True)]
    else:
        said["trials"] = table.trials
    said = {name: values for name, values in said.items() if values is not None}
    options: dict[str, Any] = {"model": model}
    if not table.intercept:
        options["fit_intercept"] = False
    beside: dict[str, Any] = {}
    if form == 2:
        options |= {name: np.array(values) for name, values in said.items()}
        beside = {"weight" if name == "sample_weight" else name: np.array(values) for name, values in said.items()}
        return Asked(table, model, styles, np.array(table.X), np.array(outcome), options, beside)
    columns["outcome"] = outcome
    columns |= {f"the {name}": values for name, values in said.items()}
    options |= {name: f"the {name}" for name in said}
    order = rng.permutation(list(columns)).tolist()
    order = [name for name in columns if name.startswith("x")] + [name for name in order if not name.startswith("x")]
    columns = {name: columns[name] for name in order}
    return Asked(table, model, styles, pd.DataFrame(columns) if form == 0 else columns, "outcome", options, beside)
