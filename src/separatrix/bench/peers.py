"""The plain loops people write: NumPy by hand, PyTorch by autograd.

Both get Z with rows y_i a_i prepared beforehand, keep its dtype, use their library's default threads, and make a fixed
number of updates from 0. They are written as anyone would write them: no blocking, no reuse of margins.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


def torch_installed() -> bool:
    """Whether the PyTorch side can be measured."""
    return find_spec("torch") is not None


def numpy_loop(Z: NDArray[Any], *, gamma: float, power: float, iterations: int) -> NDArray[Any]:
    """φ after this many updates: m = Zφ; w = weight(m); φ += wZ/N."""
    n, d = Z.shape
    phi = np.zeros(d, dtype=Z.dtype)
    for t in range(iterations):
        m = Z @ phi
        w = (m <= 0).astype(Z.dtype) if isinf(gamma) else expit(-Z.dtype.type(gamma) * m)
        if t == 0 and isinf(gamma):
            w *= 0.5  # the batch perceptron's first step from 0
        phi += w @ Z / (n**power * w.sum() ** (1 - power))
    return phi


def torch_loop(Z: Any, *, gamma: float, power: float, iterations: int) -> Any:
    """φ after this many updates by autograd, Z a tensor: the loss of the margins, backward, one step down."""
    torch: Any = import_module("torch")
    softplus, relu = torch.nn.functional.softplus, torch.nn.functional.relu
    first = Z.mean(dim=0) / 2**power  # all weights are ½ at 0, where relu has no slope
    theta = (first if isinf(gamma) else torch.zeros_like(first)).requires_grad_()
    for _ in range(iterations - 1 if isinf(gamma) else iterations):
        m = Z @ theta
        loss = (relu(-m) if isinf(gamma) else softplus(-m)).mean()
        loss.backward()
        with torch.no_grad():
            w = (m <= 0).to(Z.dtype) if isinf(gamma) else torch.sigmoid(-m)
            step = theta.grad / w.mean() ** (1 - power)
            theta -= step if isinf(gamma) else gamma * step
            theta.grad = None
    return theta.detach() / (1.0 if isinf(gamma) else gamma)


def as_tensor(Z: NDArray[Any], dtype: str) -> Any:
    """Z as a PyTorch tensor of this dtype."""
    torch: Any = import_module("torch")
    return torch.from_numpy(Z.astype(dtype, copy=False))
