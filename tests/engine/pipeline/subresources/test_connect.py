"""Connections: who may ask, and what a server without nodes answers."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.admission.policies import binding, policy, with_policy

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
PODS = "/api/v1/namespaces/default/pods"


NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
PAIR = {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}
SERVICE = "/api/v1/namespaces/default/services"


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A pod that waits, one on a node with an address, one on a node without, and one on a node that is not there."""
    made = simkit.Cluster(seed=1)
    made.create({**NODE, "status": {"addresses": [{"type": "InternalIP", "address": "10.9.8.7"}]}})
    made.create({**NODE, "metadata": {"name": "n2"}})
    made.create({**NODE, "metadata": {"name": "n3"}, "status": {"addresses": [{"type": "Hostname", "address": "h3"}]}})
    made.create({**NODE, "metadata": {"name": "n5", "labels": {"kubernetes.io/hostname": "h5"}}})
    made.create(POD)
    for name, node in (("q", "n1"), ("r", "n2"), ("s", "n3"), ("gone", "n4")):
        made.create({**POD, "metadata": {"name": name}, "spec": {**POD["spec"], "nodeName": node}})
    init = {"initContainers": [{"name": "first", "image": "i"}]}
    made.create({**POD, "metadata": {"name": "two"}, "spec": {**PAIR, **init, "nodeName": "n1"}})
    return made


def told(cluster: simkit.Cluster, method: str, path: str, upgrade: bool = False) -> tuple[int, str]:
    headers = {"upgrade": "SPDY/3.1"} if upgrade else {}
    response = cluster.perform(Request.of(method, path, headers=headers))
    return response.status, str((response.object or {}).get("message", ""))


@pytest.mark.parametrize(
    ("method", "path", "upgrade", "code", "words"),
    [
        ("GET", f"{PODS}/none/log", False, 404, "not found"),
        ("GET", f"{PODS}/q/log", False, 500, "dial tcp 10.9.8.7:10250"),
        ("POST", f"{PODS}/q/exec?command=id", False, 400, "Upgrade request required"),
        ("POST", f"{PODS}/q/exec?command=id", True, 500, "error dialing backend"),
        ("POST", f"{PODS}/p/exec?command=id", True, 400, "pod p does not have a host assigned"),
        ("GET", f"{PODS}/q/portforward", False, 400, "Upgrade request required"),
        ("GET", "/api/v1/nodes/n1/proxy/metrics", False, 503, "error trying to reach service: dial tcp 10.9.8.7"),
        ("GET", "/api/v1/nodes/n3/proxy/metrics", False, 503, "lookup h3: no such host"),
        ("GET", "/api/v1/nodes/n5/proxy/metrics", False, 500, "no preferred addresses found"),
        ("GET", f"{SERVICE}/kubernetes/proxy", False, 503, "no endpoints available"),
    ],
)
def test_answers(cluster: simkit.Cluster, method: str, path: str, upgrade: bool, code: int, words: str) -> None:
    """Each connection fails where kube-apiserver's would that reaches no node."""
    status, message = told(cluster, method, path, upgrade)
    assert (status, words in message) == (code, True)


NO_ADDRESS = (500, "no preferred addresses found; known addresses: []")


@pytest.mark.parametrize("part", ["log", "exec", "attach"])
def test_container_is_checked_before_the_node_and_the_upgrade(cluster: simkit.Cluster, part: str) -> None:
    """A container must be one of the pod's, and named where there are several."""
    nope = (400, "container nope is not valid for pod gone")
    assert told(cluster, "GET", f"{PODS}/gone/{part}?container=nope") == nope
    choice = "a container name must be specified for pod two, choose one of: [first c d]"
    assert told(cluster, "GET", f"{PODS}/two/{part}") == (400, choice)
    assert told(cluster, "GET", f"{PODS}/gone/{part}") == (
        404,
        'pods "n4" not found',
    )  # the 404 names the resource of the request
    assert told(cluster, "GET", f"{PODS}/r/{part}") == NO_ADDRESS


