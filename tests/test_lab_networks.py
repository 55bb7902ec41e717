"""Experiments with networks: jobs, tables and sentences, and what they say where PyTorch is missing."""

from __future__ import annotations

import sys
from math import inf

import numpy as np
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli import app
from separatrix.lab.book import our_book, parse_book
from separatrix.lab.kinds import network_growth, networks
from separatrix.lab.kinds.network_growth import Line
from separatrix.lab.kinds.networks import Net, lines_of, starts_of
from separatrix.lab.reproduce import reproduce
from separatrix.lab.samples import parity, three_rows

pytest.importorskip("matplotlib", reason="the report has pictures; matplotlib is in the extra [lab]")

ENTRIES = {
    "data": {
        "parity": {"source": "parity", "rows": 40, "columns": 4, "budget": 50, "budget_below_10": 50},
        "three-16": {"source": "three-rows", "columns": 16},
        "three-64": {"source": "three-rows", "columns": 64},
    },
    "networks-steps": {
        "kind": "networks",
        "title": "How they end",
        "data": ["parity"],
        "models": ["two-layer", "convolution"],
        "widths": [8],
        "methods": ["lr-gd"],
        "step_sizes": [1.0, 1e4],
        "units": [1.0],
        "large": 1e6,
        "seeds": 2,
        "iterations": 60,
    },
    "networks-columns": {
        "kind": "network-growth",
        "title": "Columns",
        "claim": "Fewer.",
        "data": ["three-16", "three-64"],
        "models": ["two-layer-linear"],
        "widths": [4],
        "methods": ["lr-gd"],
        "step_sizes": [],
        "units": [0.01],
        "seeds": 3,
        "iterations": 500,
    },
    "networks-start": {
        "kind": "networks",
        "title": "Single runs",
        "data": ["three-16"],
        "models": ["two-layer-tanh"],
        "widths": [4],
        "methods": ["normalized-lr-gd"],
        "step_sizes": [0.1],
        "starts": 2,
        "iterations": 500,
    },
}


def book():
    return parse_book(ENTRIES, "networks.toml")


def test_a_network_is_told_by_its_word():
    net = Net("two-layer-tanh", 16, 0.01, 3)
    assert Net.of(net.word) == net
    assert Net.of(Net("convolution", 4, 1e6, 0).word).unit == 1e6


def test_the_lines_of_an_entry_are_plain_steps_and_then_sharp_weights_at_every_unit():
    experiment = book().experiments["networks-steps"]
    steps = [("lr-gd", 1.0, 1.0), ("lr-gd", 1e4, 1e4), ("lr-gd", 1e6, 1.0), ("lr-gd", inf, 1.0)]
    assert lines_of(experiment) == steps
    assert starts_of(experiment) == [(0, 0), (1, 1)]
    assert starts_of(book().experiments["networks-start"]) == [(None, 0), (None, 1)]


def test_parity_is_the_product_of_two_signs_and_a_seed_draws_it():
    X, y = parity(50, 4, 7)
    assert set(np.unique(X)) == {-1.0, 1.0} and (X[:, 0] * X[:, 1] == y).all()
    assert (parity(50, 4, 7)[0] == X).all() and (parity(50, 4, 8)[0] != X).any()


@pytest.mark.parametrize("d", [16, 64, 256, 1024])
def test_three_rows_take_the_batch_perceptron_three_eighths_of_d(d):
    X, y = three_rows(d)
    assert sx.solve(X, y, "batch-perceptron").n_iter == 3 * d // 8 + 1
    margin = sx.max_margin(X, y)
    assert margin.lower == pytest.approx(1.0) and np.linalg.norm(X, axis=1).max() ** 2 == pytest.approx(d)


def test_an_exponent_comes_with_an_interval_and_not_without_finite_medians():
    sizes = np.array([10.0, 100.0, 1000.0])
    exact = Line("m", "lr-gd", inf, None, np.array([[4.0, 40.0, 400.0]] * 5))
    assert exact.exponent(sizes) == pytest.approx((1.0, 1.0, 1.0))
    noisy = Line("m", "lr-gd", inf, None, np.array([[4.0, 8.0, 16.0 * k] for k in (1, 2, 3, 4, 5)]))
    b, low, high = noisy.exponent(sizes)
    assert low < b < high
    lost = Line("m", "lr-gd", inf, None, np.array([[4.0, 40.0, inf]] * 5))
    assert lost.exponent(sizes) is None


def test_networks_are_in_the_second_report():
    kinds = {one.kind for one in our_book("beyond").experiments.values()}
    assert {"networks", "network-growth"} <= kinds


def test_without_pytorch_the_report_is_made_and_says_what_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "torch_installed", lambda: False)
    monkeypatch.setattr(network_growth, "torch_installed", lambda: False)
    report = reproduce(book(), ["all"], profile="paper", out=tmp_path, workers=1)
    assert not report.failures
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.count("PyTorch is not installed") == 4  # of each experiment, and once above all
    assert not report.tables and [note.split(",")[0] for note in report.notes] == ["PyTorch is not installed"]
    assert "[torch]'" in text
    assert not (tmp_path / "runs").exists()


def test_without_pytorch_the_command_says_so_on_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = CliRunner().invoke(app, ["reproduce", "beyond", "networks-steps", "--jobs", "1", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (said,) = (line for line in done.output.splitlines() if "PyTorch" in line)
    assert said.endswith("and run this again.") and "[torch]'" in said


@pytest.mark.skipif(not networks.torch_installed(), reason="PyTorch is not installed: networks are its extra [torch]")
def test_networks_run_and_show_the_linear_model_beside_them(tmp_path):
    report = reproduce(book(), ["all"], profile="paper", out=tmp_path, workers=1)
    steps, columns, start = report.pieces
    table = steps.tables[""]
    assert [row[1] for row in table.rows].count("linear") == 4
    assert all("convolution" not in row[1] for row in table.rows)  # signs are no images
    assert {row[5] for row in table.rows if row[1] != "linear" and row[3] == 1.0} == {"2 of 2"}
    assert len(steps.tables["runs"].rows) == 8
    assert any("over 2 seeds" in told for told in steps.sentences)
    assert any("Single runs: 2 initialisations" in told for told in start.sentences)
    assert [row[4] for row in columns.tables[""].rows] == ["6 of 6", "6 of 6"]
    assert columns.tables[""].rows[-1][5:7] == (7.0, 25.0)
    assert "columns d" in columns.pictures[""].axes[0].get_xlabel()
    before = sorted((tmp_path / "runs").rglob("*.npz"))
    stamps = [path.stat().st_mtime_ns for path in before]
    again = reproduce(book(), ["all"], profile="paper", out=tmp_path, workers=1)
    assert [path.stat().st_mtime_ns for path in before] == stamps  # nothing is run twice
    assert [piece.sentences for piece in again.pieces] == [piece.sentences for piece in report.pieces]
