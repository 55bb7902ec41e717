"""Counts and amounts y ≥ 0 with E y = exp(xᵀb): Poisson, negative binomial, PPML.

y xᵀb - exp(xᵀb) falls along b without end where xᵀb > 0, and where y > 0 also where xᵀb < 0:

    y = 0:  xᵀb ≤ 0        y > 0:  xᵀb = 0        (Santos Silva and Tenreyro 2010; Correia, Guimarães, Zylkin 2019)

The negative binomial's factors, y xᵀb - (y + 1/α) log(1 + α exp(xᵀb)), say the same.
"""

from __future__ import annotations

import numpy as np

from separatrix.models.conditions import Conditions, signed
from separatrix.models.model import Family, Model, own_names


def conditions(model: Model) -> Conditions:
    """-x, and x too where something was counted."""
    rows = np.repeat(np.arange(model.n), np.where(model.y > 0, 2, 1))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = rows[1:] != rows[:-1]
    return Conditions(signed(model.A, rows, np.where(first, -1.0, 1.0)), rows, model.names)


FAMILY = Family("y = 0: xᵀb ≤ 0; y > 0: xᵀb = 0", conditions, own_names)
