"""Objects that pruning deletes: applied before, and in no manifest any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.analysis.catalogue import catalogue_of
from simkit.meta.domain import LAST_APPLIED, api_group, label
from simkit.meta.errors import SimkitError
from simkit.meta.labels import BadSelector, parse
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import annotations_of, labels_of, name_of, namespace_of
from simkit.schema.behaviour import default_behaviour
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump

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


def pruned(snapshot: Snapshot, wanted: Dump, rule: str) -> Iterator[Key]:
    """The keys of objects that pruning deletes.

    Parameters
    ----------
    snapshot
        The objects before the manifests are applied.
    wanted
        The manifests.
    rule
        A label selector, or ``applyset:NAME`` or ``applyset:NAMESPACE/NAME`` for the object that names an ApplySet.

    Raises
    ------
    SimkitError
        For a selector that cannot be read, and for an ApplySet that is not there.
    """
    captured = set(snapshot.captured())
    if rule.startswith(APPLY_SET):
        identifier = _id_of(snapshot, rule.removeprefix(APPLY_SET))
        resources = [one.storage for one in catalogue_of(snapshot).stored()]
        found = _with(snapshot, [one for one in resources if one in captured], f"{_PART_OF}={identifier}", False)
    else:
        resources = [GroupResource(*names) for names in _PRUNED]
        found = _with(snapshot, [one for one in resources if one in captured], rule, True)
    yield from (key for key in found if key not in wanted.keyed)


def _with(snapshot: Snapshot, resources: list[GroupResource], selector: str, configured: bool) -> Iterator[Key]:
    """The objects that a selector chooses; with ``configured`` only those that kubectl apply made."""
    try:
        chosen = parse(selector)
    except BadSelector as wrong:
        told = wrong.told(default_behaviour(snapshot.release))
        raise SimkitError(f"{selector!r} is no label selector: {told}; write it as app=shop") from None
    for resource in resources:
        for obj in snapshot.scan(resource):
            if chosen.matches(labels_of(obj)) and (not configured or LAST_APPLIED in annotations_of(obj)):
                yield Key(resource, namespace_of(obj), name_of(obj))


def _id_of(snapshot: Snapshot, name: str) -> str:
    """The identifier of an ApplySet, which its parent object has as a label."""
    namespace, _, plain = name.rpartition("/")
    for resource in catalogue_of(snapshot).stored():
        if resource.storage in snapshot.captured():
            for obj in snapshot.scan(resource.storage, namespace or None):
                if name_of(obj) == plain and labels_of(obj).get(_ID):
                    return str(labels_of(obj)[_ID])
    raise SimkitError(f"no object {name!r} has the label {_ID}, so there is no such ApplySet")
