"""What the explorer's tour tells of its runs is what Python finds on the same data."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx

PAGE = Path(sx.__file__).parent / "exploring" / "page"
DRIVER = Path(__file__).with_name("explore_tour.mjs")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node to run the page's code")


@pytest.fixture(scope="module")
def steps() -> dict[str, Any]:
    """The steps of the tour, by title."""
    assert NODE is not None
    done = subprocess.run([NODE, DRIVER, PAGE], capture_output=True, text=True, check=True)
    return {step["title"]: step for step in json.loads(done.stdout)}


def walked(step: dict[str, Any], *, run: dict[str, Any] | None = None, **options: Any) -> Any:
    """Run A of a step, or another on its data, by Python."""
    asked = run or step
    X = np.array([[point["x"], point["y"]] for point in step["points"]], dtype=np.float64)
    y = np.array([point["label"] for point in step["points"]])
    return sx.solve(
        X, y, asked["method"], step_size=float(asked["gamma"]), fit_intercept=step["intercept"],
        max_iter=step["maxIter"], record="all", **options,
    )  # fmt: skip


def test_every_count_that_the_tour_promises_is_pythons(steps: dict[str, Any]) -> None:
    counted = 0
    for title, step in steps.items():
        runs = [None, step["compare"]]
        for run, count in zip(runs, step["counts"], strict=False):
            assert walked(step, run=run).n_iter == count, title
            counted += 1
    assert counted == 9


def test_what_the_tour_tells_of_the_irises_is_true(steps: dict[str, Any]) -> None:
    small, large = (walked(steps[title]) for title in ("Small steps creep", "Large steps leap"))
    assert (np.diff(small.trace["loss"]) < 0).all() and (np.diff(small.trace["grad_norm"]) < 0).all()
    assert large.trace["errors"][4] == 100 and 13 < small.n_iter / large.n_iter < 14
    slide = steps["Slide γ to infinity"]
    assert [walked(slide | {"gamma": gamma}).n_iter for gamma in (100.0, np.inf)] == [11, 11]
    told = steps["Less loss, and yet far off"]
    losses = [walked(told).trace["loss"][9], walked(told, run=told["compare"]).trace["loss"][9]]
    assert [f"{loss:.2f}" for loss in losses] == ["1.08", "0.42"]
    assert told["t"] == 9 and all(f"{loss:.2f}" in told["text"] for loss in losses) and "127" in told["text"]


def test_what_the_tour_tells_of_two_samples_is_true(steps: dict[str, Any]) -> None:
    run = walked(steps["Right before the goal the loss is worst"], iterates=True)
    assert run.iterates.tolist() == [[0, 0], [0.5, 0.75], pytest.approx([1, 0.25], rel=1e-9)]
    assert run.trace["loss"] == pytest.approx([0.69, 12.5, 1e-33], rel=0.4) and run.trace["errors"].tolist() == [
        2,
        1,
        0,
    ]
    assert run.trace["grad_norm"][1] == pytest.approx(0.71, abs=0.005)


def test_what_the_tour_tells_of_the_worst_case_is_true(steps: dict[str, Any]) -> None:
    step = steps["Divide by the weights instead"]
    most = sx.bounds(1000, 1.25**0.5, 0.5, step_size=100.0)
    assert (int(most["lr-gd"]), int(most["normalized-lr-gd"])) == (3147, 5)
    assert "3,147 and 5" in step["text"]
    assert walked(step | {"gamma": "inf"}).n_iter == 301


def test_what_the_tour_tells_of_the_angle_is_true(steps: dict[str, Any]) -> None:
    step = steps["It goes on by itself"]
    Z = np.array([[point["x"], point["y"], 1.0] for point in step["points"]])
    y = np.array([point["label"] for point in step["points"]])
    run = sx.solve(Z, y, "lr-gd", step_size=1.0, stop=None, max_iter=10_013, record="all", angle=sx.max_margin(Z, y))
    angles = np.degrees(run.trace["angle_low"][[13, 10_013]])
    assert [f"{angle:.1f}°" for angle in angles] == ["7.1°", "0.2°"]
    assert all(f"{angle:.1f}°" in step["text"] for angle in angles)


def test_the_tour_ends_on_data_that_can_be_broken(steps: dict[str, Any]) -> None:
    last = list(steps.values())[-1]
    assert last["title"].endswith("break it") and walked(last).status == "separated"
