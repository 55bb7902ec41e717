"""Ways out of an error: the name that was probably meant, and the command that brings an extra."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PLAIN = re.compile(r"[\w.:/\\=-]+")  # words that no shell takes apart


def did_you_mean(name: Any, names: Any, cutoff: float = 0.5) -> str:
    """The nearest of these names as part of a sentence, or nothing."""
    found = difflib.get_close_matches(str(name), list(names), n=1, cutoff=cutoff)
    return f" (did you mean {found[0]!r}?)" if found else ""


def install(extra: str) -> str:
    """The command that adds an extra to what is installed here.

    The folder of sources from which it was installed (PEP 610), or in which it runs, is named again; what came by its
    name is asked for by its name. A wheel or an archive may be gone by now: then the packages themselves are named.
    """
    from importlib.metadata import PackageNotFoundError, distribution
    from json import loads
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        found: Distribution | None = distribution("separatrix")
    except PackageNotFoundError:  # on PYTHONPATH
        found = None
    origin = loads(found.read_text("direct_url.json") or "null") if found else None
    sources = _running_from()
    if sources is not None:
        return _command("-e", _with(sources, extra))
    if found is None or origin is None:
        return _command(f"separatrix[{extra}]")
    folder = Path(url2pathname(urlsplit(origin["url"]).path))
    if "dir_info" in origin and (folder / "pyproject.toml").is_file():
        return _command(_with(folder, extra))
    return _command(*_packages(found, extra))


def _running_from() -> Path | None:
    """The clone whose `src` this file is in."""
    source = Path(__file__).resolve().parents[2]
    return source.parent if source.name == "src" and (source.parent / "pyproject.toml").is_file() else None


def _with(folder: Path, extra: str) -> str:
    """The folder as pip takes it, short where one stands in it."""
    return f"{'.' if Path.cwd() == folder.resolve() else folder}[{extra}]"


def _packages(found: Distribution, extra: str) -> list[str]:
    """What the extra brings, by the metadata of what is installed."""
    ours = re.compile(rf"""(.+?)\s*;\s*extra == ['"]{extra}['"]""")
    return [hit[1] for line in found.requires or () if (hit := ours.fullmatch(line))]


def _command(*words: str) -> str:
    """In quotes what a shell would take apart; those that cmd and PowerShell know are double."""
    if os.name == "nt":
        return " ".join(["pip install", *(w if PLAIN.fullmatch(w) else f'"{w}"' for w in words)])
    return " ".join(["pip install", *map(shlex.quote, words)])
