"""The metrics as the parts of the engine see them."""

from __future__ import annotations

from typing import Protocol


class Meter(Protocol):
    """Counts what happens, by family and label values. Never raises, and never waits."""

    def count(self, family: str, *labels: str) -> None:
        """Add one to a counter."""
        ...

    def set(self, family: str, *labels: str, value: float) -> None:
        """Set a gauge."""
        ...
