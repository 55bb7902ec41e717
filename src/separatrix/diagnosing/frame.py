"""What is left of a model as columns that any package can fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.rows import Index
from separatrix.diagnosing.choices import Classes, Sets
from separatrix.diagnosing.hazards import Hazards
from separatrix.diagnosing.likelihood import Binomial, Intervals, Likelihood, Terms
from separatrix.models.model import Model


def columns_of(model: Model, limit: Likelihood, kept: Index, places: Index, target: str) -> dict[str, Any]:
    """Named columns, `row` (the position in the data given) first.

        binary, grouped, counts    columns of the design, outcome, trials
        matched, cox               the same with set and case, or with time, event and stratum
        multinomial, adjacent      the same where every class is open to everyone; else one line per open class, with
                                   the columns of the coefficients, the observation's number and what was chosen
        sequential                 one line per step: stopped or passed
        cumulative                 columns of the design, and low and high where ends are gone

    A name of ours that is that of a column of the design as well gets an underscore.
    """
    at, names = limit.observations, model.coefficients
    used = {names[j] for j in kept}
    design = {name: _column(model.X, at, j) for j, name in enumerate(model.terms) if name in used}
    own: dict[str, Any] = {}
    if isinstance(limit, Terms) and model.family == "sequential" and isinstance(limit.outcome, Binomial):
        at, every = limit.observation, np.arange(len(limit.observation))
        design = {names[j]: _column(limit.B, every, int(j)) for j in kept}
        own = {target: _whole(limit.outcome.won)}
    elif isinstance(limit, Terms):
        own = {target: _whole(model.y[at])}
        if model.family == "grouped" and model.trials is not None:
            own["trials"] = _whole(model.trials[at])
    elif isinstance(limit, Intervals):
        low, high = np.where(limit.lower, limit.code, 0)[at], np.where(limit.upper, limit.code, limit.cuts)[at]
        own = {target: low} if (low == high).all() else {"low": low, "high": high}
    elif isinstance(limit, Classes) and limit.open[at].all() and len(kept) == len(names):
        own = {target: np.array(model.classes, dtype=object)[limit.code[at]]}
    elif isinstance(limit, Classes):
        place, which = np.nonzero(limit.open[at])
        Z = limit.rows_of(at[place], which)
        design = {names[j]: Z[:, j] for j in kept}
        own = {"set": place, "class": np.array(model.classes, dtype=object)[which]}
        at = at[place]
        own["chosen"] = (which == limit.code[at]).astype(np.int64)
    elif isinstance(limit, Sets):
        own = {target: limit.case.astype(np.int64), "set": limit.group}
    elif isinstance(limit, Hazards):
        own = {"time": limit.time, "event": limit.event.astype(np.int64), "stratum": limit.stratum}
    if len(model.weight) and (model.weight != 1).any():
        own["weight"] = model.weight[at]
    if len(model.offset) and model.offset.any():
        own["offset"] = model.offset[at] * (limit.share[which] if "class" in own and isinstance(limit, Classes) else 1)
        if model.family == "sequential":
            own["offset"] = -own["offset"]  # of a_k - xᵀb
    columns = {"row": places[at], **design}
    for name, values in own.items():
        while name in columns:
            name += "_"
        columns[name] = values
    return columns


def _column(X: Any, at: Index, j: int) -> Any:
    if isinstance(X, np.ndarray):
        return X[at, j]
    return X[at][:, [j]].toarray().ravel()


def _whole(y: Any) -> Any:
    return y.astype(np.int64) if (y == np.rint(y)).all() else y
