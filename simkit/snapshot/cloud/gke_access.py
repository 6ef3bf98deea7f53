"""The access to a cluster on GKE: what an export grants by IAM, to whom, together with the objects of the cluster.

References
----------
"Authorize actions in clusters using role-based access control", "Configure Google Groups for RBAC", "Authenticate to
Google Cloud APIs from GKE workloads" in the documentation of Google Kubernetes Engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at
from simkit.seams.authorization import GOOGLE, AccessEntry, AccessPolicy, ProviderAccess
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud.gke import GkeExport, Grant, is_account, is_address
from simkit.snapshot.cloud.gke_denials import UNREAD, denials_of
from simkit.snapshot.cloud.gke_permissions import permissions_of, rules_of_permissions
from simkit.snapshot.cloud.output import (
    DEFINITIONS,
    NOT_TOLD,
    custom_resources,
    groups_of_members,
    service_accounts,
    split,
)

ANNOTATION: Final = "iam.gke.io/gcp-service-account"
"""The annotation of a service account with the service account of Google Cloud that its pods can become."""
ALL_USERS: Final = f"{GOOGLE}allAuthenticatedUsers"
"""The user that stands for everybody with a Google account."""
_IMPERSONATORS: Final = frozenset(("roles/iam.workloadIdentityUser", "roles/iam.serviceAccountTokenCreator"))
"""The roles with which a pod becomes a service account of Google Cloud."""
_SETTING_POLICIES: Final = tuple(
    f"resourcemanager.{one}.setIamPolicy" for one in ("projects", "folders", "organizations")
)
_SETTERS: Final = frozenset(
    (
        *("roles/owner", "roles/iam.securityAdmin", "roles/resourcemanager.projectIamAdmin"),
        *("roles/resourcemanager.folderIamAdmin", "roles/resourcemanager.organizationAdmin"),
    )
)
"""The predefined roles that may set IAM policies, where the export does not describe them."""
_POOL: Final = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/projects/\d+/locations/global/workloadIdentityPools/"
    r"([\w.:-]+\.svc\.id\.goog)/(?:subject/ns/([\w-]+)/sa/([\w.-]+)|namespace/([\w-]+)|kubernetes\.cluster/(\S+)|\*)",
    re.ASCII,
)
"""Pods as principals: one service account, those of a namespace, those of a cluster, or all of a pool."""
_POD: Final = re.compile(r"serviceAccount:([\w.:-]+\.svc\.id\.goog)\[([\w-]+)/([\w.-]+)\]", re.ASCII)


def access_of(export: GkeExport, snapshot: Snapshot) -> ProviderAccess:
    """The access that the policies, roles and service accounts give together."""
    return _Access(export, snapshot).found()


def _member(address: str) -> str:
    """The member of a binding that an address stands for."""
    return f"{'serviceAccount' if is_account(address) else 'user'}:{address}"


class _Access:
    """Makes the access of a cluster out of an export and objects."""

    def __init__(self, export: GkeExport, snapshot: Snapshot) -> None:
        self._export, self._snapshot = export, snapshot
        link = str(export.cluster.get("selfLink") or "")
        self._link = link.partition("/projects/")[2]
        self._project = self._link.partition("/")[0]
        self._other_name = export.numbers.get(self._project, "")
        """The number of the project, or its id where the link has the number; empty if it is not known."""
        self._pool = str(at(export.cluster, "workloadIdentityConfig", "workloadPool") or "")
        self._groups_count = at(export.cluster, "authenticatorGroupsConfig", "enabled") is True
        self._missing = list(dict.fromkeys(self._gaps()))
        self._partial = set[str]()
        """The groups that may have members who are not told."""
        self._untold = set[str]()
        """The members of groups of whom it is not told whether they are groups."""
        self._unknown: dict[tuple[str, str], None] = {}
        self._policies: dict[str, dict[AccessPolicy, None]] = {}
        self._setters: dict[str, bool] = {}
        """The members that may set IAM policies, and whether that is certain."""
        self._rules: dict[str, tuple[Object, ...]] = {}
        self._custom = custom_resources(snapshot)

    @cached_property
    def _newest(self) -> int:
        from simkit.snapshot.cloud.gke_conditions import newest_time  # the language of expressions

        return newest_time(self._export.cluster, self._snapshot)

    def _undecided(self, condition: str, expression: str) -> str | None:
        """Why it is not known whether a condition holds, empty if it holds, and None if it does not."""
        if not condition:
            return ""
        from simkit.snapshot.cloud.gke_conditions import decide

        holds = decide(expression, self._link, self._newest, self._other_name)
        return None if holds is False else "" if holds else condition

    def found(self) -> ProviderAccess:
        for grant in self._export.grants:
            self._grant(grant)
        self._groups = self._groups_of_members()
        if not self._groups_count:
            self._grant_members()
        counted = self._groups if self._groups_count else ()
        members = dict.fromkeys((*self._policies, *self._setters, *map(_member, counted)))
        found = {member: entry for member in members if (entry := self._entry(member)) is not None}
        changers = {
            f"{entry.kind.lower()}:{entry.name}": self._setters[member]
            for member, entry in found.items()
            if member in self._setters
        }
        entries = {entry.name: entry for entry in found.values()}
        pod_roles = tuple(dict.fromkeys(self._pod_roles(entries)))
        known, undecided = split(entries.values())
        others = (self._place, self._members(), self._pods, self._undecided, self._custom)
        denials = tuple(denials_of(self._export.denials, *others))
        self._missing += (f"{one.name}, {one.undecided}" for one in denials if one.undecided.startswith(UNREAD))
        return ProviderAccess(
            "GKE",
            str(self._export.cluster.get("name") or ""),
            known,
            tuple(self._missing),
            self._rules,
            tuple(self._unknown),
            pod_roles,
            undecided=undecided,
            denials=denials,
            changers=tuple(changers.items()),
        )

    def _members(self) -> dict[str, list[str]]:
        """The members of each group of which all are known."""
        members: dict[str, list[str]] = {one: [] for one in self._export.groups.values() if one not in self._partial}
        for address, mine in self._groups.items():
            for group in mine:
                if group in members:
                    members[group].append(address)
        return members

    def _gaps(self) -> Iterator[str]:
        export = self._export
        yield from export.broken
        if not export.cluster:
            yield "the description of the cluster is not in it (gcloud container clusters describe)"
        projects = [place.partition("/")[2] for place in export.places if place.startswith("projects/")]
        if not projects:
            yield "no policy is marked as that of the project (gcloud projects get-ancestors-iam-policy)"
        if DEFINITIONS not in self._snapshot.captured():
            yield "the custom resources are not known, since the dump has no definitions of them"
        told = [] if self._project.isdigit() else [one for one in projects if not one.isdigit()]
        if told and self._project and {self._project, self._other_name}.isdisjoint(projects):
            where = f"the cluster is in the project {self._project}, but the policies are those of {told[0]}"
            raise SimkitError(f"{where}; give the files of one project")
        others = [place for place in export.places if self._place(place) is None]
        if others:
            more = f" and {len(others) - 1:,} more" if others[1:] else ""
            yield f"the policy of {others[0]}{more}, another project than that of the cluster, counts for nothing"
        if any(place.startswith("folders/") for place in export.places) and not any(
            place.startswith("organizations/") for place in export.places
        ):
            yield "the policy of the organization is not in it"

    def _place(self, place: str) -> str | None:
        """Why it is not known whether a place is above the cluster, empty if it is, and None if it is not."""
        owner = place.removeprefix("projects/")
        if owner in (place, self._project, self._other_name) or not self._project:
            return ""
        if self._other_name or owner.isdigit() == self._project.isdigit():
            return None
        alone = place in self._export.places and sum(one.startswith("projects/") for one in self._export.places) == 1
        return "" if alone else f"if {place} is the project of the cluster"

    def _grant(self, grant: Grant) -> None:
        where = self._place(grant.place)
        if where is None:
            return
        described = grant.role in self._export.roles
        permissions = self._export.roles[grant.role] if described else permissions_of(grant.role)
        rules, strange = ((), ()) if permissions is None else rules_of_permissions(permissions, self._custom)
        sets = not {*(permissions or ())}.isdisjoint(_SETTING_POLICIES)
        sets = sets or (not described and grant.role in _SETTERS)
        open_ = self._undecided(grant.condition, grant.expression) if rules or sets or permissions is None else ""
        if open_ is None:
            return
        undecided = ", ".join(filter(None, (NOT_TOLD if permissions is None else "", where, open_)))
        place = f"in {grant.place}" if grant.place else ""
        for member in grant.members:
            if member.startswith("deleted:"):
                continue
            if sets:  # conditions of such grants limit the roles that may be given
                self._setters[member] = self._setters.get(member, False) or not (
                    grant.condition or where or self._export.denials
                )
            if rules:
                self._rules[grant.role] = rules
            if rules or undecided:
                policy = AccessPolicy(grant.role, (), place, undecided)
                self._policies.setdefault(member, {})[policy] = None
            for permission in strange:
                self._unknown[f"{grant.role} ({permission})", member] = None

    def _groups_of_members(self) -> dict[str, list[str]]:
        """The groups of each user and service account in described groups, by address, nested ones included."""
        export = self._export
        members: dict[str, list[str]] = {}
        for name in filter(export.memberships.__contains__, export.groups):
            members.setdefault(export.groups[name], []).extend(export.memberships[name])
        found, described = groups_of_members(members), set(export.groups.values())
        for group in sorted(described - members.keys()):
            self._partial.add(group)
            self._missing.append(
                f"the members of group:{group} are not in it (gcloud identity groups memberships list)"
            )
        for group in sorted((export.nested | described) & found.keys()):
            self._partial.update(found[group])
            told = f"the members of group:{group}, which is in group:{found.pop(group)[0]}"
            self._missing.append(f"{told}, are not in it")
        untold = sorted(found.keys() - export.single)
        self._untold.update(untold)
        for member in untold:  # a group or a user
            self._partial.update(found[member])
        if untold:
            told = f"whether {untold[0]} in group:{found[untold[0]][0]}" + (" and others are" if untold[1:] else " is")
            self._missing.append(f"{told} a user or a group is not in it (memberships list --view=full)")
        for name in sorted(export.memberships.keys() - export.groups.keys()):
            self._missing.append(f"the address of {name} is not in it (gcloud identity groups describe)")
        return found

    def _grant_members(self) -> None:
        """IAM grants to the members of a group, although requests to the cluster do not carry the group."""
        for address, names in self._groups.items():
            member = _member(address)
            for group in names:
                for policy in self._policies.get(f"group:{group}", ()):
                    place = f"{policy.place} by group:{group}".strip()
                    place += f", if {address} is a user" if address in self._untold else ""
                    self._policies.setdefault(member, {})[replace(policy, place=place)] = None
                certain = self._setters.get(f"group:{group}")
                if certain is not None:
                    self._setters[member] = self._setters.get(member, False) or certain

    def _entry(self, member: str) -> AccessEntry | None:
        """The principal that a member of a binding stands for; None if it cannot send requests to the cluster."""
        policies = tuple(self._policies.get(member, ()))
        kind, _, rest = member.partition(":")
        pods, pool = self._pods(member), _POOL.fullmatch(member)
        if pods or pool:
            if pool and pool[5] and self._is_cluster(pool[5]) is None:
                self._missing.append(
                    f"whether the cluster of {member} is this one is not in it (gcloud projects describe)"
                )
            name = f"{GOOGLE}{member}" if "{{" in pods else pods
            return AccessEntry(member, pods, (), policies, name) if pods else None
        if kind in ("user", "serviceAccount") and is_address(rest):
            mine = tuple(self._groups.get(rest, ())) if self._groups_count else ()
            return AccessEntry(member, rest, mine, policies, rest)
        if kind == "group" and is_address(rest):
            return AccessEntry(member, rest, (), policies, rest, "Group")
        if kind == "domain" and is_address(f"x@{rest}"):
            self._missing.append(f"which users besides those of @{rest} belong to {member} is not in it")
            return AccessEntry(member, f"{{{{user}}}}@{rest}", (), policies, f"{GOOGLE}{member}")
        if member in ("allUsers", "allAuthenticatedUsers"):
            return AccessEntry(member, "{{user}}@{{domain}}", (), policies, ALL_USERS)
        if member.startswith(("principal://", "principalSet://")):
            return AccessEntry(member, member, (), policies, member, "User" if kind == "principal" else "Group")
        self._missing.append(f"{member!r} is no member that is known")
        return None

    def _pods(self, member: str) -> str:
        """The user name of the pods that a member stands for, with templates where they are several; else empty."""
        if _POD.fullmatch(member):
            return member
        found = _POOL.fullmatch(member)
        pool, namespace, account, every, cluster = found.groups() if found else ("", "", "", "", "")
        if not pool or (cluster is not None and not self._is_cluster(cluster)):
            return ""
        return f"serviceAccount:{pool}[{namespace or every or '{{namespace}}'}/{account or '{{account}}'}]"

    def _is_cluster(self, link: str) -> bool | None:
        """Whether a link is that of the cluster, None if that depends on the number of the project."""
        project, _, rest = link.partition("/projects/")[2].partition("/")
        if rest != self._link.partition("/")[2]:
            return False
        known = self._other_name or project.isdigit() == self._project.isdigit()
        return project in (self._project, self._other_name) if known else None

    def _spellings(self, namespace: str, name: str) -> tuple[str, ...]:
        """The user names, without and with templates, that stand for the pods of a service account."""
        places = ((namespace, name), (namespace, "{{account}}"), ("{{namespace}}", "{{account}}"))
        return tuple(f"serviceAccount:{self._pool}[{one}/{other}]" for one, other in places)

    def _pod_roles(self, entries: Mapping[str, AccessEntry]) -> Iterator[tuple[str, str, str]]:
        """What pods become with Workload Identity: their own principal, and an annotated account that lets them."""
        users = {entry.user for entry in entries.values()}
        for namespace, name, notes in service_accounts(self._snapshot) if self._pool else ():
            spellings = self._spellings(namespace, name)
            if not users.isdisjoint(spellings):
                yield namespace, name, spellings[0]
            annotated = str(notes.get(ANNOTATION) or "").lower()
            if is_account(annotated) and self._may_become(annotated, namespace, name):
                yield namespace, name, annotated

    def _may_become(self, account: str, namespace: str, name: str) -> bool:
        """True if a policy lets a service account of the cluster become one of Google Cloud."""
        own, spellings = self._export.of_accounts.get(account), set(self._spellings(namespace, name))
        wide = account.partition("@")[2] == f"{self._project}.iam.gserviceaccount.com"
        answers = [
            not (grant.condition or self._place(grant.place))
            for grant in (*(own or ()), *(self._export.grants if wide else ()))
            if grant.role in _IMPERSONATORS
            and self._place(grant.place) is not None
            and not spellings.isdisjoint(map(self._pods, grant.members))
        ]
        if not any(answers) and (own is None or answers):
            why = "conditions decide" if answers else f"its policy is not in it ({account}.json)"
            self._missing.append(f"whether sa:{namespace}/{name} can become {account}, since {why}")
        return any(answers)
