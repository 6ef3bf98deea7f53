"""Strategy of ResourceClaimTemplate: defaulting, validation, printer columns.

Follows ``pkg/registry/resource/resourceclaimtemplate/strategy.go``, releases 1.30 and 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence

from simkit.kinds.parts.cells import by_release, columns
from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.devices.requests import defaulted_devices, validate_devices, without_empty_requests
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.volume.claim_spec import TEMPLATE_METADATA
from simkit.kinds.resource.resourceclaim import admin_errors
from simkit.kinds.rules import placed
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.objects import Draft, Object, at


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if behaviour.applies("claims-of-devices"):
        claim = own_copy(draft, "spec", "spec")
        claim["devices"] = defaulted_devices(claim.get("devices") or {})


def _spec_errors(behaviour: ServedBehaviour, obj: Object) -> list[FieldError]:
    return [
        *placed("spec", TEMPLATE_METADATA(behaviour, obj.get("spec") or {})),
        *validate_devices(behaviour, "spec.spec.devices", at(obj, "spec", "spec", "devices") or {}),
    ]


def _validate_change(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    if not behaviour.applies("claims-of-devices") or _canonical(obj.get("spec") or {}) == old.get("spec"):
        return ()
    shown = structure("resource.ResourceClaimTemplateSpec", obj.get("spec") or {})
    again = _spec_errors(behaviour, obj) if behaviour.applies("changed-claim-templates-checked-again") else ()
    return [invalid_value("spec", shown, "field is immutable"), *again]


def _canonical(spec: Object) -> Draft:
    """The spec without an empty list of requests."""
    return {**spec, "spec": without_empty_requests(spec.get("spec") or {})}


def _canonicalize(draft: Draft) -> None:
    draft["spec"] = _canonical(draft.get("spec") or {})


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    default=_default,
    validate=lambda behaviour, obj, _: _spec_errors(behaviour, obj) if behaviour.applies("claims-of-devices") else (),
    validate_last=_validate_change,
    canonicalize=_canonicalize,
    validate_in_namespace=lambda behaviour, obj, labels: admin_errors(behaviour, obj.get("spec") or {}, labels),
    print_row=by_release(
        "claims-of-devices", columns(), columns("spec.spec.resourceClassName", "spec.spec.allocationMode")
    ),
    return_deleted_object=True,
)
