"""scikit-learn 1.9's callbacks, all of it in this file; with earlier versions the same names do nothing.

A fit is a task. Its subtasks are the recorded iterates (the perceptron's sweeps) or, with more than two classes, one
task per one-vs-rest problem with the iterates below it. The API is experimental there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from separatrix.walking.run import Iterate, hyperplane

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # the stand-in has the name of what it stands for
        """Nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Tasks", "watched", "with_callbacks"]


def watched(estimator: Any) -> bool:
    """Whether callbacks were set on this estimator; scikit-learn keeps them under this name."""
    return bool(vars(estimator).get("_skl_callbacks"))


def _signs(labels: Any, k: int) -> Any:
    return labels[k].astype(np.int64)


class Tasks:
    """The tasks of one fit, where callbacks watch it: `problems[k]` is what problem k calls with each iterate."""

    def __init__(
        self, estimator: Any, X: Any, y: Any, classes: Any, weight: Any, labels: Any, steps: int | None
    ) -> None:
        self.estimator = estimator
        told = {"X": X, "y": y, "metadata": None if weight is None else {"sample_weight": weight}}
        steps = None if steps is None else steps + 1  # one is begun and never made
        one = len(labels) == 1
        self.told = told
        self.root = estimator._init_callback_context(
            max_subtasks=steps if one else len(labels), sequential_subtasks=one
        )
        self.root.call_on_fit_task_begin(estimator=estimator, **told)
        self.problems = [Task(self, self.root, told, classes, alone=True)]
        if one:
            self.problems[0].begin()
        else:
            self.problems = [
                Task(
                    self,
                    self.root.subcontext(
                        task_name=f"class {classes[k]} against the rest", task_id=k, max_subtasks=steps
                    ),
                    told | {"y": partial(_signs, labels, k)},  # made when a callback asks for it
                    np.array([-1, 1]),
                )
                for k in range(len(labels))
            ]

    def end(self) -> None:
        """All problems are solved and the estimator is fitted."""
        for problem in self.problems:
            problem.end()
        self.root.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes={}, **self.told)


class Task:
    """One problem under way: each call ends the task that led to this iterate and begins the next."""

    def __init__(self, tasks: Tasks, context: Any, told: dict[str, Any], classes: Any, alone: bool = False) -> None:
        self.tasks, self.context, self.told, self.classes, self.alone = tasks, context, told, classes, alone
        self.last: dict[str, Any] = {}
        self.current: Any = None

    def begin(self) -> None:
        """The problem's own task, if it is not the fit itself, and its first step."""
        if not self.alone:
            self.context.call_on_fit_task_begin(estimator=self.tasks.estimator, **self.told)
        self._next()

    def _next(self) -> None:
        self.current = self.context.subcontext(task_name="step")
        self.current.call_on_fit_task_begin(estimator=self.tasks.estimator, **self.told)

    def __call__(self, iterate: Any) -> bool:
        """A recorded iterate, or a Newton step; true to stop."""
        if self.current is None:
            self.begin()
        told: dict[str, Any] = {}
        if isinstance(iterate, Iterate):
            if iterate.t == 0:
                return False
            coef, intercept = hyperplane(iterate.theta, iterate.bias)
            self.last = {"coef_": coef[None], "intercept_": np.array([intercept]), "classes_": self.classes}
            told = {"reconstruction_attributes": self.last}
        stop = bool(self.current.call_on_fit_task_end(estimator=self.tasks.estimator, **self.told, **told))
        self._next()
        return stop

    def end(self) -> None:
        """The step that was begun and never made is ended without a result, then the problem."""
        if self.current is not None:
            self.current.call_on_fit_task_end(estimator=self.tasks.estimator)
        if not self.alone:
            self.context.call_on_fit_task_end(
                estimator=self.tasks.estimator, reconstruction_attributes=self.last or None, **self.told
            )
