"""Experiments as data: one entry of a TOML file per figure and table, the paper's own in `paper.toml`.

What goes beyond the paper is in `beyond.toml`. That file and those of one's own may name the data entries of the
paper's. `[quick]` caps rows, budgets, seeds and other whole numbers of that profile.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from math import inf, isfinite
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from separatrix.datasets.rows import SCALES
from separatrix.lab.kinds import KINDS, jobs_of
from separatrix.lab.kinds.networks import MODELS
from separatrix.lab.samples import at_hand
from separatrix.lab.spec import (
    CHECKS,
    COLUMNS,
    IMAGES,
    MADE,
    METRICS,
    NO_EXPERIMENT,
    PAPER,
    Count,
    DataEntry,
    Experiment,
    Panel,
    Ratio,
    entries_of_book,
)
from separatrix.lab.titles import listed
from separatrix.reporting.hints import did_you_mean
from separatrix.reporting.table import Table, cell
from separatrix.walking.methods import TABLE, parse_method

BELOW = "budget_below_"  # and a step size


@dataclass(frozen=True)
class Book:
    """All entries of a file: data by name, experiments by id, the caps of the quick profile, the report's title.

    own : whether it is a file of one's own
    stepped : the sentence on the step sizes that a reader put in place of its own, empty where none did
    """

    data: Mapping[str, DataEntry]
    experiments: Mapping[str, Experiment]
    quick: Mapping[str, int] = field(default_factory=dict)
    title: str = "Experiments"
    own: bool = False
    stepped: str = ""

    def chosen(self, wanted: Iterable[str]) -> list[Experiment]:
        """The experiments of these ids; "all" is every one, and "figure-1" or "table" picks by the first words too."""
        found: dict[str, Experiment] = {}
        for name in wanted:
            hits = [e for key, e in self.experiments.items() if name in ("all", key) or key.startswith(f"{name}-")]
            if not hits:
                ids = ", ".join(self.experiments)
                hint = did_you_mean(name, self.experiments)
                raise ValueError(f"no experiment {name!r}{hint}; there are: all, {ids}.")
            found |= {e.id: e for e in hits}
        return list(found.values())

    def stepping(self, wanted: Iterable[str], step_sizes: Sequence[float]) -> Book:
        """The same with these step sizes in place of those of the experiments of curves of these ids."""
        if bad := [gamma for gamma in step_sizes if not gamma > 0]:
            raise ValueError(f"step_size must be a positive number, or inf, got {bad[0]:g}.")
        sizes, before = tuple(sorted(set(step_sizes))), set[float]()
        changed: dict[str, Experiment] = {}
        for e in self.chosen(wanted):
            if not any(gamma < inf for panel in e.panels for _, gamma in panel.runs()):
                raise ValueError(
                    f"step_size is for experiments of curves by step size, such as figure-3, got {e.id}; in a TOML "
                    "file of your own each experiment names its own."
                )
            before |= {gamma for panel in e.panels for method, gamma in panel.runs() if TABLE[method][0]}
            changed[e.id] = replace(e, panels=tuple(replace(panel, step_sizes=sizes) for panel in e.panels))
        ours, theirs = (listed([cell(gamma) for gamma in gammas]) for gammas in (sizes, sorted(before)))
        stepped = (
            f"in place of the {'file' if self.own else 'paper'}'s step sizes ({theirs}) run those of --step-size "
            f"({ours}); claims are held against these alone."
        )
        experiments = {**self.experiments, **changed}
        return replace(self, experiments=experiments, stepped=stepped if set(sizes) != before else "")

    def contents(self) -> Table:
        """Its experiments by id."""
        return Table(self.title, ("id", "kind", "title"), [(e.id, e.kind, e.title) for e in self.experiments.values()])


def paper_book() -> Book:
    """The paper's own experiments."""
    return parse_book(entries_of_book(), f"{PAPER}.toml")


def our_book(name: str) -> Book:
    """One of our own files: the paper's, or what goes "beyond" it."""
    return paper_book() if name == PAPER else parse_book(entries_of_book(name), f"{name}.toml", paper_book())


