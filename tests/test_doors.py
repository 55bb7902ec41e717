"""Whatever comes from elsewhere is checked once, before compiled code sees it: one sentence, nothing read astray."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import unicodedata
import warnings
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib import pyplot
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli.main import app
from separatrix.data import arrays, csv
from separatrix.data.files import labelled, read
from separatrix.reporting.table import Table, as_html, as_text

Y = [0, 1, 1]
SENTENCE = r"\A[^\n]+\.\Z"


def entries(**changed):
    """Three rows, one entry each, in CSR; some parts replaced behind SciPy's back."""
    return broken(sp.csr_array(np.eye(3)), **changed)


def broken(M, **changed):
    for name, value in changed.items():
        setattr(M, name, value)
    return M


def i32(*values):
    return np.array(values, dtype=np.int32)


BROKEN = {
    "pointers fall": (lambda: entries(indptr=i32(0, 5, 2, 3)), "indptr must not fall, got 5 to 2 at row 1"),
    "pointers fall below 0": (lambda: entries(indptr=i32(0, -1, 2, 3)), "must not fall, got 0 to -1 at row 0"),
    "pointers start late": (lambda: entries(indptr=i32(1, 1, 2, 3)), "indptr must start at 0, got 1"),
    "pointers end beyond": (lambda: entries(indptr=i32(0, 1, 2, 9)), "indptr ends at 9, but there are 3 entries"),
    "a pointer is missing": (lambda: entries(indptr=i32(0, 2, 3)), "indptr must be 4 whole numbers, got 3 of int32"),
    "pointers are no whole numbers": (lambda: entries(indptr=np.arange(4.0)), "4 whole numbers, got 4 of float64"),
    "a column beyond": (lambda: entries(indices=i32(0, 1, 7)), r"indices must lie in 0 … 2, got column 7"),
    "a column below": (lambda: entries(indices=i32(0, -1, 2)), r"got column -1"),
    "a column under a flag": (lambda: entries(indices=i32(0, 1, 7), has_canonical_format=True), "got column 7"),
    "a column is missing": (lambda: entries(indices=i32(0, 1)), "must be 3 whole numbers, one per entry, got 2"),
    "columns are no whole numbers": (lambda: entries(indices=np.arange(3.0)), "one per entry, got 3 of float64"),
    "an entry is missing": (lambda: entries(data=np.ones(2)), "indptr ends at 3, but there are 2 entries"),
    "entries in a table": (lambda: entries(data=np.ones((3, 1))), r"data must have 1 dimension, got shape \(3, 1\)"),
    "entries in a list": (lambda: entries(data=[1.0, 1.0, 1.0]), "data must have 1 dimension, got list"),
    "csc pointers fall": (lambda: broken(sp.csc_array(np.eye(3)), indptr=i32(0, 5, 2, 3)), "5 to 2 at column 1"),
    "a csc row beyond": (lambda: broken(sp.csc_array(np.eye(3)), indices=i32(0, 1, 3)), "in 0 … 2, got row 3"),
    "a coo row beyond": (lambda: broken(sp.coo_array(np.eye(3)), row=i32(0, 1, 3)), "row must lie in 0 … 2, got row 3"),
    "a coo row below": (lambda: broken(sp.coo_array(np.eye(3)), row=i32(0, 1, -1)), "in 0 … 2, got row -1"),
    "a coo column beyond": (lambda: broken(sp.coo_array(np.eye(3)), col=i32(0, 1, 10**6)), "got column 1000000"),
    "a coo row is missing": (lambda: broken(sp.coo_array(np.eye(3)), row=i32(0, 1)), "row must be 3 whole numbers"),
    "a coo entry is missing": (lambda: broken(sp.coo_array(np.eye(3)), data=np.ones(2)), "row must be 2 whole numbers"),
    "a bsr column beyond": (lambda: broken(sp.bsr_array(np.eye(3)), indices=i32(0, 1, 7)), "got column 7"),
    "bsr blocks do not fit": (lambda: broken(sp.bsr_array(np.eye(3)), data=np.ones((3, 2, 2))), r"blocks of \(2, 2\)"),
    "a dia offset too many": (lambda: broken(sp.dia_array(np.eye(3)), offsets=i32(0, 1)), "2 offsets, 1 rows"),
    "a lil column beyond": (lambda: lil(9), "got column 9"),
    "a lil column too many": (lambda: lil(0, 1), "rows and data differ in their lengths"),
    "a row of its own": (lambda: sp.coo_array(np.ones(3)), r"two dimensions \(rows, columns\), got shape \(3,\)"),
}


