"""Lists that their schema declares as sets or keyed maps: they compare without order, and ``+`` is a union.

unstructuredSetList and unstructuredMapList in k8s.io/apiserver/pkg/cel/common/values.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from simkit.language.cel.values import kind_of


class SetList(list[Any]):
    """A list of type set: scalars without duplicates."""

    cel_kind: ClassVar[str] = "list"

    def cel_equals(self, other: Sequence[Any]) -> bool:
        """True if the other list has the same elements in any order."""
        mine = set(map(_tagged, self))
        return len(self) == len(other) and all(_tagged(value) in mine for value in other)

    def cel_add(self, other: Iterable[Any]) -> SetList:
        """This list, followed by the new elements of the other one."""
        found = SetList(self)
        seen = set(map(_tagged, self))
        for value in other:
            if _tagged(value) not in seen:
                seen.add(_tagged(value))
                found.append(value)
        return found


def _tagged(value: Any) -> Hashable:
    """The value with its kind, so that 1, 1.0 and true are different."""
    kind = kind_of(value)
    return (kind, value) if kind not in ("list", "map") else (kind, repr(value))


class KeyedList(list[Any]):
    """A list of type map: objects that some of their fields identify."""

    cel_kind: ClassVar[str] = "list"

    def __init__(self, values: Iterable[Any], keys: Sequence[str]) -> None:
        super().__init__(values)
        self.keys = keys

    def _key(self, value: Any) -> Hashable:
        if not isinstance(value, Mapping):
            return ("", repr(value))
        return tuple(_tagged(value.get(key)) for key in self.keys)

    def cel_equals(self, other: Sequence[Any]) -> bool:
        """True if both have equal objects under the same keys."""
        from simkit.language.cel.operations import equals

        mine = {self._key(value): value for value in self}
        if len(self) != len(other):
            return False
        return all(self._key(value) in mine and equals(mine[self._key(value)], value) for value in other)

    def cel_add(self, other: Iterable[Any]) -> KeyedList:
        """This list with elements that the other one overwrites in place, followed by its new ones."""
        found = KeyedList(self, self.keys)
        places = {self._key(value): place for place, value in enumerate(self)}
        for value in other:
            place = places.get(self._key(value))
            if place is None:
                found.append(value)
            else:
                found[place] = value
        return found
