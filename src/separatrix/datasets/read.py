"""The formats of the image files: IDX, CIFAR-10's records alone or in a tar, EuroSAT's JPEG files in a ZIP.

Archives are read member by member and nothing is written to disk. A member that would lead outside of a folder, a link
or a device, and a member larger than it can rightly be are refused. Nothing is unpickled.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from math import prod
from pathlib import Path, PurePosixPath
from stat import S_ISLNK
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.datasets.places import Found
from separatrix.datasets.sources import CIFAR_BATCH, File, Part
from separatrix.reporting.hints import install

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]
Pick = Callable[[int], NDArray[np.intp]]  # of how many rows there are, the rows to take, in order
Reader = Callable[[list[list[Found]], Part, tuple[int, int], Pick], tuple[Pixels, Labels]]

IDX_IMAGES, IDX_LABELS = 2051, 2049  # the first four bytes, big-endian: 0x08 for bytes, then the number of dimensions
CIFAR_RECORD = 1 + 3 * 32 * 32
CIFAR_BATCHES: dict[Part, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
    "test": ("test_batch.bin",),
}
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
JPEG_LIMIT = 2**16  # bytes; the pixels themselves are 12,288

TORN = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile, struct.error, RuntimeError)


def contents(file: File, path: Path) -> bytes:
    """All bytes of a file, unpacked if its name ends in .gz, but never more than it can rightly hold."""
    limit = file.unpacked or file.size
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            raw: bytes = stream.read(limit + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is no whole gzip file ({error}); get it again.") from None
    if len(raw) > limit:
        raise ValueError(f"{path} holds more than {limit:,} bytes, all it can rightly hold; get it again.")
    return raw


def check_member(path: Path, name: str, *, plain: bool) -> None:
    """Refuse a member that could lead outside of the folder it is unpacked to; `plain` is a file or a folder."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "" or parts[0].endswith(":"):
        raise ValueError(f"{path} has a member {name!r} that leads outside of its folder; get the archive again.")
    if not plain:
        raise ValueError(f"{path} has a member {name!r} that is no plain file or folder; get the archive again.")


# IDX.


def images(found: list[list[Found]]) -> tuple[Pixels, Pixels]:
    """All images of a pair of IDX files, one per row, and their labels."""
    ((image_file,), (label_file,)) = found
    labels = _idx(*label_file, IDX_LABELS)
    pictures = _idx(*image_file, IDX_IMAGES)
    if len(pictures) != len(labels):
        folder = image_file[1].parent
        raise ValueError(f"{folder} has {len(pictures)} images but {len(labels)} labels; get the files again.")
    return pictures.reshape(len(pictures), -1), labels


def _idx(file: File, path: Path, magic: int) -> Pixels:
    """An IDX file: magic, one size per dimension (big-endian 32-bit), then one byte per entry."""
    raw = contents(file, path)
    dimensions = magic % 256
    header = 4 * (1 + dimensions)
    if len(raw) < header or struct.unpack(">I", raw[:4])[0] != magic:
        raise ValueError(f"{path} does not start with {magic}, the mark of its kind of IDX file; get it again.")
    shape = struct.unpack(f">{dimensions}I", raw[4:header])
    expected = header + prod(shape)
    if len(raw) != expected:
        raise ValueError(f"{path} has {len(raw)} bytes, its header promises {expected}; get it again.")
    return np.frombuffer(raw, dtype=np.uint8, offset=header).reshape(shape)


def read_idx(found: list[list[Found]], part: Part, pair: tuple[int, int], pick: Pick) -> tuple[Pixels, Labels]:
    """Rows of two classes of a pair of IDX files."""
    pictures, labels = images(found)
    ours = np.flatnonzero(np.isin(labels, pair))
    rows = ours[pick(len(ours))]
    return pictures[rows], labels[rows].astype(np.int64)


# CIFAR-10.


def read_cifar(found: list[list[Found]], part: Part, pair: tuple[int, int], pick: Pick) -> tuple[Pixels, Labels]:
    """Rows of two classes of CIFAR-10's batches, in their order."""
    (group,) = found
    batches: Iterable[tuple[str, bytes]] = ((str(path), contents(file, path)) for file, path in group)
    if group[0][1].name.endswith(".tar.gz"):
        batches = _tar_batches(*group[0], part)
    records = np.concatenate([_records(where, raw, pair) for where, raw in batches])
    rows = records[pick(len(records))]
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _records(where: str, raw: bytes, pair: tuple[int, int]) -> Pixels:
    """Records of two classes: 1 label byte, then 1,024 bytes each of red, green and blue."""
    if len(raw) == 0 or len(raw) % CIFAR_RECORD:
        raise ValueError(f"{where} has {len(raw)} bytes, no multiple of a record's {CIFAR_RECORD}; get it again.")
    records = np.frombuffer(raw, dtype=np.uint8).reshape(-1, CIFAR_RECORD)
    if records[:, 0].max() > 9:
        raise ValueError(f"{where} has the label {records[:, 0].max()}, CIFAR-10's are 0 to 9; get it again.")
    kept: Pixels = records[np.isin(records[:, 0], pair)]
    return kept


class _Capped:
    """A stream that ends in an error once it has given more than it can rightly hold."""

    def __init__(self, stream: Any, path: Path, limit: int) -> None:
        self.stream, self.path, self.limit, self.given = stream, path, limit, 0

    def read(self, size: int) -> bytes:
        raw: bytes = self.stream.read(size)
        self.given += len(raw)
        if self.given > self.limit:
            raise ValueError(
                f"{self.path} holds more than {self.limit:,} bytes, all it can rightly hold; get it again."
            )
        return raw


