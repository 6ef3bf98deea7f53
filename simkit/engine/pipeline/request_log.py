"""One line of log for each request, at the log level at which kube-apiserver writes one.

Upstream: k8s.io/apiserver/pkg/server/httplog/httplog.go, release 1.30.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.fielderror import quoted
from simkit.meta.message import Response

LOGGED_FROM: Final = 3
"""The log level from which requests are logged."""
_LOG: Final = logging.getLogger("simkit.http")


def log_request(context: RequestContext, response: Response, seconds: float) -> None:
    """Log a request and the status of its answer, as key-value pairs in the format of klog."""
    request = context.request
    pairs = {
        "verb": quoted(context.info.verb.upper() or request.method),
        "URI": quoted(request.uri),
        "latency": quoted(f"{seconds * 1000:.6g}ms"),
        "userAgent": quoted(request.header("user-agent")),
        "resp": response.status,
    }
    _LOG.info('"HTTP" %s', " ".join(f"{name}={value}" for name, value in pairs.items()))


def log_to_standard_error() -> None:
    """Write the lines to standard error, as a server in a process of its own does."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False
