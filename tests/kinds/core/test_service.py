"""Services: what is filled in, what goes with a type, warnings, cells."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.parts.service.cluster_ips import (
    drop_type_dependent_fields,
    normalize_cluster_ips,
    patch_allocated_values,
)
from simkit.kinds.parts.validation.ip import address, family, ip_warnings, network
from simkit.meta.name_validation import port_name
from simkit.meta.objects import Draft
from tests.kinds.test_builtin_kinds import made, strategy
from tests.releases import BASE


def service(**spec: Any) -> Draft:
    return made("v1/Service", {"spec": spec})


def test_defaults() -> None:
    """Type, affinity, policies, protocol and target are filled in; sticky sessions get their longest time."""
    spec = service(sessionAffinity="ClientIP", type="LoadBalancer")["spec"]
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert spec["externalTrafficPolicy"] == spec["internalTrafficPolicy"] == "Cluster"
    assert spec["allocateLoadBalancerNodePorts"] is True
    assert "internalTrafficPolicy" not in service(type="ExternalName")["spec"]


def test_ports_keep_their_numbers_by_name() -> None:
    """A port that is written without its number keeps it, unless another port took it."""
    ports = [{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30002}]
    live = service(type="NodePort", ports=ports)
    draft = service(type="NodePort", ports=[{"name": "a", "port": 9}, {"name": "c", "port": 3, "nodePort": 30002}])
    patch_allocated_values(draft, live)
    assert [port["nodePort"] for port in draft["spec"]["ports"]] == [30001, 30002]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (("a", ["a"]), ("a", []), ("a", ["a"])),
        (("a", ["a"]), ("", ["a"]), ("", [])),
        (("a", ["a"]), ("b", ["a"]), ("b", ["b"])),
        (("a", ["a"]), ("b", ["c"]), ("b", ["c"])),
        (None, ("b", []), ("b", ["b"])),
        (None, ("", []), ("", [])),
    ],
)
def test_one_address_and_several(old: Any, new: Any, expected: Any) -> None:
    """Old clients write one address, newer ones several: what they mean is found out."""
    live = None if old is None else {"spec": {"clusterIP": old[0], "clusterIPs": old[1]}}
    draft: Draft = {"spec": {"clusterIP": new[0], "clusterIPs": new[1]}}
    normalize_cluster_ips(draft, live)
    assert (draft["spec"].get("clusterIP", ""), draft["spec"].get("clusterIPs", [])) == expected


def test_fields_that_the_client_sets_are_not_dropped() -> None:
    """Fields of the old type go only where the client left them as they were."""
    live = service(type="LoadBalancer", loadBalancerClass="example.com/a", externalTrafficPolicy="Local")
    draft = service(type="ClusterIP", loadBalancerClass="example.com/b")
    draft["spec"]["externalTrafficPolicy"] = "Local"
    drop_type_dependent_fields(draft, live)
    assert draft["spec"]["loadBalancerClass"] == "example.com/b"
    assert "externalTrafficPolicy" not in draft["spec"]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("10.0.0.1", ""),
        ("010.0.0.1", "IPv4 field has octet with leading zero"),
        ("fd00::0001", 'IPv6 address "fd00::0001" is not in RFC 5952 canonical format ("fd00::1")'),
        ("x", "unable to parse IP"),
    ],
)
def test_odd_addresses(text: str, warning: str) -> None:
    """Addresses that other software may read differently are told of."""
    found = list(ip_warnings(BASE, "spec.externalIPs[0]", text))
    assert [warning in one for one in found] == ([True] if warning else [])


def test_warnings() -> None:
    """Old annotations, and fields that do nothing for the type."""
    obj = service(type="ExternalName", externalIPs=["10.0.0.1"], externalName="a")
    obj["metadata"]["annotations"] = {"service.kubernetes.io/topology-aware-hints": "auto"}
    assert list(strategy("v1/Service").warnings(BASE, obj, None)) == [
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, "
        "please use service.kubernetes.io/topology-mode instead",
        'spec.externalIPs is ignored when spec.type is "ExternalName"',
    ]


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"externalIPs": ["192.0.2.9"]}, {}, ["ClusterIP", "<none>", "192.0.2.9", "80/TCP"]),
        (
            {"type": "NodePort", "clusterIPs": ["10.96.0.9"], "ports": [{"port": 80, "nodePort": 30001}]},
            {},
            ["NodePort", "10.96.0.9", "<none>", "80:30001/TCP"],
        ),
        ({"type": "LoadBalancer"}, {}, ["LoadBalancer", "<none>", "<pending>", "80/TCP"]),
        (
            {"type": "LoadBalancer"},
            {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "192.0.2.1"}]}},
            ["LoadBalancer", "<none>", "192.0.2.1,b", "80/TCP"],
        ),
        ({"type": "ExternalName", "externalName": "a.b", "ports": []}, {}, ["ExternalName", "<none>", "a.b", "<none>"]),
    ],
)
def test_cells(spec: Any, status: Any, cells: list[str]) -> None:
    """Type, address, where it is reached from outside, and ports."""
    row = strategy("v1/Service").print_row
    assert row is not None
    obj = {**service(**spec), "status": status}
    assert list(row(BASE, obj, 0))[1:5] == cells


def test_addresses_and_ranges() -> None:
    """Leading zeros are decimal; zones, lengths out of range and bare addresses are no ranges."""
    assert str(address("001.2.3.4")) == "1.2.3.4"
    assert address("fe80::1%eth0") is None
    assert family("fd00::1") == "IPv6"
    assert str(network("10.1.2.3/8")) == "10.0.0.0/8"
    assert [network(text) for text in ("10.0.0.0/33", "10.0.0.0", "x/8", "10.0.0.0/x")] == [None] * 4


@pytest.mark.parametrize(
    ("name", "count"), [("http", 0), ("", 2), ("a" * 16, 1), ("80", 1), ("a--b", 1), ("-a", 1), ("A", 2)]
)
def test_names_of_ports(name: str, count: int) -> None:
    """Everything that is wrong with the name of a port is told."""
    assert len(port_name(name)) == count


def test_load_balancers_are_reached_at_load_balancers_only() -> None:
    """Points of access need a type that has them, and a known mode for each address."""
    status: Draft = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Odd"}]}}
    check = (strategy("v1/Service").subresources or {})["status"].validate
    found = {
        kind: [error.told(BASE) for error in check(BASE, {**service(type=kind), "status": status}, None)]
        for kind in _TYPES
    }
    assert found["ClusterIP"] == [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]
    assert found["LoadBalancer"] == [
        'status.loadBalancer.ingress[0].ipMode: Unsupported value: "Odd": supported values: "Proxy", "VIP"'
    ]


_TYPES = ("ClusterIP", "LoadBalancer")


def test_ranges_that_others_read_differently() -> None:
    """Leading zeros and long forms of the newer family are worth a warning."""
    ranges = ["10.0.0.0/8", "010.0.0.0/8", "2001:db8::/64", "2001:0db8::/64"]
    told = list(
        strategy("v1/Service").warnings(BASE, service(type="LoadBalancer", loadBalancerSourceRanges=ranges), None)
    )
    assert [text.partition(":")[0] for text in told] == [
        "spec.loadBalancerSourceRanges[1]",
        "spec.loadBalancerSourceRanges[3]",
    ]
