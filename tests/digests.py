"""Runs whose bits are on record in digests.json, for every machine to repeat.

The data need no libm and no random distribution, so that C++ and JavaScript can make them too. Numbers are drawn in
turn: x ← (1664525 x + 1013904223) mod 2³², from x = seed, and the number drawn is ⌊x / 2²⁰⌋ - 2048, whole, in -2048 …
2047. First d numbers u; then the rows, entry by entry; then, if there are weights, one number per row.

    whole entry v   = the number drawn, or 0 where `thin` does not divide it (thin = 1: as drawn)
    label y_i       = +1 if Σ_k v_ik u_k > 0, else -1; the other one where i mod flip = flip - 1 (flip = 0: nowhere)
    row a_i         = v_i / over, over a power of two: exact in float32 and float64
    weight s_i      = (the number drawn + 2048) mod 4: 0, 1, 2 or 3

The digest of a run is the SHA-256 of φ (float64), the number of updates and that of wrong rows at the end (int64), all
little-endian. Runs begin at 0; where `stop` is not "separated" they go on to max_iter.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import separatrix as sx

FILE = Path(__file__).with_name("digests.json")

DATA: dict[str, dict[str, int]] = {
    "separable": {"seed": 1, "n": 60, "d": 13, "over": 1024, "flip": 0, "thin": 1},
    "noise": {"seed": 2, "n": 90, "d": 11, "over": 256, "flip": 7, "thin": 1},
    "wide": {"seed": 3, "n": 40, "d": 150, "over": 2048, "flip": 0, "thin": 1},
    "thin": {"seed": 4, "n": 120, "d": 42, "over": 512, "flip": 9, "thin": 4},
    "tall": {"seed": 5, "n": 1100, "d": 5, "over": 1024, "flip": 10, "thin": 1},
    "groups": {"seed": 6, "n": 33_000, "d": 2, "over": 1024, "flip": 11, "thin": 1},
}
STEPS = [(m, g) for m in ("lr-gd", "normalized-lr-gd") for g in (1e-3, 1.0, 100.0, 1e6)]
METHODS = [*STEPS, ("batch-perceptron", None), ("normalized-batch-perceptron", None), ("perceptron", None)]
TEMPERED = [("tempered-lr-gd", 1e-3), ("tempered-lr-gd", 100.0), ("tempered-batch-perceptron", None)]
USUAL = {
    "power": None,
    "engine": "dense",
    "order": "cyclic",
    "dtype": "float64",
    "arithmetic": "float64",
    "csr": False,
    "weights": False,
    "fit_intercept": False,
    "stop": None,
    "max_iter": 300,
}


def drawn(seed: int, count: int) -> np.ndarray:
    """So many numbers of the sequence above."""
    x, numbers = seed, np.empty(count, dtype=np.int64)
    for k in range(count):
        x = (1664525 * x + 1013904223) % 2**32
        numbers[k] = (x >> 20) - 2048
    return numbers


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, weights."""
    seed, n, d, over, flip, thin = (DATA[name][key] for key in ("seed", "n", "d", "over", "flip", "thin"))
    numbers = drawn(seed, d + n * d + n)
    u, V, s = numbers[:d], numbers[d : d + n * d].reshape(n, d), (numbers[d + n * d :] + 2048) % 4
    V = np.where(V % thin == 0, V, 0)
    y = np.where((V * u).sum(axis=1) > 0, 1, -1)
    if flip:
        y[flip - 1 :: flip] *= -1
    return V / over, y, s.astype(np.float64)


