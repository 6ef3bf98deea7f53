"""The usual answer to which changes concern a controller: those of the resources that it watches."""

from __future__ import annotations

from typing import Any

from simkit.engine.seams import Change
from simkit.meta.names import GroupResource


class ResourceWatcher:
    """Concerned by changes of some resources."""

    def __init__(self, *resources: GroupResource) -> None:
        self.watches = frozenset(resources)

    def concerns(self, change: Change) -> bool:
        """Whether the changed object is of one of them."""
        return change.entry.key.resource in self.watches

    def resume_from(self, other: Any) -> None:
        """Nothing is known that could not be found out again."""
