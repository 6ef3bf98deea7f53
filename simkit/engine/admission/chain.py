"""The admission chain: all mutating plugins, then all validating ones.

Upstream: k8s.io/apiserver/pkg/admission/chain.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, NamedTuple, TypeGuard

from simkit.meta.errors import StatusError
from simkit.meta.histogram import Histogram, Histograms
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams import Mutator, Operation, Plugin, Review, Validator

_STEP: Final = "apiserver_admission_step_admission_duration_seconds"
_PLUGIN: Final = "apiserver_admission_controller_admission_duration_seconds"
_MUTATING: Final = "admit"
_VALIDATING: Final = "validate"
Mutate = Callable[[Review], Object]
Validate = Callable[[Review], None]
_Timed = list[tuple[Histogram, float]]
"""Seconds of what was done, each with the histogram that they belong to."""


class _Concerned(NamedTuple):
    """The plugins for one kind of write, each with its name and the histogram of its seconds; those of the steps."""

    mutators: Sequence[tuple[Mutate, str, Histogram]]
    validators: Sequence[tuple[Validate, str, Histogram]]
    mutation: Histogram
    validation: Histogram


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

    Parameters
    ----------
    histograms
        Where the seconds of steps and plugins are recorded.
    """

    def __init__(self, plugins: Sequence[Plugin] = (), histograms: Histograms | None = None) -> None:
        self.plugins = tuple(plugins)
        self._histograms = histograms if histograms is not None else Histograms()
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
            known = self._known[kind] = self._found(*kind)
        return known

    def _found(self, operation: Operation, resource: GroupResource) -> _Concerned:
        of = self._histograms.of
        mutators: list[tuple[Mutate, str, Histogram]] = []
        validators: list[tuple[Validate, str, Histogram]] = []
        for plugin in self.concerned(operation, resource):
            name = plugin.name
            if _mutates(plugin):
                mutators.append((self._mutator(plugin, name), name, of(_PLUGIN, name, _MUTATING, operation, "false")))
            if _validates(plugin):
                seconds = of(_PLUGIN, name, _VALIDATING, operation, "false")
                validators.append((self._validator(plugin, name), name, seconds))
        steps = (of(_STEP, step, operation, "false") for step in (_MUTATING, _VALIDATING))
        return _Concerned(mutators, validators, *steps)

    def _mutator(self, plugin: Mutator, name: str) -> Mutate:
        """The question to a mutating plugin."""
        return plugin.mutate

    def _validator(self, plugin: Validator, name: str) -> Validate:
        """The question to a validating plugin."""
        return plugin.validate

    def _refused(self, plugin: str, step: str, review: Review, timed: _Timed, began: float, last: float) -> None:
        """Record what was done until a plugin refused a write."""
        now, labels = perf_counter(), (step, review.operation, "true")
        timed.append((self._histograms.of(_PLUGIN, plugin, *labels), now - last))
        timed.append((self._histograms.of(_STEP, *labels), now - began))
        self._histograms.record_all(timed)

    def mutate(self, review: Review) -> Object:
        """The object after every mutator, or the StatusError of the first that refuses.

        Where a webhook or a policy changed it, all mutators are asked once more (reinvocation).
        """
        current = review.object or {}
        asked, timed = self._asked(review), _Timed()
        began = last = perf_counter()
        name = ""
        try:
            for mutate, name, seconds in asked.mutators:  # noqa: B007 - who refuses is told
                made = mutate(review)
                if made is not current and review.object is not None:
                    current = made
                    review = review.with_object(made)
                now = perf_counter()
                timed.append((seconds, now - last))
                last = now
        except StatusError:
            self._refused(name, _MUTATING, review, timed, began, last)
            raise
        timed.append((asked.mutation, last - began))
        self._histograms.record_all(timed)
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
        asked, timed = self._asked(review), _Timed()
        began = last = perf_counter()
        name = ""
        try:
            for validate, name, seconds in asked.validators:  # noqa: B007 - as above
                validate(review)
                now = perf_counter()
                timed.append((seconds, now - last))
                last = now
        except StatusError:
            self._refused(name, _VALIDATING, review, timed, began, last)
            raise
        timed.append((asked.validation, last - began))
        self._histograms.record_all(timed)
