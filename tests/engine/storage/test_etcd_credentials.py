"""Certificates and users of etcd: the right ones read and write, and wrong ones are named when a server starts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.engine.http.certificates import ensure_certificates
from simkit.meta.errors import SimkitError
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed

pytestmark = [pytest.mark.skipif(not installed() or shutil.which("etcdctl") is None, reason=MISSING), pytest.mark.slow]
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}"
Serve = Callable[..., simkit.Cluster]


@pytest.fixture
def serve() -> Iterator[Serve]:
    made: list[simkit.Cluster] = []

    def served(**options: object) -> simkit.Cluster:
        made.append(simkit.Cluster(options=Options(**options)))  # type: ignore[arg-type]
        return made[-1]

    yield served
    for each in made:
        each.close()


def test_certificates(tmp_path: Path, serve: Serve) -> None:
    """An etcd that asks for client certificates serves who has one; others are told, within seconds."""
    pki = ensure_certificates(tmp_path / "pki")
    etcd = EtcdServer(
        tmp_path / "data",
        *("--cert-file", str(pki.certificate), "--key-file", str(pki.key)),
        *("--client-cert-auth", "--trusted-ca-file", str(pki.authority)),
        scheme="https",
    )
    right = {
        "etcd_cafile": str(pki.authority),
        "etcd_certfile": str(pki.admin_certificate),
        "etcd_keyfile": str(pki.admin_key),
    }
    etcd.endpoints = EtcdEndpoints([etcd.url], "/registry", pki.authority, pki.admin_certificate, pki.admin_key)
    etcd.start()
    try:
        serve(storage=f"etcd:{etcd.url}", **right).apply(MAP)
        assert serve(storage=f"etcd:{etcd.url}", **right).get("configmap", "a")["data"] == {"x": "1"}
        with pytest.raises(SimkitError, match=r"cannot use etcd at 127\.0\.0\.1:\d+: .*are the certificates right"):
            serve(storage=f"etcd:{etcd.url}", etcd_cafile=str(pki.authority))
        other = ensure_certificates(tmp_path / "other")
        with pytest.raises(SimkitError, match="are the certificates right"):
            serve(storage=f"etcd:{etcd.url}", **{**right, "etcd_cafile": str(other.authority)})
    finally:
        etcd.kill()


def test_users(tmp_path: Path, serve: Serve) -> None:
    """A user and a password in the address are used, and a wrong password is named, not shown."""
    etcd = EtcdServer(tmp_path / "data")
    etcd.start()
    for words in ("user add root:secret", "user grant-role root root", "auth enable"):
        subprocess.run(["etcdctl", "--endpoints", etcd.url, *words.split()], check=True, capture_output=True)
    try:
        login = etcd.url.replace("http://", "http://root:secret@")
        serve(storage=f"etcd:{login}").apply(MAP)
        assert serve(storage=f"etcd:{login}").get("configmap", "a")["data"] == {"x": "1"}
        with pytest.raises(SimkitError, match="user name is empty"):
            serve(storage=f"etcd:{etcd.url}")
        with pytest.raises(SimkitError, match="does not take the user and the password") as raised:
            serve(storage=f"etcd:{login}".replace("secret", "guessed"))
        assert "guessed" not in str(raised.value)
    finally:
        etcd.kill()
