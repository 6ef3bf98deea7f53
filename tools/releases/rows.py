"""From JSON schemas without Go's secrets to the rows that the engine reads, by what release 1.30 is known to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

Row = dict[str, Any]
_MARKS: Final = {
    "x-kubernetes-list-type": "listType",
    "x-kubernetes-list-map-keys": "listMapKeys",
    "x-kubernetes-map-type": "mapType",
    "x-kubernetes-patch-strategy": "patchStrategy",
    "x-kubernetes-patch-merge-key": "patchMergeKey",
}
_ALWAYS_WRITTEN: Final = frozenset({"metadata", "spec", "status"})
EVERY_VERSION: Final = 6
"""A definition with more kinds than this has the kind in every group version."""


ZERO_LEFT_OUT: Final = {("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp"): 34}
"""Fields whose zero value is written at 1.30 and no more since a release, which its Go types say (``omitzero``)."""


_SHAPES: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = orjson.loads(
    Path(__file__).with_name("go-shapes.json").read_bytes()
)["fields"]
"""What Go makes of later fields, by definition, field and first release."""


_MARKED: Final[Mapping[str, Mapping[str, Mapping[str, Row]]]] = orjson.loads(
    Path(__file__).with_name("marks.json").read_bytes()
)["fields"]
"""Markers, defaults and enumerations that differ from those of 1.30, by definition, field and first or last release."""


def marked(name: str, row: Row, minor: int) -> Row:
    """The row of a definition with the markers of a release other than 1.30."""
    marks = _MARKED.get(name, {})
    fields = {field: _changed(known, marks.get(field, {}), minor) for field, known in row.get("fields", {}).items()}
    return _changed({**row, "fields": fields} if fields else row, marks.get("", {}), minor)


def _changed(row: Row, changes: Mapping[str, Row], minor: int) -> Row:
    for release, change in changes.items():
        last, bound = release.startswith("-"), int(release.partition(".")[2])
        if minor <= bound if last else bound <= minor:
            row = _with(row, change)
    return row


def _with(row: Row, change: Row) -> Row:
    """A row after a change: null removes a key, elements are changed in their turn."""
    new = {key: _with(row[key], value) if key in ("items", "values") else value for key, value in change.items()}
    return {key: value for key, value in {**row, **new}.items() if value is not None}


def with_zeros_of(name: str, row: Row, minor: int) -> Row:
    """The row of a definition with the rules of a release for zero values, where they differ from those of 1.30."""
    shapes = _SHAPES.get(name, {})
    fields = {
        field: _shaped(known, shapes.get(field, {}), minor)
        if minor < ZERO_LEFT_OUT.get((name, field), minor + 1)
        else {key: value for key, value in known.items() if key != "go"}
        for field, known in row.get("fields", {}).items()
    }
    return {**row, "fields": fields} if fields else row


def _shaped(row: Row, shapes: Mapping[str, str], minor: int) -> Row:
    """A field as Go has it at a release; with ``always`` its zero value is the default."""
    current = [shape for since, shape in shapes.items() if int(since.partition(".")[2]) <= minor]
    if not current:
        return row
    kept = {key: value for key, value in row.items() if key not in ("go", "default")}
    if current[-1] == "always":
        plain = {} if "ref" in row else {"string": "", "boolean": False}.get(row.get("type", ""), 0)
        return {**kept, "default": plain, "go": "always"}
    return {**kept, "go": current[-1]} if current[-1] else kept


def row_of(source: Mapping[str, Any]) -> Row:
    """A JSON schema in the short form: types without null, references by name."""
    out: Row = {short: source[name] for name, short in _MARKS.items() if name in source}
    if "$ref" in source:
        return {**out, "ref": source["$ref"].rpartition("/")[2]}
    kind = source.get("type")
    kind = next((each for each in kind if each != "null"), None) if isinstance(kind, list) else kind
    if kind:
        out["type"] = kind
    if "format" in source:
        out["format"] = source["format"]
    if "properties" in source:
        out["fields"] = {name: row_of(child) for name, child in sorted(source["properties"].items())}
    if "items" in source:
        out["items"] = row_of(source["items"])
    if isinstance(source.get("additionalProperties"), Mapping):
        out["values"] = row_of(source["additionalProperties"])
    if source.get("required"):
        out["required"] = source["required"]
    return out


def shape(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The comparable part of a field: types, without the group version of references."""
    inner = tuple(shape(row[part]) for part in ("items", "values") if part in row)
    return (row.get("type"), row.get("format"), row.get("ref", "").rpartition(".")[2], *inner)


