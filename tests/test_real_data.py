"""Known numbers on the real data sets; they are found through SEPARATRIX_DATA."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.datasets import load, load_ten


@pytest.fixture(scope="module")
def fashion(data_dir):
    return load("fashion-mnist", n=5000, data_dir=data_dir)


def sizes(X, y, method, engine):
    run = sx.solve(X, y, method, engine=engine, record="all")
    return run.n_iter, run.trace["errors"]


@pytest.mark.parametrize(
    ("method", "count"),
    [("batch-perceptron", 3301), pytest.param("normalized-batch-perceptron", 3234, marks=pytest.mark.long)],
)
def test_fashion_mnist_counts_and_wrong_set_sizes_are_the_same_with_every_engine_and_row_order(fashion, method, count):
    X, y = fashion
    shuffled = np.random.default_rng(0).permutation(len(y))
    seen = [sizes(X, y, method, e) for e in ("dense", "lazy", "gram")]
    seen += [sizes(X[shuffled], y[shuffled], method, e) for e in ("lazy", "gram")]
    assert {n_iter for n_iter, _ in seen} == {count}
    assert all(np.array_equal(errors, seen[0][1]) for _, errors in seen)


def test_fashion_mnist_lr_gd_at_step_10_takes_2559_iterations(fashion):
    X, y = fashion
    assert [sx.solve(X, y, "lr-gd", step_size=10.0, engine=e).n_iter for e in ("lazy", "gram")] == [2559, 2559]


@pytest.mark.parametrize(("method", "count"), [("lr-gd", 2560), ("normalized-lr-gd", 3562)])
def test_fashion_mnist_at_step_100_takes_the_same_iterations_on_every_machine(fashion, method, count):
    X, y = fashion
    runs = [sx.solve(X, y, method, step_size=100.0, engine=e, record=None) for e in ("dense", "lazy")]
    assert [run.n_iter for run in runs] == [count, count]
    assert np.array_equal(runs[0].phi, runs[1].phi)


def test_fashion_mnist_at_step_100_is_as_chaotic_as_known(fashion):
    X, y = fashion
    rng = np.random.default_rng(0)
    orders = [np.arange(len(y)), *(rng.permutation(len(y)) for _ in range(3))]
    for method, least, most in (("lr-gd", 2300, 3600), ("normalized-lr-gd", 2900, 4200)):
        counts = [sx.solve(X[k], y[k], method, step_size=100.0, record=None).n_iter for k in orders]
        assert least < min(counts) < max(counts) < most, (method, counts)  # the order of a sum moves hundreds of steps


@pytest.mark.parametrize("steps", [100, pytest.param(400, marks=pytest.mark.long)])
def test_cifar_10_walks_alike_on_gram_and_lazy(data_dir, steps):
    X, y = load("cifar-10", n=5000, data_dir=data_dir)
    runs = [sx.solve(X, y, "batch-perceptron", engine=e, max_iter=steps, record=1) for e in ("gram", "lazy")]
    assert np.array_equal(runs[0].trace["errors"], runs[1].trace["errors"])
    assert np.allclose(runs[0].phi, runs[1].phi, rtol=1e-10, atol=1e-12)


# Deciding.


def near(margin, lower, upper):
    return lower - 1e-6 * upper <= margin.lower <= margin.upper <= upper + 1e-6 * upper


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_margin_of_fashion_mnist_is_bracketed(data_dir, dtype):
    X, y = load("fashion-mnist", n=5000, dtype=dtype)
    margin = sx.max_margin(X, y, rtol=1e-6)
    assert margin.status == "converged"
    assert margin.upper - margin.lower <= 1e-6 * margin.upper
    assert near(margin, 0.18165615, 0.18165616)


@pytest.mark.long
def test_the_margin_of_cifar_10_is_bracketed(data_dir):
    X, y = load("cifar-10", n=5000)
    margin = sx.max_margin(X, y, rtol=1e-6)
    assert margin.status == "converged"
    assert near(margin, 0.0121900, 0.0121901)


def test_fashion_mnist_0_against_6_separates_with_2000_rows_and_overlaps_with_5000(data_dir):
    X, y = load("fashion-mnist", classes=(0, 6), n=5000)
    assert sx.separate(X[:2000], y[:2000]).status == "separable"
    found = sx.separate(X, y)
    assert found.status == "inseparable"
    assert found.proof.claim == "overlap"
    assert found.verify(X, y)
    assert not sx.verify(found.proof, X, np.roll(y, 1))


@pytest.mark.long
def test_all_of_cifar_10_overlaps_with_pixels_in_minus_1_to_1(data_dir):
    X, y = load("cifar-10", n=10_000)
    found = sx.separate(X, y)
    assert found.status == "inseparable"
    assert found.proof.claim == "overlap"
    assert found.verify(X, y)


def test_the_perceptron_tells_ten_kinds_of_clothes_apart(data_dir):
    X, y = load_ten("fashion-mnist", data_dir=data_dir)
    X_test, y_test = load_ten("fashion-mnist", part="test", data_dir=data_dir)
    clf = sx.Perceptron(max_iter=10)
    with pytest.warns(ConvergenceWarning, match="10 of 10 one-vs-rest problems fell short: class 0"):
        clf.fit(X, y)
    assert clf.n_iter_ == 10 and clf.score(X_test, y_test) > 0.835


@pytest.mark.long
def test_the_widest_margin_names_the_clothes_that_cannot_be_told_apart(data_dir):
    X, y = load_ten("fashion-mnist", data_dir=data_dir)
    X, y = X[:3000], y[:3000]
    clf = sx.MaxMarginClassifier(rtol=1e-2, certify=True, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X, y)
    for k, (margin, proof) in enumerate(zip(clf.margin_, clf.proof_, strict=True)):
        found = sx.separate(X, y == k, fit_intercept=True)
        assert (margin.lower > 0) == (found.status == "separable"), k
        assert proof is None if margin.lower > 0 else sx.verify(proof, X, y == k)
        assert (f"class {k} (" in clf.status_.message) == (margin.lower == 0), k
