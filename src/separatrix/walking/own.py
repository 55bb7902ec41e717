"""A method of one's own: the open base class, and what its functions are shown of an iterate.

    θ⁺ = θ + (γ_t/N) Σ_i s_i w_i z_i ,    w_i = weight(x_i) ,    x_i = z_iᵀθ ,    N = n^p W^(1-p) ,    W = Σ_i s_i w_i

The methods of the table are a few of these (`methods.py`), and `definition.py` walks them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core import definition

if TYPE_CHECKING:
    from separatrix.walking.definition import Definition

Vector = NDArray[Any]

WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # between the words of ABatchMethod


def exp(x: ArrayLike) -> Vector:
    """The exponential function with the bits of the compiled core, on every machine.

    NumPy's own differs from processor to processor in the last bit, and with large steps a last bit decides how many
    iterations a run takes.

    Parameters
    ----------
    x : array-like
        Numbers; those of float32 stay so, all others become float64.

    Returns
    -------
    ndarray
        The exponentials, at most one unit in the last place off.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.exp([0.0, 1.0])
    array([1.        , 2.71828183])
    """
    given = np.asarray(x)
    return definition.exp(given if given.dtype == np.float32 else given.astype(np.float64))


class Method:
    """A full-batch method of your own, for `solve`: a subclass says what it does differently from LR+GD.

    The step is θ⁺ = θ + (γ_t/N) Σ s_i w_i z_i, with z_i = y_i a_i, sample weights s_i, weights w_i that `weights` gives
    from the margins x_i = z_iᵀθ, and N = n^p W^(1-p), where n = Σ s_i and W = Σ s_i w_i. A subclass overrides one or
    more of `weights`, `normaliser`, `step_size` and `step`; what it leaves is that of LR+GD. Attributes may be set in
    the class, too, and a subclass that is a dataclass may have parameters of its own.

    It runs on the definition (``engine="numpy"``), on rows in memory, and has all that the other methods have: traces,
    stopping, checkpoints, sample weights, an intercept, plots. The loss of its trace is the logistic loss. Rows of
    weight 0 are not there for it.

    Parameters
    ----------
    gamma : float, optional
        The step size γ, finite and positive.
    power : float, optional
        The power p from 0 to 1 in N = n^p W^(1-p).

    Attributes
    ----------
    name : str
        What the run calls it; by default the class's name in words.
    gamma : float
        The step size γ, 1 by default.
    power : float
        The power p, 1 by default: then N = n. It has no meaning where `normaliser` or `step` is overridden.
    exponential_tail : bool
        Whether w_i is exp(-x_i) to rounding for large x_i, as σ(-x_i) is. Then a row counts as zero once its x_i is
        40 + ln n above 0 and above the smallest, as in every engine, and past separation, where all weights would
        underflow, their ratios are kept. False by default: every row counts.

    See Also
    --------
    solve : Takes such a method in the place of a name.
    exp : The exponential function with the bits of the core.

    Examples
    --------
    >>> import separatrix as sx
    >>> class Hinge(sx.Method):
    ...     def weights(self, x):
    ...         return x < 1
    >>> run = sx.solve(*sx.two_samples(), Hinge(gamma=0.5))
    >>> run.method, run.n_iter, run.separated
    ('hinge', 2, True)
    """

    name: str = "method"
    gamma: float = 1.0
    power: float = 1.0
    exponential_tail: bool = False

    def __init__(self, gamma: float | None = None, *, power: float | None = None) -> None:
        if gamma is not None:
            self.gamma = gamma
        if power is not None:
            self.power = power

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = WORDS.sub("-", cls.__name__.strip("_")).lower()

    def weights(self, x: Vector) -> Vector:
        """The weights w_i at the margins x_i, σ(-x_i) unless overridden.

        Parameters
        ----------
        x : ndarray
            The margins x_i = z_iᵀθ_t.

        Returns
        -------
        ndarray
            One number for each row, finite and not negative.
        """
        return np.asarray(1 / (1 + definition.exp(x)))  # w_i = σ(-x_i)

    def normaliser(self, at: At) -> float:
        """The number N that the sum is divided by, n^p W^(1-p) unless overridden.

        A step size that depends on the iterate is one of these: γ/N.

        Parameters
        ----------
        at : At
            The iterate: its numbers t, n, W, step_size; its vectors theta, x, w (that is s_i w_i), s; memory.

        Returns
        -------
        float
            The value of N, finite and positive.
        """
        return float(at.n**self.power * at.W ** (1.0 - self.power))

    def step_size(self, t: int) -> float:
        """The step size γ_t of the update from θ_t, γ unless overridden.

        Parameters
        ----------
        t : int
            The number of updates made.

        Returns
        -------
        float
            The value γ_t, finite and positive; that of t = 0 is the run's `step_size`, the unit of φ.
        """
        return self.gamma

    def step(self, at: At) -> Vector:
        """The whole step θ⁺ - θ, (γ_t/N) Σ s_i w_i z_i unless overridden: for momentum and the like.

        Parameters
        ----------
        at : At
            The iterate, as for `normaliser`; `at.pull(c)` is Σ c_i z_i, so that `at.pull(at.w) / at.n` is -∇f, and
            `at.margins(theta)` is Zθ at any θ. What `memory` began may be read and replaced in `at.memory`.

        Returns
        -------
        ndarray
            As many numbers as θ has, finite.
        """
        return np.asarray(at.step_size / self.normaliser(at) * at.pull(at.w))

    def memory(self, n: int, d: int) -> Mapping[str, Any]:
        """What `step` carries from one iterate to the next, as it begins; checkpoints save it.

        Parameters
        ----------
        n : int
            The number of rows.
        d : int
            The entries of θ, the intercept's included.

        Returns
        -------
        dict of str to array
            Arrays or numbers by name; they keep their shape and type.
        """
        return {}


class At:
    """An iterate as the `step` and `normaliser` of a `Method` see it, for as long as they run.

    Rows of weight 0 are left out. Vectors are copies.

    Attributes
    ----------
    t : int
        Updates made.
    n : float
        Σ s_i, the number of rows where they have no sample weights.
    W : float
        Σ s_i w_i.
    step_size : float
        γ_t.
    theta : ndarray
        θ_t; the last entry is the intercept's, if there is one.
    x : ndarray
        The margins x_i = z_iᵀθ_t.
    w : ndarray
        The weights s_i w_i, where the w_i are those that `weights` gave.
    s : ndarray
        The sample weights s_i.
    memory : dict of str to ndarray
        What `memory` began and `step` left there; entries may be replaced.

    See Also
    --------
    Method : Whose functions are given this.
    """

    def __init__(self, run: Definition) -> None:
        self._run = run
        self.t, self.n = run.t, run.frame.size
        self.memory = {name: value.copy() for name, value in run.memory.items()}  # the run's own until the step is made

    @cached_property
    def step_size(self) -> float:
        """γ_t."""
        return self._run.method.gamma * self._run.method.factor(self.t)

    @cached_property
    def theta(self) -> Vector:
        """θ_t, the intercept's entry last if there is one."""
        run = self._run
        theta = run.Phi.astype(np.float64) / run.frame.unit * run.frame.scale * run.method.gamma
        return theta if run.bias else theta[:-1]

    @cached_property
    def x(self) -> Vector:
        """The margins x_i = z_iᵀθ_t."""
        return self._run.x

    @cached_property
    def w(self) -> Vector:
        """s_i w_i, with the w_i that `weights` gave."""
        return np.array(self._run.w[self._run.kept])

    @cached_property
    def s(self) -> Vector:
        """The sample weights s_i."""
        return np.array(self._run.s[self._run.kept])

    @cached_property
    def W(self) -> float:
        """Σ s_i w_i."""
        w = self._run.w
        return float(definition.sum_rows(np.ones((len(w), 1)), w)[0])

    def pull(self, c: ArrayLike) -> Vector:
        """The sum Σ c_i z_i, in the canonical order.

        Parameters
        ----------
        c : array-like
            One number for each row.

        Returns
        -------
        ndarray
            As many numbers as θ has.
        """
        run = self._run
        full = np.zeros_like(run.s)
        full[run.kept] = c
        out = definition.pull(run.X, run.sign, run.bias, full)[:-1].astype(np.float64) * run.frame.scale
        return out if run.bias else out[:-1]

    def margins(self, theta: ArrayLike) -> Vector:
        """The margins Zθ at any θ.

        Parameters
        ----------
        theta : array-like
            As many numbers as θ has.

        Returns
        -------
        ndarray
            One number for each row.
        """
        run = self._run
        Phi = np.zeros_like(run.Phi)
        Phi[: run.entries] = theta
        return np.asarray(definition.margins(run.X, run.sign, run.bias, Phi)[run.kept] * run.frame.scale)


