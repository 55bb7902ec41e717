"""The compiled core and its face: the five rules written out by hand, any shape, and nothing that it cannot read."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import inf, sqrt, ulp
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from conftest import BATCH, INSTRUCTION_SETS, serving
from far import save, scattered
from separatrix.core import definition, gram, shard
from separatrix.core.library import ENTRIES, FACE, RECORDS, Ask, Bounds, Sweep, address, library
from separatrix.core.rows import BLOCK, GROUP, Stored, distance, norm
from separatrix.core.sweep import Walker
from separatrix.core.threads import limit_threads
from separatrix.data.memory import hold
from separatrix.data.problem import as_problem
from separatrix.walking.engines import make_engine
from separatrix.walking.engines.perceptron import sweep_together
from separatrix.walking.methods import ORDERS, parse_method

pytestmark = pytest.mark.skipif(not INSTRUCTION_SETS, reason="needs the compiled core: build it with make core")
rng_of = np.random.default_rng


# The rules, by hand ------------------------------------------------------------------------------------------------


def dot_by_hand(x: Any, v: Any) -> Any:
    """Rule 2 as it is written, for numbers of one type, one operation at a time: float64 has 8 lanes, float32 16."""
    zero = v.dtype.type(0)
    lanes = 64 // v.itemsize
    d = len(x)
    D = lanes * (d // lanes)
    s = [zero] * lanes
    for k in range(D):
        s[k % lanes] = s[k % lanes] + x[k] * v[k]
    if lanes == 16:
        s = [s[j] + s[j + 8] for j in range(8)]
    total = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
    for k in range(D, d):
        total = total + x[k] * v[k]
    return total


def sum_by_hand(terms: list[float]) -> float:
    """Rule 3 as it is written: in order inside blocks of 512, then 64 sums at a time until one is left."""
    size = 512
    while True:
        sums = []
        for lo in range(0, len(terms), size):
            total = 0.0
            for term in terms[lo : lo + size]:
                total = total + term
            sums.append(total)
        if len(sums) <= 1:
            return sums[0] if sums else 0.0
        terms, size = sums, 64


def spread(rng: np.random.Generator, shape: Any, kind: Any = np.float64, most: int = 6) -> np.ndarray:
    """Numbers of very different size."""
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-most, most + 1, shape)).astype(kind)


@pytest.mark.parametrize("d", range(41))
def test_a_dot_product_is_the_one_written_out_by_hand(d):
    rng = rng_of(d)
    X, v, bias = spread(rng, (9, d)), spread(rng, d + 1), 0.3
    by_hand = [dot_by_hand(x, v[:d]) for x in X]
    assert definition.dots(X, v[:d]).tolist() == by_hand
    for kind in (np.float32, np.float64):  # rows of float32 are multiplied in float64
        A = X.astype(kind)
        by_hand = [dot_by_hand(a.astype(np.float64), v[:d]) + bias * v[d] for a in A]
        for stored in (Stored((A,), d, bias), Stored(csr(A), d, bias)):
            for simd in INSTRUCTION_SETS:
                with serving(simd):
                    m = np.empty(9)
                    stored.margins(np.ones(9), v, m, np.arange(9))
                    assert m.tolist() == by_hand, (kind, stored.sparse, simd)


def bits_by_hand(x: float) -> int:
    """How many bits the significand of x needs."""
    whole = abs(float(x).as_integer_ratio()[0])
    return (whole // (whole & -whole)).bit_length() if whole else 0


def mixed(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Short numbers, long ones, zeros and denormals."""
    with np.errstate(under="ignore"):
        A = np.where(rng.random(shape) < 0.3, spread(rng, shape).astype(np.float32), spread(rng, shape))
        A = np.where(rng.random(shape) < 0.2, A * 10.0 ** -rng.integers(308, 322, shape), A)
    A[rng.random(shape) < 0.1] = 0.0
    A.flat[::17] = 5e-324
    A.flat[5::17] = -(2.0**32 + 1)
    return A


