"""The smallest rules that allow some actions, and the number of single permissions in rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.rbac.objects import NAMESPACES, captured_objects
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.rule import ALL, Rule, group_matches, resource_matches
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Snapshot

Names = Literal["repeated", "always", "never"]
FEW: Final = 5
"""The most names that are written into a rule."""
SPECIAL_VERBS: Final = ("impersonate", "bind", "escalate", "use", "approve", "sign")
"""Verbs that are dangerous without a limit to names."""
NAMED_VERBS: Final = ("get", "update", "patch", "delete", "list", "watch", *SPECIAL_VERBS)


def minimal_rules(actions: Mapping[Action, int], *, names: Names = "repeated") -> tuple[Rule, ...]:
    """The fewest rules that allow these actions and nothing else of their kind.

    Parameters
    ----------
    actions
        How often each was asked for.
    names
        Whether objects are named: ``repeated``, where each of a few names was asked for more than once; ``always``,
        where requests name objects; or ``never``.

    Returns
    -------
    tuple of Rule
        Rules with the same verbs, group and names merged.

    Examples
    --------
    >>> used = {Action("get", "", "pods", "", "dev", "a"): 1, Action("list", "", "pods", "", "dev"): 4}
    >>> [str(rule) for rule in minimal_rules(used)]
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']
    """
    urls: dict[str, set[str]] = defaultdict(set)
    wanted: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    counted: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for action, times in actions.items():
        if action.url:
            urls[action.url].add(action.verb)
        else:
            counted[action.api_group, action.resource_path, action.verb][action.name] += times
    for (group, resource, verb), seen in counted.items():
        wanted[group, resource, _named(verb, seen, resource, names)].add(verb)
    return (*_resource_rules(wanted), *_url_rules(urls))


def _named(verb: str, seen: Counter[str], resource: str, names: Names) -> tuple[str, ...]:
    """The names for the rule; empty for all objects."""
    if "" in seen or names == "never" or not (verb in NAMED_VERBS or "/" in resource):
        return ()
    if names == "repeated" and (len(seen) > FEW or min(seen.values()) < 2) and verb not in SPECIAL_VERBS:
        return ()
    return tuple(sorted(seen))


def _resource_rules(wanted: Mapping[tuple[str, str, tuple[str, ...]], set[str]]) -> list[Rule]:
    """Rules merged if they have the same verbs, group and names."""
    merged: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource, named), verbs in wanted.items():
        free = wanted.get((group, resource, ()), set()) if named else set()
        if verbs - free:
            merged[group, named, tuple(sorted(verbs - free))].append(resource)
    return [
        Rule(verbs, (group,), tuple(sorted(resources)), named)
        for (group, named, verbs), resources in sorted(merged.items())
    ]


def _url_rules(urls: Mapping[str, Iterable[str]]) -> list[Rule]:
    merged: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for url, verbs in urls.items():
        merged[tuple(sorted(verbs))].append(url)
    return [Rule(verbs, paths=tuple(sorted(paths))) for verbs, paths in sorted(merged.items())]


class PermissionCounter:
    """Counts permissions: a wildcard counts as the number of things that it stands for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._catalogue = catalogue_of(snapshot)
        self._namespaces = max(len(list(captured_objects(snapshot, NAMESPACES))), 1)

    def of(self, rules: Iterable[Rule], namespace: str) -> int:
        """The number of permissions that rules give in a namespace, or (empty) in all of them."""
        return sum(self._of_piece(piece, namespace) for rule in rules for piece in breakdown(rule))

    def _of_piece(self, piece: Rule, namespace: str) -> int:
        if piece.paths:
            return 1
        everywhere = 1 if namespace else self._namespaces
        if piece.verbs[0] != ALL and piece.resources[0] != ALL and piece.api_groups[0] != ALL:
            return everywhere if self._in_namespaces(piece) else 1
        found = 0
        for verbs, namespaced in _meant(piece, self._catalogue):
            found += (verbs if piece.verbs[0] == ALL else 1) * (everywhere if namespaced else 1)
        return max(found, 1)

    def _in_namespaces(self, piece: Rule) -> bool:
        """True if a rule names namespaced resources; unknown resources count as namespaced."""
        plural = piece.resources[0].partition("/")[0]
        known = [one for one in self._catalogue.resources(piece.api_groups[0]) if one.resource == plural]
        return not known or known[0].namespaced


def _meant(piece: Rule, catalogue: Catalogue) -> Iterator[tuple[int, bool]]:
    """For each resource and subresource of a rule: the number of verbs, and whether it is namespaced."""
    seen: set[tuple[str, str]] = set()
    for resource in catalogue.resources():
        if not group_matches(piece, resource.group) or (resource.group, resource.resource) in seen:
            continue
        seen.add((resource.group, resource.resource))
        if resource_matches(piece, resource.resource, ""):
            yield len(resource.verbs), resource.namespaced
        for name, one in resource.subresources.items():
            if resource_matches(piece, f"{resource.resource}/{name}", name):
                yield len(one.verbs), one.namespaced
