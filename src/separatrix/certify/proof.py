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

Numbers are JSON numbers (float64, printed so that they read back to the same bits) or strings "p/q" in hexadecimal, of
at most 65,536 digits each. A name is given once; a file has at most 256 MB.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite, lcm
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.reporting.status import Word

FORMAT = "separatrix proof 1"
LARGEST = 2.0**1023  # of plain numbers
LONGEST = 2**28  # bytes of a file
TOGETHER = 2**28  # bits of fractions over their common denominator
FRACTION = re.compile(r"(-?[0-9a-fA-F]{1,65536})/([0-9a-fA-F]{1,65536})")
Number = float | Fraction


class ProofError(ValueError):
    """A proof file that cannot be read."""


class Claim(Word):
    """What is proven of the rows z_i = y_i a_i."""

    SEPARABLE = "separable", "some θ has z_iᵀθ > 0 in every row"
    INSEPARABLE = "inseparable", "no θ has z_iᵀθ > 0 in every row"
    QUASI_COMPLETE = (
        "quasi-complete",
        "no θ has z_iᵀθ > 0 in every row, but some θ has z_iᵀθ ≥ 0 in all and > 0 in some",
    )
    OVERLAP = "overlap", "no θ has z_iᵀθ ≥ 0 in all rows and > 0 in one"


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """What is claimed of (X, y), and the numbers that prove it; `verify` checks them against the raw rows.

    - separable: θ.
    - inseparable: weights λ ≥ 0 on the rows B with Zᵀλ = 0 (Gordan). Either exactly, or by the Cholesky argument: on
      the columns K the matrix Z_BK has full rank and λ is so near a solution that a positive one exists; all other
      columns are exact combinations of K on B, so the solution solves them too.
    - quasi-complete: the same, and a θ with Zθ ≥ 0, Zθ ≠ 0.
    - overlap: λ > 0 on every row; or, by the Cholesky argument, with the relations holding on every row.

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
    well_formed : bool
        Whether checking makes sense at all.
    float_weights : ndarray
        The weights over the largest of them.
    argument : str
        The argument in a word.

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

    @property
    def well_formed(self) -> bool:
        """Whether types, lengths, indices and numbers are such that checking makes sense."""
        D = self.d + bool(self.intercept)
        if not isinstance(self.relations, Mapping) or not all(isinstance(t, Mapping) for t in self.relations.values()):
            return False
        lists = [part for part in (self.theta, self.rows, self.weights, self.columns) if part is not None]
        if not all(isinstance(part, tuple) for part in lists):
            return False
        numbers = [
            *(self.theta or ()),
            *(self.weights or ()),
            *(c for t in self.relations.values() for c in t.values()),
        ]
        indices = [(self.rows or (), self.n), (self.columns or (), D), (tuple(self.relations), D)]
        indices += [(tuple(terms), D) for terms in self.relations.values()]
        return (
            (self.theta is None or len(self.theta) == D)
            and len(self.rows or ()) == len(self.weights or ())
            and all(isinstance(v, Fraction) or (isinstance(v, int | float) and abs(v) <= LARGEST) for v in numbers)
            and all(_distinct(some, top) for some, top in indices)
            and all(map(_commensurable, [self.theta or (), self.weights or ()]))
            and all(_commensurable(terms.values()) for terms in self.relations.values())
        )

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
        if self.columns is not None:
            return "cholesky"
        if self.rows is not None and self.claim is Claim.INSEPARABLE and len(self.rows) <= 2:
            return "zero-row" if len(self.rows) == 1 else "contradiction"
        return "gordan"

    def __str__(self) -> str:
        on = "" if self.rows is None else f" on {len(self.rows):,} row{'s' * (len(self.rows) > 1)}"
        return f"{self.claim} by {self.argument}{on}: {self.claim.message}"

    __repr__ = __str__


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


def _write(number: Number) -> float | str:
    if isinstance(number, Fraction):
        if number.denominator == 1 and abs(number.numerator) < 2**53:
            return float(number)
        return f"{number.numerator:x}/{number.denominator:x}"
    return float(number)


def save_proof(proof: Proof, path: str | os.PathLike[str]) -> None:
    """Write the proof to a small text file, under a temporary name first.

    Parameters
    ----------
    proof : Proof
        What `separate` or `diagnose` found.
    path : str or os.PathLike
        The file; one that is there is replaced.

    Raises
    ------
    OSError
        If the file cannot be written.

    See Also
    --------
    load_proof : Read it back.

    Examples
    --------
    >>> import os, tempfile
    >>> import separatrix as sx
    >>> X, y = sx.two_samples()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "y.proof")
    ...     sx.save_proof(sx.separate(X, y).proof, path)
    ...     sx.verify(sx.load_proof(path), X, y)
    True
    """
    target = Path(path)
    document = {
        "format": FORMAT,
        "claim": str(proof.claim),
        "n": proof.n,
        "d": proof.d,
        "intercept": proof.intercept,
        "theta": None if proof.theta is None else [_write(t) for t in proof.theta],
        "rows": None if proof.rows is None else list(proof.rows),
        "weights": None if proof.weights is None else [_write(w) for w in proof.weights],
        "columns": None if proof.columns is None else list(proof.columns),
        "relations": [[j, [[k, _write(c)] for k, c in terms.items()]] for j, terms in proof.relations.items()],
    }
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, allow_nan=False)
            file.write("\n")
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_proof(path: str | os.PathLike[str]) -> Proof:
    """Read a proof; whether it holds is for `verify` to say.

    Parameters
    ----------
    path : str or os.PathLike
        A file that `save_proof` or the command line's --proof wrote.

    Returns
    -------
    Proof
        What the file says, unchecked.

    Raises
    ------
    ProofError
        If this is no proof file, or a damaged one.
    FileNotFoundError
        If it is not there.

    See Also
    --------
    verify : Check it against the rows.

    Examples
    --------
    >>> import os, tempfile
    >>> import separatrix as sx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "y.proof")
    ...     sx.save_proof(sx.separate(*sx.two_samples()).proof, path)
    ...     print(sx.load_proof(path))
    separable by separator: some θ has z_iᵀθ > 0 in every row
    """
    try:
        if Path(path).stat().st_size > LONGEST:
            raise ProofError(f"{str(path)!r} is no proof file: it has more than {LONGEST:,} bytes.")
        document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no proof file {str(path)!r}; check the path.") from None
    except ProofError:
        raise
    except KeyError as name:
        raise ProofError(f"{str(path)!r} is a damaged proof file: it gives {_short(name.args[0])} twice.") from None
    except (ValueError, RecursionError):  # not UTF-8, not JSON, numbers of absurd length
        raise ProofError(f"{str(path)!r} is no proof file: it is not JSON text.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ProofError(f"{str(path)!r} is no proof file: it lacks format {FORMAT!r}.")
    try:
        return _parse(document)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        missing = f"it has no field {error}" if isinstance(error, KeyError) else str(error)
        raise ProofError(f"{str(path)!r} is a damaged proof file: {missing}.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a name given twice nobody knows which one is meant."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise KeyError(name)
        fields[name] = value
    return fields


def _short(value: Any) -> str:
    """What was seen, in few letters."""
    text = repr(value[:60] if isinstance(value, str | list) else value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _parse(document: dict[str, Any]) -> Proof:
    n, d, intercept = _whole(document["n"], 2**62), _whole(document["d"], 2**62), document["intercept"]
    if not isinstance(intercept, bool):
        raise ValueError("intercept must be true or false")
    D = d + intercept
    theta = _numbers(document["theta"], "theta")
    rows = _indices(document["rows"], n, "rows")
    weights = _numbers(document["weights"], "weights")
    columns = _indices(document["columns"], D, "columns")
    if not isinstance(document["relations"], list):
        raise ValueError("relations is no list")
    listed = [(_whole(j, D), [(_whole(k, D), _number(c)) for k, c in terms]) for j, terms in document["relations"]]
    relations = {j: dict(terms) for j, terms in listed}
    if len(relations) < len(listed) or any(len(relations[j]) < len(terms) for j, terms in listed):
        raise ValueError("a relation is given twice")
    if document["claim"] not in list(Claim):
        raise ValueError(f"its claim {_short(document['claim'])} is none of {', '.join(Claim)}")
    proof = Proof(Claim(document["claim"]), n, d, intercept, theta, rows, weights, columns, relations)
    if not proof.well_formed:
        raise ValueError("lengths, indices or numbers in it do not fit together")
    return proof


def _whole(value: Any, below: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
        raise ValueError(f"{_short(value)} is no index below {below}")
    return value


def _number(value: Any) -> Number:
    if isinstance(value, str):
        parts = FRACTION.fullmatch(value)
        if parts is None:
            raise ValueError(f"{_short(value)} is no p/q in hexadecimal digits, at most 65,536 of each")
        return Fraction(int(parts[1], 16), int(parts[2], 16))
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{_short(value)} is no finite number")
    return float(value)


def _numbers(values: Any, name: str) -> tuple[Number, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list):
        raise ValueError(f"{name} is no list")
    return tuple(_number(v) for v in values)


def _indices(values: Any, below: int, name: str) -> tuple[int, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list):
        raise ValueError(f"{name} is no list")
    return tuple(_whole(v, below) for v in values)