def enriched(row: Row, known: Mapping[str, Any] | None, *, exact: bool) -> Row:
    """The row with what release 1.30 tells of the same fields: zero values, defaults, markers, string types.

    ``exact``: the known row is of the same definition; otherwise of its namesake in another version, whose references
    are not taken over.
    """
    if "fields" not in row:
        return dict(known) if known is not None and "fields" not in known else row
    required = frozenset(row.get("required", ()))
    known_fields = (known or {}).get("fields", {})
    fields = {
        name: _field(name, child, known_fields.get(name), name in required, exact)
        for name, child in row["fields"].items()
    }
    beside = {key: value for key, value in (known or {}).items() if key not in ("fields", "required", "mapType")}
    kept = {key: value for key, value in row.items() if key != "fields"}
    return {**(beside if exact else {}), **kept, **_map_type(known), "fields": fields}


def _map_type(known: Mapping[str, Any] | None) -> Row:
    return {"mapType": known["mapType"]} if known and "mapType" in known else {}


def _field(name: str, row: Row, known: Mapping[str, Any] | None, required: bool, exact: bool) -> Row:
    if known is None or shape(known) != shape(row):
        return _guessed(name, row, required)
    return dict(known) if exact else _referring(dict(known), row)


def _referring(known: Row, row: Mapping[str, Any]) -> Row:
    """The known row with the references of the other."""
    if "ref" in row:
        known["ref"] = row["ref"]
    for part in ("items", "values"):
        if part in known and part in row:
            known[part] = _referring(dict(known[part]), row[part])
    return known


def _guessed(name: str, row: Row, required: bool) -> Row:
    """A field of which only the schema is known: as most of Go's types would have it."""
    if name in ("apiVersion", "kind"):
        return row
    if "ref" in row:
        whole = name in _ALWAYS_WRITTEN or required
        return {**row, "default": {}, "go": "always"} if whole else {**row, "go": "pointer"}
    if row.get("type") in ("array", "object") or row.get("format") == "byte":
        return {**row, "go": "nil"} if required else row
    if required:
        zero = {"string": "", "boolean": False}.get(row.get("type", ""), 0)
        return {**row, "default": zero, "go": "always"}
    return row if row.get("type") == "string" else {**row, "go": "pointer"}


def kinds_of(definitions: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Definition names by kind, as ``apps/v1/Deployment``; kinds of every group version under an asterisk."""
    found: dict[str, str] = {}
    for name, source in definitions.items():
        kinds: Sequence[Mapping[str, str]] = source.get("x-kubernetes-group-version-kind", ())
        if len(kinds) > EVERY_VERSION:
            found[f"*/{kinds[0]['kind']}"] = name
            continue
        for each in kinds:
            found["/".join(filter(None, (each["group"], each["version"], each["kind"])))] = name
    return found


def namesake(name: str, known: Mapping[str, Any]) -> str | None:
    """The definition of 1.30 with the same last name: of the same group before others, of a stable version first."""
    last, home = name.rpartition(".")[2], name.rsplit(".", 2)[0]
    same = [each for each in known if each.rpartition(".")[2] == last]
    same.sort(key=lambda each: (each.rsplit(".", 2)[0] != home, "alpha" in each or "beta" in each, each))
    return same[0] if same else None


# Differences


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> Row:
    """The changes in a table of rows: null removes; a row with fields changes field by field."""
    out: Row = {name: None for name in old if name not in new}
    for name, row in new.items():
        if name not in old:
            out[name] = row
        elif old[name] != row:
            out[name] = _row_difference(old[name], row)
    return out


def _row_difference(old: Any, new: Any) -> Any:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping) and "fields" in old and "fields" in new):
        return {"=": new}
    changed: Row = {key: None for key in old if key not in new}
    changed |= {key: value for key, value in new.items() if key != "fields" and old.get(key) != value}
    fields: Row = {name: None for name in old["fields"] if name not in new["fields"]}
    fields |= {name: row for name, row in new["fields"].items() if old["fields"].get(name) != row}
    return {"~": {**changed, **({"fields": fields} if fields else {})}}