def read_book(path: Path) -> Book:
    """The experiments of a file; its data entries stand beside the paper's."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}; check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}.") from None
    return replace(parse_book(entries, str(path), paper_book()), own=True)


def parse_book(entries: Mapping[str, Any], where: str, beside: Book | None = None) -> Book:
    """Entries checked one by one; a complaint names the entry, the value seen and what may stand there."""
    data: dict[str, DataEntry] = dict(beside.data) if beside else {}
    for name, entry in entries.get("data", {}).items():
        data[name] = _data_entry(name, entry, f"{where}, [data.{name}]")
    experiments = {
        key: _experiment(key, entry, data, f"{where}, [{key}]")
        for key, entry in entries.items()
        if key not in NO_EXPERIMENT
    }
    if not experiments:
        raise ValueError(f"{where} has no experiment: add an entry like [figure-a] with kind, title and panels.")
    quick = entries.get("quick", dict(beside.quick) if beside else {})
    if not isinstance(quick, dict):
        raise ValueError(f"{where}: quick must be a table such as quick = {{ seeds = 5 }}, got {quick!r}.")
    caps = {str(k): _whole(v, f"{where}, [quick] {k}") for k, v in quick.items()}
    title = entries.get("title", Book.title)
    if not isinstance(title, str):
        raise ValueError(f"{where}: title must be a str, got {title!r}.")
    return Book(data, experiments, caps, title)


def quick_book(book: Book) -> Book:
    """The quick profile: every size capped by the file's [quick] entry.

    `reads` bounds what a run of small steps, which needs every row every time, reads of images: iterations x rows x
    columns.
    """
    caps = book.quick

    def capped(name: str, value: Any) -> Any:
        return min(value, caps[name]) if value is not None and name in caps else value

    budgets = ("budget", "budget_below_10", "budget_below_1")
    names = dict.fromkeys(IMAGES, ("rows", *budgets)) | dict.fromkeys(("planted", "overlap"), budgets)
    data = {}
    for key, m in book.data.items():
        smaller = replace(m, **{name: capped(name, getattr(m, name)) for name in names.get(m.source, ())})
        if "reads" in caps and m.source in COLUMNS:
            steps = max(1, caps["reads"] // ((smaller.rows or 1000) * COLUMNS[m.source]))
            smaller = replace(smaller, budget_below_1=min(smaller.budget_below_1, steps))
        data[key] = replace(smaller, capped=smaller.rows != m.rows)
    experiments = {
        key: replace(
            e,
            **{name: capped(name, getattr(e, name)) for name in caps if type(getattr(e, name, None)) is int},
            sizes=tuple(n for n in e.sizes if n <= caps.get("size", n)),
            widths=tuple(n for n in e.widths if n <= caps.get("width", n)) or e.widths[:1],
        )
        for key, e in book.experiments.items()
    }
    return replace(book, data=data, experiments=experiments)


def caps_on(book: Book, chosen: Collection[str], found: Collection[str] = IMAGES) -> str:
    """Which caps of the quick profile make the work of these experiments smaller, one line; nothing where none does.

    `found` are the image data sets that are here; where the digits stand in, a cap on rows may change nothing.
    """
    full = _work(book, chosen, found)
    smaller = {
        name: cap
        for name, cap in book.quick.items()
        if name != "reads" and _work(quick_book(replace(book, quick={name: cap})), chosen, found) != full
    }
    words = {name: f"{name} {cap:,}" for name, cap in smaller.items() if not name.startswith(BELOW)}
    below = [f"{cap:,} for γ < {name.removeprefix(BELOW)}" for name, cap in smaller.items() if name.startswith(BELOW)]
    if below:
        words["budget"] = f"{words.get('budget', 'budget')} ({', '.join(below)})"
    return ", ".join(words.values())


def _work(book: Book, chosen: Iterable[str], found: Collection[str]) -> list[Hashable]:
    """What of the jobs of these experiments a cap may change."""
    data = {name: at_hand(entry, found) if entry.source in IMAGES else entry for name, entry in book.data.items()}
    jobs = (job for key in chosen for job in jobs_of(book.experiments[key], data))
    return [(job.data.rows, job.seed, job.method, job.step_size, job.limit, job.options) for job in jobs]


def _data_entry(name: str, entry: Any, where: str) -> DataEntry:
    known = _fields(DataEntry, entry, where, without=("name", "instead_of", "capped", "digest"))
    if "source" not in known:
        raise ValueError(f"{where} has no source: a data set ({', '.join((*IMAGES, *MADE))}) or a file.")
    if known.get("scaling", "signed") not in SCALES:
        raise ValueError(f"{where}: scaling must be one of {', '.join(SCALES)}, got {known['scaling']!r}.")
    if known.get("repeated", "larger") not in ("larger", "smaller"):
        raise ValueError(f'{where}: repeated must be "larger" or "smaller", got {known["repeated"]!r}.')
    if not 0 < known.get("fraction", 1.0) <= 1:
        raise ValueError(f"{where}: fraction must be in (0, 1], got {known['fraction']!r}.")
    for key in ("rows", "columns", "repeat", "budget", "budget_below_10", "budget_below_1"):
        if known.get(key) is not None:
            _whole(known[key], f"{where}, {key}")
    if len(known.get("classes", (0, 1))) != 2:
        raise ValueError(f"{where}: classes must be two class numbers, got {list(known['classes'])!r}.")
    if not 0 < known.get("margin", 0.1) < 1:
        raise ValueError(f"{where}: margin must be in (0, 1), a part of R, got {known['margin']!r}.")
    if not 0 <= known.get("offset", 0.0) < inf:
        raise ValueError(f"{where}: offset must be finite and not negative, got {known['offset']!r}.")
    if not 0 < known.get("flipped", 0.1) < 1:
        raise ValueError(f"{where}: flipped must be in (0, 1), got {known['flipped']!r}.")
    if known["source"] == "listed" or "z" in known:
        known["z"] = _rows(known.get("z", ()), where)
        if known.get("times") and len(known["times"]) != len(known["z"]):
            raise ValueError(f"{where}: times must have one number per row of z, got {len(known['times'])}.")
        for count in known.get("times", ()):
            _whole(count, f"{where}, times")
    return DataEntry(name=name, **known)


def _rows(z: tuple[Any, ...], where: str) -> tuple[tuple[float, ...], ...]:
    """Listed rows, of one column where they are numbers."""
    rows = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in z]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and isfinite(v) for row in rows for v in row)
    if len(rows) < 2 or not numbers or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ValueError(f"{where}: z must be a list of two or more rows of equally many numbers, got {list(z)!r}.")
    return tuple(tuple(map(float, row)) for row in rows)


def _experiment(key: str, entry: Any, data: Mapping[str, DataEntry], where: str) -> Experiment:
    known = _fields(Experiment, entry, where, without=("id",))
    for name in ("kind", "title"):
        if name not in known:
            raise ValueError(f"{where} has no {name}.")
    if known["kind"] not in KINDS:
        hint = did_you_mean(known["kind"], KINDS)
        raise ValueError(f"{where}: unknown kind {known['kind']!r}{hint}; {', '.join(KINDS)}.")
    if known["kind"] == "bias" and "iterations" in known:
        raise ValueError(
            f"{where}: kind 'bias' takes no iterations, got {known['iterations']!r}; give its data entry a budget."
        )
    parts: tuple[tuple[str, type[Any]], ...] = (("panels", Panel), ("counts", Count), ("ratios", Ratio))
    for name, part in parts:
        known[name] = tuple(_part(part, one, f"{where}, {name}") for one in known.get(name, ()))
    for name in ("data", "methods", "models"):
        if odd := [one for one in known.get(name) or () if not isinstance(one, str)]:
            raise ValueError(f"{where}: {name} must be names, got {odd[0]!r}.")
    for name, least in (("seeds", 0), ("starts", 0), ("iterations", 0), ("points", 1)):
        if known.get(name) is not None and known[name] < least:
            raise ValueError(f"{where}: {name} must be at least {least}, got {known[name]}.")
    for width in known.get("widths", ()):
        _whole(width, f"{where}, widths")
    for unit in known.get("units", ()):
        if not isinstance(unit, float) or not 0 < unit < inf:
            raise ValueError(f"{where}: units must be positive finite numbers, got {unit!r}.")
    for model in known.get("models", ()):
        if model not in MODELS:
            raise ValueError(f"{where}: unknown model {model!r}{did_you_mean(model, MODELS)}; {', '.join(MODELS)}.")
    experiment = Experiment(id=key, **known)
    for panel in experiment.panels:
        if panel.metric not in METRICS:
            raise ValueError(f"{where}: unknown metric {panel.metric!r}{did_you_mean(panel.metric, METRICS)}.")
    if experiment.check and experiment.check not in CHECKS:
        hint = did_you_mean(experiment.check, CHECKS)
        raise ValueError(f"{where}: unknown check {experiment.check!r}{hint}; {', '.join(CHECKS)}.")
    for method, gamma in _runs(experiment):
        try:
            parse_method(method, gamma)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    for name in experiment.names():
        if name not in data:
            hint = did_you_mean(name, data)
            raise ValueError(f"{where}: no data entry {name!r}{hint}; there are: {', '.join(data)}.")
    kind = KINDS[experiment.kind]
    for name in kind.needs:
        if not (experiment.names() if name == "data" else getattr(experiment, name)):
            raise ValueError(f"{where}: kind {kind.name!r} needs {name} = [...], and there is none.")
    if kind.one_data and len(experiment.names()) > 1:
        raise ValueError(f"{where}: kind {kind.name!r} takes one data entry, got {list(experiment.names())!r}.")
    rows = [count.label for count in experiment.counts]
    for name in (name for ratio in experiment.ratios for name in (ratio.slower, ratio.faster)):
        if name not in rows:
            hint = did_you_mean(name, rows)
            raise ValueError(f"{where}: a ratio names {name!r}{hint}; counts are: {', '.join(rows)}.")
    for power in experiment.powers:
        if not 0 <= power <= 1:
            raise ValueError(f"{where}: powers are from 0 to 1, got {power!r}.")
    span = experiment.span
    if span and not (len(span) == 2 and all(isinstance(end, float) for end in span) and 0 < span[0] < span[1] < inf):
        raise ValueError(f"{where}: span must be two step sizes, the smaller first, got {list(span)!r}.")
    for n in experiment.sizes:
        if _whole(n, f"{where}, sizes") < 2:
            raise ValueError(f"{where}: sizes start at 2, got {n}.")
    return experiment


def _part(part: type[Any], entry: Any, where: str) -> Any:
    """One panel, count or ratio, with all that it needs."""
    known = _fields(part, entry, where)
    for one in fields(part):
        if one.default is MISSING and one.default_factory is MISSING and one.name not in known:
            raise ValueError(f"{where} has no {one.name} in {entry!r}.")
    return part(**known)


def _runs(experiment: Experiment) -> Iterator[tuple[str, float]]:
    for panel in experiment.panels:
        for method in panel.methods:
            yield method, 1.0 if TABLE.get(method, (True,))[0] else inf
        yield from (("lr-gd", gamma) for gamma in panel.step_sizes)
    yield from ((count.method, count.step_size) for count in experiment.counts)
    named = (*experiment.methods, *([experiment.ahead] if experiment.ahead else []))
    named = tuple(method for method in named if method not in KINDS[experiment.kind].others)
    yield from ((method, 1.0 if TABLE.get(method, (True,))[0] else inf) for method in named)
    yield from (("lr-gd", gamma) for gamma in experiment.step_sizes)


def _fields(kind: type[Any], entry: Any, where: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The entry's values by the fields of `kind`, lists as tuples; unknown names and wrong types are complaints."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where} must be a table of names and values, got {entry!r}.")
    types = get_type_hints(kind)
    hints = {f.name: types[f.name] for f in fields(kind) if f.name not in without}
    known = {}
    for name, value in entry.items():
        if name not in hints:
            raise ValueError(f"{where}: unknown name {name!r}{did_you_mean(name, hints)}; names: {', '.join(hints)}.")
        wanted = _plain_types(hints[name])
        whole_as_float = float in wanted and isinstance(value, int) and not isinstance(value, bool)
        given = float(value) if whole_as_float and int not in wanted else value
        given = tuple(given) if isinstance(given, list) else given
        if name in ("step_sizes", "powers", "units", "span") and isinstance(given, tuple):
            given = tuple(float(g) if isinstance(g, int | float) else g for g in given)
        if not isinstance(given, wanted) or isinstance(given, bool) and bool not in wanted:
            words = " or ".join(t.__name__ for t in wanted if t is not type(None)).replace("tuple", "list")
            raise ValueError(f"{where}: {name} must be a {words}, got {value!r}.")
        known[name] = given
    return known


def _plain_types(hint: Any) -> tuple[type, ...]:
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return tuple(str if get_origin(option) is Literal else getattr(option, "__origin__", option) for option in options)


def _whole(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{where} must be a whole number of at least 1, got {value!r}.")
    return value
