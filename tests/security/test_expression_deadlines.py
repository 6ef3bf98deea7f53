"""Expressions end at the deadline of the request, however cheap cel-go takes them for, and make nothing without end."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.language.cel.containers import watched
from simkit.language.cel.errors import LONGEST_LIST, LONGEST_TEXT, EvaluationError
from simkit.language.cel.lib_collections import distinct, index_of, last_index_of, sorted_by
from simkit.language.cel.operations import add, contained, equals
from simkit.language.cel.patch_values import Literal, patch_value
from simkit.meta.deadline import Deadline, within
from simkit.meta.errors import StatusError
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response
from tests.security.attacks import MAPS

POLICIES = "/apis/admissionregistration.k8s.io/v1"


def _doubled(times: int, twice: str) -> list[dict[str, str]]:
    """Variables of which each holds the one before twice."""
    first = {"name": "v0", "expression": "[1, 2]"}
    return [
        first,
        *({"name": f"v{n + 1}", "expression": twice.replace("v", f"variables.v{n}")} for n in range(times)),
    ]


def _answer(spec: dict[str, Any], target: dict[str, Any], seconds: float) -> Response:
    """What a server with a policy answers to the creation of a map within a time."""
    cluster = Cluster(options=Options(seed=1, controllers=()))
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    group = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    made = {
        **group,
        "kind": "ValidatingAdmissionPolicy",
        "spec": {"matchConstraints": {"resourceRules": rules}, **spec},
    }
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    for path, obj in (
        ("validatingadmissionpolicies", made),
        ("validatingadmissionpolicybindings", {**group, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}),
    ):
        assert cluster.perform(Request.of("POST", f"{POLICIES}/{path}", obj)).status == 201
    root = Identity("root", (MASTERS,))
    request = Request.of("POST", MAPS, target)
    return within(Deadline(seconds), partial(serve_request, cluster.engine, request, identity=root))


def _map(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", **metadata}}


def test_values_that_hold_themselves_many_times_are_compared_until_the_deadline() -> None:
    """Forty variables make a list of 2^40 numbers that takes no room, and cel-go charges 1 for the comparison."""
    variables = _doubled(40, "[v, v]")
    spec = {"variables": variables, "validations": [{"expression": "variables.v40 == variables.v40"}]}
    assert _answer(spec, _map(), 0.5).status == 504


@pytest.mark.slow
def test_each_element_is_looked_for_in_all_until_the_deadline() -> None:
    """A list of unknown type costs 1 for each search, which is 60,000 steps."""
    spec = {"validations": [{"expression": "object.metadata.finalizers.all(x, x in object.metadata.finalizers)"}]}
    finalizers = [f"a.b/{number}" for number in range(60_000)]
    assert _answer(spec, _map(finalizers=finalizers), 2.0).status == 504


def test_lists_that_are_doubled_end_at_a_limit() -> None:
    """Thirty variables would make a list of 2^31 numbers: 16 GB."""
    spec = {"variables": _doubled(30, "v + v"), "validations": [{"expression": "size(variables.v30) > 0"}]}
    answer = _answer(spec, _map(), 30.0)
    assert answer.status == 422
    assert f"is longer than {LONGEST_LIST}" in answer.object["message"]


def test_texts_of_unknown_type_that_are_doubled_end_at_a_limit() -> None:
    """What is declared as text is charged for its length already."""
    half = "a" * (LONGEST_TEXT // 2 + 1)
    with pytest.raises(EvaluationError, match="is larger than"):
        add(half, half)


@pytest.mark.parametrize(
    "act",
    [
        lambda: equals([[1]], [[1]]),
        lambda: equals({"a": 1}, {"a": 1}),
        lambda: contained(1, [2, 3]),
        lambda: index_of([1, 2], 3),
        lambda: last_index_of([1, 2], 3),
        lambda: distinct([1, 2, 3]),
        lambda: sorted_by([2, 1], [2, 1]),
        lambda: list(watched(range(100))),
    ],
)
def test_each_function_that_goes_through_lists_looks_at_the_deadline(act: Any) -> None:
    """Its result is the same where there is time."""
    act()
    with pytest.raises(StatusError, match="allotted timeout"):
        within(Deadline(-1.0), act)


@pytest.mark.parametrize("made", [lambda value: [value, value], lambda value: {"a": value, "b": value}])
def test_values_that_a_policy_sets_have_a_bound(made: Any) -> None:
    """Sixty doublings would make a patch of 2^60 parts; what shows such a value ends, too."""
    value: Any = "x"
    for _ in range(60):
        value = made(value)
    with pytest.raises(EvaluationError, match="more than 200000 parts"):
        patch_value(value)
    assert len(repr(Literal([value]))) < 10_000_000
