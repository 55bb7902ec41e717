"""A proof is accepted if and only if it holds: whatever is changed in it, or in the data, that matters is noticed."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
import separatrix as sx
import separatrix.certify
from conftest import noise, planted
from separatrix.certify import Claim, Proof, ProofError, verify
from separatrix.certify.check import equilibrate, slack
from separatrix.certify.face import exact_gordan
from separatrix.certify.reader import Reader, as_integers, relation_vector
from separatrix.data.memory import hold, hold_signed
from separatrix.deciding import exact
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.relations import independent_columns
from separatrix.deciding.search import Case
from zoo import small_problem

F = Fraction


def prove(X, y, intercept=False, budget=UNLIMITED):
    return prove_kind(Case(hold(X, y, fit_intercept=intercept), budget))


def face_data(seed=0):
    """Quasi-complete rows, too many for exact arithmetic to come first: (X, y) of whole numbers."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-5, 6, (300, 10)).astype(float)
    Z[:150, 0], Z[150:, 0] = 0, rng.integers(1, 5, 150)
    Z[:, 9] = Z[:, 1] + 2 * Z[:, 2]
    y = np.resize([-1, 1], 300)
    return y[:, None] * Z, y


def tied_data():
    """Overlapping rows with a column that is an exact combination of two others, and one that is zero."""
    X, y = noise(300, 9, 0)
    X = np.rint(64 * X)
    X[:, 7], X[:, 8] = 3 * X[:, 0] - X[:, 1], 0
    return X, y


def data():
    return {
        "separable": (*planted(80, 9, 0.1, 0), False),
        "intercept": (planted(80, 9, 0.5, 0)[0] + 3.0, planted(80, 9, 0.5, 0)[1], True),
        "overlap": (*noise(300, 9, 0), False),
        "tied": (*tied_data(), False),
        "face": (*face_data(), False),
        "sparse": (sparse.random(160, 30, 0.2, "csr", rng=np.random.default_rng(5)), noise(160, 1, 5)[1], True),
    }


@pytest.fixture(scope="module")
def proven():
    """(X, y, proof) of every kind, as separate and prove_kind give them."""
    found = {}
    for name, (X, y, intercept) in data().items():
        found[name] = (X, y, prove(X, y, intercept))
    X, y = face_data()
    some = np.r_[:30, 150:160]
    found["exact face"] = (X[some], y[some], prove(X[some], y[some]))
    small = noise(30, 3, 0)
    found["exact overlap"] = (*small, prove(*small))
    for _, _, proof in found.values():
        assert proof is not None
    return found


def test_proofs_of_every_argument_are_at_hand(proven):
    assert {(str(p.claim), p.argument) for _, _, p in proven.values()} >= {
        ("separable", "separator"), ("overlap", "cholesky"), ("overlap", "gordan"), ("quasi-complete", "gordan"),
        ("quasi-complete", "cholesky"),
    }  # fmt: skip
    assert proven["tied"][2].relations


def test_every_proof_verifies_also_after_a_file(proven, tmp_path):
    for X, y, proof in proven.values():
        assert verify(proof, X, y)
        sx.save_proof(proof, tmp_path / "p.json")
        again = sx.load_proof(tmp_path / "p.json")
        assert verify(again, X, y) and str(again) == str(proof)
        assert (again.theta, again.weights, again.rows) == (proof.theta, proof.weights, proof.rows)
    for seed in range(150):
        _, X, y, intercept = small_problem(seed)
        proof = sx.separate(X, y, fit_intercept=intercept).proof
        sx.save_proof(proof, tmp_path / "p.json")
        assert verify(sx.load_proof(tmp_path / "p.json"), X, y), seed


def test_a_proof_file_is_json_text_and_nothing_else(proven, tmp_path):
    path = tmp_path / "p.json"
    sx.save_proof(proven["exact face"][2], path)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["format"] == "separatrix proof 1" and text.endswith("\n")
    for file in Path(separatrix.certify.__file__).parent.glob("*.py"):
        names = {n.name for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.alias)}
        assert not names & {"pickle", "marshal", "shelve", "joblib"}