def lil(*columns):
    M = sp.lil_array(np.eye(3))
    M.rows[0] = list(columns)
    return M


FITTED = sx.LogisticGD().fit(np.eye(3), Y)
PROOF = sx.separate(np.eye(3), Y).proof
DOORS = {
    "solve": lambda M: sx.solve(M, Y),
    "separate": lambda M: sx.separate(M, Y),
    "max_margin": lambda M: sx.max_margin(M, Y),
    "diagnose": lambda M: sx.diagnose(M, Y),
    "verify": lambda M: sx.verify(PROOF, M, Y),
    "Problem": lambda M: sx.Problem(M, Y),
    "LogisticGD.fit": lambda M: sx.LogisticGD().fit(M, Y),
    "Perceptron.fit": lambda M: sx.Perceptron().fit(M, Y),
    "Perceptron.partial_fit": lambda M: sx.Perceptron().partial_fit(M, Y, classes=[0, 1]),
    "MaxMarginClassifier.fit": lambda M: sx.MaxMarginClassifier().fit(M, Y),
    "predict": FITTED.predict,
    "decision_function": FITTED.decision_function,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", BROKEN)
def test_a_sparse_matrix_whose_parts_do_not_belong_together_is_refused(door, case):
    make, sentence = BROKEN[case]
    with pytest.raises(ValueError, match=sentence) as told:
        DOORS[door](make())
    assert str(told.value).endswith(".") and "\n" not in str(told.value)


def repeated(dtype=np.float64, form=sp.csr_array):
    """Rows (0, 5), (5, 0), (0, 7), with entries twice, out of order, and explicit zeros."""
    data = np.array([2, 3, 0, 0, 4, 1, 7, 0], dtype=dtype)
    columns, starts = i32(1, 1, 0, 1, 0, 0, 1, 0), i32(0, 3, 6, 8)
    if form is sp.coo_array:
        return sp.coo_array((data, (np.repeat(np.arange(3), np.diff(starts)), columns)), shape=(3, 2))
    return sp.csr_array((data, columns, starts), shape=(3, 2))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_array])
def test_repeated_entries_are_added_up_and_unsorted_ones_sorted_in_a_copy(form, door):
    M, dense = repeated(form=form), np.array([[0.0, 5.0], [5.0, 0.0], [0.0, 7.0]])
    parts = {name: getattr(M, name) for name in ("data", "indices", "indptr", "row", "col") if name in dir(M)}
    before = {name: part.copy() for name, part in parts.items()}
    fitted, proof = sx.LogisticGD().fit(dense, Y), sx.separate(dense, Y).proof
    door = {"predict": fitted.predict, "decision_function": fitted.decision_function}.get(door, DOORS[door])
    if door is DOORS["verify"]:
        assert sx.verify(proof, M, Y)
    else:
        door(M)
    for name, part in parts.items():
        assert getattr(M, name) is part, name
        assert part.dtype == before[name].dtype and np.array_equal(part, before[name]), name


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64, np.uint16])
def test_repeated_entries_give_the_run_of_their_sums(dtype, form):
    sums = np.array([[0.0, 5.0], [5.0, 0.0], [0.0, 7.0]])
    run, same = (sx.solve(M, Y, max_iter=20, stop=None) for M in (repeated(dtype, form), sums))
    assert np.array_equal(run.theta, same.theta)


def test_room_behind_the_last_entry_is_left_alone():
    M = entries(data=np.array([1.0, 1.0, 1.0, np.nan]), indices=i32(0, 1, 2, 99))
    data = M.data
    assert sx.separate(M, Y).status == "separable"
    assert M.data is data and len(data) == 4
    assert np.array_equal(FITTED.predict(M), FITTED.predict(np.eye(3)))


