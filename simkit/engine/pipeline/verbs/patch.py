"""patch: the change is applied to the live object, again whenever somebody was faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import bodies, custom_bodies
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import Served
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import Gatekeeper, tracker
from simkit.engine.pipeline.verbs.apply import apply_intent
from simkit.engine.pipeline.verbs.write import answer
from simkit.engine.registry.write import Write
from simkit.language.merge import jsonpatch, mergepatch, strategic
from simkit.meta.errors import StatusError, bad_request, invalid, unsupported_media_type
from simkit.meta.fielderror import Shown, invalid_value, quoted
from simkit.meta.gotext import format_value
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import Draft, Object
from simkit.schema.strict_json import plain, repeated_fields

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

_KNOWN: Final = frozenset({JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY})

Change = Callable[[Object, Served], Any]
"""From the live object in the version of the path to the patched value."""


def patch(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """PATCH of an object or of a subresource that is a view of it."""
    if _media(exchange) == APPLY:
        return apply_intent(engine, exchange, served)
    options = opt.write_options(exchange.request, "PatchOptions")
    patched = patcher(exchange, served, options.validation)
    keeper = Gatekeeper(engine, exchange, served, options.dry_run, options.as_object)
    target = exchange.target

    def intent(live: Object | None) -> Draft:
        assert live is not None
        return served.to_storage(request_object.default(served, patched(served.from_storage(live))))

    write = Write(
        served.place,
        served.place.key(target.namespace, target.name),
        intent,
        subresource=target.subresource,
        dry_run=options.dry_run,
        track=tracker(engine, served, options, target.subresource),
        mutate=keeper.mutate,
        validate=keeper.validate,
        identity=exchange.actor(),
    )
    return answer(engine, exchange, served, engine.registry.update(write))


def check_media(exchange: RequestContext, served: Served) -> None:
    """Raises the 415 of a body that is no patch, or one that the resource does not take."""
    media, custom = _media(exchange), served.resource.custom
    if media.strip() not in _KNOWN and not custom:  # the routes of built-in resources refuse it in fewer words
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    accepted = (JSON_PATCH, MERGE_PATCH, *(() if custom else (STRATEGIC,)), APPLY)
    if media not in accepted:
        text = "the body of the request was in an unknown format - accepted media types include: "
        raise unsupported_media_type(text + ", ".join(accepted))


def _media(exchange: RequestContext) -> str:
    """What kind of patch the body is; here case and blanks count."""
    return exchange.request.header("content-type").partition(";")[0]


def patcher(exchange: RequestContext, served: Served, validation: str) -> Callable[[Object], Draft]:
    """What the body of a patch makes of an object, in the version of the path; for all kinds of patches but apply."""
    media = _media(exchange)
    given = _parsed(exchange, media, validation)
    change, repeated = _change(given, media, validation)

    def patched(live: Object) -> Draft:
        changed = change(live, served)
        draft = _fitted(exchange, served, changed, validation, repeated, given)
        request_object.check_address(exchange, served, draft, named=True)
        if served.custom is not None:
            custom_bodies.check_patched(served.custom, changed, whole=not exchange.target.subresource)
        return draft

    return patched


def _change(body: Any, media: str, validation: str) -> tuple[Change, Sequence[str]]:
    """What the patch does, and the keys that its body repeats or that mean nothing in it."""
    if media == JSON_PATCH:
        operations, faults = _operations(body, validation)
        return (lambda live, _: jsonpatch.json_patch(live, operations)), faults
    if media == MERGE_PATCH:
        merged = plain(mergepatch.checked_merge_patch(body, loose=validation == "Ignore"))
        return (lambda live, _: mergepatch.merge_patch(live, merged)), _repeated(body)
    change = plain(strategic.checked_strategic_patch(body))
    return (lambda live, served: strategic.strategic_merge(live, change, served.schema)), _repeated(body)


def _operations(body: Any, validation: str) -> tuple[Sequence[jsonpatch.Operation], list[str]]:
    if validation == "Ignore":
        return jsonpatch.loosely_checked(body), []
    operations = jsonpatch.checked_json_patch(body)
    unknown = [f'json patch unknown field "{path}"' for path in jsonpatch.unknown_fields(operations)]
    return operations, unknown + [f"json patch {fault}" for fault in _repeated(body)]


def _repeated(body: Any) -> list[str]:
    return [f'duplicate field "{path}"' for path in repeated_fields(body)]


def _parsed(exchange: RequestContext, media: str, validation: str) -> Any:
    """The decoded body. Without field validation the libraries that apply the patch speak for themselves."""
    try:
        return bodies.parse_json(exchange.request.body)
    except bodies.MalformedBody as error:
        if validation == "Ignore" and media == MERGE_PATCH:
            raise bad_request(mergepatch.NO_PATCH) from None
        said = "" if validation == "Ignore" or media == STRATEGIC else "error decoding patch: "
        raise bad_request(f"{said}{error}") from None


def _fitted(
    exchange: RequestContext, served: Served, patched: Any, validation: str, repeated: Sequence[str], patch: Any
) -> Draft:
    exchange.warnings.clear()
    gvk, converted = served.resource.gvk, _media(exchange) == STRATEGIC
    try:
        if served.custom is None:
            fault = bodies.header_fault(patched)
        else:
            fault = custom_bodies.header_fault(patched, lambda: _written(served, patched))
        if fault:
            raise bad_request(fault)
        if not converted and not served.resource.custom:
            patched = _known(served, patched)
        return request_object.fit(exchange, patched, gvk, served.schema, validation, repeated, converted=converted)
    except StatusError as error:
        text = format_value(plain(patch)) if converted else _written(served, patched).decode()
        raise _unprocessable(served, error, text) from None


def _known(served: Served, patched: Any) -> Any:
    """The patched object, which may have become another version of its kind, but no other kind.

    One without apiVersion is read as the form that the real server keeps for itself, which has none of its fields.
    """
    gvk, version = served.resource.gvk, patched.get("apiVersion")
    if not version:
        return {}
    group, given = GroupVersion.parse(version)
    other = GroupVersionKind(group, given, gvk.kind)
    if patched.get("kind") != gvk.kind or group != gvk.group or served.catalogue.kind(other) is None:
        own = GroupVersion(gvk.group, gvk.version)
        bodies.check_kind(patched, b"", own, gvk.kind, request_object.kind_known(served.catalogue))
    return patched


def _written(served: Served, patched: Any) -> bytes:
    """The patched object as the messages show it: custom objects have their keys in order, others at the top."""
    if served.resource.custom:
        return orjson.dumps(patched, option=orjson.OPT_SORT_KEYS)
    return orjson.dumps(dict(sorted(patched.items())) if isinstance(patched, dict) else patched)


def _unprocessable(served: Served, error: StatusError, patch: str) -> StatusError:
    """A patched object that does not decode is 422, with the decoder's words about the patch."""
    text = error.message
    marker = f"cannot be handled as a {served.resource.kind}: "
    detail = text.partition(marker)[2] or text
    return invalid(GroupKind("", ""), "", [invalid_value("patch", Shown(quoted(patch)), detail)])
