"""Log-likelihoods of the models, with gradient and Hessian, and what is left of each along a direction b + sθ, s → ∞.

Along a direction of recession every factor of a likelihood either stays or rises to a limit. The limit of the whole is
a likelihood of the same form with parts left out (Geyer 2009), so each class below has `limit`: which parts.
Coefficients are in the order of `model.coefficients`. Weights multiply the factors; an offset is part of xᵀb.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index, Vector
from separatrix.diagnosing.links import Between, Curve, log_between, log_down, log_up
from separatrix.models.conditions import Matrix, below, beside, signed, times
from separatrix.models.model import Model

TINY = 1e-9  # of Σ|z_k θ_k|: a margin below it is 0 but for rounding
DISPERSION = 1.0  # of a negative binomial whose dispersion nobody gave


class Likelihood(Protocol):
    """A log-likelihood ℓ(b)."""

    @property
    def observations(self) -> Index:
        """The observations that have a say, by their place in the model."""

    def value(self, b: Vector) -> float:
        """ℓ(b), -∞ where b is not allowed."""

    def gradient(self, b: Vector) -> Vector:
        """∇ℓ(b)."""

    def hessian(self, b: Vector) -> Matrix:
        """∇²ℓ(b)."""

    def span(self) -> Any:
        """Rows z, dense or CSR, with zᵀd = 0 for all of them exactly where ℓ(b + d) = ℓ(b) for all b."""

    def start(self) -> Vector:
        """A b with a finite value, to climb from."""

    def limit(self, separated: Index, theta: Vector) -> Likelihood:
        """The limit of ℓ(b + sθ) for s → ∞; `separated` are the observations whose factors rise to it."""


def likelihood(model: Model, *, dispersion: float = DISPERSION) -> Likelihood:
    """The log-likelihood of a model.

    binary, grouped, fractional  Σ w [k log F(η) + (m-k) log(1 - F(η))],  η = xᵀb
    sequential                   the same, one term per step at risk,  η = a_k - xᵀb
    cumulative                   Σ w log(F(a_j - xᵀb) - F(a_{j-1} - xᵀb))
    counts                       Σ w [y η - e^η]; negative binomial Σ w [y η - (y + 1/α) log(1 + α e^η)]
    multinomial, adjacent        Σ w [u_y - log Σ_c e^u_c]
    matched, cox                 see `choices.Sets` and `hazards.Hazards`

    Constants such as log y! are counted where outcomes are whole numbers. The negative binomial's α is `dispersion`.
    """
    from separatrix.diagnosing import choices, hazards

    if model.family == "cumulative":
        return _cumulative(model)
    if model.family in ("multinomial", "adjacent"):
        return choices.of_classes(model)
    if model.family == "matched":
        return choices.of_sets(model)
    if model.family == "cox":
        return hazards.of_times(model)
    return _sequential(model) if model.family == "sequential" else _terms(model, dispersion)


def weight_of(model: Model) -> Vector:
    """One weight per observation."""
    return model.weight if len(model.weight) else np.ones(model.n)


def offset_of(model: Model) -> Vector:
    """One offset per observation."""
    return model.offset if len(model.offset) else np.zeros(model.n)


def weighted(B: Any, h: Vector, C: Any = None) -> Matrix:
    """Bᵀ diag(h) C, dense; C is B unless given."""
    C = B if C is None else C
    if isinstance(B, np.ndarray):
        return np.asarray(B.T @ (C * h[:, None]))
    from scipy.sparse import diags_array

    return np.asarray((B.T @ (diags_array(h) @ C)).toarray())


def strictly(margin: Vector, size: Vector, observation: Index, separated: Index) -> NDArray[np.bool_]:
    """Which conditions zᵀθ ≥ 0 are strict: of separated observations only, and of each of those one at least."""
    share = np.where(size > 0, margin / np.where(size > 0, size, 1.0), 0.0)
    among = np.isin(observation, separated)
    best = np.full(int(observation.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, observation, share)
    return np.asarray(among & ((share > TINY) | (share == best[observation])))


# One linear predictor per factor.


class Outcome(Protocol):
    """The factors of a likelihood as functions of their linear predictors."""

    def at(self, eta: Vector) -> Curve:
        """Each factor's logarithm at η."""

    def only(self, keep: Any) -> Outcome:
        """Some of them."""

    def guess(self) -> Vector | None:
        """η near the maximum, where 0 might be far from it."""


@dataclass(frozen=True, eq=False)
class Binomial:
    """k log F(η) + (m-k) log(1 - F(η)) + log of m over k."""

    link: str
    won: Vector
    lost: Vector
    constant: Vector

    def at(self, eta: Vector) -> Curve:
        """Each factor's logarithm at η."""
        found = log_up(self.link, eta).times(self.won).plus(log_down(self.link, eta).times(self.lost))
        return replace(found, value=found.value + self.constant)

    def only(self, keep: Any) -> Binomial:
        """Some of them."""
        return Binomial(self.link, self.won[keep], self.lost[keep], self.constant[keep])

    def guess(self) -> Vector | None:
        """Zero will do."""
        return None


