"""Files are read as their suffix says, the fast way and the long way alike, and refused in one sentence."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from separatrix.data import csv as text
from separatrix.data.csv import MISSING
from separatrix.data.files import Arrays, Table, labelled, read
from separatrix.reporting.hints import install


@pytest.fixture
def write(tmp_path):
    def put(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def columns(path, **options):
    table = read(path, **options)
    assert isinstance(table, Table)
    return {name: values.tolist() for name, values in table.columns.items()}


PLAIN = {"age": [61.5, 40.0], "ward": ["north", "icu"]}


@pytest.mark.parametrize(
    "content",
    [
        "age,ward\n61.5,north\n40,icu\n",
        "age,ward\n61.5,north\n40,icu",
        "age,ward\r\n61.5,north\r\n40,icu\r\n",
        "age,ward\r61.5,north\r40,icu\r",
        "\ufeffage,ward\n61.5,north\n40,icu\n",
        '"age","ward"\n"61.5","north"\n"40","icu"\n',
        '\ufeff"age","ward"\n61.5,north\n40,icu\n',
        "\n\nage,ward\n\n61.5,north\n   \n40,icu\n\n",
        " age , ward \n 61.5 , north \n40, icu\n",
        'age, "ward"\n61.5, "north"\n40, "icu"\n',
        "age;ward\n61.5;north\n40;icu\n",
        "age;ward\n61,5;north\n40;icu\n",
        "age\tward\n61.5\tnorth\n40\ticu\n",
        "age|ward\n61.5|north\n40|icu\n",
        "age,ward,\n61.5,north,\n40,icu,\n",
    ],
)
def test_the_ways_to_write_one_table_read_alike(write, content):
    for name in ("data.csv", "data.txt", "DATA.CSV"):
        assert columns(write(content, name)) == PLAIN
    assert columns(write(gzip.compress(content.encode(), mtime=0), "data.csv.gz")) == PLAIN


def test_tsv_means_tabs(write):
    assert columns(write("a;b\tc\n1;2\t3\n", "data.tsv")) == {"a;b": ["1;2"], "c": [3.0]}
    assert columns(write(gzip.compress(b"a\tb\n1\t2\n", mtime=0), "data.tsv.gz")) == {"a": [1.0], "b": [2.0]}


def test_quoted_cells_may_hold_delimiters_quotes_and_line_ends(write):
    path = write('name,note,x\n"Doe, Jane","said ""no""",1\n"a;b;c","two\nlines",2\n')
    assert columns(path) == {"name": ["Doe, Jane", "a;b;c"], "note": ['said "no"', "two\nlines"], "x": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("1,5;2,5\n3,0;4,1\n", ";"),
        ("1,a;b\n2,c;d\n", ","),
        ("1,Toy,a|b\n2,Heat,c|d\n", ","),
        ("a b,c\n1 2,3\n", ","),
        ("one\n1\n2\n", ","),
        ("a;b;c\n1,5;2;3\n", ";"),
        ("a,b,c\n1,2\n3,4,5\n", ","),
    ],
)
def test_the_delimiter_divides_the_first_lines_alike(content, delimiter):
    assert text._delimiter(content.encode(), text.DELIMITERS) == delimiter


# Headers.


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("a,b\n1,2\n", True),
        ("a,\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("5.1,setosa\n4.9,setosa\n", False),
        ("1,NA\n3,4\n", False),
        ("true,false\ntrue,true\n", False),
        ("1,5;x\n2,5;y\n", False),
        ("inf,x\n1,y\n", False),
    ],
)
def test_a_first_line_without_a_number_is_a_header(write, content, header):
    assert read(write(content)).header is header


def test_columns_without_a_header_are_numbered(write):
    assert columns(write("5.1,setosa\n4.9,virginica\n")) == {"c0": [5.1, 4.9], "c1": ["setosa", "virginica"]}
    assert columns(write("a,b\nc,d\n"), header=False) == {"c0": ["a", "c"], "c1": ["b", "d"]}


def test_a_header_of_numbers_can_be_declared(write):
    for content in ("2019,2020\n1,2\n", "\n \n2019,2020\n1,2\n"):
        assert columns(write(content), header=True) == {"2019": [1.0], "2020": [2.0]}


def test_a_column_without_a_name_is_numbered(write):
    assert columns(write(",a\n1,2\n3,4\n")) == {"c0": [1.0, 3.0], "a": [2.0, 4.0]}


# Columns.


