"""What separation leaves: the limit of the likelihood, its finite fit, bounds on the infinite, and Firth's lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from outcomes import KINDS, NAMES, random_model, recession
from separatrix.data.frames import design
from separatrix.diagnosing.bounds import fitted_bounds, one_sided
from separatrix.diagnosing.firth import firth_snippet
from separatrix.diagnosing.likelihood import likelihood
from separatrix.diagnosing.reduced import independent, reduce
from separatrix.models.model import Model

PEERS = Path(__file__).parents[2] / "shared" / "peers"
EVERY = pytest.mark.parametrize(("kind", "link"), KINDS, ids=NAMES)


def peer(name):
    """A table of another package, as a dict of columns."""
    path = PEERS / name
    if not path.exists():
        pytest.skip(f"needs the peers' data, {name}")
    header, *lines = path.read_text().split()
    values = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    return dict(zip(header.split(","), values.T, strict=True))


def table(name, family, link, columns, y, terms, **more):
    X = np.column_stack([columns[term] for term in terms])
    return Model(name, family, link, X, tuple(terms), True, columns[y], **more)


def endometrial():
    return table("logit", "binary", "logit", peer("R/endometrial.csv"), "HG", ["NV", "PI", "EH"], classes=("0", "1"))


def reduced_of(model, **more):
    separated, theta = recession(model)
    return reduce(model, separated, theta, **more)


# The limit, family by family.


@EVERY
def test_along_theta_the_likelihood_tends_to_the_reduced_maximum(kind, link):
    separated = 0
    for seed in range(12):
        model = random_model(kind, link, seed, csr=seed % 3 == 0)
        left = reduced_of(model)
        fit = left.fit()
        assert fit.converged
        whole = likelihood(model, dispersion=fit.dispersion)
        separated += len(left.rows) < model.n
        far = 1e9 if link == "cauchit" else 300.0  # whose tails are long
        assert whole.value(fit.b + far * left.theta) == pytest.approx(fit.log_likelihood, abs=1e-6)
        heights = [whole.value(fit.b + s * left.theta) for s in (4.0, 8.0, 16.0)]
        assert (np.diff(heights) > -1e-12).all() and heights[-1] <= fit.log_likelihood + 1e-9
    assert separated >= 2


CONCAVE = [(k, link) for k, link in KINDS if link != "cauchit"]


@pytest.mark.parametrize(("kind", "link"), CONCAVE, ids=[f"{k} {link}".strip() for k, link in CONCAVE])
def test_no_other_coefficients_climb_higher_than_the_reduced_maximum(kind, link):
    for seed in range(4):
        model = random_model(kind, link, seed)
        left = reduced_of(model)
        fit = left.fit()
        whole = likelihood(model, dispersion=fit.dispersion)
        assert by_bfgs(whole) <= fit.log_likelihood + 1e-7


def by_bfgs(whole):
    return -minimize(lambda b: -whole.value(b), whole.start(), jac=lambda b: -whole.gradient(b), method="BFGS").fun


@EVERY
def test_the_fit_is_a_maximum_with_the_inverse_of_its_information(kind, link):
    model = random_model(kind, link, 3)
    left = reduced_of(model)
    fit = left.fit()
    assert fit.names == left.columns and len(fit.names) == len(fit.estimates)
    gradient = fit.likelihood.gradient(fit.b)
    assert abs(gradient).max(initial=0.0) < 1e-6
    if model.name not in ("ppml", "fractional") and len(left.kept):
        H = fit.likelihood.hessian(fit.b)[np.ix_(left.kept, left.kept)]
        np.testing.assert_allclose(-H @ fit.covariance, np.eye(len(H)), atol=1e-8)


def test_dense_and_sparse_designs_leave_the_same():
    for seed in range(8):
        dense, sparse = (reduced_of(random_model("poisson", "log", seed, csr=csr)) for csr in (False, True))
        assert dense.columns == sparse.columns and dense.dropped == sparse.dropped
        np.testing.assert_array_equal(dense.rows, sparse.rows)
        np.testing.assert_allclose(dense.fit().estimates, sparse.fit().estimates, rtol=1e-8, atol=1e-10)


def test_a_multinomial_observation_keeps_the_classes_that_it_cannot_be_told_from():
    x = np.array([-3.0, -2.0, -1.0, -1.0, 1.0, 1.0, 2.0, 2.0])
    y = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 1.0])  # the first class is apart, the others overlap
    model = Model("multinomial", "multinomial", "", x[:, None], ("x",), True, y, ("a", "b", "c"))
    left = reduced_of(model)
    np.testing.assert_array_equal(left.rows, [4, 5, 6, 7])
    assert left.fit().log_likelihood == pytest.approx(4 * np.log(0.5))
    frame = left.frame()
    assert list(frame["class"]) == ["b", "c"] * 4 and list(frame["chosen"]) == [1, 0, 0, 1, 0, 1, 1, 0]


def test_a_cumulative_observation_may_lose_one_end_of_its_interval():
    x = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    y = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 2.0])  # 0 | 1 overlap at x = 0, and category 2 is apart
    model = Model("cumulative", "cumulative", "logit", x[:, None], ("x",), False, y, ("a", "b", "c"))
    left = reduced_of(model)
    np.testing.assert_array_equal(left.rows, [0, 1, 2])
    assert left.fit().log_likelihood == pytest.approx(2 * np.log(2 / 3) + np.log(1 / 3))
    assert list(left.frame()["low"]) == [0, 0, 1] and list(left.frame()["high"]) == [0, 0, 2]


def test_what_is_left_of_a_matched_set_is_the_level_of_its_lowest_case():
    x = np.array([2.0, 1.0, 1.0, 0.0, 0.0])  # cases 2 and 1, controls 1, 0, 0; along +x the case at 2 is certain
    model = Model(
        "conditional", "matched", "", x[:, None], ("x",), False, np.array([1.0, 1, 0, 0, 0]), groups=np.zeros(5, int)
    )
    left = reduced_of(model)
    np.testing.assert_array_equal(left.rows, [1, 2])
    assert left.fit().log_likelihood == pytest.approx(np.log(0.5)) and left.columns == ()


def test_cox_leaves_strata_within_strata():
    time = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    x = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])  # the first arm is gone before the other's first event
    model = Model("cox", "cox", "", x[:, None], ("x",), False, np.array([1.0, 1, 0, 1, 1, 1]), time=time)
    left = reduced_of(model)
    np.testing.assert_array_equal(left.rows, [0, 1, 2, 3, 4, 5])
    assert list(left.frame()["stratum"]) == [0, 0, 0, 1, 1, 1]
    assert left.fit().log_likelihood == pytest.approx(-np.log(3) - np.log(2) - np.log(3) - np.log(2))


def test_complete_separation_leaves_nothing_and_its_supremum_is_certainty():
    x = np.array([-2.0, -1.0, 1.0, 3.0])
    model = Model("logit", "binary", "logit", x[:, None], ("x",), True, np.array([0.0, 0, 1, 1]), ("no", "yes"))
    left = reduced_of(model)
    assert len(left.rows) == 0 and left.columns == () and set(left.dropped) == {"x", "(intercept)"}
    fit = left.fit()
    assert fit.log_likelihood == 0 and fit.converged and "nothing is left" in fit.status
    assert "nothing is left" in str(left) and len(left.frame()) == 0


def test_overlap_leaves_everything_as_it_was():
    model = random_model("binary", "logit", 0, n=60, p=2, plain=True)
    left = reduce(model, np.empty(0, dtype=np.int64), np.zeros(3))
    assert left.columns == model.coefficients and left.dropped == {} and left.finite == model.coefficients
    assert len(left.frame()) == 60 and "nothing is separated" in str(left)


def test_aliased_columns_go_first_and_the_constant_last():
    rng = np.random.default_rng(4)
    x = rng.normal(size=40)
    X = np.column_stack([x, 2 * x, np.full(40, 3.0)])
    model = Model("logit", "binary", "logit", X, ("x", "double", "three"), True, 1.0 * (rng.random(40) < 0.5))
    kept, relations = independent(model.A, np.array([3, 0, 1, 2]))
    assert (
        sorted(kept) == [0, 3] and relations[1] == {0: pytest.approx(2.0)} and relations[2] == {3: pytest.approx(3.0)}
    )
    left = reduce(model, np.empty(0, dtype=np.int64), np.zeros(4), aliased={"double"})
    assert left.columns == ("x", "(intercept)")
    assert left.dropped["double"] == "aliased in the whole table"
    assert left.dropped["three"] == "equals 3·(intercept) in all that is left"


def test_positions_are_those_of_the_data_given():
    model = endometrial()
    separated, theta = recession(model)
    left = reduce(model, separated, theta, rows=np.arange(model.n) * 10)
    assert (left.rows % 10 == 0).all() and list(left.frame().index) == list(left.rows)


# The tables of others.


def test_ppmlhdfes_first_example_has_its_constant():
    columns = peer("ppmlhdfe/guides/example1.csv")
    left = reduced_of(table("ppml", "counts", "log", columns, "y", ["x1", "x2", "x3", "x4"]))
    fit = left.fit()
    np.testing.assert_array_equal(left.rows, np.delete(np.arange(12), 4))
    assert dict(zip(fit.names, fit.estimates, strict=True))["(intercept)"] == pytest.approx(0.59095, abs=5e-6)
    assert left.dropped == {"x2": "equals x1 in all that is left"}
    assert left.finite == ("x3", "x4", "(intercept)") and any("x1" in note for note in fit.notes)


def test_endometrials_finite_estimates_are_those_of_statsmodels_on_the_reduced_data():
    sm = pytest.importorskip("statsmodels.api", reason="its estimates are compared with")
    left = reduced_of(endometrial())
    fit, frame = left.fit(), left.frame()
    other = sm.Logit(frame["y"], sm.add_constant(frame[["PI", "EH"]])).fit(disp=0, tol=1e-12)
    ours = dict(zip(fit.names, fit.estimates, strict=True))
    assert left.dropped == {"NV": "0 in all that is left"} and len(frame) == 66
    for name, theirs in zip(["(intercept)", "PI", "EH"], other.params, strict=True):
        assert ours[name] == pytest.approx(theirs, abs=1e-6)
    np.testing.assert_allclose(fit.errors, other.bse[["PI", "EH", "const"]], rtol=1e-6)
    np.testing.assert_allclose(fit.p, other.pvalues[["PI", "EH", "const"]], rtol=1e-5)
    assert fit.log_likelihood == pytest.approx(other.llf, abs=1e-9)
    assert "PI" in str(fit) and "<td>PI</td>" in fit._repr_html_() and fit.to_dict()["names"] == list(fit.names)


def test_a_negative_binomial_finds_the_dispersion_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api", reason="its dispersion is compared with")
    rng = np.random.default_rng(14)
    x = rng.normal(size=(150, 1))
    y = rng.poisson(np.exp(0.5 + x[:, 0]) * rng.gamma(1.5, 1 / 1.5, 150)).astype(float)
    model = Model("negative-binomial", "counts", "log", x, ("x",), True, y)
    fit = reduced_of(model).fit()
    other = sm.NegativeBinomial(y, model.A).fit(disp=0, maxiter=200)
    np.testing.assert_allclose([*fit.estimates, fit.dispersion], other.params, rtol=1e-4)
    assert fit.log_likelihood == pytest.approx(other.llf, abs=1e-6)


def test_ppmls_standard_errors_are_the_sandwich_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api", reason="its standard errors are compared with")
    model = random_model("ppml", "log", 1, n=80, plain=True)
    left = reduced_of(model)
    fit = left.fit()
    A = model.A[left.observations][:, left.kept]
    other = sm.GLM(model.y[left.observations], A, family=sm.families.Poisson()).fit(cov_type="HC0", tol=1e-12)
    np.testing.assert_allclose(fit.errors, other.bse, rtol=1e-6)


def by_statsmodels(model, left):
    """The reduced frame fitted by statsmodels, coefficients by name, or None where it has no such model."""
    sm = pytest.importorskip("statsmodels.api", reason="the frame is fitted by it")
    frame, names = left.frame(), [name for name in left.columns if name != "(intercept)"]
    X = frame[names]
    if model.family in ("binary", "counts"):
        family = sm.families.Poisson() if model.family == "counts" else sm.families.Binomial()
        weights = {"freq_weights": frame["weight"], "offset": frame["offset"]}
        return sm.GLM(frame["y"], sm.add_constant(X), family=family, **weights).fit(tol=1e-12).params[names]
    if model.family == "sequential":
        weights = {"freq_weights": frame["weight"], "offset": frame["offset"]}
        return sm.GLM(frame["y"], X, family=sm.families.Binomial(), **weights).fit(tol=1e-12).params
    if "set" in frame:
        chosen = frame["chosen"] if "chosen" in frame else frame["y"]
        return sm.ConditionalLogit(chosen, X, groups=frame["set"]).fit(disp=0, method="newton").params
    return sm.PHReg(frame["time"], X, status=frame["event"], strata=frame["stratum"], ties="breslow").fit(disp=0).params


@pytest.mark.parametrize("kind", ["binary", "poisson", "multinomial", "adjacent", "sequential", "matched", "cox"])
def test_any_package_can_fit_the_reduced_frame(kind):
    fitted = 0
    for seed in range(12):
        plain = kind in ("multinomial", "adjacent", "matched", "cox")  # there statsmodels takes no weights
        model = random_model(kind, "logit", seed, plain=plain)
        left = reduced_of(model)
        names = [name for name in left.columns if name != "(intercept)"]
        if len(left.rows) == model.n or not names:
            continue
        fit = left.fit()
        ours = dict(zip(fit.names, fit.estimates, strict=True))
        np.testing.assert_allclose(by_statsmodels(model, left), [ours[name] for name in names], rtol=1e-4, atol=1e-5)
        fitted += 1
    assert fitted


def test_names_of_ours_give_way_to_the_users():
    columns = peer("R/endometrial.csv")
    model = table("logit", "binary", "logit", {**columns, "y": columns["PI"]}, "HG", ["NV", "y", "EH"])
    left = reduce(model, *recession(model), target="y")
    assert list(left.frame()) == ["y", "EH", "y_"]
    assert list(reduce(model, *recession(model), target="HG").frame()) == ["y", "EH", "HG"]


# Bounds.


def test_nvs_bound_is_that_of_a_brute_force_profile():
    model = endometrial()
    fit = reduced_of(model).fit()

    def profile(nv):
        other = model.X[:, 1:]

        def lost(b):
            eta = nv * model.X[:, 0] + other @ b[:2] + b[2]
            return np.logaddexp(0.0, np.where(model.y > 0, -eta, eta)).sum()

        steps = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
        start = minimize(lost, [-0.04, -2.9, 4.3], method="Nelder-Mead", options=steps)
        return -minimize(lost, start.x, method="Nelder-Mead", options=steps).fun

    drop = 1.6448536269514722**2 / 2
    supremum = -27.696630178590553  # of the 66 rows with NV = 0
    assert fit.log_likelihood == pytest.approx(supremum, abs=1e-9)
    brute = brentq(lambda nv: profile(nv) - (supremum - drop), 0.5, 5.0, xtol=1e-7)
    assert one_sided(model, fit, "NV", "+") == pytest.approx(brute, abs=1e-5)
    assert one_sided(model, fit, "NV", "+", level=0.9) > brute  # less confidence, a larger lower bound


def test_a_coefficient_that_runs_to_minus_infinity_is_bounded_from_above():
    model = endometrial()
    turned = Model("logit", "binary", "logit", -model.X, model.terms, True, model.y, model.classes)
    bound, other = (one_sided(m, reduced_of(m).fit(), "NV", s) for m, s in ((model, "+"), (turned, "-")))
    assert other == pytest.approx(-bound, rel=1e-8)


def test_a_count_that_was_never_seen_has_the_rule_of_three():
    columns = peer("ppmlhdfe/guides/example1.csv")
    model = table("poisson", "counts", "log", columns, "y", ["x1", "x2", "x3", "x4"])
    separated, theta = recession(model)
    found = fitted_bounds(model, reduce(model, separated, theta).fit(), separated, theta)
    assert found.quantity == "the mean" and list(found.rows) == [4]
    assert found.low[0] == 0 and found.high[0] == pytest.approx(-np.log(0.05), rel=1e-8)  # exp(-mean) = 0.05


def test_k_alike_observations_have_the_chance_whose_kth_power_is_alpha():
    x = np.repeat([0.0, 1.0], [6, 4])
    y = np.concatenate([[0.0, 1, 0, 1, 0, 1], np.ones(4)])
    for link in ("logit", "probit", "cauchit", "cloglog"):
        model = Model(link, "binary", link, x[:, None], ("x",), True, y, ("no", "yes"))
        separated, theta = recession(model)
        found = fitted_bounds(model, reduce(model, separated, theta).fit(), separated, theta, level=0.9)
        np.testing.assert_allclose(found.low, 0.1 ** (1 / 4), rtol=1e-8)
        assert (found.high == 1).all() and found.quantity == "the probability of yes"


def test_with_two_free_directions_each_bound_is_the_least_over_both():
    x = np.zeros((12, 2))
    x[4:7, 0], x[7:12, 1] = 1.0, 1.0
    y = np.array([0.0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0])  # two levels that decide, three rows and five
    model = Model("logit", "binary", "logit", x, ("u", "v"), True, y, ("no", "yes"))
    separated, theta = recession(model)
    found = fitted_bounds(model, reduce(model, separated, theta).fit(), separated, theta)
    np.testing.assert_allclose(found.low[:3], 0.05 ** (1 / 3), rtol=1e-7)  # the other level costs nothing
    np.testing.assert_allclose(found.high[3:], 1 - 0.05 ** (1 / 5), rtol=1e-6)


ONE_EACH = ("binary", "multinomial", "cumulative", "adjacent", "sequential")
SINGLE = [(kind, link) for kind, link in KINDS if kind in ONE_EACH and link != "cauchit"]


def chance(model, at, b):
    """The probability of what one observation was, at b."""
    one = {"X": model.X[[at]], "y": model.y[[at]], "offset": model.offset[[at]]}
    words = (model.name, model.family, model.link)
    return np.exp(
        likelihood(Model(*words, terms=model.terms, constant=model.constant, classes=model.classes, **one)).value(b)
    )


@pytest.mark.parametrize(("kind", "link"), SINGLE, ids=[f"{k} {link}".strip() for k, link in SINGLE])
def test_no_coefficients_that_fit_well_enough_break_a_bound(kind, link):
    rng, tried = np.random.default_rng(15), 0
    for seed in range(4):
        model = random_model(kind, link, seed)
        separated, theta = recession(model)
        left = reduce(model, separated, theta)
        if not len(separated) or left.null.shape[1] > 3:
            continue
        fit = left.fit()
        found = fitted_bounds(model, fit, separated, theta)
        whole, floor = likelihood(model), fit.log_likelihood + np.log(0.05)
        inside = fit.b + 50 * left.theta
        assert whole.value(inside) > floor
        for _ in range(10):
            d = left.null @ rng.normal(size=left.null.shape[1])
            s = 1e-3
            while whole.value(inside + 2 * s * d) > floor and s < 1e3:
                s *= 2
            b = inside + s * d
            for at, low, high in zip(found.observations, found.low, found.high, strict=True):
                p = chance(model, at, b)
                p = p if kind != "binary" or model.y[at] > 0 else 1 - p
                assert low - 1e-6 <= p <= high + 1e-6
                tried += 1
    assert tried


@pytest.mark.parametrize(("kind", "link"), [("matched", ""), ("cox", "")], ids=["matched", "cox"])
def test_members_of_sets_and_times_are_bounded_along_a_line_and_not_beyond(kind, link):
    lines = others = 0
    for seed in range(20):
        model = random_model(kind, link, seed)
        separated, theta = recession(model)
        if not len(separated):
            continue
        left = reduce(model, separated, theta)
        found = fitted_bounds(model, left.fit(), separated, theta)
        if left.null.shape[1] == 1:
            assert len(found.rows) == len(separated) and (found.low > 0).all() and (found.low < 1).all()
            lines += 1
        else:
            assert len(found.rows) == 0 and found.message.startswith("none")
            others += 1
    assert lines and (others or kind == "cox")


def test_a_set_whose_case_exceeds_one_control_has_the_chance_alpha():
    x = np.array([1.0, 0.0])
    model = Model("conditional", "matched", "", x[:, None], ("x",), False, x, groups=np.zeros(2, int))
    found = fitted_bounds(model, reduced_of(model).fit(), np.array([0]))
    np.testing.assert_allclose(found.low, 0.05, rtol=1e-8)
    assert one_sided(model, reduced_of(model).fit(), "x", "+") == pytest.approx(-np.log(np.exp(1.6448536**2 / 2) - 1))


def test_bad_questions_get_one_sentence():
    model = endometrial()
    fit = reduced_of(model).fit()
    for call, words in [
        (lambda: one_sided(model, fit, "NV", "0"), "sign must be"),
        (lambda: one_sided(model, fit, "PI", "+"), "no one-sided bound"),
        (lambda: one_sided(model, fit, "AGE", "+"), "there is no coefficient 'AGE'"),
        (lambda: one_sided(model, fit, "NV", "+", level=1.0), "level must be"),
        (lambda: reduce(model, [0], np.zeros(2)), "theta must have one number per coefficient, 4, got 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


# Firth.


def run_lines(text, **names):
    space = dict(names)
    exec(text, space)
    return space["firth"]


def test_firths_lines_run_as_printed(capsys):
    pytest.importorskip("firthmodels", reason="the lines are for it")
    pd = pytest.importorskip("pandas", reason="the lines are for its frames")
    df = pd.DataFrame(peer("R/endometrial.csv"))
    text = firth_snippet("HG", ["NV", "PI", "EH"])
    firth = run_lines(text, df=df)
    np.testing.assert_allclose(firth.coef_, [2.929273, -0.034752, -2.604164], atol=1e-4)  # as published, 2.93
    assert "NV" in capsys.readouterr().out
    df["ward's"] = np.where(df["PI"] > 20, 'the "hi"', "lo")
    df["half"], df["days"] = 1.0, np.arange(len(df)) + 1.0
    df.loc[3, "EH"] = np.nan
    terms = design(df[["NV", "EH", "ward's", "HG"]], "HG", missing="drop").terms
    complete = ["NV", "EH", "ward's", "HG"]
    run_lines(firth_snippet("HG", terms, weight="half", complete=complete), df=df)
    run_lines(firth_snippet("HG", terms, family="cox", time="days", complete=complete), df=df)
    shown = capsys.readouterr().out
    assert 'ward\'s[the "hi"] (vs lo)' in shown


def test_firths_lines_run_with_a_formula():
    pytest.importorskip("firthmodels", reason="the lines are for it")
    pytest.importorskip("formulaic", reason="reads the formula")
    pd = pytest.importorskip("pandas", reason="the lines are for its frames")
    df = pd.DataFrame(peer("R/endometrial.csv"))
    firth = run_lines(firth_snippet("HG", [], formula="NV + PI + EH"), df=df)
    np.testing.assert_allclose(firth.coef_[1:], [2.929273, -0.034752, -2.604164], atol=1e-4)