def test_a_proof_is_written_whole_or_not_at_all(proven, tmp_path, monkeypatch):
    path = tmp_path / "p.json"
    sx.save_proof(proven["overlap"][2], path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        sx.save_proof(proven["face"][2], path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="JSON compliant"):
        sx.save_proof(Proof(Claim.SEPARABLE, 1, 1, False, theta=(float("nan"),)), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_theta_that_turns_a_row_is_rejected(proven):
    for name in ("separable", "intercept"):
        X, y, proof = proven[name]
        theta = np.array(proof.theta, dtype=float)
        A = np.column_stack([X, np.ones(len(y))]) if proof.intercept else X
        Z = A * y[:, None]
        for j in range(len(theta)):
            for value in (-theta[j], 0.0, theta[j] + 1.01 * (Z @ theta).max() / abs(Z[:, j]).max() * 1e3):
                changed = theta.copy()
                changed[j] = value
                holds = bool((Z @ changed > 1e-9).all())
                if not holds and (Z @ changed < -1e-9).any():
                    assert not verify(replace(proof, theta=tuple(changed.tolist())), X, y)
                if holds:
                    assert verify(replace(proof, theta=tuple(changed.tolist())), X, y)
        assert not verify(replace(proof, theta=tuple((-theta).tolist())), X, y)
        assert not verify(replace(proof, theta=(0.0,) * len(theta)), X, y)
    for name in ("face", "exact face"):
        X, y, proof = proven[name]
        assert not verify(replace(proof, theta=tuple(-t for t in proof.theta)), X, y)
        assert not verify(replace(proof, theta=tuple(0 * t for t in proof.theta)), X, y)
        assert not verify(replace(proof, theta=None), X, y)
        at = next(j for j, t in enumerate(proof.theta) if t)
        moved = tuple(F(t) + (F(1, 10**60) if j != at else 0) for j, t in enumerate(proof.theta))
        Z = oracle.oriented(X, y)
        right = all(sum(a * t for a, t in zip(z, moved, strict=True)) >= 0 for z in Z)
        assert verify(replace(proof, theta=moved), X, y) == right


def test_weights_that_are_no_solution_are_rejected(proven):
    for name in ("exact face", "exact overlap", "face", "overlap", "tied", "sparse"):
        X, y, proof = proven[name]
        if proof.weights is None:
            continue
        for at in (0, len(proof.weights) // 2, len(proof.weights) - 1):
            top = max(float(w) for w in proof.weights)
            for value in (-proof.weights[at], 0 * proof.weights[at], float("nan"), 1e6 * top):
                weights = tuple(value if i == at else w for i, w in enumerate(proof.weights))
                assert not verify(replace(proof, weights=weights), X, y), (name, at, value)
        if proof.columns is None:  # exact: no slack at all
            weights = (F(proof.weights[0]) * (1 + F(1, 10**40)), *proof.weights[1:])
            assert not verify(replace(proof, weights=weights), X, y)
        else:  # a solution lies near: a change below rounding is within the slack
            weights = (np.nextafter(float(proof.weights[0]), 2.0), *proof.weights[1:])
            assert verify(replace(proof, weights=weights), X, y)


def test_rows_columns_and_relations_that_are_others_are_rejected(proven):
    X, y, proof = proven["exact overlap"]
    rows = list(proof.rows)
    rows[0], rows[1] = rows[1], rows[0]
    assert proof.weights[0] != proof.weights[1] and not verify(replace(proof, rows=tuple(rows)), X, y)
    for name in ("tied", "overlap", "face"):
        X, y, proof = proven[name]
        for j in range(len(proof.columns)):
            less = proof.columns[:j] + proof.columns[j + 1 :]
            assert not verify(replace(proof, columns=less), X, y), (name, j)
    X, y, proof = proven["tied"]
    ((j, terms),) = proof.relations.items()
    for k in terms:
        for c in (terms[k] + 1, terms[k] * (1 + F(1, 2**80)), -terms[k], F(0)):
            assert not verify(replace(proof, relations={j: {**terms, k: c}}), X, y)
    assert not verify(replace(proof, relations={}), X, y)
    assert not verify(replace(proof, relations={**proof.relations, proof.columns[0]: {}}), X, y)
    assert not verify(replace(proof, columns=(*proof.columns, 8)), X, y)  # a zero column has no rank
    assert not verify(replace(proof, columns=(*proof.columns, j), relations={}), X, y)


def test_a_claim_is_not_raised_to_one_that_is_false(proven):
    for X, y, proof in proven.values():
        for claim in Claim:
            weaker = claim is Claim.INSEPARABLE and proof.claim is not Claim.SEPARABLE
            ok = claim is proof.claim or weaker
            assert verify(replace(proof, claim=claim), X, y) == ok, (proof.claim, claim)
    for seed in range(300):
        _, X, y, intercept = small_problem(seed)
        proof, kind = prove(X, y, intercept), oracle.kind(X, y, intercept)
        for claim in Claim:
            true = {"separable": "complete"}.get(claim, str(claim)) == kind
            true |= claim is Claim.INSEPARABLE and kind != "complete"
            assert true or not verify(replace(proof, claim=claim), X, y), seed


def test_sizes_and_intercept_must_be_those_of_the_data(proven):
    for X, y, proof in proven.values():
        assert not verify(replace(proof, n=proof.n + 1), X, y) and not verify(replace(proof, d=proof.d + 1), X, y)
        assert not verify(proof, X[:-1], y[:-1]) and not verify(proof, X[:, :-1], y)
    X, y, proof = proven["overlap"]
    assert not verify(replace(proof, intercept=True), X, y)
    X, y, proof = proven["intercept"]
    assert not verify(replace(proof, intercept=False), X, y)


def test_data_changed_where_it_matters_are_rejected(proven):
    X, y, proof = proven["separable"]
    for i in (0, 17, 79):
        turned, flipped = X.copy(), y.copy()
        turned[i] *= -1
        flipped[i] *= -1
        assert not verify(proof, turned, y) and not verify(proof, X, flipped)
    X, y, proof = proven["tied"]
    for i, j in ((0, 7), (299, 0), (150, 8)):
        broken = X.copy()
        broken[i, j] = np.nextafter(broken[i, j], np.inf)
        assert not verify(proof, broken, y), (i, j)
    X, y, proof = proven["exact overlap"]
    broken = X.copy()
    broken[3, 1] = np.nextafter(broken[3, 1], np.inf)
    assert not verify(proof, broken, y)


def test_data_changed_where_it_does_not_matter_are_accepted(proven):
    X, y, proof = proven["separable"]
    assert verify(proof, X * 3, y) and verify(proof, X * np.arange(1, 81)[:, None], (y > 0).astype(int))
    assert verify(proof, sparse.csr_array(X), y) and verify(proof, np.asfortranarray(X), list(y))
    X, y, proof = proven["overlap"]
    assert verify(proof, X * (1 + 1e-14 * np.sin(np.arange(300))[:, None]), y)
    assert verify(proof, np.nextafter(X, 9), y) and verify(proof, sparse.csr_array(X), y) and verify(proof, -X, -y)
    X, y, proof = proven["exact face"]
    off = next(i for i in range(len(y)) if i not in proof.rows)
    more = X.copy()
    more[off] *= 7
    assert verify(proof, more, y)


@pytest.mark.parametrize(
    "parts",
    [
        {"claim": Claim.OVERLAP, "rows": (0, 1, 0, 1), "weights": (1.0,) * 4},
        {"claim": Claim.OVERLAP, "rows": (0, 1, -4, -3), "weights": (1.0,) * 4},
        {"claim": Claim.SEPARABLE, "theta": (0.0, 0.0, 0.0, 1.0)},
        {"claim": Claim.SEPARABLE, "theta": (1.0,)},
        {"claim": Claim.SEPARABLE, "theta": (float("nan"), 1.0)},
        {"claim": Claim.SEPARABLE, "theta": (float("inf"), 1.0)},
        {"claim": Claim.INSEPARABLE, "rows": (0, 1), "weights": (1.0, 1.0, 1.0)},
        {"claim": Claim.INSEPARABLE, "rows": (0, 1, 2), "weights": (1.0, 1.0)},
        {"claim": Claim.INSEPARABLE, "rows": (0, 9), "weights": (1.0, 1.0)},
        {"claim": Claim.INSEPARABLE, "rows": (0, 1), "weights": (float("inf"), 1.0)},
        {"claim": Claim.INSEPARABLE, "rows": (), "weights": ()},
        {"claim": Claim.INSEPARABLE, "rows": (0, 1), "weights": (1.0, 1.0), "columns": (0,), "relations": {7: {0: 1}}},
        {"claim": Claim.INSEPARABLE, "rows": (0, 2), "weights": (1.0, 1.0), "columns": (), "relations": {}},
        {"claim": Claim.INSEPARABLE, "rows": (0, 1), "weights": (1.0, 1.0), "columns": (0, 0)},
        {"claim": Claim.INSEPARABLE, "rows": (0, 1), "weights": (1.0, 1.0), "columns": (0, 5)},
    ],
    ids=str,
)
def test_a_proof_out_of_shape_is_false_and_no_accident(parts):
    Z = np.array([[1.0, 0], [-1, 0], [0, 1], [1, 1]])  # quasi-complete: row 1 is minus row 0
    y = np.array([1, 1, 1, -1])
    assert verify(Proof(n=4, d=2, intercept=False, **parts), y[:, None] * Z, y) is False


def test_a_theta_too_long_never_reads_what_is_not_there():
    accepted = 0
    for seed in range(60):
        X = np.random.default_rng(seed).standard_normal((6, 2))
        left = [np.full((6, 1), 5.0) for _ in range(20)]  # memory that np.empty may be given next
        del left
        proof = Proof(Claim.SEPARABLE, 6, 2, False, theta=(0.0, 0.0, 0.0, 1.0))
        accepted += verify(proof, X * 0 + 1, [1, -1, 1, -1, 1, -1])
    assert accepted == 0


def test_a_weight_beyond_float64_is_judged_and_no_accident():
    X, y = np.array([[1.0, 0], [1, 0]]), [1, -1]
    huge = (F(10**400), F(10**400))
    for columns in (None, (0,)):
        proof = Proof(Claim.INSEPARABLE, 2, 2, False, rows=(0, 1), weights=huge, columns=columns)
        assert verify(proof, X, y) in (True, False)


GOOD = {
    "format": "separatrix proof 1", "claim": "separable", "n": 4, "d": 2, "intercept": False, "theta": [1, 2],
    "rows": None, "weights": None, "columns": None, "relations": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "[" * 100_000, '{"format": "separatrix proof 1"}', '{"format": "separatrix proof 2"}']
    + ['{"format": "separatrix proof 1", "n": ' + "1" * 5000 + "}"]
    + [json.dumps({k: v for k, v in GOOD.items() if k != key}) for key in GOOD if key != "relations"]
    + [
        json.dumps({**GOOD, key: value})
        for key, values in {
            "n": (-1, True, 2.0, "4", None, 2**70), "d": (-1, 3), "intercept": (0, None, True),
            "claim": ("maybe", [], 1),
            "theta": ([1], [1, 2, 3], ["1/0", 1], ["z/1", 1], ["1", 1], [float("nan"), 1], [10**400, 1],
                      [None, 1], "12"),
            "rows": ([0], "0", [0.5]), "weights": ([1.0],), "columns": ([2], [0, 0], [-1], 3, [True]),
            "relations": (None, 5, [[0]], [[0, [[1]]]], [[0, [[7, 1.0]]]], [[9, []]], {"a": 1}),
        }.items()
        for value in values
    ],
    ids=lambda text: text[-60:] if len(text) < 1000 else f"{text[:1]}…{len(text)}",
)  # fmt: skip
def test_a_damaged_file_is_refused_in_one_sentence(text, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProofError, match=r"\.$") as caught:
        sx.load_proof(path)
    assert "\n" not in str(caught.value) and "p.json" in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(b"\xff\x00\x80\x04")
    with pytest.raises(ProofError, match="not JSON text"):
        sx.load_proof(path)
    with pytest.raises(FileNotFoundError):
        sx.load_proof(tmp_path / "none.json")


def test_a_cut_file_is_refused_wherever_it_is_cut(proven, tmp_path):
    path = tmp_path / "p.json"
    sx.save_proof(proven["exact face"][2], path)
    text = path.read_text(encoding="utf-8")
    for length in range(0, len(text) - 2, 37):
        path.write_text(text[:length], encoding="utf-8")
        with pytest.raises(ProofError):
            sx.load_proof(path)


def nasty(rng, n, d):
    """Rows and a v made to cancel, of sizes from subnormal to 1e300."""
    way = int(rng.integers(6))
    X = rng.standard_normal((n, d))
    v = rng.standard_normal(d).tolist()
    if way == 1:
        X = X * 10.0 ** rng.integers(-300, 300, (n, d))
    if way == 2:
        X = rng.integers(-20, 21, (n, d)) * 5e-324
    if way == 3:
        X = rng.integers(-(2**40), 2**40, (n, d)) * 2.0 ** int(rng.integers(-60, 60))
        v = [F(int(rng.integers(-(2**62), 2**62)), int(rng.integers(1, 2**62))) for _ in range(d)]
    if way == 4:
        v = [t * 10.0 ** int(rng.integers(-300, 300)) for t in v]
    if way == 5:
        X = rng.integers(-3, 4, (n, d)) * 0.1
        v = rng.integers(-3, 4, d).astype(float).tolist()
    if d > 1:  # the last column all but cancels the others in half of the rows
        last = [sum(F(a) * F(t) for a, t in zip(x[:-1], v[:-1], strict=True)) for x in X.tolist()]
        for i in range(0, n, 2):
            if v[-1]:
                ratio = -last[i] / F(v[-1])
                if abs(ratio) < 10**300:
                    X[i, -1] = float(ratio)
    return X, v


def test_signs_are_those_of_fractions():
    rng = np.random.default_rng(0)
    zeros = 0
    for _ in range(500):
        n, d = int(rng.integers(2, 12)), int(rng.integers(1, 7))
        X, v = nasty(rng, n, d)
        y = rng.permuted(np.resize([-1, 1], n))
        intercept = bool(rng.integers(2))
        if intercept:
            v = [*v, -sum(F(a) * F(t) for a, t in zip(X[0].tolist(), v, strict=True))]
        try:
            problem = hold(sparse.csr_array(X) if rng.integers(2) else X, y, fit_intercept=intercept)
        except (RuntimeWarning, OverflowError):  # subnormal data alone: a complaint of hold, tested elsewhere
            continue
        values = [sum(z * F(t) for z, t in zip(row, v, strict=True)) for row in oracle.oriented(X, y, intercept)]
        expected = [(s > 0) - (s < 0) for s in values]
        assert Reader(problem).signs(v).tolist() == expected
        some = np.flatnonzero(rng.random(n) < 0.5)
        if len(some):
            assert Reader(problem).signs(v, some).tolist() == [expected[i] for i in some]
        zeros += expected.count(0)
    assert zeros > 100


def test_floats_become_the_whole_numbers_that_fractions_make_of_them():
    rng = np.random.default_rng(3)
    for kind in range(300):
        v = rng.normal(size=6) * 10.0 ** rng.integers(-300, 300, 6)
        if kind % 3 == 0:
            v = np.ldexp(rng.integers(-99, 100, 6), rng.integers(-1074, -1000, 6))
        v[rng.random(6) < 0.3] = 0.0
        assert as_integers(v) == as_integers([Fraction(float(t)) for t in v])
    assert as_integers(np.empty(0)) == []


def test_slack_is_never_positive_without_a_positive_solution():
    rng = np.random.default_rng(0)
    refused = granted = 0
    for _ in range(1500):
        m, r = int(rng.integers(2, 9)), int(rng.integers(1, 5))
        Z = rng.integers(-3, 4, (m, r)).astype(float)
        if rng.random() < 0.3 and r > 1:
            Z[:, -1] = Z[:, 0] * rng.integers(-2, 3)  # no full rank
        if rng.random() < 0.3:
            Z *= 2.0 ** rng.integers(-20, 20, (m, 1))
        y = rng.permuted(np.resize([-1, 1], m))
        reader = Reader(hold(y[:, None] * Z, y))
        lam = rng.random(m) + 1e-3
        U, s, _ = np.linalg.svd(Z, full_matrices=True)
        null = U[:, int((s > 1e-9).sum()) :]
        near = null @ (null.T @ np.ones(m))  # a solution, positive or not
        for weights in (lam, np.maximum(near, 1e-12), np.where(near > 0, near, 1e-3)):
            found = slack(reader, np.arange(m), weights, np.arange(r))
            if found > 0:
                granted += 1
                full = np.linalg.matrix_rank(Z) == r
                assert full and oracle.face(Z.tolist())[0] == "overlap"
            else:
                refused += 1
    assert granted > 50 and refused > 1000


def test_exact_weights_are_told_from_weights_a_last_bit_away():
    Z, y = np.array([[1.0, 0], [-1, 0], [0.5, 1], [-0.5, -1]]), np.array([1, -1, 1, -1])
    proof = Proof(Claim.OVERLAP, 4, 2, False, rows=(0, 1, 2, 3), weights=(1.0,) * 4)
    assert verify(proof, y[:, None] * Z, y)
    Z[2, 0] = np.nextafter(0.5, 1)
    assert not verify(proof, y[:, None] * Z, y)
    assert not verify(replace(proof, claim=Claim.INSEPARABLE), y[:, None] * Z, y)


def test_the_checker_knows_nothing_of_the_solver():
    folder = Path(separatrix.certify.__file__).parent
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.split(".")[0] == "separatrix" and not name.startswith("separatrix.certify"):
                    # Where rows are, how tables become a model's rows, what claims' words mean, how files are written.
                    known = ("separatrix.data", "separatrix.models", "separatrix.core.constants")
                    known += ("separatrix.reporting.status", "separatrix.reporting.writing")
                    assert name.startswith(known), (file.name, name)


# Attacks: proofs that are false, and must be found so whatever the scale, the types or the order of their parts.


def outcome(proof, X, y):
    """True, False, or the name of what was raised."""
    try:
        return verify(proof, X, y)
    except Exception as error:
        return type(error).__name__


def true_claims(kind):
    return {"complete": {"separable"}}.get(kind, {"inseparable", kind})


@pytest.mark.parametrize("claim", [Claim.INSEPARABLE, Claim.OVERLAP])
@pytest.mark.parametrize("tiny", [1e-100, 1e-150, 1e-165, 1e-170, 1e-200, 1e-280])
def test_a_residual_whose_square_underflows_is_no_zero(claim, tiny, tmp_path):
    Z, y = np.array([[1, tiny], [-1, tiny], [0, 1]]), np.array([1, -1, 1])
    X = y[:, None] * Z
    assert oracle.kind(X, y) == "complete"  # θ = (0, 1)
    proof = Proof(claim, 3, 2, False, rows=(0, 1, 2), weights=(0.5, 0.5, tiny), columns=(0, 1))
    sx.save_proof(proof, tmp_path / "p.json")
    assert not verify(sx.load_proof(tmp_path / "p.json"), X, y)


@pytest.mark.parametrize("weight", [1e-20, 1e-100, 1e-170, 1e-250, 1e-300, 1e-320, 5e-324])
def test_a_zero_row_lends_its_weight_to_no_other(weight):
    Z, y = np.ones((101, 1)), np.resize([1, -1], 101)
    Z[0] = 0
    X = y[:, None] * Z
    proof = Proof(Claim.OVERLAP, 101, 1, False, rows=tuple(range(101)), weights=(1.0, *(weight,) * 100), columns=(0,))
    assert not verify(proof, X, y)  # quasi-complete
    assert verify(Proof(Claim.INSEPARABLE, 101, 1, False, rows=(0,), weights=(1.0,)), X, y)


def test_slack_is_never_positive_at_extreme_scales_without_a_positive_solution():
    rng = np.random.default_rng(1)
    scales = np.array([0.0, 0.0, 1.0, 1e-30, 1e-80, 1e-120, 1e-165, 1e-175, 1e-250])
    granted, wrong, warned = 0, [], []
    for trial in range(1200):
        m, r = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        Z = rng.integers(-2, 3, (m, r)).astype(float)
        _, _, _, lam = oracle.face(Z.tolist())
        weights = np.array([float(w) if w else rng.choice(scales[2:]) for w in lam])
        where = rng.random((m, r)) < 0.3
        Z = np.where(where, Z * rng.choice(scales, (m, r)), Z)
        y = rng.permuted(np.resize([-1, 1], m))
        reader = Reader(hold(y[:, None] * Z, y))
        try:
            found = slack(reader, np.arange(m), weights, np.arange(r))
        except RuntimeWarning:
            warned.append((trial, Z.tolist(), weights.tolist()))
            continue
        if found > 0:
            granted += 1
            if oracle.face(Z.tolist())[0] != "overlap":
                wrong.append((trial, Z.tolist(), weights.tolist()))
    assert granted > 50
    assert not wrong, f"{len(wrong)} granted without a solution, the first of them {wrong[0]}"
    assert not warned, f"{len(warned)} give a warning, the first of them {warned[0]}"


def test_slack_is_never_positive_for_nearly_singular_columns_without_a_solution():
    rng = np.random.default_rng(2)
    granted = 0
    for trial in range(400):
        m, r = int(rng.integers(3, 8)), int(rng.integers(2, 4))
        Z = rng.integers(-3, 4, (m, r)).astype(float)
        Z[:, -1] = Z[:, 0] + rng.integers(-1, 2, m) * 2.0 ** -int(rng.integers(10, 60))
        lam = [float(w) if w else 2.0 ** -int(rng.integers(1, 60)) for w in oracle.face(Z[:, :-1].tolist())[3]]
        y = rng.permuted(np.resize([-1, 1], m))
        if slack(Reader(hold(y[:, None] * Z, y)), np.arange(m), np.array(lam), np.arange(r)) > 0:
            granted += 1
            assert oracle.face(Z.tolist())[0] == "overlap", (trial, Z.tolist(), lam)
    assert granted > 10


def mutated(rng, proof):
    """The proof with one part changed at random."""
    D = proof.d + proof.intercept
    odd = [0.0, -1.0, 5e-324, 1e-300, 1e-170, 1e300, 0.5, 3.0, F(1, 3), F(-7), F(1, 10**400), float("nan"), True]

    def one_changed(values, choices):
        at, value = int(rng.integers(len(values))), choices[int(rng.integers(len(choices)))]
        return tuple(value if k == at else v for k, v in enumerate(values))

    ways = [lambda: {"claim": list(Claim)[rng.integers(4)]}]
    if proof.theta:
        ways.append(lambda: {"theta": one_changed(proof.theta, [*odd, *proof.theta])})
    if proof.rows:
        ways += [
            lambda: {"weights": one_changed(proof.weights, [*odd, *proof.weights])},
            lambda: {"rows": one_changed(proof.rows, list(range(proof.n)))},
            lambda: {"columns": tuple(range(D)), "relations": {}},
            lambda: {"columns": None},
            lambda: {"columns": (), "relations": {j: {} for j in range(D)}},
        ]
        keep = int(rng.integers(1, len(proof.rows) + 1))
        ways.append(lambda: {"rows": proof.rows[:keep], "weights": proof.weights[:keep]})
    if proof.columns:
        ways.append(lambda: {"columns": one_changed(proof.columns, list(range(D)))})
        ways.append(lambda: {"columns": proof.columns[1:], "relations": {proof.columns[0]: {}}})
    for j, terms in proof.relations.items():
        for k in terms:
            ways.append(lambda j=j, k=k, t=terms: {"relations": {**proof.relations, j: {**t, k: odd[rng.integers(9)]}}})
            ways.append(lambda j=j, k=k: {"relations": {**proof.relations, j: {j: F(1), k: F(0)}}})
    return replace(proof, **ways[int(rng.integers(len(ways)))]())


@pytest.mark.parametrize("tools", ["exact", "float"])
def test_no_change_at_random_makes_a_false_claim_pass(tools):
    rng = np.random.default_rng(3)
    wrong, rejected, total = [], 0, 0
    budget = Budget() if tools == "exact" else Budget(tiny=0, eliminated=0)
    for seed in range(20_000, 20_160):
        _, X, y, intercept = small_problem(seed)
        proof, kind = prove(X, y, intercept, budget), oracle.kind(X, y, intercept)
        if proof is None:
            continue
        for _ in range(12):
            other = mutated(rng, mutated(rng, proof)) if rng.integers(2) else mutated(rng, proof)
            found = outcome(other, X, y)
            total += 1
            rejected += found is not True
            if found not in (True, False) or (found and str(other.claim) not in true_claims(kind)):
                wrong.append((seed, kind, found, other))
    assert rejected > total / 2 and total > 1000
    assert not wrong, f"{len(wrong)} of {total}: {wrong[0]}"


@pytest.mark.parametrize(
    "relations", [{1: {2: F(1)}, 2: {1: F(1)}}, {1: {1: F(0)}, 2: {2: F(0)}}, {1: {1: 0}}], ids=str
)
def test_relations_that_lean_on_one_another_or_themselves_prove_nothing(relations):
    Z, y = np.array([[1.0, 1, 1], [-1, 1, 1]]), np.array([1, -1])  # θ = (0, 1, 0) separates
    proof = Proof(Claim.INSEPARABLE, 2, 3, False, rows=(0, 1), weights=(1.0, 1.0), columns=(0,), relations=relations)
    assert not verify(proof, y[:, None] * Z, y)


QUASI = np.array([[1.0, 0], [-1, 0], [0, 1], [1, 1]])  # row 1 is minus row 0, the others are free
LABELS = np.array([1, 1, 1, -1])
PAIR = {"claim": Claim.INSEPARABLE, "rows": (0, 1), "weights": (1.0, 1.0)}


@pytest.mark.parametrize(
    "parts",
    [
        {**PAIR, "rows": (0, 0, 0, 1), "weights": (1.0, 1.0, 1.0, 3.0), "claim": Claim.OVERLAP},
        {**PAIR, "rows": (0, 0.5, 0.7, 1), "weights": (1.0, 1.0, 1.0, 3.0), "claim": Claim.OVERLAP},
        {**PAIR, "rows": (0, 1, None)}, {**PAIR, "rows": ("a", "b")}, {**PAIR, "rows": (2**70, 1)}, {**PAIR, "rows": 3},
        {**PAIR, "rows": (0.5, 1.7)}, {**PAIR, "rows": ((0, 1), (0, 1))}, {**PAIR, "rows": (0, -3)},
        {**PAIR, "weights": (None, 1.0)}, {**PAIR, "weights": ("1", "1")}, {**PAIR, "weights": (1j, 1j)},
        {**PAIR, "weights": ()}, {**PAIR, "weights": 1.0}, {**PAIR, "weights": (10**400, 1), "columns": (0,)},
        {**PAIR, "weights": (F(10**400), F(10**400) + 1)}, {**PAIR, "weights": (float("inf"),) * 2, "columns": (0,)},
        {**PAIR, "columns": (0, -1), "relations": {1: {-1: 0}}}, {**PAIR, "columns": (0, 2)},
        {**PAIR, "columns": (0, 3)}, {**PAIR, "columns": 0}, {**PAIR, "columns": (None,)}, {**PAIR, "columns": (0, 0)},
        {**PAIR, "columns": (0,), "relations": None}, {**PAIR, "columns": (0,), "relations": {1: None}},
        {**PAIR, "columns": (0,), "relations": {1: {0: None}}}, {**PAIR, "columns": (0,), "relations": {1: {1: 1}}},
        {**PAIR, "columns": (0,), "relations": {1: {0: float("inf")}}}, {**PAIR, "columns": (0,), "relations": {2: {}}},
        {**PAIR, "columns": (0,), "relations": {-1: {}}}, {**PAIR, "columns": (0,), "relations": {0: {0: 1}}},
        {**PAIR, "columns": (0,), "relations": {"a": {}}}, {**PAIR, "columns": (0,), "relations": [(1, ())]},
        {**PAIR, "claim": "inseparable?"}, {**PAIR, "claim": None}, {**PAIR, "n": None}, {**PAIR, "d": "2"},
        {**PAIR, "claim": Claim.QUASI_COMPLETE, "theta": (0.0, 1.0, 7.0)},
        {**PAIR, "claim": Claim.QUASI_COMPLETE, "theta": (0.0,)},
        {**PAIR, "claim": Claim.QUASI_COMPLETE, "theta": (0.0, None)},
        {"claim": Claim.SEPARABLE, "theta": (None, None)}, {"claim": Claim.SEPARABLE, "theta": 5},
        {"claim": Claim.SEPARABLE, "theta": ()}, {"claim": Claim.SEPARABLE, "theta": (1j, 1.0)},
        {"claim": Claim.SEPARABLE, "theta": ("a", "b")}, {"claim": Claim.SEPARABLE, "theta": (10**400, 1.0)},
        {"claim": Claim.SEPARABLE, "theta": (F(10**1000), float("nan"))},
    ],
    ids=lambda parts: ", ".join(f"{k}={str(v)[:30]}" for k, v in parts.items() if v is not PAIR.get(k, ())),
)  # fmt: skip
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_proof_made_by_hand_and_malformed_is_false(parts, form):
    X = form(LABELS[:, None] * QUASI)
    assert outcome(Proof(**{"n": 4, "d": 2, "intercept": False, **parts}), X, LABELS) is False


def test_a_proof_made_by_hand_and_sound_is_true():
    for form in (np.asarray, sparse.csr_array):
        X = form(LABELS[:, None] * QUASI)
        for parts in (
            PAIR,
            {**PAIR, "weights": (F(1, 10**400), F(1, 10**400))},
            {**PAIR, "weights": (5e-324, 5e-324)},
            {**PAIR, "columns": (0,)},
            {**PAIR, "columns": (0,), "relations": {1: {}}},
            {**PAIR, "columns": (0,), "relations": {1: {0: F(0)}}},
            {**PAIR, "rows": (1, 0), "claim": Claim.QUASI_COMPLETE, "theta": (0, F(1, 3))},
        ):
            if form is np.asarray or "theta" not in parts:
                turned = parts["claim"] is Claim.QUASI_COMPLETE
                Z, y = (QUASI[:3], LABELS[:3] * [1, -1, 1]) if turned else (QUASI, LABELS)
                X = form(y[:, None] * Z)
                assert outcome(Proof(n=len(y), d=2, intercept=False, **parts), X, y) is True, parts


@pytest.mark.parametrize("size", [1.7e308, 1e308, 1e-307, 1e-310, 5e-324])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_rows_at_the_ends_of_float64_are_judged_and_no_accident(size, form):
    X, y = np.array([[size, 0], [-size, 0], [0, size]]), [1, 1, -1]
    proof = Proof(Claim.INSEPARABLE, 3, 2, False, rows=(0, 1), weights=(1.0, 1.0))
    assert outcome(proof, form(X), y) is True
    assert outcome(replace(proof, claim=Claim.SEPARABLE, theta=(1.0, -1.0)), form(X), y) is False
    assert outcome(Proof(Claim.SEPARABLE, 3, 2, False, theta=(1.0, -1.0)), form(X), [1, -1, -1]) is True


@pytest.mark.parametrize("relations", [[[0, [[1, 1.0]]], [0, [[1, 2.0]]]], [[0, [[1, 1.0], [1, 2.0]]]]], ids=str)
def test_a_file_that_repeats_a_relation_is_refused(relations, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**GOOD, "relations": relations}), encoding="utf-8")
    with pytest.raises(ProofError, match="repeat"):
        sx.load_proof(path)


