"""What kustomizations say about objects that are rewritten: targets of patches and replacements, and patches.

Patches follow where fields stay, and are left to a person where they move.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.logic.migration.documents import Document, Rewritten, laid_out, pieces, rewrite
from simkit.logic.migration.migrate_object import MigratedObject, reshapes
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, at, copied, name_of
from simkit.schema.lifecycle import is_served, lifecycle_of

FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_KIND: Final = "Kustomization"
_LOADED: Final = (
    *("resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators"),
    "patchesStrategicMerge",
)
"""The fields with lists of files and folders."""
PLUGINS: Final = ("generators", "transformers", "validators")
"""The fields that name configurations of plugins, which may name files and addresses themselves, or hold these."""
_LOADED_BY: Final = {
    **dict.fromkeys(("patches", "patchesJson6902", "replacements"), ("path",)),
    **dict.fromkeys(("configMapGenerator", "secretGenerator"), ("files", "envs", "env")),
}
"""The fields with lists of entries that name files, and how they do."""
_CHARTS: Final = ("helmCharts", "helmChartInflationGenerator")


def patch_files(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The paths of the patches that a kustomization names, as they stand in it, with the target of each."""
    for chunk, _ in pieces(text):
        value = _read(chunk)
        for each in (*_listed(value, "patches"), *_listed(value, "patchesJson6902")):
            if "path" in each:
                yield str(each["path"]), each.get("target") or {}
        strategic = value.get("patchesStrategicMerge")
        yield from ((each, {}) for each in strategic or () if isinstance(each, str) and "\n" not in each)


def named_paths(text: str) -> Iterator[str]:
    """The files and folders that a kustomization names: resources, components and patches."""
    for chunk, _ in pieces(text):
        value = _read(chunk)
        for field in ("resources", "bases", "components"):
            yield from _texts(value.get(field))
    yield from (path for path, _ in patch_files(text))


def loaded_paths(text: str) -> Iterator[tuple[str, str]]:
    """Everything that kustomize loads for a kustomization, as it stands there: files, folders and addresses.

    Yields
    ------
    The field, and what it names; of ``PLUGINS`` also a configuration that stands there itself.

    Raises
    ------
    BrokenText
        For a text that is not the YAML of one kustomization.
    """
    value = decode(text)
    if not isinstance(value, dict) or "<<" in value:
        raise BrokenText(1, "this is no kustomization, or one with merge keys")
    for field in _LOADED:
        yield from ((field, each) for each in _texts(value.get(field)) if "\n" not in each or field in PLUGINS)
    for field, keys in _LOADED_BY.items():
        names = (name for each in _listed(value, field) for key in keys for name in _texts(each.get(key)))
        yield from ((field, name.partition("=")[2] if "=" in name else name) for name in names)
    yield from (("openapi", name) for name in _texts(at(value, "openapi", "path")))
    yield from ((field, "://") for field in _CHARTS if value.get(field))


def _texts(value: Any) -> Iterator[str]:
    """A text, or the texts of a list."""
    yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))


def is_json_patch(text: str) -> bool:
    """True if a text is a list of operations."""
    with suppress(BrokenText):
        return isinstance(decode(text), list)
    return False


def retargeted(text: str, patches: Patches) -> Rewritten:
    """The text of kustomizations whose targets name the versions that their objects were rewritten in, and whose own
    patches do to the rewritten objects what they did.

    What cannot be decided is left to a person: a target of which no object was rewritten, and a patch that would do
    something else.
    """
    parts: list[str] = []
    documents: list[Document] = []
    for chunk, line in pieces(text):
        wanted: dict[str, Any] = copied(_read(chunk))
        change = _Change(patches)
        change.follow(wanted)
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
        documents.append(Document(line, str(wanted.get("kind") or _KIND), str(name_of(wanted)), before, made))
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

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self.changed = False
        self.person: list[str] = []
        self.before: set[str] = set()
        self.after: set[str] = set()

    def follow(self, wanted: dict[str, Any]) -> None:
        """Change the kustomization to what it should be."""
        for patch in (*_listed(wanted, "patches"), *_listed(wanted, "patchesJson6902")):
            written, target = patch.get("patch"), patch.get("target") or {}
            if isinstance(written, str) and is_json_patch(written):
                self.person += filter(None, [self._patches.concern(written, target)])
            elif isinstance(written, str):
                patch["patch"] = self._inline(written)
            self._select(target)
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

    def _select(self, target: Any) -> None:
        """Point a selector of group, version and kind at the new version."""
        if not isinstance(target, dict) or not ("group" in target or "version" in target):
            return
        found = self._patches.selected({name: target.get(name) for name in ("group", "version", "kind")})
        versions = {str(pair.new.get("apiVersion")) for pair in found}
        if len(versions) > 1:
            self.person.append(f"a target selects objects that are now in {', '.join(sorted(versions))}: part it")
        elif versions:
            self._note(found)
            group, version = GroupVersion.parse(versions.pop())
            target.update({name: new for name, new in (("group", group), ("version", version)) if name in target})
        else:
            self._missing(str(GroupVersion(str(target.get("group") or ""), str(target.get("version")))), target)

    def _note(self, found: Sequence[Pair]) -> None:
        self.changed = True
        self.before.update(str(pair.old["apiVersion"]) for pair in found)
        self.after.update(str(pair.new["apiVersion"]) for pair in found)

    def _missing(self, old: str, target: Mapping[str, Any]) -> None:
        kind = str(target.get("kind"))
        if lifecycle_of(old, kind) is not None and not is_served(old, kind, self._patches.release):
            self.person.append(
                f"it selects {old} {kind}, of which no object is among the files: rewrite them together, or name the "
                "version of what is selected"
            )

    def _inline(self, text: str) -> str:
        """A strategic merge patch within the kustomization."""
        made = strategic_patch(text, self._patches)
        for each in made.documents:
            self.person += each.migrated.person
            self.before.add(each.before)
            self.after.add(each.migrated.to)
        self.changed = self.changed or made.text != text
        return made.text


