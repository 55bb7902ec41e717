"""Arguments that a function does not take: one sentence, with the name that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from separatrix.reporting.hints import did_you_mean
from separatrix.reporting.plain import counted

P = ParamSpec("P")
T = TypeVar("T")

STEP, BUDGET, PRECISION = ("step_size",), ("max_iter", "max_epochs", "time_limit"), ("tol", "rtol")
MEANT = {  # what others call it: what it may be called here, the first that the function has
    **dict.fromkeys(("gamma", "stepsize", "step", "lr", "learning_rate", "learning_rate_init", "eta", "eta0"), STEP),
    **dict.fromkeys(("alpha", "C"), STEP),
    **dict.fromkeys(("n_iter", "n_iters", "max_iters", "maxiter", "num_iter", "iterations", "max_steps"), BUDGET),
    **dict.fromkeys(("epochs", "n_epochs", "max_epoch", "num_epochs"), ("max_epochs", "max_iter", "time_limit")),
    **dict.fromkeys(("tolerance", "eps", "epsilon", "atol", "ftol", "xtol"), PRECISION),
    **dict.fromkeys(("intercept", "bias", "add_intercept"), ("fit_intercept",)),
    **dict.fromkeys(("seed", "rng"), ("random_state",)),
    "random_state": ("random_state",),
    **dict.fromkeys(("weights", "weight"), ("sample_weight", "class_weight", "beside")),
    **dict.fromkeys(("algorithm", "solver"), ("method", "engine")),
    **dict.fromkeys(("x0", "theta_0", "theta", "coef_init", "init"), ("theta0", "warm_start")),
    "exog": ("X",),
    "endog": ("y",),
    "target": ("y",),
    "family": ("model",),
    "verbosity": ("verbose",),
    "timeout": ("time_limit",),
}
RANDOM = ("random_state", "seed", "rng")
UNPENALISED = ("C", "alpha", "penalty", "l1_ratio", "reg", "lam", "l2")


def hinted(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose signature stays as it is, with a hint where an argument is none of its own.

    Of a constructor the class that is made is named, and not the one that has the constructor.
    """
    given = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in given):
        return function
    made = function.__name__ == "__init__"
    names = [parameter.name for parameter in given][made:]
    in_order = [p.name for p in given if p.kind is p.POSITIONAL_OR_KEYWORD][made:]

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        who = type(args[0]).__name__ if made else function.__name__
        for name in kwargs:
            if name not in names:
                raise TypeError(unexpected(who, name, names))
        if len(args) - made > len(in_order):
            raise TypeError(too_many(who, len(args) - made, in_order, names))
        return function(*args, **kwargs)

    return called


def unexpected(who: str, name: str, names: Sequence[str]) -> str:
    """One sentence about a keyword that is none of these names."""
    meant = next((known for known in MEANT.get(name, ()) if known in names), None)
    why = " (nothing is penalised here)" if name in UNPENALISED else ""
    why = " (nothing is random here)" if name in RANDOM and meant is None else why
    if meant is not None:
        hint = f" (did you mean {meant!r}?)"
    else:
        hint = "" if name in MEANT or name in UNPENALISED else did_you_mean(name.lower(), names)
    hint = hint or f"; it takes {', '.join(names)}"
    return f"{who}() got an unexpected keyword argument {name!r}{(why + hint).replace(') (', '; ')}."


def too_many(who: str, given: int, in_order: Sequence[str], names: Sequence[str]) -> str:
    """One sentence about arguments without a name, of which there are more than these."""
    few = f"at most {counted(len(in_order), 'argument')} without a name" if in_order else "no argument without its name"
    which = f" ({', '.join(in_order)})" if in_order else ""
    later = [name for name in names if name not in in_order]
    return f"{who}() takes {few}{which}, got {given}: name the others, as in {later[0]}=…."