def _tar_batches(file: File, path: Path, part: Part) -> Iterator[tuple[str, bytes]]:
    """CIFAR-10's batches out of the tar, which holds them in another order."""
    kept: dict[str, bytes] = {}
    try:
        with gzip.open(path) as packed:
            stream: Any = _Capped(packed, path, file.unpacked)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    check_member(path, member.name, plain=member.isdir() or (member.isreg() and not member.issparse()))
                    name = PurePosixPath(member.name).name
                    if member.size > CIFAR_BATCH:
                        raise ValueError(
                            f"{path} has a member {member.name!r} of {member.size:,} bytes, more than a batch."
                        )
                    if name in kept:
                        raise ValueError(f"{path} has the member {member.name!r} twice; get the archive again.")
                    content = archive.extractfile(member) if name in CIFAR_BATCHES[part] else None
                    if content is not None:
                        kept[name] = content.read()
    except TORN as error:
        raise ValueError(f"{path} is no whole tar.gz file ({error}); get it again.") from None
    for name in CIFAR_BATCHES[part]:
        if name not in kept:
            raise ValueError(f"{path} has no member {name}; get the archive again.")
        yield f"{name} of {path}", kept.pop(name)


# EuroSAT.


def read_eurosat(found: list[list[Found]], part: Part, pair: tuple[int, int], pick: Pick) -> tuple[Pixels, Labels]:
    """Rows that alternate between two classes, each class in the lexicographic order of its file names."""
    (((_, path),),) = found
    with path.open("rb") as raw:
        try:
            with zipfile.ZipFile(raw) as archive:
                return _alternating(archive, path, pair, pick)
        except (*TORN, OSError) as error:  # OSError: a seek to where no member can be
            raise ValueError(f"{path} is no whole ZIP file ({error}); get it again.") from None


def _alternating(archive: zipfile.ZipFile, path: Path, pair: tuple[int, int], pick: Pick) -> tuple[Pixels, Labels]:
    for member in archive.infolist():
        check_member(path, member.filename, plain=not S_ISLNK(member.external_attr >> 16))
    turns = zip_longest(*(_of_class(archive, path, label) for label in pair))
    ours = [(label, m) for turn in turns for label, m in zip(pair, turn, strict=True) if m is not None]
    chosen = [ours[row] for row in pick(len(ours))]
    pixels = np.empty((len(chosen), *EUROSAT_SHAPE), dtype=np.uint8)
    for row, (_, member) in zip(pixels, chosen, strict=True):
        row[...] = _jpeg(_member_bytes(archive, path, member), member.filename)
    return pixels.reshape(len(chosen), -1), np.array([label for label, _ in chosen], dtype=np.int64)


def _of_class(archive: zipfile.ZipFile, path: Path, label: int) -> list[zipfile.ZipInfo]:
    """Members <any folder>/<class>/<class>_<number>.jpg by file name, whatever folder the archive has on top."""
    name = EUROSAT_CLASSES[label]
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        place = PurePosixPath(member.filename)
        if place.parent.name == name and place.name.startswith(f"{name}_") and place.suffix == ".jpg":
            if place.name in found:
                raise ValueError(f"{path} has {place.name} twice; get the archive again.")
            found[place.name] = member
    if not found:
        raise ValueError(f"{path} has no images of class {label} ({name}).")
    return [found[key] for key in sorted(found)]


def _member_bytes(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as stream:
        raw = stream.read(JPEG_LIMIT + 1)  # read() alone trusts the size that the archive claims
    if len(raw) > JPEG_LIMIT or member.file_size > JPEG_LIMIT:
        seen = f"{path} has a member {member.filename!r} of more than {JPEG_LIMIT:,} bytes"
        raise ValueError(f"{seen}, too many for an image; get the archive again.")
    return raw


def _jpeg(raw: bytes, member: str) -> Pixels:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ImportError(f"EuroSAT's images are JPEG files: {install('lab')} reads them.") from None
    bombs = (Image.DecompressionBombError, Image.DecompressionBombWarning)
    try:
        picture = Image.open(io.BytesIO(raw), formats=("JPEG",))
        shape = (picture.height, picture.width, 3)
        pixels = np.asarray(picture.convert("RGB")) if shape == EUROSAT_SHAPE else None
    except (UnidentifiedImageError, OSError, *bombs) as error:
        raise ValueError(f"{member} is no whole JPEG file ({error}); get the archive again.") from None
    if pixels is None:  # not even decoded
        raise ValueError(f"{member} has shape {shape}, EuroSAT's images are {EUROSAT_SHAPE}; get it again.")
    return pixels


READERS: dict[str, Reader] = {
    "mnist": read_idx,
    "fashion-mnist": read_idx,
    "cifar-10": read_cifar,
    "eurosat": read_eurosat,
}
# The channel of each column, where there are several: CIFAR-10 has one after the other, a JPEG file pixel by pixel.
CHANNELS: dict[str, NDArray[np.intp]] = {
    "cifar-10": np.repeat(np.arange(3), 32 * 32),
    "eurosat": np.tile(np.arange(3), EUROSAT_SHAPE[0] * EUROSAT_SHAPE[1]),
}
