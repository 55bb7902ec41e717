"""The finished jobs of a store, each read once."""

from __future__ import annotations

from math import inf
from typing import Any

from separatrix.lab.store import Job, Result, Store
from separatrix.reporting.table import Table

Shown = tuple[dict[str, Any], dict[str, Table], list[str]]  # what they come to: pictures, tables, sentences


class Results:
    """The finished jobs of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.known: dict[Job, Result] = {}

    def __getitem__(self, job: Job) -> Result:
        if job not in self.known:
            found = self.store.read(job)
            if found is None:
                raise LookupError(f"no finished result for {job.place}.")
            self.known[job] = found
        return self.known[job]

    def count(self, job: Job) -> float:
        """Iterations to separation, ∞ where the budget was spent first."""
        facts = self[job].facts
        return float(facts["n_iter"]) if facts["separated"] else inf
