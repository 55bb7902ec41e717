"""Matched sets, the conditional logit: which members of a set were the cases, given how many.

The likelihood of a set is exp(Σ_cases xᵀb) over the sum of the same for every subset of that size. It never falls
along b exactly where no exchange of a case and a control would gain,

    (x_case - x_control)ᵀb ≥ 0  for every case and every control of the set.
"""

from __future__ import annotations

import numpy as np

from separatrix.models.conditions import Conditions, of_sums
from separatrix.models.model import Family, Model, own_names


def conditions(model: Model) -> Conditions:
    """x_case - x_control, told of the case."""
    groups = np.zeros(model.n, dtype=np.int64) if model.groups is None else model.groups
    case, control = [], []
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        cases, controls = members[model.y[members] > 0], members[model.y[members] <= 0]
        case.append(np.repeat(cases, len(controls)))
        control.append(np.tile(controls, len(cases)))
    i, j = np.concatenate(case), np.concatenate(control)
    A = model.X if isinstance(model.X, np.ndarray) else model.X.toarray()
    one = np.ones(len(i), dtype=np.int64)
    return of_sums(A, model.terms, (i, one), (j, -one), None, (), i)


FAMILY = Family("(x_case - x_control)ᵀb ≥ 0 within each set", conditions, own_names, constant=False)
