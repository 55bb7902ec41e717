"""Downloads from a server of our own: whole ones are kept, broken ones leave one sentence and no file."""

from __future__ import annotations

import errno
import gzip
import os
import re
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from separatrix.datasets import (
    CLASSES,
    SOURCES,
    VARIABLE,
    FetchError,
    File,
    State,
    available,
    download,
    fetch,
    load,
    places,
    verify,
)
from separatrix.reporting.hints import install
from served import CONTENT, served

pooch = pytest.importorskip("pooch", reason="downloads need pooch")


@pytest.fixture
def server(monkeypatch):
    with served(monkeypatch) as running:
        yield running


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def one_sentence(error):
    text = str(error)
    return text.endswith(".") and "\n" not in text and "Traceback" not in text


def test_a_whole_download_is_kept_and_read(server, tmp_path):
    paths = fetch("mnist", tmp_path)
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert files_in(tmp_path) == sorted(CONTENT)
    assert available(tmp_path) == ["mnist"]
    assert load("mnist", data_dir=tmp_path)[1].tolist() == [7, 8, 8, 7]
    assert {checked.state for checked in verify("mnist", tmp_path)} == {State.OK}


def test_a_download_is_readable_by_others_too(server, tmp_path):
    if os.name == "nt":
        pytest.skip("Windows has no such permissions")
    assert {path.stat().st_mode & 0o777 for path in fetch("mnist", tmp_path)} == {0o644}


def test_a_copy_of_a_data_folder_on_a_web_server_can_be_used_instead(server, tmp_path):
    server.content = {f"/copy/mnist{path}": content for path, content in server.content.items()}
    assert len(fetch("mnist", tmp_path, base_url=f"{server.url}copy")) == 4


def test_files_go_to_the_named_folder_or_else_to_the_users_cache(server, tmp_path, monkeypatch):
    monkeypatch.setattr(places, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv(VARIABLE, raising=False)
    assert {path.parent for path in fetch("mnist")} == {tmp_path / "cache" / "mnist"}
    assert available() == ["mnist"]
    assert load("mnist")[0].shape == (4, 6)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named"))
    assert {path.parent for path in fetch("mnist")} == {tmp_path / "named" / "mnist"}


@pytest.mark.parametrize("place", ["", "relative", "/elsewhere"])
def test_the_cache_folder_is_the_users_as_pooch_finds_it(place, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    assert places.cache_folder() == Path(pooch.os_cache("separatrix"))


def test_a_file_that_is_there_and_whole_is_not_fetched_again(server, tmp_path):
    fetch("mnist", tmp_path)
    server.asked.clear()
    fetch("mnist", tmp_path)
    assert server.asked == []


def test_a_file_that_is_there_but_wrong_is_reported_and_replaced(server, tmp_path):
    path, *_ = fetch("mnist", tmp_path)
    good = path.read_bytes()
    path.write_bytes(good[:-1] + b"\1")
    found = {checked.path: checked for checked in verify("mnist", tmp_path)}
    assert found[path].state is State.WRONG and "sha256" in found[path].reason
    path.write_bytes(good[:-1])
    assert f"has {len(good) - 1} bytes, published are {len(good)}" in str(verify("mnist", tmp_path)[0])
    server.asked.clear()
    fetch("mnist", tmp_path)
    assert server.asked == [f"/{path.name}"]
    assert path.read_bytes() == good


def test_a_cut_connection_is_tried_again_and_leaves_one_sentence_and_no_file(server, tmp_path):
    server.cut = 7
    with pytest.raises(FetchError, match="connection was cut while http://127.0.0.1.*try again") as caught:
        fetch("mnist", tmp_path)
    assert one_sentence(caught.value)
    assert server.asked == ["/train-images-idx3-ubyte.gz"] * 2
    assert files_in(tmp_path) == []


def test_a_second_attempt_mends_a_first_that_failed(server, tmp_path, monkeypatch):
    attempts = []

    def flaky(*arguments):
        attempts.append(arguments)
        if len(attempts) == 1:
            raise download._WrongFileError("a passing fault.")
        real(*arguments)

    real = download._download
    monkeypatch.setattr(download, "_download", flaky)
    assert len(fetch("mnist", tmp_path)) == 4
    assert len(attempts) == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"something else", "sent has 14 bytes, published are"), (None, "sent has sha256 .*, published is .*nothing was")],
    ids=["size", "sum"],
)
def test_a_wrong_checksum_leaves_one_sentence_and_no_file(server, tmp_path, content, message):
    name = "/train-labels-idx1-ubyte.gz"
    server.content[name] = content or server.content[name][:-1] + b"\1"
    with pytest.raises(FetchError, match=message) as caught:
        fetch("mnist", tmp_path)
    assert one_sentence(caught.value)
    assert files_in(tmp_path) == ["train-images-idx3-ubyte.gz"]  # whole, and not fetched again next time
    assert available(tmp_path) == []


def test_a_wrong_file_that_cannot_be_replaced_stays_as_it_is(server, tmp_path):
    path, *_ = fetch("mnist", tmp_path)
    path.write_bytes(b"wrong")
    server.status = 503
    with pytest.raises(FetchError, match="answered 503 Service Unavailable"):
        fetch("mnist", tmp_path)
    assert path.read_bytes() == b"wrong"


def test_a_file_that_the_server_does_not_have_is_named(server, tmp_path):
    server.content.clear()
    with pytest.raises(FetchError, match="ubyte.gz answered 404 Not Found; try again later") as caught:
        fetch("mnist", tmp_path)
    assert one_sentence(caught.value)
    assert files_in(tmp_path) == []


