"""Attempts to get more rights that were executed on kube-apiserver, step by step against ``serve --load`` over HTTPS.

Who asks is told as the recorder told it, by a trusted client: here a front proxy with a certificate of its own
authority. What a step hands to the attacker is then used for real: tokens as bearer tokens, and the certificate that was
signed as the client certificate of a connection. Two recorded bodies end in "rest as read": those are sent as a client
sends them, the object as it was read with the recorded part in it. Bodies of token requests were not recorded; they are
bound to the pod that their note names. Each attempt is undone before the next, as in the recording.
"""

from __future__ import annotations

import base64
import http.client
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from simkit.engine.http.keypair import KeyPair, make_authority
from simkit.meta.free_port import free_port
from tests.analysis.escalation.test_recorded import EXTRA, attempts
from tests.shared import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.slow]

NOW = datetime.now(UTC)
SPAN = (NOW - timedelta(days=1), NOW + timedelta(days=30))
CERTIFICATES = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
REST_AS_READ = "…"
ROOT = {"user": "recorder", "groups": ["system:masters"]}


@dataclass
class World:
    """A served dump, a proxy that it trusts, and what has to be undone."""

    port: int
    folder: Path
    proxy: http.client.HTTPSConnection
    tokens: dict[str, str] = field(default_factory=dict)
    certificates: dict[str, ssl.SSLContext] = field(default_factory=dict)
    keys: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    undone: list[tuple[str, str, Any]] = field(default_factory=list)

    def send(self, identity: Mapping[str, Any], step: Mapping[str, Any], body: Any) -> tuple[int, Any]:
        """Status and decoded body of a step's answer, asked for with the best credential that there is."""
        sent = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
        user, connection = identity["user"], self.proxy
        headers = {"content-type": step.get("contentType") or "application/json", **(step.get("requestHeaders") or {})}
        if user in self.tokens:
            headers["authorization"] = f"Bearer {self.tokens[user]}"
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.trusting(), timeout=60)
        elif user in self.certificates:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=self.certificates[user], timeout=60
            )
        connection.putrequest(step["method"], step["path"])
        if connection is self.proxy:
            connection.putheader("X-Remote-User", user)
            for group in identity["groups"]:
                connection.putheader("X-Remote-Group", group)
        for name, value in {**headers, "content-length": str(len(sent or b""))}.items():
            connection.putheader(name, value)
        connection.endheaders(sent)
        response = connection.getresponse()
        content = response.read()
        if connection is not self.proxy:
            connection.close()
        return response.status, orjson.loads(content) if content.startswith(b"{") else content

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "certificates" / "ca.crt"))

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return self.send(ROOT, {"method": method, "path": path}, body)

    def remember(self, step: Mapping[str, Any]) -> None:
        """Keep what a step is about to change."""
        path = step["path"].partition("?")[0]
        if step["method"] in ("PUT", "PATCH", "DELETE") and "dryRun" not in step["path"]:
            whole = path.removesuffix("/ephemeralcontainers").removesuffix("/approval").removesuffix("/scale")
            status, before = self.ask("GET", whole)
            if status == 200:
                self.undone.append(("PUT", whole, before))

    def made(self, path: str, answer: Mapping[str, Any]) -> None:
        """Keep that an object was made."""
        name = (answer.get("metadata") or {}).get("name")
        if name and not path.endswith(("/token", "reviews")) and "dryRun" not in path:
            self.undone.append(("DELETE", f"{path.partition('?')[0]}/{name}", None))

    def undo(self) -> None:
        """Put everything back, the latest first."""
        while self.undone:
            method, path, before = self.undone.pop()
            if method == "PUT":
                status, now = self.ask("GET", path)
                before["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"] if status == 200 else ""
            if method == "DELETE":
                path += "?gracePeriodSeconds=0&propagationPolicy=Background"
            self.ask(method, path, before)
        self.tokens.clear()
        self.certificates.clear()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A process that serves the dump; webhooks were off in the recording, and a loaded server calls none anyway."""
    folder = tmp_path_factory.mktemp("served")
    proxies = make_authority("proxies", SPAN)
    (folder / "proxies.crt").write_bytes(proxies.certificate_pem())
    own = proxies.sign_client("recorder", (), SPAN)
    (folder / "own.pem").write_bytes(own.certificate_pem() + own.key_pem())
    port = free_port()
    command = [sys.executable, "-m", "simkit.cli", "serve", "--secure-port", str(port), "--allow-privileged=true"]
    command += [str(SHARED / "datasets" / "operators-and-teams.json.gz")]
    command += ["--cert-dir", str(folder / "certificates"), "--kubeconfig-out", str(folder / "kubeconfig")]
    command += ["--requestheader-client-ca-file", str(folder / "proxies.crt")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert "is ready" in process.stdout.readline()
        context = ssl.create_default_context(cafile=str(folder / "certificates" / "ca.crt"))
        context.load_cert_chain(folder / "own.pem")
        proxy = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
        yield World(port, folder, proxy)
        proxy.close()
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def own_request(world: World, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The same request for the same subject, with a key that is ours, so that the certificate can be used."""
    pem = base64.b64decode(recorded["spec"]["request"])
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.load_pem_x509_csr(pem).subject)
    made = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    world.keys[recorded["metadata"]["name"]] = key
    return {**recorded, "spec": {**recorded["spec"], "request": base64.b64encode(made).decode()}}


