"""The resources of which a dump has all objects: "none exist" differs from "not in the dump"."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from simkit.meta.domain import RBAC_GROUP, SYSTEM_NAMESPACE
from simkit.meta.errors import UnknownResource
from simkit.meta.names import GroupResource, Key
from simkit.snapshot.flatten import ListFlattener
from simkit.snapshot.report import Report
from simkit.snapshot.resources import ResourceIndex

_ACCESS: Final = tuple(
    GroupResource(RBAC_GROUP, name) for name in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
)
_THE_DUMP: Final = "the dump"


def captured_resources(
    index: ResourceIndex,
    flattener: ListFlattener,
    keys: Collection[Key],
    stated: Iterable[str | GroupResource],
    report: Report,
) -> frozenset[GroupResource]:
    """The captured resources, under all names of the same objects. Doubts are noted in the report.

    Raises
    ------
    UnknownResource
        For a stated word that names nothing.
    """
    said = index.named(stated)
    listed = {index.mapping(*kind).stored for kind in flattener.whole if index.mapping(*kind).kept}
    shown = {key.resource for key in keys} | listed | _named_by_files(index, flattener, report)
    cut = {index.mapping(*kind).stored: file for kind, file in flattener.cut.items()}
    for resource in sorted((shown & cut.keys()) - said):
        hint = f"dump it again, or say captured=['{resource}'] if it is complete after all"
        report.add(cut[resource], None, f"{resource} count as not captured: a list of them breaks off", hint)
    stored = (shown - cut.keys()) | said
    _note_missing_access(stored, report)
    _note_one_namespace(keys, stored - said, report)
    return frozenset(view for resource in stored for view in index.views(resource))


def _named_by_files(index: ResourceIndex, flattener: ListFlattener, report: Report) -> set[GroupResource]:
    """The resources of empty lists without a kind, as far as the names of their files show."""
    found = set()
    for stem, file in flattener.named.items():
        try:
            found.add(index.catalogue.lookup(stem).storage)
        except UnknownResource:
            hint = "name the file after its resource (roles.json), or use --complete roles (captured=['roles'])"
            report.add(file, None, "an empty list that does not name its resource", hint, weight="note")
    return found


def _note_missing_access(stored: Collection[GroupResource], report: Report) -> None:
    missing = [resource for resource in _ACCESS if resource not in stored]
    if missing and len(missing) < len(_ACCESS):
        names = " ".join(map(str, missing))
        words = ", ".join(f"'{resource.resource}'" for resource in missing)
        hint = f"dump them too: `simkit dump {names}` prints how; or say captured=[{words}] if there are none"
        what = f"there are roles or bindings, but no {','.join(map(str, missing))}"
        report.add(_THE_DUMP, None, what, hint, weight="note")


def _note_one_namespace(keys: Iterable[Key], stored: Collection[GroupResource], report: Report) -> None:
    """Note that a dump without RBAC objects in the system namespace has only one namespace, since every cluster has
    them."""
    spaces: dict[GroupResource, set[str]] = {}
    for key in keys:
        if key.resource in _ACCESS[2:] and key.resource in stored:
            spaces.setdefault(key.resource, set()).add(key.namespace)
    for resource, found in sorted(spaces.items()):
        if SYSTEM_NAMESPACE not in found:
            what = f"{resource} of {', '.join(sorted(found)[:3])} only, none of {SYSTEM_NAMESPACE}"
            hint = "a whole cluster has some there; dump with -A to have them all"
            report.add(_THE_DUMP, None, what, hint, weight="note")
