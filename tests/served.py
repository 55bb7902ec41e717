"""A web server of our own with a small MNIST, which the table of sources takes for the published one."""

from __future__ import annotations

import gzip
import hashlib
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from separatrix.datasets import SOURCES

LABELS = np.array([7, 1, 8, 8, 7], dtype=np.uint8)
IMAGES = np.random.default_rng(0).integers(0, 256, size=(5, 2, 3), dtype=np.uint8)


def idx(array):
    header = [0x0800 + array.ndim, *array.shape]
    return b"".join(int(number).to_bytes(4, "big") for number in header) + array.tobytes()


def small(name, content):
    """A file of the table, as if this content were the published one."""
    old = next(file for file in SOURCES["mnist"].files if file.name == name)
    sums = {"sha256": hashlib.sha256(content).hexdigest(), "md5": hashlib.md5(content).hexdigest()}
    return replace(old, size=len(content), **sums)


CONTENT = {
    f"{part}-{kind}-ubyte.gz": gzip.compress(idx(array), mtime=0)
    for part in ("train", "t10k")
    for kind, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS))
}


class Server(ThreadingHTTPServer):
    """Serves `content` by path and keeps a list of what it was asked for; `cut` bytes are promised but not sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.asked, self.cut, self.status = {}, [], 0, 200

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.content.get(self.path)
        if content is None or self.server.status != 200:
            self.send_error(404 if content is None else self.server.status)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + self.server.cut))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):
        pass


@contextmanager
def served(monkeypatch):
    """A server with a small MNIST, which the table takes for the published one."""
    with Server() as running:
        running.content = {f"/{name}": content for name, content in CONTENT.items()}
        table = tuple(small(name, content) for name, content in CONTENT.items())
        monkeypatch.setitem(SOURCES, "mnist", replace(SOURCES["mnist"], base_url=running.url, files=table))
        monkeypatch.setattr("time.sleep", lambda seconds: None)  # before the second attempt
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()
