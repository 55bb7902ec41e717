"""Bias: the certified angle to the widest margin long after separation, by method and step size, with its exponents.

The angle is O(1/‖θ_t‖) where the data are generic (docs/bias.md), and ‖θ_t‖ grows like γμt for the normalized method,
p = 0, and like log(t)/(pμ) for the others. So three numbers are fitted to the last decade of t, by least squares:

    angle ≈ a t^(-b) ,      angle ≈ a ‖θ_t‖^(-b) ,      pμ‖θ_t‖ ≈ a + b log t ,

the first for all methods, 1 for the normalized one; the second 1 once the offset from the ray of θ* has settled; the
third, 1 where ‖θ_t‖ has its logarithm, for p > 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from separatrix.data.memory import HeldRows
from separatrix.deciding.margin import Margin, find_margin
from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.jobs import SEED, Tell, Work, about, on_columns
from separatrix.lab.kinds.shared import (
    Data,
    Kind,
    by_share,
    describe,
    distinct,
    entries_of,
    rows_caption,
    seeds_of,
    steps_of,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import NAMES, finish, name_of, shade, words
from separatrix.reporting.statistics import median_interval, slope
from separatrix.reporting.table import Row, Table
from separatrix.walking.angle import Angle
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.engines.gram import fill_columns
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method
from separatrix.walking.trace import ANGLE, Recorder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIGHT = 1e-13  # of the bracket: rounding ends it somewhat earlier
KEPT = ("iteration", "errors", "theta_norm", *ANGLE)
SPAN = 10  # exponents are fitted from the budget's tenth part on
SHARP = 1.1  # where the ends of the interval are this close
POINTS = 8  # of a fit at least
GROWN = 1.02  # times, that ‖θ‖ has to grow for an exponent in it
NEAR = 0.1  # what lies this near is taken for 1
SAME = 0.05  # angles this near each other are taken for equal
STILL = 0.01  # an angle that changes by a smaller part of itself is at rest

Column = NDArray[np.float64]


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A run per data entry, sample, method and step size."""
    for entry in entries_of(experiment, data):
        for seed in samples_of(experiment, entry):
            yield from (bias_job(entry, seed, method, gamma) for method, gamma in steps_of(experiment))


def samples_of(experiment: Experiment, entry: DataEntry) -> list[int | None]:
    """The seeds of planted rows; others have one sample, their first rows."""
    return seeds_of(experiment) if entry.source == "planted" else [None]


def bias_job(entry: DataEntry, seed: int | None, method: str, gamma: float) -> Job:
    """The run on these rows; all step sizes get the same length, or their angles could not be compared."""
    return Job("bias", entry, seed, method, gamma, min(entry.limit(step_size) for step_size in (0.0, 1.0, 10.0)))


@lru_cache(maxsize=1)
def bracket_of(rows: HeldRows) -> Margin:
    """The bracket on these rows, for all runs on them."""
    return find_margin(rows, TIGHT, None, None)


