"""Traces recorded from a running cluster: what is written and deleted there while somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import Event, Lock
from time import monotonic, time
from typing import Final

from simkit.analysis.upgrade.trace import OF_SERVERS, TraceEvent
from simkit.kinds.conversions import convert, convertible
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import RBAC_GROUP, REGISTRATION_GROUP, api_group, label
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of, namespace_of, with_metadata
from simkit.schema.behaviour import default_behaviour
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.live_watch import ObjectChange, follow_all, listed_watches
from simkit.snapshot.withhold import is_secret, withheld

_FLOW_CONTROL: Final = api_group("flowcontrol.apiserver")
_OF_ENDS: Final = dict.fromkeys(("deletionTimestamp", "deletionGracePeriodSeconds"))
_GIVEN: Final = ("clusterIP", "clusterIPs", "healthCheckNodePort")
"""Fields of services that the server fills."""
UNTRACKED: Final = frozenset(
    ("events", "leases", "endpoints", "endpointslices", "nodes", "csinodes", "componentstatuses")
)
"""Resources that are left out unless they are named: programs write them, again and again."""
_LAST_WORDS: Final = 2.0
"""Seconds after the end in which the watches may still record what came before it."""
FIRST: Final = ("namespaces", "customresourcedefinitions", "priorityclasses", "storageclasses", "serviceaccounts")
"""Resources that others need, in the order in which a trace begins."""


class TraceRecorder:
    """Collects changes in the order in which they come, without those that a replay makes by itself.

    Left out are objects that a controller made for another one, objects that the server makes itself, and writes that
    change the status alone. Of secrets the values are left out.
    """

    def __init__(self, behaviour: ServedBehaviour, clock: Callable[[], float] = time) -> None:
        self._behaviour, self._clock = behaviour, clock
        self._events: list[TraceEvent] = []
        self._written: dict[tuple[str, str, str], Object] = {}
        self._lock = Lock()

    def add(self, change: ObjectChange) -> None:
        """Record a change, if it is one that a replay needs."""
        obj = _kept(change.object, self._behaviour)
        key = (str(obj.get("kind")), namespace_of(obj), name_of(obj))
        with self._lock:
            if change.deleted:
                if self._written.pop(key, None) is not None:
                    self._events.append(TraceEvent(self._clock(), deleted=(obj,)))
            elif not _is_made_by_programs(change.object):
                before = self._written.get(key)
                if before is not None and key[0] == "Pod":
                    obj = {**obj, "spec": before.get("spec")}  # a scheduler fills in the rest
                if before != obj:
                    self._written[key] = obj
                    self._events.append(TraceEvent(self._clock(), applied=(obj,)))

    def trace(self) -> tuple[TraceEvent, ...]:
        """The events recorded so far."""
        with self._lock:
            return tuple(self._events)


def _kept(obj: Object, behaviour: ServedBehaviour) -> Object:
    """An object as somebody would apply it."""
    bare = {name: value for name, value in _as_written(obj, behaviour).items() if name != "status"}
    if bare.get("kind") == "Service" and at(bare, "spec", "clusterIP") != "None":
        bare["spec"] = {name: value for name, value in (bare.get("spec") or {}).items() if name not in _GIVEN}
    return with_metadata(withheld(bare) if is_secret(bare) else bare, **OF_SERVERS, **_OF_ENDS)


def _as_written(obj: Object, behaviour: ServedBehaviour) -> Object:
    """An object in the version in which it was last written, which its managed fields tell.

    A watch gives objects in the server's preferred version, whatever version somebody wrote.
    """
    entries = [one for one in at(obj, "metadata", "managedFields") or () if not one.get("subresource")]
    last: Object = max(entries, key=lambda one: str(one.get("time") or ""), default={})
    kind, version, wanted = (
        str(each or "") for each in (obj.get("kind"), obj.get("apiVersion"), last.get("apiVersion"))
    )
    return convert(obj, wanted, behaviour) if wanted != version and convertible(kind, version, wanted) else obj


def _is_made_by_programs(obj: Object) -> bool:
    """True if a controller or the server makes an object by itself."""
    if any(owner.get("controller") for owner in at(obj, "metadata", "ownerReferences") or ()):
        return True
    if obj.get("kind") == "ConfigMap" and name_of(obj) == "kube-root-ca.crt":
        return True
    group = str(obj.get("apiVersion")).partition("/")[0]
    marks = {
        RBAC_GROUP: label("bootstrapping") in labels_of(obj),
        REGISTRATION_GROUP: label("automanaged", "kube-aggregator") in labels_of(obj),
        _FLOW_CONTROL: annotations_of(obj).get(label("autoupdate-spec", "apf")) == "true",
    }
    return marks.get(group, False)


def chosen_resources(live: LiveCluster, words: Collection[str] = ()) -> dict[str, GroupResource]:
    """The resources to watch by path, those that others need first.

    Raises
    ------
    SimkitError
        For a word that names nothing that the server lets be watched.
    """
    every = live.watchable()
    for word in words:
        if not any(word in (resource.resource, str(resource)) for resource in every.values()):
            raise SimkitError(f"{live.server} has no resource {word!r} that can be watched")
    order = {name: place for place, name in enumerate(FIRST)}
    found = [
        (path, resource)
        for path, resource in every.items()
        if (resource.resource in words or str(resource) in words if words else resource.resource not in UNTRACKED)
    ]
    return dict(sorted(found, key=lambda one: order.get(one[1].resource, len(FIRST))))


def record_trace(
    live: LiveCluster,
    resources: Collection[str] = (),
    *,
    ended: Event,
    refused: Callable[[str], object],
    started: Callable[[int], object],
) -> tuple[TraceEvent, ...]:
    """Watch a cluster until somebody sets ``ended``, and return what was written and deleted.

    Parameters
    ----------
    resources
        Plurals, with a group or without; empty: all but those that programs write again and again (``UNTRACKED``).
    refused
        Called with the server's words for each resource that may not be listed.
    started
        Called with the number of objects when all are listed and the watches begin.

    Notes
    -----
    The trace begins with the objects that are there. A thread and a connection for each resource.
    """
    recorder = TraceRecorder(default_behaviour(live.release()))
    chosen = chosen_resources(live, resources)
    watches = listed_watches(live, chosen, ended, take=recorder.add, refused=refused)
    threads = follow_all(watches, recorder.add)
    started(len(recorder.trace()))
    ended.wait()
    for watch in watches:
        watch.close()
    until = monotonic() + _LAST_WORDS
    for thread in threads:
        thread.join(timeout=max(0.0, until - monotonic()))
    return recorder.trace()
