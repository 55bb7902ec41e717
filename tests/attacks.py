"""Two checkers of proofs, the package's and tools/check_proof.py, on the same files, which are changed at random."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
from functools import lru_cache
from pathlib import Path

import numpy as np

import oracle
import separatrix as sx
from separatrix.data.memory import hold
from separatrix.deciding.budget import Budget
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.search import Case
from zoo import small_problem

CHECKER = Path(__file__).resolve().parent.parent / "tools" / "check_proof.py"
ANSWERS = "holds", "does not hold", "cannot be read", "not checked here"
CLAIMS = "separable", "inseparable", "quasi-complete", "overlap"
NUMBERS = [0.0, -1.0, 1, 3, 0.5, 5e-324, 1e-300, 1e-170, 1e300, 2.0**1023, "1/3", "-7/1", "2/6", "1/" + "f" * 60]
JUNK = [None, True, False, -1, 0, 2, 1.0, 2**63, 10**400, "", "x", "1/0", "0x1/1", " 1/2", "1_0/1", "1/-2", "1", [], {}]
JUNK += [[0, 0], [[]], [[0, []]], [None], {"a": 1}, float("nan"), float("inf"), float("-inf"), "１/2"]
LETTERS = '0123456789-+.eE"[]{},:/ntfrualsx \\'


def load_checker():
    """tools/check_proof.py as a module."""
    spec = importlib.util.spec_from_file_location("check_proof", CHECKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_proof = load_checker()


def checked(*arguments):
    """The exit status of the checker and its sentence."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = check_proof.main([str(argument) for argument in arguments])
    text = out.getvalue()
    assert text.startswith(ANSWERS[status] + ": ") and text.endswith(".\n") and text.count("\n") == 1, text
    return status, text


def verified(path, X, y):
    """The same of the package: 0 it holds, 1 it does not, 2 a file or the data are refused in one sentence."""
    try:
        return int(not sx.verify(sx.load_proof(path), X, y))
    except ValueError as error:  # ProofError among them
        said = str(error)
    assert "\n" not in said and len(said) < 500, said
    return 2


@lru_cache(maxsize=8)
def kind_of(entries, dtype, shape, labels, intercept):
    """What the oracle says; it is asked again and again about the same data."""
    return oracle.kind(np.frombuffer(entries, dtype).reshape(shape), labels, intercept)


def true_claims(kind):
    return {"complete": {"separable"}}.get(kind, {"inseparable", kind})


def problem_and_proof(seed):
    """A small problem and a proof of it, found in one of three ways."""
    _, X, y, intercept = small_problem(seed)
    way = seed // 27 % 3
    if way == 0:
        proof = sx.separate(X, y, fit_intercept=intercept).proof
    elif way == 1:
        proof = sx.diagnose(X, y, fit_intercept=intercept).proof
    else:
        proof = prove_kind(Case(hold(X, y, fit_intercept=intercept), Budget(tiny=0, eliminated=0)))
    if proof is None or proof.earlier:  # stages are for the package alone
        proof = sx.separate(X, y, fit_intercept=intercept).proof
    return X, y, intercept, proof