def test_log_of_a_pod_that_waits_is_empty(cluster: simkit.Cluster) -> None:
    """A pod on no node has no log: 204 without a body. Its containers are looked at all the same."""
    response = cluster.perform(Request.of("GET", f"{PODS}/p/log"))
    assert (response.status, response.body) == (204, b"")
    assert told(cluster, "GET", f"{PODS}/p/log?container=x")[0] == 400


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=0", "limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=0", "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            "sinceSeconds=1&sinceTime=2024-05-01T12:00:00Z",
            "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
    ],
)
def test_log_options_that_mean_nothing(cluster: simkit.Cluster, query: str, errors: str) -> None:
    """They are told before the pod is looked for."""
    expected = (422, f'PodLogOptions "none" is invalid: {errors}')
    assert told(cluster, "GET", f"{PODS}/none/log?{query}") == expected


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("none/log?tailLines=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("none/log?limitBytes=9223372036854775808", 'parsing "9223372036854775808": value out of range'),
        ("none/log?sinceTime=yesterday", 'parsing time "yesterday" as'),
        ("none/portforward?ports=80&ports=2147483648", 'parsing "2147483648": value out of range'),
        ("none/exec?dryRun=All", "dryRun is not supported"),
    ],
)
def test_options_that_cannot_be_read(cluster: simkit.Cluster, path: str, why: str) -> None:
    """They are 400, with Go's words."""
    status, message = told(cluster, "GET", f"{PODS}/{path}")
    assert (status, why in message) == (400, True)


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/api/v1/nodes/here/proxy", 400, "address not allowed"),
        ("/api/v1/nodes/here:10250/proxy", 400, "address not allowed"),
        (f"{PODS}/p/log", 500, "dial tcp 127.0.0.1:10250: connect: connection refused"),
    ],
)
def test_node_at_a_loopback_address(path: str, code: int, words: str) -> None:
    """It is not proxied to, through no port at all; a log is asked for, and nobody listens."""
    made = simkit.Cluster(seed=1)
    status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    made.create({**NODE, "metadata": {"name": "here"}, "status": status})
    made.create({**POD, "spec": {**POD["spec"], "nodeName": "here"}})
    got, message = told(made, "GET", path)
    assert (got, words in message) == (code, True)


def test_proxy_to_a_pod_on_a_simulated_node_is_refused() -> None:
    """The host is there, and nothing listens at the port. On other nodes there is no way to the host."""
    made = simkit.Cluster(seed=1)
    made.add_nodes(1)
    made.create(NODE)
    simulated = next(node["metadata"]["name"] for node in made.list("nodes") if node["metadata"]["name"] != "n1")
    for name, node, failure in (("a", simulated, "connection refused"), ("b", "n1", "no route to host")):
        made.create({**POD, "metadata": {"name": name}, "spec": {**POD["spec"], "nodeName": node}})
        status = {"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}}
        patch = Request.of("PATCH", f"{PODS}/{name}/status", status, content_type="application/merge-patch+json")
        assert made.perform(patch).status == 200
        expected = f"error trying to reach service: dial tcp 10.9.9.9:81: connect: {failure}"
        assert told(made, "GET", f"{PODS}/{name}:81/proxy") == (503, expected)


def test_requests_to_the_kubelet(cluster: simkit.Cluster) -> None:
    """The failure names the address, with the container and the options."""
    status, message = told(cluster, "GET", f"{PODS}/two/log?container=d&tailLines=3&follow=true&previous=false")
    asked = "https://10.9.8.7:10250/containerLogs/default/two/d?follow=true&tailLines=3"
    assert (status, message) == (500, f'Get "{asked}": dial tcp 10.9.8.7:10250: connect: no route to host')


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        (f"{PODS}/q/proxy", 400, "address not allowed"),
        (f"{PODS}/https:q:80/proxy/x", 400, "address not allowed"),
        (f"{PODS}/ftp:q:80/proxy", 400, 'invalid pod request "ftp:q:80"'),
        (f"{PODS}/a:b:c:d/proxy", 400, 'invalid pod request "a:b:c:d"'),
        (f"{PODS}/none:80/proxy", 404, 'pods "none" not found'),
        ("/api/v1/nodes/n2:80/proxy", *NO_ADDRESS),
        ("/api/v1/nodes/none:80/proxy", 404, 'nodes "none" not found'),
        ("/api/v1/nodes/http:n1:1/proxy", 503, "error trying to reach service: dial tcp 10.9.8.7:1: connect"),
        ("/api/v1/nodes/a:b:c/proxy", 400, 'invalid node request "a:b:c"'),
        (f"{SERVICE}/a:b:c/proxy", 400, 'invalid service request "a:b:c"'),
        (f"{SERVICE}/none/proxy", 404, 'services "none" not found'),
        (f"{SERVICE}/none:80/proxy", 404, 'services "none" not found'),
        (f"{SERVICE}/kubernetes:80/proxy", 503, 'no service port 80 found for service "kubernetes"'),
        (f"{SERVICE}/https:kubernetes:x/proxy", 503, 'no endpoints available for service "https:kubernetes:x"'),
    ],
)
def test_proxy_to_scheme_name_and_port(cluster: simkit.Cluster, path: str, code: int, words: str) -> None:
    """Pods, nodes and services are named alone, with a port, or with a scheme and a port."""
    status, message = told(cluster, "GET", path)
    assert (status, words in message) == (code, True)