def test_nesting_of_any_depth_is_refused(tmp_path):
    path = tmp_path / "p.json"
    for depth in (*range(1, 1100, 7), 10**5):
        path.write_text(json.dumps(GOOD).replace("[1, 2]", "[" * depth + "]" * depth), encoding="utf-8")
        with pytest.raises(ProofError):
            sx.load_proof(path)


def test_rows_outside_b_and_their_scale_are_free():
    rng = np.random.default_rng(4)
    for seed in range(27):
        _, X, y, intercept = small_problem(seed)
        proof = sx.separate(X, y, fit_intercept=intercept).proof
        X = np.asarray(X, dtype=float)
        top = max(1, np.frexp(abs(X).max())[1])
        if proof.claim is Claim.SEPARABLE and not intercept and 0 < abs(X[X != 0]).min() and top < 400:
            assert verify(proof, X * 2.0 ** rng.integers(-60, 60, (len(y), 1)), y), seed
        if proof.rows is not None and len(proof.rows) < len(y):
            other = np.setdiff1d(np.arange(len(y)), proof.rows)
            changed = X.copy()
            changed[other] = rng.standard_normal((len(other), X.shape[1]))
            assert verify(replace(proof, claim=Claim.INSEPARABLE), changed, y), seed


# The parts a proof is made of and read by.


