"""The documents with which others verify service account tokens."""

from __future__ import annotations

import jwt
import orjson

from simkit.cluster.cluster import Cluster
from simkit.meta.identity import Identity
from simkit.meta.message import Request


def test_anybody_who_may_can_verify_tokens() -> None:
    """The document names the keys, and an independent library verifies a token with them."""
    cluster = Cluster(seed=1)
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    request = Request.of("GET", "/.well-known/openid-configuration", headers={"host": "api.example:6443"})
    response = cluster.perform(request)
    assert ("Cache-Control", "public, max-age=3600") in response.headers
    assert response.object == {
        "issuer": "https://kubernetes.default.svc",
        "jwks_uri": "https://api.example:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    keys = cluster.perform(Request.of("GET", "/openid/v1/jwks"))
    assert keys.content_type == "application/jwk-set+json"
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    token = cluster.perform(Request.of("POST", path, {"spec": {"audiences": ["vault"]}})).object["status"]["token"]
    key = jwt.PyJWKSet.from_dict(orjson.loads(keys.body)).keys[0]
    claims = jwt.decode(token, key, ["ES256"], audience="vault", issuer="https://kubernetes.default.svc")
    assert claims["sub"] == "system:serviceaccount:default:robot"


def test_permission_to_read_issuer_documents() -> None:
    """Service accounts may, other users may not, unless a role says so."""
    cluster = Cluster(seed=1)
    request = Request.of("GET", "/openid/v1/jwks")
    account = Identity("system:serviceaccount:x:y", ("system:serviceaccounts", "system:authenticated"))
    assert cluster.perform(request, identity=account).status == 200
    assert cluster.perform(request, identity=Identity("ann", ("system:authenticated",))).status == 403
    assert cluster.perform(Request.of("POST", "/openid/v1/jwks", {})).status == 405


def test_strange_hosts_are_not_repeated() -> None:
    """The server's name in a request is repeated only if it can be a host: caches may keep the document."""
    cluster = Cluster(seed=1)
    for host, shown in (
        ("[::1]:6443", "[::1]:6443"),
        ("evil/x?", "localhost"),
        ("a@b", "localhost"),
        ("", "localhost"),
    ):
        request = Request.of("GET", "/.well-known/openid-configuration", headers={"host": host})
        assert cluster.perform(request).object["jwks_uri"] == f"https://{shown}/openid/v1/jwks"
