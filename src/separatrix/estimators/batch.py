"""What the batch methods share as classifiers, and the perceptrons among them; the logistic ones are in `logistic`.

The step is divided by N = n^p (Σw)^(1-p):

                            |  p = 1            |  any power p              |  p = 0
----------------------------+-------------------+---------------------------+----------------------------
logistic, finite step size  |  LogisticGD       |  TemperedLogisticGD       |  NormalizedLogisticGD
perceptron, step size ∞     |  BatchPerceptron  |  TemperedBatchPerceptron  |  NormalizedBatchPerceptron
"""

from __future__ import annotations

from math import isinf
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from separatrix.data.rows import Vector
from separatrix.estimators.callbacks import with_callbacks
from separatrix.estimators.shared import described
from separatrix.estimators.telling import by_name
from separatrix.estimators.walking import Best, WalkingClassifier
from separatrix.reporting.plain import counted
from separatrix.walking.engines import Gram
from separatrix.walking.methods import parse_method
from separatrix.walking.run import Status
from separatrix.walking.solve import check_count

UNBOUNDED = "separable: the loss has no finite minimum, more iterations only lengthen θ"
Scaling = float | Literal["auto"]


class BatchClassifier(WalkingClassifier):
    """A method that moves by all rows at once."""

    _method: str

    def __init__(
        self,
        *,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        intercept_scaling: Scaling = "auto",
        class_weight: Any = None,
        certify: bool = False,
        warm_start: bool = False,
        engine: str | Gram = "auto",
        record: str | int | None = "log",
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.certify = certify
        self.warm_start = warm_start
        self.engine = engine
        self.record = record
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _gamma(self) -> float:
        return np.inf

    def _power(self) -> float | None:
        return None

    def _tol(self) -> float | None:
        return None

    @with_callbacks
    @by_name
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Walk until every training row is on its right side, or for `max_iter` iterations.

        Where `max_iter` runs out it warns once (ConvergenceWarning), with the number of rows still wrong.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; whole numbers equal repeated rows, 0 takes a row out.

        Returns
        -------
        self
            The fitted classifier itself.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the data are not numbers with labels of two classes or more.
        """
        gamma = parse_method(self._method, self._gamma(), power=self._power()).gamma
        check_count("max_iter", self.max_iter)
        tol = self._tol()
        with self._progress() as shown:
            X, y, classes, labels = self._read(X, y)
            weight = self._weights(sample_weight, X, y, classes, labels.code)
            tasks = self._watch(X, y, classes, weight, labels, self.record, self.max_iter)
            best = [Best(None if tasks is None else tasks.problems[k]) for k in range(len(labels))]
            runs = self._walk(
                X,
                labels,
                self._method,
                shown=shown,
                names=self._names(classes),
                resume=self.warm_start,
                callbacks=best,
                sample_weight=weight,
                record=self.record,
                max_iter=self.max_iter,
                step_size=gamma,
                power=self._power(),
                tol=tol,
            )
            self.classes_ = classes
            self._keep(runs, [one.choose(run) for one, run in zip(best, runs, strict=True)])
            self.n_iter_ = max(run.n_iter for run in runs)
            self._tell(
                X,
                labels,
                np.ones(len(y), dtype=bool) if weight is None else weight > 0,
                [counted(run.n_iter, "iteration") for run in runs],
                shown,
                Status.SEPARATED.message if isinf(gamma) else UNBOUNDED,
                tol,
            )
        if tasks is not None:
            tasks.end()
        return self

    def _weights(
        self, sample_weight: Any, X: Any, y: Any, classes: NDArray[Any], code: NDArray[np.intp]
    ) -> Vector | None:
        """Sample weight times class weight of every row; None where all are 1."""
        if sample_weight is None and self.class_weight is None:
            return None
        weight = np.array(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        live = weight > 0
        if self.class_weight is not None and live.any():
            present, factor = np.unique(code[live]), np.ones(len(classes))
            factor[present] = compute_class_weight(
                self.class_weight, classes=classes[present], y=y[live], sample_weight=weight[live]
            )
            weight *= factor[code]
        left = len(np.unique(code[weight > 0]))
        if left < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows with a positive weight (sample_weight times class_weight) in two "
                f"classes or more, got them in {counted(left, 'class')}."
            )
        return weight


@described
class BatchPerceptron(BatchClassifier):
    """The batch perceptron: each step is the sum of the rows on the wrong side, divided by the number of all rows.

    ::

        θ⁺ = θ + (1/n) Σ_{i: z_iᵀθ ≤ 0} z_i ,      z_i = y_i (x_i, b)

    The limit of `LogisticGD` at infinite step size; that docstring has the table of the four methods.

    Parameters
    ----------
    max_iter … verbose

    Attributes
    ----------
    coef_ … proof_

    See Also
    --------
    NormalizedBatchPerceptron : The same, divided by the number of rows on the wrong side.
    Perceptron : One row at a time.

    Notes
    -----
    on intercept_scaling

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import BatchPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BatchPerceptron().fit(X, y == 0)
    >>> clf.separated_, clf.n_iter_
    (True, 8)
    """

    _method = "batch-perceptron"


@described
class NormalizedBatchPerceptron(BatchClassifier):
    """The normalized batch perceptron: each step is the mean of the rows on the wrong side.

    ::

        θ⁺ = θ + Σ_{i: z_iᵀθ ≤ 0} z_i / #{i: z_iᵀθ ≤ 0} ,      z_i = y_i (x_i, b)

    At most R²/μ² steps where the batch perceptron may need nR²/μ²; `LogisticGD` has the table of the four methods.

    Parameters
    ----------
    max_iter … verbose

    Attributes
    ----------
    coef_ … proof_

    See Also
    --------
    BatchPerceptron : The same, divided by the number of all rows.

    Notes
    -----
    on intercept_scaling

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import NormalizedBatchPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NormalizedBatchPerceptron().fit(X, y == 0)
    >>> clf.separated_, clf.n_iter_
    (True, 6)
    """

    _method = "normalized-batch-perceptron"
