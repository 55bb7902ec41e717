"""Diagnosis: what was found, in words for people and in plain data for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof
from separatrix.data.frames import Design
from separatrix.data.labels import label
from separatrix.data.memory import HeldRows
from separatrix.deciding.boundary import Certainty, Evidence
from separatrix.plot import coefficients
from separatrix.reporting.plain import LINE, LONG, plain
from separatrix.reporting.status import Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 30  # coefficients listed in full
ESTIMATE = {
    "0": "finite",
    "+": "+∞",
    "-": "-∞",
    "either": "not determined",
    "aliased": "aliased",
    "?": "not settled",
}


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
        The proof of the kind (two classes); `verify(proof, X, y)` re-checks it.
    pairs : tuple of Pair
        With more than two classes, the kind of each pair by itself.
    target : str
        The name of the outcome.
    counts : mapping of str to int
        Rows of each class.
    n : int
        Rows in all, without those left out.
    dropped : int
        Rows left out for missing values.
    seconds : float
        The time it took.
    mle_exists : bool or None
        Whether the logistic maximum likelihood estimate exists; None where undecided.
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
    target: str
    counts: Mapping[str, int]
    n: int
    dropped: int
    seconds: float

    @property
    def mle_exists(self) -> bool | None:
        """Whether the logistic maximum likelihood estimate exists; None where undecided."""
        return None if self.kind is Kind.UNDECIDED else self.kind is Kind.OVERLAP

    @property
    def infinite(self) -> tuple[str, ...]:
        """The coefficients that run off to +∞ or -∞; in `columns` also those whose limit is not determined."""
        return tuple(name for name, sign in self.columns.items() if sign in ("+", "-"))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw where each coefficient's estimate runs: an arrow to -∞ or +∞, both if not determined, a dot if finite.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; a new figure when not given.

        Returns
        -------
        matplotlib Axes
            The axes, one line per coefficient; of many coefficients those that are not plainly finite.
        """
        return coefficients(self._chosen(), f"outcome {self.target}: {self.kind}", ax=ax)

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

    def _summary(self) -> list[str]:
        counts = ", ".join(f"{label}: {count}" for label, count in self.counts.items())
        first = f"{self.kind}: {self.kind.message}"
        if self.certainty is Certainty.WITHIN_ROUNDING:
            first = (
                f"{self.kind} within rounding: to the precision of these numbers the data are {IN_WORDS[self.kind]}; "
                "in the bits as stored the last digits decide"
            )
        lines = [first, f"outcome {self.target} ({counts}), {self.n} rows"]
        if self.dropped:
            lines[-1] += f"; {self.dropped} rows with missing values left out"
        return lines + [f"note: {note}" for note in self.notes]

    def _remarks(self) -> list[str]:
        lines = []
        if 0 < len(self.rows) < self.n:
            lines.append(
                f"rows on the separated side: {len(self.rows)} of {self.n} ({some(self.rows)}; counted from 0)"
            )
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
        lines += [f"{pair.first} against {pair.second}: {pair.kind}" for pair in self.pairs]
        if self.proof is not None:
            lines.append(f"proof: {self.proof.argument}")
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
            "aliased": dict(self.aliased),
            "facts": list(self.facts),
            "advice": self.advice,
            "notes": list(self.notes),
            "certainty": None if self.certainty is None else str(self.certainty),
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "fragile": self.fragile,
            "proof": None if self.proof is None else self.proof.argument,
            "pairs": [{"first": p.first, "second": p.second, "kind": str(p.kind)} for p in self.pairs],
            "target": self.target,
            "counts": dict(self.counts),
            "n": self.n,
            "dropped": self.dropped,
            "seconds": self.seconds,
        }


def in_class(name: str, one: Any, reference: Any) -> str:
    """A coefficient of a multinomial model."""
    return f"{name} for {label(one)} (vs {label(reference)})"


def some(rows: Iterable[Any], most: int = 8) -> str:
    """The first few of many."""
    told = [str(i) for i in rows]
    return ", ".join(told[:most]) + (", …" if len(told) > most else "")


