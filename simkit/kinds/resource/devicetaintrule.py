"""Strategy of DeviceTaintRule: preparation, validation, generation, printer columns.

Follows ``pkg/registry/resource/devicetaintrule/strategy.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy
from simkit.kinds.parts.devices.device import default_taint, validate_changed_taint
from simkit.kinds.parts.devices.names import LABEL, POOL, SUBDOMAIN
from simkit.kinds.parts.devices.requests import SELECTORS, STORED_SELECTORS
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.rules import by, must, placed, row, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource, WriteContext, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Draft, Object, at, name_of

_STATUS: Final = validation(
    row("status.conditions", by(validate_conditions)), row("status.conditions", must.have_at_most(8))
)


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


_SELECTOR: Final = row(
    "deviceSelector",
    row("deviceClassName", SUBDOMAIN, empty=True),
    row("driver", DRIVER, empty=True),
    row("pool", POOL, empty=True),
    row("device", LABEL, empty=True),
)
_NEW, _STORED = row("deviceSelector", SELECTORS), row("deviceSelector", STORED_SELECTORS)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of a rule; up to 1.34 its selector may name a class, and have expressions."""
    spec, before = obj.get("spec") or {}, {} if old is None else old.get("spec") or {}
    stored = (at(spec, "deviceSelector", "selectors") or ()) == at(before, "deviceSelector", "selectors")
    selectors = (_STORED if stored else _NEW)(behaviour, spec)
    taint = validate_changed_taint(behaviour, spec.get("taint") or {}, before.get("taint"))
    return placed("spec", [*_SELECTOR(behaviour, spec), *selectors, *placed(".taint", taint)])


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
    subresources={"status": Subresource(keep_all_but_own_status, _STATUS)},
    status_reset_fields=(("metadata",),),
)
