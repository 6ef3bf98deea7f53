"""The default roles and bindings, and their reconciliation by a starting server.

plugin/pkg/auth/authorizer/rbac/bootstrappolicy and k8s.io/component-helpers/auth/rbac/reconciliation, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from simkit.logic.rbac.binding import RESOURCES_OF_KINDS
from simkit.logic.rbac.cover import uncovered
from simkit.logic.rbac.releases import of_release
from simkit.logic.rbac.rule import rules_of
from simkit.meta import datasets
from simkit.meta.domain import RBAC_GROUP, label
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, name_of, namespace_of, with_metadata
from simkit.meta.unreadable import UnreadableObject
from simkit.schema.releases import BASE
from simkit.seams.snapshot import Snapshot

AUTOUPDATE: Final = label("autoupdate", "rbac.authorization")
"""The annotation that disables reconciliation of an object with the value ``false``."""


def default_objects(release: str, gates: Mapping[str, bool] | None = None) -> list[Object]:
    """The default roles and bindings of a release, in the order of their creation.

    Parameters
    ----------
    gates
        The values of the release's feature gates, since some roles hang on them; None: their defaults.
    """
    objects: list[Object] = datasets.load(f"rbac/default-objects-{BASE}.json")
    return of_release(objects, release, gates)


def reconcile(snapshot: Snapshot, gates: Mapping[str, bool] | None = None) -> Iterator[tuple[Object, bool]]:
    """The writes of a starting server in order: objects to create (False) or to replace (True).

    Permissions, subjects, labels and annotations that are missing come back; what was added stays. A binding in
    ``outdated_bindings`` has to be deleted first: here it is one to create.
    """
    for wanted, existing in _with_existing(snapshot, default_objects(snapshot.release, gates)):
        if existing is None:
            yield wanted, False
        elif annotations_of(existing).get(AUTOUPDATE) == "false":
            continue
        elif _is_outdated(existing, wanted):
            yield wanted, False
        else:
            repaired = _repaired(existing, wanted)
            if repaired != existing:
                yield repaired, True


def outdated_bindings(snapshot: Snapshot) -> Iterator[Key]:
    """Default bindings with a wrong role reference. They cannot be updated, only recreated."""
    for wanted, existing in _with_existing(snapshot, default_objects(snapshot.release)):
        if existing is None or annotations_of(existing).get(AUTOUPDATE) == "false":
            continue
        if _is_outdated(existing, wanted):
            yield Key(RESOURCES_OF_KINDS[wanted["kind"]], namespace_of(wanted), name_of(wanted))


def _with_existing(snapshot: Snapshot, default: Iterable[Object]) -> Iterator[tuple[Object, Object | None]]:
    """Default objects, each with the stored one. Where that cannot be read, it is left as it is."""
    for wanted in default:
        try:
            existing = snapshot.get(RESOURCES_OF_KINDS[wanted["kind"]], name_of(wanted), namespace_of(wanted))
        except UnreadableObject:
            continue
        yield wanted, existing


def _is_outdated(existing: Object, wanted: Object) -> bool:
    return "roleRef" in wanted and _reference(existing) != _reference(wanted)


def _repaired(existing: Object, wanted: Object) -> Draft:
    labels, annotations = labels_of(existing), annotations_of(existing)
    repaired = with_metadata(
        existing,
        labels={**labels_of(wanted), **labels} or None,
        annotations={**annotations_of(wanted), **annotations} or None,
    )
    if "roleRef" in wanted:
        return _with_subjects(repaired, wanted)
    missing = [rule.entry() for rule in uncovered(rules_of(existing), rules_of(wanted))]
    if missing:
        repaired["rules"] = [*(existing.get("rules") or ()), *missing]
    return _with_selectors(repaired, wanted)


def _with_subjects(repaired: Draft, wanted: Object) -> Draft:
    present = [_subject(subject) for subject in repaired.get("subjects") or ()]
    missing = [subject for subject in wanted.get("subjects") or () if _subject(subject) not in present]
    return {**repaired, "subjects": [*(repaired.get("subjects") or ()), *missing]} if missing else repaired


def _with_selectors(repaired: Draft, wanted: Object) -> Draft:
    present = at(repaired, "aggregationRule", "clusterRoleSelectors") or []
    needed = at(wanted, "aggregationRule", "clusterRoleSelectors") or []
    missing = [selector for selector in needed if selector not in present]
    return {**repaired, "aggregationRule": {"clusterRoleSelectors": [*present, *missing]}} if missing else repaired


def _reference(binding: Object) -> Mapping[str, Any]:
    return {"apiGroup": RBAC_GROUP, **(binding.get("roleRef") or {})}


def _subject(subject: Object) -> Mapping[str, Any]:
    group = "" if subject.get("kind") == "ServiceAccount" else RBAC_GROUP
    return {"apiGroup": group, **{key: value for key, value in subject.items() if value}}
