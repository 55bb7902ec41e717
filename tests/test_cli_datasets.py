"""The commands of the data sets say what they did, and exit with 0, 1 or 2."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from separatrix.cli import app
from separatrix.datasets import CLASSES, SOURCES, VARIABLE
from served import CONTENT, served


@pytest.fixture
def invoke(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)

    def run(*words):
        return CliRunner().invoke(app, ["datasets", *map(str, words)])

    return run


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("pooch", reason="downloads need pooch")
    with served(monkeypatch) as running:
        yield running


def one_sentence(text):
    return text.count("\n") == 1 and text.startswith("separatrix: ") and "Traceback" not in text


def test_list_shows_every_data_set_and_whether_it_is_here(invoke, tmp_path):
    done = invoke("list", "--data-dir", tmp_path)
    assert done.exit_code == 0
    for name, source in SOURCES.items():
        assert name in done.stdout and f"{source.rows:,}" in done.stdout
    answer = json.loads(invoke("list", "--data-dir", tmp_path, "--json").stdout)
    assert [one["name"] for one in answer["datasets"]] == list(CLASSES)
    assert not any(one["here"] for one in answer["datasets"])
    assert answer["datasets"][2]["files"][0]["url"] == "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"


def test_list_works_without_any_folder(invoke, cache):
    answer = json.loads(invoke("list", "--json").stdout)
    assert answer["folder"] == str(cache)


def test_what_was_fetched_is_here_and_verified(invoke, server, tmp_path):
    done = invoke("fetch", "mnist", "--data-dir", tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"mnist: 4 files in {tmp_path / 'mnist'}\n"
    assert done.stderr == ""
    again = json.loads(invoke("fetch", "mnist", "--data-dir", tmp_path, "--json").stdout)
    assert again["fetched"]["mnist"] == [str(tmp_path / "mnist" / name) for name in CONTENT]
    listed = json.loads(invoke("list", "--data-dir", tmp_path, "--json").stdout)["datasets"]
    assert [one["name"] for one in listed if one["here"]] == ["mnist"]
    done = invoke("verify", "mnist", "--data-dir", tmp_path)
    assert done.exit_code == 0
    assert done.stdout.count("ok: ") == 4


def test_a_failed_fetch_is_one_sentence_and_status_1(invoke, server, tmp_path):
    server.content.clear()
    done = invoke("fetch", "mnist", "--data-dir", tmp_path)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert one_sentence(done.stderr)
    assert "404" in done.stderr


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_an_unknown_data_set_is_status_2_before_anything_is_fetched(invoke, server, tmp_path, command):
    done = invoke(command, "mnist", "mnits", "--data-dir", tmp_path)
    assert done.exit_code == 2
    assert one_sentence(done.stderr)
    assert server.asked == []


def test_verify_exits_with_1_when_a_file_is_missing_or_wrong(invoke, tmp_path):
    (tmp_path / "eurosat").mkdir()
    (tmp_path / "eurosat" / "EuroSAT_RGB.zip").write_bytes(b"short")
    done = invoke("verify", "--data-dir", tmp_path, "--json")
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert not answer["ok"]
    assert [one["state"] for one in answer["files"]] == ["missing"] * 9 + ["wrong"]
    assert answer["files"][-1]["reason"] == "has 5 bytes, published are 94,658,721"
    assert "missing: " in invoke("verify", "--data-dir", tmp_path).stdout


def test_the_command_starts_without_pooch_or_pillow():
    code = "import sys, separatrix.cli; print([m for m in ('pooch', 'requests', 'PIL', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
