"""What the five classifiers on `solve` share: start, walk, and the account of where each problem ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.base import LinearClassifier, OneVsRest, Outcome, one_or_all, verdict_clause
from separatrix.estimators.callbacks import Tasks, attributes, watched
from separatrix.loop import solve_each
from separatrix.problem import Vector
from separatrix.run import Iterate, Run, Status
from separatrix.trace import Measure, Recorder


class WalkingClassifier(LinearClassifier):
    """A classifier whose problems are walked by `solve`, from where the last fit ended if `warm_start`."""

    intercept_scaling: Any
    engine: Any
    warm_start: bool

    def _watch(self, X: Any, y: Any, weight: Vector | None, labels: OneVsRest, record: Any, limit: int) -> Tasks | None:
        """The tasks of this fit, if callbacks were set."""
        return Tasks(self, X, y, weight, labels, Recorder(record, False).most(limit)) if watched(self) else None

    def _walk(
        self,
        X: Any,
        labels: OneVsRest,
        method: str,
        *,
        resume: bool,
        callbacks: Sequence[Callable[[Iterate], Any]] | None,
        **options: Any,
    ) -> list[Run]:
        """One run per problem, from where the last ones ended if `resume`; `options` are those of `solve_each`."""
        start, scale = self._start(X.shape[1], len(labels)) if resume else (None, self.intercept_scaling)

        def work(problems: list[int]) -> list[Run]:
            return solve_each(
                X,
                labels.part(problems),
                method,
                engine=self.engine,
                theta0=None if start is None else [start[k] for k in problems],
                fit_intercept=self.fit_intercept,
                intercept_scale=scale,
                callbacks=None if callbacks is None else [callbacks[k] for k in problems],
                **options,
            )

        return self._in_parallel(work, len(labels))

    def _start(self, d: int, problems: int) -> tuple[list[Vector] | None, Any]:
        """θ_0 of every problem and the intercept's scale, as the last fit left them."""
        runs: list[Run] | None = vars(self).get("runs_")
        if runs is None:
            return None, self.intercept_scaling
        expected = d + bool(self.fit_intercept)
        if len(runs) != problems or len(runs[0].theta) != expected:
            raise ValueError(
                f"warm_start goes on from {len(runs)} θ of {len(runs[0].theta)} entries, but this fit has "
                f"{problems} of {expected}; set warm_start=False for other classes or columns."
            )
        return [run.theta for run in runs], runs[0].bias if self.fit_intercept else self.intercept_scaling

    def _keep(self, runs: Sequence[Run], thetas: Sequence[Vector]) -> None:
        """coef_ and intercept_ from the θ chosen, and what is known about the runs."""
        self.runs_ = list(runs)
        found = [attributes(theta, run.bias) for theta, run in zip(thetas, runs, strict=True)]
        self.coef_ = np.concatenate([one["coef_"] for one in found])
        self.intercept_ = np.concatenate([one["intercept_"] for one in found])
        self.trace_ = one_or_all([run.trace for run in runs])
        self.engine_ = one_or_all([run.engine for run in runs])

    def _tell(
        self,
        X: Any,
        labels: OneVsRest,
        live: NDArray[np.bool_],
        wrong: Sequence[int],
        counts: Sequence[str],
        happy: str = Status.SEPARATED.message,
    ) -> None:
        """separated_, status_ and the warning, from the rows still wrong in each problem."""
        outcomes = []
        for k, run in enumerate(self.runs_):
            if wrong[k] == 0:
                outcomes.append(Outcome(Status.SEPARATED, happy, 0, short=False))
            elif run.status is Status.STOPPED:
                outcomes.append(Outcome(run.status, run.status.message, wrong[k], short=False))
            else:
                verdict, proof = self._certificate(X, labels[k], live) if self.certify else (None, None)
                left = f"{wrong[k]:,} of {int(live.sum()):,} rows are still on the wrong side after {counts[k]}"
                word = "inseparable" if verdict == "inseparable" else str(run.status)
                told = f"{left}; {verdict_clause(verdict)}"
                outcomes.append(Outcome(word, told, wrong[k], short=True, verdict=verdict, proof=proof))
        self.separated_ = all(outcome.status == Status.SEPARATED for outcome in outcomes)
        self._conclude(outcomes)


class Best:
    """A callback that keeps the recorded iterate of the best accuracy, the last of equals; `then` is called as well."""

    def __init__(self, then: Callable[[Iterate], Any] | None) -> None:
        self.then = then
        self.accuracy, self.lowest = -1.0, np.inf
        self.best: tuple[Vector, Measure] | None = None
        self.last: Measure | None = None

    def __call__(self, iterate: Iterate) -> bool:
        """Keep this iterate if no earlier one does better; θ_0 does not count."""
        measure = self.last = iterate.measure
        if iterate.t > 0:
            accuracy = round(measure.accuracy, 6)  # rows of hardly any weight decide nothing
            self.lowest = min(self.lowest, measure.loss)
            if accuracy >= self.accuracy:
                self.accuracy, self.best = accuracy, (iterate.theta, measure)
        return self.then is not None and bool(self.then(iterate))

    def choose(self, run: Run) -> tuple[Vector, Measure]:
        """θ and its numbers: the last one where it separates or descent was stable, the best one where it was not.

        With large steps the loss says little, but a last loss that was never lower means that descent has settled.
        """
        if self.last is None:
            raise AssertionError("the last iterate is always recorded")
        settled = isfinite(run.step_size) and self.last.loss <= self.lowest * (1 + 1e-9)
        if run.separated or settled or self.best is None:
            return run.theta, self.last
        return self.best