@pytest.mark.parametrize("mark", sorted(MISSING))
def test_each_mark_of_a_missing_cell_is_missing(write, mark):
    path = write(f"n,t,b\n1,x,true\n{mark},{mark},{mark}\n")
    held = read(path).columns
    assert np.isnan(held["n"][1]) and held["n"].dtype == np.float64
    assert held["t"].tolist() == ["x", None]
    assert held["b"].tolist() == [True, None]
    assert all(label is None or type(label) is bool for label in held["b"])


@pytest.mark.parametrize("cell", ["0x10", "1_000", "10 00", "١٢", "1,5", "--1", "1e", "abc", "1.2.3", "12%"])
def test_what_only_looks_like_a_number_is_text(write, cell):
    assert columns(write(f'x,y\n1,2\n"{cell}",3\n'))["x"] == ["1", cell]


@pytest.mark.parametrize("cell", ["1e5", "-1E-5", "+3", ".5", "5.", "inf", "-Infinity", "1e400", "007", " 1 "])
def test_numbers_are_those_of_float(write, cell):
    assert columns(write(f"x,y\n1,2\n{cell},3\n"))["x"] == [1.0, float(cell)]
    assert columns(write(f"x,y\n1,t\n{cell},u\n"))["x"] == [1.0, float(cell)]


def test_true_and_false_in_any_case_are_booleans(write):
    held = read(write("b,c\ntrue,1\nFALSE,2\nTrue,3\n")).columns["b"]
    assert held.tolist() == [True, False, True] and held.dtype == bool


def test_decimal_commas_must_fit_every_cell(write):
    path = write("a;b;c;d\n1,5;1,5;1.00,5;1,5\n2;1.5;2;NA\n-3,25;2;3;.\n")
    held = columns(path)
    assert held["a"] == [1.5, 2.0, -3.25]
    assert held["b"] == ["1,5", "1.5", "2"]
    assert held["c"] == ["1.00,5", "2", "3"]
    assert held["d"][0] == 1.5 and np.isnan(held["d"][1:]).all()


def test_a_column_of_nothing_is_all_missing(write):
    assert np.isnan(read(write("a,b\n1,\n2,\n")).columns["b"]).all()


@pytest.mark.parametrize("more", ["", ",t"])
def test_whole_numbers_that_float64_cannot_hold_are_refused(write, more):
    assert columns(write(f"1,{2**53}{more}\n2,-{2**53}{more}\n"))["c1"] == [2.0**53, -(2.0**53)]
    assert columns(write(f"1,1e300{more}\n"))["c1"] == [1e300]
    with pytest.raises(ValueError, match=r"column 'c1': the whole number -9007199254740993 is beyond 2\*\*53"):
        read(write(f"1,2{more}\n1,-{2**53 + 1}{more}\n"))


CELLS = ["1", "-2.5", "+3e2", ".5", "5.", " 7 ", "nan", "NaN", "NAN", "inf", "-inf", "0.1", "1e-320", "\t8"]


def test_the_fast_way_and_the_long_way_read_alike(write, monkeypatch):
    rng = np.random.default_rng(0)
    body = "\r\n".join(",".join(rng.choice(CELLS, 5)) for _ in range(200))
    numbers = "\n".join(",".join(map(repr, row)) for row in rng.standard_normal((200, 5)).tolist())
    for content in (
        body,
        "a,b,c,d,e\r\n\r\n" + body,
        '\ufeff"a","b\nb","c","d",e\n' + numbers,
        numbers + "\n\n",
        "1\n2\n",
    ):
        path = write(content)
        fast = read(path)
        monkeypatch.setattr(text, "_all_numbers", lambda *_: None)
        slow = read(path)
        monkeypatch.undo()
        assert list(fast.columns) == list(slow.columns) and fast.header == slow.header
        for name, values in fast.columns.items():
            assert values.dtype == slow.columns[name].dtype == np.float64
            assert np.array_equal(values, slow.columns[name], equal_nan=True)


def test_files_of_numbers_go_the_fast_way(write, monkeypatch):
    monkeypatch.setattr(text, "_column", lambda *_: pytest.fail("the long way"))
    assert columns(write("a,b\n1,2\n3,4\n")) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}


def test_ten_thousand_columns_are_read(write):
    numbers = ",".join(map(str, range(10_000)))
    assert len(read(write(f"{numbers}\n{numbers}\n")).columns) == 10_000
    X, y, names = labelled(write(f"{numbers},a\n{numbers},b\n"), target="-1")
    assert X.shape == (2, 10_000) and y.tolist() == ["a", "b"] and names[-1] == "c9999"


