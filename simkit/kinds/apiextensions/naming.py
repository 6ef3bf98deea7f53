"""Status conditions of a CustomResourceDefinition, and the acceptance of its names in its group.

Follows ``k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
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


def _conflict(word: str, name: str) -> Condition:
    return condition("NamesAccepted", "False", f"{word}Conflict", f'"{name}" is already in use')


def _give(
    names: dict[str, Any], wanted: Mapping[str, Any], field: str, taken: Container[str], word: str
) -> Condition | None:
    name = wanted.get(field) or ""
    if name != (names.get(field) or "") and name in taken:
        names.setdefault(field, "")
        return _conflict(word, name)
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
