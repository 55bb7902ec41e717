"""One command: experiments → jobs → results → figures, tables, report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from separatrix.datasets import available
from separatrix.lab import figures
from separatrix.lab.book import Book, caps_on, quick_book
from separatrix.lab.figures import inline
from separatrix.lab.kinds import jobs_of
from separatrix.lab.pieces import Piece, joined, notes_on, piece_of
from separatrix.lab.report_page import anchor, markdown, page, sections, unique
from separatrix.lab.results import Results
from separatrix.lab.samples import at_hand
from separatrix.lab.store import Job, Store, write_whole
from separatrix.lab.theorems import theorem_tables
from separatrix.lab.titles import titled
from separatrix.lab.workers import do_all
from separatrix.reporting.hints import install
from separatrix.reporting.machine import machine
from separatrix.reporting.progress import in_words
from separatrix.reporting.table import FORMS, Table

PROFILES = ("quick", "paper")


@dataclass(frozen=True)
class Report:
    """Where the report is and what it holds."""

    path: Path
    pieces: tuple[Piece, ...]
    theorems: tuple[Table, ...]
    failures: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...] = ()  # those of `notes_on`

    @property
    def exact(self) -> int:
        """How many numbers had to come out exactly."""
        return sum(table.exact for table in (*(t for p in self.pieces for t in p.tables.values()), *self.theorems))

    def to_dict(self) -> dict[str, Any]:
        """Everything that is printed, in types that JSON knows."""
        tables = [{"title": t.title, "columns": t.columns, "rows": t.rows, "failures": t.failures} for t in self.tables]
        return {
            "report": str(self.path),
            "experiments": [piece.experiment.id for piece in self.pieces],
            "tables": tables,
            "notes": self.notes,
            "failures": self.failures,
            "seconds": self.seconds,
        }

    @property
    def tables(self) -> list[Table]:
        """All tables but long ones, such as those of the figures."""
        shown = [t for piece in self.pieces if not piece.kind.long_tables for t in piece.shown_tables]
        return [*shown, *self.theorems]


def reproduce(
    book: Book,
    wanted: Sequence[str],
    *,
    profile: str = "quick",
    out: Path = Path("report"),
    data_dir: str | None = None,
    workers: int | None = None,
    show: bool = False,
    theorems: bool = False,
    title: str | None = None,
) -> Report:
    """Run what is not yet run, then write `out`/index.html, and figures and tables beside it.

    `theorems` adds the two theorems in numbers; `title` is the book's unless given.
    """
    if profile not in PROFILES:
        raise ValueError(f"unknown profile {profile!r}; profiles: {', '.join(PROFILES)}.")
    need_matplotlib()
    began = time.perf_counter()
    title = book.title if title is None else title
    whole, book = book, quick_book(book) if profile == "quick" else book
    asked = book.chosen(wanted)
    found = available(data_dir)
    data = {name: at_hand(entry, found) for name, entry in book.data.items()}
    chosen = [titled(experiment, data) for experiment in asked]
    caps = caps_on(whole, [experiment.id for experiment in chosen], found) if profile == "quick" else ""
    used = {name for experiment in chosen for name in experiment.names()}
    jobs = [job for experiment in chosen for job in jobs_of(experiment, data)]
    store = Store(out / "runs")
    workers = os.cpu_count() or 1 if workers is None else workers
    busy = do_all(jobs, store, data_dir=data_dir, workers=workers, show=show)
    results = Results(store)
    pieces = tuple(piece_of(experiment, data, results) for experiment in chosen)
    proven = tuple(theorem_tables()) if theorems else ()
    tables = [*(t for piece in pieces for t in piece.tables.values()), *proven]
    failures = tuple(failure for table in tables for failure in table.failures)
    drawings: dict[tuple[object, ...], dict[str, dict[str, bytes]]] = {}
    for piece in pieces:
        if piece.signature not in drawings:
            drawings[piece.signature] = {
                key: {form: figures.saved(figure, form) for form in figures.FORMATS}
                for key, figure in piece.pictures.items()
            }
        write_piece(piece, drawings[piece.signature], out)
    drawn = {
        piece.experiment.id: [
            inline(figure, f"{anchor(piece.experiment.id)}-{k}", piece.experiment.title)
            for k, figure in enumerate(piece.pictures.values())
        ]
        for _, inside in sections(pieces)
        for piece in unique(inside)
    }
    facts = machine()
    seeds = max((experiment.seeds for experiment in chosen), default=0)
    shown = {
        "profile": profile,
        "data": ", ".join(sorted({data[name].source for name in used})),
        "runs": f"{len(set(jobs)):,}, of {in_words(run_seconds(results, jobs))} in all",
        "seeds of the subsamples": f"0 to {seeds - 1}" if seeds else "none drawn",
        "this call": in_words(time.perf_counter() - began)
        + f", {in_words(busy)} of it for runs that were not yet there",
        "machine": f"{facts['cores']} cores, {facts['processor']}, {facts['system']}",
        "Python": facts["python"],
        **{name: version for name, version in facts["packages"].items() if version},
    }
    notes = tuple(notes_on(pieces, book.stepped, caps, book.own))
    report = Report(out / "index.html", pieces, proven, failures, time.perf_counter() - began, notes)
    write_whole(out / "report.md", markdown(report.notes, pieces, proven, shown, title).encode())
    opening = [*((note, "warn") for note in report.notes), *((failure, "fail") for failure in failures)]
    opening += [(came_out(report.exact), "")] if report.exact and not failures else []
    write_whole(out / "index.html", page(opening, pieces, drawn, proven, shown, title).encode())
    return report


def came_out(exact: int) -> str:
    """What is said where nothing failed and something might have."""
    every = "the one number" if exact == 1 else f"each of the {exact} numbers"
    return f"{every} that must come out exactly did."


def need_matplotlib() -> None:
    """Complain before the runs, not after them."""
    try:
        import matplotlib  # noqa: F401  # only to see whether it is there
    except ImportError:
        raise ImportError(f"figures need matplotlib: {install('lab')}.") from None


def run_seconds(results: Results, jobs: Sequence[Job]) -> float:
    """What all runs took together, those of earlier calls included."""
    return float(sum(results[job].facts.get("seconds", 0.0) for job in set(jobs)))


def write_piece(piece: Piece, drawn: Mapping[str, Mapping[str, bytes]], out: Path) -> None:
    """Figures in every format, tables in every form, and the spec beside them."""
    name = piece.experiment.id
    for key, forms in drawn.items():
        for form, content in forms.items():
            write_whole(out / "figures" / f"{joined(name, key)}.{form}", content)
    for key, table in piece.tables.items():
        for form, write in FORMS.items() if not table.listing else [("csv", FORMS["csv"])]:
            write_whole(out / "tables" / f"{joined(name, key)}.{form}", write(table).encode())
    write_whole(out / "specs" / f"{name}.json", spec_of(piece).encode())


def spec_of(piece: Piece) -> str:
    """The experiment and its jobs as JSON, for those who want to know exactly."""
    about = {
        "id": piece.experiment.id,
        "title": piece.experiment.title,
        "claim": piece.experiment.claim,
        "jobs": [
            job.describe() | {"limit": job.limit if isfinite(job.limit) else None, "file": job.place.as_posix()}
            for job in dict.fromkeys(piece.jobs)
        ],
    }
    return json.dumps(about, indent=1) + "\n"
