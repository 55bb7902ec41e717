"""An iterate that comes back bit for bit proves that a run repeats itself for ever."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from conftest import noise
from separatrix.data.memory import hold
from separatrix.walking.engines import make_engine
from separatrix.walking.methods import Method, parse_method
from separatrix.walking.one_vs_rest import solve_each
from separatrix.walking.watch import Watch, cycle_of

WATCHING = ("dense", "lazy", "numpy")
XOR = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
SMALL, BUDGET = 500, 1500  # problems, iterations


def against(k: int) -> tuple[np.ndarray, np.ndarray]:
    """The number 1, k times of one class and once of the other."""
    return np.ones((k + 1, 1)), np.append(np.ones(k), -1.0)


def inseparable(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers: some rows z and minus the sum of several of them, so that λ ≥ 0 gives Zᵀλ = 0."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    Z = rng.integers(-3, 4, (n, d)).astype(float)
    some = rng.integers(0, 2, n)
    some[0] = 1
    y = np.resize([1.0, -1.0], n + 1)
    return y[:, None] * np.vstack([Z, -(some @ Z)]), y


def separable(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers with z_iᵀu ≥ 1 for a whole u."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    u, Z = rng.integers(1, 4, d), rng.integers(-3, 4, (n, d))
    Z[Z @ u < 0] *= -1
    Z[Z @ u == 0, 0] += 1
    y = np.resize([1.0, -1.0], n)
    return y[:, None] * Z.astype(float), y


def exactly(X, y, method: str, order: str = "cyclic", number: type = Fraction):
    """Φ_0, Φ_1, … of the two whose steps are whole rows, by the formula alone; floats will do for small whole rows.

    With each comes the number of rows seen of the present sweep, 0 where rows do not come in turn.
    """
    Z = [[number(v) * int(b) for v in a] for a, b in zip(np.asarray(X).tolist(), y, strict=True)]
    phi, n, t, place = [number(0)] * len(Z[0]), len(Z), 0, 0

    def m(z):
        return sum(a * b for a, b in zip(z, phi, strict=True))

    while True:
        yield tuple(phi), place
        if method == "batch-perceptron":
            rows = [z if t else [v / 2 for v in z] for z in Z if m(z) <= 0]
        elif order == "most-wrong":
            rows = [min(Z, key=m)]
        else:
            while m(Z[place]) > 0:
                place = (place + 1) % n
            rows, place = [Z[place]], (place + 1) % n
        for z in rows:
            phi = [a + b for a, b in zip(phi, z, strict=True)]
        t += 1


def holds(path, cycle: sx.Cycle, whole_sweeps: bool = False) -> bool:
    """Whether the iterate comes back after so many steps, and not before (for whole sweeps, at none of their ends)."""
    states = [next(path) for _ in range(cycle.iteration + cycle.period + 1)]
    first, then = states[cycle.iteration], states[cycle.iteration + 1 :]
    if whole_sweeps:
        return states[-1][0] == first[0] and first not in then[:-1]
    phis = [phi for phi, _ in then]
    return phis[-1] == first[0] and first[0] not in phis[:-1]


def normalized(X, y):
    """φ_0, φ_1, … of the normalized batch perceptron in NumPy's float64, for d < 8 and n ≤ 512: sums run in order."""
    Z, phi, last = y[:, None] * X, np.zeros(X.shape[1]), None
    w = np.full(len(Z), 0.5)
    while True:
        yield tuple(phi.tolist()), 0
        if last is None or not np.array_equal(w, last):
            base, k, last = phi, 0, w
            step = (np.add.accumulate(w[:, None] * Z, axis=0)[-1] + 0.0) / w.sum()
        k += 1
        phi = base + k * step
        m = np.zeros(len(Z))
        for column, v in zip(Z.T, phi, strict=True):
            m = m + column * v
        w = np.where(m <= 0, 1.0, 0.0)


# One against k: Φ_1 = (k-1)/2, then 1 less at a time while it is positive, k more from below. An even k never meets 0
# and takes k + 1 steps a round; an odd one meets it, where all rows are wrong and the step is k - 1: k steps a round.
@pytest.mark.parametrize("engine", WATCHING)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 9])
def test_one_row_against_k_of_the_other_class_has_the_period_worked_out_by_hand(engine, k):
    run = sx.solve(*against(k), "batch-perceptron", engine=engine)
    assert run.status is sx.Status.CYCLE and run.cycle.period == (k if k % 2 else k + 1)
    assert run.n_iter == run.cycle.iteration + run.cycle.period
    assert holds(exactly(*against(k), "batch-perceptron"), run.cycle)


