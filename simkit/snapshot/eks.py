"""The access that EKS grants: what an export, the config map ``aws-auth`` and service accounts say together.

References
----------
Amazon EKS user guide: "Grant IAM users access to Kubernetes with EKS access entries" (authentication modes),
"Migrating existing aws-auth ConfigMap entries to access entries" (an access entry overrides the config map), "Assign
IAM roles to Kubernetes service accounts", "Review access policy permissions" (datasets/providers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.meta import datasets
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.seams.authorization import AccessEntry, Authorization, ProviderAccess
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud import PRINCIPAL, EksExport, read_export, user_name
from simkit.snapshot.dump import Dump
from simkit.snapshot.report import Report
from simkit.snapshot.sources import Source
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits

PROVIDER: Final = "EKS"
AUTH_MAP: Final = "aws-auth"
"""The config map that maps principals to users and groups."""
ROLE_ANNOTATION: Final = "eks.amazonaws.com/role-arn"
"""The annotation of a service account with the role that its pods can assume."""
_MODES: Final = ("Node", "RBAC")
"""The authorizers of its API servers: all platform versions enable NodeRestriction, and nodes have the names and the
group that the Node authorizer asks for."""
_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_FIELDS: Final = (("mapRoles", "rolearn"), ("mapUsers", "userarn"))


@cache
def access_policies() -> Mapping[str, tuple[Object, ...]]:
    """The rules of the access policies that AWS documents with their rules, by name."""
    table = datasets.load("providers/eks-access-policies.json")
    return {name: tuple(rules) for name, rules in table["policies"].items()}


def with_cloud(dump: Dump, source: Source, limits: Limits = DEFAULT_LIMITS) -> Dump:
    """A dump with the access that the export of its provider tells.

    Raises
    ------
    SimkitError
        If the source holds no export, or the objects are those of another provider's cluster.
    """
    report = Report()
    export = read_export(source, report, limits)
    shown = dump.authorization
    if shown.provider not in ("", PROVIDER):
        raise SimkitError(f"the export is of {PROVIDER}, but the objects are those of a cluster on {shown.provider}")
    chain = authorization_of(shown, export, dump.snapshot())
    return replace(dump, stated=chain, problems=(*dump.problems, *report))


def authorization_of(shown: Authorization, export: EksExport, snapshot: Snapshot) -> Authorization:
    """The authorizers of a cluster of which an export tells the access entries."""
    chain = shown if shown.source else replace(shown, modes=_MODES, source=f"the {PROVIDER} export")
    return replace(chain, provider=PROVIDER, outside="", access=_access(export, snapshot))


def _access(export: EksExport, snapshot: Snapshot) -> ProviderAccess:
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
    if mode == "CONFIG_MAP":
        missing.append("in the mode CONFIG_MAP the creator of the cluster is an administrator whom nothing names")
    table = access_policies()
    unknown = [(one.name, entry.principal) for entry in entries for one in entry.policies if one.name not in table]
    by_identity = {_identity(entry.principal): entry.principal for entry in entries}
    pod_roles = dict.fromkeys(
        (namespace, account, by_identity[_identity(role)])
        for namespace, account, role in (*_annotated(snapshot), *export.pod_roles.values())
        if _identity(role) in by_identity
    )
    return ProviderAccess(
        cluster, tuple(entries), tuple(missing), tuple(dict.fromkeys(unknown)), tuple(pod_roles), mode != "API"
    )


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
    for field, principal in _FIELDS:
        for entry in _listed(found or {}, field, missing):
            made = _entry(entry, principal)
            if made is None:
                missing.append(f"an entry of {field} in the config map {AUTH_MAP} is not as documented")
            else:
                entries.setdefault(made.principal, made)
    return list(entries.values())


def _listed(config_map: Object, field: str, missing: list[str]) -> list[Any]:
    from simkit.language.yaml.decode import decode  # PyYAML, which few clusters need here

    text = at(config_map, "data", field) or ""
    try:
        entries = decode(text) if isinstance(text, str) else text
    except BrokenText:
        entries = 0
    if entries is not None and not isinstance(entries, list):
        missing.append(f"{field} of the config map {AUTH_MAP} is no list")
    return entries if isinstance(entries, list) else []


def _entry(entry: Any, principal: str) -> AccessEntry | None:
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
    if _ACCOUNTS not in snapshot.captured():
        return
    for account in snapshot.scan(_ACCOUNTS):
        role = annotations_of(account).get(ROLE_ANNOTATION)
        if isinstance(role, str) and PRINCIPAL.fullmatch(role):
            yield namespace_of(account), name_of(account), role
