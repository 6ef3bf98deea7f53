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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from simkit.meta.objects import at
from simkit.snapshot.cloud.gke_denials import condition_of, is_deny_policy
from simkit.snapshot.cloud.output import (
    FOLDER,
    Unexpected,
    mapping,
    mappings,
    optional_text,
    text,
    texts,
)

_NO_GROUPS: Final = ("USER", "SERVICE_ACCOUNT", "SHARED_DRIVE", "CBCM_BROWSER")
"""The types of members of groups that have no members themselves."""
_ADDRESS: Final = re.compile(r"[^\s@/:\[\]()]+@[\w.-]+", re.ASCII)
_AGENT: Final = re.compile(r"serviceAccount:service-(\d+)@container-engine-robot\.iam\.gserviceaccount\.com", re.ASCII)
_AGENT_ROLE: Final = "roles/container.serviceAgent"
"""The service agent of GKE, whose address has the number of the project, and its role in the project."""
_ROLE: Final = re.compile(r"(?:(?:projects|organizations)/[\w.:-]+/)?roles/[\w.]+", re.ASCII)


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


class Grant(NamedTuple):
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
    grants: list[Grant] = field(default_factory=list)
    roles: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    """The permissions of described roles; None where descriptions differ."""
    of_accounts: dict[str, list[Grant]] = field(default_factory=dict)
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
        output = _asset(output)
        if "currentMasterVersion" in output or ("nodePools" in output and "name" in output):
            self._take_cluster(output)
        elif "projectNumber" in output and "projectId" in output:
            self._pair(text(output, "projectId"), str(output["projectNumber"]))
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
            elif output.get("type") in _NO_GROUPS or is_account(member):
                self.single.add(member)
        else:
            return False
        return True

    def _pair(self, one: str, other: str) -> None:
        if one.isdigit() != other.isdigit():
            self.numbers |= {one: other, other: one}

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
        if is_account(name.lower()):
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
        if told is not None and set(told) != set(permissions):
            self.roles[name] = None
            self.broken.append(f"which of the descriptions of {name} holds, which differ")


def _asset(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an answer of Cloud Asset Inventory holds: a resource, or a policy with the place to which it belongs."""
    data, above = at(output, "resource", "data"), output.get("ancestors")
    if isinstance(data, Mapping):
        return data
    place = output.get("attachedResource", output.get("name"))
    if "attachedResource" in output or "iamPolicy" in output:
        project = above[0] if isinstance(above, list) and above else ""
        return {"resource": place, "policy": output.get("policy", output.get("iamPolicy")), "project": project}
    return output


def _grants(place: str, policy: Mapping[str, Any]) -> Iterator[Grant]:
    for binding in mappings(policy, "bindings", optional=True):
        members = tuple(map(_lowered, texts(binding, "members", optional=True)))
        yield Grant(place, text(binding, "role"), members, *condition_of(binding, "condition"))


def _lowered(member: str) -> str:
    """A member of a binding with its address in small letters, which Google does not tell from others."""
    kind, _, address = member.partition(":")
    return f"{kind}:{address.lower()}" if kind in ("user", "serviceAccount", "group", "domain") else member


def is_address(text: str) -> bool:
    """True for an e-mail address."""
    return bool(_ADDRESS.fullmatch(text))


def is_account(name: str) -> bool:
    """True for the address of a service account of Google Cloud."""
    return is_address(name) and name.endswith(".gserviceaccount.com")
