"""Chaos: how fast two runs come apart that begin one last bit apart, by step size.

Both begin at θ_1, the first iterate from 0; the second has one entry of φ_1 moved to the next float64. While they are
close

    δ⁺ = (I - (γ/n) Σ σ'(γ m̂_i) z_i z_iᵀ) δ ,     δ = φ' - φ :

for small γ the matrix has no eigenvalue outside [-1, 1], and at γ = ∞ it is I, until a row is wrong in one run alone.
In between rows near the hyperplane, |γm̂_i| up to 1 or so, stretch δ. Past that the two are different walks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isinf, nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from separatrix.data.memory import HeldRows
from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.jobs import Tell, Work, about
from separatrix.lab.kinds.shared import (
    Data,
    Kind,
    describe,
    distinct,
    entries_of,
    for_or_against,
    rows_caption,
    seeds_of,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import PALETTE, finish, shade, words
from separatrix.reporting.statistics import median_interval, quantile
from separatrix.reporting.table import Row, Table
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.engines import Engine, make_engine
from separatrix.walking.methods import Method, parse_method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Vector = NDArray[np.float64]

GROWN = 1e-3  # ‖δ‖/‖φ‖ at which two runs are no longer close: the rate is fitted up to here


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A pair of runs per data entry, seed and step size."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (pair_job(experiment, entry, seed, gamma) for gamma in experiment.step_sizes)


def pair_job(experiment: Experiment, entry: DataEntry, seed: int | None, gamma: float) -> Job:
    """The pair at this step size; γ = ∞ is the batch perceptron."""
    return Job("chaos", entry, seed, "batch-perceptron" if isinf(gamma) else "lr-gd", gamma, experiment.iterations)


def pair(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """‖φ' - φ‖/‖φ‖ at every t until one of the two has separated, and the first t at which other rows are wrong."""
    method = parse_method(job.method, job.step_size)
    a, b = (begun(rows, method, nudged) for nudged in (False, True))
    apart: list[float] = []
    parted = inf
    while True:
        phi, other = a.phi(), b.phi()
        length, gap = float(np.linalg.norm(phi)), float(np.linalg.norm(other - phi))
        apart.append(gap / length if length > 0 else nan)
        if isinf(parted) and gap > 0 and other_rows_wrong(rows, phi, other, gap):
            parted = float(a.t)
        if tell(a.t):
            raise KeyboardInterrupt
        if a.errors == 0 or b.errors == 0 or a.t >= job.limit:
            break
        a.advance(1, False)
        b.advance(1, False)
    counts = []
    for one in (a, b):  # the one that has not separated goes on
        one.advance(job.limit - one.t, True)
        counts.append(float(one.t) if one.errors == 0 and rows.lowest(one.phi()) > 0 else inf)
    facts = {"limit": job.limit, "parted": parted, "count": counts[0], "other": counts[1]}
    return Result(about(rows) | facts, {"apart": np.array(apart)})


def begun(rows: HeldRows, method: Method, nudged: bool) -> Engine:
    """A run at θ_1, or one last bit beside it."""
    engine = make_engine("lazy", rows, method)
    engine.advance(1, False)
    if nudged:
        state = engine.save()
        k = int(np.argmax(np.abs(state["phi"])))
        state["phi"][k] = np.nextafter(state["phi"][k], inf)
        engine.load(state)
    return engine


def other_rows_wrong(rows: HeldRows, phi: Vector, other: Vector, gap: float) -> bool:
    """Whether the two iterates have other rows on the wrong side; no margin is further apart than R‖δ‖."""
    m = rows.margins(phi)
    if float(np.abs(m).min()) > 2 * rows.R * gap:  # with room for rounding
        return False
    return not np.array_equal(m <= 0, rows.margins(other) <= 0)


def rate_of(apart: Vector) -> float:
    """The slope of log ‖δ‖/‖φ‖ over t by least squares, up to where it is no longer small; NaN if it stays small."""
    large = np.flatnonzero(apart >= GROWN)
    t = np.flatnonzero(apart[: large[0] + 1] > 0) if len(large) else np.zeros(0, dtype=np.intp)
    return float(np.polyfit(t, np.log(apart[t]), 1)[0]) if len(t) > 1 else nan


