"""What the runs of a figure say for or against its claim, in a sentence with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import inf, isfinite

import numpy as np

from separatrix.lab.kinds.shared import Data, by_share, describe, for_or_against, walk_job
from separatrix.lab.results import Results
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Result
from separatrix.plot import NAMES
from separatrix.reporting.plain import counted
from separatrix.reporting.statistics import in_percent as percent

NEAR = 0.1  # counts within this of each other are alike
CLOSE = 0.01  # and so are accuracies
MOSTLY = 0.95  # of all cases is as good as all


def evidence(experiment: Experiment, data: Data, results: Results) -> list[str]:
    """The sentences of the check that the entry names; none without one."""
    entries = list({data[name].slug: data[name] for name in experiment.names()}.values())
    if experiment.check == "ahead":
        return [who_is_ahead(experiment, entries, results)]
    if not experiment.check:
        return []
    found = []
    for entry in entries:
        panels = [panel for panel in experiment.panels if data[panel.data].slug == entry.slug]
        gammas = sorted({gamma for panel in panels for _, gamma in panel.runs() if isfinite(gamma)})
        runs = [(gamma, results[walk_job(entry, None, "lr-gd", gamma)]) for gamma in gammas]
        if len(runs) < (2 if experiment.check == "step-sizes" else 1):
            found.append(too_few(experiment.check, gammas))
        elif experiment.check == "step-sizes":
            found += [larger_is_sooner(runs), larger_is_higher(runs)]
        else:
            found.append(like_the_limit(*runs[-1], results[walk_job(entry, None, "batch-perceptron", inf)]))
    return list(dict.fromkeys(found))


def too_few(check: str, gammas: Sequence[float]) -> str:
    """What is said in place of evidence where readers chose step sizes that leave nothing to compare."""
    asks = "pairs of finite step sizes" if check == "step-sizes" else "the largest finite step size"
    here = f"the only one here is γ = {gammas[0]:g}" if gammas else "there is none here"
    return f"Neither for nor against the claim: it is about {asks}, and {here}."


def larger_is_sooner(runs: Sequence[tuple[float, Result]]) -> str:
    """Of the pairs of step sizes whose order is known, in how many the larger one separates first.

    A run that spent its budget is later than one that separated within as many iterations, and not comparable else.
    """
    orders = [order_of(a, b) for (_, a), (_, b) in combinations(runs, 2)]
    sooner, later, level = (orders.count(word) for word in ("sooner", "later", "level"))
    counts = {gamma: r.facts["n_iter"] for gamma, r in runs if r.facts["separated"]}
    spent = [f"γ = {gamma:g} ({r.facts['n_iter']:,})" for gamma, r in runs if not r.facts["separated"]]
    told = ", ".join(f"γ = {gamma:g} after {count:,}" for gamma, count in counts.items())
    ends = [f"separated: {told}" if told else "no run separated", f"budget spent: {', '.join(spent)}" if spent else ""]
    ending = "; ".join(end for end in ends if end)
    verdict = lower(by_share(sooner / (sooner + later))) if sooner + later else "neither for nor against the claim"
    return (
        f"Sooner: {verdict}, of {counted(len(orders), 'pair')} of step sizes the larger needs fewer iterations in "
        f"{sooner}, more in {later}, as many within {percent(NEAR)} in {level}, and a budget leaves {orders.count('')} "
        f"open; {ending}."
    )


def order_of(a: Result, b: Result) -> str:
    """Whether run b is sooner than run a, later, or level; nothing where a budget was spent before that is known."""
    made, other = a.facts["n_iter"], b.facts["n_iter"]
    if a.facts["separated"] and b.facts["separated"]:
        return "level" if abs(made - other) <= NEAR * min(made, other) else "sooner" if other < made else "later"
    if b.facts["separated"]:
        return "sooner" if made >= other else ""
    return "later" if a.facts["separated"] and other >= made else ""


def larger_is_higher(runs: Sequence[tuple[float, Result]]) -> str:
    """At how many of the recorded iterations before either separates the larger step has the higher loss."""
    shares = {
        metric: {
            (small, large): share
            for (small, a), (large, b) in combinations(runs, 2)
            if (share := share_above(a, b, metric)) is not None
        }
        for metric in ("loss", "grad_norm")
    }
    if not shares["loss"]:
        return (
            "Higher loss: neither for nor against the claim, of each pair of step sizes one has separated before there "
            "is a loss to compare."
        )
    loss, norm = (float(np.mean(list(of.values()))) for of in shares.values())
    large = [share for (_, gamma), share in shares["loss"].items() if gamma >= 1]
    alone = f", {percent(float(np.mean(large)))} where it is at least 1" if large else ""
    low = min(shares["loss"], key=lambda pair: shares["loss"][pair])
    return (
        f"Higher loss: {lower(by_share(loss, MOSTLY))}, before either has separated the larger step of a pair has the "
        f"higher loss at {percent(loss)} of the recorded iterations{alone}, least often of γ = {low[0]:g} "
        f"and {low[1]:g} ({percent(shares['loss'][low])}); and the longer gradient at {percent(norm)}."
    )


def share_above(a: Result, b: Result, metric: str) -> float | None:
    """The share of iterations t ≥ 1 recorded in both, before either separates, at which b's metric is above a's."""
    last = min(r.facts["n_iter"] if r.facts["separated"] else inf for r in (a, b))
    t, i, j = np.intersect1d(a.columns["iteration"], b.columns["iteration"], return_indices=True)
    kept = (t >= 1) & (t < last)
    if not kept.any():
        return None
    return float((b.columns[metric][j[kept]] > a.columns[metric][i[kept]]).mean())


def like_the_limit(gamma: float, large: Result, limit: Result) -> str:
    """Counts of LR+GD at its largest step and of the batch perceptron, and how far apart their accuracies are."""
    t, i, j = np.intersect1d(large.columns["iteration"], limit.columns["iteration"], return_indices=True)
    apart = np.abs(large.columns["accuracy"][i] - limit.columns["accuracy"][j])[t >= 1]
    middle = float(np.median(apart))
    both = f"γ = {gamma:g} and the batch perceptron"
    if large.facts["separated"] and limit.facts["separated"]:
        ours, theirs = large.facts["n_iter"], limit.facts["n_iter"]
        near = abs(ours - theirs) <= NEAR * theirs
        counts = f"{both} need {ours:,} and {theirs:,} iterations, {100 * (ours / theirs - 1):+.1f} %"
        share = (near + (middle <= CLOSE)) / 2
    else:
        counts = f"{both} did not both separate within their budgets"
        share = float(middle <= CLOSE)
    return (
        f"{by_share(share)} (alike: counts within {percent(NEAR)}, accuracies within {CLOSE:g}): {counts}; at the same "
        f"recorded iteration their accuracies differ by {middle:.2g} in the median and {apart.max():.2g} at most."
    )


def who_is_ahead(experiment: Experiment, entries: Sequence[DataEntry], results: Results) -> str:
    """On which data the method that the claim names needs fewer iterations than all others of the figure."""
    others = {method for panel in experiment.panels for method, gamma in panel.runs()} - {experiment.ahead}
    wins, told = 0, []
    for entry in entries:
        job = walk_job(entry, None, experiment.ahead, inf)
        ours = results.count(job)
        best = min(results.count(walk_job(entry, None, method, inf)) for method in others)
        wins += ours < best
        told.append(f"{describe(entry, results[job])} {ours:,.0f} against {best:,.0f}")
    holds = for_or_against(wins >= min(experiment.ahead_on, len(entries)))
    return (
        f"{holds}: on one choice of rows each the {NAMES[experiment.ahead]} needs fewer iterations on {wins} of "
        f"{counted(len(entries), 'data set')}: {'; '.join(told)}."
    )


def lower(words: str) -> str:
    """With a small first letter, inside a sentence."""
    return words[0].lower() + words[1:]
