"""Links: F rises from 0 to 1; log F(η), log(1 - F(η)) and log(F(h) - F(l)) with their derivatives, safe far out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.data.rows import Vector

HALF_LOG_2PI = 0.9189385332046727  # log √(2π)
FLOOR = -30.0  # below it log(1 - exp(-e^η)) is η - e^η/2 to the last bit


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of η at some places: f, f′ and f″."""

    value: Vector
    slope: Vector
    bend: Vector

    def times(self, factor: Vector) -> Curve:
        """The function times a factor per place; nothing where that is 0, however far out."""
        none = factor == 0
        with np.errstate(invalid="ignore"):
            parts = (np.where(none, 0.0, factor * part) for part in (self.value, self.slope, self.bend))
            return Curve(*parts)

    def plus(self, other: Curve) -> Curve:
        """The sum of two."""
        return Curve(self.value + other.value, self.slope + other.slope, self.bend + other.bend)


def log_up(link: str, eta: Vector) -> Curve:
    """log F(η)."""
    from scipy.special import erfcx, expit, log_expit, log_ndtr

    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        if link == "logit":  # F = 1/(1 + e^-η)
            p, q = expit(eta), expit(-eta)
            return Curve(log_expit(eta), q, -p * q)
        if link == "probit":  # F = Φ, λ = φ/Φ:  f′ = λ,  f″ = -λ(η + λ), between -1 and 0
            lam = np.sqrt(2 / np.pi) / erfcx(-eta / np.sqrt(2))
            return Curve(log_ndtr(eta), lam, np.clip(-lam * (eta + lam), -1.0, 0.0))
        if link == "cauchit":  # F = ½ + atan(η)/π = atan2(1, -η)/π, density 1/(π(1 + η²))
            F = np.arctan2(1.0, -eta) / np.pi
            lam = 1 / (np.pi * (1 + eta * eta)) / F
            return Curve(np.log(F), lam, -lam * (2 * eta / (1 + eta * eta) + lam))
        if link == "cloglog":  # F = 1 - exp(-x), x = e^η, g = x/(e^x - 1):  f′ = g,  f″ = g(1 - x - g)
            x = np.exp(eta)
            value = np.where(eta < FLOOR, eta - x / 2, np.log(-np.expm1(-x)))
            g = np.where(x > 0, x / np.expm1(x), 1.0)
            g = np.where(np.isnan(g), 0.0, g)
            return Curve(value, g, np.where(g > 0, np.minimum(g * (1 - x - g), 0.0), 0.0))
    raise ValueError(f'link must be "logit", "probit", "cauchit" or "cloglog", got {link!r}.')


def log_down(link: str, eta: Vector) -> Curve:
    """log(1 - F(η))."""
    if link == "cloglog":  # 1 - F = exp(-e^η)
        with np.errstate(over="ignore", under="ignore"):
            x = np.exp(eta)
        return Curve(-x, -x, -x)
    up = log_up(link, -eta)  # the others are symmetric: 1 - F(η) = F(-η)
    return Curve(up.value, -up.slope, up.bend)


@dataclass(frozen=True, eq=False)
class Between:
    """log(F(h) - F(l)) at some places, -∞ where h ≤ l, and its derivatives in h and l."""

    value: Vector
    h: Vector
    l: Vector  # noqa: E741
    hh: Vector
    ll: Vector
    hl: Vector


def log_between(link: str, high: Vector, low: Vector) -> Between:
    """log(F(h) - F(l)); h may be ∞ and l may be -∞.

    With densities f and P = F(h) - F(l):  ∂h = f(h)/P = a,  ∂l = -f(l)/P = -c,
    ∂hh = a (f′/f)(h) - a²,  ∂ll = -c (f′/f)(l) - c²,  ∂hl = ac.
    """
    from scipy.special import log_expit, log_ndtr

    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        if link == "logit":  # F(h) - F(l) = F(h) (1 - F(l)) (1 - e^-(h-l))
            value = log_expit(high) + log_expit(-low) + np.log(-np.expm1(-(high - low)))
            log_a, log_c = (log_expit(t) + log_expit(-t) - value for t in (high, low))
            tilt_h, tilt_l = -np.tanh(high / 2), -np.tanh(low / 2)
        elif link == "probit":  # of two ends right of 0 the mirror image, so that tails do not cancel
            top, bottom = np.where(low > 0, -low, high), np.where(low > 0, -high, low)
            value = log_ndtr(top) + np.log(-np.expm1(log_ndtr(bottom) - log_ndtr(top)))
            log_a, log_c = (-t * t / 2 - HALF_LOG_2PI - value for t in (high, low))
            tilt_h, tilt_l = -high, -low
        else:
            raise ValueError(f'the link of a cumulative model must be "logit" or "probit", got {link!r}.')
        a = np.where(np.isfinite(high), np.exp(log_a), 0.0)
        c = np.where(np.isfinite(low), np.exp(log_c), 0.0)
        hh = a * np.where(np.isfinite(high), tilt_h, 0.0) - a * a
        ll = -c * np.where(np.isfinite(low), tilt_l, 0.0) - c * c
    value = np.where(high > low, value, -np.inf)
    return Between(value, a, -c, hh, ll, a * c)