@dataclass(frozen=True)
class Meter:
    """One data set at one step size: over the seeds, rates, and how the pairs of runs differed."""

    title: str
    gamma: float
    rates: Vector  # NaN where the two runs stayed close
    grown: Vector  # the first t with ‖δ‖/‖φ‖ ≥ GROWN, ∞ if never
    largest: Vector  # ‖δ‖/‖φ‖
    parted: Vector
    counts: NDArray[np.float64]  # two columns
    apart: Vector  # of the first seed

    @property
    def known(self) -> Vector:
        """The rates of the pairs that came apart."""
        return self.rates[~np.isnan(self.rates)]

    @property
    def rate(self) -> float:
        """Their median."""
        return float(np.median(self.known)) if len(self.known) else nan

    @property
    def spread(self) -> str | None:
        """The interval of that median, where pairs enough came apart."""
        low, high = median_interval(self.known)
        return f"{low:.2g} to {high:.2g}" if isfinite(high) else None

    @property
    def differ(self) -> int:
        """Pairs whose counts to separation differ, among those that both separated."""
        both = np.isfinite(self.counts).all(axis=1)
        return int((self.counts[both, 0] != self.counts[both, 1]).sum())


def meters_of(experiment: Experiment, data: Data, results: Results) -> list[Meter]:
    """Data entry after data entry, step size after step size."""
    found = []
    for entry in distinct(experiment, data):
        for gamma in experiment.step_sizes:
            pairs = [results[pair_job(experiment, entry, seed, gamma)] for seed in seeds_of(experiment)]
            apart = [one.columns["apart"] for one in pairs]
            grown = [float(np.argmax(a >= GROWN)) + 1 if (a >= GROWN).any() else inf for a in apart]
            counts = np.array([[one.facts["count"], one.facts["other"]] for one in pairs], dtype=float)
            rates, largest = (np.array([of(a) for a in apart]) for of in (rate_of, np.max))
            parted = np.array([one.facts["parted"] for one in pairs], dtype=float)
            title = describe(entry, pairs[0])
            found.append(Meter(title, gamma, rates, np.array(grown), largest, parted, counts, apart[0]))
    return found


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """The way apart of the first seed; rates over γ with intervals; when sets and counts differ."""
    meters = meters_of(experiment, data, results)
    rows: list[Row] = []
    for one in meters:
        both = int(np.isfinite(one.counts).all(axis=1).sum())
        n = len(one.rates)
        rows.append(
            (one.title, one.gamma, f"{len(one.known)} of {n}", None if one.rate != one.rate else one.rate, one.spread,
             float(np.median(one.largest)), f"{int(np.isfinite(one.parted).sum())} of {n}", middle(one.parted),
             middle(one.counts[:, 0]), f"{one.differ} of {both}")
        )  # fmt: skip
    table = Table(
        experiment.title,
        ("data", "step size", "come apart", "rate", "95 % interval", "largest", "sets part", "at", "iterations",
         "counts differ"),
        rows,
        note=f"medians over {experiment.seeds} random samples, at most {experiment.iterations:,} iterations; come "
        f"apart: pairs whose ‖δ‖/‖φ‖ reaches {GROWN:g}; rate: the slope of its logarithm per iteration until then, of "
        "these pairs; largest: ‖δ‖/‖φ‖; sets part: other rows are wrong, first at; counts differ: among pairs of which "
        "both separated",
    )  # fmt: skip
    return draw(meters), {"": table}, sentences(meters)


def middle(values: Vector) -> float | None:
    """The median, None where it is beyond what was run."""
    found = quantile(values, 0.5)
    return found if isfinite(found) else None