@pytest.mark.parametrize("engine", WATCHING)
def test_a_point_and_its_opposite_repeat_after_one_round_of_each_method(engine):
    X, y = [[1.0], [1.0]], [1, -1]  # Σ z = 0: the batch methods never move; φ = 0, 1, 0, 1, … row by row
    periods = [
        sx.solve(X, y, m, engine=engine).cycle.period
        for m in ("batch-perceptron", "normalized-batch-perceptron", "lr-gd", "normalized-lr-gd", "perceptron")
    ]
    assert periods == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("engine", WATCHING)
def test_xor_repeats_as_rational_numbers_say(engine):
    for method, order, sweeps in (
        ("batch-perceptron", "cyclic", False),
        ("perceptron", "most-wrong", False),
        ("perceptron", "cyclic", True),
    ):
        for rows in ((0, 1, 2, 3), (0, 1, 2, 3, 3), (1, 3, 0, 0, 2)):  # a repeated corner makes it move
            X, y = XOR[0][list(rows)], XOR[1][list(rows)]
            run = sx.solve(X, y, method, order=order, engine=engine)
            assert run.status is sx.Status.CYCLE
            assert holds(exactly(X, y, method, order), run.cycle, sweeps), (method, order, rows, run.cycle)


# f(θ) = ½(log(1 + e^θ) + log(1 + e^-θ)) has f'' ≤ 1/4: up to γ = 8 gradient descent settles, beyond it swings between a
# and -a with γ f'(a) = 2a, as Meng et al. (arXiv 2406.05033) have it.
@pytest.mark.parametrize("engine", WATCHING)
@pytest.mark.parametrize(("gamma", "period"), [(1.0, 1), (2.0, 1), (5.0, 1), (9.0, 2), (10.0, 2), (12.0, 2)])
def test_gradient_descent_on_a_point_and_its_opposite_swings_beyond_two_over_the_curvature(engine, gamma, period):
    seen = {}
    run = sx.solve(
        *([[1.0], [1.0]], [1, -1], "lr-gd"),
        **{"step_size": gamma, "theta0": [0.3], "engine": engine, "max_iter": 5000},
        **{"record": "all", "callback": lambda it: seen.update({it.t: it.theta[0]})},
    )
    assert run.status is sx.Status.CYCLE and run.cycle.period == period
    a, b = seen[run.n_iter - 1], seen[run.n_iter]
    assert abs(a) < 1e-15 if period == 1 else abs(a + b) < 1e-14 and abs(a) > 0.5
    assert abs(gamma * np.tanh(a / 2) / 2 - (a - b)) < 1e-14


# Where the weights are 1 and 0 to the last bit the swing is φ, φ - ½, φ, …, from the first iterate on.
@pytest.mark.parametrize("engine", WATCHING)
def test_large_steps_on_a_point_and_its_opposite_swing_by_a_half(engine):
    run = sx.solve([[1.0], [1.0]], [1, -1], "lr-gd", step_size=2.0**20, theta0=[2.0**18], engine=engine, record="all")
    assert run.cycle == sx.Cycle(iteration=1, period=2) and run.n_iter == 3
    assert run.phi == -0.25 and run.trace["theta_norm"].tolist() == [2.0**18] * 4


@pytest.mark.parametrize("engine", WATCHING)
def test_small_steps_settle_where_the_gradient_is_zero_to_rounding(engine):
    X, y = noise(40, 3, 1)
    run = sx.solve(X, y, "lr-gd", step_size=2.0, engine=engine, max_iter=20_000)
    assert run.status is sx.Status.CYCLE and run.trace["grad_norm"][-1] < 1e-15


METHODS = [
    ("batch-perceptron", "cyclic"),
    ("perceptron", "cyclic"),
    ("perceptron", "most-wrong"),
    ("normalized-batch-perceptron", "cyclic"),
]


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_small_inseparable_problems_end_in_a_proven_cycle_or_at_their_budget(method, order):
    cycles = 0
    for seed in range(SMALL):
        X, y = inseparable(seed)
        run = sx.solve(X, y, method, order=order, engine=WATCHING[seed % 2], max_iter=BUDGET, record=None)
        assert run.status in (sx.Status.CYCLE, sx.Status.MAX_ITER) and not run.separated
        assert (run.cycle is None) == (run.status is sx.Status.MAX_ITER)
        if run.cycle is None:
            assert run.n_iter == BUDGET
            continue
        cycles += 1
        assert run.n_iter == run.cycle.iteration + run.cycle.period
        path = normalized(X, y) if method.startswith("normalized") else exactly(X, y, method, order, float)
        assert holds(path, run.cycle, whole_sweeps=(method, order) == METHODS[1]), (seed, run.cycle)
    # Steps that are sums of whole rows keep φ on a lattice and bounded (Block and Levin 1970): there is no other end.
    assert cycles > 200 if method.startswith("normalized") else cycles > SMALL - 5


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_a_separable_problem_never_ends_in_a_cycle(method, order):
    for seed in range(200):
        run = sx.solve(*separable(seed), method, order=order, engine=WATCHING[seed % 3], record=None)
        assert run.status is sx.Status.SEPARATED and run.cycle is None


