"""A run on disk: written whole to a temporary name and renamed, so that a killed run continues from the last one.

The file is an npz of plain arrays (nothing is unpickled): a JSON header that says which run it belongs to, the engine's
state, and the trace so far.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Rows, Vector
from separatrix.walking.engines import Engine, Gram, choose
from separatrix.walking.methods import Method
from separatrix.walking.trace import Recorder

FORMAT = "separatrix checkpoint 2"
# What reading a torn file, or one that is something else, can end in.
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often `solve` saves a run that it can continue from.

    Parameters
    ----------
    path : str or os.PathLike
        The file, an npz of plain arrays.
    every : float, default=30.0
        Seconds between two savings.

    Raises
    ------
    ValueError
        If `every` is negative.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Checkpoint("run.npz", every=5)
    Checkpoint(path='run.npz', every=5)
    """

    path: str | os.PathLike[str]
    every: float = 30.0

    def __post_init__(self) -> None:
        if not self.every >= 0:
            raise ValueError(f"Checkpoint every must be 0 or more seconds, got {self.every!r}.")


class CheckpointError(ValueError):
    """A checkpoint file that cannot be continued from; it is left as it was."""


def describe(
    rows: Rows, method: Method, engine: str | Gram, theta0: Vector | None, recorder: Recorder, arithmetic: str
) -> dict[str, Any]:
    """All that must be the same for a run to be continued."""
    name, options = choose(engine, rows, method, arithmetic), engine if isinstance(engine, Gram) else Gram()
    return {
        "format": FORMAT,
        "method": method.name,
        "step size": float(method.gamma).hex(),
        "order": method.order,
        "engine": name,
        "arithmetic": arithmetic,
        "cached columns": f"{options.slots(rows.n)} of {options.dtype}" if name == "gram" else None,
        "rows": rows.n,
        "columns of X": rows.d,
        "data": rows.fingerprint(),
        "theta0": None if theta0 is None else blake2b(theta0.tobytes(), digest_size=16).hexdigest(),
        "record": recorder.record,
        "trace": list(recorder.names),
    }


@dataclass
class Saved:
    """What a checkpoint file held: nothing yet (`state` is None) or a run to go on with."""

    header: dict[str, Any]
    seed: int
    state: dict[str, NDArray[Any]] | None = None
    rows: NDArray[np.float64] | None = None
    seconds: float = 0.0


def restore(checkpoint: Checkpoint, header: dict[str, Any], seed: int | None) -> Saved:
    """The saved run, if the file is there and belongs to this one; a clear error if it is there and does not."""
    path = Path(checkpoint.path)
    if not path.exists():
        check_writable(path)
        return Saved(header, fresh_seed() if seed is None else seed)
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        found = json.loads(bytes(arrays.pop("header")))
        rows, seconds = arrays.pop("trace"), float(arrays.pop("seconds"))
        found_seed = int(found.pop("seed"))
    except UNREADABLE as error:
        raise CheckpointError(
            f"{path} is damaged or no checkpoint of ours ({error}); it was left as it was: move it away to start anew."
        ) from None
    for name, value in header.items():
        if found.get(name) != value:
            raise CheckpointError(
                f"{path} belongs to another run: its {name} is {found.get(name)!r}, this run's is {value!r}; "
                "it was left as it was: choose another file."
            )
    if seed is not None and seed != found_seed and header["order"] == "random":
        raise CheckpointError(f"{path} belongs to another run: its seed is {found_seed}, this run's is {seed}.")
    return Saved(header, found_seed, arrays, rows, seconds)


def check_writable(path: Path) -> None:
    """Complain before the work, not after it."""
    folder = path.parent
    if not folder.is_dir():
        raise CheckpointError(f"cannot write {path}: there is no folder {folder}; create it first.")
    if not os.access(folder, os.W_OK):
        raise CheckpointError(f"cannot write {path}: no permission to write in {folder}.")


def fresh_seed() -> int:
    """A seed nobody chose."""
    return int(np.random.default_rng().integers(2**62))


def write(checkpoint: Checkpoint, saved: Saved, engine: Engine, recorder: Recorder, seconds: float) -> None:
    """Save the run under a temporary name beside the file, then rename."""
    path = Path(checkpoint.path)
    header = json.dumps(saved.header | {"seed": saved.seed}).encode()
    trace = np.array(recorder.rows, dtype=np.float64).reshape(-1, len(recorder.names))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            np.savez(
                file,
                allow_pickle=False,
                header=np.frombuffer(header, dtype=np.uint8),
                trace=trace,
                seconds=np.array(seconds),
                **engine.save(),
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise CheckpointError(f"cannot write checkpoint {path}: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
