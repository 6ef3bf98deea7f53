"""The rules of access control read anew for every question, with nothing remembered: slow, and easy to check."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from simkit.meta.attributes import Attributes
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.seams.snapshot import Snapshot


def reasons(snapshot: Snapshot, ask: Attributes) -> tuple[list[str], list[str]]:
    """The reasons of all bindings that allow what is asked, and the complaints about missing roles."""
    allowing, missing = [], []
    for bound, who in applying(snapshot, ask):
        reference = bound["roleRef"]
        resource, namespace = (ROLES, namespace_of(bound)) if reference["kind"] == "Role" else (CLUSTER_ROLES, "")
        role = snapshot.get(resource, reference["name"], namespace)
        if role is None:
            kind = f"{reference['kind'].lower()}.rbac.authorization.k8s.io"
            missing.append(f"{kind} {quoted(reference['name'])} not found")
        elif any(allows(rule, ask) for rule in role.get("rules") or ()):
            allowing.append(sentence(bound, who))
    return allowing, missing


def applying(snapshot: Snapshot, ask: Attributes) -> Iterator[tuple[Object, Object]]:
    """Bindings that hold where the question is asked, with the first subject that is the asker."""
    bound = list(snapshot.scan(CLUSTER_ROLE_BINDINGS))
    if ask.is_resource and ask.namespace:
        bound += snapshot.scan(ROLE_BINDINGS, ask.namespace)
    for one in bound:
        for who in one.get("subjects") or ():
            if is_asker(who, namespace_of(one), ask):
                yield one, who
                break


def is_asker(who: Object, namespace: str, ask: Attributes) -> bool:
    """True if a subject of a binding in a namespace is the requesting user."""
    if who["kind"] == "ServiceAccount":
        where = who.get("namespace") or namespace
        return bool(where) and ask.identity.user == f"system:serviceaccount:{where}:{who['name']}"
    return who["name"] == ask.identity.user if who["kind"] == "User" else who["name"] in ask.identity.groups


def allows(rule: Object, ask: Attributes) -> bool:
    """True if one rule allows the request."""

    def listed(field: str, *wanted: str) -> bool:
        return any(value in (rule.get(field) or ()) for value in wanted)

    if not listed("verbs", ask.verb, "*"):
        return False
    if not ask.is_resource:
        return any(
            pattern in ("*", ask.path)
            or (pattern[-1:] == "*" and ask.path[: len(pattern.rstrip("*"))] == pattern.rstrip("*"))
            for pattern in rule.get("nonResourceURLs") or ()
        )
    forms = (
        [ask.resource, "*"]
        if not ask.subresource
        else [f"{ask.resource}/{ask.subresource}", f"*/{ask.subresource}", "*"]
    )
    named = not rule.get("resourceNames") or listed("resourceNames", ask.name)
    return named and listed("apiGroups", ask.group, "*") and listed("resources", *forms)


def sentence(bound: Object, who: Object) -> str:
    """The reason of an allowed request."""
    namespace, reference = namespace_of(bound), bound["roleRef"]
    name = f"{name_of(bound)}/{namespace}" if namespace else name_of(bound)
    whom = f"{who['name']}/{who.get('namespace') or namespace}" if who["kind"] == "ServiceAccount" else who["name"]
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    role = f"{reference['kind']} {quoted(reference['name'])}"
    return f"RBAC: allowed by {kind} {quoted(name)} of {role} to {who['kind']} {quoted(whom)}"


def quoted(text: str) -> str:
    """A name in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def complaint(missing: list[str]) -> str:
    """The reason of a request that nothing allowed, with the complaints sorted."""
    texts = sorted(set(missing))
    return f"RBAC: {texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'}" if texts else ""


def unordered(reason: str) -> str:
    """A reason with its complaints sorted, since kube-apiserver lists them in no order."""
    texts: Any = reason.removeprefix("RBAC: [").removesuffix("]").split(", ")
    return complaint(texts) if reason.startswith("RBAC: [") else reason
