"""patch: the change is applied to the live object, with retries on conflicts.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/patch.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import bodies
from simkit.engine.pipeline.representation.negotiation import unconsumed
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import write_of
from simkit.engine.pipeline.verbs.write import answer, apply_intent
from simkit.language.merge import jsonpatch, mergepatch, strategic
from simkit.language.merge.jsonpatch import merged_in_order, patched_in_order
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import StatusError, bad_request, invalid, unsupported_media_type
from simkit.meta.fielderror import Shown, invalid_value, quoted
from simkit.meta.go_fmt import format_value
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import Draft, Object
from simkit.schema.strict_json import plain, repeated_fields

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

_KNOWN: Final = frozenset({JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY})


class Change(NamedTuple):
    """The effect of a patch on the live object, in the version of the path."""

    patched: Callable[[Object, RequestScope], Any]
    """The patched value."""
    shown: Callable[[Object, RequestScope], str]
    """The patched value in the messages of its errors."""
    in_order: Callable[[Object, RequestScope], Any] | None = None
    """The patched value in the order of its text, in which unknown fields are told; None: as it is."""


def patch(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """PATCH of an object or of a subresource with its parent's kind."""
    if _media(context) == APPLY:
        return apply_intent(engine, context, scope)
    options = opt.write_options(engine.behaviour, context.request, "PatchOptions")
    patched = patcher(context, scope, options.validation)

    def intent(live: Object | None) -> Draft:
        assert live is not None
        return scope.to_storage(request_object.default(scope, patched(scope.from_storage(live))))

    write = write_of(engine, context, scope, options, intent)
    return answer(engine, context, scope, engine.registry.update(write))


def check_media(context: RequestContext, scope: RequestScope) -> None:
    """Raises 415 for a body that is no patch, or one that the resource does not accept."""
    media, custom = _media(context), scope.resource.custom
    if not custom and not is_known(context):  # the routes of built-in resources refuse it in fewer words
        raise unconsumed(scope.behaviour, context.request)
    accepted = (JSON_PATCH, MERGE_PATCH, *(() if custom else (STRATEGIC,)), APPLY)
    if media not in accepted:
        text = "the body of the request was in an unknown format - accepted media types include: "
        raise unsupported_media_type(text + ", ".join(accepted))


def is_known(context: RequestContext) -> bool:
    """True if the media type of the body is that of a patch, of whatever resource."""
    return _media(context).strip() in _KNOWN


def _media(context: RequestContext) -> str:
    """The media type of the patch; case and spaces count."""
    return context.request.header("content-type").partition(";")[0]


def patcher(context: RequestContext, scope: RequestScope, validation: str) -> Callable[[Object], Draft]:
    """The function that patches an object in the version of the path; for all patches but apply.

    The body is decoded with the first object: for one that is not there, no error of the body is told.
    """
    media = _media(context)

    @cache
    def decoded() -> tuple[Change, Sequence[str]]:
        return _change(scope.behaviour, _parsed(context, media, validation), media, validation)

    def patched(live: Object) -> Draft:
        change, repeated = decoded()
        changed = change.patched(live, scope)
        in_order = change.in_order if scope.custom is None else None
        ordered = None if in_order is None else partial(in_order, live, scope)
        draft = _fitted(context, scope, changed, validation, repeated, partial(change.shown, live, scope), ordered)
        request_object.check_address(context, scope, draft, named=True)
        if scope.custom is not None:
            bodies.check_patched(scope.catalogue.behaviour, scope.custom, changed, whole=not context.info.subresource)
        return draft

    return patched


