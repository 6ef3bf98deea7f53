"""Admission policies before they are in force: the objects they match and the writes they would deny; and the objects
that webhooks match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.admission.simulated_writes import (
    OPERATIONS,
    PolicySet,
    SnapshotReader,
    select_policies,
    simulated_writes,
    write_attributes,
)
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.rbac.objects import captured_objects
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Result, prove_claim
from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes
from simkit.logic.policy.binding import BoundPolicy
from simkit.logic.policy.decide import decide
from simkit.logic.policy.matching import Constraints
from simkit.logic.policy.policy import Policy
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity, administrator
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.load import manifests
from simkit.snapshot.sources import Source

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.admission.proof import PolicyProof

COVERAGE_COLUMNS: Final = ("policy", "binding", "actions", "resource", "namespace", "name")
EFFECT_COLUMNS: Final = ("resource", "namespace", "name", "team", "policy", "binding", "action", "message", "reason")
CALL_COLUMNS: Final = ("kind", "name", "target", "about")
NOBODY: Final = "(none)"

Team = Callable[[Object, Object | None], str]
"""A function from an object and its namespace to the team that owns it."""


def policy_coverage(snapshot: Snapshot, policies: Source | None = None) -> pd.DataFrame:
    """The objects that each policy would match if they were written again.

    Parameters
    ----------
    policies
        Manifests of policies and bindings to look at instead of the snapshot's own.

    Returns
    -------
    DataFrame
        One row per policy, binding and object: policy, binding, actions, resource, namespace, name. Match conditions
        are not looked at, since they may depend on who writes.

    Raises
    ------
    SimkitError
        Where there is no policy.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> from simkit.meta.errors import SimkitError
    >>> try:
    ...     cluster.policy_coverage()
    ... except SimkitError as error:
    ...     print(error)
    there is no ValidatingAdmissionPolicy in the snapshot
    """
    known = select_policies(snapshot, None if policies is None else manifests(policies, snapshot.release))
    rows = []
    for resource, attributes in simulated_writes(known, OPERATIONS, Identity("")):
        for policy in known.policies:
            if policy.policy.constraints.match(attributes, known.reader) is None:
                continue
            for binding in policy.bindings:
                if binding.match(attributes, known.reader):
                    actions = ", ".join(binding.actions)
                    rows.append((policy.policy.name, binding.name, actions, *_place(resource, attributes)))
    return table(rows, COVERAGE_COLUMNS)


def _place(resource: Resource, attributes: AdmissionAttributes) -> tuple[str, str, str]:
    namespace = "" if attributes.is_namespace else attributes.namespace
    return str(resource.group_resource), namespace, attributes.name


@dataclass(frozen=True, slots=True)
class PolicyEffect(Result):
    """The effect of policies on the objects of a cluster.

    Attributes
    ----------
    rows
        DataFrame, one row per object and violation: resource, namespace, name, team, policy, binding, action (Deny or
        Warn), message, reason.
    looked_at
        How many objects of each resource some policy and binding took.
    teams
        How many of these each team has.
    """

    rows: pd.DataFrame
    looked_at: dict[str, int]
    teams: dict[str, int]
    manifests: Sequence[Object] = ()
    sandbox: Sandbox | None = field(repr=False, compare=False, default=None)
    """The sandbox that proves it by default."""

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """One row per object and violation: see ``rows``."""
        return self.rows

    def summary(self) -> pd.DataFrame:
        """One row per resource: what, count (objects), denied."""
        counts = self.denied["resource"].value_counts()
        rows = [(resource, count, int(counts.get(resource, 0))) for resource, count in self.looked_at.items()]
        return table(rows, ("what", "count", "denied"))

    @property
    def denied(self) -> pd.DataFrame:
        """The objects whose writes would be denied: resource, namespace, name, team; each once."""
        refused = self.rows[self.rows["action"] == "Deny"]
        unique: pd.DataFrame = refused[["resource", "namespace", "name", "team"]].drop_duplicates()
        return unique.reset_index(drop=True)

    def by_team(self) -> pd.DataFrame:
        """One row per team with objects that were evaluated: team, denied, warned, objects, share; worst first."""
        denied = self.denied["team"].value_counts()
        warned = self.rows[self.rows["action"] == "Warn"].drop_duplicates(["resource", "namespace", "name"])
        warnings = warned["team"].value_counts()
        rows = [
            (team, int(denied.get(team, 0)), int(warnings.get(team, 0)), count, denied.get(team, 0) / count)
            for team, count in self.teams.items()
        ]
        rows.sort(key=lambda row: (-row[1], -row[2], row[0]))
        return table(rows, ("team", "denied", "warned", "objects", "share"))

    def prove(self, sandbox: Sandbox | None = None, *, limit: int = 100) -> PolicyProof:
        """Write denied objects on a fork where the policies are in force: see ``admission.proof.prove``.

        Raises
        ------
        SimkitError
            Where no cluster is known, or the fork does not take the policies.
        """
        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a proof needs a cluster: effect.prove(simkit.load(...))")
        proof: PolicyProof = prove_claim(self, where, limit=limit)
        return proof

    def sentence(self) -> str:
        """One sentence for each resource: ``412 of 3,096 pods would be denied``."""
        counts = self.denied["resource"].value_counts()
        told = [
            f"{int(counts.get(resource, 0)):,} of {count:,} {resource} would be denied"
            for resource, count in self.looked_at.items()
        ]
        return "; ".join(told) or "no object would be looked at"

    def __repr__(self) -> str:
        return f"<PolicyEffect: {self.sentence()}>"

    def _repr_html_(self) -> str:
        from simkit.analysis.readable_frame import ReadableFrame

        teams = self.by_team()
        shown = ReadableFrame(teams.assign(share=[f"{share:.0%}" for share in teams["share"]]))
        return f"<p>{self.sentence()}</p>{shown._repr_html_()}"


def policy_effect(
    snapshot: Snapshot,
    policies: Source | None = None,
    *,
    team: str | Team = "team",
    operations: Sequence[str] = ("CREATE", "UPDATE"),
    identity: Identity | None = None,
    sandbox: Sandbox | None = None,
) -> PolicyEffect:
    """The effect of policies if every object of the cluster were written again unchanged.

    Parameters
    ----------
    policies
        Manifests of policies that are not in force yet, with their bindings and parameters; policies without any
        binding are bound everywhere, to deny. By default the policies of the cluster itself.
    team
        The label or annotation, of the object or else of its namespace, that names the team; or a function.
    operations
        As what a write counts: the first of these that a policy's rules take.
    identity
        Who writes; an administrator unless given.
    sandbox
        Where ``.prove()`` tries it, unless it is told another place.

    Returns
    -------
    PolicyEffect
        ``.to_frame()`` has one row per object and violation: resource, namespace, name, team, policy, binding, action
        (Deny or Warn), message, reason; ``.prove()`` executes it and gives ``Evidence``.

    Raises
    ------
    SimkitError
        Where there is no policy.

    Notes
    -----
    Some 20 microseconds for an object and expression: a cluster of ten thousand pods takes a second.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> policy = {
    ...     "apiVersion": "admissionregistration.k8s.io/v1",
    ...     "kind": "ValidatingAdmissionPolicy",
    ...     "metadata": {"name": "small"},
    ...     "spec": {
    ...         "matchConstraints": {
    ...             "resourceRules": [
    ...                 {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["namespaces"]}
    ...             ]
    ...         },
    ...         "validations": [{"expression": "size(object.metadata.name) < 8"}],
    ...     },
    ... }
    >>> len(cluster.policy_effect(policy))
    3
    """
    given = None if policies is None else manifests(policies, snapshot.release)
    known = select_policies(snapshot, given)
    names = _Teams(known, team)
    rows: list[tuple[Any, ...]] = []
    looked_at: dict[str, int] = {}
    teams: dict[str, int] = {}
    for resource, attributes in simulated_writes(known, operations, identity or administrator()):
        if not any(_applies(policy, attributes, known) for policy in known.policies):
            continue
        place, owner = _place(resource, attributes), names.of(attributes)
        looked_at[place[0]] = looked_at.get(place[0], 0) + 1
        teams[owner] = teams.get(owner, 0) + 1
        rows += [(*place, owner, *violation) for violation in _violations(known, attributes)]
    return PolicyEffect(table(rows, EFFECT_COLUMNS), looked_at, teams, given or (), sandbox)


def _applies(policy: BoundPolicy[Policy], attributes: AdmissionAttributes, known: PolicySet) -> bool:
    """True if a policy matches the write through one of its bindings."""
    reader = known.reader
    if policy.policy.constraints.match(attributes, reader) is None:
        return False
    return any(binding.match(attributes, reader) for binding in policy.bindings)


def _violations(known: PolicySet, attributes: AdmissionAttributes) -> Iterator[tuple[str, str, str, str, str]]:
    try:
        outcome = decide(attributes, known.policies, known.reader)
    except StatusError as error:
        yield "", "", "Deny", error.message, error.reason
        return
    for denial in outcome.denials:
        yield denial.policy, denial.binding, "Deny", denial.message, denial.reason
    for warning in outcome.warnings:
        yield "", "", "Warn", warning, ""


class _Teams:
    """The team of each object."""

    def __init__(self, known: PolicySet, team: str | Team) -> None:
        self._reader, self._team = known.reader, team

    def of(self, attributes: AdmissionAttributes) -> str:
        obj, namespace = attributes.object or {}, self._namespace(attributes)
        if not isinstance(self._team, str):
            return self._team(obj, namespace)
        for each in (obj, namespace or {}):
            found = labels_of(each).get(self._team) or annotations_of(each).get(self._team)
            if found:
                return found
        return NOBODY

    def _namespace(self, attributes: AdmissionAttributes) -> Object | None:
        if attributes.is_namespace or not attributes.namespace:
            return None
        return self._reader.get(NAMESPACES, attributes.namespace)


def skipped_calls(calls: Iterable[Any]) -> pd.DataFrame:
    """The webhook and policy calls that a server would have made: kind, name, target, about; one row per call."""
    return table(((each.kind, each.name, each.target, each.about) for each in calls), CALL_COLUMNS)


WEBHOOK_COLUMNS: Final = ("kind", "configuration", "webhook", "on_failure", "target", "resource", "namespace", "name")
CONFIGURATIONS: Final = {
    kind: GroupResource(ADMISSION_GROUP, f"{kind.lower()}s")
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
}


def webhook_coverage(snapshot: Snapshot) -> pd.DataFrame:
    """The objects that each webhook would be called for if they were written again.

    Returns
    -------
    DataFrame
        One row per webhook and object: kind and name of the configuration, webhook, on_failure (``Fail``: without an
        answer of the webhook the object cannot be written; or ``Ignore``), target (its service or URL), resource,
        namespace, name. Match conditions are not looked at, since they may depend on who writes.

    Raises
    ------
    SimkitError
        For a webhook that cannot be read.

    Notes
    -----
    O(webhooks x objects of the kinds that they name).

    Examples
    --------
    >>> from simkit.analysis import webhook_coverage
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> list(webhook_coverage(MemorySnapshot([])).columns)[:3]
    ['kind', 'configuration', 'webhook']
    """
    return table(_rows(snapshot), WEBHOOK_COLUMNS)


def _rows(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    reader = SnapshotReader(snapshot)
    for kind, resource in CONFIGURATIONS.items():
        for configuration in captured_objects(snapshot, resource):
            for row in configuration.get("webhooks") or ():
                if not row.get("rules"):
                    continue
                told = kind, name_of(configuration), row.get("name"), row.get("failurePolicy") or "Fail", _target(row)
                yield from ((*told, *place) for place in _seen(row, reader))


def _target(webhook: Object) -> str:
    service = at(webhook, "clientConfig", "service")
    if service is None:
        return str(at(webhook, "clientConfig", "url") or "")
    return f"{service.get('namespace')}/{service.get('name')}"


def _seen(webhook: Object, reader: SnapshotReader) -> Iterator[tuple[str, str, str]]:
    """Resource, namespace and name of each object that a webhook would be called for."""
    spec = {name: webhook.get(name) for name in ("namespaceSelector", "objectSelector", "matchPolicy")}
    constraints = Constraints({**spec, "resourceRules": webhook.get("rules") or ()})
    for resource in catalogue_of(reader.snapshot).stored():
        operation = _operation(constraints, reader, resource)
        if operation is None:
            continue
        for obj in reader.snapshot.scan(resource.storage):
            attributes = write_attributes(obj, resource, operation, administrator(), reader.catalogue)
            try:
                matched = constraints.match(attributes, reader)
            except StatusError:  # its namespace is not there
                continue
            if matched is not None:
                namespace = "" if attributes.is_namespace else attributes.namespace
                yield str(resource.group_resource), namespace, attributes.name


def _operation(constraints: Constraints, reader: SnapshotReader, resource: Resource) -> str | None:
    """The first operation on a resource that the webhook's rules name; None if there is none."""
    if resource.storage not in reader.snapshot.captured() or resource.group == ADMISSION_GROUP:
        return None  # no webhook is asked about webhooks and policies
    return next((each for each in OPERATIONS if constraints.may_match(reader, each, resource.gvr, "")), None)
