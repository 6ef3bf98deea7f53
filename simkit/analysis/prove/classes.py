"""The requests that a rule allows, in classes that other rules cannot tell apart.

Rules compare a verb, an API group, a resource and a name (or a verb and a path), each by itself. Two verbs that the
same rules match are alike for all of them, and a wildcard is worth one verb that no rule names: whatever rule matches
that one matches all. So a rule's infinitely many requests fall into a few classes, and one request of each decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Final, NamedTuple, TypeVar

from simkit.analysis.least_privilege.recorded_access import Action
from simkit.logic.rbac.rule import (
    ALL,
    Rule,
    group_matches,
    name_matches,
    path_matches,
    resource_matches,
    rule_allows,
    verb_matches,
)
from simkit.meta.attributes import Attributes
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource
from simkit.schema.catalogue import Catalogue

MOST_CLASSES: Final = 1_000_000
"""The classes of one rule that are looked at; a rule that has more is not decided."""
NEW_VERB: Final = "anyverb"
NEW_GROUP: Final = "any.example.com"
NEW_RESOURCE: Final = "anythings"
NEW_NAME: Final = "any-name"
_LETTERS: Final = "xyzabcdefghijklmnopqrstuvw0123456789-_~ABCDEFGHIJKLMNOPQRSTUVWXYZ"
V = TypeVar("V")


class NamedResource(NamedTuple):
    """A resource with its subresource, which may be empty."""

    resource: str
    subresource: str = ""

    @property
    def path(self) -> str:
        """``pods`` or ``pods/log``: the form in which rules name resources."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class TooManyClasses(SimkitError):
    """A rule has more classes of requests than are looked at."""


class Alike(NamedTuple):
    """Values that the same rules match. The rules are the bits of a number: bit 3 for the rule with index 3."""

    values: Sequence[Any]
    rules: int


class RequestClass(NamedTuple):
    """Requests that all owned rules treat alike: any combination of these values.

    A class is about resources, or about paths.
    """

    verbs: Sequence[str]
    groups: Sequence[str] = ()
    resources: Sequence[NamedResource] = ()
    names: Sequence[str] = ()
    paths: Sequence[str] = ()


@dataclass
class Coverage:
    """What the rules that somebody owns allow of the requests of another rule.

    Attributes
    ----------
    uncovered
        The classes of requests that no owned rule allows.
    classes
        The number of classes that were looked at.
    used
        The indexes of the owned rules that allow the other classes.
    """

    uncovered: list[RequestClass] = field(default_factory=list)
    classes: int = 0
    used: set[int] = field(default_factory=set)


def coverage(rule: Rule, owned: Sequence[Rule], *, local: bool = False, most: int = 1) -> Coverage:
    """What the owned rules allow of the requests that a rule allows.

    Parameters
    ----------
    rule
        The rule whose requests are looked at.
    owned
        The rules of the same identity in the same scope.
    local
        True for a grant in a namespace, which allows nothing about paths.
    most
        The number of uncovered classes after which the search ends.

    Returns
    -------
    Coverage
        Without uncovered classes if every request that the rule allows is allowed by an owned rule.

    Raises
    ------
    TooManyClasses
        Where the lists of the rule are too long.

    Examples
    --------
    >>> pods = Rule(("get", "list"), ("",), ("pods", "pods/log"))
    >>> coverage(Rule(("get",), ("",), ("*",)), [pods]).uncovered[0].resources
    [NamedResource(resource='anythings', subresource='')]
    """
    found = Coverage()
    about_resources = (_verbs(rule, owned), _groups(rule, owned), _resources(rule, owned), _names(rule, owned))
    for verbs, groups, resources, names in _outside(about_resources, found):
        found.uncovered.append(RequestClass(verbs, groups, resources, names))
        if len(found.uncovered) == most:
            return found
    if not local:
        for verbs, paths in _outside((_verbs(rule, owned), _paths(rule, owned)), found):
            found.uncovered.append(RequestClass(verbs, paths=paths))
            if len(found.uncovered) == most:
                break
    return found


