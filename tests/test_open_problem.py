"""sx.Problem: data opened once, shared by every call; one protocol for rows wherever they are."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix as sx
from conftest import BATCH, noise, planted
from far import scattered, uneven
from separatrix.data.memory import HeldRows, hold
from separatrix.data.rows import Rows
from separatrix.deciding.margin import Bracket
from separatrix.walking.engines import gram as gram_engine

METHODS = (*BATCH, "perceptron")


def trace_of(run: sx.Run) -> dict[str, bytes]:
    return {name: column.tobytes() for name, column in run.trace.items() if name != "seconds"}


@pytest.mark.parametrize("form", ["dense", "float32", "csr", "intercept"])
@pytest.mark.parametrize("method", METHODS)
def test_runs_on_a_problem_are_those_of_separate_calls(method, form):
    X, y = planted(150, 60, 0.05, 3)
    X = {"dense": X, "float32": X.astype(np.float32), "csr": sparse.csr_array(X), "intercept": X + 1.0}[form]
    options = {"fit_intercept": True} if form == "intercept" else {}
    with sx.Problem(X, y, **options) as problem:
        for engine in ("auto", "dense", "lazy"):
            shared = sx.solve(problem, method=method, engine=engine, max_iter=300)
            alone = sx.solve(X, y, method, engine=engine, max_iter=300, **options)
            assert np.array_equal(shared.phi, alone.phi) and shared.n_iter == alone.n_iter
            assert trace_of(shared) == trace_of(alone)


def test_weights_and_the_scale_of_the_intercept_belong_to_the_problem():
    X, y = planted(90, 12, 0.05, 1)
    weight = np.arange(90) % 3.0
    options: dict[str, Any] = {"sample_weight": weight, "fit_intercept": True, "intercept_scaling": 4.0}
    with sx.Problem(X, y, **options) as problem:
        run = sx.solve(problem, method="lr-gd", step_size=3.0, max_iter=80)
    alone = sx.solve(X, y, "lr-gd", step_size=3.0, max_iter=80, **options)
    assert np.array_equal(run.phi, alone.phi) and run.bias == alone.bias == 4.0


def test_verdict_margin_and_proof_are_those_of_separate_calls_and_the_second_call_finds_the_first(monkeypatch):
    for seed, (make, status) in enumerate([(planted, "separable"), (noise, "inseparable")]):
        X, y = make(80, 6, 0.05, seed) if make is planted else make(80, 6, seed)
        with sx.Problem(X, y, fit_intercept=True) as problem:
            first = sx.separate(problem)
            alone = sx.separate(X, y, fit_intercept=True)
            assert first.status == alone.status == status and first.tool == alone.tool
            assert first.proof.theta == alone.proof.theta and first.proof.rows == alone.proof.rows
            assert sx.verify(first.proof, problem) and first.verify(problem) and first.verify(X, y)
            mu, again = sx.max_margin(X, y, fit_intercept=True), sx.max_margin(problem)
            assert again.lower <= mu.upper and mu.lower <= again.upper  # both hold the same μ
            with monkeypatch.context() as patch:
                patch.setattr("separatrix.deciding.separate.settle", lambda case: pytest.fail("decided again"))
                assert sx.separate(problem).proof is first.proof


def test_a_bracket_is_narrowed_from_where_the_last_call_left_it():
    X, y = planted(200, 30, 0.05, 4)
    with sx.Problem(X, y) as problem:
        wide = sx.max_margin(problem, rtol=1e-2)
        close = sx.max_margin(problem, rtol=1e-7)
        assert wide.lower <= close.lower <= close.upper <= wide.upper
        assert sx.max_margin(problem, rtol=1e-6).n_steps == 0  # known, and only proven anew
        found = sx.separate(problem)
        assert found.tool == "known" and found.verify(X, y) and found.margin.lower >= 0.99 * close.lower


def test_rows_that_change_under_a_problem_do_not_keep_their_verdict():
    X, y = planted(60, 5, 0.1, 2)
    with sx.Problem(X, y) as problem:
        assert sx.separate(problem).status == "separable"
        X[7] = 0.0
        assert sx.separate(problem).status == sx.separate(X, y).status == "inseparable"


def test_the_second_run_on_columns_computes_none():
    X, y, _ = sx.planted(300, 200, margin=0.01, offset=30.0, random_state=0)
    with sx.Problem(X, y) as problem:
        first, second = (sx.solve(problem, method="batch-perceptron", engine="gram") for _ in range(2))
        third = sx.solve(problem, method="normalized-batch-perceptron", engine="gram")
    assert first.stats["columns_computed"] > 0 and second.stats["columns_computed"] == 0
    assert np.array_equal(first.phi, second.phi)
    alone = sx.solve(X, y, "normalized-batch-perceptron", engine="gram")
    assert third.stats["columns_computed"] < alone.stats["columns_computed"]


def test_a_diagnosis_of_a_problem_is_that_of_its_frame():
    frame = pd.DataFrame(
        {
            "ward": ["north", "icu", "south", "north", "icu", "south", "north", "south", "icu", "north"],
            "age": [61, 55, 47, 70, 66, 58, 44, 63, 71, 52],
            "died": ["no", "yes", "yes", "yes", "yes", "no", "no", "no", "yes", "yes"],
        }
    )
    with sx.Problem(frame, "died", fit_intercept=True) as problem:
        assert problem.names == ("ward[icu] (vs north)", "ward[south] (vs north)", "age")
        assert str(sx.diagnose(problem)) == str(sx.diagnose(frame, "died"))
        assert sx.solve(problem, method="lr-gd", max_iter=5).theta.shape == (4,)
        assert sx.separate(problem).status == "inseparable"
    gaps = frame.assign(age=[None, *frame["age"][1:]])
    with sx.Problem(gaps, "died", missing="drop", fit_intercept=True) as problem:
        assert problem.n == 9 and sx.diagnose(problem).dropped == 1
    X, y = noise(40, 3, 0)
    with sx.Problem(X, y) as problem:
        assert str(sx.diagnose(problem)) == str(sx.diagnose(X, y, fit_intercept=False))


def test_files_and_pieces_are_opened_once_too(tmp_path, monkeypatch):
    X, y = uneven(5_000, 6, 1)
    rows, labels = tmp_path / "rows.npy", tmp_path / "labels.npy"
    np.save(rows, X)
    np.save(labels, y)
    surveyed = []
    from separatrix.shards.shard import Shard

    survey = Shard.survey
    monkeypatch.setattr(Shard, "survey", lambda self: surveyed.append(1) or survey(self))
    with sx.Problem(str(rows), str(labels), memory_limit="8GB") as problem:
        for method in METHODS:
            run, alone = (sx.solve(*data, method=method, max_iter=40) for data in ((problem,), (X, y)))
            assert np.array_equal(run.phi, alone.phi) and run.engine == "files"
        found = sx.separate(problem)
        assert found.verify(problem) and found.verify(X, y)
        mu = sx.max_margin(problem, rtol=1e-3)
        assert mu.lower <= sx.max_margin(X, y, rtol=1e-3).upper
        assert np.array_equal(problem.margins(run.phi), sx.Problem(X, y).margins(run.phi))
        with pytest.raises(ValueError, match="diagnose needs rows in memory"):
            sx.diagnose(problem)
    assert len(surveyed) == 1


def test_a_margin_with_an_intercept_between_two_runs_does_not_change_the_second():
    X, y = uneven(3_000, 5, 2)
    with sx.Problem(X[:, :-1], y, fit_intercept=True) as held:
        pass
    rows = scattered(X[:, :-1], y, 3)
    rows = type(rows)(rows.team, rows.surveys, rows.d, 1.0)
    problem = sx.Problem.__new__(sx.Problem)
    problem._set(rows, None, False, False)
    first = sx.solve(problem, method="batch-perceptron", max_iter=50)
    sx.max_margin(problem, rtol=1e-2)  # asks the shards with another constant column
    second = sx.solve(problem, method="batch-perceptron", max_iter=50)
    assert np.array_equal(first.phi, second.phi) and trace_of(first) == trace_of(second)
    problem.close()
    assert held.closed and problem.closed


def test_calls_from_several_threads_take_turns_and_agree():
    X, y = planted(120, 160, 0.02, 5)
    wanted = sx.solve(X, y, "batch-perceptron", engine="gram").phi
    found: list[Any] = []
    with sx.Problem(X, y) as problem:

        def work() -> None:
            found.append(sx.solve(problem, method="batch-perceptron", engine=sx.Gram(memory=40 * 120 * 8)).phi)

        workers = [threading.Thread(target=work) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(found) == 6 and all(np.array_equal(phi, wanted) for phi in found)


def test_a_call_inside_a_callback_of_the_same_problem_is_refused_and_the_problem_goes_on():
    X, y = planted(60, 8, 0.01, 0)
    with sx.Problem(X, y) as problem:
        with pytest.raises(RuntimeError, match="open another Problem"):
            sx.solve(problem, method="lr-gd", callback=lambda iterate: sx.separate(problem))
        assert sx.separate(problem).status == "separable"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: sx.solve(p, "lr-gd"), "a Problem has its labels: leave y out, got 'lr-gd'"),
        (lambda p: sx.solve(p, sample_weight=[1.0] * 40), "sample_weight belongs to the Problem"),
        (lambda p: sx.solve(p, intercept_scaling=2.0), "intercept_scaling belongs to the Problem"),
        (lambda p: sx.separate(p, fit_intercept=True), "opened without an intercept"),
        (lambda p: sx.max_margin(p, memory_limit="1GB"), "memory_limit belongs to the Problem"),
        (lambda p: sx.Problem(p, [1]), "X is a Problem already"),
        (lambda p: p.margins("a"), "theta must be a vector of numbers, got 'a'"),
        (lambda p: p.margins([1j] * 4), "theta must be a vector of numbers"),
        (lambda p: sx.diagnose(p, missing="drop"), "missing belongs to the Problem"),
        (lambda p: sx.solve(p, intercept_scaling=np.ones(2)), "intercept_scaling belongs to the Problem"),
        (lambda p: sx.Problem([[1.0], [2.0]], [0, 1], missing="foo"), "missing must be"),
        (lambda p: p.margins([1.0]), r"theta must have shape \(4,\), got \(1,\)"),
    ],
)
def test_what_belongs_to_the_problem_is_said_in_one_sentence(call, words):
    X, y = planted(40, 4, 0.1, 0)
    with sx.Problem(X, y) as problem, pytest.raises(ValueError, match=words) as raised:
        call(problem)
    assert "\n" not in str(raised.value)
    for function in (sx.solve, sx.separate, sx.max_margin, sx.diagnose):
        with pytest.raises(TypeError, match="y is missing"):
            function(X)


def test_a_closed_problem_and_rows_left_out_are_said_in_one_sentence():
    X, y = planted(40, 4, 0.1, 0)
    problem = sx.Problem(X, y)
    problem.close()
    problem.close()
    assert repr(problem) == "Problem(closed)"
    with pytest.raises(ValueError, match="this Problem is closed"):
        sx.solve(problem)
    with sx.Problem(X, y, sample_weight=np.arange(40) % 2) as problem:
        for function in (sx.separate, sx.max_margin, sx.diagnose):
            with pytest.raises(ValueError, match="a verdict cannot leave out"):
                function(problem)
        with pytest.raises(ValueError, match="takes no sample_weight"):
            sx.solve(problem, method="perceptron")
    assert repr(sx.Problem(X, y)) == "Problem(40 rows of 4 columns, classes -1 and 1)"


def test_a_proof_of_the_other_kind_of_hyperplane_is_not_called_false():
    X, y = planted(40, 4, 0.1, 0)
    with_one = sx.separate(X, y, fit_intercept=True).proof
    without = sx.separate(X, y).proof
    with sx.Problem(X, y) as problem, pytest.raises(ValueError, match="opened without an intercept"):
        sx.verify(with_one, problem)
    with sx.Problem(X, y, fit_intercept=True) as problem, pytest.raises(ValueError, match="has an intercept"):
        sx.verify(without, problem)


@pytest.mark.parametrize("scaling", [5.0, 0.01, "auto"])
def test_verdict_and_diagnosis_do_not_depend_on_the_scale_of_the_intercept(scaling):
    X, y, _ = sx.planted(2000, 100, margin=0.05, offset=1.0)
    X = X + 3.0
    with sx.Problem(X, y, fit_intercept=True, intercept_scaling=scaling) as problem:
        found = sx.separate(problem)
        assert found.status == "separable" and found.tool == sx.separate(X, y, fit_intercept=True).tool
        assert found.verify(X, y) and (np.where(y > 0, 1, -1) * (X @ found.theta[:-1] + found.theta[-1]) > 0).all()
    X, y = X[:200, :4], y[:200]
    with sx.Problem(X, y, fit_intercept=True, intercept_scaling=scaling) as problem:
        assert str(sx.diagnose(problem)) == str(sx.diagnose(X, y))


def test_what_was_returned_may_be_changed_without_changing_what_is_known():
    X, y = planted(60, 20, 0.1, 1)
    with sx.Problem(X, y) as problem:
        first, mu = sx.separate(problem), sx.max_margin(problem, rtol=1e-3)
        first.theta[:], first.margin.theta[:], mu.theta[:], mu.weights[:] = -1.0, 0.0, 0.0, -1.0
        second = sx.separate(problem)
        assert (y * (X @ second.theta) > 0).all() and 0 < second.margin.lower <= second.margin.upper
        close = sx.max_margin(problem, rtol=1e-8)
        assert close.lower <= sx.max_margin(X, y, rtol=1e-8).upper and close.upper >= close.lower > 0


def test_weights_that_are_not_positive_prove_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    y = np.where(X @ rng.normal(size=5) > 0, 1, -1)
    Z = X * y[:, None]
    lam = np.linalg.lstsq(np.vstack([Z.T, np.ones(30)]), np.append(np.zeros(5), 1.0))[0]  # Zᵀλ = 0, but some λ_i < 0
    bracket = Bracket(hold(X, y))
    bracket.try_weights(lam)
    assert (lam < 0).any() and bracket.upper >= sx.max_margin(X, y).lower


def test_a_verdict_that_was_cut_short_is_not_remembered(clock):
    X, y = noise(200, 6, 0)
    with sx.Problem(X, y) as problem:
        clock.per_reading = 1.0
        sx.separate(problem, time_limit=1e-6)
        clock.per_reading = 0.0
        assert "verdict" not in problem.known and sx.separate(problem).status == "inseparable"


def test_a_problem_is_not_copied_pickled_or_shared_with_a_clusterless_child():
    X, y = planted(40, 4, 0.1, 0)
    with sx.Problem(X, y) as problem:
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled; open another one"):
                attempt(problem)
        problem._process = -1  # as after a fork, in the middle of another thread's call
        problem._lock.acquire()
        assert sx.separate(problem).status == "separable"


def test_a_closed_problem_of_a_frame_keeps_nothing_of_it():
    frame = {"a": list(range(12)), "b": ["x", "y", "z"] * 4, "out": [0, 1] * 6}
    problem = sx.Problem(frame, "out", sample_weight=np.ones(12))
    table = weakref.ref(problem.table)
    problem.close()
    assert table() is None
    with pytest.raises(ValueError, match="closed"):
        _ = problem.names


def test_weights_of_a_frame_go_with_the_rows_that_are_kept():
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "out": [0, 1, 1, 0]})
    with sx.Problem(frame, "out", missing="drop", sample_weight=[1.0, 5.0, 2.0, 3.0]) as problem:
        assert problem.rows.size == 6.0


def test_only_the_columns_of_the_last_setting_are_kept():
    X, y = planted(60, 90, 0.05, 0)
    with sx.Problem(X, y) as problem:
        for k in (10, 20, 60):
            sx.solve(problem, method="batch-perceptron", engine=sx.Gram(memory=k * 60 * 8))
        assert len(gram_engine._caches[problem.rows].owner) == 60


def test_an_iterate_kept_at_the_end_outlives_the_files_it_came_from(tmp_path):
    X, y = uneven(4_000, 5, 3)
    rows, labels = tmp_path / "rows.npy", tmp_path / "labels.npy"
    np.save(rows, X)
    np.save(labels, y)
    for method in METHODS:
        said = []
        for data, more in (((rows, labels), {"memory_limit": "8GB"}), ((X, y), {})):
            kept: list[Any] = []
            sx.solve(*data, method, max_iter=9, stop=lambda it, kept=kept: kept.append(it) or it.t >= 7, **more)
            said.append([(it.t, it.phi.tobytes(), it.errors) for it in kept])
        assert said[0] == said[1] and len(said[0]) > 1


def test_an_iterate_kept_by_a_callback_that_fails_is_its_own():
    X, y = planted(80, 10, 0.001, 6)
    kept: list[Any] = []

    def keep(iterate: Any) -> None:
        kept.append(iterate)
        if iterate.t == 3:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        sx.solve(X, y, "lr-gd", record="all", callback=keep)
    assert all(it._engine is None for it in kept) and kept[3].errors >= 0


# One protocol for rows.


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_rows_answer_with_the_same_bits_wherever_they_are(shards):
    X, y = uneven(6_000, 7, 3)
    held, far = hold(X, y), scattered(X, y, shards)
    rng = np.random.default_rng(0)
    phi, w = rng.standard_normal(8), rng.random(6_000) * (rng.random(6_000) < 0.3)
    assert (held.n, held.d, held.R, held.size, held.least) == (far.n, far.d, far.R, far.size, far.least)
    assert held.whole is held and far.whole is None
    assert np.array_equal(held.margins(phi), far.margins(phi) * far.scale)
    assert held.lowest(phi) == far.lowest(phi) * far.scale
    assert np.array_equal(held.pull(w), far.pull(w) * far.scale)
    idx = np.array([5_999, 3, 700])
    for rows in (held, far):
        some, at = rows.fetch(idx)
        assert np.array_equal(some.raw(at), X[idx]) and np.array_equal(np.sign(some.sign[at]), y[idx])
        assert sum(rows.map(count)) == 6_000
        assert len(rows.fingerprint()) == 32
        rows.close()


def count(first: int, piece: HeldRows) -> int:
    return piece.n


def test_both_kinds_of_rows_have_all_that_the_protocol_asks_for():
    X, y = uneven(600, 4, 0)
    asked = [name for name in vars(Rows) if not name.startswith("_")]
    assert len(asked) > 15
    for rows in (hold(X, y), scattered(X, y, 1)):
        assert [name for name in asked if not hasattr(rows, name)] == []


def test_another_constant_column_is_that_of_rows_opened_with_it():
    X, y = planted(50, 4, 0.1, 1)
    for data in (X, sparse.csr_array(X), (1e80 * X)):
        once, again = hold(data, y, fit_intercept=True, intercept_scaling="auto"), hold(data, y, fit_intercept=True)
        other = again.rescaled("auto")
        assert other.bias == once.bias and other.scale == once.scale and np.array_equal(other.r, once.r)
        assert np.array_equal(other.sign, once.sign) and other.fingerprint() == once.fingerprint()
        assert hold(data, y).rescaled("auto").bias == 0.0


def test_verifying_a_proof_of_an_array_loads_nothing_of_shards():
    code = """
