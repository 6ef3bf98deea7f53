"""Pages about the server itself: its health, and the folder of its logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation.negotiation import check_route
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import PlainError, StatusError, method_not_allowed, no_path
from simkit.meta.message import NO_SNIFFING, Response
from simkit.schema.health_checks import health_checks

# Health endpoints: healthz, livez and readyz, with their checks by name.
# Upstream: k8s.io/apiserver/pkg/server/healthz.go and k8s.io/apiserver/pkg/server/healthz/healthz.go, release 1.30.

_TEXT: Final = "text/plain; charset=utf-8"
_HOOKS: Final = ("poststarthook/", "autoregister-completion")


def _stored(engine: Engine) -> str:
    """The store answers."""
    try:
        engine.store.refresh()
    except StatusError as error:
        return str(error)
    return "" if engine.store.revision >= engine.store.oldest else "the store has lost its history"


_ASKED: Final[Mapping[str, Callable[[Engine], str]]] = {
    "etcd": _stored,
    "etcd-readiness": _stored,
    "shutdown": lambda engine: "process is shutting down" if engine.stopping else "",
}
"""Checks that can fail: each gives the reason, or nothing."""


def names(engine: Engine, endpoint: str) -> Sequence[str]:
    """The checks of an endpoint in the order of verbose answers."""
    return health_checks(engine.catalogue.release, engine.gates, endpoint)


def problem(engine: Engine, endpoint: str, name: str) -> str:
    """The reason why a check fails; empty if it passes. The start may take the grace period of livez."""
    if name in engine.own_checks:
        return engine.own_checks[name]()
    check = _ASKED.get(name)
    if check is not None:
        return check(engine)
    if not name.startswith(_HOOKS) or (endpoint == "livez" and engine.in_grace()):
        return ""
    return "" if engine.started else "not finished"  # the steps at the start, which are done before the server listens


def answer(engine: Engine, context: RequestContext, endpoint: str, name: str) -> Response:
    """The answer of an endpoint, or of one of its checks, to every method."""
    context.matched_path = f"/{endpoint}"
    known = names(engine, endpoint)
    if not name:
        return _checked(engine, context, endpoint, known)
    if name not in known and not (endpoint == "readyz" and name in engine.own_checks):
        raise no_path()
    why = problem(engine, endpoint, name)
    if why:
        raise PlainError(500, f"internal server error: {why}\n")
    return Response(200, b"ok", _TEXT, [NO_SNIFFING])


def _checked(engine: Engine, context: RequestContext, endpoint: str, known: Sequence[str]) -> Response:
    excluded = list(context.request.query.get("exclude", ()))
    lines, failed = [], False
    failing = (name for name, check in engine.own_checks.items() if endpoint == "readyz" and check())
    for name in (*known, *failing):
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
            continue
        passes = not problem(engine, endpoint, name)
        engine.metrics.count("kubernetes_healthchecks_total", name, "success" if passes else "error", endpoint)
        lines.append(f"[+]{name} ok" if passes else f"[-]{name} failed: reason withheld")
        failed = failed or not passes
    unknown = [f'"{name}"' for name in excluded if name not in known]
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {','.join(unknown)}")
    text = "\n".join(lines)
    if failed:
        raise PlainError(500, f"{text}\n{endpoint} check failed\n")
    if "verbose" not in context.request.query:
        return Response(200, b"ok", _TEXT, [NO_SNIFFING])
    return Response(200, f"{text}\n{endpoint} check passed\n".encode(), _TEXT, [NO_SNIFFING])


# The folder of log files, which is empty.
# References: k8s.io/kubernetes/pkg/routes/logs.go, release 1.30.

LOGS: Final = "/logs"
_HTML: Final = "text/html; charset=utf-8"


def logs(behaviour: ServedBehaviour, context: RequestContext) -> Response:
    """The list of log files, which is empty. Raises 404 for a file, and 405 for a method other than GET."""
    path = context.info.path
    if context.request.method != "GET":
        raise method_not_allowed()
    check_route(behaviour, context.request.header("accept"), [])
    if path == LOGS:
        return Response(301, content_type="", headers=[("Location", "logs/")])
    if path != f"{LOGS}/":
        raise no_path()
    return Response(200, b"<pre>\n</pre>\n", _HTML)
