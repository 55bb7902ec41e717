"""The model that separation leaves: the limit of the likelihood along a direction of recession, and its finite fit.

Along b + sθ with s → ∞ the likelihood rises to a limit, which is a likelihood again with parts left out (`likelihood`
says which, family by family). If θ is in the relative interior of the recession cone, that limit has a maximum,
and it is the supremum of the whole (Geyer 2009). Coefficients that the limit cannot tell apart are dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from separatrix.data.rows import Index, Vector
from separatrix.diagnosing.fit import SHOWN, Fit, fit_of
from separatrix.diagnosing.frame import columns_of
from separatrix.diagnosing.likelihood import Likelihood, likelihood
from separatrix.models.conditions import Matrix
from separatrix.models.model import INTERCEPT, Model
from separatrix.models.multinomial import in_class
from separatrix.reporting.plain import LINE, LONG, plain

ALONE = 1e-9  # of a column's length: less than that beside the others' span is rounding
ALONE_SQUARED = 1e-12  # the same of sparse columns, whose products are taken
WHOLE = "aliased in the whole table"


@dataclass(frozen=True, eq=False, repr=False)
class Reduced:
    """What is left of a model: which observations and columns to keep, and the finite fit.

    Attributes
    ----------
    model : Model
        The model it was.
    likelihood : Likelihood
        The limit of its likelihood.
    rows : ndarray of int
        The observations that are left, by their position in the data given.
    observations : ndarray of int
        The same by their place in the model.
    columns : tuple of str
        The coefficients that are kept.
    dropped : mapping of str to str
        The others, and why each was dropped.
    target : str
        The name of the outcome in `frame`.
    places : ndarray of int
        The position in the data given of every observation of the model.
    theta : ndarray of float
        The direction of recession, 0 at aliased coefficients.
    null : ndarray of float
        In its columns the directions along which the limit is constant, one per coefficient dropped for it.
    finite : tuple of str
        The kept coefficients whose estimates are those of the whole model; the others depend on what was dropped.
    """

    model: Model
    likelihood: Likelihood
    rows: Index
    observations: Index
    columns: tuple[str, ...]
    dropped: Mapping[str, str]
    target: str
    places: Index
    theta: Vector
    null: Matrix

    @cached_property
    def kept(self) -> Index:
        """The places of the kept coefficients."""
        place = {name: at for at, name in enumerate(self.model.coefficients)}
        return np.array([place[name] for name in self.columns], dtype=np.int64)

    @cached_property
    def free(self) -> Index:
        """The places of all coefficients that are not aliased in the whole table."""
        names = self.model.coefficients
        return np.array([at for at, name in enumerate(names) if self.dropped.get(name) != WHOLE], dtype=np.int64)

    @property
    def finite(self) -> tuple[str, ...]:
        """The kept coefficients whose estimates are those of the whole model; the others depend on what was dropped."""
        moved = (self.null != 0).any(axis=1)
        return tuple(name for name, at in zip(self.columns, self.kept, strict=True) if not moved[at])

    def frame(self) -> Any:
        """Give what is left as a table that any package can fit.

        Returns
        -------
        DataFrame or dict of str to ndarray
            Of pandas where that is installed. The kept columns without the constant, and the outcome (1 for the second
            of two classes, ordered ones counted from 0); weights, offsets, trials, sets, strata and times where there
            are any. The index holds positions in the data given. Where an outcome lost some of its alternatives the
            table is long: one line per alternative that is left to an observation, for a conditional logit. Sequential
            models have one line per step, for a binary one without a constant. Of a cumulative model `low` and
            `high` are the first and last category that an observation may be in, where these differ.
        """
        columns = columns_of(self.model, self.likelihood, self.kept, self.places, self.target)
        try:
            import pandas as pd
        except ImportError:
            return columns
        return pd.DataFrame(columns, index=pd.Index(columns.pop("row"), name="row"))

    def fit(self) -> Fit:
        """Maximise the likelihood that is left, by Newton's method.

        Returns
        -------
        Fit
            Estimates, standard errors and how it ended.
        """
        return fit_of(self)

    def _lines(self) -> list[str]:
        left = self.model.n - len(self.rows)
        lines = [
            f"reduced model ({self.model.name}): {len(self.rows)} of {self.model.n} observations are left, "
            f"{len(self.columns)} of {len(self.model.coefficients)} coefficients are kept"
        ]
        if left == 0 and not self.dropped:
            lines[0] = f"the model as it is ({self.model.name}): nothing is separated, nothing is dropped"
        for name, why in list(self.dropped.items())[:SHOWN]:
            lines.append(f"dropped {name}: {why}")
        if len(self.dropped) > SHOWN:
            lines.append(f"… {len(self.dropped) - SHOWN} more dropped")
        if not self.columns:
            lines.append("nothing is left to estimate: every factor of the likelihood rises to its limit")
        return [plain(line, LINE) for line in lines]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "<div><p>" + "<br>".join(escape(line) for line in self._lines()) + "</p></div>"


def reduce(
    model: Model,
    separated: Index,
    theta: Vector,
    aliased: Collection[str] = (),
    rows: Index | None = None,
    *,
    target: str = "y",
) -> Reduced:
    """The reduced model.

    separated : the separated observations, by their place in the model; none for overlap
    theta : one number per coefficient, in the relative interior of the recession cone; zeros for overlap
    aliased : names of coefficients that are combinations of others in the whole table
    rows : the position of every observation in the data given; 0, 1, 2, … unless given
    target : the name of the outcome
    """
    names = model.coefficients
    separated = np.asarray(separated, dtype=np.int64)
    theta = np.array(theta, dtype=np.float64)[: len(names)]
    if len(theta) != len(names):
        raise ValueError(f"theta must have one number per coefficient, {len(names)}, got {len(theta)}.")
    whole = likelihood(model)
    free = np.array([at for at, name in enumerate(names) if name not in aliased], dtype=np.int64)
    theta = _without(whole, theta, free)
    limit = whole.limit(separated, theta) if len(separated) else whole.limit(separated, np.zeros(len(names)))
    order = _constants_first(model, free)
    kept, relations = independent(limit.span(), order)
    dropped = {name: WHOLE for name in names if name in aliased}
    null = np.zeros((len(names), len(relations)))
    for k, (j, terms) in enumerate(relations.items()):
        dropped[names[j]] = _why(terms, names)
        null[j, k] = 1.0
        null[list(terms), k] = [-c for c in terms.values()]
    theta = null @ theta[list(relations)]  # the same, and 0 on what is left but for rounding
    observations = limit.observations
    places = np.arange(model.n) if rows is None else np.asarray(rows, dtype=np.int64)
    columns = tuple(names[j] for j in np.sort(kept))
    in_order = {name: dropped[name] for name in names if name in dropped}
    return Reduced(model, limit, places[observations], observations, columns, in_order, target, places, theta, null)


def _constants_first(model: Model, free: Index) -> Index:
    """The constant before all others, so that it is kept; thresholds are first anyway."""
    if not model.constant:
        return free
    own = {INTERCEPT} | {in_class(INTERCEPT, c, (*model.classes, "")[0]) for c in model.classes[1:]}
    constant = np.array([model.coefficients[j] in own for j in free], dtype=bool)
    return np.concatenate([free[constant], free[~constant]])


def _without(whole: Likelihood, theta: Vector, free: Index) -> Vector:
    """The same direction with zeros at aliased coefficients: what they did is done by those they depend on."""
    other = np.setdiff1d(np.arange(len(theta)), free)
    if not theta[other].any():
        return theta
    Z = whole.span()
    Z = Z if isinstance(Z, np.ndarray) else Z.toarray()
    found = np.zeros(len(theta))
    size = np.sqrt((Z[:, free] ** 2).sum(axis=0))
    size[size == 0] = 1.0
    found[free] = np.linalg.lstsq(Z[:, free] / size, Z @ theta, rcond=None)[0] / size
    return found


def independent(Z: Any, order: Index) -> tuple[Index, dict[int, dict[int, float]]]:
    """Of the columns of Z, taken in this order, those not spanned by earlier ones, and the others as sums of those."""
    dense = isinstance(Z, np.ndarray)
    size = np.sqrt((Z**2).sum(axis=0)) if dense else np.sqrt(np.asarray(Z.multiply(Z).sum(axis=0)).ravel())
    kappa = 1 / np.where(size > 0, size, 1.0)
    if dense:
        R: Matrix = np.asarray(np.linalg.qr(Z[:, order] * kappa[order], mode="r"))
        kept = _spanning(R)
        others = np.setdiff1d(np.arange(len(order)), kept)
        terms = np.linalg.lstsq(R[:, kept], R[:, others], rcond=None)[0]
    else:
        G = (Z.T @ Z).toarray()[np.ix_(order, order)] * kappa[order][:, None] * kappa[order]
        kept = _spanning_products(G)
        others = np.setdiff1d(np.arange(len(order)), kept)
        terms = np.linalg.solve(G[np.ix_(kept, kept)], G[np.ix_(kept, others)])
    relations: dict[int, dict[int, float]] = {}
    for j, line in zip(others, terms.T, strict=True):
        back = kappa[order[kept]] / kappa[order[j]]
        relations[int(order[j])] = {
            int(order[k]): float(c * f)
            for k, c, f in zip(kept, line, back, strict=True)
            if abs(c) > ALONE and size[order[j]] > 0
        }
    return order[kept], relations


def _spanning(R: Matrix) -> Index:
    """Columns of unit length not in the span of earlier ones: Gram and Schmidt, twice for good measure."""
    Q = np.zeros_like(R)
    kept: list[int] = []
    for j in range(R.shape[1]):
        v, q = R[:, j], Q[:, : len(kept)]
        for _ in range(2):
            v = v - q @ (q.T @ v)
        length = float(np.sqrt(v @ v))
        if length > ALONE and len(kept) < Q.shape[1]:
            Q[:, len(kept)] = v / length
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _spanning_products(G: Matrix) -> Index:
    """The same from the products of the columns: Cholesky, a column at a time."""
    L = np.zeros_like(G)
    kept: list[int] = []
    for j in range(len(G)):
        low = L[:, : len(kept)]
        rest = G[:, j] - low @ low[j]
        if rest[j] > ALONE_SQUARED:
            L[:, len(kept)] = rest / np.sqrt(rest[j])
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _why(terms: Mapping[int, float], names: tuple[str, ...]) -> str:
    if not terms:
        return "0 in all that is left"
    parts = [{"1": names[k], "-1": f"-{names[k]}"}.get(f"{c:.6g}", f"{c:.6g}·{names[k]}") for k, c in terms.items()]
    text = " + ".join(parts).replace("+ -", "- ")
    return f"equals {text if len(text) <= LONG else text[:LONG] + ' …'} in all that is left"
