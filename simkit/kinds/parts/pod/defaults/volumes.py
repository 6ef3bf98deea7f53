"""Defaulting of volumes.

Follows ``pkg/apis/core/v1/defaults.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.kinds.parts.pod.defaults.images import pull_policy
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, null_creation

_MODE: Final = {"defaultMode": 420}
_SOURCES: Final[Mapping[str, Mapping[str, Any]]] = {
    "secret": _MODE,
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "projected": _MODE,
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_TEXT_TOO: Final = frozenset({"iscsi", "rbd", "scaleIO"})
"""Sources in which empty fields equal absent ones."""
_TOKEN_SECONDS: Final = 3600


def defaulted_source(name: str, source: Object) -> Object:
    """The source of a volume, of the named type, with all defaults."""
    values = _SOURCES.get(name)
    found = source
    if values is not None:
        empty = (None, "") if name in _TEXT_TOO else (None,)
        missing = {key: value for key, value in values.items() if source.get(key) in empty}
        found = {**source, **missing} if missing else source
    if name == "projected" and found.get("sources"):
        parts = [_projection(part) for part in found["sources"]]
        return found if all(map(_same, parts, found["sources"])) else {**found, "sources": parts}
    if name == "downwardAPI" and found.get("items"):
        return _downward(found)
    if name == "image" and not found.get("pullPolicy") and applies("image-volumes"):
        return {**found, "pullPolicy": pull_policy(found.get("reference") or "")}
    if name == "ephemeral" and found.get("volumeClaimTemplate") is not None:
        template = _claim_template(found["volumeClaimTemplate"])
        return found if template is found["volumeClaimTemplate"] else {**found, "volumeClaimTemplate": template}
    return found


def defaulted_volume(volume: Object) -> Object:
    """A volume with all defaults; without any source it becomes an empty directory."""
    if len(volume) <= 1 and volume.keys() <= {"name"}:
        return {**volume, "emptyDir": {}}
    found = volume
    for name, source in volume.items():
        if isinstance(source, Mapping):
            new = defaulted_source(name, source)
            if new is not source:
                found = {**found, name: new}
    return found


def _same(one: object, other: object) -> bool:
    return one is other


def _projection(part: Object) -> Object:
    found = part
    token, downward = part.get("serviceAccountToken"), part.get("downwardAPI")
    if token is not None and token.get("expirationSeconds") is None:
        found = {**found, "serviceAccountToken": {**token, "expirationSeconds": _TOKEN_SECONDS}}
    if downward and downward.get("items"):
        new = _downward(downward)
        found = found if new is downward else {**found, "downwardAPI": new}
    return found


def _downward(source: Object) -> Object:
    items = [_file(item) for item in source["items"]]
    return source if all(map(_same, items, source["items"])) else {**source, "items": items}


def _file(item: Object) -> Object:
    reference = item.get("fieldRef")
    if reference is None or reference.get("apiVersion"):
        return item
    return {
        **item,
        "fieldRef": {"apiVersion": "v1", **{key: reference[key] for key in reference if key != "apiVersion"}},
    }


def _claim_template(template: Object) -> Object:
    found = template if "metadata" in template else {"metadata": null_creation(), **template}
    spec = found.get("spec") or {}
    if spec.get("volumeMode") is not None:
        return found
    return {**found, "spec": {**spec, "volumeMode": "Filesystem"}}
