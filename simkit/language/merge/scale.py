"""Ownership of replicas between an object and its scale subresource.

A Scale is another type than the object that it scales. Who owns the replicas of the object owns the replicas of its
Scale, and whoever comes to own those through a Scale owns them in the object::

    parent: ann owns .spec.replicas and .spec.paused in apps/v1
    scale:  ann owns .spec.replicas in autoscaling/v1

k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from simkit.language.merge.fieldset import Fields, difference, has, of_paths
from simkit.language.merge.managedfields import (
    UPDATE,
    BadManagedFields,
    ManagedFields,
    Owner,
    Record,
    VersionedSet,
    read,
    written,
)

SCALE_VERSION: Final = "autoscaling/v1"
REPLICAS: Final = ("f:spec", "f:replicas")

Paths = Mapping[str, tuple[str, ...] | None]
"""The path of the replicas by apiVersion; None for a version without a scale."""


def scale_records(parent: Sequence[Record], replicas: Paths) -> list[Record]:
    """The managedFields of the Scale of an object with these managedFields."""
    managed: ManagedFields = {}
    for owner, claim in _read(parent).items():
        path = replicas.get(claim.api_version)
        if path and has(claim.fields, *path):
            managed[_in_version(owner, SCALE_VERSION)] = VersionedSet(of_paths(REPLICAS), SCALE_VERSION, claim.time)
    return written(managed)


def parent_records(
    parent: Sequence[Record], scale: Sequence[Record], replicas: Paths, *, api_version: str
) -> list[Record]:
    """The managedFields of an object after its Scale was written.

    Parameters
    ----------
    parent, scale
        The managedFields of the object before, and of the Scale after the write.
    replicas
        Where the object has its replicas, by version.
    api_version
        The version in which the object names fields that are new to an owner.

    Notes
    -----
    Owners that are new through the Scale get no time. So do updaters that keep the replicas: they are told apart by
    version, and that of a Scale is another one, so that their entry loses the replicas to a second one.
    """
    left = dict(_read(scale))
    managed: ManagedFields = {}
    for owner, claim in _read(parent).items():
        if claim.api_version not in replicas:
            continue
        path = replicas[claim.api_version]
        kept = owner.operation != UPDATE and left.pop(owner, None) is not None
        if kept or path is None or not has(claim.fields, *path):
            managed[owner] = claim
        elif rest := difference(claim.fields, of_paths(path)):
            managed[owner] = claim.having(rest)
    return written({**managed, **_gained(left, of_paths(replicas.get(api_version) or ()), api_version)})


def _gained(scale: ManagedFields, fields: Fields, api_version: str) -> ManagedFields:
    gained: ManagedFields = {}
    for owner, claim in scale.items():
        if claim.fields:
            gained[owner] = VersionedSet(fields, api_version)
    return gained


def _in_version(owner: Owner, api_version: str) -> Owner:
    """The manager in another version: only updaters are distinguished by version."""
    version = api_version if owner.operation == UPDATE else ""
    return Owner(owner.manager, owner.operation, version, owner.subresource)


def _read(records: Sequence[Record]) -> ManagedFields:
    try:
        return read(records, stored=True)
    except BadManagedFields:
        return {}
