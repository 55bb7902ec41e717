"""The classifiers keep scikit-learn's contract, and ours: stop at separation, say how it ended."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from separatrix.estimators.base import FitStatus
from separatrix.walking.one_vs_rest import solve_each

LOGISTIC = [sx.LogisticGD, sx.NormalizedLogisticGD, sx.TemperedLogisticGD]
LIMITS = [sx.BatchPerceptron, sx.NormalizedBatchPerceptron, sx.TemperedBatchPerceptron]
BATCH = [*LOGISTIC, *LIMITS]
WALKING = [*BATCH, sx.Perceptron]
ALL = [*WALKING, sx.MaxMarginClassifier]

batch = pytest.mark.parametrize("kind", BATCH)
logistic = pytest.mark.parametrize("kind", LOGISTIC)
walking = pytest.mark.parametrize("kind", WALKING)
every = pytest.mark.parametrize("kind", ALL)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def separable(iris):
    """Setosa against the others: a wide margin."""
    X, y = iris
    return X, np.where(y == 0, "setosa", "other")


@pytest.fixture(scope="module")
def overlapping(iris):
    """Versicolor against virginica: no hyperplane separates them."""
    X, y = iris
    return X[y > 0], y[y > 0]


def fit_short(estimator, *data, **options):
    """Fit where max_iter is known to run out."""
    with pytest.warns(ConvergenceWarning):
        return estimator.fit(*data, **options)


def fit_quietly(estimator, *data):
    """Fit where max_iter may run out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data)


# scikit-learn's own checks fit noise, where max_iter runs out: that warning is ours to give and theirs to ignore.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([kind() for kind in ALL])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@every
def test_separable_rows_are_separated_without_a_warning(kind, separable):
    X, y = separable
    clf = kind().fit(X, y)
    assert clf.separated_ is True
    assert clf.score(X, y) == 1.0
    assert clf.coef_.shape == (1, 4) and clf.intercept_.shape == (1,)
    assert list(clf.classes_) == ["other", "setosa"]
    assert (clf.decision_function(X) > 0).tolist() == (y == "setosa").tolist()


@walking
def test_a_fit_stops_when_the_rows_are_separated_and_not_before(kind, separable):
    X, y = separable
    clf = kind().fit(X, y)
    assert clf.status_ == "separated"
    assert clf.n_iter_ < clf.max_iter
    if kind is sx.Perceptron:  # its last sweep only sees that every row is right
        run = sx.solve(X, y, "perceptron", max_iter=clf.n_updates_ - 1, fit_intercept=True, intercept_scaling="auto")
        assert not run.separated
    else:
        shorter = fit_short(clone(clf).set_params(max_iter=clf.n_iter_ - 1), X, y)
        assert shorter.status_ == "max-iter" and not shorter.separated_


@logistic
def test_the_logistic_two_say_that_the_loss_has_no_minimum(kind, separable):
    clf = kind().fit(*separable)
    assert clf.status_.message == "separable: the loss has no finite minimum, more iterations only lengthen θ"
    at_infinity = kind(step_size=np.inf).fit(*separable)
    assert at_infinity.status_.message == sx.Status.SEPARATED.message


@walking
def test_the_warning_counts_the_wrong_rows(kind, overlapping):
    X, y = overlapping
    clf = kind(max_iter=50)
    with pytest.warns(ConvergenceWarning) as caught:
        clf.fit(X, y)
    assert len(caught) == 1
    wrong = int((clf.predict(X) != y).sum())
    assert wrong > 0
    assert f"{wrong} of 100 rows are still on the wrong side" in str(caught[0].message)
    assert "certify=True" in str(caught[0].message)
    assert clf.status_.message in str(caught[0].message)
    assert not clf.separated_ and clf.margin_ < 0


@every
def test_certify_proves_that_no_hyperplane_exists(kind, overlapping):
    X, y = overlapping
    clf = kind(certify=True)
    if kind is not sx.MaxMarginClassifier:
        clf.set_params(max_iter=30)
    with pytest.warns(ConvergenceWarning, match="no hyperplane puts every row on its right side"):
        clf.fit(X, y)
    assert clf.status_ == "inseparable"
    assert sx.verify(clf.proof_, X, np.where(y == 2, 1, -1))


