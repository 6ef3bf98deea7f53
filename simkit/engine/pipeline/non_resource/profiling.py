"""Paths for log files and Go profiles: an empty folder of logs, and no profiles.

References
----------
k8s.io/apiserver/pkg/server/routes/profiling.go, k8s.io/kubernetes/pkg/routes/logs.go and Go's net/http/pprof,
release 1.30.
"""

from __future__ import annotations

import sys
from typing import Final

from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.errors import PlainError, no_path
from simkit.meta.message import Response

PROFILES: Final = "/debug/pprof"
LOGS: Final = "/logs"
_HTML: Final = "text/html; charset=utf-8"
_INDEX: Final = """\
<html>
<head><title>/debug/pprof/</title></head>
<body>
<p>This server is no Go process: there are no profiles, but for its <a href="cmdline">command line</a>.</p>
</body>
</html>
"""


def profiles(context: RequestContext) -> Response:
    """The index of profiles, or the command line. Raises 404 for a profile."""
    path = context.info.path
    if path == PROFILES:
        return Response(301, content_type=_HTML, headers=[("Location", f"{PROFILES}/")])
    name = path.removeprefix(f"{PROFILES}/")
    if name == "cmdline":
        return Response(200, "\0".join(sys.argv).encode(), "text/plain; charset=utf-8")
    if name:
        raise PlainError(404, "Unknown profile\n")
    return Response(200, _INDEX.encode(), _HTML)


def logs(context: RequestContext) -> Response:
    """The list of log files, which is empty. Raises 404 for a file."""
    path = context.info.path
    if path == LOGS:
        return Response(301, content_type=_HTML, headers=[("Location", f"{LOGS}/")])
    if path != f"{LOGS}/":
        raise no_path()
    return Response(200, b"<pre>\n</pre>\n", _HTML)
