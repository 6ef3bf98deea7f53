"""Custom resources: definitions in the store become served resources at once.

Serving follows the store, wherever a definition was written. What the server itself has to do about definitions (decide
about names, say that one is served, remove the objects of one that is deleted) is done after the request that made it
necessary, before it is answered.

Upstream: k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go and
k8s.io/apiextensions-apiserver/pkg/controller/establish/establishing_controller.go, release 1.30.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.server_writes import update_status_as_server
from simkit.engine.registry.write import Deletion
from simkit.kinds.apiextensions.customresourcedefinition import approval, is_protected
from simkit.kinds.apiextensions.definition import NO_NEW_ONES, CustomVersion, Definition, Provider
from simkit.kinds.apiextensions.naming import (
    CLEANUP,
    KINDS,
    RESOURCES,
    GroupNames,
    accept_names,
    condition,
    established,
    with_condition,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.errors import StatusError, no_path, not_found
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object, metadata
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.seams import Change, Entry

# Routing of requests for custom resources, where it differs from that for built-in ones.
# References: ``k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go``, release 1.30.


def builtin_group(catalogue: Catalogue, group: str) -> bool:
    """True if a group is served with resources of the release: others leave no trace where nothing is found."""
    return any(not resource.custom for resource in catalogue.resources(group))


def check_custom_route(info: RequestInfo, resource: Resource) -> None:
    """Raises kube-apiserver's 404 if the path does not fit the scope, or names a missing subresource."""
    if info.namespace and not resource.namespaced:
        raise no_path()
    if resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
        raise no_path()
    if info.subresource and info.subresource not in resource.subresources:
        raise not_found(resource.group_resource, info.name)


def refuse_new(behaviour: ServedBehaviour, custom: CustomVersion, info: RequestInfo) -> None:
    """Raises 405 for a POST to a terminating definition, where admission does not answer it."""
    if (
        info.verb != "create"
        or not custom.definition.is_terminating
        or behaviour.applies("terminating-definition-forbids")
    ):
        return
    raise _refused(info, NO_NEW_ONES)


def unsupported(info: RequestInfo) -> StatusError:
    """405 for a verb that custom resources do not have, or a method that is no verb at all."""
    return _refused(info, f'{info.verb} is not supported on resources of kind "{info.group_resource}"')


def _refused(info: RequestInfo, message: str) -> StatusError:
    return StatusError(405, "MethodNotAllowed", message, details={"group": info.group, "kind": info.resource})


_LOG: Final = logging.getLogger("simkit.controllers")
DEFINITIONS: Final = GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions")
_APPROVALS: Final = {
    "Approved": ("True", "ApprovedAnnotation"),
    "Bypassed": ("False", "UnapprovedAnnotation"),
    "Missing": ("False", "MissingAnnotation"),
    "Invalid": ("False", "InvalidAnnotation"),
}


