"""The explorer in Chromium: tables of one's own, links, what is taken along, the tour, keys, phones, screen readers."""

from __future__ import annotations

import io
import json
import re
import runpy
from contextlib import redirect_stdout
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import separatrix as sx
from browsing import PHONE, Seen, needs_browser
from separatrix.data.csv import read_text

pytestmark = needs_browser

HOSTILE = "</script><img src=x onerror=alert(1)>"
FOUR = "d=drawn&p=0_0m~1_0m~3_2p~4_3p&names=x~y~plus~minus&m=lr-gd&g=1&i=1"
PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def shown(seen: Seen) -> list[str]:
    """What the dialog says of a table."""
    return seen.page.locator("#own-data .said p").all_inner_texts()


def use(seen: Seen) -> None:
    seen.page.get_by_role("button", name="Show these points").click()
    seen.settle()


def taken(seen: Seen, what: str) -> str:
    """The file that the menu of exports gives."""
    with seen.page.expect_download() as download:
        seen.page.locator(".menu summary").click()
        seen.page.get_by_role("button", name=what).click()
        if what.startswith("Python"):
            seen.page.get_by_role("dialog").get_by_role("button", name="Download").click()
    return download.value.path().read_text("utf-8")


# Data of one's own


def test_a_table_is_pasted_anywhere_and_its_gaps_are_told(visit):
    seen = visit()
    seen.page.evaluate(PASTE, "\ufeffa;b;kind\r\n1,5;2,5;yes\r\n;3;no\r\n4;NA;yes\r\n-2;1;no\r\n3;4;yes\r\n")
    assert shown(seen) == ["3 points: yes against no.", "2 rows were left out: a value is missing in a, b."]
    use(seen)
    assert seen.points == [(1.5, 2.5, 1), (-2, 1, -1), (3, 4, 1)]
    assert "2 rows were left out" in seen.page.locator("#about").inner_text()
    seen.page.keyboard.press("Control+z")
    assert len(seen.points) == 150


def test_no_column_of_numbers_is_silently_the_label_where_another_has_a_single_class(visit):
    seen = visit()
    seen.page.evaluate(PASTE, "a,b,kind\n1,2,cat\n2,3,cat\n3,5,cat\n")
    said = "kind has a single class, cat; add rows of a second one, or choose another column of labels."
    assert shown(seen) == [said]
    assert seen.page.get_by_role("button", name="Show these points").is_disabled()
    seen.page.locator("#own-label").select_option("b")
    assert shown(seen)[:2] == ["3 points: 2 against not 2.", "kind has a single class, cat; labels are taken from b."]


def test_of_many_columns_two_are_chosen_or_the_principal_directions(visit):
    seen, rng = visit(), np.random.default_rng(0)
    X = np.round(rng.standard_normal((60, 3)), 3)
    table = "u,v,w,kind\n" + "\n".join(f"{a},{b},{c},{'pqr'[k % 3]}" for k, (a, b, c) in enumerate(X.tolist()))
    seen.page.evaluate(PASTE, table)
    seen.page.locator("#own-y").select_option("w")
    seen.page.get_by_label("This class against all others").select_option("q")
    assert shown(seen) == ["60 points: q against not q."]
    seen.page.get_by_label("The first two principal directions").check()
    assert "first two principal directions of 3 columns (u, v, w)" in shown(seen)[1]
    seen.page.get_by_label("The first two principal directions").uncheck()
    use(seen)
    assert (np.array(seen.points)[:, :2] == X[:, [0, 2]]).all()
    assert [label for *_, label in seen.points] == [1 if k % 3 == 1 else -1 for k in range(60)]


