"""Several outcomes without an order: P(y = c) ∝ exp(xᵀb_c), b of the first class 0.

log P(y) = -log Σ_c exp((b_c - b_y)ᵀx) never falls along b exactly where (Albert and Anderson 1984)

    (b_y - b_c)ᵀx ≥ 0  for every c ≠ y
"""

from __future__ import annotations

import numpy as np

from separatrix.models.conditions import Conditions, beside, signed
from separatrix.models.model import Family, Model

ENTRIES = 100_000_000  # of the stacked rows, 8 bytes each


def in_class(name: str, one: str, reference: str) -> str:
    """A coefficient by its column and its class."""
    return f"{name} for {one} (vs {reference})"


def coefficients(model: Model) -> tuple[str, ...]:
    """Class by class, the columns of the design for each."""
    return tuple(in_class(name, c, model.classes[0]) for c in model.classes[1:] for name in model.names)


def conditions(model: Model) -> Conditions:
    """x in the block of the observed class and -x in that of another, for every other."""
    classes, width = len(model.classes), len(model.names)
    if model.n * width * (classes - 1) ** 2 > ENTRIES:
        raise ValueError(
            f"the multinomial system of {model.n} rows, {width} columns and {classes} classes is too large; "
            "diagnose two classes at a time."
        )
    rows = np.repeat(np.arange(model.n), classes - 1)
    own = model.codes[rows]
    other = np.tile(np.arange(classes - 1), model.n)
    other += other >= own  # every class but the observed one
    blocks = [signed(model.A, rows, 1.0 * (own == c) - 1.0 * (other == c)) for c in range(1, classes)]
    return Conditions(beside(*blocks), rows, coefficients(model))


FAMILY = Family("(b_y - b_c)ᵀx ≥ 0 for every other class c", conditions, coefficients)
