"""separate and prove_kind by each of their tools, at the ends of float64, and what must change no verdict."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
import separatrix as sx
from conftest import noise, planted
from separatrix.certify.reader import Reader
from separatrix.data.memory import hold
from separatrix.deciding import search
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.fragile import survives
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.search import Case
from separatrix.deciding.separate import decide
from zoo import small_problem, unimodular, with_margin

KINDS = {"separable": "complete", "quasi-complete": "quasi-complete", "overlap": "overlap"}
few = settings(max_examples=25)
seeds = st.integers(0, 2**32 - 1)

# A problem on which Bland's rule runs in a circle if entering and leaving rows go by different orders.
CIRCLE = np.array([
    [0, 1, 1, 0, 1, -1, 0], [1, -1, -1, 0, 1, -1, 0], [-1, 0, -1, 0, -1, -1, 0], [1, 1, 0, -1, 1, 0, -1],
    [-1, 1, 1, -1, 0, 0, 1], [-1, 1, 1, 0, 0, -1, 1], [0, 1, 1, -1, 1, 1, 1], [0, -1, -1, -1, -1, -1, -1],
    [1, -1, -1, 0, -1, 1, 0], [-1, -1, 1, -1, 0, 0, 0], [-1, 1, 1, -1, 1, 1, 0], [1, -1, 1, -1, 1, 1, 0],
    [1, -1, 0, 1, -1, 1, 0], [1, 1, 0, 0, 0, -1, 0], [0, -1, -1, 1, 1, -1, 0], [0, -1, -1, -1, -1, 1, 1],
])  # fmt: skip


def kind_of(X, y, intercept=False, budget=UNLIMITED):
    proof = prove_kind(Case(hold(X, y, fit_intercept=intercept), budget))
    return None if proof is None else KINDS.get(proof.claim)


def both(X, y, intercept=False):
    return str(sx.separate(X, y, fit_intercept=intercept).status), kind_of(X, y, intercept)


def separates(X, y, theta, intercept=False):
    theta = [Fraction(float(t)) for t in theta]
    return all(sum(a * t for a, t in zip(z, theta, strict=True)) > 0 for z in oracle.oriented(X, y, intercept))


@pytest.mark.parametrize("block", range(3))
def test_float_tools_alone_are_never_wrong_and_decide_most(block):
    budget = Budget(tiny=0, exact=0, last=0)
    decided = 0
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        _, X, y, intercept = small_problem(seed)
        kind = oracle.kind(X, y, intercept)
        found = decide(sx.Problem(X, y, fit_intercept=intercept), budget)
        assert found.tool != "exact"
        if found.certainty == "proven":
            decided += 1
            assert found.status == ("separable" if kind == "complete" else "inseparable"), seed
            assert found.verify(X, y), seed
        assert kind_of(X, y, intercept, budget) in (kind, None), seed
    assert decided > 75


def test_the_theta_given_separates_unless_no_rounding_of_the_exact_one_does():
    rounded = 0
    for seed in range(300):
        family, X, y, intercept = small_problem(seed)
        found = sx.separate(X, y, fit_intercept=intercept)
        if found.theta is not None and not separates(X, y, found.theta, intercept):
            assert any(isinstance(t, Fraction) for t in found.proof.theta), (seed, family)
            assert found.fragile or "scaled" in family or "nearly" in family, (seed, family)
            rounded += 1
    assert rounded < 10


@few
@given(seeds)
def test_row_order_changes_nothing(seed):
    _, X, y, intercept = small_problem(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    assert both(X[order], y[order], intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_scaling_rows_by_powers_of_two_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(3, 25)), int(rng.integers(1, 7))))
    y = rng.permuted(np.resize([-1, 1], len(X)))
    assert both(X * 2.0 ** rng.integers(-60, 60, (len(X), 1)), y) == both(X, y)


@few
@given(seeds)
def test_unimodular_columns_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(3, 25)), int(rng.integers(1, 7))))
    y = rng.permuted(np.resize([-1, 1], len(X)))
    intercept = bool(rng.integers(2))
    assert both(X @ unimodular(rng, X.shape[1]), y, intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_swapping_the_labels_changes_nothing(seed):
    _, X, y, intercept = small_problem(seed)
    assert both(X, -y, intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_dense_and_sparse_rows_get_one_verdict(seed):
    _, X, y, intercept = small_problem(seed)
    assert both(sparse.csr_array(X), y, intercept) == both(X, y, intercept)


@few
@given(seeds)
def test_float32_rows_are_judged_as_the_numbers_they_hold(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(3, 25)), int(rng.integers(1, 7)))).astype(np.float32)
    y = rng.permuted(np.resize([-1, 1], len(X)))
    assert both(X, y) == both(X.astype(np.float64), y)
    assert (sx.separate(X, y).status == "separable") == oracle.separable(X, y)


def test_two_classes_that_touch_are_quasi_complete():
    X, y = np.array([[-1.0], [0], [0], [1]]), [0, 0, 1, 1]
    assert both(X, y, True) == ("inseparable", "quasi-complete")


def test_a_zero_row_cannot_be_separated():
    found = sx.separate([[1.0, 2], [0, 0], [-1, 1]], [1, 1, 0])
    assert found.status == "inseparable" and found.tool == "rows" and found.proof.argument == "zero-row"
    assert sx.separate([[1.0], [0]], [1, 0], fit_intercept=True).status == "separable"


def test_contradictory_duplicates_cannot_be_separated():
    X, y = planted(500, 20, 0.1, 0)
    X, y = np.vstack([X, X[7:8]]), np.append(y, -y[7])
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.proof.argument == "contradiction" and found.verify(X, y)


def test_a_verdict_that_hangs_on_rounding_is_fragile():
    found = sx.separate([[0.1 + 0.2], [0.3]], [1, 0], fit_intercept=True)
    assert found.status == "separable" and found.fragile
    assert not sx.separate([[3], [2]], [1, 0], fit_intercept=True).fragile
    for gap, fragile in ((1e-13, True), (1e-10, False)):
        near = sx.separate([[0.3], [0.3 * (1 + gap)]], [0, 1], fit_intercept=True)
        assert near.status == "separable" and near.fragile == fragile
    whole = sx.separate([[-1], [0], [0], [1]], [0, 0, 1, 1], fit_intercept=True)
    assert whole.status == "inseparable" and not whole.fragile
    tie = sx.separate([[0.1, 0.3], [0.1, 0.3], [1.0, 0.0]], [1, 0, 1])
    assert tie.status == "inseparable" and tie.fragile
    assert not sx.separate(*noise(150, 6, 0)).fragile and not sx.separate(*planted(50, 6, 0.1, 0)).fragile


@pytest.mark.parametrize("bad", [0, -1, float("nan"), -float("inf")])
def test_a_time_limit_that_is_no_time_is_refused(bad):
    with pytest.raises(ValueError, match=r"^time_limit must be positive seconds or None, got .*\.$"):
        sx.separate([[1.0], [2.0]], [0, 1], time_limit=bad)


def test_no_tool_is_begun_once_the_time_limit_has_passed(monkeypatch):
    first, *others = search.TOOLS
    idle = [replace(tool, find=lambda case, tool=tool: pytest.fail(f"{tool.name} was begun")) for tool in others]
    monkeypatch.setattr(search, "TOOLS", (first, *idle))
    X, y = noise(3000, 120, 0)
    found = sx.separate(X, y, time_limit=1e-6)
    assert found.status == "undecided" and found.proof is None and found.theta is None and not found.verify(X, y)
    assert found.tool == "none" and found.margin.n_steps == 0
    assert 0 == found.margin.lower <= found.margin.upper < np.inf
    assert str(found).startswith("undecided")


# What is under way after so many readings of the clock on rows that no tool decides in as many.
@pytest.mark.parametrize(("limit", "tool"), [(3, "perceptron"), (25, "pair"), (25, "exact")])
def test_a_tool_under_way_ends_when_the_time_limit_passes_and_the_bracket_holds(limit, tool, clock, monkeypatch):
    begun = []

    def noted(name, run):
        return lambda case: begun.append(name) or run(case)

    monkeypatch.setattr(search, "by_exact", noted("exact", search.by_exact))
    tools = [t if t.name in ("rows", "exact") else replace(t, find=noted(t.name, t.find)) for t in search.TOOLS]
    if tool == "exact":
        tools = [t for t in tools if t.name not in ("pair", "newton")]
    monkeypatch.setattr(search, "TOOLS", tuple(tools))
    X, y = with_margin(np.random.default_rng(1040), 1000, 40, 1e-14, False)  # too tight for floats, large for exact
    clock.per_reading, began = 1.0, clock.now
    found = sx.separate(X, y, time_limit=limit, exact=tool == "exact")
    assert begun[-1] == tool
    assert clock.now - began <= limit + 15
    assert found.status == "undecided" and found.proof is None and found.theta is None and not found.fragile
    assert 0 <= found.margin.lower <= 1.1e-14 and 0.9e-14 <= found.margin.upper < np.inf


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("n", "d"), [(120, 20), pytest.param(1000, 40, marks=pytest.mark.long), (60, 100)])
def test_planted_margins_of_1e_12_come_to_an_end(n, d, intercept):
    X, y = with_margin(np.random.default_rng(n + d), n, d, 1e-12, intercept)  # half of the rows meet it
    found = sx.separate(X, y, fit_intercept=intercept)
    assert found.status == "separable" and found.verify(X, y)
    assert found.tool in ("perceptron", "pair") and found.margin.n_steps < 100
    assert found.margin.lower < 1.1e-12 or d > n
    assert found.fragile == (n > d)


def test_exact_arithmetic_does_not_run_in_circles(clock):
    y = np.resize([1, -1], len(CIRCLE))
    X = CIRCLE * y[:, None]
    assert oracle.kind(X, y) == "overlap"
    clock.per_reading = 1.0
    found = sx.separate(X, y, time_limit=5000)  # moves, of which it takes some fifty; a circle never ends
    assert found.status == "inseparable" and found.tool == "exact" and found.verify(X, y)


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e200])
def test_rows_of_any_length_raise_no_warning(factor):
    for X, y in (planted(300, 12, 0.1, 0), noise(300, 12, 0)):
        X[0] *= factor
        found = sx.separate(X, y)
        assert found.status != "undecided" and found.verify(X, y)


@pytest.mark.parametrize("X", [[[5e-324], [1e-323]], [[1e308, 1e307], [1.1e308, 1e307]]])
def test_numbers_at_the_ends_of_float64_are_judged(X):
    assert sx.separate(np.array(X), [1, -1]).status == ("separable" if oracle.separable(X, [1, -1]) else "inseparable")


def test_larger_problems_of_every_kind_are_named():
    rng = np.random.default_rng(0)
    X, y = planted(800, 15, 0.05, 1)
    assert both(X, y) == ("separable", "complete")
    X, y = noise(800, 15, 1)
    assert both(X, y) == ("inseparable", "overlap")
    Z = rng.integers(-5, 6, (400, 12)).astype(float)
    Z[:200, 0] = 0  # a face: the first 200 rows overlap in the other columns
    Z[200:, 0] = rng.integers(1, 5, 200)
    y = rng.permuted(np.resize([-1, 1], 400))
    X = y[:, None] * (Z @ unimodular(rng, 12))
    assert both(X, y) == ("inseparable", "quasi-complete")
    assert both(sparse.csr_array(X), y) == ("inseparable", "quasi-complete")


def hidden_face(n, d, share, seed):
    """Whole rows: this share in a hyperplane where they overlap, the others on its right side, columns then mixed."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-5, 6, (n, d))
    on = rng.permutation(n) < share * n
    Z[:, 0] = np.where(on, 0, rng.integers(1, 5, n))
    y = rng.permuted(np.resize([-1, 1], n))
    for _ in range(3):
        Z = Z @ unimodular(rng, d)
    return y[:, None] * Z, y


