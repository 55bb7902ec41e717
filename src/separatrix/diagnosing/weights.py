"""Weights of rows that give a functional: in floats, or exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.certify.reader import as_integers
from separatrix.data.rows import Vector
from separatrix.deciding.exact import solve_system
from separatrix.deciding.scaling import Matrix


def combination(rows: Matrix, target: Vector) -> Vector:
    """λ with λᵀ rows = target, in floats; rows and columns evened out first."""
    rho = 1.0 / abs(rows).max(axis=1)
    kappa = 1.0 / np.maximum(abs(rows * rho[:, None]).max(axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq((rows * rho[:, None] * kappa).T, target * kappa)[0] * rho)


def solves(rows: list[list[Fraction]], floats: Matrix, target: list[Fraction]) -> bool:
    """Whether the one combination of independent rows that gives the target, if any does, has no negative weight."""
    from scipy.linalg import qr

    size, width = floats.shape
    scaled = floats / abs(floats).max(axis=1, keepdims=True)
    columns = qr(scaled, mode="economic", pivoting=True)[2][:size].tolist()
    whole = [as_integers([line[j] for line in rows] + [target[j]]) for j in columns]
    solution = solve_system([line[:size] for line in whole], [line[size:] for line in whole])
    if solution is None or any(line[0] < 0 for line in solution):
        return False
    lam = [line[0] for line in solution]
    return all(sum(w * line[j] for w, line in zip(lam, rows, strict=True) if w) == target[j] for j in range(width))
