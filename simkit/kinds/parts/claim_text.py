"""The difference between two claim specs as a refusal shows it: fields that changed, with two around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from simkit.kinds.parts.amounts import parts_of
from simkit.kinds.parts.changed_fields import shown_fields
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object

_FIELDS: Final = (
    "AccessModes",
    "Selector",
    "Resources",
    "VolumeName",
    "StorageClassName",
    "VolumeMode",
    "DataSource",
    "DataSourceRef",
    "VolumeAttributesClassName",
)


def claim_difference(old: Object, new: Object) -> str:
    """The changed fields with two unchanged ones on either side; longer gaps are counted."""
    rows = [(name, _field(old, name), _field(new, name)) for name in _FIELDS]
    return "\n".join(
        ["  core.PersistentVolumeClaimSpec{", *shown_fields(rows, lambda row: row[1] != row[2], _shown), "  }", ""]
    )


def _field(spec: Object, name: str) -> Any:
    return spec.get(name[0].lower() + name[1:])


def _shown(rows: Sequence[tuple[str, Any, Any]]) -> Iterator[str]:
    """Fields that take one line each stand below each other; one that takes several parts them."""
    for several, run in groupby(rows, lambda row: _takes_several(*row)):
        group = list(run)
        if several:
            for name, before, after in group:
                yield from _opened(name, before, after)
            continue
        width = max(len(name) for name, _, _ in group) + 1
        for name, before, after in group:
            lead = f"\t{name + ':':{width}} "
            if before == after:
                yield f"  {lead}{_text(name, before)},"
            else:
                yield f"- {lead}{_text(name, before)},"
                yield f"+ {lead}{_text(name, after)},"


def _takes_several(name: str, before: Any, after: Any) -> bool:
    return before != after and name in ("AccessModes", "Resources")


def _opened(name: str, before: Any, after: Any) -> Iterator[str]:
    """A field of several lines, inside of which the difference is."""
    if name == "AccessModes":
        yield "  \tAccessModes: []core.PersistentVolumeAccessMode{"
        yield from (f"- \t\t{quoted(mode)}," for mode in before or () if mode not in (after or ()))
        yield from (f"+ \t\t{quoted(mode)}," for mode in after or () if mode not in (before or ()))
    else:
        yield "  \tResources: core.VolumeResourceRequirements{"
        for part in ("limits", "requests"):
            yield from _amounts(part.capitalize(), (before or {}).get(part), (after or {}).get(part))
    yield "  \t},"


def _amounts(name: str, before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> Iterator[str]:
    if before == after:
        yield f"  \t\t{name}: {_inner(before)},"
        return
    for sign, amounts in (("-", before), ("+", after)):
        if amounts is None:
            yield f"{sign} \t\t{name}: nil,"
            continue
        yield f"{sign} \t\t{name}: core.ResourceList{{"
        yield from (f'{sign} \t\t\ts"{key}": {_quantity(amounts[key])},' for key in sorted(amounts))
        yield f"{sign} \t\t}},"


def _quantity(text: str) -> str:
    value, scale, kept, family = parts_of(text)
    number = f"resource.int64Amount{{value: {value}{f', scale: {scale}' if scale else ''}}}"
    return f"{{i: {number}, s: {quoted(kept)}, Format: {quoted(family)}}}"


def _text(name: str, value: Any) -> str:
    if value is None:
        return '""' if name == "VolumeName" else "nil"
    if isinstance(value, str):
        return quoted(value) if name == "VolumeName" else f"&{quoted(value)}"
    pointed = "&" if name in ("Selector", "DataSource", "DataSourceRef") else ""
    return pointed + _inner(value)


def _inner(value: Any) -> str:
    """A value inside of others, in the short form."""
    if value is None:
        return "nil"
    if isinstance(value, Mapping):
        listed = ", ".join(f"{key[0].upper()}{key[1:]}: {_inner(item)}" for key, item in value.items())
        return f"{{{listed}}}"
    if isinstance(value, list):
        return f"{{{', '.join(map(_inner, value))}}}"
    return quoted(value) if isinstance(value, str) else str(value)
