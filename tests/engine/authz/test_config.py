"""Authorizers by flags and by a configuration file."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authz.config import NamedAuthorizer, ReloadingAuthorizer
from simkit.engine.authz.config_file import load, parse
from simkit.engine.egress.files import SERVER_HASH
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.logic.authorizers.union import AlwaysAllow, AlwaysDeny
from simkit.meta.attributes import Attributes
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.egress.service import serving
from tests.releases import BASE

ASK = Attributes(Identity("ann"), "get", resource="pods", namespace="x")
RELOADS = "apiserver_authorization_config_controller_automatic_reloads_total"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_bytes(b"{}")
    return path


def webhook(config: Path, **changes: Any) -> dict[str, Any]:
    settings = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "matchConditionSubjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(config)},
        **changes,
    }
    return {
        "type": "Webhook",
        "name": "hook",
        "webhook": {name: value for name, value in settings.items() if value is not None},
    }


def document(*authorizers: Mapping[str, Any], version: str = "v1beta1") -> bytes:
    head = {"apiVersion": f"apiserver.config.k8s.io/{version}", "kind": "AuthorizationConfiguration"}
    return orjson.dumps({**head, "authorizers": list(authorizers)})


RBAC = {"type": "RBAC", "name": "rbac"}


def wrong(*authorizers: Mapping[str, Any]) -> str:
    with pytest.raises(SimkitError) as caught:
        parse(BASE, document(*authorizers), "file")
    return str(caught.value)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_a_good_file(config: Path, version: str) -> None:
    """Both versions are read; the times of the cache have defaults."""
    hook, node, rbac = parse(BASE, document(webhook(config), {"type": "Node", "name": "node"}, RBAC, version=version))
    assert [(each.type, each.name) for each in (hook, node, rbac)] == [
        ("Webhook", "hook"),
        ("Node", "node"),
        ("RBAC", "rbac"),
    ]
    assert hook.webhook is not None
    assert (hook.webhook.authorized_ttl, hook.webhook.unauthorized_ttl, hook.webhook.timeout) == (300.0, 30.0, 3.0)
    assert hook.webhook.connection.file == str(config)
    plain = webhook(config, connectionInfo={"type": "ClientConfig", "clientConfigFile": str(config)})
    found = parse(BASE, document(plain))[0].webhook
    assert found is not None
    assert found.connection.file == str(config)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"timeout": None}, "authorizers[0].timeout: Required value"),
        ({"timeout": "31s"}, 'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ({"timeout": "-1s"}, 'authorizers[0].timeout: Invalid value: "-1s": must be > 0s and <= 30s'),
        ({"authorizedTTL": "-1m"}, 'authorizers[0].authorizedTTL: Invalid value: "-1m0s": must be > 0s'),
        ({"unauthorizedTTL": "-1s"}, 'authorizers[0].unauthorizedTTL: Invalid value: "-1s": must be > 0s'),
        ({"subjectAccessReviewVersion": None}, "authorizers[0].subjectAccessReviewVersion: Required value"),
        (
            {"subjectAccessReviewVersion": "v2"},
            'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
        ),
        (
            {"matchConditionSubjectAccessReviewVersion": None},
            "authorizers[0].matchConditionSubjectAccessReviewVersion: Required value",
        ),
        (
            {"matchConditionSubjectAccessReviewVersion": "v1beta1"},
            "authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: "
            '"v1beta1": supported values: "v1"',
        ),
        ({"failurePolicy": None}, "authorizers[0].failurePolicy: Required value"),
        (
            {"failurePolicy": "Allow"},
            'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
        ),
        ({"connectionInfo": None}, "authorizers[0].connectionInfo.type: Required value"),
        (
            {"connectionInfo": {"type": "Pigeon"}},
            'authorizers[0].connectionInfo.type: Unsupported value: "Pigeon": '
            'supported values: "InClusterConfig", "KubeConfigFile"',
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile"}},
            "authorizers[0].connectionInfo.kubeConfigFile: Required value",
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "here"}},
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "here": must be an absolute path',
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/absent"}},
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/absent": '
            "error loading file: stat /absent: no such file or directory",
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/"}},
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/": must be a regular file',
        ),
        (
            {"connectionInfo": {"type": "InClusterConfig", "kubeConfigFile": "/x"}},
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/x": '
            "can only be set when type=KubeConfigFile",
        ),
        (
            {"matchConditions": [{"expression": "request.user"}]},
            'authorizers[0].matchConditions[0].expression: Invalid value: "request.user": must evaluate to bool',
        ),
        (
            {"matchConditions": [{"expression": "true"}] * 65},
            "authorizers[0].matchConditions: Too many: 65: must have at most 64 items",
        ),
    ],
)
def test_webhooks_that_are_wrong(config: Path, change: dict[str, Any], why: str) -> None:
    """Every field of a webhook is checked, in kube-apiserver's words."""
    assert why in wrong(webhook(config, **change))


