"""Files are written whole: under a temporary name beside the file, then renamed, so that no reader sees half of one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write; it replaces the one at `path` when all of it is on the disk, and is gone if something failed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with open(beside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
