"""Validation of file paths and modes.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.fielderror import FieldError, invalid_value

MODE_RULE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_no_backsteps(path: str, text: str) -> Iterator[FieldError]:
    """The error of a path with ``..``."""
    if ".." in text.split("/"):
        yield invalid_value(path, text, "must not contain '..'")


def validate_local_descending_path(path: str, text: str) -> Iterator[FieldError]:
    """The error of a path that is absolute or has ``..``."""
    if text.startswith("/"):
        yield invalid_value(path, text, "must be a relative path")
    yield from validate_no_backsteps(path, text)


def validate_file(path: str, text: str) -> Iterator[FieldError]:
    """The error of a file path in a volume, where names may begin with two dots."""
    yield from validate_local_descending_path(path, text)
    if text.startswith("..") and not text.startswith("../"):
        yield invalid_value(path, text, "must not start with '..'")


def validate_mode(path: str, mode: int | None) -> Iterator[FieldError]:
    """The error of an invalid file mode."""
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid_value(path, mode, MODE_RULE)