import sys
import numpy as np
from separatrix.certify import Claim, Proof, verify
X, y = np.array([[2.0, 1.0], [-2.0, 1.0]]), [1, -1]
assert verify(Proof(Claim.SEPARABLE, 2, 2, False, theta=(1.0, 0.0)), X, y)
assert not verify(Proof(Claim.SEPARABLE, 2, 2, False, theta=(-1.0, 0.0)), X, y)
print([name for name in sys.modules if name.startswith("separatrix.shards") or name in ("dask", "distributed")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


def test_solving_deciding_and_diagnosing_arrays_loads_nothing_of_shards():
    code = """
import sys
import separatrix as sx
X, y, _ = sx.planted(30, 3)
sx.solve(X, y), sx.separate(X, y), sx.max_margin(X, y), sx.diagnose(X, y)
print([name for name in sys.modules if name.startswith("separatrix.shards")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


def test_columns_go_when_the_problem_goes():
    X, y = planted(60, 80, 0.05, 0)
    before = len(gram_engine._caches)
    problem = sx.Problem(X, y)
    sx.solve(problem, method="batch-perceptron", engine="gram")
    assert len(gram_engine._caches) == before + 1
    problem.close()
    assert len(gram_engine._caches) == before


# What a callback gets can be kept.


@pytest.mark.parametrize("engine", ["dense", "lazy", "gram"])
@pytest.mark.parametrize("method", METHODS)
def test_iterates_that_are_kept_are_each_its_own(method, engine):
    X, y = planted(80, 100, 0.01, 6)
    kept: list[Any] = []
    said: list[Any] = []

    def keep(iterate: Any) -> None:
        kept.append(iterate)
        said.append((iterate.t, iterate.theta.copy(), iterate.measure))

    run = sx.solve(X, y, method, engine=engine, record="all", max_iter=40, stop=None, callback=keep)
    assert [iterate.t for iterate in kept] == run.trace["iteration"].tolist()
    for iterate, (t, theta, measure) in zip(kept, said, strict=True):
        assert iterate.t == t and np.array_equal(iterate.theta, theta) and iterate.measure == measure
    assert [iterate.errors for iterate in kept] == run.trace["errors"].tolist()
    assert len({iterate.phi.tobytes() for iterate in kept}) > 3


def test_iterates_kept_without_a_look_at_them_are_their_own_too():
    X, y = planted(80, 10, 0.001, 6)
    kept: list[Any] = []
    run = sx.solve(X, y, "lr-gd", step_size=50.0, max_iter=30, stop=lambda it: kept.append(it) or it.t == 25)
    steps = [sx.solve(X, y, "lr-gd", step_size=50.0, max_iter=t, stop=None).phi for t in range(26)]
    assert run.status == "stopped" and [it.t for it in kept] == list(range(26))
    assert all(np.array_equal(it.phi, phi) for it, phi in zip(kept, steps, strict=True))


def test_errors_of_a_sweep_are_not_a_number_before_they_are_known():
    from separatrix.walking.engines import make_engine
    from separatrix.walking.methods import parse_method

    X, y = planted(200, 8, 0.01, 2)
    for engine in ("dense", "lazy", "gram"):
        sweep = make_engine(engine, hold(X, y), parse_method("perceptron"))
        assert sweep.errors is None and sweep.average() is None
        while sweep.errors is None:
            sweep.advance(1, True)
        assert sweep.errors == 0 and sweep.check()


# Names that others rely on.

FIRST_VERSION = {  # fmt: skip
    "BatchPerceptron",
    "Checkpoint",
    "CheckpointError",
    "Claim",
    "ClusterError",
    "Diagnosis",
    "Gram",
    "Kind",
    "LogisticGD",
    "Margin",
    "MarginStatus",
    "MaxMarginClassifier",
    "NormalizedBatchPerceptron",
    "NormalizedLogisticGD",
    "Perceptron",
    "Proof",
    "ProofError",
    "Run",
    "Separation",
    "Status",
    "Trace",
    "Verdict",
    "bounds",
    "diagnose",
    "imbalanced",
    "load_proof",
    "max_margin",
    "planted",
    "plot",
    "save_proof",
    "separate",
    "solve",
    "two_samples",
    "verify",
    "worst_case",
}


def test_every_public_name_of_the_last_version_is_there():
    assert {name for name in FIRST_VERSION if getattr(sx, name, None) is None} == set()
    assert set(sx.__all__) > FIRST_VERSION
