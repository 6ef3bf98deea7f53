"""Policies of a file, one a line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.logic.authorizers.abac import API_VERSION, PolicyFile, load, parse
from simkit.meta.attributes import Attributes
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, Identity

ANN = Identity("ann", ("devs", AUTHENTICATED))
BOB = Identity("bob", (AUTHENTICATED,))
STRANGER = Identity("system:anonymous", ("system:unauthenticated",))


def line(**spec: Any) -> bytes:
    return orjson.dumps({"apiVersion": API_VERSION, "kind": "Policy", "spec": spec})


def allowed(text: bytes, ask: Attributes) -> bool:
    return PolicyFile(parse([text])).authorize(ask).allowed


def get(who: Identity, resource: str = "pods", namespace: str = "x", group: str = "", verb: str = "get") -> Attributes:
    return Attributes(who, verb, group, "v1", resource, namespace=namespace)


def test_everything_must_fit() -> None:
    """User, namespace, resource and group are compared; a star fits all, an empty field only what is empty."""
    policy = line(user="ann", namespace="x", resource="pods", apiGroup="")
    assert allowed(policy, get(ANN))
    assert not allowed(policy, get(BOB))
    assert not allowed(policy, get(ANN, namespace="y"))
    assert not allowed(policy, get(ANN, resource="secrets"))
    assert not allowed(policy, get(ANN, group="apps"))
    assert allowed(line(user="ann", namespace="*", resource="*", apiGroup="*"), get(ANN, "deployments", "y", "apps"))
    assert not allowed(line(user="ann", resource="pods"), get(ANN))
    assert allowed(line(user="ann", resource="pods"), get(ANN, namespace=""))


def test_readonly() -> None:
    """A read-only policy allows get, list and watch."""
    policy = line(user="ann", namespace="*", resource="*", apiGroup="*", readonly=True)
    assert [verb for verb in ("get", "list", "watch", "create", "delete") if allowed(policy, get(ANN, verb=verb))] == [
        "get",
        "list",
        "watch",
    ]


def test_groups_and_stars() -> None:
    """User and group must both fit; a star in either place means everybody who is known, and nobody else."""
    rest = {"namespace": "*", "resource": "*", "apiGroup": "*"}
    assert allowed(line(group="devs", **rest), get(ANN))
    assert not allowed(line(user="bob", group="devs", **rest), get(ANN))
    assert not allowed(line(**rest), get(ANN))
    for star in ({"user": "*"}, {"group": "*"}, {"user": "bob", "group": "*"}):
        assert allowed(line(**star, **rest), get(ANN))
        assert not allowed(line(**star, **rest), get(STRANGER))


def test_paths() -> None:
    """Paths are compared whole, or up to a final star; a policy for resources says nothing about paths."""

    def ask(path: str) -> Attributes:
        return Attributes(ANN, "get", path=path, is_resource=False)

    assert allowed(line(user="ann", nonResourcePath="/healthz"), ask("/healthz"))
    assert not allowed(line(user="ann", nonResourcePath="/healthz"), ask("/healthz/ping"))
    assert allowed(line(user="ann", nonResourcePath="/healthz/*"), ask("/healthz/ping"))
    assert allowed(line(user="ann", nonResourcePath="*"), ask("/anything"))
    assert not allowed(line(user="ann", namespace="*", resource="*", apiGroup="*"), ask("/healthz"))


def test_oldest_form(caplog: pytest.LogCaptureFixture) -> None:
    """Without a version, what is left out stands for anything, and the log says that the form is old."""
    with caplog.at_level(logging.WARNING):
        assert allowed(b'{"user": "ann"}', get(ANN, "deployments", "y", "apps", "delete"))
    assert "carry no apiVersion" in caplog.text
    assert allowed(b'{"user": "ann"}', Attributes(ANN, "get", path="/x", is_resource=False))
    assert not allowed(b'{"user": "ann", "namespace": "x"}', Attributes(ANN, "get", path="/x", is_resource=False))
    assert allowed(b"{}", get(BOB))
    assert not allowed(b"{}", get(STRANGER))
    assert not allowed(b'{"user": "ann", "resource": "pods"}', get(ANN, "secrets"))


def test_reasons_and_rules() -> None:
    """A refusal says that nothing matched; the policies can be listed for a rules review."""
    policies = PolicyFile(parse([line(user="ann", namespace="x", resource="pods", readonly=True)]))
    assert policies.authorize(get(BOB)).reason == "No policy matched."
    rules = policies.rules_for(ANN, "x")
    assert list(rules.resource_rules) == [{"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}]
    assert not policies.rules_for(ANN, "y").resource_rules


def test_files(tmp_path: Path) -> None:
    """Comments and empty lines are passed over; a broken line is named with its number."""
    path = tmp_path / "policy.jsonl"
    path.write_bytes(b"# people\n\n" + line(user="ann", namespace="*", resource="*", apiGroup="*") + b"\n")
    assert len(load(path).policies) == 1
    for broken, why in (
        (b"{", "line 2"),
        (b"[]", "a policy is a JSON object"),
        (b'{"apiVersion": "v1", "kind": "Policy"}', 'no kind "Policy" is registered for version "v1"'),
        (line(user=3), "user is a text"),
    ):
        path.write_bytes(b"# x\n" + broken)
        with pytest.raises(SimkitError, match=r"error reading policy file .*line 2") as caught:
            load(path)
        assert why in str(caught.value)
    with pytest.raises(SimkitError, match="No such file"):
        load(tmp_path / "absent")
