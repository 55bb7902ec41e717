"""Log-likelihoods of every family: derivatives, far tails, and the values of statsmodels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from outcomes import KINDS, LINKS, NAMES, random_model
from separatrix.diagnosing.likelihood import likelihood
from separatrix.diagnosing.links import log_between, log_down, log_up
from separatrix.models.model import Model

EVERY = pytest.mark.parametrize(("kind", "link"), KINDS, ids=NAMES)


def somewhere(model, seed):
    """Coefficients at random, thresholds in order."""
    b = np.random.default_rng(seed).normal(size=len(model.coefficients)) / 2
    if model.family == "cumulative":
        b[:3] = np.sort(b[:3]) + [0.0, 0.3, 0.6]
    return b


def differences(f, b, h=1e-5):
    """Central differences, one line per coefficient."""
    return np.array([(f(b + h * e) - f(b - h * e)) / (2 * h) for e in np.eye(len(b))])


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
@EVERY
def test_gradients_and_hessians_are_those_of_finite_differences(kind, link, csr):
    for seed in range(3):
        model = random_model(kind, link, seed, csr=csr)
        ell, b = likelihood(model), somewhere(model, seed)
        np.testing.assert_allclose(ell.gradient(b), differences(ell.value, b), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(ell.hessian(b), differences(ell.gradient, b), rtol=1e-7, atol=1e-7)


@EVERY
def test_whole_weights_are_repeated_observations_but_for_constants_of_cox(kind, link):
    model = random_model(kind, link, 5, plain=True)
    times = np.random.default_rng(6).integers(1, 3, model.n)
    if kind == "matched":  # a set has one weight
        times = times[model.groups]
    weighted = Model(**{**vars_of(model), "weight": times.astype(float)})
    twice = np.repeat(np.arange(model.n), times)
    columns = {name: None if value is None else value[twice] for name, value in arrays_of(model).items()}
    if kind == "matched":
        copy = np.concatenate([np.arange(t) for t in times])
        columns["groups"] = 2 * model.groups[twice] + copy
    repeated = Model(**{**vars_of(model), **columns})
    b = somewhere(model, 7)
    assert likelihood(weighted).value(b) == pytest.approx(likelihood(repeated).value(b), rel=1e-12)
    np.testing.assert_allclose(likelihood(weighted).hessian(b), likelihood(repeated).hessian(b), rtol=1e-9, atol=1e-12)


def arrays_of(model):
    names = ("X", "y", "trials", "groups", "time", "weight", "offset")
    return {name: getattr(model, name) for name in names}


def vars_of(model):
    names = ("name", "family", "link", "terms", "constant", "classes")
    return {name: getattr(model, name) for name in names} | arrays_of(model)


@EVERY
def test_far_out_values_are_numbers_or_minus_infinity_and_never_nan(kind, link):
    model = random_model(kind, link, 8)
    ell, b = likelihood(model), somewhere(model, 8)
    for far in (1e2, 1e4, 1e8):
        value = ell.value(far * b)
        assert not np.isnan(value) and value < 10


@pytest.mark.parametrize("link", LINKS)
def test_links_keep_their_tails(link):
    eta = np.array([-1e6, -700.0, -40.0, -8.0, 0.0, 8.0, 20.0])
    up, down = log_up(link, eta), log_down(link, eta)
    assert np.isfinite(up.value).all() and (up.value <= 0).all()
    assert (np.diff(up.value) >= 0).all() and (np.diff(down.value) <= 0).all()
    middle = abs(eta) < 3
    np.testing.assert_allclose(np.exp(up.value[middle]) + np.exp(down.value[middle]), 1.0, rtol=1e-14)
    tail = {"logit": -700.0, "cloglog": -700.0, "probit": -245000 - np.log(700 * np.sqrt(2 * np.pi))}
    expected = tail.get(link, np.log(1 / (700 * np.pi)))
    assert up.value[1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_an_interval_without_ends_is_certain_and_one_turned_round_impossible(link):
    ends = np.array([np.inf, 1.0, 0.0, np.inf])
    found = log_between(link, ends, np.array([-np.inf, 2.0, 0.0, 3.0]))
    assert found.value[0] == 0 and found.value[1] == -np.inf and found.value[2] == -np.inf
    assert found.value[3] == pytest.approx(float(log_down(link, np.array([3.0])).value[0]), rel=1e-14)


def test_matched_sets_sum_over_every_subset():
    rng = np.random.default_rng(9)
    X, b = rng.normal(size=(7, 2)), rng.normal(size=2)
    for cases in range(1, 7):
        y = 1.0 * (np.arange(7) < cases)
        model = Model("conditional", "matched", "", X, ("u", "v"), False, y, groups=np.zeros(7, dtype=np.int64))
        u = X @ b
        total = sum(np.exp(u[list(subset)].sum()) for subset in combinations(range(7), cases))
        assert likelihood(model).value(b) == pytest.approx(u[:cases].sum() - np.log(total), rel=1e-12)


def test_coxs_likelihood_is_the_product_over_events():
    model = random_model("cox", "", 10)
    b = somewhere(model, 10)
    r = model.weight * np.exp(model.X @ b + model.offset)
    total = 0.0
    for i in np.flatnonzero(model.y):
        at_risk = (model.groups == model.groups[i]) & (model.time >= model.time[i])
        total += model.weight[i] * np.log(np.exp(model.X[i] @ b + model.offset[i]) / r[at_risk].sum())
    assert likelihood(model).value(b) == pytest.approx(total, rel=1e-12)


def of_statsmodels(kind, link, model, b):
    """The same log-likelihood by statsmodels, or None where it has none."""
    why = "the values are compared with those of statsmodels"
    sm = pytest.importorskip("statsmodels.api", reason=why)
    A, y, n = model.A, model.y, model.n
    if kind == "binary" and link in ("logit", "probit"):
        return (sm.Logit if link == "logit" else sm.Probit)(y, A).loglike(b)
    if kind in ("binary", "grouped"):
        links = {"logit": "Logit", "probit": "Probit", "cauchit": "Cauchy", "cloglog": "CLogLog"}
        family = sm.families.Binomial(getattr(sm.families.links, links[link])())
        outcome = y if kind == "binary" else np.column_stack([y, model.trials - y])
        return sm.GLM(outcome, A, family=family).loglike(b)
    if kind == "poisson":
        return sm.Poisson(y, A, offset=np.zeros(n)).loglike(b)
    if kind == "negative-binomial":
        return sm.NegativeBinomial(y, A).loglike(np.append(b, 0.0))  # it takes log α here
    if kind == "multinomial":
        return sm.MNLogit(y, A).loglike(b.reshape(2, -1).T.ravel(order="F"))
    if kind == "cumulative":
        from statsmodels.miscmodels.ordinal_model import OrderedModel

        ordered = OrderedModel(y.astype(int), model.X, distr=link)
        cuts = np.concatenate([b[:1], np.log(np.diff(b[:3]))])
        return ordered.loglike(np.concatenate([b[3:], cuts]))
    if kind == "matched":
        mixed = np.isin(model.groups, np.intersect1d(model.groups[y > 0], model.groups[y == 0]))  # it warns of others
        return sm.ConditionalLogit(y[mixed], model.X[mixed], groups=model.groups[mixed]).loglike(b)
    if kind == "cox":
        return sm.PHReg(model.time, model.X, status=model.y, strata=model.groups, ties="breslow").loglike(b)
    return None


SHARED = [k for k in KINDS if k[0] not in ("fractional", "adjacent", "sequential", "ppml")]


@pytest.mark.parametrize(("kind", "link"), SHARED, ids=[" ".join(k).strip() for k in SHARED])
def test_values_are_those_of_statsmodels(kind, link):
    model = random_model(kind, link, 11, plain=True)
    b = somewhere(model, 11)
    assert likelihood(model).value(b) == pytest.approx(of_statsmodels(kind, link, model, b), rel=1e-9)


def test_two_categories_make_every_ordered_model_a_logit_with_the_slope_turned():
    binary = random_model("binary", "logit", 12)
    b = somewhere(binary, 12)
    for family in ("cumulative", "adjacent", "sequential"):
        both = vars_of(binary) | {"name": family, "family": family, "constant": False, "offset": binary.offset}
        ordered = Model(**both)
        turned = np.concatenate([[-b[-1]], b[:-1]])  # P(y = 1) = F(xᵀb + c) = 1 - F(a - xᵀb), a = -c
        assert likelihood(ordered).value(turned) == pytest.approx(likelihood(binary).value(b), rel=1e-12)
