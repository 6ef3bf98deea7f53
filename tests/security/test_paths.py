"""No way of writing a path, and no header, leads past authentication and authorization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response

HIDDEN = "aGlkZGVuLXZhbHVl"
READER = Identity("reader", ("system:authenticated",))
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "FOO"]


def world() -> Cluster:
    """A cluster where the reader may read config maps of one namespace, and nothing else of anybody."""
    cluster = Cluster(options=Options(seed=1, authenticators=(StaticTokens({"reader-token": READER}),)))
    for name in ("open", "closed"):
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        at = {"name": "thing", "namespace": name}
        cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": at, "data": {"k": HIDDEN}})
        value = "visible" if name == "open" else HIDDEN
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": at, "data": {"k": value}})
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    group = "rbac.authorization.k8s.io"
    at = {"name": "reader", "namespace": "open"}
    cluster.create({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": at, "rules": rules})
    reference = {"apiGroup": group, "kind": "Role", "name": "reader"}
    subjects = [{"kind": "User", "name": "reader", "apiGroup": group}]
    cluster.create(
        {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": at, "roleRef": reference, "subjects": subjects}
    )
    return cluster


WORLD = world()


def send(method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None) -> Response:
    given = {"authorization": "Bearer reader-token", **(headers or {})}
    return serve_request(WORLD.engine, Request.of(method, path, body, headers=given))


def contents(response: Response) -> str:
    if response.stream is None:
        return response.body.decode("utf-8", "replace")
    frames = b"".join(response.stream.poll())
    response.stream.close()
    return frames.decode("utf-8", "replace")


def test_paths_that_the_reader_may_get() -> None:
    """The right that the tests below try to stretch."""
    assert "visible" in contents(send("GET", "/api/v1/namespaces/open/configmaps/thing"))
    assert send("GET", "/api/v1/namespaces/closed/configmaps/thing").status == 403
    assert send("GET", "/api/v1/namespaces/open/secrets/thing").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/open/configmaps/../secrets/thing",
        "/api/v1/namespaces/open/../closed/configmaps/thing",
        "/api/v1/namespaces/open/configmaps/..%2f..%2f..%2fclosed%2fconfigmaps%2fthing",
        "/api/v1/namespaces/open%2f..%2fclosed/configmaps/thing",
        "/api/v1/namespaces/open/configmaps%2f..%2fsecrets/thing",
        "/api/v1//namespaces/closed/configmaps/thing",
        "//api/v1/namespaces/closed/configmaps/thing",
        "/api//v1/namespaces/closed/secrets/thing",
        "/api/v1/namespaces/closed//secrets/thing",
        "/api/v1/namespaces//closed/secrets/thing",
        "/api/v1/namespaces/closed/secrets/thing/",
        "/api/v1/namespaces/closed/secrets/thing//",
        "/api/v1/namespaces/closed/secrets//thing",
        "/API/V1/namespaces/closed/secrets/thing",
        "/Api/v1/Namespaces/closed/Secrets/thing",
        "/api/v1/namespaces/closed/%73ecrets/thing",
        "/api/v1/namespaces/closed/secrets/%74hing",
        "/%61pi/v1/namespaces/closed/secrets/thing",
        "/api/v1/namespaces/closed/secrets/thing%00",
        "/api/v1/namespaces/closed/secrets/thing%20",
        "/api/v1/namespaces/closed/secrets/thing;x=y",
        "/api/v1/namespaces/closed/secrets/thing%3Fx=y",
        "/api/v1/namespaces/closed/secrets/thing#x",
        "/api/v1/namespaces/closed\\secrets\\thing",
        "/./api/v1/namespaces/closed/secrets/thing",
        "/api/v1/./namespaces/closed/secrets/thing",
        "/x/../api/v1/namespaces/closed/secrets/thing",
        "/healthz/../api/v1/namespaces/closed/secrets/thing",
        "/healthz/..%2fapi/v1/namespaces/closed/secrets/thing",
        "/openapi/v3/../../api/v1/secrets",
        "/apis//v1/namespaces/closed/secrets/thing",
        "/apis/v1/namespaces/closed/secrets/thing",
        "/apis/%2e%2e/api/v1/namespaces/closed/secrets",
        "/api/v1/watch/namespaces/closed/secrets/thing",
        "/api/v1/watch/secrets",
        "/api/v1/proxy/namespaces/closed/secrets/thing",
        "/api/v1/namespaces/open/configmaps?fieldSelector=metadata.namespace=closed",
        "/api/v1/configmaps?fieldSelector=metadata.namespace%3Dopen",
        "/api/v1/secrets?namespace=open",
        "/api/v1/namespaces/*/configmaps",
        "/api/v1/namespaces/open,closed/configmaps",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_confusing_paths(method: str, path: str) -> None:
    """However a path is written, what is closed to the reader stays closed."""
    assert HIDDEN not in contents(send(method, path))


PIECES = st.sampled_from(
    [
        *("api", "apis", "v1", "namespaces", "open", "closed", "configmaps", "secrets", "thing", "watch", "proxy"),
        *("", ".", "..", "%2e%2e", "%2f", "..%2f..", "%252f", "Secrets", "SECRETS", "status", "healthz", "metrics"),
        *("*", "thing%00", "thing;a", "thing%3f", " ", "%20", "secrets%2fthing", "open%2fsecrets", "-"),
    ]
)


@pytest.mark.slow
@settings(max_examples=400)
@given(
    st.lists(PIECES, max_size=9), st.sampled_from(METHODS), st.sampled_from(["/", "//", "/./", "%2f"]), st.booleans()
)
def test_random_paths(pieces: list[str], method: str, glue: str, watch: bool) -> None:
    """No path made of suspicious pieces shows what is closed, or changes anything."""
    before = WORLD.engine.store.revision
    path = "/" + glue.join(pieces) + ("?watch=true" if watch else "")
    assert HIDDEN not in contents(send(method, path, body={"data": {"k": "x"}} if method != "GET" else None))
    assert WORLD.engine.store.revision == before


PATHS = st.lists(PIECES, max_size=9).map(lambda pieces: "/" + "/".join(pieces))


@settings(max_examples=150)
@given(PATHS, st.sampled_from(METHODS))
def test_every_path_is_authenticated_first(path: str, method: str) -> None:
    """With a bad credential every path, known or not, is 401."""
    response = serve_request(WORLD.engine, Request.of(method, path, headers={"authorization": "Bearer wrong"}))
    assert response.status == 401


DENYING = Cluster(options=Options(seed=1, authorization_mode=("AlwaysDeny",)))


@settings(max_examples=150)
@given(PATHS, st.sampled_from(METHODS))
def test_every_path_is_authorized_first(path: str, method: str) -> None:
    """Without permissions, every path is 403, known or not: also health, discovery, and paths that do not exist."""
    response = DENYING.perform(Request.of(method, path), identity=READER)
    assert response.status == 403


@pytest.mark.parametrize(
    "header",
    [
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Forwarded-Uri",
        "X-HTTP-Method-Override",
        "X-Method-Override",
        "X-Remote-User",
        "X-Remote-Group",
        "X-Forwarded-User",
        "Impersonate-User",
        "Impersonate-Group",
        "Impersonate-Uid",
        "Impersonate-Extra-Scopes",
    ],
)
@pytest.mark.parametrize("value", ["/api/v1/namespaces/open/configmaps", "GET", "admin", "system:masters"])
def test_headers_open_nothing(header: str, value: str) -> None:
    """Headers that mean something to proxies, or to those who may impersonate, mean no right to anybody else."""
    response = send("GET", "/api/v1/namespaces/closed/secrets/thing", {header: value})
    assert response.status in (403, 500)
    assert HIDDEN not in contents(response)
