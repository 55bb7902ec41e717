"""Networks take the table's steps: a linear module walks as `solve` does; runs end, resume, refuse as they should."""

from __future__ import annotations

import copy
from math import inf

import numpy as np
import pytest

import separatrix as sx
from separatrix import nonlinear

torch = pytest.importorskip("torch", reason="PyTorch is not installed: networks are its own extra [torch]")

COMMON = ("iteration", "errors", "accuracy", "loss", "grad_norm", "theta_norm")


def linear(d):
    module = torch.nn.Linear(d, 1, bias=False)
    torch.nn.init.zeros_(module.weight)
    return module


def two_layers(d, width=16, seed=0, act=torch.nn.Tanh):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(d, width), act(), torch.nn.Linear(width, 1))


def xor(copies=8, seed=0):
    """Four clusters, whose label is the product of their signs: no hyperplane separates them."""
    rng = np.random.default_rng(seed)
    X = np.repeat(np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), copies, axis=0)
    return X + 0.1 * rng.standard_normal(X.shape), np.repeat([1, 1, -1, -1], copies)


def whole_numbers(n, d, seed):
    """Rows of whole eighths, n a power of two: at γ = ∞ the batch perceptron walks without rounding."""
    rng = np.random.default_rng(seed)
    X, u = rng.integers(-9, 10, size=(n, d)), rng.integers(1, 5, size=d)
    X = X[abs(X @ u) > 2][: n // 2]
    return X / 8, np.where(X @ u > 0, 1, -1)


# Counts that do not hang on last bits, in which PyTorch's sums differ from the core's: whole numbers, γ ≤ 1, few steps.
PROBLEMS = {
    "planted": sx.planted(64, 8, margin=0.1, random_state=0)[:2],
    "planted, off centre": sx.planted(128, 5, margin=0.2, offset=3.0, random_state=1)[:2],
    "whole numbers": whole_numbers(256, 6, 2),
    "worst case": sx.worst_case(64),
    "two samples": sx.two_samples(),
}
METHODS = [
    ("batch-perceptron", None, None),
    ("normalized-batch-perceptron", None, None),
    ("tempered-batch-perceptron", None, 0.5),
    ("lr-gd", 1.0, None),
    ("lr-gd", 0.25, None),
    ("lr-gd", inf, None),
    ("normalized-lr-gd", 1.0, None),
    ("tempered-lr-gd", 1.0, 0.5),
]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("method", "gamma", "power"), METHODS)
def test_a_linear_module_has_the_counts_of_solve(name, method, gamma, power):
    X, y = PROBLEMS[name]
    ours = sx.solve(X, y, method, step_size=gamma, power=power, max_iter=10_000)
    run = nonlinear.solve(linear(X.shape[1]), X, y, method, step_size=gamma, power=power, chunk=50)
    assert run.status == ours.status == "separated"
    assert run.n_iter == ours.n_iter
    assert run.trace["errors"].tolist() == ours.trace["errors"].tolist()
    assert run.trace.loss_name == ours.trace.loss_name
    early = ours.trace["iteration"] <= 10  # rounding grows with the steps
    for column in COMMON:
        np.testing.assert_allclose(run.trace[column][early], ours.trace[column][early], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.theta.shape, ours.theta.shape)


@pytest.mark.parametrize(
    ("method", "gamma"),
    [
        ("batch-perceptron", None),
        ("normalized-batch-perceptron", None),
        ("tempered-batch-perceptron", None),
        ("lr-gd", 0.5),
        ("normalized-lr-gd", 0.5),
    ],
)
def test_a_linear_module_walks_like_solve_from_anywhere(method, gamma):
    X, y = PROBLEMS["planted, off centre"]
    module = linear(5).double()
    with torch.no_grad():
        module.weight += torch.tensor([[0.5, -1.0, 0.25, 2.0, -0.75]])
    options = {"step_size": gamma, "max_iter": 5, "stop": None}
    run = nonlinear.solve(module, X, y, method, **options)
    ours = sx.solve(X, y, method, theta0=module.weight.detach().numpy()[0], **options)
    np.testing.assert_allclose(run.theta, ours.theta, rtol=1e-10)


