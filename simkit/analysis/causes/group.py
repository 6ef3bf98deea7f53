"""Findings and escalation paths grouped by the object that causes them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.analysis.causes.advice import DANGLING, Advisor
from simkit.analysis.causes.cause import ACCOUNT, BINDING, LABEL, MISSING, ROLE_RULE, Cause, Causes
from simkit.analysis.escalation.cut.aggregation import aggregation_of
from simkit.analysis.escalation.cut.change_text import stored
from simkit.analysis.escalation.cut.pod_security import OPEN_NAMESPACE, EnforceLevel
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.find.states import SET, AttackState, subject_state
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.audit import audit
from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.namespaces import NETWORK_POLICIES
from simkit.analysis.findings.nature import ADMINISTRATORS, MISTAKE, NATURES, SERVER, UNUSED, Natures
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import NAMESPACES, SERVICE_ACCOUNTS, display_name
from simkit.analysis.rbac.subject import Members, normalize_subject
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES, Binding, Subject
from simkit.meta.names import Key
from simkit.snapshot.protocol import Snapshot

OF_NAMESPACES: Final = {"pod-security": NAMESPACES, "network-policy": NETWORK_POLICIES}
"""The checks about what a namespace lacks, with the resource of what is missing."""
OF_ROLES: Final = frozenset(("wildcard", "aggregation", "dead-rule", "unknown-resource", "unused-role"))
"""The checks about how a role is written, whoever has it."""
OF_BINDINGS: Final = frozenset(
    ("cluster-admin", "namespace-admin", "everybody", "default-account", "admin-pods", "unused-account")
)
"""The checks about who is bound, whatever the role."""
_GRAVE: Final = (MISTAKE, UNUSED, ADMINISTRATORS)
"""The natures that come first if paths begin with them or a finding is at least high."""
ALL_CHECKS: Final = "all checks"


class Found(NamedTuple):
    """The findings and paths of one cause."""

    findings: list[Finding]
    paths: list[Path]


def causes(
    snapshot: Snapshot,
    *,
    goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
    include_defaults: bool = False,
    members: Members | None = None,
    managed: Iterable[str] = (),
) -> Causes:
    """The root causes of findings and escalation paths, those first that should be looked at first.

    A cause is a binding, a role that several bindings give, a namespace without a level of pod security, something
    that is missing, or a service account. Mistakes are told apart from what installed products need for themselves,
    from what is the server's own, and from access that nothing uses.

    Parameters
    ----------
    goal
        What the paths are for: see ``parse_goal``.
    include_defaults
        Whether the server's own roles and bindings are looked at too.
    members
        Groups that the cluster does not keep, as for ``who_can``.
    managed
        Providers of managed clusters whose own bindings count as the server's, as for ``audit``.

    Returns
    -------
    Causes
        ``.to_frame()`` has one row per cause: cause, kind, nature, product, namespace, severity, subjects (number),
        paths, goals (paths to each), through (paths that pass it besides), findings, checks (ids), reaches (places),
        share (of all paths), remedy, command. Each path belongs to the cause that it begins with, and each finding to
        one cause.

    Raises
    ------
    SimkitError
        For a text that is no goal.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    As ``audit`` and ``escalations`` together; O(causes x steps) besides.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> set(cluster.causes().to_frame()["nature"])
    {'server'}
    """
    members = members or NO_MEMBERS
    found = audit(snapshot, include_defaults=include_defaults, members=members, managed=managed)
    paths = escalations(snapshot, goal=goal, members=members)
    return group_causes(snapshot, found.findings, tuple(paths), members=members, managed=managed)


def group_causes(
    snapshot: Snapshot,
    findings: Sequence[Finding],
    paths: Sequence[Path],
    *,
    members: Members = NO_MEMBERS,
    managed: Iterable[str] = (),
) -> Causes:
    """The root causes of findings and paths that were found before."""
    return Causes(tuple(_Grouping(snapshot, members, managed).of(findings, paths)))


class _Grouping:
    """One search for causes."""

    def __init__(self, snapshot: Snapshot, members: Members, managed: Iterable[str]) -> None:
        self.snapshot = snapshot
        self.survey = Survey(snapshot, members=members)
        self.graph: EscalationGraph = graph_of(snapshot, members)
        self.natures = Natures(snapshot, self.survey, managed)
        self.advisor = Advisor(snapshot, self.survey, self.graph)
        self.fixed = self.survey.defaults | aggregation_of(snapshot).fixed
        self.bindings = {binding.key: binding for binding in self.survey.index.bindings()}

    def of(self, findings: Sequence[Finding], paths: Sequence[Path]) -> list[Cause]:
        found: dict[Key, Found] = defaultdict(lambda: Found([], []))
        begins = self._beginnings(paths)
        for path in paths:
            if path in begins:
                found[begins[path]].paths.append(path)
        for finding in findings:
            found[self._of_finding(finding, found)].findings.append(finding)
        through = self._through(paths, begins)
        for key in through:
            found[key]  # what paths only pass is a cause too
        made = [self._cause(key, some, through.get(key, 0)) for key, some in found.items()]
        return sorted(made, key=_rank)

    def _beginnings(self, paths: Sequence[Path]) -> dict[Path, Key]:
        """The cause that each path begins with: of several that are each enough, the one that most others have."""
        options = {path: [self._of_source(source) for source in _first_need(path)] for path in paths}
        counts = Counter(key for keys in options.values() for key in dict.fromkeys(keys))
        return {path: max(keys, key=lambda key: (counts[key], str(key))) for path, keys in options.items() if keys}

    def _of_source(self, source: GrantSource) -> Key:
        binding = self.bindings.get(source.binding)
        return source.binding if binding is None or not self._is_shared(binding) else binding.role

    def _is_shared(self, binding: Binding) -> bool:
        """True if several bindings give the role, which is not the server's own, and none of them to everybody."""
        role = binding.role
        if role in self.fixed:
            return False
        others = [one for one in self.survey.index.bindings_of(role) if one.subjects]
        return len(others) > 1 and len({self.natures.of(one.key) for one in others}) == 1

    def _of_finding(self, finding: Finding, known: Mapping[Key, Found]) -> Key:
        """The object that a finding is about."""
        if finding.check in OF_NAMESPACES:
            resource = OF_NAMESPACES[finding.check]
            return Key(resource, *(("", finding.namespace) if resource == NAMESPACES else (finding.namespace, "")))
        binding = None if finding.binding is None else self.bindings.get(finding.binding)
        role = finding.role
        if binding is not None and finding.check in (*OF_BINDINGS, *DANGLING):
            return binding.key
        if role is not None and (binding is None or finding.check in OF_ROLES):
            alone = self.survey.index.bindings_of(role)
            return alone[0].key if len(alone) == 1 and alone[0].key in known else role
        if binding is not None:
            return binding.role if self._is_shared(binding) else binding.key
        account = finding.subjects[0] if finding.subjects else Subject("", finding.check)
        return Key(SERVICE_ACCOUNTS, account.namespace, account.name)

    def _through(self, paths: Sequence[Path], begins: Mapping[Path, Key]) -> Counter[Key]:
        """The number of paths that pass an object after their beginning, with no way around it."""
        counts: Counter[Key] = Counter()
        for path in paths:
            passed = {key for key in self._passed(path) if key != begins.get(path)}
            counts.update(passed)
        return counts

    def _passed(self, path: Path) -> Iterator[Key]:
        for requirement in path.grants:
            keys = {self._of_source(source) for source in requirement}
            if len(keys) == 1:
                yield from (key for key in keys if self.natures.of(key).name != SERVER)
        for edge in path.edges:
            if edge.primitive and edge.variant.condition == OPEN_NAMESPACE:
                namespace = edge.value("namespace")
                if EnforceLevel(namespace).stops(edge):
                    yield Key(NAMESPACES, "", namespace)

    def _cause(self, key: Key, found: Found, through: int) -> Cause:
        bound = self._bound(key)
        if not bound:
            bound = tuple(dict.fromkeys(subject for finding in found.findings for subject in finding.subjects))
        nature = self.natures.of(key)
        return Cause(
            key,
            _kind(key, found),
            nature,
            self._text(key, bound),
            bound,
            tuple(found.findings),
            tuple(found.paths),
            through,
            self._reaches(bound) if found.paths else 0,
            tuple(sorted({rule for finding in found.findings for rule in finding.rules})),
            self.advisor.remedy(key, nature, found.findings, found.paths),
            stored(self.snapshot, key),
        )

    def _bound(self, key: Key) -> tuple[Subject, ...]:
        """The subjects that an object gives access to."""
        binding = self.bindings.get(key)
        every = (binding,) if binding is not None else self.survey.index.bindings_of(key) if _is_role(key) else ()
        return tuple(dict.fromkeys(normalize_subject(one) for each in every for one in each.subjects))

    def _reaches(self, subjects: Iterable[Subject]) -> int:
        """The number of places that subjects get to, without sets to choose from."""
        seen: set[AttackState] = set()
        waiting = [subject_state(one) for one in subjects]
        starts = set(waiting)
        while waiting:
            state = waiting.pop()
            if state not in seen:
                seen.add(state)
                waiting += [edge.target for edge in self.graph.edges(state) if edge.target not in seen]
        return sum(1 for state in seen if state not in starts and state.kind != SET)

    def _text(self, key: Key, bound: Sequence[Subject]) -> str:
        binding = self.bindings.get(key)
        if binding is not None:
            return f"{display_name(key)} gives {display_name(binding.role)} to {listed(bound) or 'nobody'}"
        if _is_role(key):
            return f"{display_name(key)}, which {listed(bound) or 'nobody'} {'has' if len(bound) <= 1 else 'have'}"
        if key.resource == NAMESPACES:
            return f"Namespace {key.name} lets privileged pods in"
        if key.resource == NETWORK_POLICIES:
            return f"Namespace {key.namespace} has no network policy"
        return f"Service account {key.namespace}/{key.name}" if key.namespace else ALL_CHECKS


