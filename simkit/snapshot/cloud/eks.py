"""The access that EKS grants: what an export, the config map ``aws-auth`` and service accounts say together.

The shapes are those of the EKS API reference: DescribeCluster, ListAccessEntries, DescribeAccessEntry,
ListAssociatedAccessPolicies, ListPodIdentityAssociations and DescribePodIdentityAssociation.

References
----------
Amazon EKS user guide: "Grant IAM users access to Kubernetes with EKS access entries" (authentication modes),
"Migrating existing aws-auth ConfigMap entries to access entries" (an access entry overrides the config map), "Assign
IAM roles to Kubernetes service accounts", "Review access policy permissions" (datasets/providers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.meta import datasets
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at
from simkit.seams.authorization import PRINCIPAL as PREFIX
from simkit.seams.authorization import AccessEntry, AccessPolicy, ProviderAccess
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud.eks_permissions import Policies
from simkit.snapshot.cloud.eks_trust import (
    Statement,
    trust_of,
    trusts_account,
    trusts_pod_identity,
    why_undecided,
    wide_trust,
)
from simkit.snapshot.cloud.output import (
    FOLDER,
    NOT_TOLD,
    TEMPLATE,
    Unexpected,
    mapping,
    mappings,
    service_accounts,
    split,
    text,
    texts,
)

AUTH_MAP: Final = "aws-auth"
"""The config map that maps principals to users and groups."""
ROLE_ANNOTATION: Final = "eks.amazonaws.com/role-arn"
"""The annotation of a service account with the role that its pods can assume."""
_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_FIELDS: Final = (("mapRoles", "rolearn"), ("mapUsers", "userarn"))


MODES: Final = ("API", "API_AND_CONFIG_MAP", "CONFIG_MAP")
"""The authentication modes of a cluster."""
PRINCIPAL: Final = re.compile(r"arn:aws[\w-]*:iam::(\d{12}):(?:(?:role|user)/[\w+=,.@/-]+|root)", re.ASCII)
"""The ARN of a principal that a cluster can know: a role or a user of IAM."""
_DIGITS: Final = 12
"""The digits of the number of an account of AWS."""
MOST_TEMPLATES: Final = 2
"""The templates of a user name; more make no sense, and could make comparing names slow."""
_POLICY: Final = re.compile(r"arn:aws[\w-]*:eks::aws:cluster-access-policy/([\w-]+)", re.ASCII)
COMMANDS: Final = f"""\
: "${{CLUSTER:?set CLUSTER to the name of the EKS cluster}}"
mkdir -p {FOLDER}
aws eks describe-cluster --name "$CLUSTER" --output json > {FOLDER}/cluster.json
aws eks list-access-entries --cluster-name "$CLUSTER" --output json > {FOLDER}/access-entries.json
{{ printf '[\\n]\\n'
for principal in $(aws eks list-access-entries --cluster-name "$CLUSTER" --query 'accessEntries[]' --output text); do
  aws eks describe-access-entry --cluster-name "$CLUSTER" --principal-arn "$principal" --output json
  aws eks list-associated-access-policies --cluster-name "$CLUSTER" --principal-arn "$principal" --output json
done; }} > {FOLDER}/access-entries-described.json
aws eks list-pod-identity-associations --cluster-name "$CLUSTER" --output json > {FOLDER}/pod-identities.json
{{ printf '[\\n]\\n'
for id in $(aws eks list-pod-identity-associations --cluster-name "$CLUSTER" \\
    --query 'associations[].associationId' --output text); do
  aws eks describe-pod-identity-association --cluster-name "$CLUSTER" --association-id "$id" --output json
done; }} > {FOLDER}/pod-identities-described.json
{{ printf '[\n]\n'
for principal in $(aws eks list-access-entries --cluster-name "$CLUSTER" --query 'accessEntries[]' --output text); do
  case "$principal" in *:role/*) aws iam get-role --role-name "${{principal##*/}}" --output json ;; esac
