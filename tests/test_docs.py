"""The documentation: gallery scripts run, every public name has a page, every page is reachable, drawings are true."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import separatrix

pytest.importorskip("matplotlib", reason="the gallery draws; matplotlib is in the extra [lab]")

TOP = Path(__file__).parent.parent
DOCS = TOP / "docs"
SCRIPTS = sorted((TOP / "examples").glob("plot_*.py"))
MADE = ("drawn", "gallery", "generated", "_ext", "_templates", "_static")  # by the build, or no pages
PAGES = sorted(
    page for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")] if not set(MADE) & set(page.relative_to(DOCS).parts)
)

NUMBER = r"(?<![\w.-])\d[\d,.]{1,}\d(?![\w-])"  # of three signs or more


def prose(script: Path) -> str:
    """The docstring and the text cells of a gallery script."""
    text = script.read_text(encoding="utf-8")
    cells = re.findall(r"^# %%\n((?:#.*\n)+)", text, re.MULTILINE)
    return "\n".join([text.split('"""')[1], *cells])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_gallery_scripts_run_and_their_prose_has_the_numbers_they_print(script, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(script))
        assert plt.get_fignums(), "a page of the gallery has a picture"
    finally:
        plt.close("all")
    text = script.read_text(encoding="utf-8").split('"""', 2)[2]  # what follows the docstring
    code = "".join(line for line in text.splitlines(True) if line[0] != "#")
    known = set(re.findall(r"\d[\d,.]*\d", out.getvalue() + code.replace("_", ",")))  # 450MB too
    for number in re.findall(NUMBER, prose(script)):
        assert number in known, f"{number} is said on the page and not printed"


def test_every_public_name_is_on_the_reference_page():
    text = (DOCS / "reference" / "index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([\w.]+)$", text, re.MULTILINE)
    wanted = {*separatrix.__all__, "plot.compare", "plot.plane", "datasets.load", "datasets.available"}
    assert wanted <= set(listed)
    assert len(listed) == len(set(listed))


def test_files_of_the_package_that_a_page_names_are_there():
    package = Path(separatrix.__file__).parent
    named = {name for page in PAGES for name in re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))}
    assert {"deciding/newton.py", "deciding/kind.py"} <= named
    homes = package, DOCS.parent
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


def test_links_have_words_where_pages_are_read_as_they_are():
    assert not [page.name for page in PAGES if "[](" in page.read_text(encoding="utf-8")]


def test_every_page_is_in_one_table_of_contents():
    found = {DOCS / "index"}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        blocks += re.findall(r"^\.\. toctree::\n((?:(?:   .*)?\n)+)", text, re.MULTILINE)
        for line in "\n".join(blocks).splitlines():
            if line.strip() and not line.strip().startswith(":"):
                target = (page.parent / line.strip()).resolve()
                assert target not in found, f"{target.name} is in two tables of contents"
                found.add(target)
    assert {page.with_suffix("").resolve() for page in PAGES} <= {path.resolve() for path in found}


def test_the_drawing_has_every_room_and_an_arrow_for_each_import_that_does_not_follow(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    rooms = import_module("rooms")
    graph = rooms.graph()
    text = rooms.drawing(graph, rooms.graph("LATER"))
    assert re.findall(r"middle\">([\w/.]+)</text>", text) == [rooms.name_of(room) for room in graph]
    arrows = sum(map(len, rooms.reduced(graph).values())) + sum(map(len, rooms.graph("LATER").values()))
    assert len(graph) < arrows == text.count("marker-end")
    assert all(rooms.path_of(room).exists() and rooms.duty(room) for room in graph)


DRAWN = [
    (page, text.count("\n", 0, found.start()) + 1, found[1])
    for page in PAGES
    for text in [page.read_text(encoding="utf-8")]
    for found in re.finditer(r"^```\{drawn\} (.+)$", text, re.MULTILINE)
]


@pytest.mark.filterwarnings("ignore::UserWarning:distributed", "ignore::ResourceWarning")  # Dask's own
@pytest.mark.parametrize(("page", "line", "call"), DRAWN, ids=lambda one: getattr(one, "stem", None))
def test_the_pictures_of_a_page_are_drawn_by_its_own_code(page, line, call, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.syspath_prepend(DOCS / "_ext")
    drawn = import_module("drawn")
    plt.switch_backend("agg")
    made = drawn.draw(drawn.block_above(page.read_text(encoding="utf-8"), line), call, tmp_path / "picture")
    assert made.read_bytes()[:5] in (b"<?xml", b"GIF89"), made


def test_a_call_that_draws_nothing_is_no_picture(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    with pytest.raises(ValueError, match="draws nothing"):
        import_module("drawn").draw("x = 1", "x + 1", tmp_path / "picture")


def test_formulas_of_the_pages_become_mathml(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    mathematics = import_module("mathematics")
    found = 0
    for page in PAGES:
        text = re.sub(r"^(`{3,}).*?^\1|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        blocks = re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL)
        lines = re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL))
        made = [*map(mathematics.display, blocks), *map(mathematics.inline, lines)]
        found += len(made)
        for formula in made:
            shown = re.sub(r"<[^>]+>", "", formula)
            assert not re.search(r"\\[a-z]|[_^{}]", shown.replace("{", "", 1)), (page.name, shown)
    assert found >= 1


def test_a_formula_in_a_line_breaks_before_relations_and_not_within_brackets(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    shown = import_module("mathematics").inline(r"f(a = b) ≤ ‖c = d‖ ≤ e_{i = j}, g")
    lines = [re.sub(r"<[^>]+>", "", part) for part in re.split(r"<wbr>|(?<=</math>) ", shown)]
    assert lines == ["f(a=b)", "≤‖c=d‖", "≤ei=j,", "g"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("φ_{t+1} = φ_t + γ/n Σ w_i z_i", "φ[t+1] = φ[t] + γ/n Σ w[i] z[i]"),
        ("‖θ̂_t‖^(-b) ≤ n^p W^(1-p) σ_min(Z_Bᵀ)", "‖θ̂[t]‖{-b} ≤ n{p} W{1-p} σ[min](Z[B]ᵀ)"),
        ("θ_* Σ_{S_t} x^(2^-k), max_{‖θ‖ ≤ 1} min_i e^u_c", "θ[*] Σ[S[t]] x{2{-k}}, max[‖θ‖ ≤ 1] min[i] e{u[c]}"),
        ("n_iter, n_jobs, X_train, x86_64, MAX_ITER", "n_iter, n_jobs, X_train, x86_64, MAX_ITER"),
    ],
)
def test_formulas_in_text_are_set_and_names_keep_their_underscores(text, shown, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    signs = {"subscript": "[]", "superscript": "{}"}

    def flat(node):
        return node if isinstance(node, str) else "".join(map(flat, node)).join(signs[node.tagname])

    assert "".join(map(flat, import_module("scripts").scripts(text))) == shown


def test_what_builds_the_site_is_installed_for_developers():
    extras = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert any("docs" in line for line in extras["dev"])
    assert {"sphinx", "myst-parser", "sphinx-gallery"} <= {line.split(">")[0] for line in extras["docs"]}
