"""Commands that decide: separate, margin, diagnose, verify."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.console import (
    AsJson,
    Data,
    Formula,
    Header,
    Keep,
    Labels,
    MaybeIntercept,
    MemoryLimit,
    Missing,
    Target,
    TimeLimit,
    check_folder,
    examples,
    in_line,
    named,
    open_data,
    plain_errors,
    show,
    spelled,
    told,
    waiting,
)

Exact = Annotated[
    bool, typer.Option("--exact", help="Insist on the bits where the last digits decide, however long it takes.")
]
ProofFile = Annotated[Path | None, typer.Option("--proof", help="Write the proof to this file.")]

SEPARABLE, INSEPARABLE, UNDECIDED = 0, 1, 3  # 2 is for wrong usage
NOTHING = "nothing was proven"
NO_PROOF: dict[Any, str] = {"within rounding": "the answer holds within rounding, and --exact insists on the bits"}
EXITS = {"separable": SEPARABLE, "inseparable": INSEPARABLE, "undecided": UNDECIDED}


def write_proof(proof: Any, path: Path | None, why: str) -> None:
    """Save the proof where it was asked for; say so on stderr if there is none."""
    if path is None:
        return
    if proof is None:
        print(f"separatrix: there is no proof to write: {why}.", file=sys.stderr)
        return
    from separatrix.certify import save_proof

    save_proof(proof, path)


def separate(
    data: Data,
    target: Target = None,
    formula: Formula = None,
    intercept: MaybeIntercept = None,
    missing: Missing = "error",
    keep: Keep = None,
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    exact: Exact = False,
    time_limit: TimeLimit = None,
    proof: ProofFile = None,
    json: AsJson = False,
) -> None:
    """Say whether a hyperplane separates, with a proof either way."""
    with plain_errors():
        check_folder(proof, "--proof")
        from separatrix.data.files import given
        from separatrix.deciding.separate import separate as decide

        with waiting(f"reading {data}") as tell:
            in_place = memory_limit is not None
            said = given(data, target=target, formula=formula, header=header, labels=labels, in_place=in_place)
            opened = open_data(said, intercept, memory_limit, missing, keep)
            with opened.problem as problem:
                tell("deciding")
                found = decide(problem, exact=exact, time_limit=time_limit, verbose=True)
        write_proof(found.proof, proof, NO_PROOF.get(found.certainty, NOTHING))
        answer = {
            "status": str(found.status),
            "message": found.message,
            "lower": found.margin.lower,
            "upper": found.margin.upper,
            "theta": None if found.theta is None else named(found.theta, opened.names, opened.intercept),
            "claim": None if found.proof is None else str(found.proof.claim),
            "argument": None if found.proof is None else found.proof.argument,
            "certainty": None if found.certainty is None else str(found.certainty),
            "evidence": None if found.evidence is None else found.evidence.to_dict(),
            "fragile": found.fragile,
            "tool": found.tool,
            "seconds": found.seconds,
            "notes": list(found.notes),
        }
        theta = "" if found.theta is None else f"\ntheta: {in_line(found.theta, opened.names, opened.intercept)}"
        show(str(found) + theta, answer, json)
    raise typer.Exit(EXITS[found.status])


def margin(
    data: Data,
    target: Target = None,
    rtol: Annotated[float, typer.Option(help="How narrow the bracket has to be, relative to its upper end.")] = 1e-6,
    formula: Formula = None,
    intercept: MaybeIntercept = None,
    missing: Missing = "error",
    keep: Keep = None,
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    time_limit: TimeLimit = None,
    json: AsJson = False,
) -> None:
    """Bracket the widest margin, or decide that there is none."""
    with plain_errors():
        from separatrix.data.files import given
        from separatrix.deciding.boundary import Certainty
        from separatrix.deciding.max_margin import max_margin
        from separatrix.deciding.separate import Verdict
        from separatrix.deciding.separate import separate as decide

        with waiting(f"reading {data}") as tell:
            in_place = memory_limit is not None
            said = given(data, target=target, formula=formula, header=header, labels=labels, in_place=in_place)
            opened = open_data(said, intercept, memory_limit, missing, keep)

            def shown(now: Any) -> None:
                tell(f"margin in [{now.lower:.6g}, {now.upper:.6g}]")

            with opened.problem as problem:
                found = max_margin(problem, rtol=rtol, time_limit=time_limit, callback=shown)
                verdict, lower, upper = Verdict.SEPARABLE, found.lower, found.upper
                message, certainty = verdict.message, str(Certainty.PROVEN)
                if lower <= 0:
                    tell("deciding")
                    settled = decide(problem, time_limit=time_limit, verbose=True)
        theta, support = (found.theta, found.support.tolist()) if lower > 0 else (settled.theta, None)
        notes = opened.notes if lower > 0 else settled.notes
        if lower <= 0:
            verdict, lower = settled.status, max(lower, settled.margin.lower)
            message = settled.message
            certainty = "" if settled.certainty is None else str(settled.certainty)
            upper = min(upper, settled.margin.upper)
        answer = {
            "status": str(verdict),
            "lower": lower,
            "upper": upper,
            "certainty": certainty or None,
            "ended": str(found.status),
            "theta": None if theta is None else named(theta, opened.names, opened.intercept),
            "support": support,
            "seconds": found.seconds,
            "notes": list(notes),
        }
        show(f"margin in [{lower:.12g}, {upper:.12g}]\n{verdict}: {message}{told(notes)}", answer, json)
    raise typer.Exit(EXITS[verdict])


def diagnose(
    data: Data,
    target: Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="logit, multinomial, cumulative, poisson, conditional, cox, …; told by the target if not given."
        ),
    ] = None,
    formula: Formula = None,
    weight: Annotated[str | None, typer.Option(help="The column of weights; 0 leaves a row out.")] = None,
    trials: Annotated[str | None, typer.Option(help="The column of trials, where the target counts successes.")] = None,
    failures: Annotated[str | None, typer.Option(help="The column of failures, where it does.")] = None,
    groups: Annotated[str | None, typer.Option(help="The column of matched sets, or of strata.")] = None,
    event: Annotated[str | None, typer.Option(help="The column of events, 1 or 0, where the target is a time.")] = None,
    fixed_effect: Annotated[
        list[str] | None, typer.Option(help="A column whose levels each get a coefficient; may be given again.")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="As 'ward=north': the level to compare with; may be given again.")
    ] = None,
    keep: Keep = None,
    intercept: MaybeIntercept = None,
    missing: Missing = "error",
    header: Header = None,
    labels: Labels = None,
    exact: Exact = False,
    time_limit: TimeLimit = None,
    estimates: Annotated[
        bool,
        typer.Option("--estimates", help="Print the estimates that stay finite too, and bounds on the infinite ones."),
    ] = False,
    proof: ProofFile = None,
    json: AsJson = False,
) -> None:
    """Say whether a model's estimate exists, and if not, why."""
    with plain_errors():
        check_folder(proof, "--proof")
        from separatrix.data.files import given
        from separatrix.diagnosing.afterwards import estimates_of
        from separatrix.diagnosing.diagnose import diagnose as examine
        from separatrix.diagnosing.kinds import Kind

        with waiting(f"reading {data}") as tell:
            X, y, _ = given(data, target=target, formula=formula, header=header, labels=labels)
            tell("diagnosing")
            found = examine(
                X,
                y,
                model=model,
                fit_intercept=intercept,
                sample_weight=weight,
                trials=trials,
                failures=failures,
                groups=groups,
                event=event,
                fixed_effects=fixed_effect or (),
                reference=levels_of(reference or []),
                keep=keep or (),
                missing=missing,
                exact=exact,
                time_limit=time_limit,
                verbose=True,
            )
            text, answer = str(found), found.to_dict()
            answer["advice"] = spelled(answer["advice"])
            if estimates:
                tell("estimating")
                more, answer["estimates"] = estimates_of(found)
                text += f"\n\n{more}"
        write_proof(found.proof, proof, NO_PROOF.get(found.certainty, NOTHING))
        show(text, answer, json)
    raise typer.Exit({Kind.COMPLETE: SEPARABLE, Kind.UNDECIDED: UNDECIDED}.get(found.kind, INSEPARABLE))


