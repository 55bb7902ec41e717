"""The second report: its book, its command, data that are made, and kinds whose answers are known beforehand."""

from __future__ import annotations

import re
import tomllib
from math import inf, isinf, log
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli import app
from separatrix.data.memory import hold
from separatrix.lab import book as books
from separatrix.lab import figures, workers
from separatrix.lab.book import our_book, paper_book, parse_book, quick_book
from separatrix.lab.kinds import jobs_of
from separatrix.lab.kinds.bifurcation import OPEN, Sweep, by_example, end_of, minimiser, period_within, sentences
from separatrix.lab.kinds.chaos import begun, other_rows_wrong, rate_of
from separatrix.lab.kinds.limit import FINE, in_whole_numbers, limit_job, parts_at, path_of, search, smallest
from separatrix.lab.report_page import SECTIONS
from separatrix.lab.reproduce import reproduce
from separatrix.lab.results import Results
from separatrix.lab.samples import planted_in_units, sample
from separatrix.lab.spec import DataEntry, ids_of_book
from separatrix.lab.store import Job, Store
from separatrix.walking.methods import parse_method

PLANTED = DataEntry("p", "planted", "planted", rows=40, columns=6, margin=0.02, offset=3.0, budget=2000)
OVERLAP = DataEntry("o", "overlap", "overlap", rows=60, columns=3, flipped=0.2)
LINE = DataEntry("l", "listed", "line", z=((1.0,), (-1.0,)), times=(3, 1))
TINY = {
    "title": "A tiny report",
    "data": {
        "p": {"source": "planted", "title": "planted", "rows": 40, "columns": 6, "margin": 0.02, "offset": 3.0},
        "l": {"source": "listed", "title": "line", "z": [1, -1], "times": [3, 1]},
        "o": {"source": "overlap", "title": "overlap", "rows": 30, "columns": 2, "flipped": 0.2},
    },
    "bifurcation": {
        "kind": "bifurcation",
        "title": "cycles",
        "data": ["l", "o"],
        "span": [1.5, 2.5],
        "points": 5,
        "starts": 1,
        "seeds": 2,
        "iterations": 2000,
    },
    "chaos": {
        "kind": "chaos",
        "title": "chaos",
        "data": ["o"],
        "step_sizes": [1.0, 1e4, inf],
        "seeds": 2,
        "iterations": 300,
    },
    "limit": {"kind": "limit", "title": "limit", "data": ["p"], "seeds": 2},
}


def rows_of(entry, seed=None):
    return sample(entry, seed).problem


# The book and the command


def test_ids_of_the_second_book_name_their_sections_and_differ_from_the_papers():
    book = our_book("beyond")
    assert list(book.experiments) == ids_of_book("beyond")
    assert not set(ids_of_book("beyond")) & set(ids_of_book())
    starts = {start for start, _ in SECTIONS}
    assert {name.split("-")[0] for name in ids_of_book("beyond")} <= starts
    assert book.title != paper_book().title and quick_book(book).title == book.title


def test_the_quick_profile_caps_every_whole_number_that_its_entry_names():
    book = quick_book(parse_book(TINY | {"quick": {"points": 3, "starts": 1, "seeds": 1, "iterations": 50}}, "t.toml"))
    one = book.experiments["bifurcation"]
    assert (one.points, one.starts, one.seeds, one.iterations) == (3, 1, 1, 50)


@pytest.fixture
def invoke(monkeypatch):
    """Call the command, its second book a tiny one."""
    known = books.entries_of_book
    monkeypatch.setattr(books, "entries_of_book", lambda name="paper": TINY if name == "beyond" else known(name))
    return lambda *words: CliRunner().invoke(app, [*words], env={"NO_COLOR": "1", "COLUMNS": "100"})


