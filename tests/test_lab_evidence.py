"""What experiments show is what their runs say: sentences for or against, panels, captions, every count in a file."""

from __future__ import annotations

import csv
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from separatrix import solve
from separatrix.lab.book import paper_book, parse_book
from separatrix.lab.kinds import curves, evidence, jobs_of
from separatrix.lab.kinds.powers import mean_share_wrong
from separatrix.lab.kinds.shared import by_share, rows_in_words, walk_job
from separatrix.lab.pieces import piece_of
from separatrix.lab.reproduce import reproduce
from separatrix.lab.results import Results
from separatrix.lab.samples import sample
from separatrix.lab.spec import DataEntry, Panel
from separatrix.lab.store import Result, Store
from separatrix.lab.workers import do_all
from separatrix.plot import STEPS, shade
from separatrix.reporting import statistics
from separatrix.walking.methods import POWER

DIGITS = DataEntry("digits", "digits", "digits 7/8", classes=(7, 8), budget=2000)
ENTRIES = {"data": {"d": {"source": "digits", "title": "digits 7/8", "budget": 2000, "budget_below_1": 300}}}


def run(n_iter, separated, t=(), **columns):
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Result({"n_iter": n_iter, "separated": separated}, {"iteration": np.array(t)} | arrays)


def shown(tmp_path, **entry):
    """The piece of one experiment on the digits."""
    book = parse_book(ENTRIES | {"mine": {"title": "mine"} | entry}, "my.toml")
    experiment, kept = book.experiments["mine"], Store(tmp_path)
    do_all(jobs_of(experiment, book.data), kept, data_dir=None, workers=1, show=False)
    return piece_of(experiment, book.data, Results(kept))


# Sentences


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        (run(100, True), run(50, True), "sooner"),
        (run(50, True), run(100, True), "later"),
        (run(100, True), run(105, True), "level"),
        (run(100, False), run(50, True), "sooner"),  # the other had spent as many and was not there
        (run(40, False), run(50, True), ""),
        (run(50, True), run(60, False), "later"),
        (run(50, True), run(40, False), ""),
        (run(50, False), run(50, False), ""),
    ],
)
def test_two_runs_are_compared_only_where_budgets_let_them(a, b, order):
    assert evidence.order_of(a, b) == order


def test_larger_steps_are_for_the_claim_where_all_known_pairs_say_so():
    runs = [(0.1, run(500, False)), (1.0, run(300, True)), (10.0, run(100, True))]
    told = evidence.larger_is_sooner(runs)
    assert "for the claim, of 3 pairs of step sizes the larger needs fewer iterations in 3" in told
    assert "γ = 1 after 300, γ = 10 after 100; budget spent: γ = 0.1 (500)" in told
    assert "against the claim" in evidence.larger_is_sooner([(1.0, run(100, True)), (10.0, run(300, True))])
    assert "neither for nor against" in evidence.larger_is_sooner([(1.0, run(9, False)), (10.0, run(300, True))])


def test_losses_are_compared_at_common_iterations_before_either_separates():
    small = run(4, True, t=[0, 1, 2, 3, 4], loss=[9, 1, 1, 1, 9])
    large = run(9, True, t=[0, 1, 2, 4, 9], loss=[0, 2, 0, 0, 0])
    assert evidence.share_above(small, large, "loss") == 0.5  # at t = 1 and 2 alone
    assert evidence.share_above(small, run(1, True, t=[0, 1], loss=[0, 0]), "loss") is None


def test_a_claim_may_hold_in_part():
    assert [by_share(share)[:7] for share in (1.0, 0.7, 0.5, 0.4)] == ["For the", "Partly ", "Partly ", "Against"]
    assert by_share(0.96, 0.95) == "For the claim"


def test_the_limit_is_alike_in_counts_and_in_accuracy():
    limit = run(100, True, t=[0, 1, 2], accuracy=[0.0, 0.5, 1.0])
    near = run(105, True, t=[0, 1, 2], accuracy=[0.0, 0.5, 1.0])
    assert evidence.like_the_limit(100.0, near, limit).startswith("For the claim")
    far = run(300, True, t=[0, 1, 2], accuracy=[0.0, 0.5, 1.0])
    assert evidence.like_the_limit(100.0, far, limit).startswith("Partly")
    other = run(300, True, t=[0, 1, 2], accuracy=[0.0, 0.1, 0.2])
    told = evidence.like_the_limit(100.0, other, limit)
    assert told.startswith("Against") and "300 and 100 iterations, +200.0 %" in told and "0.6 in the median" in told


