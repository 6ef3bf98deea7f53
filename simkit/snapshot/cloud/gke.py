"""The access that GKE grants by IAM: allow policies and roles, members of groups, and Workload Identity.

A request is allowed if RBAC or IAM allows it. Users, service accounts of Google Cloud and, with Google Groups for RBAC,
groups have the names in the cluster that they have in IAM: their e-mail addresses.

References
----------
"Create IAM allow policies", "GKE API permissions", "Authorize actions in clusters using role-based access control",
"Configure Google Groups for RBAC", "Authenticate to Google Cloud APIs from GKE workloads" in the documentation of
Google Kubernetes Engine; "Policy" and "Principal identifiers" in that of IAM; datasets/providers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.seams.authorization import GOOGLE, AccessEntry, AccessPolicy, ProviderAccess
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud.gke_denials import UNREAD, condition_of, denials_of, is_deny_policy
from simkit.snapshot.cloud.gke_permissions import permissions_of, rules_of_permissions
from simkit.snapshot.cloud.output import (
    DEFINITIONS,
    FOLDER,
    NOT_TOLD,
    Unexpected,
    custom_resources,
    groups_of_members,
    mapping,
    mappings,
    optional_text,
    split,
    text,
    texts,
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
_NO_GROUPS: Final = ("USER", "SERVICE_ACCOUNT", "SHARED_DRIVE", "CBCM_BROWSER")
"""The types of members of groups that have no members themselves."""
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_ADDRESS: Final = re.compile(r"[^\s@/:\[\]()]+@[\w.-]+", re.ASCII)
_POOL: Final = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/projects/\d+/locations/global/workloadIdentityPools/"
    r"([\w.:-]+\.svc\.id\.goog)/(?:subject/ns/([\w-]+)/sa/([\w.-]+)|namespace/([\w-]+)|kubernetes\.cluster/(\S+)|\*)",
    re.ASCII,
)
"""Pods as principals: one service account, those of a namespace, those of a cluster, or all of a pool."""
_POD: Final = re.compile(r"serviceAccount:([\w.:-]+\.svc\.id\.goog)\[([\w-]+)/([\w.-]+)\]", re.ASCII)
_AGENT: Final = re.compile(r"serviceAccount:service-(\d+)@container-engine-robot\.iam\.gserviceaccount\.com", re.ASCII)
_AGENT_ROLE: Final = "roles/container.serviceAgent"
"""The service agent of GKE, whose address has the number of the project, and its role in the project."""
_ROLE: Final = re.compile(r"(?:(?:projects|organizations)/[\w.:-]+/)?roles/[\w.]+", re.ASCII)

_UNUSED: Final = frozenset(("projectNumber", "oauth2ClientId", "nodePools", "validMasterVersions"))
"""What outputs of other commands hold, which say nothing about access to the cluster."""

COMMANDS: Final = f"""\
: "${{PROJECT:?set PROJECT to the project of the GKE cluster}}"
: "${{LOCATION:?set LOCATION to the region or zone of the GKE cluster}}"
: "${{CLUSTER:?set CLUSTER to the name of the GKE cluster}}"
mkdir -p {FOLDER}
gcloud container clusters describe "$CLUSTER" --project "$PROJECT" --location "$LOCATION" \\
  --format=json > {FOLDER}/cluster.json