def _first_need(path: Path) -> tuple[GrantSource, ...]:
    """The grants that are each enough for the first need of a path."""
    return next(iter(path.grants), ())


def _is_role(key: Key) -> bool:
    return key.resource in (CLUSTER_ROLES, ROLES)


def _kind(key: Key, found: Found) -> str:
    if key.resource == NAMESPACES:
        return LABEL
    if key.resource == NETWORK_POLICIES:
        return MISSING
    if key.resource == SERVICE_ACCOUNTS:
        return ACCOUNT
    if _is_role(key):
        return ROLE_RULE
    dangling = (*DANGLING, "missing-role")
    if found.findings and not found.paths and all(finding.check in dangling for finding in found.findings):
        return MISSING
    return BINDING


def _rank(cause: Cause) -> tuple[bool, int, int, int, int, str]:
    """Mistakes first; of them those that carry the most paths, then the worst, then those with the most findings."""
    name = cause.nature.name
    grave = name in _GRAVE and bool(cause.paths or cause.through or cause.severity >= Severity.HIGH)
    weight = max(len(cause.paths), cause.through // 2)  # what is only passed may be passed by elsewhere
    carried = (-weight, -cause.severity.rank, -cause.through - len(cause.findings))
    return (not grave, NATURES.index(name), *carried, cause.text)
