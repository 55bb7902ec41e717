"""Image files are read as their formats say, and refused in one sentence when they are not whole."""

from __future__ import annotations

import gzip
import io
import os
import re
import struct
import sys
import zipfile

import numpy as np
import pytest

from separatrix.datasets import CIFAR_RECORD, CLASSES, VARIABLE, available, load, load_ten, places
from separatrix.datasets.rows import mean_and_deviation, standardised
from separatrix.reporting.hints import install

needs_data = pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"the image data sets are not here: {VARIABLE} is not set"
)

LABELS = np.array([7, 1, 8, 8, 7, 7, 2, 8], dtype=np.uint8)
IMAGES = np.random.default_rng(0).integers(0, 256, size=(8, 2, 3), dtype=np.uint8)


def idx(array, *, magic=None):
    magic = 0x0800 + array.ndim if magic is None else magic
    return struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes()


@pytest.fixture
def mnist(tmp_path):
    folder = tmp_path / "mnist"
    folder.mkdir()
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS), mtime=0))
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(IMAGES), mtime=0))
    return tmp_path


@pytest.fixture
def cifar(tmp_path):
    folder = tmp_path / "cifar-10"
    folder.mkdir()
    records = np.random.default_rng(1).integers(0, 256, size=(6, CIFAR_RECORD), dtype=np.uint8)
    records[:, 0] = [1, 0, 0, 1, 1, 0]
    (folder / "cifar-10-class01-train.bin.gz").write_bytes(gzip.compress(records.tobytes(), mtime=0))
    return tmp_path, records


@pytest.fixture
def eurosat(tmp_path):
    from PIL import Image

    def jpeg(shade, size=64):
        out = io.BytesIO()
        Image.new("RGB", (size, size), (shade, shade, shade)).save(out, "JPEG")
        return out.getvalue()

    def write(members):
        folder = tmp_path / "eurosat"
        folder.mkdir(exist_ok=True)
        with zipfile.ZipFile(folder / "eurosat-annualcrop-forest.zip", "w") as archive:
            for name, value in members:
                archive.writestr(f"2750/{name}", value if isinstance(value, bytes) else jpeg(*value))
        return tmp_path

    return write


def test_rows_are_those_of_the_two_classes_in_file_order(mnist):
    X, y = load("mnist", data_dir=mnist)
    rows = [0, 2, 3, 4, 5, 7]
    assert y.tolist() == LABELS[rows].tolist()
    assert np.array_equal(X, 2 * IMAGES[rows].reshape(6, 6).astype(float) / 255 - 1)


def test_the_first_n_rows_are_a_prefix(mnist):
    X, y = load("mnist", data_dir=mnist)
    short, labels = load("mnist", n=4, data_dir=mnist)
    assert np.array_equal(short, X[:4])
    assert np.array_equal(labels, y[:4])


def test_a_seed_draws_rows_without_replacement_in_the_order_of_its_permutation(mnist):
    X, y = load("mnist", data_dir=mnist)
    drawn, labels = load("mnist", n=4, seed=3, data_dir=mnist)
    rows = np.random.default_rng(3).permutation(6)[:4]
    np.testing.assert_array_equal(drawn, X[rows])
    np.testing.assert_array_equal(labels, y[rows])
    assert rows.tolist() != sorted(rows)


def test_a_smaller_sample_of_the_same_seed_is_a_prefix_of_a_larger_one(mnist):
    everything, labels = load("mnist", seed=3, data_dir=mnist)
    assert sorted(labels) == [7, 7, 7, 8, 8, 8]
    for n in range(1, 7):
        np.testing.assert_array_equal(load("mnist", n=n, seed=3, data_dir=mnist)[0], everything[:n])


def test_eurosats_drawn_rows_are_those_of_its_file_order(eurosat):
    crops = [(f"AnnualCrop/AnnualCrop_{k}.jpg", (10 * k,)) for k in (1, 2, 3)]
    folder = eurosat([*crops, ("Forest/Forest_1.jpg", (200,)), ("Forest/Forest_2.jpg", (210,))])
    X, y = load("eurosat", data_dir=folder)
    rows = np.random.default_rng(0).permutation(5)[:3]
    drawn, labels = load("eurosat", n=3, seed=0, data_dir=folder)
    np.testing.assert_array_equal(drawn, X[rows])
    np.testing.assert_array_equal(labels, y[rows])


