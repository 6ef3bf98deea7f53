"""Reads that are answered from what equal ones found out: the same answers, and none when something has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.meta.clock import SimulatedClock
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Credentials, Request, Response, Sender

PATH = "/api/v1/namespaces/default/configmaps/one"
TOKENS = {"root": Identity("root", (MASTERS,)), "ann": Identity("ann", ("devs",))}


class Scene:
    """A cluster with a config map that Ann may read, and its server without a network."""

    def __init__(self, requests: int = 400) -> None:
        self.clock = SimulatedClock()
        options = Options(clock=self.clock, authenticators=(StaticTokens(TOKENS),), max_requests_inflight=requests)
        self.cluster = Cluster(options=options)
        self.handler = APIServerHandler(self.cluster.engine)
        self.cluster.create(_map("1"))
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
        self.cluster.create(_rbac("ClusterRole", "reader", rules=rules))
        self.cluster.create(_binding("User", "ann", RBAC_GROUP))

    def sender(self, token: str = "ann") -> Callable[..., Request]:
        """Requests of one connection with equal headers."""
        sender, headers = Sender(), {"authorization": (f"Bearer {token}",)}

        def request(path: str = PATH, **more: Any) -> Request:
            return Request("GET", path, headers=headers, sender=sender, **more)

        return request

    def ask(self, request: Request) -> Response:
        """The answer of the handler chain."""
        response = self.handler.answer(request)
        assert isinstance(response, Response)
        return response


def _map(value: str, name: str = "one") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}}


def _rbac(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": {"name": name}, **more}


def _binding(kind: str, name: str, group: str, **more: str) -> dict[str, Any]:
    subject = {"kind": kind, "name": name, "apiGroup": group, **more}
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "reader"}
    return _rbac("ClusterRoleBinding", name, subjects=[subject], roleRef=role)


@pytest.fixture
def scene() -> Scene:
    """A fresh scene."""
    return Scene()


def test_a_repeated_read_is_answered_at_once(scene: Scene) -> None:
    """It has the status, the headers and the bytes of the first, and counts as it does."""
    request = scene.sender()
    assert scene.handler.at_once(request()) is None
    before = _counted(scene)
    first, after_first = scene.ask(request()), _counted(scene)
    assert scene.handler.at_once(request()) == first
    assert _counted(scene) - after_first == after_first - before


def _counted(scene: Scene) -> Counter[object]:
    engine = scene.cluster.engine
    counts = {
        (family, labels): count for family, each in engine.metrics.counts.items() for labels, count in each.items()
    }
    sums = {key: sums.count for key, sums in engine.metrics.requests.items()}
    dispatched: dict[Any, int] = getattr(engine.limits, "dispatched", {})
    return Counter({**counts, **sums, **dispatched})


def test_the_object_is_read_each_time(scene: Scene) -> None:
    """A changed object is answered as it is now, once its bytes are made; a removed one is not found."""
    request = scene.sender()
    scene.ask(request())
    scene.cluster.apply(_map("2"))
    assert orjson.loads(scene.ask(request()).body)["data"] == {"a": "2"}
    again = scene.handler.at_once(request())
    assert again is not None
    assert orjson.loads(again.body)["data"] == {"a": "2"}
    scene.cluster.delete("configmaps", "one", "default")
    assert scene.handler.at_once(request()) is None
    assert scene.ask(request()).status == 404


def test_a_removed_binding_counts_at_once(scene: Scene) -> None:
    """Whoever may no longer read gets no prepared answer, but the refusal."""
    request = scene.sender()
    scene.ask(request())
    scene.cluster.delete("clusterrolebindings", "ann")
    assert scene.handler.at_once(request()) is None
    assert scene.ask(request()).status == 403


def test_an_identity_is_known_for_the_rest_of_a_second(scene: Scene) -> None:
    """Credentials expire on the clock, so they are looked at again each second, and only for their connection."""
    request, seen = scene.sender(), Counter[str]()
    members = scene.cluster.engine.authenticator._members  # type: ignore[attr-defined]

    class Known:
        leaves_process = False

        def authenticate(self, credentials: Credentials) -> Identity | None:
            seen[credentials.bearer] += 1
            return next(filter(None, (member.authenticate(credentials) for member in members)), None)

    scene.cluster.engine.authenticator._members = (Known(),)  # type: ignore[attr-defined]
    scene.ask(request())
    assert scene.handler.at_once(scene.sender()()) is None
    for second in range(3):
        assert scene.handler.at_once(request()) is not None
        assert scene.handler.at_once(request()) is not None
        assert seen["ann"] == second + 1
        scene.clock.advance(seconds=1)
    scene.cluster.engine.authenticator._members = ()  # type: ignore[attr-defined]
    assert scene.handler.at_once(request()) is None


def test_the_token_of_a_removed_account_is_refused(scene: Scene) -> None:
    """A change of an object that authentication rests on ends all knowledge of callers."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}
    scene.cluster.create(account)
    scene.cluster.create(_binding("ServiceAccount", "robot", "", namespace="default"))
    asked = Request.of("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": {}})
    token = orjson.loads(scene.cluster.perform(asked).body)["status"]["token"]
    request = scene.sender(token)
    assert scene.ask(request()).status == 200
    assert scene.handler.at_once(request()) is not None
    scene.cluster.delete("serviceaccounts", "robot", "default")
    assert scene.handler.at_once(request()) is None
    assert scene.ask(request()).status == 401


@pytest.mark.parametrize(
    ("path", "more"),
    [
        (PATH, {"query": {"pretty": ("true",)}}),
        ("/api/v1/namespaces/default/configmaps", {}),
        ("/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas/exempt", {}),
        ("/api/v1/namespaces/default/status", {}),
        ("/version", {}),
    ],
)
def test_other_requests_are_not_prepared(scene: Scene, path: str, more: dict[str, Any]) -> None:
    """A query, a list, a deprecated version with its warning, a subresource and other paths take the usual way."""
    request = scene.sender("root")
    scene.ask(request(path, **more))
    assert scene.handler.at_once(request(path, **more)) is None


@pytest.mark.parametrize("header", ["impersonate-user", "accept"])
def test_requests_that_ask_for_more_are_not_prepared(scene: Scene, header: str) -> None:
    """Impersonated requests and other representations are not prepared."""
    value = {"impersonate-user": "ann", "accept": "application/yaml"}[header]
    headers = {"authorization": ("Bearer root",), header: (value,)}
    request = Request("GET", PATH, headers=headers, sender=Sender())
    assert scene.ask(request).status == 200
    assert scene.handler.at_once(request) is None


def test_a_full_server_gives_no_prepared_answer() -> None:
    """A read for which there is no seat has to wait for one, as others do."""
    scene = Scene(requests=1)
    request = scene.sender()
    scene.ask(request())
    assert scene.handler.at_once(request()) is not None
    limits = scene.cluster.engine.limits
    assert isinstance(limits, FlowControl)
    for level in limits.levels.values():
        level.executing = 10_000
    assert scene.handler.at_once(request()) is None
