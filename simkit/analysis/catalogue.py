"""The resources of a snapshot: those of its release, and those that its own definitions add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.analysis.memo import SnapshotMemo
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at
from simkit.schema.catalogue import Catalogue, Resource
from simkit.snapshot.protocol import Snapshot

DEFINITIONS: Final = GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions")

_catalogues: SnapshotMemo[Catalogue] = SnapshotMemo()


def catalogue_of(snapshot: Snapshot) -> Catalogue:
    """The catalogue of the snapshot's release with the custom resources that the snapshot defines."""
    return _catalogues.of(snapshot, _catalogue)


def _catalogue(snapshot: Snapshot) -> Catalogue:
    known = Catalogue.for_release(snapshot.release)
    if DEFINITIONS not in snapshot.captured():
        return known
    return known.with_resources(each for obj in snapshot.scan(DEFINITIONS) for each in _resources(obj))


def _resources(definition: Object) -> Iterator[Resource]:
    """The served versions of a custom resource, as far as questions of access need them."""
    names = at(definition, "spec", "names") or {}
    group, namespaced = at(definition, "spec", "group") or "", at(definition, "spec", "scope") == "Namespaced"
    for version in at(definition, "spec", "versions") or ():
        if version.get("served") and names.get("plural"):
            yield Resource(
                group,
                version["name"],
                names["plural"],
                names.get("kind") or "",
                (names.get("singular") or names.get("kind") or "").lower(),
                tuple(names.get("shortNames") or ()),
                namespaced=namespaced,
                custom=True,
            )