def exact_rank(A):
    return int(np.sum(~np.array(oracle.aliased(A)))) if np.size(A) else 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_entries_come_in_the_order_asked_for(form):
    rng = np.random.default_rng(5)
    for intercept in (False, True):
        X, y = rng.integers(1, 100, (6, 4)).astype(float), np.array([1, -1, -1, 1, 1, -1])
        reader = Reader(hold(form(X), y, fit_intercept=intercept))
        Z = np.array(oracle.oriented(X, y, intercept), dtype=float)
        v = [1.0, -1.0, 2.0, -2.0, 1.0][: 4 + intercept]
        for _ in range(20):
            rows, columns = rng.permutation(6), rng.permutation(4 + intercept)
            assert (reader.dense(rows, columns) == Z[np.ix_(rows, columns)]).all()
            assert reader.signs(v, rows).tolist() == np.sign(Z @ v)[rows].tolist()
            again = rng.integers(6, size=int(rng.integers(1, 10)))
            assert reader.signs(v, again).tolist() == np.sign(Z @ v)[again].tolist()
            Z_zero = rng.integers(2, size=(6, 4 + intercept))
            Z_zero[:, 4:] = 1
            other = Reader(hold(form(Z_zero[:, :4]), y, fit_intercept=intercept))
            some = np.sort(columns[:2])
            assert other.zero(some, rows).tolist() == (~Z_zero[:, some].any(axis=1))[rows].tolist()


