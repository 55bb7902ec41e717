"""The explorer from Python and from the command line: what it shows of which data, and that data are never markup."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import webbrowser
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli import app
from separatrix.exploring.explorer import PAGE, PLACE, template
from separatrix.exploring.points import ENTRIES, MOST

TOP = Path(__file__).parent.parent
SOURCES = Path("src") / "separatrix" / "exploring" / "page"
BUILD = TOP / "scripts" / "build-explorer"
X = np.array([[0.1, 1.0], [1.0, 1 / 3], [2.0, -1e-300], [3.0, 1e300]])
Y = ["a", "a", "b", "b"]
HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\u2028\u2029\"'\x07"


class Scripts(HTMLParser):
    """The elements of a page, and the text of its scripts by their ids, as a browser reads them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self.id = [], {}, None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.id = dict(attributes).get("id") if tag == "script" else None

    def handle_data(self, data):
        if self.id:
            self.texts[self.id] = self.texts.get(self.id, "") + data


def given(page):
    return json.loads(Scripts(page.html).texts["given"])


def places(page):
    return np.array([[point["x"], point["y"]] for point in given(page)["points"]])


def test_the_page_that_is_committed_is_what_its_sources_give():
    if not BUILD.exists():
        pytest.skip("this is an installed copy: the sources of the page are in the repository")
    done = subprocess.run([sys.executable, str(BUILD), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_is_under_300_kb():
    assert PAGE.stat().st_size < 300_000


def test_the_page_names_nothing_elsewhere_and_its_policy_lets_it_ask_for_nothing():
    text = template()
    assert text.count(PLACE) == 1
    assert "default-src 'none'" in text
    assert "connect-src" not in text
    for tag, attribute in (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src")):
        for found in re.findall(rf"<{tag}\b[^>]*\b{attribute}=[\"']?([^\"'\s>]+)", text):
            assert found.startswith("data:"), found
    assert not re.search(r"@import|url\((?!['\"]?(data:|#))", text.split("<style>")[1].split("</style>")[0])


@pytest.fixture
def sources(tmp_path):
    """The builder, and the least that it can build."""
    page = tmp_path / SOURCES
    page.mkdir(parents=True)
    (tmp_path / "src" / "separatrix" / "exploring").mkdir(exist_ok=True)
    (tmp_path / "scripts").mkdir()
    shutil.copy(BUILD, tmp_path / "scripts")
    for name in ("arithmetic", "methods", "film", "exact", "bounds", "principal", "csv", "datasets", "worker"):
        (page / f"{name}.js").write_text(f"export const {name} = 1;\n")
    (page / "film.js").write_text('import {arithmetic} from "./arithmetic.js";\nexport const film = arithmetic + 1;\n')
    (page / "aside.js").write_text('export function aside() {\n  return "∞";\n}\n')
    (page / "main.js").write_text(
        'import { aside } from "./aside.js";\nimport { film } from "./film.js"; // used\naside(film);\n'
    )
    (page / "style.css").write_text("p { color: red; }\n")
    (page / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>t</title>\n<link rel="stylesheet" href="style.css">\n'
        f'{PLACE}\n<script type="module" src="main.js"></script>\n'
    )
    return page


def build(page, *words):
    script = page.parents[3] / "scripts" / "build-explorer"
    return subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True)


def test_the_builder_joins_modules_in_the_order_of_their_imports_and_notices_what_is_stale(sources):
    assert build(sources, "--check").returncode == 1
    assert build(sources).returncode == 0
    assert build(sources, "--check").returncode == 0
    made = (sources.parents[1] / "exploring" / "explorer.html").read_text("utf-8")
    texts = Scripts(made).texts
    assert list(texts) == ["given", "mathematics", "page"]
    assert texts["mathematics"].index("const arithmetic") < texts["mathematics"].index("const film = arithmetic + 1;")
    assert "import" not in texts["page"] and "export" not in texts["page"]
    assert texts["page"].index("function aside") < texts["page"].index("aside(film)")
    (sources / "style.css").write_text("p { color: blue; }\n")
    assert build(sources, "--check").returncode == 1
    assert (sources.parents[1] / "exploring" / "explorer.html").read_text("utf-8") == made
    assert not list(sources.parents[1].rglob(".*"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("aside", "export const film = 2;", "both define film"),
        ("aside", "export default 3;", "only functions, classes, const and let"),
        ("aside", 'import x from "./film.js";', "an import must be one line"),
        ("aside", 'import {\n  film,\n} from "./film.js";', "an import must be one line"),
        ("aside", 'import {other} from "./film.js";', "other, which film.js does not export"),
        ("aside", 'import {film} from "./film.js";\nimport {film} from "./film.js";', "film.js is imported twice"),
        ("aside", 'import {gone} from "./gone.js";', "gone.js, which is not there"),
        ("aside", 'const x = "</SCRIPT>";', "</script"),
        ("aside", 'const x = import("./film.js");', "import()"),
        ("film", 'import {aside} from "./aside.js";\nexport const film = 1;', "mathematics and may not import"),
        ("arithmetic", 'import {film} from "./film.js";\nexport const arithmetic = 1;', "in a circle"),
    ],
)
def test_the_builder_refuses_in_one_sentence_what_would_not_work(sources, name, text, said):
    (sources / f"{name}.js").write_text(text)
    done = build(sources)
    assert done.returncode == 1
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_two_columns_are_shown_as_they_are_to_the_last_bit():
    page = sx.explore(X, Y)
    assert np.array_equal(places(page), X)
    found = given(page)
    assert [point["label"] for point in found["points"]] == [-1, -1, 1, 1]
    assert found["names"] == {"x": "x0", "y": "x1", "minus": "a", "plus": "b"}
    assert (found["intercept"], found["title"], found["notes"]) == (True, "Your data", [])
    assert (page.n, page.columns, page.classes, page.notes) == (4, ("x0", "x1"), ("a", "b"), ())


@pytest.mark.parametrize(
    "rows",
    [
        X[:3].astype(np.float32),
        sparse.csr_array(X),
        X.tolist(),
        pd.DataFrame(X, columns=["x0", "x1"]),
        pl.DataFrame({"x0": X[:, 0], "x1": X[:, 1]}),
        sx.Problem(X, Y),
    ],
    ids=["float32", "sparse", "list", "pandas", "polars", "problem"],
)
def test_data_come_in_whatever_solve_takes(rows):
    if isinstance(rows, sx.Problem):
        assert np.array_equal(places(sx.explore(rows)), X)
    elif isinstance(rows, np.ndarray):
        assert np.array_equal(places(sx.explore(rows, Y[:3])), rows.astype(np.float64))
    else:
        assert np.array_equal(places(sx.explore(rows, Y)), X)


def test_labels_are_told_apart_as_everywhere_and_the_larger_is_plus():
    for labels, low, high in (
        ([1, 1, 0, 0], "0", "1"), ([2.0, 2.0, 7.5, 7.5], "2", "7.5"), ([True, False] * 2, "False", "True")
    ):  # fmt: skip
        names = given(sx.explore(X, labels))["names"]
        assert (names["minus"], names["plus"]) == (low, high)
        sign = [point["label"] for point in given(sx.explore(X, labels))["points"]]
        assert sign == [1 if one == max(labels) else -1 for one in labels]


FRAME = {"age": [61, 55, 47, 70, 66], "weight": [3.0, 2.5, 2.0, 4.0, 1.0], "ward": list("nisni"), "died": list("nyyyn")}


def test_of_more_columns_those_that_are_named_are_shown_and_the_page_says_so():
    page = sx.explore(FRAME, "died", columns=["weight", "age"])
    assert np.array_equal(places(page), np.column_stack([FRAME["weight"], FRAME["age"]]))
    assert (page.columns, page.classes) == (("weight", "age"), ("n", "y"))
    assert given(page)["notes"] == [f"{note[0].upper()}{note[1:]}" for note in page.notes]
    assert any(note.startswith("2 of 4 columns are shown") for note in page.notes)
    assert np.array_equal(places(sx.explore(FRAME, "died", columns=[1, "age"])), places(page))
    assert given(page)["of"] == given(sx.explore(FRAME, "died", fit_intercept=True))["of"] == 4
    assert "of" not in given(sx.explore(X, Y))


def test_a_column_of_text_is_taken_by_its_own_name_where_one_column_was_made_of_it(invoke, tmp_path):
    frame = {"age": FRAME["age"], "sex": list("fmffm"), "ward": list("nisni"), "y": FRAME["died"]}
    page = sx.explore(frame, "y", columns=["age", "sex"])
    assert page.columns == ("age", "sex[m] (vs f)")
    assert places(page)[:, 1].tolist() == [0, 1, 0, 0, 1]
    with pytest.raises(ValueError, match=r"2 columns were made of 'ward'; name one or two of them: ward\[n\] \(vs i\)"):
        sx.explore(frame, "y", columns=["age", "ward"])
    with pytest.raises(ValueError, match=r"columns must differ, got 'sex\[m\] \(vs f\)' twice"):
        sx.explore(frame, "y", columns=["sex", "sex[m] (vs f)"])
    pd.DataFrame(frame).to_csv(tmp_path / "cohort.csv", index=False)
    done = invoke("cohort.csv", "--target", "y", "--columns", "age,sex", "--no-open", "--json")
    assert json.loads(done.stdout)["columns"] == ["age", "sex[m] (vs f)"]


def test_a_column_like_an_identifier_is_shown_where_keep_names_it(invoke, tmp_path):
    codes = [f"p{k % 29:02d}" for k in range(30)]
    frame = {"age": [float(k * k % 31) for k in range(30)], "code": codes, "died": ["n", "y"] * 15}
    page = sx.explore(frame, "died")
    assert page.columns == ("age", "0") and "name it in keep= to use it" in page.notes[0]
    kept = sx.explore(frame, "died", keep=["code"])
    assert kept.columns == ("first principal direction", "second principal direction")
    pd.DataFrame(frame).to_csv(tmp_path / "cohort.csv", index=False)
    invoke("cohort.csv", "--target", "died", "--keep", "code", "--title", "cohort", "--out", "page.html", "--no-open")
    found = json.loads(Scripts((tmp_path / "page.html").read_text("utf-8")).texts["given"])
    assert found == {**given(kept), "title": "cohort"}
    with pytest.raises(ValueError, match=r"keep belongs to the Problem: .*Problem\(…, keep=…\)"):
        sx.explore(sx.Problem(X, Y), keep=["x0"])
    assert "--title speaks of data, and there are none" in invoke("--title", "cohort").stderr


def test_of_one_column_the_second_coordinate_is_zero_and_the_page_says_so():
    for page in (sx.explore(X[:, :1], Y), sx.explore(X, Y, columns=[0])):
        assert np.array_equal(places(page), np.column_stack([X[:, 0], np.zeros(4)]))
        assert page.columns == ("x0", "0")
        assert page.notes[-1] == "there is one column, x0; the second coordinate of every point is 0."


@pytest.mark.parametrize("shape", [(40, 5), (12, 30), (1200, 1100)])
def test_of_more_columns_the_first_two_principal_directions_are_shown_and_the_page_says_so(shape):
    rng = np.random.default_rng(shape[1])
    A = rng.standard_normal(shape) * np.geomspace(1, 1e6, shape[1]) + 3
    A[:, 1] = 2.0 * A[:, 0] + rng.standard_normal(shape[0]) * 0.1
    A[:, 2] = 7.0
    page = sx.explore(A, np.arange(shape[0]) % 2)
    B = np.delete(A, 2, axis=1)
    B = (B - B.mean(axis=0)) / B.std(axis=0)
    U, s, V = np.linalg.svd(B, full_matrices=False)
    scores = U[:, :2] * s[:2] * np.sign([v[np.abs(v).argmax()] for v in V[:2]])
    np.testing.assert_allclose(places(page), scores, atol=1e-4)
    assert page.columns == ("first principal direction", "second principal direction")
    share = round(100 * float((s[:2] ** 2).sum() / (s**2).sum()))
    (note,) = (note for note in page.notes if "principal" in note)
    assert f"first two principal directions of {shape[1]:,} columns" in note
    assert "1 that does not vary left out" in note and f": {share} % of the variance" in note
    assert np.array_equal(places(page), places(sx.explore(sparse.csr_array(A), np.arange(shape[0]) % 2)))


def test_columns_that_do_not_vary_leave_one_point():
    page = sx.explore(np.ones((4, 3)), Y)
    assert not places(page).any()


def test_of_very_many_rows_a_sample_of_both_classes_is_shown_and_the_page_says_so():
    rng = np.random.default_rng(0)
    A, labels = rng.standard_normal((3 * MOST, 2)), np.zeros(3 * MOST, dtype=int)
    labels[7] = 1
    page = sx.explore(A, labels)
    assert page.n == MOST + 1  # the one of its class is among them
    (note,) = page.notes
    assert note.startswith(f"{page.n:,} of {3 * MOST:,} rows are shown, drawn at random from both classes")
    shown = places(page)
    assert {tuple(row) for row in shown} <= {tuple(row) for row in A}
    assert np.array_equal(shown, places(sx.explore(A, labels)))
    assert sum(point["label"] > 0 for point in given(page)["points"]) == 1


def test_the_intercept_is_what_is_asked_or_what_the_data_say_and_else_there():
    assert given(sx.explore(X, Y, fit_intercept=False))["intercept"] is False
    assert given(sx.explore(FRAME, "died"))["intercept"] is True
    assert given(sx.explore(sx.Problem(X, Y)))["intercept"] is False
    assert given(sx.explore(sx.Problem(X, Y, fit_intercept=True)))["intercept"] is True
    pytest.importorskip("formulaic", reason="formulaic is in the extra [formula]")
    assert given(sx.explore("died ~ age + weight - 1", FRAME))["intercept"] is False
    assert given(sx.explore("died ~ age + weight", FRAME))["intercept"] is True


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sx.explore(y=Y), "X is missing"),
        (lambda: sx.explore([[0.0, np.nan], [1.0, 1.0]], [0, 1]), "X contains NaN at row 0"),
        (lambda: sx.explore([[0.0, np.inf], [1.0, 1.0]], [0, 1]), "X contains inf at row 0"),
        (lambda: sx.explore(X, [0, 1, 2, 0]), "y has 3 classes"),
        (lambda: sx.explore(X, [1, 1, 1, 1]), "y has 1 class"),
        (lambda: sx.explore(X, Y, columns=["x0", "x7"]), "there is no column 'x7'.*columns: x0, x1"),
        (lambda: sx.explore(X, Y, columns=[0, 2]), "columns are counted from 0 to 1, got 2"),
        (lambda: sx.explore(X, Y, columns=[0, -1]), "columns are counted from 0 to 1, got -1"),
        (lambda: sx.explore(X, Y, columns=["x0", 0]), "columns must differ, got 'x0' twice"),
        (lambda: sx.explore(X, Y, columns="x0"), "columns must name one or two columns, got 'x0'"),
        (lambda: sx.explore(X, Y, columns=[]), r"columns must name one or two columns, got \[\]"),
        (lambda: sx.explore(FRAME, "dead"), "dead"),
        (lambda: sx.explore(sx.Problem(X, Y, sample_weight=[1, 2, 3, 4])), "leave sample_weight out"),
        (lambda: sx.explore(sparse.csr_array((4, ENTRIES // 4 + 1)), Y), "too many .* name two in columns="),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_nothing_from_the_data_is_ever_markup():
    bare = Scripts(template())
    frame = {f"{HOSTILE}1": [0.0, 1.0], f"{HOSTILE}2": [1.0, 0.0], "y": [HOSTILE, f"{HOSTILE}!"]}
    page = sx.explore(frame, "y", title=HOSTILE)
    assert Scripts(page.html).tags == bare.tags
    shown = HOSTILE.replace("\x07", r"\x07").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")
    assert given(page)["names"] == {"x": f"{shown}1", "y": f"{shown}2", "minus": shown, "plus": f"{shown}!"}
    assert given(page)["title"] == shown
    framed = Scripts(page._repr_html_())
    assert framed.tags == ["iframe"]
    assert framed.texts == {}


def test_a_notebook_shows_the_whole_page_in_a_frame():
    page = sx.explore(X, Y)

    class Frame(HTMLParser):
        def handle_starttag(self, tag, attributes):
            self.attributes = dict(attributes)

    frame = Frame()
    frame.feed(page._repr_html_())
    assert frame.attributes["srcdoc"] == page.html
    assert int(frame.attributes["height"]) >= 600 and frame.attributes["title"]
    assert repr(page) == "Explorer(4 points, x0 and x1, classes a and b; .open() shows the page, .save(path) writes it)"
    assert repr(sx.explore()).startswith("Explorer(its own data sets; ")


def test_the_page_is_written_whole_under_another_name_first(tmp_path):
    page = sx.explore(X, Y)
    assert page.save(tmp_path / "a.html") == tmp_path / "a.html"
    assert page.save(str(tmp_path / "a.html")) == tmp_path / "a.html"
    assert (tmp_path / "a.html").read_bytes() == page.html.encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
    with pytest.raises(FileNotFoundError, match="cannot write the page to .*none/a.html: No such file"):
        page.save(tmp_path / "none" / "a.html")
    (tmp_path / "folder").mkdir()
    for folder in (".", tmp_path / "folder"):
        with pytest.raises(IsADirectoryError, match=r"^'(\.|.*folder)' is a folder; name a file\.$"):
            page.save(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "folder"]


def test_open_shows_a_file_that_is_the_readers_own_and_says_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []
    monkeypatch.setattr(webbrowser, "open", lambda url: seen.append(url) or True)
    path = sx.explore(X, Y).open()
    assert seen == [path.as_uri()]
    assert path.parent == tmp_path and path.read_text("utf-8") == sx.explore(X, Y).html
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    with pytest.raises(OSError, match=r"no web browser could be started; open .*\.html in one"):
        sx.explore().open()


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []
    monkeypatch.setattr(webbrowser, "open", lambda url: seen.append(url) or True)

    def run(*words, **options):
        done = CliRunner().invoke(app, ["explore", *map(str, words)], **options)
        done.seen = seen
        return done

    return run


TABLE = "a,b,c,y\n1,2,3,no\n2,1,1,no\n4,5,2,yes\n5,5,3,yes\n"


def test_the_command_opens_the_page_and_prints_where_it_is(invoke, tmp_path):
    done = invoke()
    path = Path(re.fullmatch(r"explorer: (.+)\n", done.stdout)[1])
    assert done.exit_code == 0 and done.seen == [path.as_uri()]
    assert path.parent == tmp_path and path.read_text("utf-8") == template()


def test_the_command_puts_the_data_into_the_page(invoke, tmp_path):
    (tmp_path / "data.csv").write_text(TABLE)
    done = invoke("data.csv", "--target", "y", "--columns", "c, a", "--out", "page.html", "--no-open", "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, done.seen, answer["path"], answer["opened"]) == (0, [], "page.html", False)
    assert (answer["points"], answer["columns"], answer["classes"]) == (4, ["c", "a"], ["no", "yes"])
    found = json.loads(Scripts((tmp_path / "page.html").read_text("utf-8")).texts["given"])
    assert [(point["x"], point["y"]) for point in found["points"]] == [(3, 1), (1, 2), (2, 4), (3, 5)]
    assert (found["title"], found["intercept"]) == ("data.csv", True)
    done = invoke("-", "--target", "y", "--no-intercept", "--out", "page.html", input=TABLE)
    assert done.stdout.splitlines()[0] == "explorer: page.html"
    assert "note: the plane shows the first two principal directions of 3 columns" in done.stdout
    found = json.loads(Scripts((tmp_path / "page.html").read_text("utf-8")).texts["given"])
    assert (found["title"], found["intercept"]) == ("standard input", False)


def test_without_a_browser_the_command_says_so_and_the_page_is_there(invoke, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    done = invoke("--out", "page.html")
    assert done.exit_code == 0
    assert done.stdout == "explorer: page.html\nno web browser could be started here; open that file in one.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.csv", "--target", "y"], "there is no file none.csv"),
        (["data.csv"], "needs --target"),
        (["data.csv", "--target", "z"], "z"),
        (["data.csv", "--target", "y", "--columns", "a,q"], "there is no column 'q'"),
        (["data.csv", "--target", "y", "--columns", "a,b,c"], "columns must name one or two columns"),
        (["data.csv", "--target", "c"], "y has 3 classes"),
        (["data.csv", "--target", "y", "--out", "none/page.html"], "--out is not there"),
        (["--target", "y"], "--target speaks of data, and there are none"),
    ],
)
def test_what_the_command_cannot_show_is_one_sentence_and_status_2(invoke, tmp_path, words, said):
    (tmp_path / "data.csv").write_text(TABLE)
    done = invoke(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("separatrix: ") and done.stderr.count("\n") == 1 and said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
