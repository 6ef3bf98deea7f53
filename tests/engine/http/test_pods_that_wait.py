"""Pods that wait for the account of their namespace, over HTTP, without keeping others waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.identity import MASTERS, Identity
from tests.engine.http.echo import Client

AUTHENTICATORS = (StaticTokens({"root": Identity("root", (MASTERS,))}),)


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
