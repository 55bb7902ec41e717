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
    accuracy = pipe.score(X_test, y_test)
    print(f"{type(model).__name__}: test accuracy {accuracy:.3f}; {pipe[-1].status_.message}")

# %%
# All three separate the training rows. ``trace_`` holds the way there; the step size is a
# parameter like any other.

pipe = make_pipeline(StandardScaler(), sx.LogisticGD(max_iter=2000))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # small steps do not arrive within max_iter, and say so
    grid = GridSearchCV(pipe, {"logisticgd__step_size": [0.1, 1.0, 10.0, 100.0]}, cv=5)
    grid.fit(X_train, y_train)
found = grid.cv_results_
for params, score in zip(found["params"], found["mean_test_score"], strict=True):
    print(f"{params}: {score:.3f}")

# %%
# ``runs_`` are what :func:`separatrix.solve` returned, so they can be drawn.

scaled = StandardScaler().fit_transform(X_train)
fits = [sx.LogisticGD(step_size=step).fit(scaled, y_train) for step in (10.0, 100.0)]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
sx.plot.compare([fit.runs_[0] for fit in fits], "errors", ax=ax)
