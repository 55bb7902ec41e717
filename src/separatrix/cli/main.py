"""The command line: words in, words and exit status out.

Exit status 2: the request or the data were wrong, and one sentence on stderr says how. Otherwise `separate`, `margin`
and `diagnose` exit with 0 if the classes are separable (completely separated), 1 if they are not, 3 if undecided;
`verify` with 0 if the proof holds and 1 if not; `reproduce` with 0, or 1 if a number that had to come out did not;
`datasets fetch` and `datasets verify` with 0, or 1 if a file could not be had or is not the published one; `explore`
with 0, and `bench` whatever it measures. No verdict are 130 (Ctrl-C), 141 (nobody reads the answer) and 70 (a fault of
ours, with its traceback).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any

import typer

from separatrix.cli import bench as cli_bench
from separatrix.cli import datasets as cli_datasets
from separatrix.cli import deciding as cli_deciding
from separatrix.cli import explore as cli_explore
from separatrix.cli import reproduce as cli_reproduce
from separatrix.cli import solve as cli_solve
from separatrix.cli.console import Legible

# Plain help needs half the time of a decorated one, and reads the same in files and pipes.
app = typer.Typer(
    name="separatrix",
    cls=Legible,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def show_version(wanted: bool) -> None:
    """Print the version and the instruction set that serves, and end."""
    if wanted:
        import separatrix
        from separatrix.core.library import serving

        print(f"separatrix {separatrix.__version__} (core: {serving()})")
        raise typer.Exit


def choose_colour(wanted: bool | None) -> None:
    """Colours on or off, for what is printed here and by rich."""
    if wanted is not None:
        os.environ.pop("NO_COLOR" if wanted else "FORCE_COLOR", None)
        os.environ["FORCE_COLOR" if wanted else "NO_COLOR"] = "1"


@app.callback(
    epilog="Exit status: 0 separable, or done as asked; 1 inseparable, or not as it should be; 2 wrong usage or "
    "unreadable data; 3 undecided; 130 interrupted, 70 a fault of separatrix."
)
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Print version and instruction set."),
    ] = False,
    color: Annotated[
        bool | None,
        typer.Option("--color/--no-color", callback=choose_colour, help="By default colours are for terminals."),
    ] = None,
) -> None:
    """Linear separation: find a hyperplane, prove that it is right, or prove that there is none."""


COMMANDS: list[dict[Callable[..., Any], str]] = [
    {cli_solve.solve: cli_solve.EXAMPLES},
    cli_deciding.COMMANDS,
    {cli_explore.explore: cli_explore.EXAMPLES},
    cli_reproduce.COMMANDS,
    {cli_bench.bench: cli_bench.EXAMPLES},
]
for commands in COMMANDS:
    for command, words in commands.items():
        app.command(epilog=words)(command)
app.add_typer(cli_datasets.app, name="datasets")