@pytest.mark.parametrize("order", ["as they are", "permuted"])
@pytest.mark.parametrize("small", [None, 0], ids=["exact", "float"])
def test_columns_kept_are_independent_and_the_others_exact_combinations(small, order):
    budget = Budget() if small is None else Budget(eliminated=small)
    rng = np.random.default_rng(6)
    for seed in range(30_000, 30_135):
        _, X, y, intercept = small_problem(seed)
        reader = Reader(hold(X, y, fit_intercept=intercept))
        Z = oracle.oriented(X, y, intercept)
        D = reader.D
        rows = np.sort(rng.permutation(len(y))[: int(rng.integers(1, len(y) + 1))])
        for columns in (None, np.arange(D)) if order == "as they are" else (rng.permutation(D),):
            K, relations = independent_columns(reader, rows, order=columns, budget=budget)
            part = [Z[i] for i in rows]
            assert not set(K.tolist()) & set(relations) and all(set(t) <= set(K.tolist()) for t in relations.values())
            for j in set(range(D)) - set(K.tolist()):
                for z in part:
                    assert z[j] == sum(c * z[k] for k, c in relations.get(j, {}).items()), (seed, columns, j)
            if small is None:  # floats may keep a column too many, if they find no relation for it
                kept = np.array([[z[k] for k in K] for z in part], dtype=object)
                assert exact_rank(kept) == len(K), (seed, columns)


