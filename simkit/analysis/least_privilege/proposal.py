"""Least privilege: roles and bindings that allow only what a log shows in use, in place of the present ones; and the
replay of a log on a fork that has them: used access remains, unused access is gone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.cut.remedy import ObjectChanges
from simkit.analysis.least_privilege.change import Change, apply
from simkit.analysis.least_privilege.recorded_access import AccessRequest, Action, Use, may
from simkit.analysis.least_privilege.roles import Names, PermissionCounter, minimal_rules
from simkit.analysis.least_privilege.usage import Usage, default_bindings, unused_grants, usage
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import binding_object, rbac_object, role_object
from simkit.analysis.rbac.subject import identity_of, normalize_subject, text_of, text_of_identity
from simkit.analysis.rbac.tables import table
from simkit.analysis.rbac.unknown_names import known_subject
from simkit.analysis.rendering import counted
from simkit.analysis.result import Evidence, InLines
from simkit.logic.rbac.binding import (
    ACCESS_ENTRIES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNT,
    USER,
    Binding,
    Subject,
    key_of,
)
from simkit.logic.rbac.cover import covers, uncovered
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.meta.errors import SimkitError
from simkit.meta.identity import ANONYMOUS, MASTERS
from simkit.meta.names import Key
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("subject", "before", "after", "roles", "reused", "new")
PREFIX: Final = "least-privilege"
OF_THE_SERVER: Final = ("system:",)
"""Users and groups whose access the server manages."""


@dataclass(frozen=True, repr=False)
class Proposal(ObjectChanges, InLines):
    """Roles and bindings in place of the present ones, for some subjects.

    ``rules`` gives each subject's rules by namespace, the empty one for the whole cluster; ``reused`` the existing
    roles among them.
    """

    snapshot: Snapshot
    usage: Usage
    subjects: tuple[Subject, ...]
    rules: Mapping[Subject, Mapping[str, tuple[Rule, ...]]]
    reused: Mapping[Subject, tuple[Key, ...]]
    changes: tuple[Change, ...]
    sandbox: Sandbox | None = field(compare=False, default=None)
    """The sandbox that verifies it by default."""

    def __len__(self) -> int:
        return len(self.subjects)

    def to_frame(self) -> pd.DataFrame:
        """One row per subject: subject, before and after, roles, reused, new (names).

        ``before`` and ``after`` count the permissions held: one for each verb on each resource in each namespace.
        """
        index, amounts = index_of(self.snapshot), PermissionCounter(self.snapshot)
        rows = []
        for subject in self.subjects:
            before = sum(amounts.of(one.rules, one.namespace) for one in index.grants_of_subject(subject))
            after = sum(amounts.of(rules, place) for place, rules in self.rules[subject].items())
            reused = tuple(key.name for key in self.reused.get(subject, ()))
            new = tuple(change.key.name for change in self.changes if _is_role_of(change, subject))
            rows.append((text_of(subject), before, after, len(reused) + len(new), reused, new))
        return table(rows, COLUMNS)

    def unused(self) -> pd.DataFrame:
        """The grants that are not used: see ``unused_grants``."""
        return unused_grants(self.snapshot, self.usage)

    def verify(self, sandbox: Sandbox | None = None) -> Replay:
        """Apply it on a fork and repeat the requests of the log: see ``replay``."""
        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a proposal is verified on a cluster: proposal.verify(simkit.load(...))")
        return replay(self, where)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield f"least privilege for {counted(len(self.subjects), 'subject')}: {self.usage}"
        for row in self.to_frame().itertuples():
            yield f"{row.subject}: {row.before:,} permissions before, {row.after:,} after"


def _is_role_of(change: Change, subject: Subject) -> bool:
    return change.key.resource in (ROLES, CLUSTER_ROLES) and change.key.name.startswith(_name(subject))


@about_access()
def least_privilege(
    snapshot: Snapshot,
    audit_log: AuditLog | Iterable[AccessRequest],
    subject: Subject | str | Iterable[Subject | str] | None = None,
    *,
    names: Names = "repeated",
    reuse: bool = True,
    sandbox: Sandbox | None = None,
) -> Proposal:
    """Roles and bindings that allow the subjects what a log shows in use, and nothing else.

    Parameters
    ----------
    audit_log
        See ``usage``.
    subject
        For whom: one or several; None for all whose access was used, without the server's own users and groups.
    names
        Whether rules name objects: see ``minimal_rules``.
    reuse
        Whether roles that are used in full stay, and roles that allow just what is wanted are bound, instead of new
        ones made.
    sandbox
        Where the proposal shall be verified: ``cluster.least_privilege`` gives the cluster itself.

    Returns
    -------
    Proposal
        ``.to_frame()`` has one row per subject: subject, before and after (numbers of permissions), roles, reused, new;
        ``.manifests()`` are the objects to apply, ``.verify()`` tries them on a fork.

    Raises
    ------
    SimkitError
        For an audit log that is not there, and a text that is no subject.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    What was not asked for while the log was written is taken away: a log should cover rare work too. Subjects with
    grants of a provider are left out, since roles cannot narrow those.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
    >>> len(cluster.least_privilege(log))
    0
    """
    named = [subject] if isinstance(subject, Subject | str) else subject
    asked = None if named is None else [known_subject(snapshot, one) for one in named]
    used = usage(snapshot, audit_log)
    found = tuple(sorted(filter(_is_plain, used.by_subject) if asked is None else asked))
    chosen = tuple(one for one in found if not _has_entry(snapshot, one))
    if asked is not None and len(chosen) < len(found):
        texts = ", ".join(text_of(one) for one in found if one not in chosen)
        raise SimkitError(f"roles cannot narrow what the provider grants to {texts}; change the grants there")
    planned = _Plan(snapshot, used, names=names, reuse=reuse)
    for subject in tracked(chosen, "planning roles"):
        planned.add(subject)
    rules = {subject: planned.rules[subject] for subject in chosen}
    return Proposal(snapshot, used, chosen, rules, dict(planned.reused), planned.changes(chosen), sandbox)


def _has_entry(snapshot: Snapshot, subject: Subject) -> bool:
    """True for subjects with access policies of a provider, which no role can narrow."""
    return any(one.binding.resource in ACCESS_ENTRIES for one in index_of(snapshot).grants_of_subject(subject))


def _is_plain(subject: Subject) -> bool:
    name = subject.name
    return subject.kind == SERVICE_ACCOUNT or not (name.startswith(OF_THE_SERVER) or name in (MASTERS, ANONYMOUS))


class _Plan:
    """The roles and bindings planned so far, subject by subject."""

    def __init__(self, snapshot: Snapshot, used: Usage, *, names: Names, reuse: bool) -> None:
        self._snapshot, self._used, self._names, self._reuse = snapshot, used, names, reuse
        self._index = index_of(snapshot)
        self.rules: dict[Subject, dict[str, tuple[Rule, ...]]] = {}
        self.reused: dict[Subject, tuple[Key, ...]] = {}
        self._made: list[Change] = []
        self._kept: set[tuple[Key, Subject]] = set()
        """Bindings that keep a subject."""
        self._by_resources = self._roles_by_mentions()

    def _roles_by_mentions(self) -> dict[frozenset[str], list[tuple[Key, tuple[Rule, ...]]]]:
        found: dict[frozenset[str], list[tuple[Key, tuple[Rule, ...]]]] = defaultdict(list)
        roles = (
            (key_of(obj, resource), obj) for resource in (CLUSTER_ROLES, ROLES) for obj in self._snapshot.scan(resource)
        )
        for key, _ in roles:
            rules = self._index.rules(key) or ()
            found[_mentions(rules)].append((key, rules))
        return found

    def add(self, subject: Subject) -> None:
        """Plan the roles of one subject: those that it has and uses in full, and one for each set of other rules."""
        actions = self._used.by_subject.get(subject, Counter())
        by_place: dict[str, dict[Action, int]] = defaultdict(dict)
        for action, times in actions.items():
            by_place[action.namespace][action] = times
        self.rules[subject] = {}
        places: dict[tuple[Rule, ...], list[str]] = defaultdict(list)
        for place, some in sorted(by_place.items()):
            kept, rest = self._in_full_use(subject, place, some)
            rules = minimal_rules(rest, names=self._names)
            self.rules[subject][place] = (*kept, *rules)
            by_place[place] = rest
            if rules:
                places[rules].append(place)
        for number, (rules, where) in enumerate(places.items()):
            self._grant(subject, rules, where, number, by_place)

    def _in_full_use(
        self, subject: Subject, place: str, actions: Mapping[Action, int]
    ) -> tuple[list[Rule], dict[Action, int]]:
        """The rules of the roles that a subject uses in full in a namespace, and its other actions."""
        wanted = [minimal_rules(actions, names=names) for names in (self._names, "never")]
        kept: list[Rule] = []
        rest = dict(actions)
        for grant in self._index.grants_of_subject(subject) if self._reuse else ():
            if grant.namespace != place or grant.missing or not any(covers(one, grant.rules) for one in wanted):
                continue
            left = {one: times for one, times in rest.items() if not any(map(Question(*one).allowed_by, grant.rules))}
            if len(left) < len(rest):
                rest = left
                kept += grant.rules
                self._kept.add((grant.binding, subject))
                self.reused[subject] = (*self.reused.get(subject, ()), grant.role)
        return kept, rest

    def _grant(
        self,
        subject: Subject,
        rules: tuple[Rule, ...],
        places: Sequence[str],
        number: int,
        used: Mapping[str, Mapping[Action, int]],
    ) -> None:
        loose = minimal_rules(used[places[0]], names="never")
        role = self._existing(rules, loose, places) if self._reuse else None
        if role is None:
            role = self._new_role(subject, rules, places, number)
        else:
            self.reused[subject] = (*self.reused.get(subject, ()), role)
        for place in places:
            self._bind(subject, role, place)

    def _existing(self, rules: tuple[Rule, ...], loose: tuple[Rule, ...], places: Sequence[str]) -> Key | None:
        """A role that allows exactly the wanted rules, with the names or for all names."""
        for wanted in dict.fromkeys((rules, loose)):
            for key, have in self._by_resources.get(_mentions(wanted), ()):
                fits_place = not key.namespace or list(places) == [key.namespace]
                if fits_place and covers(have, wanted) and covers(wanted, have):
                    return key
        return None

    def _new_role(self, subject: Subject, rules: tuple[Rule, ...], places: Sequence[str], number: int) -> Key:
        name = f"{_name(subject)}-{number + 1}" if number else _name(subject)
        made = _role(places[0] if len(places) == 1 else "", name, rules)
        self._made.append(made)
        return made.key

    def _bind(self, subject: Subject, role: Key, place: str) -> None:
        for binding in self._index.bindings_of(role):
            if binding.namespace == place and subject in map(normalize_subject, binding.subjects):
                self._kept.add((binding.key, subject))
                return
        name = role.name if role.name.startswith(_name(subject)) else f"{_name(subject)}:{role.name}"
        self._made.append(_binding(place, name, role, subject))

    def changes(self, subjects: Iterable[Subject]) -> tuple[Change, ...]:
        """The changes: creations before deletions, so that nobody is without access in between."""
        gone, kept = set(subjects), default_bindings(self._snapshot)
        taken = []
        for binding in sorted(self._index.bindings(), key=lambda one: one.key):
            leaving = {
                one
                for one in map(normalize_subject, binding.subjects)
                if one in gone and (binding.key, one) not in self._kept
            }
            if leaving and binding.key not in kept:
                taken.append(without(self._snapshot, binding, leaving))
        return (*self._made, *taken)


def without(snapshot: Snapshot, binding: Binding, leaving: Iterable[Subject]) -> Change:
    """A binding without some of its subjects; its deletion if none is left, unless finalizers would keep it."""
    obj = snapshot.get(binding.key.resource, binding.key.name, binding.key.namespace) or {}
    gone = set(leaving)
    stays = [
        entry
        for entry in obj.get("subjects") or ()
        if gone.isdisjoint(map(normalize_subject, Binding.of(binding.key, {"subjects": [entry]}).subjects))
    ]
    before = obj.get("metadata") or {}
    if not stays and not before.get("finalizers"):
        return Change(binding.key, None)
    made = rbac_object(binding.key, {"roleRef": dict(obj["roleRef"]), "subjects": stays})
    made["metadata"] |= {name: before[name] for name in ("labels", "annotations", "finalizers") if before.get(name)}
    return Change(binding.key, made)


def granting_changes(subject: Subject, rules: Mapping[str, tuple[Rule, ...]], name: str) -> list[Change]:
    """New roles with these rules, by namespace (empty: cluster-wide), and their bindings to a subject."""
    made = []
    for place, some in rules.items():
        role = _role(place, name, some)
        made += [role, _binding(place, name, role.key, subject)]
    return made


def _role(namespace: str, name: str, rules: Iterable[Rule]) -> Change:
    key = Key(ROLES if namespace else CLUSTER_ROLES, namespace, name)
    return Change(key, role_object(key, rules))


def _binding(namespace: str, name: str, role: Key, subject: Subject) -> Change:
    key = Key(ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS, namespace, name)
    return Change(key, binding_object(key, role, subject))


def _name(subject: Subject) -> str:
    where = {SERVICE_ACCOUNT: subject.namespace, USER: "user", GROUP: "group"}[subject.kind]
    return f"{PREFIX}:{where}:{re.sub(r'[/%]', '-', subject.name)}"


def _mentions(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(resource for rule in rules for resource in (*rule.resources, *rule.paths))


REPLAY_COLUMNS: Final = ("outcome", "subject", "action", "before", "after")
SAMPLED: Final = 40
"""The number of lost permissions of a subject that are checked."""


@dataclass(frozen=True, repr=False)
class Replay(InLines, Evidence):
    """The decisions on a log after a change. True in a condition if no used access is lost and no refusal is lifted.

    ``broken`` was allowed and is not any more; ``opened`` was denied and is allowed now; ``left`` should have been
    taken away and is allowed still, by other ways.
    """

    asked: int
    broken: tuple[Use, ...]
    opened: tuple[Use, ...]
    taken: int
    left: tuple[Use, ...]

    def __bool__(self) -> bool:
        return not (self.broken or self.opened)

    def to_frame(self) -> pd.DataFrame:
        """One row per unexpected decision: outcome, subject, action, before, after."""
        rows = [("broken", text_of_identity(identity), str(action), True, False) for identity, action in self.broken]
        rows += [("opened", text_of_identity(identity), str(action), False, True) for identity, action in self.opened]
        rows += [("left", text_of_identity(identity), str(action), True, True) for identity, action in self.left]
        return table(rows, REPLAY_COLUMNS)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        verdict = (
            "all of them are still allowed"
            if not self.broken
            else f"{len(self.broken):,} allowed requests are now denied"
        )
        yield f"{self.asked:,} different allowed requests of the log checked again: {verdict}"
        yield f"denied requests that are now allowed: {len(self.opened):,}"
        yield f"{self.taken} of {self.taken + len(self.left)} sampled unused permissions were removed"
        yield from (f"lost: {text_of_identity(identity)} {action}" for identity, action in self.broken[:10])


def replay(proposal: Proposal, sandbox: Sandbox) -> Replay:
    """Apply a proposal on a fork through the handler chain, and check every access request of the log again.

    Raises
    ------
    SimkitError
        Where the fork refuses an object of the proposal.
    """
    fork = sandbox.fork()
    apply(fork, proposal.changes)
    allowed, denied = proposal.usage.allowed, proposal.usage.denied
    was = [key for key in allowed if key not in proposal.usage.ungranted]
    broken = tuple(key for key in tracked(was, "asking for what is in use") if not may(fork, *key))
    opened = tuple(key for key in denied if key not in allowed and may(fork, *key) and not may(sandbox, *key))
    left, taken = [], 0
    for identity, action in _taken_away(proposal):
        if may(fork, identity, action):
            left.append((identity, action))
        else:
            taken += 1
    return Replay(len(was) + len(denied), broken, opened, taken, tuple(left))


def _taken_away(proposal: Proposal) -> Iterator[Use]:
    """Some of the permissions that the subjects have and should lose."""
    index = index_of(proposal.snapshot)
    for subject in proposal.subjects:
        found = 0
        for grant in index.grants_of_subject(subject):
            stays = [*proposal.rules[subject].get("", ()), *proposal.rules[subject].get(grant.namespace, ())]
            for piece in uncovered(stays, grant.rules):
                if found >= SAMPLED:
                    break
                found += 1
                yield identity_of(subject), Action.of_piece(piece, grant.namespace)
