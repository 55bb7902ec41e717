"""The rows that an experiment runs on: files, bundled digits or constructed data, as one `Sample` per seed.

Where an image data set is not at hand, scikit-learn's digits 7 and 8 stand in for it, and everything that is shown says
so. Repeated rows enter as whole-number weights, which is the same to the methods and ten times less to read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import dots
from separatrix.data.files import labelled
from separatrix.data.memory import HeldRows, hold
from separatrix.datasets import load
from separatrix.datasets.rows import Scale, mean_and_deviation, standardised
from separatrix.lab.spec import IMAGES, MADE, DataEntry
from separatrix.theory import planted, two_samples, worst_case

DIGITS = (7, 8)
DROP = re.compile(r"pass missing='drop' to leave out (.*)\.$")  # an option that an experiment has not


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, labels and weights of one seed, and the problem they make."""

    X: Any  # an array, or a CSR matrix from a file
    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    @property
    def problem(self) -> HeldRows:
        """The rows checked, ready for the engines."""
        return hold(self.X, self.y, sample_weight=self.weight)


def at_hand(entry: DataEntry, found: Collection[str]) -> DataEntry:
    """The entry itself, a file's with its digest; or the digits, where its images are not among those found."""
    if entry.source in MADE or entry.source in found:
        return entry
    if entry.source not in IMAGES:
        return replace(entry, digest=blake2b(Path(entry.source).read_bytes(), digest_size=6).hexdigest())
    names = entry.title or entry.source
    rows = None if entry.rows is None or entry.rows >= 350 else entry.rows
    return replace(
        entry,
        source="digits",
        title=f"digits {DIGITS[0]}/{DIGITS[1]}" + imbalance(entry),
        classes=DIGITS,
        rows=rows,
        fraction=0.5 if entry.fraction < 1 else 1.0,
        columns_from=inf,
        instead_of=names if not entry.instead_of else entry.instead_of,
    )


def imbalance(entry: DataEntry) -> str:
    """Which class is repeated how often, where one is."""
    which = DIGITS[entry.repeated == "larger"]
    return f", the {which}s {entry.repeat} times" if entry.repeat > 1 else ""


def sample(entry: DataEntry, seed: int | None, data_dir: str | None = None) -> Sample:
    """The rows of the entry, in the order that it says."""
    found = chosen_rows(entry, seed, data_dir)
    if entry.shuffle is None:
        return found
    order = np.random.default_rng(entry.shuffle).permutation(len(found.y))
    return Sample(found.X[order], found.y[order], None if found.weight is None else found.weight[order])


def chosen_rows(entry: DataEntry, seed: int | None, data_dir: str | None = None) -> Sample:
    """The first rows, or with a seed a random choice of them; then the imbalance, if there is one.

    Where all rows are asked for, or more than there are, a seed draws half of them.
    """
    if entry.source == "worst-case":
        X, y = worst_case(entry.rows or 1000)
        return Sample(X, y, None)
    if entry.source == "worst-case-weighted":
        X, y = worst_case(2)
        return Sample(X, y, np.array([1.0, (entry.rows or 1000) - 1.0]))
    if entry.source == "two-samples":
        X, y = two_samples()
        return Sample(X, y, None)
    if entry.source == "parity":
        return Sample(*parity(entry.rows or 1000, entry.columns or 10, seed or 0), None)
    if entry.source == "three-rows":
        return Sample(*three_rows(entry.columns or 10), None)
    if entry.source == "listed":
        return listed(np.array(entry.z), entry.times)
    if entry.source in ("planted", "overlap"):
        X, y = planted_in_units(entry.rows or 100, entry.columns or 10, entry.margin, entry.offset, seed or 0)
        if entry.source == "planted":
            return Sample(X, y, None)
        turned = np.random.default_rng([seed or 0, 1]).permutation(len(y))[: max(1, round(entry.flipped * len(y)))]
        y[turned] *= -1
        return Sample(X, y, None)
    X, y = everything(entry.source, entry.classes, entry.scaling, entry.target, data_dir)
    n = len(y)
    if entry.repeat > 1 or entry.fraction < 1:  # those of theory.imbalanced
        kept = np.random.default_rng(0 if seed is None else seed).choice(n, round(entry.fraction * n), replace=False)
        rows = np.sort(kept)
    elif seed is None:
        rows = np.arange(n if entry.rows is None else min(entry.rows, n))
    else:
        size = entry.rows if entry.rows is not None and entry.rows < n else n // 2
        rows = np.random.default_rng(seed).permutation(n)[:size]  # those of datasets.load(n=…, seed=…)
    whole = len(rows) == n and np.array_equal(rows, np.arange(n))
    chosen, labels = (X, y) if whole else (X[rows], y[rows])
    if entry.repeat == 1:
        return Sample(chosen, labels, None)
    often = labels.max() if entry.repeated == "larger" else labels.min()
    return Sample(chosen, labels, np.where(labels == often, float(entry.repeat), 1.0))


