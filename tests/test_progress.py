"""Whoever waits is told: what a terminal, a notebook and a file get, and that nothing else changes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from threading import Condition, Thread
from types import SimpleNamespace

import numpy as np
import pytest

import separatrix as sx
from separatrix.reporting import progress
from separatrix.reporting.plain import counted
from separatrix.reporting.progress import Lines, Notebook, Progress, State, in_words, screen_of
from test_front import on_a_terminal, posix


def overlapping(n=300):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)), rng.integers(0, 2, n)


class Said(io.StringIO):
    """A file whose lines can be waited for."""

    def __init__(self):
        super().__init__()
        self.more = Condition()

    def write(self, text):
        with self.more:
            super().write(text)
            self.more.notify()

    def until(self, lines):
        with self.more:
            self.more.wait_for(lambda: self.getvalue().count("\n") >= lines)


@pytest.fixture
def at_once(monkeypatch):
    """Signs of life without the patience of two seconds, in a file of their own."""
    said = Said()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=said, stdout=None, modules={}))
    return said


# Work that takes until it is told to go on, twice.
BAR = """
from separatrix.reporting import progress
progress.PATIENCE = 0.0
with progress.Progress("lr-gd: reading") as shown:
    input()
    shown.tell("lr-gd: iteration 300 of 1,000", 0.3)
    input()
