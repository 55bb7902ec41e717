"""Fit: the finite estimates of a reduced model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.rows import Vector
from separatrix.diagnosing.climbing import Climb, climb, information
from separatrix.diagnosing.likelihood import Binomial, Counts, Likelihood, Terms
from separatrix.models.conditions import Matrix
from separatrix.reporting.plain import LINE, LONG, plain

if TYPE_CHECKING:
    from separatrix.diagnosing.reduced import Reduced

SHOWN = 30  # coefficients listed
LEAST, MOST = 1e-7, 1e4  # dispersion of a negative binomial
QUASI = ("ppml", "fractional")  # outcomes whose spread the likelihood does not know


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Estimates of a reduced model.

    Attributes
    ----------
    names : tuple of str
        The coefficients, those that were kept.
    estimates : ndarray of float
        One per name.
    errors : ndarray of float
        Their standard errors.
    covariance : ndarray of float
        Of the estimates: the inverse of the information, and for PPML and fractions, of whose spread the likelihood
        knows nothing, the sandwich (HC0).
    log_likelihood : float
        The maximum, which is the supremum of the whole model's.
    n_iter : int
        Newton's steps.
    converged : bool
        Whether the maximum was reached.
    status : str
        How it ended, in words.
    notes : tuple of str
        What to know of single estimates.
    dispersion : float
        Of a negative binomial, by maximum likelihood; else 0.
    n : int
        Observations.
    b : ndarray of float
        All coefficients of the model, 0 where dropped.
    likelihood : Likelihood
        What was maximised.
    reduced : Reduced
        The model that was fitted.
    z : ndarray of float
        Estimates in standard errors.
    p : ndarray of float
        Two-sided p-values of Wald's test.
    """

    names: tuple[str, ...]
    estimates: Vector
    errors: Vector
    covariance: Matrix
    log_likelihood: float
    n_iter: int
    converged: bool
    status: str
    notes: tuple[str, ...]
    dispersion: float
    n: int
    b: Vector
    likelihood: Likelihood
    reduced: Reduced

    @property
    def z(self) -> Vector:
        """Estimates in standard errors.

        Returns
        -------
        ndarray of float
            One per name.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.estimates / self.errors)

    @property
    def p(self) -> Vector:
        """Two-sided p-values of Wald's test.

        Returns
        -------
        ndarray of float
            One per name.
        """
        from scipy.special import ndtr

        return np.asarray(2 * ndtr(-abs(self.z)))

    def to_dict(self) -> dict[str, Any]:
        """Estimates and how they were found, in types that JSON knows.

        Returns
        -------
        dict
            One list per column of the table, and the rest by name.
        """
        lists = {"estimate": self.estimates, "error": self.errors, "z": self.z, "p": self.p}
        return {
            "names": list(self.names),
            **{name: [float(v) if np.isfinite(v) else None for v in values] for name, values in lists.items()},
            "log_likelihood": self.log_likelihood,
            "n_iter": self.n_iter,
            "converged": self.converged,
            "status": self.status,
            "notes": list(self.notes),
            "dispersion": self.dispersion,
            "n": self.n,
        }

    def _table(self) -> list[tuple[str, ...]]:
        found = zip(self.names, self.estimates, self.errors, self.z, self.p, strict=True)
        rows = [(plain(name, LONG), f"{e:.6g}", f"{s:.6g}", f"{z:.2f}", f"{p:.3g}") for name, e, s, z, p in found]
        more = [(f"… {len(rows) - SHOWN} more", "", "", "", "")] if len(rows) > SHOWN else []
        return [("coefficient", "estimate", "std. error", "z", "p"), *rows[:SHOWN], *more]

    def _remarks(self) -> list[str]:
        head = f"{self.n} observations, log-likelihood {self.log_likelihood:.6g}; {self.status}"
        return [plain(line, LINE) for line in (head, *[f"note: {note}" for note in self.notes])]

    def __str__(self) -> str:
        table = self._table()
        width = [max(len(row[k]) for row in table) for k in range(5)]
        lines = [
            "  ".join([row[0].ljust(width[0]), *(row[k].rjust(width[k]) for k in range(1, 5))]).rstrip()
            for row in table
        ]
        return "\n".join([*(lines if self.names else []), *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        tail = "<br>".join(escape(line) for line in self._remarks())
        return f"<div><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table><p>{tail}</p></div>"


def fit_of(reduced: Reduced) -> Fit:
    """The maximum of the likelihood that is left, over the kept coefficients."""
    start = reduced.likelihood.start()
    moved = [at for at, name in enumerate(reduced.model.coefficients) if name in reduced.dropped]
    own = reduced.null[moved]  # of each dropped coefficient its own direction takes it to 0, and nothing else changes
    if reduced.null.size:
        start = start - reduced.null @ np.linalg.lstsq(own, start[moved], rcond=None)[0]
    start[moved] = 0.0
    alpha, found, limit = _dispersed(reduced, start)
    space = reduced.kept
    info = information(limit, found.b, space) if len(space) else np.zeros((0, 0))
    covariance = _inverse(info)
    notes = _notes(reduced, alpha)
    if reduced.model.name in QUASI and isinstance(limit, Terms):
        covariance = covariance @ limit.scores(found.b)[np.ix_(space, space)] @ covariance
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(covariance.diagonal())
    return Fit(
        names=reduced.columns,
        estimates=found.b[space],
        errors=errors,
        covariance=covariance,
        log_likelihood=found.value,
        n_iter=found.steps,
        converged=found.converged,
        status=_status(reduced, found),
        notes=notes,
        dispersion=alpha,
        n=len(reduced.rows),
        b=found.b,
        likelihood=limit,
        reduced=reduced,
    )


def _status(reduced: Reduced, found: Climb) -> str:
    if not reduced.columns:
        return "nothing is left to estimate; the likelihood's supremum is the value above"
    if found.converged:
        return f"Newton's method converged in {found.steps} steps"
    return (
        f"Newton's method stopped after {found.steps} steps with a gap of about {found.gap:.2g} in the log-likelihood: "
        "do not use these numbers; rescale columns that differ by many orders of magnitude"
    )


def _notes(reduced: Reduced, alpha: float) -> tuple[str, ...]:
    notes = []
    given = [name for name in reduced.columns if name not in reduced.finite]
    if given:
        some = ", ".join(given[:5]) + (", …" if len(given) > 5 else "")
        notes.append(f"{some}: with the dropped coefficients at 0; no finite estimate of its own in the whole model")
    if reduced.model.link == "cauchit":
        notes.append(
            "a cauchit's likelihood may have several maxima; this is the higher of those above 0 and the logit's"
        )
    if reduced.model.name in QUASI:
        notes.append("standard errors by the sandwich (HC0), since the outcome's spread is not that of the likelihood")
    if reduced.model.name == "negative-binomial":
        notes.append(f"dispersion {alpha:.6g} by maximum likelihood; standard errors take it as known")
    return tuple(notes)


def _inverse(info: Matrix) -> Matrix:
    if len(info) == 0:
        return info
    size = np.sqrt(abs(info.diagonal()))
    size[size == 0] = 1.0
    try:
        return np.asarray(np.linalg.inv(info / size[:, None] / size) / size[:, None] / size)
    except np.linalg.LinAlgError:
        return np.full(info.shape, np.nan)


def dispersed(likelihood: Likelihood, alpha: float) -> Likelihood:
    """A likelihood of counts with this dispersion."""
    if isinstance(likelihood, Terms) and isinstance(likelihood.outcome, Counts):
        return replace(likelihood, outcome=replace(likelihood.outcome, alpha=alpha))
    return likelihood


def _dispersed(reduced: Reduced, start: Vector) -> tuple[float, Climb, Likelihood]:
    """The maximum, for a negative binomial over its dispersion as well; 0 there means that Poisson fits no worse."""
    from scipy.optimize import minimize_scalar

    limit = dispersed(reduced.likelihood, 0.0)
    best = climb(limit, start, reduced.kept)
    if isinstance(limit, Terms) and isinstance(limit.outcome, Binomial) and limit.outcome.link == "cauchit":
        nearby = climb(replace(limit, outcome=replace(limit.outcome, link="logit")), start, reduced.kept)
        best = max(best, climb(limit, nearby.b, reduced.kept), key=lambda found: found.value)
    if reduced.model.name != "negative-binomial" or len(reduced.rows) == 0:
        return 0.0, best, limit

    def lost(log_alpha: float) -> float:
        return -climb(dispersed(limit, float(np.exp(log_alpha))), best.b, reduced.kept).value

    at = minimize_scalar(lost, bounds=(np.log(LEAST), np.log(MOST)), method="bounded", options={"xatol": 1e-9})
    alpha = float(np.exp(at.x))
    other = climb(dispersed(limit, alpha), best.b, reduced.kept)
    if other.value <= best.value + 1e-6:
        return 0.0, best, limit
    return alpha, other, dispersed(limit, alpha)