done
for role in ${{ROLES:-}}; do  # names of other roles whose trust policies shall be read, if you like
  aws iam get-role --role-name "$role" --output json
done; }} > {FOLDER}/roles.json
if [ -n "${{POLICIES:-}}" ]; then  # POLICIES=1 reads who may change access entries: all roles, users and policies
  aws iam get-account-authorization-details --output json > {FOLDER}/policies.json
fi
"""
"""The shell commands that write the export of an EKS cluster into a folder."""


@cache
def access_policies() -> Mapping[str, tuple[Object, ...]]:
    """The rules of the access policies that AWS documents with their rules, by name."""
    table = datasets.load("providers/eks-access-policies.json")
    return {name: tuple(rules) for name, rules in table["policies"].items()}


@dataclass
class EksExport:
    """What the outputs say, before it is known what the cluster makes of it."""

    provider: str = "EKS"
    modes: tuple[str, ...] = ("Node", "RBAC")
    """All platform versions enable NodeRestriction, and nodes have the names and the group that the Node authorizer
    asks for."""
    clusters: dict[str, str] = field(default_factory=dict)
    """The authentication mode of each described cluster; empty where the output is older than access entries."""
    names: dict[str, None] = field(default_factory=dict)
    """The clusters that outputs are about."""
    listed: dict[str, None] | None = None
    """The principals with an access entry; None if no list was read."""
    entries: dict[str, AccessEntry] = field(default_factory=dict)
    policies: dict[str, tuple[AccessPolicy, ...]] = field(default_factory=dict)
    associations: set[str] = field(default_factory=set)
    pod_roles: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """The role of each described association: namespace, service account, role."""
    trusts: dict[tuple[str, str], tuple[str, tuple[Statement, ...]]] = field(default_factory=dict)
    """The ARN and the trust policy of each described role, by its identity."""
    permissions: Policies = field(default_factory=Policies)
    """The policies of IAM of the account."""
    arn: str = ""
    """The ARN of the cluster."""
    issuer: str = ""
    """The issuer of the tokens of the cluster's service accounts."""
    broken: list[str] = field(default_factory=list)
    """What could not be read, in words."""

    def take(self, output: Mapping[str, Any], file: str) -> bool:
        """Read one output; False if it is none of EKS. Several count if somebody has put outputs together."""
        whole = next((name for mark, name in _BARE.items() if mark in output), "")
        output = {whole: output} if whole else output
        readers = [read for name, read in _READ.items() if name in output]
        for read in readers:
            read(self, output)
        return bool(readers)

    def missing(self, mode: str) -> Iterator[str]:
        """What is not in the export, although the answers about access to the cluster depend on it."""
        yield from self.broken
        if mode == "CONFIG_MAP":
            return
        if self.listed is None:
            yield "the list of access entries is missing"
        for principal in {**(self.listed or {}), **self.entries}:
            if principal not in self.entries:
                yield f"the access entry of aws:{principal} is not described"
            if principal not in self.policies:
                yield f"the access policies of aws:{principal} are not listed"
            if self.listed is not None and principal not in self.listed:
                yield f"the access entry of aws:{principal} is described but not listed"
        for association in sorted(self.associations - self.pod_roles.keys()):
            yield f"the Pod Identity association {association} is not described"


def _cluster(export: EksExport, output: Mapping[str, Any]) -> None:
    cluster = mapping(output, "cluster")
    name, config = text(cluster, "name"), cluster.get("accessConfig")
    export.names[name] = None
    mode = text(config, "authenticationMode") if isinstance(config, Mapping) else ""
    if mode and mode not in MODES:
        raise Unexpected(f"{mode!r} is no authentication mode")
    export.clusters[name] = mode
    export.arn = str(cluster.get("arn") or "")
    issuer = at(cluster, "identity", "oidc", "issuer")
    export.issuer = issuer if isinstance(issuer, str) else ""


