"""Conversions of Ingress: backends became structures, the default backend got another name.

Follows ``pkg/apis/networking/v1beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from simkit.kinds.conversions.family import Family, Spoke, default, entries, peek, rename, section
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.objects import Draft

_GROUP: Final = api_group("networking")


def _paths(draft: Draft) -> Iterator[Draft]:
    for rule in entries(peek(draft, "spec"), "rules"):
        yield from entries(peek(rule, "http"), "paths")


def _default(draft: Draft) -> None:
    for path in _paths(draft):
        default(path, "pathType", "ImplementationSpecific")


def _backends(draft: Draft, name: str, change: Callable[[Draft], None]) -> None:
    """Change the default backend, under ``name``, and those of all paths."""
    backend = peek(draft, "spec").get(name)
    if isinstance(backend, dict):
        change(backend)
    for path in _paths(draft):
        change(section(path, "backend"))


def _to_service(backend: Draft) -> None:
    name, port = backend.pop("serviceName", None), backend.pop("servicePort", None)
    if not name and port in (None, 0, ""):
        return
    service = backend["service"] = {"name": name or ""}
    if isinstance(port, str) and port:
        service["port"] = {"name": port}
    else:
        service["port"] = {"number": port} if port else {}


def _from_service(backend: Draft) -> None:
    service = backend.pop("service", None) or {}
    if service.get("name"):
        backend["serviceName"] = service["name"]
    port = peek(service, "port")
    backend["servicePort"] = port.get("name") or port.get("number") or 0


def _to_hub(draft: Draft) -> None:
    _backends(draft, "backend", _to_service)
    rename(peek(draft, "spec"), "backend", "defaultBackend")


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    rename(peek(draft, "spec"), "defaultBackend", "backend")
    _backends(draft, "backend", _from_service)


_OLD: Final = Spoke(_to_hub, _from_hub, _default)
FAMILIES: Final = {
    "Ingress": Family("Ingress", f"{_GROUP}/v1", {"extensions/v1beta1": _OLD, f"{_GROUP}/v1beta1": _OLD})
}
