"""The rows of two classes, or of all ten, as numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import sqrt
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from separatrix.datasets.places import VARIABLE, existing_folder, find
from separatrix.datasets.read import CHANNELS, READERS, Pick, Pixels, images
from separatrix.datasets.sources import SOURCES, Part, source_of

Scale = Literal["signed", "unit", "standard", "standard-pair"]
SCALES: tuple[Scale, ...] = ("signed", "unit", "standard", "standard-pair")
# Mean and deviation of pixels/255 per channel over the whole training set, all ten classes, as they are in common use.
# Those in use for EuroSAT differ from each other by a factor of two, so there are none.
STANDARD = {
    "mnist": ((0.1307,), (0.3081,)),
    "fashion-mnist": ((0.2860,), (0.3530,)),
    "cifar-10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
}


def load(
    name: str,
    *,
    classes: Sequence[int] | None = None,
    n: int | None = None,
    seed: int | None = None,
    part: Part = "train",
    scale: Scale = "signed",
    dtype: DTypeLike = np.float64,
    data_dir: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows of two classes of "mnist", "fashion-mnist", "cifar-10" or "eurosat", as (X, y).

    Parameters
    ----------
    classes : two class numbers; the paper's choice when not given (mnist 7/8, fashion-mnist 0/4, the others 0/1)
    n : how many rows of the two classes, all when not given: the first n in file order, or n random ones with a seed.
        EuroSAT's files come class by class, so there rows alternate between the two classes, each in the order of its
        file names, and the first n hold as many of either
    seed : draws the rows without replacement from all rows of the two classes, in the order drawn: rows
        `default_rng(seed).permutation(N)[:n]` of the N in file order. So a smaller n is a prefix of a larger one
    part : "train" or "test", the official parts; EuroSAT has no test part
    scale : "signed" maps a pixel x to 2x/255 - 1, "unit" to x/255, "standard" to (x/255 - mean)/deviation with the
        constants in common use, those of the channel over the whole training set, all ten classes (not for EuroSAT,
        where there are none that agree). "standard-pair": mean and deviation of the channel over all training images
        of the two classes, whichever rows and part are asked for
    dtype : float64 or float32
    data_dir : the folder of the files; when not given, what the environment variable SEPARATRIX_DATA names, or else
        the user's cache folder, which `fetch` fills

    Returns X, one image per row, and y, the class numbers.
    """
    source = source_of(name)
    pair = _class_pair(source.classes if classes is None else classes)
    pick = _picker(name, pair, n, seed)
    _check_part(part)
    if name == "eurosat" and part == "test":
        raise ValueError("EuroSAT has no official test part, got part='test'; take rows of part=\"train\".")
    _check_scale(name, scale, dtype)
    folder = existing_folder(data_dir)
    pixels, labels = READERS[name](find(folder, source, part), part, pair, pick)
    if scale == "standard-pair":
        every, _ = READERS[name](find(folder, source, "train"), "train", pair, np.arange)
        return standardised(pixels, *mean_and_deviation(every, CHANNELS.get(name)), CHANNELS.get(name), dtype), labels
    return _scaled(name, pixels, scale, dtype), labels


