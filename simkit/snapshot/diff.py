"""The difference between two snapshots: objects, and fields within them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.resources import index_of

VOLATILE: Final = ("metadata.resourceVersion", "metadata.generation", "metadata.managedFields")
"""Fields that change with every write and have no meaning of their own."""
_SHOWN: Final = 80
"""The most characters of a value in a line."""


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""The value of a field that does not exist."""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs; ``before`` or ``after`` is ABSENT if only one of them has it."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {_short(self.before)} -> {_short(self.after)}"


@dataclass(frozen=True, slots=True)
class Difference:
    """The keys that were added, removed and changed. False if there are none."""

    added: tuple[Key, ...]
    removed: tuple[Key, ...]
    changed: Mapping[Key, tuple[FieldChange, ...]]
    not_compared: frozenset[GroupResource] = frozenset()
    """The resources that only one of the two captured."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __repr__(self) -> str:
        counts = f"{len(self.added)} added, {len(self.removed)} removed, {len(self.changed)} changed"
        return "\n".join([f"<Difference: {counts}", *self._lines()]) + ">"

    def _lines(self) -> Iterator[str]:
        yield from (f"  + {key}" for key in self.added)
        yield from (f"  - {key}" for key in self.removed)
        for key, fields in self.changed.items():
            yield f"  ~ {key}"
            yield from (f"      {field}" for field in fields)


def difference(
    before: Snapshot,
    after: Snapshot,
    *,
    resources: Iterable[GroupResource] | None = None,
    ignore: Collection[str] = VOLATILE,
) -> Difference:
    """The difference between two snapshots.

    Parameters
    ----------
    resources
        Which resources to compare; those that both captured unless given.
    ignore
        Paths that do not count, with all that is under them.

    Raises
    ------
    IncompleteSnapshot
        For a given resource that one of them did not capture.

    Examples
    --------
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> old = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": {"x": "1"}}
    >>> difference(MemorySnapshot([old]), MemorySnapshot([{**old, "data": {"x": "2"}}]))
    <Difference: 0 added, 0 removed, 1 changed
      ~ configmaps b/a
          data.x: '1' -> '2'>
    """
    index = index_of(after)
    here, there = ({index.stored(each) for each in snapshot.captured()} for snapshot in (before, after))
    compared = here & there if resources is None else {index.stored(each) for each in resources}
    added: list[Key] = []
    removed: list[Key] = []
    changed: dict[Key, tuple[FieldChange, ...]] = {}
    for resource in sorted(compared):
        old, new = _by_key(before, resource), _by_key(after, resource)
        added += sorted(new.keys() - old.keys())
        removed += sorted(old.keys() - new.keys())
        for key in sorted(old.keys() & new.keys()):
            fields = tuple(field_changes(old[key], new[key], ignore=ignore))
            if fields:
                changed[key] = fields
    return Difference(tuple(added), tuple(removed), changed, frozenset(here ^ there))


def _by_key(snapshot: Snapshot, resource: GroupResource) -> dict[Key, Object]:
    return {Key(resource, namespace_of(obj), name_of(obj)): obj for obj in snapshot.scan(resource)}


def field_changes(before: Any, after: Any, *, path: str = "", ignore: Collection[str] = ()) -> Iterator[FieldChange]:
    """The fields that differ, outermost first. Items of lists are compared by name if all have one, else by position.

    Examples
    --------
    >>> old = {"containers": [{"name": "app", "image": "a:1"}], "args": ["-v"]}
    >>> new = {"containers": [{"name": "log"}, {"name": "app", "image": "a:2"}], "args": ["-v", "-q"]}
    >>> for change in field_changes(old, new):
    ...     print(change)
    args: ['-v'] -> ['-v', '-q']
    containers[name=app].image: 'a:1' -> 'a:2'
    containers[name=log]: absent -> {'name': 'log'}
    """
    if before is after or path in ignore:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _within(before, after, lambda name: _joined(path, name), ignore)
        return
    parts = _parts(before, after)
    if parts is not None:
        yield from _order_change(*parts, path)
        yield from _within(*parts, lambda name: f"{path}[{name}]", ignore)
    elif before != after or type(before) is not type(after):
        yield FieldChange(path, before, after)


def _within(
    before: Mapping[Any, Any], after: Mapping[Any, Any], place: Any, ignore: Collection[str]
) -> Iterator[FieldChange]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ABSENT), after.get(name, ABSENT)
        yield from field_changes(old, new, path=place(name), ignore=ignore)


def _joined(path: str, name: str) -> str:
    if not all(letter.isalnum() or letter in "-_" for letter in name):
        return f"{path}[{name!r}]"
    return f"{path}.{name}" if path else name


def _parts(before: Any, after: Any) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """Two lists of mappings as mappings by name or position; None for anything else."""
    for value in (before, after):
        if not (isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value)):
            return None
    old, new = _by_name(before), _by_name(after)
    return (old, new) if old and new else (dict(enumerate(before)), dict(enumerate(after)))


def _by_name(items: list[Any]) -> dict[Any, Any] | None:
    """The items by name; None if some have no name, or the same."""
    found = {f"name={item['name']}": item for item in items if isinstance(item.get("name"), str)}
    return found if len(found) == len(items) else None


def _order_change(before: Mapping[Any, Any], after: Mapping[Any, Any], path: str) -> Iterator[FieldChange]:
    """A change for equal items in another order."""
    old = [name for name in before if name in after]
    new = [name for name in after if name in before]
    if old != new:
        yield FieldChange(f"{path} (order)", old, new)
