"""The commands of the data sets: list, fetch, verify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from separatrix.cli.console import AsJson, examples, plain_errors, show, spelled, waiting, wide_console

app = typer.Typer(help="The paper's image data sets: list, fetch, verify.", no_args_is_help=True, rich_markup_mode=None)

DataDir = Annotated[
    Path | None,
    typer.Option(help="The folder of the data sets; SEPARATRIX_DATA or the user's cache folder if not given."),
]


def known() -> list[str]:
    """The data sets' names."""
    from separatrix.datasets import SOURCES

    return list(SOURCES)


@app.command("list", epilog=examples("separatrix datasets list"))
def list_(data_dir: DataDir = None, json: AsJson = False) -> None:
    """Show the data sets, their sources, and which are here."""
    with plain_errors():
        from separatrix.datasets import SOURCES, available
        from separatrix.datasets.places import data_folder
        from separatrix.reporting.table import Table, render

        folder = data_folder(data_dir)
        here = available(folder) if folder.is_dir() else []
        if json:
            facts = [{**_facts(source), "here": name in here} for name, source in SOURCES.items()]
            show("", {"folder": str(folder), "datasets": facts}, json)
            return
        columns = ("name", "classes", "rows", "from", "licence", "MB", "here")
        rows = [
            (name, _classes(s), s.rows, urlsplit(s.home).netloc, s.licence, s.size / 1e6, name in here)
            for name, s in SOURCES.items()
        ]
        console = wide_console()
        console.print(render(Table(f"Data sets in {folder}", columns, rows), console))


def _classes(source: Any) -> str:
    return ", ".join(f"{c} {words}" for c, words in zip(source.classes, source.class_names, strict=True))


def _facts(source: Any) -> dict[str, Any]:
    """One data set as plain data."""
    files = [
        {"name": f.name, "url": source.base_url + f.name, "size": f.size, "md5": f.md5, "sha256": f.sha256}
        for f in source.files
    ]
    return {
        "name": source.name,
        "title": source.title,
        "classes": source.classes,
        "class_names": source.class_names,
        "rows": source.rows,
        "home": source.home,
        "licence": source.licence,
        "citation": source.citation,
        "size": source.size,
        "files": files,
    }


@app.command(epilog=examples("separatrix datasets fetch mnist fashion-mnist --data-dir data"))
def fetch(
    names: Annotated[list[str], typer.Argument(help="Data sets, as `list` names them.", autocompletion=known)],
    data_dir: DataDir = None,
    base_url: Annotated[
        str | None, typer.Option(help="A copy of a data folder on a web server, instead of the public sources.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Download the published files that are not here and whole."""
    with plain_errors():
        from separatrix.datasets import FetchError
        from separatrix.datasets import fetch as get
        from separatrix.datasets.sources import source_of
        from separatrix.reporting.plain import counted

        for name in names:  # all of them, before the first download
            source_of(name)
        fetched: dict[str, list[str]] = {}
        try:
            for name in names:
                fetched[name] = [str(path) for path in get(name, data_dir, base_url=base_url)]
        except FetchError as error:
            print(f"separatrix: {spelled(str(error))}", file=sys.stderr)
            raise typer.Exit(1) from None
        lines = [f"{name}: {counted(len(paths), 'file')} in {Path(paths[0]).parent}" for name, paths in fetched.items()]
        show("\n".join(lines), {"fetched": fetched}, json)


@app.command(epilog=examples("separatrix datasets verify mnist"))
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets; all if none is named.", autocompletion=known)
    ] = None,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Compare the files with the published sizes and checksums.

    Exit status 1 if one is missing or wrong.
    """
    with plain_errors():
        from separatrix.datasets import SOURCES, State
        from separatrix.datasets import verify as check

        with waiting("checking files"):
            found = [checked for name in names or SOURCES for checked in check(name, data_dir)]
        whole = all(checked.state is State.OK for checked in found)
        files = [
            {
                "dataset": checked.dataset,
                "path": str(checked.path),
                "state": str(checked.state),
                "size": checked.size,
                "reason": checked.reason,
            }
            for checked in found
        ]
        show("\n".join(map(str, found)), {"ok": whole, "files": files}, json)
    raise typer.Exit(0 if whole else 1)
