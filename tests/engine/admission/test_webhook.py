"""Webhooks over real HTTPS, and functions that stand in for them."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.admission import webhook
from simkit.meta.deadline import Deadline, within
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from tests.engine.admission.policies import RULE, config_map, refusal, sent
from tests.engine.egress.service import Service, serving


def hook(service: Service | None = None, name: str = "w.example.com", **more: Any) -> dict[str, Any]:
    """A webhook over config maps, by default at the service's address."""
    client: dict[str, Any] = {"url": "https://127.0.0.1:1/x"}
    if service is not None:
        bundle = base64.b64encode(service.authority.certificate_pem()).decode()
        client = {"url": f"{service.url}/hook", "caBundle": bundle}
    return {
        "name": name,
        "clientConfig": client,
        "rules": [dict(RULE)],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 2,
        **more,
    }


def configuration(*hooks: Any, mutating: bool = False, name: str = "h") -> dict[str, Any]:
    """A configuration of webhooks."""
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    metadata = {"name": name}
    return {"apiVersion": f"{ADMISSION_GROUP}/v1", "kind": kind, "metadata": metadata, "webhooks": list(hooks)}


def review(sent: Mapping[str, Any], **response: Any) -> dict[str, Any]:
    """The answer to a review: it allows unless told otherwise."""
    header = {"kind": sent["kind"], "apiVersion": sent["apiVersion"]}
    return {**header, "response": {"uid": sent["request"]["uid"], "allowed": True, **response}}


def patch(*operations: Any) -> dict[str, Any]:
    """The fields of a response that carries a JSON patch."""
    return {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(operations)).decode()}


def made(*configurations: Any) -> Cluster:
    cluster = Cluster(seed=1)
    for each in configurations:
        cluster.create(each)
    return cluster


def test_a_webhook_is_asked_with_the_whole_request(tmp_path: Path) -> None:
    """The review names who asks, what for and the object; the connection is verified by the bundle."""
    with serving(tmp_path, lambda _, body: (200, review(body))) as service:
        made(configuration(hook(service))).create(config_map("a", data={"k": "v"}))
    path, headers, body = service.requests[0]
    assert (path, headers["content-type"]) == ("/hook?timeout=2s", "application/json")
    request = body["request"]
    assert (body["kind"], body["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert request["object"]["data"] == {"k": "v"}
    assert (request["oldObject"], request["dryRun"], request["operation"]) == (None, False, "CREATE")
    assert request["userInfo"]["username"] == "simkit-admin"
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert request["options"]["kind"] == "CreateOptions"


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (None, 400, 'admission webhook "w.example.com" denied the request without explanation'),
        ({"message": "no"}, 400, 'admission webhook "w.example.com" denied the request: no'),
        ({"reason": "Odd", "code": 200}, 400, 'admission webhook "w.example.com" denied the request: Odd'),
        ({"message": "no", "code": 409}, 409, 'admission webhook "w.example.com" denied the request: no'),
    ],
)
def test_refusals_never_look_like_success(tmp_path: Path, status: Any, code: int, text: str) -> None:
    """Code and message come from the webhook, within bounds."""
    more = {} if status is None else {"status": status}
    with serving(tmp_path, lambda _, body: (200, review(body, allowed=False, **more))) as service:
        error = refusal(made(configuration(hook(service))), config_map())
    assert (error.code, error.message) == (code, text)


def test_a_status_has_only_what_a_status_has(tmp_path: Path) -> None:
    """Nothing else that a webhook sends reaches the client, however deep it is."""
    deep: Any = "end"
    for _ in range(900):
        deep = {"a": deep}
    status = {
        "message": "no",
        "metadata": deep,
        "details": {"name": "x", "kind": "y", "more": deep, "causes": [{"field": "f", "z": deep}]},
    }
    with serving(
        tmp_path, lambda _, body: (200, json.dumps(review(body, allowed=False, status=status)).encode())
    ) as service:
        error = refusal(made(configuration(hook(service))), config_map())
    assert error.details == {"name": "x", "kind": "y", "causes": [{"field": "f"}]}


