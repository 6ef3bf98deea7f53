"""The spec of a definition in the internal version of kube-apiserver, where what all versions share stands once.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structures
from simkit.meta.objects import Object
from simkit.meta.wording import Written

_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


@dataclass(frozen=True, slots=True)
class Internal:
    """A definition's spec in the internal version."""

    spec: Object
    versions: Sequence[Object]
    """The versions without the parts that all have in common."""
    shared: Mapping[str, Any]
    """The parts common to all versions, by their names in a version."""

    @property
    def version(self) -> str:
        return str(self.versions[0].get("name") or "") if self.versions else ""

    def has_status(self, version: Object) -> bool:
        """True if a version has the subresource status, which may be shared or its own."""
        found = version.get("subresources") or self.shared.get("subresources") or {}
        return found.get("status") is not None

    def printed_versions(self) -> Written:
        """All versions as errors show them, where an empty list is as good as none."""
        listed = [{name: value for name, value in each.items() if value != []} for each in self.versions]
        given = None if self.spec.get("versions") is None else listed
        return structures("apiextensions.CustomResourceDefinitionVersion", given)


def internal_of(spec: Object) -> Internal:
    """The internal form of a spec."""
    rows: Sequence[Object] = spec.get("versions") or ()
    common = [part for part in _PARTS if rows and all(row.get(part) == rows[0].get(part) for row in rows)]
    versions = [{name: value for name, value in row.items() if name not in common} for row in rows]
    return Internal(spec, versions, {part: rows[0].get(part) for part in common})
