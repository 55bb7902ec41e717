"""Cox's partial likelihood with Breslow's ties, by strata."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index, Vector
from separatrix.diagnosing.likelihood import TINY, offset_of, weight_of, weighted
from separatrix.models.conditions import Matrix
from separatrix.models.model import Model


@dataclass(frozen=True, eq=False)
class Hazards:
    """Σ_events w_i [u_i - log Σ_{j at risk} w_j e^u_j],  u = xᵀb + offset; at risk: same stratum, time not earlier.

    Along θ those at risk with less than the greatest xᵀθ, which is the event's own, lose all weight. The greatest falls
    from event to event, so what is left are strata within strata, one per level of xᵀθ: at an event everybody else of
    its level who has not left is still at risk. Who is below the level of the last event in his time has no say.
    """

    X: Matrix
    time: Vector
    event: NDArray[np.bool_]
    stratum: Index
    offset: Vector
    weight: Vector
    observations: Index
    constant: float = 0.0

    @cached_property
    def order(self) -> tuple[Index, Index, Index]:
        """Latest first within each stratum; of each distinct time the last place; and each place's time among those."""
        order = np.lexsort((-self.time, self.stratum))
        s, t = self.stratum[order], self.time[order]
        ends = np.flatnonzero(np.append((s[1:] != s[:-1]) | (t[1:] != t[:-1]), True)[: len(order)])
        return order, ends, np.searchsorted(ends, np.arange(len(order)))

    def _at_risk(self, b: Vector, X: Matrix | None = None) -> tuple[Vector, Vector, Matrix]:
        """log w e^u in order; at each distinct time log Σ_{at risk} w e^u, and the mean of x there."""
        order, ends, _ = self.order
        v = (self.X @ b + self.offset + np.log(self.weight))[order]
        total, mean = running(v, np.empty((len(v), 0)) if X is None else X[order], self.stratum[order])
        return v, total[ends], mean[ends]

    @cached_property
    def events(self) -> Vector:
        """The weight of the events at each distinct time."""
        order, ends, which = self.order
        return np.asarray(np.bincount(which, (self.weight * self.event)[order], len(ends)), dtype=np.float64)

    def value(self, b: Vector) -> float:
        """Σ w_i u_i - Σ_t d_t log Σ_{at risk} w e^u, d_t the weight of the events at t."""
        _, total, _ = self._at_risk(b)
        now = self.events > 0
        own = float((self.weight * self.event) @ (self.X @ b + self.offset))
        return own - float(self.events[now] @ total[now]) + self.constant

    def each(self, b: Vector) -> Vector:
        """log w_i e^u_i - log Σ_{at risk} w e^u for everybody, in the rows' order: the chance of being the event."""
        order, _, which = self.order
        v, total, _ = self._at_risk(b)
        found = np.empty(len(v))
        found[order] = v - total[which]
        return found

    def _shares(self, v: Vector, total: Vector) -> Vector:
        """r_j = Σ_t d_t w_j e^u_j / Σ_{at risk} w e^u over the times t at which j is at risk; in the rows' order."""
        order, ends, which = self.order
        with np.errstate(divide="ignore"):
            each = np.log(self.events) - total
        back = slice(None, None, -1)  # earliest first: sums over the times up to one's own
        summed = running(each[back], np.empty((len(each), 0)), self.stratum[order][ends][back])[0][back]
        share = np.empty(len(order))
        share[order] = np.exp(v + summed[which])
        return share

    def gradient(self, b: Vector) -> Vector:
        """Xᵀ (w 1[event] - r)."""
        v, total, _ = self._at_risk(b)
        return np.asarray(self.X.T @ (self.weight * self.event - self._shares(v, total)))

    def hessian(self, b: Vector) -> Matrix:
        """-(Xᵀ diag(r) X - Σ_t d_t m_t m_tᵀ), m_t the mean of x at risk."""
        v, total, mean = self._at_risk(b, self.X)
        return weighted(mean, self.events) - weighted(self.X, self._shares(v, total))

    def span(self) -> Any:
        """Differences to an event, among those at risk at the first event of each stratum."""
        rows = [np.empty((0, self.X.shape[1]))]
        for s in np.unique(self.stratum[self.event]):
            inside = np.flatnonzero(self.stratum == s)
            events = inside[self.event[inside]]
            first = events[np.argmin(self.time[events])]
            rows.append(self.X[inside[self.time[inside] >= self.time[first]]] - self.X[first])
        return np.vstack(rows)

    def start(self) -> Vector:
        """Zero."""
        return np.zeros(self.X.shape[1])

    def limit(self, separated: Index, theta: Vector) -> Hazards:
        """With strata within strata."""
        level, size = self.X @ theta, abs(self.X) @ abs(theta)
        fresh, label = np.full(len(level), -1, dtype=np.int64), -1
        for s in np.unique(self.stratum):
            inside = np.flatnonzero(self.stratum == s)
            inside = inside[np.lexsort((~self.event[inside], self.time[inside]))]  # events before who leaves then
            leader = -1  # the latest event met
            for at in inside.tolist():
                if leader < 0 and not self.event[at]:
                    continue  # left before the first event
                same = leader >= 0 and level[leader] - level[at] <= TINY * max(size[leader], size[at])
                if self.event[at]:
                    label += not same
                    leader = at
                    same = True
                fresh[at] = label if same else -1
        keep = np.flatnonzero(fresh >= 0)
        alone = np.bincount(fresh[keep])[fresh[keep]] == 1  # an event by itself: w [u - log w e^u] = -w log w
        constant = -float(self.weight[keep[alone]] @ np.log(self.weight[keep[alone]]))
        keep = keep[~alone]
        return replace(
            self,
            X=self.X[keep],
            time=self.time[keep],
            event=self.event[keep],
            stratum=fresh[keep],
            offset=self.offset[keep],
            weight=self.weight[keep],
            observations=self.observations[keep],
            constant=self.constant + constant,
        )


def of_times(model: Model) -> Hazards:
    """Cox's model of a table."""
    X = model.X if isinstance(model.X, np.ndarray) else model.X.toarray()
    time = np.zeros(model.n) if model.time is None else model.time
    stratum = np.zeros(model.n, dtype=np.int64) if model.groups is None else model.groups
    return Hazards(X, time, model.y > 0, stratum, offset_of(model), weight_of(model), np.arange(model.n))


def running(v: Vector, X: Matrix, group: Index) -> tuple[Vector, Matrix]:
    """log Σ e^v and the mean of x with weights e^v, over each place and those before it in its group.

    By doubling: after k rounds a place knows of 2^k places, and two sums join by their greater part, so that
    nothing overflows and no part is lost, however far apart they are.
    """
    total, mean, step = np.array(v), np.array(X), 1
    while step < len(v):
        before = np.where(group[step:] == group[:-step], total[:-step], -np.inf)
        joint = np.logaddexp(total[step:], before)
        known = joint > -np.inf
        q = np.where(known, np.exp(np.where(known, before, 0.0) - np.where(known, joint, 0.0)), 0.0)[:, None]
        mean[step:] = (1 - q) * mean[step:] + q * mean[:-step]
        total[step:] = joint
        step *= 2
    return total, mean
