"""The benchmark's peers take the paper's steps, and its ratios are what their names say."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import inf

import numpy as np
import pytest

from separatrix import estimators
from separatrix.bench import classifiers, growth, peers, profile, speed
from separatrix.lab.book import paper_book, parse_book
from separatrix.theory import planted
from separatrix.walking.definition import walk
from separatrix.walking.methods import parse_method

METHODS = [
    ("lr-gd", 0.5),
    ("lr-gd", 20.0),
    ("normalized-lr-gd", 0.5),
    ("batch-perceptron", inf),
    ("normalized-batch-perceptron", inf),
]


@pytest.fixture(scope="module")
def rows():
    X, y, _ = planted(60, 4, margin=0.05, offset=5.0, random_state=1)
    return y[:, None] * X


@pytest.mark.parametrize(("name", "gamma"), METHODS)
def test_the_numpy_loop_takes_the_papers_steps(rows, name, gamma):
    method = parse_method(name, gamma)
    path = list(islice(walk(method, rows), 11))
    phi = peers.numpy_loop(rows, gamma=gamma, power=method.power, iterations=10)
    assert np.allclose(phi, path[10], rtol=1e-11, atol=0)


@pytest.mark.skipif(not peers.torch_installed(), reason="PyTorch is not installed; it is the user's own choice")
@pytest.mark.parametrize(("name", "gamma"), METHODS)
def test_the_pytorch_loop_takes_the_papers_steps(rows, name, gamma):
    method = parse_method(name, gamma)
    path = list(islice(walk(method, rows), 11))
    tensor = peers.as_tensor(rows, "float64")
    phi = peers.torch_loop(tensor, gamma=gamma, power=method.power, iterations=10)
    assert np.allclose(phi.numpy(), path[10], rtol=1e-11, atol=0)


def test_loops_keep_their_dtype(rows):
    phi = peers.numpy_loop(rows.astype(np.float32), gamma=10.0, power=0.0, iterations=3)
    assert phi.dtype == np.float32


def test_a_spread_is_median_least_and_most():
    assert speed.Spread.of([3.0, 1.0, 10.0]) == speed.Spread(3.0, 1.0, 10.0)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(speed, "PAUSE", 0.0)
    monkeypatch.setattr(speed, "PROBE", 0.001)


def test_ratios_are_the_peers_time_over_ours(quick):
    X, y, _ = planted(100, 5, margin=0.1, offset=5.0, random_state=0)
    result = speed.measure("small", X, y, speed.Case("batch-perceptron"), alternations=1)[0]
    assert result.peer == "numpy float64"
    assert result.separated
    whole = result.iterations * result.peer_ms.median / 1e3
    assert result.run_ratio.median == pytest.approx(whole / result.seconds.median)
    assert result.step_ratio.median == pytest.approx(result.peer_ms.median / result.ours_ms.median)
    assert result.set_up.median == pytest.approx(
        result.seconds.median - result.iterations * result.ours_ms.median / 1e3
    )
    assert result.traffic > 0


@pytest.mark.long
def test_a_fixed_number_of_iterations_runs_past_separation(quick):
    X, y, _ = planted(100, 5, margin=0.5, random_state=0)
    result = speed.measure("small", X, y, speed.Case("lr-gd", 0.01, "float32", 50), alternations=1)[0]
    assert result.fixed
    assert result.iterations == 50
    assert result.dtype == "float32"


def test_the_tables_have_one_line_per_case_and_one_per_peer(quick):
    X, y, _ = planted(100, 5, margin=0.5, random_state=0)
    results = speed.measure("small", X, y, speed.Case("batch-perceptron"), alternations=1)
    ours, ratios = speed.tables(results, 1e10)
    assert len(ours.rows) == 1
    assert len(ratios.rows) == len(results)


@pytest.mark.long
def test_growth_measures_each_engine_in_a_process_of_its_own():
    for engine in growth.ENGINES:
        answer = growth.measure(engine, 300, 8)
        assert (answer["engine"], answer["n"], answer["d"]) == (engine, 300, 8)
        assert answer["data_mb"] == 300 * 8 * 8 / 1e6
        assert 0 <= answer["ms_per_iteration"] < inf  # on a busy machine set-up may seem to take all of it
    assert len(growth.table([answer]).rows) == 1


@pytest.mark.long
def test_the_gram_engines_columns_show_up_as_memory():
    answers = {engine: growth.measure(engine, 3000, 64)["peak_extra_mb"] for engine in ("dense", "gram")}
    if answers["dense"] is None:
        pytest.skip("this system does not tell a process's peak memory")
    assert answers["gram"] > answers["dense"] + 1


@pytest.mark.long
def test_perceptrons_are_compared_sweep_by_sweep(monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    monkeypatch.setattr(classifiers, "PAUSE", 0.0)
    given = classifiers.data()
    assert given.name == "digits"
    found = classifiers.compare_sweeps(given, "float64", sweeps=3, seeds=2)
    assert found.ratio.least <= found.ratio.median <= found.ratio.most
    assert found.our_accuracy.median > 0.8 and found.their_accuracy.median > 0.8
    fits = [
        classifiers.fit(given, "ours", estimators.Perceptron(max_iter=3)),
        classifiers.fit(given, "widest", estimators.MaxMarginClassifier()),
    ]
    assert fits[0].note == "3 iterations" and "one-vs-rest problems fell short" in fits[1].note
    sweeps, models = classifiers.tables(given, [found], fits)
    assert len(sweeps.rows) == 1 and len(models.rows) == 2


def test_a_slow_or_worse_sweep_is_called_a_failure(monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    given = replace(classifiers.data(), name="fashion-mnist")
    one, low, high = speed.Spread.of([1.0]), speed.Spread.of([0.80]), speed.Spread.of([0.81])
    found = classifiers.Sweeps("float32", one, one, one, low, high)
    sweeps, _ = classifiers.tables(given, [found], [])
    assert len(sweeps.failures) == 2


@pytest.mark.long
def test_the_scale_of_the_intercept_changes_bounds_and_counts(monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    (name, X, y), *_ = classifiers.intercept_problems()
    scales = classifiers.intercept_scales(name, X, y)
    bound = {round(s.share, 2): s.bound for s in scales}
    assert bound[0.2] < 1.2 * min(bound.values()) and bound[5.0] > 5 * bound[0.2]
    assert all(s.perceptron is not None and s.perceptron <= s.bound for s in scales)
    assert len(classifiers.scale_table(scales).rows) == len(scales)


@pytest.mark.long
def test_the_papers_runs_are_compared_one_by_one_and_measured_once(monkeypatch, tmp_path):
    monkeypatch.setattr(profile, "LOOP", 4)
    monkeypatch.setattr(profile, "PAUSE", 0.0)
    monkeypatch.setattr(profile, "available", lambda data_dir: [])
    panel = {"data": "mnist", "methods": ["lr-gd", "batch-perceptron"], "step_sizes": [1, 100]}
    book = parse_book({"a": {"kind": "curves", "title": "a", "panels": [panel]}}, "a.toml", paper_book())
    (jobs,) = profile.groups(book)
    lines = list(profile.measure(jobs, tmp_path))
    assert {(line.method, line.step_size) for line in lines} == {
        ("batch-perceptron", "inf"),
        ("lr-gd", 1.0),
        ("lr-gd", 100.0),
    }
    for line in lines:
        assert line.loop == sum(line.halves) / 2 * line.iterations
        assert line.ratio == line.loop / (line.ours + line.set_up)
    every, together = profile.tables(lines)
    assert len(every.rows) == 3
    assert together.rows[-1][2:5] == (3, sum(x.ours + x.set_up for x in lines), sum(x.loop for x in lines))
    monkeypatch.setattr(profile, "walk", lambda *words: pytest.fail("measured again"))
    assert list(profile.measure(jobs, tmp_path)) == [line for job in jobs for line in lines if named(line, job)]


def named(line, job):
    return (line.method, float(line.step_size)) == (job.method, job.step_size)