@pytest.mark.parametrize("gamma", [0.5, 8.0, inf])
def test_the_path_of_a_linear_module_only_scales_with_the_unit(gamma):
    X, y = PROBLEMS["planted"]
    one, four = (nonlinear.solve(linear(8), X, y, step_size=gamma, unit=unit) for unit in (1.0, 4.0))
    assert one.n_iter == four.n_iter
    np.testing.assert_array_equal(4.0 * one.theta, four.theta)  # powers of two round nothing


def test_with_the_unit_kept_large_steps_walk_like_infinite_ones():
    X, y = xor()
    limit = nonlinear.solve(two_layers(2), X, y, step_size=inf, max_iter=12, stop=None)
    apart = []
    for gamma in (1e2, 1e4, 1e8):
        run = nonlinear.solve(two_layers(2), X, y, step_size=gamma, unit=1.0, max_iter=12, stop=None)
        apart.append(np.linalg.norm(run.theta - limit.theta))
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] < 1e-9


def test_a_step_is_gradient_descent_on_the_logistic_loss():
    X, y = xor()
    module = two_layers(2).double()
    run = nonlinear.solve(module, X, y, step_size=0.5, max_iter=1, stop=None, chunk=7)
    theirs = copy.deepcopy(module)
    out = theirs(torch.from_numpy(X))[:, 0]
    loss = torch.nn.functional.softplus(-torch.from_numpy(y) * out).mean()
    loss.backward()
    with torch.no_grad():
        moved = torch.cat([(p - 0.5 * p.grad).reshape(-1) for p in theirs.parameters()])
    np.testing.assert_allclose(run.theta, moved.numpy(), rtol=1e-12, atol=1e-15)
    assert run.trace["loss"][0] == pytest.approx(loss.item())


@pytest.mark.parametrize(("method", "gamma"), [("lr-gd", 1.0), ("normalized-lr-gd", 1.0), ("batch-perceptron", None)])
def test_two_layers_separate_what_no_hyperplane_does(method, gamma):
    X, y = xor()
    run = nonlinear.solve(two_layers(2), X, y, method, step_size=gamma)
    assert run.status == "separated" and run.separated
    with torch.no_grad():
        out = run.module(torch.from_numpy(X)).numpy()[:, 0]
    assert (y * out > 0).all()
    assert run.trace["min_output"][-1] == pytest.approx((y * out).min())
    assert run.trace["errors"][-1] == 0 and (run.trace["errors"][:-1] > 0).all()
    assert np.concatenate([p.detach().numpy().ravel() for p in run.module.parameters()]).tolist() == run.theta.tolist()


def test_a_convolutional_module_takes_images():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1, 6, 6))
    y = np.where(X[:, 0, :3].sum(axis=(1, 2)) > 0, "top", "bottom")
    torch.manual_seed(1)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 1), torch.nn.Flatten(0)
    )
    run = nonlinear.solve(module, X, y, "normalized-lr-gd", step_size=0.5, chunk=16)
    assert run.separated


def test_the_users_module_is_left_as_it_is_and_what_needs_no_gradient_stays():
    X, y = xor()
    module = two_layers(2).train()
    module[0].requires_grad_(False)
    before = copy.deepcopy(module.state_dict())
    run = nonlinear.solve(module, X, y, max_iter=5)
    assert module.training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert len(run.theta) == 17
    assert torch.equal(run.module[0].weight, module[0].weight.double())


