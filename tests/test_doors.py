"""Whatever comes from elsewhere is checked once, before compiled code sees it: one sentence, nothing read astray."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import separatrix as sx

Y = [0, 1, 1]


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
