"""What names versions that go, object by object: roles with their subjects, webhooks, policies, API services.

Access to streams of pods over WebSockets, which needs the verb create as of 1.35, is judged by subject, not by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.rbac.subject import text_of
from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL
from simkit.analysis.upgrade.breaks import Break, break_of
from simkit.analysis.upgrade.items import Item
from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.kinds.apiregistration import AUTOMANAGED
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.domain import RBAC_GROUP, REGISTRATION_GROUP, api_group
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of

RULE: Final = "rule"
CONFIGURATION: Final = "configuration"
_SAID: Final = {
    "blind": ("high", True, "it matches nothing any more"),
    "orphaned": ("high", True, "what it speaks of is gone"),
    "kept": ("info", False, "it names versions that are left too"),
}


class NamedVersions:
    """Looks for configuration that names what a span takes away."""

    def __init__(self, removed: RemovedResources, span: ReleaseSpan, bound: BoundSubjects) -> None:
        self.removed, self.span, self._bound = removed, span, bound
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
        rules = item.obj.get("rules")
        for number, rule in enumerate(rules if isinstance(rules, list) else ()):
            if not isinstance(rule, Mapping):
                continue
            for group in self._groups.keys() & set(_list(rule, "apiGroups")):
                for resource, each in self._groups[group].items():
                    if _rule_names(rule, resource):
                        yield self._rule(item, rules, number, each)

    def _rule(self, item: Item, rules: Any, number: int, gone: RemovedResource) -> Break:
        moved = next(iter(gone.left), "")
        return break_of(
            item,
            release=gone.since,
            severity="medium" if moved else "low",
            check=RULE,
            what=f"A rule grants {gone.resource} in {gone.group or 'the core group'}, which has them no more",
            evidence=f"the rule names {gone.resource}",
            remedy=f"Grant {gone.resource} in {GroupVersion.parse(moved).group}." if moved else "Take the rule out.",
            source=gone.source,
            breaks=bool(moved) and not _grants_moved(rules, moved, gone.resource),
            field=f"rules[{number}]",
            who=self._bound.of(item),
            api_version=gone.api_version,
        )


def _grants_moved(rules: Any, version: str, resource: str) -> bool:
    """True if some rule of the role grants the same resource where it is now."""
    group = GroupVersion.parse(version).group
    return any(
        isinstance(rule, Mapping) and {group, "*"} & set(_list(rule, "apiGroups")) and _grants(rule, resource)
        for rule in rules
    )


def _list(rule: Mapping[str, Any], name: str) -> list[str]:
    found = rule.get(name)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _rule_names(rule: Mapping[str, Any], resource: str) -> bool:
    return any(each.partition("/")[0] == resource for each in _list(rule, "resources"))


def _grants(rule: Mapping[str, Any], resource: str) -> bool:
    return "*" in _list(rule, "resources") or _rule_names(rule, resource)


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


SHOWN: Final = 4
"""So many subjects are named, the others counted."""
Role = tuple[str, str, str]
"""Kind, namespace (empty for a ClusterRole) and name."""


class BoundRole(NamedTuple):
    """A binding with the role and the subjects that it names."""

    item: Item
    role: Role
    subjects: tuple[str, ...]


def bindings_of(items: Iterable[Item]) -> Iterator[BoundRole]:
    """The bindings among some items, whatever their version."""
    for item in items:
        if item.group == RBAC_GROUP and item.kind in ("RoleBinding", "ClusterRoleBinding"):
            reference = item.obj.get("roleRef")
            if isinstance(reference, Mapping):
                kind = str(reference.get("kind"))
                role = (kind, item.namespace if kind == "Role" else "", str(reference.get("name")))
                yield BoundRole(item, role, tuple(_subjects(item)))


def named(subjects: Sequence[str]) -> str:
    """Subjects as text: the first ones, and how many more there are."""
    more = f" and {len(subjects) - SHOWN} more" if len(subjects) > SHOWN else ""
    return ", ".join(subjects[:SHOWN]) + more


class BoundSubjects:
    """The subjects of each role, by the bindings among some items, whatever their version."""

    def __init__(self, items: Iterable[Item]) -> None:
        found: dict[Role, dict[str, None]] = {}
        for binding in bindings_of(items):
            found.setdefault(binding.role, {}).update(dict.fromkeys(binding.subjects))
        self._found = {role: tuple(names) for role, names in found.items()}

    def of(self, item: Item) -> str:
        """The subjects of a role as text; empty if no binding among the items names it."""
        role = (item.kind, item.namespace if item.kind == "Role" else "", item.name)
        return named(self._found.get(role, ()))


def _subjects(item: Item) -> Iterator[str]:
    subjects: Any = item.obj.get("subjects")
    for each in subjects if isinstance(subjects, list) else ():
        if isinstance(each, Mapping) and each.get("kind") in (USER, GROUP, SERVICE_ACCOUNT):
            place = str(each.get("namespace") or item.namespace) if each["kind"] == SERVICE_ACCOUNT else ""
            yield text_of(Subject(str(each["kind"]), str(each.get("name") or ""), place))


STREAMS: Final = "websocket-create"
"""The entry of the table of changed behaviour."""
_STREAMS: Final = ("pods/exec", "pods/attach", "pods/portforward")


class StreamAccess:
    """Who may open streams of pods by get alone, by the roles and bindings among some items."""

    def __init__(self, items: Iterable[Item]) -> None:
        kept = [item for item in items if item.group == RBAC_GROUP]
        roles = {_role(item): item.obj for item in kept if item.kind in ("Role", "ClusterRole")}
        self._bound: dict[Role, list[tuple[str, str]]] = {}
        self._creates: dict[tuple[str, str], set[str]] = {}
        for binding in bindings_of(kept):
            place = "" if binding.item.kind == "ClusterRoleBinding" else binding.item.namespace
            creates = {stream for stream in _STREAMS if _allows_stream(roles.get(binding.role, {}), stream, "create")}
            for subject in binding.subjects:
                self._bound.setdefault(binding.role, []).append((subject, place))
                self._creates.setdefault((subject, place), set()).update(creates)

    def judged(self, item: Item, row: Break) -> Break:
        """The row of a role about its subjects: it breaks nothing where each of them may create, or there is none."""
        wanted = {stream for stream in _STREAMS if _allows_stream(item.obj, stream, "get")}
        bound = self._bound.get(_role(item), [])
        concerned = [subject for subject, place in bound if not wanted <= self._created(subject, place)]
        if concerned:
            return row._replace(who=named(list(dict.fromkeys(concerned))))
        why = "its subjects may create, too" if bound else "no binding among the objects names the role"
        return row._replace(severity="info", breaks=False, evidence=f"{row.evidence}; {why}")

    def _created(self, subject: str, place: str) -> set[str]:
        return self._creates.get((subject, place), set()) | self._creates.get((subject, ""), set())


def _role(item: Item) -> Role:
    return item.kind, namespace_of(item.obj) if item.kind == "Role" else "", name_of(item.obj)


def _allows_stream(role: Mapping[str, Any], stream: str, verb: str) -> bool:
    rules = role.get("rules")
    return any(
        isinstance(rule, Mapping)
        and not {"", "*"}.isdisjoint(rule.get("apiGroups") or ())
        and not {verb, "*"}.isdisjoint(rule.get("verbs") or ())
        and not {stream, f"*/{stream.partition('/')[2]}", "*"}.isdisjoint(rule.get("resources") or ())
        for rule in (rules if isinstance(rules, list) else ())
    )
