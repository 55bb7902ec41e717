"""Pictures show the numbers they are made of, on the axes they are given."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from separatrix import plot
from separatrix.plot import LABELS

mpl.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402  # after the choice of backend
from matplotlib.colors import to_hex  # noqa: E402

PATIENTS = {
    "ward": ["north", "icu", "south", "north", "icu", "south", "north", "south", "icu", "north"],
    "age": [61, 55, 47, 70, 66, 58, 44, 63, 71, 52],
    "died": ["no", "yes", "yes", "yes", "yes", "no", "no", "no", "yes", "yes"],
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def runs():
    X, y = sx.worst_case(300)
    mu = sx.max_margin(X, y)
    steps = [sx.solve(X, y, "lr-gd", step_size=step, sharpness=True, angle=mu) for step in (0.1, 10.0)]
    return [*steps, *(sx.solve(X, y, name, angle=mu) for name in ("batch-perceptron", "perceptron"))]


def curves(ax):
    """Lines with more than one point, in the order they were drawn."""
    return [line for line in ax.lines if len(line.get_xdata()) > 1]


@pytest.mark.parametrize("metric", [name for name in LABELS if name != "sharpness"])
def test_curves_are_the_columns_of_the_traces(runs, metric):
    ax = sx.plot.compare(runs[:3], metric)
    for run, line in zip(runs, curves(ax), strict=False):
        np.testing.assert_array_equal(line.get_xdata(), run.trace["iteration"])
        np.testing.assert_array_equal(line.get_ydata(), run.trace[metric])
    assert len(curves(ax)) == 3
    assert ax.get_ylabel() == LABELS[metric]
    ax.figure.canvas.draw()


def test_a_run_draws_on_the_axes_it_is_given_and_returns_them(runs):
    _, ax = plt.subplots()
    assert runs[0].plot("sharpness", ax=ax) is ax
    np.testing.assert_array_equal(curves(ax)[0].get_ydata(), runs[0].trace["sharpness"])
    assert len(plt.get_fignums()) == 1


def test_a_dot_marks_the_iteration_that_separated_and_nothing_marks_a_run_that_did_not(runs):
    X, y = sx.worst_case(300)
    short = sx.solve(X, y, "batch-perceptron", max_iter=60)
    ax = sx.plot.compare([runs[2], short])
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [float(dot.get_xdata()[0]) for dot in dots] == [runs[2].n_iter]


def test_a_run_without_a_record_is_one_mark():
    X, y = sx.worst_case(300)
    ax = sx.solve(X, y, "batch-perceptron", record=None).plot()
    assert [line.get_marker() for line in ax.lines if line.get_marker() != "None"] == ["o"]


def test_few_iterations_are_drawn_on_a_linear_axis_from_zero_many_on_a_logarithmic_one(runs):
    assert runs[3].n_iter <= 50 < runs[2].n_iter
    assert runs[3].plot().get_xscale() == "linear"
    assert curves(runs[3].plot())[0].get_xdata()[0] == 0
    assert sx.plot.compare(runs).get_xscale() == "symlog"


def test_names_tell_runs_apart_and_say_which_loss_where_there_are_two(runs):
    names = [text.get_text() for text in sx.plot.compare(runs[1:3]).get_legend().get_texts()]
    assert names == ["LR+GD, γ = 10", "Batch Perceptron"]
    names = [text.get_text() for text in sx.plot.compare(runs[1:3], "loss").get_legend().get_texts()]
    assert names == ["LR+GD, γ = 10 (logistic loss)", "Batch Perceptron (perceptron loss)"]
    ax = sx.plot.compare([runs[0], runs[0]], labels=["a $ sign", "b"])
    assert len({line.get_color() for line in curves(ax)}) == 2
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: sx.plot.compare([]), "runs must be a list of at least one run"),
        (lambda run: sx.plot.compare(run), r"run.plot\(\) draws one alone"),
        (lambda run: run.plot("los"), "metric must be one of accuracy, errors"),
        (lambda run: sx.plot.compare([run], labels=["a", "b"]), "1 runs, 2 labels"),
        (lambda run: sx.plot.compare([run], "sharpness"), "no column 'sharpness'"),
        (lambda run: sx.plot.plane(np.eye(3), [0, 1, 1], [1, 1, 1]), "X has 3; choose two columns"),
        (lambda run: sx.plot.plane(np.eye(2), [0, 1], [1, np.inf]), r"got shape \(2,\) with inf"),
        (lambda run: sx.plot.plane(np.eye(2), [0, 1], [1, 2, 3, 4]), r"got shape \(4,\)"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(runs, call, said):
    with pytest.raises((ValueError, KeyError), match=said):
        call(runs[2])


def test_a_dot_at_zero_is_seen():
    X, y = sx.worst_case(300)
    run = sx.solve(X, y, "batch-perceptron")
    assert run.trace["loss"][-1] == 0
    ax = sx.plot.compare([run], "loss")
    ax.figure.canvas.draw()
    (dot,) = (line for line in ax.lines if line.get_marker() == "o")
    assert ax.get_ylim()[0] <= dot.get_ydata()[0]
    assert np.isfinite(ax.transData.transform(dot.get_xydata())).all()


def test_a_label_may_begin_with_an_underscore(runs):
    assert [t.get_text() for t in sx.plot.compare([runs[0]], labels=["_x"]).get_legend().get_texts()] == ["_x"]


def distance(line, points):
    """Of points to an infinite line that goes through its first two."""
    (x, y), (u, v) = line.get_xy1(), line.get_xy2()
    normal = np.array([y - v, u - x]) / np.hypot(u - x, v - y)
    return np.abs((np.asarray(points) - [x, y]) @ normal)


@pytest.mark.parametrize("scale", [1.0, 1e200])
def test_the_line_and_its_margin_are_those_of_theta(scale):
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]])
    widest = sx.max_margin(X, [0, 0, 1, 1], fit_intercept=True)
    ax = sx.plot.plane(X, [0, 0, 1, 1], scale * widest.theta)
    middle, *edges = ax.lines
    assert min(distance(middle, X)) == pytest.approx(widest.lower)
    assert len(edges) == 2
    for edge in edges:
        assert distance(edge, X[widest.support]).min() < 1e-9
        assert distance(edge, [middle.get_xy1()])[0] == pytest.approx(widest.lower)
    ax.figure.canvas.draw()


def test_rows_far_from_the_origin_have_their_line():
    X = np.array([[1.7e18, 0.0], [1.7001e18, 1.0]])
    ax = sx.plot.plane(X, [0, 1], [1.0, 1.0, -1.70005e18])
    (x, y), (u, v) = ax.lines[0].get_xy1(), ax.lines[0].get_xy2()
    assert (x, y) != (u, v)
    assert 1.7e18 < x < 1.7001e18
    ax.figure.canvas.draw()


def test_wrong_rows_are_ringed_and_then_there_is_no_margin():
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.5], [3.0, 1.0]])
    ax = sx.plot.plane(X, [0, 0, 1, 1], [0.0, 1.0, -2.0], bias=0.5)  # right of x_1 = 1 belongs to class 1
    rings = ax.collections[2].get_offsets()
    np.testing.assert_array_equal(rings, X[[0, 1, 2, 3]][np.array([1, 1, -1, -1]) * (1 - X[:, 1]) <= 0])
    assert len(ax.lines) == 1
    assert "wrong" in [text.get_text() for text in ax.get_legend().get_texts()]


SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("theta", "away", "towards"),
    [
        ([1.0, 0.0, -6.0], 5.0, (1, 0)),
        ([-2.0, 0.0, 12.0], 5.0, (1, 0)),
        ([1.0, 0.0, 4.0], 4.0, (-1, 0)),
        ([0.0, 1e-3, 3e-3], 3.0, (0, -1)),
        ([3.0, 4.0, -32.0], 5.0, (1, 1)),
        ([3.0, -4.0, 29.0], 5.0, (-1, 1)),
        ([1e-200, 0.0, 1.0], 1e200, (-1, 0)),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e-100])
def test_of_a_line_outside_the_window_an_arrow_and_a_number_tell_where_it_is(theta, away, towards, scale):
    ax = sx.plot.plane(SQUARE, [0, 1, 0, 1], scale * np.array(theta), bias=1.0)
    assert len(ax.lines) == 0
    arrow, words = ax.texts
    assert words.get_text() == f"the line is {away:.3g} away"
    assert tuple(np.sign(np.round(np.array(arrow.xy) - arrow.xyann, 9))) == towards
    assert ax.get_xlim() == (-0.08, 1.08)  # the window stays that of the rows
    ax.figure.canvas.draw()
    inside = ax.get_window_extent()
    box = words.get_window_extent()
    assert inside.x0 <= box.x0 < box.x1 <= inside.x1
    assert inside.y0 <= box.y0 < box.y1 <= inside.y1


def test_where_every_row_is_on_one_side_the_whole_window_is():
    for sign in (1.0, -1.0):
        ax = sx.plot.plane(SQUARE, ["a", "b", "a", "b"], [0.0, 0.0, sign])
        (text,) = ax.texts
        assert text.get_text() == f"there is no line: every row is on the side of {'b' if sign > 0 else 'a'}"
        shade = ax.collections[-1]
        filled = [k for k, path in enumerate(shade.get_paths()) if len(path.vertices)]
        assert filled == [int(sign > 0)]


def test_the_larger_class_is_blue_discs_and_the_other_orange_triangles_as_in_the_explorer():
    ax = sx.plot.plane(SQUARE, ["apple", "pear", "apple", "pear"], [1.0, -1.0, 0.25])
    plus, minus = ax.collections[:2]
    assert (plus.get_label(), minus.get_label()) == ("pear", "apple")
    assert [to_hex(one.get_facecolor()[0]) for one in (plus, minus)] == ["#0072b2", "#d55e00"]
    assert len(minus.get_paths()[0].vertices) == 4 < len(plus.get_paths()[0].vertices)  # three corners, closed
    assert [to_hex(one) for one in ax.collections[-1].get_facecolor()] == ["#d55e00", "#0072b2"]  # below 0, above


def test_a_frame_names_the_axes_and_zero_theta_has_no_line():
    pd = pytest.importorskip("pandas", reason="pandas is in the extra [frames]")
    ax = sx.plot.plane(pd.DataFrame({"a $": [0.0, 1.0], "b": [1.0, 0.0]}), ["n", "y"], np.zeros(2))
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"a \$", "b")
    assert len(ax.lines) == 0
    assert [text.get_text() for text in ax.texts] == ["there is no line: θ = 0"]
    ax.figure.canvas.draw()


def test_sparse_rows_are_drawn_like_dense_ones():
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    for given in (X, sparse.csr_array(X)):
        assert sx.plot.plane(given, [0, 1], [1.0, -1.0]).collections[0].get_offsets().tolist() == [[1.0, 0.0]]


@pytest.fixture(scope="module")
def filmed():
    X, y, _ = sx.planted(40, 2, margin=0.1, offset=3.0, random_state=7)
    return X, y, sx.solve(X, y, "perceptron", record="all", iterates=True)


def shown_at(animation, k):
    """The axes of an animation's k-th frame, drawn."""
    frames = list(animation.new_frame_seq())
    animation._func(frames[k])
    animation._draw_was_started = True  # or matplotlib warns
    return animation._fig.axes