def runs() -> list[dict[str, Any]]:
    """The parameters of every run."""

    def run(name: str, walk: tuple[str, float | None], **more: Any) -> dict[str, Any]:
        return {"data": name, "method": walk[0], "step_size": walk[1]} | USUAL | more

    both = {"weights": True, "fit_intercept": True}
    found = [run(name, w, engine="lazy") for name in ("separable", "noise") for w in METHODS]
    found += [run("noise", w) for w in METHODS[::2]]
    found += [run("separable", w, stop="separated", max_iter=5000) for w in METHODS]
    found += [run("noise", w, engine=e, **both) for w, e in zip(METHODS[1:-1:2], ("dense", "lazy") * 3, strict=False)]
    found += [run("noise", METHODS[-1], fit_intercept=True, order=o) for o in ("cyclic", "most-wrong")]
    found += [run(name, w, engine="gram") for name in ("wide", "noise") for w in METHODS]
    found += [run("wide", w, engine="gram", **both) for w in METHODS[2:-1:3]]
    found += [run("thin", w, csr=True, engine=e) for w in METHODS[::2] for e in ("dense", "lazy")]
    found += [run("thin", w, csr=True, engine="gram", fit_intercept=True, dtype="float32") for w in METHODS[3::3]]
    found += [run(name, w, dtype="float32", engine="lazy") for name in ("wide", "tall") for w in METHODS[1::3]]
    found += [run(name, w, arithmetic="float32") for name in ("noise", "tall") for w in METHODS[:-1:2]]
    found += [run("noise", w, arithmetic="float32", dtype="float32", **both) for w in METHODS[1:-1:3]]
    found += [run("tall", w, engine="lazy", fit_intercept=True) for w in METHODS[2::4]]
    found += [run("groups", w, engine="lazy", max_iter=20) for w in (METHODS[2], METHODS[5], METHODS[8])]
    for k, ((name, gamma), p) in enumerate(product(TEMPERED, (0.1, 0.5, 0.75))):
        found += [run(("noise", "separable", "tall")[k % 3], (name, gamma), engine="lazy", power=p)]
        found += [run("noise", (name, gamma), engine="dense", power=p, **both)]
        found += [run("wide", (name, gamma), engine="gram", power=p)]
        found += [run("noise", (name, gamma), power=p, arithmetic="float32", dtype="float32")]
    return found


def result(run: dict[str, Any], engine: str) -> dict[str, Any]:
    """What comes of a run: updates, wrong rows, and the digest of all of it."""
    X, y, s = data(run["data"])
    X = X.astype(run["dtype"])
    found = sx.solve(
        sparse.csr_array(X) if run["csr"] else X,
        y,
        run["method"],
        step_size=run["step_size"],
        engine=engine,
        sample_weight=s if run["weights"] else None,
        **{key: run[key] for key in ("order", "arithmetic", "fit_intercept", "stop", "max_iter")},
        power=run["power"],
        record=None,
    )
    errors = int(found.trace["errors"][-1])
    return {"n_iter": found.n_iter, "errors": errors, "sha256": digest(found.phi, found.n_iter, errors)}


def digest(phi: np.ndarray, n_iter: int, errors: int) -> str:
    """The SHA-256 of these."""
    return hashlib.sha256(phi.astype("<f8").tobytes() + np.array([n_iter, errors], dtype="<i8").tobytes()).hexdigest()


def recorded() -> list[dict[str, Any]]:
    """The runs on record, with their results."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text())["runs"]
    return found


def named(run: dict[str, Any]) -> str:
    """The parameters of a run in one line, those that are as usual left out."""
    unusual = {k: v for k, v in run.items() if k in USUAL and k != "engine" and v != USUAL[k]}
    words = [run["data"], run["method"], str(run["step_size"]), run["engine"]]
    return " ".join(words + [f"{k}={v}" for k, v in unusual.items()])


def by_numpy() -> Iterator[tuple[str, dict[str, Any]]]:
    """Runs of the definition that do not come out as recorded; gram has bits of its own."""
    for run in recorded():
        expected = {key: run[key] for key in ("n_iter", "errors", "sha256")}
        if run["engine"] != "gram" and (found := result(run, "numpy")) != expected:
            yield named(run), found


if __name__ == "__main__":  # with SEPARATRIX_SIMD=numpy: nothing compiled
    wrong = list(by_numpy())
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