def test_a_matrix_that_calls_itself_sorted_is_not_believed():
    M, sums = repeated(), np.array([[0.0, 5.0], [5.0, 0.0], [0.0, 7.0]])
    M.has_canonical_format = M.has_sorted_indices = True
    assert np.array_equal(sx.solve(M, Y, max_iter=20, stop=None).theta, sx.solve(sums, Y, max_iter=20, stop=None).theta)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("values", "dtype"),
    [((1e308, 1e308), np.float64), ((3e38, 3e38), np.float32), ((2**53, 2**53), np.int64), ((np.inf, -np.inf), float)],
)
@pytest.mark.parametrize("form", ["coo", "csr"])
def test_repeated_entries_whose_sum_is_no_number_are_refused(form, values, dtype, door):
    M = sp.coo_array((np.array([*values, 1, 1], dtype=dtype), ([0, 0, 1, 2], [0, 0, 1, 2])), shape=(3, 3))
    if form == "csr":
        M = sp.csr_array((M.data, i32(0, 0, 1, 2), i32(0, 2, 3, 4)), shape=(3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of SciPy's sum
        with pytest.raises(ValueError, match="add up to|contains (NaN|inf)|beyond 2"):
            DOORS[door](M)


def test_small_whole_numbers_add_up_without_turning_over():
    M = sp.coo_array((np.array([100, 100, 1, 1], dtype=np.int8), ([0, 0, 1, 2], [0, 0, 1, 2])), shape=(3, 3))
    dense = np.diag([200.0, 1.0, 1.0])
    assert np.array_equal(sx.solve(M, Y, max_iter=9).theta, sx.solve(dense, Y, max_iter=9).theta)
    assert np.array_equal(FITTED.decision_function(M), FITTED.decision_function(dense))


def test_more_columns_than_memory_has_room_for_are_refused():
    M = sp.csr_array((np.ones(3), np.array([0, 1, 10**12]), np.arange(4)), shape=(3, 10**12 + 1))
    with pytest.raises(ValueError, match="1,000,000,000,001 columns, and vectors of so many do not fit into memory"):
        sx.solve(M, Y)


# Checkpoints ---------------------------------------------------------------------------------------------------------

OVERLAP = np.random.default_rng(3).standard_normal((40, 4)), np.arange(40) % 2
NARROW = sx.planted(40, 4, margin=0.01, random_state=5)[:2]
WALKS = [  # every engine and every kind of state it saves
    *(("batch-perceptron", {"engine": engine}) for engine in ("dense", "lazy", "gram", "numpy")),
    *(("lr-gd", {"engine": engine, "step_size": 10.0}) for engine in ("dense", "lazy", "gram", "numpy")),
    ("normalized-lr-gd", {"engine": "dense", "step_size": 10.0, "arithmetic": "float32"}),
    ("normalized-lr-gd", {"engine": sx.Gram(dtype="float32"), "step_size": 10.0}),
    ("normalized-batch-perceptron", {"engine": sx.Gram(memory=40 * 8 * 3)}),
    *(("perceptron", {"engine": engine}) for engine in ("dense", "lazy", "gram", "numpy")),
    *(("perceptron", {"engine": engine, "order": "random"}) for engine in ("lazy", "gram")),
    *(("perceptron", {"engine": engine, "order": "most-wrong"}) for engine in ("lazy", "gram")),
    ("batch-perceptron", {"memory_limit": "8GB"}),
    ("lr-gd", {"memory_limit": "8GB", "step_size": 10.0}),
    ("perceptron", {"memory_limit": "8GB"}),
]
REALS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-310, 0.0, -1.0, 2.0**53)
WHOLES = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 39, 40, 64, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1)


def values_for(dtype):
    if dtype.kind == "f":
        return REALS
    if dtype == np.uint8:  # text
        return (0, ord('"'), 255)
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return [value for value in (*WHOLES, high) if low <= value <= high]


