"""A sign of life while something takes long: a line that moves on a terminal or in a notebook, a few lines in a file.

The work only says where it is; a thread of its own looks now and then, and draws. For the first two seconds nothing is
shown, and nothing that showing needs is imported.
"""

from __future__ import annotations

import html
import sys
import time
from contextvars import ContextVar, Token
from numbers import Integral
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

PATIENCE = 2.0  # seconds after which one wants to know that something happens
WIDTH = 24  # of the bar, at most

_drawing = Lock()  # of several at a time, in threads, the first is shown
_outer: ContextVar[Progress | None] = ContextVar("_outer", default=None)  # what one inside another speaks through


class State(NamedTuple):
    """What there is to show: words, the part that is done where that is known, the seconds it has taken.

    Parts of a budget, which may not be needed, bound what is left; others are a guess at it.
    """

    text: str
    part: float | None
    spent: float
    bound: bool = True

    @property
    def rest(self) -> str:
        """What follows the words: how much is done and how much time is left, or how long it has taken so far."""
        if not self.part:
            return f"({in_words(self.spent)})"
        if self.part >= 1:
            return "100 %"
        word = "at most" if self.bound else "about"
        return f"{100 * self.part:.0f} %, {word} {in_words(self.spent * (1 - self.part) / self.part)} left"


def check_verbose(verbose: Any) -> None:
    """Complain about anything but True, False or a whole number from 0."""
    boolean = type(verbose).__name__ == "bool"  # NumPy's too, which is not loaded for this
    if not boolean and not (isinstance(verbose, Integral) and int(verbose) >= 0):
        raise ValueError(f"verbose must be a whole number, 0 or more, got {verbose!r}.")


class Screen(Protocol):
    """Where states are drawn."""

    period: float  # seconds between two pictures

    def draw(self, state: State) -> None:
        """The state in the place of the one before."""

    def close(self, last: str) -> None:
        """No more states; `last` is what to leave behind."""


class Progress:
    """What is going on, for those who wait: `with Progress("reading") as it: … it.tell("deciding", 0.3)`.

    It goes to stderr, or below the cell of a notebook. A `quiet` one shows nothing, and one without `lines` nothing in
    files and pipes; with `last` its last words stay where something was shown. What one inside another tells, the
    outer one shows.
    """

    def __init__(
        self, text: str, *, quiet: bool = False, lines: bool = True, last: bool = True, bound: bool = True
    ) -> None:
        self.quiet, self.lines, self.last, self.bound = quiet, lines, last, bound
        self.said: tuple[str, float | None] = (text, None)
        self.began = self.counted = 0.0 if quiet else time.monotonic()
        self.over = Event()
        self.voice: Thread | None = None
        self.outer: Progress | None = None
        self.before: Token[Progress | None] | None = None

    def tell(self, text: str, part: float | None = None) -> None:
        """Say what is going on, and which part of it is done; it is only noted, so it costs nothing."""
        if part is not None and self.said[1] is None and not self.quiet:
            self.counted = time.monotonic()
        self.said = text, part
        if self.outer is not None:
            self.outer.tell(text, part)

    def state(self) -> State:
        """The present state; the time left follows from what was done since parts are told."""
        text, part = self.said
        return State(text, part, time.monotonic() - (self.counted if part else self.began), self.bound)

    def __enter__(self) -> Self:
        if self.quiet:
            return self
        self.outer = _outer.get()
        if self.outer is None:
            self.before = _outer.set(self)
            self.voice = Thread(target=self._speak, daemon=True)
            self.voice.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        if self.before is not None:
            _outer.reset(self.before)
        if self.voice is not None:
            self.voice.join()

    def _speak(self) -> None:
        if self.over.wait(PATIENCE) or not _drawing.acquire(blocking=False):
            return
        try:
            screen = screen_of(self.lines)
            if screen is None:
                return
            screen.draw(self.state())
            while not self.over.wait(screen.period):
                screen.draw(self.state())
            screen.close(f"{self.said[0]} ({in_words(time.monotonic() - self.began)})" if self.last else "")
        except (OSError, ValueError):
            pass  # nobody reads it any more: the work goes on
        finally:
            _drawing.release()


