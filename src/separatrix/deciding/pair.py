"""A strictly complementary pair in floats: θ positive on some rows, λ positive on the others, which θ leaves at zero.

Rows that no θ of the cone {Zθ ≥ 0} can leave are its face. Columns are whitened first, W = ZP with WᵀW = I, which
turns narrow cones into wide ones and takes out columns that are combinations of earlier ones to rounding. Then facial
reduction: the Newton path either separates all rows in the unknowns that are left, or ties some of them together by
weights; the unknowns that these rows leave free are the next ones. Nothing here is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.reader import two_product
from separatrix.data.memory import hold_signed
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.newton import NewtonPath
from separatrix.deciding.panels import cholesky, gram, qr
from separatrix.deciding.scaling import Matrix, ScaledRows

DEPENDENT = 5e-14  # a column shorter than this share of itself, once its part in earlier ones is taken out
SPAN = 1e-10  # of the largest, what rounding leaves of a singular value of whitened rows
VANISHED = 1e-8  # a whitened row shorter than this share of itself, once the tied rows' span is taken out
CLEAR = 1e-14  # z_iᵀθ/‖z_i‖‖θ‖ from which rows count as separated
TIED, NEARLY = 1e-15, 1e-12  # ‖Zᵀλ‖ of unit rows, Σλ = 1: tied to rounding at once, and if no separator turns up
STEEP, REFINED = 1e-7, 20_000_000  # pivots apart by more are whitened once more, where that takes so many products
EVEN = 1e-4  # pivots of a Cholesky factor apart by less: its normal equations lose few digits
SPREAD = 200_000_000  # products up to which weights are spread over all rows of the face
FAINT = 1e-9  # of the largest weight, what is left to other rows
PANEL = 64  # columns orthogonalised together


@dataclass(frozen=True, eq=False)
class Pair:
    """θ and λ on the rows given, and what they say.

    theta : zero on the face to rounding, positive elsewhere
    lam : weights of rows that are tied to zero and span the face, of all its rows where possible; zero elsewhere
    face : whether each row is on the face
    kept, left : the columns that are no combination of earlier ones to rounding, and those that are
    combinations : those over these, kept x left
    cone : D x k, the directions that leave the face at zero, θ = cone · point
    point : θ in them
    inside : the rows off the face in them, of unit length
    """

    theta: Vector
    lam: Vector
    face: NDArray[np.bool_]
    kept: Index
    left: Index
    combinations: Matrix
    cone: Matrix
    point: Vector
    inside: Matrix


def orthonormal(Z: Matrix, budget: Budget) -> tuple[Matrix, Matrix, Index] | None:
    """Q, R and the columns kept, Z[:, kept] = QR: Gram-Schmidt in panels, twice, without dependent columns."""
    n, D = Z.shape
    size = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    if D <= n:
        found = qr(Z, budget)
        if found is None:
            return None
        if (abs(found[1].diagonal()) > STEEP * size).all():  # nowhere near dependent: as Householder has it
            return *found, np.arange(D)
    Q, R = np.empty((n, min(n, D))), np.zeros((min(n, D), D))
    kept: list[int] = []
    for lo in range(0, D, PANEL):
        if budget.late:
            return None
        block = Z[:, lo : lo + PANEL].copy()
        for _ in range(2):
            part = Q[:, : len(kept)].T @ block
            block -= Q[:, : len(kept)] @ part
            R[: len(kept), lo : lo + PANEL] += part
        fresh = len(kept)
        for at in range(block.shape[1]):
            j, x = lo + at, block[:, at]
            for _ in range(2):
                part = Q[:, fresh : len(kept)].T @ x
                x = x - Q[:, fresh : len(kept)] @ part
                R[fresh : len(kept), j] += part
            length = float(np.linalg.norm(x))
            if length > DEPENDENT * size[j] and len(kept) < n:
                Q[:, len(kept)] = x / length
                R[len(kept), j] = length
                kept.append(j)
    r = len(kept)
    return Q[:, :r], R[:r], np.array(kept, dtype=np.int64)


def whitened(Z: Matrix, budget: Budget) -> tuple[Matrix, Matrix, Index, Matrix] | None:
    """Q = Z[:, kept] P with QᵀQ = I, P, the columns kept, and the others over these.

    None once it is late, and where float64 has no such P, as beside a column of denormal numbers.
    """
    from scipy.linalg import solve_triangular

    found = orthonormal(Z, budget)
    if found is None:
        return None
    Q, R, kept = found
    P = solve_triangular(R[:, kept], np.eye(len(kept)))
    if not np.isfinite(P).all():
        return None
    combinations = P @ R[:, np.setdiff1d(np.arange(Z.shape[1]), kept)]
    pivots = abs(R[:, kept].diagonal())
    if len(kept) and pivots.min() < STEEP * pivots.max() and len(Z) * len(kept) ** 2 <= REFINED:
        Q, R = np.linalg.qr(accurate(Z[:, kept], P))  # what rounding made of the first Q, put right
        if not (np.isfinite(R).all() and R.diagonal().all()):
            return None
        P = solve_triangular(R.T, P.T, lower=True).T
    return Q, P, kept, combinations


def complementary_pair(Z: Matrix, budget: Budget) -> Pair | None:
    """The pair of rows Z (balanced, at most a few thousand columns); None where floats do not settle it in time."""
    D = Z.shape[1]
    found = whitened(Z, budget)
    if found is None:
        return None
    Q, P, kept, combinations = found
    left = np.setdiff1d(np.arange(D), kept)
    length = np.sqrt(np.einsum("ij,ij->i", Q, Q))
    face = length <= VANISHED**2
    length[face] = 1.0
    W = Q / length[:, None]
    basis, lam = np.eye(len(kept)), face.astype(np.float64)
    point, A = np.zeros(len(kept)), W
    while not face.all():
        rest = np.flatnonzero(~face)
        A = W[rest] @ basis
        short = np.sqrt(np.einsum("ij,ij->i", A, A))
        if (short <= VANISHED).any():  # in the span of what is tied
            face[rest[short <= VANISHED]] = True
            continue
        A /= short[:, None]
        answer = split(A, budget)
        if answer is None:
            return None
        point, weights = answer
        if weights is None:
            break
        face[rest[weights > 0]] = True
        lam = _joined(W, lam, rest, weights / short)
        basis = _orthogonal(Q[lam > 0])
    lam[face] = _spread(Q[face], lam[face] / length[face]) * length[face]
    if face.all():
        basis, point, A = basis[:, :0], np.zeros(0), np.zeros((0, 0))
    cone = np.zeros((D, basis.shape[1]))
    cone[kept] = P @ basis
    return Pair(cone @ point, lam / length, face, kept, left, combinations, cone, point, A)


def accurate(Z: Matrix, P: Matrix) -> Matrix:
    """ZP as if in twice the precision, rounded once (Ogita, Rump and Oishi 2005)."""
    total = np.zeros((len(Z), P.shape[1]))
    low = np.zeros_like(total)
    for z, p in zip(Z.T, P, strict=True):
        high, error = two_product(np.broadcast_to(z[:, None], total.shape), p[None, :])
        new = total + high
        back = new - total
        low += error + ((total - (new - back)) + (high - back))
        total = new
    return total + low


def split(A: Matrix, budget: Budget) -> tuple[Vector, Vector | None] | None:
    """A point that is positive on all unit rows A, or weights of rows that are tied; None where neither shows.

    Weights that tie rows but for last digits may hide a separator, and count where the path ends without one.
    """
    rows = ScaledRows(hold_signed(A, np.array([0, 1])))
    best, loose = (CLEAR, np.zeros(0)), None
    with np.errstate(all="ignore"):
        for step in NewtonPath(rows).steps_on():
            theta = step.theta[: A.shape[1]]
            if not np.isfinite(theta).all() or budget.late:
                break
            share = step.lowest / max(float(np.linalg.norm(theta)), 1e-300)
            if share > best[0]:
                enough = step.lowest > 0.3 or share < 1.1 * best[0]
                best = share, theta.copy()
                if enough:
                    break
            if best[0] <= CLEAR and step.end_of_stage and step.reach > 1e3:
                weights, residual = tie(A, step.u)
                if residual <= TIED:
                    return theta, weights
                if residual <= NEARLY and loose is None:
                    loose = theta.copy(), weights
    if best[0] > CLEAR:
        return best[1], None
    return None if budget.late else loose


def tie(A: Matrix, u: Vector) -> tuple[Vector, float]:
    """Weights near u ≥ 0 with Aᵀλ = 0, and what is left of that: projected, rows that turn negative taken out."""
    lam = np.maximum(u, 0.0)
    for _ in range(12):
        B = np.flatnonzero(lam)
        if len(B) < 2:
            break
        projected = project(A[B], lam[B] / lam[B].sum())
        nothing = FAINT * float(projected.max())
        if (projected < -nothing).mean() > 0.5:
            break
        lam[B] = np.where(projected > nothing, projected, 0.0)
        if lam[B].all():
            lam /= lam.sum()
            return lam, float(np.linalg.norm(A[B].T @ lam[B]))
    return lam, np.inf


def project(A: Matrix, lam: Vector) -> Vector:
    """The nearest λ' with Aᵀλ' = 0, of size relative to λ: √λ minus its part in the range of √λ A, times √λ."""
    from scipy.linalg import cho_solve

    root = np.sqrt(lam)
    M, rest = root[:, None] * A, root
    try:
        factor = cholesky(gram(M))
        pivots = factor[0].diagonal()
        even = bool(pivots.min() > EVEN * pivots.max())
    except np.linalg.LinAlgError:
        even = False
    if even:  # normal equations will do, put right twice
        for _ in range(3):
            rest = rest - M @ cho_solve(factor, M.T @ rest, check_finite=False)
        return np.asarray(root * rest)
    Q, left = span(M)
    for _ in range(2):
        rest = rest - Q @ (left @ (left.T @ (Q.T @ rest)))
    return np.asarray(root * rest)


def span(M: Matrix) -> tuple[Matrix, Matrix]:
    """Q and L such that QL is an orthonormal basis of the range of M."""
    Q, R = np.linalg.qr(M)
    left, values, _ = np.linalg.svd(R)
    return Q, left[:, : len(values)][:, values > SPAN * values.max(initial=0.0)]


def _orthogonal(B: Matrix) -> Matrix:
    """An orthonormal basis of the directions orthogonal to all rows B, of whitened rows."""
    R = np.linalg.qr(B, mode="r")
    _, values, right = np.linalg.svd(R)
    rank = int((values > SPAN).sum())
    return np.asarray(right[rank:].T)


def _spread(Q: Matrix, lam: Vector) -> Vector:
    """Weights on every row where such are near: all rows of the face can have them."""
    if lam.all() or not lam.any() or Q.size * Q.shape[1] > SPREAD:
        return lam
    for share in (0.1, 0.01, 1e-3):
        more = project(Q, lam + share * float(lam[lam > 0].mean()))
        if (more > 1e-3 * share * float(more.mean())).all():
            return more
    return lam


def _joined(W: Matrix, lam: Vector, rest: Index, weights: Vector) -> Vector:
    """λ with more rows: theirs solve the unknowns left, and what they pull elsewhere the old rows give way to."""
    both, old = lam.copy(), np.flatnonzero(lam)
    if len(old) == 0:
        both[rest] = weights
        return both
    root = np.sqrt(lam[old])
    x = np.linalg.lstsq((root[:, None] * W[old]).T, W[rest].T @ weights, rcond=SPAN)[0]
    change = root * x  # the least change, relative to λ, that pulls as the new rows do
    with np.errstate(divide="ignore", invalid="ignore"):
        room = float(np.min(np.where(change > 0, lam[old] / change, np.inf)))
    share = min(1.0, 0.5 * room)
    both[old] -= share * change
    both[rest] += share * weights
    return both
