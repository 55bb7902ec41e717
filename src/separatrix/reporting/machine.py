"""On which machine, and with which versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.core.library import serving

PACKAGES = ("separatrix", "numpy", "scipy", "scikit-learn", "matplotlib", "torch")


def machine() -> dict[str, Any]:
    """Cores, processor, versions, the core's instruction set, and the thread pools of the libraries loaded so far."""
    from threadpoolctl import threadpool_info

    pools = [{key: pool.get(key) for key in ("internal_api", "version", "num_threads")} for pool in threadpool_info()]
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "core": serving(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"],
        "thread_pools": pools,
    }


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
