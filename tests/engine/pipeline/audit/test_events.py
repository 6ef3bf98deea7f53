"""The audit log: who asked for what and what came of it, without anybody's secrets."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.audit.backends import LogBackend
from simkit.engine.pipeline.audit.policy import parse
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request

ANN = Identity("ann", ("devs", "system:authenticated"), "7")
HEAD = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
DEPRECATED = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas"


WRONG_CHANGES: list[dict[str, Any]] = [
    {"type": {}}, {"data": {"q": {}}}, {"immutable": "x"}, {"metadata": {"labels": {"a": [1]}}},
]  # fmt: skip
"""Changes of a secret that are refused with the secret in the message."""


def cluster(policy: Any = "Metadata", **more: Any) -> Cluster:
    if isinstance(policy, dict):
        policy = parse({**HEAD, **policy})
    known = StaticTokens({"ann-token": ANN})
    options = Options(seed=1, clock=SimulatedClock(), audit_policy=policy, authenticators=(known,), **more)
    return Cluster(options=options)


def events(world: Cluster, request: Request, identity: Identity | None = None) -> list[dict[str, Any]]:
    """The events that one request leaves in the log."""
    before = len(world.audit_log())
    if identity is None:
        serve_request(world.engine, request)
    else:
        world.perform(request, identity=identity)
    return world.audit_log()[before:]


ADMIN = Identity("root", ("system:masters",))


def test_an_event_whole() -> None:
    """An event of an answered request, field by field as kube-apiserver writes it."""
    world = cluster()
    request = Request.of("GET", "/api/v1/namespaces/default/pods?limit=1", headers={"user-agent": "kubectl"})
    (event,) = events(world, request, ADMIN)
    identifier = event.pop("auditID")
    assert len(identifier) == 36
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/default/pods?limit=1",
        "verb": "list",
        "user": {"username": "root", "groups": ["system:masters"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "kubectl",
        "objectRef": {"resource": "pods", "namespace": "default", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2024-04-17T00:00:00.000000Z",
        "stageTimestamp": "2024-04-17T00:00:00.000000Z",
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }


def test_refusals() -> None:
    """A 403 tells the decision and the message, a 401 that nobody was found, in one stage."""
    world = cluster()
    (event,) = events(world, Request.of("GET", "/api/v1/nodes"), ANN)
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert event["responseStatus"]["reason"] == "Forbidden"
    assert event["responseStatus"]["code"] == 403
    (event,) = events(world, Request.of("GET", "/api/v1/nodes", headers={"authorization": "Bearer wrong"}))
    assert (event["stage"], event["user"], "annotations" in event) == ("ResponseStarted", {}, False)
    assert event["responseStatus"]["message"] == "Unauthorized"
    assert "wrong" not in orjson.dumps(event).decode()


def test_impersonation_and_reason() -> None:
    """An event has the user, the impersonated user, and the reason of the decision."""
    world = cluster()
    headers = {"impersonate-user": "ann", "impersonate-group": "system:monitoring"}
    (event,) = events(world, Request.of("GET", "/metrics", headers=headers), ADMIN)
    assert event["user"]["username"] == "root"
    assert event["impersonatedUser"] == {"username": "ann", "groups": ["system:monitoring", "system:authenticated"]}
    assert "system:monitoring" in event["annotations"]["authorization.k8s.io/reason"]
    assert "objectRef" not in event


def test_deprecated_versions() -> None:
    """A request for a deprecated version is marked with the release that ends it, also where nothing is found."""
    world = cluster()
    for path in (DEPRECATED, f"{DEPRECATED}/absent"):
        (event,) = events(world, Request.of("GET", path), ADMIN)
        assert event["annotations"]["k8s.io/deprecated"] == "true"
        assert event["annotations"]["k8s.io/removed-release"] == "1.32"
    (event,) = events(world, Request.of("GET", DEPRECATED), ANN)
    assert "k8s.io/deprecated" not in event["annotations"], "it never came to the handler"


def test_objects_of_requests_and_answers() -> None:
    """Level Request has what was sent, RequestResponse also what was answered; field owners may be left out."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    request = Request.of("POST", "/api/v1/namespaces/default/configmaps", body)
    (event,) = events(cluster("Request"), request, ADMIN)
    assert event["requestObject"] == body
    assert "responseObject" not in event
    assert event["objectRef"]["name"] == "a"
    (event,) = events(cluster("RequestResponse"), request, ADMIN)
    assert event["responseObject"]["metadata"]["managedFields"]
    bare = {"rules": [{"level": "RequestResponse"}], "omitStages": ["RequestReceived"], "omitManagedFields": True}
    (event,) = events(cluster(bare), request, ADMIN)
    assert "managedFields" not in event["responseObject"]["metadata"]
    path = "/api/v1/namespaces/default/configmaps/a"
    patch = Request.of("PATCH", path, {"data": {"k": "w"}}, content_type="application/merge-patch+json")
    (event,) = events(cluster("Request"), patch, ADMIN)
    assert event["requestObject"] == {"data": {"k": "w"}}
    world = cluster("RequestResponse")
    events(world, request, ADMIN)
    (event,) = events(world, Request.of("DELETE", path), ADMIN)
    assert event["responseStatus"]["status"] == "Success"


