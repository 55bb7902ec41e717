"""npy files by their header, which can declare anything: room is made only for what is there, nothing is unpickled."""

from __future__ import annotations

import tokenize
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 10_000  # bytes of an npy file's header: what NumPy itself reads at most
# What a header that is none can end in.
NOT_NPY = (ValueError, KeyError, TypeError, EOFError, OverflowError, RecursionError, MemoryError)


def npy_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran's order, and type of an npy file, which is left at its first entry."""
    version = np.lib.format.read_magic(file)
    width = {(1, 0): 2, (2, 0): 4, (3, 0): 4}.get(version)
    if width is None:
        raise ValueError(f"version {version} of the format")
    before = file.tell()
    length = int.from_bytes(file.read(width), "little")
    if length > LONGEST:
        raise ValueError(f"a header of {length:,} bytes")
    file.seek(before)
    read = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    try:
        shape, fortran, dtype = read(file)
    except (tokenize.TokenError, SyntaxError, RecursionError, MemoryError):  # NumPy reads it as Python
        raise ValueError("its header is no text that NumPy writes") from None
    if any(isinstance(size, bool) or size < 0 for size in shape):
        raise ValueError(f"shape {shape}")
    if dtype.itemsize == 0:
        raise ValueError(f"entries of no bytes, {dtype}")
    return tuple(int(size) for size in shape), bool(fortran), dtype


def read_npy(file: Any, size: int) -> NDArray[Any]:
    """The array of an npy file of this many bytes; room is made only for what is there."""
    shape, fortran, dtype = npy_header(file)
    if dtype.hasobject:
        raise ValueError("it holds objects")
    wanted, there = prod(shape) * dtype.itemsize, size - file.tell()
    if there < wanted:
        raise ValueError(f"it has {there:,} bytes of the {wanted:,} that its header declares for shape {shape}")
    raw = file.read(wanted)
    if len(raw) < wanted:
        raise ValueError(f"it ends after {len(raw):,} bytes of {wanted:,}")
    return np.ndarray(shape, dtype, raw, order="F" if fortran else "C")
