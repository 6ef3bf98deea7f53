"""The exchange of a proxy connection with a pod: the request that the pod receives, and the answer that is passed on.

Follows ``k8s.io/apimachinery/pkg/util/proxy/{upgradeaware,transport}.go`` and ``net/http/httputil``, release 1.30.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from http.client import BadStatusLine, HTTPException, HTTPResponse, RemoteDisconnected
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit

from simkit.engine.egress.proxy_headers import HOP_BY_HOP, UNQUOTED
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.seams import PortHandler
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import quoted
from simkit.meta.message import DROPPED, Request, Response

_NOT_SENT: Final = HOP_BY_HOP | {"authorization", "content-length", "host", "x-forwarded-for", "x-forwarded-uri"}
_USER_PREFIXES: Final = ("impersonate-", "x-remote-")
"""Prefixes of headers that name the user: those of the server, not of the pod."""
_NOT_PASSED_ON: Final = HOP_BY_HOP | {"content-length", "content-type", "date"}
_WITH_BODY: Final = ("POST", "PUT", "PATCH")


def exchange(handler: PortHandler, context: RequestContext, authority: str, *, secure: bool) -> Response:
    """The answer of a port of a pod to a request that is proxied to it.

    ``authority`` is the pod's address and port. Raises 503 where the port does not answer in HTTP, or is asked for TLS.

    Notes
    -----
    Links in pages stay as they are; kube-apiserver makes those that begin with ``/`` point to the proxy again.
    """
    path = _path(context)
    if not path and context.request.method in ("GET", "HEAD"):
        query = _query(context.request)
        return Response(
            301, content_type="", headers=[("Location", f"{quote(context.info.path, safe=UNQUOTED)}/{query}")]
        )
    if secure:
        raise unreachable("http: server gave HTTP response to HTTPS client")
    answer = handler(_sent(context, path or "/"))
    try:
        found = _read(answer, context.request.method)
        body = found.read()
    except RemoteDisconnected:
        raise unreachable("EOF") from None
    except BadStatusLine:
        line = answer.partition(b"\r\n")[0].decode("latin-1")
        raise unreachable(
            f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {quoted(line)}"
        ) from None
    except HTTPException:
        return Response(DROPPED)
    headers = [
        (name, _location(context, authority, value) if name.lower() == "location" else value)
        for name, value in found.getheaders()
        if name.lower() not in _NOT_PASSED_ON
    ]
    return Response(found.status, body, found.getheader("content-type") or "", headers)


def unreachable(reason: str) -> StatusError:
    """The 503 for a request that found no answer."""
    return StatusError(503, "ServiceUnavailable", f"error trying to reach service: {reason}")


def _path(context: RequestContext) -> str:
    """The path at the pod; empty for a request that names no path, not even ``/``."""
    info = context.info
    ends = "/" if info.path.endswith("/") else ""
    return f"/{info.rest}{ends}" if info.rest else ends


def _query(request: Request) -> str:
    return f"?{urlencode(request.query, doseq=True)}" if request.query else ""


def _sent(context: RequestContext, path: str) -> bytes:
    """The bytes of the request that the pod receives."""
    request = context.request
    lines = [f"{request.method} {quote(path, safe=UNQUOTED)}{_query(request)} HTTP/1.1", *_headers(context)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + request.body


def _headers(context: RequestContext) -> Iterator[str]:
    request = context.request
    yield f"Host: {request.header('host')}"
    for name, values in request.headers.items():
        # Some servers take an underscore in the name of a header for a dash.
        if name not in _NOT_SENT and not name.replace("_", "-").startswith(_USER_PREFIXES):
            yield from (f"{name.title()}: {value}" for value in values)
    if request.body or request.method in _WITH_BODY:
        yield f"Content-Length: {len(request.body)}"
    if request.peer:
        yield f"X-Forwarded-For: {', '.join([*request.headers.get('x-forwarded-for', ()), request.peer])}"
    yield f"X-Forwarded-Uri: {quote(context.info.path, safe=UNQUOTED)}"


class _Received:
    """The bytes of an answer, as the connection that ``http.client`` reads from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _read(data: bytes, method: str) -> HTTPResponse:
    found = HTTPResponse(cast(Any, _Received(data)), method=method)
    found.begin()
    return found


def _location(context: RequestContext, authority: str, value: str) -> str:
    """A redirection through the proxy, for one to an absolute path of the same pod."""
    target, info = urlsplit(value), context.info
    if (target.netloc and target.netloc not in (authority, context.request.header("host"))) or target.path[:1] != "/":
        return value
    before = info.path.rstrip("/").removesuffix(f"/{info.rest}" if info.rest else "")
    path = target.path if target.path.startswith(before) else before + target.path
    return target._replace(scheme="", netloc="", path=path).geturl()