print("done")
"""


@posix
def test_on_a_terminal_the_spinner_turns_and_a_bar_shows_the_part_done():
    seen = on_a_terminal(BAR, until=("⠹ lr-gd: reading (", "left"))
    frames = {seen[k] for k in range(len(seen)) if "\u2801" <= seen[k] <= "\u28ff"}
    assert len(frames) > 1
    assert "━" in seen and "30 %, at most " in seen
    assert "lr-gd: iteration 300 of 1,000 (" in seen.split("\x1b[?25h")[1]  # once the cursor is back


def test_a_file_gets_a_line_now_and_then_and_no_letter_that_only_terminals_know(at_once):
    with Progress("reading"):
        at_once.until(1)
    with Progress("lr-gd") as shown:
        shown.tell("lr-gd: iteration 5 of 10, 1 row wrong", 0.5)
        at_once.until(3)
    text = at_once.getvalue()
    assert text.isascii() and "\r" not in text
    lines = text.splitlines()
    assert [line.split(" (")[0] for line in lines[:2]] == ["separatrix: reading", "separatrix: reading"]
    assert lines[-1].startswith("separatrix: lr-gd: iteration 5 of 10, 1 row wrong (")


class Handle:
    def __init__(self, shown):
        self.shown = [shown]

    def update(self, shown, raw):
        assert raw
        self.shown.append(shown)


def test_a_notebook_gets_one_bar_that_is_updated_in_its_place(monkeypatch):
    handles = []

    def display(shown, raw, display_id):
        assert raw and display_id
        handles.append(Handle(shown))
        return handles[-1]

    inside = SimpleNamespace(get_ipython=lambda: object(), display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", inside)
    screen = screen_of(lines=True)
    assert isinstance(screen, Notebook)
    screen.draw(State("reading <a>", None, 3.0))
    screen.draw(State("lr-gd", 0.25, 30.0))
    screen.close("lr-gd (40 s)")
    (handle,) = handles
    assert [shown["text/plain"] for shown in handle.shown] == [
        "reading <a> (3 s)",
        "lr-gd, 25 %, at most 2 min left",
        "lr-gd (40 s)",
    ]
    first, second, last = (shown["text/html"] for shown in handle.shown)
    assert first == "<progress max=1></progress> reading &lt;a&gt; (3 s)"
    assert second.startswith('<progress max=1 value="0.2500">') and last == "lr-gd (40 s)"


def test_ipython_on_a_terminal_is_a_terminal(monkeypatch):
    class TerminalInteractiveShell:
        pass

    there = SimpleNamespace(get_ipython=TerminalInteractiveShell, display=None)
    monkeypatch.setitem(sys.modules, "IPython", there)
    assert isinstance(screen_of(lines=True), Lines)
    assert screen_of(lines=False) is None


def test_nothing_is_shown_of_what_is_quick_or_quiet_or_has_no_console(capsys, monkeypatch):
    with Progress("quick"):
        pass
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress("quiet", quiet=True) as shown:
        assert shown.voice is None
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)
    with Progress("none") as shown:
        shown.voice.join()


def test_a_reader_who_goes_away_does_not_end_the_work(monkeypatch):
    gone = io.StringIO()
    gone.close()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", gone)
    with Progress("told to nobody") as shown:
        shown.voice.join()


def test_of_two_that_go_on_at_once_the_first_is_shown(at_once):
    with Progress("one"):
        at_once.until(1)
        beside = Thread(target=Progress("other").__enter__)
        beside.start()
        beside.join()
    assert "other" not in at_once.getvalue()


def test_what_one_inside_another_tells_is_shown_by_the_outer_one(at_once, monkeypatch):
    monkeypatch.setattr(Lines, "period", 0.01)
    with Progress("deciding") as outer:
        with Progress("separate: reading the rows") as inner:
            inner.tell("separate: 300 rows, trying HiGHS")
            at_once.until(1)
        with Progress("of no matter", quiet=True) as quiet:
            quiet.tell("quiet")
        assert inner.voice is None and outer.said[0] == "separate: 300 rows, trying HiGHS"
    assert "separate: 300 rows, trying HiGHS (" in at_once.getvalue()
    with Progress("the next") as later:
        assert later.outer is None


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State("x", None, 7.2), "(7 s)"),
        (State("x", 0.0, 7.2), "(7 s)"),
        (State("x", 0.5, 60.0), "50 %, at most 60 s left"),
        (State("x", 0.01, 600.0), "1 %, at most 16 h 30 min left"),
        (State("x", 1.0, 600.0), "100 %"),
        (State("x", 0.5, 60.0, bound=False), "50 %, about 60 s left"),
    ],
)
def test_the_time_left_follows_from_the_part_done(state, words):
    assert state.rest == words


def test_a_run_tells_its_iterations_out_of_how_many_and_its_wrong_rows(at_once):
    X, y = overlapping()

    def wait(run):
        at_once.until(1)

    run = sx.solve(X, y, max_iter=500, stop=None, verbose=True, callback=wait)
    last = at_once.getvalue().splitlines()[-1]
    errors = run.trace["errors"][-1]
    assert last.startswith(f"separatrix: lr-gd: iteration 500 of 500, {errors} rows wrong (")


def test_the_perceptron_tells_sweeps_where_these_are_what_is_limited(at_once):
    X, y = overlapping()

    def wait(run):
        at_once.until(1)

    sx.solve(X, y, "perceptron", max_epochs=30, max_iter=10**9, record="epoch", verbose=1, callback=wait)
    assert "separatrix: perceptron: sweep 30 of 30 (" in at_once.getvalue().splitlines()[-1]


def test_being_told_changes_no_bit(at_once):
    X, y = overlapping()
    told = []
    loud = sx.solve(X, y, max_iter=300, verbose=True, progress=lambda *now: told.append(now))
    quiet = sx.solve(X, y, max_iter=300)
    np.testing.assert_array_equal(loud.theta, quiet.theta)
    assert told[-1][0] == loud.n_iter == quiet.n_iter


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (sx.separate, "separate: 40 rows, trying rational arithmetic"),
        (sx.max_margin, r"max_margin: step 1, margin in \[0, \d"),
        (sx.diagnose, "diagnose: logit, 40 rows, looking for what separates"),
    ],
)
def test_verdicts_brackets_and_diagnoses_tell_what_they_are_at(ask, words, monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    told = []
    monkeypatch.setattr(progress.Progress, "tell", lambda self, text, part=None: told.append((self.quiet, text)))
    ask(X, y, verbose=True)
    assert any(re.match(words, text) for _, text in told), told
    assert not any(quiet for quiet, _ in told)
    told.clear()
    ask(X, y)
    assert all(quiet for quiet, _ in told), "nobody is told who did not ask"


@pytest.mark.parametrize("ask", [sx.solve, sx.separate, sx.max_margin, sx.diagnose])
@pytest.mark.parametrize("verbose", ["yes", -1, 1.5, None])
def test_verbose_is_yes_or_no_or_a_whole_number(verbose, ask):
    with pytest.raises(ValueError, match="verbose must be a whole number, 0 or more"):
        ask(*overlapping(), verbose=verbose)


def test_what_showing_needs_is_not_loaded_before_there_is_something_to_show():
    code = (
        "import sys; from separatrix.reporting.progress import Progress\n"
        "with Progress('quick'): pass\n"
        "print([m for m in ('rich', 'numpy', 'IPython') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [(0, "row", "0 rows"), (1, "row", "1 row"), (2000, "row", "2,000 rows"), (3, "class", "3 classes")],
)
def test_counts_take_their_plural(number, noun, words):
    assert counted(number, noun) == words


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (300, "5 min"), (7500, "2 h 5 min")])
def test_times_are_told_as_people_tell_them(seconds, words):
    assert in_words(seconds) == words
