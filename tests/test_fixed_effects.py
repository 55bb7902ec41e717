"""Claims about sparse rows in which many occur with both signs: counts with fixed effects, at any size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import oracle
from separatrix.certify import Claim, check, load_proof, save_proof, separated
from separatrix.certify.modular import PRIME, independent_sparse, reduce_modulo_prime, residues
from separatrix.certify.reader import Reader, as_integers
from separatrix.data.memory import hold_signed
from separatrix.deciding.budget import Budget
from separatrix.deciding.distinct import merged
from separatrix.deciding.exact import echelon
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.search import Case
from separatrix.deciding.sparse_relations import sparse_columns
from separatrix.diagnosing import blocks
from separatrix.diagnosing.found import find_extended, independent

KINDS = {Claim.SEPARABLE: "complete", Claim.QUASI_COMPLETE: "quasi-complete", Claim.OVERLAP: "overlap"}
NO_SIMPLEX = Budget(tiny=0)  # problems that exact arithmetic would settle at once go the way of large ones
CLASSES = np.array([0, 1])


def table(X, effects, *, drop=True):
    """Regressors, one 0/1 column per level (the first left out where `drop`), and a constant, as CSR."""
    n = len(X)
    blocks = [sparse.csr_array(X)] if X.shape[1] else []
    for codes in effects:
        levels = sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, int(codes.max()) + 1))
        blocks.append(levels[:, 1:] if drop else levels)
    return sparse.csr_array(sparse.hstack([*blocks, sparse.csr_array(np.ones((n, 1)))]))


def counted(A, y):
    """The rows of counts: -x where y = 0, both x and -x where y > 0; and the observation of each."""
    of = np.repeat(np.arange(len(y)), np.where(y > 0, 2, 1))
    sign = np.where(np.append(True, of[1:] != of[:-1]), -1.0, 1.0)
    return sparse.csr_array(sparse.diags_array(sign) @ A[of]), of


def small(seed):
    """Counts with up to three fixed effects, connected or not, levels that occur once, and columns of many kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 26))
    effects = [rng.integers(0, rng.integers(1, 6), n) for _ in range(rng.integers(0, 4))]
    X = 1.0 * rng.integers(-2, 3, (n, rng.integers(0 if effects else 1, 4)))
    if X.size and seed % 3 == 1:
        X *= rng.random(X.shape) < 0.4
    if X.size and seed % 3 == 2:
        X[:, 0] = rng.standard_normal(n).round(1)  # decimals, which are not what they seem
    if X.size and effects and seed % 7 == 3:
        X[:, 0] = rng.standard_normal(9)[effects[-1]]  # a property of the level alone
    y = rng.poisson(rng.choice([0.2, 0.7, 1.5]), n)
    if X.size and seed % 5 == 0:
        y[X[:, 0] != 0] = 0
    return table(X, effects, drop=bool(seed % 2)), y


