"""The command that runs a server, as a process of its own."""

from __future__ import annotations

import http.client
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cli import main
from simkit.meta.free_port import free_port

pytestmark = pytest.mark.slow

RUN = "import sys; from simkit.cli import main; sys.exit(main())"


@contextmanager
def serving(flags: Sequence[str], stop: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """A running server; gives its ready line, and checks that it ends by itself when told to."""
    process = subprocess.Popen([sys.executable, "-c", RUN, "serve", *flags], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline()
    finally:
        process.send_signal(stop)
        code = process.wait(20)
        process.stdout.close()
    assert code == 0


def asked(connection: http.client.HTTPConnection, path: str, token: str = "") -> tuple[int, Any]:
    """Status and object of one GET."""
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    body = response.read()
    return response.status, orjson.loads(body) if body.startswith(b"{") else body


def test_both_ports(tmp_path: Path) -> None:
    """One process serves HTTPS and plain HTTP with the same users, and its kubeconfig makes an administrator."""
    tokens, config = tmp_path / "tokens.csv", tmp_path / "kubeconfig"
    tokens.write_text("alice-token,alice,alice-uid,devs\n")
    secure, plain = free_port(), free_port()
    flags = ["--secure-port", str(secure), "--insecure-port", str(plain), "--cert-dir", str(tmp_path / "certificates")]
    flags += ["--token-auth-file", str(tokens), "--kubeconfig-out", str(config)]
    with serving(flags) as line:
        assert f"ready at https://127.0.0.1:{secure} and http://127.0.0.1:{plain}\n" in line
        context = ssl.create_default_context(cafile=str(tmp_path / "certificates" / "ca.crt"))
        context.load_cert_chain(tmp_path / "certificates" / "admin.crt", tmp_path / "certificates" / "admin.key")
        for connection in (
            http.client.HTTPConnection("127.0.0.1", plain, timeout=10),
            http.client.HTTPSConnection("127.0.0.1", secure, timeout=10, context=ssl._create_unverified_context()),
        ):
            assert asked(connection, "/version")[0] == 200
            assert asked(connection, "/api/v1/namespaces")[1]["message"].startswith(
                'namespaces is forbidden: User "system:anonymous"'
            )
            assert 'User "alice"' in asked(connection, "/api/v1/namespaces", "alice-token")[1]["message"]
            assert asked(connection, "/version", "nonsense")[0] == 401
            connection.close()
        admin = http.client.HTTPSConnection("localhost", secure, timeout=10, context=context)
        status, found = asked(admin, "/api/v1/namespaces")
        admin.close()
        assert status == 200
        assert "kube-system" in [item["metadata"]["name"] for item in found["items"]]
    assert orjson.loads(config.read_bytes())["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{secure}"


def tokens_in(folder: Path) -> list[str]:
    """Flags for a token of an administrator."""
    (folder / "tokens.csv").write_text("s3cret,root,1,system:masters\n")
    return ["--token-auth-file", str(folder / "tokens.csv")]


def test_always_allow_has_no_anonymous_requests(tmp_path: Path) -> None:
    """With AlwaysAllow among the modes a request without credentials, or with ones of no known sort, is a 401."""
    port = free_port()
    flags = ["--secure-port", "0", "--insecure-port", str(port), "--controllers", "", *tokens_in(tmp_path)]
    flags += ["--authorization-mode", "RBAC,AlwaysAllow", "--anonymous-auth=true", "--cert-dir", str(tmp_path)]
    with serving(flags):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/api", headers={"Authorization": "Basic YTpi"})
        answer = connection.getresponse()
        answer.read()
        found = [answer.status, *(asked(connection, "/api", token)[0] for token in ("", "s3cret"))]
        connection.close()
    assert found == [401, 401, 200]


def test_loaded_objects(tmp_path: Path) -> None:
    """A dump is served as it is, and an interrupt ends the server as well."""
    dump = tmp_path / "dump.yaml"
    dump.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns, uid: kept}\ndata: {k: v}\n")
    port = free_port()
    flags = ["--secure-port", "0", "--insecure-port", str(port), str(dump), "--controllers", ""]
    flags += ["--authorization-mode", "AlwaysAllow", "--cert-dir", str(tmp_path), *tokens_in(tmp_path)]
    with serving(flags, signal.SIGINT) as line:
        assert f"ready at http://127.0.0.1:{port}\n" in line
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        status, found = asked(connection, "/api/v1/namespaces/ns/configmaps/a", "s3cret")
        connection.close()
        assert status == 200
        assert (found["metadata"]["uid"], found["data"]) == ("kept", {"k": "v"})


@pytest.mark.parametrize(("flags", "release"), [([], "1.27"), (["--release", "1.33"], "1.33")])
def test_a_dump_is_served_at_the_release_that_it_tells(tmp_path: Path, flags: list[str], release: str) -> None:
    """A dump says of which release its server was; another one may be asked for."""
    dump, port = tmp_path / "dump.json", free_port()
    told = {"serverVersion": {"major": "1", "minor": "27", "gitVersion": "v1.27.9"}}
    dump.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [], **told}))
    flags = ["--secure-port", "0", "--insecure-port", str(port), str(dump), "--controllers", "", *flags]
    with serving([*flags, "--cert-dir", str(tmp_path), *tokens_in(tmp_path)]):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        status, version = asked(connection, "/version", "s3cret")
        connection.close()
    assert (status, f"{version['major']}.{version['minor']}") == (200, release)