class CustomResources:
    """The definitions of one server.

    Parameters
    ----------
    engine
        The server; it serves other resources whenever a definition says so.
    base
        What it serves without any definition.
    origin
        Those of the server that this one is a fork of. Without them the store is asked, and what it holds is served
        although nothing may say that its names are accepted.
    """

    def __init__(self, engine: Engine, base: Catalogue, origin: CustomResources | None = None) -> None:
        self._engine, self._base = engine, base
        self._lock, self._news = threading.RLock(), threading.Lock()
        self._waiting: dict[str, None] = {}
        """The names of definitions that changed, or may get other names by a change, in order."""
        self._settling = 0
        """Above 0 while a thread processes changes, which are not in ``_waiting`` any more."""
        self._emptied: set[GroupResource] = set()
        """Resources of terminating definitions that lost an object."""
        self.definitions = self._stored() if origin is None else self._of_origin(origin)
        self._names: dict[str, GroupNames] | None = None
        """The names of each group, made when a definition changes first."""
        self._leaving = {each.group_resource: name for name, each in self.definitions.items() if each.is_terminating}
        if origin is not None and origin._base is base:
            engine.serve_catalogue(origin._engine.catalogue, converting=origin._engine.converting)
        elif self.definitions:
            self._serve()
        engine.store.listen(self.follow)
        engine.after_write = self.settle

    def _stored(self) -> dict[str, Definition]:
        entries = self._engine.store.scan(DEFINITIONS)
        return {entry.key.name: self._definition(entry.object, trusted=True) for entry in entries}

    def _of_origin(self, origin: CustomResources) -> dict[str, Definition]:
        """The definitions of the origin: the same ones, unless this server has another release or other gates."""
        if origin._base is self._base:
            return dict(origin.definitions)
        return {name: self._definition(each.object, trusted=each.trusted) for name, each in origin.definitions.items()}

    def _definition(self, obj: Object, *, trusted: bool = False) -> Definition:
        return Definition(self._base.behaviour, obj, self._base.definition, trusted=trusted)

    # Following

    def follow(self, changes: Sequence[Change]) -> None:
        """Take the changes of the store, in the writer's thread."""
        if self._leaving:
            gone = {change.entry.key.resource for change in changes if change.type == "DELETED"}
            with self._news:
                self._emptied |= gone & self._leaving.keys()
        for change in changes:
            if change.entry.key.resource == DEFINITIONS:
                self._learn([one for one in changes if one.entry.key.resource == DEFINITIONS])
                return

    def _learn(self, changes: Iterable[Change]) -> None:
        anew = False
        for change in changes:
            name, obj = change.entry.key.name, change.entry.object
            before = self.definitions.get(name)
            if before is not None:
                self._leaving.pop(before.group_resource, None)
            concerned = self._rename(name, before, None if change.type == "DELETED" else obj)
            if change.type == "DELETED":
                self.definitions.pop(name, None)
                anew = anew or (before is not None and before.is_served)
            else:
                made = self._definition(obj, trusted=before is not None and before.trusted)
                anew = self._replace(name, before, made) or anew
                if made.is_terminating:
                    self._leaving[made.group_resource] = name
            with self._news:
                self._waiting |= dict.fromkeys(concerned)
        if anew:
            self._serve()

    def _rename(self, name: str, before: Definition | None, obj: Object | None) -> list[str]:
        """The definitions whose names may change by a change of one."""
        group = str(((obj or {}).get("spec") or {}).get("group") or "") if obj is not None else None
        left = self._names_in(before.group).learn(name, None) if before is not None and before.group != group else []
        return left if group is None else [*left, *self._names_in(group).learn(name, obj)]

    def _names_in(self, group: str) -> GroupNames:
        if self._names is None:
            self._names = {}
            for each in self.definitions.values():
                self._names_in(each.group).learn(each.name, each.object)
        return self._names.setdefault(group, GroupNames())

    def _replace(self, name: str, before: Definition | None, made: Definition) -> bool:
        """Keep the newer definition; True if the served resources change."""
        self.definitions[name] = made
        if before is None:
            return made.is_served
        if (before.is_served, before.is_terminating) != (made.is_served, made.is_terminating):
            return True
        return made.is_served and before.spec != made.spec

    def _serve(self) -> None:
        serving = [each for each in self.definitions.values() if each.is_served]
        resources = [
            resource for each in serving for resource in each.resources if self._base.find(*resource.gvr) is None
        ]
        converting = frozenset(each.group for each in serving if each.calls_out)
        self._engine.serve_catalogue(self._base.with_resources(resources, Provider(serving)), converting=converting)

    # What the server does about definitions

    def resume(self) -> None:
        """Go on with what a server had not done when it was killed: names to accept, objects to delete."""
        self._waiting |= dict.fromkeys(self.definitions)
        try:
            self.settle()
        except StatusError:
            _LOG.exception("definitions of custom resources")

    def settle(self) -> None:
        """Process the last changes until nothing is left to do, also by others. Cheap if there are none."""
        if not self._waiting and not self._emptied and not self._settling:
            return
        with self._lock:
            self._settling += 1
            try:
                while self._waiting or self._emptied:
                    self._settle_once()
            finally:
                self._settling -= 1

    def _settle_once(self) -> None:
        with self._news:
            names, self._waiting = self._waiting, {}
            emptied, self._emptied = self._emptied, set()
            names |= dict.fromkeys(self._leaving[each] for each in emptied if each in self._leaving)
        failures = [error for name in names if (error := self._tended(name)) is not None and error.code != 404]
        if failures:
            raise failures[0]

    def _tended(self, name: str) -> StatusError | None:
        """The error of a definition, which keeps no other one waiting."""
        try:
            self._tend(name)
        except StatusError as error:
            return error
        return None

    def _tend(self, name: str) -> None:
        entry = self._engine.store.get(Key(DEFINITIONS, "", name))
        if entry is None:
            return
        if metadata(entry.object).get("deletionTimestamp"):
            self._clean_up(entry)
            return
        status = self._named(entry.object)
        if status != entry.object.get("status"):
            self._write(entry, status, metadata(entry.object).get("finalizers"))

    def _named(self, obj: Object) -> Object:
        """The status of a definition with its accepted names, given the others of its group."""
        group, now = obj["spec"].get("group"), self._now()
        others = partial(self._names_in(str(group or "")).of_others, metadata(obj)["name"])
        names, told = accept_names(obj, others(RESOURCES), others(KINDS))
        status: dict[str, object] = {**(obj.get("status") or {}), "acceptedNames": names}
        status = with_condition(status, told, now)
        follows = established(obj, told)
        if follows is not None:
            status = with_condition(status, follows, now)
        if is_protected(str(group or "")):
            state, reason = approval(obj)
            value, word = _APPROVALS[state]
            conformant = condition("KubernetesAPIApprovalPolicyConformant", value, word, reason)
            status = with_condition(status, conformant, now)
        return status

    def _clean_up(self, entry: Entry) -> None:
        """Delete the objects of a terminating definition, and finalize it when there are none."""
        finalizers = list(metadata(entry.object).get("finalizers") or ())
        if CLEANUP not in finalizers:
            return
        definition = self._definition(entry.object)
        if self._remove_objects(definition):
            done = condition("Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
            status = with_condition(entry.object.get("status") or {}, done, self._now())
            self._write(entry, status, [name for name in finalizers if name != CLEANUP])
            return
        told = "CustomResource deletion is in progress"
        going = condition("Terminating", "True", "InstanceDeletionInProgress", told)
        status = with_condition(entry.object.get("status") or {}, going, self._now())
        if status != entry.object.get("status"):
            self._write(entry, status, finalizers)

    def _remove_objects(self, definition: Definition) -> bool:
        """Delete all objects of a definition; True if none is left."""
        store = self._engine.store
        # Objects in the storage version need no webhook, which may fail.
        found = min(definition.resources, key=lambda each: each.version != definition.storage_version, default=None)
        if found is None:
            return store.count(definition.group_resource) == 0
        registry_scope = RequestScope(self._engine.catalogue, found).registry_scope
        for each in store.scan(definition.group_resource):
            if not metadata(each.object).get("deletionTimestamp"):
                self._engine.registry.delete(Deletion(registry_scope, each.key, _unasked))
        return store.count(definition.group_resource) == 0

    def _now(self) -> str:
        return timestamp(self._engine.clock.now())

    def _write(self, entry: Entry, status: Object, finalizers: Sequence[str] | None) -> None:
        """Write the status of a definition, as the server itself."""

        def intent(live: Object | None) -> Draft:
            assert live is not None
            noted = {name: value for name, value in live["metadata"].items() if name != "finalizers"}
            if finalizers:
                noted["finalizers"] = list(finalizers)
            return {**live, "metadata": noted, "status": dict(status)}

        update_status_as_server(self._engine, entry.key, intent)


def _unasked(obj: Object) -> None:
    """Skip admission, since the server itself deletes the objects."""
