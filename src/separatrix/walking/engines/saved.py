"""What the numbers of a saved state may be: a file can hold anything, and compiled code follows what it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT

FLAGS = ("half", "stepped", "changed", "asked")
COUNTERS = ("t", "tie_t", "k", "epoch", "since", "patience", "misses", "enough", "sweep_t", "sweep_epoch")
WATCHED = ("watch_since", "watch_until")
PLACES = ("position", "sweep_position", "tie_row")  # of rows
UP_TO_ALL = ("clean", "sweep_clean", "n_need")
FINITE = ("watch_mark", "phi", "base", "step", "coef", "base_coef", "old_w", "late")
POSITIVE = ("drift", "base_drift", "old_drift")

State = dict[str, NDArray[Any]]


def check_state(state: State, n: int) -> None:
    """One sentence about the first number that no run on n rows can have; shapes and types were looked at before."""
    products = len(state["old_drift"]) if "old_drift" in state else 0
    most: dict[str, tuple[int, int]] = {
        **dict.fromkeys(FLAGS, (0, 1)),
        **dict.fromkeys((*COUNTERS, *WATCHED), (0, EXACT)),
        **dict.fromkeys(PLACES, (0, n - 1)),
        **dict.fromkeys(UP_TO_ALL, (0, n)),
        "last": (0, n - 1),
        **dict.fromkeys(("watch_mark_t", "watch_period"), (0, int(state["t"]))),
        "owner": (-1, n - 1),
        "used": (-1, int(state.get("sweep_t", state["t"])) + 1),  # a column may have come for the next update
        "held": (0, products),
        "next": (0, products - 1),
        "near": (-1, products - 1),
        "stretch": (-1, products - 1),
    }
    for name, values in state.items():
        kind = values.dtype.kind
        if kind == "f" and np.isnan(values).any():
            raise ValueError(f"{name} holds NaN")
        if name in FINITE and not np.isfinite(values).all():
            raise ValueError(f"{name} holds an infinite number")
        if name in POSITIVE and (values < 0).any():
            raise ValueError(f"{name} must not be negative, got {values.min()}")
        if kind in "iu" and name in most and values.size:
            least, top = most[name]
            if values.min() < least or values.max() > top:
                worst = values.min() if values.min() < least else values.max()
                raise ValueError(f"{name} must lie in {least} … {top}, got {worst}")
    if "last" in state and (np.diff(state["last"]) <= 0).any():
        raise ValueError("last must list rows in rising order, each once")
    if "owner" in state:
        owner = state["owner"][state["owner"] >= 0]
        if len(np.unique(owner)) < len(owner):
            raise ValueError("owner has a row twice")
