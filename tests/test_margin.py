"""The bracket on the margin: it holds, it closes, and its two ends are proven by what comes with it."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import separatrix as sx
from conftest import noise, planted
from nearest import exact_ends, squared_margin
from zoo import signs, small_problem, with_margin

F = Fraction


def tiny(seed):
    """A problem small enough for brute force: noise, whole numbers, planted margins, scaled rows, columns and data."""
    rng = np.random.default_rng(seed)
    n, d, intercept = int(rng.integers(2, 7)), int(rng.integers(1, 4)), bool(seed % 2)
    way = seed // 2 % 6
    X, y = with_margin(rng, n, d, 10.0 ** -rng.integers(0, 14), intercept)
    if way < 2:
        X, y = rng.standard_normal((n, d)) if way else rng.integers(-3, 4, (n, d)) * 1.0, signs(rng, n)
    if way == 3:
        X = X * 2.0 ** rng.integers(-30, 30, (n, 1))
    if way == 4:
        X = X * 2.0 ** rng.integers(-30, 30, d)
    if way == 5:
        X = X * 10.0 ** float(rng.integers(-140, 140))
    return X, y, intercept


@pytest.mark.parametrize("block", range(8))
def test_the_true_margin_of_tiny_problems_lies_in_both_brackets(block):
    for seed in range(90 * block, 90 * block + 90):
        X, y, intercept = tiny(seed)
        true = squared_margin(X, y, intercept)
        with np.errstate(all="ignore"):
            found = sx.max_margin(X, y, fit_intercept=intercept)
        for m in (found, sx.separate(X, y, fit_intercept=intercept).margin):
            assert 0 <= m.lower <= m.upper, seed
            assert F(m.lower) ** 2 <= true, seed
            assert np.isinf(m.upper) or true <= F(m.upper) ** 2, seed


def test_a_bracket_without_an_upper_end_is_not_called_closed():
    m = sx.max_margin([[-1.0], [0.0], [-2.0]], [1, 1, -1], fit_intercept=True)
    assert m.upper == pytest.approx(0.5, rel=1e-6) and m.lower == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_every_tiny_separable_problem_of_even_scale_is_closed(intercept):
    rng, open_ones = np.random.default_rng(0), []
    for k in range(100):
        X, y = with_margin(rng, int(rng.integers(3, 30)), int(rng.integers(1, 6)), 0.3, intercept)
        m = sx.max_margin(X, y, fit_intercept=intercept)
        if not (m.status == "converged" and 0 < m.lower <= m.upper <= m.lower * (1 + 2e-6)):
            open_ones.append((k, m.lower, m.upper))
    assert not open_ones


def test_no_small_problem_crosses_its_bracket():
    for seed in range(300):
        _, X, y, intercept = small_problem(seed)
        with np.errstate(all="ignore"):
            m = sx.max_margin(X, y, fit_intercept=intercept)
        assert 0 <= m.lower <= m.upper, seed
        assert not (m.lower > 0 and sx.separate(X, y, fit_intercept=intercept).status != "separable"), seed


def test_no_small_problem_raises_a_warning():
    raised = []
    for seed in range(21, 400, 27):  # rows and columns scaled by 1e±140
        _, X, y, intercept = small_problem(seed)
        try:
            sx.max_margin(X, y, fit_intercept=intercept)
        except RuntimeWarning as warning:
            raised.append((seed, str(warning)))
    assert not raised


def test_large_data_with_an_intercept_raise_no_warning():
    X, y = planted(6, 2, 0.5, 0)
    m = sx.max_margin(X * 2.0**700, y, fit_intercept=True)
    assert m.lower <= m.upper


@pytest.mark.parametrize("intercept", [False, True])
def test_theta_and_weights_prove_their_ends(intercept):
    for X, y in (planted(40, 5, 0.2, 1), planted(12, 30, 0.2, 2), planted(200, 3, 1e-3, 3)):
        y = y.astype(int)
        m = sx.max_margin(X, y, fit_intercept=intercept)
        lowest, length, pull = exact_ends(X, y, m, intercept)
        assert lowest >= 0 and F(m.lower) ** 2 * length <= lowest**2
        assert pull <= F(m.upper) ** 2
        assert abs(float(length) - 1) < 1e-14 and (m.weights >= 0).all() and m.weights.sum() == pytest.approx(1)
        assert (m.support == np.flatnonzero(m.weights > 0)).all()


def test_known_margins_come_out():
    for d in (1, 2, 5, 30):  # z_i = e_i: μ = 1/√d
        y = np.resize([1, -1], d + 1)
        X = np.vstack([np.eye(d), np.ones(d)]) * y[:, None]
        assert sx.max_margin(X, y).upper == pytest.approx(d**-0.5, rel=2e-6)
    square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]) * 3
    m = sx.max_margin(np.hstack([square[:, :1] + 10, square[:, 1:]]), [1, 1, 0, 0], fit_intercept=True)
    assert m.lower == pytest.approx(3, rel=2e-6) and m.upper == pytest.approx(3, rel=2e-6)


DATA = {
    "tall": lambda: planted(2000, 10, 0.2, 0),
    "wide": lambda: planted(40, 200, 0.1, 1),
    "square": lambda: planted(80, 80, 0.1, 2),
    "float32": lambda: (planted(300, 8, 0.2, 3)[0].astype(np.float32), planted(300, 8, 0.2, 3)[1]),
    "sparse": lambda: (sparse.random(60, 300, 0.1, "csr", rng=np.random.default_rng(4)), noise(60, 1, 4)[1]),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_the_bracket_closes_on_separable_data(name, intercept):
    X, y = DATA[name]()
    for rtol in (1e-2, 1e-6):
        m = sx.max_margin(X, y, rtol=rtol, fit_intercept=intercept)
        assert m.status == "converged" and m.upper - m.lower <= rtol * m.upper and m.relative_gap <= rtol


@pytest.mark.parametrize("name", ["tall", "wide", "square"])
def test_the_margin_is_that_of_a_hard_support_vector_machine(name):
    X, y = DATA[name]()
    m = sx.max_margin(X, y, fit_intercept=True)
    svc = SVC(kernel="linear", C=1e10, tol=1e-8).fit(X, y)
    w, b = svc.coef_[0], svc.intercept_[0]
    widest = (y * (X @ w + b)).min() / np.linalg.norm(w)
    assert widest <= m.upper * (1 + 1e-9)
    assert m.lower >= widest * (1 - 1e-5)


def test_overlap_drives_the_upper_end_to_zero():
    for X, y in (noise(200, 6, 0), noise(900, 30, 1), noise(400, 3, 2)):
        for intercept in (False, True):
            m = sx.max_margin(X, y, fit_intercept=intercept)
            assert m.status == "no-margin" and m.lower == 0 and m.upper <= 1e-12 * np.linalg.norm(X, axis=1).max()


@pytest.mark.parametrize("k", [-400, 400])
def test_the_margin_scales_with_the_data(k):
    for X, y in (planted(100, 6, 0.1, 0), planted(20, 50, 0.1, 1)):
        a, b = sx.max_margin(X, y), sx.max_margin(X * 2.0**k, y)
        assert b.status == "converged"
        assert np.ldexp(b.lower, -k) == pytest.approx(a.lower, rel=2e-6)
        assert np.ldexp(b.upper, -k) == pytest.approx(a.upper, rel=2e-6)


def test_rotation_and_row_order_leave_the_margin_alone():
    X, y = planted(150, 7, 0.1, 0)
    rng = np.random.default_rng(0)
    Q, order = np.linalg.qr(rng.standard_normal((7, 7)))[0], rng.permutation(150)
    for intercept in (False, True):
        a = sx.max_margin(X, y, fit_intercept=intercept)
        for moved, labels in ((X @ Q, y), (X[order], y[order])):
            b = sx.max_margin(moved, labels, fit_intercept=intercept)
            assert b.lower <= a.upper * (1 + 1e-12) and a.lower <= b.upper * (1 + 1e-12)
            assert b.status == a.status == "converged"


def test_sparse_rows_have_the_margin_of_dense_ones():
    X, y = DATA["sparse"]()
    for intercept in (False, True):
        a, b = (sx.max_margin(A, y, fit_intercept=intercept) for A in (X, X.toarray()))
        assert a.lower <= b.upper and b.lower <= a.upper


def test_a_callback_sees_the_bracket_narrow_and_may_stop():
    X, y = planted(300, 10, 0.1, 0)
    seen = []
    sx.max_margin(X, y, callback=seen.append)
    assert len(seen) > 2 and [p.step for p in seen] == list(range(1, len(seen) + 1))
    for a, b in itertools.pairwise(seen):
        assert a.lower <= b.lower <= b.upper <= a.upper and a.seconds <= b.seconds
    m = sx.max_margin(X, y, callback=lambda p: p.step == 2)
    assert m.status == "stopped" and m.n_steps == 2 and m.lower <= m.upper


@pytest.mark.parametrize("steps", [1, 4])
def test_a_time_limit_returns_a_bracket_that_holds_after_the_step_under_way(steps, clock):
    clock.per_reading = 1.0  # each step reads the clock once
    m = sx.max_margin(*planted(2000, 10, 0.01, 0), time_limit=steps - 0.5)
    assert m.status == "time-limit" and m.n_steps == steps and 0 <= m.lower <= m.upper


@pytest.mark.parametrize(
    ("name", "bad"), [("rtol", b) for b in (0, 1, -1, np.nan)] + [("time_limit", b) for b in (0, -1, np.nan)]
)
def test_arguments_without_meaning_are_refused_in_one_sentence(name, bad):
    with pytest.raises(ValueError, match=rf"^{name} must [^.]*, got .*\.$"):
        sx.max_margin([[1.0], [2.0]], [0, 1], **{name: bad})


def test_conjugate_gradients_agree_with_the_direct_path(monkeypatch):
    X = sparse.random(2000, 3000, 0.005, "csr", rng=np.random.default_rng(0))
    y = noise(2000, 1, 0)[1]
    direct = sx.max_margin(X, y, rtol=1e-2)
    monkeypatch.setattr("separatrix.deciding.newton.DIRECT", 10)
    by_cg = sx.max_margin(X, y, rtol=1e-2)
    assert by_cg.status == direct.status
    assert by_cg.lower <= direct.upper and direct.lower <= by_cg.upper


@pytest.mark.parametrize("intercept", [False, True])
def test_margins_of_1e_9_are_bracketed_to_a_thousandth(intercept):
    for n, d in ((40, 5), (120, 20), (1000, 40)):
        X, y = with_margin(np.random.default_rng(n + d), n, d, 1e-9, intercept)
        m = sx.max_margin(X, y, fit_intercept=intercept)
        assert 0 < m.lower <= m.upper and m.relative_gap < 1e-3
        assert m.lower <= 1e-9 * (1 + 1e-4) and m.upper >= 1e-9 * (1 - 1e-4)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("exponent", [-300, -160, -60, 60, 160, 300])
def test_no_scale_of_data_rows_or_columns_raises_a_warning(exponent, intercept):
    for n, d in ((12, 4), (300, 6)):
        for part in (np.s_[:, :], np.s_[:, 1], np.s_[3], np.s_[3, 2]):
            for X, y in (noise(n, d, 0), planted(n, d, 0.2, 1)):
                X[part] *= 10.0**exponent
                for way in (X, sparse.csr_array(X)):
                    m = sx.max_margin(way, y, fit_intercept=intercept)
                    assert 0 <= m.lower <= m.upper < np.inf


def test_few_rows_in_many_columns_take_few_steps_and_no_matrix_of_columns_by_columns():
    X, y = planted(3, 2500, 0.1, 0)
    sx.max_margin(X[:, :5], y)  # what is loaded once
    tracemalloc.start()
    m = sx.max_margin(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    true = np.linalg.solve((y[:, None] * X) @ (y[:, None] * X).T, np.ones(3)).sum() ** -0.5  # all three support it
    assert m.lower <= true * (1 + 1e-12) and true <= m.upper * (1 + 1e-12)
    assert m.n_steps <= 3 and peak < 8 * 2500 * 2500 / 10


MEMORY = """
import sys, threading, time
import numpy as np
import psutil
import separatrix as sx
rng, n, d = np.random.default_rng(0), 100_000, 100
def make(n, separable):
    X, y = np.empty((n, d), dtype=np.float32), rng.permuted(np.resize([-1.0, 1.0], n))
    u = rng.standard_normal(d) / d**0.5
    for lo in range(0, n, 5000):
        A = rng.standard_normal((min(5000, n - lo), d))
        if separable:
            A[A @ u < 0] *= -1
            A = (A + 0.5 * u) * y[lo : lo + 5000, None]
        X[lo : lo + 5000] = A
    return X, y
separable = sys.argv[1] == "separable"
sx.max_margin(*make(1500, separable), rtol=1e-2)  # what is loaded once
X, y = make(n, separable)
me, peak, done = psutil.Process(), [0], []
before = me.memory_info().rss
def watch():
    while not done:
        peak[0] = max(peak[0], me.memory_info().rss)
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
m = sx.max_margin(X, y, rtol=1e-2)
done.append(1)
thread.join()
print(m.status, (peak[0] - before - 250 * n) / X.nbytes)  # some thirty vectors of n numbers
"""


@pytest.mark.parametrize("kind", ["separable", pytest.param("noise", marks=pytest.mark.long)])
def test_float32_rows_are_never_copied_to_float64_as_a_whole(kind):
    command = [sys.executable, "-c", MEMORY, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    status, added = done.stdout.split()
    assert status == ("converged" if kind == "separable" else "no-margin")
    assert float(added) < 0.5, done.stdout  # a copy would be 2
