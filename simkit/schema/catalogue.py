"""Resources that a release serves, found by path, by kind or by any of their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from simkit.meta import datasets
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import SimkitError, UnknownResource
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from simkit.meta.objects import group_version_of
from simkit.schema import lifecycle
from simkit.schema.behaviour import default_behaviour
from simkit.schema.definitions import Definitions, definitions
from simkit.schema.feature_gates import closed_subresources, without_subresources
from simkit.schema.releases import BASE, RELEASES, release_name
from simkit.schema.resources import Resource, SubresourceInfo, from_row
from simkit.schema.structural import Schema
from simkit.schema.versions import version_rank

__all__ = ["Catalogue", "Group", "Resource", "SchemaProvider", "SubresourceInfo"]

SchemaProvider = Callable[[GroupVersionKind], Schema]
"""A function that gives the schema of a kind outside the release's definitions."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group with its served versions, the preferred one first."""

    name: str
    versions: tuple[str, ...]

    @property
    def preferred(self) -> str:
        return self.versions[0]


class Catalogue:
    """The resources that a server offers. Immutable: ``with_resources`` and ``without`` return another one.

    Examples
    --------
    >>> catalogue = Catalogue.for_release("1.30")
    >>> catalogue.lookup("deploy").gvr.resource
    'deployments'
    >>> catalogue.find("", "v1", "pods").subresources["eviction"].kind
    'Eviction'
    """

    def __init__(
        self,
        release: str,
        resources: Mapping[GroupVersionResource, Resource],
        order: Sequence[tuple[str, Sequence[str]]],
        paths: Sequence[str],
        providers: Mapping[GroupVersionKind, SchemaProvider],
        behaviour: ServedBehaviour,
    ) -> None:
        self.release = release
        self.behaviour = behaviour
        """The rules of the release under the feature gates of the server."""
        self.paths: tuple[str, ...] = tuple(paths)
        """Non-resource paths of a server with default settings."""
        self._resources = resources
        self._order = order
        self._providers = providers

    @classmethod
    def for_release(cls, release: str, *, everything: bool = False) -> Catalogue:
        """The catalogue of a release with its defaults, or with everything that is off by default. Made once."""
        return _for_release(release, everything)

    # Finding

    def find(self, group: str, version: str, resource: str) -> Resource | None:
        """The resource at a path, or None. O(1)."""
        return self._resources.get(GroupVersionResource(group, version, resource))

    def resources(self, group: str | None = None, version: str | None = None) -> Sequence[Resource]:
        """The resources of a group, of a group version, or all: in server order, by name within a version."""
        if group is None:
            return [resource for each in self.groups() for resource in self.resources(each.name)]
        if version is None:
            versions = self._groups[group].versions if group in self._groups else ()
            return [resource for each in versions for resource in self.resources(group, each)]
        return self._by_version.get(GroupVersion(group, version), ())

    def groups(self) -> Sequence[Group]:
        """The groups in the server's order, the core group (an empty name) first."""
        return tuple(self._groups.values())

    def group(self, name: str) -> Group | None:
        return self._groups.get(name)

    def preferred(self, resource: GroupResource) -> Resource | None:
        """The resource in the first version of its group that serves it, or None."""
        served = self._served.get(resource)
        if served is None:
            return None
        if len(served) == 1:
            return next(iter(served.values()))
        return served[self._versions(set(served), dict(self._order).get(resource.group, ()))[0]]

    def kind(self, gvk: GroupVersionKind) -> Resource | None:
        """The resource whose objects have this kind, or None (also for kinds of subresources only)."""
        return self._kinds.get(gvk)

    def resource_of(self, obj: Any) -> Resource:
        """The resource of an object in its own version. Raises SimkitError for an object of no served kind."""
        if not isinstance(obj, Mapping):
            raise SimkitError(f"an object is a mapping with apiVersion and kind, not of type {type(obj).__name__}")
        found = self.kind(GroupVersionKind(*group_version_of(obj), obj.get("kind") or ""))
        if found is None:
            shown = f"apiVersion {obj.get('apiVersion')!r}, kind {obj.get('kind')!r}"
            raise SimkitError(f"nothing is served as {shown} at release {self.release}")
        return found

    def stored(self) -> Sequence[Resource]:
        """One resource for every storage location, in the stored version if it is served."""
        return self._stored

    def lookup(self, word: str) -> Resource:
        """The preferred resource that a word names.

        Takes plural, singular, short name or kind, alone or with its group (``deployments.apps``) or version and group
        (``deployments.v1.apps``), in any case. Several groups with the same word: the first in server order wins.

        Raises
        ------
        UnknownResource
            When nothing has that name; the error suggests near ones.
        """
        found = self._words.get(word) or self._words.get(word.lower())
        if found is None:
            # People shorten kinds that have no short name: crb for ClusterRoleBinding.
            meant = [one.resource for one in self.resources() if _initials(one.kind) == word.lower()]
            raise UnknownResource(word, self.release, self._words, meant)
        return found

    # Schemas

    @property
    def definitions(self) -> Definitions:
        """The type definitions of the release."""
        return definitions(self.release)

    def schema(self, gvk: GroupVersionKind) -> Schema:
        """The schema of a kind, custom or built-in. Raises SimkitError if there is none."""
        provider = self._providers.get(gvk)
        if provider is not None:
            return provider(gvk)
        for release in (self.release, BASE, *reversed(RELEASES)):  # what is stored may have a form of another release
            name = definitions(release).name_of(gvk)
            if name is not None:
                return definitions(release).node(name)
        raise SimkitError(f"there is no schema of {gvk} at release {self.release}")

    def definition(self, name: str) -> Schema:
        """The schema of a type by its full name, such as ``io.k8s.api.core.v1.PodSpec``."""
        try:
            return self.definitions.node(name)
        except KeyError:
            raise SimkitError(f"there is no type {name!r} at release {self.release}") from None

    def provider(self, gvk: GroupVersionKind) -> SchemaProvider | None:
        """The provider of a custom kind's schema; None for built-in kinds."""
        return self._providers.get(gvk)

    # Other catalogues

    def with_resources(self, resources: Iterable[Resource], schemas: SchemaProvider | None = None) -> Catalogue:
        """A catalogue with further resources, which replace those of the same group, version and plural.

        ``schemas`` gives the schemas of their kinds; leave it out for kinds that the release has definitions of.
        """
        added = {resource.gvr: resource for resource in resources}
        providers = self._providers
        if schemas is not None:
            providers = {**providers, **{resource.gvk: schemas for resource in added.values()}}
        return self._with({**self._resources, **added}, providers)

    def without(self, predicate: Callable[[Resource], bool]) -> Catalogue:
        """A catalogue without the resources that a predicate selects."""
        kept = {gvr: resource for gvr, resource in self._resources.items() if not predicate(resource)}
        kinds = {resource.gvk for resource in kept.values()}
        return self._with(kept, {gvk: provider for gvk, provider in self._providers.items() if gvk in kinds})

    def with_behaviour(self, behaviour: ServedBehaviour) -> Catalogue:
        """The same resources on a server with other feature gates."""
        if behaviour is self.behaviour:
            return self
        return Catalogue(self.release, self._resources, self._order, self.paths, self._providers, behaviour)

    def without_subresources(self, closed: Collection[str]) -> Catalogue:
        """A catalogue without some subresources, each named by version and name: ``v1 pods/resize``."""
        kept = {gvr: without_subresources(resource, closed) for gvr, resource in self._resources.items()}
        return self._with(kept, self._providers)

    def _with(
        self,
        resources: Mapping[GroupVersionResource, Resource],
        providers: Mapping[GroupVersionKind, SchemaProvider],
    ) -> Catalogue:
        return Catalogue(self.release, resources, self._order, self.paths, providers, self.behaviour)

    # Indexes, each made when it is first needed

    @cached_property
    def _by_version(self) -> Mapping[GroupVersion, Sequence[Resource]]:
        found: dict[GroupVersion, list[Resource]] = {}
        for resource in sorted(self._resources.values(), key=lambda resource: resource.resource):
            found.setdefault(resource.group_version, []).append(resource)
        return {group_version: tuple(resources) for group_version, resources in found.items()}

    @cached_property
    def _groups(self) -> Mapping[str, Group]:
        """The groups of the release in its own order, then the others by name, their versions by rank."""
        served: dict[str, set[str]] = {}
        for group, version in self._by_version:
            served.setdefault(group, set()).add(version)
        known = {group: tuple(versions) for group, versions in self._order}
        names = [group for group in known if group in served] + sorted(served.keys() - known.keys())
        return {name: Group(name, self._versions(served[name], known.get(name, ()))) for name in names}

    @staticmethod
    def _versions(served: set[str], known: Sequence[str]) -> tuple[str, ...]:
        ordered = [version for version in known if version in served]
        return (*ordered, *sorted(served.difference(known), key=version_rank))

    @cached_property
    def _served(self) -> Mapping[GroupResource, Mapping[str, Resource]]:
        """The resources by version."""
        found: dict[GroupResource, dict[str, Resource]] = {}
        for resource in self._resources.values():
            found.setdefault(resource.group_resource, {})[resource.version] = resource
        return found

    @cached_property
    def _kinds(self) -> Mapping[GroupVersionKind, Resource]:
        return {resource.gvk: resource for resource in self._resources.values()}

    @cached_property
    def _stored(self) -> Sequence[Resource]:
        found: dict[GroupResource, Resource] = {}
        for resource in self.resources():
            if resource.stored and (resource.storage not in found or resource.gvk == resource.storage_gvk):
                found[resource.storage] = resource
        return tuple(found.values())

    @cached_property
    def _words(self) -> Mapping[str, Resource]:
        """Every name of every resource. Plurals of all groups precede singulars, kinds and short names."""
        ordered = self.resources()
        plain: dict[str, Resource] = {}
        for names in (_plurals, _other_names):
            for resource in ordered:
                for name in names(resource):
                    plain.setdefault(name, resource)
        full: dict[str, Resource] = {}
        for resource in ordered:
            for name in (*_plurals(resource), *_other_names(resource)):
                full.setdefault(f"{name}.{resource.version}.{resource.group}".rstrip("."), resource)
                full.setdefault(f"{name}.{resource.group}".rstrip("."), resource)
        return {**full, **plain}

    def __repr__(self) -> str:
        return f"<Catalogue of {self.release}: {len(self._resources)} resources in {len(self._groups)} groups>"


def _initials(kind: str) -> str:
    return "".join(letter for letter in kind if letter.isupper()).lower()


def _plurals(resource: Resource) -> Sequence[str]:
    return (resource.resource,)


def _other_names(resource: Resource) -> Sequence[str]:
    return (resource.singular, resource.kind.lower(), *resource.short_names)


@cache
def _for_release(release: str, everything: bool) -> Catalogue:
    name = release_name(release)
    if not everything:
        found = _for_release(name, True).without(lambda resource: not resource.enabled_by_default)
        return found.without_subresources(closed_subresources(name, {}))
    table: Mapping[str, Any] = datasets.load(f"api/{BASE}/catalogue.json")
    if name == BASE:
        resources: Sequence[Resource] = [from_row(key, row) for key, row in table["resources"].items()]
        order: Sequence[tuple[str, Sequence[str]]] = table["groups"]
    else:
        resources, order = lifecycle.resources(name), lifecycle.order(name)
    known = {each.gvr: each for each in resources}
    return Catalogue(name, known, order, table["paths"], {}, default_behaviour(name))
