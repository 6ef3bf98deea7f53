"""The metrics as the parts of the engine see them."""

from __future__ import annotations

from typing import Protocol


class Meter(Protocol):
    """Counts what happens, and how long it takes, by family and label values. Never raises, and never waits."""

    def count(self, family: str, *labels: str) -> None:
        """Add one to a counter."""
        ...

    def record(self, family: str, *labels: str, value: float) -> None:
        """Count a value, such as seconds, in a histogram."""
        ...

    def set(self, family: str, *labels: str, value: float) -> None:
        """Set a gauge."""
        ...


class Unmetered:
    """A meter that keeps nothing, for parts outside of a server."""

    def count(self, family: str, *labels: str) -> None:
        """Nothing is counted."""

    def record(self, family: str, *labels: str, value: float) -> None:
        """Nothing is recorded."""

    def set(self, family: str, *labels: str, value: float) -> None:
        """Nothing is set."""
