"""What names versions that go, object by object: roles with their subjects, webhooks, policies, API services.

Access to streams of pods over WebSockets, which needs the verb create as of 1.35, is judged by subject, not by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.rbac.subject import text_of
from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL
from simkit.analysis.rendering import first_of
from simkit.analysis.upgrade.items import Break, Item, break_of
from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.kinds.apiregistration import AUTOMANAGED
from simkit.logic.rbac.binding import CLUSTER_ROLES, RESOURCES_OF_KINDS, ROLES, Binding, Subject
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule, group_matches, rules_of
from simkit.meta.domain import RBAC_GROUP, REGISTRATION_GROUP, api_group
from simkit.meta.names import GroupVersion, Key
from simkit.meta.objects import Object, at, labels_of

RULE: Final = "rule"
CONFIGURATION: Final = "configuration"
_SAID: Final = {
    "blind": ("high", True, "it matches nothing any more"),
    "orphaned": ("high", True, "what it speaks of is gone"),
    "kept": ("info", False, "it names versions that are left too"),
}


class NamedVersions:
    """Looks for configuration that names what a span takes away."""

    def __init__(self, removed: RemovedResources, span: ReleaseSpan, bindings: ItemBindings) -> None:
        self.removed, self.span, self._bindings = removed, span, bindings
        self._groups: dict[str, dict[str, RemovedResource]] = {}
        for each in removed.resources:
            left = {GroupVersion.parse(version).group for version in each.left}
            if span.meets(each.since) and each.group not in left:  # rules know no versions: others go on granting
                self._groups.setdefault(each.group, {})[each.resource] = each

    def find(self, item: Item) -> Iterator[Break]:
        """The rules of a role, and the parts of other configuration, that name what goes."""
        if item.group == RBAC_GROUP and item.kind in ("Role", "ClusterRole"):
            yield from self._rules(item)
            return
        for found in references_of(item.obj, self.removed):
            yield _configuration(item, found, self.removed, self.span)

    def _rules(self, item: Item) -> Iterator[Break]:
        """The rules of a role that name what goes. Those of default roles are the server's to change."""
        if BOOTSTRAP_LABEL in labels_of(item.obj):
            return
        rules = rules_of(item.obj)
        for number, rule in enumerate(rules):
            for group in self._groups.keys() & set(rule.api_groups):
                for resource, each in self._groups[group].items():
                    if _names(rule, resource):
                        yield self._rule(item, rules, number, each)

    def _rule(self, item: Item, rules: Iterable[Rule], number: int, gone: RemovedResource) -> Break:
        moved = next(iter(gone.left), "")
        return break_of(
            item,
            release=gone.since,
            severity="medium" if moved else "low",
            check=RULE,
            what=f"A rule grants {gone.resource} in {gone.group or 'the core group'}, where they no longer exist",
            evidence=f"the rule names {gone.resource}",
            remedy=f"Grant {gone.resource} in {GroupVersion.parse(moved).group}." if moved else "Take the rule out.",
            source=gone.source,
            breaks=bool(moved) and not _grants_moved(rules, moved, gone.resource),
            field=f"rules[{number}]",
            who=self._bindings.subjects(item),
            api_version=gone.api_version,
        )


def _grants_moved(rules: Iterable[Rule], version: str, resource: str) -> bool:
    """True if some rule of the role grants the same resource where it is now."""
    group = GroupVersion.parse(version).group
    return any(group_matches(rule, group) and ("*" in rule.resources or _names(rule, resource)) for rule in rules)


def _names(rule: Rule, resource: str) -> bool:
    return any(each.partition("/")[0] == resource for each in rule.resources)