def test_certify_proves_that_more_iterations_would_do():
    X, y = load_breast_cancer(return_X_y=True)
    clf = sx.BatchPerceptron(max_iter=10, certify=True)
    with pytest.warns(ConvergenceWarning, match=re.escape("separable (proven, see proof_): raise max_iter")):
        clf.fit(X, y)
    assert clf.status_ == "max-iter"
    assert sx.verify(clf.proof_, X, np.where(y == 1, 1, -1))


@walking
def test_the_fit_is_that_of_solve(kind, separable):
    X, y = separable
    clf = kind(intercept_scaling=1.0)
    if kind is sx.Perceptron:
        clf.set_params(order="cyclic")
    run = sx.solve(X, y, "perceptron" if kind is sx.Perceptron else clf._method, fit_intercept=True)
    clf.fit(X, y)
    np.testing.assert_array_equal(clf.coef_[0], run.theta[:-1])
    assert clf.intercept_[0] == run.theta[-1]
    assert clf.engine_ == run.engine
    assert clf.trace_["errors"][-1] == 0


@walking
def test_margin_is_the_distance_of_the_nearest_row(kind, iris, separable):
    X, y = separable
    clf = kind().fit(X, y)
    distance = clf.decision_function(X) * np.where(y == "setosa", 1, -1) / np.linalg.norm(clf.coef_)
    assert clf.margin_ == pytest.approx(distance.min())
    widest = sx.MaxMarginClassifier().fit(X, y).margin_
    assert 0 < clf.margin_ <= widest.upper
    X, y = iris
    many = fit_short(kind(max_iter=100), X, y)
    for k, low in enumerate(many.margin_):
        sign = np.where(y == k, 1, -1)
        assert low == pytest.approx((many.decision_function(X)[:, k] * sign).min() / np.linalg.norm(many.coef_[k]))


def test_an_infinite_step_makes_logistic_descent_the_batch_perceptron(separable):
    for ours, limit in zip(LOGISTIC, LIMITS, strict=True):
        a, b = ours(step_size=np.inf).fit(*separable), limit().fit(*separable)
        np.testing.assert_array_equal(a.coef_, b.coef_)
        assert a.n_iter_ == b.n_iter_


@logistic
def test_probabilities_are_those_of_the_logistic_model(kind, iris, overlapping):
    X, y = overlapping
    clf = fit_short(kind(step_size=0.1, max_iter=200), X, y)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-clf.decision_function(X))))
    np.testing.assert_allclose(np.log(p), clf.predict_log_proba(X))
    X, y = iris
    p = fit_short(kind(max_iter=200), X, y).predict_proba(X)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@logistic