@pytest.mark.parametrize(("n", "d", "share"), [(300, 20, 0.5), (2000, 30, 0.5), (2000, 30, 0.05)])
def test_a_hidden_face_of_mid_size_is_proven_quasi_complete(n, d, share):
    X, y = hidden_face(n, d, share, n)
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.verify(X, y) and not found.fragile
    proof = prove_kind(Case(hold(X, y)))
    assert proof.claim == "quasi-complete" and sx.verify(proof, X, y)
    assert proof.theta is not None and proof.rows is not None
    if n < 1000:
        assert kind_of(X + 7, y, True) == kind_of(sparse.csr_array(X + 7), y, True) == "quasi-complete"


def sparse_planted(n, d, entries, seed):
    rng = np.random.default_rng(seed)
    columns = np.array([rng.choice(d, entries, replace=False) for _ in range(n)])
    values = np.round(64 * rng.standard_normal((n, entries))) / 64
    s = np.einsum("ij,ij->i", values, rng.standard_normal(d)[columns])
    X = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * entries + 1, entries)), shape=(n, d))
    return X, np.where(s > 0, 1, -1)


def test_three_rows_of_a_sparse_problem_turn_its_verdict():
    X, y = sparse_planted(3000, 3000, 20, 0)
    found = sx.separate(X, y)
    assert found.status == "separable" and found.verify(X, y)
    a, b = X[[0]], X[[1]]
    X, y = sparse.vstack([X, a, b, a + b], format="csr"), np.append(y, [1, 1, -1])  # z + z' - (z + z') = 0
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    found = sx.separate(X, y)
    assert found.status == "inseparable" and found.verify(X, y)