def test_of_columns_far_from_0_the_page_says_from_where_on_steps_leap_which_is_true(visit):
    rows = [(150, 6.1), (170, 7), (165, 6.5), (140, 8.1), (155, 9), (171, 9.5)]
    seen = visit()
    seen.page.evaluate(PASTE, "weight,sweetness,fruit\n" + "".join(f"{a},{b},{'p' * (b > 8)}q\n" for a, b in rows))
    use(seen)
    square = max(a * a + b * b + 1 for a, b in rows)
    about = seen.page.locator("#about").inner_text()
    assert f"The farthest point is R = {square**0.5:.0f} from 0: beyond γ = 8/R² = {8 / square:.2g} the loss" in about
    labels = [label for *_, label in seen.points]
    for step, rises in ((8 / square, False), (80 / square, True)):
        run = sx.solve(rows, labels, "lr-gd", step_size=step, fit_intercept=True, max_iter=500, record="all")
        assert (np.diff(run.trace["loss"]) > 0).any() == rises
    seen.page.evaluate(PASTE, "a,b,y\n1,2,p\n3,4,q\n")
    use(seen)
    assert "farthest" not in seen.page.locator("#about").inner_text()


def test_a_file_of_5000_rows_is_opened_and_a_hostile_cell_stays_text(visit):
    seen, X = visit("max=100"), np.random.default_rng(1).standard_normal((5000, 2)).round(2)
    lines = "\n".join(f"{a},{b},{'ok' if k % 2 else HOSTILE}" for k, (a, b) in enumerate(X.tolist()))
    file = {"name": f"{HOSTILE}.csv".replace("/", ""), "mimeType": "text/csv", "buffer": f"a,b,y\n{lines}".encode()}
    seen.page.get_by_role("button", name="Your data…").click()
    seen.page.locator("#own-file").set_input_files(file)
    use(seen)
    assert (np.array(seen.points)[:, :2] == X).all()
    assert seen.state("names")["minus"] == HOSTILE
    assert seen.page.get_by_role("button", name=f"Add {HOSTILE}").is_visible()
    assert seen.page.locator("img").count() == 0  # and no dialog, word or request, at which `visit` looks


def test_pages_from_python_show_hostile_names_as_text(visit, tmp_path):
    frame = {"__proto__": [0.0, 1.0, 2.0], HOSTILE: [1.0, 0.0, 3.0], "y": [HOSTILE, "constructor", HOSTILE]}
    seen = visit(path=sx.explore(frame, "y", title=HOSTILE).save(tmp_path / "page.html"))
    assert seen.points == [(0, 1, -1), (1, 0, 1), (2, 3, -1)]
    assert HOSTILE in seen.page.locator("#about").inner_text()
    assert seen.page.locator("img").count() == 0
    drawing = ElementTree.fromstring(seen.page.evaluate("separatrix.plane.svg(separatrix.store.get().names.minus)"))
    assert drawing.find("{*}title").text == HOSTILE


@pytest.mark.parametrize("width", [1024, 1280, 1920])
def test_of_more_columns_than_two_the_verdict_speaks_of_this_plane_and_no_sentence_is_cut(visit, tmp_path, width):
    rng = np.random.default_rng(2)
    frame = {name: rng.standard_normal(40).round(2) for name in ("age", "bmi", "dose")} | {"relapse": [0, 1] * 20}
    path = sx.explore(frame, "relapse", missing="drop", title="study.csv").save(tmp_path / "page.html")
    seen = visit(path=path, viewport={"width": width, "height": 800})
    for again in (False, True):
        if again:  # now the address holds the points
            seen.tool("Flip")
            seen.page.wait_for_function("() => location.hash.includes('of=3')", timeout=20_000)
            seen.page.reload()
            seen.settle()
        head = seen.page.locator("#numbers h2").inner_text()
        assert re.fullmatch(r"Inseparable in this plane: these \d points prove it", head)
        rest = seen.page.locator("#numbers .judgement p").first
        assert rest.inner_text().endswith(". In all 3 columns the rows may still be separable.") and rest.is_visible()
    seen = visit(path=path, viewport={"width": width, "height": 800})
    assert "separable in all columns" in seen.page.locator("#about").inner_text()
    assert seen.page.evaluate("(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight)(about)") == 0


