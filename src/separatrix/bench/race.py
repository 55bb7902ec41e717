"""The race to zero training errors: each side in a fresh process under a time cap, ours and the best rivals in turn.

All sides run once. Then ours, the best rival that runs on a cluster and the best that runs in memory alternate, and a
ratio is always taken within one round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from separatrix.bench.planted import KINDS, MARGIN, OFFSET, Files, make_files
from separatrix.bench.rivals import SIDES, WORKERS, Outcome, Side, run_side
from separatrix.bench.speed import Spread
from separatrix.reporting.table import Row, Table

ROWS, COLUMNS = 2_000_000, 100
CAP = 60.0
REST = 1800.0  # seconds for all that is not timed
CLOSING = 30.0  # seconds for a cluster to close
PAUSE = 0.5  # for the last side's processes to end
Say = Callable[[str], None]


@dataclass(frozen=True)
class Line:
    """One side on one kind of data: its runs, the first of them made with all others."""

    kind: str
    side: str
    ours: bool
    cluster: bool
    restarts: bool
    runs: tuple[Outcome, ...]

    @property
    def zero(self) -> bool:
        """Whether every run ended without an error."""
        return all(run.zero for run in self.runs)

    @property
    def rounds(self) -> tuple[Outcome, ...]:
        """The runs that alternate; the only one where there are none."""
        return self.runs[1:] or self.runs


@dataclass(frozen=True)
class Pair:
    """Ours and a rival, round by round: seconds, and the rival's over ours, with its checks and for its last fit."""

    kind: str
    ours: str
    rival: str
    best: bool
    our_seconds: Spread
    their_seconds: Spread
    ratio: Spread
    last_fit_ratio: Spread


def run(side: Side, files: Files, cap: float) -> Outcome:
    """A side in a process of its own, which is ended when the cap is reached."""
    context = get_context("spawn")
    inbox, outbox = context.Pipe(duplex=False)
    process = context.Process(target=run_side, args=(outbox, side, files))
    process.start()
    outbox.close()
    state, so_far, left = "resting", Outcome(), cap
    try:
        while state != "done":
            began = time.perf_counter()
            heard = inbox.poll(left if state == "running" else REST)
            if state == "running":
                left = max(0.0, left - (time.perf_counter() - began))
            if not heard and state == "running":
                return replace(so_far, capped=True)
            if not heard:
                return replace(so_far, note=f"gave up after {REST:.0f} s of preparation")
            state, so_far = inbox.recv()
        process.join(CLOSING)
        return so_far
    except EOFError:
        return replace(so_far, note="its process died")
    finally:
        process.kill()  # workers of a cluster end by themselves when their parent is gone
        process.join()
        inbox.close()
        time.sleep(PAUSE)


def race(files: Files, sides: Sequence[Side], cap: float, repeats: int, say: Say) -> list[Line]:
    """All sides once, then ours and the best rivals alternately, `repeats` times over."""
    runs: dict[str, list[Outcome]] = {}
    for side in sides:
        say(f"{files.kind}: {side.name}")
        runs[side.name] = [run(side, files, cap)]
    best = [
        min(some, key=lambda s: runs[s.name][0].seconds)
        for on_cluster in (True, False)
        if (some := [s for s in sides if not s.ours and s.cluster == on_cluster and runs[s.name][0].zero])
    ]
    for turn in range(repeats):
        for side in sorted(sides, key=lambda s: not s.cluster):  # those that are compared first stand close together
            if side.ours or side in best:
                say(f"{files.kind}: {side.name}, round {turn + 1} of {repeats}")
                runs[side.name].append(run(side, files, cap))
    return [Line(files.kind, s.name, s.ours, s.cluster, s.restarts, tuple(runs[s.name])) for s in sides]


def race_all(
    rows: int,
    cap: float,
    repeats: int,
    say: Say,
    *,
    kinds: Sequence[str] = KINDS,
    columns: int = COLUMNS,
    sides: Sequence[Side] = SIDES,
) -> tuple[list[Line], list[str]]:
    """The race on every kind of data, and the modules that are not installed; files are gone in the end."""
    missing = sorted({name for side in sides for name in side.missing})
    present = [side for side in sides if not side.missing]
    lines = []
    for kind in kinds:
        with TemporaryDirectory(prefix="separatrix-bench-", ignore_cleanup_errors=True) as folder:
            say(f"{kind}: {rows:,} x {columns} rows are written")
            lines += race(make_files(Path(folder), kind, rows, columns), present, cap, repeats, say)
    return lines, missing


