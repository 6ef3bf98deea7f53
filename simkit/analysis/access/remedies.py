"""Single changes that would allow a refused request, as objects to apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import yaml

from simkit.analysis.access.near_misses import Difference, NearMiss
from simkit.analysis.rbac.objects import binding_object, display_name, role_object
from simkit.analysis.rbac.subject import text_of
from simkit.logic.providers.commands import grouping
from simkit.logic.rbac.binding import (
    ACCESS_ENTRIES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    USER,
    Subject,
)
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import Attributes
from simkit.meta.names import Key
from simkit.meta.visible_text import html_text
from simkit.seams.authorization import ProviderAccess

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
    if miss.kind is Difference.NAMESPACE and grant.role.resource == CLUSTER_ROLES:
        where = f"in {ask.namespace}" if ask.namespace else "in the whole cluster"
        bound = _binding(index, grant.role, subject, ask.namespace, grant.binding.name)
        text = f"bind {display_name(grant.role)} to {text_of(subject)} {where}"
        return Remedy(text, (bound,), also=_besides(grant.rules))
    if miss.kind is Difference.DEAD and grant.role.resource == CLUSTER_ROLES:
        bound = _binding(index, grant.role, subject, "", grant.binding.name)
        text = f"bind {display_name(grant.role)} to {text_of(subject)} in the whole cluster"
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
    wide = not ask.is_resource or not ask.namespace
    name = ROLE_NAME_FORMAT.format(verb=ask.verb, what=what).lower().replace("*", "all")
    place = "" if wide else ask.namespace
    key = _free(Key(CLUSTER_ROLES if wide else ROLES, place, name), lambda key: index.rules(key) is not None)
    where = "in the whole cluster" if wide else f"in {ask.namespace}"
    objects = (role_object(key, (_rule(ask),)), _binding(index, key, subject, place, key.name))
    return Remedy(f"give {text_of(subject)} a role that allows only {_worded(ask)} {where}", objects)


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
    taken = {binding.key for binding in index.bindings()}
    return binding_object(_free(wished, taken.__contains__), role, subject)


def _free(key: Key, taken: Callable[[Key], bool]) -> Key:
    """The key, with a number after the name if such an object exists."""
    if not taken(key):
        return key
    return next(other for number in count(2) if not taken(other := key._replace(name=f"{key.name}-{number}")))


def _others(index: AccessIndex, role: Key, subject: Subject) -> int:
    """The number of other subjects with a role. A group counts as one."""
    return len({each for binding in index.bindings_of(role) for each in binding.subjects} - {subject})
