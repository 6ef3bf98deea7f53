"""Resources that a release removes, or that are disabled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, GroupVersion
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.lifecycle import every_resource, lifecycle_of, successor

GUIDE: Final = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"


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
    """The first release that does not serve it by default; empty where it is disabled."""

    @property
    def source(self) -> str:
        """The address of what Kubernetes tells about the removal."""
        return f"{GUIDE}#v{self.since.replace('.', '-')}" if self.since else GUIDE

    @property
    def group(self) -> str:
        return GroupVersion.parse(self.api_version).group

    @property
    def objects_unreachable(self) -> bool:
        """True if no version is left in which its objects can be reached."""
        return not self.left


class RemovedResources:
    """Everything that is taken away, found by version and resource or by version and kind."""

    def __init__(self, gone: Collection[RemovedResource], release: str) -> None:
        self.resources = tuple(gone)
        self.release = release
        """The release that does not serve them."""
        self._by_resource = {(each.api_version, each.resource): each for each in gone}
        self._by_kind = {(each.api_version, each.kind): each for each in gone}

    def __bool__(self) -> bool:
        return bool(self.resources)

    def resource(self, api_version: str, resource: str) -> RemovedResource | None:
        return self._by_resource.get((api_version, resource))

    def kind(self, api_version: str, kind: str) -> RemovedResource | None:
        return self._by_kind.get((api_version, kind))

    def successor(self, api_version: str, kind: str, release: str = "") -> str:
        """Version and kind that are served instead, at some release; empty where nothing takes their place."""
        found = successor(api_version, kind, release or self.release)
        gone = self.kind(api_version, kind)
        if gone is not None and self.kind(found.partition(" ")[0], kind) is not None:
            return f"{gone.left[0]} {kind}" if gone.left else ""
        return found

    def instead(self, api_version: str, kind: str) -> str:
        """What to do about a use, as a sentence."""
        found = self.successor(api_version, kind)
        return f"Use {found}." if found else without_successor(kind)


def without_successor(kind: str) -> str:
    """What to do about a kind that no other one replaces, as a sentence."""
    if kind == "PodSecurityPolicy":
        return "Label namespaces for Pod Security admission, then delete it."
    return "Delete it; no other version replaces it."


def removed_between(old: Catalogue, new: Catalogue) -> RemovedResources:
    """The resources that the old catalogue serves and the new one does not."""
    removed = [each for each in old.resources() if not each.custom and new.find(*each.gvr) is None]
    return _table(removed, new)


def removed_by(span: ReleaseSpan) -> RemovedResources:
    """The resources that an earlier release served and the end of a span does not, or those that are disabled.

    Of disabled elements, resources that an earlier release removed are found too: they may still be asked for.

    Raises
    ------
    SimkitError
        For a disabled element that neither the release nor an earlier one serves.
    """
    target = Catalogue.for_release(span.end)
    before = [each for _, each in every_resource() if _ends(each, span)]
    if span.coming:
        return _table(before, target.without(lambda resource: _ends(resource, span)))
    before = [each for each in before if target.find(*each.gvr) is None]
    if not span.disabled:
        return _table(before, target)
    for element in span.disabled:
        if not any(_named(each, [element]) for each in (*target.resources(), *before)):
            raise SimkitError(f"release {span.end} does not serve {element!r}")
    gone = [each for each in before if _named(each, span.disabled)]
    off = [each for each in target.resources() if _named(each, span.disabled)]
    return _table(gone, target.without(lambda resource: _named(resource, span.disabled)), off)


def served_elements(span: ReleaseSpan) -> list[str]:
    """The disabled elements of which the release serves something."""
    served = Catalogue.for_release(span.end).resources()
    return [element for element in span.disabled if any(_named(each, [element]) for each in served)]


def _ends(resource: Resource, span: ReleaseSpan) -> bool:
    known = lifecycle_of(resource.api_version, resource.kind)
    return known is not None and span.ends(known)


def _named(resource: Resource, elements: Sequence[str]) -> bool:
    names = {resource.group, resource.api_version, f"{resource.api_version}/{resource.resource}"}
    return not names.isdisjoint(filter(None, elements))


def _table(removed: Sequence[Resource], new: Catalogue, disabled: Sequence[Resource] = ()) -> RemovedResources:
    left: dict[GroupResource, list[str]] = {}
    for each in new.resources():
        left.setdefault(_place(each), []).append(each.api_version)
    gone = [_gone(each, left, new.release, disabled=False) for each in removed]
    gone += [_gone(each, left, new.release, disabled=True) for each in disabled]
    return RemovedResources(gone, new.release)


def _place(resource: Resource) -> GroupResource:
    return resource.storage if resource.stored else resource.group_resource


def _gone(resource: Resource, left: dict[GroupResource, list[str]], release: str, *, disabled: bool) -> RemovedResource:
    known = lifecycle_of(resource.api_version, resource.kind)
    replacement = successor(resource.api_version, resource.kind, release) if known is not None and known.end else ""
    since = known.end if known is not None else ""
    versions = tuple(left.get(_place(resource), ()))
    return RemovedResource(
        resource.api_version, resource.resource, resource.kind, versions, replacement, "" if disabled else since
    )
