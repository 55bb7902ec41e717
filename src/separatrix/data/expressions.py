"""What a formula may compute: arithmetic, comparisons and known functions of columns, and nothing else.

Formulaic evaluates what a formula writes as Python. A formula may come from elsewhere, in a proof that somebody sent,
so each expression is read as a syntax tree first, and what could reach beyond its columns is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.data.columns import listed
from separatrix.reporting.hints import did_you_mean

QUOTED = re.compile(r"`([^`]+)`")
PLAIN = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.keyword, ast.Constant, ast.Name,
    ast.Attribute, ast.List, ast.Tuple, ast.Dict, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
BUILTINS = {"abs", "round"}
CONTRASTS = {"SAS", "custom", "diff", "helmert", "poly", "sum", "treatment"}
NUMPY = {"pi", "e", "where", "clip", "round"}  # and every function that works entry by entry


def columns_in(text: str, names: Sequence[str]) -> set[str]:
    """The columns that an expression is computed from; a sentence where it is more than may be computed."""
    from formulaic.transforms import TRANSFORMS

    quoted = {f"quoted_{k}": name for k, name in enumerate(QUOTED.findall(text))}
    plain = text
    for stand_in, name in quoted.items():
        if name not in names:  # backticks inside of text could hide what stands between them
            raise _no_column(name, names)
        plain = plain.replace(f"`{name}`", stand_in)
    try:
        nodes = list(ast.walk(ast.parse(plain, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"the formula's {text!r} cannot be read; check it.") from None
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    spaces = [node.value for node in nodes if isinstance(node, ast.Attribute)]
    for node in nodes:
        if not isinstance(node, PLAIN) or not _harmless(node, {*names, *quoted}):
            raise ValueError(f"the formula's {text!r} is more than a formula may compute; compute it beforehand.")
    for function in called:
        _check_call(function, TRANSFORMS)
    functions = [node for node in (*called, *spaces) if isinstance(node, ast.Name)]
    inside = {node.id for node in nodes if isinstance(node, ast.Name) and not any(node is other for other in functions)}
    inside |= {str(name) for node in nodes if isinstance(node, ast.Call) for name in _by_text(node)}
    found = {quoted.get(name, name) for name in inside}
    for name in sorted(found - set(names) - set(TRANSFORMS)):
        raise _no_column(name, names)
    return found & set(names)


def _no_column(name: str, names: Sequence[str]) -> ValueError:
    """The sentence on a name that is none."""
    seen = f"the formula names {name!r}, which is no column{did_you_mean(name, names)}"
    return ValueError(f"{seen}; columns: {listed(names)}.")


def _harmless(node: ast.AST, columns: set[str]) -> bool:
    """Whether nothing can be reached or blown up by this part."""
    if isinstance(node, ast.Attribute):
        space = node.value.id if isinstance(node.value, ast.Name) else ""
        inside = node.attr in NUMPY or isinstance(getattr(np, node.attr, None), np.ufunc)
        return inside if space == "np" else space == "contr" and node.attr in CONTRASTS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name | ast.Attribute)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):  # 9**9**9 has no end
        return any(isinstance(part, ast.Name) and part.id in columns for part in ast.walk(node.left))
    if isinstance(node, ast.BinOp):
        return not (_sequence(node.left) or _sequence(node.right))
    return True


def _sequence(node: ast.expr) -> bool:
    """Whether this is text or a list, which arithmetic would only make longer."""
    return isinstance(node, ast.List | ast.Tuple) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _check_call(function: ast.expr, known: Mapping[str, Any]) -> None:
    """Functions by name are those of formulaic and a few of Python's."""
    if isinstance(function, ast.Name) and function.id not in BUILTINS and not callable(known.get(function.id)):
        seen = f"the formula calls {function.id!r}, which is no function here"
        raise ValueError(f"{seen}; compute such a column beforehand.")


def _by_text(call: ast.Call) -> list[str]:
    """The column of Q("blood type")."""
    quotes = isinstance(call.func, ast.Name) and call.func.id == "Q" and len(call.args) == 1
    return [call.args[0].value] if quotes and isinstance(call.args[0], ast.Constant) else []  # type: ignore[list-item]
