"""Validation of the counters that devices share: the sets of a slice, and what a device consumes of one.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.kinds.parts.devices.names import validate_map
from simkit.kinds.parts.validation.fields import validate_text
from simkit.meta.fielderror import FieldError, required
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Object

_MOST_COUNTERS: Final = 32
_LONGEST_NAME: Final = 63


def validate_counter_set(path: str, counters: Any) -> Iterator[FieldError]:
    """The errors of a set of counters."""
    return _validate(path, "name", counters)


def validate_consumption(path: str, consumed: Any) -> Iterator[FieldError]:
    """The errors of what a device takes out of a set of counters."""
    return _validate(path, "counterSet", consumed)


def _validate(path: str, named: str, counters: Object) -> Iterator[FieldError]:
    if not counters.get(named):
        yield required(f"{path}.{named}")
    else:
        yield from validate_text(f"{path}.{named}", counters[named], dns_label)
    found = counters.get("counters")
    if not found:
        yield required(f"{path}.counters")
    else:
        yield from validate_map(f"{path}.counters", found, _MOST_COUNTERS, _LONGEST_NAME, _validate_name, _any_amount)


def _validate_name(path: str, name: str) -> Iterator[FieldError]:
    return validate_text(path, name, dns_label)


def _any_amount(path: str, counter: Any) -> Iterator[FieldError]:
    return iter(())
