"""A directive that writes the command line's help, as `separatrix … --help` prints it."""

from __future__ import annotations

from typing import Any

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from separatrix.cli import app

WIDTH = "92"


def commands() -> list[tuple[str, ...]]:
    """Every command as the words that call it, in the order of the help."""
    found: list[tuple[str, ...]] = []

    def walk(words: tuple[str, ...], command: Any) -> None:
        inner = getattr(command, "commands", {})
        if words and not inner:
            found.append(words)
        for name, one in inner.items():
            walk((*words, name), one)

    walk((), typer.main.get_command(app))
    return found


def help_of(words: tuple[str, ...]) -> str:
    """What `separatrix` with these words and --help prints, without the spaces at the ends of lines."""
    env = {"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="separatrix", env=env)
    if result.exit_code:
        raise RuntimeError(f"separatrix {' '.join(words)} --help ended with {result.exit_code}: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines())


class Commands(SphinxDirective):
    """`{commands}`: one section per command."""

    def run(self) -> list[nodes.Node]:
        """A heading and the help of each."""
        self.env.note_reread()  # the source of this is no page
        made: list[nodes.Node] = []
        for words in commands():
            name = " ".join(("separatrix", *words))
            section = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
            section += nodes.title(name, name)
            text = help_of(words)
            section += nodes.literal_block(text, text, language="text")
            self.state.document.note_explicit_target(section)
            made.append(section)
        return made


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