@pytest.mark.parametrize("d", range(1, 41))
def test_a_span_is_the_dot_product_of_sizes_and_skips_what_was_not_rounded(d):
    rng = rng_of(d)
    X, v, bias = mixed(rng, (11, d)), spread(rng, d + 1), -0.3
    idx = np.array([3, 0, 10, 7, 7, 1, 2, 9, 4])
    for kind in (np.float32, np.float64):
        with np.errstate(under="ignore"):
            A = X.astype(kind)
        wide = A.astype(np.float64)
        moved = np.where(np.vectorize(bits_by_hand)(wide) > 32, abs(wide), 0.0)
        tail = bias * v[d]
        by_hand = [
            [dot_by_hand(a, v[:d]) + tail for a in wide[idx]],
            [dot_by_hand(abs(a), abs(v[:d])) + abs(tail) for a in wide[idx]],
            [dot_by_hand(a, abs(v[:d])) for a in moved[idx]],
        ]
        with np.errstate(under="ignore"):
            assert definition.spans(A[idx], bias, v).tolist() == by_hand
        for stored in (Stored((A,), d, bias), Stored(csr(A), d, bias)):
            for simd in INSTRUCTION_SETS:
                with serving(simd):
                    assert stored.spans(v, idx, moved=True).tolist() == by_hand, (kind, stored.sparse, simd)
                    assert stored.spans(v, idx).tolist() == by_hand[:2], (kind, stored.sparse, simd)


def test_spans_and_norms_are_the_same_on_any_number_of_threads():
    X, v = spread(rng_of(0), (3000, 50)), spread(rng_of(1), 51)
    for stored in (Stored((X,), 50, 0.5), Stored(csr(X), 50, 0.5)):
        alone, together = (stored.spans(v, np.arange(3000), threads, moved=True) for threads in (1, 3))
        assert (alone == together).all()
        before = limit_threads(1)
        alone = stored.norms()
        limit_threads(3)
        together = stored.norms()
        limit_threads(before)
        assert (alone == together).all()


@pytest.mark.parametrize("d", range(41))
def test_a_float32_dot_product_has_sixteen_lanes(d):
    rng = rng_of(d)
    X, v = spread(rng, (5, d), np.float32), spread(rng, d, np.float32)
    assert definition.dots(X, v).tolist() == [dot_by_hand(x, v) for x in X]


@pytest.mark.parametrize(
    "n", [0, 1, 2, 511, 512, 513, 40_000, pytest.param(BLOCK * GROUP * GROUP + 700, marks=pytest.mark.long)]
)
def test_a_sum_of_rows_is_the_one_written_out_by_hand(n):
    rng = rng_of(n)
    X, w, sign = spread(rng, (n, 3)), spread(rng, n), rng.choice([-1.0, 1.0], n)
    w[rng.random(n) < 0.3] = 0.0  # rows that weigh nothing change nothing
    by_hand = [sum_by_hand((w * sign * X[:, k]).tolist()) for k in range(3)]
    by_hand += [sum_by_hand((w * sign * 0.7).tolist()), sum_by_hand(w.tolist())]
    if n:
        assert definition.pull(X, sign, 0.7, w).tolist() == by_hand
    for stored in (Stored((X,), 3, 0.7), Stored(csr(X), 3, 0.7)):
        for simd in INSTRUCTION_SETS:
            with serving(simd):
                assert stored.sum(sign, np.arange(n), w, threads=2).tolist() == by_hand, simd
                assert stored.sum(sign, np.flatnonzero(w), w).tolist() == by_hand, simd


@pytest.mark.parametrize("d", [*range(20), 100])
def test_norms_and_distances_are_roots_of_dot_products(d, simd):
    a, b = spread(rng_of(d), (2, d))
    assert norm(a) == definition.norm(a) == sqrt(dot_by_hand(a, a))
    assert distance(a, b) == definition.distance(a, b) == sqrt(dot_by_hand(a - b, a - b))
    for unit in (2.0**-1060, 2.0**-600, 2.0**600, 2.0**990):  # squares leave float64, lengths do not
        with np.errstate(under="ignore"):
            c = a * unit
        assert norm(c) == definition.norm(c)
        if unit > 2.0**-1000:
            assert norm(c) == sqrt(dot_by_hand(a, a)) * unit


# exp ---------------------------------------------------------------------------------------------------------------


def exp_of_core(x: np.ndarray) -> np.ndarray:
    out = np.empty(len(x))
    library().exponentials(address(x), len(x), address(out))
    return out