def sentences(meters: Sequence[Meter]) -> list[str]:
    """Where two runs come apart fastest, where they do not, and what the last bit decides."""
    found = []
    for title in dict.fromkeys(one.title for one in meters):
        mine = [one for one in meters if one.title == title]
        calm = ", ".join(f"{one.gamma:g}".replace("inf", "∞") for one in mine if len(one.known) == 0)
        chaotic = [one for one in mine if 2 * len(one.known) >= len(one.rates)]
        if not chaotic:
            few = sum(len(one.known) for one in mine)
            most = max(float(np.median(one.largest)) for one in mine)
            found.append(
                f"{title}: one last bit stays small: {few} of {sum(len(one.rates) for one in mine)} pairs came apart "
                f"by {GROWN:g}; the median of the largest ‖δ‖/‖φ‖ is {most:.2g} at most over the step sizes."
            )
            continue
        top = max(chaotic, key=lambda one: one.rate)
        spread = f", 95 % interval {top.spread}" if top.spread else ""
        where = ", ".join(f"{one.gamma:g}" for one in chaotic)
        found.append(
            f"{title}: half the pairs or more come apart at γ = {where}, fastest at γ = {top.gamma:g}, by a factor of "
            f"{np.exp(top.rate):.3g} per iteration (rate {top.rate:.2g}{spread}), that is tenfold in "
            f"{np.log(10) / top.rate:.0f} iterations; none does at γ = {calm or '(no step size)'}."
        )
    finite, endless = ([one for one in meters if isinf(one.gamma) == at] for at in (False, True))
    for name, these in (("LR+GD", finite), ("the batch perceptron", endless)):
        if both := sum(int(np.isfinite(one.counts).all(axis=1).sum()) for one in these):
            changed = sum(one.differ for one in these)
            found.append(f"The last bit changes the count to separation in {changed} of {both} pairs of {name}.")
    if endless:
        apart = sum(len(one.known) for one in endless)
        pairs = sum(len(one.rates) for one in endless)
        found.append(
            f"{for_or_against(apart == 0)} that the batch perceptron is not chaotic: {apart} of {pairs} pairs of it "
            "came apart."
        )
    return found


def draw(meters: Sequence[Meter]) -> dict[str, Figure]:
    """Per data set ‖δ‖/‖φ‖ over t of the first seed; and the rates over γ."""
    titles = list(dict.fromkeys(one.title for one in meters))
    figure, axes = new_figure(len(titles), 2, width=4.0)
    for ax, title in zip(axes, titles, strict=True):
        mine = [one for one in meters if one.title == title]
        for k, one in enumerate(mine):
            t = np.flatnonzero(one.apart > 0)
            name = f"γ = {one.gamma:g}".replace("inf", "∞")
            ax.plot(t + 1, one.apart[t], lw=1.0, color=shade(k / max(len(mine) - 1, 1)), label=name)
        ax.set_yscale("log")
        ax.set_title(words(title), fontsize=9)
        finish(ax, "iteration t", "‖φ - φ'‖/‖φ‖")
    legend_below(figure, axes, columns=6)
    other, (ax,) = new_figure(1, width=5.0, height=3.4)
    for k, title in enumerate(titles):
        known = [one for one in meters if one.title == title and isfinite(one.gamma) and len(one.known)]
        colour = PALETTE[k % len(PALETTE)]
        ax.plot([one.gamma for one in known], [one.rate for one in known], "o-", ms=4, color=colour, label=words(title))
        for one in known:
            ax.plot([one.gamma] * 2, [one.known.min(), one.known.max()], color=colour, lw=0.9)
    ax.set_xscale("log")
    ax.axhline(0.0, color="black", lw=0.6)
    finish(ax, "step size γ", "rate of log ‖δ‖/‖φ‖ per iteration")
    legend_below(other, [ax], columns=2)
    return {"": figure, "rates": other}


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows and which seed."""
    return (
        f"{rows_caption(distinct(experiment, data), experiment.seeds)} Curves: seed 0, a single pair each, until one "
        "of the two separates. Rates: median, least and largest over the pairs that come apart; no dot where none does."
    )


KIND = Kind("chaos", ("data", "step_sizes", "seeds"), jobs, show, work=(Work("chaos", pair, 3.0),), caption=caption)
