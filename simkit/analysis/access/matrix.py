"""Access as a boolean table: subjects over resources and namespaces.

Many questions are answered at once: each is a bit, and the answer of a list of rules is an integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.analysis.access.resolve import SINGLE_OBJECT_VERBS, Permission, check_verb, resolve_permission, verbs_of
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import about_access
from simkit.analysis.rbac.index import (
    MASTERS_GROUP,
    chain_of,
    identity_with_members,
    index_of,
    known_subjects,
    members_in,
    principals_of,
)
from simkit.analysis.rbac.objects import EVERYWHERE, NO_BINDING, display_name, no_binding
from simkit.analysis.rbac.subject import Members, parse_subject, text_of, text_of_identity
from simkit.analysis.readable_frame import ReadableFrame
from simkit.logic.authorizers.chain import OtherAuthorizer
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import Authorizer
from simkit.meta.identity import Identity
from simkit.present.progress import tracked
from simkit.seams.snapshot import Snapshot

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")

Parts = tuple[tuple[str, int], ...]
"""The permissions of single bindings: the binding in words, and its bits."""


@about_access()
def access_matrix(
    snapshot: Snapshot,
    subjects: Subject | str | Iterable[Subject | str] | None = None,
    *,
    resources: str | Iterable[str] | None = None,
    verbs: str | Iterable[str] = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    namespaces: Sequence[str] | None = None,
    members: Members | None = None,
) -> pd.DataFrame:
    """The permissions of all subjects for each resource in each namespace.

    Parameters
    ----------
    subjects
        Whom to ask about; left out: every user, service account and group that is known.
    resources
        Words for resources, as for ``who_can``; left out: every resource of the release, custom ones included.
    verbs
        The verbs, one column each.
    namespaces
        Where; left out: everywhere. Then what somebody may do in a namespace stands in the row of that namespace if
        there is one, and else in the row of ``*``: namespaces have rows only where they differ.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    DataFrame
        One row per subject, namespace and resource with at least one yes: subject (``sa:ns/name``); namespace (``*``
        for all of them at once, and for resources that are in none); resource (``deployments.apps``); one boolean
        column per verb, what ``can`` says of requests that name no object; bindings, those that allow any of it, as a
        tuple of texts (``RoleBinding dev/readers``). The first three columns are categories: a million rows stay small.

    Raises
    ------
    UnknownResource, SimkitError
        For words that name nothing, with near ones.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    O(grants of the subjects and their groups + rows). Rights for single names and URLs are not in it: see
    ``permissions``.

    Examples
    --------
    >>> from simkit.analysis import access_matrix
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> empty = MemorySnapshot([], captured=["*"])
    >>> found = access_matrix(empty, "group:system:masters", resources=["pods"], verbs=["get"])
    >>> found.values.tolist()
    [['group:system:masters', '*', 'pods', True, ('(no binding)',)]]
    """
    members = members_in(snapshot, members)
    asked = _asked(snapshot, subjects)
    for verb in each_once(verbs):
        check_verb(verb, verbs_of(index_of(snapshot).all_grants()), catalogue_of(snapshot))
    every = (str(resource) for resource in catalogue_of(snapshot).resources())
    bits = PermissionBits(snapshot, every if resources is None else resources, verbs)
    rows = _Rows(bits, [text_of(one) for one in asked])
    held = _Held(snapshot, bits)
    for number, subject in enumerate(tracked(asked, "asking for subjects")):
        for scope, parts in _scopes(held.by_scope(subject, members), bits, namespaces):
            rows.add(number, scope, parts)
    return rows.to_frame()


def _asked(snapshot: Snapshot, subjects: Subject | str | Iterable[Subject | str] | None) -> list[Subject]:
    if subjects is None:
        groups = {subject for subject in index_of(snapshot).subjects() if subject.kind == GROUP}
        others = {parse_subject(text_of_identity(each)) for each in chain_of(snapshot).identities}
        users = {each for each in others if each.kind != GROUP} - set(known_subjects(snapshot))
        return [*known_subjects(snapshot), *sorted(users), *sorted({*groups, *(others - users), MASTERS_GROUP})]
    one = [subjects] if isinstance(subjects, Subject | str) else subjects
    return list(dict.fromkeys(map(parse_subject, one)))


class _Held:
    """The bindings of subjects by the scope of their grants; those of groups are computed once."""

    def __init__(self, snapshot: Snapshot, bits: PermissionBits) -> None:
        self._index, self._chain, self._bits = index_of(snapshot), chain_of(snapshot), bits
        self._groups: dict[Subject, Mapping[str, Parts]] = {}
        self._alike: dict[tuple[str, Identity], Mapping[str, Parts]] = {}

    def by_scope(self, subject: Subject, members: Members) -> Mapping[str, Parts]:
        found: dict[str, Parts] = {}
        held = [self._of(principal) for principal in principals_of(subject, members)]
        identity = identity_with_members(subject, members)
        held += [self._of_other(other, identity) for other in self._chain.others if other.concerns(identity)]
        for each in held:
            for scope, parts in each.items():
                found[scope] = (*found.get(scope, ()), *parts)
        return found

    def _of_other(self, other: OtherAuthorizer, identity: Identity) -> Mapping[str, Parts]:
        """The bits that an authorizer besides RBAC allows, everywhere and in the namespaces that it knows."""
        asking = other.anybody_alike(identity)
        known = self._alike.get((other.mode, asking))
        if known is None:
            text = no_binding(other.mode)
            allowed = {scope: self._asked(other.authorizer, scope, asking) for scope in ("", *other.namespaces)}
            known = self._alike[other.mode, asking] = {
                scope: ((text, bits),) for scope, bits in allowed.items() if bits
            }
        return known

    def _asked(self, authorizer: Authorizer, scope: str, identity: Identity) -> int:
        """The bits that are allowed in a namespace, or for the whole cluster."""
        allowed = 0
        for place, asked in enumerate(self._bits.asked):
            placed = not scope or self._bits.local >> place & 1
            if placed and authorizer.authorize(asked.ask(scope, identity)).allowed:
                allowed |= 1 << place
        return allowed

    def _of(self, principal: Subject) -> Mapping[str, Parts]:
        known = self._groups.get(principal)
        if known is None:
            known = self._worked_out(principal)
            if principal.kind == GROUP:
                self._groups[principal] = known
        return known

    def _worked_out(self, principal: Subject) -> Mapping[str, Parts]:
        if principal == MASTERS_GROUP:
            return {"": ((NO_BINDING, self._bits.everything),)}
        found: dict[str, Parts] = {}
        grants = self._index.grants_of_subject(principal) if self._chain.has_rbac else ()
        for grant in grants:
            allowed = self._bits.allowed(grant.rules)
            if grant.namespace:
                allowed &= self._bits.local
            if allowed:
                found[grant.namespace] = (*found.get(grant.namespace, ()), (display_name(grant.binding), allowed))
        return found


def _scopes(
    held: Mapping[str, Parts], bits: PermissionBits, namespaces: Sequence[str] | None
) -> Iterator[tuple[str, Parts]]:
    """The bindings of each scope that gets rows."""
    wide = held.get("", ())
    everywhere = _together(wide)
    if namespaces is None:
        yield "", wide
        for scope, parts in held.items():
            if scope and _together(parts) & ~everywhere:
                yield scope, _only((*wide, *parts), bits.placed)
        return
    without = bits.everything & ~bits.placed
    yield "", wide if "" in namespaces else _only(wide, without)
    for scope in namespaces:
        if scope:
            yield scope, _only((*wide, *held.get(scope, ())), bits.placed)


def _together(parts: Parts) -> int:
    return reduce(or_, (allowed for _, allowed in parts), 0)


def _only(parts: Parts, mask: int) -> Parts:
    return tuple((text, allowed & mask) for text, allowed in parts if allowed & mask)


class _Rows:
    """The rows of the table, collected as arrays."""

    def __init__(self, bits: PermissionBits, subjects: Sequence[str]) -> None:
        self._bits, self._subjects = bits, subjects
        self._scopes: dict[str, int] = {EVERYWHERE: 0}
        self._numbers: list[tuple[int, int, int]] = []
        self._resources: list[Any] = []
        self._tables: list[BoolTable] = []
        self._bindings: list[tuple[str, ...]] = []
        self._known: dict[int, tuple[Any, BoolTable, Any]] = {}

    def add(self, subject: int, scope: str, parts: Parts) -> None:
        """Add a row for each resource with an allowed verb."""
        allowed = _together(parts)
        if not allowed:
            return
        places, table, _ = self._decoded(allowed)
        scoped = self._scopes.setdefault(scope or EVERYWHERE, len(self._scopes))
        self._numbers.append((subject, scoped, len(places)))
        self._resources.append(places)
        self._tables.append(table)
        self._bindings += self._evidence(places, parts)

    def _evidence(self, places: Any, parts: Parts) -> list[tuple[str, ...]]:
        """The distinct bindings of each row, in order."""
        if len(parts) == 1:
            return [(parts[0][0],)] * len(places)
        seen = [(text, self._decoded(allowed)[2]) for text, allowed in dict(parts).items()]
        return [tuple(text for text, there in seen if there[place]) for place in places]

    def _decoded(self, allowed: int) -> tuple[Any, BoolTable, Any]:
        """The resources with an allowed verb, their verbs, and for each resource whether it is one of them."""
        known = self._known.get(allowed)
        if known is None:
            whole = self._bits.table(allowed)
            there = whole.any(axis=1)
            known = self._known[allowed] = (np.flatnonzero(there), whole[there], there)
        return known

    def to_frame(self) -> pd.DataFrame:
        """The table."""
        counts = np.array([count for _, _, count in self._numbers], dtype=np.int64)
        subjects = np.repeat(np.array([number for number, _, _ in self._numbers], dtype=np.int64), counts)
        scopes = np.repeat(np.array([number for _, number, _ in self._numbers], dtype=np.int64), counts)
        places = np.concatenate(self._resources) if self._resources else np.array([], dtype=np.int64)
        shape = (0, len(self._bits.verbs))
        cells = np.concatenate(self._tables) if self._tables else np.zeros(shape, dtype=bool)
        columns: dict[str, Any] = {
            "subject": pd.Categorical.from_codes(subjects, pd.Index(list(self._subjects))),
            "namespace": pd.Categorical.from_codes(scopes, pd.Index(list(self._scopes))),
            "resource": pd.Categorical.from_codes(places, pd.Index(list(self._bits.resources))),
        }
        columns |= {verb: cells[:, number] for number, verb in enumerate(self._bits.verbs)}
        return ReadableFrame({**columns, "bindings": pd.Series(self._bindings, dtype=object)})


BoolTable = NDArray[np.bool_]


def each_once(words: str | Iterable[str]) -> tuple[str, ...]:
    """The distinct words, in order; one word may stand for a list of one."""
    return tuple(dict.fromkeys([words] if isinstance(words, str) else words))


class PermissionBits:
    """Requests without an object name: one bit for each resource and verb, resource by resource.

    Parameters
    ----------
    resources, verbs
        The words to ask with, as for ``who_can``.

    Notes
    -----
    What a rule allows takes O(words in the rule), whatever the number of resources.

    Examples
    --------
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> bits = PermissionBits(MemorySnapshot([], captured=["*"]), ["pods", "nodes"], ["get", "list"])
    >>> bits.table(bits.allowed([Rule(("list",), ("",), ("*",))])).tolist()
    [[False, True], [False, True]]
    """

    def __init__(self, snapshot: Snapshot, resources: str | Iterable[str], verbs: str | Iterable[str]) -> None:
        self.resources, self.verbs = each_once(resources), each_once(verbs)
        self._by_verb: dict[str, int] = {}
        self._by_group: dict[str, int] = {}
        self._by_path: dict[str, int] = {}
        self._by_subresource: dict[str, int] = {}
        self.everything = (1 << len(self.resources) * len(self.verbs)) - 1
        self.local = 0
        """The bits that a binding in a namespace can grant."""
        self.placed = 0
        """All bits of the resources for which a binding in a namespace can grant a verb."""
        self._known: dict[tuple[Rule, ...], int] = {}
        self.asked = [resolve_permission(snapshot, verb, word) for word in self.resources for verb in self.verbs]
        """The permission of each bit."""
        for place, asked in enumerate(self.asked):
            self._add(asked, 1 << place)
        whole = (1 << len(self.verbs)) - 1
        for row in range(len(self.resources)):
            resource = whole << row * len(self.verbs)
            self.placed |= resource if self.local & resource else 0

    def _add(self, asked: Permission, bit: int) -> None:
        path = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        for masks, word in (
            (self._by_verb, asked.verb),
            (self._by_group, asked.api_group),
            (self._by_path, path),
            (self._by_subresource, asked.subresource),
        ):
            masks[word] = masks.get(word, 0) | bit
        own = asked.is_namespace and (asked.verb in SINGLE_OBJECT_VERBS or asked.subresource)
        if asked.is_placed or own:
            self.local |= bit

    def allowed(self, rules: Sequence[Rule]) -> int:
        """The bits that a list of rules allows in a cluster-wide binding."""
        key = tuple(rules)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = reduce(or_, map(self._of, key), 0)
        return known

    def _of(self, rule: Rule) -> int:
        if rule.resource_names and "" not in rule.resource_names:
            return 0
        return self._any(self._by_verb, rule.verbs) & self._any(self._by_group, rule.api_groups) & self._named(rule)

    def _any(self, masks: Mapping[str, int], words: Iterable[str]) -> int:
        return reduce(or_, (self.everything if word == ALL else masks.get(word, 0) for word in words), 0)

    def _named(self, rule: Rule) -> int:
        found = self._any(self._by_path, rule.resources)
        for word in rule.resources:
            wild, slash, subresource = word.partition("/")
            if wild == ALL and slash and subresource:
                found |= self._by_subresource.get(subresource, 0)
        return found

    def table(self, bits: int) -> BoolTable:
        """The bits as a table of resources by verbs."""
        rows, columns = len(self.resources), len(self.verbs)
        packed = np.frombuffer(bits.to_bytes((rows * columns + 7) // 8, "little"), dtype=np.uint8)
        unpacked: NDArray[Any] = np.unpackbits(packed, count=rows * columns, bitorder="little")
        return unpacked.astype(bool).reshape(rows, columns)
