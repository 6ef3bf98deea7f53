"""Conversion between versions: explicit defaults, through the hub version, into the wanted version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.kinds.conversions import horizontalpodautoscaler, moved_fields, restructured
from simkit.kinds.conversions.family import SAME_FIELDS, ConversionError, Family, Spoke
from simkit.kinds.strategy import strategy_of
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupKind, GroupVersion
from simkit.meta.objects import Draft, Object, copied
from simkit.schema import lifecycle
from simkit.schema.behaviour import default_behaviour

_RESHAPED: Final[Mapping[str, Family]] = {
    **horizontalpodautoscaler.FAMILIES,
    **restructured.FAMILIES,
    **moved_fields.FAMILIES,
}
"""The families of kinds whose versions differ in more than the name."""


@cache
def family_of(api_version: str, kind: str) -> Family | None:
    """The family of a kind's version; None if it has no other version."""
    if kind in _RESHAPED:
        found = _RESHAPED[kind]
        return found if found.spoke(api_version) is not None else None
    return _convert_relabelled().get((api_version, kind))


def kept_in(hub: str, api_version: str, kind: str) -> Family | None:
    """The family of a version whose objects are stored in another one; None if that is not the family's hub."""
    family = family_of(api_version, kind)
    return family if family is not None and family.hub == hub else None


@cache
def _convert_relabelled() -> Mapping[tuple[str, str], Family]:
    """Families of kinds whose versions have the same fields, which releases treat as one."""
    hubs: dict[tuple[str, str], set[str]] = {}
    for name, resource in lifecycle.every_resource():
        hub = resource.storage_gvk.api_version if resource.stored else _unstored_hub(resource.group_version)
        hubs.setdefault((hub, resource.kind), set()).add(name)
    found = {}
    for (hub, kind), versions in {**hubs, **_BODIES}.items():
        family = Family(kind, hub, {each: SAME_FIELDS for each in versions if each != hub})
        found.update({(each, kind): family for each in versions | {hub}})
    return found


_BODIES: Final[Mapping[tuple[str, str], set[str]]] = {("policy/v1", "Eviction"): {"policy/v1", "policy/v1beta1"}}
"""Kinds of subresources' bodies."""


def _unstored_hub(group_version: GroupVersion) -> str:
    """The stable version of a review, which is never stored."""
    return f"{group_version.group}/v1" if group_version.group else "v1"


def versions(api_version: str, kind: str) -> tuple[str, ...]:
    """All versions to which a kind in one version can be converted, itself included; the hub comes first.

    Examples
    --------
    >>> versions("extensions/v1beta1", "Ingress")
    ('networking.k8s.io/v1', 'extensions/v1beta1', 'networking.k8s.io/v1beta1')
    """
    family = family_of(api_version, kind)
    return (api_version,) if family is None else (family.hub, *sorted(family.spokes))


def convertible(kind: str, old: str, new: str) -> bool:
    """True if one version can be converted to another."""
    family = family_of(old, kind)
    return old == new or (family is not None and family.spoke(new) is not None)


def convert(obj: Object, to_api_version: str, behaviour: ServedBehaviour, *, defaults: bool = False) -> Object:
    """The object in another version; the argument does not change.

    Parameters
    ----------
    behaviour
        That of the server which converts it.
    defaults
        Whether to fill in all that the old version defaults, as a server does when it reads an object. Defaults that
        differ between the versions are filled in anyway, since leaving them out would change what the object means.

    Raises
    ------
    ConversionError
        Where no release converts the one into the other, or the object cannot be read.

    Examples
    --------
    >>> budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {"selector": {}}}
    >>> convert(budget, "policy/v1", ServedBehaviour(30))["spec"]["selector"]["matchExpressions"][0]["operator"]
    'Exists'
    """
    old, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    family = family_of(old, kind)
    source, target = _forms(family, old, to_api_version, kind)
    draft: Draft = copied(obj)
    if family is None:
        return draft
    source.default(draft)
    source.to_hub(draft)
    if source.hub_defaults and (defaults or (old != to_api_version and target.has_own_defaults)):
        draft["apiVersion"] = family.hub
        strategy_of(GroupKind(GroupVersion.parse(family.hub).group, family.kind)).default(behaviour, draft)
    target.from_hub(behaviour, draft)
    draft["apiVersion"] = to_api_version
    return draft


def defaulted(obj: Object, behaviour: ServedBehaviour) -> Object:
    """The object with all defaults of its own version set.

    For a version that is not the hub, values are taken through the hub and back.
    """
    return convert(obj, str(obj.get("apiVersion", "")), behaviour, defaults=True)


def _forms(family: Family | None, old: str, new: str, kind: str) -> tuple[Spoke, Spoke]:
    if family is None and old == new:
        return SAME_FIELDS, SAME_FIELDS
    source = family.spoke(old) if family else None
    target = family.spoke(new) if family else None
    if source is None or target is None:
        known = ", ".join(versions(old, kind))
        raise ConversionError(f"no release converts {old!r} {kind} to {new!r}; known for it: {known}")
    return source, target


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
        tuple(differences(converted, defaulted({**obj, "apiVersion": to_api_version}, behaviour))),
        tuple(_lost(defaulted(obj, behaviour), converted, behaviour)),
    )


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
