"""The arguments that make numbers a proof, each rigorous in the face of rounding.

The Cholesky argument. Let A = Z_BK (row i scaled by ρ_i, column j by κ_j, powers of two) and λ > 0 on B with Aᵀλ = r
small. For any upper triangular P with a non-zero diagonal put W = AP, which spans what A spans. If W has full column
rank then λ - W(WᵀW)⁻¹Wᵀλ solves Aᵀλ = 0 exactly, and

    |W_i (WᵀW)⁻¹ Wᵀλ|  ≤  ‖W_i‖ ‖Pᵀr‖ / σ_min(W)² ,

so it is positive where that is below λ_i. P is the inverse of a Cholesky (or QR) factor of A in floats: then WᵀW is
near the identity whatever the condition of A, and σ_min(W)² ≥ 1 - ‖WᵀW - I‖. All of it with bounds on every rounding
(after Rump, Verification of positive definiteness, BIT 46, 2006, who shifts the Gram matrix instead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import frexp, fsum, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.face import exact_gordan, independent, relations_hold, stages_hold
from separatrix.certify.off_face import separated
from separatrix.certify.proof import Claim, Proof, check_proof
from separatrix.certify.reader import Reader, gamma, two_product
from separatrix.core.constants import SMALLEST, UNIT
from separatrix.data.memory import HeldRows
from separatrix.data.problem import as_problem, decidable
from separatrix.data.rows import Index, Rows, Vector
from separatrix.models.recipe import Recipe

NEVER = -(2**20)  # the exponent of zero
UNLIKE = 1e3  # times as large, from where weights are of very different sizes
FAR = 1e-3  # of the sizes added, what weights may leave in a column
LOST = 1e-150  # more than the root of any sum of squares that vanish
DENSE_ENTRIES = 2**28  # of sparse rows that are written out: 2 GB
EXACT_ENTRIES = 20_000_000  # products that the exact sums of the Cholesky argument may take


def verify(
    proof: Proof,
    X: Any,
    y: Any = None,
    *,
    beside: Mapping[str, Any] | None = None,
    memory_limit: int | str | None = None,
) -> bool:
    """Whether the proof holds for these data, re-computed from the raw rows, wherever they are.

    Parameters
    ----------
    proof : Proof
        The proof, of whatever origin.
    X : array, sparse matrix, data frame, path, list of paths, Dask collection or Problem
        The rows that it is about, in the same order; see `solve`.
    y : array-like, path or str, optional
        Their labels; not with a `Problem`, which has them, nor where the proof names the outcome's column itself.
    beside : mapping, optional
        For proofs about models: values that the diagnosis was given by themselves and not by a column's name, such as
        {"weight": …} or {"event": …}.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".

    Returns
    -------
    bool
        True if every number of the proof was found to be right; False also for rows of another number or length.

    Raises
    ------
    ValueError
        If the proof speaks of an intercept and the `Problem` has none, or the other way round.

    See Also
    --------
    separate : Find a proof.
    load_proof : Read one from a file.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.two_samples()
    >>> proof = sx.separate(X, y).proof
    >>> sx.verify(proof, X, y), sx.verify(proof, -X, y)
    (True, False)
    """
    check_proof(proof)
    if proof.model is not None:
        reading = Recipe.from_dict(dict(proof.model)).again(X, y, beside or {})
        return check(proof, reading.held()[0])
    with as_problem(X, y, fit_intercept=proof.intercept, memory_limit=memory_limit) as problem:
        if problem.fit_intercept and not proof.intercept:
            raise ValueError("the proof is of hyperplanes through the origin, and this Problem has an intercept.")
        return check(proof, decidable(problem).rows)


def shown(proof: Proof, X: Any, y: Any = None, *, beside: Mapping[str, Any] | None = None) -> Index | None:
    """The rows of the data that the proof shows to be separated, and no others; None where it does not hold or tell."""
    if proof.model is not None:
        reading = Recipe.from_dict(dict(proof.model)).again(X, y, beside or {})
        rows, conditions = reading.held()
        strict = separated(proof, rows) if check(proof, rows) else None
        return None if strict is None else reading.rows[conditions.separated(strict)]
    with as_problem(X, y, fit_intercept=proof.intercept) as problem:
        held = decidable(problem).rows
        return separated(proof, held) if check(proof, held) else None


def check(proof: Proof, rows: Rows) -> bool:
    """`verify` on rows already opened, wherever they are."""
    if (proof.n, proof.d, proof.intercept) != (rows.n, rows.d, rows.bias > 0) or not proof.well_formed:
        return False
    if proof.claim is Claim.SEPARABLE:
        return proof.theta is not None and all_signs(rows, proof.theta)[0] > 0
    if proof.rows is None or proof.weights is None or len(proof.rows) == 0:
        return False
    if not all(w > 0 for w in proof.weights):
        return False
    numbers = np.array([i for stage in proof.stages for i in stage.rows or ()], dtype=np.int64)
    held, B = rows.fetch(numbers)
    reader = Reader(held)
    if proof.earlier:
        everywhere = proof.claim is Claim.OVERLAP
        ends = np.cumsum([len(stage.rows or ()) for stage in proof.stages])[:-1]
        if not stages_hold(reader, proof.stages, np.split(B, ends)):
            return False
        if everywhere and not relations_everywhere(rows, proof):
            return False
    elif proof.columns is None:
        if not exact_gordan(reader, B, proof.weights):
            return False
        everywhere = len(numbers) == rows.n  # λ > 0 on every row: Stiemke's alternative
    else:
        everywhere = proof.claim is Claim.OVERLAP
        columns = np.array(proof.columns, dtype=np.int64)
        if not (relations_everywhere(rows, proof) if everywhere else relations_hold(reader, proof, B)):
            return False
        if not solved(reader, B, proof, columns):
            return False
    if proof.claim is Claim.OVERLAP:
        return everywhere
    if proof.claim is Claim.QUASI_COMPLETE:
        if proof.theta is None:
            return False
        least, most = all_signs(rows, proof.theta)
        return least >= 0 and most > 0
    return proof.claim is Claim.INSEPARABLE


def all_signs(rows: Rows, theta: Sequence[Any]) -> tuple[int, int]:
    """The least and the greatest sign of z_iᵀθ over all rows, each exact."""
    pieces = rows.map(signs_of, theta)
    return min(least for least, _ in pieces), max(most for _, most in pieces)


def signs_of(first: int, piece: HeldRows, theta: Sequence[Any]) -> tuple[int, int]:
    """The same of some rows."""
    signs = Reader(piece).signs(theta)
    return int(signs.min()), int(signs.max())


def relations_everywhere(rows: Rows, proof: Proof) -> bool:
    """Whether the relations hold on every row."""
    return all(rows.map(relations_of, proof))


def relations_of(first: int, piece: HeldRows, proof: Proof) -> bool:
    """The same of some rows."""
    return relations_hold(Reader(piece), proof, None)


def solved(reader: Reader, rows: Index, proof: Proof, columns: Index) -> bool:
    """Whether Z_Bᵀλ = 0 has a positive solution at or near the weights, and these columns have full rank."""
    if reader.sparse and exactly(reader, rows, proof.weights or (), columns):  # without writing rows out
        return True
    near = slack(reader, rows, proof.float_weights, columns) > 0
    return near or (not reader.sparse and exactly(reader, rows, proof.weights or (), columns))


def exactly(reader: Reader, rows: Index, weights: tuple[float | Fraction, ...], columns: Index) -> bool:
    """What the Cholesky argument shows, without rounding: Σ λ_i z_i = 0, and these columns of full rank."""
    plain = not any(isinstance(w, Fraction) for w in weights)
    simple = len({frexp(w)[0] if plain else w for w in weights}) == 1  # of rows with both signs, times powers of 2
    if not simple and plain:
        return False  # floats cancel by chance alone
    if not simple and not reader.sparse and len(rows) * len(columns) > EXACT_ENTRIES // 10:
        return False
    return exact_gordan(reader, rows, weights) and independent(reader, rows, columns)


@np.errstate(all="ignore")  # what overflows on the way ends as inf or NaN, and proves nothing
def slack(reader: Reader, rows: Index, lam: Vector, columns: Index, *, perturbation: float = 0.0) -> float:
    """min_i λ_i - |correction_i| in units of λ_i: positive proves a positive solution of Z_Bᵀλ = 0 on these columns.

    With `perturbation` ε it does so for every matrix whose entries differ from Z_BK by at most ε in relation.
    """
    if len(rows) < len(columns) or (reader.sparse and len(rows) * len(columns) > DENSE_ENTRIES):
        return -1.0
    if not np.isfinite(lam).all() or not (lam > 0).all():
        return -1.0
    if len(columns) == 0:
        return 1.0  # no equations: any λ solves them
    A, best = reader.dense(rows, columns), -1.0
    arguments = []
    for scale in (even_out, equilibrate):  # where weights differ much, evened out they need no exact sums
        argument = Argument.of(scale(A, lam), perturbation)
        if argument is not None:
            best = max(best, argument.slack(exact=False))
            if best > 0:
                return best
            if argument.A.size <= EXACT_ENTRIES and argument.hopeful:
                arguments.append(argument)
    return max([best, *(argument.slack(exact=True) for argument in arguments)])


@dataclass(frozen=True, eq=False)
class Argument:
    """The Cholesky argument of rows A and weights λ that are scaled: AP is nearly orthonormal.

    long_p : a bound on ‖P‖
    sigma : a bound from below on the least singular value of AP
    reach : bounds on the lengths of the rows of AP
    moved : a bound on what the perturbation makes of Aᵀλ
    """

    A: Vector
    lam: Vector
    P: Vector
    long_p: float
    sigma: float
    reach: Vector
    moved: float

    @classmethod
    def of(cls, scaled: tuple[Vector, Vector] | None, perturbation: float) -> Self | None:
        """None where it cannot be made."""
        from scipy.linalg import blas

        if scaled is None:
            return None
        A, lam = scaled
        m, r = A.shape
        P = preconditioner(A) if np.isfinite(lam).all() and (lam > 0).all() else None
        if P is None:
            return None
        W = np.asarray(blas.dtrmm(1.0, P, A.T, lower=0, trans_a=1)).T  # A P, half the work of a full product
        long_a, long_p, long_w = (norm_above(M) for M in (A, P, W))
        away = (gamma(r + 2) + perturbation) * long_a * long_p + m * r * SMALLEST  # ‖W - AP‖_F, A perturbed
        defect = norm_above(W.T @ W - np.eye(r)) + gamma(m + 2) * long_w * long_w
        if not defect < 0.9:
            return None
        sigma = sqrt(1.0 - defect) * (1 - 4 * UNIT) - away  # σ_min of the exact AP
        if not sigma > 0.1:
            return None
        reach = np.sqrt(np.einsum("ij,ij->i", W, W)) * (1 + gamma(r + 4)) + (away + LOST)  # ‖(AP)_i‖
        moved = perturbation * norm_above(abs(A).T @ lam) * (1 + gamma(m + 2)) + m * r * SMALLEST
        return cls(A, lam, P, long_p, sigma, reach, moved)

    def slack(self, *, exact: bool) -> float:
        """min_i λ_i - |correction_i| in units of λ_i, with rounded or exact column sums."""
        r = self.A.shape[1]
        residual, error = column_sums(self.A, self.lam, exact)
        projected = self.P.T @ residual
        off = error + self.moved + gamma(r + 2) * norm_above(residual)
        return self._left(norm_above(projected) + self.long_p * off + r * r * SMALLEST)

    @property
    def hopeful(self) -> bool:
        """Whether it holds if the sums are 0: what the perturbation takes, exact sums do not give back."""
        return self._left(self.long_p * self.moved) > 0

    def _left(self, bound: float) -> float:
        """The slack where ‖PᵀAᵀλ‖ is at most this."""
        left = float((1.0 - self.reach * (bound / self.sigma**2) * (1 + 8 * UNIT) / self.lam).min())
        return left if np.isfinite(left) else -1.0


def norm_above(M: Vector) -> float:
    """An upper bound on the Frobenius norm; scaled first, for the squares of small entries vanish."""
    top = float(abs(M).max(initial=0.0))
    if top == 0.0 or not np.isfinite(top):
        return top
    return top * float(np.linalg.norm(M / top)) * (1 + gamma(M.size + 4)) + SMALLEST


def equilibrate(A: Vector, lam: Vector) -> tuple[Vector, Vector] | None:
    """Rows and columns scaled by powers of two to size near 1, λ with its rows; None where that leaves float64.

    Scaling is exact: Σ λ_i z_i = Σ (λ_i/ρ_i)(ρ_i z_i). Weights are scaled to a sum near 1.
    """
    if A.size == 0:
        return A, lam
    size = abs(A)
    even = [top.max() <= 1024 * top[top > 0].min(initial=np.inf) for top in (size.max(axis=1), size.max(axis=0))]
    if not (all(even) and 1e-60 < size.max() < 1e60):
        exponent = np.where(A != 0, np.frexp(A)[1].astype(np.int64), NEVER)
        rows, columns = np.zeros((len(A), 1), dtype=np.int64), np.zeros((1, A.shape[1]), dtype=np.int64)
        for _ in range(3):
            rows -= _top(exponent + rows + columns, 1)
            columns -= _top(exponent + rows + columns, 0)
        shift = rows + columns
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            half = shift // 2  # in two steps, neither of which leaves what an int can hold
            scaled = np.ldexp(np.ldexp(A, half), shift - half)
            if not np.array_equal(np.ldexp(np.ldexp(scaled, half - shift), -half), A):
                return None  # an entry fell below float64's range
            A, lam = scaled, np.ldexp(lam, -rows[:, 0])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        total = float(lam.sum())
        if not 0 < total < np.inf:
            return None
        shrunk = np.ldexp(lam, -frexp(total)[1])
    return A, shrunk


def _top(exponent: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    """The largest exponent along an axis, 0 where all entries are zero."""
    top = exponent.max(axis=axis, keepdims=True)
    return np.asarray(np.where(top > NEVER // 2, top, 0))


def even_out(A: Vector, lam: Vector) -> tuple[Vector, Vector] | None:
    """Rows scaled by powers of two near their weights, so that all weights are near 1, then columns to size near 1.

    For weights of very different sizes, each of which has to stay positive; not for what is far from a solution.
    """
    if A.size == 0 or not lam.max() > UNLIKE * lam.min():
        return None
    if not norm_above(A.T @ lam) <= FAR * norm_above(abs(A).T @ lam):
        return None
    power = np.frexp(lam)[1]
    scaled = np.ldexp(A, power[:, None])
    columns = np.frexp(abs(scaled).max(axis=0))[1]
    scaled = np.ldexp(scaled, -columns[None, :])
    if not np.array_equal(np.ldexp(np.ldexp(scaled, columns[None, :]), -power[:, None]), A):
        return None  # an entry fell below float64's range
    return scaled, np.ldexp(lam, -power)


def preconditioner(A: Vector) -> Vector | None:
    """An upper triangular P that makes AP nearly orthonormal; any P would be right, a poor one proves nothing."""
    from scipy.linalg import lapack

    m, r = A.shape
    if m * r * r <= 200_000_000:
        R = np.asarray(np.linalg.qr(A, mode="r"))
    else:
        try:
            R = np.linalg.cholesky(A.T @ A).T
        except np.linalg.LinAlgError:
            return None
    P, info = lapack.dtrtri(np.asfortranarray(np.triu(R)))
    if info != 0 or not np.isfinite(P).all():
        return None
    P = np.triu(P)
    return P if P.diagonal().all() else None


def column_sums(A: Vector, lam: Vector, exact: bool) -> tuple[Vector, float]:
    """Aᵀλ and a bound on the norm of its error; `exact`: each entry rounded once, through error-free products."""
    if not exact:
        r = A.T @ lam
        return r, 2 * gamma(len(lam) + 2) * norm_above(abs(A).T @ lam) + A.size * SMALLEST
    r = np.empty(A.shape[1])
    tiny = 0.0
    for j, column in enumerate(A.T):
        high, low = two_product(column, lam)
        r[j] = fsum(high.tolist() + low.tolist())
        tiny += len(lam) * 4 * SMALLEST + 1e-290 * len(lam)
    return r, 2 * UNIT * norm_above(r) + tiny
