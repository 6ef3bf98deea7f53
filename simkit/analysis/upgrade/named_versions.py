"""Configuration that names what goes, object by object: roles, webhooks, policies, API services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL
from simkit.analysis.upgrade.bound_subjects import BoundSubjects
from simkit.analysis.upgrade.breaks import Break, break_of
from simkit.analysis.upgrade.configuration import ConfigurationReference, references_of
from simkit.analysis.upgrade.items import Item
from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import GroupVersion
from simkit.meta.objects import labels_of

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
                    if _names(rule, resource):
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
        isinstance(rule, Mapping) and {group, "*"} & set(_list(rule, "apiGroups")) and _covers(rule, resource)
        for rule in rules
    )


def _list(rule: Mapping[str, Any], name: str) -> list[str]:
    found = rule.get(name)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _names(rule: Mapping[str, Any], resource: str) -> bool:
    return any(each.partition("/")[0] == resource for each in _list(rule, "resources"))


def _covers(rule: Mapping[str, Any], resource: str) -> bool:
    return "*" in _list(rule, "resources") or _names(rule, resource)


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
