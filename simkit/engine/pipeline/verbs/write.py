"""create and update: the body is the intent."""

from __future__ import annotations

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import Served
from simkit.engine.pipeline.verbs import owner_references, request_object
from simkit.engine.pipeline.verbs.admission_binding import Gatekeeper, tracker
from simkit.engine.registry.write import Outcome, Write
from simkit.meta.errors import StatusError
from simkit.meta.message import Response
from simkit.meta.objects import Draft, Object


def create(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """POST to a collection."""
    options = opt.write_options(exchange.request, "CreateOptions")
    draft = request_object.read(engine, exchange, served.resource.gvk, served.schema, options.validation)
    request_object.check_address(exchange, served, draft, named=False)
    owner_references.once(draft, exchange.warnings, admitted=False)
    wanted = served.to_storage(request_object.default(served, draft))
    keeper = Gatekeeper(engine, exchange, served, options.dry_run, options.as_object)

    def intent(live: Object | None) -> Draft:
        return wanted

    write = Write(
        served.place,
        served.place.key(exchange.target.namespace, ""),
        intent,
        dry_run=options.dry_run,
        track=tracker(engine, served, options, ""),
        mutate=keeper.mutate,
        validate=keeper.validate,
        identity=exchange.actor(),
    )
    return answer(engine, exchange, served, _explained(engine, write))


def _explained(engine: Engine, write: Write) -> Outcome:
    """A name that is taken by an object under deletion is told apart."""
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


def update(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """PUT to an object."""
    return _update(engine, exchange, served, "")


def update_part(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """PUT to a subresource that is a view of its object, such as status."""
    return _update(engine, exchange, served, exchange.target.subresource)


def _update(engine: Engine, exchange: RequestContext, served: Served, subresource: str) -> Response:
    options = opt.write_options(exchange.request, "UpdateOptions")
    draft = request_object.read(engine, exchange, served.resource.gvk, served.schema, options.validation)
    request_object.check_address(exchange, served, draft, named=True)
    owner_references.once(draft, exchange.warnings, admitted=False)
    wanted = served.to_storage(request_object.default(served, draft))
    keeper = Gatekeeper(engine, exchange, served, options.dry_run, options.as_object)

    def intent(live: Object | None) -> Draft:
        return {**wanted, "metadata": dict(wanted["metadata"])}

    write = Write(
        served.place,
        served.place.key(exchange.target.namespace, exchange.target.name),
        intent,
        subresource=subresource,
        dry_run=options.dry_run,
        uid=wanted["metadata"].get("uid", ""),
        creates=served.rules.allow_create_on_update and not subresource,
        track=tracker(engine, served, options, subresource),
        mutate=keeper.mutate,
        validate=keeper.validate,
        identity=exchange.actor(),
        permit_create=keeper.permit_create,
    )
    return answer(engine, exchange, served, engine.registry.update(write))


def answer(engine: Engine, exchange: RequestContext, served: Served, outcome: Outcome) -> Response:
    """What a write answers: the object as it is now."""
    status = 201 if outcome.created else 200
    return responses.single(served, outcome.entry, exchange.wanted, status=status, now=engine.clock.now())
