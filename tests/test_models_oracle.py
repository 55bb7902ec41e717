"""Every family of models against conditions written down from its likelihood, and against the likelihood itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from likelihoods import FACTOR, FAMILIES, ORDERED, Table, log_likelihood
from model_attacks import attack
from model_trial import Judged, climbs, judged, newton, not_right, peaks
from model_zoo import problem

BLOCK = 40
SHORT, LONG = range(1), range(1, 8)  # blocks of problems; `scripts/attack-models` takes any number of them
X = [[0.5, -1.0], [2.0, 0.3], [-0.7, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("block", [*SHORT, *(pytest.param(k, marks=pytest.mark.long) for k in LONG)])
@pytest.mark.parametrize("family", FAMILIES)
def test_kind_observations_directions_proof_and_likelihood_agree(family, block):
    assert not_right(family, range(BLOCK * block, BLOCK * (block + 1)), sample=5 if block in SHORT else 1) == []


@pytest.mark.parametrize("seed", [1274, 1284, 1397])
def test_entries_of_all_sizes_lose_no_proof_and_overflow_nowhere(seed):
    assert not_right("adjacent", [seed]) == []


# The likelihoods themselves.


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit", "cloglog"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_probabilities_of_success_and_failure_add_up_to_one(link, scale):
    theta = [scale * value for value in (0.4, -1.1, 0.2)]
    tables = [Table("binary", [x], [y], link=link) for x in X for y in (0, 1)]
    both = [np.exp(log_likelihood(table, theta)).real for table in tables]
    assert np.add.reduceat(both, range(0, len(both), 2)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("family", ["multinomial", *ORDERED])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_probabilities_of_all_classes_add_up_to_one(family, link):
    theta = [0.3, -0.4, 0.2, -0.8, 0.7, 1.1] if family == "multinomial" else [-0.5, 0.9, 0.3, -0.6]
    for x in X:
        tables = [Table(family, [x, *X[:2]], y, link=link) for y in ([0, 1, 2], [1, 0, 2], [2, 0, 1])]
        found = [FACTOR[family](table, theta, 0) for table in tables]
        assert sum(np.exp(found)).real == pytest.approx(1, abs=1e-12)


def test_the_choices_of_cases_in_a_set_have_probabilities_that_add_up_to_one():
    chosen = [[int(i in cases) for i in range(4)] for cases in combinations(range(4), 2)]
    tables = [Table("matched", X, y, groups=[7] * 4) for y in chosen]
    assert sum(np.exp(log_likelihood(table, [0.7, -0.2])).real for table in tables) == pytest.approx(1, abs=1e-12)


def test_the_first_event_falls_to_someone_at_risk():
    events = np.eye(4, dtype=int)
    first = [Table("cox", X, (2 - event).tolist(), event=event.tolist()) for event in events]
    assert sum(np.exp(log_likelihood(table, [0.7, -0.2])).real for table in first) == pytest.approx(1, abs=1e-12)


def test_counts_have_the_likelihood_of_poisson_and_of_the_negative_binomial():
    """Their gradients at η: y - μ, and (y - μ) / (1 + μ/2)."""
    for link, spread in (("poisson", 0.0), ("negative-binomial", 0.5)):
        for y in (0, 1, 7):
            table = Table("counts", [[2.0]], [y], link=link, intercept=False)
            slope = log_likelihood(table, [0.3 + 1e-30j]).imag / 1e-30
            mu = np.exp(0.6)
            assert slope == pytest.approx(2 * (y - mu) / (1 + spread * mu), rel=1e-12)


# The checks find what is wrong.


def some(family, kind, count):
    """The first problems of a family, with whole numbers, that are of this kind."""
    found, seed = [], 0
    while len(found) < count:
        table = problem(family, seed).table
        tame, seed = problem(family, seed).tame, seed + 1
        if tame and (answer := judged(table)).kind == kind:
            found.append((table, answer))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_likelihood_that_can_be_climbed_for_ever_has_no_maximum_for_newton_to_find(family):
    for table, answer in some(family, "quasi-complete", 3):
        free = [j for j, word in enumerate(answer.directions) if word != "aliased"]
        assert newton(table, free)[1] > 1e-4
        assert peaks(table, answer) != []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_likelihood_with_a_maximum_falls_along_every_direction_that_is_tried(family):
    rng = np.random.default_rng(3)
    for table, answer in some(family, "overlap", 3):
        theta = [Fraction(int(k)) for k in rng.integers(-3, 4, table.size)]
        if set(answer.directions) == {"0"} and any(theta):
            assert climbs(table, Judged("complete", [], [], theta)) != []


@pytest.mark.parametrize("family", FAMILIES)
def test_the_way_back_from_infinity_is_no_way_up(family):
    for table, answer in some(family, "complete", 3):
        assert climbs(table, answer) == []
        assert climbs(table, replace(answer, theta=[-value for value in answer.theta])) != []


def test_the_script_sums_up_what_it_found(tmp_path):
    script = Path(__file__).resolve().parent.parent / "scripts" / "attack-models"
    options = "--family", "cox", "--from", "3", "--to", "6", "--log", str(tmp_path / "log")
    done = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cox: 3 problems: 0 wrong, 0 undecided, 0 within rounding, 0 raised; ")
    assert (tmp_path / "log").read_text(encoding="utf-8") == done.stdout


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_a_proof_whose_recipe_is_changed_fails_or_is_true_of_the_model_it_names(family, tmp_path):
    counts = [attack(seed, 20, tmp_path) for seed in (family, family + len(FAMILIES))]
    assert sum(one["refused"] + one["fails"] for one in counts) > 10
