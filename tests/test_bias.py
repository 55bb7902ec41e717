"""Implicit bias: certified intervals have the true angle in them, on problems whose widest margin is known exactly."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import acos, inf, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.lab.book import parse_book
from separatrix.lab.kinds.bias import bias_job, course_of
from separatrix.lab.reproduce import reproduce
from separatrix.lab.spec import DataEntry
from separatrix.lab.store import Result
from separatrix.walking.angle import Angle, angle_between, arccos_above

DIGITS = 80
METHODS = [
    ("lr-gd", 0.1),
    ("lr-gd", 10.0),
    ("lr-gd", inf),
    ("normalized-lr-gd", 0.01),
    ("normalized-lr-gd", 1e4),
    ("tempered-lr-gd", 1.0),
    ("batch-perceptron", None),
    ("normalized-batch-perceptron", None),
    ("perceptron", None),
]


def known(seed: int, extra: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole-number rows whose widest margin is that of a known whole-number vector w, and w.

    Rows on the margin are c w + b_i, with b_i ⊥ w and Σ λ_i b_i = 0 for some λ_i > 0: then Σ λ_i z_i = (Σ λ_i) c w,
    which proves that no direction has a wider margin. Further rows have more of w.
    """
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    w = rng.integers(-4, 5, size=d)
    w[0] = 1 + abs(w[0])
    square = int(w @ w)

    def across(size: int) -> np.ndarray:
        b = rng.integers(-3, 4, size=(size, d))
        return square * b - np.outer(b @ w, w)  # ⊥ w

    b = across(int(rng.integers(1, d + 1)))
    lam = rng.integers(1, 4, size=len(b))
    b = np.vstack([b, -lam @ b])
    c = int(rng.integers(1, 4)) * square
    Z = np.vstack([c * w + b, np.outer(c + rng.integers(1, 9, size=extra), w) + across(extra)])
    y = rng.choice([-1, 1], size=len(Z))
    y[:2] = 1, -1
    Z = Z[rng.permutation(len(Z))]
    return (y[:, None] * Z).astype(float), y, w


def cosine(phi: np.ndarray, w: np.ndarray) -> Decimal:
    """cos ∠(φ, w) of the numbers as stored, to DIGITS digits."""
    v, u = [Fraction(x) for x in phi.tolist()], [Fraction(x) for x in w.tolist()]
    dot, squares = sum(map(Fraction.__mul__, v, u)), sum(x * x for x in v) * sum(x * x for x in u)
    return number(dot) / number(squares).sqrt()