@pytest.mark.parametrize(
    ("authorizers", "why"),
    [
        ([], "authorizers: Required value: at least one authorization mode must be defined"),
        ([{"name": "x"}], "authorizers[0].type: Required value"),
        ([{"type": "Magic", "name": "x"}], 'authorizers[0].type: Unsupported value: "Magic"'),
        ([RBAC, {"type": "RBAC", "name": "b"}], 'authorizers[1].type: Duplicate value: "RBAC"'),
        ([{"type": "RBAC"}], "authorizers[0].name: Required value"),
        ([RBAC, {"type": "Node", "name": "rbac"}], 'authorizers[1].name: Duplicate value: "rbac"'),
        ([{"type": "RBAC", "name": "A_B"}], "authorizer name is invalid: a lowercase RFC 1123 subdomain"),
        ([{"type": "Webhook", "name": "x"}], "authorizers[0].webhook: Required value: required when type=Webhook"),
        (
            [{"type": "RBAC", "name": "x", "webhook": {}}],
            'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
        ),
        ([{**RBAC, "colour": "red"}], 'unknown field "authorizers[0].colour"'),
    ],
)
def test_files_that_are_wrong(authorizers: list[dict[str, Any]], why: str) -> None:
    """Types and names are checked; unknown fields are refused."""
    assert why in wrong(*authorizers)


def test_texts_that_are_no_configuration(tmp_path: Path) -> None:
    """A file of another kind, or none, or no YAML, is refused with its name."""
    for content, why in (
        (b"{", "is no YAML"),
        (b"- a", "holds no configuration"),
        (b"{apiVersion: v1, kind: Pod}", 'no kind "Pod" is registered for version "v1"'),
    ):
        with pytest.raises(SimkitError, match="failed to load AuthorizationConfiguration from file") as caught:
            parse(BASE, content)
        assert why in str(caught.value)
    with pytest.raises(SimkitError, match=r"open .*absent"):
        load(BASE, tmp_path / "absent")


def test_several_webhooks_may_stand_in_one_file(config: Path) -> None:
    """Only webhooks may be repeated."""
    assert len(parse(BASE, document(webhook(config), {**webhook(config), "name": "other"}))) == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"authorization_mode": ()}, "at least one authorization-mode must be passed"),
        ({"authorization_mode": ("Magic",)}, 'authorization-mode "Magic" is not a valid mode'),
        ({"authorization_mode": ("RBAC", "RBAC")}, "has mode specified more than once"),
        ({"authorization_mode": ("ABAC",)}, "authorization-mode ABAC's authorization policy file not passed"),
        ({"authorization_mode": ("Webhook",)}, "authorization-mode Webhook's authorization config file not passed"),
        ({"authorization_policy_file": "x"}, "cannot specify --authorization-policy-file without mode ABAC"),
        (
            {"authorization_webhook_config_file": "x"},
            "cannot specify --authorization-webhook-config-file without mode Webhook",
        ),
        (
            {"authorization_config": "x", "authorization_mode": ("Node", "RBAC")},
            "--authorization-config can not be specified when --authorization-mode",
        ),
        (
            {"authorization_config": "x", "feature_gates": {"StructuredAuthorizationConfiguration": False}},
            "cannot be used without enabling StructuredAuthorizationConfiguration feature flag",
        ),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], why: str) -> None:
    """Modes are known, each stands once, what a mode needs is given, and a file stands alone."""
    with pytest.raises(SimkitError) as caught:
        Cluster(options=Options(**options))
    assert why in str(caught.value)


