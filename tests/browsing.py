"""The explorer in a real Chromium, offline; at its end a page has said nothing and asked nobody for anything."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from separatrix.exploring.explorer import PAGE

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium: make browser")
PATIENCE = 120_000  # ms until a condition that is waited for counts as never met; a loaded machine is slow, not wrong
SETTLED = """() => {
  const { store, player, plane } = window.separatrix ?? {};
  return Boolean(plane?.view()) && !player.busy && (!store.get().points.length || Boolean(player.films.a));
}"""
TOUCH = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
PHONE = {"viewport": {"width": 420, "height": 900}, **TOUCH}


class Seen:
    """One open page: what is on it, and what a hand does there."""

    def __init__(self, page: Any) -> None:
        self.page, self.said, self.asked, self.fingers = page, [], [], None
        page.on("console", lambda one: self.said.append(one.text))
        page.on("pageerror", lambda one: self.said.append(str(one)))
        page.on("request", lambda one: self.asked.append(one.url))

    def settle(self) -> Seen:
        """Until the runs that were asked for are there and the plane is drawn."""
        self.page.wait_for_function(SETTLED)
        return self

    def state(self, *keys: str) -> Any:
        """Of the page's state these entries, or one."""
        found = self.page.evaluate("keys => keys.map((key) => separatrix.store.get()[key])", list(keys))
        return found[0] if len(keys) == 1 else found

    @property
    def points(self) -> list[tuple[float, float, int]]:
        return [(one["x"], one["y"], one["label"]) for one in self.state("points")]

    def film(self, role: str = "a") -> dict[str, Any]:
        """Of a settled run: its t, errors, angle, separatedAt, status, and the θ/γ of its last iterate."""
        self.settle()
        return self.page.evaluate(
            """role => {
              const { t, errors, angle, phi, separatedAt, status } = separatrix.player.films[role];
              const lists = { t: [...t], errors: [...errors], angle: [...angle] };
              return { ...lists, separatedAt, status, phi: phi.map((values) => values.at(-1)) };
            }""",
            role,
        )

    @property
    def cursor(self) -> float:
        return self.page.evaluate("separatrix.player.cursor()")

    @property
    def decision(self) -> dict[str, Any]:
        return self.page.evaluate("separatrix.player.decision")

    def place(self, i: int) -> tuple[float, float]:
        """Where point i is in the window."""
        self.settle()
        box = self.page.locator("#plane-canvas").bounding_box()
        x, y = self.page.evaluate("i => separatrix.plane.screenOf(i)", i)
        return box["x"] + x, box["y"] + y

    def ground(self) -> tuple[float, float]:
        """A spot of the plane with no point near."""
        self.settle()
        box = self.page.locator("#plane-canvas").bounding_box()
        return box["x"] + 0.5 * box["width"], box["y"] + 0.93 * box["height"]

    def drag(self, start: tuple[float, float], by: tuple[float, float]) -> None:
        """By mouse, in several moves, each drawn before the next."""
        self.page.mouse.move(*start)
        self.page.mouse.down()
        for k in range(1, 5):
            self.page.mouse.move(start[0] + by[0] * k / 4, start[1] + by[1] * k / 4)
            self.frame()
        self.page.mouse.up()

    def touch(self, kind: str, *places: tuple[float, float]) -> None:
        """What fingers at these places send; kind is touchStart, touchMove or touchEnd."""
        self.fingers = self.fingers or self.page.context.new_cdp_session(self.page)
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        self.fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        self.frame()

    def frame(self) -> None:
        """Until the next picture."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def tool(self, name: str) -> None:
        self.page.get_by_role("toolbar").get_by_role("button", name=name, exact=True).click()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium; Playwright brings no browser of its own."""
    started = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra [dev]")
    with started.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])  # root in a container
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Seen]]:
    """Opens the explorer, or another page, from disk: visit("m=lr-gd&g=10") has that fragment."""
    contexts, opened = [], []

    def go(fragment: str = "", *, path: Path = PAGE, **options: Any) -> Seen:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "offline": True, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        seen = Seen(context.new_page())
        opened.append((seen, path.resolve().as_uri()))
        seen.page.goto(path.resolve().as_uri() + (f"#v=1&{fragment}" if fragment else ""))
        return seen.settle()

    yield go
    for seen, home in opened:
        assert seen.said == [], seen.said
        assert all(url.split("#")[0] == home or url.startswith(("blob:", "data:")) for url in seen.asked), seen.asked
    for context in contexts:
        context.close()
