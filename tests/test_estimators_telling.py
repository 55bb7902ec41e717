"""What a user of the classifiers is told: by which name, at which line, how often, how many rows, how far."""

from __future__ import annotations

import inspect
import io
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import separatrix as sx
from separatrix.estimators import base, telling
from separatrix.estimators import max_margin as home
from separatrix.reporting import progress

BATCH = [sx.LogisticGD, sx.NormalizedLogisticGD, sx.TemperedLogisticGD]
BATCH += [sx.BatchPerceptron, sx.NormalizedBatchPerceptron, sx.TemperedBatchPerceptron]
ALL = [*BATCH, sx.Perceptron, sx.MaxMarginClassifier]
every = pytest.mark.parametrize("kind", ALL)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def overlapping(iris):
    X, y = iris
    return X[y > 0], y[y > 0]


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    """A memory of the test's own of whose fits have warned."""
    monkeypatch.setattr(telling, "_told", set())


def short(kind, **options):
    return kind(**options) if kind is sx.MaxMarginClassifier else kind(max_iter=20, **options)


# Where, and how often, a fit warns.


def line():
    """The number of the line that calls this."""
    return sys._getframe(1).f_lineno


@every
def test_a_fit_warns_at_the_users_line(kind, overlapping):
    clf, at = short(kind), line() + 2
    with pytest.warns(ConvergenceWarning) as caught:
        clf.fit(*overlapping)
    assert (caught[0].filename, caught[0].lineno) == (__file__, at)


def test_in_a_pipeline_and_a_search_it_is_the_users_line_as_well(overlapping):
    model = make_pipeline(sx.BatchPerceptron(max_iter=20))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lines = [line() + 1, line() + 2, line() + 3]
        model.fit(*overlapping)
        cross_val_score(model, *overlapping, cv=2)
        GridSearchCV(model, {"batchperceptron__max_iter": [3, 4]}, cv=2).fit(*overlapping)
    assert {warned.filename for warned in caught} == {__file__}
    assert {warned.lineno for warned in caught} == set(lines)


