"""
Classifiers in a pipeline
=========================

The classifiers stop when the training rows are separated, and say how they ended.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

for model in (sx.Perceptron(), sx.LogisticGD(step_size=10.0), sx.MaxMarginClassifier()):
    pipe = make_pipeline(StandardScaler(), model).fit(X_train, y_train)
    fitted = pipe[-1]
    print(f"{type(model).__name__}: test accuracy {pipe.score(X_test, y_test):.3f}; {fitted.status_.message}")

# %%
# All three separate the training rows. ``trace_`` holds the way there; the step size is a parameter like any other.

pipe = make_pipeline(StandardScaler(), sx.LogisticGD(max_iter=2000))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # small steps do not arrive within max_iter, and say so
    grid = GridSearchCV(pipe, {"logisticgd__step_size": [0.1, 1.0, 10.0, 100.0]}, cv=5).fit(X_train, y_train)
for step, score in zip(grid.cv_results_["param_logisticgd__step_size"], grid.cv_results_["mean_test_score"], strict=True):
    print(f"step size {step:g}: {score:.3f}")

# %%
# ``runs_`` are what :func:`separatrix.solve` returned, so they can be drawn.

fits = [sx.LogisticGD(step_size=step).fit(StandardScaler().fit_transform(X_train), y_train) for step in (10.0, 100.0)]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
sx.plot.compare([fit.runs_[0] for fit in fits], "errors", ax=ax)
