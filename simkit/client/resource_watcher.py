"""The resources whose changes a controller is informed of, and the keys that follow from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from simkit.client.requests import keys_of
from simkit.meta.names import GroupResource, Key

if TYPE_CHECKING:
    from simkit.client.lister import Lister
    from simkit.seams import Change


class ResourceWatcher:
    """The informers of a controller: it reconciles all objects of a resource, and watches others beside it.

    Parameters
    ----------
    reconciled
        The resource of its keys.
    others
        Further resources whose changes concern it; their keys are found by ``keys_affected``.
    """

    def __init__(self, reconciled: GroupResource, *others: GroupResource) -> None:
        self._reconciled, self.watches = reconciled, frozenset((reconciled, *others))

    def concerns(self, change: Change) -> bool:
        """True if the changed object is of one of them."""
        return change.entry.key.resource in self.watches

    def resume_from(self, other: Any) -> None:
        """Do nothing: the controller keeps no state that a fork needs."""

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        """The changed object itself, if it is reconciled."""
        key = change.entry.key
        return [key] if key.resource == self._reconciled else []

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        """All objects of the resource that is reconciled."""
        return keys_of(self._reconciled, lister.scan(self._reconciled))
