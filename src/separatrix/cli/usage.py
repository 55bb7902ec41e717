"""A command line that cannot be understood is told as anything else: one sentence, the word seen, the way out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

# Newer typers bring a copy of click, older ones take click's own: this is the `UsageError` of the one that is used.
UsageError: Any = typer.BadParameter.__bases__[0]
EXTRA = re.compile(r"extra argument\S* \((.*)\)$")  # "Got unexpected extra arguments (one two)"
SHOULD = "Input should "  # how typer's sentences about a value begin; older ones name the value themselves


@contextmanager
def one_sentence() -> Iterator[None]:
    """Wrong usage as one sentence on stderr and status 2; help that is shown for want of a command stays help."""
    try:
        yield
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        from separatrix.reporting.plain import LINE, plain

        print(f"separatrix: {plain(sentence(error), LINE)}", file=sys.stderr)
        raise typer.Exit(2) from None


def sentence(error: Any) -> str:
    """What click found, in one sentence with the way out."""
    path = error.ctx.command_path if error.ctx else "separatrix"
    message = str(error.message).rstrip(".")
    match type(error).__name__:
        case "NoSuchOption":
            return f"there is no option {error.option_name}{_meant(error)}; `{path} --help` lists them."
        case "MissingParameter":
            said = f" ({error.param.help.rstrip('.')})" if error.param.help else ""
            return f"`{path}` lacks {error.param.name}{said}; `{path} --help` has examples."
        case "BadParameter":
            return f"{error.param.opts[0]} {_of_value(error, message)}."
        case "BadOptionUsage" | "BadOptionUsageError":
            return f"{message[:1].lower()}{message[1:]}; write its value behind it."
    if found := EXTRA.search(message):
        takes = ", ".join(p.name for p in error.ctx.command.params if p.param_type_name == "argument")
        known = f"`{path}` takes {takes or 'options'} alone, got {found[1]!r} as well"
        return f"{known}; write the option that it belongs to before it (those such as --json take no value)."
    if found := re.search(r"No such command '(.*?)'", message):
        from separatrix.reporting.hints import did_you_mean

        commands = list(error.ctx.command.commands)
        return f"there is no command {found[1]!r}{did_you_mean(found[1], commands)}; commands: {', '.join(commands)}."
    return f"{message[:1].lower()}{message[1:]}; see `{path} --help`."


def _meant(error: Any) -> str:
    """The option that others call so, or that is spelled nearly so."""
    from separatrix.reporting.hints import did_you_mean
    from separatrix.reporting.keywords import MEANT

    options = [opt for p in error.ctx.command.params if p.param_type_name == "option" for opt in p.opts]
    spelled = error.option_name.lstrip("-").replace("-", "_")
    known = ["--" + name.replace("_", "-").removeprefix("fit-") for name in MEANT.get(spelled, (spelled,))]
    meant = next((option for option in known if option in options), None)
    return f" (did you mean {meant!r}?)" if meant else did_you_mean(error.option_name, options, cutoff=0.6)


def _of_value(error: Any, message: str) -> str:
    """What is wrong with the value of an option, and the value itself."""
    if not message.startswith(SHOULD):
        return f"is wrong: {message.removeprefix('Value error, ')}"
    value = error.__cause__.errors()[0]["input"]
    return f"should {message.removeprefix(SHOULD).partition(',')[0]}, got {value!r}"