def test_probabilities_survive_scores_beyond_exp(kind):
    X, y = make_blobs(60, centers=3, random_state=0)
    clf = fit_quietly(kind(step_size=1e9, max_iter=50), X, y)
    p = clf.predict_proba(1e6 * X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@logistic
def test_there_are_no_probabilities_at_an_infinite_step(kind, separable):
    clf = kind(step_size=np.inf).fit(*separable)
    assert not hasattr(clf, "predict_proba") and not hasattr(clf, "predict_log_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        clf.predict_proba(separable[0])
    assert hasattr(kind(), "predict_proba")


@batch
def test_whole_weights_equal_repeated_rows(kind, overlapping):
    X, y = overlapping
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    a = fit_short(kind(max_iter=40), X, y, sample_weight=weight)
    b = fit_short(kind(max_iter=40), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9)
    assert a.status_.message.split("rows")[1] == b.status_.message.split("rows")[1]


@batch
def test_rows_of_weight_zero_may_stay_wrong(kind, overlapping):
    X, y = overlapping
    right = sx.MaxMarginClassifier()
    fit_short(right, X, y)
    weight = (right.predict(X) == y).astype(float)
    clf = kind(max_iter=1_000_000).fit(X, y, sample_weight=weight)
    assert clf.separated_
    assert clf.score(X, y, weight) == 1.0 and clf.score(X, y) < 1.0
    kept = (clf.decision_function(X) * np.where(y == 2, 1, -1) / np.linalg.norm(clf.coef_))[weight > 0]
    assert clf.margin_ == pytest.approx(kept.min())


@batch
@pytest.mark.parametrize("with_weights", [False, True])
def test_balanced_class_weights_are_the_weights_they_stand_for(kind, with_weights, iris):
    X, y = iris[0][20:], iris[1][20:]
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float) if with_weights else np.ones(len(y))
    total = np.array([weight[y == k].sum() for k in range(3)])
    each = weight * (weight.sum() / (3 * total))[y]
    if not with_weights:
        np.testing.assert_allclose(each, compute_sample_weight("balanced", y))
    a = fit_short(kind(class_weight="balanced", max_iter=30), X, y, sample_weight=weight)
    b = fit_short(kind(max_iter=30), X, y, sample_weight=each)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    c = fit_short(kind(class_weight={0: 2.0, 1: 3.0}, max_iter=30), X, y)
    d = fit_short(kind(max_iter=30), X, y, sample_weight=np.array([2.0, 3.0, 1.0])[y])
    np.testing.assert_array_equal(c.coef_, d.coef_)


@every
def test_dense_equals_sparse(kind):
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 3], y[y < 3]
    a, b = kind().fit(X, y), kind().fit(sparse.csr_array(X), y)
    c = kind().fit(sparse.csc_matrix(X), y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(b.coef_, c.coef_)
    np.testing.assert_array_equal(a.predict(X), b.predict(sparse.csr_array(X)))


@every
def test_one_vs_rest_equals_the_wrapper(kind):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours, theirs = kind().fit(X, y), OneVsRestClassifier(kind()).fit(X, y)
    for k, one in enumerate(theirs.estimators_):
        np.testing.assert_array_equal(ours.coef_[k], one.coef_[0])
        assert ours.intercept_[k] == one.intercept_[0]
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.separated_ and ours.coef_.shape == (3, 13)


@every
def test_jobs_change_nothing(kind):
    X, y = load_digits(return_X_y=True)
    options = {} if kind is sx.MaxMarginClassifier else {"max_iter": 20}
    alone, pair = (fit_quietly(kind(n_jobs=jobs, **options), X, y) for jobs in (None, 2))
    np.testing.assert_array_equal(alone.coef_, pair.coef_)
    assert alone.status_ == pair.status_


@walking
def test_warm_start_goes_on_where_the_last_fit_ended(kind, overlapping):
    X, y = overlapping
    options = {"order": "cyclic"} if kind is sx.Perceptron else {}
    whole = fit_short(kind(max_iter=30, **options), X, y)
    parts = kind(max_iter=10, warm_start=True, **options)
    for _ in range(3):
        fit_short(parts, X, y)
    np.testing.assert_allclose(parts.runs_[0].theta, whole.runs_[0].theta, rtol=1e-9)
    cold = fit_short(kind(max_iter=10, **options), X, y)
    assert not np.allclose(parts.runs_[0].theta, cold.runs_[0].theta)


@walking
def test_warm_start_at_a_separator_has_nothing_to_do(kind, separable):
    clf = kind(warm_start=True).fit(*separable)
    before = clf.coef_.copy()
    clf.fit(*separable)
    np.testing.assert_array_equal(clf.coef_, before)
    assert clf.n_iter_ == (1 if kind is sx.Perceptron else 0)


@walking
def test_warm_start_from_other_classes_is_refused(kind, iris):
    X, y = iris
    clf = kind(warm_start=True).fit(X, y == 0)
    with pytest.raises(ValueError, match="the last fit left 1 θ of 5 entries, this one needs 3 of 5"):
        clf.fit(X, y)


def test_descent_that_settles_ends_at_the_maximum_likelihood(overlapping):
    from sklearn.linear_model import LogisticRegression

    X, y = overlapping
    X = StandardScaler().fit_transform(X)
    clf = fit_short(sx.LogisticGD(step_size=2.0, max_iter=50_000), X, y)
    reference = LogisticRegression(C=1e10, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(clf.coef_, reference.coef_, rtol=1e-3)
    np.testing.assert_array_equal(clf.coef_[0], clf.runs_[0].theta[:-1])


@batch
def test_a_walk_that_does_not_settle_ends_at_its_best_record(kind, overlapping):
    X, y = overlapping
    clf = fit_short(kind(max_iter=1000, **({"step_size": 1e6} if kind in LOGISTIC else {})), X, y)
    assert clf.score(X, y) == pytest.approx(clf.trace_["accuracy"][1:].max())
    assert clf.score(X, y) > clf.trace_["accuracy"][-1] or (clf.coef_[0] == clf.runs_[0].theta[:-1]).all()


def test_the_perceptron_counts_sweeps_and_updates(overlapping, separable):
    X, y = overlapping
    clf = fit_short(sx.Perceptron(max_iter=7), X, y)
    assert clf.n_iter_ == 7 and clf.n_updates_ == clf.runs_[0].n_iter
    clf = sx.Perceptron(order="cyclic", intercept_scaling=1.0).fit(*separable)
    run = sx.solve(*separable, "perceptron", fit_intercept=True)
    assert clf.n_updates_ == run.n_iter and clf.n_iter_ == run.stats["epochs"]
    clf = fit_short(sx.Perceptron(max_iter=7, order="most-wrong"), X, y)
    assert clf.n_iter_ == clf.n_updates_ == 7


def test_the_perceptron_that_runs_out_is_averaged_over_the_rows_it_visited(overlapping):
    X, y = overlapping
    clf = fit_short(sx.Perceptron(max_iter=3, order="cyclic", intercept_scaling=1.0), X, y)
    Z = np.where(y == 2, 1, -1)[:, None] * np.column_stack([X, np.ones(len(X))])
    phi, total = np.zeros(5), np.zeros(5)
    for _ in range(3):
        for z in Z:
            if z @ phi <= 0:
                phi = phi + z
            total += phi
    np.testing.assert_allclose(np.append(clf.coef_, clf.intercept_), total / 300, rtol=1e-12)
    np.testing.assert_allclose(clf.runs_[0].theta, phi, rtol=1e-12)
    for engine in ("dense", "lazy", "gram"):
        other = fit_short(clone(clf).set_params(engine=engine), X, y)
        np.testing.assert_allclose(other.coef_, clf.coef_, rtol=1e-12)


def test_perceptrons_that_sweep_together_take_the_steps_they_take_alone():
    X, y = load_digits(return_X_y=True)
    labels = [np.where(y == k, 1.0, -1.0) for k in range(10)]
    for order in ("cyclic", "random"):
        for engine in ("lazy", "dense"):
            options = {"order": order, "engine": engine, "max_epochs": 15, "fit_intercept": True, "random_state": 3}
            together = solve_each(X, labels, "perceptron", average=True, **options)
            alone = [sx.solve(X, label, "perceptron", record="epoch", **options) for label in labels]
            for a, b in zip(together, alone, strict=True):
                np.testing.assert_array_equal(a.theta, b.theta)
                assert (a.n_iter, a.status, a.stats["epochs"]) == (b.n_iter, b.status, b.stats["epochs"])
    assert {run.separated for run in together} == {True, False}


def test_partial_fit_in_order_is_one_sweep():
    X, y = load_digits(return_X_y=True)
    whole = sx.Perceptron(max_iter=1, order="cyclic", intercept_scaling=2.0)
    fit_short(whole, X, y)
    parts = sx.Perceptron(order="cyclic", intercept_scaling=2.0)
    for lo in range(0, len(y), 100):
        parts.partial_fit(X[lo : lo + 100], y[lo : lo + 100], classes=np.arange(10) if lo == 0 else None)
    for a, b in zip(whole.runs_, parts.runs_, strict=True):
        np.testing.assert_array_equal(a.theta, b.theta)
    np.testing.assert_array_equal(parts.coef_, [run.theta[:-1] for run in parts.runs_])
    assert parts.n_updates_ == whole.n_updates_ and parts.n_iter_ == 18


def test_partial_fit_takes_batches_of_a_single_class(separable):
    X, y = separable
    clf = sx.Perceptron().partial_fit(X[:50], y[:50], classes=["other", "setosa"])
    for _ in range(20):
        clf.partial_fit(X[50:], y[50:]).partial_fit(X[:50], y[:50])
    assert clf.score(X, y) == 1.0
    assert clf.separated_ and "left 0 of its 50 rows wrong" in clf.status_.message


def test_partial_fit_refuses_what_it_was_not_told_about(separable):
    X, y = separable
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        sx.Perceptron().partial_fit(X, y)
    clf = sx.Perceptron().partial_fit(X, y, classes=["other", "setosa"])
    with pytest.raises(ValueError, match=r"label .*tulip.*, which is none of the classes"):
        clf.partial_fit(X[:1], ["tulip"])
    with pytest.raises(ValueError, match="label 3, which is none of the classes"):
        clf.partial_fit(X[:2], [3, 4])
    with pytest.raises(ValueError, match="needs two classes or more, classes has 1"):
        sx.Perceptron().partial_fit(X, y, classes=["other"])
    with pytest.raises(ValueError, match="are not those of the first call"):
        clf.partial_fit(X, y, classes=["other", "tulip"])


def test_the_widest_margin_is_a_bracket(separable):
    X, y = separable
    clf = sx.MaxMarginClassifier().fit(X, y)
    reference = sx.max_margin(X, y, fit_intercept=True)
    assert (clf.margin_.lower, clf.margin_.upper) == (reference.lower, reference.upper)
    assert np.linalg.norm(clf.coef_) == pytest.approx(1.0)
    assert abs(clf.decision_function(X)).min() == pytest.approx(clf.margin_.lower)
    assert clf.status_ == "converged" and clf.n_iter_ > 0


def test_the_widest_margin_of_overlapping_rows_is_zero(overlapping):
    X, y = overlapping
    clf = sx.MaxMarginClassifier()
    with pytest.warns(ConvergenceWarning, match=r"leaves (\d) of 100 rows on the wrong side") as caught:
        clf.fit(X, y)
    assert len(caught) == 1
    assert clf.margin_.lower == 0 and not clf.separated_
    assert clf.score(X, y) >= 0.95


def test_the_message_names_the_classes_that_are_not_separable(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = sx.MaxMarginClassifier(certify=True)
    with pytest.warns(ConvergenceWarning, match="2 of 3 one-vs-rest problems fell short") as caught:
        clf.fit(X, names)
    listed = r"class versicolor \(\d+ rows wrong, proven inseparable\), class virginica \(\d rows wrong, proven insep"
    assert re.search(listed, str(caught[0].message))
    assert "class setosa" not in str(caught[0].message)
    assert clf.status_ == "inseparable"
    assert [margin.lower > 0 for margin in clf.margin_] == [True, False, False]
    assert clf.proof_[0] is None and sx.verify(clf.proof_[1], X, np.where(y == 1, 1, -1))


@every
def test_pickles_and_clones_keep_everything(kind, iris):
    X, y = iris
    clf = fit_quietly(kind(), X, y)
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.decision_function(X), clf.decision_function(X))
    assert copy.status_ == clf.status_ and copy.status_.message == clf.status_.message
    assert clone(clf).get_params() == clf.get_params()
    with pytest.raises(NotFittedError):
        clone(clf).predict(X)


@every
def test_float32_rows_separate_as_well(kind, separable):
    X, y = separable
    clf = kind().fit(X.astype(np.float32), y)
    assert clf.separated_ and clf.score(X.astype(np.float32), y) == 1.0
    assert clf.coef_.dtype == np.float64


BAD = [
    ({"max_iter": -1}, "max_iter must be a whole number, 0 or more, got -1"),
    ({"max_iter": 2.5}, "max_iter must be a whole number"),
    ({"step_size": 0.0}, "step_size must be positive, got 0.0"),
    ({"step_size": "1"}, "step_size must be a number"),
    ({"order": "sorted"}, "unknown order 'sorted'"),
    ({"engine": "steam"}, "unknown engine 'steam'"),
    ({"record": "never"}, "record must be"),
    ({"intercept_scaling": 0.0}, 'intercept_scaling must be positive and finite, or "auto", got 0.0'),
    ({"intercept_scaling": "big"}, "intercept_scaling must be positive"),
    ({"class_weight": "heavy"}, "class_weight"),
    ({"class_weight": {"setosa": 0.0}}, "got them in 1 class"),
    ({"step_size": None}, "step_size must be a number in (0, ∞], got None"),
    ({"fit_intercept": "no"}, "fit_intercept must be True or False, got 'no'"),
    ({"n_jobs": "2"}, "n_jobs must be a whole number or None, got '2'"),
    ({"record": [1]}, "record must be"),
    ({"intercept_scaling": np.ones(2)}, "intercept_scaling must be positive"),
    ({"rtol": 2.0}, "rtol must lie between 0 and 1"),
    ({"time_limit": -1.0}, "time_limit must be positive"),
    ({"random_state": "dice"}, "dice"),
]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [(kind, *bad) for kind in ALL for bad in BAD if set(bad[0]) <= set(kind().get_params())],
)
def test_bad_parameters_get_one_sentence_at_fit(kind, options, message, separable):
    with pytest.raises(ValueError, match=re.escape(message)):
        kind(**options).fit(*separable)


@every
def test_one_class_is_refused(kind, separable):
    X, _ = separable
    with pytest.raises(ValueError, match="needs two classes or more, y has one class: 1"):
        kind().fit(X, np.ones(len(X), dtype=int))


@batch
def test_weights_that_leave_one_class_are_refused(kind, separable):
    X, y = separable
    with pytest.raises(ValueError, match=r"in two classes or more, got them in 1 class"):
        kind().fit(X, y, sample_weight=(y == "setosa").astype(float))


@pytest.mark.parametrize("kind", [sx.Perceptron, sx.MaxMarginClassifier])
def test_those_without_weights_say_so(kind, separable):
    with pytest.raises(TypeError, match="sample_weight"):
        kind().fit(*separable, sample_weight=np.ones(150))
    assert "There are no sample or class weights" in kind.__doc__


@every
def test_every_pair_of_digits_is_separated_or_the_status_says_why(kind):
    X, y = load_digits(return_X_y=True)
    short = []
    for a in range(10):
        for b in range(a):
            rows = (y == a) | (y == b)
            clf = fit_quietly(kind(), X[rows], y[rows])
            if clf.score(X[rows], y[rows]) < 1.0:
                short.append((a, b))
                assert not clf.separated_ and clf.status_ != "separated", (a, b)
                assert "rows" in clf.status_.message
            else:
                assert clf.separated_, (a, b)
    assert short == []


def test_a_status_is_a_word_with_a_sentence():
    status = FitStatus("max-iter", "3 of 9 rows")
    assert status == "max-iter" and f"{status}" == "max-iter"
    assert pickle.loads(pickle.dumps(status)).message == "3 of 9 rows"


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_the_automatic_intercept_goes_with_the_unit_of_the_rows(unit):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X) + 3.0
    run = sx.solve(unit * X, y == 0, "perceptron", fit_intercept=True, intercept_scaling="auto")
    length = np.sqrt((X**2).sum(axis=1).mean())
    assert 0.14 < run.bias / unit / length < 0.29  # a power of two within √2 of a fifth
    assert run.n_iter == sx.solve(X, y == 0, "perceptron", fit_intercept=True, intercept_scaling="auto").n_iter