def levels_of(words: list[str]) -> dict[str, str] | None:
    """Columns and their levels, from column=level."""
    for word in words:
        if not all(word.partition("=")):
            raise ValueError(f"--reference is a column and a level, as in ward=north, got {word!r}.")
    return {column: level for column, _, level in (word.rpartition("=") for word in words)} or None


def verify(
    proof: Annotated[Path, typer.Argument(help="A proof that --proof wrote.")],
    data: Data,
    target: Target = None,
    formula: Formula = None,
    missing: Missing = "error",
    keep: Keep = None,
    header: Header = None,
    labels: Labels = None,
    memory_limit: MemoryLimit = None,
    json: AsJson = False,
) -> None:
    """Check a proof against the data, trusting nothing else."""
    with plain_errors():
        from separatrix.certify import load_proof
        from separatrix.certify import verify as check
        from separatrix.data.files import Arrays, given, read

        claimed = load_proof(proof)
        if claimed.model is not None:
            with waiting(f"checking {proof}"):
                held = read(data, target=target, header=header, labels=labels)
                X, y = (held.X, held.y) if isinstance(held, Arrays) else (held.columns, target)
                if formula is not None:
                    X, y = formula, X
                holds = check(claimed, X, y)
            report_check(claimed, holds, "" if holds else "its numbers do not fit these data", json)
        with waiting(f"checking {proof}"):
            in_place = memory_limit is not None
            said = given(data, target=target, formula=formula, header=header, labels=labels, in_place=in_place)
            with open_data(said, claimed.intercept, memory_limit, missing, keep).problem as problem:
                holds, shape = check(claimed, problem), (problem.n, problem.d)
        wanted = claimed.n, claimed.d
        reason = "" if holds else "its numbers do not fit these rows"
        if wanted != shape:
            from separatrix.reporting.plain import counted

            about, found = (f"{counted(n, 'row')} and {counted(d, 'column')}" for n, d in (wanted, shape))
            reason = f"it is about {about}, the data have {found}"
        report_check(claimed, holds, reason, json)


