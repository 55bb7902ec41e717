"""A formula and a frame → a Design, through formulaic: "died ~ age * C(stage) + bs(dose)", "trade ~ dist | year".

Columns are read as in every frame (`columns`), so a factor has the same levels and is compared with the same one as
without a formula, unless the formula says which. What stands behind a bar are fixed effects. The intercept is reported,
not a column.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.accidents import check_dates, decides, factor_notes, is_identifier, left_out, number_notes
from separatrix.data.coding import Coding, Term, shown, with_effects
from separatrix.data.columns import (
    Column,
    as_factor,
    check_finite,
    check_lengths,
    check_name,
    column,
    complete_rows,
    index_of,
    listed,
    raw_columns,
    with_weight,
)
from separatrix.data.expressions import columns_in
from separatrix.data.frames import ENTRIES, Design, at_rows, made, names_in, names_of
from separatrix.data.outcome import Outcome, check_beside, numbers_of, read_beside
from separatrix.reporting.hints import did_you_mean, install

CATEGORY = re.compile(r"C\(\s*`?([^`,()]+?)`?\s*([,)])")  # C(stage), or C(stage, …)
WILDCARD = re.compile(r"(?<![\w.\])`'\"])\.(?![\w(])")  # the dot of "died ~ ."
COLOURS = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]")  # with which formulaic marks the place of an error


def read_formula(
    text: str,
    frame: Any,
    *,
    beside: Mapping[str, Any],
    fixed_effects: Sequence[str],
    reference: Mapping[str, Any] | None,
    keep: Sequence[str],
    missing: str,
) -> Design:
    """The design that the formula makes of the frame; options as in `table.read_table`."""
    raw = raw_columns(frame)
    names = list(raw)
    kept = {check_name(name, names) for name in names_in(keep, "keep")}
    sides, effects = _split(text)
    fixed = [check_name(name, names) for name in [*effects, *names_in(fixed_effects, "fixed_effects")]]
    aside, notes = read_beside(beside, raw)
    taken = {*fixed, *(value for value in beside.values() if isinstance(value, str))}
    offered, more = _offered(sides, raw, taken, kept)
    parsed = _parsed(sides, offered, names)
    left, right = getattr(parsed, "lhs", None), getattr(parsed, "rhs", parsed)
    uses = _Uses(right, names)
    wanted = sorted(uses.plain | uses.factor | uses.other, key=names.index)
    columns = {name: _read(name, raw[name], uses) for name in wanted}
    outcome = _outcome(text, left, raw, aside)
    levels = [as_factor(name, raw[name]) for name in fixed]
    n = check_lengths([*columns.values(), *levels, *outcome.columns])
    for key, one in aside.items():
        check_beside(key, len(one.missing), n)
    complete = complete_rows([*columns.values(), *levels, *outcome.columns, *aside.values()], n, missing)
    rows, more_notes = with_weight(complete, aside.get("weight"))
    notes += more_notes
    cut = {name: at_rows(one, rows) for name, one in columns.items()}
    coding = Coding(outcome, rows, reference, [*wanted, *fixed])
    notes += more + _accidents(cut, uses, outcome, rows, kept)
    for name, one in cut.items():
        if one.levels is None:
            coding.check_number(name)
    _check_size(right, cut, uses, len(rows))
    coded = {name: _for_formulaic(one, coding, uses) for name, one in cut.items()}
    X, terms, intercept = _matrix(text, right, coded, len(rows), uses)
    if not terms and not fixed:
        raise ValueError(f"the formula {text!r} has no column besides the intercept; add at least one.")
    for term, values in zip(terms, X.T, strict=True):
        check_finite(term.name, values, rows)
    whole: Any = X
    if levels:
        whole, behind = with_effects(X, [at_rows(one, rows) for one in levels], coding)
        terms += behind
    stated = intercept or bool(levels)
    known = n - (len(complete) - len(rows))  # rows without weight are none that miss values
    found = made(whole, terms, outcome, rows, known, notes, aside, index_of(frame), stated)
    computed = [name for term in left or () for factor in term.factors for name in sorted(_needed(factor, names))]
    return replace(found, needed=tuple(dict.fromkeys([*wanted, *fixed, *computed, *names_of(aside.values())])))


class _Uses:
    """How a formula uses each column: by itself, as C(…), or in an expression."""

    def __init__(self, right: Any, names: Sequence[str]) -> None:
        self.plain: set[str] = set()
        self.factor: set[str] = set()  # as C(column) and nothing more
        self.other: set[str] = set()
        self.names: dict[str, str] = {}  # of the column, by what the formula writes
        for factor in {factor for term in right for factor in term.factors}:
            found = CATEGORY.match(factor.expr)
            needed = _needed(factor, names)
            if factor.eval_method.value == "lookup":
                self.plain |= needed
                self.names[factor.expr] = factor.expr
            elif found and found[1] in needed:
                (self.factor if found[2] == ")" else self.other).add(found[1])
                self.other |= needed - {found[1]}
                self.names[factor.expr] = found[1]
            else:
                self.other |= needed


def _needed(factor: Any, names: Sequence[str]) -> set[str]:
    """The columns that a part of a formula speaks of; a name that is none of them gets a sentence."""
    match factor.eval_method.value:
        case "literal":
            return set()
        case "lookup" if factor.expr not in names:
            seen = f"the formula names {factor.expr!r}, which is no column{did_you_mean(factor.expr, names)}"
            raise ValueError(f"{seen}; columns: {listed(names)}.")
        case "lookup":
            return {factor.expr}
    return columns_in(factor.expr, names)


def _split(text: str) -> tuple[str, list[str]]:
    """The formula without its fixed effects, and these."""
    depth, quote = 0, ""
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "|" and depth == 0 and "~" in text[:at]:
            names = [part.strip().strip("`") for part in text[at + 1 :].split("+")]
            if not all(names) or any(c in name for name in names for c in "|~*:^("):
                seen = f"behind the bar of {text!r} stand fixed effects"
                raise ValueError(f"{seen}, columns joined by +; got {text[at + 1 :].strip()!r}.")
            return text[:at], names
    return text, []


def _offered(text: str, raw: Mapping[str, Any], taken: set[str], kept: set[str]) -> tuple[list[str] | None, list[str]]:
    """The columns that a dot stands for, and notes on those it does not; None where there is no dot."""
    if not WILDCARD.search(text):
        return None, []
    names, notes = [], []
    for name, values in raw.items():
        if name in taken:
            continue
        one = column(name, values)
        there = np.unique(one.values[~one.missing]) if one.levels is not None else np.empty(0, dtype=np.int64)
        if one.levels not in (None, (False, True)) and name not in kept and is_identifier(len(there), len(one.missing)):
            notes.append(left_out(name, [(one.levels or ())[k] for k in there], len(one.missing)))
        else:
            names.append(name)
    return names, notes


def _parsed(text: str, offered: list[str] | None, names: Sequence[str]) -> Any:
    """What formulaic reads in the text."""
    try:
        from formulaic import Formula
    except ImportError:
        raise ImportError(f"formulas are read by formulaic: {install('formula')}.") from None
    from formulaic.parser.algos.tokenize import tokenize

    try:
        tokens = list(tokenize(text))
    except Exception as error:
        raise _unreadable(text, error) from None
    for token in tokens:  # before formulaic evaluates anything
        if token.kind.value == "python":
            columns_in(token.token, names)
    try:
        if offered is None:
            return Formula(text)
        return Formula(text, _context={"__formulaic_variables_available__": offered})
    except Exception as error:
        raise _unreadable(text, error) from None


def _unreadable(text: str, error: Exception) -> ValueError:
    return ValueError(f"the formula {text.strip()!r} cannot be read ({_sentence(error)}); check it.")


def _outcome(text: str, left: Any, raw: Mapping[str, Any], aside: Mapping[str, Column]) -> Outcome:
    """The column on the left, or the two of successes and failures, or one computed from columns."""
    if left is None:
        if known := [aside[key] for key in ("event", "time") if key in aside]:
            return Outcome((known[0],), known[0].name)
        raise ValueError(f"the formula {text!r} has no outcome; write it in front, as in 'died ~ age'.")
    terms = [] if isinstance(left, tuple) else [list(term.factors) for term in left]
    if not 1 <= len(terms) <= 2 or any(len(factors) != 1 for factors in terms):
        seen = f"the left side of {text!r} must be one outcome, or two columns of successes and failures"
        raise ValueError(f"{seen} joined by +.")
    found = [_left(factors[0], raw) for factors in terms]
    return Outcome(numbers_of(found) if len(found) == 2 else tuple(found), " + ".join(one.name for one in found))


def _left(factor: Any, raw: Mapping[str, Any]) -> Column:
    """One column of the outcome."""
    named = CATEGORY.match(factor.expr)
    if factor.eval_method.value == "lookup":
        return column(factor.expr, raw[next(iter(_needed(factor, list(raw))))])
    if named:
        return as_factor(named[1], raw[check_name(named[1], list(raw))])
    import pandas as pd

    needed = {name: column(name, raw[name]) for name in _needed(factor, list(raw))}
    missing = np.any([one.missing for one in needed.values()], axis=0) if needed else np.zeros(0, dtype=bool)
    if not needed:
        raise ValueError(f"the outcome {factor.expr!r} names no column; write the one that is meant.")
    data = pd.DataFrame({name: one.labels(np.arange(len(missing))) for name, one in needed.items()})
    from formulaic import Formula

    made, spec = _computed(factor.expr, Formula(f"0 + {{{factor.expr}}}"), data)
    if made.shape[1] != 1:
        raise ValueError(f"the outcome {factor.expr!r} gives {made.shape[1]} columns; name the column itself.")
    return Column(factor.expr, made[:, 0], missing | np.isnan(made[:, 0]))


def _read(name: str, values: Any, uses: _Uses) -> Column:
    """One column; numbers that are only ever C(…) are levels."""
    if name in uses.factor and name not in uses.plain | uses.other:
        return as_factor(name, values)
    return column(name, values)


def _accidents(
    columns: Mapping[str, Column], uses: _Uses, outcome: Outcome, rows: NDArray[np.int64], kept: set[str]
) -> list[str]:
    """What is worth telling of the columns; those that tell rows apart are refused, since the formula names them."""
    notes = []
    codes = outcome.codes(rows)[1] if len(outcome.columns) == 1 else None
    for name, one in columns.items():
        if one.levels is None:
            notes += number_notes(name, one.values, rows) if name in uses.plain else []
        else:
            used = np.unique(one.values).tolist()
            levels = [one.levels[k] for k in used]
            if len(used) == 1:
                notes.append(f"{name!r} has the same value in every row and is left out.")
                continue
            if one.levels != (False, True) and name not in kept:
                check_dates(one, used)
                if is_identifier(len(used), len(rows)):
                    seen = f"the formula has {name!r}, with {len(used)} different values in {len(rows)} rows"
                    raise ValueError(f"{seen}; leave it out, or name it in keep= to use it.")
            notes += factor_notes(name, levels) if name in uses.plain else []
        if codes is not None:
            notes += decides(one, codes, outcome.name)
    return notes


def _for_formulaic(one: Column, coding: Coding, uses: _Uses) -> Any:
    """A pandas column: the level to compare with is the first, as formulaic has it."""
    import pandas as pd

    if one.levels is None or (one.levels == (False, True) and one.name in uses.other):
        return one.values if one.levels is None else one.values.astype(bool)
    used = np.unique(one.values).tolist()
    base = coding.reference(one, used)
    order = [base, *(k for k in used if k != base)]
    place = np.zeros(len(one.levels), dtype=np.int64)
    place[order] = np.arange(len(order))
    return pd.Categorical.from_codes(place[one.values], categories=[one.levels[k] for k in order])


def _check_size(right: Any, columns: Mapping[str, Column], uses: _Uses, n: int) -> None:
    """Refuse products of factors with more columns than memory holds, before they are made."""
    for term in right:
        width = 1
        for factor in term.factors:
            name = uses.names.get(factor.expr)
            if name is None or name not in columns:
                continue
            one = columns[name]
            if one.levels is not None or name not in uses.plain or factor.expr != name:
                width *= len(np.unique(one.values))
        if width * n > ENTRIES:
            raise ValueError(f"the formula's {term} has {width} levels in {n} rows, too many for a column each.")


def _matrix(text: str, right: Any, columns: Mapping[str, Any], n: int, uses: _Uses) -> tuple[Any, list[Term], bool]:
    """The columns that formulaic makes, but for the intercept, and where they come from."""
    import pandas as pd

    X, spec = _computed(text, right, pd.DataFrame(columns, index=range(n)))
    terms: list[Term] = []
    kept: list[int] = []
    at, intercept = 0, False
    for part in spec.structure:
        exprs = [factor.expr for factor in part.term.factors if factor.eval_method.value != "literal"]
        if not exprs:
            intercept = intercept or bool(part.columns)
        else:
            kept += range(at, at + len(part.columns))
            terms += [_term(str(name), exprs, spec, uses) for name in part.columns]
        at += len(part.columns)
    return np.ascontiguousarray(X[:, kept]), terms, intercept


def _computed(text: str, formula: Any, data: Any) -> tuple[NDArray[np.float64], Any]:
    """Formulaic's matrix and what it knows about it; its complaints as one sentence."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # what is not finite is complained about later
            warnings.simplefilter("ignore")
            found = formula.get_model_matrix(data, na_action="ignore", output="pandas")
            return np.asarray(found, dtype=np.float64), found.model_spec
    except Exception as error:
        raise ValueError(f"the formula {text.strip()!r} cannot be computed ({_sentence(error)}).") from None


