"""Whitening that rounding does not limit."""

from fractions import Fraction

import numpy as np
import pytest

from separatrix.deciding.whitening import NEARLY, power_of_two, whiten_exactly, whole_numbers


@pytest.mark.parametrize("d", [2, 8, 14, 24])
def test_columns_are_orthonormal_whatever_their_condition(d):
    B = 1.0 / (np.arange(100)[:, None] + np.arange(d) + 1)
    found = whiten_exactly(B)
    assert found is not None
    assert abs(found.C.T @ found.C - np.eye(d)).max() < NEARLY
    P = [[v * power_of_two(found.power) for v in line] for line in found.whole]
    exact = [[sum(Fraction(b) * p[j] for b, p in zip(line, P, strict=True)) for j in range(d)] for line in B.tolist()]
    assert np.allclose(found.C, np.array(exact, dtype=float), rtol=1e-15, atol=1e-300)


def test_dependent_columns_have_no_whitening():
    x = np.arange(1.0, 9.0)
    assert whiten_exactly(np.column_stack([x, 2 * x])) is None
    assert whiten_exactly(np.column_stack([x, 0 * x])) is None
    assert whiten_exactly(np.ones((1, 2))) is None


def test_whole_numbers_are_the_floats():
    A = np.array([[1.5, -0.0, 3e300], [5e-324, 0.0, -1.0], [0.0, 0.0, 0.0]])
    digits, power = whole_numbers(A)
    for line, p, row in zip(digits, power.tolist(), A.tolist(), strict=True):
        assert [v * power_of_two(p) for v in line] == [Fraction(v) for v in row]