def _listed(export: EksExport, output: Mapping[str, Any]) -> None:
    if output.get("nextToken"):
        export.broken.append("the list of access entries has further pages")
    principals = [_principal(each) for each in texts(output, "accessEntries")]
    export.listed = {**(export.listed or {}), **dict.fromkeys(principals)}


def _entry(export: EksExport, output: Mapping[str, Any]) -> None:
    entry = mapping(output, "accessEntry")
    principal = _principal(text(entry, "principalArn"))
    user = user_name(principal, text(entry, "username"))
    if user is None:
        raise Unexpected("username has too many templates")
    found = AccessEntry(principal, user, tuple(texts(entry, "kubernetesGroups", optional=True)))
    if export.entries.setdefault(principal, found) != found:
        raise Unexpected(f"two descriptions of aws:{principal} differ")
    if "clusterName" in entry:
        export.names[text(entry, "clusterName")] = None


def user_name(principal: str, template: str) -> str | None:
    """The user name of a principal, with the number of its account filled in; None if it has too many templates."""
    account = PRINCIPAL.fullmatch(principal)
    user = template.replace("{{AccountID}}", account.group(1)) if account else template
    return user if len(TEMPLATE.findall(user)) <= MOST_TEMPLATES else None


def _policies(export: EksExport, output: Mapping[str, Any]) -> None:
    principal = _principal(text(output, "principalArn"))
    if "clusterName" in output:
        export.names[text(output, "clusterName")] = None
    if output.get("nextToken"):
        export.broken.append(f"the list of access policies of aws:{principal} has further pages")
    found = tuple(_policy(each) for each in mappings(output, "associatedAccessPolicies"))
    export.policies[principal] = tuple(dict.fromkeys((*export.policies.get(principal, ()), *found)))


def _policy(entry: Mapping[str, Any]) -> AccessPolicy:
    arn, scope = text(entry, "policyArn"), mapping(entry, "accessScope")
    match, kind = _POLICY.fullmatch(arn), text(scope, "type")
    if match is None:
        raise Unexpected(f"{arn!r} is not the ARN of an access policy")
    namespaces = tuple(texts(scope, "namespaces", optional=True))
    if kind not in ("cluster", "namespace") or (kind == "namespace") != bool(namespaces):
        raise Unexpected(f"the access scope of {match.group(1)} is {kind!r} with {len(namespaces)} namespaces")
    return AccessPolicy(match.group(1), namespaces)


def _listed_association(export: EksExport, output: Mapping[str, Any]) -> None:
    export.associations.add(text(output, "associationId"))


def _association(export: EksExport, output: Mapping[str, Any]) -> None:
    found = mapping(output, "association")
    place = (text(found, "namespace"), text(found, "serviceAccount"), _principal(text(found, "roleArn")))
    export.pod_roles[text(found, "associationId")] = place


def _role(export: EksExport, output: Mapping[str, Any]) -> None:
    _trust(export, mapping(output, "Role"))


def _trust(export: EksExport, role: Mapping[str, Any]) -> None:
    arn = _principal(text(role, "Arn"))
    export.trusts[_identity(arn)] = arn, trust_of(role)


_BARE: Final = {"accessEntryArn": "accessEntry", "resourcesVpcConfig": "cluster", "disableSessionTags": "association"}
"""Fields of descriptions that stand without the field around them, as other tools keep them."""
_READ: Final[Mapping[str, Callable[[EksExport, Mapping[str, Any]], None]]] = {
    "cluster": _cluster,
    "accessEntries": _listed,
    "accessEntry": _entry,
    "associatedAccessPolicies": _policies,
    "associationId": _listed_association,
    "association": _association,
    "Role": _role,
    "AttachedManagedPolicies": lambda export, output: export.permissions.take_holder(output),
    "PolicyVersionList": lambda export, output: export.permissions.take_policy(output),
    "AssumeRolePolicyDocument": _trust,
}
"""The readers of outputs and of items of lists, by the field that each of them has."""