def test_an_animation_shows_each_iterate_and_marks_it_on_the_curve(filmed):
    X, y, run = filmed
    animation = run.animate(X, y)
    assert len(list(animation.new_frame_seq())) == run.n_iter + 1
    for t in (0, 5, run.n_iter):
        left, right = shown_at(animation, t)
        assert left.get_title() == f"Perceptron, t = {t}: {run.trace['errors'][t]} of 40 rows wrong"
        still = sx.plot.plane(X, y, run.iterates[t], bias=run.bias)
        assert [line.get_xy1() for line in left.lines] == [line.get_xy1() for line in still.lines]
        rings, wanted = ([c for c in ax.collections if c.get_label() == "wrong"] for ax in (left, still))
        assert [r.get_offsets().tolist() for r in rings] == [r.get_offsets().tolist() for r in wanted]
        np.testing.assert_array_equal(curves(right)[0].get_ydata(), run.trace["errors"])
        assert right.lines[-1].get_xdata() == [t, t]
    animation.to_jshtml(default_mode="once")


def test_an_animation_is_a_page_or_a_picture_that_moves(filmed, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pillow is in the extra [lab]")
    X, y, run = filmed
    page = run.animate(X, y, frames=4).to_jshtml()
    assert page.count("data:image/png;base64,") == 4
    run.animate(X, y, frames=4, metric="loss", interval=250).save(tmp_path / "run.gif", writer="pillow")
    with image.open(tmp_path / "run.gif") as picture:
        assert picture.n_frames == 4
        assert picture.info["duration"] == 250


def test_of_many_iterates_the_first_the_last_and_some_between_are_frames():
    X, y = sx.worst_case(100)
    run = sx.solve(X, y, "batch-perceptron", record="all", iterates=True, fit_intercept=True)
    _, ax = plt.subplots()
    animation = run.animate(X, y, frames=10, ax=ax)
    frames = list(animation.new_frame_seq())
    assert (len(frames), frames[0], frames[-1]) == (10, 0, run.n_iter)
    for k in (0, 9):
        assert shown_at(animation, k) == [ax]
    animation.to_jshtml()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda X, y, run: sx.solve(X, y).animate(X, y), "solve with iterates=True"),
        (lambda X, y, run: run.animate(np.eye(3), [0, 1, 1]), "X has 3; choose two columns"),
        (lambda X, y, run: run.animate(X, y, metric="los"), "metric must be one of accuracy"),
        (lambda X, y, run: run.animate(X, y, frames=0), "frames must be a whole number from 1, got 0"),
        (lambda X, y, run: run.animate(X, y, interval=0.5), "interval must be a whole number from 1, got 0.5"),
        (
            lambda X, y, run: sx.solve(np.eye(3), [0, 1, 1], iterates=True).animate(X, y),
            "an animation is of two columns, the run is of 3",
        ),
    ],
)
def test_what_cannot_be_animated_is_one_sentence(filmed, call, said):
    with pytest.raises(ValueError, match=said):
        call(*filmed)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda X, y: (X[:5], y[:5]), "at t = 0 it had 40 rows wrong, here 5 of 5 are; pass what solve took"),
        (lambda X, y: (np.vstack([X, X]), np.append(y, y)), "at t = 0 it had 40 rows wrong, here 80 of 80 are"),
        (lambda X, y: (X, -np.asarray(y)), "at t = 2 it had 11 rows wrong, here 29 of 40 are"),
        (lambda X, y: (X[:, ::-1], y), "are not the rows of this run"),
    ],
)
def test_rows_that_are_not_those_of_the_run_are_not_animated(filmed, other, said):
    X, y, run = filmed
    with pytest.raises(ValueError, match=said):
        run.animate(*other(X, y))


