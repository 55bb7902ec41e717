"""Diagnosis: what was found, in words for people and in plain data for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Proof
from separatrix.certify.check import shown
from separatrix.deciding.boundary import Certainty, Evidence
from separatrix.diagnosing.afterwards import bound_of, firth_of, fitted_of, intervals, reduced_of
from separatrix.diagnosing.kinds import IN_WORDS, MESSAGES, PLAIN, Basis, Kind, Pair
from separatrix.plot import coefficients, estimates
from separatrix.reporting.hints import install
from separatrix.reporting.plain import LINE, LONG, counted, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from separatrix.diagnosing.bounds import FittedBounds
    from separatrix.diagnosing.reduced import Reduced

SHOWN = 30  # coefficients listed in full
ESTIMATE = {
    "0": "finite",
    "+": "+∞",
    "-": "-∞",
    "either": "not determined",
    "aliased": "aliased",
    "?": "not settled",
}


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The kind of separation, its causes, and what to do about it.

    Attributes
    ----------
    kind : Kind
        The kind: "complete", "quasi-complete", "overlap" or "undecided".
    columns : mapping of str to str
        Each coefficient's direction over the recession cone: "0" (finite), "+", "-", "either", "aliased", "?".
    rows : ndarray of int
        The rows on the separated side, by their position in the data given.
    aliased : mapping of str to str
        Columns that are exact combinations of others, and which.
    advice : str
        What to do next.
    facts : tuple of str
        Sentences on single columns that separate by themselves.
    notes : tuple of str
        Sentences on how the columns of a frame were read.
    certainty : Certainty or None
        "proven", or "within rounding" where the last digits decide and the kind holds to the precision of the numbers,
        on `evidence`; None where undecided.
    evidence : Evidence or None
        What a kind within rounding rests on, with its two residuals (two classes). Beside a proven kind that is
        fragile: what is true to the precision of the numbers, where that is another kind.
    fragile : bool
        Whether the kind could turn if entries that look rounded changed by one part in 1e12.
    proof : Proof or None
        The proof of the kind; `verify(proof, X, y)` re-checks it from the data.
    pairs : tuple of Pair
        With more than two classes, the kind of each pair by itself.
    model : str
        The model that was asked about.
    assumed : str
        Why this model, where nobody said; else empty.
    target : str
        The name of the outcome.
    counts : mapping of str to int
        Observations of each outcome.
    n : int
        Observations in all, without those left out.
    dropped : int
        Rows left out for missing values.
    index : ndarray or None
        The labels of `rows` in the frame's index, where it has labels of its own.
    basis : Basis
        The model, the direction and the observations that `reduced`, `bound`, `fitted` and `firth` start from.
    seconds : float
        The time it took.
    mle_exists : bool or None
        Whether the maximum likelihood estimate exists; None where undecided.
    infinite : tuple of str
        The coefficients that run off to +∞ or -∞.
    """

    kind: Kind
    columns: Mapping[str, str]
    rows: NDArray[np.int64]
    aliased: Mapping[str, str]
    advice: str
    facts: tuple[str, ...]
    notes: tuple[str, ...]
    certainty: Certainty | None
    evidence: Evidence | None
    fragile: bool
    proof: Proof | None
    pairs: tuple[Pair, ...]
    model: str
    assumed: str
    target: str
    counts: Mapping[str, int]
    n: int
    dropped: int
    index: NDArray[Any] | None
    basis: Basis
    seconds: float

    @property
    def mle_exists(self) -> bool | None:
        """Whether the maximum likelihood estimate exists; None where undecided."""
        return None if self.kind is Kind.UNDECIDED else self.kind is Kind.OVERLAP

    @property
    def infinite(self) -> tuple[str, ...]:
        """The coefficients that run off to +∞ or -∞; in `columns` also those whose limit is not determined."""
        return tuple(name for name, sign in self.columns.items() if sign in ("+", "-"))

    def verify(self, X: Any, y: Any = None, *, beside: Mapping[str, Any] | None = None) -> bool:
        """Re-check the proof from the data, trusting nothing: that it holds, and that just these rows are separated.

        Parameters
        ----------
        X : data frame, array, CSR matrix, path, statsmodels model
            The data that the diagnosis is about; of a formula the frame.
        y : str or array-like, optional
            The outcome, where the proof does not name its column.
        beside : mapping, optional
            Values that the diagnosis was given by themselves and not by a column's name, such as {"weight": …}.

        Returns
        -------
        bool
            Whether both were found to be so; False where there is no proof.
        """
        rows = None if self.proof is None else shown(self.proof, X, y, beside=beside)
        return rows is not None and np.array_equal(rows, self.rows)

    def reduced(self) -> Reduced:
        """Give the model that separation leaves: the limit of the likelihood along the directions that rise for ever.

        Returns
        -------
        Reduced
            Which observations and columns to keep, as a frame any package can fit; `fit()` has its finite estimates.

        Raises
        ------
        ValueError
            If the kind is undecided.
        """
        return reduced_of(self)

    def bound(self, name: str, *, level: float = 0.95) -> float:
        """Bound an infinite coefficient from its finite side, by its profile likelihood.

        Parameters
        ----------
        name : str
            A coefficient that runs off to +∞ or -∞.
        level : float, default=0.95
            The confidence.

        Returns
        -------
        float
            The coefficient is at least this where it runs to +∞, at most this where it runs to -∞.

        Raises
        ------
        ValueError
            If there is no such coefficient, or it does not run off to one side.
        """
        return bound_of(self, name, level)

    def fitted(self, *, level: float = 0.95) -> FittedBounds:
        """Bound what the model says of separated observations, one-sided (Geyer 2009).

        Parameters
        ----------
        level : float, default=0.95
            The confidence.

        Returns
        -------
        FittedBounds
            Bounds on probabilities or means.
        """
        return fitted_of(self, level)

    def firth(self, *, frame: str = "df") -> str:
        """Give lines of Python that print Firth's estimates for the same columns, with the package firthmodels.

        Parameters
        ----------
        frame : str, default="df"
            The variable that holds the table, a pandas frame.

        Returns
        -------
        str
            The lines.

        Raises
        ------
        ValueError
            If firthmodels has no such model, or the columns have no names in a frame.
        """
        return firth_of(self, frame)

    def plot(self, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw each coefficient: its finite estimate with an interval, or an arrow from the bound to where it runs.

        Parameters
        ----------
        level : float, default=0.95
            The confidence of intervals and bounds.
        ax : matplotlib Axes or None, default=None
            Where to draw; a new figure when not given.

        Returns
        -------
        matplotlib Axes
            The axes, one line per coefficient; of many coefficients those that are not plainly finite, and arrows alone
            where there is no fit.
        """
        title = f"{self._outcome()}: {self.kind}"
        known = intervals(self, level)
        if known is None:
            return coefficients(self._chosen(), title, ax=ax)
        return estimates(
            [(name, sign, *known.get(name, (nan, nan, nan))) for name, sign in self._chosen()], title, ax=ax
        )

    def to_pandas(self) -> Any:
        """The coefficients as a pandas frame: where each estimate runs, in words.

        Returns
        -------
        pandas.DataFrame
            One line per coefficient: its `estimate` is "finite", "+inf", "-inf", "not determined", "aliased" or "not
            settled". `equals` is the combination of other columns that an aliased one equals, and empty for the rest.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(f"the coefficients become a frame with pandas: {install('frames')}.") from None

        words = {"+": "+inf", "-": "-inf"}
        return pd.DataFrame(
            {
                "estimate": [words.get(sign, ESTIMATE[sign]) for sign in self.columns.values()],
                "equals": [self.aliased.get(name, "") for name in self.columns],
            },
            index=pd.Index(list(self.columns), name="coefficient"),
        )

    def _chosen(self) -> list[tuple[str, str]]:
        """Coefficients with their directions; of many, those that are not plainly finite, folded to a few lines."""
        items = list(self.columns.items())
        if len(items) <= SHOWN:
            return items
        told = [(name, sign) for name, sign in items if sign not in ("0", "aliased")]
        more = [(f"… {len(told) - SHOWN} more like these", "")] if len(told) > SHOWN else []
        counts = Counter(self.columns.values())
        others = [(f"{counts[sign]} others", sign) for sign in ("aliased", "0") if counts[sign]]
        return told[:SHOWN] + more + others

    def _listed(self) -> list[tuple[str, str]]:
        """The same with estimates in words."""
        return [(plain(name, LONG), ESTIMATE.get(sign, "")) for name, sign in self._chosen()]

    def _outcome(self) -> str:
        """Its name, which may be that very word."""
        return self.target if self.target.lower() == "outcome" else f"outcome {self.target}"

    def _summary(self) -> list[str]:
        counts = ", ".join(f"{label}: {count}" for label, count in self.counts.items())
        messages = MESSAGES if speaks_of_observations(self.model) else {}
        first = f"{self.kind}: {messages.get(self.kind, self.kind.message)}"
        if self.certainty is Certainty.WITHIN_ROUNDING:
            first = (
                f"{self.kind} within rounding: to the precision of these numbers the data are {IN_WORDS[self.kind]}; "
                "in the bits as stored the last digits decide"
            )
        lines = [first, f"{self._outcome()} ({counts}), {self.n} rows"]
        if self.model not in PLAIN or (self.assumed and self.model != "logit"):
            lines.append(f"model: {self.model}" + (f", because {self.assumed}" if self.assumed else ""))
        if self.dropped:
            lines[1] += f"; {counted(self.dropped, 'row')} with missing values left out"
        return lines + [f"note: {note}" for note in self.notes]

    def _remarks(self) -> list[str]:
        lines = []
        if 0 < len(self.rows) < self.n:
            among = f" among all {self.n + self.dropped:,} rows" if self.dropped else ""
            which = f"{some(self.rows)}; counted from 0{among}" if self.index is None else some(self.index)
            what = "separated observations" if speaks_of_observations(self.model) else "rows on the separated side"
            lines.append(f"{what}: {len(self.rows)} of {self.n} ({which})")
        lines += list(self.facts[: SHOWN // 3])
        if len(self.facts) > SHOWN // 3:
            lines.append(f"… {len(self.facts) - SHOWN // 3} more columns that separate by themselves")
        few = min(SHOWN // 3, len(self.aliased))
        for name, what in list(self.aliased.items())[:few]:
            lines.append(f"{name} is aliased: it equals {what if len(what) <= LONG else what[:LONG] + ' …'}")
        if len(self.aliased) > few:
            lines.append(f"… {len(self.aliased) - few} more aliased columns")
        if self.fragile and self.certainty is Certainty.PROVEN:
            lines.append("fragile: a change of one part in 1e12 in entries that look rounded could turn this")
        if self.evidence is not None:
            if self.certainty is Certainty.PROVEN:
                lines.append(f"to the precision of these numbers the data are {IN_WORDS[self.evidence.claim]}")
            lines.append(f"evidence: {self.evidence}")
        alike = len({pair.kind for pair in self.pairs}) == 1 and len(self.pairs) > SHOWN // 3
        if alike:
            lines.append(f"any two of the classes by themselves: {self.pairs[0].kind}")
        else:
            lines += [f"{pair.first} against {pair.second}: {pair.kind}" for pair in self.pairs]
        if self.proof is not None:
            lines.append(f"proof: {self.proof.reason}")
        return lines

    def __str__(self) -> str:
        items = self._listed()
        width = max([len(name) for name, _ in items] + [len("coefficient")])
        table = [f"{'coefficient':<{width}}  estimate"] + [f"{name:<{width}}  {text}".rstrip() for name, text in items]
        lines = [*self._summary(), "", *table, "", *self._remarks(), f"advice: {self.advice}"]
        return "\n".join(plain(line, LINE) for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in self._listed())
        head = "<br>".join(escape(plain(line, LINE)) for line in self._summary())
        remarks = [*self._remarks(), f"advice: {self.advice}"]
        tail = "<br>".join(escape(plain(line, LINE)) for line in remarks)
        return (
            f"<div><p>{head}</p><table><thead><tr><th>coefficient</th><th>estimate</th></tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{tail}</p></div>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the proof's numbers, in types that JSON knows.

        Returns
        -------
        dict
            The attributes by name.
        """
        return {
            "kind": str(self.kind),
            "mle_exists": self.mle_exists,
            "columns": dict(self.columns),
            "infinite": list(self.infinite),
            "rows": self.rows.tolist(),
            "labels": None if self.index is None else [str(name) for name in self.index],
            "aliased": dict(self.aliased),
            "facts": list(self.facts),
            "advice": self.advice,
            "notes": list(self.notes),
            "certainty": None if self.certainty is None else str(self.certainty),
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "fragile": self.fragile,
            "proof": None if self.proof is None else self.proof.argument,
            "pairs": [{"first": p.first, "second": p.second, "kind": str(p.kind)} for p in self.pairs],
            "model": self.model,
            "assumed": self.assumed,
            "target": self.target,
            "counts": dict(self.counts),
            "n": self.n,
            "dropped": self.dropped,
            "seconds": self.seconds,
        }


def speaks_of_observations(model: str) -> bool:
    """Whether there are no classes that a hyperplane could divide."""
    return model not in (*PLAIN, "multinomial")


def some(rows: Iterable[Any], most: int = 8) -> str:
    """The first few of many."""
    told = [str(i) for i in rows]
    return ", ".join(told[:most]) + (", …" if len(told) > most else "")
