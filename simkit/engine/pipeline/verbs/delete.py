"""delete and deletecollection.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/delete.go, release 1.30.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import bodies, responses
from simkit.engine.pipeline.representation.negotiation import PROTOBUF
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.admission_binding import AdmissionBinding
from simkit.engine.pipeline.verbs.read import ListChunk, selection
from simkit.engine.registry.write import DeleteOptions, Deletion, Outcome
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.deadline import check_deadline
from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError, bad_request, scheme_name, unexplained
from simkit.meta.fielderror import quoted
from simkit.meta.message import Response
from simkit.meta.names import GroupVersion, GroupVersionKind, Key
from simkit.meta.objects import Object, metadata
from simkit.schema.decoding import DecodeError, decode
from simkit.seams import Entry

_OPTIONS: Final = GroupVersionKind("", "v1", "DeleteOptions")
_HEADER: Final = ("kind", "apiVersion")
_META_VERSION: Final = f"{META_GROUP}/v1"
_PAGE: Final = 2**63 - 1
"""The default limit of a deletecollection. kube-apiserver lists in chunks here too, so that a resourceVersion is
exact."""


def options_of(engine: Engine, context: RequestContext) -> tuple[DeleteOptions, Object]:
    """The options of a delete, and the object that admission sees of them."""
    request = context.request
    given = _checked(engine, _read(engine.behaviour, context)) if request.body else opt.query_delete_options(request)
    shown = {name: value for name, value in given.items() if value not in (None, []) and name not in _HEADER}
    return opt.delete_options(engine.behaviour, given), shown


def _read(behaviour: ServedBehaviour, context: RequestContext) -> Any:
    """The undecoded body. Errors are a 500 without reason, as in kube-apiserver."""
    request = context.request
    media = bodies.body_media(request)
    if media == PROTOBUF:
        return _decoded(behaviour, request.body)
    try:
        return bodies.parse(request.body, media, [])
    except bodies.MalformedBody as error:
        raise _unreadable(behaviour, str(error)) from None


def _decoded(behaviour: ServedBehaviour, body: bytes) -> Any:
    """The options in a protobuf message."""
    from simkit.schema import binary
    from simkit.schema.binary.codec import Unfit

    try:
        return binary.decode(body, _OPTIONS)
    except Unfit as error:
        raise _unreadable(behaviour, str(error)) from None


def _checked(engine: Engine, value: Any) -> dict[str, Any]:
    problem = bodies.header_error(value)
    if problem:
        raise _unreadable(engine.behaviour, problem)
    value = value or {}
    kind, version = value.get("kind") or "DeleteOptions", GroupVersion.parse(value.get("apiVersion") or _META_VERSION)
    if kind != "DeleteOptions":
        scheme = scheme_name(engine.behaviour, "pkg/apis/meta/internalversion/scheme/register.go:27")
        raise _unreadable(
            engine.behaviour, f"no kind {quoted(kind)} is registered for version {quoted(version)} in scheme {scheme}"
        )
    schema = engine.catalogue.definition("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    try:
        return decode(engine.behaviour, value, schema).object
    except DecodeError as error:
        raise _unreadable(engine.behaviour, str(error)) from None


def _unreadable(behaviour: ServedBehaviour, message: str) -> StatusError:
    """The error of options that cannot be read; one without reason up to 1.34."""
    return bad_request(message) if behaviour.applies("delete-options-bad-request") else unexplained(message)


def delete_object(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """DELETE of an object: returns the object itself, or a Status if it is gone and the kind says so."""
    options, shown = options_of(engine, context)
    key = scope.registry_scope.key(context.info.namespace, context.info.name)
    outcome = _delete(engine, context, scope, key, options, shown)
    tells_object = not outcome.removed or scope.strategy.return_deleted_object
    if tells_object and not scope.strategy.tells_no_object(engine.behaviour):
        status = 202 if not outcome.removed and shown.get("orphanDependents") is False else 200
        return responses.object_response(
            scope, outcome.entry, context.output_media_type, status=status, now=engine.clock.now()
        )
    return responses.document_response(_success(scope, outcome.entry), context.output_media_type)


def _warn_of_orphans(context: RequestContext, scope: RequestScope, options: DeleteOptions) -> None:
    warning = scope.strategy.delete_strategy.orphan_warning
    if warning and not options.propagation and scope.catalogue.behaviour.applies("orphaned-pods-warned"):
        context.warnings.append(warning)


def _delete(
    engine: Engine,
    context: RequestContext,
    scope: RequestScope,
    key: Key,
    options: DeleteOptions,
    shown: Object,
    *,
    collection: bool = False,
) -> Outcome:
    grace = None if collection else scope.strategy.delete_strategy.grace_period

    def validate(live: Object) -> None:
        seen = shown
        if grace is not None and not metadata(live).get("deletionTimestamp"):
            seen = {**shown, "gracePeriodSeconds": grace(live, options.grace_seconds)}
        AdmissionBinding(engine, context, scope, options.dry_run, seen).validate_delete(live)

    _warn_of_orphans(context, scope, options)
    return engine.registry.delete(Deletion(scope.registry_scope, key, validate, options, collection))


def _success(scope: RequestScope, entry: Entry) -> dict[str, Any]:
    resource = scope.resource
    details = {"name": entry.key.name, "group": resource.group, "kind": resource.resource}
    details["uid"] = entry.object["metadata"].get("uid", "")
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: value for name, value in details.items() if value},
    }


def delete_collection(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """DELETE of a collection, or of a chunk of it; returns the list of its objects."""
    listing = opt.list_options(engine.behaviour, context.request, watch=False)
    chosen = selection(scope, listing)
    options, shown = options_of(engine, context)
    if not listing.limit:
        listing = replace(listing, limit=_PAGE)
    chunk = ListChunk(engine, scope, context.info.namespace or None, listing, chosen)
    _warn_of_orphans(context, scope, options)
    entries, told = chunk.read()
    for entry in entries:
        check_deadline()
        try:
            _delete(engine, context, scope, entry.key, options, shown, collection=True)
        except StatusError as error:
            if error.code != 404:
                raise
    return responses.list_response(scope, entries, told, context.output_media_type, now=engine.clock.now())
