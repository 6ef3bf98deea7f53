"""Strategy shared by roles and bindings."""

from __future__ import annotations

from typing import Final

from simkit.kinds.strategy import CHANGES, WHOLE, MetadataCheck, MetadataChecks, Strategy, again
from simkit.meta.behaviour import applies
from simkit.meta.name_validation import whole_path_segment


def _checked_once() -> bool:
    return applies("bindings-checked-once")


ACCESS_KIND: Final = Strategy(
    metadata_checks=MetadataChecks(
        (WHOLE,), after=(MetadataCheck(whole=True, until=_checked_once), again(_checked_once), CHANGES)
    ),
    validate_name=whole_path_segment,
    allow_create_on_update=True,
)
"""The strategy that each kind completes."""