# Refusals.


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.csv", "a.csv is empty"),
        (b"\n \n\n", "a.csv", "a.csv has only blank lines"),
        (gzip.compress(b"", mtime=0), "a.csv.gz", "a.csv.gz has only blank lines"),
        (b"a,b\n", "a.csv", "has a header but no rows"),
        (b"a\0b\n", "a.csv", "is no UTF-8 text, it holds zero bytes"),
        ("a,b\n1,2\n".encode("utf-16"), "a.csv", "is UTF-16 text, not UTF-8 text"),
        ("a,caf\xe9\n1,2\n".encode("latin-1"), "a.csv", "is no UTF-8 text .byte 0xe9 at position 5"),
        (b"not gzip", "a.csv.gz", "is no whole gzip file"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "a.csv.gz", "is no whole gzip file"),
        (b"a,b\n1,2\n\n1,2,3\n", "a.csv", "a.csv, line 4: 3 cells where the first line has 2"),
        (b"1,2\n3\n", "a.csv", "a.csv, line 2: 1 cells where the first line has 2"),
        (b'a,b\n"x\ny",2\nz\n', "a.csv", "a.csv, line 4: 1 cells"),
        (b'a,b\n1,"2\n3,4\n', "a.csv", "a.csv, line 3: unexpected end of data; check the quotes"),
        (b'a,b\n1,"2"3\n', "a.csv", "a.csv, line 2: .* expected after .*; check the quotes"),
        (b"a,b,a\n1,2,3\n", "a.csv", "more than one column named a; rename them, or pass header=False"),
        (b"PK\x03\x04 and so on", "a.xlsx", "a.xlsx is of no known kind; save it as one of .csv"),
        (b"\x00\x01", "a", "is of no known kind"),
        (b"PAR1 and so on", "a.bin", "is of no known kind"),
        (b"1,2\n", "a.npy", "a.npy is no .npy file of numbers"),
        (b"1,2\n", "a.gz", "a.gz is no whole gzip file"),
        (b"1,2\n", "a.parquet", "is no whole Parquet file"),
        (b"1,2\n", "a.npz", "is no npz file"),
        (b"PK\x03\x04 and so on", "a.npz", "is no npz file"),
        (b"1 1:x\n", "a.svm", "is no svmlight file"),
        (b"hello world\n", "a.libsvm", "is no svmlight file"),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_clear_sentence(write, content, name, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(write(content, name))
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file .*nowhere.csv; check the path"):
        read(tmp_path / "nowhere.csv")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder; name a file in it"):
        read(tmp_path)


# Labelled rows.

WARDS = "age,ward,died\n61,north,1\n40,icu,1\n33,north,0\n58,icu,1\n"


def test_a_table_becomes_rows_labels_and_names(write):
    X, y, names = labelled(write(WARDS), target="died")
    assert X.tolist() == [[61, 0], [40, 1], [33, 0], [58, 1]]
    assert y.tolist() == [1, 1, 0, 1]
    assert names == ("age", "ward[icu] (vs north)")


def test_rows_with_missing_cells_are_refused_or_dropped(write):
    path = write(WARDS + "NA,icu,0\n")
    with pytest.raises(ValueError, match=r"missing values: age 1 \(of 5 rows\)"):
        labelled(path, target="died")
    assert labelled(path, target="died", missing="drop")[0].shape == (4, 2)


def test_infinity_in_a_file_is_refused_by_its_row(write):
    with pytest.raises(ValueError, match="column 'c0' has inf at row 1"):
        labelled(write("1,0\ninf,1\n"), target="c1")


@pytest.mark.parametrize("target", ["c2", "2", "-1"])
def test_without_a_header_the_target_may_be_a_number(write, target):
    X, y, names = labelled(write("1,2,a\n3,4,b\n"), target=target)
    assert X.tolist() == [[1, 2], [3, 4]] and y.tolist() == ["a", "b"] and names == ("c0", "c1")


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (WARDS, None, "needs --target, the column of the labels; columns: age, ward, died"),
        (WARDS, "dead", r"no column 'dead' \(did you mean 'died'"),
        (WARDS, "2", "no column '2'; columns: age, ward, died"),
        ("1,2\n3,4\n", "5", "no column '5': its first line was read as data, so columns are c0, c1; pass header=True"),
        ("id,2020\n3,4\n", "id", "no column 'id': its first line was read as data"),
    ],
)
def test_a_target_that_is_not_there_gets_one_clear_sentence(write, content, target, message):
    with pytest.raises(ValueError, match=message):
        labelled(write(content), target=target)


