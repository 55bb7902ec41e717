"""The explorer's page in Chromium: points under a hand, the step size, time, the second run, long runs."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import separatrix as sx
from browsing import PHONE, Seen, needs_browser

pytestmark = needs_browser

FOUR = "d=drawn&p=0_0m~1_0m~3_2p~4_3p&names=x~y~plus~minus&m=lr-gd&g=1&i=1"
CROSS = "d=drawn&p=0_0m~2_2m~0_2p~2_0p&names=x~y~plus~minus&m=lr-gd&g=1&i=1"


def solved(seen: Seen, method: str, gamma: float, **options):
    """The same run by Python."""
    points = np.array(seen.points)
    step = {} if math.isinf(gamma) and "gd" not in method else {"step_size": gamma}
    return sx.solve(
        points[:, :2], points[:, 2], method, fit_intercept=seen.state("intercept"), max_iter=10_000, **step, **options
    )  # fmt: skip


def in_plane(seen: Seen, place: tuple[float, float]) -> np.ndarray:
    """The plane's coordinates of a place in the window."""
    box = seen.page.locator("#plane-canvas").bounding_box()
    view = seen.page.evaluate("separatrix.plane.view()")
    return np.array([
        view["cx"] + (place[0] - box["x"] - view["width"] / 2) / view["sx"],
        view["cy"] - (place[1] - box["y"] - view["height"] / 2) / view["sy"],
    ])  # fmt: skip


# The page alone


def test_the_page_opens_from_disk_offline_and_says_and_asks_for_nothing(visit):
    seen = visit()
    assert seen.page.title() == "separatrix: watch a line separate"
    assert len(seen.page.workers) == 1
    assert seen.film()["separatedAt"] == 136  # and `visit` looks at what was said and asked for


def test_a_page_that_says_or_asks_for_something_is_noticed(browser, tmp_path):
    (tmp_path / "page.html").write_text('<img src="https://example.org/x.png"><script>console.log("!"); x()</script>')
    context = browser.new_context(offline=True)
    seen = Seen(context.new_page())
    seen.page.goto((tmp_path / "page.html").as_uri())
    assert "!" in seen.said and any("x is not defined" in line for line in seen.said)
    assert "https://example.org/x.png" in seen.asked
    context.close()


# Points under a hand


def test_a_click_adds_a_point_where_it_is_of_the_class_that_is_chosen(visit):
    seen = visit(FOUR)
    for tool, label, by in (("Add plus", 1, 150), ("Add minus", -1, -150)):
        seen.tool(tool)
        x, y = seen.ground()
        seen.page.mouse.click(x + by, y)
        assert seen.points[-1][2] == label
        grain = 4 / seen.page.evaluate("separatrix.plane.view().sx")
        assert np.abs(np.array(seen.points[-1][:2]) - in_plane(seen, (x + by, y))).max() < grain
    assert len(seen.points) == 6
    assert all(len(str(x)) < 8 for x, _, _ in seen.points)  # short decimals: page, link and script share the doubles
    assert seen.film()["separatedAt"] == solved(seen, "lr-gd", 1.0).n_iter


def test_a_point_is_dragged_by_the_mouse_and_the_drag_is_one_step_back(visit):
    seen = visit(FOUR)
    before, start = seen.points, seen.place(2)
    seen.drag(start, (-60, 45))
    assert [one for k, one in enumerate(seen.points) if k != 2] == before[:2] + before[3:]
    assert np.hypot(*(np.array(seen.place(2)) - start - (-60, 45))) < 2
    assert seen.film()["separatedAt"] == solved(seen, "lr-gd", 1.0).n_iter
    seen.page.keyboard.press("Control+z")
    assert seen.points == before
    seen.page.keyboard.press("Control+y")
    assert seen.points != before
    seen.page.get_by_role("button", name="Undo").click()
    assert seen.points == before