def _outside(dimensions: Sequence[Sequence[Alike]], found: Coverage) -> Iterator[Sequence[Sequence[Any]]]:
    """The combinations of values for which no rule is left that matches all of them."""
    if not all(dimensions):
        return
    matching_all = [-1]  # from the last dimension to the first: the rules that match all values from there on
    for dimension in reversed(dimensions):
        rules = matching_all[-1]
        for alike in dimension:
            rules &= alike.rules
        matching_all.append(rules)
    matching_all.reverse()

    def search(depth: int, rules: int, chosen: tuple[Sequence[Any], ...]) -> Iterator[Sequence[Sequence[Any]]]:
        found.classes += 1
        if found.classes > MOST_CLASSES:
            raise TooManyClasses(f"a rule has more than {MOST_CLASSES:,} classes of requests")
        covering = rules & matching_all[depth]
        if covering:
            found.used.add((covering & -covering).bit_length() - 1)
        elif depth == len(dimensions):
            yield chosen
        else:
            for alike in dimensions[depth]:
                yield from search(depth + 1, rules & alike.rules, (*chosen, alike.values))

    yield from search(0, -1, ())


def _alike(values: Iterable[V], owned: Sequence[Rule], matches: Callable[[Rule, V], bool]) -> list[Alike]:
    """Values by the owned rules that match them, in the order of the first of each."""
    classes: dict[int, list[V]] = {}
    for value in dict.fromkeys(values):
        rules = sum(1 << number for number, rule in enumerate(owned) if matches(rule, value))
        classes.setdefault(rules, []).append(value)
    return [Alike(some, rules) for rules, some in classes.items()]


def _verbs(rule: Rule, owned: Sequence[Rule]) -> list[Alike]:
    values = _worth(rule.verbs, NEW_VERB, (verb for other in owned for verb in other.verbs))
    return _alike(values, owned, verb_matches)


def _groups(rule: Rule, owned: Sequence[Rule]) -> list[Alike]:
    values = _worth(rule.api_groups, NEW_GROUP, (group for other in owned for group in other.api_groups))
    return _alike(values, owned, group_matches)


def _names(rule: Rule, owned: Sequence[Rule]) -> list[Alike]:
    names = rule.resource_names or (unnamed(NEW_NAME, (name for other in owned for name in other.resource_names)),)
    return _alike(names, owned, name_matches)


def _resources(rule: Rule, owned: Sequence[Rule]) -> list[Alike]:
    new = unnamed(NEW_RESOURCE, (text.partition("/")[0] for other in owned for text in other.resources))
    texts = (ALL,) if ALL in rule.resources else rule.resources
    values = (named for text in texts if (named := _named_resource(text, new)) is not None)
    return _alike(values, owned, lambda other, value: resource_matches(other, value.path, value.subresource))


def _named_resource(text: str, new: str) -> NamedResource | None:
    """The resource that an entry of a rule names; None for an entry that matches no request."""
    resource, slash, subresource = text.partition("/")
    if not resource or "/" in subresource or (slash and not subresource):
        return None
    return NamedResource(new if resource == ALL else resource, subresource)


def _paths(rule: Rule, owned: Sequence[Rule]) -> list[Alike]:
    taken = [pattern for other in owned for pattern in other.paths]
    values = (path for pattern in rule.paths if (path := _path(pattern, taken)))
    return _alike(values, owned, path_matches)


def _path(pattern: str, taken: Sequence[str]) -> str:
    """A path of a pattern that only those other patterns cover which cover all of its paths; empty if it has none."""
    start = pattern.rstrip(ALL) or "/" if pattern.endswith(ALL) else pattern
    if not start.startswith("/") or start == pattern:
        return start if start.startswith("/") else ""
    longer = {other[len(start)] for other in taken if other.startswith(start) and len(other) > len(start)}
    letters = (*_LETTERS, *map(chr, range(0x4E00, 0xA000)))
    return f"{start}{next(letter for letter in letters if letter not in longer)}"


