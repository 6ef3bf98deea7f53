"""Validation of numbers or percentages of pods.

Follows ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.go_printing.syntax import number_or_text
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.integers import saturating_int

_PERCENT: Final = re.compile("[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def validate_int_or_percent(path: str, value: int | str) -> Iterator[FieldError]:
    """The errors of a number or percentage of pods."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid_value(path, number_or_text(value), _PERCENT_RULE)
    else:
        yield from validate_nonnegative(path, value)


def validate_at_most_100_percent(path: str, value: int | str) -> Iterator[FieldError]:
    """The error of a percentage above 100."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and (saturating_int(value[:-1]) or 0) > 100:
        yield invalid_value(path, number_or_text(value), "must not be greater than 100%")


def int_or_percent_value(value: int | str) -> int:
    """The value of a number or percentage; zero for any other text.

    Examples
    --------
    >>> int_or_percent_value("25%"), int_or_percent_value(3), int_or_percent_value("x")
    (25, 3, 0)
    """
    if not isinstance(value, str):
        return value
    return saturating_int(value.removesuffix("%")) or 0
