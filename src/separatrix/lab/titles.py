"""Titles that name the data that were really used, where others stand in or the quick profile takes fewer rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from separatrix.lab.spec import DataEntry, Experiment

IMAGES = r"(?:CIFAR-10|FashionMNIST|EuroSAT|MNIST)(?: \d/\d)?"
ROWS = r",(?: first)? [\d,]+ rows"
SPAN = re.compile(rf"\b({IMAGES})({ROWS})?(, class \d+ ten times)?")  # of a title of ours: data, how many rows


def titled(experiment: Experiment, data: Mapping[str, DataEntry]) -> Experiment:
    """The experiment under a title that is true of these data: of stand-ins by their name, of fewer rows by number."""
    entries = [data[name] for name in experiment.names()]
    title = experiment.title
    if any(entry.instead_of for entry in entries):
        names = listed([entry.title.split(",")[0] or entry.name for entry in entries])
        found = SPAN.sub(names, title)
        return replace(experiment, title=found if found != title else f"{title} ({names})")
    fewer = sorted({entry.rows for entry in entries if entry.capped and entry.rows})
    if not fewer:
        return experiment
    rows = listed([f"{n:,} rows" for n in fewer])
    found = SPAN.sub(lambda span: f"{span[1]}, {rows}", title)
    return replace(experiment, title=found if found != title else f"{title} ({rows}{' each' * (len(entries) > 1)})")


def listed(names: list[str]) -> str:
    """Each name once: one, or two with an "and", or so many."""
    each = list(dict.fromkeys(names))
    return " and ".join(each) if len(each) < 3 else f"{', '.join(each[:-1])} and {each[-1]}"
