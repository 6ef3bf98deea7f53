"""Requirements of primitives: short sentences such as ``create|update pods/exec in kube-system as pod``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.logic.rbac.rule import ALL, Rule, group_matches, resource_matches, verb_matches
from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue

ANY_NAMESPACE: Final = "namespace"
CLUSTER: Final = "cluster"
ANY_SUBRESOURCE: Final = "?"
"""The name for any subresource that a rule names, as in ``userextras/?``."""
WITHOUT_NAME: Final = ("create", "deletecollection")
"""Verbs whose requests carry no object name, so that rules for single names never apply."""


class Permission(NamedTuple):
    """A verb on a resource of a group; subresources are written ``pods/exec``."""

    verb: str
    group: str
    resource: str

    @property
    def subresource(self) -> str:
        return self.resource.partition("/")[2]

    @property
    def nameless(self) -> bool:
        """True if its requests carry no name that a rule could be limited to, unless an apply makes them."""
        return self.verb in WITHOUT_NAME and not self.subresource and self.resource not in AUTHORIZATION_RESOURCES

    def granted_by(self, rule: Rule) -> bool:
        """True if a rule grants it, perhaps for some names only."""
        if self.nameless and rule.resource_names and not (self.verb == "create" and verb_matches(rule, "patch")):
            return False  # only an apply creates under a name that is checked
        if self.verb == ALL and (ALL not in rule.verbs or rule.resource_names):
            return False
        if not (verb_matches(rule, self.verb) and group_matches(rule, self.group)):
            return False
        if self.subresource == ANY_SUBRESOURCE:
            return any(self.stands_for(resource) for resource in rule.resources)
        return resource_matches(rule, self.resource, self.subresource)

    def stands_for(self, resource: str) -> bool:
        """True if a resource in a rule is one that an open subresource stands for."""
        return resource == ALL or resource.startswith((f"{self.resource.partition('/')[0]}/", "*/"))

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


class Alternative(NamedTuple):
    """A permission that meets a requirement. ``cluster`` is true if only a cluster-wide grant meets it."""

    permission: Permission
    cluster: bool = False

    def __str__(self) -> str:
        return f"{self.permission} in the cluster" if self.cluster else str(self.permission)


class Requirement(NamedTuple):
    """One requirement: any of some permissions.

    ``namespace`` is the only one that helps, empty where any does. ``names`` are the only names that help; ``label``
    is what the name is called in requests. Needs with the same ``request`` number are checked in one request, of one
    identity.
    """

    any_of: tuple[Alternative, ...]
    namespace: str = ""
    names: tuple[str, ...] = ()
    label: str = ""
    request: int = 0

    def __str__(self) -> str:
        names = f" [{', '.join(self.names)}]" if self.names else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return " or ".join(map(str, self.any_of)) + names + where


def parse_requirements(
    texts: tuple[str, ...], groups: Mapping[str, str], catalogue: Catalogue
) -> tuple[Requirement, ...]:
    """The requirements in sentences.

    Parameters
    ----------
    texts
        One request each; further checks of the same request follow after ``with``.
    groups
        Short words for API groups.
    catalogue
        Tells which resources live in namespaces; what it does not know does.

    Examples
    --------
    A verb with ``<1.35`` is enough in earlier releases.

    >>> known = Catalogue.for_release("1.30")
    >>> [requirement] = parse_requirements(("create|get<1.35 pods/exec as pod",), {}, known)
    >>> [str(one) for one in requirement.any_of], requirement.namespace, requirement.label
    (['create pods/exec', 'get pods/exec'], '', 'pod')
    """
    return tuple(
        _need(part, groups, catalogue, number) for number, text in enumerate(texts) for part in text.split(" with ")
    )


def _need(text: str, groups: Mapping[str, str], catalogue: Catalogue, request: int) -> Requirement:
    text, _, label = text.partition(" as ")
    options: list[Alternative] = []
    namespace, names = "", ""
    for part in text.split(" or "):
        rest, _, place = part.partition(" in ")
        rest, _, listed = rest.partition("[")
        names = names or listed.strip().rstrip("]")
        namespace = namespace or (place if place not in (ANY_NAMESPACE, CLUSTER) else "")
        options += [
            Alternative(one, place == CLUSTER if place else _belongs_to_cluster(one, catalogue))
            for one in _permissions(rest, groups, catalogue.release)
        ]
    return Requirement(tuple(options), namespace, tuple(names.split(",")) if names else (), label, request)


def _permissions(text: str, groups: Mapping[str, str], release: str) -> list[Permission]:
    verbs, _, things = text.strip().partition(" ")
    resources, _, group = things.partition(".")
    if not resources:
        raise SimkitError(f"{text!r} needs a verb and a resource")
    full = groups.get(group, group)
    known = [verb for word in verbs.split("|") for verb, _, end in (word.partition("<"),) if _is_before(release, end)]
    return [Permission(verb, full, resource) for verb in known for resource in resources.split("|")]


def _is_before(release: str, end: str) -> bool:
    """True if a release is earlier than the first one in which a verb is not enough any more, if there is one."""
    return not end or tuple(map(int, release.split("."))) < tuple(map(int, end.split(".")))


def _belongs_to_cluster(permission: Permission, catalogue: Catalogue) -> bool:
    plural = permission.resource.partition("/")[0]
    known = [one for one in catalogue.resources(permission.group) if one.resource == plural]
    return plural in AUTHORIZATION_RESOURCES or (bool(known) and not known[0].namespaced)