def body_of(world: World, step: Mapping[str, Any], last_pod: str) -> Any:
    """The body of a step."""
    body = step.get("body")
    if step["path"].endswith("/token") and body is None:
        reference = (
            {"kind": "Pod", "apiVersion": "v1", "name": last_pod} if "bound to pod" in step.get("note", "") else None
        )
        return {"spec": {"boundObjectRef": reference}}
    if isinstance(body, dict) and REST_AS_READ in body:
        status, read = world.ask("GET", step["path"].removesuffix("/approval"))
        assert status == 200
        return {**read, **{name: value for name, value in body.items() if name != REST_AS_READ}}
    if step["path"] == CERTIFICATES and step["method"] == "POST":
        assert body is not None
        return own_request(world, body)
    return body


def use_certificate(world: World, user: str, name: str) -> None:
    """Wait for the certificate of a request, and have the user ask with it from now on."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        status, request = world.ask("GET", f"{CERTIFICATES}/{name}")
        assert status == 200
        if (request.get("status") or {}).get("certificate"):
            break
    certificate = base64.b64decode(request["status"]["certificate"])
    pair = KeyPair.load(certificate, key_pem(world.keys[name]))
    path = world.folder / f"{name}.pem"
    path.write_bytes(pair.certificate_pem() + pair.key_pem())
    context = world.trusting()
    context.load_cert_chain(path)
    world.certificates[user] = context


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def settled(world: World, step: Mapping[str, Any], body: Any) -> tuple[int, Any]:
    """A step's answer; a reading one is repeated for a while, as the recorder waited for what follows from writes."""
    deadline = time.monotonic() + 10
    while True:
        status, answer = world.send(step["identity"], step, body)
        few = isinstance(answer, dict) and len(answer.get("items") or ()) < _least(step)
        if step["method"] != "GET" or (status == step["code"] and not few) or time.monotonic() > deadline:
            return status, answer


def _least(step: Mapping[str, Any]) -> int:
    return 1 if step.get("items") else 0


@pytest.mark.parametrize("attempt", [pytest.param(each, id=each["name"]) for each in attempts()])
def test_recorded_attempt(world: World, attempt: Mapping[str, Any]) -> None:
    """Every step is answered with the recorded code, reason and review; what was listed is there."""
    for obj in EXTRA.get(attempt["name"], []):
        group, _, version = obj["apiVersion"].rpartition("/")
        scope = f"/namespaces/{obj['metadata']['namespace']}" if obj["metadata"].get("namespace") else ""
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        path += f"{scope}/{obj['kind'].lower()}s"
        status, answer = world.ask("POST", path, obj)
        assert status == 201, answer
        world.made(path, answer)
    last_pod = ""
    try:
        for step in attempt["steps"]:
            world.remember(step)
            if step.get("note") == "with the client certificate":
                use_certificate(world, step["identity"]["user"], next(reversed(world.keys)))
            status, answer = settled(world, step, body_of(world, step, last_pod))
            assert status == step["code"], f"{step['method']} {step['path']}: {answer}"
            if not isinstance(answer, dict):
                continue
            if step["method"] == "POST" and status == 201:
                world.made(step["path"], answer)
            if answer.get("kind") == "Pod":
                last_pod = answer["metadata"]["name"]
            elif answer.get("kind") == "PodList" and answer["items"]:
                last_pod = answer["items"][0]["metadata"]["name"]
            elif answer.get("kind") == "TokenRequest":
                namespace, name = step["path"].split("/")[4], step["path"].split("/")[6]
                world.tokens[f"system:serviceaccount:{namespace}:{name}"] = answer["status"]["token"]
            if "reason" in step:
                assert answer["reason"] == step["reason"]
            if "message" in step and status == 403:
                assert answer["message"] == step["message"]
            if "status" in step:
                assert answer["status"]["allowed"] == step["status"]["allowed"]
            if "items" in step and "limit=" not in step["path"] and "kube-system" not in step["path"]:
                assert len(answer["items"]) == step["items"]
    finally:
        world.undo()