def test_reloading(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A changed file counts from the next look on; a broken one changes nothing and is told of."""
    path, clock, metrics = tmp_path / "config", SimulatedClock(0), Metrics()
    path.write_bytes(b"deny")

    def build(content: bytes) -> list[NamedAuthorizer]:
        if content == b"broken":
            raise SimkitError("broken")
        return [NamedAuthorizer("X", "x", AlwaysAllow() if content == b"allow" else AlwaysDeny())]

    authorizer = ReloadingAuthorizer(path, build, clock, metrics)
    assert not authorizer.authorize(ASK).allowed
    path.write_bytes(b"allow")
    assert not authorizer.authorize(ASK).allowed, "the next look is a second away"
    clock.advance(1)
    assert authorizer.authorize(ASK).allowed
    assert metrics.counts[RELOADS] == {(SERVER_HASH, "success"): 1}
    path.write_bytes(b"broken")
    clock.advance(1)
    with caplog.at_level(logging.WARNING):
        assert authorizer.authorize(ASK).allowed
    assert "everything stays as it was" in caplog.text
    assert metrics.counts[RELOADS][SERVER_HASH, "failure"] == 1
    last = metrics.gauges["apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds"]
    assert last == {(SERVER_HASH, "success"): 1.0, (SERVER_HASH, "failure"): 2.0}


def test_read_once_a_minute_even_if_it_seems_unchanged(tmp_path: Path) -> None:
    """A file that changed without showing it is noticed after a minute."""
    path, clock = tmp_path / "config", SimulatedClock(0)
    path.write_bytes(b"deny.")

    def build(content: bytes) -> list[NamedAuthorizer]:
        return [NamedAuthorizer("X", "x", AlwaysAllow() if content == b"allow" else AlwaysDeny())]

    authorizer = ReloadingAuthorizer(path, build, clock, Metrics())
    path.write_bytes(b"allow")
    authorizer._file._stamp = authorizer._file._stamped()  # as if size and times were what they had been
    clock.advance(2)
    assert not authorizer.authorize(ASK).allowed
    clock.advance(58)
    assert authorizer.authorize(ASK).allowed


def test_a_cluster_with_a_file(tmp_path: Path) -> None:
    """Webhook first, roles after it: what the service does not know, the roles decide; forks do not call it."""

    def reply(path: str, body: Any) -> tuple[int, Any]:
        user = body["spec"]["user"]
        return 200, {**body, "status": {"allowed": user == "ann", "denied": user == "eve", "reason": "the hook"}}

    with serving(tmp_path, reply) as service:
        hook = webhook(service.kubeconfig(tmp_path / "hook"), failurePolicy="NoOpinion")
        hook["webhook"]["matchConditions"] = [{"expression": "!('system:masters' in request.groups)"}]
        path = tmp_path / "authorization.json"
        path.write_bytes(document(hook, RBAC))
        cluster = Cluster(options=Options(seed=1, authorization_config=path))
        assert cluster.engine.chain_leaves_process
        request = Request.of("GET", "/api/v1/namespaces")
        assert cluster.perform(request, identity=Identity("ann")).status == 200
        refused = cluster.perform(request, identity=Identity("eve"))
        assert (refused.status, refused.object["message"].endswith(": the hook")) == (403, True)
        asked = len(service.requests)
        fork = cluster.fork()
        assert fork.perform(request, identity=Identity("ann")).status == 500
        assert fork.perform(request).status == 200, "administrators are not asked about"
        assert len(service.requests) == asked
        decided = cluster.engine.metrics.counts["apiserver_authorization_decisions_total"]
        assert decided["Webhook", "hook", "allowed"] == 1
        assert decided["Webhook", "hook", "denied"] == 1
