"""Conditions of primitives besides grants, by the word that the table uses; the aggregation of roles comes first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from simkit.analysis.catalogue import POLICY_BINDINGS
from simkit.analysis.escalation.find.facts import CONFIG_MAPS, PERSISTENT_VOLUMES, ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import (
    Holder,
    Variables,
    VariantMatch,
    adds_escalation,
    enables_escalation,
    escalating_permissions,
    without_rbac_rules,
)
from simkit.analysis.escalation.find.pod_constraints import LEADING_TO_NODES, PodConstraints, Pods
from simkit.analysis.escalation.find.pod_specs import POD_SPECS
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.index import members_in, principals_of
from simkit.analysis.rbac.objects import PODS
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, Binding, Subject
from simkit.logic.rbac.cover import covers
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.identity import SERVICE_ACCOUNTS as ALL_ACCOUNTS
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, labels_of, name_of
from simkit.seams.authorization import OPENSHIFT


class _Push(NamedTuple):
    """A role, and the aggregated roles with subjects to which a label adds its rules: name, scope, widest subject."""

    role: str
    rules: tuple[Rule, ...]
    needed: frozenset[Permission]
    beyond_rbac: bool
    """True if its rules lead further without those about RBAC objects."""
    into: tuple[tuple[str, str, Subject], ...]


def may_label(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """A role whose rules the holder has, and a bound aggregated role by which others gain rules that lead further."""
    everywhere = frozenset(one for one, holds in holder.held.items() if any(not hold.namespace for hold in holds))
    creating = not any(met.requirement.label == "role" for met in match.met)
    found = facts.answer(_push_for, holder.state.subject, everywhere, holder.wide_rules, match.names("role"), creating)
    if found is not None:
        role, (aggregated, scope, widest) = found
        yield {"role": role, "beneficiary": text_of(widest), "aggregated": aggregated, "scope": scope}


def _push_for(
    facts: ClusterFacts,
    subject: Subject | None,
    everywhere: frozenset[Permission],
    rules: tuple[Rule, ...],
    names: Collection[str] | None,
    creating: bool,
) -> tuple[str, tuple[str, str, Subject]] | None:
    """The first role that somebody with some rules may label, with whom it serves."""
    for one in facts.once(_pushes):
        into = next((found for found in one.into if found[2] != subject), None)
        if into is None or (creating and not one.beyond_rbac) or not one.needed <= everywhere:
            continue
        if (names is None or one.role in names) and covers(rules, one.rules):
            return one.role, into
    return None


def _pushes(facts: ClusterFacts) -> Iterator[_Push]:
    """The roles with aggregated roles that have subjects, do not include them and would give them more."""
    bound = {name: found for name, _ in facts.aggregated for found in (facts.binding_to(name),) if found is not None}
    targets = [
        (name, labels, bound[name], RuleSet.of(have))
        for name, selectors in facts.aggregated
        for labels in (_labels(selectors),)
        for have in (facts.rules(bound[name].role) if name in bound else None,)
        if labels and have is not None
    ]
    for role in facts.scan(CLUSTER_ROLES):
        name = name_of(role)
        rules = facts.rules(Key(CLUSTER_ROLES, "", name)) or ()
        if not enables_escalation(rules, facts.release):
            continue
        shared = RuleSet.of(rules)
        into = tuple(
            (aggregated, binding.namespace, min(binding.subjects, key=lambda one: (one.kind != GROUP, one)))
            for aggregated, labels, binding, have in targets
            if aggregated != name and not _has(labels_of(role), labels) and adds_escalation(shared, facts.release, have)
        )
        if into:
            beyond = enables_escalation(without_rbac_rules(rules), facts.release)
            yield _Push(name, rules, escalating_permissions(rules, facts.release), beyond, into)


def gathered_for_oneself(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """An aggregated role that the holder has, and a role to add to it: one that may be changed, or a new one."""
    if match.names("made") is not None:
        return  # a creation is not checked under its name
    selectors = dict(facts.aggregated)
    for key, scope in holder.widest_first():
        if key.resource != CLUSTER_ROLES or key.name not in selectors:
            continue
        role = next(_rewritten(facts, match, key.name), None)
        if role is not None and _labels(selectors[key.name]):
            yield {"role": role, "aggregated": key.name, "scope": scope}
            return


def _rewritten(facts: ClusterFacts, match: VariantMatch, aggregated: str) -> Iterator[str]:
    """The roles that may be changed and that no controller fills; the empty name stands for a new role."""
    if not any(met.requirement.label == "role" for met in match.met):
        yield ""
        return
    filled = dict(facts.aggregated)
    names = match.names("role")
    for name in facts.cluster_roles if names is None else names:
        there = facts.rules(Key(CLUSTER_ROLES, "", name)) is not None
        if there and name not in filled and name != aggregated:
            yield name


def _labels(selectors: Any) -> dict[str, str]:
    """Labels that match the first selector which has only labels."""
    for selector in selectors:
        if selector.get("matchLabels") and not selector.get("matchExpressions"):
            return dict(selector["matchLabels"])
    return {}


def _has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


Condition = Callable[[ClusterFacts, Holder, VariantMatch], Iterator[Variables]]
HOOKS: Final = api_group("admissionregistration")
MUTATING: Final = GroupResource(HOOKS, "mutatingwebhookconfigurations")
VALIDATING: Final = GroupResource(HOOKS, "validatingwebhookconfigurations")
CLUSTER_ADMIN_ROLE: Final = "cluster-admin"
EVERYBODY: Final = (AUTHENTICATED, UNAUTHENTICATED, ANONYMOUS, ALL_ACCOUNTS)


def _if(test: Callable[[ClusterFacts, Holder], bool]) -> Condition:
    """A condition without a choice."""
    return lambda facts, holder, _: iter([{}] if test(facts, holder) else [])


def _existing(resource: GroupResource, variable: str, test: Callable[[VariantMatch, Object], bool]) -> Condition:
    """The first object of a resource that passes a test."""
    return lambda facts, _, match: (
        {variable: name_of(one)} for one in islice(filter(partial(test, match), facts.scan(resource)), 1)
    )


def _bound_to_role(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """One role that the holder has and may change; cluster-wide if there is one."""
    plural = match.met[0].requirement.any_of[0].permission.resource
    fitting = [
        (key, scope)
        for key, scope in holder.widest_first()
        if key.resource.resource == plural
        and match.allows("role", key.name)
        and (not key.namespace or match.namespace in (EVERYWHERE, key.namespace))
    ]
    for key, scope in fitting:
        yield {"role": key.name, "scope": scope, **({"namespace": key.namespace} if key.namespace else {})}
        if not scope:
            return


def _role_of_others(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """A role that others have and the holder has not; roles of whole groups first."""
    found = facts.answer(_first_other, frozenset(key for key, _ in holder.bound), match.names("role"))
    if found is not None:
        binding, subject = found
        yield {"role": binding.role.name, "beneficiary": text_of(subject), "scope": binding.namespace}


def _first_other(
    facts: ClusterFacts, own: frozenset[Key], names: tuple[str, ...] | None
) -> tuple[Binding, Subject] | None:
    for binding, subject in facts.bound_people:
        if binding.role not in own and (names is None or binding.role.name in names):
            return binding, subject
    return None


def _free_name(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """A name for a new object that may then be read or approved; any, unless the rules limit names."""
    names = match.names("made")
    if names is None:
        yield {}
        return
    made = next(met for met in match.met if met.requirement.label == "made").requirement.any_of[0].permission
    for namespace in places_of_match(facts, match):
        for name in names:
            if facts.get(_resource(made), name, namespace) is None and facts.get(_resource(made), name) is None:
                yield {"namespace": namespace, "fresh": name}
                break


def _orphans(*, cluster: bool, by_name: bool) -> Condition:
    """Bindings whose role is missing and may be created, or written by an update that creates."""

    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
        if by_name == (match.names("role") is None):
            return
        for binding in facts.orphans:
            role = binding.role
            wide = role.resource == CLUSTER_ROLES
            if wide != cluster or not match.allows("role", role.name) or not binding.subjects:
                continue
            if wide or match.namespace in (EVERYWHERE, binding.namespace):
                own = any(one in holder.principals for one in binding.subjects)
                yield {
                    "role": role.name,
                    "scope": binding.namespace,
                    "beneficiary": "" if own else text_of(binding.subjects[0]),
                    **({"namespace": binding.namespace} if binding.namespace else {}),
                }

    return found


def _workload_exists(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """An object that the holder may change, in the namespace; if allowed in all, one that exists anywhere."""
    if match.namespace == EVERYWHERE:
        yield {"workloads": EVERYWHERE}
    else:
        yield from workloads(facts, match)


def workloads(facts: ClusterFacts, match: VariantMatch) -> Iterator[Variables]:
    """A workload that the holder may change, in each namespace that has one."""
    met = match.met[0]
    for namespace in places_of_match(facts, match):
        found = next(
            (
                {
                    "namespace": namespace,
                    "workload": name_of(obj),
                    "resource": str(_resource(permission)),
                    "verb": permission.verb,
                }
                for permission, hold in met.holds(namespace)
                for obj in facts.scan(_resource(permission), namespace)
                if hold.names is None or name_of(obj) in hold.names
            ),
            None,
        )
        if found:
            yield found


def _operator(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """A namespace with a running pod whose service account has access beyond the namespace."""
    places = facts.once(_with_operators)
    if match.namespace == EVERYWHERE:
        yield from ({} for _ in places[:1])
    elif match.namespace in places:
        yield {"namespace": match.namespace}


def _with_operators(facts: ClusterFacts) -> Iterator[str]:
    """The namespaces with pods whose service accounts have cluster-wide rules that lead further."""
    for namespace, pods in facts.pods.items():
        accounts = {account for pod in pods for account in (facts.account_of(pod),) if account is not None}
        if any(enables_escalation(_wide(facts, account), facts.release) for account in accounts):
            yield namespace


def _wide(facts: ClusterFacts, account: Subject) -> tuple[Rule, ...]:
    grants = facts.grants(account)
    return tuple(rule for grant in grants if not grant.namespace for rule in grant.rules)


def _operator_workload(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    places = {found.get("namespace", EVERYWHERE) for found in _operator(facts, holder, match)}
    if places:
        yield from (one for one in workloads(facts, match) if places & {EVERYWHERE, one["namespace"]})


def _resource(permission: Any) -> GroupResource:
    return GroupResource(permission.group, permission.resource.partition("/")[0])


def places_of_match(facts: ClusterFacts, match: VariantMatch) -> tuple[str, ...]:
    """The namespaces in which a match holds."""
    return tuple(facts.enforced) if match.namespace == EVERYWHERE else (match.namespace,)


def _one_namespace(
    facts: ClusterFacts, holder: Holder, places: Collection[str], match: VariantMatch
) -> Iterator[Variables]:
    """The namespace of a match if it is among some; the first of them that admits the pods if the match is in all."""
    if match.namespace == EVERYWHERE:
        yield from islice(admitting(facts, holder, match, places), 1)
    elif match.namespace in places:
        yield from admitting(facts, holder, match, [match.namespace])


def admitting(
    facts: ClusterFacts,
    holder: Holder,
    match: VariantMatch,
    places: Iterable[str],
    pods: Pods = LEADING_TO_NODES,
) -> Iterator[Variables]:
    """The namespaces in which constraints, if there are any, admit a pod of the holder, with its account then."""
    written = [GroupResource(one.group, one.resource) for met in match.met for one, _ in met.holds(match.namespace)]
    created = next((one for one in written if one in POD_SPECS), None)
    for place in places:
        if facts.constraints is None or created is None:
            yield {"namespace": place}
            continue
        account = facts.constraints.account(place, holder.principals, pods, created)
        if account is not None:
            yield {"namespace": place, "some_account": account}


def _restricted(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    restricted = [name for name in facts.enforced if name not in facts.unrestricted and match.allows("labelled", name)]
    yield from _one_namespace(facts, holder, restricted, match)


def _restricted_with_accomplice(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    for found in _restricted(facts, holder, match):
        asked = Question("create", resource="pods", namespace=found["namespace"])
        others = sorted({answer.grant.subject for answer in facts.who(asked)} - holder.principals)
        if facts.constraints is not None:
            others = [one for one in others if _may_lead_to_nodes(facts, facts.constraints, one, found["namespace"])]
        if others:
            yield {**found, "accomplice": text_of(others[0])}


def _may_lead_to_nodes(facts: ClusterFacts, constraints: PodConstraints, who: Subject, namespace: str) -> bool:
    principals = principals_of(who, members_in(facts.snapshot, None))
    return constraints.account(namespace, principals, LEADING_TO_NODES, PODS) is not None


def _policy_parameters(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    for binding in facts.scan(POLICY_BINDINGS):
        reference = at(binding, "spec", "paramRef") or {}
        where = reference.get("namespace") or match.namespace
        if reference.get("name") and match.namespace in (EVERYWHERE, where):
            yield {"namespace": where, "object": reference["name"]}
            return


def _webhook_namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    for namespace, name in facts.once(_webhook_services):
        if match.namespace in (EVERYWHERE, namespace):
            yield {"namespace": namespace, "object": name}
            return


def _webhook_services(facts: ClusterFacts) -> Iterator[tuple[str, str]]:
    """The namespace and the name of each service that webhooks call."""
    for resource in (MUTATING, VALIDATING):
        for configuration in facts.scan(resource):
            for webhook in configuration.get("webhooks") or ():
                service = at(webhook, "clientConfig", "service") or {}
                if service:
                    yield service["namespace"], service.get("name") or ""


def _aws_auth(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    access = facts.snapshot.authorization.access
    counts = access is None or access.maps_objects
    if counts and facts.get(CONFIG_MAPS, "aws-auth", SYSTEM_NAMESPACE) is not None:
        yield {"namespace": SYSTEM_NAMESPACE}


CONDITIONS: Final[Mapping[str, Condition]] = {
    "": _if(lambda *_: True),
    "never": _if(lambda *_: False),
    "masters": _if(lambda _, holder: Subject(GROUP, MASTERS) in holder.principals),
    "everybody": _if(lambda _, holder: holder.state.name in EVERYBODY and bool(holder.held)),
    "bound-to-cluster-admin": _if(
        lambda _, holder: any(key.name == CLUSTER_ADMIN_ROLE and not scope for key, scope in holder.bound)
    ),
    "bound-to-role": _bound_to_role,
    "role-of-others": _role_of_others,
    "may-label": may_label,
    "free-name": _free_name,
    "gathered-for-oneself": gathered_for_oneself,
    "orphan-cluster-role": _orphans(cluster=True, by_name=False),
    "orphan-role": _orphans(cluster=False, by_name=False),
    "orphan-cluster-role-by-name": _orphans(cluster=True, by_name=True),
    "orphan-role-by-name": _orphans(cluster=False, by_name=True),
    "workload-exists": _workload_exists,
    "operator": _operator,
    "operator-workload": _operator_workload,
    "unrestricted-namespace": lambda facts, holder, match: _one_namespace(facts, holder, facts.unrestricted, match),
    "restricted-namespace": _restricted,
    "restricted-namespace-with-accomplice": _restricted_with_accomplice,
    "mutating-webhook-exists": _existing(
        MUTATING, "configuration", lambda match, one: match.allows("configuration", name_of(one))
    ),
    "policy-parameters": _policy_parameters,
    "webhook-namespace": _webhook_namespace,
    "aws-auth": _aws_auth,
    "released-volume": _existing(
        PERSISTENT_VOLUMES, "volume", lambda _, one: at(one, "status", "phase") in ("Available", "Released")
    ),
    "openshift": _if(lambda facts, _: facts.snapshot.authorization.provider == OPENSHIFT),
}
"""Conditions of primitives that an identity uses. Those on pods and nodes are decided by ``inherent_edges``."""
