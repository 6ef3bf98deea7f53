"""CSIStorageCapacity: how much storage of a class there is in some place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.amounts import negative_faults
from simkit.kinds.parts.bounds import changed, text_faults
from simkit.kinds.parts.label_selector import validate_label_selector
from simkit.kinds.parts.old_labels import selector_warnings
from simkit.kinds.rules import KindRules
from simkit.meta.fielderror import FieldError
from simkit.meta.format import dns_subdomain
from simkit.meta.objects import Object, metadata, name_of


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    faults = list(_faults(obj))
    if old is not None:
        faults += changed("nodeTopology", obj.get("nodeTopology"), old.get("nodeTopology"))
        faults += changed("storageClassName", obj.get("storageClassName"), old.get("storageClassName"))
    return faults


def _faults(obj: Object) -> Iterator[FieldError]:
    yield from validate_label_selector(obj.get("nodeTopology"), "nodeTopology")
    yield from text_faults("storageClassName", obj.get("storageClassName") or "", dns_subdomain)
    for name in ("capacity", "maximumVolumeSize"):
        if obj.get(name) is not None:
            yield from negative_faults(name, obj[name])


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    return list(selector_warnings("nodeTopology", obj.get("nodeTopology") or {}))


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), metadata(obj).get("creationTimestamp")]


RULES = KindRules(validate=_validate, warnings=_warnings, row=_row, needs_version=True)
