"""The names that the definitions of one group have, looked up instead of compared with each other.

Upstream: k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go, release 1.30, whose controller
looks at all definitions of a group after each change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.meta.objects import Object, at

RESOURCES: Final = "resources"
"""The space of plural, singular and short names."""
KINDS: Final = "kinds"
"""The space of kinds and their lists."""
_FIELDS: Final = {RESOURCES: ("plural", "singular"), KINDS: ("kind", "listKind")}
Word = tuple[str, str]
"""A name in its space."""


@dataclass(frozen=True, slots=True)
class NamesOfOthers:
    """The names of one space that other definitions of a group have."""

    having: Mapping[Word, Mapping[str, None]]
    space: str
    own: str

    def __contains__(self, name: object) -> bool:
        owners = self.having.get((self.space, str(name)), {})
        return len(owners) > (self.own in owners)


class GroupNames:
    """The names of one group with the definitions that have them, and those that ask for them in vain.

    Examples
    --------
    >>> names = GroupNames()
    >>> asked = {"spec": {"names": {"plural": "things", "kind": "Thing"}}}
    >>> names.learn("things.a.io", {**asked, "status": {"acceptedNames": asked["spec"]["names"]}})
    ['things.a.io']
    >>> "Thing" in names.of_others("others.a.io", KINDS), "Thing" in names.of_others("things.a.io", KINDS)
    (True, False)
    >>> names.learn("others.a.io", {"spec": {"names": {"plural": "others", "kind": "Thing"}}})
    ['others.a.io']
    >>> names.learn("things.a.io", None)
    ['others.a.io']
    """

    def __init__(self) -> None:
        self._words: dict[str, tuple[frozenset[Word], frozenset[Word]]] = {}
        self._having: dict[Word, dict[str, None]] = {}
        self._asking: dict[Word, dict[str, None]] = {}

    def learn(self, name: str, obj: Object | None) -> list[str]:
        """Take a definition as it is now, None if it is gone; gives back those whose names may change by it.

        The definition comes first, where there is one; then those that ask for a name which it got or lost, in the
        order in which they asked. The cost is that of the names which change, and of these definitions.
        """
        had, asked = self._words.pop(name, (frozenset(), frozenset()))
        has = frozenset(_words(at(obj or {}, "status", "acceptedNames")))
        asks = frozenset(_words(at(obj or {}, "spec", "names"))) - has
        if obj is not None:
            self._words[name] = (has, asks)
        _move(self._having, name, had, has)
        _move(self._asking, name, asked, asks)
        found = {name: None} if obj is not None else {}
        for word in sorted(had ^ has):
            found |= self._asking.get(word, {})
        return list(found)

    def of_others(self, name: str, space: str) -> NamesOfOthers:
        """The names that all but one definition have."""
        return NamesOfOthers(self._having, space, name)


def _words(names: Any) -> Iterator[Word]:
    """The names of a definition; those of a dump may be anything."""
    if not isinstance(names, Mapping):
        return
    for space, fields in _FIELDS.items():
        for field in fields:
            if isinstance(names.get(field), str) and names[field]:
                yield space, names[field]
    shorts = names.get("shortNames")
    for short in shorts if isinstance(shorts, list | tuple) else ():
        if isinstance(short, str):
            yield RESOURCES, short


def _move(index: dict[Word, dict[str, None]], name: str, before: frozenset[Word], now: frozenset[Word]) -> None:
    for word in before - now:
        owners = index[word]
        owners.pop(name, None)
        if not owners:
            del index[word]
    for word in now - before:
        index.setdefault(word, {})[name] = None
