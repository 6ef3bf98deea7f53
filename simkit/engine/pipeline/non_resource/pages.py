"""Pages about the server itself: health, configuration and profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.non_resource import documents
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import JSON, TEXT, YAML, MediaTypeOptions, accepted, check_route
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import api_group
from simkit.meta.errors import PlainError, StatusError, method_not_allowed, no_path, not_acceptable
from simkit.meta.go_number import parse_uint
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


def _started(engine: Engine) -> str:
    """The check that the steps at the start are done; they are done before the server listens."""
    return "" if engine.started else "not finished"


def _staying(engine: Engine) -> str:
    return "process is shutting down" if engine.stopping else ""


_ASKED: Final[Mapping[str, Callable[[Engine], str]]] = {
    "etcd": _stored,
    "etcd-readiness": _stored,
    "shutdown": _staying,
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
    return _started(engine)


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


# Paths for log files, Go profiles and flags: an empty folder of logs, no profiles, and the log level.
# References: k8s.io/apiserver/pkg/server/routes/{profiling,flags}.go, k8s.io/kubernetes/pkg/routes/logs.go and Go's
# net/http/pprof, release 1.30.

PROFILES: Final = "/debug/pprof"
DEBUG_FLAGS: Final = "/debug/flags"
LOGS: Final = "/logs"
_HTML: Final = "text/html; charset=utf-8"
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


def debug_flags(engine: Engine, context: RequestContext) -> Response:
    """The names of flags that can be changed, or the answer to a PUT of the log level."""
    if context.info.path != f"{DEBUG_FLAGS}/v":
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


# Pages about the server itself: since when it runs and in which version (``/statusz``), and its flags (``/flagz``).
# References: k8s.io/apiserver/pkg/server/{statusz,flagz} at release 1.36; KEP-4827 and KEP-4828.

STATUS: Final = "/statusz"
FLAGS: Final = "/flagz"
_GROUP: Final = api_group("config")
_PATHS: Final = (FLAGS, "/healthz", "/livez", "/metrics", "/readyz", STATUS, "/version")
_DEPRECATED: Final = "v1alpha1"
_TITLE: Final = """
apiserver {page}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for \
debugging purposes only.
"""


def status(engine: Engine, context: RequestContext) -> Response:
    """The start of the server, its age, its version and its pages. Raises 406 for other media types."""
    release = engine.catalogue.release
    told: dict[str, Any] = {
        "startTime": timestamp(engine.since),
        "uptimeSeconds": int(engine.age),
        "goVersion": documents.of_release(engine.behaviour, release)["goVersion"],
        "binaryVersion": release,
        "emulationVersion": release,
        "paths": list(_PATHS),
    }
    return _page(engine.behaviour, context, "Statusz", told, _status_text(engine, told))


def flags(engine: Engine, context: RequestContext) -> Response:
    """The values of the server's flags. Raises 406 for other media types."""
    values = dict(sorted(engine.parts.flags().items()))
    text = "".join(f"{name} {value}\n" for name, value in values.items())
    return _page(engine.behaviour, context, "Flagz", {"flags": values}, text)


def _status_text(engine: Engine, told: Mapping[str, Any]) -> str:
    started = f"{datetime.fromtimestamp(engine.since, UTC):%a %b %e %H:%M:%S UTC %Y}"
    minutes, seconds = divmod(told["uptimeSeconds"], 60)
    rows = {
        "Started": started,
        "Up": f"{minutes // 60} hr {minutes % 60:02} min {seconds:02} sec",
        "Go version": told["goVersion"],
        "Binary version": told["binaryVersion"],
        "Emulation version": told["emulationVersion"],
        "Paths": " ".join(told["paths"]),
    }
    return "\n" + "".join(f"{name}: {value}\n" for name, value in rows.items())


def _page(
    behaviour: ServedBehaviour, context: RequestContext, kind: str, told: Mapping[str, Any], text: str
) -> Response:
    """A page as text, or as an object of a kind where the header asks for that kind."""
    media, given = _chosen(behaviour, context.request.header("accept"), kind)
    page = kind.lower()
    if not given:
        return Response(200, (_TITLE.format(page=page) + text).encode(), f"{TEXT}; charset=utf-8")
    made = {"kind": kind, "apiVersion": f"{_GROUP}/{given}", "metadata": {"name": "apiserver"}, **told}
    context.output_media_type = MediaTypeOptions(media)
    response = responses.document_response(made, context.output_media_type)
    if media == JSON and responses.wants_pretty(context.request, context.output_media_type):
        response = Response(200, go_json.encode_indented(made))
    response.content_type = f"{media};g={_GROUP};v={given};as={kind}"
    if given == _DEPRECATED:
        notice = f"This version of the {page} endpoint is deprecated. Please use a newer version."
        response.headers.append(("Warning", f'299 - "{notice}"'))
    return response


def _chosen(behaviour: ServedBehaviour, accept: str, kind: str) -> tuple[str, str]:
    """The media type and the version of the object that a header prefers; no version for the text."""
    if not accept.strip():
        return TEXT, ""
    versions = _versions(behaviour)
    media = (JSON, YAML, TEXT) if versions else (TEXT,)
    for found, parameters in accepted(accept, media):
        wanted = parameters.get("as"), parameters.get("g"), parameters.get("v")
        if found == TEXT and not any(wanted):
            return TEXT, ""
        if found != TEXT and wanted[:2] == (kind, _GROUP) and wanted[2] in versions:
            return found, wanted[2] or ""
    raise not_acceptable(f"only the following media types are accepted: {', '.join(media)}")


def _versions(behaviour: ServedBehaviour) -> tuple[str, ...]:
    """The versions in which the pages are objects."""
    if behaviour.applies("pages-as-beta-objects"):
        return "v1beta1", _DEPRECATED
    return (_DEPRECATED,) if behaviour.applies("pages-as-objects") else ()
