"""Strategy of DeviceClass: validation, generation, printer columns.

Follows ``pkg/registry/resource/deviceclass/strategy.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.devices.names import OPAQUE, list_of
from simkit.kinds.parts.devices.requests import MOST_CONFIGURATIONS, SELECTORS, STORED_SELECTORS
from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.parts.validation.resource_quantities import is_extended
from simkit.kinds.rules import must, placed, row, table
from simkit.kinds.strategy import MetadataCheck, MetadataChecks, Strategy, again, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, at

_UNCHECKED: Final = "prefixes-of-device-classes-unchecked"


_REST: Final = table(
    row("config", list_of(MOST_CONFIGURATIONS, OPAQUE)),
    row("extendedResourceName", must.hold(is_extended, "must be a valid extended resource name"), empty=True),
)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    same = old is not None and (spec.get("selectors") or ()) == (at(old, "spec", "selectors") or ())
    selectors = STORED_SELECTORS if same and behaviour.applies(_UNCHECKED) else SELECTORS
    return placed("spec", [*selectors(behaviour, spec), *_REST(behaviour, spec)])


def _validate_name(name: str, prefix: bool) -> Sequence[str]:
    return () if prefix else dns_subdomain(name)


_CHECKS: Final = (
    MetadataCheck(whole=True, until=_UNCHECKED),
    MetadataCheck(whole=True, since=_UNCHECKED, prefix=False),
    MetadataCheck(whole=False, since=_UNCHECKED),
)
_LATE: Final = (MetadataCheck(whole=False, until=_UNCHECKED), again(_UNCHECKED))
STRATEGY = Strategy(
    metadata_checks=MetadataChecks(_CHECKS, after=_LATE),
    validate_name_since=(_UNCHECKED, _validate_name),
    validate=_validate,
    raises_generation=spec_differs,
    print_row=columns(),
    return_deleted_object=True,
)
