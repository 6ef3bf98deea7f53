"""The resource of an object: from the catalogue of a release, from definitions, or guessed.

As a RESTMapper of k8s.io/apimachinery/pkg/api/meta does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from simkit.kinds.apiextensions.definition import Definition
from simkit.kinds.conversions.convert import versions
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import DEFAULT_NAMESPACE, EXTENSIONS_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupKind, GroupResource, GroupVersion, GroupVersionKind, Key
from simkit.meta.objects import Object, at, metadata, with_metadata
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.schema.structural import Schema
from simkit.seams.snapshot import Snapshot

DEFINITIONS = GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions")
"""The resource whose objects define further resources."""


@dataclass(frozen=True, slots=True)
class RESTMapping:
    """The resource of one kind and version.

    ``resource`` is what the object's own group calls it, ``stored`` what its objects are kept under (both kinds of
    events are kept as one). ``served`` is None where the release does not serve the kind; then the plural is a guess
    and ``namespaced`` is None. ``version_served`` is False for a version which the release has given up.
    """

    resource: GroupResource
    stored: GroupResource
    namespaced: bool | None
    served: Resource | None
    version_served: bool
    kept: bool
    """True if a server stores such objects; False for access reviews and the like."""


class ResourceIndex:
    """The resources of a release and of the given custom resource definitions.

    Examples
    --------
    >>> index = ResourceIndex("1.30")
    >>> index.mapping("apps/v1", "Deployment").resource
    GroupResource(group='apps', resource='deployments')
    >>> index.mapping("example.com/v1", "Policy").resource.resource
    'policies'
    """

    def __init__(self, release: str = "1.30", definitions: Iterable[Object] = ()) -> None:
        self.release = release
        self.definitions = tuple(definitions)
        whole = Catalogue.for_release(release, everything=True)
        custom = [
            resource for definition in self.definitions for resource in custom_resources(definition, whole.behaviour)
        ]
        self.catalogue = whole.with_resources(custom) if custom else whole
        self._places: dict[tuple[str, str], RESTMapping] = {}

    @classmethod
    def of(cls, objects: Iterable[Object], release: str = "1.30") -> ResourceIndex:
        """The index of a release and of the definitions among the objects."""
        return cls(release, [obj for obj in objects if _is_definition(obj)])

    def mapping(self, api_version: str, kind: str) -> RESTMapping:
        """The resource for objects of this kind and version. O(1) after the first of them."""
        mapping = self._places.get((api_version, kind))
        if mapping is None:
            mapping = self._places[api_version, kind] = self._find(api_version, kind)
        return mapping

    def _find(self, api_version: str, kind: str) -> RESTMapping:
        group, version = GroupVersion.parse(api_version)
        exact = self.catalogue.kind(GroupVersionKind(group, version, kind))
        served = exact or self._kinds.get(GroupKind(group, kind)) or self._moved(api_version, kind)
        if served is None:
            guess = GroupResource(group, guess_plural(kind))
            return RESTMapping(guess, guess, None, None, False, True)
        resource = served.group_resource
        return RESTMapping(resource, served.storage, served.namespaced, served, exact is not None, served.stored)

    def _moved(self, api_version: str, kind: str) -> Resource | None:
        """The resource of the same kind in the group that it moved to, such as ingresses out of extensions."""
        hub = versions(api_version, kind)[0]
        return self._kinds.get(GroupKind(GroupVersion.parse(hub).group, kind)) if hub != api_version else None

    @cached_property
    def _kinds(self) -> dict[GroupKind, Resource]:
        found: dict[GroupKind, Resource] = {}
        for resource in self.catalogue.resources():
            found.setdefault(resource.group_kind, resource)
        return found

    def keyed(self, obj: Object) -> tuple[Key, Object]:
        """The key of an object, and the object with its namespace filled in if necessary.

        Raises
        ------
        SimkitError
            Where the object has no kind, version or name.
        """
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not api_version or not kind:
            raise SimkitError(f"an object needs apiVersion and kind; got apiVersion {api_version!r}, kind {kind!r}")
        mapping = self.mapping(api_version, kind)
        meta = metadata(obj)
        name, namespace = meta.get("name"), meta.get("namespace") or ""
        if not name:
            raise SimkitError(f"a {kind} needs metadata.name to be kept in a snapshot")
        if mapping.namespaced is False and namespace:
            obj, namespace = with_metadata(obj, namespace=None), ""
        elif mapping.namespaced and not namespace:
            obj, namespace = with_metadata(obj, namespace=DEFAULT_NAMESPACE), DEFAULT_NAMESPACE
        return Key(mapping.stored, namespace, name), obj

    def key(self, obj: Object) -> Key:
        """The key of an object. Raises SimkitError as in ``keyed``."""
        return self.keyed(obj)[0]

    def stored(self, resource: GroupResource) -> GroupResource:
        """The resource under whose name the objects of a resource are stored."""
        known = self.catalogue.preferred(resource)
        return known.storage if known else resource

    def views(self, stored: GroupResource) -> tuple[GroupResource, ...]:
        """All resources that serve the objects stored under this one, itself included."""
        return self._views.get(stored, (stored,))

    @cached_property
    def _views(self) -> dict[GroupResource, tuple[GroupResource, ...]]:
        found: dict[GroupResource, dict[GroupResource, None]] = {}
        for resource in self.catalogue.resources():
            found.setdefault(resource.storage, {})[resource.group_resource] = None
        return {stored: tuple(names) for stored, names in found.items()}

    @cached_property
    def _usual(self) -> frozenset[GroupResource]:
        """The stored resources that the release serves by default, and the custom ones."""
        usual = {one.storage for one in Catalogue.for_release(self.release).resources() if one.stored}
        return frozenset(usual | {one.storage for one in self.catalogue.resources() if one.stored and one.custom})

    def named(self, words: Iterable[str | GroupResource]) -> frozenset[GroupResource]:
        """The stored resources that words name: ``roles``, ``deploy``, ``leases.coordination.<domain>``.

        ``*`` names all that the release serves by default and all custom resources. A resource that the release serves
        only where it is enabled has to be named itself, so that nothing counts as served which may not be there.

        Raises
        ------
        UnknownResource
            For a word that names nothing.
        """
        found: set[GroupResource] = set()
        for word in words:
            if isinstance(word, GroupResource):
                found.add(self.stored(word))
            elif word == "*":
                found.update(self._usual)
            else:
                found.add(self.catalogue.lookup(word).storage)
        return frozenset(found)


def _without_types(name: str) -> Schema:
    """No built-in type: a resource is asked for its names alone."""
    raise SimkitError(f"{name} is not known here")


def custom_resources(definition: Object, behaviour: ServedBehaviour) -> Sequence[Resource]:
    """The resources of a custom resource definition, the preferred version first; none of a wrong one."""
    try:
        made = Definition(behaviour, definition, _without_types)
        return made.resources if made.group and made.plural and made.kind else ()
    except (AttributeError, TypeError):
        return ()


def _is_definition(obj: Object) -> bool:
    if obj.get("kind") != "CustomResourceDefinition":
        return False
    group, _ = GroupVersion.parse(str(obj.get("apiVersion") or ""))
    return group == EXTENSIONS_GROUP and isinstance(at(obj, "spec", "names"), dict)


def guess_plural(kind: str) -> str:
    """The most likely plural of a kind, by the rules of clients without discovery.

    Examples
    --------
    >>> guess_plural("NetworkPolicy"), guess_plural("Gateway"), guess_plural("Ingress"), guess_plural("Endpoints")
    ('networkpolicies', 'gateways', 'ingresses', 'endpoints')
    """
    word = kind.lower()
    if word.endswith(("endpoints", "securitycontextconstraints")):
        return word
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def index_of(snapshot: Snapshot, more: Iterable[Object] = ()) -> ResourceIndex:
    """The index for a snapshot's objects, with definitions among ``more`` objects too."""
    added = [obj for obj in more if _is_definition(obj)]
    known = getattr(snapshot, "index", None)
    if isinstance(known, ResourceIndex) and not added:
        return known
    defined = snapshot.scan(DEFINITIONS) if DEFINITIONS in snapshot.captured() else ()
    return ResourceIndex(snapshot.release, [*defined, *added])