def _change(behaviour: ServedBehaviour, body: Any, media: str, validation: str) -> tuple[Change, Sequence[str]]:
    """The change of a patch, and the duplicate or unknown keys of its body."""
    if media == JSON_PATCH:
        operations, errors = _operations(body, validation)
        return Change(
            lambda live, _: jsonpatch.json_patch(live, operations),
            lambda live, scope: _written(scope, patched_in_order(scope.ordered(live), operations)),
            lambda live, scope: patched_in_order(scope.ordered(live), operations),
        ), errors
    if media == MERGE_PATCH:
        merged = plain(mergepatch.checked_merge_patch(body, loose=validation == "Ignore"))
        return Change(
            lambda live, _: mergepatch.merge_patch(live, merged),
            lambda live, scope: _written(scope, merged_in_order(scope.ordered(live), merged)),
            lambda live, scope: merged_in_order(scope.ordered(live), merged),
        ), _repeated(body)
    change = plain(strategic.checked_strategic_patch(body))
    return Change(
        lambda live, scope: strategic.strategic_merge(behaviour, live, change, scope.schema),
        lambda _live, _scope: format_value(plain(body)),
    ), _repeated(body)


def _operations(body: Any, validation: str) -> tuple[Sequence[jsonpatch.Operation], list[str]]:
    if validation == "Ignore":
        return jsonpatch.loosely_checked(body), []
    operations = jsonpatch.checked_json_patch(body)
    unknown = [f"json patch unknown field {quoted(path)}" for path in jsonpatch.unknown_fields(operations)]
    return operations, unknown + [f"json patch {problem}" for problem in _repeated(body)]


def _repeated(body: Any) -> list[str]:
    return [f"duplicate field {quoted(path)}" for path in repeated_fields(body)]


def _parsed(context: RequestContext, media: str, validation: str) -> Any:
    """The decoded body; without field validation the errors are those of the patch libraries."""
    try:
        return bodies.parse_json(context.request.body)
    except bodies.MalformedBody as error:
        if validation == "Ignore" and media == MERGE_PATCH:
            raise bad_request(mergepatch.NO_PATCH) from None
        said = "" if validation == "Ignore" or media == STRATEGIC else "error decoding patch: "
        raise bad_request(f"{said}{error}") from None


def _fitted(
    context: RequestContext,
    scope: RequestScope,
    patched: Any,
    validation: str,
    repeated: Sequence[str],
    shown: Callable[[], str],
    in_order: Callable[[], Any] | None,
) -> Draft:
    context.warnings.clear()
    gvk, converted = scope.resource.gvk, _media(context) == STRATEGIC
    try:
        if scope.custom is None:
            problem = "" if converted else bodies.header_error(patched)
        else:
            problem = bodies.custom_header_error(patched, lambda: shown().encode())
        if problem:
            raise bad_request(problem)

        def fit(value: Any) -> Draft:
            if not converted and not scope.resource.custom:
                value = _known(scope, value)
            return request_object.fit(
                scope.behaviour, context, value, gvk, scope.schema, validation, repeated, converted=converted
            )

        try:
            fitted = fit(patched)
        except StatusError:
            if in_order is not None:
                fit(in_order())
            raise
        if in_order is not None and len(context.warnings) > 1:
            context.warnings.clear()
            fit(in_order())
        return fitted
    except StatusError as error:
        raise _unprocessable(scope, error, shown()) from None


def _known(scope: RequestScope, patched: Any) -> Any:
    """The patched object, which may have another version of its kind, but no other kind.

    One without apiVersion is read as the form that kube-apiserver keeps for itself, which has none of its fields.
    """
    gvk, version = scope.resource.gvk, patched.get("apiVersion")
    if not version:
        return {}
    group, given = GroupVersion.parse(version)
    other = GroupVersionKind(group, given, gvk.kind)
    if patched.get("kind") != gvk.kind or group != gvk.group or scope.catalogue.kind(other) is None:
        own = GroupVersion(gvk.group, gvk.version)
        bodies.check_kind(scope.catalogue, patched, b"", own, gvk.kind)
    return patched


def _written(scope: RequestScope, patched: Any) -> str:
    """The patched object in error messages: custom objects have sorted keys."""
    return go_json.encode(patched, sort_keys=scope.resource.custom).decode()


def _unprocessable(scope: RequestScope, error: StatusError, patch: str) -> StatusError:
    """422 for a patched object that does not decode, with the decoder's message."""
    text = error.message
    marker = f"cannot be handled as a {scope.resource.kind}: "
    detail = text.partition(marker)[2] or text
    return invalid(
        scope.catalogue.behaviour, GroupKind("", ""), "", [invalid_value("patch", Shown(quoted(patch)), detail)]
    )
