"""Webhooks that convert custom resources: over real HTTPS, or a function in their place."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request, Response
from tests.engine.egress.service import Service, serving

Body = dict[str, Any]
V1, V2 = (f"/apis/example.com/{version}/namespaces/default/widgets" for version in ("v1", "v2"))
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
FAILED = "conversion webhook for example.com/v1, Kind=Widget"


def definition(client: Mapping[str, Any], *reviews: str) -> Body:
    """v1 is stored and has ``size``, v2 has ``width`` and ``height``."""

    def version(name: str, *fields: str) -> Body:
        spec = {"type": "object", "properties": {field: {"type": "integer"} for field in fields}}
        schema = {"type": "object", "properties": {"spec": spec}}
        served = {"name": name, "served": True, "storage": name == "v1", "subresources": {"status": {}}}
        return {**served, "schema": {"openAPIV3Schema": schema}}

    webhook = {"conversionReviewVersions": list(reviews or ["v1"]), "clientConfig": dict(client)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1", "size"), version("v2", "width", "height")],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def widget(name: str = "w", version: str = "v1", **spec: int) -> Body:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def convert(obj: Body, api_version: str) -> Body:
    """A square in v1 has sides in v2."""
    spec = obj["spec"]
    if api_version.endswith("v2"):
        made = {"width": spec.get("size", 0), "height": spec.get("size", 0)}
    else:
        made = {"size": spec.get("width", 0)}
    return {**obj, "apiVersion": api_version, "spec": made}


def converted(_: str, sent: Body) -> tuple[int, Any]:
    """The answer of a working webhook."""
    request = sent["request"]
    objects = [convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    return 200, answer(sent, objects)


def answer(sent: Body, objects: Any, **response: Any) -> Body:
    """A review with converted objects."""
    said = {"uid": sent["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": objects, **response}
    return {"kind": sent["kind"], "apiVersion": sent["apiVersion"], "response": said}


def client(service: Service) -> Body:
    bundle = base64.b64encode(service.authority.certificate_pem()).decode()
    return {"url": f"{service.url}/convert", "caBundle": bundle}


def ask(cluster: Any, method: str, path: str, body: Any = None, media: str = "application/json") -> Response:
    found: Response = cluster.perform(Request.of(method, path, body, content_type=media))
    return found


@pytest.mark.parametrize("review", ["v1", "v1beta1"])
def test_objects_are_converted_both_ways(tmp_path: Path, review: str) -> None:
    """Reads, lists and every kind of write go through the webhook; the store holds the storage version."""
    with serving(tmp_path, converted) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service), "v7", review))
        cluster.create(widget(size=3))
        assert service.requests == [], "nothing is asked about objects that are in their version"
        assert ask(cluster, "GET", f"{V2}/w").object["spec"] == {"width": 3, "height": 3}
        made = ask(cluster, "POST", V2, widget("x", "v2", width=5, height=5))
        assert (made.status, made.object["spec"]) == (201, {"width": 5, "height": 5})
        assert ask(cluster, "GET", f"{V1}/x").object["spec"] == {"size": 5}
        patched = ask(cluster, "PATCH", f"{V2}/x", {"spec": {"width": 6}}, MERGE)
        assert patched.object["spec"] == {"width": 6, "height": 6}
        applied = ask(cluster, "PATCH", f"{V2}/y?fieldManager=me", widget("y", "v2", width=1, height=1), APPLY)
        assert (applied.status, applied.object["apiVersion"]) == (201, "example.com/v2")
        listed = ask(cluster, "GET", V2).object["items"]
    assert [each["spec"]["height"] for each in listed] == [3, 6, 1]
    path, headers, body = service.requests[0]
    assert (path, headers["content-type"]) == ("/convert?timeout=30s", "application/json")
    assert (body["apiVersion"], body["kind"]) == (f"apiextensions.k8s.io/{review}", "ConversionReview")
    assert body["request"]["desiredAPIVersion"] == "example.com/v2"
    asked = [sent["request"]["objects"] for _, _, sent in service.requests[-3:]]
    assert [[obj["metadata"]["name"] for obj in objects] for objects in asked] == [["w"], ["x"], ["y"]]


def test_a_dry_run_is_converted_and_not_stored(tmp_path: Path) -> None:
    """The answer of a dry run has been through the storage version too."""
    with serving(tmp_path, converted) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service)))
        made = ask(cluster, "POST", f"{V2}?dryRun=All", widget("x", "v2", width=5, height=7))
    assert made.object["spec"] == {"width": 5, "height": 5}
    assert ask(cluster, "GET", V1).object["items"] == []


def test_a_service_is_found_by_its_address(tmp_path: Path) -> None:
    """The certificate is checked for the name of the service; without an address the error says so."""
    reference = {"service": {"namespace": "ops", "name": "hook", "path": "/convert"}}
    with serving(tmp_path, converted, names=("hook.ops.svc",)) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition({**client(service), "url": None, **reference}))
        cluster.create(widget(size=3))
        lost = ask(cluster, "GET", f"{V2}/w")
        cluster.egress.services["ops/hook"] = service.url.removeprefix("https://")
        assert ask(cluster, "GET", f"{V2}/w").object["spec"]["width"] == 3
    assert (lost.status, lost.object.get("reason")) == (500, None)
    assert lost.object["message"] == (
        f'{FAILED} failed: Post "https://hook.ops.svc:443/convert?timeout=30s": service "hook" not found'
    )


def changed(**fields: Any) -> Callable[[str, Body], tuple[int, Any]]:
    """A webhook whose objects have other fields than they should."""

    def reply(_: str, sent: Body) -> tuple[int, Any]:
        objects = converted("", sent)[1]["response"]["convertedObjects"]
        return 200, answer(sent, [{**obj, **fields} for obj in objects])

    return reply


def noted(**fields: Any) -> Callable[[str, Body], tuple[int, Any]]:
    """A webhook that changes metadata."""

    def reply(_: str, sent: Body) -> tuple[int, Any]:
        objects = converted("", sent)[1]["response"]["convertedObjects"]
        return 200, answer(sent, [{**obj, "metadata": {**obj["metadata"], **fields}} for obj in objects])

    return reply


_CALLED = "failed: "
_OBJECT = "returned invalid object"
_METADATA = "returned invalid metadata: "
LIES: list[tuple[Callable[[str, Body], tuple[int, Any]], str]] = [
    (lambda _, sent: (200, answer(sent, [])), "returned 0 objects, expected 1"),
    (
        lambda _, sent: (200, answer(sent, [], uid="other")),
        _CALLED + 'expected response.uid="',
    ),
    (lambda _, sent: (200, {**answer(sent, []), "response": None}), _CALLED + "no response provided"),
    (
        lambda _, sent: (200, answer(sent, [], result={"status": "Failed", "message": "not today"})),
        _CALLED + "not today",
    ),
    (
        lambda _, sent: (200, answer(sent, [], result={"status": "Failed"})),
        _CALLED + "response.result.status was 'Failed', not 'Success'",
    ),
    (lambda _, sent: (200, answer(sent, [], result={})), _CALLED + "response.result.status was '', not 'Success'"),
    (
        changed(apiVersion="example.com/v3"),
        _OBJECT + " at index 0: invalid groupVersion (expected example.com/v2, received",
    ),
    (changed(kind="Gadget"), _OBJECT + " at index 0: invalid kind (expected Widget, received Gadget)"),
    (noted(name="other"), _OBJECT + ": must have the same name: w != other"),
    (noted(namespace="other"), _OBJECT + ": must have the same namespace: default != other"),
    (noted(uid="other"), _OBJECT + ": must have the same UID: "),
    (noted(labels={"a": 1}), _METADATA + "metadata.labels[a] must be a string, but is int64 in converted object"),
    (noted(labels=["a"]), _METADATA + "invalid metadata.labels of type []interface {} in converted object"),
    (noted(labels={"a": "-"}), _METADATA + 'metadata.labels: Invalid value: "-"'),
    (
        lambda _, sent: (200, answer(sent, {"a": 1})),
        _CALLED + "json: cannot unmarshal object into Go struct field ConversionResponse.response.convertedObjects",
    ),
    (
        lambda _, sent: (200, {**answer(sent, []), "response": [1]}),
        _CALLED + "json: cannot unmarshal array into Go struct field ConversionReview.response of type",
    ),
    (lambda _, sent: (200, b"<html>"), _CALLED + "couldn't get version/kind; json parse error"),
    (lambda _, sent: (200, {"response": {}}), _CALLED + 'expected response.uid="'),
    (
        lambda _, sent: (200, {"kind": "Pod", "apiVersion": "v1"}),
        _CALLED + 'no kind "Pod" is registered for version "v1"',
    ),
    (
        lambda _, sent: (200, {**answer(sent, []), "apiVersion": "apiextensions.k8s.io/v1beta1"}),
        _CALLED + "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
    ),
    (lambda _, sent: (307, b""), _CALLED + "the server responded with the status code 307"),
    (lambda _, sent: (503, b""), _CALLED + "the server is currently unable to handle the request"),
    (lambda _, sent: (200, b" " * (17 * 1024 * 1024)), _CALLED + "Post"),
]


@pytest.mark.parametrize(("reply", "text"), LIES)
def test_a_webhook_that_lies_fails_the_request(
    tmp_path: Path, reply: Callable[[str, Body], tuple[int, Any]], text: str
) -> None:
    """Whatever is not the object that was sent, in the version that was asked for, is a clear failure."""
    with serving(tmp_path, reply) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service)))
        cluster.create(widget(size=3))
        got, listed = ask(cluster, "GET", f"{V2}/w"), ask(cluster, "GET", V2)
    assert (got.status, listed.status) == (500, 500)
    assert got.object["message"].startswith(f"{FAILED} {text}")


@pytest.mark.slow
def test_a_webhook_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that accepts and says nothing costs no more than the time that conversions have."""
    monkeypatch.setattr("simkit.engine.egress.webhook.SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cluster = Cluster(seed=1)
        cluster.create(definition({"url": f"https://127.0.0.1:{silent.getsockname()[1]}/x"}))
        cluster.create(widget(size=3))
        got = ask(cluster, "GET", f"{V2}/w")
    assert (got.status, got.object["message"].endswith("context deadline exceeded")) == (500, True)


def test_labels_and_annotations_may_change_and_nothing_else(tmp_path: Path) -> None:
    """Other metadata is that of the object that was sent, whatever the webhook makes of it."""
    with serving(tmp_path, noted(labels={"side": "two"}, finalizers=["x/y"], generation=99)) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service)))
        cluster.create(widget(size=3))
        metadata = ask(cluster, "GET", f"{V2}/w").object["metadata"]
    assert (metadata["labels"], metadata["generation"], "finalizers" in metadata) == ({"side": "two"}, 1, False)


