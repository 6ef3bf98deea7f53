"""CSIStorageCapacity: how much storage of a class there is in some place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.amounts import negative_faults
from simkit.kinds.parts.bounds import FIXED, changed, text_faults
from simkit.kinds.parts.go_syntax import selector as shown_selector
from simkit.kinds.parts.label_selector import validate_label_selector
from simkit.kinds.parts.old_labels import selector_warnings
from simkit.kinds.strategy import Strategy
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.format import dns_subdomain
from simkit.meta.objects import Object, metadata, name_of


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    faults = list(_faults(obj))
    if old is not None:
        topology = obj.get("nodeTopology")
        if topology != old.get("nodeTopology"):
            shown = shown_selector(topology) if topology is not None else None
            faults.append(invalid_value("nodeTopology", shown, FIXED))
        faults += changed("storageClassName", obj.get("storageClassName"), old.get("storageClassName"))
    return faults


def _faults(obj: Object) -> Iterator[FieldError]:
    yield from validate_label_selector(obj.get("nodeTopology"), "nodeTopology")
    yield from text_faults("storageClassName", obj.get("storageClassName") or "", dns_subdomain)
    if obj.get("capacity") is not None:
        yield from negative_faults("capacity", obj["capacity"])


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    return list(selector_warnings("nodeTopology", obj.get("nodeTopology") or {}))


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), metadata(obj).get("creationTimestamp")]


RULES = Strategy(validate=_validate, warnings=_warnings, row=_row, needs_version=True)
