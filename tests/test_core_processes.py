"""The core in company: other instruction sets, many threads, forked children, other libraries."""

from __future__ import annotations

import json
import mmap
import multiprocessing
import os
import platform
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import separatrix as sx
from conftest import INSTRUCTION_SETS, noise
from separatrix.core.library import SETS, serving
from separatrix.data.memory import hold
from separatrix.walking.engines import make_engine
from separatrix.walking.methods import parse_method

compiled = pytest.mark.skipif(not INSTRUCTION_SETS, reason="needs the compiled core: build it with make core")

WALKS: list[dict[str, Any]] = [
    {"method": "lr-gd", "step_size": 100.0, "engine": "dense"},
    {"method": "normalized-lr-gd", "step_size": 10.0, "engine": "lazy"},
    {"method": "batch-perceptron", "engine": "lazy"},
    {"method": "batch-perceptron", "engine": "gram"},
    {"method": "perceptron", "engine": "lazy"},
]


def walked() -> list[bytes]:
    """φ of some runs on rows that are enough for several threads, as bytes."""
    X, y = noise(2000, 60, 3)
    return [sx.solve(X, y, **walk, max_iter=30, stop=None).phi.tobytes() for walk in WALKS]


def threads_here() -> int:
    """Threads of this process once the core has shared out some work; 2 where the system does not tell."""
    X, y = noise(2000, 60, 3)
    engine = make_engine("dense", hold(X, y), parse_method("lr-gd", 1.0))
    engine.use_threads(4)
    engine.advance(3, False)
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else 2


def run(code: str, *, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own, which finds the tests' modules."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=check, env=environment, timeout=600)


def told(code: str, **environment: str) -> Any:
    """What code in a process of its own prints as JSON."""
    return json.loads(run(code, **environment).stdout)


# Which instruction set serves --------------------------------------------------------------------------------------

VERSION = "from separatrix.cli.main import app; app(['--version'])"


@pytest.mark.parametrize("name", [*INSTRUCTION_SETS, "numpy"])
def test_the_version_names_the_instruction_set_that_was_asked_for(name):
    assert run(VERSION, SEPARATRIX_SIMD=name).stdout.strip() == f"separatrix {sx.__version__} (core: {name})"


@compiled
@pytest.mark.skipif(bool(os.environ.get("SEPARATRIX_SIMD")), reason="SEPARATRIX_SIMD asks for another")
def test_the_widest_set_of_the_processor_serves_by_default():
    assert serving() == INSTRUCTION_SETS[0]


def last_line(name: str) -> str:
    code = "import separatrix as sx; sx.solve([[1.0], [2.0]], [0, 1])"
    done = run(code, check=False, SEPARATRIX_SIMD=name)
    assert done.returncode != 0
    return done.stderr.strip().splitlines()[-1]


def test_an_unknown_set_is_refused_with_the_names_there_are():
    expected = "ValueError: SEPARATRIX_SIMD must be one of baseline, avx2, avx512 or numpy, got 'sse9'."
    assert last_line("sse9") == expected


@compiled
@pytest.mark.skipif(len(INSTRUCTION_SETS) == len(SETS), reason="this processor has every set")
def test_a_set_that_the_processor_lacks_is_refused():
    (name, *_) = [s for s in SETS if s not in INSTRUCTION_SETS]
    expected = f"ValueError: SEPARATRIX_SIMD={name}: this processor has no {name}; leave it out, or use baseline."
    assert last_line(name) == expected


@compiled
def test_a_library_of_other_sources_is_refused():
    other = "from separatrix.core import library as l; l.RECORDS = l.RECORDS[1:]; l.library()"
    assert "was built from other sources than this package" in run(other, check=False).stderr


# Threads and processes ---------------------------------------------------------------------------------------------


@compiled
def test_eight_threads_at_once_have_the_bits_of_one_alone(monkeypatch):
    monkeypatch.setenv("SEPARATRIX_NUM_THREADS", "4")
    alone = walked()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: walked(), range(16)):
            assert found == alone


