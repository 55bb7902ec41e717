"""What is left of a model as columns that any package can fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.rows import Index
from separatrix.diagnosing.choices import Classes, Sets
from separatrix.diagnosing.hazards import Hazards
from separatrix.diagnosing.likelihood import Binomial, Intervals, Likelihood, Terms
from separatrix.models.model import Model


def columns_of(
    model: Model, limit: Likelihood, kept: Index, rows: Index, observations: Index, outcome: str = "y"
) -> dict[str, Any]:
    """Named columns, `row` (positions in the data given) first.

    binary, grouped, counts    columns of the design, outcome, trials
    matched, cox               the same with set and case, or with time, event and stratum
    multinomial, adjacent      the same where every class is open to everyone; else one line per open class, with
                               the columns of the coefficients, the observation's number and what was chosen
    sequential                 one line per step: stopped or passed
    cumulative                 columns of the design, low and high
    """
    names = model.coefficients
    at = np.asarray(observations)
    own = _own(model, at)
    used = {names[j] for j in kept}
    design = {name: _column(model.X, at, j) for j, name in enumerate(model.terms) if name in used}
    if isinstance(limit, Terms) and model.family != "sequential":
        found = {"row": rows, **design, outcome: _whole(model.y[at])}
        if model.family == "grouped" and model.trials is not None and isinstance(limit.outcome, Binomial):
            found["trials"] = _whole(model.trials[at])
        return {**found, **own}
    if isinstance(limit, Terms):
        return _long_steps(model, limit, kept, rows, observations, outcome)
    if isinstance(limit, Intervals):
        low = np.where(limit.lower, limit.code, 0)[at]
        high = np.where(limit.upper, limit.code, limit.cuts)[at]
        if (low == high).all() and set(names[: limit.cuts]) <= used:
            return {"row": rows, **design, outcome: model.codes[at], **own}
        return {"row": rows, **design, "low": low, "high": high, **own}
    if isinstance(limit, Classes):
        return _classes(model, limit, kept, rows, observations, outcome, own)
    if isinstance(limit, Sets):
        return {"row": rows, **design, "case": limit.case * 1, "set": limit.group, **own}
    if isinstance(limit, Hazards):
        return {"row": rows, **design, "time": limit.time, "event": limit.event * 1, "stratum": limit.stratum, **own}
    raise TypeError(f"there is no frame of a {type(limit).__name__}.")


def _own(model: Model, at: Index) -> dict[str, Any]:
    """Weights and offsets, where there are any to speak of."""
    found: dict[str, Any] = {}
    if len(model.weight) and (model.weight != 1).any():
        found["weight"] = model.weight[at]
    if len(model.offset) and model.offset.any():
        found["offset"] = model.offset[at]
    return found


def _column(X: Any, at: Index, j: int) -> Any:
    if isinstance(X, np.ndarray):
        return X[at, j]
    return X[at][:, [j]].toarray().ravel()


def _whole(y: Any) -> Any:
    return y.astype(np.int64) if (y == np.rint(y)).all() else y


def _long_steps(
    model: Model, limit: Terms, kept: Index, rows: Index, observations: Index, outcome: str
) -> dict[str, Any]:
    """One line per step, with the columns of the kept coefficients; stopped is 1."""
    where = np.searchsorted(observations, limit.observation)
    found = {"row": rows[where]}
    for j in kept:
        found[model.coefficients[j]] = _column(limit.B, np.arange(len(where)), int(j))
    stopped = limit.outcome.won if isinstance(limit.outcome, Binomial) else np.zeros(len(where))
    found[outcome] = stopped.astype(np.int64)
    own = _own(model, limit.observation)
    if "offset" in own:
        own["offset"] = limit.offset
    return {**found, **own}


def _classes(
    model: Model, limit: Classes, kept: Index, rows: Index, observations: Index, outcome: str, own: dict[str, Any]
) -> dict[str, Any]:
    """As it was, or one line per class that is open to an observation."""
    C, at = len(limit.share), observations
    whole = limit.open[at].all()
    if whole and len(kept) == len(model.coefficients):
        design = {name: _column(model.X, at, j) for j, name in enumerate(model.terms)}
        return {"row": rows, **design, outcome: np.array(model.classes, dtype=object)[limit.code[at]], **own}
    place, which = np.nonzero(limit.open[at])
    A = limit.A[at[place]]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    blocks = np.zeros((len(place), C, A.shape[1]))
    blocks[np.arange(len(place)), which] = A
    Z = (limit.L.T @ blocks.reshape(len(place), -1).T).T
    found = {"row": rows[place], "set": place, "class": np.array(model.classes, dtype=object)[which]}
    found |= {model.coefficients[j]: np.asarray(Z[:, j]) for j in kept}
    found["chosen"] = (which == limit.code[at[place]]).astype(np.int64)
    own = _own(model, at[place])
    if "offset" in own:
        own["offset"] = own["offset"] * limit.share[which]
    return {**found, **own}
