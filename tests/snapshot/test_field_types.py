"""Objects whose fields have wrong types: reported with their place and left out, as kube-apiserver refuses them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from simkit.snapshot.field_types import first_mismatch
from simkit.snapshot.load import load
from tests.snapshot.dumps import RBAC, listed, names, pod, role

BINDING = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "b"},
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
}


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        ({**BINDING, "subjects": "alice"}, "subjects is text, not a list"),
        ({**BINDING, "subjects": ["alice"]}, "subjects[0] is text, not an object"),
        ({**BINDING, "subjects": [None]}, "subjects[0] is nothing, not an object"),
        ({**role("r"), "rules": ["get pods"]}, "rules[0] is text, not an object"),
        ({**role("r"), "rules": [{"verbs": ["get", 1]}]}, "rules[0].verbs[1] is a number, not text"),
        (
            {**pod("p"), "metadata": {"name": "p", "annotations": ["a"]}},
            "metadata.annotations is a list, not an object",
        ),
        (
            {**pod("p"), "metadata": {"name": "p", "annotations": {"a": True}}},
            "metadata.annotations[a] is true, not text",
        ),
        ({**pod("p"), "spec": {"containers": [{"ports": [{"containerPort": "80"}]}]}},
         "spec.containers[0].ports[0].containerPort is text, not a number"),
        ({**pod("p"), "spec": {"hostNetwork": "yes"}}, "spec.hostNetwork is text, not true or false"),
        ({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "labels": "x"}, "spec": 1},
         "metadata.labels is text, not an object"),
        ({"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": {"rules": "x"}},
         "spec.rules is text, not a list"),
    ],
)  # fmt: skip
def test_the_first_field_of_a_wrong_type_is_named(obj: dict[str, Any], told: str) -> None:
    """With its path; kinds of other releases are checked by theirs, unknown kinds by their metadata."""
    assert str(first_mismatch(obj, "1.30")) == told


def test_types_that_kube_apiserver_accepts_are_accepted() -> None:
    """Null anywhere in an object, amounts as numbers, ports by name, unknown fields."""
    containers = [{"name": "c", "args": None, "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "unheard": [1]}]
    probe = {"httpGet": {"port": "web"}, "tcpSocket": {"port": 80}}
    spec = {"containers": [{**containers[0], "livenessProbe": probe}], "volumes": None}
    obj = {**pod("p"), "metadata": {"name": "p", "annotations": {"a": None}, "labels": None}, "spec": spec}
    assert first_mismatch(obj, "1.30") is None


def test_a_wrong_object_costs_only_itself() -> None:
    """It is reported with file and line, and those around it are read."""
    text = yaml.safe_dump(listed(pod("a"), {**BINDING, "subjects": "alice"}, pod("c")))
    dump = load(text)
    assert names(dump) == ["a", "c"]
    (problem,) = dump.lost
    assert problem.line == text[: text.index("roleRef")].count("\n") + 1 - 4
    assert problem.what == "ClusterRoleBinding b: subjects is text, not a list"
