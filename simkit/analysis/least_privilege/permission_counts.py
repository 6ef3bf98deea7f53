"""The number of single permissions in rules, counted in every namespace in which they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.rbac.objects import NAMESPACES
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.match import group_matches, resource_matches
from simkit.logic.rbac.rule import ALL, Rule
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Snapshot


class PermissionCounter:
    """Counts permissions: a wildcard counts as the number of things that it stands for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._catalogue = catalogue_of(snapshot)
        known = NAMESPACES in snapshot.captured()
        self._namespaces = max(len(list(snapshot.scan(NAMESPACES))), 1) if known else 1

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
