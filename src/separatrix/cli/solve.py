"""`separatrix solve`: one run of one of the methods."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.console import (
    INTERRUPTED,
    AsJson,
    Data,
    Formula,
    Header,
    Keep,
    Labels,
    MaybeIntercept,
    MemoryLimit,
    Missing,
    Target,
    check_folder,
    examples,
    in_line,
    named,
    open_data,
    plain_errors,
    show,
    told,
    waiting,
)

EXAMPLES = examples(
    "separatrix solve data.csv --target y --intercept --step-size 10",
    "separatrix solve rows.npy --labels labels.npy --method perceptron \\",
    "    --memory-limit 8GB",
)


def _methods() -> list[str]:
    from separatrix.walking.methods import TABLE

    return list(TABLE)


def solve(
    data: Data,
    target: Target = None,
    method: Annotated[
        str,
        typer.Option(
            help="lr-gd, normalized-lr-gd, batch-perceptron, normalized-batch-perceptron, perceptron, "
            "tempered-lr-gd or tempered-batch-perceptron.",
            autocompletion=_methods,
        ),
    ] = "lr-gd",
    step_size: Annotated[float | None, typer.Option(help="The step size of the logistic ones, 1 by default.")] = None,
    power: Annotated[
        float | None,
        typer.Option(help="The power p of the tempered ones, 0 (normalized) to 1 (divided by n), 0.625 by default."),
    ] = None,
    max_iter: Annotated[int, typer.Option(min=0, help="Updates to make at most.")] = 100_000,
    formula: Formula = None,
    intercept: MaybeIntercept = None,
    missing: Missing = "error",
    keep: Keep = None,
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="A Dask scheduler, tcp://host:port, whose workers read the file."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Save the run to this file, and go on from it if it is there.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Look for a hyperplane by a method of the paper, or between two.

    Exit status 0 if it separates, 1 if not, which proves nothing: see separate. After Ctrl-C it is 130, and the run so
    far is printed.
    """
    with plain_errors():
        check_folder(checkpoint, "--checkpoint")
        from separatrix.data.files import given
        from separatrix.reporting.plain import counted
        from separatrix.walking.run import Status
        from separatrix.walking.solve import solve as run_it

        in_place = memory_limit is not None or scheduler is not None
        with waiting(f"reading {data}") as tell, ExitStack() as stack:
            X, y, names = given(data, target=target, formula=formula, header=header, labels=labels, in_place=in_place)
            if scheduler is not None:
                stack.enter_context(_client(scheduler))
                X = [X]
            opened = open_data((X, y, names), intercept, memory_limit, missing, keep)

            def shown(t: int, wrong: int | None) -> None:
                rows = "" if wrong is None else f", {counted(wrong, 'row')} wrong"
                tell(f"iteration {t:,} of {max_iter:,}{rows}", t / max(1, max_iter))

            with opened.problem as problem:
                run = run_it(
                    problem,
                    method=method,
                    step_size=step_size,
                    power=power,
                    max_iter=max_iter,
                    checkpoint=checkpoint,
                    record=None,
                    progress=shown,
                )
        answer = {
            "status": str(run.status),
            "separated": run.separated,
            "iterations": run.n_iter,
            "ties": None if run.ties is None else run.ties._asdict(),
            "cycle": None if run.cycle is None else run.cycle._asdict(),
            "engine": run.engine,
            "theta": named(run.theta, opened.names, opened.intercept),
            "seconds": run.seconds,
            "notes": list(opened.notes),
            **run.stats,
        }
        theta = in_line(run.theta, opened.names, opened.intercept)
        show(f"{run}\ntheta: {theta}{told(opened.notes)}", answer, json)
    if run.status is Status.INTERRUPTED:  # the run so far was told, and the checkpoint saved: this is no verdict
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if run.separated else 1)


def _client(address: str) -> Any:
    """A client of this scheduler, or one sentence."""
    try:
        from distributed import Client
    except ImportError:
        from separatrix.reporting.hints import install

        raise ImportError(f"a Dask cluster needs Dask: {install('dask')}.") from None
    try:
        connect: Any = Client
        return connect(address, timeout=10)
    except OSError as error:
        raise OSError(f"no Dask scheduler answers at {address} ({error}).") from None
