"""Paths for log files and Go profiles: an empty folder of logs, and no profiles.

References
----------
k8s.io/apiserver/pkg/server/routes/profiling.go, k8s.io/kubernetes/pkg/routes/logs.go and Go's net/http/pprof,
release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.errors import PlainError, method_not_allowed, no_path
from simkit.meta.message import Response

PROFILES: Final = "/debug/pprof"
LOGS: Final = "/logs"
_HTML: Final = "text/html; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"
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


def logs(context: RequestContext) -> Response:
    """The list of log files, which is empty. Raises 404 for a file, and 405 for a method other than GET."""
    path = context.info.path
    if context.request.method != "GET":
        raise method_not_allowed()
    if path == LOGS:
        return Response(301, content_type="", headers=[("Location", "logs/")])
    if path != f"{LOGS}/":
        raise no_path()
    return Response(200, b"<pre>\n</pre>\n", _HTML)
