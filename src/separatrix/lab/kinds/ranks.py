"""Ranks: rank correlation between loss and iterations still needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import new_figure
from separatrix.lab.kinds.shared import Data, Kind, describe, entries_of, for_or_against, seeds_of, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Experiment
from separatrix.lab.store import Job
from separatrix.plot import PALETTE, finish, words
from separatrix.reporting.statistics import in_percent, rank_correlation, spread
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """LR+GD at every step size, on every subsample."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (walk_job(entry, seed, "lr-gd", gamma) for gamma in experiment.step_sizes)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Whether, at each recorded iteration, step sizes with the higher loss need fewer iterations more.

    Spearman's correlation across the step sizes that have not separated yet, three at least; one curve per seed.
    """
    entry = data[experiment.names()[0]]
    by_seed: list[dict[int, float]] = []
    title = ""
    for seed in seeds_of(experiment):
        losses, ends = [], []
        for gamma in experiment.step_sizes:
            job = walk_job(entry, seed, "lr-gd", gamma)
            found = results[job]
            title = describe(entry, found)
            t = found.columns["iteration"].tolist()
            losses.append(dict(zip(t, found.columns["loss"].tolist(), strict=True)))
            ends.append(results.count(job))
        by_seed.append(correlations(losses, ends))
    times = sorted(set().union(*by_seed))
    values = np.array([[one.get(t, np.nan) for one in by_seed] for t in times])
    quartiles = np.array([spread(v) for v in values]).T
    rows: list[Row] = []
    for k in sorted({int(np.searchsorted(times, t)) for t in (1, 10, 30, 100, 300, 1000, 3000)} - {len(times)}):
        low, middle, high = quartiles[:, k]
        rows.append((times[k], float(middle), (float(low), float(high)), int((~np.isnan(values[k])).sum())))
    table = Table(
        f"{experiment.title}: {title}",
        ("iteration", "median correlation", "quartiles", "seeds"),
        rows,
        note=f"Spearman's, across step sizes {', '.join(f'{g:g}' for g in experiment.step_sizes)} that have not "
        "separated yet (three at least); runs that spent their budget need most, and share that rank",
    )
    known = values[~np.isnan(values)]
    sentence = (
        f"{for_or_against(bool(np.median(known) < 0))}: over all recorded iterations and seeds the median correlation "
        f"is {np.median(known):.2f}; it is negative, the loss pointing the wrong way, in "
        f"{in_percent(float((known < 0).mean()))} of them."
    )
    return {"": draw(title, np.array(times), quartiles)}, {"": table}, [sentence]


def correlations(losses: Sequence[Mapping[int, float]], ends: Sequence[float]) -> dict[int, float]:
    """Iteration → rank correlation of loss and iterations still needed, over the runs that are still going there."""
    found = {}
    for t in sorted(set().union(*losses)):
        going = [k for k, end in enumerate(ends) if end > t and t in losses[k] and t > 0]
        if len(going) >= 3:
            loss = np.array([losses[k][t] for k in going])
            found[t] = rank_correlation(loss, np.array([ends[k] - t for k in going]))
    return found


def draw(title: str, t: NDArray[Any], quartiles: NDArray[Any]) -> Figure:
    """Median rank correlation over the seeds with its quartiles."""
    figure, (ax,) = new_figure(1)
    known = ~np.isnan(quartiles[1])
    ax.fill_between(t[known], quartiles[0][known], quartiles[2][known], color=PALETTE[0], alpha=0.2, lw=0)
    ax.plot(t[known], quartiles[1][known], color=PALETTE[0], lw=1.3, label="median; band: quartiles over seeds")
    ax.axhline(0.0, color="black", lw=0.6)
    ax.set_xscale("log")
    ax.set_ylim(-1.05, 1.05)
    ax.set_title(words(title), fontsize=10)
    ax.legend(fontsize=7, frameon=False)
    finish(ax, "iteration", "rank correlation of loss\nand iterations still needed")
    return figure


KIND = Kind("ranks", ("data", "step_sizes"), jobs, show, one_data=True)