def test_no_write_passes_a_webhook_that_fails(tmp_path: Path) -> None:
    """Creation, update and removal in another version than the stored one need it."""
    with serving(tmp_path, lambda *_: (500, b"")) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service)))
        cluster.create(widget(size=3))
        statuses = [
            ask(cluster, "POST", V2, widget("x", "v2", width=1)).status,
            ask(cluster, "PATCH", f"{V2}/w", {"spec": {"width": 6}}, MERGE).status,
            ask(cluster, "DELETE", f"{V2}/w").status,
        ]
        assert statuses == [500, 500, 500]
        assert ask(cluster, "DELETE", f"{V1}/w").status == 200


def test_a_watch_converts_each_event_once_and_ends_at_a_failure(tmp_path: Path) -> None:
    """Watchers share what was converted; the last frame of a watch that meets a failure is an ERROR."""
    works = [True]

    def reply(path: str, sent: Body) -> tuple[int, Any]:
        return converted(path, sent) if works[0] else (200, answer(sent, []))

    with serving(tmp_path, reply) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service)))
        streams = [ask(cluster, "GET", f"{V2}?watch=1").stream for _ in range(2)]
        cluster.create(widget(size=3))
        frames = [orjson.loads(frame) for stream in streams for frame in stream.poll()]
        assert [frame["object"]["spec"]["height"] for frame in frames] == [3, 3]
        assert (len(service.requests), streams[0].blocks) == (1, True)
        works[0] = False
        cluster.create(widget("x", size=4))
        last = orjson.loads(streams[0].poll()[-1])
    assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 500, "InternalError")
    assert last["object"]["message"] == f"{FAILED} returned 0 objects, expected 1"
    assert streams[0].closed