def screen_of(lines: bool) -> Screen | None:
    """What suits the place we are in; None for nothing."""
    if notebook := _notebook():
        return Notebook(notebook)
    if sys.stderr is None:  # a program without a console
        return None
    if sys.stderr.isatty():
        return Terminal()
    return Lines() if lines else None


def _notebook() -> Any:
    """IPython's `display` where a front end draws what cells show; None elsewhere, as in IPython on a terminal."""
    there = sys.modules.get("IPython")  # whoever runs in a notebook has it
    shell = None if there is None else there.get_ipython()
    if there is None or shell is None or type(shell).__name__ == "TerminalInteractiveShell":
        return None
    return there.display.display


class Terminal:
    """One line that moves: a spinner, the words, a bar where the end is known, the time."""

    period = 0.2

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        utf = "⠋━─".encode(sys.stderr.encoding or "ascii", "replace") != b"???"
        self.frames, self.full, self.empty = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "━", "─") if utf else ("|/-\\", "#", "-")
        self.turn = 0
        both = sys.stdout is not None and sys.stdout.isatty()  # what is printed meanwhile goes above the line
        self.live = Live(
            console=Console(stderr=True, force_jupyter=False),
            auto_refresh=False,
            transient=True,
            redirect_stdout=both,
            redirect_stderr=both,
        )
        self.live.start()

    def draw(self, state: State) -> None:
        """The same line once more, as one text: rich's tables and bars would take ten times as long."""
        from rich.text import Text

        room = self.live.console.width - 4 - len(state.rest)
        wide = 0 if state.part is None else min(WIDTH, room - len(state.text) - 1)
        wide = wide if wide >= 8 else 0  # on a narrow terminal words and time stay
        words = Text(state.text)
        words.truncate(max(1, room - bool(wide) - wide), overflow="ellipsis")
        done = round(wide * min(1.0, state.part or 0.0))
        bar: list[Any] = [" ", (self.full * done, "bar.complete"), (self.empty * (wide - done), "bar.back")]
        if not wide:
            bar = []
        self.turn += 1
        frame = self.frames[self.turn % len(self.frames)]
        self.live.update(Text.assemble(frame, " ", words, *bar, " ", state.rest, no_wrap=True), refresh=True)

    def close(self, last: str) -> None:
        """The line goes; the last words stay."""
        self.live.stop()
        if last:
            print(last, file=sys.stderr, flush=True)


class Notebook:
    """A bar of the browser's below the cell."""

    period = 0.5

    def __init__(self, display: Any) -> None:
        self.display = display
        self.handle: Any = None

    def draw(self, state: State) -> None:
        """The bar anew; one without a value moves by itself."""
        value = "" if state.part is None else f' value="{min(1.0, state.part):.4f}"'
        words = f"{state.text}, {state.rest}" if state.part else f"{state.text} {state.rest}"
        self._show(words, f"<progress max=1{value}></progress> {html.escape(words)}")

    def close(self, last: str) -> None:
        """The last words in its place."""
        self._show(last, html.escape(last))

    def _show(self, words: str, page: str) -> None:
        shown = {"text/plain": words, "text/html": page}
        if self.handle is None:
            self.handle = self.display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)


class Lines:
    """A line now and then, for files and pipes: the longer it takes the fewer, some 120 in three hours."""

    period = 5.0

    def draw(self, state: State) -> None:
        """One more line."""
        self.period = max(self.period, state.spent / 20)
        self._say(f"{state.text}, {state.rest}" if state.part else f"{state.text} {state.rest}")

    def close(self, last: str) -> None:
        """The last line."""
        if last:
            self._say(last)

    def _say(self, words: str) -> None:
        print(f"separatrix: {words}", file=sys.stderr, flush=True)


def in_words(seconds: float) -> str:
    """12 s, 3 min, 2 h 5 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"
