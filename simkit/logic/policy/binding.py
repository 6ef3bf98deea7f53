"""Bindings of policies, the policies that have any, and the parameters with which a binding has a policy evaluated.

k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, release 1.36, and policy_dispatcher.go, release
1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.logic.policy.definition import PolicyDefinition
from simkit.logic.policy.matching import Constraints
from simkit.meta import labels
from simkit.meta.objects import Object, labels_of, name_of, namespace_of
from simkit.schema.catalogue import Resource

Bound = TypeVar("Bound", bound=PolicyDefinition)


class Binding:
    """A binding of a validating or mutating policy, read once: its match resources and validation actions."""

    def __init__(self, obj: Object) -> None:
        self.object, self.name = obj, name_of(obj)
        spec: Object = obj.get("spec") or {}
        self.policy: str = spec.get("policyName") or ""
        self.actions: Sequence[str] = spec.get("validationActions") or ()
        self.param_ref: Object | None = spec.get("paramRef")
        given = spec.get("matchResources")
        self.constraints = Constraints(given) if given is not None else None

    def match(self, attributes: AdmissionAttributes, reader: ClusterReader) -> bool:
        """True if the binding applies to a write that its policy matches."""
        return self.constraints is None or self.constraints.match(attributes, reader) is not None

    def __repr__(self) -> str:
        return f"<Binding {self.name} of {self.policy}>"


@dataclass(frozen=True)
class BoundPolicy(Generic[Bound]):
    """A policy with its bindings, at least one."""

    policy: Bound
    bindings: Sequence[Binding]


def bind_policies(policies: Iterable[Bound], bindings: Iterable[Binding]) -> list[BoundPolicy[Bound]]:
    """The policies with bindings, by name; bindings without a policy are ignored."""
    by_policy: dict[str, list[Binding]] = {}
    for binding in sorted(bindings, key=lambda each: each.name):
        by_policy.setdefault(binding.policy, []).append(binding)
    known = sorted(policies, key=lambda each: each.name)
    return [BoundPolicy(policy, by_policy[policy.name]) for policy in known if policy.name in by_policy]


_NONE_FOUND: Final = "no params found for policy binding with `Deny` parameterNotFoundAction"


class Misconfigured(Exception):
    """A policy or binding that cannot be evaluated as configured; the text is kube-apiserver's."""


class Invocation(NamedTuple, Generic[Bound]):
    """A policy with a binding and one of its parameters, for one write that both match."""

    policy: Bound
    binding: Binding
    matched: Resource
    param: Object | None

    @property
    def key(self) -> str:
        """The policy, the binding and the parameter, by name."""
        param = "" if self.param is None else f"{namespace_of(self.param)}/{name_of(self.param)}"
        return f"{self.policy.name}|{self.binding.name}|{param}"


def invocations(
    attributes: AdmissionAttributes,
    policies: Iterable[BoundPolicy[Bound]],
    reader: ClusterReader,
    refuse: Callable[[Bound, str, str], None],
) -> Iterator[Invocation[Bound]]:
    """The policies to evaluate for a write, with each binding and parameter.

    Parameters
    ----------
    refuse
        Called with a policy that is not configured well, its binding (or nothing) and the message.
    """
    for bound in policies:
        policy = bound.policy
        matched = policy.constraints.match(attributes, reader)
        if matched is None:
            continue
        try:
            resource = _param_resource(policy, reader)
        except Misconfigured as error:
            refuse(policy, "", f"failed to configure policy: {error}")
            continue
        for binding in bound.bindings:
            if binding.match(attributes, reader):
                try:
                    params = _params(resource, binding.param_ref, attributes.namespace, reader)
                except Misconfigured as error:
                    refuse(policy, binding.name, f"failed to configure binding: {error}")
                else:
                    yield from (Invocation(policy, binding, matched, param) for param in params)


def _param_resource(policy: PolicyDefinition, reader: ClusterReader) -> Resource | None:
    """The resource of a policy's parameters; None if it has none. Raises Misconfigured for an unknown kind."""
    wanted = policy.param_kind
    if wanted is None:
        return None
    found = reader.catalogue.kind(wanted)
    if found is None:
        shown = f"{wanted.group}/{wanted.version}, Kind={wanted.kind}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{shown}'")
    return found


def params_of(
    policy: PolicyDefinition, ref: Object | None, namespace: str, reader: ClusterReader
) -> Sequence[Object | None]:
    """The parameters of a binding: a single None if it needs none. Raises Misconfigured."""
    return _params(_param_resource(policy, reader), ref, namespace, reader)


def _params(
    resource: Resource | None, ref: Object | None, namespace: str, reader: ClusterReader
) -> Sequence[Object | None]:
    if resource is None or ref is None:
        return (None,)
    place = _place(resource, ref, namespace)
    found = [reader.convert(each, resource) for each in _selected(resource, ref, place, reader)]
    if not found and ref.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured(_NONE_FOUND)
    return found


def _place(resource: Resource, ref: Object, namespace: str) -> str:
    """The namespace of the parameters."""
    given: str = ref.get("namespace") or ""
    if not resource.namespaced:
        if given:
            raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        raise Misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return given or namespace


def _selected(resource: Resource, ref: Object, namespace: str, reader: ClusterReader) -> list[Object]:
    name: str = ref.get("name") or ""
    selector: Any = ref.get("selector")
    if name:
        if selector is not None:
            raise Misconfigured("paramRef.name and paramRef.selector are mutually exclusive")
        one = reader.get(resource.storage, name, namespace)
        return [] if one is None else [one]
    if selector is None:
        raise Misconfigured("one of name or selector must be provided")
    chosen = labels.of_object(selector)
    present = reader.scan(resource.storage, namespace if resource.namespaced else None)
    return [each for each in present if chosen.matches(labels_of(each))]
