"""AppArmor profiles of new pods: annotations and fields say the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.kinds.parts.pod.annotations import APP_ARMOR
from simkit.kinds.parts.pod.security import app_armor_faults
from simkit.meta.objects import Draft, Object, annotations_of, at

_LISTS = ("initContainers", "containers", "ephemeralContainers")


def bring_together(pod: Draft) -> None:
    """Write each container's profile both ways; the pod's own metadata and spec are changed."""
    spec: Draft = pod["spec"]
    of_pod = at(spec, "securityContext", "appArmorProfile")
    has_notes = any(key.startswith(APP_ARMOR) for key in annotations_of(pod))
    if at(spec, "os", "name") == "windows" or not (has_notes or of_pod or _has_fields(spec)):
        return
    notes = dict(annotations_of(pod))
    for name in _LISTS:
        if spec.get(name):
            spec[name] = [_agreed(one, notes, of_pod) for one in spec[name]]
    if notes:
        pod["metadata"]["annotations"] = notes


def _has_fields(spec: Object) -> bool:
    lists = (spec.get(name) or () for name in _LISTS)
    return any(at(one, "securityContext", "appArmorProfile") is not None for each in lists for one in each)


def _agreed(container: Object, notes: dict[str, str], of_pod: Object | None) -> Object:
    key = APP_ARMOR + (container.get("name") or "")
    own = at(container, "securityContext", "appArmorProfile")
    if key not in notes:
        text = as_annotation(own or of_pod)
        if text:
            notes[key] = text
    elif own is None:
        field = as_field(notes[key])
        if field is not None and field != of_pod and not any(app_armor_faults("", field)):
            return {
                **container,
                "securityContext": {**(container.get("securityContext") or {}), "appArmorProfile": field},
            }
    return container


def as_annotation(profile: Object | None) -> str:
    """The profile as an annotation says it, empty for none."""
    kind = (profile or {}).get("type")
    if kind == "Localhost":
        local = (profile or {}).get("localhostProfile")
        return f"localhost/{local}" if local else ""
    return {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}.get(kind or "", "")


def as_field(annotation: str) -> Mapping[str, Any] | None:
    """The profile that an annotation means, None for what means nothing."""
    if annotation.startswith("localhost/"):
        local = annotation.removeprefix("localhost/")
        return {"type": "Localhost", "localhostProfile": local} if local else None
    kind = {"runtime/default": "RuntimeDefault", "unconfined": "Unconfined"}.get(annotation)
    return {"type": kind} if kind else None