def planted(n, levels, seed):
    """Two fixed effects and five regressors with one row in a hundred separated in four ways, and which those are.

    A level of each effect with zeros only; a regressor that is positive in rows with zeros and 0 elsewhere; and a
    regressor that is another one plus effects of both kinds, and more than that in rows with zeros.
    """
    rng = np.random.default_rng(seed)
    firm, year = (np.concatenate([np.arange(L), rng.integers(0, L, n - L)]) for L in levels)
    own, common = (rng.integers(-8, 9, L) / 8 for L in levels)
    X = rng.standard_normal((n, 5))
    X[:, 1] = rng.integers(-40, 41, n) / 16
    X[:, 0] = X[:, 1] + own[firm] + common[year]
    X[:, 4] = 0.0
    y = rng.poisson(np.exp(0.2 * X[:, 2] - 0.1 * X[:, 3]))
    off = (firm == 7) | (year == 11)
    others = rng.permutation(np.flatnonzero(~off))
    k = max(n // 100 - int(off.sum()), 10) // 2
    X[others[:k], 4] = 0.5 + rng.random(k)
    X[others[k : 2 * k], 0] += rng.integers(1, 9, k) / 8
    off[others[: 2 * k]] = True
    y[off] = 0
    return X, firm, year, y, np.flatnonzero(off)


@pytest.mark.parametrize("form", ["csr", "dense"])
@pytest.mark.parametrize("first", range(0, 120, 30))
def test_kind_and_separated_rows_of_counts_with_fixed_effects_are_those_of_the_oracle(first, form):
    for seed in range(first, first + 30):
        Z, _ = counted(*small(seed))
        kind, off, _, _ = oracle.face(Z.toarray().tolist())
        rows = hold_signed(Z if form == "csr" else Z.toarray(), CLASSES)
        proof = prove_kind(Case(rows, NO_SIMPLEX))
        assert proof is not None, seed
        assert KINDS[proof.claim] == kind, seed
        assert separated(proof, rows).tolist() == np.flatnonzero(off).tolist(), seed


@pytest.mark.parametrize("by", ["simplex", "floats"])
@pytest.mark.parametrize("form", ["csr", "dense"])
def test_directions_of_counts_with_fixed_effects_are_those_of_the_oracle(form, by, monkeypatch):
    settled = 0
    monkeypatch.setattr(blocks, "TIMES", {"simplex": 10, "floats": 0}[by])
    for seed in range(80):
        Z, _ = counted(*small(seed))
        sign = np.resize([1.0, -1.0], Z.shape[0])
        answer = oracle.judge(Z.toarray() * sign[:, None], sign)
        rows = hold_signed(Z if form == "csr" else Z.toarray(), CLASSES)
        once, none = merged(rows), np.empty(0, dtype=np.int64)
        kept, relations = independent(once.rows, NO_SIMPLEX, none)
        found = find_extended(rows, once, kept, relations, NO_SIMPLEX, none)
        words = dict(zip(kept.tolist(), found.signs, strict=True))
        told = [words.get(j, "aliased") for j in range(Z.shape[1])]
        settled += "?" not in told
        assert told == [t if t == "?" else word for t, word in zip(told, answer.directions, strict=True)], seed
        assert found.separated.tolist() == answer.rows, seed
        assert check(found.proof, rows), seed
    assert settled >= {"simplex": 80, "floats": 70}[by]  # floats leave open where lines are longer than they are


def test_a_proof_in_stages_survives_its_file_and_no_change_of_it(tmp_path):
    """x is 0 where something was counted and of both signs elsewhere: its rows are tied after those counted."""
    A = table(np.array([[0.0], [0.0], [1.0], [-2.0], [0.0]]), [np.array([0, 1, 0, 1, 2])])
    Z, _ = counted(A, np.array([3, 1, 0, 0, 0]))
    rows = hold_signed(Z, CLASSES)
    proof = prove_kind(Case(rows, NO_SIMPLEX))
    assert proof.claim is Claim.QUASI_COMPLETE
    assert len(proof.earlier) == 1
    save_proof(proof, tmp_path / "p")
    again = load_proof(tmp_path / "p")
    assert check(again, rows)
    assert separated(again, rows).tolist() == [6]
    last = proof.weights[-1]
    worse = [
        replace(proof, weights=(*proof.weights[:-1], last * 2)),
        replace(proof, weights=(*proof.weights[:-1], -last)),
        replace(proof, earlier=()),
        replace(proof, claim=Claim.OVERLAP),
        replace(proof, relations={2: {proof.columns[0]: 1.0}}),
        replace(proof, columns=proof.columns[1:]),
        replace(proof, columns=proof.earlier[0].columns, relations=proof.earlier[0].relations),
        replace(proof, earlier=(replace(proof.earlier[0], rows=proof.earlier[0].rows[1:]),)),
        replace(proof, earlier=(replace(proof.earlier[0], columns=proof.columns, relations=proof.relations),)),
        replace(proof, earlier=(replace(proof.earlier[0], rows=proof.rows, weights=proof.weights),)),
        replace(proof, theta=tuple(-t for t in proof.theta)),
    ]
    assert [k for k, other in enumerate(worse) if check(other, rows)] == []


@pytest.mark.parametrize("what", ["decimals elsewhere", "decimals that decide", "columns nearly dependent"])
def test_a_kind_is_fragile_where_last_digits_of_decimals_decide_it(what):
    """A level with zeros only is not; a decimal column that equals a property of the firm, but for zeros, is."""
    X, firm, year, y, off = planted(1_000, (20, 12), seed=3)
    if what == "decimals that decide":
        y[:] = np.where(firm == 7, 0, np.maximum(y, year == 11))
        X[:, 0] = np.random.default_rng(0).standard_normal(20)[firm] + (y == 0) * 1.0
    if what == "columns nearly dependent":
        X[:, 3] = X[:, 2] + 1e-13 * X[:, 3]
    rows = hold_signed(counted(table(X, [firm, year]), y)[0], CLASSES)
    once, none = merged(rows), np.empty(0, dtype=np.int64)
    kept, relations = independent(once.rows, NO_SIMPLEX, none)
    found = find_extended(rows, once, kept, relations, NO_SIMPLEX, none)
    assert found.kind == "quasi-complete"
    assert found.fragile == (what != "decimals elsewhere")


def changed(rng, proof, Z):
    """A proof or its rows with one thing changed at random, which may by chance leave it true."""
    stages = [*proof.earlier, proof]
    at = int(rng.integers(len(stages)))
    stage, parts = stages[at], {}
    what = rng.integers(8)
    if what == 0:
        weights = list(stage.weights)
        weights[rng.integers(len(weights))] *= Fraction(int(rng.integers(0, 4)), 2)
        parts = {"weights": tuple(weights)}
    elif what == 1:
        gone = int(rng.integers(len(stage.rows)))
        without = [tuple(v for k, v in enumerate(part) if k != gone) for part in (stage.rows, stage.weights)]
        parts = {"rows": without[0], "weights": without[1]}
    elif what == 2:
        parts = {"columns": tuple(j for j in range(proof.d) if rng.random() < 0.6)}
    elif what == 3 and stage.relations:
        j = int(rng.choice(list(stage.relations)))
        terms = {k: c * int(rng.integers(0, 3)) for k, c in stage.relations[j].items()}
        parts = {"relations": {**stage.relations, j: terms}}
    elif what == 4 and stage.relations:
        j = int(rng.choice(list(stage.relations)))
        parts = {"relations": {k: v for k, v in stage.relations.items() if k != j}}
    elif what == 5:
        proof = replace(proof, claim=Claim(rng.choice(["quasi-complete", "overlap", "inseparable"])))
    elif what == 6 and proof.theta is not None:
        proof = replace(proof, theta=tuple(t * int(rng.integers(-1, 3)) for t in proof.theta))
    else:
        Z = Z.copy()
        Z.data[rng.integers(len(Z.data))] *= -1.0
    if parts and at == len(stages) - 1:
        return replace(proof, **parts), Z
    if parts:
        return replace(proof, earlier=tuple(replace(s, **parts) if s is stage else s for s in proof.earlier)), Z
    return proof, Z


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1000), marks=pytest.mark.long)], ids=["", "more"])
def test_a_proof_that_was_changed_is_refused_or_still_true(seeds):
    accepted = refused = 0
    for seed in seeds:
        Z, _ = counted(*small(seed))
        proof = prove_kind(Case(hold_signed(Z, CLASSES), NO_SIMPLEX))
        if proof.claim is Claim.SEPARABLE:
            continue
        rng = np.random.default_rng(seed)
        for _ in range(8):
            other, changed_rows = changed(rng, proof, Z)
            rows = hold_signed(changed_rows, CLASSES)
            if not check(other, rows):
                refused += 1
                continue
            accepted += 1
            kind, off, _, _ = oracle.face(changed_rows.toarray().tolist())
            assert kind == KINDS[other.claim] if other.claim is not Claim.INSEPARABLE else kind != "complete", seed
            shown = separated(other, rows)
            assert shown is None or shown.tolist() == np.flatnonzero(off).tolist(), seed
    assert min(accepted, refused) >= len(seeds) / 2


