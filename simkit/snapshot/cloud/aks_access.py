"""The access to a cluster on AKS: what an export grants by Azure, to whom, together with the objects of the cluster.

References
----------
"Cluster authorization concepts", "Limit access to cluster configuration file", "Manage local accounts", "Use Microsoft
Entra Workload ID" in the documentation of Azure Kubernetes Service; "Understand scope for Azure RBAC".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from simkit.meta.identity import MASTERS, service_account_user
from simkit.meta.objects import Object, at
from simkit.seams.authorization import AZURE, CREDENTIALS, AccessEntry, AccessPolicy, Denial, Named, ProviderAccess
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud.aks import AksExport, Assignment, field_of, is_id
from simkit.snapshot.cloud.aks_denials import (
    EVERYBODY,
    DenyAssignment,
    Principal,
    all_of,
    why_undecided,
)
from simkit.snapshot.cloud.aks_roles import CLUSTERS, Role, built_in_roles
from simkit.snapshot.cloud.output import (
    EVERYTHING,
    NOT_TOLD,
    custom_resources,
    groups_of_members,
    service_accounts,
    split,
)

ANNOTATION: Final = "azure.workload.identity/client-id"
"""The annotation of a service account with the client id of the identity that its pods use."""
_ADMINISTRATORS: Final = "administrators of the cluster"
_ADMIN_ACTIONS: Final = ("listclusteradmincredential/action", "accessprofiles/listcredential/action")
_ADMIN_ACTIONS_WITHOUT_ENTRA: Final = ("listclusterusercredential/action", "runcommand/action")
"""The actions that make an administrator, too, where the cluster does not ask Microsoft Entra ID who somebody is."""
_CHANGES: Final = ("microsoft.authorization/roleassignments/write", f"{CLUSTERS.rstrip('/')}/write")
"""The actions by which somebody gives away all access: to write role assignments, or the cluster itself."""
_CHANGERS: Final = ("18d7d88d-d35e-4fb5-a5c3-7773c20a72d9", "f58310d9-a9f6-439a-9e8d-f62e7b41a168")
"""The built-in roles that write role assignments and grant nothing else: the administrators of access."""
_GROUPS: Final = ("Group", "ForeignGroup")
_USERS: Final = ("User", "ServicePrincipal", "MSI", "")
"""The types of principals that send requests; outputs of old versions have none."""
_BELOW: Final = re.compile(r"/(?:namespaces|managednamespaces)/([\w-]+)")


def access_of(export: AksExport, snapshot: Snapshot) -> ProviderAccess:
    """The access that the assignments, roles and identities give together."""
    return _Access(export, snapshot).found()


class _Access:
    """Makes the access of a cluster out of an export and objects."""

    def __init__(self, export: AksExport, snapshot: Snapshot) -> None:
        self._export, self._snapshot = export, snapshot
        self._cluster = export.cluster
        self._id = next(iter(export.names), "")
        entra = field_of(self._cluster, "aadProfile")
        self._entra = entra if isinstance(entra, Mapping) else {}
        self._by_azure = field_of(self._entra, "enableAzureRbac", "enableAzureRBAC") is True
        local = bool(self._cluster) and self._cluster.get("disableLocalAccounts") is not True
        without = () if self._entra else _ADMIN_ACTIONS_WITHOUT_ENTRA
        self._admin_actions = (*_ADMIN_ACTIONS, *without) if local else ()
        told = (*(one.who for one in export.assignments), *(one for some in export.members.values() for one in some))
        self._names = {one.principal: one.name for one in sorted(told, reverse=True) if one.name}
        """The names of principals; of those that differ by the size of letters, the same one everywhere."""
        self._missing = list(dict.fromkeys(self._gaps()))
        self._unknown: dict[tuple[str, str], None] = {}
        self._rules: dict[str, tuple[Object, ...]] = {}
        self._entries: dict[tuple[str, str], dict[AccessPolicy, None]] = {}
        self._changers: dict[str, bool] = {}
        self._administrators: dict[Named, tuple[str, ...]] = {}
        """Those who get the credentials of an administrator, with the actions by which they do."""
        self._custom = custom_resources(snapshot)

    def found(self) -> ProviderAccess:
        self._groups = self._groups_of_members()
        self._denials = tuple(self._denied())
        for assignment in sorted(self._export.assignments):
            self._assign(assignment)
        self._bind_administrators()
        for one, mine in self._groups.items():
            for (kind, name), actions in tuple(self._administrators.items()):
                if kind == "Group" and name in mine:
                    self._administer(one, f"group:{name}", "", "", actions)
        known, undecided = split(
            AccessEntry(
                name,
                name,
                (*self._groups.get((kind, name), ()), *((MASTERS,) if (kind, name) in self._administrators else ())),
                tuple(given),
                name,
                kind,
            )
            for (kind, name), given in self._entries.items()
        )
        name = str(self._cluster.get("name") or "")
        pod_roles, unknown = tuple(dict.fromkeys(self._pod_roles())), tuple(self._unknown)
        denials = tuple(one for _, one in self._denials if one.rules)
        return ProviderAccess(
            "AKS",
            name,
            known,
            tuple(dict.fromkeys(self._missing)),
            self._rules,
            unknown,
            pod_roles,
            undecided=undecided,
            denials=denials,
            changers=tuple(self._changers.items()),
        )

    def _denied(self) -> Iterator[tuple[DenyAssignment, Denial]]:
        """The blocks of deny assignments that hold for the cluster or a part of it."""
        for one in self._export.denials:
            namespace, undecided = self._namespace(one.scope), why_undecided(one.condition)
            elsewhere = one.here_only and self._is_above(one.scope)
            if namespace is None or elsewhere or undecided is None or not one.enforced:
                continue
            rules = Role("", (one.permissions,)).rules(self._snapshot.release, self._custom) if self._by_azure else ()
            subjects, unread = self._named(one.principals)
            excepted, unread_exceptions = self._named(one.excluded)
            everybody = any(each.principal == EVERYBODY for each in one.principals)
            places = (namespace,) if namespace else ()
            words = f"the deny assignment {one.name!r} at {one.scope or '/'}"
            listed = (words, subjects, excepted, everybody, unread, unread_exceptions, rules, places, undecided)
            yield one, Denial(*listed)

    def _named(self, principals: Sequence[Principal]) -> tuple[frozenset[Named], bool]:
        """Those whom principals stand for in the cluster, and whether others are among them who are not known."""
        names, unread = set[Named](), False
        for one in principals:
            if one.kind in _GROUPS:
                names.add(("Group", one.principal))
                names |= {member for member, mine in self._groups.items() if one.principal in mine}
                unread = unread or one.principal not in self._export.members
            elif one.principal != EVERYBODY:
                names |= {("User", one.principal), ("User", f"{AZURE}{one.principal}")}
                names |= {("User", name) for name in filter(None, (self._names.get(one.principal),))}
        return frozenset(names), unread

    def _denied_all(self, subject: Named, actions: Collection[str]) -> tuple[bool | None, str]:
        """Whether none of some actions is left to somebody, None if that is not known; and the denial."""
        names = frozenset((subject, *(("Group", name) for name in self._groups.get(subject, ()))))
        answer: tuple[bool | None, str] = True, ""
        for action in actions:
            found: tuple[bool | None, str] = False, ""
            for one, denial in self._denials:
                holds = denial.holds_for(names, some_member=subject[0] == "Group")
                if holds is not False and found[0] is not True and Role("", (one.permissions,)).does(action):
                    found = (None if denial.undecided else holds), denial.name
            if found[0] is False:
                return found
            answer = found if found[0] is None else answer
        return answer

    def _gaps(self) -> Iterator[str]:
        export = self._export
        yield from export.broken
        if not export.cluster:
            yield "the description of the cluster is not in it (az aks show)"
        if not any(self._is_above(one.scope) for one in export.assignments):
            yield "no role assignment above the cluster is in it (az role assignment list --include-inherited)"

    def _is_above(self, scope: str) -> bool:
        """True for the subscription, the resource group and the management groups of the cluster."""
        scope = scope.lower()
        groups = "/providers/microsoft.management/managementgroups/"
        return scope == "" or scope.startswith(groups) or (scope != self._id and self._id.startswith(f"{scope}/"))

    def _namespace(self, scope: str) -> str | None:
        """The namespace of a scope, empty for the whole cluster; None if it is not a scope of the cluster."""
        if not self._id or self._is_above(scope) or scope.lower() == self._id:
            return ""
        below = _BELOW.fullmatch(scope.lower().removeprefix(self._id)) if scope.lower().startswith(self._id) else None
        return below.group(1) if below else None

    def _assign(self, one: Assignment) -> None:
        """Assign a role; its blocks with conditions of which it is not known whether they hold count as other roles."""
        role = self._export.roles.get(one.role) or built_in_roles().get(one.role)
        namespace, parts = self._namespace(one.scope), dict[str, Role | None]()
        for own, part in role.parts() if role is not None and role.permissions else (("", role),):
            condition = all_of(one.condition, own)
            if namespace == "":
                self._note_changer(one._replace(condition=condition), part)
            why = why_undecided(condition)
            if why is not None:
                key = condition if why else ""
                before = parts.get(key)
                parts[key] = part and part._replace(
                    permissions=(before.permissions if before else ()) + part.permissions
                )
        for condition, part in parts.items():
            named = f"{part.name} (on {condition})" if part and condition and len(parts) > 1 else ""
            self._assign_part(one, part._replace(name=named) if part and named else part, condition)

    def _assign_part(self, one: Assignment, role: Role | None, condition: str) -> None:
        namespace = self._namespace(one.scope)
        if namespace is None or not (self._by_azure or self._admin_actions) or (role and not role.permissions):
            return
        name = (role.name if role else "") or one.role_name or one.role
        rules = role.rules(self._snapshot.release, self._custom) if role is not None and self._by_azure else ()
        actions = tuple(filter(role.may, self._admin_actions)) if role is not None and not namespace else ()
        if role is not None and not (rules or actions):
            return
        open_ = why_undecided(condition)
        undecided, subject = ", ".join(filter(None, ("" if role else NOT_TOLD, open_))), self._subject(one.who)
        if subject is None:
            if undecided:
                self._unknown[name, one.who.principal] = None
            return
        given, place = self._entries.setdefault(subject, {}), f"at {one.scope or '/'}"
        if rules:
            self._rules[name] = rules
        if rules or role is None:
            given[AccessPolicy(name, (namespace,) if namespace else (), place, undecided)] = None
        if actions:
            self._administer(subject, name, place, undecided, actions)

    def _note_changer(self, one: Assignment, role: Role | None) -> None:
        """Note somebody who may write role assignments or the cluster; conditions limit the roles that may be given."""
        changes = [action for action in _CHANGES if role is not None and role.does(action)]
        if one.role in _CHANGERS and one.role not in self._export.roles:
            changes = [*_CHANGES[:1]]
        subject = self._subject(one.who) if changes else None
        if subject is None:
            return
        denied = self._denied_all(subject, changes)[0]
        if denied is not True:
            text = f"{subject[0].lower()}:{subject[1]}"
            self._changers[text] = self._changers.get(text, False) or (denied is False and not one.condition)

    def _administer(self, subject: Named, name: str, place: str, undecided: str, actions: tuple[str, ...]) -> None:
        """Make somebody an administrator who may get the credentials of one, if that is not denied."""
        denied, by = self._denied_all(subject, [f"{CLUSTERS}{action}" for action in actions])
        if denied is None or undecided:
            why = undecided or f"unless {by} denies it"
            policy = AccessPolicy(f"{name} {CREDENTIALS}", (), place, why)
            self._entries.setdefault(subject, {})[policy] = None
        elif not denied:
            self._administrators[subject] = actions

    def _subject(self, one: Principal) -> tuple[str, str] | None:
        """The kind and the name of a principal in the cluster; None if it is not known."""
        name = self._names.get(one.principal, "")
        if one.kind in _GROUPS:
            return "Group", one.principal
        if one.kind not in _USERS or not (one.kind or "@" in name):
            self._missing.append(f"who the {one.kind or 'principal'} {one.principal} is in the cluster is not in it")
            return None
        if one.kind == "User" and not name:
            self._missing.append(f"the name of the user {one.principal} is not in it")
            return "User", f"{AZURE}{one.principal}"
        is_member = one.kind != "ServicePrincipal" and "@" in name and "#EXT#" not in name.upper()
        return "User", name if is_member else one.principal

    def _groups_of_members(self) -> dict[tuple[str, str], list[str]]:
        """The groups of each user and application in described groups, nested ones included."""
        members = self._export.members
        known = {one.principal: one for some in members.values() for one in some}
        found: dict[tuple[str, str], list[str]] = {}
        for principal, groups in groups_of_members(
            {group: [one.principal for one in some] for group, some in members.items()}
        ).items():
            if known[principal].kind in _GROUPS:
                self._missing.append(f"the members of group:{principal}, which is in group:{groups[0]}, are not in it")
            elif (subject := self._subject(known[principal])) is not None:
                found[subject] = groups
                self._entries.setdefault(subject, {})
        return found

    def _bind_administrators(self) -> None:
        """The groups that the cluster names as its administrators, in a binding that AKS keeps in the cluster."""
        listed = field_of(self._entra, "adminGroupObjectIDs", "adminGroupObjectIds")
        for group in listed if isinstance(listed, list) else ():
            if isinstance(group, str) and is_id(group.lower()):
                self._rules[_ADMINISTRATORS] = EVERYTHING
                given = self._entries.setdefault(("Group", group.lower()), {})
                given[AccessPolicy(_ADMINISTRATORS, (), "by adminGroupObjectIDs")] = None

    def _pod_roles(self) -> Iterator[tuple[str, str, str]]:
        """What pods become: the identities whose federated credentials trust their service account."""
        enabled = at(self._cluster, "securityProfile", "workloadIdentity", "enabled") is True
        profile = self._cluster.get("oidcIssuerProfile")
        url = field_of(profile, "issuerUrl", "issuerURL") if isinstance(profile, Mapping) else None
        issuer = url.rstrip("/") if isinstance(url, str) else ""
        export = self._export
        trusted: dict[str, list[str]] = {}
        for identity, pairs in export.trusted.items():
            for trusts, subject in pairs:
                if trusts.rstrip("/") == issuer and identity in export.identities:
                    trusted.setdefault(subject, []).append(export.identities[identity][1])
        clients = {client for client, _ in export.identities.values()}
        for namespace, name, notes in service_accounts(self._snapshot) if enabled and issuer else ():
            for principal in trusted.get(service_account_user(namespace, name), ()):
                yield namespace, name, principal
            client = notes.get(ANNOTATION)
            if isinstance(client, str) and is_id(client.lower()) and client not in clients:
                told = f"whether sa:{namespace}/{name} can become the identity with the client id {client}"
                self._missing.append(f"{told}, which is not in it")
