"""Where an attacker can be: as whom, with which rules, inside what. The nodes of the escalation graph."""

from __future__ import annotations

from typing import Final, NamedTuple

from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, ROLES, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.names import Key

EVERYTHING: Final = "everything"
RULES: Final = "rules"
"""The rules of a role have been added to what one is."""
NAMESPACE: Final = "namespace"
"""Everything in a namespace."""
ROLES_OF: Final = "roles"
"""The rules of any role of a namespace, at one's choice."""
ACCOUNTS: Final = "accounts"
"""Any service account of a namespace, at one's choice."""
PODS: Final = "pods"
"""Any running pod of a namespace, at one's choice."""
POD: Final = "pod"
NODES: Final = "nodes"
NODE: Final = "node"
USERS: Final = "users"
GROUPS: Final = "groups"
SECRETS: Final = "secrets"
"""The contents of the secrets of a namespace, or of one by name."""
IMPACT: Final = "impact"
"""Some harm that is no access: the primitive's id is the name."""
NODE_IDENTITY: Final = "node-identity"
SET: Final = "set"
"""One of several places, at one's choice; the name says which, and ``World.members`` knows them."""
SUBJECTS: Final = (USER, GROUP, SERVICE_ACCOUNT)
ALL: Final = "*"


class AttackState(NamedTuple):
    """A node of the graph. ``worn`` is an identity that is only impersonated: it cannot impersonate again."""

    kind: str
    name: str = ""
    namespace: str = ""
    impersonated: bool = False

    @property
    def subject(self) -> Subject | None:
        """The subject that one is there, where it is one."""
        return Subject(self.kind, self.name, self.namespace) if self.kind in SUBJECTS else None

    def __str__(self) -> str:
        return state_text(self)


CLUSTER_ADMIN: Final = AttackState(EVERYTHING)


def subject_state(subject: Subject, *, impersonated: bool = False) -> AttackState:
    """The place of being a subject."""
    return AttackState(subject.kind, subject.name, subject.namespace, impersonated)


def rules_state(role: Key, scope: str) -> AttackState:
    """The place of having a role's rules in a namespace (empty: in the cluster)."""
    return AttackState(RULES, f"{role.resource.resource}/{role.namespace}/{role.name}", scope)


def role_of(state: AttackState) -> Key:
    """The role whose rules a place of rules has."""
    plural, namespace, name = state.name.split("/", 2)
    return Key(CLUSTER_ROLES if plural == CLUSTER_ROLES.resource else ROLES, namespace, name)


def state_text(state: AttackState) -> str:
    """The place as a person reads it.

    Examples
    --------
    >>> str(AttackState(ACCOUNTS, namespace="ci")), str(AttackState(SERVICE_ACCOUNT, "runner", "ci", impersonated=True))
    ('any service account of ci', 'sa:ci/runner (impersonated)')
    """
    if state.subject is not None:
        return text_of(state.subject) + (" (impersonated)" if state.impersonated else "")
    where = "any namespace" if state.namespace == ALL else state.namespace
    if state.kind == RULES:
        return f"the rules of {display_name(role_of(state))}" + (f" in {where}" if where else " in the cluster")
    if state.kind == SECRETS:
        return f"secret {where}/{state.name}" if state.name else f"the secrets of {where}"
    return {
        EVERYTHING: "cluster-admin",
        NAMESPACE: f"everything in {where}",
        ROLES_OF: f"the rules of any role of {where}",
        ACCOUNTS: f"any service account of {where}",
        PODS: f"the running pods of {where}",
        POD: f"pod {where}/{state.name}",
        NODES: "any node",
        NODE: f"node {state.name}",
        NODE_IDENTITY: f"identity of node {state.name or 'of any name'}",
        USERS: "any user",
        GROUPS: "any group",
        SET: state.name,
        IMPACT: f"impact {state.name}" + (f" in {where}" if where else ""),
    }.get(state.kind, state.kind)
