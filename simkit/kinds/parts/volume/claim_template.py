"""Validation of the claim templates of ephemeral volumes.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.validation.labels import validate_annotations, validate_labels
from simkit.kinds.parts.volume.claim_spec import validate_persistent_volume_claim_spec
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field
from simkit.meta.objects import METADATA_FIELDS, Object

_OTHERS: Final = tuple(name for name in METADATA_FIELDS if name not in ("labels", "annotations"))
_GO_NAMES: Final = {"uid": "uID"}


def validate_claim_template(path: str, template: Object) -> Iterator[FieldError]:
    """The errors of a template of a claim."""
    yield from validate_template_metadata(f"{path}.metadata", template.get("metadata") or {})
    yield from validate_persistent_volume_claim_spec(f"{path}.spec", template.get("spec") or {})


def validate_template_metadata(at: str, metadata: Object) -> Iterator[FieldError]:
    """The errors of the metadata of a template: it may have labels and annotations only."""
    yield from validate_annotations(f"{at}.annotations", metadata.get("annotations") or {})
    yield from validate_labels(f"{at}.labels", metadata.get("labels") or {})
    of_what = "" if applies("claim-templates-of-any-kind") else " for an ephemeral volume"
    for name in _OTHERS:
        if metadata.get(name):
            yield forbidden_field(f"{at}.{_GO_NAMES.get(name, name)}", f"cannot be set{of_what}")
