"""Changes of a running cluster, one resource after the other, as its watches tell them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Event, Thread
from time import monotonic
from typing import Any, Final, NamedTuple

import orjson

from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.snapshot.live import LiveCluster, is_object

MINUTES: Final = 300
"""The seconds after which a server is asked to end a watch, which then goes on from the last version."""
PAUSE: Final = 1.0
"""The least seconds between two requests for the changes of a resource, whatever the server answers."""
_GONE: Final = 410
_LOST: Final = frozenset({"Expired", "Gone"})


class ObjectChange(NamedTuple):
    """An object as it is written, or the last that was known of one that is deleted."""

    object: Object
    deleted: bool = False


class ResourceWatch:
    """The changes of one resource: its objects at first, then each write and deletion until somebody stops it.

    Parameters
    ----------
    live
        The cluster.
    path
        The path of the resource, such as ``/apis/apps/v1/deployments``.
    ended
        Set when the watch shall end.

    Notes
    -----
    A list gives the version from which to watch. A watch that ends goes on from the last version; after a 410 the
    resource is listed again, and what is missing in the list counts as deleted.
    """

    def __init__(self, live: LiveCluster, path: str, resource: GroupResource, ended: Event) -> None:
        self.path, self.resource = path, resource
        self._live, self._ended = live, ended
        self._known: dict[tuple[str, str], Object] = {}
        self._version, self._kind = "", dict[str, Any]()
        self._close: Callable[[], None] | None = None

    def close(self) -> None:
        """End the connection that is open."""
        if self._close is not None:
            self._close()

    def listed(self) -> Iterator[ObjectChange]:
        """The objects of the resource, and those that are gone since the last list.

        Raises
        ------
        SimkitError
            Where the server refuses.
        """
        found = self._live.listing(self.path)
        self._version = str(at(found, "metadata", "resourceVersion") or "")
        kind = {"apiVersion": found.get("apiVersion"), "kind": str(found.get("kind")).removesuffix("List")}
        self._kind = kind
        objects: dict[tuple[str, str], Object] = {
            (namespace_of(each), name_of(each)): {**each, **kind} for each in found["items"]
        }
        gone = [obj for key, obj in self._known.items() if key not in objects]
        self._known = objects
        yield from (ObjectChange(obj) for obj in objects.values())
        yield from (ObjectChange(obj, deleted=True) for obj in gone)

    def changes(self, lost: Callable[[str], object]) -> Iterator[ObjectChange]:
        """The events after the list, until the end. ``lost`` is called with the reason when they do not go on."""
        told = False
        while not self._ended.is_set():
            began = monotonic()
            try:
                for change in self._watched() if self._version else self.listed():
                    told = False
                    yield change
            except SimkitError as error:
                if not told and not self._ended.is_set():
                    lost(f"{self.path} is not watched at the moment, and is asked for again: {error}")
                told = True
            self._ended.wait(max(0.0, PAUSE - (monotonic() - began)))

    def _watched(self) -> Iterator[ObjectChange]:
        """The changes of one watch."""
        query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", self._version)]
        lines, self._close = self._live.stream(self.path, [*query, ("timeoutSeconds", MINUTES)])
        if self._ended.is_set():  # after ``close`` looked for the connection
            self._close()
            return
        for line in lines:
            what, obj = _event(line, self._kind)
            if what == "ERROR":
                self._lose(obj)
                return
            self._version = str(at(obj, "metadata", "resourceVersion") or self._version)
            if what in ("ADDED", "MODIFIED"):
                self._known[namespace_of(obj), name_of(obj)] = obj
                yield ObjectChange(obj)
            elif what == "DELETED":
                self._known.pop((namespace_of(obj), name_of(obj)), None)
                yield ObjectChange(obj, deleted=True)

    def _lose(self, status: Mapping[str, Any]) -> None:
        """Forget the version, so that the next step is a list. Raises SimkitError for another error than a lost one."""
        self._version = ""
        if status.get("code") != _GONE and str(status.get("reason")) not in _LOST:
            raise SimkitError(f"an error instead of an event: {str(status.get('message') or status)[:200]}")


def _event(line: bytes, kind: Mapping[str, Any]) -> tuple[str, Object]:
    """The type and the object of an event. Raises SimkitError for a line that is no event about an object of a kind."""
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise SimkitError(f"an event that is not JSON: {line[:100]!r}") from None
    obj = event.get("object") if isinstance(event, dict) else None
    what = event.get("type") if isinstance(event, dict) else None
    named = isinstance(obj, dict) and is_object(obj) and {**obj, **kind} == obj
    if not isinstance(obj, dict) or not (what in ("ERROR", "BOOKMARK") or named):
        raise SimkitError(f"an event that is about no {kind.get('kind') or 'object'}: {line[:100]!r}")
    return str(what), obj


def listed_watches(
    live: LiveCluster,
    resources: Mapping[str, GroupResource],
    ended: Event,
    *,
    take: Callable[[ObjectChange], object],
    refused: Callable[[str], object],
) -> list[ResourceWatch]:
    """Watches of some resources (by path), whose objects were listed and handed to ``take``.

    ``refused`` is called with the server's words for each resource that may not be listed, which is left out.
    """
    watches = []
    for path, resource in resources.items():
        watch = ResourceWatch(live, path, resource, ended)
        try:
            for change in watch.listed():
                take(change)
        except SimkitError as told:
            refused(str(told))
        else:
            watches.append(watch)
    return watches


def follow_all(
    watches: Iterable[ResourceWatch], take: Callable[[ObjectChange], object], lost: Callable[[str], object]
) -> list[Thread]:
    """The threads, one for each watch, that hand its changes to ``take`` until the watches end.

    ``lost`` is called with the reason when the changes of a resource do not go on.
    """

    def follow(watch: ResourceWatch) -> None:
        for change in watch.changes(lost):
            take(change)

    threads = [Thread(target=follow, args=(watch,), daemon=True) for watch in watches]
    for thread in threads:
        thread.start()
    return threads
