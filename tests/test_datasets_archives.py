"""The published archives are read in place, hold the same rows as the small files, and cannot do harm."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import separatrix.datasets
from separatrix.datasets import CIFAR_RECORD, available, load
from separatrix.datasets.read import JPEG_LIMIT
from separatrix.datasets.sources import CIFAR_BATCH

BATCHES = [f"data_batch_{k}.bin" for k in range(1, 6)]
IN_THE_TAR = ["data_batch_1.bin", "data_batch_3.bin", "test_batch.bin", "data_batch_5.bin", "data_batch_2.bin"]


def records(seed, size=12):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 256, size=(size, CIFAR_RECORD), dtype=np.uint8)
    drawn[:, 0] = rng.permuted(np.resize([0, 1, 5, 9], size))
    return drawn


BATCH = {name: records(k) for k, name in enumerate([*BATCHES, "test_batch.bin"])}
TRAIN = np.concatenate([BATCH[name] for name in BATCHES])


def tar_gz(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def batch_members():
    folder = tarfile.TarInfo("cifar-10-batches-bin")
    folder.type = tarfile.DIRTYPE
    named = [(name, BATCH[name].tobytes()) for name in [*IN_THE_TAR, "data_batch_4.bin"]]
    inside = [("readme.html", b"see"), ("batches.meta.txt", b"airplane\n"), *named]
    return [(folder, b""), *((tarfile.TarInfo(f"cifar-10-batches-bin/{name}"), raw) for name, raw in inside)]


@pytest.fixture
def cifar(tmp_path):
    """Puts files into the data set's folder, and says which data folder that is."""

    def write(files):
        for name, content in files.items():
            path = tmp_path / "cifar-10" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path

    return write


def subset(batch):
    return batch[batch[:, 0] <= 1].tobytes()


CIFAR_FORMS = {
    "tar": lambda: {"cifar-10-binary.tar.gz": tar_gz(batch_members())},
    "unpacked": lambda: {f"cifar-10-batches-bin/{name}": raw.tobytes() for name, raw in BATCH.items()},
    "flat": lambda: {name: raw.tobytes() for name, raw in BATCH.items()},
    "subset": lambda: {
        "cifar-10-class01-train.bin": subset(TRAIN),
        "cifar-10-class01-test.bin": subset(BATCH["test_batch.bin"]),
    },
    "packed subset": lambda: {
        "cifar-10-class01-train.bin.gz": gzip.compress(subset(TRAIN)),
        "cifar-10-class01-test.bin.gz": gzip.compress(subset(BATCH["test_batch.bin"])),
    },
}


@pytest.mark.parametrize("form", CIFAR_FORMS)
def test_every_form_of_cifar_holds_the_same_rows_in_batch_order(cifar, form):
    folder = cifar(CIFAR_FORMS[form]())
    assert available(folder) == ["cifar-10"]
    for part, all_rows in (("train", TRAIN), ("test", BATCH["test_batch.bin"])):
        ours = all_rows[all_rows[:, 0] <= 1]
        X, y = load("cifar-10", part=part, data_dir=folder)
        np.testing.assert_array_equal(y, ours[:, 0])
        np.testing.assert_array_equal(X, 2 * ours[:, 1:].astype(float) / 255 - 1)


def test_reading_an_archive_writes_nothing(cifar):
    folder = cifar(CIFAR_FORMS["tar"]())
    load("cifar-10", data_dir=folder)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["cifar-10-binary.tar.gz"]


def test_other_classes_need_the_whole_archive(cifar):
    X, y = load("cifar-10", classes=(5, 9), data_dir=cifar(CIFAR_FORMS["tar"]()))
    assert len(X) == 30 and set(y) == {5, 9}
    with pytest.raises(ValueError, match="no rows of classes 5 and 9"):
        load("cifar-10", classes=(5, 9), data_dir=_only_subset(cifar))


def _only_subset(cifar):
    folder = cifar(CIFAR_FORMS["subset"]())
    (folder / "cifar-10" / "cifar-10-binary.tar.gz").unlink()
    return folder


@pytest.mark.parametrize("lost", ["data_batch_3.bin", "data_batch_5.bin"])
def test_a_folder_with_a_batch_missing_is_not_available(cifar, lost):
    folder = cifar({name: raw for name, raw in CIFAR_FORMS["flat"]().items() if name != lost})
    assert available(folder) == []
    with pytest.raises(FileNotFoundError, match="cifar-10-binary.tar.gz is not there.*datasets fetch cifar-10 gets it"):
        load("cifar-10", data_dir=folder)


