"""The conversion of an object with its changes of meaning and its losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from simkit.kinds.conversions.convert import convert, defaulted
from simkit.kinds.conversions.family import ConversionError
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object
from simkit.schema.behaviour import default_behaviour


class Difference(NamedTuple):
    """One field in which two objects differ; None for a missing value."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {self.before!r} -> {self.after!r}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """An object in another version, with notes on the conversion."""

    object: Object
    meaning: tuple[Difference, ...]
    """Fields whose meaning would change with ``apiVersion`` alone: before, the right value in the new version;
    after, the value with its defaults."""
    lost: tuple[Difference, ...]
    """Fields that differ after the way back: before, the original; after, the result."""


def explain(obj: Object, to_api_version: str, release: str) -> Conversion:
    """The conversion of an object by a server of a release, with all defaults explicit, and its notes.

    Raises ConversionError as ``convert`` does.

    Examples
    --------
    >>> budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {"selector": {}}}
    >>> print(explain(budget, "policy/v1", "1.24").meaning[0].path)
    spec.selector.matchExpressions[0].key
    """
    behaviour = default_behaviour(release)
    converted = convert(obj, to_api_version, behaviour, defaults=True)
    return Conversion(
        converted,
        tuple(differences(converted, _relabelled(obj, to_api_version, behaviour))),
        tuple(_lost(defaulted(obj, behaviour), converted, behaviour)),
    )


def _relabelled(obj: Object, to_api_version: str, behaviour: ServedBehaviour) -> Object:
    """The object as the new version reads it if only ``apiVersion`` is changed."""
    return defaulted({**obj, "apiVersion": to_api_version}, behaviour)


def _lost(original: Object, converted: Object, behaviour: ServedBehaviour) -> Iterator[Difference]:
    try:
        back = convert(converted, str(original["apiVersion"]), behaviour, defaults=True)
    except ConversionError:
        yield Difference("", original, None)
        return
    yield from differences(original, back)


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """The leaves in which two objects differ. Empty values, null and missing ones are equal.

    Examples
    --------
    >>> list(differences({"a": {"b": 1}, "c": []}, {"a": {"b": 2}}))
    [Difference(path='a.b', before=1, after=2)]
    """
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        old, new = _mapping(before), _mapping(after)
        if old is not None and new is not None:
            for name in {**old, **new}:
                yield from differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
            return
    if isinstance(before, list) or isinstance(after, list):
        old_list, new_list = _list(before), _list(after)
        if old_list is not None and new_list is not None:
            for index in range(max(len(old_list), len(new_list))):
                old_item, new_item = (each[index] if index < len(each) else None for each in (old_list, new_list))
                yield from differences(old_item, new_item, f"{path}[{index}]")
            return
    if before != after and not (_is_nothing(before) and _is_nothing(after)):
        yield Difference(path, before, after)


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return {} if value is None else value if isinstance(value, Mapping) else None


def _list(value: Any) -> list[Any] | None:
    return [] if value is None else value if isinstance(value, list) else None


def _is_nothing(value: Any) -> bool:
    return value is None or value == {} or value == [] or value == ""