def turn(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """A run that does not stop where it separates, with the certified angle at each recorded iterate."""
    method, mu = parse_method(job.method, job.step_size, power=job.power), bracket_of(rows)
    facts = about(rows) | {"lower": mu.lower, "upper": mu.upper, "support": len(mu.support), "limit": job.limit}
    if mu.lower <= 0:
        return Result(facts | {"seconds": 0.0}, {name: np.zeros(0) for name in KEPT})
    columns = on_columns(rows, method, job.data.columns_from)
    if columns:
        fill_columns(rows)
    run = Walk(
        rows,
        method,
        engine="gram" if columns else "auto",
        max_iter=job.limit,
        stop=None,
        recorder=Recorder("log", False, angle=True),
        angle=Angle(rows, mu),
        callback=lambda iterate: bool(tell(iterate.t)),
        checkpoint=checkpoint,
        seed=SEED,
    ).finish()
    if run.status == "interrupted":
        raise KeyboardInterrupt
    facts |= {"engine": run.engine, "seconds": run.seconds}
    return Result(facts, {name: run.trace[name] for name in KEPT})


@dataclass(frozen=True)
class Course:
    """One run: t, both ends of the angle and ‖θ_t‖ from the first iterate after 0 on."""

    t: Column
    low: Column
    high: Column
    norm: Column
    separated: float

    @property
    def angle(self) -> Column:
        """The middle of the interval."""
        return (self.low + self.high) / 2

    @property
    def late(self) -> NDArray[np.bool_]:
        """The iterates that exponents are fitted to: separated, in the last decade, with a sharp interval."""
        return np.asarray((self.t >= max(self.t[-1] / SPAN, self.separated)) & (self.high <= SHARP * self.low))

    def at(self, t: float) -> float:
        """The angle at this t, between two recorded ones on logarithms."""
        return float(np.exp(np.interp(np.log(t), np.log(self.t), np.log(self.angle))))

    def growth(self, share: float) -> float:
        """b of share·‖θ_t‖ ≈ a + b log t over the last decade; NaN where there is nothing to fit."""
        late = self.t >= max(self.t[-1] / SPAN, self.separated)
        return float(np.polyfit(np.log(self.t[late]), share * self.norm[late], 1)[0]) if late.sum() >= POINTS else nan

    def exponent(self, x: Column) -> tuple[float, float]:
        """b of angle ≈ a x^(-b) over the last decade and its standard error; NaN where there is nothing to fit."""
        late = self.late
        if late.sum() < POINTS or not x[late][-1] > GROWN * x[late][0]:
            return nan, nan
        b, error = slope(x[late], self.angle[late])
        return 0.0 - b, error

    @property
    def rests(self) -> bool:
        """Whether the angle hardly changes over the last decade."""
        start = self.at(max(self.t[-1] / SPAN, 1.0))
        return abs(float(self.angle[-1]) - start) <= STILL * start


def course_of(found: Result, limit: float) -> Course:
    """The columns up to this budget; the result may be of a longer run that another experiment asked for."""
    t = found.columns["iteration"]
    kept = (t >= 1) & (t <= limit)
    right = t[(found.columns["errors"] == 0) & kept]
    names = ("angle_low", "angle_high", "theta_norm")
    low, high, norm = (found.columns[name][kept].astype(float) for name in names)
    return Course(t[kept].astype(float), low, high, norm, float(right[0]) if len(right) else np.inf)


@dataclass(frozen=True)
class Line:
    """All samples of a data set by one method at one step size."""

    method: str
    gamma: float
    courses: list[Course]
    mu: Column  # by sample

    @property
    def power(self) -> float:
        """p of N = n^p (Σw)^(1-p)."""
        return parse_method(self.method, self.gamma).power

    @property
    def moves(self) -> bool:
        """Whether the angle still changes, on half the samples or more."""
        return 2 * sum(course.rests for course in self.courses) <= len(self.courses)

    @property
    def growths(self) -> Column:
        """By how much pμ‖θ_t‖ grows while log t grows by 1, by sample."""
        found = [course.growth(self.power * mu) for course, mu in zip(self.courses, self.mu, strict=True)]
        return np.array(found)[np.isfinite(found)]

    @property
    def last(self) -> Column:
        """The angle at the end, by sample."""
        return np.array([float(course.angle[-1]) for course in self.courses])

    def exponents(self, of_norm: bool = False) -> tuple[Column, Column]:
        """Exponents in t or in ‖θ‖ and their standard errors, by sample, those that could be fitted."""
        fits = np.array([course.exponent(course.norm if of_norm else course.t) for course in self.courses])
        return tuple(fits[np.isfinite(fits[:, 0])].T)


@dataclass(frozen=True)
class Bench:
    """One data set with all its lines."""

    title: str
    lines: list[Line]

    def of(self, method: str) -> list[Line]:
        """The lines of a method, step sizes rising."""
        return sorted((line for line in self.lines if line.method == method), key=lambda line: line.gamma)


def bench_of(experiment: Experiment, entry: DataEntry, results: Results) -> Bench | None:
    """All runs of one data entry on separable samples; None where there is none."""
    lines, title = [], ""
    for method, gamma in steps_of(experiment):
        todo = [bias_job(entry, seed, method, gamma) for seed in samples_of(experiment, entry)]
        found = [results[job] for job in todo if results[job].facts["lower"] > 0]
        if not found:
            return None
        title = describe(entry, found[0])
        mu = np.array([one.facts["lower"] for one in found])
        lines.append(Line(method, gamma, [course_of(one, todo[0].limit) for one in found], mu))
    return Bench(title, lines)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Angles over t and over ‖θ_t‖, the exponents, and what they say."""
    every = [bench_of(experiment, entry, results) for entry in distinct(experiment, data)]
    benches = [bench for bench in every if bench is not None]
    if not benches:
        return {}, {}, ["No sample was found to be separable, so there is no direction of widest margin."]
    rows = [row_of(bench, line) for bench in benches for line in bench.lines]
    table = Table(
        experiment.title,
        ("data", "method", "step size", "samples", "angle at the end", "b in t", "± s.e.", "95 % interval",
         "b in ‖θ‖", "growth of pμ‖θ‖", "at rest"),
        rows,
        note="angle ≈ a x^(-b), least squares on logarithms over the last decade of t, where the certified ends are "
        f"within a factor of {SHARP:g}; medians over the samples; interval: of the median exponent in t, between order "
        "statistics; growth: of pμ‖θ_t‖ over that of log t, 1 for ‖θ_t‖ ≈ log(t)/(pμ); at rest: samples whose angle "
        f"changed by less than {100 * STILL:g} % over this decade",
    )  # fmt: skip
    told = [sentence for bench in benches for sentence in sentences(bench)]
    return {"": draw(benches, experiment), "norm": draw_norms(benches)}, {"": table}, told


def row_of(bench: Bench, line: Line) -> Row:
    """One method at one step size."""
    (b, error), (c, _) = line.exponents(), line.exponents(of_norm=True)
    rests = sum(course.rests for course in line.courses)
    name, last = NAMES.get(line.method, line.method), float(np.median(line.last))
    exponents = (median(b), median(error), interval(b), median(c), median(line.growths) if line.power else None)
    return (bench.title, name, line.gamma, len(line.courses), last, *exponents, rests)


def median(values: Column) -> float | None:
    """The median, nothing of nothing."""
    return float(np.median(values)) if len(values) else None


def interval(values: Column) -> str | None:
    """The interval of the median in words; nothing where there are too few samples."""
    low, high = median_interval(values) if len(values) else (nan, nan)
    return f"{low:.3f} to {high:.3f}" if isfinite(high) else None


def sentences(bench: Bench) -> list[str]:
    """What the exponents say of each method, whether γt alone counts, which step size leads, and which rest."""
    told = []
    for method in dict.fromkeys(line.method for line in bench.lines):
        lines, name = bench.of(method), NAMES.get(method, method)
        told.append(of_logarithm(bench.title, name, lines) if lines[0].power else of_power(bench.title, name, lines))
        told += by_step_size(bench.title, name, lines)
    return told


def of_power(title: str, name: str, lines: Sequence[Line]) -> str:
    """Whether the angle falls like 1/t at every step size, by the medians of the exponents."""
    fits = [(line.gamma, *line.exponents()) for line in lines]
    near = sum(len(b) > 0 and abs(float(np.median(b)) - 1) < NEAR for _, b, _ in fits)
    seen = [f"{np.median(b):.3f} ({spread(b, error)}) at γ = {gamma:g}" for gamma, b, error in fits if len(b)]
    if not any(len(b) for _, b, _ in fits):
        return f"{name} on {title}: no exponent in t could be fitted."
    return (
        f"{by_share(near / len(fits))}: {name} on {title} falls like 1/t, to {100 * NEAR:g} % of the exponent, at "
        f"{near} of {len(fits)} step sizes: {', '.join(seen)}."
    )


def spread(b: Column, error: Column) -> str:
    """The interval of the median exponent over the samples; of too few, twice the fit's standard error."""
    return interval(b) or f"± {2 * float(np.median(error)):.3f} of the fit"


def of_logarithm(title: str, name: str, lines: Sequence[Line]) -> str:
    """Whether ‖θ_t‖ grows no faster than log(t)/(pμ), where it has come to that, and how slowly the angle falls."""
    growths = {line.gamma: float(np.median(line.growths)) for line in lines if len(line.growths)}
    slow = [gamma for gamma, growth in growths.items() if growth < 1 + NEAR]
    near = [f"{gamma:g}" for gamma in slow if growths[gamma] > 1 - NEAR]
    if not growths:
        return f"{name} on {title}: no growth of ‖θ_t‖ could be fitted."
    b = [float(np.median(line.exponents()[0])) for line in lines if len(line.exponents()[0])]
    falls = f" The angle's exponents in t are from {min(b):.3f} to {max(b):.3f}." if b else ""
    seen = ", ".join(f"{round(growth, 3) + 0.0:.3f} at γ = {gamma:g}" for gamma, growth in growths.items())
    return (
        f"{by_share(len(slow) / len(growths))}: {name} on {title} is no faster than a logarithm at "
        f"{len(slow)} of {len(growths)} step sizes, ‖θ_t‖ growing by at most {1 + NEAR:g} log(t)/(pμ), and like it, to "
        f"{100 * NEAR:g} %, at γ = {', '.join(near) or 'none'} (growth over that: {seen}).{falls}"
    )


def by_step_size(title: str, name: str, lines: Sequence[Line]) -> list[str]:
    """Whether the angle depends on γt alone, which step size leads at the end, and which do not turn at all."""
    if len(lines) < 2:
        return []
    first, alike = lines[0], list[tuple[float, float]]()
    for line in lines[1:]:
        pairs = [(a, b, a.t[-1] * first.gamma / line.gamma) for a, b in zip(first.courses, line.courses, strict=True)]
        apart = [abs(b.at(t) / float(a.angle[-1]) - 1) for a, b, t in pairs if t >= 1]
        if apart:
            alike.append((line.gamma, float(np.median(apart))))
    last = np.array([line.last for line in lines])
    best, often = np.unique(last.argmin(axis=0), return_counts=True)
    leads = ", ".join(
        f"γ = {lines[k].gamma:g}" + (f" on {c} of {last.shape[1]}" if last.shape[1] > 1 else "")
        for k, c in zip(best, often, strict=True)
    )
    at_rest = ", ".join(f"{line.gamma:g}" for line in lines if not line.moves)
    rest = f"; at γ = {at_rest} most directions are at rest" if at_rest else ""
    return [
        f"{name} on {title}: the smallest angle at the end is that of {leads}{rest}. "
        f"{at_equal_time(first.gamma, alike)}"
    ]


def at_equal_time(gamma: float, apart: Sequence[tuple[float, float]]) -> str:
    """Up to which step size the angle depends on γt alone, from relative differences to the smallest one."""
    near = [(other, share) for k, (other, share) in enumerate(apart) if all(s <= SAME for _, s in apart[: k + 1])]
    beyond = [f"by {100 * share:.3g} % at γ = {other:g}" for other, share in apart[len(near) : len(near) + 1]]
    then = f"it differs {beyond[0]}" if beyond else "no larger one was compared"
    if not near:
        return f"Its angle does not depend on γt alone: at equal γt, from that at γ = {gamma:g} {then}."
    most = 100 * max(share for _, share in near)
    return (
        f"Its angle depends on γt alone up to γ = {near[-1][0]:g}, where at equal γt it is that of γ = {gamma:g} to "
        f"{most:.2g} %; {then}."
    )


def colours(lines: Sequence[Line]) -> dict[float, tuple[float, float, float]]:
    """Step sizes from cold to warm."""
    steps = sorted({line.gamma for line in lines})
    return {gamma: shade(k / max(len(steps) - 1, 1)) for k, gamma in enumerate(steps)}


def draw(benches: Sequence[Bench], experiment: Experiment) -> Figure:
    """The certified angle of the first sample over t, a panel per data set and method, both axes logarithmic."""
    across = len(dict.fromkeys(experiment.methods))
    figure, axes = new_figure(across * len(benches), across)
    panels = [(bench, method) for bench in benches for method in dict.fromkeys(experiment.methods)]
    for ax, (bench, method) in zip(axes, panels, strict=True):
        shades = colours(bench.lines)
        for line in bench.of(method):
            draw_band(ax, line.courses[0], line.courses[0].t, shades[line.gamma], f"γ = {line.gamma:g}")
        ax.set_title(words(f"{bench.title}: {NAMES.get(method, method)}"), fontsize=9)
        finish(ax, "iteration t", "angle to θ* (rad)" if ax in axes[::across] else "")
    for k in range(0, len(axes), across):
        for ax in axes[k + 1 : k + across]:
            ax.sharey(axes[k])
    legend_below(figure, axes, columns=4)
    return figure


def draw_norms(benches: Sequence[Bench]) -> Figure:
    """The same over ‖θ_t‖, all methods of a data set in one panel, at the smallest, middle and largest step size."""
    figure, axes = new_figure(len(benches), across=2, width=3.3 if len(benches) > 1 else 5.0)
    for ax, bench in zip(axes, benches, strict=True):
        shades = colours(bench.lines)
        steps = sorted(shades)
        for line in bench.lines:
            if line.gamma in (steps[0], steps[len(steps) // 2], steps[-1]):
                course, dashes = line.courses[0], {"lr-gd": "-", "normalized-lr-gd": "--"}.get(line.method, ":")
                draw_band(ax, course, course.norm, shades[line.gamma], name_of(line.method, line.gamma), dashes)
        ax.set_title(words(bench.title), fontsize=9)
        finish(ax, "‖θ_t‖", "angle to θ* (rad)" if ax in axes[::2] else "")
    legend_below(figure, axes, columns=2)
    return figure


def draw_band(ax: Axes, course: Course, x: Column, colour: object, label: str, dashes: str = "-") -> None:
    """The middle of the interval, and its ends as a band."""
    ax.plot(x, course.angle, dashes, color=colour, lw=1.2, label=label)
    ax.fill_between(x, course.low, course.high, color=colour, alpha=0.25, lw=0)
    ax.set_xscale("log")
    ax.set_yscale("log")


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, which runs, what is drawn."""
    lengths = dict.fromkeys(f"{bias_job(entry, 0, '', 1.0).limit:,}" for entry in entries_of(experiment, data))
    return (
        f"{rows_caption(entries_of(experiment, data), experiment.seeds)} Runs go on past separation, for "
        f"{' or '.join(lengths)} iterations each, at every step size. "
        "Angles are those between θ_t and the direction of the widest margin, drawn for the first sample: the middle "
        "of the certified interval, and the interval itself as a band where it can be seen."
    )


WORK = Work("bias", turn, 1.0, resumes=True)
KIND = Kind("bias", ("data", "methods", "step_sizes"), jobs, show, work=(WORK,), caption=caption)
