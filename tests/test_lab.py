"""Experiments are data, runs are kept, and what is shown follows from them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import tomllib
from dataclasses import replace
from math import inf, nan, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from separatrix import solve
from separatrix.lab import figures, theorems, workers
from separatrix.lab.book import our_book, paper_book, parse_book, quick_book, read_book
from separatrix.lab.jobs import WALK, Work
from separatrix.lab.kinds import KINDS, curves, jobs_of
from separatrix.lab.kinds.growth import worst_case_job
from separatrix.lab.kinds.ranks import correlations
from separatrix.lab.kinds.shared import Kind, entries_of, walk_job
from separatrix.lab.pieces import piece_of
from separatrix.lab.report_page import page
from separatrix.lab.reproduce import reproduce
from separatrix.lab.results import Results
from separatrix.lab.samples import at_hand, sample
from separatrix.lab.spec import BOOKS, IMAGES, DataEntry, ids_of_book
from separatrix.lab.store import Job, Result, Store, StoreError
from separatrix.lab.workers import do_all
from separatrix.reporting import statistics
from separatrix.reporting.progress import in_words
from separatrix.reporting.table import FORMS, Table, as_csv, as_html, as_latex, as_markdown, cell
from separatrix.walking.checkpoint import Checkpoint

DIGITS = DataEntry("digits", "digits", "digits 7/8", classes=(7, 8), budget=2000)


def column(table, name):
    k = table.columns.index(name)
    return [row[k] for row in table.rows]


# Specs


def test_the_papers_book_has_its_nineteen_figures_and_the_three_parts_of_table_1():
    book = paper_book()
    assert {f"figure-{k}" for k in range(1, 20)} | {"table-1-a", "table-1-b", "table-1-c"} <= set(book.experiments)
    assert ids_of_book() == list(book.experiments)
    parts = ["a", "b", "b-other", "c", "b-scalings", "c-scalings"]
    assert [e.id for e in book.chosen(["table-1"])] == [f"table-1-{part}" for part in parts]
    assert [e.id for e in book.chosen(["figure-1", "figure-12"])] == ["figure-1", "figure-12"]


def test_figures_of_curves_take_step_sizes_of_ones_own():
    own = paper_book().stepping(["figure-3", "figure-5"], [300.0, 30.0, inf, 30.0])
    for key in ("figure-3", "figure-5"):
        assert {panel.step_sizes for panel in own.experiments[key].panels} == {(30.0, 300.0, inf)}
    assert own.experiments["figure-4"] == paper_book().experiments["figure-4"]
    with pytest.raises(ValueError, match="got figure-6;"):  # perceptrons alone
        paper_book().stepping(["figure-6"], [30.0])


def test_budgets_let_perceptrons_and_large_steps_go_far_and_are_smaller_for_small_steps():
    for entry in paper_book().data.values():
        assert entry.limit(inf) == entry.limit(10.0) >= entry.limit(1.0) >= entry.limit(0.001)


def test_the_quick_profile_is_never_larger_and_says_where_it_is_smaller():
    book = paper_book()
    quick = quick_book(book)
    for name, entry in quick.data.items():
        assert entry.budget <= book.data[name].budget
        assert entry.capped == (entry.rows != book.data[name].rows)
    assert quick.experiments["table-1-c"].seeds < book.experiments["table-1-c"].seeds
    assert not quick.data["fashion-mnist"].as_printed
    small = [quick.data[name].budget_below_1 for name in ("fashion-mnist", "cifar-10", "eurosat")]
    assert small == [3000, 976, 244]  # of wide rows fewer iterations


ENTRY = {"kind": "curves", "title": "mine", "panels": [{"data": "mnist"}]}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({}, "has no experiment"),
        ({"a": {"title": "x"}}, "has no kind"),
        ({"a": {"kind": "curves", "title": "x", "panels": [{"metric": "loss"}]}}, "panels has no data in {'metric'"),
        ({"a": ENTRY | {"kind": "curvse"}}, "did you mean 'curves'?"),
        ({"a": ENTRY | {"titel": "x"}}, "did you mean 'title'?"),
        ({"a": ENTRY | {"panels": [{"data": "mnits"}]}}, "did you mean 'mnist'?"),
        ({"a": ENTRY | {"panels": [{"data": "mnist", "metric": "acuracy"}]}}, "did you mean 'accuracy'?"),
        ({"a": ENTRY | {"panels": [{"data": "mnist", "methods": ["lr-dg"]}]}}, "did you mean 'lr-gd'?"),
        ({"a": ENTRY | {"panels": [{"data": "mnist", "step_sizes": [-1.0]}]}}, "step_size must be positive"),
        ({"a": ENTRY | {"panels": "mnist"}}, "panels must be a list, got 'mnist'"),
        ({"a": ENTRY | {"seeds": "many"}}, "seeds must be a int, got 'many'"),
        ({"a": {"kind": "theory", "title": "x"}}, "kind 'theory' needs data"),
        ({"a": {"kind": "curves", "title": "x"}}, "kind 'curves' needs panels"),
        ({"a": {"kind": "counts", "title": "x", "data": ["mnist"]}}, "kind 'counts' needs counts"),
        ({"a": {"kind": "ranks", "title": "x", "data": ["mnist", "digits-7"]}}, "no data entry 'digits-7'"),
        ({"a": {"kind": "ranks", "title": "x", "data": ["mnist", "eurosat"]}}, "takes one data entry"),
        ({"a": {"kind": "growth", "title": "x", "methods": ["lr-gd"], "sizes": [1]}}, "sizes start at 2, got 1"),
        (
            {
                "a": {
                    "kind": "counts",
                    "title": "x",
                    "data": ["mnist"],
                    "counts": [{"method": "lr-gd", "step_size": 10.0}],
                    "ratios": [{"slower": "lr-gd 1", "faster": "lr-gd 10", "claimed": 2.0}],
                }
            },
            "a ratio names 'lr-gd 1' (did you mean 'lr-gd 10'?",
        ),
        ({"a": 3}, "must be a table of names and values, got 3"),
        ({"data": {"b": {"rows": 3}}, "a": ENTRY}, "has no source"),
        ({"data": {"b": {"source": "mnist", "rows": 0}}, "a": ENTRY}, "at least 1, got 0"),
        ({"data": {"b": {"source": "mnist", "scaling": "x"}}, "a": ENTRY}, "scaling must be one of signed, unit"),
        ({"data": {"b": {"source": "mnist", "fraction": 2}}, "a": ENTRY}, "fraction must be in (0, 1], got 2"),
        ({"data": {"b": {"source": "mnist", "classes": [1, 2, 3]}}, "a": ENTRY}, "two class numbers"),
    ],
)
def test_a_wrong_entry_is_one_sentence_that_names_it(entries, words):
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        parse_book(entries, "my.toml", paper_book())
    assert str(caught.value).startswith("my.toml")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_toml_is_one_sentence(tmp_path):
    (tmp_path / "my.toml").write_bytes(b"a = [\xff")
    with pytest.raises(ValueError, match="is no TOML file"):
        read_book(tmp_path / "my.toml")


def test_the_docs_example_of_a_file_of_ones_own_is_one():
    text = (Path(__file__).parent.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    block, bias = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    book = parse_book(tomllib.loads(block), "my.toml", paper_book())
    assert [len(list(panel.runs())) for panel in book.experiments["my-figure"].panels] == [4, 3]
    assert parse_book(tomllib.loads(bias), "bias.toml").experiments["my-bias"].kind == "bias"


def test_who_has_its_length_from_the_data_refuses_iterations():
    entry = {"kind": "bias", "title": "t", "data": ["m"], "methods": ["lr-gd"], "step_sizes": [1], "iterations": 9}
    with pytest.raises(ValueError, match="kind 'bias' takes no iterations, got 9; give its data entry a budget"):
        parse_book({"data": {"m": {"source": "planted"}}, "b": entry}, "b.toml")


def test_an_experiment_of_ones_own_is_one_entry(tmp_path):
    (tmp_path / "my.csv").write_text("a,b,y\n1,2,0\n2,1,0\n-1,-1,1\n-2,-1,1\n")
    (tmp_path / "my.toml").write_text(
        f"""
        [data.mine]
        source = "{(tmp_path / "my.csv").as_posix()}"
        target = "y"
        [mine]
        kind = "curves"
        title = "Four rows"
        panels = [{{ data = "mine", methods = ["lr-gd", "perceptron"], step_sizes = [1, 100] }}]
        """
    )
    report = reproduce(read_book(tmp_path / "my.toml"), ["all"], out=tmp_path / "out", workers=1)
    (table,) = report.pieces[0].tables.values()
    assert column(table, "separated after") == [1, 1, 1]
    assert (tmp_path / "out" / "figures" / "mine.svg").exists()


def test_a_file_with_missing_values_is_told_what_an_experiment_can_do_about_them(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("a,b,y\n1,,0\n2,1,0\n,-1,1\n-2,-1,1\n")
    said = "missing values: a 1, b 1 (of 4 rows); fill them, or leave the 2 rows that have one out of "
    with pytest.raises(ValueError, match=re.escape(f"{said}{path}.")):
        sample(DataEntry("mine", str(path), target="y"), None)


def test_a_changed_file_is_run_again(tmp_path):
    table = tmp_path / "my.csv"
    table.write_text("a,y\n1,0\n-1,1\n")
    mine = DataEntry("mine", str(table), target="y")
    first = at_hand(mine, [])
    table.write_text("a,y\n1,0\n-1,1\n2,0\n")
    second = at_hand(mine, [])
    assert (
        first.slug != second.slug
        and walk_job(first, None, "perceptron", inf).describe() != walk_job(second, None, "perceptron", inf).describe()
    )


def test_a_dollar_in_a_title_is_no_formula(tmp_path):
    line = curves.Line("lr-gd", 1.0, np.arange(3), np.array([0.5, 0.7, 1.0]))
    assert figures.saved(curves.draw([curves.Chart("costs $5 and x_{", "accuracy", [line])]), "svg")


# Kinds


def test_every_kind_is_in_a_book_of_ours_and_in_the_docs():
    assert {one.kind for name in BOOKS for one in our_book(name).experiments.values()} == set(KINDS)
    text = (Path(__file__).parent.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    rows = {words[1].strip(" `"): words[3] for line in text.splitlines() if len(words := line.split("|")) == 5}
    for kind in KINDS.values():
        assert all(f"`{name}`" in rows[kind.name] for name in kind.needs)


def count_sides(job, sample, problem, checkpoint, tell):
    names, often = np.unique(sample.y, return_counts=True)
    return Result({"n": len(sample.y), "seconds": 0.0}, {"label": names, "rows": often})


def show_sides(experiment, data, results):
    (entry,) = entries_of(experiment, data)
    found = results[Job("sides", entry)].columns
    picture, (ax,) = figures.new_figure(1)
    ax.bar(found["label"], found["rows"])
    table = Table(experiment.title, ("label", "rows"), list(zip(*(found[k].tolist() for k in found), strict=True)))
    return {"": picture}, {"": table}, [f"{max(found['rows'])} rows are on the larger side."]


SIDES = Kind(
    "sides",
    needs=("data",),
    jobs=lambda experiment, data: (Job("sides", entry) for entry in entries_of(experiment, data)),
    show=show_sides,
    one_data=True,
    work=(Work("sides", count_sides, share=0.1),),
)


def test_a_new_kind_with_work_of_its_own_is_one_more_line_of_the_table(tmp_path, monkeypatch):
    entry = {"kind": "sides", "title": "Sides", "data": ["digits-7-8"]}
    entries = {"data": {"digits-7-8": {"source": "digits"}}, "mine": entry}
    with pytest.raises(ValueError, match="unknown kind 'sides'"):
        parse_book(entries, "my.toml")
    monkeypatch.setitem(KINDS, SIDES.name, SIDES)
    with pytest.raises(ValueError, match="kind 'sides' needs data"):
        parse_book(entries | {"mine": entry | {"data": []}}, "my.toml")
    with pytest.raises(ValueError, match="kind 'sides' takes one data entry"):
        parse_book(entries | {"mine": entry | {"data": ["digits-7-8", "mnist"]}}, "my.toml", paper_book())
    report = reproduce(parse_book(entries, "my.toml"), ["mine"], out=tmp_path, workers=1)
    assert (tmp_path / "runs" / "digits-all-signed" / "first" / "sides.npz").exists()
    assert [table.rows for table in report.tables] == [[(7, 179), (8, 174)]]
    assert (tmp_path / "figures" / "mine.svg").exists()
    for name in ("index.html", "report.md"):
        assert "179 rows are on the larger side." in (tmp_path / name).read_text(encoding="utf-8")


# Data


def test_digits_stand_in_for_images_that_are_not_there_and_say_so():
    book = paper_book()
    images = {name: m for name, m in book.data.items() if m.source in IMAGES}
    for entry in images.values():
        other = at_hand(entry, [])
        assert other.source == "digits" and other.instead_of == entry.title
        assert at_hand(entry, IMAGES) is entry
        assert len(sample(other, None).y) >= 100


def test_steps_as_large_as_the_entry_says_keep_margins_by_columns_and_take_the_same_steps():
    entry = replace(DIGITS, rows=100)
    columns = replace(entry, columns_from=1.0)
    for step_size, engine in ((0.5, "lazy"), (1.0, "gram")):
        runs = []
        for data in (entry, columns):
            job, rows = Job("walk", data, method="lr-gd", step_size=step_size, limit=40), sample(data, None)
            runs.append(WALK.perform(job, rows, rows.problem, None, lambda t: None))
        assert [run.facts["engine"] for run in runs] == ["lazy", engine]
        np.testing.assert_array_equal(runs[0].columns["errors"], runs[1].columns["errors"])


def test_a_seed_draws_rows_without_repetition_and_always_the_same():
    some = replace(DIGITS, rows=100)
    first, again, other = sample(some, 3), sample(some, 3), sample(some, 4)
    assert first.X.shape == (100, 64) and np.array_equal(first.X, again.X) and not np.array_equal(first.X, other.X)
    assert len(np.unique(sample(replace(DIGITS, rows=None), 0).X, axis=0)) == 353 // 2


def test_weights_of_imbalanced_rows_are_repeated_rows():
    uneven = replace(DIGITS, fraction=0.5, repeat=10)
    rows = sample(uneven, 5)
    often = rows.weight.astype(int)
    assert set(often) == {1, 10} and set(rows.y[often == 10]) == {8}
    other = sample(replace(uneven, repeated="smaller"), 5)
    assert set(other.weight) == {1, 10} and set(other.y[other.weight == 10]) == {7}
    X, y = np.repeat(rows.X, often, axis=0), np.repeat(rows.y, often)
    for method in ("batch-perceptron", "normalized-batch-perceptron"):
        whole = solve(X, y, method)
        assert solve(rows.X, rows.y, method, sample_weight=rows.weight).n_iter == whole.n_iter > 1


def test_the_perceptron_visits_repeated_rows_as_often_as_they_are_repeated():
    uneven = replace(DIGITS, fraction=0.5, repeat=3)
    rows = sample(uneven, 0)
    found = WALK.perform(walk_job(uneven, 0, "perceptron", inf), rows, rows.problem, None, lambda t: False)
    often = rows.weight.astype(int)
    whole = solve(np.repeat(rows.X, often, axis=0), np.repeat(rows.y, often), "perceptron")
    assert found.facts["n_iter"] == whole.n_iter and found.facts["n"] == often.sum()


def test_the_display_counts_every_run_and_names_the_one_under_way(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(workers.Progress, "tell", lambda self, *words: shown.append((self.quiet, *words)))
    todo = [walk_job(DIGITS, None, name, inf) for name in ("perceptron", "batch-perceptron")]
    do_all(todo[:1], Store(tmp_path), data_dir=None, workers=1, show=False)
    do_all(todo, Store(tmp_path), data_dir=None, workers=1, show=True)
    told = [words for quiet, *words in shown if not quiet]
    place = "runs, digits-7-8-all-signed/first/batch-perceptron"
    assert [told[0], told[-1]] == [[f"1 of 2 {place}", 0.0], [f"2 of 2 {place}", 1.0]]  # one was there already
    assert len(shown) > len(told)


def test_the_weighted_worst_case_counts_as_the_whole_one_does(tmp_path):
    kept = Store(tmp_path)
    todo = [worst_case_job(1000, m, g) for m, g in (("batch-perceptron", inf), ("lr-gd", 100.0))]
    whole = [walk_job(DataEntry("w", "worst-case", rows=1000), None, job.method, job.step_size) for job in todo]
    do_all([*todo, *whole], kept, data_dir=None, workers=1, show=False)
    results = Results(kept)
    assert [results.count(job) for job in todo] == [results.count(job) for job in whole] == [301, 308]


# Runs on disk


def test_a_finished_run_is_never_run_again(tmp_path, monkeypatch):
    kept, job = Store(tmp_path), walk_job(DIGITS, None, "batch-perceptron", inf)
    do_all([job], kept, data_dir=None, workers=1, show=False)
    assert kept.read(job).facts["n_iter"] == solve(*rows_of(DIGITS), "batch-perceptron").n_iter
    monkeypatch.setattr(workers, "do_one", lambda *words: pytest.fail("ran again"))
    do_all([job], kept, data_dir=None, workers=1, show=False)


def rows_of(entry):
    found = sample(entry, None)
    return found.X, found.y


def test_a_run_that_spent_a_smaller_budget_is_run_again_and_a_separated_one_is_not(tmp_path):
    kept = Store(tmp_path)
    short = Job("walk", DIGITS, None, "lr-gd", 0.01, 20)
    do_all([short], kept, data_dir=None, workers=1, show=False)
    assert not kept.read(short).facts["separated"]
    assert kept.read(replace(short, limit=21)) is None
    done = walk_job(DIGITS, None, "batch-perceptron", inf)
    do_all([done], kept, data_dir=None, workers=1, show=False)
    assert kept.read(replace(done, limit=10**9)) is not None
    beside = Job("align", DIGITS, None, "lr-gd", 100.0, 5)
    do_all([beside], kept, data_dir=None, workers=1, show=False)
    assert kept.read(replace(beside, limit=4)) is not None and kept.read(replace(beside, limit=6)) is None


@pytest.mark.parametrize("harm", [b"", b"no npz", "half"])
def test_a_torn_result_counts_as_none(tmp_path, harm):
    kept, job = Store(tmp_path), walk_job(DIGITS, None, "batch-perceptron", inf)
    do_all([job], kept, data_dir=None, workers=1, show=False)
    whole = kept.path(job).read_bytes()
    kept.path(job).write_bytes(whole[: len(whole) // 2] if harm == "half" else harm)
    assert kept.read(job) is None
    do_all([job], kept, data_dir=None, workers=1, show=False)
    assert kept.read(job).facts["separated"]


def test_the_result_of_other_rows_is_not_taken_for_this_one(tmp_path):
    kept, job = Store(tmp_path), walk_job(DIGITS, None, "batch-perceptron", inf)
    kept.write(job, Result({"separated": True, "limit": 5}))
    other = replace(job, data=replace(DIGITS, scaling="unit"))
    kept.path(other).parent.mkdir(parents=True)
    kept.path(job).rename(kept.path(other))
    assert kept.read(other) is None


def test_an_interrupted_run_continues_to_the_same_trace(tmp_path):
    job = Job("walk", DIGITS, None, "lr-gd", 0.01, 400)
    rows = sample(DIGITS, None)
    whole = WALK.perform(job, rows, rows.problem, None, lambda t: False)
    saving = Checkpoint(tmp_path / "part.npz", every=0.0)

    def pull_the_plug(t):
        if t > 100:
            raise SystemExit

    with pytest.raises(SystemExit):
        WALK.perform(job, rows, rows.problem, saving, pull_the_plug)
    assert (tmp_path / "part.npz").exists()
    seen = []
    rest = WALK.perform(job, rows, rows.problem, saving, lambda t: seen.append(t))
    assert min(seen) > 50
    for name in whole.columns:
        if name != "seconds":
            assert np.array_equal(whole.columns[name], rest.columns[name], equal_nan=True), name


def test_a_job_that_another_process_is_at_is_left_to_it(tmp_path):
    kept, job = Store(tmp_path), walk_job(DIGITS, None, "batch-perceptron", inf)
    with kept.claim(job) as mine, Store(tmp_path).claim(job) as theirs:
        assert mine and not theirs
    with kept.claim(job) as mine:
        assert mine


@pytest.mark.parametrize(("number", "words"), [(28, "the disk is full"), (30, "choose a folder that you may write")])
def test_a_full_or_read_only_disk_is_one_sentence_and_finished_runs_are_intact(tmp_path, monkeypatch, number, words):
    kept = Store(tmp_path)
    done, job = (walk_job(DIGITS, None, name, inf) for name in ("batch-perceptron", "perceptron"))
    do_all([done], kept, data_dir=None, workers=1, show=False)
    before = kept.path(done).read_bytes()

    def refuse(*words):
        raise OSError(number, "refused")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(StoreError, match=words) as caught:
        do_all([done, job], kept, data_dir=None, workers=1, show=False)
    assert "\n" not in str(caught.value)
    assert kept.path(done).read_bytes() == before
    assert kept.read(job) is None
    assert not list(tmp_path.rglob("*.tmp"))


def test_several_processes_leave_what_one_does(tmp_path):
    todo = [walk_job(replace(DIGITS, rows=150), seed, "lr-gd", 1.0) for seed in range(3)]
    alone, crew = Store(tmp_path / "one"), Store(tmp_path / "two")
    do_all(todo, alone, data_dir=None, workers=1, show=False)
    do_all(todo, crew, data_dir=None, workers=2, show=False)
    for job in todo:
        assert alone.read(job).facts["n_iter"] == crew.read(job).facts["n_iter"]


# Statistics


def test_quantiles_know_censored_runs():
    counts = np.array([1.0, 2.0, 3.0, inf])
    assert statistics.quantile(counts, 0.5) == 2.5
    assert statistics.quantile(counts, 0.25) == 1.75
    assert statistics.quantile(counts, 0.75) == inf
    assert statistics.quantile(np.array([inf, inf]), 0.5) == inf


def test_ranks_and_their_p_values():
    counts = np.arange(1.0, 200.0)
    assert statistics.rank_of(100.0, counts) == (pytest.approx(0.5, abs=0.01), 1.0)
    share, p = statistics.rank_of(0.0, counts)
    assert (share, p) == (0.0, pytest.approx(2 / 200))
    assert statistics.rank_of(5.0, np.array([inf, inf, inf]))[0] == 0.0


def test_p_values_of_one_more_draw_are_uniform_or_larger():
    rng = np.random.default_rng(0)
    p = [statistics.rank_of(rng.normal(), rng.normal(size=99))[1] for _ in range(2000)]
    for level in (0.02, 0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + 3 * sqrt(level / 2000)


def test_paired_ratios_keep_their_pairs_and_their_interval_covers():
    fast = np.array([10.0, 100.0, 1000.0, 40.0])
    assert statistics.median_ratio(2 * fast, fast) == (2.0, 2.0, 2.0)
    rng = np.random.default_rng(1)
    covered = 0
    for seed in range(200):
        true = np.exp(rng.normal(size=60))
        noisy = true * 1.5 * np.exp(0.3 * rng.normal(size=60))
        _, low, high = statistics.median_ratio(noisy, true, seed)
        covered += low <= 1.5 <= high
    assert covered >= 180


def test_censored_runs_widen_a_ratios_interval_and_are_not_dropped():
    slow, fast = np.array([inf, 20.0, 30.0]), np.array([10.0, 10.0, 10.0])
    middle, low, high = statistics.median_ratio(slow, fast)
    assert middle == 3.0 and low == 2.0 and high == inf
    low, high = statistics.ratio_ends(np.array([inf]), np.array([inf]))
    assert (low[0], high[0]) == (0.0, inf)


def test_slopes_are_exponents():
    n = np.array([1e2, 1e3, 1e4])
    assert statistics.slope(n, 7 * n**1.5) == (pytest.approx(1.5), pytest.approx(0, abs=1e-12))


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.integers(0, 6, size=(2, 9)).astype(float)
        assert statistics.rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic, nan_ok=True)
    assert np.isnan(statistics.rank_correlation(np.ones(4), np.arange(4.0)))
    assert statistics.spread(np.array([nan, 1.0, 2.0, 3.0])) == (1.5, 2.0, 2.5)
    assert np.isnan(statistics.spread(np.array([nan]))).all()


def test_loss_and_iterations_still_needed_are_compared_among_runs_still_going():
    losses = [{1: 3.0, 2: 9.0}, {1: 2.0, 2: 8.0}, {1: 1.0, 2: 7.0}, {1: 0.0}]
    found = correlations(losses, [5.0, 6.0, inf, 2.0])
    assert found[2] == pytest.approx(-1.0)  # the run that ended at 2 is out
    assert found[1] == pytest.approx(spearmanr([3, 2, 1, 0], [4, 5, 99, 1]).statistic)


# Tables


def test_the_worst_case_counts_are_the_printed_ones_or_a_failure(tmp_path):
    book = paper_book()
    experiment = book.experiments["table-1-a"]
    kept = Store(tmp_path)
    do_all(jobs_of(experiment, book.data), kept, data_dir=None, workers=1, show=False)
    piece = piece_of(experiment, book.data, Results(kept))
    assert column(piece.tables[""], "ours")[:5] == [2, 2, 16, 157, 308]
    assert piece.tables[""].failures == ()
    assert "154" in piece.sentences[0]
    wrong = replace(experiment, counts=(replace(experiment.counts[0], printed=3), *experiment.counts[1:]))
    (sentence,) = piece_of(wrong, book.data, Results(kept)).tables[""].failures
    assert sentence == "normalized-lr-gd, step size 100, table-1-a: 3 iterations expected, ours 2."


def test_large_steps_walk_with_the_batch_perceptron_and_small_ones_do_not(tmp_path):
    kept = Store(tmp_path)
    far, near = (Job("align", DIGITS, None, "lr-gd", gamma, 30) for gamma in (1.0, 1e6))
    do_all([far, near], kept, data_dir=None, workers=1, show=False)
    assert kept.read(near).columns["apart"].max() < 1e-9 and kept.read(near).facts["parted"] is None
    assert kept.read(far).columns["apart"].max() > 1 and kept.read(far).facts["parted"] == 2


AWKWARD = Table(
    'a <b>"title"</b> & 5 %',
    ("name_1", "μ | ‖θ̂‖"),
    [("<script>x</script>", 1.5), (None, inf), ("50 % & $", 300_001)],
    note="note",
)


def test_every_form_of_a_table_survives_awkward_text():
    assert "<script>" not in as_html(AWKWARD) and "&lt;script&gt;" in as_html(AWKWARD)
    latex = as_latex(AWKWARD)
    assert r"name\_1" in latex and r"50 \% \& \$" in latex and r"$\hat\theta$" in latex and r"$\infty$" in latex
    assert r"μ \| ‖θ̂‖" in as_markdown(AWKWARD)
    assert len({line.count("|") - line.count("\\|") for line in as_markdown(AWKWARD).splitlines()[2:7]}) == 1
    rows = list(csv.reader(io.StringIO(as_csv(AWKWARD))))
    assert rows[1:] == [["<script>x</script>", "1.5"], ["", "inf"], ["50 % & $", "300001"]]
    assert all(write(AWKWARD) for write in FORMS.values())


def test_a_terminal_takes_brackets_for_what_they_are():
    table = Table("[red]t[/red]", ("a",), [("[bold]x[/bold]",)], note="[i]n[/i]")
    text = FORMS["txt"](table)
    assert "[red]t[/red]" in text and "[bold]x[/bold]" in text and "[i]n[/i]" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (300_001, "300,001"),
        (inf, "∞"),
        (0.70710678, "0.707"),
        (12345.6, "12,346"),
        (1e9, "1e+09"),
        ((0.5, 0.75), "(0.5, 0.75)"),
        ("lazy", "lazy"),
    ],
)
def test_numbers_are_written_as_people_read_them(value, text):
    assert cell(value) == text


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (150, "2 min"), (7500, "2 h 5 min")])
def test_times_are_written_as_people_say_them(seconds, words):
    assert in_words(seconds) == words


# The report


def test_names_from_data_files_are_escaped_in_the_report(tmp_path):
    evil = '<img src=x onerror="alert(1)">'
    book = parse_book(
        {
            "data": {"mine": {"source": "two-samples", "title": evil}},
            "mine": {"kind": "curves", "title": evil, "claim": evil, "panels": [{"data": "mine", "step_sizes": [1]}]},
        },
        "my.toml",
        paper_book(),
    )
    text = reproduce(book, ["all"], out=tmp_path, workers=1, title=evil).path.read_text("utf-8")
    assert "onerror" in text
    assert "<img src=x" not in text
    assert not re.search(r'\b(src|href)="(?!#)', text)
    assert "default-src 'none'" in text and text.count("<script") == 1
    digest = base64.b64encode(hashlib.sha256(re.search("<script>(.*)</script>", text, re.DOTALL)[1].encode()).digest())
    assert f"script-src 'sha256-{digest.decode()}'" in text
    assert "<img src=x" not in (tmp_path / "report.md").read_text("utf-8")


def test_a_report_without_experiments_of_a_section_has_no_empty_one():
    text = page([("nine was expected.", "fail"), ("θ_1 is not 1.", "fail")], [], {}, [], {"profile": "quick"}, "t")
    assert text.count("<h2") == 1 and "Nine was expected." in text and "θ_1 is not 1." in text


def test_the_same_runs_give_the_same_files(tmp_path):
    book = paper_book()
    for place in ("a", "b"):
        reproduce(book, ["table-1-a", "finding-3"], out=tmp_path / place, workers=1)
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a" / "figures").iterdir())
    assert [p.suffix for p in files] == [".pdf", ".png", ".svg"]
    for name in [*files, "tables/table-1-a.csv", "tables/finding-3.tex"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    spec = json.loads((tmp_path / "a" / "specs" / "table-1-a.json").read_text())
    assert spec["jobs"][0]["file"] == "worst-case-1000-signed/first/normalized-lr-gd-100.npz"


# Theorems


def test_loss_and_gradient_reach_the_theorems_limits():
    table = theorems.unreliable_metrics((1.0, 1e4, 1e300))
    assert table.failures == ()
    assert table.rows[-1] == (inf, (0.5, 0.75), inf, sqrt(0.5), (1.0, 0.25), 0.0, 0.0, True)
    assert table.rows[1][2] == pytest.approx(1e4 / 8, rel=1e-12)  # ½ log(1 + exp(γ/4))


def test_a_step_size_too_small_for_the_limits_is_reported():
    assert theorems.unreliable_metrics((1.0, 2.0)).failures


def test_lr_gd_tends_to_the_batch_perceptron():
    table = theorems.reduction()
    apart = column(table, "largest ‖θ_t/γ - φ_t‖/‖φ_t‖")
    assert table.failures == ()
    assert apart[0] > 1e-3
    assert apart[-1] < 1e-6
    assert theorems.reduction((1.0,)).failures
