"""Tables and arrays from files and standard input: CSV, TSV, Parquet, npz, npy, svmlight.

The suffix tells the kind: .csv .tsv .txt (also with .gz), .parquet .pq, .npz, .npy, .svm .svmlight .libsvm. Standard
input, named -, is told by its first bytes; text with another suffix is read as text. Nothing is unpickled. A file may
unpack to 256 MB, or to a hundred times its size within half of the machine's memory; a line of text has 16 MB at most.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from separatrix.data.columns import listed
from separatrix.data.csv import GZIP, TOO_MUCH, read_text, unpacked, unpacked_most
from separatrix.data.frames import design
from separatrix.data.labels import open_parquet
from separatrix.data.npy import NOT_NPY, read_npy
from separatrix.reporting.hints import install

SUFFIXES = {
    ".csv": "text",
    ".txt": "text",
    ".tsv": "tabs",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
FIRST_BYTES = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy", GZIP: "text"}
SVMLIGHT = re.compile(rb"[-+.\w]+([ \t]+(qid|\d+):\S+)+[ \t\r]*(#.*)?")  # 1 3:0.5 7:2
CSR = ("data", "indices", "indptr", "shape")


class TooMuchError(ValueError):
    """An array that unpacks out of all proportion."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, ready for `frames.design`."""

    columns: dict[str, Any]  # float64 or bool arrays, object arrays of str, bool and None; of Parquet, Series
    header: bool  # whether the file names its columns
    source: str  # the file, for messages


@dataclass(frozen=True, eq=False)
class Arrays:
    """Rows and labels."""

    X: Any  # an array or a SciPy CSR matrix
    y: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Source:
    """A file, or standard input read whole; in messages it is its name."""

    name: str
    kind: str  # one of SUFFIXES' values
    raw: bytes | None = None  # None for a file

    def __str__(self) -> str:
        return self.name

    def open(self) -> BinaryIO:
        """From its first byte on."""
        return Path(self.name).open("rb") if self.raw is None else io.BytesIO(self.raw)

    def contents(self) -> bytes:
        """All of it."""
        with self.open() as file:
            return file.read()


def find(path: Path | str) -> Source:
    """What `path` names and which kind it is; "-" is standard input."""
    if str(path) == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed; name a file.")
        return _piped("standard input", sys.stdin.buffer.read())
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the path.")
    if not path.is_file():  # a pipe, which can be read once
        return _piped(str(path), path.read_bytes())
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; it needs at least one row.")
    packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix if packed else path.suffix
    kind = None if suffix.lower() == ".txt" else SUFFIXES.get(suffix.lower())  # any kind of text is named .txt
    if packed and kind not in (None, "text", "tabs"):
        return Source(str(path), kind or "text", unpacked(str(path), path.read_bytes()))
    if kind is None:
        with path.open("rb") as file:
            kind = _told_by(file.read(1 << 16))
        if kind not in ("text", "svmlight"):  # a spreadsheet, say, starts like an npz file
            known = " ".join(SUFFIXES)
            raise ValueError(f"{path} is of no known kind; save it as one of {known} (text also with .gz).")
    return Source(str(path), kind)


def _piped(name: str, raw: bytes) -> Source:
    if not raw:
        raise ValueError(f"{name} is empty; it needs at least one row.")
    return Source(name, _told_by(raw) or "text", raw)


