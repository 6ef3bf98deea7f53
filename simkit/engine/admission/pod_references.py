"""The secrets and config maps that a pod references.

Upstream: pkg/api/v1/pod/util.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of

_VOLUME_SECRETS: Final = (
    ("azureFile", "secretName"),
    ("cephfs", "secretRef", "name"),
    ("cinder", "secretRef", "name"),
    ("flexVolume", "secretRef", "name"),
    ("rbd", "secretRef", "name"),
    ("secret", "secretName"),
    ("scaleIO", "secretRef", "name"),
    ("iscsi", "secretRef", "name"),
    ("storageos", "secretRef", "name"),
    ("csi", "nodePublishSecretRef", "name"),
)


def _secret_names(pod: Object) -> Iterator[str]:
    """Every secret that a pod references."""
    for each in at(pod, "spec", "imagePullSecrets") or ():
        yield each.get("name", "")
    for container in containers_of(pod.get("spec") or {}):
        yield from (name for _, name in env_secrets(container))
    for volume in at(pod, "spec", "volumes") or ():
        for path in _VOLUME_SECRETS:
            found = at(volume, *path)
            if found:
                yield found
        for source in at(volume, "projected", "sources") or ():
            if "secret" in source:
                yield source["secret"].get("name", "")


def env_secrets(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The references to secrets in a container's environment: their description and the secret."""
    for env in container.get("env") or ():
        reference = at(env, "valueFrom", "secretKeyRef")
        if reference is not None:
            yield f"envVar {env.get('name', '')}", reference.get("name", "")
    for env in container.get("envFrom") or ():
        if env.get("secretRef") is not None:
            yield "envFrom", env["secretRef"].get("name", "")


def references_secrets(pod: Object) -> bool:
    """True if a pod mentions any secret."""
    return any(True for _ in _secret_names(pod))


def references_config_maps(pod: Object) -> bool:
    """True if a pod mentions any config map."""
    for container in containers_of(pod.get("spec") or {}):
        if any(env.get("configMapRef") is not None for env in container.get("envFrom") or ()):
            return True
        if any(at(env, "valueFrom", "configMapKeyRef") is not None for env in container.get("env") or ()):
            return True
    for volume in at(pod, "spec", "volumes") or ():
        if "configMap" in volume or any("configMap" in source for source in at(volume, "projected", "sources") or ()):
            return True
    return False
