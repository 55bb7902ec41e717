"""The loop: stopping, recording, callbacks, checkpoints, interruptions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

import separatrix as sx
from conftest import noise, planted, signed
from separatrix.data.memory import hold
from separatrix.walking.loop import Pace, Walk
from separatrix.walking.methods import parse_method
from separatrix.walking.trace import Recorder

METHODS = ("lr-gd", "normalized-lr-gd", "batch-perceptron", "normalized-batch-perceptron", "perceptron")


def test_separated_means_that_every_raw_margin_is_positive():
    for seed in range(20):
        X, y = planted(50, 8, 0.02, seed)
        for method in METHODS:
            run = sx.solve(X, y, method, step_size=10.0 if "lr" in method else None)
            assert run.status is sx.Status.SEPARATED and run.separated
            assert np.min(signed(X, y) @ run.theta) > 0


def test_a_margin_that_rounding_swallows_is_never_called_separated():
    seen = set()
    for n in (3, 7, 11, 13):
        for gap in (3e-17, 6e-17, 1.2e-16, 2.3e-16):
            X = np.tile([1.0, 1.0], (n, 1))
            X[0] = [-1.0, -1.0 + gap]
            for engine in ("dense", "lazy", "gram"):
                run = sx.solve(X, [1] * (n - 1) + [0], "batch-perceptron", engine=engine, max_iter=1000)
                seen.add(run.status)
                if run.separated:
                    assert run.status is sx.Status.SEPARATED
                    rows = [[Fraction(v) for v in row] for row in X]
                    theta = [Fraction(v) for v in run.theta]
                    signs = [1] * (n - 1) + [-1]
                    assert all(s * (r[0] * theta[0] + r[1] * theta[1]) > 0 for s, r in zip(signs, rows, strict=True))
    assert sx.Status.MAX_ITER in seen


def test_n_iter_is_the_first_iterate_that_separates(engine):
    X, y = planted(60, 10, 0.01, 1)
    run = sx.solve(X, y, "batch-perceptron", engine=engine)
    before = sx.solve(X, y, "batch-perceptron", engine=engine, max_iter=run.n_iter - 1)
    assert run.separated and not before.separated
    assert before.status is sx.Status.MAX_ITER and before.n_iter == run.n_iter - 1


def test_rows_of_zeros_and_contradictions_are_legal_and_never_separate(engine):
    X, y = planted(30, 4, 0.5, 2)
    zero, twin = X.copy(), np.vstack([X, X[0]])
    zero[3] = 0
    for data, labels in ((zero, y), (twin, np.append(y, -y[0]))):
        for method in METHODS:
            run = sx.solve(data, labels, method, engine=engine, max_iter=50_000 if "batch" in method else 300)
            assert run.status in (sx.Status.MAX_ITER, sx.Status.CYCLE) and not run.separated


def test_stop_none_runs_on_past_separation(engine):
    X, y = planted(40, 5, 0.2, 3)
    for method in METHODS:
        run = sx.solve(X, y, method, engine=engine, stop=None, max_iter=2000)
        assert run.n_iter == 2000 and run.separated
    on = sx.solve(X, y, "lr-gd", step_size=1.0, engine=engine, stop=None, max_iter=2000)
    assert on.trace["loss"][-1] < on.trace["loss"][len(on.trace["loss"]) // 2]


def test_a_stop_rule_of_ones_own_is_asked_at_every_iterate(engine):
    X, y = noise(80, 5, 4)
    asked = []

    def rule(iterate):
        asked.append(iterate.t)
        return iterate.t == 17

    run = sx.solve(X, y, "lr-gd", stop=rule, engine=engine)
    assert run.status is sx.Status.STOPPED and run.n_iter == 17
    assert asked == list(range(18))


def test_callback_sees_each_recorded_iterate_and_can_end_the_run():
    X, y = noise(80, 5, 5)
    seen = []
    run = sx.solve(X, y, "lr-gd", record=10, callback=lambda it: seen.append((it.t, it.errors)) or it.t >= 50)
    assert [t for t, _ in seen] == [0, 10, 20, 30, 40, 50]
    assert run.status is sx.Status.STOPPED
    assert list(run.trace["errors"]) == [errors for _, errors in seen]


@pytest.mark.parametrize("engine", ["dense", "lazy", "gram"])
@pytest.mark.parametrize("method", METHODS)
def test_what_is_recorded_never_changes_the_path(engine, method):
    X, y = noise(70, 6, 6)
    runs = [sx.solve(X, y, method, engine=engine, record=r, max_iter=333, stop=None) for r in ("all", "log", 50, None)]
    assert all(np.array_equal(run.phi, runs[0].phi) for run in runs)
    assert list(runs[0].trace["iteration"]) == list(range(334))
    assert list(runs[2].trace["iteration"]) == [*range(0, 333, 50), 333]
    assert list(runs[3].trace["iteration"]) == [333]
    ticks = runs[1].trace["iteration"]
    assert list(ticks[:20]) == list(range(20)) and ticks[-1] == 333 and len(ticks) < 90
    assert np.array_equal(runs[0].trace["errors"][ticks], runs[1].trace["errors"])


def test_trace_becomes_a_frame():
    frame = sx.solve(*planted(30, 3, 0.1, 7), "lr-gd", record="all").trace.to_pandas()
    assert list(frame.columns[:3]) == ["iteration", "errors", "accuracy"]
    assert frame["errors"].dtype == np.int64


def test_an_unknown_trace_column_names_those_there_are():
    with pytest.raises(KeyError, match="min_margin"):
        sx.solve(*planted(30, 3, 0.1, 7), "lr-gd").trace["margin"]


def test_the_generator_yields_what_solve_records():
    X, y = planted(50, 6, 0.01, 8)
    walk = Walk(hold(X, y), parse_method("batch-perceptron"))
    ticks = [iterate.t for iterate in walk.iterates()]
    shown = []
    run = sx.solve(X, y, "batch-perceptron", callback=lambda iterate: shown.append(iterate.t))
    assert ticks == shown == list(run.trace["iteration"]) and ticks[-1] == run.n_iter
    assert np.array_equal(walk.run().phi, run.phi)


def test_one_thread_is_used_where_several_are_slower():
    pace = Pace(4)
    for _ in range(40):
        pace.note(0.01 if pace.threads == 4 else 0.001, 10, 10)
    used = []
    for _ in range(64):
        used.append(pace.threads)
        pace.note(0.01 if used[-1] == 4 else 0.001, 10, 10)
    assert used.count(1) == 62 and used.count(4) == 2


def test_run_reads_as_one_sentence():
    text = str(sx.solve(*planted(30, 3, 0.1, 9), "lr-gd", step_size=2.0))
    assert text.startswith("lr-gd, step size 2: separated after") and "every row has a positive margin" in text


@pytest.mark.parametrize("engine", ["dense", "lazy", "gram"])
@pytest.mark.parametrize(
    ("method", "gamma", "order", "dtype"),
    [
        ("lr-gd", 40.0, "cyclic", "float64"),
        ("lr-gd", 0.02, "cyclic", "float32"),
        ("normalized-lr-gd", 3.0, "cyclic", "float64"),
        ("batch-perceptron", None, "cyclic", "float32"),
        ("normalized-batch-perceptron", None, "cyclic", "float64"),
        ("perceptron", None, "random", "float64"),
        ("perceptron", None, "most-wrong", "float64"),
    ],
)
def test_a_run_continued_from_its_checkpoint_has_the_bits_of_one_never_interrupted(
    tmp_path, engine, method, gamma, order, dtype
):
    X, y = planted(150, 60, 0.0005, 10)
    X = X.astype(dtype)
    options = {"step_size": gamma, "order": order, "engine": engine, "random_state": 5, "record": 10}
    whole = sx.solve(X, y, method, **options, max_iter=400, stop=None)
    path = tmp_path / "run.npz"
    for budget in (3, 57, 58, 211, 400):
        parts = sx.solve(X, y, method, **options, max_iter=budget, stop=None, checkpoint=path)
        assert parts.n_iter == budget
    assert np.array_equal(parts.phi, whole.phi)
    ticks = np.isin(parts.trace["iteration"], whole.trace["iteration"])
    for column in set(whole.trace) - {"seconds"}:
        assert np.array_equal(parts.trace[column][ticks], whole.trace[column], equal_nan=True), column


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("record", ["log", "all", "epoch", 7, None])
@pytest.mark.parametrize(
    ("method", "engine"),
    [("lr-gd", "lazy"), ("batch-perceptron", "gram"), ("perceptron", "auto"), ("normalized-lr-gd", "numpy")],
)
def test_the_iterates_that_are_kept_are_those_of_the_trace(method, engine, record, intercept):
    X, y = planted(60, 3, 0.01, 31)
    seen = []
    options = {"record": record, "fit_intercept": intercept, "intercept_scaling": 2.0, "engine": engine, "max_iter": 99}
    run = sx.solve(X, y, method, **options, iterates=True, callback=lambda at: seen.append((at.t, at.phi)) and None)
    assert [t for t, _ in seen] == run.trace["iteration"].tolist()
    assert run.iterates.shape == (len(seen), 3 + intercept)
    assert np.array_equal(run.iterates, [phi for _, phi in seen])
    assert np.array_equal(run.iterates[-1], run.phi)
    bare = sx.solve(X, y, method, **options)
    assert bare.iterates is None
    assert np.array_equal(bare.phi, run.phi)


def test_kept_iterates_continue_from_a_checkpoint(tmp_path):
    X, y = planted(150, 60, 0.0005, 10)
    options = {"step_size": 40.0, "record": 10, "stop": None, "iterates": True, "fit_intercept": True}
    whole = sx.solve(X, y, **options, max_iter=400)
    path = tmp_path / "run.npz"
    for budget in (0, 3, 57, 58, 211, 400):
        parts = sx.solve(X, y, **options, max_iter=budget, checkpoint=path)
    ticks = np.isin(parts.trace["iteration"], whole.trace["iteration"])
    assert np.array_equal(parts.iterates[ticks], whole.iterates)
    assert len(parts.iterates) == len(ticks)


def test_a_checkpoint_with_other_iterates_gets_a_clear_error_and_is_left_as_it_was(tmp_path):
    X, y = noise(50, 4, 32)
    for keeps in (True, False):
        path = tmp_path / f"{keeps}.npz"
        sx.solve(X, y, max_iter=20, iterates=keeps, checkpoint=path)
        good = path.read_bytes()
        with pytest.raises(sx.CheckpointError, match="its iterates is .*, this run's is .*; it was left as it was"):
            sx.solve(X, y, max_iter=40, iterates=not keeps, checkpoint=path)
        assert path.read_bytes() == good
    with np.load(tmp_path / "True.npz") as file:
        arrays = dict(file)
    for bad in (arrays["iterates"][1:], arrays["iterates"][:, 1:], arrays["iterates"].astype(np.float32)):
        np.savez(tmp_path / "True.npz", **(arrays | {"iterates": bad}))
        with pytest.raises(sx.CheckpointError, match="damaged"):
            sx.solve(X, y, max_iter=40, iterates=True, checkpoint=tmp_path / "True.npz")


@pytest.mark.parametrize("columns", [3, 20, 60])
def test_a_run_with_few_cached_columns_continues_with_the_same_bits(tmp_path, columns):
    X, y = noise(150, 60, 20)
    options = {"step_size": 300.0, "engine": sx.Gram(memory=columns * 150 * 8), "stop": None}
    whole = sx.solve(X, y, "lr-gd", **options, max_iter=400)
    for budget in (57, 130, 299, 400):
        parts = sx.solve(X, y, "lr-gd", **options, max_iter=budget, checkpoint=tmp_path / "run.npz")
    assert np.array_equal(parts.phi, whole.phi)
    options["engine"] = sx.Gram(memory=2 * columns * 150 * 8)
    with pytest.raises(sx.CheckpointError, match="cached columns"):
        sx.solve(X, y, "lr-gd", **options, max_iter=500, checkpoint=tmp_path / "run.npz")


KILLED = """
import sys
sys.path[:0] = {path!r}
from conftest import noise
import separatrix as sx
X, y = noise(3000, 40, 11)
often = sx.Checkpoint({file!r}, every=0.0)
sx.solve(X, y, {method!r}, step_size={gamma!r}, engine={engine!r}, max_iter=10**9, checkpoint=often)
"""


@pytest.mark.parametrize(("method", "gamma", "engine"), [("lr-gd", 30.0, "lazy"), ("batch-perceptron", None, "gram")])
def test_a_run_killed_by_sigkill_continues_to_the_same_answer(tmp_path, method, gamma, engine):
    file = tmp_path / "run.npz"
    tests = [p for p in sys.path if p.endswith("tests")]
    code = KILLED.format(path=tests, method=method, gamma=gamma, engine=engine, file=str(file))
    rng = np.random.default_rng(0)
    for _ in range(3):
        before = file.stat().st_mtime_ns if file.exists() else None
        process = subprocess.Popen([sys.executable, "-c", code])  # without end: there is no separator
        while not file.exists() or file.stat().st_mtime_ns == before:
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.wait()
    X, y = noise(3000, 40, 11)
    with np.load(file) as saved:
        reached = int(saved["t"])
    options = {"step_size": gamma, "engine": engine, "max_iter": reached + 500}
    continued = sx.solve(X, y, method, **options, checkpoint=file)
    whole = sx.solve(X, y, method, **options)
    assert continued.n_iter == whole.n_iter == reached + 500
    assert np.array_equal(continued.phi, whole.phi)


def test_a_torn_checkpoint_gets_a_clear_error_and_is_left_as_it_was(tmp_path):
    X, y = noise(50, 4, 12)
    path = tmp_path / "run.npz"
    sx.solve(X, y, "lr-gd", max_iter=20, checkpoint=path)
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0xFF
    for bad in (good[: len(good) // 2], b"", b"not ours", bytes(flipped)):
        path.write_bytes(bad)
        with pytest.raises(sx.CheckpointError, match="left as it was"):
            sx.solve(X, y, "lr-gd", max_iter=40, checkpoint=path)
        assert path.read_bytes() == bad


def test_a_foreign_checkpoint_gets_a_clear_error_and_is_left_as_it_was(tmp_path):
    X, y = noise(50, 4, 13)
    path = tmp_path / "run.npz"
    sx.solve(X, y, "lr-gd", max_iter=20, checkpoint=path)
    good = path.read_bytes()
    changed = X.copy()
    changed[7, 2] += 1e-9
    swapped = X[:, [1, 0, 2, 3]]
    flipped = np.where(np.arange(50) == 3, -y, y)
    for data, labels, method, gamma in (
        (changed, y, "lr-gd", None), (swapped, y, "lr-gd", None), (X, flipped, "lr-gd", None),
        (X, y, "normalized-lr-gd", None), (X, y, "lr-gd", 2.0), (X[:40], y[:40], "lr-gd", None),
    ):  # fmt: skip
        with pytest.raises(sx.CheckpointError, match="belongs to another run"):
            sx.solve(data, labels, method, step_size=gamma, max_iter=40, checkpoint=path)
    assert path.read_bytes() == good
    np.savez(path, header=np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(sx.CheckpointError, match="damaged or no checkpoint"):  # a pickle is never loaded
        sx.solve(X, y, "lr-gd", checkpoint=path)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    with pytest.raises(sx.CheckpointError, match="no folder"):
        sx.solve(*noise(50, 4, 14), "lr-gd", checkpoint=tmp_path / "missing" / "run.npz")


def test_no_temporary_file_is_left_behind(tmp_path):
    sx.solve(*noise(50, 4, 15), "lr-gd", max_iter=3000, checkpoint=sx.Checkpoint(tmp_path / "run.npz", every=0.0))
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


INTERRUPTED = """
import _thread, os, sys, threading
sys.path[:0] = {path!r}
from conftest import noise
import separatrix as sx
X, y = noise(3000, 40, 16)
begun = threading.Event()
def interrupt():
    begun.wait()
    _thread.interrupt_main()  # Ctrl-C, on Windows too
