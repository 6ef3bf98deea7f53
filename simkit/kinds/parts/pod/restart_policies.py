"""Restart policies of single containers, where the feature is known but off: they go.

Follows ``pkg/api/pod/util.go``, release 1.34. Up to 1.33 they are refused.
"""

from __future__ import annotations

from typing import Any

from simkit.meta.behaviour import applies
from simkit.meta.objects import Object
from simkit.meta.podspec import CONTAINER_LISTS

_INIT = "initContainers"
_POLICY, _RULES = "restartPolicy", "restartPolicyRules"


def without_restart_policies(spec: Object, old: Object) -> Object:
    """The spec of a pod without such policies, the very same where it may have them, as where the old one has some.

    Init containers that always restart keep their policy: they are sidecars.
    """
    if applies("container-restart-rules") or not applies("restart-policies-dropped") or _has_policies(old):
        return spec
    if not any(_told(key, one) for key in CONTAINER_LISTS for one in spec.get(key) or ()):
        return spec
    return {**spec, **{key: [_less(key, one) for one in spec[key]] for key in CONTAINER_LISTS if spec.get(key)}}


def _has_policies(spec: Object) -> bool:
    plain = any(one.get(_POLICY) is not None for one in spec.get("containers") or ())
    return plain or any(_told(_INIT, one) for one in spec.get(_INIT) or ())


def _told(key: str, container: Object) -> set[str]:
    """The fields of a container that only the feature allows."""
    sidecar = key == _INIT and container.get(_POLICY) == "Always"
    policy = {_POLICY} if container.get(_POLICY) is not None and not sidecar else set[str]()
    return {*policy, _RULES} if container.get(_RULES) is not None else policy


def _less(key: str, container: Any) -> Any:
    gone = _told(key, container)
    return {name: value for name, value in container.items() if name not in gone} if gone else container