def exponents(count: int) -> np.ndarray:
    """All over the range and its ends, near 0, near multiples of ln 2 and half ones, where another power begins."""
    rng = rng_of(4)
    near = np.arange(-2150, 2050) / 2 * 0.6931471805599453
    ends = [-746.0, -745.14, -745.13, -708.4, -0.0, 0.0, 709.78, 709.79, 710.0, -1e300, 1e300, 5e-324, -inf, inf]
    return np.concatenate([rng.uniform(-746, 710, count), rng.uniform(-1, 1, count), spread(rng, count), near, ends])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_exp_is_within_one_unit_in_the_last_place_of_the_exact_value(kind):
    with np.errstate(over="ignore", under="ignore"):
        x = exponents(1500).astype(kind)
    x = x[(x > (-708 if kind is np.float64 else -87)) & (x < (709.7 if kind is np.float64 else 88.7))]
    with localcontext() as context:
        context.prec = 60
        for at, got in zip(x.tolist(), definition.exp(x), strict=True):
            exact = Decimal(at).exp()
            unit = ulp(float(exact)) if kind is np.float64 else float(np.spacing(np.float32(exact)))
            assert abs(Decimal(float(got)) - exact) <= Decimal(unit), at


def test_exp_is_within_one_unit_where_results_are_denormal_and_ends_in_0_and_infinity():
    x = np.linspace(-745.2, -708, 800)
    with localcontext() as context:
        context.prec = 60
        for at, got in zip(x.tolist(), definition.exp(x).tolist(), strict=True):
            assert abs(Decimal(got) - Decimal(at).exp()) <= Decimal(5e-324), at
    assert definition.exp(np.array([-inf, -746.0, 0.0, 710.0, inf])).tolist() == [0.0, 0.0, 1.0, inf, inf]


def test_exp_has_the_bits_of_the_definition(simd):
    x = exponents(60_000)
    assert exp_of_core(x).tobytes() == definition.exp(x).tobytes()
    for n in range(20):  # a part of a register
        assert exp_of_core(x[:n]).tobytes() == definition.exp(x[:n]).tobytes()


def test_float32_weights_have_the_bits_of_the_definition(simd):
    rng = rng_of(5)
    X = rng.uniform(-1, 1, (20_001, 1)).astype(np.float32)
    rows, how = hold(X, np.ones(len(X)), signed=True), parse_method("lr-gd", 60.0)
    engine = make_engine("dense", rows, how, np.ones(1) * 60.0, arithmetic="float32")
    engine.advance(0, False)
    m, w = engine.m, engine.local.arrays["w"]
    some = rows.sign * X[:, 0] <= 0.5
    with np.errstate(over="ignore"):
        expected = 1 / (1 + definition.exp(np.float32(engine.rule.gamma) * m))
    assert m.dtype == w.dtype == np.float32 and some.sum() > 10_000
    assert w[some].tobytes() == expected[some].tobytes()


# Any shape ---------------------------------------------------------------------------------------------------------


def csr(X: np.ndarray, index: Any = np.int32) -> tuple[np.ndarray, ...]:
    found = sparse.csr_array(X)
    return found.data, found.indices.astype(index), found.indptr.astype(index)


def extreme(rng: np.random.Generator, shape: Any, kind: Any) -> np.ndarray:
    """Finite numbers of any size, zeros of both signs and denormals among them."""
    most = 37 if kind == np.float32 else 300
    X = spread(rng, shape, kind, most if rng.random() < 0.3 else 3)
    some = rng.random(shape)
    X[some < 0.2] = 0.0
    X[some > 0.95] = -0.0
    X[(some > 0.9) & (some < 0.95)] *= kind(1e-40 if kind == np.float32 else 1e-310)
    return X


