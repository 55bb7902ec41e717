"""Limit: the step size from which LR+GD walks exactly as the batch perceptron does, predicted and measured.

In float64 a logistic weight is exactly 1 where a row is wrong by -γm̂ ≥ 53 log 2, and exactly 0 where it is right by
more than the cut of `core.rule` (40 + log n, nearly). So the path to separation is the batch perceptron's from

    γ* = max over t, i of   53 log 2 / |m̂_i|  (wrong rows) ,   cut / m̂_i  (right rows)

on, which the batch perceptron's own run foretells: its first step has w = ½ at every γ, and the last iterate asks for
no weights. A smaller γ may do: errors of a weight below the last bit of the sum that they enter change nothing. Rows
are taken in whole numbers (a common factor of a_i changes γ by its square), so that every sum of theirs is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isinf, log, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.memory import HeldRows, hold
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
from separatrix.lab.samples import Sample, longest
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import PALETTE, finish, words
from separatrix.reporting.statistics import median_interval, quantile
from separatrix.reporting.table import Row, Table
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.engines import make_engine, rule_of
from separatrix.walking.methods import parse_method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE = 53 * log(2)  # 1 + exp(-x) rounds to 1 from here on
FINE = 8  # step sizes tried are γ* 2^(-k/8)
FAR = 40  # octaves below γ*, at most
BESIDE = 5  # step sizes between what was found and γ* that are tried as well
FACTORS = (1, 8, 16, 255)  # by which scaled pixels are whole numbers
GRID = 4096  # other rows are rounded to this part of the longest one


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """One search per data entry and seed."""
    for entry in entries_of(experiment, data):
        yield from (limit_job(entry, seed) for seed in seeds_of(experiment))


def limit_job(entry: DataEntry, seed: int | None) -> Job:
    """The search on these rows; images have one sample, their first rows."""
    made = entry.source == "planted"
    return Job("limit", entry, seed if made else None, limit=entry.budget)


def in_whole_numbers(X: Any) -> tuple[NDArray[np.float64], float, bool]:
    """The rows times c, all whole numbers; c; and whether that is exact or had to be rounded."""
    X = np.asarray(X, dtype=np.float64)
    for factor in FACTORS:
        whole = np.rint(factor * X)
        if np.abs(factor * X - whole).max() < 1e-9:
            return whole, float(factor), True
    c = GRID / longest(X)
    return np.rint(c * X), c, False


@dataclass(frozen=True)
class Path:
    """The batch perceptron's own way to separation: φ_0, …, φ_T with their wrong rows, and the smallest |m̂|."""

    phi: list[NDArray[np.float64]]
    wrong: list[NDArray[np.bool_]]
    nearest: list[float]  # min |m̂| of each
    least_wrong: float
    least_right: float
    separated: bool


def path_of(rows: HeldRows, limit: int, tell: Tell) -> Path:
    """Walk it; margins of t = 1, …, T - 1 are those whose weights count."""
    engine = make_engine("lazy", rows, parse_method("batch-perceptron"))
    phi: list[NDArray[np.float64]] = []
    wrong: list[NDArray[np.bool_]] = []
    nearest: list[float] = []
    least = [inf, inf]
    while True:
        m = rows.margins(engine.phi())
        phi.append(engine.phi())
        wrong.append(m <= 0)
        nearest.append(float(np.abs(m).min()))
        if not wrong[-1].any() or engine.t >= limit:
            return Path(phi, wrong, nearest, least[0], least[1], not wrong[-1].any())
        if engine.t > 0:
            least[0] = min(least[0], float(-m[m <= 0].max()))
            least[1] = min(least[1], float(m[m > 0].min(initial=inf)))
        if tell(engine.t):
            raise KeyboardInterrupt
        engine.advance(1, False)


