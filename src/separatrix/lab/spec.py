"""What an entry of a TOML file of experiments may say: its data, panels, counts and ratios.

A file has entries `[data.NAME]`, which say where rows come from and how many iterations a run on them may take, and
entries `[ID]`, one per figure, table or finding, each of one `kind` (see `separatrix.lab.kinds`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from math import inf, isinf
from pathlib import Path
from typing import Any

from separatrix.datasets.rows import Scale
from separatrix.walking.methods import TABLE

METRICS = ("accuracy", "errors", "loss", "grad_norm", "theta_norm", "min_margin")
STEP_SIZES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
COLUMNS = {"mnist": 784, "fashion-mnist": 784, "cifar-10": 3072, "eurosat": 12288}
IMAGES = tuple(COLUMNS)
MADE = (
    *("digits", "worst-case", "worst-case-weighted", "two-samples"),
    *("planted", "overlap", "listed", "parity", "three-rows"),
)
CHECKS = ("step-sizes", "limit", "ahead")  # that a figure's claim can be held against
NO_EXPERIMENT = ("title", "data", "quick")  # names of a file's other entries
PAPER = "paper"
BOOKS = (PAPER, "beyond")  # our own files of experiments, NAME.toml


def entries_of_book(name: str = PAPER) -> dict[str, Any]:
    """The entries of one of our own files, not yet checked."""
    return tomllib.loads((files("separatrix.lab") / f"{name}.toml").read_text(encoding="utf-8"))


def ids_of_book(name: str = PAPER) -> list[str]:
    """The ids of its experiments; nothing that runs them is loaded for it."""
    return [key for key in entries_of_book(name) if key not in NO_EXPERIMENT]


@dataclass(frozen=True)
class DataEntry:
    """Where rows come from, and how long a run on them may take.

    source : a data set of `separatrix.datasets`, "digits", "worst-case" (or -weighted: equal rows once, with their
        number as weight), "two-samples", "planted" (random rows that a known vector separates), "overlap" (the same
        with labels turned round), "listed" (the rows of `z`), "parity" (random signs, labelled by the product of the
        first two), "three-rows" (of d columns, told apart by the last one alone), or a file
    target : the label column, where `source` is a table
    rows : the first so many, or with a seed so many at random; all when not given. Of made data: how many are made
    columns : of made data, d
    margin, offset, flipped : of planted data, whose seed is the job's: the planted margin as a part of
        R = 1; the length of a vector common to all a_i, in units of the rest's (it makes runs long); and the share of
        labels turned round in "overlap"
    z, times : the rows z_i = y_i a_i themselves, where they are listed, and how often each is there
    scaling : of pixels, as in `datasets.load`: "signed", "unit", "standard" or "standard-pair"
    fraction, repeat : the appendix's imbalance: keep this part of all rows, then take one class so many times,
    repeated : that class, "larger" or "smaller" by its number
    shuffle : a seed, by which the rows, once chosen, are put in another order
    budget : iterations for the perceptrons and for step sizes from 10 up; 50 times as many updates one row at a time
    budget_below_10, budget_below_1 : for smaller steps, which would take for ever
    columns_from : finite steps this large keep margins by columns of G, also where `engine="auto"` would read rows
    instead_of : the data set that this one stands in for
    capped : whether the quick profile took fewer rows than the entry says
    digest : of the file's content, so that runs on a changed file are not taken for these
    """

    name: str
    source: str
    title: str = ""
    target: str | None = None
    classes: tuple[int, int] | None = None
    rows: int | None = None
    columns: int | None = None
    margin: float = 0.1
    offset: float = 0.0
    flipped: float = 0.1
    z: tuple[tuple[float, ...], ...] = ()
    times: tuple[int, ...] = ()
    scaling: Scale = "signed"
    fraction: float = 1.0
    repeat: int = 1
    repeated: str = "larger"
    shuffle: int | None = None
    budget: int = 100_000
    budget_below_10: int = 100_000
    budget_below_1: int = 100_000
    columns_from: float = inf
    instead_of: str = ""
    capped: bool = False
    digest: str = ""

    @property
    def as_printed(self) -> bool:
        """Whether these are the rows that printed values are about."""
        return not self.instead_of and not self.capped

    @property
    def slug(self) -> str:
        """What is read, as a folder's name; runs on the same rows share it, whatever the entry is called."""
        words = [Path(self.source).stem if self.source not in (*IMAGES, *MADE) else self.source]
        words += [str(c) for c in self.classes or ()]
        words += [str(self.rows) if self.rows else "all", *(self.made.values() or [self.scaling])]
        words += [f"{self.fraction:g}-{self.repeated}-x{self.repeat}"] if self.repeat > 1 or self.fraction < 1 else []
        words += [] if self.shuffle is None else [f"order-{self.shuffle}"]
        words += [self.digest] if self.digest else []
        return "-".join("".join(c if c.isalnum() or c in ".-" else "_" for c in word) for word in words)

    @property
    def made(self) -> dict[str, str]:
        """What else made rows depend on, in words that tell any two apart."""
        digests = {key: blake2b(repr(getattr(self, key)).encode(), digest_size=6).hexdigest() for key in ("z", "times")}
        planted = {"columns": f"x{self.columns or 10}", "margin": f"{self.margin:g}", "offset": f"{self.offset:g}"}
        overlap = planted | {"flipped": f"flipped-{self.flipped:g}"}
        plain = {"columns": planted["columns"]}
        made = {"listed": digests, "planted": planted, "overlap": overlap, "parity": plain, "three-rows": plain}
        return made.get(self.source, {})

    def limit(self, step_size: float) -> int:
        """Iterations that a run with this step size may take."""
        return self.budget if step_size >= 10 else self.budget_below_10 if step_size >= 1 else self.budget_below_1


