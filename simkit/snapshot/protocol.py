"""The read-only door to objects, and the door through which an analysis proves its findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object


class Snapshot(Protocol):
    """Objects as they were at one moment, in the preferred version of the snapshot's release.

    An implementation must not change while it is read, and must not answer "none" for a resource which it does not
    know about: ``captured`` tells the two apart.
    """

    @property
    def release(self) -> str:
        """The release whose preferred versions the objects have, such as ``1.30``."""
        ...

    def captured(self) -> Collection[GroupResource]:
        """The resources that the snapshot knows all objects of, including those with no object."""
        ...

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        """One object, or None. Raises IncompleteSnapshot where the resource was not captured."""
        ...

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        """All objects, or those of one namespace, by namespace and name. Raises IncompleteSnapshot as ``get`` does."""
        ...


class Sandbox(Protocol):
    """A cluster that may be tried on: how an analysis executes what it claims. A Cluster is one.

    An implementation must keep forks apart: nothing done on a fork is seen by its origin or by other forks.
    """

    def fork(self, *, release: str | None = None) -> Sandbox:
        """An independent copy, in constant time."""
        ...

    def perform(self, request: Request, *, identity: Identity) -> Response:
        """The answer to one request of this identity, through authorization, admission and all else."""
        ...

    def snapshot(self) -> Snapshot:
        """The objects as they are now."""
        ...
