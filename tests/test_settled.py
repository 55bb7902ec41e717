"""Descent that has settled ends a fit of rows that overlap where that was asked for, and never by the loss alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from conftest import planted
from separatrix.walking.settled import Settled
from separatrix.walking.trace import GROWTH, Measure

LOGISTIC = [sx.LogisticGD, sx.NormalizedLogisticGD, sx.TemperedLogisticGD]
logistic = pytest.mark.parametrize("kind", LOGISTIC)


@pytest.fixture(scope="module")
def overlapping():
    """Versicolor against virginica: no hyperplane separates them."""
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X[50:]), y[50:]


@pytest.fixture(scope="module")
def three():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def ends_at(tol, loss, accuracy=lambda t: 0.5, length=lambda t: 1.0, until=10**6):
    """The iterate at which descent with these numbers is called settled; None if it is not up to `until`."""
    settled = Settled(tol)
    while settled.due <= until:
        t = settled.due
        if settled.look(t, Measure(5, accuracy(t), loss(t), 1.0, length(t), -1.0)):
            return t
    return None


def test_a_constant_loss_has_settled_at_the_hundredth_iterate():
    assert 100 <= ends_at(1e-3, lambda t: 0.3) <= 100 * GROWTH


def test_a_loss_that_goes_to_zero_like_one_over_t_never_settles():
    assert ends_at(0.3, lambda t: 1 / t) is None
    assert ends_at(1e-3, lambda t: 1 / np.log(t + 2)) is None


def test_a_loss_that_falls_to_its_minimum_settles_once_doubling_t_changes_it_by_less_than_tol():
    t = ends_at(1e-3, lambda t: 0.3 + 1 / t)
    assert 0.3 + 2 / t - (0.3 + 1 / t) <= 1.1e-3 * 0.3
    assert ends_at(1e-4, lambda t: 0.3 + 1 / t) > 5 * t


def test_a_loss_that_jumps_about_has_settled_unless_accuracy_or_theta_still_grow():
    def jumps(t):
        return 1000.0 + 100.0 * np.sin(t)

    assert ends_at(1e-2, jumps) is not None
    assert ends_at(1e-2, jumps, accuracy=lambda t: 1 - 1 / t) is None
    assert ends_at(1e-2, jumps, length=np.sqrt) is None


def test_the_first_iterate_is_no_measure_of_those_that_follow():
    """θ_0 = 0 has the loss ln 2, which large steps on wide rows may never see again while they come closer."""
    settled = Settled(1e-3)
    assert settled.due == 1


@logistic
def test_fits_of_rows_that_overlap_end_before_max_iter_without_a_warning(kind, overlapping):
    X, y = overlapping
    clf = kind(step_size=10.0, tol=1e-3, max_iter=100_000).fit(X, y)  # warnings are errors
    assert clf.status_ == "settled" and not clf.separated_ and clf.n_iter_ < 10_000
    wrong = int((clf.predict(X) != y).sum())
    assert clf.status_.message.startswith(f"{wrong} of 100 rows ")
    assert f"after {clf.n_iter_:,} iterations, when descent had settled" in clf.status_.message
    assert "proves nothing about separability" in clf.status_.message
    assert clf.score(X, y) >= 0.96


@logistic
@pytest.mark.parametrize("step_size", [10.0, 1000.0, 1e6])
def test_the_end_depends_on_neither_engine_nor_record_nor_jobs(kind, step_size, three):
    X, y = three

    def fit(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return kind(step_size, tol=1e-2, max_iter=3000, **options).fit(X, y)

    first = fit(engine="dense")
    assert "settled" in first.status_.message
    for options in ({"engine": "lazy"}, {"engine": "numpy"}, {"record": "all"}, {"record": 7}, {"n_jobs": 2}):
        other = fit(**options)
        assert [run.n_iter for run in other.runs_] == [run.n_iter for run in first.runs_], options
        for a, b in zip(other.runs_, first.runs_, strict=True):
            np.testing.assert_array_equal(a.theta, b.theta)


@logistic
def test_without_tol_nothing_settles(kind, overlapping):
    X, y = overlapping
    with pytest.warns(ConvergenceWarning):
        assert kind(step_size=10.0, max_iter=3000).fit(X, y).status_ in ("max-iter", "cycle")


SEPARABLE = {
    "setosa": lambda: (load_iris().data, load_iris().target == 0),
    "wine": lambda: (StandardScaler().fit_transform(load_wine().data), load_wine().target == 1),
    "cancer": lambda: (StandardScaler().fit_transform(load_breast_cancer().data), load_breast_cancer().target),
    "worst case": lambda: sx.worst_case(300),
    "tight": lambda: planted(120, 20, 0.01, 0),
    "tighter": lambda: planted(200, 20, 0.001, 1),
}


@logistic
@pytest.mark.parametrize("data", SEPARABLE)
@pytest.mark.parametrize("step_size", [0.01, 1.0, 10.0, 1000.0, 1e6])
def test_a_run_that_separates_separates_with_tol_as_well(kind, data, step_size):
    X, y = SEPARABLE[data]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = kind(step_size, max_iter=3000, record=None).fit(X, y)
        tol = kind(step_size, max_iter=3000, record=None, tol=1e-3).fit(X, y)
    if plain.separated_:
        assert tol.separated_ and tol.n_iter_ == plain.n_iter_
        np.testing.assert_array_equal(tol.coef_, plain.coef_)


def test_a_cycle_is_as_settled_as_it_gets():
    X, y = [[1.0], [1.0], [1.0]], [1, 1, 0]
    with pytest.warns(ConvergenceWarning, match="an iterate came back"):
        sx.LogisticGD(1e6, fit_intercept=False).fit(X, y)
    clf = sx.LogisticGD(1e6, fit_intercept=False, tol=1e-3).fit(X, y)
    assert clf.n_iter_ < 100 and clf.status_ == "cycle" and not clf.separated_
    assert "an iterate came back" in clf.status_.message


def test_settled_rows_that_a_proof_separates_are_warned_about():
    X, y = SEPARABLE["cancer"]()
    clf = sx.LogisticGD(100.0, tol=1e-2, certify=True)
    with pytest.warns(ConvergenceWarning, match="when descent had settled; the rows are separable .proven, see proof_"):
        clf.fit(X, y)
    assert clf.status_ == "settled" and sx.verify(clf.proof_, X, np.where(y == 1, 1, -1))


def test_settled_rows_that_a_proof_calls_inseparable_are_not(overlapping):
    X, y = overlapping
    clf = sx.LogisticGD(100.0, tol=1e-3, certify=True).fit(X, y)
    assert clf.status_ == "inseparable" and "when descent had settled; no hyperplane" in clf.status_.message


def test_of_several_problems_those_that_settled_are_named(three):
    X, y = three
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = sx.LogisticGD(100.0, tol=1e-3).fit(X, names)
    assert clf.status_ == "settled" and not clf.separated_
    assert clf.status_.message.startswith("2 of 3 one-vs-rest problems settled: class versicolor (")
    short = sx.LogisticGD(100.0, tol=1e-3, max_iter=300)
    with pytest.warns(ConvergenceWarning, match="2 of 3 one-vs-rest problems fell short"):
        assert short.fit(X, names).status_ == "max-iter"


@logistic
def test_an_infinite_step_has_no_loss_that_could_settle(kind, overlapping):
    with pytest.warns(ConvergenceWarning, match="after 300 iterations") as caught:
        clf = kind(step_size=np.inf, tol=1e-3, max_iter=300).fit(*overlapping)
    assert clf.status_ == "max-iter" and "tol" not in str(caught[0].message)


@logistic
def test_a_grid_has_finite_and_infinite_steps_beside_one_tol(kind, overlapping):
    grid = GridSearchCV(kind(tol=1e-3, max_iter=300), {"step_size": [1.0, np.inf]}, cv=2, error_score="raise")
    with pytest.warns(ConvergenceWarning):
        scores = grid.fit(*overlapping).cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()


@logistic
def test_the_warning_names_tol_where_it_would_end_the_walk(kind, overlapping):
    with pytest.warns(ConvergenceWarning, match="where rows overlap, tol=1e-3 ends the walk"):
        kind(max_iter=50).fit(*overlapping)


@pytest.mark.parametrize("tol", [0, 0.0, 1.0, -1e-3, "1e-3", True, np.nan])
def test_tol_is_a_number_between_0_and_1(tol, overlapping):
    with pytest.raises(ValueError, match="LogisticGD: tol must be a number between 0 and 1, such as 1e-3, or None"):
        sx.LogisticGD(tol=tol).fit(*overlapping)
