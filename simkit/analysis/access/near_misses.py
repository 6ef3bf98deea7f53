"""Near misses of a refused request: grants that differ from it in one thing; and remarks on words that mean less."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simkit.analysis.access.resolve import (
    ALL,
    CONNECTIONS,
    REQUEST_VERBS,
    SPECIAL_VERBS,
    Permission,
    connection_asked,
    connection_verbs,
)
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.analysis.rbac.tables import rule_text
from simkit.logic.rbac.binding import Grant, Subject
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.rule import (
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
            nearest = min(_of_grant(grant, ask, target), key=_distance, default=None)
            if nearest is not None:
                found.setdefault(grant.binding, nearest)
    ordered = sorted(found.values(), key=lambda miss: (miss.kind, miss.grant.namespace != ask.namespace))
    return tuple(ordered[:MAX_NEAR_MISSES])


def _distance(miss: NearMiss) -> int:
    return miss.kind


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


def remarks(snapshot: Snapshot, verb: str, resource: str = "", *, name: str | None = "", url: str = "") -> list[str]:
    """Sentences for somebody who typed a question, whose answer is for the words as given.

    Examples
    --------
    >>> import simkit
    >>> remarks(simkit.Cluster(seed=1).snapshot(), "get", url="/a/*/b")
    ["'*' is taken literally: the answer is for the path /a/*/b itself, not for the paths that it would match"]
    """
    return list(_remarks(snapshot, verb, resource, name or "", url))


def _remarks(snapshot: Snapshot, verb: str, resource: str, name: str, url: str) -> Iterator[str]:
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