def mutations(arrays):
    """Of every array: other shapes, other types, and each entry in turn replaced."""
    for name, array in arrays.items():
        flat = array.reshape(-1)
        yield name, np.empty(0, array.dtype)
        yield name, np.append(flat, flat[:1] if len(flat) else np.zeros(1, array.dtype))
        yield name, array[None]
        yield name, flat[: len(flat) // 2]
        for kind in ("f4", "f8", ">f8", "i4", "i8", "u8", "u1", "?", "S3", "U2", "c16", "M8[s]"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield name, array.astype(kind)
        for place in range(len(flat)):
            for value in values_for(array.dtype):
                changed = flat.copy()
                with np.errstate(over="ignore"):
                    changed[place] = value
                yield name, changed.reshape(array.shape)


def rows_and_run(case, folder, data):
    method, options = WALKS[case]
    X, y = data
    if "memory_limit" in options:
        np.save(folder / "X.npy", X)
        X = folder / "X.npy"
    path = folder / "run.npz"

    def walk(**more):
        return sx.solve(X, y, method, **options, checkpoint=path, random_state=1, record=4, **more)

    return path, walk


def resumes_or_refuses(case, folder, data, count, seed):
    """Mutate a real checkpoint of this walk in about so many ways; how many were refused and how many went on."""
    path, walk = rows_and_run(case, folder, data)
    X, y = data
    walk(max_iter=10)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    rng, share = np.random.default_rng(seed), count / sum(1 for _ in mutations(arrays))
    refused = resumed = 0
    for name, array in mutations(arrays):
        if rng.random() >= share:
            continue
        np.savez(path, **(arrays | {name: array}))
        before = path.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # numbers near float64's end overflow on the way
                run = walk(max_iter=20)
        except sx.CheckpointError as error:
            sentence = str(error)
            assert sentence.endswith(".") and "\n" not in sentence, sentence
            assert path.read_bytes() == before, "a refused file is left as it was"
            refused += 1
        else:
            assert run.status in ("separated", "max-iter", "rounded"), (name, run.status)
            if run.separated:
                assert (np.where(y == 1, 1.0, -1.0) * (X @ run.theta)).min() > 0, (name, array)
            resumed += 1
    return refused, resumed


@pytest.mark.parametrize("case", range(len(WALKS)))
def test_a_checkpoint_with_any_number_replaced_is_refused_or_goes_on(case, tmp_path):
    refused, resumed = resumes_or_refuses(case, tmp_path, NARROW if case % 2 else OVERLAP, 25, case)
    assert refused > 0, resumed


@pytest.mark.long
@pytest.mark.parametrize("data", ["OVERLAP", "NARROW"])
@pytest.mark.parametrize("case", range(len(WALKS)))
def test_a_checkpoint_with_each_number_replaced_is_refused_or_goes_on(case, data, tmp_path):
    refused, resumed = resumes_or_refuses(case, tmp_path, {"OVERLAP": OVERLAP, "NARROW": NARROW}[data], 1_000, case)
    assert refused > 0 and resumed > 0


def npy(shape, dtype="<f8", body=b"", length=None):
    """An npy file whose header says so, whatever follows."""
    text = str({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + (len(text) if length is None else length).to_bytes(2, "little") + text + body


def pickled():
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return file.getvalue()


FORGED = {
    "a huge shape": lambda: npy((10**11,)),
    "a shape beyond int64": lambda: npy((2**62, 2**62)),
    "a negative shape": lambda: npy((-1, 5)),
    "objects": pickled,
    "a type of no kind": lambda: npy((5,), "<q77"),
    "a record": lambda: npy((5,), [("a", "<f8")], bytes(40)),
    "a header that ends too soon": lambda: npy((5,), length=60_000),
    "a header of nothing": lambda: b"\x93NUMPY\x01\x00\x00\x00",
    "a header of brackets": lambda: b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000,
    "no header": lambda: b"",
    "Fortran's order": lambda: npy((5, 8)).replace(b"False", b"True ") + bytes(320),
    "a later format": lambda: b"\x93NUMPY\x03\x00" + npy((5,))[8:],
}


@pytest.mark.parametrize("member", ["header", "phi", "t", "trace", "last", "seconds"])
@pytest.mark.parametrize("case", FORGED)
def test_a_checkpoint_with_a_forged_array_is_refused(case, member, tmp_path):
    path, walk = rows_and_run(0, tmp_path, OVERLAP)
    walk(max_iter=5)
    parts = members(path)
    with zipfile.ZipFile(path, "w") as file:
        for name, body in (parts | {f"{member}.npy": FORGED[case]()}).items():
            file.writestr(name, body)
    with pytest.raises(sx.CheckpointError, match=r"damaged or no checkpoint of ours \(.+\); it was left as it was"):
        walk(max_iter=9)


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_checkpoint_that_is_compressed_is_refused_unread(method, tmp_path):
    path, walk = rows_and_run(0, tmp_path, OVERLAP)
    walk(max_iter=5)
    parts = members(path)
    with zipfile.ZipFile(path, "w", method) as file:
        for name, body in parts.items():
            file.writestr(name, body)
    with pytest.raises(sx.CheckpointError, match="header is compressed, which ours are not"):
        walk(max_iter=9)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (b"[" * 60_000, "recursion|nested|Recursion"),
        (b"9" * 60_000, "."),
        (b"[1, 2]", "."),
        (b"{}", "seed"),
        (b'{"seed": -1}', "its seed is -1"),
        (b'{"seed": true}', "its seed is True"),
        (b'{"seed": "7"}', "its seed is '7'"),
        (b'"' + b"a" * 100_000 + b'"', "header must have shape .* at most"),
    ],
)
def test_a_checkpoint_with_a_forged_header_is_refused(text, seen, tmp_path):
    path, walk = rows_and_run(0, tmp_path, OVERLAP)
    walk(max_iter=5)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(path, **(arrays | {"header": np.frombuffer(text, dtype=np.uint8)}))
    with pytest.raises(sx.CheckpointError, match=f"damaged or no checkpoint of ours \\(.*({seen})"):
        walk(max_iter=9)


def test_a_checkpoint_with_an_array_too_few_or_too_many_is_refused(tmp_path):
    path, walk = rows_and_run(0, tmp_path, OVERLAP)
    walk(max_iter=5)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    for changed in (arrays | {"more": np.zeros(3)}, {name: a for name, a in arrays.items() if name != "step"}):
        np.savez(path, **changed)
        with pytest.raises(sx.CheckpointError, match="is missing, or one too many"):
            walk(max_iter=9)


# Data files ----------------------------------------------------------------------------------------------------------


def written(path, body):
    path.write_bytes(body)
    return path


ROWS = FORGED | {
    "10**11 rows": lambda: npy((10**11, 3)),
    "2**62 rows": lambda: npy((2**62, 2)),
    "2**62 columns": lambda: npy((3, 2**62)),
    "2**70 rows": lambda: npy((2**70, 2)),
    "a shape that turns over to 0": lambda: npy((3, 2**61)),
    "fewer than no rows": lambda: npy((-3, 2)),
    "fewer than no rows of no columns": lambda: npy((-1, 0)),
    "a shape of words": lambda: npy("xy"),
    "a shape of truths": lambda: npy((True, 2), body=bytes(16)),
    "a shape of fractions": lambda: npy((2.5, 2)),
    "no shape": lambda: npy((), body=bytes(8)),
    "half of the rows": lambda: npy((3, 2), body=bytes(24)),
    "huge entries": lambda: npy((3, 2), "|S2000000000"),
    "entries of no bytes": lambda: npy((10**11, 3), "|S0"),
    "dates": lambda: npy((3, 2), "<M8[s]", bytes(48)),
    "complex numbers": lambda: npy((3, 2), "<c16", bytes(96)),
    "a header of 2 GB": lambda: b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"{",
}


@pytest.mark.parametrize("case", ROWS)
def test_an_npy_file_that_is_not_what_its_header_says_is_refused(case, tmp_path):
    path = written(tmp_path / "X.npy", ROWS[case]())
    good = tmp_path / "good.npy"
    np.save(good, np.eye(3))
    for door in (
        lambda: sx.solve(path, Y),
        lambda: sx.solve(path, Y, memory_limit="1GB"),
        lambda: sx.solve(good, path),
        lambda: sx.solve(*labelled(path, target="0")[:2]),
        lambda: sx.solve(*read_arrays(good, path)),
    ):
        if case in ("dates", "Fortran's order") and door.__code__.co_names[-1] == "read_arrays":
            continue  # labels may be
        with pytest.raises(ValueError, match=SENTENCE):
            door()


def read_arrays(path, labels):
    held = read(path, labels=labels)
    return held.X, held.y


@pytest.mark.parametrize("case", ROWS)
def test_an_npz_file_whose_arrays_are_not_what_they_say_is_refused(case, tmp_path):
    for name in ("X.npy", "y.npy"):
        path = tmp_path / "data.npz"
        np.savez(path, X=np.eye(3), y=Y)
        parts = members(path) | {name: ROWS[case]()}
        with zipfile.ZipFile(path, "w") as file:
            for member, body in parts.items():
                file.writestr(member, body)
        if case in ("dates", "Fortran's order") and name == "y.npy":
            continue
        with pytest.raises(ValueError, match=SENTENCE):
            sx.solve(*labelled(path)[:2])


def swollen(total, chunk):
    """gzip of so many bytes."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        for _ in range(total // len(chunk)):
            file.write(chunk)
    return out.getvalue()


def test_what_unpacks_out_of_proportion_is_refused_after_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "PLENTY", 1 << 20)
    chunk = b"0,1\n" * (1 << 16)
    path = written(tmp_path / "a.csv.gz", swollen(1 << 25, chunk))
    with pytest.raises(ValueError, match="unpacks to far more than its .* bytes, or than memory holds; .* unpack it"):
        labelled(path, target="0")
    path = written(tmp_path / "a.svm.gz", swollen(1 << 25, b"1 1:1\n" * (1 << 16)))
    with pytest.raises(ValueError, match="unpacks to far more"):
        labelled(path)
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1 << 20, 2)), y=np.zeros(1 << 20))
    with pytest.raises(ValueError, match="X unpacks to far more"):
        labelled(tmp_path / "a.npz")


LIMITED = """
import resource, sys
import numpy
from separatrix.data.files import labelled
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    labelled(sys.argv[1], target=sys.argv[2] or None)
except ValueError as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, error)
"""


def memory_for(path, target=""):
    """MB that refusing this file takes, and the sentence."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), target], capture_output=True, text=True, check=True, timeout=600
    )
    megabytes, _, sentence = done.stdout.partition(" ")
    return int(megabytes), sentence


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_files_of_a_few_megabytes_that_unpack_to_six_gigabytes_take_one(tmp_path):
    path = written(tmp_path / "a.csv.gz", swollen(6 << 30, b"0,1\n" * (1 << 22)))
    used, sentence = memory_for(path, "0")
    assert "unpacks to far more" in sentence
    assert used < 100 * path.stat().st_size * 2 >> 20
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("X.npy", "w", force_zip64=True) as member:
            member.write(npy((6 << 27, 1)))
            for _ in range(6 << 6):
                member.write(bytes(1 << 24))
        file.writestr("y.npy", npy((2,), body=bytes(16)))
    used, sentence = memory_for(tmp_path / "a.npz")
    assert "X unpacks to far more" in sentence
    assert used < 50


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
@pytest.mark.parametrize(
    "body",
    [
        b"a,b,y\n" + b"1" * 100_000_000 + b",2,3\n1,2,3\n",
        b"1," * 50_000_000 + b"1\n1,2\n",
        b"x" * 100_000_000 + b",b,y\n1,2,3\n",
        b'a,b,y\n"' + b"x\n" * 50_000_000 + b",2,3\n",
    ],
    ids=["a long cell", "many cells", "a long name", "an open quote"],
)
def test_a_line_of_a_hundred_megabytes_is_refused_within_some_times_its_size(body, tmp_path):
    used, sentence = memory_for(written(tmp_path / "a.csv", body), "y")
    assert "bytes; check where its lines end" in sentence or "check the quotes" in sentence
    assert used < 800


