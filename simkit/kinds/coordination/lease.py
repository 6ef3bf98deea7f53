"""Strategy of Lease: validation and printer columns.

Follows ``pkg/registry/coordination/lease/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.copy_on_write import prepared
from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.rules import by, fields, must, row, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, unsupported
from simkit.meta.name_validation import qualified_name

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"


def validate_coordinated_strategy(behaviour: ServedBehaviour, path: str, strategy: str) -> Iterator[FieldError]:
    """The errors of a strategy by which servers elect a leader together: a known one, or a name with a domain.

    They are told below the path, as in ``ValidateCoordinatedLeaseStrategy``, release 1.36.
    """
    if "/" in strategy:
        yield from (invalid_value(f"{path}.strategy", strategy, text) for text in qualified_name(strategy))
    elif strategy != OLDEST_EMULATION_VERSION:
        yield unsupported(f"{path}.strategy", strategy, (OLDEST_EMULATION_VERSION,))


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    unqualified_finalizers=True,
    prepare=prepared(spec=True),
    validate=validation(
        row("spec.leaseDurationSeconds", must.be_positive),
        row("spec.leaseTransitions", must.be_nonnegative),
        row("spec.strategy", by(validate_coordinated_strategy), empty=True),
        row(
            "spec.preferredHolder",
            must.be_absent("may only be specified if `strategy` is defined"),
            unless=fields.given("spec.strategy"),
        ),
    ),
    print_row=columns("spec.holderIdentity"),
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
