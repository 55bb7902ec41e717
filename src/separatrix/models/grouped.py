"""Grouped counts, k successes in m trials, and fractions 0 ≤ y ≤ 1 (k = y, m = 1).

F(xᵀb)^k (1 - F(xᵀb))^(m-k) falls in one direction wherever both exponents are positive:

    k = m:  xᵀb ≥ 0        k = 0:  xᵀb ≤ 0        0 < k < m:  xᵀb = 0
"""

from __future__ import annotations

import numpy as np

from separatrix.models.conditions import Conditions, signed
from separatrix.models.model import Family, Model, own_names


def conditions(model: Model) -> Conditions:
    """x where there was a success, and -x where there was a failure."""
    trials = np.ones(model.n) if model.trials is None else model.trials
    won, lost = np.flatnonzero(model.y > 0), np.flatnonzero(model.y < trials)
    rows, sign = np.concatenate([won, lost]), np.repeat([1.0, -1.0], [len(won), len(lost)])
    order = np.argsort(rows, kind="stable")
    return Conditions(signed(model.A, rows[order], sign[order]), rows[order], model.names)


FAMILY = Family("k = m: xᵀb ≥ 0; k = 0: xᵀb ≤ 0; between: xᵀb = 0", conditions, own_names)