def number(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def cos(x: float) -> Decimal:
    """Its series, to DIGITS digits, for 0 ≤ x ≤ π."""
    square, term, total, k = Decimal(x) ** 2, Decimal(1), Decimal(0), 0
    while abs(term) > Decimal(10) ** -DIGITS:
        total, k = total + term, k + 2
        term *= -square / (k * (k - 1))
    return total


def walked(X, y, angle, method="normalized-lr-gd", **options):
    """A run, and φ at every recorded iterate."""
    seen = []
    run = sx.solve(
        X, y, method, angle=angle, stop=None, callback=lambda iterate: seen.append(iterate.phi.copy()), **options
    )
    return run, seen


def assert_certified(run, seen, w) -> None:
    """low ≤ ∠(φ_t, w) ≤ high at every recorded iterate, as cos high ≤ cos ∠ ≤ cos low."""
    lows, highs = run.trace["angle_low"], run.trace["angle_high"]
    assert len(seen) == len(lows) == len(run.trace["iteration"])
    with localcontext(prec=DIGITS):
        for phi, low, high in zip(seen, lows, highs, strict=True):
            assert 0 <= low <= high <= pi
            if phi.any():
                true = cosine(phi, w)
                assert cos(high) <= true <= cos(low) if high < pi else true <= cos(low)
            else:
                assert (low, high) == (0.0, pi)


def looser(mu: sx.Margin, share: float) -> sx.Margin:
    """The same with ends that far apart, of which both hold."""
    return replace(mu, lower=mu.lower * (1 - share / 2), upper=mu.upper * (1 + share / 2))


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_certified_intervals_have_the_true_angle_in_them_on_200_problems(start):
    for seed in range(start, start + 20):
        X, y, w = known(seed)
        mu = sx.max_margin(X, y, rtol=1e-9)
        method, gamma = METHODS[seed % len(METHODS)]
        run, seen = walked(X, y, mu, method, step_size=gamma, max_iter=300)
        assert_certified(run, seen, w)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_close_as_the_bracket_does(seed):
    X, y, w = known(seed)
    best, last = sx.max_margin(X, y, rtol=1e-12), inf
    for share in (1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11):
        mu = looser(best, share)
        run, seen = walked(X, y, mu, max_iter=100)
        assert_certified(run, seen, w)
        width = (run.trace["angle_high"] - run.trace["angle_low"])[1:].max()
        assert width <= 2 * acos(1 - share) * 1.4 + 1e-12  # 2 arccos(lower/upper), which is 2 √(2 share) nearly
        assert width < last
        last = width


@pytest.mark.parametrize("seed", range(20))
def test_a_bracket_with_another_direction_certifies_too(seed):
    """A unit vector up to half a radian off θ*, with the margin that it has."""
    X, y, w = known(seed)
    rng = np.random.default_rng(seed)
    mu = sx.max_margin(X, y)
    for size in (1e-6, 1e-3, 0.3):
        u = mu.theta + size * rng.uniform(-1, 1, size=len(w)) / len(w)
        u /= np.linalg.norm(u)
        low = (y * (X @ u)).min() * (1 - 1e-12)
        if low > 0:
            run, seen = walked(X, y, replace(mu, theta=u, lower=low), max_iter=200)
            assert_certified(run, seen, w)


def test_rows_of_every_kind_have_the_same_intervals(tmp_path):
    X, y, w = known(4)
    mu = sx.max_margin(X, y, rtol=1e-12)
    run, seen = walked(X, y, mu, max_iter=200)
    path = tmp_path / "X.npy"
    np.save(path, X)
    for other in (sparse.csr_array(X), X.astype(np.float32), path):
        again, phis = walked(other, y, mu, max_iter=200)
        assert_certified(again, phis, w)
        assert [again.trace[name].tolist() for name in ("angle_low", "angle_high")] == [
            run.trace[name].tolist() for name in ("angle_low", "angle_high")
        ]
    with sx.Problem(X, y) as problem:
        assert_certified(*walked(problem, None, sx.max_margin(problem), max_iter=50), w)
    assert_certified(*walked(X, y, mu, max_iter=200, arithmetic="float32"), w)
    assert_certified(*walked(X, y, mu, max_iter=200, engine="gram", theta0=np.arange(len(w)) - 2.0), w)
    assert_certified(*walked(X, y, mu, "lr-gd", step_size=inf, theta0=np.ones(len(w)), max_iter=200), w)


@pytest.mark.parametrize("power", [-700, -160, 160, 700])
def test_intervals_hold_for_rows_of_any_size(power):
    X, y, w = known(7)
    run, seen = walked(np.ldexp(X, power), y, sx.max_margin(np.ldexp(X, power), y), max_iter=50)
    assert_certified(run, seen, w)
    assert run.trace["angle_high"][-1] < 1


def test_an_intercept_is_a_column_of_the_bracket():
    """The constant column is part of θ and of its norm, so its rows are those with the column appended."""
    X, labels, _ = sx.planted(30, 3, margin=0.3)
    y = np.where(X @ [1.0, 2.0, 3.0] > 0.4, 1, -1)
    for scaling in (1.0, 0.25):
        Z = np.column_stack([X, np.full(len(X), scaling)])
        mu = sx.max_margin(Z, y, rtol=1e-12)
        with_column, _ = walked(Z, y, mu, max_iter=50)
        with_intercept, _ = walked(X, y, mu, max_iter=50, fit_intercept=True, intercept_scaling=scaling)
        for name in ("angle_low", "angle_high"):
            np.testing.assert_allclose(with_column.trace[name], with_intercept.trace[name], atol=1e-12)
    mu = sx.max_margin(X, y, fit_intercept=True)
    with pytest.raises(ValueError, match=r"other rows.*np\.column_stack\(\[X, np\.full\(len\(X\), 1\)\]\), y\)\.$"):
        walked(X, y, mu, fit_intercept=True)
    with pytest.raises(
        ValueError, match="of 3 entries, these are 30 of 4, the constant column included: the intercept"
    ):
        walked(X, y, sx.max_margin(X, labels), fit_intercept=True)
    with pytest.raises(ValueError, match="its theta has margin .* of the same rows"):
        walked(X, y, sx.max_margin(X, labels))


def test_a_run_on_the_best_direction_has_the_bracket_s_own_angle():
    X, y, _ = known(11)
    mu = sx.max_margin(X, y, rtol=1e-12)
    run = sx.solve(X, y, "batch-perceptron", angle=mu, theta0=mu.theta)
    assert run.n_iter == 0
    assert run.trace["angle_low"].tolist() == [0.0]
    assert run.trace["angle_high"][0] <= sqrt(2.1 * max(mu.relative_gap, 1e-13))


def test_a_trace_has_the_columns_only_where_they_were_asked_for(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need the extra [lab]")
    X, y, _ = known(5)
    mu = sx.max_margin(X, y)
    run = sx.solve(X, y, angle=mu, sharpness=True, stop=None, max_iter=500)
    assert list(run.trace)[-3:] == ["sharpness", "angle_low", "angle_high"]
    assert "angle_low" not in sx.solve(X, y).trace
    for metric in ("angle_low", "angle_high"):
        assert run.plot(metric).get_ylabel().endswith("θ*")


def test_a_run_with_angles_continues_from_its_checkpoint(tmp_path):
    X, y, _ = known(6)
    mu = sx.max_margin(X, y)
    options = {"angle": mu, "stop": None, "record": 7}
    whole = sx.solve(X, y, max_iter=210, **options)
    path = tmp_path / "run.npz"
    sx.solve(X, y, max_iter=70, checkpoint=path, **options)
    again = sx.solve(X, y, max_iter=210, checkpoint=path, **options)
    for name in ("iteration", "angle_low", "angle_high"):
        assert again.trace[name].tolist() == whole.trace[name].tolist()
    with pytest.raises(sx.CheckpointError, match="its trace is"):
        sx.solve(X, y, max_iter=400, checkpoint=path, stop=None, record=7)


def bracket(**changes: object) -> SimpleNamespace:
    """A bracket on the rows below, but for some changes."""
    right = {"lower": 2.0, "upper": 2.0, "theta": np.array([0.0, 1.0]), "weights": np.array([0.5, 0.5])}
    return SimpleNamespace(**(right | changes))


ROWS, LABELS = [[1.0, 2.0], [1.0, -2.0]], [1, -1]  # z = (±1, 2)


@pytest.mark.parametrize(
    ("angle", "complaint"),
    [
        (True, r"^angle must be a bracket on the margin, got True: pass angle=sx\.max_margin\(X, y\)\.$"),
        (2.0, "must be a bracket on the margin, got 2.0"),
        (bracket(lower="wide"), "must be a bracket on the margin"),
        (bracket(lower=0.0), r"positive lower end, got 0\.0: .* unless the rows separate, see separate\(\)\.$"),
        (bracket(lower=np.nan), "finite ends lower ≤ upper, got nan and 2.0"),
        (bracket(upper=inf), "finite ends lower ≤ upper, got 2.0 and inf"),
        (bracket(lower=3.0), "finite ends lower ≤ upper, got 3.0 and 2.0"),
        (bracket(theta=np.ones(3)), "2 rows of 3 entries, these are 2 of 2: pass"),
        (bracket(weights=np.ones(3)), "3 rows of 2 entries, these are 2 of 2: pass"),
        (bracket(theta=np.array([np.nan, 1.0])), "finite and not zero"),
        (bracket(theta=np.zeros(2)), "finite and not zero"),
        (bracket(weights=np.array([1.5, -0.5])), "finite and not zero"),
        (bracket(theta=np.array([1.0, 1.0])), r"its theta has margin 0\.707\d* here, and its lower end is 2; pass"),
        (bracket(lower=1.0, upper=1.9), r"its weights prove μ ≤ 2 here, and its upper end is 1\.9; pass"),
        (bracket(lower=2.1, upper=2.2), "its theta has margin 2 here, and its lower end is 2.1"),
    ],
)
def test_what_is_no_bracket_of_these_rows_is_refused_in_one_sentence(angle, complaint):
    with pytest.raises(ValueError, match=complaint):
        sx.solve(ROWS, LABELS, angle=angle)
    assert sx.solve(ROWS, LABELS, angle=bracket()).trace["angle_high"][-1] < 1e-12


def test_a_bracket_of_inseparable_rows_and_rows_left_out_are_refused():
    X, y = [[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]], [1, -1, 1]
    with pytest.raises(ValueError, match=r"positive lower end, got 0\.0"):
        sx.solve(X, y, angle=sx.max_margin(X, y))
    with pytest.raises(ValueError, match="sample_weight is 0 in some rows"):
        sx.solve(ROWS, LABELS, angle=bracket(), sample_weight=[1, 0])
    assert sx.solve(ROWS, LABELS, angle=bracket(), sample_weight=[1, 3]).trace["angle_low"][0] == 0


def test_angles_near_0_and_near_π_keep_their_digits():
    a = np.array([1.0, 0.0, 0.0])
    for small in (1e-3, 1e-7, 1e-10):
        b = np.array([np.cos(small), np.sin(small), 0.0])
        assert abs(angle_between(a, b) - small) < 1e-15
        assert abs(angle_between(a, -b) - (pi - small)) < 1e-15
    assert arccos_above(0.5, 1.0) == pytest.approx(pi / 3, rel=1e-14)
    assert arccos_above(1.0, 1.0) == 0.0
    assert arccos_above(1 - 2.0**-53, 1.0) == pytest.approx(2.0**-26, rel=1e-14)


def test_an_iterate_beyond_the_upper_end_shows_that_the_bracket_is_of_other_rows():
    rows = sx.Problem(ROWS, LABELS).rows
    angle = Angle(rows, bracket())
    angle.upper = 1.5
    with pytest.raises(ValueError, match=r"its upper end is 1\.5, and an iterate here has margin 1\.99"):
        angle.interval(np.array([0.0, 3.0, 0.0]))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("gamma", [1e-3, 1e-1, 1e2])
def test_each_line_of_the_theorems_proof_holds_along_walks(power, gamma):
    """docs/bias.md, lines 1 to 5: e = φ - S w stays within C √S, and so does the angle."""
    for seed in range(4):
        X, y, u = known(seed)
        Z, n = y[:, None] * X / 16, len(X)
        w = (Z @ u).min() * u / (u @ u)  # μθ*
        mu, R = np.linalg.norm(w), np.linalg.norm(Z, axis=1).max()
        square = 2 * np.log(2 * n) / gamma + R**2 - mu**2
        phi, S = np.zeros(len(u)), 0.0
        for _ in range(300):
            logs = -np.logaddexp(0.0, gamma * (Z @ phi))  # log w_i, which may be far below float64's range
            total = np.logaddexp.reduce(logs)
            v, c = Z.T @ np.exp(logs - total), np.exp(power * (total - np.log(n)))
            e = phi - S * w
            assert (v - w) @ (v - w) <= (R**2 - mu**2) * (1 + 1e-9)
            assert v @ w >= mu**2 * (1 - 1e-9)
            assert gamma * phi @ (v - w) <= np.log(2 * n) + 1e-9 * gamma * np.linalg.norm(phi) * R
            assert e @ e <= square * S * (1 + 1e-9)
            if S:
                across = phi - (phi @ w) / mu**2 * w
                assert np.linalg.norm(across) / (phi @ w / mu) <= sqrt(square / S) / mu * (1 + 1e-9)
            phi, S = phi + c * v, S + c


@pytest.mark.parametrize("gamma", [1e-4, 1e-2, 1.0, 1e4])
def test_normalized_lr_gd_turns_like_one_over_t_at_every_step_size(gamma):
    """The rows on the margin of `known` all have λ_i > 0, so t times the angle is bounded, from below too mostly."""
    for seed in range(4):
        X, y, _ = known(seed)
        run = sx.solve(X, y, "normalized-lr-gd", step_size=gamma, angle=sx.max_margin(X, y), stop=None, max_iter=30_000)
        t, low = run.trace["iteration"], run.trace["angle_low"]
        before, last = ((t >= 300) & (t < 3000)), t >= 3000
        assert (t * low)[last].max() <= 1.5 * (t * low)[before].max()


def small_book(tmp_path, method="normalized-lr-gd", **entry):
    """A bench of two step sizes on two planted samples."""
    entries = {
        "data": {"rows": {"source": "planted", "rows": 40, "columns": 4, **dict.fromkeys(BUDGETS, 3000), **entry}},
        "bias": {
            "kind": "bias",
            "title": "turning",
            "data": ["rows"],
            "methods": ["lr-gd", method],
            "step_sizes": [10, 100],
            "seeds": 2,
        },
    }
    return reproduce(parse_book(entries, "my.toml"), ["all"], profile="paper", out=tmp_path, workers=1)


BUDGETS = ("budget", "budget_below_10", "budget_below_1")


def test_the_bench_fits_exponents_to_certified_angles(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need the extra [lab]")
    (piece,) = small_book(tmp_path).pieces
    (table,) = piece.tables.values()
    assert list(piece.pictures) == ["", "norm"]
    by = {(row[1], row[2]): row for row in table.rows}
    assert len(by) == 4
    assert all(row[3] == 2 for row in table.rows)
    for (name, _), row in by.items():
        b, growth = row[5], row[9]
        assert (0.8 < b < 1.2 and growth is None) if name == "Normalized LR+GD" else (0 <= b < 0.5 and 0 < growth < 2)
    (normal,) = (told for told in piece.sentences if "falls like 1/t" in told)
    assert normal.startswith("For the claim: Normalized LR+GD on rows, n = 40 falls")
    assert any("is no faster than a logarithm at 2 of 2 step sizes" in told for told in piece.sentences)
    small_book(tmp_path)  # runs are kept


def test_a_longer_run_shows_no_more_than_was_asked_for():
    t = np.arange(0, 101)
    columns = {"iteration": t, "errors": np.maximum(5 - t, 0), "theta_norm": 1.0 + t}
    columns |= {"angle_low": 0.99 / (1 + t), "angle_high": 1.01 / (1 + t)}
    course = course_of(Result({}, columns), 50)
    assert course.t[[0, -1]].tolist() == [1, 50]
    assert course.separated == 5
    assert course.exponent(course.norm)[0] == pytest.approx(1.0)
    assert course.at(9.0) == pytest.approx(0.1)
    assert not course.rests


def test_rows_that_do_not_separate_have_no_direction_to_turn_to(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need the extra [lab]")
    (piece,) = small_book(tmp_path, source="overlap", flipped=0.3).pieces
    assert piece.sentences == ("No sample was found to be separable, so there is no direction of widest margin.",)
    assert not piece.tables


def test_all_step_sizes_run_equally_long():
    entry = DataEntry("m", "planted", budget=300, budget_below_10=200, budget_below_1=100)
    assert {bias_job(entry, 0, "lr-gd", gamma).limit for gamma in (0.1, 1.0, 10.0, 1e4)} == {100}
