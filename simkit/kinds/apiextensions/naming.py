"""Status conditions of a CustomResourceDefinition, and the acceptance of its names in its group.

Follows ``k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.objects import Object, at

CLEANUP: Final = f"customresourcecleanup.{EXTENSIONS_GROUP}"
"""The finalizer that keeps a definition until its objects are deleted."""
Condition = dict[str, str]


def condition(kind: str, status: str, reason: str, message: str) -> Condition:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def found(obj: Object, kind: str) -> Mapping[str, Any] | None:
    """The condition of a type, or None."""
    return next((each for each in at(obj, "status", "conditions") or () if each.get("type") == kind), None)


def holds(obj: Object, kind: str) -> bool:
    """True if a condition is true."""
    return (found(obj, kind) or {}).get("status") == "True"


def with_condition(status: Mapping[str, Any], wanted: Condition, now: str) -> dict[str, Any]:
    """A status with a condition set; its time changes with its status."""
    conditions: list[Mapping[str, Any]] = list(status.get("conditions") or ())
    for index, old in enumerate(conditions):
        if old.get("type") == wanted["type"]:
            moved = now if old.get("status") != wanted["status"] else old.get("lastTransitionTime") or now
            conditions[index] = _written(wanted, moved)
            break
    else:
        conditions.append(_written(wanted, now))
    return {**status, "conditions": conditions}


def _written(wanted: Condition, moment: str) -> Condition:
    first = {"type": wanted["type"], "status": wanted["status"], "lastTransitionTime": moment}
    return {**first, **{name: wanted[name] for name in ("reason", "message") if wanted.get(name)}}


_NAMES: Final = (("plural", "Plural"), ("singular", "Singular"), ("kind", "Kind"), ("listKind", "ListKind"))


def accept_names(obj: Object, resources: Container[str], kinds: Container[str]) -> tuple[dict[str, Any], Condition]:
    """The names that a definition gets, and the condition NamesAccepted.

    A name that another one has is not given; the last conflict is the one that is told.

    Parameters
    ----------
    obj
        The definition.
    resources, kinds
        What others of its group are called.
    """
    wanted: Mapping[str, Any] = at(obj, "spec", "names") or {}
    names: dict[str, Any] = dict(at(obj, "status", "acceptedNames") or {})
    told: Condition | None = None
    for field, word in _NAMES[:2]:
        told = _give(names, wanted, field, resources, word) or told
    told = _give_shorts(names, wanted, resources) or told
    for field, word in _NAMES[2:]:
        told = _give(names, wanted, field, kinds, word) or told
    names["categories"] = list(wanted.get("categories") or ())
    kept = {name: value for name, value in names.items() if value or name in ("plural", "kind")}
    ordered = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    result = {name: kept[name] for name in ordered if name in kept}
    return result, told or condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")


def _shorts(names: Mapping[str, Any]) -> Sequence[str]:
    return names.get("shortNames") or ()


def _give(
    names: dict[str, Any], wanted: Mapping[str, Any], field: str, taken: Container[str], word: str
) -> Condition | None:
    name = wanted.get(field) or ""
    if name != (names.get(field) or "") and name in taken:
        names.setdefault(field, "")
        return condition("NamesAccepted", "False", f"{word}Conflict", f'"{name}" is already in use')
    names[field] = name
    return None


def _give_shorts(names: dict[str, Any], wanted: Mapping[str, Any], taken: Container[str]) -> Condition | None:
    mine, asked = set(_shorts(names)), list(_shorts(wanted))
    used = [name for name in asked if name not in mine and name in taken]
    if used:
        text = aggregate_errors(f'"{name}" is already in use' for name in used)
        return condition("NamesAccepted", "False", "ShortNamesConflict", text)
    names["shortNames"] = asked
    return None


def established(obj: Object, names: Condition) -> Condition | None:
    """The condition Established after the names are accepted; None if it does not change."""
    if holds(obj, "Established"):
        return None
    if names["status"] == "True":
        return condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    return condition("Established", "False", "NotAccepted", "not all names are accepted")


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
