"""Flow schemas: rules that match requests by subject and resource, and the flow within the schema.

Upstream: k8s.io/apiserver/pkg/util/flowcontrol/rule.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.identity import Identity, split_service_account
from simkit.meta.objects import Object, at, metadata, name_of

_USUAL_PRECEDENCE: Final = 1000
EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class FlowSchema:
    """One flow schema: its matching rules and its flow distinguisher.

    Examples
    --------
    >>> rules = [{"subjects": [{"kind": "User", "user": {"name": "ann"}}],
    ...           "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz*"]}]}]
    >>> schema = FlowSchema.of({"metadata": {"name": "probes"}, "spec": {"rules": rules}})
    >>> schema.matches(RequestInfo("/healthz/ping", "get"), Identity("ann"))
    True
    """

    name: str
    uid: str
    precedence: int
    level: str
    distinguisher: str
    rules: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, obj: Object) -> FlowSchema:
        """The schema of an object."""
        spec = obj.get("spec") or {}
        return cls(
            name_of(obj),
            metadata(obj).get("uid", ""),
            spec.get("matchingPrecedence") or _USUAL_PRECEDENCE,
            at(spec, "priorityLevelConfiguration", "name") or "",
            at(spec, "distinguisherMethod", "type") or "",
            spec.get("rules") or (),
        )

    def matches(self, info: RequestInfo, identity: Identity) -> bool:
        """True if a request belongs to it."""
        return any(_asks(rule, info) and _names(rule, identity) for rule in self.rules)

    def flow_of(self, info: RequestInfo, identity: Identity) -> str:
        """The flow distinguisher of a request: its user, its namespace, or the empty string."""
        if self.distinguisher == "ByUser":
            return identity.user
        return info.namespace if self.distinguisher == "ByNamespace" else ""


def _names(rule: Mapping[str, Any], identity: Identity) -> bool:
    return any(_is(subject, identity) for subject in rule.get("subjects") or ())


def _is(subject: Mapping[str, Any], identity: Identity) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        return at(subject, "user", "name") in (EVERYTHING, identity.user)
    if kind == "Group":
        name = at(subject, "group", "name")
        return name == EVERYTHING or name in identity.groups
    account = split_service_account(identity.user)
    if kind != "ServiceAccount" or account is None:
        return False
    namespace, name = account
    return at(subject, "serviceAccount", "namespace") == namespace and at(subject, "serviceAccount", "name") in (
        EVERYTHING,
        name,
    )


def _asks(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    if info.is_resource:
        return any(_covers_resource(each, info) for each in rule.get("resourceRules") or ())
    return any(_covers_path(each, info) for each in rule.get("nonResourceRules") or ())


def _covers_resource(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (
        _has(rule.get("verbs"), info.verb)
        and _has(rule.get("resources"), resource)
        and _has(rule.get("apiGroups"), info.group)
    ):
        return False
    if not info.namespace:
        return bool(rule.get("clusterScope"))
    return _has(rule.get("namespaces"), info.namespace)


def _covers_path(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    if not _has(rule.get("verbs"), info.verb):
        return False
    for pattern in rule.get("nonResourceURLs") or ():
        if pattern in (EVERYTHING, info.path):
            return True
        if pattern.endswith(EVERYTHING) and info.path.startswith(pattern.rstrip(EVERYTHING)):
            return True
    return False


def _has(listed: Collection[str] | None, value: str) -> bool:
    return bool(listed) and (value in listed or EVERYTHING in listed)  # type: ignore[operator]
