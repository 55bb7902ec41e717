"""Model: a table read as an outcome of some family, and the table of models by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index, Vector
from separatrix.models.conditions import Conditions, beside

INTERCEPT = "(intercept)"


@dataclass(frozen=True, eq=False)
class Model:
    """What a likelihood is of: a design, an outcome per observation, and how they belong together.

    name : as the user says it, "logit" or "poisson"
    family : whose conditions and likelihood, a key of FAMILIES
    link : "logit", "probit", "cauchit", "cloglog" or "log"; where the family has one of its own, ""
    X : dense or CSR, (n, p), without a constant column
    terms : the names of its columns
    constant : whether the model has a constant column, behind them
    y : one number per observation: the class's place among `classes`, a count, or a number of successes
    classes : what the places stand for; empty for counts
    trials : of grouped counts, and 1 for fractions
    groups : the matched set or stratum of each observation, as whole numbers from 0
    time : of an event or of censoring; y is 1 for an event
    weight, offset : one per observation
    """

    name: str
    family: str
    link: str
    X: Any
    terms: tuple[str, ...]
    constant: bool
    y: Vector
    classes: tuple[str, ...] = ()
    trials: Vector | None = None
    groups: Index | None = None
    time: Vector | None = None
    weight: Vector = field(default_factory=lambda: np.ones(0))
    offset: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def n(self) -> int:
        """Observations."""
        return len(self.y)

    @cached_property
    def A(self) -> Any:
        """The design with its constant column, last."""
        return beside(self.X, np.ones((self.n, 1))) if self.constant else self.X

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of A."""
        return (*self.terms, INTERCEPT) if self.constant else self.terms

    @property
    def codes(self) -> NDArray[np.int64]:
        """The outcome as whole numbers."""
        return self.y.astype(np.int64)

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The names of the coefficients, in the order of the conditions' columns."""
        return FAMILIES[self.family].coefficients(self)

    def conditions(self) -> Conditions:
        """The rows z with zᵀb ≥ 0 for every direction b along which the likelihood never falls."""
        return FAMILIES[self.family].conditions(self)


@dataclass(frozen=True)
class Family:
    """A likelihood's conditions in words and in code.

    condition : one line, for reports and pages
    conditions : the rows
    coefficients : their names
    constant : whether its models have a constant column of their own
    """

    condition: str
    conditions: Callable[[Model], Conditions]
    coefficients: Callable[[Model], tuple[str, ...]]
    constant: bool = True


def own_names(model: Model) -> tuple[str, ...]:
    """One coefficient per column of the design."""
    return model.names


def _families() -> Mapping[str, Family]:
    from separatrix.models import binary, counts, cox, grouped, matched, multinomial, ordinal

    return {
        "binary": binary.FAMILY,
        "grouped": grouped.FAMILY,
        "multinomial": multinomial.FAMILY,
        "cumulative": ordinal.CUMULATIVE,
        "adjacent": ordinal.ADJACENT,
        "sequential": ordinal.SEQUENTIAL,
        "counts": counts.FAMILY,
        "matched": matched.FAMILY,
        "cox": cox.FAMILY,
    }


class _Families(dict[str, Family]):
    """Filled when first asked: each family's file needs the record above."""

    def __missing__(self, family: str) -> Family:
        self.update(_families())
        if family not in self:
            raise KeyError(family)
        return self[family]


FAMILIES = _Families()
MODELS: dict[str, tuple[str, str]] = {  # by the name that users say: the family and the link
    "logit": ("binary", "logit"),
    "probit": ("binary", "probit"),
    "cauchit": ("binary", "cauchit"),
    "cloglog": ("binary", "cloglog"),
    "fractional": ("grouped", "logit"),
    "multinomial": ("multinomial", ""),
    "cumulative": ("cumulative", "logit"),
    "cumulative-probit": ("cumulative", "probit"),
    "adjacent": ("adjacent", ""),
    "sequential": ("sequential", "logit"),
    "poisson": ("counts", "log"),
    "negative-binomial": ("counts", "log"),
    "ppml": ("counts", "log"),
    "conditional": ("matched", ""),
    "cox": ("cox", ""),
}
ALIASES = {
    "ordinal": "cumulative",
    "clogit": "conditional",
    "conditional-logit": "conditional",
    "mlogit": "multinomial",
    "negbin": "negative-binomial",
}
