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
    examples,
    plain_errors,
    show,
    wide_console,
)


def experiments() -> list[str]:
    """What `reproduce` knows by name."""
    from separatrix.lab.spec import paper_ids  # and not the book: a key press waits for this

    return ["all", *paper_ids()]


class Profile(StrEnum):
    """How much `reproduce` runs."""

    QUICK = "quick"
    PAPER = "paper"


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="'all', ids such as figure-2, table-1-a or finding, or a TOML file of experiments.",
            autocompletion=experiments,
        ),
    ] = None,
    profile: Annotated[Profile, typer.Option(help="Small sizes, or the paper's.")] = Profile.QUICK,
    out: Annotated[Path, typer.Option(help="The folder of the report; runs in it are never run again.")] = Path(
        "report"
    ),
    data_dir: Annotated[Path | None, typer.Option(help="The image files, if not in SEPARATRIX_DATA.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores if not given.")] = None,
    json: AsJson = False,
) -> None:
    """Run the paper's experiments, or your own; write a report.

    Exit status 1 if a number that must come out exactly does not. An interrupted call continues where it was.
    """
    with plain_errors():
        from separatrix.lab.book import paper_book, read_book
        from separatrix.lab.reproduce import reproduce as run
        from separatrix.reporting.table import render

        console = wide_console(quiet=json)
        files = [Path(word) for word in what or () if word.endswith(".toml")]
        if files and len(what or ()) > 1:
            raise ValueError(f"give one TOML file alone, got {' '.join(what or ())}.")
        book = read_book(files[0]) if files else paper_book()
        report = run(
            book,
            ["all"] if files or not what else what,
            profile=profile,
            out=out,
            data_dir=None if data_dir is None else str(data_dir),
            workers=jobs,
            show=sys.stderr.isatty(),
            theorems=not files and (not what or "all" in what),
        )
        for table in report.tables:
            console.print(render(table), "")
        for note in report.notes:
            console.print(note)
        if json:
            show("", report.to_dict(), json)
    for failure in report.failures:
        print(f"separatrix: {failure}", file=sys.stderr)
    console.print(f"report: {report.path} ({len(report.pieces)} experiments, {report.seconds:.0f} s)", soft_wrap=True)
    if report.failures:
        raise typer.Exit(1)
    console.print("every number that must come out exactly did.")


COMMANDS: dict[Callable[..., Any], str] = {  # each with the examples at the end of its help
    reproduce: examples(
        "separatrix reproduce",
        "separatrix reproduce figure-3 table-1-a --profile paper",
        "separatrix reproduce my.toml --out mine",
    ),
}
