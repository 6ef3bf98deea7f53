"""ServiceCIDRs, and the IPAddress objects of the addresses that Services have, from release 1.33 on."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request, Response

NETWORKING = "/apis/networking.k8s.io/v1"
SERVICES = "/api/v1/namespaces/default/services"
MERGE = "application/merge-patch+json"


def of_release(release: str = "1.36", **more: Any) -> Cluster:
    clock = SimulatedClock()
    settings = {"seed": 1, "clock": clock, "service_cluster_ip_range": "10.0.0.0/28", **more}
    return Cluster(options=Options(release=release, **settings))


def send(cluster: Cluster, method: str, path: str, obj: Any = None, media: str = "application/json") -> Response:
    return cluster.perform(Request.of(method, path, obj, content_type=media))


def serve(cluster: Cluster, name: str, query: str = "", **spec: Any) -> Response:
    """The answer to the creation of a Service."""
    return send(
        cluster, "POST", SERVICES + query, {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    )


def add_range(cluster: Cluster, name: str, *ranges: str) -> Response:
    """The answer to the creation of a ServiceCIDR."""
    return send(cluster, "POST", f"{NETWORKING}/servicecidrs", {"metadata": {"name": name}, "spec": {"cidrs": ranges}})


def recorded(cluster: Cluster) -> dict[str, str]:
    """The Service of each IPAddress."""
    items = send(cluster, "GET", f"{NETWORKING}/ipaddresses").object["items"]
    return {each["metadata"]["name"]: each["spec"]["parentRef"]["name"] for each in items}


def ready(cluster: Cluster, name: str) -> tuple[str, str, str]:
    """The state of a ServiceCIDR's condition Ready, when the controllers have done their work."""
    cluster.settle()
    found = send(cluster, "GET", f"{NETWORKING}/servicecidrs/{name}").object["status"]["conditions"]
    return found[0]["status"], found[0]["reason"], found[0]["message"]


def test_ranges_of_the_server() -> None:
    """The ranges of the flags are an object, ready from the start, and the server's own address is recorded."""
    cluster = of_release(controllers=())
    found = send(cluster, "GET", f"{NETWORKING}/servicecidrs/kubernetes").object
    assert found["spec"]["cidrs"] == ["10.0.0.0/28"]
    assert ready(cluster, "kubernetes") == ("True", "", "Kubernetes default Service CIDR is ready")
    assert recorded(cluster) == {"10.0.0.1": "kubernetes"}
    assert send(of_release("1.32"), "GET", f"{NETWORKING}/servicecidrs").status == 404


def test_addresses_have_objects() -> None:
    """An address comes and goes with its Service, also when the type changes; a dry run makes none."""
    cluster = of_release()
    assert serve(cluster, "asked", clusterIP="10.0.0.5").succeeded
    assert serve(cluster, "tried", "?dryRun=All", clusterIP="10.0.0.6").succeeded
    assert serve(cluster, "refused", clusterIP="10.0.0.7", sessionAffinity="Sometimes").status == 422
    assert recorded(cluster) == {"10.0.0.1": "kubernetes", "10.0.0.5": "asked"}
    change = {"spec": {"type": "ExternalName", "externalName": "a.b", "clusterIP": "", "clusterIPs": None}}
    assert send(cluster, "PATCH", f"{SERVICES}/asked", change, MERGE).succeeded
    assert recorded(cluster) == {"10.0.0.1": "kubernetes"}
    taken = serve(cluster, "again").object["spec"]["clusterIP"]
    assert recorded(cluster)[taken] == "again"
    assert send(cluster, "DELETE", f"{SERVICES}/again").succeeded
    assert recorded(cluster) == {"10.0.0.1": "kubernetes"}


def test_an_object_without_a_service_takes_its_address() -> None:
    """An address that has an object already is refused to who asks for it, and passed over otherwise."""
    cluster = of_release()
    for last in range(2, 14):
        spec = {"parentRef": {"resource": "gateways", "group": "example.com", "name": "g"}}
        made = send(
            cluster, "POST", f"{NETWORKING}/ipaddresses", {"metadata": {"name": f"10.0.0.{last}"}, "spec": spec}
        )
        assert made.succeeded
    refused = serve(cluster, "asked", clusterIP="10.0.0.2")
    assert "failed to allocate IP 10.0.0.2: provided IP is already allocated" in refused.object["message"]
    assert serve(cluster, "any").object["spec"]["clusterIPs"] == ["10.0.0.14"]
    full = serve(cluster, "none-left")
    assert (full.status, "range is full" in full.object["message"]) == (500, True)


def test_a_further_range() -> None:
    """A new range is used when the first one is full, by name at once; it goes when nothing needs it any more."""
    cluster = of_release()
    outside = serve(cluster, "outside", clusterIP="10.1.0.2").object["message"]
    assert "the provided network does not match the current range" in outside
    assert add_range(cluster, "more", "10.1.0.0/29").succeeded
    assert ready(cluster, "more") == ("True", "", "Kubernetes Service CIDR is ready")
    addresses = {serve(cluster, f"s{number}").object["spec"]["clusterIP"] for number in range(15)}
    assert {address for address in addresses if address.startswith("10.1.")} != set()
    assert len(addresses) == 15
    assert send(cluster, "DELETE", f"{NETWORKING}/servicecidrs/more").succeeded
    assert ready(cluster, "more")[:2] == ("False", "Terminating")
    for number in range(15):
        send(cluster, "DELETE", f"{SERVICES}/s{number}")
    cluster.advance(11)
    cluster.settle()
    assert send(cluster, "GET", f"{NETWORKING}/servicecidrs/more").status == 404
    assert serve(cluster, "late", clusterIP="10.1.0.2").status == 422


