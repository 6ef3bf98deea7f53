"""The primitives whose requirements a subject's grants meet, tried with fixtures where the cluster lacks objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.harmless import NOTHING_THERE, why_harmless
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE, HeldPermissions
from simkit.analysis.escalation.find.matching import Holder, VariantMatch, match_variant
from simkit.analysis.escalation.find.path import Path, source_text
from simkit.analysis.escalation.find.pod_specs import POD_SPECS
from simkit.analysis.escalation.find.queries import nowhere, place_of
from simkit.analysis.escalation.find.search import one_of
from simkit.analysis.escalation.find.states import PODS, AttackState, subject_state
from simkit.analysis.escalation.prove.proving_fork import NotExecutable
from simkit.analysis.escalation.prove.required_requests import example_of
from simkit.analysis.escalation.prove.session import certificate_request
from simkit.analysis.escalation.prove.variables import SOME_USER, body_of, fill, fill_path, resource_of, workload
from simkit.analysis.escalation.table.primitive import Primitive, primitives
from simkit.analysis.escalation.table.severity import Severity, worst
from simkit.analysis.rbac.default_objects import unchanged_defaults
from simkit.analysis.rbac.index import members_in
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, NODE_PREFIX, administrator
from simkit.meta.message import Request
from simkit.present.progress import tracked
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

LENT: Final = "lent"
"""The default names of fixtures."""
NEVER: Final = ("pods", "nodes", "secrets", "namespaces")
"""Resources that stand for things of the table."""


class FixtureFork(NamedTuple):
    """A fork on which an administrator created objects, and the list of them."""

    sandbox: Sandbox
    things: tuple[str, ...]

    def __str__(self) -> str:
        *most, last = self.things
        return f"{', '.join(most)} and {last}" if most else last


def fork_with_fixtures(sandbox: Sandbox, match: VariantMatch) -> FixtureFork | None:
    """A fork with the objects that a use of a primitive lacks; None if they cannot be created."""
    fork = sandbox.fork()
    values = _words(match)
    given: dict[str, None] = {}
    _put(fork, "POST", "/api/v1/namespaces", body_of("namespace", values))
    for name in match.primitive.fixtures:
        fixture = primitives().fixtures[name]
        for operation in fixture.operations:
            method, path = fill_path(operation.do, values).split(" ", 1)
            if _put(fork, method, path, body_of(operation.body, values)):
                given[fill(fixture.title, values)] = None
    for title, path, body in _objects(fork, match, values):
        if _put(fork, "POST", path, body):
            given[title] = None
    return FixtureFork(fork, tuple(given)) if given else None


def _words(match: VariantMatch) -> dict[str, Any]:
    """The values of the variables in fixtures."""
    values: dict[str, Any] = {"namespace": "default" if match.namespace == EVERYWHERE else match.namespace}
    values |= {"fresh": LENT, "volume": LENT}
    for label in ("account", "role", "pod", "node", "secret"):
        values[label] = (match.names(label) or (LENT,))[0]
    masks = [name.removeprefix(NODE_PREFIX) for name in match.names("user") or () if name.startswith(NODE_PREFIX)]
    values["node"] = next(iter(masks), values["node"])
    values["some_account"], values["some_user"], values["host_pid"] = values["account"], SOME_USER, True
    values["certificate_request"] = certificate_request("somebody")
    return values


def _objects(sandbox: Sandbox, match: VariantMatch, values: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """An object for each requirement that concerns an existing object: its title, path and body."""
    snapshot = sandbox.snapshot()
    catalogue = catalogue_of(snapshot)
    for met in match.met:
        permission, hold = met.holds(match.namespace)[0]
        resource = resource_of(catalogue, permission)
        if resource is None or permission.nameless or resource.resource in (*AUTHORIZATION_RESOURCES, *NEVER):
            continue
        named = hold.names or met.requirement.names or (LENT,)
        if hold.names and met.requirement.names:
            named = tuple(name for name in hold.names if name in met.requirement.names)
        known = {**values, "fresh": named[0], "resource": resource}
        try:
            body = _example(resource, known, snapshot)
        except NotExecutable:
            continue  # the use itself will say so
        place = met.requirement.namespace or values["namespace"]
        yield f"an object of {resource.group_resource}", resource.collection(place), body


def _example(resource: Resource, values: Mapping[str, Any], snapshot: Snapshot) -> Any:
    if resource.group_resource in POD_SPECS and resource.resource != "pods":
        return workload(resource, values["fresh"], body_of("pod", values)["spec"])
    return example_of(resource, values, snapshot)


def _put(sandbox: Sandbox, method: str, path: str, body: Any) -> bool:
    """True if an administrator's request changed something: the object is new and no policy denied it."""
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return sandbox.perform(
        Request.of(method, path, body, content_type=content_type), identity=administrator()
    ).succeeded


