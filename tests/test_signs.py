"""All directions of a cone at once: products to the last digit, and what is proven in coordinates seen from a point."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq_mat, fmpz_mat

import everyday
import oracle
import separatrix as sx
from separatrix.certify.reader import as_integers
from separatrix.data.memory import hold
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.search import Case, settle
from separatrix.deciding.slices import product
from separatrix.diagnosing import splitting
from separatrix.diagnosing.splitting import signs_seen
from separatrix.diagnosing.view import View
from separatrix.diagnosing.weights import signs_of_few


@pytest.mark.parametrize(("n", "d", "k", "spread"), [(30, 5, 4, 0), (20, 40, 6, 12), (7, 1, 1, 3), (6, 600, 3, 8)])
def test_a_product_is_as_near_as_it_says_whatever_cancels(n, d, k, spread):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-9, 10, (n, 1))
    B = rng.normal(size=(d, k)) * 10.0 ** rng.integers(-spread, spread + 1, (1, k))
    if d > 1:
        B[-1] = -(A[0, :-1] @ B[:-1]) / A[0, -1]  # of the first row nothing is left but last digits
    found = product(A, B, UNLIMITED)
    assert found is not None and abs(found.B - B).max() <= 1e-17 * abs(B).max()
    for a, near, error in zip(A.tolist(), found.C.tolist(), found.error.tolist(), strict=True):
        exact = [sum(Fraction(v) * Fraction(w) for v, w in zip(a, b, strict=True)) for b in found.B.T.tolist()]
        assert sum((Fraction(c) - v) ** 2 for c, v in zip(near, exact, strict=True)) <= Fraction(error) ** 2
    assert d == 1 or found.error[0] < 1e-9 * abs(A[0]).max() * abs(B).max() * 1e-6


def test_no_product_is_made_of_extreme_sizes_or_past_a_deadline():
    A = np.random.default_rng(0).normal(size=(8, 8))
    for wrong in (1e200, 1e-200, np.inf, np.nan):
        B = A.copy()
        B[1, 1] = wrong
        assert product(A, B, UNLIMITED) is None and product(B, A, UNLIMITED) is None
    A[0], hard = 1.0, np.ones((8, 8))
    hard[1::2] = -1.0  # cancels, so that it is sliced
    assert product(A, hard, UNLIMITED) is not None and product(A, hard, Budget(deadline=0.0)) is None


def seen(X, y, intercept):
    """Rows, their view and what is proven of their signs, where they can be separated."""
    case = Case(hold(X, y, fit_intercept=intercept))
    proof, _ = settle(case)
    if proof is None or proof.claim != "separable":
        return None
    Z = case.reader.dense(np.arange(case.rows.n), np.arange(case.reader.D))
    view = View.of(Z, np.array([float(t) for t in proof.theta]), UNLIMITED)
    return None if view is None else (Z, view)


def problems():
    """Small separable ones, of which many have margins near nothing or columns near dependent."""
    for seed in range(160):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 40)), int(rng.integers(1, 6))
        X, theta = rng.normal(size=(n, d)), rng.normal(size=d + 1)
        if seed % 2:
            X, y = everyday.narrow(seed, n, d, 10.0 ** -rng.integers(1, 14), float(rng.random()))
        else:
            X = np.round(X, int(rng.integers(0, 3))) if seed % 4 else X * 10.0 ** rng.integers(-9, 9, d)
            y = np.where(X @ (theta[:-1] / abs(X).max(axis=0).clip(1e-12)) + theta[-1] > 0, 1, -1)
        if len(set(y.tolist())) == 2:
            yield X, y, bool(seed % 3)


def test_signs_proven_at_once_are_those_of_the_exact_oracle():
    told: Counter[str] = Counter()
    for X, y, intercept in problems():
        found = seen(X, y, intercept)
        if found is None:
            continue
        words, answer = signs_seen(found[1], UNLIMITED), oracle.directions(X, y, intercept)
        assert all(word in ("?", right) for word, right in zip(words, answer, strict=True))
        told.update(words)
    assert min(told["+"], told["-"], told["either"]) > 40 and told["?"] < 0.1 * told.total()


def test_each_way_to_a_sign_finds_the_same(monkeypatch):
    _, view = seen(*everyday.narrow(1, 300, 60, 1e-12), True)
    words = signs_seen(view, UNLIMITED)
    assert "?" not in words and len(set(words)) == 3
    for name in ("SPLIT", "PER_COLUMN"):  # gradients alone, then functionals by themselves
        monkeypatch.setattr(splitting, name, 0)
        assert signs_seen(view, UNLIMITED) == words
    assert "?" in signs_seen(view, Budget(splitting=0)) and "?" in signs_seen(view, Budget(deadline=0.0))


def test_what_is_not_so_is_not_proven():
    Z, view = seen(*everyday.narrow(0, 200, 20, 1e-9), True)
    n, D = Z.shape
    psi = np.linalg.lstsq(view.C, np.ones(n))[0]
    assert view.inside(psi[None]).all() and (view.signs(psi[None], view.P) == np.sign(view.P @ psi)).all()
    flat = np.linalg.lstsq(view.C, np.where(np.arange(n) < D, 0.0, 1.0))[0]
    edge = psi - flat / max(float((view.C @ flat / (view.C @ psi)).max()), 1e-9)  # on the edge, or outside
    assert not view.inside(np.array([-psi, edge, 0 * psi, psi * np.nan])).any()
    lam = np.random.default_rng(0).random((1, n)) + 0.5
    g = lam @ view.C
    assert view.bound(lam, g).all() and not view.bound(lam, -g).any() and not view.bound(-lam, -g).any()
    assert not view.bound(lam, g * np.nan).any() and not view.bound(lam, g + 1e3 * g[:, ::-1]).any()
    blurred = replace(view, error=np.ones(n))
    assert not blurred.bound(lam, g).any() and not blurred.inside(psi[None]).any()


def test_rows_that_theta_does_not_separate_and_extreme_ones_are_not_looked_at():
    X, y = everyday.complete(0, 60, 5)
    Z = y[:, None] * 2.0 * X - X
    theta = np.linalg.lstsq(Z, np.ones(60))[0]
    assert View.of(Z, -np.ones(5), UNLIMITED) is None and View.of(Z, np.full(5, np.nan), UNLIMITED) is None
    assert View.of(Z * 1e-320, theta, UNLIMITED) is None or not (Z @ theta > 0).all()
    assert View.of(np.hstack([Z, Z]), np.tile(theta, 2), UNLIMITED) is None  # dependent columns
    assert View.of(Z, theta, Budget(deadline=0.0)) is None


def test_hundreds_of_signs_of_a_narrow_cone_are_settled():
    X, y = everyday.narrow(0, 400, 100, 1e-12)
    found = sx.diagnose(X, y)
    assert found.kind == "complete" and not found.notes and set(found.columns.values()) <= {"+", "-", "either"}
    assert found.columns == sx.diagnose(X, y, time_limit=600).columns


def test_signs_of_as_many_rows_as_columns_or_one_more_are_those_of_the_exact_oracle():
    told: Counter[str] = Counter()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 6))
        n = d + int(rng.integers(0, 2))
        Z = rng.integers(-3, 4, (n, d)).astype(float) * 2.0 ** rng.integers(-2, 3, d)
        y = np.resize([1, -1], n)
        if n < 2 or np.linalg.matrix_rank(Z) < d or not oracle.separable(y[:, None] * Z, y):
            continue
        rows = [as_integers([Fraction(v) for v in z]) for z in Z.tolist()]
        signs = signs_of_few(rows, [{j: Fraction(1, 3)} for j in range(d)], 10**6)
        if signs is not None:
            assert signs == oracle.directions(y[:, None] * Z, y)
            told.update(signs)
    assert min(told["+"], told["-"], told["either"]) > 20


def test_more_bits_than_allowed_or_dependent_rows_are_left_alone():
    rows, g = [[2, 1], [1, 3]], [{0: Fraction(1)}]
    assert signs_of_few(rows, g, 10**6) is not None and signs_of_few(rows, g, 1) is None
    assert signs_of_few([[1, 2], [2, 4]], g, 10**6) is None


def test_the_ladder_has_the_signs_of_its_inverse():
    X, y = everyday.ladder(150)
    Z = np.column_stack([X, np.ones(len(X))]) * y[:, None]
    M = fmpq_mat(fmpz_mat(Z.T.astype(int).tolist())).inv()
    columns = [[M[i, j] for i in range(151)] for j in range(151)]
    right = ["+" if min(c) >= 0 else "-" if max(c) <= 0 else "either" for c in columns]
    found = sx.diagnose(X, y)
    assert [*found.columns.values()] == right and not found.notes