def test_standard_pixels_are_by_the_constants_of_the_whole_training_set(mnist, cifar):
    unit, _ = load("mnist", scale="unit", data_dir=mnist)
    np.testing.assert_allclose(load("mnist", scale="standard", data_dir=mnist)[0], (unit - 0.1307) / 0.3081, rtol=1e-12)
    ten, every = (load_ten("mnist", scale=s, dtype=np.float64, data_dir=mnist)[0] for s in ("standard", "unit"))
    np.testing.assert_allclose(ten, (every - 0.1307) / 0.3081, rtol=1e-12)
    folder, records = cifar
    X, _ = load("cifar-10", scale="standard", data_dir=folder)
    for k, (mean, deviation) in enumerate([(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)]):
        mine = records[:, 1 + 1024 * k : 1 + 1024 * (k + 1)] / 255
        np.testing.assert_allclose(X[:, 1024 * k : 1024 * (k + 1)], (mine - mean) / deviation, rtol=1e-9)


def test_the_pairs_own_mean_and_deviation_do_not_depend_on_which_rows_are_taken(mnist):
    unit, _ = load("mnist", scale="unit", data_dir=mnist)
    X, _ = load("mnist", scale="standard-pair", data_dir=mnist)
    np.testing.assert_allclose(X, (unit - unit.mean()) / unit.std(), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(load("mnist", scale="standard-pair", n=2, data_dir=mnist)[0], X[:2])


def test_each_channel_has_its_own_mean_and_deviation(cifar):
    folder, records = cifar
    pixels = records[:, 1:].astype(float)
    X, _ = load("cifar-10", scale="standard-pair", data_dir=folder)
    for k in range(3):
        mine = pixels[:, 1024 * k : 1024 * (k + 1)]
        np.testing.assert_allclose(X[:, 1024 * k : 1024 * (k + 1)], (mine - mine.mean()) / mine.std(), rtol=1e-9)
    turns, channel = np.arange(12).reshape(2, 6).astype(np.uint8), np.array([0, 1, 2, 0, 1, 2])  # as in a JPEG file
    values = standardised(turns, *mean_and_deviation(turns, channel), channel, np.float64)
    assert np.allclose(values.reshape(4, 3).mean(axis=0), 0) and np.allclose(values.reshape(4, 3).std(axis=0), 1)


def test_what_cannot_be_scaled_so_is_one_sentence(mnist, tmp_path):
    with pytest.raises(ValueError, match="of eurosat are in common use"):
        load("eurosat", scale="standard", data_dir=tmp_path)
    with pytest.raises(ValueError, match="is of two classes"):
        load_ten("mnist", scale="standard-pair", data_dir=mnist)


def test_the_test_part_is_read_where_there_is_one(mnist):
    for part, array in (("labels-idx1", LABELS[::-1].copy()), ("images-idx3", IMAGES[::-1].copy())):
        (mnist / "mnist" / f"t10k-{part}-ubyte").write_bytes(idx(array))
    np.testing.assert_array_equal(load("mnist", part="test", data_dir=mnist)[0], load("mnist", data_dir=mnist)[0][::-1])
    with pytest.raises(ValueError, match="EuroSAT has no official test part"):
        load("eurosat", part="test", data_dir=mnist)


def test_all_ten_classes_come_in_file_order(mnist):
    X, y = load_ten("mnist", data_dir=mnist)
    np.testing.assert_array_equal(y, LABELS)
    np.testing.assert_array_equal(X, (IMAGES.reshape(len(LABELS), -1) / 255).astype(np.float32))
    for part, array in (("labels-idx1", LABELS[::-1].copy()), ("images-idx3", IMAGES[::-1].copy())):
        (mnist / "mnist" / f"t10k-{part}-ubyte.gz").write_bytes(gzip.compress(idx(array), mtime=0))
    X_test, y_test = load_ten("mnist", part="test", scale="signed", dtype=np.float64, data_dir=mnist)
    np.testing.assert_array_equal(y_test, LABELS[::-1])
    np.testing.assert_array_equal(X_test, 2.0 * IMAGES[::-1].reshape(len(LABELS), -1) / 255 - 1)


def test_ten_classes_of_anything_else_are_refused(mnist):
    with pytest.raises(ValueError, match='ten classes are read of "mnist" and "fashion-mnist", got \'cifar-10\''):
        load_ten("cifar-10", data_dir=mnist)
    with pytest.raises(ValueError, match='part must be "train" or "test", got \'all\''):
        load_ten("mnist", part="all", data_dir=mnist)


def test_other_classes_can_be_chosen(mnist):
    assert load("mnist", classes=(2, 1), data_dir=mnist)[1].tolist() == [1, 2]


def test_unit_scale_is_pixels_over_255(mnist):
    X, _ = load("mnist", scale="unit", data_dir=mnist)
    assert np.array_equal(X[0], IMAGES[0].ravel() / 255)


def test_float32_values_are_the_float64_values_rounded_once(mnist):
    X, _ = load("mnist", data_dir=mnist)
    small, _ = load("mnist", dtype=np.float32, data_dir=mnist)
    assert small.dtype == np.float32
    assert np.array_equal(small, X.astype(np.float32))


def test_files_without_gzip_are_read_too(mnist):
    X, _ = load("mnist", data_dir=mnist)
    for packed in (mnist / "mnist").glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    assert np.array_equal(load("mnist", data_dir=mnist)[0], X)


def test_the_environment_variable_names_the_folder(mnist, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(mnist))
    assert load("mnist")[0].shape == (6, 6)
    assert available() == ["mnist"]


def test_without_a_folder_nothing_is_available_and_load_says_what_to_set(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert available() == []
    with pytest.raises(FileNotFoundError, match=f"set the environment variable {VARIABLE}"):
        load("mnist")


def test_the_users_cache_folder_is_read_when_no_other_is_named(mnist, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(places, "cache_folder", lambda: mnist)
    assert available() == ["mnist"]
    assert load("mnist")[0].shape == (6, 6)


def test_a_folder_that_lacks_a_training_file_is_not_available(mnist):
    (mnist / "fashion-mnist").mkdir()
    assert available(mnist) == ["mnist"]
    (mnist / "mnist" / "train-labels-idx1-ubyte.gz").unlink()
    assert available(mnist) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' is not there"):
        available(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere' is not there"):
        load("mnist", data_dir=tmp_path / "nowhere")


def test_a_missing_file_is_named(mnist):
    (mnist / "mnist" / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte.gz"):
        load("mnist", data_dir=mnist)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(idx(IMAGES, magic=2049), mtime=0), "does not start with 2051"),
        (gzip.compress(idx(IMAGES)[:-1], mtime=0), "has 63 bytes, its header promises 64"),
        (gzip.compress(idx(IMAGES) + b"\0", mtime=0), "has 65 bytes, its header promises 64"),
        (gzip.compress(b"\0\0", mtime=0), "does not start with 2051"),
        (gzip.compress(idx(IMAGES), mtime=0)[:-9], "no whole gzip file"),
        (b"not gzip at all", "no whole gzip file"),
        (gzip.compress(idx(IMAGES[:5]), mtime=0), "5 images but 8 labels"),
    ],
    ids=["magic", "short", "long", "no header", "torn gzip", "no gzip", "fewer images"],
)
def test_a_malformed_idx_file_gets_one_clear_sentence(mnist, content, message):
    (mnist / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load("mnist", data_dir=mnist)


def test_cifar_records_are_a_label_and_its_pixels(cifar):
    folder, records = cifar
    X, y = load("cifar-10", n=5, data_dir=folder)
    assert y.tolist() == [1, 0, 0, 1, 1]
    assert np.array_equal(X, 2 * records[:5, 1:].astype(float) / 255 - 1)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[:-1], "no multiple of a record's 3073"),
        (lambda raw: b"", "has 0 bytes"),
        (lambda raw: b"\x0b" + raw[1:], "has the label 11"),
    ],
    ids=["torn", "empty", "label"],
)
def test_a_malformed_cifar_file_gets_one_clear_sentence(cifar, damage, message):
    folder, records = cifar
    path = folder / "cifar-10" / "cifar-10-class01-train.bin.gz"
    path.write_bytes(gzip.compress(damage(records.tobytes()), mtime=0))
    with pytest.raises(ValueError, match=message):
        load("cifar-10", data_dir=folder)


