"""What the classifiers share: labels, one-vs-rest, scores, and how the end of a fit is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.certify import Proof
from separatrix.core.rows import norm
from separatrix.data.arrays import sound
from separatrix.data.rows import Vector
from separatrix.deciding.boundary import Certainty
from separatrix.deciding.separate import Verdict, separate
from separatrix.estimators.callbacks import CallbackSupportMixin
from separatrix.estimators.telling import warn
from separatrix.reporting.keywords import hinted
from separatrix.reporting.plain import LONG, plain
from separatrix.reporting.progress import Progress, check_verbose
from separatrix.walking.run import hyperplane
from separatrix.walking.trace import check_record

AT_ONCE = 1 << 21  # entries of float32 rows that are taken to float64 at a time
UNPROVEN = "this proves nothing about separability: certify=True decides it"
SHOWN = 10  # classes that a message names


class FitStatus(str):
    """How a fit ended, as a word ("separated", "max-iter", …); `message` is a sentence to act on."""

    message: str

    def __new__(cls, status: str, message: str) -> Self:
        """The word with its sentence."""
        self = super().__new__(cls, status)
        self.message = message
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """What a copy is made from."""
        return FitStatus, (str(self), self.message)


@dataclass(frozen=True)
class Outcome:
    """How one problem ended: a word, a sentence, and the same in a few words for one problem among many.

    `good` is the end that was hoped for; any other is listed, and warned about unless `asked` for: by a callback, or by
    `tol`, which makes of descent that has settled an end as good as any.
    """

    status: str
    message: str
    brief: str
    good: bool
    asked: bool = False
    settled: bool = False
    verdict: Verdict | None = None
    proof: Proof | None = None


class OneVsRest(Sequence[Vector]):
    """One vector of ±1 per problem, made when asked for: in problem k, rows of class positive[k] are +1."""

    def __init__(self, code: NDArray[np.intp], positive: Sequence[int]) -> None:
        self.code, self.positive = code, positive

    def part(self, problems: Sequence[int]) -> OneVsRest:
        """Some of the problems."""
        return OneVsRest(self.code, [self.positive[k] for k in problems])

    def __len__(self) -> int:
        return len(self.positive)

    def __getitem__(self, k: Any) -> Any:
        return np.where(self.code == self.positive[k], 1.0, -1.0)

    def __iter__(self) -> Iterator[Vector]:
        return (self[k] for k in range(len(self)))


@cache
def site_of_docs() -> str:
    """The address of our pages that the installed package names; nothing where it names none."""
    try:
        urls = metadata("separatrix").get_all("Project-URL") or []
    except PackageNotFoundError:  # on PYTHONPATH
        urls = []
    named = {label.lower(): url for label, url in (entry.split(", ", 1) for entry in urls)}
    return str(named.get("documentation", "")).rstrip("/")


def positives(classes: int) -> Sequence[int]:
    """The class that is +1 in each problem: the second of two, or each in its turn against the rest."""
    return [1] if classes == 2 else range(classes)


class LinearClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Labels in, scores out; a subclass says how the problems are solved."""

    _doc_link_module = "separatrix"

    n_jobs: int | None
    fit_intercept: bool
    certify: bool
    verbose: bool | int

    def __init_subclass__(cls, **options: Any) -> None:
        """A constructor called with what it does not take names the class, and what was probably meant."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = hinted(vars(cls)["__init__"])  # type: ignore[method-assign]

    @property
    def _doc_link_template(self) -> str:
        """Where scikit-learn's picture of an estimator links to: its page here; nowhere while there is no site."""
        site = site_of_docs()
        return f"{site}/reference/generated/separatrix.{{estimator_name}}.html" if site else ""

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: Any) -> Vector:
        """Scores: positive for the second class, or one column per class.

        ::

            xᵀ coef_ + intercept_

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) or (n, classes)
            The score of each row for the second of two classes, or for each class against the rest.
        """
        check_is_fitted(self)
        X = validate_data(self, sound(X), reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        found = scores(X, self.coef_, self.intercept_)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: by the sign of its score, or the largest of its scores.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes_``.
        """
        found = self.decision_function(X)
        return np.asarray(self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)])

    def _read(self, X: Any, y: Any) -> tuple[Any, Any, NDArray[Any], OneVsRest]:
        """Checked parameters, rows and labels; the classes, which are not `classes_` yet; the problems they make."""
        self._check()
        if isinstance(y, str):
            raise ValueError(f"y must be the labels, got the name {y!r}; give the column itself, and X without it.")
        try:
            X, y = validate_data(self, sound(X), y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(f"{error}; turn text into numbers first, as OneHotEncoder does in a pipeline.") from None
        try:
            check_classification_targets(y)
            classes, code = np.unique(y, return_inverse=True)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in y.tolist()})
            if len(kinds) < 2:
                raise
            raise ValueError(
                f"y mixes labels of the types {', '.join(kinds)}: make them all text, or all numbers."
            ) from None
        if len(classes) < 2:
            one = plain(str(classes[0]), LONG)
            raise ValueError(f"{type(self).__name__} needs two classes or more, y has one class: {one}.")
        return X, y, classes, OneVsRest(code, positives(len(classes)))

    def _check(self) -> None:
        """Complain about parameters that no function further in would look at."""
        given = self.get_params()
        for name in ("fit_intercept", "certify", "warm_start"):
            if not isinstance(given.get(name, False), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {given[name]!r}.")
        if self.n_jobs is not None and not isinstance(self.n_jobs, Integral):
            raise ValueError(f"n_jobs must be a whole number or None, got {self.n_jobs!r}.")
        check_record(given.get("record"))

    def _progress(self) -> Progress:
        """What shows how a fit goes on, where that is wanted."""
        check_verbose(self.verbose)
        return Progress(f"{type(self).__name__}: reading the rows", quiet=not self.verbose, bound=False)

    def _names(self, classes: NDArray[Any]) -> list[str]:
        """The problems by the class that is +1 in each."""
        return [f"class {plain(str(classes[k]), LONG)}" for k in positives(len(classes))]

    def _in_parallel(self, work: Callable[[list[int]], list[Any]], problems: int) -> list[Any]:
        """`work` on the numbers of all problems, in as many groups as there are jobs; the kernels free the threads."""
        jobs = min(problems, effective_n_jobs(self.n_jobs))
        groups = [group.tolist() for group in np.array_split(np.arange(problems), jobs)]
        if len(groups) == 1:
            return work(groups[0])
        done = Parallel(n_jobs=jobs, require="sharedmem")(delayed(work)(group) for group in groups)
        return [result for part in done for result in part]

    def _place(self, thetas: Sequence[Vector], biases: Sequence[float]) -> None:
        """coef_ and intercept_, one row and one entry per problem, from its θ and the value of its constant column."""
        found = [hyperplane(theta, bias) for theta, bias in zip(thetas, biases, strict=True)]
        self.coef_ = np.stack([coef for coef, _ in found])
        self.intercept_ = np.array([intercept for _, intercept in found])

    def _certificate(
        self, X: Any, label: Vector, live: NDArray[np.bool_], time_limit: float | None = None
    ) -> tuple[Verdict, Proof | None]:
        """Whether this problem is separable at all, by `separate`."""
        if not (label[live] > 0).any() or not (label[live] < 0).any():
            return Verdict.UNDECIDED, None
        found = separate(
            X[live] if not live.all() else X, label[live], fit_intercept=self.fit_intercept, time_limit=time_limit
        )
        if found.certainty is Certainty.WITHIN_ROUNDING:
            return Verdict.UNDECIDED, None  # by last digits: nothing was proven
        return found.status, found.proof

    def _conclude(self, outcomes: Sequence[Outcome]) -> None:
        """status_, proof_ where asked for, and one warning if a problem ended short."""
        short = [k for k, outcome in enumerate(outcomes) if not outcome.good]
        first = sorted(short, key=lambda k: outcomes[k].asked)  # whose word stands for all: one that nobody asked for
        ended = "settled" if all(outcomes[k].settled for k in short) else "fell short"
        if len(outcomes) == 1:
            self.status_ = FitStatus(outcomes[0].status, outcomes[0].message)
        elif not short:
            self.status_ = FitStatus(outcomes[0].status, f"all {len(outcomes)} problems: {outcomes[0].brief}")
        else:
            named = [f"class {plain(str(self.classes_[k]), LONG)} ({outcomes[k].brief})" for k in short[:SHOWN]]
            more = [f"and {len(short) - SHOWN} more"] if len(short) > SHOWN else []
            self.status_ = FitStatus(
                next(
                    (outcomes[k].status for k in first if outcomes[k].verdict is not Verdict.INSEPARABLE), "inseparable"
                ),
                f"{len(short)} of {len(outcomes)} one-vs-rest problems {ended}: {', '.join(named + more)}"
                + ("" if self.certify or self.separated_ else f"; {UNPROVEN}"),
            )
        self.__dict__.pop("proof_", None)
        if self.certify:
            self.proof_ = one_or_all([outcome.proof for outcome in outcomes])
        if any(not outcomes[k].asked for k in short):
            warn(type(self).__name__, self.status_.message + self._escape())

    def _escape(self) -> str:
        """What else would end a fit on rows that overlap, for the warning."""
        return ""


def scores(X: Any, coef: Vector, intercept: Vector) -> Vector:
    """X coefᵀ + intercept in float64; float32 rows are taken there a block at a time."""
    if X.dtype == np.float64 or not isinstance(X, np.ndarray):
        return np.asarray(safe_sparse_dot(X, coef.T, dense_output=True) + intercept)
    found = np.empty((len(X), len(coef)))
    step = max(1, AT_ONCE // X.shape[1])
    for lo in range(0, len(X), step):
        found[lo : lo + step] = X[lo : lo + step].astype(np.float64) @ coef.T + intercept
    return found


def one_or_all(values: list[Any]) -> Any:
    """The only value of a problem with two classes, or the list with one per class."""
    return values[0] if len(values) == 1 else values


def verdict_clauses(verdict: Verdict | None, advice: str) -> tuple[str, str]:
    """What is known about a problem that was not separated, in a clause and in a word or two."""
    return {
        None: (UNPROVEN, ""),
        Verdict.INSEPARABLE: (
            "no hyperplane puts every row on its right side (proven, see proof_)",
            ", proven inseparable",
        ),
        Verdict.SEPARABLE: (f"the rows are separable (proven, see proof_): {advice}", ", proven separable"),
        Verdict.UNDECIDED: ("whether they are separable could not be decided", ", undecided"),
    }[verdict]


def closest_row(m: Vector, w: Vector) -> float:
    """The distance of the nearest row to the hyperplane, min_i m_i/‖w‖; NaN at w = 0."""
    length = float(norm(w))
    return float(m.min()) / length if length > 0 else np.nan


def doubtful(r: Vector, m: Vector, w: Vector, intercept: float) -> bool:
    """Whether a margin is so near to zero that another order of sums may give it another sign; r_i = ‖x_i‖."""
    slack = 4 * np.finfo(np.float64).eps * (len(w) + 8)
    return not bool((m > slack * (r * float(norm(w)) + abs(intercept))).all())
