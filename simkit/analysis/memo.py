"""Values that are computed once per snapshot and released with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from simkit.seams.snapshot import Snapshot

V = TypeVar("V")
ATTRIBUTE: Final = "_derived_by_analyses"
"""The attribute of a snapshot that holds what was derived from it."""


class Derived(dict[object, Any]):
    """What was derived from one snapshot. A copy of the snapshot, or one in another process, starts with nothing."""

    def __reduce__(self) -> tuple[type[Derived], tuple[()]]:
        return Derived, ()


class SnapshotMemo(Generic[V]):
    """One value per snapshot. A snapshot does not change, so derived values stay valid.

    The values are kept in the snapshot itself, since most of them refer to it: a weak table would keep both for ever. A
    snapshot that takes no further attributes is not remembered.
    """

    def of(self, snapshot: Snapshot, make: Callable[[Snapshot], V]) -> V:
        """The value of a snapshot, computed if it is not there yet."""
        derived = _derived_from(snapshot)
        if derived is None:
            return make(snapshot)
        if self not in derived:
            derived[self] = make(snapshot)
        value: V = derived[self]
        return value

    def known(self, snapshot: Snapshot | None) -> V | None:
        """The value of a snapshot if it was computed before."""
        derived = _derived_from(snapshot)
        return None if derived is None else derived.get(self)

    def forget(self, snapshot: Snapshot) -> None:
        """Let the value of a snapshot go, which is needed no more although the snapshot is."""
        derived = _derived_from(snapshot)
        if derived is not None:
            derived.pop(self, None)


def _derived_from(snapshot: Snapshot | None) -> Derived | None:
    attributes: dict[str, Any] | None = getattr(snapshot, "__dict__", None)
    return None if attributes is None else attributes.setdefault(ATTRIBUTE, Derived())
