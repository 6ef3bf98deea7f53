"""The ordered chain of admission: all mutators, then all validators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from simkit.engine.seams import Mutator, Operation, Review, Validator
from simkit.meta.objects import Object


class Plugin(Protocol):
    """What every admission plugin has besides being a Mutator, a Validator, or both."""

    @property
    def name(self) -> str:
        """The name that the flags use."""
        ...

    def handles(self, operation: Operation) -> bool:
        """Whether the plugin wants to see writes of this kind."""
        ...


class Chain:
    """Plugins in the order in which they are asked.

    What a plugin can do is found out once: it mutates if it has ``mutate``, validates if it has ``validate``.
    """

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self._mutators: list[tuple[Plugin, Mutator]] = []
        self._validators: list[tuple[Plugin, Validator]] = []
        for plugin in plugins:
            if isinstance(plugin, Mutator):
                self._mutators.append((plugin, plugin))
            if isinstance(plugin, Validator):
                self._validators.append((plugin, plugin))

    def mutate(self, review: Review) -> Object:
        """The object after every mutator, or the StatusError of the first that refuses."""
        current = review.object or {}
        for plugin, mutator in self._mutators:
            if plugin.handles(review.operation):
                current = mutator.mutate(replace(review, object=current))
        return current

    def validate(self, review: Review) -> None:
        """Ask every validator; the StatusError of the first that refuses is raised."""
        for plugin, validator in self._validators:
            if plugin.handles(review.operation):
                validator.validate(review)