def test_the_ground_is_dragged_and_ctrl_and_the_wheel_zoom_but_no_point_moves(visit):
    seen = visit(FOUR)
    before, start = seen.points, seen.place(0)
    seen.drag(seen.ground(), (50, -30))
    assert np.allclose(np.array(seen.place(0)) - start, (50, -30))
    seen.page.keyboard.down("Control")
    seen.page.mouse.wheel(0, -100)
    seen.page.keyboard.up("Control")
    scale = seen.page.evaluate("separatrix.plane.view().sx")
    seen.page.wait_for_function("() => separatrix.plane.view().sx > 1")
    seen.page.get_by_role("button", name="Fit all points").click()
    seen.page.wait_for_function("scale => separatrix.plane.view()?.sx < scale", arg=scale)
    assert np.allclose(seen.place(0), start) and seen.points == before


def test_points_are_flipped_and_deleted_one_by_one_and_along_a_stroke(visit):
    seen = visit(FOUR)
    before = seen.points
    seen.tool("Flip")
    seen.page.mouse.click(*seen.place(1))
    assert seen.points == [before[0], (1, 0, 1), *before[2:]]
    seen.tool("Delete")
    seen.page.mouse.click(*seen.place(0))
    assert seen.points == [(1, 0, 1), *before[2:]]
    start, end = np.array(seen.place(1)), np.array(seen.place(2))
    seen.page.mouse.move(*start)
    seen.page.mouse.down()
    for k in range(1, 21):
        seen.page.mouse.move(*(start + (end - start) * k / 20))
        seen.frame()
    seen.page.mouse.up()
    assert seen.points == [(1, 0, 1)]
    for _ in range(3):
        seen.page.get_by_role("button", name="Undo").click()
    assert seen.points == before


def test_a_stroke_of_the_brush_is_a_cloud_and_one_step_back(visit):
    seen = visit("d=drawn&p=&names=x~y~circles~triangles&m=lr-gd&g=1&i=1")
    assert seen.page.locator("#numbers h2").inner_text() == "No points yet"
    box, scale = seen.page.locator("#plane-canvas").bounding_box(), seen.page.evaluate("separatrix.plane.view().sx")
    for tool, across in (("Brush circles", 0.25), ("Brush triangles", 0.7)):
        seen.tool(tool)
        seen.drag((box["x"] + across * box["width"], box["y"] + 150), (0, 160))
    labels = [label for *_, label in seen.points]
    assert labels.count(1) >= 4 and labels.count(-1) >= 4
    assert seen.page.evaluate("separatrix.plane.view().sx") == scale  # the window stays that of the first stroke
    assert seen.film()["separatedAt"] == solved(seen, "lr-gd", 1.0).n_iter
    seen.page.keyboard.press("Control+z")
    assert {label for *_, label in seen.points} == {1}
    seen.page.keyboard.press("Control+z")
    assert seen.points == []


def test_a_finger_adds_and_drags_points_and_two_fingers_move_the_window(visit):
    seen = visit(FOUR, **PHONE)
    before = seen.points
    x, y = seen.place(2)
    seen.touch("touchStart", (x + 8, y + 8))  # a finger is not so exact
    for k in range(1, 5):
        seen.touch("touchMove", (x + 8 - 10 * k, y + 8 + 12 * k))
    seen.touch("touchEnd")
    assert np.hypot(*(np.array(seen.place(2)) - (x - 40, y + 48))) < 2
    dragged = seen.points
    assert dragged[:2] == before[:2]
    (x, y), scale = seen.place(0), seen.page.evaluate("separatrix.plane.view().sx")
    seen.touch("touchStart", (x, y))
    seen.touch("touchStart", (x, y), (x + 80, y))
    for k in range(1, 5):
        seen.touch("touchMove", (x - 5 * k, y), (x + 80 + 10 * k, y))
    seen.touch("touchEnd")
    assert seen.points == dragged
    assert seen.page.evaluate("separatrix.plane.view().sx") > 1.2 * scale
    seen.page.get_by_role("button", name="Fit all points").tap()
    seen.page.get_by_role("toolbar").get_by_role("button", name="Add plus").tap()
    seen.page.touchscreen.tap(*seen.ground())
    assert len(seen.points) == 5 and seen.points[-1][2] == 1


# Step size, time, runs


