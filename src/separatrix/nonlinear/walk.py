"""The loop that makes runs of networks: passes, steps, stopping, recording, checkpoint → NetworkRun."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import exp, isinf
from typing import Any, Literal

import numpy as np

from separatrix.nonlinear.checkpoint import Saved, describe, restore, write
from separatrix.nonlinear.model import Look, Network, deterministic
from separatrix.nonlinear.run import COLUMNS, NetworkIterate, NetworkRun, Numbers
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.methods import Plan
from separatrix.walking.run import Status
from separatrix.walking.trace import WHOLE, Recorder, Trace

Stop = Literal["separated"] | Callable[[NetworkIterate], Any] | None


class NetworkWalk:
    """One run under way: θ_t, t, and what the pass over the rows at θ_t found.

    The step is that of the table, in a unit u of its own:

        θ⁺ = θ + (u/N) Σ s_i w_i y_i ∇g(a_i; θ) ,    w_i = σ(-β y_i g(a_i; θ)) ,  β = γ/u ,    N = n^p W^(1-p)
    """

    def __init__(
        self,
        network: Network,
        method: Plan,
        unit: float,
        *,
        max_iter: int,
        stop: Stop,
        record: str | int | None,
        callback: Callable[[NetworkIterate], Any] | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.network, self.method, self.unit = network, method, unit
        self.beta = method.gamma / unit
        self.max_iter, self.stop, self.callback = max_iter, stop, callback
        self.recorder = Recorder(record, False)
        self.rows: list[tuple[float, ...]] = []
        self.checkpoint, self.header = checkpoint, dict[str, Any]()
        self.t, self.theta, self.seconds = 0, network.theta, 0.0
        self.seen: Look | None = None
        if checkpoint is not None:
            about = {
                "method": method.name,
                "step size": float(method.gamma).hex(),
                "unit": float(unit).hex(),
                "power": float(method.power).hex(),
            }
            self.header = describe(network, network.sample, about, record)
            saved = restore(checkpoint, self.header, self.theta.numpy())
            if saved is not None:
                self.t, self.seconds, self.rows = saved.t, saved.seconds, saved.trace
                self.theta = network.torch.from_numpy(saved.theta)

    def look(self) -> Look:
        """The pass at θ_t, made once."""
        if self.seen is None:
            began = time.perf_counter()
            self.network.theta = self.theta
            found = self.network.look(self.beta)
            if self.halved(found):
                found = self.network.look(self.beta, half=True)
            self.seen = found
            self.seconds += time.perf_counter() - began
        return self.seen

    def halved(self, found: Look) -> bool:
        """Whether the first step has all w_i = ½: at γ = ∞ the batch perceptrons', and where every output is 0."""
        if self.t > 0 or not isinf(self.beta):
            return False
        return not found.margins.any() or (self.method.power > 0 and not self.method.logistic)

    def after(self, found: Look) -> Any:
        """θ⁺."""
        n, p, W = self.network.sample.size, self.method.power, found.total
        N = n**p * (W ** (1 - p) if W > 0 else 1.0)  # weights and their sum are exp(shift) times as large as they are
        return self.theta + self.unit * exp(-p * found.shift) / N * found.pull

    def walk(self) -> NetworkRun:
        """To the end; Ctrl-C ends it too."""
        with deterministic(self.network.torch):
            try:
                status = self.steps()
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            self.record()
            self.save()
            return self.run(status)

    def steps(self) -> Status:
        """Step until there is a reason to end, and that."""
        last_save = time.monotonic()
        due = self.recorder.next_after(int(self.rows[-1][0])) if self.rows else 0
        due = None if self.recorder.record is None else due
        while True:
            found = self.look()
            if not found.finite:
                return Status.DIVERGED
            if self.stop == "separated" and found.errors == 0:
                return Status.SEPARATED
            if callable(self.stop) and self.stop(self.iterate()):
                return Status.STOPPED
            if due is not None and self.t >= due:
                if self.record():
                    return Status.STOPPED
                due = self.recorder.next_after(self.t)
            if self.t >= self.max_iter:
                return Status.SEPARATED if found.errors == 0 else Status.MAX_ITER
            theta = self.after(found)
            if not theta.isfinite().all():
                return Status.DIVERGED
            if found.errors and self.network.torch.equal(theta, self.theta) and not self.halved(found):
                return Status.STALLED
            self.t, self.theta, self.seen = self.t + 1, theta, None
            if self.checkpoint is not None and time.monotonic() - last_save > self.checkpoint.every:
                self.save()
                last_save = time.monotonic()

    def numbers(self) -> Numbers:
        """What is recorded of θ_t."""
        found, s, n = self.look(), self.network.s, self.network.sample.size
        torch, m = self.network.torch, found.margins
        if isinf(self.beta):
            losses = (-m).clamp(min=0)  # the limit of the other: max(0, -y_i g)
        else:
            losses = torch.logaddexp(torch.zeros_like(m), -self.beta * m) / self.beta
        return Numbers(
            errors=found.errors,
            accuracy=float(s[m > 0].sum()) / n,
            loss=float((s * losses).sum()) / n,
            grad_norm=float(found.pull.norm()) * exp(-found.shift) / n,
            theta_norm=float(self.theta.norm()),
            min_output=float(m.min()),
        )

    def iterate(self) -> NetworkIterate:
        """θ_t with its numbers, in arrays of its own."""
        margins = self.look().margins.numpy().copy()
        return NetworkIterate(self.t, self.theta.numpy().copy(), margins, **self.numbers()._asdict())

    def record(self) -> bool:
        """Write θ_t into the trace, once, and show it; whether the callback wants to end here."""
        if self.rows and self.rows[-1][0] == self.t:
            return False
        self.rows.append((self.t, *self.numbers(), self.seconds))
        return self.callback is not None and bool(self.callback(self.iterate()))

    def save(self) -> None:
        """Write the checkpoint, where there is one."""
        if self.checkpoint is not None:
            write(self.checkpoint, self.header, Saved(self.t, self.theta.numpy(), self.seconds, self.rows))

    def run(self, status: Status) -> NetworkRun:
        """The result."""
        separated = self.look().errors == 0
        table = np.array(self.rows, dtype=np.float64).reshape(len(self.rows), len(COLUMNS))
        kinds = {name: np.int64 if name in WHOLE else np.float64 for name in COLUMNS}
        columns = {name: table[:, k].astype(kinds[name]) for k, name in enumerate(COLUMNS)}
        return NetworkRun(
            method=self.method.name,
            step_size=self.method.gamma,
            unit=self.unit,
            power=self.method.power,
            status=status,
            separated=separated,
            n_iter=self.t,
            theta=self.theta.numpy().copy(),
            module=self.network.module,
            seconds=self.seconds,
            trace=Trace(columns, loss_name(self.beta)),
            chunk=self.network.chunk,
            dtype=self.network.precision,
        )


def loss_name(beta: float) -> str:
    """Which loss the steps descend."""
    if isinf(beta):
        return "perceptron loss"
    return "logistic loss" if beta == 1 else f"logistic loss of {beta:g} g, divided by {beta:g}"


def check_unit(unit: Any, gamma: float) -> float:
    """u in (0, ∞), by default γ, or 1 where that is ∞."""
    if unit is None:
        return 1.0 if isinf(gamma) else gamma
    if isinstance(unit, bool | np.bool_) or not isinstance(unit, int | float | np.number) or not 0 < unit < np.inf:
        raise ValueError(f"unit must be a positive finite number, got {unit!r}.")
    return float(unit)