def test_more_columns_than_rows_that_floats_take_for_independent_are_no_system_to_solve():
    m = 60  # of whose rows rounding takes 61 columns for independent
    X = np.random.default_rng(180).normal(size=(m, 2 * m)) + 3.0
    reader = Reader(hold(X, np.arange(m) % 2, fit_intercept=True))
    K, relations = independent_columns(reader, np.arange(m), budget=Budget(eliminated=0))
    assert not set(K.tolist()) & set(relations)
    for j, terms in relations.items():
        assert not reader.signs(relation_vector(reader.D, j, terms)).any()


@pytest.mark.parametrize("intercept", [False, True])
def test_relations_with_long_coefficients_are_found(intercept):
    rng = np.random.default_rng(8)
    for _ in range(20):
        A, C = rng.integers(-50, 51, (40, 3)), rng.integers(-(10**4), 10**4, (3, 4))
        reader = Reader(hold((A @ C).astype(float), np.resize([-1, 1], 40), fit_intercept=intercept))
        K, relations = independent_columns(reader, np.arange(40), budget=Budget(eliminated=0))
        assert len(K) == 3 + intercept and len(relations) == 1


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


whole_rows = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=8)
)
some_examples = settings(max_examples=100)


@some_examples
@given(whole_rows)
def test_face_is_a_strictly_complementary_pair_and_the_oracles(Z):
    theta, lam = exact.face(Z)
    margins = [dot(z, theta) for z in Z]
    assert all((m > 0) != (w > 0) and m >= 0 and w >= 0 for m, w in zip(margins, lam, strict=True))
    assert not any(dot(column, lam) for column in zip(*Z, strict=True))
    assert [w == 0 for w in lam] == oracle.face(Z)[1]


