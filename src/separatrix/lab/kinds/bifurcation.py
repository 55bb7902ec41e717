"""Bifurcation: where LR+GD ends on rows that no θ separates, over the step size in units of 1/λ.

    θ⁺ = θ - γ ∇f(θ) ,     f(θ) = (1/n) Σ log(1 + exp(-z_iᵀθ)) ,     λ = λ_max of ∇²f at the minimiser θ*

A run ends where an iterate comes back bit for bit: at θ* or in a cycle of p iterates, each of which is a dot. Rounding
makes cycles of its own around θ*, and around a cycle of q, whose bits then come back after a multiple of q only: the
period shown is the least after which all iterates are what they were within `NEAR`. Meng, Orvieto, Cao, De Sa,
"Gradient Descent on Logistic Regression with Non-Separable Data and Large Step Sizes" (arXiv 2406.05033), say: θ* is
stable up to γ = 2/λ, where period doubling begins; in one dimension γ < 1/λ leads to θ* from everywhere; for each γ
between 1/λ and 2/λ there are one-dimensional data with a stable cycle, and in higher dimensions there are some for
γ < 1/λ, too. Meng, Goujaud, Orvieto, De Sa (arXiv 2507.11228) add: with rows of equal length in one dimension there are
none below 2/λ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import exp, norm
from separatrix.data.memory import HeldRows
from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.jobs import Tell, Work, about
from separatrix.lab.kinds.shared import Data, Kind, describe, distinct, entries_of, for_or_against, rows_caption
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import PALETTE, finish, words
from separatrix.reporting.statistics import median_interval
from separatrix.reporting.table import Row, Table
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method
from separatrix.walking.run import times
from separatrix.walking.trace import Recorder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Vector = NDArray[np.float64]

DOTS = 64  # iterates drawn of a run, at most
NEAR = 1e-6  # as far as this, in units of 1 + ‖θ*‖, is rounding or nearly there
NEWTON, HALVINGS = 200, 60
MINIMISER, OPEN = 1, 0  # how a run ended: at θ*; not within its budget; else the period of its cycle


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """One sweep over the step sizes per data entry and seed; listed rows are what they are."""
    for entry in entries_of(experiment, data):
        yield from (sweep_job(experiment, entry, seed) for seed in seeds_on(experiment, entry))


def seeds_on(experiment: Experiment, entry: DataEntry) -> list[int | None]:
    """The seeds of data that are drawn."""
    return [None] if entry.source == "listed" or not experiment.seeds else list(range(experiment.seeds))


def sweep_job(experiment: Experiment, entry: DataEntry, seed: int | None) -> Job:
    """All step sizes and starts on these rows."""
    low, high = experiment.span
    options = f"{low:g}-to-{high:g}-by-{experiment.points}-from-{experiment.starts + 1}"
    return Job("bifurcation", entry, seed, limit=experiment.iterations, options=options)


def sigmoid(x: Vector) -> Vector:
    """σ(x), without overflow."""
    small = exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1 + small))


def minimiser(Z: Vector, s: Vector) -> tuple[Vector, Vector, float]:
    """θ*, the Hessian's top eigenvector there and λ, by Newton's method with halved steps; NaN where there is no θ*.

    ∇f = -(1/n) Σ s_i σ(-m_i) z_i ,     ∇²f = (1/n) Σ s_i σ(-m_i) σ(m_i) z_i z_iᵀ
    """
    n, theta = s.sum(), np.zeros(Z.shape[1])

    def value(theta: Vector) -> float:
        return float(s @ np.logaddexp(0.0, -Z @ theta) / n)

    def slope(theta: Vector) -> tuple[Vector, Vector]:
        p = sigmoid(-Z @ theta)
        return -(s * p) @ Z / n, p

    for _ in range(NEWTON):
        gradient, p = slope(theta)
        H = (Z.T * (s * p * (1 - p))) @ Z / n
        if np.linalg.norm(gradient) < 1e-14 * np.linalg.norm(Z, axis=1).max():
            break
        step = -np.linalg.lstsq(H, gradient, rcond=None)[0]
        here, part, length = value(theta), 1.0, np.linalg.norm(gradient)
        for _ in range(HALVINGS):  # near θ* values are equal to rounding, and gradients still tell
            if value(theta + part * step) < here or np.linalg.norm(slope(theta + part * step)[0]) < length / 2:
                break
            part /= 2
        else:
            break  # no better in float64
        theta = theta + part * step
    values, vectors = np.linalg.eigh(H)
    R = float(np.linalg.norm(Z, axis=1).max())
    there = np.linalg.norm(gradient) < 1e-9 * R and values[0] > 1e-9 * R * R  # at infinity the Hessian vanishes
    lam = float(f"{values[-1]:.9g}")  # the digits on which all machines agree
    return theta if there else np.full_like(theta, nan), vectors[:, -1], lam


def sweep(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """For every step size and start: how the run ended, and its last iterates along the Hessian's top eigenvector.

    Starts are 0 and random ones, as long as 10^u/r with u uniform in [-1, 1.5], r the rows' root mean square length.
    """
    low, high, points, starts = (float(word) for word in job.options.split("-")[::2])
    Z = rows.sign[:, None] * rows.scale * rows.X
    best, top, lam = minimiser(Z, rows.weight)
    facts = about(rows) | {"lambda": lam, "limit": job.limit, "norm": float(np.linalg.norm(best))}
    if np.isnan(best).any():
        return Result(facts | {"lambda": nan})
    rng = np.random.default_rng([0 if job.seed is None else job.seed, 2])
    r = norm(np.sqrt(rows.weight) * rows.r) * rows.scale / float(np.sqrt(rows.size))
    theta0: list[Vector | None] = [None]
    for _ in range(int(starts) - 1):
        direction = rng.standard_normal(rows.d)
        theta0.append(direction / norm(direction) * 10 ** rng.uniform(-1, 1.5) / r)
    ends: list[tuple[float, float, float, float]] = []
    dots: list[tuple[float, float, float]] = []
    for k, factor in enumerate(np.linspace(low, high, int(points))):
        for which, start in enumerate(theta0):
            period, n_iter, last = end_of(rows, float(factor) / lam, start, job.limit)
            apart = max(float(np.linalg.norm(theta - best)) for theta in last)
            if apart <= NEAR * (1 + np.linalg.norm(best)):
                end = MINIMISER
            else:
                end = period_within(last, period, NEAR * (1 + float(np.linalg.norm(best))))
            ends.append((factor, which, end, n_iter))
            shown = last[:1] if end == MINIMISER else last
            dots += [(factor, which, float(top @ (theta - best))) for theta in shown]
        if tell(int(job.limit * (k + 1) / points)):
            raise KeyboardInterrupt
    names = ("factor", "start", "end", "n_iter"), ("dot_factor", "dot_start", "dot")
    columns = {name: np.array(ends)[:, j] for j, name in enumerate(names[0])}
    columns |= {name: np.array(dots)[:, j].astype(np.float32) for j, name in enumerate(names[1])}
    return Result(facts, columns)


def period_within(last: Sequence[Vector], period: int, near: float) -> int:
    """The least divisor of the exact period after which the iterates are what they were, to rounding; OPEN without one.

    Of a cycle longer than what is at hand, the part at hand is looked at.
    """
    theta = np.array(last)
    for q in range(2, len(theta)):
        if period % q == 0 and period > 0 and float(np.abs(theta[q:] - theta[:-q]).max()) <= near:
            return q
    return period if period > 1 else OPEN


def end_of(rows: HeldRows, gamma: float, theta0: Vector | None, limit: int) -> tuple[int, int, list[Vector]]:
    """The period with which an iterate of LR+GD came back, 0 if none did; iterations made; the last θ_t, each once."""
    method = parse_method("lr-gd", gamma)
    walk = Walk(rows, method, engine="dense", theta0=theta0, max_iter=limit, recorder=Recorder(None, False))
    run = walk.finish()
    period = 0 if run.cycle is None else run.cycle.period
    last = [run.theta]
    for _ in range(min(period or DOTS, DOTS) - 1):
        walk.engine.advance(1, False)
        last.append(times(gamma, rows.unpad(walk.engine.phi())))
    return period, run.n_iter, last


@dataclass(frozen=True)
class Sweep:
    """One sample: λ, and for every run the step size in units of 1/λ, the start's number, and how it ended."""

    entry: DataEntry
    title: str
    d: int
    lam: float
    factor: Vector
    start: Vector
    end: Vector
    dots: tuple[Vector, Vector, Vector]

    def share(self, low: float, high: float) -> tuple[int, int, int, int]:
        """Runs with low ≤ γλ < high: how many, and of them those that ended at θ*, in a cycle, and in neither."""
        here = self.end[(self.factor >= low) & (self.factor < high)]
        return len(here), int((here == MINIMISER).sum()), int((here > 1).sum()), int((here == OPEN).sum())

    @property
    def leaves(self) -> float:
        """The smallest γλ at which the run from 0 does not end at θ*; NaN where all do."""
        away = self.factor[(self.start == 0) & (self.end != MINIMISER)]
        return float(away.min()) if len(away) else nan

    @property
    def periods(self) -> list[tuple[int, float]]:
        """The periods of the runs from 0, each with the smallest γλ at which it was seen, in that order."""
        seen: dict[int, float] = {}
        for factor, start, end in zip(self.factor, self.start, self.end, strict=True):
            if start == 0 and end > 1:
                seen.setdefault(int(end), float(factor))
        return list(seen.items())


