"""How users are told: errors name the class they wrote; of many fits that fall short one warns, at the user's line."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

from sklearn.exceptions import ConvergenceWarning

# Between a fit and the line that asked for it: ourselves, scikit-learn, and what carries its fits to other workers.
BETWEEN = {"separatrix", "sklearn", "joblib", "multiprocessing", "concurrent", "threading", "runpy"}
MANY = ("joblib", "sklearn.model_selection")  # that a call of theirs leads to several fits
ONE_OF_MANY = " (the first of several fits to fall short: the others warn no more)"

_told: set[tuple[str, str, int]] = set()  # class, file and line whose many fits have warned


def by_name(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, whose errors begin with the name of the class where they do not have it already."""

    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except ValueError as error:
            name = type(self).__name__
            if len(error.args) == 1 and isinstance(error.args[0], str) and name not in error.args[0]:
                error.args = (f"{name}: {error.args[0]}",)
            raise

    return called


def warn(name: str, text: str) -> None:
    """Warn at the line of the user's that led to this fit; where that led to several, once.

    Python folds what is told twice at a place, but not where numbers differ, as they do from fit to fit, and not under
    scikit-learn's `Parallel`, which makes it forget at each fit. So it is asked here whether it would fold, which it
    would not under filters such as "always" and "error", and then of several fits only the first is passed on.
    """
    frame, many = _place(sys._getframe(1))
    if frame is None and threading.current_thread() is not threading.main_thread():
        waiting = sys._current_frames().get(threading.main_thread().ident or 0)
        frame = None if waiting is None else _place(waiting)[0]
    file, line = ("<a worker process>", 1) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    module = "separatrix" if frame is None else _module(frame)
    if not many:
        registry = {} if frame is None else frame.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(f"{name}: {text}.", ConvergenceWarning, file, line, module, registry)
        return
    if (name, file, line) in _told:
        return
    registry = {}
    warnings.warn_explicit(f"{name}: {text}{ONE_OF_MANY}.", ConvergenceWarning, file, line, module, registry)
    if any(isinstance(key, tuple) for key in registry):  # Python would not tell this again
        _told.add((name, file, line))


def _place(frame: FrameType | None) -> tuple[FrameType | None, bool]:
    """The first frame outside, and whether one on the way there makes several fits."""
    many = False
    while frame is not None:
        module = _module(frame)
        if module.split(".")[0] not in BETWEEN:
            return frame, many
        many = many or module.startswith(MANY)
        frame = frame.f_back
    return None, many


def _module(frame: FrameType) -> str:
    """The name of its module; of a module that was started by `python -m` not `__main__`."""
    spec = frame.f_globals.get("__spec__")
    return str(frame.f_globals.get("__name__", "") if spec is None else spec.name)
