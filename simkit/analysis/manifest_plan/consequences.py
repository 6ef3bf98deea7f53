"""What follows from a plan: access and escalation paths that open and close, pods that do not run, what they read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.analysis.access.compare import COLUMNS, AccessChange, access_changes, changed_permissions
from simkit.analysis.access.expectations import Suite, check
from simkit.analysis.escalation.find.path_comparison import paths_of_both
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.manifest_plan.result import PlanRow
from simkit.analysis.operations.observation import (
    NODES,
    NOT_CREATED,
    PODS,
    Observation,
    OperationSandbox,
    RehearsalCluster,
)
from simkit.analysis.rbac.default_objects import settled_defaults
from simkit.analysis.rbac.index import index_of, members_in
from simkit.analysis.rbac.objects import RBAC, SERVICE_ACCOUNTS, captured_objects, display_name
from simkit.analysis.rbac.subject import Members, normalize_subject
from simkit.analysis.rbac.tables import records
from simkit.analysis.rendering import counted, first_of
from simkit.analysis.upgrade.behaviour.places import pod_templates
from simkit.logic.authorizers.node_graph import SECRETS, used_by_pod
from simkit.logic.podsecurity.evaluate import POD_TEMPLATES, violations
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, SERVICE_ACCOUNT
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.labels import of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of
from simkit.meta.podspec import containers_of
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.withhold import is_secret

Places = Mapping[str, tuple[str, int | None]]
"""Files and lines by the titles of objects: ``RoleBinding shop/ops``."""
GOALS: Final = ("cluster-admin", "all secrets", "a node")
_SHOWN: Final = 4
"""The combinations of verbs that are shown of one change."""
_RESOURCES: Final = 6
"""The resources that are shown with the same verbs."""


def access_rows(before: Snapshot, after: Snapshot, places: Places) -> Iterator[PlanRow]:
    """The permissions that subjects gain and lose: one line for a subject, a namespace and what grants it."""
    if not knows_access(before):
        return
    grouped: dict[tuple[str, str, str, tuple[str, ...]], list[AccessChange]] = {}
    for one in access_changes(records(changed_permissions(before, after), COLUMNS)):
        grouped.setdefault((one.change, one.subject, one.scope, one.bindings), []).append(one)
    for (change, subject, scope, bindings), parts in grouped.items():
        where = "everywhere" if scope == "*" else f"in {scope}"
        through = [f"through {', '.join(bindings)}"] if bindings else []
        detail = "\n".join([*map(_told, parts[:_SHOWN]), *_rest(parts[_SHOWN:]), *through])
        file, line = _place_of(bindings, places)
        yield PlanRow("access", change, _severity(change, parts), f"{subject} {where}", detail, file, line)


def missing_rows(before: Snapshot, after: Snapshot, places: Places) -> Iterator[PlanRow]:
    """The roles and service accounts that bindings name, and that do not exist, where that is new."""
    if not knows_access(before):
        return
    known = set(_missing(before))
    for binding, key in sorted(set(_missing(after)) - known):
        titles = display_name(binding), display_name(key)
        what = titles[1] if key.resource in RBAC else f"ServiceAccount {key.namespace}/{key.name}"
        granting = key.resource in RBAC
        told = (
            "the binding grants nothing until somebody creates it"
            if granting
            else "whoever creates it has what it gets"
        )
        detail = f"{what} does not exist, so {told}"
        yield PlanRow("access", "missing", Severity.MEDIUM, titles[0], detail, *_place_of(titles, places))


def _missing(snapshot: Snapshot) -> Iterator[tuple[Key, Key]]:
    """Bindings, each with a role or a service account that it names and that does not exist."""
    index, defaults = index_of(snapshot), settled_defaults(snapshot.release)
    for binding in index.bindings():
        if index.rules(binding.role) is None and binding.role not in defaults:
            yield binding.key, binding.role
        for subject in map(normalize_subject, binding.subjects):
            if subject.kind == SERVICE_ACCOUNT and SERVICE_ACCOUNTS in snapshot.captured():
                key = Key(SERVICE_ACCOUNTS, subject.namespace, subject.name)
                if snapshot.get(key.resource, key.name, key.namespace) is None:
                    yield binding.key, key


def _told(part: AccessChange) -> str:
    """Verbs and resources: ``get, list secrets, configmaps``."""
    if part.verbs == ("*",) and "*.*" in part.resources:
        return "can do anything"
    verbs = "anything with" if part.verbs == ("*",) else ", ".join(part.verbs)
    return f"{verbs} {first_of(part.resources, _RESOURCES)}"


def _rest(parts: Sequence[AccessChange]) -> list[str]:
    count = sum(len(part.resources) for part in parts)
    return [f"and access to {counted(count, 'more resource')}"] if count else []


def _severity(change: str, parts: Sequence[AccessChange]) -> Severity:
    """How much a change of access matters."""
    if change == "lost":
        return Severity.LOW
    weights = (Severity.MEDIUM, Severity.HIGH, Severity.HIGH, Severity.CRITICAL)
    return weights[min(max(part.weight for part in parts), len(weights) - 1)]


def path_rows(before: Sandbox, after: Sandbox, places: Places, members: Members | None) -> Iterator[PlanRow]:
    """The escalation paths that open, each executed on a fork, and those that close."""
    if not knows_access(after.snapshot()):
        return
    known = members_in(after.snapshot(), members)
    old, new = paths_of_both(before.snapshot(), after.snapshot(), GOALS, known)
    for key in sorted(new.keys() - old.keys(), key=_by_goal):
        path = new[key]
        proof = path.prove(after, members=known)
        bindings = (display_name(source.binding) for requirement in path.grants for source in requirement)
        file, line = _place_of(bindings, places)
        detail = f"{path.words} ({proof.verdict})"
        yield PlanRow("paths", "opened", path.severity, f"{key[0]} to {key[1]}", detail, file, line)
    for key in sorted(old.keys() - new.keys(), key=_by_goal):
        yield PlanRow("paths", "closed", Severity.INFO, f"{key[0]} to {key[1]}", old[key].words)


def expectation_rows(before: Sandbox, after: Sandbox, suite: Suite | None) -> Iterator[PlanRow]:
    """The expectations that the change breaks, with what did not fail before."""
    if suite is None:
        return
    failed = {one.expectation.name: one.failures for one in check(before.snapshot(), suite, sandbox=before)}
    for outcome in check(after.snapshot(), suite, sandbox=after):
        new = [failure for failure in outcome.failures if failure not in failed[outcome.expectation.name]]
        if new:
            expectation = outcome.expectation
            yield PlanRow("expectations", "broken", expectation.severity, expectation.name, "\n".join(new))


def knows_access(snapshot: Snapshot) -> bool:
    """True if all roles and bindings were captured."""
    return set(RBAC) <= set(snapshot.captured())


def _by_goal(key: tuple[str, str]) -> tuple[int, str]:
    return GOALS.index(key[1]), key[0]


def places_of_bindings(snapshot: Snapshot, places: Places) -> Places:
    """The places of objects, and of each binding without one that of its role, or of a role aggregated into it."""
    if not knows_access(snapshot):
        return places
    by_role = {title: place for title, place in places.items() if title.startswith(("Role ", "ClusterRole "))}
    if not by_role:
        return places
    for role in snapshot.scan(CLUSTER_ROLES):
        for selector in at(role, "aggregationRule", "clusterRoleSelectors") or ():
            chosen = of_object(selector)
            for part in snapshot.scan(CLUSTER_ROLES):
                if chosen.matches(labels_of(part)) and f"ClusterRole {name_of(part)}" in by_role:
                    by_role.setdefault(f"ClusterRole {name_of(role)}", by_role[f"ClusterRole {name_of(part)}"])
    found = dict(places)
    for resource in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
        for binding in snapshot.scan(resource):
            namespace, reference = namespace_of(binding), binding.get("roleRef") or {}
            scope = f"{namespace}/" if reference.get("kind") == "Role" else ""
            place = by_role.get(f"{reference.get('kind')} {scope}{reference.get('name')}")
            if place is not None:
                found.setdefault(display_name(Key(resource, namespace, name_of(binding))), place)
    return found


def _place_of(titles: Iterable[str], places: Places) -> tuple[str, int | None]:
    """The manifest of the first of some objects that a manifest holds."""
    return next((places[title] for title in titles if title in places), ("", None))


BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
WATCHED: Final = frozenset(
    (
        PODS,
        NODES,
        BUDGETS,
        *POD_TEMPLATES,
        GroupResource("", "resourcequotas"),
        GroupResource("", "limitranges"),
        GroupResource("", "persistentvolumeclaims"),
        GroupResource(api_group("scheduling"), "priorityclasses"),
    )
)
"""The resources whose objects decide whether pods run."""
_SETTLING: Final = 2.0
"""The seconds of simulated time in which the pods of the cluster take up their work."""
_STARTING: Final = 12.0
"""The seconds that pods have to start after the change."""


def is_watched(resource: str) -> bool:
    """True if objects of a resource, written ``deployments.apps``, decide whether pods run."""
    return resource in {str(one) for one in WATCHED}


def pod_rows(
    sandbox: OperationSandbox, apply: Callable[[RehearsalCluster], object], places: Places
) -> Iterator[PlanRow]:
    """Pods that do not run and budgets that allow no eviction after a change, and did or were not there before.

    Parameters
    ----------
    sandbox
        The cluster before the change.
    apply
        Makes the change on a fork whose nodes are simulated.
    """
    observed = Observation(sandbox.rehearsal(settings={"ready-after": "1s"}), settling=_SETTLING)
    blocked = set(_blocked(observed.snapshot))
    apply(observed.cluster)
    observed.wait(_STARTING)
    counts = Counter[tuple[str, str, str]]()
    for one in observed.result("the plan", {}, complete=True, planned=True).pods:
        if one.outcome == "pending":
            number = observed.lacking.get((one.namespace, one.workload), 1) if one.pod == NOT_CREATED else 1
            counts[one.namespace, one.workload or f"Pod/{one.pod}", one.why] += number
    for (namespace, workload, why), number in counts.items():
        kind, _, name = workload.partition("/")
        title = f"{kind} {namespace}/{name}"
        what = f"{title}: {counted(number, 'pod')}"
        yield PlanRow("pods", "pending", Severity.HIGH, what, why, *_place_of([title], places))
    for budget in _blocked(observed.snapshot):
        if budget not in blocked:
            title, why = f"PodDisruptionBudget {budget}", "Draining a node that runs one of its pods will not end."
            yield PlanRow("budgets", "blocks", Severity.MEDIUM, title, why, *_place_of([title], places))


def _blocked(snapshot: Snapshot) -> Iterator[str]:
    """The budgets that cover pods and allow no eviction."""
    for budget in captured_objects(snapshot, BUDGETS):
        status = budget.get("status") or {}
        if status.get("expectedPods") and not status.get("disruptionsAllowed"):
            yield f"{namespace_of(budget)}/{name_of(budget)}"


def images_of(obj: Object | None) -> frozenset[str]:
    """The images in the pod templates of an object; of none where there is no object."""
    containers = (one for template in _templates(obj) for one in containers_of(template.get("spec") or {}))
    return frozenset(str(one["image"]) for one in containers if one.get("image"))


def secrets_of(obj: Object | None) -> frozenset[str]:
    """The names of the Secrets that the pods of an object read, or that an object is."""
    used = (key for template in _templates(obj) for key in used_by_pod(template))
    own = {name_of(obj)} if obj is not None and is_secret(obj) else set()
    return frozenset(own.union(key.name for key in used if key.resource == SECRETS))


def breaches_of(obj: Object | None, behaviour: ServedBehaviour) -> frozenset[str]:
    """What the pods of an object do that the pod security level baseline forbids, such as running privileged."""
    baseline = LevelVersion("baseline")
    return frozenset(
        str(violation)
        for template in _templates(obj)
        for violation in violations(baseline, template.get("metadata") or {}, template.get("spec") or {}, behaviour)
    )


def _templates(obj: Object | None) -> Iterator[Mapping[str, Any]]:
    yield from (template for _, template in (pod_templates(obj, b"") if obj is not None else ()))
