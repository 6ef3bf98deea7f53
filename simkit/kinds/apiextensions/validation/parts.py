"""Validation of names, printer columns, subresources, selectable fields and warnings of a definition.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.apiextensions.fieldpath import BadPath, resolved
from simkit.kinds.rules import REQUIRED, Check, by, fields, must, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, duplicate, invalid_value, required, too_many
from simkit.meta.name_validation import dns1035_label, kind_name
from simkit.schema.structural import Schema

Properties = Mapping[str, Any]
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def at_once(rule: Callable[[str], Sequence[str]]) -> Check:
    """The check of a text's format with one error for all that is wrong."""
    return must.be(lambda text: [",".join(wrong)] if (wrong := rule(text)) else ())


_LABEL: Final = at_once(dns1035_label)
_KIND: Final = must.be(lambda text: [wrong] if (wrong := kind_name(text)) else ())
NAMES: Final = table(
    row("plural", _LABEL),
    row("singular", _LABEL),
    row("kind", _KIND),
    row("listKind", _KIND),
    row("shortNames[]", _LABEL),
    row(
        "listKind",
        must.be_otherwise("kind and listKind may not be the same"),
        when=lambda names: names.get("kind") and names["kind"] == names.get("listKind"),
    ),
    row("categories[]", _LABEL),
)
"""The check of given names, which must be labels."""


def _be_listed(choices: Sequence[str]) -> Check:
    return must.hold(lambda text: text in choices, f"must be one of {','.join(choices)}")


def _begin(*starts: str, told: str) -> Check:
    """The check of a path that begins with one of some texts."""
    return must.hold(lambda text: text.startswith(starts), f"should be a json path under {told}")


_SIMPLE: Final = must.hold(lambda text: text.startswith("."), "must be a simple json path starting with .")
VERSION_PARTS: Final = table(
    row(
        "subresources.scale",
        row("specReplicasPath", REQUIRED, _SIMPLE, _begin(".spec.", told=".spec")),
        row("statusReplicasPath", REQUIRED, _SIMPLE, _begin(".status.", told=".status")),
        row("labelSelectorPath", _SIMPLE, _begin(".spec.", ".status.", told="either .spec or .status")),
    ),
    row(
        "additionalPrinterColumns[]",
        row("name", REQUIRED),
        row("type", must.be_given(f"must be one of {','.join(_COLUMN_TYPES)}"), _be_listed(_COLUMN_TYPES)),
        row("format", _be_listed(_COLUMN_FORMATS)),
        row("jsonPath", REQUIRED, _SIMPLE, told="JSONPath"),
    ),
)
"""The check of the subresources and the printer columns of one version or of all."""


_SELECTABLE: Final = frozenset({"string", "boolean", "integer"})
_MOST_SELECTABLE: Final = 8


def validate_selectable(rows: Sequence[Properties], schema: Schema | None, path: str, unread: str) -> Errors:
    """The errors of the selectable fields; ``unread`` is the detail if there is no schema."""
    if not rows:
        return
    if schema is None:
        yield invalid_value(path, "", f"selectableFields may only be set when {unread}")
        return
    seen: set[str] = set()
    for index, selectable in enumerate(rows):
        where, text = f"{path}[{index}].jsonPath", selectable.get("jsonPath") or ""
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


def _unselectable(found: str, node: Schema, where: str, text: str) -> Errors:
    if found.split(".")[0] == "metadata":
        yield invalid_value(where, text, "must not point to fields in metadata")
    if node.row.get("type") not in _SELECTABLE:
        kinds = "Enum string fields and strings with formats are allowed."
        yield invalid_value(where, text, f"must point to a field of type string, boolean or integer. {kinds}")


def _validate_printable(behaviour: ServedBehaviour, path: str, warning: str) -> Errors:
    letter = next((letter for letter in warning if not letter.isprintable()), None)
    if letter is not None:
        at = len(warning.partition(letter)[0].encode())
        detail = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
        yield invalid_value(path, warning, detail)


_DEPRECATED: Final = fields.given("deprecated")
WARNING: Final = table(
    row(
        "deprecationWarning",
        must.be_otherwise("can only be set for deprecated versions"),
        unless=_DEPRECATED,
        empty=True,
    ),
    row(
        "deprecationWarning",
        table(
            must.hold(lambda warning: len(warning.encode()) <= 256, "must be <= 256 characters long"),
            must.hold(lambda warning: warning, "must not be an empty string"),
            by(_validate_printable),
        ),
        when=_DEPRECATED,
        empty=True,
    ),
)
"""The check of the warning of a deprecated version."""
