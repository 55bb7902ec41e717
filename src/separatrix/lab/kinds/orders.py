"""Orders: how much counts move when the same rows come in another order, which changes nothing but rounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

import numpy as np

from separatrix.lab.kinds.shared import Data, Kind, describe, entries_of, listing, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Experiment
from separatrix.lab.store import Job
from separatrix.plot import NAMES
from separatrix.reporting.statistics import quantile
from separatrix.reporting.table import Row, Table


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """Every run in file order, and in as many other orders as the entry has seeds."""
    for entry in entries_of(experiment, data):
        for order in (None, *range(experiment.seeds)):
            one = replace(entry, shuffle=order)
            yield from (walk_job(one, None, c.method, c.step_size) for c in experiment.counts)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """The count in file order, and median, least and most over the other orders."""
    (entry,) = entries_of(experiment, data)
    rows: list[Row] = []
    fixed, moved, title = [], [], ""
    for c in experiment.counts:
        job = walk_job(entry, None, c.method, c.step_size)
        title = describe(entry, results[job])
        others = [walk_job(replace(entry, shuffle=k), None, c.method, c.step_size) for k in range(experiment.seeds)]
        ours, counts = results.count(job), np.array([results.count(other) for other in others])
        least, most = float(counts.min()), float(counts.max())
        numbers = (ours, quantile(counts, 0.5), least, most)
        spread = most / least - 1 if isfinite(most) else None
        rows.append((NAMES[c.method], c.step_size, *numbers, len(set(counts.tolist())), spread))
        if least == most == ours:
            fixed.append(c.label)
        else:
            moved.append(f"{c.label} from {least:,.0f} to {most:,.0f}")
    table = Table(
        f"{experiment.title}: {title}",
        ("method", "step size", "file order", "median", "least", "most", "different counts", "most/least - 1"),
        rows,
        note=f"median, least and most over {experiment.seeds} random orders of the same rows",
    )
    still = (
        f"the same in all {experiment.seeds} orders: {', '.join(fixed)}" if fixed else "none is the same in all orders"
    )
    sentence = f"{still[0].upper()}{still[1:]}" + (f"; moved: {'; '.join(moved)}" if moved else "") + "."
    return {}, {"": table, "seeds": listing(experiment.title, jobs(experiment, data), results)}, [sentence]


KIND = Kind("orders", ("data", "counts", "seeds"), jobs, show, one_data=True)
