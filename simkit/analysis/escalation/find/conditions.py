"""What has to be there, besides grants, for a primitive to work: each condition by the word that the table uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.analysis.escalation.find.enabling import enables_escalation, escalating_permissions, without_rbac_rules
from simkit.analysis.escalation.find.facts import CONFIG_MAPS, PERSISTENT_VOLUMES, ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import Holder, VariantMatch
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, Subject
from simkit.logic.rbac.cover import covers
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.identity import SERVICE_ACCOUNTS as ALL_ACCOUNTS
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import at, labels_of, name_of

Variables = dict[str, str]
Condition = Callable[[ClusterFacts, Holder, VariantMatch], Iterator[Variables]]
HOOKS: Final = api_group("admissionregistration")
MUTATING: Final = GroupResource(HOOKS, "mutatingwebhookconfigurations")
VALIDATING: Final = GroupResource(HOOKS, "validatingwebhookconfigurations")
POLICY_BINDINGS: Final = GroupResource(HOOKS, "validatingadmissionpolicybindings")
CLUSTER_ADMIN_ROLE: Final = "cluster-admin"


def _always(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    yield {}


def _never(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    yield from ()


def _masters(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    if any(one.kind == GROUP and one.name == MASTERS for one in holder.principals):
        yield {}


def _everybody(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    if holder.place.name in (AUTHENTICATED, UNAUTHENTICATED, ANONYMOUS, ALL_ACCOUNTS) and holder.held:
        yield {}


def _bound_to_cluster_admin(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    if any(key.name == CLUSTER_ADMIN_ROLE and not scope for key, scope in holder.bound):
        yield {}


def _bound_to_role(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """One role that the holder has and may rewrite; in the whole cluster if there is one."""
    plural = solution.mets[0].need.any_of[0].permission.resource
    fitting = [
        (key, scope)
        for key, scope in holder.bound
        if key.resource.resource == plural
        and solution.allows("role", key.name)
        and (not key.namespace or solution.namespace in (EVERYWHERE, key.namespace))
    ]
    for key, scope in sorted(fitting, key=_width):
        yield {"role": key.name, "scope": scope, **({"namespace": key.namespace} if key.namespace else {})}
        if not scope:
            return


def _width(bound: tuple[Any, str]) -> tuple[bool, str, str]:
    return bool(bound[1]), bound[1], bound[0].name


def _role_of_others(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """A role that others have and the holder has not; those of whole groups first."""
    own = {key for key, _ in holder.bound}
    for binding, subject in world.bound_people:
        if binding.role not in own and solution.allows("role", binding.role.name):
            yield {"role": binding.role.name, "beneficiary": text_of(subject), "scope": binding.namespace}
            return


class _Push(NamedTuple):
    """A role whose label would give its rules to those who are bound to an aggregated one."""

    role: str
    rules: tuple[Rule, ...]
    needed: frozenset[Permission]
    aggregated: str
    scope: str
    widest: Subject


def _may_label(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """A role whose rules the holder has, and a bound aggregated role by which others gain something that matters."""
    everywhere = {one for one, holds in holder.held.items() if any(not hold.namespace for hold in holds)}
    creating = not any(met.need.label == "role" for met in solution.mets)
    for one in world.once("pushes", lambda: tuple(_pushes(world))):
        if not solution.allows("role", one.role) or one.widest == holder.place.subject:
            continue
        if creating and not enables_escalation(without_rbac_rules(one.rules), world.release):
            continue
        if one.needed <= everywhere and covers(holder.wide_rules, one.rules):
            where = {"aggregated": one.aggregated, "scope": one.scope}
            yield {"role": one.role, "beneficiary": text_of(one.widest), **where}
            return


def _pushes(world: ClusterFacts) -> Iterator[_Push]:
    """All pairs of a role and an aggregated one that has subjects, does not have it yet, and would open something."""
    bound = world.bound_roles
    targets = [
        (name, labels, bound[name], have)
        for name, selectors in world.aggregated
        for labels in (_labels(selectors),)
        for have in (world.index.rules(bound[name].role) if name in bound else None,)
        if labels and have is not None
    ]
    for role in world.scan(CLUSTER_ROLES):
        name = name_of(role)
        rules = world.index.rules(Key(CLUSTER_ROLES, "", name)) or ()
        if not enables_escalation(rules, world.release):
            continue
        for aggregated, labels, binding, have in targets:
            if (
                aggregated != name
                and not _has(labels_of(role), labels)
                and enables_escalation(rules, world.release, have)
            ):
                widest = min(binding.subjects, key=lambda one: (one.kind != GROUP, one))
                yield _Push(
                    name, rules, escalating_permissions(rules, world.release), aggregated, binding.namespace, widest
                )


def _gathered_for_oneself(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """An aggregated role that the holder has, and a role to be put into it: one that may be rewritten, or a new one."""
    if solution.names("made") is not None:
        return  # a creation is not checked under its name
    selectors = dict(world.aggregated)
    bound = [(key, scope) for key, scope in holder.bound if key.resource == CLUSTER_ROLES and key.name in selectors]
    for key, scope in sorted(bound, key=_width):
        role = next(_rewritten(world, solution, key.name), None)
        if role is not None and _labels(selectors[key.name]):
            yield {"role": role, "aggregated": key.name, "scope": scope}
            return


def _rewritten(world: ClusterFacts, solution: VariantMatch, aggregated: str) -> Iterator[str]:
    """The roles that may be rewritten and that no controller fills; the empty name stands for a new one."""
    if not any(met.need.label == "role" for met in solution.mets):
        yield ""
        return
    filled = dict(world.aggregated)
    names = solution.names("role")
    for name in (name_of(role) for role in world.scan(CLUSTER_ROLES)) if names is None else names:
        there = world.index.rules(Key(CLUSTER_ROLES, "", name)) is not None
        if there and name not in filled and name != aggregated:
            yield name


def _free_name(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """A name under which something new can be made and then be read or approved; any, unless names are limited."""
    names = solution.names("made")
    if names is None:
        yield {}
        return
    made = next(met for met in solution.mets if met.need.label == "made").need.any_of[0].permission
    for namespace in _places(world, solution.namespace):
        for name in names:
            if world.get(_resource(made), name, namespace) is None and world.get(_resource(made), name) is None:
                yield {"namespace": namespace, "fresh": name}
                return


def _labels(selectors: Any) -> dict[str, str]:
    """Labels that satisfy the first selector that only asks for labels."""
    for selector in selectors:
        if selector.get("matchLabels") and not selector.get("matchExpressions"):
            return dict(selector["matchLabels"])
    return {}


def _has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def _orphans(*, cluster: bool, by_name: bool) -> Condition:
    """Bindings whose role is gone and may be made: by creation, which carries no name, or by an update that does."""

    def found(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
        if by_name == (solution.names("role") is None):
            return
        for binding in world.orphans:
            role = binding.role
            wide = role.resource == CLUSTER_ROLES
            if wide != cluster or not solution.allows("role", role.name) or not binding.subjects:
                continue
            if wide or solution.namespace in (EVERYWHERE, binding.namespace):
                own = any(one in holder.principals for one in binding.subjects)
                yield {
                    "role": role.name,
                    "scope": binding.namespace,
                    "beneficiary": "" if own else text_of(binding.subjects[0]),
                    **({"namespace": binding.namespace} if binding.namespace else {}),
                }

    return found


def _workload_exists(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """An object that the holder may rewrite, in the namespace; if it may in all, that there is one somewhere."""
    if solution.namespace == EVERYWHERE:
        yield {"workloads": EVERYWHERE}
    else:
        yield from workloads(world, solution)


def workloads(world: ClusterFacts, solution: VariantMatch) -> Iterator[Variables]:
    """A workload that may be rewritten, in each namespace where there is one."""
    met = solution.mets[0]
    for namespace in _places(world, solution.namespace):
        found = next(
            (
                {
                    "namespace": namespace,
                    "workload": name_of(obj),
                    "resource": str(_resource(permission)),
                    "verb": permission.verb,
                }
                for permission, hold in met.holds(namespace)
                for obj in world.scan(_resource(permission), namespace)
                if hold.names is None or name_of(obj) in hold.names
            ),
            None,
        )
        if found:
            yield found


def _operator(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    """A namespace with a running pod whose service account has more than the namespace."""
    places = world.once("operators", lambda: tuple(_with_operators(world)))
    if solution.namespace == EVERYWHERE:
        yield from ({} for _ in places[:1])
    elif solution.namespace in places:
        yield {"namespace": solution.namespace}


def _with_operators(world: ClusterFacts) -> Iterator[str]:
    """The namespaces where pods run as accounts whose rights in the whole cluster lead further."""
    for namespace, pods in world.pods.items():
        accounts = {account for pod in pods for account in (world.account_of(pod),) if account is not None}
        if any(enables_escalation(_wide(world, account), world.release) for account in accounts):
            yield namespace


def _wide(world: ClusterFacts, account: Subject) -> tuple[Rule, ...]:
    grants = world.index.grants_of_subject(account)
    return tuple(rule for grant in grants if not grant.namespace for rule in grant.rules)


def _operator_workload(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    places = {found.get("namespace", EVERYWHERE) for found in _operator(world, holder, solution)}
    if places:
        yield from (one for one in workloads(world, solution) if places & {EVERYWHERE, one["namespace"]})


def _resource(permission: Any) -> GroupResource:
    return GroupResource(permission.group, permission.resource.partition("/")[0])


def _places(world: ClusterFacts, namespace: str) -> tuple[str, ...]:
    return tuple(world.enforced) if namespace == EVERYWHERE else (namespace,)


def _unrestricted(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    yield from _one_namespace(world.unrestricted, solution)


def _one_namespace(places: Mapping[str, str], solution: VariantMatch) -> Iterator[Variables]:
    """The namespace of a solution if it is among some; the first of them where it is met in all."""
    if solution.namespace == EVERYWHERE:
        yield from ({"namespace": place} for place in list(places)[:1])
    elif solution.namespace in places:
        yield {"namespace": solution.namespace}


def _restricted(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    names = solution.names("labelled")
    allowed = world.restricted if names is None else {name: "" for name in names if name in world.restricted}
    yield from _one_namespace(allowed, solution)


def _restricted_with_accomplice(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    for found in _restricted(world, holder, solution):
        asked = Question("create", resource="pods", namespace=found["namespace"])
        others = sorted({answer.grant.subject for answer in world.index.who(asked)} - holder.principals)
        if others:
            yield {**found, "accomplice": text_of(others[0])}


def _control_plane(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    if holder.place.name in world.control_plane:
        yield {}


def _mutating_webhook(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    for obj in world.scan(MUTATING):
        if solution.allows("configuration", name_of(obj)):
            yield {"configuration": name_of(obj)}
            return


def _policy_parameters(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    for binding in world.scan(POLICY_BINDINGS):
        reference = at(binding, "spec", "paramRef") or {}
        where = reference.get("namespace") or solution.namespace
        if reference.get("name") and solution.namespace in (EVERYWHERE, where):
            yield {"namespace": where, "object": reference["name"]}
            return


def _webhook_namespace(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    for resource in (MUTATING, VALIDATING):
        for configuration in world.scan(resource):
            for webhook in configuration.get("webhooks") or ():
                service = at(webhook, "clientConfig", "service") or {}
                if service and solution.namespace in (EVERYWHERE, service.get("namespace")):
                    yield {"namespace": service["namespace"], "object": service.get("name") or ""}
                    return


def _aws_auth(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    if world.get(CONFIG_MAPS, "aws-auth", SYSTEM_NAMESPACE) is not None:
        yield {"namespace": SYSTEM_NAMESPACE}


def _released_volume(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    for volume in world.scan(PERSISTENT_VOLUMES):
        if at(volume, "status", "phase") in ("Available", "Released"):
            yield {"volume": name_of(volume)}
            return


def _served(world: ClusterFacts, holder: Holder, solution: VariantMatch) -> Iterator[Variables]:
    options = solution.mets[0].need.any_of
    if any(world.served(option.permission.group, option.permission.resource) for option in options):
        yield {}


CONDITIONS: Final[Mapping[str, Condition]] = {
    "": _always,
    "never": _never,
    "masters": _masters,
    "everybody": _everybody,
    "bound-to-cluster-admin": _bound_to_cluster_admin,
    "bound-to-role": _bound_to_role,
    "role-of-others": _role_of_others,
    "may-label": _may_label,
    "free-name": _free_name,
    "gathered-for-oneself": _gathered_for_oneself,
    "orphan-cluster-role": _orphans(cluster=True, by_name=False),
    "orphan-role": _orphans(cluster=False, by_name=False),
    "orphan-cluster-role-by-name": _orphans(cluster=True, by_name=True),
    "orphan-role-by-name": _orphans(cluster=False, by_name=True),
    "workload-exists": _workload_exists,
    "operator": _operator,
    "operator-workload": _operator_workload,
    "unrestricted-namespace": _unrestricted,
    "restricted-namespace": _restricted,
    "restricted-namespace-with-accomplice": _restricted_with_accomplice,
    "control-plane-node": _control_plane,
    "mutating-webhook-exists": _mutating_webhook,
    "policy-parameters": _policy_parameters,
    "webhook-namespace": _webhook_namespace,
    "aws-auth": _aws_auth,
    "released-volume": _released_volume,
    "resource-served": _served,
}
"""Conditions of primitives that somebody uses. Those on pods and nodes are decided by ``surroundings``."""
