"""Tables from text: CSV, TSV and their relatives.

Text is UTF-8. Tabs divide the cells of .tsv; elsewhere it is the one of tab ; | , that divides the first lines alike,
into most cells (but a comma within numbers is a decimal one where ; divides too). Where none of these occurs, runs of
blanks do, if they divide the first lines alike. Blank lines are skipped. The first line is a header if no cell of it is
a number, true or false; without one, columns are named c0, c1, … Missing are empty cells and NA NaN nan NAN null NULL
None n/a N/A ? and a single dot. If all other cells of a column are numbers (1.5, or 1,5 where ; divides) it is numeric,
if all are true or false boolean, else text.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT
from separatrix.data.arrays import machine_memory
from separatrix.data.columns import listed

MISSING = frozenset(["", "NA", "NaN", "nan", "NAN", "null", "NULL", "None", "n/a", "N/A", "?", "."])
DELIMITERS = "\t;|,"
SAMPLE = 20  # lines that tell the delimiter
GZIP = b"\x1f\x8b"
LINE, COLUMNS = 1 << 24, 1_000_000  # bytes of one line, and cells
PLENTY, PROPORTION = 1 << 28, 100  # bytes that any file may unpack to, and how many times its own size beyond
TOO_MUCH = "unpacks to far more than its {:,} bytes, or than memory holds; if it is meant so, unpack it first"
FOREIGN = [  # first bytes of what is named .csv by mistake
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "export it as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet", "export it as CSV"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
]
THOUSANDS = re.compile(
    r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?|[+-]?\d{1,3}(\.\d{3})+(,\d*)|[+-]?\d{1,3}([ \u00a0\u202f']\d{3})+"
)


def read_text(
    name: str, raw: bytes, *, delimiters: str = DELIMITERS, header: bool | None = None
) -> tuple[dict[str, NDArray[Any]], bool]:
    """Columns by name, and whether the first line named them.

    Parameters
    ----------
    name : of the file, for messages
    raw : its bytes, compressed by gzip or not
    delimiters : what may divide cells
    header : whether the first line names the columns; told by the line itself when not given
    """
    raw = _contents(name, raw)
    delimiter = _delimiter(raw, delimiters)
    if len(delimiters) > 1 and (spaced := _spaced(raw, delimiter)) is not None:
        raw, delimiter = spaced, "\t"
    sample = [row for _, row in islice(_records(name, raw, delimiter), 2)]
    if not sample:
        raise ValueError(f"{name} has only blank lines; it needs at least one row.")
    first = [cell.strip() for cell in sample[0]]
    if len(first) > COLUMNS:
        raise ValueError(f"{name} has {len(first):,} columns, text is read up to {COLUMNS:,}; save it as .npy or .npz.")
    if header is None:
        header = not any(_is_value(cell, delimiter) for cell in first)
    if header and len(sample) == 1:
        raise ValueError(f"{name} has a header but no rows; if its one line is a row, pass header=False.")
    names = [(header and cell) or f"c{j}" for j, cell in enumerate(first)]
    if twice := [label for label, times in Counter(names).items() if times > 1]:
        way = "rename them, or pass header=False if the first line is a row"
        raise ValueError(f"{name} has more than one column named {listed(twice)}; {way}.")
    numbers = _all_numbers(raw, delimiter, header, len(names))
    if numbers is not None:
        return dict(zip(names, numbers, strict=True)), header
    records = _records(name, raw, delimiter)
    if header:
        next(records)
    rows = []
    for line, row in records:
        if len(row) != len(names):
            seen = f"{len(row)} cells where the first line has {len(names)}"
            raise ValueError(f"{name}, line {line}: {seen}; fix the line, or quote cells that hold a {delimiter!r}.")
        rows.append(row)
    columns = {}
    for column, cell, cells in zip(names, first, zip(*rows, strict=True), strict=True):
        stripped = [c.strip() for c in cells]
        if not (header and not cell and not any(stripped)):  # what a delimiter at the end of every line makes
            columns[column] = _column(name, column, stripped, delimiter)
    return columns, header


def unpacked(name: str, raw: bytes) -> bytes:
    """What gzip had packed, unless that is out of all proportion."""
    most = unpacked_most(len(raw))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            found = file.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{name} is no whole gzip file ({error}); get it again.") from None
    except MemoryError:
        found = b""
        most = -1
    if len(found) > most:
        raise ValueError(f"{name} {TOO_MUCH.format(len(raw))}.")
    return found


def unpacked_most(packed: int) -> int:
    """Bytes that so many may unpack to: PLENTY, or a hundred times as many, within half of the machine's memory."""
    return min(max(PLENTY, PROPORTION * packed), machine_memory() // 2)


def _contents(name: str, raw: bytes) -> bytes:
    if name.lower().endswith(".gz") or raw.startswith(GZIP):
        raw = unpacked(name, raw)
    for start, what, way in FOREIGN:
        if raw.startswith(start):
            raise ValueError(f"{name} is {what}, not UTF-8 text; {way}.")
    if b"\0" in raw:
        raise ValueError(f"{name} is no UTF-8 text, it holds zero bytes; save it as UTF-8 text.")
    at = 0
    while len(raw) - at > LINE:
        if (end := max(raw.rfind(b"\n", at, at + LINE), raw.rfind(b"\r", at, at + LINE))) < 0:
            seen = f"line {raw.count(10, 0, at) + 1} has more than {LINE:,} bytes"
            raise ValueError(f"{name}, {seen}; check where its lines end, or save it as .npy or .parquet.")
        at = end + 1
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            seen = f"byte 0x{raw[error.start]:02x} at position {error.start}"
            raise ValueError(f"{name} is no UTF-8 text ({seen}); save it as UTF-8 text.") from None
    return raw


def _lines(raw: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")


def _records(name: str, raw: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each line that is not blank."""
    reader = csv.reader(_lines(raw), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if not _is_blank(row):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}; check the quotes.") from None


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


def _spaced(raw: bytes, delimiter: str) -> bytes | None:
    """Tabs for runs of blanks, where nothing else divides the first lines and blanks divide them alike."""
    head = [line for line in islice(raw.splitlines(), SAMPLE) if line.strip()]
    counts = {len(line.split()) for line in head}
    if b'"' in raw or len(counts) != 1 or counts == {1} or any(delimiter.encode() in line for line in head):
        return None
    return b"\n".join(b"\t".join(line.split()) for line in raw.splitlines())


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


def _column(name: str, column: str, cells: list[str], delimiter: str) -> NDArray[Any]:
    """Numbers, booleans or text, None where missing."""
    numbers = _numbers(cells)
    if numbers is None and delimiter == ";":
        numbers = _numbers(_decimal_points(cells))
    if numbers is not None:
        for i in np.flatnonzero(np.abs(numbers) >= EXACT):
            if cells[i].lstrip("+-").isdigit() and abs(int(cells[i])) > EXACT:
                seen = f"{name}, column {column!r}: the whole number {cells[i]} is beyond 2**53"
                raise ValueError(f"{seen}, which float64 cannot hold; subtract an offset, or drop the column.")
        return numbers
    grouped = [cell for cell in cells if THOUSANDS.fullmatch(cell)]
    if grouped and all(THOUSANDS.fullmatch(cell) or cell in MISSING or _is_value(cell, delimiter) for cell in cells):
        seen = f"{name}, column {column!r}: {grouped[0]!r} looks like a number with thousands separators"
        raise ValueError(f"{seen}; remove them.")
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