def _told_by(start: bytes) -> str | None:
    """The kind of a file that starts like this, None for bytes that are no text."""
    for magic, kind in FIRST_BYTES.items():
        if start.startswith(magic):
            return kind
    if b"\0" in start:
        return None
    lines = (line.strip() for line in start.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    if len(first) > 1000:  # enough to tell, up to the last whole entry
        first = first[:1000].rpartition(b" ")[0]
    return "svmlight" if SVMLIGHT.fullmatch(first) else "text"


def read(
    path: Path | str, *, target: str | None = None, header: bool | None = None, labels: Path | str | None = None
) -> Table | Arrays:
    """The file's columns, or its arrays.

    Parameters
    ----------
    path : a file, or "-" for standard input
    target : of an npz file, the array of labels ("y" when not given); of an npy file, the number of their column; a
        table keeps its target among the columns
    header : of a text file, whether the first line names the columns; told by the line itself when not given
    labels : the npy file of the labels where `path` is an npy file of rows
    """
    source = find(path)
    if labels is not None and source.kind != "npy":
        raise ValueError(f"a file of labels goes with rows in an .npy file; {source} has its own.")
    check_labels(labels, target)
    match source.kind:
        case "text":
            return Table(*read_text(str(source), source.contents(), header=header), str(source))
        case "tabs":
            return Table(*read_text(str(source), source.contents(), delimiters="\t", header=header), str(source))
        case "parquet":
            return _read_parquet(source)
        case "npz":
            return _read_npz(source, target or "y")
        case "npy":
            return _read_npy(source, labels, target)
    return _read_svmlight(source, target)


def given(
    path: Path | str,
    *,
    target: str | None = None,
    formula: str | None = None,
    header: bool | None = None,
    labels: Path | str | None = None,
    in_place: bool = False,
) -> tuple[Any, Any, tuple[str, ...] | None]:
    """X and y as `Problem` and `diagnose` take them, and the names of X's columns where a Problem has none.

    Parameters
    ----------
    path, target, header, labels, in_place : see `labelled`
    formula : of the columns of a table; X then is the formula and y the table
    """
    if formula is not None:
        if in_place or labels is not None:
            raise ValueError(f"a formula is of a table that is read whole; {path} is to be read in place.")
        if "~" not in formula:
            raise ValueError(f"the formula {formula!r} has no ~: write the outcome before it, as in 'died ~ age'.")
        if target is not None:
            raise ValueError(f"the formula {formula!r} names the outcome; leave out the target {target!r}.")
        held = read(path, header=header)
        if isinstance(held, Arrays):
            raise ValueError(f"{path} has no named columns for a formula to speak of; pass a table.")
        return formula, held.columns, None
    suffix = Path(path).suffix.lower()
    if in_place or (suffix == ".npy" and labels is not None):
        return labelled(path, target=target, header=header, labels=labels, in_place=in_place)
    held = read(path, target=target, header=header, labels=labels)
    if isinstance(held, Arrays):
        return held.X, held.y, None
    return held.columns, target_of(held, target), None


def labelled(
    path: Path | str,
    *,
    target: str | None = None,
    header: bool | None = None,
    missing: str = "error",
    labels: Path | str | None = None,
    in_place: bool = False,
) -> tuple[Any, Any, tuple[str, ...] | None]:
    """X, y and the names of X's columns (None for arrays, which have none).

    Parameters
    ----------
    path, header, labels : see `read`; rows of an npy file with labels in another stay there: X and y name the files
    target : the column of the labels; without a header also its number, "3", or "-1" for the last
    missing : "error" or "drop", see `frames.design`
    in_place : rows of Parquet files stay there too
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy" and labels is not None:
        check_labels(labels, target)
        return str(path), str(labels), None
    if in_place:
        if suffix not in (".parquet", ".pq"):
            seen = f"{path} is read whole" if suffix != ".npy" else f"{path} needs a file of labels beside it"
            raise ValueError(f"only rows of .npy and .parquet files can stay where they are; {seen}.")
        if target is None:
            raise ValueError(f"{path} needs --target, the column of the labels.")
        return str(path), target, tuple(open_parquet(path, target)[0].columns)
    held = read(path, target=target, header=header, labels=labels)
    if isinstance(held, Arrays):
        return held.X, held.y, None
    made = design(held.columns, target_of(held, target), missing=missing)
    return made.X, made.y, tuple(term.name for term in made.terms)


def check_labels(labels: Path | str | None, target: str | None) -> None:
    """Labels come from one place, and that is a file."""
    if labels is not None and target is not None:
        raise ValueError(f"labels are in {labels} or in the column {target}; name one of the two.")
    if str(labels) == "-":
        raise ValueError("labels cannot come from standard input; name the .npy file of the labels.")


def target_of(table: Table, target: str | None) -> str:
    """The name of the column of the labels, from its name or, without a header, its number."""
    names = list(table.columns)
    if target is None:
        raise ValueError(f"{table.source} needs --target, the column of the labels; columns: {listed(names)}.")
    if target in table.columns or table.header:
        return target
    with suppress(ValueError, IndexError):
        return names[int(target)]
    seen = f"{table.source} has no column {target!r}: its first line was read as data, so columns are {listed(names)}"
    raise ValueError(f"{seen}; pass header=True if that line names them.")


def _read_parquet(source: Source) -> Table:
    for module, function in (("polars", "read_parquet"), ("pyarrow.parquet", "read_table"), ("pandas", "read_parquet")):
        try:
            import narwhals.stable.v2 as nw

            with source.open() as file:  # polars takes a path with [ or * for a pattern
                frame = getattr(import_module(module), function)(file)
        except ImportError:
            continue
        except Exception as error:  # each library has errors of its own
            raise ValueError(f"{source} is no whole Parquet file ({_sentence(error)}); get it again.") from None
        columns = {str(series.name): series.to_native() for series in nw.from_native(frame).iter_columns()}
        return Table(columns, True, str(source))
    raise ImportError(f"{source} is a Parquet file, which pyarrow or polars reads: {install('frames')}.")


def _read_npz(source: Source, target: str) -> Arrays:
    with source.open() as raw:
        whole = zipfile.is_zipfile(raw)
    if not whole:
        raise ValueError(f"{source} is no npz file; save one with np.savez(path, X=X, y=y).")
    try:
        with source.open() as raw, zipfile.ZipFile(raw) as file:
            names = [name.removesuffix(".npy") for name in file.namelist()]
            parts = {name: _member(file, name) for name in ("X", target, *CSR, "format") if name in names}
    except TooMuchError as error:
        raise ValueError(f"{source}: {error}.") from None
    except (*NOT_NPY, OSError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if str(error) == "it holds objects":
            raise ValueError(f"{source} holds objects, which are not read; save numbers or text.") from None
        seen = "it does not start like one" if "magic string" in str(error) else _sentence(error)
        raise ValueError(f"{source} is no whole npz file ({seen}); save it again.") from None
    if target not in parts:
        raise ValueError(f"{source} has no array {target!r} for the labels; arrays: {listed(names)}.")
    if "X" in parts:
        return Arrays(parts["X"], parts[target])
    if not all(name in parts for name in CSR):
        raise ValueError(f"{source} has no array 'X', nor {', '.join(CSR)} of a CSR matrix; arrays: {listed(names)}.")
    return Arrays(_csr(source, parts), parts[target])


def _member(file: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array, if it unpacks in proportion."""
    info = file.getinfo(f"{name}.npy" if f"{name}.npy" in file.namelist() else name)
    if info.file_size > unpacked_most(info.compress_size):
        raise TooMuchError(f"{name} {TOO_MUCH.format(info.compress_size)}")
    with file.open(info) as member:
        return read_npy(member, info.file_size)


def _csr(source: Source, parts: dict[str, NDArray[Any]]) -> Any:
    from scipy.sparse import csr_array

    layout = parts.get("format", np.array("csr")).item()
    if layout not in ("csr", b"csr"):
        raise ValueError(f"{source} holds a sparse matrix of format {layout!r}; save the parts of X.tocsr().")
    try:
        shape = tuple(int(size) for size in parts["shape"])
        X = csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{source} holds no whole CSR matrix ({_sentence(error)}); save it again.") from None
    return X


def _read_svmlight(source: Source, target: str | None) -> Arrays:
    from sklearn.datasets import load_svmlight_file

    if target is not None:
        raise ValueError(f"{source} has its labels at the start of each line; leave out target={target!r}.")
    try:
        with source.open() as raw:
            X, y = load_svmlight_file(raw, zero_based="auto")
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        raise ValueError(f"{source} is no svmlight file ({_sentence(error)}); lines are like '1 3:0.5 7:2'.") from None
    return Arrays(X, y)


def _read_npy(source: Source, labels: Path | str | None, target: str | None) -> Arrays:
    """Rows with their labels in a file beside them, or in a column of their own."""
    A = _array(source)
    if labels is not None:
        return Arrays(A, _array(find(labels)))
    if target is None:
        raise ValueError(
            f"{source} holds rows alone; name their labels: --labels and their file, or --target and a column."
        )
    if A.ndim != 2:
        raise ValueError(f"{source} must have two dimensions (rows, columns), got shape {A.shape}.")
    try:
        j = range(A.shape[1])[int(target)]
    except (ValueError, IndexError):
        seen = f"the target of {source} is the number of its column, from 0 to {A.shape[1] - 1}, or -1 for the last"
        raise ValueError(f"{seen}; got {target!r}.") from None
    return Arrays(np.delete(A, j, axis=1), A[:, j])


def _array(source: Source) -> NDArray[Any]:
    try:
        with source.open() as raw:
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            return read_npy(raw, size)
    except (*NOT_NPY, OSError) as error:
        raise ValueError(f"{source} is no .npy file of numbers ({_sentence(error)}); save one with np.save.") from None


def _sentence(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
