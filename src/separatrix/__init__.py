"""separatrix: find a hyperplane that separates two classes, show how it was found, prove that it is right.

Names are loaded when first used, so `import separatrix` is quick and brings in neither Numba nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix import plot
    from separatrix.certify import Claim, Proof, ProofError, load_proof, save_proof, verify
    from separatrix.checkpoint import Checkpoint, CheckpointError
    from separatrix.decide import Separation, Verdict, max_margin, separate
    from separatrix.diagnosis import diagnose
    from separatrix.engines import Gram
    from separatrix.estimators import (
        BatchPerceptron,
        LogisticGD,
        MaxMarginClassifier,
        NormalizedBatchPerceptron,
        NormalizedLogisticGD,
        Perceptron,
    )
    from separatrix.loop import solve
    from separatrix.margin import Margin, MarginStatus
    from separatrix.report import Diagnosis, Kind
    from separatrix.run import Run, Status
    from separatrix.shards import ClusterError
    from separatrix.theory import bounds, imbalanced, planted, two_samples, worst_case
    from separatrix.trace import Trace

__version__ = "0.1.0"

_HOMES = {
    "BatchPerceptron": "estimators",
    "Checkpoint": "checkpoint",
    "CheckpointError": "checkpoint",
    "Claim": "certify",
    "ClusterError": "shards",
    "Diagnosis": "report",
    "Gram": "engines",
    "Kind": "report",
    "LogisticGD": "estimators",
    "Margin": "margin",
    "MarginStatus": "margin",
    "MaxMarginClassifier": "estimators",
    "NormalizedBatchPerceptron": "estimators",
    "NormalizedLogisticGD": "estimators",
    "Perceptron": "estimators",
    "Proof": "certify",
    "ProofError": "certify",
    "Run": "run",
    "Separation": "decide",
    "Status": "run",
    "Trace": "trace",
    "Verdict": "decide",
    "bounds": "theory",
    "diagnose": "diagnosis",
    "imbalanced": "theory",
    "load_proof": "certify",
    "max_margin": "decide",
    "planted": "theory",
    "plot": "",  # a room of its own
    "save_proof": "certify",
    "separate": "decide",
    "solve": "loop",
    "two_samples": "theory",
    "verify": "certify",
    "worst_case": "theory",
}

__all__ = [
    "BatchPerceptron",
    "Checkpoint",
    "CheckpointError",
    "Claim",
    "ClusterError",
    "Diagnosis",
    "Gram",
    "Kind",
    "LogisticGD",
    "Margin",
    "MarginStatus",
    "MaxMarginClassifier",
    "NormalizedBatchPerceptron",
    "NormalizedLogisticGD",
    "Perceptron",
    "Proof",
    "ProofError",
    "Run",
    "Separation",
    "Status",
    "Trace",
    "Verdict",
    "bounds",
    "diagnose",
    "imbalanced",
    "load_proof",
    "max_margin",
    "planted",
    "plot",
    "save_proof",
    "separate",
    "solve",
    "two_samples",
    "verify",
    "worst_case",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(f"separatrix.{home}"), name) if home else import_module(f"separatrix.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