def test_a_proof_that_ties_fewer_rows_than_its_theta_leaves_at_zero_shows_no_set_of_separated_rows():
    """Two levels with zeros only, and θ that moves one of them."""
    A = table(np.zeros((4, 0)), [np.array([0, 0, 1, 2])])
    Z, _ = counted(A, np.array([2, 1, 0, 0]))
    rows = hold_signed(Z, CLASSES)
    proof = prove_kind(Case(rows, NO_SIMPLEX))
    assert separated(proof, rows).tolist() == [4, 5]
    less = replace(proof, theta=(-1.0, 0.0, 0.0))
    assert check(less, rows)
    assert separated(less, rows) is None
    assert separated(replace(less, columns=None, relations={}), rows) is None


@pytest.mark.parametrize("order", [False, True])
def test_relations_of_sparse_columns_are_those_of_exact_elimination(order):
    rng = np.random.default_rng(0)
    for seed in range(80):
        A, _ = small(seed)
        if seed % 4 == 0:  # decimals of wide range: long coefficients
            A = sparse.csr_array(A * rng.choice([0.1, 1e-9, 3e5], A.shape[1]))
        columns = rng.permutation(A.shape[1]) if order else np.arange(A.shape[1])
        reader = Reader(hold_signed(A, CLASSES))
        K, relations = sparse_columns(reader, np.arange(reader.n), order=columns if order else None)
        pivots, exact = echelon([as_integers(line) for line in A.toarray()[:, columns]])
        assert len(K) == len(pivots)
        if order:
            assert K.tolist() == sorted(columns[pivots].tolist())
            name = columns.tolist()
            assert relations == {name[j]: {name[k]: c for k, c in terms.items()} for j, terms in exact.items()}
        for line in A.toarray():
            for j in set(range(A.shape[1])) - set(K.tolist()):
                assert Fraction(line[j]) == sum(c * Fraction(line[k]) for k, c in relations.get(j, {}).items())