def _principal(arn: str) -> str:
    if not PRINCIPAL.fullmatch(arn):
        raise Unexpected(f"{arn!r} is not the ARN of a role or user of IAM")
    return arn


def access_of(export: EksExport, snapshot: Snapshot) -> ProviderAccess:
    """The access that the entries and the objects give together."""
    cluster = next(iter(export.names), "")
    mode = export.clusters.get(cluster, "")
    missing = list(dict.fromkeys(export.missing(mode)))
    if not mode:
        missing.insert(0, "the authentication mode of the cluster is not in it (aws eks describe-cluster)")
    entries = [] if mode == "CONFIG_MAP" else [
        replace(entry, policies=export.policies.get(principal, ())) for principal, entry in export.entries.items()
    ]  # fmt: skip
    if mode != "API":
        known = {_identity(entry.principal) for entry in entries}
        mapped = _mapped(snapshot, missing)
        entries += [entry for entry in mapped if _identity(entry.principal) not in known]
        entries += _accounts(snapshot, missing)
    if mode == "CONFIG_MAP":
        missing.append("in the mode CONFIG_MAP the creator of the cluster is an administrator whom nothing names")
    counted, undecided = split(replace(entry, policies=tuple(map(_decided, entry.policies))) for entry in entries)
    changers = [] if mode == "CONFIG_MAP" else export.permissions.changers(export.arn, export.entries)
    changes = tuple((f"{PREFIX}{arn}", certain) for arn, certain in changers)
    pod_roles = _pod_roles(
        export, snapshot, [*counted, *(AccessEntry(name.removeprefix(PREFIX), "") for name, _ in changes)], missing
    )
    accounts = [] if mode == "API" else _accounts(snapshot, [])
    return ProviderAccess(
        "EKS",
        cluster,
        counted,
        unknown=(),
        pod_roles=tuple(dict.fromkeys(pod_roles)),
        missing=tuple(dict.fromkeys(missing)),
        rules=access_policies(),
        maps_objects=mode != "API",
        undecided=undecided,
        trusts=tuple(_trusts(export, snapshot, counted, accounts)),
        changers=changes,
    )


def _trusts(
    export: EksExport, snapshot: Snapshot, entries: Iterable[AccessEntry], accounts: Iterable[AccessEntry]
) -> Iterator[tuple[str, str]]:
    """Whom the roles with access to the cluster, and those of its service accounts, trust beyond single ones."""
    concerned = {_identity(one.principal) for one in entries}
    concerned |= {_identity(role) for *_, role in (*_annotated(snapshot), *export.pod_roles.values())}
    for identity, (arn, trust) in export.trusts.items():
        for whom in wide_trust(trust, export.issuer) if identity in concerned else ():
            yield f"{PREFIX}{arn}", whom
    for entry in accounts:
        yield entry.name, f"every role and user of its account ({AUTH_MAP})"


def _pod_roles(
    export: EksExport, snapshot: Snapshot, entries: Iterable[AccessEntry], missing: list[str]
) -> Iterator[tuple[str, str, str]]:
    """The principals that pods become: by trust policies, and by annotations where these are not known."""
    by_identity = {_identity(entry.principal): entry.principal for entry in reversed(tuple(entries))}
    annotated = set(_annotated(snapshot))
    for namespace, account, role in sorted(annotated):
        if _identity(role) in by_identity and _identity(role) not in export.trusts:
            yield namespace, account, f"{PREFIX}{by_identity[_identity(role)]}"
    for identity in sorted(by_identity.keys() & export.trusts.keys()):
        name, (_, trust) = f"{PREFIX}{by_identity[identity]}", export.trusts[identity]
        for namespace, account, _ in service_accounts(snapshot):
            trusted = trusts_account(trust, export.issuer, namespace, account)
            if trusted is None:
                why = " and ".join(why_undecided(trust, export.issuer))
                told = f"which service accounts can assume {name}, whose trust policy is not decided"
                missing.append(f"{told} ({why})" if why else told)
            if trusted or (trusted is None and any(_identity(one[2]) == identity for one in annotated)):
                yield namespace, account, name
    for namespace, account, role in export.pod_roles.values():
        known = export.trusts.get(_identity(role))
        if _identity(role) in by_identity and (known is None or trusts_pod_identity(known[1]) is not False):
            yield namespace, account, f"{PREFIX}{by_identity[_identity(role)]}"


