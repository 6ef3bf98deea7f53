"""The audit policy: rules that decide the level of each request.

Upstream: k8s.io/apiserver/pkg/audit/policy/checker.go and k8s.io/apiserver/pkg/apis/audit/validation/validation.go,
release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from simkit.engine.pipeline.request_info import RequestInfo
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.logic.authorizers.abac import covers
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.identity import Identity
from simkit.meta.name_validation import dns_subdomain
from simkit.schema.behaviour import OWN

_LOG: Final = logging.getLogger("simkit.audit")
AUDIT_GROUP: Final = api_group("audit")
LEVELS: Final = ("None", "Metadata", "Request", "RequestResponse")
"""The levels of recording: nothing, metadata, also the object of the request, also that of the response."""
STAGES: Final = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
Level = Literal["None", "Metadata", "Request", "RequestResponse"]


def _listed(value: Any) -> Any:
    return () if value is None else value


Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class GroupResources(_Document):
    """Resources of one API group."""

    group: str = ""
    resources: Words = ()
    resource_names: Words = Field((), alias="resourceNames")

    def matches(self, info: RequestInfo) -> bool:
        """True if a request is about one of them."""
        if self.group != info.group:
            return False
        if not self.resources:
            return True
        if self.resource_names and info.name not in self.resource_names:
            return False
        return any(_names(word, info.resource, info.subresource) for word in self.resources)


def _names(word: str, resource: str, subresource: str) -> bool:
    """True if a rule's resource matches: ``pods`` alone, ``pods/*`` with subresources, ``*/log`` that subresource of
    all."""
    if word == "*" or word == (f"{resource}/{subresource}" if subresource else resource):
        return True
    if subresource and word == f"*/{subresource}":
        return True
    return word == f"{resource}/*"


class Rule(_Document):
    """One rule of an audit policy: the requests that it matches, and their level."""

    level: str = ""
    users: Words = ()
    user_groups: Words = Field((), alias="userGroups")
    verbs: Words = ()
    resources: Annotated[tuple[GroupResources, ...], BeforeValidator(_listed)] = ()
    namespaces: Words = ()
    non_resource_urls: Words = Field((), alias="nonResourceURLs")
    omit_stages: Words = Field((), alias="omitStages")
    omit_managed_fields: bool | None = Field(None, alias="omitManagedFields")

    def matches(self, info: RequestInfo, identity: Identity | None) -> bool:
        """True if the rule is for this request; ``identity`` is None where nobody was authenticated."""
        if self.users and (identity is None or identity.user not in self.users):
            return False
        if self.user_groups and (identity is None or not set(self.user_groups).intersection(identity.groups)):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._matches_resource(info)
        if self.non_resource_urls:
            return not info.is_resource and any(covers(url, info.path) for url in self.non_resource_urls)
        return True

    def _matches_resource(self, info: RequestInfo) -> bool:
        if not info.is_resource or (self.namespaces and info.namespace not in self.namespaces):
            return False
        return not self.resources or any(each.matches(info) for each in self.resources)


class RequestAuditConfig(NamedTuple):
    """The decision of a policy on one request."""

    level: str
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


class Policy(_Document):
    """Rules in order; the first match decides, and unmatched requests are not recorded.

    Examples
    --------
    >>> policy = Policy(rules=[{"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]}])
    >>> policy.choice(RequestInfo("", "get", True, resource="secrets"), None).level
    'Metadata'
    """

    rules: Annotated[tuple[Rule, ...], BeforeValidator(_listed)] = ()
    omit_stages: Words = Field((), alias="omitStages")
    omit_managed_fields: bool = Field(False, alias="omitManagedFields")

    def choice(self, info: RequestInfo, identity: Identity | None) -> RequestAuditConfig:
        """The decision on a request."""
        for rule in self.rules:
            if rule.matches(info, identity):
                own = rule.omit_managed_fields
                fields = self.omit_managed_fields if own is None else own
                return RequestAuditConfig(rule.level, frozenset((*self.omit_stages, *rule.omit_stages)), fields)
        return RequestAuditConfig("None", frozenset(self.omit_stages))

    def errors(self) -> list[FieldError]:
        """All errors, in kube-apiserver's words."""
        found = _stage_errors(self.omit_stages, "omitStages")
        for index, rule in enumerate(self.rules):
            found += _rule_errors(rule, f"rules[{index}]")
        return found


def everything(level: Level = "Metadata") -> Policy:
    """A policy that records all requests at one level, once they are answered."""
    return Policy.model_validate({"rules": [{"level": level}], "omitStages": ["RequestReceived"]})


def load(path: str | Path) -> Policy:
    """The policy in a file. Raises SimkitError with all its errors."""
    try:
        document = value_of_bytes(Path(path).read_bytes())
    except OSError as error:
        why = error.strerror or error
        raise SimkitError(f'loading audit policy file: failed to read file path "{path}": {why}') from error
    except BrokenText as error:
        raise SimkitError(f"loading audit policy file: {path} is no YAML: {error}") from error
    return parse(document, str(path))


def parse(document: Any, source: str = "the audit policy") -> Policy:
    """The policy in a decoded document. Raises SimkitError with all its errors."""
    if not isinstance(document, Mapping) or not document:
        raise SimkitError(f"loading audit policy file: {source} holds no policy")
    if (document.get("apiVersion"), document.get("kind")) != (f"{AUDIT_GROUP}/v1", "Policy"):
        shown = f"{document.get('apiVersion')!r}, kind {document.get('kind')!r}"
        raise SimkitError(f"loading audit policy file: {source} is apiVersion {shown}; use {AUDIT_GROUP}/v1 Policy")
    try:
        policy = Policy.model_validate(document)
    except ValidationError as error:
        raise SimkitError(f"loading audit policy file: failed decoding: {source}: {error}") from error
    _tell_unknown(policy, source)
    errors = policy.errors()
    if errors:
        raise SimkitError(f"loading audit policy file: {source}: {'; '.join(error.told(OWN) for error in errors)}")
    if not policy.rules:
        raise SimkitError(f"loading audit policy file: loaded illegal policy with 0 rules from {source}")
    return policy


def _tell_unknown(policy: Policy, source: str) -> None:
    """Warn about unknown fields, which are ignored as in kube-apiserver."""
    parts: Iterable[_Document] = (policy, *policy.rules, *(each for rule in policy.rules for each in rule.resources))
    unknown = sorted({name for part in parts for name in part.model_extra or ()} - {"apiVersion", "kind", "metadata"})
    if unknown:
        _LOG.warning("%s: unknown fields are passed over: %s", source, ", ".join(unknown))


def _rule_errors(rule: Rule, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not rule.level:
        found.append(required(f"{path}.level"))
    elif rule.level not in LEVELS:
        found.append(unsupported(f"{path}.level", rule.level, LEVELS))
    for index, url in enumerate(rule.non_resource_urls):
        found += _url_errors(url, f"{path}.nonResourceURLs[{index}]")
    for index, each in enumerate(rule.resources):
        found += _group_errors(each, f"{path}.resources[{index}]")
    found += _stage_errors(rule.omit_stages, f"{path}.omitStages")
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        detail = "rules cannot apply to both regular resources and non-resource URLs"
        found.append(invalid_value(f"{path}.nonResourceURLs", list(rule.non_resource_urls), detail))
    return found


def _url_errors(url: str, path: str) -> list[FieldError]:
    if url == "*":
        return []
    if not url.startswith("/"):
        return [invalid_value(path, url, "non-resource URL rules must begin with a '/' character")]
    if "*" in url[:-1]:
        return [invalid_value(path, url, "non-resource URL wildcards '*' must be the final character of the rule")]
    return []


def _group_errors(each: GroupResources, path: str) -> list[FieldError]:
    found = []
    if each.group:
        texts = dns_subdomain(each.group, False)
        if texts:
            found.append(invalid_value(f"{path}.group", each.group, ",".join(texts)))
    if each.resource_names and not each.resources:
        detail = "using resourceNames requires at least one resource"
        found.append(invalid_value(f"{path}.resourceNames", list(each.resource_names), detail))
    return found


def _stage_errors(stages: Sequence[str], path: str) -> list[FieldError]:
    detail = f"allowed stages are {','.join(STAGES)}"
    wrong = [(index, stage) for index, stage in enumerate(stages) if stage not in STAGES]
    return [invalid_value(f"{path}[{index}]", stage, detail) for index, stage in wrong]
