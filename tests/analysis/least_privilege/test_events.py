"""Audit logs are read whatever they are wrapped in."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

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


def test_cloud_logging_entries() -> None:
    """The method, the name of the resource and the decision make the event."""
    entry = {
        "insertId": "x",
        "protoPayload": {
            "methodName": "io.k8s.apps.v1.deployments.scale.update",
            "resourceName": "apps/v1/namespaces/dev/deployments/web/scale",
            "authenticationInfo": {"principalEmail": "ann@company.example"},
            "authorizationInfo": [{"granted": False, "permission": "io.k8s.apps.v1.deployments.scale.update"}],
        },
    }
    use = only([entry])
    assert use == AccessRequest(use.identity, Action("update", "apps", "deployments", "scale", "dev", "web"), False)
    assert use.identity.user == "ann@company.example"
    listed = {**entry["protoPayload"], "methodName": "io.k8s.core.v1.nodes.list", "resourceName": "core/v1/nodes"}  # type: ignore[dict-item]
    assert only([{"protoPayload": listed}]).action == Action("list", "", "nodes")


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
