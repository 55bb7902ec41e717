"""The rows that an experiment runs on: files, bundled digits or constructed data, as one `Sample` per seed.

Where an image data set is not at hand, scikit-learn's digits 7 and 8 stand in for it, and everything that is shown says
so. Repeated rows enter as whole-number weights, which is the same to the methods and ten times less to read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.files import labelled
from separatrix.data.memory import Problem, make_problem
from separatrix.datasets import load
from separatrix.lab.spec import IMAGES, MADE, Material
from separatrix.theory import two_samples, worst_case

DIGITS = (7, 8)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, labels and weights of one seed, and the problem they make."""

    X: Any  # an array, or a CSR matrix from a file
    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    @property
    def problem(self) -> Problem:
        """The rows checked, ready for the engines."""
        return make_problem(self.X, self.y, sample_weight=self.weight)


def at_hand(material: Material, found: Collection[str]) -> Material:
    """The entry itself, a file's with its digest; or the digits, where its images are not among those found."""
    if material.source in MADE or material.source in found:
        return material
    if material.source not in IMAGES:
        return replace(material, digest=blake2b(Path(material.source).read_bytes(), digest_size=6).hexdigest())
    names = material.title or material.source
    rows = None if material.rows is None or material.rows >= 350 else material.rows
    return replace(
        material,
        source="digits",
        title=f"digits {DIGITS[0]}/{DIGITS[1]}" + (", imbalanced" if material.repeat > 1 else ""),
        classes=DIGITS,
        rows=rows,
        fraction=0.5 if material.fraction < 1 else 1.0,
        instead_of=names if not material.instead_of else material.instead_of,
    )


def sample(material: Material, seed: int | None, data_dir: str | None = None) -> Sample:
    """The first rows, or with a seed a random choice of them; then the imbalance, if there is one.

    Where all rows are asked for, or more than there are, a seed draws half of them.
    """
    if material.source == "worst-case":
        X, y = worst_case(material.rows or 1000)
        return Sample(X, y, None)
    if material.source == "worst-case-weighted":
        X, y = worst_case(2)
        return Sample(X, y, np.array([1.0, (material.rows or 1000) - 1.0]))
    if material.source == "two-samples":
        X, y = two_samples()
        return Sample(X, y, None)
    X, y = everything(material.source, material.classes, material.scaling, material.target, data_dir)
    n = len(y)
    if material.repeat > 1 or material.fraction < 1:  # those of theory.imbalanced
        kept = np.random.default_rng(0 if seed is None else seed).choice(n, round(material.fraction * n), replace=False)
        rows = np.sort(kept)
    elif seed is None:
        rows = np.arange(n if material.rows is None else min(material.rows, n))
    else:
        size = material.rows if material.rows is not None and material.rows < n else n // 2
        rows = np.random.default_rng(seed).permutation(n)[:size]  # those of datasets.load(n=…, seed=…)
    whole = len(rows) == n and np.array_equal(rows, np.arange(n))
    chosen, labels = (X, y) if whole else (X[rows], y[rows])
    if material.repeat == 1:
        return Sample(chosen, labels, None)
    often = labels.max() if material.repeated == "larger" else labels.min()
    return Sample(chosen, labels, np.where(labels == often, float(material.repeat), 1.0))


@lru_cache(maxsize=2)
def everything(
    source: str, classes: tuple[int, int] | None, scaling: str, target: str | None, data_dir: str | None
) -> tuple[Any, NDArray[Any]]:
    """All rows of a source, kept for the next seed."""
    if source == "digits":
        from sklearn.datasets import load_digits

        pixels, labels = load_digits(return_X_y=True)
        rows = np.isin(labels, classes or DIGITS)
        unit = pixels[rows] / 16  # pixels are 0 … 16
        return (2 * unit - 1 if scaling == "signed" else unit), labels[rows]
    if source in IMAGES:
        return load(source, classes=classes, scale="unit" if scaling == "unit" else "signed", data_dir=data_dir)
    X, y, _ = labelled(Path(source), target=target)
    return X, np.asarray(y)