threading.Thread(target=interrupt).start()
told = lambda t, wrong: t > 100 and begun.set()
run = sx.solve(X, y, "lr-gd", step_size=0.5, max_iter=10**9, stop=None, progress=told)
print(run.status, run.n_iter > 100, run.trace["iteration"][-1] == run.n_iter)
"""


def test_ctrl_c_returns_the_run_so_far():
    code = INTERRUPTED.format(path=[p for p in sys.path if p.endswith("tests")])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.split() == ["interrupted", "True", "True"]


def test_import_loads_no_other_package():
    code = """
import sys
before = set(sys.modules)
import separatrix
print(*{name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["separatrix"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_can_solve_too():
    X, y = planted(2000, 60, 0.05, 17)
    parent = sx.solve(X, y, "batch-perceptron").n_iter
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if sx.solve(X, y, "batch-perceptron").n_iter == parent else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_of_one_process_can_solve_at_the_same_time():
    from concurrent.futures import ThreadPoolExecutor

    X, y = planted(2000, 60, 0.002, 18)
    alone = sx.solve(X, y, "batch-perceptron")
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: sx.solve(X, y, "batch-perceptron"), range(8)))
    assert all(np.array_equal(run.phi, alone.phi) for run in runs)


@pytest.mark.parametrize("order", ["cyclic", "random", "most-wrong"])
def test_the_perceptron_stops_after_the_sweeps_it_was_given(order, engine):
    X, y = noise(150, 11, 1)
    run = sx.solve(X, y, "perceptron", order=order, engine=engine, max_epochs=4, random_state=1)
    assert run.status == "max-iter" and run.stats["epochs"] == 4
    if order == "most-wrong":
        assert run.n_iter == 4
    longer = sx.solve(X, y, "perceptron", order=order, engine=engine, max_epochs=5, random_state=1)
    assert longer.n_iter > run.n_iter


def test_an_epoch_of_a_batch_method_is_an_iteration(engine):
    X, y = noise(150, 11, 1)
    a = sx.solve(X, y, "batch-perceptron", engine=engine, max_epochs=7)
    b = sx.solve(X, y, "batch-perceptron", engine=engine, max_iter=7)
    assert a.n_iter == b.n_iter == 7
    np.testing.assert_array_equal(a.theta, b.theta)


def test_recording_by_epoch_has_one_row_per_sweep_and_changes_nothing(engine):
    X, y = noise(150, 11, 1)
    run = sx.solve(X, y, "perceptron", engine=engine, max_epochs=6, record="epoch")
    assert len(run.trace["iteration"]) == 6
    ends = [sx.solve(X, y, "perceptron", engine=engine, max_epochs=k, record=None).n_iter for k in range(1, 7)]
    assert run.trace["iteration"].tolist() == ends
    np.testing.assert_array_equal(run.theta, sx.solve(X, y, "perceptron", engine=engine, max_epochs=6).theta)


def test_sweeps_continue_from_a_checkpoint_where_they_were_cut(tmp_path):
    X, y = noise(150, 11, 1)
    options = {"order": "random", "random_state": 2, "record": "epoch"}
    whole = sx.solve(X, y, "perceptron", max_epochs=9, **options)
    file = tmp_path / "run.npz"
    sx.solve(X, y, "perceptron", max_epochs=4, checkpoint=file, **options)
    rest = sx.solve(X, y, "perceptron", max_epochs=9, checkpoint=file, **options)
    np.testing.assert_array_equal(rest.theta, whole.theta)
    assert rest.trace["iteration"].tolist() == whole.trace["iteration"].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_epochs": -1}, "max_epochs must be a whole number, 0 or more, got -1"),
        ({"max_epochs": 1.5}, "max_epochs must be a whole number"),
        ({"intercept_scaling": -2.0, "fit_intercept": True}, 'positive and finite, or "auto", got -2.0'),
        ({"intercept_scaling": True, "fit_intercept": True}, 'positive and finite, or "auto", got True'),
        ({"record": "sweep"}, '"all", "log", "epoch", a positive whole number or None'),
    ],
)
def test_bad_budgets_and_scales_get_one_sentence(options, message):
    X, y = noise(20, 3, 1)
    with pytest.raises(ValueError, match=re.escape(message)):
        sx.solve(X, y, "perceptron", **options)


def test_a_row_scores_by_theta_and_the_constant_column():
    X, y = planted(60, 5, 0.05, 4)
    X = X + 2.0
    run = sx.solve(X, y, "perceptron", fit_intercept=True, intercept_scaling=4.0, max_iter=10**7)
    assert run.bias == 4.0 and run.separated
    assert (y * (X @ run.theta[:-1] + run.bias * run.theta[-1]) > 0).all()


@pytest.mark.parametrize("record", ["all", "log", "epoch", 7, None])
def test_the_number_of_records_is_known_beforehand(record):
    X, y = noise(60, 4, 1)
    run = sx.solve(X, y, "batch-perceptron", max_iter=100, record=record)
    recorded = int((run.trace["iteration"] > 0).sum())
    most = Recorder(record, False).most(100)
    assert recorded <= most <= recorded + 2