def _term(name: str, exprs: Sequence[str], spec: Any, uses: _Uses) -> Term:
    """The column in our words: C(stage)[T.III] is stage[III] (vs II)."""
    found: list[tuple[str, Term]] = []
    for expr in exprs:
        state = spec.encoder_state.get(expr)
        contrasts = None if state is None or expr not in uses.names else state[1].get("contrasts")
        if contrasts is None or type(contrasts.contrasts).__name__ != "TreatmentContrasts":
            continue
        own, levels = uses.names[expr], list(contrasts.levels)
        base = shown(contrasts.contrasts.get_drop_field(levels, reduced_rank=False))
        for level in levels:
            text = shown(level)
            found.append((f"{expr}[T.{level}]", Term(f"{own}[{text}] (vs {base})", own, text, base)))
            found.append((f"{expr}[{level}]", Term(f"{own}[{text}]", own, text, None)))
    for written, term in found:
        if name == written:
            return term
    for written, term in sorted(found, key=lambda pair: -len(pair[0])):
        name = name.replace(written, term.name)
    return Term(name, name, None, None)


def _sentence(error: Exception) -> str:
    """The first line of what formulaic says, plain."""
    lines = [line.strip() for line in COLOURS.sub("", str(error)).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    inner = re.search(r"\[\w*(?:Error|Exception): (.*)\]$", text)
    return (inner[1] if inner else text).rstrip(".")
