"""The ``scale`` subresource of custom objects, with the paths in their definition.

References
----------
``k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go`` (``ScaleREST``), release 1.30.
"""

from __future__ import annotations

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.subresources.scale import ScaleView, scaled
from simkit.kinds.apiextensions.definition import CustomVersion
from simkit.meta.errors import internal
from simkit.meta.message import Response
from simkit.meta.objects import Object, at


def custom_scale(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """get, update and patch of the Scale of a custom object."""
    assert scope.custom is not None
    view, path = view_of(scope.custom), scope.custom.subresources["scale"].get("specReplicasPath") or ""
    entry = engine.store.get(scope.registry_scope.key(context.info.namespace, context.info.name))
    if context.info.verb == "get" and entry is not None:
        value = at(scope.from_storage(entry.object), *view.spec_replicas_path)
        if not isinstance(value, int) or isinstance(value, bool):
            raise internal(f'the spec replicas field "{path}" does not exist')
    return scaled(engine, context, scope, view)


def view_of(custom: CustomVersion) -> ScaleView:
    """The view of a custom version's objects as Scale."""
    scale = custom.subresources["scale"]
    spec_replicas_path, status_replicas_path, chosen = (
        _steps(scale.get(name)) for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    )
    scalable = [each for each in custom.definition.versions.values() if "scale" in each.subresources]

    def selector(obj: Object) -> str:
        value = at(obj, *chosen) if chosen else None
        return value if isinstance(value, str) else ""

    return ScaleView(tuple(each.api_version for each in scalable), selector, spec_replicas_path, status_replicas_path)


def _steps(path: str | None) -> tuple[str, ...]:
    return tuple((path or "").removeprefix(".").split(".")) if path else ()
