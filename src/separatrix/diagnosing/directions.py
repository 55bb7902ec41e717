"""Where each coefficient can go over the recession cone {θ: Zθ ≥ 0}: 0, +, -, or either way.

The likelihood of logistic regression never falls along a direction of this cone, so a coefficient that is 0 throughout
has a finite estimate, and one that is not runs off. On the face F of rows that every θ of the cone leaves at zero,
θ_K = -Mθ_N (see `deciding.kind`), so the cone is that of the rows off F in the unknowns θ_N, where it has an interior;
each coefficient is a linear functional gᵀθ_N. Floats find a witness for every answer, exact arithmetic checks it:

    0        g = 0: the unit row is a combination of rows of F
    + or -   a point of the cone where ±gᵀθ > 0, and weights λ ≥ 0 with Σ λ_i z_i = ±g off F, so that ±gᵀθ ≥ 0
    either   two points of the cone

Where floats find none that holds, the rational simplex says whether the rows off F and ±g together can be separated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from separatrix.certify import Claim, Proof
from separatrix.certify.check import slack
from separatrix.certify.reader import Reader, as_integers, gamma, nearest
from separatrix.data.memory import hold_signed
from separatrix.data.rows import Index, Vector
from separatrix.deciding.boundary import shares
from separatrix.deciding.budget import Budget
from separatrix.deciding.exact import OutOfTimeError, face, lowest_terms
from separatrix.deciding.pair import Pair
from separatrix.deciding.relations import Relations, independent_columns
from separatrix.deciding.scaling import Matrix
from separatrix.deciding.search import LARGE, Case, pair_of, settle
from separatrix.deciding.vertex import by_vertex
from separatrix.diagnosing.centre import Centre, centre_of
from separatrix.diagnosing.cone import Witness, witnesses
from separatrix.diagnosing.splitting import signs_seen
from separatrix.diagnosing.view import View
from separatrix.diagnosing.weights import combination, signs_of_few, solves

SIGNS: dict[tuple[bool | None, bool | None], str] = {(True, True): "either", (True, False): "+", (False, True): "-"}
TIMES = 10  # rational arithmetic tries a sign where rows times unknowns squared is so many times that for a kind
LOOKED_AT, SHORT = 20, 64  # rows whose whole numbers say by their bits whether it is that quick
TELLING = 1e-12  # of its largest entry, what a point's entry must be to show a sign
SEEN, SEEING = 4_000_000, 3_000_000_000  # entries and products up to which all signs are looked for at once
OPEN = 20_000  # entries of rows that floats leave open, up to which a point is looked at exactly
SEARCHED, SEARCHES = 10_000_000, 12  # entries of rows up to which signs left open are decided one by one, and how many
DEARER = 8  # times what least squares of all rows take, a search does
IN_VAIN = 4  # searches that one without an answer counts for: where floats do not tell one sign, they tell few
SYSTEM = 250  # weights up to which they are solved for exactly
BITS, PER_BIT = 200_000_000, 60  # of all entries of an inverse up to which it is worked out, and products one takes


class Directions(NamedTuple):
    """One of "0", "+", "-", "either", "aliased" (to rounding) or "?" (not settled) per column, and which are proven."""

    signs: list[str]
    proven: list[bool]


def directions(case: Case, proof: Proof) -> Directions:
    """The direction of every column, from a proof of the kind; columns must be independent over all rows."""
    reader = case.reader
    if proof.claim is Claim.OVERLAP:
        return Directions(["0"] * reader.D, [True] * reader.D)
    on_face = np.empty(0, dtype=np.int64)
    if proof.claim is Claim.QUASI_COMPLETE:
        on_face = np.flatnonzero(reader.signs(proof.theta or ()) == 0)
    cone = Cone(case, on_face)
    if case.budget.late or not cone.holds(proof.theta or ()):
        return Directions(["?"] * reader.D, [False] * reader.D)
    found: list[Witness | None] = [None] * reader.D
    hard = not (cone.small or cone.line or case.budget.late)
    if hard and len(on_face) and case.pair is None and case.work > LARGE:  # rows off the face are fewer, and narrower
        within = cone.within(case)
        found = found if within is None else asked(cone, within)
        hard = not any(found)
    if hard:
        cone.look(proof.theta or ())
        hard = any(g and j not in cone.known for j, g in enumerate(cone.g))
    pair = pair_of(case) if hard and not case.budget.late else None
    if pair is not None and np.array_equal(np.flatnonzero(pair.face), on_face):
        left = [j for j in range(reader.D) if j not in cone.known]
        told = list(witnesses(pair.inside, pair.cone[left], pair.point, case.budget))
        rays = [pair.point, *(ray for witness in told for ray in witness.rays)]
        for j, witness in zip(left, told, strict=True):
            found[j] = Witness("aliased") if j in pair.left else witness
        points = np.array(rays) @ pair.cone.T
        points = points[[] if case.budget.late else telling(points)]
        cone.enter(point * case.scaled.kappa[: reader.D] for point in chain(points, along(pair)))
    signs = [cone.direction(j, witness) for j, witness in enumerate(found)]
    return Directions([sign for sign, _ in signs], [sure for _, sure in signs])


def asked(cone: Cone, case: Case) -> list[Witness | None]:
    """Witnesses for the cone's functionals from the pair of a case in its unknowns; points that tell are entered."""
    pair, g = None if case.budget.late else pair_of(case), cone.g
    if pair is None or pair.face.any() or len(pair.left):
        return [None] * len(g)
    G = np.zeros((len(g), case.reader.D))
    for line, terms in zip(G, g, strict=True):
        for at, c in terms.items():
            line[at] = nearest(c)
    spread = case.scaled.kappa[: case.reader.D, None] * pair.cone
    told = list(witnesses(pair.inside, G @ spread, pair.point, case.budget))
    rays = np.array([pair.point, *(ray for witness in told for ray in witness.rays)]) @ spread.T
    values = rays @ G.T
    cone.enter((values if len(cone.N) < cone.reader.D else rays)[k] for k in telling(values))
    return [*told]


