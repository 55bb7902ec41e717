"""A table read as a model: which outcome is meant, which observations take part, and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.accidents import spellings
from separatrix.data.frames import Design
from separatrix.data.labels import label, read_labels
from separatrix.data.memory import HeldRows, hold
from separatrix.data.rows import Index, Vector
from separatrix.models.conditions import Conditions
from separatrix.models.model import ALIASES, FAMILIES, MODELS, Model
from separatrix.reporting.hints import did_you_mean

CLASSES = 50  # more classes than this are taken for a number that was meant
CHOICES = "say which: model='poisson' for counts, 'multinomial' or 'cumulative' for classes, 'fractional' for shares"


@dataclass(frozen=True, eq=False)
class Reading:
    """A model of a table, and how it lies in it.

    model : the model
    rows : for each observation its place in the data given
    index : for each observation its label in the frame's index, or None
    classes : the different outcomes as they are in the data; empty for numbers
    target : the name of the outcome
    dropped : rows left out for missing values
    notes : sentences worth telling
    assumed : why this model, where nobody said
    """

    model: Model
    design: Design
    rows: Index
    index: NDArray[Any] | None
    classes: NDArray[Any]
    target: str
    dropped: int
    notes: tuple[str, ...]
    assumed: str

    def held(self) -> tuple[HeldRows, Conditions]:
        """The rows of the model, ready for deciding; two classes as z_i = ±x_i with the intercept apart."""
        model = self.model
        if model.family == "binary":  # without a copy of X
            rows = hold(model.X, model.codes, fit_intercept=model.constant)
            return rows, Conditions(None, np.arange(model.n), model.names)
        conditions = model.conditions()
        if len(conditions.observation) == 0:
            raise ValueError(f"no observation is compared with another: there is nothing for {model.name} to estimate.")
        return hold(conditions.Z, np.ones(len(conditions.observation)), signed=True), conditions


def model_named(name: str) -> str:
    """The model that a word means."""
    found = ALIASES.get(name, name)
    if found not in MODELS:
        hint = did_you_mean(found, [*MODELS, *ALIASES])
        raise ValueError(f"there is no model {name!r}{hint}; models: {', '.join(MODELS)}.")
    return found


def read_model(design: Design, name: str | None, *, fit_intercept: bool = True) -> Reading:
    """The table as a model; where `name` is None the one sensible guess, if there is one."""
    assumed = ""
    if name is None:
        name, assumed = guess(design)
    name = model_named(name)
    family, link = MODELS[name]
    if "strata" in design.beside:  # what statsmodels calls the groups of a Cox model
        design = replace(design, beside={**design.beside, "groups": design.beside["strata"]})
    beside = design.beside
    counted = design.y.ndim == 2 or "trials" in beside or "failures" in beside
    if (design.y.ndim == 2) + ("trials" in beside) + ("failures" in beside) > 1:
        raise ValueError("trials and failures were given, and one of them follows from the other; leave one out.")
    if family == "binary" and counted:
        family = "grouped"
    if counted and family != "grouped":
        raise ValueError(f"trials and failures belong to counts of successes (logit, probit, …), not to {name}.")
    for option, families in (("groups", ("matched", "cox")), ("time", ("cox",)), ("event", ("cox",))):
        if option in beside and family not in families:
            raise ValueError(f"{option} does not belong to the model {name!r}; leave it out, or name another model.")
    weight, offset = _weights(design), _numbers(design, "offset", np.zeros(len(design.rows)))
    part = weight > 0
    if not part.all():
        design = taken(design, np.flatnonzero(part))
        weight, offset = weight[part], offset[part]
        if not len(weight):
            raise ValueError("every weight is 0; at least one row needs a positive one.")
    notes: list[str] = []
    if not part.all():
        notes.append(f"{int((~part).sum())} rows of weight 0 left out.")
    y, classes, more = OUTCOMES[family](design, name)
    keep = more.pop("keep", None)
    notes += [*more.pop("notes", []), *spellings(design.target, [label(c) for c in classes])]
    constant = FAMILIES[family].constant and fit_intercept
    model = Model(
        name=name,
        family=family,
        link=link,
        X=design.X,
        terms=tuple(term.name for term in design.terms),
        constant=constant,
        y=y,
        classes=tuple(label(c) for c in classes),
        weight=weight,
        offset=offset,
        **more,
    )
    rows, index = design.rows, design.index
    if keep is not None and len(keep) < model.n:
        model = _part(model, keep)
        rows, index = rows[keep], None if index is None else index[keep]
        design = taken(design, keep)
    return Reading(model, design, rows, index, classes, design.target, design.dropped, (*design.notes, *notes), assumed)


def guess(design: Design) -> tuple[str, str]:
    """The model that the outcome and the options leave no doubt about, and why."""
    if design.model is not None:
        amounts = design.model == "poisson" and (design.y != np.rint(design.y)).any()  # the likelihood takes them, too
        return "ppml" if amounts else design.model, "that is what the model given is"
    if "time" in design.beside or "event" in design.beside:
        return "cox", "times and events were given"
    if "groups" in design.beside:
        return "conditional", "matched sets were given"
    if design.y.ndim == 2 or "trials" in design.beside or "failures" in design.beside:
        return "logit", "successes were given with trials or failures"
    y, classes = read_labels(design.y)
    if len(classes) <= 2:
        return "logit", f"{design.target} has two values"
    if design.ordered:
        return "cumulative", f"{design.target} is an ordered category"
    if y.dtype.kind not in "biuf":
        return "multinomial", f"{design.target} is text with {len(classes)} values"
    raise ValueError(
        f"{design.target} has {len(classes)} different numbers, and more than one model would fit; {CHOICES}."
    )


def taken(design: Design, keep: Index) -> Design:
    """The design of some of its rows."""
    return replace(
        design,
        X=design.X[keep],
        y=design.y[keep],
        rows=design.rows[keep],
        index=None if design.index is None else design.index[keep],
        beside={name: values[keep] for name, values in design.beside.items()},
    )


def _part(model: Model, keep: Index) -> Model:
    """The model of some of its observations."""
    return replace(
        model,
        X=model.X[keep],
        y=model.y[keep],
        weight=model.weight[keep],
        offset=model.offset[keep],
        trials=None if model.trials is None else model.trials[keep],
        groups=None if model.groups is None else model.groups[keep],
        time=None if model.time is None else model.time[keep],
    )


def _weights(design: Design) -> Vector:
    weight = _numbers(design, "weight", np.ones(len(design.rows)))
    if (weight < 0).any():
        raise ValueError(f"weights must not be negative, got {float(weight.min())}.")
    return weight


def _numbers(design: Design, name: str, otherwise: Vector) -> Vector:
    """A column beside the design as finite numbers."""
    if name not in design.beside:
        return otherwise
    values = np.asarray(design.beside[name])
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, got {label(values[0])!r}.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {float(values[~np.isfinite(values)][0])}.")
    return values


def _outcome(design: Design) -> Vector:
    """The outcome as finite numbers."""
    if design.y.ndim != 1 or design.y.dtype.kind not in "biuf":
        raise ValueError(f"{design.target} must be numbers here, got {label(design.y.flat[0])!r}.")
    y = design.y.astype(np.float64)
    if not np.isfinite(y).all():
        raise ValueError(f"{design.target} must be finite, got {float(y[~np.isfinite(y)][0])}.")
    return y


# What the outcome of each family is: numbers, classes, and what else the model needs.
Outcome = tuple[Vector, NDArray[Any], dict[str, Any]]
NONE: NDArray[Any] = np.empty(0)


def _two(design: Design, name: str) -> Outcome:
    labels, classes = read_labels(design.y)
    if len(classes) == 1:
        raise ValueError(f"{design.target} has one class only ({label(classes[0])}); a diagnosis needs two or more.")
    if len(classes) > 2:
        raise ValueError(f"{design.target} has {len(classes)} different values, and {name} is for two; {CHOICES}.")
    return np.searchsorted(classes, labels).astype(np.float64), classes, {}


def _several(design: Design, name: str) -> Outcome:
    labels, classes = read_labels(design.y)
    if len(classes) == 1:
        raise ValueError(f"{design.target} has one class only ({label(classes[0])}); a diagnosis needs two or more.")
    if len(classes) > CLASSES:
        raise ValueError(
            f"{design.target} has {len(classes)} different values; {name} needs classes, at most {CLASSES} of them."
        )
    if design.levels is not None:  # as declared, the levels that occur
        seen = {label(c) for c in classes}
        levels = [level for level in design.levels if label(level) in seen]
        order = {label(level): place for place, level in enumerate(levels)}
        codes = np.array([order[label(value)] for value in labels])
        return codes.astype(np.float64), np.array(levels), {}
    return np.searchsorted(classes, labels).astype(np.float64), classes, {}


def _ordered(design: Design, name: str) -> Outcome:
    if not design.ordered and design.y.dtype.kind not in "biuf":
        raise ValueError(
            f"{design.target} is text without an order; make it an ordered category, or numbers, for {name}."
        )
    y, classes, more = _several(design, name)
    if design.levels is not None and len(classes) < len(design.levels):
        unused = [label(level) for level in design.levels if label(level) not in {label(c) for c in classes}]
        more["notes"] = [f"no row has {design.target} = {', '.join(unused)}; no threshold is asked for."]
    return y, classes, more


def _successes(design: Design, name: str) -> Outcome:
    pair = design.y.ndim == 2
    won = design.y[:, 0].astype(np.float64) if pair else _outcome(design)
    beside = design.beside
    if pair or "failures" in beside:
        lost = design.y[:, 1].astype(np.float64) if pair else _numbers(design, "failures", won)
        if (lost < 0).any():
            raise ValueError(f"failures must not be negative, got {float(lost.min())}.")
        trials = won + lost
        trials = np.where((lost > 0) & (trials <= won), np.nextafter(won, np.inf), trials)  # however few beside many
    else:
        trials = _numbers(design, "trials", np.ones(len(won)))
    if (won < 0).any():
        raise ValueError(f"{design.target} must not be negative, got {float(won.min())}.")
    if (won > trials).any():
        at = int(np.argmax(won > trials))
        most = f"{trials[at]:g} trials" if "trials" in beside else "1"
        raise ValueError(f"{design.target} is {won[at]:g} of {most} at row {design.rows[at]} (counted from 0).")
    more: dict[str, Any] = {"trials": trials, "keep": np.flatnonzero(trials > 0)}
    if (trials == 0).any():
        more["notes"] = [f"{int((trials == 0).sum())} rows without trials left out."]
    if not (trials > 0).any():
        raise ValueError("no row has any trials.")
    return won, NONE, more


def _counts(design: Design, name: str) -> Outcome:
    y = _outcome(design)
    if (y < 0).any():
        raise ValueError(f"{name} needs counts or amounts, and {design.target} has {float(y.min()):g}.")
    if name != "ppml" and (y != np.rint(y)).any():
        seen = float(y[y != np.rint(y)][0])
        raise ValueError(f"{name} needs whole counts, and {design.target} has {seen:g}; model='ppml' takes amounts.")
    return y, NONE, {}


def _matched(design: Design, name: str) -> Outcome:
    if "groups" not in design.beside:
        raise ValueError(f"{name} needs the matched set of every row: groups='…'.")
    y, classes, _ = _two(design, name)
    groups, first = _groups(design)
    cases = np.bincount(groups, y)
    sizes = np.bincount(groups)
    if (cases == 0).any():
        raise ValueError(f"set {label(first[int(np.argmax(cases == 0))])} has no case; leave it out.")
    keep = np.flatnonzero((cases < sizes)[groups])
    if len(keep) == 0:
        raise ValueError("no set has both a case and a control.")
    more: dict[str, Any] = {"groups": groups, "keep": keep}
    if len(keep) < len(y):
        alone = int((cases == sizes).sum())
        more["notes"] = [f"{alone} sets without a control say nothing and are left out."]
    return y, classes, more


def _cox(design: Design, name: str) -> Outcome:
    if "event" not in design.beside:
        raise ValueError("cox needs to know who had the event: event='…', 1 for an event and 0 for censored.")
    time = _outcome(design)
    if (time < 0).any():
        raise ValueError(f"times must not be negative, got {float(time.min())}.")
    event, values = read_labels(design.beside["event"])
    other = [value for value in values.tolist() if value not in (0, 1)]
    if other:
        raise ValueError(f"event must be 1 for an event and 0 for censored, got {label(other[0])}.")
    event = event.astype(np.float64)
    if not event.any():
        raise ValueError("no row has an event; there is nothing to estimate.")
    groups = _groups(design)[0] if "groups" in design.beside else None
    return event, NONE, {"time": time, "groups": groups}


def _groups(design: Design) -> tuple[Index, NDArray[Any]]:
    """The set of every row as a number, and what the numbers stand for."""
    values, inverse = np.unique(np.asarray(design.beside["groups"]), return_inverse=True)
    return inverse.astype(np.int64), values


OUTCOMES = {
    "binary": _two,
    "grouped": _successes,
    "multinomial": _several,
    "cumulative": _ordered,
    "adjacent": _ordered,
    "sequential": _ordered,
    "counts": _counts,
    "matched": _matched,
    "cox": _cox,
}
