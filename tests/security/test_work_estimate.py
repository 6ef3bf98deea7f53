"""Requests that may take long leave the event loop, judged before the work by cheap measures."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.engine.pipeline.representation import bodies
from simkit.engine.pipeline.representation.bodies import parse_yaml
from simkit.engine.pipeline.work_estimate import takes_long
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object
from tests.engine.controllers.worlds import obj
from tests.security.attacks import MAPS, TABLE, Attack, attacks, preparation
from tests.security.prices import counted

TOKENS = StaticTokens({"root": Identity("root", (MASTERS,)), "ann": Identity("ann")})
PODS = "/api/v1/namespaces/default/pods"
POD_RESOURCE = GroupVersionResource("", "v1", "pods")
BRIEF = {"YAML, aliases", "job of a great many pods"}
"""Attacks that are refused, or carried out, in some milliseconds."""


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A cluster with what the attacks are about, in which each kind was asked for before."""
    made = Cluster(options=Options(seed=1, clock=SimulatedClock(), authenticators=(TOKENS,)))
    for path, prepared in preparation():
        assert made.perform(Request.of("POST", path, prepared)).status == 201
    for number in range(30):
        made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m-{number}"}})
    for resource in made.engine.catalogue.resources():
        forms = ("", "protobuf", "yaml", "Table")
        made.engine.met |= {(resource.gvr, verb, "") for verb in resource.verbs}
        made.engine.met_forms |= {(resource.gvr, form) for form in forms}
    return made


def as_request(attack: Attack) -> Request:
    """The attack as it reaches the handler chain."""
    headers = {"content-type": "application/json", **attack.headers} if attack.body else attack.headers
    size = len(attack.path) + sum(len(name) + len(value) for name, value in headers.items())
    return replace(Request.of(attack.method, attack.path, attack.body or None, headers=headers), head_size=size)


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/api", "application/vnd.kubernetes.protobuf"),
        ("/.well-known/openid-configuration", "*/*"),
        (f"{MAPS}/m-1", "application/vnd.kubernetes.protobuf"),
        (f"{MAPS}/m-1", "application/yaml"),
        (f"{MAPS}/m-1/nothing", "*/*"),
        ("/api/v1/namespaces/default/pods/a/log", "*/*"),
    ],
)
def test_whoever_comes_first_leaves_the_loop(path: str, accept: str) -> None:
    """The first request of each form and subresource loads modules, however small it is."""
    fresh = Cluster(options=Options(seed=1, clock=SimulatedClock()))
    fresh.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m-1"}})
    fresh.perform(Request.of("GET", f"{MAPS}/m-1"))
    assert not takes_long(fresh.engine, Request.of("GET", f"{MAPS}/m-1"))
    assert takes_long(fresh.engine, Request.of("GET", path, headers={"accept": accept}))


@pytest.mark.slow
@pytest.mark.parametrize("name", attacks())
def test_attacks_leave_the_loop(cluster: Cluster, name: str) -> None:
    """Each of them is estimated to take long; what is not is little work."""
    request = as_request(attacks()[name])
    assert takes_long(cluster.engine, request) != (name in BRIEF)
    if name in BRIEF:
        with cluster.what_if() as trial:
            trial.perform(request)
            with counted() as work:
                trial.perform(request)
            assert work.lines < 200_000


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("GET", "/version", b"", {}),
        ("GET", "/livez", b"", {}),
        ("GET", f"{MAPS}/m-1", b"", {}),
        ("GET", f"{MAPS}/m-1", b"", {"accept": TABLE}),
        ("GET", "/api/v1/namespaces", b"", {}),
        ("POST", MAPS, b'{"metadata":{"name":"new"}}', {"content-type": "application/json"}),
        ("PUT", f"{MAPS}/m-1", b'{"metadata":{"name":"m-1"}}', {}),
        ("PATCH", f"{MAPS}/m-1", b'{"data":{}}', {"content-type": "application/merge-patch+json"}),
        ("DELETE", f"{MAPS}/m-2", b"", {}),
        ("GET", "/api/v1/nonsense", b"", {}),
    ],
)
def test_common_requests_stay_in_it(
    cluster: Cluster, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    """Small requests about small objects are answered where they arrive."""
    assert not takes_long(cluster.engine, Request.of(method, path, body, headers=headers))


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", f"{MAPS}/large"), ("PUT", f"{MAPS}/large"), ("PATCH", f"{MAPS}/large"), ("DELETE", MAPS), ("GET", MAPS)],
)
def test_large_objects_and_collections_leave_it(cluster: Cluster, method: str, path: str) -> None:
    """However small the request is."""
    assert takes_long(cluster.engine, Request.of(method, path))


