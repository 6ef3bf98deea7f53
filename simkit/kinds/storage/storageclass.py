"""Strategy of StorageClass: defaulting, validation, warnings, printer columns.

Follows ``pkg/registry/storage/storageclass/strategy.go`` and ``pkg/apis/storage/validation/validation.go``, release
1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import text_map
from simkit.kinds.parts.printers.cells import columns, flag
from simkit.kinds.parts.validation.deprecated_node_labels import deprecation
from simkit.kinds.parts.volume.persistent_spec import validate_parameters, validate_provisioner, validate_topology
from simkit.kinds.rules import Change, by, changes, fixed, last, must, row, validation
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.objects import Draft, Object, annotations_of

DEFAULT: Final = label("is-default-class", "storageclass")
_OLDER: Final = label("is-default-class", "storageclass.beta")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    draft.setdefault("reclaimPolicy", "Delete")
    draft.setdefault("volumeBindingMode", "Immediate")


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if not behaviour.applies("node-labels-of-classes-warned"):
        return ()
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {text}"
        for index, term in enumerate(obj.get("allowedTopologies") or ())
        for number, one in enumerate(term.get("matchLabelExpressions") or ())
        if (text := deprecation(behaviour, one.get("key") or ""))
    ]


_IMMUTABLE: Final = "storage-classes-have-immutable-fields"


def _forbidden(name: str, zero: Any = None) -> Change:
    """The check of a field whose updates were forbidden by its name."""
    return fixed(name, zero=zero, detail=f"updates to {name} are forbidden.", forbidden=True, until=_IMMUTABLE)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    annotations = annotations_of(obj)
    name, *cells = _CELLS(behaviour, obj, now)
    return [f"{name} (default)" if "true" in (annotations.get(DEFAULT), annotations.get(_OLDER)) else name, *cells]


def _policy(obj: Object) -> str:
    return obj.get("reclaimPolicy") or "Delete"


def _mode(obj: Object) -> str:
    return obj.get("volumeBindingMode") or "Immediate"


_CELLS: Final = columns("provisioner", _policy, _mode, flag("allowVolumeExpansion"))
STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    warnings=_warnings,
    default=_default,
    validate=validation(
        row("provisioner", by(validate_provisioner), zero=""),
        row("parameters", by(validate_parameters)),
        row("reclaimPolicy", must.be_one_of("Delete", "Retain")),
        row("volumeBindingMode", must.be_one_of("Immediate", "WaitForFirstConsumer"), empty=True),
        row("allowedTopologies", by(validate_topology)),
    ),
    validate_last=last(
        changes(
            fixed("parameters", zero={}, shown=lambda parameters: text_map(parameters or None), since=_IMMUTABLE),
            fixed("provisioner", "reclaimPolicy", "volumeBindingMode", since=_IMMUTABLE),
            _forbidden("parameters", zero={}),
            _forbidden("provisioner"),
            _forbidden("reclaimPolicy"),
            fixed("volumeBindingMode", until=_IMMUTABLE),
        )
    ),
    print_row=_row,
    return_deleted_object=True,
)
