"""Strategy of RuntimeClass: validation, warnings, printer columns.

Follows ``pkg/registry/node/runtimeclass/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.resources import validate_overhead
from simkit.kinds.parts.pod.validation.scheduling import validate_tolerations
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.deprecated_node_labels import deprecation
from simkit.kinds.parts.validation.fields import validate_immutable_field, validate_text
from simkit.kinds.parts.validation.labels import validate_labels
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, Shown, duplicate, required
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Object, at, name_of

_TOLERATION: Final = (("Key", "key"), ("Operator", "operator"), ("Value", "value"), ("Effect", "effect"))
"""The fields of a toleration with their Go names, without the seconds."""


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj))


def _validate_change(obj: Object, old: Object) -> Sequence[FieldError]:
    return list(validate_immutable_field("handler", obj.get("handler") or "", old.get("handler") or ""))


def _validate_fields(obj: Object) -> Iterator[FieldError]:
    handler = obj.get("handler") or ""
    if not handler and applies("runtime-handlers-required"):
        yield required("handler")
    else:
        yield from validate_text("handler", handler, dns_label)
    if obj.get("overhead") is not None:
        yield from validate_overhead("overhead", obj["overhead"].get("podFixed") or {})
    scheduling = obj.get("scheduling")
    if scheduling is not None:
        yield from validate_labels("scheduling.nodeSelector", scheduling.get("nodeSelector") or {})
        yield from _validate_toleration(scheduling.get("tolerations") or ())


def _validate_toleration(tolerations: Sequence[Object]) -> Iterator[FieldError]:
    path = "scheduling.tolerations"
    once = applies("tolerations-of-runtime-classes-named-once")
    yield from validate_tolerations(path if once else f"{path}.tolerations", tolerations)
    seen: set[tuple[str, ...]] = set()
    for index, one in enumerate(tolerations):
        same = tuple(one.get(name) or "" for _, name in _TOLERATION)
        if same in seen:
            yield duplicate(f"scheduling.tolerations[{index}]", _shown(one))
        seen.add(same)


def _shown(toleration: Object) -> Shown:
    """A toleration as Go prints the struct."""
    return structure("core.Toleration", toleration)


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    if not applies("node-labels-of-classes-warned"):
        return ()
    keys = at(obj, "scheduling", "nodeSelector") or ()
    return [f"scheduling.nodeSelector: {deprecation(key)}" for key in keys if deprecation(key)]


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), obj.get("handler") or "", created(obj, now)]


STRATEGY = Strategy(
    unqualified_finalizers=True,
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    validate=_validate,
    validate_last=_validate_change,
    warnings=_warnings,
    print_row=_row,
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
