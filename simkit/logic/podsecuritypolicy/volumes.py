"""Volumes that a pod security policy allows.

Upstream: pkg/security/podsecuritypolicy/provider.go and util/util.go, release 1.24.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.objects import Object, at
from simkit.meta.podspec import CONTAINER_LISTS

ALL: Final = "*"
VOLUME_TYPES: Final = (
    "hostPath",
    "emptyDir",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "downwardAPI",
    "fc",
    "azureFile",
    "configMap",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "storageos",
    "projected",
    "portworxVolume",
    "scaleIO",
    "csi",
    "ephemeral",
)
"""The types, in the order in which the source of a volume is looked for."""
_IN_POLICIES: Final = {"cephfs": "cephFS"}
"""Types that policies spell otherwise than pods."""


def volume_type(volume: Object) -> str:
    """The type of a volume, as policies spell it.

    Examples
    --------
    >>> volume_type({"name": "data", "cephfs": {}})
    'cephFS'
    """
    found = next(kind for kind in VOLUME_TYPES if volume.get(kind) is not None)
    return _IN_POLICIES.get(found, found)


def volume_problems(behaviour: ServedBehaviour, policy: Object, spec: Object) -> Iterator[FieldError]:
    """The errors of the volumes of a pod."""
    allowed: Collection[str] = policy.get("volumes") or ()
    for index, volume in enumerate(spec.get("volumes") or ()):
        path, kind = f"spec.volumes[{index}]", volume_type(volume)
        if ALL not in allowed and kind not in allowed and not _is_token_like_secret(behaviour, allowed, volume):
            yield invalid_value(path, kind, f"{kind} volumes are not allowed to be used")
        elif kind == "hostPath":
            yield from _host_path_problems(path, policy, spec, volume)
        elif kind == "flexVolume":
            text = "Flexvolume driver is not allowed to be used"
            named = [each.get("driver") or "" for each in policy.get("allowedFlexVolumes") or ()]
            yield from _driver_problems(f"{path}.driver", volume[kind], named, text)
        elif kind == "csi":
            text = "Inline CSI driver is not allowed to be used"
            named = [each.get("name") or "" for each in policy.get("allowedCSIDrivers") or ()]
            yield from _driver_problems(f"{path}.csi.driver", volume[kind], named, text)


def _driver_problems(path: str, source: Object, allowed: Sequence[str], text: str) -> Iterator[FieldError]:
    driver = source.get("driver") or ""
    if allowed and driver not in allowed:
        yield invalid_value(path, driver, text)


def _host_path_problems(path: str, policy: Object, spec: Object, volume: Object) -> Iterator[FieldError]:
    wanted = at(volume, "hostPath", "path") or ""
    rules: Sequence[Object] = policy.get("allowedHostPaths") or ()
    fitting = [rule for rule in rules if _begins_with(wanted, rule.get("pathPrefix") or "")]
    if rules and not fitting:
        yield invalid_value(f"{path}.hostPath.pathPrefix", wanted, "is not allowed to be used")
    elif fitting and all(rule.get("readOnly") for rule in fitting):
        for field in CONTAINER_LISTS:
            for number, container in enumerate(spec.get(field) or ()):
                for index, mount in enumerate(container.get("volumeMounts") or ()):
                    if mount["name"] == volume["name"] and not mount.get("readOnly"):
                        place = f"spec.{field}[{number}].volumeMounts[{index}].readOnly"
                        yield invalid_value(place, False, "must be read-only")


def _begins_with(path: str, prefix: str) -> bool:
    """True if whole segments of a path are a prefix.

    Examples
    --------
    >>> _begins_with("/foo/bar", "/foo/"), _begins_with("/foobar", "/foo")
    (True, False)
    """
    path, prefix = path.removesuffix("/"), prefix.removesuffix("/")
    return path == prefix or path.startswith(f"{prefix}/")


def _is_token_like_secret(behaviour: ServedBehaviour, allowed: Collection[str], volume: Object) -> bool:
    """True if secrets are allowed, and the volume shows no more than the secret of a service account did."""
    projected = volume.get("projected")
    if (
        projected is None
        or "secret" not in allowed
        or not behaviour.applies("pod-security-policies-know-projected-tokens")
    ):
        return False
    return all(_shows_account(source) for source in projected.get("sources") or ())


def _shows_account(source: Object) -> bool:
    token, file, fields = source.get("serviceAccountToken"), source.get("configMap"), source.get("downwardAPI")
    if token is None and file is None and fields is None:
        return False
    if token is not None and (token.get("path") != "token" or token.get("audience")):
        return False
    if file is not None and file.get("name") != "kube-root-ca.crt":
        return False
    return all(_shows_namespace(item) for item in (fields or {}).get("items") or ())


def _shows_namespace(item: Object) -> bool:
    said = item.get("fieldRef") or {}
    version, field = said.get("apiVersion"), said.get("fieldPath")
    return item.get("path") == "namespace" and version == "v1" and field == "metadata.namespace"
