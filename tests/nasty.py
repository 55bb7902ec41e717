"""Problems meant to break: the families of `zoo`, and beside them tables as they are computed, stored and mistyped.

`nasty_problem` gives X as a user would have it: an array of any type and layout, or a sparse matrix. The oracle takes
it as it is. Where rows are repeated there are more of them than rational arithmetic takes on at once, but few distinct.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

import zoo
from zoo import ALWAYS, Builders, Data, Generator, anything, half_on_a_plane, nudged, signs, sizes, with_margin

TINY = 20_000  # n D min(n, D) up to which the package begins with rational arithmetic
MOST = 3_000  # rows


def nasty_problem(seed: int) -> tuple[str, object, np.ndarray, bool]:
    """Make one problem from its seed: (family, X, y, fit_intercept), y in {-1, 1} with both present."""
    rng = np.random.default_rng([seed, 1])
    family, X, y, intercept = zoo.problem_of(BUILDERS, seed, rng)
    return family, FORMS[family](rng, X) if family in FORMS else X, y, intercept


# Pieces.


def repeated(rng: Generator, X: np.ndarray, y: np.ndarray, work: float = TINY) -> Data:
    """Each row some times, so many in all that n D min(n, D) exceeds `work`, where that takes no more than MOST."""
    D = X.shape[1] + 1
    n = max(len(y), min(MOST, int(rng.uniform(1.1, 2.0) * work / (D - 1) ** 2)))
    share = rng.dirichlet(np.ones(len(y))) if rng.random() < 0.5 else None  # evenly, or some rows far more often
    again = np.concatenate([np.arange(len(y)), rng.choice(len(y), n - len(y), p=share)])
    return X[again], y[again]


def labels_by_rule(rng: Generator, score: np.ndarray) -> np.ndarray:
    """Labels by the sign of a score, ties as chance has it, and at times one row to the contrary; both present."""
    score = score - (np.median(score) if rng.random() < 0.7 else 0)
    y = np.where(score == 0, rng.choice([-1, 1], len(score)), np.sign(score)).astype(int)
    if rng.random() < 0.3:
        y[rng.integers(len(y))] *= -1
    if np.all(y == y[0]):
        y[rng.integers(len(y))] *= -1
    return y


def levels(rng: Generator, n: int, count: int) -> np.ndarray:
    """A factor of so many levels as dummies, the first left out or not."""
    return (rng.integers(count, size=n)[:, None] == np.arange(rng.integers(2), count)).astype(int)


# Families: rows repeated.


def repeated_rows(rng: Generator, intercept: bool) -> Data:
    """A problem of the zoo whose columns are not too few."""
    while True:
        builder, own = zoo.BUILDERS[zoo.FAMILIES[rng.integers(len(zoo.FAMILIES))]]
        X, y = builder(rng, intercept)
        if X.shape[1] >= 4 and own in (None, intercept):
            return repeated(rng, X, y)


def repeated_nasty_rows(rng: Generator, intercept: bool) -> Data:
    """One of those below that round."""
    while True:
        X, y = COMPUTED[rng.integers(len(COMPUTED))](rng, intercept)
        if X.shape[1] >= 3:
            return repeated(rng, X, y)


def repeated_rows_of_many_columns(rng: Generator, intercept: bool) -> Data:
    """Enough for floats to look for the directions, too."""
    n, d = sizes(rng, (8, 24), (12, 20))
    which = rng.integers(4)
    if which == 0:
        X, y = half_on_a_plane(rng, n, d, intercept)
    elif which == 1:
        X, y = with_margin(rng, n, d, rng.choice(zoo.MARGINS), intercept)
    elif which == 2:
        X, y = rng.integers(-2, 3, (n, d)), signs(rng, n)
    else:
        X = np.hstack([levels(rng, n, int(rng.integers(2, 6))) for _ in range(5)])[:, :d]
        y = labels_by_rule(rng, X @ rng.integers(-1, 2, X.shape[1]))
    return repeated(rng, X, y, work=10 * TINY)


def repeated_levels(rng: Generator, intercept: bool) -> Data:
    """Factors and a whole number in a table of hundreds, as surveys are; some level may have one outcome only."""
    n = int(rng.integers(200, 800))
    X = np.hstack([levels(rng, n, int(rng.integers(2, 5))) for _ in range(rng.integers(1, 4))])
    if rng.random() < 0.5:
        X = np.column_stack([X, rng.integers(0, 3, n)])
    y = signs(rng, n)
    for _ in range(rng.integers(3)):
        y[X[:, rng.integers(X.shape[1])] == 1] = rng.choice([-1, 1])
    y[:2] = -1, 1
    return X, y


def repeated_computed_columns(rng: Generator, intercept: bool) -> Data:
    """Two or three computed tables side by side: enough for floats to look for relations between columns."""
    parts = []
    while len(parts) < 2 or (len(parts) < 3 and rng.random() < 0.5):
        parts.append(COMPUTED[rng.integers(len(COMPUTED))](rng, intercept))
    n = min(len(y) for _, y in parts)
    X = np.hstack([X[:n] for X, _ in parts])[:, :14]
    y = parts[0][1][:n]
    y[:2] = (y[0], -y[0]) if np.all(y == y[0]) else y[:2]
    return repeated(rng, X, y, work=6 * TINY) if rng.random() < 0.5 else (X, y)


def repeated_close_columns(rng: Generator, intercept: bool) -> Data:
    """Columns that differ by 1e-6 to 1e-12 of their size, and that difference, exact, as a column after them."""
    n, d = sizes(rng, (12, 30), (3, 5))
    A = rng.integers(-(2**12), 2**12, (n, d)) * 1.0
    small = rng.integers(-3, 4, (n, d)) * 2.0 ** -rng.integers(8, 28, d)
    X = np.hstack([A, A + small, small if rng.random() < 0.7 else A + 2 * small])
    X = X if rng.random() < 0.5 else X[:, rng.permutation(3 * d)]
    return repeated(rng, X, labels_by_rule(rng, A @ rng.integers(-1, 2, d)), work=6 * TINY)


def repeated_rows_near_the_face(rng: Generator, intercept: bool) -> Data:
    """Whole numbers near 2**50: some rows in a subspace with coefficients such as 1/3, the others off it by 1 or 2."""
    k, others = int(rng.integers(2, 4)), int(rng.integers(9, 15))
    M = rng.choice([0, 0, 1, 21, 7, -3, 14], (k, others))  # times 1/21
    on = 21 * rng.integers(-(2**44), 2**44, (k + 1, k))
    off = 21 * rng.integers(-(2**44), 2**44, (int(rng.integers(6, 24)), k))
    step = rng.integers(-1, 2, (len(off), others)) * (rng.random((len(off), others)) < 0.4)
    step[:, 0] += 1 + (step[:, 0] == -1)
    Z = np.vstack([np.hstack([on, on // 21 @ M]), np.hstack([off, off // 21 @ M + step])])
    y = signs(rng, len(Z))
    X = np.vstack([y[:, None] * Z, y[: k + 1, None] * Z[: k + 1]])  # the rows on the face with either label
    y = np.append(y, -y[: k + 1])
    X = X[:, rng.permutation(k + others)] * 1.0
    return repeated(rng, X, y, work=15 * TINY) if rng.random() < 0.3 else (X, y)


# Families: the last digit, and the ends of float64.


def ulp_apart_contradictions(rng: Generator, intercept: bool) -> Data:
    """Rows again with the other label, but for an ulp in one entry, in each, or in none."""
    X, y = anything(rng, intercept, n_range=(2, 16), d_range=(1, 6))
    X = np.where(X == 0, 1.0, X) if rng.random() < 0.5 else X * 1.0
    again = rng.choice(len(y), rng.integers(1, len(y) + 1), replace=False)
    return np.vstack([X, [nudged(rng, a) for a in X[again]]]), np.append(y, -y[again])


def nearly_parallel_rows(rng: Generator, intercept: bool) -> Data:
    """Rows along one line or two, off it by a few ulps or by 1e-8, of either label and any length."""
    n, d = sizes(rng, (3, 20), (2, 5))
    base = rng.standard_normal((rng.integers(1, 3), d))
    X = base[rng.integers(len(base), size=n)] * rng.choice([1.0, 1.0, 2.0, 3.0, 0.1, -1.0], (n, 1))
    off = rng.choice([0.0, 2.0**-53, 2.0**-52, 1e-14, 1e-8], (n, 1))
    return X * (1 + off * rng.integers(-2, 3, (n, d))), signs(rng, n)


def nearly_parallel_columns(rng: Generator, intercept: bool) -> Data:
    """A column again, or a sum of two, but for a few ulps or 1e-8 of it in some rows."""
    X, y = anything(rng, intercept, d_range=(1, 4))
    X = X * 1.0
    for _ in range(rng.integers(1, 3)):
        j, k = rng.integers(X.shape[1], size=2)
        more = (X[:, j] + X[:, k]) * rng.choice([1.0, 1 / 3, -0.1])
        off = rng.choice([2.0**-53, 2.0**-52, 1e-12, 1e-8]) * rng.integers(-2, 3, len(y)) * (rng.random(len(y)) < 0.3)
        X = np.column_stack([X, more * (1 + off)])
    return X, y


def denormals(rng: Generator, intercept: bool) -> Data:
    """Every entry below 1e-307, down to the last bit."""
    X, y = anything(rng, intercept, n_range=(3, 20), d_range=(1, 5))
    return X * 10.0 ** -rng.integers(309, 324), y


def denormals_beside_others(rng: Generator, intercept: bool) -> Data:
    """Some rows, some columns or some entries that small."""
    X, y = anything(rng, intercept, n_range=(3, 16), d_range=(1, 5))
    shape = [(len(y), 1), (1, X.shape[1]), X.shape][rng.integers(3)]
    few = rng.choice([1.0, 1e-310, 1e-320, 1e-323, 1e-300, 1e10], shape, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    return X * few, y


def ends_of_float64(rng: Generator, intercept: bool) -> Data:
    """Rows, columns or entries of 1e300 and of 1e-300 in one table."""
    X, y = anything(rng, intercept, n_range=(3, 14), d_range=(1, 4))
    shape = [(len(y), 1), (1, X.shape[1]), X.shape, (1, 1)][rng.integers(4)]
    top = abs(X).max() or 1.0
    return X / top * rng.choice([1e300, 1e-300, 1.0, 8e307, 2.0**1000, 2.0**-1000], shape), y


def squares_out_of_range(rng: Generator, intercept: bool) -> Data:
    """1e160 and 1e-160: the numbers are harmless, their squares are not in float64."""
    X, y = anything(rng, intercept, n_range=(3, 14), d_range=(1, 4))
    shape = [(len(y), 1), (1, X.shape[1]), X.shape, (1, 1)][rng.integers(4)]
    return X * rng.choice([1e160, 1e-160, 1.0, 2.0**530, 2.0**-540], shape), y


# Families: tables as they are computed.


def percentages(rng: Generator, intercept: bool) -> Data:
    """Shares of a whole, which sum to 1 before rounding; as parts of 1, of 100, or to three digits."""
    n, d = sizes(rng, (4, 30), (2, 6))
    k = int(rng.choice([3, 7, 10, 12, 20, 60]))
    counts = rng.multinomial(k, rng.dirichlet(np.ones(d)), n)
    X = [counts / k, 100 * (counts / k), np.round(counts / k, 3), 100 * counts / k][rng.integers(4)]
    if rng.random() < 0.3:
        X = X[:, :-1]
    return X, labels_by_rule(rng, counts @ rng.integers(-2, 3, d))


def z_scores(rng: Generator, intercept: bool) -> Data:
    """A table of small whole numbers or dummies, each column less its mean and over its spread."""
    n, d = sizes(rng, (4, 30), (1, 6))
    A = rng.integers(0, rng.choice([2, 3, 6]), (n, d))
    if rng.random() < 0.3:
        A = np.hstack([levels(rng, n, 3), A])
    spread = A.std(axis=0)
    X = (A - A.mean(axis=0)) / np.where(spread == 0, 1.0, spread)
    return X, labels_by_rule(rng, A @ rng.integers(-1, 2, A.shape[1]))


def sums_of_columns(rng: Generator, intercept: bool) -> Data:
    """Totals and means beside their parts: equal to them, or off by what float64 rounds."""
    n, d = sizes(rng, (4, 30), (2, 5))
    A = rng.integers(-30, 31, (n, d))
    parts = [A / 10, A * 0.1, A * 1.0, np.round(rng.standard_normal((n, d)), 2)][rng.integers(4)]
    of = np.flatnonzero(rng.random(d) < 0.7)
    total = parts[:, of].sum(axis=1) if rng.random() < 0.5 else parts[:, of].mean(axis=1) if len(of) else parts[:, 0]
    y = labels_by_rule(rng, A @ rng.integers(-1, 2, d))
    return np.column_stack([parts, total])[:, rng.permutation(d + 1)], y


def tenths(rng: Generator, intercept: bool) -> Data:
    """Columns with one decimal, differences and sums of which are ties in decimal and not in binary."""
    n, d = sizes(rng, (4, 30), (2, 4))
    A = rng.integers(0, rng.choice([4, 11, 100]), (n, d))
    y = labels_by_rule(rng, A @ rng.choice([-1, 0, 1], d))
    X = A / 10
    if rng.random() < 0.5:
        X = np.column_stack([X, X[:, 0] - X[:, 1]])
    return X, y


def products_of_factors(rng: Generator, intercept: bool) -> Data:
    """Dummies, a number, and their interactions."""
    n = int(rng.integers(6, 40))
    a, b = levels(rng, n, int(rng.integers(2, 4))), levels(rng, n, int(rng.integers(2, 4)))
    x = rng.integers(-3, 4, (n, 1)) if rng.random() < 0.5 else np.round(rng.standard_normal((n, 1)), 1)
    both = (a[:, :, None] * b[:, None, :]).reshape(n, -1)
    X = np.hstack([a, b, x, [both, a * x, b * x, x * x][rng.integers(4)]])
    return X[:, :12], labels_by_rule(rng, X @ rng.integers(-1, 2, X.shape[1]))


def dates(rng: Generator, intercept: bool) -> Data:
    """Begin, end and duration in days, seconds or microseconds since 1970, as whole numbers."""
    n = int(rng.integers(4, 30))
    unit = int(rng.choice([1, 86_400, 86_400_000_000]))
    begin = 19_000 + rng.integers(0, rng.choice([5, 1000]), n)
    length = rng.integers(0, 5, n)
    y = labels_by_rule(rng, length if rng.random() < 0.5 else begin + length)
    X = np.column_stack([begin, begin + length, length, rng.integers(0, 3, n)]) * np.array([unit, unit, unit, 1])
    return X[:, np.sort(rng.permutation(4)[: rng.integers(2, 5)])], y


def quasi_complete_with_an_aliased_column(rng: Generator, intercept: bool) -> Data:
    """A combination of the columns of a quasi-complete problem beside them, in the middle or at an end."""
    X, y = half_on_a_plane(rng, *sizes(rng, (4, 24), (2, 5)), intercept)
    more = X @ rng.integers(-2, 3, X.shape[1]) + intercept * rng.integers(-2, 3)
    return np.insert(X, rng.integers(X.shape[1] + 1), more, axis=1) * rng.choice([1.0, 0.1, 1 / 3]), y


def lattice_ties(rng: Generator, intercept: bool) -> Data:
    """All or most points of a small lattice, labelled by a whole plane through many of them."""
    d = int(rng.integers(1, 4))
    side = int(rng.integers(2, {1: 12, 2: 6, 3: 4}[d]))
    X = np.stack(np.meshgrid(*[np.arange(side)] * d), axis=-1).reshape(-1, d)
    X = X[rng.random(len(X)) < rng.choice([0.7, 1.0])] if len(X) > 8 else X
    X = np.vstack([X, X[rng.integers(len(X), size=2)]]) - rng.integers(0, 2) * (side // 2)
    score = X @ rng.integers(-2, 3, d)
    return X * rng.choice([1.0, 0.1, 1 / 3]), labels_by_rule(rng, score - score[rng.integers(len(score))])


def wide_tables(rng: Generator, intercept: bool) -> Data:
    """Many more columns than rows: whole numbers, a few repeated rows, or of low rank."""
    n, d = sizes(rng, (2, 10), (12, 45))
    which = rng.integers(4)
    if which == 0:
        return rng.integers(-1, 2, (n, d)), signs(rng, n)
    if which == 1:
        rank = int(rng.integers(1, n + 1))
        return rng.integers(-2, 3, (n, rank)) @ rng.integers(-2, 3, (rank, d)), signs(rng, n)
    if which == 2:
        X = rng.standard_normal((n, d))
        return np.vstack([X, X[: n // 2]]), np.append(signs(rng, n), rng.choice([-1, 1], n // 2))
    y = signs(rng, n)
    X = y[:, None] * np.round(64 * rng.standard_normal((n, d))) / 64
    X[-1] = -X[:-1].sum(axis=0)  # Σ z_i = 0
    return y[:, None] * X, y


def next_to_nothing(rng: Generator, intercept: bool) -> Data:
    """Two to four rows and one to three columns of the numbers where things go wrong."""
    n, d = sizes(rng, (2, 4), (1, 3))
    odd = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308, 0.1, 0.3, 0.1 + 0.2, 1 - 2.0**-53, 2.0**53]
    return rng.choice(odd[: rng.integers(3, len(odd) + 1)], (n, d)), signs(rng, n)


# Families: other forms of X.


def even_numbers(rng: Generator, intercept: bool) -> Data:
    """Anything that float16 and int8 can hold."""
    X, y = anything(rng, intercept)
    return np.clip(np.round(X * 4) if rng.random() < 0.5 else X, -100, 100), y


def thin(rng: Generator, intercept: bool) -> Data:
    """Half of the entries zero."""
    X, y = anything(rng, intercept)
    return np.where(rng.random(X.shape) < 0.5, 0, X), y


TYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f4", ">f8", "O")


def of_another_type(rng: Generator, X: np.ndarray) -> np.ndarray:
    """The numbers in one of the types that there are, those of small range rounded or cut."""
    dtype = np.dtype(str(rng.choice(TYPES)))
    if dtype.kind == "b":
        return X > 0
    if dtype.kind in "iu":
        X = np.rint(abs(X) if dtype.kind == "u" else X)
    return X.astype(dtype)


def in_another_layout(rng: Generator, X: np.ndarray) -> np.ndarray:
    """Column by column, with gaps, backwards, read-only, or as part of a larger array; float32 at times."""
    if rng.random() < 0.5:
        X = X.astype(rng.choice(["f4", "f8"]))
    which = rng.integers(6)
    if which == 0:
        return np.asfortranarray(X)
    if which == 1:
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if which == 2:
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if which == 3:
        X = X.copy()
        X.flags.writeable = False
        return X
    if which == 4:
        return np.pad(X, 1, constant_values=7)[1:-1, 1:-1]
    return X.T.copy().T


def as_messy_csr(rng: Generator, X: np.ndarray) -> object:
    """CSR with zeros that are stored, entries in two parts, and columns in any order; CSC or COO of the same, too."""
    data, indices, indptr = [], [], [0]
    for a in X * 1.0:
        stored = np.flatnonzero((a != 0) | (rng.random(len(a)) < 0.3))
        parts = [(j, a[j]) for j in stored]
        for at in np.flatnonzero(rng.random(len(parts)) < 0.3):
            j, v = parts[at]
            parts[at] = (j, v / 2)
            parts.append((j, v / 2))
        parts = [parts[k] for k in rng.permutation(len(parts))]
        indices += [j for j, _ in parts]
        data += [v for _, v in parts]
        indptr.append(len(data))
    kind = rng.choice([np.int32, np.int64])
    arrays = np.array(data), np.array(indices, dtype=kind), np.array(indptr, dtype=kind)
    made = (sparse.csr_array, sparse.csr_matrix)[rng.integers(2)](arrays, shape=X.shape)
    return [made, made, made, made.tocsc(), made.tocoo(), made.astype(np.float32)][rng.integers(6)]


COMPUTED: tuple[Callable[[Generator, bool], Data], ...] = (
    percentages, z_scores, sums_of_columns, tenths, products_of_factors, dates, quasi_complete_with_an_aliased_column,
    ulp_apart_contradictions, nearly_parallel_rows, nearly_parallel_columns, denormals, denormals_beside_others,
    ends_of_float64, squares_out_of_range,
)  # fmt: skip
BUILDERS: Builders = {
    **zoo.BUILDERS,
    "repeated rows": (repeated_rows, None),
    "repeated nasty rows": (repeated_nasty_rows, None),
    "repeated rows of many columns": (repeated_rows_of_many_columns, None),
    "repeated levels": (repeated_levels, None),
    "repeated computed columns": (repeated_computed_columns, None),
    "repeated close columns": (repeated_close_columns, None),
    "repeated rows near the face": (repeated_rows_near_the_face, None),
    "ulp-apart contradictions": (ulp_apart_contradictions, None),
    "nearly parallel rows": (nearly_parallel_rows, None),
    "nearly parallel columns": (nearly_parallel_columns, None),
    "denormals": (denormals, None),
    "denormals beside others": (denormals_beside_others, None),
    "ends of float64": (ends_of_float64, None),
    "squares out of range": (squares_out_of_range, None),
    "percentages": (percentages, None),
    "z-scores": (z_scores, None),
    "sums of columns": (sums_of_columns, None),
    "tenths": (tenths, None),
    "products of factors": (products_of_factors, None),
    "dates": (dates, ALWAYS),
    "quasi-complete with an aliased column": (quasi_complete_with_an_aliased_column, None),
    "lattice ties": (lattice_ties, None),
    "wide tables": (wide_tables, None),
    "next to nothing": (next_to_nothing, None),
    "number types": (even_numbers, None),
    "memory layouts": (even_numbers, None),
    "messy sparse": (thin, None),
}
FORMS: dict[str, Callable[[Generator, np.ndarray], object]] = {
    "number types": of_another_type,
    "memory layouts": in_another_layout,
    "messy sparse": as_messy_csr,
}
FAMILIES: tuple[str, ...] = tuple(BUILDERS)
