"""Judge separation in exact rational arithmetic, with a proof checked on every answer.

Rows z_i = y_i a_i, or z_i = y_i (a_i, 1) with an intercept. The cone is C = {θ : Zθ ≥ 0}, its face F the rows with
z_iᵀθ = 0 for every θ in C. No row on F: "complete". Every row on F: "overlap". Otherwise "quasi-complete".

A bug in the simplex cannot give a wrong answer: θ and λ are checked against the data as given, without rounding:

    Zθ ≥ 0, > 0 off F, = 0 on F                 rows off F can be separated
    λ ≥ 0, > 0 on F, = 0 off F, Zᵀλ = 0         rows on F cannot: for θ in C, λᵀZθ = 0 is a sum of terms ≥ 0

Rows that occur more than once are judged once, and rows that differ by a positive factor enter the simplex once.
X may be an array of any numbers, a list of lists, or a sparse matrix: what counts is the numbers as they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf, lcm, nan

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

Rows = list[list[Fraction]]
Tableau = tuple[list[list[int]], list[int], int, dict[int, list[int]]]
MAX_PIVOTS = 100_000  # Bland's rule ends by itself; this turns a bug into a message


@dataclass(frozen=True)
class Answer:
    """All there is to say of a problem: its kind, the rows off the face, and where each coefficient can go."""

    kind: str
    separated: list[bool]
    directions: list[str]

    @property
    def rows(self) -> list[int]:
        """The numbers of the rows that can be separated."""
        return [i for i, is_separated in enumerate(self.separated) if is_separated]


def judge(X: object, y: object, fit_intercept: bool = False) -> Answer:
    """Kind, rows and directions at once; those of rows that occur more than once are found once."""
    A, labels, place = _distinct(X, y)
    found, _ = judge_rows(oriented(A, labels, fit_intercept), aliased(A, fit_intercept))
    return Answer(found.kind, [found.separated[k] for k in place], found.directions)


def judge_rows(Z: Rows, is_aliased: Sequence[bool]) -> tuple[Answer, list[Fraction]]:
    """The same of rows z with Zθ ≥ 0, without the columns that follow from others, and the θ that shows the kind."""
    kept = [j for j, dependent in enumerate(is_aliased) if not dependent]
    Z = [[z[j] for j in kept] for z in Z]
    kind, separated, theta, _ = face(Z)
    answer, whole = ["aliased"] * len(is_aliased), [Fraction(0)] * len(is_aliased)
    # On overlap Zθ ≥ 0 leaves Zθ = 0, and the columns are independent.
    words = ["0"] * len(kept) if kind == "overlap" else _signs(Z, theta)
    for j, word, value in zip(kept, words, theta, strict=True):
        answer[j], whole[j] = word, value
    return Answer(kind, separated, answer), whole


def face(Z: Sequence[Sequence[Fraction | float]]) -> tuple[str, list[bool], list[Fraction], list[Fraction]]:
    """Say which rows can be separated: (kind, separated, θ, λ), where θ and λ prove it."""
    exact = [[_fraction(value) for value in z] for z in Z]
    rows, row_factor, column_factor = _integers(exact)
    twins: dict[tuple[int, ...], list[int]] = {}  # in lowest terms, so that positive multiples are equal
    for i, z in enumerate(rows):
        twins.setdefault(tuple(z), []).append(i)
    theta, weights = _optimum([list(z) for z in twins], costed=range(len(twins)))
    theta = [factor * value for factor, value in zip(column_factor, theta, strict=True)]
    lam = [Fraction(0)] * len(rows)
    for equal, weight in zip(twins.values(), weights, strict=True):
        for i in equal:
            lam[i] = row_factor[i] * weight / len(equal)
    separated = [value == 0 for value in lam]
    prove_face(exact, separated, theta, lam)
    kind = "complete" if all(separated) else "quasi-complete" if any(separated) else "overlap"
    return kind, separated, theta, lam


def kind(X: object, y: object, fit_intercept: bool = False) -> str:
    """Name the kind of separation: "complete", "quasi-complete" or "overlap"."""
    A, labels, _ = _distinct(X, y)
    return face(oriented(A, labels, fit_intercept))[0]


def separable(X: object, y: object, fit_intercept: bool = False) -> bool:
    """Say whether some hyperplane has every row strictly on its own side."""
    return kind(X, y, fit_intercept) == "complete"


def directions(X: object, y: object, fit_intercept: bool = False) -> list[str]:
    """Say which signs each coefficient takes in the cone: "0", "+", "-", "either", or "aliased".

    A column that is a combination of earlier ones is aliased and left out. In that order the intercept comes first,
    in the answer it comes last.
    """
    return judge(X, y, fit_intercept).directions


def _signs(Z: Rows, theta: Sequence[Fraction]) -> list[str]:
    """The same for independent columns; θ is a point of the cone."""
    rows, row_factor, column_factor = _integers(Z)
    n, d = len(Z), len(Z[0])
    first: dict[tuple[int, ...], int] = {}
    for i, z in enumerate(rows):
        first.setdefault(tuple(z), i)
    start = _tableau([list(z) for z in first])
    seen = [{_sign(value)} - {0} for value in theta]
    for j in range(d):
        for sign in {1, -1} - seen[j]:
            # Add the row ±e_j: off the face, θ_j takes this sign; on it, λ is Farkas' proof that it never does.
            theta, weights = _optimum_beside(start, j, sign)
            if weights[-1] == 0:
                theta = [factor * value for factor, value in zip(column_factor, theta, strict=True)]
                prove_sign(Z, j, sign, theta)
                for k, value in enumerate(theta):  # it is a point of the cone as good as any
                    seen[k] |= {_sign(value)} - {0}
            else:
                lam = [Fraction(0)] * n
                for i, weight in zip(first.values(), weights, strict=False):
                    lam[i] = row_factor[i] * weight
                prove_never_sign(Z, j, sign, lam)
    return ["either" if len(signs) == 2 else "+" if 1 in signs else "-" if -1 in signs else "0" for signs in seen]


def highs_directions(X: object, y: object, fit_intercept: bool = False) -> list[float]:
    """Give each coefficient's limit, 0, inf or -inf, as detectseparation does; nan where it is aliased.

    Konis (2007), primal test: maximise Σ z_iᵀθ subject to Zθ ≥ 0, -1 ≤ θ ≤ 1, and read the signs of θ. Floating point,
    by HiGHS: trust it on well-scaled data only.
    """
    kept = [j for j, dependent in enumerate(aliased(X, fit_intercept)) if not dependent]
    Z = np.array(oriented(X, y, fit_intercept), dtype=float)
    answer = [nan] * Z.shape[1]
    if kept:
        Z = Z[:, kept]
        result = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=(-1, 1), method="highs")
        assert result.status == 0, result.message
        for j, value in zip(kept, result.x, strict=True):
            answer[j] = 0.0 if abs(value) <= 1e-7 else inf if value > 0 else -inf
    return answer


def aliased(X: object, fit_intercept: bool = False) -> list[bool]:
    """Say which columns are exact combinations of earlier ones, the intercept, last here, counted as the first."""
    A = [[_fraction(value) for value in a] for a in dict.fromkeys(map(tuple, _listed(X)))]
    if fit_intercept:
        A = [[Fraction(1), *a] for a in A]
    rows, _, _ = _integers(A)
    T, basis, D, null = _tableau(rows)
    n, d = len(rows), len(rows[0])
    for j, v in null.items():  # Av = 0 with v_j ≠ 0 and nothing after j: column j follows from earlier ones
        assert v[j] != 0 and not any(v[j + 1 :])
        assert not any(_dot(a, v) for a in rows)
    for t, i in zip(T, basis, strict=True):  # M A_Bᵀ = D I on the columns kept: these are independent
        assert not any(t[n + j] for j in null)
        assert all(_dot(t[n:], rows[k]) == (D if k == i else 0) for k in basis)
    answer = [j in null for j in range(d)]
    return [*answer[1:], answer[0]] if fit_intercept else answer


def oriented(X: object, y: object, fit_intercept: bool = False) -> Rows:
    """Turn data into exact rows z_i = y_i a_i, or y_i (a_i, 1); of two labels the larger is +1."""
    labels = np.asarray(y).tolist()
    values = sorted(set(labels))
    if len(values) != 2:
        raise ValueError(f"y must have two values, got {values}.")
    Z = []
    for a, label in zip(_listed(X), labels, strict=True):
        sign = 1 if label == values[1] else -1
        Z.append([sign * _fraction(value) for value in ([*a, 1] if fit_intercept else a)])
    return Z


def _listed(X: object) -> list[list[object]]:
    """The rows in Python's own numbers, as they are stored."""
    return X.toarray().tolist() if sparse.issparse(X) else np.asarray(X).tolist()


