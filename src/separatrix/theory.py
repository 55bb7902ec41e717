"""The theorems' iteration bounds, and the data sets of their proofs.

Source: A. Tyurin, "From Logistic Regression to the Perceptron Algorithm", AAAI-25. The bounds are of one theorem of our
own, which has the paper's for the normalized methods and smaller ones for the others; its proof is in docs/theory.md.
"""

from __future__ import annotations

from math import inf, isfinite, isinf, isnan, log
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import dots, norm
from separatrix.reporting.keywords import hinted
from separatrix.walking.methods import parse_method

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]

# z_i = (½, ±1): u = (1, 0) gives every row ½, and (½, 0) is a mean of rows, so no u gives more.
WORST_CASE_MU = 0.5


class Bracket(Protocol):
    """A margin known to lie between two numbers."""

    @property
    def lower(self) -> float:
        """The end that is proved from below."""
        ...


class Bounds(dict[str, float]):
    """The most iterations each method needs, by its name; `paper` has the paper's own for those it bounds."""

    def __init__(self, ours: dict[str, float], paper: dict[str, float]) -> None:
        super().__init__(ours)
        self.paper = paper


@hinted
def bounds(n: int, R: float, mu: float | Bracket, *, step_size: float = 1.0, power: float | None = None) -> Bounds:
    """The most iterations until each method first separates the data, from θ_0 = 0, by method name.

    The batch methods divide a step by N = n^p W^(1-p), W = Σ w_i. One theorem of ours (docs/theory.md) has them all::

        K = R²/μ² ,     x = 2 log(2n-1)/(γR²) ,     m = (2n)^(-p) ;     at γ = ∞  x = 0 ,  m = n^(-p)

        T ≤ K (1+m+x)²/(4m)   if m + x ≤ 1 ,        T ≤ K (1 + x/m)   otherwise

                                         p     ours                                 the paper's
        lr-gd                            1     about (n/2) R²/μ² if γR² is large    none at γ < ∞
        batch-perceptron                 1     (n+1)²/(4n) R²/μ²                    n R²/μ²
        normalized-lr-gd                 0     R²/μ² + 2 log(2n-1)/(γμ²)            the same
        normalized-batch-perceptron      0     R²/μ²                                the same
        perceptron                             R²/μ²  (Novikoff 1962)               the same
        tempered-lr-gd                 power   in between                           none
        tempered-batch-perceptron      power   in between                           none

    At γ = ∞ a logistic method is the batch perceptron of its column, and has its bound.

    Parameters
    ----------
    n : int
        Number of rows.
    R : float
        The longest row, max ‖a_i‖.
    mu : float or Margin
        The margin μ, or anything with an end `lower`; a lower bound on μ gives a valid, larger bound.
    step_size : float, default=1.0
        The step size γ in (0, ∞].
    power : float, optional
        The power p in [0, 1] of the two tempered methods, their own default when not given.

    Returns
    -------
    Bounds
        A dict with the bound of each method; its attribute `paper` is a dict of those that the paper states.

    Raises
    ------
    ValueError
        If μ is not positive or exceeds R, or another number is out of range.

    See Also
    --------
    max_margin : A bracket on μ.
    solve : The methods themselves.

    Examples
    --------
    >>> import separatrix as sx
    >>> most = sx.bounds(1000, 5**0.5 / 2, 0.5, step_size=100.0, power=0.5)
    >>> {name: round(count) for name, count in most.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'lr-gd': 3148, 'normalized-lr-gd': 6, 'batch-perceptron': 1253, 'normalized-batch-perceptron': 5,
     'perceptron': 5, 'tempered-lr-gd': 73, 'tempered-batch-perceptron': 42}
    >>> {name: round(count) for name, count in most.paper.items()}
    {'normalized-lr-gd': 6, 'batch-perceptron': 5000, 'normalized-batch-perceptron': 5, 'perceptron': 5}
    """
    n = _count("n", n, at_least=1)
    R = _positive("R", R)
    mu = _margin(mu, R)
    gamma = parse_method("lr-gd", step_size).gamma
    p = parse_method("tempered-lr-gd", step_size, power=power).power
    K = (R / mu) * (R / mu)  # R²/μ²; products, since a power would raise where a product gives ∞
    x = 2 * log(2 * n - 1) / gamma / R / R  # 2 log(2n-1)/(γR²), which is 0 at γ = ∞
    fewest = n if isinf(gamma) else 2 * n  # n/W is at most this while a row is wrong

    def logistic(p: float) -> float:
        return _most(K, fewest**-p, x)

    def perceptron(p: float) -> float:
        return _most(K, n**-p, 0.0)

    ours = {
        "lr-gd": logistic(1.0),
        "normalized-lr-gd": logistic(0.0),
        "batch-perceptron": perceptron(1.0),
        "normalized-batch-perceptron": perceptron(0.0),
        "perceptron": K,
        "tempered-lr-gd": logistic(p),
        "tempered-batch-perceptron": perceptron(p),
    }
    paper = {
        "normalized-lr-gd": K + 2 * log(2 * n - 1) / gamma / mu / mu,
        "batch-perceptron": n * K,
        "normalized-batch-perceptron": K,
        "perceptron": K,
    }
    return Bounds(ours, {"lr-gd": n * K} | paper if isinf(gamma) else paper)


