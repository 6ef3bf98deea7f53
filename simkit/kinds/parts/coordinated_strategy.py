"""Strategies by which servers elect a leader together, in leases and their candidates.

Follows ``pkg/apis/coordination/validation/validation.go`` (``ValidateCoordinatedLeaseStrategy``), release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.fielderror import FieldError, invalid_value, unsupported
from simkit.meta.name_validation import qualified_name

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"


def validate_coordinated_strategy(path: str, strategy: str) -> Iterator[FieldError]:
    """The errors of a strategy: a known one, or a qualified name with a domain. They are told below the path."""
    if "/" not in strategy:
        if strategy != OLDEST_EMULATION_VERSION:
            yield unsupported(f"{path}.strategy", strategy, (OLDEST_EMULATION_VERSION,))
        return
    yield from (invalid_value(f"{path}.strategy", strategy, text) for text in qualified_name(strategy))
