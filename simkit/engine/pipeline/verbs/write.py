"""create, update and server-side apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import bodies, responses
from simkit.engine.pipeline.representation.negotiation import JSON
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import converter, reset_fields, write_of
from simkit.engine.registry.metadata import wipe_system_fields
from simkit.engine.registry.write import Outcome, Write
from simkit.language.merge.apply import apply
from simkit.language.yaml.complaints import Repeat
from simkit.meta import go_json
from simkit.meta.clock import timestamp
from simkit.meta.errors import StatusError, bad_request, conflict, unexplained
from simkit.meta.message import Response
from simkit.meta.objects import Draft, Object, metadata
from simkit.schema.decoding import DecodeError

# create and update: the body is the wanted object.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/create.go and k8s.io/apiserver/pkg/endpoints/handlers/update.go,
# release 1.30.


def create(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """POST to a collection."""
    options = request_object.create_options(engine.behaviour, context.request)
    draft = request_object.read(engine, context, scope.resource.gvk, scope.schema, options.validation)
    request_object.check_address(context, scope, draft, named=False)
    request_object.deduplicate(draft, context.warnings, admitted=False)
    wipe_system_fields(engine.behaviour, draft)
    wanted = scope.to_storage(request_object.default(scope, draft))
    write = write_of(engine, context, scope, options, lambda _: wanted)
    return answer(engine, context, scope, _explained(engine, write))


def _explained(engine: Engine, write: Write) -> Outcome:
    """The outcome with the error of a name that an object under deletion holds."""
    try:
        return engine.registry.create(write)
    except StatusError as error:
        name = (error.details or {}).get("name", "")
        if error.reason != "AlreadyExists":
            raise
        holder = engine.store.get(write.key._replace(name=name))
        if holder is not None and holder.object["metadata"].get("deletionTimestamp"):
            error.message = f"object is being deleted: {error.message}"
        raise


def update(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """PUT to an object, or to a subresource with its parent's kind, such as status."""
    options = opt.write_options(engine.behaviour, context.request, "UpdateOptions")
    draft = request_object.read(engine, context, scope.resource.gvk, scope.schema, options.validation)
    request_object.check_address(context, scope, draft, named=True)
    request_object.deduplicate(draft, context.warnings, admitted=False)
    wanted = scope.to_storage(request_object.default(scope, draft))

    def intent(live: Object | None) -> Draft:
        return {**wanted, "metadata": dict(wanted["metadata"])}

    creates, uid = scope.strategy.creates_on_update(context.info.subresource), wanted["metadata"].get("uid", "")
    write = write_of(engine, context, scope, options, intent, creates=creates, uid=uid)
    return answer(engine, context, scope, engine.registry.update(write))


def answer(engine: Engine, context: RequestContext, scope: RequestScope, outcome: Outcome) -> Response:
    """The response to a write: the current object."""
    status, wanted = 201 if outcome.created else 200, context.output_media_type
    if not context.from_client and not scope.calls_out and not wanted.transform and wanted.media == JSON:
        return responses.unencoded_response(scope, outcome.entry, status)
    return responses.object_response(scope, outcome.entry, wanted, status=status, now=engine.clock.now())


# Server-side apply: the body is one manager's applied configuration.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/patch.go, release 1.30.


def apply_intent(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """PATCH with an apply body: creates a missing object, merges with other managers' fields."""
    options = opt.write_options(engine.behaviour, context.request, "PatchOptions", is_apply=True)
    applied, repeats = applied_body(context)
    info = context.info
    reset, convert = reset_fields(scope, info.subresource), converter(scope)

    def intent(live: Object | None) -> Draft:
        shown = scope.from_storage(live) if live is not None else None
        merged = apply(
            engine.behaviour,
            shown,
            applied,
            scope.schema,
            manager=options.manager,
            force=options.force,
            api_version=scope.resource.api_version,
            time=timestamp(engine.clock.now()),
            subresource=info.subresource,
            kind=scope.resource.kind,
            reset_fields=reset,
            convert=convert,
        )
        report_repeats(context, scope, options.validation, repeats)
        fields = metadata(merged).get("managedFields")
        draft = _fitted(context, scope, merged, applied)
        if fields:
            draft["metadata"]["managedFields"] = fields
        if live is None:
            _check_new(scope, info.name, draft)
        request_object.check_address(context, scope, draft, named=True)
        return scope.to_storage(request_object.default(scope, draft))

    creates = not info.subresource or scope.strategy.creates_on_update(info.subresource)
    write = write_of(engine, context, scope, options, intent, tracked=False, creates=creates)
    return answer(engine, context, scope, engine.registry.update(write))


def applied_body(context: RequestContext) -> tuple[dict[str, Any], list[str]]:
    """The decoded body, and its duplicate keys. Raises 400 for invalid YAML, or anything but an object."""
    repeats: list[Repeat] = []
    try:
        value = bodies.parse_yaml(context.request.body, repeats)
    except bodies.MalformedBody as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {go_json.go_kind(value)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    return value, bodies.repeat_errors(repeats)


def report_repeats(context: RequestContext, scope: RequestScope, validation: str, errors: Sequence[str]) -> None:
    """Warn about duplicate keys, or refuse them; errors of the configuration come first."""
    if errors and validation == "Strict":
        listed = "\n  ".join(errors)
        raise bad_request(
            f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {listed}"
        )
    request_object.report(context, scope.resource.gvk, validation, errors)


def _fitted(context: RequestContext, scope: RequestScope, merged: Object, applied: Object) -> Draft:
    """The merged object with the types of its kind. Raises the 500 of a built-in one that does not have them."""
    gvk = scope.resource.gvk
    try:
        return request_object.fit(
            scope.behaviour, context, merged, gvk, scope.schema, "Ignore", converted=True, keep_nulls=True
        )
    except StatusError as error:
        if scope.resource.custom or not isinstance(error.__cause__, DecodeError):
            raise
        said = str(error.__cause__)
        said = f"error decoding from json: {said}" if said.startswith("illegal base64") else said
        kind, about = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}", applied.get("metadata") or {}
        raise unexplained(
            f"failed to convert new object ({about.get('namespace', '')}/{about.get('name', '')}; {kind}) "
            f"to proper version: unable to convert unstructured object to {kind}: {said}"
        ) from None


def _check_new(scope: RequestScope, name: str, draft: Draft) -> None:
    """Raise the 409 of a configuration for a certain uid if there is no object."""
    uid = metadata(draft).get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(scope.resource.group_resource, name, why)