def _most(K: float, m: float, x: float) -> float:
    """The largest T with S²/K ≤ (1+m+x) S - mT and S ≥ mT for some S: docs/theory.md."""
    return K * ((1 + m + x) * (1 + m + x)) / (4 * m) if m + x <= 1 else K * (1 + x / m)


def worst_case(n: int) -> tuple[Matrix, Labels]:
    """The lower bound's data: one row (½, -1) of class 1 and n-1 rows (-½, -1) of class -1.

    The margin is μ = ½ and R² = 5/4 whatever n is, yet the batch perceptron needs about 0.3 n iterations, exactly
    `separatrix.theory.worst_case_count(n)`.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The rows.
    y : ndarray of shape (n,)
        Their labels, 1 or -1.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.worst_case(1000)
    >>> sx.solve(X, y, "batch-perceptron").n_iter
    301
    """
    n = _count("n", n, at_least=2)
    X = np.tile([-0.5, -1.0], (n, 1))
    y = np.full(n, -1)
    X[0, 0], y[0] = 0.5, 1
    return X, y


def worst_case_count(n: int) -> int:
    """Iterations of the batch perceptron on `worst_case(n)` in exact arithmetic: the least k > 0.3 n + 0.2.

    After k steps φ_k = (¼ + (k-1)/(2n), (n-2k)/(2n)), since only the first row, z = (½, -1), has pulled since step 1.
    Its margin (10k - 3n - 2)/(8n) is positive from the least k > (3n+2)/10 on; the others' are positive all along.
    Where 3n + 2 is a multiple of ten the margin one step earlier is exactly zero, which counts as wrong; nφ_k is a
    multiple of ¼ throughout, so floats decide that tie as exact arithmetic does.
    """
    return (3 * _count("n", n, at_least=2) + 2) // 10 + 1


def two_samples() -> tuple[Matrix, Labels]:
    """Data where loss and gradient mislead: (1, -1) of class 1 and (-1, -4) of class -1.

    From 0, lr-gd has θ_1/γ = (½, ¾) and θ_2/γ → (1, ¼), a separator. As γ → ∞ the loss is ∞ at θ_1 and 0 at θ_2, the
    gradient's norm √2/2 and then 0.

    Returns
    -------
    X : ndarray of shape (2, 2)
        The rows.
    y : ndarray of shape (2,)
        Their labels, 1 and -1.

    Examples
    --------
    >>> import separatrix as sx
    >>> run = sx.solve(*sx.two_samples(), "lr-gd", step_size=1e6)
    >>> run.phi.tolist(), run.trace["loss"].round(1).tolist()
    ([1.0, 0.25], [0.7, 125000.0, 0.0])
    """
    return np.array([[1.0, -1.0], [-1.0, -4.0]]), np.array([1, -1])


