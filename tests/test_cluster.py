"""Rows on a Dask cluster of two processes: the same steps as one machine, and plain words when something is wrong."""

from __future__ import annotations

import logging
import pickle
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
from scipy import sparse

import separatrix as sx
from far import FIVE, methods, same_path, save, uneven
from separatrix.data.problem import as_problem
from separatrix.shards.cluster import share
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method

da = pytest.importorskip("dask.array", reason="Dask is in the extra [dask]")
dd = pytest.importorskip("dask.dataframe", reason="Dask is in the extra [dask]")
distributed = pytest.importorskip("distributed", reason="Dask is in the extra [dask]")

# Dask warns of large graphs, busy ports and unclosed sockets of its own; none of it is ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "silence_logs": logging.CRITICAL}
        with distributed.LocalCluster(dashboard_address="127.0.0.1:0", **options) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client


def chunked(X: np.ndarray, chunks: int) -> Any:
    return da.from_array(X, chunks=(-(-len(X) // chunks), X.shape[1]))


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", FIVE)
def test_the_counts_and_the_bits_of_one_machine_whatever_the_chunks(name, every, client):
    X, y = FIVE[name]()
    for k, (method, gamma) in enumerate(methods()):
        steps = 40 if every else 15
        run = sx.solve(X, y, method, step_size=gamma, engine="lazy", max_iter=steps)
        for chunks in (1, 2, 7, 50) if every else ((1, 2, 7, 50)[k % 4],):
            A = chunked(X, chunks)
            A = A.persist() if chunks == 7 else A  # rows that workers have stay where they are
            far = sx.solve(A, y, method, step_size=gamma, max_iter=steps)
            assert far.engine == "dask"
            assert same_path(run, far), (method, gamma, chunks)


@pytest.mark.parametrize("name", ["worst case", pytest.param("fifty shards", marks=pytest.mark.long)])
def test_whole_runs_take_as_many_steps_as_on_one_machine(name, client):
    X, y = FIVE[name]()
    for method in ("normalized-batch-perceptron", "batch-perceptron", "perceptron"):
        run = sx.solve(X, y, method, engine="lazy", record=None, max_iter=1500)
        far = sx.solve(chunked(X, 7), y, method, record=None, max_iter=1500)
        assert far.n_iter == run.n_iter and np.array_equal(run.phi, far.phi), method


def test_frames_columns_and_labels_of_any_kind(client):
    X, y = uneven(3_000, 5, 4)
    names = [f"x{j}" for j in range(5)]
    frame = pd.DataFrame(X, columns=names)
    frame["label"] = np.where(y > 0, "yes", "no")
    run = sx.solve(X, y, "normalized-batch-perceptron", engine="lazy", max_iter=60)
    table = dd.from_pandas(frame, npartitions=3)
    assert same_path(run, sx.solve(table, "label", "normalized-batch-perceptron", max_iter=60))
    assert same_path(run, sx.solve(table[names], table["label"], "normalized-batch-perceptron", max_iter=60))
    for labels in (y, list(y), da.from_array(y, chunks=700), da.from_array(y, chunks=700).persist()):
        assert same_path(run, sx.solve(chunked(X, 4), labels, "normalized-batch-perceptron", max_iter=60))


def test_weights_and_an_intercept(client):
    X, y = uneven(4_000, 6, 7)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    options = {"step_size": 10.0, "max_iter": 50, "fit_intercept": True, "sample_weight": weight}
    run = sx.solve(X, y, "lr-gd", engine="lazy", **options)
    assert same_path(run, sx.solve(chunked(X, 3), y, "lr-gd", **options))
    options["sample_weight"] = da.from_array(weight, chunks=999)
    assert same_path(run, sx.solve(chunked(X, 3), y, "lr-gd", **options))


def test_filtered_arrays_and_arrays_that_lie_about_their_type(client):
    X, y = uneven(6_000, 6, 7, np.float32)
    keep = np.arange(6_000) % 3_000 < 1_100  # whole chunks are left empty
    run = sx.solve(X[keep], y[keep], "lr-gd", step_size=0.05, engine="dense", max_iter=12)
    A = da.from_array(X, chunks=(500, 6))[da.from_array(keep, chunks=500)]
    assert same_path(run, sx.solve(A, y[keep], "lr-gd", step_size=0.05, max_iter=12))
    lie = da.from_array(X, chunks=(2_000, 6)).map_blocks(
        lambda block: block.astype("f8"), dtype="f4", meta=np.empty((0, 0), "f4")
    )
    run = sx.solve(X.astype("f8"), y, "lr-gd", step_size=0.05, engine="dense", max_iter=12)
    assert same_path(run, sx.solve(lie, y, "lr-gd", step_size=0.05, max_iter=12))


def test_sparse_chunks_take_the_steps_of_one_machine(client):
    X, y = uneven(5_000, 20, 5)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.3)
    A = chunked(X, 3).map_blocks(sparse.csr_matrix, dtype=float, meta=np.empty((0, 0)))
    for method, gamma in methods():
        run = sx.solve(sparse.csr_matrix(X), y, method, step_size=gamma, engine="lazy", max_iter=40)
        far = sx.solve(A, y, method, step_size=gamma, max_iter=40)
        assert far.engine == "dask" and same_path(run, far), (method, gamma)
        assert same_path(run, sx.solve(X, y, method, step_size=gamma, engine="lazy", max_iter=40)), (method, gamma)


def test_chunks_that_no_matrix_can_have_are_refused_where_they_are(client):
    X, y = uneven(5_000, 20, 5)

    def fallen(block):
        M = sparse.csr_matrix(block)
        M.indptr[2] = 10**6
        return M

    for change, sentence in (
        (fallen, "no whole CSR matrix: indptr must not fall, got 1000000 to 60 at row 2"),
        (lambda block: sparse.csr_matrix(np.hstack([block, block])), "a chunk of 40 columns where 20 were announced"),
    ):
        A = chunked(X, 3).map_blocks(change, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(ValueError, match=sentence):
            sx.solve(A, y, max_iter=3)


def test_a_rebuilt_shard_knows_its_plan_where_no_run_is_under_way(client):
    X, y = uneven(6_000, 6, 7)
    phi = np.ones(7)
    with as_problem(chunked(X, 2), y) as problem:
        rows = problem.rows
        before = rows.lowest(phi)
        rows.known = None
        rows.team._rebuild(rows.team.seats[0])
        assert rows.lowest(phi) == before


def test_a_list_of_files_is_shared_out_to_the_workers(client, tmp_path):
    X, y = uneven(9_000, 6, 5, np.float32)
    paths, labels = save(tmp_path, X, y, pieces=3)
    for method in ("normalized-batch-perceptron", "perceptron"):
        run = sx.solve(X, y, method, engine="lazy", max_iter=60)
        far = sx.solve(paths, labels, method, max_iter=60)
        assert far.engine == "dask" and same_path(run, far)


def test_verdicts_margins_and_proofs_shard_by_shard(client):
    X, y = uneven(20_001, 7, 9)
    A = chunked(X, 5)
    found = sx.separate(A, y)
    assert found.status == "separable" and found.verify(A, y) and found.verify(X, y) and not found.verify(A, -y)
    here, far = sx.max_margin(X, y), sx.max_margin(A, y)
    assert far.status == "converged" and far.lower <= here.upper and here.lower <= far.upper
    y[19_000] *= -1
    found = sx.separate(A, y)
    assert found.status == "inseparable" and found.verify(A, y) and found.verify(X, y)
    y[19_000] *= -1
    assert not found.verify(A, y)


def test_a_checkpoint_of_one_cluster_continues_with_other_chunks(client, tmp_path):
    X, y = uneven(9_000, 6, 5)
    whole = sx.solve(X, y, "normalized-batch-perceptron", engine="lazy", max_iter=60)
    options = {"checkpoint": tmp_path / "run.npz"}
    sx.solve(chunked(X, 2), y, "normalized-batch-perceptron", max_iter=25, **options)
    run = sx.solve(chunked(X, 6), y, "normalized-batch-perceptron", max_iter=60, **options)
    assert np.array_equal(run.phi, whole.phi)


def test_an_iteration_is_one_short_question_to_every_worker_and_one_short_answer(client, monkeypatch):
    X, y = uneven(20_000, 50, 3)
    with as_problem(chunked(X, 2), y) as problem:
        walk = Walk(problem.rows, parse_method("batch-perceptron"))
        ask, rounds = problem.rows.team._call, []

        def call(wanted: dict[int, Any]) -> dict[int, Any]:
            answers = ask(wanted)
            rounds.append((len(wanted), len(pickle.dumps(wanted)), len(pickle.dumps(answers))))
            return answers

        monkeypatch.setattr(problem.rows.team, "_call", call)
        for _ in range(80):
            walk.engine.advance(1, False)
    workers, asked, answered = map(np.array, zip(*rounds, strict=True))
    assert len(rounds) <= 81 and (workers == 2).all()  # the first iterate is looked at before it is left
    assert asked.max() < 2_000 and answered.max() < X.nbytes / 200


def test_actors_are_let_go_of_when_a_run_has_ended(client):
    X, y = uneven(3_000, 5, 4)
    sx.solve(chunked(X, 2), y, "perceptron", max_iter=5)

    def actors(dask_worker: Any) -> int:
        return len(dask_worker.state.actors)

    for _ in range(600):
        if not any(client.run(actors).values()):
            return
        time.sleep(0.1)
    pytest.fail("workers still hold actors")


def test_nothing_listens_beyond_this_machine(client, cluster):
    before = listening()
    X, y = uneven(3_000, 5, 4)
    sx.solve(chunked(X, 2), y, "perceptron", max_iter=5)
    after = listening()
    assert after <= before
    assert all(address.startswith(("127.", "::1")) for address, _ in after), after


def listening() -> set[tuple[str, int]]:
    """Addresses on which this process or its children listen."""
    found = set()
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            found |= {(c.laddr.ip, c.laddr.port) for c in process.net_connections() if c.status == psutil.CONN_LISTEN}
        except psutil.NoSuchProcess:
            continue
    return found


BAD = {
    "nan": (lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 7_001, np.nan, X), y), "NaN at row 1400"),
    "labels": (lambda X, y: (X, y[:-1]), "3000 rows but y has shape"),
    "one class": (lambda X, y: (X, np.ones(len(y))), "y has 1 class"),
    "text": (lambda X, y: (X.astype(str), y), "must be numeric"),
    "a column's name": (lambda X, y: (X, "label"), "must name a column of a Dask frame"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_get_one_sentence(case, client):
    change, words = BAD[case]
    X, y = change(*uneven(3_000, 5, 4))
    with pytest.raises(ValueError, match=words) as caught:
        sx.solve(chunked(X, 3), y, "perceptron", max_iter=5)
    assert "\n" not in str(caught.value)


def test_a_chunk_that_cannot_be_computed_is_named(client):
    def fail(block: np.ndarray) -> np.ndarray:
        raise RuntimeError("the disk is gone")

    X, y = uneven(3_000, 5, 4)
    with pytest.raises((sx.ClusterError, RuntimeError), match="the disk is gone"):
        sx.solve(chunked(X, 3).map_blocks(fail, dtype=float, meta=np.empty((0, 0))), y, "perceptron", max_iter=5)


def test_a_limit_on_memory_is_the_workers_own_business(client):
    X, y = uneven(3_000, 5, 4)
    with pytest.raises(ValueError, match="Dask workers have limits of their own"):
        sx.solve(chunked(X, 3), y, "perceptron", memory_limit="1GB")


def test_shards_are_shared_out_evenly_and_in_order():
    for workers in (1, 2, 3, 7):
        for shards in (1, 2, 5, 40):
            ranges = share([k * 512 for k in range(shards + 1)], workers)
            assert [k for r in ranges for k in r] == list(range(shards))
            assert max(len(r) for r in ranges) <= -(-shards // min(workers, shards)) + 1


def test_without_a_client_the_way_to_one_is_said(monkeypatch):
    from separatrix.shards.dask_collections import client_for

    def nobody() -> None:
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", nobody)
    with pytest.raises(ValueError, match="from dask.distributed import Client"):
        client_for(needed=True)
