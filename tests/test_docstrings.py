"""Every public docstring is whole: numpydoc's form, every parameter, attributes that are there, clean markup."""

from __future__ import annotations

import ast
import inspect
import io
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import reduce
from operator import attrgetter

import pytest
from docutils.core import publish_doctree
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris

import separatrix

LEFT_OUT = {
    "ES01": "one sentence is often enough",
    "EX01": "examples are for the main names, listed below",
    "SA01": "other names are named where they help",
    "SS05": "takes nouns such as 'Iterations' and 'Logarithms' for verbs",
}


def is_ours(cls: type, name: str) -> bool:
    """Whether this is a method or property that we wrote; scikit-learn adds the requests to every class."""
    home = next(base for base in cls.__mro__ if name in vars(base))
    member = inspect.getattr_static(cls, name)
    shown = callable(getattr(cls, name)) or isinstance(member, property)
    return home.__module__.startswith("separatrix.") and shown and not name.endswith("_request")


CLASSES = {name: getattr(separatrix, name) for name in separatrix.__all__ if inspect.isclass(getattr(separatrix, name))}
CLASSES |= {f"nonlinear.{name}": getattr(separatrix.nonlinear, name) for name in ("NetworkIterate", "NetworkRun")}
CLASSIFIERS = [name for name, cls in CLASSES.items() if issubclass(cls, BaseEstimator)]
WITH_EXAMPLES = [
    *("solve", "separate", "max_margin", "diagnose", "verify", "save_proof", "load_proof"),
    *("Method", "Iterate", "exp"),
    "explore",
    *("bounds", "planted", "worst_case", "two_samples", "imbalanced", "Trace", "Checkpoint", "Gram"),
    *CLASSIFIERS,
]
METHODS = [
    f"{name}.{member}"
    for name, cls in CLASSES.items()
    for member, _ in inspect.getmembers(cls)
    if not member.startswith("_") and is_ours(cls, member)
]
ROOMS = ["datasets", "nonlinear", "plot"]  # folders, where numpydoc looks for a definition in vain
PUBLIC = [*(name for name in separatrix.__all__ if name not in ROOMS), "nonlinear.solve", *METHODS]
PUBLIC += [name for name in CLASSES if "." in name]
# Made by us and read by users: these have attributes in the place of parameters.
SHOWN = ["At", "Iterate"]  # to functions of the user's
WORDS = [name for name, cls in CLASSES.items() if issubclass(cls, Enum)]
RESULTS = [
    name
    for name in ("Diagnosis", "Evidence", "Fit", "FittedBounds", "Margin", "Proof", "Reduced", "Run", "Separation")
    if is_dataclass(CLASSES[name])
]
RESULTS += ["Explorer"]
RESULTS += ["nonlinear.NetworkIterate", "nonlinear.NetworkRun"]


def find(name):
    *owners, last = name.split(".")
    owner = reduce(getattr, owners, separatrix)
    return inspect.getattr_static(owner, last) if owners else getattr(owner, last)


def text_of(name):
    found = find(name)
    return inspect.getdoc(found.fget if isinstance(found, property) else found)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_have_numpydocs_form(name):
    codes = {*LEFT_OUT, *(["PR01"] if name in [*WORDS, *RESULTS, *SHOWN] else [])}
    found = validate(f"separatrix.{name}")["errors"]
    assert [message for code, message in found if code not in codes] == []


@pytest.mark.parametrize("name", [*PUBLIC, *ROOMS])
def test_docstrings_are_clean_restructuredtext(name):
    told = io.StringIO()
    text = re.sub(r"^(\w+)_ : ", r"\1\\_ : ", text_of(name), flags=re.MULTILINE)  # numpydoc does so with names
    publish_doctree(text, settings_overrides={"report_level": 1, "halt_level": 5, "warning_stream": told})
    assert told.getvalue() == ""


@pytest.mark.parametrize("name", [name for name in PUBLIC if "Parameters\n---" in text_of(name)])
def test_the_defaults_that_are_told_are_those_of_the_signature(name):
    found = attrgetter(name)(separatrix)
    signature = inspect.signature(found).parameters
    for parameter in get_doc_object(found)["Parameters"]:
        default = signature[parameter.name].default
        told = re.search(r"default=(.+)$", parameter.type)
        if told is None:
            assert default is (None if parameter.type.endswith("optional") else inspect.Parameter.empty), parameter
        else:
            assert ast.literal_eval(told[1]) == default, parameter


@pytest.mark.parametrize("name", RESULTS)
def test_the_attributes_of_a_result_are_its_fields_and_then_its_properties(name):
    cls = CLASSES[name]
    properties = [member for member, value in vars(cls).items() if isinstance(value, property)]
    told = [attribute.name for attribute in get_doc_object(cls)["Attributes"]]
    assert told == [*(field.name for field in fields(cls)), *properties]
    assert all(attribute.type and attribute.desc for attribute in get_doc_object(cls)["Attributes"])


@pytest.mark.parametrize("name", WORDS)
def test_the_members_of_an_enum_are_listed_with_their_sentence(name):
    told = {attribute.name: attribute for attribute in get_doc_object(CLASSES[name])["Attributes"]}
    assert list(told) == [*(member.name for member in CLASSES[name]), "message"]
    for member in CLASSES[name]:
        assert told[member.name].type == f'"{member}"'
        assert " ".join(told[member.name].desc).lower() == f"{member.message}.".lower()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_attributes_of_a_fitted_classifier_are_those_that_are_told(name):
    frame = pytest.importorskip("pandas", reason="pandas is in the extra [frames]").DataFrame(
        load_iris().data, columns=list("abcd")
    )
    fitted = CLASSES[name](certify=True).fit(frame, load_iris().target == 0)
    told = {attribute.name: attribute for attribute in get_doc_object(CLASSES[name])["Attributes"]}
    assert set(told) == {attribute for attribute in vars(fitted) if re.fullmatch(r"[a-z]\w*_", attribute)}
    assert all(attribute.type and attribute.desc for attribute in told.values())


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_main_names_have_examples(name):
    assert ">>>" in text_of(name)