def checked_weights(method: Method, x: Vector, t: int) -> Vector:
    """The w_i of a method of one's own, or one sentence about the first that cannot be one."""
    found, kind = method.weights(x.copy()), x.dtype
    w = _numbers(method, "weights", t, found, x.shape, "one for each row")
    bad = ~(np.isfinite(w) & (w >= 0))
    if bad.any():
        raise ValueError(
            f"{method.name}: weights must be finite and not negative, got {w[bad][0]} at t = {t}; "
            "mend the method's weights(x)."
        )
    return w.astype(kind)


def checked_normaliser(method: Method, at: At) -> float:
    """Its N and the memory it leaves, or one sentence."""
    begun = dict(at.memory)
    N = method.normaliser(at)
    keep_memory(method, at, begun)
    if not is_number(N) or not 0 < float(N) < np.inf:
        raise ValueError(f"{method.name}: normaliser must be a finite number above 0, got {N!r} at t = {at.t}.")
    return float(N)


def checked_step(method: Method, at: At, entries: int) -> Vector:
    """Its θ⁺ - θ and the memory it leaves, or one sentence."""
    begun = dict(at.memory)
    step = _numbers(method, "step", at.t, method.step(at), (entries,), "one for each entry of θ")
    if not np.isfinite(step).all():
        bad = step[~np.isfinite(step)][0]
        raise ValueError(f"{method.name}: step must be finite, got {bad} at t = {at.t}; is the step size too large?")
    keep_memory(method, at, begun)
    return step


