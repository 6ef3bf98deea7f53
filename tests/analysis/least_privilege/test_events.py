"""Audit logs are read whatever they are wrapped in."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.analysis.audit_log.events import read_events
from simkit.analysis.history.timeline import writes_of
from simkit.analysis.least_privilege import AccessRequest, Action, read_access_requests
from simkit.meta.errors import SimkitError

EVENT: dict[str, Any] = {
    "kind": "Event",
    "apiVersion": "audit.k8s.io/v1",
    "auditID": "1",
    "stage": "ResponseComplete",
    "requestURI": "/api/v1/namespaces/dev/pods/web",
    "verb": "get",
    "user": {"username": "ann", "groups": ["devs", "system:authenticated"]},
    "objectRef": {"resource": "pods", "namespace": "dev", "name": "web", "apiVersion": "v1"},
    "responseStatus": {"code": 200},
    "annotations": {"authorization.k8s.io/decision": "allow"},
}
TABLED = {
    "TenantId": "t",
    "AuditId": "1",
    "Stage": "ResponseComplete",
    "Verb": "get",
    "RequestUri": EVENT["requestURI"],
    "User": EVENT["user"],
    "ObjectRef": EVENT["objectRef"],
    "ResponseStatus": EVENT["responseStatus"],
    "Annotations": EVENT["annotations"],
}
TEXT = orjson.dumps(EVENT).decode()
GET = Action("get", "", "pods", "", "dev", "web")


def only(log: Any) -> AccessRequest:
    [use] = read_access_requests(log)
    return use


@pytest.mark.parametrize(
    "wrapped",
    [
        EVENT,
        {"kind": "EventList", "items": [EVENT]},
        {"logEvents": [{"id": "7", "timestamp": 1, "message": TEXT}]},
        {"@timestamp": "2024-01-01", "@message": TEXT},
        {"records": [{"category": "kube-audit", "properties": {"log": TEXT}}]},
        {"properties": {"log": TEXT, "stream": "stdout"}},
        {"Category": "kube-audit", "log_s": TEXT, "stream_s": "stdout"},
        {"tables": [{"columns": [{"name": "Category"}, {"name": "log_s"}], "rows": [["kube-audit", TEXT]]}]},
        {"log": TEXT + "\n", "time": "2024-01-01"},
        {"_source": {"message": TEXT}},
        {"jsonPayload": EVENT},
        {"event": EVENT},
        {"events": [{"message": TEXT, "timestamp": 1}]},
        {"results": [[{"field": "@message", "value": TEXT}]]},
        {"hits": {"hits": [{"_source": {"log": TEXT}}]}},
        {"data": {"result": [{"values": [["1", TEXT]]}]}},
        {"result": {"_raw": TEXT}},
        TABLED,
        {**TABLED, "User": orjson.dumps(EVENT["user"]).decode()},
    ],
    ids=[
        "plain",
        "list",
        "CloudWatch",
        "Insights",
        "Azure",
        "diagnostic",
        "diagnostic table",
        "answer of a query",
        "Fluent Bit",
        "search",
        "payload",
        "forwarded",
        "CloudWatch by the command line",
        "Insights by the command line",
        "search results",
        "Loki",
        "Splunk",
        "Azure table",
        "Azure table of texts",
    ],
)
def test_wrappers_are_taken_off(wrapped: dict[str, Any], tmp_path: Path) -> None:
    """As decoded events, as a line of a file, and as a line behind a time stamp."""
    assert only([wrapped]).action == GET
    for number, text in enumerate((orjson.dumps(wrapped), b"2024-01-01T00:00:00Z " + orjson.dumps(wrapped))):
        path = tmp_path / f"audit-{number}.log"
        path.write_bytes(text + b"\n")
        assert only(path).action == GET


def entry(method: str, name: str, labels: dict[str, str] | None = None, **payload: Any) -> dict[str, Any]:
    """An entry of Cloud Logging."""
    return {
        "insertId": "x",
        "timestamp": "2026-03-03T12:00:00Z",
        "labels": labels or {},
        "protoPayload": {
            "serviceName": "k8s.io",
            "methodName": method,
            "resourceName": name,
            "authenticationInfo": {"principalEmail": "ann@company.example"},
            **payload,
        },
    }


ALLOWED = {
    "authorization.k8s.io/decision": "allow",
    "authorization.k8s.io/reason": "access granted by IAM permissions.",
}
DENIED: dict[str, Any] = {"status": {"code": 7}}


@pytest.mark.parametrize(
    ("logged", "action", "allowed"),
    [
        (
            entry(
                "io.k8s.apps.v1.deployments.scale.update",
                "apps/v1/namespaces/dev/deployments/web/scale",
                authorizationInfo=[{"granted": False}],
            ),
            "update deployments/scale.apps 'web' in dev",
            False,
        ),
        (entry("io.k8s.core.v1.nodes.list", "core/v1/nodes", status={}), "list nodes", True),
        (entry("io.k8s.core.v1.namespaces.finalize.update", "core/v1/namespaces/a/finalize"), None, True),
        (entry("io.example.v1.widgets.get", "example.io/v1/namespaces/dev/widgets/a"), "get widgets.example.io", True),
        (entry("io.k8s.core.v1.pods.exec.create", "core/v1/namespaces/d/pods/w/exec", **DENIED), None, False),
        (entry("io.k8s.core.v1.pods.create", "core/v1/namespaces/d/pods/w", ALLOWED, **DENIED), None, True),
        (entry("io.k8s.get", "apis/apps"), "get /apis/apps", True),
    ],
)
def test_cloud_logging_entries(logged: dict[str, Any], action: str | None, allowed: bool) -> None:
    """The method and the name of the resource make the action; the label decides, else grants, else the outcome."""
    use = only([logged])
    assert str(use.action).startswith(action or "")
    assert use.allowed is allowed
    assert use.identity.user == "ann@company.example"
    exported = {key: value for key, value in logged.items() if key != "protoPayload"}
    assert only([{**exported, "protopayload_auditlog": logged["protoPayload"]}]) == use


def test_cloud_logging_names_of_namespaces() -> None:
    """The namespace is the object itself, also where a subresource of it is written."""
    logged = entry("io.k8s.core.v1.namespaces.finalize.update", "core/v1/namespaces/a/finalize")
    assert only([logged]).action == Action("update", "", "namespaces", "finalize", "", "a")


def test_what_cloud_logging_entries_tell_of_a_write() -> None:
    """Time, client, reason and bodies are those of the event; the code is HTTP's."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    name = "rbac.authorization.k8s.io/v1/namespaces/dev/roles/r"
    client = {"callerIp": "192.0.2.7", "callerSuppliedUserAgent": "kubectl"}
    body = {"@type": "rbac.authorization.k8s.io/v1.Role", **role}
    method = "io.k8s.authorization.rbac.v1.roles.create"
    [event] = read_events([entry(method, name, ALLOWED, requestMetadata=client, request=body, response=body)])
    assert event["requestReceivedTimestamp"] == event["stageTimestamp"] == "2026-03-03T12:00:00Z"
    assert (event["sourceIPs"], event["userAgent"]) == (["192.0.2.7"], "kubectl")
    assert event["annotations"] == ALLOWED
    assert event["requestObject"] == event["responseObject"] == role
    refused = {"kind": "Status", "code": 409}
    codes = [only_code(method, name, response=refused), only_code(method, name, status={"code": 5})]
    assert codes == [409, 404]
    [dry] = read_events([entry(method, name, {"command.gke.io/dryRun": "All"})])
    assert list(writes_of([dry])) == []


