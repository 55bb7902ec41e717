"""What each experiment shows: its pictures, tables and sentences, ready for the page."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from separatrix.lab.kinds import KINDS, jobs_of
from separatrix.lab.kinds.shared import Kind
from separatrix.lab.results import Results
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job
from separatrix.reporting.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CLASSES = re.compile(r" \d/\d|, ")  # what of a data set's title is not its name


@dataclass(frozen=True)
class Piece:
    """What one experiment shows: its data, pictures by name, tables by name, and sentences that follow from them."""

    experiment: Experiment
    data: tuple[DataEntry, ...]
    pictures: Mapping[str, Figure]
    tables: Mapping[str, Table]
    sentences: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    caption: str = ""

    @property
    def shown_tables(self) -> list[Table]:
        """All tables but those that list every run, which are files alone."""
        return [table for table in self.tables.values() if not table.listing]

    @property
    def listings(self) -> list[str]:
        """The names of those files, below the folder of tables."""
        return [f"{joined(self.experiment.id, key)}.csv" for key, table in self.tables.items() if table.listing]

    @property
    def kind(self) -> Kind:
        """The kind of its experiment."""
        return KINDS[self.experiment.kind]

    @property
    def signature(self) -> tuple[Hashable, ...]:
        """Pieces with the same signature show the same runs in the same arrangement."""
        arrangement = self.kind.arrangement
        if arrangement is None:
            return (self.experiment.id,)
        return (self.kind.name, tuple(job.place for job in self.jobs), arrangement(self.experiment))


def piece_of(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Piece:
    """The experiment's pictures, tables and sentences."""
    pictures, tables, sentences = KINDS[experiment.kind].show(experiment, data, results)
    used = tuple(data[name] for name in experiment.names())
    caption = KINDS[experiment.kind].caption
    words = caption(experiment, data) if caption and pictures else ""
    return Piece(experiment, used, pictures, tables, tuple(sentences), tuple(jobs_of(experiment, data)), words)


def joined(name: str, key: str) -> str:
    """A file's name: the experiment, and which of its parts."""
    return f"{name}-{key}" if key else name


def notes_on(pieces: Sequence[Piece], stepped: str = "", caps: str = "", own: bool = False) -> list[str]:
    """What stands in for what, what the quick profile made smaller, why nothing is shown; one sentence each.

    `stepped` is the book's sentence on step sizes; `own` says whether caps can be set in a file of the reader's.
    """
    used = [entry for piece in pieces for entry in piece.data]
    absent = dict.fromkeys(CLASSES.split(entry.instead_of)[0] for entry in used if entry.instead_of)
    found = []
    if absent:
        names = ", ".join(absent)
        found.append(
            f"scikit-learn's digits 7/8 stand in for data whose files are not at hand: {names}. "
            "To have them: separatrix datasets fetch."
        )
    if stepped:
        found.append(stepped)
    if caps:
        way = "[quick] in the file sets other caps, " if own else ""
        found.append(f"the quick profile caps {caps}; {way}--profile paper has none.")
    nothing = (words for piece in pieces if not piece.pictures and not piece.tables for words in piece.sentences)
    return [*found, *dict.fromkeys(nothing)]
