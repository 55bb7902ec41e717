"""The race to zero errors is counted from raw rows and ends at its cap; overhead and growth are what they say."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from separatrix.bench import large, race, rivals
from separatrix.bench.planted import KINDS, MARGIN, Files, count_errors, make_files
from separatrix.bench.rivals import READY, Outcome, Side, Try
from separatrix.cli import app

NAMED = {side.name: side for side in rivals.SIDES}
IN_MEMORY = [NAMED["ours, perceptron, memory"], NAMED["scikit-learn SGD perceptron"]]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(race, "PAUSE", 0.0)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("rows"), "offset", 3000, 8)


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed", reason="Dask is in the extra [dask]")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Pipe:
    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)


@pytest.fixture
def here(monkeypatch):
    """Sides run in this process, one after the other."""

    def run(side, files, cap):
        pipe = Pipe()
        rivals.run_side(pipe, side, files)
        return pipe.sent[-1][1]

    monkeypatch.setattr(race, "run", run)


def right(files):
    """A separator of these rows."""
    return next(t.weights() for t in rivals.in_memory("perceptron", files) if t is not READY)


# What sides a test needs; at the top of the module, so that a fresh process finds them.


def never(files):
    yield READY
    time.sleep(3600)


def liar(files):
    yield READY
    yield Try(1, 1.0, 0.5, 0, lambda: np.zeros(8))
    yield Try(2, 2.0, 0.5, 0, partial(right, files))


def broken(files):
    yield READY
    raise ZeroDivisionError("of its own")


def dies(files):
    yield READY
    sys.exit(3)


def side(work, **more):
    return Side(work.__name__, work, ours=False, cluster=False, needs=(), **more)


@pytest.mark.parametrize("kind", KINDS)
def test_planted_rows_are_of_unit_length_and_have_their_margin(tmp_path, kind):
    made = make_files(tmp_path, kind, 500, 6)
    X, y = made.load()
    assert X.dtype == np.float32 and set(np.unique(y)) == {-1, 1}
    assert np.allclose(np.linalg.norm(X, axis=1), 1, atol=1e-6)
    rng = np.random.default_rng(7)
    u = rng.standard_normal(6)
    u /= np.linalg.norm(u)
    assert (y * (X @ u)).min() >= MARGIN
    assert count_errors(made, u) == 0
    assert (np.linalg.norm(X.mean(axis=0)) > 0.5) == (kind == "offset")
    if kind == "skew":
        assert np.abs(X[:, 0]).mean() > 2 * np.abs(X[:, 5]).mean()


def test_a_score_of_zero_and_one_that_is_no_number_are_errors(tmp_path):
    made = Files(tmp_path, "plain")
    np.save(made.X, np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], dtype=np.float32))
    np.save(made.y, np.array([1, 1, 1], dtype=np.int8))
    assert count_errors(made, np.array([1.0, 0.0])) == 2
    assert count_errors(made, np.array([np.nan, 0.0])) == 3


@pytest.mark.parametrize("name", [s.name for s in rivals.SIDES if not s.cluster])
def test_every_side_in_memory_reaches_zero_errors_or_is_not_installed(files, name):
    if NAMED[name].missing:
        pytest.skip(f"a rival that is not installed: {NAMED[name].missing}")
    pipe = Pipe()
    rivals.run_side(pipe, NAMED[name], files)
    states = [state for state, _ in pipe.sent]
    assert states[0] == "running" and states[-2:] == ["resting", "done"]
    outcome = pipe.sent[-1][1]
    assert outcome.zero and outcome.errors == 0 and outcome.passes > 0 and outcome.seconds > 0


ON_CLUSTER = [s.name for s in rivals.SIDES if s.cluster and s.name != "ours, perceptron, cluster"]


@pytest.mark.long
@pytest.mark.parametrize("name", ON_CLUSTER)
def test_every_side_on_a_cluster_reaches_zero_errors_or_is_not_installed(files, name):
    if NAMED[name].missing:
        pytest.skip(f"a rival that is not installed: {NAMED[name].missing}")
    outcome = race.run(NAMED[name], files, cap=600.0)
    assert outcome.zero and outcome.errors == 0 and outcome.passes > 0 and outcome.seconds > 0, outcome


def test_the_rows_of_a_cluster_are_those_of_the_files_one_chunk_per_worker(client, files):
    X, y = rivals.persisted(client, files, "float64")
    assert X.chunks == ((1500, 1500), (8,)) and y.chunks == ((1500, 1500),)
    A, b = files.load()
    assert np.array_equal(X.compute(), A) and np.array_equal(2 * y.compute() - 1, b)
    w = right(files)
    assert rivals._wrong_on_cluster(X, y, w) == 0
    assert rivals._wrong_on_cluster(X, y, -w) == 3000
    tried = rivals._solved("normalized-batch-perceptron", X, y)
    assert tried.errors == 0 and count_errors(files, tried.weights()) == 0


def test_who_claims_zero_wrongly_is_found_out_and_goes_on(files):
    pipe = Pipe()
    rivals.run_side(pipe, side(liar), files)
    assert [state for state, _ in pipe.sent] == ["running", "resting", "running", "resting", "done"]
    assert pipe.sent[2][1].errors == 3000
    outcome = pipe.sent[-1][1]
    assert outcome == Outcome(True, False, 0, 2, fit=3.0, last_fit=2.0, check=1.0)
    assert outcome.seconds == 4.0


def test_a_side_that_fails_says_why_and_ends_no_other(files):
    pipe = Pipe()
    rivals.run_side(pipe, side(broken), files)
    state, outcome = pipe.sent[-1]
    assert state == "done" and not outcome.zero and "of its own" in outcome.note


def test_the_cap_ends_a_side_and_a_dead_process_is_noticed(quick, files):
    outcome = race.run(side(never), files, cap=0.2)
    assert outcome.capped and not outcome.zero
    assert race.run(side(dies), files, cap=600.0).note == "its process died"


def test_a_race_alternates_and_takes_ratios_within_a_round(here):
    said = []
    absent = replace(IN_MEMORY[1], name="absent", needs=("no_such_module",))
    lines, missing = race.race_all(2000, 20.0, 2, said.append, kinds=("plain",), columns=5, sides=[*IN_MEMORY, absent])
    assert missing == ["no_such_module"]
    assert [line.side for line in lines] == [s.name for s in IN_MEMORY]
    assert all(line.zero and len(line.runs) == 3 for line in lines)
    assert said[3:] == [f"plain: {s.name}, round {k} of 2" for k in (1, 2) for s in IN_MEMORY]
    (pair,) = race.pairs_of(lines)
    ratios = [b.seconds / a.seconds for a, b in zip(lines[0].rounds, lines[1].rounds, strict=True)]
    assert pair.best and (pair.ratio.least, pair.ratio.most) == (min(ratios), max(ratios))
    every, compared = race.tables(lines, missing, 2000, 20.0)
    assert len(every.rows) == 2 and len(compared.rows) == 1 and not every.failures
    assert "left out: no_such_module" in every.note
    json.dumps(race.plain(lines))


def test_what_was_capped_is_more_than_the_cap_and_in_no_ratio():
    done, capped = Outcome(zero=True, errors=0, fit=2.0, last_fit=1.0, check=1.0), Outcome(capped=True, errors=7)
    ours = race.Line("plain", "ours", True, False, False, (done, done))
    rival = race.Line("plain", "theirs", False, True, True, (done, done))
    slow = race.Line("plain", "slow", False, True, True, (capped,))
    every, compared = race.tables([ours, rival, slow], [], 10, 60.0)
    assert [row[2] for row in every.rows] == ["3", "3", "more than 60"]
    assert [row[3] for row in every.rows] == ["2", "1", None]
    assert [row[3] for row in compared.rows] == ["theirs (best)"]
    (pair,) = race.pairs_of([ours, rival, slow])
    assert pair.ratio.median == 1.0 and pair.last_fit_ratio.median == pytest.approx(1 / 3)
    every, compared = race.tables([replace(ours, runs=(capped,)), rival], [], 10, 60.0)
    assert every.failures and not compared.rows


def test_overhead_is_what_an_iteration_takes_beyond_the_slowest_shard(client):
    (found,) = large.overheads(client, columns=(6,), rows=2000, iterations=10)
    assert (found.columns, found.rows) == (6, 2000) and 1 <= found.iterations <= 10
    assert 0 < found.overhead_ms <= found.iteration_ms
    assert found.overhead_ms <= found.overhead_ms_90
    assert len(large.overhead_table([found]).rows) == 1
    assert "not installed" in large.overhead_table([]).note


@pytest.mark.long
def test_growth_is_measured_on_files_and_drawn(tmp_path):
    points = [p for n in (1000, 2000) for p in large.grow(n, 1, columns=4)]
    assert [(p.method, p.n) for p in points] == [(m, n) for n in (1000, 2000) for m in rivals.METHODS]
    assert all(p.separated and p.rows_read > 0 and p.seconds > 0 for p in points)
    for p in points:
        assert p.per_million * p.read_per_iteration / 1e6 == pytest.approx(p.per_iteration)
    table = large.growth_table(points)
    assert len(table.rows) == len(points) + 2 and not table.failures
    large.draw(points, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["growth.png"]


def test_sizes_go_up_to_the_largest_and_slopes_are_exponents():
    assert large.sizes(10_000_000) == [100_000, 316_228, 1_000_000, 3_162_278, 10_000_000]
    n = [10.0, 100.0, 1000.0]
    assert large.slope(n, [3 * x**0.5 for x in n]) == pytest.approx(0.5)


def test_the_suite_prints_draws_and_writes_what_it_measured(here, monkeypatch, tmp_path):
    few = partial(race.race_all, kinds=("plain",), columns=4, sides=IN_MEMORY[:1])
    monkeypatch.setattr(race, "race_all", few)
    monkeypatch.setattr(large, "measure_overheads", lambda: [large.Overhead(10, 100, 5, 2.0, 1.0, 1.5)])
    monkeypatch.setattr(large, "grow", lambda n, _: [large.Point(m, n, True, 2, 0.1, 0.2, n) for m in rivals.METHODS])
    words = ["bench", "--suite", "large", "--rows", "1000", "--cap", "20", "--repeats", "1"]
    picture = tmp_path / "g.png"
    done = CliRunner().invoke(app, [*words, "--json", "--plot", str(picture)])
    assert done.exit_code == 0, done.output
    written = json.loads(done.stdout)["large"]
    assert set(written) == {"race", "missing", "overhead", "growth", "slopes"}
    assert [p["n"] for p in written["growth"]] == 2 * large.sizes(1000)
    assert written["slopes"]["perceptron"]["read_per_iteration"] == pytest.approx(1.0, abs=1e-2)
    assert list(tmp_path.iterdir()) == [picture]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "large", "--plot", "nowhere/g.png"], "nowhere"),
        (["--suite", "large", "--plot", "g.svg"], ".png"),
        (["--suite", "speed", "--plot", "g.png"], "leave it out"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_measured(words, said):
    done = CliRunner().invoke(app, ["bench", *words])
    assert done.exit_code == 2
    assert said in done.stderr
