"""The scikit-learn face: five classifiers on `solve`, one on `max_margin`."""

from separatrix.estimators.batch import BatchPerceptron, LogisticGD, NormalizedBatchPerceptron, NormalizedLogisticGD
from separatrix.estimators.max_margin import MaxMarginClassifier
from separatrix.estimators.perceptron import Perceptron

__all__ = [
    "BatchPerceptron",
    "LogisticGD",
    "MaxMarginClassifier",
    "NormalizedBatchPerceptron",
    "NormalizedLogisticGD",
    "Perceptron",
]