@pytest.mark.parametrize("gamma", [0.1, 10.0, inf])
def test_running_on_past_separation_is_no_cycle_though_nothing_moves_any_more(gamma):
    for engine in WATCHING:
        for method in ("lr-gd", "normalized-lr-gd", "tempered-lr-gd"):
            run = sx.solve([[1.0], [-2.0]], [1, -1], method, step_size=gamma, engine=engine, stop=None, max_iter=400)
            assert run.separated and run.cycle is None and run.n_iter == 400


WALKS = [
    ("batch-perceptron", {}),
    ("batch-perceptron", {"sample_weight": np.arange(9) % 4.0, "fit_intercept": True}),
    ("batch-perceptron", {"theta0": [0.5, -3.0, 2.0]}),
    ("lr-gd", {"step_size": inf, "theta0": [0.5, -3.0, 2.0]}),
    ("normalized-batch-perceptron", {}),
    ("tempered-batch-perceptron", {"power": 0.5}),
    ("lr-gd", {"step_size": 1.0}),
    ("normalized-lr-gd", {"step_size": 0.5, "fit_intercept": True}),
    ("tempered-lr-gd", {"step_size": 1.0}),
    ("perceptron", {}),
    ("perceptron", {"fit_intercept": True, "theta0": [0.5, -3.0, 2.0, 1.0]}),
]


def nine() -> tuple[np.ndarray, np.ndarray]:
    """Nine whole rows without a separator, for any of the walks above."""
    rng = np.random.default_rng(38)
    X, y = rng.integers(-2, 3, (9, 3)).astype(float), np.resize([1.0, -1.0], 9)
    X[8], y[8] = X[1], -y[1]
    return X, y


def facts(run: sx.Run) -> tuple[object, ...]:
    """What has to be the same whoever walks, and wherever the rows are."""
    return run.status, run.n_iter, run.cycle, run.phi.tobytes()


@pytest.mark.parametrize(("method", "options"), WALKS)
def test_every_engine_that_watches_finds_the_same_cycle_at_the_same_iterate(method, options, tmp_path):
    X, y = nine()
    path, labels = str(tmp_path / "rows.npy"), str(tmp_path / "labels.npy")
    np.save(path, X)
    np.save(labels, y)
    options = options | {"max_iter": 4000}
    runs = [sx.solve(X, y, method, engine=engine, **options) for engine in WATCHING]
    runs += [sx.solve(sparse.csr_array(X), y, method, engine=engine, **options) for engine in WATCHING]
    runs += [sx.solve(X, y, method, record=record, **options) for record in ("all", None, 7)]
    runs.append(sx.solve(path, labels, method, memory_limit="8GB", **options))
    assert runs[0].status is sx.Status.CYCLE
    assert {facts(run) for run in runs} == {facts(runs[0])}


@pytest.mark.parametrize("method", ["batch-perceptron", "normalized-lr-gd"])
def test_float32_arithmetic_has_cycles_of_its_own(method):
    X, y = nine()
    runs = [sx.solve(X, y, method, arithmetic="float32", engine=e, max_iter=4000) for e in ("dense", "numpy")]
    assert runs[0].status is sx.Status.CYCLE and facts(runs[0]) == facts(runs[1])


def test_a_long_stretch_taken_in_one_jump_hides_no_cycle():
    X, y = against(1)
    runs = [
        sx.solve(X, y, "batch-perceptron", sample_weight=[2000.0, 1.0], engine=engine, record=record)
        for engine, record in (("lazy", None), ("lazy", 3), ("dense", "all"), ("numpy", None))
    ]
    assert runs[0].cycle.period == 2001 and {facts(run) for run in runs} == {facts(runs[0])}


