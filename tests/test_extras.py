"""Every extra that is named exists, and what needs one says which, in one sentence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import separatrix
from separatrix.reporting import hints
from separatrix.reporting.hints import install
from separatrix.shards import dask_collections as collections

TOP = Path(__file__).parent.parent
EXTRAS = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
PAGES = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "Makefile", TOP / "pyproject.toml"]
PAGES += [*(TOP / "docs").rglob("*.md"), *(TOP / "src").rglob("*.py")]
NAMING = re.compile(r"""(?:(?:separatrix|['"]\.)\[|\binstall\(['"])([^\]'"{]*)['"\]]""")
NAMED = [
    (str(page.relative_to(TOP)), extra)
    for page in PAGES
    for names in NAMING.findall(page.read_text(encoding="utf-8"))
    for extra in names.replace(" ", "").split(",")
]


def test_every_extra_that_is_named_exists():
    assert {extra for _, extra in NAMED} >= {"lab", "dask", "frames", "exact", "torch"}
    assert [(where, extra) for where, extra in NAMED if extra not in EXTRAS] == []


def test_the_extra_all_is_all_of_them():
    (everything,) = EXTRAS["all"]
    assert everything == f"separatrix[{','.join(name for name in EXTRAS if name not in ('all', 'docs', 'dev'))}]"


class Installed:
    """A distribution with this origin."""

    requires = ("numpy>=2.0", "matplotlib>=3.9; extra == 'lab'", 'pooch>=1.8 ; extra == "lab"', "x; extra == 'labs'")

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.fixture
def installed(monkeypatch):
    """As if installed so, and not running in a folder of sources."""

    def pretend(origin):
        monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(origin))
        monkeypatch.setattr(hints, "_running_from", lambda: None)

    return pretend


def test_a_hint_names_the_folder_that_was_installed_from_and_the_dot_inside_of_it(installed, tmp_path, monkeypatch):
    clone = tmp_path / "my clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    installed({"url": clone.as_uri(), "dir_info": {}})
    assert install("lab") == f"pip install '{clone}[lab]'"
    monkeypatch.chdir(clone)
    assert install("lab") == "pip install '.[lab]'"


def test_a_hint_keeps_an_editable_installation_editable(monkeypatch):
    monkeypatch.chdir(TOP)
    assert install("lab") == "pip install -e '.[lab]'"


def test_a_hint_names_the_name_where_that_was_installed(installed):
    installed(None)
    assert install("lab") == "pip install 'separatrix[lab]'"


@pytest.mark.parametrize(
    "origin",
    [
        {"url": "file:///nowhere/separatrix-0.1.0-py3-none-linux_x86_64.whl", "archive_info": {}},
        {"url": "https://example.org/separatrix.git", "vcs_info": {"vcs": "git", "commit_id": "0"}},
        {"url": "file:///nowhere/clone", "dir_info": {}},
    ],
)
def test_a_hint_names_packages_where_what_was_installed_from_may_be_gone(origin, installed):
    installed(origin)
    assert install("lab") == "pip install 'matplotlib>=3.9' 'pooch>=1.8'"


def test_a_hint_has_the_quotes_that_shells_of_windows_know(installed, monkeypatch):
    installed(None)
    monkeypatch.setattr(hints, "os", SimpleNamespace(name="nt"))
    assert install("lab") == 'pip install "separatrix[lab]"'


def test_one_extra_reads_parquet_whole_and_by_row_groups():
    assert {re.match(r"[\w-]+", one)[0] for one in EXTRAS["frames"]} >= {"polars", "pyarrow"}


def test_a_trace_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = separatrix.solve(*separatrix.two_samples())
    with pytest.raises(ImportError, match=re.escape(install("frames"))):
        run.trace.to_pandas()


def test_a_diagnosis_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=re.escape(install("frames"))):
        separatrix.diagnose([[1.0], [2.0]], [0, 1]).to_pandas()


def test_dask_data_without_its_scheduler_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=re.escape(install("dask"))):
        collections.client_for(needed=True)


NO_TORCH = """
import sys
sys.modules["torch"] = None
import separatrix as sx
try:
    sx.nonlinear.solve(None, [[1.0], [2.0]], [0, 1])
except ImportError as error:
    print(error)
"""


def test_a_network_without_pytorch_says_what_to_install_and_its_room_opens():
    done = subprocess.run([sys.executable, "-c", NO_TORCH], capture_output=True, text=True)
    assert done.stdout == f"networks need PyTorch: {install('torch')}.\n", done.stderr


def test_opening_the_room_of_networks_does_not_load_pytorch():
    code = "import sys, separatrix as sx; sx.nonlinear.solve; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({hidden!r}))
sys.argv = ["separatrix", *{words!r}]
from separatrix.cli import app
app()
"""


@pytest.mark.parametrize(
    ("words", "hidden", "extra"),
    [
        (["reproduce", "table-1-a"], ["matplotlib"], "lab"),
        (["datasets", "fetch", "mnist", "--data-dir", "d"], ["pooch"], "lab"),
        (["diagnose", "t.parquet", "--target", "y"], ["polars", "pandas", "pyarrow"], "frames"),
        (["solve", "t.parquet", "--target", "y", "--memory-limit", "1GB"], ["pyarrow"], "frames"),
        (["solve", "X.npy", "--labels", "y.npy", "--scheduler", "tcp://127.0.0.1:1"], ["distributed"], "dask"),
    ],
)
def test_a_command_without_its_extra_names_it_and_exits_with_2(words, hidden, extra, tmp_path, monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    np.save(tmp_path / "X.npy", np.eye(2))
    np.save(tmp_path / "y.npy", np.array([0, 1]))
    command = [sys.executable, "-c", WITHOUT.format(words=words, hidden=hidden)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("separatrix: ")
    assert f"pip install -e '{TOP}[{extra}]'" in done.stderr


def test_the_data_sets_are_listed_without_any_extra(tmp_path, monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    hidden = ["pooch", "matplotlib", "PIL", "tqdm", "pandas", "polars", "pyarrow", "distributed", "formulaic"]
    command = [sys.executable, "-c", WITHOUT.format(words=["datasets", "list"], hidden=hidden)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "eurosat" in done.stdout


@pytest.mark.parametrize(("words", "status"), [(["--version"], 0), (["verify"], 2), (["reproduec"], 2)])
def test_python_m_is_the_command_of_that_name(words, status):
    done = subprocess.run([sys.executable, "-m", "separatrix", *words], capture_output=True, text=True)
    assert done.returncode == status
    assert "__main__" not in done.stdout + done.stderr
    assert (done.stdout or done.stderr).lstrip().startswith(("separatrix ", "separatrix: "))
