"""Paths for log files, Go profiles and flags: an empty folder of logs, no profiles, and the log level.

References
----------
k8s.io/apiserver/pkg/server/routes/{profiling,flags}.go, k8s.io/kubernetes/pkg/routes/logs.go and Go's net/http/pprof,
release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation.negotiation import check_route
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.errors import PlainError, method_not_allowed, no_path
from simkit.meta.go_number import parse_uint
from simkit.meta.message import NO_SNIFFING, Response

PROFILES: Final = "/debug/pprof"
FLAGS: Final = "/debug/flags"
LOGS: Final = "/logs"
_HTML: Final = "text/html; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"
_FLAGS_INDEX: Final = """\
<html>
<head><title>/debug/flags/</title></head>
<body>
<p>Flags that a PUT to /debug/flags/NAME changes: v</p>
</body>
</html>
"""
_INDEX: Final = """\
<html>
<head><title>/debug/pprof/</title></head>
<body>
<p>This server is no Go process: there are no profiles.</p>
</body>
</html>
"""


def profiles(context: RequestContext) -> Response:
    """The index of profiles, or the answer to a question for symbols. Raises 404 for a profile."""
    path = context.info.path
    if path == PROFILES:
        link = f'<a href="{PROFILES}/">Found</a>.\n\n'.encode() if context.request.method == "GET" else b""
        media = _HTML if context.request.method in ("GET", "HEAD") else ""
        return Response(302, link, media, headers=[("Location", f"{PROFILES}/")])
    name = path.removeprefix(f"{PROFILES}/")
    if name == "symbol":
        return Response(200, b"num_symbols: 1\n", _TEXT)
    if name:
        raise PlainError(404, "Unknown profile\n")
    return Response(200, _INDEX.encode(), _HTML)


def flags(engine: Engine, context: RequestContext) -> Response:
    """The names of flags that can be changed, or the answer to a PUT of the log level."""
    if context.info.path != f"{FLAGS}/v":
        return Response(200, _FLAGS_INDEX.encode(), _HTML)
    status, text = 406, "unsupported http method"
    if context.request.method == "PUT":
        given = context.request.body.decode(errors="replace")
        status, text = 200, f"successfully set klog.logging.verbosity to {given}"
        try:
            engine.verbosity = parse_uint(given, bits=31)
        except ValueError as error:
            status, text = 400, str(error)
    return Response(status, f"{text}\n".encode(), "text/plain", [NO_SNIFFING])


def logs(context: RequestContext) -> Response:
    """The list of log files, which is empty. Raises 404 for a file, and 405 for a method other than GET."""
    path = context.info.path
    if context.request.method != "GET":
        raise method_not_allowed()
    check_route(context.request.header("accept"), [])
    if path == LOGS:
        return Response(301, content_type="", headers=[("Location", "logs/")])
    if path != f"{LOGS}/":
        raise no_path()
    return Response(200, b"<pre>\n</pre>\n", _HTML)
