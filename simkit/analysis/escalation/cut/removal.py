"""Removals of a cut, which of them are possible, their cost, and the objects after them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar

from simkit.analysis.escalation.cut.aggregation import aggregation_of
from simkit.analysis.escalation.cut.remedy import as_written
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.table.primitive import requirements_of
from simkit.analysis.escalation.table.requirement import Alternative, Permission, Requirement
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.proposal import granting_changes, without
from simkit.analysis.least_privilege.recorded_access import Action, Use
from simkit.analysis.least_privilege.roles import minimal_rules
from simkit.analysis.least_privilege.usage import default_bindings, granting
from simkit.analysis.rbac.default_objects import administrators, is_of_control_plane
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import display_name, kind_of
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.logic.rbac.binding import ACCESS_ENTRIES, ACCESS_POLICIES, GROUP, USER, Subject
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.rule import ALL, Rule, rules_of
from simkit.meta.identity import Identity
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot


class _HashedOnce:
    """A frozen dataclass whose hash is asked millions of times."""

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(vars(self).values()))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}  # another process hashes anew


@dataclass(frozen=True, order=True)
class RemoveSubject(_HashedOnce):
    """Take a subject out of a binding."""

    kind: ClassVar[str] = "remove subject"
    binding: Key
    subject: Subject

    __hash__ = _HashedOnce.__hash__

    @property
    def key(self) -> Key:
        """The object that is changed."""
        return self.binding

    def __str__(self) -> str:
        return f"remove {text_of(self.subject)} from {display_name(self.binding)}"


@dataclass(frozen=True, order=True)
class RemovePermissions(_HashedOnce):
    """Take permissions out of one rule of a role."""

    kind: ClassVar[str] = "remove permissions"
    role: Key
    rule: int
    permissions: tuple[Permission, ...]

    __hash__ = _HashedOnce.__hash__

    @property
    def key(self) -> Key:
        """The object that is changed."""
        return self.role

    def __str__(self) -> str:
        return f"remove {', '.join(map(str, self.permissions))} from rule {self.rule} of {display_name(self.role)}"


@dataclass(frozen=True, order=True)
class ReduceToUsage:
    """Bind a subject to what a log shows in use, instead of the role of a binding."""

    kind: ClassVar[str] = "reduce to usage"
    binding: Key
    subject: Subject

    @property
    def key(self) -> Key:
        """The object that is changed."""
        return self.binding

    def __str__(self) -> str:
        user = "its members have" if self.subject.kind == GROUP else "it has"
        return f"reduce {text_of(self.subject)} in {display_name(self.binding)} to what {user} used"


Removal = RemoveSubject | RemovePermissions | ReduceToUsage


Needed = tuple[Requirement, tuple[GrantSource, ...]]
"""A requirement, with the sources that each meet it alone."""


class GoalHolders:
    """The grants by which the end of a path has the goal, for goals that are a permission."""

    def __init__(self, goal: Goal, graph: EscalationGraph) -> None:
        self.test = goal.test(graph)
        self._graph = graph
        self._sources: dict[Subject, list[GrantSource]] = defaultdict(list)
        self._held: Callable[[AttackState, Subject], tuple[GrantSource, ...]] = cache(self._found)
        self._need: Requirement | None = None
        if goal.question is not None:
            question = goal.question(graph)
            permission = Permission(question.verb, question.group, question.resource_path)
            self._need = Requirement((Alternative(permission),), names=(question.name,) if question.name else ())
            for grant, rule in graph.facts.index.who(question):
                self._sources[normalize_subject(grant.subject)].append(
                    GrantSource(grant.binding, grant.role, rule, grant.subject)
                )

    def requirements(self, state: AttackState) -> list[Needed]:
        """The requirements of the goal in a state; empty for goals that are states themselves."""
        if self._need is None or state.subject is None:
            return []
        return [(self._need, self._held(state, state.subject))]

    def _found(self, state: AttackState, subject: Subject) -> tuple[GrantSource, ...]:
        principals = sorted(self._graph.principals(state, subject))
        return tuple(source for one in principals for source in self._sources.get(normalize_subject(one), ()))


@lru_cache(maxsize=16384)
def _granted(rule: Rule, requirement: Requirement) -> tuple[Permission, ...]:
    return tuple(option.permission for option in requirement.any_of if option.permission.granted_by(rule))


Granting = tuple[RemoveSubject, Key]
_Granting = tuple[Key, int, tuple[Permission, ...]]
"""A role, the number of a rule of it, and the permissions that the rule grants."""


class UsedAccess:
    """The removals that would take away access which a log shows in use."""

    def __init__(self, snapshot: Snapshot, used: Iterable[Use]) -> None:
        self.barred: set[Removal] = set()
        """The removals that must not be made."""
        self._gathering = aggregation_of(snapshot)
        self._grants: dict[tuple[frozenset[Granting], Action], dict[Identity, None]] = defaultdict(dict)
        self._actions: dict[RemoveSubject, dict[Subject, Counter[Action]]] = defaultdict(lambda: defaultdict(Counter))
        for identity, action in used:
            found = granting(snapshot, identity, action)
            grants = frozenset(
                (RemoveSubject(one.binding, normalize_subject(one.subject)), one.role) for one, _ in found
            )
            if grants:
                self._grants[grants, action][identity] = None
            for unbind, _ in grants:
                self._actions[unbind][normalize_subject(Subject(USER, identity.user))][action] += 1

    def rules(self, unbind: RemoveSubject) -> dict[Subject, dict[str, tuple[Rule, ...]]]:
        """The users of a binding to a subject, with the smallest rules for their use, by namespace; empty if it is
        unused.

        Of a group those members are named that use it: the others do not.
        """
        found: dict[Subject, dict[str, tuple[Rule, ...]]] = {}
        for user, actions in sorted(self._actions.get(unbind, {}).items()):
            by_place: dict[str, Counter[Action]] = defaultdict(Counter)
            for action, times in actions.items():
                by_place[action.namespace][action] += times
            found[user] = {state: minimal_rules(some) for state, some in sorted(by_place.items())}
        return found

    def kept(self, unbind: RemoveSubject) -> list[Rule]:
        """The rules of all users of a binding to a subject."""
        by_user = self.rules(unbind).values()
        return [rule for by_namespace in by_user for rules in by_namespace.values() for rule in rules]

    def lost(self, chosen: Iterable[object]) -> Iterator[Use]:
        """The recorded uses that are not allowed any more after removals."""
        taken = set(chosen)
        for (grants, action), identities in self._grants.items():
            if all(self._stopping(grant, action, taken) for grant in grants):
                yield from ((identity, action) for identity in identities)

    def bar(self, taken: Set[object]) -> bool:
        """Bar a removal for each used permission that the given ones take away; True if one was barred."""
        before = len(self.barred)
        for grants, action in self._grants:
            stopping = [self._stopping(grant, action, taken) for grant in sorted(grants)]
            if all(stopping):
                self.barred.update(one for one in stopping[:1] if one is not None)
        return len(self.barred) > before

    def _stopping(self, grant: Granting, action: Action, taken: Set[object]) -> Removal | None:
        """The removal that stops a grant from allowing an action."""
        unbind, role = grant
        if unbind in taken:
            return unbind
        what = Permission(action.verb, action.api_group, action.resource_path)
        for one in taken:
            if (
                isinstance(one, RemovePermissions)
                and what in one.permissions
                and one.role in self._gathering.parts(role)
            ):
                return one
        return None


class PossibleRemovals:
    """The removals that are possible in a cluster, and the steps that they stop.

    Not touched are the grants of a provider, the server's own bindings and roles, the bindings of
    administrators, and the access of those who shall keep it. A rule with wildcards is not narrowed, since what is left
    could only be listed. Instead of an aggregated role, which its controller would fill again, the one role is narrowed
    that it has the rule from.
    """

    def __init__(self, snapshot: Snapshot, keep: frozenset[Subject] = frozenset(), used: Iterable[Use] = ()) -> None:
        self._index, self._keep, self._release = index_of(snapshot), keep, snapshot.release
        self.in_use = UsedAccess(snapshot, used)
        self._kept = default_bindings(snapshot)
        self._administrators = administrators(snapshot)
        self._gathering = aggregation_of(snapshot)
        self._parts: Callable[[Key, Requirement], Sequence[_Granting]] = cache(self._granting)
        self.of: Callable[[GrantSource, Requirement], tuple[Removal, ...]] = cache(
            lambda source, requirement: tuple(self._found(source, requirement))
        )
        """The removals that stop a source from meeting a requirement."""
        self.cost: Callable[[Removal], float] = cache(lambda removal: 1 + self._loss(removal))
        """The access that a removal takes: single permissions times subjects that lose them, and one for the change."""

    def _found(self, source: GrantSource, requirement: Requirement) -> Iterator[Removal]:
        subject = normalize_subject(source.subject)
        if self._index.binding(source.binding) is None or source.binding.resource in ACCESS_ENTRIES:
            return  # made by a cut itself, of what is in use, or by the provider, who alone can change it
        kept = subject in self._keep or is_of_control_plane(subject, self._release)
        kept = kept or source.binding in self._administrators.get(subject, ())
        if source.binding not in self._kept and not kept:
            unbind = RemoveSubject(source.binding, subject)
            yield unbind
            rest = self.in_use.kept(unbind)
            if rest and (subject.kind == GROUP or not any(_granted(rule, requirement) for rule in rest)):
                yield ReduceToUsage(unbind.binding, unbind.subject)
        granting_parts = self._parts(source.role, requirement)
        if len(granting_parts) == 1:  # else one change is not enough
            narrow = RemovePermissions(*granting_parts[0])
            if self._may_narrow(narrow):
                yield narrow

    def _granting(self, role: Key, requirement: Requirement) -> Sequence[_Granting]:
        """The rules by which a role, or the roles that it is filled from, meet a need."""
        return [
            (part, number, granted)
            for part in self._gathering.parts(role)
            for number, rule in enumerate(self._index.rules(part) or ())
            for granted in (_granted(rule, requirement),)
            if granted
        ]

    def parts(self, role: Key, requirement: Requirement) -> tuple[Key, ...]:
        """The roles whose rules meet a requirement for the holders of a role: itself, or those aggregated into it."""
        return tuple(dict.fromkeys(part for part, _, _ in self._parts(role, requirement)))

    def narrowings(self, role: Key, requirement: Requirement) -> tuple[RemovePermissions, ...] | None:
        """The permissions to take out of the rules of a role so that it does not meet a requirement; empty if it does
        not meet it anyway, None if that cannot be done in the role itself.
        """
        made = tuple(RemovePermissions(*one) for one in self._parts(role, requirement))
        return made if all(one.role == role and self._may_narrow(one) for one in made) else None

    def _may_narrow(self, narrow: RemovePermissions) -> bool:
        if narrow.role in self._gathering.fixed or narrow.role.resource in ACCESS_POLICIES:
            return False
        if self._keep and self._keep.intersection(self._holders(narrow.role)):
            return False
        rule = (self._index.rules(narrow.role) or ())[narrow.rule]
        return all(
            one.verb != ALL and one.verb in rule.verbs and one.resource in rule.resources for one in narrow.permissions
        )

    def _holders(self, role: Key) -> list[Subject]:
        """All subjects that have the role, or one that includes it."""
        every = (binding for one in self._gathering.wholes(role) for binding in self._index.bindings_of(one))
        return [normalize_subject(one) for binding in every for one in binding.subjects]

    def every(self, needs: Iterable[Needed]) -> Iterator[Removal]:
        """The removals that each stop all sources of a requirement."""
        for requirement, some in needs:
            if some:
                first, *others = (set(self.of(source, requirement)) for source in some)
                yield from first.intersection(*others)

    def subjects(self, removal: Removal) -> tuple[Subject, ...]:
        """The subjects that lose access by a removal."""
        if isinstance(removal, RemovePermissions):
            return tuple(dict.fromkeys(self._holders(removal.role)))
        return (removal.subject,)

    def usable(self, edge: Edge, chosen: Set[object]) -> bool:
        """True if a step is still possible after some removals."""
        return all(
            any(not self._stopped(source, requirement, chosen) for source in some)
            for requirement, some in self.needs(edge)
        )

    def needs(self, edge: Edge) -> Iterator[Needed]:
        """The requirements of a step that grants meet, each with its sources."""
        if edge.granted_by:
            needs = requirements_of(edge.primitive, edge.number, self._release)
            yield from ((requirement, some) for requirement, some in zip(needs, edge.granted_by) if some)

    def _stopped(self, source: GrantSource, requirement: Requirement, chosen: Set[object]) -> bool:
        return any(one in chosen for one in self.of(source, requirement))

    def stops(self, needs: Iterable[Needed], chosen: Set[object]) -> bool:
        """True if removals stop all sources of a requirement."""
        return any(
            all(self._stopped(source, requirement, chosen) for source in some) for requirement, some in needs if some
        )

    def of_needs(self, needs: Iterable[Needed], chosen: Set[object]) -> Iterator[Removal]:
        """For each requirement the removals that stop its first open source."""
        for requirement, some in needs:
            if some:
                source = next((one for one in some if not self._stopped(one, requirement, chosen)), some[0])
                yield from self.of(source, requirement)

    def of_path(self, path: Path, chosen: Set[object] = frozenset()) -> Iterator[Removal]:
        """The removals that close a path: for each requirement those of its first open source."""
        for edge in path.edges:
            yield from self.of_needs(self.needs(edge), chosen)

    def _loss(self, removal: Removal) -> float:
        if isinstance(removal, ReduceToUsage):
            unbind = RemoveSubject(removal.binding, removal.subject)
            return 1 + max(self._loss(unbind) - _size(self.in_use.kept(unbind)), 0)
        if isinstance(removal, RemoveSubject):
            binding = self._index.binding(removal.binding)
            return 0 if binding is None else _size(self._index.rules(binding.role) or ())
        return len(removal.permissions) * max(len(self._holders(removal.role)), 1)


def _size(rules: Iterable[Rule]) -> float:
    """The number of single permissions; a wildcard counts as many."""
    return sum(
        _weight(rule.verbs) * (_weight(rule.api_groups) * _weight(rule.resources) * names + len(rule.paths))
        for rule in rules
        for names in (len(rule.resource_names) or 1,)
    )


def _weight(words: Iterable[str]) -> float:
    return sum(4 if word == ALL else 1 for word in words)


def changes_of(
    removals: Iterable[Removal], snapshot: Snapshot, index: AccessIndex, in_use: UsedAccess
) -> tuple[Change, ...]:
    """The objects after the removals; bindings without subjects are deleted."""
    leaving: dict[Key, set[Subject]] = defaultdict(set)
    narrowed: dict[Key, dict[int, set[Permission]]] = defaultdict(lambda: defaultdict(set))
    made: list[Change] = []
    for one in sorted(removals, key=str):
        if isinstance(one, RemovePermissions):
            narrowed[one.role][one.rule].update(one.permissions)
            continue
        leaving[one.binding].add(one.subject)
        if isinstance(one, ReduceToUsage):
            unbind = RemoveSubject(one.binding, one.subject)
            for number, (user, rules) in enumerate(in_use.rules(unbind).items()):
                name = f"{one.binding.name}-in-use" + (f"-{number + 1}" if number else "")
                made += granting_changes(user, rules, name)
    bindings = ((index.binding(key), subjects) for key, subjects in sorted(leaving.items()))
    changed = (without(snapshot, binding, subjects) for binding, subjects in bindings if binding is not None)
    return (*made, *changed, *(_narrowed(snapshot, key, rules) for key, rules in sorted(narrowed.items())))


def _narrowed(snapshot: Snapshot, key: Key, taken: Mapping[int, Iterable[Permission]]) -> Change:
    role = snapshot.get(key.resource, key.name, key.namespace) or {}
    rules: list[dict[str, Any]] = []
    for number, (rule, written) in enumerate(zip(rules_of(role), role.get("rules") or ())):
        for one in _rest(rule, set(taken.get(number, ()))):
            made = one.entry()
            rules.append({name: made[name] for name in (*written, *made) if name in made})  # in the order of before
    return Change(key, {"apiVersion": role["apiVersion"], "kind": kind_of(key), **as_written(role), "rules": rules})


def _rest(rule: Rule, taken: set[Permission]) -> list[Rule]:
    """A rule without some permissions: one rule for each set of resources with the same verbs."""
    if not taken:
        return [rule]
    by_resource: dict[str, list[Permission]] = defaultdict(list)
    for permission in taken:
        by_resource[permission.resource].append(permission)
    kept: dict[tuple[frozenset[str], str], list[str]] = {}
    for resource in dict.fromkeys(rule.resources):
        of_resource = by_resource.get(resource, ())
        for group in dict.fromkeys(rule.api_groups):
            gone = frozenset(one.verb for one in of_resource if group in (one.group, ALL))
            kept.setdefault((gone, group), []).append(resource)
    verbs = {gone: tuple(verb for verb in dict.fromkeys(rule.verbs) if verb not in gone) for gone, _ in kept}
    return [
        Rule(verbs[gone], (group,), tuple(resources), rule.resource_names)
        for (gone, group), resources in kept.items()
        if verbs[gone]
    ]
