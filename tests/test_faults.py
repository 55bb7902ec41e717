"""Processes of a cluster killed in the middle of a run: the right answer, or one clear error, and never a hang."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from far import uneven
from separatrix.shards import cluster as ours

dask = pytest.importorskip("dask", reason="Dask is in the extra [dask]")
da = pytest.importorskip("dask.array", reason="Dask is in the extra [dask]")
distributed = pytest.importorskip("distributed", reason="Dask is in the extra [dask]")

# What Dask says while its processes die is not ours to judge.
pytestmark = [pytest.mark.faults, pytest.mark.filterwarnings("ignore")]

X, Y = uneven(60_000, 12, 21)
Process = subprocess.Popen[bytes]
HANG = 600.0  # seconds after which a run counts as hung
SEED = 20  # of the moments at which processes are killed, and of which ones


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    names = ("distributed", "distributed.client", "distributed.nanny", "distributed.core", "tornado.application")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@contextmanager
def local_cluster() -> Iterator[Any]:
    # Dask gives a worker up for good if it is away 15 s after an earlier loss; here they are lost on purpose.
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}))
        options = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": logging.CRITICAL + 1}
        made = stack.enter_context(distributed.LocalCluster(dashboard_address="127.0.0.1:0", **options))
        yield stack.enter_context(distributed.Client(made))


@contextmanager
def processes(
    folder: Path, workers: int
) -> Iterator[tuple[str, subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers without nannies, each a process of its own: what is killed stays dead."""
    at = folder / "scheduler.json"
    here = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    dask_command = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [
        subprocess.Popen([*dask_command, "scheduler", *here, "--port", "0", "--scheduler-file", str(at)], **quiet)
    ]
    try:
        more = ["--scheduler-file", str(at), "--no-nanny", "--nthreads", "1"]
        for _ in range(workers):
            started.append(subprocess.Popen([*dask_command, "worker", *here, *more], **quiet))
        yield str(at), started[0], started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def timed(call: Any) -> Any:
    """The call's result or exception, but never a hang."""
    result: dict[str, Any] = {}

    def run() -> None:
        try:
            result["value"] = call()
        except BaseException as error:  # it is raised below
            result["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG)
    assert not thread.is_alive(), "it hangs"
    if "error" in result:
        raise result["error"]
    return result["value"]


def worker_pids(client: Any) -> list[int]:
    return sorted(client.run(os.getpid).values())


@contextmanager
def once_begun(kill: Any, delay: float = 0.0) -> Iterator[Any]:
    """Call this so long after the first step of a run, which is given the value as its progress."""
    begun = threading.Event()

    def wait() -> None:
        begun.wait()
        time.sleep(delay)
        kill()

    assassin = threading.Thread(target=wait, daemon=True)
    assassin.start()
    try:
        yield lambda t, wrong: begun.set()
    finally:
        begun.set()
        assassin.join()


def expected(method: str, steps: int, y: np.ndarray = Y) -> sx.Run:
    return sx.solve(X, y, method, engine="lazy", max_iter=steps, record=None)


@pytest.mark.parametrize("seed", range(5))
def test_a_worker_killed_at_a_random_moment_changes_nothing(seed):
    rng = random.Random(f"{SEED}-{seed}")
    method, steps = ("normalized-batch-perceptron", 500) if seed % 2 == 0 else ("perceptron", 3_000)
    whole = expected(method, steps)
    data = da.from_array(X, chunks=(20_000, X.shape[1]))
    with local_cluster() as client:
        data = data.persist() if seed == 4 else data
        timed(lambda: sx.solve(data, Y, method, max_iter=3, record=None))  # kernels are loaded
        delay, chosen = rng.uniform(0.0, 3.0), rng.randrange(2)
        print(f"seed {SEED}-{seed}, {method}: worker {chosen} killed after {delay:.2f} s")

        def kill() -> None:
            time.sleep(delay)
            os.kill(worker_pids(client)[chosen], signal.SIGKILL)

        assassin = threading.Thread(target=kill)
        assassin.start()
        run = timed(lambda: sx.solve(data, Y, method, max_iter=steps, record="log"))
        assassin.join()
        assert run.n_iter == whole.n_iter and np.array_equal(run.phi, whole.phi)


def test_many_kills_in_one_run_change_nothing():
    whole = expected("normalized-batch-perceptron", 900)
    rng = random.Random(f"{SEED}-many")
    data = da.from_array(X, chunks=(9_000, 12))
    with local_cluster() as client:
        done, kills = threading.Event(), []

        def kill() -> None:
            while not done.is_set():
                pids = worker_pids(client)
                if pids:
                    kills.append(rng.choice(pids))
                    os.kill(kills[-1], signal.SIGKILL)
                done.wait(rng.uniform(1.5, 4.0))

        with once_begun(kill) as progress:
            try:
                run = timed(lambda: sx.solve(data, Y, "normalized-batch-perceptron", max_iter=900, progress=progress))
            finally:
                done.set()
        print(f"seed {SEED}-many: {len(kills)} kills")
        assert kills and run.n_iter == whole.n_iter and np.array_equal(run.phi, whole.phi)


def test_a_verdict_survives_a_kill():
    with local_cluster() as client:
        data = da.from_array(X, chunks=(20_000, 12))
        threading.Timer(0.8, lambda: os.kill(worker_pids(client)[0], signal.SIGKILL)).start()
        found = timed(lambda: sx.separate(data, Y))
        assert found.status == "separable" and found.verify(X, Y)
        threading.Timer(0.4, lambda: os.kill(worker_pids(client)[0], signal.SIGKILL)).start()
        margin = timed(lambda: sx.max_margin(data, Y))
        here = sx.max_margin(X, Y)
        assert margin.status == "converged" and margin.lower <= here.upper and here.lower <= margin.upper


def test_a_survivor_takes_over_the_shards_of_a_worker_that_stays_dead(tmp_path):
    whole = expected("normalized-batch-perceptron", 400)
    with processes(tmp_path, 2) as (at, _, workers), distributed.Client(scheduler_file=at) as client:
        client.wait_for_workers(2, timeout=300)
        data = da.from_array(X, chunks=(20_000, 12))
        with once_begun(workers[1].kill) as progress:
            run = timed(
                lambda: sx.solve(data, Y, "normalized-batch-perceptron", max_iter=400, record=None, progress=progress)
            )
        assert workers[1].wait() != 0
        assert np.array_equal(run.phi, whole.phi)


def test_rows_that_only_the_dead_worker_had_are_a_clear_error():
    with local_cluster() as client:
        homes = list(client.scheduler_info()["workers"])
        halves = [client.scatter(X[k * 30_000 : (k + 1) * 30_000], workers=[homes[k]], direct=True) for k in range(2)]
        data = da.concatenate([da.from_delayed(half, shape=(30_000, 12), dtype=X.dtype) for half in halves])
        timed(lambda: sx.solve(data, Y, "normalized-batch-perceptron", max_iter=3, record=None))
        doomed = client.run(os.getpid, workers=[homes[0]])[homes[0]]
        endless = {"stop": None, "max_iter": 10**9, "record": None}
        with (
            once_begun(lambda: os.kill(doomed, signal.SIGKILL), delay=0.5) as progress,
            pytest.raises(sx.ClusterError, match="rows were lost with their worker"),
        ):
            timed(lambda: sx.solve(data, Y, "batch-perceptron", **endless, progress=progress))


def test_without_any_worker_left_there_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(ours, "WAIT", 3.0)
    with processes(tmp_path, 1) as (at, _, workers), distributed.Client(scheduler_file=at) as client:
        client.wait_for_workers(1, timeout=300)
        data = da.from_array(X, chunks=(20_000, 12))
        endless = {"stop": None, "max_iter": 10**9, "record": None}
        with (
            once_begun(workers[0].kill, delay=0.5) as progress,
            pytest.raises(sx.ClusterError, match="has had no worker for 3 s"),
        ):
            timed(lambda: sx.solve(data, Y, "batch-perceptron", **endless, progress=progress))


@pytest.mark.parametrize("method", ["normalized-batch-perceptron", "perceptron"])
def test_a_lost_scheduler_is_a_clear_error_and_the_run_goes_on_elsewhere(method, tmp_path):
    file, endless = tmp_path / "run.npz", Y.copy()
    endless[100] *= -1  # no separator: it goes on until it is stopped
    data = da.from_array(X, chunks=(20_000, 12))
    save = sx.Checkpoint(file, every=0.3)
    with processes(tmp_path, 2) as (at, scheduler, _), distributed.Client(scheduler_file=at) as client:
        client.wait_for_workers(2, timeout=300)
        timed(lambda: sx.solve(data, endless, method, max_iter=3, record=None))
        seen = threading.Event()

        def kill() -> None:
            while not file.exists() and not seen.wait(0.02):
                pass
            seen.wait(0.3)
            scheduler.kill()

        threading.Thread(target=kill, daemon=True).start()
        with pytest.raises(sx.ClusterError, match="scheduler is gone|does not answer"):
            timed(lambda: sx.solve(data, endless, method, max_iter=10**9, record=None, checkpoint=save))
        seen.set()
    with np.load(file, allow_pickle=False) as saved:
        reached = int(saved["t"])
    with local_cluster():
        run = timed(lambda: sx.solve(data, endless, method, max_iter=reached + 50, record=None, checkpoint=save))
    whole = expected(method, reached + 50, endless)
    assert run.n_iter == whole.n_iter and np.array_equal(run.phi, whole.phi)
