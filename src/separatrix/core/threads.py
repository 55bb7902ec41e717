"""On how many threads the core may work."""

from __future__ import annotations

import os

MOST = 256


def threads() -> int:
    """Threads the core may use; no result depends on it.

    As many as `limit_threads` says, or else `SEPARATRIX_NUM_THREADS`, or else `OMP_NUM_THREADS`; without any of them
    one for every processor that this process may run on.
    """
    if _limit is not None:
        return _limit
    for name in ("SEPARATRIX_NUM_THREADS", "OMP_NUM_THREADS"):
        said = os.environ.get(name, "").split(",")[0].strip()
        if said.isdecimal() and int(said) > 0:
            return min(int(said), MOST)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


_limit: int | None = None


def limit_threads(count: int | None) -> int | None:
    """Let this process use at most so many from now on (None: as many as there are); the limit before."""
    global _limit
    before, _limit = _limit, count
    return before