def _worth(values: Sequence[str], new: str, taken: Iterable[str]) -> Sequence[str]:
    """The values of a rule. Where a wildcard is among them, one that nobody names stands for all."""
    return (unnamed(new, taken),) if ALL in values else values


def unnamed(wish: str, taken: Iterable[str]) -> str:
    """A name that is not taken: the wish itself, or with letters behind it."""
    listed = set(taken)
    while wish in listed:
        wish += "x"
    return wish


Test = Callable[[Attributes], bool]
_VERBS: Final = ("get", "list", "create", "update", "patch", "delete")
_RESOURCES: Final = (("", "secrets"), ("", "pods"), (RBAC_GROUP, "clusterrolebindings"), ("apps", "deployments"))
_OF_ALL: Final = ("list", "watch", "deletecollection")
_MOST_TRIED: Final = 500


def request_of_class(
    found: RequestClass,
    rule: Rule,
    identity: Identity,
    allowed: Test,
    catalogue: Catalogue,
    *,
    namespace: str,
    new_namespace: str,
) -> Action | None:
    """A request of a class that is not allowed otherwise; None if each one that was tried is.

    Parameters
    ----------
    found
        A class of requests that a rule allows.
    rule
        The rule.
    identity
        The sender.
    allowed
        Whether something else allows a request.
    catalogue
        The resources that exist.
    namespace
        Where the rule is bound; empty for the whole cluster.
    new_namespace
        A namespace without bindings.
    """
    if found.paths:
        return _about_path(found, rule, identity, allowed)
    for verb, group, named, name in islice(_requests(found, rule, catalogue), _MOST_TRIED):
        where = namespace or _place(catalogue, verb, group, named.resource, new_namespace)
        ask = Attributes(identity, verb, group, "", named.resource, named.subresource, where, name)
        if rule_allows(rule, ask) and not allowed(ask):
            return Action(verb, group, named.resource, named.subresource, where, name)
    return None


def _about_path(found: RequestClass, rule: Rule, identity: Identity, allowed: Test) -> Action | None:
    for verb, path in product(("get", *found.verbs) if ALL in rule.verbs else found.verbs, found.paths):
        if not allowed(Attributes(identity, verb, path=path, is_resource=False)):
            return Action(verb, url=path)
    return None


def _place(catalogue: Catalogue, verb: str, group: str, resource: str, new_namespace: str) -> str:
    """A namespace without bindings, or none for a request about all namespaces or what has no namespace."""
    known = catalogue.preferred(GroupResource(group, resource))
    return "" if verb in _OF_ALL or (known is not None and not known.namespaced) else new_namespace


def _requests(found: RequestClass, rule: Rule, catalogue: Catalogue) -> Iterator[tuple[str, str, NamedResource, str]]:
    """Requests with familiar words in the place of wildcards, then those with the made-up words of the class."""
    verbs = _VERBS if ALL in rule.verbs else found.verbs
    names = found.names if rule.resource_names else ("", *found.names)
    resources = tuple(dict.fromkeys(_familiar_resources(found, rule, catalogue)))
    for (group, named), verb, name in islice(product(resources, verbs, names), _MOST_TRIED // 2):
        yield verb, group, named, name
    for verb, group, named, name in product(found.verbs, found.groups, found.resources, names):
        yield verb, group, named, name


def _familiar_resources(found: RequestClass, rule: Rule, catalogue: Catalogue) -> Iterator[tuple[str, NamedResource]]:
    """Resources that exist, of the groups and names of a rule."""
    any_group, any_resource = ALL in rule.api_groups, ALL in rule.resources
    if any_resource:
        yield from ((group, NamedResource(name)) for group, name in _RESOURCES if any_group or group in found.groups)
    of_any = {text.partition("/")[2] for text in rule.resources if text.startswith("*/")}
    for known in catalogue.stored():
        if any_group or known.group in found.groups:
            for subresource in ("", *known.subresources):
                named = NamedResource(known.resource, subresource)
                if any_resource or named in found.resources or (subresource and subresource in of_any):
                    yield known.group, named