def sweeps_of(experiment: Experiment, data: Data, results: Results) -> list[Sweep]:
    """The samples that have a minimiser, data entry after data entry."""
    found = []
    for entry in distinct(experiment, data):
        for seed in seeds_on(experiment, entry):
            result = results[sweep_job(experiment, entry, seed)]
            lam, columns = float(result.facts["lambda"]), result.columns
            if lam == lam:
                factor, start, end = (columns[name] for name in ("factor", "start", "end"))
                dots = columns["dot_factor"], columns["dot_start"], columns["dot"]
                found.append(Sweep(entry, describe(entry, result), result.facts["d"], lam, factor, start, end, dots))
    return found


REGIONS = ((0.0, 1.0, "γ < 1/λ"), (1.0, 2.0, "1/λ to 2/λ"), (2.0, np.inf, "γ ≥ 2/λ"))


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """The diagrams of the first samples; how runs ended below and above 1/λ and 2/λ; for or against the paper."""
    sweeps = sweeps_of(experiment, data, results)
    rows: list[Row] = []
    for entry in distinct(experiment, data):
        mine = [one for one in sweeps if one.entry == entry]
        if not mine:
            rows.append((entry.title or entry.name, None, 0, *[None] * 8))
            continue
        parts = [np.sum([one.share(low, high) for one in mine], axis=0) for low, high, _ in REGIONS]
        leaves = np.array([one.leaves for one in mine])
        first = "; ".join(f"{p} from {at:.3g}" for p, at in mine[0].periods[:6])
        ends = [f"{part[1]:,} / {part[2]:,} / {part[3]:,}" for part in parts]
        rows.append(
            (mine[0].title, mine[0].d, len(mine), float(np.median([one.lam for one in mine])), *ends,
             float(np.median(leaves)), interval(leaves), first)
        )  # fmt: skip
    table = Table(
        experiment.title,
        ("data", "d", "samples", "λ", *(name for _, _, name in REGIONS), "leaves θ* at", "95 % interval", "periods"),
        rows,
        note="in the three regions: runs that ended at θ* / in a proven cycle / in neither within "
        f"{experiment.iterations:,} iterations; leaves θ* at: the smallest γλ whose run from 0 does not end there, "
        "median over the samples; periods: of runs from 0 on the first sample, each with the smallest γλ at which it "
        "was seen, last bits apart",
    )
    return {"": draw(sweeps, experiment)}, {"": table}, sentences(sweeps, experiment)


