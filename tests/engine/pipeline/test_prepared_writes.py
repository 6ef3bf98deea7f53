"""Writes that are prepared by what equal ones found out: the same answers, and none when something has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_file import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.meta.clock import SimulatedClock
from simkit.meta.domain import ADMISSION_GROUP, RBAC_GROUP
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response, Sender

MAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"
TOKENS = {"root": Identity("root", (MASTERS,)), "ann": Identity("ann", ("devs",))}


class Scene:
    """A cluster in which Ann may write config maps, and its server without a network."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        options = Options(clock=self.clock, authenticators=(StaticTokens(TOKENS),), max_mutating_requests_inflight=100)
        self.cluster = Cluster(options=options)
        self.handler = APIServerHandler(self.cluster.engine)
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "update", "patch"]}]
        self.cluster.create(_rbac("ClusterRole", "writer", rules=rules))
        subject = {"kind": "User", "name": "ann", "apiGroup": RBAC_GROUP}
        role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "writer"}
        self.cluster.create(_rbac("ClusterRoleBinding", "ann", subjects=[subject], roleRef=role))

    def sender(self, token: str = "ann", **more: str) -> Callable[..., Request]:
        """Writes of one connection with equal headers."""
        sender = Sender()
        headers = {"authorization": (f"Bearer {token}",), "content-type": ("application/json",)}
        headers |= {name.replace("_", "-"): (value,) for name, value in more.items()}

        def request(obj: object, method: str = "POST", path: str = MAPS, **other: Any) -> Request:
            return Request(method, path, headers=headers, body=orjson.dumps(obj), sender=sender, **other)

        return request

    def ask(self, request: Request) -> Response:
        """The answer, by whichever way."""
        response = self.handler.at_once(request) or self.handler.answer(request)
        assert isinstance(response, Response)
        return response


