"""The module as a function of one vector θ: its outputs, and Σ w_i y_i ∇g(a_i; θ), some rows at a time.

PyTorch is loaded when the first run begins, and has no types here: it need not be installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from math import inf, isfinite, isinf, log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from separatrix.data.arrays import check_weights
from separatrix.data.labels import signs_of
from separatrix.data.rows import Vector
from separatrix.reporting.hints import install

Precision = Literal["float64", "float32"]
AT_ONCE = 4096  # rows checked at a time
PROBED = 2  # rows that are tried before the first step
SAME = 1e-3  # how far outputs of one row may be apart, as a part of the largest: rounding is far less


def need_torch() -> Any:
    """PyTorch, or one sentence on how to get it."""
    try:
        return import_module("torch")
    except ImportError:
        raise ImportError(f"networks need PyTorch: {install('torch')}.") from None


def torch_installed() -> bool:
    """Whether networks can be trained here."""
    return find_spec("torch") is not None


@contextmanager
def deterministic(torch: Any) -> Iterator[None]:
    """Only algorithms that give the same bits again, and gradients whatever the caller has switched off."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of any shape with labels ±1 and weights; those of weight zero are left out.

    Attributes
    ----------
    X : array of shape (n, ...)
    y : ±1 per row
    s : weights per row, all positive
    """

    X: NDArray[Any]
    y: Vector
    s: Vector

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.y)

    @property
    def size(self) -> float:
        """Σ s_i."""
        return float(self.s.sum())


def hold_sample(X: Any, y: Any, sample_weight: Any) -> Sample:
    """Rows, labels and weights checked; every complaint about data is raised here."""
    rows = np.asarray(X.detach() if getattr(X, "requires_grad", False) else X)
    if rows.ndim < 2 or rows.dtype.kind not in "fiub":
        raise ValueError(f"X must be numbers of shape (n, ...), got {rows.dtype} of shape {rows.shape}.")
    if not len(rows):
        raise ValueError("X has no rows; give at least one row per class.")
    sign, _ = signs_of(y, len(rows))
    s = check_weights(sample_weight, len(rows))
    kept = s > 0
    if not kept.all():
        rows, sign, s = rows[kept], sign[kept], s[kept]
    for lo in range(0, len(rows), AT_ONCE):
        flat = rows[lo : lo + AT_ONCE].reshape(-1, rows[0].size)
        bad = np.argwhere(~np.isfinite(flat))
        if len(bad):
            raise ValueError(f"X must be finite, got {flat[tuple(bad[0])]} in row {lo + int(bad[0, 0])}.")
    return Sample(rows, sign, s)


@dataclass(frozen=True, eq=False)
class Look:
    """What one pass over all rows finds at θ.

    Attributes
    ----------
    margins : y_i g(a_i; θ)
    pull : Σ s_i w_i y_i ∇g(a_i; θ), times exp(shift)
    total : W = Σ s_i w_i, times exp(shift)
    shift : 0, but far past separation, where every weight underflows and only their ratios can be had
    """

    margins: Any
    pull: Any
    total: float
    shift: float = 0.0

    @property
    def errors(self) -> int:
        """Rows on the wrong side; an output that is no number is on neither."""
        return len(self.margins) - int((self.margins > 0).sum())

    @property
    def finite(self) -> bool:
        """Whether every output is a number."""
        return bool(self.margins.isfinite().all())


class Network:
    """A copy of the user's module on these rows, in evaluation mode; `theta` is all that is trained, in one vector.

    Parameters that need no gradient stay as they are, and so do buffers.
    """

    def __init__(self, module: Any, sample: Sample, *, chunk: int, dtype: Precision) -> None:
        torch = need_torch()
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"module must be a torch.nn.Module, got {type(module).__name__}.")
        self.torch, self.sample, self.chunk, self.precision = torch, sample, chunk, dtype
        self.dtype = torch.float64 if dtype == "float64" else torch.float32
        self.end = -log(torch.finfo(self.dtype).tiny)  # exp(-x) underflows beyond it
        if any(p.is_complex() for p in module.parameters()):
            raise ValueError("module has complex parameters; networks are trained in real numbers.")
        self.module = deepcopy(module).to("cpu", self.dtype).eval()
        self.params = [p for p in self.module.parameters() if p.requires_grad]
        if not self.params:
            raise ValueError("module has no parameters to train; give it some with requires_grad=True.")
        self.y, self.s = (torch.as_tensor(v, dtype=self.dtype) for v in (sample.y, sample.s))
        self.probe()

    def probe(self) -> None:
        """Complain about a module that these rows do not fit, or that has not one output, before the first step."""
        shape = tuple(self.sample.X.shape[1:])
        given = self.rows(0, PROBED).clone()
        version = given._version  # what counts changes in place
        try:
            with self.torch.enable_grad():
                out = self.module(given)
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            seen = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise ValueError(f"module does not take rows of shape {shape}: {seen}; give it such as it takes.") from None
        k = len(self.sample.X[:PROBED])
        if not isinstance(out, self.torch.Tensor) or tuple(out.shape) not in ((k,), (k, 1)):
            found = tuple(out.shape) if isinstance(out, self.torch.Tensor) else type(out).__name__
            raise ValueError(f"module must have one output per row, ({k},) or ({k}, 1) for {k} rows, got {found}.")
        if out.is_complex():
            raise ValueError(f"module's output must be real numbers, got {out.dtype}.")
        if given._version != version:
            raise ValueError("module changes the rows that it is given; its first layer must not be inplace=True.")
        if not out.requires_grad:
            raise ValueError("module's output depends on none of its parameters; there is nothing to train.")
        if k == PROBED and not self.alone(out):
            raise ValueError(
                "module's output for a row depends on the rows beside it; give it layers that take each row by itself, "
                "such as BatchNorm with track_running_stats=True, or LayerNorm."
            )

    def alone(self, out: Any) -> bool:
        """Whether the first row has the output it has among others, but for rounding."""
        try:
            with self.torch.no_grad():
                one = self.module(self.rows(0, 1).clone()).reshape(-1)
        except (RuntimeError, ValueError):  # a layer that takes means over rows wants two
            return False
        slack = SAME * float(out.detach().abs().max())
        return bool(self.torch.allclose(one, out.detach().reshape(-1)[:1], rtol=SAME, atol=slack, equal_nan=True))

    def rows(self, lo: int, hi: int) -> Any:
        """Rows lo … hi-1 as a tensor; those stored in the type of the arithmetic are not copied."""
        return self.torch.from_numpy(np.require(self.sample.X[lo:hi], np.dtype(self.precision), ["C", "W"]))

    @property
    def theta(self) -> Any:
        """θ, a vector of its own."""
        return self.torch.nn.utils.parameters_to_vector(self.params).detach().clone()

    @theta.setter
    def theta(self, value: Any) -> None:
        self.torch.nn.utils.vector_to_parameters(value.clone(), self.params)

    def weights(self, m: Any, beta: float, shift: float) -> Any:
        """w_i = σ(-β m_i), or 1[m_i ≤ 0] at β = ∞; beyond every underflow exp(shift - β m_i)."""
        if isinf(beta):
            return (m <= 0).to(self.dtype)
        return self.torch.exp(shift - beta * m) if shift else self.torch.sigmoid(-beta * m)

    def look(self, beta: float, half: bool = False, shift: float = 0.0) -> Look:
        """One pass: per chunk the outputs, their weights, and one product of s_i w_i y_i with the outputs' Jacobian.

        `half`: every weight is ½, as in the first step of the batch perceptron.
        """
        torch, found = self.torch, []
        pull, total = torch.zeros_like(self.theta), 0.0
        for lo in range(0, self.sample.n, self.chunk):
            hi = min(lo + self.chunk, self.sample.n)
            out = self.module(self.rows(lo, hi))
            y, s = self.y[lo:hi], self.s[lo:hi]
            m = y * out.detach().reshape(-1)
            w = s / 2 if half else s * self.weights(m, beta, shift)
            found.append(m)
            if bool(w.any()):  # else its share is zero
                parts = torch.autograd.grad(
                    out, self.params, grad_outputs=(w * y).reshape(out.shape), allow_unused=True, materialize_grads=True
                )
                pull += torch.cat([part.reshape(-1) for part in parts])  # Σ s_i w_i y_i ∇g(a_i; θ)
                total += float(w.sum())
        m = torch.cat(found)
        low = float(m.min())
        if not shift and isfinite(beta) and self.end < beta * low < inf:
            return self.look(beta, half, beta * low)
        return Look(m, pull, total, shift)
