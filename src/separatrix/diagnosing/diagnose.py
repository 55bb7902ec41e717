"""Whether a model's maximum likelihood estimate exists: complete or quasi-complete separation, or overlap.

After Albert and Anderson (Biometrika 71, 1984) for two classes and more; other models by the rows that say along which
directions their likelihood never falls (`models`).
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.reader import as_floats, as_integers
from separatrix.data.frames import Design, Term
from separatrix.data.memory import HeldRows, hold_signed
from separatrix.data.problem import Problem, as_problem, decidable
from separatrix.data.rows import Index
from separatrix.deciding.budget import UNLIMITED, Budget, Tell, check_time_limit, untold
from separatrix.deciding.distinct import merged
from separatrix.deciding.relations import Relations
from separatrix.diagnosing.found import Found, find, find_extended, in_words, independent, sum_of
from separatrix.diagnosing.kinds import Basis, Kind, Pair
from separatrix.diagnosing.report import Diagnosis, some
from separatrix.diagnosing.words import advise, explain, outcomes
from separatrix.models.conditions import STRUCTURE, Conditions
from separatrix.models.model import Model
from separatrix.models.reading import Reading, read_model
from separatrix.models.recipe import Recipe
from separatrix.reporting.keywords import hinted
from separatrix.reporting.plain import counted as many
from separatrix.reporting.progress import Progress, check_verbose


@hinted
def diagnose(
    X: Any,
    y: Any = None,
    *,
    model: str | None = None,
    fit_intercept: bool | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    trials: Any = None,
    failures: Any = None,
    groups: Any = None,
    strata: Any = None,
    time: Any = None,
    event: Any = None,
    fixed_effects: Sequence[str] | str = (),
    reference: Mapping[str, Any] | None = None,
    keep: Sequence[str] | str = (),
    missing: str = "error",
    exact: bool = False,
    time_limit: float | None = None,
    verbose: bool | int = False,
) -> Diagnosis:
    """Whether a model's estimate exists, and which columns and observations stand in its way.

    Parameters
    ----------
    X : data frame, dict of columns, array, CSR matrix, formula, path, statsmodels model or Problem
        The columns of the model. Frames are those of pandas, polars and others through narwhals. A formula such as
        "died ~ age + C(stage)" takes the frame as `y`.
    y : str, pair of str or array-like, optional
        The name of the outcome's column in a frame, the names of successes and failures, or one label per row. After a
        formula, the frame.
    model : str, optional
        "logit", "probit", "cauchit", "cloglog", "fractional", "multinomial", "cumulative", "cumulative-probit",
        "adjacent", "sequential", "poisson", "negative-binomial", "ppml", "conditional" or "cox". It is guessed where
        one guess is sensible: two values, an ordered category, text of several values, and by the options below.
    fit_intercept : bool or None, default=None
        Whether the model has an intercept; by default it has one, unless a formula or a `Problem` says otherwise.
    sample_weight : str or array-like, optional
        Weights; rows of weight 0 are left out.
    offset : str or array-like, optional
        Accepted for completeness: it changes nothing about separation.
    trials : str or array-like, optional
        The number of trials, where y counts successes.
    failures : str or array-like, optional
        The number of failures, where y counts successes.
    groups : str or array-like, optional
        The matched set of each row ("conditional"), or its stratum ("cox").
    strata : str or array-like, optional
        Another word for `groups`.
    time : str or array-like, optional
        The time of the event or of censoring ("cox"), in place of y.
    event : str or array-like, optional
        1 for an event, 0 for censored ("cox").
    fixed_effects : str or sequence of str, default=()
        Columns of a frame whose levels each get a coefficient, thousands of them if need be.
    reference : mapping, optional
        By column, the level that others are compared with.
    keep : str or sequence of str, default=()
        Columns to use although they look like identifiers.
    missing : {"error", "drop"}, default="error"
        For frames, what to do with rows that have missing values.
    exact : bool, default=False
        Insist on the bits as stored where the last digits decide: a proof, however long exact arithmetic takes.
    time_limit : float, optional
        Seconds after which answers may be left open.
    verbose : bool or int, default=False
        Show from the second second on what is being tried, in one line: on a terminal, below a notebook's cell, or in a
        file every few seconds.

    Returns
    -------
    Diagnosis
        The kind, the coefficients without a finite estimate, the observations that cause it, and advice.

    Raises
    ------
    ValueError
        If the outcome does not fit the model or fits several, a column is missing or of no use, or values are missing.

    See Also
    --------
    separate : The verdict and its proof alone, also for rows larger than memory.

    Examples
    --------
    >>> import separatrix as sx
    >>> patients = {"icu": [1, 1, 0, 0, 0, 0], "age": [55, 66, 61, 70, 44, 52], "died": [1, 1, 0, 1, 0, 1]}
    >>> found = sx.diagnose(patients, "died")
    >>> print(found.kind, found.infinite, found.mle_exists)
    quasi-complete ('icu',) False
    >>> visits = {"smoker": [1, 1, 0, 0, 0], "visits": [0, 0, 2, 1, 3]}
    >>> print(sx.diagnose(visits, "visits", model="poisson").columns["smoker"])
    -
    """
    began = clock.perf_counter()
    check_time_limit(time_limit)
    check_verbose(verbose)
    budget = Budget.within(time_limit, exact=exact)
    if groups is not None and strata is not None:
        raise ValueError("groups and strata are two words for one thing; give one of them.")
    beside = {
        "weight": sample_weight,
        "offset": offset,
        "trials": trials,
        "failures": failures,
        "groups": groups if strata is None else strata,
        "time": time,
        "event": event,
    }
    if isinstance(X, Problem):
        said = [name for name, value in beside.items() if value is not None]
        if missing != "error" or said or fixed_effects or reference or keep:
            what = said[0] if said else "missing"
            raise ValueError(f"{what} belongs to the Problem: give it where that is opened, Problem(…, {what}=…).")
        with Progress("diagnose", quiet=not verbose) as shown, as_problem(X, y) as problem:
            rows = decidable(problem).scaled(1.0).whole
            if rows is None:
                raise ValueError("diagnose needs rows in memory; separate() decides on those of files and clusters.")
            reading = of_rows(rows, model or "logit", problem.table)
            found = diagnosis_of(reading, None, budget, rows, shown.tell)
            return replace(found, seconds=clock.perf_counter() - began)
    recipe, X, y, given = Recipe.of(
        X,
        y,
        model=model,
        fit_intercept=fit_intercept,
        beside=beside,
        fixed_effects=fixed_effects,
        reference=reference,
        keep=keep,
        missing=missing,
    )
    with Progress("diagnose: reading the rows", quiet=not verbose) as shown:
        found = diagnosis_of(recipe.read(X, y, given), recipe, budget, tell=shown.tell)
    return replace(found, seconds=clock.perf_counter() - began)


def of_rows(rows: HeldRows, model: str = "logit", table: Design | None = None) -> Reading:
    """Rows of two classes that are held already, as a reading."""
    codes = (rows.sign > 0).astype(np.int64)
    terms = tuple(Term(f"x{j}", f"x{j}", None, None) for j in range(rows.d)) if table is None else table.terms
    X = rows.X if rows.sparse else rows.arrays[0]
    places = np.arange(rows.n) if table is None else table.rows
    if table is None:
        table = Design(X, rows.classes[codes], terms, "y", places, 0, ())
    return read_model(replace(table, X=X, y=rows.classes[codes]), model, fit_intercept=rows.bias > 0)


def diagnosis_of(
    reading: Reading,
    recipe: Recipe | None,
    budget: Budget = UNLIMITED,
    rows: HeldRows | None = None,
    tell: Tell = untold,
) -> Diagnosis:
    """What was proven of the model's rows, in the user's names."""
    began, model = clock.perf_counter(), reading.model
    held, conditions = reading.held()
    rows = held if rows is None else rows
    names = list(model.coefficients)
    first = leading(model, conditions, rows)
    once = merged(rows)
    size = f"diagnose: {model.name}, {many(model.n, 'row')}"
    tell(f"{size}, looking for columns that follow from others")
    known = independent(once.rows, budget, first)
    kept, relations = known or (np.arange(rows.d + (rows.bias > 0)), Relations())
    aliased = in_words(once.rows, kept, relations, names)
    tell(f"{size}, looking for what separates")
    found = find_extended(rows, once, kept, relations, budget, first)
    signs = dict(zip(kept.tolist(), found.signs if known else ["?"] * len(kept), strict=True))
    columns = {name: signs.get(j, "aliased") for j, name in enumerate(names)}
    open_names = [names[kept[at]] for at in found.open if kept[at] < len(names)]
    near = {j: terms for j, terms in found.near.items() if j < len(names)}
    aliased |= {names[j]: sum_of(terms, names) + ", to rounding" for j, terms in near.items()}
    stacked, theta = model.family != "binary", direction(found, len(names))
    pairs: tuple[Pair, ...] = ()
    if stacked:
        fragile = found.fragile and model.family in ("counts", "grouped")  # elsewhere a row's entries stand in several
        if model.family == "multinomial":
            pairs, fragile = between_pairs(model, kept, budget)
        found = replace(found, fragile=fragile, evidence=None)
    kind, observations = found.kind, conditions.separated(found.separated)
    if kind is Kind.QUASI_COMPLETE and stacked and _all_strict(conditions, found.separated):
        kind = Kind.COMPLETE  # what is left holds parts of a column together, and is about no observation
    facts = explain(kind, columns, reading)
    notes = reading.notes
    if open_names:
        notes = (*notes, f"to rounding only: the directions of {some(open_names)}")
    proof = found.proof
    if proof is not None and recipe is not None and (stacked or not recipe.plain):
        proof = replace(proof, model=replace(recipe, model=model.name).to_dict())
    return Diagnosis(
        kind=kind,
        columns=columns,
        rows=reading.rows[observations],
        aliased=aliased,
        advice=advise(kind, model.family, columns, aliased, facts, found.fragile, found.evidence),
        facts=facts,
        notes=notes,
        certainty=found.certainty,
        evidence=found.evidence,
        fragile=found.fragile,
        proof=proof,
        pairs=pairs,
        model=model.name,
        assumed=reading.assumed,
        target=reading.target,
        counts=counted(reading),
        n=model.n,
        dropped=reading.dropped,
        index=None if reading.index is None else reading.index[observations],
        basis=Basis(model, observations, theta, reading.rows, reading.design, recipe),
        seconds=clock.perf_counter() - began,
    )


def direction(found: Found, size: int) -> NDArray[np.float64]:
    """The direction that separates what can be separated, one float per coefficient; zeros for overlap."""
    theta = np.zeros(size)
    if found.kind in (Kind.COMPLETE, Kind.QUASI_COMPLETE):
        if found.proof is not None and found.proof.theta is not None:
            whole = as_integers(found.proof.theta)
            theta = as_floats(whole)[:size]
        elif found.evidence is not None:
            theta = found.evidence.theta[:size]
    return np.asarray(theta, dtype=np.float64)


def leading(model: Model, conditions: Conditions, rows: HeldRows) -> Index:
    """The columns that are kept before others where some are aliased: further parts of columns, then constants."""
    D, named = rows.d + (rows.bias > 0), len(model.coefficients)
    constants = np.empty(0, dtype=np.int64)
    if model.constant:
        constants = np.arange(len(model.names) - 1, named, len(model.names))
    elif model.family in ("cumulative", "adjacent", "sequential"):
        constants = np.arange(len(model.classes) - 1)
    return np.concatenate([np.arange(named, D), constants])


def _all_strict(conditions: Conditions, strict: Index) -> bool:
    """Whether every row that is about an observation is strict."""
    inside = np.zeros(len(conditions.observation), dtype=bool)
    inside[strict] = True
    return bool(inside[conditions.observation != STRUCTURE].all())


def between_pairs(model: Model, kept: Index, budget: Budget) -> tuple[tuple[Pair, ...], bool]:
    """The kind of every pair of classes by itself, and whether one of them is fragile."""
    A, codes = model.A if isinstance(model.A, np.ndarray) else model.A.toarray(), model.codes
    A = A[:, np.unique(kept[kept < A.shape[1]])]
    pairs, fragile = [], False
    for first, second in combinations(range(len(model.classes)), 2):
        inside = (codes == first) | (codes == second)
        signed = A[inside] * np.where(codes[inside] == second, 1.0, -1.0)[:, None]
        pair = find(hold_signed(signed, np.array([first, second])), budget, signs=False)
        pairs.append(Pair(model.classes[first], model.classes[second], pair.kind))
        fragile |= pair.fragile
    return tuple(pairs), fragile


def counted(reading: Reading) -> dict[str, int]:
    """How many observations have which outcome."""
    model = reading.model
    if model.family == "counts":
        return {"0": int((model.y == 0).sum()), "above 0": int((model.y > 0).sum())}
    if model.family == "grouped":
        codes, _ = outcomes(reading)
        words = ("no success", "no failure", "both")
        return {word: int(k) for word, k in zip(words, np.bincount(codes, minlength=3), strict=True)}
    if model.family == "cox":
        return {"events": int(model.y.sum()), "censored": int((model.y == 0).sum())}
    return {name: int(k) for name, k in zip(model.classes, np.bincount(model.codes), strict=True)}