@dataclass(frozen=True)
class Panel:
    """One picture: a metric over iterations, of these methods on these data."""

    data: str
    metric: str = "accuracy"
    methods: tuple[str, ...] = ("lr-gd",)
    step_sizes: tuple[float, ...] = STEP_SIZES

    def runs(self) -> Iterator[tuple[str, float]]:
        """(method, step size) of every line."""
        for method in self.methods:
            yield from ((method, gamma) for gamma in (self.step_sizes if TABLE[method][0] else (inf,)))


def label(method: str, gamma: float) -> str:
    """A run's name: the method, and its step size where it has one."""
    return method if isinf(gamma) else f"{method} {gamma:g}"


@dataclass(frozen=True)
class Count:
    """One row of a table of counts; `printed` is the paper's value, None where it has none."""

    method: str
    step_size: float
    printed: int | None = None

    @property
    def label(self) -> str:
        """The name that ratios use."""
        return label(self.method, self.step_size)


@dataclass(frozen=True)
class Ratio:
    """A claim about two rows of a table of counts: `slower` takes `claimed` times the iterations of `faster`."""

    slower: str
    faster: str
    claimed: float
    text: str = ""


@dataclass(frozen=True)
class Experiment:
    """One figure, table or finding.

    check : what a figure's claim is held against: "step-sizes" (larger steps are sooner and have the higher loss),
        "limit" (the largest step walks like the batch perceptron) or "ahead" (one method needs fewer iterations)
    ahead, ahead_on : the method that is said to need fewer iterations, and on how many of the data at least
    large : step sizes from here on are looked at alone too
    powers : of a tempered method, from 0 to 1
    span, points : step sizes from … to … in units that the kind says, and how many
    starts : how many random θ_0 there are, beside 0 where that is one
    models, widths : of networks, by their names in `lab.kinds.networks`, and how many units or filters they have
    units : what a network's steps are multiplied by where the step size is `large` or ∞; elsewhere it is the step size
    """

    id: str
    kind: str
    title: str
    claim: str = ""
    data: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    counts: tuple[Count, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    methods: tuple[str, ...] = ()
    step_sizes: tuple[float, ...] = STEP_SIZES
    seeds: int = 0
    iterations: int = 500
    sizes: tuple[int, ...] = ()
    exact: bool = False
    check: str = ""
    ahead: str = ""
    ahead_on: int = 0
    large: float = 0.0
    powers: tuple[float, ...] = ()
    models: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()
    units: tuple[float, ...] = ()
    span: tuple[float, ...] = ()
    points: int = 100
    starts: int = 0

    def names(self) -> tuple[str, ...]:
        """The data entries it needs."""
        return tuple(dict.fromkeys((*self.data, *(panel.data for panel in self.panels))))
