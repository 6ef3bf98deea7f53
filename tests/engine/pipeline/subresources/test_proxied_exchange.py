"""Requests that are proxied to pods on simulated nodes, themselves or behind a service."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import DROPPED, Request, Response
from simkit.seams import PortHandler

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
ANSWERS = {
    81: b"HTTP/1.1 302 Found\r\nLocation: /there?a=b\r\nContent-Length: 0\r\n\r\n",
    82: b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/there\r\nContent-Length: 0\r\n\r\n",
    83: b"",
    84: b"SSH-2.0-x\r\n",
    85: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
    86: b"HTTP/1.1 418 Teapot\r\nTransfer-Encoding: chunked\r\nContent-Type: text/x\r\nX-A: b\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
}


def shown(data: bytes) -> bytes:
    """The answer that shows what was received."""
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)


def always(answer: bytes) -> PortHandler:
    return lambda data: answer


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A web server behind a service, and a pod that shows what it receives at port 80."""
    made = simkit.Cluster(seed=1)
    made.add_nodes(1)
    made.behave(image="mirror", ports={80: shown, **{port: always(answer) for port, answer in ANSWERS.items()}})
    for name in ("nginx", "mirror"):
        container = {"name": "c", "image": name}
        meta = {"name": name, "labels": {"app": name}}
        made.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}})
    spec = {"selector": {"app": "nginx"}, "ports": [{"name": "web", "port": 8080, "targetPort": 80}]}
    made.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec})
    made.settle()
    return made


def asked(cluster: simkit.Cluster, method: str, target: str, body: bytes = b"", **headers: str) -> Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return cluster.perform(Request.of(method, target, body, headers=sent))


@pytest.mark.parametrize("name", ["web", "web:web", "web:8080", "http:web:web"])
def test_a_service_answers_with_the_page_of_its_pod(cluster: simkit.Cluster, name: str) -> None:
    """The service is named alone where its port has no name, with the name or number of a port, or with a scheme."""
    answer = asked(cluster, "GET", f"{SERVICES}/{name}/proxy/")
    if name == "web":
        assert answer.status == 503
    else:
        assert (answer.status, answer.content_type, b"nginx" in answer.body) == (200, "text/html", True)
    assert asked(cluster, "GET", f"{PODS}/nginx/proxy/nothing").status == 404


def test_the_pod_receives_path_query_body_and_headers(cluster: simkit.Cluster) -> None:
    """What names the user, and what belongs to the connection alone, stays here."""
    given = {"host": "me", "x_own": "1", "authorization": "Bearer x", "impersonate_uid": "", "connection": "close"}
    path = f"{PODS}/mirror:80/proxy/a%20b/"
    answer = asked(cluster, "PUT", f"{path}?c=d&c=e%26", b"[1]", **given)
    head, _, body = answer.body.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "PUT /a%20b/?c=d&c=e%26 HTTP/1.1"
    assert sorted(lines[1:]) == [
        "Content-Length: 3",
        "Content-Type: application/json",
        "Host: me",
        "X-Forwarded-Uri: " + path,
        "X-Own: 1",
    ]
    assert body == b"[1]"


def test_a_path_without_end_is_redirected_to_its_folder(cluster: simkit.Cluster) -> None:
    """A page could not link to others otherwise; requests that change something go to the folder themselves."""
    answer = asked(cluster, "GET", f"{PODS}/nginx/proxy?a=b")
    assert (answer.status, answer.headers) == (301, [("Location", f"{PODS}/nginx/proxy/?a=b")])
    assert asked(cluster, "POST", f"{PODS}/mirror/proxy", b"1").body.startswith(b"POST / HTTP/1.1")


def test_redirections_of_the_pod_lead_through_the_proxy(cluster: simkit.Cluster) -> None:
    """Those to other hosts stay as they are."""
    own = asked(cluster, "GET", f"{PODS}/mirror:81/proxy/x/y")
    assert own.headers == [("Location", f"{PODS}/mirror:81/proxy/there?a=b")]
    other = asked(cluster, "GET", f"{PODS}/mirror:82/proxy/x")
    assert other.headers == [("Location", "http://elsewhere.example/there")]


def test_answers_arrive_whole_or_not_at_all(cluster: simkit.Cluster) -> None:
    """Chunks are put together, headers are kept, and a connection that ends too early is dropped."""
    whole = asked(cluster, "GET", f"{PODS}/mirror:86/proxy/")
    assert (whole.status, whole.body, whole.content_type) == (418, b"hi", "text/x")
    assert whole.headers == [("X-A", "b")]
    assert asked(cluster, "GET", f"{PODS}/mirror:85/proxy/").status == DROPPED


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mirror:83", "EOF"),
        ("mirror:84", 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-x"'),
        ("https:nginx:80", "http: server gave HTTP response to HTTPS client"),
        ("nginx:81", "connect: connection refused"),
        ("nginx:99999999", "connect: connection refused"),
        ("nginx:web", "connect: connection refused"),
    ],
)
def test_ports_that_do_not_answer(cluster: simkit.Cluster, name: str, reason: str) -> None:
    answer = asked(cluster, "GET", f"{PODS}/{name}/proxy/")
    assert answer.status == 503
    assert answer.object["message"].startswith("error trying to reach service: ")
    assert answer.object["message"].endswith(reason)


def test_a_pod_that_does_not_run_does_not_answer(cluster: simkit.Cluster) -> None:
    merge = "application/merge-patch+json"
    patch = Request.of("PATCH", f"{PODS}/mirror/status", {"status": {"phase": "Failed"}}, content_type=merge)
    assert cluster.perform(patch).succeeded
    assert "connection refused" in asked(cluster, "GET", f"{PODS}/mirror:80/proxy/").object["message"]
