"""What goes between a coordinator and its shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Vector


class Survey(NamedTuple):
    """What a shard says of its rows before any of them is scaled."""

    labels: NDArray[Any]  # different ones, ascending
    top: float  # longest row that has a weight
    squares: float  # Σ s_i (‖a_i‖/top)²
    sizes: list[float]  # numbers whose exact sum is Σ s_i: the whole has then one sum, whatever the shards
    least: float  # the smallest s_i > 0


class Plan(NamedTuple):
    """What all shards are told before a run."""

    positive: Any  # the label that is +1
    scale: float
    bias: float
    lazy: bool
    rowwise: bool


class Query(NamedTuple):
    """One iterate, as the coordinator sends it."""

    phi: Vector
    gamma: float
    tau: float
    shift: float = 0.0
    half: bool = False
    fresh: bool = False  # trust no bound
    loss: bool = False
    sums: bool = True
    mark: bool = True  # remember who is wrong


class Nodes(NamedTuple):
    """Σ w_i z_i of groups of blocks, by their levels and numbers; behind each sum Σ w_i."""

    levels: NDArray[np.int64]
    numbers: NDArray[np.int64]
    sums: NDArray[np.float64]


@dataclass
class Answer:
    """What the iterate means for one shard."""

    errors: int
    active: int
    low: float
    tie: float  # the first row with a margin of exactly 0, counted in the shard; ∞: none
    loss: float
    lost: float  # Σ s_i over wrong rows
    changed: bool
    read: int
    whole: bool  # every row was read
    nodes: Nodes | None  # None: as last time
    seconds: float


class Swept(NamedTuple):
    """Where the perceptron has come to in this shard."""

    phi: Vector
    updates: int
    clean: int
    position: int
    read: int
