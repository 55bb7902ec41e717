"""nonlinear.solve: check what was asked, copy the module, walk to the end."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from separatrix.nonlinear.model import Network, Precision, hold_sample, need_torch
from separatrix.nonlinear.run import NetworkIterate, NetworkRun
from separatrix.nonlinear.walk import NetworkWalk, Stop, check_unit
from separatrix.reporting.hints import did_you_mean
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.methods import TABLE, parse_method
from separatrix.walking.solve import check_count
from separatrix.walking.trace import check_record

CHUNK = 1024
BATCH = tuple(name for name, (_, _, one_row) in TABLE.items() if not one_row)


def solve(
    module: Any,
    X: Any,
    y: Any,
    method: str = "lr-gd",
    *,
    step_size: float | None = None,
    unit: float | None = None,
    power: float | None = None,
    max_iter: int = 10_000,
    stop: Stop = "separated",
    record: str | int | None = "log",
    sample_weight: Any = None,
    callback: Callable[[NetworkIterate], Any] | None = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    chunk: int = CHUNK,
    dtype: Precision = "float64",
) -> NetworkRun:
    """Train a PyTorch module with one output by full-batch steps until every row is on its right side.

    That is y_i g(a_i; θ) > 0, with g the output and θ the parameters. With n = Σ s_i, W = Σ s_i w_i and p the power of
    the method,

        θ⁺ = θ + (u/N) Σ s_i w_i y_i ∇g(a_i; θ) ,    N = n^p W^(1-p) ,
        w_i = σ(-(γ/u) y_i g(a_i; θ)) ,  or 1[y_i g(a_i; θ) ≤ 0] at γ = ∞ .

    θ_0 is what the module has: make it after `torch.manual_seed`. The module is copied, and trained in evaluation mode:
    dropout is off, batch normalisation uses its stored statistics, and parameters that need no gradient stay.

    Parameters
    ----------
    module : torch.nn.Module
        The model: rows in, one output per row; it is left as it is.
    X : array or CPU tensor of shape (n, ...)
        The rows a_i, of any shape that the module takes.
    y : array-like
        Two-valued labels of any type; the larger value is +1.
    method : str, default="lr-gd"
        One of "lr-gd", "normalized-lr-gd", "tempered-lr-gd", "batch-perceptron", "normalized-batch-perceptron" and
        "tempered-batch-perceptron".
    step_size : float, optional
        The step size γ in (0, ∞] of the logistic ones, 1 by default; ∞ makes them perceptrons.
    unit : float, optional
        What the steps are multiplied by, u. By default γ, so that "lr-gd" is gradient descent on the logistic loss with
        step size γ; and 1 at γ = ∞. With u kept and γ growing, runs tend to those at γ = ∞.
    power : float, optional
        The power p in [0, 1] of the tempered methods; 0.625 by default.
    max_iter : int, default=10_000
        Updates to make at most.
    stop : "separated", None or callable, default="separated"
        When to stop: at zero errors; with None not before `max_iter`; or when a callable says so, which is asked at
        each iterate.
    record : {"log", "all"}, int or None, default="log"
        Which iterates to record: thinning geometrically, all, one in so many, or none. The last one always is.
    sample_weight : array-like, optional
        Weights s_i ≥ 0; whole numbers equal repeated rows, 0 removes a row.
    callback : callable, optional
        Called with every recorded iterate; a true answer ends the run.
    checkpoint : path or Checkpoint, optional
        A file to save the run to every 30 s, and to continue from if it exists: plain arrays, nothing is unpickled.
    chunk : int, default=1024
        Rows that go through the module at once, which bounds the memory; every step uses all rows.
    dtype : {"float64", "float32"}, default="float64"
        The arithmetic. Sums are PyTorch's: the same run on the same machine, with the same PyTorch, number of threads
        and `chunk`, has the same bits; elsewhere last bits may differ.

    Returns
    -------
    NetworkRun
        The last iterate, how the run ended, and the trace of the way there.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    ValueError
        If an option is none of those above, the data are not numbers with labels of two values, or the module does not
        fit them.
    CheckpointError
        If the checkpoint's file is damaged or belongs to another run.

    See Also
    --------
    separatrix.solve : The same methods for g linear, fast and with bits that do not depend on the machine.
    """
    need_torch()
    if not isinstance(method, str) or (method not in TABLE):
        shown = repr(method) if isinstance(method, str) else f"an object of {type(method).__name__}"
        raise ValueError(
            f"networks take a method by its name, got unknown method {shown}{did_you_mean(method, BATCH)}; "
            f"methods: {', '.join(BATCH)}."
        )
    if callable(step_size):
        raise ValueError("networks take one step size for all t, a number in (0, ∞]; got a function of t.")
    how = parse_method(method, step_size, power=power)
    if how.order is not None:
        raise ValueError("method 'perceptron' takes one row at a time, networks take all; use 'batch-perceptron'.")
    check_count("max_iter", max_iter)
    check_count("chunk", chunk)
    if chunk == 0:
        raise ValueError("chunk must be at least 1, got 0.")
    if not (stop is None or stop == "separated" or callable(stop)):
        raise ValueError(f'stop must be "separated", None or a callable, got {stop!r}.')
    if dtype not in ("float64", "float32"):
        raise ValueError(f'dtype must be "float64" or "float32", got {dtype!r}.')
    every = check_record(record)
    if every == "epoch":
        raise ValueError('record="epoch" is for the row-at-a-time perceptron; every step here is a pass: use "all".')
    length = check_unit(unit, how.gamma)
    saving = checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    return NetworkWalk(
        Network(module, hold_sample(X, y, sample_weight), chunk=int(chunk), dtype=dtype),
        how,
        length,
        max_iter=int(max_iter),
        stop=stop,
        record=every,
        callback=callback,
        checkpoint=saving,
    ).walk()
