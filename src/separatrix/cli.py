"""The command line: words in, words and exit status out.

Exit status 0: done; 1: a number that had to come out did not; 2: the request or the data were wrong, and one sentence
on stderr says how.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    name="separatrix",
    help="Linear separation by logistic regression and perceptrons, at any step size.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Expected errors as one sentence on stderr and status 2; anything else is ours to mend and keeps its traceback."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        print(f"separatrix: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


def wide_console() -> Console:
    """The terminal at its own width; files and pipes at 120 columns."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        import separatrix

        print(f"separatrix {separatrix.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Linear separation by logistic regression and perceptrons, at any step size."""


@app.command()
def reproduce() -> None:
    """Print the paper's numbers beside ours; exit status 1 if one that must come out exactly does not."""
    with plain_errors():
        from separatrix.lab.paper import tables
        from separatrix.lab.table import render

        console = wide_console()
        failures: list[str] = []
        count = 0
        for table in tables():
            console.print(render(table), "")
            failures += table.failures
            count += 1
    for failure in failures:
        print(f"separatrix: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)
    console.print(f"{count} tables: every number that must come out exactly did.")


class Suite(StrEnum):
    """What `bench` measures."""

    SPEED = "speed"
    GROWTH = "growth"
    ALL = "all"


@app.command()
def bench(
    suite: Annotated[Suite, typer.Option(help="Against plain loops, or how cost and memory grow.")] = Suite.ALL,
    alternations: Annotated[int, typer.Option(min=1, help="How often each side of a comparison is timed.")] = 5,
    json: Annotated[Path | None, typer.Option(help="Also write the numbers to this file.")] = None,
) -> None:
    """Time ours against plain NumPy and PyTorch loops, and grow n and d."""
    with plain_errors():
        if json is not None and not json.parent.is_dir():  # now, rather than after minutes of work
            raise FileNotFoundError(f"the folder {str(json.parent)!r} for --json is not there.")
        from separatrix.bench.report import machine, write_json

        console = wide_console()
        measured: dict[str, Any] = {}
        if suite in (Suite.SPEED, Suite.ALL):
            measured["speed"] = bench_speed(console, alternations)
        if suite in (Suite.GROWTH, Suite.ALL):
            measured["growth"] = bench_growth(console)
        facts = machine()
        versions = ", ".join(f"{name} {v}" for name, v in facts["packages"].items() if v)
        text = f"{facts['cores']} cores, {facts['processor']}; Python {facts['python']}, {versions}, {facts['blas']}"
        console.print(text)
        if json is not None:
            write_json(json, {"machine": facts, **measured})


def bench_speed(console: Console, alternations: int) -> dict[str, Any]:
    """The speed suite, printed and as plain data."""
    from separatrix.bench import speed
    from separatrix.bench.report import read_bandwidth
    from separatrix.lab.table import render

    results: list[speed.Result] = []
    limit = read_bandwidth()
    for name, X, y, cases in speed.suite():
        for case in cases:
            progress(f"{name}: {case.method}, step size {case.gamma:g}, {case.dtype}")
            results += speed.measure(name, X, y, case, alternations=alternations)
    for table in speed.tables(results, limit):
        console.print(render(table))
    start = speed.start_up()
    loads = [name for name in ("numba", "sklearn") if start[f"import_loads_{name}"]]
    console.print(
        f"import separatrix: {start['import_seconds']:.3f} s, loads {' and '.join(loads) or 'no numba, no sklearn'}\n"
        f"a fresh process has its first small result after {start['first_result_seconds']:.2f} s\n"
    )
    return {"results": speed.rows_of(results), "read_bandwidth": limit, "start_up": start}


def bench_growth(console: Console) -> list[dict[str, Any]]:
    """The growth suite, printed and as plain data."""
    from separatrix.bench import growth
    from separatrix.lab.table import render

    results = []
    for engine, n, d in growth.grid():
        progress(f"growth: {engine}, {n:,} x {d:,}")
        results.append(growth.measure(engine, n, d))
    console.print(render(growth.table(results)))
    return results


def progress(text: str) -> None:
    """What is being measured, for those who wait."""
    print(text, file=sys.stderr)


if __name__ == "__main__":
    app()
