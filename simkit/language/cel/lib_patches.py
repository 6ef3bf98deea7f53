"""Objects and patches that expressions of mutating policies make: ``Object.spec{...}``, ``JSONPatch{op: ...}``.

k8s.io/apiserver/pkg/cel/mutation, cel/mutation/dynamic/objects.go and cel/library/jsonpatch.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.language.cel.declarations import Library, declared
from simkit.language.cel.patch_values import JSON_PATCH_NAME, OBJECT_NAME, TEXTS
from simkit.language.cel.types import DYN, STRING, Member, Type, object_type


class _AnyFields(Mapping[str, tuple[str, Member]]):
    """Fields of every name, each of any type."""

    def __getitem__(self, name: str) -> tuple[str, Member]:
        return name, Member(DYN)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Open:
    """An object whose fields no schema declares."""

    fields: Mapping[str, tuple[str, Member]] = _AnyFields()


class _PatchFields:
    """The fields of a JSON patch operation."""

    fields: Mapping[str, tuple[str, Member]] = {
        **{name: (name, Member(STRING)) for name in TEXTS},
        "value": ("value", Member(DYN)),
    }


JSON_PATCH: Final = object_type(JSON_PATCH_NAME, _PatchFields())
"""The type of an operation of a JSON patch."""
OBJECT: Final = object_type(OBJECT_NAME, _Open())
"""The type of an object as a whole."""


def patch_type(name: str) -> Type | None:
    """The type of that name: ``JSONPatch``, or ``Object`` with the names of fields below it.

    Examples
    --------
    >>> str(patch_type("Object.spec.template")), patch_type("Objects")
    ('Object.spec.template', None)
    """
    if name == JSON_PATCH_NAME:
        return JSON_PATCH
    if name == OBJECT_NAME:
        return OBJECT
    return object_type(name, _Open()) if name.startswith(f"{OBJECT_NAME}.") else None


def escaped_key(text: str) -> str:
    """A text as one step of the path of a JSON patch.

    Examples
    --------
    >>> escaped_key("k8s.io/my~label")
    'k8s.io~1my~0label'
    """
    return text.replace("~", "~0").replace("/", "~1")


PATCHES: Final = Library(
    "patches",
    (1, 0),
    (declared("string_jsonpatch_escapeKey_string", "jsonpatch.escapeKey(string) string", escaped_key),),
)
"""The function of mutating policies."""
