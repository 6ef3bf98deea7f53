"""Advice about a cause: the smallest change that is safe to advise, such as a narrower role, or words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from simkit.analysis.escalation.cut.aggregation import aggregation_of
from simkit.analysis.escalation.cut.policies import EnforceLevel
from simkit.analysis.escalation.cut.remedy import Remedy, stored
from simkit.analysis.escalation.cut.removal import (
    PossibleRemovals,
    Removal,
    RemovePermissions,
    RemoveSubject,
    changes_of,
)
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.search import first_steps, ways_to
from simkit.analysis.escalation.find.states import subject_state
from simkit.analysis.escalation.table.primitive import requirements_of
from simkit.analysis.escalation.table.requirement import Permission, Requirement
from simkit.analysis.escalation.table.risky_permission import (
    RiskyPermission,
    requirements_of_grant,
    risky_permission_table,
)
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.nature import ADMINISTRATORS, PRODUCT, SERVER, UNUSED, Nature
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.findings.workloads import LEAST, NETWORK_POLICIES, accounts_in_use, deny_all
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.proposal import without
from simkit.analysis.rbac.default_objects import administrators
from simkit.analysis.rbac.objects import NAMESPACES, SERVICE_ACCOUNTS, display_name
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.logic.providers.access_entries import disassociation
from simkit.logic.rbac.binding import ACCESS_ENTRIES, ACCESS_POLICIES, SERVICE_ACCOUNT, Binding, Subject
from simkit.meta.names import Key

MOST: Final = 12
"""Of a role from which more permissions would have to go, its subjects are taken instead."""
Narrowing = tuple[RemovePermissions, ...]


def closing_steps(
    graph: EscalationGraph, ways: PossibleRemovals, role: Key, subjects: Iterable[Subject], goals: Sequence[Goal]
) -> Narrowing | None:
    """The permissions to take out of a role so that it gives no subject a first step towards one of some goals.

    Returns
    -------
    tuple of RemovePermissions, or None
        One for each rule; None where the role cannot be narrowed that far.
    """
    needs = dict.fromkeys(_needs(graph, role, subjects, goals))
    return _fewest(ways, role, needs)


def closing_finding(ways: PossibleRemovals, role: Key, risk: RiskyPermission, release: str) -> Narrowing | None:
    """The permissions to take out of a role so that it does not hold a risky permission any more; see
    ``closing_steps``.
    """
    every = (requirements_of_grant(grant, release) for grant in risk.grants)
    held = (needs for needs in every if all(ways.narrowings(role, one) != () for one in needs))
    return _fewest(ways, role, dict.fromkeys(held))


def permissions_text(permissions: Iterable[Permission]) -> str:
    """Permissions in words, those with the same verbs together: ``create/update pods, services, get secrets``."""
    verbs: dict[str, list[str]] = {}
    for one in permissions:
        verbs.setdefault(one.resource, []).append(one.verb)
    together: dict[str, list[str]] = {}
    for resource, some in verbs.items():
        together.setdefault("/".join(some), []).append(resource)
    return ", ".join(f"{words} {', '.join(resources)}" for words, resources in together.items())


def _needs(
    graph: EscalationGraph, role: Key, subjects: Iterable[Subject], goals: Sequence[Goal]
) -> Iterator[tuple[Requirement, ...]]:
    """The requirements that a role meets for each first step; one of them has to be unmet."""
    reached = [ways_to(graph, goal) for goal in goals]
    for subject in subjects:
        for edges in first_steps(graph, subject_state(subject)):
            edge = edges[-1]
            if edge.granted_by and any(edge.target in found for found in reached):
                needs = requirements_of(edge.primitive, edge.number, graph.release)
                met = [need for need, some in zip(needs, edge.granted_by) if any(one.role == role for one in some)]
                if met:
                    yield tuple(met)


def _fewest(ways: PossibleRemovals, role: Key, wanted: Iterable[tuple[Requirement, ...]]) -> Narrowing | None:
    """Narrowings that leave one of the requirements unmet in each case: what serves most cases first."""
    open_cases: list[frozenset[Narrowing]] = []
    for needs in wanted:
        options = frozenset(found for one in needs for found in (ways.narrowings(role, one),) if found)
        if not options:
            return None
        open_cases.append(options)
    taken: dict[int, dict[Permission, None]] = defaultdict(dict)
    while open_cases:
        counts = Counter(option for case in open_cases for option in case)
        best = min(counts, key=lambda one: (-counts[one], sum(map(ways.cost, one)), str(one)))
        for one in best:
            taken[one.rule].update(dict.fromkeys(one.permissions))
        open_cases = [case for case in open_cases if not any(_covered(option, taken) for option in case)]
    if not taken or sum(map(len, taken.values())) > MOST:
        return None
    return tuple(RemovePermissions(role, number, tuple(taken[number])) for number in sorted(taken))


def _covered(option: Narrowing, taken: dict[int, dict[Permission, None]]) -> bool:
    return all(permission in taken.get(one.rule, ()) for one in option for permission in one.permissions)


CONFIRM: Final = "Confirm that these are the administrators, and grant the role for a limited time."
DANGLING: Final = ("missing-account", "missing-namespace")
RISKY: Final = {one.id: one for one in risky_permission_table().every}
EVERYBODY: Final = "everybody"
DANGLING_ROLE: Final = ("missing-role", "empty-binding", "duplicate-binding", "subsumed-binding")


class Advisor:
    """The remedies of one snapshot."""

    def __init__(self, survey: Survey, graph: EscalationGraph) -> None:
        self._snapshot, self._survey, self._graph = survey.snapshot, survey, graph
        self.ways = PossibleRemovals(survey.snapshot)

    def remedy(self, key: Key, nature: Nature, findings: Sequence[Finding], paths: Sequence[Path]) -> Remedy:
        """The remedy for an object that causes findings and paths. It takes their access from no administrators."""
        made = self._remedy(key, nature, findings, paths)
        return self._words(CONFIRM, nature) if self._takes_administrators(made) else made

    def _takes_administrators(self, remedy: Remedy) -> bool:
        """True if somebody is no administrator any more after a change."""
        aggregation = aggregation_of(self._snapshot)
        if self._of_administrators.isdisjoint(
            whole for change in remedy.changes for whole in aggregation.wholes(change.key)
        ):
            return False
        return not administrators(self._snapshot).keys() <= administrators(remedy.after()).keys()

    @cached_property
    def _of_administrators(self) -> frozenset[Key]:
        """The bindings that make administrators, and their roles."""
        bindings = frozenset(key for some in administrators(self._snapshot).values() for key in some)
        return bindings.union(one.role for one in map(self._survey.index.binding, bindings) if one is not None)

    def _remedy(self, key: Key, nature: Nature, findings: Sequence[Finding], paths: Sequence[Path]) -> Remedy:
        if key.resource == NAMESPACES:
            return EnforceLevel(key.name, LEAST).remedy(self._snapshot)
        if key.resource == NETWORK_POLICIES:
            return self._network(key.namespace)
        if key.resource == SERVICE_ACCOUNTS:
            return self._account(key)
        if key.resource in ACCESS_ENTRIES or key.resource in ACCESS_POLICIES:
            return self._entries(key)
        if nature.name == SERVER:
            return self._words("Kubernetes default. Revert the local changes.", nature)
        if nature.name == ADMINISTRATORS:
            return self._words(CONFIRM, nature)
        if nature.name == PRODUCT:
            text = (
                f"{nature.product} needs it; deleting it breaks {nature.product}. Keep others out of its namespace and "
                "pods, and use the narrower role from its documentation if there is one."
            )
            return self._words(text, nature)
        binding = self._survey.index.binding(key)
        if binding is None:
            return self._role(key, findings, paths)
        return self._binding(binding, nature, findings, paths)

    def _words(self, text: str, nature: Nature) -> Remedy:
        risk = f"{nature.product} stops working without it" if nature.product else ""
        return Remedy(text, risk, (), (), self._snapshot)

    def _network(self, namespace: str) -> Remedy:
        obj = deny_all(namespace)
        change = Change(Key(NETWORK_POLICIES, namespace, obj["metadata"]["name"]), obj)
        text = f"Allow only pods of namespace {namespace} to reach its pods, then add what else is needed."
        return Remedy(
            text, "clients in other namespaces and outside the cluster lose access", (change,), (), self._snapshot
        )

    def _entries(self, key: Key) -> Remedy:
        """What only the API of the provider can change, with the command."""
        index = self._survey.index
        of_entry = [one for one in (index.binding(key),) if one is not None]
        policies = index.bindings_of(key) if key.resource in ACCESS_POLICIES else of_entry
        access = self._snapshot.authorization.access
        commands = dict.fromkeys(disassociation(one.key, access.cluster if access else "") for one in policies)
        text = (
            "No Kubernetes object grants this. Grant less with the command line of the provider, or take the grant "
            f"away: {'; '.join(commands)}"
        )
        subjects = tuple(dict.fromkeys(one for binding in policies for one in binding.subjects))
        return Remedy(text, self._risk(subjects), (), subjects, self._snapshot)

    def _account(self, key: Key) -> Remedy:
        obj = stored(self._snapshot, key)
        if obj is None:
            text = "Set automountServiceAccountToken to false in the templates of the pods that run as it."
            return Remedy(text, "", (), (), self._snapshot)
        text = f"Do not mount the token of sa:{key.namespace}/{key.name} unless a pod asks for it."
        change = Change(key, {**obj, "automountServiceAccountToken": False})
        return Remedy(text, "pods that call the API server need the token", (change,), (), self._snapshot)

    def unbinding(self, key: Key, paths: Sequence[Path]) -> Remedy | None:
        """Those by whom the paths begin, taken out of the bindings of a role; None where nobody would go.

        What is advised instead of a narrower role that closes none of the paths.
        """
        leaving = self._leaving(paths, self._survey.index.bindings_of(key))
        return self._unbinding(leaving) if leaving else None

    def _role(self, key: Key, findings: Sequence[Finding], paths: Sequence[Path]) -> Remedy:
        narrow = self._narrowing(key, findings, paths)
        if narrow is not None:
            return self._removal(narrow)
        leaving = self._leaving(paths, self._survey.index.bindings_of(key))
        if leaving:
            return self._unbinding(leaving)
        wholes = aggregation_of(self._snapshot).wholes(key)
        if not any(map(self._survey.index.bindings_of, wholes)) and stored(self._snapshot, key) is not None:
            risk = "a tool that binds the role when needed would no longer find it"
            return Remedy(
                f"Delete {display_name(key)}, which no binding grants.", risk, (Change(key, None),), (), self._snapshot
            )
        text = f"Limit {display_name(key)} to the verbs and resources that are used; an audit log shows which."
        return Remedy(text, "subjects with the role may use what is removed", (), (), self._snapshot)

    def _binding(self, binding: Binding, nature: Nature, findings: Sequence[Finding], paths: Sequence[Path]) -> Remedy:
        leaving = () if paths else _dangling(findings)
        if not leaving and not paths and any(finding.check in DANGLING_ROLE for finding in findings):
            return self._without(binding, map(normalize_subject, binding.subjects), nature)
        if not leaving:
            alone = len(self._survey.index.bindings_of(binding.role)) == 1 and nature.name != UNUSED
            narrow = self._narrowing(binding.role, findings, paths) if alone else None
            remedy = self._removal(narrow) if narrow is not None else None
            if remedy is not None and any((change.obj or {}).get("rules") for change in remedy.changes):
                return remedy
            leaving = tuple(one.subject for one in self._leaving(paths, (binding,)))
        everybody = dict.fromkeys(one for finding in findings if finding.check == EVERYBODY for one in finding.subjects)
        leaving = leaving or tuple(everybody)
        worst = max((finding.severity for finding in findings), default=Severity.HIGH)
        if not leaving and worst < Severity.HIGH and nature.name != UNUSED:
            return self._words(" ".join(dict.fromkeys(finding.fix for finding in findings)), nature)
        return self._without(binding, leaving or map(normalize_subject, binding.subjects), nature)

    def _narrowing(self, role: Key, findings: Sequence[Finding], paths: Sequence[Path]) -> Narrowing | None:
        """The permissions to take out of a role: all that its holders' first steps need, or else what is found worst.

        None where the role cannot be narrowed so far, or keeps too little.
        """
        if paths:
            holders = [one for each in self._survey.index.bindings_of(role) for one in each.subjects]
            goals = tuple({path.goal.name: path.goal for path in paths}.values())
            subjects = dict.fromkeys(map(normalize_subject, holders))
            return closing_steps(self._graph, self.ways, role, subjects, goals)
        for finding in sorted(findings, key=lambda one: -one.severity.rank):
            risk = RISKY.get(finding.check)
            if finding.role == role and risk is not None:
                found = closing_finding(self.ways, role, risk, self._snapshot.release)
                if found:
                    return found
        return None

    def _removals(self, paths: Sequence[Path]) -> list[Removal]:
        """The removals that stop the first step of the paths: those that stop most first, of equal ones the
        cheapest."""
        found: Counter[Removal] = Counter()
        for path in paths:
            edge = next((one for one in path.edges if any(one.granted_by)), None)
            if edge is not None:
                needs = requirements_of(edge.primitive, edge.number, self._snapshot.release)
                found.update(set(self.ways.of_needs(zip(needs, edge.granted_by), frozenset())))
        return sorted(found, key=lambda one: (-found[one], self.ways.cost(one), str(one)))

    def _leaving(self, paths: Sequence[Path], bindings: Iterable[Binding]) -> list[RemoveSubject]:
        """The subjects to take out of bindings so that no path begins with them.

        Besides those by whom the best paths begin, those go whose paths begin as well by one of their groups.
        """
        named = {one for one in self._removals(paths) if isinstance(one, RemoveSubject)}
        begun, starts = {one.binding for one in named}, {path.subject for path in paths}
        every = (RemoveSubject(each.key, normalize_subject(one)) for each in bindings for one in each.subjects)
        return [
            one
            for one in dict.fromkeys(every)
            if one in named or (one.binding in begun and text_of(one.subject) in starts)
        ]

    def _removal(self, some: Narrowing) -> Remedy:
        changes = changes_of(some, self._snapshot, self._survey.index, self.ways.in_use)
        subjects = self.ways.subjects(some[0])
        taken = ", and ".join(f"{permissions_text(one.permissions)} from rule {one.rule}" for one in some)
        text = f"Remove {taken} of {display_name(some[0].role)}."
        return Remedy(text, self._risk(subjects), changes, subjects, self._snapshot)

    def _unbinding(self, some: Sequence[RemoveSubject]) -> Remedy:
        """The subjects taken out of the bindings by which their paths begin; others keep the role."""
        changes = changes_of(some, self._snapshot, self._survey.index, self.ways.in_use)
        subjects = tuple(dict.fromkeys(one.subject for one in some))
        by_binding: dict[Key, list[Subject]] = {}
        for one in some:
            by_binding.setdefault(one.binding, []).append(one.subject)
        text = ", and ".join(f"{listed(leaving)} from {display_name(key)}" for key, leaving in by_binding.items())
        return Remedy(f"Remove {text}.", self._risk(subjects), changes, subjects, self._snapshot)

    def _without(self, binding: Binding, leaving: Iterable[Subject], nature: Nature) -> Remedy:
        subjects = tuple(dict.fromkeys(leaving))
        change = without(self._snapshot, binding, subjects)
        if change.obj is None:
            text = f"Delete {display_name(binding.key)}."
        else:
            text = f"Remove {listed(subjects)} from {display_name(binding.key)}."
        if nature.product:
            text += f" It is part of {nature.product}, which needs it when one of its workloads runs again."
        return Remedy(text, self._risk(subjects), (change,), subjects, self._snapshot)

    def _risk(self, subjects: Sequence[Subject]) -> str:
        """The subjects that may need what is taken away, as far as the objects show."""
        in_use = accounts_in_use(self._survey)
        running = [one for one in subjects if one in in_use]
        if running:
            are = "is" if len(running) == 1 else "are"
            return f"{listed(running)} {are} used by pods, which may need it: check an audit log first"
        accounts = [one for one in subjects if one.kind == SERVICE_ACCOUNT]
        if accounts and len(accounts) == len(subjects):
            return "no pod runs as it, but something outside the cluster may use it"
        return f"{listed(subjects)} may use it: check an audit log first" if subjects else ""


def _dangling(findings: Sequence[Finding]) -> tuple[Subject, ...]:
    """The subjects that do not exist."""
    return tuple(
        dict.fromkeys(subject for finding in findings if finding.check in DANGLING for subject in finding.subjects)
    )
