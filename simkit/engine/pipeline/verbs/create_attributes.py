"""A request's write as admission sees it."""

from __future__ import annotations

from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import Served
from simkit.engine.seams import Review
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object


def posted(
    exchange: RequestContext, served: Served, kind: GroupVersionKind, name: str, obj: Object, options: WriteOptions
) -> Review:
    """Something sent to a subresource that stores nothing under a name of its own."""
    return Review(
        exchange.actor(),
        "CREATE",
        served.place.resource,
        served.resource.version,
        exchange.target.subresource,
        kind,
        exchange.target.namespace,
        name,
        obj,
        None,
        options.as_object,
        options.dry_run,
        exchange.warnings,
        exchange.annotations,
    )