def _rbac(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": {"name": name}, **more}


def _map(name: str, **data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _plain(response: Response) -> Any:
    """The object of an answer without what is its own."""
    obj = response.object
    for name in ("name", "uid", "resourceVersion"):
        obj["metadata"].pop(name, None)
    return obj


def _counted(scene: Scene) -> Counter[Any]:
    metrics = scene.cluster.engine.metrics
    made: Counter[Any] = Counter({key: sums.count for key, sums in metrics.requests.items()})
    for name, by_labels in metrics.counts.items():
        made.update({(name, *labels): value for labels, value in by_labels.items()})
    return made


@pytest.fixture
def scene() -> Scene:
    """A fresh scene."""
    return Scene()


def test_a_second_creation_is_prepared(scene: Scene) -> None:
    """It has the status, the headers and the object of the first, and counts as it does."""
    request = scene.sender()
    assert scene.handler.at_once(request(_map("a", k="1"))) is None
    start = _counted(scene)
    first = scene.ask(request(_map("a", k="1")))
    after = _counted(scene)
    second = scene.handler.at_once(request(_map("b", k="1")))
    assert second is not None
    assert (second.status, second.headers) == (first.status, first.headers) == (201, first.headers)
    assert _plain(second) == _plain(first)
    assert _counted(scene) - after == after - start


def test_updates_and_patches_are_prepared_too(scene: Scene) -> None:
    """Each path has its own meaning; what is stored is what was sent last."""
    request, path = scene.sender(), f"{MAPS}/a"
    scene.ask(request(_map("a", k="1")))
    for value in "23":
        update = request(_map("a", k=value), "PUT", path)
        assert (scene.handler.at_once(update) is None) is (value == "2")
        scene.ask(update)
    patching = scene.sender(content_type="application/merge-patch+json")
    for value in "45":
        patch = patching({"data": {"k": value}}, "PATCH", path)
        assert (scene.handler.at_once(patch) is None) is (value == "4")
        assert scene.ask(patch).object["data"] == {"k": value}


def test_errors_are_those_of_the_handler_chain(scene: Scene) -> None:
    """A prepared write that fails gives the same Status, and counts as such."""
    request = scene.sender()
    scene.ask(request(_map("a")))
    for body in (_map("a"), _map("No"), {"kind": "Secret", "apiVersion": "v1"}):
        prepared = scene.handler.at_once(request(body))
        chained = scene.ask(scene.sender()(body))
        assert prepared is not None
        assert (prepared.status, prepared.object) == (chained.status, chained.object)
        assert prepared.status >= 400
    scene.clock.advance(seconds=1)
    assert scene.ask(request(_map("b"))).status == 201


def test_the_authorizer_is_asked_each_time(scene: Scene) -> None:
    """Without its binding Ann is refused at once."""
    request = scene.sender()
    assert scene.ask(request(_map("a"))).status == 201
    scene.cluster.delete("clusterrolebinding", "ann")
    refused = scene.ask(request(_map("b")))
    assert refused.status == 403
    assert "cannot create resource" in refused.object["message"]


def test_a_caller_is_authenticated_again_each_second(scene: Scene) -> None:
    """A caller that is still who it was goes on; one whose token is gone is refused."""
    request = scene.sender()
    scene.ask(request(_map("a")))
    scene.clock.advance(seconds=1)
    assert scene.handler.at_once(request(_map("b"))) is not None
    scene.clock.advance(seconds=1)
    scene.cluster.engine.authenticator._members = ()  # type: ignore[attr-defined]  # the token is known no more
    assert scene.handler.at_once(request(_map("c"))) is None
    assert scene.ask(request(_map("c"))).status == 401


def test_a_webhook_ends_what_was_prepared(scene: Scene) -> None:
    """As soon as there is one, each write goes through the whole chain, which knows whether it has to wait."""
    request = scene.sender()
    scene.ask(request(_map("a")))
    assert scene.handler.at_once(request(_map("b"))) is not None
    kind = "ValidatingWebhookConfiguration"
    scene.cluster.create({"apiVersion": f"{ADMISSION_GROUP}/v1", "kind": kind, "metadata": {"name": "w"}})
    assert scene.handler.at_once(request(_map("c"))) is None


@pytest.mark.parametrize(
    ("headers", "body", "more"),
    [
        ({"impersonate_user": "bob"}, _map("b"), {}),
        ({"accept": "application/yaml"}, _map("b"), {}),
        ({}, _map("b"), {"query": {"dryRun": ["All"]}}),
        ({}, _map("b", k="x" * 20_000), {}),
        ({}, _map("b"), {"certificates": (b"x" * 5_000,)}),
        ({}, _map("b"), {"head_size": 5_000}),
    ],
    ids=["impersonation", "yaml", "query", "long", "certificates", "head"],
)
def test_other_requests_are_not_prepared(
    scene: Scene, headers: dict[str, str], body: dict[str, Any], more: dict[str, Any]
) -> None:
    """Whatever is not plain, or may take long, goes through the whole chain each time."""
    request = scene.sender("root", **headers)
    scene.ask(request(_map("a")))
    assert scene.handler.at_once(request(body, **more)) is None
    assert scene.handler.at_once(request(body, **more)) is None


def test_a_body_that_is_still_to_come_is_waited_for(scene: Scene) -> None:
    """The head alone is no request yet."""
    request = scene.sender()
    scene.ask(request(_map("a")))
    head = Request("POST", MAPS, headers=request(_map("b")).headers, sender=request(_map("b")).sender)
    assert scene.handler.at_once(head) is None


def test_writes_to_long_objects_are_not_prepared(scene: Scene) -> None:
    """An update of a long object may take long, whatever its body."""
    request = scene.sender("root", content_type="application/merge-patch+json")
    scene.cluster.create(_map("long", k="x" * 20_000) | {"metadata": {"name": "long", "namespace": "default"}})
    for value in "12":
        patch = request({"data": {"j": value}}, "PATCH", f"{MAPS}/long")
        assert scene.handler.at_once(patch) is None
        assert scene.ask(patch).status == 200


def test_another_sender_of_the_same_user_is_authenticated_itself(scene: Scene) -> None:
    """What a path means is known of the user, but not who sends."""
    scene.ask(scene.sender()(_map("a")))
    other = scene.sender()
    assert scene.handler.at_once(other(_map("b"))) is None
    scene.ask(other(_map("b")))
    assert scene.handler.at_once(other(_map("c"))) is not None


def test_a_full_server_prepares_no_write() -> None:
    """Writes wait for seats as others do."""
    scene = Scene()
    request = scene.sender()
    scene.ask(request(_map("a")))
    scene.cluster.engine.limits.passes = lambda flow, *, mutating=False: False  # type: ignore[method-assign]
    assert scene.handler.at_once(request(_map("b"))) is None


def test_a_write_that_ends_its_own_resource(scene: Scene) -> None:
    """The last object of a definition that is being removed takes the resource with it, and is answered all the same."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "widgets", "kind": "Widget"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    scene.cluster.create({**definition, "metadata": {"name": "widgets.example.com"}})
    scene.cluster.settle()
    kept = {"name": "w", "namespace": "default", "finalizers": ["example.com/kept"]}
    scene.cluster.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": kept})
    scene.cluster.delete("customresourcedefinition", "widgets.example.com")
    scene.cluster.settle()
    patch = scene.sender("root", content_type="application/merge-patch+json")
    path = "/apis/example.com/v1/namespaces/default/widgets/w"
    assert scene.ask(patch({"metadata": {"finalizers": None}}, "PATCH", path)).status == 200
    scene.cluster.settle()
    assert scene.ask(patch({"metadata": {}}, "PATCH", path)).status == 404