def strategic_patch(text: str, patches: Patches) -> Rewritten:
    """The text of strategic merge patches in new versions; those whose fields may have moved are left to a person."""
    made = rewrite(text, patches.release)
    documents = []
    for each in made.documents:
        to = each.migrated.to
        if each.migrated.changed and not each.migrated.person and reshapes(each.kind, each.before, to):
            why = f"a patch of {each.kind}, now in {to}: its fields may have moved: see that it says what it said"
            each = each.with_result(person=(why,))
        documents.append(each)
    return replace(made, documents=tuple(documents))


def json_patch_file(text: str, targets: Iterable[Mapping[str, Any]], patches: Patches) -> Rewritten:
    """The text of a file with a JSON patch, which kustomizations name for some targets: as it was."""
    person = tuple(dict.fromkeys(filter(None, (patches.concern(text, target) for target in targets))))
    if not person:
        return Rewritten(text)
    return Rewritten(text, (Document(1, "JSON patch", "", "", MigratedObject({}, person=person), False),))


_HELD: Final = "it stays as it is, since a kustomization that it belongs to is left to a person"


def held_back(
    texts: Mapping[Path, str], made: Mapping[Path, Rewritten], patches: Collection[Path]
) -> dict[Path, Rewritten]:
    """The rewritten files, those of a tree left as they were if a kustomization or a patch in it needs a person.

    Otherwise the rewritten objects would reach the cluster without the patches that are for them.
    """
    trees = _trees(texts)
    refused = {
        trees[place]
        for place, each in made.items()
        if place in trees and (place.name in FILES or place in patches)
        if any(document.migrated.person for document in each.documents)
    }
    found = dict(made)
    for place, each in made.items():
        if trees.get(place) in refused:
            kept = (one.with_result(changed=False, person=one.migrated.person or (_HELD,)) for one in each.documents)
            found[place] = replace(each, text=texts[place], documents=tuple(kept))
    return found


def _trees(texts: Mapping[Path, str]) -> dict[Path, Path]:
    """A file that stands for the tree of each file: kustomizations, what they name, and what that names."""
    parents: dict[Path, Path] = {}

    def root(place: Path) -> Path:
        while parents.setdefault(place, place) != place:
            place = parents[place]
        return place

    for place in (each for each in texts if each.name in FILES):
        for other in _named(place, texts):
            parents[root(other)] = root(place)
    return {place: root(place) for place in list(parents)}


def _named(place: Path, texts: Mapping[Path, str]) -> Iterator[Path]:
    """A kustomization, and the files that it names; of a folder its kustomization."""
    yield place
    for name in named_paths(texts[place]):
        other = (place.parent / name).resolve()
        yield from (each for each in (other, *(other / name for name in FILES)) if each in texts)


_SIGNS: Final = re.compile(r"[\\|\[\](){}+?*]")


class Pair(NamedTuple):
    """An object that is rewritten, as it was and as it is."""

    old: Object
    new: Object

    @property
    def kind(self) -> str:
        return str(self.old.get("kind"))

    @property
    def reshapes(self) -> bool:
        """True if more differs between its versions than their names."""
        return reshapes(self.kind, str(self.old.get("apiVersion")), str(self.new.get("apiVersion")))


@dataclass(frozen=True, slots=True)
class Patches:
    """The objects that patches are for, at a release."""

    pairs: Sequence[Pair]
    release: str

    def selected(self, target: Mapping[str, Any]) -> list[Pair]:
        """The objects that the target of a patch selects by group, version, kind, name and namespace.

        Labels and annotations do not count: an object more does no harm.
        """
        return [pair for pair in self.pairs if _selects(target, pair.old)]

    def concern(self, text: str, target: Mapping[str, Any]) -> str:
        """Why a JSON patch cannot stay as it is; empty if it can.

        It can where it is about metadata, or about objects whose fields are the same in both versions.
        """
        moved = [pair.kind for pair in self.selected(target) if pair.reshapes]
        operations = decode(text)
        paths = [str(each.get("path")) for each in operations if isinstance(each, Mapping)]
        if not moved or all(path.startswith("/metadata/") for path in paths):
            return ""
        return f"a JSON patch of {moved[0]} may name fields that have moved: write the paths of the new version"


def _selects(target: Mapping[str, Any], obj: Object) -> bool:
    """True if the texts of a target match an object."""
    group, version = GroupVersion.parse(str(obj.get("apiVersion")))
    stated = {"group": group, "version": version, "kind": obj.get("kind"), "name": at(obj, "metadata", "name")}
    return all(_fits(str(target.get(part) or value), str(value)) for part, value in stated.items())


def _fits(pattern: str, text: str) -> bool:
    """True if a text matches a pattern in which ``.*`` stands for anything; one with other signs may match any text."""
    first, *rest = pattern.removeprefix("^").removesuffix("$").split(".*")
    if _SIGNS.search("".join((first, *rest))):
        return True
    if not rest:
        return text == first
    end = len(first) if text.startswith(first) else len(text) + 1
    for part in rest[:-1]:
        found = text.find(part, end)
        end = found + len(part) if found >= 0 else len(text) + 1
    return text.endswith(rest[-1]) and end + len(rest[-1]) <= len(text)
