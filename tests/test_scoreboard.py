"""The scoreboard: what it shows are runs that anyone can make, and bounds that hold."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import separatrix as sx
from separatrix.lab.book import paper_book, parse_book
from separatrix.lab.kinds import jobs_of, scoreboard
from separatrix.lab.pieces import piece_of
from separatrix.lab.results import Results
from separatrix.lab.samples import Sample, sample
from separatrix.lab.store import Store
from separatrix.lab.workers import do_all

METHODS = ["perceptron", "batch-perceptron", "lr-gd", "normalized-lr-gd", "tempered-lr-gd", *scoreboard.ZOO]
ENTRIES = {
    "data": {
        "planted": {"source": "planted", "title": "planted", "rows": 40, "columns": 5, "margin": 0.1},
        "worst": {"source": "worst-case-weighted", "title": "worst", "rows": 100},
    },
    "board": {
        "kind": "scoreboard",
        "title": "board",
        "data": ["planted", "worst"],
        "methods": METHODS,
        "step_sizes": [1, 100],
        "iterations": 400,
    },
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    book = parse_book(ENTRIES, "here", paper_book())
    (experiment,) = book.experiments.values()
    store = Store(tmp_path_factory.mktemp("store"))
    do_all(jobs_of(experiment, book.data), store, data_dir=None, workers=1, show=False)
    return book, experiment, piece_of(experiment, book.data, Results(store))


def column(table, name):
    return [row[table.columns.index(name)] for row in table.rows]


def test_every_method_has_a_row_for_every_step_size_that_it_takes(shown):
    table = shown[2].tables["planted"]
    assert len(table.rows) == len(METHODS) + 4  # three of the table and the risk-adaptive one have two step sizes
    assert "Risk-adaptive GD, γR² = 100" in column(table, "method") and "SignGD" in column(table, "method")


def test_no_count_exceeds_its_bound(shown):
    for name in ("planted", "worst"):
        table = shown[2].tables[name]
        assert table.failures == ()
        assert all(0 < ratio <= 1 for ratio in column(table, "count/bound") if ratio is not None)
    assert any(sentence.startswith("For the claim: no count exceeds its bound") for sentence in shown[2].sentences)


def test_counts_are_those_of_solve_to_a_separator_and_to_nine_tenths_of_the_margin(shown):
    book, _, piece = shown
    rows = sample(book.data["planted"], None)
    mu, R = sx.max_margin(rows.X, rows.y, rtol=1e-6).lower, np.linalg.norm(rows.X, axis=1).max()
    labels, *columns = (column(piece.tables["planted"], name) for name in ("method", "iterations", "to 0.9 μ"))
    counts, wide = (dict(zip(labels, values, strict=True)) for values in columns)
    for label, method in (
        ("Dual momentum", sx.zoo.DualMomentumGD(1 / R**2)),
        ("Smooth perceptron", sx.zoo.SmoothPerceptron(1 / (2 * R**2))),
        ("Risk-adaptive GD, γR² = 100", sx.zoo.RiskAdaptiveGD(100 / R**2)),
    ):
        assert counts[label] == sx.solve(rows.X, rows.y, method).n_iter
        run = sx.solve(rows.X, rows.y, method, stop=lambda at: at.measure.min_margin >= 0.9 * mu, max_iter=400)
        assert wide[label] == (run.n_iter if run.trace["min_margin"][-1] >= 0.9 * mu else None)
    assert counts["Perceptron"] == sx.solve(rows.X, rows.y, "perceptron").n_iter
    assert wide["Dual momentum"] is not None and wide["Batch Perceptron"] is None


def test_the_summary_counts_data_sets_and_leaves_the_perceptron_out(shown):
    table = shown[2].tables[""]
    assert "Perceptron" not in column(table, "method")
    assert max(column(table, "separated")) == 2
    assert min(t for t in column(table, "times the fewest") if t is not None) >= 1


def test_budgets_are_part_of_what_a_run_is_and_one_row_at_a_time_has_more():
    book = parse_book(ENTRIES, "here", paper_book())
    (experiment,) = book.experiments.values()
    long = scoreboard.score_job(experiment, book.data["worst"], "perceptron", inf)
    short = scoreboard.score_job(experiment, book.data["worst"], "batch-perceptron", inf)
    assert (long.limit, short.limit) == (20_000, 400)
    assert "within-400" in str(short.place)


def test_methods_of_the_zoo_are_for_the_scoreboard_alone():
    entry = {"kind": "theory", "title": "x", "data": ["mnist"], "methods": ["sign-gd"]}
    with pytest.raises(ValueError, match="unknown method 'sign-gd'"):
        parse_book({"a": entry}, "here", paper_book())


def test_the_zoo_of_the_scoreboard_is_the_zoo():
    assert list(scoreboard.ZOO) == [method.name for method in sx.zoo.each(2, 1.0, 1.0, R_sum=1.0)]


def test_rows_that_nothing_separates_are_refused_in_one_sentence():
    rows = Sample(np.array([[1.0], [1.0]]), np.array([0, 1]), None)
    with pytest.raises(ValueError, match="rows that can be separated"):
        scoreboard.known(rows)
