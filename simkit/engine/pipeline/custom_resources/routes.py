"""Where requests for custom resources take another way than those for built-in ones."""

from __future__ import annotations

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.subresources.scale import ScaleView, scaled
from simkit.kinds.apiextensions.definition import CustomVersion
from simkit.meta.errors import StatusError, internal, no_path, not_found
from simkit.meta.message import Response
from simkit.meta.objects import Object, at
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource


def builtin_group(catalogue: Catalogue, group: str) -> bool:
    """Whether a group is served with resources of the release: others leave no trace where nothing is found."""
    return any(not resource.custom for resource in catalogue.resources(group))


def check_custom_route(info: RequestInfo, resource: Resource) -> None:
    """Raises the 404 of the real server where the path does not fit the scope, or names an absent subresource."""
    if info.namespace and not resource.namespaced:
        raise no_path()
    if resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
        raise no_path()
    if info.subresource and info.subresource not in resource.subresources:
        raise not_found(resource.group_resource, info.name)


def refuse_new(custom: CustomVersion, info: RequestInfo) -> None:
    """Raises 405 for new objects of a definition that is going away."""
    if info.verb != "create" or not custom.definition.is_terminating:
        return
    message = "create not allowed while custom resource definition is terminating"
    details = {"group": info.group, "kind": info.resource}
    raise StatusError(405, "MethodNotAllowed", message, details=details)


def custom_scale(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """get, update and patch of the Scale of a custom object."""
    assert scope.custom is not None
    view, path = view_of(scope.custom), scope.custom.subresources["scale"].get("specReplicasPath") or ""
    entry = engine.store.get(scope.registry_scope.key(context.info.namespace, context.info.name))
    if context.info.verb == "get" and entry is not None:
        value = at(scope.from_storage(entry.object), *view.wanted)
        if not isinstance(value, int) or isinstance(value, bool):
            raise internal(f'the spec replicas field "{path}" does not exist')
    return scaled(engine, context, scope, view)


def view_of(custom: CustomVersion) -> ScaleView:
    """How the Scale of a version's objects is read."""
    scale = custom.subresources["scale"]
    wanted, counted, chosen = (
        _steps(scale.get(name)) for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    )
    scalable = [each for each in custom.definition.versions.values() if "scale" in each.subresources]

    def selector(obj: Object) -> str:
        value = at(obj, *chosen) if chosen else None
        return value if isinstance(value, str) else ""

    return ScaleView(tuple(each.api_version for each in scalable), selector, wanted, counted)


def _steps(path: str | None) -> tuple[str, ...]:
    return tuple((path or "").removeprefix(".").split(".")) if path else ()
