"""The ABAC authorizer: one policy per line of a file; any match allows.

Upstream: pkg/auth/authorizer/abac, release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision, RuleList
from simkit.meta.domain import LABEL_DOMAIN
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, Identity

_LOG: Final = logging.getLogger("simkit.authz")
_READING: Final = frozenset({"get", "list", "watch"})
API_VERSION: Final = f"abac.authorization.{LABEL_DOMAIN}/v1beta1"
_ALLOWED: Final = Decision(ALLOW)
_TEXTS: Final = {
    "user": "user",
    "group": "group",
    "apiGroup": "api_group",
    "resource": "resource",
    "namespace": "namespace",
    "nonResourcePath": "path",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """One line of a policy file. A star matches everything; an empty field matches requests without it."""

    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def names(self, identity: Identity) -> bool:
        """True if the policy is about somebody: user and group, where both are given, must fit."""
        if self.user not in ("", "*", identity.user):
            return False
        if self.group not in ("", "*") and self.group not in identity.groups:
            return False
        return bool(self.user or self.group)

    def matches(self, ask: Attributes) -> bool:
        """True if the policy allows what is asked."""
        if not self.names(ask.identity) or (self.readonly and ask.verb not in _READING):
            return False
        if not ask.is_resource:
            return covers(self.path, ask.path)
        return (
            self.namespace in ("*", ask.namespace)
            and self.resource in ("*", ask.resource)
            and self.api_group in ("*", ask.group)
        )


def covers(pattern: str, path: str) -> bool:
    """True if a path is the pattern, or begins with one that ends with a star."""
    if pattern in ("*", path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


class PolicyFile:
    """Allows requests that match one of its policies."""

    leaves_process: Final = False

    def __init__(self, policies: Iterable[Policy]) -> None:
        self.policies = tuple(policies)

    def authorize(self, ask: Attributes) -> Decision:
        if any(policy.matches(ask) for policy in self.policies):
            return _ALLOWED
        return Decision(NO_OPINION, "No policy matched.")

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """The rules of the policies that name the identity, for the namespace."""
        resource_rules, path_rules = [], []
        for policy in self.policies:
            if not policy.names(identity) or policy.namespace not in ("*", namespace):
                continue
            verbs = ["get", "list", "watch"] if policy.readonly else ["*"]
            if policy.resource:
                resource_rules.append({"verbs": verbs, "apiGroups": [policy.api_group], "resources": [policy.resource]})
            if policy.path:
                path_rules.append({"verbs": verbs, "nonResourceURLs": [policy.path]})
        return RuleList(resource_rules, path_rules)


def load(path: str | Path) -> PolicyFile:
    """The policies of a file. Raises SimkitError with the line that is wrong."""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise SimkitError(f"error reading policy file {path}: {error.strerror or error}") from error
    return PolicyFile(parse(lines, str(path)))


def parse(lines: Iterable[bytes], source: str = "the policy file") -> list[Policy]:
    """The policies of some lines; empty ones and those that start with ``#`` are skipped. Raises SimkitError."""
    found, unversioned = [], 0
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        try:
            document = orjson.loads(text)
            if not isinstance(document, dict):
                raise ValueError("a policy is a JSON object")
            if "apiVersion" in document or "kind" in document:
                found.append(_versioned(document))
            else:
                unversioned += 1
                found.append(_unversioned(document))
        except ValueError as error:
            shown = text.decode("utf-8", "replace")
            raise SimkitError(f"error reading policy file {source}, line {number}: {shown}: {error}") from error
    if unversioned:
        _LOG.warning("%s: %d lines carry no apiVersion; use %s", source, unversioned, API_VERSION)
    return found


def _versioned(document: Mapping[str, Any]) -> Policy:
    version, kind = document.get("apiVersion"), document.get("kind")
    if (version, kind) != (API_VERSION, "Policy"):
        raise ValueError(f'no kind "{kind}" is registered for version "{version}"')
    spec = document.get("spec") or {}
    if not isinstance(spec, Mapping):
        raise ValueError("spec is a JSON object")
    policy = _fields(spec)
    # A star in either place is everybody who is known, whatever the other place says.
    return replace(policy, user="", group=AUTHENTICATED) if "*" in (policy.user, policy.group) else policy


def _unversioned(document: Mapping[str, Any]) -> Policy:
    """A policy of the oldest form: missing fields match everything."""
    policy = _fields({name: document[name] for name in document if name not in ("apiGroup", "nonResourcePath")})
    everybody = "*" in (policy.user, policy.group) or not (policy.user or policy.group)
    whole = not policy.namespace and not policy.resource
    return Policy(
        "" if everybody else policy.user,
        AUTHENTICATED if everybody else policy.group,
        policy.readonly,
        "*",
        policy.resource or "*",
        policy.namespace or "*",
        "*" if whole else "",
    )


def _fields(spec: Mapping[str, Any]) -> Policy:
    given: dict[str, Any] = {}
    for name, field in _TEXTS.items():
        value = spec.get(name) or ""
        if not isinstance(value, str):
            raise ValueError(f"{name} is a text")
        given[field] = value
    readonly = spec.get("readonly") or False
    if not isinstance(readonly, bool):
        raise ValueError("readonly is true or false")
    return Policy(**given, readonly=readonly)
