"""Every model's likelihood and, in exact numbers, the directions along which it never falls: both from the definitions.

Nothing here comes from the package. A direction b can be climbed for ever where no factor of the likelihood falls along
it, which is a list of conditions zᵀb ≥ 0, each of them about one observation; where one of them is strict, that factor
rises for ever. `conditions` writes them down one by one, in fractions of the numbers as they are stored.
`log_likelihood` knows nothing of them: a test that climbs it along b, or finds its maximum, tests the conditions, too.

Coefficients are in this order: columns, then the intercept; of several classes, so for each class but the first;
of ordered classes, thresholds, then columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import log_ndtr, ndtr

Number = Fraction | float | complex
Vector = Sequence[Number]


@dataclass(frozen=True)
class Table:
    """Observations as they are stored; those of weight 0 are none.

    y is 0 or 1 (binary, matched), successes or a share (grouped), a count, the number of a class, or a time (cox).
    """

    family: str
    X: list[list[float]]
    y: list[float]
    link: str = "logit"
    intercept: bool = True
    trials: list[float] | None = None
    groups: list[int] | None = None
    event: list[int] | None = None
    weight: list[float] | None = None

    @cached_property
    def used(self) -> list[int]:
        """The observations."""
        return [i for i in range(len(self.y)) if self.weight is None or self.weight[i] > 0]

    @cached_property
    def classes(self) -> list[float]:
        """Those that occur, in order."""
        return sorted({self.y[i] for i in self.used})

    @cached_property
    def constant(self) -> bool:
        """Whether there is an intercept in the linear predictor."""
        return self.intercept and self.family in ("binary", "grouped", "counts", "multinomial")

    @cached_property
    def width(self) -> int:
        """The entries of a row, its constant among them."""
        return len(self.X[0]) + self.constant

    @cached_property
    def size(self) -> int:
        """The number of coefficients."""
        if self.family == "multinomial":
            return self.width * (len(self.classes) - 1)
        return self.width + (len(self.classes) - 1 if self.family in ORDERED else 0)

    @cached_property
    def constants(self) -> list[int]:
        """The coefficients that belong to no column: of columns that depend on each other they are kept first."""
        if self.family in ORDERED:
            return list(range(len(self.classes) - 1))
        return list(range(self.width - 1, self.size, self.width)) if self.constant else []

    @cached_property
    def rows(self) -> list[list[float]]:
        """All of them, with their constants."""
        return [[*x, 1.0] if self.constant else list(x) for x in self.X]

    @cached_property
    def exact(self) -> list[list[Fraction]]:
        """The same in fractions."""
        return [[Fraction(value) for value in row] for row in self.rows]

    def share(self, i: int) -> float:
        """The weight of an observation."""
        return 1.0 if self.weight is None else self.weight[i]


ORDERED = "cumulative", "adjacent", "sequential"


# The likelihoods. θ is of fractions, so that linear predictors are exact, or of floats or complex numbers.


def log_likelihood(table: Table, theta: Vector) -> complex:
    """The logarithm of the likelihood, without what does not depend on θ."""
    assert len(theta) == table.size
    if table.family in SETS:
        return SETS[table.family](table, theta)
    return sum(table.share(i) * FACTOR[table.family](table, theta, i) for i in table.used)


def _dot(x: Vector, b: Vector) -> Number:
    return sum((a * c for a, c in zip(x, b, strict=True)), start=0)


def _eta(table: Table, theta: Vector, i: int) -> Number:
    return _dot((table.exact if isinstance(theta[0], Fraction) else table.rows)[i], theta)


def _floats(numbers: Sequence[Number]) -> np.ndarray:
    return np.array([v if isinstance(v, complex) else float(v) for v in numbers])


def _log_sum_exp(numbers: Sequence[Number]) -> complex:
    values = _floats(numbers)
    top = values.real.max()
    return complex(top + np.log(np.exp(values - top).sum()))


def _log_probability(link: str, eta: Number, success: bool) -> complex:
    """log F(η), or log(1 - F(η)), in a form that does not lose its digits where it is near 0."""
    (u,) = _floats([eta])
    v = u if success else -u  # logit, probit and cauchit are symmetric: 1 - F(u) = F(-u)
    if link == "logit":
        return -_log_sum_exp([0.0, complex(-v)])
    if link == "probit":
        return complex(log_ndtr(v))
    if link == "cauchit":
        far = v.real < -1  # there arctan(v) is near -π/2, and -π/2 - arctan(v) = arctan(1/v)
        return complex(np.log(-np.arctan(1 / v) / np.pi if far else 0.5 + np.arctan(v) / np.pi))
    assert link == "cloglog"  # F(η) = 1 - exp(-e^η)
    rate = np.exp(u) if u.real < 700 else complex(np.inf)
    if not success:
        return complex(-rate)
    if u.real < -40:
        return complex(u)  # F(η) is e^η there
    if rate.real > 36:
        return complex(-np.exp(-rate)) if np.isfinite(rate) else 0j
    return complex(np.log(-np.expm1(-rate)))


def _binary(table: Table, theta: Vector, i: int) -> complex:
    return _log_probability(table.link, _eta(table, theta, i), table.y[i] == 1)


def _grouped(table: Table, theta: Vector, i: int) -> complex:
    """k log p + (m - k) log(1 - p); a share is the same with m = 1."""
    trials = 1.0 if table.trials is None else table.trials[i]
    eta, k = _eta(table, theta, i), table.y[i]
    found = 0j
    for times, success in ((k, True), (trials - k, False)):
        if times:
            found += times * _log_probability(table.link, eta, success)
    return found


def _count(table: Table, theta: Vector, i: int) -> complex:
    """y η - e^η, or with dispersion 1/2: y η - (y + 2) log(1 + e^η / 2)."""
    (eta,), y = _floats([_eta(table, theta, i)]), table.y[i]
    if table.link == "negative-binomial":
        return complex(y * eta - (y + 2) * _log_sum_exp([0.0, complex(eta - np.log(2))]))
    return complex((y * eta if y else 0) - np.exp(eta))


def _multinomial(table: Table, theta: Vector, i: int) -> complex:
    """-log Σ_c exp(η_c - η_y), with η = 0 for the first class."""
    p = table.width
    eta = [Fraction(0) if isinstance(theta[0], Fraction) else 0.0]
    eta += [_eta(table, theta[k : k + p], i) for k in range(0, table.size, p)]
    own = eta[table.classes.index(table.y[i])]
    return -_log_sum_exp([value - own for value in eta])


def _ordered(table: Table, theta: Vector, i: int) -> tuple[list[Number], int]:
    """a_k - xᵀb for every threshold, and the number of the class that was observed."""
    J = len(table.classes)
    eta = _eta(table, theta[J - 1 :], i)
    return [a - eta for a in theta[: J - 1]], table.classes.index(table.y[i])


def _cumulative(table: Table, theta: Vector, i: int) -> complex:
    """P(class j) = F(a_j - η) - F(a_{j-1} - η)."""
    below, j = _ordered(table, theta, i)
    if j == 0:
        return _log_probability(table.link, below[0], True)
    if j == len(below):
        return _log_probability(table.link, below[-1], False)
    low, high = _floats([below[j - 1], below[j]])
    if low.real > 0:
        low, high = -high, -low  # F(h) - F(l) = F(-l) - F(-h), and small numbers have more digits
    F = ndtr if table.link == "probit" else lambda u: 1 / (1 + np.exp(-u)) if u.real > -700 else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return complex(np.log(F(high) - F(low))) if high.real > low.real else complex(-np.inf)


def _adjacent(table: Table, theta: Vector, i: int) -> complex:
    """log P(k) - log P(k + 1) = a_k - η for neighbours."""
    below, j = _ordered(table, theta, i)
    score = [0 * below[0]]
    for value in below:
        score.append(score[-1] - value)
    return -_log_sum_exp([value - score[j] for value in score])


def _sequential(table: Table, theta: Vector, i: int) -> complex:
    """P(class k, given that it is k or later) = F(a_k - η)."""
    below, j = _ordered(table, theta, i)
    found = sum((_log_probability(table.link, below[k], False) for k in range(j)), start=0j)
    return found + (_log_probability(table.link, below[j], True) if j < len(below) else 0)


def _matched(table: Table, theta: Vector) -> complex:
    """For each set, given how many cases it has: how likely are these, among all choices of so many."""
    found = 0j
    for members, cases in _sets(table):
        eta = {i: _eta(table, theta, i) for i in members}
        own = sum(eta[i] for i in cases)
        found -= _log_sum_exp([sum(eta[i] for i in chosen) - own for chosen in combinations(members, len(cases))])
    return found


def _cox(table: Table, theta: Vector) -> complex:
    """For each event: how likely is it this one, among all at risk at its time (Breslow's ties)."""
    eta = {i: _eta(table, theta, i) for i in table.used}
    found = 0j
    for i in _events(table):
        risk = _at_risk(table, i)
        sums = _floats([eta[j] - eta[i] for j in risk]) + np.log([table.share(j) for j in risk])
        found -= table.share(i) * _log_sum_exp(list(map(complex, sums)))
    return found


FACTOR: dict[str, Callable[[Table, Vector, int], complex]] = {
    "binary": _binary,
    "grouped": _grouped,
    "counts": _count,
    "multinomial": _multinomial,
    "cumulative": _cumulative,
    "adjacent": _adjacent,
    "sequential": _sequential,
}
SETS = {"matched": _matched, "cox": _cox}
FAMILIES = *FACTOR, *SETS


def _sets(table: Table) -> list[tuple[list[int], list[int]]]:
    """The members of each matched set, and its cases."""
    found = []
    for name in dict.fromkeys(table.groups[i] for i in table.used):
        members = [i for i in table.used if table.groups[i] == name]
        found.append((members, [i for i in members if table.y[i] == 1]))
    return found


def _events(table: Table) -> list[int]:
    return [i for i in table.used if table.event[i]]


def _at_risk(table: Table, i: int) -> list[int]:
    """Who might have had the event i: whoever was still there, of the same stratum."""
    same = [j for j in table.used if table.groups is None or table.groups[j] == table.groups[i]]
    return [j for j in same if table.y[j] >= table.y[i]]


# The conditions.


@dataclass(frozen=True)
class Condition:
    """zᵀθ ≥ 0, said of one observation."""

    observation: int
    z: list[Fraction]


def conditions(table: Table) -> list[Condition]:
    """All of them, in the order of observations."""
    return [Condition(i, z) for i in table.used for z in CONDITIONS[table.family](table, i)]


Rows = list[list[Fraction]]


def _minus(z: list[Fraction]) -> list[Fraction]:
    return [-value for value in z]


def _binary_rows(table: Table, i: int) -> Rows:
    """F(η) rises with η, 1 - F(η) falls."""
    x = table.exact[i]
    return [x] if table.y[i] == 1 else [_minus(x)]


def _grouped_rows(table: Table, i: int) -> Rows:
    """With k successes η must not fall, with m - k failures it must not rise."""
    x, k = table.exact[i], table.y[i]
    trials = 1.0 if table.trials is None else table.trials[i]
    return ([x] if k > 0 else []) + ([_minus(x)] if k < trials else [])


def _count_rows(table: Table, i: int) -> Rows:
    """e^η must not rise; where y > 0, y η must not fall."""
    x = table.exact[i]
    return [_minus(x)] + ([x] if table.y[i] > 0 else [])


def _multinomial_rows(table: Table, i: int) -> Rows:
    """η of the class observed must rise as fast as that of any other."""
    x, p, found = table.exact[i], table.width, []
    for other in table.classes:
        if other != table.y[i]:
            z = [Fraction(0)] * table.size
            for name, sign in ((table.y[i], 1), (other, -1)):
                k = table.classes.index(name) - 1
                if k >= 0:
                    z[k * p : (k + 1) * p] = [sign * value for value in x]
            found.append(z)
    return found


def _below(table: Table, i: int, k: int) -> list[Fraction]:
    """The row of a_k - xᵀb."""
    z = [Fraction(0)] * (len(table.classes) - 1)
    z[k] = Fraction(1)
    return z + _minus(table.exact[i])


def _cumulative_rows(table: Table, i: int) -> Rows:
    """The upper end of the interval must not fall, the lower must not rise."""
    j, last = table.classes.index(table.y[i]), len(table.classes) - 1
    return ([_below(table, i, j)] if j < last else []) + ([_minus(_below(table, i, j - 1))] if j > 0 else [])


def _adjacent_rows(table: Table, i: int) -> Rows:
    """The log-odds of the class observed against any other must not fall; neighbours' log-odds add up."""
    j, found = table.classes.index(table.y[i]), []
    for other in range(len(table.classes)):
        if other != j:
            steps = [_below(table, i, k) for k in range(min(j, other), max(j, other))]
            z = [sum(values, start=Fraction(0)) for values in zip(*steps, strict=True)]
            found.append(z if j < other else _minus(z))
    return found


def _sequential_rows(table: Table, i: int) -> Rows:
    """It went on at every class before its own, and stopped there, if there was one to go on to."""
    j, last = table.classes.index(table.y[i]), len(table.classes) - 1
    return [_minus(_below(table, i, k)) for k in range(j)] + ([_below(table, i, j)] if j < last else [])


def _difference(table: Table, i: int, j: int) -> list[Fraction]:
    return [a - b for a, b in zip(table.exact[i], table.exact[j], strict=True)]


def _matched_rows(table: Table, i: int) -> Rows:
    """A case exchanged for a control of its set: η of the case must rise as fast. Any other choice is some of these."""
    if table.y[i] != 1:
        return []
    controls = [j for j in table.used if table.groups[j] == table.groups[i] and table.y[j] != 1]
    return [_difference(table, i, j) for j in controls]


def _cox_rows(table: Table, i: int) -> Rows:
    """η of an event must rise as fast as that of everyone else at risk."""
    return [_difference(table, i, j) for j in _at_risk(table, i) if j != i] if table.event[i] else []


CONDITIONS: dict[str, Callable[[Table, int], Rows]] = {
    "binary": _binary_rows,
    "grouped": _grouped_rows,
    "counts": _count_rows,
    "multinomial": _multinomial_rows,
    "cumulative": _cumulative_rows,
    "adjacent": _adjacent_rows,
    "sequential": _sequential_rows,
    "matched": _matched_rows,
    "cox": _cox_rows,
}
