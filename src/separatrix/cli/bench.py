"""`separatrix bench`: what is measured, printed and written."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli.console import AsJson, check_folder, examples, plain_errors, show, wide_console

if TYPE_CHECKING:
    from rich.console import Console


EXAMPLES = examples(
    "separatrix bench --suite growth",
    "separatrix bench --suite speed --alternations 3 --json > speed.json",
)


class Suite(StrEnum):
    """What `bench` measures."""

    SPEED = "speed"
    GROWTH = "growth"
    DECIDE = "decide"
    ESTIMATORS = "estimators"
    PAPER = "paper"
    LARGE = "large"
    ALL = "all"


def bench(
    suite: Annotated[
        Suite,
        typer.Option(
            help="Against plain loops; how cost and memory grow; deciding against LP; classifiers against "
            "scikit-learn; every run of the paper's figures against a plain loop; large data on a cluster and in files "
            "(the last two are not part of all)."
        ),
    ] = Suite.ALL,
    alternations: Annotated[int, typer.Option(min=1, help="How often each side of a comparison is timed.")] = 5,
    out: Annotated[Path, typer.Option(help="Where the suite 'paper' keeps its runs; it continues there.")] = Path(
        "report"
    ),
    rows: Annotated[
        int | None,
        typer.Option(
            min=1000,
            help="Rows of the suite 'large': 2,000,000 in the race, up to 10,000,000 in files if not given.",
        ),
    ] = None,
    cap: Annotated[float, typer.Option(min=0.1, help="Seconds each side has in the race of the suite 'large'.")] = 60.0,
    repeats: Annotated[int, typer.Option(min=1, help="Alternations and repeated runs of the suite 'large'.")] = 3,
    plot: Annotated[Path | None, typer.Option(help="Draw the growth of the suite 'large' into this PNG file.")] = None,
    json: AsJson = False,
) -> None:
    """Time ours against plain loops, linear programs, scikit-learn."""
    with plain_errors():
        check_plot(plot, suite)
        from separatrix.reporting.machine import machine

        console = wide_console(quiet=json)
        measured: dict[str, Any] = {}
        if suite in (Suite.SPEED, Suite.ALL):
            measured["speed"] = bench_speed(console, alternations)
        if suite in (Suite.GROWTH, Suite.ALL):
            measured["growth"] = bench_growth(console)
        if suite in (Suite.DECIDE, Suite.ALL):
            measured["decide"] = bench_deciding(console, alternations)
        if suite in (Suite.ESTIMATORS, Suite.ALL):
            measured["estimators"] = bench_classifiers(console)
        if suite is Suite.PAPER:
            measured["paper"] = bench_paper(console, out)
        if suite is Suite.LARGE:
            measured["large"] = bench_large(console, rows, cap, repeats, plot)
        facts = machine()
        versions = ", ".join(f"{name} {v}" for name, v in facts["packages"].items() if v)
        text = f"{facts['cores']} cores, {facts['processor']}; Python {facts['python']}, {versions}, {facts['blas']}"
        console.print(text)
        if json:
            show(text, {"machine": facts, **measured}, json)


def bench_speed(console: Console, alternations: int) -> dict[str, Any]:
    """The speed suite, printed and as plain data."""
    from dataclasses import asdict

    from separatrix.bench import speed, sweeps
    from separatrix.bench.peers import torch_installed
    from separatrix.reporting.hints import install
    from separatrix.reporting.table import render

    results: list[speed.Result] = []
    shared: list[sweeps.Sweep] = []
    limit = speed.read_bandwidth()
    for name, X, y, cases in speed.suite():
        for case in cases:
            progress(f"{name}: {case.method}, step size {case.gamma:g}, {case.dtype}")
            results += speed.measure(name, X, y, case, alternations=alternations)
        progress(f"{name}: a sweep over step sizes")
        shared.append(sweeps.measure(name, X, y, alternations))
    for table in (*speed.tables(results, limit), sweeps.table(shared)):
        console.print(render(table, console))
    if not torch_installed():
        progress(f"PyTorch was left out: {install('torch')}.")
    start = speed.start_up()
    loads = [name for name in ("numpy", "sklearn") if start[f"import_loads_{name}"]]
    console.print(
        f"import separatrix: {start['import_seconds']:.3f} s, loads {' and '.join(loads) or 'no numpy, no sklearn'}\n"
        f"a fresh process has its first small result after {start['first_result_seconds']:.2f} s\n"
    )
    return {
        "results": speed.rows_of(results),
        "sweeps": [asdict(sweep) for sweep in shared],
        "read_bandwidth": limit,
        "start_up": start,
    }


def bench_growth(console: Console) -> list[dict[str, Any]]:
    """The growth suite, printed and as plain data."""
    from separatrix.bench import growth
    from separatrix.reporting.table import render

    results = []
    for engine, n, d in growth.grid():
        progress(f"growth: {engine}, {n:,} x {d:,}")
        results.append(growth.measure(engine, n, d))
    console.print(render(growth.table(results), console))
    return results


def bench_deciding(console: Console, alternations: int) -> dict[str, Any]:
    """The deciding suite, printed and as plain data."""
    from dataclasses import asdict

    from separatrix.bench import deciding
    from separatrix.reporting.table import render

    lines = []
    for name, X, y, with_margin in deciding.problems():
        progress(f"deciding: {name}")
        lines += deciding.compare(name, X, y, with_margin, alternations)
    progress("deciding: large sparse problems")
    sparse = deciding.large_sparse()
    for table in deciding.tables(lines, sparse):
        console.print(render(table, console))
    return {"sides": [asdict(line) for line in lines], "sparse": sparse}


def bench_classifiers(console: Console) -> dict[str, Any]:
    """The suite of classifiers, printed and as plain data."""
    from dataclasses import asdict

    from separatrix.bench import classifiers
    from separatrix.reporting.table import render

    given = classifiers.data()
    sweeps, fits, scales = [], [], []
    for name, X, y in classifiers.intercept_problems():
        progress(f"scale of the intercept: {name}")
        scales += classifiers.intercept_scales(name, X, y)
    for dtype in ("float32", "float64"):
        progress(f"perceptron sweeps: {given.name}, {dtype}")
        sweeps.append(classifiers.compare_sweeps(given, dtype))
    for name, model in classifiers.models():
        progress(f"classifiers: {name}")
        fits.append(classifiers.fit(given, name, model))
    for table in (*classifiers.tables(given, sweeps, fits), classifiers.scale_table(scales)):
        console.print(render(table, console))
        for failure in table.failures:
            console.print(failure)
    named: dict[str, list[Any]] = {"sweeps": sweeps, "fits": fits, "intercept": scales}
    return {name: [asdict(one) for one in results] for name, results in named.items()}


def bench_paper(console: Console, out: Path) -> list[dict[str, Any]]:
    """The suite of the paper's runs, printed and as plain data."""
    from dataclasses import asdict

    from separatrix.bench import profile
    from separatrix.lab.book import paper_book
    from separatrix.reporting.table import render

    lines: list[profile.Line] = []
    for jobs in profile.groups(paper_book()):
        for line in profile.measure(jobs, out):
            progress(f"{line.data}: {line.method}, step size {line.step_size}: {line.ratio:.1f} times")
            lines.append(line)
    for table in profile.tables(lines):
        console.print(render(table, console))
    return [asdict(line) | {"ratio": line.ratio} for line in lines]


