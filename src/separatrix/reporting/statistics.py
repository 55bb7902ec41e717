"""Counts over random subsamples: order statistics that know of unfinished runs, ranks, bootstraps, slopes.

A run that spent its budget is censored: all that is known is that its count is larger. It enters as ∞, which is right
for everything here that uses only the order of the counts, and is never dropped.
"""

from __future__ import annotations

from math import comb, inf, isnan, nan

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]  # one per subsample, ∞ where the run was censored
DRAWS = 4000


def quantile(counts: Counts, q: float) -> float:
    """The q-quantile, linear between two order statistics; ∞ where it falls among censored runs."""
    ordered = np.sort(counts)
    at = q * (len(ordered) - 1)
    lo, hi = ordered[int(np.floor(at))], ordered[int(np.ceil(at))]
    return float(lo) if lo == hi else float(lo + (hi - lo) * (at - np.floor(at)))


def median_interval(counts: Counts, level: float = 0.95) -> tuple[float, float]:
    """Two order statistics that have the median between them with at least this probability, whatever the distribution.

    The number of counts below the median is binomial; where there are too few for the level, the ends are 0 and ∞.
    """
    n = len(counts)
    tail, k = 0.5**n, 0  # of P(at most k counts are below the median)
    if 2 * tail > 1 - level:
        return 0.0, inf
    while 2 * (more := tail + comb(n, k + 1) * 0.5**n) <= 1 - level:
        tail, k = more, k + 1
    ordered = np.sort(counts)
    return float(ordered[k]), float(ordered[n - 1 - k])


def rank_of(value: float, counts: Counts) -> tuple[float, float]:
    """The share of counts below `value` (ties half), and the two-sided p-value of so extreme a rank.

    If the paper's subsample were drawn as ours are, its value would take every rank with the same chance.
    """
    n = len(counts)
    below, above = int((counts <= value).sum()), int((counts >= value).sum())
    share = (float((counts < value).sum()) + 0.5 * float((counts == value).sum())) / n
    return share, min(1.0, 2 * (min(below, above) + 1) / (n + 1))


def joint_p(values: Counts, subsamples: NDArray[np.float64]) -> float:
    """The p-value of several values of one more subsample together, one per column of `subsamples`.

    All rows are ranked column by column, and the largest distance of a row's ranks from the middle is held against that
    of all others. Were the row drawn as the others are, each place would be equally likely, however columns depend on
    each other.
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.vstack([values, subsamples]), axis=0)
    extreme = np.abs(ranks - (len(ranks) + 1) / 2).max(axis=1)
    return float((extreme >= extreme[0]).mean())


def ratio_ends(slower: Counts, faster: Counts) -> tuple[Counts, Counts]:
    """slower/faster within each subsample as the two ends of what is known: they differ where both were censored."""
    with np.errstate(invalid="ignore", divide="ignore"):
        known = slower / faster
    open_ended = np.isinf(slower) & np.isinf(faster)
    return np.where(open_ended, 0.0, known), np.where(open_ended, inf, known)


def median_ratio(slower: Counts, faster: Counts, seed: int = 0) -> tuple[float, float, float]:
    """The median of the paired ratios and its 95 % bootstrap interval, subsamples drawn anew with both their runs."""
    low, high = ratio_ends(slower, faster)
    draws = np.random.default_rng(seed).integers(len(low), size=(DRAWS, len(low)))
    ends = [np.median(values[draws], axis=1) for values in (low, high)]
    middle = float(np.median(low)) if np.median(low) == np.median(high) else nan
    return (
        middle,
        float(np.quantile(ends[0], 0.025, method="lower")),
        float(np.quantile(ends[1], 0.975, method="higher")),
    )


def slope(sizes: Counts, counts: Counts) -> tuple[float, float]:
    """The exponent b of counts ≈ a·sizes^b by least squares on logarithms, and its standard error."""
    x, y = np.log(sizes), np.log(counts / counts[0])  # equal counts give exactly 0
    x = x - x.mean()
    b = float(x @ y / (x @ x))
    rest = y - y.mean() - b * x
    spread = float(rest @ rest) / max(len(x) - 2, 1)
    return b, float(np.sqrt(spread / (x @ x)))


def rank_correlation(a: Counts, b: Counts) -> float:
    """Spearman's: the correlation of ranks, ties sharing theirs; NaN where all of a or of b are equal."""
    from scipy.stats import rankdata

    x, y = rankdata(a), rankdata(b)
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else nan


def spread(values: Counts) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of the values that are numbers; NaN where none is."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return nan, nan, nan
    low, middle, high = np.quantile(known, (0.25, 0.5, 0.75))
    return float(low), float(middle), float(high)


def in_percent(share: float) -> str:
    """0.034 as 3 %."""
    return "" if isnan(share) else f"{100 * share:.0f} %"
