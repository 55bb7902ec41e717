"""Directions of coefficients where rows fall into blocks that have no unknown in common.

Off the face F the cone is that of the rows in the unknowns θ_N (`deciding.reduced`), a product of the cones of their
blocks. A coefficient is a sum of functionals, one per block, each of which can be made as large as one likes by going
far in its block alone: the sum takes every sign that one of them takes. In a block

    a line that is a multiple of the functional shows its sign,
    the point inside shows one sign, or both where the functional is 0 there, for the cone is open,
    and the rational simplex, or floats that are checked, say whether the other sign is taken.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from separatrix.certify import Proof
from separatrix.certify.reader import as_integers
from separatrix.data.memory import hold_signed
from separatrix.deciding.exact import Effort, OutOfTimeError, face, lowest_terms
from separatrix.deciding.kind import spanning
from separatrix.deciding.reduced import Block, Reduced
from separatrix.deciding.search import Case
from separatrix.diagnosing.directions import SIGNS, TIMES, Directions, functional_signs

Functional = tuple[int, ...]


def directions_by_block(case: Case, proof: Proof) -> Directions | None:
    """The direction of every column from a proof with the columns and relations of the face; None if it has not."""
    reader, known = case.reader, spanning(proof)
    if known is None or proof.theta is None:
        return None
    K, relations = known
    off = np.flatnonzero(reader.signs(proof.theta))
    left = Reduced.of(reader, off, K, relations)
    if left is None or len(left.rows) < len(off):
        return None
    place = {int(j): at for at, j in enumerate(left.N)}
    g: list[dict[int, Fraction]] = [{} for _ in range(reader.D)]  # θ_j = Σ g ψ, by place in N
    for j, at in place.items():
        g[j][at] = Fraction(left.factor[at])
    for j, terms in relations.items():
        for k, c in terms.items():
            g[k][place[j]] = -c * left.factor[place[j]]
    inside = [Fraction(proof.theta[int(j)]) / f for j, f in zip(left.N, left.factor, strict=True)]
    found_blocks = list(left.blocks(np.arange(len(off))))
    if any(block is None for block in found_blocks):
        return None
    effort = case.budget.for_signs()
    blocks = [BlockCone(block, inside, case, effort) for block in found_blocks if block is not None]
    home = {int(at): (cone, k) for cone in blocks for k, at in enumerate(cone.block.columns)}
    wanted: dict[int, list[tuple[BlockCone, Functional]]] = {}
    for j, terms in enumerate(g):
        parts: dict[BlockCone, list[Fraction]] = {}
        for at, c in terms.items():
            if at in home:
                cone, k = home[at]
                parts.setdefault(cone, [Fraction(0)] * len(cone.block.columns))[k] = c
        wanted[j] = [(cone, tuple(lowest_terms(as_integers(line)))) for cone, line in parts.items()]
        for cone, functional in wanted[j]:
            cone.asked.setdefault(functional, None)
    signs: list[str] = []
    proven: list[bool] = []
    for j, parts_of in wanted.items():
        found = [cone.signs(functional) for cone, functional in parts_of]
        taken: set[int] = set().union(*(known for known in found if known is not None))
        free = any(at not in home for at in g[j])  # an unknown that no row has
        if len(taken) == 2 or free:
            word = "either"
        elif any(known is None for known in found):
            word = "?"
        else:
            word = SIGNS.get((1 in taken, -1 in taken), "0")
        signs.append(word)
        proven.append(word != "?")
    return Directions(signs, proven)


class BlockCone:
    """The open cone of the lines of a block, a point of it, and what is known of the functionals asked for."""

    def __init__(self, block: Block, inside: list[Fraction], case: Case, effort: Effort | None) -> None:
        self.block, self.case, self.effort = block, case, effort
        self.points = [[inside[at] for at in block.columns]]
        self.asked: dict[Functional, set[int] | None] = {}
        self.looked = False
        n, D = len(block.lines), len(block.columns)
        self.simplex = n * D * D <= TIMES * case.budget.exact

    @cached_property
    def lines(self) -> set[Functional]:
        """The lines, in lowest terms."""
        return set(self.block.lines)

    def signs(self, g: Functional) -> set[int] | None:
        """The signs that gᵀψ takes in the cone; None where that is not settled."""
        known = self.asked.get(g)
        if known is None:
            known = self.asked[g] = self.settled(g)
        return known

    def settled(self, g: Functional) -> set[int] | None:
        """The same, looked at."""
        for s in (1, -1):
            if tuple(s * v for v in g) in self.lines:
                return {s}
        taken: set[int] = set()
        for point in self.points:
            value = sum(c * t for c, t in zip(g, point, strict=True) if c)
            taken |= {1, -1} if value == 0 else {1 if value > 0 else -1}
            if len(taken) == 2:
                return taken
        if not self.simplex:
            self.look()
            return self.asked[g]
        (s,) = taken
        try:
            lines = [*map(list, self.block.lines), [-s * v for v in g]]
            theta, lam = face(lines, self.case.budget.deadline, self.effort)
        except OutOfTimeError:
            self.look()
            return self.asked[g]
        if any(lam):
            return {s}
        self.points.append(theta)
        return {1, -1}

    def look(self) -> None:
        """Settle all functionals asked for by floats, where the lines are floats, each answer checked."""
        if self.looked or not self.block.exact or self.block.floats.size > self.case.budget.entries:
            return
        self.looked = True
        part = Case(hold_signed(self.block.floats, self.case.rows.classes), self.case.budget)
        open_ones = [g for g, known in self.asked.items() if known is None]
        power = [Fraction(2) ** -p for p in self.block.column_power]
        scaled = [{k: c * power[k] for k, c in enumerate(g) if c} for g in open_ones]
        found = functional_signs(part, scaled, [t / p for t, p in zip(self.points[0], power, strict=True)])
        for g, (word, sure) in zip(open_ones, found, strict=True):
            if sure:
                self.asked[g] = {"+": {1}, "-": {-1}, "either": {1, -1}}[word]
