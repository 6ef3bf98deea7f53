"""The RBAC authorizer, its check against escalation, and the error of what no authorizer allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from simkit.logic.authorizers.union import IndexAuthorizer
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, missing_text, role_key
from simkit.logic.rbac.cover import EVERYTHING, missing_rules_text, uncovered
from simkit.logic.rbac.index import RESOURCES, AccessIndex
from simkit.logic.rbac.rule import Rule, quoted_list, rules_of
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import PlainError, StatusError, forbidden, not_found, unexplained
from simkit.meta.fielderror import aggregate_errors, quoted
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, metadata, name_of, namespace_of
from simkit.seams import Authorizer, Change

# The 403 error of requests that no authorizer allows.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go, release 1.30.

_HARMLESS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Replacements that keep a message from being read as HTML by a browser."""


def sanitized(text: str) -> str:
    """A text that no browser reads as HTML."""
    return text.translate(_HARMLESS)


def failed(uri: str, detail: str) -> PlainError:
    """500 as plain text, for what fails before a request has a handler."""
    return PlainError(500, sanitized(f"Internal Server Error: {quoted(uri)}: {detail}\n"))


def forbidden_message(ask: Attributes, reason: str = "") -> str:
    """The message of a refusal: user, request, and the authorizer's reason if it gave one.

    Examples
    --------
    >>> from simkit.meta.identity import Identity
    >>> forbidden_message(Attributes(Identity("ann"), "list", resource="pods", namespace="x"))
    'User "ann" cannot list resource "pods" in API group "" in the namespace "x"'
    """
    message = sanitized(_what(ask))
    return f"{message}: {reason}" if reason else message


def forbidden_error(ask: Attributes, reason: str = "") -> StatusError:
    """The 403 for a request that no authorizer allowed."""
    resource = GroupResource(ask.group, ask.resource) if ask.is_resource else GroupResource("", "")
    return forbidden(resource, ask.name, forbidden_message(ask, reason))


def _what(ask: Attributes) -> str:
    who = f"User {quoted(ask.identity.user)} cannot {ask.verb}"
    if not ask.is_resource:
        return f"{who} path {quoted(ask.path)}"
    where = f"in the namespace {quoted(ask.namespace)}" if ask.namespace else "at the cluster scope"
    return f"{who} resource {quoted(ask.resource_path)} in API group {quoted(ask.group)} {where}"


# The RBAC authorizer.
# Upstream: plugin/pkg/auth/authorizer/rbac, release 1.30.

_REMEMBERED: Final = 4096
_LONGEST: Final = 1024
"""The limits of cached decisions and of the texts in their questions, since clients choose them."""


class RBACAuthorizer(IndexAuthorizer):
    """Allows what a bound role allows; has no opinion otherwise.

    ``follow`` is the listener that keeps its index in step with a store. Decisions are cached until an RBAC object
    changes.
    """

    def __init__(self, index: AccessIndex) -> None:
        super().__init__(index)
        self._decided: dict[Attributes, Decision] = {}

    def authorize(self, ask: Attributes) -> Decision:
        ask = ask.without_selectors()
        decided = self._decided  # the present one: what is decided while a role changes goes into the old one
        known = decided.get(ask)
        if known is None:
            known = self.index.authorize(ask)
            if _length(ask) <= _LONGEST:
                if len(decided) >= _REMEMBERED:
                    decided.clear()
                decided[ask] = known
        return known

    def follow(self, changes: Sequence[Change]) -> None:
        """Apply the changes of a store to the index. Most are of other resources and cost nothing."""
        for change in changes:
            key = change.entry.key
            if key.resource not in RESOURCES:
                continue
            if change.type == "DELETED":
                self.index.remove(key)
            else:
                self.index.put(key, change.entry.object)
            self._decided = {}

    def fork(self) -> RBACAuthorizer:
        """An authorizer for a fork of the store; it has to listen to that one."""
        return RBACAuthorizer(self.index.fork())


def _length(ask: Attributes) -> int:
    named = (ask.identity.user, *ask.identity.groups, ask.verb, ask.group, ask.version, ask.namespace, ask.name)
    return sum(map(len, named)) + len(ask.resource) + len(ask.subresource) + len(ask.path)


# The RBAC escalation check on every write of a role or binding.
# Upstream: pkg/registry/rbac/escalation_check.go, pkg/registry/rbac/validation/rule.go and
# pkg/registry/rbac/clusterrole/policybased/storage.go, release 1.30.

_OF_COLLECTOR: Final = {"ownerReferences", "finalizers", "managedFields", "selfLink"}
"""The fields that the garbage collector changes; a write of these only is not checked."""
_TOLD: Final = 1000
"""Missing permissions that are told, of as many as the product of the lists of a rule; kube-apiserver tells all."""
_ROLE_RESOURCES: Final = {"Role": ROLES, "ClusterRole": CLUSTER_ROLES}


