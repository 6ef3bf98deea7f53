"""The admission chain: all mutating plugins, then all validating ones.

Upstream: k8s.io/apiserver/pkg/admission/chain.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeGuard

from simkit.engine.seams import Mutator, Operation, Review, Validator
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object


class Plugin(Protocol):
    """The common part of admission plugins, which also are a Mutator, a Validator, or both (admission.Interface)."""

    @property
    def name(self) -> str:
        """The name that the flags use."""
        ...

    @property
    def resources(self) -> frozenset[GroupResource] | None:
        """The resources whose writes it wants to see; None: all."""
        ...

    @property
    def leaves_process(self) -> bool:
        """True if a call may wait for another process, whatever the request is."""
        ...

    def handles(self, operation: Operation) -> bool:
        """True if the plugin wants to see writes of this kind. The answer is always the same."""
        ...


_Concerned = tuple[Sequence[Mutator], Sequence[Validator]]


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
            if plugin.handles(operation) and (plugin.resources is None or resource in plugin.resources)
        ]

    def _asked(self, review: Review) -> _Concerned:
        kind = (review.operation, review.resource)
        known = self._known.get(kind)
        if known is None:
            plugins = self.concerned(*kind)
            known = ([plugin for plugin in plugins if _mutates(plugin)], [each for each in plugins if _validates(each)])
            self._known[kind] = known
        return known

    def mutate(self, review: Review) -> Object:
        """The object after every mutator, or the StatusError of the first that refuses.

        Where a webhook or a policy changed it, all mutators are asked once more (reinvocation).
        """
        made = self._round(review)
        if review.reinvocation.should_reinvoke:
            review.reinvocation.is_reinvoke = True
            made = self._round(replace(review, object=made))
        return made

    def _round(self, review: Review) -> Object:
        current = review.object or {}
        for mutator in self._asked(review)[0]:
            made = self._call(mutator, review)
            if made is not current and review.object is not None:
                current = made
                review = replace(review, object=made)
        return current

    def _call(self, mutator: Mutator, review: Review) -> Object:
        """The answer of one mutator."""
        return mutator.mutate(review)

    def validate(self, review: Review) -> None:
        """Ask every validator; the StatusError of the first that refuses is raised.

        Where there is nothing to change, in removals and connections, mutators are asked first: they may refuse too.
        """
        mutators, validators = self._asked(review)
        if review.operation in ("DELETE", "CONNECT"):
            for mutator in mutators:
                mutator.mutate(review)
        for validator in validators:
            validator.validate(review)
