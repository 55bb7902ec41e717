"""The words of a diagnosis: the kinds of separation, and what a diagnosis rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.data.frames import Design
from separatrix.models.model import Model
from separatrix.models.recipe import Recipe
from separatrix.reporting.status import Word


class Kind(Word):
    """The three cases of Albert and Anderson, and the case that could not be told."""

    COMPLETE = (
        "complete",
        "a hyperplane puts every row on its right side: the maximum likelihood estimate does not exist",
    )
    QUASI_COMPLETE = (
        "quasi-complete",
        "some rows are predicted perfectly, none wrongly, the others lie on the boundary: the maximum likelihood "
        "estimate does not exist",
    )
    OVERLAP = "overlap", "no hyperplane divides the classes, not even weakly: the maximum likelihood estimate exists"
    UNDECIDED = "undecided", "the kind could not be proven within the limits"


MESSAGES = {  # of models that have no classes to divide
    Kind.COMPLETE: "every observation is separated: the maximum likelihood estimate does not exist",
    Kind.QUASI_COMPLETE: "some observations are separated, the others keep a finite fit: the maximum likelihood "
    "estimate does not exist",
    Kind.OVERLAP: "along no direction does the likelihood rise for ever: the maximum likelihood estimate exists",
}
PLAIN = ("logit", "probit", "cauchit", "cloglog")
IN_WORDS: dict[str, str] = {Kind.QUASI_COMPLETE: "quasi-complete", Kind.OVERLAP: "overlapping"}


@dataclass(frozen=True)
class Pair:
    """Two of several classes by themselves.

    Attributes
    ----------
    first : str
        One class.
    second : str
        The other.
    kind : Kind
        The kind of separation between the two.
    """

    first: str
    second: str
    kind: Kind


@dataclass(frozen=True, eq=False)
class Basis:
    """What a diagnosis rests on.

    model : what the likelihood is of
    separated : the separated observations, by their place in the model
    theta : one number per coefficient, in the relative interior of the recession cone; zeros for overlap
    places : of every observation in the data given
    design : the table as it was read
    recipe : how it was read; None for rows that were held already
    """

    model: Model
    separated: NDArray[np.int64]
    theta: NDArray[np.float64]
    places: NDArray[np.int64]
    design: Design
    recipe: Recipe | None
