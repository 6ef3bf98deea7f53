"""Requests to servers behind registered group versions carry the user and the authorized request, and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.egress.call import Caller
from simkit.engine.egress.files import ClientConfig
from simkit.engine.egress.policy import Unreachable
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity
from simkit.meta.message import Request, Response
from tests.engine.egress.service import Service, serving

ROOT = Identity("root", (MASTERS, AUTHENTICATED), extra={"acme.com/team": ("blue", "grün")})
THINGS = "/apis/example.com/v1/namespaces/a/things"


class Front:
    """A server in front of one that records what it is sent."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(seed=1)
        self.status = 200
        self.service: Service

    def register(self) -> None:
        self.cluster.egress.services["default/s"] = self.service.url.removeprefix("https://")
        self.cluster.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 443}]}}
        )
        bundle = base64.b64encode(self.service.authority.certificate_pem()).decode()
        row = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 500, "versionPriority": 10}
        spec = {**row, "caBundle": bundle, "service": {"namespace": "default", "name": "s"}}
        header = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
        self.cluster.create({**header, "metadata": {"name": "v1.example.com"}, "spec": spec})
        self.cluster.settle()

    def send(self, path: str, headers: Mapping[str, tuple[str, ...]] | None = None, who: Identity = ROOT) -> Response:
        return self.cluster.perform(Request("GET", path, {}, dict(headers or {})), identity=who)

    def seen(self) -> tuple[str, dict[str, str]]:
        """Path and headers of the last request that was sent on."""
        path, headers, _ = self.service.requests[-1]
        return path, headers


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    """A front whose server behind answers with an empty object."""
    made = Front(tmp_path)
    with serving(tmp_path, lambda *_: (made.status, {}), names=("s.default.svc",)) as service:
        made.service = service
        made.register()
        yield made


def test_identity_headers_are_ours(front: Front) -> None:
    """Whatever a client says about who asks is left out, however it is written; who was found out is put in."""
    sent: dict[str, tuple[str, ...]] = {
        "x-remote-user": ("eve",),
        "x-remote-group": ("eves",),
        "x-remote-extra-scopes": ("all",),
        "x_remote_user": ("eve",),
        "x-remote_group": ("eves",),
        "impersonate_user": ("eve",),
        "authorization": ("Bearer secret",),
        "proxy-authorization": ("Basic secret",),
        "sec-websocket-protocol": ("v1, base64url.bearer.authorization.k8s.io.secret",),
        "connection": ("x-keep",),
        "x-keep": ("kept",),
    }
    assert front.send(THINGS, sent).status == 200
    _, headers = front.seen()
    assert headers["x-remote-user"] == "root"
    assert headers["x-keep"] == "kept"
    assert "eve" not in "".join(headers.values())
    assert "secret" not in "".join(headers.values())
    assert not {name for name in headers if "_" in name or name.startswith("impersonate")}


def test_values_are_sent_as_they_are(front: Front) -> None:
    """Names outside of ASCII cross in UTF-8, keys of extra attributes in percent form."""
    front.send(THINGS, who=Identity("björn", (MASTERS,), extra=ROOT.extra))
    _, headers = front.seen()
    assert headers["x-remote-user"].encode("latin-1").decode() == "björn"
    assert headers["x-remote-extra-acme.com%2fteam"].encode("latin-1").decode() == "grün"


@pytest.mark.parametrize("name", ["a\r\nX-Remote-Group: system:masters", "a\nb", "a\x00b"])
def test_a_name_cannot_start_another_header(front: Front, name: str) -> None:
    """A user name with line breaks, as an identity provider might give one, is not sent on."""
    before = len(front.service.requests)
    answer = front.send(THINGS, who=Identity(name, (MASTERS,)))
    assert (answer.status, len(front.service.requests)) == (503, before)
    assert b"invalid header field value" in answer.body


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (f"{THINGS}/x", f"{THINGS}/x"),
        (f"{THINGS}/%78", f"{THINGS}/x"),
        (f"{THINGS}/a%2Fb", f"{THINGS}/a/b"),
        (f"{THINGS}/..%2F..%2Fb", f"{THINGS}/../../b"),
        (f"{THINGS}/%252e", f"{THINGS}/%252e"),
        (f"{THINGS}/a%3Fwatch=1", f"{THINGS}/a%3Fwatch=1"),
        (f"{THINGS}/a%23b", f"{THINGS}/a%23b"),
        (f"{THINGS}/a%0D%0AX:y", f"{THINGS}/a%0D%0AX:y"),
        (f"{THINGS}/%C3%BC", f"{THINGS}/%C3%BC"),
    ],
)
def test_paths_are_written_anew(front: Front, asked: str, sent: str) -> None:
    """The forwarded path is the authorized one: one decoding, one way to write it."""
    front.send(asked)
    assert front.seen()[0] == sent


def test_redirects_are_not_followed(front: Front) -> None:
    """A server behind sends neither us nor the client elsewhere."""
    front.status, front.service.location = 302, f"{front.service.url}/elsewhere"
    answer = front.send(THINGS)
    assert (answer.status, answer.body) == (
        502,
        b"the backend attempted to redirect this request, which is not permitted",
    )
    assert front.seen()[0] == THINGS
    assert not [name for name, _ in answer.headers if name.lower() == "location"]


def test_calls_follow_no_redirects(front: Front, tmp_path: Path) -> None:
    """Webhooks and identity providers are asked at the address that was given, and at no other."""
    front.status, front.service.location = 307, f"{front.service.url}/elsewhere"
    caller = Caller(ClientConfig(f"{front.service.url}/hook", front.service.authority.certificate_pem()))
    with pytest.raises(Unreachable, match="the answer has status 307"):
        caller.post(b"{}")
    with pytest.raises(Unreachable, match="the answer has status 307"):
        caller.get()
    assert front.seen()[0] == "/hook"