def test_a_first_request_leaves_it() -> None:
    """The first request for a kind loads its tables, which may take long."""
    fresh = Cluster(seed=1)
    request = Request.of("GET", "/api/v1/limitranges")
    assert takes_long(fresh.engine, request)
    fresh.perform(request)
    assert not takes_long(fresh.engine, request)


def _quota(number: int) -> Object:
    return obj("v1", "ResourceQuota", f"q{number}", spec={"hard": {"pods": "9", "count/configmaps": "9"}})


def _range(number: int) -> Object:
    limits = [{"type": "Container", "default": {"cpu": "1"}}]
    return obj("v1", "LimitRange", f"l{number}", spec={"limits": limits})


def _budget(number: int) -> Object:
    return obj("policy/v1", "PodDisruptionBudget", f"b{number}", spec={"selector": {"matchLabels": {"a": "b"}}})


def _pod(number: int) -> Object:
    return obj("v1", "Pod", f"p{number}", spec={"containers": [{"name": "c", "image": "i"}]})


def _class(group: str, kind: str, **parts: Any) -> Callable[[int], Object]:
    return lambda number: obj(f"{group}/v1", kind, f"class-{number}", **parts)


CLAIM = b'{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}'
CONSULTED: dict[str, tuple[Callable[[int], Object], int, str, str, bytes]] = {
    "quotas": (_quota, 5, "POST", MAPS, b'{"metadata":{"name":"new"}}'),
    "limit ranges": (_range, 5, "POST", PODS, b'{"metadata":{"name":"new"}}'),
    "priority classes": (_class("scheduling.k8s.io", "PriorityClass", value=1), 110, "POST", PODS, b"{}"),
    "storage classes": (
        _class("storage.k8s.io", "StorageClass", provisioner="a/b"),
        110,
        "POST",
        "/api/v1/namespaces/default/persistentvolumeclaims",
        CLAIM,
    ),
    "ingress classes": (
        _class("networking.k8s.io", "IngressClass", spec={"controller": "a/b"}),
        110,
        "POST",
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        b'{"metadata":{"name":"new"}}',
    ),
    "pods of a namespace": (_pod, 110, "PATCH", "/api/v1/namespaces/default", b"{}"),
    "disruption budgets": (_budget, 110, "POST", f"{PODS}/p/eviction", b"{}"),
}


@pytest.mark.parametrize("name", CONSULTED)
def test_writes_that_are_checked_against_many_objects_leave_it(cluster: Cluster, name: str) -> None:
    """300 quotas kept the loop for a second with each object; all that admission reads counts, not the request alone."""
    make, count, method, path, body = CONSULTED[name]
    request = Request.of(method, path, body, content_type="application/merge-patch+json" if method == "PATCH" else "")
    with cluster.what_if() as trial:
        trial.engine.met |= cluster.engine.met | {(POD_RESOURCE, "create", "eviction")}
        assert not takes_long(trial.engine, request)
        for number in range(count):
            trial.create(make(number))
        assert takes_long(trial.engine, request)


@pytest.fixture
def server(cluster: Cluster, tmp_path: Path) -> Iterator[Server]:
    """The cluster, served."""
    serving = ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path)
    with Server(APIServerHandler(cluster.engine), serving) as running:
        yield running


def asked(server: Server, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    """The status of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", int(str(server.insecure_url).rpartition(":")[2]), timeout=60)
    try:
        connection.request(method, path, body, {"authorization": "Bearer root", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_work_is_cut_off(server: Server, cluster: Cluster) -> None:
    """A request that takes longer than it asked for is 504, and its work ends soon after."""
    heavy = b"data:\n" + b"".join(b"  k%d: [a, b, c]\n" % number for number in range(100_000))
    before = cluster.engine.store.revision
    status = asked(server, "POST", f"{MAPS}?timeout=200ms", heavy, **{"content-type": "application/yaml"})
    assert status == 504
    assert asked(server, "POST", f"{MAPS}?dryRun=All", b'{"metadata":{"name":"a"}}' + b" " * 20_000) == 201
    assert cluster.engine.store.revision == before


def test_others_are_served_meanwhile(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy requests wait here until health was told: it does not wait for them."""
    told, heavy = threading.Event(), b"data:\n" + b"".join(b"  k%d: [a, b, c]\n" % number for number in range(5_000))
    monkeypatch.setattr(bodies, "parse_yaml", lambda *given: told.wait(60) and parse_yaml(*given))
    found: list[int] = []

    def attack() -> None:
        found.append(asked(server, "POST", MAPS, heavy, **{"content-type": "application/yaml"}))

    threads = [threading.Thread(target=attack) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert asked(server, "GET", "/livez") == 200
    told.set()
    for thread in threads:
        thread.join()
    assert found == [400] * 4
