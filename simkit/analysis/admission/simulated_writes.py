"""Simulated writes of a snapshot's objects, as admission policies see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.analysis.catalogue import POLICIES, POLICY_BINDINGS, catalogue_of
from simkit.analysis.rbac.index import chain_of
from simkit.analysis.rbac.objects import captured_objects
from simkit.kinds.conversions.convert import convert, convertible
from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes
from simkit.logic.policy.binding import Binding, BoundPolicy, bind_policies
from simkit.logic.policy.policy import Policy
from simkit.meta.attributes import NO_OPINION, Attributes, Decision
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object, group_version_of, name_of, namespace_of
from simkit.present.progress import tracked
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams.snapshot import Snapshot

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
OPERATIONS: Final = ("CREATE", "UPDATE")


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """The objects of a snapshot that policies can read. ``more`` are objects besides, such as parameters."""

    snapshot: Snapshot
    more: Sequence[Object] = ()

    @property
    def catalogue(self) -> Catalogue:
        """The resources of the cluster, custom ones included."""
        return catalogue_of(self.snapshot)

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        """An object of the snapshot or of the added ones. A namespace that was not captured is taken to exist."""
        found = next((each for each in self._beside(resource, namespace) if name_of(each) == name), None)
        if found is not None:
            return found
        if resource == NAMESPACES and NAMESPACES not in self.snapshot.captured():
            return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        return self.snapshot.get(resource, name, namespace)

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        """The objects of a resource."""
        yield from self._beside(resource, namespace)
        yield from self.snapshot.scan(resource, namespace)

    def _beside(self, resource: GroupResource, namespace: str | None) -> Iterator[Object]:
        for each in self.more:
            found = self.catalogue.kind(GroupVersionKind(*group_version_of(each), each.get("kind") or ""))
            if found is not None and found.storage == resource and namespace in (None, namespace_of(each)):
                yield each

    def convert(self, obj: Object, to: Resource) -> Object:
        """The object in the version of a resource."""
        version = obj.get("apiVersion")
        if version == to.api_version or obj.get("kind") != to.kind:
            return obj
        if to.custom or not convertible(to.kind, str(version), to.api_version):
            return {**obj, "apiVersion": to.api_version}
        return convert(obj, to.api_version, self.catalogue.behaviour)

    def ask(self, question: Attributes) -> Decision:
        """The decision of the snapshot's roles; no opinion if it has none."""
        try:
            return chain_of(self.snapshot).authorize(question)
        except IncompleteSnapshot:
            return Decision(NO_OPINION)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """Policies with their bindings and the objects given with them."""

    policies: Sequence[BoundPolicy[Policy]]
    reader: SnapshotReader


def select_policies(snapshot: Snapshot, manifests: Iterable[Object] | None) -> PolicySet:
    """The policies of the snapshot or of manifests; other objects of the manifests may serve as parameters.

    Raises SimkitError where there is none.
    """
    given = list(manifests) if manifests is not None else None
    policies, bindings = _stored(snapshot) if given is None else (_of(given, POLICY), _of(given, BINDING))
    if given is not None:
        bindings = bindings or _everywhere(policies)
    if not policies:
        where = "in the snapshot" if given is None else "among the manifests"
        raise SimkitError(f"there is no {POLICY} {where}")
    bound = bind_policies((Policy(each, snapshot.behaviour) for each in policies), map(Binding, bindings))
    more = [each for each in given or () if each.get("kind") not in (POLICY, BINDING)]
    return PolicySet(bound, SnapshotReader(snapshot, more))


def _stored(snapshot: Snapshot) -> tuple[list[Object], list[Object]]:
    return list(captured_objects(snapshot, POLICIES)), list(captured_objects(snapshot, POLICY_BINDINGS))


def _of(objects: Iterable[Object], kind: str) -> list[Object]:
    return [each for each in objects if each.get("kind") == kind]


def _everywhere(policies: Iterable[Object]) -> list[Object]:
    """Bindings that put policies into force everywhere, for manifests without bindings."""
    return [
        {"metadata": {"name": name_of(each)}, "spec": {"policyName": name_of(each), "validationActions": ["Deny"]}}
        for each in policies
    ]


def simulated_writes(
    chosen: PolicySet, operations: Sequence[str], identity: Identity
) -> Iterator[tuple[Resource, AdmissionAttributes]]:
    """A write of every object that a policy could match, as a creation or an update without a change."""
    reader = chosen.reader
    for resource in reader.catalogue.stored():
        if resource.storage not in reader.snapshot.captured():
            continue
        rules = [policy.policy.constraints for policy in chosen.policies]
        kinds = [each for each in operations if any(one.may_match(reader, each, resource.gvr, "") for one in rules)]
        if kinds:
            for obj in tracked(reader.snapshot.scan(resource.storage), f"judging {resource.storage}"):
                yield resource, write_attributes(obj, resource, kinds[0], identity, reader.catalogue)


def write_attributes(
    obj: Object, resource: Resource, operation: str, identity: Identity, catalogue: Catalogue
) -> AdmissionAttributes:
    """The admission attributes of a write of an unchanged object: a creation or an update."""
    preferred = catalogue.preferred(resource.group_resource) or resource
    own = resource.storage == NAMESPACES
    return AdmissionAttributes(
        identity,
        operation,
        preferred.gvr,
        preferred.gvk,
        "",
        name_of(obj) if own else namespace_of(obj),
        name_of(obj),
        obj,
        obj if operation == "UPDATE" else None,
        {},
    )