def member(name, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


EVIL = {
    "parent": (member("../data_batch_1.bin"), "leads outside of its folder"),
    "deep parent": (member("cifar-10-batches-bin/../../x"), "leads outside of its folder"),
    "absolute": (member("/etc/data_batch_1.bin"), "leads outside of its folder"),
    "drive": (member("C:\\data_batch_1.bin"), "leads outside of its folder"),
    "link": (member("data_batch_1.bin", tarfile.SYMTYPE, "/etc/passwd"), "no plain file or folder"),
    "hard link": (member("data_batch_1.bin", tarfile.LNKTYPE, "/etc/passwd"), "no plain file or folder"),
    "device": (member("data_batch_1.bin", tarfile.CHRTYPE), "no plain file or folder"),
    "pipe": (member("data_batch_1.bin", tarfile.FIFOTYPE), "no plain file or folder"),
    "twice": (member("data_batch_1.bin"), "has the member 'data_batch_1.bin' twice"),
}


@pytest.mark.parametrize("kind", EVIL)
def test_a_tar_with_a_member_that_could_do_harm_is_refused(cifar, kind):
    info, message = EVIL[kind]
    folder = cifar({"cifar-10-binary.tar.gz": tar_gz([*batch_members(), (info, b"")])})
    with pytest.raises(ValueError, match=message):
        load("cifar-10", data_dir=folder)


@pytest.mark.parametrize("name", ["data_batch_2.bin", "readme.html"])
def test_a_tar_with_a_member_larger_than_a_batch_is_refused(cifar, name):
    bomb = [(tarfile.TarInfo(name), bytes(CIFAR_BATCH + 1))]
    with pytest.raises(ValueError, match=f"{name}' of 30,730,001 bytes, more than a batch"):
        load("cifar-10", data_dir=cifar({"cifar-10-binary.tar.gz": tar_gz(bomb)}))


def test_a_tar_with_many_members_that_are_too_much_together_is_refused(cifar):
    bomb = [(tarfile.TarInfo(f"{k}.html"), bytes(CIFAR_BATCH)) for k in range(7)]
    with pytest.raises(ValueError, match="holds more than 185,428,576 bytes"):
        load("cifar-10", data_dir=cifar({"cifar-10-binary.tar.gz": tar_gz(bomb)}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[: len(raw) // 2], "no whole tar.gz file"),
        (lambda raw: b"no archive", "no whole tar.gz file"),
        (lambda raw: gzip.compress(gzip.decompress(raw)[:40_000]), "no whole tar.gz file"),
        (lambda raw: gzip.compress(b"no archive" * 100), "no whole tar.gz file"),
        (lambda raw: tar_gz(batch_members()[:5]), "no member data_batch_2.bin"),
        (lambda raw: tar_gz([(tarfile.TarInfo(name), b"\0" * 9) for name in BATCHES]), "no multiple of a record's"),
    ],
    ids=["torn", "no gzip", "torn tar", "no tar", "missing", "no records"],
)
def test_a_malformed_tar_gets_one_clear_sentence(cifar, damage, message):
    folder = cifar({"cifar-10-binary.tar.gz": damage(tar_gz(batch_members()))})
    with pytest.raises(ValueError, match=message):
        load("cifar-10", data_dir=folder)


@pytest.mark.parametrize("name", ["cifar-10-class01-train.bin", "cifar-10-class01-train.bin.gz"])
def test_a_file_that_unpacks_to_more_than_it_can_rightly_hold_is_refused(cifar, name):
    raw = bytes(CIFAR_BATCH + CIFAR_RECORD)
    folder = cifar({name: gzip.compress(raw) if name.endswith(".gz") else raw})
    with pytest.raises(ValueError, match="holds more than 30,730,000 bytes, all it can rightly hold"):
        load("cifar-10", data_dir=folder)


def jpeg(shade, size=(64, 64)):
    out = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(out, "JPEG")
    return out.getvalue()


CROPS = {f"AnnualCrop_{k}.jpg": jpeg(k) for k in (1, 2, 10, 100)}
FORESTS = {f"Forest_{k}.jpg": jpeg(100 + k) for k in (1, 2, 20)}


@pytest.fixture
def eurosat(tmp_path):
    def write(name, members):
        path = tmp_path / "eurosat" / name
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member_name, content in members:
                archive.writestr(member_name, content)
        return tmp_path

    return write


def in_class_folders(top, order=1):
    crops, forests = list(CROPS.items())[::order], list(FORESTS.items())[::order]
    return [(f"{top}AnnualCrop/{k}", v) for k, v in crops] + [(f"{top}Forest/{k}", v) for k, v in forests]


@pytest.mark.parametrize(
    ("name", "top"),
    [("EuroSAT_RGB.zip", "EuroSAT_RGB/"), ("EuroSAT.zip", "2750/"), ("eurosat-annualcrop-forest.zip", "2750/")],
)
@pytest.mark.parametrize("order", [1, -1])
def test_eurosats_rows_come_in_one_order_whatever_the_archive(eurosat, name, top, order):
    extra = [(f"{top}River/River_1.jpg", jpeg(0)), (f"__MACOSX/{top}Forest/._Forest_1.jpg", b"no picture")]
    folder = eurosat(name, in_class_folders(top, order) + extra)
    X, y = load("eurosat", scale="unit", data_dir=folder)
    assert y.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert np.allclose(255 * X.mean(axis=1), [1, 101, 10, 102, 100, 120, 2], atol=1)  # 1, 10, 100, 2: as names sort


@pytest.mark.parametrize("name", ["../Forest/Forest_9.jpg", "/Forest/Forest_9.jpg", "2750\\..\\..\\x.jpg"])
def test_a_zip_with_a_member_outside_of_the_folder_is_refused(eurosat, name):
    folder = eurosat("EuroSAT_RGB.zip", [*in_class_folders("EuroSAT_RGB/"), (name, b"")])
    with pytest.raises(ValueError, match="leads outside of its folder"):
        load("eurosat", data_dir=folder)


def test_a_zip_with_a_link_is_refused(eurosat):
    link = zipfile.ZipInfo("EuroSAT_RGB/Forest/Forest_9.jpg")
    link.external_attr = 0o120777 << 16
    folder = eurosat("EuroSAT_RGB.zip", [*in_class_folders("EuroSAT_RGB/"), (link, "/etc/passwd")])
    with pytest.raises(ValueError, match="no plain file or folder"):
        load("eurosat", data_dir=folder)


def test_a_member_too_large_for_an_image_is_refused(eurosat):
    members = in_class_folders("EuroSAT_RGB/") + [("EuroSAT_RGB/Forest/Forest_9.jpg", bytes(JPEG_LIMIT + 1))]
    with pytest.raises(ValueError, match="Forest_9.jpg' of more than 65,536 bytes"):
        load("eurosat", data_dir=eurosat("EuroSAT_RGB.zip", members))


def test_a_member_that_lies_about_its_size_is_refused(eurosat):
    name = "EuroSAT_RGB/Forest/Forest_9.jpg"
    folder = eurosat("EuroSAT_RGB.zip", in_class_folders("EuroSAT_RGB/") + [(name, bytes(2**20))])
    path = folder / "eurosat" / "EuroSAT_RGB.zip"
    true, claimed = (2**20).to_bytes(4, "little"), (100).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(true, claimed))
    with pytest.raises(ValueError, match="no whole ZIP file .*CRC"):
        load("eurosat", data_dir=folder)


def test_a_picture_of_a_great_many_pixels_is_refused_before_it_is_decoded(eurosat):
    raw = jpeg(0).replace(b"\x00\x40\x00\x40", b"\xff\xdc\xff\xdc")  # 65,500 x 65,500 says its header
    assert raw != jpeg(0)
    folder = eurosat("EuroSAT_RGB.zip", [("a/AnnualCrop/AnnualCrop_1.jpg", raw), *in_class_folders("")[4:]])
    with pytest.raises(ValueError, match="AnnualCrop_1.jpg is no whole JPEG file"):
        load("eurosat", data_dir=folder)


def test_an_encrypted_member_gets_one_clear_sentence(eurosat):
    folder = eurosat("EuroSAT_RGB.zip", in_class_folders("EuroSAT_RGB/"))
    path = folder / "eurosat" / "EuroSAT_RGB.zip"
    raw = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        for hit in re.finditer(re.escape(mark), bytes(raw)):
            raw[hit.start() + offset] |= 1
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="no whole ZIP file .*encrypted"):
        load("eurosat", data_dir=folder)


