"""The resources of a snapshot: those of its release, those enabled in addition, and those that its definitions add.

Besides them, the objects of admission policies, which several analyses make.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from simkit.analysis.memo import SnapshotMemo
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import ADMISSION_GROUP, EXTENSIONS_GROUP
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.resources import custom_resources

DEFINITIONS: Final = GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions")
POLICIES: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies")
POLICY_BINDINGS: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicybindings")


def policy_object(name: str, spec: Object) -> Object:
    """A ValidatingAdmissionPolicy."""
    header = {"apiVersion": f"{ADMISSION_GROUP}/v1", "kind": "ValidatingAdmissionPolicy"}
    return {**header, "metadata": {"name": name}, "spec": spec}


def binding_object(name: str, spec: Object) -> Object:
    """A binding of such a policy."""
    return {**policy_object(name, spec), "kind": "ValidatingAdmissionPolicyBinding"}


_catalogues: SnapshotMemo[Catalogue] = SnapshotMemo()


def catalogue_of(snapshot: Snapshot) -> Catalogue:
    """The catalogue of the snapshot's release with the custom resources that the snapshot defines.

    Resources that are off by default count as served, in all their versions, if the snapshot knows their objects.
    """
    return _catalogues.of(snapshot, _catalogue)


def _catalogue(snapshot: Snapshot) -> Catalogue:
    captured = snapshot.captured()
    enabled = frozenset(_off_by_default(snapshot.release) & set(captured))
    if DEFINITIONS not in captured:
        return _with_enabled(snapshot.behaviour, snapshot.release, enabled)
    return _with_definitions(
        snapshot.behaviour, snapshot.release, enabled, _Definitions(tuple(snapshot.scan(DEFINITIONS)))
    )


@cache
def _off_by_default(release: str) -> frozenset[GroupResource]:
    """The stored resources of which a release serves no version by default."""
    usual = {each.storage for each in Catalogue.for_release(release).stored()}
    return frozenset(each.storage for each in Catalogue.for_release(release, everything=True).stored()) - usual


@lru_cache(maxsize=16)
def _with_enabled(behaviour: ServedBehaviour, release: str, enabled: frozenset[GroupResource]) -> Catalogue:
    """The catalogue of a release with some resources that are off by default."""
    usual = Catalogue.for_release(release).with_behaviour(behaviour)
    if not enabled:
        return usual
    whole = Catalogue.for_release(release, everything=True)
    return usual.with_resources(each for each in whole.resources() if each.storage in enabled)


class _Definitions:
    """Definitions that are told apart by identity: forks and changed clusters share those that did not change."""

    def __init__(self, every: tuple[Object, ...]) -> None:
        self.every = every
        self._marks = tuple(map(id, every))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Definitions) and self._marks == other._marks

    def __hash__(self) -> int:
        return hash(self._marks)


@lru_cache(maxsize=4)
def _with_definitions(
    behaviour: ServedBehaviour, release: str, enabled: frozenset[GroupResource], definitions: _Definitions
) -> Catalogue:
    """The catalogue of a release with some resources besides, and the custom resources of some definitions."""
    usual = _with_enabled(behaviour, release, enabled)
    return usual.with_resources(each for obj in definitions.every for each in custom_resources(obj, usual.behaviour))
