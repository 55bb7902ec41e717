"""Getting jobs done: in this process or in several, each result kept as soon as it is there, one display for all.

Jobs on the same rows go to one worker, one after the other, so that the rows are read once and the columns of G are
computed once. A job that another process is at is left for the end.
"""

from __future__ import annotations

import os
import queue
import signal
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from separatrix.core.threads import limit_threads
from separatrix.lab.kinds import work_of
from separatrix.lab.samples import sample
from separatrix.lab.spec import COLUMNS
from separatrix.lab.store import Job, Store, written
from separatrix.reporting.progress import Progress
from separatrix.walking.checkpoint import Checkpoint, CheckpointError

PATIENCE = 0.5  # seconds between two looks at a job that another process is at
TOLD = 0.5  # seconds between two words about a run under way
Word = tuple[str, str, float]  # (what, which job, how far)


def do_all(jobs: Sequence[Job], store: Store, *, data_dir: str | None, workers: int, show: bool) -> float:
    """Do every job that is not yet done; returns the seconds it took."""
    began = time.perf_counter()
    every = {job.place: job for job in sorted(jobs, key=lambda job: job.limit)}  # the largest budget asked for
    left = [job for job in every.values() if store.read(job) is None]
    groups = [list(group) for _, group in groupby(sorted(left, key=rows_of), key=rows_of)]
    dear: defaultdict[str, float] = defaultdict(float)
    for group in groups:
        dear[file_of(group)] += sum(map(cost, group))
    # The longest first, so that workers end together; all of one file on end, so that it is read once.
    groups.sort(key=lambda group: (-dear[file_of(group)], file_of(group), -sum(map(cost, group))))
    with display(left, len(every), show) as told:
        if workers == 1 or len(groups) < 2:
            for group in groups:
                do_group(group, store.folder, data_dir, told)
        else:
            in_processes(groups, store.folder, data_dir, workers, told)
    return time.perf_counter() - began


def rows_of(job: Job) -> tuple[str, int]:
    """Jobs with the same answer run on the same rows."""
    return job.data.slug, -1 if job.seed is None else job.seed


def file_of(jobs: Sequence[Job]) -> str:
    """What has to be in memory for these jobs."""
    data = jobs[0].data
    return f"{data.source} {data.classes} {data.scaling} {data.target}"


def do_group(jobs: Sequence[Job], folder: Path, data_dir: str | None, told: Callable[[Word], None]) -> None:
    """Jobs on the same rows, one after the other."""
    store = Store(folder)
    rows = sample(jobs[0].data, jobs[0].seed, data_dir)
    problem = rows.problem
    waiting = list(jobs)
    while waiting:
        later = []
        for job in waiting:
            with store.claim(job) as mine:
                if mine and store.read(job) is None:
                    do_one(job, rows, problem, store, told)
            if not mine:
                later.append(job)
            else:
                told(("done", str(job.place), 1.0))
        if len(later) == len(waiting):
            time.sleep(PATIENCE)
        waiting = later


def do_one(job: Job, rows: Any, problem: Any, store: Store, told: Callable[[Word], None]) -> None:
    """One job, from where it was left; a checkpoint that does not fit is from other rows, and is replaced."""
    last = [0.0]

    def tell(t: int) -> bool:
        if time.monotonic() - last[0] > TOLD:
            told(("at", str(job.place), t / max(job.limit, 1)))
            last[0] = time.monotonic()
        return False

    work, part = work_of(job), store.checkpoint(job)
    saving = Checkpoint(part, every=20.0) if work.resumes else None
    told(("at", str(job.place), 0.0))
    began = time.perf_counter()
    try:
        result = work.perform(job, rows, problem, saving, tell)
    except CheckpointError as error:
        with written(part):
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from None
        part.unlink()
        result = work.perform(job, rows, problem, saving, tell)
    seconds = {"seconds": time.perf_counter() - began}  # a run of a method knows its own
    store.write(job, replace(result, facts=seconds | dict(result.facts)))


def in_processes(
    groups: Sequence[list[Job]], folder: Path, data_dir: str | None, workers: int, told: Callable[[Word], None]
) -> None:
    """Groups in several processes, each with its part of the cores; what goes wrong in one ends all."""
    context = get_context("spawn")
    todo, words = context.Queue(), context.Queue()
    for group in [*groups, *([None] * workers)]:
        todo.put(group)
    threads = max(1, (os.cpu_count() or 1) // workers)
    crew = [
        context.Process(target=labour, args=(todo, words, folder, data_dir, threads), daemon=True)
        for _ in range(min(workers, len(groups)))
    ]
    try:
        for worker in crew:
            worker.start()
        while True:
            going = any(worker.is_alive() for worker in crew)
            try:
                word = words.get(timeout=0.1)
            except queue.Empty:
                if not going:
                    break
                continue
            if isinstance(word, Exception):
                raise word
            told(word)
        for worker in crew:
            if worker.exitcode:
                raise ChildProcessError(
                    f"a worker process ended with exit code {worker.exitcode}; finished runs are kept, run the same "
                    "command again (with --jobs 1 if memory is short)."
                )
    finally:
        for worker in crew:
            worker.terminate()


def labour(todo: Any, words: Any, folder: Path, data_dir: str | None, threads: int) -> None:
    """A worker: group after group on its share of the cores, as long as there are any and anyone waits for them."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who waits
    limit_threads(threads)
    threadpool_limits(threads)
    parent = parent_process()

    def told(word: Word) -> None:
        if parent is not None and not parent.is_alive():
            os._exit(1)
        words.put(word)

    try:
        while (group := todo.get()) is not None:
            do_group(group, folder, data_dir, told)
    except (ValueError, OSError, ImportError) as error:
        kind = next(kind for kind in (ValueError, ImportError, OSError) if isinstance(error, kind))
        words.put(kind(str(error)))
    except Exception:
        words.put(RuntimeError(traceback.format_exc()))


def cost(job: Job) -> float:
    """A guess at what a job takes, in entries read: only ratios matter."""
    rows = job.data.rows or 1000
    wide = {**COLUMNS, "digits": 64, "worst-case": 2}.get(job.data.source, 784)
    cheap = 0.05 if job.step_size >= 10 else 1.0  # large steps read few rows
    return work_of(job).share * cheap * max(job.limit, 1000) * rows * wide


@contextmanager
def display(left: Sequence[Job], all_jobs: int, show: bool) -> Iterator[Callable[[Word], None]]:
    """One bar for all jobs; the time left follows from how long the others took."""
    far = {str(job.place): 0.0 for job in left}  # runs count alike: how many steps they take is not known before
    done = all_jobs - len(left)
    with Progress("runs", quiet=not (show and left), last=False, bound=False) as shown:

        def told(word: Word) -> None:
            nonlocal done
            what, place, part = word
            far[place] = part
            done += what == "done"
            shown.tell(f"{done:,} of {all_jobs:,} runs, {place.removesuffix('.npz')}", sum(far.values()) / len(far))

        yield told