@pytest.mark.parametrize("name", ["cifar-10", "eurosat"])
def test_archives_with_flipped_bits_are_read_or_refused_but_never_crash(cifar, eurosat, name):
    rng = np.random.default_rng(0)
    folder = cifar(CIFAR_FORMS["tar"]()) if name == "cifar-10" else eurosat("EuroSAT_RGB.zip", in_class_folders("a/"))
    (path,) = (folder / name).iterdir()
    whole = path.read_bytes()
    raw = bytearray(gzip.decompress(whole) if name == "cifar-10" else whole)
    for _ in range(200):
        torn = raw.copy()
        torn[rng.integers(len(raw) // 10 if name == "cifar-10" else len(raw))] ^= 1 << rng.integers(8)
        path.write_bytes(gzip.compress(torn, 1) if name == "cifar-10" else torn)
        with contextlib.suppress(ValueError):
            load(name, data_dir=folder)


def test_a_zip_that_points_before_its_beginning_gets_one_clear_sentence(eurosat):
    folder = eurosat("EuroSAT_RGB.zip", in_class_folders("EuroSAT_RGB/"))
    path = folder / "eurosat" / "EuroSAT_RGB.zip"
    raw = bytearray(path.read_bytes())
    start = raw.rindex(b"PK\x05\x06") + 16
    raw[start : start + 4] = (2**31).to_bytes(4, "little")  # where the list of members is said to begin
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="no whole ZIP file"):
        load("eurosat", data_dir=folder)


def test_nothing_is_ever_unpickled():
    for path in Path(separatrix.datasets.__file__).parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) +(pickle|cPickle|dill|cloudpickle|shelve|marshal)\b", text, re.M), path
        assert not re.search(r"\bpickle\.loads?\b|allow_pickle=True", text), path
        for call in re.finditer(r"\bnp\.load\(.*", text):
            assert "allow_pickle=False" in call[0], f"{path}: {call[0]}"


