"""Strategy shared by roles and bindings."""

from __future__ import annotations

from typing import Final

from simkit.kinds.strategy import CHANGES, WHOLE, MetadataCheck, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.name_validation import whole_path_segment

ACCESS_KIND: Final = Strategy(
    metadata_checks=MetadataChecks(
        (MetadataCheck(whole=True, until=lambda: applies("bindings-checked-once")), WHOLE, CHANGES)
    ),
    validate_name=whole_path_segment,
    allow_create_on_update=True,
)
"""The strategy that each kind completes."""
