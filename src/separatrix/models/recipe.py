"""Recipe: how a table is read as a model, in words that a proof file can carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.data.statsmodels_model import is_model
from separatrix.data.table import is_formula, read_table, stated_intercept
from separatrix.models.model import MODELS
from separatrix.models.reading import Reading, model_named, read_model

BESIDE = ("weight", "offset", "trials", "failures", "groups", "time", "event")
WORDS = 1_000  # names in a list of a file, at most
LONG = 100_000  # letters of a formula


@dataclass(frozen=True)
class Recipe:
    """From a table to a model.

    model : its name; None to guess
    formula : the formula, where one was given
    outcome : the name of the outcome's column, or of two (successes and failures); None where values were given
    fit_intercept : whether a constant column is appended, where the model has one; None: as a formula says, else yes
    beside : by option, the name of its column; "" where values were given, which have to be given again
    fixed_effects, reference, keep, missing : as in `read_table`
    """

    model: str | None = None
    formula: str | None = None
    outcome: str | tuple[str, ...] | None = None
    fit_intercept: bool | None = None
    beside: Mapping[str, str] = field(default_factory=dict)
    fixed_effects: tuple[str, ...] = ()
    reference: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    missing: str = "error"

    @classmethod
    def of(
        cls,
        data: Any,
        y: Any,
        *,
        model: str | None,
        fit_intercept: bool | None,
        beside: Mapping[str, Any],
        fixed_effects: Sequence[str] | str,
        reference: Mapping[str, Any] | None,
        keep: Sequence[str] | str,
        missing: str,
    ) -> tuple[Recipe, Any, Any, Mapping[str, Any]]:
        """The recipe of a call, and the data, the outcome and the values beside it."""
        if reference is not None and not isinstance(reference, Mapping):
            raise TypeError(f"reference maps columns to levels, such as {{'ward': 'north'}}, got {reference!r}.")
        fixed_effects, keep = _names(fixed_effects, "fixed_effects"), _names(keep, "keep")
        formula = data if isinstance(data, str) and "~" in data else None
        event_time = beside.get("time")
        beside = {name: value for name, value in beside.items() if value is not None and name != "time"}
        if event_time is not None:
            if y is not None and formula is None:
                raise ValueError("give the time of events as y or as time=…, not both.")
            if "event" not in beside:
                raise ValueError("time says when, but not who had the event: event='…', 1 if so and 0 if censored.")
            y = event_time if formula is None else y
        elif "event" in beside and y is None and not is_model(data):
            raise ValueError("event says who had one, but not when: give the times as time='…', or as y.")
        outcome: str | tuple[str, ...] | None = None
        if formula is None:
            outcome = y if isinstance(y, str) else None
            if isinstance(y, tuple | list) and len(y) == 2 and all(isinstance(name, str) for name in y):
                outcome = (y[0], y[1])
        recipe = cls(
            model=None if model is None else model_named(model),
            formula=formula,
            outcome=outcome,
            fit_intercept=fit_intercept,
            beside={name: value if isinstance(value, str) else "" for name, value in beside.items()},
            fixed_effects=fixed_effects,
            reference={str(k): v for k, v in (reference or {}).items()},
            keep=keep,
            missing=missing,
        )
        return recipe, data, y, beside

    @property
    def plain(self) -> bool:
        """Whether two classes are all there is to say: rows and labels as given."""
        return self == Recipe(self.model, None, self.outcome, self.fit_intercept)

    def read(self, data: Any, y: Any, beside: Mapping[str, Any]) -> Reading:
        """The table as a model."""
        design = read_table(
            data,
            y,
            beside=beside,
            fixed_effects=self.fixed_effects,
            reference=self.reference or None,
            keep=self.keep,
            missing=self.missing,
        )
        silent = design.fit_intercept is None and self.fit_intercept is None
        return read_model(design, self.model, fit_intercept=silent or stated_intercept(design, self.fit_intercept))

    def again(self, data: Any, y: Any, beside: Mapping[str, Any]) -> Reading:
        """The same from the recipe's own names, as a file gives them; values that it does not name are given again."""
        missing = [name for name, column in self.beside.items() if not column and name not in beside]
        if missing:
            raise ValueError(f"the proof was made with values for {', '.join(missing)}; give them again.")
        known = {name: column for name, column in self.beside.items() if column}
        if self.formula is not None:
            asked, frame = (data, y) if is_formula(data, y) else (None, data)
            if asked is not None and "".join(asked.split()) != "".join(self.formula.split()):
                raise ValueError(f"the proof is about {self.formula!r}, not about {asked!r}; leave the formula out.")
            if asked is None and isinstance(y, str) and y != self.formula.partition("~")[0].strip():
                raise ValueError(f"the proof is about {self.formula!r}, which names the outcome; leave out {y!r}.")
            return self.read(self.formula, frame, {**known, **beside})
        if isinstance(y, str) and isinstance(self.outcome, str) and y != self.outcome:
            raise ValueError(f"the proof is about the outcome {self.outcome!r}, and not about {y!r}; leave it out.")
        if y is None:
            y = list(self.outcome) if isinstance(self.outcome, tuple) else self.outcome
        return self.read(data, y, {**known, **beside})

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return {
            "model": self.model,
            "formula": self.formula,
            "outcome": list(self.outcome) if isinstance(self.outcome, tuple) else self.outcome,
            "fit_intercept": self.fit_intercept,
            "beside": dict(self.beside),
            "fixed_effects": list(self.fixed_effects),
            "reference": {name: str(level) for name, level in self.reference.items()},
            "keep": list(self.keep),
            "missing": self.missing,
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Recipe:
        """From a file; every word is checked."""
        names = {"model", "formula", "outcome", "fit_intercept", "beside", "fixed_effects", "reference", "keep"}
        if not isinstance(fields, dict) or set(fields) != {*names, "missing"}:
            raise ValueError("its model is no recipe")
        outcome = fields["outcome"]
        beside = _pairs(fields["beside"], "beside")
        if fields["model"] not in MODELS or not set(beside) <= set(BESIDE):
            raise ValueError("its model is none of ours")
        if not isinstance(fields["fit_intercept"], bool | None) or fields["missing"] not in ("error", "drop"):
            raise ValueError("its model is no recipe")
        formula = fields["formula"]
        if formula is not None and not (isinstance(formula, str) and "~" in formula and len(formula) <= LONG):
            raise ValueError("its formula is none")
        if isinstance(outcome, list):
            outcome = _words(outcome, "outcome")
        elif outcome is not None and not isinstance(outcome, str):
            raise ValueError("its outcome is no name")
        return cls(
            model=fields["model"],
            formula=formula,
            outcome=outcome,
            fit_intercept=fields["fit_intercept"],
            beside=beside,
            fixed_effects=_words(fields["fixed_effects"], "fixed_effects"),
            reference=_pairs(fields["reference"], "reference"),
            keep=_words(fields["keep"], "keep"),
            missing=fields["missing"],
        )


def _names(values: Sequence[str] | str, option: str) -> tuple[str, ...]:
    """Names of columns, one or several."""
    names = (values,) if isinstance(values, str) else values
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option} must be the name of a column or a list of names, got {values!r}.")
    return tuple(names)


def _words(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) > WORDS or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{name} is no list of names")
    return tuple(values)


def _pairs(values: Any, name: str) -> dict[str, str]:
    good = isinstance(values, dict) and len(values) <= WORDS
    if not good or not all(isinstance(v, str) for v in values.values()):
        raise ValueError(f"{name} is no list of names")
    return dict(values)