def test_the_same_seed_gives_the_same_bits_and_chunks_change_only_rounding():
    X, y = xor()
    runs = [nonlinear.solve(two_layers(2, seed=3), X, y, max_iter=30, stop=None, chunk=c) for c in (8, 8, 3)]
    assert runs[0].theta.tobytes() == runs[1].theta.tobytes()
    np.testing.assert_allclose(runs[0].theta, runs[2].theta, rtol=1e-9)


@pytest.mark.parametrize("method", ["lr-gd", "batch-perceptron", "normalized-lr-gd"])
def test_whole_weights_equal_repeated_rows_and_zero_leaves_them_out(method):
    X, y = xor(2)
    s = np.array([1, 2, 0, 3, 1, 1, 2, 1])
    weighted = nonlinear.solve(two_layers(2), X, y, method, sample_weight=s, max_iter=20, stop=None)
    repeated = nonlinear.solve(two_layers(2), np.repeat(X, s, axis=0), np.repeat(y, s), method, max_iter=20, stop=None)
    np.testing.assert_allclose(weighted.theta, repeated.theta, rtol=1e-10)
    for column in ("accuracy", "loss", "grad_norm", "min_output"):
        np.testing.assert_allclose(weighted.trace[column], repeated.trace[column], rtol=1e-9)


def test_long_steps_diverge_and_say_so():
    X, y = xor()
    module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Softplus(), torch.nn.Linear(8, 8), torch.nn.Softplus())
    module = torch.nn.Sequential(module, torch.nn.Linear(8, 1))
    run = nonlinear.solve(module, X, y, step_size=1e200, max_iter=100)
    assert run.status == "diverged" and not run.separated
    assert "too long" in run.status.message
    assert np.isfinite(run.theta).all()


def test_a_network_whose_step_is_zero_is_told_to_be_stuck():
    X, y = xor()
    module = two_layers(2, act=torch.nn.ReLU)
    with torch.no_grad():
        module[0].bias.fill_(-100.0)  # no unit is ever active
        module[2].bias.fill_(0.0)
    module[2].bias.requires_grad_(False)
    run = nonlinear.solve(module, X, y, max_iter=1000)
    assert run.status == "stalled" and run.n_iter == 0
    assert run.trace["errors"].tolist() == [len(y)]


def test_far_past_separation_weights_keep_their_ratios():
    X, y = PROBLEMS["planted"]
    module = linear(8)
    with torch.no_grad():
        module.weight += torch.from_numpy(1e5 * sx.solve(X, y, "batch-perceptron").phi).float()
    before = module.weight.detach().double().numpy()[0]
    run = nonlinear.solve(module, X, y, "normalized-lr-gd", step_size=1.0, max_iter=1, stop=None)
    nearest = np.argmin(y * (X @ before))
    np.testing.assert_allclose(run.theta - before, y[nearest] * X[nearest], rtol=1e-6)


def test_a_run_goes_on_from_its_checkpoint_with_the_same_bits(tmp_path):
    X, y = xor()

    def run(limit, **more):
        return nonlinear.solve(two_layers(2), X, y, step_size=0.3, max_iter=limit, stop=None, record=7, **more)

    whole = run(40)
    file = sx.Checkpoint(tmp_path / "run.npz", every=0)
    parts = [run(limit, checkpoint=file) for limit in (13, 26, 40)]
    assert parts[-1].theta.tobytes() == whole.theta.tobytes()
    assert {13, 26} < set(parts[-1].trace["iteration"].tolist())
    assert set(whole.trace["iteration"].tolist()) <= set(parts[-1].trace["iteration"].tolist())
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
    with np.load(tmp_path / "run.npz", allow_pickle=False) as saved:
        assert sorted(saved.files) == ["header", "seconds", "t", "theta", "trace"]


