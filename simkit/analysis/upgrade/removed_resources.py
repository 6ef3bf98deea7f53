"""Resources that a release removes, or that are disabled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, GroupVersion
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.lifecycle import every_resource, lifecycle_of
from simkit.schema.releases import minor_of


@dataclass(frozen=True, slots=True)
class RemovedResource:
    """One resource of one version that is no longer served."""

    api_version: str
    resource: str
    kind: str
    left: tuple[str, ...]
    """Versions of the same objects that are still served, also under another group."""
    replacement: str
    """The version to use instead."""
    since: str = ""
    """The first release that does not serve it by default; empty where no release removes it."""

    @property
    def group(self) -> str:
        return GroupVersion.parse(self.api_version).group

    @property
    def objects_unreachable(self) -> bool:
        """True if no version is left in which its objects can be reached."""
        return not self.left


class RemovedResources:
    """Everything that is taken away, found by version and resource or by version and kind."""

    def __init__(self, gone: Collection[RemovedResource], stored: dict[tuple[str, str], GroupResource]) -> None:
        self.resources = tuple(gone)
        self.stored = stored
        """The stored resource of each removed version and resource."""
        self._by_resource = {(each.api_version, each.resource): each for each in gone}
        self._by_kind = {(each.api_version, each.kind): each for each in gone}

    def __bool__(self) -> bool:
        return bool(self.resources)

    def resource(self, api_version: str, resource: str) -> RemovedResource | None:
        return self._by_resource.get((api_version, resource))

    def kind(self, api_version: str, kind: str) -> RemovedResource | None:
        return self._by_kind.get((api_version, kind))

    @property
    def api_versions(self) -> frozenset[str]:
        return frozenset(each.api_version for each in self.resources)


def removed_between(old: Catalogue, new: Catalogue) -> RemovedResources:
    """The resources that the old catalogue serves and the new one does not."""
    removed = [each for each in old.resources() if not each.custom and new.find(*each.gvr) is None]
    return _table(removed, new)


def removed_before(old: Catalogue, new: Catalogue) -> RemovedResources:
    """The resources that an earlier release served and neither catalogue does: requests for them fail already."""
    removed = [each for _, each in every_resource() if old.find(*each.gvr) is None and new.find(*each.gvr) is None]
    return _table([each for each in removed if not _to_come(each, new.release)], new)


def _to_come(resource: Resource, release: str) -> bool:
    known = lifecycle_of(resource.api_version, resource.kind)
    return known is None or not known.removed or minor_of(known.removed) > minor_of(release)


def removed_by_disabling(catalogue: Catalogue, elements: Sequence[str]) -> RemovedResources:
    """The resources that are removed when versions (``policy/v1beta1``), groups or resources of a version are disabled.

    Elements that the catalogue does not serve remove nothing: see ``removed_already``.
    """
    removed = [each for each in catalogue.resources() if _named(each, elements)]
    return _table(removed, catalogue.without(lambda resource: _named(resource, elements)))


def removed_already(catalogue: Catalogue, elements: Sequence[str]) -> RemovedResources:
    """The resources of some elements that an earlier release served: requests for them fail already.

    Raises
    ------
    SimkitError
        For an element that neither the catalogue nor an earlier release serves.
    """
    gone: list[Resource] = []
    for element in elements:
        before = [each for each in _every(element) if catalogue.find(*each.gvr) is None]
        before = [each for each in before if not _to_come(each, catalogue.release)]
        if not before and not any(_named(each, [element]) for each in catalogue.resources()):
            raise SimkitError(f"release {catalogue.release} does not serve {element!r}")
        gone += before
    return _table(gone, catalogue)


def served_elements(catalogue: Catalogue, elements: Sequence[str]) -> list[str]:
    """The elements of which the catalogue serves something."""
    return [element for element in elements if any(_named(each, [element]) for each in catalogue.resources())]


def _every(element: str) -> Iterator[Resource]:
    return (each for _, each in every_resource() if _named(each, [element]))


def _named(resource: Resource, elements: Sequence[str]) -> bool:
    names = {resource.group, resource.api_version, f"{resource.api_version}/{resource.resource}"}
    return not names.isdisjoint(filter(None, elements))


def _table(removed: Sequence[Resource], new: Catalogue) -> RemovedResources:
    left: dict[GroupResource, list[str]] = {}
    for each in new.resources():
        if each.stored:
            left.setdefault(each.storage, []).append(each.api_version)
        else:
            left.setdefault(each.group_resource, []).append(each.api_version)
    gone = [_gone(each, left) for each in removed]
    return RemovedResources(gone, {(each.api_version, each.resource): each.storage for each in removed if each.stored})


def _gone(resource: Resource, left: dict[GroupResource, list[str]]) -> RemovedResource:
    place = resource.storage if resource.stored else resource.group_resource
    known = lifecycle_of(resource.api_version, resource.kind)
    replacement, since = (known.instead, known.removed) if known is not None else ("", "")
    return RemovedResource(
        resource.api_version, resource.resource, resource.kind, tuple(left.get(place, ())), replacement, since
    )