def test_a_function_stands_in() -> None:
    """It is called in forks too; a text is why it fails."""
    cluster = Cluster(seed=1)
    cluster.create(definition({"url": "https://127.0.0.1:1/x"}))
    cluster.create(widget(size=3))
    cluster.conversion("widgets.example.com", convert)
    with cluster.what_if() as trial:
        assert ask(trial, "GET", f"{V2}/w").object["spec"] == {"width": 3, "height": 3}
    cluster.conversion("widgets.example.com", lambda obj, version: "no way")
    failed = ask(cluster, "GET", f"{V2}/w")
    assert failed.object["message"] == f"{FAILED} failed: no way"


def test_forks_call_nobody_and_tell() -> None:
    """A fork keeps objects as they are written and says which calls it did not make."""
    cluster = Cluster(seed=1)
    cluster.create(definition({"url": "https://127.0.0.1:1/x"}))
    cluster.create(widget(size=3))
    with cluster.what_if() as trial:
        refused = ask(trial, "GET", f"{V2}/w")
        made = ask(trial, "POST", V2, widget("x", "v2", width=5))
        assert (made.status, ask(trial, "GET", f"{V2}/x").object["spec"]) == (201, {"width": 5})
        calls = trial.uncalled_webhooks()
    assert (refused.status, "may not be called" in refused.object["message"]) == (500, True)
    assert list(calls["kind"]) == ["conversion", "conversion"]
    assert list(calls["about"]) == ["Widget default/w to example.com/v2", "Widget default/x to example.com/v1"]
    assert simkit.Cluster(seed=1).uncalled_webhooks().empty


def test_owners_in_another_version_are_compared_there(tmp_path: Path) -> None:
    """A manager that applied v2 conflicts with one that applies v1 over the same value."""
    with serving(tmp_path, converted) as service:
        cluster = Cluster(seed=1)
        cluster.create(definition(client(service)))
        ask(cluster, "PATCH", f"{V2}/w?fieldManager=one", widget("w", "v2", width=1, height=1), APPLY)
        other = ask(cluster, "PATCH", f"{V1}/w?fieldManager=two", widget("w", "v1", size=2), APPLY)
    assert other.status == 409
    told = 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.height\n- .spec.width'
    assert other.object["message"] == told
