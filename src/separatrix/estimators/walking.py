"""What the five classifiers on `solve` share: start, walk, and the account of where each problem ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import inf, isfinite, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Proof
from separatrix.core.constants import ENDLESS
from separatrix.core.rows import norm
from separatrix.data.arrays import row_lengths
from separatrix.data.rows import Vector
from separatrix.deciding.separate import Verdict
from separatrix.estimators.base import (
    LinearClassifier,
    OneVsRest,
    Outcome,
    closest_row,
    doubtful,
    one_or_all,
    scores,
    verdict_clauses,
)
from separatrix.estimators.callbacks import Tasks, watched
from separatrix.reporting.plain import counted
from separatrix.reporting.progress import Progress
from separatrix.walking.meter import Meter
from separatrix.walking.one_vs_rest import solve_each
from separatrix.walking.run import Iterate, Run, Status
from separatrix.walking.trace import Recorder


class WalkingClassifier(LinearClassifier):
    """A classifier whose problems are walked by `solve`, from where the last fit ended if `warm_start`."""

    intercept_scaling: Any
    engine: Any
    warm_start: bool

    def _watch(
        self, X: Any, y: Any, classes: Any, weight: Vector | None, labels: OneVsRest, record: Any, limit: int
    ) -> Tasks | None:
        """The tasks of this fit, if callbacks were set."""
        steps = Recorder(record, False).most(limit)
        return Tasks(self, X, y, classes, weight, labels, steps) if watched(self) else None

    def _walk(
        self,
        X: Any,
        labels: OneVsRest,
        method: str,
        *,
        shown: Progress,
        names: Sequence[str],
        resume: bool,
        callbacks: Sequence[Callable[[Iterate], Any]] | None,
        **options: Any,
    ) -> list[Run]:
        """One run per problem, from where the last ones ended if `resume`; `options` are those of `solve_each`."""
        most = options.get("max_iter", ENDLESS), options.get("max_epochs", inf)
        meter = None if shown.quiet else Meter(shown, type(self).__name__, *most, names)
        start, scale = self._start(X.shape[1], len(labels)) if resume else (None, self.intercept_scaling)

        def work(problems: list[int]) -> list[Run]:
            return solve_each(
                X,
                labels.part(problems),
                method,
                engine=self.engine,
                theta0=None if start is None else [start[k] for k in problems],
                fit_intercept=self.fit_intercept,
                intercept_scaling=scale,
                callbacks=None if callbacks is None else [callbacks[k] for k in problems],
                progress=None if meter is None else [meter.heard(k) for k in problems],
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
                f"the last fit left {len(runs)} θ of {len(runs[0].theta)} entries, this one needs {problems} of "
                f"{expected}: fit anew (warm_start=False) with other classes, columns or intercept."
            )
        return [run.theta for run in runs], runs[0].bias if self.fit_intercept else self.intercept_scaling

    def _keep(self, runs: Sequence[Run], thetas: Sequence[Vector]) -> None:
        """coef_ and intercept_ from the θ chosen, and what is known about the runs."""
        self.runs_ = list(runs)
        self._place([within(theta, run) for theta, run in zip(thetas, runs, strict=True)], [run.bias for run in runs])
        self.trace_ = one_or_all([run.trace for run in runs])
        self.engine_ = one_or_all([run.engine for run in runs])

    def _tell(
        self,
        X: Any,
        labels: OneVsRest,
        live: NDArray[np.bool_],
        counts: Sequence[str],
        shown: Progress,
        happy: str = Status.SEPARATED.message,
        tol: float | None = None,
    ) -> None:
        """separated_, margin_, status_ and the warning, from the scores of the training rows."""
        found, rows = scores(X, self.coef_, self.intercept_), int(live.sum())
        lengths = cache(lambda: row_lengths(X)[live])  # one pass over the rows, if any problem asks for it
        outcomes, margins = [], []
        for k, run in enumerate(self.runs_):
            m, w = (labels[k] * found[:, k])[live], self.coef_[k]
            wrong = int((~(m > 0)).sum())
            margins.append(closest_row(m, w))
            right = wrong == 0 and not doubtful(lengths(), m, w, float(self.intercept_[k]))
            few = f"{counted(wrong, 'row')} wrong"
            if right:
                outcomes.append(Outcome(Status.SEPARATED, happy, happy, good=True))
            elif run.status is Status.STOPPED:
                outcomes.append(Outcome(run.status, run.status.message, f"{few}, stopped", good=False, asked=True))
            elif wrong == 0 or run.separated:
                outcomes.append(Outcome(Status.ROUNDED, Status.ROUNDED.message, Status.ROUNDED, good=False))
            else:
                verdict, proof = None, None
                if self.certify:
                    shown.tell(f"{type(self).__name__}: deciding whether the rows can be separated")
                    verdict, proof = self._certificate(X, labels[k], live)
                of = f"{wrong:,} of {counted(rows, 'row')} {'is' if wrong == 1 else 'are'} still on the wrong side"
                outcomes.append(fell_short(run, f"{of} after {counts[k]}", few, verdict, proof, tol))
        self.margin_ = one_or_all(margins)
        self.separated_ = all(outcome.good for outcome in outcomes)
        self._conclude(outcomes)


def fell_short(
    run: Run, left: str, few: str, verdict: Verdict | None, proof: Proof | None, tol: float | None
) -> Outcome:
    """A problem that leaves rows on the wrong side, which `left` and `few` count: how its walk ended, what is known."""
    cycle = run.status is Status.CYCLE
    settled = tol is not None and run.status in (Status.SETTLED, Status.CYCLE)
    when, end, advice = "", "", "raise max_iter"
    if cycle:
        end, advice = ", in a cycle", "in a cycle more iterations do not help, another step size may"
    elif settled:
        when, end, advice = ", when descent had settled", ", settled", "a smaller tol may find how"
    clause, known = verdict_clauses(verdict, advice)
    clause = run.status.message if cycle and verdict is None else clause
    return Outcome(
        "inseparable" if verdict is Verdict.INSEPARABLE else str(run.status),
        f"{left}{when}; {clause}",
        f"{few}{end}{known}",
        good=False,
        asked=settled and verdict is not Verdict.SEPARABLE,
        settled=settled,
        verdict=verdict,
        proof=proof,
    )


def within(theta: Vector, run: Run) -> Vector:
    """θ, or a multiple of it where its scores would leave float64: at step size ∞ only the direction has a meaning."""
    if isinf(run.step_size):
        size = float(norm(theta))
        return theta if size == 0 or 1e-100 < size < 1e100 else theta / size
    return theta if norm(theta) < 1e100 else run.phi * (1e100 / float(norm(run.phi)))


class Best:
    """A callback that keeps the recorded iterate of the best accuracy, the last of equals; `then` is called as well."""

    def __init__(self, then: Callable[[Iterate], Any] | None) -> None:
        self.then = then
        self.accuracy, self.lowest, self.last = -1.0, np.inf, np.inf
        self.theta: Vector | None = None

    def __call__(self, iterate: Iterate) -> bool:
        """Keep this iterate if no earlier one does better; θ_0 does not count."""
        if iterate.t > 0:
            self.last = iterate.measure.loss
            self.lowest = min(self.lowest, self.last)
            accuracy = round(iterate.measure.accuracy, 6)  # rows of hardly any weight decide nothing
            if accuracy >= self.accuracy:
                self.accuracy, self.theta = accuracy, iterate.theta
        return self.then is not None and bool(self.then(iterate))

    def choose(self, run: Run) -> Vector:
        """The last θ where it separates or descent was stable, the best one where it was not.

        With large steps the loss says little, but a last loss that was never lower means that descent has settled.
        """
        settled = isfinite(run.step_size) and self.last <= self.lowest * (1 + 1e-9)
        return run.theta if run.separated or settled or self.theta is None else self.theta
