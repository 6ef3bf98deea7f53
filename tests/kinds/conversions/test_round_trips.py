"""Rule 2 of the policy: through another version and back nothing is lost, for objects of any shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.kinds.conversions import convert, defaulted, versions
from simkit.kinds.conversions.convert import differences
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.schema.definitions import definitions
from simkit.schema.lifecycle import all_lifecycles, newest_release
from tests.kinds.conversions.generated import objects

pytestmark = pytest.mark.slow

BEHAVIOUR: Final = default_behaviour("1.30")
SETTLES: Final[Mapping[tuple[str, str], str]] = {
    (
        "HorizontalPodAutoscaler",
        "autoscaling/v1",
    ): "the processor's use is in the status and in an annotation from then on",
    (
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
    ): "types of targets are told by their values, and the processor comes last",
    ("HorizontalPodAutoscaler", "autoscaling/v2beta1"): "as v2",
    ("HorizontalPodAutoscaler", "autoscaling/v2beta2"): "as v2",
    ("IngressClass", "networking.k8s.io/v1beta1"): "v1 gives parameters a scope",
    ("NetworkPolicy", "extensions/v1beta1"): "v1 gives ports a protocol",
    ("EndpointSlice", "discovery.k8s.io/v1beta1"): "the host name of an endpoint with a node is filled in",
    ("EndpointSlice", "discovery.k8s.io/v1"): "a host name that is the node's own is dropped",
    ("PodDisruptionBudget", "policy/v1beta1"): "selectors that select nothing have one form",
    ("PodDisruptionBudget", "policy/v1"): "selectors that select nothing have one form",
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1"): "what all versions share is said once",
}
"""Versions whose objects change on their first way there and back, as on kube-apiserver, and never again."""


def pairs() -> Iterator[tuple[str, str, str]]:
    """Kind, version, and the version that objects go through; one of the two is the one they are kept in."""
    for life in all_lifecycles().values():
        if life.api_version.startswith("resource.") and "alpha" in life.api_version:
            continue  # its alpha version went while the others still gained fields, which it has no place for
        hub, *others = versions(life.api_version, life.kind)
        if life.api_version in others:
            yield life.kind, life.api_version, hub
            yield life.kind, hub, life.api_version


def schema_of(api_version: str, kind: str) -> Any:
    gvk = GroupVersionKind(*GroupVersion.parse(api_version), kind)
    for release in filter(None, (newest_release(gvk), "1.30", "1.17", "1.37")):
        name = definitions(release).name_of(gvk)
        if name is not None:
            return definitions(release).node(name)
    raise AssertionError(f"no schema of {gvk}")


def sensible(obj: dict[str, Any]) -> dict[str, Any]:
    """The object with what its version requires, which generated ones may lack."""
    spec = obj.setdefault("spec", {}) if obj["kind"] not in ("Event", "EndpointSlice") else {}
    if obj["kind"].endswith("WebhookConfiguration"):
        for webhook in obj.get("webhooks") or ():
            webhook.update(sideEffects="None", admissionReviewVersions=["v1"])
    elif obj["kind"] == "CertificateSigningRequest":
        spec.update(signerName="example.com/signer", usages=["any"])
        for condition in (obj.get("status") or {}).get("conditions") or ():
            condition["status"] = "True"
    elif obj["kind"] == "CustomResourceDefinition":
        spec.update(scope="Cluster", preserveUnknownFields=False)
        spec.update(names={"kind": "A", "singular": "a", "listKind": "AList"}, conversion={"strategy": "None"})
        spec["versions"] = spec.get("versions") or [{"name": "v1", "served": True, "storage": True}]
    elif obj["kind"] == "Ingress":
        _backends(spec)
    elif obj["kind"] in ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"):
        obj["metadata"]["labels"], spec["selector"] = {"a": "b"}, {"matchLabels": {"a": "b"}}
    return obj


def _backends(spec: dict[str, Any]) -> None:
    """Ports by number or by name, not both; a service or a resource; a type for each path."""
    paths = [path for rule in spec.get("rules") or () for path in (rule.get("http") or {}).get("paths") or ()]
    for path in paths:
        path["pathType"] = "Prefix"
    for backend in (spec.get("defaultBackend"), spec.get("backend"), *(path.get("backend") for path in paths)):
        if backend and backend.get("service"):
            backend["service"] = {"name": "a", "port": {"number": 80}}
            backend.pop("resource", None)
        if backend and "serviceName" in backend:
            backend["servicePort"] = "web"


@pytest.mark.parametrize(("kind", "version", "through"), sorted(set(pairs())))
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_round_trips_lose_no_field(kind: str, version: str, through: str, data: st.DataObject) -> None:
    """There and back gives the same object; where it settles into one form first, once is enough."""
    made = sensible(data.draw(objects(schema_of(version, kind), version, kind)))
    before = defaulted(made, BEHAVIOUR)
    if (kind, version) in SETTLES:
        before = convert(convert(before, through, BEHAVIOUR), version, BEHAVIOUR)
    after = convert(convert(before, through, BEHAVIOUR), version, BEHAVIOUR)
    assert [str(each) for each in differences(before, after)] == []