def keep_memory(method: Method, at: At, begun: Mapping[str, Vector]) -> None:
    """Hold what a method left in `at.memory` against what it began with, and copy it."""
    if not isinstance(at.memory, Mapping):
        raise ValueError(f"{method.name}: at.memory must stay a dict, got {at.memory!r:.80} at t = {at.t}.")
    left, at.memory = at.memory, {}
    if left.keys() != begun.keys():
        odd = min(map(str, left.keys() ^ begun.keys()))
        raise ValueError(f"{method.name}: memory[{odd!r}] came or went at t = {at.t}; name all of it in memory(n, d).")
    for name, old in begun.items():
        new = np.asarray(left[name])
        if new.shape != old.shape or not np.can_cast(new.dtype, old.dtype, "same_kind"):
            raise ValueError(
                f"{method.name}: memory[{name!r}] began as {old.dtype} of shape {old.shape}, "
                f"got {new.dtype} of {new.shape} at t = {at.t}."
            )
        at.memory[name] = new.astype(old.dtype)  # a copy: what the method keeps of it is its own


def begun_memory(method: Method, n: int, d: int) -> dict[str, Vector]:
    """What it remembers at the start, as arrays."""
    given = method.memory(n, d)
    if not isinstance(given, Mapping):
        raise ValueError(f"{method.name}: memory must return a dict of arrays by name, got {given!r:.80}.")
    begun = {str(name): np.array(value) for name, value in given.items()}
    for name, value in begun.items():
        if not name.isidentifier() or value.dtype.kind not in "fiub":
            raise ValueError(
                f"{method.name}: memory must hold arrays of numbers by plain names, got {value.dtype} as {name!r}."
            )
    return begun


def described(method: Method) -> str:
    """Class and attributes in one line, the same for every instance made alike."""
    names = {name for base in type(method).__mro__[:-1] for name in vars(base)} | set(vars(method))
    computed = {name for name in names if isinstance(getattr(type(method), name, None), property)}
    public = sorted(name for name in names - computed if not name.startswith("_"))
    values = {name: getattr(method, name) for name in public}
    told = [f"{name}={_told(value)}" for name, value in values.items() if not callable(value) or name in vars(method)]
    return f"{type(method).__name__}({', '.join(told)})"


def _told(value: Any) -> str:
    from hashlib import blake2b

    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}:{blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8).hexdigest()}"
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    text = repr(value)
    return text if len(text) < 100 else blake2b(text.encode(), digest_size=8).hexdigest()


def _numbers(method: Method, what: str, t: int, found: Any, shape: tuple[int, ...], each: str) -> Vector:
    try:
        if np.iscomplexobj(found):
            raise TypeError("no real numbers")
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{method.name}: {what} must be numbers, got {found!r:.80} at t = {t}.") from None
    if values.shape != shape:
        raise ValueError(f"{method.name}: {what} must have shape {shape}, {each}, got {values.shape} at t = {t}.")
    return values


def is_number(value: Any) -> bool:
    """Whether this is one real number that a float can hold."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
