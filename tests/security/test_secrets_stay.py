"""Places where no secret may appear: answers, and files that others can read."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http import certificates
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.engine.pipeline.non_resource import paths
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials, Request

if TYPE_CHECKING:
    import pytest

HIDDEN = "hidden-value"
ANN = Identity("ann", ("system:masters",))


def broken(engine: Any, context: Any) -> Any:
    raise KeyError(HIDDEN)


def test_an_error_of_ours_tells_clients_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Over HTTP a client learns that something broke; the log tells what, and so does the answer in process."""
    cluster = Cluster(options=Options(seed=1, authenticators=(StaticTokens({"t": ANN}),)))
    monkeypatch.setattr(paths, "answer", broken)
    with caplog.at_level(logging.ERROR, "simkit.engine"):
        answer = serve_request(cluster.engine, Request.of("GET", "/version", headers={"authorization": "Bearer t"}))
    assert (answer.status, answer.body) == (
        500,
        b"This request caused apiserver to panic. Look in the logs for details.\n",
    )
    assert HIDDEN in caplog.text
    assert HIDDEN in cluster.perform(Request.of("GET", "/version"), identity=ANN).object["message"]


def test_keys_are_private_from_the_beginning(tmp_path: Path) -> None:
    """The folder of certificates is closed to others, keys in it and client configurations are too."""
    folder = tmp_path / "certificates"
    made = certificates.ensure_certificates(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    for key in (made.key, made.admin_key, made.token_key, folder / "ca.key"):
        assert key.stat().st_mode & 0o777 == 0o600
    config = tmp_path / "kubeconfig"
    config.touch(0o644)
    certificates.write_kubeconfig(config, certificates.kubeconfig_document("https://127.0.0.1"))
    assert config.stat().st_mode & 0o777 == 0o600


def test_stores_are_private_from_the_beginning(tmp_path: Path) -> None:
    """The file of a store holds secrets: it, and what SQLite puts beside it, is closed to others."""
    file = tmp_path / "store.db"
    cluster = Cluster(options=Options(seed=1, storage=f"sqlite:{file}"))
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    beside = sorted(tmp_path.glob("store.db*"))
    assert len(beside) > 1
    assert {each.stat().st_mode & 0o777 for each in beside} == {0o600}


def test_credentials_show_in_no_repr() -> None:
    """Objects that hold a secret do not print it."""
    from simkit.engine.aggregation.proxy_handler import ProxyCertificate
    from simkit.engine.egress.files import ClientConfig
    from simkit.engine.egress.policy import Peer

    things: list[object] = [
        ClientConfig("https://x", key=HIDDEN.encode(), token=HIDDEN, password=HIDDEN),
        Peer("h", 1, "n", key=HIDDEN.encode()),
        ProxyCertificate(key=HIDDEN.encode()),
        StaticTokens({HIDDEN: ANN}),
        Credentials(HIDDEN, headers={"authorization": (HIDDEN,)}),
        Request("POST", "/", headers={"authorization": (HIDDEN,)}, body=HIDDEN.encode()),
    ]
    assert HIDDEN not in "".join(map(repr, things))