def test_beyond_is_a_word_that_ids_may_follow(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke("reproduce", "beyond", "limit", "--jobs", "1")
    assert done.exit_code == 0, done.output
    assert "report-beyond" in done.output and "(1 experiment," in done.output
    text = (tmp_path / "report-beyond" / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# A tiny report") and "(limit)" in text and "Theorems in numbers" not in text
    done = invoke("reproduce", "beyond", "figure-1")
    assert done.exit_code == 2 and "no experiment 'figure-1'" in done.output


def test_the_list_names_both_books(invoke):
    done = invoke("reproduce", "--list")
    assert done.exit_code == 0 and not Path("report-beyond").exists()
    for name in (*ids_of_book(), "bifurcation", "A tiny report"):
        assert name in done.output


def test_an_interrupted_report_goes_on_and_ends_in_the_same_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FORMATS", ("svg",))
    book = parse_book(TINY, "tiny.toml")
    whole = reproduce(book, ["all"], out=tmp_path / "whole", workers=1)
    do_one, done = workers.do_one, []

    def interrupted(job, *words):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(job)
        do_one(job, *words)

    monkeypatch.setattr(workers, "do_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(book, ["all"], out=tmp_path / "cut", workers=1)
    rest = []
    monkeypatch.setattr(workers, "do_one", lambda job, *words: (rest.append(job), do_one(job, *words)))
    reproduce(book, ["all"], out=tmp_path / "cut", workers=1)
    every = {job.place for e in book.experiments.values() for job in jobs_of(e, book.data)}
    assert len(done) == 4 and {job.place for job in (*done, *rest)} == every and len(rest) == len(every) - 4
    for table in sorted((tmp_path / "whole" / "tables").iterdir()):
        assert table.read_bytes() == (tmp_path / "cut" / "tables" / table.name).read_bytes()
    assert len(whole.pieces) == 3 and all(piece.sentences and piece.pictures for piece in whole.pieces)


# Data


def test_planted_rows_have_length_one_at_most_and_the_margin_they_were_planted_with():
    for seed in range(5):
        rows = sample(PLANTED, seed)
        assert np.linalg.norm(rows.X, axis=1).max() == pytest.approx(1.0)
        assert sx.max_margin(rows.X, rows.y).upper >= PLANTED.margin * (1 - 1e-12)
    assert not np.array_equal(sample(PLANTED, 0).X, sample(PLANTED, 1).X)
    assert np.array_equal(sample(PLANTED, 0).X, sample(PLANTED, None).X)


def test_overlapping_rows_are_inseparable_and_listed_ones_are_themselves():
    for seed in range(5):
        rows = sample(OVERLAP, seed)
        assert sx.separate(rows.X, rows.y).status == "inseparable"
    rows = sample(LINE, None)
    assert (rows.y[:, None] * rows.X).tolist() == [[1.0], [-1.0]] and rows.weight.tolist() == [3.0, 1.0]
    assert len(set(rows.y)) == 2


def test_other_made_rows_have_other_places_and_other_identities():
    one, two = (DataEntry("p", "planted", rows=40, columns=6, margin=margin) for margin in (0.02, 0.03))
    assert one.slug != two.slug and Job("walk", one).describe() != Job("walk", two).describe()
    other = DataEntry("l", "listed", z=((1.0,), (-1.0,)), times=(2, 1))
    assert LINE.slug != other.slug
    assert Job("a", LINE, options="x").place != Job("a", LINE).place
    assert "options" not in Job("walk", one).describe()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"source": "planted", "margin": 1.5}, "margin must be in (0, 1), a part of R, got 1.5"),
        ({"source": "planted", "columns": 0}, "columns must be a whole number of at least 1, got 0"),
        ({"source": "planted", "offset": -1.0}, "offset must be finite and not negative, got -1.0"),
        ({"source": "overlap", "flipped": 0.0}, "flipped must be in (0, 1), got 0.0"),
        ({"source": "listed"}, "two or more rows of equally many numbers"),
        ({"source": "listed", "z": [[1, 2], [3]]}, "two or more rows of equally many numbers"),
        ({"source": "listed", "z": [1, -1], "times": [1]}, "one number per row of z, got 1"),
        ({"source": "listed", "z": [1, -1], "times": [1, 0]}, "at least 1, got 0"),
    ],
)
def test_a_wrong_entry_of_made_data_is_one_sentence(entry, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_book({"data": {"b": entry}, "a": {"kind": "limit", "title": "x", "data": ["b"]}}, "my.toml")


@pytest.mark.parametrize("span", [[2.0], [3.0, 2.0], [0, 1.0], [1.0, inf]])
def test_a_span_is_two_step_sizes_in_order(span):
    entry = TINY["bifurcation"] | {"span": span}
    with pytest.raises(ValueError, match="span must be two step sizes"):
        parse_book(TINY | {"bifurcation": entry}, "my.toml")


# Bifurcation


def test_newton_finds_the_minimiser_and_the_curvature_of_a_closed_form():
    theta, top, lam = minimiser(np.array([[1.0], [-1.0]]), np.array([3.0, 1.0]))
    assert theta[0] == pytest.approx(log(3), rel=1e-12) and lam == pytest.approx(3 / 16, rel=1e-12) and abs(top[0]) == 1
    separable = minimiser(np.array([[1.0], [2.0]]), np.ones(2))[0]
    assert np.isnan(separable).all()


@pytest.mark.parametrize("seed", range(12))
def test_newton_finds_the_minimiser_where_values_no_longer_tell_two_points_apart(seed):
    X, y = planted_in_units(40, 2, 0.01, 0.0, seed)
    y[np.random.default_rng(seed).permutation(40)[:8]] *= -1
    Z = y[:, None] * X
    best = minimiser(Z, np.ones(40))[0]
    p = 1 / (1 + np.exp(Z @ best))
    assert np.linalg.norm(p @ Z) / 40 < 1e-12


def test_runs_end_at_the_minimiser_below_the_critical_step_and_in_the_known_two_cycle_beyond():
    rows = hold(np.array([[1.0], [1.0]]), np.array([1, -1]))  # z = ±1: θ* = 0, λ = 1/4, critical at 8
    period, _, last = end_of(rows, 7.5, np.array([1.0]), 20_000)
    assert abs(last[0][0]) < 1e-12
    period, _, last = end_of(rows, 10.0, np.array([1.0]), 20_000)
    x = abs(last[0][0])
    assert period == 2 and len(last) == 2 and last[0][0] == pytest.approx(-last[1][0], rel=1e-12)
    assert 2 * x == pytest.approx(10 * (1 / (1 + np.exp(-x)) - 0.5), rel=1e-12)  # θ⁺ = -θ


def test_a_long_row_makes_cycles_below_the_critical_step_and_walls_make_them_below_half_of_it():
    line = our_book("beyond").data["line-uneven"]
    Z, often = np.array(line.z), np.array(line.times, dtype=float)
    best, _, lam = minimiser(Z, often)
    _, _, last = end_of(rows_of(line), 1.6 / lam, None, 20_000)
    assert abs(last[0] - best) > 0.1
    plane = our_book("beyond").data["plane-walls"]
    best, _, lam = minimiser(np.array(plane.z), np.array(plane.times, dtype=float))
    period, _, last = end_of(rows_of(plane), 0.8 / lam, np.array([1.6, 6.0]), 20_000)
    assert period == 2 and np.linalg.norm(last[0] - best) > 1
    assert last[0] == pytest.approx(last[1] * [-1, 1], rel=1e-9)


def test_last_bits_that_come_back_later_do_not_lengthen_a_period():
    two = [np.array([x]) for x in (1.0, 2.0, 1.0 + 1e-15, 2.0, 1.0, 2.0 + 1e-15)]
    assert period_within(two, 6, 1e-9) == 2
    assert period_within([np.array([float(x)]) for x in (1, 2, 3)], 3, 1e-9) == 3
    assert period_within([np.array([float(x)]) for x in range(5)], 0, 1e-9) == OPEN


def test_what_is_said_of_cycles_follows_from_the_runs():
    def swept(d, factors, ends):
        n = len(factors)
        return Sweep(LINE, "some", d, 1.0, np.array(factors), np.zeros(n), np.array(ends), (np.zeros(0),) * 3)

    experiment = parse_book(TINY, "t.toml").experiments["bifurcation"]
    critical, doubling, below, between = sentences([swept(1, [0.9, 1.9, 2.1, 2.2], [1, 1, 2, 4])], experiment)
    assert all(told.startswith("For the claim") for told in (critical, doubling, below))
    assert between.startswith("Nothing here for the claim")
    critical, doubling, *_ = sentences([swept(1, [1.9, 2.1, 2.2], [1, 3, 1])], experiment)
    assert critical.startswith("Against the claim") and doubling.startswith("Against the claim")
    assert by_example(2) == "For the claim"


# Chaos


def test_the_rate_is_the_slope_until_two_runs_are_apart():
    apart = 1e-16 * np.exp(0.3 * np.arange(200.0))
    assert rate_of(np.minimum(apart, 1.0)) == pytest.approx(0.3, rel=1e-9)
    assert np.isnan(rate_of(np.full(50, 1e-16)))


def test_a_nudged_run_begins_one_last_bit_apart_and_the_batch_perceptron_keeps_it():
    rows = rows_of(our_book("beyond").data["overlap-100"], 0)
    for name, gamma in (("lr-gd", 1e4), ("batch-perceptron", inf)):
        a, b = (begun(rows, parse_method(name, gamma if name == "lr-gd" else None), nudged) for nudged in (False, True))
        k = np.flatnonzero(a.phi() != b.phi())
        assert a.t == b.t == 1 and len(k) == 1 and abs(a.phi() - b.phi()).max() <= 4e-16 * abs(a.phi()).max()
        a.advance(200, False), b.advance(200, False)
        gap = float(np.linalg.norm(a.phi() - b.phi()))
        assert (gap > 1e-6) == (name == "lr-gd")
        if gap > 1e-6:
            assert other_rows_wrong(rows, a.phi(), b.phi(), gap)
        else:
            assert not other_rows_wrong(rows, a.phi(), b.phi(), gap)


# The limit


def test_pixels_are_whole_numbers_times_a_factor_and_other_rows_are_rounded():
    whole, c, exact = in_whole_numbers(2 * np.arange(10.0).reshape(5, 2) / 255 - 1)
    assert exact and c == 255 and np.array_equal(whole, np.rint(whole))
    whole, c, exact = in_whole_numbers(np.array([[0.3, 0.1], [1.0, 0.0]]))
    assert not exact and c == 4096 and whole[0].tolist() == [1229, 410]


def test_bisection_finds_the_last_that_holds():
    for last in (0, 1, 7, 8, 9, 100):
        assert smallest(lambda k, last=last: k <= last) == last
    assert smallest(lambda k: False) == -1


@pytest.mark.parametrize("seed", range(3))
def test_the_limit_is_that_of_trying_every_step_size(seed):
    found = search(limit_job(PLANTED, seed), sample(PLANTED, seed), rows_of(PLANTED, seed), None, lambda t: False)
    rows = sample(PLANTED, seed)
    X, c, _ = in_whole_numbers(rows.X)
    whole = hold(X, rows.y)
    path = path_of(whole, 2000, lambda t: False)
    facts = found.facts
    assert path.separated and len(path.phi) - 1 == facts["T"] == sx.solve(X, rows.y, "batch-perceptron").n_iter
    assert facts["bits"] <= facts["predicted"] and facts["sets"] <= facts["bits"] and facts["exceptions"] == 0
    tried = [parts_at(path, whole, facts["predicted"] / c**2 * 2.0 ** (-k / FINE)) for k in range(100)]
    for which, name in enumerate(("bits", "sets")):
        first_bad = next(k for k, parts in enumerate(tried) if not isinf(parts[which]))
        assert facts[name] == pytest.approx(facts["predicted"] * 2.0 ** (-(first_bad - 1) / FINE), rel=1e-9)


def test_above_the_prediction_the_run_is_the_perceptrons_to_the_last_bit(tmp_path):
    rows = sample(PLANTED, 3)
    X, c, _ = in_whole_numbers(rows.X)
    job = limit_job(PLANTED, 3)
    gamma = search(job, rows, rows.problem, None, lambda t: False).facts["predicted"] / c**2
    one, other = sx.solve(X, rows.y, "lr-gd", step_size=gamma), sx.solve(X, rows.y, "batch-perceptron")
    assert one.n_iter == other.n_iter and np.array_equal(one.phi, other.phi)


def test_ties_have_no_limit(tmp_path):
    tied = DataEntry("t", "listed", "tied", z=((2.0, 1.0), (-1.0, 2.0), (1.0, -1.0)))
    kept = Store(tmp_path)
    workers.do_all([limit_job(tied, None)], kept, data_dir=None, workers=1, show=False)
    facts = Results(kept)[limit_job(tied, None)].facts
    assert isinf(facts["predicted"]) and np.isnan(facts["bits"])


# The committed pages


def test_every_picture_and_table_of_the_committed_report_is_there_and_the_page_names_no_other():
    docs = Path(__file__).parent.parent / "docs"
    report, page = ((docs / name).read_text(encoding="utf-8") for name in ("beyond/report.md", "beyond.md"))
    named = [docs / "beyond" / name for name in re.findall(r"figures/[\w.-]+\.png|tables/[\w.-]+\.csv", report)]
    named += [docs / name for name in re.findall(r"beyond/figures/[\w.-]+\.png", page)]
    assert named and not [path for path in named if not path.exists()]
    assert sum(path.stat().st_size for path in (docs / "beyond").rglob("*.*")) < 6_000_000


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("data = [[1]]", "data must be names"),
        ("methods = [[1]]", "methods must be names"),
        ("models = ['nope']", "unknown model 'nope'"),
        ("widths = ['x']", "widths must be a whole number of at least 1"),
        ("units = [0]", "units must be positive finite numbers"),
        ("seeds = -1", "seeds must be at least 0, got -1"),
        ("points = 0", "points must be at least 1, got 0"),
    ],
)
def test_bad_fields_of_an_entry_are_told_in_a_sentence(line, sentence):
    entry = {"kind": "networks", "title": "t", "data": ["a"]} | tomllib.loads(line)
    with pytest.raises(ValueError, match=sentence):
        parse_book({"title": "b", "data": {"a": {"source": "digits"}}, "x": entry}, "here")