def test_stages_of_watches_and_all_others() -> None:
    """A request is recorded when it comes and when it is answered; a watch also when its answer begins."""
    world = cluster({"rules": [{"level": "Metadata"}]})
    assert [event["stage"] for event in events(world, Request.of("GET", "/api/v1/pods"), ADMIN)] == [
        "RequestReceived",
        "ResponseComplete",
    ]
    before = len(world.audit_log())
    response = world.perform(Request.of("GET", "/api/v1/pods?watch=1"))
    assert [event["stage"] for event in world.audit_log()[before:]] == ["RequestReceived", "ResponseStarted"]
    assert response.stream.poll() == []
    response.stream.close()
    response.stream.close()
    stages = world.audit_log()[before:]
    assert [event["stage"] for event in stages] == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert len({event["auditID"] for event in stages}) == 1


def test_the_client_may_name_the_event() -> None:
    """An Audit-ID that was sent is kept, and every answer carries the one that was used."""
    world = cluster()
    response = world.perform(Request.of("GET", "/api/v1/pods", headers={"Audit-ID": "mine"}))
    assert ("Audit-Id", "mine") in response.headers
    assert world.audit_log()[-1]["auditID"] == "mine"


SECRET = "hunter2"
ENCODED = base64.b64encode(SECRET.encode()).decode()


def secret(**more: Any) -> dict[str, Any]:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":{{"p":"{ENCODED}"}}}}'}
    metadata = {"name": "s", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"p": SECRET}, **more}


@pytest.mark.parametrize("level", ["Metadata", "RequestResponse"])
def test_secrets_and_tokens_are_never_recorded(level: str) -> None:
    """Whatever way a secret value or token takes through the API, the log does not hold it."""
    world = cluster(level)
    path = "/api/v1/namespaces/default/secrets"
    merge, steps = "application/merge-patch+json", "application/json-patch+json"
    requests = [
        Request.of("POST", path, secret()),
        Request.of("GET", f"{path}/s"),
        Request.of("GET", path),
        Request.of("GET", "/api/v1/secrets", headers={"accept": "application/yaml"}),
        Request.of("PUT", f"{path}/s", secret(data={"p": ENCODED})),
        Request.of("PATCH", f"{path}/s", {"data": {"p": ENCODED}}, content_type=merge),
        Request.of("PATCH", f"{path}/s", {"stringData": {"p": SECRET}}, content_type=merge),
        Request.of("PATCH", f"{path}/s", [{"op": "add", "path": "/data/q", "value": ENCODED}], content_type=steps),
        Request.of("POST", path, b'{"kind": "Secret", "data": {"p": "' + ENCODED.encode() + b'"'),
        Request.of("POST", path, {"kind": "ConfigMap", "data": {"p": ENCODED}}),
        Request.of("POST", "/api/v1/namespaces/default/configmaps", secret()),
        Request.of(
            "GET",
            f"{path}?includeObject=Object",
            headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
        ),
        Request.of("PUT", f"{path}/s", {"kind": "Status", "data": {"p": ENCODED}}),
        Request.of("PUT", f"{path}/s", {**secret(), "Data": {"p": SECRET}, "more": [SECRET]}),
        Request.of("PUT", f"{path}/s", orjson.dumps(SECRET)),
        Request.of("PUT", f"{path}/s", [SECRET]),
        *(Request.of("PATCH", f"{path}/s", change, content_type=merge) for change in WRONG_CHANGES),
        Request.of("PATCH", f"{path}/s", [{"op": "replace", "path": "/type", "value": {}}], content_type=steps),
        Request.of("DELETE", f"{path}/s"),
    ]
    for request in requests:
        world.perform(request)
    world.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    issue = Request.of("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {})
    token = world.perform(issue).object["status"]["token"]
    for body in ({"spec": {"token": token}}, {"kind": "TokenReview", "spec": {"token": "ann-token"}}, [token]):
        world.perform(Request.of("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body))
    change = [{"op": "add", "path": "/spec/token", "value": token}]
    for where in ("/api/v1/namespaces/default/serviceaccounts/robot/token", "/metrics"):
        for method in ("PATCH", "POST"):
            world.perform(Request.of(method, where, change, content_type=steps))
            world.perform(Request.of(method, where, {"spec": {"token": token}}))
    serve_request(world.engine, Request.of("GET", "/api/v1/pods", headers={"authorization": f"Bearer {token}"}))
    log = orjson.dumps(world.audit_log()).decode()
    for hidden in (SECRET, ENCODED, token, "ann-token"):
        assert hidden not in log
    assert log.count("REDACTED") > (10 if level == "RequestResponse" else 3)


def test_an_internal_error_is_a_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the server's own is recorded in a stage of its own."""
    world = cluster()
    monkeypatch.setattr(world.engine, "registry", None)
    (event,) = events(world, Request.of("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}}), ADMIN)
    assert (event["stage"], event["responseStatus"]["code"]) == ("Panic", 500)


def test_no_events_without_a_policy() -> None:
    """Without a policy nothing is recorded, and asking for the log says how to have one."""
    with pytest.raises(SimkitError, match="audit_policy"):
        Cluster(seed=1).audit_log()


def test_forks_record_for_themselves(tmp_path: Path) -> None:
    """Requests on a fork are in the fork's log alone, and in no file."""
    path = tmp_path / "log" / "audit.jsonl"
    world = cluster(audit_log_path=path)
    lines = len(path.read_bytes().splitlines())
    fork = world.fork()
    fork.perform(Request.of("GET", "/api/v1/pods"))
    assert [event["requestURI"] for event in fork.audit_log()] == ["/api/v1/pods"]
    assert len(path.read_bytes().splitlines()) == lines
    world.perform(Request.of("GET", "/api/v1/pods"))
    assert orjson.loads(path.read_bytes().splitlines()[-1])["requestURI"] == "/api/v1/pods"
    assert world.engine.audit is not None
    world.engine.audit.close()
    with pytest.raises(SimkitError, match="cannot be written"):
        LogBackend(path / "below")