@pytest.mark.parametrize("seed", [2, 24, 27])  # where margins of the drawn line round to another sign than in the run
def test_rows_on_the_line_to_rounding_are_animated(seed):
    X, y = np.random.default_rng(seed).integers(-9, 10, (12, 2)) / 10, np.arange(12) % 2
    run = sx.solve(X, y, "perceptron", record="all", iterates=True, max_iter=30)
    assert shown_at(run.animate(X, y), -1)[0].get_title().startswith("Perceptron, t = 30: ")


def test_tables_are_drawn_and_animated_as_solve_reads_them(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is in the extra [frames]")
    frame = pd.DataFrame({"size": [1.0, 2.0, 5.0, 6.0], "fruit": ["apple", "apple", "pear", "pear"]})
    frame["red"] = ["yes", "no", "no", "no"]
    run = sx.solve(frame, "fruit", "perceptron", record="all", iterates=True, fit_intercept=True)
    frame.to_csv(tmp_path / "fruit.csv", index=False)
    problem = sx.Problem(frame, "fruit", fit_intercept=True)
    for given in ((frame, "fruit"), (tmp_path / "fruit.csv", "fruit"), (problem, None)):
        left = shown_at(run.animate(*given), -1)[0]
        still = sx.plot.plane(*given, run.theta, bias=run.bias)
        for ax in (left, still):
            assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(problem.names) == ("size", "red[yes] (vs no)")
            assert [one.get_label() for one in ax.collections[:2]] == ["pear", "apple"]
            assert ax.collections[0].get_offsets().tolist() == [[5.0, 0.0], [6.0, 0.0]]
    with pytest.raises(ValueError, match=r"X has 3 \(size, red\[yes\] \(vs no\), more\); choose two columns"):
        run.animate(frame.assign(more=[3.0, 1.0, 4.0, 1.0]), "fruit")


def test_a_diagnosis_points_each_coefficient_to_its_limit():
    found = sx.diagnose(PATIENTS, "died")
    ax = found.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == list(found.columns)
    arrows = {round(text.xyann[1]): (text.xyann[0], np.sign(text.xy[0])) for text in ax.texts}
    assert arrows == {0: (pytest.approx(found.bound(*found.infinite)), 1)}  # from what the data allow to where it runs
    fit = found.reduced().fit()
    dots = {round(line.get_ydata()[0]): line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"}
    assert dots == dict(enumerate(fit.estimates, 1))
    assert ax.get_title() == "outcome died: quasi-complete"
    renamed = sx.diagnose({"age": PATIENTS["age"], "ward": PATIENTS["ward"], "outcome": PATIENTS["died"]}, "outcome")
    assert renamed.plot().get_title() == "outcome: quasi-complete" and "\noutcome (" in str(renamed)
    ax.figure.canvas.draw()


def test_many_coefficients_are_folded():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 60))
    X[:, 0] = np.sign(X[:, 0]) * (1 + np.abs(X[:, 0]))
    y = np.where(X[:, 0] > 0, 1, 0)
    ax = sx.diagnose(X, y).plot()
    assert 1 <= len(ax.get_yticks()) <= 32


def test_a_folded_line_claims_nothing():
    ax = plot.coefficients([("a", "+"), ("… 3 more like these", ""), ("7 others", "0"), ("b", "?")])
    assert [line.get_ydata()[0] for line in ax.lines] == [2]
    assert [round(text.xyann[1]) for text in ax.texts if text.get_text() == ""] == [0]


def test_nothing_of_matplotlib_is_loaded_before_a_picture_is_drawn():
    code = "import sys, separatrix.plot, separatrix.diagnosing.report; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
