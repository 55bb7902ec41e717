"""A schedule of step sizes for the compiled stepper: the next γ_t/γ_0 in a window that it reads and we refill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.core.library import Stepper
from separatrix.walking.methods import Plan

WINDOW = 1024  # updates between two refills


def walk_on(c: Stepper, plan: Plan, walk: Callable[[int], None], end: int, stop: bool) -> None:
    """Walk up to update `end`, window by window where step sizes vary."""
    while True:
        upto = end if plan.schedule is None else _filled(c, plan, end)
        walk(upto)
        if upto >= end or (stop and c.errors == 0):
            return


def _filled(c: Stepper, plan: Plan, end: int) -> int:
    """Up to which update the window reaches, refilled where it does not hold t.

    A schedule that fails ahead, as a list does past its end, only matters once the run gets there.
    """
    if end <= c.t:
        return end
    if not (c.factors and c.first <= c.t < c.first + c.held):
        factors: list[float] = []
        for t in range(c.t, min(end, c.t + WINDOW)):
            try:
                factors.append(plan.factor(t))
            except Exception:
                if not factors:
                    raise
                break
        c.first, c.held = c.t, len(factors)
        c.point(factors=np.array(factors))
    return int(min(end, c.first + c.held))
