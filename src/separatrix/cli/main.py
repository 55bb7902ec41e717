"""The command line: words in, words and exit status out.

Exit status 2: the request or the data were wrong, and one sentence on stderr says how. Otherwise `separate`, `margin`
and `diagnose` exit with 0 if the classes are separable (completely separated), 1 if they are not, 3 if undecided;
`verify` with 0 if the proof holds and 1 if not; `reproduce` with 0, or 1 if a number that had to come out did not;
`datasets fetch` and `datasets verify` with 0, or 1 if a file could not be had or is not the published one; `bench` with
0, whatever it measures. No verdict are 130 (Ctrl-C), 141 (nobody reads the answer) and 70 (a fault of ours, with its
traceback).
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli import bench as cli_bench
from separatrix.cli import datasets as cli_datasets
from separatrix.cli import solve as cli_solve
from separatrix.cli.console import (
    AsJson,
    Data,
    Header,
    Intercept,
    Labels,
    MemoryLimit,
    Missing,
    Target,
    TimeLimit,
    check_folder,
    examples,
    in_line,
    named,
    plain_errors,
    show,
    waiting,
    wide_console,
)

# Plain help needs half the time of a decorated one, and reads the same in files and pipes.
app = typer.Typer(
    name="separatrix",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(epilog=cli_solve.EXAMPLES)(cli_solve.solve)


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        import separatrix

        print(f"separatrix {separatrix.__version__}")
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
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and end.")
    ] = False,
    color: Annotated[
        bool | None,
        typer.Option("--color/--no-color", callback=choose_colour, help="By default colours are for terminals."),
    ] = None,
) -> None:
    """Linear separation: find a hyperplane, prove that it is right, or prove that there is none."""


ProofFile = Annotated[Path | None, typer.Option("--proof", help="Write the proof to this file.")]

SEPARABLE, INSEPARABLE, UNDECIDED = 0, 1, 3  # 2 is for wrong usage
EXITS = {"separable": SEPARABLE, "inseparable": INSEPARABLE, "undecided": UNDECIDED}


def write_proof(proof: Any, path: Path | None, why: str = "nothing was proven") -> None:
    """Save the proof where it was asked for; say so on stderr if there is none."""
    if path is None:
        return
    if proof is None:
        print(f"separatrix: there is no proof to write: {why}.", file=sys.stderr)
        return
    from separatrix.certify import save_proof

    save_proof(proof, path)


def shape_of(X: Any, y: Any) -> tuple[int, int]:
    """Rows and columns, of an array or of the file that X names."""
    if not isinstance(X, str):
        return int(X.shape[0]), int(X.shape[1])
    from separatrix.data.open import open_files

    rows, _ = open_files(X, y)
    return rows.n, rows.d


@app.command(
    epilog=examples(
        "separatrix separate data.csv --target y --intercept --proof y.proof",
        "separatrix separate images.npz --json",
        "cat data.csv | separatrix separate - --target y",
    )
)
def separate(
    data: Data,
    target: Target = None,
    intercept: Intercept = False,
    missing: Missing = "error",
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    time_limit: TimeLimit = None,
    proof: ProofFile = None,
    json: AsJson = False,
) -> None:
    """Say whether a hyperplane separates, with a proof either way."""
    with plain_errors():
        check_folder(proof, "--proof")
        from separatrix.data.files import labelled
        from separatrix.deciding.separate import separate as decide

        with waiting(f"reading {data}") as tell:
            X, y, names = labelled(
                data, target=target, header=header, missing=missing, labels=labels, in_place=memory_limit is not None
            )
            tell("deciding")
            found = decide(X, y, fit_intercept=intercept, time_limit=time_limit, memory_limit=memory_limit)
        write_proof(found.proof, proof)
        answer = {
            "status": str(found.status),
            "message": found.status.message,
            "lower": found.margin.lower,
            "upper": found.margin.upper,
            "theta": None if found.theta is None else named(found.theta, names, intercept),
            "claim": None if found.proof is None else str(found.proof.claim),
            "argument": None if found.proof is None else found.proof.argument,
            "fragile": found.fragile,
            "tool": found.tool,
            "seconds": found.seconds,
        }
        theta = "" if found.theta is None else f"\ntheta: {in_line(found.theta, names, intercept)}"
        show(str(found) + theta, answer, json)
    raise typer.Exit(EXITS[found.status])


@app.command(
    epilog=examples(
        "separatrix margin images.npz --rtol 1e-8",
        "separatrix margin rows.npy --labels labels.npy --memory-limit 8GB",
    )
)
def margin(
    data: Data,
    target: Target = None,
    rtol: Annotated[float, typer.Option(help="How narrow the bracket has to be, relative to its upper end.")] = 1e-6,
    intercept: Intercept = False,
    missing: Missing = "error",
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    time_limit: TimeLimit = None,
    json: AsJson = False,
) -> None:
    """Bracket the widest margin, or decide that there is none."""
    with plain_errors():
        from separatrix.data.files import labelled
        from separatrix.deciding.max_margin import max_margin
        from separatrix.deciding.separate import Verdict
        from separatrix.deciding.separate import separate as decide

        with waiting(f"reading {data}") as tell:
            X, y, names = labelled(
                data, target=target, header=header, missing=missing, labels=labels, in_place=memory_limit is not None
            )

            def told(now: Any) -> None:
                tell(f"margin in [{now.lower:.6g}, {now.upper:.6g}]")

            found = max_margin(
                X,
                y,
                rtol=rtol,
                fit_intercept=intercept,
                time_limit=time_limit,
                callback=told,
                memory_limit=memory_limit,
            )
            verdict, lower, upper = Verdict.SEPARABLE, found.lower, found.upper
            if lower <= 0:
                tell("deciding")
                settled = decide(X, y, fit_intercept=intercept, time_limit=time_limit, memory_limit=memory_limit)
        theta, support = (found.theta, found.support.tolist()) if lower > 0 else (settled.theta, None)
        if lower <= 0:
            verdict, lower = settled.status, max(lower, settled.margin.lower)
            upper = min(upper, settled.margin.upper)
        answer = {
            "status": str(verdict),
            "lower": lower,
            "upper": upper,
            "ended": str(found.status),
            "theta": None if theta is None else named(theta, names, intercept),
            "support": support,
            "seconds": found.seconds,
        }
        show(f"margin in [{lower:.12g}, {upper:.12g}]\n{verdict}: {verdict.message}", answer, json)
    raise typer.Exit(EXITS[verdict])


@app.command(
    epilog=examples(
        "separatrix diagnose patients.csv --target died",
        "separatrix diagnose patients.csv --target died --missing drop --json",
    )
)
def diagnose(
    data: Data,
    target: Target = None,
    intercept: Intercept = True,
    missing: Missing = "error",
    header: Header = None,
    labels: Labels = None,
    time_limit: TimeLimit = None,
    proof: ProofFile = None,
    json: AsJson = False,
) -> None:
    """Say whether the logistic estimate exists, and if not, why."""
    with plain_errors():
        check_folder(proof, "--proof")
        from separatrix.data.files import Arrays, read, target_of
        from separatrix.diagnosing.diagnose import diagnose as examine
        from separatrix.diagnosing.report import Kind

        with waiting(f"reading {data}") as tell:
            held = read(data, target=target, header=header, labels=labels)
            X, y = (held.X, held.y) if isinstance(held, Arrays) else (held.columns, target_of(held, target))
            tell("diagnosing")
            found = examine(X, y, fit_intercept=intercept, missing=missing, time_limit=time_limit)
        several = len(found.counts) > 2
        write_proof(found.proof, proof, "more than two classes have none" if several else "nothing was proven")
        show(str(found), found.to_dict(), json)
    raise typer.Exit({Kind.COMPLETE: SEPARABLE, Kind.UNDECIDED: UNDECIDED}.get(found.kind, INSEPARABLE))


@app.command(epilog=examples("separatrix verify y.proof data.csv --target y"))
def verify(
    proof: Annotated[Path, typer.Argument(help="A proof that --proof wrote.")],
    data: Data,
    target: Target = None,
    missing: Missing = "error",
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    json: AsJson = False,
) -> None:
    """Check a proof against the data, trusting nothing else."""
    with plain_errors():
        from separatrix.certify import load_proof
        from separatrix.certify import verify as check
        from separatrix.data.files import labelled

        claimed = load_proof(proof)
        with waiting(f"checking {proof}"):
            X, y, _ = labelled(
                data, target=target, header=header, missing=missing, labels=labels, in_place=memory_limit is not None
            )
            holds = check(claimed, X, y, memory_limit=memory_limit)
        wanted, shape = (claimed.n, claimed.d), shape_of(X, y)
        reason = "" if holds else "its numbers do not fit these rows"
        if wanted != shape:
            sizes = "{:,} rows and {:,} columns".format
            reason = f"it is about {sizes(*wanted)}, the data have {sizes(*shape)}"
        text = f"the proof holds: {claimed}" if holds else f"the proof does NOT hold for these data: {reason}"
        answer = {"holds": holds, "claim": str(claimed.claim), "argument": claimed.argument, "reason": reason}
        show(text, answer, json)
    raise typer.Exit(0 if holds else 1)


def experiments() -> list[str]:
    """What `reproduce` knows by name."""
    from separatrix.lab.spec import paper_ids  # and not the book: a key press waits for this

    return ["all", *paper_ids()]


class Profile(StrEnum):
    """How much `reproduce` runs."""

    QUICK = "quick"
    PAPER = "paper"


@app.command(
    epilog=examples(
        "separatrix reproduce",
        "separatrix reproduce figure-3 table-1-a --profile paper",
        "separatrix reproduce my.toml --out mine",
    )
)
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


app.add_typer(cli_datasets.app, name="datasets")
app.command(epilog=cli_bench.EXAMPLES)(cli_bench.bench)
