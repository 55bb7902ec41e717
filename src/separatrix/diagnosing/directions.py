"""Where each coefficient can go over the recession cone {θ: Zθ ≥ 0}: 0, +, -, or either way.

The likelihood of logistic regression never falls along a direction of this cone, so a coefficient that is 0 throughout
has a finite estimate, and one that is not runs off. On the face F of rows that every θ of the cone leaves at zero,
θ_K = -Mθ_N (see `deciding.kind`), so the cone is that of the rows off F in the unknowns θ_N, where it has an interior;
each coefficient is a linear functional gᵀθ_N. It takes a sign if and only if the rows off F and ±g together can be
separated, which is the question this package answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from separatrix.certify import Claim
from separatrix.certify.reader import Reader, as_floats, as_integers
from separatrix.data.memory import hold_signed
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import UNLIMITED, Budget
from separatrix.deciding.exact import OutOfTimeError, face, lowest_terms
from separatrix.deciding.newton import NewtonPath
from separatrix.deciding.relations import Relations, independent_columns
from separatrix.deciding.scaling import equilibrated
from separatrix.deciding.search import Case, settle

SIGNS: dict[tuple[bool | None, bool | None], str] = {(True, True): "either", (True, False): "+", (False, True): "-"}
LIKELY = 5  # points that are looked at exactly
TIMES = 10  # what is tiny, and rational arithmetic settles, is so many times as much here: rows times unknowns squared


def directions(reader: Reader, separated: Index, budget: Budget = UNLIMITED) -> list[str]:
    """One of "0", "+", "-", "either" or "?" (not settled in time) per column; `separated` are the rows off the face.

    The columns must be independent over all rows: leave aliased ones out.
    """
    D = reader.D
    if len(separated) == 0:
        return ["0"] * D
    on_face = np.setdiff1d(np.arange(reader.n), separated)
    K, relations = np.empty(0, dtype=np.int64), Relations()
    if len(on_face):
        K, relations = independent_columns(reader, on_face, budget=budget)
    N = np.setdiff1d(np.arange(D), K)
    g = [[Fraction(0)] * len(N) for _ in range(D)]  # θ_j = g_jᵀθ_N
    place = {int(j): at for at, j in enumerate(N)}
    for j, at in place.items():
        g[j][at] = Fraction(1)
    for j, terms in relations.items():
        for k, c in terms.items():
            g[k][place[j]] = -c
    cone = _Cone(reader, separated, K, N, g, budget)
    out = []
    for functional in g:
        if not any(functional):
            out.append("0")
            continue
        up, down = cone.takes(functional, 1), cone.takes(functional, -1)
        out.append(SIGNS.get((up, down), "?"))
    return out


class _Cone:
    """The open cone of the rows off the face, and points of it met so far."""

    def __init__(
        self, reader: Reader, rows: Index, K: Index, N: Index, g: list[list[Fraction]], budget: Budget
    ) -> None:
        self.budget = budget
        self.reader, self.rows, self.K, self.N, self.g = reader, rows, K, N, g
        G = np.array([[float(c) for c in line] for line in g])
        A = reader.dense(rows, np.arange(reader.D))
        self.Z = A @ G if len(K) else A[:, N]
        self.exact = len(rows) * len(N) ** 2 <= TIMES * budget.tiny
        self.sparse = [[(j, c) for j, c in enumerate(column) if c] for column in zip(*g, strict=True)]
        self.whole = self._whole_rows() if self.exact else []
        self.points: list[list[Fraction]] = []
        self.floats = np.empty((0, len(N)))  # the same, rounded
        self.along: dict[bytes, int] = {}  # by direction: a row of it
        if not self.exact:
            self.points += self._sturdy_points(G)
            self.along = {_direction(z): i for i, z in enumerate(self.Z)}

    def _whole_rows(self) -> list[list[int]]:
        """The rows in the unknowns θ_N as whole numbers, each once."""
        A = np.unique(self.reader.dense(self.rows, np.arange(self.reader.D)), axis=0)
        return [list(z) for z in dict.fromkeys(map(self._whole, A.tolist()))]

    def _whole(self, line: list[float]) -> tuple[int, ...]:
        """A row in the unknowns θ_N as whole numbers in lowest terms."""
        z = [sum((Fraction(line[j]) * c for j, c in terms if line[j]), Fraction(0)) for terms in self.sparse]
        return tuple(lowest_terms(as_integers(z)))

    def _is_row(self, functional: list[int]) -> bool:
        """Whether this is a row but for a positive factor, and so positive throughout: a level with one outcome."""
        at = self.along.get(_direction(as_floats(functional)))
        if at is None:
            return False
        line = self.reader.dense(self.rows[at : at + 1], np.arange(self.reader.D))[0]
        return self._whole(line.tolist()) == tuple(lowest_terms(functional))

    def _sturdy_points(self, G: Vector) -> Iterator[list[Fraction]]:
        """A point well inside, and for each coefficient the point across its zero where that is still inside."""
        scaled = equilibrated(hold_signed(self.Z, np.array([0, 1])))
        inside = None
        with np.errstate(all="ignore"):
            for step in NewtonPath(scaled).steps_on():
                if step.lowest > 0:
                    inside = (step.theta * scaled.kappa)[: len(self.N)]
                if step.lowest > 0.3 or step.steps >= 60:
                    break
        if inside is None:
            return
        yield [Fraction(float(t)) for t in inside]
        # Dikin's ellipsoid, Σ (z_iᵀδ/m_i)² ≤ 1, lies in the cone around θ; gᵀδ is largest along H⁻¹g with
        # H = Σ z_i z_iᵀ/m_i².
        m = self.Z @ inside
        A = self.Z / m[:, None]
        H = A.T @ A
        H[np.diag_indices(len(H))] += 1e-12 * max(float(np.trace(H)), 1e-300)
        try:
            far = np.linalg.solve(H, G.T)
        except np.linalg.LinAlgError:
            return
        for line, direction in zip(G, far.T, strict=True):
            here, reach = float(line @ inside), float(line @ direction)
            if here == 0 or not reach > 0:
                continue
            across = inside - 1.001 * here / reach * direction
            if np.isfinite(across).all() and (self.Z @ across > 1e-9 * abs(self.Z) @ abs(across)).all():
                yield [Fraction(float(t)) for t in across]

    def _likely(self, functional: list[Fraction], sign: int) -> list[int]:
        """The points where floats say that sign·gᵀθ is largest, if positive."""
        if not self.points:
            return []
        fresh = self.points[len(self.floats) :]
        if fresh:  # a positive factor changes no sign
            self.floats = np.vstack([self.floats, [as_floats(as_integers(point)) for point in fresh]])
        used = [j for j, c in enumerate(functional) if c]
        values = sign * (self.floats[:, used] @ as_floats(as_integers([functional[j] for j in used])))
        return [int(k) for k in np.argsort(-values)[:LIKELY] if values[k] > 0]

    @staticmethod
    def _positive(functional: list[Fraction], sign: int, point: list[Fraction]) -> bool:
        return sign * sum(a * b for a, b in zip(functional, point, strict=True) if a) > 0

    def takes(self, functional: list[Fraction], sign: int) -> bool | None:
        """Whether sign·gᵀθ > 0 somewhere in the open cone; None where that was not settled."""
        if any(self._positive(functional, sign, self.points[k]) for k in self._likely(functional, sign)):
            return True
        extra = as_integers([sign * c for c in functional])
        if self._is_row([-c for c in extra]):
            return False
        if self.exact:
            try:
                theta, lam = face([*self.whole, extra], self.budget.deadline)
            except OutOfTimeError:
                return None
            if any(lam):
                return False
            self.points.append(theta)
            return True
        row = np.array([[float(sign * c) for c in functional]])
        rows = hold_signed(np.vstack([self.Z, row / abs(row).max()]), np.array([0, 1]))
        proof = None if self.budget.late else settle(Case(rows, self.budget))[0]
        if proof is None:
            return None
        if proof.claim is not Claim.SEPARABLE:
            return False
        self.points.append([Fraction(t) for t in proof.theta or ()])
        return True


def _direction(z: Vector) -> bytes:
    """The same for rows that differ by a positive factor (and, rarely, for others that are near)."""
    top = float(abs(z).max()) if len(z) else 0.0
    return (np.round(z / top, 9) + 0.0).tobytes() if top > 0 else b""  # + 0.0: no -0.0