@contextmanager
def closed_port():
    """A port that nobody listens at, kept from others meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_a_server_that_is_not_there_is_named(server, tmp_path):
    with closed_port() as port, pytest.raises(FetchError, match=rf"cannot reach 127.0.0.1:{port} .*network") as caught:
        fetch("mnist", tmp_path, base_url=f"http://127.0.0.1:{port}")
    assert one_sentence(caught.value)
    assert files_in(tmp_path) == []


def test_an_address_that_is_none_gets_one_sentence(server, tmp_path):
    with pytest.raises(ValueError, match=r"base_url must begin with http:// or https://, got 'nowhere'\."):
        fetch("mnist", tmp_path, base_url="nowhere")


def test_a_file_in_place_of_the_folder_gets_one_sentence(server, tmp_path):
    (tmp_path / "mnist").write_bytes(b"")
    with pytest.raises(FetchError, match="cannot write .*give a folder that can be written to") as caught:
        fetch("mnist", tmp_path)
    assert one_sentence(caught.value)
    with pytest.raises(FetchError, match="cannot write"):
        fetch("mnist", tmp_path / "mnist")
    assert server.asked == []


def test_a_folder_that_is_read_only_gets_one_sentence(server, tmp_path):
    folder = tmp_path / "mnist"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write to read-only folders")
    with pytest.raises(FetchError, match="cannot write .*Permission denied.*give a folder that can be written to"):
        fetch("mnist", tmp_path)


def test_a_full_disk_leaves_one_sentence_and_no_file(server, tmp_path, monkeypatch):
    def full(self, size):
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("requests.Response.iter_content", full)
    with pytest.raises(FetchError, match="no room for the .* bytes of .*No space left on device.*make room") as caught:
        fetch("mnist", tmp_path)
    assert one_sentence(caught.value)
    assert files_in(tmp_path) == []


def test_an_interrupted_download_leaves_no_file(server, tmp_path, monkeypatch):
    def stop(self, size):
        yield b"half"
        raise KeyboardInterrupt

    monkeypatch.setattr("requests.Response.iter_content", stop)
    with pytest.raises(KeyboardInterrupt):
        fetch("mnist", tmp_path)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("asked", "terminal", "drawn"), [(None, False, 0), (None, True, 4), (True, False, 4), (False, True, 0)]
)
def test_a_bar_is_drawn_when_asked_for_or_on_a_terminal(server, tmp_path, monkeypatch, capsys, asked, terminal, drawn):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    fetch("mnist", tmp_path, progressbar=asked)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sum(f"{name}: 100%" in shown.err for name in CONTENT) == drawn
    assert shown.err == "" or drawn


def test_without_tqdm_no_bar_is_drawn(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    fetch("mnist", tmp_path, progressbar=True)
    assert capsys.readouterr().err == ""


def test_without_pooch_fetch_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=re.escape(install("lab"))):
        fetch("mnist", tmp_path)


@pytest.mark.parametrize("act", [fetch, verify])
def test_an_unknown_data_set_gets_one_sentence(act, tmp_path):
    with pytest.raises(ValueError, match=r"unknown data set 'mnits' \(did you mean 'mnist'"):
        act("mnits", tmp_path)


def test_nothing_there_is_the_published_file_missing(tmp_path):
    for name, source in SOURCES.items():
        found = verify(name, tmp_path / "nowhere")
        assert [checked.path.name for checked in found] == [file.name for file in source.files]
        assert {checked.state for checked in found} == {State.MISSING}


def test_half_a_group_in_place_of_a_file_is_missing_the_other_half(tmp_path):
    (tmp_path / "cifar-10").mkdir()
    (tmp_path / "cifar-10" / "cifar-10-class01-train.bin").write_bytes(b"short")
    states = {checked.path.name: checked.state for checked in verify("cifar-10", tmp_path)}
    assert states == {"cifar-10-class01-train.bin": State.WRONG, "cifar-10-class01-test.bin": State.MISSING}


def every_file(source):
    return [file for top in source.files for group in top.groups() for file in group]


@pytest.mark.parametrize("name", CLASSES)
def test_the_table_is_whole(name):
    source = SOURCES[name]
    assert source.base_url.endswith("/") and source.licence and source.citation
    for file in every_file(source):
        assert isinstance(file, File)
        assert len(bytes.fromhex(file.sha256)) == 32 and file.size > 0
        assert ".." not in file.name and not file.name.startswith("/")
    assert all(len(bytes.fromhex(file.md5)) == 16 for file in source.files)  # the publishers'


@pytest.mark.parametrize("name", CLASSES)
def test_the_real_files_are_the_published_ones(data_dir, name):
    found = verify(name, data_dir)
    assert [str(checked) for checked in found if checked.state is not State.OK] == []
    assert len(found) >= 1


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_sums_of_the_unpacked_files_are_those_of_the_packed_ones_unpacked(data_dir, tmp_path, name):
    (tmp_path / name).mkdir()
    for packed in (data_dir / name).glob("*.gz"):
        (tmp_path / name / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    assert [checked.state for checked in verify(name, tmp_path)] == [State.OK] * 4


def test_the_page_on_data_has_every_file_and_checksum():
    page = (Path(__file__).parent.parent / "docs" / "data.md").read_text(encoding="utf-8")
    for name, source in SOURCES.items():
        assert f"{source.rows:,} | {source.licence} |" in page
        for file in every_file(source):
            assert file.sha256 in page and f"{file.size:,}" in page
        assert all(f"| `{name}/{file.name}` | {file.size:,} | `{file.md5}` |" in page for file in source.files)
