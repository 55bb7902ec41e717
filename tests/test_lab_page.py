"""Claims about the report's page: what headings, figures, notes and the table of contents say."""

from __future__ import annotations

import html
import re
from math import inf
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from browsing import needs_browser
from separatrix.cli import app
from separatrix.lab.book import caps_on, paper_book, parse_book, quick_book
from separatrix.lab.figures import inline, legend_below, saved
from separatrix.lab.kinds import curves
from separatrix.lab.pieces import Piece
from separatrix.lab.report_page import page
from separatrix.lab.reproduce import reproduce
from separatrix.lab.samples import at_hand
from separatrix.lab.spec import IMAGES, Experiment
from separatrix.lab.titles import titled
from separatrix.reporting.table import prose

PANEL = {"data": "made", "metric": "loss", "methods": ["lr-gd", "batch-perceptron"], "step_sizes": [1, 100]}
MINE = {
    "data": {"made": {"source": "planted", "rows": 60, "columns": 4, "title": "made rows"}},
    "mine": {"kind": "curves", "title": "My <curves>", "panels": [PANEL]},
}


def absent(book):
    """The data entries where no image data set is here."""
    return {name: at_hand(entry, ()) for name, entry in book.data.items()}


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("figure-2", "LR+GD by step size beside the batch perceptron, digits 7/8"),
        ("figure-6", "The perceptrons (digits 7/8)"),
        ("table-1-b", "Table 1 b: iterations on imbalanced digits 7/8"),
        ("known-counts", "digits 7/8: counts that do not depend on the order of the rows"),
        ("table-1-a", "Table 1 a: iterations on the worst-case data, n = 1,000"),
    ],
)
def test_a_heading_names_the_data_that_stand_in(name, title):
    book = quick_book(paper_book())
    assert titled(book.experiments[name], absent(book)).title == title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("figure-2", "LR+GD by step size beside the batch perceptron, CIFAR-10, 1,000 rows"),
        ("figure-1", "Loss and accuracy of LR+GD by step size, CIFAR-10, 1,000 rows"),
        ("figure-6", "The perceptrons (1,000 rows each)"),
    ],
)
def test_a_heading_says_how_many_rows_the_quick_profile_takes(name, title):
    book = quick_book(paper_book())
    data = {key: at_hand(entry, IMAGES) for key, entry in book.data.items()}
    assert titled(book.experiments[name], data).title == title


def test_headings_of_the_paper_profile_are_the_books():
    book = paper_book()
    data = {key: at_hand(entry, IMAGES) for key, entry in book.data.items()}
    assert [titled(e, data) for e in book.experiments.values()] == list(book.experiments.values())