def by_example(cycles: int) -> str:
    """That something exists is shown by one case, and not refuted by its absence from some."""
    return for_or_against(True) if cycles else "Nothing here for the claim"


def interval(values: Vector) -> str | None:
    """Of the median over samples, where there are enough."""
    low, high = median_interval(values)
    return f"{low:.3g} to {high:.3g}" if np.isfinite(high) and not np.isnan(values).any() else None


def total(sweeps: Sequence[Sweep], low: float, high: float) -> tuple[int, int, int, int]:
    """`Sweep.share` of all of these together."""
    n, at, cycles, rest = np.sum([one.share(low, high) for one in sweeps], axis=0) if sweeps else (0, 0, 0, 0)
    return int(n), int(at), int(cycles), int(rest)


def where_cycles_are(sweeps: Sequence[Sweep], low: float, high: float) -> str:
    """The data with cycles in this region, with the smallest γλ."""
    least: dict[str, float] = {}
    for one in sweeps:
        at = one.factor[(one.end > 1) & (one.factor >= low) & (one.factor < high)]
        if len(at):
            least[one.title] = min(least.get(one.title, np.inf), float(at.min()))
    return "; ".join(f"{name}, from γλ = {at:.3g} on" for name, at in least.items())


def sentences(sweeps: Sequence[Sweep], experiment: Experiment) -> list[str]:
    """The five statements of the paper, each against these runs."""
    if not sweeps:
        return ["No sample has a minimiser, so nothing was measured."]
    step = (experiment.span[1] - experiment.span[0]) / max(experiment.points - 1, 1)
    n, at, _, _ = total(sweeps, 2.0 + 1e-9, np.inf)
    found = [
        f"{for_or_against(at == 0)} that 2/λ is critical: of {n:,} runs with γ > 2/λ {at:,} ended at the minimiser; "
        f"the run from 0 leaves it at γλ = {np.nanmin([one.leaves for one in sweeps]):.3g} at the earliest and "
        f"{np.nanmax([one.leaves for one in sweeps]):.3g} at the latest, on a grid of {step:.2g}."
    ]
    near = [one.periods[0] for one in sweeps if one.periods and one.leaves >= 2.0 - step]
    doubled = sum(period == 2 for period, _ in near)
    found.append(
        f"{for_or_against(doubled == len(near))} that period doubling begins there: of {len(near)} samples whose run "
        f"from 0 stays at the minimiser up to 2/λ, {doubled} have 2 as the first period beyond it."
        if near
        else "Nothing here on whether period doubling begins there: no run from 0 stays at the minimiser up to 2/λ and "
        "has a cycle beyond it."
    )
    line, plane = [one for one in sweeps if one.d == 1], [one for one in sweeps if one.d > 1]
    n, at, cycles, rest = total(line, 0.0, 1.0)
    if n:
        found.append(
            f"{for_or_against(cycles == 0)} that in one dimension γ < 1/λ is enough: {at:,} of {n:,} runs, from 0 and "
            f"from random starts, ended at the minimiser, {cycles:,} in a cycle, {rest:,} in neither within the budget."
        )
        n, _, cycles, _ = total(line, 1.0, 2.0)
        which = where_cycles_are(line, 1.0, 2.0)
        found.append(
            f"{by_example(cycles)} that in one dimension there are data with cycles between 1/λ and 2/λ: {cycles:,} of "
            f"{n:,} runs there ended in a proven cycle{f' ({which})' if which else ''}."
        )
    n, at, cycles, rest = total(plane, 0.0, 1.0)
    if n:
        which = where_cycles_are(plane, 0.0, 1.0)
        seen = f" ({which})" if which else ""
        found.append(
            f"{by_example(cycles)} that in higher dimensions there are cycles even for γ < 1/λ: {cycles:,} of "
            f"{n:,} runs ended in a proven one{seen}, {at:,} at the minimiser, {rest:,} in neither within the budget."
        )
        n, at, cycles, rest = total(plane, 1.0, 2.0)
        found.append(
            f"How common cycles below the critical step size are in these data: between 1/λ and 2/λ {cycles:,} of "
            f"{n:,} runs ended in one and {at:,} at the minimiser."
        )
    return found


