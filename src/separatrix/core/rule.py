"""Rule: a batch method in the core's units."""

from __future__ import annotations

from math import isinf
from typing import Any, NamedTuple

import numpy as np

from separatrix.core.constants import UNDERFLOW, UNDERFLOW_SHORT


class Rule(NamedTuple):
    """One batch method: w_i = σ(-gamma m_i), or 1[m_i ≤ 0] at gamma = ∞; normalized: divided by Σw.

    Weights below exp(-cut) of the largest possible are taken as zero, in every engine.
    """

    gamma: float
    cut: float
    normalized: bool


def underflow_shift(rule: Rule, low: Any) -> Any:
    """Far past separation every σ(-γm) underflows; the normalized method then needs their ratios, so scale them all.

    `low` is the smallest margin, of float64 or float32 as the arithmetic is.
    """
    with np.errstate(over="ignore"):
        x = rule.gamma * low
    end = UNDERFLOW_SHORT if isinstance(low, np.float32) else UNDERFLOW
    return x if rule.normalized and not isinf(rule.gamma) and x > end else 0.0
