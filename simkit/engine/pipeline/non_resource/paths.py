"""Non-resource paths: discovery, version, health, OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from simkit.engine.pipeline.custom_resources.definitions import builtin_group
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.non_resource import documents, exposition, pages
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import (
    JSON,
    YAML,
    MediaTypeOptions,
    check_route,
    check_sent,
    negotiate,
)
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta import go_json
from simkit.meta.domain import REGISTRATION_GROUP, api_group
from simkit.meta.errors import method_not_allowed, no_path, no_route
from simkit.meta.message import Response
from simkit.schema import discovery
from simkit.schema.feature_gates import is_enabled
from simkit.schema.health_checks import ENDPOINTS, health_paths
from simkit.schema.releases import minor_of

_DISCOVERY_GROUP: Final = api_group("apidiscovery")
_STABLE_SINCE: Final = "1.30"
"""The release that introduced the stable aggregated form."""
_OPENAPI: Final = "/openapi/v3"
_GATES: Final = {
    _OPENAPI: "OpenAPIV3",
    "/metrics/slis": "ComponentSLIs",
    documents.DOCUMENT: "ServiceAccountIssuerDiscovery",
    documents.KEYS: "ServiceAccountIssuerDiscovery",
}
"""Paths behind a feature gate."""
_CHECKS: Final = tuple(f"/{endpoint}/" for endpoint in ENDPOINTS)
_REMEMBERED: Final = 1024
"""The longest Accept header that is parsed for the aggregated form."""
_WITHOUT_SLASH: Final = frozenset({"/", "/index.html", "/openapi/v2"})
"""Paths that are unknown with one slash more; so are those of health checks and of OpenAPI version 3."""
_ANYHOW: Final = frozenset({"/", "/index.html", "/apis", "/openapi/v2", _OPENAPI})
"""Paths that answer all methods alike; so do the single groups."""
_SERVICES: Final = ("/version", documents.DOCUMENT, documents.KEYS)
"""Paths below which nothing is, which is told as a Status."""


def answer(engine: Engine, context: RequestContext) -> Response:
    """The answer to a non-resource path. Raises 404 and 405 as kube-apiserver does."""
    path = context.info.path.rstrip("/") or "/"
    parts = path.strip("/").split("/")
    if parts[0] in ENDPOINTS:
        if context.info.path.endswith("/"):
            raise no_path()
        return pages.answer(engine, context, parts[0], "/".join(parts[1:]))
    if not _has(engine, path) or (path in _WITHOUT_SLASH and path != context.info.path):
        raise no_path()
    if path in ("/metrics", "/metrics/slis"):
        return _metrics(engine, context)
    if context.info.path.startswith(f"{_OPENAPI}/"):
        return documents.openapi_document(engine, context, context.info.path.removeprefix(f"{_OPENAPI}/"))
    handler = _FIXED.get(path)
    if handler is not None:
        if path not in _ANYHOW and context.request.method != "GET":
            raise method_not_allowed()
        context.matched_path = ""
        return handler(engine, context)
    if parts[0] in ("api", "apis"):
        return _group(engine, context, parts)
    if parts[0] == "logs":
        return pages.logs(engine.behaviour, context)
    if any(path.startswith(f"{service}/") and _has(engine, service) for service in _SERVICES):
        raise no_route()
    raise no_path()


def _has(engine: Engine, path: str) -> bool:
    """True if the release has a path: some came with a feature gate."""
    if path.startswith(pages.LOGS) and engine.behaviour.applies("no-logs-handler"):
        return False
    gate = _GATES.get(_OPENAPI if path.startswith(_OPENAPI) else path, "")
    return not gate or is_enabled(gate, engine.catalogue.release, engine.gates)


def _index(engine: Engine, context: RequestContext) -> Response:
    known = engine.parts.paths or engine.catalogue.paths
    paths = [path for path in known if _has(engine, path) and not path.startswith(_CHECKS)]
    paths += ["/apis/", *documents.paths(engine), *health_paths(engine.catalogue.release, engine.gates)]
    paths = sorted(set(paths))
    return responses.document_response({"paths": paths}, context.output_media_type)


def _version(engine: Engine, context: RequestContext) -> Response:
    check_sent(engine.behaviour, context.request, [JSON])
    check_route(engine.behaviour, context.request.header("accept"), [JSON])
    return Response(200, go_json.encode_indented(documents.of_release(engine.behaviour, engine.catalogue.release)))


def _root(engine: Engine, context: RequestContext) -> Response:
    check_sent(engine.behaviour, context.request)
    aggregated = _aggregated(engine, context, core=True)
    return aggregated or _document(engine, context, discovery.api_versions(engine.catalogue))


def _groups(engine: Engine, context: RequestContext) -> Response:
    aggregated = _aggregated(engine, context, core=False)
    return aggregated or _document(engine, context, documents.group_list(engine), go_restful=False)


def _aggregated_versions(engine: Engine) -> tuple[str, ...]:
    """The versions of the aggregated form in the release: a beta at first, later also a stable one."""
    release, gates = engine.catalogue.release, engine.gates
    if not is_enabled("AggregatedDiscoveryEndpoint", release, gates):
        return ()
    stable = ("v2",) if minor_of(release) >= minor_of(_STABLE_SINCE) else ()
    return stable if is_enabled("AggregatedDiscoveryRemoveBetaType", release, gates) else (*stable, "v2beta1")


@lru_cache(maxsize=256)
def _aggregation(accept: str, versions: tuple[str, ...]) -> tuple[str, str]:
    """The version and the media type of the aggregated form that an Accept header prefers over the plain one; empty
    texts if it prefers none."""
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        pairs = dict(part.split("=", 1) for part in parameters if "=" in part)
        if pairs.get("g") == _DISCOVERY_GROUP and pairs.get("as") == "APIGroupDiscoveryList":
            if pairs.get("v") in versions and media in (JSON, YAML):
                return pairs["v"], media
        elif media in (JSON, "*/*") and "as" not in pairs:
            break
    return "", ""


def _aggregated(engine: Engine, context: RequestContext, *, core: bool) -> Response | None:
    accept = context.request.header("accept")
    if len(accept) > _REMEMBERED:
        return None
    version, media = _aggregation(accept, _aggregated_versions(engine))
    if not version:
        return None
    document = documents.aggregated(engine, version, core=core)
    response = responses.document_response(document, MediaTypeOptions(media))
    response.content_type = f"{media};g={_DISCOVERY_GROUP};v={version};as=APIGroupDiscoveryList"
    response.headers.append(("Cache-Control", "public"))
    return documents.marked(context, response)


def _document(
    engine: Engine, context: RequestContext, document: Mapping[str, Any], *, go_restful: bool = True
) -> Response:
    accept = context.request.header("accept")
    if go_restful:
        check_sent(engine.behaviour, context.request)
    context.output_media_type = negotiate(engine.behaviour, accept, convertible=False, go_restful=go_restful)
    return responses.document_response(document, context.output_media_type)


def _group(engine: Engine, context: RequestContext, parts: list[str]) -> Response:
    catalogue = engine.catalogue
    if parts[0] == "api":
        if len(parts) != 2 or not catalogue.resources("", parts[1]):
            raise no_route()
        _needs_get(context)
        return _document(engine, context, discovery.resource_list(catalogue, "", parts[1]))
    found = documents.group(engine, parts[1]) if len(parts) > 1 and parts[1] else None
    if found is None:
        raise no_path()
    if len(parts) == 2:
        if parts[1] == REGISTRATION_GROUP:  # the aggregator itself routes this one
            _needs_get(context)
        return _document(engine, context, found, go_restful=False)
    backing = engine.aggregated_service(parts[1], parts[2])
    if backing is not None:
        remote, registration = backing
        return remote.forward(context, registration)
    if catalogue.group(parts[1]) is None:
        raise no_path()
    if len(parts) > 3 or not catalogue.resources(parts[1], parts[2]):
        raise no_route() if builtin_group(catalogue, parts[1]) else no_path()
    _needs_get(context)
    own = builtin_group(catalogue, parts[1])
    return _document(engine, context, discovery.resource_list(catalogue, parts[1], parts[2]), go_restful=own)


def _needs_get(context: RequestContext) -> None:
    if context.request.method != "GET":
        raise method_not_allowed()


def _metrics(engine: Engine, context: RequestContext) -> Response:
    """The counters of the server, which DELETE sets back; a path with a trailing slash is unknown."""
    path, method = context.info.path, context.request.method
    if path.endswith("/"):
        raise no_path()
    if method == "DELETE":
        engine.metrics.reset()
        return Response(200, b"metrics reset\n", "text/plain; charset=utf-8")
    context.matched_path = path
    indicators = path == "/metrics/slis"
    if indicators and method not in ("GET", "POST"):
        return Response(200)
    return Response(200, exposition.exposed(engine, indicators=indicators), exposition.content_type(engine.behaviour))


_FIXED: Final[Mapping[str, Callable[[Engine, RequestContext], Response]]] = {
    "/": _index,
    "/index.html": _index,
    "/version": _version,
    "/api": _root,
    "/apis": _groups,
    "/openapi/v2": documents.swagger,
    _OPENAPI: documents.index,
    documents.DOCUMENT: documents.issuer_document,
    documents.KEYS: documents.keys,
}
