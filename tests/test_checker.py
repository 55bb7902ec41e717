"""The checker in one file and the package's own agree on every proof, true or false, and no bomb goes off in either."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import oracle
import separatrix as sx
from attacks import CHECKER, changed_data, changed_text, checked, compare, problem_and_proof, verified, write_data
from conftest import noise, planted
from separatrix.certify import Claim, Proof, ProofError
from separatrix.certify.check import slack
from separatrix.certify.reader import Reader
from separatrix.data.files import labelled
from separatrix.data.memory import hold
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.search import Case

FORMS = ("csv", "npy", "fortran")
GOOD = {
    "format": "separatrix proof 1", "claim": "separable", "n": 4, "d": 2, "intercept": False, "theta": [1, 2],
    "rows": None, "weights": None, "columns": None, "relations": [],
}  # fmt: skip
X4, Y4 = np.array([[1.0, 0], [0, 1], [1, 1], [-1, -1]]), np.array([1, 1, 1, -1])


def tied():
    """Overlapping rows with a column that is a combination of two others, and one that is zero."""
    X, y = noise(300, 9, 0)
    X = np.rint(64 * X)
    X[:, 7], X[:, 8] = 3 * X[:, 0] - X[:, 1], 0
    return X, y


def face():
    """Quasi-complete rows, too many for exact arithmetic to come first."""
    rng = np.random.default_rng(0)
    Z = rng.integers(-5, 6, (300, 10)).astype(float)
    Z[:150, 0], Z[150:, 0] = 0, rng.integers(1, 5, 150)
    Z[:, 9] = Z[:, 1] + 2 * Z[:, 2]
    y = np.resize([-1, 1], 300)
    return y[:, None] * Z, y


LARGER = {
    "separable": (*planted(60, 9, 0.1, 0), False),
    "overlap": (*noise(300, 9, 0), False),
    "overlap, intercept": (noise(300, 9, 1)[0] + 2.0, noise(300, 9, 1)[1], True),
    "overlap, small": (noise(300, 4, 2)[0] * 1e-200, noise(300, 4, 2)[1], False),
    "tied": (*tied(), True),
    "face": (*face(), False),
}


@pytest.fixture(scope="module")
def larger():
    return {name: (X, y, prove_kind(Case(hold(X, y, fit_intercept=b)))) for name, (X, y, b) in LARGER.items()}


def test_the_checker_is_one_short_file_of_the_standard_library():
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert all(name.split(".")[0] in sys.stdlib_module_names for name in names), names
        if isinstance(node, ast.Name):
            assert node.id not in ("eval", "exec", "compile", "__import__")


def test_the_checker_runs_by_itself(tmp_path):
    proof = sx.separate(X4, Y4).proof
    sx.save_proof(proof, tmp_path / "p.json")
    for y, status, word in ((Y4, 0, "holds: separable"), (-Y4, 1, "does not hold: ")):
        files = [str(argument) for argument in write_data(tmp_path, X4, y, "csv")]
        command = [sys.executable, "-I", "-S", str(CHECKER), str(tmp_path / "p.json"), *files]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (status, "") and done.stdout.startswith(word)


def agree_on_small_problems(seeds, changes, folder):
    """Number of proofs and changes on which both say the same; those where only exact arithmetic accepts."""
    path, counts = folder / "p.json", {"agree": 0, "exact only": 0, "too large": 0}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y, _, proof = problem_and_proof(seed)
        sx.save_proof(proof, path)
        text, form = path.read_text(encoding="utf-8"), FORMS[seed % 3]
        files = write_data(folder, X, y, form)
        word, ours, sentence = compare(path, files, X, y)
        assert (word, ours) == ("agree", 0), (seed, sentence)
        for change in range(changes):
            A, b = X, y
            if change == changes - 1:
                path.write_text(text, encoding="utf-8")
                A, b = changed_data(rng, X, y)
                files = write_data(folder, A, b, form)
            else:
                path.write_text(changed_text(rng, text), encoding="utf-8")
            word, ours, sentence = compare(path, files, A, b)
            assert word in counts, (seed, change, word, ours, sentence)
            counts[word] += 1
    return counts


def test_both_agree_on_small_problems_and_neither_accepts_what_the_oracle_refutes(tmp_path):
    counts = agree_on_small_problems(range(40_000, 40_081), 8, tmp_path)
    assert counts["agree"] > 50 * counts["too large"] and counts["agree"] > 10 * counts["exact only"]


@pytest.mark.long
def test_both_agree_on_many_small_problems(tmp_path):
    counts = agree_on_small_problems(range(41_000, 42_000), 12, tmp_path)
    assert counts["agree"] > 50 * counts["too large"] and counts["agree"] > 10 * counts["exact only"]


@pytest.mark.parametrize("form", FORMS)
def test_proofs_of_every_argument_hold_from_files(larger, form, tmp_path):
    assert {(str(p.claim), p.argument) for _, _, p in larger.values()} >= {
        ("separable", "separator"), ("overlap", "cholesky"), ("quasi-complete", "cholesky"),
    }  # fmt: skip
    assert larger["tied"][2].relations
    for name, (X, y, proof) in larger.items():
        sx.save_proof(proof, tmp_path / "p.json")
        files = write_data(tmp_path, X, y, form)
        assert checked(tmp_path / "p.json", *files)[0] == 0, name
        if form == "csv":
            read = labelled(files[0], target="y")
            assert verified(tmp_path / "p.json", read[0], read[1]) == 0, name
        for A, b in ((-X, y), (X[:-1], y[:-1]), (X[:, ::-1], y)):
            ours = verified(tmp_path / "p.json", A, b)
            assert checked(tmp_path / "p.json", *write_data(tmp_path, A, b, form))[0] == ours, name


def test_changes_of_larger_proofs_fool_neither(larger, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "p.json"
    for name, (X, y, proof) in larger.items():
        sx.save_proof(proof, path)
        text = path.read_text(encoding="utf-8")
        files = write_data(tmp_path, X, y, "npy")
        kind = "complete" if proof.claim is Claim.SEPARABLE else str(proof.claim)
        for _ in range(8):
            path.write_text(changed_text(rng, text), encoding="utf-8")
            ours, (status, sentence) = verified(path, X, y), checked(path, *files)
            assert status in (ours, 3) or (ours, status) == (1, 0), (name, ours, sentence)
            if 0 in (ours, status):
                claim = str(sx.load_proof(path).claim)
                assert claim == str(proof.claim) or (claim == "inseparable" and kind != "complete"), (name, sentence)


def test_weights_moved_far_from_a_solution_are_refused_or_moved_back_exactly(larger, tmp_path):
    X, y, proof = larger["overlap"]
    path, files = tmp_path / "p.json", write_data(tmp_path, X, y, "npy")
    sx.save_proof(proof, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    for at in (0, 70, 149):
        for value in (1e6, 1e300, -1.0, 0.0):
            weights = [value if i == at else w for i, w in enumerate(document["weights"])]
            path.write_text(json.dumps({**document, "weights": weights}), encoding="utf-8")
            assert verified(path, X, y) == 1
            assert checked(path, *files)[0] == 1 or value > 0  # a large weight alone can be taken back


def test_what_takes_too_long_is_left_open(larger, tmp_path):
    X, y, proof = larger["overlap"]
    sx.save_proof(proof, tmp_path / "p.json")
    status, sentence = checked(tmp_path / "p.json", *write_data(tmp_path, X, y, "npy"), "--work", 1e4)
    assert status == 3 and "--work" in sentence


# Data.

DTYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("end", "<>")
@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_of_every_type_and_order_are_read_right(dtype, end, order, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2 if dtype == "b1" else 100, (12, 3))
    X = X / 7 if dtype[0] == "f" else X
    X = np.array(X, dtype=f"{end}{dtype}", order=order)
    y = np.resize([3, 5], 12).astype(f"{end}{'i4' if dtype == 'b1' else dtype}")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for intercept in (False, True):
        proof = sx.separate(X, y, fit_intercept=intercept).proof
        sx.save_proof(proof, tmp_path / "p.json")
        status, sentence = checked(tmp_path / "p.json", tmp_path / "X.npy", tmp_path / "y.npy")
        assert status == verified(tmp_path / "p.json", X, y) == 0, sentence
        rows, half = oracle.oriented(X, y, intercept), tmp_path / "half.npy"
        theta = tuple(Fraction(v) for v in rng.integers(-3, 4, 3 + intercept).tolist())
        lie = Proof(Claim.SEPARABLE, 12, 3, intercept, theta=theta)
        sx.save_proof(lie, tmp_path / "p.json")
        right = all(sum(a * t for a, t in zip(z, theta, strict=True)) > 0 for z in rows)
        assert checked(tmp_path / "p.json", tmp_path / "X.npy", tmp_path / "y.npy")[0] == (not right)
        half.write_bytes((tmp_path / "X.npy").read_bytes()[:-1])
        assert checked(tmp_path / "p.json", half, tmp_path / "y.npy")[0] == 2


@pytest.mark.parametrize("labels", ["no yes", "Yes no", "FALSE True", "10 9", "-1 1e0", "b 1"])
def test_labels_are_ordered_as_the_package_orders_them(labels, tmp_path):
    X, y = np.random.default_rng(2).normal(size=(20, 2)), np.resize(labels.split(), 20)
    outcomes = set()
    for sign in (1, -1):
        signed = np.where(y == y[1], 1, -1) * sign
        shifted = X + 9 * signed[:, None]
        lines = [f"{a!r},{label},{b!r}" for (a, b), label in zip(shifted.tolist(), y, strict=True)]
        (tmp_path / "d.csv").write_text("a,label,b\n" + "\n".join(lines) + "\n", encoding="utf-8")
        read = labelled(tmp_path / "d.csv", target="label")
        sx.save_proof(Proof(Claim.SEPARABLE, 20, 2, False, theta=(1.0, 1.0)), tmp_path / "p.json")
        status, _ = checked(tmp_path / "p.json", tmp_path / "d.csv", "--target", "label")
        assert status == verified(tmp_path / "p.json", read[0], read[1])
        outcomes.add(status)
    assert outcomes == {0, 1}
    np.save(tmp_path / "X.npy", shifted)
    np.save(tmp_path / "y.npy", y)
    status, _ = checked(tmp_path / "p.json", tmp_path / "X.npy", tmp_path / "y.npy")
    assert status == verified(tmp_path / "p.json", shifted, y)


def test_the_last_column_holds_the_labels_if_none_is_named(tmp_path):
    sx.save_proof(Proof(Claim.SEPARABLE, 2, 1, False, theta=(1.0,)), tmp_path / "p.json")
    (tmp_path / "d.csv").write_text("\ufeffa, y\n1,1\n\n-1,0\n", encoding="utf-8")
    assert checked(tmp_path / "p.json", tmp_path / "d.csv")[0] == 0
    assert checked(tmp_path / "p.json", tmp_path / "d.csv", "--target", "a")[0] == 1
    (tmp_path / "d.tsv").write_text("a\ty\n1\t1\n-1\t0\n", encoding="utf-8")
    assert checked(tmp_path / "p.json", tmp_path / "d.tsv")[0] == 0


def test_a_decimal_is_the_float64_next_to_it(tmp_path):
    sx.save_proof(Proof(Claim.SEPARABLE, 2, 3, False, theta=(1.0, 1.0, -1.0)), tmp_path / "p.json")
    (tmp_path / "d.csv").write_text("a,b,c,y\n0.1,0.2,0.3,1\n-0.1,-0.2,-0.3,0\n", encoding="utf-8")
    assert checked(tmp_path / "p.json", tmp_path / "d.csv")[0] == 0  # 0.1 + 0.2 > 0.3 as stored


DAMAGED = ["", "\n\n", "a,b,y\n", "a,a,y\n1,2,1\n3,4,0\n", "a,b,z\n1,2,1\n3,4,0\n", "a,b,y\n1,2\n3,4,0\n"]
DAMAGED += [f"a,b,y\n{cell},2,1\n3,4,0\n" for cell in ("", "nan", "inf", "1e999999999", '"1', 2**53 + 1, "9" * 200_000)]
DAMAGED += ["a,b,y\n1,2,1\n3,4,1\n", "a,b,y\n1,2,\n3,4,0\n", "a,b,y\n1,2,1\n3,4,0\n5,6,2\n"]
OF_TEXT = [f"a,b,y\n{cell},2,1\n3,4,0\n" for cell in ("red", "1_0", "１", "0x1", "true", "9" * 100_000)]
OF_TEXT += ["1,2,3\n1,2,3\n"]  # which the package encodes, or has ways of its own with


@pytest.mark.parametrize("text", DAMAGED + OF_TEXT, ids=lambda text: repr(text[:24]))
def test_a_table_that_is_not_of_numbers_is_refused_in_one_sentence(text, tmp_path):
    sx.save_proof(Proof(Claim.SEPARABLE, 2, 2, False, theta=(1.0, 1.0)), tmp_path / "p.json")
    (tmp_path / "d.csv").write_text(text, encoding="utf-8")
    assert checked(tmp_path / "p.json", tmp_path / "d.csv", "--target", "y")[0] == 2
    if text in DAMAGED:
        with pytest.raises(ValueError, match=r"."):
            sx.verify(sx.load_proof(tmp_path / "p.json"), *labelled(tmp_path / "d.csv", target="y")[:2])


def test_npy_files_out_of_shape_are_refused_in_one_sentence(tmp_path):
    path, X, y = tmp_path / "p.json", tmp_path / "X.npy", tmp_path / "y.npy"
    sx.save_proof(Proof(Claim.SEPARABLE, 4, 2, False, theta=(1.0, 1.0)), path)
    np.save(y, Y4)
    odd = [X4.astype(complex), X4.astype("f2"), X4[0], X4[None], X4[:0], X4[:, :0], X4 * np.nan, X4 + np.inf, X4[:3]]
    odd += [np.array([[2**53 + 1, 1]] * 4), np.array([["1", "2"]] * 4), np.zeros(4, dtype="f8,f8")]
    for values in odd:
        np.save(X, values)
        assert checked(path, X, y)[0] == 2, values
    np.save(X, X4)
    assert checked(path, X, y)[0] == 0
    for values in (Y4[:, None], Y4[:3], Y4 * 0, np.arange(4), Y4 * np.nan, np.array(["a", "b", "", "a"])):
        np.save(y, values)
        assert checked(path, X, y)[0] == 2, values
    np.save(y, Y4)
    whole = X.read_bytes()
    rng = np.random.default_rng(3)
    for at in (*range(0, 130), len(whole) - 1):
        X.write_bytes(whole[:at])
        assert checked(path, X, y)[0] == 2, at
    for _ in range(300):
        broken = bytearray(whole)
        broken[int(rng.integers(128))] = int(rng.integers(256))
        X.write_bytes(broken)
        assert checked(path, X, y)[0] in (0, 1, 2)
    X.write_bytes(whole.replace(b"(4, 2)", b"(999999999999, 999999999999)"))
    assert checked(path, X, y)[0] == 2
    assert checked(path, X)[0] == checked(path, tmp_path / "none.npy", y)[0] == checked(tmp_path / "none", X, y)[0] == 2


# Bombs.


def bombs():
    good = json.dumps(GOOD)
    yield "a number of a million digits", good.replace("[1, 2]", f"[{'1' * 10**6}, 2]")
    yield "decimals of a million digits", good.replace("[1, 2]", f"[0.{'1' * 10**6}, null]")
    yield "an exponent without end", good.replace("[1, 2]", "[1e999999999, 2]")
    yield "infinity", good.replace("[1, 2]", "[Infinity, 2]")
    yield "no number", good.replace("[1, 2]", "[NaN, 2]")
    yield "nesting", good.replace("[1, 2]", "[" * 10**6 + "]" * 10**6)
    yield "objects in objects", '{"a":' * 10**5 + "1" + "}" * 10**5
    yield "a claim twice", good.replace("{", '{"claim": "overlap", ')
    yield "hexadecimal digits by the megabyte", good.replace("[1, 2]", f'["{"f" * 3 * 10**6}/3", 2]')
    yield "two long halves", good.replace("[1, 2]", f'["{"f" * 2 * 10**6}/{"e" * 2 * 10**6}", 2]')
    yield "a sign in the denominator", good.replace("[1, 2]", '["1/-1", 2]')
    yield "no denominator", good.replace("[1, 2]", '["1/0", 2]')
    yield "underscores", good.replace("[1, 2]", '["1_0/1", 2]')
    yield "a long list in place of a number", good.replace('"n": 4', f'"n": [{"0," * 10**5}0]')
    yield "a long claim", good.replace('"separable"', f'"{"x" * 10**6}"')
    yield "a negative row", json.dumps({**GOOD, "rows": [-1], "weights": [1]})
    yield "a row twice", json.dumps({**GOOD, "rows": [0, 0], "weights": [1, 1]})
    yield "a relation as text", json.dumps({**GOOD, "relations": ["ab"]})
    yield "a relation of text", json.dumps({**GOOD, "relations": [[0, ["ab"]]]})


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in bombs()])
def test_a_bomb_is_refused_in_one_sentence_by_both(text, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    assert checked(path, *write_data(tmp_path, X4, Y4, "npy"))[0] == 2
    with pytest.raises(ProofError) as caught:
        sx.load_proof(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_file_too_long_to_be_a_proof_is_not_opened(tmp_path):
    path = tmp_path / "p.json"
    with open(path, "wb") as file:
        file.truncate(2**28 + 1)  # a hole, which takes no room
    assert checked(path, *write_data(tmp_path, X4, Y4, "npy"))[0] == 3
    with pytest.raises(ProofError, match="bytes"):
        sx.load_proof(path)


def primes(count):
    """So many primes of about 40 bits, or numbers that have few factors in common."""
    return [2**40 + 15 + 2 * k for k in range(count)]


def test_denominators_that_have_nothing_in_common_fill_no_memory(tmp_path):
    n = 20_000
    X, y = np.ones((n, 1)), np.resize([1, -1], n)
    document = {**GOOD, "n": n, "d": 1, "claim": "inseparable", "theta": None, "rows": list(range(n))}
    document["weights"] = [f"1/{q:x}" for q in primes(n)]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert checked(path, *write_data(tmp_path, X, y, "npy"))[0] == 3
    with pytest.raises(ProofError):
        sx.load_proof(path)
    weights = tuple(Fraction(1, q) for q in primes(n))
    proof = Proof(Claim.INSEPARABLE, n, 1, False, rows=tuple(range(n)), weights=weights)
    assert not sx.verify(proof, X, y)


def test_sparse_rows_are_not_written_out_for_a_claim_that_memory_cannot_hold():
    from scipy import sparse

    n = 50_000
    y = np.resize([1, -1], n)
    reader = Reader(hold(sparse.eye_array(n, format="csr"), y))
    assert slack(reader, np.arange(n), np.ones(n), np.arange(n)) == -1.0


def test_relations_of_many_columns_take_no_longer_than_their_terms():
    n, d = 4, 5_000
    X, y = np.zeros((n, d)), np.array([1, -1, 1, -1])
    X[:, 0] = 1.0
    relations = {j: {0: 0.0} for j in range(1, d)}
    proof = Proof(Claim.INSEPARABLE, n, d, False, rows=(0, 1), weights=(1.0, 1.0), columns=(0,), relations=relations)
    assert sx.verify(proof, X, y)


def test_files_that_are_not_there_and_labels_among_the_columns_are_told(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("g,a\nyes,1\nno,2\n", encoding="utf-8")
    proof = tmp_path / "one.proof"
    sx.save_proof(sx.separate(table, "g").proof, proof)
    assert "No such file" in checked(tmp_path / "nope.proof", table)[1]
    assert "'yes' is no number; --target names the labels" in checked(proof, table)[1]
