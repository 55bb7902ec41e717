"""The classifiers inside scikit-learn's own machinery, on its bundled data, and under its callbacks."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import separatrix as sx

BATCH = [sx.LogisticGD, sx.NormalizedLogisticGD, sx.BatchPerceptron, sx.NormalizedBatchPerceptron]
BATCH += [sx.TemperedLogisticGD, sx.TemperedBatchPerceptron]
ALL = [*BATCH, sx.Perceptron, sx.MaxMarginClassifier]
every = pytest.mark.parametrize("kind", ALL)
NEW = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)
needs_callbacks = pytest.mark.skipif(not NEW, reason="scikit-learn has callbacks from version 1.9 on")

# Some of these fits end short of separation, which the tests here do not ask about.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def short(kind, **options):
    """The classifier with a small budget, where it has one."""
    return kind(**options) if kind is sx.MaxMarginClassifier else kind(max_iter=200, **options)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@every
def test_in_a_pipeline_it_separates_wine(kind, wine):
    X, y = wine
    model = make_pipeline(StandardScaler(), kind()).fit(X, y)
    assert model[-1].separated_
    assert model.score(X, y) == 1.0


@every
def test_cross_validation_on_digits_is_as_good_as_a_linear_model_gets(kind, digits):
    X, y = digits
    assert cross_val_score(short(kind), X, y, cv=3).mean() > 0.88


def test_grid_search_in_two_processes_finds_a_step_size(cancer):
    X, y = cancer
    model = make_pipeline(StandardScaler(), sx.LogisticGD(max_iter=300))
    search = GridSearchCV(model, {"logisticgd__step_size": [0.01, 1.0, 100.0]}, cv=3, n_jobs=2)
    with warnings.catch_warnings():  # warnings cross from the worker processes
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert search.best_score_ > 0.95
    assert search.best_estimator_[-1].trace_["iteration"][-1] == search.best_estimator_[-1].n_iter_


def test_grid_search_tries_engines_and_orders(wine):
    X, y = wine
    grid = {"order": ["random", "cyclic"], "engine": ["dense", "lazy", "gram"]}
    search = GridSearchCV(sx.Perceptron(max_iter=20), grid, cv=2).fit(StandardScaler().fit_transform(X), y)
    scores = search.cv_results_["mean_test_score"].reshape(3, 2)
    np.testing.assert_array_equal(scores[0], scores[1])
    assert scores.min() > 0.9


@every
def test_one_against_one(kind, wine):
    X, y = wine
    X = StandardScaler().fit_transform(X)
    model = OneVsOneClassifier(kind()).fit(X, y)
    assert len(model.estimators_) == 3
    assert all(one.separated_ for one in model.estimators_)
    assert model.score(X, y) == 1.0


@every
def test_calibration_gives_probabilities(kind, cancer):
    X, y = cancer
    A, B, a, b = train_test_split(StandardScaler().fit_transform(X), y, random_state=0)
    model = CalibratedClassifierCV(short(kind), cv=3).fit(A, a)
    p = model.predict_proba(B)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(B, b) > 0.9


@every
def test_a_frozen_estimator_is_not_fitted_again(kind, wine):
    X, y = wine
    fitted = kind().fit(X[:, :2], y == 0) if kind is sx.MaxMarginClassifier else short(kind).fit(X[:, :2], y == 0)
    before = fitted.coef_.copy()
    frozen = FrozenEstimator(fitted).fit(-X[:, :2], y == 1)
    np.testing.assert_array_equal(frozen.predict(X[:, :2]), fitted.predict(X[:, :2]))
    np.testing.assert_array_equal(fitted.coef_, before)
    calibrated = CalibratedClassifierCV(frozen).fit(X[:, :2], y == 0)
    assert calibrated.predict_proba(X[:, :2]).shape == (178, 2)


@every
def test_bags_of_rows_hand_weights_only_to_those_that_take_them(kind, wine):
    X, y = wine
    model = BaggingClassifier(short(kind), n_estimators=3, random_state=0).fit(StandardScaler().fit_transform(X), y)
    assert model.score(StandardScaler().fit_transform(X), y) > 0.95


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@every
def test_names_of_columns_are_kept_and_checked(kind, frame, cancer):
    X, y = cancer
    names = [f"measure {k}" for k in range(30)]
    data = frame(dict(zip(names, X.T, strict=True)))
    clf = short(kind).fit(data, y)
    assert clf.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(clf.predict(data), short(kind).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(data[names[::-1]])


@pytest.mark.parametrize("labels", ["polars", "pandas", "list"])
def test_labels_come_in_many_kinds(labels, wine):
    X, y = wine
    names = [f"cultivar {k}" for k in y]
    given = {"polars": pl.Series(names), "pandas": pd.Series(names), "list": names}[labels]
    clf = sx.Perceptron().fit(StandardScaler().fit_transform(X), given)
    assert clf.classes_.tolist() == ["cultivar 0", "cultivar 1", "cultivar 2"]


@every
def test_a_column_transformer_on_a_polars_frame(kind):
    wine = load_wine()
    frame = pl.DataFrame(dict(zip(wine.feature_names, wine.data.T, strict=True)))
    frame = frame.with_columns(hue=pl.when(pl.col("hue") < 0.8).then(pl.lit("brick")).otherwise(pl.lit("ruby")))
    measured = [name for name in frame.columns if name != "hue"]
    columns = ColumnTransformer([("scale", StandardScaler(), measured), ("levels", OneHotEncoder(), ["hue"])])
    y = pl.Series(wine.target_names[wine.target].tolist())
    model = make_pipeline(columns, kind()).fit(frame, y)
    assert model[-1].separated_ and model.score(frame, y) == 1.0
    assert model[-1].n_features_in_ == 14
    assert model[-1].classes_.tolist() == ["class_0", "class_1", "class_2"]


@pytest.mark.parametrize("kind", BATCH)
def test_weights_are_routed_as_metadata(kind, cancer):
    X, y = cancer
    weight = np.where(y == 0, 5.0, 1.0)
    halves = StratifiedKFold(2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = short(kind).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        routed = cross_validate(model, X, y, cv=halves, params={"sample_weight": weight}, return_estimator=True)
    train, _ = next(halves.split(X, y))
    given = short(kind).fit(X[train], y[train], sample_weight=weight[train])
    np.testing.assert_array_equal(routed["estimator"][0].coef_, given.coef_)
    assert not np.allclose(given.coef_, short(kind).fit(X[train], y[train]).coef_)


def test_partial_fit_by_pipeline_steps_keeps_its_classes(digits):
    X, y = digits
    clf = sx.Perceptron()
    for _ in range(3):
        for lo in range(0, len(y), 300):
            clf.partial_fit(X[lo : lo + 300], y[lo : lo + 300], classes=range(10))
    assert clf.score(X, y) > 0.9


class Recorder:
    """A callback that notes every hook; `stop_at` ends the fit at that many finished tasks."""

    def __init__(self, stop_at=None):
        self.events, self.scores, self.stop_at = [], [], stop_at

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(("end", context.task_name))
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        ended = sum(event == ("end", "step") for event in self.events)
        return self.stop_at is not None and ended >= self.stop_at

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))


@needs_callbacks
@every
def test_callbacks_see_every_task_begin_and_end(kind, cancer):
    X, y = cancer
    seen = Recorder()
    short(kind).set_callbacks(seen).fit(X, y)
    begun = sum(what == "begin" for what, _ in seen.events)
    ended = sum(what == "end" for what, _ in seen.events)
    assert begun == ended > 3
    assert [seen.events[0], seen.events[-1]] == [("setup", "fit"), ("teardown", "fit")]


@needs_callbacks
@pytest.mark.parametrize("kind", ALL[:-1])
def test_callbacks_get_a_model_that_predicts(kind, cancer, wine):
    X, y = cancer
    seen = Recorder()
    clf = short(kind).set_callbacks(seen).fit(X, y)
    errors = clf.trace_["errors"][clf.trace_["iteration"] > 0]
    np.testing.assert_allclose(seen.scores[:-1], 1 - errors / len(y))
    assert seen.scores[-1] == clf.score(X, y)
    X, y = wine
    seen = Recorder()
    short(kind, n_jobs=2).set_callbacks(seen).fit(StandardScaler().fit_transform(X), y)
    assert ("begin", "class 2 against the rest") in seen.events
    assert seen.scores[-1] == 1.0


@needs_callbacks
@pytest.mark.parametrize("kind", ALL[:-1])
def test_callbacks_change_no_bit_of_the_fit(kind, digits):
    X, y = (part[:600] for part in digits)
    a, b = short(kind).set_callbacks(Recorder()).fit(X, y), short(kind).fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert a.n_iter_ == b.n_iter_


@needs_callbacks
@every
def test_a_callback_can_end_the_fit(kind, cancer):
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("error" if kind is not sx.MaxMarginClassifier else "ignore", ConvergenceWarning)
        clf = short(kind).set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert clf.status_ == "stopped"
    assert clf.n_iter_ <= 2


@needs_callbacks
@pytest.mark.parametrize("kind", ALL[:-1])
def test_problems_that_a_callback_ended_are_named(kind, digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf = short(kind).set_callbacks(Recorder(stop_at=3)).fit(X, y)
    assert clf.status_ == "stopped" and not clf.separated_
    assert "rows wrong, stopped)" in clf.status_.message


@needs_callbacks
def test_scikit_learns_own_callbacks_work(cancer, capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    X, y = cancer
    for kind in ALL[:-1]:
        monitor = ScoringMonitor(scoring="accuracy")
        clf = short(kind).set_callbacks(monitor, ProgressBar()).fit(X, y)
        rows = monitor.get_logs().data
        assert max(row["accuracy"] for row in rows) == pytest.approx(
            max(clf.trace_["accuracy"][1:].max(), clf.score(X, y))
        )
    search = GridSearchCV(sx.Perceptron(max_iter=5), {"order": ["random", "cyclic"]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert search.best_score_ > 0.5


@pytest.mark.skipif(NEW, reason="from scikit-learn 1.9 on there are callbacks")
@every
def test_without_callbacks_there_is_no_way_to_set_them(kind):
    assert not hasattr(kind(), "set_callbacks")
