"""The filter of nodes by the zones and regions in the labels of volumes.

Upstream: pkg/scheduler/framework/plugins/volumezone, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from simkit.logic.workloads.volumes import class_of
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, at, labels_of
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.rejection import Filter, Rejection, Unschedulable, rejected
from simkit.simulation.scheduler.view import View

_ZONE, _REGION = label("zone", "topology"), label("region", "topology")
_PRESENT: Final = {
    label("zone", "failure-domain.beta"): _ZONE,
    label("region", "failure-domain.beta"): _REGION,
    _ZONE: _ZONE,
    _REGION: _REGION,
}
"""The labels that count, and the present name of each."""
_SEPARATOR: Final = "__"


class _Place(NamedTuple):
    """A label of a volume, and the values that nodes may have."""

    key: str
    values: frozenset[str]

    def has(self, info: NodeInfo) -> bool:
        value = info.labels.get(self.key, info.labels.get(_PRESENT[self.key]))
        return value in self.values


def volume_zone(pod: PodInfo, view: View) -> Filter | None:
    """Nodes in the zones that the labels of bound volumes name. Raises Unschedulable."""
    places = [place for claim in _claims(pod, view) for place in _places(pod, view, claim)]
    if not places:
        return None
    rejection = rejected("node(s) had no available volume zone", resolvable=False)

    def check(info: NodeInfo) -> Rejection | None:
        if not any(key in info.labels for key in _PRESENT):
            return None
        return None if all(each.has(info) for each in places) else rejection

    return check


def _claims(pod: PodInfo, view: View) -> Iterator[Object]:
    for volume in at(pod.pod, "spec", "volumes") or ():
        name = at(volume, "persistentVolumeClaim", "claimName")
        if name:
            claim = view.claim(pod.namespace, name)
            if claim is None:
                raise Unschedulable(f"persistentvolumeclaim {quoted(name)} not found")
            yield claim


def _places(pod: PodInfo, view: View, claim: Object) -> list[_Place]:
    name = at(claim, "spec", "volumeName")
    if not name:
        return _unbound(view, class_of(claim))
    volume = view.volume(name)
    if volume is None:
        raise Unschedulable(f"persistentvolume {quoted(name)} not found")
    labels = labels_of(volume)
    return [_Place(key, _values(labels[key])) for key in _PRESENT if labels.get(key)]


def _unbound(view: View, storage_class: str) -> list[_Place]:
    """No places, for a claim that waits for its pod."""
    if not storage_class:
        raise Unschedulable("PersistentVolumeClaim had no pv name and storageClass name")
    found = view.storage_class(storage_class)
    if found is None:
        raise Unschedulable(f"storageclass.{api_group('storage')} {quoted(storage_class)} not found")
    if found.get("volumeBindingMode") != "WaitForFirstConsumer":
        raise Unschedulable("PersistentVolume had no name")
    return []


def _values(text: str) -> frozenset[str]:
    """The zones that a label lists.

    Examples
    --------
    >>> sorted(_values("z1__z2"))
    ['z1', 'z2']
    """
    return frozenset(each.strip() for each in text.split(_SEPARATOR))
