"""Requests that wait for room, over HTTP: without a thread, and without keeping others waiting."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request
from tests.engine.http.echo import Client

ANN = Identity("ann", ("devs",))
AUTHENTICATORS = (StaticTokens({"ann": ANN, "root": Identity("root", (MASTERS,))}),)


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[tuple[Server, FlowControl, RequestContext]]:
    """A server with one seat, and the request that has it."""
    cluster = Cluster(options=Options(seed=1, max_requests_inflight=1, authenticators=AUTHENTICATORS))
    room = cluster.engine.limits
    assert isinstance(room, FlowControl)
    request = Request.of("GET", "/version")
    held = RequestContext(
        request, parse_request_info("GET", "/version", {}), Identity("ann", ("system:authenticated",))
    )
    room.enter(held)
    serving = ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path)
    with Server(APIServerHandler(cluster.engine), serving) as server:
        yield server, room, held


def asking(server: Server, token: str) -> Client:
    """A client whose request is on its way."""
    assert server.insecure_url
    client = Client(server.insecure_url)
    client.connection.request("GET", "/version", headers={"authorization": f"Bearer {token}"})
    return client


def await_waiting(room: FlowControl, count: int) -> None:
    """Return once so many requests wait."""
    deadline = time.monotonic() + 20
    while room.levels["global-default"].waiting != count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_room_is_waited_for(crowded: tuple[Server, FlowControl, RequestContext]) -> None:
    """A request without room is answered once there is some; an administrator is answered meanwhile."""
    server, room, held = crowded
    waiting = asking(server, "ann")
    await_waiting(room, 1)
    exempt = asking(server, "root")
    assert exempt.connection.getresponse().status == 200
    assert room.levels["global-default"].waiting == 1
    room.leave(held)
    answer = waiting.connection.getresponse()
    assert answer.status == 200
    assert answer.getheader("x-kubernetes-pf-flowschema-uid")
    waiting.close()
    exempt.close()


def test_a_client_that_leaves(crowded: tuple[Server, FlowControl, RequestContext]) -> None:
    """A client that does not wait for its turn loses its place."""
    server, room, held = crowded
    waiting = asking(server, "ann")
    await_waiting(room, 1)
    waiting.close()
    await_waiting(room, 0)
    assert room.rejected == {("global-default", "global-default", "cancelled"): 1}
    room.leave(held)
    assert room.levels["global-default"].executing == 0


@pytest.fixture
def unattended(tmp_path: Path) -> Iterator[tuple[Cluster, Client, Client]]:
    """A server without controllers that has a new namespace, and two clients of it."""
    cluster = Cluster(options=Options(seed=1, controllers=(), authenticators=AUTHENTICATORS))
    for name in ("old", "new"):
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    cluster.create(account("old"))
    serving = ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path)
    with Server(APIServerHandler(cluster.engine), serving) as server:
        assert server.insecure_url
        clients = Client(server.insecure_url), Client(server.insecure_url)
        ask_for_a_pod(clients[0], "old")  # the first of its kind takes longer
        assert clients[0].connection.getresponse().read()
        yield cluster, *clients
        for client in clients:
            client.close()


def account(namespace: str) -> dict[str, Any]:
    """The account of a namespace that pods have by default."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}


def ask_for_a_pod(client: Client, namespace: str = "new") -> None:
    """Send a pod for a namespace."""
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    headers = {"authorization": "Bearer root", "content-type": "application/json"}
    client.connection.request("POST", f"/api/v1/namespaces/{namespace}/pods", json.dumps(pod), headers)


def test_a_pod_waits_for_the_account_of_a_new_namespace(unattended: tuple[Cluster, Client, Client]) -> None:
    """Who makes a namespace and at once a pod in it is not refused because a controller makes the account later."""
    cluster, client, other = unattended
    ask_for_a_pod(client)
    other.connection.request("GET", "/livez")
    assert other.connection.getresponse().status == 200
    cluster.create(account("new"))
    assert client.connection.getresponse().status == 201


@pytest.mark.slow
def test_a_pod_without_an_account_is_refused_in_the_end(unattended: tuple[Cluster, Client, Client]) -> None:
    """The wait ends, and others are answered meanwhile."""
    _, client, other = unattended
    ask_for_a_pod(client)
    other.connection.request("GET", "/livez")
    assert other.connection.getresponse().status == 200
    answer = client.connection.getresponse()
    assert answer.status == 403
    assert "error looking up service account new/default" in json.loads(answer.read())["message"]
