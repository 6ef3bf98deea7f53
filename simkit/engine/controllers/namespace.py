"""Deletes the content of terminating namespaces, reports what is left in conditions, and finalizes them.

Upstream: pkg/controller/namespace, release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import filterfalse
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import expect, keys_of, replace, replace_status
from simkit.client.resources import NAMESPACES
from simkit.client.work_queue import RequeueError
from simkit.logic.workloads.status_conditions import with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import NAMESPACE_FINALIZER
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Change

Contents = Mapping[Resource, Sequence[Object]]
_SETTLED: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""Every condition with what it says when nothing is in the way."""


class NamespaceController:
    """Reconciles terminating namespaces and no others."""

    name = account = "namespace-controller"
    watches = frozenset({NAMESPACES})

    def __init__(self, catalogue: Callable[[], Catalogue], clock: Clock) -> None:
        self._catalogue, self._clock = catalogue, clock
        self._going: set[str] = set()

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key.resource != NAMESPACES:
            return key.namespace in self._going
        if change.type != "DELETED" and is_terminating(change.entry.object):
            self._going.add(key.name)
            return True
        self._going.discard(key.name)
        return False

    def resume_from(self, other: Any) -> None:
        self._going = set(other._going)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        return [Key(NAMESPACES, "", key.namespace or key.name)]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        found = [namespace for namespace in lister.scan(NAMESPACES) if is_terminating(namespace)]
        self._going = {name_of(namespace) for namespace in found}
        return keys_of(NAMESPACES, found)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        namespace = lister.get(key)
        if namespace is None or not is_terminating(namespace) or not at(namespace, "spec", "finalizers"):
            return
        contents = self._contents(lister, key.name)
        failures, sent = self._empty(client, key.name, contents)
        if sent and not failures:
            return  # the changes that this makes bring us back here
        self._tell(client, namespace, contents, failures)
        if failures:
            raise RequeueError("; ".join(failures))
        if not contents:
            self._finish(client, namespace)

    def _contents(self, lister: Lister, namespace: str) -> Contents:
        resources = [each for each in self._catalogue().stored() if each.namespaced and "delete" in each.verbs]
        found = {resource: lister.scan(resource.storage, namespace) for resource in resources}
        return {resource: objects for resource, objects in found.items() if objects}

    def _empty(self, client: Client, namespace: str, contents: Contents) -> tuple[list[str], bool]:
        """Ask everything to go that was not asked yet: what failed, and whether anything was asked."""
        failures: list[str] = []
        sent = False
        for resource, objects in contents.items():
            if all(map(is_terminating, objects)):
                continue
            sent = True
            names = [""] if "deletecollection" in resource.verbs else map(name_of, filterfalse(is_terminating, objects))
            for name in names:
                response = client.perform(Request.of("DELETE", resource.path_to(name, namespace)))
                if not response.succeeded and response.status not in (404, 409):
                    failures.append(str(response.object.get("message")))
        return failures, sent

    def _tell(self, client: Client, namespace: Object, contents: Contents, failures: Sequence[str]) -> None:
        status = namespace.get("status") or {}
        conditions = self._conditions(status.get("conditions") or (), _problems(contents, failures))
        replace_status(client, NAMESPACES, namespace, {**status, "conditions": conditions})

    def _conditions(
        self, present: Sequence[Mapping[str, Any]], problems: Mapping[str, tuple[str, str]]
    ) -> list[Mapping[str, Any]]:
        now, conditions = timestamp(self._clock.now()), list(present)
        for kind, settled in _SETTLED.items():
            reason, message = problems.get(kind, settled)
            wanted = {"type": kind, "status": str(kind in problems), "reason": reason, "message": message}
            conditions = with_condition(conditions, wanted, now)
        return conditions

    def _finish(self, client: Client, namespace: Object) -> None:
        left = [name for name in at(namespace, "spec", "finalizers") if name != NAMESPACE_FINALIZER]
        fresh = {key: value for key, value in metadata(namespace).items() if key != "resourceVersion"}
        wanted = {**namespace, "metadata": fresh, "spec": {**namespace["spec"], "finalizers": left}}
        expect(replace(client, NAMESPACES, wanted, "finalize"), 404, 409)


def _problems(contents: Contents, failures: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The obstacles to a removal: reason and message by type of condition."""
    problems: dict[str, tuple[str, str]] = {}
    if failures:
        text = f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(sorted(failures))}"
        problems["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
    if contents:
        counted = sorted(
            f"{resource.resource}.{resource.group} has {len(objects)} resource instances"
            for resource, objects in contents.items()
        )
        text = f"Some resources are remaining: {', '.join(counted)}"
        problems["NamespaceContentRemaining"] = ("SomeResourcesRemain", text)
    finalizers = Counter(
        name for objects in contents.values() for obj in objects for name in metadata(obj).get("finalizers") or ()
    )
    if finalizers:
        listed = ", ".join(sorted(f"{name} in {number} resource instances" for name, number in finalizers.items()))
        text = f"Some content in the namespace has finalizers remaining: {listed}"
        problems["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    return problems
