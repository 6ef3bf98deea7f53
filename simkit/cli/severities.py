"""The words for severities on the command line."""

from __future__ import annotations

from typing import Final

LEVELS: Final = ("info", "low", "medium", "high", "critical")
"""From the least severe to the most severe."""