# Parquet.


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "wards[1].parquet"
    frame = pl.DataFrame(
        {
            "age": [61, 40, None, 58],
            "ward": pl.Series(["north", "icu", "north", "icu"], dtype=pl.Categorical),
            "grade": pl.Series(["low", "mid", "mid", "low"], dtype=pl.Enum(["mid", "low"])),
            "died": [True, True, False, False],
        }
    )
    frame.write_parquet(path)
    return path


def test_parquet_is_a_table_with_levels_as_text(parquet):
    table = read(parquet)
    assert table.header and list(table.columns) == ["age", "ward", "grade", "died"]
    X, y, names = labelled(parquet, target="died", missing="drop")
    assert names == ("age", "ward[north] (vs icu)", "grade[mid] (vs low)")
    assert X.tolist() == [[61, 1, 0], [40, 0, 1], [58, 0, 0]]
    assert y.tolist() == [True, True, False]


def test_parquet_falls_back_on_pandas(parquet, monkeypatch):
    frame = pl.read_parquet(parquet.read_bytes())
    held = pd.DataFrame({name: frame[name].to_list() for name in frame.columns}).astype({"ward": "category"})
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setattr(pd, "read_parquet", lambda _: held)
    assert labelled(parquet, target="died", missing="drop")[0][:, 0].tolist() == [61, 40, 58]


def test_parquet_without_a_reader_says_what_to_install(parquet, monkeypatch):
    for name in ("polars", "pyarrow.parquet", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=re.escape(install("frames"))):
        read(parquet)


# Arrays.

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -3.0]])
Y = np.array([1, -1, 1])


def test_npz_holds_rows_and_labels(tmp_path):
    np.savez(tmp_path / "a.npz", X=X.astype(np.float32), y=Y, other=-Y)
    held = read(tmp_path / "a.npz")
    assert isinstance(held, Arrays)
    assert np.array_equal(held.X, X) and held.X.dtype == np.float32
    assert held.y.tolist() == Y.tolist()
    assert labelled(tmp_path / "a.npz", target="other")[1].tolist() == (-Y).tolist()
    assert labelled(tmp_path / "a.npz")[2] is None


def parts(A, **more):
    return {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape, "y": Y} | more


def test_npz_may_hold_the_parts_of_a_csr_matrix(tmp_path):
    np.savez(tmp_path / "a.npz", **parts(sparse.csr_array(X)))
    rows, y, names = labelled(tmp_path / "a.npz")
    assert sparse.issparse(rows) and rows.format == "csr"
    assert np.array_equal(rows.toarray(), X) and y.tolist() == Y.tolist() and names is None
    np.savez(tmp_path / "b.npz", **parts(sparse.csr_array(X), format=b"csr"))
    assert np.array_equal(read(tmp_path / "b.npz").X.toarray(), X)