def nearly_orthogonal(seed):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, 9))
    return np.array([u, v - u * (u @ v) / (u @ u)])


@walking
def test_a_margin_that_is_zero_to_rounding_is_not_called_separated(kind):
    rounded = 0
    for seed in range(60):
        A = nearly_orthogonal(seed)
        options = {"order": "cyclic"} if kind is sx.Perceptron else {}
        clf = fit_quietly(kind(fit_intercept=False, max_iter=20, **options), A, [1, 0])
        assert clf.separated_ == (clf.margin_ > 1e-12), seed
        assert not clf.separated_ or clf.score(A, [1, 0]) == 1.0
        rounded += clf.status_ == "rounded"
    assert rounded > 0 or kind is not sx.Perceptron


@every
@pytest.mark.parametrize("unit", [1e-200, 1e-15, 1e-10, 1e10, 1e16, 1e100, 1e160, 1e250])
def test_the_unit_of_the_rows_does_not_matter(kind, unit, separable):
    X, y = separable
    steps = {"step_size": 1e250 if 1e-120 < unit < 1e200 else np.inf} if kind in LOGISTIC else {}
    clf = kind(**steps).fit(unit * X, y)
    assert clf.separated_ and clf.score(unit * X, y) == 1.0
    if kind is sx.MaxMarginClassifier:
        assert clf.status_ == "converged"
        assert clf.margin_.lower / unit == pytest.approx(0.8176, abs=1e-4)
    else:
        assert 0 < clf.margin_ / unit <= 0.8177