def bench_large(console: Console, rows: int | None, cap: float, repeats: int, plot: Path | None) -> dict[str, Any]:
    """The suite of large data, printed, drawn where asked for, and as plain data."""
    from dataclasses import asdict

    from separatrix.bench import large, race
    from separatrix.reporting.table import Table, render

    def printed(table: Table) -> None:
        console.print(render(table, console))
        for failure in table.failures:
            console.print(failure)

    raced = rows or race.ROWS
    lines, missing = race.race_all(raced, cap, repeats, progress)
    for table in race.tables(lines, missing, raced, cap):
        printed(table)
    progress("overhead of a cluster")
    overheads = large.measure_overheads()
    printed(large.overhead_table(overheads))
    points: list[large.Point] = []
    for n in large.sizes(min(large.LARGEST, rows or large.LARGEST)):
        progress(f"growth: {n:,} rows in a file")
        points += large.grow(n, repeats)
    points.sort(key=lambda p: p.method)
    printed(large.growth_table(points))
    if plot is not None:
        large.draw(points, plot)
    return {
        "race": race.plain(lines),
        "missing": missing,
        "overhead": [asdict(one) for one in overheads],
        "growth": [asdict(p) for p in points],
        "slopes": large.slopes(points),
    }


def check_plot(plot: Path | None, suite: Suite) -> None:
    """Complain now about a picture that could not be drawn or would not be."""
    from importlib.util import find_spec

    if plot is None:
        return
    check_folder(plot, "--plot")
    if suite is not Suite.LARGE:
        raise ValueError(f"--plot draws the suite 'large', got the suite {suite.value!r}; leave it out.")
    if plot.suffix.lower() != ".png":
        raise ValueError(f"--plot must name a .png file, got {str(plot)!r}.")
    if find_spec("matplotlib") is None:
        from separatrix.reporting.hints import install

        raise ImportError(f"--plot needs matplotlib: {install('lab')}.")


def progress(text: str) -> None:
    """What is being measured, for those who wait at a terminal."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