def test_systems_are_solved_exactly_or_found_singular():
    rng = np.random.default_rng(7)
    singular = 0
    for _ in range(300):
        r, s = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        A = rng.integers(-3, 4, (r, r)).astype(object)
        B = rng.integers(-9, 10, (r, s)).astype(object)
        if rng.random() < 0.3:
            A, B = A * 10**40 + rng.integers(-1, 2, (r, r)).astype(object), B * 10**25
        X = exact.solve_system(A.tolist(), B.tolist())
        assert (X is None) == (exact_rank(A) < r)
        singular += X is None
        if X is not None:
            columns = list(zip(*X, strict=True))
            assert [[dot(a, x) for x in columns] for a in A.tolist()] == B.tolist()
    assert 10 < singular < 200


@some_examples
@given(whole_rows)
def test_echelon_names_the_first_independent_columns_and_the_relations_of_the_rest(Z):
    pivots, relations = exact.echelon(Z)
    assert pivots == [j for j, dependent in enumerate(oracle.aliased(np.array(Z))) if not dependent]
    for j in set(range(len(Z[0]))) - set(pivots):
        assert all(z[j] == sum(c * z[k] for k, c in relations.get(j, {}).items()) for z in Z)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_signs_are_exact_whether_few_columns_are_gathered_or_whole_rows_read(kind, form):
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((40, 70)) * 10.0 ** rng.integers(-30, 30, 70)).astype(kind)
    X[3], X[7] = 2 * X[4], -X[8]
    y = np.resize([1, -1], 40)
    for intercept in (False, True):
        reader = Reader(hold(form(X), y, fit_intercept=intercept))
        for support in (1, 2, 4, 5, 30, 70):
            v = np.zeros(reader.D)
            v[rng.choice(70, support, replace=False)] = rng.integers(-9, 10, support)
            v[0] = 5e-324 if support == 30 else v[0]  # entries of v below the normal range of the largest
            for w in (v, v - (X[4] @ v[:70]) * (np.arange(reader.D) == 70)):
                values = [dot(z, map(F, w.tolist())) for z in oracle.oriented(X, y, intercept)]
                assert reader.signs(w).tolist() == [(s > 0) - (s < 0) for s in values]


