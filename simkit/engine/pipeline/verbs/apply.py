"""Server-side apply: the body is one manager's whole intent."""

from __future__ import annotations

from typing import Any

from simkit.engine.pipeline import bodies
from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.exchange import Exchange
from simkit.engine.pipeline.served import Served
from simkit.engine.pipeline.verbs import inbound
from simkit.engine.pipeline.verbs.admit import Gatekeeper, converter, reset_fields
from simkit.engine.pipeline.verbs.write import answer
from simkit.engine.registry.write import Write
from simkit.language.merge.apply import apply
from simkit.meta.clock import timestamp
from simkit.meta.errors import bad_request
from simkit.meta.message import Response
from simkit.meta.objects import Draft, Object, metadata
from simkit.snapshot.yamltext import Repeat


def apply_intent(engine: Engine, exchange: Exchange, served: Served) -> Response:
    """PATCH with an apply body: creates what is missing, merges with what others own."""
    options = opt.write_options(exchange.request, "PatchOptions", is_apply=True)
    applied = applied_body(exchange, served, options.validation)
    target = exchange.target
    keeper = Gatekeeper(engine, exchange, served, options.dry_run, options.as_object)
    reset, convert = reset_fields(served, target.subresource), converter(served)

    def intent(live: Object | None) -> Draft:
        shown = served.from_storage(live) if live is not None else None
        merged = apply(
            shown,
            applied if live is not None else _without_version(applied),
            served.schema,
            manager=options.manager,
            force=options.force,
            api_version=served.resource.api_version,
            time=timestamp(engine.clock.now()),
            subresource=target.subresource,
            kind=served.resource.kind,
            reset_fields=reset,
            convert=convert,
        )
        fields = metadata(merged).get("managedFields")
        draft = inbound.fit(exchange, merged, served.resource.gvk, served.schema, "Ignore", keep_nulls=True)
        if fields:
            draft["metadata"]["managedFields"] = fields
        return served.to_storage(inbound.default(served, _addressed(exchange, served, draft)))

    write = Write(
        served.place,
        served.place.key(target.namespace, target.name),
        intent,
        subresource=target.subresource,
        dry_run=options.dry_run,
        creates=not target.subresource,
        strict_version=False,
        mutate=keeper.mutate,
        validate=keeper.validate,
        identity=exchange.actor(),
        permit_create=keeper.permit_create,
    )
    return answer(engine, exchange, served, engine.registry.update(write))


def applied_body(exchange: Exchange, served: Served, validation: str) -> dict[str, Any]:
    """The decoded body. Raises 400 for what is no YAML, or is for another object than the path names."""
    repeats: list[Repeat] = []
    try:
        value = bodies.parse_yaml(exchange.request.body, repeats)
    except bodies.MalformedBody as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(value, dict):
        raise bad_request(f"error decoding YAML: json: cannot unmarshal {bodies.go_kind(value)} into Go value")
    faults = bodies.repeat_faults(repeats)
    if faults and validation == "Strict":
        listed = "\n  ".join(faults)
        raise bad_request(
            f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {listed}"
        )
    inbound.report(exchange, served.resource.gvk, validation, faults)
    applied: dict[str, Any] = value
    given = metadata(applied)
    target = exchange.target
    name = given.get("name")
    if not applied.get("kind") or not applied.get("apiVersion"):
        return applied  # whatever it is: the type is what is wrong with it
    if not name:
        why = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        raise bad_request(why)
    if name != target.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    if served.resource.namespaced and given.get("namespace") and given["namespace"] != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    return applied


def _without_version(applied: dict[str, Any]) -> dict[str, Any]:
    """An apply that creates takes no notice of a resourceVersion."""
    given = metadata(applied)
    if "resourceVersion" not in given:
        return applied
    return {**applied, "metadata": {name: value for name, value in given.items() if name != "resourceVersion"}}


def _addressed(exchange: Exchange, served: Served, draft: Draft) -> Draft:
    draft["metadata"].setdefault("name", exchange.target.name)
    if served.resource.namespaced:
        draft["metadata"]["namespace"] = exchange.target.namespace
    return draft