def test_a_patch_that_leaves_no_object_fails_the_write(tmp_path: Path) -> None:
    """A patch may replace the whole, by an object."""
    change = patch({"op": "replace", "path": "", "value": []})
    with serving(tmp_path, lambda _, body: (200, review(body, **change))) as service:
        error = refusal(made(configuration(hook(service), mutating=True)), config_map())
    assert error.message.endswith("json: cannot unmarshal array into Go value of type ConfigMap")


def test_long_warnings_are_cut(tmp_path: Path) -> None:
    """Together they are as long as kube-apiserver lets them be, and none begins another header."""
    long = ["x" * 10_000_000, "a\r\nset-cookie: b", *(f"w{number}" for number in range(9999))]
    with serving(tmp_path, lambda _, body: (200, review(body, warnings=long))) as service:
        cluster = made(configuration(hook(service)))
        response = sent(cluster, "POST", "/api/v1/namespaces/default/configmaps", config_map())
    told = [text for name, text in response.headers if name == "Warning"]
    assert told[:2] == [f'299 - "{"x" * 256}"', '299 - "w0"']
    assert sum(map(len, told)) < 16_000


def test_warnings_and_annotations_are_passed_on(tmp_path: Path) -> None:
    """Warnings of a webhook reach the client."""
    with serving(tmp_path, lambda _, body: (200, review(body, warnings=["careful"]))) as service:
        cluster = made(configuration(hook(service)))
        response = sent(cluster, "POST", "/api/v1/namespaces/default/configmaps", config_map())
    assert ("Warning", '299 - "careful"') in response.headers


def test_a_patch_changes_what_is_stored(tmp_path: Path) -> None:
    """Mutating webhooks come before validation, and the patched object is what is stored."""
    change = patch({"op": "add", "path": "/data", "value": {"added": "1"}})
    with serving(tmp_path, lambda _, body: (200, review(body, **change))) as service:
        stored = made(configuration(hook(service), mutating=True)).create(config_map())
    assert stored["data"] == {"added": "1"}


def test_a_patch_cannot_forge_who_owns_fields(tmp_path: Path) -> None:
    """Managed fields that nobody could read are those from before the webhook, and the client is warned."""
    forged = patch({"op": "add", "path": "/metadata/managedFields", "value": [{"manager": "x" * 100_000}]})
    with serving(tmp_path, lambda _, body: (200, review(body, **forged))) as service:
        cluster = made(configuration(hook(service), mutating=True))
        path = "/api/v1/namespaces/default/configmaps?fieldManager=me"
        answer = cluster.perform(Request.of("POST", path, config_map()))
    assert "managedFields was in an invalid state" in str(answer.headers)
    assert [owner["manager"] for owner in answer.object["metadata"].get("managedFields", [])] in (["me"], [])


_BROKEN = [
    (lambda body: b"<html>", "failed to call webhook: couldn't get version/kind; json parse error: "),
    (
        lambda body: b"<html>",
        "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal st",
    ),
    (
        lambda body: b"[]",
        "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal arr",
    ),
    (lambda body: b"", "failed to call webhook: 0-length response with status code: 200 and content type: application"),
    (lambda body: {}, "received invalid webhook response: webhook response was absent"),
    (lambda body: None, "received invalid webhook response: webhook response was absent"),
    (
        lambda body: {"response": review(body)["response"]},
        "received invalid webhook response: expected webhook response",
    ),
    (
        lambda body: {**review(body), "apiVersion": "admission.k8s.io/v1beta1"},
        "failed to call webhook: converting (v1beta1",
    ),
    (lambda body: review(body, patch="!!"), "failed to call webhook: illegal base64 data at input byte 0"),
    (lambda body: {**review(body), "response": None}, "received invalid webhook response: webhook response was absent"),
    (lambda body: review(body, uid="x"), 'received invalid webhook response: expected response.uid="'),
    (lambda body: {**review(body), "kind": "Pod"}, 'failed to call webhook: no kind "Pod" is registered for version'),
    (lambda body: review(body, patch="W10="), "received invalid webhook response: validating webhook may not return"),
]


