"""Validation of labels, annotations and qualified names.

Follows ``k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.meta.fielderror import FieldError, invalid_value, too_long
from simkit.meta.name_validation import label_value, qualified_name

_ANNOTATIONS_LIMIT: Final = 256 * 1024
"""The most bytes of all keys and values together."""


def validate_labels(path: str, labels: Mapping[str, str]) -> Iterator[FieldError]:
    """The errors of a map of labels."""
    for key, value in labels.items():
        yield from (invalid_value(path, key, text) for text in qualified_name(key))
        yield from (invalid_value(path, value, text) for text in label_value(value))


def validate_annotations(path: str, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    """The errors of a map of annotations; their keys are checked in lower case."""
    yield from (invalid_value(path, key, text) for key in annotations for text in qualified_name(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield too_long(path, _ANNOTATIONS_LIMIT)


def validate_qualified_name(path: str, name: str) -> Iterator[FieldError]:
    """The errors of a qualified name, such as the key of a label."""
    return (invalid_value(path, name, text) for text in qualified_name(name))