def write_data(folder, X, y, form):
    """The data in files, as the arguments that name them."""
    if form == "csv":
        with open(folder / "data.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([f"x{j}" for j in range(X.shape[1])] + ["y"])
            writer.writerows([*map(repr, x), label] for x, label in zip(X.tolist(), y.tolist(), strict=True))
        return [folder / "data.csv", "--target", "y"]
    np.save(folder / "X.npy", np.asfortranarray(X) if form == "fortran" else X)
    np.save(folder / "y.npy", y)
    return [folder / "X.npy", folder / "y.npy"]


def changed_proof(rng, text):
    """The text of a proof file with one thing changed."""
    proof = json.loads(text)

    def pick(values):
        return values[int(rng.integers(len(values)))]

    def place(values, new):
        if values:
            values[int(rng.integers(len(values)))] = new

    D, way = proof["d"] + proof["intercept"], int(rng.integers(13))
    lists = [name for name in ("theta", "rows", "weights", "columns") if proof[name]]
    if way == 0:
        proof["claim"] = pick(CLAIMS)
    elif way == 1:
        proof[pick(("n", "d"))] += int(pick((-1, 1)))
    elif way == 2:
        proof["intercept"] = not proof["intercept"]
    elif way in (3, 4):
        name = pick([name for name in ("theta", "weights") if proof[name]])
        place(proof[name], pick([*NUMBERS, *proof[name]]))
    elif way == 5:
        name = pick(lists)
        place(proof[name], pick(JUNK))
    elif way == 6:
        proof[pick(list(proof))] = pick(JUNK)
    elif way == 7 and proof["rows"]:
        place(proof["rows"], int(rng.integers(-1, proof["n"] + 1)))
    elif way == 8 and proof["rows"]:
        at = int(rng.integers(len(proof["rows"])))
        del proof["rows"][at], proof["weights"][at]
    elif way == 9 and proof["rows"]:
        proof["columns"] = pick([None, [], list(range(D)), [int(j) for j in rng.permutation(D)[: rng.integers(D + 1)]]])
        if rng.integers(2):
            proof["relations"] = [[j, []] for j in range(D) if j not in (proof["columns"] or [])]
    elif way == 10:
        proof["relations"].append([int(rng.integers(D + 1)), [[int(rng.integers(D + 1)), pick(NUMBERS)]]])
    elif way == 11 and proof["relations"]:
        relation = pick(proof["relations"])
        place(pick([proof["relations"], relation, relation[1], *relation[1]]), pick(JUNK + NUMBERS))
    text = json.dumps(proof) + "\n"
    if way == 12:
        at = int(rng.integers(len(text)))
        end = at + int(rng.integers(3))
        text = pick([text[:at], text[:at] + pick(LETTERS) + text[end:], text.replace("{", '{"claim": "overlap", ', 1)])
    return text


def changed_text(rng, text):
    """The text of a proof file with one thing changed, or two."""
    text = changed_proof(rng, text)
    if rng.integers(4) == 0:
        with contextlib.suppress(Exception):  # the first change may leave nothing that can be changed again
            text = changed_proof(rng, text)
    return text


def changed_data(rng, X, y):
    """Data with one thing changed."""
    X, y = np.array(X), np.array(y)
    i, j, way = int(rng.integers(len(y))), int(rng.integers(X.shape[1])), int(rng.integers(8))
    if way == 0:
        y[i] = -y[i]
    elif way == 1:
        X = X.astype(float)
        X[i, j] = np.nextafter(X[i, j], rng.choice([-np.inf, np.inf]))
    elif way == 2:
        X[i, j] = -X[i, j]
    elif way == 3:
        X[i] = X[int(rng.integers(len(y)))]
    elif way == 4:
        X = X[:, rng.permutation(X.shape[1])]
    elif way == 5:
        X, y = np.delete(X, i, 0), np.delete(y, i)
    elif way == 6:
        X = X.astype(float)
        X[i] *= 2.0 ** rng.integers(-20, 20)
    else:
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
    return X, y


def compare(path, data, X, y, work=2e8):
    """What the two say of one proof: (a word, package's status, checker's sentence).

    "agree"; "too large", where the checker leaves it open; "exact only", where λ can be moved to a positive solution
    on the proof's columns but the package's bounds on rounding do not show it; "differ"; or "false", a claim that the
    oracle refutes.
    """
    ours, (status, sentence) = verified(path, X, y), checked(path, *data, "--work", work)
    word = "agree" if ours == status else "too large" if status == 3 else "differ"
    if 0 in (ours, status):
        proof = sx.load_proof(path)
        kind = kind_of(X.tobytes(), X.dtype, X.shape, tuple(y.tolist()), proof.intercept)
        if str(proof.claim) not in true_claims(kind):
            word = "false"
        elif (ours, status) == (1, 0) and proof.columns is not None:
            word = "exact only"
    return word, ours, sentence
