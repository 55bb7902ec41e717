"""The tables of `separatrix reproduce` hold what the theorems say."""

from __future__ import annotations

from math import inf, sqrt

import pytest

from separatrix.lab import paper
from separatrix.lab.table import cell


def column(table, name):
    k = table.columns.index(name)
    return [row[k] for row in table.rows]


def test_counts_that_are_not_printed_ones_are_reported(monkeypatch):
    assert paper.worst_case_counts().failures == ()
    monkeypatch.setattr(paper, "PRINTED_WORST_CASE", {("normalized-lr-gd", 1.0): 15})
    (sentence,) = paper.worst_case_counts().failures
    assert sentence == "normalized-lr-gd, step size 1, worst-case data: 15 iterations expected, ours 16."


def test_other_sizes_of_the_worst_case_claim_nothing():
    table = paper.worst_case_counts(50)
    assert set(column(table, "printed")) == {None}


def test_on_the_worst_case_the_batch_perceptrons_count_grows_with_n():
    table = paper.lower_bound((100, 1000))
    assert column(table, "ours") == column(table, "closed form") == [31, 301]
    assert all(0.05 < ratio < 0.07 for ratio in column(table, "ours/bound"))


def test_loss_and_gradient_reach_the_theorems_limits():
    table = paper.unreliable_metrics((1.0, 1e4, 1e300))
    assert table.failures == ()
    assert table.rows[-1] == (inf, (0.5, 0.75), inf, sqrt(0.5), (1.0, 0.25), 0.0, 0.0, True)
    assert table.rows[1][2] == pytest.approx(1e4 / 8, rel=1e-12)  # ½ log(1 + exp(γ/4))


def test_a_step_size_too_small_for_the_limits_is_reported():
    assert paper.unreliable_metrics((1.0, 2.0)).failures


def test_lr_gd_tends_to_the_batch_perceptron():
    table = paper.reduction()
    apart = column(table, "largest ‖θ_t/γ - φ_t‖/‖φ_t‖")
    assert table.failures == ()
    assert apart[0] > 1e-3
    assert apart[-1] < 1e-6
    assert paper.reduction((1.0,)).failures


def test_every_method_separates_the_digits_within_its_bound():
    table = paper.digits()
    assert len(table.rows) == 11
    assert all(0 < count <= limit for count, limit in zip(column(table, "ours"), column(table, "bound"), strict=True))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (300_001, "300,001"),
        (inf, "∞"),
        (0.70710678, "0.707"),
        (12345.6, "12,346"),
        (1e9, "1e+09"),
        ((0.5, 0.75), "(0.5, 0.75)"),
        ("lazy", "lazy"),
    ],
)
def test_numbers_are_written_as_people_read_them(value, text):
    assert cell(value) == text