def test_the_slider_goes_to_infinity_where_gradient_descent_is_the_batch_perceptron(visit):
    seen = visit("d=iris-setosa&i=1&m=lr-gd&g=1")
    slider = seen.page.get_by_role("slider", name="Step size γ on a logarithmic scale up to ∞")
    box = slider.bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    seen.page.mouse.down()
    for share in (0.6, 0.8, 0.999):
        seen.page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    seen.page.mouse.up()
    assert seen.state("gamma") == math.inf
    assert seen.page.locator("#gamma").input_value() == "∞"
    assert seen.film()["separatedAt"] == solved(seen, "batch-perceptron", math.inf).n_iter == 11
    assert "At γ = ∞ this is the Batch Perceptron" in seen.page.locator("#controls").inner_text()
    slider.press("Home")
    assert seen.state("gamma") == 0.001
    slider.press("End")
    assert seen.state("gamma") == math.inf


@pytest.mark.parametrize(("text", "gamma"), [("0,5", 0.5), ("1e4", 1e4), ("inf", math.inf)])
def test_a_step_size_is_written_into_the_field(visit, text, gamma):
    seen = visit(FOUR)
    field = seen.page.locator("#gamma")
    field.fill(text)
    field.press("Enter")
    assert seen.state("gamma") == gamma
    field.fill("-1")
    field.press("Enter")
    assert seen.page.locator("#gamma-wrong").inner_text() == "γ must be a positive number or ∞, got “-1”."
    assert seen.state("gamma") == gamma


def test_a_number_with_a_thousands_comma_is_not_read_as_a_decimal(visit):
    seen = visit(FOUR)
    seen.page.locator("#gamma").fill("1,000")
    seen.page.locator("#gamma").press("Enter")
    assert "got “1,000”" in seen.page.locator("#gamma-wrong").inner_text()
    assert seen.state("gamma") == 1


def test_time_is_played_paused_stepped_and_scrubbed(visit):
    seen = visit("d=iris-setosa&i=1&m=lr-gd&g=0.1&t=0")
    page = seen.page
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => separatrix.player.cursor() > 5")
    page.get_by_role("button", name="Pause").click()
    paused = seen.cursor
    assert 5 < paused <= 136
    seen.frame()
    assert seen.cursor == paused
    page.get_by_role("button", name="To the start").click()
    assert seen.cursor == 0
    for _ in range(3):
        page.get_by_role("button", name="One step", exact=True).click()
    page.get_by_role("button", name="One step back").click()
    assert seen.cursor == 2
    assert page.locator("output").inner_text() == "t = 2"
    film = seen.film()
    assert page.locator("#numbers tbody tr").first.inner_text().split("\t")[1] == f"{film['errors'][2]:.0f} of 150"
    page.get_by_role("button", name="To the end").click()
    assert seen.cursor == film["separatedAt"] == 136
    curves = page.get_by_role("slider", name="Iteration, in the curves")
    box = curves.bounding_box()
    page.mouse.move(box["x"] + 46, box["y"] + 60)
    page.mouse.down()
    assert seen.cursor == 0
    page.mouse.move(box["x"] + (46 + box["width"] - 12) / 2, box["y"] + 60)
    assert seen.cursor == 68
    page.mouse.up()
    page.get_by_role("slider", name="Iteration", exact=True).press("End")
    assert seen.cursor == 136


def test_a_run_goes_on_past_separation_towards_the_widest_margin(visit):
    seen = visit("d=iris-setosa&i=1&m=lr-gd&g=1")
    first = seen.film()
    seen.page.get_by_label("After separation").select_option("10000")
    film = seen.film()
    assert film["separatedAt"] == first["separatedAt"] == 13
    assert film["t"][-1] == 10_013
    assert film["angle"][-1] < 0.1 * film["angle"][13]
    assert "past separation" in seen.page.locator("#transport").inner_text()


