"""Cox's proportional hazards with Breslow's ties: an event of i among those at risk at its time.

log exp(x_iᵀb)/Σ_{j at risk} exp(x_jᵀb) never falls along b exactly where

    (x_i - x_j)ᵀb ≥ 0  for an event i and everyone j at risk at its time.

At event times t_1 < t_2 < … with events e_1, e_2, … it is enough to ask this of e_k against those who leave before
t_{k+1}, against the other events at t_k (with both signs), and against e_{k+1}, which is at risk: those who stay are
compared with e_{k+1}, and differences add up. So there are about as many rows as observations.
"""

from __future__ import annotations

import numpy as np

from separatrix.models.conditions import Conditions, of_sums
from separatrix.models.model import Family, Model, own_names


def conditions(model: Model) -> Conditions:
    """x_i - x_j along the chain of events of each stratum, told of i."""
    time = np.zeros(model.n) if model.time is None else model.time
    groups = np.zeros(model.n, dtype=np.int64) if model.groups is None else model.groups
    first: list[int] = []
    second: list[int] = []
    chain: list[int] = []
    for g in np.unique(groups):
        inside = np.flatnonzero(groups == g)
        inside = inside[np.lexsort((inside, -model.y[inside], time[inside]))]  # events before who is censored then
        leader = -1  # the first event at the latest event time met
        for at in inside.tolist():
            event = model.y[at] > 0
            if leader < 0:  # nobody had an event yet: who leaves was never at risk at one
                leader = at if event else -1
                continue
            tied = event and time[at] == time[leader]
            for one, other in [(leader, at), (at, leader)] if tied else [(leader, at)]:
                first.append(one)
                second.append(other)
                chain.append(int(g))
            if event and not tied:
                leader = at
    i, j = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    A = model.X if isinstance(model.X, np.ndarray) else model.X.toarray()
    unit = np.ones(len(i), dtype=np.int64)
    return of_sums(A, model.terms, (i, unit), (j, -unit), None, (), i, np.array(chain, dtype=np.int64))


FAMILY = Family(
    "(x_i - x_j)ᵀb ≥ 0 for an event i and everyone j at risk at its time", conditions, own_names, constant=False
)