def _configuration(item: Item, found: ConfigurationReference, removed: RemovedResources, span: ReleaseSpan) -> Break:
    severity, breaks, evidence = _SAID[found.verdict]
    gone = found.removed
    instead = removed.successor(gone.api_version, gone.kind)
    already = bool(span.start) and not span.meets(gone.since)
    return break_of(
        item,
        release=gone.since,
        severity="info" if already else severity,
        check=CONFIGURATION,
        what=f"It names {gone.api_version} {gone.resource}, which is not served any more",
        evidence=evidence + (f"; {span.start} does not serve it either" if already else ""),
        remedy=f"Name {instead}." if instead else "Take it out.",
        source=gone.source,
        breaks=breaks and not already,
        field=found.part,
        api_version=gone.api_version,
    )


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
        for webhook in obj.get("webhooks") or ():
            yield from _rules(webhook.get("name") or "", webhook.get("rules"), removed)
    elif group == _ADMISSION and kind == "ValidatingAdmissionPolicy":
        yield from _policy(obj, removed)
    elif group == _ADMISSION and kind == "ValidatingAdmissionPolicyBinding":
        yield from _rules("resourceRules", at(obj, "spec", "matchResources", "resourceRules"), removed)


def _policy(policy: Object, removed: RemovedResources) -> Iterator[ConfigurationReference]:
    yield from _rules("resourceRules", at(policy, "spec", "matchConstraints", "resourceRules"), removed)
    parameter = at(policy, "spec", "paramKind") or {}
    found = removed.kind(str(parameter.get("apiVersion")), str(parameter.get("kind")))
    if found is not None:
        yield ConfigurationReference("spec.paramKind", found, "orphaned")


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


STREAMS: Final = "websocket-create"
"""The entry of the table of changed behaviour."""
_SHOWN: Final = 4
"""So many subjects are named, the others counted."""
_KINDS: Final = {"Role": ROLES, "ClusterRole": CLUSTER_ROLES}


class ItemBindings:
    """The subjects of each role, and who may open streams of pods, by roles and bindings whatever their versions."""

    def __init__(self, items: Iterable[Item]) -> None:
        kept = [item for item in items if item.group == RBAC_GROUP]
        creates = {_role(item): _streams(item, "create") for item in kept if item.kind in _KINDS}
        self._bound: dict[Key, list[tuple[Subject, str]]] = {}
        self._creates: dict[tuple[Subject, str], set[str]] = {}
        for item in kept:
            if item.kind in RESOURCES_OF_KINDS and item.kind not in _KINDS:
                wide = item.kind == "ClusterRoleBinding"
                key = Key(RESOURCES_OF_KINDS[item.kind], "" if wide else item.namespace, item.name)
                binding = Binding.of(key, item.obj)
                for subject in binding.subjects:
                    self._bound.setdefault(binding.role, []).append((subject, key.namespace))
                    self._creates.setdefault((subject, key.namespace), set()).update(creates.get(binding.role, ()))

    def subjects(self, item: Item) -> str:
        """The subjects of a role as text; empty if no binding among the items names it."""
        return _told(subject for subject, _ in self._bound.get(_role(item), ()))

    def judged(self, item: Item, row: Break) -> Break:
        """The row of a role about its subjects: it breaks nothing where each of them may create, or there is none."""
        wanted, bound = _streams(item, "get"), self._bound.get(_role(item), ())
        concerned = [subject for subject, place in bound if not wanted <= self._created(subject, place)]
        if concerned:
            return row._replace(who=_told(concerned))
        why = "its subjects may create, too" if bound else "no binding among the objects names the role"
        return row._replace(severity="info", breaks=False, evidence=f"{row.evidence}; {why}")

    def _created(self, subject: Subject, place: str) -> set[str]:
        return self._creates.get((subject, place), set()) | self._creates.get((subject, ""), set())


def _told(subjects: Iterable[Subject]) -> str:
    return first_of([text_of(subject) for subject in dict.fromkeys(subjects)], _SHOWN)


def _role(item: Item) -> Key:
    return Key(_KINDS.get(item.kind, ROLES), item.namespace if item.kind == "Role" else "", item.name)


def _streams(role: Item, verb: str) -> set[str]:
    """The streams of pods on which a role allows a verb."""
    asked = (Question(verb, "", "pods", stream, None, None) for stream in ("exec", "attach", "portforward"))
    return {one.subresource for one in asked if any(map(one.allowed_by, rules_of(role.obj)))}