def test_eurosat_rows_alternate_between_the_classes(eurosat):
    crops = [(f"AnnualCrop/AnnualCrop_{k}.jpg", (10 * k,)) for k in (1, 2, 3)]
    folder = eurosat([*crops, ("Forest/Forest_1.jpg", (200,)), ("Forest/Forest_2.jpg", (210,))])
    X, y = load("eurosat", scale="unit", data_dir=folder)
    assert y.tolist() == [0, 1, 0, 1, 0]
    assert np.allclose(255 * X.mean(axis=1), [10, 200, 20, 210, 30], atol=1)
    assert X.shape == (5, 64 * 64 * 3)
    assert np.array_equal(load("eurosat", scale="unit", n=3, data_dir=folder)[0], X[:3])


FOREST = ("Forest/Forest_1.jpg", (200,))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([FOREST], r"no images of class 0 \(AnnualCrop\)"),
        ([FOREST, ("AnnualCrop/AnnualCrop_1.jpg", b"no picture")], "AnnualCrop_1.jpg is no whole JPEG"),
        ([FOREST, ("AnnualCrop/AnnualCrop_1.jpg", (9, 32))], r"AnnualCrop_1.jpg has shape \(32, 32, 3\)"),
    ],
    ids=["one class", "no picture", "small picture"],
)
def test_a_malformed_eurosat_member_gets_one_clear_sentence(eurosat, members, message):
    with pytest.raises(ValueError, match=message):
        load("eurosat", data_dir=eurosat(members))


