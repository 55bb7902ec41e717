"""One problem put to the package and to the exact oracle: what `scripts/attack` and the tests of the zoo compare."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import oracle
import separatrix as sx
from nasty import FAMILIES, nasty_problem

RIGHT, WRONG, UNDECIDED = "right", "wrong", "undecided"
ROUNDING, RAISED, HUNG = "within rounding", "raised", "hung"


@dataclass(frozen=True)
class Trial:
    """How it ended, what exactly is not as it should be, and the seconds that the package took."""

    seed: int
    outcome: str
    detail: str = ""
    seconds: float = 0.0

    @property
    def family(self) -> str:
        """The family of the problem."""
        return FAMILIES[self.seed % len(FAMILIES)]

    def __str__(self) -> str:
        return f"{self.outcome}: seed {self.seed}, {self.family}, {self.seconds:.2f} s: {self.detail}"


def not_right(seeds: Iterable[int]) -> list[str]:
    """The trials of these seeds that are neither right nor within rounding, in words."""
    return [str(done) for done in map(trial, seeds) if done.outcome not in (RIGHT, ROUNDING)]


def trial(seed: int) -> Trial:
    """Verdict, proofs, kind, rows, aliased columns and every direction, compared with the oracle's.

    Warnings count as errors. An answer to which the package itself says "within rounding" is not compared.
    """
    _, X, y, fit_intercept = nasty_problem(seed)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = sx.separate(X, y, fit_intercept=fit_intercept)
            holds = found.proof is None or found.verify(X, y)
            told = sx.diagnose(X, y, fit_intercept=fit_intercept)
            told_holds = told.proof is None or sx.verify(told.proof, X, y)
    except Exception as error:
        return Trial(seed, RAISED, _words(error), time.perf_counter() - began)
    seconds = time.perf_counter() - began
    answer = oracle.judge(X, y, fit_intercept)
    wrong, undecided, rounding = [], [], []

    if getattr(found, "certainty", "proven") != "proven":
        rounding.append(f"separate says {found.status}, it is {answer.kind}")
    elif found.status == "undecided":
        undecided.append(f"separate, it is {answer.kind}")
    else:
        status = "separable" if answer.kind == "complete" else "inseparable"
        if found.status != status:
            wrong.append(f"separate says {found.status} by {found.tool}, it is {answer.kind}")
        if found.proof is None or not holds:
            wrong.append(f"the proof of {found.status} by {found.tool} does not hold")
    margin = found.margin
    if not 0 <= margin.lower <= margin.upper or (margin.lower > 0 and answer.kind != "complete"):
        wrong.append(f"margin between {margin.lower} and {margin.upper}, it is {answer.kind}")

    signs = list(told.columns.values())
    if getattr(told, "certainty", "proven") != "proven":
        rounding.append(f"diagnose says {told.kind}, it is {answer.kind}")
    elif told.kind == "undecided":
        undecided.append(f"diagnose, it is {answer.kind}")
    else:
        if told.kind != answer.kind:
            wrong.append(f"diagnose says {told.kind}, it is {answer.kind}")
        elif told.rows.tolist() != answer.rows:
            wrong.append(f"rows {told.rows.tolist()[:20]}, they are {answer.rows[:20]}")
        if told.proof is None or not told_holds:
            wrong.append(f"the proof of {told.kind} {'does not hold' if told.proof else 'is missing'}")
        names = np.array(list(told.columns))
        if set(told.aliased) != set(names[np.array(answer.directions) == "aliased"].tolist()):
            wrong.append(f"aliased {sorted(told.aliased)}, they are {answer.directions}")
        elif "?" in signs:
            undecided.append(f"directions {signs}, they are {answer.directions}")
        elif signs != answer.directions:
            wrong.append(f"directions {signs}, they are {answer.directions}")
    for outcome, details in ((WRONG, wrong), (UNDECIDED, undecided), (ROUNDING, rounding)):
        if details:
            return Trial(seed, outcome, "; ".join([*wrong, *undecided, *rounding]), seconds)
    return Trial(seed, RIGHT, seconds=seconds)


def _words(error: Exception) -> str:
    """What was raised, and where in the package."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "separatrix" in Path(frame.filename).parts]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})" if own else ""
    return f"{type(error).__name__}: {error}"[:300] + place
