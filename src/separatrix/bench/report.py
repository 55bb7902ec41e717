"""On which machine, and where the numbers go: machine facts, JSON files."""

from __future__ import annotations

import json
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("separatrix", "numpy", "scipy", "numba", "scikit-learn", "torch")


def machine() -> dict[str, Any]:
    """Cores, processor, versions, and the thread pools of the libraries loaded so far."""
    from threadpoolctl import threadpool_info

    pools = [{key: pool.get(key) for key in ("internal_api", "version", "num_threads")} for pool in threadpool_info()]
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"],
        "thread_pools": pools,
    }


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


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
