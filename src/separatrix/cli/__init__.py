"""The command line: one file for each group of commands, all of them under `separatrix`."""

from separatrix.cli.main import app

__all__ = ["app"]
