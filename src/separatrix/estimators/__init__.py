"""The scikit-learn face: seven classifiers on `solve`, one on `max_margin`."""

from separatrix.estimators.batch import BatchPerceptron, NormalizedBatchPerceptron
from separatrix.estimators.logistic import LogisticGD, NormalizedLogisticGD
from separatrix.estimators.max_margin import MaxMarginClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.tempered import TemperedBatchPerceptron, TemperedLogisticGD

__all__ = [
    "BatchPerceptron",
    "LogisticGD",
    "MaxMarginClassifier",
    "NormalizedBatchPerceptron",
    "NormalizedLogisticGD",
    "Perceptron",
    "TemperedBatchPerceptron",
    "TemperedLogisticGD",
]