def test_panels_of_one_stand_in_are_drawn_once(tmp_path, monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    report = reproduce(paper_book(), ["figure-6", "figure-7", "figure-2", "figure-3"], out=tmp_path, workers=1)
    panels = {p.experiment.id: len(p.pictures[""].axes) for p in report.pieces}
    assert panels["figure-6"] == panels["figure-7"] == 2  # accuracy and errors
    text = report.path.read_text(encoding="utf-8")
    assert text.count("<figure>") == 5  # those of figure-6-seeds and figure-7-seeds too
    assert "(figure-2)" in text and "(figure-3)" in text and 'id="figure-3"' in text
    (named,) = re.findall("not at hand: (.*?)[.] To have them", report.notes[0])
    assert sorted(named.split(", ")) == ["CIFAR-10", "EuroSAT", "FashionMNIST"]


def test_experiments_of_which_nothing_must_come_out_claim_nothing(tmp_path):
    report = reproduce(parse_book(MINE, "my.toml", paper_book()), ["all"], out=tmp_path, workers=1)
    assert report.exact == 0
    assert "must come out" not in report.path.read_text(encoding="utf-8")
    table = {"kind": "counts", "title": "t", "data": ["made"], "exact": True}
    made = MINE | {"mine": table | {"counts": [{"method": "lr-gd", "step_size": 100, "printed": 1}]}}
    assert reproduce(parse_book(made, "my.toml"), ["all"], out=tmp_path, workers=1).exact == 1


def test_quick_on_one_line_is_said_on_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(
        'quick = { budget = 50, seeds = 2 }\n[data.d]\nsource = "planted"\n[mine]\nkind = "wins"\ntitle = "t"\n'
        'data = ["d"]\nmethods = ["batch-perceptron", "normalized-batch-perceptron"]\nseeds = 5\n',
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["reproduce", "my.toml", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    way = "[quick] in the file sets other caps, --profile paper has none."
    assert f"the quick profile caps budget 50, seeds 2; {way}" in done.output.splitlines()
    assert "(1 experiment, " in done.output and "must come out" not in done.output


def test_caps_that_change_nothing_are_not_told():
    book = parse_book(MINE | {"quick": {"seeds": 2, "budget": 10**9, "size": 5}}, "my.toml")
    assert caps_on(book, ["mine"]) == ""


def test_caps_on_budgets_are_told_by_their_step_sizes():
    caps = {"budget": 30_000, "budget_below_10": 10_000, "budget_below_1": 3_000}
    for step_sizes, some, words in (
        ([0.1, 1, 100], caps, "budget 30,000 (10,000 for γ < 10, 3,000 for γ < 1)"),
        ([1, 100], caps, "budget 30,000 (10,000 for γ < 10)"),
        ([0.1, 1, 100], {"budget_below_1": 7}, "budget (7 for γ < 1)"),
    ):
        mine = MINE["mine"] | {"panels": [PANEL | {"step_sizes": step_sizes}]}
        book = parse_book(MINE | {"quick": some, "mine": mine}, "my.toml")
        assert caps_on(book, ["mine"]) == words


@pytest.mark.parametrize(
    ("what", "found", "words"),
    [
        ("figure-6", (), "budget 30,000"),  # of the digits all rows, and curves have no iterations of their own
        ("figure-6", IMAGES, "rows 1,000, budget 30,000"),
        ("table-1-a", IMAGES, ""),
    ],
)
def test_only_caps_that_make_the_work_smaller_are_told(what, found, words):
    assert caps_on(paper_book(), [what], found) == words


def test_step_sizes_of_ones_own_are_told_beside_the_papers(tmp_path, monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    words = ["reproduce", "figure-3", "--step-size", "30", "--step-size", "inf", "--jobs", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    said = (
        "in place of the paper's step sizes (0.001, 0.01, 0.1, 1, 10 and 100) run those of --step-size (30 and ∞); "
        "claims are held against these alone."
    )
    assert said in done.output.splitlines()
    assert "the quick profile caps budget 30,000; --profile paper has none." in done.output.splitlines()
    assert said in (tmp_path / "report.md").read_text(encoding="utf-8")
    text = html.unescape((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert f'<p class="warn">I{said[1:]}</p>' in text


def test_step_sizes_that_are_the_experiments_own_need_no_word():
    assert parse_book(MINE, "my.toml").stepping(["mine"], [100.0, 1.0]).stepped == ""
    assert "--step-size (2);" in parse_book(MINE, "my.toml").stepping(["mine"], [2.0]).stepped


def test_quick_must_be_a_table():
    with pytest.raises(ValueError, match=r"my.toml: quick must be a table such as quick = { seeds = 5 }, got 5."):
        parse_book(MINE | {"quick": 5}, "my.toml")


def test_every_line_of_the_contents_leads_somewhere_and_every_part_is_in_it(tmp_path):
    report = reproduce(paper_book(), ["table-1-a", "finding-3"], out=tmp_path, workers=1, theorems=True)
    text = report.path.read_text(encoding="utf-8").partition("<script>")[0]
    links = re.findall(r'<a href="#([^"]+)">', text)
    parts = re.findall(r'<section id="([^"]+)">', text)
    assert sorted(links) == sorted(parts) == sorted(set(parts))
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= set(ids)


def line(gamma, y):
    return curves.Line("lr-gd", gamma, np.arange(len(y)), np.array(y), ended=True)


def test_what_a_figure_draws_says_what_it_is():
    chart = curves.Chart("rows", "loss", [line(1.0, [0.7, 0.5, 0.2]), line(100.0, [0.7, 3.0, 0.1])])
    figure = curves.draw([chart])
    drawn = inline(figure, "fig-0", 'a "title"')
    titles = [one.text for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}title")]
    ends = ["LR+GD, γ = 1: iteration 2, loss f(θ) 0.2", "LR+GD, γ = 100: iteration 2, loss f(θ) 0.1"]
    assert sorted(titles) == sorted(["LR+GD, γ = 1", "LR+GD, γ = 100", *ends])
    assert set(re.findall(r'id="(\w+)', drawn)) == {"fig"}
    assert "<!--" not in drawn and "<style" not in drawn


@needs_browser
@pytest.mark.parametrize("across", [2, 3])  # panels side by side; three fill the column as they are
@pytest.mark.parametrize("window", [390, 1280, 1920])
def test_a_larger_figure_fills_the_column_or_is_a_quarter_above_its_own_size(browser, tmp_path, across, window):
    figure = curves.draw([curves.Chart("rows", "loss", [line(1.0, [0.7, 0.5, 0.2])])] * across)
    piece = Piece(Experiment(id="a", kind="curves", title="a"), (), {"": figure}, {})
    text = page([], [piece], {"a": [inline(figure, "a-0", "a")]}, [], {}, "t")
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    shown = browser.new_page(viewport={"width": window, "height": 800})
    shown.goto((tmp_path / "index.html").as_uri())
    widths = "() => ['figure', 'figure svg'].map((one) => document.querySelector(one).getBoundingClientRect().width)"
    column, before = shown.evaluate(widths)
    shown.get_by_label("larger").check()
    _, after = shown.evaluate(widths)
    assert before <= column and after > before
    assert after == pytest.approx(max(column, 1.25 * 96 * figure.get_figwidth()), abs=2)
    assert shown.evaluate("document.documentElement.scrollWidth") == window  # the rest is in its own scroller
    shown.close()


def test_a_loss_of_zero_at_the_end_leaves_the_picture_whole():
    chart = curves.Chart("rows", "loss", [line(inf, [0.7, 0.0]), line(1.0, [0.7, 0.5])])
    assert saved(curves.draw([chart]), "svg").startswith(b"<?xml")  # and no warning


def test_a_legend_is_never_wider_than_its_figure():
    figure = Figure(figsize=(3.7, 2.7), layout="constrained")
    ax = figure.subplots()
    for k in range(5):
        ax.plot([1, 2], [1, k], label=f"γ = 10$^{{{k}}}$ and more words")
    legend_below(figure, [ax], columns=5)
    figure.canvas.draw()
    assert figure.legends[0].get_window_extent().width <= figure.bbox.width


def test_indices_of_running_text_stand_below_the_line():
    assert prose("‖θ_t/γ - θ̂_t‖ < n_iter") == "‖θ<sub>t</sub>/γ - θ̂<sub>t</sub>‖ &lt; n_iter"


def test_an_experiment_of_ones_own_keeps_its_title():
    own = Experiment(id="a", kind="curves", title="MNIST-like rows, 5 rows")
    assert titled(own, {}) == own
