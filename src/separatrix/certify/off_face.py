"""Which rows a proof of quasi-completeness shows to be separated, and that no θ of the cone separates another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.face import relations_at
from separatrix.certify.proof import Claim, Proof
from separatrix.certify.reader import Reader
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Rows

RANKED = 20_000_000  # rows times columns squared up to which ranks are compared


def separated(proof: Proof, rows: Rows) -> Index | None:
    """The rows that this proof, which must hold, shows to be separated: zᵀθ > 0 there, and 0 in all others for every θ.

    Of the rows that its θ leaves at zero each must be one that carries a weight, or equal one, or have the relations of
    the columns K in it, or be a combination of some that do. None where that is not so: then more rows may be separated
    than its own θ separates.
    """
    every = np.arange(rows.n)
    if proof.claim is Claim.SEPARABLE:
        return every
    if proof.claim is Claim.OVERLAP:
        return every[:0]
    if proof.claim is not Claim.QUASI_COMPLETE or proof.theta is None:
        return None
    weighted = np.zeros(rows.n, dtype=bool)
    for stage in proof.stages:
        weighted[list(stage.rows or ())] = True
    equals: frozenset[bytes] = frozenset()
    if proof.columns is None:
        equals = frozenset().union(*rows.map(bytes_of, weighted))
    found = rows.map(off_face, proof, weighted, equals)
    if any(part is None for part in found):
        return by_rank(proof, rows, np.flatnonzero(weighted))
    return np.concatenate(found)


def by_rank(proof: Proof, rows: Rows, weighted: Index) -> Index | None:
    """The same where the rows that θ leaves at zero have no larger rank than those that carry a weight, exactly."""
    from flint import fmpz_mat

    whole = rows.whole
    reader = None if whole is None else Reader(whole)
    if whole is None or reader is None or whole.n * reader.D**2 > RANKED or proof.columns is not None:
        return None
    signs, every = reader.signs(proof.theta or ()), np.arange(reader.D)
    zero = np.union1d(np.flatnonzero(signs <= 0), weighted)
    few, all_ = (fmpz_mat([reader.integers(int(i), every) for i in some]).rank() for some in (weighted, zero))
    return np.flatnonzero(signs > 0) if few == all_ else None


def off_face(
    first: int, piece: HeldRows, proof: Proof, weighted: NDArray[np.bool_], equals: frozenset[bytes]
) -> Index | None:
    """The rows of a piece with zᵀθ > 0; None where another one is not shown to be zero for every θ of the cone."""
    reader = Reader(piece)
    signs = reader.signs(proof.theta or ())
    open_rows = np.flatnonzero((signs <= 0) & ~weighted[first : first + piece.n])
    if proof.columns is None:
        good = equals.issuperset(reader.row_bytes(open_rows))
    else:
        good = len(relations_at(reader, proof, open_rows)) == len(open_rows)
    return first + np.flatnonzero(signs > 0) if good else None


def bytes_of(first: int, piece: HeldRows, weighted: NDArray[np.bool_]) -> frozenset[bytes]:
    """The rows of a piece that carry a weight, as bytes."""
    return Reader(piece).row_bytes(np.flatnonzero(weighted[first : first + piece.n]))
