"""What to do after a diagnosis: the reduced model, one-sided bounds, Firth's estimates, intervals for a picture."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.formula import WILDCARD
from separatrix.reporting.plain import LINE, plain

if TYPE_CHECKING:
    from separatrix.diagnosing.bounds import FittedBounds
    from separatrix.diagnosing.reduced import Reduced
    from separatrix.diagnosing.report import Diagnosis

DRAWN = 5_000_000  # observations times coefficients up to which a picture waits for a fit
PROFILED = 12  # infinite coefficients whose bounds a picture waits for, and the command line


def reduced_of(found: Diagnosis) -> Reduced:
    """The model that is left."""
    from separatrix.diagnosing.reduced import reduce

    basis = found.basis
    if found.mle_exists is None:
        raise ValueError("the kind is undecided, so nobody knows what is left; give more time.")
    aliased = [name for name, sign in found.columns.items() if sign == "aliased"]
    return reduce(basis.model, basis.separated, basis.theta, aliased, basis.places, target=found.target)


def bound_of(found: Diagnosis, name: str, level: float) -> float:
    """The one-sided profile-likelihood bound of a coefficient."""
    from separatrix.diagnosing.bounds import one_sided

    sign = found.columns.get(name)
    if sign is None:
        raise ValueError(f"there is no coefficient {name!r}; infinite ones: {', '.join(found.infinite) or 'none'}.")
    if sign not in ("+", "-"):
        raise ValueError(f"{name} does not run off to one side, so it has no such bound; see reduced().fit().")
    return one_sided(found.basis.model, reduced_of(found).fit(), name, sign, level)


def fitted_of(found: Diagnosis, level: float) -> FittedBounds:
    """Bounds on the fitted values of separated observations."""
    from separatrix.diagnosing.bounds import fitted_bounds

    return fitted_bounds(found.basis.model, reduced_of(found).fit(), found.basis.separated, level=level)


def estimates_of(found: Diagnosis, level: float = 0.95) -> tuple[str, dict[str, Any]]:
    """What can be said of the coefficients, in words and for machines: the reduced fit, and the bounds of the others.

    Bounds are of the first infinite ones, as each is a search of its own.
    """
    try:
        reduced = reduced_of(found)
    except ValueError as error:
        return f"no estimates: {error}", {"reason": str(error)}
    fit = reduced.fit()
    bounds = {name: bound_of(found, name, level) for name in found.infinite[:PROFILED]}
    lines = [str(reduced), *([str(fit)] if fit.names else [])]
    for name, value in bounds.items():
        side = "at least" if found.columns[name] == "+" else "at most"
        told = f"is {side} {value:.6g}, one-sided at {100 * level:g} %" if np.isfinite(value) else "has no bound found"
        lines.append(plain(f"{name} {told}", LINE))
    if more := len(found.infinite) - len(bounds):
        lines.append(f"… {more} more infinite coefficients, whose bounds were not looked for")
    known = {name: value if np.isfinite(value) else None for name, value in bounds.items()}
    return "\n".join(lines), {"fit": fit.to_dict(), "dropped": dict(reduced.dropped), "level": level, "bounds": known}


def firth_of(found: Diagnosis, frame: str) -> str:
    """Lines for firthmodels in the user's names."""
    from separatrix.diagnosing.firth import firth_snippet

    model, recipe, design = found.basis.model, found.basis.recipe, found.basis.design
    if recipe is None or not (recipe.formula or recipe.outcome):
        seen = "values without such names" if design.model is None else "a statsmodels model"
        raise ValueError(
            f"firth() writes lines for columns by their names, and this diagnosis is of {seen}; "
            "diagnose a frame with the name of its outcome, or a formula with its frame."
        )
    if model.link not in ("logit", "") or model.groups is not None:
        what = "strata" if model.groups is not None else f"model {model.name!r}"
        raise ValueError(f"firthmodels has no {what}; it has logit and Cox models.")
    if found.target not in design.needed:
        raise ValueError(f"the formula computes {found.target!r}; make it a column of the frame, for firth() to name.")
    if not isinstance(design.X, np.ndarray):
        raise ValueError("firth() has no lines for fixed effects; make them factors of the model, as in C(firm).")
    if values := [name for name, column in recipe.beside.items() if not column]:
        raise ValueError(f"firth() writes lines for columns by their names; give {values[0]} as a name, too.")
    formula = None if recipe.formula is None else recipe.formula.split("~", 1)[1].strip()
    if formula is not None and WILDCARD.search(formula):  # the dot is all columns but the outcome: those by name
        formula = None
        if any(term.column not in design.needed for term in design.terms):
            raise ValueError("firth() cannot say what the formula's dot stands for; write its columns.")
    cox = model.family == "cox"
    kept = [term for term in design.terms if found.columns.get(term.name) != "aliased"]
    return firth_snippet(
        recipe.beside["event"] if cox else found.target,
        kept,
        family=model.family,
        frame=frame,
        formula=formula,
        constant=model.constant,
        weight=recipe.beside.get("weight"),
        offset=recipe.beside.get("offset"),
        time=found.target if cox else None,
        complete=design.needed if found.dropped else (),
    )


def intervals(found: Diagnosis, level: float) -> dict[str, tuple[float, float, float]] | None:
    """By coefficient its lower end, estimate and upper end; None where there is no fit, or it would take long."""
    from scipy.special import ndtri

    model = found.basis.model
    if found.mle_exists is None or model.n * len(model.coefficients) > DRAWN:
        return None
    reduced = reduced_of(found)
    fit = reduced.fit()
    if not fit.converged:
        return None
    told: dict[str, tuple[float, float, float]] = {}
    width, finite = float(ndtri((1 + level) / 2)), set(reduced.finite)
    for name, value, error in zip(fit.names, fit.estimates, fit.errors, strict=True):
        if name in finite and np.isfinite(error):
            told[name] = (float(value - width * error), float(value), float(value + width * error))
    for name in found.infinite[:PROFILED]:
        bound = bound_of(found, name, level)
        if np.isfinite(bound):
            told[name] = (bound, inf, inf) if found.columns[name] == "+" else (-inf, -inf, bound)
    return told
