"""The scale subresource: the desired and actual replicas of an object, as an object of its own.

A write of the Scale is a write of the object that it is of: the wanted Scale is made from the live one, checked, and
its number of replicas moved over. Who changed the number owns it, under the name of the subresource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import AdmissionBinding
from simkit.engine.pipeline.verbs.patch import APPLY, patcher
from simkit.engine.pipeline.verbs.write import applied_body, report_repeats
from simkit.engine.registry.write import Write, precondition_failed
from simkit.kinds.apiextensions.definition import CustomVersion
from simkit.kinds.parts.cells import selector_text
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.language.merge.apply import apply
from simkit.language.merge.managedfields import SCALE_VERSION, Paths, parent_records, scale_records
from simkit.language.merge.mergepatch import failed
from simkit.language.merge.update import track_update
from simkit.meta.clock import timestamp
from simkit.meta.errors import conflict, internal, invalid
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource
from simkit.meta.objects import Draft, Object, at, metadata, name_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Entry, existing

_GROUP, _VERSION = SCALE_VERSION.split("/")
_NOT_CONVERTED: Final = (
    f"failed to create manager for existing fields: failed to convert live object (/; {SCALE_VERSION}, Kind=Scale) to "
    f"proper version: request to convert CR to an invalid group/version: {SCALE_VERSION}"
)
_KIND: Final = GroupKind(_GROUP, "Scale")
_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


@dataclass(frozen=True, slots=True)
class ScaleView:
    """The paths of an object's replicas, and the function that gives its selector."""

    versions: tuple[str, ...]
    """The apiVersions that have the subresource."""
    selector: Callable[[Object], str]
    spec_replicas_path: tuple[str, ...] = ("spec", "replicas")
    status_replicas_path: tuple[str, ...] = ("status", "replicas")
    missing: GroupResource | None = None
    """The resource that errors name for a missing object; None: the resource itself."""

    @property
    def paths(self) -> Paths:
        return {version: tuple(f"f:{name}" for name in self.spec_replicas_path) for version in self.versions}


def _structured(obj: Object) -> str:
    text = selector_text(at(obj, "spec", "selector"))
    return "" if text == "<none>" else text


def _plain(obj: Object) -> str:
    labels: Mapping[str, str] = at(obj, "spec", "selector") or {}
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


_APPS: Final = ("apps/v1beta1", "apps/v1beta2", "apps/v1")
VIEWS: Final[Mapping[GroupResource, ScaleView]] = {
    GroupResource("apps", "deployments"): ScaleView(
        _APPS, _structured, missing=GroupResource("apps", "deployments/scale")
    ),
    GroupResource("apps", "replicasets"): ScaleView(
        _APPS[1:], _structured, missing=GroupResource("apps", "replicasets/scale")
    ),
    GroupResource("apps", "statefulsets"): ScaleView(_APPS, _structured),
    GroupResource("", "replicationcontrollers"): ScaleView(
        ("v1",), _plain, missing=GroupResource(_GROUP, "replicationcontrollers/scale")
    ),
}
"""The built-in resources with a scale."""


