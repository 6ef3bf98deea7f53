"""Configuration that names removed resources: webhooks, admission policies and their bindings, API services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources
from simkit.kinds.apiregistration import AUTOMANAGED
from simkit.meta.domain import REGISTRATION_GROUP, api_group
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, at, labels_of

_ADMISSION: Final = api_group("admissionregistration")
_ANY: Final = "*"


class ConfigurationReference(NamedTuple):
    """A part of some configuration that names a removed version or resource.

    ``verdict``: blind (it matches nothing any more, whatever its match policy: equivalents are found among what is
    served), kept (it names versions that are left too), orphaned (what it speaks of is removed).
    """

    part: str
    removed: RemovedResource
    verdict: str


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
        yield from _matches(at(obj, "spec", "matchResources"), removed)


def _webhooks(configuration: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    for webhook in configuration.get("webhooks") or ():
        yield from _rules(webhook.get("name") or "", webhook.get("rules"), removed)


def _policy(policy: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    yield from _matches(at(policy, "spec", "matchConstraints"), removed)
    parameter = at(policy, "spec", "paramKind") or {}
    found = removed.kind(str(parameter.get("apiVersion")), str(parameter.get("kind")))
    if found is not None:
        yield ConfigurationReference("spec.paramKind", found, "orphaned")


def _matches(match: Mapping[str, Any] | None, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    yield from _rules("resourceRules", (match or {}).get("resourceRules"), removed)


def _rules(
    part: str, rules: Sequence[Mapping[str, Any]] | None, removed: RemovedResources
) -> Iterator[ConfigurationReference]:
    for rule in rules or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        for each in removed.resources:
            group, version = GroupVersion.parse(each.api_version)
            if group in groups and version in versions and _covers(rule.get("resources") or (), each.resource):
                yield ConfigurationReference(part, each, _verdict(each, rules or ()))


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
            yield ConfigurationReference("spec", each, "orphaned")
            return
