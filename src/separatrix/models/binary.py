"""Two outcomes: P(y = 1) = F(xᵀb) with any F that rises from 0 to 1 (logit, probit, cauchit, cloglog).

Each factor F(xᵀb) or 1 - F(xᵀb) rises for ever along b, or stays, exactly where

    y = 1:  xᵀb ≥ 0        y = 0:  xᵀb ≤ 0        (Albert and Anderson 1984)
"""

from __future__ import annotations

import numpy as np

from separatrix.models.conditions import Conditions, signed
from separatrix.models.model import Family, Model, own_names


def conditions(model: Model) -> Conditions:
    """±x, one row per observation."""
    every = np.arange(model.n)
    return Conditions(signed(model.A, every, np.where(model.y > 0, 1.0, -1.0)), every, model.names)


FAMILY = Family("y = 1: xᵀb ≥ 0; y = 0: xᵀb ≤ 0", conditions, own_names)
