"""What every command shares: options, errors as one sentence, answers in words or as JSON, a sign of life."""

from __future__ import annotations

import codecs
import json as to_json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from separatrix.cli.usage import one_sentence

if TYPE_CHECKING:
    from rich.console import Console

    from separatrix.data.problem import Problem

# Ends that are no verdict: as shells count signals, 128 and its number, and what BSD calls a fault of the software.
INTERRUPTED, UNREAD, BROKEN = 130, 141, 70
VERDICTS = {  # and the terminal's code for their colour: green, red, yellow
    "separable": "32",
    "inseparable": "31",
    "undecided": "33",
    "complete": "31",
    "quasi-complete": "33",
    "overlap": "32",
}

# What a message of the library calls by its Python name has another one here. Whole phrases: columns have names too.
SPELLED = {
    "pass header=False": "pass --no-header",
    "pass header=True": "pass --header",
    "pass missing='drop'": "pass --missing drop",
    "name it in keep= to": "name it in --keep to",
    "name two in columns=": "name two in --columns",
    "pass fit_intercept=True": "pass --intercept",
    "fit_intercept=True contradicts": "--intercept contradicts",
    "fit_intercept=False contradicts": "--no-intercept contradicts",
    "give data_dir": "give --data-dir",
    "check data_dir": "check --data-dir",
    "as data_dir": "as --data-dir",
    "separate()": "`separatrix separate`",
    "max_margin()": "`separatrix margin`",
    "diagnose()": "`separatrix diagnose`",
    "reduced().fit() has the estimates": "--estimates prints the estimates",
    "stay finite, bound() how far": "stay finite, and how far",
    "leave step_size out": "leave --step-size out",
    "positive seconds or None": "a positive number of seconds",
    "; solve also takes those of separatrix.zoo and your own, as objects": "",
}
OPTIONS = "time_limit|memory_limit|step_size|max_iter|power|rtol|missing|columns|event|base_url"
FIRST = re.compile(rf"({OPTIONS})(?= (must|is for)\b)")  # the word that a complaint begins with
GIVEN = re.compile(r"\b(model|event|groups|trials|failures|power)=(?='([\w-]+|…)'|\d)")  # model='poisson'

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, npz, npy or svmlight file; - for standard input.")]
Target = Annotated[str | None, typer.Option(help="The column of the labels: its name, or its number without a header.")]
Formula = Annotated[
    str | None, typer.Option(help="Such as 'died ~ age * C(stage)', in place of --target.")
]
Labels = Annotated[Path | None, typer.Option(help="The .npy file of the labels (for an .npy file of rows).")]
MaybeIntercept = Annotated[
    bool | None,
    typer.Option(
        "--intercept/--no-intercept",
        help="Let the hyperplane miss the origin; if not given, as a formula says, else only in diagnose and explore.",
    ),
]
Missing = Annotated[
    str, typer.Option(help="Rows with missing values: 'error' or 'drop'.", autocompletion=lambda: ["error", "drop"])
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns; told by it if not given."),
]
Keep = Annotated[
    list[str] | None, typer.Option(help="A column to use although it looks like an identifier; may be given again.")
]
MemoryLimit = Annotated[
    str | None, typer.Option(help="Leave the rows of an .npy or .parquet file there and stay below this, e.g. 1GB.")
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds after which the answer may be left open; none if not given.")
]


