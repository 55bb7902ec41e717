"""Tables and arrays from disk: CSV, TSV, Parquet, npz, npy, svmlight.

The suffix tells the kind: .csv .tsv .txt (also with .gz), .parquet .pq, .npz, .npy, .svm .svmlight .libsvm. Nothing is
unpickled.

Text is UTF-8. Tabs divide the cells of .tsv; elsewhere it is the one of tab ; | , that divides the first lines alike,
into most cells (but a comma within numbers is a decimal one where ; divides too). Blank lines are skipped. The first
line is a header if no cell of it is a number, true or false; without one, columns are named c0, c1, … Missing are empty
cells and NA NaN nan NAN null NULL None n/a N/A ? and a single dot. If all other cells of a column are numbers (1.5, or
1,5 where ; divides) it is numeric, if all are true or false boolean, else text.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.frames import EXACT, design
from separatrix.shards.labels import open_parquet

KINDS = ".csv .tsv .txt (also with .gz), .parquet .pq, .npz, .svm .svmlight .libsvm"
MISSING = frozenset(["", "NA", "NaN", "nan", "NAN", "null", "NULL", "None", "n/a", "N/A", "?", "."])
DELIMITERS = "\t;|,"
SAMPLE = 20  # lines that tell the delimiter
SHOWN = 8  # names in a message
CSR = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, ready for `frames.design`."""

    columns: dict[str, Any]  # float64 or bool arrays, object arrays of str, bool and None; of Parquet, Series
    header: bool  # whether the file names its columns


@dataclass(frozen=True, eq=False)
class Arrays:
    """Rows and labels."""

    X: Any  # an array or a SciPy CSR matrix
    y: NDArray[Any]


def read(path: Path | str, *, target: str | None = None, header: bool | None = None) -> Table | Arrays:
    """The file's columns, or its arrays.

    Parameters
    ----------
    path : its suffix tells the kind of file
    target : of an npz file, the array of labels ("y" when not given); a table keeps its target among the columns
    header : of a text file, whether the first line names the columns; told by the line itself when not given
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; check the path.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; it needs at least one row.")
    match _kind(path):
        case ".csv" | ".txt":
            return _read_text(path, DELIMITERS, header)
        case ".tsv":
            return _read_text(path, "\t", header)
        case ".parquet" | ".pq":
            return _read_parquet(path)
        case ".npz":
            return _read_npz(path, target or "y")
        case ".svm" | ".svmlight" | ".libsvm":
            return _read_svmlight(path, target)
        case ".npy":
            raise ValueError(f"{path} holds one array; save both with np.savez(path, X=X, y=y) as .npz.")
    raise ValueError(f"{path} is of no known kind; kinds are told by the suffix: {KINDS}.")


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
    path, header : see `read`
    target : the column of the labels; without a header also its number, "3", or "-1" for the last
    missing : "error" or "drop", see `frames.design`
    labels : the npy file of the labels where `path` is an npy file of rows
    in_place : rows of Parquet files stay there, as those of npy files do: X and y say where
    """
    kind = _kind(Path(path))
    if kind == ".npy":
        if labels is None:
            raise ValueError(f"{path} holds rows alone; name the .npy file of their labels too.")
        return str(path), str(labels), None
    if labels is not None:
        raise ValueError(f"a file of labels goes with rows in an .npy file; {path} has its own.")
    if in_place:
        if kind not in (".parquet", ".pq"):
            raise ValueError(f"only rows of .npy and .parquet files can stay where they are; {path} is read whole.")
        if target is None:
            raise ValueError(f"{path} needs a target, the column of the labels.")
        return str(path), target, tuple(open_parquet(path, target)[0].columns)
    held = read(path, target=target, header=header)
    if isinstance(held, Arrays):
        return held.X, held.y, None
    made = design(held.columns, target_of(Path(path), held, target), missing=missing)
    return made.X, made.y, tuple(term.name for term in made.terms)


def target_of(path: Path, table: Table, target: str | None) -> str:
    """The name of the column of the labels, from its name or, without a header, its number."""
    names = list(table.columns)
    if target is None:
        raise ValueError(f"{path} needs a target, the column of the labels; columns: {_listed(names)}.")
    if target in table.columns or table.header:
        return target
    with suppress(ValueError, IndexError):
        return names[int(target)]
    seen = f"{path} has no column {target!r}: its first line was read as data, so columns are {_listed(names)}"
    raise ValueError(f"{seen}; pass header=True if that line names them.")


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes[-1:] == [".gz"] and suffixes[0] in (".csv", ".tsv", ".txt"):
        return suffixes[0]
    return suffixes[-1] if suffixes else ""


