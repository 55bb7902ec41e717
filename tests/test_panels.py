"""Factorisations in panels are those of LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.deciding import panels
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.panels import Reflections, cholesky, cholesky_in_panels, gram, qr, triangle
from separatrix.deciding.relations import _rank


def matrices() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((90, 41))
    repeated, zeros = A.copy(), A.copy()
    repeated[:, 9:30] = A[:, :3] @ rng.standard_normal((3, 21))
    zeros[:, [0, 7, 8, 40]] = 0.0
    return {
        "random": A,
        "square": A[:41],
        "narrow": A[:, :5],
        "one row": A[:1, :1],
        "rank-deficient": repeated,
        "zero columns": zeros,
        "nothing": np.zeros((20, 17)),
        "identity": np.eye(30, 20),
        "uneven columns": A * 10.0 ** rng.uniform(-120, 120, 41),
        "uneven rows": A * 10.0 ** rng.uniform(-12, 12, 90)[:, None],
        "singular values down to 2^-60": np.linalg.qr(A)[0] * 2.0 ** -np.linspace(0, 60, 41) @ np.linalg.qr(A[:41])[0],
    }


@pytest.mark.parametrize("width", [1, 8, 41, 64])
@pytest.mark.parametrize("name", matrices())
def test_reflections_in_panels_make_an_orthonormal_q_and_give_back_every_column(name, width):
    A = matrices()[name]
    found = Reflections(A, UNLIMITED, width).both()
    assert found is not None
    Q, R = found
    length = np.linalg.norm(A, axis=0)
    assert np.array_equal(R, np.triu(R))
    assert abs(Q.T @ Q - np.eye(A.shape[1])).max() < 1e-14
    assert (np.linalg.norm(Q @ R - A, axis=0) <= 1e-14 * length).all()
    assert np.array_equal(R, Reflections(A, UNLIMITED, width).triangle())


@pytest.mark.parametrize("name", ["random", "square", "narrow", "identity", "uneven columns"])
def test_reflections_in_panels_are_lapacks_but_for_rounding(name):
    A = matrices()[name]
    Q, R = Reflections(A, UNLIMITED, 8).both() or pytest.fail("late")
    q, r = np.linalg.qr(A)
    assert np.allclose(Q, q, rtol=0, atol=1e-12)
    assert (abs(R - r) <= 1e-12 * np.linalg.norm(A, axis=0)).all()


@pytest.mark.parametrize("width", [1, 8, 64])
def test_cholesky_in_panels_is_lapacks_but_for_rounding(width):
    A = matrices()["random"]
    H = A.T @ A
    L = np.tril(cholesky_in_panels(H.copy(), width))
    assert np.allclose(L, np.linalg.cholesky(H), rtol=0, atol=1e-12)
    assert np.allclose(np.tril(cholesky_in_panels(np.asfortranarray(H), width)), L, rtol=0, atol=1e-12)


@pytest.mark.parametrize("at", [0, 7, 30, 40])
def test_cholesky_in_panels_refuses_what_is_not_positive_definite(at):
    H = np.eye(41)
    H[at, at] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_in_panels(H, 8)


def test_large_matrices_go_through_panels_and_small_ones_through_lapack(monkeypatch):
    A = matrices()["random"]
    small = qr(A, UNLIMITED), triangle(A, UNLIMITED), gram(A), cholesky(A.T @ A)[0]
    monkeypatch.setattr(panels, "AT_ONCE", 0)
    large = qr(A, UNLIMITED), triangle(A, UNLIMITED), gram(A), cholesky(A.T @ A)[0]
    for a, b in zip((*small[0], *small[1:3]), (*large[0], *large[1:3]), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-12)
    assert np.allclose(np.tril(small[3]), np.tril(large[3]), rtol=0, atol=1e-12)


def test_past_the_deadline_panels_stop_and_all_columns_count_as_independent(monkeypatch):
    A, late = matrices()["rank-deficient"], Budget(deadline=0.0)
    assert len(_rank(A, UNLIMITED, ordered=True)[1]) == 21
    monkeypatch.setattr(panels, "AT_ONCE", 0)
    assert len(_rank(A, UNLIMITED, ordered=True)[1]) == 21
    assert qr(A, late) is None and triangle(A, late) is None
    kept, left = _rank(A, late, ordered=True)
    assert len(kept) == 41 and len(left) == 0
