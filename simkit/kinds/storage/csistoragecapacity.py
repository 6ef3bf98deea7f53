"""Strategy of CSIStorageCapacity: validation, warnings, printer columns.

Follows ``pkg/registry/storage/csistoragecapacity/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence

from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.validation.deprecated_node_labels import selector_warnings
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.parts.validation.resource_quantities import validate_nonnegative_quantity
from simkit.kinds.rules import by, changes, fixed, last, must, row, validation
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Shown
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, metadata, name_of
from simkit.meta.wording import Written


def _shown(topology: Object | None) -> Shown | Written | None:
    return shown_selector(topology) if topology is not None else None


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if not behaviour.applies("node-labels-of-classes-warned"):
        return ()
    return list(selector_warnings(behaviour, "nodeTopology", obj.get("nodeTopology") or {}))


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    validate=validation(
        row("nodeTopology", LABEL_SELECTOR),
        row("storageClassName", must.be(dns_subdomain), zero=""),
        row("capacity", by(validate_nonnegative_quantity)),
    ),
    validate_last=last(
        changes(fixed("nodeTopology", shown=_shown), fixed("storageClassName")),
    ),
    checks_new_once=lambda behaviour: behaviour.applies("storage-capacities-checked-once"),
    warnings=_warnings,
    print_row=lambda _, obj, __: [name_of(obj), metadata(obj).get("creationTimestamp")],
    allow_unconditional_update=False,
)