def three_rows_without_a_separator(d, seed):
    rng = np.random.default_rng(seed)
    Z = np.round(64 * rng.standard_normal((2, d))) / 64
    y = np.array([1, -1, 1])
    return y[:, None] * np.vstack([Z, -Z.sum(axis=0)]), y


def test_few_rows_in_many_columns_are_decided_in_few_moves_without_a_newton_step(clock):
    clock.per_reading = 1.0  # every move of exact arithmetic reads the clock where there is a limit
    for X, y in (three_rows_without_a_separator(700, 0), planted(3, 4000, 0.1, 0)):
        found = sx.separate(X, y, time_limit=50)
        assert found.status != "undecided" and found.verify(X, y)
        assert found.margin.n_steps == 0


DTYPES = (bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
def test_every_number_type_and_memory_layout_gets_one_verdict(dtype, intercept, tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(2):
        X = rng.integers(0, 2 if dtype is bool else 5, (10, 3)).astype(dtype)
        y = rng.permuted(np.resize([0, 1], 10))
        kind = oracle.kind(X.astype(float), y, intercept)
        want = "separable" if kind == "complete" else "inseparable", kind
        locked = X.copy()
        locked.flags.writeable = False
        ways = [X, locked, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2, ::-1][:, ::-1], X.astype(object)]
        if dtype not in (np.float16, np.longdouble):
            ways += [sparse.csr_array(X), sparse.csc_array(X), sparse.coo_array(X)]
            stored = np.memmap(tmp_path / "rows", dtype=dtype, mode="w+", shape=X.shape)
            stored[:] = X
            ways.append(np.memmap(tmp_path / "rows", dtype=dtype, mode="r", shape=X.shape))
        for way in ways:
            assert both(way, y, intercept) == want


@pytest.mark.parametrize("intercept", [False, True])
def test_explicit_zeros_duplicates_and_empty_rows_of_csr_mean_what_they_say(intercept):
    made = sparse.csr_array(([1.0, 2, -1, 3, 0], [0, 0, 1, 2, 1], [0, 2, 2, 3, 5, 5]), shape=(5, 3))
    none = sparse.csr_array((4, 3))
    zeros = sparse.csr_array(np.random.default_rng(0).standard_normal((10, 3)))
    zeros.data[::3] = 0
    for X in (made, none, zeros):
        y = np.resize([0, 1, 1], X.shape[0])
        dense = X.toarray()
        kind = oracle.kind(dense, y, intercept)
        assert both(X, y, intercept) == both(dense, y, intercept)
        assert both(X, y, intercept)[1] == kind


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "X",
    [
        [[1.0], [2]],
        [[1.0], [1]],
        [[0.0], [0]],
        [[1.0], [-1]],
        [[1.0, 2, 3], [2, 4, 6]],
        np.eye(2, 30),
        [[1e-200], [1e200]],
    ],
)
def test_one_row_per_class_is_judged(X, intercept):
    kind = oracle.kind(X, [0, 1], intercept)
    assert both(np.array(X), ["no", "yes"], intercept) == ("separable" if kind == "complete" else "inseparable", kind)


