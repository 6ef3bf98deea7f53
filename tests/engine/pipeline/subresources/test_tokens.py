"""Service account tokens in process: issued, used, judged, and gone with what they are bound to."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response

PATH = "/api/v1/namespaces/default/serviceaccounts/robot/token"
ISSUER = "https://kubernetes.default.svc"


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def cluster(clock: SimulatedClock) -> Cluster:
    known = StaticTokens({"ann-token": Identity("ann", ("devs",), "7")})
    made = Cluster(options=Options(seed=1, clock=clock, authenticators=(known,)))
    made.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    return made


def asked(cluster: Cluster, **spec: Any) -> Response:
    return cluster.perform(Request.of("POST", PATH, {"spec": spec}))


def token(cluster: Cluster, **spec: Any) -> str:
    response = asked(cluster, **spec)
    assert response.status == 201, response.object
    text: str = response.object["status"]["token"]
    return text


def claims(text: str) -> Mapping[str, Any]:
    part = text.split(".")[1]
    found: Mapping[str, Any] = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def who(cluster: Cluster, text: str) -> Any:
    request = Request.of(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers={"authorization": f"Bearer {text}"}
    )
    response = serve_request(cluster.engine, request)
    return response.object["status"]["userInfo"] if response.status == 201 else response.status


def review(cluster: Cluster, text: str, *audiences: str) -> Any:
    body = {"spec": {"token": text, "audiences": list(audiences)}}
    return cluster.perform(Request.of("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)).object["status"]


def test_no_key_is_made_before_it_is_needed(cluster: Cluster) -> None:
    """A cluster starts without a key, and no token can be good before one was asked for."""
    made = cluster._control_plane.token_key
    assert not made.is_made
    assert who(cluster, "a.b.c") == 401
    token(cluster)
    assert made.is_made


def test_a_token_works_until_it_expires(cluster: Cluster, clock: SimulatedClock) -> None:
    """The token authenticates as its account, on the cluster's clock."""
    text = token(cluster, expirationSeconds=600)
    info = who(cluster, text)
    assert info["username"] == "system:serviceaccount:default:robot"
    assert info["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    identifier = claims(text)["jti"]
    assert info["extra"] == {"authentication.kubernetes.io/credential-id": [f"JTI={identifier}"]}
    clock.advance(661)
    assert who(cluster, text) == 401


def test_forks_share_the_key(cluster: Cluster) -> None:
    """A token of the cluster is good on a fork made before or after; one of a fork dies with its account there."""
    early = cluster.fork()
    text = token(cluster)
    assert who(early, text)["username"].endswith(":robot")
    late = cluster.fork()
    late.delete("serviceaccount", "robot")
    assert who(late, text) == 401
    assert who(cluster, text)["username"].endswith(":robot")


def test_audiences(cluster: Cluster) -> None:
    """A token for others is no credential here, and is judged good for them."""
    text = token(cluster, audiences=["vault"])
    assert who(cluster, text) == 401
    assert review(cluster, text, "vault", "x")["audiences"] == ["vault"]
    refused = review(cluster, text)
    assert "authenticated" not in refused
    assert 'token audiences ["vault"] is invalid' in refused["error"]
    assert text not in refused["error"]


def test_bound_to_a_pod_and_its_node(cluster: Cluster) -> None:
    """A pod's token tells pod and node, and dies with the pod; only pods of that account can be named."""
    node = cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    spec = {"serviceAccountName": "robot", "nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    pod = cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    text = token(cluster, boundObjectRef=reference)
    private = claims(text)["kubernetes.io"]
    assert private["pod"] == {"name": "p", "uid": pod["metadata"]["uid"]}
    assert private["node"] == {"name": "n1", "uid": node["metadata"]["uid"]}
    extra = who(cluster, text)["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    assert extra["authentication.kubernetes.io/node-uid"] == [node["metadata"]["uid"]]
    refused = asked(cluster, boundObjectRef={**reference, "uid": "another"})
    assert refused.status == 409
    assert refused.object["message"].startswith('Operation cannot be fulfilled on Pod "p": the UID in the bound')
    other = {**spec, "serviceAccountName": "other"}
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other"}})
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": other})
    refused = asked(cluster, boundObjectRef={**reference, "name": "q"})
    assert refused.object["message"] == (
        'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.'
    )
    path = "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0"
    assert cluster.perform(Request.of("DELETE", path)).status == 200
    assert who(cluster, text) == 401


def test_nodes_only_with_the_gate(clock: SimulatedClock) -> None:
    """Binding to a node needs a feature gate; such a token dies with the node."""
    reference = {"kind": "Node", "apiVersion": "v1", "name": "n1"}
    for on in (False, True):
        gates = {"ServiceAccountTokenNodeBinding": on}
        cluster = Cluster(options=Options(seed=1, clock=clock, feature_gates=gates))
        cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        response = asked(cluster, boundObjectRef=reference)
        if not on:
            assert "feature-gate is disabled" in response.object["message"]
            continue
        text = response.object["status"]["token"]
        assert who(cluster, text)["username"].endswith(":robot")
        cluster.delete("node", "n1")
        assert who(cluster, text) == 401


def test_mounted_tokens_get_a_year(cluster: Cluster) -> None:
    """The lifetime that kubelets ask for becomes a year for pods, while the answer tells the shorter one."""
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    found = claims(token(cluster, boundObjectRef=reference, expirationSeconds=3607))
    assert found["exp"] - found["iat"] == 365 * 24 * 3600
    assert found["kubernetes.io"]["warnafter"] - found["iat"] == 3607
    for other in ({"expirationSeconds": 3607}, {"boundObjectRef": reference, "expirationSeconds": 3608}):
        found = claims(token(cluster, **other))
        assert found["exp"] - found["iat"] == other["expirationSeconds"]


def test_reviews_of_other_tokens(cluster: Cluster) -> None:
    """Tokens of people are good for this server's own audiences; unknown ones are told as such."""
    assert review(cluster, "ann-token") == {
        "authenticated": True,
        "user": {"username": "ann", "uid": "7", "groups": ["devs", "system:authenticated"]},
        "audiences": [ISSUER],
    }
    assert review(cluster, "ann-token", "elsewhere") == {"user": {}, "error": "invalid bearer token"}
    assert review(cluster, "nobody") == {"user": {}, "error": "invalid bearer token"}


def test_dry_run_and_rights(cluster: Cluster) -> None:
    """A dry run answers with a token too; asking needs the right to create the subresource."""
    assert cluster.perform(Request.of("POST", f"{PATH}?dryRun=All", {})).status == 201
    assert cluster.perform(Request.of("POST", PATH, {}), identity=Identity("ann")).status == 403
