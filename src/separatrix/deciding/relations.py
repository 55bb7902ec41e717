"""Columns that are exact combinations of others, guessed in floats and settled in whole numbers.

Small problems are eliminated exactly, sparse ones modulo a prime (`sparse_relations`). Of larger ones guesses come from
three sources, cheapest first: columns that are zero, columns proportional to another, and what a pivoted Cholesky
factorisation leaves over. A guess is no claim: a relation counts once `Reader.signs` has found it zero in every row it
is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.modular import PRIME, independent_modulo_prime, residues
from separatrix.certify.reader import Reader, Signs, as_integers
from separatrix.core.constants import UNIT
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.exact import echelon, solve_system
from separatrix.deciding.panels import cholesky, gram, triangle
from separatrix.deciding.sparse_relations import Relations as Relations
from separatrix.deciding.sparse_relations import sparse_columns, worthwhile

DENOMINATOR = 10_000  # largest denominator a float coefficient is taken for
PANEL = 128  # columns orthogonalised together
PLAIN = 1e-2  # of a column's length, the part outside those before it from which a Gram matrix will do
MORE = 20  # rows beyond as many as columns that are eliminated first
ELIMINATED, ENTRY = 5_000_000, 2_000  # entries that are eliminated modulo a prime, and products in the time of one
FACTORED = 10**12  # products that a factorisation in floats may take
SPANNED = 5_000  # rows up to which a square matrix is eliminated modulo it
SYSTEM = 250  # unknowns up to which coefficients are solved for exactly


def holds_on(reader: Reader, K: Index, relations: Relations, rows: Index | None = None) -> NDArray[np.bool_]:
    """The rows in which every relation holds exactly and every column that is in none, nor in K, is zero."""
    mask = np.ones(reader.D, dtype=bool)
    mask[K] = False
    mask[list(relations)] = False
    good = reader.zero(np.flatnonzero(mask), rows)
    for j, terms in relations.items():
        good &= _off(reader, j, terms, rows) == 0
    return good


def _off(reader: Reader, j: int, terms: Mapping[int, Fraction], rows: Index | None) -> Signs:
    """The sign of Σ c z_ik - z_ij in each of these rows: 0 where column j is that combination."""
    return reader.signs_at([j, *terms], [Fraction(-1), *terms.values()], rows)


def _holds(reader: Reader, relations: Relations, rows: Index) -> bool:
    """Whether these relations hold in all these rows."""
    return all(not _off(reader, j, terms, rows).any() for j, terms in relations.items())


def independent_columns(
    reader: Reader, rows: Index, *, order: Index | None = None, budget: Budget = UNLIMITED
) -> tuple[Index, Relations]:
    """Columns K that span all columns on these rows, and each other non-zero column as an exact combination of K.

    `order` gives the columns in the order in which they should be kept (pivoting is then by that order). A column that
    floats call dependent but for which no exact combination is found stays in K. Past the deadline there is none for
    all that were not yet looked at.
    """
    columns = np.arange(reader.D) if order is None else order
    if len(rows) * len(columns) ** 2 <= budget.eliminated:
        pivots, exact = echelon([as_integers(line) for line in reader.dense(rows, columns)])
        named = {int(columns[j]): {int(columns[k]): c for k, c in terms.items()} for j, terms in exact.items()}
        return np.sort(columns[pivots].astype(np.int64)), named
    if reader.sparse and worthwhile(reader, rows, budget.entries // 10):
        found = sparse_columns(reader, rows, order=order, budget=budget)
        if found is not None:
            return found
    if reader.sparse and len(rows) * len(columns) > budget.entries:
        return np.sort(columns), {}
    if len(rows) * len(columns) * min(len(rows), len(columns)) > budget.affordable(FACTORED):
        return np.sort(columns), {}
    A = reader.dense(rows, columns)
    size = abs(A).max(axis=0) if len(A) else np.zeros(len(columns))
    zero = size == 0
    with np.errstate(over="ignore", under="ignore"):
        A = np.ldexp(A, -np.frexp(size)[1][None, :])
    relations: Relations = {}
    keep = np.flatnonzero(~zero)
    keep = _without_proportional(reader, rows, columns, A, keep, relations)
    K = keep
    if len(_rank(A[:, keep], budget, ordered=order is not None)[1]):
        K, more = _by_prime(reader, rows, columns, A, keep, budget)
        for j, terms in relations.items():  # what leaned on a column that has now left leans on what that leans on
            relations[j] = {
                k: c * factor for base, factor in terms.items() for k, c in more.get(base, {base: Fraction(1)}).items()
            }
        relations |= more
    return np.sort(columns[K]), relations


def _without_proportional(
    reader: Reader, rows: Index, columns: Index, A: Vector, keep: Index, relations: Relations
) -> Index:
    """Take out columns proportional to an earlier one, the factor checked exactly."""
    v = np.random.default_rng(0).standard_normal((len(rows), 2))
    c = A[:, keep].T @ v
    angle = np.arctan(c[:, 1] / np.where(c[:, 0] == 0, 1e-300, c[:, 0]))  # the same for proportional columns
    by = np.lexsort((np.arange(len(keep)), np.round(angle, 9)))
    out = set()
    first = -1
    for at in by:
        if first >= 0 and abs(angle[at] - angle[first]) < 1e-9:
            j, k = int(columns[keep[at]]), int(columns[keep[first]])
            row = int(np.argmax(abs(A[:, keep[first]])))
            x = reader.dense(rows[row : row + 1], np.array([j, k]))[0]
            terms = {k: Fraction(float(x[0])) / Fraction(float(x[1]))}
            if x[0] != 0 and _holds(reader, {j: terms}, rows):
                relations[j] = terms
                out.add(at)
                continue
        first = at
    return np.array([j for at, j in enumerate(keep) if at not in out], dtype=np.int64)


def _rank(A: Vector, budget: Budget, *, ordered: bool) -> tuple[Index, Index]:
    """Independent and dependent columns of A, numerically; `ordered`: the first ones are kept. All once it is late."""
    from scipy.linalg import lapack

    r = A.shape[1]
    if r == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    if ordered and len(A) >= r and _plainly_independent(A, norms):
        return np.arange(r), np.empty(0, dtype=np.int64)
    B = A / norms
    if ordered:
        kept = np.arange(r)
        R = triangle(B, budget) if len(B) >= r else None
        # Where QR meets a small pivot, or must, the columns are taken one by one.
        if not budget.late and (R is None or abs(R.diagonal()).min() <= 1e-7):
            kept = _one_by_one(B, budget)
        return kept, np.setdiff1d(np.arange(r), kept)
    _, pivots, rank, _ = lapack.dpstrf(gram(B), tol=1e-13)
    order = pivots - 1
    return np.sort(order[:rank]), np.sort(order[rank:])


def _plainly_independent(A: Vector, norms: Vector) -> bool:
    """Whether every column, made of one length, has much of it outside those before it: no QR need tell."""
    H = gram(A) / np.outer(norms, norms)
    try:
        pivots = cholesky(H)[0].diagonal()
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > PLAIN)  # Gram matrices lose half the digits, which is far below


def _one_by_one(B: Vector, budget: Budget) -> Index:
    """The columns that have a part outside those before them, by Gram-Schmidt, twice for the rounding.

    Those that it is too late to look at are taken to have one.
    """
    n, r = B.shape
    Q = np.empty((n, min(n, r)))
    kept: list[int] = []
    for lo in range(0, r, PANEL):
        if budget.late:
            return np.array([*kept, *range(lo, r)], dtype=np.int64)
        block = B[:, lo : lo + PANEL]
        for _ in range(2):
            block = block - Q[:, : len(kept)] @ (Q[:, : len(kept)].T @ block)
        fresh = len(kept)
        for at, x in enumerate(block.T):
            for _ in range(2):
                x = x - Q[:, fresh : len(kept)] @ (Q[:, fresh : len(kept)].T @ x)
            length = float(np.linalg.norm(x))
            if length > 1e-8:
                Q[:, len(kept)] = x / length
                kept.append(lo + at)
            if len(kept) == n:  # they span everything
                return np.array(kept, dtype=np.int64)
    return np.array(kept, dtype=np.int64)


def spanning_columns(reader: Reader, order: Index, budget: Budget = UNLIMITED) -> Index | None:
    """As many columns as rows, the first in this order that are independent; None unless that is proven.

    Every other column is then a combination of them. A matrix that is not singular modulo a prime is not singular.
    """
    n, rows = reader.n, np.arange(reader.n)
    if not n <= len(order) or n > SPANNED or n * n * len(order) > budget.affordable(FACTORED) // 4:
        return None
    A = reader.dense(rows, order)
    size = abs(A).max(axis=0)
    used = np.flatnonzero(size > 0)
    with np.errstate(over="ignore", under="ignore"):
        kept, _ = _rank(np.ldexp(A[:, used], -np.frexp(size[used])[1][None, :]), budget, ordered=True)
    if len(kept) != n:
        return None
    chosen = order[used[kept]]
    M = residues(reader.dense(rows, chosen))
    return np.sort(chosen) if independent_modulo_prime(M, lambda: budget.late) else None


def _by_prime(
    reader: Reader, rows: Index, columns: Index, A: Vector, keep: Index, budget: Budget
) -> tuple[Index, Relations]:
    """Of columns that floats call dependent, those to keep, and the others as exact combinations of these.

    Elimination modulo a prime says which columns have a part outside those before them: where it has one there, it has
    one. Some of the rows will do, unless a combination fails in the others.
    """
    found: Relations = {}
    some = rows[:: max(1, len(rows) // (len(keep) + MORE))]
    for few in (some, rows) if len(some) < len(rows) else (some,):
        if budget.late or len(few) * len(keep) > budget.affordable(ELIMINATED * ENTRY) // ENTRY:
            break
        pivots = _pivots(reader, few, columns[keep])
        if budget.late:
            break
        K, rest = keep[pivots], np.delete(keep, pivots)
        found = _combinations(reader, rows, columns, A, K, rest, budget) if len(rest) else {}
        if len(found) == len(rest):
            return K, found
    return np.array([j for j in keep if int(columns[j]) not in found], dtype=np.int64), found


def _pivots(reader: Reader, rows: Index, columns: Index) -> list[int]:
    """The places of the columns that are no combination of those before them on these rows modulo a prime."""
    from flint import nmod_mat

    reduced, rank = nmod_mat(residues(reader.dense(rows, columns)).astype(np.int64).tolist(), PRIME).rref()
    return [next(j for j in range(len(columns)) if int(reduced[i, j])) for i in range(rank)]


def _combinations(
    reader: Reader, rows: Index, columns: Index, A: Vector, K: Index, rest: Index, budget: Budget
) -> Relations:
    """Each column of `rest` over K: simple fractions first, the exact solution of a square system otherwise."""
    if len(rest) > len(K):  # `lstsq` takes right sides one at a time
        M = np.asarray(np.linalg.pinv(A[:, K], rcond=max(len(A), len(K)) * 2 * UNIT) @ A[:, rest])
    else:
        M = np.asarray(np.linalg.lstsq(A[:, K], A[:, rest])[0])
    power = np.frexp(abs(reader.dense(rows, columns)).max(axis=0))[1]
    relations: Relations = {}
    hard = []
    for at, j in enumerate(rest):
        if budget.late:
            return relations
        terms = {}
        for k, c in zip(K, M[:, at], strict=True):
            if abs(c) > 1e-9:
                shift = Fraction(2) ** int(power[j] - power[k])
                terms[int(columns[k])] = (Fraction(float(c)) * shift).limit_denominator(DENOMINATOR)
        if all(terms.values()) and _holds(reader, {int(columns[j]): terms}, rows):
            relations[int(columns[j])] = terms
        else:
            hard.append(j)
    if hard:
        relations |= _solve_exactly(reader, rows, columns, A, K, np.array(hard, dtype=np.int64))
    return relations


def _solve_exactly(reader: Reader, rows: Index, columns: Index, A: Vector, K: Index, rest: Index) -> Relations:
    """The relations of `rest` over K that hold, from a square system of rows."""
    from scipy.linalg import qr

    if not 0 < len(K) <= min(SYSTEM, len(rows)):  # floats may take more columns than rows for independent
        return {}
    _, _, pivots = qr(A[:, K].T, mode="economic", pivoting=True)
    chosen = rows[pivots[: len(K)]]
    both = np.concatenate([K, rest])
    table = [as_integers(line) for line in reader.dense(chosen, columns[both])]
    solution = solve_system([t[: len(K)] for t in table], [t[len(K) :] for t in table])
    if solution is None:
        return {}
    guesses = {
        int(columns[j]): {int(columns[k]): line[at] for k, line in zip(K, solution, strict=True) if line[at]}
        for at, j in enumerate(rest)
    }
    return {j: terms for j, terms in guesses.items() if _holds(reader, {j: terms}, rows)}