def pairs_of(lines: Sequence[Line]) -> list[Pair]:
    """Ours against the rivals that alternate with them, where both reached zero errors in every round."""
    pairs = []
    for kind in dict.fromkeys(line.kind for line in lines):
        some = [line for line in lines if line.kind == kind and line.zero and len(line.runs) > 1]
        rivals = [line for line in some if not line.ours]
        best = min((Spread.of([r.seconds for r in line.rounds]).median for line in rivals), default=0.0)
        for mine in (line for line in some if line.ours):
            for theirs in rivals:
                ours, others = [r.seconds for r in mine.rounds], [r.seconds for r in theirs.rounds]
                last = [r.last_fit if theirs.restarts else r.fit for r in theirs.rounds]
                spread = Spread.of(others)
                pairs.append(
                    Pair(
                        kind,
                        mine.side,
                        theirs.side,
                        spread.median == best,
                        Spread.of(ours),
                        spread,
                        Spread.of([b / a for a, b in zip(ours, others, strict=True)]),
                        Spread.of([b / a for a, b in zip(ours, last, strict=True)]),
                    )
                )
    return pairs


def tables(lines: Sequence[Line], missing: Sequence[str], rows: int, cap: float) -> list[Table]:
    """Every side; ours against the best rivals."""
    left_out = f" Not installed, left out: {', '.join(missing)}." if missing else ""
    failures = [f"{line.kind}: {line.side} did not reach zero errors" for line in lines if line.ours and not line.zero]
    every = Table(
        f"Seconds to zero training errors: {rows:,} planted rows, float32, margin {MARGIN}; median (least–most)",
        ("data", "side", "fit and checks s", "last fit s", "passes", "errors", "how it ended"),
        [_row(line, cap) for line in lines],
        note=(
            "plain: random unit rows; skew: columns scaled by 1/j; offset: a common vector of "
            f"{OFFSET:g} times their length added. "
            f"cluster: {WORKERS} processes of one thread. passes: sweeps or iterations (ours: updates). "
            "dask-ml starts anew with 1, 2, 4, … iterations; last fit: the one that was enough. Data, compilation and "
            "a first tiny fit are not timed. errors: of the last fit; zero is counted again from the raw rows."
            + left_out
        ),
        failures=tuple(failures),
    )
    compared: list[Row] = [
        (
            p.kind,
            p.ours.removeprefix("ours, "),
            _shown(p.our_seconds),
            p.rival + (" (best)" if p.best else ""),
            _shown(p.their_seconds),
            _shown(p.ratio),
            _shown(p.last_fit_ratio),
        )
        for p in pairs_of(lines)
    ]
    ratios = Table(
        "Ours against the best rivals on a cluster and in memory, alternately; median (least–most)",
        ("data", "ours", "ours s", "rival", "rival s", "ratio", "ratio of fit alone"),
        compared,
        note="ratio: the rival's fit and checks over ours, round by round. ratio of fit alone: only its last fit where "
        "it starts anew, and none of its checks; ours still has its own check in it.",
    )
    return [every, ratios]


def _row(line: Line, cap: float) -> Row:
    last = line.rounds[-1]
    ended = last.note or ("zero errors" if last.zero else "cap reached")
    seconds: str | None = None
    fit: str | None = None
    if any(run.capped for run in line.rounds):
        seconds = f"more than {cap:g}"
    elif last.zero:
        seconds = _shown(Spread.of([run.seconds for run in line.rounds]))
        fit = _shown(Spread.of([run.last_fit if line.restarts else run.fit for run in line.rounds]))
    return (line.kind, line.side, seconds, fit, last.passes, last.errors, ended)


def _shown(spread: Spread) -> str:
    return str(spread) if spread.least < spread.most else f"{spread.median:.3g}"


def plain(lines: Sequence[Line]) -> dict[str, Any]:
    """The runs and the ratios as plain data."""
    return {"sides": [asdict(line) for line in lines], "pairs": [asdict(pair) for pair in pairs_of(lines)]}
