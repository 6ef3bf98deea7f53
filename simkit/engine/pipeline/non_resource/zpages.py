"""Pages about the server itself: since when it runs and in which version (``/statusz``), and its flags (``/flagz``).

References
----------
k8s.io/apiserver/pkg/server/{statusz,flagz} at release 1.36; KEP-4827 and KEP-4828.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.non_resource import version
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import JSON, TEXT, YAML, MediaTypeOptions, accepted
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta import go_json
from simkit.meta.behaviour import applies
from simkit.meta.clock import timestamp
from simkit.meta.domain import api_group
from simkit.meta.errors import not_acceptable
from simkit.meta.message import Response

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
        "goVersion": version.of_release(release)["goVersion"],
        "binaryVersion": release,
        "emulationVersion": release,
        "paths": list(_PATHS),
    }
    return _page(context, "Statusz", told, _status_text(engine, told))


def flags(engine: Engine, context: RequestContext) -> Response:
    """The values of the server's flags. Raises 406 for other media types."""
    values = dict(sorted(engine.parts.flags().items()))
    text = "".join(f"{name} {value}\n" for name, value in values.items())
    return _page(context, "Flagz", {"flags": values}, text)


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


def _page(context: RequestContext, kind: str, told: Mapping[str, Any], text: str) -> Response:
    """A page as text, or as an object of a kind where the header asks for that kind."""
    media, given = _chosen(context.request.header("accept"), kind)
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


def _chosen(accept: str, kind: str) -> tuple[str, str]:
    """The media type and the version of the object that a header prefers; no version for the text."""
    if not accept.strip():
        return TEXT, ""
    versions = _versions()
    media = (JSON, YAML, TEXT) if versions else (TEXT,)
    for found, parameters in accepted(accept, media):
        wanted = parameters.get("as"), parameters.get("g"), parameters.get("v")
        if found == TEXT and not any(wanted):
            return TEXT, ""
        if found != TEXT and wanted[:2] == (kind, _GROUP) and wanted[2] in versions:
            return found, wanted[2] or ""
    raise not_acceptable(f"only the following media types are accepted: {', '.join(media)}")


def _versions() -> tuple[str, ...]:
    """The versions in which the pages are objects."""
    if applies("pages-as-beta-objects"):
        return "v1beta1", _DEPRECATED
    return (_DEPRECATED,) if applies("pages-as-objects") else ()