def parts_at(path: Path, rows: HeldRows, gamma: float) -> tuple[float, float]:
    """The first t at which LR+GD's iterate has other bits, and the first at which other rows are wrong; ∞ if never."""
    engine = make_engine("lazy", rows, parse_method("lr-gd", gamma))
    first = inf
    for t, known in enumerate(path.phi):
        phi = engine.phi()
        if not np.array_equal(phi, known):
            first = min(first, t)
            gap = float(np.linalg.norm(phi - known))
            near = path.nearest[t] <= 2 * rows.R * gap  # else no margin has changed its sign
            if near and not np.array_equal(rows.margins(phi) <= 0, path.wrong[t]):
                return first, float(t)
        engine.advance(1, False)
    return first, inf


def search(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """γ* by the perceptron's run; then the smallest γ of the grid below it with the same bits, and the same sets."""
    X, c, exact = in_whole_numbers(sample.X)
    whole = hold(X, sample.y)
    path = path_of(whole, job.limit, tell)
    last = len(path.phi) - 1
    cut = rule_of(whole, parse_method("lr-gd", 1.0)).cut
    needed = [ONE / path.least_wrong if path.least_wrong > 0 else inf, cut / path.least_right]
    predicted = max(needed)
    facts = about(rows) | {
        "exact": exact,
        "limit": job.limit,
        "separated": path.separated,
        "T": last,
        "predicted": predicted * c * c,
        "least wrong": path.least_wrong / c / c,
        "least right": path.least_right / c / c,
        "cut": cut,
    }
    if not path.separated or isinf(predicted) or last < 2:
        return Result(facts | {"bits": nan, "sets": nan, "exceptions": 0, "tried": 0})
    seen: dict[int, tuple[float, float]] = {}

    def parts(k: int) -> tuple[float, float]:
        if k not in seen:
            seen[k] = parts_at(path, whole, predicted * 2.0 ** (-k / FINE))
            tell(last)
        return seen[k]

    found = [smallest(lambda k, which=which: isinf(parts(k)[which])) for which in (0, 1)]  # type: ignore[misc]
    beside = sorted({round(found[1] * j / (BESIDE + 1)) for j in range(BESIDE + 1)})
    exceptions = sum(not isinf(parts(k)[1]) for k in beside if k < found[1])
    bits, sets = (predicted * 2.0 ** (-k / FINE) * c * c if k >= 0 else nan for k in found)
    tried = np.array(sorted(seen))
    columns = {
        "step size": predicted * c * c * 2.0 ** (-tried / FINE),
        "bits part": np.array([seen[int(k)][0] for k in tried]),
        "sets part": np.array([seen[int(k)][1] for k in tried]),
    }
    return Result(facts | {"bits": bits, "sets": sets, "exceptions": exceptions, "tried": len(tried)}, columns)


def smallest(holds: Callable[[int], bool]) -> int:
    """The largest k with holds(k), by doubling and bisection from 0 down the grid; -1 if not even k = 0 does."""
    if not holds(0):
        return -1
    low, high = 0, FINE
    while high < FAR * FINE and holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class Found:
    """One data set: over its seeds, γ* predicted, measured for bits and for wrong sets, and the runs' lengths."""

    title: str
    T: NDArray[np.float64]
    predicted: NDArray[np.float64]
    bits: NDArray[np.float64]
    sets: NDArray[np.float64]
    exceptions: int
    tied: int
    rounded: bool


def found_on(experiment: Experiment, entry: DataEntry, results: Results) -> Found:
    """All seeds of one data entry; those without a finite γ* are counted apart."""
    todo = list(dict.fromkeys(limit_job(entry, seed) for seed in seeds_of(experiment)))
    facts = [results[job].facts for job in todo]
    known = [f for f in facts if f["bits"] == f["bits"]]
    columns = {key: np.array([f[key] for f in known], dtype=float) for key in ("T", "predicted", "bits", "sets")}
    title = describe(entry, results[todo[0]])
    exceptions = sum(f["exceptions"] for f in known)
    return Found(title, **columns, exceptions=exceptions, tied=len(facts) - len(known), rounded=not facts[0]["exact"])


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """γ* beside the two that were measured, per data set."""
    found = [found_on(experiment, entry, results) for entry in distinct(experiment, data)]
    rows: list[Row] = [row_of(one) for one in found]
    table = Table(
        experiment.title,
        ("data", "seeds", "iterations", "predicted γ*", "same bits from", "same wrong sets from",
         "bits / γ*", "sets / γ*", "ties", "exceptions"),
        rows,
        note=f"medians over the seeds; measured on a grid of factors 2^(1/{FINE}); ties: samples on which a row lies "
        "exactly on the hyperplane, where no γ has the perceptron's path; exceptions: larger step sizes tried "
        "whose wrong sets were not the perceptron's",
    )  # fmt: skip
    return {"": draw(found)}, {"": table}, sentences(found)


def row_of(one: Found) -> Row:
    """Medians of one data set."""
    if len(one.T) == 0:
        return (one.title, 0, *[None] * 6, one.tied, 0)
    middle = [quantile(values, 0.5) for values in (one.T, one.predicted, one.bits, one.sets)]
    ratios = [quantile(values / one.predicted, 0.5) for values in (one.bits, one.sets)]
    return (one.title, len(one.T), *middle, *ratios, one.tied, one.exceptions)


def sentences(found: Sequence[Found]) -> list[str]:
    """Whether the prediction was enough everywhere, and by how much it was more than enough."""
    known = [one for one in found if len(one.T)]
    if not known:
        return ["On no sample did the batch perceptron separate without ties, so nothing was measured."]
    bits = np.concatenate([one.bits / one.predicted for one in known])
    sets = np.concatenate([one.sets / one.predicted for one in known])
    low, high = median_interval(bits)
    spread = f", 95 % interval of the median {low:.2f} to {high:.2f}" if np.isfinite(high) else ""
    exceptions = sum(one.exceptions for one in known)
    told = [
        f"{for_or_against(bool((bits <= 1).all()))}: at the predicted γ* the path has the perceptron's bits on "
        f"{int((bits <= 1).sum())} of {len(bits)} samples. The smallest step size that has them is "
        f"{np.median(bits):.2f} γ* in the median (from {bits.min():.2f} to {bits.max():.2f}{spread}).",
        f"The same rows are wrong all the way from {np.median(sets):.2g} γ* on in the median, from {sets.min():.2g} "
        f"to {sets.max():.2g}; of the larger step sizes tried {exceptions} had other wrong rows.",
    ]
    told += [
        f"A single run each: {one.title}, γ* = {one.predicted[0]:.3g}, same bits from {one.bits[0]:.3g}, same wrong "
        f"rows from {one.sets[0]:.3g} on."
        for one in known
        if len(one.T) == 1
    ]
    return told


def draw(found: Sequence[Found]) -> Figure:
    """Measured over predicted, both axes logarithmic; the diagonal is the prediction."""
    figure, (ax,) = new_figure(1, width=5.0, height=3.8)
    ends = [inf, 0.0]
    for k, one in enumerate(found):
        if len(one.T) == 0:
            continue
        colour = PALETTE[k % len(PALETTE)]
        ax.plot(one.predicted, one.bits, "o", ms=5, color=colour, label=words(f"{one.title}: same bits"))
        ax.plot(one.predicted, one.sets, "s", ms=5, mfc="none", color=colour, label=words(f"{one.title}: same sets"))
        ends = [min(ends[0], one.predicted.min()), max(ends[1], one.predicted.max())]
    if ends[1] > 0:
        ax.plot(ends, ends, color="black", lw=0.7)
        ax.set_xscale("log")
        ax.set_yscale("log")
    finish(ax, "predicted γ*", "smallest γ measured")
    legend_below(figure, [ax], columns=2)
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, and how they were made whole."""
    planted, others = (
        [e for e in distinct(experiment, data) if (e.source == "planted") == made] for made in (True, False)
    )
    told = [rows_caption(some, n) for some, n in ((planted, experiment.seeds), (others, 0)) if some]
    return (
        f"{' '.join(told)} Image rows are taken in whole numbers, planted "
        f"ones rounded to multiples of R/{GRID:,}; step sizes are those for the rows as they are. The line is the "
        "prediction."
    )


KIND = Kind("limit", ("data",), jobs, show, work=(Work("limit", search, 20.0),), caption=caption)
