"""Near misses of a refused request: grants that differ from it in one thing, remarks on words that mean less, and
single changes that would allow it, as objects to apply.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from operator import attrgetter
from typing import Any, Final, NamedTuple

import yaml

from simkit.analysis.access.resolve import (
    CONNECTIONS,
    REQUEST_VERBS,
    SPECIAL_VERBS,
    Permission,
    connection_asked,
    connection_verbs,
)
from simkit.analysis.rbac.objects import binding_object, display_name, role_object
from simkit.analysis.rbac.subject import text_of
from simkit.analysis.rbac.tables import rule_text
from simkit.logic.providers.access_entries import grouping
from simkit.logic.rbac.binding import (
    ACCESS_ENTRIES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    USER,
    Grant,
    Subject,
)
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.index import AccessIndex
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
from simkit.meta.names import Key
from simkit.meta.visible_text import html_text
from simkit.seams.authorization import ProviderAccess
from simkit.seams.snapshot import Snapshot

MAX_NEAR_MISSES = 8
"""The most near misses that are reported."""


class Difference(enum.IntEnum):
    """The single thing in which a grant differs from the request; nearest first."""

    NAMESPACE = 0
    DEAD = 1
    NAME = 2
    MISSING_ROLE = 3
    SUBRESOURCE = 4
    GROUP = 5
    VERB = 6


class NearMiss(NamedTuple):
    """A grant that would allow the request but for one difference."""

    kind: Difference
    grant: Grant
    rule: int
    but: str

    def __str__(self) -> str:
        role, subject = display_name(self.grant.role), text_of(self.grant.subject)
        return f"{display_name(self.grant.binding)} grants {role} to {subject}, {self.but}"


def near_misses(
    index: AccessIndex, principals: Iterable[Subject], ask: Attributes, target: Permission
) -> tuple[NearMiss, ...]:
    """The grants of some subjects that come nearest to a refused request, at most ``MAX_NEAR_MISSES``."""
    found: dict[Key, NearMiss] = {}
    for subject in principals:
        for grant in index.grants_of_subject(subject):
            nearest = min(_of_grant(grant, ask, target), key=attrgetter("kind"), default=None)
            if nearest is not None:
                found.setdefault(grant.binding, nearest)
    ordered = sorted(found.values(), key=lambda miss: (miss.kind, miss.grant.namespace != ask.namespace))
    return tuple(ordered[:MAX_NEAR_MISSES])


def _of_grant(grant: Grant, ask: Attributes, target: Permission) -> Iterator[NearMiss]:
    reaches = not grant.namespace or (ask.is_resource and grant.namespace == ask.namespace)
    if grant.missing:
        if reaches:
            yield NearMiss(Difference.MISSING_ROLE, grant, -1, "but the role does not exist")
        return
    for number, rule in enumerate(grant.rules):
        if not reaches:
            if rule_allows(rule, ask):
                yield _elsewhere(grant, number, ask, target)
                return
            continue
        why = _one_difference(rule, ask)
        if why:
            kind, but = why
            yield NearMiss(kind, grant, number, f"but its rule {number} ({rule_text(rule)}) {but}")


def _elsewhere(grant: Grant, number: int, ask: Attributes, target: Permission) -> NearMiss:
    if not ask.is_resource:
        return NearMiss(Difference.DEAD, grant, number, "but only a ClusterRoleBinding can grant access to URLs")
    if not target.namespaced and not target.is_namespace:
        but = f"but {target.resource} are cluster-scoped, so only a ClusterRoleBinding can grant access to them"
        return NearMiss(Difference.DEAD, grant, number, but)
    wanted = f"in {ask.namespace}" if ask.namespace else "in all namespaces"
    return NearMiss(Difference.NAMESPACE, grant, number, f"but only in {grant.namespace}, not {wanted}")


def _one_difference(rule: Rule, ask: Attributes) -> tuple[Difference, str] | None:
    """The one difference of a rule in scope from the request, in words; None for no difference or several."""
    if not ask.is_resource:
        if path_matches(rule, ask.path) and not verb_matches(rule, ask.verb):
            return Difference.VERB, f"allows {', '.join(rule.verbs)}, not {ask.verb}"
        return None
    verb, group = verb_matches(rule, ask.verb), group_matches(rule, ask.group)
    resource = resource_matches(rule, ask.resource_path, ask.subresource)
    name = name_matches(rule, ask.name)
    if (verb, group, resource, name) == (True, True, True, False):
        return Difference.NAME, _names_differ(rule, ask)
    if (verb, group, name) == (True, True, True):
        return _other_subresource(rule, ask)
    if (verb, resource, name) == (True, True, True) and ask.resource_path in rule.resources:
        groups = ", ".join(repr(one) for one in rule.api_groups)
        return Difference.GROUP, f"names the API group {groups}, not {ask.group!r}"
    if (group, resource, name) == (True, True, True):
        return Difference.VERB, f"allows {', '.join(rule.verbs)}, not {ask.verb}"
    return None


def _names_differ(rule: Rule, ask: Attributes) -> str:
    names = ", ".join(rule.resource_names)
    if not ask.name:
        return f"is limited to the names {names}, but a {ask.verb} without a name asks for all objects"
    wildcard = "; resourceNames do not support wildcards" if "*" in names else ""
    return f"is limited to the names {names}{wildcard}"


def _other_subresource(rule: Rule, ask: Attributes) -> tuple[Difference, str] | None:
    """The difference of a rule that names the resource with another subresource, or with none; None if it does not."""
    if ask.subresource and resource_matches(rule, ask.resource, ""):
        return Difference.SUBRESOURCE, f"allows {ask.resource}, which does not include {ask.resource_path}"
    if ask.subresource and f"{ask.resource}/*" in rule.resources:
        return Difference.SUBRESOURCE, f"names {ask.resource}/*, which is not a wildcard; write {ask.resource_path}"
    inner = [one for one in rule.resources if one.startswith(f"{ask.resource}/")]
    if inner and not ask.subresource:
        return Difference.SUBRESOURCE, f"allows {', '.join(inner)}, which does not include {ask.resource} itself"
    return None


def remarks(
    snapshot: Snapshot, verb: str, resource: str = "", *, name: str | None = "", url: str = ""
) -> Iterator[str]:
    """Sentences for somebody who typed a question, whose answer is for the words as given.

    Examples
    --------
    >>> import simkit
    >>> list(remarks(simkit.Cluster(seed=1).snapshot(), "get", url="/a/*/b"))
    ["'*' is taken literally: the answer is for the path /a/*/b itself, not for the paths that it would match"]
    """
    path = url or (resource if resource.startswith("/") else "")
    if ALL in path and path != ALL:
        yield f"'*' is taken literally: the answer is for the path {path} itself, not for the paths that it would match"
    elif resource.endswith("/*"):
        every = f"not for every subresource of {resource[:-2]}"
        yield f"'*' is taken literally: the answer is for a subresource named '*', {every}"
    if verb == "create" and name and "/" not in resource:
        yield f"a create request (POST) does not name the object, so rules limited to the name {name!r} never allow it"
    elif verb not in (*REQUEST_VERBS, *SPECIAL_VERBS, *CONNECTIONS, ALL) and not path:
        yield f"no request has the verb {verb!r}; only programs that check it with access reviews use such rules"
    connection = connection_asked(snapshot, verb, resource)
    if connection:
        works = " or ".join(connection_verbs(snapshot))
        yield f"at release {snapshot.release} {works} is enough for {connection}: ask who can {connection} pods"


ROLE_NAME_FORMAT: Final = "allow-{verb}-{what}"
MAX_EXTRA_PERMISSIONS: Final = 20
"""The most permissions that an existing role may add before a new role is the better remedy."""
_WIDE: Final = frozenset({Difference.NAME, Difference.SUBRESOURCE, Difference.GROUP, Difference.VERB})


class Remedy(NamedTuple):
    """One change after which the request is allowed: in words, and the objects to apply.

    ``others`` is how many other subjects would gain it too: those that have the role which changes. ``also`` is how
    many single permissions the subject would gain besides, by a role that exists; None where wildcards have no number.
    """

    text: str
    objects: tuple[Mapping[str, Any], ...]
    others: int = 0
    also: int | None = 0

    @property
    def manifest(self) -> str:
        """The objects as YAML."""
        return yaml.safe_dump_all(map(dict, self.objects), sort_keys=False)

    def __str__(self) -> str:
        if self.others:
            return f"{self.text} ({self.others} other subject{'s' if self.others > 1 else ''} would gain it too)"
        if self.also is None:
            return f"{self.text} (which grants far more than this)"
        return (
            f"{self.text} (which grants {self.also} more permissions)"
            if self.also > MAX_EXTRA_PERMISSIONS
            else self.text
        )

    def _repr_html_(self) -> str:
        return f"<p>{html_text(str(self))}</p><pre>{html_text(self.manifest)}</pre>"


def remedies(index: AccessIndex, subject: Subject, ask: Attributes, misses: Iterable[NearMiss]) -> tuple[Remedy, ...]:
    """The changes that would allow a refused request; those that affect no other subject come first.

    For each near miss the change that its one difference asks for, and a role with just this permission. What gives the
    subject much besides comes after that.
    """
    entries = index.entries
    if entries is not None and subject.kind == USER and subject.name in entries:
        name = entries.request_name(subject.name)
        if not name:  # no binding can name the users of all sessions
            return (_of_entry(entries.access, subject),)
        subject = Subject(USER, name)
    found = [
        remedy
        for miss in misses
        if miss.grant.binding.resource not in ACCESS_ENTRIES
        and (remedy := _of_miss(index, subject, ask, miss)) is not None
    ]
    found.append(_ownrole_object(index, subject, ask))
    ordered = sorted(enumerate(found), key=lambda each: (each[1].others, _is_much(each[1]), each[0]))
    return tuple({remedy.text: remedy for _, remedy in ordered}.values())


def _of_entry(access: ProviderAccess, subject: Subject) -> Remedy:
    """The change for a principal whose requests carry a user name of their own in each session."""
    command = grouping(access, subject.name)
    text = f"bind a role to a group, and put {text_of(subject)} into it"
    return Remedy(f"{text}: {command}" if command else text, ())


def _is_much(remedy: Remedy) -> bool:
    return remedy.also is None or remedy.also > MAX_EXTRA_PERMISSIONS


def _besides(rules: Iterable[Rule]) -> int | None:
    """The number of single permissions that some rules give besides the requested one; None for wildcards."""
    listed = list(rules)
    if any(ALL in (*rule.verbs, *rule.api_groups, *rule.resources, *rule.paths) for rule in listed):
        return None
    return sum(1 for rule in listed for _ in breakdown(rule)) - 1


def _of_miss(index: AccessIndex, subject: Subject, ask: Attributes, miss: NearMiss) -> Remedy | None:
    grant = miss.grant
    if miss.kind in (Difference.NAMESPACE, Difference.DEAD) and grant.role.resource == CLUSTER_ROLES:
        place = ask.namespace if miss.kind is Difference.NAMESPACE else ""
        bound = _binding(index, grant.role, subject, place, grant.binding.name)
        text = f"bind {display_name(grant.role)} to {text_of(subject)} {_where(place)}"
        return Remedy(text, (bound,), also=_besides(grant.rules))
    if miss.kind is Difference.MISSING_ROLE:
        made = role_object(grant.role, (_rule(ask),))
        return Remedy(
            f"create {display_name(grant.role)}, which is already bound", (made,), _others(index, grant.role, subject)
        )
    if miss.kind in _WIDE:
        rules = (*(index.rules(grant.role) or ()), _rule(ask))
        text = f"add the rule {_worded(ask)} to {display_name(grant.role)}"
        return Remedy(text, (role_object(grant.role, rules),), _others(index, grant.role, subject))
    return None


def _ownrole_object(index: AccessIndex, subject: Subject, ask: Attributes) -> Remedy:
    """A new role with only the permission, bound to the subject."""
    what = (f"{ask.resource}-{ask.subresource}" if ask.subresource else ask.resource) or "url"
    place = ask.namespace if ask.is_resource else ""
    name = ROLE_NAME_FORMAT.format(verb=ask.verb, what=what).lower().replace("*", "all")
    key = _free(Key(ROLES if place else CLUSTER_ROLES, place, name), lambda key: index.rules(key) is not None)
    objects = (role_object(key, (_rule(ask),)), _binding(index, key, subject, place, key.name))
    return Remedy(f"give {text_of(subject)} a role that allows only {_worded(ask)} {_where(place)}", objects)


def _where(namespace: str) -> str:
    return f"in {namespace}" if namespace else "in the whole cluster"


def _rule(ask: Attributes) -> Rule:
    if not ask.is_resource:
        return Rule((ask.verb,), paths=(ask.path,))
    return Rule((ask.verb,), (ask.group,), (ask.resource_path,), (ask.name,) if ask.name else ())


def _worded(ask: Attributes) -> str:
    if not ask.is_resource:
        return f"{ask.verb} {ask.path}"
    what = f"{ask.resource_path}.{ask.group}" if ask.group else ask.resource_path
    return f"{ask.verb} {what}{f' named {ask.name}' if ask.name else ''}"


def _binding(index: AccessIndex, role: Key, subject: Subject, namespace: str, name: str) -> Mapping[str, Any]:
    wished = Key(ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS, namespace, name)
    return binding_object(_free(wished, lambda key: index.binding(key) is not None), role, subject)


def _free(key: Key, taken: Callable[[Key], bool]) -> Key:
    """The key, with a number after the name if such an object exists."""
    if not taken(key):
        return key
    return next(other for number in count(2) if not taken(other := key._replace(name=f"{key.name}-{number}")))


def _others(index: AccessIndex, role: Key, subject: Subject) -> int:
    """The number of other subjects with a role. A group counts as one."""
    return len({each for binding in index.bindings_of(role) for each in binding.subjects} - {subject})
