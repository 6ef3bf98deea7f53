"""delete and deletecollection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import bodies, protobuf, responses
from simkit.engine.pipeline.representation.negotiation import PROTOBUF
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import Served
from simkit.engine.pipeline.verbs.admission_binding import Gatekeeper
from simkit.engine.pipeline.verbs.read import Page
from simkit.engine.pipeline.verbs.selection import selection
from simkit.engine.registry.deletion import Removal, delete
from simkit.engine.registry.write import Outcome
from simkit.engine.seams import Entry
from simkit.meta.errors import StatusError, unexplained
from simkit.meta.message import Response
from simkit.meta.names import GroupVersion, GroupVersionKind, Key
from simkit.schema.decoding import DecodeError, decode

_OPTIONS: Final = GroupVersionKind("", "v1", "DeleteOptions")
_PAGE: Final = 2**63 - 1
"""The limit of a collection's deletion that asks for none. The real server lists in chunks here as well, so that a
resourceVersion means exactly that one."""


def options_of(engine: Engine, exchange: RequestContext) -> tuple[opt.DeleteOptions, bool]:
    """The options of a delete, and whether it says that dependents are not to be orphaned."""
    request = exchange.request
    if not request.body:
        options = opt.delete_options(request, None)
        given = request.option("orphanDependents")
        return options, "orphanDependents" in request.query and given.lower() in ("false", "0")
    body = _checked(engine, _read(exchange))
    return opt.delete_options(request, body), body.get("orphanDependents") is False


def _read(exchange: RequestContext) -> Any:
    """The body as it is. What is wrong with it is a 500 without reason, as on the real server."""
    request = exchange.request
    media = bodies.body_media(request)
    if media == PROTOBUF:
        try:
            return protobuf.decode(request.body, _OPTIONS)
        except StatusError as error:
            raise unexplained(error.message) from None
    try:
        return bodies.parse(request.body, media, [])
    except bodies.MalformedBody as error:
        raise unexplained(f"couldn't get version/kind; json parse error: {error}") from None


def _checked(engine: Engine, value: Any) -> dict[str, Any]:
    fault = bodies.header_fault(value)
    if fault:
        raise unexplained(fault)
    value = value or {}
    kind, version = value.get("kind") or "DeleteOptions", GroupVersion.parse(value.get("apiVersion") or "v1")
    if kind != "DeleteOptions":
        raise unexplained(
            f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:100"'
        )
    schema = engine.catalogue.definition("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    try:
        return decode(value, schema).object
    except DecodeError as error:
        raise unexplained(str(error)) from None


def remove(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """DELETE of an object: the object itself, or a Status where it is gone and the kind answers so."""
    options, cascades = options_of(engine, exchange)
    key = served.place.key(exchange.target.namespace, exchange.target.name)
    outcome = _delete(engine, exchange, served, key, options)
    if not outcome.removed or served.rules.return_deleted_object:
        status = 202 if not outcome.removed and cascades else 200
        return responses.single(served, outcome.entry, exchange.wanted, status=status, now=engine.clock.now())
    return responses.document(_success(served, outcome.entry), exchange.wanted)


def _delete(engine: Engine, exchange: RequestContext, served: Served, key: Key, options: opt.DeleteOptions) -> Outcome:
    keeper = Gatekeeper(engine, exchange, served, options.dry_run, {})
    warning = served.rules.deletion.orphan_warning
    if warning and not options.propagation:
        exchange.warnings.append(warning)
    removal = Removal(
        served.place,
        key,
        keeper.validate_delete,
        options.dry_run,
        options.grace_seconds,
        options.propagation,
        options.uid,
        options.resource_version,
    )
    return delete(engine.store, engine.clock, removal)


def _success(served: Served, entry: Entry) -> dict[str, Any]:
    resource = served.resource
    details = {"name": entry.key.name, "group": resource.group, "kind": resource.resource}
    details["uid"] = entry.object["metadata"].get("uid", "")
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: value for name, value in details.items() if value},
    }


def remove_collection(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """DELETE of a collection, or of a chunk of it: answers with the list of what it was about."""
    listing = opt.list_options(exchange.request, watch=False)
    chosen = selection(served, listing)
    options, _ = options_of(engine, exchange)
    if not listing.limit:
        listing = replace(listing, limit=_PAGE)
    page = Page(engine, served, exchange.target.namespace or None, listing, chosen)
    entries, metadata = page.read()
    for entry in entries:
        try:
            _delete(engine, exchange, served, entry.key, options)
        except StatusError as error:
            if error.code != 404:
                raise
    return responses.many(served, entries, metadata, exchange.wanted, now=engine.clock.now())