def test_a_checkpoint_of_another_run_or_a_torn_one_is_refused(tmp_path):
    X, y = xor()
    path = tmp_path / "run.npz"
    nonlinear.solve(two_layers(2), X, y, max_iter=3, checkpoint=path)
    kept = path.read_bytes()
    for seed, more in ((1, {}), (0, {"step_size": 2.0}), (0, {"chunk": 5}), (0, {"method": "normalized-lr-gd"})):
        with pytest.raises(sx.CheckpointError, match="belongs to another run"):
            nonlinear.solve(two_layers(2, seed=seed), X, y, checkpoint=path, **more)
    with pytest.raises(sx.CheckpointError, match="its data is"):
        nonlinear.solve(two_layers(2), X + 1, y, checkpoint=path)
    assert path.read_bytes() == kept
    path.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(sx.CheckpointError, match="damaged or no checkpoint"):
        nonlinear.solve(two_layers(2), X, y, checkpoint=path)
    with pytest.raises(sx.CheckpointError, match="no folder"):
        nonlinear.solve(two_layers(2), X, y, checkpoint=tmp_path / "none" / "run.npz")


def test_ctrl_c_ends_a_run_with_what_there_is():
    X, y = xor()

    def interrupt(iterate):
        if iterate.t == 4:
            raise KeyboardInterrupt

    run = nonlinear.solve(two_layers(2), X, y, callback=interrupt)
    assert run.status == "interrupted" and run.n_iter == 4
    assert run.trace["iteration"].tolist() == [0, 1, 2, 3, 4]


def test_iterates_can_be_kept_and_end_a_run():
    X, y = xor()
    seen = []

    def keep(iterate):
        seen.append(iterate)
        return iterate.t == 6

    run = nonlinear.solve(two_layers(2), X, y, callback=keep, record="all", step_size=0.1)
    assert run.status == "stopped"
    assert [one.t for one in seen] == list(range(7))
    for name in ("errors", "accuracy", "loss", "grad_norm", "theta_norm", "min_output"):
        assert run.trace[name].tolist() == [getattr(one, name) for one in seen]
    assert len({one.theta.tobytes() for one in seen}) == 7
    asked = nonlinear.solve(two_layers(2), X, y, stop=lambda iterate: iterate.loss < 0.6)
    assert asked.status == "stopped" and asked.trace["loss"][-1] < 0.6 <= asked.trace["loss"][-2]


def test_float32_is_another_arithmetic():
    X, y = xor()
    run = nonlinear.solve(two_layers(2), X, y, dtype="float32")
    assert run.separated and run.theta.dtype == np.float32 and "float32" == run.dtype


def test_runs_of_networks_and_of_rows_share_a_picture():
    pytest.importorskip("matplotlib", reason="matplotlib is in the extra [lab]")
    import matplotlib.pyplot as plt

    X, y = PROBLEMS["planted"]
    runs = [sx.solve(X, y), nonlinear.solve(two_layers(8), X, y)]
    try:
        assert len(sx.plot.compare(runs, "loss").lines) >= 2
        assert runs[1].plot("min_output").get_ylabel()
    finally:
        plt.close("all")
    assert "81 parameters" not in str(runs[1]) and "161 parameters" in str(runs[1])


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


class Alone(Pair):
    def forward(self, x):
        return x[:, 0]


