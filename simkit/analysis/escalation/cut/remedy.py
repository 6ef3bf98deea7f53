"""Changes as somebody makes them, and remedies: commands, YAML, a diff, what they take from whom, the way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson
import yaml

from simkit.analysis.access.compare import COLUMNS, changed_permissions, counted_changes
from simkit.analysis.escalation.cut.aggregation import as_settled
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.objects import NAMESPACES
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import InLines
from simkit.language.merge.mergepatch import patch_between
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Subject
from simkit.meta.names import Key
from simkit.meta.objects import Object, labels_of
from simkit.meta.visible_text import one_line
from simkit.present.escaping import kubectl_command, patch_lines, shell_command
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

FilePosition = tuple[str, int | None]
"""A file, and a line in it."""
_KEPT: Final = ("name", "namespace", "labels", "annotations")
"""The metadata that people write; a server makes the rest."""


class ObjectChanges:
    """Changes of a snapshot's objects, as commands, as YAML, as a diff, and made."""

    changes: tuple[Change, ...]
    snapshot: Snapshot

    def manifests(self) -> list[Object]:
        """The objects to apply, in an order that works."""
        return [change.obj for change in self.changes if change.obj is not None]

    def deletions(self) -> list[Key]:
        """The objects to delete, such as bindings that have no subject left."""
        return [change.key for change in self.changes if change.obj is None]

    def commands(self) -> list[str]:
        """The changes as kubectl commands, quoted for a shell: ``apply`` for new objects, else ``label``, ``patch`` and
        ``delete``."""
        return [_command(change, stored(self.snapshot, change.key)) for change in self.changes]

    def way_back(self) -> list[str]:
        """The kubectl commands after which all is as it was, the last change first."""
        return way_back(self.changes, self.snapshot)

    def yaml(self) -> str:
        """The changed objects as YAML, the deletions as comments with their commands."""
        gone = [f"# {_command(one, None)}" for one in self.changes if one.obj is None]
        made = [dict(obj) for obj in self.manifests()]
        return "\n".join(gone) + ("\n---\n" if gone else "") + yaml.safe_dump_all(made, sort_keys=False)

    def diff(self, places: Mapping[Key, FilePosition] | None = None) -> str:
        """The changes as a unified diff of YAML.

        Parameters
        ----------
        places
            Where the objects are written: the diff is that of the file, with its comments and its order. Where that
            cannot be told, as in JSON on one line, it is that of the object, named by resource, namespace and name.
        """
        known = places or {}
        made = (_diff(one, stored(self.snapshot, one.key), known.get(one.key)) for one in self.changes)
        return "".join(made)

    def after(self) -> Snapshot:
        """The snapshot as it would be."""
        return after(self.snapshot, self.changes)


def after(snapshot: Snapshot, changes: Iterable[Change]) -> Snapshot:
    """A snapshot with changes made."""
    listed = list(changes)
    put = [change.obj for change in listed if change.obj is not None]
    return as_settled(snapshot, put, [change.key for change in listed if change.obj is None])


def way_back(changes: Sequence[Change], snapshot: Snapshot) -> list[str]:
    """The kubectl commands after which all is as in a snapshot before changes, the last change first."""
    return [_back(change, stored(snapshot, change.key)) for change in reversed(changes)]


def _command(change: Change, before: Object | None) -> str:
    key = change.key
    named = (key.resource.resource, key.name, key.namespace)
    if change.obj is None:
        return kubectl_command("delete", *named)
    if before is None:
        return applied(change.obj)
    if key.resource == NAMESPACES:
        old, new = labels_of(before), labels_of(change.obj)
        put = [f"{name}={value}" for name, value in new.items() if old.get(name) != value]
        return kubectl_command("label", *named, *put, *(f"{name}-" for name in old if name not in new), "--overwrite")
    content = orjson.dumps(patch_of(before, change.obj)).decode()
    return kubectl_command("patch", *named, "--type", "merge", "-p", content)


def patch_of(before: Object, wanted: Object) -> dict[str, Any]:
    """The merge patch of a change, of what people write."""
    return patch_between(as_written(before), as_written(wanted))


def applied(obj: Mapping[str, Any]) -> str:
    """The command that applies an object."""
    return f"kubectl apply -f - <<< {shell_command(orjson.dumps(obj).decode())}"


def _back(change: Change, before: Object | None) -> str:
    if before is None:
        return kubectl_command("delete", change.key.resource.resource, change.key.name, change.key.namespace)
    if change.obj is None:
        return applied(as_written(before))
    return _command(Change(change.key, before), change.obj)


def _diff(change: Change, before: Object | None, place: FilePosition | None) -> str:
    key = change.key
    if place is not None:
        from simkit.analysis.escalation.cut.file_diff import diff_of_file  # reads YAML: slow to import

        patch = None if change.obj is None else patch_of(before or {}, change.obj)
        written = diff_of_file(*place, key, patch)
        if written:
            return written
    file = one_line("/".join(filter(None, (key.resource.resource, key.namespace, f"{key.name}.yaml"))))
    old, new = _lines(before), _lines(change.obj)
    found = unified_diff(old, new, f"a/{file}", f"b/{file}" if new else "/dev/null", n=4)
    return "".join(found)


def _lines(obj: Object | None) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.safe_dump(as_written(obj), sort_keys=False, width=10_000)
    return patch_lines(text)


def as_written(obj: Object) -> dict[str, Any]:
    """An object as people write it: without what a server adds to its metadata, and without a status."""
    metadata = obj.get("metadata") or {}
    head = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    return {**head, "metadata": {name: metadata[name] for name in _KEPT if metadata.get(name)}, **rest}


def stored(snapshot: Snapshot, key: Key) -> Object | None:
    """The object of a key as it is; none of resources that were not captured."""
    return snapshot.get(key.resource, key.name, key.namespace) if key.resource in snapshot.captured() else None


RBAC: frozenset[object] = frozenset((ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS))


@dataclass(frozen=True, repr=False)
class Remedy(ObjectChanges, InLines):
    """One change of some objects. It is true if it changes something; advice without a change has only words.

    ``text`` says what to do, ``risk`` what may stop working by it, ``subjects`` whose access it touches.
    """

    text: str
    risk: str
    changes: tuple[Change, ...]
    subjects: tuple[Subject, ...]
    snapshot: Snapshot = field(compare=False)

    def __len__(self) -> int:
        return len(self.changes)

    @cached_property
    def permissions(self) -> Sequence[tuple[Any, ...]]:
        """The permissions that subjects gain and lose, by what-if: the rows of ``effect``."""
        if not any(change.key.resource in RBAC for change in self.changes):
            return ()
        return changed_permissions(self.snapshot, self.after(), self.subjects)

    @property
    def effect(self) -> pd.DataFrame:
        """The access that subjects gain and lose, by what-if: the columns of ``compare``."""
        return table(self.permissions, COLUMNS)

    def to_frame(self) -> pd.DataFrame:
        """One row per command: command, way_back."""
        back = list(reversed(self.way_back()))
        return table(zip(self.commands(), back, strict=True), ("command", "way_back"))

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield self.text
        if self.risk:
            yield f"risk: {self.risk}"
        yield from self.commands()
        if self.changes:
            yield counted_changes(str(row[0]) for row in self.permissions)
            yield from (f"to undo: {one}" for one in self.way_back())
