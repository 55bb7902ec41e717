"""The paper's image data sets, two classes at a time, read from files on disk.

The folder is `data_dir`, or what the environment variable SEPARATRIX_DATA names; nothing else is searched and nothing
is downloaded. Files, each also without `.gz`:

    mnist/train-images-idx3-ubyte.gz           mnist/train-labels-idx1-ubyte.gz            IDX
    fashion-mnist/train-images-idx3-ubyte.gz   fashion-mnist/train-labels-idx1-ubyte.gz    IDX
    cifar-10/cifar-10-class01-train.bin.gz     records of 1 label byte and 3,072 pixel bytes
    eurosat/eurosat-annualcrop-forest.zip      JPEG files <class>/<class>_<number>.jpg, read with Pillow
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from itertools import zip_longest
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from separatrix.methods import nearest

Pixels = NDArray[np.uint8]
Reader = Callable[[Path, tuple[int, int], int | None], tuple[Pixels, NDArray[np.int64]]]

VARIABLE = "SEPARATRIX_DATA"
CLASSES = {"mnist": (7, 8), "fashion-mnist": (0, 4), "cifar-10": (0, 1), "eurosat": (0, 1)}  # the paper's choice

IDX_IMAGES, IDX_LABELS = 2051, 2049  # the first four bytes, big-endian: 0x08 for bytes, then the number of dimensions
CIFAR_RECORD = 1 + 3 * 32 * 32
EUROSAT_CLASSES = (
    "AnnualCrop",
    "Forest",
    "HerbaceousVegetation",
    "Highway",
    "Industrial",
    "Pasture",
    "PermanentCrop",
    "Residential",
    "River",
    "SeaLake",
)
EUROSAT_SHAPE = (64, 64, 3)


def load(
    name: str,
    *,
    classes: Sequence[int] | None = None,
    n: int | None = None,
    scale: Literal["signed", "unit"] = "signed",
    dtype: DTypeLike = np.float64,
    data_dir: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Training rows of two classes of "mnist", "fashion-mnist", "cifar-10" or "eurosat", as (X, y).

    Parameters
    ----------
    classes : two class numbers; the paper's choice when not given (mnist 7/8, fashion-mnist 0/4, the others 0/1)
    n : the first n rows of the two classes in file order, all when not given. EuroSAT's files come class by class, so
        there rows alternate between the two classes, each in file order, and the first n hold as many of either
    scale : "signed" maps a pixel x to 2x/255 - 1, "unit" to x/255
    dtype : float64 or float32
    data_dir : the folder of the files; the environment variable SEPARATRIX_DATA when not given

    Returns X, one image per row, and y, the class numbers.
    """
    if name not in CLASSES:
        raise ValueError(f"unknown data set {name!r}{nearest(name, CLASSES)}; data sets: {', '.join(CLASSES)}.")
    pair = _class_pair(CLASSES[name] if classes is None else classes)
    if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
        raise ValueError(f"n must be a positive whole number or None, got {n!r}.")
    table = _pixel_values(scale, dtype)
    pixels, labels = READERS[name](_folder(data_dir) / name, pair, n)
    if n is not None and n > len(labels):
        raise ValueError(f"{name} holds {len(labels)} rows of classes {pair[0]} and {pair[1]}, got n={n}.")
    return table[pixels], labels


