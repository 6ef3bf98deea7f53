"""The past of a cluster: all objects at a revision, and one object from change to change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.analysis.result import Result
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object, metadata
from simkit.meta.visible_text import html_text
from simkit.schema.catalogue import Catalogue
from simkit.seams import Change, ChangeType, Compacted, Future, ListWatcher
from simkit.snapshot.diff import VOLATILE, FieldChange, field_changes
from simkit.snapshot.memory import MemorySnapshot

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS: Final = ("revision", "change", "authors", "fields")
_STEP: Final = re.compile(r"^([fkv]):(.*)$", re.DOTALL)


def past(
    store: ListWatcher, catalogue: Catalogue, revision: int | str, captured: Collection[GroupResource] | None = None
) -> MemorySnapshot:
    """All objects at a revision, independent of the store's history.

    Raises
    ------
    SimkitError
        For a revision that has not come yet, or that the store has forgotten.

    Notes
    -----
    O(objects). Resources that are no longer served are not in it.
    """
    resources = {each.storage for each in catalogue.stored()}
    try:
        moment = Revision(int(revision))
    except ValueError:
        hint = "revisions are numbers, as in metadata.resourceVersion"
        raise SimkitError(f"the cluster cannot be read at {revision!r}: {hint}") from None
    try:
        objects = [entry.object for each in sorted(resources) for entry in store.scan(each, at=moment)]
    except (Compacted, Future) as wrong:
        raise SimkitError(f"the cluster cannot be read at {revision!r}: {wrong}") from None
    return MemorySnapshot(objects, catalogue.release, resources if captured is None else captured)


@dataclass(frozen=True, slots=True)
class Step:
    """One change of an object.

    ``authors`` are the managers whose writing the change is, by the object's record of who manages which field; empty
    for a removal, which leaves no record. ``object`` is what was stored afterwards, of a removal what was last.
    """

    revision: int
    change: ChangeType
    authors: tuple[str, ...]
    fields: tuple[FieldChange, ...]
    object: Object

    def __str__(self) -> str:
        who = f" by {', '.join(self.authors)}" if self.authors else ""
        return "\n".join([f"{self.revision} {self.change}{who}", *(f"    {field}" for field in self.fields)])


class History(Result, Sequence[Step]):
    """The changes of one object, oldest first, since revision ``since``."""

    def __init__(self, key: Key, steps: Sequence[Step], since: int) -> None:
        self.key, self.since = key, since
        self._steps = tuple(steps)

    def __getitem__(self, index: Any) -> Any:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def to_frame(self) -> DataFrame:
        """One row per change: revision, change, authors, fields (as text, ``path: before -> after``)."""
        from simkit.analysis.rbac.tables import table

        rows = [(each.revision, each.change, each.authors, tuple(map(str, each.fields))) for each in self._steps]
        return table(rows, COLUMNS)

    def summary(self) -> DataFrame:
        """One row per author and sort of change: what (the author), change, count."""
        from simkit.analysis.rbac.tables import table

        counts = Counter((author, each.change) for each in self._steps for author in each.authors or ("",))
        return table(((*pair, count) for pair, count in counts.items()), ("what", "change", "count"))

    def __repr__(self) -> str:
        head = f"<History of {self.key} since {self.since}: {len(self)} changes"
        return "\n".join([head, *("  " + str(each).replace("\n", "\n  ") for each in self._steps)]) + ">"

    def _repr_html_(self) -> str:
        return f"<pre>{html_text(repr(self)[1:-1])}</pre>"


def history(store: ListWatcher, key: Key) -> History:
    """The changes of one object in the store's history, each with its authors and changed fields.

    Notes
    -----
    O(changes of the whole store that are remembered).
    """
    since = store.oldest
    steps = [_step(change) for change in store.changes(after=since) if change.entry.key == key]
    return History(key, steps, since)


def _step(change: Change) -> Step:
    before = change.previous.object if change.previous is not None else None
    after = change.entry.object
    if change.type == "DELETED":
        return Step(change.revision, change.type, (), (), after)
    fields = tuple(field_changes(before or {}, after, ignore=VOLATILE)) if before is not None else ()
    return Step(change.revision, change.type, authors(before, after), fields, after)


def authors(before: Object | None, after: Object) -> tuple[str, ...]:
    """The managers who changed an object from one state to another, by name.

    A manager is one where its entry in the object's record is new or has a new time, or where it manages a field that
    differs. A manager that only lost fields to others is none.

    Examples
    --------
    >>> entry = {"manager": "ann", "operation": "Update", "fieldsV1": {"f:data": {"f:x": {}}}}
    >>> old, new = ({"metadata": {"managedFields": [entry]}, "data": {"x": value}} for value in "ab")
    >>> authors(old, new)
    ('ann',)
    """
    known = {_identity(entry): entry.get("time") for entry in _entries(before or {})}
    found: dict[str, None] = {}
    for entry in _entries(after):
        mark = _identity(entry)
        fresh = mark not in known or known[mark] != entry.get("time")
        if fresh or _differs(entry.get("fieldsV1") or {}, before, after):
            found[str(entry.get("manager") or "unknown")] = None
    return tuple(found)


def _entries(obj: Object) -> Iterator[Mapping[str, Any]]:
    listed = metadata(obj).get("managedFields")
    if isinstance(listed, list):
        yield from (entry for entry in listed if isinstance(entry, Mapping))


def _identity(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry.get(field) for field in ("manager", "operation", "apiVersion", "subresource"))


def _differs(fields: Mapping[str, Any], before: Any, after: Any) -> bool:
    """True if something among the managed fields is not as it was."""
    for step, below in fields.items():
        if step == ".":
            if (before is None) is not (after is None):
                return True
            continue
        old, new = _under(before, step), _under(after, step)
        if _differs(below, old, new) if below else old != new:
            return True
    return False


def _under(value: Any, step: str) -> Any:
    """The value at one step of a path: a field, an item of a list by its keys, or an item by its value."""
    match = _STEP.match(step)
    if match is None:
        return None
    form, text = match.groups()
    if form == "f":
        return value.get(text) if isinstance(value, Mapping) else None
    if not isinstance(value, list):
        return None
    wanted = orjson.loads(text)
    if form == "v":
        return wanted if wanted in value else None
    return next((item for item in value if isinstance(item, Mapping) and wanted.items() <= item.items()), None)