def _distinct(X: object, y: object) -> tuple[list[list[object]], list[object], list[int]]:
    """Each row once with each of its labels, and for every row its place among those."""
    where: dict[tuple[object, ...], int] = {}
    labels = np.asarray(y).tolist()
    place = [where.setdefault((label, *a), len(where)) for a, label in zip(_listed(X), labels, strict=True)]
    return [list(key[1:]) for key in where], [key[0] for key in where], place


# The proofs. They see the data as given; factors of the simplex have no part in them.


def prove_face(Z: Rows, separated: Sequence[bool], theta: Sequence[Fraction], lam: Sequence[Fraction]) -> None:
    """Check that θ separates the rows said to be separated, and that λ shows the others cannot be."""
    margins, balance = _products(Z, theta, lam)
    for is_separated, margin, weight in zip(separated, margins, lam, strict=True):
        assert (margin > 0) if is_separated else (margin == 0), "Zθ must be > 0 off the face, 0 on it"
        assert (weight == 0) if is_separated else (weight > 0), "λ must be 0 off the face, > 0 on it"
    assert not any(balance), "Zᵀλ must be 0"


def prove_sign(Z: Rows, j: int, sign: int, theta: Sequence[Fraction]) -> None:
    """Check that θ is in the cone and that its entry j has this sign."""
    margins, _ = _products(Z, theta, [Fraction(0)] * len(Z))
    assert all(margin >= 0 for margin in margins), "Zθ must be ≥ 0"
    assert sign * theta[j] > 0, "θ_j must have the sign"


