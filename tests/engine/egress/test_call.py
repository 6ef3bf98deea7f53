"""Calls over HTTPS to services that a client configuration names."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.engine.egress.call import Caller
from simkit.engine.egress.files import load_kubeconfig
from simkit.engine.egress.policy import Unreachable
from simkit.engine.http.keypair import make_authority
from simkit.meta.errors import SimkitError
from tests.engine.egress.service import SPAN, serving


def echo(path: str, body: Any) -> tuple[int, Any]:
    return (200 if path == "/authorize" else 404), {"path": path, "body": body}


def test_calls_with_a_token_and_with_a_password(tmp_path: Path) -> None:
    """The service's authority is trusted, the user's credentials are sent."""
    with serving(tmp_path, echo) as service:
        caller = Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config", token="abc")))
        assert orjson.loads(caller.post(b'{"a": 1}')) == {"path": "/authorize", "body": {"a": 1}}
        assert service.requests[-1][1]["authorization"] == "Bearer abc"
        caller = Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config", username="u", password="p")))
        caller.post(b"{}")
        assert service.requests[-1][1]["authorization"] == "Basic " + base64.b64encode(b"u:p").decode()
        assert "abc" not in repr(caller) + repr(caller.endpoint)


def test_calls_with_a_certificate(tmp_path: Path) -> None:
    """A service that insists on certificates gets the one of the configuration."""
    with serving(tmp_path, echo, clients=True) as service:
        pair = service.authority.sign_client("server", (), SPAN)
        inline = {
            "client-certificate-data": base64.b64encode(pair.certificate_pem()).decode(),
            "client-key-data": base64.b64encode(pair.key_pem()).decode(),
        }
        assert Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config", **inline))).get()
        with pytest.raises(Unreachable):
            Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config"))).get()


def test_failures_are_told_apart(tmp_path: Path) -> None:
    """An error status, a strange authority, a wrong name and a closed port all fail, each with its reason."""
    with serving(tmp_path, echo) as service:
        config = service.kubeconfig(tmp_path / "config", route="/other")
        with pytest.raises(Unreachable, match="status 404") as caught:
            Caller(load_kubeconfig(config)).post(b"{}")
        assert caught.value.status == 404
        (tmp_path / "ca.pem").write_bytes(make_authority("another", SPAN).certificate_pem())
        with pytest.raises(Unreachable, match="certificate signed by unknown authority"):
            Caller(load_kubeconfig(config)).post(b"{}")
        config = service.kubeconfig(tmp_path / "config")
        endpoint = load_kubeconfig(config)
        closed = service.url
    with pytest.raises(Unreachable, match=closed):
        Caller(endpoint).post(b"{}")


def test_server_name(tmp_path: Path) -> None:
    """``tls-server-name`` is the name that the certificate is checked for."""
    with serving(tmp_path, echo) as service:
        config = service.kubeconfig(tmp_path / "config")
        document = orjson.loads(config.read_bytes())
        cluster = document["clusters"][0]["cluster"]
        for name, good in (("localhost", True), ("elsewhere", False)):
            cluster["tls-server-name"] = name
            config.write_bytes(orjson.dumps(document))
            if good:
                assert Caller(load_kubeconfig(config)).get()
            else:
                with pytest.raises(Unreachable):
                    Caller(load_kubeconfig(config)).get()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"current-context": "absent"}, "there is no context 'absent'"),
        ({"clusters": []}, "there is no cluster 'it'"),
        ({"clusters": [{"name": "it", "cluster": {"server": "ftp://x"}}]}, "no http or https address"),
        ({"clusters": [{"name": "it", "cluster": {"server": "https://[x"}}]}, "no http or https address"),
        ({"users": [{"name": "me", "user": {"exec": {"command": "x"}}}]}, "may not use 'exec'"),
        ({"users": [{"name": "me", "user": {"client-key-data": "%"}}]}, "client-key-data is no base64"),
        ({"users": [{"name": "me", "user": {"tokenFile": "absent"}}]}, "cannot be read"),
    ],
)
def test_broken_configurations(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    """A configuration that cannot be used says what is wrong with it, and where."""
    document = {
        "clusters": [{"name": "it", "cluster": {"server": "https://x"}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "here", "context": {"cluster": "it", "user": "me"}}],
        "current-context": "here",
        **change,
    }
    path = tmp_path / "config"
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(SimkitError, match=why):
        load_kubeconfig(path)
    with pytest.raises(SimkitError, match="cannot be read"):
        load_kubeconfig(tmp_path / "absent")
