"""Methods of one's own and schedules: a method of the table written by hand has its bits, and all that it has."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

import numpy as np
import pytest

import separatrix as sx
from far import scattered
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method, plan_of
from separatrix.walking.trace import COLUMNS

NUMBERS = [name for name in COLUMNS if name != "seconds"]


class MyLRGD(sx.Method):
    """LR+GD, written by hand."""

    exponential_tail = True

    def weights(self, x):
        return 1 / (1 + sx.exp(x))


class ByDivisor(sx.Method):
    """LR+GD by its normaliser: N = n."""

    exponential_tail = True

    def normaliser(self, at):
        return at.n


def separable(seed=0, n=300, d=12, margin=0.03):
    return sx.planted(n, d, margin=margin, random_state=seed)[:2]


def odd(n, d):
    """Options that touch every part of a step."""
    rng = np.random.default_rng(1)
    s = rng.integers(0, 3, n).astype(float)
    return {"fit_intercept": True, "sample_weight": s, "theta0": rng.standard_normal(d + 1)}


def assert_same(one, other):
    """The same run to the last bit, the clock aside."""
    assert one.n_iter == other.n_iter and one.status == other.status and one.step_size == other.step_size
    assert one.theta.tobytes() == other.theta.tobytes() and one.phi.tobytes() == other.phi.tobytes()
    for name in NUMBERS:
        assert np.array_equal(one.trace[name], other.trace[name], equal_nan=True), name


PROBLEMS = {
    "planted": separable(),
    "worst case": sx.worst_case(1000),
    "mixed": (np.random.default_rng(5).standard_normal((700, 9)), np.resize([-1, 1], 700)),
    "huge": (separable(3)[0] * 1e200, separable(3)[1]),
    "float32": (separable(4)[0].astype(np.float32), separable(4)[1]),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0, 1e6])
@pytest.mark.parametrize(("power", "name"), [(1.0, "lr-gd"), (0.0, "normalized-lr-gd"), (0.625, "tempered-lr-gd")])
def test_lr_gd_by_hand_has_the_bits_of_the_table_s(problem, gamma, power, name):
    X, y = PROBLEMS[problem]
    for options in ({}, odd(*X.shape)):
        some = {"max_iter": 60, "stop": None, **options}
        if problem == "huge" and options:
            some["theta0"] = options["theta0"] * 1e-200
        table = sx.solve(X, y, name, step_size=gamma, engine="numpy", **some)
        assert_same(table, sx.solve(X, y, MyLRGD(gamma, power=power), **some))
        if power == 1.0:
            assert_same(table, sx.solve(X, y, ByDivisor(gamma), **some))


def test_past_separation_lr_gd_by_hand_keeps_the_ratios_of_its_weights():
    X, y = separable(0, 300, 12, 0.1)
    some = {"max_iter": 300, "stop": None, "record": None}
    for power, name in ((0.0, "normalized-lr-gd"), (0.625, "tempered-lr-gd")):
        mine = sx.solve(X, y, MyLRGD(1e6, power=power), **some)
        assert mine.theta.tobytes() == sx.solve(X, y, name, step_size=1e6, engine="dense", **some).theta.tobytes()
        assert ((X @ mine.theta) * y).min() > 1000  # where every weight is 0 in float64


# -- methods of one's own -------------------------------------------------------------------------------------------


class Wrong(sx.Method):
    """Wrong rows pull with weight 1: whole numbers stay whole."""

    def weights(self, x):
        return x <= 0


@dataclass
class HeavyBall(sx.Method):
    """v⁺ = βv - γ∇f(θ), θ⁺ = θ + v⁺."""

    gamma: float = 1.0
    beta: float = 0.5

    def memory(self, n, d):
        return {"v": np.zeros(d), "calls": 0}

    def step(self, at):
        at.memory["v"] = self.beta * at.memory["v"] + at.step_size * at.pull(at.w) / at.n
        at.memory["calls"] += 1
        return at.memory["v"]


WHOLE = np.random.default_rng(2).integers(-4, 5, (40, 3)), np.resize([-1, 1], 40)


def test_a_step_of_one_s_own_is_taken_as_it_is_written():
    X, y = separable(6, 100, 4)
    Z, v, theta = X * y[:, None], np.zeros(4), np.zeros(4)
    run = sx.solve(X, y, HeavyBall(gamma=2.0, beta=0.5), max_iter=25, stop=None)
    for _ in range(25):
        v = 0.5 * v + 2.0 * (1 / (1 + np.exp(Z @ theta))) @ Z / 100
        theta = theta + v
    assert np.allclose(run.theta, theta, rtol=1e-12)
    assert run.theta.tobytes() == (2.0 * run.phi).tobytes()


def test_momentum_0_is_gradient_descent_and_momentum_is_not():
    X, y = separable(6, 100, 4)
    plain = sx.solve(X, y, "lr-gd", max_iter=20, stop=None).theta
    assert np.allclose(sx.solve(X, y, HeavyBall(beta=0.0), max_iter=20, stop=None).theta, plain, rtol=1e-12)
    assert not np.allclose(sx.solve(X, y, HeavyBall(beta=0.9), max_iter=20, stop=None).theta, plain, rtol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_what_a_method_is_shown_is_the_iterate(intercept):
    X, y = WHOLE
    s = np.arange(40.0) % 3
    kept, seen = s > 0, []

    class Watch(Wrong):
        def step(self, at):
            seen.append(at.t)
            A = np.column_stack([X, np.ones(40)]) if intercept else X
            Z = (A * y[:, None])[kept]
            assert at.theta.shape == (3 + intercept,) and at.n == s.sum() and at.step_size == 0.5
            assert np.array_equal(at.x, Z @ at.theta) and np.array_equal(at.s, s[kept])
            assert np.array_equal(at.w, s[kept] * (at.x <= 0)) and at.W == at.w.sum()
            assert np.array_equal(at.margins(np.ones(3 + intercept)), Z.sum(axis=1))
            assert np.array_equal(at.pull(at.w), at.w @ Z)
            at.x[:] = at.theta[:] = nan  # copies
            return at.step_size * at.pull(at.w)

    sx.solve(X, y, Watch(), step_size=0.5, sample_weight=s, fit_intercept=intercept, max_iter=9, stop=None)
    assert seen == list(range(9))


def test_whole_weights_are_repeated_rows_to_a_method_of_one_s_own():
    X, y = WHOLE
    s = np.arange(40) % 3
    for method in (Wrong(2.0), Wrong(2.0, power=0.0), HeavyBall(2.0)):
        one = sx.solve(X, y, method, sample_weight=s, max_iter=30, stop=None)
        other = sx.solve(np.repeat(X, s, axis=0), np.repeat(y, s), method, max_iter=30, stop=None)
        assert np.allclose(one.theta, other.theta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", [Wrong(3.0), Wrong(3.0, power=0.0), HeavyBall(3.0)], ids=lambda m: m.name)
def test_the_trace_of_a_method_of_one_s_own_says_what_its_iterates_are(method):
    X, y = WHOLE
    Z, kept = X * y[:, None], []
    run = sx.solve(X, y, method, max_iter=15, stop=None, record="all", callback=kept.append)
    assert list(run.trace) == list(COLUMNS) and run.trace.loss_name == "logistic loss"
    for k, at in enumerate(kept):
        x = Z @ at.theta
        assert run.trace["errors"][k] == (x <= 0).sum() and at.errors == (x <= 0).sum()
        assert np.isclose(run.trace["loss"][k], np.logaddexp(0, -x).mean())
        assert np.isclose(run.trace["grad_norm"][k], np.linalg.norm(method.weights(x) @ Z) / 40)
        assert np.isclose(run.trace["theta_norm"][k], np.linalg.norm(at.theta))


def test_rows_of_a_slow_tail_all_count_and_those_of_an_exponential_one_up_to_the_cut():
    X, y = np.array([[1.0], [500.0]]), [1, 1]

    class Slow(sx.Method):
        def weights(self, x):
            return np.where(x > 100, 1.0, 0.0)

    class Told(Slow):
        exponential_tail = True

    X, y = np.array([[1.0], [-500.0]]), [1, -1]
    for kind, pulled in ((Slow, 250.0), (Told, 0.0)):
        assert sx.solve(X, y, kind(), theta0=[1.0], max_iter=1, stop=None).theta[0] == 1.0 + pulled


def test_a_method_of_one_s_own_is_stopped_and_drawn_like_the_others(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib")
    pyplot.switch_backend("agg")
    X, y = separable()
    run = sx.solve(X, y, HeavyBall(), stop=lambda at: at.t == 7)
    assert run.status == "stopped" and run.n_iter == 7 and run.method == "heavy-ball"
    assert str(run).startswith("heavy-ball, step size 1: stopped after 7 iterations (numpy engine")
    other = sx.solve(X, y, step_size=lambda t: 2.0, max_iter=5)
    assert str(other).startswith("lr-gd, step size 2 at first: ") and other.scheduled and not run.scheduled
    ax = sx.plot.compare([run, other, sx.solve(X, y, max_iter=5)], "loss")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "heavy-ball, γ = 1",
        "LR+GD, γ₀ = 2",
        "LR+GD, γ = 1",
    ]
    run.plot("theta_norm")
    pyplot.close("all")


def test_names_are_the_words_of_the_class():
    class ABatchMethod(Wrong):
        pass

    class Called(Wrong):
        name = "something else"

    assert [m.name for m in (MyLRGD(), ABatchMethod(), Called())] == ["my-lrgd", "a-batch-method", "something else"]


BAD = {
    "shape": (lambda x: np.ones(3), r"weights must have shape \(40,\), one for each row, got \(3,\) at t = 0"),
    "text": (lambda x: "w", "weights must be numbers, got 'w' at t = 0"),
    "nan": (lambda x: np.where(x != 0, nan, 1.0), "weights must be finite and not negative, got nan at t = 1"),
    "negative": (lambda x: np.where(x != 0, -1.0, 1.0), "weights must be finite and not negative, got -1.0 at t = 1"),
    "infinite": (lambda x: np.where(x != 0, inf, 1.0), "weights must be finite and not negative, got inf at t = 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_weights_that_cannot_be_are_told_with_method_t_and_value(case):
    function, sentence = BAD[case]

    class Mine(sx.Method):
        def weights(self, x):
            return function(x)

    with pytest.raises(ValueError, match=f"^mine: {sentence}.*[.]$"):
        sx.solve(*WHOLE, Mine(), max_iter=5)


@pytest.mark.parametrize(
    ("name", "function", "sentence"),
    [
        ("normaliser", lambda self, at: 0.0, "normaliser must be a finite number above 0, got 0.0 at t = 0"),
        ("normaliser", lambda self, at: nan, "normaliser must be a finite number above 0, got nan at t = 0"),
        ("step", lambda self, at: [1.0], r"step must have shape \(3,\), one for each entry of θ, got \(1,\) at t = 0"),
        ("step", lambda self, at: [1.0, inf, 0.0], "step must be finite, got inf at t = 0"),
        ("step", lambda self, at: at.memory.update(u=1) or [0, 0, 0], r"memory\['u'\] came or went at t = 0"),
        ("step", lambda self, at: at.memory.update(v=[1, 2]) or [0, 0, 0], r"memory\['v'\] began as float64 of shape"),
        ("memory", lambda self, n, d: {"v": "text"}, "memory must hold arrays of numbers"),
        ("step_size", lambda self, t: -1.0, "step_size must be finite and positive at every t, got -1.0 at t = 0"),
    ],
)
def test_what_else_a_method_cannot_say_is_told(name, function, sentence):
    body = {"weights": Wrong.weights, "memory": lambda self, n, d: {"v": 0.0}, name: function}
    with pytest.raises(ValueError, match=sentence):
        sx.solve(*WHOLE, type("Mine", (sx.Method,), body)(), max_iter=5)


def test_methods_that_say_nothing_or_too_much_are_refused():
    X, y = WHOLE

    class Nothing(sx.Method):
        def weight(self, x):
            return x

    with pytest.raises(ValueError, match="Nothing overrides none of weights, normaliser, step_size and step"):
        sx.solve(X, y, Nothing())
    with pytest.raises(ValueError, match=r"method is the class Wrong; make one of it: Wrong\(…\)"):
        sx.solve(X, y, Wrong)
    with pytest.raises(ValueError, match="wrong takes finite step sizes, got ∞"):
        sx.solve(X, y, Wrong(), step_size=inf)
    with pytest.raises(ValueError, match="step_size must be positive, got -2"):
        sx.solve(X, y, Wrong(-2))
    with pytest.raises(ValueError, match="power must be a number from 0 to 1, got 2 of wrong"):
        sx.solve(X, y, Wrong(power=2))
    with pytest.raises(
        ValueError, match="power is for the methods of the table, got 0.5; wrong has it as an attribute"
    ):
        sx.solve(X, y, Wrong(), power=0.5)
    with pytest.raises(ValueError, match="order='random' is for the perceptron; wrong uses every row at once"):
        sx.solve(X, y, Wrong(), order="random")
    with pytest.raises(ValueError, match='takes the methods of the table; rows in memory take engine="numpy"'):
        sx.solve(X, y, Wrong(), engine="dense")


# -- step sizes that vary -------------------------------------------------------------------------------------------


def up_and_down(t):
    return 40.0 * (1 + t % 7) / (1 + t) ** 0.3


class Varies(MyLRGD):
    def step_size(self, t):
        return up_and_down(t)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["lr-gd", "normalized-lr-gd", "tempered-lr-gd"])
def test_every_engine_takes_a_schedule_to_the_same_bits(name, intercept):
    X, y = separable(1, 1200, 9, 0.002)
    options = odd(*X.shape) if intercept else {}
    runs = {}
    for engine in ("numpy", "dense", "lazy"):
        runs[engine] = sx.solve(
            X, y, name, step_size=up_and_down, engine=engine, max_iter=1500, stop=None, record=100, **options
        )
        assert runs[engine].step_size == 40.0 and runs[engine].phi.tobytes() == runs["numpy"].phi.tobytes()
    if not intercept:
        assert runs["lazy"].stats["rows_read"] <= runs["dense"].stats["rows_read"]
    mine = sx.solve(X, y, Varies(power=runs["numpy"].power), max_iter=1500, stop=None, record=100, **options)
    assert_same(mine, runs["numpy"])


def test_lazy_reads_few_rows_and_keeps_the_bits_where_steps_grow_and_shrink():
    X, y = separable(2, 3000, 5, 0.01)
    for schedule in (lambda t: 1e3 * 1.3 ** (t % 30), lambda t: 1e6 / (1 + t) ** 2):
        runs = [
            sx.solve(X, y, "normalized-lr-gd", step_size=schedule, engine=e, max_iter=400, stop=None)
            for e in ("lazy", "dense")
        ]
        assert runs[0].phi.tobytes() == runs[1].phi.tobytes()
        assert runs[0].stats["rows_read"] < runs[1].stats["rows_read"] / 2


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
@pytest.mark.parametrize("engine", ["numpy", "dense", "lazy"])
def test_a_constant_schedule_is_the_step_size_itself(engine, arithmetic):
    if (engine, arithmetic) == ("lazy", "float32"):
        engine = "auto"
    X, y = separable(1, 600, 7, 0.005)
    some = {"engine": engine, "arithmetic": arithmetic, "max_iter": 200, "stop": None}
    for name in ("lr-gd", "normalized-lr-gd"):
        assert_same(
            sx.solve(X, y, name, step_size=30.0, **some), sx.solve(X, y, name, step_size=lambda t: 30.0, **some)
        )


def test_float32_arithmetic_takes_a_schedule_to_the_definition_s_bits():
    X, y = separable(1, 600, 7, 0.005)
    runs = [
        sx.solve(X, y, step_size=up_and_down, arithmetic="float32", engine=e, max_iter=1100, stop=None)
        for e in ("numpy", "dense")
    ]
    assert runs[0].phi.tobytes() == runs[1].phi.tobytes()


def test_theta_is_the_sum_of_steps_each_of_its_own_size():
    X, y = WHOLE
    Z, theta = X * y[:, None], np.zeros(3)
    run = sx.solve(X, y, Wrong(), step_size=lambda t: 40.0 * 2 ** (t % 3), max_iter=12, stop=None)
    for t in range(12):
        theta = theta + 2 ** (t % 3) * (Z @ theta <= 0) @ Z
    assert np.array_equal(run.theta, theta)


@pytest.mark.parametrize("name", ["lr-gd", "normalized-lr-gd"])
@pytest.mark.parametrize("engine", ["lazy", "dense"])
def test_rows_in_shards_take_a_schedule_to_the_same_bits(engine, name):
    X, y = separable(1, 1500, 6, 0.01)
    some = {"max_iter": 1100, "stop": None, "engine": engine}
    plan = plan_of(name, up_and_down)
    far = Walk(scattered(X, y, 3), plan, **some).finish()
    assert (
        far.engine == "files"
        and far.theta.tobytes() == sx.solve(X, y, name, step_size=up_and_down, **some).theta.tobytes()
    )


def test_rows_elsewhere_take_no_method_of_one_s_own():
    X, y = separable(1, 1500, 6, 0.01)
    with pytest.raises(ValueError, match='takes the methods of the table; rows in memory take engine="numpy"'):
        Walk(scattered(X, y, 3), plan_of(Wrong()))


@pytest.mark.parametrize("engine", ["numpy", "lazy"])
@pytest.mark.parametrize("value", [0.0, -1.0, inf, nan, "1", None, True])
def test_a_step_size_that_cannot_be_is_told_with_its_t(engine, value):
    X, y = separable()
    sentence = f"step_size must be finite and positive at every t, got {value!r} at t = "
    with pytest.raises(ValueError, match=sentence + "0[.]"):
        sx.solve(X, y, step_size=lambda t: value, engine=engine)
    with pytest.raises(ValueError, match=sentence + "5[.]"):
        sx.solve(X, y, step_size=lambda t: value if t == 5 else 0.1, engine=engine, stop=None, max_iter=9)
    with pytest.raises(ValueError, match=r"step_size leaves float64: 1e\+200 at t = 1 over 1e-200 at t = 0"):
        sx.solve(X, y, step_size=lambda t: 1e200 if t else 1e-200, engine=engine, max_iter=9)


@pytest.mark.parametrize("engine", ["numpy", "lazy"])
def test_a_schedule_that_ends_is_missed_only_where_the_run_gets_there(engine):
    X, y = separable()
    steps = [1.0] * 50
    run = sx.solve(X, y, step_size=steps.__getitem__, engine=engine, max_iter=50, stop=None)
    assert run.n_iter == 50
    enough = sx.solve(X, y, step_size=1.0, engine=engine)
    assert enough.separated and 1 < enough.n_iter < 1000
    steps = [1.0] * enough.n_iter
    assert_same(enough, sx.solve(X, y, step_size=steps.__getitem__, engine=engine))
    steps = [1.0] * 50
    with pytest.raises(IndexError):
        sx.solve(X, y, step_size=steps.__getitem__, engine=engine, max_iter=51, stop=None)


def test_who_takes_one_step_size_says_so():
    X, y = separable()
    varying = {"step_size": lambda t: 1.0}
    for engine in ("gram", sx.Gram()):
        with pytest.raises(ValueError, match='engine="gram" takes one step size for all t; schedules take "dense"'):
            sx.solve(X, y, engine=engine, **varying)
    for name in ("perceptron", "batch-perceptron", "tempered-batch-perceptron"):
        with pytest.raises(ValueError, match=f"{name} takes no step_size, got a function"):
            sx.solve(X, y, name, **varying)
    for other in (sx.LogisticGD(step_size=lambda t: 1.0).fit, parse_method):
        with pytest.raises(ValueError, match="step_size must be a number"):
            other(X, y) if other is not parse_method else other("lr-gd", lambda t: 1.0)


def test_auto_finds_an_engine_that_takes_a_schedule():
    X, y = separable(0, 80, 300)
    assert sx.solve(X, y, step_size=1e6).engine == "gram"
    assert sx.solve(X, y, step_size=lambda t: 1e6).engine == "lazy"


# -- overflow -------------------------------------------------------------------------------------------------------

INSEPARABLE = (np.random.default_rng(0).standard_normal((50, 5)), np.resize([1, -1], 50))


@pytest.mark.parametrize("problem", ["planted", "inseparable", "one column"])
@pytest.mark.parametrize("name", ["lr-gd", "normalized-lr-gd"])
@pytest.mark.parametrize("stop", ["separated", None])
def test_steps_that_grow_past_float64_end_at_the_last_finite_iterate(problem, name, stop):
    X, y = {"planted": separable(), "inseparable": INSEPARABLE, "one column": (np.ones((3, 1)), [1, 1, -1])}[problem]
    options = {"step_size": lambda t: 10.0 * 2.0 ** min(t, 1020), "max_iter": 3000, "stop": stop}
    if problem == "planted":
        options["theta0"] = -1e9 * np.linalg.lstsq(X, y, rcond=None)[0]  # wrong for long
    runs = [sx.solve(X, y, name, engine=engine, **options) for engine in ("numpy", "dense", "lazy")]
    assert len({run.status for run in runs}) == 1
    if problem == "inseparable" and name == "lr-gd":
        assert runs[0].status == "diverged" and "too large for floats" in str(runs[0])
    assert len({run.n_iter for run in runs}) == 1 and np.isfinite(runs[0].phi).all()
    assert runs[0].phi.tobytes() == runs[1].phi.tobytes() == runs[2].phi.tobytes()


@pytest.mark.parametrize("engine", ["numpy", "lazy"])
@pytest.mark.parametrize("schedule", [lambda t: 10**t, lambda t: 10.0**t])
def test_a_schedule_that_overflows_by_itself_says_where(engine, schedule):
    X, y = np.ones((3, 1)), [1, 1, -1]
    with pytest.raises(ValueError, match=r"step_size .* at t = 3\d\d"):
        sx.solve(X, y, step_size=lambda t: schedule(t) if t in (0, 309, 310) else 1.0, engine=engine, stop=None)


# -- checkpoints ----------------------------------------------------------------------------------------------------

RUNS = {
    "schedule, numpy": ("lr-gd", {"step_size": up_and_down, "engine": "numpy"}),
    "schedule, lazy": ("normalized-lr-gd", {"step_size": up_and_down, "engine": "lazy"}),
    "weights": (MyLRGD(50.0), {}),
    "memory": (HeavyBall(2.0, beta=0.7), {"fit_intercept": True}),
    "own schedule": (Varies(), {}),
}


@pytest.mark.parametrize("case", RUNS)
def test_a_run_continued_from_its_checkpoint_has_the_bits_of_one_in_one_piece(case, tmp_path):
    X, y = separable(1, 600, 7, 0.005)
    method, options = RUNS[case]
    some = {**options, "stop": None}
    whole = sx.solve(X, y, method, max_iter=300, record=150, **some)
    path = tmp_path / "run.npz"
    for end in (0, 1, 150, 300):
        parts = sx.solve(X, y, method, max_iter=end, record=150, checkpoint=path, **some)
    assert parts.theta.tobytes() == whole.theta.tobytes() and parts.n_iter == 300


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ({"step_size": up_and_down}, {"step_size": lambda t: up_and_down(t) + (t == 2**20)}, "schedule"),
        ({"step_size": up_and_down}, {"step_size": 40.0}, "schedule"),
        ({"method": HeavyBall(beta=0.7)}, {"method": HeavyBall(beta=0.8)}, "own method"),
        ({"method": Wrong()}, {"method": type("Wrong", (MyLRGD,), {"name": "wrong"})()}, "own method"),
    ],
)
def test_a_checkpoint_of_another_schedule_or_method_is_refused(one, other, what, tmp_path):
    X, y = separable()
    path = tmp_path / "run.npz"
    sx.solve(X, y, max_iter=20, stop=None, engine="numpy", checkpoint=path, **one)
    before = path.read_bytes()
    with pytest.raises(sx.CheckpointError, match=f"belongs to another run: its {what} is"):
        sx.solve(X, y, max_iter=20, stop=None, engine="numpy", checkpoint=path, **other)
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_step_size_shows_both_in_decimals(tmp_path):
    X, y = separable()
    sx.solve(X, y, MyLRGD(10.0), checkpoint=tmp_path / "run.npz")
    with pytest.raises(sx.CheckpointError, match=r"its step size is 10\.0, this run's is 0\.3; it was left"):
        sx.solve(X, y, MyLRGD(0.3), checkpoint=tmp_path / "run.npz")


# -- the iterate ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["numpy", "dense", "lazy", "gram"])
def test_an_iterate_has_what_the_trace_has_and_can_be_kept(engine):
    X, y = separable()
    kept = []
    run = sx.solve(X, y, step_size=5.0, engine=engine, record=3, callback=kept.append, sharpness=True)
    assert len(kept) == len(run.trace["iteration"]) > 2
    for name in run.trace:
        assert np.array_equal([getattr(at, name) for at in kept], run.trace[name], equal_nan=True), name
    for at in kept:
        margins = (X @ at.theta) * y
        assert np.allclose(at.margins, margins, atol=1e-9) and (at.margins <= 0).sum() == at.errors
    assert np.array_equal(kept[-1].theta, run.theta)


@pytest.mark.parametrize("scale", [1.0, 1e160])  # with rows as long the core takes another unit
@pytest.mark.parametrize("intercept", [False, True])
def test_margins_of_an_iterate_have_the_intercept_and_the_scale_of_the_rows(intercept, scale):
    X, y = separable(3)
    X, kept = X * scale, []
    some = {"step_size": 5.0 / scale**1.9, "fit_intercept": intercept, "intercept_scaling": scale}
    sx.solve(X, y, max_iter=4, callback=kept.append, **some)
    theta = kept[-1].theta
    margins = y * (X @ theta[:-1] + scale * theta[-1]) if intercept else y * (X @ theta)
    assert np.allclose(kept[-1].margins, margins, rtol=1e-9, atol=0) and abs(margins).max() > 0


def test_exp_is_within_one_unit_in_the_last_place_and_keeps_the_kind():
    x = np.linspace(-700, 700, 10_001)
    assert (abs(sx.exp(x) - np.exp(x)) <= 2 * np.spacing(np.exp(x))).all()
    assert sx.exp(np.float32([1, 2])).dtype == np.float32 and sx.exp(1).dtype == np.float64


class Falters(sx.Method):
    """Momentum whose memory is changed in place, and which a keyboard interrupts once in `where` at t = 30."""

    def __init__(self, where):
        super().__init__(2.0)
        self._where, self._asked = where, 0

    def falter(self, where):
        self._asked += where == self._where
        if self._asked == 31:
            self._asked += 1
            raise KeyboardInterrupt

    def memory(self, n, d):
        return {"v": np.zeros(d)}

    def weights(self, x):
        self.falter("weights")
        return 1 / (1 + sx.exp(x))

    def step(self, at):
        at.memory["v"] *= 0.5
        at.memory["v"] += at.pull(at.w) / at.n
        self.falter("step")
        return at.memory["v"]


@pytest.mark.parametrize("where", ["weights", "step"])
def test_an_interrupt_inside_a_method_leaves_the_iterate_before_it(where, tmp_path):
    options = {"stop": None, "max_iter": 80, "record": "all"}
    X, y = PROBLEMS["planted"]
    unbroken = sx.solve(X, y, Falters(None), **options)
    broken = sx.solve(X, y, Falters(where), checkpoint=tmp_path / "run", **options)
    assert broken.status == "interrupted" and broken.n_iter in (29, 30)
    assert_same(sx.solve(X, y, Falters(None), checkpoint=tmp_path / "run", **options), unbroken)


def test_memory_may_be_replaced_as_a_whole():
    class Counts(sx.Method):
        def memory(self, n, d):
            return {"k": 0.0}

        def step(self, at):
            at.memory = {"k": at.memory["k"] + 1}
            return np.full(len(at.theta), at.memory["k"])

    run = sx.solve([[1.0], [2.0]], [0, 1], Counts(), stop=None, max_iter=5)
    assert run.theta.tolist() == [15.0]


def test_auto_takes_the_definition_for_a_method_of_one_s_own_in_float32_too():
    class Wrong(sx.Method):
        def weights(self, x):
            return x <= 0

    X, y = PROBLEMS["mixed"]
    run = sx.solve(X, y, Wrong(), arithmetic="float32", max_iter=20)
    assert run.engine == "numpy"
    assert_same(run, sx.solve(X, y, Wrong(), arithmetic="float32", engine="numpy", max_iter=20))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("weights", lambda self, x: np.full(len(x), 1e308)),
        ("normaliser", lambda self, at: 5e-324),
        ("step", lambda self, at: np.where(at.t < 1, 1.0, 1.7e308) * np.ones(len(at.theta))),
    ],
)
def test_a_step_out_of_the_numbers_is_told_and_claims_nothing(name, function):
    method = type("Far", (sx.Method,), {name: function})(2.0 if name != "step" else 1e-3)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match=r"^far: the step at t = \d"):
        sx.solve(*PROBLEMS["mixed"], method, max_iter=5, record=None)


@pytest.mark.parametrize("engine", ["dense", "lazy", "numpy"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_schedule_that_takes_theta_out_of_the_numbers_is_told(engine):
    growing = {"step_size": lambda t: 1e-300 if t < 1 else 1e5 * 10.0 ** min(t, 100), "engine": engine}
    run = sx.solve(*PROBLEMS["mixed"], **growing)
    assert run.status == "diverged" and not run.separated and np.isfinite(run.phi).all()


@pytest.mark.parametrize(
    ("functions", "sentence"),
    [
        ({"weights": lambda self, x: (x < 1) * 1j}, "weights must be numbers"),
        ({"normaliser": lambda self, at: 10**400}, "normaliser must be a finite number above 0"),
        ({"memory": lambda self, n, d: None, "step": lambda self, at: at.theta}, "memory must return a dict"),
        ({"step": lambda self, at: setattr(at, "memory", None) or at.theta}, "at.memory must stay a dict"),
    ],
)
def test_odd_answers_of_a_method_are_told_in_a_sentence(functions, sentence):
    with pytest.raises(ValueError, match=sentence):
        sx.solve(*PROBLEMS["planted"], type("Odd", (sx.Method,), functions)())


def test_a_step_size_too_long_for_a_float_is_told():
    with pytest.raises(ValueError, match="step_size must be"):
        sx.solve(*PROBLEMS["planted"], step_size=10**400)
