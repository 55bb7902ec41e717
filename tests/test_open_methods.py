"""Methods of one's own and schedules: a method of the table written by hand has its bits, and all that it has."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.walking.trace import COLUMNS

NUMBERS = [name for name in COLUMNS if name != "seconds"]


class MyLRGD(sx.Method):
    """LR+GD, written by hand."""

    exponential_tail = True

    def weights(self, x):
        return 1 / (1 + sx.exp(x))


class ByDivisor(sx.Method):
    """LR+GD by its normaliser: N = n."""

    exponential_tail = True

    def normaliser(self, at):
        return at.n


def separable(seed=0, n=300, d=12, margin=0.03):
    return sx.planted(n, d, margin=margin, random_state=seed)[:2]


def odd(n, d):
    """Options that touch every part of a step."""
    rng = np.random.default_rng(1)
    s = rng.integers(0, 3, n).astype(float)
    return {"fit_intercept": True, "sample_weight": s, "theta0": rng.standard_normal(d + 1)}


def assert_same(one, other):
    """The same run to the last bit, the clock aside."""
    assert one.n_iter == other.n_iter and one.status == other.status and one.step_size == other.step_size
    assert one.theta.tobytes() == other.theta.tobytes() and one.phi.tobytes() == other.phi.tobytes()
    for name in NUMBERS:
        assert np.array_equal(one.trace[name], other.trace[name], equal_nan=True), name


PROBLEMS = {
    "planted": separable(),
    "worst case": sx.worst_case(1000),
    "mixed": (np.random.default_rng(5).standard_normal((700, 9)), np.resize([-1, 1], 700)),
    "huge": (separable(3)[0] * 1e200, separable(3)[1]),
    "float32": (separable(4)[0].astype(np.float32), separable(4)[1]),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0, 1e6])
@pytest.mark.parametrize(("power", "name"), [(1.0, "lr-gd"), (0.0, "normalized-lr-gd"), (0.625, "tempered-lr-gd")])
def test_lr_gd_by_hand_has_the_bits_of_the_table_s(problem, gamma, power, name):
    X, y = PROBLEMS[problem]
    for options in ({}, odd(*X.shape)):
        some = {"max_iter": 60, "stop": None, **options}
        if problem == "huge" and options:
            some["theta0"] = options["theta0"] * 1e-200
        table = sx.solve(X, y, name, step_size=gamma, engine="numpy", **some)
        assert_same(table, sx.solve(X, y, MyLRGD(gamma, power=power), **some))
        if power == 1.0:
            assert_same(table, sx.solve(X, y, ByDivisor(gamma), **some))
