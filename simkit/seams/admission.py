"""The protocols of admission plugins, and the attributes of a request under admission."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object
from simkit.seams.reinvocation import ReinvocationContext

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
OPERATIONS: Final[frozenset[Operation]] = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
"""All operations."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Review:
    """The attributes of a request under admission (admission.Attributes), as the object is about to be stored.

    ``object`` is None on DELETE, ``old`` on CREATE. Both are in the storage version; ``version`` and ``kind`` are of
    the request, so that plugins which leave the process can convert.
    ``warnings`` and ``annotations`` are where a plugin leaves warnings for the client and notes for the audit log.
    """

    behaviour: ServedBehaviour
    identity: Identity
    operation: Operation
    resource: GroupResource
    version: str
    subresource: str
    kind: GroupVersionKind
    namespace: str
    name: str
    object: Object | None
    old: Object | None
    options: Object = field(default_factory=dict)
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    reinvocation: ReinvocationContext = field(default_factory=ReinvocationContext)

    def with_object(self, obj: Object | None) -> Review:
        """The same attributes with another object; ``dataclasses.replace`` takes ten times as long."""
        return Review(
            self.behaviour,
            self.identity,
            self.operation,
            self.resource,
            self.version,
            self.subresource,
            self.kind,
            self.namespace,
            self.name,
            obj,
            self.old,
            self.options,
            self.dry_run,
            self.warnings,
            self.annotations,
            self.reinvocation,
        )


class Plugin(Protocol):
    """The common part of admission plugins, which also are a Mutator, a Validator, or both (admission.Interface)."""

    @property
    def name(self) -> str:
        """The name that the flags use."""
        ...

    @property
    def operations(self) -> frozenset[Operation]:
        """The operations that it wants to see; ``OPERATIONS`` are all."""
        ...

    @property
    def resources(self) -> frozenset[GroupResource] | None:
        """The resources whose writes it wants to see; None: all."""
        ...

    @property
    def leaves_process(self) -> bool:
        """True if a call may wait for another process, whatever the request is."""
        ...


@runtime_checkable
class Mutator(Protocol):
    """An admission plugin that may change the object: it returns the new one and never edits the old."""

    def mutate(self, review: Review) -> Object: ...


@runtime_checkable
class Validator(Protocol):
    """An admission plugin that may refuse: it raises a StatusError or returns nothing."""

    def validate(self, review: Review) -> None: ...
