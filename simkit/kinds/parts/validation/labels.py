"""Validation of labels and annotations.

Follows ``k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import label_value, qualified_name

_ANNOTATIONS_LIMIT: Final = 256 * 1024


def validate_label(labels: Mapping[str, str], field: str) -> list[FieldError]:
    """Returns the errors of a map of labels."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid_value(field, key, text) for text in qualified_name(key)]
        errors += [invalid_value(field, value, text) for text in label_value(value)]
    return errors


def validate_annotation(annotations: Mapping[str, str], field: str) -> list[FieldError]:
    """Returns the errors of a map of annotations; their keys are compared in lower case."""
    errors = [invalid_value(field, key, text) for key in annotations for text in qualified_name(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        errors.append(FieldError("FieldValueTooLong", field, None, f"must have at most {_ANNOTATIONS_LIMIT} bytes"))
    return errors