def prove_never_sign(Z: Rows, j: int, sign: int, lam: Sequence[Fraction]) -> None:
    """Check that λ ≥ 0 and Zᵀλ = -c sign e_j with c > 0, so that c sign θ_j = -λᵀZθ ≤ 0 in the cone."""
    _, balance = _products(Z, [Fraction(0)] * len(Z[0]), lam)
    assert all(weight >= 0 for weight in lam), "λ must be ≥ 0"
    assert sign * balance[j] < 0, "Zᵀλ must have the opposite sign at j"
    assert not any(balance[:j]) and not any(balance[j + 1 :]), "Zᵀλ must be 0 but at j"


def _products(Z: Rows, theta: Sequence[Fraction], lam: Sequence[Fraction]) -> tuple[list[int], list[int]]:
    """Zθ and Zᵀλ, each times a positive number that makes it whole."""
    flat = _whole([value for z in Z for value in z])
    d = len(theta)
    rows = [flat[k : k + d] for k in range(0, len(flat), d)] if d else [[] for _ in Z]
    theta, lam = _whole(theta), _whole(lam)
    return [_dot(z, theta) for z in rows], [_dot(column, lam) for column in zip(*rows, strict=True)]


# The simplex, on whole numbers.


def _optimum(Z: list[list[int]], costed: Sequence[int]) -> tuple[list[Fraction], list[Fraction]]:
    """Maximise Σ p_i over the costed rows, Zᵀ(p + q) = 0, 0 ≤ p ≤ 1, q ≥ 0; give multipliers θ and λ = p + q.

    At the optimum a costed row has z_iᵀθ ≥ 1 and λ_i = 0, or z_iᵀθ = 0 and λ_i ≥ 1. p_i and q_i share the column z_i.
    With basis B the tableau is T = D B⁻¹ [Zᵀ, I], all whole, D = |det B| (Edmonds; Bareiss 1968). Entering and leaving
    variables are the first that qualify, in the order q_0, p_0, q_1, p_1, … (Bland 1977).
    """
    T, basis, D, _ = _tableau(Z)
    return _climb(T, basis, D, (len(Z), len(Z[0])), costed)


def _optimum_beside(start: Tableau, j: int, sign: int) -> tuple[list[Fraction], list[Fraction]]:
    """The same with the row ±e_j at the end, the only one with a cost; its column of the tableau is ± that of I."""
    T, basis, D, _ = start
    d = len(T)  # the columns are independent: none is missing in T
    n = len(T[0]) - d
    return _climb([[*t[:n], sign * t[n + j], *t[n:]] for t in T], basis, D, (n + 1, d), [n])