@pytest.mark.parametrize(
    ("check", "step_sizes", "said"),
    [
        ("limit", [inf], "it is about the largest finite step size, and there is none here."),
        ("step-sizes", [inf], "it is about pairs of finite step sizes, and there is none here."),
        ("step-sizes", [30, inf], "it is about pairs of finite step sizes, and the only one here is γ = 30."),
    ],
)
def test_step_sizes_that_leave_nothing_to_compare_are_neither_for_nor_against(tmp_path, check, step_sizes, said):
    panels = [{"data": "d", "methods": ["lr-gd", "batch-perceptron"], "step_sizes": step_sizes}]
    piece = shown(tmp_path, kind="curves", panels=panels, check=check)
    assert piece.sentences == (f"Neither for nor against the claim: {said}",)


def test_losses_of_runs_that_separate_at_once_are_neither_higher_nor_lower():
    runs = [(gamma, run(1, True, t=[0, 1], loss=[1, 0], grad_norm=[1, 0])) for gamma in (1.0, 10.0)]
    assert "neither for nor against the claim" in evidence.larger_is_higher(runs)


def test_every_figure_of_the_paper_has_its_claim_checked():
    for experiment in paper_book().experiments.values():
        if experiment.kind == "curves":
            assert experiment.check, experiment.id


def test_an_unknown_check_is_one_sentence():
    entry = {"kind": "curves", "title": "x", "panels": [{"data": "d"}], "check": "step-size"}
    with pytest.raises(ValueError, match=r"unknown check 'step-size' \(did you mean 'step-sizes'"):
        parse_book(ENTRIES | {"mine": entry}, "my.toml")


def test_who_is_ahead_follows_from_the_counts(tmp_path):
    methods = ["batch-perceptron", "normalized-batch-perceptron"]
    panels = [{"data": "d", "methods": methods}]
    both = {
        name: shown(tmp_path, kind="curves", panels=panels, check="ahead", ahead=name, ahead_on=1).sentences[0]
        for name in methods
    }
    assert sorted(words.split(":")[0] for words in both.values()) == ["Against the claim", "For the claim"]


# Pictures


def test_accuracy_has_its_errors_beside_it():
    book = paper_book()
    metrics = {k: [p.metric for p in curves.panels_of(book.experiments[f"figure-{k}"])] for k in (1, 2, 4, 6)}
    assert metrics[1] == ["loss", "accuracy", "errors"]
    assert metrics[2] == ["accuracy", "accuracy", "errors", "errors"]
    assert metrics[4] == ["accuracy", "errors", "loss", "grad_norm"]
    assert metrics[6] == ["accuracy"] * 3 + ["errors"] * 3
    plain = replace(book.experiments["figure-1"], panels=(Panel("mnist", "loss"),))
    assert curves.panels_of(plain) == plain.panels


def test_a_pair_shares_its_axes_and_marks_say_how_runs_ended(tmp_path):
    panels = [
        {"data": "d", "methods": ["lr-gd"], "step_sizes": [0.001, 10.0]},
        {"data": "d", "methods": ["batch-perceptron"]},
    ]
    piece = shown(tmp_path, kind="curves", panels=panels)
    axes = piece.pictures[""].axes
    assert len(axes) == 4
    assert axes[0].get_xlim() == axes[1].get_xlim() == axes[2].get_xlim()
    assert axes[0].get_ylim() == axes[1].get_ylim() and axes[2].get_ylim() == axes[3].get_ylim()
    assert axes[2].get_yscale() == "symlog" and axes[2].get_ylim()[0] == 0
    ends = {line.get_marker() for line in axes[0].lines} - {"None"}
    assert ends == {"x", "o"}
    legend = [text.get_text() for text in piece.pictures[""].legends[0].get_texts()]
    assert legend[-2:] == ["separated", "budget spent"] and legend.count("Batch Perceptron") == 1


