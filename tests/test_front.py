"""The command line as one finds it: examples that work, JSON everywhere, signs of life, colours, completion."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli import app, console
from separatrix.deciding import separate as decide

COMMANDS = typer.main.get_command(app).commands
LEAVES = {
    " ".join(words): command
    for name, top in COMMANDS.items()
    for words, command in (
        [((name, sub), leaf) for sub, leaf in top.commands.items()] if name == "datasets" else [((name,), top)]
    )
}
EXAMPLES = [
    (name, line.strip())
    for name, command in LEAVES.items()
    for line in command.epilog.replace("\\\n", "").splitlines()
    if "separatrix " in line
]
SLOW = ("reproduce", "bench", "datasets fetch", "datasets verify")  # minutes, or the network


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the examples name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "data.csv").write_text("a,b,y\n1,2,0\n2,1,0\n4,5,1\n5,5,1\n")
    (tmp_path / "patients.csv").write_text("ward,age,died\nicu,60,yes\nnorth,61,no\nnorth,70,yes\nsouth,50,no\n")
    trade = ["exporter,importer,distance,flow", "a,b,3,1.5", "b,a,3,0", "a,c,5,2", "c,a,5,0.5", "b,c,2,0", "c,b,2,1"]
    (tmp_path / "trade.csv").write_text("\n".join(trade))
    X, y, _ = sx.planted(200, 5, margin=0.2)
    np.savez(tmp_path / "images.npz", X=X, y=y)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "labels.npy", y)
    sx.save_proof(
        sx.separate([[1.0, 2.0], [2.0, 1.0], [4.0, 5.0], [5.0, 5.0]], [0, 0, 1, 1], fit_intercept=True).proof,
        tmp_path / "y.proof",
    )
    return tmp_path


def test_there_are_the_nine_commands_and_no_others():
    named = {"solve", "separate", "margin", "diagnose", "verify", "explore", "reproduce", "datasets", "bench"}
    assert set(COMMANDS) == named


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_every_example_of_the_help_works(name, line, folder):
    words = shlex.split(line.split(" > ")[0].split(" | ")[-1])
    assert words[: 1 + len(name.split())] == ["separatrix", *name.split()]
    rest = words[1 + len(name.split()) :]
    if name in SLOW:
        LEAVES[name].make_context(name, rest)  # the words are understood
        return
    piped = (folder / "data.csv").read_bytes() if line.startswith("cat data.csv") else None
    done = CliRunner().invoke(app, words[1:], input=piped)
    assert done.exit_code in (0, 1), done.output
    assert done.stderr == ""
    assert done.stdout


def test_every_command_has_an_example_and_can_answer_in_json():
    assert {name for name, _ in EXAMPLES} == set(LEAVES)
    for name, command in LEAVES.items():
        assert any(param.name == "json" for param in command.params), name


def test_options_of_one_name_mean_the_same_everywhere():
    told = {}
    for name, command in LEAVES.items():
        for param in command.params:
            if param.name in ("data", "target", "intercept", "missing", "header", "labels", "memory_limit", "json"):
                assert told.setdefault(param.name, param.help) == param.help, (name, param.name)


def test_the_list_of_commands_is_not_cut_short():
    for words in (["--help"], ["datasets", "--help"]):
        help_text = CliRunner(env={"COLUMNS": "80"}).invoke(app, words).stdout
        assert "..." not in help_text.split("Commands:")[1]
    assert CliRunner().invoke(app, ["-h"]).stdout == CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize("name", LEAVES)
def test_help_fits_80_columns_and_says_a_sentence_of_every_option(name):
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*name.split(), "--help"]).stdout
    assert max(map(len, shown.splitlines())) <= 80
    for param in LEAVES[name].params:
        assert param.help and param.help.endswith("."), param.name


HELP = """
import sys
from separatrix.cli import app
app(["--help"], standalone_mode=False)
print(*(name for name in sys.modules), file=sys.stderr)
"""


def test_help_loads_no_array_library_and_nothing_of_ours_but_the_command_line():
    done = subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True, text=True)
    loaded = done.stderr.split()
    assert "Usage" in done.stdout and "separatrix.cli.main" in loaded
    assert all(name.startswith("separatrix.cli") for name in loaded if name.startswith("separatrix."))
    heavy = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "dask", "matplotlib", "rich", "torch"}
    assert heavy.isdisjoint(loaded)


def test_standard_input_is_a_file_like_others(folder):
    text = (folder / "patients.csv").read_bytes()
    asked = ["--target", "died", "--json"]
    piped = CliRunner().invoke(app, ["diagnose", "-", *asked], input=text)
    named = CliRunner().invoke(app, ["diagnose", "patients.csv", *asked])
    assert piped.exit_code == named.exit_code == 0
    assert json.loads(piped.stdout) | {"seconds": 0} == json.loads(named.stdout) | {"seconds": 0}


def test_rows_and_labels_in_two_files_can_be_diagnosed(folder):
    done = CliRunner().invoke(app, ["diagnose", "rows.npy", "--labels", "labels.npy", "--no-intercept"])
    assert done.exit_code == 0
    assert done.stdout.startswith("complete: ")


def test_the_last_column_of_an_array_may_hold_the_labels(folder):
    np.save("both.npy", np.c_[np.load("rows.npy"), np.load("labels.npy")])
    done = CliRunner().invoke(app, ["separate", "both.npy", "--target", "-1"])
    assert done.exit_code == 0, done.output


def test_numbers_that_json_has_no_word_for_are_text(capsys):
    console.show("", {"a": float("inf"), "b": [np.float64("nan"), np.int64(3)], "c": {"d": None}}, True)
    assert json.loads(capsys.readouterr().out) == {"a": "inf", "b": ["nan", 3], "c": {"d": None}}


def test_a_margin_that_floats_cannot_see_is_shown_with_a_separator(folder):
    X, y = np.array([[1, 1e-16, 0.3], [1, -1e-16, 0.3], [2, -1e-16, 0.6]]), np.array([1, 0, 0])
    np.savez("thin.npz", X=X, y=y)
    done = CliRunner().invoke(app, ["margin", "thin.npz", "--json"])
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["status"]) == (0, "separable")
    theta = [Fraction(value) for value in answer["theta"].values()]
    margins = [
        (2 * k - 1) * sum(Fraction(a) * t for a, t in zip(row, theta, strict=True)) for row, k in zip(X, y, strict=True)
    ]
    assert min(margins) > 0


def test_an_answer_that_nobody_reads_is_no_verdict(folder):
    script = f"{sys.executable} -m separatrix separate images.npz | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_fault_of_ours_is_no_verdict(folder, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(decide, "separate", broken)
    done = CliRunner().invoke(app, ["separate", "images.npz"])
    assert done.exit_code == 70
    assert "RuntimeError: a mistake of ours" in done.stderr


def test_an_interrupted_command_gives_no_verdict(folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(decide, "separate", interrupted)
    done = CliRunner().invoke(app, ["separate", "images.npz"])
    assert done.exit_code == 130
    assert done.stderr == "separatrix: interrupted.\n"


# Colours.


@pytest.mark.parametrize(
    ("words", "env", "coloured"),
    [
        ([], {}, False),
        (["--color"], {}, True),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_the_verdict_is_coloured_only_where_colours_are_wanted(folder, monkeypatch, words, env, coloured):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.setenv(name, "")  # so that whatever the command sets is taken back
    done = CliRunner().invoke(app, [*words, "separate", "images.npz"], env=env)
    assert done.stdout.startswith("\033[1;32mseparable\033[0m: " if coloured else "separable: ")


# Signs of life.

# Work that takes until it is told to go on, twice.
LONG = """
from separatrix.cli import console
from separatrix.reporting import progress
progress.PATIENCE = 0.1
with console.waiting("reading x.csv") as tell:
    input()
    tell("deciding")
    input()
