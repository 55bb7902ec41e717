"""On which machine, and where the numbers go: machine facts, JSON files."""

from __future__ import annotations

import json
import os
import time
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.lab.machine import machine

__all__ = ["machine", "read_bandwidth", "write_json"]


def read_bandwidth(megabytes: int = 256, repeats: int = 7) -> float:
    """Bytes per second that a BLAS product with a matrix far larger than the caches reads: the memory's limit."""
    A = np.ones((megabytes * 125, 1000))
    v = np.ones(1000)
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        A @ v
        best = min(best, time.perf_counter() - began)
    return A.nbytes / best


def write_json(path: Path, data: Any) -> None:
    """Write to a temporary name beside `path`, then rename: no reader ever sees half a file."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_text(json.dumps(_plain(data), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """What JSON can hold: infinities as words, NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value