def test_neighbouring_step_sizes_are_apart_in_colour():
    places = np.linspace(0, 1, len(STEPS))
    rgb = np.array([shade(place) for place in places])
    assert [tuple(round(255 * c) for c in row) for row in rgb[[0, -1]]] == [(45, 10, 78), (200, 16, 46)]
    apart = np.linalg.norm(np.diff(rgb, axis=0), axis=1)
    assert apart.min() > 0.3 and apart[-1] > 0.6  # γ = 10 and γ = 100 swing alike and lie on each other


def test_differences_of_exactly_zero_are_drawn_at_a_place_of_their_own(tmp_path):
    piece = shown(tmp_path, kind="alignment", data=["d"], step_sizes=[1.0, 1e300], iterations=20)
    (ax,) = piece.pictures[""].axes
    last = [line for line in ax.lines if len(line.get_xdata()) > 1][-1]
    assert (last.get_ydata() == 0).all() and len(last.get_ydata()) == 20
    assert ax.get_ylim()[0] == 0
    assert np.isfinite(ax.transData.transform(last.get_xydata())).all()
    assert "equal to the last bit" in piece.caption


def test_paths_that_are_the_same_at_every_step_size_speak_for_the_claim(tmp_path):
    piece = shown(tmp_path, kind="alignment", data=["d"], step_sizes=[1e299, 1e300], iterations=20)
    (sentence,) = piece.sentences
    assert sentence.startswith("For the claim") and " difference is 0 on " in sentence


def test_a_longer_run_of_another_experiment_shows_no_more_than_was_asked_for(tmp_path):
    entry = {"kind": "alignment", "data": ["d"], "step_sizes": [1.0, 1e4]}
    alone = shown(tmp_path / "a", **entry, iterations=5)
    longer = shown(tmp_path / "b", **entry, iterations=60)
    after = shown(tmp_path / "b", **entry, iterations=5)
    assert alone.tables[""].rows == after.tables[""].rows != longer.tables[""].rows
    assert alone.sentences == after.sentences


def test_lines_of_equal_counts_have_marks_and_dashes_of_their_own(tmp_path):
    methods = ["normalized-batch-perceptron", "perceptron", "normalized-lr-gd"]
    (ax,) = shown(tmp_path, kind="growth", methods=methods, sizes=[10, 100], step_sizes=[100.0]).pictures[""].axes
    assert len({tuple(line.get_ydata()) for line in ax.lines}) == 1
    assert len({line.get_marker() for line in ax.lines}) == len({line.get_markersize() for line in ax.lines}) == 3


def test_captions_say_which_rows_were_taken():
    some = "the first 100 rows in file order, all where there are fewer, pixels in [-1, 1]"
    assert rows_in_words(replace(DIGITS, rows=100)) == some
    assert "drawn at random, seeds 0 to 19" in rows_in_words(replace(DIGITS, rows=100), 20)
    uneven = replace(DIGITS, fraction=0.1, repeat=10, scaling="unit")
    assert rows_in_words(uneven) == (
        "10 % of all rows, drawn at random, seed 0, those of the larger class number 10 times, pixels in [0, 1]"
    )
    assert "file order" in rows_in_words(DataEntry("w", "worst-case")) and "pixels" not in rows_in_words(
        DataEntry("w", "worst-case")
    )


def test_a_figure_of_repeated_rows_says_how_they_are_counted():
    book = paper_book()
    told = {k: curves.caption(book.experiments[f"figure-{k}"], book.data) for k in (6, 7)}
    assert "once among the rows on the wrong side" in told[7] and "once among" not in told[6]
    X, y, often = np.array([[1.0, 0.0], [-1.0, 0.2]]), np.array([1, -1]), np.array([1.0, 10.0])
    trace = solve(X, y, "lr-gd", theta0=[1.0, 9.0], sample_weight=often, max_iter=0).trace
    assert trace["errors"][0] == 1 and trace["accuracy"][0] == pytest.approx(1 / 11)


# Kinds


