"""The object that all mutating policies make of a write.

k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go and policy/mutating/dispatcher.go, release
1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simkit.logic.policy.application import MutationFailed
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.logic.policy.binding import BoundPolicy, Invocation, invocations
from simkit.logic.policy.definition import MatchConditionsFailed
from simkit.logic.policy.mutation import MutatingPolicy
from simkit.logic.policy.policy import VersionedWrites
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object
from simkit.schema.catalogue import Resource
from simkit.schema.structural import Schema
from simkit.seams.admission import PluginReinvocation

Restore = Callable[[Mapping[str, Any], Resource], Object]
"""A function from an object in the version of a resource to the stored form, typed and defaulted."""


@dataclass(frozen=True, slots=True)
class PolicyError:
    """An error of a policy that refuses the write; ``reason`` is empty for a wrong configuration."""

    policy: str
    binding: str
    message: str
    reason: str = ""

    @property
    def text(self) -> str:
        """The message for the client."""
        if self.binding:
            return f"policy '{self.policy}' with binding '{self.binding}' denied request: {self.message}"
        return f'policy "{self.policy}" denied request: {self.message}'


@dataclass(slots=True)
class Mutated:
    """The outcome of the policies: the object, whether any mutation was made, and the errors."""

    object: Object
    written: bool = False
    errors: list[PolicyError] = field(default_factory=list)

    def refuse(self, policy: MutatingPolicy, binding: str, message: str, reason: str = "") -> None:
        """Note an error, unless the policy ignores errors."""
        if policy.fails:
            self.errors.append(PolicyError(policy.name, binding, message, reason))


def mutate(
    attributes: AdmissionAttributes,
    policies: Iterable[BoundPolicy[MutatingPolicy]],
    reader: ClusterReader,
    restore: Restore,
    rounds: PluginReinvocation,
) -> Mutated:
    """The object that the policies make of a write, in its stored form, and their errors.

    Raises
    ------
    StatusError
        404 where the write's namespace is missing and must be looked at; 500 where a patch makes something that is no
        object of the kind.
    """
    found = Mutated(attributes.object or {})
    asked = list(invocations(attributes, policies, reader, found.refuse))
    if not asked:
        return found
    versions, objects = VersionedWrites(attributes, reader), _Objects(attributes, reader, restore)
    for invocation in asked:
        bindings = {**versions.of(invocation.matched).bindings, "params": invocation.param}
        bindings["object"] = objects.of(invocation.matched)
        try:
            if not invocation.policy.concerned(bindings):
                continue
        except MatchConditionsFailed as error:
            found.refuse(invocation.policy, invocation.binding.name, str(error), "Invalid")
            continue
        if rounds.asks(invocation.key):
            changed = _invoke(invocation, bindings, objects, found)
            rounds.made(invocation.key, changed=changed, again=invocation.policy.again)
    found.object, found.written = objects.last, objects.written
    return found


def _invoke(
    invocation: Invocation[MutatingPolicy], bindings: Mapping[str, Any], objects: _Objects, found: Mutated
) -> bool:
    """Make the mutations of a policy; True if they changed the object."""
    policy, matched = invocation.policy, invocation.matched
    before = objects.of(matched)
    for mutation in policy.mutations:
        obj = objects.of(matched)
        if obj is None:
            continue
        try:
            made = policy.applied(mutation, obj, bindings, objects.schema(matched))
        except MutationFailed as error:
            found.refuse(policy, invocation.binding.name, str(error), "Invalid")
            continue
        objects.put(matched, made)
    return objects.of(matched) != before


class _Objects:
    """The object of a write in the versions of the policies.

    Each version has its own object, converted before the first mutation; the last one that was made is stored. So
    kube-apiserver has it.
    """

    def __init__(self, attributes: AdmissionAttributes, reader: ClusterReader, restore: Restore) -> None:
        self._attributes, self._reader, self._restore = attributes, reader, restore
        self._known: dict[GroupVersionResource, Object | None] = {}
        self.last: Object = attributes.object or {}
        self.written = False

    def of(self, matched: Resource) -> Object | None:
        if matched.gvr not in self._known:
            stored = self._attributes.object
            self._known[matched.gvr] = None if stored is None else self._reader.convert(stored, matched)
        return self._known[matched.gvr]

    def put(self, matched: Resource, made: Object) -> None:
        self.written = True
        if made.get("kind") != matched.kind:  # the object of a subresource, which is not stored as it is
            self.last = self._known[matched.gvr] = made
            return
        self.last = self._restore(made, matched)
        self._known[matched.gvr] = self._reader.convert(self.last, matched)

    def schema(self, matched: Resource) -> Schema | None:
        kind = self._attributes.kind
        return self._reader.catalogue.schema(matched.gvk if kind.kind == matched.kind else kind)