@pytest.mark.parametrize(("answer", "text"), _BROKEN)
def test_answers_that_are_none_fail_the_write(tmp_path: Path, answer: Any, text: str) -> None:
    """Garbage, another request's answer and answers that contradict themselves are a clear 500."""
    with serving(tmp_path, lambda _, body: (200, answer(body))) as service:
        error = refusal(made(configuration(hook(service))), config_map())
    assert (error.code, error.reason) == (500, "InternalError")
    assert error.message.startswith(f'Internal error occurred: failed calling webhook "w.example.com": {text}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"op": "add"}', "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("x", "invalid character 'x' looking for beginning of value"),
    ],
)
def test_a_patch_that_is_none_fails_whatever_the_policy(tmp_path: Path, text: str, message: str) -> None:
    """The failure policy holds for the call, and the patch is read after it."""
    fields = {"patchType": "JSONPatch", "patch": base64.b64encode(text.encode()).decode()}
    with serving(tmp_path, lambda _, body: (200, review(body, **fields))) as service:
        cluster = made(configuration(hook(service, failurePolicy="Ignore"), mutating=True))
        error = refusal(cluster, config_map())
    assert (error.code, error.message) == (500, f"Internal error occurred: {message}")


def test_empty_patches_of_any_kind_change_nothing(tmp_path: Path) -> None:
    """Null and a list without operations are no patch, and their kind does not matter."""
    for text, kind in (("null", "JSONPatch"), ("[]", "Other")):
        fields = {"patchType": kind, "patch": base64.b64encode(text.encode()).decode()}
        with serving(tmp_path, partial(_with_fields, fields)) as service:
            made(configuration(hook(service), mutating=True)).create(config_map())


def _with_fields(fields: Mapping[str, Any], _: str, body: Any) -> tuple[int, Any]:
    return 200, review(body, **fields)


def refusing(cluster: Cluster) -> list[Any]:
    """The requests that the function in the place of a webhook was asked about; it refuses all."""
    asked: list[Any] = []

    def refuse(request: Any) -> bool:
        asked.append(request)
        return False

    cluster.webhook("w.example.com", refuse)
    return asked


