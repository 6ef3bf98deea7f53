"""Configuration that names removed resources: roles, webhooks, admission policies, API services, flow schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.rbac.objects import all_roles, kind_of
from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources
from simkit.kinds.apiregistration.apiservice import AUTOMANAGED
from simkit.logic.rbac.rule import rules_of
from simkit.meta.domain import REGISTRATION_GROUP, api_group
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, GroupVersion
from simkit.meta.objects import Object, at, labels_of, name_of
from simkit.snapshot.protocol import Snapshot

RULE_COLUMNS: Final = ("role_kind", "namespace", "role", "rule", "api_version", "resource", "verdict")
CONFIGURATION_COLUMNS: Final = ("kind", "name", "part", "api_version", "resource", "verdict")
_ADMISSION: Final = api_group("admissionregistration")
_WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_POLICIES: Final = "validatingadmissionpolicies"
_BINDINGS: Final = "validatingadmissionpolicybindings"
_ANY: Final = "*"


class RuleReference(NamedTuple):
    """A rule of a role that names a removed resource. Wildcards name nothing.

    ``verdict``: dead when no version of the resource is left, so that the rule grants nothing any more; kept when it
    goes on granting access to the versions that are left (rules know no versions).
    """

    role_kind: str
    namespace: str
    role: str
    rule: int
    api_version: str
    resource: str
    verdict: str


class ConfigurationReference(NamedTuple):
    """A part of some configuration that names a removed version or resource.

    ``verdict``: blind (it matches nothing any more, whatever its match policy: equivalents are found among what is
    served), kept (it names versions that are left too), orphaned (what it speaks of is removed).
    """

    kind: str
    name: str
    part: str
    api_version: str
    resource: str
    verdict: str


def rule_references(snapshot: Snapshot, removed: RemovedResources) -> Iterator[RuleReference]:
    """Rules of roles that name a removed resource."""
    for key, role in all_roles(snapshot):
        for number, rule in enumerate(rules_of(role)):
            for each in removed.resources:
                if each.group in rule.api_groups and _names(rule.resources, each.resource):
                    verdict = "kept" if any(GroupVersion.parse(v).group == each.group for v in each.left) else "dead"
                    what = (number, each.api_version, each.resource, verdict)
                    yield RuleReference(kind_of(key), key.namespace, key.name, *what)


def _names(resources: Sequence[str], wanted: str) -> bool:
    return any(resource.partition("/")[0] == wanted for resource in resources)


def configuration_references(snapshot: Snapshot, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    """Webhooks, admission policies, API services and flow schemas that name a removed version or resource."""
    groups = [GroupResource(_ADMISSION, plural) for plural in (*_WEBHOOKS, _POLICIES, _BINDINGS)]
    for resource in (*groups, GroupResource(REGISTRATION_GROUP, "apiservices")):
        for obj in _scan(snapshot, resource):
            yield from references_of(obj, removed)


def references_of(obj: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    """The parts of a webhook, admission policy, its binding or an API service that name what goes."""
    kind, group = obj.get("kind"), GroupVersion.parse(str(obj.get("apiVersion") or "")).group
    if group == REGISTRATION_GROUP and kind == "APIService":
        yield from _service(obj, removed)
    elif group == _ADMISSION and kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        yield from _webhooks(obj, removed)
    elif group == _ADMISSION and kind == "ValidatingAdmissionPolicy":
        yield from _policy(obj, removed)
    elif group == _ADMISSION and kind == "ValidatingAdmissionPolicyBinding":
        yield from _matches(obj, at(obj, "spec", "matchResources"), removed)


def _scan(snapshot: Snapshot, resource: GroupResource) -> Iterator[Object]:
    try:
        yield from snapshot.scan(resource)
    except IncompleteSnapshot:
        return


def _webhooks(configuration: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    for webhook in configuration.get("webhooks") or ():
        yield from _rules(configuration, webhook.get("name") or "", webhook.get("rules"), removed)


def _policy(policy: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    yield from _matches(policy, at(policy, "spec", "matchConstraints"), removed)
    parameter = at(policy, "spec", "paramKind") or {}
    found = removed.kind(str(parameter.get("apiVersion")), str(parameter.get("kind")))
    if found is not None:
        yield _hook(policy, "spec.paramKind", found, "orphaned")


def _matches(
    policy: Object, match: Mapping[str, Any] | None, removed: RemovedResources
) -> Iterator[ConfigurationReference]:
    yield from _rules(policy, "resourceRules", (match or {}).get("resourceRules"), removed)


def _rules(
    owner: Object, part: str, rules: Sequence[Mapping[str, Any]] | None, removed: RemovedResources
) -> Iterator[ConfigurationReference]:
    for rule in rules or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        for each in removed.resources:
            group, version = GroupVersion.parse(each.api_version)
            if group in groups and version in versions and _covers(rule.get("resources") or (), each.resource):
                yield _hook(owner, part, each, _verdict(each, rules or ()))


def _covers(resources: Sequence[str], wanted: str) -> bool:
    return any(resource.partition("/")[0] in (wanted, _ANY) for resource in resources)


def _verdict(removed: RemovedResource, rules: Sequence[Mapping[str, Any]]) -> str:
    """``kept`` if one of the rules beside each other matches a version that is left, else ``blind``."""
    left = [GroupVersion.parse(each) for each in removed.left]
    kept = any(
        _has(rule.get("apiGroups"), each.group)
        and _has(rule.get("apiVersions"), each.version)
        and _covers(rule.get("resources") or (), removed.resource)
        for rule in rules
        for each in left
    )
    return "kept" if kept else "blind"


def _has(words: Sequence[str] | None, wanted: str) -> bool:
    return wanted in (words or ()) or _ANY in (words or ())


def _service(service: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    version = f"{at(service, 'spec', 'group')}/{at(service, 'spec', 'version')}"
    if AUTOMANAGED in labels_of(service):
        return  # the server takes it away itself
    for each in removed.resources:
        if each.api_version == version:
            yield _hook(service, "spec", each, "orphaned")
            return


def _hook(owner: Object, part: str, removed: RemovedResource, verdict: str) -> ConfigurationReference:
    return ConfigurationReference(
        str(owner.get("kind")), name_of(owner), part, removed.api_version, removed.resource, verdict
    )
