"""`separatrix explore`: the page to play with, on one's own data or its own."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from separatrix.cli.console import (
    AsJson,
    Formula,
    Header,
    Keep,
    Labels,
    MaybeIntercept,
    Missing,
    Target,
    check_folder,
    examples,
    open_data,
    plain_errors,
    show,
    told,
    waiting,
)

EXAMPLES = examples(
    "separatrix explore",
    "separatrix explore data.csv --target y",
    "separatrix explore patients.csv --formula 'died ~ age + ward' \\",
    "    --out patients.html --no-open",
)


def explore(
    data: Annotated[
        Path | None, typer.Argument(help="CSV, TSV, Parquet, npz, npy or svmlight file; - for standard input.")
    ] = None,
    target: Target = None,
    columns: Annotated[
        str | None,
        typer.Option(help="The two columns to show, as in age,weight; by default both, or directions through all."),
    ] = None,
    formula: Formula = None,
    intercept: MaybeIntercept = None,
    missing: Missing = "error",
    keep: Keep = None,
    header: Header = None,
    labels: Labels = None,
    title: Annotated[str | None, typer.Option(help="What the page calls the data; by default the file's name.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the page to this file, not to a temporary one.")] = None,
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Show the page in the web browser.")] = True,
    json: AsJson = False,
) -> None:
    """Play with rows, methods and step sizes in the browser.

    Drag points, slide the step size to infinity, watch a line separate two classes. Without data the page begins with a
    data set of its own. The line may miss the origin unless --no-intercept or a formula says otherwise; the page can
    change that, too.
    """
    with plain_errors():
        check_folder(out, "--out")
        from separatrix.exploring.explorer import Explorer, page_of, template, write_aside
        from separatrix.exploring.explorer import show as browse

        if data is None:
            options = {
                "--target": target,
                "--columns": columns,
                "--formula": formula,
                "--labels": labels,
                "--title": title,
            }
            if given := [name for name, value in options.items() if value is not None]:
                raise ValueError(f"{given[0]} speaks of data, and there are none; name a file before it.")
            page = Explorer(template())
        else:
            from separatrix.data.files import given as read

            chosen = None if columns is None else [word.strip() for word in next(csv.reader([columns]))]
            if title is None:
                title = "standard input" if str(data) == "-" else data.name
            with waiting(f"reading {data}"):
                said = read(data, target=target, formula=formula, header=header, labels=labels)
                data_opened = open_data(said, intercept, None, missing, keep)
                with data_opened.problem as problem:
                    page = page_of(
                        problem, fit_intercept=intercept, columns=chosen, title=title, names=data_opened.names
                    )
        path = write_aside(page.html) if out is None else page.save(out)
        seen = browse(path) if opened else False
        hint = "" if seen or not opened else "\nno web browser could be started here; open that file in one."
        answer = {
            "path": str(path),
            "opened": seen,
            "points": page.n,
            "columns": list(page.columns),
            "classes": list(page.classes),
            "notes": list(page.notes),
        }
        show(f"explorer: {path}{told(page.notes)}{hint}", answer, json)
