"""The protocols of analysis: Snapshot, the read-only view of objects, and Sandbox, a cluster that an analysis may
change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol, runtime_checkable

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.seams.authorization import Authorization


class Snapshot(Protocol):
    """Objects as they were at one moment, in the preferred version of the snapshot's release.

    An implementation must not change while it is read, and must not answer "none" for a resource which it does not
    know about: ``captured`` tells the two apart.
    """

    @property
    def release(self) -> str:
        """The release whose preferred versions the objects have, such as ``1.30``."""
        ...

    @property
    def authorization(self) -> Authorization:
        """The authorizers that decide on requests to the cluster, as far as they are known."""
        ...

    @property
    def behaviour(self) -> ServedBehaviour:
        """The rules of the server whose objects they are: of its release, under its feature gates where they are
        known, else under the defaults.
        """
        ...

    def captured(self) -> Collection[GroupResource]:
        """The resources of which the snapshot has all objects, perhaps none."""
        ...

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        """One object, or None. Raises IncompleteSnapshot if the resource was not captured."""
        ...

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        """All objects, or those of one namespace, by namespace and name. Raises IncompleteSnapshot as ``get`` does."""
        ...


@runtime_checkable
class Successor(Snapshot, Protocol):
    """A snapshot that knows the writes since an earlier one, so that derived values can be updated.

    An implementation must leave nothing out: where it does not know everything that was written, ``earlier`` is None.
    """

    @property
    def earlier(self) -> Snapshot | None:
        """The snapshot before the writes in ``written``; None if there is none, or if they are not all known."""
        ...

    def written(self) -> Iterable[tuple[Key, Object | None]]:
        """The writes since the earlier snapshot: keys with their present objects, None for deleted ones."""
        ...

    def forget(self) -> None:
        """Release the earlier snapshot, since derived values are now those of this one."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """A cluster on which an analysis may execute its claims. A Cluster is one.

    An implementation must keep forks apart: nothing done on a fork is seen by its origin or by other forks.
    """

    def fork(self, *, release: str | None = None) -> Sandbox:
        """An independent copy, in constant time."""
        ...

    def perform(self, request: Request, *, identity: Identity) -> Response:
        """The answer to one request of this identity, through the whole handler chain."""
        ...

    def snapshot(self) -> Snapshot:
        """The objects as they are now."""
        ...


@runtime_checkable
class PodRunner(Sandbox, Protocol):
    """A sandbox that can have simulated nodes, which run its pods. A Cluster is one."""

    @property
    def runs_pods(self) -> bool:
        """True if the sandbox has simulated nodes."""
        ...

    def settle(self) -> int:
        """Run controllers and kubelets until nothing is left to do."""
        ...

    def advance(self, seconds: float = 0) -> None:
        """Let time pass. Raises SimkitError where the clock is the machine's."""
        ...
