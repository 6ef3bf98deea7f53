"""A table of what is known of requests of each identity, with a limit: clients choose what comes into it."""

from __future__ import annotations

from typing import Generic, TypeVar

from simkit.meta.identity import Identity

Asked = TypeVar("Asked")
Known = TypeVar("Known")


class KnownByIdentity(Generic[Asked, Known]):
    """Answers by identity and by what it asked. At the limit all of them are forgotten, and learned anew.

    Parameters
    ----------
    most
        How many answers are kept, of all identities together.

    Examples
    --------
    >>> known, ann = KnownByIdentity[str, int](most=2), Identity("ann")
    >>> for number, path in enumerate(("/a", "/b", "/b", "/c")):
    ...     _ = known.keep(ann, path, number)
    >>> known.of(ann), known.of(Identity("bob"))
    ({'/c': 3}, {})
    """

    __slots__ = ("_count", "_most", "_tables")

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0
        self._tables: dict[Identity, dict[Asked, Known]] = {}

    def of(self, identity: Identity) -> dict[Asked, Known]:
        """All that is known of an identity; not to be changed."""
        return self._tables.get(identity) or {}

    def keep(self, identity: Identity, asked: Asked, known: Known) -> dict[Asked, Known]:
        """Add something, in place of what was known of the same; gives back all that is known of the identity."""
        table = self._tables.get(identity)
        if table is None or asked not in table:
            if self._count >= self._most:
                self._tables, self._count = {}, 0
            table, self._count = self._tables.setdefault(identity, {}), self._count + 1
        table[asked] = known
        return table