@pytest.mark.parametrize("place", ["dense", "numpy", "file"])
@pytest.mark.parametrize(("method", "options"), [WALKS[0], WALKS[4], WALKS[6], WALKS[9]])
def test_a_run_that_is_broken_off_and_continued_finds_the_cycle_where_it_would_have(method, options, place, tmp_path):
    X, y = nine()
    if place == "file":
        np.save(tmp_path / "rows.npy", X)
        np.save(tmp_path / "labels.npy", y)
        X, y, options = str(tmp_path / "rows.npy"), str(tmp_path / "labels.npy"), options | {"memory_limit": "8GB"}
    else:
        options = options | {"engine": place}
    whole = sx.solve(X, y, method, max_iter=4000, **options)
    step = max(1, whole.n_iter // 5)
    for t in (*range(step, whole.n_iter, step), 4000, 4000):
        run = sx.solve(X, y, method, max_iter=t, checkpoint=tmp_path / "run.npz", **options)
        assert run.status is (sx.Status.CYCLE if t == 4000 else sx.Status.MAX_ITER)
    assert facts(run) == facts(whole)


@pytest.mark.parametrize("name", ["watch_mark_t", "watch_period", "watch_since", "watch_mark"])
@pytest.mark.parametrize("method", ["batch-perceptron", "perceptron"])
def test_a_checkpoint_whose_watch_no_run_can_have_is_refused(name, method, tmp_path):
    path = tmp_path / "run.npz"
    sx.solve(*nine(), method, engine="lazy", max_iter=3, checkpoint=path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = np.full_like(arrays[name], np.inf if name == "watch_mark" else -1 if name == "watch_since" else 4)
    np.savez(path, **arrays)
    with pytest.raises(sx.CheckpointError, match=name):
        sx.solve(*nine(), method, engine="lazy", max_iter=9, checkpoint=path)


@pytest.mark.parametrize("engine", WATCHING)
@pytest.mark.parametrize(("method", "options"), [WALKS[0], WALKS[6], WALKS[9], ("perceptron", {"order": "most-wrong"})])
def test_a_run_that_is_to_go_on_goes_on_and_says_where_the_cycle_is(engine, method, options):
    ended = sx.solve(*nine(), method, engine=engine, **options)
    for stop in (None, lambda it: False):
        run = sx.solve(*nine(), method, engine=engine, stop=stop, max_iter=ended.n_iter + 50, **options)
        assert run.status is sx.Status.MAX_ITER and run.n_iter == ended.n_iter + 50
        assert run.cycle == ended.cycle


def test_nobody_watches_a_random_order_coefficients_or_a_method_of_ones_own():
    class Own(Method):
        pass

    X, y = nine()
    assert sx.solve(X, y, "perceptron", order="random", random_state=0, max_iter=500).cycle is None
    assert sx.solve(X, y, "batch-perceptron", engine="gram", max_iter=500).cycle is None
    assert sx.solve(X, y, "perceptron", engine="gram", max_iter=500).cycle is None
    assert sx.solve(X, y, Own("own"), max_iter=500).cycle is None
    assert sx.solve(X, y, parse_method("batch-perceptron"), max_iter=500).cycle is not None


def test_an_engine_driven_by_hand_makes_no_step_once_the_iterate_is_back():
    for name in ("batch-perceptron", "perceptron"):
        for kind in WATCHING:
            engine = make_engine(kind, hold(*nine()), parse_method(name))
            for _ in range(200):
                engine.advance(7, True)
            assert engine.cycle is not None and engine.t == sum(engine.cycle)


def test_the_search_finds_the_first_return_of_any_walk_that_repeats():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        following = rng.integers(0, 60, 60)  # a map of 60 points to themselves
        watch, x, seen = Watch(True, np.zeros(2)), 0, []
        while not watch.period:
            watch.came_back(np.array([0.0, float(x)]), len(seen))
            seen.append(x)
            x = int(following[x])
        t, period = cycle_of(watch)
        assert seen[t] == seen[t + period] and seen[t] not in seen[t + 1 : t + period]
        assert len(seen) == t + period + 1 <= 3 * 60 + 2


def test_perceptrons_that_sweep_together_end_where_each_would_alone():
    X, y = nine()
    labels = np.array([y, np.where(X[:, 0] > 0, 1.0, -1.0), -y])
    together = solve_each(X, labels, "perceptron", max_epochs=500)
    alone = [solve_each(X, [label], "perceptron", max_epochs=500)[0] for label in labels]
    assert [facts(run) for run in together] == [facts(run) for run in alone]
    assert together[0].status is sx.Status.CYCLE


def test_a_classifier_warns_with_the_sentence_of_a_cycle():
    X, y = nine()
    for clf in (sx.BatchPerceptron(fit_intercept=False), sx.Perceptron(fit_intercept=False, order="cyclic")):
        with pytest.warns(UserWarning, match=r"9 rows are still on the wrong side .* repeats itself for ever"):
            clf.fit(X, y)
        assert clf.status_ == "cycle" and not clf.separated_
    with pytest.warns(UserWarning, match="no hyperplane puts every row on its right side"):
        assert sx.BatchPerceptron(fit_intercept=False, certify=True).fit(X, y).status_ == "inseparable"
    three = np.resize([0, 1, 2], 9)
    with pytest.warns(UserWarning, match="in a cycle"):
        assert sx.Perceptron(fit_intercept=False, order="cyclic").fit(X, three).status_ == "cycle"


def test_a_run_tells_its_period_in_its_line():
    run = sx.solve(*against(2), "batch-perceptron")
    assert "batch-perceptron: cycle of period 3 after 5 iterations" in str(run)
    assert run.status.message in str(run)
