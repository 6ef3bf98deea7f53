"""Strategy shared by roles and bindings."""

from __future__ import annotations

from typing import Final

from simkit.kinds.strategy import MetadataChecks, Strategy
from simkit.meta.name_validation import whole_path_segment

ACCESS_KIND: Final = Strategy(
    metadata_checks=MetadataChecks(whole=2), validate_name=whole_path_segment, allow_create_on_update=True
)
"""The strategy that each kind completes."""
