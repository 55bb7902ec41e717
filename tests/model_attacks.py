"""Proofs of models whose recipe is changed at random: what still holds has to be true of the model named then."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import separatrix as sx
from attacks import JUNK, changed_text
from likelihoods import FAMILIES, Table
from model_trial import allowed, judged
from model_zoo import LINKS, MODELS, Asked, problem

Generator = np.random.Generator
KEYS = "model", "formula", "outcome", "fit_intercept", "beside", "fixed_effects", "reference", "keep", "missing"
OPTIONS = "weight", "offset", "trials", "failures", "groups", "time", "event", "nothing"
NAMES = [*(name for names in MODELS.values() for name in names), "ordinal", "ols"]


def asked_of_a_frame(seed: int) -> Asked:
    """A problem whose data are a mapping of columns, numbers all of them."""
    family, again = FAMILIES[seed % len(FAMILIES)], seed
    while True:
        asked = problem(family, again)
        if not isinstance(asked.data, np.ndarray):
            data = {name: pd.Series(asked.data[name]) for name in asked.data}
            if all(values.dtype.kind in "biuf" for values in data.values()):
                return replace(asked, data={name: values.tolist() for name, values in data.items()})
        again += 10_000


def changed_recipe(rng: Generator, text: str, columns: list[str]) -> str:
    """The text of a proof file with one thing of its model changed."""
    proof = json.loads(text)

    def pick(values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    if not isinstance(proof.get("model"), dict):
        return changed_text(rng, text)
    model, way = proof["model"], int(rng.integers(12))
    if way in (0, 1):
        model["model"] = pick(NAMES)
    elif way == 2:
        model["fit_intercept"] = model["fit_intercept"] is False
    elif way == 3:
        model["outcome"] = pick([*columns, [pick(columns), pick(columns)], None, "nothing"])
    elif way in (4, 5):
        model["beside"][pick(OPTIONS)] = pick([*columns, "", "nothing"])
    elif way == 6 and model["beside"]:
        del model["beside"][pick(list(model["beside"]))]
    elif way == 7:
        model[pick(("fixed_effects", "keep"))] = [pick([*columns, "nothing"]) for _ in range(rng.integers(3))]
    elif way == 8:
        model["missing"] = "drop"
    elif way == 9:
        model[pick(KEYS)] = pick(JUNK)
    elif way == 10:
        if rng.integers(2):
            del model[pick(KEYS)]
        else:
            model[pick((*KEYS, "more"))] = {pick(columns): pick(JUNK)}
    else:
        proof["model"] = pick(JUNK)
    return json.dumps(proof) + "\n"


def named_table(recipe: dict[str, Any] | None, asked: Asked) -> Table | None:
    """The table that a recipe speaks of, read without the package; None where there are fixed effects or a formula."""
    if recipe is None:
        return replace(asked.table, family="binary") if asked.table.family == "binary" else None
    if recipe["formula"] is not None or recipe["fixed_effects"]:
        return None
    data, model, outcome = asked.data, recipe["model"], recipe["outcome"]
    aside = {option: data[name] for option, name in recipe["beside"].items() if name}
    named = [outcome] if isinstance(outcome, str) else list(outcome)
    taken = {*named, *recipe["beside"].values()}
    X = [[float(data[name][i]) for name in data if name not in taken] for i in range(len(data["x0"]))]
    family = next(family for family, models in MODELS.items() if model in models)
    y, trials, event = [float(value) for value in data[named[0]]], None, None
    lost = data[named[1]] if len(named) == 2 else aside.get("failures")
    if lost is not None or "trials" in aside:
        family = "grouped"
        trials = [a + b for a, b in zip(y, lost, strict=True)] if lost is not None else aside["trials"]
    if family == "cox":
        event = [int(value) for value in aside["event"]]
    if family in ("binary", "matched"):
        y = [float(value == max(y)) for value in y]
    return Table(
        family,
        X,
        y,
        link=LINKS.get(model, model),
        intercept=recipe["fit_intercept"] is not False,
        trials=trials,
        groups=aside.get("groups"),
        event=event,
        weight=aside.get("weight"),
    )


def attack(seed: int, changes: int, folder: Path) -> dict[str, int]:
    """Change one proof so many times: how often it was refused, did not hold, or held and was true; else an error."""
    rng = np.random.default_rng([seed, 17])
    asked, path = asked_of_a_frame(seed), folder / "model.proof"
    found = sx.diagnose(asked.data, asked.y, **asked.options)
    sx.save_proof(found.proof, path)
    text = path.read_text(encoding="utf-8")
    counts = {"refused": 0, "fails": 0, "true": 0, "unread": 0}
    for _ in range(changes):
        written = changed_recipe(rng, text, list(asked.data))
        if rng.random() < 0.3:
            with suppress(Exception):  # the first change may leave nothing that can be changed again
                written = changed_text(rng, written)
        path.write_text(written, encoding="utf-8")
        try:
            proof = sx.load_proof(path)
            holds = sx.verify(proof, asked.data)
        except (ValueError, TypeError) as error:  # the proof, or the table that it asks for, is none
            said = str(error)
            counts["refused"] += 1
            if "\n" in said or len(said) > 600:
                raise AssertionError(f"more than a sentence: {said}") from error
            continue
        if not holds:
            counts["fails"] += 1
            continue
        table = named_table(proof.model if proof.model is None else dict(proof.model), asked)
        if table is None:
            counts["unread"] += 1
            continue
        kind = judged(table).kind
        assert kind in allowed(proof, table), f"{proof.claim} holds, it is {kind}: {written} for {asked}"
        counts["true"] += 1
    return counts
