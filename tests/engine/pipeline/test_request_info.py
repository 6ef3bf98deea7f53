"""Paths as request attributes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.engine.pipeline.request_info import RequestInfo, parse_request_info
from simkit.meta.domain import RBAC_GROUP

pytestmark = pytest.mark.slow

ROLES = f"/apis/{RBAC_GROUP}/v1/namespaces/dev/roles"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/pods", ("list", "", "pods", "", "", "")),
        ("GET", "/api/v1/namespaces/dev/pods/a", ("get", "", "pods", "", "dev", "a")),
        ("GET", "/api/v1/namespaces/dev/pods/a/log", ("get", "", "pods", "log", "dev", "a")),
        ("POST", "/api/v1/namespaces/dev/pods", ("create", "", "pods", "", "dev", "")),
        ("DELETE", "/api/v1/namespaces/dev/pods", ("deletecollection", "", "pods", "", "dev", "")),
        ("GET", "/api/v1/namespaces/dev", ("get", "", "namespaces", "", "dev", "dev")),
        ("PUT", "/api/v1/namespaces/dev/finalize", ("update", "", "namespaces", "finalize", "dev", "dev")),
        ("PATCH", f"{ROLES}/a%3Ab", ("patch", RBAC_GROUP, "roles", "", "dev", "a:b")),
        ("GET", "/api/v1/watch/namespaces/dev/pods", ("watch", "", "pods", "", "dev", "")),
        ("GET", "/api/v1/proxy/namespaces/dev/pods/a/exec", ("proxy", "", "pods", "", "dev", "a")),
        ("GET", f"{ROLES}/x%2Fy", ("get", RBAC_GROUP, "roles", "y", "dev", "x")),
    ],
)
def test_resource_paths(method: str, path: str, expected: tuple[str, ...]) -> None:
    """Verb, group, resource, subresource, namespace and name come out of the path."""
    found = parse_request_info(method, path, {})
    assert found.is_resource
    got = (found.verb, found.group, found.resource, found.subresource, found.namespace, found.name)
    assert got == expected


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz", "/version/"])
def test_other_paths(path: str) -> None:
    """Paths that are too short to name a resource are not resources; the verb is the method."""
    found = parse_request_info("GET", path, {})
    assert (found.is_resource, found.verb) == (False, "get")


def test_lists_take_a_name_from_the_selector_and_deletes_do_not() -> None:
    """``metadata.name=x`` limits a list or watch to a name; a collection delete stays a collection delete."""
    query = {"fieldSelector": ["metadata.name=x"]}
    assert parse_request_info("GET", "/api/v1/pods", query).name == "x"
    assert parse_request_info("GET", "/api/v1/pods", {**query, "watch": ["1"]}).verb == "watch"
    assert parse_request_info("DELETE", "/api/v1/namespaces/d/pods", query).name == ""
    assert parse_request_info("GET", "/api/v1/watch/namespaces/d/pods", query).name == ""


@pytest.mark.parametrize(
    ("selector", "other", "name"),
    [
        ("metadata.name==x", {}, "x"),
        ("a=b,metadata.name=x", {"limit": ["5"], "labelSelector": ["a in (b)"]}, "x"),
        ("metadata.name!=y,metadata.name=x", {}, "x"),
        ("metadata.name=x\\,y", {}, "x,y"),
        ("metadata.name= x", {}, " x"),
        (" metadata.name=x", {}, ""),
        ("metadata.name=x%y", {}, ""),
        ("metadata.name=..", {}, ""),
        ("metadata.name=x,a", {}, ""),
        ("metadata.name=x", {"limit": ["many"]}, ""),
        ("metadata.name=x", {"timeoutSeconds": [""]}, ""),
        ("metadata.name=x", {"labelSelector": ["a in b"]}, ""),
        ("metadata.name=x", {"labelSelector": [f"a in ({'b,' * 10_000}c)"]}, ""),
    ],
)
def test_names_of_selectors(selector: str, other: Mapping[str, list[str]], name: str) -> None:
    """The name is the one that the list is limited to; where a parameter cannot be read, there is none."""
    assert parse_request_info("GET", "/api/v1/pods", {"fieldSelector": [selector], **other}).name == name


@given(st.sampled_from(["GET", "POST", "DELETE", "TRACE"]), st.text(max_size=60))
def test_every_path_has_a_target(method: str, path: str) -> None:
    """No path makes the reader fail, and a resource request always has a resource."""
    found = parse_request_info(method, "/" + path, {})
    assert isinstance(found, RequestInfo)


def test_the_authorizer_is_asked_what_is_routed() -> None:
    """An encoded slash is a slash for both, so it cannot smuggle a subresource past the authorizer."""
    smuggled = parse_request_info("GET", "/api/v1/namespaces/dev/pods/a%2Fexec", {})
    plain = parse_request_info("GET", "/api/v1/namespaces/dev/pods/a/exec", {})
    assert (smuggled.name, smuggled.subresource) == (plain.name, plain.subresource) == ("a", "exec")
