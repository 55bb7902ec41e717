"""How far runs have come, in words and as the part of their budget that is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from separatrix.core.constants import ENDLESS
from separatrix.reporting.plain import counted
from separatrix.reporting.progress import Progress
from separatrix.walking.engines import Engine

Heard = Callable[[Engine, bool], None]  # what a walk tells how it goes: its engine, and whether it is over


class Meter:
    """Tells a `Progress` how the runs of one problem or of several go on; `heard[k]` is for the walk of problem k."""

    def __init__(
        self, progress: Progress, method: str, max_iter: float, max_epochs: float = inf, names: Sequence[str] = ("",)
    ) -> None:
        self.progress, self.method = progress, method
        self.max_iter, self.max_epochs, self.names = max_iter, max_epochs, names
        self.parts = [0.0] * len(names)
        self.over: set[int] = set()

    def heard(self, k: int) -> Heard:
        """What problem k is told to."""

        def hear(engine: Engine, over: bool) -> None:
            by_epoch = _part(engine.epoch, self.max_epochs) > _part(engine.t, self.max_iter)
            if over:
                self.over.add(k)
            self.parts[k] = 1.0 if over else max(_part(engine.epoch, self.max_epochs), _part(engine.t, self.max_iter))
            now, end = (engine.epoch, self.max_epochs) if by_epoch else (engine.t, self.max_iter)
            text = f"{'sweep' if by_epoch else 'iteration'} {now:,}" + (f" of {end:,}" if end < ENDLESS else "")
            if engine.errors is not None:
                text += f", {counted(engine.errors, 'row')} wrong"
            several = len(self.names) > 1
            done = f"{len(self.over)} of {len(self.names)} classes done, {self.names[k]}: " if several else ""
            self.progress.tell(f"{self.method}: {done}{text}", sum(self.parts) / len(self.parts))

        return hear


def _part(made: float, budget: float) -> float:
    return 1.0 if made >= budget else made / budget
