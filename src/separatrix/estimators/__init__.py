"""The scikit-learn face: five classifiers on `solve`, one on `max_margin`."""

from separatrix.estimators.batch import BatchPerceptron, LogisticGD, NormalizedBatchPerceptron, NormalizedLogisticGD
from separatrix.estimators.rowwise import Perceptron
from separatrix.estimators.widest import MaxMarginClassifier

__all__ = [
    "BatchPerceptron",
    "LogisticGD",
    "MaxMarginClassifier",
    "NormalizedBatchPerceptron",
    "NormalizedLogisticGD",
    "Perceptron",
]
