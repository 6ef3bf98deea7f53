"""A served process with every authenticator, and credentials that OpenSSL made."""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from simkit.meta.free_port import free_port

TOKENS = 'root-token,root,root-uid,"system:masters"\nann-token,ann,ann-uid,"devs,ops"\n'
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
EXTENSIONS = {
    "client": "extendedKeyUsage=clientAuth",
    "server": "extendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,IP:127.0.0.1",
    "authority": "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign",
}


def openssl(*arguments: object, text: str = "") -> str:
    """The output of the openssl command. Raises CalledProcessError."""
    command = ["openssl", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Made:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


SIGNS = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
"""What an authority must say of its key, for clients that look."""


def authority(folder: Path, name: str) -> Made:
    """An authority that signs itself."""
    made = Made(folder / f"{name}.crt", folder / f"{name}.key")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req",
        "-x509",
        *curve,
        "-keyout",
        made.key,
        "-out",
        made.certificate,
        "-subj",
        f"/CN={name}",
        "-days",
        "9",
        *SIGNS,
    )
    return made


def certificate(folder: Path, by: Made, subject: str, *, use: str = "client", days: int = 9) -> Made:
    """A certificate for a subject such as ``/O=devs/CN=ann``; a negative number of days is one that has ended."""
    name = subject.strip("/").replace("/", "-").replace("=", "-").replace(":", "-") + f"-{use}{days}-{by.key.stem}"
    made, request = Made(folder / f"{name}.crt", folder / f"{name}.key"), folder / f"{name}.csr"
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", made.key, "-out", request, "-subj", subject)
    extensions = folder / f"{name}.ext"
    extensions.write_text(EXTENSIONS[use])
    sign = ("x509", "-req", "-in", request, "-CA", by.certificate, "-CAkey", by.key, "-CAcreateserial")
    openssl(*sign, "-out", made.certificate, "-days", days, "-extfile", extensions)
    return made


@dataclass
class Served:
    """The process, and how one talks to it."""

    port: int
    folder: Path
    clients: Made
    proxies: Made
    log: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = "",
        proof: Made | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and decoded body of one request over a connection of its own."""
        context = ssl.create_default_context(cafile=str(self.folder / "made" / "ca.crt"))
        if proof is not None:
            context.load_cert_chain(proof.certificate, proof.key)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=30)
        given = {"Authorization": f"Bearer {token}"} if token else {}
        sent = None if body is None else orjson.dumps(body)
        try:
            connection.request(method, path, sent, {**given, "Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return response.status, orjson.loads(content) if content.startswith(b"{") else content.decode()

    def root(self, method: str, path: str, body: Any = None) -> Any:
        """The answer that an administrator gets; it must succeed."""
        status, answer = self.ask(method, path, body, token="root-token")
        assert status < 300, answer
        return answer

    def who(self, **credential: Any) -> tuple[str, list[str]] | int:
        """User and groups as the server sees them, or the status of its refusal."""
        status, answer = self.ask("POST", WHO, {}, **credential)
        if status != 201:
            return status
        user = answer["status"]["userInfo"]
        return user["username"], user["groups"]

    def account(self, namespace: str, name: str) -> None:
        """Make a service account, and its namespace where it is missing."""
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, token="root-token")
        self.root("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})

    def token(self, namespace: str, name: str, **spec: Any) -> str:
        """A token of an account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token: str = self.root("POST", path, {"spec": spec})["status"]["token"]
        return token


def claims_of(token: str) -> dict[str, Any]:
    """The claims of a token, unverified."""
    part = token.split(".")[1]
    found: dict[str, Any] = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Served]:
    """The process; it ends with the block, and what it wrote is in ``log``."""
    clients, proxies = authority(folder, "clients"), authority(folder, "proxies")
    tokens, log, port = folder / "tokens.csv", folder / "log", free_port()
    tokens.write_text(TOKENS)
    command = [sys.executable, "-m", "simkit.cli", "serve", "--secure-port", str(port), *flags]
    command += ["--cert-dir", str(folder / "made"), "--kubeconfig-out", str(folder / "kubeconfig")]
    command += ["--token-auth-file", str(tokens), "--client-ca-file", str(clients.certificate)]
    command += ["--requestheader-client-ca-file", str(proxies.certificate)]
    command += ["--requestheader-allowed-names", "front", "--enable-bootstrap-token-auth"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with log.open("w") as told:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, env=environment)
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            assert "is ready" in ready, log.read_text()
            yield Served(port, folder, clients, proxies, log)
        finally:
            process.terminate()
            process.wait(20)
            process.stdout.close()
