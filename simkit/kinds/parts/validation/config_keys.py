"""Validation of the data keys of ConfigMaps and Secrets.

Follows ``k8s.io/apimachinery/pkg/util/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.meta.fielderror import FieldError, invalid_value

LARGEST: Final = 1024 * 1024
"""The most bytes of data in one object."""

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def validate_key(path: str, key: str) -> list[FieldError]:
    """The errors of a key, which must be valid as a file name."""
    if key[:1] != "." and len(key) <= 253 and _KEY.fullmatch(key):
        return []
    return [invalid_value(path, key, text) for text in key_texts(key)]


def key_texts(key: str) -> list[str]:
    """The errors of a key, as sentences."""
    wrong = [] if len(key) <= 253 else ["must be no more than 253 characters"]
    if not _KEY.fullmatch(key):
        wrong.append(_RULE)
    if key == ".":
        wrong.append("must not be '.'")
    elif key == "..":
        wrong.append("must not be '..'")
    elif key.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong
