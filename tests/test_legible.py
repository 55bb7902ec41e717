"""Everything that is printed can be printed where letters are few, and tables break lines between words."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

import separatrix as sx
from separatrix.reporting.plain import legible
from separatrix.reporting.table import Table, cell, column_widths, render

GREEK = "μ,Straße→,Zürich∞\n" + "".join(f"{i},{'ja ≤' if i > 4 else '日本'},{i // 5}\n" for i in range(9))
BOOK = """
title = "Größe ∞ → 日本"
[data.mini]
source = "two-samples"
title = "Zwei ∞ 日本"
["figure-größe→"]
kind = "counts"
title = "Kurven λ ≤ ½"
data = ["mini"]
counts = [{ method = "batch-perceptron", step_size = inf }]
"""
COMMANDS = [  # words, status, what the output has in cp1252
    (["separate", "X.npy", "--labels", "y.npy"], 0, "some theta has z_i'theta > 0 in every row"),
    (["diagnose", "é→.csv", "--target", "Zürich∞"], 0, "mu alone separates"),
    (["diagnose", "é→.csv", "--target", "Zürich∞", "--json"], 0, '"complete"'),
    (["separate", "é→.csv", "--target", "Ω"], 2, "there is no column 'Omega'"),
    (["separate", "nix∞.csv", "--target", "y"], 2, "there is no file nixinf.csv"),
    (["diagnose", "é→.csv", "--formula", "Zürich∞ ~ μ"], 2, "Zürichinf ~ mu"),
    (["reproduce", "--list"], 0, "finding-1"),
    (["reproduce", "größe→.toml", "--out", "r→"], 0, "lambda <= ½"),
    (["reproduce", "∞"], 2, "no experiment 'inf'"),
    (["datasets", "verify", "∞"], 2, "unknown data set 'inf'"),
    (["∞"], 2, "there is no command 'inf'"),
]


@pytest.mark.parametrize(("words", "status", "seen"), COMMANDS)
def test_a_command_whose_output_lacks_letters_spells_them(words, status, seen, tmp_path):
    (tmp_path / "é→.csv").write_text(GREEK, encoding="utf-8")
    (tmp_path / "größe→.toml").write_text(BOOK, encoding="utf-8")
    np.save(tmp_path / "X.npy", np.eye(2))
    np.save(tmp_path / "y.npy", np.array([0, 1]))
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "separatrix", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="cp1252", env=environment)
    assert done.returncode == status, done.stderr
    assert seen in done.stdout + done.stderr
    assert "codec" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "ascii"),
    [
        ("‖θ̂‖ ≤ ½ z_iᵀθ", "||theta^|| <= 1/2 z_i'theta"),
        ("λ Λ γ₀ → ∞", "lambda Lambda gamma_0 -> inf"),
        ("日é", r"\u65e5\xe9"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_an_encoding_lacks_is_written_as_people_write_it_by_hand(text, ascii):
    assert legible(text, "ascii") == ascii
    assert legible(text, "utf-8") == (text if text.isprintable() else ascii)


def drawn(table: Table, width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width)
    console.print(render(table, console))
    file.flush()
    return file.buffer.getvalue().decode(encoding).splitlines()


LONG = Table(
    "a title",
    ("data", "method", "a measured share of something in percent", *("count",) * 6),
    [("FashionMNIST 0/4, n = 1,000", "normalized-batch-perceptron", "[0.5758656, 0.5758656]", *(1_234_567,) * 6)] * 2,
    note="a note",
)


@pytest.mark.parametrize("width", [115, 120, 160])
def test_tables_break_lines_between_words(width):
    lines = drawn(LONG, width)
    found = {word for line in lines for word in line.split()}
    assert max(map(len, lines)) <= width
    assert {word for row in (LONG.columns, *LONG.rows) for value in row for word in cell(value).split()} <= found


def test_a_table_that_is_wider_than_the_screen_by_its_words_loses_no_letter():
    assert "".join(drawn(LONG, 60)).count("7") >= 12
    assert max(map(len, drawn(LONG, 60))) <= 60


def test_columns_of_a_table_that_fits_are_as_wide_as_their_cells():
    assert column_widths([["ab cd", "e"], ["fgh"]], 80) == [5, 3]
    assert column_widths([["ab cd", "e"], ["fgh"]], 6) == [3, 3]
    assert column_widths([["ab cd", "e"], ["fgh"]], 4) is None


def test_columns_stay_in_line_where_letters_are_spelled_out():
    lines = drawn(Table("∞", ("μ", "b"), [("θ", 1), ("long", 2)]), 80, "cp1252")
    assert len({line.index(digit) for line in lines for digit in "12" if digit in line}) == 1


def test_results_of_many_numbers_are_printed_on_a_screen():
    X, y, _ = sx.planted(300, 200, margin=0.1, random_state=0)
    table = {"a": [*range(60), 1, 2], "b": [0] * 60 + [1, 1], "y": [0, 1] * 30 + [1, 1]}
    part = sx.diagnose({name: values * 40 for name, values in table.items()}, "y")
    shown = [sx.solve(X, y), sx.max_margin(X, y), sx.separate(X, y), sx.separate(X, y).proof, part, part.fitted()]
    for found in shown:
        assert len(repr(found).splitlines()) <= 24 and len(repr(found)) < 2_000, type(found)
    assert repr(shown[-1]).endswith("and 60 more, in rows, low and high")
