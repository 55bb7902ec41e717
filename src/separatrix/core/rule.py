"""Rule: a batch method in the core's units, and what its sums are divided by."""

from __future__ import annotations

from math import isinf
from typing import Any, NamedTuple

import numpy as np

from separatrix.core.constants import UNDERFLOW, UNDERFLOW_SHORT
from separatrix.core.definition import exp
from separatrix.core.definition import power as to_the


class Rule(NamedTuple):
    """One batch method: w_i = σ(-gamma m_i), or 1[m_i ≤ 0] at gamma = ∞, divided by N = n^p (Σw)^(1-p), p the power.

    Weights below exp(-cut) of the largest possible are taken as zero, in every engine; none where cut = ∞.
    """

    gamma: float
    cut: float
    power: float


def underflow_shift(rule: Rule, low: Any) -> Any:
    """Far past separation every σ(-γm) underflows; where N has Σw in it their ratios are needed, so scale them all.

    `low` is the smallest margin, of float64 or float32 as the arithmetic is.
    """
    if rule.power == 1 or isinf(rule.gamma) or isinf(rule.cut):
        return 0.0
    with np.errstate(over="ignore"):
        x = rule.gamma * low
    end = UNDERFLOW_SHORT if isinstance(low, np.float32) else UNDERFLOW
    return x if x > end else 0.0


def divisor(rule: Rule, W: Any, low: Any) -> Any:
    """N/n^p = W^(1-p), with W = Σw > 0 in the type of the arithmetic.

    Where the weights were enlarged by exp(shift), Σ w_i z_i / W^(1-p) is too large by exp(p shift).
    """
    kind, shift = type(W), underflow_shift(rule, low)
    if rule.power == 1 or not W > 0:
        return kind(1)
    N = to_the(W, 1.0 - rule.power)
    return N * exp(np.array([kind(rule.power) * kind(shift)], dtype=kind))[0] if shift else N
