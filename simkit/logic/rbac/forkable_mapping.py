"""Mappings that fork in constant time: a writable layer over shared, immutable layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

K = TypeVar("K")
M = TypeVar("M")
V = TypeVar("V")


SMALL: Final = 4096
"""The size up to which layers are always merged: that takes a fraction of a millisecond."""
FEW: Final = 8
"""The number of layers above which larger ones are merged too."""


class _Gone:
    """The marker in a layer for a key that was removed from the layers below."""


_GONE: Final = _Gone()


class ForkableMapping(Generic[K, V]):
    """A mapping that forks in constant time. Values are never None.

    Readers need no lock beside one writer; ``fork`` and writes exclude each other, which is the caller's duty.

    Examples
    --------
    >>> first = ForkableMapping[str, int]()
    >>> first.put("a", 1)
    >>> second = first.fork()
    >>> second.remove("a")
    >>> first.get("a"), second.get("a")
    (1, None)
    """

    __slots__ = ("_below", "_own")

    def __init__(self, below: tuple[_Layer[K, V | _Gone], ...] = ()) -> None:
        self._own: dict[K, V | _Gone] = {}
        self._below = below
        """Shared layers, newest first."""

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        value = self._own.get(key)
        if value is None:
            for layer in self._below:
                value = layer.content.get(key)
                if value is not None:
                    break
        return None if isinstance(value, _Gone) else value

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._own[key] = value

    def remove(self, key: K) -> None:
        """Remove a key, if it exists."""
        if self._below:
            self._own[key] = _GONE
        else:
            self._own.pop(key, None)

    def values(self) -> list[V]:
        """All values, oldest layer first."""
        contents = (self._own, *(layer.content for layer in self._below))
        return [value for value in _flattened(contents, _newer).values() if not isinstance(value, _Gone)]

    def fork(self) -> ForkableMapping[K, V]:
        """An independent mapping with the same content."""
        if self._own:
            self._below = _settled((_Layer(self._own, len(self._own)), *self._below), _newer)
            self._own = {}
        return ForkableMapping(self._below)


class ForkableGroups(Generic[K, M, V]):
    """Groups of named members that fork in constant time. The cost of a write does not depend on the size of a group.

    Examples
    --------
    >>> groups = ForkableGroups[str, str, int]()
    >>> groups.put("even", "two", 2)
    >>> fork = groups.fork()
    >>> fork.put("even", "four", 4)
    >>> fork.remove("even", "two")
    >>> groups.members("even"), fork.members("even")
    ([2], [4])
    """

    __slots__ = ("_below", "_own", "_writes")

    def __init__(self, below: tuple[_Layer[K, dict[M, V | _Gone]], ...] = ()) -> None:
        self._own: dict[K, dict[M, V | _Gone]] = {}
        self._writes = 0
        self._below = below

    def members(self, group: K) -> list[V]:
        """The members of a group, in the order of their addition."""
        own = self._own.get(group)
        if not self._below:
            return list(own.values()) if own else []  # type: ignore[arg-type]  # nothing is gone from nothing
        found = [own] if own is not None else []
        for layer in self._below:
            below = layer.content.get(group)
            if below is not None:
                found.append(below)
        if not found:
            return []
        members = list((found[0] if len(found) == 1 else _flattened(tuple(found), _newer)).values())
        return [member for member in members if not isinstance(member, _Gone)]

    def has(self, group: K) -> bool:
        """True if a group has any member."""
        newer: list[dict[M, V | _Gone]] = []
        for content in (self._own, *(layer.content for layer in self._below)):
            names = content.get(group) or {}
            for name, member in names.items():
                if not isinstance(member, _Gone) and not any(name in one for one in newer):
                    return True
            newer.append(names)
        return False

    def put(self, group: K, name: M, member: V) -> None:
        """Add a member to a group."""
        self._writes += 1
        own = self._own.get(group)
        if own is None:
            self._own[group] = {name: member}
        else:
            own[name] = member

    def remove(self, group: K, name: M) -> None:
        """Remove a member from a group, if it is there."""
        if any(group in layer.content for layer in self._below):
            self._writes += 1
            self._own.setdefault(group, {})[name] = _GONE
            return
        own = self._own.get(group)
        if own is not None:
            own.pop(name, None)
            if not own:
                del self._own[group]

    def fork(self) -> ForkableGroups[K, M, V]:
        """Independent groups with the same members."""
        if self._own:
            self._below = _settled((_Layer(self._own, self._writes), *self._below), _both)
            self._own, self._writes = {}, 0
        return ForkableGroups(self._below)


class ScopedGroups(Generic[K, M, V]):
    """Groups whose members have a scope each (a namespace), found by group and scope or by group alone.

    Examples
    --------
    >>> groups = ScopedGroups[str, str, str]()
    >>> groups.put("view", "prod", "b1", "B1")
    >>> groups.put("view", "", "b2", "B2")
    >>> groups.members("view", "prod"), groups.everywhere("view")
    (['B1'], ['B2', 'B1'])
    """

    __slots__ = ("_members", "_scopes")

    def __init__(self) -> None:
        self._members: ForkableGroups[tuple[K, str], M, V] = ForkableGroups()
        self._scopes: ForkableGroups[K, str, str] = ForkableGroups()

    def members(self, group: K, scope: str) -> list[V]:
        """The members of a group in one scope, in the order of their addition."""
        return self._members.members((group, scope))

    def everywhere(self, group: K) -> list[V]:
        """The members of a group in all scopes, by scope."""
        scopes = sorted(self._scopes.members(group))
        return [member for scope in scopes for member in self._members.members((group, scope))]

    def has(self, group: K, scope: str) -> bool:
        """True if a group has any member in a scope."""
        return self._members.has((group, scope))

    def put(self, group: K, scope: str, name: M, member: V) -> None:
        """Add a member to a group."""
        self._members.put((group, scope), name, member)
        self._scopes.put(group, scope, scope)

    def remove(self, group: K, scope: str, name: M) -> None:
        """Remove a member from a group, if it is there."""
        self._members.remove((group, scope), name)
        if not self._members.has((group, scope)):
            self._scopes.remove(group, scope)

    def fork(self) -> ScopedGroups[K, M, V]:
        """Independent groups with the same members."""
        copy = ScopedGroups[K, M, V].__new__(ScopedGroups)
        copy._members, copy._scopes = self._members.fork(), self._scopes.fork()
        return copy


class _Layer(Generic[K, V]):
    """The writes between two forks, which do not change any more."""

    __slots__ = ("content", "size")

    def __init__(self, content: dict[K, V], size: int) -> None:
        self.content, self.size = content, size


def _newer(newer: V, older: V) -> V:
    return newer


def _both(newer: dict[K, V], older: dict[K, V]) -> dict[K, V]:
    return {**older, **newer}


def _flattened(contents: tuple[dict[K, V], ...], join: Callable[[V, V], V]) -> dict[K, V]:
    """One mapping of several, given newest first."""
    merged = dict(contents[-1])
    for content in reversed(contents[:-1]):
        for key, value in list(content.items()):
            older = merged.get(key)
            merged[key] = value if older is None else join(value, older)
    return merged


def _settled(layers: tuple[_Layer[K, V], ...], join: Callable[[V, V], V]) -> tuple[_Layer[K, V], ...]:
    """The layers, newest first, with neighbours of similar size merged.

    Worked example: with sizes 1, 1, 100,000 the first two become one layer of 2. A layer that is much smaller than
    the one below it waits until it has grown, so that what a merge copies was mostly written since the last one.
    """
    while len(layers) > 1:
        newer, older = layers[:2]
        size = newer.size + older.size
        if 2 * newer.size < older.size or (size > SMALL and len(layers) <= FEW):
            break
        layers = (_Layer(_flattened((newer.content, older.content), join), size), *layers[2:])
    return layers