def load_ten(
    name: Literal["mnist", "fashion-mnist"],
    *,
    part: Part = "train",
    scale: Scale = "unit",
    dtype: DTypeLike = np.float32,
    data_dir: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All ten classes of "mnist" or "fashion-mnist": the 60,000 training or the 10,000 test images, as (X, y).

    The options are those of `load`, without "standard-pair". The test images are in t10k-images-idx3-ubyte.gz and
    t10k-labels-idx1-ubyte.gz beside the training images.
    """
    if name not in ("mnist", "fashion-mnist"):
        raise ValueError(f'ten classes are read of "mnist" and "fashion-mnist", got {name!r}.')
    _check_part(part)
    _check_scale(name, scale, dtype)
    if scale == "standard-pair":
        raise ValueError('scale="standard-pair" is of two classes, got it for ten; take "standard".')
    pictures, labels = images(find(existing_folder(data_dir), source_of(name), part))
    return _scaled(name, pictures, scale, dtype), labels.astype(np.int64)


def available(data_dir: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the data sets whose training files are all there, for those who want to run on whatever they find."""
    try:
        folder = existing_folder(data_dir)
    except FileNotFoundError:
        if data_dir or os.environ.get(VARIABLE):
            raise
        return []  # nothing was fetched yet
    here = []
    for name, source in SOURCES.items():
        try:
            find(folder, source, "train")
        except FileNotFoundError:
            continue
        here.append(name)
    return here


def _class_pair(classes: Sequence[int]) -> tuple[int, int]:
    values = tuple(classes)
    if len(set(values)) != 2 or len(values) != 2 or any(not isinstance(c, Integral) or not 0 <= c <= 9 for c in values):
        raise ValueError(f"classes must be two different class numbers from 0 to 9, got {classes!r}.")
    return int(values[0]), int(values[1])


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _picker(name: str, pair: tuple[int, int], n: int | None, seed: int | None) -> Pick:
    """Which rows to take of all rows of the two classes: the first n, or n random ones."""
    if n is not None and (not _whole(n) or n < 1):
        raise ValueError(f"n must be a positive whole number or None, got {n!r}.")
    if seed is not None and (not _whole(seed) or seed < 0):
        raise ValueError(f"seed must be a whole number from 0 or None, got {seed!r}.")

    def pick(total: int) -> NDArray[np.intp]:
        if total == 0:
            way_out = f"other classes may need the published files: separatrix datasets fetch {name}"
            raise ValueError(f"the files of {name} hold no rows of classes {pair[0]} and {pair[1]}; {way_out}.")
        if n is not None and n > total:
            raise ValueError(f"{name} holds {total} rows of classes {pair[0]} and {pair[1]}, got n={n}.")
        rows = np.arange(total) if seed is None else np.random.default_rng(seed).permutation(total)
        return rows[:n]

    return pick


def _check_part(part: str) -> None:
    if part not in ("train", "test"):
        raise ValueError(f'part must be "train" or "test", got {part!r}.')


def _check_scale(name: str, scale: str, dtype: DTypeLike) -> None:
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}.")
    if scale == "standard" and name not in STANDARD:
        raise ValueError(
            f'no mean and deviation of {name} are in common use, got scale="standard"; take "standard-pair".'
        )
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}.")


def _scaled(name: str, pixels: Pixels, scale: str, dtype: DTypeLike) -> NDArray[Any]:
    """The value of each pixel, where it does not depend on the other rows; computed in float64, rounded once."""
    x = np.arange(256.0)
    if scale == "standard":
        means, deviations = STANDARD[name]
        pixel = [255 * mean for mean in means], [255 * deviation for deviation in deviations]
        return standardised(pixels, *pixel, CHANNELS.get(name), dtype)
    return (2 * x / 255 - 1 if scale == "signed" else x / 255).astype(dtype)[pixels]


def mean_and_deviation(pixels: Pixels, channel: NDArray[np.intp] | None) -> tuple[list[float], list[float]]:
    """Of each channel over these images; `channel` names each column's.

    Sums of pixels and of their squares are whole numbers, so no order of adding shows in the result.
    """
    of = np.zeros(pixels.shape[1], dtype=np.intp) if channel is None else channel
    means, deviations = [], []
    for k in range(int(of.max()) + 1):
        often, x = np.bincount(pixels[:, of == k].ravel(), minlength=256), np.arange(256)
        n, first, second = int(often.sum()), int(often @ x), int(often @ x**2)
        means.append(first / n)
        deviations.append(sqrt(n * second - first**2) / n or 1.0)
    return means, deviations


def standardised(
    pixels: Pixels,
    means: Sequence[float],
    deviations: Sequence[float],
    channel: NDArray[np.intp] | None,
    dtype: DTypeLike,
) -> NDArray[Any]:
    """(x - mean)/deviation of each pixel, both of its channel."""
    of = np.zeros(pixels.shape[1], dtype=np.intp) if channel is None else channel
    values = np.empty(pixels.shape, dtype=dtype)
    for k, (mean, deviation) in enumerate(zip(means, deviations, strict=True)):
        table = ((np.arange(256.0) - mean) / deviation).astype(dtype)
        values[:, of == k] = table[pixels[:, of == k]]
    return values
