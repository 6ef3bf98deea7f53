"""Services, endpoints, ingresses and ranges: addresses, families, traffic policies, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response
from tests.kinds.comparison import MERGE, cluster_of, sent, told

CORE = "/api/v1/namespaces/default"


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


def causes(response: Response) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    return [(each["field"], each["message"]) for each in response.object["details"]["causes"]]


def warned(response: Response) -> list[str]:
    """The texts of the warnings of an answer."""
    return [value.split('"', 1)[1].rstrip('"') for name, value in response.headers if name.lower() == "warning"]


RANGES = "/apis/networking.k8s.io/v1/servicecidrs"


CONDITION = {"type": "A", "status": "True", "reason": "B", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}


INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"


def ingress(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x"}, "spec": spec}


BACKEND = {"service": {"name": "x", "port": {"number": 1}}}


@pytest.mark.parametrize(("release", "kind"), [("1.21", "Status"), ("1.23", "Service")])
def test_the_answer_to_the_deletion_of_a_service(release: str, kind: str) -> None:
    """Services are told after their deletion from 1.23 on."""
    cluster = simkit.Cluster(release=release)
    services = "/api/v1/namespaces/default/services"
    sent(cluster, "POST", services, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    answer = sent(cluster, "DELETE", f"{services}/s").object
    assert (answer["kind"], answer.get("details", {}).get("name", "s")) == (kind, "s")


@pytest.mark.parametrize("release", ["1.17", "1.21"])
def test_topology_keys_of_services(release: str) -> None:
    """They belong to a feature that was always off, and that 1.30 does not know any more."""
    cluster = simkit.Cluster(release=release)
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "topologyKeys": ["*"]}}
    made = sent(cluster, "POST", "/api/v1/namespaces/default/services", body).object
    assert "topologyKeys" not in made["spec"]


def test_addresses_of_load_balancers_without_modes() -> None:
    """Before 1.30 an address of a load balancer has no mode, whatever the type of its service."""
    cluster = simkit.Cluster(release="1.21")
    services = "/api/v1/namespaces/default/services"
    sent(cluster, "POST", services, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    assert sent(cluster, "PATCH", f"{services}/s/status", status).status == 200


def test_a_service_that_no_longer_balances_load() -> None:
    """It loses the addresses of its balancer with its type."""
    cluster, path = simkit.Cluster(), f"{CORE}/services"
    sent(cluster, "POST", path, named({"type": "LoadBalancer", "ports": [{"port": 80}]}))
    sent(cluster, "PATCH", f"{path}/x/status", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    changed = sent(cluster, "PATCH", f"{path}/x", {"spec": {"type": "ClusterIP"}})
    assert changed.object["status"] == {"loadBalancer": {}}
    refused = sent(cluster, "PATCH", f"{path}/x/status", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    assert refused.status == 422


def test_two_families_need_a_policy_that_allows_them() -> None:
    """A service without a policy has one family."""
    refused = sent(
        simkit.Cluster(), "POST", f"{CORE}/services", named({"ports": [{"port": 80}], "ipFamilies": ["IPv4", "IPv6"]})
    )
    told = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
    assert causes(refused) == [("spec.ipFamilyPolicy", f'Invalid value: "SingleStack": {told}')]


@pytest.mark.parametrize(("release", "count"), [("1.32", 0), ("1.33", 1)])
def test_addresses_that_others_read_differently_are_warned_about(release: str, count: int) -> None:
    """Those of Endpoints, slices, nodes and load balancers, since 1.33."""
    cluster = simkit.Cluster(release=release)
    subsets = [{"addresses": [{"ip": "010.0.0.1"}], "ports": [{"port": 1}]}]
    core, groups = "/api/v1/namespaces/default", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    slices = {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [{"addresses": ["010.0.0.1"]}]}
    made = (
        sent(cluster, "POST", f"{core}/endpoints", {"metadata": {"name": "x"}, "subsets": subsets}),
        sent(cluster, "POST", groups, slices),
        sent(cluster, "POST", "/api/v1/nodes", {"metadata": {"name": "x"}, "spec": {"podCIDRs": ["010.0.0.0/8"]}}),
    )
    assert [each.status for each in made] == [201, 201, 201]
    assert [sum("non-standard" in text for text in warned(each)) for each in made] == [count] * 3


@pytest.mark.parametrize(("release", "warnings"), [("1.26", 0), ("1.27", 1)])
def test_slices_of_names_are_warned_about(release: str, warnings: int) -> None:
    """Since 1.27, when they are made."""
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    body = {"metadata": {"name": "x"}, "addressType": "FQDN", "endpoints": [{"addresses": ["a.b"]}]}
    assert len(warned(sent(simkit.Cluster(release=release), "POST", path, body))) == warnings


@pytest.mark.parametrize(("release", "kept"), [("1.33", True), ("1.35", True), ("1.36", False)])
def test_the_status_of_service_ranges(release: str, kept: bool) -> None:
    """Up to 1.35 whoever writes a ServiceCIDR writes its status too."""
    cluster = simkit.Cluster(release=release)
    body = {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.98.0.0/24"]}, "status": {"conditions": [CONDITION]}}
    made = sent(cluster, "POST", RANGES, body)
    assert made.object["status"] == ({"conditions": [CONDITION]} if kept else {})
    changed = sent(cluster, "PATCH", f"{RANGES}/more", {"status": {"conditions": [{**CONDITION, "type": "C"}]}})
    types = [each["type"] for each in changed.object["status"].get("conditions", ())]
    assert types == (["C"] if kept else [])


@pytest.mark.parametrize(("release", "path"), [("1.32", "spec.cidrs"), ("1.33", "spec.cidrs[0]")])
def test_changes_of_service_ranges(release: str, path: str) -> None:
    """From 1.33 on each range is told by itself, and a second one may come."""
    cluster = simkit.Cluster(options=Options(release=release, runtime_config={"networking.k8s.io/v1beta1": True}))
    ranges = RANGES if release == "1.33" else RANGES.replace("v1", "v1beta1")
    sent(cluster, "POST", ranges, {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.98.0.0/24"]}})
    refused = sent(cluster, "PATCH", f"{ranges}/more", {"spec": {"cidrs": ["10.97.0.0/24"]}})
    assert [each["field"] for each in refused.object["details"]["causes"]] == [path]


@pytest.mark.parametrize(("release", "first"), [("1.32", "endpoints[0].addresses"), ("1.33", "ports[0].protocol")])
def test_ports_of_endpoint_slices_are_checked_first(release: str, first: str) -> None:
    """From the release on that checks addresses by family."""
    made = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "e"},
        "addressType": "IPv4",
        "endpoints": [{}],
        "ports": [{"protocol": "/abs"}],
    }
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    assert told(cluster_of(release), "POST", path, made)[0].partition(":")[0] == first


@pytest.mark.parametrize(
    ("release", "spec", "shown"),
    [
        ("1.30", {"rules": []}, "[]networking.IngressRule{}"),
        ("1.30", {}, "[]networking.IngressRule(nil)"),
        ("1.36", {"rules": []}, "[]"),
        ("1.36", {}, "null"),
    ],
)
def test_rules_that_are_an_empty_list_are_told_from_none(release: str, spec: dict[str, Any], shown: str) -> None:
    """The error of an Ingress without any backend shows its rules."""
    expected = f"spec: Invalid value: {shown}: either `defaultBackend` or `rules` must be specified"
    assert told(cluster_of(release), "POST", INGRESSES, ingress(spec)) == [expected]


def test_rules_that_are_an_empty_list_are_not_kept() -> None:
    """Beside a default backend nobody owns them, they are not stored, and they are no change."""
    cluster = cluster_of("1.30")
    made = cluster.perform(Request.of("POST", INGRESSES, ingress({"rules": [], "defaultBackend": BACKEND}))).object
    assert made["spec"] == {"defaultBackend": BACKEND}
    assert set(made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]) == {"f:defaultBackend"}
    patched = cluster.perform(Request.of("PATCH", f"{INGRESSES}/x", {"spec": {"rules": []}}, headers=MERGE)).object
    assert patched["metadata"]["generation"] == 1


@pytest.mark.parametrize(("release", "expected"), [("1.30", "llglsls"), ("1.36", "llls")])
def test_a_changed_network_policy_is_checked_twice(release: str, expected: str) -> None:
    """Up to the release that checks it once."""
    cluster = cluster_of(release)
    made = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "x"}}
    cluster.create({**made, "spec": {"podSelector": {}}})
    head = {"name": "x", "labels": {"a": "b c"}, "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {"podSelector": {}, "policyTypes": ["x"]}}
    causes = told(cluster, "PUT", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/x", odd)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.policyTypes[0]": "s"}
    assert "".join(letters[cause.partition(":")[0]] for cause in causes) == expected


def test_addresses_of_a_changed_service_stand_before_its_metadata() -> None:
    """What may not change is told first."""
    cluster = cluster_of("1.30")
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}
    cluster.create(made)
    head = {"name": "x", "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {"ports": [{"port": 0}], "clusterIP": "None"}}
    fields = [cause.partition(":")[0] for cause in told(cluster, "PUT", "/api/v1/namespaces/default/services/x", odd)]
    assert fields == ["spec.clusterIPs[0]", "metadata.generateName", "spec.ports[0].port", "spec.ports[0].targetPort"]


def test_a_service_that_a_write_of_its_status_creates_warns() -> None:
    """As any other new service."""
    spec = {"ports": [{"port": 80}], "externalIPs": ["1.2.3.4"]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": spec}
    answer = cluster_of("1.36").perform(Request.of("PUT", "/api/v1/namespaces/default/services/s/status", body))
    assert answer.status == 201
    assert "spec.externalIPs is deprecated" in dict(answer.headers)["Warning"]


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_endpoints_stay_as_they_are_written(release: str) -> None:
    """The same address twice, and equal subsets."""
    subset = {"addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.1"}]}
    written = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "x"}, "subsets": [subset, subset]}
    assert cluster_of(release).create(written)["subsets"] == [subset, subset]


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_a_headless_service_keeps_its_families(release: str) -> None:
    """A patch that takes its selector and its families away leaves it with those that it had."""
    cluster = cluster_of(release)
    spec = {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": spec})
    path = "/api/v1/namespaces/default/services/x"
    left = cluster.perform(Request.of("PATCH", path, {"spec": None}, headers=MERGE)).object["spec"]
    assert (left["ipFamilies"], left["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")


def test_a_traffic_policy_of_no_letters_is_refused() -> None:
    """It is not one that is missing."""
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"internalTrafficPolicy": ""}}
    assert told(cluster_of("1.36"), "POST", "/api/v1/namespaces/default/services", body) == [
        "spec.ports: Required value",
        'spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
    ]
