"""When descent has settled: the only rule that ends a run by its loss, and only where that was asked for."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from separatrix.walking.own import is_number
from separatrix.walking.trace import GROWTH, Measure

SOONEST = 100  # iterations before which nothing is called settled


class Settled:
    """Whether, while the number of iterations doubled, nothing that tells of progress has got better.

    With large steps the loss is an unreliable sign: it may rise while the iterates come closer to a separator, and jump
    about where they never do. So three bests are kept, of the iterates 1, 2, …, 20 and each 5 % later than the last,
    whatever is recorded, and descent has settled at t ≥ 100 if since t/2

    - the lowest loss has not fallen by more than `tol` of itself,
    - the best (weighted) accuracy has not risen, and
    - the longest θ has not grown by more than √tol of itself: near a minimum the loss is flat to the square.

    On separable rows the loss goes to 0 about like 1/t, so that doubling t halves it, or, with large steps, θ grows as
    that of the perceptron does; where rows overlap all three stay bounded. It takes a ratio of iterations to tell the
    one from the other: over any fixed number of them 1/t changes less and less.
    """

    def __init__(self, tol: float) -> None:
        self.tol, self.due = tol, 1
        self.loss, self.accuracy, self.length = inf, 0.0, 0.0
        self.past: list[tuple[int, float, float, float]] = []  # t and the three bests at t, to where t/2 begins

    def look(self, t: int, now: Measure) -> bool:
        """Take in the iterate t, which was due, and say whether descent has settled."""
        self.due = max(t + 1, int(t * GROWTH))
        self.loss = min(self.loss, now.loss)
        self.accuracy = max(self.accuracy, round(now.accuracy, 6))  # rows of hardly any weight decide nothing
        self.length = max(self.length, now.theta_norm)
        self.past.append((t, self.loss, self.accuracy, self.length))
        while len(self.past) > 1 and 2 * self.past[1][0] <= t:
            del self.past[0]
        then, loss, accuracy, length = self.past[0]
        return (
            t >= SOONEST
            and 2 * then <= t
            and not self.loss < loss - self.tol * loss
            and self.accuracy <= accuracy
            and not self.length > length + sqrt(self.tol) * length
        )


def check_tol(tol: Any) -> float | None:
    """`tol` as a number between 0 and 1, or None; else one sentence."""
    if tol is None:
        return None
    if not is_number(tol) or not 0 < float(tol) < 1:
        raise ValueError(f"tol must be a number between 0 and 1, such as 1e-3, or None, got {tol!r}.")
    return float(tol)
