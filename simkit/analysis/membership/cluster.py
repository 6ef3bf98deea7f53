"""Tables of group memberships: made of pairs, of a cluster's objects, and of the users in its audit log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from simkit.analysis.audit_log.events import AuditLog, read_events
from simkit.analysis.rbac.subject import Members
from simkit.language.yaml.complaints import BrokenText
from simkit.meta.domain import CERTIFICATES_GROUP, SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of
from simkit.seams.snapshot import Snapshot

Pair = tuple[str, str]
"""A user's name and a group's, as the server sees them."""
MembershipTable = Mapping[str, tuple[str, ...]]
"""Group name to subjects, as ``parse`` reads them."""


def listed(value: Any) -> list[Any]:
    """The values of a field that holds several, or one alone.

    Examples
    --------
    >>> listed(["devs", "ops"]), listed("devs"), listed(None)
    (['devs', 'ops'], ['devs'], [])
    """
    return value if isinstance(value, list) else [value] if value else []


def membership_table(pairs: Iterable[Pair], *, user_prefix: str = "", group_prefix: str = "") -> MembershipTable:
    """The table of some pairs, in their order, with the prefixes that the server adds to names.

    Examples
    --------
    >>> membership_table([("ann", "devs"), ("bob", "devs")], user_prefix="oidc:")
    {'devs': ('user:oidc:ann', 'user:oidc:bob')}
    """
    found: dict[str, dict[str, None]] = {}
    for user, group in pairs:
        if user and group:
            found.setdefault(f"{group_prefix}{group}", {})[f"user:{user_prefix}{user}"] = None
    return {group: tuple(users) for group, users in found.items()}


def merge_members(*tables: Members) -> MembershipTable:
    """One table of several.

    Parameters
    ----------
    tables
        Tables of members, of which later ones add to earlier ones.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group, each once.

    Examples
    --------
    >>> merge_members({"devs": ["user:ann"]}, {"devs": ["user:bob", "user:ann"], "ops": []})
    {'devs': ('user:ann', 'user:bob'), 'ops': ()}
    """
    found: dict[str, dict[str, None]] = {}
    for table in tables:
        for group, subjects in table.items():
            found.setdefault(group, {}).update(dict.fromkeys(subjects))
    return {group: tuple(subjects) for group, subjects in found.items()}


_MAPPINGS: Final = "aws-auth"
"""The config map in which one provider maps its users to users of the cluster."""
_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_REQUESTS: Final = GroupResource(CERTIFICATES_GROUP, "certificatesigningrequests")
_GROUPS: Final = GroupResource("user.openshift.io", "groups")
_IMPLIED: Final = ("system:authenticated", "system:unauthenticated", "system:serviceaccounts")


def members_of_audit_log(log: AuditLog) -> MembershipTable:
    """The members of groups according to an audit log: users, and impersonated users.

    Groups that the server adds by itself are left out.

    Parameters
    ----------
    log
        The log, in any form that ``AuditLog`` names.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group.
    """
    return membership_table(pair for event in read_events(log) for pair in _of_event(event))


def _of_event(event: Object) -> Iterator[Pair]:
    for field in ("user", "impersonatedUser"):
        user = event.get(field) or {}
        for group in user.get("groups") or ():
            if not group.startswith(_IMPLIED):
                yield str(user.get("username") or ""), group


def members_of_snapshot(snapshot: Snapshot) -> MembershipTable:
    """The members of groups according to captured objects of the cluster.

    These are: requests for certificates, which tell the groups of who asked; the config map ``aws-auth`` (of a dump
    with the values of config maps), unless an export says that the cluster does not read it; and the groups that
    OpenShift keeps.

    Returns
    -------
    MembershipTable
        Group name to subjects, as the argument ``members`` of all questions takes it.

    Raises
    ------
    YAMLError
        Where the config map ``aws-auth`` holds no YAML.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.members_of_snapshot()
    {}
    """
    captured, pairs = snapshot.captured(), list[Pair]()
    if _REQUESTS in captured:
        pairs += (pair for obj in snapshot.scan(_REQUESTS) for pair in _of_request(obj))
    access = snapshot.authorization.access
    if _CONFIG_MAPS in captured and (access is None or access.maps_objects):
        mapped = snapshot.get(_CONFIG_MAPS, _MAPPINGS, SYSTEM_NAMESPACE)
        pairs += _of_mappings(mapped) if mapped is not None else ()
    if _GROUPS in captured:
        pairs += ((str(user), name_of(obj)) for obj in snapshot.scan(_GROUPS) for user in listed(obj.get("users")))
    return membership_table(pairs)


def _of_request(obj: Object) -> Iterator[Pair]:
    for group in listed(at(obj, "spec", "groups")):
        if not str(group).startswith(_IMPLIED):
            yield str(at(obj, "spec", "username") or ""), str(group)


def _of_mappings(obj: Object) -> list[Pair]:
    from simkit.language.yaml.decode import decode  # PyYAML, which few clusters need here

    pairs: list[Pair] = []
    for field in ("mapRoles", "mapUsers"):
        try:
            entries = decode(str(at(obj, "data", field) or ""))
        except BrokenText as error:
            raise SimkitError(
                f"{field} of the config map {_MAPPINGS} in {SYSTEM_NAMESPACE} is not YAML: {error}"
            ) from None
        for entry in entries if isinstance(entries, list) else ():
            pairs += _of_entry(entry)
    return pairs


def _of_entry(entry: Any) -> Iterable[Pair]:
    if not isinstance(entry, Mapping):
        return ()
    return [(str(entry.get("username") or ""), str(group)) for group in listed(entry.get("groups"))]