@dataclass(frozen=True, eq=False)
class Counts:
    """y η - e^η - log y!, and with dispersion α > 0 the negative binomial's, y η - (y + 1/α) log(1 + α e^η)."""

    y: Vector
    alpha: float

    def at(self, eta: Vector) -> Curve:
        """Each factor's logarithm at η."""
        from scipy.special import expit, gammaln

        y, alpha = self.y, self.alpha
        with np.errstate(over="ignore", under="ignore"):
            if alpha == 0:
                mean = np.exp(eta)
                return Curve(y * eta - mean - gammaln(y + 1), y - mean, -mean)
            k, shifted = y + 1 / alpha, eta + np.log(alpha)  # α e^η = e^shifted
            constant = gammaln(k) - gammaln(1 / alpha) - gammaln(y + 1)
            p, q = expit(shifted), expit(-shifted)
            return Curve(constant + y * shifted - k * np.logaddexp(0.0, shifted), y - k * p, -k * p * q)

    def only(self, keep: Any) -> Counts:
        """Some of them."""
        return Counts(self.y[keep], self.alpha)

    def guess(self) -> Vector:
        """Half way between each count and their mean, as generalised linear models are begun."""
        return np.asarray(np.log((self.y + max(float(self.y.mean()), 1e-3)) / 2)) if len(self.y) else self.y


@dataclass(frozen=True, eq=False)
class Terms:
    """Σ w f(η), η = Bb + offset, one η per factor; `observation` says whose factor it is.

    A factor that is strict along θ tends to 1 (a count of 0: e^-e^η → 1) and leaves; the others do not change at all.
    """

    B: Any
    offset: Vector
    weight: Vector
    observation: Index
    outcome: Outcome

    @property
    def observations(self) -> Index:
        """The observations that have a say."""
        return np.unique(self.observation)

    def at(self, b: Vector) -> Curve:
        """The factors' logarithms, as functions of η."""
        return self.outcome.at(self.B @ b + self.offset)

    def value(self, b: Vector) -> float:
        """Σ w f(η)."""
        return float(self.weight @ self.at(b).value)

    def gradient(self, b: Vector) -> Vector:
        """Bᵀ w f′(η)."""
        return np.asarray(self.B.T @ (self.weight * self.at(b).slope))

    def hessian(self, b: Vector) -> Matrix:
        """Bᵀ diag(w f″(η)) B."""
        return weighted(self.B, self.weight * self.at(b).bend)

    def scores(self, b: Vector) -> Matrix:
        """Σ (w f′)² z zᵀ, the middle of the sandwich."""
        return weighted(self.B, (self.weight * self.at(b).slope) ** 2)

    def span(self) -> Any:
        """B itself."""
        return self.B

    def start(self) -> Vector:
        """Zero, or least squares to the outcome's own guess."""
        eta = self.outcome.guess()
        if eta is None or len(eta) == 0:
            return np.zeros(self.B.shape[1])
        w = self.weight * np.exp(eta)
        G = weighted(self.B, w)
        ridge = 1e-10 * np.diag(np.where(G.diagonal() > 0, G.diagonal(), 1.0))
        b = np.linalg.solve(G + ridge, self.B.T @ (w * (eta - self.offset)))
        return b if np.isfinite(self.value(b)) else np.zeros(len(b))

    def gone(self, separated: Index, theta: Vector) -> NDArray[np.bool_]:
        """Which factors are strict along θ."""
        return strictly(abs(self.B @ theta), abs(self.B) @ abs(theta), self.observation, separated)

    def limit(self, separated: Index, theta: Vector) -> Terms:
        """Without the factors that tend to 1."""
        keep = ~self.gone(separated, theta)
        B, observation = self.B[keep], self.observation[keep]
        return Terms(B, self.offset[keep], self.weight[keep], observation, self.outcome.only(keep))


def _terms(model: Model, dispersion: float) -> Terms:
    """Binary, grouped and fractional outcomes, and counts."""
    from scipy.special import gammaln

    y, outcome = model.y, cast("Outcome", Counts(model.y, dispersion if model.name == "negative-binomial" else 0.0))
    if model.family != "counts":
        trials = np.ones(model.n) if model.family == "binary" or model.trials is None else model.trials
        constant = np.zeros(model.n)
        if model.family == "grouped" and (y == np.rint(y)).all() and (trials == np.rint(trials)).all():
            constant = gammaln(trials + 1) - gammaln(y + 1) - gammaln(trials - y + 1)
        outcome = Binomial(model.link, y, trials - y, constant)
    return Terms(model.A, offset_of(model), weight_of(model), np.arange(model.n), outcome)