def test_a_torn_member_of_a_zip_gets_one_clear_sentence(eurosat):
    folder = eurosat("EuroSAT_RGB.zip", in_class_folders("EuroSAT_RGB/"))
    path = folder / "eurosat" / "EuroSAT_RGB.zip"
    raw = path.read_bytes()
    packed = zlib.compress(CROPS["AnnualCrop_1.jpg"])[2:12]
    assert packed[:4] in raw
    path.write_bytes(raw.replace(packed[:4], b"\xff\xff\xff\xff", 1))
    with pytest.raises(ValueError, match="no whole ZIP file"):
        load("eurosat", data_dir=folder)


def test_the_real_rows_are_the_same_in_the_published_form_of_cifar(data_dir, cifar):
    raw = gzip.decompress((data_dir / "cifar-10" / "cifar-10-class01-train.bin.gz").read_bytes())
    fifth = 2_000 * CIFAR_RECORD
    other = records(0, size=8)
    other = other[other[:, 0] > 1].tobytes()  # rows of classes that are not read
    members = [
        (tarfile.TarInfo(f"x/{name}"), raw[k * fifth : (k + 1) * fifth] + other) for k, name in enumerate(BATCHES)
    ]
    folder = cifar({"cifar-10-binary.tar.gz": tar_gz(members[::-1])})
    X, y = load("cifar-10", n=3000, seed=1, dtype=np.float32, data_dir=data_dir)
    X_tar, y_tar = load("cifar-10", n=3000, seed=1, dtype=np.float32, data_dir=folder)
    np.testing.assert_array_equal(X_tar, X)
    np.testing.assert_array_equal(y_tar, y)


def test_the_real_rows_are_the_same_in_the_published_form_of_eurosat(data_dir, eurosat):
    with zipfile.ZipFile(data_dir / "eurosat" / "eurosat-annualcrop-forest.zip") as archive:
        members = [(name.replace("2750/", "EuroSAT_RGB/"), archive.read(name)) for name in archive.namelist()]
    folder = eurosat("EuroSAT_RGB.zip", members[::-1])
    X, y = load("eurosat", n=200, seed=1, dtype=np.float32, data_dir=data_dir)
    X_rgb, y_rgb = load("eurosat", n=200, seed=1, dtype=np.float32, data_dir=folder)
    np.testing.assert_array_equal(X_rgb, X)
    np.testing.assert_array_equal(y_rgb, y)
