"""A proof is accepted if and only if it holds: whatever is changed in it, or in the data, that matters is noticed."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import oracle
import separatrix as sx
import separatrix.certify
from conftest import noise, planted
from separatrix.case import Case
from separatrix.certify import Claim, Proof, ProofError, verify
from separatrix.certify.check import slack
from separatrix.certify.rows import Reader
from separatrix.faces import prove_kind
from separatrix.problem import make_problem
from zoo import small_problem

F = Fraction


def prove(X, y, intercept=False):
    return prove_kind(Case(make_problem(X, y, fit_intercept=intercept)))


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
            problem = make_problem(sparse.csr_array(X) if rng.integers(2) else X, y, fit_intercept=intercept)
        except (RuntimeWarning, OverflowError):  # subnormal data alone: a complaint of make_problem, tested elsewhere
            continue
        values = [sum(z * F(t) for z, t in zip(row, v, strict=True)) for row in oracle.oriented(X, y, intercept)]
        expected = [(s > 0) - (s < 0) for s in values]
        assert Reader(problem).signs(v).tolist() == expected
        some = np.flatnonzero(rng.random(n) < 0.5)
        if len(some):
            assert Reader(problem).signs(v, some).tolist() == [expected[i] for i in some]
        zeros += expected.count(0)
    assert zeros > 100


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
        reader = Reader(make_problem(y[:, None] * Z, y))
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
                if name.split(".")[0] == "separatrix":
                    assert name == "separatrix.problem" or name.startswith("separatrix.certify"), (file.name, name)