def test_a_second_run_is_laid_over_and_both_are_pythons(visit):
    seen = visit("d=worst-case&n=1000&m=lr-gd&g=100")
    seen.page.get_by_label("Compare with").check()
    assert seen.state("compare") == {"method": "normalized-lr-gd", "gamma": 100}
    assert (seen.film()["separatedAt"], seen.film("b")["separatedAt"]) == (308, 2)
    shown = seen.page.locator("#numbers").inner_text()
    assert "A: LR+GD, γ = 100 separates after 308 iterations; the theorem allows 3,147" in shown
    assert "B: Normalized LR+GD, γ = 100 separates after 2 iterations; the theorem allows 5" in shown
    seen.page.get_by_label("Method of run B").select_option("perceptron")
    assert seen.film("b")["separatedAt"] == solved(seen, "perceptron", math.inf).n_iter
    seen.page.get_by_label("Compare with").uncheck()
    seen.settle()
    assert seen.page.evaluate("separatrix.player.films.b") is None


@pytest.mark.parametrize("intercept", [True, False])
def test_the_verdict_is_the_widest_margin_or_a_proof_of_overlap_and_follows_the_points(visit, intercept):
    seen = visit(FOUR.replace("i=1", f"i={int(intercept)}").replace("0_0m~1_0m", "-1_-1m~1_0m"))
    points = np.array(seen.points)
    mu = sx.max_margin(points[:, :2], points[:, 2], fit_intercept=intercept)
    assert seen.decision["mu"] == pytest.approx(mu.lower, rel=1e-6)
    assert seen.page.locator("#numbers h2").inner_text().startswith(f"Separable: widest margin {mu.lower:.4g}"[:28])
    seen.tool("Flip")
    seen.page.mouse.click(*seen.place(1))
    seen.page.mouse.click(*seen.place(2))
    assert seen.decision["separable"] is False
    count = len(seen.decision["proof"]["indices"])
    assert count <= 4
    assert seen.page.locator("#numbers h2").inner_text() == f"Inseparable: these {count} points prove it"
    points = np.array(seen.points)
    assert not sx.separate(points[:, :2], points[:, 2], fit_intercept=intercept).theta


def test_crossing_segments_are_drawn_and_hidden(visit):
    seen = visit(CROSS)
    assert seen.decision["proof"]["kind"] == "crossing segments"
    button = seen.page.get_by_role("button", name="Proof of overlap")
    drawn = seen.page.evaluate("separatrix.plane.svg('x')")
    button.click()
    hidden = seen.page.evaluate("separatrix.plane.svg('x')")
    assert drawn.count("<path") - hidden.count("<path") >= 6  # two segments, four diamonds
    assert "goes round" in seen.page.locator("#transport").inner_text() or "wrong" in (
        seen.page.locator("#transport").inner_text()
    )


# Long runs


def test_a_run_of_a_hundred_thousand_steps_is_pythons(visit):
    seen = visit("d=iris-virginica&i=1&m=lr-gd&g=1&max=100000")
    film = seen.film()
    assert (film["status"], film["t"][-1]) == ("max-iter", 100_000)
    points = np.array(seen.points)
    run = sx.solve(points[:, :2], points[:, 2], "lr-gd", step_size=1.0, fit_intercept=True, max_iter=100_000)
    assert film["phi"] == (run.phi).tolist()


def test_a_long_run_leaves_the_page_free(visit):
    rng = np.random.default_rng(3)
    points = "~".join(f"{x:.2f}_{y:.2f}{'pm'[k % 2]}" for k, (x, y) in enumerate(rng.standard_normal((5000, 2))))
    seen = visit("d=two-samples&m=lr-gd&g=1")
    seen.page.evaluate("text => { location.hash = text; }", f"v=1&d=drawn&p={points}&m=lr-gd&g=1&i=1&max=100000")
    seen.page.wait_for_function("() => separatrix.player.progress?.t > 0")
    assert re.match("computing … [0-9,]+ iterations", seen.page.locator("#transport .soft").first.inner_text())
    before = seen.page.evaluate("document.documentElement.dataset.theme")
    seen.page.get_by_role("button", name="Dark colours").click()
    assert seen.page.evaluate("document.documentElement.dataset.theme") != before
    assert seen.page.evaluate("separatrix.player.busy")  # that was done while it ran
    seen.page.get_by_label("Data set").select_option("two-samples")
    assert seen.film()["separatedAt"] > 0  # and it does not hold up the next
