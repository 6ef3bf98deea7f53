"""Bindings of subjects to roles, and the texts by which the RBAC authorizer names them.

plugin/pkg/auth/authorizer/rbac/rbac.go, release 1.30.

Upstream: pkg/registry/rbac/validation/rule.go, release 1.30.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.fielderror import quoted
from simkit.meta.identity import service_account_user
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.seams.authorization import GRANTS

ROLES: Final = GroupResource(RBAC_GROUP, "roles")
CLUSTER_ROLES: Final = GroupResource(RBAC_GROUP, "clusterroles")
ROLE_BINDINGS: Final = GroupResource(RBAC_GROUP, "rolebindings")
CLUSTER_ROLE_BINDINGS: Final = GroupResource(RBAC_GROUP, "clusterrolebindings")
ACCESS_ENTRIES: Final = {
    GroupResource("eks.amazonaws.com", "accessentries"): "EKS",
    GroupResource("iam.googleapis.com", "bindings"): "GKE",
    GroupResource("authorization.azure.com", "roleassignments"): "AKS",
}
"""The grants of providers, which are no objects of the cluster; their bindings are named by principal and policy."""
ACCESS_POLICIES: Final = {
    GroupResource("eks.amazonaws.com", "accesspolicies"): "EKS",
    GroupResource("iam.googleapis.com", "roles"): "GKE",
    GroupResource("authorization.azure.com", "roledefinitions"): "AKS",
}
"""What these grant: the access policies of EKS and the roles of other providers."""
USER: Final = "User"
GROUP: Final = "Group"
SERVICE_ACCOUNT: Final = "ServiceAccount"
_ROLE_KINDS: Final = {"Role": ROLES, "ClusterRole": CLUSTER_ROLES}
RESOURCES_OF_KINDS: Final = {
    **_ROLE_KINDS,
    "RoleBinding": ROLE_BINDINGS,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
}
"""The RBAC resource of each kind."""
_KIND_NAMES: Final = {resource: kind for kind, resource in _ROLE_KINDS.items()}


class Subject(NamedTuple):
    """A subject of a binding. Only service accounts have a namespace."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def principal(self) -> tuple[str, str]:
        """The kind (User or Group) and the name that identify the subject in a request.

        A service account is seen as the user that its token authenticates, so that a User subject of that name is
        the same principal.
        """
        if self.kind == SERVICE_ACCOUNT and self.namespace:
            return (USER, service_account_user(self.namespace, self.name))
        return (self.kind, self.name)

    def __str__(self) -> str:
        """The subject as in reasons: ``ServiceAccount "robot/prod"``."""
        name = f"{self.name}/{self.namespace}" if self.kind == SERVICE_ACCOUNT else self.name
        return f"{self.kind} {quoted(name)}"


class Binding:
    """A RoleBinding or ClusterRoleBinding, reduced to the fields for decisions."""

    __slots__ = ("key", "role", "subjects")

    def __init__(self, key: Key, role: Key, subjects: tuple[Subject, ...]) -> None:
        self.key, self.role, self.subjects = key, role, subjects

    @classmethod
    def of(cls, key: Key, obj: Object) -> Binding:
        """The binding in an object. A service account without a namespace gets the binding's own.

        Subjects that no request can come from are left out, as the authorizer passes them over: those of another kind
        (case counts), and service accounts without a namespace in a ClusterRoleBinding.
        """
        named = (_subject(entry, key.namespace) for entry in obj.get("subjects") or ())
        subjects = (
            one for one in named if one.kind in (USER, GROUP) or (one.kind == SERVICE_ACCOUNT and one.namespace)
        )
        return cls(key, role_key(obj.get("roleRef") or {}, key.namespace), tuple(dict.fromkeys(subjects)))

    @property
    def namespace(self) -> str:
        """The namespace of its grants; empty for the whole cluster."""
        return self.key.namespace

    def binds(self, principal: tuple[str, str]) -> bool:
        """True if a subject is this principal."""
        return any(subject.principal == principal for subject in self.subjects)

    def names(self, user: str, groups: tuple[str, ...]) -> Subject | None:
        """The first subject that is this user or one of these groups."""
        for subject in self.subjects:
            kind, name = subject.principal
            if (kind == USER and name == user) or (kind == GROUP and name in groups):
                return subject
        return None

    def reason(self, subject: Subject) -> str:
        """The reason of the authorizer for a request that the binding allows."""
        provider = ACCESS_ENTRIES.get(self.key.resource)
        if provider is not None:
            word = GRANTS[provider][0].removeprefix(f"{provider} ")
            return f"{provider}: allowed by {word} {quoted(self.key.name)}"
        cluster_wide = self.key.resource == CLUSTER_ROLE_BINDINGS
        kind = "ClusterRoleBinding" if cluster_wide else "RoleBinding"
        name = self.key.name if cluster_wide else f"{self.key.name}/{self.key.namespace}"
        role = f"{role_kind(self.role)} {quoted(self.role.name)}"
        return f"RBAC: allowed by {kind} {quoted(name)} of {role} to {subject}"

    def __repr__(self) -> str:
        return f"<Binding {self.key} of {self.role}>"


class Grant(NamedTuple):
    """The grant of a role's rules to a subject, by a binding."""

    binding: Key
    role: Key
    namespace: str
    """The namespace in which the rules hold; empty for the whole cluster."""
    subject: Subject
    rules: tuple[Rule, ...]
    missing: bool = False
    """True if the role does not exist, so that there are no rules."""


def role_key(reference: Object, namespace: str) -> Key:
    """The key of the role that a ``roleRef`` of a binding in a namespace names.

    A reference to something else than a role gets a key under its kind, which finds nothing.
    """
    kind = reference.get("kind") or ""
    resource = _ROLE_KINDS.get(kind) or GroupResource(RBAC_GROUP, kind)
    return Key(resource, "" if resource == CLUSTER_ROLES else namespace, reference.get("name") or "")


def role_kind(role: Key) -> str:
    """The kind of a role's key."""
    return _KIND_NAMES.get(role.resource, role.resource.resource)


def missing_text(role: Key) -> str:
    """The text with which the RBAC authorizer reports a binding whose role it cannot find."""
    kind = role_kind(role)
    if role.resource not in _KIND_NAMES:
        return f"unsupported role reference kind: {quoted(kind)}"
    return f"{GroupResource(RBAC_GROUP, kind.lower())} {quoted(role.name)} not found"


def key_of(obj: Object, resource: GroupResource) -> Key:
    """The key of an object of a resource."""
    return Key(resource, namespace_of(obj), name_of(obj))


def _subject(entry: Object, namespace: str) -> Subject:
    kind, name = entry.get("kind") or "", entry.get("name") or ""
    if kind == SERVICE_ACCOUNT:
        return Subject(kind, name, entry.get("namespace") or namespace)
    return Subject(kind, name)
