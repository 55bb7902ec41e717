"""The hard-margin classifier, with its margin as a bracket."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from separatrix.deciding.budget import check_time_limit
from separatrix.deciding.margin import Margin, MarginStatus
from separatrix.deciding.max_margin import max_margin
from separatrix.deciding.separate import Verdict
from separatrix.estimators.base import LinearClassifier, Outcome, one_or_all, scores, verdict_clauses
from separatrix.estimators.callbacks import Tasks, watched, with_callbacks
from separatrix.estimators.shared import described
from separatrix.estimators.telling import by_name
from separatrix.reporting.plain import counted

LEAST = 1e-9  # seconds for a problem for which none are left: it gets a bracket all the same


@described
class MaxMarginClassifier(LinearClassifier):
    """The hyperplane with the widest margin, and the margin as a proven bracket.

    ::

        max_{‖w‖ = 1, b} min_i y_i (x_iᵀw + b)

    `decision_function` is the signed distance to the hyperplane, since ‖ ``coef_`` ‖ = 1. On rows that no hyperplane
    separates the fit warns, ``margin_.lower`` is 0 and ``coef_`` is the best hyperplane met on the way, the one with
    the fewest rows on the wrong side.

    There are no sample or class weights: the widest margin depends on which rows there are and not on how often. For
    rows that may be violated at a price use scikit-learn's `LinearSVC`.

    Parameters
    ----------
    rtol : float, default=1e-6
        The bracket is closed when upper - lower ≤ rtol · upper.
    fit_intercept : bool, default=True
        Also an intercept, which is not part of the norm.
    time_limit : float or None, default=None
        Seconds for the whole fit, shared by its problems, after which brackets are taken as they are and `certify`
        leaves open what it has not decided; each gets its part of what the ones before have left.
    certify : bool, default=False
        Where no margin was found, decide by `separate` whether the rows are separable at all, and keep the proof.
    n_jobs
    verbose

    Attributes
    ----------
    margin_ : Margin or list of Margin
        The bracket `lower` ≤ μ ≤ `upper` with its θ, weights and support; a list with one entry per class for three
        classes or more.
    coef_ : ndarray of shape (1, d) or (classes, d)
        The normal vector w, of length 1.
    intercept_ : ndarray of shape (1,) or (classes,)
        The intercept b.
    classes_
    n_features_in_
    feature_names_in_
    n_iter_ : int
        Newton steps made, the most of all problems.
    separated_
    status_ : str
        How the bracket ended ("converged", "no-margin", "rounding", "time-limit", "stopped"), or "inseparable"
        (proven); ``status_.message`` is a sentence that names the classes concerned.
    proof_

    See Also
    --------
    max_margin : The same for two classes, as a function.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import MaxMarginClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MaxMarginClassifier().fit(X, y == 0)
    >>> print(f"{clf.margin_.lower:.4f} {clf.margin_.upper:.4f}")
    0.8176 0.8176
    """

    def __init__(
        self,
        *,
        rtol: float = 1e-6,
        fit_intercept: bool = True,
        time_limit: float | None = None,
        certify: bool = False,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.rtol = rtol
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.certify = certify
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @by_name
    def fit(self, X: Any, y: Any) -> Self:
        """Narrow the bracket on the widest margin.

        Where no margin is found, or the bracket does not close, it warns once (ConvergenceWarning).

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            Labels of two classes or more.

        Returns
        -------
        self
            The fitted classifier itself.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the data are not numbers with labels of two classes or more.
        """
        check_time_limit(self.time_limit)
        began = time.monotonic()

        def share(problems: int) -> float | None:
            """Seconds for the next of so many problems, of what is left of the limit."""
            if self.time_limit is None:
                return None
            return max(LEAST, (began + self.time_limit - time.monotonic()) / problems)

        with self._progress() as shown:
            X, y, classes, labels = self._read(X, y)
            tasks = Tasks(self, X, y, classes, None, labels, None) if watched(self) else None
            names, done = self._names(classes), set[int]()

            def heard(k: int) -> Callable[[Any], bool] | None:
                """What problem k calls with each step: the tasks, and who waits."""
                if shown.quiet:
                    return None if tasks is None else tasks.problems[k]

                def hear(now: Any) -> bool:
                    over = f"{len(done)} of {len(labels)} classes done, {names[k]}: " if len(labels) > 1 else ""
                    text = f"{counted(now.step, 'step')}, margin in [{now.lower:.6g}, {now.upper:.6g}]"
                    spent = time.monotonic() - began
                    part = None if self.time_limit is None else spent / self.time_limit
                    shown.tell(f"{type(self).__name__}: {over}{text}", part)
                    return tasks is not None and tasks.problems[k](now)

                return hear

            def work(problems: list[int]) -> list[Margin]:
                found = []
                for at, k in enumerate(problems):
                    limit = share(len(problems) - at)
                    found.append(
                        max_margin(
                            X,
                            labels[k],
                            rtol=self.rtol,
                            fit_intercept=self.fit_intercept,
                            time_limit=limit,
                            callback=heard(k),
                        )
                    )
                    done.add(k)
                return found

            margins: list[Margin] = self._in_parallel(work, len(labels))
            self.classes_ = classes
            self._place([margin.theta for margin in margins], [float(self.fit_intercept)] * len(margins))
            self.margin_ = one_or_all(margins)
            self.n_iter_ = max(margin.n_steps for margin in margins)
            self.separated_ = all(margin.lower > 0 for margin in margins)
            reached = scores(X, self.coef_, self.intercept_)
            live = np.ones(X.shape[0], dtype=bool)
            open_ones = sum(margin.lower <= 0 for margin in margins)
            outcomes = []
            for k, (margin, label) in enumerate(zip(margins, labels, strict=True)):
                wrong = int((label * reached[:, k] <= 0).sum())
                asked = margin.status is MarginStatus.STOPPED
                if margin.lower > 0:
                    bracket = f"margin in [{margin.lower:.6g}, {margin.upper:.6g}]"
                    good = margin.status is MarginStatus.CONVERGED
                    brief = margin.status.message if good else f"{bracket}, {margin.status}"
                    outcomes.append(Outcome(margin.status, f"{bracket}: {margin.status.message}", brief, good, asked))
                    continue
                verdict, proof = None, None
                if self.certify and not asked:
                    shown.tell(f"{type(self).__name__}: deciding whether the rows can be separated")
                    verdict, proof = self._certificate(X, label, live, share(open_ones))
                open_ones -= 1
                clause, known = verdict_clauses(verdict, "but with a margin too small for this method")
                told = (
                    f"no separating hyperplane was found, the best leaves {wrong:,} of {counted(len(label), 'row')} on "
                    f"the wrong side, and none has a margin above {margin.upper:.2g}; {clause}"
                )
                word = "inseparable" if verdict is Verdict.INSEPARABLE else str(margin.status)
                few = f"{counted(wrong, 'row')} wrong{known}"
                outcomes.append(Outcome(word, told, few, good=False, asked=asked, verdict=verdict, proof=proof))
        self._conclude(outcomes)
        if tasks is not None:
            tasks.end()
        return self
