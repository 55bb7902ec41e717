"""Likelihoods of choices: one of several classes, or the cases among the members of a matched set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index, Vector
from separatrix.diagnosing.likelihood import TINY, offset_of, one_hot, strictly, weight_of, weighted
from separatrix.models.conditions import Matrix, beside
from separatrix.models.model import Model

ROOM = 2**22  # numbers of covariances that are kept at a time


@dataclass(frozen=True, eq=False)
class Classes:
    """Σ w [u_y - log Σ_c e^u_c], the sum over the classes that are open to the observation.

        multinomial   u_c = xᵀb_c + offset, and 0 for the first class
        adjacent      u_c = Σ_{k≥c} (a_k - xᵀb - offset), and 0 for the last

    Both are u_c = xᵀβ_c + share_c offset with β = Lb, a column of ones in A where a has its part.
    Along θ classes with (θ_y - θ_c)ᵀx > 0 lose all weight against the observed one and close; among those with equality
    nothing changes. An observation with one open class has the factor 1.
    """

    A: Any
    L: Any
    share: Vector
    code: Index
    open: NDArray[np.bool_]
    offset: Vector
    weight: Vector

    @property
    def observations(self) -> Index:
        """The observations that have a say."""
        return np.flatnonzero(self.open.sum(axis=1) > 1)

    def scores(self, b: Vector) -> Matrix:
        """u, one line per observation; -∞ for classes that are closed."""
        beta = (self.L @ b).reshape(len(self.share), -1)
        u = np.asarray(self.A @ beta.T) + self.offset[:, None] * self.share
        return np.where(self.open, u, -np.inf)

    def chances(self, b: Vector) -> Matrix:
        """e^u_c / Σ e^u."""
        u = self.scores(b)
        p = np.exp(u - u.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def value(self, b: Vector) -> float:
        """Σ w [u_y - log Σ_c e^u_c]."""
        from scipy.special import logsumexp

        u = self.scores(b)
        return float(self.weight @ (u[np.arange(len(u)), self.code] - logsumexp(u, axis=1)))

    def gradient(self, b: Vector) -> Vector:
        """Lᵀ of, class by class, Aᵀ w (1[y = c] - p_c)."""
        rest = (one_hot(self.code, len(self.share)) - self.chances(b)) * self.weight[:, None]
        return np.asarray(self.L.T @ np.asarray(self.A.T @ rest).T.ravel())

    def hessian(self, b: Vector) -> Matrix:
        """-LᵀHL, with blocks H_cd = Aᵀ diag(w p_c (1[c = d] - p_d)) A."""
        p, C, q = self.chances(b), len(self.share), self.A.shape[1]
        H = np.zeros((C, q, C, q))
        for c in range(C):
            for d in range(c, C):
                H[c, :, d] = weighted(self.A, self.weight * p[:, c] * ((c == d) - p[:, d]))
                H[d, :, c] = H[c, :, d].T
        return -np.asarray(self.L.T @ (self.L.T @ H.reshape(C * q, C * q)).T)

    def rows_of(self, at: Index, which: Index) -> Matrix:
        """The rows z with zᵀb = u_c but for the offset, of these observations and classes."""
        A = self.A[at] if isinstance(self.A, np.ndarray) else self.A[at].toarray()
        blocks = np.zeros((len(at), len(self.share), A.shape[1]))
        blocks[np.arange(len(at)), which] = A
        return np.asarray((self.L.T @ blocks.reshape(len(at), -1).T).T)

    def against(self, c: int) -> tuple[Any, Index]:
        """The rows z with zᵀb = u_y - u_c, where c is open and not what was observed, and whose they are."""
        at = np.flatnonzero(self.open[:, c] & (self.code != c))
        blocks = [(1.0 * (self.code[at] == d) - (c == d))[:, None] for d in range(len(self.share))]
        A = self.A[at]
        if isinstance(A, np.ndarray):
            return np.asarray((self.L.T @ np.hstack([A * block for block in blocks]).T).T), at
        return beside(*[A.multiply(block).tocsr() for block in blocks]) @ self.L, at

    def span(self) -> Any:
        """u_y - u_c for every class that is open."""
        from separatrix.models.conditions import below

        return below(*[self.against(c)[0] for c in range(len(self.share))])

    def start(self) -> Vector:
        """Zero."""
        return np.zeros(self.L.shape[1])

    def limit(self, separated: Index, theta: Vector) -> Classes:
        """With the classes closed that lose all weight."""
        found = [self.against(c) for c in range(len(self.share))]
        margin = np.concatenate([Z @ theta for Z, _ in found])
        size = np.concatenate([abs(Z) @ abs(theta) for Z, _ in found])
        observation = np.concatenate([at for _, at in found])
        gone = strictly(margin, size, observation, separated)
        which = np.repeat(np.arange(len(found)), [len(at) for _, at in found])
        still = self.open.copy()
        still[observation[gone], which[gone]] = False
        return replace(self, open=still)


def of_classes(model: Model) -> Classes:
    """Multinomial, or adjacent categories."""
    from scipy.sparse import csr_array, eye_array, kron, vstack

    C, code = len(model.classes), model.codes
    every = np.ones((model.n, C), dtype=bool)
    if model.family == "multinomial":
        q = model.A.shape[1]
        L = csr_array(vstack([csr_array((q, (C - 1) * q)), eye_array((C - 1) * q)]))
        return Classes(
            model.A, L, (np.arange(C) > 0).astype(np.float64), code, every, offset_of(model), weight_of(model)
        )
    p, left = model.X.shape[1], np.arange(C - 1, -1, -1).astype(np.float64)  # β_c = (-(C-1-c) b, Σ_{k≥c} a_k)
    tail = np.triu(np.ones((C, C - 1)))
    slopes = kron(csr_array(-left[:, None]), beside_zero(p))
    cuts = kron(csr_array(tail), csr_array(([1.0], ([p], [0])), shape=(p + 1, 1)))
    L = csr_array(beside(cuts.tocsr(), slopes.tocsr()))
    A = beside(model.X, np.ones((model.n, 1)))
    return Classes(A, L, -left, code, every, offset_of(model), weight_of(model))


def beside_zero(p: int) -> Any:
    """The identity with a line of zeros below it."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(p), (np.arange(p), np.arange(p))), shape=(p + 1, p))


