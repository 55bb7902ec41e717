"""A statsmodels model, fitted or not → a Design: its own columns, names, outcome, weights and offset.

The model is recognised by the module of its class, so statsmodels is never imported here. Its constant is the
intercept and no column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.coding import Term
from separatrix.data.columns import Column, check_finite, complete_rows, index_labels
from separatrix.data.frames import Design, made
from separatrix.data.outcome import Outcome, check_beside, outcome_of, read_beside

MODELS = {  # by the class, and GLM by its family and link
    "Logit": "logit",
    "Probit": "probit",
    "MNLogit": "multinomial",
    "Poisson": "poisson",
    "GeneralizedPoisson": "poisson",
    "NegativeBinomial": "negative-binomial",
    "NegativeBinomialP": "negative-binomial",
    "OrderedModel": "cumulative",
    "ConditionalLogit": "conditional",
    "PHReg": "cox",
}
LINKS = {"Logit": "logit", "Probit": "probit", "Cauchy": "cauchit", "CLogLog": "cloglog"}
FAMILIES = {"Poisson": "poisson", "NegativeBinomial": "negative-binomial"}
WITHOUT = ("cumulative", "cumulative-probit", "conditional", "cox")  # models in which a constant has no place


def is_model(data: Any) -> bool:
    """Whether this is a model of statsmodels or its fit."""
    return any(kind.__module__.partition(".")[0] == "statsmodels" for kind in type(data).__mro__)


def read_model(data: Any, beside: Mapping[str, Any], missing: str) -> Design:
    """The design of a model or of its fit; what is `beside` it may name columns of the frame it was made from."""
    model = getattr(data, "model", data)
    exog, names = getattr(model, "exog", None), getattr(model, "exog_names", None)
    if exog is None or names is None or getattr(model, "endog", None) is None:
        seen = f"{type(model).__name__} of statsmodels has no exog and endog"
        raise ValueError(f"{seen}; pass its columns and its outcome instead.")
    X = np.asarray(exog, dtype=np.float64)
    word = _word(model)
    constant = getattr(model.data, "const_idx", None)
    keep = [j for j in range(X.shape[1]) if j != constant]
    if not keep:
        raise ValueError("the model has no column besides its constant; add at least one.")
    outcome, levels, ordered = _outcome(model)
    n = len(X)
    frame = getattr(model.data, "frame", None)
    raw = {} if frame is None or len(frame) != n else {str(name): frame[name] for name in frame.columns}
    given, notes = read_beside(beside, raw)
    aside = given | {key: values for key, values in _own(model, n).items() if key not in given}
    for key, one in aside.items():
        check_beside(key, len(one.missing), n)
    rows = complete_rows([*outcome.columns, *aside.values()], n, missing)
    for j in keep:
        check_finite(str(names[j]), X[:, j], np.arange(n))
    terms = [Term(str(names[j]), str(names[j]), None, None) for j in keep]
    index = getattr(model.data, "row_labels", None)
    labels = None if index is None else index_labels(index)
    fit_intercept = None if word in WITHOUT else constant is not None
    cut = np.ascontiguousarray(X[rows][:, keep])
    found = made(cut, terms, outcome, rows, n, notes, aside, labels, fit_intercept)
    return replace(found, model=word, levels=levels, ordered=ordered)


def _word(model: Any) -> str | None:
    """The model in our words, None where it is none of them."""
    kinds = [kind.__name__ for kind in type(model).__mro__]
    if "GLM" in kinds:
        family = type(model.family).__name__
        return LINKS.get(type(model.family.link).__name__) if family == "Binomial" else FAMILIES.get(family)
    word = next((MODELS[kind] for kind in kinds if kind in MODELS), None)
    probit = word == "cumulative" and type(model.distr).__name__ == "norm_gen"
    return "cumulative-probit" if probit else word


def _outcome(model: Any) -> tuple[Outcome, tuple[Any, ...] | None, bool]:
    """The outcome, and its levels where the model knows them in order."""
    name = model.endog_names
    title = " + ".join(map(str, name)) if isinstance(name, list | tuple) else str(name)
    given = np.asarray(model.data.orig_endog)  # GLM turns two columns into shares, MNLogit labels into codes
    if given.ndim == 2 and given.shape[1] == 2:
        return outcome_of(given, title), None, False
    codes = np.asarray(model.endog)
    labels = getattr(model, "labels", None)  # of an ordered model
    if labels is not None:
        levels = tuple(np.asarray(labels).tolist())
        return _held(title, np.array(levels)[codes.astype(np.int64)]), levels, True
    return _held(title, given if given.ndim == 1 else codes), None, False


def _held(name: str, values: NDArray[Any]) -> Outcome:
    values = values[:, 0] if values.ndim == 2 else values
    return Outcome((Column(name, values, np.zeros(len(values), dtype=bool)),), name)


def _own(model: Any, n: int) -> dict[str, Column]:
    """Weights, offset, groups and the like that the model carries; such as change nothing are passed over."""
    found: dict[str, NDArray[Any]] = {}
    weight, offset = np.ones(n), np.zeros(n)
    for key in ("freq_weights", "var_weights"):
        if (one := getattr(model, key, None)) is not None:
            weight = weight * np.asarray(one, dtype=np.float64)
    for key in ("offset", "exposure"):  # exposure is kept as its logarithm
        if (one := getattr(model, key, None)) is not None:
            offset = offset + np.asarray(one, dtype=np.float64)
    if (weight != 1).any():
        found["weight"] = weight
    if (offset != 0).any():
        found["offset"] = offset
    groups = {"conditional": "groups", "cox": "strata"}.get(_word(model) or "")  # elsewhere groups are for errors alone
    if groups is not None and (one := getattr(model, groups, None)) is not None:
        found["groups"] = np.asarray(one)
    if _word(model) == "cox":
        if np.any(getattr(model, "entry", None)):
            raise ValueError("late entry is not supported: who is at risk is told by times and events alone.")
        found |= {"time": np.asarray(model.endog), "event": np.asarray(model.status)}
    return {key: Column(key, values, np.zeros(n, dtype=bool)) for key, values in found.items()}
