"""A snapshot over plain objects, indexed by resource, namespace and name, in the preferred versions of its release.

Events are stored once, and served by two groups (pkg/apis/core/v1 and pkg/apis/events/v1 conversions, release 1.30).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Final

from simkit.kinds.conversions.convert import convert, convertible
from simkit.kinds.parts.event import NEWER, OLDER, renamed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, GroupVersion, Key
from simkit.meta.objects import Object
from simkit.seams.authorization import Authorization
from simkit.snapshot.providers import authorization_in
from simkit.snapshot.resources import ResourceIndex, RESTMapping

Names = tuple[str, str]
"""Namespace and name."""


class MemorySnapshot:
    """Objects in memory. Of two objects with the same key the later one counts.

    They are answered in the preferred version of the release. Without a namespace, namespaced ones are in ``default``.

    Parameters
    ----------
    objects
        Plain mappings with apiVersion, kind and metadata.name. Custom resource definitions among them name their
        resources; kinds that nothing defines get the plural that they most likely have.
    release
        Whose versions and kinds count.
    captured
        What the objects are all of: resources, or words for them (``roles``, ``*`` for everything). Left out: those
        resources that have at least one object.
    authorization
        The authorizers of the cluster; None: as the objects show them.
    unread
        The parts of the source of the objects that could not be read.

    Raises
    ------
    SimkitError
        For an object without apiVersion, kind or name.

    Notes
    -----
    About 2 µs an object; sorting waits for the first scan of a resource.

    Examples
    --------
    >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
    >>> snapshot = MemorySnapshot([pod])
    >>> snapshot.get(GroupResource("", "pods"), "web", "shop") is pod
    True
    >>> snapshot.get(GroupResource("", "secrets"), "web", "shop")
    Traceback (most recent call last):
    ...
    simkit.meta.errors.IncompleteSnapshot: the snapshot does not hold secrets, which this question needs; \
capture them too: `simkit dump secrets` prints how
    """

    def __init__(
        self,
        objects: Iterable[Object],
        release: str = "1.30",
        captured: Iterable[GroupResource | str] | None = None,
        *,
        index: ResourceIndex | None = None,
        authorization: Authorization | None = None,
        unread: int = 0,
    ) -> None:
        listed = list(objects)
        self._authorization, self._unread = authorization, unread
        self._index = index or ResourceIndex.of(listed, release)
        self._objects: dict[GroupResource, dict[Names, Object]] = {}
        self._conversions: dict[tuple[str, str], Conversion | None] = {}
        for obj in listed:
            self._add(obj)
        stored = self._objects.keys() if captured is None else self._index.named(captured)
        self._captured = frozenset(view for resource in stored for view in self._index.views(resource))
        self._ordered: dict[GroupResource, tuple[Object, ...]] = {}
        self._by_namespace: dict[GroupResource, dict[str, tuple[Object, ...]]] = {}

    def _add(self, obj: Object) -> None:
        key, seated = self._index.keyed(obj)
        convert = self._conversion(seated["apiVersion"], seated["kind"])
        self._objects.setdefault(key.resource, {})[key.namespace, key.name] = convert(seated) if convert else seated

    def _conversion(self, api_version: str, kind: str) -> Conversion | None:
        pair = (api_version, kind)
        if pair not in self._conversions:
            mapping = self._index.mapping(api_version, kind)
            self._conversions[pair] = to_preferred(mapping, self._index, api_version)
        return self._conversions[pair]

    @property
    def release(self) -> str:
        return self._index.release

    @property
    def authorization(self) -> Authorization:
        if self._authorization is None:
            self._authorization = authorization_in(self)
        if self._unread:
            self._authorization = replace(self._authorization, unread=self._unread)
        return self._authorization

    @property
    def behaviour(self) -> ServedBehaviour:
        return self._index.catalogue.behaviour

    @property
    def index(self) -> ResourceIndex:
        """The resources of the kinds in this snapshot, custom ones included."""
        return self._index

    def captured(self) -> Collection[GroupResource]:
        return self._captured

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        stored = self._kept(resource)
        found = self._objects.get(stored, {}).get((namespace, name))
        return found if found is None or stored == resource else group_event(found)

    def scan(self, resource: GroupResource, namespace: str | None = None) -> tuple[Object, ...]:
        stored = self._kept(resource)
        found = self._sorted(stored) if namespace is None else self._in_namespace(stored, namespace)
        return found if stored == resource else tuple(group_event(event) for event in found)

    def _kept(self, resource: GroupResource) -> GroupResource:
        if resource not in self._captured:
            raise IncompleteSnapshot([resource])
        # Only events are kept under another name than their own.
        return self._index.stored(resource) if resource.group == EVENTS_GROUP else resource

    def _sorted(self, resource: GroupResource) -> tuple[Object, ...]:
        found = self._ordered.get(resource)
        if found is None:
            items = sorted(self._objects.get(resource, {}).items(), key=itemgetter(0))
            found = self._ordered[resource] = tuple(obj for _, obj in items)
        return found

    def _in_namespace(self, resource: GroupResource, namespace: str) -> tuple[Object, ...]:
        spaces = self._by_namespace.get(resource)
        if spaces is None:
            collected: dict[str, list[Object]] = {}
            for (where, _), obj in sorted(self._objects.get(resource, {}).items(), key=itemgetter(0)):
                collected.setdefault(where, []).append(obj)
            spaces = self._by_namespace[resource] = {where: tuple(found) for where, found in collected.items()}
        return spaces.get(namespace, ())

    def items(self) -> Iterator[tuple[Key, Object]]:
        """Every object with its key: by resource, namespace and name. Captured or not."""
        for resource in sorted(self._objects):
            for (namespace, name), obj in sorted(self._objects[resource].items(), key=itemgetter(0)):
                yield Key(resource, namespace, name), obj

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def __repr__(self) -> str:
        return f"<MemorySnapshot of {self.release}: {len(self):,} objects of {len(self._objects)} resources>"


Conversion = Callable[[Object], Object]


def to_preferred(mapping: RESTMapping, index: ResourceIndex, api_version: str) -> Conversion | None:
    """The conversion of objects in this version to the preferred version of their resource; None if there is none.

    None where nothing is to be done: they have that version already, or the release does not know the kind. A version
    that no release converts is left as it is: its fields may have other meanings.
    """
    served = mapping.served
    if served is None:
        return None
    if served.group == EVENTS_GROUP and mapping.stored != mapping.resource:
        return core_event
    preferred = index.catalogue.preferred(mapping.stored)
    if preferred is None or preferred.api_version == api_version:
        return None
    target, behaviour = preferred.api_version, index.catalogue.behaviour
    if preferred.custom:
        return lambda obj: {**obj, "apiVersion": target}
    if not convertible(served.kind, api_version, target):
        return None
    return lambda obj: convert(obj, target, behaviour)


GROUP_VERSION: Final = f"{EVENTS_GROUP}/v1"


def core_event(event: Object) -> Object:
    """The event in the fields of the core group."""
    if GroupVersion.parse(event["apiVersion"]).group != EVENTS_GROUP:
        return event
    return _in_words(event, OLDER, "v1")


def group_event(event: Object) -> Object:
    """The event in the fields of the events group."""
    if GroupVersion.parse(event["apiVersion"]).group == EVENTS_GROUP:
        return event
    return _in_words(event, NEWER, GROUP_VERSION)


def _in_words(event: Object, names: Mapping[str, str], api_version: str) -> Object:
    return renamed(event, names) | {"apiVersion": api_version}
