"""create and update: the body is the wanted object.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/create.go and k8s.io/apiserver/pkg/endpoints/handlers/update.go,
release 1.30.
"""

from __future__ import annotations

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import JSON
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import owner_references, request_object
from simkit.engine.pipeline.verbs.admission_binding import AdmissionBinding, managed_fields_tracker
from simkit.engine.registry.metadata import wipe_system_fields
from simkit.engine.registry.write import Outcome, Write
from simkit.meta.errors import StatusError
from simkit.meta.message import Response
from simkit.meta.objects import Draft, Object


def create(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """POST to a collection."""
    options = opt.write_options(context.request, "CreateOptions")
    draft = request_object.read(engine, context, scope.resource.gvk, scope.schema, options.validation)
    request_object.check_address(context, scope, draft, named=False)
    owner_references.deduplicate(draft, context.warnings, admitted=False)
    wipe_system_fields(draft)
    wanted = scope.to_storage(request_object.default(scope, draft))
    admission = AdmissionBinding(engine, context, scope, options.dry_run, options.as_object)

    def intent(live: Object | None) -> Draft:
        return wanted

    write = Write(
        scope.registry_scope,
        scope.registry_scope.key(context.info.namespace, ""),
        intent,
        dry_run=options.dry_run,
        track=managed_fields_tracker(engine, scope, options, ""),
        mutate=admission.mutate,
        validate=admission.validate,
        identity=context.actor(),
    )
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
    """PUT to an object."""
    return _update(engine, context, scope, "")


def update_part(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """PUT to a subresource with its parent's kind, such as status."""
    return _update(engine, context, scope, context.info.subresource)


def _update(engine: Engine, context: RequestContext, scope: RequestScope, subresource: str) -> Response:
    options = opt.write_options(context.request, "UpdateOptions")
    draft = request_object.read(engine, context, scope.resource.gvk, scope.schema, options.validation)
    request_object.check_address(context, scope, draft, named=True)
    owner_references.deduplicate(draft, context.warnings, admitted=False)
    wanted = scope.to_storage(request_object.default(scope, draft))
    admission = AdmissionBinding(engine, context, scope, options.dry_run, options.as_object)

    def intent(live: Object | None) -> Draft:
        return {**wanted, "metadata": dict(wanted["metadata"])}

    write = Write(
        scope.registry_scope,
        scope.registry_scope.key(context.info.namespace, context.info.name),
        intent,
        subresource=subresource,
        dry_run=options.dry_run,
        uid=wanted["metadata"].get("uid", ""),
        creates=scope.strategy.creates_on_update(subresource),
        track=managed_fields_tracker(engine, scope, options, subresource),
        mutate=admission.mutate,
        validate=admission.validate,
        refused_parts=admission.refused_parts,
        identity=context.actor(),
        permit_create=admission.permit_create,
    )
    return answer(engine, context, scope, engine.registry.update(write))


def answer(engine: Engine, context: RequestContext, scope: RequestScope, outcome: Outcome) -> Response:
    """The response to a write: the current object."""
    status, wanted = 201 if outcome.created else 200, context.output_media_type
    if not context.from_client and not scope.calls_out and not wanted.transform and wanted.media == JSON:
        return responses.unencoded_response(scope, outcome.entry, status)
    return responses.object_response(scope, outcome.entry, wanted, status=status, now=engine.clock.now())
