"""Random access: conversations in which a user is bound to some roles, and then grants, asks and tries things.

The user has no token: the administrator impersonates it, so that each conversation has one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from tests.conformance.conversation import Step
from tests.conformance.random_steps import NAMESPACE, OWN_NAMESPACE

_RBAC: Final = "rbac.authorization.k8s.io"
_ROOT: Final = f"/apis/{_RBAC}/v1"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1"
_USER: Final = f"{NAMESPACE}-user"
_GROUP: Final = f"{NAMESPACE}-group"
_VERBS: Final = (
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "*",
    "bind",
    "escalate",
)
_GROUPS: Final = ("", "apps", _RBAC, "*", "example.com", "batch")
_RESOURCES: Final = (
    "pods",
    "pods/log",
    "pods/*",
    "*",
    "*/scale",
    "secrets",
    "configmaps",
    "deployments",
    "deployments/scale",
    "roles",
    "rolebindings",
    "clusterroles",
    "widgets",
    "serviceaccounts",
)
_NAMES: Final = ("x", "y", "other")
_URLS: Final = ("/healthz", "/healthz/*", "/metrics", "*", "/api/*", "/version")
_EXTRA: Final = ("system:serviceaccounts", _GROUP, "system:authenticated")


class RandomAccess:
    """The steps of one conversation about the access of a user.

    Parameters
    ----------
    seed
        The same seed gives the same steps.
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)
        self._made = 0
        self._roles: list[tuple[str, str]] = [
            ("ClusterRole", "view"),
            ("ClusterRole", "edit"),
            ("ClusterRole", "admin"),
            ("ClusterRole", "cluster-admin"),
            ("Role", "none"),
        ]

    def steps(self, given: int = 4, tried: int = 12) -> Iterator[Step]:
        """The requests in order: a namespace, roles and bindings of the user, and what the user does."""
        yield OWN_NAMESPACE
        for _ in range(given):
            yield self._role()
            yield self._binding()
        choices: Sequence[Callable[[], Step]] = (
            lambda: self._as_user(self._role()),
            lambda: self._as_user(self._role()),
            lambda: self._as_user(self._binding()),
            lambda: self._as_user(self._binding()),
            lambda: self._as_user(self._change()),
            self._asked_of_user,
            self._asked_of_user,
            self._rules,
            self._tried,
            self._tried,
            self._role,
            self._binding,
        )
        for _ in range(tried):
            yield self._random.choice(choices)()

    def _some(self, values: Sequence[str], most: int = 3) -> list[str]:
        return self._random.sample(values, self._random.randint(1, most))

    def _rule(self, cluster: bool) -> Mapping[str, Any]:
        if cluster and self._random.random() < 0.2:
            return {"verbs": self._some(("get", "post", "*")), "nonResourceURLs": self._some(_URLS)}
        rule = {"verbs": self._some(_VERBS), "apiGroups": self._some(_GROUPS, 2), "resources": self._some(_RESOURCES)}
        return {**rule, "resourceNames": self._some(_NAMES, 2)} if self._random.random() < 0.3 else rule

    def _role(self) -> Step:
        cluster = self._random.random() < 0.5
        self._made += 1
        name = f"{NAMESPACE}-r{self._made}" if cluster else f"r{self._made}"
        kind = "ClusterRole" if cluster else "Role"
        self._roles.append((kind, name))
        rules = [self._rule(cluster) for _ in range(self._random.randint(0, 3))]
        return self._created(kind, name, {"rules": rules})

    def _created(self, kind: str, name: str, rest: Mapping[str, Any]) -> Step:
        cluster = kind.startswith("Cluster")
        scope = "" if cluster else f"/namespaces/{NAMESPACE}"
        body = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": name}, **rest}
        return {"method": "POST", "path": f"{_ROOT}{scope}/{kind.lower()}s", "body": body}

    def _subject(self) -> Mapping[str, Any]:
        kind = self._random.choice(("User", "User", "Group", "ServiceAccount"))
        if kind == "ServiceAccount":
            return {"kind": kind, "name": "default", "namespace": NAMESPACE}
        return {"kind": kind, "name": _USER if kind == "User" else _GROUP, "apiGroup": _RBAC}

    def _binding(self) -> Step:
        kind, name = self._random.choice(self._roles)
        cluster = kind == "ClusterRole" and self._random.random() < 0.4
        self._made += 1
        rest = {
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
            "subjects": [self._subject() for _ in range(self._random.randint(0, 2))],
        }
        made = f"{NAMESPACE}-b{self._made}" if cluster else f"b{self._made}"
        return self._created("ClusterRoleBinding" if cluster else "RoleBinding", made, rest)

    def _change(self) -> Step:
        kind, name = self._random.choice(self._roles[5:] or self._roles)
        scope = "" if kind == "ClusterRole" else f"/namespaces/{NAMESPACE}"
        patch = {"rules": [self._rule(kind == "ClusterRole")]}
        if self._random.random() < 0.3:
            patch = {"metadata": {"labels": {"a": "b"}}}  # type: ignore[dict-item]
        headers = {"Content-Type": "application/merge-patch+json"}
        return {"method": "PATCH", "path": f"{_ROOT}{scope}/{kind.lower()}s/{name}", "body": patch, "headers": headers}

    def _identity(self) -> Mapping[str, Any]:
        """The headers of the user, in one group or more, or of an account of the namespace."""
        if self._random.random() < 0.2:
            return {"Impersonate-User": f"system:serviceaccount:{NAMESPACE}:default"}
        found = {"Impersonate-User": _USER}
        return {**found, "Impersonate-Group": self._random.choice(_EXTRA)} if self._random.random() < 0.5 else found

    def _as_user(self, step: Step) -> Step:
        return {**step, "headers": {**(step.get("headers") or {}), **self._identity()}}

    def _attributes(self) -> Mapping[str, Any]:
        if self._random.random() < 0.2:
            verb = self._random.choice(("get", "post"))
            return {"nonResourceAttributes": {"path": self._random.choice((*_URLS, "/healthz/etcd")), "verb": verb}}
        resource, _, part = self._random.choice(_RESOURCES).partition("/")
        attributes: dict[str, Any] = {
            "verb": self._random.choice(_VERBS),
            "group": self._random.choice(_GROUPS),
            "resource": resource,
        }
        if part:
            attributes["subresource"] = part
        if self._random.random() < 0.7:
            attributes["namespace"] = NAMESPACE
        if self._random.random() < 0.4:
            attributes["name"] = self._random.choice(_NAMES)
        return {"resourceAttributes": attributes}

    def _asked_of_user(self) -> Step:
        """An access review by the administrator, or by the user itself."""
        spec = dict(self._attributes())
        head = {"apiVersion": "authorization.k8s.io/v1"}
        if self._random.random() < 0.4:
            body = {**head, "kind": "SelfSubjectAccessReview", "spec": spec}
            return self._as_user({"method": "POST", "path": f"{_REVIEWS}/selfsubjectaccessreviews", "body": body})
        spec |= {"user": _USER, "groups": [self._random.choice(_EXTRA)]}
        body = {**head, "kind": "SubjectAccessReview", "spec": spec}
        return {"method": "POST", "path": f"{_REVIEWS}/subjectaccessreviews", "body": body}

    def _rules(self) -> Step:
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": self._random.choice((NAMESPACE, "default"))},
        }
        return self._as_user({"method": "POST", "path": f"{_REVIEWS}/selfsubjectrulesreviews", "body": body})

    def _tried(self) -> Step:
        """A request of the user for something that may be there."""
        place = self._random.choice(
            (
                f"/api/v1/namespaces/{NAMESPACE}/secrets",
                f"/api/v1/namespaces/{NAMESPACE}/configmaps/x",
                f"/api/v1/namespaces/{NAMESPACE}/pods/x/log",
                f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/x/scale",
                f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments?fieldSelector=metadata.name%3Dx",
                f"{_ROOT}/namespaces/{NAMESPACE}/roles/none",
                f"{_ROOT}/namespaces/{NAMESPACE}/rolebindings?labelSelector=none",
                f"{_ROOT}/clusterroles?labelSelector={NAMESPACE}",
                "/api/v1/nodes/none",
                "/healthz/ping",
                "/version/other",
                "/nothing",
            )
        )
        method = self._random.choice(("GET", "GET", "GET", "DELETE", "PUT", "PATCH", "POST", "OPTIONS"))
        return self._as_user({"method": method, "path": place})
