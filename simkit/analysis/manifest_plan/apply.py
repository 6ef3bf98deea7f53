"""Apply manifests to a fork, as kubectl apply does, delete what pruning would, and tell what happened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork
from simkit.analysis.manifest_plan.result import Action, ObjectChange, changed, fields_changed
from simkit.analysis.rbac.objects import captured_objects
from simkit.meta.domain import DEFAULT_NAMESPACE, LAST_APPLIED, api_group, label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.labels import BadSelector, parse
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, annotations_of, group_version_of, labels_of, metadata, name_of, namespace_of
from simkit.schema.behaviour import default_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.field_types import first_mismatch

_APPLY: Final = "application/apply-patch+yaml"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_KUBECTL: Final = "kubectl"
_CONFIGURED: Final = frozenset(("kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "helm", "simkit"))
"""Field managers that write whole configurations with ordinary updates, so that what they own was once configured."""
_DEFINITION: Final = "CustomResourceDefinition"
_DEFINITIONS: Final = GroupResource(api_group("apiextensions"), "customresourcedefinitions")
_FIRST: Final = ("Namespace", _DEFINITION)
"""The kinds that are applied before all others, as Helm, Kustomize and Argo CD do."""
INVALID: Final = 422
"""The status of objects that are not valid; of a change this may be due to a field that cannot change."""
_TYPED: Final = ("failed to create typed", "failed to create manager")
"""How the refusals begin that server-side apply alone has, in which a list with equal keys is one."""


class WritableFork(Sandbox, Protocol):
    """A fork whose controllers run when they are told to."""

    def settle(self) -> object:
        """Run the controllers until nothing is left to do."""
        ...


class ManifestWriter:
    """Applies manifests to one fork.

    Parameters
    ----------
    fork
        The fork.
    identity
        The user who applies.
    namespace
        The namespace of objects that name none.
    """

    def __init__(self, fork: WritableFork, identity: Identity, *, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._fork, self._identity, self._namespace = fork, identity, namespace
        self.unknown_configuration: list[str] = []
        """Objects of which no earlier configuration is known, so that fields it no longer names stay."""
        self.not_captured: set[str] = set()
        """Resources of which the dump has no objects, so that those of the manifests count as new."""
        self._defined: set[GroupResource] = set()

    def apply(self, objects: Sequence[Object]) -> list[ObjectChange]:
        """Apply objects: namespaces and definitions first, the others in their order.

        Returns
        -------
        What happened to each, in the order of the objects.
        """
        done: dict[int, ObjectChange] = {}
        first = [number for number, obj in enumerate(objects) if obj.get("kind") in _FIRST]
        for number in first:
            done[number] = self._applied(objects[number])
            if done[number].action == "create" and objects[number].get("kind") == _DEFINITION:
                plural, _, group = name_of(objects[number]).partition(".")
                self._defined.add(GroupResource(group, plural))
        if first:
            self._fork.settle()  # new definitions are served, new namespaces have their service accounts
        for number, obj in enumerate(objects):
            if number not in done:
                done[number] = self._applied(obj)
        return [done[number] for number in range(len(objects))]

    def delete(self, resource: Resource, namespace: str, name: str) -> ObjectChange:
        """Delete an object that no manifest has."""
        obj: Object = {"kind": resource.kind, "metadata": {"name": name}}
        try:
            answer = self._send("DELETE", resource.path_to(name, namespace))
        except NotExecutable as why:
            return changed("not tried", _word(resource), obj, namespace=namespace, message=why.reason)
        action: Action = "delete" if answer.succeeded else "refused"
        return changed(action, _word(resource), obj, namespace=namespace, message=answer.message)

    def keys(self, manifests: Dump) -> list[Key]:
        """The keys of the objects in their order, by the resources that the cluster serves.

        A loader knows custom resources by their definitions alone, which are not in the manifests.
        """
        catalogue = catalogue_of(self._fork.snapshot())
        return [self._key(catalogue, key, obj) for key, obj in manifests.keyed.items()]

    def _key(self, catalogue: Catalogue, key: Key, obj: Object) -> Key:
        found = catalogue.kind(GroupVersionKind(*group_version_of(obj), str(obj.get("kind") or "")))
        return key if found is None else Key(found.storage, namespace_of(self._placed(obj, found)), key.name)

    def _applied(self, obj: Object) -> ObjectChange:
        version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
        found = catalogue_of(self._fork.snapshot()).kind(GroupVersionKind(*group_version_of(obj), kind))
        if found is None and self._may_be_custom(group_version_of(obj)[0]):
            message = f"whether {kind} is served is not known, since the dump has no {_DEFINITION}s"
            return changed("not tried", kind.lower(), obj, message=message)
        if found is None:
            message = f'no matches for kind "{kind}" in version "{version}"; ensure CRDs are installed first'
            return changed("refused", kind.lower(), obj, message=message)
        placed = self._placed(obj, found)
        try:
            done = self._written(found, placed)
        except NotExecutable as why:
            return changed("not tried", _word(found), placed, message=why.reason)
        wrong = first_mismatch(placed, self._fork.snapshot().release) if done.action == "refused" else None
        return done if wrong is None else replace(done, message=f"{done.message}\n{wrong}")

    def _may_be_custom(self, group: str) -> bool:
        """True for a group that a definition may serve which was not captured."""
        snapshot = self._fork.snapshot()
        known = {resource.storage.group for resource in catalogue_of(snapshot).stored()}
        return _DEFINITIONS not in snapshot.captured() and group not in known

    def _placed(self, obj: Object, resource: Resource) -> Object:
        """The object in its namespace, without what a server wrote into it when it was read from a cluster."""
        kept = {name: value for name, value in metadata(obj).items() if name not in _OF_THE_SERVER}
        annotations = kept.get("annotations")
        if isinstance(annotations, dict):
            kept["annotations"] = {key: text for key, text in annotations.items() if key != LAST_APPLIED}
        if resource.namespaced:
            kept["namespace"] = kept.get("namespace") or self._namespace
        else:
            kept.pop("namespace", None)
        return {name: value for name, value in obj.items() if name != "status"} | {"metadata": kept}

    def _written(self, resource: Resource, obj: Object) -> ObjectChange:
        path = resource.path_to(name_of(obj), namespace_of(obj))
        try:
            live = self._send("GET", path)
        except NotExecutable:  # objects of its kind were not captured, or its definition is new
            if resource.storage not in self._defined:
                self.not_captured.add(_word(resource))
            return self._created(resource, obj)
        if live.status == 404:
            return self._created(resource, obj)
        if not live.succeeded:
            return self._told("refused", resource, obj, live)
        before = self._rewritten(path, live.object)
        answer = self._patched(resource, path, obj, live.object)
        if answer.succeeded:
            fields = fields_changed(before, answer.object)
            return replace(self._told("change" if fields else "unchanged", resource, obj, answer), fields=fields)
        refused = self._told("refused", resource, obj, answer)
        return self._replaced(resource, path, obj, refused) if answer.status == INVALID else refused

    def _created(self, resource: Resource, obj: Object) -> ObjectChange:
        query = urlencode({"fieldValidation": "Strict", "fieldManager": "kubectl-client-side-apply"})
        answer = self._send("POST", f"{resource.collection(namespace_of(obj))}?{query}", obj)
        return self._told("create" if answer.succeeded else "refused", resource, obj, answer)

    def _patched(self, resource: Resource, path: str, obj: Object, live: Object) -> Response:
        """The answer to the apply, in which fields that the configuration no longer names are removed."""
        manager = self._manager(resource, path, live)
        query = urlencode({"fieldValidation": "Strict", "fieldManager": manager, "force": "true"})
        try:
            return self._send("PATCH", f"{path}?{query}", obj, _APPLY)
        except NotExecutable as why:
            if not any(start in why.reason for start in _TYPED):
                raise
        query = urlencode({"fieldValidation": "Strict", "fieldManager": _KUBECTL})
        return self._send("PATCH", f"{path}?{query}", obj, _MERGE if resource.custom else _STRATEGIC)

    def _rewritten(self, path: str, live: Object) -> Object:
        """The live object as any write leaves it: with the defaults that a dump may lack, and what admission adds."""
        answer = self._send("PATCH", f"{path}?dryRun=All", {}, _MERGE)
        return answer.object if answer.succeeded else live

    def _manager(self, resource: Resource, path: str, live: Object) -> str:
        """The field manager that owns what was configured; ordinary updates are turned into its applies first."""
        entries = [entry for entry in metadata(live).get("managedFields") or () if not entry.get("subresource")]
        applied = [entry for entry in entries if entry.get("operation") == "Apply"]
        if applied:
            return str(max(applied, key=lambda entry: len(str(entry.get("fieldsV1")))).get("manager") or _KUBECTL)
        if any(entry.get("manager") in _CONFIGURED for entry in entries):
            self._take_over(path, metadata(live)["managedFields"])
        elif LAST_APPLIED not in annotations_of(live):
            self.unknown_configuration.append(f"{resource.kind} {name_of(live)}")
        return _KUBECTL

    def _take_over(self, path: str, entries: Iterable[Mapping[str, Any]]) -> None:
        """Turn the updates of configuring managers into applies of kubectl, as it does before a server-side apply.

        References: ``k8s.io/client-go/util/csaupgrade``.
        """
        kept = [dict(entry) for entry in entries]
        mine = [entry for entry in kept if entry.get("manager") in _CONFIGURED and not entry.get("subresource")]
        chosen = max(mine, key=lambda entry: len(str(entry.get("fieldsV1"))))
        chosen |= {"manager": _KUBECTL, "operation": "Apply"}
        left = [entry for entry in kept if entry is chosen or entry not in mine]
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": left}]
        self._send("PATCH", path, patch, _JSON_PATCH)

    def _replaced(self, resource: Resource, path: str, obj: Object, refused: ObjectChange) -> ObjectChange:
        """The refused change as a replacement, if deleting and creating the object works: it is tried first."""
        trial = ManifestWriter(ProvingFork(self._fork), self._identity, namespace=self._namespace)
        if not trial._anew(resource, path, obj):
            return refused
        self._anew(resource, path, obj)
        return replace(refused, action="replace")

    def _anew(self, resource: Resource, path: str, obj: Object) -> bool:
        """True if the object could be deleted and created again."""
        deleted = self._send("DELETE", f"{path}?propagationPolicy=Background&gracePeriodSeconds=0")
        gone = deleted.succeeded and self._send("GET", path).status == 404
        return gone and self._created(resource, obj).action == "create"

    def _told(self, action: Any, resource: Resource, obj: Object, answer: Response) -> ObjectChange:
        return replace(changed(action, _word(resource), obj, message=answer.message), warnings=tuple(answer.warnings))

    def _send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Response:
        request = Request.of(method, path, body, content_type=content_type, headers={"user-agent": _KUBECTL})
        return self._fork.perform(request, identity=self._identity)


_OF_THE_SERVER: Final = frozenset(
    ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp")
)


def _word(resource: Resource) -> str:
    return str(resource.group_resource)


APPLY_SET: Final = "applyset:"
_PART_OF: Final = label("part-of", "applyset")
_ID: Final = label("id", "applyset")
_PRUNED: Final = (
    *(("", one) for one in ("configmaps", "endpoints", "namespaces", "persistentvolumeclaims", "persistentvolumes")),
    *(("", one) for one in ("pods", "replicationcontrollers", "secrets", "services")),
    *(("apps", one) for one in ("daemonsets", "deployments", "replicasets", "statefulsets")),
    *(("batch", one) for one in ("jobs", "cronjobs")),
    (api_group("networking"), "ingresses"),
)
"""The resources that ``kubectl apply --prune`` prunes by default: ``pkg/cmd/apply/prune.go``, release 1.30."""


def pruned(snapshot: Snapshot, kept: Collection[Key], rule: str) -> Iterator[Key]:
    """The keys of objects that pruning deletes.

    Parameters
    ----------
    snapshot
        The objects before the manifests are applied.
    kept
        The keys of the objects in the manifests, which are not pruned.
    rule
        A label selector, or ``applyset:NAME`` or ``applyset:NAMESPACE/NAME`` for the object that names an ApplySet.

    Raises
    ------
    SimkitError
        For a selector that cannot be read, and for an ApplySet that is not there.
    """
    resources, selector, configured = [GroupResource(*names) for names in _PRUNED], rule, True
    if rule.startswith(APPLY_SET):
        resources = [one.storage for one in catalogue_of(snapshot).stored()]
        selector, configured = f"{_PART_OF}={_id_of(snapshot, rule.removeprefix(APPLY_SET))}", False
    try:
        chosen = parse(selector)
    except BadSelector as wrong:
        told = wrong.told(default_behaviour(snapshot.release))
        raise SimkitError(f"{selector!r} is no label selector: {told}; write it as app=shop") from None
    for resource in resources:
        for obj in captured_objects(snapshot, resource):
            key = Key(resource, namespace_of(obj), name_of(obj))
            applied = not configured or LAST_APPLIED in annotations_of(obj)  # those that kubectl apply made
            if key not in kept and applied and chosen.matches(labels_of(obj)):
                yield key


def _id_of(snapshot: Snapshot, name: str) -> str:
    """The identifier of an ApplySet, which its parent object has as a label."""
    namespace, _, plain = name.rpartition("/")
    for resource in catalogue_of(snapshot).stored():
        for obj in captured_objects(snapshot, resource.storage):
            if name_of(obj) == plain and namespace in ("", namespace_of(obj)) and labels_of(obj).get(_ID):
                return str(labels_of(obj)[_ID])
    raise SimkitError(f"no object {name!r} has the label {_ID}, so there is no such ApplySet")
