"""Small random problems of every kind, family after family.

A seed gives one problem. Families alternate with the seed, and with each round those that can take it or leave it
alternate between an intercept and none. What a family's name promises holds before scaling and rounding; whether it
still holds after them is for the oracle to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Generator = np.random.Generator
Data = tuple[np.ndarray, np.ndarray]
Builders = Mapping[str, tuple[Callable[[Generator, bool], Data], bool | None]]
MARGINS = (1.0, 1e-3, 1e-6, 1e-9)
ALWAYS, NEVER = True, False


def small_problem(seed: int) -> tuple[str, np.ndarray, np.ndarray, bool]:
    """Make one problem from its seed: (family, X, y, fit_intercept), y in {-1, 1} with both present."""
    return problem_of(BUILDERS, seed, np.random.default_rng(seed))


def problem_of(builders: Builders, seed: int, rng: Generator) -> tuple[str, np.ndarray, np.ndarray, bool]:
    """The same of these families."""
    family = tuple(builders)[seed % len(builders)]
    builder, intercept = builders[family]
    if intercept is None:
        intercept = bool(seed // len(builders) % 2)
    X, y = builder(rng, intercept)
    order = rng.permutation(len(y))  # no row is known by its place
    return family, X[order], y[order], intercept


# Pieces.


def signs(rng: Generator, n: int) -> np.ndarray:
    """Random labels, both present."""
    y = rng.choice([-1, 1], n)
    y[:2] = -1, 1
    return rng.permutation(y)


def sizes(rng: Generator, n_range: tuple[int, int], d_range: tuple[int, int]) -> tuple[int, int]:
    """Draw n and d, ends included."""
    return int(rng.integers(*n_range, endpoint=True)), int(rng.integers(*d_range, endpoint=True))


def unimodular(rng: Generator, d: int) -> np.ndarray:
    """A whole matrix with a whole inverse: a few columns added to others, then a permutation."""
    U = np.eye(d, dtype=int)
    for _ in range(d if d > 1 else 0):
        j, k = rng.choice(d, 2, replace=False)
        U[:, k] += rng.choice([-1, 1]) * U[:, j]
    return U[:, rng.permutation(d)]


def with_margin(rng: Generator, n: int, d: int, margin: float, intercept: bool) -> Data:
    """A unit u and an offset b with y_i (a_iᵀu + b) ≥ margin; about half of the rows meet it, up to rounding."""
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    b = rng.standard_normal() if intercept else 0.0
    y = signs(rng, n)
    A = rng.standard_normal((n, d))
    s = A @ u + b
    s_wanted = np.where(rng.random(n) < 0.5, 0.0, y * np.abs(s)) + y * margin
    return A + np.outer(s_wanted - s, u), y


def without_rule(rng: Generator, n: int, d: int) -> Data:
    """Rows and labels that have nothing to do with each other."""
    return rng.standard_normal((n, d)), signs(rng, n)


def half_on_a_plane(rng: Generator, n: int, d: int, intercept: bool) -> Data:
    """Whole rows: some in a hyperplane, where λ = 1 proves overlap, the rest strictly on their own side; then mixed."""
    y = rng.permutation(np.resize([-1, 1], n))
    on = rng.permutation(n)[: int(rng.integers(2, max(2, n - 1), endpoint=True))]
    if intercept:  # as many of each class on the plane, so that Σ y_i = 0 there
        k = max(1, min(np.sum(y[on] == 1), np.sum(y[on] == -1)))
        on = np.concatenate([np.flatnonzero(y == 1)[:k], np.flatnonzero(y == -1)[:k]])
    A = rng.integers(-3, 4, (n, d))
    A[:, 0] = y * rng.integers(1, 4, n)  # the separating coordinate
    A[on, 0] = 0
    A[on[-1]] -= y[on[-1]] * (y[on] @ A[on])  # Σ y_i a_i = 0 over the plane
    A = A @ unimodular(rng, d)
    return A + rng.integers(-3, 4, d) * intercept, y


def anything(rng: Generator, intercept: bool, n_range: tuple = (4, 30), d_range: tuple = (1, 6)) -> Data:
    """One of the three kinds."""
    n, d = sizes(rng, n_range, d_range)
    which = rng.integers(3)
    if which == 0:
        return with_margin(rng, n, d, rng.choice(MARGINS), intercept)
    if which == 1:
        return without_rule(rng, max(n, 3 * d), d)
    return half_on_a_plane(rng, n, d, intercept)


def powers(rng: Generator, count: int, most: int = 150) -> np.ndarray:
    """Factors 10**k, -most ≤ k ≤ most, or the powers of two next to them, which round nothing."""
    factor = 10.0 ** rng.integers(-most, most, count, endpoint=True)
    return factor if rng.random() < 0.5 else 2.0 ** np.round(np.log2(factor))


def nudged(rng: Generator, a: np.ndarray) -> np.ndarray:
    """Leave it, or move one entry by an ulp, or move each by one."""
    up = np.nextafter(a, np.where(rng.random(len(a)) < 0.5, np.inf, -np.inf))
    moved = (np.zeros(len(a)), np.arange(len(a)) == rng.integers(len(a)), np.ones(len(a)))[rng.integers(3)]
    return np.where(moved.astype(bool) & (a != 0), up, a)


# Families.


def planted_margin(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (2, 40), (1, 8))
    return with_margin(rng, n, d, rng.choice(MARGINS), intercept)


def overlap(rng: Generator, intercept: bool) -> Data:
    d = int(rng.integers(1, 8, endpoint=True))
    return without_rule(rng, int(rng.integers(3 * d + 3, 40, endpoint=True)), d)


def quasi_complete(rng: Generator, intercept: bool) -> Data:
    return half_on_a_plane(rng, *sizes(rng, (4, 40), (1 if intercept else 2, 8)), intercept)


def zero_row(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (3, 39), (1, 8))
    X, y = with_margin(rng, n, d, rng.choice(MARGINS), intercept)
    return np.vstack([X, np.zeros(d)]), np.append(y, rng.choice([-1, 1]))


def contradictory_duplicates(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (3, 36), (2, 8))
    X, y = with_margin(rng, n, d, rng.choice(MARGINS), intercept)
    again = rng.choice(n, rng.integers(1, 3), replace=False)
    return np.vstack([X, X[again]]), np.append(y, -y[again])


def low_rank_overlap(rng: Generator, intercept: bool) -> Data:
    d = int(rng.integers(2, 8, endpoint=True))
    rank = int(rng.integers(1, d))
    n = int(rng.integers(3 * rank + 3, 40, endpoint=True))
    return rng.integers(-4, 5, (n, rank)) @ rng.integers(-3, 4, (rank, d)), signs(rng, n)


def low_rank_separable(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (4, 40), (2, 8))
    rank = int(rng.integers(1, d))
    y = signs(rng, n)
    A = rng.integers(-4, 5, (n, rank))
    A[:, 0] = y * rng.integers(1, 5, n)
    spread = np.hstack([np.eye(rank, dtype=int), rng.integers(-2, 3, (rank, d - rank))])  # of rank `rank`
    return A @ spread @ unimodular(rng, d), y


def wide(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (2, 12), (13, 20))
    return without_rule(rng, n, d)


def wide_low_rank(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (4, 12), (13, 20))
    rank = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        return rng.integers(-3, 4, (n, rank)) @ rng.integers(-2, 3, (rank, d)), signs(rng, n)
    A, y = half_on_a_plane(rng, n, rank, intercept)
    return A @ np.hstack([np.eye(rank, dtype=int), rng.integers(-2, 3, (rank, d - rank))]), y


def duplicated_rows(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, n_range=(3, 20))
    again = rng.integers(len(y), size=len(y) if len(y) <= 20 else 10)
    return np.vstack([X, X[again]]), np.append(y, y[again])


def duplicated_columns(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, d_range=(1, 4))
    again = rng.integers(X.shape[1], size=rng.integers(1, 4))
    return np.hstack([X, X[:, again]])[:, rng.permutation(X.shape[1] + len(again))], y


def proportional_columns(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, d_range=(1, 4))
    again = rng.integers(X.shape[1], size=rng.integers(1, 4))
    more = X[:, again] * rng.choice([-4.0, -3.0, -1.0, -0.5, 0.1, 2.0, 3.0], len(again))  # 3 and 0.1 round, at times
    return np.hstack([X, more])[:, rng.permutation(X.shape[1] + len(again))], y


def constant_columns(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, d_range=(1, 5))
    more = np.tile(rng.choice([-2.0, 0.1, 1.0, 7.0], rng.integers(1, 3)), (len(y), 1))
    return np.hstack([X, more])[:, rng.permutation(X.shape[1] + more.shape[1])], y


def zero_columns(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, d_range=(1, 5))
    more = np.zeros((len(y), rng.integers(1, 3)))
    return np.hstack([X, more])[:, rng.permutation(X.shape[1] + more.shape[1])], y


def signs_and_zeros(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (2, 24), (1, 8))
    return rng.integers(-1, 2, (n, d)), signs(rng, n)


def small_integers(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (2, 24), (1, 8))
    return rng.integers(-3, 4, (n, d)), signs(rng, n)


def large_integers(rng: Generator, intercept: bool) -> Data:
    n, d = sizes(rng, (2, 24), (1, 8))
    return rng.integers(-(10**6), 10**6, (n, d), endpoint=True), signs(rng, n)


def one_hot(rng: Generator, intercept: bool) -> Data:
    n = int(rng.integers(4, 40, endpoint=True))
    y = signs(rng, n)
    blocks = []
    for _ in range(rng.integers(1, 3)):
        levels = int(rng.integers(2, 5))
        level = rng.integers(levels, size=n)
        if rng.random() < 0.5:
            level[(level == 0) & (y == -1)] = 1  # level 0 has one outcome only
        first = int(rng.integers(2))  # the full set of dummies, or all but the first
        blocks.append((level[:, None] == np.arange(first, levels)).astype(int))
    return np.hstack(blocks), y


def scaled_data(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept)
    return X * powers(rng, 1), y


def scaled_rows(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, n_range=(4, 20), d_range=(1, 4))
    return X * powers(rng, len(y))[:, None], y


def scaled_columns(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept)
    return X * powers(rng, X.shape[1]), y


def scaled_rows_and_columns(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept, n_range=(4, 16), d_range=(1, 4))
    factor = powers(rng, sum(X.shape), most=140)
    return X * factor[: len(y), None] * factor[len(y) :], y


def scaled_one_row_or_column(rng: Generator, intercept: bool) -> Data:
    X, y = anything(rng, intercept)
    X = X * 1.0
    if rng.random() < 0.5:
        X[rng.integers(len(y))] *= powers(rng, 1)
    else:
        X[:, rng.integers(X.shape[1])] *= powers(rng, 1)
    return X, y


def nearly_dependent_rows(rng: Generator, intercept: bool) -> Data:
    """One row is minus a positive combination of fewer than d others, or in their hull, but for an ulp."""
    d = int(rng.integers(2, 8, endpoint=True))
    k = int(rng.integers(1, d))
    others = rng.standard_normal((k, d))
    weights = rng.random(k) + 0.1
    if rng.random() < 0.5:  # short numbers: the sum is exact before it is nudged
        others, weights = np.round(others * 64) / 64, np.ones(k)
        k = 1 << (k.bit_length() - 1)
        others, weights = others[:k], weights[:k]
    more = rng.standard_normal((rng.integers(0, 4), d))
    if intercept:
        last = nudged(rng, weights / weights.sum() @ others)
        side = rng.choice([-1, 1])
        y = side * np.concatenate([np.ones(k, int), [-1], rng.choice([-1, 1], len(more))])
        return np.vstack([others, last, more]), y
    last = nudged(rng, -weights @ others)
    y = signs(rng, k + 1 + len(more))
    return y[:, None] * np.vstack([others, last, more]), y


def decimal_ties(rng: Generator, intercept: bool) -> Data:
    """Decimals such as 0.3, got by division, by multiplication or as 0.1 + 0.2, with ties of either label."""
    n = int(rng.integers(4, 24))
    tenths = rng.integers(-9, 10, (n, 2))
    tied = rng.random(n) < 0.5
    if intercept and rng.random() < 0.5:
        tenths[:, 1] = rng.integers(-9, 10)  # one column against a threshold
    tenths[tied, 0] = tenths[tied, 1]
    y = np.where(tenths[:, 0] == tenths[:, 1], rng.choice([-1, 1], n), np.sign(tenths[:, 0] - tenths[:, 1]))
    part = rng.integers(-9, 10, tenths.shape)
    ways = np.stack([tenths / 10, tenths * 0.1, part * 0.1 + (tenths - part) * 0.1])
    habit = rng.integers(3, size=(2, 2))  # each class has its own way, or each entry
    way = habit[(y > 0).astype(int)] if rng.random() < 0.5 else rng.integers(3, size=tenths.shape)
    X = np.take_along_axis(ways, way[None], axis=0)[0]
    y[:2] = (y[0], -y[0]) if np.all(y == y[0]) else y[:2]
    return (X[:, :1] if np.all(tenths[:, 1] == tenths[0, 1]) else X), y


def one_dimension(rng: Generator, intercept: bool) -> Data:
    return anything(rng, intercept, n_range=(2, 20), d_range=(1, 1))


def touching_classes(rng: Generator, intercept: bool) -> Data:
    """Classes on the line that meet at 0, as x = -1, 0, 0, 1; then moved, and mixed with other columns."""
    n, d = sizes(rng, (4, 20), (1, 3))
    y = rng.permutation(np.resize([-1, 1], n))
    A = rng.integers(-2, 3, (n, d))
    A[:, 0] = y * rng.integers(0, 4, n)
    for label in (-1, 1)[rng.integers(2) :]:
        A[np.flatnonzero(y == label)[0], 0] = 0
    return A @ unimodular(rng, d) + rng.integers(-2, 3, d), y


BUILDERS: Builders = {  # family: (its builder, ALWAYS or NEVER with an intercept, or None where rounds alternate)
    "planted margin": (planted_margin, None),
    "overlap": (overlap, None),
    "quasi-complete": (quasi_complete, None),
    "zero row": (zero_row, NEVER),
    "contradictory duplicates": (contradictory_duplicates, None),
    "low rank overlap": (low_rank_overlap, None),
    "low rank separable": (low_rank_separable, None),
    "wide": (wide, None),
    "wide low rank": (wide_low_rank, None),
    "duplicated rows": (duplicated_rows, None),
    "duplicated columns": (duplicated_columns, None),
    "proportional columns": (proportional_columns, None),
    "constant columns": (constant_columns, None),
    "zero columns": (zero_columns, None),
    "signs and zeros": (signs_and_zeros, None),
    "small integers": (small_integers, None),
    "large integers": (large_integers, None),
    "one-hot": (one_hot, None),
    "scaled data": (scaled_data, None),
    "scaled rows": (scaled_rows, None),
    "scaled columns": (scaled_columns, None),
    "scaled rows and columns": (scaled_rows_and_columns, None),
    "scaled one row or column": (scaled_one_row_or_column, None),
    "nearly dependent rows": (nearly_dependent_rows, None),
    "decimal ties": (decimal_ties, None),
    "one dimension": (one_dimension, None),
    "touching classes": (touching_classes, ALWAYS),
}
FAMILIES: tuple[str, ...] = tuple(BUILDERS)
