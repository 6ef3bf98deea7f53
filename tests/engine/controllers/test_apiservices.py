"""APIServices: those of the server itself, those of custom resources, and why others are not available."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request

SERVICE = {"namespace": "ops", "name": "back"}


def registered(cluster: Cluster, **spec: Any) -> None:
    """Register ``v1`` of ``x.example`` and let the controllers look at it."""
    row = {"group": "x.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 1, **spec}
    header = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    cluster.create({**header, "metadata": {"name": "v1.x.example"}, "spec": row})
    cluster.settle()


def condition(cluster: Cluster) -> tuple[str, str]:
    """Reason and message of the condition Available."""
    found = cluster.get("apiservice", "v1.x.example")["status"]["conditions"][0]
    return found["reason"], found["message"]


def test_a_server_registers_what_it_serves() -> None:
    """Every group version but the one of registrations has an APIService, which is available."""
    cluster = Cluster(seed=1)
    found = {each["metadata"]["name"]: each for each in cluster.list("apiservices")}
    served = {f"{each.version}.{each.group}" for each in cluster.engine.catalogue.resources()}
    assert found.keys() == served - {"v1.apiregistration.k8s.io"}
    assert found["v2.autoscaling"]["spec"]["versionPriority"] == 30
    assert all(each["status"]["conditions"][0]["reason"] == "Local" for each in found.values())


def test_custom_resources_bring_their_registrations() -> None:
    """A definition's versions are registered, and their registrations go with the definition."""
    cluster = Cluster(seed=1)
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")]
    header = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    names = {"plural": "toys", "kind": "Toy"}
    spec = {"group": "x.example", "scope": "Cluster", "names": names, "versions": versions}
    cluster.create({**header, "metadata": {"name": "toys.x.example"}, "spec": spec})
    cluster.settle()
    made = cluster.get("apiservice", "v2.x.example")
    assert (made["spec"]["groupPriorityMinimum"], made["spec"]["versionPriority"]) == (1000, 100)
    assert made["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    cluster.delete("customresourcedefinition", "toys.x.example")
    cluster.settle()
    assert cluster.perform(Request.of("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v2.x.example")).status == 404


def test_endpoint_slices_say_it_later() -> None:
    """From 1.34 on, the EndpointSlices of the service are looked at."""
    cluster = Cluster(seed=1, release="1.34")
    registered(cluster, service=SERVICE, insecureSkipTLSVerify=True)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}})
    header = {"metadata": {"name": "back", "namespace": "ops"}}
    ports = [{"name": "web", "port": 443}]
    cluster.create({"apiVersion": "v1", **header, "kind": "Service", "spec": {"ports": ports}})
    cluster.settle()
    assert condition(cluster) == ("EndpointsNotFound", 'cannot find endpointslices for service/back in "ops"')
    named = {"name": "back", "namespace": "ops", "labels": {"kubernetes.io/service-name": "back"}}
    part = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": named, "addressType": "IPv4"}
    endpoint = {"addresses": ["10.1.2.3"], "conditions": {"ready": False}}
    cluster.create({**part, "endpoints": [endpoint], "ports": ports})
    cluster.settle()
    text = 'endpointslices for service/back in "ops" have no addresses with port name "web"'
    assert condition(cluster) == ("MissingEndpoints", text)
    cluster.apply({**part, "endpoints": [{**endpoint, "conditions": {"ready": True}}], "ports": ports})
    cluster.settle()
    assert condition(cluster)[0] == "FailedDiscoveryCheck"


def test_reasons_for_an_unavailable_service() -> None:
    """The service, its port, its endpoints and the answer of its server are looked at in this order."""
    cluster = Cluster(seed=1)
    registered(cluster, service=SERVICE, insecureSkipTLSVerify=True)
    assert condition(cluster) == ("ServiceNotFound", 'service/back in "ops" is not present')
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}})
    header = {"apiVersion": "v1", "metadata": {"name": "back", "namespace": "ops"}}
    cluster.create({**header, "kind": "Service", "spec": {"ports": [{"name": "web", "port": 80}]}})
    cluster.settle()
    assert condition(cluster) == ("ServicePortError", 'service/back in "ops" is not listening on port 443')
    ports = [{"name": "web", "port": 443}]
    cluster.apply({**header, "kind": "Service", "spec": {"ports": ports}})
    cluster.settle()
    assert condition(cluster) == ("EndpointsNotFound", 'cannot find endpoints for service/back in "ops"')
    cluster.create({**header, "kind": "Endpoints", "subsets": []})
    cluster.settle()
    text = 'endpoints for service/back in "ops" have no addresses with port name "web"'
    assert condition(cluster) == ("MissingEndpoints", text)
    subsets = [{"addresses": [{"ip": "10.1.2.3"}], "ports": ports}]
    cluster.apply({**header, "kind": "Endpoints", "subsets": subsets})
    cluster.settle()
    assert condition(cluster) == ("FailedDiscoveryCheck", 'no address is known for service/back in "ops"')
    cluster.egress.services["ops/back"] = "127.0.0.1:1"
    cluster.settle()
    assert condition(cluster)[1].endswith("dial tcp 127.0.0.1:1: connect: connection refused")


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    """Only a change of the status moves the time of transition."""
    cluster = Cluster(seed=1)
    registered(cluster, service=SERVICE, insecureSkipTLSVerify=True)
    before = cluster.get("apiservice", "v1.x.example")
    cluster.settle()
    assert cluster.get("apiservice", "v1.x.example") == before


def test_versions_of_a_group_are_ordered() -> None:
    """Priority comes first, then what the version's name says."""
    cluster = Cluster(seed=1)
    names = ("v2", "v1", "v10", "v11beta2", "v3beta1", "v12alpha1", "foo1", "foo10", "high")
    header = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    for name in names:
        row = {"group": "x.example", "version": name, "groupPriorityMinimum": 100}
        spec = {**row, "versionPriority": 100 if name == "high" else 10}
        cluster.create({**header, "metadata": {"name": f"{name}.x.example"}, "spec": spec})
    versions = cluster.perform(Request.of("GET", "/apis/x.example")).object["versions"]
    ordered = ["high", "v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "foo1", "foo10"]
    assert [each["version"] for each in versions] == ordered
