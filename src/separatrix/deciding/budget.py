"""Budget: what a decision may cost in time, exact arithmetic and memory. Verdicts are proofs whatever it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from separatrix.deciding.exact import Effort

PACE = 2e9  # products a second that any machine of today does


@dataclass(frozen=True)
class Budget:
    """Limits that every tool of a decision keeps to; less may leave it undecided, never wrong.

    deadline : when to give up, by `time.perf_counter`; None for never
    insist : on the bits: no verdict within rounding, and rational arithmetic for as long as it takes
    tiny : n D min(n, D), the work of one exact elimination, up to which rational arithmetic comes first
    exact : and up to which it is tried at all
    last : and up to which it is tried where nothing else has settled it, nor rounding explains why
    part : the same for part of a larger problem, not worth long arithmetic
    eliminated : rows times columns squared up to which column relations are eliminated exactly, and none is guessed
    entries : of the largest dense block that is made, 8 bytes each
    signs : rows times weights squared, summed over the least squares that look for signs of coefficients, up to
        which they go on without a deadline; with one they have the time until then
    splitting : the products of the splitting that looks for all of them at once
    reckoned : the effort of exact arithmetic on signs without a deadline, some four seconds
    short : that on rows of short numbers before longer arithmetic
    """

    deadline: float | None = None
    insist: bool = False
    tiny: int = 8_000
    exact: int = 30_000
    last: int = 20_000_000
    part: int = 50_000
    eliminated: int = 100_000
    entries: int = 100_000_000
    signs: int = 2_500_000_000
    splitting: int = 90_000_000_000
    reckoned: int = 1_600_000_000
    short: int = 800_000_000

    @classmethod
    def within(cls, time_limit: float | None, *, exact: bool = False) -> Self:
        """So many seconds from now, or as long as it takes; `exact` insists on the bits."""
        if not isinstance(exact, bool):
            raise ValueError(f"exact must be True or False, got {exact!r}.")
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        return cls(deadline, exact, exact=cls.last) if exact else cls(deadline)

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() > self.deadline

    @property
    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(self.deadline - time.perf_counter(), 1e-3)

    def affordable(self, most: int) -> int:
        """Products of one step that cannot be cut short: at most so many, and fewer where time is short."""
        left = self.left
        return most if left is None else min(most, int(left * PACE))

    def for_part(self) -> Self:
        """The budget for part of a problem."""
        return replace(self, exact=min(self.exact, self.part), short=0)

    def for_signs(self) -> Effort | None:
        """What rational arithmetic may do for signs; None, as long as it takes, with a deadline or on the bits."""
        return None if self.insist or self.deadline is not None else Effort(self.reckoned)


def check_time_limit(time_limit: Any) -> None:
    """Complain about anything but None and positive seconds."""
    if time_limit is not None and (not isinstance(time_limit, int | float) or not time_limit > 0):
        raise ValueError(f"time_limit must be positive seconds or None, got {time_limit!r}.")


UNLIMITED = Budget()
Tell = Callable[[str], None]  # who is told what is tried next


def untold(what: str) -> None:
    """Nobody wants to know."""
