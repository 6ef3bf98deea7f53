"""Registered group versions, with another simkit server behind them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.union import RequestHeaders
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.clock import SystemClock
from simkit.meta.identity import AUTHENTICATED, Identity
from simkit.meta.message import Request, Response
from tests.engine.egress.service import serving

THINGS = "/apis/example.com/v1/namespaces/default/things"
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


@dataclass
class Pair:
    """A cluster in front and the one behind it."""

    front: Cluster
    back: Cluster
    server: Server
    authority: bytes

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> Response:
        identity = more.pop("identity", None)
        return self.front.perform(Request.of(method, path, body, **more), identity=identity)

    def register(self, **spec: Any) -> None:
        """Register the group version at the server behind and let its availability be found out."""
        service = {"namespace": "default", "name": "kubernetes"}
        trust = {"caBundle": base64.b64encode(self.authority).decode()}
        priorities = {"groupPriorityMinimum": 500, "versionPriority": 10}
        row = {"group": "example.com", "version": "v1", **priorities, **trust, "service": service, **spec}
        wanted = {name: value for name, value in row.items() if value is not None}
        header = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
        self.front.create({**header, "metadata": {"name": "v1.example.com"}, "spec": wanted})
        self.front.settle()

    def condition(self) -> tuple[str, str, str]:
        """Status, reason and message of the condition Available."""
        status = self.front.get("apiservice", "v1.example.com")["status"]["conditions"][0]
        return status["status"], status["reason"], status["message"]


@pytest.fixture(scope="module")
def backing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster, Server, bytes]]:
    """A cluster in front, and a served one with a custom resource that believes it."""
    front = Cluster(seed=1)
    proxied = RequestHeaders(front.proxy_authority, SystemClock())
    back = Cluster(options=Options(seed=2, authenticators=(proxied,)))
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "things", "kind": "Thing"}
    back.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        }
    )
    back.settle()
    folder: Path = tmp_path_factory.mktemp("certificates")
    serving = ServingOptions(certificate_folder=folder, proxy_authorities=front.proxy_authority)
    with Server(APIServerHandler(back.engine), serving) as server:
        yield front, back, server, (folder / "ca.crt").read_bytes()


@pytest.fixture
def pair(backing: tuple[Cluster, Cluster, Server, bytes]) -> Pair:
    """Forks in front of the served cluster, with their doors open."""
    front, back, server, authority = backing
    fork = front.fork()
    fork.egress.allowed = True
    fork.egress.services["default/kubernetes"] = server.url
    return Pair(fork, back, server, authority)


def thing(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"x": 1}}


def test_requests_reach_the_server_behind(pair: Pair) -> None:
    """Writes and reads are answered there, and nothing is kept in front."""
    pair.register()
    assert pair.condition() == ("True", "Passed", "all checks passed")
    assert pair.send("POST", THINGS, thing("one")).status == 201
    assert pair.send("GET", f"{THINGS}/one").object["spec"] == {"x": 1}
    listed = pair.send("GET", f"{THINGS}?labelSelector=a%3Db")
    assert listed.object["items"] == []
    assert pair.send("DELETE", f"{THINGS}/one").status == 200
    assert pair.send("GET", f"{THINGS}/one").object["reason"] == "NotFound"


def test_the_server_behind_learns_who_asks(pair: Pair) -> None:
    """Rights are judged in front and behind; the identity crosses in headers, whatever the client sends itself."""
    pair.register()
    ann = Identity("ann", ("devs", AUTHENTICATED), extra={"example.com/k": ("v",)})
    refused = pair.send("GET", THINGS, identity=ann).object["message"]
    assert refused.startswith('things.example.com is forbidden: User "ann" cannot list')
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "things"}}
    rules = [{"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]}]
    pair.front.create({**role, "rules": rules})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "things"}
    subject = {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}
    pair.front.create({**role, "kind": "ClusterRoleBinding", "roleRef": ref, "subjects": [subject]})
    forged = {"x-remote-user": "root", "x-remote-group": "system:masters", "authorization": "Bearer x"}
    behind = pair.send("GET", THINGS, identity=ann, headers=forged)
    assert (behind.status, 'User "ann" cannot list' in behind.object["message"]) == (403, True)


def test_watches_are_handed_on_as_they_come(pair: Pair) -> None:
    """Frames arrive while the watch is open, and its end ends it behind too."""
    pair.register()
    watch = pair.send("GET", f"{THINGS}?watch=1&resourceVersion={pair.back.engine.store.revision}")
    assert watch.status == 200
    pair.back.create({**thing("seen"), "metadata": {"name": "seen", "namespace": "default"}})
    assert watch.stream.wait(5)
    assert b'"name":"seen"' in b"".join(watch.stream.poll())
    watch.stream.close()
    assert watch.stream.closed
    pair.back.delete("thing", "seen", "default")


def test_discovery_and_descriptions_are_merged(pair: Pair) -> None:
    """The group stands in its place; resources, and OpenAPI documents of both versions, come from behind."""
    pair.register(groupPriorityMinimum=17_790)
    groups = [each["name"] for each in pair.send("GET", "/apis").object["groups"]]
    assert groups.index("example.com") == groups.index("apps") + 1
    assert pair.send("GET", "/apis/example.com").object["preferredVersion"]["version"] == "v1"
    assert pair.send("GET", "/apis/example.com/v1").object["resources"][0]["name"] == "things"
    items = pair.send("GET", "/apis", headers=AGGREGATED).object["items"]
    version = next(each for each in items if each["metadata"]["name"] == "example.com")["versions"][0]
    assert (version["freshness"], version["resources"][0]["resource"]) == ("Current", "things")
    paths = pair.send("GET", "/openapi/v3").object["paths"]
    assert paths["apis/example.com/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/example.com/v1?hash=")
    assert "paths" in pair.send("GET", "/openapi/v3/apis/example.com/v1").object
    swagger = pair.send("GET", "/openapi/v2").object["paths"]
    assert "/apis/example.com/v1/namespaces/{namespace}/things" in swagger
    assert "/api/v1/namespaces/{namespace}/pods" in swagger


def test_a_server_that_cannot_be_verified_is_not_available(pair: Pair) -> None:
    """Without the bundle the certificate is not trusted; with insecureSkipTLSVerify nobody looks."""
    pair.register(caBundle=None)
    status, reason, message = pair.condition()
    assert (status, reason) == ("False", "FailedDiscoveryCheck")
    assert "x509: certificate signed by unknown authority" in message
    answer = pair.send("GET", THINGS)
    assert (answer.status, answer.body, answer.content_type) == (503, b"service unavailable\n", _PLAIN)
    pair.front.delete("apiservice", "v1.example.com")
    pair.register(caBundle=None, insecureSkipTLSVerify=True)
    assert pair.send("GET", THINGS).status == 200


_PLAIN = "text/plain; charset=utf-8"


def test_the_others_go_on_when_one_fails(pair: Pair) -> None:
    """A server behind that is gone is 503, discovery still lists its group, and all else is answered."""
    pair.register()
    pair.front.egress.services["default/kubernetes"] = "127.0.0.1:1"
    answer = pair.send("GET", THINGS)
    assert (answer.status, b"error trying to reach service: dial tcp" in answer.body) == (503, True)
    pair.front.settle()
    assert pair.condition()[:2] == ("False", "FailedDiscoveryCheck")
    assert "example.com" in [each["name"] for each in pair.send("GET", "/apis").object["groups"]]
    items = pair.send("GET", "/apis", headers=AGGREGATED).object["items"]
    stale = next(each for each in items if each["metadata"]["name"] == "example.com")["versions"][0]
    assert stale == {"version": "v1", "freshness": "Stale"}
    assert pair.send("GET", "/api/v1/namespaces/default").status == 200


def test_a_fork_opens_no_connection(pair: Pair) -> None:
    """A fork answers 503 and tells what it would have asked."""
    pair.register()
    fork = pair.front.fork()
    assert fork.perform(Request.of("GET", THINGS)).status == 503
    fork.settle()
    assert fork.get("apiservice", "v1.example.com")["status"]["conditions"][0]["status"] == "True"
    calls = fork.uncalled_webhooks()
    assert list(calls.loc[0, ["kind", "name", "about"]]) == ["aggregation", "v1.example.com", f"GET {THINGS}"]


def test_requests_for_others_leave_the_event_loop(pair: Pair) -> None:
    """The HTTP floor is told which requests may wait for another server."""
    handler = APIServerHandler(pair.front.engine)
    assert not handler.execution_mode(Request.of("GET", THINGS)).waits
    pair.register()
    assert handler.execution_mode(Request.of("GET", THINGS)).waits
    assert not handler.execution_mode(Request.of("GET", "/api/v1/pods")).waits


def test_a_served_front_streams_too(pair: Pair, tmp_path: Path) -> None:
    """Over HTTP the answer of the server behind reaches the client, a watch piece by piece."""
    import http.client

    pair.register()
    pair.back.create({**thing("far"), "metadata": {"name": "far", "namespace": "default"}})
    everybody = {"kind": "Group", "name": "system:unauthenticated", "apiGroup": "rbac.authorization.k8s.io"}
    for cluster in (pair.front, pair.back):
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        header = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
        cluster.create({**header, "metadata": {"name": "open"}, "roleRef": ref, "subjects": [everybody]})
    plain = ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path)
    with Server(APIServerHandler(pair.front.engine), plain) as server:
        assert server.insecure_url is not None
        connection = http.client.HTTPConnection(server.insecure_url.removeprefix("http://"), timeout=10)
        connection.request("GET", f"{THINGS}?watch=1")
        assert b'"name":"far"' in connection.getresponse().readline()
        connection.close()
    pair.back.delete("clusterrolebinding", "open")


GARBAGE: list[Any] = [
    b"\xff not json",
    b"[" * 100_000,
    [],
    {"resources": "x", "paths": [], "definitions": 7},
    {"resources": [{"name": 7}], "paths": {"apis/example.com/v1": "x"}, "definitions": {"a": "b"}},
    {
        "resources": [{"name": "things", "kind": "Thing", "verbs": "all"}],
        "paths": {"apis/example.com/v1": {"serverRelativeURL": 5}, "/apis/example.com/v1/": {"get": [1]}},
        "definitions": {"a": {"type": 5, "properties": [], "required": "x", "maximum": "y", "maxLength": 2**62 * 1.5}},
    },
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_about_itself_spoils_nothing_else(tmp_path: Path, garbage: Any) -> None:
    """Whatever a server behind says of its resources and types, discovery and descriptions of all else are answered."""
    with serving(tmp_path, lambda *_: (200, garbage), names=("s.default.svc",)) as service:
        front = Cluster(seed=1)
        front.egress.services["default/s"] = service.url.removeprefix("https://")
        front.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 443}]}}
        )
        bundle = base64.b64encode(service.authority.certificate_pem()).decode()
        row = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 500, "versionPriority": 10}
        spec = {**row, "caBundle": bundle, "service": {"namespace": "default", "name": "s"}}
        header = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
        front.create({**header, "metadata": {"name": "v1.example.com"}, "spec": spec})
        front.settle()
        assert front.get("apiservice", "v1.example.com")["status"]["conditions"][0]["status"] == "True"
        for path, headers in (
            ("/apis", AGGREGATED),
            ("/apis", {}),
            ("/openapi/v3", {}),
            ("/openapi/v2", {}),
            ("/openapi/v2", {"accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}),
        ):
            answer = front.perform(Request.of("GET", path, headers=headers))
            assert (answer.status, len(answer.body) > 1000) == (200, True)
        found = {
            each["metadata"]["name"]: each
            for each in front.perform(Request.of("GET", "/apis", headers=AGGREGATED)).object["items"]
        }
    assert [each["freshness"] for each in found["example.com"]["versions"]] == ["Stale"]
