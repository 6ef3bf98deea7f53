"""Strategy of DeviceTaintRule: preparation, validation, generation, printer columns.

Follows ``pkg/registry/resource/devicetaintrule/strategy.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy
from simkit.kinds.parts.devices.device import default_taint, validate_changed_taint
from simkit.kinds.parts.devices.names import validate_pool_name
from simkit.kinds.parts.devices.requests import validate_selectors
from simkit.kinds.parts.pod.validation.volumes import validate_driver
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource, WriteContext, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import FieldError, too_many
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_MOST_CONDITIONS = 8


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None and behaviour.applies("device-taint-rules-tell-progress"):
        draft["status"] = {}


def _prepare_with_context(
    behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext
) -> None:
    """Say when the taint was added: a changed effect makes it a new one."""
    taint = own_copy(draft, "spec", "taint")
    before = (at(old, "spec", "taint") or {}) if old is not None else taint
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        taint["timeAdded"] = timestamp(circumstances.now)
    default_taint(taint, circumstances.now)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec, before = obj.get("spec") or {}, {} if old is None else old.get("spec") or {}
    errors = list(_validate_selector(behaviour, spec.get("deviceSelector") or {}, before.get("deviceSelector") or {}))
    errors += validate_changed_taint(behaviour, "spec.taint", spec.get("taint") or {}, before.get("taint"))
    return errors


def _validate_selector(behaviour: ServedBehaviour, selector: Object, before: Object) -> Iterator[FieldError]:
    """The errors of a selector; up to 1.34 it may name a class, and have expressions."""
    path = "spec.deviceSelector"
    rules: Sequence[tuple[str, Callable[[ServedBehaviour, str, str], Iterable[FieldError]]]] = (
        ("deviceClassName", lambda _, at, name: validate_text(at, name, dns_subdomain)),
        ("driver", validate_driver),
        ("pool", validate_pool_name),
        ("device", lambda _, at, name: validate_text(at, name, dns_label)),
    )
    for name, rule in rules:
        if selector.get(name) is not None:
            yield from rule(behaviour, f"{path}.{name}", selector[name])
    selectors = selector.get("selectors") or ()
    yield from validate_selectors(
        behaviour, f"{path}.selectors", selectors, stored=selectors == before.get("selectors")
    )


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    path, conditions = "status.conditions", at(obj, "status", "conditions") or ()
    errors = [*validate_conditions(behaviour, path, conditions)]
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    return errors


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    taint = at(obj, "spec", "taint") or {}
    added = created({"metadata": {"creationTimestamp": taint["timeAdded"]}}, now) if taint.get("timeAdded") else ""
    cells = [taint.get(name) or "" for name in ("key", "value", "effect")]
    return [name_of(obj), *cells, added, created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    prepare=_prepare,
    prepare_with_context=_prepare_with_context,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
)
