"""The compiled core: one shared library with a C face, the records it takes, and the checks at the door.

It is loaded when first asked for. `SEPARATRIX_SIMD` names the instruction set that serves: baseline, avx2, avx512, or
numpy, which is none of them but the definition itself; by default the widest that the processor has. The bits are the
same.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

SETS = ("avx512", "avx2", "baseline")  # the widest first
SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
FACE = 6  # the library's number of it, in records.hpp, is the same
POINTER, WHOLE, REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
LETTERS = {"p": POINTER, "i": WHOLE, "d": REAL, "": None}

# name: (result, arguments), as in table.hpp and core.cpp: p a pointer, i a whole number, d a float64
ENTRIES = {
    "face": ("i", ""),
    "serve": ("i", "p"),
    "serving": ("p", ""),
    "size": ("i", "i"),
    "norm": ("d", "pi"),
    "distance": ("d", "ppi"),
    "exponentials": ("", "pip"),
    "row_norms": ("", "piip"),
    "row_margins": ("", "pppipiip"),
    "row_spans": ("", "ppipiippp"),
    "row_sum": ("", "pppippppip"),
    "walk": ("i", "ppiii"),
    "gradient": ("", "ppi"),
    "gram_advance": ("i", "pii"),
    "gram_evaluate": ("i", "p"),
    "gram_product": ("i", "p"),
    "gram_refresh": ("", "ppp"),
    "gram_sweep": ("i", "ppipip"),
    "gram_room": ("i", "ii"),
    "gram_columns": ("", "pppipippppi"),
    "reached": ("d", "pi"),
    "set_anchor": ("", "pi"),
    "sweep": ("", "pppii"),
    "sweep_all": ("", "ppipiiii"),
    "most_wrong": ("", "pppiiiii"),
    "look_begins": ("", "ppdii"),
    "look_ends": ("", "ppii"),
    "shard_held": ("", "pipppiippp"),
    "shard_file": ("i", "piipppippp"),
    "shard_any_due": ("i", "ppii"),
    "shard_count_wrong": ("i", "piid"),
    "shard_horizon": ("d", "pppidd"),
    "shard_sweep_held": ("i", "pipppdpiiiii"),
    "shard_sweep_file": ("i", "piipppdpiiiii"),
}


class Record(ctypes.Structure):
    """The C++ record of the same name; the arrays that its fields point to live as long as it does."""

    def point(self, **arrays: NDArray[Any] | None) -> None:
        """Let these fields point to these arrays; None is nowhere."""
        kept = self.__dict__.setdefault("arrays", {})
        for name, array in arrays.items():
            kept[name] = array
            setattr(self, name, None if array is None else address(array))


def address(array: NDArray[Any]) -> int:
    """Where the numbers of an array are; they must lie one after the other."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(f"the core takes contiguous arrays, got strides {array.strides} of {array.shape}.")
    return int(array.ctypes.data)


class Rows(Record):
    """Rows as they are stored."""

    _fields_ = (
        *((name, POINTER) for name in ("x", "columns", "starts")),
        *((name, WHOLE) for name in ("n", "d", "item", "index")),
        ("bias", REAL),
    )


class Signs(Record):
    """Labels, sample weights and norms of rows in memory."""

    _fields_ = tuple((name, POINTER) for name in ("sign", "s", "r"))


class Bounds(Record):
    """Where distances are measured from."""

    _fields_ = (
        *((name, POINTER) for name in ("anchor", "last")),
        *((name, WHOLE) for name in ("D", "n", "anchored", "since", "spent", "begun")),
        *((name, REAL) for name in ("path", "length", "reach", "line")),
        ("every", WHOLE),
    )


class Watch(Record):
    """For an iterate that comes back."""

    _fields_ = (("mark", POINTER), *((name, WHOLE) for name in ("mark_t", "since", "until", "period", "on")))


class Stepper(Record):
    """One run of a batch method."""

    _fields_ = (
        *((name, POINTER) for name in ("phi", "base", "step", "total")),
        ("D", WHOLE),
        *((name, REAL) for name in ("gamma", "power")),
        ("factors", POINTER),
        *((name, WHOLE) for name in ("first", "held", "t", "k", "safe", "patience", "errors")),
        *((name, REAL) for name in ("low", "stride", "length", "horizon")),
        *(
            (name, WHOLE)
            for name in ("half", "stepped", "changed", "evaluated", "ready", "answered", "tie_t", "tie_row")
        ),
        ("watch", Watch),
    )


class Local(Record):
    """Rows in memory, and what is kept of them from one iterate to the next."""

    _fields_ = (
        ("rows", Rows),
        ("signs", Signs),
        ("bounds", Bounds),
        *((name, POINTER) for name in ("m", "w", "reach", "far", "due", "active", "n_due", "n_active", "parts")),
        *((name, POINTER) for name in ("valid", "found", "scratch", "touched")),
        ("cut", REAL),
        *((name, WHOLE) for name in ("threads", "lazy", "width", "actives", "argmin", "read", "rows_read", "summed")),
        ("begun", WHOLE),
    )


