"""The resources whose changes a controller is informed of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simkit.meta.names import GroupResource

if TYPE_CHECKING:
    from simkit.seams import Change


class ResourceWatcher:
    """The informers of a controller: it is concerned by changes of some resources."""

    def __init__(self, *resources: GroupResource) -> None:
        self.watches = frozenset(resources)

    def concerns(self, change: Change) -> bool:
        """True if the changed object is of one of them."""
        return change.entry.key.resource in self.watches

    def resume_from(self, other: Any) -> None:
        """Do nothing: the controller keeps no state that a fork needs."""