X, Y = xor()
WRONG = {
    "two outputs": ((Pair(), X, Y), {}, r"one output per row, \(2,\) or \(2, 1\) for 2 rows, got \(2, 2\)"),
    "no parameters": ((torch.nn.Flatten(0), X[:, :1], Y), {}, "no parameters to train"),
    "unused": ((Alone(), X, Y), {}, "depends on none of its parameters"),
    "width": ((two_layers(5), X, Y), {}, r"does not take rows of shape \(2,\)"),
    "inplace": (
        (torch.nn.Sequential(torch.nn.ReLU(inplace=True), torch.nn.Linear(2, 1)), X, Y),
        {},
        "changes the rows that it is given",
    ),
    "no module": ((np.ones(2), X, Y), {}, "must be a torch.nn.Module, got ndarray"),
    "three labels": ((two_layers(2), X[:3], [0, 1, 2]), {}, "y has 3 classes"),
    "labels missing": ((two_layers(2), X, Y[1:]), {}, "X has 32 rows but y has 31 labels"),
    "words": ((two_layers(2), [["a", "b"]], [1]), {}, "X must be numbers"),
    "nan": ((two_layers(2), np.full((4, 2), np.nan), [0, 1, 0, 1]), {}, "X must be finite, got nan in row 0"),
    "method": ((two_layers(2), X, Y, "gd"), {}, "unknown method 'gd'"),
    "own method": ((two_layers(2), X, Y, sx.zoo.SignGD(0.1)), {}, "unknown method an object of SignGD; methods"),
    "schedule": ((two_layers(2), X, Y), {"step_size": float}, "one step size for all t, a number .* got a function"),
    "perceptron": ((two_layers(2), X, Y, "perceptron"), {}, "takes one row at a time.*use 'batch-perceptron'"),
    "step": ((two_layers(2), X, Y), {"step_size": -1.0}, "step_size must be positive, got -1.0"),
    "finite": ((two_layers(2), X, Y, "batch-perceptron"), {"step_size": 2.0}, "takes no finite step_size"),
    "unit": ((two_layers(2), X, Y), {"unit": inf}, "unit must be a positive finite number, got inf"),
    "max_iter": ((two_layers(2), X, Y), {"max_iter": 1.5}, "max_iter must be a whole number"),
    "chunk": ((two_layers(2), X, Y), {"chunk": 0}, "chunk must be at least 1"),
    "stop": ((two_layers(2), X, Y), {"stop": "never"}, "stop must be"),
    "record": ((two_layers(2), X, Y), {"record": "epoch"}, "every step here is a pass"),
    "dtype": ((two_layers(2), X, Y), {"dtype": "float16"}, "dtype must be"),
    "weights": ((two_layers(2), X, Y), {"sample_weight": -np.ones(32)}, "must be finite and not negative"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(name):
    arguments, options, words = WRONG[name]
    with pytest.raises(ValueError, match=words) as caught:
        nonlinear.solve(*arguments, **options)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_run_in_words_names_an_infinite_step_size_and_claims_outputs_alone():
    run = sx.nonlinear.solve(two_layers(2), X, Y, step_size=inf, unit=0.1)
    said = str(run)
    assert ", step size ∞, unit 0.1" in said
    assert ("every row has a positive output" in said) == (run.status == "separated") and "raw data" not in said


class Odd(torch.nn.Module):
    """A linear module that answers by `how`."""

    def __init__(self, how):
        super().__init__()
        self.linear, self.how = torch.nn.Linear(2, 1), how

    def forward(self, x):
        return self.how(self.linear(x))


def silent(_):
    raise RuntimeError


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (torch.nn.Linear(2, 1, dtype=torch.complex128), "complex parameters"),
        (Odd(lambda out: out * 1j), "output must be real"),
        (Odd(silent), "RuntimeError; give it such as it takes"),
        (Odd(lambda out: out - out.mean()), "depends on the rows beside it"),
        (
            torch.nn.Sequential(torch.nn.BatchNorm1d(2, track_running_stats=False), torch.nn.Linear(2, 1)),
            "depends on the rows beside it",
        ),
    ],
)
def test_modules_with_odd_answers_are_refused_in_a_sentence(module, sentence):
    with pytest.raises(ValueError, match=sentence):
        nonlinear.solve(module, np.eye(2), [0, 1])


def test_layers_that_know_their_means_take_each_row_by_itself():
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    assert nonlinear.solve(module, np.eye(2), [0, 1]).separated


def test_rows_may_be_a_tensor_that_wants_a_gradient():
    X = torch.eye(2, dtype=torch.float64, requires_grad=True)
    assert nonlinear.solve(linear(2), X, [0, 1]).separated