def scale(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """get, update and patch of the Scale of a built-in object."""
    return scaled(engine, context, scope, VIEWS[scope.resource.group_resource])


def scaled(engine: Engine, context: RequestContext, scope: RequestScope, view: ScaleView) -> Response:
    """get, update and patch of the Scale of an object, given its view."""
    if context.info.verb == "get":
        return _read(engine, context, scope, view)
    return _Change(engine, context, scope, view).carry_out()


@lru_cache(maxsize=8)
def _scales(catalogue: Catalogue) -> RequestScope:
    return RequestScope(catalogue, Resource(_GROUP, _VERSION, "scales", "Scale", storage_version=_VERSION))


def of_object(obj: Object, view: ScaleView) -> Draft:
    """The Scale of an object.

    Examples
    --------
    >>> of_object({"metadata": {"name": "web"}, "spec": {"replicas": 2}}, VIEWS[GroupResource("apps", "deployments")])[
    ...     "spec"
    ... ]
    {'replicas': 2}
    """
    replicas, noted = at(obj, *view.spec_replicas_path), metadata(obj)
    status: Draft = {"replicas": at(obj, *view.status_replicas_path) or 0}
    selector = view.selector(obj)
    if selector:
        status["selector"] = selector
    return {
        "kind": _KIND.kind,
        "apiVersion": SCALE_VERSION,
        "metadata": {name: noted[name] for name in _KEPT if name in noted},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _read(engine: Engine, context: RequestContext, scope: RequestScope, view: ScaleView) -> Response:
    info = context.info
    missing = None if engine.behaviour.applies("scale-not-found-by-parent") else view.missing
    key = scope.registry_scope.key(info.namespace, info.name)
    entry = existing(engine.store, key, missing or scope.resource.group_resource)
    return _answer(engine, context, scope, view, entry)


def _answer(engine: Engine, context: RequestContext, scope: RequestScope, view: ScaleView, entry: Entry) -> Response:
    shown = Entry(entry.key, entry.revision, of_object(scope.from_storage(entry.object), view))
    return responses.object_response(_scales(scope.catalogue), shown, context.output_media_type, now=engine.clock.now())


class _Change:
    """One write of a Scale."""

    def __init__(self, engine: Engine, context: RequestContext, scope: RequestScope, view: ScaleView) -> None:
        self._engine, self._context, self._scope, self._view = engine, context, scope, view
        self._scales = _scales(scope.catalogue)
        kind = "UpdateOptions" if context.info.verb == "update" else "PatchOptions"
        media = context.request.header("content-type").split(";")[0].strip()
        self._applies = context.info.verb == "patch" and media == APPLY
        self._options = opt.write_options(engine.behaviour, context.request, kind, is_apply=self._applies)
        self._keeper = AdmissionBinding(engine, context, scope, self._options.dry_run, self._options.as_object)
        self._wanted = self._intention()

    def carry_out(self) -> Response:
        scope, info = self._scope, self._context.info
        write = Write(
            scope.registry_scope,
            scope.registry_scope.key(info.namespace, info.name),
            self._intent,
            subresource="scale",
            dry_run=self._options.dry_run,
            identity=self._context.actor(),
        )
        outcome = self._engine.registry.update(write)
        return _answer(self._engine, self._context, scope, self._view, outcome.entry)

    def _intention(self) -> Callable[[Object], Draft]:
        """The function from a live Scale, with its managed fields, to the wanted one."""
        context, scales, options = self._context, self._scales, self._options
        if self._applies:
            body, repeats = applied_body(context)
            return lambda live: self._applied(live, body, repeats)
        if context.info.verb == "patch":
            patched = patcher(context, scales, options.validation)
            return lambda live: self._tracked(live, patched(live), options)
        given = request_object.read(self._engine, context, scales.resource.gvk, scales.schema, options.validation)
        request_object.check_address(context, scales, given, named=True)
        return lambda live: self._tracked(live, given, options)

    def _tracked(self, live: Object, wanted: Draft, options: WriteOptions) -> Draft:
        owners = live["metadata"].get("managedFields") or []
        kept: Draft = {**wanted, "metadata": {**wanted["metadata"], "managedFields": owners}}
        fields = track_update(
            self._engine.behaviour,
            live,
            kept,
            self._scales.schema,
            manager=options.manager,
            api_version=SCALE_VERSION,
            time=timestamp(self._engine.clock.now()),
            subresource="scale",
        )
        return {**kept, "metadata": {**kept["metadata"], "managedFields": fields}}

    def _applied(self, live: Object, body: Mapping[str, Any], repeats: Sequence[str]) -> Draft:
        """The Scale after an apply. Raises the 500 of a custom object whose replicas nobody owns."""
        if self._scope.custom is not None and not metadata(live).get("managedFields"):
            raise failed(_NOT_CONVERTED)
        merged = apply(
            self._engine.behaviour,
            live,
            body,
            self._scales.schema,
            manager=self._options.manager,
            force=self._options.force,
            api_version=SCALE_VERSION,
            time=timestamp(self._engine.clock.now()),
            subresource="scale",
            kind=_KIND.kind,
        )
        report_repeats(self._context, self._scales, self._options.validation, repeats)
        draft = request_object.fit(
            self._engine.behaviour, self._context, merged, self._scales.resource.gvk, self._scales.schema, "Ignore"
        )
        request_object.check_address(self._context, self._scales, draft, named=True)
        draft["metadata"]["managedFields"] = metadata(merged).get("managedFields") or []
        return draft

    def _intent(self, live: Object | None) -> Draft:
        """The object with the requested number of replicas."""
        assert live is not None
        obj = self._scope.from_storage(live)
        owners = metadata(obj).get("managedFields") or []
        before = of_object(obj, self._view)
        records = scale_records(owners, self._view.paths)
        if records:
            before["metadata"]["managedFields"] = records
        review = replace(self._keeper.review("UPDATE", self._wanted(before), before), kind=self._scales.resource.gvk)
        wanted = dict(self._engine.admission.mutate(review))
        self._check(obj, wanted)
        paths, version = self._view.paths, self._scope.resource.api_version
        fields = owners
        if self._engine.behaviour.applies("owners-of-scales"):
            fields = parent_records(owners, metadata(wanted).get("managedFields") or [], paths, api_version=version)
        made = _with(obj, self._view.spec_replicas_path, at(wanted, "spec", "replicas") or 0)
        shown, old = of_object(made, self._view), of_object(obj, self._view)
        self._engine.admission.validate(replace(review, object=shown, old=old))
        noted = {**metadata(obj), "managedFields": fields}
        given = metadata(wanted).get("resourceVersion") or ""
        if given or self._scope.custom is None:  # a custom object keeps the one that it has, which holds of itself
            noted["resourceVersion"] = given
        return self._scope.to_storage({**made, "metadata": noted})

    def _check(self, obj: Object, wanted: Object) -> None:
        if self._scope.custom is None:  # a custom object is validated itself
            errors = list(validate_nonnegative("spec.replicas", at(wanted, "spec", "replicas") or 0))
            if errors:
                raise invalid(self._engine.behaviour, _KIND, name_of(obj), errors)
        given, actual = metadata(wanted).get("uid"), metadata(obj).get("uid")
        if given and given != actual:
            resource = self._scope.resource.group_resource
            if self._context.info.verb == "update":  # a condition of the write to the store
                key = self._scope.registry_scope.key(self._context.info.namespace, name_of(obj))
                dry_run = self._options.dry_run
                raise conflict(resource, name_of(obj), precondition_failed(key, given, actual or "", dry_run=dry_run))
            part = GroupResource(resource.group, f"{resource.resource}/scale")
            why = f"Precondition failed: UID in precondition: {given}, UID in object meta: {actual}"
            raise conflict(part, name_of(obj), why)


def _with(obj: Object, path: tuple[str, ...], value: Any) -> Draft:
    """The object with another value at a path."""
    head, *rest = path
    return {**obj, head: _with(obj.get(head) or {}, tuple(rest), value) if rest else value}


# The ``scale`` subresource of custom objects, with the paths in their definition.
# References: ``k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go`` (``ScaleREST``), release 1.30.


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
