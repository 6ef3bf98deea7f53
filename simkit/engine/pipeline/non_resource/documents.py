"""Documents about the API: groups, OpenAPI, the keys of issued tokens, and the version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate
from hashlib import sha512
from typing import Any, Final

import orjson

from simkit.engine.authn.serviceaccount import discovery_document, key_set
from simkit.engine.pipeline.api_services import APIService
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation.negotiation import JSON, check_route, route_refusal
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import no_path
from simkit.meta.message import Response
from simkit.meta.objects import null_creation
from simkit.schema import discovery, openapi
from simkit.schema.catalogue import Group
from simkit.schema.releases import git_version

# Discovery of groups: of this server and of aggregated ones, in one order.
# Upstream: k8s.io/kube-aggregator/pkg/apiserver/handler_apis.go, release 1.30.

Document = dict[str, Any]


def group_list(engine: Engine) -> Document:
    """All named groups: the document at ``/apis``."""
    groups = [discovery.described_group(each) for each in engine.api_services.groups(engine.catalogue) if each.name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def paths(engine: Engine) -> Iterator[str]:
    """The paths of all named groups and of their versions."""
    for each in engine.api_services.groups(engine.catalogue):
        if each.name:
            yield f"/apis/{each.name}"
            yield from (f"/apis/{each.name}/{version}" for version in each.versions)


def group(engine: Engine, name: str) -> Document | None:
    """One group: the document at ``/apis/<group>``; None if nobody serves it."""
    found = engine.api_services.group(engine.catalogue, name)
    return None if found is None else {"kind": "APIGroup", "apiVersion": "v1", **discovery.described_group(found)}


def aggregated(engine: Engine, version: str, *, core: bool) -> Document:
    """All groups with all their resources in one document.

    Group versions of other servers carry what these say of themselves, or are marked as stale.
    """
    document = discovery.aggregated(engine.catalogue, version, core=core)
    if core:
        return document
    own = {item["metadata"]["name"]: item for item in document["items"]}
    items = [
        _item(engine, each, own.get(each.name)) for each in engine.api_services.groups(engine.catalogue) if each.name
    ]
    return {**document, "items": [item for item in items if item["versions"]]}


def _item(engine: Engine, found: Group, own: Document | None) -> Document:
    known = {row["version"]: row for row in (own or {}).get("versions", ())}
    versions = []
    for version in found.versions:
        backing = engine.aggregated_service(found.name, version)
        if backing is not None:
            versions.append(_remote_version(version, backing[0].resources(backing[1])))
        elif version in known:
            versions.append(known[version])
    return {"metadata": {"name": found.name, **null_creation(engine.behaviour)}, "versions": versions}


def _remote_version(version: str, listed: Mapping[str, Any] | None) -> Document:
    if listed is None:
        return {"version": version, "freshness": "Stale"}
    return {"version": version, "resources": _resources(listed.get("resources") or ()), "freshness": "Current"}


def _resources(rows: Sequence[Mapping[str, Any]]) -> list[Document]:
    """The entries of the aggregated form for a plain list of resources."""
    found: dict[str, Document] = {}
    for row in rows:
        name, _, part = str(row.get("name", "")).partition("/")
        kind = {"group": row.get("group", ""), "version": row.get("version", ""), "kind": row.get("kind", "")}
        verbs = list(row.get("verbs") or ())
        if part:
            parts = found.setdefault(name, {"resource": name}).setdefault("subresources", [])
            parts.append({"subresource": part, "responseKind": kind, "verbs": verbs})
            continue
        entry = {
            "resource": name,
            "responseKind": kind,
            "scope": "Namespaced" if row.get("namespaced") else "Cluster",
            "singularResource": row.get("singularName", ""),
            "verbs": verbs,
        }
        entry |= {field: list(row[field]) for field in ("shortNames", "categories") if row.get(field)}
        found[name] = {**entry, **found.get(name, {})}
    return list(found.values())


def openapi_index(engine: Engine, own: Mapping[str, Any]) -> Document:
    """The list of OpenAPI documents of version 3 with those of other servers."""
    paths = dict(own["paths"])
    for registration, relative_url in _relative_urls(engine):
        paths[f"apis/{registration.group_version}"] = {"serverRelativeURL": relative_url}
    return {**own, "paths": dict(sorted(paths.items()))}


def _relative_urls(engine: Engine) -> list[tuple[APIService, str]]:
    remote = engine.parts.remote
    if remote is None:
        return []
    found = [(each, remote.described(each)) for each in engine.api_services.remote]
    return [(registration, relative_url) for registration, relative_url in found if relative_url]


def merged_swagger(engine: Engine, own: Mapping[str, Any]) -> Document:
    """The OpenAPI document of version 2 with the paths and definitions of other servers; this one's own win."""
    remote, document = engine.parts.remote, dict(own)
    for registration in engine.api_services.remote if remote is not None else ():
        theirs = remote.swagger(registration) if remote is not None else None
        if theirs is None:
            continue
        prefix = f"/apis/{registration.group_version}/"
        paths = {path: row for path, row in (theirs.get("paths") or {}).items() if path.startswith(prefix)}
        document["paths"] = {**paths, **document["paths"]}
        document["definitions"] = {**(theirs.get("definitions") or {}), **document["definitions"]}
    return document


