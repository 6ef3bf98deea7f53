"""Configuration files of authentication and authorization, as somebody who runs a server meets them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from simkit.cli import main
from tests.security.served import Served, serving

pytestmark = pytest.mark.slow

AUTHENTICATION = """
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
  - issuer: {{url: "https://issuer.example/{0}", audiences: [simkit]}}
    claimMappings: {{username: {{claim: sub, prefix: ""}}}}
"""
AUTHORIZATION = """
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthorizationConfiguration
authorizers: [{0}]
"""
RBAC = "{type: RBAC, name: rbac}"
NOBODY = "{type: AlwaysDeny, name: nobody}"


def gauge(served: Served, what: str, status: str) -> float:
    """The time when a file was last read with this result; 0 for never."""
    name = f"apiserver_{what}_config_controller_automatic_reload_last_timestamp_seconds"
    text = str(served.ask("GET", "/metrics", token="root-token")[1])
    lines = [line for line in text.splitlines() if line.startswith(name) and f'status="{status}"' in line]
    return float(lines[0].rpartition(" ")[2]) if lines else 0.0


def wait_for(served: Served, what: str, status: str, *, since: float = 0.0) -> float:
    """Return once a file was read again, by somebody's request."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        served.ask("GET", "/api/v1/namespaces", token="unknown.token.here")
        served.ask("GET", "/api/v1/namespaces", token="ann-token")
        if (found := gauge(served, what, status)) > since:
            return found
        time.sleep(0.1)
    raise TimeoutError(f"the {what} file was not read again")


def test_files_are_read_again(tmp_path: Path) -> None:
    """A change counts soon and is told by the gauge; a file that has become wrong changes nothing, and that is told."""
    authentication, authorization = tmp_path / "authentication.yaml", tmp_path / "authorization.yaml"
    authentication.write_text(AUTHENTICATION.format("a"))
    authorization.write_text(AUTHORIZATION.format(RBAC))
    flags = ["--authentication-config", str(authentication), "--authorization-config", str(authorization)]
    with serving(tmp_path, *flags) as served:
        assert served.ask("GET", "/api", token="ann-token")[0] == 200
        assert gauge(served, "authorization", "success") == 0
        authorization.write_text(AUTHORIZATION.format(NOBODY))
        read = wait_for(served, "authorization", "success")
        assert served.ask("GET", "/api", token="ann-token")[0] == 403
        authorization.write_text(AUTHORIZATION.format(RBAC + ", " + RBAC))
        wait_for(served, "authorization", "failure")
        assert served.ask("GET", "/api", token="ann-token")[0] == 403
        authorization.write_text(AUTHORIZATION.format(RBAC))
        wait_for(served, "authorization", "success", since=read)
        assert served.ask("GET", "/api", token="ann-token")[0] == 200
        authentication.write_text(AUTHENTICATION.format("b"))
        wait_for(served, "authentication", "success")
        authentication.write_text("nonsense")
        wait_for(served, "authentication", "failure")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--authorization-config", "{file}", "--authorization-mode", "RBAC"], "can not be specified when"),
        (["--authorization-config", "{file}", "--authorization-webhook-version", "v1"], "can not be specified when"),
        (["--authorization-config", "/nowhere"], "/nowhere"),
        (["--authentication-config", "{file}"], 'no kind "AuthorizationConfiguration" is registered'),
        (["--authentication-config", "{file}", "--oidc-issuer-url", "https://x", "--oidc-client-id", "y"], "exclusive"),
        (
            ["--authentication-config", "{file}", "--feature-gates", "StructuredAuthenticationConfiguration=false"],
            "set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file",
        ),
    ],
)
def test_options_that_exclude_each_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: list[str], message: str
) -> None:
    """The server says so and does not start."""
    file = tmp_path / "file.yaml"
    file.write_text(AUTHORIZATION.format(RBAC))
    given = [flag.format(file=file) for flag in flags]
    assert main(["serve", "--cert-dir", str(tmp_path), "--secure-port", "0", "--insecure-port", "1", *given]) == 2
    assert message in capsys.readouterr().err