print("done")
"""


posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")


def on_a_terminal(code, out=None, until=(), signalled=(), status=0):
    """What a process prints to its terminal; it is told to go on whenever the next of these words is seen.

    After those of `until` it is sent Ctrl-C, at the words of `signalled`.
    """
    import pty

    leader, follower = pty.openpty()
    until, signalled = [word.encode() for word in until], [word.encode() for word in signalled]
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=out or follower, stderr=follower
    ) as process:
        os.close(follower)
        if not until:
            process.stdin.write(b"\n\n")
            process.stdin.flush()
        seen = b""
        while True:
            while until and until[0] in seen:
                until.pop(0)
                process.stdin.write(b"\n")
                process.stdin.flush()
            if signalled and signalled[0] in seen:
                signalled.pop(0)
                process.send_signal(signal.SIGINT)
            try:
                part = os.read(leader, 4096)
            except OSError:  # how a terminal says that it was closed
                break
            if not part:
                break
            seen += part
    os.close(leader)
    assert process.returncode == status, seen.decode()
    return seen.decode()


@posix
def test_a_terminal_is_told_what_goes_on_and_others_are_not():
    assert "done" in on_a_terminal(LONG, until=("reading x.csv (", "deciding ("))
    quiet = subprocess.run([sys.executable, "-c", LONG], input="\n\n", capture_output=True, text=True, check=True)
    assert (quiet.stdout, quiet.stderr) == ("done\n", "")


@posix
def test_the_answer_goes_where_it_is_sent_while_a_terminal_is_told(folder):
    rng = np.random.default_rng(0)
    np.savez("noise.npz", X=rng.standard_normal((300, 3)), y=rng.integers(0, 2, 300))
    code = (
        "from separatrix.reporting import progress; progress.PATIENCE = 0.0; from separatrix.cli import app;"
        "app(['solve', 'noise.npz', '--method', 'batch-perceptron', '--max-iter', '100000', '--json'])"
    )
    with open(folder / "out.json", "w") as out:
        on_a_terminal(code, out, status=1)  # it does not separate
    assert json.loads((folder / "out.json").read_text())["iterations"] == 100_000


@posix
@pytest.mark.parametrize("words", [[], ["--json"], ["--checkpoint", "run.npz"]])
def test_a_run_that_is_interrupted_tells_how_far_it_came_and_exits_with_130(folder, words):
    rng = np.random.default_rng(0)
    np.savez("noise.npz", X=rng.standard_normal((300, 3)), y=rng.integers(0, 2, 300))
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"  # as in a shell's foreground
        "from separatrix.reporting import progress; progress.PATIENCE = 0.0; from separatrix.cli import app;"
        f"app(['solve', 'noise.npz', '--step-size', '1e-9', '--max-iter', '10000000000', *{words}])"
    )
    seen = on_a_terminal(code, signalled=["iteration "], status=130)
    assert "interrupted" in seen and "Traceback" not in seen
    assert not words or words[0] == "--json" or (folder / "run.npz").is_file()


@posix
def test_names_are_not_read_as_markup():
    code = LONG.replace("reading x.csv", "reading a[/b][red].csv")
    assert "done" in on_a_terminal(code, until=("reading a[/b][red].csv (", "deciding ("))


@posix
def test_nothing_is_said_of_what_is_quick():
    assert on_a_terminal(LONG.replace("0.1", "1e6")) == "done\r\n"


def test_a_run_tells_its_iteration_and_how_many_rows_are_wrong_ten_times_a_second_at_most(clock):
    X, y, _ = sx.planted(2000, 20, margin=0.01, offset=10.0)
    told = []
    clock.per_reading, began = 0.005, clock.now
    run = sx.solve(X, y, "batch-perceptron", max_iter=3000, stop=None, progress=lambda *now: told.append(now))
    assert told[-1] == (3000, run.trace["errors"][-1])
    assert [t for t, _ in told] == sorted(t for t, _ in told)
    assert 2 < len(told) <= 2 + 10 * (clock.now - began)


def test_a_perceptron_does_not_claim_to_know_how_many_rows_are_wrong():
    X, y, _ = sx.planted(2000, 20, margin=0.01, offset=10.0)
    told = []
    sx.solve(X, y, "perceptron", max_iter=3000, progress=lambda *now: told.append(now))
    assert {wrong for _, wrong in told} <= {None, 0}
    assert told


# Completion.


def completed(*words):
    env = {**os.environ, "_SEPARATRIX_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words)}
    env["COMP_CWORD"] = str(len(words) - 1)
    code = "import sys; sys.argv[0] = 'separatrix'; from separatrix.cli import app; app(prog_name='separatrix')"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    return done.stdout.split()


def test_the_shell_completes_commands_options_and_methods():
    assert completed("separatrix", "se") == ["separate"]
    assert completed("separatrix", "separate", "x.csv", "--tar") == ["--target"]
    assert completed("separatrix", "solve", "x.csv", "--method", "normalized-b") == ["normalized-batch-perceptron"]


# Words.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["diagnose", "gaps.csv", "--target", "y"], "or pass --missing drop"),
        (["separate", "data.csv"], "data.csv needs --target"),
        (["separate", "rows.npy"], "--labels and their file, or --target"),
        (["separate", "twice.csv", "--target", "a"], "pass --no-header"),
        (["separate", "images.npz", "--time-limit", "-1"], "--time-limit must be"),
        (["solve", "images.npz", "--step-size", "-1"], "--step-size must be positive"),
        (["separate", "three.csv", "--target", "y"], "`separatrix diagnose` takes more"),
    ],
)
def test_messages_speak_of_options(folder, words, said):
    (folder / "gaps.csv").write_text("a,y\n1,0\nNA,1\n")
    (folder / "twice.csv").write_text("a,a\n1,0\n")
    (folder / "three.csv").write_text("a,y\n1,0\n2,1\n3,2\n")
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_columns_keep_their_names(folder):
    (folder / "odd.csv").write_text("max_iter,data_dir,y\n1,2,0\n2,1,0\n4,5,1\n5,5,1\n")
    for command in ("diagnose", "separate"):
        done = CliRunner().invoke(app, [command, "odd.csv", "--target", "y", "--intercept"])
        assert "max_iter" in done.stdout and "data_dir" in done.stdout, done.output


def test_a_hyperplane_of_few_columns_is_printed(folder):
    done = CliRunner().invoke(app, ["separate", "data.csv", "--target", "y", "--intercept"])
    theta = dict(part.rsplit(" ", 1) for part in done.stdout.split("theta: ")[-1].strip().split(", "))
    assert list(theta) == ["a", "b", "(intercept)"]
    for (a, b), y in (((1, 2), -1), ((2, 1), -1), ((4, 5), 1), ((5, 5), 1)):
        assert y * (float(theta["a"]) * a + float(theta["b"]) * b + float(theta["(intercept)"])) > 0


def test_a_proof_of_several_classes_is_written_and_names_its_model(folder):
    (folder / "three.csv").write_text("a,y\n1,0\n2,1\n3,2\n1.5,2\n2.5,0\n1.2,1\n")
    asked = ["diagnose", "three.csv", "--target", "y", "--proof", "t.proof"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2 and "more than one model would fit" in done.stderr
    done = CliRunner().invoke(app, [*asked, "--model", "multinomial"])
    assert done.stderr == ""
    checked = CliRunner().invoke(app, ["verify", "t.proof", "three.csv"])
    assert checked.exit_code == 0 and "in the model multinomial" in checked.stdout


def test_names_of_experiments_and_data_sets_are_completed():
    assert completed("separatrix", "reproduce", "table-1-a") == ["table-1-a"]
    assert completed("separatrix", "datasets", "fetch", "fash") == ["fashion-mnist"]
