"""Whether a verdict from rows that occur with both signs hangs on rounding, without writing rows out.

A row and its opposite are one observation and move together, so that they stay tied. What can turn is the rest of the
argument: relations that lean on rounded entries, columns K that are nearly dependent, rows tied later.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.certify import Proof, Stage
from separatrix.certify.check import slack
from separatrix.certify.modular import never_meeting
from separatrix.certify.reader import Reader, nearest
from separatrix.core.definition import rounded
from separatrix.data.memory import hold_signed
from separatrix.data.rows import Index
from separatrix.deciding.panels import cholesky
from separatrix.deciding.reduced import Reduced
from separatrix.deciding.search import Case

CHANGE = 1e-12
APART = 2e-12  # of the squared length of columns, the least squared singular value that rounding leaves certain
WIDTH = 5_000  # columns up to which that is looked at


def is_sturdy(case: Case, proof: Proof) -> bool:
    """Whether the kind stays what it is if rounded entries move by one part in 1e12, opposite rows together."""
    reader = case.reader
    face = np.arange(reader.n)
    if proof.theta is not None:
        face = np.flatnonzero(reader.signs(proof.theta) == 0)
        off = np.setdiff1d(np.arange(reader.n), face)
        if not _survives(reader, proof, off):
            return False
    moved = _moved(reader, face)
    leaning = {j: {j, *terms} for j, terms in proof.relations.items()}
    if moved[sorted(set().union(*leaning.values()))].any():
        return False
    K = np.array(proof.columns, dtype=np.int64)
    if moved[K].any() and not _apart(reader, face, K):
        return False
    earlier: list[Stage | Proof] = list(proof.stages)
    return all(_stays(case, before, stage) for before, stage in zip(earlier[:-1], earlier[1:], strict=True))


def _moved(reader: Reader, rows: Index) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The columns with a rounded entry in these rows."""
    Z = reader.csr(rows)
    out = np.zeros(reader.D, dtype=bool)
    out[Z.indices[rounded(Z.data)]] = True
    return out


def _survives(reader: Reader, proof: Proof, off: Index) -> bool:
    """Whether zᵀθ > 0 in these rows whatever the change, from the exact margins' sizes in floats."""
    theta = np.array([nearest(t) for t in proof.theta or ()])
    if not np.isfinite(theta).all():
        return False
    Z = reader.csr(off)
    margin, size = Z @ theta, abs(Z) @ abs(theta)
    Z.data[~rounded(Z.data)] = 0.0
    change = abs(Z) @ abs(theta)
    # Where nothing is rounded the sign is exact as it is; elsewhere floats must see it.
    return bool(((change == 0) | (margin > 2 * CHANGE * change + 1e-13 * size)).all())


def _apart(reader: Reader, rows: Index, K: Index) -> bool:
    """Whether the columns K, made of one length, are far from dependent on these rows.

    Those that never meet are orthogonal. Of the others, H₂ = I + …, what is left outside their span is H₂ - CᵀC; its
    least eigenvalue is at most (1 + ‖C‖)² times that of all, and ‖C‖² at most the entries in a row.
    """
    from scipy.sparse import diags_array

    Z = reader.csr(rows, K)
    with np.errstate(all="ignore"):
        size = np.sqrt(np.asarray(Z.power(2).sum(axis=0)).ravel())
        if not np.isfinite(size).all() or not (size > 0).all():
            return False
        Z = (Z @ diags_array(1.0 / size)).tocsc()
        first = never_meeting(Z)
        others = np.setdiff1d(np.arange(len(K)), first)
        if len(others) > WIDTH:
            return False
        C = (Z[:, first].T @ Z[:, others]).tocsr()
        H = (Z[:, others].T @ Z[:, others] - C.T @ C).toarray()
        wide = 2.0 + float(np.diff(Z.tocsr().indptr).max(initial=0))
        H[np.diag_indices(len(H))] -= APART * wide * wide
        if not np.isfinite(H).all():
            return False
    try:
        cholesky(H)
    except np.linalg.LinAlgError:
        return False
    return True


def _stays(case: Case, before: Stage | Proof, stage: Stage | Proof) -> bool:
    """Whether the rows of a stage stay tied to zero in the unknowns that the stage before it leaves."""
    reader, rows = case.reader, np.array(stage.rows, dtype=np.int64)
    if not _moved(reader, rows).any():
        return True
    K = np.array(before.columns, dtype=np.int64)
    relations = {j: {k: Fraction(c) for k, c in terms.items()} for j, terms in before.relations.items()}
    left = Reduced.of(reader, np.sort(rows), K, relations)
    if left is None or len(left.rows) < len(rows):
        return False
    (block, *others) = left.blocks(np.arange(len(rows)))
    if block is None:
        return False
    if others or len(block.lines) < len(rows):
        return len(block.columns) == 1 and not others  # one unknown: signs alone tie
    lean = [left.N[at] in relations for at in block.columns]
    if any(lean):
        return False  # differences of rounded entries may be all rounding
    weight = dict(zip(rows.tolist(), stage.weights or (), strict=True))
    lam = np.array(
        [
            nearest(Fraction(weight[int(left.rows[i])]) * g * Fraction(2) ** p)
            for i, g, p in zip(block.rows, block.divisor, block.row_power, strict=True)
        ]
    )
    small = Reader(hold_signed(block.floats, case.rows.classes))
    new = set(stage.columns or ()) - set(before.columns or ())
    columns = np.array([k for k, at in enumerate(block.columns) if int(left.N[at]) in new], dtype=np.int64)
    if len(columns) < len(block.columns):
        return False
    with np.errstate(all="ignore"):
        return slack(small, np.arange(len(lam)), lam / lam.max(), columns, perturbation=CHANGE) > 0
