"""Strategies of ControllerRevision and ReplicaSet.

Follows ``pkg/registry/apps`` and ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from simkit.kinds.parts.cells import NONE, created, selector_text
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.template_owner import (
    FIRST,
    changing_selectors,
    default_missing,
    keeping_dependents,
    prepared_workload,
    replica_row,
    validate_immutable_selector,
    validate_nonnegative_fields,
    validate_replica_status,
    validate_selecting,
    workload_warnings,
)
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.strategy import Strategy, Subresource, checked_twice, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, Shown, invalid_value, required
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Draft, Object, at, controller_of, name_of


def _validate_controller_revision(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    data, objects_only = obj.get("data"), behaviour.applies("revision-data-is-an-object")
    if data is None and not objects_only:
        yield required("data", "data is mandatory")
    yield from validate_nonnegative("revision", obj.get("revision") or 0)
    if old is None and objects_only and not isinstance(data, Mapping):
        text = "data is mandatory" if data is None else "data must be a valid JSON object"
        yield required("data", text)
    if old is not None and obj.get("data") != old.get("data"):
        yield invalid_value("data", _unread(behaviour, obj.get("data")), "field is immutable")


def _unread(behaviour: ServedBehaviour, data: Any) -> Any:
    """A raw extension as errors print it: byte by byte."""
    raw = "(nil)" if data is None else "{" + ", ".join(f"0x{byte:x}" for byte in orjson.dumps(data)) + "}"
    if behaviour.applies("revision-data-is-an-object"):
        return Shown(f"runtime.RawExtension{{Raw:[]uint8{raw}, Object:runtime.Object(nil)}}", data)
    if data is None:
        return None
    kind = 'TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}'
    return Shown(
        f'runtime.Unknown{{{kind}, Raw:[]uint8{raw}, ContentEncoding:"", ContentType:"application/json"}}', data
    )


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), _named(controller_of(obj)), obj.get("revision") or 0, created(obj, now)]


def _named(owner: Object | None) -> str:
    if owner is None:
        return NONE
    group = GroupVersion.parse(owner.get("apiVersion") or "").group
    kind = (owner.get("kind") or "").lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, {"replicas": 1})
    spec.setdefault("template", {})
    default_template(behaviour, spec)


def _validate_replica_set(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    spec = obj["spec"]
    yield from validate_nonnegative_fields("spec", spec, ("replicas", "minReadySeconds"))
    yield from validate_selecting(behaviour, spec)


_STABLE: Final = Strategy(
    metadata_checks=checked_twice("replica-sets-checked-once"),
    default=_default,
    empty={"spec": {"replicas": 0}},
    prepare=prepared_workload({"replicas": 0}),
    validate=_validate_replica_set,
    validate_last=lambda _, obj, old: validate_immutable_selector(obj, old),
    raises_generation=spec_differs,
    print_row=replica_row(lambda obj: selector_text(at(obj, "spec", "selector"))),
    subresources={"status": Subresource(keep_all_but_status, validate_replica_status)},
    warnings=workload_warnings,
)


STRATEGIES: Final = {
    "ControllerRevision": Strategy(validate=_validate_controller_revision, print_row=_row),
    "ReplicaSet": replace(
        _STABLE, older_versions={**changing_selectors(_STABLE, FIRST), **keeping_dependents(_STABLE, "apps/v1beta2")}
    ),
}
