"""Conversions of CustomResourceDefinition: v1beta1 may have properties for all versions, v1 has them for each.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.kinds.conversions.family import Family, Spoke, default, entries, peek, pick, rename, section
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.objects import Draft

_SHARED: Final = (
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)
"""The common properties of v1beta1, and their names in a version."""
_REVIEW_VERSIONS: Final = "conversionReviewVersions"


def _default(draft: Draft) -> None:
    spec = section(draft, "spec")
    default(spec, "scope", "Namespaced")
    default(spec, "preserveUnknownFields", True)
    if not spec.get("versions") and spec.get("version"):
        spec["versions"] = [{"name": spec["version"], "served": True, "storage": True}]
    _default_names(spec)
    _default_stored(draft)
    conversion = section(spec, "conversion")
    default(conversion, "strategy", "None")
    if conversion["strategy"] == "Webhook" and not conversion.get(_REVIEW_VERSIONS):
        conversion[_REVIEW_VERSIONS] = ["v1beta1"]


def _default_names(spec: Draft) -> None:
    names = section(spec, "names")
    kind = names.get("kind") or ""
    default(names, "singular", kind.lower())
    if kind:
        default(names, "listKind", f"{kind}List")


def _default_stored(draft: Draft) -> None:
    """Set the stored versions if the status has none."""
    status = section(draft, "status")
    if not status.get("storedVersions"):
        versions = entries(peek(draft, "spec"), "versions")
        status["storedVersions"] = [version.get("name", "") for version in versions if version.get("storage")]


def _columns(spec: Draft) -> Iterator[Draft]:
    yield from entries(spec, "additionalPrinterColumns")
    for version in entries(spec, "versions"):
        yield from entries(version, "additionalPrinterColumns")


def _to_hub(draft: Draft) -> None:
    spec = section(draft, "spec")
    for column in _columns(spec):
        rename(column, "JSONPath", "jsonPath")
    spec.pop("version", None)
    for top, name in _SHARED:
        shared = spec.pop(top, None)
        for version in entries(spec, "versions"):
            if shared is not None and version.get(name) is None:
                version[name] = shared
    _webhook_to_hub(spec.get("conversion") or {})


def _webhook_to_hub(conversion: Draft) -> None:
    webhook = {}
    if "webhookClientConfig" in conversion:
        webhook["clientConfig"] = conversion.pop("webhookClientConfig")
    if _REVIEW_VERSIONS in conversion:
        webhook[_REVIEW_VERSIONS] = conversion.pop(_REVIEW_VERSIONS)
    if webhook:
        conversion["webhook"] = webhook


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = section(draft, "spec")
    versions = list(entries(spec, "versions"))
    if versions:
        spec["version"] = versions[0].get("name", "")
    for top, name in _SHARED:
        _lift(spec, versions, top, name)
    for column in _columns(spec):
        rename(column, "jsonPath", "JSONPath")
    spec.setdefault("preserveUnknownFields", False)
    conversion = peek(spec, "conversion")
    webhook = conversion.pop("webhook", None) or {}
    rename(webhook, "clientConfig", "webhookClientConfig")
    conversion.update(pick(webhook, "webhookClientConfig", _REVIEW_VERSIONS))


def _lift(spec: Draft, versions: list[dict[str, Any]], top: str, name: str) -> None:
    """Move properties that all versions share to the top."""
    first = versions[0].get(name) if versions else None
    if first is not None and all(version.get(name) == first for version in versions):
        spec[top] = first
        for version in versions:
            del version[name]


FAMILIES: Final = {
    "CustomResourceDefinition": Family(
        "CustomResourceDefinition",
        f"{EXTENSIONS_GROUP}/v1",
        {f"{EXTENSIONS_GROUP}/v1beta1": Spoke(_to_hub, _from_hub, _default)},
        Spoke(_default_stored),
    )
}
