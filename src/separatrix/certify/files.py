"""A proof as a file: a small JSON text, every number exact, nothing in it executed; `proof` says what is in it."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from separatrix.certify.proof import Claim, Number, Proof, ProofError, Stage, check_proof
from separatrix.models.recipe import Recipe
from separatrix.reporting.writing import whole

FORMAT = "separatrix proof 1"
LONGEST = 2**28  # bytes of a file
FRACTION = re.compile(r"(-?[0-9a-fA-F]{1,65536})/([0-9a-fA-F]{1,65536})")


def _write(number: Number) -> float | str:
    if isinstance(number, Fraction):
        if number.denominator == 1 and abs(number.numerator) < 2**53:
            return float(number)
        return f"{number.numerator:x}/{number.denominator:x}"
    return float(number)


def _written(stage: Stage | Proof) -> dict[str, Any]:
    return {
        "rows": None if stage.rows is None else list(stage.rows),
        "weights": None if stage.weights is None else [_write(w) for w in stage.weights],
        "columns": None if stage.columns is None else list(stage.columns),
        "relations": [[j, [[k, _write(c)] for k, c in terms.items()]] for j, terms in stage.relations.items()],
    }


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
    check_proof(proof)
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{str(path)!r}: there is no folder {str(target.parent)!r}; make it first.")
    document: dict[str, Any] = {
        "format": FORMAT,
        "claim": str(proof.claim),
        "n": proof.n,
        "d": proof.d,
        "intercept": proof.intercept,
        "theta": None if proof.theta is None else [_write(t) for t in proof.theta],
        **_written(proof),
    }
    if proof.earlier:
        document["earlier"] = [_written(stage) for stage in proof.earlier]
    if proof.model is not None:
        document["model"] = dict(proof.model)
    with whole(target) as file:
        file.write(f"{json.dumps(document, allow_nan=False)}\n".encode())


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
    separable by a θ that puts every row on its right side: some θ has z_iᵀθ > 0 in every row
    """
    try:
        if Path(path).stat().st_size > LONGEST:
            raise ProofError(f"{str(path)!r} is no proof file: it has more than {LONGEST:,} bytes.")
        document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except IsADirectoryError:
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a proof file in it.") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no proof file {str(path)!r}; check the path.") from None
    except ProofError:
        raise
    except KeyError as name:
        raise ProofError(f"{str(path)!r} is a damaged proof file: it gives {_short(name.args[0])} twice.") from None
    except (ValueError, RecursionError):  # not UTF-8, not JSON, numbers of absurd length
        raise ProofError(f"{str(path)!r} is no proof file: it is not JSON text; name what --proof wrote.") from None
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
    if document["claim"] not in list(Claim):
        raise ValueError(f"its claim {_short(document['claim'])} is none of {', '.join(Claim)}")
    stages = document.get("earlier", [])
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise ValueError("earlier is no list of stages")
    earlier = tuple(Stage(*_stage(stage, n, D)) for stage in stages)
    rows, weights, columns, relations = _stage(document, n, D)
    model = document.get("model")
    if model is not None:
        model = Recipe.from_dict(model).to_dict()
    proof = Proof(Claim(document["claim"]), n, d, intercept, theta, rows, weights, columns, relations, earlier, model)
    if not proof.well_formed:
        raise ValueError("lengths, indices or numbers in it do not fit together")
    return proof


def _stage(document: dict[str, Any], n: int, D: int) -> tuple[Any, Any, Any, Any]:
    """Rows, weights, columns and relations."""
    rows = _indices(document["rows"], n, "rows")
    weights = _numbers(document["weights"], "weights")
    columns = _indices(document["columns"], D, "columns")
    if not isinstance(document["relations"], list):
        raise ValueError("relations is no list")
    listed = [(_whole(j, D), [(_whole(k, D), _number(c)) for k, c in terms]) for j, terms in document["relations"]]
    relations = {j: dict(terms) for j, terms in listed}
    if len(relations) < len(listed) or any(len(relations[j]) < len(terms) for j, terms in listed):
        raise ValueError("a relation is given twice")
    return rows, weights, columns, relations


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