def test_connections_are_reviewed_with_their_options() -> None:
    """The object of such a review are the options of the connection, in their own kind; the request has none."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/*", "nodes/proxy"]}
    cluster = made(configuration(hook(rules=[rule])))
    asked = refusing(cluster)
    for path in (
        "p/exec?command=ls&command=-l&stdin=1&tty=0",
        "p/attach?container=c",
        "p/portforward?ports=1,2",
        "p/proxy/a/",
    ):
        cluster.perform(Request.of("GET", f"/api/v1/namespaces/default/pods/{path}"))
    cluster.perform(Request.of("GET", "/api/v1/nodes/n/proxy"))
    assert [(each["kind"]["kind"], each["options"], each["resource"]["resource"]) for each in asked] == [
        ("PodExecOptions", None, "pods"),
        ("PodAttachOptions", None, "pods"),
        ("PodPortForwardOptions", None, "pods"),
        ("PodProxyOptions", None, "pods"),
        ("NodeProxyOptions", None, "nodes"),
    ]
    assert [{name: value for name, value in each["object"].items() if name != "apiVersion"} for each in asked] == [
        {"kind": "PodExecOptions", "stdin": True, "command": ["ls", "-l"]},
        {"kind": "PodAttachOptions", "container": "c"},
        {"kind": "PodPortForwardOptions", "ports": [1, 2]},
        {"kind": "PodProxyOptions", "path": "/a/"},
        {"kind": "NodeProxyOptions"},
    ]


def test_deletions_are_reviewed_with_their_options() -> None:
    """The options of a deletion come from its body or its query."""
    cluster = made(configuration(hook(rules=[{**RULE, "operations": ["DELETE"]}])), config_map("a"))
    asked = refusing(cluster)
    path = "/api/v1/namespaces/default/configmaps/a"
    cluster.perform(Request.of("DELETE", f"{path}?dryRun=All&propagationPolicy=Orphan"))
    cluster.perform(Request.of("DELETE", path, {"gracePeriodSeconds": 3, "dryRun": []}))
    cluster.perform(Request.of("DELETE", path))
    header = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    assert [each["options"] for each in asked] == [
        {**header, "dryRun": ["All"], "propagationPolicy": "Orphan"},
        {**header, "gracePeriodSeconds": 3},
        header,
    ]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (302, "the server responded with the status code 302 but did not return more information"),
        (404, "the server could not find the requested resource"),
        (500, 'an error on the server ("unknown") has prevented the request from succeeding'),
        (503, "the server is currently unable to handle the request"),
    ],
)
def test_other_statuses_fail_the_write(tmp_path: Path, status: int, text: str) -> None:
    """A redirect is not followed, and an error is told."""
    with serving(tmp_path, lambda *_: (status, {})) as service:
        error = refusal(made(configuration(hook(service))), config_map())
    assert error.message.endswith(f"failed to call webhook: {text}")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"warnings": True}, "bool into Go struct field AdmissionResponse.response.warnings of type []string"),
        (
            {"auditAnnotations": ["a"]},
            "array into Go struct field AdmissionResponse.response.auditAnnotations of type map[string]string",
        ),
        ({"allowed": "yes"}, "string into Go struct field AdmissionResponse.response.allowed of type bool"),
        ({"status": 7}, "number into Go struct field AdmissionResponse.response.status of type v1.Status"),
        ({"patch": {"a": 1}}, "object into Go struct field AdmissionResponse.response.patch of type []uint8"),
        ({"warnings": ["a", 7]}, "number into Go struct field AdmissionResponse.response.warnings of type string"),
        ({"status": {"code": "9"}}, "string into Go struct field Status.code of type int32"),
        ({"status": {"code": 2**40}}, "number into Go struct field Status.code of type int32"),
        ({"status": {"message": ["a"]}}, "array into Go struct field Status.message of type string"),
        (
            {"status": {"details": {"causes": [1]}}},
            "number into Go struct field StatusDetails.causes of type v1.StatusCause",
        ),
    ],
)
def test_fields_of_wrong_types_fail_the_write(tmp_path: Path, fields: dict[str, Any], text: str) -> None:
    """Answers that kube-apiserver's decoder refuses are refused in its words."""
    with serving(tmp_path, lambda _, body: (200, review(body, **fields))) as service:
        error = refusal(made(configuration(hook(service), mutating=True)), config_map())
    assert error.message.endswith(f"failed to call webhook: json: cannot unmarshal {text}")