def planted(
    n: int, d: int, *, margin: float = 0.1, offset: float = 0.0, random_state: Any = 0
) -> tuple[Matrix, Labels, Matrix]:
    """Random rows that a known unit vector u separates with at least this margin.

    Draw u, draw z_i from the standard normal law, turn it so that z_i·u ≥ 0, add `margin` times u. Labels are random;
    the first two rows are one of each class. μ ≥ margin holds to rounding, and μ itself is larger. Its products
    are those of the library's arithmetic: a seed gives the same bits on every machine.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.
    d : int
        Number of columns.
    margin : float, default=0.1
        The planted margin.
    offset : float, default=0.0
        The length of one random vector, orthogonal to u, that is added to every a_i: like the mean of images, it leaves
        the planted margin as it is and makes the rows long, hence the problem hard.
    random_state : int, numpy.random.Generator or None, default=0
        The seed.

    Returns
    -------
    X : ndarray of shape (n, d)
        The rows.
    y : ndarray of shape (n,)
        Their labels, 1 or -1.
    u : ndarray of shape (d,)
        The planted vector.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y, u = sx.planted(200, 5, margin=0.3)
    >>> bool((y * (X @ u)).min() > 0.299)
    True
    """
    n, d = _count("n", n, at_least=2), _count("d", d, at_least=1)
    margin = _positive("margin", margin)
    if not isinstance(offset, Real) or not 0 <= offset < inf:
        raise ValueError(f"offset must be finite and not negative, got {offset!r}.")
    if offset and d < 2:
        raise ValueError("offset needs d of at least 2: in one column nothing is orthogonal to u.")
    rng = np.random.default_rng(random_state)
    u = rng.standard_normal(d)
    u /= norm(u)
    Z = rng.standard_normal((n, d))
    Z *= np.where(dots(Z, u) < 0, -1.0, 1.0)[:, None]  # z_i·u ≥ 0
    Z += margin * u
    y = rng.choice([-1, 1], size=n)
    y[:2] = 1, -1
    Z *= y[:, None]  # a_i = y_i z_i, in place: the one matrix becomes X
    if offset:
        v = rng.standard_normal(d)
        v -= dots(v[None], u)[0] * u
        Z += offset / norm(v) * v
    return Z, y, u


def imbalanced(
    X: Any, y: Any, *, fraction: float = 0.1, repeat: int = 10, label: Any = None, random_state: Any = 0
) -> tuple[Any, NDArray[Any]]:
    """The appendix's imbalanced data: a random `fraction` of the rows, then every row of one class `repeat` times.

    Rows keep their order and copies stand together.

    Parameters
    ----------
    X : array or CSR matrix
        The rows.
    y : array-like
        Their labels.
    fraction : float, default=0.1
        The share of the rows to keep, in (0, 1].
    repeat : int, default=10
        How often to repeat the rows of the class.
    label : object, optional
        The class to repeat, the larger one when not given (the paper does not say which).
    random_state : int, numpy.random.Generator or None, default=0
        The seed of the choice.

    Returns
    -------
    X : array or CSR matrix
        The rows kept, with their copies.
    y : ndarray
        Their labels.

    Raises
    ------
    ValueError
        If the rows kept are of one class, or an option is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X, y, _ = sx.planted(1000, 3)
    >>> few, labels = sx.imbalanced(X, y, fraction=0.1, repeat=10)
    >>> np.unique(labels, return_counts=True)[1].tolist()
    [59, 410]
    """
    y = np.asarray(y)
    X = X if getattr(X, "format", None) == "csr" else np.asarray(X)
    if y.ndim != 1 or X.ndim != 2 or X.shape[0] != len(y):
        raise ValueError(f"X must have one row per label, got shapes {X.shape} and {y.shape}.")
    if not isinstance(fraction, Real) or not 0 < fraction <= 1:
        raise ValueError(f"fraction must be in (0, 1], got {fraction!r}.")
    repeat = _count("repeat", repeat, at_least=1)
    label = y.max() if label is None else label
    if label not in y:
        known = str(np.unique(y)[:8].tolist())[1:-1]
        raise ValueError(f"label {label!r} is not among the labels of y, which has {known}.")
    size = round(fraction * len(y))
    rows = np.sort(np.random.default_rng(random_state).choice(len(y), size=size, replace=False))
    if len(np.unique(y[rows])) < 2:
        raise ValueError(f"{size} of {len(y)} rows were kept and hold one class; raise fraction, got {fraction!r}.")
    rows = np.repeat(rows, np.where(y[rows] == label, repeat, 1))
    return X[rows], y[rows]


def _margin(mu: Any, R: float) -> float:
    given = mu if isinstance(mu, Real) else getattr(mu, "lower", None)
    if not isinstance(given, Real) or isinstance(given, bool) or isnan(given):
        raise ValueError(f"mu must be a number or have a number `lower`, got {mu!r}.")
    lower = float(given)
    if lower <= 0:
        raise ValueError(f"mu must be positive, got {lower!r}: the bounds exist for separable data only.")
    if lower > R * (1 + 1e-9):  # z·u ≤ ‖z‖; the slack is for a μ and an R that were rounded apart
        raise ValueError(f"mu cannot exceed R, got mu={lower!r} and R={R!r}.")
    return lower


def _positive(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")
    return float(value)



def _count(name: str, value: Any, *, at_least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)