def test_two_of_more_columns_of_a_pasted_table_are_a_plane_and_two_of_two_are_all(visit):
    seen, head = visit(), "() => document.querySelector('#numbers h2').textContent"
    seen.page.evaluate(PASTE, "a,b,c,y\n1,2,3,p\n3,4,4,q\n")
    use(seen)
    assert seen.page.evaluate(head).startswith("Separable in this plane: widest margin")
    seen.page.evaluate(PASTE, "a,b,y\n1,2,p\n3,4,q\n2,3,p\n4,5,p\n")
    use(seen)
    assert seen.page.evaluate(head).startswith("Inseparable: these")
    assert "columns" not in seen.page.locator("#numbers .judgement").inner_text()


def test_of_very_many_sentences_the_rest_scrolls_below_a_line_that_is_half_there(visit, tmp_path):
    frame = {f"code {k}": [f"{k}-{i}" for i in range(30)] for k in range(20)}
    frame |= {"a": list(range(30)), "b": [k * k % 31 for k in range(30)], "y": [0, 1] * 15}
    seen = visit(path=sx.explore(frame, "y").save(tmp_path / "page.html"))
    height, line, whole = seen.page.evaluate(
        "[about.clientHeight, parseFloat(getComputedStyle(about).lineHeight), about.scrollHeight]"
    )
    assert height < whole and 0.2 < height / line % 1 < 0.8


# Links


STATE = "JSON.stringify(separatrix.store.get(), (_, value) => (value === Infinity ? 'inf' : value))"
STATES = {
    "d=worst-case&n=50": "{ method: 'normalized-lr-gd', gamma: 0.3, t: 2, past: 100 }",
    "d=circles&i=1": "{ method: 'perceptron', order: 'most-wrong', maxIter: 1000, tool: 'flip', proof: false }",
    "d=drawn&p=0.1_-0m~5e-324_1e300m2~3_2p&names=x~%E2%88%9E~a%7Eb~%3Cb%3E": """{
      gamma: Infinity, intercept: true, widest: true, compare: { method: 'lr-gd', gamma: 7e-300 } }""",
}


@pytest.mark.parametrize("link", STATES)
def test_the_address_brings_back_the_very_state(visit, link):
    seen = visit(link)
    seen.page.evaluate(f"separatrix.store.set({STATES[link]})")
    seen.page.wait_for_function("link => location.hash !== link", arg=f"#v=1&{link}")
    address = seen.page.evaluate("location.hash").removeprefix("#v=1&")
    other = visit(address)
    assert other.page.evaluate(STATE) == seen.page.evaluate(STATE)
    assert other.film()["phi"] == seen.film()["phi"]
    seen.page.evaluate("separatrix.store.set({ gamma: 3, compare: null, proof: false, t: null })")
    seen.page.wait_for_function("() => /g=3(&|$)/.test(location.hash)")
    seen.page.evaluate("hash => { location.hash = hash; }", f"v=1&{address}")  # by hand, on the same page
    seen.page.wait_for_function(f"text => {STATE} === text", arg=other.page.evaluate(STATE))


def test_the_address_follows_and_opens_the_same_run_elsewhere(visit):
    seen = visit(FOUR)
    seen.tool("Add plus")
    seen.page.mouse.click(*seen.ground())
    seen.page.get_by_role("slider", name="Step size γ on a logarithmic scale up to ∞").press("PageUp")
    seen.page.wait_for_function("() => location.hash.includes('g=10&')")
    other = visit(seen.page.evaluate("location.hash").removeprefix("#v=1&"))
    assert other.points == seen.points
    assert other.film() == seen.film()


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("d=worst-case&n=-5", "its n is not a whole number from 2 to 20000"),
        ("p=1_2p999999999999", "it has more than 20000 points"),
        ("p=1_2p~NaN_3m", "a point in it is not two numbers"),
        ("d=__proto__", "it names a data set that this page does not have"),
        ("d=circles&m=constructor", "it names a method that this page does not have"),
        ("d=circles&g=NaN", "its step size is not a positive number"),
    ],
)
def test_a_link_that_makes_no_sense_is_one_sentence_above_the_first_page(visit, link, said):
    seen = visit(link)
    assert seen.page.locator("#notices span").inner_text() == f"This link could not be read: {said}."
    assert seen.film()["separatedAt"] == 136


