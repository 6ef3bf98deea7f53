"""Patches of objects that are rewritten: what they do to the new object is what they did to the old one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.language.merge.jsonpatch import json_patch, loosely_checked
from simkit.language.merge.mergepatch import PatchError
from simkit.language.merge.strategic import strategic_merge
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.language.yaml.roundtrip import rewritten
from simkit.logic.migration.migrate_object import migrate_object, reshapes
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at
from simkit.schema.behaviour import default_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.lifecycle import newest_release

_SIGNS: Final = re.compile(r"[\\|\[\](){}+?*]")


class Pair(NamedTuple):
    """An object that is rewritten, as it was and as it is."""

    old: Object
    new: Object

    @property
    def kind(self) -> str:
        return str(self.old.get("kind"))


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

    def of_json(self, text: str, target: Mapping[str, Any]) -> str:
        """The text of a JSON patch with the paths and values of the new version.

        Raises SimkitError that says why it cannot be rewritten.
        """
        operations, results = decode(text), []
        for pair in self.selected(target):
            try:
                wanted = self._migrated(json_patch(pair.old, loosely_checked(operations)))
            except PatchError as wrong:
                if not reshapes(pair.kind, str(pair.old["apiVersion"]), str(pair.new["apiVersion"])):
                    return text  # what it is about may come from another patch, and is the same in both versions
                raise SimkitError(f"a JSON patch of {pair.kind} does not fit it: {wrong.message}") from None
            results.append(operations if _makes(operations, pair.new, wanted) else list(_changes(pair.new, wanted, "")))
        if any(result != results[0] for result in results):
            raise SimkitError(f"a JSON patch selects {len(results)} objects that it changes in several ways: part it")
        if not results or results[0] == operations:
            return text
        if text.lstrip()[:1] == "[":
            return json.dumps(results[0]) + text[len(text.rstrip()) :]
        try:
            return rewritten(text, results[0])
        except BrokenText as wrong:
            raise SimkitError(f"a JSON patch has to be changed by hand: {wrong.what}") from None

    def differs(self, old: Object, new: Object) -> str:
        """What a strategic merge patch does otherwise in its new version; empty if it does the same."""
        version, kind, name = str(old.get("apiVersion")), str(old.get("kind")), at(old, "metadata", "name")
        if not reshapes(kind, version, str(new.get("apiVersion"))):
            return ""
        found = self.selected({**GroupVersion.parse(version)._asdict(), "kind": kind, "name": name})
        for pair in found:
            try:
                if self._merged(pair.new, new) != self._migrated(self._merged(pair.old, old)):
                    return "it does not change the object as it did"
            except (PatchError, SimkitError) as wrong:
                return f"it could not be tried: {wrong}"
        return "" if found else "see that it still says what it said, since no object that it is for is among the files"

    def _migrated(self, obj: Object) -> Object:
        made = migrate_object(obj, self.release)
        if made.person:
            raise SimkitError("; ".join(made.person))
        return made.object

    def _merged(self, obj: Object, patch: Object) -> Object:
        group, version = GroupVersion.parse(str(obj.get("apiVersion")))
        kind = GroupVersionKind(group, version, str(obj.get("kind")))
        schema = Catalogue.for_release(newest_release(kind) or self.release).schema(kind)
        return strategic_merge(default_behaviour(self.release), obj, patch, schema)


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


def _makes(operations: Any, obj: Object, wanted: Object) -> bool:
    """True if a patch makes of an object what is wanted."""
    try:
        return bool(json_patch(obj, loosely_checked(operations)) == wanted)
    except PatchError:
        return False


def _changes(old: Any, new: Any, path: str) -> Iterator[dict[str, Any]]:
    """The operations that make a value another one."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in {**old, **new}:
            place = f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"
            if name not in new:
                yield {"op": "remove", "path": place}
            elif name not in old:
                yield {"op": "add", "path": place, "value": new[name]}
            else:
                yield from _changes(old[name], new[name], place)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changes(before, after, f"{path}/{index}")
    elif old != new:
        yield {"op": "replace", "path": path, "value": new}