class Gram(Record):
    """The batch methods in margin space."""

    _fields_ = (
        ("rows", Rows),
        ("signs", Signs),
        *((name, POINTER) for name in ("m", "coef", "w", "base_m", "base_coef", "active", "bits")),
        *((name, POINTER) for name in ("old_w", "old_q", "old_bits", "old_drift", "table", "shorter", "slot", "used")),
        *((name, POINTER) for name in ("misses", "enough", "need", "delta", "every", "parts", "scratch")),
        *((name, POINTER) for name in ("total", "touched")),
        *((name, REAL) for name in ("gamma", "power", "cut")),
        *((name, WHOLE) for name in ("n", "H", "item", "threads", "width", "t", "errors", "argmin")),
        ("low", REAL),
        *((name, WHOLE) for name in ("n_active", "n_need", "n_large", "held", "next", "near")),
        *((name, REAL) for name in ("drift", "length2", "grad2", "sum", "longest", "column_error")),
        *((name, REAL) for name in ("product_error", "tiny")),
        *((name, WHOLE) for name in ("patience", "since", "evaluated", "half", "asked", "stretch", "k")),
        *((name, REAL) for name in ("base_drift", "base_length2", "cross")),
        *((name, WHOLE) for name in ("rows_read", "columns_read", "tie_t", "tie_row")),
    )


class Place(Record):
    """The perceptron's place in its sweep over cached columns."""

    _fields_ = tuple((name, WHOLE) for name in ("t", "epoch", "position", "clean"))


class Sweep(Record):
    """What the perceptron carries from one row to the next."""

    _fields_ = (
        *((name, WHOLE) for name in ("t", "epoch", "position", "clean")),
        *((name, REAL) for name in ("away", "length")),
        *((name, WHOLE) for name in ("since", "read_at", "read_before", "rows_read")),
    )


class Perceptron(Record):
    """One perceptron on rows in memory."""

    _fields_ = (
        *((name, POINTER) for name in ("sign", "r", "phi", "anchor", "bound", "late", "m")),
        ("at", Sweep),
        ("watch", Watch),
    )


class Facts(Record):
    """What is kept of every row that is elsewhere."""

    _fields_ = tuple((name, POINTER) for name in ("sign", "s", "r", "reach", "far", "wrong"))


class Ask(Record):
    """One iterate for rows elsewhere, and what is wanted of it."""

    _fields_ = (
        ("phi", POINTER),
        *((name, REAL) for name in ("gamma", "tau", "shift", "unit", "gone", "path", "line")),
        *((name, WHOLE) for name in ("every", "lazy", "half", "loss", "mark")),
    )


RECORDS = (Rows, Bounds, Watch, Stepper, Local, Gram, Place, Sweep, Perceptron, Facts, Ask)  # in the order of sx_size


def path() -> Path:
    """Where the library is: beside this file, or where SEPARATRIX_LIBRARY says."""
    named = os.environ.get("SEPARATRIX_LIBRARY")
    return Path(named) if named else Path(__file__).with_name(f"libseparatrix.{SUFFIX}")


@cache
def library() -> Any:
    """The library, or None where there is none or `SEPARATRIX_SIMD=numpy` wants none."""
    wanted = os.environ.get("SEPARATRIX_SIMD", "")
    if wanted not in ("", "numpy", *SETS):
        raise ValueError(f"SEPARATRIX_SIMD must be one of {', '.join(reversed(SETS))} or numpy, got {wanted!r}.")
    if wanted == "numpy" or (not path().exists() and "SEPARATRIX_LIBRARY" not in os.environ):
        return None
    lib = ctypes.CDLL(str(path()))
    try:
        for name, (result, arguments) in ENTRIES.items():
            entry = getattr(lib, f"sx_{name}")
            entry.restype, entry.argtypes = LETTERS[result], [LETTERS[letter] for letter in arguments]
            setattr(lib, name, entry)
        fits = lib.face() == FACE and all(lib.size(k) == ctypes.sizeof(record) for k, record in enumerate(RECORDS))
    except AttributeError:  # an entry is missing
        fits = False
    if not fits:
        raise ImportError(f"{path()} was built from other sources than this package; build it again (make core).")
    lib.serving.restype = ctypes.c_char_p
    if not any(lib.serve(name.encode()) for name in ([wanted] if wanted else SETS)):
        raise ValueError(f"SEPARATRIX_SIMD={wanted}: this processor has no {wanted}; leave it out, or use baseline.")
    return lib


def core() -> Any:
    """The library where nothing else will do; one sentence where there is none."""
    lib = library()
    if lib is None:
        raise ValueError(
            "the compiled core is not here: build it (make core), and leave SEPARATRIX_SIMD=numpy out; "
            'rows in memory take engine="numpy".'
        )
    return lib


def serving() -> str:
    """The instruction set that serves; "numpy" where nothing compiled does."""
    lib = library()
    return "numpy" if lib is None else str(lib.serving().decode())