def test_a_range_inside_another_goes_at_once() -> None:
    """What is in use of a range that lies within another one does not keep it."""
    cluster = of_release()
    assert add_range(cluster, "inner", "10.0.0.0/29").succeeded
    assert serve(cluster, "a", clusterIP="10.0.0.3").succeeded
    assert send(cluster, "DELETE", f"{NETWORKING}/servicecidrs/inner").succeeded
    cluster.advance(11)
    cluster.settle()
    assert send(cluster, "GET", f"{NETWORKING}/servicecidrs/inner").status == 404


def test_forks_have_ranges_of_their_own() -> None:
    """A fork knows the ranges and addresses, and what it does stays there."""
    cluster = of_release()
    add_range(cluster, "more", "10.1.0.0/29")
    serve(cluster, "a", clusterIP="10.1.0.2")
    fork = cluster.fork()
    assert serve(fork, "b", clusterIP="10.1.0.2").status == 422
    assert serve(fork, "c", clusterIP="10.1.0.3").succeeded
    assert "10.1.0.3" not in recorded(cluster)
    assert serve(cluster, "c", clusterIP="10.1.0.3").succeeded


def test_earlier_releases_have_no_objects() -> None:
    """Without the gate a Service gets its address, and nothing else is made."""
    cluster = of_release("1.33", feature_gates={"MultiCIDRServiceAllocator": False, "DisableAllocatorDualWrite": False})
    assert serve(cluster, "a").succeeded
    assert send(cluster, "GET", f"{NETWORKING}/ipaddresses").object.get("items", []) == []


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([], "spec.cidrs: Required value: at least one CIDR required"),
        (["10.1.0.0/28", "10.2.0.0/28"], "may specify no more than one IP for each IP family, i.e 192.168.0.0/24"),
        (
            ["10.1.0.1/28"],
            'spec.cidrs[0]: Invalid value: "10.1.0.1/28": must not have bits set beyond the prefix length',
        ),
        (["x"], 'spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
        (["a", "b", "c"], 'spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values'),
        (["010.1.0.0/28"], "must not have leading 0s in IP or prefix length"),
        (["FD00::/64"], 'must be in canonical form ("fd00::/64")'),
    ],
)
def test_ranges_that_are_refused(ranges: list[str], message: str) -> None:
    """As kube-apiserver 1.36 answered."""
    answer = add_range(of_release(controllers=()), "wrong", *ranges)
    assert answer.status == 422
    assert message in answer.object["message"]


@pytest.mark.parametrize(
    ("release", "ranges", "message"),
    [
        ("1.36", ["10.2.0.0/29"], 'spec.cidrs[0]: Invalid value: "10.2.0.0/29": field is immutable'),
        ("1.36", [], "spec.cidrs: Invalid value: []: field is immutable"),
        ("1.36", ["10.1.0.0/29", "10.2.0.0/29"], "may specify no more than one IP for each IP family"),
        ("1.36", ["10.2.0.0/29", "fd00::/64"], 'spec.cidrs[0]: Invalid value: "10.2.0.0/29": field is immutable'),
        ("1.36", ["10.1.0.0/29", "fd00::/64"], ""),
        ("1.33", ["10.1.0.0/29", "fd00::/64"], ""),
    ],
)
def test_changes_of_ranges(release: str, ranges: list[str], message: str) -> None:
    """A range stays; from 1.33.1 on one of the other family may be added."""
    cluster = of_release(release, controllers=())
    add_range(cluster, "more", "10.1.0.0/29")
    answer = send(cluster, "PATCH", f"{NETWORKING}/servicecidrs/more", {"spec": {"cidrs": ranges}}, MERGE)
    assert message in (answer.object.get("message") or "")
    assert answer.status == (422 if message else 200)


PARENT = {"resource": "services", "name": "x", "namespace": "y"}


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        (
            "abc",
            {},
            '[metadata.name: Invalid value: "abc": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        ("10.0.0.2", {}, "spec.parentRef: Required value"),
        ("010.0.0.2", {"parentRef": PARENT}, "must not have leading 0s"),
        ("FD00::1", {"parentRef": PARENT}, 'must be in canonical form ("fd00::1")'),
        ("::ffff:1.2.3.4", {"parentRef": PARENT}, "must not be an IPv4-mapped IPv6 address"),
        ("10.0.0.2", {"parentRef": {}}, "spec.parentRef.resource: Required value, spec.parentRef.name: Required value"),
        ("10.0.0.2", {"parentRef": {**PARENT, "group": "A_"}}, 'spec.parentRef.group: Invalid value: "A_"'),
        ("10.0.0.2", {"parentRef": {**PARENT, "resource": "a/b"}}, "may not contain '/'"),
        ("10.0.0.2", {"parentRef": {**PARENT, "namespace": "x%"}}, "may not contain '%'"),
    ],
)
def test_addresses_that_are_refused(name: str, spec: dict[str, Any], message: str) -> None:
    """As kube-apiserver 1.36 answered."""
    cluster = of_release(controllers=())
    answer = send(cluster, "POST", f"{NETWORKING}/ipaddresses", {"metadata": {"name": name}, "spec": spec})
    assert answer.status == 422
    assert message in answer.object["message"]


def test_the_parent_of_an_address_stays() -> None:
    """The reference of an address cannot be changed."""
    cluster = of_release(controllers=())
    change = {"spec": {"parentRef": {"name": "z"}}}
    answer = send(cluster, "PATCH", f"{NETWORKING}/ipaddresses/10.0.0.1", change, MERGE)
    assert answer.status == 422
    assert answer.object["details"]["causes"][0]["message"].endswith("field is immutable")