@pytest.mark.parametrize("action", ["default", "module", "once"])
def test_of_many_fits_of_a_line_one_warns(action, overlapping):
    search = GridSearchCV(sx.LogisticGD(max_iter=20), {"step_size": [0.1, 1.0, 10.0]}, cv=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        search.fit(*overlapping)
    (warned,) = caught
    assert re.match(r"LogisticGD: \d+ of \d+ rows are still on the wrong side", str(warned.message))
    assert str(warned.message).endswith("(the first of several fits to fall short: the others warn no more).")


def test_whoever_wants_every_warning_gets_every_warning(overlapping):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cross_val_score(sx.LogisticGD(max_iter=20), *overlapping, cv=4)
    assert len(caught) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(ConvergenceWarning):
                cross_val_score(sx.LogisticGD(max_iter=20), *overlapping, cv=2, error_score="raise")


def test_single_fits_warn_each_with_their_own_numbers(overlapping):
    X, y = overlapping
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for n in (100, 90, 80):
            sx.BatchPerceptron(max_iter=20).fit(X[:n], y[:n])
    assert [re.search(r"of (\d+) rows", str(warned.message))[1] for warned in caught] == ["100", "90", "80"]


def test_fits_in_threads_warn_at_the_line_that_waits_for_them(overlapping):
    from joblib import parallel_backend

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with parallel_backend("threading"):
            at = line() + 1
            cross_val_score(sx.LogisticGD(max_iter=20), *overlapping, cv=4, n_jobs=2)
    assert {(warned.filename, warned.lineno) for warned in caught} == {(__file__, at)}


def test_a_user_of_a_grid_search_in_processes_reads_a_line_per_process_and_one_of_their_own(tmp_path):
    script = tmp_path / "search.py"
    script.write_text(
        "from sklearn.datasets import load_iris\n"
        "from sklearn.model_selection import GridSearchCV\n"
        "import separatrix as sx\n"
        "X, y = load_iris(return_X_y=True)\n"
        "grid = {'step_size': [0.01, 0.1, 1.0, 10.0]}\n"
        "GridSearchCV(sx.LogisticGD(max_iter=20), grid, cv=5, n_jobs=2).fit(X[50:], y[50:])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    told = [text for text in done.stderr.splitlines() if "ConvergenceWarning" in text]
    assert 2 <= len(told) <= 3 < 21  # fits, the last of them in this process
    assert told[-1].startswith(f"{script}:6: ConvergenceWarning: LogisticGD: ")


# How many.


@every
def test_one_row_is_one_row(kind):
    X = np.r_[-4.0:-1.0:10j, 1.0:4.0:10j, 2.5][:, None]
    y = np.r_[np.zeros(10), np.ones(10), 0.0]  # the last of them wrongly, and no hyperplane mends it
    with pytest.warns(ConvergenceWarning, match=r"1 of 21 rows (is still )?on the wrong side"):
        short(kind).fit(X, y)
    longer = {} if kind is sx.MaxMarginClassifier else {"max_iter": 1000}
    with pytest.warns(ConvergenceWarning, match=r"\(1 row wrong"):
        kind(**longer).fit(np.vstack([X, [[-100.0], [-101.0]]]), np.append(y, [2.0, 2.0]))


def test_one_iteration_and_one_sweep_are_one(overlapping):
    with pytest.warns(ConvergenceWarning, match="after 1 iteration;"):
        sx.BatchPerceptron(max_iter=1).fit(*overlapping)
    with pytest.warns(ConvergenceWarning, match="after 1 sweep;"):
        sx.Perceptron(max_iter=1).fit(*overlapping)
    assert "after 1 iteration (" in str(sx.solve(*overlapping, max_iter=1))


# By which name.

BAD = [{"max_iter": -1}, {"engine": "steam"}, {"n_jobs": "2"}, {"rtol": 2.0}, {"step_size": 0.0}, {"time_limit": 0}]


@pytest.mark.parametrize(
    ("kind", "options"), [(kind, bad) for kind in ALL for bad in BAD if set(bad) <= set(kind().get_params())]
)
def test_errors_of_a_fit_begin_with_the_class(kind, options, overlapping):
    with pytest.raises(ValueError, match=rf"^{kind.__name__}: ({next(iter(options))} must|unknown)"):
        kind(**options).fit(*overlapping)


@every
def test_errors_that_have_the_name_do_not_get_it_twice(kind, overlapping):
    X, _ = overlapping
    with pytest.raises(ValueError, match=rf"^{kind.__name__} needs two classes or more, y has one class: tulip\.$"):
        kind().fit(X, ["tulip"] * 100)
    with pytest.raises(ValueError, match="^Input X contains NaN"):
        kind().fit(X * np.nan, np.arange(100) % 2)


@every
def test_labels_of_several_types_are_one_sentence(kind, overlapping):
    X, _ = overlapping
    said = rf"^{kind.__name__}: y mixes labels of the types NoneType, int, str: make them all text, or all numbers\.$"
    with pytest.raises(ValueError, match=said):
        kind().fit(X[:99], np.array(["a", 1, None] * 33, dtype=object))


def test_a_subclass_is_called_by_its_own_name(overlapping):
    class Mine(sx.LogisticGD):
        def __init__(self, flavour="plain", *, max_iter=5):
            self.flavour = flavour
            super().__init__(max_iter=max_iter)

    with pytest.raises(TypeError, match=r"^Mine\(\) got an .* 'flavor' \(did you mean 'flavou"):
        Mine(flavor="sweet")
    with pytest.raises(ValueError, match="^Mine: max_iter must"):
        Mine(max_iter=-1).fit(*overlapping)
    assert clone(Mine("sweet")).flavour == "sweet"


# What was probably meant.

STEP = ["gamma", "stepsize", "C", "lr", "learning_rate", "eta0"]
MEANT = [(name, "step_size") for name in STEP] + [(name, "max_iter") for name in ("n_iter", "max_iters", "maxiter")]


@pytest.mark.parametrize(("name", "meant"), MEANT)
@pytest.mark.parametrize("kind", BATCH[:3])
def test_a_keyword_of_other_libraries_gets_the_name_it_has_here(kind, name, meant):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\(\) got .* '{name}'.*did you mean '{meant}'\?\)\.$"):
        kind(**{name: 1})
    with pytest.raises(TypeError, match=rf"^solve\(\) got .* '{name}'.*did you mean '{meant}'\?\)\.$"):
        sx.solve([[1.0], [-1.0]], [1, 0], **{name: 1})


@every
def test_what_a_class_has_not_is_not_suggested(kind):
    names = list(kind().get_params())
    for name in [*STEP, "n_iter", "tolerance", "penalty", "frobnicate"]:
        with pytest.raises(TypeError, match=rf"^{kind.__name__}\(\) got an unexpected keyword argument") as error:
            kind(**{name: 1})
        suggested = re.search(r"did you mean '(\w+)'", str(error.value))
        assert suggested is None or suggested[1] in names
        assert suggested is not None or all(known in str(error.value) for known in names)


@every
def test_signatures_stay_what_they_are(kind):
    given = inspect.signature(kind)
    assert [*given.parameters] == [*inspect.signature(kind.__init__).parameters][1:]
    assert {name: p.default for name, p in given.parameters.items()} == kind().get_params()
    assert all(p.kind is not p.VAR_KEYWORD for p in given.parameters.values())
    assert "verbose" in inspect.signature(sx.solve).parameters


def test_too_many_arguments_without_a_name_are_counted():
    with pytest.raises(TypeError, match=r"LogisticGD\(\) takes at most 1 argument without a name \(step_size\), got 2"):
        sx.LogisticGD(1.0, 500)
    with pytest.raises(TypeError, match=r"^Perceptron\(\) takes no argument without its name, got 1"):
        sx.Perceptron(500)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'X'"):
        sx.solve()


# How long.


def test_the_time_limit_is_that_of_the_whole_fit(iris, clock, monkeypatch):
    X, y = iris
    given, real = [], home.max_margin

    def slow(*data, time_limit, **options):
        given.append(time_limit)
        clock.now += 2.0
        return real(*data, time_limit=None, **options)

    monkeypatch.setattr(home, "max_margin", slow)
    with pytest.warns(ConvergenceWarning):
        sx.MaxMarginClassifier(time_limit=9.0).fit(X, y)
    assert given == pytest.approx([9 / 3, 7 / 2, 5 / 1])


def test_where_no_time_is_left_brackets_and_verdicts_stay_open(iris, clock):
    X, y = iris
    clock.per_reading = 1.0
    clf = sx.MaxMarginClassifier(time_limit=0.5, certify=True)
    with pytest.warns(ConvergenceWarning, match="3 of 3 one-vs-rest problems fell short"):
        clf.fit(X, y)
    assert all(margin.upper > 0 for margin in clf.margin_)


# How far.


@pytest.fixture
def at_once(monkeypatch):
    """Signs of life without patience, in a file of their own."""
    said = io.StringIO()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=said, stdout=None, modules={}))
    return said


