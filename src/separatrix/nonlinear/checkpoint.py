"""A network's run on disk: an npz of plain arrays, nothing unpickled, written whole to a temporary name and renamed."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.rows import Vector
from separatrix.nonlinear.model import Network, Sample
from separatrix.nonlinear.run import COLUMNS
from separatrix.reporting.writing import whole
from separatrix.walking.checkpoint import UNREADABLE, Checkpoint, CheckpointError, check_writable, readable

FORMAT = "separatrix network checkpoint 1"


class Saved(NamedTuple):
    """A run as far as it went."""

    t: int
    theta: Vector
    seconds: float
    trace: list[tuple[float, ...]]


def digest(*arrays: Any) -> str:
    """A digest of arrays, their types and shapes."""
    found = blake2b(digest_size=16)
    for array in arrays:
        found.update(f"{array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def describe(network: Network, sample: Sample, method: Mapping[str, Any], record: Any) -> dict[str, Any]:
    """All that must be the same for a run to be continued; parameters and buffers enter as they are at its start."""
    state = network.module.state_dict()
    return {
        "format": FORMAT,
        **method,
        "arithmetic": network.precision,
        "rows at once": network.chunk,
        "rows": sample.n,
        "data": digest(sample.X, sample.y, sample.s),
        "module": blake2b(repr(network.module).encode(), digest_size=16).hexdigest(),
        "parameters at the start": digest(*(state[name].numpy() for name in state)),
        "record": record,
    }


def restore(checkpoint: Checkpoint, header: Mapping[str, Any], like: Vector) -> Saved | None:
    """The saved run, None where there is no file yet; a clear error if the file is damaged or of another run."""
    path = Path(checkpoint.path)
    if not path.exists():
        check_writable(path)
        return None
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("header", "theta", "trace", "seconds", "t")}
        found = json.loads(arrays["header"].tobytes())
        if not isinstance(found, dict):
            raise ValueError("its header is no record")
    except (*UNREADABLE, KeyError, TypeError) as error:
        raise damaged(path, error) from None
    for name, value in header.items():
        if found.get(name) != value:
            raise CheckpointError(
                f"{path} belongs to another run: its {name} is {readable(found.get(name))}, "
                f"this run's is {readable(value)}; it was left as it was: choose another file."
            )
    try:
        theta, trace, t = arrays["theta"], arrays["trace"], int(arrays["t"])
        seconds = float(arrays["seconds"])
        if theta.dtype != like.dtype or theta.shape != like.shape or not np.isfinite(theta).all():
            raise ValueError(f"theta must be {len(like)} finite numbers of {like.dtype}")
        if trace.dtype != np.float64 or trace.ndim != 2 or trace.shape[1] != len(COLUMNS):
            raise ValueError(f"trace must have {len(COLUMNS)} columns of numbers")
        if t < 0 or not 0 <= seconds < inf or not (np.diff(trace[:, 0]) > 0).all() or (trace[:, 0] > t).any():
            raise ValueError("its iterations do not rise")
    except (TypeError, ValueError) as error:
        raise damaged(path, error) from None
    return Saved(t, theta, seconds, [tuple(row) for row in trace.tolist()])


def damaged(path: Path, error: Exception) -> CheckpointError:
    """One sentence about a file that cannot be continued from."""
    seen = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:200]
    return CheckpointError(
        f"{path} is damaged or no checkpoint of ours ({seen}); it was left as it was: move it away to start anew."
    )


def write(checkpoint: Checkpoint, header: Mapping[str, Any], saved: Saved) -> None:
    """Save the run."""
    path = Path(checkpoint.path)
    try:
        with whole(path) as file:
            np.savez(
                file,
                allow_pickle=False,
                header=np.frombuffer(json.dumps(dict(header)).encode(), dtype=np.uint8),
                theta=saved.theta,
                trace=np.array(saved.trace, dtype=np.float64).reshape(-1, len(COLUMNS)),
                seconds=np.array(saved.seconds),
                t=np.array(saved.t),
            )
    except OSError as error:
        raise CheckpointError(f"cannot write checkpoint {path}: {error.strerror or error}.") from error
