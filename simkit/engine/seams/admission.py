"""The protocols of admission plugins, and the attributes of a request under admission."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from simkit.engine.seams.reinvocation import ReinvocationContext
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@quickly_made
@dataclass(frozen=True, slots=True)
class Review:
    """The attributes of a request under admission (admission.Attributes), as the object is about to be stored.

    ``object`` is None on DELETE, ``old`` on CREATE. Both are in the storage version; ``version`` and ``kind`` are of
    the request, so that plugins which leave the process can convert.
    ``warnings`` and ``annotations`` are where a plugin leaves warnings for the client and notes for the audit log.
    """

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


@runtime_checkable
class Mutator(Protocol):
    """An admission plugin that may change the object: it returns the new one and never edits the old."""

    def mutate(self, review: Review) -> Object: ...


@runtime_checkable
class Validator(Protocol):
    """An admission plugin that may refuse: it raises a StatusError or returns nothing."""

    def validate(self, review: Review) -> None: ...
