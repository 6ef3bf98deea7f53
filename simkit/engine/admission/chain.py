"""The admission chain: all mutating plugins, then all validating ones.

Upstream: k8s.io/apiserver/pkg/admission/chain.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from simkit.meta.foreign import ForeignFault, shown
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams import Mutator, Operation, Plugin, Review, Validator

Mutate = Callable[[Review], Object]
Validate = Callable[[Review], None]


class _Concerned(NamedTuple):
    """The plugins for one kind of write."""

    mutators: Sequence[Mutate]
    validators: Sequence[Validate]


_ROLES: dict[type, tuple[bool, bool]] = {}
"""The pair of mutating and validating of each class of plugins, cached because isinstance on protocols is slow."""


def _roles(plugin: Plugin) -> tuple[bool, bool]:
    known = _ROLES.get(type(plugin))
    if known is None:
        known = _ROLES[type(plugin)] = isinstance(plugin, Mutator), isinstance(plugin, Validator)
    return known


def _mutates(plugin: Plugin) -> TypeGuard[Mutator]:
    return _roles(plugin)[0]


def _validates(plugin: Plugin) -> TypeGuard[Validator]:
    return _roles(plugin)[1]


class Chain:
    """Plugins in the order in which they are asked.

    What a plugin can do is found out once: it mutates if it has ``mutate``, validates if it has ``validate``. Which
    plugins a kind of write concerns is found out at the first of its kind.
    """

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self._known: dict[tuple[Operation, GroupResource], _Concerned] = {}

    @property
    def leaves_process(self) -> bool:
        """True if a plugin asks a service outside about what it sees."""
        return any(plugin.leaves_process for plugin in self.plugins)

    def concerned(self, operation: Operation, resource: GroupResource) -> list[Plugin]:
        """The plugins that look at such writes, in order."""
        return [
            plugin
            for plugin in self.plugins
            if operation in plugin.operations and (plugin.resources is None or resource in plugin.resources)
        ]

    def _asked(self, review: Review) -> _Concerned:
        kind = (review.operation, review.resource)
        known = self._known.get(kind)
        if known is None:
            concerned = [(plugin.name, plugin) for plugin in self.concerned(*kind)]
            known = self._known[kind] = _Concerned(
                [self._mutator(plugin, name) for name, plugin in concerned if _mutates(plugin)],
                [self._validator(plugin, name) for name, plugin in concerned if _validates(plugin)],
            )
        return known

    def _mutator(self, plugin: Mutator, name: str) -> Mutate:
        """The question to a mutating plugin."""
        return plugin.mutate

    def _validator(self, plugin: Validator, name: str) -> Validate:
        """The question to a validating plugin."""
        return plugin.validate

    def mutate(self, review: Review) -> Object:
        """The object after every mutator, or the StatusError of the first that refuses.

        Where a webhook or a policy changed it, all mutators are asked once more (reinvocation).
        """
        current = review.object or {}
        for mutate in self._asked(review).mutators:
            made = mutate(review)
            if made is not current and review.object is not None:
                current = _judged(mutate, made)
                review = review.with_object(current)
        again = review.reinvocation
        if again.should_reinvoke and not again.is_reinvoke:
            again.is_reinvoke = True
            return Chain.mutate(self, review if review.object is None else review.with_object(current))
        return current

    def validate(self, review: Review) -> None:
        """Ask every validator; the StatusError of the first that refuses is raised.

        Where there is nothing to change, in removals and connections, mutators are asked first: they may refuse too.
        """
        if review.operation in ("DELETE", "CONNECT"):
            Chain.mutate(self, review)
        for validate in self._asked(review).validators:
            if (given := validate(review)) is not None:  # of others, who may think that an answer counts
                raise ForeignFault(f"{_named(validate)} gave {shown(given)}: it returns nothing, or raises")


def _judged(mutate: Mutate, given: Any) -> Object:
    """What a mutator gives. Raises ForeignFault for what is no object."""
    if not isinstance(given, Mapping) or not isinstance(given.get("metadata"), Mapping):
        raise ForeignFault(f"{_named(mutate)} gave {shown(given)}: it returns the object")
    return given


def _named(function: Callable[..., Any]) -> str:
    return f"admission plugin {getattr(function, '__qualname__', function)}"
