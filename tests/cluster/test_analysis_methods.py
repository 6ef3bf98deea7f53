"""Each question is a free function and a method of a cluster, with the same signature and the same docstring."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from simkit import Cluster, Options, SimkitError, analysis, demo
from simkit.cluster.analysis_methods import AnalysisMethods
from simkit.cluster.cluster import Trial
from simkit.cluster.question import Question, without_parameters
from tools.write_analysis_methods import STUB, method_of, questions

QUESTIONS = questions()
BY_NAME = {question.name: question for question in QUESTIONS}
FIRST = ("snapshot", "before", "cluster")
"""How the first argument of a free function that asks something of a cluster is called."""


def asked() -> dict[str, Callable[..., Any]]:
    """The free functions that take a snapshot or a cluster first, or among the optional arguments."""
    public = {name: getattr(analysis, name) for name in analysis.__all__}
    return {
        name: function
        for name, function in public.items()
        if inspect.isfunction(function) and _asks(inspect.signature(function))
    }


def _asks(signature: inspect.Signature) -> bool:
    """True for a snapshot anywhere among the parameters, or a cluster first on whose fork something is found out."""
    words = list(signature.parameters)
    return bool(set(FIRST) & set(words)) or (words[:1] == ["sandbox"] and signature.return_annotation != "None")


def test_every_question_is_in_both_places() -> None:
    """No function waits for its method, no method for its function, and ``dir`` shows all of them."""
    assert set(asked()) == set(BY_NAME)
    assert set(BY_NAME) <= set(dir(AnalysisMethods)) & set(dir(Cluster(seed=1))) & set(dir(analysis))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_both_say_the_same(question: Question) -> None:
    """Names, kinds, defaults and types of the parameters, the answer and the docstring are the function's."""
    function, method = getattr(analysis, question.name), getattr(AnalysisMethods, question.name)
    theirs = [
        one.replace(kind=one.KEYWORD_ONLY, default=None) if question.compares and one.name == "before" else one
        for one in inspect.signature(function).parameters.values()
        if one.name not in question.given
    ]
    assert list(inspect.signature(method).parameters.values())[1:] == sorted(theirs, key=lambda one: one.kind)
    assert inspect.signature(method).return_annotation == inspect.signature(function).return_annotation
    assert inspect.getdoc(method) == without_parameters(inspect.getdoc(function) or "", question.given)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_signatures_are_explicit(question: Question) -> None:
    """Every parameter has a type and a description; nothing is Any, nothing is passed on unseen."""
    method = getattr(AnalysisMethods, question.name)
    text = inspect.getdoc(method) or ""
    for section in ("Returns", "Raises", "Examples"):
        assert f"\n{section}\n---" in text, section
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        assert parameter.kind is not parameter.VAR_KEYWORD
        assert parameter.annotation not in ("Any", parameter.empty)
        assert re.search(rf"^(?:.*, )?{name}(?:,.*)?$", text, re.MULTILINE), name
    assert inspect.signature(method).return_annotation not in ("Any", inspect.Signature.empty)


def test_the_stub_is_as_it_is_written() -> None:
    """Type checkers see the methods that there are."""
    there = {
        node.name: node for node in ast.walk(ast.parse(STUB.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)
    }
    for question in QUESTIONS:
        (written,) = ast.parse(method_of(question)[0]).body
        assert ast.unparse(there.pop(question.name)) == ast.unparse(written)
    assert there == {}


@pytest.mark.slow
def test_nothing_of_the_analyses_is_imported_before_it_is_asked() -> None:
    """A cluster is made without tables and graphs."""
    code = "import sys, simkit; simkit.Cluster(seed=1); print({'pandas', 'networkx', 'matplotlib'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_trials_are_clusters() -> None:
    """A trial is asked as any cluster, and its forks know what it came from."""
    cluster = Cluster(seed=1)
    with cluster.what_if() as trial:
        trial.delete("clusterrolebinding", "system:public-info-viewer")
    assert isinstance(trial, Cluster)
    fork = trial.fork()
    assert isinstance(fork, Trial)
    assert fork.before is cluster
    assert not trial.compare(before=cluster).empty
    assert trial.compare().equals(fork.compare())
    assert cluster.compare(before=cluster.snapshot()).empty


def test_options_and_arguments_do_not_contradict_each_other() -> None:
    """A release beside options of another release is refused instead of ignored."""
    with pytest.raises(SimkitError, match=r"release is '1\.20', and the options say '1\.30'"):
        Cluster("1.20", options=Options())
    with pytest.raises(SimkitError, match="seed is 1"):
        Cluster(seed=1, options=Options(seed=2))
    assert Cluster("1.20", options=Options(release="1.20")).release == "1.20"


def test_questions_about_several_words_hear_them() -> None:
    """A method whose function takes any number of words passes all of them on."""
    cluster = Cluster(seed=1)
    asked = cluster.removal_report("policy/v1", "batch/v1").to_dict()
    assert asked == analysis.removal_report(cluster, "policy/v1", "batch/v1").to_dict()


def test_a_trial_needs_no_with_statement() -> None:
    """It is the same fork with and without one, and can be asked after the statement."""
    cluster = demo()
    trial = cluster.what_if()
    trial.delete("clusterrolebinding", "pellowick:toolbox")
    with cluster.what_if() as other:
        other.delete("clusterrolebinding", "pellowick:toolbox")
    assert trial.compare().to_dict() == other.compare().to_dict()
    assert len(trial.compare())
    assert cluster.get("clusterrolebinding", "pellowick:toolbox")


def test_a_subject_leaves_all_bindings() -> None:
    """Others stay in a binding; one of nobody else is gone, and who is in none is told."""
    cluster = Cluster(seed=1)
    for name, subjects in (("own", ["ann"]), ("shared", ["ann", "ben"])):
        named = [{"kind": "User", "name": each, "apiGroup": "rbac.authorization.k8s.io"} for each in subjects]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        made = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
        cluster.create({**made, "roleRef": reference, "subjects": named})
    trial = cluster.what_if()
    assert trial.remove_subject("user:ann") == ["ClusterRoleBinding own", "ClusterRoleBinding shared"]
    assert set(trial.compare()["subject"]) == {"user:ann"}
    assert [one["name"] for one in trial.get("clusterrolebinding", "shared")["subjects"]] == ["ben"]
    with pytest.raises(SimkitError, match="no binding names user:ann"):
        trial.remove_subject("user:ann")


@pytest.mark.parametrize(
    ("wrong", "right"), [("report", "to_html"), ("upgrade", "upgrade_report"), ("stale", "checks='stale'")]
)
def test_guessed_methods_name_the_right_ones(wrong: str, right: str) -> None:
    """The error says what to write instead."""
    with pytest.raises(AttributeError, match=right):
        getattr(demo(), wrong)


def test_a_dump_is_no_release() -> None:
    """The error names the function that reads dumps."""
    with pytest.raises(SimkitError, match=r"simkit\.load\('dump\.json'\)"):
        Cluster("dump.json")