def test_a_link_may_name_a_step_size_or_a_stop_of_the_tour_alone(visit):
    assert visit("g=10").film()["separatedAt"] == 10
    seen = visit("tour=3")
    assert seen.page.locator("#tour h2").inner_text() == "Right before the goal the loss is worst"
    assert (seen.cursor, seen.film()["separatedAt"]) == (1, 2)


# What is taken along


RUNS = ["m=lr-gd&g=0.1", "m=normalized-lr-gd&g=inf&past=1000", "m=perceptron&order=most-wrong", "g=1e300&max=7"]


@pytest.mark.parametrize("run", RUNS)
def test_the_exported_script_makes_the_very_run(visit, run, tmp_path):
    X = np.random.default_rng(5).standard_normal((9, 2)) + 2
    points = "~".join(f"{x!r}_{y!r}{'pm'[k % 2]}" for k, (x, y) in enumerate(X.tolist()))
    seen = visit(f"d=drawn&p={points}&names=%22%5C%0A~%22%22%22~{{plus}}~{HOSTILE}&i=1&{run}")
    film, path = seen.film(), tmp_path / "run.py"
    path.write_text(taken(seen, "Python script…"), "utf-8")
    with redirect_stdout(io.StringIO()) as printed:
        made = runpy.run_path(str(path))["run"]
    end = film["separatedAt"] if film["separatedAt"] >= 0 else film["t"][-1]
    assert (made.n_iter, made.separated) == (end, film["separatedAt"] >= 0)
    count, theta = printed.getvalue().strip().split(" ", 1)
    text = path.read_text("utf-8")
    assert re.search(r"^# n_iter = (\d+) ", text, re.MULTILINE)[1] == count == str(made.n_iter)
    claimed = json.loads(re.search(r"^# theta = (.*)$", text, re.MULTILINE)[1])
    assert claimed == json.loads(theta) == made.theta.tolist()


def test_the_exported_table_is_read_back_to_the_last_bit(visit):
    seen = visit("d=drawn&p=0.1_-0m~5e-324_1e300m2~3_2p&names=0~a%22,%0Ab~NA~%C3%A9&m=lr-gd&g=1&i=1")
    columns, _ = read_text("table.csv", taken(seen, "Data (CSV)").encode())
    first, second, label = columns.values()
    assert list(columns)[0] == "c0" and list(columns)[2] == "class"
    assert [(x, y) for x, y, _ in seen.points] == list(zip(first.tolist(), second.tolist(), strict=True))
    assert label.tolist() == [one[2] for one in seen.points]


def test_the_exported_picture_has_every_point_and_the_line(visit):
    seen = visit(FOUR)
    drawing = ElementTree.fromstring(taken(seen, "Picture (SVG)"))
    assert drawing.find("{*}title").text == "LR+GD, γ = 1"
    fills = [one.get("fill") for one in drawing.iter() if one.get("fill")]
    style = "name => getComputedStyle(document.documentElement).getPropertyValue(name)"
    plus, minus, line = (seen.page.evaluate(style, f"--{name}") for name in ("plus", "minus", "run-a"))
    assert (fills.count(plus), fills.count(minus)) == (3, 3)  # two points each, and the legend
    assert [one.get("stroke") for one in drawing.iter()].count(line) == 1


# The tour