def only_code(method: str, name: str, **payload: Any) -> int:
    [event] = read_events([entry(method, name, ALLOWED, **payload)])
    return int(event["responseStatus"]["code"])


def test_parts_of_logs_that_leave_out_reads() -> None:
    """Roles made of them would be too small, so that is told; together with the other part nothing is missing."""
    admin, every = ({"category": f"kube-audit{part}", "properties": {"log": TEXT}} for part in ("-admin", ""))
    activity, access = (
        {**entry("io.k8s.core.v1.pods.get", "core/v1/pods"), "logName": f"projects/p/logs/{name}"}
        for name in (
            "cloudaudit.googleapis.com%2Factivity",
            "cloudaudit.googleapis.com%2Fdata_access",
        )
    )
    for part, other, told in ((admin, every, "kube-audit-admin"), (activity, access, "Admin Activity")):
        with pytest.warns(UserWarning, match=told):
            assert len(list(read_events([part]))) == 1
        assert len(list(read_events([part, other]))) == 2


def test_objects_that_azure_replaced_by_a_text() -> None:
    """The objects are unknown, and the event is read."""
    texts = dict.fromkeys(("requestObject", "responseObject"), "skipped-too-big-size-object")
    for event in ({**EVENT, **texts}, {**TABLED, "RequestObject": "skipped-too-big-size-object"}):
        [found] = read_events([event])
        assert not {"requestObject", "responseObject"} & set(found)


def test_objects_without_line_breaks_between_them() -> None:
    """Amazon Data Firehose writes them so; one that breaks off is told, also inside of a message."""
    wrapped = orjson.dumps({"logEvents": [{"message": TEXT}]})
    assert len(list(read_events(wrapped * 3))) == 3
    with pytest.warns(UserWarning, match="1 line of an audit log breaks off"):
        assert len(list(read_events(wrapped * 2 + wrapped[:200]))) == 2
    with pytest.warns(UserWarning, match="1 line of an audit log breaks off"):
        assert len(list(read_events([{"message": TEXT}, {"message": TEXT[:200]}]))) == 1


