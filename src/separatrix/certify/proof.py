"""A proof as a value and as a file: a small JSON text, every number exact, nothing in it executed.

A file holds one object:

    format      "separatrix proof 1"
    claim       "separable", "inseparable", "quasi-complete" or "overlap"
    n, d        rows and columns of X
    intercept   whether a constant column is appended, with index d
    theta       null, or one number per column (the intercept last)
    rows        null, or the rows B that carry weights
    weights     null, or one positive number per row of B
    columns     null, or the columns K whose Z_BK has full rank ("cholesky" argument); null: Zᵀλ = 0 exactly
    relations   [j, [[k, c], …]] for columns j outside K: column j = Σ c · column k, exactly; all others are zero
    earlier     absent, or stages before these: objects with rows, weights, columns and relations. Weights of the first
                stage add up to 0 exactly, those of each later one to a row in which the relations of the one before it
                hold; columns and relations of a stage are those of its rows and all earlier ones
    model       absent where rows are y_i a_i; else a recipe by which a table is read as the model whose rows these are
                (docs/models.md): model, formula, outcome, fit_intercept, beside, fixed_effects, reference, keep and
                missing

Numbers are JSON numbers (float64, printed so that they read back to the same bits) or strings "p/q" in hexadecimal, of
at most 65,536 digits each. A name is given once; a file has at most 256 MB.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.reporting.status import Word

LARGEST = 2.0**1023  # of plain numbers
TOGETHER = 2**28  # bits of fractions over their common denominator
Number = float | Fraction


class ProofError(ValueError):
    """A proof file that cannot be read."""


def check_proof(proof: Any) -> None:
    """Complain about what is no proof, such as a verdict that has one, or the path of one."""
    if not isinstance(proof, Proof):
        seen = repr(proof) if proof is None or isinstance(proof, str) else type(proof).__name__
        raise TypeError(f"proof must be a Proof, as separate(…).proof or load_proof('y.proof') is, got {seen}.")


class Claim(Word):
    """What is proven of the rows z_i = y_i a_i."""

    SEPARABLE = "separable", "some θ has z_iᵀθ > 0 in every row"
    INSEPARABLE = "inseparable", "no θ has z_iᵀθ > 0 in every row"
    QUASI_COMPLETE = (
        "quasi-complete",
        "no θ has z_iᵀθ > 0 in every row, but some θ has z_iᵀθ ≥ 0 in all and > 0 in some",
    )
    OVERLAP = "overlap", "no θ has z_iᵀθ ≥ 0 in all rows and > 0 in one"


@dataclass(frozen=True, eq=False)
class Stage:
    """Rows tied to zero after those of the stages before, the columns K of full rank on all of them, and relations.

    rows, weights, columns, relations : as those of a `Proof`
    """

    rows: tuple[int, ...]
    weights: tuple[Number, ...]
    columns: tuple[int, ...]
    relations: Mapping[int, Mapping[int, Number]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """What is claimed of (X, y), and the numbers that prove it; `verify` checks them against the raw rows.

    - separable: θ.
    - inseparable: weights λ ≥ 0 on the rows B with Zᵀλ = 0 (Gordan). Either exactly, or by the Cholesky argument: on
      the columns K the matrix Z_BK has full rank and λ is so near a solution that a positive one exists; all other
      columns are exact combinations of K on B, so the solution solves them too.
    - quasi-complete: the same, and a θ with Zθ ≥ 0, Zθ ≠ 0.
    - overlap: λ > 0 on every row; or, by the Cholesky argument, with the relations holding on every row.

    With earlier stages rows are tied to zero one stage after the other, all in whole numbers: see `certify.face`.

    Attributes
    ----------
    claim : Claim
        What is proven.
    n : int
        Rows of X.
    d : int
        Columns of X.
    intercept : bool
        Whether a constant column is appended, with index d.
    theta : tuple of float or Fraction, or None
        One number per column (the intercept last).
    rows : tuple of int or None
        The rows B that carry weights.
    weights : tuple of float or Fraction, or None
        One positive number λ_i per row of B.
    columns : tuple of int or None
        The columns K of the Cholesky argument; None where Zᵀλ = 0 exactly.
    relations : mapping of int to mapping of int to float or Fraction
        For columns j outside K, the columns k and numbers c with column j = Σ c · column k, exactly; all others are
        zero.
    earlier : tuple of Stage
        Stages of rows tied to zero before these.
    model : mapping or None
        How a table is read as the model whose rows these are; None where they are y_i a_i.
    stages : tuple of Stage or Proof
        The earlier stages, and the proof itself as the last one.
    well_formed : bool
        Whether checking makes sense at all.
    float_weights : ndarray
        The weights over the largest of them.
    argument : str
        The argument in a word: "separator", "zero-row", "contradiction", "gordan" or "cholesky".
    reason : str
        The argument in a clause.

    See Also
    --------
    verify : Check a proof against the rows.
    save_proof : Write a proof to a file.
    load_proof : Read it back.
    """

    claim: Claim
    n: int
    d: int
    intercept: bool
    theta: tuple[Number, ...] | None = None
    rows: tuple[int, ...] | None = None
    weights: tuple[Number, ...] | None = None
    columns: tuple[int, ...] | None = None
    relations: Mapping[int, Mapping[int, Number]] = field(default_factory=dict)
    earlier: tuple[Stage, ...] = ()
    model: Mapping[str, Any] | None = None

    @property
    def stages(self) -> tuple[Stage | Proof, ...]:
        """The earlier stages, and the proof itself as the last one."""
        return (*self.earlier, self)

    @property
    def well_formed(self) -> bool:
        """Whether types, lengths, indices and numbers are such that checking makes sense."""
        if not isinstance(self.earlier, tuple) or not all(isinstance(stage, Stage) for stage in self.earlier):
            return False
        if not all(_fits(stage, self.n, self.d + bool(self.intercept), self.theta) for stage in self.stages):
            return False
        together = [i for stage in self.stages for i in stage.rows or ()]
        return len(set(together)) == len(together)

    @property
    def float_weights(self) -> NDArray[np.float64]:
        """The weights over the largest of them, in float64."""
        top = Fraction(max(self.weights or (1,)))
        return np.array([float(Fraction(w) / top) for w in self.weights or ()])

    @property
    def argument(self) -> str:
        """The argument in a word: separator, zero-row, contradiction, gordan or cholesky."""
        if self.claim is Claim.SEPARABLE:
            return "separator"
        if self.columns is not None and not self.earlier and len(set(self.weights or ())) > 1:
            return "cholesky"
        if self.rows is not None and self.claim is Claim.INSEPARABLE and len(self.rows) <= 2:
            return "zero-row" if len(self.rows) == 1 else "contradiction"
        return "gordan"

    @property
    def reason(self) -> str:
        """The argument in a clause."""
        count = sum(len(stage.rows or ()) for stage in self.stages)
        rows = f"{count:,} rows"
        stages = f", in {len(self.stages)} stages" if self.earlier else ""
        words = {
            "separator": "a θ that puts every row on its right side",
            "zero-row": "a row of zeros",
            "contradiction": "two rows of which no θ gets both right",
            "gordan": f"{rows} that cancel under positive weights{stages} (Gordan)",
            "cholesky": f"{rows} that cancel under positive weights near those given (Cholesky)",
        }
        return words["zero-row" if count == 1 else self.argument]

    def __str__(self) -> str:
        model = "" if self.model is None else f" in the model {self.model['model']}"
        return f"{self.claim}{model} by {self.reason}: {self.claim.message}"

    __repr__ = __str__


def _fits(stage: Stage | Proof, n: int, D: int, theta: Any) -> bool:
    """Whether types, lengths, indices and numbers of a stage are such that checking makes sense."""
    relations = stage.relations
    if not isinstance(relations, Mapping) or not all(isinstance(t, Mapping) for t in relations.values()):
        return False
    if not all(isinstance(part, tuple | None) for part in (theta, stage.rows, stage.weights, stage.columns)):
        return False
    numbers = [*(theta or ()), *(stage.weights or ()), *(c for t in relations.values() for c in t.values())]
    indices = [(stage.rows or (), n), (stage.columns or (), D), (tuple(relations), D)]
    indices += [(tuple(terms), D) for terms in relations.values()]
    return (
        (theta is None or len(theta) == D)
        and len(stage.rows or ()) == len(stage.weights or ())
        and all(isinstance(v, Fraction) or (isinstance(v, int | float) and abs(v) <= LARGEST) for v in numbers)
        and all(_distinct(some, top) for some, top in indices)
        and all(map(_commensurable, [theta or (), stage.weights or ()]))
        and all(_commensurable(terms.values()) for terms in relations.values())
    )


def _distinct(indices: tuple[Any, ...], below: int) -> bool:
    """Whether these are different whole numbers from 0 up to, not including, `below`."""
    return len(set(indices)) == len(indices) and all(
        isinstance(i, int) and not isinstance(i, bool) and 0 <= i < below for i in indices
    )


def _commensurable(values: Collection[Any]) -> bool:
    """Whether the common denominator is short enough to write them all over it; that of many primes is not."""
    common = 1
    for q in {v.denominator for v in values if isinstance(v, Fraction)}:
        common = lcm(common, q)
        if common.bit_length() * len(values) > TOGETHER:
            return False
    return True
