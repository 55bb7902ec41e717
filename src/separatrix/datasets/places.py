"""Where the files are on disk: one data folder, and in it a folder for each data set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from separatrix.datasets.sources import File, Part, Source

VARIABLE = "SEPARATRIX_DATA"

Found = tuple[File, Path]


def cache_folder() -> Path:
    """The folder in the user's cache that `fetch` fills by default: the one that pooch would choose."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
        return Path(local, "separatrix", "separatrix", "Cache")
    named = os.environ.get("XDG_CACHE_HOME", "").strip()
    usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return (Path(named) if os.path.isabs(named) else usual) / "separatrix"


def data_folder(data_dir: str | os.PathLike[str] | None) -> Path:
    """The folder of all data sets: `data_dir`, or what SEPARATRIX_DATA names, or else the user's cache folder."""
    named = data_dir or os.environ.get(VARIABLE)
    return Path(named) if named else cache_folder()


def existing_folder(data_dir: str | os.PathLike[str] | None) -> Path:
    """The folder of all data sets, which has to be there."""
    folder = data_folder(data_dir)
    if folder.is_dir():
        return folder
    if data_dir or os.environ.get(VARIABLE):
        raise FileNotFoundError(f"the data folder {str(folder)!r} is not there; check data_dir or {VARIABLE}.")
    way_out = f"separatrix datasets fetch fills it, or give data_dir or set the environment variable {VARIABLE}"
    raise FileNotFoundError(f"no data folder: {str(folder)!r} is not there; {way_out}.")


def find(folder: Path, source: Source, part: Part) -> list[list[Found]]:
    """What holds each published file of `part`: the file itself, or else the first whole group in its place."""
    return [_first_whole(folder / source.name, file, part, source) for file in source.files if any(file.groups(part))]


def _first_whole(folder: Path, file: File, part: Part, source: Source) -> list[Found]:
    groups = [group for group in file.groups(part) if group]
    for group in groups:
        found = [(one, folder / one.name) for one in group]
        if all(path.is_file() for _, path in found):
            return found
    others = ", ".join(group[0].name for group in groups[1:])
    seen = f"{folder / file.name} is not there, nor in its place {others}"
    raise FileNotFoundError(f"{seen}; separatrix datasets fetch {source.name} gets it.")