def functional_signs(case: Case, g: list[dict[int, Fraction]], inside: list[Fraction]) -> list[tuple[str, bool]]:
    """The directions of functionals gᵀθ over the open cone of rows that `inside` separates, and which are proven."""
    cone = Cone(case, np.empty(0, dtype=np.int64))
    cone.points.append(inside)
    cone.g = g
    found = asked(cone, case)
    return [cone.direction(j, witness) for j, witness in enumerate(found)]


def directions_within_rounding(pair: Pair, budget: Budget) -> Directions:
    """The same to the precision of the numbers, by floats alone; dependent columns are aliased."""
    D = len(pair.cone)
    signs = ["0"] * D
    if not pair.face.all():
        found = witnesses(pair.inside, pair.cone, pair.point, budget)
        signs = [witness.word for witness in found]
    for j in pair.left:
        signs[j] = "aliased"
    return Directions(signs, [False] * D)


class Cone:
    """The open cone of the rows off the face in the unknowns θ_N, exact, and points of it met so far."""

    def __init__(self, case: Case, on_face: Index) -> None:
        self.budget, self.reader = case.budget, case.reader
        D = self.reader.D
        self.rows = np.setdiff1d(np.arange(self.reader.n), on_face)
        K, relations = np.empty(0, dtype=np.int64), Relations()
        if len(on_face):
            K, relations = independent_columns(self.reader, on_face, budget=self.budget)
        self.N = np.setdiff1d(np.arange(D), K)
        self.g: list[dict[int, Fraction]] = [{} for _ in range(D)]  # θ_j = g_jᵀθ_N, by place in N
        place = {int(j): at for at, j in enumerate(self.N)}
        self.by_column: list[list[tuple[int, Fraction]]] = [[(int(j), Fraction(1))] for j in self.N]
        for j, at in place.items():
            self.g[j][at] = Fraction(1)
        for j, terms in relations.items():
            for k, c in terms.items():
                self.g[k][place[j]] = -c
                self.by_column[place[j]].append((k, -c))
        work = len(self.rows) * len(self.N) ** 2
        self.small = work <= self.budget.tiny
        self.simplex = work <= self.budget.exact or (work <= TIMES * self.budget.exact and self.short)
        self.effort = self.budget.for_signs()
        self.points: list[list[Fraction]] = []
        self.known: dict[int, str] = {}  # directions that were proven of all columns at once
        few = 1 + self.budget.signs // (DEARER * max(work, 1))
        self.searches = SEARCHES if self.budget.deadline else min(SEARCHES, few)

    def holds(self, theta: Sequence[float | Fraction]) -> bool:
        """Whether θ_K = -Mθ_N at a point of the cone, which is then one of those met; not where relations are missing.

        Past a deadline, or where it is too much, `independent_columns` keeps columns that depend on others.
        """
        point = [Fraction(theta[int(j)]) for j in self.N]
        if not point or self.lifted(point) != [Fraction(t) for t in theta]:
            return False
        self.points.append(point)
        return True

    def look(self, theta: Sequence[float | Fraction]) -> None:
        """Settle what can be settled of all columns at once: by floats as seen from θ without a face, then exactly."""
        D = self.reader.D
        size = self.reader.n * D
        if len(self.N) == D and size <= SEEN and size * D <= self.budget.affordable(SEEING):
            Z = self.reader.dense(self.rows, self.N)
            view = View.of(Z, np.array([nearest(t) for t in theta]), self.budget)
            words = [] if view is None else signs_seen(view, self.budget)
            self.known = {j: word for j, word in enumerate(words) if word != "?"}
        left = [j for j, g in enumerate(self.g) if g and j not in self.known]
        if left and len(self.rows) <= len(self.N) + 1 <= SYSTEM + 2 and not self.budget.late:
            most = self.budget.affordable(BITS * PER_BIT) // PER_BIT
            signs = signs_of_few(self.whole, [self.g[j] for j in left], most)
            self.known |= {} if signs is None else dict(zip(left, signs, strict=True))

    @property
    def line(self) -> bool:
        """Whether there is one unknown."""
        return len(self.N) == 1

    def within(self, case: Case) -> Case | None:
        """The rows off the face in the unknowns θ_N, z_N - Mᵀz_K, in floats: where points and weights come from."""
        if len(self.rows) * self.reader.D > self.budget.entries:
            return None
        M = np.zeros((self.reader.D, len(self.N)))
        for at, terms in enumerate(self.by_column):
            for k, c in terms:
                M[k, at] = nearest(c)
        used = np.flatnonzero(M.any(axis=1))
        with np.errstate(all="ignore"):
            Z = self.reader.dense(self.rows, used) @ M[used]
        return Case(hold_signed(Z, case.rows.classes), self.budget) if np.isfinite(Z).all() else None

    @cached_property
    def whole(self) -> list[list[int]]:
        """The rows in the unknowns θ_N as whole numbers, each once."""
        A = np.unique(self.reader.dense(self.rows, np.arange(self.reader.D)), axis=0)
        return [list(z) for z in dict.fromkeys(tuple(lowest_terms(self.whole_row(line))) for line in A.tolist())]

    @property
    def short(self) -> bool:
        """Whether rows in the unknowns θ_N are of short numbers, as far as a few of them tell."""
        A = self.reader.dense(self.rows[:LOOKED_AT], np.arange(self.reader.D))
        return all(abs(v) < 2**SHORT for line in A.tolist() for v in self.whole_row(line))

    def whole_row(self, line: list[float]) -> list[int]:
        """A row in the unknowns θ_N as whole numbers, but for a positive factor."""
        return as_integers(self.exact_row(line))

    def exact_row(self, line: list[float]) -> list[Fraction]:
        """z_N - Mᵀz_K."""
        return [sum((Fraction(line[j]) * c for j, c in terms if line[j]), Fraction(0)) for terms in self.by_column]

    def enter(self, points: Iterable[Vector]) -> None:
        """Take points of the cone, each checked against all rows: z_iᵀθ > 0 off the face, θ_K = -Mθ_N on it."""
        for theta in points:
            if self.budget.late:
                return
            top = float(abs(theta).max())
            if not 0 < top < np.inf or not self.likely(theta / top):
                continue
            point = [Fraction(float(t)) for t in theta[self.N] / top]
            if (self.reader.signs(self.lifted(point), self.rows) > 0).all():
                self.points.append(point)

    def likely(self, theta: Vector) -> bool:
        """Whether floats see all rows off the face on the right side, or nearly all: exact sums are for few."""
        open_rows = 0
        for lo in range(0, len(self.rows), self.reader.step):
            share = shares(self.reader.dense(self.rows[lo : lo + self.reader.step], np.arange(len(theta))), theta)
            if share.min(initial=1.0) < -gamma(len(theta) + 4):
                return False
            open_rows += int((share < gamma(len(theta) + 4)).sum())
        return open_rows * len(theta) <= OPEN

    def lifted(self, point: list[Fraction]) -> list[Fraction]:
        """θ of all columns from θ_N."""
        if len(self.N) == self.reader.D:
            return point
        return [sum((c * point[at] for at, c in terms.items()), Fraction(0)) for terms in self.g]

    def direction(self, j: int, witness: Witness | None) -> tuple[str, bool]:
        """The direction of column j, and whether it is proven."""
        g = self.g[j]
        if not g:
            return "0", True
        if j in self.known:
            return self.known[j], True
        if self.budget.late:
            return "?", False
        shown = {s for s in (1, -1) if self.reaches(g, s)}
        if len(shown) == 2:
            return "either", True
        if self.line and shown:  # an open cone on a line is a half-line: the sign at one point is that at all
            return ("+" if 1 in shown else "-"), True
        if witness is not None and witness.bound is not None:
            # The cone is open, so that a bound on one side leaves points on the other.
            s = 1 if witness.word == "+" else -1
            if -s not in shown and self.bounded(g, s, witness.bound):
                return witness.word, True
        takes = {s: s in shown or self.takes(g, s) for s in (1, -1)}
        word = SIGNS.get((takes[1], takes[-1]))
        if word is not None:
            return word, True
        return ("?" if witness is None or witness.word == "0" else witness.word), False  # it is 0 at no inner point

    def takes(self, g: dict[int, Fraction], s: int) -> bool | None:
        """Whether s·gᵀθ > 0 somewhere in the open cone, or None."""
        seen = self.by_centre(g, s)
        return self.by_search(g, s) if seen is None else seen

    def by_centre(self, g: dict[int, Fraction], s: int) -> bool | None:
        """The same as seen from one point of the cone, where there is no face."""
        centre = None if self.budget.late else self.centre
        if centre is None:
            return None
        u, bound = centre.below(g, -s, self.budget)
        if u is not None:
            theta = centre.at(u)
            if s * sum(c * theta[at] for at, c in g.items()) > 0 and (self.reader.signs(theta, self.rows) > 0).all():
                self.points.append(theta)
                return True
        return False if len(bound) and self.bounded(g, -s, bound) else None

    @cached_property
    def centre(self) -> Centre | None:
        """The cone around the first point met."""
        if self.small or not self.points or len(self.N) < self.reader.D:
            return None
        return centre_of(self.reader, self.rows, self.points[0])

    def reaches(self, g: dict[int, Fraction], s: int) -> bool:
        """Whether s·gᵀθ > 0 at one of the points."""
        if not self.points:
            return False
        used = list(g)
        with np.errstate(over="ignore", invalid="ignore"):  # it only says where to look first
            values = s * (self.floats[:, used] @ np.array([nearest(g[at]) for at in used]))
        likely = [int(k) for k in np.argsort(-values)[:3]]
        return any(s * sum(g[at] * self.points[k][at] for at in used) > 0 for k in likely)

    @property
    def floats(self) -> Matrix:
        """The points, rounded."""
        if len(self._floats) != len(self.points):
            self._floats = np.array([[nearest(t) for t in point] for point in self.points])
        return self._floats

    _floats: Matrix = np.empty((0, 0))

    def bounded(self, g: dict[int, Fraction], s: int, at: Index) -> bool:
        """Whether weights λ ≥ 0 on these rows off the face have Σ λ_i z_i = s g, so that s·gᵀθ ≥ 0 in the cone."""
        raw, target = self.reader.dense(self.rows[at], np.arange(self.reader.D)), self.full(g, s)
        exact, floats, same = [], raw[:, self.N], len(self.N) == self.reader.D  # without a face rows are as stored
        if not same:
            exact = [self.exact_row(line) for line in raw.tolist()]
            floats = np.array([[nearest(v) for v in line] for line in exact])
            same = all(map(list.__eq__, floats.tolist(), exact))  # Python compares floats and fractions exactly
        last = np.array([nearest(-t) for t in target])
        size, width = floats.shape
        if not np.isfinite(floats).all() or not np.isfinite(last).all():
            return False
        if size >= width and same and last.tolist() == [-t for t in target]:
            rows = hold_signed(np.vstack([floats, last]), np.array([0, 1]))
            weights = np.append(combination(floats, -last), 1.0)
            if (weights > 0).all() and slack(Reader(rows), np.arange(size + 1), weights, np.arange(width)) > 0:
                return True
        if not 0 < size <= min(width, SYSTEM):
            return False
        return solves(exact or [[Fraction(v) for v in line] for line in floats.tolist()], floats, target)

    def full(self, g: dict[int, Fraction], s: int) -> list[Fraction]:
        """s·g with all its entries."""
        return [s * g.get(at, Fraction(0)) for at in range(len(self.N))]

    def by_search(self, g: dict[int, Fraction], s: int) -> bool | None:
        """Whether s·gᵀθ > 0 somewhere in the open cone: whether the rows and s·g together can be separated.

        By rational arithmetic where that is not too much, else, without a face, by the tools that decide; or None.
        """
        if self.budget.late:
            return None
        case = None if self.small else self.with_row(g, s)
        proof = None if case is None else by_vertex(case, effort=self.effort)
        if not isinstance(proof, Proof) and self.simplex and (seen := self.by_simplex(g, s)) is not None:
            return seen
        if not isinstance(proof, Proof) and case is not None and self.searches > 0:
            proof = settle(case)[0]
            self.searches -= 1 if isinstance(proof, Proof) else IN_VAIN
        if not isinstance(proof, Proof):
            return None
        if proof.claim is not Claim.SEPARABLE:
            return False
        self.points.append([Fraction(t) for t in proof.theta or ()])
        return True

    def with_row(self, g: dict[int, Fraction], s: int) -> Case | None:
        """The rows and s·g, where there is no face and floats hold them."""
        if len(self.N) < self.reader.D or len(self.rows) * self.reader.D > SEARCHED:
            return None
        extra = np.array([nearest(c) for c in self.full(g, s)])
        if extra.tolist() != self.full(g, s):  # Python compares floats and fractions exactly
            return None
        Z = np.vstack([self.reader.dense(self.rows, self.N), extra])
        return Case(hold_signed(Z, np.array([0, 1])), replace(self.budget, exact=self.budget.tiny, short=0))

    def by_simplex(self, g: dict[int, Fraction], s: int) -> bool | None:
        """The same by rational arithmetic."""
        try:
            theta, lam = face([*self.whole, as_integers(self.full(g, s))], self.budget.deadline, self.effort)
        except OutOfTimeError:
            return None
        if any(lam):
            return False
        self.points.append(theta)
        return True


def telling(points: Matrix) -> list[int]:
    """The places of a few of the points that show as many signs of as many columns as all of them do."""
    size = abs(points).max(axis=1, keepdims=True)
    shown = np.hstack([points > TELLING * size, points < -TELLING * size])
    open_, chosen = shown.any(axis=0), []
    while open_.any():
        best = int(np.argmax(shown[:, open_].sum(axis=1)))
        chosen.append(best)
        open_ &= ~shown[best]
    return chosen


def along(pair: Pair) -> Iterator[Vector]:
    """Points far along the directions that rows hardly tell from zero, both ways: columns dependent to rounding."""
    for at, j in enumerate(pair.left):
        v = np.zeros(len(pair.theta))
        v[j], v[pair.kept] = -1.0, pair.combinations[:, at]
        v[abs(v) <= 1e-9 * abs(v).max()] = 0.0
        t = 2.0 * float(abs(pair.theta[v != 0] / v[v != 0]).max()) or 1.0
        yield from (pair.theta + t * v, pair.theta - t * v)
