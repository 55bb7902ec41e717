"""The methods between the plain and the normalized ones as classifiers: the step is divided by n^p (Σw)^(1-p)."""

from __future__ import annotations

from typing import Any

from separatrix.estimators.batch import BatchClassifier, Scaling
from separatrix.estimators.logistic import LogisticClassifier
from separatrix.estimators.shared import described
from separatrix.walking.engines import Gram
from separatrix.walking.methods import POWER


@described
class TemperedLogisticGD(LogisticClassifier):
    """Logistic regression by gradient descent divided by a mean of n and the sum of its weights; stops at separation.

    ::

        θ⁺ = θ + γ Σ_i w_i z_i / N ,      w_i = σ(-z_iᵀθ) ,      N = n^p (Σ_i w_i)^(1-p) ,      z_i = y_i (x_i, b)

    With p = `power` = 1 it is `LogisticGD`, with p = 0 `NormalizedLogisticGD`; `step_size=np.inf` is
    `TemperedBatchPerceptron`.

    Parameters
    ----------
    step_size : float, default=1.0
        The step size γ in (0, ∞].
    power : float, default=0.625
        The power p in [0, 1].
    max_iter
    tol
    fit_intercept … verbose

    Attributes
    ----------
    coef_ … proof_

    See Also
    --------
    LogisticGD : The same, divided by the number of rows.
    NormalizedLogisticGD : The same, divided by the sum of the weights.

    Notes
    -----
    on intercept_scaling

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import TemperedLogisticGD
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TemperedLogisticGD(step_size=10.0).fit(X, y == 0)
    >>> clf.separated_, clf.n_iter_
    (True, 6)
    """

    _method = "tempered-lr-gd"

    def __init__(
        self,
        step_size: float = 1.0,
        power: float = POWER,
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
        self.power = power
        super().__init__(
            step_size,
            max_iter=max_iter,
            tol=tol,
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

    def _power(self) -> float:
        return given(self.power)


@described
class TemperedBatchPerceptron(BatchClassifier):
    """The tempered batch perceptron: the sum of the rows S on the wrong side, divided by a mean of n and their number.

    ::

        θ⁺ = θ + Σ_{i ∈ S} z_i / N ,      S = {i: z_iᵀθ ≤ 0} ,      N = n^p |S|^(1-p) ,      z_i = y_i (x_i, b)

    With p = `power` = 1 it is `BatchPerceptron`, with p = 0 `NormalizedBatchPerceptron`; between them it mostly needs
    fewer iterations than either.

    Parameters
    ----------
    power : float, default=0.625
        The power p in [0, 1].
    max_iter … verbose

    Attributes
    ----------
    coef_ … proof_

    See Also
    --------
    BatchPerceptron : The same, divided by the number of all rows.
    NormalizedBatchPerceptron : The same, divided by the number of rows on the wrong side.

    Notes
    -----
    on intercept_scaling

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import TemperedBatchPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TemperedBatchPerceptron().fit(X, y == 0)
    >>> clf.separated_, clf.n_iter_
    (True, 6)
    """

    _method = "tempered-batch-perceptron"

    def __init__(
        self,
        power: float = POWER,
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
        self.power = power
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

    def _power(self) -> float:
        return given(self.power)


def given(power: Any) -> float:
    """The power, which None is not."""
    if power is None:
        raise ValueError("power must be a number from 0 to 1, got None.")
    return power  # type: ignore[no-any-return]  # checked by parse_method