COLUMNS: Final = (
    *("subject", "primitive", "class", "severity", "title", "namespaces", "flagged", "everybody"),
    *("verdict", "reason", "leads_to", "granted_by", "mitigation"),
)
OF_HOLDER: Final = ("bound-to-cluster-admin", "masters", "everybody")
"""Conditions on the holder, and not on objects."""
HARMLESS: Final = ("limited", "state")
"""Classes of primitives that are listed without a flag, because alone they give and harm nothing."""


@about_access()
def risky_permissions(
    snapshot: Snapshot,
    subject: Subject | str | Iterable[Subject | str] | None = None,
    *,
    sandbox: Sandbox | None = None,
    members: Members | None = None,
) -> pd.DataFrame:
    """Every primitive whose requirements a subject meets with all its grants together.

    Parameters
    ----------
    subject
        Who: as for ``escalations``, or None for all whom bindings name that are not the server's own.
    sandbox
        Where to execute what can be executed: ``cluster.powers`` gives the cluster itself.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    DataFrame
        One row per subject and primitive.

        subject
            As people write it.
        primitive, class, severity, title
            What it is; the id is that of the table.
        namespaces
            Where its needs are met (``*``: everywhere), as a tuple.
        flagged
            False for what gives and harms nothing by itself: also where the grant is for single names that are not
            there, or leads only to roles and identities that give nothing that matters.
        everybody
            Whether everybody with a login has it too.
        verdict, reason
            ``unproven`` without a sandbox. With one: ``proven`` (``proven, 2 assumed``) where it was executed on a
            fork; ``possible`` where it was executed on a fork with something that the cluster lacks, which the reason
            names; ``not proven`` where the server refused it; ``harmless``; or ``not executed`` with the reason.
        leads_to, granted_by, mitigation
            The end of the step, the first source of each need as a tuple, and what to do.

    Raises
    ------
    SimkitError
        For a text that is no subject, and for who holds no grants.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> from simkit.analysis import risky_permissions
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> len(risky_permissions(MemorySnapshot([], captured=["*"]), "alice"))
    0
    """
    members = members_in(snapshot, members)
    graph = graph_of(snapshot, members)
    if subject is None:
        starts = _bound(snapshot, graph)
    else:
        starts = [place_of(graph, one) for one in ([subject] if isinstance(subject, Subject | str) else subject)]
    subjects = tracked(starts, "judging subjects")
    rows = [row for state in subjects for row in _Asked(graph, state, sandbox, members).rows()]
    return table(rows, COLUMNS).astype({"flagged": bool, "everybody": bool})


def _bound(snapshot: Snapshot, graph: EscalationGraph) -> list[AttackState]:
    """All bound subjects that are not the server's own."""
    own = unchanged_defaults(snapshot)
    named = {one for each in graph.facts.index.bindings() if each.key not in own for one in each.subjects}
    return sorted(map(subject_state, named))