gcloud projects describe "$PROJECT" --format=json > {FOLDER}/project.json
gcloud beta projects get-ancestors-iam-policy "$PROJECT" --include-deny --format=json > {FOLDER}/policies.json
for role in $(gcloud projects get-ancestors-iam-policy "$PROJECT" --flatten='policy.bindings[]' \\
    --format='value(policy.bindings.role)' | sort -u); do
  owner=${{role%/roles/*}} id=${{role##*/}}
  case "$role" in
    roles/*) gcloud iam roles describe "$role" --format=json ;;
    projects/*) gcloud iam roles describe "$id" --project "${{owner#projects/}}" --format=json ;;
    organizations/*) gcloud iam roles describe "$id" --organization "${{owner#organizations/}}" --format=json ;;
  esac
done > {FOLDER}/roles.json
for account in $(gcloud iam service-accounts list --project "$PROJECT" --format='value(email)'); do
  gcloud iam service-accounts get-iam-policy "$account" --project "$PROJECT" --format=json > "{FOLDER}/$account.json"
done
{{ printf '[\\n]\\n'
for group in ${{GOOGLE_GROUPS:-}}; do  # addresses of groups whose members shall be known, if you like
  gcloud identity groups describe "$group" --format=json
  gcloud identity groups memberships list --group-email="$group" --view=full --format=json
done; }} > {FOLDER}/groups.json
"""
"""The shell commands that write the export of a GKE cluster into a folder."""


class _Grant(NamedTuple):
    """A binding of an allow policy: its place (``projects/acme``), role, members, and its condition in words."""

    place: str
    role: str
    members: tuple[str, ...]
    condition: str
    expression: str = ""


@dataclass
class GkeExport:
    """What the outputs say, before it is known what the cluster makes of it."""

    provider: str = "GKE"
    names: dict[str, None] = field(default_factory=dict)
    cluster: Mapping[str, Any] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    """The number of each project by its id, and the id by the number, where an output tells both."""
    places: dict[str, None] = field(default_factory=dict)
    """The project, folders and organization whose policies were read; empty for one that does not tell its place."""
    grants: list[_Grant] = field(default_factory=list)
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The permissions of described roles, those that all descriptions have."""
    doubtful: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The permissions that any description has, of roles whose descriptions differ."""
    of_accounts: dict[str, list[_Grant]] = field(default_factory=dict)
    """The bindings of the policies of service accounts of Google Cloud, by address."""
    groups: dict[str, str] = field(default_factory=dict)
    """The addresses of described groups by their names in the API."""
    memberships: dict[str, dict[str, None]] = field(default_factory=dict)
    """The addresses of members by the names of groups in the API."""
    nested: set[str] = field(default_factory=set)
    """The addresses of members that are groups."""
    single: set[str] = field(default_factory=set)
    """The addresses of members that are none."""
    denials: dict[str, tuple[str, list[Any]]] = field(default_factory=dict)
    """The deny policies by name: their place, and their rules, one that is no object where they are not told."""
    broken: list[str] = field(default_factory=list)

    @property
    def modes(self) -> tuple[str, ...]:
        """The authorizers besides IAM; with legacy authorization, also rules that nothing tells."""
        return ("Node", "RBAC", "ABAC") if at(self.cluster, "legacyAbac", "enabled") is True else ("Node", "RBAC")

    def take(self, output: Mapping[str, Any], file: str) -> bool:
        """Read one output; False if it is none of GKE or IAM."""
        if "currentMasterVersion" in output or ("nodePools" in output and "name" in output):
            self._take_cluster(output)
        elif output.keys() == {"nextPageToken"}:
            self.broken.append("a list has further pages")
        elif "projectNumber" in output and "projectId" in output:
            self._pair(text(output, "projectId"), str(output["projectNumber"]))
        elif self.says_nothing(output):
            return False
        elif isinstance(output.get("policy"), Mapping) and ("type" in output or "resource" in output):
            self._take_placed(output)
        elif is_deny_policy(output):
            self._take_denials(output, "")
        elif "bindings" in output or set(output) in ({"etag"}, {"etag", "version"}):
            self._take_policy(output, PurePath(file).stem)
        elif "includedPermissions" in output or _ROLE.fullmatch(str(output.get("name"))):
            self._take_role(output)
        elif "groupKey" in output:
            self.groups[text(output, "name")] = text(mapping(output, "groupKey"), "id").lower()
        elif "preferredMemberKey" in output:
            group, _, _ = text(output, "name").partition("/memberships/")
            member = text(mapping(output, "preferredMemberKey"), "id").lower()
            self.memberships.setdefault(group, {})[member] = None
            if output.get("type") == "GROUP":
                self.nested.add(member)
            elif output.get("type") in _NO_GROUPS or _is_account(member):
                self.single.add(member)
        else:
            return False
        return True

    def _pair(self, one: str, other: str) -> None:
        if one.isdigit() != other.isdigit():
            self.numbers |= {one: other, other: one}

    def says_nothing(self, output: Mapping[str, Any]) -> bool:
        """True for descriptions of projects, service accounts and node pools, and for policies of buckets."""
        kind = str(output.get("kind"))
        return kind.startswith("storage#") or not _UNUSED.isdisjoint(output)

    def _take_cluster(self, output: Mapping[str, Any]) -> None:
        self.names[optional_text(output, "selfLink") or text(output, "name")] = None
        self.cluster = output

    def _take_placed(self, output: Mapping[str, Any]) -> None:
        """One of get-ancestors-iam-policy, or one of ``gcloud asset search-all-iam-policies``."""
        resource = optional_text(output, "resource")
        if resource:
            if "/cloudresourcemanager.googleapis.com/projects/" in resource:
                self._pair(resource.rpartition("/")[2], optional_text(output, "project").rpartition("/")[2])
            self._take_policy(mapping(output, "policy"), resource.rpartition("/")[2], resource)
            return
        kind, place = text(output, "type"), text(output, "id")
        if kind not in ("project", "folder", "organization"):
            raise Unexpected(f"{kind!r} is no project, folder or organization")
        policy = mapping(output, "policy")
        if is_deny_policy(policy):
            self._take_denials(policy, f"{kind}s/{place}")
        else:
            self._add(f"{kind}s/{place}", policy)

    def _take_denials(self, policy: Mapping[str, Any], place: str) -> None:
        name = unquote(optional_text(policy, "name")) or f"{len(self.denials)} without a name"
        attached = re.search(r"/((?:projects|folders|organizations)/[^/]+)/denypolicies/", name)
        told, rules = self.denials.get(name), policy.get("rules")
        if place.startswith("projects/") and attached is not None:
            self._pair(place.removeprefix("projects/"), attached.group(1).partition("/")[2])
        place = place or (told[0] if told else "") or (attached.group(1) if attached else "")
        listed = rules if isinstance(rules, list) else [None]
        if told and listed != told[1] and told[1] != [None]:
            listed = told[1] if "rules" not in policy else [None]  # two that differ
        self.denials[name] = place, listed

    def _take_policy(self, policy: Mapping[str, Any], name: str, resource: str = "") -> None:
        if _is_account(name.lower()):
            self.of_accounts.setdefault(name.lower(), []).extend(_grants(f"serviceAccounts/{name}", policy))
        elif resource:
            found = re.search(r"/((?:projects|folders|organizations)/[^/]+)$", resource)
            if found is None:
                return  # of a resource that grants nothing in clusters
            self._add(found.group(1), policy)
        else:
            self._add("", policy)

    def _add(self, place: str, policy: Mapping[str, Any]) -> None:
        self.places[place] = None
        grants = list(_grants(place, policy))
        self.grants += grants
        agents = {_AGENT.fullmatch(one) for each in grants if each.role == _AGENT_ROLE for one in each.members}
        numbers = {one.group(1) for one in agents if one is not None}
        if place.startswith("projects/") and len(numbers) == 1:
            self._pair(place.removeprefix("projects/"), numbers.pop())

    def _take_role(self, output: Mapping[str, Any]) -> None:
        name = text(output, "name")
        if not _ROLE.fullmatch(name):
            raise Unexpected(f"{name!r} is no role of IAM")
        nothing = output.get("deleted") is True or output.get("stage") == "DISABLED"
        if not nothing and "includedPermissions" not in output:  # which a list of roles leaves out
            return
        permissions = [] if nothing else texts(output, "includedPermissions")
        told = self.roles.setdefault(name, tuple(permissions))
        if set(told) != set(permissions):
            self.doubtful[name] = tuple(dict.fromkeys((*self.doubtful.get(name, told), *permissions)))
            self.roles[name] = tuple(one for one in told if one in set(permissions))
            self.broken.append(f"which of the descriptions of {name} holds, which differ")

    def access(self, snapshot: Snapshot) -> ProviderAccess:
        """The access that the policies, roles and service accounts give together."""
        return _Access(self, snapshot).found()


def _grants(place: str, policy: Mapping[str, Any]) -> Iterator[_Grant]:
    for binding in mappings(policy, "bindings", optional=True):
        members = tuple(map(_lowered, texts(binding, "members", optional=True)))
        yield _Grant(place, text(binding, "role"), members, *condition_of(binding, "condition"))


def _lowered(member: str) -> str:
    """A member of a binding with its address in small letters, which Google does not tell from others."""
    kind, _, address = member.partition(":")
    return f"{kind}:{address.lower()}" if kind in ("user", "serviceAccount", "group", "domain") else member


def _member(address: str) -> str:
    """The member of a binding that an address stands for."""
    return f"{'serviceAccount' if _is_account(address) else 'user'}:{address}"


def _is_account(name: str) -> bool:
    """True for the address of a service account of Google Cloud."""
    return bool(_ADDRESS.fullmatch(name)) and name.endswith(".gserviceaccount.com")


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
        groups = self._groups_of_members()
        if not self._groups_count:
            self._grant_members(groups)
        entries: dict[str, AccessEntry] = {}
        changers: dict[str, bool] = {}
        if not self._groups_count:
            for address, mine in groups.items():
                found = [self._setters[f"group:{one}"] for one in mine if f"group:{one}" in self._setters]
                if found:
                    self._setters[_member(address)] = self._setters.get(_member(address), False) or any(found)
        for member in dict.fromkeys(
            (*self._policies, *self._setters, *map(_member, groups if self._groups_count else ()))
        ):
            entry = self._entry(member, groups)
            if entry is not None:
                entries[entry.name] = entry
                if member in self._setters:
                    changers[f"{entry.kind.lower()}:{entry.name}"] = self._setters[member]
        pod_roles = tuple(dict.fromkeys(self._pod_roles(entries)))
        known, undecided = split(entries.values())
        denials = tuple(
            denials_of(
                self._export.denials, self._place, self._members(groups), self._pods, self._undecided, self._custom
            )
        )
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
            denials=tuple(denials),
            changers=tuple(changers.items()),
        )

    def _members(self, groups: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
        """The members of each group of which all are known."""
        members: dict[str, list[str]] = {one: [] for one in self._export.groups.values() if one not in self._partial}
        for address, mine in groups.items():
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
        told = [one for one in projects if one.isdigit() == self._project.isdigit()]
        if (
            told
            and self._project
            and not {self._project, self._other_name} & {*projects}
            and not self._project.isdigit()
        ):
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

    def _grant(self, grant: _Grant) -> None:
        where = self._place(grant.place)
        if where is None:
            return
        permissions = self._export.roles.get(grant.role)
        if permissions is None:
            permissions = permissions_of(grant.role)
        self._grant_role(grant, grant.role, permissions, where)
        if grant.role in self._export.doubtful:
            why = ", ".join(filter(None, ("of which the descriptions differ", where)))
            self._grant_role(grant, f"{grant.role} (by any description)", self._export.doubtful[grant.role], why)

    def _grant_role(self, grant: _Grant, role: str, permissions: Collection[str] | None, where: str) -> None:
        rules, strange = ((), ()) if permissions is None else rules_of_permissions(permissions, self._custom)
        sets = not {*(permissions or ())}.isdisjoint(_SETTING_POLICIES)
        sets = sets or (grant.role not in self._export.roles and grant.role in _SETTERS)
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
                self._rules[role] = rules
            if rules or undecided:
                policy = AccessPolicy(role, (), place, undecided)
                self._policies.setdefault(member, {})[policy] = None
            for permission in strange:
                self._unknown[f"{role} ({permission})", member] = None

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

    def _grant_members(self, groups: Mapping[str, Collection[str]]) -> None:
        """IAM grants to the members of a group, although requests to the cluster do not carry the group."""
        for address, names in groups.items():
            for group in names:
                for policy in self._policies.get(f"group:{group}", ()):
                    place = f"{policy.place} by group:{group}".strip()
                    place += f", if {address} is a user" if address in self._untold else ""
                    mine = self._policies.setdefault(_member(address), {})
                    mine[replace(policy, place=place)] = None

    def _entry(self, member: str, groups: Mapping[str, Collection[str]]) -> AccessEntry | None:
        """The principal that a member of a binding stands for; None if it cannot send requests to the cluster."""
        policies = tuple(self._policies.get(member, ()))
        kind, _, rest = member.partition(":")
        pods = self._pods(member)
        if pods or _POOL.fullmatch(member):
            name = f"{GOOGLE}{member}" if "{{" in pods else pods
            return AccessEntry(member, pods, (), policies, name) if pods else None
        if kind in ("user", "serviceAccount") and _ADDRESS.fullmatch(rest):
            mine = tuple(groups.get(rest, ())) if self._groups_count else ()
            return AccessEntry(member, rest, mine, policies, rest)
        if kind == "group" and _ADDRESS.fullmatch(rest):
            return AccessEntry(member, rest, (), policies, rest, "Group")
        if kind == "domain" and _ADDRESS.fullmatch(f"x@{rest}"):
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
        if not pool or (cluster is not None and cluster.partition("/projects/")[2] != self._link):
            return ""
        return f"serviceAccount:{pool}[{namespace or every or '{{namespace}}'}/{account or '{{account}}'}]"

    def _spellings(self, namespace: str, name: str) -> tuple[str, ...]:
        """The user names, without and with templates, that stand for the pods of a service account."""
        places = ((namespace, name), (namespace, "{{account}}"), ("{{namespace}}", "{{account}}"))
        return tuple(f"serviceAccount:{self._pool}[{one}/{other}]" for one, other in places)

    def _pod_roles(self, entries: Mapping[str, AccessEntry]) -> Iterator[tuple[str, str, str]]:
        """What pods become with Workload Identity: their own principal, and an annotated account that lets them."""
        if not self._pool or _ACCOUNTS not in self._snapshot.captured():
            return
        users = {entry.user for entry in entries.values()}
        for obj in self._snapshot.scan(_ACCOUNTS):
            namespace, name = namespace_of(obj), name_of(obj)
            spellings = self._spellings(namespace, name)
            if not users.isdisjoint(spellings):
                yield namespace, name, spellings[0]
            annotated = str(annotations_of(obj).get(ANNOTATION) or "").lower()
            if _is_account(annotated) and self._may_become(annotated, namespace, name):
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
