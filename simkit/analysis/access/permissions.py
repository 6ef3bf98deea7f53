"""The rules that a subject has, with the bindings and roles that give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.access.constraint_lists import rules_of_lists
from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES, NAMESPACED_VERBS
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import about_access, with_caveats
from simkit.analysis.rbac.index import (
    MASTERS_GROUP,
    chain_of,
    identity_with_members,
    index_of,
    members_in,
    principals_of,
)
from simkit.analysis.rbac.objects import EVERYWHERE, NO_BINDING, kind_of, no_binding
from simkit.analysis.rbac.subject import Members, text_of
from simkit.analysis.rbac.tables import table
from simkit.analysis.rbac.unknown_names import check_namespace, known_subject
from simkit.logic.authorizers.chain import OtherAuthorizer
from simkit.logic.rbac.binding import ACCESS_ENTRIES, GROUP, Grant, Subject
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import RuleList
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.identity import Identity
from simkit.schema.catalogue import Catalogue
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = (
    "scope",
    "verbs",
    "api_groups",
    "resources",
    "resource_names",
    "urls",
    "effective",
    "via_group",
    "binding_kind",
    "binding",
    "role_kind",
    "role",
    "rule",
)


@about_access()
def permissions(
    snapshot: Snapshot, subject: Subject | str, *, namespace: str | None = None, members: Members | None = None
) -> pd.DataFrame:
    """All rules that a subject has, its own or a group's.

    Parameters
    ----------
    subject
        ``alice``, ``group:devs``, ``sa:ns/name`` or a ``Subject``.
    namespace
        Only the rules that hold in this namespace, those for everywhere among them; left out: in any.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    DataFrame
        One row per grant and rule: scope (a namespace, or ``*`` for everywhere); verbs, api_groups, resources,
        resource_names, urls as tuples; effective, False for a rule that does nothing where it is bound (URLs and
        resources without a namespace in a RoleBinding); via_group, the group (``group:devs``) that has it, empty where
        a binding names the subject itself; binding_kind, binding, role_kind, role, rule. A binding whose role is
        missing has one row with rule -1.
        Members of ``system:masters`` have a row for that. ``attrs["incomplete"]`` is the reason for which further
        permissions may exist, as a SelfSubjectRulesReview tells it; empty if the rows are all.

    Raises
    ------
    SimkitError
        For a text that names no subject, and an empty namespace.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    O(rules of the grants of the subject and its groups).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.permissions("user:ann").loc[0, ["scope", "verbs", "binding"]].tolist()
    ['*', ('create',), 'system:basic-user']
    """
    members = members_in(snapshot, members)
    index, who, catalogue = index_of(snapshot), known_subject(snapshot, subject), catalogue_of(snapshot)
    chain = chain_of(snapshot)
    check_namespace(snapshot, namespace)
    rows: list[tuple[Any, ...]] = []
    principals = tuple(principals_of(who, members))
    for principal in principals:
        via = text_of(principal) if principal.kind == GROUP and principal != who else ""
        if principal == MASTERS_GROUP:
            rows.append((EVERYWHERE, *[(ALL,)] * 3, (), (ALL,), True, via, "", NO_BINDING, "", "", -1))
        for grant in index.grants_of_subject(principal) if chain.has_rbac else ():
            rows += _rows(_left(index, grant, who, principals) if via else grant, via, catalogue)
        rows += rules_of_lists(snapshot, principal, via)
    identity = identity_with_members(who, members)
    for other in chain.others:
        rows += _rows_of_other(other, identity)
    places = (EVERYWHERE, namespace)
    found = table([row for row in rows if namespace is None or row[0] in places], COLUMNS)
    reason = found.attrs["incomplete"] = chain.incomplete(identity, namespace or "")
    return with_caveats(found, [Caveat("incomplete-rules", f"Incomplete: {reason}.")] if reason else ())


def _left(index: AccessIndex, grant: Grant, member: Subject, principals: Iterable[Subject]) -> Grant:
    """A grant to a group as it is for a member: without what statements of the provider deny the member."""
    entries = index.entries
    if entries is None or grant.binding.resource not in ACCESS_ENTRIES:
        return grant
    groups = [one.name for one in principals if one.kind == GROUP]
    role = entries.left(grant.role.name, *member.principal, groups, grant.namespace)
    return grant._replace(role=grant.role._replace(name=role), rules=entries.rules(role))


def _rows_of_other(other: OtherAuthorizer, identity: Identity) -> Iterator[tuple[Any, ...]]:
    """The rules that an authorizer besides RBAC lists for an identity, everywhere and in the namespaces it knows."""
    wide = [*_entries(other.authorizer.rules_for(identity, ""))]
    for scope in ("", *other.namespaces):
        for entry in _entries(other.authorizer.rules_for(identity, scope)) if scope else wide:
            if scope and entry in wide:
                continue
            rule = Rule.of(entry)
            lists = (rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.paths)
            yield (scope or EVERYWHERE, *lists, True, "", "", no_binding(other.mode), "", "", -1)


def _entries(rules: RuleList) -> Iterator[Mapping[str, Any]]:
    yield from rules.resource_rules
    yield from rules.path_rules


def _rows(grant: Grant, via: str, catalogue: Catalogue) -> list[tuple[Any, ...]]:
    scope, binding, role = grant.namespace or EVERYWHERE, grant.binding, grant.role
    end = (via, kind_of(binding), binding.name, kind_of(role), role.name)
    if grant.missing:
        return [(scope, (), (), (), (), (), False, *end, -1)]
    return [
        (
            *(scope, rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.paths),
            *(is_effective(rule, grant.namespace, catalogue), *end, number),
        )
        for number, rule in enumerate(grant.rules)
    ]


def is_effective(rule: Rule, namespace: str, catalogue: Catalogue) -> bool:
    """True if a rule has an effect in the scope of its binding.

    In a namespace neither URLs nor resources without a namespace can be granted, except the namespace itself.
    """
    if not namespace:
        return True
    if not rule.resources:
        return False
    if {ALL, *NAMESPACED_VERBS} & set(rule.verbs) and RBAC_GROUP in rule.api_groups:
        return True  # bind is asked of cluster roles in the namespace of the binding
    return any(_lives_in_namespaces(resource, rule.api_groups, catalogue) for resource in rule.resources)


def _lives_in_namespaces(resource: str, groups: tuple[str, ...], catalogue: Catalogue) -> bool:
    """True if requests for the resource carry a namespace; for an unknown resource, True."""
    plural = resource.partition("/")[0]
    if ALL in (plural, *groups) or (plural == "namespaces" and "" in groups):
        return True
    known = [one for group in groups for one in catalogue.resources(group) if one.resource == plural]
    virtual = plural in AUTHORIZATION_RESOURCES and AUTHORIZATION_RESOURCES[plural].api_group in groups
    return any(one.namespaced for one in known) if known else not virtual
