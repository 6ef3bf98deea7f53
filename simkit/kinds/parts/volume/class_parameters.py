"""Validation of what classes of volumes name: a driver, and parameters for it.

Follows ``pkg/apis/storage/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.kinds.parts.validation.fields import validate_text
from simkit.meta.fielderror import FieldError, invalid_value, required, too_long
from simkit.meta.name_validation import qualified_name

_MOST_PARAMETERS: Final = 512
_LARGEST: Final = 256 * 1024


def validate_provisioner(path: str, name: str) -> Iterator[FieldError]:
    """The errors of the name of a driver or provisioner."""
    if not name:
        yield required(path, name)
    else:
        yield from validate_text(path, name.lower(), qualified_name)


def validate_parameters(parameters: Mapping[str, str]) -> Iterator[FieldError]:
    """The errors of parameters: how many there are, and how large."""
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", _MOST_PARAMETERS)
        return
    for key in parameters:
        if not key:
            yield invalid_value("parameters", key, "field can not be empty.")
    if sum(len(key) + len(value) for key, value in parameters.items()) > _LARGEST:
        yield too_long("parameters", _LARGEST)
