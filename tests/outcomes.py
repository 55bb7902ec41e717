"""Small random models of every family, and their recession cones by one linear program."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from separatrix.models.model import Model

LINKS = ("logit", "probit", "cauchit", "cloglog")
KINDS = [
    *[("binary", link) for link in LINKS],
    *[("grouped", link) for link in LINKS],
    ("fractional", "logit"),
    ("multinomial", ""),
    ("cumulative", "logit"),
    ("cumulative", "probit"),
    ("adjacent", ""),
    *[("sequential", link) for link in LINKS],
    ("poisson", "log"),
    ("negative-binomial", "log"),
    ("ppml", "log"),
    ("matched", ""),
    ("cox", ""),
]
NAMES = [f"{family} {link}".strip() for family, link in KINDS]


def random_model(kind: str, link: str, seed: int, *, n: int = 0, p: int = 3, plain: bool = False, csr: bool = False):
    """Few different values, so that ties and separation are common; weights and offsets unless `plain`."""
    rng = np.random.default_rng(seed)
    n = n or {"grouped": 12, "fractional": 10}.get(kind, 24)
    X = rng.integers(-1, 2, (n, p)).astype(float)
    X[:, -1] = rng.integers(0, 5, n) / 2
    weight = np.ones(n) if plain else rng.integers(1, 4, n) / 2.0
    offset = np.zeros(n) if plain else rng.normal(size=n) / 2
    eta = X @ rng.normal(size=p) * 1.5
    common = {"X": sparse.csr_array(X) if csr else X, "terms": tuple(f"x{j}" for j in range(p))}
    common |= {"weight": weight, "offset": offset}
    one = 1 / (1 + np.exp(-eta))
    if kind in ("binary", "grouped", "fractional"):
        if kind == "binary":
            return Model(
                link, kind, link, y=1.0 * (rng.random(n) < one), constant=True, classes=("no", "yes"), **common
            )
        trials = np.ones(n) if kind == "fractional" else rng.integers(1, 4, n).astype(float)
        y = np.round(one * 2) / 2 if kind == "fractional" else rng.binomial(trials.astype(int), one).astype(float)
        return Model(
            "fractional" if kind == "fractional" else link, "grouped", link, y=y, trials=trials, constant=True, **common
        )
    if kind in ("poisson", "negative-binomial", "ppml"):
        y = rng.poisson(np.exp(np.clip(eta - 1, -3, 2))).astype(float) * (1.5 if kind == "ppml" else 1.0)
        return Model(kind, "counts", link, y=y, constant=True, **common)
    if kind == "multinomial":
        code = np.clip(np.rint(eta / 2 + 1 + rng.normal(size=n)), 0, 2)
        return Model(kind, kind, link, y=code, constant=True, classes=("a", "b", "c"), **common)
    if kind in ("cumulative", "adjacent", "sequential"):
        code = np.clip(np.rint(eta + 1.5 + rng.normal(size=n) / 2), 0, 3)
        return Model(kind, kind, link, y=code, constant=False, classes=("1", "2", "3", "4"), **common)
    groups = np.repeat(np.arange(n // 4), 4) if kind == "matched" else rng.integers(0, 2, n)
    event = rng.random(n) < (one if kind == "matched" else 0.6)
    time = np.clip(np.rint(4 - 1.5 * eta + rng.normal(size=n) / 4), 0, 8)
    if kind == "matched":
        return Model("conditional", kind, link, y=1.0 * event, groups=groups, constant=False, **common)
    return Model(kind, kind, link, y=1.0 * event, groups=groups, time=time, constant=False, **common)


def recession(model: Model):
    """The separated observations, and a direction in the relative interior of the cone: max Σt, t ≤ Zθ, 0 ≤ t ≤ 1."""
    found = model.conditions()
    Z = found.Z if isinstance(found.Z, np.ndarray) else found.Z.toarray()
    N, D = Z.shape
    c = np.concatenate([np.zeros(D), -np.ones(N)])
    A = np.hstack([-Z, np.eye(N)])
    bounds = [(None, None)] * D + [(0, 1)] * N
    answer = linprog(c, A_ub=A, b_ub=np.zeros(N), bounds=bounds, method="highs")
    assert answer.status == 0
    strict = np.flatnonzero(answer.x[D:] > 0.5)
    theta = answer.x[:D] if len(strict) else np.zeros(D)
    return found.separated(strict), theta[: len(model.coefficients)]