@pytest.mark.parametrize(
    ("arrays", "target", "message"),
    [
        ({"X": X}, None, "has no array 'y' for the labels; arrays: X"),
        ({"X": X, "y": Y}, "z", "has no array 'z' for the labels; arrays: X, y"),
        ({"A": X, "y": Y}, None, "has no array 'X', nor data, indices, indptr, shape of a CSR matrix; arrays: A, y"),
        ({"X": X, "y": np.array(["a", None, "b"], dtype=object)}, None, "holds objects, which are not read"),
        (parts(sparse.csc_array(X), format=b"csc"), None, "format b'csc'; save the parts of X.tocsr"),
        (parts(sparse.csr_array(X), indices=np.array([0, 1, 99])), None, "holds no whole CSR matrix"),
        (parts(sparse.csr_array(X), indptr=np.array([0, 1, 9, 3])), None, "holds no whole CSR matrix"),
        (parts(sparse.csr_array(X), indptr=np.array([0, 1])), None, "holds no whole CSR matrix"),
        (parts(sparse.csr_array(X), shape=np.array(3)), None, "holds no whole CSR matrix"),
    ],
    ids=["no y", "no target", "no X", "objects", "csc", "index", "order", "short", "shape"],
)
def test_an_npz_file_that_does_not_serve_gets_one_clear_sentence(tmp_path, arrays, target, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a.npz", target=target)


@pytest.mark.parametrize("place", [0, 4, 8, 180])  # mark, version, compression; values of X, guarded by a checksum
def test_a_torn_npz_file_gets_one_clear_sentence(tmp_path, place):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    raw = bytearray((tmp_path / "a.npz").read_bytes())
    raw[place] ^= 255
    if place in (4, 8):
        raw[raw.index(b"PK\x01\x02") + place + 2] ^= 255  # the same field of the directory
    (tmp_path / "a.npz").write_bytes(raw)
    with pytest.raises(ValueError, match="is no whole npz file"):
        read(tmp_path / "a.npz")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_nothing_is_unpickled(tmp_path):
    (tmp_path / "a.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match="is no npz file"):
        read(tmp_path / "a.npz")
    trap = np.empty(1, dtype=object)
    trap[0] = Trap()
    np.savez(tmp_path / "b.npz", X=trap, y=Y)
    with pytest.raises(ValueError, match="holds objects"):
        read(tmp_path / "b.npz")


@pytest.mark.parametrize("suffix", [".svm", ".svmlight", ".libsvm"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_counts_from_zero_or_one(tmp_path, suffix, zero_based):
    path = tmp_path / f"a{suffix}"
    dump_svmlight_file(X, Y, str(path), zero_based=zero_based)
    rows, y, names = labelled(path)
    assert rows.format == "csr" and np.array_equal(rows.toarray(), X)
    assert y.tolist() == Y.tolist() and names is None


def test_svmlight_takes_no_target(write):
    with pytest.raises(ValueError, match="labels at the start of each line; leave out target='y'"):
        labelled(write("1 1:2\n", "a.svm"), target="y")


# Standard input, and files without a telling suffix.


@pytest.fixture
def pipe(monkeypatch):
    def put(raw):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return put


def saved(save, *arrays, **named):
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
PIPED = {
    "text": b"c0,c1,y\n1,2,0\n3,4,1\n",
    "gzip": gzip.compress(b"c0,c1,y\n1,2,0\n3,4,1\n", mtime=0),
    "npz": saved(np.savez, X=ROWS, y=[0, 1]),
    "svmlight": b"# made by hand\n0 1:1 2:2\n1 1:3 2:4\n",
}


@pytest.mark.parametrize("kind", PIPED)
def test_standard_input_is_told_by_its_first_bytes(pipe, kind):
    pipe(PIPED[kind])
    X, y, _ = labelled("-", target="y" if kind in ("text", "gzip") else None)
    np.testing.assert_array_equal(X.toarray() if kind == "svmlight" else X, ROWS)
    assert y.tolist() == [0, 1]


def test_parquet_comes_through_standard_input(pipe, parquet):
    pipe(parquet.read_bytes())
    assert (
        labelled("-", target="died", missing="drop")[0].tolist()
        == labelled(parquet, target="died", missing="drop")[0].tolist()
    )


@pytest.mark.parametrize(
    ("raw", "message"),
    [(b"", "standard input is empty"), (b"a,b\n", "standard input has a header but no rows"), (b"\0", "zero bytes")],
)
def test_standard_input_that_cannot_be_read_is_named_so(pipe, raw, message):
    pipe(raw)
    with pytest.raises(ValueError, match=message):
        labelled("-", target="y")


@pytest.mark.parametrize("name", ["iris.data", "rows", "rows.dat"])
def test_text_with_another_suffix_is_read_as_text(write, name):
    assert labelled(write(PIPED["text"], name), target="y")[0].tolist() == ROWS.tolist()


@pytest.mark.parametrize(("target", "X", "y"), [("-1", [[1.0], [3.0]], [2.0, 4.0]), ("0", [[2.0], [4.0]], [1.0, 3.0])])
def test_a_column_of_an_npy_file_may_be_the_labels(write, target, X, y):
    held = labelled(write(saved(np.save, ROWS), "a.npy"), target=target)
    assert (held[0].tolist(), held[1].tolist()) == (X, y)


@pytest.mark.parametrize(
    ("target", "message"), [(None, "holds rows alone"), ("2", "from 0 to 1, .* got '2'"), ("y", "got 'y'")]
)
def test_an_npy_file_without_labels_says_what_it_needs(write, target, message):
    with pytest.raises(ValueError, match=message):
        labelled(write(saved(np.save, ROWS), "a.npy"), target=target)
    with pytest.raises(ValueError, match="must have two dimensions"):
        labelled(write(saved(np.save, ROWS[0]), "a.npy"), target="0")


def test_an_npy_file_of_objects_is_refused(write):
    raw = saved(np.save, np.array([[1, "a"]], dtype=object))
    with pytest.raises(ValueError, match="it holds objects"):
        labelled(write(raw, "a.npy"), target="0")


def test_rows_and_labels_in_two_files_are_read_together(write):
    held = read(write(saved(np.save, ROWS), "a.npy"), labels=write(saved(np.save, np.array([0, 1])), "y.npy"))
    assert isinstance(held, Arrays)
    assert held.y.tolist() == [0, 1]
    with pytest.raises(ValueError, match="a file of labels goes with rows in an .npy file"):
        read(write(PIPED["text"]), labels="y.npy")


@pytest.mark.parametrize(("name", "content"), [("a.npz.gz", PIPED["npz"]), ("a.svm.gz", PIPED["svmlight"])])
def test_every_kind_may_be_packed_by_gzip(write, name, content):
    X, y, _ = labelled(write(gzip.compress(content, mtime=0), name))
    assert (X.toarray() if name == "a.svm.gz" else X).tolist() == ROWS.tolist()
    assert y.tolist() == [0, 1]
    with pytest.raises(ValueError, match="is no whole gzip file"):
        labelled(write(content, name))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_is_a_file_like_others(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(PIPED["text"],))
    writer.start()
    assert labelled(pipe, target="y")[0].tolist() == ROWS.tolist()
    writer.join()


def test_closed_standard_input_is_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="standard input is closed"):
        read("-")


@pytest.mark.parametrize("content", [" 1.0  2.0 0\n 3.0  4.0 1\n", "1 2 0  \n\n3   4 1\n"])
def test_blanks_divide_cells_where_nothing_else_does(write, content):
    X, y, _ = labelled(write(content, "a.txt"), target="-1")
    assert (X.tolist(), y.tolist()) == (ROWS.tolist(), [0, 1])


def test_blanks_within_cells_divide_nothing(write):
    assert columns(write("full name\nAnna B\nCarl von D\n")) == {"full name": ["Anna B", "Carl von D"]}
    assert columns(write("a b;c d\n1;2\n")) == {"a b": [1.0], "c d": [2.0]}


def test_what_numpy_writes_as_text_is_read(write, tmp_path):
    np.savetxt(tmp_path / "s.txt", np.c_[ROWS, [0, 1]])
    X, y, _ = labelled(tmp_path / "s.txt", target="-1")
    assert (X.tolist(), y.tolist()) == (ROWS.tolist(), [0, 1])


@pytest.mark.parametrize(
    ("labels", "target", "message"),
    [("y.npy", "0", "name one of the two"), ("-", None, "labels cannot come from standard input")],
)
def test_labels_come_from_one_place(write, labels, target, message):
    path = write(saved(np.save, ROWS), "a.npy")
    for reader in (read, labelled):
        with pytest.raises(ValueError, match=message):
            reader(path, labels=labels, target=target)


def test_a_long_line_of_svmlight_is_known_by_its_start(write):
    line = "1 " + " ".join(f"{j}:1" for j in range(1, 30_000))
    assert labelled(write(f"{line}\n{line.replace('1', '0', 1)}\n", "a.data"))[0].shape == (2, 29_999)


@pytest.mark.parametrize(
    ("cell", "other"), [("1,000", "2"), ("12,345,678.5", "1"), ("1.000,50", "2"), ("1 000", "7"), ("-1,000", "NA")]
)
def test_thousands_separators_are_refused_and_not_taken_for_levels(write, cell, other):
    path = write(f"pay\ty\n{cell}\t0\n{other}\t1\n", "pay.tsv")
    with pytest.raises(ValueError, match="looks like a number with thousands separators; remove them"):
        read(path)


def test_text_that_only_begins_like_a_number_is_text(write):
    assert columns(write("code\ty\n1,000 a\t0\n2,000\t1\n"))["code"] == ["1,000 a", "2,000"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 and so on", "is a zip archive or a spreadsheet, not UTF-8 text; export it as CSV"),
        ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 text, not UTF-8 text; save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00", "holds zero bytes"),
    ],
)
def test_what_is_no_table_is_called_by_its_name(write, content, message):
    with pytest.raises(ValueError, match=message):
        read(write(content))


def test_svmlight_in_a_text_file_is_known(write):
    assert labelled(write("1 1:2 3:4\n0 1:1 2:1\n", "a.txt"))[0].shape == (2, 3)
