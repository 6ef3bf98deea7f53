"""Strategy of ControllerRevision: validation and printer columns.

Follows ``pkg/registry/apps/controllerrevision/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, Shown, invalid_value, required
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, controller_of, name_of


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
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


STRATEGY = Strategy(validate=_validate, print_row=_row)