def _sequential(model: Model) -> Terms:
    """One factor per step: stopped, F(a_j - xᵀb), and passed, 1 - F(a_k - xᵀb) for every k < j."""
    j, last = model.codes, len(model.classes) - 1
    stopped, passed = np.flatnonzero(j < last), np.repeat(np.arange(model.n), j)
    at = np.arange(len(passed)) - np.repeat(np.cumsum(j) - j, j)  # 0 … j-1 for each
    rows, step = np.concatenate([stopped, passed]), np.concatenate([j[stopped], at])
    order = np.lexsort((step, rows))
    won = np.repeat([1.0, 0.0], [len(stopped), len(passed)])[order]
    rows, step = rows[order], step[order]
    B = beside(one_hot(step, last), signed(model.X, rows, np.full(len(rows), -1.0)))
    outcome = Binomial(model.link or "logit", won, 1 - won, np.zeros(len(won)))
    return Terms(B, -offset_of(model)[rows], weight_of(model)[rows], rows, outcome)


def one_hot(which: Index, size: int) -> Matrix:
    """A 1 per row, in this column; no 1 where the column is out of range."""
    return np.asarray(which[:, None] == np.arange(size), dtype=np.float64)


# Two linear predictors per factor.


@dataclass(frozen=True, eq=False)
class Intervals:
    """Σ w log(F(h) - F(l)),  h = a_j - xᵀb unless j is the last category,  l = a_{j-1} - xᵀb unless it is the first.

    Along θ an end that is strict runs off, h → ∞ or l → -∞, and drops out; the other end stays where it is. An
    observation with neither end has the factor 1.
    """

    link: str
    X: Any
    code: Index
    upper: NDArray[np.bool_]
    lower: NDArray[np.bool_]
    cuts: int
    offset: Vector
    weight: Vector

    @property
    def observations(self) -> Index:
        """The observations that have a say."""
        return np.flatnonzero(self.upper | self.lower)

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """The rows of h and of l; zeros where there is no such end."""
        high = one_hot(np.where(self.upper, self.code, -1), self.cuts)
        low = one_hot(np.where(self.lower, self.code - 1, -1), self.cuts)
        return beside(high, times(self.X, -1.0 * self.upper)), beside(low, times(self.X, -1.0 * self.lower))

    def between(self, b: Vector) -> Between:
        """The factors' logarithms, as functions of h and l."""
        H, L = self.ends
        high = np.where(self.upper, H @ b - self.offset, np.inf)
        low = np.where(self.lower, L @ b - self.offset, -np.inf)
        return log_between(self.link, high, low)

    def value(self, b: Vector) -> float:
        """Σ w log(F(h) - F(l))."""
        return float(self.weight @ self.between(b).value)

    def gradient(self, b: Vector) -> Vector:
        """Hᵀ w ∂h + Lᵀ w ∂l."""
        (H, L), at = self.ends, self.between(b)
        return np.asarray(H.T @ (self.weight * at.h) + L.T @ (self.weight * at.l))

    def hessian(self, b: Vector) -> Matrix:
        """Hᵀ w ∂hh H + Lᵀ w ∂ll L + Hᵀ w ∂hl L + its transpose."""
        (H, L), at, w = self.ends, self.between(b), self.weight
        cross = weighted(H, w * at.hl, L)
        return weighted(H, w * at.hh) + weighted(L, w * at.ll) + cross + cross.T

    def span(self) -> Any:
        """The rows of all ends."""
        H, L = self.ends
        return below(H[self.upper], L[self.lower])

    def start(self) -> Vector:
        """Thresholds in order, at the shares of the categories; slopes 0."""
        share = np.cumsum(np.bincount(self.code, self.weight, self.cuts + 1) + 0.5)[:-1]
        share = share / (self.weight.sum() + 0.5 * (self.cuts + 1))
        return np.concatenate([np.log(share / (1 - share)), np.zeros(self.X.shape[1])])

    def limit(self, separated: Index, theta: Vector) -> Intervals:
        """Without the ends that run off."""
        H, L = self.ends
        up, down = np.flatnonzero(self.upper), np.flatnonzero(self.lower)
        margin = np.concatenate([(H @ theta)[up], -(L @ theta)[down]])
        size = np.concatenate([(abs(H) @ abs(theta))[up], (abs(L) @ abs(theta))[down]])
        gone = strictly(margin, size, np.concatenate([up, down]), separated)
        upper, lower = self.upper.copy(), self.lower.copy()
        upper[up[gone[: len(up)]]] = False
        lower[down[gone[len(up) :]]] = False
        return replace(self, upper=upper, lower=lower)


def _cumulative(model: Model) -> Intervals:
    j, cuts = model.codes, len(model.classes) - 1
    w, offset = weight_of(model), offset_of(model)
    return Intervals(model.link or "logit", model.X, j, j < cuts, j > 0, cuts, offset, w)