def _climb(
    T: list[list[int]], basis: list[int], D: int, shape: tuple[int, int], costed: Sequence[int]
) -> tuple[list[Fraction], list[Fraction]]:
    """From λ = 0 to the optimum."""
    n, d = shape
    variable = [2 * i for i in basis]  # 2i is q_i, 2i + 1 is p_i
    is_costed = [False] * n
    for i in costed:
        is_costed[i] = True
    full = [False] * n  # p_i out of the basis at 1

    for _ in range(MAX_PIVOTS):
        # D (Zθ, θ) = Σ of the rows where p is basic: costs are 1 for p, 0 for q
        paid = [t for t, name in zip(T, variable, strict=True) if name % 2]
        price = [sum(column) for column in zip(*paid, strict=True)] if paid else [0] * (n + d)
        level = [-sum(t[i] for i in range(n) if full[i]) for t in T]  # D times the value of each basic variable

        for i in range(n):
            if price[i] < 0:
                entering, step = 2 * i, 1
                break
            if is_costed[i] and (price[i] > D if full[i] else price[i] < D):
                entering, step = 2 * i + 1, -1 if full[i] else 1
                # A basic p_i has price D and a full p_i beside a basic q_i price 0: neither comes here.
                break
        else:
            value = [D * is_full for is_full in full]
            for name, amount in zip(variable, level, strict=True):
                value[name // 2] += amount
            return [Fraction(v, D) for v in price[n:]], [Fraction(v, D) for v in value]

        leaving, top, bottom = None, 1, 1 if entering % 2 else 0  # the step is at most top / bottom; 1 / 0 is ∞
        for k, t in enumerate(T):
            rate = step * t[i]
            if rate > 0:
                room = level[k]
            elif rate < 0 and variable[k] % 2:
                room, rate = D - level[k], -rate
            else:
                continue
            ahead = room * bottom - top * rate
            if ahead < 0 or (ahead == 0 and leaving is not None and variable[k] < variable[leaving]):
                leaving, top, bottom = k, room, rate
        assert bottom, "a sum of n terms ≤ 1 cannot grow without end"
        if leaving is None:
            full[i] = not full[i]
            continue
        if variable[leaving] % 2:
            full[variable[leaving] // 2] = step * T[leaving][i] < 0
        if entering % 2:
            full[i] = False
        variable[leaving] = entering
        D = _pivot(T, leaving, i, D)
    raise AssertionError(f"no optimum after {MAX_PIVOTS} pivots")


def _tableau(Z: list[list[int]]) -> Tableau:
    """Eliminate in [Zᵀ, I], column by column of Z: (T, basis, D, null).

    T = M [Zᵀ, I] with D > 0 times the identity on the rows of Z in `basis`. A column j of Z that is a combination of
    earlier ones has no line in T; null[j] holds that combination, v with Zv = 0.
    """
    n, d = len(Z), len(Z[0])
    T = [[*(z[j] for z in Z), *(int(k == j) for k in range(d))] for j in range(d)]
    basis: list[int] = []
    null = {}
    D = 1
    for j in range(d):
        k = len(basis)
        i = next((i for i in range(n) if T[k][i]), None)
        if i is None:
            null[j] = T.pop(k)[n:]
        else:
            D = _pivot(T, k, i, D)
            basis.append(i)
    return T, basis, D, null


def _pivot(T: list[list[int]], k: int, i: int, D: int) -> int:
    """Make column i of T the unit column of line k, dividing by the last pivot without remainder."""
    line, pivot = T[k], T[k][i]
    if pivot < 0:
        line, pivot = [-b for b in line], -pivot
        T[k] = line
    for m, other in enumerate(T):
        if m != k:
            factor = other[i]
            if factor:
                T[m] = [(pivot * a - factor * b) // D for a, b in zip(other, line, strict=True)]
            elif pivot != D:
                T[m] = [pivot * a // D for a in other]
    return pivot


def _integers(Z: Rows) -> tuple[list[list[int]], list[Fraction], list[Fraction]]:
    """Scale rows and columns by positive numbers to small whole ones: (R Z C, diagonal of R, diagonal of C)."""
    n, d = len(Z), len(Z[0])
    size = [[v.numerator.bit_length() - v.denominator.bit_length() if v else None for v in z] for z in Z]
    row_shift, column_shift = [0] * n, [0] * d
    for _ in range(3):
        for i in range(n):
            row_shift[i] = -_mean([s + column_shift[j] for j, s in enumerate(size[i]) if s is not None])
        for j in range(d):
            column_shift[j] = -_mean([size[i][j] + row_shift[i] for i in range(n) if size[i][j] is not None])
    row_factor = [Fraction(2) ** shift for shift in row_shift]
    column_factor = [Fraction(2) ** shift for shift in column_shift]

    rows = []
    for i, z in enumerate(Z):
        z = [v * row_factor[i] * c if v else v for v, c in zip(z, column_factor, strict=True)]
        whole = _whole(z)
        common = gcd(*whole) or 1
        row_factor[i] *= Fraction(lcm(*(v.denominator for v in z)), common)
        rows.append([v // common for v in whole])
    for j in range(d):
        common = gcd(*(z[j] for z in rows)) or 1
        column_factor[j] /= common
        for z in rows:
            z[j] //= common
    return rows, row_factor, column_factor


def _whole(values: Sequence[Fraction]) -> list[int]:
    """Multiply by the least common denominator."""
    common = lcm(*(v.denominator for v in values))
    return [v.numerator * (common // v.denominator) for v in values]


def _fraction(value: object) -> Fraction:
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _mean(values: Sequence[int]) -> int:
    return sum(values) // len(values) if values else 0


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