def test_the_tour_is_walked_to_its_end_where_one_breaks_it(visit):
    seen = visit(FOUR)
    before, page = seen.points, seen.page
    page.get_by_role("button", name="Tour", exact=True).click()
    tour, titles = page.locator("#tour"), []
    while True:
        seen.settle()
        titles.append(tour.locator("h2").inner_text())
        if titles[-1] == "Slide γ to infinity":
            page.get_by_role("slider", name="Step size γ on a logarithmic scale up to ∞").press("End")
            seen.settle()
            assert "That is the first finding" in tour.locator(".done").inner_text()
        if titles[-1] == "Right before the goal the loss is worst":
            page.get_by_role("button", name="One step", exact=True).click()
            assert "Separated" in tour.locator(".done").inner_text()
        if not tour.get_by_role("button", name="Next").count():
            break
        tour.get_by_role("button", name="Next").click()
    assert len(titles) == 9 and titles[-1] == "Your turn: break it"
    points = np.array(seen.points)
    far = points[:, 0] * points[:, 2]  # the plus class is on the right, the minus class on the left
    plus, minus = (int(np.argmax(np.where(points[:, 2] == side, far, -9))) for side in (1, -1))
    start, end = np.array(seen.place(minus)), np.array(seen.place(plus))
    seen.drag(start, end - start)
    assert "no line separates them now" in tour.locator(".done").inner_text()
    page.get_by_role("button", name="Leave, back to my points").click()
    assert tour.is_hidden() and seen.points == before


def test_the_page_remembers_what_each_step_size_took_on_these_points(visit):
    seen = visit()
    tried = seen.page.locator(".tried")
    for gamma in ("1", "10", "12", "∞"):
        assert tried.is_visible() == (gamma != "1")
        seen.page.locator("#gamma").fill(gamma)
        seen.page.locator("#gamma").press("Enter")
        seen.settle()
    told = tried.inner_text().replace("\u00a0", " ")
    assert told == "Tried so far: γ = 0.1: 136, γ = 1: 13, γ = 12: 11, γ = ∞: 11 iterations."
    seen.drag(seen.place(0), (0, 5))
    seen.settle()
    assert tried.is_hidden()  # other points


# Keys, phones, schemes, screen readers


def test_all_is_done_by_the_keyboard_alone(visit):
    seen = visit(FOUR)
    page, live = seen.page, seen.page.locator("#live")

    def focused() -> str:
        return page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent ?? ''"
        )

    def heard(text: str) -> None:
        page.wait_for_function("text => document.getElementById('live').textContent.includes(text)", arg=text)

    page.keyboard.press("Tab")
    assert focused() == "Skip to the points"
    order = []
    while focused() != "Iteration, in the curves" and len(order) < 60:
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.className") or focused())
    stops = [order.index(stop) for stop in ("data-set", "plane-canvas", "scrubber", "method", "curves")]
    assert stops == sorted(stops)
    page.locator("#plane-canvas").focus()
    page.keyboard.press("PageDown")
    heard("Point 2 of 4, minus, 1, 0")
    page.keyboard.press("ArrowRight")
    assert seen.points[1][0] > 1 and seen.points[1][1] == 0
    page.keyboard.press("f")
    heard("Point 2 of 4, plus")
    page.keyboard.press("Delete")
    page.keyboard.press("+")
    page.keyboard.press("-")
    assert [label for *_, label in seen.points] == [-1, 1, 1, 1, -1]
    for _ in range(5):
        page.keyboard.press("Control+z")
    assert seen.points == [(0, 0, -1), (1, 0, -1), (3, 2, 1), (4, 3, 1)]
    page.get_by_label("Method", exact=True).focus()
    page.keyboard.type("Per")
    assert seen.state("method") == "perceptron"
    page.locator(".menu summary").focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Data (CSV)").is_visible()
    page.keyboard.press("Escape")
    assert focused() == "Export" and page.get_by_role("button", name="Data (CSV)").is_hidden()
    page.get_by_role("button", name="Tour", exact=True).focus()
    page.keyboard.press("Enter")
    assert focused() == "Small steps creep"
    page.keyboard.press("Escape")
    assert focused() == "Tour" and live.get_attribute("aria-live") == "polite"


