"""Strategy of RuntimeClass: validation, warnings, printer columns.

Follows ``pkg/registry/node/runtimeclass/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.cells import columns
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.resources import validate_overhead
from simkit.kinds.parts.pod.validation.scheduling import TOLERATION
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.parts.validation.object_meta import deprecation, validate_labels
from simkit.kinds.rules import REQUIRED, by, fixed, items, last, must, placed, row, validation
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, duplicate
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Object, at

_EACH: Final = items(TOLERATION)


def _validate_tolerations(behaviour: ServedBehaviour, path: str, tolerations: Sequence[Object]) -> Errors:
    once = behaviour.applies("tolerations-of-runtime-classes-named-once")
    yield from placed(path if once else f"{path}.tolerations", _EACH(behaviour, tolerations))
    fields = ("key", "operator", "value", "effect")
    for index in sorted(repeats(tuple(each.get(name) or "" for name in fields) for each in tolerations)):
        yield duplicate(f"{path}[{index}]", structure("core.Toleration", tolerations[index]))


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if not behaviour.applies("node-labels-of-classes-warned"):
        return ()
    keys = at(obj, "scheduling", "nodeSelector") or ()
    return [f"scheduling.nodeSelector: {deprecation(behaviour, key)}" for key in keys if deprecation(behaviour, key)]


STRATEGIES: Final = {
    "RuntimeClass": Strategy(
        unqualified_finalizers=True,
        metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
        validate=validation(
            row("handler", REQUIRED, must.be(dns_label), since="runtime-handlers-required"),
            row("handler", must.be(dns_label), zero="", until="runtime-handlers-required"),
            row("overhead.podFixed", by(validate_overhead), told="overhead"),
            row("scheduling.nodeSelector", by(validate_labels)),
            row("scheduling.tolerations", by(_validate_tolerations)),
        ),
        validate_last=last(fixed("handler", zero="")),
        warnings=_warnings,
        print_row=columns("handler"),
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
}
