"""States of an attacker: an identity, rules, a pod or node, full control. The nodes of the escalation graph."""

from __future__ import annotations

from typing import Final, NamedTuple

from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, ROLES, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.names import Key

EVERYTHING: Final = "everything"
RULES: Final = "rules"
"""The rules of a role, added to those of the identity."""
NAMESPACE: Final = "namespace"
"""Everything in a namespace."""
ROLES_OF: Final = "roles"
"""The rules of one role of a namespace, free to choose."""
ACCOUNTS: Final = "accounts"
"""One service account of a namespace, free to choose."""
PODS: Final = "pods"
"""One running pod of a namespace, free to choose."""
POD: Final = "pod"
NODES: Final = "nodes"
NODE: Final = "node"
USERS: Final = "users"
GROUPS: Final = "groups"
SECRETS: Final = "secrets"
"""The contents of the secrets of a namespace, or of one secret by name."""
IMPACT: Final = "impact"
"""Harm that is no access; the name is the primitive's id."""
NODE_IDENTITY: Final = "node-identity"
SET: Final = "set"
"""One of several states, free to choose; the name identifies the set, and ``ClusterFacts.members`` gives its states."""
CHOICES: Final = (ROLES_OF, ACCOUNTS, PODS, NODES, USERS, GROUPS, SET)
"""Kinds of states that are one of several others, free to choose: places on the way, and not places reached."""
SUBJECTS: Final = (USER, GROUP, SERVICE_ACCOUNT)
ALL: Final = "*"


class AttackState(NamedTuple):
    """A node of the graph. ``impersonated`` marks an impersonated identity, which cannot impersonate again.

    ``beside`` tells apart what is reached on the way to a step that needs other identities too: see ``joint_steps``.
    """

    kind: str
    name: str = ""
    namespace: str = ""
    impersonated: bool = False
    beside: str = ""

    @property
    def subject(self) -> Subject | None:
        """The subject of the state, if it is one."""
        return Subject(self.kind, self.name, self.namespace) if self.kind in SUBJECTS else None

    def __str__(self) -> str:
        """The state as text.

        Examples
        --------
        >>> str(AttackState(ACCOUNTS, namespace="ci"))
        'any service account in ci'
        >>> str(AttackState(SERVICE_ACCOUNT, "runner", "ci", impersonated=True))
        'sa:ci/runner (impersonated)'
        """
        if self.subject is not None:
            return text_of(self.subject) + (" (impersonated)" if self.impersonated else "")
        where = "any namespace" if self.namespace == ALL else self.namespace
        if self.kind == RULES:
            return f"the rules of {display_name(role_of(self))}" + (f" in {where}" if where else " in the cluster")
        if self.kind == SECRETS:
            return f"secret {where}/{self.name}" if self.name else f"the secrets in {where}"
        return {
            EVERYTHING: "cluster-admin",
            NAMESPACE: f"full access to {where}",
            ROLES_OF: f"the rules of any role in {where}",
            ACCOUNTS: f"any service account in {where}",
            PODS: f"the running pods in {where}",
            POD: f"pod {where}/{self.name}",
            NODES: "any node",
            NODE: f"node {self.name}",
            NODE_IDENTITY: f"identity of {f'node {self.name}' if self.name else 'any node'}",
            USERS: "any user",
            GROUPS: "any group",
            SET: self.name,
            IMPACT: f"impact {self.name}" + (f" in {where}" if where else ""),
        }.get(self.kind, self.kind)


CLUSTER_ADMIN: Final = AttackState(EVERYTHING)


def subject_state(subject: Subject, *, impersonated: bool = False) -> AttackState:
    """The state of being a subject."""
    return AttackState(subject.kind, subject.name, subject.namespace, impersonated)


def rules_state(role: Key, scope: str) -> AttackState:
    """The state of having a role's rules in a namespace (empty: cluster-wide)."""
    return AttackState(RULES, f"{role.resource.resource}/{role.namespace}/{role.name}", scope)


def role_of(state: AttackState) -> Key:
    """The role of a state of rules."""
    plural, namespace, name = state.name.split("/", 2)
    return Key(CLUSTER_ROLES if plural == CLUSTER_ROLES.resource else ROLES, namespace, name)
