"""Strategy of PodDisruptionBudget: validation and printer columns.

Follows ``pkg/registry/policy/poddisruptionbudget/strategy.go`` and ``pkg/apis/policy/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from simkit.kinds.parts.copy_on_write import keep_all_but_status, prepared
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import columns, number
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.parts.validation.fields import validate_at_most_100_percent, validate_int_or_percent
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import by, fields, first, must, row, validation
from simkit.kinds.strategy import MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Object

_COUNTS: Final = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
_BOUNDS: Final = ("minAvailable", "maxUnavailable")


_AMOUNT: Final = first(by(validate_int_or_percent), by(validate_at_most_100_percent))
_BOTH: Final = fields.present("minAvailable", "maxUnavailable")
_STATUS: Final = validation(
    row("status.conditions", by(validate_conditions)),
    *(
        row(f"status.{name}", must.be_nonnegative)
        for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    ),
)
_SHOWN: Final = partial(structure, "policy.PodDisruptionBudgetSpec")


def _bound(name: str) -> Callable[[Object], str]:
    return lambda obj: str(obj["spec"][name]) if name in (obj.get("spec") or {}) else "N/A"


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((), part=()),
    checks_new_metadata=False,
    unqualified_finalizers=True,
    validate_name=path_segment,
    prepare=prepared(spec=True, status=dict.fromkeys(_COUNTS, 0)),
    validate=validation(
        row(
            "spec",
            row("", must.be_otherwise("minAvailable and maxUnavailable cannot be both set", _SHOWN), when=_BOTH),
            row("minAvailable", _AMOUNT),
            row("maxUnavailable", _AMOUNT),
            row("selector", LABEL_SELECTOR),
            row("unhealthyPodEvictionPolicy", must.be_one_of("AlwaysAllow", "IfHealthyBudget"), empty=True),
        )
    ),
    raises_generation=spec_differs,
    print_row=columns(*map(_bound, _BOUNDS), number("status.disruptionsAllowed")),
    subresources={"status": Subresource(keep_all_but_status, _STATUS)},
    allow_unconditional_update=False,
)
