"""Templates of volume claims, which pods carry for volumes that live as long as they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.claim_spec import claim_spec_faults
from simkit.kinds.parts.pod.labels import annotation_faults, label_faults
from simkit.meta.fielderror import FieldError, forbidden_field
from simkit.meta.objects import METADATA_FIELDS, Object

_OTHERS: Final = tuple(name for name in METADATA_FIELDS if name not in ("labels", "annotations"))
_GO_NAMES: Final = {"uid": "uID"}


def claim_template_faults(path: str, template: Object) -> Iterator[FieldError]:
    """What is wrong with a template: its metadata may have labels and annotations only."""
    metadata = template.get("metadata") or {}
    at = f"{path}.metadata"
    yield from annotation_faults(f"{at}.annotations", metadata.get("annotations") or {})
    yield from label_faults(f"{at}.labels", metadata.get("labels") or {})
    for name in _OTHERS:
        if metadata.get(name):
            yield forbidden_field(f"{at}.{_GO_NAMES.get(name, name)}", "cannot be set for an ephemeral volume")
    yield from claim_spec_faults(f"{path}.spec", template.get("spec") or {})
