"""The protocols of admission plugins, and the attributes of a request under admission."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object

# The state that mutating plugins share when they are reinvoked for one write.
# Upstream: k8s.io/apiserver/pkg/admission/reinvocation.go, plugin/webhook/mutating/reinvocationcontext.go and
# plugin/policy/mutating/reinvocationcontext.go, release 1.36.


class PluginReinvocation:
    """The webhooks or policies of one plugin that want to hear of later changes to an object.

    Attributes
    ----------
    output
        The object as the plugin left it.
    """

    __slots__ = ("_context", "_invoked", "_wanted", "output")

    def __init__(self, context: ReinvocationContext) -> None:
        self._context = context
        self.output: Object | None = None
        self._invoked: set[str] = set()
        self._wanted: set[str] = set()

    def asks(self, key: str) -> bool:
        """True if one is to be asked in this round."""
        return not self._context.is_reinvoke or key in self._wanted

    def made(self, key: str, *, changed: bool, again: bool) -> None:
        """Note that one was asked: whether it changed the object, and whether it wants to be asked again."""
        if changed:
            self.changed()
        if again:
            self._invoked.add(key)

    def changed(self) -> None:
        """Note that the object changed: those asked before are to be asked again."""
        self._wanted |= self._invoked
        self._invoked = set()
        self._context.should_reinvoke = True


class ReinvocationContext:
    """The rounds of mutating admission of one write.

    Attributes
    ----------
    is_reinvoke
        Whether this is the second round.
    should_reinvoke
        Whether a webhook or policy changed the object, so that there is one.
    """

    __slots__ = ("_plugins", "is_reinvoke", "should_reinvoke")

    def __init__(self) -> None:
        self.is_reinvoke = self.should_reinvoke = False
        self._plugins: dict[str, PluginReinvocation] = {}

    def begin(self, plugin: str, obj: Object | None) -> PluginReinvocation:
        """The state of a plugin that is asked now.

        In the second round, all of its webhooks or policies that want it are asked again where others changed the
        object since.
        """
        found = self._plugins.setdefault(plugin, PluginReinvocation(self))
        if self.is_reinvoke and found.output != obj:
            found.changed()
        return found

    @property
    def round(self) -> int:
        """The number of the round, from 0."""
        return int(self.is_reinvoke)


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
