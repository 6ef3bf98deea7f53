"""What kustomizations say about objects that are rewritten: the targets of patches and replacements, inline patches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.logic.migration.documents import Document, Rewritten, laid_out, pieces, rewrite
from simkit.logic.migration.migrate_object import reshapes
from simkit.logic.migration.migrated import MigratedObject
from simkit.meta.domain import api_group
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, copied
from simkit.schema.lifecycle import is_served, lifecycle_of

GROUP: Final = api_group("kustomize.config")
FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_KIND: Final = "Kustomization"
Moved = Mapping[tuple[str, str], str]
"""The versions that objects were rewritten in, by their former version and kind."""


def patch_files(text: str) -> tuple[str, ...]:
    """The paths of the patches that a kustomization names, as they stand in it."""
    found: list[str] = []
    for chunk, _ in pieces(text):
        value = _read(chunk)
        found += [str(each["path"]) for each in _listed(value, "patches") if "path" in each]
        strategic = value.get("patchesStrategicMerge")
        found += [each for each in strategic or () if isinstance(each, str) and "\n" not in each]
    return tuple(found)


def retargeted(text: str, release: str, moved: Moved, text_of: Callable[[str], str]) -> Rewritten:
    """The text of a kustomization whose targets name the versions that its objects were rewritten in.

    What cannot be decided is left to a person: a target of which no object was rewritten, and a JSON patch of a kind
    whose fields move.

    Parameters
    ----------
    text_of
        The text of a file that the kustomization names; empty where it is not known.
    """
    parts: list[str] = []
    documents: list[Document] = []
    for chunk, line in pieces(text):
        value = _read(chunk)
        change = _Change(release, moved, text_of)
        wanted = change.of(value)
        if not (change.person or change.changed):
            parts.append(chunk)
            continue
        before, after = (", ".join(sorted(names)) for names in (change.before, change.after))
        made = MigratedObject(wanted, after, change.changed, tuple(change.person))
        try:
            parts.append(laid_out(chunk, wanted) if change.changed else chunk)
        except BrokenText as wrong:
            parts.append(chunk)
            told = f"the text has to be changed by hand: {wrong.what}"
            made = replace(made, changed=False, person=(*made.person, told))
        documents.append(Document(line, _KIND, "", before, made))
    return Rewritten("".join(parts), tuple(documents))


def _read(chunk: str) -> Object:
    try:
        value = decode(chunk)
    except BrokenText:
        return {}
    return value if isinstance(value, dict) else {}


def _listed(value: Any, *path: str) -> Iterator[dict[str, Any]]:
    """The mappings of lists within each other."""
    items = value.get(path[0]) if isinstance(value, Mapping) else None
    for each in items if isinstance(items, list) else ():
        if isinstance(each, dict):
            yield from _listed(each, *path[1:]) if path[1:] else (each,)


class _Change:
    """One kustomization on its way, with what is said about it."""

    def __init__(self, release: str, moved: Moved, text_of: Callable[[str], str]) -> None:
        self._release, self._moved, self._text_of = release, moved, text_of
        self.changed = False
        self.person: list[str] = []
        self.before: set[str] = set()
        self.after: set[str] = set()

    def of(self, kustomization: Object) -> Object:
        """The kustomization as it should be."""
        wanted: dict[str, Any] = copied(kustomization)
        for patch in (*_listed(wanted, "patches"), *_listed(wanted, "patchesJson6902")):
            kinds = self._select(patch.get("target"))
            is_json = self._is_json(patch)
            self.person += [
                f"a JSON patch of {kind}: fields change from {old} to {new}, see that its paths are those of {new}"
                for kind, old, new in kinds
                if is_json and reshapes(kind, old, new)
            ]
            if isinstance(patch.get("patch"), str) and not is_json:
                patch["patch"] = self._inline(patch["patch"])
        merged = wanted.get("patchesStrategicMerge")
        if isinstance(merged, list):
            wanted["patchesStrategicMerge"] = [
                self._inline(each) if isinstance(each, str) and "\n" in each else each for each in merged
            ]
        for replacement in _listed(wanted, "replacements"):
            self._select(replacement.get("source"))
        for target in _listed(wanted, "replacements", "targets"):
            self._select(target.get("select"))
            for rejected in _listed(target, "reject"):
                self._select(rejected)
        for variable in _listed(wanted, "vars"):
            self._reference(variable.get("objref"))
        return wanted

    def _select(self, target: Any) -> list[tuple[str, str, str]]:
        """Point a selector of group, version and kind at the new version; gives back kind, old and new version."""
        if not isinstance(target, dict) or not ("group" in target or "version" in target):
            return []
        found = [(kind, old, new) for (old, kind), new in self._moved.items() if _selects(target, old, kind)]
        versions = {new for _, _, new in found}
        if len(versions) > 1:
            self.person.append(f"a target selects objects that are now in {', '.join(sorted(versions))}: part it")
        elif versions:
            group, version = GroupVersion.parse(versions.pop())
            self._note(found)
            target.update({name: new for name, new in (("group", group), ("version", version)) if name in target})
        else:
            self._missing(str(GroupVersion(str(target.get("group") or ""), str(target.get("version")))), target)
        return found

    def _reference(self, reference: Any) -> None:
        if not isinstance(reference, dict):
            return
        old, kind = str(reference.get("apiVersion")), str(reference.get("kind"))
        new = self._moved.get((old, kind))
        if new is not None:
            self._note([(kind, old, new)])
            reference["apiVersion"] = new
        else:
            self._missing(old, reference)

    def _note(self, found: list[tuple[str, str, str]]) -> None:
        self.changed = True
        self.before.update(old for _, old, _ in found)
        self.after.update(new for _, _, new in found)

    def _missing(self, old: str, target: Mapping[str, Any]) -> None:
        kind = str(target.get("kind"))
        if lifecycle_of(old, kind) is not None and not is_served(old, kind, self._release):
            self.person.append(
                f"it selects {old} {kind}, of which no object is among the files: rewrite them together, or name the "
                "version of what is selected"
            )

    def _is_json(self, patch: Mapping[str, Any]) -> bool:
        text = patch.get("patch") or self._text_of(str(patch.get("path") or ""))
        try:
            return isinstance(decode(str(text)), list)
        except BrokenText:
            return False

    def _inline(self, text: str) -> str:
        """A strategic merge patch within the kustomization."""
        made = rewrite(text, self._release)
        for each in made.documents:
            self.person += each.migrated.person or partial(each)
            self.before.add(each.before)
            self.after.add(each.migrated.to)
        self.changed = self.changed or made.text != text
        return made.text


def partial(document: Document) -> tuple[str, ...]:
    """What a person has to see of a rewritten patch, which has only a part of an object's fields."""
    old, new = document.before, document.migrated.to
    if not new or not reshapes(document.kind, old, new):
        return ()
    return (f"a patch of {document.kind}: fields change from {old} to {new}, see that it still says what it said",)


def _selects(target: Mapping[str, Any], version: str, kind: str) -> bool:
    parsed = GroupVersion.parse(version)
    stated = {"group": parsed.group, "version": parsed.version, "kind": kind}
    return all(target.get(name, value) == value for name, value in stated.items())