def test_every_run_of_every_seed_is_in_a_file_and_not_on_the_page(tmp_path):
    entry = {"kind": "counts", "title": "mine", "data": ["d"], "seeds": 3}
    counts = [{"method": "batch-perceptron", "step_size": inf}, {"method": "lr-gd", "step_size": 10.0}]
    report = reproduce(
        parse_book(ENTRIES | {"mine": entry | {"counts": counts}}, "my.toml"), ["mine"], out=tmp_path, workers=1
    )
    rows = list(csv.reader((tmp_path / "tables" / "mine-seeds.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["data", "seed", "order", "method", "power", "step size", "iterations", "budget"]
    assert len(rows) == 7 and [row[1] for row in rows[1:]] == ["0", "0", "1", "1", "2", "2"]
    middle = float(np.median([int(row[6]) for row in rows[1:] if row[3] == "lr-gd"]))
    assert middle == report.pieces[0].tables[""].rows[1][2]
    assert not (tmp_path / "tables" / "mine-seeds.md").exists()
    assert len(report.tables) == 1
    for name in ("report.md", "index.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "tables/mine-seeds.csv" in text and "every run" not in text
        assert "drawn at random, seeds 0 to 2" in text


def test_wins_are_counted_within_each_subsample(tmp_path):
    methods = ["batch-perceptron", "normalized-batch-perceptron"]
    ahead = {"ahead": "normalized-batch-perceptron", "ahead_on": 1}
    piece = shown(tmp_path, kind="wins", data=["d"], methods=methods, seeds=6, **ahead)
    (row,) = piece.tables[""].rows
    book = {name: [] for name in methods}
    for line in piece.tables["seeds"].rows:
        book[line[3]].append(line[6])
    batch, normal = (np.array(book[name]) for name in methods)
    assert row[1:4] == ((normal < batch).sum(), (batch < normal).sum(), (batch == normal).sum())
    assert row[4] == np.median(normal) and row[6] == np.median(batch)
    assert row[8] == pytest.approx(np.median(batch / normal))
    assert piece.sentences[0].startswith("For" if row[9][0] > 1 else "Against")


def test_another_order_of_the_rows_is_another_run_of_the_same_rows(tmp_path):
    other = replace(DIGITS, shuffle=1)
    first, second = sample(DIGITS, None), sample(other, None)
    order = np.random.default_rng(1).permutation(len(first.y))
    assert np.array_equal(second.X, first.X[order]) and np.array_equal(second.y, first.y[order])
    jobs = [walk_job(entry, None, "lr-gd", 10.0) for entry in (DIGITS, other)]
    assert jobs[0].place != jobs[1].place
    assert "shuffle" not in jobs[0].describe()["data"] and jobs[1].describe()["data"]["shuffle"] == 1
    counts = [{"method": "batch-perceptron", "step_size": inf}]
    piece = shown(tmp_path, kind="orders", data=["d"], counts=counts, seeds=3)
    ((*_, ours, middle, least, most, different, _),) = piece.tables[""].rows
    assert ours == middle == least == most and different == 1  # whole numbers: no order shows
    assert piece.sentences[0].startswith("The same in all 3 orders: batch-perceptron")


def test_scalings_put_the_same_rows_side_by_side_and_judge_by_the_most_extreme_rank(tmp_path):
    data = {name: {"source": "worst-case", "rows": 50, "scaling": name} for name in ("signed", "unit")}
    counts = [{"method": "perceptron", "step_size": inf, "printed": 2}]
    entry = {"kind": "scalings", "title": "x", "data": list(data), "seeds": 60, "counts": counts}
    book = parse_book({"data": data, "mine": entry}, "my.toml")
    kept = Store(tmp_path)
    do_all(jobs_of(book.experiments["mine"], book.data), kept, data_dir=None, workers=1, show=False)
    usual = piece_of(book.experiments["mine"], book.data, Results(kept))
    assert [row[2:4] for row in usual.tables[""].rows] == [("pixels in [-1, 1]", 2), ("pixels in [0, 1]", 2)]
    assert usual.sentences[0].startswith("The ranks rule out none")
    odd = replace(book.experiments["mine"], counts=(replace(book.experiments["mine"].counts[0], printed=9),))
    assert piece_of(odd, book.data, Results(kept)).sentences[0].startswith("The ranks speak against pixels in [-1, 1]")


def test_ranks_look_at_gradients_and_at_large_steps_alone(tmp_path):
    steps = [0.1, 1.0, 3.0, 10.0, 30.0]
    piece = shown(tmp_path, kind="ranks", data=["d"], step_sizes=steps, large=3.0, seeds=2)
    whats = [(row[0], row[1]) for row in piece.tables[""].rows]
    every, large = "0.1, 1, 3, 10, 30", "3, 10, 30"
    norm = "the norm of the gradient"
    assert whats == [("the loss", every), ("the loss", large), (norm, every), (norm, large)]
    for row, sentence in zip(piece.tables[""].rows, piece.sentences, strict=True):
        assert sentence.startswith("For the claim" if row[2] < 0 else "Against the claim")
        assert f"{row[2]:+.2f}" in sentence


# Statistics


def test_the_medians_interval_is_made_of_order_statistics_and_covers():
    counts = np.arange(1.0, 21.0)
    assert statistics.median_interval(counts) == (6.0, 15.0)  # the 6th and the 15th of 20, 95.9 %
    assert statistics.median_interval(np.array([1.0, 2.0])) == (0.0, inf)
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        low, high = statistics.median_interval(rng.exponential(size=20))
        inside += low <= np.log(2) <= high
    assert inside >= 370


# Powers


def test_powers_are_measured_against_the_better_end(tmp_path):
    powers = [0.0, 0.5, POWER, 1.0]
    piece = shown(tmp_path, kind="powers", data=["d"], methods=["tempered-batch-perceptron"], powers=powers, seeds=6)
    ((_, wrong, *medians, best, gain),) = piece.tables[""].rows
    counts = {power: [row[6] for row in piece.tables["seeds"].rows if row[4] == power] for power in powers}
    assert medians == [np.median(counts[power]) for power in powers]
    end = min(medians[0], medians[-1])
    assert best == powers[int(np.argmin(medians))] and gain == pytest.approx(min(medians) / end)
    assert 0 < wrong < 0.5
    assert piece.sentences[0].startswith("For" if medians[2] <= end else "Against")
    assert f"p = {best:g} on 1" in piece.sentences[-1]
    ends = {"batch-perceptron": 1.0, "normalized-batch-perceptron": 0.0}
    for seed in range(6):
        rows = sample(replace(DIGITS, classes=None, rows=None), seed)
        for method, power in ends.items():
            assert solve(rows.X, rows.y, method).n_iter == counts[power][seed]


def test_the_share_of_wrong_rows_is_a_mean_over_iterations_not_over_records():
    walked = run(10, True, t=[0, 1, 2, 10], accuracy=[0.0, 0.5, 0.9, 1.0])
    assert mean_share_wrong(walked) == pytest.approx((1.0 + 0.5 + 8 * 0.1) / 10)


def test_a_power_is_part_of_what_identifies_a_run_and_runs_without_one_keep_their_names():
    job = walk_job(DIGITS, None, "tempered-batch-perceptron", inf)
    assert "power" not in job.describe() and job.name == "tempered-batch-perceptron"
    half, other = (replace(job, power=power) for power in (0.5, 0.75))
    assert half.name == "tempered-batch-perceptron-p0.5" and half.describe() != other.describe() != job.describe()


def test_a_power_outside_0_to_1_is_one_sentence():
    entry = {"kind": "powers", "title": "x", "data": ["d"], "methods": ["tempered-batch-perceptron"], "seeds": 2}
    with pytest.raises(ValueError, match="powers are from 0 to 1, got 2"):
        parse_book(ENTRIES | {"mine": entry | {"powers": [0, 2]}}, "my.toml")


def test_several_values_of_one_subsample_are_judged_together():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(600):
        shared = rng.normal(size=(40, 1))
        rows = shared + 0.3 * rng.normal(size=(40, 4))  # columns that depend on each other
        p.append(statistics.joint_p(rows[0], rows[1:]))
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p) <= level) <= level + 3 * (level / 600) ** 0.5
        assert np.mean(np.array(p) <= level) >= level - 0.03 - 3 * (level / 600) ** 0.5
    assert statistics.joint_p(np.array([9.0, 0.5]), np.linspace(0, 1, 40).reshape(20, 2)) == 3 / 21  # first and last
