"""A run on disk: written whole to a temporary name and renamed, so that a killed run continues from the last one.

The file is an npz of plain arrays (nothing is unpickled): a JSON header that says which run it belongs to, the engine's
state, and the trace so far.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT
from separatrix.data.npy import NOT_NPY, npy_header
from separatrix.data.rows import Rows, Vector
from separatrix.reporting.writing import whole
from separatrix.walking.engines import Engine, Gram, choose
from separatrix.walking.engines.saved import check_state
from separatrix.walking.methods import Plan
from separatrix.walking.own import described
from separatrix.walking.trace import WHOLE, Recorder

FORMAT = "separatrix checkpoint 4"
# What reading a torn file, or one that is something else, can end in.
UNREADABLE = (*NOT_NPY, zipfile.BadZipFile, zlib.error, OSError, AttributeError, RuntimeError)
HEX = re.compile(r"-?0x[0-9a-f]\.[0-9a-f]+p[+-][0-9]{1,4}")
HEADER = 1 << 16  # bytes of the header at most
BESIDE = ("header", "trace", "seconds")  # the arrays that are not the engine's
AT_ONCE = 1 << 12  # rows of the trace
SAMPLE = (*range(64), *(1 << k for k in range(6, 21)))  # the t whose step sizes tell one schedule from another


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often `solve` saves a run that it can continue from.

    A file belongs to one run: data, method and options are compared, a schedule of step sizes by its values at t = 0 to
    63 and at the powers of two up to 2^20, a method of your own by its class's name and its attributes, not its code.

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
        if not isinstance(self.path, str | os.PathLike):
            raise ValueError(f"checkpoint must be a path or a Checkpoint, got {self.path!r}.")
        if not isinstance(self.every, int | float) or not self.every >= 0:
            raise ValueError(f"Checkpoint every must be 0 or more seconds, got {self.every!r}.")


class CheckpointError(ValueError):
    """A checkpoint file that cannot be continued from; it is left as it was."""


def describe(
    rows: Rows, method: Plan, engine: str | Gram, theta0: Vector | None, recorder: Recorder, arithmetic: str
) -> dict[str, Any]:
    """All that must be the same for a run to be continued."""
    name, options = choose(engine, rows, method, arithmetic), engine if isinstance(engine, Gram) else Gram()
    return {
        "format": FORMAT,
        "method": method.name,
        "step size": float(method.gamma).hex(),
        "power": float(method.power).hex(),
        "schedule": None if method.schedule is None else sampled(method.schedule),
        "own method": None if method.own is None else described(method.own),
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
        "iterates": None if recorder.iterates is None else "kept",
    }


def sampled(schedule: Callable[[int], float]) -> str:
    """A digest of γ_t at t = 0 … 63 and the powers of two up to 2^20; where a schedule ends, it has none."""
    digest = blake2b(digest_size=16)
    for t in SAMPLE:
        try:
            value = float(schedule(t)).hex()
        except Exception:  # a list's end, an overflow: the run complains if it gets there
            value = "none"
        digest.update(f"{t} {value};".encode())
    return digest.hexdigest()


@dataclass
class Saved:
    """What a checkpoint file says of its run; `found` is whether there is one to go on with."""

    header: dict[str, Any]
    seed: int
    found: bool = False


def restore(checkpoint: Checkpoint, header: dict[str, Any], seed: int | None) -> Saved:
    """Whether the file is there and belongs to this run; a clear error if it is there and does not."""
    path = Path(checkpoint.path)
    if not path.exists():
        check_writable(path)
        return Saved(header, fresh_seed() if seed is None else seed)
    try:
        with zipfile.ZipFile(path) as file:
            found = json.loads(bytes(_array(file, "header", np.dtype(np.uint8), (HEADER,), up_to=True)))
        found_seed = found.pop("seed")
        if not isinstance(found_seed, int) or isinstance(found_seed, bool) or found_seed < 0:
            raise ValueError(f"its seed is {found_seed!r:.40}")
    except UNREADABLE as error:
        raise _damaged(path, error) from None
    for name, value in header.items():
        if found.get(name) != value:
            raise CheckpointError(
                f"{path} belongs to another run: its {name} is {readable(found.get(name))}, "
                f"this run's is {readable(value)}; it was left as it was: choose another file."
            )
    if seed is not None and seed != found_seed and header["order"] == "random":
        raise CheckpointError(f"{path} belongs to another run: its seed is {found_seed}, this run's is {seed}.")
    return Saved(header, found_seed, True)


def load(checkpoint: Checkpoint, engine: Engine, recorder: Recorder, rows: Rows) -> float:
    """Bring engine and trace to where the saved run on these rows was; the seconds it had taken.

    Every array has to be what the engine itself would save, in type, shape and range, before it is read: a file can
    declare anything.
    """
    path, n = Path(checkpoint.path), rows.n
    expected = engine.save()
    try:
        with zipfile.ZipFile(path) as file:
            kept = () if recorder.iterates is None else ("iterates",)
            missing = {f"{name}.npy" for name in (*expected, *BESIDE, *kept)} ^ set(file.namelist())
            if missing:
                raise ValueError(f"{min(missing)} is missing, or one too many")
            state = {
                name: _array(file, name, like.dtype, (n,) if name == "last" else like.shape, up_to=name == "last")
                for name, like in expected.items()
            }
            seconds = float(_array(file, "seconds", np.dtype(np.float64), ()))
            if not 0 <= seconds < inf:
                raise ValueError(f"seconds must not be negative, got {seconds}")
            check_state(state, n)
            trace = _trace(file, recorder, int(state.get("sweep_t", state["t"])))
            shape = len(trace), entries_of(rows)
            iterates = _array(file, "iterates", np.dtype(np.float64), shape) if kept else None
    except UNREADABLE as error:
        raise _damaged(path, error) from None
    try:
        engine.load(state)
    except ValueError as error:
        raise _damaged(path, error) from None
    recorder.rows, recorder.iterates = trace, None if iterates is None else list(iterates)
    return seconds


def readable(value: Any) -> str:
    """What a header says, with its floats in decimal."""
    text = HEX.sub(lambda found: repr(float.fromhex(found[0])), str(value))
    return text if len(text) <= 300 else f"{text[:300]} …"  # of a file that may say anything


def _damaged(path: Path, error: Exception) -> CheckpointError:
    seen = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:200]
    return CheckpointError(
        f"{path} is damaged or no checkpoint of ours ({seen}); it was left as it was: move it away to start anew."
    )


def _opened(file: zipfile.ZipFile, name: str, dtype: np.dtype[Any]) -> tuple[Any, tuple[int, ...]]:
    """A member from its first entry on, and its shape; written as `write` does, its bytes are those it declares."""
    info = file.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed, which ours are not")
    member = file.open(info)
    shape, fortran, kind = npy_header(member)
    if kind != dtype or fortran:
        raise ValueError(f"{name} must hold {dtype}, got {kind} of shape {shape}")
    if info.file_size - member.tell() != kind.itemsize * prod(shape):
        raise ValueError(f"{name} declares shape {shape}, which its {info.file_size:,} bytes are not")
    return member, shape


def _array(
    file: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], up_to: bool = False
) -> NDArray[Any]:
    """An array of this type and shape; `up_to` this many entries where it may have fewer."""
    member, found = _opened(file, name, dtype)
    with member:
        fits = len(found) == 1 and found[0] <= shape[0] if up_to else found == shape
        if not fits:
            raise ValueError(f"{name} must have shape {shape}{' at most' if up_to else ''}, got {found}")
        return np.ndarray(found, dtype, member.read()).copy()  # read to its end, where its sum is checked


def _trace(file: zipfile.ZipFile, recorder: Recorder, t: int) -> list[tuple[float, ...]]:
    """The rows of the trace, some at a time: iterations rise up to t, and what is counted is whole."""
    names, rows = recorder.names, list[tuple[float, ...]]()
    member, shape = _opened(file, "trace", np.dtype(np.float64))
    whole = [k for k, name in enumerate(names) if name in WHOLE]
    last = -1.0
    with member:
        if len(shape) != 2 or shape[1] != len(names):
            raise ValueError(f"trace must have {len(names)} columns, got shape {shape}")
        while piece := member.read(AT_ONCE * 8 * len(names)):
            part = np.frombuffer(piece, dtype=np.float64).reshape(-1, len(names))
            counts = part[:, whole]
            if not ((counts >= 0) & (counts <= EXACT) & (counts == np.floor(counts))).all():
                raise ValueError("trace must count in whole numbers from 0")
            steps = np.diff(part[:, 0], prepend=last)
            if not (steps > 0).all() or part[-1, 0] > t:
                raise ValueError(f"the iterations of trace must rise, up to {t}")
            last = part[-1, 0]
            rows += [tuple(row) for row in part.tolist()]
    return rows


def entries_of(rows: Rows) -> int:
    """Entries of θ: one per column, and the intercept's."""
    return rows.d + bool(rows.bias)


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


def write(checkpoint: Checkpoint, saved: Saved, engine: Engine, recorder: Recorder, rows: Rows, seconds: float) -> None:
    """Save the run."""
    path = Path(checkpoint.path)
    header = json.dumps(saved.header | {"seed": saved.seed}).encode()
    trace = np.array(recorder.rows, dtype=np.float64).reshape(-1, len(recorder.names))
    iterates = recorder.kept(entries_of(rows))
    kept = {} if iterates is None else {"iterates": iterates}
    try:
        with whole(path) as file:
            np.savez(
                file,
                allow_pickle=False,
                header=np.frombuffer(header, dtype=np.uint8),
                trace=trace,
                seconds=np.array(seconds),
                **kept,
                **engine.save(),
            )
    except OSError as error:
        raise CheckpointError(f"cannot write checkpoint {path}: {error.strerror or error}.") from error
