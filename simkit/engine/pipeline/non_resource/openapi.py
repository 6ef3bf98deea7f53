"""The OpenAPI documents, with ETags and answers of 304.

Upstream: k8s.io/kube-openapi/pkg/handler3/handler.go, release 1.30.
"""

from __future__ import annotations

from email.utils import formatdate
from hashlib import sha512
from typing import Final

import orjson

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.non_resource import group_discovery
from simkit.engine.pipeline.representation.negotiation import JSON, route_refusal
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.message import Response
from simkit.schema import openapi

_TEXT: Final = "text/plain; charset=utf-8"
_BINARY_SWAGGER: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_BINARY_NAMES: Final = (_BINARY_SWAGGER, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_TAKEN: Final = (*_BINARY_NAMES, JSON, "application/*", "*/*")
_YEAR: Final = 365 * 24 * 3600


def needs_json(context: RequestContext) -> None:
    """Raise 406 for clients that do not accept JSON."""
    accept = context.request.header("accept")
    if accept and not any(media in accept for media in (JSON, "*/*", "application/*", "com.github.proto-openapi")):
        raise route_refusal(JSON)


def marked(context: RequestContext, response: Response, mark: str = "") -> Response:
    """The answer with an ETag, by default computed from the content.

    A client that shows the mark has the content already: it gets 304 and nothing else.
    """
    tag = f'"{mark or content_mark(response.body)}"'
    response.headers += [("ETag", tag), ("Vary", "Accept")]
    shown = [each.strip().removeprefix("W/") for each in context.request.header("if-none-match").split(",")]
    if tag in shown or shown == ["*"]:
        return Response(304, content_type="", headers=response.headers)
    return response


def content_mark(body: bytes) -> str:
    """The hash of the content."""
    return sha512(body).hexdigest().upper()


def index(engine: Engine, context: RequestContext) -> Response:
    """The index of version 3, with links that change with their documents."""
    listed = group_discovery.openapi_index(engine, openapi.index(engine.catalogue))
    return Response(200, orjson.dumps(listed), _TEXT)


def swagger(engine: Engine, context: RequestContext) -> Response:
    """The document of version 2, as JSON or in binary form."""
    needs_json(context)
    found = openapi.swagger(engine.catalogue)
    if engine.api_services.remote:
        found = orjson.dumps(group_discovery.merged_swagger(engine, orjson.loads(found)))
    if not _wants_binary(context.request.header("accept")):
        return marked(context, Response(200, found, JSON))
    from simkit.schema.openapi.binary import encoded

    return marked(context, Response(200, encoded(found), _BINARY_SWAGGER))


def _wants_binary(accept: str) -> bool:
    """True if a client takes the binary form of the version 2 document before JSON."""
    media = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    return next((each for each in media if each in _TAKEN), JSON) in _BINARY_NAMES


def document(engine: Engine, context: RequestContext, name: str) -> Response:
    """One document of version 3. A link with an old hash is redirected; one with the right hash may be cached.

    Where another server answers for the group, its document is asked for.
    """
    group, _, version = name.removeprefix("apis/").partition("/")
    backing = engine.aggregated_service(group, version) if name.startswith("apis/") else None
    if backing is not None:
        remote, registration = backing
        return remote.forward(context, registration)
    body, mark = openapi.document(engine.catalogue, name), openapi.mark(engine.catalogue, name)
    if body is None or mark is None or name.endswith("/"):
        return Response(404, content_type="")
    known = context.request.option("hash")
    if known and known != mark:
        return Response(301, content_type="", headers=[("Location", f"/openapi/v3/{name}?hash={mark}")])
    response = marked(context, Response(200, body, JSON), mark)
    if known:
        expires = formatdate(engine.clock.now() + _YEAR, usegmt=True)
        response.headers += [("Cache-Control", "public, immutable"), ("Expires", expires)]
    return response