@dataclass(frozen=True)
class _Asked:
    """A subject in a cluster whose risky permissions are listed."""

    graph: EscalationGraph
    state: AttackState
    sandbox: Sandbox | None
    members: Members

    @cached_property
    def holder(self) -> Holder:
        found = self.graph.holder(self.state)
        assert found is not None
        return replace(found, own=None)

    @cached_property
    def everybody(self) -> HeldPermissions:
        """The permissions of every authenticated user."""
        found = self.graph.holder(AttackState(GROUP, AUTHENTICATED))
        return found.held if found else {}

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of all primitives whose requirements are met. Raises SimkitError for a subject without grants."""
        if self.graph.holder(self.state) is None:
            raise SimkitError(f"{self.state} holds no grants of its own; name a user, a group or a service account")
        for primitive in primitives().primitives:
            found = list(self.met(primitive))
            if found:
                yield self.row(primitive, found)

    def met(self, primitive: Primitive) -> Iterator[VariantMatch]:
        """The matches of a primitive."""
        if self.state.impersonated and primitive.impersonates:
            return
        for number, variant in enumerate(primitive.variants):
            if variant.condition in OF_HOLDER and not any(self.graph.uses.found(self.holder, primitive, number)):
                continue
            if variant.requires or variant.condition in OF_HOLDER:
                yield from match_variant(primitive, number, self.holder.held, self.graph.release)

    def row(self, primitive: Primitive, found: list[VariantMatch]) -> tuple[Any, ...]:
        """The row of a primitive whose requirements are met."""
        harmless = self._harmless(primitive, found)
        path = self._path(primitive)
        verdict, reason = self._verdict(primitive, path, harmless, found)
        granted = [source_text(some[0]) for some in found[0].sources({"namespace": found[0].namespace}) if some]
        return (
            *(str(self.state), primitive.id, primitive.kind, _severity(primitive, found), primitive.title),
            tuple(dict.fromkeys(one.namespace for one in found)),
            not harmless and primitive.holds_in(self.graph.release),
            self._of_everybody(primitive, found),
            *(verdict, reason, str(path.steps[-1].target) if path else ""),
            *(tuple(dict.fromkeys(granted)), primitive.mitigation),
        )

    def _harmless(self, primitive: Primitive, found: list[VariantMatch]) -> str:
        if primitive.kind in HARMLESS:
            return primitive.not_executable or primitive.mitigation
        return why_harmless(self.graph, self.holder, primitive, found)

    def _of_everybody(self, primitive: Primitive, found: list[VariantMatch]) -> bool:
        """True if every authenticated user meets the requirements wherever the subject does."""
        theirs = {
            one.namespace
            for number in {match.number for match in found}
            for one in match_variant(primitive, number, self.everybody, self.graph.release)
        }
        return EVERYWHERE in theirs or {one.namespace for one in found} <= theirs

    def _path(self, primitive: Primitive) -> Path | None:
        """One use of a primitive, as a path of one step; None if there is no object to use it on."""
        edge = next(self.graph.uses.edges(self.holder, primitive), None)
        if edge is None:
            return None
        end = edge.target
        path = Path(Goal(str(end), nowhere), (edge, *one_of(self.graph, end, self.state)), self.state)
        return None if path.end.kind == PODS else path  # a set of pods without any pod

    def _verdict(
        self, primitive: Primitive, path: Path | None, harmless: str, found: list[VariantMatch]
    ) -> tuple[str, str]:
        release = self.graph.release
        if primitive.not_executable:
            return "not executed", primitive.not_executable
        if not primitive.holds_in(release):
            return "not executed", f"it works only from release {primitive.since} on, and the cluster is at {release}"
        if path is None and harmless:
            return "harmless", harmless
        if self.sandbox is None:
            return "unproven", harmless or ("" if path else self._lacking(found))
        proof = path.prove(self.sandbox, members=self.members) if path else None
        if proof is not None and (harmless or proof.proven):
            return proof.verdict, proof.reason or harmless
        possible = self._elsewhere(primitive, found)
        if possible:
            return "possible", possible
        return (proof.verdict, proof.reason) if proof else ("not executed", self._lacking(found))

    def _elsewhere(self, primitive: Primitive, found: list[VariantMatch]) -> str:
        """A note that it is executed on a fork with added objects; empty if it is not."""
        assert self.sandbox is not None
        for match in found:
            lent = fork_with_fixtures(self.sandbox, match)
            if lent is None:
                continue
            there = _Asked(graph_of(lent.sandbox.snapshot(), self.members), self.state, None, self.members)
            path = there._path(primitive)
            if path and path.prove(lent.sandbox, members=self.members).proven:
                return f"the cluster has nothing to use it on; executed on a fork with {lent}"
        return ""

    def _lacking(self, found: list[VariantMatch]) -> str:
        """The objects that are missing in the cluster, as far as they are known."""
        facts = self.graph.facts
        for match in found:
            for met in match.met:
                held = [permission for permission, _ in met.holds(match.namespace)]
                if not any(facts.knows(one.group, one.resource) for one in held):
                    return f"the cluster does not serve {held[0].resource}.{held[0].group}"
            if match.variant.deputy and not facts.deputies(match.variant.deputy):
                return f"there is no service account {match.variant.deputy} whose controller would act on the objects"
        return NOTHING_THERE


def _severity(primitive: Primitive, found: list[VariantMatch]) -> Severity:
    """The severity by the scope of the grants and whether they hold for single names only."""
    places = {(match.namespace, match.by_name) for match in found}
    scale = primitive.severities
    level = worst(tuple(scale.at("" if where == EVERYWHERE else where, by_name=by_name) for where, by_name in places))
    return primitive.severity if level is None else level