@logistic
@pytest.mark.parametrize("step", [1e300, 1e308])
def test_a_step_beyond_float64_still_predicts(kind, step, separable):
    X, y = separable
    clf = kind(step_size=step).fit(1e5 * X, y)
    assert np.isfinite(clf.coef_).all() and clf.separated_ and clf.score(1e5 * X, y) == 1.0
    assert set(np.unique(clf.predict_proba(1e5 * X))) <= {0.0, 1.0}


@batch
@pytest.mark.parametrize("weight", [1e308, 1e-308])
def test_only_ratios_of_weights_count(kind, weight, separable):
    X, y = separable
    a, b = kind().fit(X, y), kind().fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)


@every
def test_a_fit_that_fails_leaves_the_last_one_whole(kind, iris):
    X, y = iris
    clf = fit_quietly(kind(), X, y)
    before = clf.predict(X)
    clf.set_params(**({"rtol": 7.0} if kind is sx.MaxMarginClassifier else {"engine": "steam"}))
    with pytest.raises(ValueError, match="rtol|engine"):
        clf.fit(X[:100], y[:100])
    np.testing.assert_array_equal(clf.predict(X), before)


def test_a_warm_start_in_random_order_takes_fresh_permutations(overlapping):
    X, y = overlapping
    clf = fit_short(sx.Perceptron(max_iter=1, warm_start=True, random_state=5), X, y)
    options = {"fit_intercept": True, "intercept_scaling": clf.runs_[0].bias, "max_epochs": 1, "order": "random"}
    seed = clf._seed()
    for sweeps in (1, 2, 3):
        last = clf.runs_[0].theta
        fit_short(clf, X, y)
        fresh, stale = (
            sx.solve(X, y, "perceptron", theta0=last, random_state=seed + k, **options) for k in (sweeps, sweeps - 1)
        )
        np.testing.assert_array_equal(clf.runs_[0].theta, fresh.theta)
        assert not np.array_equal(clf.runs_[0].theta, stale.theta)


def test_brackets_that_stay_open_are_told_apart_from_classes_that_are_not_separated():
    X, y = make_blobs(60, centers=3, cluster_std=0.5, random_state=1)
    clf = sx.MaxMarginClassifier(time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"3 of 3 one-vs-rest problems fell short: class 0 \(margin in \["):
        clf.fit(X, y)
    whole = sx.MaxMarginClassifier().fit(X, y)
    assert whole.status_.message == f"all 3 problems: {sx.MarginStatus.CONVERGED.message}"
