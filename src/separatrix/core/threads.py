"""On how many threads the core may work."""

from __future__ import annotations

import os

MOST = 256


def told(*names: str) -> int | None:
    """The first of these variables that is a whole number above 0."""
    for name in names:
        said = os.environ.get(name, "").split(",")[0].strip()
        if said.isdecimal() and int(said) > 0:
            return min(int(said), MOST)
    return None


# As OpenMP does, once: others change the variables later for processes that they start (Dask does).
_told = told("SEPARATRIX_NUM_THREADS", "OMP_NUM_THREADS")
_limit: int | None = None


def threads() -> int:
    """Threads the core may use; no result depends on it.

    As many as `limit_threads` says, or else `SEPARATRIX_NUM_THREADS`, or else `OMP_NUM_THREADS` as they were when this
    was loaded; without any of them one for every processor that this process may run on.
    """
    for known in (_limit, _told):
        if known is not None:
            return known
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


def limit_threads(count: int | None) -> int | None:
    """Let this process use so many from now on (None: as many as there are); the limit before."""
    global _limit
    before, _limit = _limit, count
    return before
