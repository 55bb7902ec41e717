"""Vertices that floats name are proven in whole numbers, or others in their place."""

from __future__ import annotations

import numpy as np
import pytest

import everyday
import oracle
import separatrix as sx
from separatrix.certify import Claim, check
from separatrix.data.memory import hold
from separatrix.deciding import vertex
from separatrix.deciding.search import Case
from separatrix.deciding.vertex import by_vertex


def narrow_or_tied(seed):
    """Small rows of every kind: with a margin, next to none, tied, or labelled at random."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(2, 6))
    X = rng.integers(-9, 10, (n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    m = X @ rng.integers(-3, 4, d)
    y = np.where(m == 0, rng.choice([-1, 1], n), np.sign(m)).astype(int)
    if seed % 3 == 0:
        y = rng.choice([-1, 1], n)
    y[:2] = -1, 1
    if seed % 5 == 0:
        X[-1], y[-1] = X[0] * (1 + 2.0**-50), -y[0]
    return X, y, bool(seed % 7 % 2)


@pytest.mark.parametrize("seed", range(40))
def test_what_a_vertex_shows_is_what_the_exact_oracle_says(seed):
    X, y, intercept = narrow_or_tied(seed)
    rows = hold(X, y, fit_intercept=intercept)
    proof = by_vertex(Case(rows))
    kind = oracle.kind(X, y, intercept)
    assert proof is not None and check(proof, rows)
    assert (proof.claim is Claim.SEPARABLE) == (kind == "complete")
    assert proof.claim is not Claim.OVERLAP or kind == "overlap"


@pytest.mark.parametrize("guess", ["none", "one row"])
def test_a_poor_guess_costs_pivots_only(guess, monkeypatch):
    X, y, intercept = narrow_or_tied(3)
    weights = np.ones(len(X)) if guess == "none" else np.eye(len(X))[0]
    monkeypatch.setattr(vertex, "guessed", lambda A, budget: (np.zeros(A.shape[1]), weights))
    proof = by_vertex(Case(hold(X, y, fit_intercept=intercept)))
    assert (proof.claim is Claim.SEPARABLE) == (oracle.kind(X, y, intercept) == "complete")


@pytest.mark.parametrize("seed", [0, 1])
def test_powers_of_a_number_with_two_labels_turned_are_decided_to_the_bit(seed):
    X, y = everyday.polynomial_with_two_turned(seed)
    found = sx.separate(X, y, fit_intercept=True)
    assert found.certainty == "proven" and found.verify(X, y)


def test_powers_of_a_number_beside_a_level_with_one_outcome_are_quasi_complete():
    X, y = everyday.polynomial_and_a_level(0)
    found = sx.diagnose(X, y)
    assert (found.kind, found.certainty) == ("quasi-complete", "proven") and sx.verify(found.proof, X, y)
    assert found.rows.tolist() == np.flatnonzero(X[:, -1]).tolist()