def test_elimination_modulo_a_prime_spans_every_column():
    rng = np.random.default_rng(1)
    for width in (1, 64, 65, 130):
        rank = max(1, width // 2)
        A = rng.integers(-9, 10, (width + 9, rank)) @ rng.integers(-9, 10, (rank, width)) * 1.0
        M = residues(A)
        pivots = reduce_modulo_prime(M)
        assert len(pivots.rows) == rank
        spanned = sum(
            M[i][None, :] * residues(A)[:, j][:, None] % PRIME for i, j in zip(pivots.rows, pivots.columns, strict=True)
        )
        assert np.array_equal(spanned % PRIME, residues(A))
        assert independent_sparse(sparse.csr_array(A[:, pivots.columns]))
        assert not independent_sparse(sparse.csr_array(A)) or width == 1


@pytest.mark.parametrize(
    ("n", "levels"), [(5_000, (200, 100)), pytest.param(50_000, (1_000, 500), marks=pytest.mark.long)]
)
def test_planted_rows_are_found_with_proof_and_without_a_dense_copy(n, levels):
    X, firm, year, y, off = planted(n, levels, seed=2)
    Z, of = counted(table(X, [firm, year]), y)
    once = merged(hold_signed(Z, CLASSES))
    resource = pytest.importorskip("resource")  # not on Windows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    proof = prove_kind(Case(once.rows))
    strict = separated(proof, once.rows)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert proof.claim is Claim.QUASI_COMPLETE
    assert check(proof, once.rows)
    assert np.unique(of[np.isin(once.which, strict)]).tolist() == off.tolist()
    assert grown < 400_000  # kilobytes; 80,000 x 1,504 entries would be 970,000