def long(x):
    """Whether the significand has more than 32 bits."""
    whole = abs(float(x).as_integer_ratio()[0])
    return whole and (whole // (whole & -whole)).bit_length() > 32


@pytest.mark.parametrize("intercept", [False, True])
def test_a_separator_survives_what_its_worst_change_leaves_positive(intercept):
    answers = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((12, 20)), np.resize([-1.0, 1.0], 12)
        X[rng.random(X.shape) < 0.5] = 0.25
        theta = rng.standard_normal(20 + intercept)
        Z = y[:, None] * (np.hstack([X, np.ones((12, 1))]) if intercept else X)
        lift = Z @ theta - 10.0 ** rng.uniform(-13, -9)  # margins about as large as a change of 1e-12 can turn
        X -= np.outer(y * lift, theta[:20]) / (theta[:20] @ theta[:20])
        Z[:, :20] = y[:, None] * X
        terms = [[(Fraction(z) * Fraction(t), long(z)) for z, t in zip(a, theta, strict=True)] for a in Z]
        m, moved = [sum(v for v, _ in a) for a in terms], [sum(abs(v) for v, rounded in a if rounded) for a in terms]
        change, slack = Fraction(1, 10**12), Fraction(1, 10**13)
        for form in (np.asarray, sparse.csr_array):
            found = survives(Reader(hold(form(X), y, fit_intercept=intercept)), theta, np.arange(12))
            answers.add(found)
            if found:
                assert all(v > change * c for v, c in zip(m, moved, strict=True)), seed
            if all(v > (2 * change + slack) * c for v, c in zip(m, moved, strict=True)):
                assert found, seed
    assert answers == {False, True}
