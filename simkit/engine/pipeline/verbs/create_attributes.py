"""The admission attributes of an object that is posted to a subresource or virtual resource."""

from __future__ import annotations

from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.seams import Review
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object


def create_attributes(
    context: RequestContext,
    scope: RequestScope,
    kind: GroupVersionKind,
    name: str,
    obj: Object,
    options: WriteOptions,
) -> Review:
    """The attributes of an object posted to a subresource without a name of its own."""
    return Review(
        context.actor(),
        "CREATE",
        scope.registry_scope.resource,
        scope.resource.version,
        context.info.subresource,
        kind,
        context.info.namespace,
        name,
        obj,
        None,
        options.as_object,
        options.dry_run,
        context.warnings,
        context.annotations,
    )
