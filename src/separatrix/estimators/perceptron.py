"""The row-at-a-time perceptron as a classifier, also batch by batch."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from separatrix.core.constants import ENDLESS
from separatrix.data.arrays import sound
from separatrix.estimators.base import FitStatus, OneVsRest, closest_row, one_or_all, positives, scores
from separatrix.estimators.batch import Scaling
from separatrix.estimators.callbacks import watched, with_callbacks
from separatrix.estimators.shared import described
from separatrix.estimators.telling import by_name
from separatrix.estimators.walking import WalkingClassifier
from separatrix.reporting.plain import counted
from separatrix.reporting.progress import Progress
from separatrix.walking.engines import Gram
from separatrix.walking.run import Status
from separatrix.walking.solve import check_count


@described
class Perceptron(WalkingClassifier):
    """Rosenblatt's perceptron, which stops when it has separated the training rows and not before.

    ::

        θ⁺ = θ + z_j   for one row j with z_jᵀθ ≤ 0 ,      z_j = y_j (x_j, b)

    Where it separates, ``coef_`` is that θ. Where `max_iter` sweeps are not enough, or a cycle ends them, ``coef_`` is
    the mean of θ over all rows visited (Freund and Schapire, 1999), which classifies better than the last θ; that one
    is in ``runs_``, and both `warm_start` and `partial_fit` go on from it. (There is no mean with order="most-wrong":
    the last θ stands.)

    There are no sample or class weights: a row is either wrong or not, and a step by s z_j in place of z_j would stand
    for no number of repeated rows. Repeat rows, or use `BatchPerceptron`.

    Parameters
    ----------
    max_iter : int, default=1000
        Sweeps over the rows to make at most, as in scikit-learn's `Perceptron`; with order="most-wrong", updates.
    fit_intercept
    intercept_scaling : float or "auto", default="auto"
        The value b of that column. "auto" is the power of two nearest to a fifth of the rows' root mean square length;
        `partial_fit` keeps that of its first batch.
    order : {"random", "cyclic", "most-wrong"}, default="random"
        The order of the rows: a fresh permutation each sweep, that of X, or always the row of smallest margin.
    random_state : int, RandomState or None, default=0
        Seed of the permutations.
    certify
    warm_start : bool, default=False
        Go on from where the last fit ended, with fresh permutations if the order is random.
    engine
    record : {"epoch", "log", "all"}, int or None, default=None
        How often an iterate enters ``trace_``: "epoch" after each sweep; the others count updates. Every record costs a
        pass over the rows, so by default only the last θ is recorded.
    n_jobs
    verbose

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        The entries of θ, or of the mean of θ, for the columns.
    intercept_
    classes_
    n_features_in_
    feature_names_in_
    n_iter_ : int
        Sweeps begun, the most of all problems.
    n_updates_ : int
        Updates made, over all problems.
    separated_
    status_
    trace_
    engine_
    margin_
    runs_
    proof_

    See Also
    --------
    BatchPerceptron : All wrong rows at once.
    solve : One run on two classes, with more options.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = Perceptron().fit(X, y == 0)
    >>> clf.separated_, clf.score(X, y == 0)
    (True, 1.0)
    """

    n_iter_: int
    n_updates_: int
    _sweeps: int  # made since θ was 0, by all fits: the next permutations depend on it

    def __init__(
        self,
        *,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: Scaling = "auto",
        order: str = "random",
        random_state: Any = 0,
        certify: bool = False,
        warm_start: bool = False,
        engine: str | Gram = "auto",
        record: str | int | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.order = order
        self.random_state = random_state
        self.certify = certify
        self.warm_start = warm_start
        self.engine = engine
        self.record = record
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @by_name
    def fit(self, X: Any, y: Any) -> Self:
        """Sweep over the rows until each was right in turn, or `max_iter` times.

        Where `max_iter` runs out it warns once (ConvergenceWarning), with the number of rows still wrong.

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
        check_count("max_iter", self.max_iter)
        with self._progress() as shown:
            X, y, classes, labels = self._read(X, y)
            record = "epoch" if self.record is None and watched(self) else self.record
            limit = self.max_iter if record == "epoch" else ENDLESS
            tasks = self._watch(X, y, classes, None, labels, record, limit)
            sweeps = self._sweeps if self.warm_start and "runs_" in vars(self) else 0
            runs = self._walk(
                X,
                labels,
                "perceptron",
                shown=shown,
                names=self._names(classes),
                resume=self.warm_start,
                callbacks=None if tasks is None else tasks.problems,
                record=record,
                max_epochs=self.max_iter,
                order=self.order,
                random_state=self._seed() + sweeps,
                average=True,
            )
            self.classes_ = classes
            self._keep(runs, [r.theta if r.separated or r.average is None else r.average for r in runs])
            self.n_iter_ = max(run.stats["epochs"] for run in runs)
            self._sweeps = sweeps + self.n_iter_
            self.n_updates_ = sum(run.n_iter for run in runs)
            live = np.ones(X.shape[0], dtype=bool)
            self._tell(X, labels, live, [counted(run.stats["epochs"], "sweep") for run in runs], shown)
        if tasks is not None:
            tasks.end()
        return self

    @by_name
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One sweep over this batch of rows, going on from the last θ.

        Here ``coef_`` is the last θ, and ``separated_`` speaks of this batch alone. Nothing is warned about.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows of the batch.
        y : array-like of shape (n,)
            Their labels; the batch may lack classes.
        classes : array-like, optional
            All labels that will ever come; needed at the first call, and the same or left out at later ones.

        Returns
        -------
        self
            The classifier itself.

        Raises
        ------
        ValueError
            If `classes` is missing at the first call or differs later, or y has a label that is none of them.
        """
        self._check()
        first = "runs_" not in vars(self)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if first:
            known = np.unique(classes)
            if len(known) < 2:
                raise ValueError(f"Perceptron needs two classes or more, classes has {len(known)}: {classes!r}.")
            self.classes_ = known
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} are not those of the first call to partial_fit, {self.classes_!r}.")
        kinds: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
        X, y = validate_data(self, sound(X), y, reset=first, **kinds)
        check_classification_targets(y)
        places = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in y.tolist() if label not in places]
        if unknown:
            raise ValueError(f"y has the label {unknown[0]!r}, which is none of the classes {self.classes_.tolist()}.")
        code = np.array([places[label] for label in y.tolist()])
        labels = OneVsRest(code, positives(len(self.classes_)))
        made, updates, sweeps = (0, 0, 0) if first else (self.n_iter_, self.n_updates_, self._sweeps)
        runs = self._walk(
            X,
            labels,
            "perceptron",
            shown=Progress("", quiet=True),
            names=self._names(self.classes_),
            resume=not first,
            callbacks=None,
            record=self.record,
            max_epochs=1,
            order=self.order,
            random_state=self._seed() + sweeps,
        )
        self._keep(runs, [run.theta for run in runs])
        self.n_iter_, self.n_updates_ = made + 1, updates + sum(run.n_iter for run in runs)
        self._sweeps = sweeps + 1
        found = scores(X, self.coef_, self.intercept_)
        low = [label * found[:, k] for k, label in enumerate(labels)]
        self.margin_ = one_or_all([closest_row(m, w) for m, w in zip(low, self.coef_, strict=True)])
        wrong = max(int((m <= 0).sum()) for m in low)
        self.__dict__.pop("proof_", None)
        self.separated_ = wrong == 0
        word = Status.SEPARATED if wrong == 0 else Status.MAX_ITER
        self.status_ = FitStatus(word, f"one sweep over this batch left {wrong:,} of its {X.shape[0]:,} rows wrong")
        return self

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