def _decided(policy: AccessPolicy) -> AccessPolicy:
    return policy if policy.name in access_policies() else replace(policy, undecided=NOT_TOLD)


def _identity(principal: str) -> tuple[str, str]:
    """What tells principals apart: an ARN in the config map has no path, that of an access entry may have one."""
    before, _, name = principal.partition("/")
    return before, name.rpartition("/")[2]


def _mapped(snapshot: Snapshot, missing: list[str]) -> list[AccessEntry]:
    """The principals of the config map; what of it is not known is added to ``missing``."""
    if _CONFIG_MAPS not in snapshot.captured():
        missing.append(f"the config map {AUTH_MAP} is not in the dump")
        return []
    found = snapshot.get(_CONFIG_MAPS, AUTH_MAP, SYSTEM_NAMESPACE)
    entries: dict[str, AccessEntry] = {}
    for name, principal in _FIELDS:
        for entry in _map_of(found or {}, name, missing):
            made = _mapped_entry(entry, principal)
            if made is None:
                missing.append(f"an entry of {name} in the config map {AUTH_MAP} is not as documented")
            else:
                entries.setdefault(made.principal, made)
    return list(entries.values())


def _accounts(snapshot: Snapshot, missing: list[str]) -> list[AccessEntry]:
    """The accounts of AWS that the config map maps: each of their roles and users has its ARN as its name."""
    found = snapshot.get(_CONFIG_MAPS, AUTH_MAP, SYSTEM_NAMESPACE) if _CONFIG_MAPS in snapshot.captured() else None
    entries = []
    for number in _map_of(found or {}, "mapAccounts", missing):
        account = str(number).zfill(_DIGITS)
        if isinstance(number, bool) or not (account.isascii() and account.isdigit() and len(account) == _DIGITS):
            missing.append(f"an entry of mapAccounts in the config map {AUTH_MAP} is not as documented")
            continue
        arn = f"arn:aws:iam::{account}"
        entries += [AccessEntry(f"{arn}:{kind}/*", f"{arn}:{kind}/{{{{Name}}}}") for kind in ("role", "user")]
    return entries


def _map_of(config_map: Object, name: str, missing: list[str]) -> list[Any]:
    from simkit.language.yaml.decode import decode  # PyYAML, which few clusters need here

    written = at(config_map, "data", name) or ""
    try:
        entries = decode(written) if isinstance(written, str) else written
    except BrokenText:
        entries = 0
    if entries is not None and not isinstance(entries, list):
        missing.append(f"{name} of the config map {AUTH_MAP} is no list")
    return entries if isinstance(entries, list) else []


def _mapped_entry(entry: Any, principal: str) -> AccessEntry | None:
    if not isinstance(entry, Mapping):
        return None
    arn, user, groups = entry.get(principal), entry.get("username") or "", entry.get("groups") or []
    if not (isinstance(arn, str) and PRINCIPAL.fullmatch(arn) and isinstance(user, str) and isinstance(groups, list)):
        return None
    if not all(isinstance(group, str) for group in groups):
        return None
    name = user_name(arn, user or arn)
    return None if name is None else AccessEntry(arn, name, tuple(groups))


def _annotated(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    """The roles in the annotations of service accounts."""
    for namespace, name, notes in service_accounts(snapshot):
        role = notes.get(ROLE_ANNOTATION)
        if isinstance(role, str) and PRINCIPAL.fullmatch(role):
            yield namespace, name, role
