"""The server for which a part under test is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simkit.meta.clock import SimulatedClock
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot


class FixedContext:
    """The context of a server with some objects, whose clock stands still.

    Parameters
    ----------
    objects
        All objects that are stored.
    settings
        The settings of admission plugins, by name.
    """

    def __init__(self, objects: Iterable[Object] = (), settings: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.clock = SimulatedClock()
        self._snapshot, self._settings = MemorySnapshot(list(objects), captured=["*"]), settings or {}

    def snapshot(self) -> Snapshot:
        """The objects."""
        return self._snapshot

    def of(self, name: str) -> Mapping[str, Any]:
        """The settings of a plugin; empty if it has none."""
        return self._settings.get(name, {})
