"""The door: what is accepted, what is refused, and what is never copied."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import separatrix as sx
from conftest import noise, planted
from separatrix.data.memory import hold

X0, Y0 = planted(30, 4, 0.2, 0)


def altered(row, column, value):
    X = X0.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (altered(3, 2, np.nan), Y0, "NaN at row 3, column 2"),
        (altered(5, 1, -np.inf), Y0, "-inf at row 5, column 1"),
        (sparse.csr_array(altered(7, 0, np.inf)), Y0, "inf at row 7, column 0"),
        (pd.DataFrame(altered(3, 2, np.nan), columns=list("abcd")), Y0, r"missing values: c 1 \(of 30 rows\)"),
        (X0[:0], Y0[:0], "empty"),
        (X0[:, :0], Y0, "empty"),
        (X0[:, 0], Y0, "two dimensions"),
        (X0, np.ones(30), r"1 class \(1\)"),
        (X0, np.arange(30) % 3, r"3 classes \(0, 1, 2\)"),
        (X0, Y0[:29], "30 rows but y has 29 labels"),
        (X0, np.where(np.arange(30) == 4, np.nan, Y0), "y is missing at row 4"),
        (X0, [None, *Y0[1:]], "y is missing at row 0"),
        (X0, np.array([1, "a"] * 15, dtype=object), "cannot be ordered"),
        (np.full((30, 2), "x"), Y0, "must be numeric"),
        (pd.DataFrame({"age": range(30), "day": [pd.Timestamp(0)] * 30}), Y0, "column 'day' has the type Datetime"),
        (X0.astype(complex), Y0, "must be numeric"),
        (np.full((30, 2), 2**60), Y0, r"beyond 2\*\*53"),
        (np.ma.masked_equal(altered(2, 1, 9.0), 9.0), Y0, "masked entry at row 2, column 1"),
        (np.full((30, 4), 1.7e308), Y0, "longer than float64 can hold"),
    ],
)  # fmt: skip
def test_bad_data_get_one_sentence(X, y, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        sx.solve(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step_size": 0}, "must be positive, got 0"),
        ({"step_size": -1.0}, "must be positive, got -1.0"),
        ({"step_size": np.nan}, "must be positive, got nan"),
        ({"step_size": "big"}, "must be a number"),
        ({"method": "lr_gd"}, "did you mean 'lr-gd'"),
        ({"method": "batch-perceptorn"}, "did you mean 'batch-perceptron'"),
        ({"method": None}, "unknown method None"),
        ({"method": "batch-perceptron", "step_size": 0.5}, "takes no finite step_size"),
        ({"method": "perceptron", "order": "cyclical"}, "did you mean 'cyclic'"),
        ({"order": "random"}, "is for the perceptron"),
        ({"engine": "lasy"}, "did you mean 'lazy'"),
        ({"engine": 3}, "unknown engine 3"),
        ({"theta0": np.zeros(5)}, r"shape \(4,\).*got \(5,\)"),
        ({"theta0": np.zeros(4), "fit_intercept": True}, r"shape \(5,\)"),
        ({"theta0": [0, 0, np.inf, 0]}, "finite, got inf"),
        ({"theta0": ["a"] * 4}, "vector of numbers"),
        ({"theta0": np.full(4, 1e300), "step_size": 1e-300}, "leaves float64"),
        ({"max_iter": -1}, "max_iter must be a whole number"),
        ({"max_iter": 1.5}, "max_iter must be a whole number"),
        ({"stop": "sometimes"}, "stop must be"),
        ({"record": 0}, "record must be"),
        ({"record": "some"}, "record must be"),
        ({"sample_weight": np.ones(3)}, r"shape \(30,\)"),
        ({"sample_weight": -np.ones(30)}, "not negative, got -1.0 at row 0"),
        ({"sample_weight": np.zeros(30)}, "zero for every row"),
        ({"method": "perceptron", "sample_weight": np.ones(30)}, "takes no sample_weight"),
        ({"random_state": "x"}, "random_state must be"),
        ({"sharpness": True, "step_size": np.inf}, "finite step_size"),
    ],
)  # fmt: skip
def test_bad_options_get_one_sentence(options, sentence, tmp_path):
    method = options.pop("method", "lr-gd")
    with pytest.raises(ValueError, match=sentence) as caught:
        sx.solve(X0, Y0, method, **options, checkpoint=tmp_path / "run.npz")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []  # nothing half-done


FORMS = {
    "Fortran order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "int8": lambda X: np.round(9 * X).astype(np.int8),
    "int64": lambda X: np.round(1000 * X).astype(np.int64),
    "bool": lambda X: X > 0,
    "big-endian": lambda X: X.astype(">f8"),
    "every second row and column": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "nested lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "csr matrix, 64-bit indices": lambda X: with_long_indices(sparse.csr_matrix(X)),
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr of integers": lambda X: sparse.csr_array(np.round(9 * X).astype(np.int16)),
}


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def plain(X):
    return np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_data_gives_the_run_of_its_plain_copy(form):
    X = FORMS[form](X0)
    for method in ("lr-gd", "batch-perceptron", "perceptron"):
        run = sx.solve(X, Y0, method, max_iter=200)
        same = sx.solve(plain(X), Y0, method, max_iter=200)
        assert run.n_iter == same.n_iter
        precision = 1e-6 if form in ("float32", "float16") and method == "lr-gd" else 1e-10
        assert np.allclose(run.theta, same.theta, rtol=precision, atol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y0 > 0, 1, 0), Y0 > 0, np.where(Y0 > 0, "yes", "no"), np.where(Y0 > 0, 7.5, -3.0),
        np.where(Y0 > 0, "b", "a").astype(object), list(np.where(Y0 > 0, 2, 1)), Y0[:, None],
        pd.Series(np.where(Y0 > 0, "x", "w")), pl.Series(np.where(Y0 > 0, "x", "w")),
        pd.Series(np.where(Y0 > 0, "x", "w"), dtype="category"),
    ],
)  # fmt: skip
def test_two_valued_labels_of_any_type_are_taken_and_the_larger_is_plus_one(labels):
    run = sx.solve(X0, labels, "perceptron")
    assert np.all((X0 @ run.theta > 0) == (Y0 > 0))


def test_c_ordered_floats_memory_maps_and_csr_are_never_copied(tmp_path):
    for dtype in (np.float32, np.float64):
        X = X0.astype(dtype)
        assert np.shares_memory(hold(X, Y0).arrays[0], X)
        S = sparse.csr_array(X)
        assert all(
            np.shares_memory(a, b) for a, b in zip(hold(S, Y0).arrays, (S.data, S.indices, S.indptr), strict=True)
        )
        mapped = np.memmap(tmp_path / f"{X.dtype}", dtype=dtype, mode="w+", shape=X.shape)
        mapped[:] = X
        assert np.shares_memory(hold(mapped, Y0).arrays[0], mapped)
        frozen = np.memmap(tmp_path / f"{X.dtype}", dtype=dtype, mode="r", shape=X.shape)
        assert sx.solve(frozen, Y0, "batch-perceptron").n_iter == sx.solve(X, Y0, "batch-perceptron").n_iter


def test_the_users_data_are_left_as_they_were():
    duplicated = sparse.csr_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    raw = sparse.csr_array((np.ones(4), np.array([1, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    sx.solve(raw, [0, 1], "batch-perceptron")
    assert raw.nnz == 4 and duplicated.nnz == 2
    X, y = noise(40, 3, 1)
    before = X.copy(), y.copy()
    sx.solve(X, y, "lr-gd", max_iter=50)
    assert np.array_equal(X, before[0]) and np.array_equal(y, before[1])


def test_public_names_are_exactly_all():
    import separatrix

    assert sorted(separatrix.__all__) == separatrix.__all__
    assert all(getattr(separatrix, name) is not None for name in separatrix.__all__)
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        _ = separatrix.solv


def test_a_missing_label_of_pandas_is_found():
    y = pd.array([True, None, False], dtype="boolean")
    with pytest.raises(ValueError, match="y is missing at row 1"):
        hold(np.eye(3), y)