def test_proxy_reaches_for_the_pod_behind_a_service() -> None:
    """The port is found by name or by number; an address that is no pod's is passed over."""
    cluster = simkit.Cluster(seed=1)
    port = {"name": "web", "port": 80, "targetPort": 8080}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [port]}})
    cluster.create(POD)
    status = {"status": {"podIP": "10.1.1.1", "podIPs": [{"ip": "10.1.1.1"}]}}
    merge = "application/merge-patch+json"
    assert cluster.perform(Request.of("PATCH", f"{PODS}/p/status", status, content_type=merge)).succeeded
    target = {"kind": "Pod", "name": "p", "namespace": "default"}
    addresses = [{"ip": "10.2.2.2"}, {"ip": "10.1.1.1", "targetRef": target}]
    subset = {"addresses": addresses, "ports": [{"name": "web", "port": 8080}]}
    cluster.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "s"}, "subsets": [subset]})
    for name in ("s:web", "s:80", "https:s:web"):
        code, message = told(cluster, "GET", f"{SERVICE}/{name}/proxy/x")
        assert (code, "dial tcp 10.1.1.1:8080" in message) == (503, True)
    assert 'for service "s"' in told(cluster, "GET", f"{SERVICE}/s/proxy")[1]
    assert "dial tcp 10.1.1.1:" in told(cluster, "GET", f"{PODS}/p:81/proxy")[1]


def test_admission_comes_next() -> None:
    """Admission has a say before the pod is looked for, and none where only a log is read."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/*"]}
    cluster = with_policy(policy({"expression": "false", "reason": "Forbidden"}, rule=rule), binding())
    paths = [f"{PODS}/none/{part}" for part in ("exec", "proxy", "log")]
    assert [cluster.perform(Request.of("GET", path)).status for path in paths] == [403, 403, 404]


def test_authorization_comes_first(cluster: simkit.Cluster) -> None:
    """A user without the permission to connect is refused, whether or not the pod exists."""
    ann = Identity("ann", ("system:authenticated",))
    assert cluster.perform(Request.of("POST", f"{PODS}/none/exec"), identity=ann).status == 403


def test_ports_are_unsigned_and_may_stand_in_one_parameter(cluster: simkit.Cluster) -> None:
    """They are read before the pod is looked up."""
    words = 'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax'
    assert told(cluster, "GET", f"{PODS}/none/portforward?ports=80,x") == (400, words)
    assert told(cluster, "GET", f"{PODS}/q/portforward?ports=80,81") == (400, "Upgrade request required")
    beyond = 'cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range'
    assert told(cluster, "GET", f"{PODS}/q/portforward?ports=65536") == (400, beyond)


def test_empty_log_has_no_media_type(cluster: simkit.Cluster) -> None:
    """A pod that is on no node has an empty log: 204."""
    response = cluster.perform(Request.of("GET", f"{PODS}/p/log"))
    assert (response.status, response.body, response.content_type) == (204, b"", "")