@pytest.mark.parametrize("power", [1018, 460, -460, -1000])
def test_signs_hold_where_products_of_split_halves_would_leave_float64(power):
    up = 1 + 2.0**-52
    Z = np.ldexp([[up, -1.0, 0.0], [1.0, -up, 0.0], [up, -up, 0.0], [up, -1.0, -(2.0**-52)]], power)
    y = np.array([1, -1, 1, -1])
    reader = Reader(hold(y[:, None] * Z, y))
    assert reader.signs([1.0, 1.0, 1.0]).tolist() == [1, -1, 0, 0]
    assert reader.signs([3.0, 3.0, 5.0]).tolist() == [1, -1, 0, -1]


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150)


@some_examples
@given(st.lists(st.tuples(finite, finite, finite), min_size=2, max_size=6), st.data())
def test_signs_of_any_floats_are_those_of_fractions(rows, drawn):
    X = np.array(rows)
    X[0] = np.where(abs(X[0]) < 1e-150, 1.0, X[0])
    y = np.resize([1, -1], len(X))
    number = st.one_of(finite, st.fractions(max_denominator=10**30))
    v = [drawn.draw(number) for _ in range(3)]
    if drawn.draw(st.booleans()) and v[2]:  # row 1 is all but at zero
        ratio = -(F(X[1, 0]) * F(v[0]) + F(X[1, 1]) * F(v[1])) / F(v[2])
        X[1, 2] = float(ratio) if abs(ratio) < 10**150 else 0.0
    expected = [dot(z, map(F, v)) for z in oracle.oriented(X, y)]
    expected = [(s > 0) - (s < 0) for s in expected]
    for form in (np.asarray, sparse.csr_array):
        assert Reader(hold(form(X), y)).signs(v).tolist() == expected


def test_columns_of_denormals_and_zeros_are_scaled_like_any_others():
    rng = np.random.default_rng(0)
    A = rng.integers(-3, 4, (60, 4)).astype(float)
    A[:30, 0] = 0
    lam = rng.random(60) + 0.5
    for factor in (2.0**-1040, 2.0**900):
        scaled, weights = equilibrate(A * np.array([factor, 1, 1, 1]), lam)
        even, wanted = equilibrate(A * np.array([1, 2.0**20, 1, 1]), lam)
        assert abs(scaled).max(axis=0).min() >= 0.25 and abs(even).max(axis=0).min() >= 0.25
        assert np.isfinite(weights).all() and len(weights) == len(wanted)


def test_rows_near_the_largest_float_are_added_up_without_overflow():
    big = 1.7e308
    Z = np.array([[big], [big], [-big], [-big]])
    assert exact_gordan(Reader(hold_signed(Z, np.array([0, 1]))), np.arange(4), (1.0,) * 4)
    assert not exact_gordan(Reader(hold_signed(Z, np.array([0, 1]))), np.arange(3), (1.0,) * 3)