def test_a_line_beyond_the_limit_is_refused_with_its_number(tmp_path):
    path = written(tmp_path / "a.csv", b"a,y\n1,0\n" + b"1" * (csv.LINE + 1) + b",1\n")
    with pytest.raises(ValueError, match=r"line 3 has more than 16,777,216 bytes; check where its lines end"):
        labelled(path, target="y")


def test_more_columns_than_text_is_read_with_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "COLUMNS", 3)
    with pytest.raises(ValueError, match="has 4 columns, text is read up to 3; save it as .npy or .npz"):
        labelled(written(tmp_path / "a.csv", b"1,2,3,4\n5,6,7,8\n"), target="0")


def test_text_with_zero_bytes_is_refused(tmp_path):
    with pytest.raises(ValueError, match="it holds zero bytes; save it as UTF-8 text"):
        labelled(written(tmp_path / "a.csv", b"a,y\n1,\0\n3,4\n"), target="y")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("-3:1", "Invalid index -3"),
        ("3:1 2:1", "should be sorted and unique"),
        ("2:1 2:1", "should be sorted and unique"),
        ("4294967297:1", "no svmlight file"),
        ("99999999999999999999:1", "no svmlight file"),
        ("1:x", "could not convert"),
        ("1:nan", "X contains NaN at row 0"),
        ("1:1e999", "X contains inf at row 0"),
        ("1", "no svmlight file"),
        ("1:1\0", "no svmlight file"),
    ],
)
def test_an_svmlight_file_with_entries_that_are_none_is_refused(entry, sentence, tmp_path):
    path = written(tmp_path / "a.svm", f"1 {entry}\n0 1:1\n".encode())
    with pytest.raises(ValueError, match=sentence):
        sx.solve(*labelled(path)[:2])