def test_failure_policies_of_an_unreachable_webhook() -> None:
    """Under Fail, a 500 names the connection; under Ignore, the write passes."""
    error = refusal(made(configuration(hook())), config_map())
    assert error.message.endswith(
        'Post "https://127.0.0.1:1/x?timeout=2s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    made(configuration(hook(failurePolicy="Ignore"))).create(config_map())


@pytest.mark.slow
def test_a_webhook_that_hangs_is_given_up() -> None:
    """A server that accepts and says nothing costs no more than the timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        slow = hook(timeoutSeconds=1, clientConfig={"url": f"https://127.0.0.1:{port}/x"})
        error = refusal(made(configuration(slow)), config_map())
    assert error.message.endswith(f'Post "https://127.0.0.1:{port}/x?timeout=1s": context deadline exceeded')


def test_certificates_are_verified(tmp_path: Path) -> None:
    """Without the bundle the authority is unknown; a name that the certificate lacks is refused."""
    with serving(tmp_path, lambda _, body: (200, review(body))) as service:
        trusting = hook(service)
        bare = hook(clientConfig={"url": f"{service.url}/hook"})
        error = refusal(made(configuration(bare)), config_map())
        assert "tls: failed to verify certificate: x509: certificate signed by unknown authority" in error.message
        named = {"service": {"namespace": "ops", "name": "hook"}, "caBundle": trusting["clientConfig"]["caBundle"]}
        cluster = made(configuration(hook(clientConfig=named)))
        missing = refusal(cluster, config_map()).message
        assert missing.endswith('Post "https://hook.ops.svc:443/?timeout=2s": service "hook" not found')
        cluster.egress.services["ops/hook"] = service.url
        assert "tls: failed to verify certificate: x509: hostname mismatch" in refusal(cluster, config_map()).message


def test_services_are_found_by_the_map(tmp_path: Path) -> None:
    """A service resolves to an address, under its own name."""
    with serving(tmp_path, lambda _, body: (200, review(body)), names=("hook.ops.svc",)) as service:
        client = {"service": {"namespace": "ops", "name": "hook", "path": "/a"}}
        client |= {"caBundle": hook(service)["clientConfig"]["caBundle"]}
        cluster = made(configuration(hook(clientConfig=client)))
        cluster.egress.services["ops/hook:443"] = service.url
        cluster.create(config_map())
    path, headers, _ = service.requests[0]
    assert (path, headers["host"]) == ("/a?timeout=2s", "hook.ops.svc:443")


def test_both_review_versions(tmp_path: Path) -> None:
    """The first known version is spoken; in the older one the uid is not compared and a patch needs no type."""
    change = patch({"op": "add", "path": "/data", "value": {"x": "y"}})
    del change["patchType"]
    with serving(tmp_path, lambda _, body: (200, review(body, uid="other", **change))) as service:
        old = hook(service, admissionReviewVersions=["v9", "v1beta1", "v1"])
        stored = made(configuration(old, mutating=True)).create(config_map())
    assert stored["data"] == {"x": "y"}
    assert service.requests[0][2]["apiVersion"] == "admission.k8s.io/v1beta1"


def test_the_door_of_a_fork_is_closed() -> None:
    """A fork calls nobody, lets the write pass, and tells what it would have called."""
    cluster = made(configuration(hook()))
    fork = cluster.fork()
    fork.create(config_map("a"))
    calls = fork.uncalled_webhooks()
    assert list(calls.loc[0]) == ["webhook", "w.example.com", "https://127.0.0.1:1/x", "CREATE configmaps default/a"]
    fork.egress.allowed = True
    assert refusal(fork, config_map("b")).code == 500
    assert cluster.uncalled_webhooks().empty


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (None, ""),
        (True, ""),
        (False, "without explanation"),
        ("too big", "denied the request: too big"),
        ({"allowed": False, "status": {"message": "m"}}, "denied the request: m"),
    ],
)
def test_a_function_stands_in_for_a_webhook(said: Any, text: str) -> None:
    """It says yes or no in plain Python, on forks too."""
    cluster = made(configuration(hook()))
    cluster.webhook("w.example.com", lambda request: said)
    if not text:
        cluster.fork().create(config_map())
    else:
        assert text in refusal(cluster.fork(), config_map()).message


def test_a_function_gets_copies_and_may_give_back_the_object() -> None:
    """A function may change its copy of the request; a returned object is stored."""
    cluster = made(configuration(hook(name="c.example.com")), configuration(hook(), mutating=True))

    def add(request: dict[str, Any]) -> dict[str, Any]:
        request["name"] = "spoiled"
        return {**request["object"], "data": {"by": "function", "unknown": "kept"}, "odd": 1}

    seen: list[Any] = []
    cluster.webhook("w.example.com", add)
    cluster.webhook("c.example.com", lambda request: seen.append(request["object"]))
    stored = cluster.create(config_map())
    assert (stored["metadata"]["name"], stored["data"]["by"], "odd" in stored) == ("a", "function", False)
    seen[0]["data"]["by"] = "changed"
    assert cluster.get("configmap", "a", "default")["data"]["by"] == "function"


def test_webhooks_are_called_again_for_what_others_changed() -> None:
    """The first asks to be called again; it is, once, because the second changed the object after it."""
    first = hook(name="a.example.com", reinvocationPolicy="IfNeeded")
    cluster = made(configuration(first, hook(name="b.example.com"), mutating=True))
    calls: list[str] = []

    def named(name: str, key: str) -> Any:
        def function(request: dict[str, Any]) -> Any:
            calls.append(name)
            data = {**(request["object"].get("data") or {}), key: "1"}
            return {**request["object"], "data": data}

        return function

    cluster.webhook("a.example.com", named("a", "x"))
    cluster.webhook("b.example.com", named("b", "y"))
    assert cluster.create(config_map())["data"] == {"x": "1", "y": "1"}
    assert calls == ["a", "b", "a"]


def test_dry_runs_need_webhooks_without_side_effects() -> None:
    """A webhook that does not say that dry runs leave no trace is not called for one."""
    old = configuration(hook(sideEffects="NoneOnDryRun"))
    cluster = made(old)
    cluster.webhook("w.example.com", lambda request: None if request["dryRun"] else "no")
    path = "/api/v1/namespaces/default/configmaps?dryRun=All"
    assert sent(cluster, "POST", path, config_map()).status == 201


def test_match_conditions_and_selectors_of_webhooks() -> None:
    """Conditions and labels decide who is called; conditions that fail are a 403 under Fail."""
    chosen = hook(
        matchConditions=[{"name": "c", "expression": "object.metadata.name == 'hit'"}],
        objectSelector={"matchLabels": {"on": "1"}},
    )
    cluster = made(configuration(chosen))
    cluster.webhook("w.example.com", lambda request: False)
    cluster.create(config_map("hit"))
    cluster.create(config_map("miss", labels={"on": "1"}))
    cluster.delete("configmap", "hit", "default")
    assert refusal(cluster, config_map("hit", labels={"on": "1"})).code == 400
    failing = made(configuration(hook(matchConditions=[{"name": "c", "expression": "object.data.x == ''"}])))
    assert refusal(failing, config_map()).code == 403


def test_configurations_are_not_seen_by_webhooks() -> None:
    """A webhook that refuses everything cannot lock anybody out."""
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    cluster = made(configuration(hook(rules=[everything])))
    cluster.webhook("w.example.com", lambda request: False)
    with pytest.raises(StatusError):
        cluster.create(config_map())
    cluster.delete("validatingwebhookconfiguration", "h")
    cluster.create(config_map())


def test_writes_that_may_call_out_leave_the_event_loop() -> None:
    """The HTTP floor is told which writes may wait for a webhook: those that some rule names."""
    from simkit.engine.http.apiserver import APIServerHandler
    from simkit.meta.message import Request

    handler = APIServerHandler(made(configuration(hook())).engine)
    assert handler.execution_mode(Request.of("POST", "/api/v1/namespaces/default/configmaps", {})).waits
    assert not handler.execution_mode(Request.of("POST", "/api/v1/namespaces/default/secrets", {})).waits
    assert not handler.execution_mode(Request.of("GET", "/api/v1/namespaces/default/configmaps")).waits


@pytest.mark.parametrize("mutating", [False, True])
def test_webhooks_for_which_nobody_waits_any_more_are_not_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutating: bool
) -> None:
    """However many match, and however slow each of them is: the work ends with the request."""
    called, deadline = list[str](), Deadline(60)
    monkeypatch.setattr(webhook, "_AT_ONCE", 1)

    def reply(path: str, sent: Any) -> tuple[int, Any]:
        called.append(path)
        deadline.end()
        return 500, {}

    with serving(tmp_path, reply) as service:
        hooks = [hook(service, f"w{number}.example.com", failurePolicy="Ignore") for number in range(4)]
        cluster = made(configuration(*hooks, mutating=mutating))
        write = Request.of("POST", "/api/v1/namespaces/default/configmaps", config_map("a"))
        assert within(deadline, lambda: cluster.perform(write)).status == 504
    assert len(called) == 1
