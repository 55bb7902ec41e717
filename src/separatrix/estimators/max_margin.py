"""The hard-margin classifier, with its margin as a bracket."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.deciding.margin import Margin, MarginStatus
from separatrix.deciding.max_margin import max_margin
from separatrix.deciding.separate import Verdict
from separatrix.estimators.base import LinearClassifier, Outcome, one_or_all, scores, verdict_clauses
from separatrix.estimators.callbacks import Tasks, watched, with_callbacks
from separatrix.estimators.shared import described


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
        Seconds per problem after which the bracket is taken as it is.
    certify : bool, default=False
        Where no margin was found, decide by `separate` whether the rows are separable at all, and keep the proof.
    n_jobs

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
    ) -> None:
        self.rtol = rtol
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.certify = certify
        self.n_jobs = n_jobs

    @with_callbacks
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
        X, y, classes, labels = self._read(X, y)
        tasks = Tasks(self, X, y, classes, None, labels, None) if watched(self) else None

        def work(problems: list[int]) -> list[Margin]:
            return [
                max_margin(
                    X,
                    labels[k],
                    rtol=self.rtol,
                    fit_intercept=self.fit_intercept,
                    time_limit=self.time_limit,
                    callback=None if tasks is None else tasks.problems[k],
                )
                for k in problems
            ]

        margins: list[Margin] = self._in_parallel(work, len(labels))
        self.classes_ = classes
        self._place([margin.theta for margin in margins], [float(self.fit_intercept)] * len(margins))
        self.margin_ = one_or_all(margins)
        self.n_iter_ = max(margin.n_steps for margin in margins)
        self.separated_ = all(margin.lower > 0 for margin in margins)
        reached = scores(X, self.coef_, self.intercept_)
        live = np.ones(X.shape[0], dtype=bool)
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
            verdict, proof = self._certificate(X, label, live) if self.certify and not asked else (None, None)
            clause, known = verdict_clauses(verdict, "but with a margin too small for this method")
            told = (
                f"no separating hyperplane was found, the best leaves {wrong:,} of {len(label):,} rows on the wrong "
                f"side, and none has a margin above {margin.upper:.2g}; {clause}"
            )
            word = "inseparable" if verdict is Verdict.INSEPARABLE else str(margin.status)
            few = f"{wrong:,} rows wrong{known}"
            outcomes.append(Outcome(word, told, few, good=False, asked=asked, verdict=verdict, proof=proof))
        self._conclude(outcomes)
        if tasks is not None:
            tasks.end()
        return self