def test_an_svmlight_file_of_two_thousand_million_columns_is_refused_where_vectors_of_them_do_not_fit(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(arrays, "machine_memory", lambda: 64 << 30)
    path = written(tmp_path / "a.svm", b"1 2000000000:1\n0 1:1\n")
    with pytest.raises(ValueError, match="2,000,000,000 columns, and vectors of so many do not fit into memory"):
        sx.solve(*labelled(path)[:2])


# Names ---------------------------------------------------------------------------------------------------------------

WICKED = [
    "\x1b[31mred",
    "two\nlines",
    "back\rspace\b",
    "turned\u202eround",
    "<script>alert(1)</script>",
    "bell\x07\x9b1m",
    "\ud800",
    "z" * 10_000,
    "&amp;\u2028\u200b",
]


def is_tame(text):
    """Whether nothing in it moves a cursor or turns the writing, and lines are of a length."""
    raw = [c for c in text if c != "\n" and not c.isprintable() and unicodedata.category(c) != "Zs"]
    return not raw and max(map(len, text.split("\n"))) < 2_500


@pytest.mark.parametrize("name", WICKED, ids=range(len(WICKED)))
def test_names_of_data_are_text_wherever_they_are_shown(name):
    y = np.repeat([0, 1], 10)
    x = np.random.default_rng(0).standard_normal(20)
    frames = (
        ({name: x + 3 * y, "also": 2 * (x + 3 * y), "y": y}, "y"),
        ({"a": [f"{name}{k % 3}" for k in range(20)], "y": y}, "y"),
        ({"a": [name if k else "b" for k in y], name + "y": y}, name + "y"),
        ({"a": x, name: np.where(y == 1, name, "b")}, name),
        ({"a": x, name: [f"{name}{k % 3}" for k in range(20)]}, name),
        ({"a": x, "y": y, f"{name}2": np.repeat([name], 20)}, "y"),
    )
    for frame, target in frames:
        found = sx.diagnose(frame, target)
        assert is_tame(str(found)), str(found)
        page = found._repr_html_()
        assert is_tame(page.replace("<br>", "\n").replace("<tr>", "\n")) and "<script" not in page
        labels = [text.get_text() for text in found.plot().get_yticklabels()]
        assert is_tame("\n".join(labels))
        pyplot.close("all")
    short = name[:100]
    table = Table(short, (short, "b"), [(short, 1)], note=short)
    assert is_tame(as_html(table)) and "<script" not in as_html(table)
    assert is_tame(as_text(table))
    with pytest.raises(ValueError, match=SENTENCE) as told:
        sx.solve(np.eye(3), [name, "b", "c"])
    assert is_tame(str(told.value))
    with pytest.raises(ValueError, match=SENTENCE) as told:
        sx.diagnose({name: x, "y": y}, "z")
    assert is_tame(str(told.value))


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "turned\u202eround", "<b>bold</b>", "[red]red[/red]", "z" * 10_000], ids=range(5)
)
def test_names_of_data_are_text_on_the_command_line(name, tmp_path):
    path = written(tmp_path / "a.csv", f"{name},b,y\n1,2,no{name}\n2,3,no{name}\n3,3,yes\n4,5,yes\n".encode())
    for command in ("diagnose", "separate", "margin", "solve"):
        for target in ("y", "missing"):
            done = CliRunner().invoke(app, [command, str(path), "--target", target])
            assert is_tame(done.output), (command, done.output)
            assert done.exit_code in (0, 1, 2, 3), done.output