def test_a_file_of_objects_is_served_again(tmp_path: Path) -> None:
    """The objects of a lasting store are there after a restart, and the server's own objects are as they were."""
    port = free_port()
    flags = ["--secure-port", "0", "--insecure-port", str(port), "--storage", f"sqlite:{tmp_path / 'objects.db'}"]
    flags += ["--authorization-mode", "AlwaysAllow", "--cert-dir", str(tmp_path), "--controllers", ""]
    flags += tokens_in(tmp_path)
    made = orjson.dumps({"metadata": {"name": "a"}, "data": {"k": "v"}})
    seen = []
    for _ in range(2):
        with serving(flags):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request(
                "POST", "/api/v1/namespaces/default/configmaps", made, {"Authorization": "Bearer s3cret"}
            )
            answer = connection.getresponse()
            seen.append((answer.status, orjson.loads(answer.read()).get("reason")))
            service = asked(connection, "/api/v1/namespaces/default/services/kubernetes", "s3cret")[1]
            seen.append(service["metadata"]["uid"])
            connection.close()
    assert seen[0::2] == [(201, None), (409, "AlreadyExists")]
    assert seen[1] == seen[3]


HOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
  - name: hook.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {service: {namespace: ops, name: hook}}
    rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
---
apiVersion: v1
kind: Namespace
metadata: {name: ns}
"""


@pytest.mark.parametrize(("more", "status"), [([], 201), (["--service-address", "ops/hook=127.0.0.1:1"], 500)])
def test_a_loaded_server_calls_nobody_unless_told_where(tmp_path: Path, more: list[str], status: int) -> None:
    """The webhooks of a dump are called only by a server that was told where a service is."""
    dump = tmp_path / "dump.yaml"
    dump.write_text(HOOK)
    port = free_port()
    flags = ["--secure-port", "0", "--insecure-port", str(port), str(dump), "--controllers", "", *more]
    flags += ["--authorization-mode", "AlwaysAllow", "--cert-dir", str(tmp_path), *tokens_in(tmp_path)]
    with serving(flags):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        body = orjson.dumps({"metadata": {"name": "a"}})
        headers = {"Content-Type": "application/json", "Authorization": "Bearer s3cret"}
        connection.request("POST", "/api/v1/namespaces/ns/configmaps", body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status == status, content


@pytest.mark.parametrize(("flags", "message"), [
    (["--secure-port", "65536"], "'65536' is no port"),
    (["--anonymous-auth=maybe"], "'maybe' is neither true nor false"),
    (["--feature-gates", "A=x"], "'x' is neither true nor false"),
    (["--nonsense"], "unrecognized arguments: --nonsense"),
    (["--secure-port", "0"], "a server needs a port"),
    (["--token-auth-file", "/nowhere/tokens.csv"], "the token file /nowhere/tokens.csv cannot be read"),
    (["--client-ca-file", "/nowhere/ca.crt"], "/nowhere/ca.crt cannot be read"),
    (["--tls-cert-file", "a.crt"], "must be given together"),
    (["--authorization-mode", "Chance"], "Chance"),
    (["--controllers", "nonsense"], "'nonsense' is not a controller"),
    (["--service-account-signing-key-file", "/dev/null"], "/dev/null holds no private key"),
    (["--release", "0.9"], "0.9"),
    (["--max-requests-inflight=-1"], "--max-requests-inflight can not be negative value"),
    (["--request-timeout=-1s"], "--request-timeout can not be negative value"),
    (["--service-account-issuer="], "service-account-issuer should not be an empty string"),
    (["--service-account-issuer=a", "--service-account-issuer=a"], 'service-account-issuer "a" is already specified'),
    (["--service-account-issuer=an issuer: x"], "contained a ':' but was not a valid URL"),
    (["--service-account-issuer=https://a:port"], "contained a ':' but was not a valid URL"),
    (["--service-account-max-token-expiration=10m"], "must be between 1 hour and 2^32 seconds"),
    (["--service-account-jwks-uri=http://x"], "requires https scheme"),
])  # fmt: skip
def test_wrong_flags(capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: list[str], message: str) -> None:
    """A value that cannot be is refused before anything is served, with what was wrong."""
    assert main(["serve", "--cert-dir", str(tmp_path), "--secure-port", str(free_port()), *flags]) == 2
    assert message in capsys.readouterr().err


def test_a_server_without_a_port_reads_no_dump(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It is refused before anything is loaded."""
    assert main(["serve", "--cert-dir", str(tmp_path), "--secure-port", "0", "/nowhere/dump.yaml"]) == 2
    assert "a server needs a port" in capsys.readouterr().err


def test_a_taken_port_is_told_with_advice_that_helps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Port 0 is not offered: it switches HTTPS off."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        assert main(["serve", "--cert-dir", str(tmp_path), "--secure-port", port, "--controllers", ""]) == 2
    told = capsys.readouterr().err
    assert f"port {port} on 127.0.0.1" in told
    assert "--secure-port 0" not in told
    assert "(0:" not in told


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The help shows the flags by kube-apiserver's names, and how to start."""
    assert main(["serve", "--help"]) == 0
    text = capsys.readouterr().out
    for flag in ("--secure-port", "--token-auth-file", "--authorization-mode", "--enable-bootstrap-token-auth"):
        assert flag in text
    assert "kubectl --kubeconfig kubeconfig get namespaces" in text


def test_light_to_name() -> None:
    """Naming the command loads neither the engine nor a web server."""
    code = "import sys; from simkit.cli import main; main(['serve', '--help']); print([m for m in sys.modules if 'uvi' in m or 'pipeline' in m or 'crypto' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=20)
    assert done.stdout.splitlines()[-1] == b"[]"