def load_ten(
    name: Literal["mnist", "fashion-mnist"],
    *,
    part: Literal["train", "test"] = "train",
    scale: Literal["signed", "unit"] = "unit",
    dtype: DTypeLike = np.float32,
    data_dir: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All ten classes of "mnist" or "fashion-mnist": the 60,000 training or the 10,000 test images, as (X, y).

    The options are those of `load`. The test images are in t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz
    beside the training images.
    """
    if name not in ("mnist", "fashion-mnist"):
        raise ValueError(f'ten classes are read of "mnist" and "fashion-mnist", got {name!r}.')
    if part not in ("train", "test"):
        raise ValueError(f'part must be "train" or "test", got {part!r}.')
    table = _pixel_values(scale, dtype)
    images, labels = _images(_folder(data_dir) / name, "train" if part == "train" else "t10k")
    return table[images], labels.astype(np.int64)


def available(data_dir: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the data sets whose folder is there, for those who want to run on whatever they find."""
    if data_dir is None and not os.environ.get(VARIABLE):
        return []
    return [name for name in CLASSES if (_folder(data_dir) / name).is_dir()]


def _class_pair(classes: Sequence[int]) -> tuple[int, int]:
    values = tuple(classes)
    if len(set(values)) != 2 or len(values) != 2 or any(not isinstance(c, Integral) or not 0 <= c <= 9 for c in values):
        raise ValueError(f"classes must be two different class numbers from 0 to 9, got {classes!r}.")
    return int(values[0]), int(values[1])


def _pixel_values(scale: str, dtype: DTypeLike) -> NDArray[Any]:
    """The value of each of the 256 pixels; computed in float64, rounded once."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {kind}.")
    x = np.arange(256.0)
    if scale == "signed":
        return (2 * x / 255 - 1).astype(kind)
    if scale == "unit":
        return (x / 255).astype(kind)
    raise ValueError(f'scale must be "signed" or "unit", got {scale!r}.')


def _folder(data_dir: str | os.PathLike[str] | None) -> Path:
    named = os.environ.get(VARIABLE) if data_dir is None else data_dir
    if not named:
        raise FileNotFoundError(f"no data folder: give data_dir or set the environment variable {VARIABLE}.")
    if not Path(named).is_dir():
        raise FileNotFoundError(f"the data folder {os.fspath(named)!r} is not there; check data_dir or {VARIABLE}.")
    return Path(named)


def _contents(path: Path) -> bytes:
    """All bytes of `path`, or of `path` with .gz, decompressed."""
    packed = path.with_name(path.name + ".gz")
    if path.is_file():
        return path.read_bytes()
    if not packed.is_file():
        raise FileNotFoundError(f"neither {packed} nor {path.name} beside it is there.")
    try:
        return gzip.decompress(packed.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{packed} is no whole gzip file ({error}); get it again.") from None


def _idx(path: Path, magic: int) -> Pixels:
    """An IDX file: magic, one size per dimension (big-endian 32-bit), then one byte per entry."""
    raw = _contents(path)
    dimensions = magic % 256
    header = 4 * (1 + dimensions)
    if len(raw) < header or struct.unpack(">I", raw[:4])[0] != magic:
        raise ValueError(f"{path} does not start with {magic}, the mark of its kind of IDX file; get it again.")
    shape = struct.unpack(f">{dimensions}I", raw[4:header])
    expected = header + int(np.prod(shape, dtype=np.int64))
    if len(raw) != expected:
        raise ValueError(f"{path} has {len(raw)} bytes, its header promises {expected}; get it again.")
    return np.frombuffer(raw, dtype=np.uint8, offset=header).reshape(shape)


def _first_rows(labels: Pixels, pair: tuple[int, int], n: int | None) -> NDArray[np.intp]:
    return np.flatnonzero(np.isin(labels, pair))[:n]


def _images(folder: Path, part: str) -> tuple[Pixels, Pixels]:
    """All images of a pair of IDX files, one per row, and their labels."""
    labels = _idx(folder / f"{part}-labels-idx1-ubyte", IDX_LABELS)
    images = _idx(folder / f"{part}-images-idx3-ubyte", IDX_IMAGES)
    if len(images) != len(labels):
        raise ValueError(f"{folder} has {len(images)} images but {len(labels)} labels; get the files again.")
    return images.reshape(len(images), -1), labels


def _read_idx(folder: Path, pair: tuple[int, int], n: int | None) -> tuple[Pixels, NDArray[np.int64]]:
    images, labels = _images(folder, "train")
    rows = _first_rows(labels, pair, n)
    return images[rows], labels[rows].astype(np.int64)


def _read_cifar(folder: Path, pair: tuple[int, int], n: int | None) -> tuple[Pixels, NDArray[np.int64]]:
    path = folder / "cifar-10-class01-train.bin"
    raw = _contents(path)
    if len(raw) == 0 or len(raw) % CIFAR_RECORD:
        raise ValueError(f"{path} has {len(raw)} bytes, no multiple of a record's {CIFAR_RECORD}; get it again.")
    records = np.frombuffer(raw, dtype=np.uint8).reshape(-1, CIFAR_RECORD)
    labels = records[:, 0]
    if labels.max() > 9:
        raise ValueError(f"{path} has the label {labels.max()}, CIFAR-10's are 0 to 9; get it again.")
    rows = _first_rows(labels, pair, n)
    return records[rows, 1:], labels[rows].astype(np.int64)


def _read_eurosat(folder: Path, pair: tuple[int, int], n: int | None) -> tuple[Pixels, NDArray[np.int64]]:
    path = folder / "eurosat-annualcrop-forest.zip"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = [_members(archive, path, c) for c in pair]
            pairs = zip_longest(*members)  # one of each class in turn
            chosen = [(label, m) for both in pairs for label, m in zip(pair, both, strict=True) if m is not None][:n]
            pixels = np.empty((len(chosen), *EUROSAT_SHAPE), dtype=np.uint8)
            for row, (_, member) in zip(pixels, chosen, strict=True):
                row[...] = _jpeg(archive.read(member), member)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is no whole ZIP file ({error}); get it again.") from None
    return pixels.reshape(len(chosen), -1), np.array([label for label, _ in chosen], dtype=np.int64)


def _members(archive: zipfile.ZipFile, path: Path, label: int) -> list[str]:
    folder = f"/{EUROSAT_CLASSES[label]}/"
    found = [member for member in archive.namelist() if folder in member and member.endswith(".jpg")]
    if not found:
        raise ValueError(f"{path} has no images of class {label} ({EUROSAT_CLASSES[label]}).")
    return found


def _jpeg(raw: bytes, member: str) -> Pixels:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ImportError("EuroSAT's images are JPEG files: pip install 'separatrix[images]' to read them.") from None
    try:
        pixels = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"{member} is no whole JPEG file ({error}); get the archive again.") from None
    if pixels.shape != EUROSAT_SHAPE:
        raise ValueError(f"{member} has shape {pixels.shape}, EuroSAT's images are {EUROSAT_SHAPE}; get it again.")
    return pixels


READERS: dict[str, Reader] = {
    "mnist": _read_idx,
    "fashion-mnist": _read_idx,
    "cifar-10": _read_cifar,
    "eurosat": _read_eurosat,
}
