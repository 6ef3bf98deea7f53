"""The writes that rules match: a property against a naive reading, and corner cases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.logic.policy.attributes import AdmissionAttributes, equivalents
from simkit.logic.policy.matching import in_scope, names
from simkit.meta.identity import Identity
from simkit.meta.names import GroupVersionKind, GroupVersionResource
from simkit.schema.catalogue import Catalogue

PODS = GroupVersionResource("", "v1", "pods")
WORDS = st.lists(st.sampled_from(["*", "a", "b"]), max_size=2)
RESOURCES = st.lists(st.sampled_from(["*", "*/*", "a", "a/*", "a/s", "*/s", "b"]), max_size=2)


def _naive(rule: dict[str, list[str]], operation: str, place: GroupVersionResource, part: str) -> bool:
    """The rule read as a person would: spell out everything that an entry stands for."""

    def among(items: list[str], word: str) -> bool:
        return word in items or "*" in items

    spelled = {
        f"{resource}/{subresource}"
        for entry in rule["resources"]
        for resource in (["a", "b"] if entry.split("/")[0] == "*" else [entry.split("/")[0]])
        for subresource in (["", "s", "t"] if entry.endswith("/*") else [entry.split("/")[1] if "/" in entry else ""])
    }
    fits = among(rule["operations"], operation) and among(rule["apiGroups"], place.group)
    return fits and among(rule["apiVersions"], place.version) and f"{place.resource}/{part}" in spelled


@settings(max_examples=200)
@given(WORDS, WORDS, WORDS, RESOURCES, st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from(["", "s", "t"]))
def test_rules_name_what_they_spell_out(
    operations: list[str],
    groups: list[str],
    versions: list[str],
    resources: list[str],
    word: str,
    resource: str,
    part: str,
) -> None:
    """Wildcards stand for everything in their place; a resource without a slash for itself alone."""
    rule = {"operations": operations, "apiGroups": groups, "apiVersions": versions, "resources": resources}
    place = GroupVersionResource(word, word, resource)
    assert names(rule, word, place, part) == _naive(rule, word, place, part)


@pytest.mark.parametrize(
    ("scope", "resource", "namespace", "wanted"),
    [
        ("*", PODS, "dev", True),
        ("Namespaced", PODS, "dev", True),
        ("Cluster", PODS, "dev", False),
        ("Cluster", GroupVersionResource("", "v1", "nodes"), "", True),
        ("Namespaced", GroupVersionResource("", "v1", "namespaces"), "dev", False),
        ("Cluster", GroupVersionResource("", "v1", "namespaces"), "dev", True),
    ],
)
def test_scopes(scope: str, resource: GroupVersionResource, namespace: str, wanted: bool) -> None:
    """A namespace belongs to the cluster, though its own name counts as its namespace."""
    attempt = AdmissionAttributes(
        Identity("u"), "CREATE", resource, GroupVersionKind("", "v1", "X"), namespace=namespace
    )
    rule: dict[str, Any] = {"scope": scope}
    assert in_scope(rule, attempt) == wanted


def test_equivalents_are_other_homes_of_the_same_objects() -> None:
    """Versions of a group, and groups that share objects; a subresource only where it is served."""
    catalogue = Catalogue.for_release("1.30")
    scalers = equivalents(catalogue, GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers"), "")
    assert [each.version for each in scalers] == ["v1"]
    events = equivalents(catalogue, GroupVersionResource("", "v1", "events"), "")
    assert [str(each.group_resource) for each in events] == ["events.events.k8s.io"]
    assert not equivalents(catalogue, PODS, "log")