def test_a_torn_eurosat_archive_gets_one_clear_sentence(eurosat):
    folder = eurosat([FOREST, ("AnnualCrop/AnnualCrop_1.jpg", (9,))])
    path = folder / "eurosat" / "eurosat-annualcrop-forest.zip"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="no whole ZIP file"):
        load("eurosat", data_dir=folder)


def test_eurosat_without_pillow_says_what_to_install(eurosat, monkeypatch):
    folder = eurosat([FOREST, ("AnnualCrop/AnnualCrop_1.jpg", (9,))])
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=re.escape(install("lab"))):
        load("eurosat", data_dir=folder)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mnits", {}, r"unknown data set 'mnits' \(did you mean 'mnist'"),
        ("mnist", {"n": 7}, "mnist holds 6 rows of classes 7 and 8, got n=7"),
        ("mnist", {"n": 0}, "n must be a positive whole number or None, got 0"),
        ("mnist", {"n": 2.0}, "n must be a positive whole number or None, got 2.0"),
        ("mnist", {"seed": -1}, "seed must be a whole number from 0 or None, got -1"),
        ("mnist", {"seed": 0.5}, "seed must be a whole number from 0 or None, got 0.5"),
        ("mnist", {"part": "all"}, 'part must be "train" or "test", got \'all\''),
        ("mnist", {"classes": (3, 4)}, "the files of mnist hold no rows of classes 3 and 4"),
        ("mnist", {"classes": (7, 7)}, "two different class numbers"),
        ("mnist", {"classes": (7, 10)}, "two different class numbers"),
        ("mnist", {"classes": (1, 2, 3)}, "two different class numbers"),
        ("mnist", {"scale": "none"}, "scale must be"),
        ("mnist", {"dtype": np.int32}, "dtype must be float32 or float64, got int32"),
    ],
)
def test_bad_arguments_of_load_get_one_clear_sentence(mnist, name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, data_dir=mnist, **options)


# What the files hold: the number of rows of the two classes in the paper's choice, and the longest of the first 5,000.
HELD = {
    "mnist": (12_116, 28.0),
    "fashion-mnist": (12_000, 26.7567),
    "cifar-10": (10_000, 54.4377),
    "eurosat": (6_000, 77.9358),
}


@needs_data
@pytest.mark.parametrize("name", CLASSES)
def test_the_real_files_hold_the_published_rows(name):
    X, y = load(name, n=5000, dtype=np.float32)
    assert np.linalg.norm(X.astype(np.float64), axis=1).max() == pytest.approx(HELD[name][1], rel=1e-6)
    assert len(y) == 5000
    assert set(y) == set(CLASSES[name])
    with pytest.raises(ValueError, match=f"holds {HELD[name][0]} rows"):
        load(name, n=20_000, dtype=np.float32)
