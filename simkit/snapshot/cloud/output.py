"""The fields of outputs of a provider's command line, and what every export is made of."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Final, Protocol

from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.seams.authorization import AccessEntry
from simkit.seams.snapshot import Snapshot

FOLDER: Final = "cloud"
"""The folder into which the commands of ``simkit dump --cloud`` write."""
_MOST_MEMBERSHIPS: Final = 2_000_000
_PARTS: Final = ("verbs", "apiGroups", "resources")
DEFINITIONS: Final = GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions")
ACCOUNTS: Final = GroupResource("", "serviceaccounts")
TEMPLATE: Final = re.compile(r"\{\{\w+\}\}")
"""A part of a user name that is filled in for each session."""


class Unexpected(Exception):
    """A value of an output that is not as the provider documents it."""


class Export(Protocol):
    """What the outputs of one provider say, before it is known what a cluster makes of it."""

    @property
    def provider(self) -> str:
        """The name of the provider."""

    @property
    def modes(self) -> tuple[str, ...]:
        """The authorizers of its API servers besides the provider's own."""

    @property
    def names(self) -> Collection[str]:
        """The clusters that outputs are about."""

    @property
    def broken(self) -> list[str]:
        """What could not be read, in words."""

    def take(self, output: Mapping[str, Any], file: str) -> bool:
        """Read one output; False if it is none of the provider. Raises Unexpected."""


def mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A field that is an object. Raises Unexpected."""
    found = value.get(name)
    if not isinstance(found, Mapping):
        raise Unexpected(f"{name} is no object")
    return found


def text(value: Mapping[str, Any], name: str) -> str:
    """A field that is a text of printable letters. Raises Unexpected."""
    found = value.get(name)
    if not isinstance(found, str) or not found or not found.isprintable():
        raise Unexpected(f"{name} is no text")
    return found


def optional_text(value: Mapping[str, Any], name: str) -> str:
    """A field that is a text, empty where it is not there. Raises Unexpected."""
    return text(value, name) if value.get(name) else ""


def texts(value: Mapping[str, Any], name: str, *, optional: bool = False) -> list[str]:
    """A field that is a list of texts. Raises Unexpected."""
    found = value.get(name)
    if found is None and optional:
        return []
    if not isinstance(found, list) or not all(isinstance(one, str) and one and one.isprintable() for one in found):
        raise Unexpected(f"{name} is no list of texts")
    return found


def mappings(value: Mapping[str, Any], name: str, *, optional: bool = False) -> list[Mapping[str, Any]]:
    """A field that is a list of objects. Raises Unexpected."""
    found = value.get(name)
    if found is None and optional:
        return []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise Unexpected(f"{name} is no list of objects")
    return found


def matches(pattern: str, text: str) -> bool:
    """True if a pattern with wildcards (``*``) is that of a text.

    Notes
    -----
    O(length of both), however many wildcards there are.

    Examples
    --------
    >>> matches("dev-*", "dev-a"), matches("*-a", "dev-b"), matches("a*a", "a")
    (True, False, False)
    """
    if "*" not in pattern:
        return pattern == text
    first, *middle, last = pattern.split("*")
    if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def service_accounts(snapshot: Snapshot) -> list[tuple[str, str, Mapping[str, Any]]]:
    """The namespace, name and annotations of each service account of a snapshot."""
    found = snapshot.scan(ACCOUNTS) if ACCOUNTS in snapshot.captured() else ()
    return [(namespace_of(one), name_of(one), annotations_of(one)) for one in found]


def custom_resources(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """The group and the name of each custom resource of a snapshot."""
    if DEFINITIONS not in snapshot.captured():
        return ()
    found = ((at(one, "spec", "group"), at(one, "spec", "names", "plural")) for one in snapshot.scan(DEFINITIONS))
    return tuple((str(group), str(name)) for group, name in found if group and name)


def rules_of(allowed: Mapping[tuple[str, str], Collection[str]]) -> tuple[Object, ...]:
    """The rules that allow some verbs on resources, given by group and name.

    Examples
    --------
    >>> rules_of({("", "pods"): ["get"], ("", "secrets"): ["get"]})
    ({'verbs': ['get'], 'apiGroups': [''], 'resources': ['pods', 'secrets']},)
    """
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in allowed.items():
        found.setdefault((group, tuple(dict.fromkeys(verbs))), []).append(resource)
    return tuple(
        {"verbs": list(verbs), "apiGroups": [group], "resources": resources}
        for (group, verbs), resources in found.items()
    )


def without(rules: tuple[Object, ...], denied: Iterable[Object]) -> tuple[Object, ...]:
    """Some rules without what other rules name; those with wildcards, which cannot say that, as they are.

    Examples
    --------
    >>> some = ({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "secrets"]},)
    >>> without(some, [{"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"]}])
    ({'verbs': ['get', 'list'], 'apiGroups': [''], 'resources': ['pods']},)
    """
    taken = [[{*one.get(name, ())} for name in _PARTS] for one in denied]
    kept: list[Object] = []
    left: dict[tuple[str, str], list[str]] = {}
    changed = False
    for rule in rules:
        verbs, groups, resources = (rule.get(name, ()) for name in _PARTS)
        if "*" in (*verbs, *groups, *resources) or not resources:
            kept.append(rule)
            continue
        for one in product(groups, resources):
            still = [verb for verb in verbs if not any(_names(some, (verb, *one)) for some in taken)]
            changed = changed or len(still) < len(verbs)
            if still:
                left.setdefault(one, []).extend(still)
    return (*kept, *rules_of(left)) if changed else rules


def _names(parts: Iterable[Collection[str]], asked: Iterable[str]) -> bool:
    return all(one in part or "*" in part for part, one in zip(parts, asked, strict=True))


def groups_of_members(members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The groups of each member that is no group itself, the nearest first, by the members of each group.

    Raises
    ------
    SimkitError
        For more memberships than anybody has.

    Examples
    --------
    >>> groups_of_members({"all": ["devs", "bob"], "devs": ["ann"]})
    {'ann': ['devs', 'all'], 'bob': ['all']}
    """
    within: dict[str, list[str]] = {}
    for group, names in members.items():
        for name in names:
            within.setdefault(name, []).append(group)
    found, count = dict[str, list[str]](), 0
    for name in sorted(within.keys() - members.keys()):
        groups, left = dict[str, None](), deque(within[name])
        while left:
            group = left.popleft()
            if group not in groups:
                groups[group] = None
                left.extend(within.get(group, ()))
        found[name] = list(groups)
        count += len(groups)
        if count > _MOST_MEMBERSHIPS:
            raise SimkitError(f"the export has more than {_MOST_MEMBERSHIPS:,} memberships of nested groups")
    return found


EVERYTHING: Final[tuple[Object, ...]] = ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},)
"""The rules that allow everything on every resource."""

NOT_TOLD: Final = "whose permissions are not known"
"""Why a grant of a role or policy is undecided that neither a table nor the export describes."""


def split(entries: Iterable[AccessEntry]) -> tuple[tuple[AccessEntry, ...], tuple[AccessEntry, ...]]:
    """The entries with the policies that count, and those that have policies of which this is not known, with these."""
    known, undecided = list[AccessEntry](), list[AccessEntry]()
    for entry in entries:
        open_ = tuple(one for one in entry.policies if one.undecided)
        known.append(replace(entry, policies=tuple(one for one in entry.policies if not one.undecided)))
        if open_:
            undecided.append(replace(entry, policies=open_))
    return tuple(known), tuple(undecided)