@pytest.mark.parametrize("seed", range(120))
def test_rows_of_any_shape_and_size_have_the_bits_of_the_definition(seed, simd):
    rng = rng_of(seed)
    n = int(rng.choice([0, 1, 2, 3, 7, 8, 9, 64, 65, 511, 512, 513, 1100]))
    d = int(rng.choice([0, 1, 5, 8, 9, 31, 130]))
    kind, threads = rng.choice([np.float32, np.float64]), int(rng.integers(1, 9))
    bias = float(rng.choice([0.0, 1.0, 0.1]))
    with np.errstate(all="ignore"):  # sums beyond float64 are infinite, and then no number, in both
        X = extreme(rng, (n, d), kind)
        sign, phi, w = rng.choice([-1.0, 1.0], n), extreme(rng, d + 1, np.float64), extreme(rng, n, np.float64)
        m, total = definition.margins(X, sign, bias, phi), definition.pull(X, sign, bias, w) if n else np.zeros(d + 2)
        lengths = [definition.norm(x) for x in X]
    arrays = (X,) if rng.random() < 0.5 else csr(X, rng.choice([np.int32, np.int64]))
    stored, found, idx = Stored(arrays, d, bias), np.full(n, 7.0), np.flatnonzero(rng.random(n) < 0.7)
    np.testing.assert_array_equal(stored.norms(), lengths)
    stored.margins(sign, phi, found, idx, threads)
    np.testing.assert_array_equal(found[idx], m[idx])
    assert (np.delete(found, idx) == 7.0).all()
    np.testing.assert_array_equal(stored.sum(sign, np.flatnonzero(w), w, threads), total)