class RBACEscalationGuard:
    """Compares the rules that a write would grant with those that the writer holds now.

    Members of ``system:masters`` may write anything; so may, per role, whoever may ``escalate`` it, and per binding,
    whoever may ``bind`` its role. The rules that access entries of a provider grant do not count as held: see
    github.com/aws/containers-roadmap/issues/2682.
    """

    def __init__(self, behaviour: ServedBehaviour, index: AccessIndex, authorizer: Authorizer) -> None:
        self._behaviour, self._index, self._authorizer = behaviour, index, authorizer

    @property
    def leaves_process(self) -> bool:
        """True if its questions to the authorizer may wait for another process."""
        return self._authorizer.leaves_process

    def check_role(self, identity: Identity, role: Object, old: Object | None, *, requested_name: str = "") -> None:
        """Raises the 403 of a role with more rules than the identity has. Any change re-checks all rules."""
        resource = ROLES if namespace_of(role) else CLUSTER_ROLES
        key = Key(resource, namespace_of(role), name_of(role))
        name = requested_name or (name_of(old) if old else "")
        if MASTERS in identity.groups or self._may(identity, "escalate", Key(resource, key.namespace, name)):
            return
        if old is not None and _only_collector_fields(role, old):
            return
        self._confirm(identity, rules_of(role), key)
        aggregates = _aggregates(role) or (old is not None and _aggregates(old))
        if aggregates and uncovered(self._index.rules_for(identity, "", of_roles=True).rules, EVERYTHING):
            raise forbidden(resource, key.name, "must have cluster-admin privileges to use the aggregationRule")

    def check_binding(self, identity: Identity, binding: Object, old: Object | None) -> None:
        """Raises the 403 of a binding to more than the identity has, the 404 of a missing role."""
        if MASTERS in identity.groups or (old is not None and _only_collector_fields(binding, old)):
            return
        namespace = namespace_of(binding)
        reference = binding.get("roleRef") or {}
        if self._may_bind(identity, reference, namespace):
            return
        role = role_key(reference, namespace)
        rules = self._index.rules(role)
        resource = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
        if (
            rules is None
            and role.resource in (ROLES, CLUSTER_ROLES)
            and self._behaviour.applies("missing-role-told-as-binding")
        ):
            raise not_found(resource, role.name)
        if rules is None:
            raise _missing(role)
        self._confirm(identity, rules, Key(resource, namespace, name_of(binding)))

    def _confirm(self, identity: Identity, rules: Sequence[Rule], written: Key) -> None:
        held = self._index.rules_for(identity, written.namespace, of_roles=True)
        missing = uncovered(held.rules, rules, _TOLD + 1)
        if missing:
            more = "\n(and further ones)" if len(missing) > _TOLD else ""
            groups = quoted_list(identity.groups)
            who = f"user {quoted(identity.user)} (groups={groups})"
            told = missing_rules_text(missing[:_TOLD]) + more
            why = f"{who} is attempting to grant RBAC permissions not currently held:\n{told}"
            raise forbidden(written.resource, written.name, why + _resolution_errors(held.missing))

    def _may_bind(self, identity: Identity, reference: Object, namespace: str) -> bool:
        resource = _ROLE_RESOURCES.get(reference.get("kind") or "")
        if resource is None:
            return False
        named = GroupResource(reference.get("apiGroup") or "", resource.resource)
        return self._may(identity, "bind", Key(named, namespace, reference.get("name") or ""))

    def _may(self, identity: Identity, verb: str, role: Key) -> bool:
        group, resource = role.resource
        ask = Attributes(identity, verb, group, "*", resource, namespace=role.namespace, name=role.name)
        return self._authorizer.authorize(ask).allowed


def _missing(role: Key) -> StatusError:
    if role.resource in (ROLES, CLUSTER_ROLES):
        return not_found(role.resource, role.name)
    return unexplained(missing_text(role))


def _resolution_errors(missing: Iterable[Key]) -> str:
    """The errors of roles that could not be resolved for the writer's rules, with their plural names."""
    texts = aggregate_errors(str(_missing(role)) for role in missing)
    return f"; resolution errors: [{texts}]" if texts else ""


def _aggregates(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collector_fields(obj: Object, old: Object) -> bool:
    return _without_collector_fields(obj) == _without_collector_fields(old)


def _without_collector_fields(obj: Object) -> dict[str, Any]:
    """An object without the fields of the garbage collector; an empty list or mapping counts as none."""
    kept = {name: value for name, value in metadata(obj).items() if name not in _OF_COLLECTOR}
    whole = {**obj, "metadata": {name: value for name, value in kept.items() if value}}
    return {name: value for name, value in whole.items() if value and name not in ("kind", "apiVersion")}
