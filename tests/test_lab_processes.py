"""Whole calls of `separatrix reproduce`: killed, twice at once, on a disk that refuses, and in a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from separatrix.datasets import VARIABLE
from separatrix.lab import figures
from separatrix.lab.book import paper_book, read_book
from separatrix.lab.reproduce import reproduce

# Some seconds of work: small steps on the bundled digits, several seeds.
SWEEP = """
[data.some]
source = "digits"
classes = [7, 8]
rows = 200
budget = 15000
budget_below_10 = 15000
budget_below_1 = 15000

[sweep]
kind = "counts"
title = "a sweep"
data = ["some"]
seeds = 4
counts = [
    { method = "lr-gd", step_size = 0.001 },
    { method = "lr-gd", step_size = 0.003 },
    { method = "normalized-lr-gd", step_size = 0.01 },
    { method = "batch-perceptron", step_size = inf },
]
ratios = [{ slower = "lr-gd 0.001", faster = "lr-gd 0.003", claimed = 3.0, text = "3 times slower" }]
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


def start(spec, out, *words):
    command = [sys.executable, "-m", "separatrix", "reproduce", str(spec), "--out", str(out), *words]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def tables(out):
    return {path.name: path.read_text() for path in sorted((out / "tables").iterdir())}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The tables of the sweep run alone, in this process."""
    out = tmp_path_factory.mktemp("undisturbed")
    (out / "sweep.toml").write_text(SWEEP)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        reproduce(read_book(out / "sweep.toml"), ["all"], out=out / "report", workers=1)
    return tables(out / "report")


@pytest.mark.parametrize("jobs", ["2", pytest.param("1", marks=pytest.mark.long)])
def test_a_sweep_killed_in_the_middle_ends_in_the_tables_of_an_undisturbed_one(spec, tmp_path, undisturbed, jobs):
    killed = start(spec, tmp_path / "killed", "--jobs", jobs)
    while len(list((tmp_path / "killed").rglob("*.npz"))) < 5:
        assert killed.poll() is None
        time.sleep(0.005)
    killed.kill()
    killed.communicate(timeout=300)  # its workers notice, and end too
    finished = {p: p.stat().st_mtime_ns for p in (tmp_path / "killed").rglob("*.npz") if not p.name.startswith(".")}
    assert 5 <= len(finished) < 16
    assert not (tmp_path / "killed" / "index.html").exists()
    again = start(spec, tmp_path / "killed", "--jobs", jobs)
    _, said = again.communicate(timeout=300)
    assert again.returncode == 0, said
    assert tables(tmp_path / "killed") == undisturbed
    assert all(path.stat().st_mtime_ns == then for path, then in finished.items())  # none was run again


def test_two_calls_on_one_folder_at_once_both_end_well(spec, tmp_path, undisturbed):
    both = [start(spec, tmp_path / "out", "--jobs", "1") for _ in range(2)]
    said = [one.communicate(timeout=300) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert tables(tmp_path / "out") == undisturbed
    assert not list((tmp_path / "out").rglob("*.tmp")) and not list((tmp_path / "out").rglob("*.part"))


def test_a_folder_that_cannot_be_written_is_one_sentence(spec, tmp_path):
    (tmp_path / "out").write_text("a file is in the way")
    done = start(spec, tmp_path / "out")
    _, said = done.communicate(timeout=120)
    assert done.returncode == 2
    assert said.count("\n") == 1 and said.endswith("out' is a file; choose a folder with --out.\n")


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_is_one_sentence_and_what_was_finished_counts_later(spec, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a disk")
    try:
        done = start(spec, disk / "out", "--jobs", "1")
        _, said = done.communicate(timeout=300)
        assert done.returncode == 2
        assert [line for line in said.splitlines() if " runs, " not in line] == said.splitlines()[-1:]
        assert "the disk is full" in said
        kept = {p.relative_to(disk / "out"): p.read_bytes() for p in disk.rglob("*.npz") if p.name[0] != "."}
        assert kept
        shutil.copytree(disk / "out", tmp_path / "out")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    again = start(spec, tmp_path / "out")
    assert again.communicate(timeout=300) and again.returncode == 0
    assert all((tmp_path / "out" / name).read_bytes() == content for name, content in kept.items())


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The whole quick profile without any data; of the figures' formats only that of the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        patch.setattr(figures, "FORMATS", ("svg",))
        return reproduce(paper_book(), ["all"], out=tmp_path_factory.mktemp("report"), theorems=True)


def test_without_any_data_the_quick_profile_shows_everything_on_the_digits(quick):
    assert quick.failures == ()
    assert {f"figure-{k}" for k in range(1, 20)} <= {piece.experiment.id for piece in quick.pieces}
    for piece in quick.pieces:
        assert piece.caption or not piece.pictures, piece.experiment.id
        assert piece.sentences or piece.kind.name not in ("curves", "wins", "powers", "ranks"), piece.experiment.id
    assert "digits 7/8 stand in" in quick.notes[0]
    assert len(list((quick.path.parent / "figures").glob("figure-*[0-9].svg"))) == 19


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
MAKER = ("google", "gvt1.com", "gstatic")  # whom the browser asks on its own account
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium: make browser")


def open_page(folder, profile):
    """Show index.html of a folder in a browser whose only way out is our server: what it asked for, said, and drew."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            asked.append(self.path)

        def do_CONNECT(self):  # noqa: N802  # the name that http.server looks for
            self.send_error(403)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,4000", "--no-first-run"]
        words += ["--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"]
        words += [f"--proxy-server=http://127.0.0.1:{server.server_port}", f"--user-data-dir={profile}"]
        words += [f"--screenshot={profile / 'page.png'}", f"http://127.0.0.1:{server.server_port}/index.html"]
        done = subprocess.run([str(BROWSER), *words], capture_output=True, text=True, timeout=120)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return asked, console, (profile / "page.png").stat().st_size


@needs_browser
def test_the_report_opens_in_a_browser_and_asks_the_network_for_nothing(quick, tmp_path):
    asked, console, size = open_page(quick.path.parent, tmp_path)
    assert {url for url in asked if not any(host in url for host in MAKER)} <= {"/index.html", "/favicon.ico"}
    assert console == []
    assert size > 100_000  # a blank page is far smaller


@needs_browser
def test_a_page_that_asks_for_more_is_noticed(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text(
        '<img src="http://example.org/x.png"><img src="https://example.com/z.png"><script>console.error("!")</script>'
    )
    asked, console, _ = open_page(tmp_path / "site", tmp_path)
    assert {"http://example.org/x.png", "example.com:443"} <= set(asked)
    assert console
