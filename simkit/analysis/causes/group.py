"""Findings and escalation paths grouped by the object that causes them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.causes.advice import DANGLING, Advisor
from simkit.analysis.causes.cause import ACCOUNT, BINDING, LABEL, MISSING, ROLE_RULE, Cause, Causes, effects_of
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.cut.aggregation import aggregation_of
from simkit.analysis.escalation.cut.policies import OPEN_NAMESPACE, EnforceLevel
from simkit.analysis.escalation.cut.remedy import stored
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.find.states import SET, subject_state
from simkit.analysis.escalation.table.requirement import Requirement
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.audit import audit
from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.nature import ADMINISTRATORS, MISTAKE, NATURES, PRODUCT, SERVER, UNUSED, Natures
from simkit.analysis.findings.survey import listed, survey_of
from simkit.analysis.findings.wide import ESCALATION_PATH
from simkit.analysis.findings.workloads import NETWORK_POLICIES
from simkit.analysis.rbac.index import NO_MEMBERS, members_in
from simkit.analysis.rbac.objects import NAMESPACES, SERVICE_ACCOUNTS, display_name
from simkit.analysis.rbac.subject import Members, normalize_subject
from simkit.analysis.rendering import first_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES, Binding, Subject
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot

OF_NAMESPACES: Final = {"pod-security": NAMESPACES, "network-policy": NETWORK_POLICIES}
"""The checks about what a namespace lacks, with the resource of what is missing."""
OF_ROLES: Final = frozenset(("wildcard", "aggregation", "dead-rule", "unknown-resource", "unused-role"))
"""The checks about how a role is written, whoever has it."""
OF_BINDINGS: Final = frozenset(
    ("cluster-admin", "namespace-admin", "everybody", "default-account", "admin-pods", "cloud-admin", "unused-account")
)
"""The checks about who is bound, whatever the role."""
_GRAVE: Final = (MISTAKE, UNUSED, ADMINISTRATORS)
"""The natures that come first if paths begin with them or a finding is at least high."""
UNTOUCHED: Final = (ADMINISTRATORS, PRODUCT, SERVER)
"""The natures of causes for which there are words, and no change."""
ALL_CHECKS: Final = "all checks"


class Found(NamedTuple):
    """The findings and paths of one cause."""

    findings: list[Finding]
    paths: list[Path]


@about_access()
def causes(
    snapshot: Snapshot,
    *,
    goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
    include_defaults: bool = False,
    members: Members | None = None,
    managed: Iterable[str] = (),
) -> Causes:
    """The root causes of findings and escalation paths, those first that should be looked at first.

    A cause is a binding, a role that several bindings grant or that contributes rules to an aggregated role, a
    namespace without a level of pod security, something that is missing, or a service account. Mistakes are told apart
    from what installed products need for themselves, from what is the server's own, and from access that nothing uses.

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
        ``.to_frame()`` has one row per cause: cause, kind, nature, product, namespace, severity, closes (paths that the
        remedy closes, measured in the cluster as it would be), loses (permissions, by what-if), subjects (number),
        paths, goals (paths to each), through (paths that pass it besides), findings, checks (ids), reaches (places),
        share (of all paths), remedy, command. Each path belongs to the cause that it begins with, and each finding to
        one cause. The first one is what a plan changes first.

    Raises
    ------
    SimkitError
        For a text that is no goal.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    As ``audit`` and ``escalations`` together, and a search for paths for each remedy of a cause that has some.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.causes()), set(cluster.causes(include_defaults=True).to_frame()["nature"])
    (0, {'server'})
    """
    members = members_in(snapshot, members)
    found = audit(snapshot, include_defaults=include_defaults, members=members, managed=managed)
    paths = escalations(snapshot, goal=goal, include_defaults=include_defaults, members=members)
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
    return Causes(tuple(_Grouping(snapshot, members, managed, paths).of(findings, paths)))


class _Grouping:
    """One search for causes."""

    def __init__(self, snapshot: Snapshot, members: Members, managed: Iterable[str], paths: Sequence[Path]) -> None:
        self.snapshot = snapshot
        self.survey = survey_of(snapshot, members, managed=managed)
        self.graph: EscalationGraph = graph_of(snapshot, members)
        self.natures = Natures(self.survey)
        self.advisor = Advisor(self.survey, self.graph)
        self.fixed = self.survey.defaults | aggregation_of(snapshot).fixed
        self.aggregation = aggregation_of(snapshot)
        self.effects = effects_of(snapshot, members, paths)

    def of(self, findings: Sequence[Finding], paths: Sequence[Path]) -> list[Cause]:
        found: dict[Key, Found] = defaultdict(lambda: Found([], []))
        begins = self._beginnings(paths)
        for path in paths:
            if path in begins:
                found[begins[path]].paths.append(path)
        of_paths = {_granted(path): key for path, key in begins.items()}
        for finding in findings:
            granted = (finding.binding, finding.role, finding.rules)
            begun = of_paths.get(granted) if finding.check == ESCALATION_PATH else None
            found[begun or self._of_finding(finding, found)].findings.append(finding)
        through = self._through(paths, begins)
        for key in through:
            found[key]  # what paths only pass is a cause too
        made = [self._cause(key, some, through.get(key, 0)) for key, some in found.items()]
        first = self.effects.first
        return sorted(made, key=lambda cause: (first is None or self._change_of(cause.key) != first, *_rank(cause)))

    def _beginnings(self, paths: Sequence[Path]) -> dict[Path, Key]:
        """The cause that each path begins with: of the objects that its first step needs, the one whose change closes
        most; of equal ones the one that most others have.
        """
        options = {path: list(self._of_first_step(path)) for path in paths}
        counts = Counter(key for keys in options.values() for key in dict.fromkeys(keys))

        def weight(key: Key) -> tuple[int, int, str]:
            return self.effects.closing(self._change_of(key)), counts[key], str(key)

        return {path: max(keys, key=weight) for path, keys in options.items() if keys}

    def _of_first_step(self, path: Path) -> Iterator[Key]:
        """The objects behind the grants of the first step that needs some."""
        edge = next((one for one in path.edges if any(one.granted_by)), None)
        for requirement, sources in self.advisor.ways.needs(edge) if edge is not None else ():
            yield from (self._of_source(source, requirement) for source in sources)

    def _of_source(self, source: GrantSource, requirement: Requirement) -> Key:
        """The object behind a grant: the role that contributes the rule to an aggregated one, else a binding or a role
        that several bindings grant.
        """
        parts = self.advisor.ways.parts(source.role, requirement)
        own = [part for part in parts if part != source.role]
        if own and len(own) == len(parts) and not self.fixed.intersection(own):
            return own[0]
        binding = self.survey.index.binding(source.binding)
        return source.binding if binding is None or not self._is_shared(binding) else binding.role

    def _change_of(self, key: Key) -> Key:
        """The object that is changed where a cause is mended: the role of a binding that is its only one."""
        binding = self.survey.index.binding(key)
        changed = self.effects.changed(key)
        if binding is None or changed or len(self.survey.index.bindings_of(binding.role)) != 1:
            return key
        return binding.role if self.effects.changed(binding.role) else key

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
        binding = None if finding.binding is None else self.survey.index.binding(finding.binding)
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
        """The number of paths that pass an object after their beginning, in a step that needs it."""
        counts: Counter[Key] = Counter()
        for path in paths:
            passed = {key for key in self._passed(path) if key != begins.get(path)}
            counts.update(passed)
        return counts

    def _passed(self, path: Path) -> Iterator[Key]:
        for edge in path.edges:
            for requirement, sources in self.advisor.ways.needs(edge):
                keys = {self._of_source(source, requirement) for source in sources}
                if len(keys) == 1:
                    yield from (key for key in keys if self.natures.of(key).name != SERVER)
            if edge.primitive and edge.variant.condition == OPEN_NAMESPACE:
                namespace = edge.value("namespace")
                if EnforceLevel(namespace).stops(edge):
                    yield Key(NAMESPACES, "", namespace)

    def _cause(self, key: Key, found: Found, through: int) -> Cause:
        bound = self._bound(key)
        if not bound:
            bound = tuple(dict.fromkeys(subject for finding in found.findings for subject in finding.subjects))
        nature = self.natures.of(key)
        remedy = self.advisor.remedy(key, nature, found.findings, found.paths)
        closes = 0
        if (found.paths or self._change_of(key) == self.effects.first) and nature.name not in UNTOUCHED:
            remedy, closes = self.effects.best(self._change_of(key), remedy)
            if not closes and found.paths and remedy:
                instead = self.advisor.unbinding(key, found.paths)
                remedy, closes = self.effects.best(self._change_of(key), instead) if instead else (remedy, 0)
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
            remedy,
            stored(self.snapshot, key),
            closes,
        )

    def _bound(self, key: Key) -> tuple[Subject, ...]:
        """The subjects that an object gives access to."""
        index = self.survey.index
        binding, roles = index.binding(key), self.aggregation.wholes(key) if _is_role(key) else ()
        every = [binding] if binding is not None else [one for role in roles for one in index.bindings_of(role)]
        return tuple(dict.fromkeys(normalize_subject(one) for each in every for one in each.subjects))

    def _reaches(self, subjects: Iterable[Subject]) -> int:
        """The number of places that subjects get to, without sets to choose from."""
        starts = set(map(subject_state, subjects))
        return sum(
            1
            for state in self.graph.reachable(starts)
            if state not in starts and state.kind != SET and not state.beside
        )

    def _text(self, key: Key, bound: Sequence[Subject]) -> str:
        binding = self.survey.index.binding(key)
        subjects = listed(bound) or "nobody"
        if binding is not None:
            return f"{display_name(binding.key)} grants {display_name(binding.role)} to {subjects}"
        if _is_role(key):
            wholes = [one.name for one in self.aggregation.wholes(key) if one != key]
            aggregated = f" is aggregated into {first_of(wholes, 3)} and" if wholes else " is"
            return f"{display_name(key)}{aggregated} granted to {subjects}"
        if key.resource == NAMESPACES:
            return f"Namespace {key.name} allows privileged pods"
        if key.resource == NETWORK_POLICIES:
            return f"Namespace {key.namespace} has no network policy"
        return f"Service account {key.namespace}/{key.name}" if key.namespace else ALL_CHECKS


def _granted(path: Path) -> tuple[Key | None, Key | None, tuple[int, ...]]:
    """The binding, role and rule of the first grant of a path, as its finding has them."""
    source = next(iter(path.grants), (None,))[0]
    return (None, None, ()) if source is None else (source.binding, source.role, (source.rule,))


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


def _rank(cause: Cause) -> tuple[Any, ...]:
    """Mistakes first; of them those whose remedy closes most, then those that carry most, then the worst."""
    name = cause.nature.name
    grave = name in _GRAVE and bool(cause.paths or cause.through or cause.severity >= Severity.HIGH)
    weight = max(len(cause.paths), cause.through // 2)  # what is only passed may be passed by elsewhere
    carried = (-weight, -cause.severity.rank, -cause.through - len(cause.findings))
    return (not grave, -cause.closes if grave else 0, NATURES.index(name), *carried, cause.text)
