"""Whether the files on disk are the published ones: size and checksum of each."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from separatrix.datasets.places import data_folder
from separatrix.datasets.sources import File, source_of

AT_ONCE = 2**20


class State(StrEnum):
    """What a file turned out to be."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True)
class Checked:
    """One file of a data set, compared with what is published of it."""

    dataset: str
    path: Path
    state: State
    size: int | None  # bytes, None if there is no file
    reason: str  # empty if the file is the published one

    def __str__(self) -> str:
        return f"{self.state}: {self.path}" + (f" {self.reason}" if self.reason else "")


def verify(name: str, data_dir: str | os.PathLike[str] | None = None) -> list[Checked]:
    """Compare every file of a data set with its published size and checksum.

    Files that `load` reads in place of a published one are compared too, where there are any; what they are not needed
    for is not missing. The folder is that of `load`.
    """
    source = source_of(name)
    folder = data_folder(data_dir) / name
    found = []
    for file in source.files:
        groups = file.groups()
        here = [group for group in groups if any((folder / one.name).is_file() for one in group)]
        found += [_checked(name, one, folder / one.name) for group in here or groups[:1] for one in group]
    return found


def differs(file: File, path: Path) -> str:
    """How the bytes of `path` differ from those published, in words; empty if they do not."""
    size = path.stat().st_size
    if size != file.size:
        return f"has {size:,} bytes, published are {file.size:,}"
    sums = {"sha256": (hashlib.sha256(), file.sha256), "md5": (hashlib.md5(usedforsecurity=False), file.md5)}
    with path.open("rb") as stream:
        while block := stream.read(AT_ONCE):
            for running, published in sums.values():
                if published:
                    running.update(block)
    for kind, (running, published) in sums.items():
        if published and running.hexdigest() != published:
            return f"has {kind} {running.hexdigest()}, published is {published}"
    return ""


def _checked(name: str, file: File, path: Path) -> Checked:
    if not path.is_file():
        return Checked(name, path, State.MISSING, None, "is not there")
    reason = differs(file, path)
    return Checked(name, path, State.WRONG if reason else State.OK, path.stat().st_size, reason)
