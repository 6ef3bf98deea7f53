"""Validation of names, printer columns, subresources, selectable fields and warnings of a definition.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.apiextensions.fieldpath import BadPath, resolved
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, too_many
from simkit.meta.name_validation import dns1035_label, kind_name
from simkit.schema.structural import Schema

Properties = Mapping[str, Any]
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def validate_name(names: Properties, path: str) -> Iterator[FieldError]:
    """The errors of given names that are no labels."""
    for field in ("plural", "singular"):
        if names.get(field):
            yield from _label(names[field], f"{path}.{field}")
    for field in ("kind", "listKind"):
        text = names.get(field) or ""
        if text and (wrong := kind_name(text)):
            yield invalid_value(f"{path}.{field}", text, wrong)
    for index, word in enumerate(names.get("shortNames") or ()):
        yield from _label(word, f"{path}.shortNames[{index}]")
    kind = names.get("kind")
    if kind and kind == names.get("listKind"):
        yield invalid_value(f"{path}.listKind", kind, "kind and listKind may not be the same")
    for index, word in enumerate(names.get("categories") or ()):
        yield from _label(word, f"{path}.categories[{index}]")


def _label(text: str, path: str) -> Iterator[FieldError]:
    wrong = dns1035_label(text)
    if wrong:
        yield invalid_value(path, text, ",".join(wrong))


def validate_column(column: Properties, path: str) -> Iterator[FieldError]:
    """The errors of a printer column."""
    kind, form, where = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
    if not column.get("name"):
        yield required(f"{path}.name")
    detail = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{path}.type", detail)
    elif kind not in _COLUMN_TYPES:
        yield invalid_value(f"{path}.type", kind, detail)
    if form and form not in _COLUMN_FORMATS:
        yield invalid_value(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not where:
        yield required(f"{path}.JSONPath")
    else:
        yield from _not_simple(where, f"{path}.JSONPath")


def _not_simple(text: str, path: str) -> Iterator[FieldError]:
    if not text.startswith("."):
        yield invalid_value(path, text, "must be a simple json path starting with .")


_SCALE: Final = (
    ("specReplicasPath", (".spec.",), ".spec"),
    ("statusReplicasPath", (".status.",), ".status"),
    ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
)


def validate_subresource(subresources: Properties | None, path: str) -> Iterator[FieldError]:
    """The errors of the paths of a scale."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, starts, described in _SCALE:
        text, where = scale.get(name) or "", f"{path}.scale.{name}"
        if not text:
            if name != "labelSelectorPath":
                yield required(where)
        elif not text.startswith("."):
            yield from _not_simple(text, where)
        elif not text.startswith(starts):
            yield invalid_value(where, text, f"should be a json path under {described}")


_SELECTABLE: Final = frozenset({"string", "boolean", "integer"})
_MOST_SELECTABLE: Final = 8


def validate_selectable(
    rows: Sequence[Properties], schema: Schema | None, path: str, unread: str
) -> Iterator[FieldError]:
    """The errors of the selectable fields; ``unread`` is the detail if there is no schema."""
    if not rows:
        return
    if schema is None:
        yield invalid_value(path, "", f"selectableFields may only be set when {unread}")
        return
    seen: set[str] = set()
    for index, row in enumerate(rows):
        where, text = f"{path}[{index}].jsonPath", row.get("jsonPath") or ""
        if not text:
            yield required(where)
            continue
        try:
            found, node = resolved(text, schema, brackets=False)
        except BadPath as error:
            yield invalid_value(where, text, f"is an invalid path: {error}")
            continue
        yield from _unselectable(found, node, where, text)
        if found in seen:
            yield duplicate(where, text)
        seen.add(found)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)


def _unselectable(found: str, node: Schema, where: str, text: str) -> Iterator[FieldError]:
    if found.split(".")[0] == "metadata":
        yield invalid_value(where, text, "must not point to fields in metadata")
    if node.row.get("type") not in _SELECTABLE:
        kinds = "Enum string fields and strings with formats are allowed."
        yield invalid_value(where, text, f"must point to a field of type string, boolean or integer. {kinds}")


def validate_warning(deprecated: bool, warning: str | None, path: str) -> Iterator[FieldError]:
    """The errors of the warning of a deprecated version."""
    if warning is None:
        return
    if not deprecated:
        yield invalid_value(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        yield invalid_value(path, warning, "must be <= 256 characters long")
    if not warning:
        yield invalid_value(path, warning, "must not be an empty string")
    for letter in warning:
        if not letter.isprintable():
            at = len(warning.partition(letter)[0].encode())
            detail = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            yield invalid_value(path, warning, detail)
            break
