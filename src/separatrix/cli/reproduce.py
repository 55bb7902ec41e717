"""The command that runs experiments: reproduce."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.console import (
    AsJson,
    check_new_folder,
    examples,
    plain_errors,
    show,
    wide_console,
)


def experiments() -> list[str]:
    """What `reproduce` knows by name."""
    from separatrix.lab.spec import BOOKS, ids_of_book  # and not the book: a key press waits for this

    return ["all", *ids_of_book(), *(word for name in BOOKS[1:] for word in (name, *ids_of_book(name)))]


class Profile(StrEnum):
    """How much `reproduce` runs."""

    QUICK = "quick"
    PAPER = "paper"


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="'all', ids such as figure-2, table-1-a or finding; 'beyond', alone or before ids of the second "
            "report; or a TOML file of experiments.",
            autocompletion=experiments,
        ),
    ] = None,
    profile: Annotated[Profile, typer.Option(help="Small sizes, or the paper's.")] = Profile.QUICK,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder of the report, 'report' or 'report-beyond'; runs in it are never run again."),
    ] = None,
    step_size: Annotated[
        list[float] | None,
        typer.Option(help="In figures of curves, such as figure-3, in place of the paper's; again for several."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The image files, if not in SEPARATRIX_DATA.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores if not given.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name the experiments of both reports; run nothing.")] = False,
    json: AsJson = False,
) -> None:
    """Run the paper's experiments, or your own; write a report.

    Exit status 1 if a number that must come out exactly does not. An interrupted call continues where it was.
    """
    with plain_errors():
        from separatrix.lab.book import our_book, read_book
        from separatrix.lab.reproduce import came_out
        from separatrix.lab.reproduce import reproduce as run
        from separatrix.lab.spec import BOOKS, PAPER
        from separatrix.reporting.plain import counted
        from separatrix.reporting.table import render

        console = wide_console(quiet=json)
        if listed:
            tables = [our_book(name).contents() for name in BOOKS]
            for table in tables:
                console.print(render(table, console), "")
            if json:
                show("", {"books": [{"title": t.title, "columns": t.columns, "rows": t.rows} for t in tables]}, json)
            return
        words = list(what or ())
        name = words.pop(0) if words and words[0] in BOOKS else PAPER
        files = [Path(word) for word in words if word.endswith(".toml")]
        if files and len(what or ()) > 1:
            raise ValueError(f"give one TOML file alone, got {' '.join(what or ())}.")
        book = read_book(files[0]) if files else our_book(name)
        folder = Path("report" if name == PAPER else f"report-{name}") if out is None else out
        check_new_folder(folder, "--out")
        wanted = ["all"] if files or not words else words
        if step_size:
            book = book.stepping(wanted, step_size)
        report = run(
            book,
            wanted,
            profile=profile,
            out=folder,
            data_dir=None if data_dir is None else str(data_dir),
            workers=jobs,
            show=True,
            theorems=name == PAPER and not files and (not words or "all" in words),
        )
        for table in report.tables:
            console.print(render(table, console), "")
        for note in report.notes:
            console.print(note, markup=False, highlight=False, soft_wrap=True)
        if json:
            show("", report.to_dict(), json)
    for failure in report.failures:
        print(f"separatrix: {failure}", file=sys.stderr)
    many = counted(len(report.pieces), "experiment")
    console.print(f"report: {report.path} ({many}, {report.seconds:.0f} s)", soft_wrap=True)
    if report.failures:
        raise typer.Exit(1)
    if report.exact:
        console.print(came_out(report.exact))


COMMANDS: dict[Callable[..., Any], str] = {  # each with the examples at the end of its help
    reproduce: examples(
        "separatrix reproduce",
        "separatrix reproduce figure-3 table-1-a --profile paper",
        "separatrix reproduce figure-3 --step-size 30 --step-size 300",
        "separatrix reproduce beyond",
        "separatrix reproduce my.toml --out mine",
    ),
}
