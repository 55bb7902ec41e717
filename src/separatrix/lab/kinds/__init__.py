"""The kinds of experiment, one file each: what an entry needs, which jobs it runs, what they show.

A new kind is a file here, with a `KIND`, and a line in the table below.
"""

from __future__ import annotations

from collections.abc import Mapping

from separatrix.lab.jobs import WALK, Work
from separatrix.lab.kinds import (
    alignment,
    bias,
    bifurcation,
    chaos,
    counts,
    curves,
    growth,
    limit,
    network_growth,
    networks,
    orders,
    powers,
    ranks,
    scalings,
    scoreboard,
    theory,
    verdict,
    wins,
)
from separatrix.lab.kinds.shared import Kind
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        curves.KIND,
        counts.KIND,
        scalings.KIND,
        wins.KIND,
        orders.KIND,
        powers.KIND,
        alignment.KIND,
        ranks.KIND,
        growth.KIND,
        theory.KIND,
        verdict.KIND,
        bifurcation.KIND,
        chaos.KIND,
        scoreboard.KIND,
        limit.KIND,
        bias.KIND,
        networks.KIND,
        network_growth.KIND,
    )
}


def jobs_of(experiment: Experiment, data: Mapping[str, DataEntry]) -> list[Job]:
    """All work behind one figure, table or finding."""
    return list(KINDS[experiment.kind].jobs(experiment, data))


def work_of(job: Job) -> Work:
    """What this job computes: a run, or what one kind of experiment alone asks for."""
    every = {work.name: work for kind in KINDS.values() for work in kind.work} | {WALK.name: WALK}
    return every[job.kind]