def test_on_a_phone_all_that_moves_the_line_is_on_one_screen_and_nothing_is_too_wide(visit):
    seen = visit(FOUR.replace("plus~minus", "a" * 200 + "~" + "b" * 200), **PHONE)
    page = seen.page
    wide = "() => document.documentElement.scrollWidth"
    assert page.evaluate(wide) == 420
    parts = ["#plane-canvas", ".play, .primary.icon", ".tools .segmented", "input.gamma"]
    boxes = [page.locator(part).first.bounding_box() for part in parts]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 420 for box in boxes)
    assert max(box["y"] + box["height"] for box in boxes) - boxes[0]["y"] < 900
    assert min(one.bounding_box()["height"] for one in page.get_by_role("button").all() if one.is_visible()) >= 44
    page.get_by_role("button", name="Your data…").tap()
    assert page.evaluate(wide) == 420 and page.locator("dialog").bounding_box()["width"] <= 420
    page.get_by_role("button", name="Cancel").tap()
    page.get_by_role("button", name="Tour", exact=True).tap()
    seen.settle()
    assert page.evaluate(wide) == 420


def test_letters_and_plane_grow_with_the_window_of_a_projector(visit):
    sizes = []
    for width, height in ((1280, 800), (1600, 900), (1920, 1080), (2560, 1440)):
        page = visit(FOUR, viewport={"width": width, "height": height}).page
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        plane, stage = page.locator("#plane-canvas").bounding_box(), page.locator("main").bounding_box()
        assert stage["width"] > 0.95 * width and stage["y"] + stage["height"] <= height  # on one screen
        letters = [page.evaluate(f"parseFloat(getComputedStyle({one}).fontSize)") for one in ("document.body", "about")]
        sizes.append((*letters, plane["width"], plane["height"]))
    (*first, _, _), (*second, _, _), *_ = sizes
    assert first == second == [14, 13]
    assert all(less < more for one, other in pairwise(sizes[1:]) for less, more in zip(one, other, strict=True))


def test_those_who_ask_for_less_motion_see_a_few_still_pictures(visit):
    seen = visit("d=iris-setosa&i=1&m=lr-gd&g=0.1&t=0", reduced_motion="reduce")
    seen.page.evaluate("""() => {
      window.changes = [performance.now()];
      separatrix.store.subscribe((_, changed) => changed.has("t") && window.changes.push(performance.now()));
      separatrix.player.play();
    }""")
    seen.page.wait_for_function("() => window.changes.length > 3")
    assert np.diff(seen.page.evaluate("window.changes")).min() > 550


LOOKS = {
    "light": (FOUR + "&m2=perceptron&g2=1&w=1", {}),
    "dark and inseparable": ("d=circles&m=lr-gd&g=1", {"color_scheme": "dark"}),
    "phone and tour": ("tour=4", PHONE),
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(visit, look):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is in the extra [dev]").Axe()
    link, options = LOOKS[look]
    seen = visit(link, **options)
    assert seen.page.evaluate("document.documentElement.dataset.theme") == options.get("color_scheme", "light")

    def serious() -> list[str]:
        found = axe.run(seen.page).response["violations"]
        grave = [one for one in found if one["impact"] in ("serious", "critical")]
        return [f"{one['id']}: {node['html']}" for one in grave for node in one["nodes"]]

    assert serious() == []
    if "phone" in look:
        return
    seen.page.evaluate(PASTE, "a,b,c,y\n1,2,3,p\n3,,4,q\n5,6,7,r\n")
    assert serious() == []
    seen.page.get_by_role("button", name="Cancel").click()
    seen.page.locator(".menu summary").click()
    seen.page.get_by_role("button", name="Python script…").click()
    assert serious() == []