def explain(
    kind: Kind,
    columns: Mapping[str, str],
    rows: HeldRows,
    codes: NDArray[Any],
    classes: NDArray[Any],
    names: list[str],
    table: Design | None,
) -> tuple[str, ...]:
    """Sentences on columns that separate by themselves: levels with one outcome, numbers with a threshold."""
    if kind not in (Kind.COMPLETE, Kind.QUASI_COMPLETE) or rows.sparse:
        return ()
    target = "y" if table is None else table.target
    X = rows.arrays[0]
    facts = []
    for j in range(rows.d):
        own = [names[j]] if len(classes) == 2 else [in_class(names[j], c, classes[0]) for c in classes[1:]]
        if not any(columns[name] in ("+", "-", "either") for name in own):
            continue
        x = X[:, j]
        term = None if table is None else table.terms[j]
        if term is not None and term.level is not None:
            inside = np.unique(codes[x == 1])
            if len(inside) == 1:
                count = int((x == 1).sum())
                which = f"all {count} rows have" if count > 1 else "the only row has"
                facts.append(f"{term.column} = {term.level}: {which} {target} = {label(classes[inside[0]])}")
        elif len(classes) == 2:
            facts += _threshold(x[codes == 0], x[codes == 1], names[j], target, classes)
    return tuple(facts)


def _threshold(low: NDArray[Any], high: NDArray[Any], name: str, target: str, classes: NDArray[Any]) -> list[str]:
    """A sentence where one number splits the outcome, but for ties at the threshold."""
    for a, b, one in ((low, high, label(classes[1])), (high, low, label(classes[0]))):
        top, bottom = float(a.max()), float(b.min())
        if top < bottom:
            return [
                f"{name} alone separates: at least {bottom:.6g} where {target} = {one}, at most {top:.6g} elsewhere"
            ]
        if top == bottom and a.min() < b.max():
            return [f"{name} alone separates but for ties at {top:.6g}: above it {target} = {one}, below it not"]
    return []


def advise(
    kind: Kind,
    columns: Mapping[str, str],
    aliased: Mapping[str, str],
    facts: tuple[str, ...],
    fragile: bool,
    evidence: Evidence | None = None,
) -> str:
    """What to do next, in the user's words."""
    parts = []
    levels = [fact.rsplit(": ", 1)[0] for fact in facts if " = " in fact.rsplit(": ", 1)[0]]
    remedies = (
        "penalise (Firth's method, for instance FirthLogisticRegression of the package firthmodels, or a ridge), or "
        "use exact logistic regression if the data are few; do not report standard errors or p-values of the plain fit"
    )
    if kind is Kind.OVERLAP and evidence is not None and evidence.claim is Claim.QUASI_COMPLETE:
        parts.append(
            f"as stored the estimate exists, but only by last digits, and its coefficients are enormous: {remedies}"
        )
    elif kind is Kind.OVERLAP:
        parts.append("nothing stands in the way: the estimate exists and is finite, fit as usual")
    elif kind is Kind.UNDECIDED:
        parts.append("give more time, or scale and round the columns to what was measured, and try again")
    elif kind is Kind.COMPLETE:
        parts.append(
            "to classify, nothing is wrong: take a separator from separate() or the widest one from max_margin(); to "
            f"estimate effects, {remedies}"
        )
    elif levels:
        named = ", ".join(levels[:5]) + (", …" if len(levels) > 5 else "")
        parts.append(
            f"merge {named} with a similar level, or leave those rows out, if that makes sense; else {remedies}"
        )
    else:
        wild = [name for name, sign in columns.items() if sign in ("+", "-", "either")]
        named = ", ".join(wild[:5]) + (", …" if len(wild) > 5 else "")
        what = "it decides" if len(wild) == 1 else "together they decide"
        parts.append(f"look at {named}: {what} part of the rows; drop or coarsen one column, or {remedies}")
    if aliased:
        one = len(aliased) == 1
        parts.append(
            f"drop the aliased column{'' if one else 's'}: {'it adds' if one else 'they add'} nothing to the others"
        )
    if fragile:
        parts.append("the answer hangs on rounding: round the columns to the digits that were measured and ask again")
    return "; ".join(parts) + "."
