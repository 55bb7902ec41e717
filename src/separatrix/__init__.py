"""separatrix: find a hyperplane that separates two classes, show how it was found, prove that it is right.

Names are loaded when first used, so `import separatrix` is quick and brings in neither Numba nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix.checkpoint import Checkpoint, CheckpointError
    from separatrix.engines import Gram
    from separatrix.loop import Run, Status, solve
    from separatrix.theory import bounds, imbalanced, planted, two_samples, worst_case
    from separatrix.trace import Trace

__version__ = "0.1.0"

_HOMES = {
    "Checkpoint": "checkpoint",
    "CheckpointError": "checkpoint",
    "Gram": "engines",
    "Run": "loop",
    "Status": "loop",
    "Trace": "trace",
    "bounds": "theory",
    "imbalanced": "theory",
    "planted": "theory",
    "solve": "loop",
    "two_samples": "theory",
    "worst_case": "theory",
}

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Gram",
    "Run",
    "Status",
    "Trace",
    "bounds",
    "imbalanced",
    "planted",
    "solve",
    "two_samples",
    "worst_case",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(import_module(f"separatrix.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
