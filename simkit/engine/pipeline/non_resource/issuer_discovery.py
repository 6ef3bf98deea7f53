"""Service account issuer discovery: the issuer's document and its keys."""

from __future__ import annotations

import re
from typing import Final

import orjson

from simkit.engine.authn.serviceaccount import discovery_document, key_set
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation.negotiation import JSON, check_route
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.errors import no_path
from simkit.meta.message import Response

KEYS: Final = "/openid/v1/jwks"
DOCUMENT: Final = "/.well-known/openid-configuration"
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::\d+)?|\[[0-9A-Fa-f:.]+\](?::\d+)?")
_JWKS: Final = "application/jwk-set+json"
_PUBLIC: Final = ("Cache-Control", "public, max-age=3600")


def document(engine: Engine, context: RequestContext) -> Response:
    """The issuer's document. Raises 404 if the issuer is no https URL, or there is no key."""
    check_route(context.request.header("accept"), [JSON])
    known = engine.authentication
    keys = known.keys()
    if not keys or not known.issuer_url.startswith("https://"):
        raise no_path()
    host = context.request.header("host")
    default_uri = f"https://{host if _HOST.fullmatch(host) else 'localhost'}{KEYS}"
    made = discovery_document(known.issuer_url, keys, known.jwks_uri or default_uri)
    return Response(200, orjson.dumps(made), JSON, [_PUBLIC])


def keys(engine: Engine, context: RequestContext) -> Response:
    """The keys as a JSON web key set. Raises 404 if there are none."""
    check_route(context.request.header("accept"), [_JWKS])
    found = engine.authentication.keys()
    if not found:
        raise no_path()
    return Response(200, orjson.dumps(key_set(found)), _JWKS, [_PUBLIC])
