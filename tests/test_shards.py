"""Rows in files, read piece by piece: the same steps as in memory, within a memory limit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import separatrix as sx
from far import FIVE, methods, same_path, save, scattered, uneven
from separatrix.core.definition import in_order
from separatrix.core.rows import BLOCK, GROUP, Tree
from separatrix.data.labels import join_labels
from separatrix.data.open import bytes_of
from separatrix.data.sources import Binary
from separatrix.shards.layout import align, largest, leaves
from separatrix.shards.shard import PIECE
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method

LIMIT = "8GB"  # this process holds a good deal already when its turn comes


# Sums --------------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(1, 9000), st.lists(st.integers(0, 9000), max_size=6), st.integers(0, 2**32))
def test_groups_summed_apart_give_the_bits_of_one_sum(blocks, cuts, seed):
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((blocks, 2)) * 10.0 ** rng.integers(-8, 9, (blocks, 1))
    whole = parts
    while len(whole) > 1:  # rule 3
        whole = np.stack([in_order(whole[g : g + GROUP]) for g in range(0, len(whole), GROUP)])
    tree = Tree(2)
    edges = sorted({0, blocks, *(min(c, blocks) for c in cuts)})
    for b0, b1 in zip(edges[:-1], edges[1:], strict=True):
        b = b0
        while b < b1:
            level, number = largest(0, b, b0, b1, blocks)
            end = min((number + 1) * GROUP**level, blocks)
            own, node = Tree(2), parts[b]
            if level:
                for k in range(b, end):
                    own.put(0, k, parts[k])
                node = own.finish(level)
            tree.put(level, number, node)
            b = end
    assert np.array_equal(whole[0], tree.finish())


@settings(max_examples=60)
@given(st.integers(1, 200_000), st.integers(1, 9), st.integers(0, 8))
def test_leaves_cover_a_shard_once_and_no_group_of_them_crosses_a_break(n, shards, k):
    bounds = align([n * j // shards for j in range(shards)], n)
    k = min(k, len(bounds) - 2)
    first, size = bounds[k], bounds[k + 1] - bounds[k]
    breaks = [0, size // 3, size]
    edges, levels, numbers = leaves(first, size, n, breaks)
    assert edges[0] == 0 and edges[-1] == size and (np.diff(edges) > 0).all()
    starts = np.where(levels == 1, numbers * GROUP, numbers) * BLOCK - first
    assert np.array_equal(starts, edges[:-1])
    crossing = [e < size // 3 < f for e, f in zip(edges[:-1], edges[1:], strict=True)]
    assert not (levels[crossing] == 1).any()


# The same steps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [80, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", FIVE)
def test_a_file_walks_the_path_of_the_array(name, steps, tmp_path):
    X, y = FIVE[name]()
    (path,), labels = save(tmp_path, X, y)
    for method, gamma in methods():
        run = sx.solve(X, y, method, step_size=gamma, engine="lazy", max_iter=steps)
        far = sx.solve(path, labels, method, step_size=gamma, max_iter=steps, memory_limit=LIMIT)
        assert far.engine == "files"
        assert same_path(run, far), (method, gamma)


@pytest.mark.parametrize("shards", [1, 2, 7, 50])
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("fifty shards", 30),
        pytest.param("fifty shards", 200, marks=pytest.mark.long),
        pytest.param("past one group", 200, marks=pytest.mark.long),
    ],
)
def test_any_number_of_shards_walks_the_same_path(name, steps, shards):
    X, y = FIVE[name]()
    for method, gamma in methods():
        run = sx.solve(X, y, method, step_size=gamma, engine="lazy", max_iter=steps)
        walk = Walk(scattered(X, y, shards), parse_method(method, gamma), max_iter=steps)
        for _ in walk.iterates():
            pass
        assert same_path(run, walk.run()), (method, gamma)
    assert walk.run().stats["shards"] == shards


@pytest.mark.parametrize("stop", ["separated", None])
def test_weights_an_intercept_and_running_on_past_separation_change_nothing(stop, tmp_path):
    X, y = uneven(4_000, 6, 7)
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    (path,), labels = save(tmp_path, X[:, :-1], y)
    for method, gamma in methods():
        for engine in ("lazy", "dense"):
            options = {"step_size": gamma, "max_iter": 200, "stop": stop, "engine": engine, "fit_intercept": True}
            options |= {} if method == "perceptron" else {"sample_weight": weight}
            run = sx.solve(X[:, :-1], y, method, **options)
            assert same_path(run, sx.solve(path, labels, method, memory_limit=LIMIT, **options)), (
                method,
                gamma,
                engine,
            )


def test_a_start_away_from_zero_has_the_same_first_step_in_a_file(tmp_path):
    X, y = uneven(2_000, 6, 8)
    (path,), labels = save(tmp_path, X, y)
    options = {"theta0": np.random.default_rng(1).standard_normal(6), "max_iter": 30}
    for method, gamma in (("batch-perceptron", None), ("tempered-batch-perceptron", None), ("lr-gd", np.inf)):
        for engine in ("lazy", "dense"):
            run = sx.solve(X, y, method, step_size=gamma, engine=engine, **options)
            far = sx.solve(path, labels, method, step_size=gamma, engine=engine, memory_limit=LIMIT, **options)
            assert same_path(run, far), (method, gamma, engine)


def test_a_row_that_turns_right_far_from_the_anchor_is_noticed():
    X, y = uneven(26_001, 9, 2)
    run = sx.solve(X, y, "normalized-batch-perceptron", engine="lazy", max_iter=600)
    walk = Walk(scattered(X, y, 50), parse_method("normalized-batch-perceptron"), max_iter=600)
    for _ in walk.iterates():
        pass
    assert np.array_equal(run.phi, walk.run().phi)


def test_sparse_rows_in_shards_take_the_same_steps():
    rng = np.random.default_rng(5)
    X, y = sparse.random(5_000, 30, 0.2, "csr", rng=rng), rng.choice([-1, 1], 5_000)
    for method, gamma in methods():
        run = sx.solve(X, y, method, step_size=gamma, engine="lazy", max_iter=80)
        walk = Walk(scattered(X, y, 3), parse_method(method, gamma), max_iter=80)
        for _ in walk.iterates():
            pass
        assert same_path(run, walk.run()), (method, gamma)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", ">f4", "bool"])
def test_files_of_any_number_type_are_read_as_arrays_of_it_are(dtype, tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2 if dtype == "bool" else 9, (1500, 12)).astype(dtype), rng.integers(0, 2, 1500)
    (path,), labels = save(tmp_path, X, y)
    for method in ("batch-perceptron", "perceptron"):
        run = sx.solve(X, y, method, engine="lazy", max_iter=60)
        assert same_path(run, sx.solve(path, labels, method, max_iter=60, memory_limit=LIMIT))


def test_a_list_of_files_is_their_rows_one_after_the_other(tmp_path):
    X, y = uneven(40_001, 6, 5, np.float32)
    paths, labels = save(tmp_path, X, y, pieces=5)
    for method in ("normalized-batch-perceptron", "perceptron"):
        run = sx.solve(X, y, method, engine="lazy", max_iter=150)
        assert same_path(run, sx.solve(paths, labels, method, max_iter=150, memory_limit=LIMIT))


def test_memory_maps_and_views_of_them_are_read_from_their_file(tmp_path):
    X, y = uneven(3_000, 6, 6)
    (path,), _ = save(tmp_path, X, y)
    mapped = np.load(path, mmap_mode="r")
    run = sx.solve(X[500:], y[500:], "batch-perceptron", engine="lazy", max_iter=100)
    far = sx.solve(mapped[500:], y[500:], "batch-perceptron", max_iter=100, memory_limit=LIMIT)
    assert far.engine == "files" and same_path(run, far)
    private = np.load(path, mmap_mode="c")
    with pytest.raises(ValueError, match="changes or an order that its file has not"):
        sx.solve(private, y, "batch-perceptron", memory_limit=LIMIT)


def parquet(folder: Path, X: np.ndarray, y: np.ndarray, group: int) -> str:
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"label": y})
    path = str(folder / "rows.parquet")
    pq.write_table(table, path, row_group_size=group)
    return path


@pytest.mark.parametrize("group", [700, 50_000])
def test_parquet_walks_the_path_of_the_array(group, tmp_path):
    X, y = uneven(40_001, 6, 5, np.float32)
    path = parquet(tmp_path, X, np.where(y > 0, "up", "down"), group)
    for method in ("normalized-batch-perceptron", "perceptron"):
        run = sx.solve(X, y, method, engine="lazy", max_iter=60)
        assert same_path(run, sx.solve(path, "label", method, max_iter=60, memory_limit=LIMIT))
    assert sx.solve(path, "label", "perceptron", max_iter=60).n_iter == run.n_iter  # small enough to be read whole


def test_row_groups_in_which_no_row_is_due_are_not_decoded(tmp_path, monkeypatch):
    X, y = uneven(20_000, 4, 8)
    theta = sx.max_margin(X, y).theta
    order = np.argsort(y * (X @ theta))  # the rows that are hard come first
    X, y = X[order], y[order]
    path = parquet(tmp_path, X, y, 1_000)
    from separatrix.data import sources
    from separatrix.shards import local
    from separatrix.walking import loop

    begun: list[int] = []
    stream = sources._Stream.__init__

    def note(self, source, group):
        begun.append(group)
        stream(self, source, group)

    monkeypatch.setattr(sources._Stream, "__init__", note)
    monkeypatch.setattr(loop, "SLICE", 1e9)  # how far ahead a run looks does not depend on the machine then,
    monkeypatch.setattr(local, "threads", lambda: 2)  # nor what is read together
    run = sx.solve(path, "label", "batch-perceptron", max_iter=400, record=None, memory_limit=LIMIT)
    assert len(begun) < 0.85 * 20 * run.n_iter


def test_bounds_stay_below_the_largest_float32(tmp_path):
    X, y = uneven(3_000, 6, 6)
    (path,), labels = save(tmp_path, X, y)
    weight = np.full(3_000, 1e45)
    options = {"sample_weight": weight, "max_iter": 60}
    run = sx.solve(X, y, "batch-perceptron", engine="lazy", **options)
    assert same_path(run, sx.solve(path, labels, "batch-perceptron", memory_limit=LIMIT, **options))


@pytest.mark.filterwarnings("ignore:overflow")  # the point of the test
def test_a_margin_that_is_no_number_is_not_right(tmp_path):
    X = np.array([[0.3e308, 1.2e308], [0.0, 0.5e308], [-1e308, 0.0]])
    (path,), labels = save(tmp_path, X, np.array([1, 1, 0]))
    options = {"theta0": [1.7e308, -1e308], "max_iter": 50}
    here = sx.solve(X, [1, 1, 0], "perceptron", **options)
    far = sx.solve(path, labels, "perceptron", memory_limit=LIMIT, **options)
    assert not here.separated and not far.separated


def test_numbers_and_text_among_the_labels_are_not_mistaken_for_each_other(tmp_path):
    X, y = uneven(3_000, 6, 6)
    with pytest.raises(ValueError, match="mixes labels that cannot be ordered"):
        join_labels([np.array([-1, 1]), np.array(["-1", "1"])])
    with pytest.raises(ValueError, match="mixes labels that cannot be ordered"):
        join_labels([np.array([1], dtype=object), np.array(["1"], dtype=object)])
    (path,), _ = save(tmp_path, X, y)
    text = [str(v) for v in y]  # a list of labels, not of files
    assert sx.solve(path, text, "perceptron", max_iter=5, memory_limit=LIMIT).n_iter == 5


@pytest.mark.skipif(sys.platform != "linux", reason="counts the files of /proc")
def test_files_are_closed_again(tmp_path):
    X, y = uneven(3_000, 6, 6)
    paths, labels = save(tmp_path, X, y, pieces=3)
    sx.solve(paths, labels, "perceptron", max_iter=5, memory_limit=LIMIT)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        sx.solve(paths, labels, "perceptron", max_iter=5, memory_limit=LIMIT)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_rows_that_are_decoded_come_in_small_pieces(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (40_000, 300)).astype(np.uint8), rng.integers(0, 2, 40_000)
    (path,), labels = save(tmp_path, X, y)
    sizes = []
    read = Binary.read

    def note(self, lo, hi):
        sizes.append((hi - lo) * 300 * 4)
        return read(self, lo, hi)

    monkeypatch.setattr(Binary, "read", note)
    run = sx.solve(X, y, "batch-perceptron", engine="lazy", max_iter=4)
    far = sx.solve(path, labels, "batch-perceptron", max_iter=4, memory_limit=LIMIT)
    assert same_path(run, far) and max(sizes) <= PIECE
    run = sx.solve(X, y, "perceptron", engine="lazy", max_iter=900, record=None)
    far = sx.solve(path, labels, "perceptron", max_iter=900, record=None, memory_limit=LIMIT)
    assert np.array_equal(run.phi, far.phi)


# Memory ------------------------------------------------------------------------------------------------------------

CODE = """
import sys
import separatrix as sx
path, labels, method, budget, limit = sys.argv[1:]
run = sx.solve(path, labels, method, memory_limit=int(limit), record=None, max_iter=int(budget))
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))  # resident, in kB
print(run.n_iter, run.engine, peak * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of /proc")
@pytest.mark.parametrize("method", ["perceptron", "normalized-batch-perceptron", "lr-gd"])
@pytest.mark.parametrize(("rows", "limit"), [(600_000, 300), pytest.param(1_500_000, 500, marks=pytest.mark.long)])
def test_a_file_of_360_megabytes_is_solved_in_300_and_one_of_900_in_500(rows, limit, method, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / f"{rows} rows"
    path = folder / "rows.npy"
    if not path.exists():
        folder.mkdir()
        rng = np.random.default_rng(0)
        u = rng.standard_normal(150).astype(np.float32)
        u /= np.linalg.norm(u)
        X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, 150))
        y = np.empty(rows, dtype=np.int8)
        for lo in range(0, len(X), 100_000):
            A = rng.standard_normal((100_000, 150), dtype=np.float32)
            y[lo : lo + 100_000] = np.where(A @ u > 0, 1, -1)
            X[lo : lo + 100_000] = A + 0.5 * y[lo : lo + 100_000, None] * u
        X.flush()
        del X
        np.save(folder / "labels.npy", y)
    budget = "6" if method == "lr-gd" else "10000"
    command = [sys.executable, "-c", CODE, str(path), str(folder / "labels.npy"), method, budget, f"{limit}000000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    n_iter, engine, peak = done.stdout.split()
    assert engine == "files" and int(n_iter) > 0
    assert int(peak) <= limit * 1_000_000, f"{int(peak):,} bytes"


def test_a_limit_too_small_for_a_side_per_row_says_what_it_takes(tmp_path):
    X, y = uneven(3_000, 6, 6)
    (path,), labels = save(tmp_path, X, y)
    with pytest.raises(ValueError, match=r"memory_limit=1,000,000 bytes is too little for 3,000 rows"):
        sx.solve(path, labels, "perceptron", memory_limit=1_000_000)


@pytest.mark.parametrize(
    ("text", "value"), [("1GB", 10**9), ("1.5 gib", 3 << 29), ("300M", 3 * 10**8), (4096, 4096), ("7", 7)]
)
def test_limits_are_numbers_or_text(text, value):
    assert bytes_of(text) == value


@pytest.mark.parametrize("limit", ["lots", "", "-1GB", 0, True, None, "1..5GB"])
def test_other_limits_are_refused(limit):
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes or text"):
        bytes_of(limit)


# Deciding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_separable_rows_in_a_file_are_proven_separable_and_their_margin_is_found(intercept, tmp_path):
    X, y = uneven(30_001, 7, 9)
    X = X[:, :-1] if intercept else X
    (path,), labels = save(tmp_path, X, y)
    found = sx.separate(path, labels, fit_intercept=intercept, memory_limit=LIMIT)
    assert found.status == "separable" and found.tool == "shards" and not found.fragile
    assert found.verify(X, y) and found.verify(path, labels, memory_limit=LIMIT)
    assert not found.verify(path, -y, memory_limit=LIMIT)
    here = sx.max_margin(X, y, fit_intercept=intercept)
    far = sx.max_margin(path, labels, fit_intercept=intercept, memory_limit=LIMIT)
    assert far.status == "converged" and far.relative_gap <= 1e-6
    assert far.lower <= here.upper and here.lower <= far.upper
    pull = (far.weights * y) @ X  # the weights prove the upper end
    assert np.linalg.norm(pull) <= far.upper * (1 + 1e-9)
    w = far.theta[:-1] if intercept else far.theta
    margins = y * (X @ w + (far.theta[-1] if intercept else 0.0)) / np.linalg.norm(w)
    assert margins.min() >= far.lower * (1 - 1e-9)


def test_inseparable_rows_in_a_file_are_proven_so_by_a_few_of_them(tmp_path):
    X, y = uneven(30_001, 7, 9)
    y[17] *= -1
    (path,), labels = save(tmp_path, X, y)
    found = sx.separate(path, labels, memory_limit=LIMIT)
    assert found.status == "inseparable" and len(found.proof.rows) < 200
    assert found.verify(path, labels, memory_limit=LIMIT) and found.verify(X, y)
    y[17] *= -1
    assert not found.verify(path, y, memory_limit=LIMIT)
    sx.save_proof(found.proof, tmp_path / "proof.json")
    assert sx.verify(sx.load_proof(tmp_path / "proof.json"), path, labels, memory_limit=LIMIT)
    assert sx.max_margin(path, labels, memory_limit=LIMIT).status == "no-margin"


def test_every_kind_of_proof_is_checked_on_rows_in_a_file(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (1500, 5)).astype(float)
    quasi = np.where(X[:, 0] > 0, 1, -1)
    quasi[X[:, 0] == 0] = rng.choice([-1, 1], (X[:, 0] == 0).sum())
    for y in (quasi, rng.choice([-1, 1], 1500)):
        (path,), labels = save(tmp_path, X, y)
        proof = sx.diagnose(X, y).proof
        assert sx.verify(proof, path, labels, memory_limit=LIMIT)
        y[0] *= -1
        assert sx.verify(proof, path, y, memory_limit=LIMIT) == sx.verify(proof, X, y)


def test_a_zero_row_and_a_contradiction_far_apart_are_found(tmp_path):
    X, y = uneven(20_000, 5, 11)
    X[19_000] = 0
    (path,), labels = save(tmp_path, X, y)
    found = sx.separate(path, labels, memory_limit=LIMIT)
    assert found.status == "inseparable" and found.verify(X, y)
    X, y = uneven(20_000, 5, 11)
    X[19_999], y[19_999] = X[3], -y[3]
    (path,), labels = save(tmp_path, X, y)
    found = sx.separate(path, labels, memory_limit=LIMIT)
    assert found.status == "inseparable" and found.verify(X, y)


# Breaks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["normalized-batch-perceptron", "perceptron", "batch-perceptron", "lr-gd"])
def test_a_run_on_files_continues_from_its_checkpoint_to_the_same_bits(method, tmp_path):
    X, y = uneven(9_000, 6, 5)
    (path,), labels = save(tmp_path, X, y)
    gamma = 1e4 if method == "lr-gd" else None
    whole = sx.solve(path, labels, method, step_size=gamma, max_iter=90, memory_limit=LIMIT)
    file = tmp_path / "run.npz"
    for budget in (13, 14, 40, 90):
        run = sx.solve(path, labels, method, step_size=gamma, max_iter=budget, memory_limit=LIMIT, checkpoint=file)
    assert np.array_equal(run.phi, whole.phi) and run.n_iter == whole.n_iter


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    X, y = uneven(9_000, 6, 5)
    (path,), labels = save(tmp_path, X, y)
    sx.solve(path, labels, "perceptron", max_iter=9, memory_limit=LIMIT, checkpoint=tmp_path / "run.npz")
    X[8_000, 2] += 1e-9
    (path,), labels = save(tmp_path, X, y)
    with pytest.raises(sx.CheckpointError, match="its data is"):
        sx.solve(path, labels, "perceptron", max_iter=9, memory_limit=LIMIT, checkpoint=tmp_path / "run.npz")


def test_a_file_cut_while_it_is_read_is_one_sentence(tmp_path):
    X, y = uneven(9_000, 6, 5)
    (path,), labels = save(tmp_path, X, y)

    def cut(iterate):
        os.truncate(path, 100_000)

    for method in ("normalized-batch-perceptron", "perceptron"):
        np.save(path, X)
        with pytest.raises(OSError, match="could not be read any more|was cut while"):
            sx.solve(path, labels, method, max_iter=500, memory_limit=LIMIT, callback=cut, record=3)


# Bad files ---------------------------------------------------------------------------------------------------------


def bad_files(folder: Path) -> dict[str, tuple[object, object, str]]:
    X, y = uneven(600, 4, 1)
    (path,), labels = save(folder, X, y)
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    np.save(folder / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save(folder / "wide.npy", np.zeros((5, 7)))
    np.save(folder / "text.npy", np.full((600, 4), "x"))
    np.save(folder / "flat.npy", np.zeros(600))
    np.save(folder / "square.npy", np.zeros((600, 2)))
    nan = X.copy()
    nan[555, 2] = np.nan
    np.save(folder / "nan.npy", nan)
    (folder / "cut.npy").write_bytes(Path(path).read_bytes()[:9_000])
    (folder / "noise.npy").write_bytes(b"\x93NUMPY" + bytes(200))
    (folder / "rows.csv").write_text("1,2\n")
    (folder / "noise.parquet").write_bytes(b"PAR1 this is none")
    pq.write_table(pa.table({"x": ["a", "b"], "label": [0, 1]}), folder / "text.parquet")
    pq.write_table(pa.table({"x": [1.0, None], "label": [0, 1]}), folder / "gap.parquet")

    def at(name: str) -> str:
        return str(folder / name)

    return {
        "absent": (at("absent.npy"), y, "there is no file"),
        "fortran": (at("fortran.npy"), y, "Fortran order"),
        "objects": (at("objects.npy"), y, "pickled objects, which are never loaded"),
        "other columns": ([path, at("wide.npy")], y, "has 7 columns"),
        "text": (at("text.npy"), y, "must be numeric"),
        "flat": (at("flat.npy"), y, "rows and columns"),
        "nan": (at("nan.npy"), y, "NaN at row 555, column 2"),
        "cut": (at("cut.npy"), y, "is cut short"),
        "noise": (at("noise.npy"), y, "no npy file that can be read"),
        "csv": (at("rows.csv"), y, "save others so first"),
        "no parquet": (at("noise.parquet"), "label", "no Parquet file that can be read"),
        "text column": (at("text.parquet"), "label", "column 'x' is string"),
        "gap": (at("gap.parquet"), "label", "empty in row 1"),
        "no such column": (at("text.parquet"), "target", "has no column 'target'"),
        "labels of parquet": (at("text.parquet"), y, "name of the label's column"),
        "too few labels": (path, y[:-1], "600 rows but y has 599 labels"),
        "labels in two columns": (path, at("square.npy"), "one label per row"),
        "one class": (path, np.ones(600), "y has 1 class"),
        "missing label": (path, np.where(np.arange(600) == 9, np.nan, y), "y is missing at row 9"),
        "random order": (path, labels, "needs all rows in memory"),
        "columns of G": (path, labels, "needs the rows in memory"),
        "sharpness": (path, labels, "sharpness needs the rows in memory"),
        "array": (X, y, "memory_limit is for rows in files"),
    }


@pytest.mark.parametrize("case", range(23))
def test_bad_files_get_one_sentence(case, tmp_path):
    name, (X, y, words) = list(bad_files(tmp_path).items())[case]
    more = {
        "random order": {"method": "perceptron", "order": "random"},
        "columns of G": {"method": "batch-perceptron", "engine": "gram"},
        "sharpness": {"method": "lr-gd", "sharpness": True},
    }.get(name, {"method": "perceptron"})
    with pytest.raises(ValueError, match=words) as caught:
        sx.solve(X, y, memory_limit=LIMIT, max_iter=5, **more)
    assert "\n" not in str(caught.value)