@dataclass(frozen=True, eq=False)
class Sets:
    """Matched sets: Σ w [Σ_cases u - log e_k(e^u)],  u = xᵀb + offset, e_k the sum over all subsets of k members.

    A set's weight is the mean weight of its cases. Along θ subsets with less than the greatest Σ xᵀθ lose all weight.
    So cases above the lowest case's level are chosen for certain and controls below it never: both leave the set. With
    no control at that level the factor is 1.
    """

    X: Matrix
    case: NDArray[np.bool_]
    group: Index
    offset: Vector
    weight: Vector
    observations: Index

    @cached_property
    def sets(self) -> list[tuple[Index, Vector, float]]:
        """Sets of the same size and number chosen: members, the chosen first, weights, and the sign of u.

        Where cases are more than controls the controls are chosen, by -u, which is the same event.
        """
        order = np.lexsort((~self.case, self.group))
        alike: dict[tuple[int, int], list[Index]] = {}
        for members in np.split(order, np.flatnonzero(np.diff(self.group[order])) + 1):
            alike.setdefault((len(members), int(self.case[members].sum())), []).append(members)
        found = []
        for (m, k), lists in alike.items():
            if 0 < k < m:
                members = np.array(lists)
                w = self.weight[members[:, 0]]
                few = 2 * k <= m
                found.append((members if few else members[:, ::-1], w, 1.0 if few else -1.0))
        return found

    def _chosen(self, members: Index) -> int:
        k = int(self.case[members[0]].sum())
        return min(k, int(members.shape[1]) - k)

    def value(self, b: Vector) -> float:
        """Σ w [Σ_cases u - log e_k(e^u)]."""
        u, total = self.X @ b + self.offset, 0.0
        for members, w, sign in self.sets:
            k = self._chosen(members)
            v = sign * u[members]
            total += float(w @ (v[:, :k].sum(axis=1) - _subsets(v, k)))
        return total

    def gradient(self, b: Vector) -> Vector:
        """Σ w [Σ_cases x - its mean over subsets]."""
        return self._moments(b)[0]

    def hessian(self, b: Vector) -> Matrix:
        """-Σ w times the covariance of Σ x over subsets."""
        return self._moments(b)[1]

    def _moments(self, b: Vector) -> tuple[Vector, Matrix]:
        u, d = self.X @ b + self.offset, self.X.shape[1]
        g, H = np.zeros(d), np.zeros((d, d))
        for members, w, sign in self.sets:
            k = self._chosen(members)
            many = max(1, ROOM // ((k + 1) * d * d + 1))
            for at in range(0, len(members), many):
                some, share = members[at : at + many], w[at : at + many]
                X = sign * self.X[some]
                mean, spread = _moments(sign * u[some], X, k)
                g += share @ (X[:, :k].sum(axis=1) - mean)
                H -= np.tensordot(share, spread, 1)
        return g, H

    def span(self) -> Any:
        """Differences to one member, within each set."""
        rows = [self.X[members[:, 1:]] - self.X[members[:, :1]] for members, _, _ in self.sets]
        return np.vstack([Z.reshape(-1, self.X.shape[1]) for Z in rows] or [np.empty((0, self.X.shape[1]))])

    def start(self) -> Vector:
        """Zero."""
        return np.zeros(self.X.shape[1])

    def limit(self, separated: Index, theta: Vector) -> Sets:
        """Without the members that are chosen for certain or never."""
        level, keep = self.X @ theta, np.zeros(len(self.X), dtype=bool)
        size = abs(self.X) @ abs(theta)
        for members, _, sign in self.sets:
            chosen = np.arange(members.shape[1]) < self._chosen(members)
            cases = chosen if sign > 0 else ~chosen
            h, room = level[members], TINY * size[members].max(axis=1, keepdims=True)
            low = h[:, cases].min(axis=1, keepdims=True)  # the lowest case, which no control exceeds
            keep[members] = (abs(h - low) <= room) & (h[:, ~cases].max(axis=1, keepdims=True) >= low - room)
        return self.only(np.flatnonzero(keep))

    def only(self, at: Index, *, one: bool = False) -> Sets:
        """Of these members, with their weights or with weight one."""
        weight = np.ones(len(at)) if one else self.weight[at]
        return Sets(self.X[at], self.case[at], self.group[at], self.offset[at], weight, self.observations[at])


def of_sets(model: Model) -> Sets:
    """The conditional logit."""
    X = model.X if isinstance(model.X, np.ndarray) else model.X.toarray()
    group = np.zeros(model.n, dtype=np.int64) if model.groups is None else model.groups
    case = model.y > 0
    cases, total = np.bincount(group, case), np.bincount(group, weight_of(model) * case)
    weight = (total / np.maximum(cases, 1))[group]  # the set's, for each of its members: some may leave
    return Sets(X, case, group, offset_of(model), weight, np.arange(model.n))


def _subsets(u: Matrix, k: int) -> Vector:
    """log e_k(e^u) per line, member by member: e_r = e_r of the earlier ones + e^u_j e_{r-1} of the earlier ones."""
    f = np.full((len(u), k + 1), -np.inf)
    f[:, 0] = 0.0
    for j in range(u.shape[1]):
        f[:, 1:] = np.logaddexp(f[:, 1:], f[:, :-1] + u[:, j, None])
    return np.asarray(f[:, k])


def _moments(u: Matrix, X: NDArray[np.float64], k: int) -> tuple[Matrix, NDArray[np.float64]]:
    """Mean and covariance of Σ x over subsets of k members, drawn with odds e^Σu; one line per set.

    By the same recursion: r of the first j hold j with chance q, so that means and covariances are mixtures,
        mean ← mean + qδ,   cov ← (1-q) cov + q cov of r-1 + q(1-q) δδᵀ,   δ = mean of r-1 + x_j - mean.
    """
    G, m, d = X.shape
    f = np.full((G, k + 1), -np.inf)
    f[:, 0] = 0.0
    mean, spread = np.zeros((G, k + 1, d)), np.zeros((G, k + 1, d, d))
    for j in range(m):
        taken = f[:, :-1] + u[:, j, None]
        total = np.logaddexp(f[:, 1:], taken)
        known = total > -np.inf
        q = np.where(known, np.exp(np.where(known, taken, 0.0) - np.where(known, total, 0.0)), 0.0)[:, :, None]
        delta = mean[:, :-1] + X[:, j, None, :] - mean[:, 1:]
        q2 = q[:, :, :, None]
        outer = delta[:, :, :, None] * delta[:, :, None, :]
        spread[:, 1:] = (1 - q2) * spread[:, 1:] + q2 * spread[:, :-1] + q2 * (1 - q2) * outer
        mean[:, 1:] = mean[:, 1:] + q * delta
        f[:, 1:] = total
    return mean[:, k], spread[:, k]
