"""Networks: how runs end by step size and unit, beside the linear model on the same rows.

Every run is one of `nonlinear.solve` on one thread, in float64, from PyTorch's own random initialisation. Step sizes
are those of plain gradient descent, u = γ; then each unit u of the entry, at its `large` step size and at γ = ∞.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isinf
from typing import Any

import numpy as np

from separatrix.data.memory import HeldRows
from separatrix.lab.jobs import Tell, Work, about
from separatrix.lab.kinds.shared import (
    Data,
    Kind,
    describe,
    entries_of,
    for_or_against,
    rows_caption,
    seeds_of,
    walk_job,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import IMAGES, DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.nonlinear import NetworkIterate, solve
from separatrix.nonlinear.model import need_torch, torch_installed
from separatrix.plot import NAMES
from separatrix.reporting.hints import install
from separatrix.reporting.statistics import median_interval, quantile
from separatrix.reporting.table import Row, Table
from separatrix.walking.checkpoint import Checkpoint

MODELS = {  # their names in a table
    "two-layer": "two layers, ReLU",
    "two-layer-tanh": "two layers, tanh",
    "two-layer-linear": "two layers, no activation",
    "convolution": "convolution 5 x 5 by 3, ReLU, linear",
}
SHAPES = {784: (1, 28, 28), 3072: (3, 32, 32), 64: (1, 8, 8)}  # of images, by their columns


@dataclass(frozen=True)
class Net:
    """A network, its initialisation, and the unit of its steps; `word` names them in a file's name."""

    model: str
    width: int
    unit: float
    start: int

    @property
    def word(self) -> str:
        """All of it."""
        return f"{self.model}_{self.width}_{self.unit:g}_{self.start}"

    @classmethod
    def of(cls, word: str) -> Net:
        """From its word."""
        model, width, unit, start = word.split("_")
        return cls(model, int(width), float(unit), int(start))

    def build(self, d: int) -> Any:
        """The module for rows of d columns, initialised by its seed; no global state is left changed."""
        torch = need_torch()
        nn, f64 = torch.nn, torch.float64
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.start)
            if self.model == "convolution":
                channels, height, width = SHAPES[d]
                across = ((height - 5) // 3 + 1) * ((width - 5) // 3 + 1)
                first = nn.Conv2d(channels, self.width, 5, stride=3, dtype=f64)
                return nn.Sequential(first, nn.ReLU(), nn.Flatten(), nn.Linear(self.width * across, 1, dtype=f64))
            middle = {"two-layer": nn.ReLU, "two-layer-tanh": nn.Tanh, "two-layer-linear": nn.Identity}[self.model]()
            return nn.Sequential(nn.Linear(d, self.width, dtype=f64), middle, nn.Linear(self.width, 1, dtype=f64))


def network_job(entry: DataEntry, seed: int | None, method: str, gamma: float, net: Net, limit: int) -> Job:
    """The run of a method on a network and these rows."""
    return Job("network", entry, seed, method, gamma, limit, options=net.word)


def train(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """One run to its end, from the checkpoint of an interrupted one."""
    torch, net = need_torch(), Net.of(job.options)
    X = sample.X.reshape(-1, *SHAPES[rows.d]) if net.model == "convolution" else sample.X

    def told(iterate: NetworkIterate) -> bool:
        return bool(tell(iterate.t))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # bits, and so counts, belong to a number of threads
    try:
        run = solve(
            net.build(rows.d),
            X,
            sample.y,
            job.method,
            step_size=job.step_size,
            unit=net.unit,
            max_iter=job.limit,
            sample_weight=sample.weight,
            callback=told,
            checkpoint=checkpoint,
        )
    finally:
        torch.set_num_threads(threads)
    if run.status == "interrupted":
        raise KeyboardInterrupt
    facts = {
        "separated": run.separated,
        "status": str(run.status),
        "n_iter": run.n_iter,
        "limit": job.limit,
        "parameters": len(run.theta),
        "seconds": run.seconds,
        "torch": str(torch.__version__),
    }
    return Result(about(rows) | facts, {name: run.trace[name] for name in ("iteration", "errors", "loss")})


NETWORK = Work("network", train, 4.0, resumes=True)


def starts_of(experiment: Experiment) -> list[tuple[int | None, int]]:
    """(seed of the rows, seed of the initialisation): one for both, or several starts on the same rows."""
    if experiment.seeds:
        return [(seed, seed) for seed in range(experiment.seeds)]
    return [(None, start) for start in range(max(experiment.starts, 1))]


def lines_of(experiment: Experiment) -> list[tuple[str, float, float]]:
    """(method, step size, unit): plain gradient descent, then sharp weights at every unit."""
    sharp = [gamma for gamma in (experiment.large, inf) if gamma > 0]
    plain = [(gamma, 1.0 if isinf(gamma) else gamma) for gamma in experiment.step_sizes]
    every = dict.fromkeys([*plain, *((gamma, unit) for unit in experiment.units for gamma in sharp)])
    return [(method, gamma, unit) for method in experiment.methods for gamma, unit in every]


def models_of(experiment: Experiment, entry: DataEntry) -> list[str]:
    """The models that take these rows: signs are no images."""
    images = entry.source in (*IMAGES, "digits")
    return [model for model in experiment.models if images or model != "convolution"]


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """Every model at every width from every start, and the linear model; nothing without PyTorch."""
    if not torch_installed():
        return
    for entry in entries_of(experiment, data):
        for method, gamma, unit in lines_of(experiment):
            for seed, start in starts_of(experiment):
                for model in models_of(experiment, entry):
                    for width in experiment.widths:
                        net = Net(model, width, unit, start)
                        yield network_job(entry, seed, method, gamma, net, experiment.iterations)
        for method, gamma in linear_lines(experiment):
            yield from (walk_job(entry, seed, method, gamma) for seed in seeds_of(experiment))


def linear_lines(experiment: Experiment) -> list[tuple[str, float]]:
    """The linear model's runs: units only scale its θ."""
    return list(dict.fromkeys((method, gamma) for method, gamma, _ in lines_of(experiment)))


def untrained() -> Shown:
    """What is shown where there is no PyTorch: a sentence, and no empty table."""
    words = f"PyTorch is not installed, so no network was trained here; {install('torch')}, and run this again."
    return {}, {}, [words]


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """How many runs separated their rows, how the others ended, and the iterations needed."""
    if not torch_installed():
        return untrained()
    rows: list[Row] = []
    listed: list[Row] = []
    sentences: list[str] = []
    for entry in entries_of(experiment, data):
        title = ""
        ended: list[tuple[float, float, Counter[str]]] = []
        for model in models_of(experiment, entry):
            for width in experiment.widths:
                for method, gamma, unit in lines_of(experiment):
                    made = [
                        network_job(entry, seed, method, gamma, Net(model, width, unit, start), experiment.iterations)
                        for seed, start in starts_of(experiment)
                    ]
                    title = describe(entry, results[made[0]])
                    how = statuses(made, results)
                    named = (title, f"{MODELS[model]}, {width}", NAMES[method], gamma, unit)
                    rows.append((*named, *summary(made, results)))
                    listed += [
                        (*named, start, str(results[job].facts["status"]), int(results[job].facts["n_iter"]))
                        for job, (_, start) in zip(made, starts_of(experiment), strict=True)
                    ]
                    ended.append((gamma, unit, how))
        for method, gamma in linear_lines(experiment):
            made = [walk_job(entry, seed, method, gamma) for seed in seeds_of(experiment)]
            rows.append((title, "linear", NAMES[method], gamma, None, *summary(made, results)))
        sentences += told(experiment, title, ended)
    sentences.append(scope(experiment))
    names = ("data", "model, width", "method", "step size", "unit", *ENDS)
    note = (
        "separated, diverged, stalled (a step of exactly zero), cycle (an iterate came back), out of budget: runs that "
        "ended so; median and interval of the iterations to zero errors, the others counted as larger; interval: 95 %, "
        "by order statistics, or the range of fewer than six runs; errors left: median of the last iterates' wrong rows"
    )
    every = ("data", "model, width", "method", "step size", "unit", "start", "status", "iterations")
    tables = {"": Table(experiment.title, names, rows, note=note)}
    tables["runs"] = Table(f"{experiment.title}: every run", every, listed, listing=True)
    return {}, tables, sentences


ENDS = ("separated", "diverged", "stalled", "cycle", "out of budget", "median", "interval", "errors left")


def statuses(made: Sequence[Job], results: Results) -> Counter[str]:
    """How often runs ended how."""
    return Counter(str(results[job].facts["status"]) for job in made)


def summary(made: Sequence[Job], results: Results) -> Row:
    """How runs ended, the median of their counts with its interval, and the median of the rows left wrong."""
    how, counts = statuses(made, results), np.array([results.count(job) for job in made])
    left = [float(results[job].columns["errors"][-1]) for job in made]
    ends = median_interval(counts) if len(counts) > 5 else (float(counts.min()), float(counts.max()))
    return (
        f"{how['separated']} of {how.total()}",
        *(how[name] for name in ("diverged", "stalled", "cycle", "max-iter")),
        quantile(counts, 0.5),
        ends if len(counts) > 1 else None,
        float(np.median(left)),
    )


def told(experiment: Experiment, title: str, ended: Sequence[tuple[float, float, Counter[str]]]) -> list[str]:
    """Where long steps fail, and what sharp weights do at units of their own."""

    def share(chosen: Sequence[Counter[str]]) -> str:
        lost = sum(how["diverged"] + how["stalled"] for how in chosen)
        good = sum(how["separated"] for how in chosen)
        return f"{good} of {sum(how.total() for how in chosen)} runs separated, {lost} diverged or stalled"

    found = []
    for gamma in experiment.step_sizes:
        plain = [how for g, unit, how in ended if g == gamma and (isinf(g) or unit == g)]
        if isfinite(gamma) and plain:
            found.append(f"γ = {gamma:g}: {share(plain)}")
    said = [f"{title}, plain gradient descent: {'; '.join(found)}."] if found else []
    for unit in experiment.units:
        parts = [
            f"γ = {'∞' if isinf(gamma) else f'{gamma:g}'}: {share([h for g, u, h in ended if (g, u) == (gamma, unit)])}"
            for gamma in (experiment.large, inf)
            if gamma > 0
        ]
        said.append(f"{title}, steps of unit {unit:g}: {'; '.join(parts)}.")
    longest = max((gamma for gamma in experiment.step_sizes if isfinite(gamma)), default=0.0)
    if experiment.claim and experiment.units and longest:
        far = [how for gamma, _, how in ended if gamma == longest]
        units = [[how for gamma, u, how in ended if isinf(gamma) and u == unit] for unit in experiment.units]
        best = max(range(len(units)), key=lambda k: sum(how["separated"] for how in units[k]))
        holds = sum(how["separated"] for how in units[best]) > sum(how["separated"] for how in far)
        said.append(
            f"{for_or_against(holds)}, {title}: at γ = {longest:g} {share(far)}; at γ = ∞ in steps of unit "
            f"{experiment.units[best]:g} {share(units[best])}."
        )
    return said


def scope(experiment: Experiment) -> str:
    """Over what a sentence here holds."""
    if experiment.seeds:
        return (
            f"Each line is over {experiment.seeds} seeds, which draw rows and initialisations together; budgets are "
            f"{experiment.iterations:,} iterations for networks."
        )
    starts = len(starts_of(experiment))
    return f"Single runs: {starts} initialisations on one choice of rows; they say that it can be done, not how often."


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows."""
    return rows_caption(entries_of(experiment, data), experiment.seeds)


KIND = Kind("networks", ("data", "models", "widths", "methods"), jobs, show, work=(NETWORK,), caption=caption)