def parity(n: int, d: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of d random signs, labelled by the product of the first two: many such have no separator."""
    X = np.random.default_rng(seed).choice([-1.0, 1.0], size=(n, d))
    return X, (X[:, 0] * X[:, 1]).astype(np.int64)


def three_rows(d: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(1, …, 1) twice in class 1, and (1, …, 1, -1) in class -1, so that R² = d and μ = 1.

    The batch perceptron from 0 needs about 3d/8 iterations. With D = d - 1, the sum of the first D entries of φ goes
    through D/6, -D/6, D/2 and again, while the last entry grows by 4/3 in these three steps; it has to exceed D/6.
    """
    X = np.ones((3, d))
    X[2, -1] = -1.0
    return X, np.array([1, 1, -1])


def listed(Z: NDArray[np.float64], times: tuple[int, ...]) -> Sample:
    """The rows z_i = y_i a_i as they are; every other one has label -1, so that there are two classes."""
    y = np.where(np.arange(len(Z)) % 2, -1, 1)
    return Sample(y[:, None] * Z, y, np.array(times, dtype=np.float64) if times else None)


def planted_in_units(
    n: int, d: int, margin: float, offset: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`theory.planted` in units of its longest row, so that R = 1, with a planted margin of `margin` at least.

    With Z = Z_0 + m uᵀ, rows of length at most ‖z_i‖ + m: m = margin·(max ‖z_i‖ + m) is enough.
    """
    X, y, u = planted(n, d, margin=1e-9, offset=offset * d**0.5, random_state=seed)
    Z = y[:, None] * X
    Z += margin / (1 - margin) * longest(Z) * u
    Z /= longest(Z)
    return y[:, None] * Z, y


def longest(Z: NDArray[np.float64]) -> float:
    """max ‖z_i‖, in the arithmetic that is the same on every machine, as what is drawn is to be."""
    return float(np.sqrt(dots(Z * Z, np.ones(Z.shape[1])).max()))


@lru_cache(maxsize=2)
def everything(
    source: str, classes: tuple[int, int] | None, scaling: Scale, target: str | None, data_dir: str | None
) -> tuple[Any, NDArray[Any]]:
    """All rows of a source, kept for the next seed."""
    if source == "digits":
        from sklearn.datasets import load_digits

        pixels, labels = load_digits(return_X_y=True)
        rows = np.isin(labels, classes or DIGITS)
        if scaling.startswith("standard"):
            whole = pixels.astype(np.uint8)
            known = mean_and_deviation(whole if scaling == "standard" else whole[rows], None)
            return standardised(whole[rows], *known, None, np.float64), labels[rows]
        unit = pixels[rows] / 16  # pixels are 0 … 16
        return (2 * unit - 1 if scaling == "signed" else unit), labels[rows]
    if source in IMAGES:
        return load(source, classes=classes, scale=scaling, data_dir=data_dir)
    try:
        X, y, _ = labelled(Path(source), target=target)
    except ValueError as error:
        raise ValueError(DROP.sub(lambda found: f"leave {found[1]} out of {source}.", str(error))) from None
    return X, np.asarray(y)