def any_problem(rng: np.random.Generator) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Rows of any kind, labels, and options."""
    n, d = int(rng.choice([2, 3, 9, 40, 300, 700])), int(rng.choice([1, 2, 7, 8, 30]))
    X = rng.integers(-3, 4, (n, d)) * 1.0 if rng.random() < 0.3 else rng.standard_normal((n, d))
    X *= 10.0 ** float(rng.choice([0, 0, 0, -200, 150]))
    if rng.random() < 0.3 and 1e-30 < abs(X).max() < 1e30:
        X = X.astype(np.float32)
    y = rng.permuted(np.resize([-1.0, 1.0], n))
    if rng.random() < 0.5:
        y = np.where(X.astype(np.float64) @ (rng.standard_normal(d) / abs(X).max()) > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    weights = rng.choice([0.0, 1.0, 2.5], n) if rng.random() < 0.4 else None
    if weights is not None:
        weights[0] = 1.0
    X = sparse.csr_array(X) if rng.random() < 0.3 else X
    return X, y, {"sample_weight": weights, "fit_intercept": bool(rng.random() < 0.5)}


def any_walk(seed: int, folder: Any) -> None:
    """One problem, one method, all engines, in pieces of any length and on any number of threads."""
    rng = rng_of(seed)
    X, y, options = any_problem(rng)
    rowwise = options["sample_weight"] is None and rng.random() < 0.4
    logistic = not rowwise and rng.random() < 0.7
    gamma = float(10.0 ** rng.uniform(-6, 9)) if logistic else None
    order = str(rng.choice(ORDERS)) if rowwise else "cyclic"
    name = "perceptron" if rowwise else str(rng.choice(BATCH[:2] if logistic else BATCH[2:]))
    method = parse_method(name, gamma, order)
    rows = hold(X, y, **options)
    hops = rng.integers(0, 40, 6).tolist()
    with np.errstate(all="ignore"):
        expected = taken(make_engine("numpy", rows, method, seed=seed), hops, 1)
    for engine in ("dense", "lazy"):
        found = taken(make_engine(engine, rows, method, seed=seed), hops, int(rng.integers(1, 9)))
        assert found == expected, (seed, engine)
    taken(make_engine("gram", rows, method, seed=seed), hops, int(rng.integers(1, 9)))  # its own bits
    if order != "cyclic":
        return
    for shards, engine in ((1, "dense"), (3, "lazy")):
        far = scattered(X, y, shards, weight=options["sample_weight"], intercept=options["fit_intercept"])
        assert taken(make_engine(engine, far, method), hops, 1) == expected, (seed, shards)
    if not sparse.issparse(X):
        (path,), labels = save(folder, X, y)
        with as_problem(path, labels, memory_limit="8GB", **options) as problem:
            for engine in ("lazy", "dense"):
                assert taken(make_engine(engine, problem.rows, method), hops, 1) == expected, (seed, engine, "file")


def taken(engine: Any, hops: list[int], threads: int) -> list[Any]:
    """φ after each of these pieces; after some the engine is measured and checked, or loaded from what it saved."""
    engine.use_threads(threads)
    seen = []
    for hop in hops:
        engine.advance(hop, False)
        seen.append((engine.t, engine.phi().tobytes()))
        if hop % 3 == 0:
            engine.measure()
            engine.check()
        if hop % 3 == 1:
            engine.load(engine.save())
    return seen


@pytest.mark.parametrize("seed", [s if s < 40 else pytest.param(s, marks=pytest.mark.long) for s in range(400)])
def test_any_problem_in_pieces_of_any_length_has_the_bits_of_the_definition(seed, tmp_path):
    with serving(INSTRUCTION_SETS[seed % len(INSTRUCTION_SETS)]):
        any_walk(seed, tmp_path)


def test_these_tests_call_every_entry_of_the_library(monkeypatch, tmp_path):
    lib, called = library(), set()

    def spy(name: str) -> Any:
        entry = getattr(lib, name)
        return lambda *arguments: (called.add(name), entry(*arguments))[1]

    before = lib.serving()
    for name in ENTRIES:
        monkeypatch.setattr(lib, name, spy(name))
    for seed in range(30):
        any_walk(seed, tmp_path)
    exp_of_core(np.zeros(3))
    distance(np.zeros(3), np.ones(3))
    Stored((np.ones((2, 3)),), 3).spans(np.ones(4), np.arange(2))
    lib.serve(before)
    lib.serving()
    assert lib.face() == FACE and lib.size(len(RECORDS)) == -1 and all(lib.size(k) > 0 for k in range(len(RECORDS)))
    X, y = rng_of(0).standard_normal((50, 4)), np.resize([-1.0, 1.0], 50)
    rows, how = hold(X, y), parse_method("perceptron")
    sweep_together([make_engine("lazy", rows, how) for _ in range(3)])
    facts = shard.keep(4, sign=np.ones(4, dtype=np.int8), r=np.ones(4, np.float32), reach=np.ones(4, np.float32),
                       far=np.ones(4, np.float32), s=None, wrong=np.zeros(4, np.uint8))  # fmt: skip
    assert shard.any_due(facts, Ask(tau=0.5, path=1.0, line=1.0), 0, 4)
    assert shard.count_wrong(facts, 0, 4, 0.5) == 0 and shard.count_wrong(facts, 1, 4, 1.5) == 3
    assert called == set(ENTRIES)


# What is refused ---------------------------------------------------------------------------------------------------

X3 = np.arange(12.0).reshape(4, 3)
ONES, EVERY, PHI = np.ones(4), np.arange(4), np.ones(4)
REFUSED: dict[str, Any] = {
    "whole rows": lambda: Stored((X3.astype(int),), 3),
    "rows of half precision": lambda: Stored((X3.astype(np.float16),), 3),
    "rows in columns' order": lambda: Stored((np.asfortranarray(X3),), 3),
    "every other row": lambda: Stored((np.ones((8, 3))[::2],), 3),
    "rows of another length": lambda: Stored((X3,), 4),
    "a vector of rows": lambda: Stored((ONES,), 1),
    "fewer columns than entries": lambda: Stored((np.ones(3), np.zeros(2, int), np.array([0, 3])), 3),
    "starts beyond the entries": lambda: Stored((np.ones(2), np.zeros(2, int), np.array([0, 3])), 3),
    "no starts": lambda: Stored((np.ones(0), np.zeros(0, int), np.zeros(0, int)), 3),
    "float32 φ": lambda: Stored((X3,), 3).margins(ONES, PHI.astype(np.float32), np.empty(4), EVERY),
    "φ without its last entry": lambda: Stored((X3,), 3).margins(ONES, PHI[:3], np.empty(4), EVERY),
    "too few signs": lambda: Stored((X3,), 3).margins(ONES[:3], PHI, np.empty(4), EVERY),
    "whole signs": lambda: Stored((X3,), 3).margins(ONES.astype(int), PHI, np.empty(4), EVERY),
    "margins with gaps": lambda: Stored((X3,), 3).margins(ONES, PHI, np.empty(8)[::2], EVERY),
    "a backward φ": lambda: Stored((X3,), 3).margins(ONES, PHI[::-1], np.empty(4), EVERY),
    "row n": lambda: Stored((X3,), 3).margins(ONES, PHI, np.empty(4), np.array([0, 4])),
    "row -1": lambda: Stored((X3,), 3).sum(ONES, np.array([-1, 0]), ONES),
    "int32 row numbers": lambda: Stored((X3,), 3).sum(ONES, EVERY.astype(np.int32), ONES),
    "a table of row numbers": lambda: Stored((X3,), 3).sum(ONES, EVERY.reshape(2, 2), ONES),
    "falling row numbers": lambda: Stored((X3,), 3).sum(ONES, EVERY[::-1].copy(), ONES),
    "a row twice": lambda: Stored((X3,), 3).sum(ONES, np.array([1, 1]), ONES),
    "weights of float32": lambda: Stored((X3,), 3).sum(ONES, EVERY, ONES.astype(np.float32)),
    "vectors of two lengths": lambda: distance(np.ones(3), np.ones(4)),
    "an order with a row that is not there": lambda: walker().sweep(np.array([0, 1, 2, 4]), 1),
    "a short order": lambda: walker().sweep(EVERY[:3], 1),
    "an order of floats": lambda: walker().sweep(ONES, 1),
    "a perceptron with too long a φ": lambda: walker(phi=np.ones(5)),
    "a table of columns of another length": lambda: columns(table=np.zeros((2, 5))),
    "a slot that is not there": lambda: columns(slots=np.array([2])),
    "a row that is not there": lambda: columns(rows=np.array([4])),
    "as many slots as rows": lambda: columns(rows=np.array([1, 2])),
    "facts of too few rows": lambda: shard.keep(4, sign=np.ones(3, dtype=np.int8)),
    "signs of float64": lambda: shard.keep(4, sign=ONES),
    "edges beyond the rows": lambda: passed(np.array([0, 5])),
    "falling edges": lambda: passed(np.array([3, 1, 4])),
    "rows beyond the array": lambda: passed(np.array([0, 4]), first=1),
    "sums of another width": lambda: passed(np.array([0, 4]), width=4),
    "a block of a file with too few rows": lambda: shard.sweep_file(Stored((X3,), 3), 0, 0, walk(), 0, 4),
    "a sweep past the last row": lambda: shard.sweep_held(Stored((X3,), 3), 0, walk(), 0, 5),
    "φ elsewhere with too few numbers": lambda: shard.sweep_held(Stored((X3,), 3), 0, walk(3), 0, 4),
}  # fmt: skip


def walker(phi: Any = PHI) -> Walker:
    return Walker(Stored((X3,), 3), ONES, ONES, phi.copy(), lazy=False, average=False, most_wrong=False)


def columns(rows: Any = EVERY[:1], slots: Any = EVERY[:1], table: Any = None) -> None:
    table = np.zeros((2, 4)) if table is None else table
    gram.Columns(3).compute(Stored((X3,), 3), ONES, rows, slots, table, np.zeros((0, 4), np.float32), 1)


def facts_of_four() -> Any:
    return shard.keep(4, sign=np.ones(4, dtype=np.int8), s=None, r=None, reach=None, far=None, wrong=None)


def passed(edges: Any, first: int = 0, width: int = 5) -> None:
    leaves = len(edges) - 1
    ask = Ask(gamma=inf, every=1, unit=1.0)
    ask.point(phi=PHI)
    counts = np.zeros((leaves, shard.COUNTS))
    shard.pass_held(Stored((X3,), 3), first, facts_of_four(), ask, edges, np.zeros((leaves, width)), counts, True)


def walk(entries: int = 4) -> shard.Walk:
    v = np.ones(entries)
    return shard.Walk(facts_of_four(), v, v.copy(), 1.0, Sweep(), 4, 1, False)


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_core_cannot_read_is_refused_in_one_sentence(what):
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        REFUSED[what]()
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 160


@pytest.mark.parametrize("bad", ["a column that is not there", "starts that fall"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_broken_sparse_matrix_is_refused_at_the_door(bad, form):
    X = sparse.csr_array(rng_of(0).standard_normal((6, 6))).asformat(form)
    if bad == "a column that is not there":
        X.indices[-1] = 600
    else:
        X.indptr[2] = 36
    X.has_canonical_format = False
    with pytest.raises(ValueError, match="ind"):
        hold(X, np.resize([0, 1], 6))


def test_a_look_keeps_its_own_count_of_rows_and_vectors():
    bounds, phi = Bounds(D=4, n=10), np.ones(4)
    bounds.point(anchor=np.zeros(4), last=np.zeros(4))
    shard.begin_look(bounds, phi, 2.0, fresh=False, lazy=True)
    assert bounds.every == 1 and bounds.length == 2.0
    shard.end_look(bounds, phi, 10, lazy=True)
    assert bounds.anchored == 1 and bounds.arrays["anchor"].tolist() == [1.0] * 4
