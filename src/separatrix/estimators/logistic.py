"""The logistic methods as classifiers: probabilities at finite step size."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.utils.metaestimators import available_if

from separatrix.data.rows import Vector
from separatrix.estimators.batch import BatchClassifier, Scaling
from separatrix.estimators.shared import described
from separatrix.walking.engines import Gram
from separatrix.walking.settled import check_tol


def _has_probabilities(estimator: Any) -> bool:
    """Whether the step size is finite; at infinity scores have no scale."""
    if np.isinf(estimator.step_size):
        raise AttributeError("predict_proba needs a finite step_size: at infinity scores have no scale.")
    return True


class LogisticClassifier(BatchClassifier):
    """A logistic method: probabilities at finite step size."""

    def __init__(
        self,
        step_size: float = 1.0,
        *,
        max_iter: int = 10_000,
        tol: float | None = None,
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
        self.step_size = step_size
        self.tol = tol
        super().__init__(
            max_iter=max_iter,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            certify=certify,
            warm_start=warm_start,
            engine=engine,
            record=record,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _gamma(self) -> float:
        if self.step_size is None:
            raise ValueError("step_size must be a number in (0, ∞], got None.")
        return self.step_size

    def _tol(self) -> float | None:
        tol = check_tol(self.tol)
        return None if np.isinf(self.step_size) else tol  # at infinity there is no loss that could settle

    def _escape(self) -> str:
        none = self.tol is None and np.isfinite(self.step_size)
        return "; where rows overlap, tol=1e-3 ends the walk when descent has settled" if none else ""

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Vector:
        """Probabilities: σ(score), scaled to sum to 1 over the classes.

        On separable data these are not calibrated: θ grows for as long as the walk goes on, and every probability with
        it towards 0 or 1. At infinite step size there are none.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, classes)
            One column per class, in the order of ``classes_``.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Vector:
        """Logarithms of `predict_proba`, without underflow.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, classes)
            One column per class, in the order of ``classes_``.
        """
        found = self.decision_function(X)
        if found.ndim == 1:
            return np.asarray(log_expit(np.column_stack([-found, found])))
        found = log_expit(found)
        return np.asarray(found - logsumexp(found, axis=1, keepdims=True))


@described
class LogisticGD(LogisticClassifier):
    """Logistic regression by gradient descent with any step size, which stops when the training rows are separated.

    ::

        θ⁺ = θ + (γ/n) Σ_i σ(-z_iᵀθ) z_i ,      z_i = y_i (x_i, b)

    With γ = `step_size` large it walks like the batch perceptron, and `LogisticGD(step_size=np.inf)` is the batch
    perceptron. The four methods of A. Tyurin, "From Logistic Regression to the Perceptron Algorithm" (AAAI-25):

    ============================  ====================  ===========================
    weight of a row               step divided by n     divided by Σ weights
    ============================  ====================  ===========================
    σ(-z_iᵀθ), finite step size   LogisticGD            NormalizedLogisticGD
    1 if z_iᵀθ ≤ 0, step size ∞   BatchPerceptron       NormalizedBatchPerceptron
    ============================  ====================  ===========================

    Parameters
    ----------
    step_size : float, default=1.0
        The step size γ in (0, ∞].
    max_iter
    tol
    fit_intercept … verbose

    Attributes
    ----------
    coef_ … proof_

    See Also
    --------
    NormalizedLogisticGD : The same, divided by the sum of the weights.
    solve : One run on two classes, with more options.

    Notes
    -----
    on intercept_scaling

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticGD
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = LogisticGD(step_size=10.0).fit(X, y == 0)
    >>> clf.separated_, clf.status_.message
    (True, 'separable: the loss has no finite minimum, more iterations only lengthen θ')
    """

    _method = "lr-gd"


@described
class NormalizedLogisticGD(LogisticClassifier):
    """Logistic regression by gradient descent divided by the sum of its weights, which stops at separation.

    ::

        θ⁺ = θ + γ Σ_i w_i z_i / Σ_i w_i ,      w_i = σ(-z_iᵀθ) ,      z_i = y_i (x_i, b)

    Its bound on the iterations has no factor n; that of `LogisticGD` has one, and needs it on some data. The table of
    the four methods is in that docstring; `step_size=np.inf` is `NormalizedBatchPerceptron`.

    Parameters
    ----------
    step_size : float, default=1.0
        The step size γ in (0, ∞].
    max_iter
    tol
    fit_intercept … verbose

    Attributes
    ----------
    coef_ … proof_

    See Also
    --------
    LogisticGD : The same, divided by the number of rows.

    Notes
    -----
    on intercept_scaling

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import NormalizedLogisticGD
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NormalizedLogisticGD(step_size=10.0).fit(X, y == 0)
    >>> clf.separated_, clf.n_iter_
    (True, 6)
    """

    _method = "normalized-lr-gd"