def report_check(claimed: Any, holds: bool, reason: str, json: bool) -> None:
    """Say whether a proof holds, and end."""
    text = f"the proof holds: {claimed}" if holds else f"the proof does NOT hold for these data: {reason}"
    answer = {"holds": holds, "claim": str(claimed.claim), "argument": claimed.argument, "reason": reason}
    show(text, answer, json)
    raise typer.Exit(0 if holds else 1)


COMMANDS: dict[Callable[..., Any], str] = {  # each with the examples at the end of its help
    separate: examples(
        "separatrix separate data.csv --target y --intercept --proof y.proof",
        "separatrix separate images.npz --json",
        "separatrix separate patients.csv --formula 'died ~ age + ward'",
        "cat data.csv | separatrix separate - --target y",
    ),
    margin: examples(
        "separatrix margin images.npz --rtol 1e-8",
        "separatrix margin rows.npy --labels labels.npy --memory-limit 8GB",
    ),
    diagnose: examples(
        "separatrix diagnose patients.csv --target died --estimates",
        "separatrix diagnose patients.csv --target died --missing drop --json",
        "separatrix diagnose trade.csv --target flow --model ppml \\",
        "    --fixed-effect exporter --fixed-effect importer",
    ),
    verify: examples("separatrix verify y.proof data.csv --target y"),
}