def test_files_folders_and_archives(tmp_path: Path) -> None:
    """All files of a folder, packed or not; lines that are no JSON are passed over."""
    other = {**EVENT, "auditID": "2", "verb": "delete"}
    (tmp_path / "a.jsonl").write_bytes(b"starting up\n" + orjson.dumps(EVENT) + b"\n{broken\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(orjson.dumps(other)))
    assert [use.action.verb for use in read_access_requests(tmp_path)] == ["get", "delete"]
    assert only(TEXT).action == GET
    with pytest.raises(SimkitError, match="no audit log"):
        list(read_access_requests(tmp_path / "none"))
    with pytest.raises(SimkitError, match="no audit events"):
        list(read_access_requests([{"hello": "world"}]))


@pytest.mark.parametrize(
    ("change", "action"),
    [
        (
            {"verb": "create", "objectRef": {"resource": "pods", "namespace": "dev", "name": "web"}},
            "create pods in dev",
        ),
        (
            {"verb": "create", "objectRef": {"resource": "pods", "subresource": "exec", "namespace": "d", "name": "w"}},
            "create pods/exec 'w' in d",
        ),
        (
            {
                "verb": "list",
                "requestURI": "/api/v1/namespaces/dev/secrets?fieldSelector=metadata.name%3Ddb&limit=5",
                "objectRef": {"resource": "secrets", "namespace": "dev"},
            },
            "list secrets 'db' in dev",
        ),
        ({"verb": "get", "requestURI": "/metrics?x=y", "objectRef": None}, "get /metrics"),
    ],
)
def test_actions_are_what_the_authorizer_saw(change: dict[str, Any], action: str) -> None:
    """Creation has no name, a field selector has one, a path is a path."""
    assert str(only([{**EVENT, **change}]).action) == action


def test_decisions() -> None:
    """The annotation decides; without it the code does; who was not let in asked for nothing."""
    bare = {key: value for key, value in EVENT.items() if key != "annotations"}
    assert only([bare]).allowed
    assert not only([{**bare, "responseStatus": {"code": 403}}]).allowed
    assert only([{**EVENT, "responseStatus": {"code": 403}}]).allowed, "refused by admission, not by access control"
    assert list(read_access_requests([{**bare, "responseStatus": {"code": 401}}])) == []
    assert list(read_access_requests([{**EVENT, "stage": "RequestReceived"}])) == []
    assert len(list(read_access_requests([EVENT, {**EVENT, "stage": "ResponseStarted"}]))) == 1


def test_google_tells_impersonation_and_paths() -> None:
    """The selector of an authority is whom somebody acts as; a method without a resource asks for a path."""
    payload = {
        "methodName": "io.k8s.get",
        "resourceName": "readyz",
        "authenticationInfo": {"principalEmail": "ann@example.com", "authoritySelector": "bob"},
        "authorizationInfo": [{"granted": True}],
    }
    uses = list(read_access_requests([{"protoPayload": payload}]))
    assert [(use.identity.user, str(use.action)) for use in uses] == [
        ("bob", "get /readyz"),
        ("ann@example.com", "impersonate users 'bob'"),
    ]


def test_lists_of_one_name_are_told_by_the_reference() -> None:
    """The server puts the name of the field selector into it, also where the address is cut off."""
    reference = {"resource": "secrets", "namespace": "dev", "name": "db"}
    event = {**EVENT, "verb": "watch", "requestURI": "/api/v1/namespaces/dev/secrets?watch=tr", "objectRef": reference}
    assert str(only([event]).action) == "watch secrets 'db' in dev"


def test_a_line_that_breaks_off_is_told() -> None:
    """The content of a broken line is unknown, and a role made without it may be too small."""
    log = f"{TEXT}\n{TEXT[:200]}\nnot JSON at all {{\n"
    with pytest.warns(UserWarning, match="1 line of an audit log breaks off"):
        assert only(log).action == GET


def test_acting_with_a_uid_and_attributes_is_a_use() -> None:
    """Each has to be allowed by itself."""
    worn = {"username": "bob", "uid": "7", "extra": {"acme.example/team": ["core", "web"]}}
    uses = list(read_access_requests([{**EVENT, "impersonatedUser": worn}]))
    assert [str(use.action) for use in uses[1:]] == [
        "impersonate users 'bob'",
        "impersonate userextras/acme.example/team.authentication.k8s.io 'core'",
        "impersonate userextras/acme.example/team.authentication.k8s.io 'web'",
        "impersonate uids.authentication.k8s.io '7'",
    ]


def test_impersonation_is_a_use_too() -> None:
    """The request was another's; acting as them was the sender's."""
    worn = {"username": "system:serviceaccount:dev:robot", "groups": ["system:serviceaccounts", "extra"]}
    uses = list(read_access_requests([{**EVENT, "impersonatedUser": worn}]))
    assert [(use.identity.user, str(use.action)) for use in uses] == [
        ("system:serviceaccount:dev:robot", "get pods 'web' in dev"),
        ("ann", "impersonate serviceaccounts 'robot' in dev"),
        ("ann", "impersonate groups 'extra'"),
    ]
