"""Custom resource definitions: versions that are not served, versions that objects may still be stored in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from simkit.analysis.upgrade.behaviour.entries import behaviour_entries
from simkit.analysis.upgrade.items import Break, Item, break_of
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.objects import at

STORED: Final = "stored-versions"
CUSTOM: Final = "custom-version"
SOURCE: Final = (
    "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/"
)


@cache
def _delaying() -> frozenset[str]:
    entries = (each for each in behaviour_entries() if not each.release and not each.breaks)
    return frozenset((STORED, *(each.id for each in entries if each.severity != "info")))


def delays(check: str) -> bool:
    """True for what breaks nothing, and holds up every upgrade where it is found."""
    return check in _delaying()


def is_definition(item: Item) -> bool:
    """True if an item defines a custom resource."""
    return item.kind == "CustomResourceDefinition" and item.group == EXTENSIONS_GROUP


class CustomVersions:
    """The versions of custom resources, by the definitions among some items."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._versions: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        for item in items:
            if is_definition(item):
                place = (str(at(item.obj, "spec", "group")), str(at(item.obj, "spec", "names", "kind")))
                self._versions[place] = versions_of(item)

    def find(self, item: Item) -> Iterator[Break]:
        """The breaks of a custom object by its version, and of a definition by its versions."""
        if is_definition(item):
            yield from _stored_versions(item)
            return
        version = self._versions.get((item.group, item.kind), {}).get(item.api_version.partition("/")[2])
        if version is None or item.origin == "stored":
            return
        if version.get("served") is False:
            yield _custom(item, "medium", "is not served", "The definition says so for this version.")
        elif version.get("deprecated"):
            told = str(version.get("deprecationWarning") or "The definition says so for this version.")
            yield _custom(item, "info", "is deprecated", told)


def versions_of(item: Item) -> dict[str, Mapping[str, Any]]:
    """The versions of a definition by name; v1beta1 could name a single one."""
    listed = at(item.obj, "spec", "versions")
    found: dict[str, Mapping[str, Any]] = {
        str(each.get("name")): each
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping)
    }
    single = at(item.obj, "spec", "version")
    return found or ({str(single): {"served": True, "storage": True}} if single else {})


def _custom(item: Item, severity: str, what: str, evidence: str) -> Break:
    return break_of(
        item, release="", severity=severity, check=CUSTOM, what=f"{item.api_version} {item.kind} {what}",
        evidence=evidence, remedy="Write another version of it.", source=SOURCE, breaks=False, field="apiVersion",
    )  # fmt: skip


def _stored_versions(item: Item) -> Iterator[Break]:
    """Versions in which objects may be stored though new ones are stored in another."""
    stored = at(item.obj, "status", "storedVersions")
    versions = versions_of(item)
    storage = next((name for name, each in versions.items() if each.get("storage")), "")
    for name in stored if isinstance(stored, list) else ():
        if name == storage or not storage:
            continue
        served = bool(versions.get(str(name), {}).get("served"))
        yield break_of(
            item,
            release="",
            severity="info" if served else "low",
            check=STORED,
            what=f"Objects may still be stored as {name}: it cannot be taken out of the definition",
            evidence=f"status.storedVersions names it; new objects are stored as {storage}",
            remedy=f"Write every object once (storage migration), then take {name} out of status.storedVersions.",
            source=SOURCE,
            breaks=False,
            field="status.storedVersions",
        )