def examples(*lines: str) -> str:
    """The last lines of a command's help; `tests/test_front.py` runs each of them."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


class Legible(TyperGroup):
    """Commands whose every word can be written: cp1252, what Windows gives files and pipes, lacks θ, ∞ and →."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run one, with letters that an encoding lacks spelled out, on stderr too."""
        codecs.register_error("separatrix.output", _in_ascii)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="separatrix.output")
        return super().main(*args, **options)

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the words before the command's name."""
        with one_sentence():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read those behind it, and run it."""
        with one_sentence():
            return super().invoke(ctx)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    from separatrix.reporting.plain import in_ascii  # rarely needed, and not for help

    return in_ascii(error)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Expected errors as one sentence on stderr and status 2; the rest is ours to mend and keeps its traceback."""
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(UNREAD) from None
    except (ValueError, OSError, ImportError) as error:
        from separatrix.reporting.plain import LINE, plain

        print(f"separatrix: {plain(spelled(str(error)), LINE)}", file=sys.stderr)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        print("separatrix: interrupted.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except typer.Exit:
        raise
    except Exception:  # Python would end with 1, which is a verdict
        traceback.print_exc()
        raise typer.Exit(BROKEN) from None


@contextmanager
def waiting(text: str) -> Iterator[Callable[..., None]]:
    """Say after two seconds what is going on, on a terminal only. The value changes the words, and the part done."""
    from separatrix.reporting.progress import Progress

    with Progress(text, lines=False, last=False) as progress:
        yield progress.tell


def spelled(text: str) -> str:
    """The same in the words of the command line."""
    for python, option in SPELLED.items():
        text = text.replace(python, option)
    if found := FIRST.match(text):
        text = f"--{found[0].replace('_', '-')}{text[found.end() :]}"
    return GIVEN.sub(r"--\1 ", text)


def wide_console(quiet: bool = False) -> Console:
    """The terminal at its own width; files and pipes at 120 columns. A quiet one prints nothing."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120, quiet=quiet)


def show(text: str, data: Mapping[str, Any], as_json: bool) -> None:
    """The answer in words, or as one JSON object."""
    if as_json:
        print(to_json.dumps(_plain(data), allow_nan=False), flush=True)
        return
    from separatrix.reporting.plain import plain

    text = "\n".join(plain(line) for line in spelled(text).split("\n"))
    print(_coloured(text), flush=True)


def _plain(value: Any) -> Any:
    """What JSON can hold: infinities as words, NumPy's numbers as Python's."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not isfinite(value):
        return str(float(value))
    return value if value is None or isinstance(value, str | int | float) else _plain(value.item())


def _coloured(text: str) -> str:
    """The verdict, which is the first word, in colour where colours are wanted."""
    word = text.split(":")[0]
    forced, plain = os.environ.get("FORCE_COLOR"), os.environ.get("NO_COLOR")
    if word not in VERDICTS or plain or not (forced or sys.stdout.isatty()):
        return text
    return f"\033[1;{VERDICTS[word]}m{word}\033[0m{text[len(word) :]}"


def check_new_folder(path: Path, option: str) -> None:
    """The same of a folder that is yet to be made."""
    blocked = next((p for p in (path, *path.parents) if p.exists() and not p.is_dir()), None)
    if blocked is not None:
        raise NotADirectoryError(f"{str(blocked)!r} is a file; choose a folder with {option}.")


def check_folder(path: Path | None, option: str) -> None:
    """Complain now, rather than after minutes of work."""
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} for {option} is not there; make it first.")
    if path is not None and path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} for {option} is a folder; name a file.")


@dataclass(frozen=True)
class Opened:
    """The data of a command, and what the answer needs to know of them."""

    problem: Problem
    names: tuple[str, ...] | None  # None for x0, x1 and so on
    intercept: bool
    notes: tuple[str, ...]


def open_data(
    given: tuple[Any, Any, tuple[str, ...] | None],
    intercept: bool | None,
    memory_limit: str | None,
    missing: str,
    keep: list[str] | None,
) -> Opened:
    """Open what `data.files.given` found, for a command that walks or decides."""
    from separatrix.data.problem import Problem

    X, y, names = given
    problem = Problem(
        X,
        y,
        fit_intercept=intercept,
        memory_limit=memory_limit,
        missing=missing,  # type: ignore[arg-type]
        keep=keep or (),
    )
    return Opened(problem, names if problem.table is None else problem.names, problem.fit_intercept, problem.notes)


def told(notes: tuple[str, ...]) -> str:
    """What was noticed of a table, a line each."""
    return "".join(f"\nnote: {note}" for note in notes)


def in_line(theta: Any, names: tuple[str, ...] | None, intercept: bool) -> str:
    """A few coefficients in words; of many, where to find them."""
    if len(theta) > 12:
        return f"{len(theta):,} numbers, which --json prints"
    from separatrix.reporting.plain import LONG, plain

    return ", ".join(f"{plain(name, LONG)} {value:.6g}" for name, value in named(theta, names, intercept).items())


def named(theta: Any, names: tuple[str, ...] | None, intercept: bool) -> dict[str, float]:
    """Coefficients by name."""
    keys = [f"x{j}" for j in range(len(theta) - intercept)] if names is None else list(names)
    return dict(zip([*keys, "(intercept)"] if intercept else keys, theta.tolist(), strict=True))