CHILD = """
import json, multiprocessing, os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
from test_core_processes import threads_here, walked
alone = walked()
def right():
    return walked() == alone and threads_here() > 1
def child(out):
    out.put(right())
def grandchild(out):
    inner = multiprocessing.get_context("fork").Process(target=child, args=(out,))
    inner.start()
    inner.join()
    out.put(right())
threads_here()  # the pool has its threads now,
threading.Thread(target=lambda: [walked() for _ in range(20)]).start()  # and they are at work while others are forked
context = multiprocessing.get_context("fork")
out = context.SimpleQueue()
children = [context.Process(target=target, args=(out,)) for target in (child, child, grandchild)]
for c in children:
    c.start()
mine = right()
told = [out.get() for _ in range(4)]
for c in children:
    c.join()
pid = os.fork()
if pid == 0:
    os._exit(0 if right() else 1)
print(json.dumps([mine, *told, os.waitpid(pid, 0)[1] == 0, right()]))
"""


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_children_have_threads_and_bits_of_their_own():
    assert told(CHILD, SEPARATRIX_NUM_THREADS="4") == [True] * 7


@compiled
def test_spawned_processes_have_the_same_bits(monkeypatch):
    monkeypatch.setenv("SEPARATRIX_NUM_THREADS", "2")
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", paths)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(walked) == walked()


COMPANY = {
    "sklearn": "from sklearn.linear_model import LogisticRegression as L; L().fit(*noise(300, 20, 0))",
    "torch": "import torch; torch.ones(999, 999) @ torch.ones(999)",
}


@compiled
@pytest.mark.parametrize("name", COMPANY)
def test_other_libraries_in_the_process_change_no_bit(name):
    pytest.importorskip(name)
    code = f"from conftest import noise; {COMPANY[name]}; import json; from test_core_processes import walked; "
    code += "print(json.dumps([phi.hex() for phi in walked()]))"
    assert told(code, SEPARATRIX_NUM_THREADS="2") == [phi.hex() for phi in walked()]


# Another library may tell the processor to flush small numbers to 0 (torch.set_flush_denormal does). Six bytes of
# machine code do it here: ldmxcsr [rdi]; ret and stmxcsr [rdi]; ret.
FLUSHED = """
import ctypes, json, mmap
import numpy as np
from separatrix.core.rows import Stored
from test_core import exp_of_core
from test_core_processes import walked
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("0fae17c3 0fae1fc3"))
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
load, store = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(start + k) for k in (0, 4))
word = ctypes.c_uint32()
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 40)) * 1e-309  # all of them denormal
phi, sign, every, x = rng.standard_normal(41), np.ones(2000), np.arange(2000), np.full(9, -720.0)
def work():
    stored, m = Stored((X,), 40), np.empty(2000)
    stored.margins(sign, phi, m, every, 4)
    return [m.tobytes().hex(), exp_of_core(x).tobytes().hex(), stored.sum(sign, every, sign, 4).tobytes().hex()]
plain, paths = work(), walked()
store(ctypes.byref(word))
told = ctypes.c_uint32(word.value | 0x8040)
load(ctypes.byref(told))
small = np.full(3, 1e-310)
flushes = not (small * 0.5).any()
same = work() == plain and walked() == paths
store(ctypes.byref(word))
kept = word.value & 0x8040 == 0x8040
load(ctypes.byref(ctypes.c_uint32(word.value & ~0x8040)))
print(json.dumps([flushes, same, kept]))
"""


@compiled
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or sys.platform == "win32" or not hasattr(mmap, "PROT_EXEC"),
    reason="needs the control word of an x86 processor",
)
def test_a_processor_told_to_flush_denormals_is_told_otherwise_inside_the_core_alone():
    done = run(FLUSHED, check=False, SEPARATRIX_NUM_THREADS="4")
    if "PermissionError" in done.stderr:
        pytest.skip("this system lets no page be written and run")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True, True]


@compiled
def test_other_threads_run_while_the_core_works():
    X, y = noise(3000, 50, 4)
    engine = make_engine("dense", hold(X, y), parse_method("lr-gd", 0.01))
    engine.use_threads(1)
    ran = False
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e4)  # from now on a thread gives way only where it says so
    try:
        for _ in range(50):  # a busy machine may need more than one call to find the other thread a processor
            gate, through = threading.Lock(), []
            gate.acquire()
            other = threading.Thread(target=lambda gate=gate, through=through: (gate.acquire(), through.append(1)))
            other.start()
            gate.release()
            engine.advance(200, False)
            ran = bool(through)
            other.join()
            if ran:
                break
    finally:
        sys.setswitchinterval(before)
    assert ran
