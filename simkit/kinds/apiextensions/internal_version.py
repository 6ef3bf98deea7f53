"""The internal version of a definition, in which kube-apiserver validates it: shared parts are above the versions.

Its errors name that form: ``spec.validation.openAPIV3Schema`` where there is one version, or where all versions have
the same schema, and ``spec.versions[0].schema.openAPIV3Schema`` where they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.kinds.apiextensions.internal_schema import schema_json
from simkit.meta.fielderror import Shown, quoted
from simkit.meta.objects import Object

Properties = Mapping[str, Any]
_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_COUNTED: Final = ("SpecReplicas", "StatusReplicas")
_POINTED: Final = "0xc000000000"


_COLUMN: Final = (
    ("Name", "name", ""),
    ("Type", "type", ""),
    ("Format", "format", ""),
    ("Description", "description", ""),
    ("Priority", "priority", 0),
    ("JSONPath", "jsonPath", ""),
)
"""The fields of a column inside and outside, with what stands for an absent one."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version with the parts that differ from other versions."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    warning: str | None
    parts: Mapping[str, Any]

    @property
    def schema(self) -> Properties | None:
        return self.parts.get("schema")

    @property
    def subresources(self) -> Properties | None:
        return self.parts.get("subresources")

    @property
    def columns(self) -> Sequence[Properties]:
        return self.parts.get("additionalPrinterColumns") or ()

    @property
    def selectable(self) -> Sequence[Properties]:
        return self.parts.get("selectableFields") or ()

    def internal_json(self) -> dict[str, Any]:
        """The version as JSON of the internal version."""
        columns = [{name: row.get(key) or empty for name, key, empty in _COLUMN} for row in self.columns]
        return {
            "Name": self.name,
            "Served": self.served,
            "Storage": self.storage,
            "Deprecated": self.deprecated,
            "DeprecationWarning": self.warning,
            "Schema": None if self.schema is None else _schema_json(self.schema),
            "Subresources": None if self.subresources is None else _subresources_json(self.subresources),
            "AdditionalPrinterColumns": columns or None,
            "SelectableFields": [{"JSONPath": row.get("jsonPath") or ""} for row in self.selectable] or None,
        }

    def printed(self) -> str:
        """The version as Go prints it."""

        def pointer(kind: str, value: Any) -> str:
            return f"(*{kind})({'nil' if value is None else _POINTED})"

        group = "apiextensions"
        columns = f"[]{group}.CustomResourceColumnDefinition"
        listed = "(nil)" if not self.columns else "{" + ", ".join(map(_column, self.columns)) + "}"
        fields = f"[]{group}.SelectableField"
        named = (f"{group}.SelectableField{{JSONPath:{quoted(row.get('jsonPath') or '')}}}" for row in self.selectable)
        selected = f"{{{', '.join(named)}}}" if self.selectable else "(nil)"
        flags = f"Served:{_flag(self.served)}, Storage:{_flag(self.storage)}, Deprecated:{_flag(self.deprecated)}"
        return (
            f"{group}.CustomResourceDefinitionVersion{{Name:{quoted(self.name)}, {flags}, "
            f"DeprecationWarning:{pointer('string', self.warning)}, "
            f"Schema:{pointer(group + '.CustomResourceValidation', self.schema)}, "
            f"Subresources:{pointer(group + '.CustomResourceSubresources', self.subresources)}, "
            f"AdditionalPrinterColumns:{columns}{listed}, SelectableFields:{fields}{selected}}}"
        )


def _schema_json(holder: Properties) -> Any:
    schema = holder.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if schema is None else schema_json(schema)}


def _subresources_json(parts: Properties) -> Any:
    scale = parts.get("scale")
    paths = None
    if scale is not None:
        texts = {f"{name}Path": scale.get(f"{name[0].lower()}{name[1:]}Path") or "" for name in _COUNTED}
        paths = {**texts, "LabelSelectorPath": scale.get("labelSelectorPath")}
    return {"Status": None if parts.get("status") is None else {}, "Scale": paths}


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _column(column: Properties) -> str:
    texts = (("Name", "name"), ("Type", "type"), ("Format", "format"), ("Description", "description"))
    fields = [f"{name}:{quoted(column.get(key) or '')}" for name, key in texts]
    fields += [f"Priority:{column.get('priority') or 0}", f"JSONPath:{quoted(column.get('jsonPath') or '')}"]
    return f"apiextensions.CustomResourceColumnDefinition{{{', '.join(fields)}}}"


@dataclass(frozen=True, slots=True)
class Internal:
    """A definition's spec in the internal version."""

    spec: Object
    versions: Sequence[Version]
    shared: Mapping[str, Any]
    """The parts common to all versions, by their names in a version."""

    @property
    def version(self) -> str:
        return self.versions[0].name if self.versions else ""

    def subresources_of(self, version: Version) -> Properties:
        """The subresources of a version, shared or its own."""
        found: Properties = version.subresources or self.shared.get("subresources") or {}
        return found

    def printed_versions(self) -> Shown:
        """All versions as Go prints them."""
        kind = "[]apiextensions.CustomResourceDefinitionVersion"
        if self.spec.get("versions") is None:
            return Shown(f"{kind}(nil)", None)
        text = f"{kind}{{{', '.join(each.printed() for each in self.versions)}}}"
        return Shown(text, [each.internal_json() for each in self.versions])


def internal_of(spec: Object) -> Internal:
    """The internal form of a spec."""
    rows: Sequence[Object] = spec.get("versions") or ()
    shared = {part: rows[0].get(part) for part in _PARTS if rows and _identical([row.get(part) for row in rows])}
    versions = [
        Version(
            row.get("name") or "",
            bool(row.get("served")),
            bool(row.get("storage")),
            bool(row.get("deprecated")),
            row.get("deprecationWarning"),
            {part: row.get(part) for part in _PARTS if part not in shared},
        )
        for row in rows
    ]
    return Internal(spec, versions, shared)


def _identical(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values[1:])