@every
def test_verbose_fits_change_no_bit_and_quiet_ones_start_no_thread(kind, iris, at_once):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        loud, quiet = short(kind, verbose=1).fit(*iris), short(kind).fit(*iris)
    np.testing.assert_array_equal(loud.coef_, quiet.coef_)
    for text in at_once.getvalue().splitlines():
        assert text.startswith(f"separatrix: {kind.__name__}: ")


def test_a_fit_tells_its_classes_and_what_is_left_of_the_budget(iris, monkeypatch):
    told = []
    tell = lambda self, text, part=None: self.quiet or told.append((text, part))  # noqa: E731
    monkeypatch.setattr(progress.Progress, "tell", tell)
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.warns(ConvergenceWarning):
        sx.LogisticGD(max_iter=50, verbose=True).fit(X, names)
    text, part = told[-1]
    assert re.fullmatch(r"LogisticGD: 3 of 3 classes done, class virginica: iteration 50 of 50, \d+ rows wrong", text)
    assert part == 1.0
    told.clear()
    with pytest.warns(ConvergenceWarning):
        sx.Perceptron(max_iter=7, verbose=True, certify=True).fit(X, names)
    assert re.fullmatch(r"Perceptron: \d of 3 classes done, class \w+: sweep \d of 7(, \d+ rows? wrong)?", told[0][0])
    assert told[-1] == ("Perceptron: deciding whether the rows can be separated", None)
    told.clear()
    sx.MaxMarginClassifier(verbose=True).fit(X, y == 0)
    assert re.fullmatch(r"MaxMarginClassifier: \d+ steps?, margin in \[\S+, \S+\]", told[-1][0])


# The picture in a notebook.


def test_the_picture_links_to_our_page_once_the_package_names_a_site(monkeypatch):
    monkeypatch.setattr(base, "site_of_docs", lambda: "https://docs.example.org/separatrix")
    page = "https://docs.example.org/separatrix/reference/generated/separatrix.LogisticGD.html"
    assert sx.LogisticGD()._get_doc_link() == page
    assert f'href="{page}"' in sx.LogisticGD()._repr_html_()


def test_without_a_site_the_picture_links_nowhere(monkeypatch):
    monkeypatch.setattr(base, "site_of_docs", lambda: "")
    assert "href=" not in sx.LogisticGD()._repr_html_()


@pytest.mark.parametrize(
    ("urls", "site"),
    [
        (None, ""),
        (["Source, https://code.example.org"], ""),
        (
            ["Source, https://code.example.org", "Documentation, https://docs.example.org/Sx/"],
            "https://docs.example.org/Sx",
        ),
    ],
)
def test_the_site_is_the_one_in_the_packages_metadata(urls, site, monkeypatch):
    monkeypatch.setattr(base, "metadata", lambda name: SimpleNamespace(get_all=lambda key: urls))
    base.site_of_docs.cache_clear()
    try:
        assert base.site_of_docs() == site
    finally:
        base.site_of_docs.cache_clear()
