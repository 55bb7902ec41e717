"""One list of problems, one of methods, one of engines; everything else is a claim about them."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Problems are small and there is a process for every processor: threads of BLAS would only wait for each other.
# Said before NumPy is loaded, and to the processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from browsing import browser, visit  # noqa: E402, F401  # fixtures of the tests of the explorer's page
from separatrix.core.library import SETS, library  # noqa: E402
from separatrix.datasets import places  # noqa: E402

ENGINES = ("dense", "lazy", "gram")
BATCH = ("lr-gd", "normalized-lr-gd", "batch-perceptron", "normalized-batch-perceptron")

HANG = 900.0  # seconds after which a test counts as hung; none is judged by its time otherwise
_stderr = pytest.StashKey[int]()

# The same examples everywhere, however long they take.
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stderr] = os.dup(sys.__stderr__.fileno())  # the true one: pytest captures that of tests


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_stderr])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that hangs ends the run as a failure, with the stack of every thread; compiled code cannot prevent it."""
    faulthandler.dump_traceback_later(HANG, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="session")
def _nobody_is_shown_a_page() -> Iterator[None]:
    """What would open a web browser says that it did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webbrowser, "open", lambda url, **_: True)
        yield


def planted(n: int, d: int, margin: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows built from their answer: a unit u with z_iᵀu ≥ margin for every i."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    Z = rng.standard_normal((n, d))
    Z[Z @ u < 0] *= -1
    Z += margin * u
    y = rng.permuted(np.resize([-1.0, 1.0], n))
    return y[:, None] * Z, y


def noise(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that have nothing to do with the rows: no separator when n > 2d or so."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.permuted(np.resize([-1.0, 1.0], n))


PROBLEMS: dict[str, Callable[[], tuple[object, np.ndarray]]] = {
    "tight": lambda: planted(120, 20, 0.01, 0),
    "noise": lambda: noise(150, 11, 1),
    "tall": lambda: noise(700, 3, 2),
    "wide": lambda: planted(40, 90, 0.02, 3),
    "skewed": lambda: (noise(200, 6, 4)[0] + 2.0, noise(200, 6, 4)[1]),
    "sparse noise": lambda: (sparse.random(160, 30, 0.2, "csr", rng=np.random.default_rng(5)), noise(160, 1, 5)[1]),
    "sparse wide": lambda: (sparse.random(60, 300, 0.05, "csr", rng=np.random.default_rng(6)), noise(60, 1, 6)[1]),
}


@pytest.fixture(params=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> tuple[object, np.ndarray]:
    return PROBLEMS[request.param]()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def instruction_sets() -> list[str]:
    """Those that this processor has; none where nothing compiled serves."""
    lib = library()
    if lib is None:
        return []
    before = lib.serving()
    found = [name for name in SETS if lib.serve(name.encode())]
    lib.serve(before)
    return found


INSTRUCTION_SETS = instruction_sets()


@contextmanager
def serving(name: str) -> Iterator[None]:
    """Let this instruction set serve; afterwards the one that served before does again."""
    lib = library()
    before = lib.serving()
    assert lib.serve(name.encode())
    try:
        yield
    finally:
        lib.serve(before)


@pytest.fixture(params=INSTRUCTION_SETS)
def simd(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every instruction set of this processor in turn."""
    with serving(request.param):
        yield request.param


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the test's own, not there yet: what a user has fetched changes no test."""
    folder = tmp_path_factory.getbasetemp() / "no cache"
    monkeypatch.setattr(places, "cache_folder", lambda: folder)
    return folder


class Clock:
    """A clock of the test's own: it stands, and each reading of it may take some seconds."""

    def __init__(self) -> None:
        self.now, self.per_reading = 1000.0, 0.0

    def __call__(self) -> float:
        self.now += self.per_reading
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the package reads instead of the wall clock: a time limit then passes at the same step on any machine."""
    clock = Clock()
    for name in ("perf_counter", "monotonic"):
        monkeypatch.setattr(time, name, clock)
    return clock


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real data sets, where SEPARATRIX_DATA says they are."""
    folder = os.environ.get("SEPARATRIX_DATA")
    if not folder:
        pytest.skip("needs the real data sets: set SEPARATRIX_DATA to the folder that holds them")
    return Path(folder)


def signed(X: object, y: np.ndarray) -> object:
    """Z with rows y_i a_i, as the NumPy definition takes it."""
    return sparse.diags_array(y) @ X if sparse.issparse(X) else y[:, None] * np.asarray(X)
