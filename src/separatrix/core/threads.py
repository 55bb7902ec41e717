"""On how many threads the core may work."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module


@cache
def _thread_pool() -> bool:
    """Whether Numba has a thread pool that several Python threads may enter at once."""
    if (
        import_module("numba").config.THREADING_LAYER == "workqueue"
    ):  # the user's choice, and one that may not be entered twice
        return False
    for pool in ("omppool", "tbbpool"):
        try:
            import_module(f"numba.np.ufunc.{pool}")
        except ImportError:  # its library is not on this system
            continue
        return True
    return False


_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True  # GNU OpenMP does not survive a fork: the child runs on one thread


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


def threads() -> int:
    """Threads the kernels may use; the result does not depend on it."""
    from numba import get_num_threads

    return 1 if _forked or not _thread_pool() else int(get_num_threads())
