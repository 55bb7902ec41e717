"""The page of the reproduction says what the committed tables say."""

from __future__ import annotations

import ast
import csv
import re
from math import log10
from pathlib import Path

import pytest

from separatrix.lab.book import paper_book

DOCS = Path(__file__).parent.parent / "docs"
TABLES = DOCS / "reproduction" / "tables"
PAGE = (DOCS / "reproduction.md").read_text(encoding="utf-8")


def table(name):
    with open(TABLES / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def whole(text):
    return f"{float(text):,.0f}"


def pair(text):
    low, high = ast.literal_eval(text)
    return f"{low:,.0f} to {high:,.0f}"


def step(text):
    return "∞" if text == "inf" else f"{float(text):g}"


def printed(rows):
    """The rows of a table for which the paper has a count."""
    return [row for row in rows if row["paper"]]


def table_1_b():
    for a, b in zip(printed(table("table-1-b")), printed(table("table-1-b-other")), strict=True):
        ours = [cell for row in (a, b) for cell in (f"{whole(row['median'])} ({pair(row['quartiles'])})", below(row))]
        yield [a["method"], step(a["step size"]), whole(a["paper"]), *ours]


def below(row):
    return row["subsamples below it"]


def table_1_c():
    for row in printed(table("table-1-c")):
        ours = f"{whole(row['median'])} ({pair(row['quartiles'])})"
        yield [row["method"], step(row["step size"]), whole(row["paper"]), ours, below(row), f"{float(row['p']):.2g}"]


def orders():
    for row in table("known-counts-orders"):
        counts = [whole(row[name]) for name in ("file order", "median", "least", "most")]
        yield [row["method"], step(row["step size"]), *counts]


def scalings():
    for part in "bc":
        rows = table(f"table-1-{part}-scalings")
        for three in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
            ours = [f"{whole(row['median'])} ({float(row['p']):.2g})" for row in three]
            yield [part, three[0]["method"], step(three[0]["step size"]), whole(three[0]["paper"]), *ours]


def finding_1():
    rows = table("finding-1")
    names = list(dict.fromkeys(row["data"] for row in rows))
    for gamma in dict.fromkeys(row["step size"] for row in rows):
        of = {row["data"]: row for row in rows if row["step size"] == gamma}
        cells = [cell for name in names for cell in (apart(of[name]["t = 10"]), of[name]["sets part at"] or "never")]
        large = str(round(log10(float(gamma)))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        yield [step(gamma) if float(gamma) < 1000 else f"10{large}", *cells]


def apart(text):
    return f"{float(text):.2g}".replace("e-0", "e-")


def ends():
    """Iterations to separation on 5,000 rows, by step size."""
    figures = [table(f"figure-{k}") for k in (2, 3, 8, 10)]  # CIFAR-10, FashionMNIST, EuroSAT, MNIST
    names = [("LR+GD", f"{gamma}.0", f"LR+GD, γ = {gamma}") for gamma in (10, 100)]
    for method, gamma, name in [*names, ("Batch Perceptron", "inf", "Batch Perceptron")]:
        runs = [row for rows in figures for row in rows if (row["method"], row["step size"]) == (method, gamma)]
        yield [name, *(whole(run["separated after"] or run["iterations made"]) for run in runs)]


def powers():
    data = paper_book().data
    rows_of = {data[name].title: data[name].rows for name in paper_book().experiments["powers"].data}
    for row in sorted(table("powers"), key=lambda row: float(row["share wrong"])):
        name = re.sub(r", n = .*", "", row["data"])
        rows = re.sub(r".*, n = ", "", row["data"]) if name != row["data"] else "1,200"
        assert name in rows_of
        name = re.sub(r"imbalance (\d+)", r"one class \1 times", name)
        medians = {key: float(value) for key, value in row.items() if key.startswith("p = ")}
        cells = [f"**{v:,.0f}**" if v == min(medians.values()) else f"{v:,.0f}" for v in medians.values()]
        share = 100 * float(row["share wrong"])
        yield [name, rows, f"{share:.0f} %" if share >= 9.95 else f"{share:.1f} %", *cells]


@pytest.mark.parametrize("lines", [table_1_b, table_1_c, orders, scalings, finding_1, ends, powers])
def test_the_tables_of_the_page_are_those_of_the_runs(lines):
    for cells in lines():
        assert f"| {' | '.join(cells)} |" in PAGE


def test_every_picture_and_every_listing_that_the_report_names_is_there():
    report = (DOCS / "reproduction" / "report.md").read_text(encoding="utf-8")
    named = re.findall(r"figures/[\w.-]+\.png|tables/[\w.-]+\.csv", report)
    assert len(named) > 40 and not [name for name in named if not (DOCS / "reproduction" / name).exists()]


def test_every_experiment_of_the_paper_has_its_evidence_in_the_report():
    report = (DOCS / "reproduction" / "report.md").read_text(encoding="utf-8")
    for name in paper_book().experiments:
        assert f"({name})" in report, name