# Text.


def _read_text(path: Path, delimiters: str, header: bool | None) -> Table:
    raw = _contents(path)
    delimiter = _delimiter(raw, delimiters)
    sample = [row for _, row in islice(_records(path, raw, delimiter), 2)]
    if not sample:
        raise ValueError(f"{path} has only blank lines; it needs at least one row.")
    first = [cell.strip() for cell in sample[0]]
    if header is None:
        header = not any(_is_value(cell, delimiter) for cell in first)
    if header and len(sample) == 1:
        raise ValueError(f"{path} has a header but no rows; if its one line is a row, pass header=False.")
    names = [(header and cell) or f"c{j}" for j, cell in enumerate(first)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        way = "rename them, or pass header=False if the first line is a row"
        raise ValueError(f"{path} has more than one column named {_listed(twice)}; {way}.")
    numbers = _all_numbers(raw, delimiter, header, len(names))
    if numbers is not None:
        return Table(dict(zip(names, numbers, strict=True)), header)
    records = _records(path, raw, delimiter)
    if header:
        next(records)
    rows = []
    for line, row in records:
        if len(row) != len(names):
            seen = f"{len(row)} cells where the first line has {len(names)}"
            raise ValueError(f"{path}, line {line}: {seen}; fix the line, or quote cells that hold a {delimiter!r}.")
        rows.append(row)
    columns = {}
    for name, cell, cells in zip(names, first, zip(*rows, strict=True), strict=True):
        stripped = [c.strip() for c in cells]
        if not (header and not cell and not any(stripped)):  # what a delimiter at the end of every line makes
            columns[name] = _column(path, name, stripped, delimiter)
    return Table(columns, header)


def _contents(path: Path) -> bytes:
    raw = path.read_bytes()
    if path.suffix.lower() == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is no whole gzip file ({error}); get it again.") from None
    if b"\0" in raw:
        raise ValueError(f"{path} is no UTF-8 text, it holds zero bytes; save it as UTF-8 text.")
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            seen = f"byte 0x{raw[error.start]:02x} at position {error.start}"
            raise ValueError(f"{path} is no UTF-8 text ({seen}); save it as UTF-8 text.") from None
    return raw


def _lines(raw: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")


def _records(path: Path, raw: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each line that is not blank."""
    reader = csv.reader(_lines(raw), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if not _is_blank(row):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}; check the quotes.") from None


def _delimiter(raw: bytes, delimiters: str) -> str:
    """The one that divides the first lines alike into most cells, or else the first line into most."""
    alike: dict[str, list[list[str]]] = {}
    ragged: dict[str, list[list[str]]] = {}
    for delimiter in delimiters:
        with suppress(csv.Error):  # told with its line when the file is read
            reader = csv.reader(_lines(raw), delimiter=delimiter, skipinitialspace=True)
            rows = [row for row in islice(reader, SAMPLE) if not _is_blank(row)]
            group = alike if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 else ragged
            group[delimiter] = rows
    if ";" in alike and "," in alike:
        inside = [cell.strip() for row in alike[";"] for cell in row if "," in cell]
        del alike["," if all(_is_value(cell, ";") for cell in inside) else ";"]
    found = alike or {delimiter: rows for delimiter, rows in ragged.items() if rows and len(rows[0]) > 1}
    return max(found, key=lambda delimiter: len(found[delimiter][0]), default=delimiters[-1])


def _is_blank(row: list[str]) -> bool:
    return len(row) < 2 and not "".join(row).strip()


def _all_numbers(raw: bytes, delimiter: str, header: bool, width: int) -> NDArray[np.float64] | None:
    """Columns of a file of plain numbers, or None where the long way is needed; the result is the same."""
    lines = _lines(raw)
    if header:
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        while _is_blank(next(reader)):
            pass
    try:
        rows = np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        return None
    if rows.shape[1] != width or (np.abs(rows) >= EXACT).any():
        return None
    return np.ascontiguousarray(rows.T)


def _column(path: Path, name: str, cells: list[str], delimiter: str) -> NDArray[Any]:
    """Numbers, booleans or text, None where missing."""
    numbers = _numbers(cells)
    if numbers is None and delimiter == ";":
        numbers = _numbers(_decimal_points(cells))
    if numbers is not None:
        for i in np.flatnonzero(np.abs(numbers) >= EXACT):
            if cells[i].lstrip("+-").isdigit() and abs(int(cells[i])) > EXACT:
                seen = f"{path}, column {name!r}: the whole number {cells[i]} is beyond 2**53"
                raise ValueError(f"{seen}, which float64 cannot hold; subtract an offset, or drop the column.")
        return numbers
    values: list[Any] = [None if cell in MISSING else cell for cell in cells]
    if {cell.lower() for cell in set(cells) - MISSING} <= {"true", "false"}:
        values = [None if value is None else value.lower() == "true" for value in values]
        return np.array(values, dtype=object if None in values else bool)
    return np.array(values, dtype=object)


def _numbers(cells: list[str]) -> NDArray[np.float64] | None:
    """Floats, NaN where missing; None unless every other cell is a number."""
    joined = "".join(cells)
    if "_" in joined or not joined.isascii():  # float() takes 1_000 and the digits of other scripts
        return None
    with suppress(ValueError):
        return np.fromiter(map(float, cells), np.float64, len(cells))
    with suppress(ValueError):
        return np.array([np.nan if cell in MISSING else float(cell) for cell in cells])
    return None


def _decimal_points(cells: list[str]) -> list[str]:
    """1,5 as 1.5; a dot beside it is no number."""
    return [cell if cell in MISSING else cell.replace(".", "_").replace(",", ".") for cell in cells]


def _is_value(cell: str, delimiter: str) -> bool:
    if cell in MISSING:
        return False
    if cell.lower() in ("true", "false") or _numbers([cell]) is not None:
        return True
    return delimiter == ";" and _numbers(_decimal_points([cell])) is not None


# Other kinds.


def _read_parquet(path: Path) -> Table:
    for module, function in (("polars", "read_parquet"), ("pyarrow.parquet", "read_table"), ("pandas", "read_parquet")):
        try:
            import narwhals.stable.v2 as nw

            with path.open("rb") as file:  # polars takes a path with [ or * for a pattern
                frame = getattr(import_module(module), function)(file)
        except ImportError:
            continue
        except Exception as error:  # each library has errors of its own
            raise ValueError(f"{path} is no whole Parquet file ({_sentence(error)}); get it again.") from None
        columns = {str(series.name): series.to_native() for series in nw.from_native(frame).iter_columns()}
        return Table(columns, header=True)
    raise ImportError(f'{path} is a Parquet file: pip install "separatrix[frames]" to read it.')


def _read_npz(path: Path, target: str) -> Arrays:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is no npz file; save one with np.savez(path, X=X, y=y).")
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            names = list(file.files)
            parts = {name: file[name] for name in ("X", target, *CSR, "format") if name in names}
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if str(error).startswith("Object arrays"):
            raise ValueError(f"{path} holds objects, which are not read; save numbers or text.") from None
        seen = "it does not start like one" if "pickle" in str(error) else _sentence(error)  # NumPy's guess is a pickle
        raise ValueError(f"{path} is no whole npz file ({seen}); save it again.") from None
    parts = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}  # other members come as bytes
    if target not in parts:
        raise ValueError(f"{path} has no array {target!r} for the labels; arrays: {_listed(names)}.")
    if "X" in parts:
        return Arrays(parts["X"], parts[target])
    if not all(name in parts for name in CSR):
        raise ValueError(f"{path} has no array 'X', nor {', '.join(CSR)} of a CSR matrix; arrays: {_listed(names)}.")
    return Arrays(_csr(path, parts), parts[target])


def _csr(path: Path, parts: dict[str, NDArray[Any]]) -> Any:
    from scipy.sparse import csr_array

    layout = parts.get("format", np.array("csr")).item()
    if layout not in ("csr", b"csr"):
        raise ValueError(f"{path} holds a sparse matrix of format {layout!r}; save the parts of X.tocsr().")
    try:
        shape = tuple(int(size) for size in parts["shape"])
        X = csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path} holds no whole CSR matrix ({_sentence(error)}); save it again.") from None
    return X


def _read_svmlight(path: Path, target: str | None) -> Arrays:
    from sklearn.datasets import load_svmlight_file

    if target is not None:
        raise ValueError(f"{path} has its labels at the start of each line; leave out target={target!r}.")
    try:
        X, y = load_svmlight_file(str(path), zero_based="auto")
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        raise ValueError(f"{path} is no svmlight file ({_sentence(error)}); lines are like '1 3:0.5 7:2'.") from None
    return Arrays(X, y)


def _sentence(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _listed(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
