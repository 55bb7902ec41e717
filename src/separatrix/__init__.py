"""separatrix: find a hyperplane that separates two classes, show how it was found, prove that it is right.

Names are loaded when first used, so `import separatrix` is quick and brings in neither NumPy nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix import datasets, nonlinear, plot
    from separatrix.certify import Claim, Proof, ProofError, load_proof, save_proof, verify
    from separatrix.data.problem import Problem
    from separatrix.data.rows import ClusterError
    from separatrix.deciding.boundary import Certainty, Evidence
    from separatrix.deciding.margin import Margin, MarginStatus
    from separatrix.deciding.max_margin import max_margin
    from separatrix.deciding.separate import Separation, Verdict, separate
    from separatrix.diagnosing.bounds import FittedBounds
    from separatrix.diagnosing.diagnose import diagnose
    from separatrix.diagnosing.fit import Fit
    from separatrix.diagnosing.kinds import Kind
    from separatrix.diagnosing.reduced import Reduced
    from separatrix.diagnosing.report import Diagnosis
    from separatrix.estimators import (
        BatchPerceptron,
        LogisticGD,
        MaxMarginClassifier,
        NormalizedBatchPerceptron,
        NormalizedLogisticGD,
        Perceptron,
        TemperedBatchPerceptron,
        TemperedLogisticGD,
    )
    from separatrix.exploring import Explorer, explore
    from separatrix.theory import bounds, imbalanced, planted, two_samples, worst_case
    from separatrix.walking import zoo
    from separatrix.walking.checkpoint import Checkpoint, CheckpointError
    from separatrix.walking.engines import Gram
    from separatrix.walking.own import At, Method, exp
    from separatrix.walking.run import Cycle, Iterate, Run, Status, Tie
    from separatrix.walking.solve import solve
    from separatrix.walking.trace import Trace

__version__ = "0.1.0"

_HOMES = {
    "At": "walking.own",
    "BatchPerceptron": "estimators",
    "Certainty": "deciding.boundary",
    "Checkpoint": "walking.checkpoint",
    "CheckpointError": "walking.checkpoint",
    "Claim": "certify",
    "ClusterError": "data.rows",
    "Cycle": "walking.run",
    "Diagnosis": "diagnosing.report",
    "Evidence": "deciding.boundary",
    "Explorer": "exploring",
    "Fit": "diagnosing.fit",
    "FittedBounds": "diagnosing.bounds",
    "Gram": "walking.engines",
    "Iterate": "walking.run",
    "Kind": "diagnosing.kinds",
    "LogisticGD": "estimators",
    "Margin": "deciding.margin",
    "MarginStatus": "deciding.margin",
    "MaxMarginClassifier": "estimators",
    "Method": "walking.own",
    "NormalizedBatchPerceptron": "estimators",
    "NormalizedLogisticGD": "estimators",
    "Perceptron": "estimators",
    "Problem": "data.problem",
    "Proof": "certify",
    "ProofError": "certify",
    "Reduced": "diagnosing.reduced",
    "Run": "walking.run",
    "Separation": "deciding.separate",
    "Status": "walking.run",
    "TemperedBatchPerceptron": "estimators",
    "TemperedLogisticGD": "estimators",
    "Tie": "walking.run",
    "Trace": "walking.trace",
    "Verdict": "deciding.separate",
    "bounds": "theory",
    "datasets": "",  # a room
    "diagnose": "diagnosing.diagnose",
    "exp": "walking.own",
    "explore": "exploring",
    "imbalanced": "theory",
    "load_proof": "certify",
    "max_margin": "deciding.max_margin",
    "nonlinear": "",  # a room
    "planted": "theory",
    "plot": "",  # a module
    "save_proof": "certify",
    "separate": "deciding.separate",
    "solve": "walking.solve",
    "two_samples": "theory",
    "verify": "certify",
    "worst_case": "theory",
    "zoo": "",  # a module
}
_MODULES = {  # whose names are used behind a dot
    "datasets": "datasets",
    "nonlinear": "nonlinear",
    "plot": "plot",
    "zoo": "walking.zoo",
}

__all__ = [
    "At",
    "BatchPerceptron",
    "Certainty",
    "Checkpoint",
    "CheckpointError",
    "Claim",
    "ClusterError",
    "Cycle",
    "Diagnosis",
    "Evidence",
    "Explorer",
    "Fit",
    "FittedBounds",
    "Gram",
    "Iterate",
    "Kind",
    "LogisticGD",
    "Margin",
    "MarginStatus",
    "MaxMarginClassifier",
    "Method",
    "NormalizedBatchPerceptron",
    "NormalizedLogisticGD",
    "Perceptron",
    "Problem",
    "Proof",
    "ProofError",
    "Reduced",
    "Run",
    "Separation",
    "Status",
    "TemperedBatchPerceptron",
    "TemperedLogisticGD",
    "Tie",
    "Trace",
    "Verdict",
    "bounds",
    "datasets",
    "diagnose",
    "exp",
    "explore",
    "imbalanced",
    "load_proof",
    "max_margin",
    "nonlinear",
    "planted",
    "plot",
    "save_proof",
    "separate",
    "solve",
    "two_samples",
    "verify",
    "worst_case",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from separatrix.reporting.hints import did_you_mean

        hint = "" if name.startswith("_") else did_you_mean(name, __all__)
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}{hint}")
    home = _HOMES[name]
    module = import_module(f"separatrix.{home or _MODULES[name]}")
    value = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