# The OpenAPI documents, with ETags and answers of 304.
# Upstream: k8s.io/kube-openapi/pkg/handler3/handler.go, release 1.30.

_TEXT: Final = "text/plain; charset=utf-8"
_BINARY_SWAGGER: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_BINARY_NAMES: Final = (_BINARY_SWAGGER, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_TAKEN: Final = (*_BINARY_NAMES, JSON, "application/*", "*/*")
_YEAR: Final = 365 * 24 * 3600


def needs_json(behaviour: ServedBehaviour, context: RequestContext) -> None:
    """Raise 406 for clients that do not accept JSON."""
    accept = context.request.header("accept")
    if accept and not any(media in accept for media in (JSON, "*/*", "application/*", "com.github.proto-openapi")):
        raise route_refusal(behaviour, JSON)


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
    listed = openapi_index(engine, openapi.index(engine.catalogue))
    return Response(200, orjson.dumps(listed), _TEXT)


def swagger(engine: Engine, context: RequestContext) -> Response:
    """The document of version 2, as JSON or in binary form."""
    needs_json(engine.behaviour, context)
    found = openapi.swagger(engine.catalogue)
    if engine.api_services.remote:
        found = orjson.dumps(merged_swagger(engine, orjson.loads(found)))
    if not _wants_binary(context.request.header("accept")):
        return marked(context, Response(200, found, JSON))
    from simkit.schema.openapi.binary import encoded

    return marked(context, Response(200, encoded(found), _BINARY_SWAGGER))


def _wants_binary(accept: str) -> bool:
    """True if a client takes the binary form of the version 2 document before JSON."""
    media = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    return next((each for each in media if each in _TAKEN), JSON) in _BINARY_NAMES


def openapi_document(engine: Engine, context: RequestContext, name: str) -> Response:
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


# Service account issuer discovery: the issuer's document and its keys

KEYS: Final = "/openid/v1/jwks"
DOCUMENT: Final = "/.well-known/openid-configuration"
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::\d+)?|\[[0-9A-Fa-f:.]+\](?::\d+)?")
_JWKS: Final = "application/jwk-set+json"
_PUBLIC: Final = ("Cache-Control", "public, max-age=3600")


def issuer_document(engine: Engine, context: RequestContext) -> Response:
    """The issuer's document. Raises 404 if the issuer is no https URL, or there is no key."""
    check_route(engine.behaviour, context.request.header("accept"), [JSON])
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
    check_route(engine.behaviour, context.request.header("accept"), [_JWKS])
    found = engine.authentication.keys()
    if not found:
        raise no_path()
    return Response(200, orjson.dumps(key_set(found)), _JWKS, [_PUBLIC])


# The document of ``/version``


def of_release(behaviour: ServedBehaviour, name: str) -> Mapping[str, str]:
    """The version information of a release, such as ``1.30``; commit and build date are empty.

    Examples
    --------
    >>> of_release(ServedBehaviour(30), "1.30")["gitVersion"]
    'v1.30.14'
    """
    major, minor = name.split(".")[:2]
    emulated = {
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
    }
    return {
        "major": major,
        "minor": minor,
        **(emulated if behaviour.applies("emulated-versions") else {}),
        "gitVersion": git_version(name),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "cpython",
        "platform": "linux/amd64",
    }
