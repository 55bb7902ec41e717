"""What every command shares: errors as one sentence, answers in words or as JSON, the width of the screen."""

from __future__ import annotations

import json as to_json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, npz, npy or svmlight file.")]
Target = Annotated[str | None, typer.Option(help="The column of the labels (in a table).")]
Labels = Annotated[Path | None, typer.Option(help="The .npy file of the labels (for an .npy file of rows).")]
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", help="Let the hyperplane miss the origin.")]
Missing = Annotated[str, typer.Option(help="Rows with missing values: 'error' or 'drop'.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")]
MemoryLimit = Annotated[
    str | None, typer.Option(help="Leave the rows of an .npy or .parquet file there and stay below this, e.g. 1GB.")
]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Expected errors as one sentence on stderr and status 2; anything else is ours to mend and keeps its traceback."""
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (ValueError, OSError, ImportError) as error:
        print(f"separatrix: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


def wide_console() -> Console:
    """The terminal at its own width; files and pipes at 120 columns."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def show(text: str, data: Mapping[str, Any], as_json: bool) -> None:
    """The answer in words, or as one JSON object."""
    encoding = sys.stdout.encoding or "utf-8"
    plain = text.replace("∞", "inf") if "∞".encode(encoding, "replace") == b"?" else text
    shown = to_json.dumps(data) if as_json else plain.encode(encoding, "replace").decode(encoding)
    print(shown, flush=True)


def check_folder(path: Path | None, option: str) -> None:
    """Complain now, rather than after minutes of work."""
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} for {option} is not there.")


def named(theta: Any, names: tuple[str, ...] | None, intercept: bool) -> dict[str, float]:
    """Coefficients by name."""
    keys = [f"x{j}" for j in range(len(theta) - intercept)] if names is None else list(names)
    return dict(zip([*keys, "(intercept)"] if intercept else keys, theta.tolist(), strict=True))