def draw(sweeps: Sequence[Sweep], experiment: Experiment) -> Figure:
    """One panel per data entry, of its first sample: coordinates of the last iterates over γλ."""
    first = list({one.title: one for one in reversed(sweeps)}.values())[::-1]
    figure, axes = new_figure(max(len(first), 1), 2, width=4.2, height=2.8)
    for ax, one in zip(axes, first, strict=False):
        draw_sweep(ax, one)
    legend_below(figure, axes[: len(first)], columns=3)
    return figure


def draw_sweep(ax: Axes, one: Sweep) -> None:
    """Dots of the run from 0 in front of those of the other starts."""
    factor, start, dot = one.dots
    for others, colour, name in ((True, PALETTE[1], "from random starts"), (False, PALETTE[0], "from 0")):
        here = (start > 0) == others
        ax.plot(factor[here], dot[here], ".", ms=0.8, mew=0, color=colour, label="_", rasterized=True)
        ax.plot([], [], "o", ms=3, color=colour, label=name)
    for factor_at in (1.0, 2.0):
        ax.axvline(factor_at, color="black", lw=0.6, ls=":")
    ax.set_title(words(one.title), fontsize=9)
    finish(ax, "step size γλ", "(θ - θ*) along λ's direction")


def caption(experiment: Experiment, data: Data) -> str:
    """What the dots are."""
    return (
        f"{rows_caption(distinct(experiment, data), experiment.seeds)} Panels show the first sample of each. Dots: up "
        f"to {DOTS} last iterates of a run of at most {experiment.iterations:,} iterations, their coordinate along the "
        "eigenvector of λ; dotted lines: γ = 1/λ and 2/λ. A run ended early where an iterate came back bit for bit."
    )


KIND = Kind("bifurcation", ("data", "span"), jobs, show, work=(Work("bifurcation", sweep, 300.0),), caption=caption)
