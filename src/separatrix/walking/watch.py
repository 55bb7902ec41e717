"""Watching for an iterate that comes back bit for bit, which proves that the run repeats itself for ever.

The arithmetic has no noise: where the next iterate is a function of the present one alone, what followed it once
follows it again. At finite γ every iterate is one of these; at γ = ∞ those at which a stretch begins, with Φ⁺ = Φ +
1·step(Φ), because along it Φ = base + k·step. Iterates without a wrong row do not count: a run in a cycle never
separates.

Bits are compared, not values, so equal means equal whatever follows. No -0 can keep the two apart for long: sums begin
at +0, and an entry that has left -0 never comes back to it.

Brent's search (BIT 20, 1980) keeps one iterate, the mark, and compares every later one with it; after 1, 2, 4, … of
them the mark is renewed. The first that equals it is its first return, so the period found is the least. This is the
definition; the compiled twin is core/watch.hpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.library import Watch as Compiled
from separatrix.walking.methods import Method

State = dict[str, NDArray[Any]]
SCALARS = ("mark_t", "since", "until", "period")


def watched(method: Method) -> bool:
    """Whether φ_{t+1} is a function of φ_t alone: so with the methods of the table, but not in a random order of rows.

    Of a method of the user's own nothing is known.
    """
    return type(method) is Method and method.order != "random"


class Watch:
    """The mark, its number, how many iterates came since, and after how many it is renewed."""

    def __init__(self, on: bool, Phi: NDArray[Any]) -> None:
        self.on, self.mark = on, np.zeros_like(Phi)
        self.mark_t = self.since = self.until = self.period = 0

    def came_back(self, Phi: NDArray[Any], t: int) -> None:
        """Look at Φ, iterate t: `period` is set if it is the mark again."""
        if not self.on or self.period:
            return
        if self.since > 0 and t > self.mark_t and self.mark.tobytes() == Phi.tobytes():
            self.period = t - self.mark_t
            return
        if self.since == self.until:
            self.mark[:], self.mark_t = Phi, t
            self.since, self.until = 0, max(1, 2 * self.until)
        self.since += 1

    def stays(self, Phi: NDArray[Any], t: int) -> None:
        """Φ, iterate t, is the one before it, and so are all to come."""
        if self.on and not self.period:
            self.mark[:], self.mark_t, self.period = Phi, t - 1, 1

    def forget(self) -> None:
        """Nothing that came before counts: no row was wrong here."""
        self.since = self.until = 0


def cycle_of(watch: Watch | Compiled) -> tuple[int, int] | None:
    """The iterate that came back, and after how many steps."""
    return (int(watch.mark_t), int(watch.period)) if watch.period else None


def save(watch: Watch | Compiled, mark: NDArray[Any]) -> State:
    """The watch as arrays of a saved state."""
    scalars = {f"watch_{name}": np.array(int(getattr(watch, name))) for name in SCALARS}
    return {"watch_mark": mark.copy()} | scalars


def load(watch: Watch | Compiled, mark: NDArray[Any], state: State) -> None:
    """Back to a saved state."""
    mark[:] = state["watch_mark"]
    for name in SCALARS:
        setattr(watch, name, int(state[f"watch_{name}"]))
