"""A whole cluster behind the HTTP floor."""

from __future__ import annotations

import base64
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.request_state import ExecutionMode
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials, Request
from tests.engine.http.echo import Client

if TYPE_CHECKING:
    import pytest


def test_a_served_cluster_knows_its_administrator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The written client configuration is enough to act as an administrator; without it a client is anonymous."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with Cluster(seed=1).serve(kubeconfig=tmp_path / "kubeconfig") as server:
        config = orjson.loads((tmp_path / "kubeconfig").read_bytes())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        decoded = {name: base64.b64decode(text) for name, text in {**cluster, **user}.items() if name.endswith("-data")}
        context = ssl.create_default_context(cadata=decoded["certificate-authority-data"].decode())
        stranger = Client(server.url, context)
        assert stranger.ask("GET", "/api/v1/namespaces").status == 403
        stranger.close()
        for name, content in decoded.items():
            (tmp_path / name).write_bytes(content)
        context.load_cert_chain(tmp_path / "client-certificate-data", tmp_path / "client-key-data")
        admin = Client(server.url, context)
        made = admin.ask("POST", "/api/v1/namespaces", orjson.dumps({"metadata": {"name": "team"}}))
        assert (made.status, made.object["metadata"]["name"]) == (201, "team")
        admin.connection.request("GET", "/api/v1/namespaces?watch=1&timeoutSeconds=1")
        stream = admin.connection.getresponse()
        assert b'"ADDED"' in stream.readline()
        admin.close()


def test_controllers_work_as_long_as_a_cluster_is_served(tmp_path: Path) -> None:
    """Controllers run while the server runs, also after a restart, and not in between."""
    cluster = Cluster(seed=1)

    def looked_after(name: str) -> bool:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        deadline = time.monotonic() + (5 if server.running else 0.3)
        while time.monotonic() < deadline:
            if cluster.list("serviceaccounts", name):
                return True
            time.sleep(0.02)
        return False

    server = cluster.serve(kubeconfig=tmp_path / "kubeconfig")
    try:
        assert looked_after("first")
        server.stop()
        assert not looked_after("second")
        server.start()
        assert looked_after("third")
        assert cluster.list("serviceaccounts", "second")
    finally:
        server.stop()


class _Outside:
    """An authenticator that asks a service outside about tokens."""

    leaves_process = True

    def authenticate(self, credentials: Credentials) -> Identity | None:
        assert not credentials.bearer
        return None


def test_health_does_not_wait_behind_those_whose_tokens_are_looked_up() -> None:
    """Seven hundred clients with tokens that a slow service is asked about took all threads; health waited with them."""
    handler = APIServerHandler(Cluster(options=Options(seed=1, authenticators=(_Outside(),))).engine)
    token = {"authorization": "Bearer x"}
    for path in ("/healthz", "/livez", "/readyz"):
        assert handler.execution_mode(Request.of("GET", path)) is ExecutionMode.INLINE
        assert handler.execution_mode(Request.of("GET", path, headers=token)) is ExecutionMode.WAITING
    assert handler.execution_mode(Request.of("GET", "/version")) is ExecutionMode.WAITING


def test_requests_that_may_block() -> None:
    """Only a read of a revision that has not come yet waits."""
    cluster = Cluster(seed=1)
    handler = APIServerHandler(cluster.engine)
    cluster.list("pods")  # the first request of a kind and verb may take long
    now = int(cluster.engine.store.revision)
    asked = {
        version: handler.execution_mode(Request.of("GET", f"/api/v1/pods?resourceVersion={version}"))
        for version in ("", "0", str(now), str(now + 1), "nonsense", "²")
    }
    assert [version for version, execution_mode in asked.items() if execution_mode is ExecutionMode.WAITING] == [
        str(now + 1)
    ]
    assert handler.execution_mode(Request.of("GET", "/api/v1/pods")) is ExecutionMode.INLINE
